"""The rows that a clustering is searched on: all of them, and samples of those that matter.

Small clusters far away have a large cost and few rows, and a uniform sample misses them. So a row is drawn by its
score, which grows with what it costs, and then counts by one over its chance to be drawn.

It is drawn by a hash of what it holds, and equal rows are one row with their weights added up. So a sample depends
neither on the order of the rows nor on how they are repeated, weighted, or cut into parts: of each part, the rows of
the smallest priorities are enough to know the sample of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import Matrix, as_matrix, distinct_rows, exact_sum, hash_uniforms, lloyd, swap_centers
from cutwise.table import Table

from .objective import Objective, integer_weights

__all__ = ["Centers", "DistinctRows", "Points", "Run", "Stop", "draw_rows", "read_points"]

Values: TypeAlias = "npt.NDArray[np.generic] | sparse.csr_array"
Centers: TypeAlias = npt.NDArray[np.float64]
Float64: TypeAlias = npt.NDArray[np.float64]
Int64: TypeAlias = npt.NDArray[np.int64]

SAMPLE_WEIGHT = 2.0**31
"""What the weights of a sample add up to: it leaves the exact sums of Lloyd's iterations 60 bits for each value."""
SWAP_TRIALS = 4
"""Rows tried in a swap; the cost kernels measure four centers in the time of one."""


class Stop(NamedTuple):
    """When iterations end: at a relative fall of the cost, or after so many."""

    tolerance: float
    max_iter: int


class Run(NamedTuple):
    """Where iterations ended, what a row costs there and at the start in the mean, and what each cluster weighs."""

    cost: float
    start_cost: float
    centers: Centers
    n_iter: int
    weights: Int64


