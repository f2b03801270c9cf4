"""Parameters: options, whole numbers, numbers, and how many clusters a table can give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, TypeGuard, TypeVar

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from cutwise.core import count_distinct_rows
from cutwise.exceptions import InvalidInputError, UnknownOptionError, shown

from .convert import as_dense

if TYPE_CHECKING:
    from .table import Table

__all__ = [
    "Seed",
    "check_integer",
    "check_max_leaves",
    "check_n_clusters",
    "check_n_jobs",
    "check_number",
    "check_option",
    "read_random_state",
]

# What to do with a clusterer that was given for a number.
_CLUSTERER_HINTS = {
    "n_clusters": "To start from a clusterer, give it as reference: ExplainableKMeans(3, reference=clusterer).",
    "max_leaves": "To explain a clusterer, fit it and give its labels: ClusterExplainer().fit(X, clusterer.labels_).",
}

Option = TypeVar("Option")

Seed = int | np.random.RandomState | None
"""What ``random_state`` may be."""

# No machine profits from more threads, and the core counts them by 32-bit integers.
_MAX_JOBS = 1 << 12


def check_option(name: str, value: Option, valid: Sequence[object]) -> Option:
    """The value, when it is one of the valid ones; else an error that lists them and hints at the nearest."""
    if any(value is option or (isinstance(value, str) and value == option) for option in valid):
        return value
    raise UnknownOptionError.of(name, value, valid)


def check_integer(name: str, value: object, *, minimum: int, maximum: int | None = None, hint: str = "") -> int:
    """A whole number within bounds as an int; a boolean or 3.0 is refused. ``hint`` ends the error."""
    bounds = f">= {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    if not _is_integer(value):
        if hasattr(value, "fit"):
            hint = _CLUSTERER_HINTS.get(name, hint)
        given = shown(value)
        raise InvalidInputError(_sentence(f"{name}={given} is not a whole number. Use an integer {bounds}.", hint))
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        raise InvalidInputError(_sentence(f"{name}={number} is out of range. Use an integer {bounds}.", hint))
    return number


def check_number(
    name: str, value: object, *, minimum: float, maximum: float = math.inf, above: bool = False, hint: str = ""
) -> float:
    """A finite real number within bounds as a float; ``above`` refuses ``minimum`` itself, ``hint`` ends the error."""
    bounds = f"{'>' if above else '>='} {minimum:g}" + ("" if maximum == math.inf else f" and <= {maximum:g}")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or not math.isfinite(value):
        given = shown(value)
        raise InvalidInputError(_sentence(f"{name}={given} is not a finite number. Use a number {bounds}.", hint))
    number = float(value)
    if number < minimum or number > maximum or (above and number == minimum):
        raise InvalidInputError(_sentence(f"{name}={shown(value)} is out of range. Use a number {bounds}.", hint))
    return number


def check_n_jobs(n_jobs: object) -> int:
    """How many threads ``n_jobs`` asks for, by joblib's rule: -1 is all cores, None is 1 outside a joblib context."""
    if n_jobs is None:
        return int(joblib.effective_n_jobs(None))
    if not _is_integer(n_jobs) or n_jobs == 0:
        raise InvalidInputError(
            f"n_jobs={shown(n_jobs)} is not a number of threads. "
            "Use an integer >= 1, -1 for all cores, or None for one."
        )
    return min(_MAX_JOBS, int(joblib.effective_n_jobs(int(n_jobs))))


def read_random_state(random_state: object) -> np.random.RandomState:
    """The source of chance that ``random_state`` stands for: a seed's, the given one, or numpy's own for None."""
    try:
        source: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise InvalidInputError(
            f"random_state={shown(random_state)} cannot seed anything. Use an integer from 0 to {2**32 - 1}, a "
            "numpy.random.RandomState, or None for another result every time."
        ) from error
    return source


def check_n_clusters(
    n_clusters: object,
    table: Table | None = None,
    weights: npt.NDArray[np.float64] | None = None,
    *,
    what: str = "X",
    instead: str = "give more rows",
) -> int:
    """The number of clusters: at least 1, and at most the distinct rows of positive weight, where a table is given.

    ``instead`` tells the message what else than fewer clusters would help.
    """
    number = check_integer("n_clusters", n_clusters, minimum=1)
    if table is not None:
        distinct = count_distinct_rows(table.matrix, number, weights)
        if distinct < number:
            rows = "row" if distinct == 1 else "rows"
            if table.is_integer.any() and np.abs(as_dense(table.values)[:, table.is_integer]).max() > 2**53:
                instead += " (integers beyond 2**53 are one number with their neighbors: subtract a constant)"
            weighted = "" if weights is None else " of positive weight"
            raise InvalidInputError(
                f"n_clusters={number} is more than the {distinct} distinct {rows} of {what}{weighted} "
                f"(n_samples={table.n_rows}), and every cluster needs a row that no other has.\n"
                f"Use n_clusters <= {distinct}, or {instead}."
            )
    return number


def check_max_leaves(max_leaves: object, n_clusters: int) -> int:
    """The number of leaves: ``n_clusters`` for None, otherwise at least as many."""
    if max_leaves is None:
        return n_clusters
    number = check_integer("max_leaves", max_leaves, minimum=1, hint="None gives exactly one leaf per cluster.")
    if number < n_clusters:
        raise InvalidInputError(
            f"max_leaves={number} is fewer than n_clusters={n_clusters}, and every cluster needs a leaf of its own.\n"
            f"Use max_leaves >= {n_clusters}, or None for exactly one leaf per cluster."
        )
    return number


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _sentence(message: str, hint: str) -> str:
    return f"{message} {hint}" if hint else message
