"""k-means and k-medians in the core: Lloyd's iterations and seeds, against their plain twins."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from cutwise.core import assign, center_costs, cluster_means, cluster_medians, drop_centers, lloyd, plusplus
from cutwise.table.table import as_matrix
from tests.each import each

CENTERS = {"kmeans": cluster_means, "kmedians": cluster_medians}
both = pytest.mark.parametrize("objective", CENTERS)


def plain_lloyd(values, centers, weights, max_iter, objective):
    """Every row against every center, every time."""
    x = as_matrix(values)
    labels = None
    for n_iter in range(1, max_iter + 1):
        before, labels = labels, assign(x, centers, objective)[0]
        means, totals = CENTERS[objective](x, labels, len(centers), weights)
        assert (totals > 0).all(), "the twin knows no empty clusters"
        if before is not None and (labels == before).all():
            return means, n_iter
        if (means == centers).all():
            return means, n_iter
        centers = means
    return centers, max_iter


LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sparse.csr_array}


@pytest.mark.parametrize("layout", LAYOUTS)
@each("dtype", [np.float32, np.float64, np.uint8])
@each("weighted", [False, True])
@each("max_iter", [1, 2, 5, 300])
@both
def test_bounds_skip_rows_and_change_nothing(layout, dtype, weighted, max_iter, objective):
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(c, 1.0, (900, 6)) for c in (10, 12, 14, 17)])
    values = np.round(values * 4).astype(dtype)
    values[rng.random(values.shape) < 0.2] = 0
    weights = rng.integers(1, 5, len(values)) if weighted else None
    start = values[rng.choice(len(values), 9, replace=False)].astype(float)
    # Stored zeros cost a sparse row no less than the same sums in another order: compare a layout with itself.
    table = LAYOUTS[layout](values)
    expected, n_iter = plain_lloyd(table, start, weights, max_iter, objective)
    got, n_got, *_ = lloyd(as_matrix(table), start, weights, max_iter, objective=objective)
    np.testing.assert_array_equal(got, expected)
    assert n_got == n_iter


@pytest.mark.parametrize("layout", LAYOUTS)
@both
def test_iterations_do_not_depend_on_threads_or_row_order(layout, objective):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(9000, 5))
    values[rng.random(values.shape) < 0.3] = 0
    start = values[:8].copy()
    centers, n_iter, *_ = lloyd(as_matrix(LAYOUTS[layout](values)), start, objective=objective)
    order = rng.permutation(9000)
    for n_jobs in (1, 2, 5):
        again = lloyd(as_matrix(LAYOUTS[layout](values[order])), start, n_jobs=n_jobs, objective=objective)
        np.testing.assert_array_equal(again[0], centers)
        assert again[1] == n_iter


@both
def test_a_weight_is_a_repeated_row(objective):
    rng = np.random.default_rng(2)
    values, weights = rng.normal(size=(800, 3)), rng.integers(1, 6, 800)
    weighted = lloyd(as_matrix(values), values[:5], weights, objective=objective)
    repeated = lloyd(as_matrix(np.repeat(values, weights, axis=0)), values[:5], objective=objective)
    np.testing.assert_array_equal(weighted[0], repeated[0])
    assert weighted[1] == repeated[1]


@pytest.mark.parametrize("offset", [1e9, 1e10])
def test_an_offset_changes_nothing(offset):
    rng = np.random.default_rng(3)
    values = np.round(rng.normal(size=(2000, 2)) * 1024) / 1024
    plain, _, *_ = lloyd(as_matrix(values), values[:6])
    shifted, _, *_ = lloyd(as_matrix(values + offset), values[:6] + offset)
    np.testing.assert_allclose(shifted - offset, plain, atol=4e-6)  # float64's own step there is 2e-6


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@each("far", [1e9, 1e11])
@both
def test_a_far_row_at_a_center_of_its_own_takes_no_digits_from_the_mean_cost(make, far, objective):
    values = np.random.default_rng(8).normal(size=(300, 5))
    start = values[:4].copy()
    centers, _, _, cost = lloyd(as_matrix(make(values)), start, objective=objective, costed=True)
    with_far, start = np.vstack([values, np.full(5, far)]), np.vstack([start, np.full(5, far)])
    got, _, _, again = lloyd(as_matrix(make(with_far)), start, objective=objective, costed=True)
    np.testing.assert_allclose(got[:4], centers, atol=1e-13 * far)
    assert again * 301 == pytest.approx(cost * 300, rel=1e-9)


@each("exponent", [-400, -200, -130, 130, 400])
@both
def test_the_unit_of_the_data_changes_nothing(exponent, objective):
    # Bounds are float32: such distances are below, near and above what float32 holds.
    values = np.random.default_rng(6).normal(size=(3000, 3))
    centers, n_iter, *_ = lloyd(as_matrix(values), values[:6], objective=objective)
    unit = 2.0**exponent
    scaled, n_scaled, *_ = lloyd(as_matrix(values * unit), values[:6] * unit, objective=objective)
    np.testing.assert_array_equal(scaled, centers * unit)
    assert n_scaled == n_iter


@both
def test_costs_beyond_float64_break_no_memory(objective):
    # The correction of a sparse row's cost is infinity less infinity, and five centers do not fill their lanes.
    values = sparse.csr_array(np.random.default_rng(7).uniform(0.5, 1.0, (3000, 3)) * 1e308)
    centers, _, *_ = lloyd(as_matrix(values), values[:5].toarray(), max_iter=5, objective=objective)
    assert centers.shape == (5, 3)


@both
def test_a_center_that_lost_its_rows_starts_again_far_away(objective):
    values = np.array([[0.0], [0.1], [10.0], [10.1], [50.0]])
    centers, _, *_ = lloyd(as_matrix(values), np.array([[0.0], [1000.0], [2000.0]]), objective=objective)
    expected = {"kmeans": [0.05, 10.05, 50.0], "kmedians": [0.0, 10.0, 50.0]}  # the lower of two is the median
    assert sorted(centers[:, 0].round(6)) == expected[objective]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@both
def test_as_many_centers_as_distinct_rows_cost_nothing(make, objective):
    rng = np.random.default_rng(4)
    points = rng.normal(size=(30, 3))
    values = points[rng.integers(0, 30, 2000)]
    values[:30] = points
    x = as_matrix(make(values))
    centers, _, *_ = lloyd(x, np.repeat(points[:1], 30, axis=0), objective=objective)  # all start at one point
    assert not assign(x, centers, objective)[1].any()


@both
def test_a_tolerance_stops_early(objective):
    rng = np.random.default_rng(5)
    values = rng.normal(size=(5000, 4))
    x = as_matrix(values)
    exact, n_exact, *_ = lloyd(x, values[:10], objective=objective)
    rough, n_rough, *_ = lloyd(x, values[:10], tolerance=1e-2, objective=objective)
    assert n_rough < n_exact
    cost = [assign(x, c, objective)[1].sum() for c in (exact, rough)]
    assert cost[0] <= cost[1] <= 1.2 * cost[0]


def test_one_center_is_the_mean_or_the_median():
    values = np.random.default_rng(6).normal(size=(101, 3))
    centers, _, *_ = lloyd(as_matrix(values), values[:1])
    np.testing.assert_allclose(centers[0], values.mean(axis=0), rtol=1e-12)
    centers, _, *_ = lloyd(as_matrix(values), values[:1], objective="kmedians")
    np.testing.assert_array_equal(centers[0], np.median(values, axis=0))


# ---- seeds


def plain_seeds(values, uniforms, weights, objective, centers=None):
    """Greedy k-means++ by its definition."""
    seeds = []
    closest = None if centers is None else center_costs(as_matrix(values), centers, objective).min(axis=1)
    for draws in uniforms:
        share = weights if closest is None else weights * closest
        running = np.cumsum(share)
        draws = draws[:1] if closest is None else draws
        candidates = [int(np.searchsorted(running, u * running[-1], side="right")) for u in draws]
        if centers is not None:
            candidates[0] = int(share.argmax())
        costs = center_costs(as_matrix(values), values[candidates].astype(float), objective)
        lowered = costs if closest is None else np.minimum(costs, closest[:, None])
        best = int((weights[:, None] * lowered).sum(axis=0).argmin())
        seeds.append(candidates[best])
        closest = lowered[:, best]
    return seeds


@pytest.mark.parametrize("weighted", [False, True])
@both
def test_seeds_are_those_of_greedy_plusplus(weighted, objective):
    rng = np.random.default_rng(7)
    # Whole numbers: sums are exact in every order.
    values = rng.integers(0, 30, (700, 3)).astype(np.float32)
    weights = rng.integers(1, 9, 700) if weighted else None
    uniforms = rng.random((12, 4))
    counts = np.ones(700) if weights is None else weights.astype(float)
    for centers in (None, values[:3].astype(float)):
        expected = plain_seeds(values, uniforms, counts, objective, centers)
        assert plusplus(as_matrix(values), uniforms, weights, objective, centers).tolist() == expected
        assert plusplus(as_matrix(sparse.csr_array(values)), uniforms, weights, objective, centers).tolist() == expected


def test_seeds_are_distinct_points_while_there_are_any():
    points = np.arange(10.0)[:, None]
    values = points[np.random.default_rng(8).integers(0, 10, 500)]
    for seed in range(20):
        uniforms = np.random.default_rng(seed).random((10, 3))
        rows = plusplus(as_matrix(values), uniforms)
        assert len(set(values[rows, 0])) == len(set(values[:, 0]))
    for centers in (None, points):
        rows = plusplus(as_matrix(values), np.random.default_rng(9).random((14, 3)), centers=centers)
        assert ((rows >= 0) & (rows < 500)).all()


@pytest.mark.parametrize("edge", [0.0, np.nextafter(1.0, 0.0)])
def test_the_ends_of_the_uniform_range_draw_rows_too(edge):
    values = np.array([[3.0], [3.0], [4.0], [9.0], [9.0]])
    rows = plusplus(as_matrix(values), np.full((3, 2), edge))
    assert len(set(values[rows, 0])) == 3


@pytest.mark.parametrize("weighted", [False, True])
@both
def test_the_center_goes_without_which_rows_cost_least_once_their_next_center_has_moved(weighted, objective):
    rng = np.random.default_rng(10)
    values = rng.integers(0, 30, (400, 3)).astype(np.float32)
    weights = rng.integers(1, 9, 400) if weighted else None
    centers = np.concatenate([rng.integers(0, 30, (11, 3)), [[3, 3, 3], [3, 3, 3]]]).astype(float)
    expected, counts = centers, np.ones(400) if weights is None else weights
    while len(expected) > 4:
        costs = center_costs(as_matrix(values), expected, objective)
        own, second = np.argsort(costs, axis=1, kind="stable")[:, :2].T
        further, of_cluster = np.diff(np.sort(costs, axis=1)[:, :2])[:, 0], np.bincount(own, counts, len(expected))
        losses = np.zeros(len(expected))
        for j, c in itertools.permutations(range(len(expected)), 2):
            moving = (own == j) & (second == c)
            if moving.any():
                losses[j] += counts[moving] @ further[moving] * of_cluster[c] / (of_cluster[c] + counts[moving].sum())
        expected = np.delete(expected, int(losses.argmin()), axis=0)
    for x in (values, sparse.csr_array(values)):
        left = drop_centers(as_matrix(x), centers, 4, weights, objective)
        assert sorted(left.tolist()) == sorted(expected.tolist())
    assert np.array_equal(drop_centers(as_matrix(values), centers, 13, weights, objective), centers)


def test_arrays_that_do_not_fit_are_refused():
    x = as_matrix(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="columns of the rows"):
        lloyd(x, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="at least one center"):
        lloyd(x, np.zeros((0, 3)))
    with pytest.raises(ValueError, match="one weight for each row"):
        lloyd(x, np.zeros((2, 3)), np.ones(3, np.int64))
    with pytest.raises(ValueError, match="weights are positive"):
        lloyd(x, np.zeros((2, 3)), np.array([1, 0, 1, 1]))
    with pytest.raises(ValueError, match=r"uniforms are in \[0, 1\)"):
        plusplus(x, np.ones((2, 2)))
    with pytest.raises(ValueError, match="needs a row, a seed and a trial"):
        plusplus(x, np.ones((0, 2)))
    for n_left in (0, 3):
        with pytest.raises(ValueError, match="some centers are left"):
            drop_centers(x, np.zeros((2, 3)), n_left)
