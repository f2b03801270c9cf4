"""Populations of clusterings: never worse than they were, better where halves of two are right, the same for a seed."""

import numpy as np
import pytest

from cutwise.reference import KMEDIANS
from cutwise.reference.evolution import distinct, evolve
from cutwise.reference.points import Run, Stop, distinct_points
from cutwise.table import read_table

TO_THE_END = Stop(0.0, 300)


def started(X, k, n, seed=0):
    points = distinct_points(read_table(X), None, KMEDIANS)
    rng = np.random.default_rng(seed)
    starts = [points.rows(rng.choice(points.n_rows, k, replace=False)) for _ in range(n)]
    return points, [points.iterate(start, TO_THE_END, 1) for start in starts]


def evolved(points, runs, n_offspring=40, seed=0):
    return evolve(points, runs, n_offspring, TO_THE_END, TO_THE_END, np.random.default_rng(seed))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_best_is_never_worse_and_the_order_is_by_cost(n):
    for seed in range(8):
        X = np.random.default_rng(seed).normal(size=(80, 3))
        points, runs = started(X, 4, n, seed)
        population = evolved(points, runs, seed=seed)
        costs = [run.cost for run in population]
        assert 1 <= len(population) <= n
        assert costs == sorted(set(costs))
        assert costs[0] <= min(run.cost for run in runs)
        for run in population:
            assert run.cost == pytest.approx(np.abs(X[:, None] - run.centers).sum(axis=2).min(axis=1).sum())
            assert np.array_equal(run.centers[:, 0], np.sort(run.centers[:, 0]))


def test_two_that_are_right_in_half_of_their_clusters_have_offspring_that_is_right_in_all():
    rng = np.random.default_rng(0)
    planted = np.array([[20.0 * j, 0.0] for j in range(4)] + [[20.0 * j, 500.0] for j in range(4)])
    X = np.repeat(planted, 30, axis=0) + rng.normal(size=(240, 2))
    points = distinct_points(read_table(X), None, KMEDIANS)
    # In the wrong half one center serves two clusters and another cluster has two centers.
    shifted = np.array([[10.0, 0.0], [40.0, 0.0], [59.0, 0.0], [61.0, 0.0]])
    first = points.iterate(np.concatenate([shifted, planted[4:]]), TO_THE_END, 1)
    second = points.iterate(np.concatenate([planted[:4], shifted + [0.0, 500.0]]), TO_THE_END, 1)
    best = points.iterate(planted, TO_THE_END, 1)
    assert min(first.cost, second.cost) > 1.2 * best.cost
    assert evolved(points, [first, second])[0].cost <= best.cost * (1 + 1e-12)


def test_the_same_seed_leads_to_the_same_population():
    points, runs = started(np.random.default_rng(1).exponential(size=(200, 2)), 6, 5)
    once, again, other = (evolved(points, runs, seed=seed) for seed in (3, 3, 4))
    assert [run.centers.tobytes() for run in once] == [run.centers.tobytes() for run in again]
    assert [run.centers.tobytes() for run in once] != [run.centers.tobytes() for run in other]


def test_what_costs_nothing_is_left_alone():
    X = np.arange(5.0)[:, None]
    points = distinct_points(read_table(X), None, KMEDIANS)
    population = evolved(points, [Run(0.0, X.copy(), 1)])
    assert len(population) == 1
    assert np.array_equal(population[0].centers, X)


def test_of_runs_that_cost_the_same_the_first_stays():
    runs = [Run(2.0, np.full((1, 1), 0.0), 1), Run(1.0, np.full((1, 1), 1.0), 1), Run(2.0, np.full((1, 1), 2.0), 1)]
    assert [float(run.centers[0, 0]) for run in distinct(runs)] == [1.0, 0.0]


@pytest.mark.parametrize("size", [2.0**-900, 2.0**-30, 2.0**1010])
def test_any_magnitude_leads_to_the_same(size):
    X = np.random.default_rng(2).integers(-40, 40, (60, 2)).astype(float)
    points, runs = started(X, 5, 4)
    large, large_runs = started(X * size, 5, 4)
    for small, big in zip(evolved(points, runs), evolved(large, large_runs), strict=True):
        np.testing.assert_allclose(big.centers, small.centers * size)
