"""Costs in fixed point: the scale fits, keeps ties, and never depends on how rows are ordered or merged."""

import math
from fractions import Fraction

import numpy as np
import pytest

from cutwise import ExplainableKMeans
from cutwise.exceptions import InvalidInputError
from cutwise.reference.objective import (
    KMEANS,
    KMEDIANS,
    Measure,
    fixed_costs,
    fixed_costs_from_array,
    from_centers,
    integer_weights,
    sum_weights,
)
from cutwise.table.intake import read_table
from cutwise.table.table import as_matrix
from tests.each import each


def squared_distances(values, centers):
    return ((values[:, None, :] - centers[None]) ** 2).sum(axis=2)


def check_sums_fit(costs):
    total = costs.excess.astype(float).sum(axis=0) + costs.base.astype(float).sum()
    assert np.abs(total).max() < 2.0**61
    assert math.frexp(costs.scale)[0] == 0.5


def test_small_problems_get_fifty_bits():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(100, 3))
    centers = values[:4]
    costs = fixed_costs(as_matrix(values), centers)
    assert costs.excess.dtype == np.int64
    assert 2**48 < costs.excess.max() < 2**50
    exact = squared_distances(values, centers)
    got = (costs.excess + costs.base[:, None]) / costs.scale
    np.testing.assert_allclose(got, exact, rtol=1e-12, atol=exact.max() * 2.0**-49)
    check_sums_fit(costs)


def test_large_problems_are_int32_of_thirty_bits():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(300_000, 2)).astype(np.float32)
    costs = fixed_costs(as_matrix(values), rng.normal(size=(16, 2)))
    assert costs.excess.dtype == np.int32
    assert costs.excess.flags.c_contiguous
    assert 2**29 <= costs.excess.max() < 2**30
    check_sums_fit(costs)


def test_a_long_tail_is_int64_however_many_rows_there_are():
    values = np.random.default_rng(2).normal(size=(300_000, 1))
    values[7] = 1e4
    centers = np.append(np.linspace(-1, 1, 15), 1e4)[:, None]
    costs = fixed_costs(as_matrix(values), centers)
    assert costs.excess.dtype == np.int64
    second = np.sort(costs.excess, axis=1)[:, 1]
    assert np.median(second) > 100  # under 1 in 30 bits
    check_sums_fit(costs)


def test_integer_costs_are_exact():
    rng = np.random.default_rng(3)
    values, centers = rng.integers(0, 50, (200, 3)), rng.integers(0, 50, (5, 3)).astype(float)
    costs = fixed_costs(as_matrix(values), centers)
    np.testing.assert_array_equal(
        (costs.excess + costs.base[:, None]) / costs.scale, squared_distances(values, centers)
    )


@pytest.mark.parametrize("n", [200, 45_000])
@pytest.mark.parametrize("tail", [1.0, 1e4, 1e8])
def test_weights_are_repeated_rows_and_the_order_of_rows_is_nothing(n, tail):
    rng = np.random.default_rng(4)
    values = rng.normal(size=(n, 2))
    values[0] *= tail
    weights = rng.integers(1, 40, n)
    centers = rng.normal(size=(5, 2))
    merged = fixed_costs(as_matrix(values), centers, weights=weights)
    order = rng.permutation(int(weights.sum()))
    row = np.repeat(np.arange(n), weights)[order]
    repeated = fixed_costs(as_matrix(values[row]), centers, n_jobs=2)
    assert repeated.scale == merged.scale
    assert merged.excess.dtype == np.int64
    np.testing.assert_array_equal(repeated.excess * weights[row, None], merged.excess[row])
    np.testing.assert_array_equal(repeated.base * weights[row], merged.base[row])
    check_sums_fit(merged)


@pytest.mark.parametrize("objective", [KMEANS, KMEDIANS])
def test_costs_measured_beside_the_labels_are_those_measured_anew(objective):
    rng = np.random.default_rng(6)
    table, weights = read_table(rng.normal(size=(400, 2)).astype(np.float32)), rng.integers(1, 4, 400)
    reference = from_centers(table, rng.normal(size=(7, 2)), by=Measure(objective))
    again = fixed_costs(table.matrix, reference.centers, objective, weights=weights)
    beside = fixed_costs(table.matrix, reference.centers, objective, weights=weights, row_costs=reference.row_costs)
    np.testing.assert_array_equal(beside.excess, again.excess)
    np.testing.assert_array_equal(beside.base, again.base)
    assert beside.scale == again.scale


