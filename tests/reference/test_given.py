"""References of given centers and given labels."""

import numpy as np
import pytest
from scipy import sparse

from cutwise import ExplainableKMeans
from cutwise.exceptions import InvalidInputError
from cutwise.reference.objective import KMEDIANS, Measure, from_centers, from_labels
from cutwise.table.intake import read_table


def test_centers_take_the_rows_that_are_nearest():
    table = read_table([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0], [5.0, 0.0]])
    reference = from_centers(table, [[0, 0], [10, 0]], 2)
    assert reference.labels.tolist() == [0, 0, 1, 0]  # the third is a tie: the lowest number
    assert reference.labels.dtype == np.int32
    assert reference.centers.dtype == np.float64
    assert (reference.cost, reference.objective, reference.n_clusters) == (0 + 1 + 1 + 25, "kmeans", 2)
    medians = from_centers(table, np.array([[0, 0], [10, 0]]), by=Measure(KMEDIANS))
    assert medians.cost == 0 + 1 + 1 + 5


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_weights_are_repeated_rows(make):
    rng = np.random.default_rng(0)
    values, weights = np.round(rng.normal(size=(300, 4))), rng.integers(0, 4, 300)
    labels = rng.integers(-1, 3, 300).astype(np.int32)
    weighted, repeated = read_table(make(values)), read_table(make(np.repeat(values, weights, axis=0)))
    w = weights.astype(float)
    centers = rng.normal(size=(3, 4))
    assert from_centers(weighted, centers, by=Measure(sample_weight=w)).cost == from_centers(repeated, centers).cost
    a = from_labels(weighted, labels, 3, Measure(sample_weight=w, n_jobs=2))
    b = from_labels(repeated, np.repeat(labels, weights), 3)
    np.testing.assert_array_equal(a.centers, b.centers)
    assert a.cost == b.cost


def test_labels_have_the_means_of_their_rows_as_centers_and_noise_counts_for_nothing():
    table = read_table([[0.0], [2.0], [10.0], [99.0]])
    reference = from_labels(table, np.array([0, 0, 1, -1], np.int32), 2)
    assert reference.centers.tolist() == [[1.0], [10.0]]
    assert reference.cost == 2.0
    given = from_labels(table, np.array([0, 0, 1, -1], np.int32), 2, centers=np.array([[0.0], [9.0]]))
    assert given.cost == 0 + 4 + 1


def test_a_cluster_without_weight_is_named():
    table = read_table([[0.0], [2.0]])
    with pytest.raises(InvalidInputError, match="Cluster 1 of 2 has no row of positive weight"):
        from_labels(table, np.array([0, 1], np.int32), 2, Measure(sample_weight=np.array([1.0, 0.0])))


@pytest.mark.parametrize(
    ("centers", "message"),
    [
        ([[0.0, 0.0]], r"reference has 1 cluster, but n_clusters=2\.\s.*n_clusters=1"),
        ([[0.0], [1.0]], "1 columns, but the rows have 2"),
        ([0.0, 1.0], r"has shape \(2,\), but needs .* shape \(n_clusters, n_columns\)"),
        ([[0.0, 1.0], [np.nan, 2.0]], "center 1 has nan in column 0"),
        ([[0.0, 1.0], [np.inf, 2.0]], "center 1 has inf in column 0"),
        ("kmeans", "must be an array of numbers"),
        ([["a", "b"]], "must be an array of numbers"),
        ({"a": 1}, "must be an array of numbers"),
    ],
)
def test_centers_that_cannot_be_used_say_why(centers, message):
    with pytest.raises(InvalidInputError, match=message):
        from_centers(read_table([[0.0, 1.0], [2.0, 3.0]]), centers, 2)


def test_given_centers_are_copied():
    centers = np.array([[0.0], [1.0]])
    reference = from_centers(read_table([[0.0], [1.0]]), centers)
    centers[:] = 7
    assert reference.centers.tolist() == [[0.0], [1.0]]


def test_distances_beyond_float64_are_refused():
    with pytest.raises(InvalidInputError, match="Divide X by a constant"):
        from_centers(read_table([[1e200], [0.0]]), [[0.0], [1.0]])
    near = np.random.default_rng(1).normal(size=(200, 3)) * 1e153  # squares are below the limit, and their sum is not
    with pytest.raises(InvalidInputError, match="sums of them, are beyond float64"):
        ExplainableKMeans(4, random_state=0).fit(near)


@pytest.mark.parametrize("scale", [1e-200, 1e-300, 1e-312])
def test_distances_whose_squares_are_too_small_for_float64_are_refused(scale):
    values = np.array([[0.0], [1.0], [5.0], [9.0]]) * scale
    with pytest.raises(InvalidInputError, match=r"too small for float64.*such as 1e(199|299|300)"):
        ExplainableKMeans(2, reference=values[[0, 3]]).fit(values)
    with pytest.raises(InvalidInputError, match="too small"):
        from_labels(read_table(values), np.array([0, 0, 1, 1], dtype=np.int32), 2)
    assert from_centers(read_table(values), values[[0, 3]], by=Measure(KMEDIANS)).labels.tolist() == [0, 0, 1, 1]
    assert from_centers(read_table(values[[1, 1]]), values[[1]]).cost == 0.0


def test_labels_given_as_centers_are_sent_to_the_explainer():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(InvalidInputError, match="ClusterExplainer"):
        ExplainableKMeans(2, reference=[0, 0, 0, 1, 1, 1]).fit(X)
