"""k-means in a feature space of which only inner products are known."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.core import Float64, Int32, count_distinct_rows
from cutwise.table.intake import read_table
from cutwise.table.table import as_matrix

from .feature_space import TIE, FeatureGram, FeatureSpace, nearest_centers
from .objective import Measure
from .resources import one_thread
from .search import each, find_clustering

INITS = ("k-means++", "random")

SPARE_COORDINATES, INITS_PER_START, ROWS_PER_CLUSTER = 8, 2, 10
"""Main coordinates beyond the number of clusters, how many in ``n_init`` make a start besides the one from them, and
rows per cluster from which on they are used: many coordinates take longer than starts."""

MOVING_ROWS = 20_000
"""Up to so many rows, single ones are moved at the end of a run. In larger tables no row has a weight in its cluster's
mean that could hold it there."""


@dataclass(frozen=True, eq=False)
class Partition:
    """One clustering of the m points of a feature space.

    ``labels`` (m,) int32. ``cost``: weighted sum of squared distances to the clusters' own means. ``n_iter``:
    iterations it took.
    """

    labels: Int32
    cost: float
    n_iter: int


def kernel_kmeans(
    space: FeatureSpace,
    n_clusters: int,
    *,
    init: str = "k-means++",
    n_init: int = 10,
    max_iter: int = 300,
    rng: np.random.Generator,
    n_jobs: int = 1,
    verbose: int = 0,
) -> Partition:
    """The best of several runs of kernel k-means.

    ``n_clusters``: at most the number of its rows. ``init``: a run starts from the best of ``n_init`` k-means
    clusterings of the main coordinates, and half as many (all, with few rows per cluster) from rows drawn by greedy
    k-means++ in feature space; or ``n_init`` start from labels drawn uniformly. ``max_iter``: iterations of a run at
    most. ``n_jobs``: runs at the same time; the result does not depend on it. ``verbose``: above 0, a line a run is
    printed to standard error. Returns ``partition``: every cluster has a row, and they are numbered by decreasing
    weight. Where the run converged, no row is nearer to another cluster's mean than to its own.

    A row is part of its own cluster's mean, and so nearer to it than it would be otherwise: in feature spaces of many
    dimensions enough to hold most rows where they happen to start. So when the iterations end, rows are moved one by
    one while that lowers the cost, which the runs of small tables often need to reach the best clustering they know.

    Dhillon, Guan, Kogan (2002), *Iterative clustering of high dimensional text data augmented by local search*.
    Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*, Appendix B.
    """

    def finish(labels: Int32) -> Partition:
        partition = _lloyd(space, labels, n_clusters, max_iter)
        if space.n_rows > MOVING_ROWS:
            return partition
        moved = _move_single_rows(space, partition, n_clusters, max_iter)
        if moved is partition:
            return partition
        # Where the moves came to their end, this only finds that every row is at its nearest mean.
        last = _lloyd(space, moved.labels, n_clusters, max_iter)
        return Partition(last.labels, last.cost, moved.n_iter + last.n_iter)

    def run(stream: np.random.Generator) -> Partition:
        if init == "random":
            return finish(stream.integers(0, n_clusters, space.n_rows).astype(np.int32))
        return finish(_seeded(space, n_clusters, stream))

    runs = list[Partition]()
    # Points with coordinates are k-means' own case, whose search finds more than single runs do. Points without any
    # have nearly the same clusters along their main directions.
    features = space.gram.features if isinstance(space.gram, FeatureGram) else None
    if init == "k-means++" and (features is not None or ROWS_PER_CLUSTER * n_clusters <= space.n_rows):
        points = features
        if points is None:  # in units of the largest, whose square is far from the ends of float64
            points = space.main_coordinates(n_clusters + SPARE_COORDINATES) / np.sqrt(space.scale or 1.0)
        if count_distinct_rows(as_matrix(points), n_clusters) >= n_clusters:
            found, _ = find_clustering(
                read_table(points),
                n_clusters,
                Measure(sample_weight=space.weights, n_jobs=n_jobs),
                brief=True,
                n_init=n_init,
                random_state=int(rng.integers(2**31 - 1)),
                verbose=verbose,
            )
            with one_thread():
                runs.append(finish(found.labels))
            n_init = n_init // INITS_PER_START if features is None else 0
    with one_thread():
        runs += each(run, rng.spawn(n_init), n_jobs)
    if verbose:
        for i, partition in enumerate(runs):
            line = (
                f"kernel k-means run {i + 1} of {len(runs)}: cost {partition.cost:.6g}, {partition.n_iter} iterations"
            )
            print(line, file=sys.stderr, flush=True)
    return _largest_first(space, min(runs, key=lambda partition: partition.cost), n_clusters)


def _largest_first(space: FeatureSpace, partition: Partition, k: int) -> Partition:
    """The partition with its clusters numbered by decreasing weight."""
    order = np.argsort(-np.bincount(partition.labels, space.weights, k), kind="stable")
    return replace(partition, labels=np.argsort(order).astype(np.int32)[partition.labels])


def _seeded(space: FeatureSpace, k: int, rng: np.random.Generator) -> Int32:
    """Labels by the nearest of k rows, drawn one by one: of a few drawn by their cost, the one that lowers it most."""
    gram, weights = space.gram, space.weights
    diagonal = gram.diagonal
    n_candidates = 2 + int(np.log(k))
    first = int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right"))
    first = min(first, space.n_rows - 1)
    labels = np.zeros(space.n_rows, dtype=np.int32)
    nearest = _distances(space, np.array([first]))[:, 0]
    for seed in range(1, k):
        running = np.cumsum(weights * nearest)
        if running[-1] <= 0:
            break  # all rows are on seeds: the clusters that are left get rows when the iterations find them empty
        drawn = np.searchsorted(running, rng.random(n_candidates) * running[-1], side="right")
        candidates = np.minimum(drawn, space.n_rows - 1)
        distances = np.minimum(_distances(space, candidates), nearest[:, None])
        best = int((weights @ distances).argmin())
        # Ties stay with the earlier seed, as everywhere.
        labels[distances[:, best] < nearest - TIE * diagonal.max()] = seed
        nearest = distances[:, best]
    return labels


def _distances(space: FeatureSpace, points: npt.NDArray[np.intp]) -> Float64:
    """Squared distances of all rows to some of them."""
    diagonal = space.gram.diagonal
    distances = diagonal[:, None] + diagonal[points] - 2 * space.gram.columns(points)
    return np.maximum(distances, 0.0)


def _lloyd(space: FeatureSpace, labels: Int32, k: int, max_iter: int) -> Partition:
    """Move every row to the nearest mean until none moves."""
    gram, weights, n = space.gram, space.weights, space.n_rows
    scale = space.scale
    labels, _ = _fill_empty(space, labels, np.ones(n), k)
    stuck = False
    indicator = space.indicator(labels, k)
    products, exact = gram.times(indicator), True
    n_iter = 0
    while n_iter < max_iter and not stuck:
        n_iter += 1
        totals = indicator.sum(axis=0)
        relative = (indicator * products).sum(axis=0) / totals**2 - 2 * products / totals
        moved = nearest_centers(relative, scale)
        own = gram.diagonal + relative[np.arange(n), moved]
        moved, stuck = _fill_empty(space, moved, own, k)
        changed = np.flatnonzero(moved != labels)
        if len(changed) == 0:
            if exact:
                break
            # What was added up over many iterations carries their rounding: look again with none.
            products, exact = gram.times(indicator), True
            continue
        difference = np.zeros((len(changed), k))
        difference[np.arange(len(changed)), moved[changed]] = weights[changed]
        difference[np.arange(len(changed)), labels[changed]] -= weights[changed]
        labels = moved
        indicator[changed] += difference
        if 3 * len(changed) < n:
            products += gram.times_rows(changed, difference)
            exact = False
        else:
            products, exact = gram.times(indicator), True
    return Partition(labels, space.partition_cost(labels, k), n_iter)


def _move_single_rows(space: FeatureSpace, partition: Partition, k: int, max_moves: int) -> Partition:
    """Move the row that lowers the cost most, again and again."""
    gram, weights, every = space.gram, space.weights, np.arange(space.n_rows)
    labels = partition.labels.copy()
    indicator = space.indicator(labels, k)
    products = gram.times(indicator)
    n_moves = 0
    while n_moves < max_moves:
        totals, sizes = indicator.sum(axis=0), np.bincount(labels, minlength=k)
        distances = gram.diagonal[:, None] + (indicator * products).sum(axis=0) / totals**2 - 2 * products / totals
        # What the cost of a cluster rises by when a row joins it, and falls by when one leaves that is not alone.
        joining = distances * (totals * weights[:, None] / (totals + weights[:, None]))
        joining[every, labels] = np.inf
        rest = totals[labels] - weights
        rest[(sizes[labels] == 1) | (rest <= 0)] = np.inf  # beside a heavy row the others may be only rounding
        gain = distances[every, labels] * (totals[labels] * weights / rest) - joining.min(axis=1)
        gain[sizes[labels] == 1] = -np.inf  # joining may cost less than nothing where a kernel is not positive definite
        row = int(gain.argmax())
        if not gain[row] > TIE * space.scale * weights.sum():
            break
        n_moves += 1
        to = int(joining[row].argmin())
        difference = np.zeros((1, k))
        difference[0, [to, labels[row]]] = weights[row], -weights[row]
        labels[row] = to
        indicator[row] += difference[0]
        products += gram.times_rows(np.array([row]), difference)
    if n_moves == 0:
        return partition
    return Partition(labels, space.partition_cost(labels, k), partition.n_iter + n_moves)


def _fill_empty(space: FeatureSpace, labels: Int32, own: Float64, k: int) -> tuple[Int32, bool]:
    """Give every cluster without rows the row that is farthest from its own mean, of those not alone in theirs.

    Returns ``labels`` (m,) int32. ``stuck``: only rows that lie on their means were left: more moves would go in
    circles.
    """
    sizes = np.bincount(labels, minlength=k)
    empty = np.flatnonzero(sizes == 0)
    if len(empty) == 0:
        return labels, False
    labels, stuck = labels.copy(), False
    farthest: Any = iter(np.argsort(-own, kind="stable").tolist())
    for cluster in empty.tolist():
        row = next(row for row in farthest if sizes[labels[row]] > 1)
        stuck = stuck or bool(own[row] <= TIE * space.scale)
        sizes[labels[row]] -= 1
        sizes[cluster] += 1
        labels[row] = cluster
    return labels, stuck