def test_given_costs_equal_those_of_the_centers_they_came_from():
    rng = np.random.default_rng(5)
    values, centers = rng.integers(0, 9, (300, 3)), rng.integers(0, 9, (4, 3)).astype(float)
    by_centers = fixed_costs(as_matrix(values), centers)
    given = fixed_costs_from_array(squared_distances(values, centers).astype(np.float32))
    np.testing.assert_array_equal(given.excess, by_centers.excess)
    np.testing.assert_array_equal(given.base, by_centers.base)
    assert given.scale == by_centers.scale


@each("size", [0.0, 1e-300, 1e-160, 1e-9, 1.0, 1e150, 1e300])
def test_every_magnitude_of_costs_fits(size):
    costs = fixed_costs_from_array(np.array([[0.0, 1.0, 3.0], [5.0, 5.0, 5.0]]) * size)
    check_sums_fit(costs)
    if size >= 1e-160:
        np.testing.assert_allclose(
            costs.excess / costs.scale, np.array([[0.0, 1.0, 3.0], [0.0] * 3]) * size, rtol=1e-12
        )
        np.testing.assert_allclose(costs.base / costs.scale, np.array([0.0, 5.0]) * size, rtol=1e-12)


def test_one_center_costs_what_its_rows_cost():
    values = np.arange(5.0)[:, None]
    costs = fixed_costs(as_matrix(values), np.array([[2.0]]))
    assert not costs.excess.any()
    assert (costs.base / costs.scale).tolist() == [4.0, 1.0, 0.0, 1.0, 4.0]


def test_a_base_beside_which_the_excess_is_small_still_fits():
    costs = fixed_costs_from_array(np.array([[1e18, 1e18 + 1024.0]] * 100))
    check_sums_fit(costs)
    costs = fixed_costs_from_array(np.array([[-1e18, -1e18 + 1024.0]] * 100))
    check_sums_fit(costs)


def test_distances_beyond_float64_are_refused_with_a_way_out():
    with pytest.raises(InvalidInputError, match=r"beyond float64, .* Divide X by a constant"):
        fixed_costs(as_matrix(np.array([[1e200], [0.0]])), np.array([[0.0], [1.0]]))


def test_rows_without_weight_are_refused():
    with pytest.raises(ValueError, match="positive weight"):
        fixed_costs_from_array(np.ones((2, 2)), weights=np.array([0, 1]))


# ---- integer weights


@pytest.mark.parametrize("weight", [1.0, 0.5, 1.5, 0.1, 1e-300])
def test_equal_weights_are_no_weights(weight):
    weights, scale = integer_weights(np.full(7, weight))
    assert weights is None
    assert scale * weight == pytest.approx(1.0)


@each(
    "given, expected",
    [
        ([1, 2, 5], [1, 2, 5]),
        ([0.25, 0.5, 1.25], [1, 2, 5]),
        ([0.1, 0.2, 0.3], [1, 2, 3]),
        ([3e-9, 0.0, 6e-9], [1, 0, 2]),
        ([0.0, 0.7, 0.7], [0, 1, 1]),
        ([0.75, 0.5, 1.0], [3, 2, 4]),
        ([6, 10, 15], [6, 10, 15]),
        ([3e15, 6e15], [1, 2]),
    ],
)
def test_weights_with_a_common_unit_become_multiples_of_it(given, expected):
    weights, scale = integer_weights(np.array(given, dtype=float))
    assert weights.dtype == np.int64
    assert weights.tolist() == expected
    np.testing.assert_allclose(np.array(given) * scale, expected, rtol=1e-14)


@pytest.mark.parametrize("given", [[2, 4, 10], [0.0, 7.0, 7.0], [2, 2, 2], [3, 6, 9]])
def test_whole_weights_stay_as_they_are_each_a_row_repeated(given):
    weights, scale = integer_weights(np.array(given, dtype=float))
    assert weights.tolist() == given
    assert scale == 1.0


