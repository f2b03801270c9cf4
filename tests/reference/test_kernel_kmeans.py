"""Kernel k-means against explicit features, a plain twin of its iterations, and what every run must satisfy."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutwise import KernelKMeans
from cutwise.readouts.metrics import kernel_cost
from cutwise.reference.feature_space import feature_space
from cutwise.reference.kernel_kmeans import _lloyd, kernel_kmeans
from cutwise.reference.resources import one_thread
from cutwise.table.intake import read_table

RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def entered_once():
    """Many small fits: what limits threads reads the list of loaded libraries each time it is entered anew."""
    with one_thread():
        yield


COUNTS = RNG.integers(0, 6, size=(25, 3)).astype(float)


def space_of(values, kernel="rbf", weights=None, **options):
    parameters = {name: options.pop(name) for name in ("gamma", "degree", "coef0", "beta") if name in options}
    merge_by = values if options.pop("merge", True) else None
    return feature_space(read_table(values), weights, kernel, parameters, merge_by=merge_by, **options)


def unary(values):
    """Each count as that many ones: the histogram intersection of counts is the inner product of these."""
    return np.concatenate([values[:, [j]] > np.arange(values.max()) for j in range(values.shape[1])], axis=1).astype(
        float
    )


def quadratic(values):
    """All products of two columns: (x.y)^2 is the inner product of these."""
    return np.einsum("ni,nj->nij", values, values).reshape(len(values), -1)


EXPLICIT = {
    "linear": ({}, lambda X: X),
    "polynomial": ({"degree": 2, "coef0": 0, "gamma": 1.0}, quadratic),
    "hellinger": ({}, np.sqrt),
    "histogram_intersection": ({}, unary),
}


@pytest.mark.parametrize("kernel", EXPLICIT)
@pytest.mark.parametrize("weighted", [False, True])
def test_equation_5_is_the_squared_distance_to_the_mean_of_explicit_features(kernel, weighted):
    parameters, features_of = EXPLICIT[kernel]
    weights = RNG.random(25) * 3 if weighted else None
    space = space_of(COUNTS, kernel, weights, merge=False, **parameters)
    labels = np.arange(25, dtype=np.int32) % 4
    features, w = features_of(COUNTS), np.ones(25) if weights is None else weights
    means = np.array([np.average(features[labels == j], axis=0, weights=w[labels == j]) for j in range(4)])
    expected = ((features[:, None] - means) ** 2).sum(axis=2)
    assert np.allclose(space.costs(labels, 4), expected)
    assert space.partition_cost(labels, 4) == pytest.approx(w @ expected[np.arange(25), labels])
    # For rows that were not there, from the centers.
    new = RNG.integers(0, 6, size=(7, 3)).astype(float)
    new[0] = COUNTS.max()  # as many columns in unary as the training rows have
    apart = ((features_of(np.vstack([new, COUNTS]))[:7, None] - means) ** 2).sum(axis=2)
    assert np.allclose(space.centers(labels, 4).costs(new), apart)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "additive_chi2", "chi2", "precomputed"])
def test_nystroem_features_from_all_rows_are_exact(kernel):
    values = np.unique(COUNTS, axis=0)
    n = len(values)
    if kernel == "precomputed":
        values = values @ values.T
    labels = np.arange(n, dtype=np.int32) % 3
    exact = space_of(values, kernel, merge=False)
    features = space_of(values, kernel, merge=False, n_components=n)
    assert features.approximation_error == pytest.approx(0.0, abs=1e-9)
    assert np.allclose(features.costs(labels, 3), exact.costs(labels, 3), atol=1e-6)
    assert features.partition_cost(labels, 3) == pytest.approx(exact.partition_cost(labels, 3), abs=1e-6)
    if kernel != "precomputed":
        assert np.allclose(features.centers(labels, 3).costs(values), exact.costs(labels, 3), atol=1e-6)


def test_the_approximation_error_is_the_trace_norm_that_is_missing():
    values = RNG.normal(size=(60, 2))
    exact = space_of(values, merge=False)
    features = space_of(values, merge=False, n_components=5, rng=np.random.default_rng(0))
    missing = exact.gram.matrix - features.gram.features @ features.gram.features.T
    share = np.abs(np.linalg.eigvalsh(missing)).sum() / np.trace(exact.gram.matrix)
    assert features.approximation_error == pytest.approx(share, abs=1e-9)
    assert 0.01 < share < 1


def plain_lloyd(matrix, labels, k, weights, max_iter=300):
    """The paper's Algorithm 4, one sum at a time."""
    n = len(matrix)
    for _ in range(max_iter):
        distances = np.empty((n, k))
        for j in range(k):
            rows = np.flatnonzero(labels == j)
            w = weights[rows]
            within = sum(w[a] * w[b] * matrix[rows[a], rows[b]] for a in range(len(rows)) for b in range(len(rows)))
            for i in range(n):
                to_rows = sum(w[a] * matrix[i, rows[a]] for a in range(len(rows)))
                distances[i, j] = matrix[i, i] + within / w.sum() ** 2 - 2 * to_rows / w.sum()
        moved = distances.argmin(axis=1)
        if (moved == labels).all():
            break
        labels = moved
    return labels, distances


