"""The search for a clustering: restarts on samples of important rows, then a few iterations on all rows.

The optimum of m sampled rows costs relatively about k / m more on all rows than their own optimum. So restarts on a few
thousand rows suffice to rank starts, a larger sample refines the best of them, and all rows need only a few iterations,
whose bounds skip most distances. Restarts end as soon as some of them agree, since every restart finds clear clusters.

Rows are drawn by their cost under the mean of all rows, and then also under a clustering of the first sample: rows of
clusters that this sample missed cost much, and are in the next one.

Lloyd's iterations may leave one center on two clusters and two centers on another, in different places for different
seeds. So each restart is crossed with the best clustering so far: of the centers of both, the least important one is
removed, again and again, until ``n_clusters`` are left (Fränti 2000, *Genetic algorithm with deterministic crossover
for vector quantization*). In the end the best clustering gets some more centers for a while (Fritzke 2020, *The
breathing k-means algorithm*). With both, ten restarts find clusterings that a hundred plain ones do not.

Distances in wide tables take long, but clusters differ in few directions: samples of such tables are sketched by their
coordinates along a few more principal axes than there are clusters (Cohen, Elder, Musco, Musco, Persu 2015,
*Dimensionality reduction for k-means clustering and low rank approximation*). Iterations over all rows use all columns.

Everything runs in our own core: no OpenMP, no BLAS. Fits may run in several threads at once or in forked children, and
the result depends on neither the number of threads nor the machine's libraries.

Small clusters far away have a large cost and few rows, and a uniform sample misses them. So a row is drawn with a
chance that grows with its cost, and its weight in the sample is divided by this chance.

A hash of its values decides whether a row is drawn, and equal rows are one row with the sum of their weights. So a
sample depends neither on the order of the rows nor on how they are repeated, weighted, or cut into parts: the rows with
the smallest priorities of each part determine the sample of all.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, cmp_to_key
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise._progress import show_progress
from cutwise.core import Float64, Int64, Matrix, exact_sum
from cutwise.table.intake import read_random_state
from cutwise.table.table import Table, Values, as_matrix

from .objective import KMEANS, KMEDIANS, PLAIN, Measure, Objective, Reference, from_centers, integer_weights

Centers: TypeAlias = Float64

SAMPLE_WEIGHT = 2.0**31
"""Total weight of a sample: it leaves 60 bits for each value in the exact sums of Lloyd's iterations."""

SEED_TRIALS = 4
"""Rows tried for a seed; the cost kernels measure four centers in the time of one."""


class Stop(NamedTuple):
    """When iterations end: at a relative decrease of ``tolerance``, or after ``max_iter``."""

    tolerance: float
    max_iter: int


class Run(NamedTuple):
    """Result of iterations: average cost of a row, centers, and weights of the clusters."""

    cost: float
    centers: Centers
    n_iter: int
    weights: Int64