@dataclass(frozen=True, eq=False)
class Points:
    """Rows to be clustered, and their weights: positive, 1 each where there are none."""

    values: Values
    weights: Int64 | None
    objective: Objective

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return int(self.values.shape[0])

    @cached_property
    def matrix(self) -> Matrix:
        """The rows as the core sees them."""
        return as_matrix(self.values)

    @cached_property
    def total_weight(self) -> float:
        """What all rows weigh."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    def rows(self, numbers: npt.NDArray[np.integer]) -> Centers:
        """Some rows as a dense float64 array."""
        rows = self.values[numbers]
        dense = rows.toarray() if isinstance(rows, sparse.csr_array) else rows
        return np.ascontiguousarray(dense, dtype=np.float64)

    def best_center(self, n_jobs: int) -> Centers:
        """The mean, or the median, of all rows, shape (1, n_columns)."""
        labels = np.zeros(self.n_rows, dtype=np.int32)
        return self.objective.centers(self.matrix, labels, 1, self.weights, n_jobs)[0]

    def iterate(self, centers: Centers, stop: Stop, n_jobs: int, *, costed: bool = True) -> Run:
        """Lloyd's iterations from these centers."""
        tolerance, max_iter = stop
        centers, n_iter, weights, start_cost, cost = lloyd(
            self.matrix, centers, self.weights, max_iter, tolerance, n_jobs, self.objective.name, costed
        )
        return Run(cost, start_cost, centers, n_iter, weights)

    def swap(self, centers: Centers, n_steps: int, rng: np.random.Generator) -> Centers:
        """Better centers: rows drawn by their cost that came for the center that is missed least."""
        if len(centers) == 1:
            return centers
        uniforms = rng.random((n_steps, SWAP_TRIALS))
        return swap_centers(self.matrix, centers, uniforms, self.weights, self.objective.name)


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct ones among some points.

    Attributes
    ----------
    points : Points
    numbers : ndarray of shape (n_distinct,), int64
        The first row of each.
    weights : ndarray of shape (n_distinct,), int64
        What all rows equal to it weigh.
    hashes : ndarray of shape (n_distinct,), uint64
        Of what each holds.
    """

    points: Points
    numbers: Int64
    weights: Int64
    hashes: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.numbers)

    def importance(self, centers: Centers, n_jobs: int) -> tuple[Float64, float]:
        """How much each row matters to a clustering, shape (n_distinct,), and the mean cost of the points by it.

        Half of what all rows matter is in proportion to their costs, half is the same for every cluster; a mean row
        matters 1 by each. So rows are drawn where many of them cost something and where few of them cost much, and
        small clusters stay known.
        """
        points, total = self.points, self.points.total_weight
        labels, own, _, _ = points.objective.assign(points.matrix, centers, n_jobs)
        if len(self) < points.n_rows:
            labels, own = labels[self.numbers], own[self.numbers]
        of_cluster = np.bincount(labels, self.weights, len(centers))
        importance = (total / len(centers) / np.maximum(of_cluster, 1.0))[labels]
        cost = exact_sum(own, self.weights) / total if np.isfinite(own).all() else np.inf
        if 0.0 < cost < np.inf:
            importance += own / cost
        return importance, cost

    def sample(self, size: int, scores: Float64, seed: int) -> Points:
        """So many distinct rows by their scores, or all where there are no more, in the order of their hashes."""
        if len(self) <= size:
            order = np.argsort(self.hashes)
            return Points(self.points.values[self.numbers[order]], self.weights[order], self.points.objective)
        chosen, exact = draw_rows(self.hashes, self.weights, scores, size, seed)
        weights = np.maximum(np.rint(exact * (SAMPLE_WEIGHT / exact.sum())), 1.0).astype(np.int64)
        return Points(self.points.values[self.numbers[chosen]], weights, self.points.objective)


def draw_rows(
    hashes: npt.NDArray[np.uint64], weights: Int64, scores: Float64, size: int, seed: int, total: float | None = None
) -> tuple[npt.NDArray[np.intp], Float64]:
    """A sample of distinct rows by their scores.

    Parameters
    ----------
    hashes, weights : ndarray of shape (n_distinct,)
        As in ``DistinctRows``.
    scores : ndarray of shape (n_distinct,), float64
        Positive: a row is the likelier to be drawn, the larger its score. One whose weight times score is a share of
        ``1 / size`` of all is certain to be.
    size : int
        Below ``n_distinct``.
    seed : int
    total : float, optional
        Weight times score of all rows, where these are only some of them.

    Returns
    -------
    chosen : ndarray of shape (size,), intp
        By increasing hash.
    weights : ndarray of shape (size,), float64
        The rows' weights, each divided by the chance that it had.

    References
    ----------
    Duffield, Lund, Thorup (2007), *Priority sampling for estimation of arbitrary subset sums*. Bachem, Lucic, Krause
    (2018), *Scalable k-means clustering via lightweight coresets*.
    """
    shares = scores * weights
    certain = shares * size >= (exact_sum(shares) if total is None else total)
    priorities = np.where(certain, 0.0, hash_uniforms(hashes, seed) / scores)
    threshold = np.partition(priorities, size)[size]
    chosen = np.flatnonzero(priorities < threshold)
    chosen = chosen[np.argsort(hashes[chosen])]
    chance = np.where(certain, 1.0, np.minimum(1.0, scores * threshold))
    return chosen, weights[chosen] / chance[chosen]


def read_points(
    table: Table, sample_weight: npt.NDArray[np.float64] | None, objective: Objective
) -> tuple[Points, DistinctRows]:
    """The rows of positive weight, equal ones merged where that leaves at most half of them, and the distinct ones."""
    values: Values = table.values
    weights, _ = integer_weights(sample_weight)
    numbers, totals, hashes = distinct_rows(table.matrix, weights)
    if 2 * len(numbers) <= table.n_rows:
        values, weights, numbers = values[numbers], totals, np.arange(len(numbers))
    elif weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        values, weights, numbers = values[kept], weights[kept], np.searchsorted(kept, numbers)
    points = Points(values, weights, objective)
    return points, DistinctRows(points, numbers, totals, hashes)
