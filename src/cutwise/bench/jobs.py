"""Jobs whose results are kept as JSON lines: what was done before is not done again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutwise.exceptions import InvalidInputError

__all__ = ["Job", "Record", "read_records", "run_jobs"]

Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One piece of work.

    Attributes
    ----------
    key : dict
        What tells it from the others: data set, seed, scaling, ... Values that JSON keeps as they are.
    work : callable
        Gives the result, a dict that JSON can hold.
    """

    key: dict[str, Any]
    work: Callable[[], Record]

    @property
    def name(self) -> str:
        """The key in words."""
        return ", ".join(str(value) if name == "set" else f"{name} {value}" for name, value in self.key.items())


def run_jobs(jobs: Sequence[Job], path: Path, say: Callable[[str], None]) -> list[Record]:
    """Do the jobs that are not in the file yet, and add each as soon as it is done.

    Parameters
    ----------
    jobs : sequence of Job
    path : Path
        JSON lines, ``{"key": ..., "result": ...}``; made where it is missing. A last line that was cut short by an
        interrupt is done again.
    say : callable
        Told a line for every job.

    Returns
    -------
    records : list of dict
        Those of the given jobs, in their order.
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

    Raises
    ------
    InvalidInputError
        A line that is no record, other than the last.
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