def test_other_weights_are_rounded_within_the_bound_and_none_vanishes():
    given = np.random.default_rng(6).random(1000)
    given[0] = 1e-30
    weights, scale = integer_weights(given)
    assert math.frexp(scale)[0] == 0.5
    assert 2**30 <= given.sum() * scale < 2**31
    assert np.abs(weights / scale - given).max() <= given.sum() * 2.0**-30
    assert weights[0] == 1
    again, _ = integer_weights(given * 2.0**-40)
    np.testing.assert_array_equal(again, weights)
    order = np.random.default_rng(7).permutation(1000)
    np.testing.assert_array_equal(integer_weights(given[order])[0], weights[order])


def test_exactly_representable_weights_are_exact():
    given = np.random.default_rng(8).integers(1, 1000, 50) / 1024
    weights, scale = integer_weights(given)
    assert (
        all(Fraction(int(w)) == Fraction(g) * Fraction(scale) for w, g in zip(weights, given, strict=True))
        or np.gcd.reduce((given * 1024).astype(int)) > 1
    )


def test_whole_weights_are_summed_as_integers():
    assert sum_weights(None) is None
    assert sum_weights(np.array([1.0, 2.0])).dtype == np.int64
    assert sum_weights(np.array([1.0, 2.5])).dtype == np.float64
    assert sum_weights(np.array([1e300, 1.0])).dtype == np.float64


# ---- rows so far away that the others' costs would be rounded to nothing


def with_far_rows(far, n=60):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, 3))
    values[: n // 3, 1] += 6
    values[n // 3 : 2 * n // 3, 0] += 4
    values[-2:, 2] = far
    groups = [range(n // 3), range(n // 3, 2 * n // 3), range(2 * n // 3, n - 2), range(n - 2, n)]
    return values, np.array([values[list(group)].mean(axis=0) for group in groups])


@pytest.mark.parametrize("far", [1e7, 1e9, 1e15])
@pytest.mark.parametrize("algorithm", ["exgreedy", "exshallow", "exkmc"])
def test_far_rows_change_no_cut_among_the_others(algorithm, far):
    trees = []
    for distance in (1e4, far):
        values, centers = with_far_rows(distance)
        model = ExplainableKMeans(4, algorithm=algorithm, max_leaves=6, reference=centers).fit(values)
        trees.append((model.tree_.feature.tolist(), model.labels_.tolist()))
    assert trees[0] == trees[1]


def test_capped_costs_keep_the_digits_of_near_centers_and_the_order_of_all():
    values, centers = with_far_rows(1e12)
    exact = ((values[:, None] - centers) ** 2).sum(axis=2)
    exact -= exact.min(axis=1)[:, None]
    costs = fixed_costs(as_matrix(values), centers)
    near = exact < 1e6
    np.testing.assert_allclose(costs.excess[near] / costs.scale, exact[near], rtol=1e-4, atol=1 / costs.scale)
    assert (costs.excess[~near] == costs.excess.max()).all()
    assert costs.excess.max() >= 2**16 * np.median(costs.excess[near & (exact > 0)])
    assert costs.excess.astype(object).sum() + costs.base.astype(object).sum() < 2**62


def test_capped_costs_of_weighted_rows_are_those_of_repeated_ones():
    values, centers = with_far_rows(1e10)
    weights = np.random.default_rng(1).integers(1, 5, len(values))
    weighted = fixed_costs(as_matrix(values), centers, weights=weights)
    repeated = fixed_costs(as_matrix(np.repeat(values, weights, axis=0)), centers)
    assert weighted.scale == repeated.scale
    first = np.cumsum(weights) - weights
    np.testing.assert_array_equal(weighted.excess, weights[:, None] * repeated.excess[first])
    np.testing.assert_array_equal(weighted.base, weights * repeated.base[first])


def test_a_row_far_from_its_own_center_leaves_the_others_their_digits_too():
    values, centers = with_far_rows(0.0)
    values[:, 2] = centers[:, 2] = 0.0  # far from all centers alike
    trees = []
    for far in (0.0, 1e15):
        values[-1, 2] = far
        costs = fixed_costs(as_matrix(values), centers[:3])
        assert np.median(np.partition(costs.excess, 1, axis=1)[:, 1]) >= 2**19
        model = ExplainableKMeans(3, algorithm="exgreedy", reference=centers[:3]).fit(values)
        trees.append((model.tree_.feature.tolist(), model.labels_[:-1].tolist()))
    assert trees[0] == trees[1]
    assert costs.base.max() >= 2**50
