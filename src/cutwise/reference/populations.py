"""Populations of clusterings: where restarts get stuck, they are first generations, and several go their own ways.

A population may close in on the wrong optimum, and others then do not; where the first of them come to the same, good
clusterings are easy to find, and that is enough.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .evolution import distinct, evolve
from .parallel import each
from .points import Points, Run, Stop

__all__ = ["find_by_populations"]

MEMBERS = 10
"""Clusterings of a population at most; the best of more restarts."""
SETTLED = 3
"""The best of them, which begin with coordinate descent."""
OFFSPRING, BRIEF_OFFSPRING = 6, 3
"""Offspring of a population for each restart, in a search that is not brief and in one that is."""
FEW_ROWS, FEW_OFFSPRING = 20_000, 60
"""Rows times offspring that cost next to nothing, however few the restarts; so many offspring at most."""
MOST, MOST_COSTS, LARGE_COSTS = 8, 5_000_000, 20_000_000
"""Populations at most, in a search that is not brief, and rows times centers times columns (4 at least) of all of them;
two where that is too few, and one beyond the last."""
SAME = 1e-6
"""Relative difference of what the first half of the populations found, up to which the others would find it too."""
SETTLED_ENOUGH = 1e-4
"""Relative fall of the cost that ends coordinate descent in a population."""


def find_by_populations(
    points: Points,
    restart: Callable[[np.random.Generator], Run],
    n_clusters: int,
    n_init: int,
    *,
    brief: bool,
    stop: Stop,
    rng: np.random.Generator,
    n_jobs: int,
    say: Callable[[str], None],
) -> list[Run]:
    """Clusterings of a few rows, better than restarts.

    Parameters
    ----------
    points : Points
    restart : callable
        Gives a clustering of the points.
    n_clusters : int
        At least two.
    n_init : int
        Restarts of each population.
    brief : bool
        One population, with fewer offspring.
    stop : Stop
        When iterations end.
    rng : numpy.random.Generator
    n_jobs : int
        Threads; the result does not depend on it.
    say : callable
        Takes a line for each population.

    Returns
    -------
    runs : list of Run
        Distinct ones by increasing cost.
    """
    n_offspring = n_init * (BRIEF_OFFSPRING if brief else OFFSPRING)
    n_offspring = max(n_offspring, min(FEW_OFFSPRING, FEW_ROWS // points.n_rows))
    n_populations = 1 if brief else _n_populations(points, n_clusters)
    settled = stop._replace(tolerance=max(stop.tolerance, SETTLED_ENOUGH))

    def improved(runs: list[Run], stream: np.random.Generator) -> list[Run]:
        best, *others = evolve(points, runs, n_offspring, stop, settled, stream)
        # Costs can be compared once nothing more falls.
        best = best if brief else points.settle(best.centers, stop._replace(tolerance=0.0), 1)
        say(f"{points.objective.name} population on {points.n_rows} rows: cost {best.cost:.6g}")
        return [best, *others]

    def population(stream: np.random.Generator) -> list[Run]:
        runs = sorted(map(restart, stream.spawn(n_init)), key=lambda run: run.cost)[:MEMBERS]
        runs[:SETTLED] = [points.settle(run.centers, settled, 1) for run in runs[:SETTLED]]
        return improved(runs, stream)

    streams, half = rng.spawn(n_populations), max(2, (n_populations + 1) // 2)
    populations = each(population, streams[:half], n_jobs)
    if not _agree(populations):
        populations += each(population, streams[half:], n_jobs)
        # The best of all are one more first generation.
        populations.append(improved([found[0] for found in populations], rng))
    return distinct([run for found in populations for run in found])


def _n_populations(points: Points, k: int) -> int:
    """How many are worth their time."""
    n_costs = points.n_rows * k * max(4, int(points.values.shape[1]))
    return max(2 if n_costs <= LARGE_COSTS else 1, min(MOST, MOST_COSTS // n_costs))


def _agree(populations: list[list[Run]]) -> bool:
    costs = [found[0].cost for found in populations]
    return max(costs) <= min(costs) * (1.0 + SAME)