@dataclass(frozen=True, eq=False)
class Points:
    """Rows to be clustered.

    ``values``: the rows, or a table that contains them. ``weights``: positive; None: 1 each. ``chosen``: the numbers of
    the rows in ``values``; None: all. ``whole``: the original rows, if these are sketches. ``residual``: mean cost of
    a row outside of the axes of its sketch. ``column_sizes``: largest absolute values of the table's columns, if known.
    """

    values: Values
    weights: Int64 | None
    objective: Objective
    chosen: Int64 | None = None
    whole: Points | None = None
    residual: float = 0.0
    column_sizes: Float64 | None = None

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return int(self.values.shape[0]) if self.chosen is None else len(self.chosen)

    @cached_property
    def matrix(self) -> Matrix:
        """The rows as a matrix of the core."""
        return as_matrix(self.values if self.chosen is None else self.values[self.chosen])

    @cached_property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    def rows(self, numbers: npt.NDArray[np.integer]) -> Centers:
        """Some rows as a dense float64 array."""
        rows = self.values[numbers if self.chosen is None else self.chosen[numbers]]
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        return np.ascontiguousarray(dense, dtype=np.float64) + 0.0  # -0.0 becomes 0.0, so equal rows have equal bits

    @cached_property
    def _numbers(self) -> Int64:
        return np.arange(self.n_rows) if self.chosen is None else self.chosen

    def principal_axes(self, n_axes: int) -> Float64:
        """Principal axes for sketches of these and other rows, shape (n_columns, n_axes)."""
        largest = -1.0 if self.column_sizes is None else float(self.column_sizes.max())
        return core.principal_axes(as_matrix(self.values), self._numbers, self.weights, n_axes, AXIS_ROUNDS, largest)

    def sketched(self, axes: Float64) -> Points:
        """Sketches of the rows along ``axes``."""
        along, residuals = core.project(as_matrix(self.values), self._numbers, axes)
        mean = exact_sum(residuals, self.weights) / self.total_weight if np.isfinite(residuals).all() else np.inf
        return Points(along, self.weights, self.objective, whole=self, residual=mean)

    def whole_centers(self, centers: Centers, n_jobs: int) -> Centers:
        """Centers in the columns of the original rows, from the rows nearest to each; zeros if there are none."""
        if self.whole is None:
            return centers
        matrix = as_matrix(self.whole.values)
        labels, weights = np.full(matrix.n_rows, -1, dtype=np.int32), np.ones(matrix.n_rows, dtype=np.int64)
        labels[self.whole._numbers] = self.objective.assign(self.matrix, centers, n_jobs)[0]
        weights[self.whole._numbers] = 1 if self.weights is None else self.weights
        sizes = self.whole.column_sizes
        whole, weight = self.objective.centers(matrix, labels, len(centers), weights, n_jobs, sizes)
        whole[weight == 0] = 0.0
        return whole

    def best_center(self, n_jobs: int) -> Centers:
        """The mean, or the median, of all rows, shape (1, n_columns)."""
        labels = np.zeros(self.n_rows, dtype=np.int32)
        return self.objective.centers(self.matrix, labels, 1, self.weights, n_jobs)[0]

    def iterate(self, centers: Centers, stop: Stop, n_jobs: int, *, costed: bool = True) -> Run:
        """Lloyd's iterations from these centers."""
        centers, n_iter, weights, cost = core.lloyd(
            self.matrix, centers, self.weights, stop.max_iter, stop.tolerance, n_jobs, self.objective.name, costed,
            None if self.chosen is not None else self.column_sizes,
        )  # fmt: skip
        return Run(cost + self.residual, centers, n_iter, weights)

    def drop(self, centers: Centers, n_left: int) -> Centers:
        """Remove the least important center, again and again, until ``n_left`` are left."""
        return core.drop_centers(self.matrix, centers, n_left, self.weights, self.objective.name)

    def seeds(self, n: int, rng: np.random.Generator, centers: Centers | None = None) -> Centers:
        """Rows for further centers by greedy k-means++."""
        uniforms = rng.random((n, SEED_TRIALS))
        return self.rows(core.plusplus(self.matrix, uniforms, self.weights, self.objective.name, centers))


@dataclass(frozen=True, eq=False)
class DistinctRows(Points):
    """Points, and the distinct rows among them: see :class:`SearchedRows`.

    Attributes
    ----------
    numbers : ndarray of shape (n_distinct,), int64
        The first row of each group of equal rows.
    totals : ndarray of shape (n_distinct,), int64
        Weight of each group.
    hashes : ndarray of shape (n_distinct,), uint64
        Hash of the values of each group.
    """

    _: KW_ONLY
    numbers: Int64
    totals: Int64
    hashes: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.numbers)

    def importance(self, centers: Centers, n_jobs: int) -> Importance:
        """See :class:`SearchedRows`."""
        labels, own, _ = self.objective.assign(self.matrix, centers, n_jobs)
        if len(self) < self.n_rows:
            labels, own = labels[self.numbers], own[self.numbers]
        of_cluster = np.bincount(labels, self.totals, len(centers)).astype(np.float64)
        cost = exact_sum(own, self.totals) / self.total_weight if np.isfinite(own).all() else np.inf
        found = Importance(centers, of_cluster, cost)
        found.of_rows = found.scores(labels, own)
        return found

    def sample(self, size: int, matters: Sequence[Importance], seed: int) -> Points:
        """See :class:`SearchedRows`."""
        if len(self) <= size:
            order = np.argsort(self.hashes)
            return self._points(self.totals[order], self.numbers[order])
        scores: Float64 = sum(each.of_rows for each in matters)  # type: ignore[assignment,misc]
        total = sum(each.total for each in matters)
        chosen, exact = draw_rows(self.hashes, self.totals, scores, size, seed, total)
        return self._points(sample_weights(exact), self.numbers[chosen])

    def _points(self, weights: Int64, numbers: Int64) -> Points:
        return Points(self.values, weights, self.objective, numbers, column_sizes=self.column_sizes)


