"""Work on a large table or matrix in blocks of rows: how many at once, and on how many threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from .threads import one_thread

__all__ = ["each_block", "row_blocks"]

BLOCK = 1 << 22
"""Values computed at once: 32 MiB of float64."""


def each_block(work: Callable[[slice], None], n_rows: int, width: int, n_jobs: int) -> None:
    """``work`` on consecutive rows, as many as make a block of so many columns each, on up to ``n_jobs`` threads."""
    parts = list(row_blocks(n_rows, width))
    with one_thread():
        if min(n_jobs, len(parts)) <= 1:
            for part in parts:
                work(part)
            return
        with ThreadPoolExecutor(min(n_jobs, len(parts))) as threads:
            list(threads.map(work, parts))


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Consecutive rows, as many as make a block of so many columns each."""
    step = max(1, BLOCK // max(1, width))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
