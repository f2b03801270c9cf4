"""The rows that a clustering is searched on: distinct ones with weights, samples of them, and iterations over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import Matrix, as_matrix, exact_sum, group_rows, lloyd
from cutwise.table import Table

from .objective import Objective
from .weights import integer_weights

__all__ = ["Centers", "Points", "Run", "Stop", "distinct_points"]

Values: TypeAlias = "npt.NDArray[np.generic] | sparse.csr_array"
Centers: TypeAlias = npt.NDArray[np.float64]


class Stop(NamedTuple):
    """When iterations end: at a relative fall of the cost, or after so many."""

    tolerance: float
    max_iter: int


class Run(NamedTuple):
    """Where iterations ended."""

    cost: float
    centers: Centers
    n_iter: int


@dataclass(frozen=True, eq=False)
class Points:
    """Rows to be clustered, each of positive weight."""

    values: Values
    weights: npt.NDArray[np.int64] | None
    objective: Objective

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return int(self.values.shape[0])

    @cached_property
    def matrix(self) -> Matrix:
        """The rows as the core sees them."""
        return as_matrix(self.values)

    def rows(self, numbers: npt.NDArray[np.integer]) -> Centers:
        """Some rows as a dense float64 array."""
        rows = self.values[numbers]
        dense = rows.toarray() if isinstance(rows, sparse.csr_array) else rows
        return np.ascontiguousarray(dense, dtype=np.float64)

    def sample(self, size: int, rng: np.random.Generator) -> Points:
        """About so many rows, all where there are no more; weights become how often a row was drawn."""
        if self.n_rows <= size:
            return self
        if self.weights is None:
            numbers = np.sort(rng.choice(self.n_rows, size, replace=False, shuffle=False))
            return replace(self, values=self.values[numbers])
        running = np.cumsum(self.weights)
        drawn = np.searchsorted(running, rng.integers(0, running[-1], size), side="right")
        numbers, counts = np.unique(drawn, return_counts=True)
        return replace(self, values=self.values[numbers], weights=counts.astype(np.int64))

    def cost(self, centers: Centers, n_jobs: int) -> float:
        """Weighted cost of these rows by their nearest centers; infinite beyond float64."""
        _, low, largest, _ = self.objective.assign(self.matrix, centers, n_jobs)
        return exact_sum(low, self.weights) if np.isfinite(largest) and np.isfinite(low).all() else np.inf

    def iterate(self, centers: Centers, stop: Stop, n_jobs: int, *, costed: bool = True) -> Run:
        """Lloyd's iterations from these centers."""
        tolerance, max_iter = stop
        centers, n_iter = lloyd(self.matrix, centers, self.weights, max_iter, tolerance, n_jobs, self.objective.name)
        return Run(self.cost(centers, n_jobs) if costed else np.nan, centers, n_iter)


def distinct_points(table: Table, sample_weight: npt.NDArray[np.float64] | None, objective: Objective) -> Points:
    """Rows of positive weight, equal ones merged when a sample predicts that at most half of the rows are distinct."""
    values: Values = table.values
    matrix = table.matrix
    weights, _ = integer_weights(sample_weight)
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        values, weights = values[kept], weights[kept]
        matrix = as_matrix(values)
    groups = group_rows(matrix)
    if groups is None:
        return Points(values, weights, objective)
    first_row, group_of_row = groups
    # float64 counts are exact: integer weights add up to far less than 2**53.
    merged = np.bincount(group_of_row, weights, minlength=len(first_row)).astype(np.int64)
    return Points(values[first_row], merged, objective)
