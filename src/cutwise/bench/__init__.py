"""The papers' experiments, run again: `cutwise bench`, with the published figures beside ours.

One file an experiment; they share jobs that are kept as JSON lines (``jobs``), references (``references``), figures of
a tree (``measures``), tables (``tables``) and pictures (``pictures``). ``published`` holds what the papers print.
"""

from cutwise.bench.exkmc import EXKMC
from cutwise.bench.kernel import KERNEL
from cutwise.bench.runner import Experiment, Options, run_experiment
from cutwise.bench.shallow import SHALLOW
from cutwise.bench.speed import SPEED

__all__ = ["EXPERIMENTS", "Experiment", "Options", "run_experiment"]

EXPERIMENTS: dict[str, Experiment] = {each.name: each for each in (SHALLOW, EXKMC, KERNEL, SPEED)}
"""The experiments by name."""