@dataclass(eq=False)
class Importance:
    """Scores of rows by their importance for a clustering.

    Half of the total score is in proportion to the rows' costs, half is equal for all clusters; each half gives an
    average row a score of 1. So samples contain rows of regions with many rows and of regions with high costs, and of
    small clusters.

    ``centers`` (k, p). ``of_cluster`` (k,): weight of each cluster. ``cost``: average cost of a row; infinite if a cost
    is beyond float64. ``of_rows``: the scores of rows in memory.
    """

    centers: Centers
    of_cluster: Float64
    cost: float
    of_rows: Float64 | None = None

    @property
    def total(self) -> float:
        """Sum of weight times score over all rows."""
        weight = float(self.of_cluster.sum())
        of_clusters = weight * np.count_nonzero(self.of_cluster) / len(self.centers)
        return of_clusters + (weight if 0.0 < self.cost < np.inf else 0.0)

    def scores(self, labels: npt.NDArray[np.int32], own: Float64) -> Float64:
        """Scores of rows, from ``labels``, the nearest center of each, and ``own``, its cost."""
        each: Float64 = self.of_cluster.sum() / len(self.centers) / np.maximum(self.of_cluster, 1.0)
        scores = each[labels]
        if 0.0 < self.cost < np.inf:
            scores += own / self.cost
        return scores


class SearchedRows(Protocol):
    """Rows that a search samples and iterates over; ``len``: number of distinct rows.

    Large numbers of distinct rows need not be exact, see ``most_distinct``.
    """

    def __len__(self) -> int: ...

    @property
    def objective(self) -> Objective:
        """The objective to minimize."""

    @property
    def n_rows(self) -> int:
        """How many there are."""

    def best_center(self, n_jobs: int) -> Centers:
        """The mean, or the median, of all rows, shape (1, n_columns)."""

    def iterate(self, centers: Centers, stop: Stop, n_jobs: int, *, costed: bool = True) -> Run:
        """Lloyd's iterations from these centers."""

    def importance(self, centers: Centers, n_jobs: int) -> Importance:
        """Importance of the rows for a clustering."""

    def sample(self, size: int, matters: Sequence[Importance], seed: int) -> Points:
        """``size`` distinct rows by their scores, or all if there are no more, in the order of hashes."""


def sample_weights(exact: Float64) -> Int64:
    """Integer weights of the rows of a sample."""
    weights: Int64 = np.maximum(np.rint(exact * (SAMPLE_WEIGHT / exact.sum())), 1.0).astype(np.int64)
    return weights


