"""An experiment from its options to its folder: jobs, whose results are kept as JSON lines, and tables made of them."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cutwise._whole import write_whole
from cutwise.datasets import CATALOG, LoadedSet, load_real
from cutwise.exceptions import DataSetUnavailableError, InvalidInputError
from cutwise.table.intake import check_option

Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One piece of work.

    ``key``: what tells it from the others: data set, seed, scaling, ... Values that JSON keeps as they are. ``work``:
    gives the result, a dict that JSON can hold.
    """

    key: dict[str, Any]
    work: Callable[[], Record]

    @property
    def name(self) -> str:
        """The key in words."""
        return ", ".join(str(value) if name == "set" else f"{name} {value}" for name, value in self.key.items())


def run_jobs(jobs: Sequence[Job], path: Path, say: Callable[[str], None]) -> list[Record]:
    """Do the jobs that are not in the file yet, and add each as soon as it is done.

    ``path``: JSON lines, ``{"key": ..., "result": ...}``; made where it is missing. A last line that was cut short by
    an interrupt is done again. ``say``: told a line for every job. Returns ``records``: those of the given jobs, in
    their order.
    """
    done = {_canonical(record["key"]): record for record in read_records(path)}
    open_jobs = [job for job in jobs if _canonical(job.key) not in done]
    if len(open_jobs) < len(jobs):
        say(f"{len(jobs) - len(open_jobs)} of {len(jobs)} jobs were done before")
    for number, job in enumerate(open_jobs, start=1):
        start = time.perf_counter()
        record = {"key": job.key, "result": job.work()}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")
        done[_canonical(job.key)] = record
        say(f"{number} of {len(open_jobs)}: {job.name}, {time.perf_counter() - start:.1f} s")
    return [done[_canonical(job.key)] for job in jobs]


def read_records(path: Path) -> list[Record]:
    """The whole records of a file; none where there is no file.

    Raises ``InvalidInputError``: a line that is no record, other than the last.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    records: list[Record] = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            records.append({"key": dict(record["key"]), "result": dict(record["result"])})
        except (json.JSONDecodeError, TypeError, KeyError, ValueError) as error:
            if number < len(lines):
                raise InvalidInputError(
                    f"Line {number} of {path} is no result of a job ({error}). Remove that line, or choose another "
                    "folder with --out."
                ) from error
            # Cut short: what follows must start on a line of its own.
            path.write_text("".join(lines[:-1]), encoding="utf-8")
    return records


def _canonical(key: dict[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)


@dataclass(frozen=True)
class Options:
    """How an experiment is run.

    ``data``: folder of data files. ``sets``: names of data sets; empty: all of the experiment that can be had.
    ``seeds``: references a set; None: as many as the paper. ``quick``: small sets and two seeds: minutes. ``fetch``:
    whether sets may be fetched over the network.
    """

    data: str | None = None
    sets: tuple[str, ...] = ()
    seeds: int | None = None
    quick: bool = False
    fetch: bool = False


@dataclass(frozen=True)
class Experiment:
    """One of the papers' experiments.

    ``sets``: the data sets it can be run on, by name. ``quick_sets``: those of ``--quick``. ``seeds``: of the paper.
    ``key``: what tells the jobs of a set from others, beside its name and the seed. ``work``: the result of a job, from
    the loaded sets, a name and a seed. ``report``: from the records to the files: name to text. ``command``: what runs
    it; ``cutwise bench NAME`` when empty. ``sets_of_one_seed``: where more would take too long.
    """

    name: str
    title: str
    sets: tuple[str, ...]
    quick_sets: tuple[str, ...]
    seeds: int
    key: Callable[[str], dict[str, Any]]
    work: Callable[[Sets, str, int], Record]
    report: Callable[[list[Record]], dict[str, str]]
    command: str = ""
    sets_of_one_seed: tuple[str, ...] = ()


class Sets:
    """The data sets of a run, each loaded once when it is first needed.

    ``names``: those that can be had. ``missing``: the others, and why.
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

    ``out``: made where it is missing. ``results.jsonl`` in it keeps every job; tables are made from it anew. ``say``:
    told what is going on, a line at a time. Returns ``written``: tables. Raises ``UnknownOptionError``: a set that is
    none of the experiment's. Raises ``DataSetUnavailableError``: a set that was asked for by name cannot be had.
    """
    for name in options.sets:
        check_option("--sets", name, experiment.sets)
    wanted = options.sets or (experiment.quick_sets if options.quick else experiment.sets)
    sets = Sets(wanted, options)
    if options.sets and sets.missing:
        raise DataSetUnavailableError(next(iter(sets.missing.values())))
    for name in sets.missing:
        say(f"left out: {name} cannot be had (see --data and --fetch)")
    about = out / "run.md"
    if about.exists() and about.read_text(encoding="utf-8").partition("\n")[0] != f"# {experiment.title}":
        raise InvalidInputError(f"{out} has the results of another experiment. Name another folder with --out.")
    seeds = options.seeds if options.seeds is not None else 2 if options.quick else experiment.seeds
    out.mkdir(parents=True, exist_ok=True)
    jobs = [
        Job({"set": name, "seed": seed, **experiment.key(name)}, partial(experiment.work, sets, name, seed))
        for name in sets.names
        for seed in range(1 if name in experiment.sets_of_one_seed else seeds)
    ]
    records = run_jobs(jobs, out / "results.jsonl", say)
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
    command = (experiment.command or f"cutwise bench {experiment.name}") + " --quick" * options.quick
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


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table whose first ``left`` columns are set flush left, and the others flush right."""
    rule = ["---" if column < left else "---:" for column in range(len(header))]
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, rule, *rows)]
    return "\n".join(lines) + "\n"