@pytest.mark.parametrize("seed", range(4))
def test_the_iterations_are_those_of_a_plain_twin(seed):
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=(30, 2)), rng.random(30) + 0.1
    space = space_of(values, "rbf", weights, gamma=0.5, merge=False)
    start = rng.integers(0, 3, 30).astype(np.int32)
    partition = _lloyd(space, start, 3, 300)
    expected, distances = plain_lloyd(space.gram.matrix, start, 3, weights)
    assert np.array_equal(partition.labels, expected)
    assert np.allclose(space.costs(partition.labels, 3), distances)
    assert partition.cost == pytest.approx(weights @ distances.min(axis=1))
    assert partition.cost == pytest.approx(kernel_cost(space.gram.matrix, partition.labels, weights))


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 25),
    init=st.sampled_from(["k-means++", "random"]),
    kernel=st.sampled_from(["rbf", "laplacian", "hellinger", "polynomial", "linear"]),
    landmarks=st.sampled_from([None, 4]),
)
def test_every_row_ends_at_its_nearest_mean_and_no_cluster_is_empty(seed, n, init, kernel, landmarks):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5, size=(n, 2)).astype(float)
    space = space_of(values, kernel, n_components=landmarks, rng=rng)
    k = int(rng.integers(1, space.n_rows + 1))
    partition = kernel_kmeans(space, k, init=init, n_init=2, rng=rng)
    assert (np.bincount(partition.labels, minlength=k) > 0).all()
    costs = space.costs(partition.labels, k)
    own = costs[np.arange(space.n_rows), partition.labels]
    assert (own <= costs.min(axis=1) + 1e-9 * max(1.0, space.scale)).all()
    assert partition.cost == pytest.approx(float(space.weights @ own), abs=1e-8 * max(1.0, space.scale))


def test_no_iteration_raises_the_cost():
    values = RNG.normal(size=(80, 2))
    space = space_of(values, gamma=1.0)
    start = RNG.integers(0, 4, space.n_rows).astype(np.int32)
    costs = [_lloyd(space, start, 4, steps).cost for steps in range(1, 15)]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(costs))
    assert costs[-1] < costs[0]


def test_no_move_of_a_single_row_lowers_the_cost():
    values, weights = RNG.normal(size=(40, 2)), RNG.random(40) + 0.2
    space = space_of(values, "rbf", weights, gamma=4.0)
    partition = kernel_kmeans(space, 4, init="random", n_init=1, rng=np.random.default_rng(3))
    start = np.random.default_rng(3).spawn(1)[0].integers(0, 4, 40).astype(np.int32)
    assert partition.cost < _lloyd(space, start, 4, 300).cost - 1e-6, "the iterations alone stop too early here"
    for row in range(40):
        for cluster in range(4):
            labels = partition.labels.copy()
            labels[row] = cluster
            assert space.partition_cost(labels, 4) >= partition.cost - 1e-9


def test_equal_rows_are_merged_in_an_order_of_their_own():
    values = COUNTS[RNG.integers(0, 25, 60)]
    weights = RNG.integers(0, 3, 60).astype(float)
    space = space_of(values, weights=weights)
    assert space.n_rows == len(np.unique(values[weights > 0], axis=0))
    assert (space.position[weights == 0] == -1).all()
    kept = np.flatnonzero(weights > 0)
    assert np.array_equal(values[space.row_of[space.position[kept]]], values[kept])
    assert (space.row_of[space.position[kept]] <= kept).all()
    assert np.array_equal(np.bincount(space.position[kept], weights[kept]), space.weights)
    shuffled = RNG.permutation(60)
    other = space_of(values[shuffled], weights=weights[shuffled])
    assert np.array_equal(other.gram.matrix, space.gram.matrix)
    assert np.array_equal(other.weights, space.weights)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "hellinger", "additive_chi2", "histogram_intersection"])
def test_clusters_of_equal_rows_cost_nothing_and_never_less(kernel):
    rng = np.random.default_rng(0)
    for _ in range(30):
        rows = rng.random((4, 2)) * 3
        labels = np.repeat(np.arange(4, dtype=np.int32), rng.integers(1, 5, 4))
        values, weights = rows[labels], rng.random(len(labels)) + 0.1
        assert space_of(values, kernel, weights, merge=False).partition_cost(labels, 4) == 0.0
        features = np.sqrt(values)
        assert kernel_cost(features @ features.T, labels, weights) == 0.0


def test_rows_that_are_unlike_every_landmark_are_clustered_without_a_warning():
    X = np.concatenate([np.random.default_rng(0).normal(size=(60, 2)), [[1e6, 0.0], [0.0, 1e6]]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelKMeans(3, kernel="rbf", gamma=1.0, approximation="nystroem", n_components=10, random_state=0)
        assert len(set(model.fit(X).labels_)) > 1
