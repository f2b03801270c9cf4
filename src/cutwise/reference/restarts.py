"""Clusterings by Lloyd's iterations: restarts on samples, few iterations on all rows.

A solution on m sampled rows costs about k / m more (relatively) on all rows than the optimum it stands for. So restarts
on ten thousand rows tell good starts from bad ones, a hundred thousand rows bring the best of them close, and the full
table is left with a few iterations whose bounds skip most rows. Equal rows are merged into weights where that pays.

Everything runs in our own core: no OpenMP, no BLAS. Fits may run in several threads at once or in forked children, and
the result depends on neither the number of threads nor the machine's libraries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.core import plusplus
from cutwise.table import Table, read_random_state

from .given import from_centers
from .objective import KMEANS, KMEDIANS, Objective
from .parallel import each
from .points import Centers, Points, Run, Stop, distinct_points
from .result import Reference
from .weights import sum_weights

__all__ = ["Found", "find_clustering", "find_reference"]

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
"""Relative falls of the cost that end a restart, and a later stage, on a large table."""
MAX_FULL_ITER = 20
"""Iterations of a reference over more than ``RUN_UP_ROWS`` rows; all but the first few change next to nothing."""


@dataclass(frozen=True, eq=False)
class Found:
    """A clustering and how it was found.

    ``n_iter``: Lloyd's iterations of the last stage that led to it.
    """

    reference: Reference
    n_iter: int


def find_reference(
    table: Table,
    n_clusters: int,
    *,
    objective: Objective = KMEANS,
    n_init: int = 10,
    random_state: Any = None,
    sample_weight: npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
    verbose: int = 0,
) -> Reference:
    """The best of several clusterings, as good as a reference needs to be.

    ``table``, ``n_clusters``, ``objective``, ``n_init``, ``random_state``, ``sample_weight``, ``n_jobs``, ``verbose``:
    as in ``find_clustering``. Raises ``InvalidInputError``: distances are beyond float64.
    """
    return find_clustering(
        table,
        n_clusters,
        objective=objective,
        n_init=n_init,
        brief=True,
        random_state=random_state,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
        verbose=verbose,
    ).reference


def find_clustering(
    table: Table,
    n_clusters: int,
    *,
    objective: Objective = KMEANS,
    init: str | npt.NDArray[np.float64] = "k-means++",
    n_init: int = 10,
    max_iter: int = 300,
    brief: bool = False,
    random_state: Any = None,
    sample_weight: npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
    verbose: int = 0,
) -> Found:
    """The best of several clusterings by Lloyd's iterations.

    ``table``: the rows in the metric space. ``n_clusters``: at most the number of distinct rows of positive weight.
    ``init`` (n_clusters, n_columns): where restarts start: rows drawn by their cost (greedy k-means++), any distinct
    rows, or the given centers, from which there is one run on all rows and nothing random. ``n_init``: restarts, on a
    sample of a large table. The best three results go on. ``max_iter``: iterations of every stage at most. ``brief``:
    on a table of more than ``RUN_UP_ROWS`` rows, end when iterations over all rows change next to nothing; otherwise
    they go on until no row changes its center. ``sample_weight`` (n_rows,) float64: not negative. ``n_jobs``: threads;
    the result does not depend on it. ``verbose``: above 0, restarts and stages are printed to standard error, as they
    end. Returns ``found``: centers are the best ones of their rows, up to the last iteration's moves; every row has the
    label of its nearest center. As many distinct rows as clusters give cost 0. Raises ``InvalidInputError``: distances
    are beyond float64.
    """
    points = distinct_points(table, sample_weight, objective)
    say: Callable[[str], None] = partial(print, file=sys.stderr, flush=True) if verbose else _silent
    to_the_end = Stop(0.0, max_iter)
    if not isinstance(init, str):
        run = points.iterate(init, to_the_end, n_jobs)
    elif points.n_rows == n_clusters:
        run = Run(0.0, points.rows(np.arange(n_clusters)), 1)
    else:
        rng = np.random.default_rng(read_random_state(random_state).randint(2**31 - 1, size=4))
        run = _search(points, n_clusters, _SEEDS[init], n_init, max_iter, brief, rng, n_jobs, say)
    return Found(_finish(table, points, run.centers, sample_weight, n_jobs), run.n_iter)


def _search(
    points: Points,
    k: int,
    seeds: Callable[[Points, int, np.random.Generator], Centers],
    n_init: int,
    max_iter: int,
    brief: bool,
    rng: np.random.Generator,
    n_jobs: int,
    say: Callable[[str], None],
) -> Run:
    """The best restart after all stages."""
    name = points.objective.name
    sample = points if points.n_rows <= max(WHOLE_ROWS, 25 * k) else points.sample(max(RESTART_ROWS, 25 * k), rng)
    to_the_end = Stop(0.0, max_iter)
    stop = to_the_end if sample is points else Stop(COARSE, max_iter)

    def restart(stream: np.random.Generator) -> Run:
        return sample.iterate(seeds(sample, k, stream), stop, 1)

    # Restarts are independent: one thread each, instead of many threads on one small sample.
    runs = each(restart, rng.spawn(n_init), n_jobs)
    for i, run in enumerate(runs):
        say(f"{name} restart {i + 1} of {n_init} on {sample.n_rows} rows: cost {run.cost:.6g}")
    finalists = sorted(runs, key=lambda run: run.cost)[:FINALISTS]
    if sample is points:
        return finalists[0]

    larger = points.sample(RUN_UP_ROWS, rng)
    whole = larger is points
    stop = to_the_end if whole else Stop(FINE, max_iter)
    best = min((larger.iterate(run.centers, stop, n_jobs) for run in finalists), key=lambda run: run.cost)
    say(f"{name}, best of {len(finalists)} on {larger.n_rows} rows: cost {best.cost:.6g}")
    if whole:
        return best
    # What an iteration for k-medians may gain is known by a bound only, which its gain is far below.
    tolerance = COARSE if points.objective is KMEDIANS else FINE
    last = Stop(tolerance, min(max_iter, MAX_FULL_ITER)) if brief else to_the_end
    return points.iterate(best.centers, last, n_jobs, costed=False)


def _costly_rows(points: Points, k: int, rng: np.random.Generator) -> Centers:
    """Greedy k-means++, with as many candidates a seed as scikit-learn tries."""
    few = points.sample(max(SEEDING_ROWS, 10 * k), rng)
    uniforms = rng.random((k, 2 + int(np.log(k))))
    return few.rows(plusplus(few.matrix, uniforms, few.weights, few.objective.name))


def _any_rows(points: Points, k: int, rng: np.random.Generator) -> Centers:
    """Rows drawn by weight, none twice."""
    share = None if points.weights is None else points.weights / points.weights.sum()
    return points.rows(rng.choice(points.n_rows, k, replace=False, p=share))


_SEEDS = {"k-means++": _costly_rows, "random": _any_rows}


def _finish(
    table: Table, points: Points, centers: Centers, sample_weight: npt.NDArray[np.float64] | None, n_jobs: int
) -> Reference:
    """Labels and cost of all rows, also of those without weight."""
    objective = points.objective
    weights = sum_weights(sample_weight)
    if weights is not None and weights.dtype == np.float64:
        # The iterations had the weights rounded to integers.
        labels = objective.assign(table.matrix, centers, n_jobs)[0]
        own, totals = objective.centers(table.matrix, labels, len(centers), weights, n_jobs)
        centers = np.where(totals[:, None] > 0, own, centers)
    reference = from_centers(table, centers, objective=objective, sample_weight=sample_weight, n_jobs=n_jobs)
    for _ in range(3):
        held = reference.labels if sample_weight is None else reference.labels[sample_weight > 0]
        if np.bincount(held, minlength=len(centers)).all():
            break
        # The last move of the centers left one without rows; Lloyd's iterations put it where it is needed.
        centers = points.iterate(centers, Stop(0.0, MAX_FULL_ITER), n_jobs, costed=False).centers
        reference = from_centers(table, centers, objective=objective, sample_weight=sample_weight, n_jobs=n_jobs)
    return reference


def _silent(_: str) -> None:
    pass
