"""Better clusterings by swaps: a center goes, a row drawn by its cost comes, and iterations say whether that helped."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cutwise.core.kernels import as_matrix

from .points import Centers, Points, Run, Stop

__all__ = ["improve_by_swaps", "n_candidates"]

Float64 = npt.NDArray[np.float64]

BLOCK = 1 << 22
"""Costs held at once."""
TRIAL_ITER = 3
PROMISING = 1.01
"""An exchange is given up after so many iterations, unless it then costs less than this multiple of what was."""
NEAR = 1.0005
"""Iterations that end below this multiple of the cost earn coordinate descent."""
WORTH_MORE = 1.0 - 1e-6
"""Exchanges that lower the cost to less than this share of it earn further attempts."""
FEW_ROWS = 20_000
"""Rows times attempts up to which further attempts cost next to nothing."""
MOST_ATTEMPTS = 2
"""Attempts at most, for each of those in vain that end the search: many centers can be bettered for very long."""


def n_candidates(n_clusters: int) -> int:
    """Rows tried for each seed or swap, as many as scikit-learn's k-means++ tries."""
    return 2 + int(np.log(n_clusters))


def improve_by_swaps(
    points: Points, run: Run, rng: np.random.Generator, stop: Stop, patience: int, n_jobs: int = 1
) -> Run:
    """Swap centers for rows as long as that pays.

    Of a few rows, drawn by what they cost, and all centers, the exchange after which the rows cost least is tried:
    iterations go on from there, and the result is kept if it costs less than what was. Where that was in vain, any
    center goes next: what looks dear at first may be the way around a local optimum.

    Parameters
    ----------
    points : Points
    run : Run
        Where to begin; at least two centers.
    rng : numpy.random.Generator
    stop : Stop
        When iterations end.
    patience : int
        Attempts in vain, one after the other, that end the search; more on small tables, where they are cheap.
    n_jobs : int, default 1

    Returns
    -------
    run : Run
        Never worse. Centers are in increasing order of the first column, then the next: the same clustering has the
        same numbers, whatever way led to it.

    References
    ----------
    Lattanzi, Sohler (2019), *A better k-means++ algorithm via local search*: rows drawn by cost, and the best center to
    give up. Fränti (2018), *Efficiency of random swap clustering*: iterations before the decision.
    """
    patience = max(patience, min(5 * patience, FEW_ROWS // points.n_rows))
    held = _Held(points, run.centers)
    in_vain = 0
    for _ in range(MOST_ATTEMPTS * patience):
        if in_vain == patience or not 0.0 < run.cost < np.inf:
            break
        rows = held.draw(rng, n_candidates(len(run.centers)))
        row, center = held.best_exchange(rows)
        if in_vain % 2:
            center = int(rng.integers(len(run.centers)))
        centers = run.centers.copy()
        centers[center] = row
        trial = stop._replace(max_iter=min(stop.max_iter, TRIAL_ITER))
        tried = points.iterate(centers, trial, n_jobs)
        if tried.cost < run.cost * PROMISING:
            tried = points.iterate(tried.centers, stop, n_jobs)
        if tried.cost < run.cost * NEAR:
            tried = points.settle(tried.centers, stop, n_jobs)
        in_vain = 0 if tried.cost < run.cost * WORTH_MORE else in_vain + 1
        if tried.cost < run.cost * (1.0 - 1e-12):
            run, held = tried, _Held(points, tried.centers)
    return run._replace(centers=run.centers[np.lexsort(run.centers.T[::-1])])


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
