"""What a long computation is busy with: lines on the screen, and for whoever watches; and what an early end leaves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

Watcher = Callable[[str, float], object]
Fit = TypeVar("Fit", bound=Callable[..., Any])


@dataclass
class _Watch:
    show: Watcher
    done: float = 0.0  # the last share shown


_WATCH: ContextVar[_Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watch_progress(watcher: Watcher) -> Iterator[None]:
    """Call ``watcher`` with the current stage and the share of a fit that is done.

    Trees of all sizes take about as long again as the fit before them: with these the share ends at 2.
    """
    token = _WATCH.set(_Watch(watcher))
    try:
        yield
    finally:
        _WATCH.reset(token)


def show_progress(what: str, within: float = 0.0) -> None:
    """Report the current stage, and the share of it that is done; the share of a fit never falls."""
    if (watch := _WATCH.get()) is not None:
        start = _USUALLY_DONE.get(what.partition(":")[0], watch.done)  # a pass belongs to the stage before it
        end = min((later for later in _USUALLY_DONE.values() if later > start), default=2.0)
        share = start + (end - start) * min(within, 1.0)
        watch.done = share if start == 0.0 else max(watch.done, share)  # 0: another fit begins
        watch.show(what, watch.done)


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
    "costs of the tree": 0.9,
    "sizes": 1.0,
}
"""Share of a fit that is usually done when a stage begins."""


SECONDS_BETWEEN_LINES = 0.5


class Stages:
    """The stages of one fit as lines on standard error; ``verbose`` 0 prints none, 2 also the leaves as they come."""

    def __init__(self, owner: str, verbose: int) -> None:
        self._owner = owner
        self._verbose = verbose
        self._last_line = 0.0

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Time a block, and print its seconds if it succeeds."""
        start = time.perf_counter()
        show_progress(what)
        yield
        self.say(f"{what}: {time.perf_counter() - start:.2f} s")

    def leaves(self, algorithm: str, n_leaves: int) -> None:
        """Print the progress of a growing tree, possibly one of several; at most two lines a second."""
        show_progress(f"tree: {n_leaves} leaves by {algorithm}")
        self._say_throttled(f"  {n_leaves} leaves by {algorithm}")

    def searching(self, cost_ratio: float) -> None:
        """Print the progress of a search for a better tree, estimated on a sample of the rows."""
        show_progress(f"tree: searching, cost ratio {cost_ratio:.4f} so far")
        self._say_throttled(f"  searching: cost ratio {cost_ratio:.4f} so far")

    def _say_throttled(self, line: str) -> None:
        now = time.perf_counter()
        if self._verbose > 1 and now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self.say(line)

    def say(self, line: str) -> None:
        """Print a line if ``verbose``."""
        if self._verbose:
            print(f"[{self._owner}] {line}", file=sys.stderr, flush=True)


def all_or_nothing(fit: Fit) -> Fit:
    """Decorator of ``fit``: after an error or an interrupt the estimator is as before, not partly another model."""

    @wraps(fit)
    def whole(self: Any, *args: Any, **named: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **named)
        except BaseException:
            self.__dict__ = before
            raise

    return cast("Fit", whole)