def draw_rows(
    hashes: npt.NDArray[np.uint64], weights: Int64, scores: Float64, size: int, seed: int, total: float
) -> tuple[npt.NDArray[np.intp], Float64]:
    """A sample of distinct rows by their scores.

    Parameters
    ----------
    hashes, weights : ndarray of shape (n_distinct,)
        As in ``DistinctRows``.
    scores : ndarray of shape (n_distinct,), float64
        Positive; rows with larger scores are more likely to be drawn. A row whose weight times score is at least
        ``1 / size`` of the total is always drawn.
    size : int
        Below ``n_distinct``.
    seed : int
    total : float
        Weight times score of all rows. The given rows may be a part of them, with all certain ones and the
        ``size + 1`` most likely ones.

    Returns
    -------
    chosen : ndarray of shape (size,), intp
        By increasing hash.
    weights : ndarray of shape (size,), float64
        The rows' weights, each divided by the row's chance to be drawn.

    References
    ----------
    Duffield, Lund, Thorup (2007), *Priority sampling for estimation of arbitrary subset sums*. Bachem, Lucic, Krause
    (2018), *Scalable k-means clustering via lightweight coresets*.
    """
    shares = scores * weights
    certain = shares * size >= total
    priorities = np.where(certain, 0.0, core.hash_uniforms(hashes, seed) / scores)
    threshold = np.partition(priorities, size)[size]
    chosen = np.flatnonzero(priorities < threshold)
    chosen = chosen[np.argsort(hashes[chosen])]
    chance = np.where(certain, 1.0, np.minimum(1.0, scores * threshold))
    return chosen, weights[chosen] / chance[chosen]


def read_points(table: Table, by: Measure, column_sizes: Float64 | None = None) -> DistinctRows:
    """The rows of positive weight; equal rows are merged if this leaves at most half of the rows."""
    values: Values = table.values
    weights, _ = integer_weights(by.sample_weight)
    numbers, totals, hashes = core.distinct_rows(table.matrix, weights)
    if 2 * len(numbers) <= table.n_rows:
        values, weights, numbers = values[numbers], totals, np.arange(len(numbers))
    elif weights is not None and not weights.all():
        weighted = np.flatnonzero(weights)
        values, weights, numbers = values[weighted], weights[weighted], np.searchsorted(weighted, numbers)
    return DistinctRows(
        values, weights, by.objective, column_sizes=column_sizes, numbers=numbers, totals=totals, hashes=hashes
    )


Item = TypeVar("Item")

Result = TypeVar("Result")


def each(work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> list[Result]:
    """``work`` on every item, in order, on up to ``n_jobs`` threads."""
    if min(n_jobs, len(items)) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(n_jobs, len(items))) as threads:
        return list(threads.map(work, items))


WIDE, SPARE_AXES, AXIS_ROUNDS = 1_024, 8, 2
"""Least number of columns for sketches, axes of a sketch beyond the number of clusters, and rounds to find axes."""

FAR = 1e8
"""Samples with a row whose squared size is beyond so many times the median are not sketched: axes, which follow such
rows, leave no digits for the others."""

SMALL_ROWS, RESTARTS_PER_INIT, IDLE_PER_INIT = 3_000, 3, 2
"""On tables with at most SMALL_ROWS distinct rows, which are fast, so many restarts are made for each one in
``n_init``, even if some agree; and so many in a row without an improvement that end them."""

RESTART_ROWS, RESTART_ROWS_OF_CLUSTER = 2_500, 50
"""Distinct rows of a restart: a minimum, and a minimum for each cluster."""

FINAL_ROWS, FINAL_ROWS_OF_CLUSTER = 5_000, 100
"""Distinct rows for all restarts on a table that is searched whole; as above."""

LAST_ROWS = 4
"""Distinct rows for the best restarts on a larger table, a multiple of these: more pays than more restarts do."""

WHOLE_ROWS = 12_000
"""Distinct rows up to which a table is searched whole, with full iterations and without further samples."""

INITS_PER_RESTART, ROUND, FINALISTS = 5, 2, 4
"""How many in ``n_init`` make a restart on more rows than WHOLE_ROWS, as many clusters need: two that are crossed find
more there than ten; restarts at a time; finalists."""

AGREED, AGREEING, HOPELESS = 1.0003, 3, 1.05
"""Cost, relative to the best restart, up to which a restart agrees; number that must agree; cost that excludes one."""

COARSE, MIDDLE, FINE = 1e-3, 1e-4, 1e-5
"""Relative decreases of the cost that end a restart, a finalist, and later runs on a large table."""

