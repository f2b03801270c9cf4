"""Independent work on a few threads, results in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["each"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def each(work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> list[Result]:
    """``work`` on every item, in order, on up to ``n_jobs`` threads."""
    if min(n_jobs, len(items)) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(n_jobs, len(items))) as threads:
        return list(threads.map(work, items))
