"""Better clusterings from stuck ones: centers of two are crossed, one of them goes, a row drawn by its cost comes.

Iterations for k-medians end in very many local optima, and what is better is often half of one and half of another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cutwise.core.kernels import as_matrix

from .points import Centers, Points, Run, Stop

__all__ = ["distinct", "evolve", "n_candidates"]

Float64 = npt.NDArray[np.float64]

BLOCK = 1 << 22
"""Costs held at once."""
EARLY = 3e-3
"""Relative fall of the cost after which iterations of offspring pause; those far above the population end there."""
NEAR = 1.0005
"""Offspring that cost less than this multiple of the best earn coordinate descent."""
WORTH_MORE = 1.0 - 1e-6
"""Offspring that cost less than this share of the best are what patience waits for."""
SAME = 1e-9
"""Relative difference of costs up to which two clusterings are taken for the same."""


def n_candidates(n_clusters: int) -> int:
    """Rows tried for each seed or exchange, as many as scikit-learn's k-means++ tries."""
    return 2 + int(np.log(n_clusters))


def evolve(
    points: Points, population: list[Run], n_offspring: int, stop: Stop, settled: Stop, rng: np.random.Generator
) -> list[Run]:
    """Let clusterings compete with their offspring.

    Two of them are parents, each the better of two that were drawn. Every center of the one is paired with one of the
    other, all pairs as near as can be, and one center of each pair is taken. Of every three so crossed, two have a
    center exchanged for a row: any center, or the one that is missed least once the row is there. Iterations go on from
    there, and of the population and what they come to, those that cost least live on.

    Parameters
    ----------
    points : Points
    population : list of Run
        Clusterings into the same number of clusters, two at least; of a single one, offspring differ by an exchange.
    n_offspring : int
        At most; half as many in vain, one after the other, are the last.
    stop : Stop
        When iterations end.
    settled : Stop
        When coordinate descent ends.
    rng : numpy.random.Generator

    Returns
    -------
    population : list of Run
        The distinct ones, by increasing cost; the best is never worse than the best was. Centers are in increasing
        order of the first column, then the next: the same clustering has the same numbers, whatever way led to it.

    References
    ----------
    Gribel, Vidal (2019), *HG-means: A scalable hybrid genetic algorithm for minimum sum-of-squares clustering*: a
    population of local optima, and crossing by pairs of centers. Lattanzi, Sohler (2019), *A better k-means++ algorithm
    via local search*: rows drawn by cost, and the best center to give up.
    """
    size = len(population)
    population = distinct(population)
    early = stop._replace(tolerance=max(stop.tolerance, EARLY))
    in_vain = 0
    for number in range(n_offspring):
        best = population[0].cost
        if 2 * in_vain > n_offspring or not 0.0 < best < np.inf:
            break
        in_vain += 1
        worst = population[-1].cost if len(population) == size else np.inf
        start = _crossed(population, rng)
        if number % 3 or len(population) == 1:
            start = _exchanged(points, start, number % 3 == 2, rng)
        run = points.iterate(start, early, 1)
        if run.cost > worst * (1.0 + 2.0 * EARLY):
            continue
        if stop.tolerance < EARLY:
            run = points.iterate(run.centers, stop, 1)
        if run.cost < best * NEAR:
            run = points.settle(run.centers, settled, 1)
        if run.cost < best * WORTH_MORE:
            in_vain = 0
        if run.cost < worst:
            population = distinct([*population, run])[:size]
    return [run._replace(centers=run.centers[np.lexsort(run.centers.T[::-1])]) for run in population]


def distinct(runs: list[Run]) -> list[Run]:
    """Runs by increasing cost, of those that cost the same the first."""
    found: list[Run] = []
    for run in sorted(runs, key=lambda each: each.cost):
        if not found or run.cost > found[-1].cost * (1.0 + SAME):
            found.append(run)
    return found


def _crossed(population: list[Run], rng: np.random.Generator) -> Centers:
    """One center of each pair of two parents; a single parent's own."""
    from scipy.optimize import linear_sum_assignment  # takes a tenth of a second to import, which only k-medians needs

    size = len(population)
    # In order of their costs: the smaller of two numbers is the better clustering.
    one, other = (int(rng.integers(size, size=2).min()) for _ in range(2))
    if one == other:
        other = (one + 1 + int(rng.integers(max(size - 1, 1)))) % size
    first, second = population[one].centers, population[other].centers
    # Centers near the ends of float64 are farther apart than it can say, and pairs depend on proportions alone.
    scale = max(np.abs(first).max(), np.abs(second).max()) * len(first[0]) or 1.0
    apart = np.array([np.abs(second / scale - center / scale).sum(axis=1) for center in first])
    _, pairs = linear_sum_assignment(apart)
    takes_first = rng.random(len(first)) < 0.5
    return np.where(takes_first[:, None], first, second[pairs])


def _exchanged(points: Points, centers: Centers, least_missed: bool, rng: np.random.Generator) -> Centers:
    """The centers with one of them exchanged for a row."""
    held = _Held(points, centers)
    k = len(centers)
    if least_missed:
        row, leaving = held.best_exchange(held.draw(rng, n_candidates(k)))
    else:
        row, leaving = held.draw(rng, 1)[0], int(rng.integers(k))
    centers[leaving] = row
    return centers


class _Held:
    """What the rows cost by their nearest and their second nearest center."""

    def __init__(self, points: Points, centers: Centers) -> None:
        self._points = points
        self._n_clusters = len(centers)
        self._label = np.empty(points.n_rows, dtype=np.intp)
        self._nearest, self._second = np.empty((2, points.n_rows))
        step = max(1, BLOCK // len(centers))
        for first in range(0, points.n_rows, step):
            rows = slice(first, first + step)
            costs = points.objective.costs(as_matrix(points.values[rows]), centers)
            self._label[rows] = costs.argmin(axis=1)
            two = np.partition(costs, 1, axis=1)
            self._nearest[rows], self._second[rows] = two[:, 0], two[:, 1]
        self._weights = np.ones(points.n_rows) if points.weights is None else points.weights.astype(np.float64)
        self._running = np.cumsum(self._weights * self._nearest)

    def draw(self, rng: np.random.Generator, n: int) -> Centers:
        """Rows, each drawn by its share of the cost."""
        at = np.searchsorted(self._running, rng.random(n) * self._running[-1], side="right")
        return self._points.rows(np.minimum(at, self._points.n_rows - 1))

    def best_exchange(self, rows: Centers) -> tuple[Float64, int]:
        """Of some rows and all centers: which row should come for which center."""
        best = (np.inf, 0, 0)
        for i, column in enumerate(self._points.objective.costs(self._points.matrix, rows).T):
            with_row = np.minimum(column, self._nearest)
            # Rows of a center that goes fall to the second nearest, or to the new one.
            loss = np.minimum(column, self._second) - with_row
            of_center = np.bincount(self._label, self._weights * loss, self._n_clusters)
            center = int(of_center.argmin())
            cost = float(self._weights @ with_row) + float(of_center[center])
            best = min(best, (cost, i, center))
        return rows[best[1]], best[2]
