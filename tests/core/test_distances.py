"""Costs of rows by centers: the kernels against their plain NumPy twins, bit for bit."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from cutwise import core
from cutwise.core import (
    assign,
    assign_given,
    center_costs,
    cluster_means,
    exact_sum,
    fixed_costs,
    fixed_costs_given,
    label_costs,
)
from cutwise.table.table import as_matrix
from tests.each import each

OBJECTIVES = ["kmeans", "kmedians"]
DTYPES = [np.float32, np.float64, np.int32, np.int64, np.uint8]


# ---- the plain twins


def term(difference, objective):
    return difference * difference if objective == "kmeans" else np.abs(difference)


def plain_costs(values, centers, objective):
    """Sums over the columns, one after the other, of the differences themselves."""
    values = values.astype(np.float64)
    costs = np.zeros((len(values), len(centers)))
    for f in range(values.shape[1]):
        costs += term(values[:, f, None] - centers[None, :, f], objective)
    return costs


def plain_fixed(costs, scale, weights):
    low = costs.min(axis=1)
    excess = np.rint(scale * (costs - low[:, None])).astype(np.int64)
    base = np.rint(scale * low).astype(np.int64)
    second = np.sort(excess, axis=1)[:, 1]
    magnitude = sum(int(w) * int(s).bit_length() for w, s in zip(weights, second, strict=True))
    return excess * weights[:, None], base * weights, (excess * weights[:, None]).sum(axis=0), magnitude


def problem(seed, n=200, d=5, k=6, dtype=np.float64):
    rng = np.random.default_rng(seed)
    values = (rng.integers(0, 9, (n, d)) if np.dtype(dtype).kind in "iu" else rng.normal(size=(n, d))).astype(dtype)
    centers = rng.normal(size=(k, d)) + (4 if np.dtype(dtype).kind in "iu" else 0)
    return values, centers


def layouts(values):
    """The same table in every layout that a caller may bring."""
    wide = np.zeros((len(values), 2 * values.shape[1]), values.dtype)
    wide[:, ::2] = values
    frozen = values.copy()
    frozen.setflags(write=False)
    return {
        "C": np.ascontiguousarray(values),
        "F": np.asfortranarray(values),
        "strided": wide[:, ::2],
        "reversed": values[::-1].copy()[::-1],
        "read-only": frozen,
    }


# ---- dense costs


@each("objective", OBJECTIVES)
@each("dtype", DTYPES)
@each("n, d, k", [(1, 1, 1), (7, 3, 2), (200, 5, 4), (5000, 17, 9), (300, 2, 33), (33, 700, 12)])
def test_costs_are_sums_over_the_columns_in_order(objective, dtype, n, d, k):
    values, centers = problem(n + d + k, n, d, k, dtype)
    expected = plain_costs(values, centers, objective)
    for name, layout in layouts(values).items():
        got = center_costs(as_matrix(layout), centers, objective)
        np.testing.assert_array_equal(got, expected, err_msg=name)


@each("k", [1, 2, 3, 4, 5, 7, 8, 11])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_nearest_center_is_the_first_of_the_smallest_costs(objective, k):
    rng = np.random.default_rng(0)
    values, centers = rng.integers(0, 4, (3000, 3)), rng.integers(0, 4, (k, 3)).astype(float)
    costs = plain_costs(values, centers, objective)
    labels, low, most = assign(as_matrix(values), centers, objective)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, costs.argmin(axis=1))
    np.testing.assert_array_equal(low, costs.min(axis=1))
    assert most == (costs.max(axis=1) - costs.min(axis=1)).max()


def test_equal_centers_go_to_the_lowest_number():
    labels, low, most = assign(as_matrix(np.zeros((5, 2))), np.zeros((3, 2)))
    assert labels.tolist() == [0] * 5
    assert low.tolist() == [0.0] * 5
    assert most == 0.0


@pytest.mark.parametrize("offset", [1e9, 1e10])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_offset_costs_no_digits(offset, objective):
    rng = np.random.default_rng(1)
    values = np.round(rng.normal(size=(500, 3)) * 1024) / 1024  # exact beside the offset
    centers = values[:5]
    plain = center_costs(as_matrix(values), centers, objective)
    shifted = center_costs(as_matrix(values + offset), centers + offset, objective)
    np.testing.assert_array_equal(shifted, plain)


@each("k", [7, 8, 29])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_label_costs_pick_the_cost_of_the_label(objective, k):
    values, centers = problem(3, 5000, 4, k)
    labels = np.random.default_rng(3).integers(-1, k, 5000).astype(np.int32)
    costs = plain_costs(values, centers, objective)
    expected = np.where(labels < 0, 0.0, costs[np.arange(5000), labels])
    for layout in layouts(values).values():
        np.testing.assert_array_equal(label_costs(as_matrix(layout), centers, labels, objective), expected)
    table = sparse.csr_array(values)
    np.testing.assert_array_equal(
        label_costs(as_matrix(table), centers, labels, objective),
        np.where(labels < 0, 0.0, center_costs(as_matrix(table), centers, objective)[np.arange(5000), labels]),
    )


# ---- sparse costs


@pytest.mark.parametrize("objective", OBJECTIVES)
@each("dtype", DTYPES)
def test_sparse_costs_equal_dense_costs_within_rounding(objective, dtype):
    values, centers = problem(5, 300, 40, 9, dtype)
    values[np.random.default_rng(6).random(values.shape) < 0.8] = 0
    dense = center_costs(as_matrix(values), centers, objective)
    compressed = center_costs(as_matrix(sparse.csr_array(values)), centers, objective)
    np.testing.assert_allclose(compressed, dense, rtol=1e-12, atol=1e-12)


def test_sparse_costs_on_integers_are_exact():
    rng = np.random.default_rng(7)
    values = rng.integers(0, 5, (400, 30)) * (rng.random((400, 30)) < 0.3)
    centers = rng.integers(-3, 5, (6, 30)).astype(float)
    np.testing.assert_array_equal(
        center_costs(as_matrix(sparse.csr_array(values)), centers), plain_costs(values, centers, "kmeans")
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_timestamp_column_in_a_sparse_table_costs_no_digits(objective):
    rng = np.random.default_rng(8)
    values = rng.integers(0, 2, (300, 12)).astype(float)
    values[:, 4] = 1.7e9 + rng.normal(size=300)
    values[::7, 4] = 0.0  # some rows do not store it
    centers = values[[1, 2, 3, 5]]
    np.testing.assert_allclose(
        center_costs(as_matrix(sparse.csr_array(values)), centers, objective),
        plain_costs(values, centers, objective),
        rtol=1e-12,
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_far_center_takes_no_digits_of_the_others_from_a_sparse_table(objective):
    rng = np.random.default_rng(3)
    values = 1e9 + rng.normal(size=(50, 3))
    values[::5, 1] = 0.0
    centers = np.vstack([values[:4] + 0.25, values[4:5] * 1.2])  # the last one is 2e8 from all rows
    expected = plain_costs(values, centers, objective)
    found = center_costs(as_matrix(sparse.csr_array(values)), centers, objective)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_a_sparse_row_that_equals_its_center_costs_nothing():
    rng = np.random.default_rng(9)
    values = rng.normal(size=(50, 60)) * (rng.random((50, 60)) < 0.4)
    labels, low = assign(as_matrix(sparse.csr_array(values)), values)[:2]
    assert labels.tolist() == list(range(50))
    assert not low.any()


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("step", [0.1, 1 / 3, 0.001, 1.0, 1e5])
def test_sparse_rows_of_many_columns_go_where_the_same_dense_rows_go(objective, step):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.integers(1, 5, (80, 90)) * (rng.random((80, 90)) < 0.05 * (1 + seed % 4)) * step
        centers = values[rng.choice(80, 9, replace=False)]
        centers[7] = centers[2]  # of equal centers the first is the nearest
        table = as_matrix(sparse.csr_array(values))
        labels, low, _ = assign(table, centers, objective)
        np.testing.assert_array_equal(labels, assign(as_matrix(values), centers, objective)[0])
        np.testing.assert_array_equal(low, center_costs(table, centers, objective)[np.arange(80), labels])
        assert 7 not in labels


def test_sparse_rows_may_be_empty():
    table = sparse.csr_array((np.zeros(0), np.zeros(0, np.int32), np.zeros(4, np.int64)), shape=(3, 5))
    centers = np.arange(10.0).reshape(2, 5)
    np.testing.assert_array_equal(
        center_costs(as_matrix(table), centers), plain_costs(np.zeros((3, 5)), centers, "kmeans")
    )


# ---- fixed point


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_fixed_costs_are_rounded_then_weighted(dtype, weighted):
    if weighted and dtype is np.int32:
        pytest.skip("weighted costs are int64")
    values, centers = problem(10, 5000, 6, 5)
    weights = np.random.default_rng(11).integers(0, 9, 5000) if weighted else None
    costs = plain_costs(values, centers, "kmeans")
    scale = 2.0**20 if dtype is np.int32 else 2.0**40
    excess, base, sums, magnitude = plain_fixed(costs, scale, np.ones(5000, np.int64) if weights is None else weights)
    for got in (
        fixed_costs(as_matrix(values), centers, "kmeans", scale, weights, dtype is np.int64),
        fixed_costs_given(as_matrix(costs), scale, weights, dtype is np.int64),
    ):
        assert got[0].dtype == dtype
        assert got[1].dtype == np.int64
        np.testing.assert_array_equal(got[0], excess)
        np.testing.assert_array_equal(got[1], base)
        np.testing.assert_array_equal(got[2], sums)
        assert got[3] == magnitude


def test_fixed_costs_round_half_to_even():
    excess, base, _, _ = fixed_costs_given(as_matrix(np.array([[0.5, 1.0, 2.0, 3.0, 4.0]])), 1.0)
    assert excess.tolist() == [[0, 0, 2, 2, 4]]  # 0, 0.5, 1.5, 2.5, 3.5
    assert base.tolist() == [0]


def test_given_costs_may_be_float32_and_negative():
    costs = np.array([[-1.5, 2.0], [3.0, 3.0]], np.float32)
    labels, low, most = assign_given(as_matrix(costs))
    assert (labels.tolist(), low.tolist(), most) == ([0, 0], [-1.5, 3.0], 3.5)
    excess, base, _, _ = fixed_costs_given(as_matrix(costs), 2.0)
    assert excess.tolist() == [[0, 7], [0, 0]]
    assert base.tolist() == [-3, 6]


def test_a_scale_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="scale is too large"):
        fixed_costs_given(as_matrix(np.array([[0.0, 1.0]])), 2.0**40, wide=False)
    with pytest.raises(ValueError, match="scale is too large"):
        fixed_costs_given(as_matrix(np.array([[1.0, 1.0]])), 2.0**40, weights=np.array([2**30]))
    with pytest.raises(ValueError, match="scale is too large"):
        fixed_costs_given(as_matrix(np.array([[0.0, np.inf]])), 1.0)


@pytest.mark.parametrize("far", [1, 4])
def test_costs_beyond_float64_show_in_the_largest_excess(far):
    values = np.zeros((9, 1))
    values[far] = 1e200
    assert assign(as_matrix(values), np.array([[0.0], [1.0]]))[2] == np.inf


# ---- means and sums


def exact_mean(values, weights):
    total = sum(Fraction(float(v)) * int(w) for v, w in zip(values, weights, strict=True))
    return float(total / int(sum(weights)))


@pytest.mark.parametrize("spread", ["unit", "offset", "wide"])
def test_means_are_those_of_exact_arithmetic(spread):
    rng = np.random.default_rng(12)
    values = rng.normal(size=(400, 3))
    if spread == "offset":
        values += 1e10
    if spread == "wide":
        values *= 10.0 ** rng.integers(-5, 6, values.shape)
    labels = rng.integers(0, 3, 400).astype(np.int32)
    for weights in (None, rng.integers(1, 6, 400)):
        means, totals = cluster_means(as_matrix(values), labels, 3, weights)
        known = cluster_means(as_matrix(values), labels, 3, weights, column_sizes=np.abs(values).max(axis=0))
        np.testing.assert_array_equal(known[0], means)
        w = np.ones(400, np.int64) if weights is None else weights
        for j in range(3):
            assert totals[j] == w[labels == j].sum()
            expected = [exact_mean(values[labels == j, f], w[labels == j]) for f in range(3)]
            np.testing.assert_allclose(means[j], expected, rtol=3e-16)


@each("n_jobs", [1, 3])
@each("weights", [None, "whole", "fractions"])
def test_means_of_sparse_rows_are_those_of_dense_ones_to_the_bit(weights, n_jobs):
    rng = np.random.default_rng(13)
    values = np.where(rng.random((9000, 5)) < 0.3, rng.normal(size=(9000, 5)) * [1, 1e8, 1e-8, 1, 3], 0.0)
    labels = rng.integers(-1, 5, 9000).astype(np.int32)  # noise
    labels[labels == 3] = 2  # and a cluster without rows
    w = {None: None, "whole": rng.integers(0, 4, 9000), "fractions": rng.random(9000)}[weights]
    for table in (values, sparse.csr_array(values)):
        means, totals = cluster_means(as_matrix(table), labels, 5, w, n_jobs)
        plain = cluster_means(as_matrix(values), labels, 5, w)
        np.testing.assert_array_equal(means, plain[0])
        np.testing.assert_array_equal(totals, plain[1])
    assert np.isnan(means[3]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_means_of_squares_are_the_means_of_squared_values(dtype):
    rng = np.random.default_rng(16)
    values, around = (100 * rng.normal(size=(3000, 4))).astype(dtype), np.array([0.0, 1e3, -7.5, 1e200])
    squares = np.square(values[:, :3] - around[:3])
    for weights in (None, rng.integers(0, 6, 3000), rng.random(3000)):
        for n_jobs in (1, 3):
            found = cluster_means(
                as_matrix(values), np.zeros(3000, np.int32), 1, weights, n_jobs, squares_around=around
            )[0]
            plain = cluster_means(as_matrix(squares), np.zeros(3000, np.int32), 1, weights)[0]
            np.testing.assert_array_equal(found[0], [*plain[0], np.nan])


def test_equal_rows_have_themselves_as_mean_to_the_bit():
    rng = np.random.default_rng(13)
    points = rng.normal(size=(20, 4)) * 10.0 ** rng.integers(-3, 4, (20, 4))
    labels = rng.integers(0, 20, 3000).astype(np.int32)
    means, _ = cluster_means(as_matrix(points[labels]), labels, 20)
    np.testing.assert_array_equal(means, points)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_equal_rows_of_fractional_weights_have_themselves_as_mean_to_the_bit(make):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < 0.7)
    copies = rng.integers(1, 4, 40)
    values, labels = np.repeat(rows, copies, axis=0), np.repeat(np.arange(40, dtype=np.int32), copies)
    weights = rng.random(len(values)) + 0.01
    values, labels, weights = (
        np.vstack([values, [[9.0, 9.0, 9.0]]]),
        np.append(labels, 0).astype(np.int32),
        np.append(weights, 0.0),
    )
    np.testing.assert_array_equal(cluster_means(as_matrix(make(values)), labels, 40, weights, n_jobs=2)[0], rows)


@pytest.mark.parametrize("fractional", [False, True])
def test_means_do_not_depend_on_row_order_layout_or_threads(fractional):
    rng = np.random.default_rng(14)
    values = rng.normal(size=(9000, 5))
    values[rng.random(values.shape) < 0.5] = 0.0
    labels = rng.integers(-1, 4, 9000).astype(np.int32)
    weights = rng.random(9000) if fractional else rng.integers(0, 5, 9000)
    means, totals = cluster_means(as_matrix(values), labels, 4, weights)
    order = rng.permutation(9000)
    for table, at in [(values, slice(None)), (values, order), (np.asfortranarray(values), order)]:
        for x in (as_matrix(table[at]), as_matrix(sparse.csr_array(table[at]))):
            for n_jobs in (1, 3):
                again = cluster_means(x, np.ascontiguousarray(labels[at]), 4, weights[at], n_jobs)
                np.testing.assert_array_equal(again[0], means)
                np.testing.assert_array_equal(again[1], totals)
    inside = labels == 2
    np.testing.assert_allclose(means[2], np.average(values[inside], axis=0, weights=weights[inside]), rtol=1e-12)


def test_an_integer_weight_is_a_repeated_row():
    rng = np.random.default_rng(15)
    values, weights = rng.normal(size=(500, 4)), rng.integers(0, 6, 500)
    labels = rng.integers(0, 3, 500).astype(np.int32)
    repeated = cluster_means(as_matrix(np.repeat(values, weights, axis=0)), np.repeat(labels, weights), 3)
    weighted = cluster_means(as_matrix(values), labels, 3, weights)
    np.testing.assert_array_equal(weighted[0], repeated[0])
    np.testing.assert_array_equal(weighted[1], repeated[1])
    assert exact_sum(np.repeat(values[:, 0], weights)) == exact_sum(np.ascontiguousarray(values[:, 0]), weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_means_of_sums_are_those_of_the_clusters_to_the_bit(weighted, is_sparse):
    values, centers = problem(3, n=30_000)
    values[values < 0.5] = 0.0
    matrix, sizes = as_matrix(sparse.csr_array(values) if is_sparse else values), np.abs(values).max(axis=0)
    weights = np.random.default_rng(3).integers(1, 9, len(values)) if weighted else None
    total = float(len(values) if weights is None else weights.sum())
    labels = assign(matrix, centers)[0]
    sums = core.cluster_sums(matrix, labels, len(centers), weights, sizes, total)
    means = core.means_of_sums(*sums, sizes, total)
    np.testing.assert_array_equal(means, cluster_means(matrix, labels, len(centers), weights)[0])


def test_a_cluster_without_weight_has_no_mean():
    means, totals = cluster_means(as_matrix(np.ones((3, 2))), np.array([0, 0, 2], np.int32), 3, np.array([1, 1, 0]))
    assert totals.tolist() == [2.0, 0.0, 0.0]
    np.testing.assert_array_equal(means, [[1, 1], [np.nan] * 2, [np.nan] * 2])


@each("make", [np.asarray, sparse.csr_array])
@each("size", [1e-200, 1.0, 1e200])
def test_means_know_no_unit_of_weights_and_values(make, size):
    values = np.array([[1.0, 8.0], [3.0, 0.0], [5.0, 0.0]]) * size
    labels = np.array([0, 1, 1], np.int32)
    means, totals = cluster_means(as_matrix(make(values)), labels, 2, np.array([1.0, 1.0, 3.0]) * size)
    np.testing.assert_allclose(means, [[size, 8 * size], [4.5 * size, 0.0]], rtol=1e-15)
    np.testing.assert_allclose(totals, [size, 4 * size], rtol=1e-15)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_cluster_of_light_rows_has_its_mean_beside_one_of_heavy_rows(make):
    labels = np.array([0, 1, 1], np.int32)
    means, totals = cluster_means(
        as_matrix(make(np.array([[1.0], [3.0], [5.0]]))), labels, 2, np.array([1e40, 1e-40, 3e-40])
    )
    np.testing.assert_array_equal(means, [[1.0], [4.5]])
    np.testing.assert_array_equal(totals, [1e40, 4e-40])


def test_a_sum_beyond_float64_is_infinite():
    assert exact_sum(np.array([1e200, 1.0]), np.array([1e200, 1.0])) == np.inf
    assert exact_sum(np.array([1e300, 1.0]), np.array([1e-300, 1.0])) == 2.0


def test_a_sum_is_exact_and_independent_of_order():
    rng = np.random.default_rng(16)
    values = rng.normal(size=3000) * 10.0 ** rng.integers(-6, 7, 3000)
    expected = float(sum(Fraction(v) for v in values))
    assert exact_sum(values) == pytest.approx(expected, rel=3e-16)
    assert exact_sum(np.ascontiguousarray(values[::-1])) == exact_sum(values)
    assert exact_sum(np.zeros(0)) == 0.0


# ---- intake


def test_stored_values_may_have_any_stride():
    values = np.arange(1.0, 21.0)[::2]
    table = sparse.csr_array((values, np.zeros(10, np.int32), np.arange(11)), shape=(10, 1))
    assert table.data.strides != (8,), "scipy keeps the stride"
    means, _ = cluster_means(as_matrix(table), np.zeros(10, np.int32), 1)
    assert means == values.mean()


def test_row_pointers_beyond_the_stored_values_are_refused():
    for indptr in ([0, 3], [1, 2], [0, -1]):
        with pytest.raises(ValueError, match="indptr of a CSR matrix goes from 0"):
            core.Matrix.csr(np.array(indptr), np.zeros(2, np.int32), np.ones(2), 1)
    with pytest.raises(ValueError, match="contiguous"):
        core.Matrix.csr(np.array([0, 2]), np.zeros(2, np.int32), np.ones(4)[::2], 1)
    with pytest.raises(ValueError, match="negative number of columns"):
        core.Matrix.csr(np.array([0, 0]), np.zeros(0, np.int32), np.ones(0), -1)


# ---- independence


@pytest.mark.parametrize("make", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array])
def test_costs_do_not_depend_on_threads_or_row_order(make):
    values, centers = problem(17, 7000, 9, 13)
    values[values < 0.3] = 0
    order = np.random.default_rng(18).permutation(len(values))
    labels, low, most = assign(as_matrix(make(values)), centers)
    excess, base, sums, magnitude = fixed_costs(as_matrix(make(values)), centers, "kmeans", 2.0**30)
    for n_jobs in (1, 2, 5):
        again = assign(as_matrix(make(values[order])), centers, n_jobs=n_jobs)
        np.testing.assert_array_equal(again[0], labels[order])
        np.testing.assert_array_equal(again[1], low[order])
        assert again[2] == most
        fixed = fixed_costs(as_matrix(make(values[order])), centers, "kmeans", 2.0**30, n_jobs=n_jobs)
        np.testing.assert_array_equal(fixed[0], excess[order])
        np.testing.assert_array_equal(fixed[1], base[order])
        np.testing.assert_array_equal(fixed[2], sums)
        assert fixed[3] == magnitude


def test_arrays_that_do_not_fit_are_refused():
    x = as_matrix(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="centers have 2 columns, the rows 3"):
        assign(x, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="at least one center"):
        assign(x, np.zeros((0, 3)))
    with pytest.raises(ValueError, match="'kmeans' or 'kmedians', not 'cosine'"):
        assign(x, np.zeros((2, 3)), "cosine")
    with pytest.raises(ValueError, match="one weight for each row"):
        fixed_costs(x, np.zeros((2, 3)), "kmeans", 1.0, np.ones(3, np.int64))
    with pytest.raises(ValueError, match="weighted costs are int64"):
        fixed_costs(x, np.zeros((2, 3)), "kmeans", 1.0, np.ones(4, np.int64), False)
    with pytest.raises(ValueError, match="scale is a positive number"):
        fixed_costs(x, np.zeros((2, 3)), "kmeans", 0.0)
    with pytest.raises(ValueError, match="not below the number of clusters"):
        label_costs(x, np.zeros((2, 3)), np.array([0, 1, 2, 0], np.int32))
    with pytest.raises(ValueError, match="not below the number of clusters"):
        cluster_means(x, np.array([0, 1, 2, 0], np.int32), 2)
    with pytest.raises(ValueError, match="not negative"):
        cluster_means(x, np.zeros(4, np.int32), 2, np.array([1, -1, 1, 1]))
    with pytest.raises(ValueError, match="finite and not negative"):
        cluster_means(x, np.zeros(4, np.int32), 2, np.array([1, np.nan, 1, 1]))
