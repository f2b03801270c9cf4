"""Coordinate-wise weighted medians of clusters, against the definition."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from cutwise.core import cluster_medians
from cutwise.table.table import as_matrix
from tests.each import each


def plain_median(values, weights):
    """The smallest value such that the rows at or below it hold at least half of the weight."""
    pairs = sorted((float(v), Fraction(float(w))) for v, w in zip(values, weights, strict=True))
    reached, total = Fraction(0), sum(weight for _, weight in pairs)
    for value, weight in pairs:
        reached += weight
        if 2 * reached >= total:
            return value
    raise AssertionError("no value")


def plain_medians(X, labels, k, weights):
    medians = np.full((k, X.shape[1]), np.nan)
    for j in range(k):
        rows = (labels == j) & (weights > 0)
        if rows.any():
            medians[j] = [plain_median(column, weights[rows]) for column in X[rows].astype(np.float64).T]
    return medians


def problem(seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(1, 60)), int(rng.integers(1, 20)), int(rng.integers(1, 6))
    X = rng.integers(0, 5, (n, d)) if seed % 2 else rng.normal(0, 3, (n, d)).round(1)
    X[rng.random((n, d)) < 0.4] = 0
    if dtype != np.uint8:
        X = X - (seed % 3)
    return np.abs(X).astype(dtype) if dtype == np.uint8 else X.astype(dtype), rng.integers(-1, k, n).astype(np.int32), k


@each("dtype", [np.float64, np.float32, np.int64, np.int32, np.uint8])
@each("weighted", ["no", "whole", "fractions", "dyadic"])
def test_a_median_is_the_lowest_value_that_half_of_the_weight_does_not_exceed(dtype, weighted):
    for seed in range(6):
        X, labels, k = problem(seed, dtype)
        rng = np.random.default_rng(seed)
        given = {
            "no": None,
            "whole": rng.integers(0, 4, len(X)),
            "fractions": rng.random(len(X)),
            "dyadic": rng.integers(0, 9, len(X)) / 8,
        }[weighted]
        w = np.ones(len(X)) if given is None else given
        expected = plain_medians(X, labels, k, w)
        totals = np.array([w[labels == j].sum() for j in range(k)], dtype=np.float64)
        wide = np.zeros((2 * len(X), 3 * X.shape[1]), dtype)
        wide[::-2, 1::3] = X
        for values in (X, np.asfortranarray(X), wide[::-2, 1::3], sparse.csr_array(X)):
            for n_jobs in (1, 3):
                medians, weight = cluster_medians(as_matrix(values), labels, k, given, n_jobs)
                np.testing.assert_array_equal(medians, expected)
                np.testing.assert_allclose(weight, totals, rtol=1e-12)


def test_medians_do_not_depend_on_the_order_of_the_rows_by_a_single_bit():
    rng = np.random.default_rng(1)
    X = rng.choice([-0.0, 0.0, 1e-300, 2.5, -3.0], size=(5000, 3))
    labels, weights = rng.integers(0, 3, 5000).astype(np.int32), rng.random(5000)
    expected = cluster_medians(as_matrix(X), labels, 3, weights)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(5000)
        found = cluster_medians(as_matrix(X[order]), labels[order], 3, weights[order], 2)
        assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


def test_a_whole_weight_is_a_repeated_row():
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(300, 4)), rng.integers(0, 4, 300).astype(np.int32)
    weights = rng.integers(0, 5, 300)
    weighted, _ = cluster_medians(as_matrix(X), labels, 4, weights)
    repeated, _ = cluster_medians(as_matrix(np.repeat(X, weights, axis=0)), np.repeat(labels, weights), 4)
    np.testing.assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_no_other_value_serves_a_cluster_better(make):
    rng = np.random.default_rng(3)
    X, weights = rng.integers(-3, 3, (41, 5)).astype(float), rng.random(41)
    (medians,), _ = cluster_medians(as_matrix(make(X)), np.zeros(41, np.int32), 1, weights)
    for f, column in enumerate(X.T):
        costs = [weights @ np.abs(column - value) for value in np.unique(column)]
        assert weights @ np.abs(column - medians[f]) <= min(costs) * (1 + 1e-12)


def test_tiny_weights_beside_huge_ones_still_count():
    X = np.array([[1.0], [2.0], [9.0]])
    labels = np.array([0, 0, 1], np.int32)
    medians, totals = cluster_medians(as_matrix(X), labels, 2, np.array([1e-300, 1e-300, 1e300]))
    assert medians.tolist() == [[1.0], [9.0]]
    assert (totals > 0).all()


def test_labels_and_weights_that_do_not_fit_are_refused():
    x, labels = as_matrix(np.zeros((3, 1))), np.zeros(3, np.int32)
    with pytest.raises(ValueError, match="number of clusters"):
        cluster_medians(x, labels + 2, 2)
    with pytest.raises(ValueError, match="label for each row"):
        cluster_medians(x, labels[:2], 2)
    with pytest.raises(ValueError, match="weight for each row"):
        cluster_medians(x, labels, 2, np.ones(2))
    with pytest.raises(ValueError, match="not negative"):
        cluster_medians(x, labels, 2, np.array([1.0, -1.0, 1.0]))
    with pytest.raises(ValueError, match="2\\^61"):
        cluster_medians(x, labels, 2, np.full(3, 2**60))
