"""An experiment from its options to its folder: jobs, tables and pictures."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutwise._whole import write_whole
from cutwise.bench.jobs import Job, Record, run_jobs
from cutwise.bench.pictures import has_matplotlib
from cutwise.datasets import CATALOG, LoadedSet, load_real
from cutwise.exceptions import DataSetUnavailableError
from cutwise.table import check_option

__all__ = ["Experiment", "Options", "Sets", "run_experiment"]


@dataclass(frozen=True)
class Options:
    """How an experiment is run.

    Attributes
    ----------
    data : str or None
        Folder of data files.
    sets : tuple of str
        Names of data sets; empty: all of the experiment that can be had.
    seeds : int or None
        References a set; None: as many as the paper.
    quick : bool
        Small sets and two seeds: minutes.
    fetch : bool
        Whether sets may be fetched over the network.
    """

    data: str | None = None
    sets: tuple[str, ...] = ()
    seeds: int | None = None
    quick: bool = False
    fetch: bool = False


@dataclass(frozen=True)
class Experiment:
    """One of the papers' experiments.

    Attributes
    ----------
    name, title : str
    sets : tuple of str
        The data sets it can be run on, by name.
    quick_sets : tuple of str
        Those of ``--quick``.
    seeds : int
        Of the paper.
    jobs : callable
        From the loaded sets and the options to the jobs.
    report : callable
        From the records to the files: name to text, or to bytes for a picture.
    """

    name: str
    title: str
    sets: tuple[str, ...]
    quick_sets: tuple[str, ...]
    seeds: int
    jobs: Callable[[Sets, Options, int], list[Job]]
    report: Callable[[list[Record]], dict[str, str | bytes]]


class Sets:
    """The data sets of a run, each loaded once when it is first needed.

    Attributes
    ----------
    names : list of str
        Those that can be had.
    missing : dict of str to str
        The others, and why.
    """

    def __init__(self, names: Sequence[str], options: Options) -> None:
        self._options = options
        self._loaded: dict[tuple[str, str | None], LoadedSet] = {}
        self.names: list[str] = []
        self.missing: dict[str, str] = {}
        for name in names:
            if name not in CATALOG:  # a synthetic set
                self.names.append(name)
                continue
            try:
                self.real(name)
            except DataSetUnavailableError as error:
                self.missing[name] = str(error)
            else:
                self.names.append(name)

    def real(self, name: str, scaling: str | None = None) -> LoadedSet:
        """A real data set, scaled as the ExShallow paper did unless told otherwise."""
        key = (name, scaling)
        if key not in self._loaded:
            self._loaded[key] = load_real(name, data=self._options.data, scaling=scaling, network=self._options.fetch)
        return self._loaded[key]


def run_experiment(experiment: Experiment, options: Options, out: Path, say: Callable[[str], None]) -> list[Path]:
    """Run what is left to do of an experiment, and write its folder.

    Parameters
    ----------
    experiment : Experiment
    options : Options
    out : Path
        Made where it is missing. ``results.jsonl`` in it keeps every job; tables and pictures are made from it anew.
    say : callable
        Told what is going on, a line at a time.

    Returns
    -------
    written : list of Path
        Tables and pictures.

    Raises
    ------
    UnknownOptionError
        A set that is none of the experiment's.
    DataSetUnavailableError
        A set that was asked for by name cannot be had.
    """
    for name in options.sets:
        check_option("--sets", name, experiment.sets)
    wanted = options.sets or (experiment.quick_sets if options.quick else experiment.sets)
    sets = Sets(wanted, options)
    if options.sets and sets.missing:
        raise DataSetUnavailableError(next(iter(sets.missing.values())))
    for name in sets.missing:
        say(f"left out: {name} cannot be had (see --data and --fetch)")
    if not has_matplotlib():
        say('no pictures: matplotlib is not installed (pip install "cutwise[plot]")')
    seeds = options.seeds if options.seeds is not None else 2 if options.quick else experiment.seeds
    out.mkdir(parents=True, exist_ok=True)
    records = run_jobs(experiment.jobs(sets, options, seeds), out / "results.jsonl", say)
    files = experiment.report(records)
    files["run.md"] = _circumstances(experiment, options, sets, seeds)
    written = []
    for name, content in files.items():
        write_whole(out / name, content)
        written.append(out / name)
    return written


def _circumstances(experiment: Experiment, options: Options, sets: Sets, seeds: int) -> str:
    """What one must know to run it again."""
    import numpy
    import scipy
    import sklearn

    import cutwise

    left_out = ", ".join(sets.missing) or "none"
    command = f"cutwise bench {experiment.name}" + " --quick" * options.quick
    command += f" --sets {','.join(options.sets)}" if options.sets else ""
    command += f" --seeds {seeds}" if options.seeds is not None else ""
    versions: dict[str, Any] = {
        "cutwise": cutwise.__version__,
        "Python": platform.python_version(),
        "NumPy": numpy.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    return (
        f"# {experiment.title}\n\nMade by `{command}`. Sets: {', '.join(sets.names)}. Left out, because they were not "
        f"at hand: {left_out}. References a set: {seeds}.\n\n"
        f"Versions: {', '.join(f'{name} {version}' for name, version in versions.items())}; {platform.system()} on "
        f"{platform.machine()}. Times are of one thread.\n"
    )
