"""k-means made for being a reference: restarts on samples, then few iterations on all rows.

A solution on m sampled rows costs about k / m more (relatively) on all rows than the optimum it stands for. So restarts
on ten thousand rows tell good starts from bad ones, a hundred thousand rows bring the best of them close, and the full
table is left with a few iterations whose bounds skip most rows. Equal rows are merged into weights where that pays.

Everything runs in our own core: no OpenMP, no BLAS. Fits may run in several threads at once or in forked children, and
the result depends on neither the number of threads nor the machine's libraries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

from cutwise.core.kernels import (
    Matrix,
    as_matrix,
    assign,
    cluster_means,
    encode,
    exact_sum,
    kmeans_plusplus,
    lloyd,
    merge_duplicates,
)
from cutwise.table import Table, count_distinct_rows

from .given import from_centers
from .result import Reference
from .weights import integer_weights, sum_weights

__all__ = ["kmeans_reference"]

SEEDING_ROWS = 4_000
"""Rows that seeds are drawn from, and 10 per cluster at least; a new sample for every restart."""
WHOLE_ROWS = 25_000
"""Tables up to this size, or 25 rows per cluster, are restarted whole and to the end."""
RESTART_ROWS = 10_000
"""Rows of a restart on a larger table, and 25 per cluster at least."""
RUN_UP_ROWS = 100_000
"""Rows on which the best restarts go on; on tables up to this size, they end there."""
FINALISTS = 3
COARSE, FINE = 1e-4, 1e-5
"""Relative falls of the cost by an iteration that end a restart, and a later stage on a large table or its sample."""
MAX_ITER = 300
MAX_FULL_ITER = 20
"""Iterations over a table of more than ``RUN_UP_ROWS`` rows, of which all but the first few change next to nothing."""

Values: TypeAlias = "npt.NDArray[np.generic] | sparse.csr_array"
Centers: TypeAlias = npt.NDArray[np.float64]
Item = TypeVar("Item")
Result = TypeVar("Result")


def kmeans_reference(
    table: Table,
    n_clusters: int,
    *,
    n_init: int = 10,
    random_state: Any = None,
    sample_weight: npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
    verbose: int = 0,
) -> Reference:
    """The best of several k-means clusterings.

    Parameters
    ----------
    table : Table
        The rows in the metric space.
    n_clusters : int
        At most the number of distinct rows of positive weight.
    n_init : int, default 10
        Restarts: greedy k-means++ and Lloyd's iterations, on a sample of a large table. The best three go on.
    random_state : int, RandomState instance or None
    sample_weight : ndarray of shape (n_rows,), float64, optional
        Not negative.
    n_jobs : int, default 1
        Threads; the result does not depend on it.
    verbose : int, default 0
        Above 0, stages are printed to standard error.

    Returns
    -------
    reference : Reference
        ``objective`` is ``"kmeans"``. Centers are means of their rows, up to the last iteration's moves; every row has
        the label of its nearest center. As many distinct rows as clusters give cost 0.

    Raises
    ------
    InvalidInputError
        Distances are beyond float64.
    """
    points = _distinct_points(table, sample_weight)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))
    say: Callable[[str], None] = partial(print, file=sys.stderr, flush=True) if verbose else _silent
    if points.n_rows == n_clusters:
        centers = points.rows(np.arange(n_clusters))
    else:
        centers = _search(points, n_clusters, n_init, rng, n_jobs, say)
    return _finish(table, points, centers, sample_weight, n_jobs)


@dataclass(frozen=True, eq=False)
class _Points:
    """Rows to be clustered, each of positive weight."""

    values: Values
    weights: npt.NDArray[np.int64] | None

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[0])

    @cached_property
    def matrix(self) -> Matrix:
        return as_matrix(self.values)

    def rows(self, numbers: npt.NDArray[np.integer]) -> Centers:
        """Some rows as a dense float64 array."""
        rows = self.values[numbers]
        dense = rows.toarray() if isinstance(rows, sparse.csr_array) else rows
        return np.ascontiguousarray(dense, dtype=np.float64)

    def sample(self, size: int, rng: np.random.Generator) -> _Points:
        """About so many rows, all where there are no more; weights become how often a row was drawn."""
        if self.n_rows <= size:
            return self
        if self.weights is None:
            numbers = np.sort(rng.choice(self.n_rows, size, replace=False, shuffle=False))
            return _Points(self.values[numbers], None)
        running = np.cumsum(self.weights)
        drawn = np.searchsorted(running, rng.integers(0, running[-1], size), side="right")
        numbers, counts = np.unique(drawn, return_counts=True)
        return _Points(self.values[numbers], counts.astype(np.int64))

    def cost(self, centers: Centers, n_jobs: int) -> float:
        """Weighted cost of these rows by their nearest centers; infinite beyond float64."""
        _, low, largest = assign(self.matrix, centers, "kmeans", n_jobs)
        return exact_sum(low, self.weights) if np.isfinite(largest) and np.isfinite(low).all() else np.inf


def _distinct_points(table: Table, sample_weight: npt.NDArray[np.float64] | None) -> _Points:
    """Rows of positive weight, equal ones merged when a sample predicts that at most half of the rows are distinct."""
    values: Values = table.values
    matrix = table.matrix
    weights, _ = integer_weights(sample_weight)
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        values, weights = values[kept], weights[kept]
        matrix = as_matrix(values)
    if not _repeats(values):
        return _Points(values, weights)
    groups = merge_duplicates(matrix, encode(matrix))
    if groups is None:
        return _Points(values, weights)
    first_row, group_of_row = groups
    # float64 counts are exact: integer weights add up to far less than 2**53.
    merged = np.bincount(group_of_row, weights, minlength=len(first_row)).astype(np.int64)
    return _Points(values[first_row], merged)


def _repeats(values: Values) -> bool:
    """Whether a sample of 4 sqrt(n) rows holds a few equal ones, as it does when at most half of the rows are distinct.

    It would hold 16 pairs or more in the mean. Rows far apart in the table are taken: files are often sorted.
    """
    n_rows = int(values.shape[0])
    size = min(n_rows, 4 * int(np.sqrt(n_rows)) + 64)
    # A fixed seed, for the outcome decides nothing but the time taken, and must be the same in every fit.
    numbers = np.sort(np.random.default_rng(0).choice(n_rows, size, replace=False, shuffle=False))
    return size - count_distinct_rows(values[numbers], size) >= 4


def _search(
    points: _Points, k: int, n_init: int, rng: np.random.Generator, n_jobs: int, say: Callable[[str], None]
) -> Centers:
    """Centers of the best restart after all stages."""
    sample = points if points.n_rows <= WHOLE_ROWS else points.sample(max(RESTART_ROWS, 25 * k), rng)
    streams = rng.spawn(n_init)

    tolerance = 0.0 if sample is points else COARSE

    def restart(stream: np.random.Generator) -> tuple[float, Centers]:
        return _iterate(sample, _seeds(sample, k, stream), tolerance, MAX_ITER, 1)

    # Restarts are independent: one thread each, instead of many threads on one small sample.
    runs = _each(restart, streams, n_jobs)
    for i, (cost, _) in enumerate(runs):
        say(f"k-means restart {i + 1} of {n_init} on {sample.n_rows} rows: cost {cost:.6g}")
    runs.sort(key=lambda run: run[0])
    if sample is points:
        return runs[0][1]

    finalists = [centers for _, centers in runs[:FINALISTS]]
    larger = points.sample(RUN_UP_ROWS, rng)
    whole = larger is points
    run_up = [_iterate(larger, centers, 0.0 if whole else FINE, MAX_ITER, n_jobs) for centers in finalists]
    cost, centers = min(run_up, key=lambda run: run[0])
    say(f"k-means, best of {len(finalists)} on {larger.n_rows} rows: cost {cost:.6g}")
    if not whole:
        cost, centers = _iterate(points, centers, FINE, MAX_FULL_ITER, n_jobs, costed=False)
    return centers


def _seeds(points: _Points, k: int, rng: np.random.Generator) -> Centers:
    """Greedy k-means++, with as many candidates a seed as scikit-learn tries."""
    few = points.sample(max(SEEDING_ROWS, 10 * k), rng)
    uniforms = rng.random((k, 2 + int(np.log(k))))
    return few.rows(kmeans_plusplus(few.matrix, uniforms, few.weights))


def _iterate(
    points: _Points, centers: Centers, tolerance: float, max_iter: int, n_jobs: int, *, costed: bool = True
) -> tuple[float, Centers]:
    centers, _ = lloyd(points.matrix, centers, points.weights, max_iter, tolerance, n_jobs)
    return points.cost(centers, n_jobs) if costed else np.nan, centers


def _finish(
    table: Table, points: _Points, centers: Centers, sample_weight: npt.NDArray[np.float64] | None, n_jobs: int
) -> Reference:
    """Labels and cost of all rows, also of those without weight."""
    weights = sum_weights(sample_weight)
    if weights is not None and weights.dtype == np.float64:
        # The iterations had the weights rounded to integers.
        labels, _, _ = assign(table.matrix, centers, "kmeans", n_jobs)
        means, totals = cluster_means(table.matrix, labels, len(centers), weights, n_jobs)
        centers = np.where(totals[:, None] > 0, means, centers)
    reference = from_centers(table, centers, sample_weight=sample_weight, n_jobs=n_jobs)
    for _ in range(3):
        held = reference.labels if sample_weight is None else reference.labels[sample_weight > 0]
        if np.bincount(held, minlength=len(centers)).all():
            break
        # The last move of the centers left one without rows; Lloyd's iterations put it where it is needed.
        centers, _ = lloyd(points.matrix, centers, points.weights, MAX_FULL_ITER, 0.0, n_jobs)
        reference = from_centers(table, centers, sample_weight=sample_weight, n_jobs=n_jobs)
    return reference


def _each(work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> list[Result]:
    """``work`` on every item, in order, on up to ``n_jobs`` threads."""
    if min(n_jobs, len(items)) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(n_jobs, len(items))) as threads:
        return list(threads.map(work, items))


def _silent(_: str) -> None:
    pass
