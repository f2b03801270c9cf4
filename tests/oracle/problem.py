"""The data of one search, and all the cuts a node may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from .thresholds import choose_threshold


@dataclass(frozen=True, eq=False)
class Problem:
    """What a search sees.

    Attributes
    ----------
    values : ndarray of shape (n, d), float64
        The columns that may be cut. Only rows that take part: of positive weight, no noise.
    coordinates : ndarray of shape (k, d), float64
        The reference centers in those columns.
    labels : ndarray of shape (n,), int
        The reference cluster of each row.
    costs : ndarray of shape (n, k)
        Cost of serving one unit of weight of a row by a center; integers (int64 or Python's) for exact answers,
        or float64.
    weights : ndarray of shape (n,)
        Integers (int64 or Python's) or float64; all positive.
    is_integer : ndarray of shape (d,), bool
        Whether a column holds integers by its type, which decides how its cuts are printed.
    """

    values: np.ndarray
    coordinates: np.ndarray
    labels: np.ndarray
    costs: np.ndarray
    weights: np.ndarray
    is_integer: np.ndarray

    @property
    def n_rows(self) -> int:
        return len(self.values)

    @property
    def n_centers(self) -> int:
        return len(self.coordinates)

    @cached_property
    def weighted_costs(self) -> np.ndarray:
        return self.costs * self.weights[:, None]

    @cached_property
    def names_of_rows(self) -> np.ndarray:
        """For each row a number that it shares with the rows equal to it, and with no others."""
        numbers: dict[tuple[float, ...], int] = {}
        return np.array([numbers.setdefault(tuple(row), len(numbers)) for row in self.values.tolist()], dtype=int)

    def with_costs(self, costs: np.ndarray) -> Problem:
        return Problem(self.values, self.coordinates, self.labels, costs, self.weights, self.is_integer)


def as_integers(*arrays: np.ndarray) -> tuple[list[np.ndarray], int]:
    """Finite floats as Python integers times one common ``2**-bits``: exact, whatever their size."""
    bits = 0
    for array in arrays:
        for number in np.unique(np.asarray(array, dtype=np.float64)):
            bits = max(bits, Fraction(float(number)).denominator.bit_length() - 1)
    scale = 1 << bits
    scaled = []
    for array in arrays:
        whole = np.empty(np.shape(array), dtype=object)
        flat = np.asarray(array, dtype=np.float64).ravel()
        whole.ravel()[:] = [int(Fraction(float(number)) * scale) for number in flat]
        scaled.append(whole)
    return scaled, bits


def _exact(rows: np.ndarray, centers: np.ndarray, term: Callable[[int], int]) -> tuple[np.ndarray, int]:
    (rows_whole, centers_whole), bits = as_integers(rows, centers)
    out = np.empty((len(rows), len(centers)), dtype=object)
    for i, row in enumerate(rows_whole):
        for j, center in enumerate(centers_whole):
            out[i, j] = sum(term(x - c) for x, c in zip(row, center, strict=True))
    return out, bits


def exact_squared_distances(rows: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, int]:
    """Squared distances (n, k) as Python integers in units of ``2**-bits``, and ``bits``."""
    out, bits = _exact(rows, centers, lambda difference: difference * difference)
    return out, 2 * bits


def exact_l1_distances(rows: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, int]:
    """l1 distances (n, k) as Python integers in units of ``2**-bits``, and ``bits``."""
    return _exact(rows, centers, abs)


def disagreements(labels: np.ndarray, n_centers: int) -> np.ndarray:
    """The 0/1 costs (n, k) of Expand: 1 where a center is not the row's own."""
    return (np.arange(n_centers)[None, :] != np.asarray(labels)[:, None]).astype(np.int64)


@dataclass(frozen=True)
class Cut:
    """A test ``x[feature] <= threshold`` between the neighboring values ``low < high`` of a node."""

    feature: int
    low: float
    high: float

    def rows_left(self, problem: Problem, rows: np.ndarray) -> np.ndarray:
        return problem.values[rows, self.feature] <= self.low

    def centers_left(self, problem: Problem, centers: np.ndarray) -> np.ndarray:
        return problem.coordinates[centers, self.feature] <= self.low

    def threshold(self, problem: Problem) -> float:
        return choose_threshold(self.low, self.high, bool(problem.is_integer[self.feature]))


def candidate_cuts(problem: Problem, rows: np.ndarray, centers: np.ndarray) -> list[Cut]:
    """All gaps between neighboring values of the node's rows and centers, by feature and then from low to high.

    Parameters
    ----------
    rows : ndarray of int
        The rows that the tree routes to the node.
    centers : ndarray of int
        The centers whose coordinates count: the surviving ones, or none for a node that is split for its rows alone.
    """
    cuts = []
    for feature in range(problem.values.shape[1]):
        seen = np.unique(np.concatenate([problem.values[rows, feature], problem.coordinates[centers, feature]]))
        cuts += [Cut(feature, float(low), float(high)) for low, high in pairwise(seen)]
    return cuts


def separating_cuts(problem: Problem, rows: np.ndarray, centers: np.ndarray) -> list[Cut]:
    """The candidate cuts that leave a surviving center on each side."""
    cuts = candidate_cuts(problem, rows, centers)
    return [cut for cut in cuts if 0 < int(cut.centers_left(problem, centers).sum()) < len(centers)]


def valid_cuts(problem: Problem, rows: np.ndarray, centers: np.ndarray) -> list[Cut]:
    """The separating cuts after which each side has as many distinct rows as centers; all where there is none."""

    def has_enough(side: np.ndarray, n_centers: int) -> bool:
        return len(set(problem.names_of_rows[rows[side]].tolist())) >= n_centers

    cuts = separating_cuts(problem, rows, centers)
    valid = []
    for cut in cuts:
        left, n_left = cut.rows_left(problem, rows), int(cut.centers_left(problem, centers).sum())
        if has_enough(left, n_left) and has_enough(~left, len(centers) - n_left):
            valid.append(cut)
    return valid or cuts
