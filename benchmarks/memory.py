"""Peak memory that one contestant adds to what holding its input takes, measured in a process of its own.

Used by ``speed.py``; by hand: ``python benchmarks/memory.py FOLDER CONTESTANT``, where the folder holds ``X.npy``,
``centers.npy`` and ``labels.npy``. The process loads the input, runs the contestant on a few rows (so that imports do
not count), notes how much memory it holds, runs the contestant on everything and notes the highest mark since.
"""

# ruff: noqa: E402 -- the number of threads must be set before numpy loads its libraries

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np
from adapters import Task, load_contestants
from timing import few_rows

__all__ = ["peak_extra_bytes", "write_task"]


def _status(field: str) -> int:
    """A memory figure of this process in bytes, from /proc; 0 where there is no /proc."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), 0)


def _reset_peak() -> bool:
    """Set the kernel's high-water mark to what is held now; False where that cannot be done."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _largest_so_far() -> int:
    """Highest mark since the start of the process, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def write_task(folder: Path, task: Task) -> None:
    """Write a task where :func:`peak_extra_bytes` reads it."""
    np.save(folder / "X.npy", task.X)
    np.save(folder / "centers.npy", task.centers)
    np.save(folder / "labels.npy", task.labels)


def peak_extra_bytes(folder: Path, key: str) -> int | None:
    """Run a contestant in a fresh process.

    Parameters
    ----------
    folder : Path
        As written by :func:`write_task`.
    key : str
        Key of the contestant.

    Returns
    -------
    extra : int or None
        Bytes at the peak beyond what the process held with its input loaded; None when the process failed (its
        message then goes to standard error).
    """
    command = [sys.executable, str(Path(__file__).resolve()), str(folder), key]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"memory of {key} was not measured:\n{done.stderr}", file=sys.stderr)
        return None
    return int(json.loads(done.stdout)["extra_bytes"])


def _main(folder: Path, key: str) -> None:
    from threadpoolctl import threadpool_limits

    jobs = int(os.environ.get("BENCHMARK_JOBS", "1"))
    contestant = next(one for one in load_contestants(jobs)[0] if one.key == key)
    centers = np.load(folder / "centers.npy")
    task = Task(np.load(folder / "X.npy"), len(centers), centers, np.load(folder / "labels.npy"))
    with threadpool_limits(limits=1):
        contestant.prepare(few_rows(task))()
        work = contestant.prepare(task)
        if _reset_peak():
            before = _status("VmRSS")
            work()
            extra = _status("VmHWM") - before
        else:
            before = _largest_so_far()
            work()
            extra = _largest_so_far() - before
    print(json.dumps({"extra_bytes": max(extra, 0)}))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2])
