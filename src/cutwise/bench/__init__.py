"""`cutwise bench`: the papers' experiments with our and the published figures, and an experiment on the search."""

from cutwise.bench.exkmc import EXKMC
from cutwise.bench.kernel import KERNEL
from cutwise.bench.runner import Experiment, Options, run_experiment
from cutwise.bench.search import SEARCH
from cutwise.bench.shallow import SHALLOW

__all__ = ["EXPERIMENTS", "Experiment", "Options", "run_experiment"]

EXPERIMENTS: dict[str, Experiment] = {each.name: each for each in (SHALLOW, EXKMC, KERNEL, SEARCH)}
"""The experiments by name."""
