"""What a computation may take: memory that is there, and threads.

After an OpenMP region on several threads a forked child hangs in its next one, and k-means centers differ in bits
between numbers of threads. So scikit-learn's compiled parts run on one thread, where there is no pool to lose and one
order of summation, and work on large tables is done in blocks of rows on several.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import threadpoolctl
from threadpoolctl import ThreadpoolController, threadpool_limits

from cutwise.exceptions import InvalidInputError

from .search import each

_SHARE = 0.9
"""Of what is available: the rest is for everything else."""


def available_memory() -> int:
    """Bytes that can still be taken without swapping.

    The smallest of what the machine, the process's control group and its own limits leave.
    """
    candidates: list[int | None] = [psutil.virtual_memory().available, _of_group(), _of_process()]
    return min(candidate for candidate in candidates if candidate is not None)


def check_fits(n_bytes: int, what: str, instead: str) -> None:
    """Refuse an array that would not fit.

    ``n_bytes``: its size. ``what``: what it is, to begin the message with. ``instead``: a sentence: what to do instead.
    Raises ``InvalidInputError``: gives both sizes.
    """
    available = available_memory()
    if n_bytes > _SHARE * available:
        raise InvalidInputError(
            f"{what} takes {in_words(n_bytes)} of memory, and {in_words(available)} are available.\n{instead}"
        )


def in_words(n_bytes: int) -> str:
    """``"74.5 GiB"``."""
    size, units = float(n_bytes), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        del units[0]
    return f"{size:,.0f} {units[0]}" if size >= 100 or units[0] == "bytes" else f"{size:.1f} {units[0]}"


def _of_group() -> int | None:
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            return max(0, int(Path(limit).read_text(encoding="ascii")) - int(Path(used).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue  # no such group, or "max": no limit
    return None


def _of_process() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(0, limit - int(psutil.Process().memory_info().vms))


class _BlasLimit:
    """One limit shared by all threads inside.

    The number of BLAS threads is one setting of the process: of two overlapping blocks that each save and restore it,
    the second would save the first's limit and leave it behind for good.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.limit: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.inside == 0:
                _take_control_of_openblas()
                self.limit = ThreadpoolController().limit(limits=1, user_api="blas")
            self.inside += 1

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.limit is not None:
                _take_control_of_openblas()
                self.limit.restore_original_limits()
                self.limit = None
                _take_control_of_openblas()

    def renew_lock(self) -> None:
        """In a forked child: the thread that held the lock, if any, was not forked."""
        self.lock = threading.Lock()


def _take_control_of_openblas() -> None:
    """Let the calling thread set OpenBLAS's number.

    Newer threadpoolctl lets only the first thread that sets it, until that thread gives it up, and passes over the
    others in silence: the last to leave could not restore what the first to enter found.
    """
    give_up = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if give_up is not None:
        give_up(force=True)


_blas = _BlasLimit()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.renew_lock)

_here = threading.local()


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS and OpenMP use one thread inside; may be entered by several threads at once, and again inside itself."""
    if getattr(_here, "inside", False):
        yield  # setting a limit reads the list of loaded libraries, which takes milliseconds
        return
    _blas.enter()
    try:
        # OpenMP keeps its number for each calling thread, so saving and restoring cannot interfere.
        with threadpool_limits(limits=1, user_api="openmp"):
            _here.inside = True
            yield
    finally:
        _here.inside = False
        _blas.leave()


BLOCK = 1 << 22
"""Values computed at once: 32 MiB of float64."""


def each_block(work: Callable[[slice], None], n_rows: int, width: int, n_jobs: int) -> None:
    """``work`` on consecutive rows, as many as make a block of so many columns each, on up to ``n_jobs`` threads."""
    parts = list(row_blocks(n_rows, width))
    with one_thread():
        each(work, parts, n_jobs)


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Consecutive rows, as many as make a block of so many columns each."""
    step = max(1, BLOCK // max(1, width))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
