"""Coordinate descent for k-medians, against every place that a coordinate could go to."""

import numpy as np
import pytest
from scipy import sparse

from cutwise.core.iterations import descend_medians, lloyd
from cutwise.core.kernels import as_matrix

LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sparse.csr_array}


def cost_of(values, centers, weights=None):
    nearest = np.abs(values[:, None].astype(float) - centers[None]).sum(axis=2).min(axis=1)
    return float(nearest @ (np.ones(len(values)) if weights is None else weights))


def least_by_one_coordinate(values, centers, weights=None):
    """What rows cost at least when one coordinate of one center goes anywhere: a kink of their cost is where."""
    least = np.inf
    apart = np.abs(values[:, None] - centers[None])
    for j, center in enumerate(centers):
        others = np.delete(apart.sum(axis=2), j, axis=1).min(axis=1)
        for f in range(values.shape[1]):
            rest = np.delete(apart[:, j], f, axis=1).sum(axis=1)
            radius = np.maximum(others - rest, 0.0)
            for place in np.concatenate([values[:, f], values[:, f] - radius, values[:, f] + radius, [center[f]]]):
                moved = centers.copy()
                moved[j, f] = place
                least = min(least, cost_of(values, moved, weights))
    return least


def problem(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(6, 40), rng.integers(1, 4), rng.integers(2, 5)
    values = rng.integers(0, 9, (n, d)).astype(float) if seed % 2 else rng.normal(size=(n, d))
    weights = rng.integers(1, 6, n) if seed % 3 == 0 else None
    return values, weights, values[rng.choice(n, k, replace=False)] + 0.25


@pytest.mark.parametrize("seed", range(12))
def test_it_ends_where_no_coordinate_can_do_better(seed):
    values, weights, start = problem(seed)
    centers, n_sweeps = descend_medians(as_matrix(values), start, weights)
    cost = cost_of(values, centers, weights)
    assert cost <= cost_of(values, start, weights) + 1e-9
    assert 1 <= n_sweeps < 100
    assert least_by_one_coordinate(values, centers, weights) >= cost - 1e-9


def test_it_goes_on_where_iterations_are_stuck():
    gained = 0
    for seed in range(20):
        values = np.random.default_rng(seed).normal(size=(300, 2))
        stuck, _ = lloyd(as_matrix(values), values[:5], objective="kmedians")
        moved, _ = descend_medians(as_matrix(values), stuck)
        assert cost_of(values, moved) <= cost_of(values, stuck) + 1e-9
        gained += cost_of(values, moved) < cost_of(values, stuck) * (1 - 1e-9)
    assert gained >= 10


@pytest.mark.parametrize("seed", range(4))
def test_no_place_of_many_is_passed_over(seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_cauchy((400, 2)) if seed % 2 else rng.integers(0, 60, (400, 2)).astype(float)
    weights = rng.integers(1, 4, 400) if seed > 1 else None
    centers, _ = descend_medians(as_matrix(values), values[:3], weights)
    cost = cost_of(values, centers, weights)
    assert least_by_one_coordinate(values, centers, weights) >= cost * (1 - 1e-11)


def test_among_very_many_rows_no_place_nearby_is_cheaper():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(9000, 3))
    stuck, _ = lloyd(as_matrix(values), values[:4], objective="kmedians")
    centers, _ = descend_medians(as_matrix(values), stuck)
    cost = cost_of(values, centers)
    assert cost < cost_of(values, stuck) * (1 - 1e-6)
    for j, f in np.ndindex(centers.shape):
        for step in (-0.1, -0.01, -1e-3, -1e-4, 1e-4, 1e-3, 0.01, 0.1):
            moved = centers.copy()
            moved[j, f] += step
            assert cost_of(values, moved) >= cost * (1 - 1e-11)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
def test_layout_and_dtype_play_no_part(layout, dtype):
    rng = np.random.default_rng(3)
    values = rng.integers(0, 9, (1500, 4)) * (rng.random((1500, 4)) < 0.6)
    start = values[:5].astype(float)
    expected, _ = descend_medians(as_matrix(values.astype(float)), start)
    got, _ = descend_medians(as_matrix(LAYOUTS[layout](values.astype(dtype))), start)
    # Whole numbers, so that sums are exact in any order.
    assert np.array_equal(got, expected)


def test_a_weight_is_a_repeated_row():
    rng = np.random.default_rng(4)
    values, weights = rng.integers(0, 20, (60, 3)).astype(float), rng.integers(1, 5, 60)
    start = values[:3]
    weighted, _ = descend_medians(as_matrix(values), start, weights)
    repeated, _ = descend_medians(as_matrix(np.repeat(values, weights, axis=0)), start)
    assert np.array_equal(weighted, repeated)


def test_a_far_offset_takes_nothing_away():
    rng = np.random.default_rng(5)
    values = rng.integers(0, 50, (400, 2)).astype(float)
    centers, _ = descend_medians(as_matrix(values), values[:4])
    far, _ = descend_medians(as_matrix(values + 2.0**40), values[:4] + 2.0**40)
    assert np.array_equal(far - 2.0**40, centers)


@pytest.mark.parametrize(
    ("centers", "weights", "words"),
    [
        (np.zeros((1, 2)), None, "two centers"),
        (np.zeros((2, 3)), None, "columns"),
        (np.zeros((2, 2)), np.ones(4, dtype=np.int64), "one weight"),
    ],
)
def test_what_does_not_fit_is_an_error(centers, weights, words):
    with pytest.raises(ValueError, match=words):
        descend_medians(as_matrix(np.zeros((5, 2))), centers, weights)
