"""The contestants: what is timed, one module per package.

Each module defines ``contestants()``, which returns what that package can do on this machine, or raises
:class:`UnavailableError` with the reason why it cannot. A contestant is prepared outside the clock and then called
inside it, so that no adapter's own bookkeeping is measured.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["MODULES", "Contestant", "Task", "UnavailableError", "load_contestants"]

# In the order in which a round runs them.
MODULES = ("cutwise_trees", "scikit_learn", "light_gbm", "exkmc", "shallow_tree")


class UnavailableError(Exception):
    """A package that cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Task:
    """What every contestant is given.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns), float32
        The table.
    n_clusters : int
        k.
    centers : ndarray of shape (k, n_columns), float64
        The reference: centers of one k-means run, the same for all contestants.
    labels : ndarray of shape (n_rows,), int32
        The reference label of each row.
    seed : int
        Seed of whatever is random; it changes from round to round.
    """

    X: np.ndarray
    n_clusters: int
    centers: np.ndarray
    labels: np.ndarray
    seed: int = 0


@dataclass(frozen=True)
class Contestant:
    """One thing to time.

    Attributes
    ----------
    key : str
        Stable name in the JSON output and for ``--only``.
    title : str
        Name in the printed table.
    kind : str
        ``"tree"`` (from rows and a reference to a tree), ``"given"`` (a whole fit with the centers given) or
        ``"whole"`` (from rows alone).
    prepare : callable
        ``prepare(task)`` returns a function without arguments: the work that is timed.
    outcome : callable
        ``outcome(result, task)`` returns figures about what the work returned (leaves, inertia, ...), not timed.
    too_large : callable
        ``too_large(task)`` returns the reason why this contestant is not run on a task, or ``""``.
    heavy : bool
        Runs in the first ``--heavy-rounds`` rounds only.
    """

    key: str
    title: str
    kind: str
    prepare: Callable[[Task], Callable[[], Any]]
    outcome: Callable[[Any, Task], dict[str, float]] = field(default=lambda result, task: {})
    too_large: Callable[[Task], str] = field(default=lambda task: "")
    heavy: bool = False


def load_contestants(jobs: int = 1) -> tuple[list[Contestant], dict[str, str]]:
    """Import every adapter.

    Parameters
    ----------
    jobs : int
        More than 1 adds cutwise's contestants once more with that many threads.

    Returns
    -------
    contestants : list of Contestant
        Those that can run here.
    reasons : dict of str to str
        Module name to the reason why its contestants cannot.
    """
    contestants: list[Contestant] = []
    reasons: dict[str, str] = {}
    for name in MODULES:
        module = importlib.import_module(f"adapters.{name}")
        try:
            contestants += module.contestants()
            if jobs > 1 and hasattr(module, "parallel_contestants"):
                contestants += module.parallel_contestants(jobs)
        except UnavailableError as reason:
            reasons[name] = str(reason)
    return contestants, reasons
