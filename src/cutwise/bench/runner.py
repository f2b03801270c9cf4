"""Runs of experiments: jobs, whose results are stored as JSON lines, and tables made from them."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cutwise._whole import write_whole
from cutwise.datasets import CATALOG, LoadedSet, load_real
from cutwise.exceptions import DataSetUnavailableError, InvalidInputError
from cutwise.table.intake import check_option

Record = dict[str, Any]


def run_jobs(
    jobs: Sequence[Record], work: Callable[[Record], Record], path: Path, say: Callable[[str], None]
) -> list[Record]:
    """Run the jobs that are not in the file yet, and add each result as soon as it is known.

    ``jobs``: the key of each: data set, seed, scaling, ... Values that JSON preserves. ``work``: gives the result of a
    job, a dict for JSON. ``path``: JSON lines, ``{"key": ..., "result": ...}``; created if missing. The job of a last
    line that an interrupt cut short runs again. ``say``: called with a line for every job. Returns ``records``: records
    of the given jobs, in their order.
    """
    done = {_canonical(record["key"]): record for record in read_records(path)}
    open_jobs = [job for job in jobs if _canonical(job) not in done]
    if len(open_jobs) < len(jobs):
        say(f"{len(jobs) - len(open_jobs)} of {len(jobs)} jobs are already done")
    for number, job in enumerate(open_jobs, start=1):
        start = time.perf_counter()
        done[_canonical(job)] = record = {"key": job, "result": work(job)}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")
        name = ", ".join(str(value) if entry == "set" else f"{entry} {value}" for entry, value in job.items())
        say(f"{number} of {len(open_jobs)}: {name}, {time.perf_counter() - start:.1f} s")
    return [done[_canonical(job)] for job in jobs]


def read_records(path: Path) -> list[Record]:
    """The complete records of a file; empty if there is no file.

    Raises ``InvalidInputError``: a line other than the last is not a record.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    records: list[Record] = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            records.append({"key": dict(record["key"]), "result": dict(record["result"])})
        except (TypeError, KeyError, ValueError) as error:
            if number < len(lines):
                raise InvalidInputError(
                    f"Line {number} of {path} is not the result of a job ({error}). Remove that line, or choose "
                    "another folder with --out."
                ) from error
            # Remove an incomplete line, so that the next record starts on a new line.
            path.write_text("".join(lines[:-1]), encoding="utf-8")
    return records


def _canonical(key: dict[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)


@dataclass(frozen=True)
class Options:
    """Options of an experiment.

    ``data``: folder of data files. ``sets``: names of data sets; empty: all available sets of the experiment.
    ``seeds``: references per set; None: as many as in the paper. ``quick``: small sets and two seeds, some minutes.
    ``fetch``: whether sets may be fetched over the network.
    """

    data: str | None = None
    sets: tuple[str, ...] = ()
    seeds: int | None = None
    quick: bool = False
    fetch: bool = False

    @cache  # noqa: B019 - a run has one object of this class, and needs a set for every seed
    def real(self, name: str, scaling: str | None = None) -> LoadedSet:
        """A real data set, by default scaled as in the ExShallow paper."""
        return load_real(name, data=self.data, scaling=scaling, network=self.fetch)


@dataclass(frozen=True)
class Experiment:
    """One of the papers' experiments.

    ``sets``: names of its data sets. ``quick_sets``: the sets of ``--quick``. ``seeds``: number of seeds in the paper.
    ``key``: gives further entries of a job's key besides set and seed. ``work``: gives the result of a job, from the
    options, a name and a seed. ``report``: makes files, name to text, from the records. ``command``: the command
    that runs it; ``cutwise bench NAME`` when empty. ``sets_of_one_seed``: sets for which more seeds would take too
    long.
    """

    name: str
    title: str
    sets: tuple[str, ...]
    quick_sets: tuple[str, ...]
    seeds: int
    key: Callable[[str], dict[str, Any]]
    work: Callable[[Options, str, int], Record]
    report: Callable[[list[Record]], dict[str, str]]
    command: str = ""
    sets_of_one_seed: tuple[str, ...] = ()


def run_experiment(experiment: Experiment, options: Options, out: Path, say: Callable[[str], None]) -> list[Path]:
    """Run the remaining jobs of an experiment, and write its folder.

    ``out``: created if missing. ``results.jsonl`` in it has the results of all jobs; tables are made from it again.
    ``say``: called with each line of progress. Returns ``written``: tables. Raises ``UnknownOptionError``: a set is not
    one of the experiment's. Raises ``DataSetUnavailableError``: a set given by name is not available.
    """
    for name in options.sets:
        check_option("--sets", name, experiment.sets)
    wanted = options.sets or (experiment.quick_sets if options.quick else experiment.sets)
    names, missing = list[str](), list[str]()
    for name in wanted:
        try:
            if name in CATALOG:  # others are made
                options.real(name)
            names.append(name)
        except DataSetUnavailableError:
            if options.sets:
                raise
            missing.append(name)
            say(f"left out: data set {name} is not available (see --data and --fetch)")
    about = out / "run.md"
    if about.exists() and about.read_text(encoding="utf-8").partition("\n")[0] != f"# {experiment.title}":
        raise InvalidInputError(f"{out} has the results of another experiment. Name another folder with --out.")
    seeds = options.seeds if options.seeds is not None else 2 if options.quick else experiment.seeds
    out.mkdir(parents=True, exist_ok=True)
    jobs = [
        {"set": name, "seed": seed, **experiment.key(name)}
        for name in names
        for seed in range(1 if name in experiment.sets_of_one_seed else seeds)
    ]
    records = run_jobs(jobs, lambda job: experiment.work(options, job["set"], job["seed"]), out / "results.jsonl", say)
    files = experiment.report(records) | {"run.md": _circumstances(experiment, options, names, missing, seeds)}
    for name, content in files.items():
        write_whole(out / name, content)
    return [out / name for name in files]


def _circumstances(
    experiment: Experiment, options: Options, names: Sequence[str], missing: Sequence[str], seeds: int
) -> str:
    """The settings and versions needed to run the experiment again."""
    left_out = ", ".join(missing) or "none"
    command = (experiment.command or f"cutwise bench {experiment.name}") + " --quick" * options.quick
    command += f" --sets {','.join(options.sets)}" if options.sets else ""
    command += f" --seeds {seeds}" if options.seeds is not None else ""
    versions = {name: version(name) for name in ("cutwise", "numpy", "scipy", "scikit-learn")}
    versions["Python"] = platform.python_version()
    return (
        f"# {experiment.title}\n\nMade by `{command}`. Data sets: {', '.join(names)}. Not available: "
        f"{left_out}. Reference clusterings per data set: {seeds}.\n\n"
        f"Versions: {', '.join(f'{package} {number}' for package, number in versions.items())}; {platform.system()} on "
        f"{platform.machine()}. Times are for one thread.\n"
    )


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table whose first ``left`` columns are aligned left, and the others right."""
    rule = ["---" if column < left else "---:" for column in range(len(header))]
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, rule, *rows)]
    return "\n".join(lines) + "\n"