IMPROVED, SAME = 1.0 - 1e-4, 1e-6
"""Relative cost below which a clustering is better, and relative difference up to which two are the same."""

MOST_MORE, MOST_IMPROVEMENTS = 3, 10
"""Number of additional centers that a clustering gets for a while, and how often at most."""

MAX_FULL_ITER = 20
"""Maximum of iterations over all rows of a large table; all but the first few change very little."""

MOST_FINISHES = 5
"""Maximum number of final labelings; one, unless it shows a cluster without rows or another order."""


def find_clustering(
    table: Table,
    n_clusters: int,
    by: Measure = PLAIN,
    *,
    init: str | npt.NDArray[np.float64] = "k-means++",
    n_init: int = 10,
    max_iter: int = 300,
    brief: bool = False,
    random_state: Any = None,
    verbose: int = 0,
    column_sizes: Float64 | None = None,
) -> tuple[Reference, int]:
    """The best of several clusterings by Lloyd's iterations.

    Parameters
    ----------
    table : Table
        The rows in the metric space.
    n_clusters : int
        At most the number of distinct rows of positive weight.
    by : Measure, default PLAIN
        Its weights are not negative.
    init : {"k-means++", "random"} or ndarray of shape (n_clusters, n_columns), default "k-means++"
        Starts of restarts: rows drawn by their cost (greedy k-means++), or any distinct rows; or given centers, for a
        single run on all rows without randomness.
    n_init : int, default 10
        Restarts, on a sample of a large table, until some agree or many bring no improvement; three times as many on a
        table of up to 3,000 distinct rows; a fifth as many, two at least, where one takes more than 12,000 rows, as
        only hundreds of clusters need.
    max_iter : int, default 300
        Iterations of every stage at most.
    brief : bool, default False
        On a large or wide table, end when iterations over all rows change very little; otherwise iterate until no row
        changes its center.
    random_state : int, RandomState instance or None
    verbose : int, default 0
        Above 0, restarts and stages are printed to standard error, as they end.
    column_sizes : ndarray of shape (n_columns,), float64, optional
        The largest absolute value of every column, where they are known, which saves passes over the rows.

    Returns
    -------
    reference : Reference
        Centers are the best ones of their rows, up to the last iteration's moves; every row has the label of its
        nearest center. Cluster 0 is the largest by weight, and so on, ties by center, column by column; given centers
        keep their numbers. As many distinct rows as clusters give cost 0. The same rows give the same bits in any
        order, and whole weights those of repeated rows.
    n_iter : int
        Lloyd's iterations of the last stage that led to it.

    Raises
    ------
    InvalidInputError
        Distances are beyond float64.
    """
    points = read_points(table, by, column_sizes)
    if not isinstance(init, str):
        run = points.iterate(init, Stop(0.0, max_iter), by.n_jobs)
        return _finish(table, points, run.centers, by, renumber=False), run.n_iter
    run = search_centers(
        points, n_clusters, init=init, n_init=n_init, max_iter=max_iter, brief=brief, random_state=random_state,
        n_jobs=by.n_jobs, verbose=verbose,
    )  # fmt: skip
    reference = _finish(table, points, run.centers, by, renumber=True)
    for _ in range(0 if brief else MOST_FINISHES):
        # Rows equally near to several centers may change clusters after the renumbering.
        again = points.iterate(reference.centers, Stop(0.0, max_iter), by.n_jobs, costed=False)
        if np.array_equal(again.centers, reference.centers):
            break
        reference = _finish(table, points, again.centers, by, renumber=True)
    return reference, run.n_iter


def search_centers(rows: SearchedRows, n_clusters: int, **how: Any) -> Run:
    """The centers of ``find_clustering``, the heaviest cluster first, before rows are labeled.

    ``how``: its parameters ``init``, ``n_init``, ``max_iter``, ``brief``, ``random_state``, ``n_jobs`` and ``verbose``.
    """
    if len(rows) == n_clusters:
        each_row = rows.sample(n_clusters, [], 0)
        assert each_row.weights is not None
        run = Run(0.0, each_row.rows(np.arange(n_clusters)), 1, each_row.weights)
    else:
        run = _Search(rows, n_clusters, **how).find()
    order = largest_first(run.weights, run.centers)
    return run._replace(centers=run.centers[order], weights=run.weights[order])


