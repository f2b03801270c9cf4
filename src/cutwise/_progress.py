"""What a long computation is busy with, for whoever watches it: ``with watched_by(show): model.fit(X)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[str, float, float], object]

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Let ``watcher`` be called with the stage at work, and the shares of a fit that are done by then and at its end.

    Trees of all sizes take about as long again as the fit before them, and plain CART does: with them it ends at 3.
    """
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def tell(what: str, within: float = 0.0) -> None:
    """Say what is done now, and how much of that stage is."""
    if (watcher := _WATCHER.get()) is not None:
        start = _USUALLY_DONE.get(what.partition(":")[0], 0.0)
        end = min((later for later in _USUALLY_DONE.values() if later > start), default=3.0)
        watcher(what, start + (end - start) * min(within, 1.0), end)


_USUALLY_DONE = {
    "reading the table": 0.0,
    "preprocessor": 0.02,
    "kernel": 0.04,
    "encoding": 0.06,
    "distances": 0.08,
    "reference clustering": 0.1,
    "clustering": 0.1,
    "kernel k-means": 0.1,
    "costs of the clusters": 0.45,
    "tree": 0.5,
    "costs": 0.9,
    "costs of the tree": 0.9,
    "sizes": 1.0,
    "plain CART": 2.0,
}
"""Of a fit, when a stage begins."""
