"""What ``verbose`` prints: one line a stage, with the seconds it took, and how growing and searching go on."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cutwise.table import check_integer

__all__ = ["Stages", "check_verbose"]


def check_verbose(verbose: object) -> int:
    """The parameter as an integer; True and False are 1 and 0, as scikit-learn takes them."""
    return check_integer("verbose", int(verbose) if isinstance(verbose, bool) else verbose, minimum=0)


class Stages:
    """The stages of one fit as lines on standard error; ``verbose`` 0 prints none, 2 also the leaves as they come."""

    def __init__(self, owner: str, verbose: int) -> None:
        self._owner = owner
        self._verbose = check_verbose(verbose)
        self._last_line = 0.0

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Time a block, and say so when it ends well."""
        start = time.perf_counter()
        yield
        self.say(f"{what}: {time.perf_counter() - start:.2f} s")

    def leaves(self, n_leaves: int) -> None:
        """Progress of a growing tree; at most two lines a second."""
        self._say_now_and_then(f"  {n_leaves} leaves")

    def searching(self, cost_ratio: float) -> None:
        """Progress of a search for a better tree, as far as a sample of the rows tells."""
        self._say_now_and_then(f"  searching: cost ratio {cost_ratio:.4f} so far")

    def _say_now_and_then(self, line: str) -> None:
        now = time.perf_counter()
        if self._verbose > 1 and now - self._last_line >= 0.5:
            self._last_line = now
            self.say(line)

    def say(self, line: str) -> None:
        """Print a line when asked to."""
        if self._verbose:
            print(f"[{self._owner}] {line}", file=sys.stderr, flush=True)