@dataclass(eq=False)
class _Search:
    """State shared by the stages of a search."""

    rows: SearchedRows
    n_clusters: int
    init: str = "k-means++"
    n_init: int = 10
    max_iter: int = 300
    brief: bool = False
    random_state: Any = None
    n_jobs: int = 1
    verbose: int = 0
    axes: Float64 | None = None  # axes of sketches, once a sample was drawn
    has_far_rows: bool = False  # see FAR

    @cached_property
    def rng(self) -> np.random.Generator:
        """The random generator of all draws."""
        return np.random.default_rng(read_random_state(self.random_state).randint(2**31 - 1, size=4))

    def find(self) -> Run:
        """The best run after all stages."""
        rows, n_jobs = self.rows, self.n_jobs
        # A sample of all rows needs no scores.
        draws = len(rows) > _final_rows(self.n_clusters)
        matters = [rows.importance(rows.best_center(n_jobs), n_jobs)] if draws else []
        # For k-medians the gain of an iteration is known only by a bound, far above the gain.
        tolerance = MIDDLE if rows.objective is KMEDIANS else FINE
        short, long = Stop(tolerance, min(self.max_iter, MAX_FULL_ITER)), Stop(0.0, self.max_iter)
        known: list[Centers] = []
        if not self._is_searched_whole:
            # The first sample only serves to score rows.
            first = self._sample(_restart_rows(self.n_clusters), matters)
            centers = first.whole_centers(self._restart(first, self.rng).centers, n_jobs)
            matters.append(rows.importance(centers, n_jobs))
            known.append(self._in_samples(centers))
        best, sample = self._best_of_sample(matters, known)
        self.axes = None  # to free memory as large as the centers: no more samples are drawn
        stop = short if self.brief and (known or sample.whole) else long
        return rows.iterate(sample.whole_centers(best.centers, n_jobs), stop, n_jobs, costed=False)

    @property
    def _is_searched_whole(self) -> bool:
        return len(self.rows) <= max(WHOLE_ROWS, _final_rows(self.n_clusters))

    def _sample(self, size: int, matters: Sequence[Importance]) -> Points:
        sample = self.rows.sample(size, matters, int(self.rng.integers(2**63)))
        n_axes = -(-(self.n_clusters + SPARE_AXES) // 16) * 16
        is_narrow = sample.values.shape[1] < max(WIDE, 4 * n_axes)
        if is_narrow or sample.objective is not KMEANS or self.has_far_rows:
            return sample
        axes = sample.principal_axes(n_axes) if self.axes is None else self.axes
        sketch = sample.sketched(axes)
        if self.axes is None:
            sizes = (sketch.values**2).sum(axis=1)
            self.has_far_rows = bool(sizes.max() > FAR * np.median(sizes))
        if self.has_far_rows:
            return sample
        self.axes = axes
        return sketch

    def _in_samples(self, centers: Centers) -> Centers:
        """Centers in the columns of samples, sketched if these are."""
        return centers if self.axes is None else core.project(as_matrix(centers), np.arange(len(centers)), self.axes)[0]

    def _restart(self, sample: Points, rng: np.random.Generator) -> Run:
        return sample.iterate(_SEEDS[self.init](sample, self.n_clusters, rng), Stop(COARSE, self.max_iter), 1)

    def _crossed(self, sample: Points, best: Run, other: Run, stop: Stop) -> Run:
        """The best of two runs and of a third from the most important centers of both."""
        if abs(best.cost - other.cost) <= SAME * best.cost:
            return best
        both = sample.drop(np.concatenate([best.centers, other.centers]), self.n_clusters)
        return min(best, other, sample.iterate(both, stop, self.n_jobs), key=_cost)

    def _restarts(self, sample: Points, known: list[Centers]) -> tuple[Run, list[Run]]:
        """The best run from known centers, restarts on a small sample and crossings; and all runs, sorted by cost.

        Restarts end once many in a row brought no improvement, and on a table that is not small once some agree.
        """
        stop = Stop(COARSE, self.max_iter)
        runs = [sample.iterate(centers, stop, self.n_jobs) for centers in known]
        is_small = len(self.rows) <= SMALL_ROWS
        most = self.n_init * RESTARTS_PER_INIT if is_small else self.n_init
        if sample.n_rows > WHOLE_ROWS:
            most = max(ROUND, self.n_init // INITS_PER_RESTART)
        streams = self.rng.bit_generator.seed_seq.spawn(most)  # type: ignore[attr-defined]
        made = idle = 0
        best = min(runs, key=_cost, default=None)
        while made < most and idle < IDLE_PER_INIT * self.n_init:
            if best is not None and not is_small and _agree(best, runs):
                break
            # Restarts are independent: one thread each, instead of many threads on one small sample.
            new = range(made, min(made + ROUND, most))
            show_progress(f"reference clustering: start {made + 1} of at most {most}", made / most)
            found = each(lambda i: self._restart(sample, np.random.default_rng(streams[i])), new, self.n_jobs)
            for run in found:
                before, best = best, run if best is None else self._crossed(sample, best, run, stop)
                idle = idle + 1 if before is not None and best.cost >= IMPROVED * before.cost else 0
            runs += found
            made += len(found)
        assert best is not None
        for i, run in enumerate(runs):
            self._say(f"restart {i + 1} of {len(runs)} on {sample.n_rows} rows: {run.cost:.6g} a row")
        return best, sorted(runs, key=_cost)

    def _best_of_sample(self, matters: Sequence[Importance], known: list[Centers]) -> tuple[Run, Points]:
        """The best run from restarts and known centers, and the sample that it was found on.

        Restarts use a small sample. If they disagree, the best of them continue on a larger one, and in any case on all
        rows of a table that is searched whole.
        """
        n_rows = _final_rows if self._is_searched_whole else _restart_rows
        sample = self._sample(n_rows(self.n_clusters), matters)
        best, runs = self._restarts(sample, known)
        stop = Stop(MIDDLE, self.max_iter)
        if sample.n_rows < len(self.rows):
            agree = _agree(best, runs)
            if not (known and agree):
                # Clusters fit the rows that they were found on, but less so in larger ones, and a sample may miss some.
                sample = self._sample(LAST_ROWS * _final_rows(self.n_clusters) if known else len(self.rows), matters)
            if agree:
                found = self._improve(sample, best, Stop(COARSE, self.max_iter))
                if known or found.cost <= HOPELESS * best.cost:
                    return found, sample
                best, runs = self._restarts(sample, [found.centers])  # the sample lacked much of the cost
            unlike = (r for r in runs if AGREED * best.cost < r.cost <= HOPELESS * best.cost)
            finalists = [best, *islice(unlike, FINALISTS - 1)]
            best, *others = (sample.iterate(run.centers, stop, self.n_jobs) for run in finalists)
            for other in others:
                best = self._crossed(sample, best, other, stop)
        return self._improve(sample, best, Stop(FINE, self.max_iter)), sample

    def _improve(self, sample: Points, best: Run, stop: Stop) -> Run:
        """Improve a run with additional centers for a while, fewer and fewer of them (Fritzke 2020)."""
        best = sample.iterate(best.centers, stop, self.n_jobs)
        n_more = min(MOST_MORE, self.n_clusters - 1)
        for _ in range(MOST_IMPROVEMENTS):
            if n_more < 1:
                break
            more = np.concatenate([best.centers, sample.seeds(n_more, self.rng, best.centers)])
            wide = sample.iterate(more, Stop(COARSE, self.max_iter), self.n_jobs, costed=False)
            further = sample.iterate(sample.drop(wide.centers, self.n_clusters), stop, self.n_jobs)
            if further.cost < IMPROVED * best.cost:
                best = further
            else:
                n_more -= 1
        return best

    def _say(self, line: str) -> None:
        if self.verbose:
            print(f"{self.rows.objective.name} {line}", file=sys.stderr, flush=True)


def _final_rows(n_clusters: int) -> int:
    return max(FINAL_ROWS, FINAL_ROWS_OF_CLUSTER * n_clusters)


def _restart_rows(n_clusters: int) -> int:
    return max(RESTART_ROWS, RESTART_ROWS_OF_CLUSTER * n_clusters)


def most_distinct(n_clusters: int) -> int:
    """Number of distinct rows beyond which a search needs no exact count."""
    return max(WHOLE_ROWS, LAST_ROWS * _final_rows(n_clusters))


_cost = operator.attrgetter("cost")


def _agree(best: Run, runs: list[Run]) -> bool:
    """Whether enough runs cost about as little as the best."""
    return sum(run.cost <= AGREED * best.cost for run in runs) >= AGREEING


def _any_rows(points: Points, k: int, rng: np.random.Generator) -> Centers:
    """Rows drawn by weight, none twice."""
    share = None if points.weights is None else points.weights / points.weights.sum()
    return points.rows(rng.choice(points.n_rows, k, replace=False, p=share))


_SEEDS: dict[str, Callable[[Points, int, np.random.Generator], Centers]] = {
    "k-means++": Points.seeds,
    "random": _any_rows,
}


def largest_first(weights: npt.NDArray[np.int64], centers: Centers) -> npt.NDArray[np.intp]:
    """Order of clusters by decreasing weight, then by center, column by column; shape (k,)."""
    order = np.argsort(-weights, kind="stable")
    if (np.diff(weights[order]) == 0).any():

        def compare(i: int, j: int) -> int:
            one, other = (centers[of, np.argmax(centers[i] != centers[j])] for of in (i, j))
            return int(weights[j] - weights[i]) or int(one > other) - int(one < other)

        order = np.array(sorted(order.tolist(), key=cmp_to_key(compare)), dtype=np.intp)
    return order


def _finish(table: Table, points: Points, centers: Centers, by: Measure, *, renumber: bool) -> Reference:
    """Labels and cost of all rows, including rows without weight."""
    objective, n_jobs, weights = by.objective, by.n_jobs, by.weights
    if weights is not None and weights.dtype == np.float64:
        # The iterations used weights rounded to integers.
        labels = objective.assign(table.matrix, centers, n_jobs)[0]
        own, totals = objective.centers(table.matrix, labels, len(centers), weights, n_jobs)
        centers = np.where(totals[:, None] > 0, own, centers)
    row_weights, _ = integer_weights(by.sample_weight)
    found = list[Reference]()

    def weigh(centers: Centers) -> Int64:
        given = from_centers(table, centers, by=by)
        found[:] = [given]
        of_cluster: Int64 = np.bincount(given.labels, row_weights, len(centers)).astype(np.int64)
        return of_cluster

    finish_centers(centers, weigh, points.iterate, n_jobs, renumber=renumber)
    return found[0]


def finish_centers(
    centers: Centers, weigh: Callable[[Centers], Int64], iterate: Callable[..., Run], n_jobs: int, *, renumber: bool
) -> Centers:
    """Centers that all have rows, by decreasing weight; ``weigh``: gives the weight of each center's rows."""
    for _ in range(MOST_FINISHES):
        of_cluster = weigh(centers)
        order = largest_first(of_cluster, centers)
        if not of_cluster.all():
            # The last move of the centers left one without rows; Lloyd's iterations move it to where it helps most.
            centers = iterate(centers, Stop(0.0, MAX_FULL_ITER), n_jobs, costed=False).centers
        elif renumber and (np.diff(order) < 0).any():
            # The last move of the centers, or a tie of rows, changed the order of clusters.
            centers = centers[order]
        else:
            break
    return centers
