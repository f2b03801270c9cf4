"""Costs and explanation sizes against their definitions, row by row."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from cutwise import ClusterExplainer, ExplainableKernelKMeans, metrics
from cutwise.exceptions import (
    ColumnMismatchError,
    ColumnNamesWarning,
    InvalidInputError,
    NotFiniteError,
    UnknownOptionError,
)
from tests.each import each
from tests.tree.random_trees import chain, random_tree, rows_for


def problem(seed, *, n_clusters=3, n_features=3, n_rows=120, intervals=0.0):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves=6, n_features=n_features, n_clusters=n_clusters, intervals=intervals)
    X = np.round(rng.normal(size=(n_rows, n_features)) * 2, 1)
    return rng, tree, X


# Plain twins ----------------------------------------------------------------------------------------------------------


def naive_cost(Z, labels, w, metric):
    """Exact in fractions for the mean; each cluster by itself."""
    total = 0
    for code in set(labels[(labels >= 0) & (w > 0)]):
        rows = np.flatnonzero((labels == code) & (w > 0))
        for column in range(Z.shape[1]):
            x = [Fraction(float(v)) for v in Z[rows, column]]
            weight = [Fraction(float(v)) for v in w[rows]]
            if metric == "kmeans":
                mean = sum(a * b for a, b in zip(x, weight, strict=True)) / sum(weight)
                total += sum(b * (a - mean) ** 2 for a, b in zip(x, weight, strict=True))
            else:
                # Any minimizer is a data value: the smallest sum over all of them is the cost.
                total += min(sum(b * abs(a - m) for a, b in zip(x, weight, strict=True)) for m in set(x))
    return float(total)


def naive_surrogate(Z, labels, w, centers, metric):
    differences = Z - centers[labels]
    return float(w @ ((differences**2) if metric == "kmeans" else np.abs(differences)).sum(axis=1))


def naive_kernel_cost(K, labels, w):
    total = 0.0
    for code in set(labels[w > 0]):
        rows = [i for i in range(len(w)) if labels[i] == code]
        inner = sum(w[i] * w[j] * K[i, j] for i in rows for j in rows)
        total += sum(w[i] * K[i, i] for i in rows) - inner / sum(w[i] for i in rows)
    return total


def weights_of(rng, n, kind):
    return {
        "none": lambda: None,
        "whole": lambda: rng.integers(0, 4, size=n).astype(float),
        "fractional": lambda: rng.random(n) * (rng.random(n) < 0.8),
    }[kind]()


KINDS = ["none", "whole", "fractional"]

# Costs ----------------------------------------------------------------------------------------------------------------


@each("seed", range(4))
@each("kind", KINDS)
@pytest.mark.parametrize("metric", ["kmeans", "kmedians"])
def test_the_cost_of_a_tree_is_its_definition(seed, kind, metric):
    rng, tree, X = problem(seed)
    w = weights_of(rng, len(X), kind)
    labels = tree.predict(X)
    expected = naive_cost(X, labels, np.ones(len(X)) if w is None else w, metric)
    assert metrics.tree_cost(tree, X, metric=metric, sample_weight=w) == pytest.approx(expected, rel=1e-12)
    assert metrics.partition_cost(X, labels, metric=metric, sample_weight=w) == pytest.approx(expected, rel=1e-12)


@each("kind", KINDS)
@each("metric", ["kmeans", "kmedians"])
@each("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_cost_what_dense_ones_do(kind, metric, form):
    rng, tree, X = problem(1)
    X = X * (rng.random(X.shape) < 0.4)
    X[:, 1] += 5.0  # one column without zeros
    w = weights_of(rng, len(X), kind)
    centers = rng.normal(size=(3, 3))
    dense = metrics.tree_cost(tree, X, metric=metric, sample_weight=w)
    assert metrics.tree_cost(tree, form(X), metric=metric, sample_weight=w) == pytest.approx(dense, rel=1e-12)
    dense = metrics.surrogate_cost(tree, X, centers, metric=metric, sample_weight=w)
    assert metrics.surrogate_cost(tree, form(X), centers, metric=metric, sample_weight=w) == pytest.approx(
        dense, rel=1e-12
    )


@each("seed", range(3))
@each("kind", KINDS)
@pytest.mark.parametrize("metric", ["kmeans", "kmedians"])
def test_the_surrogate_cost_is_its_definition_and_never_below_the_cost(seed, kind, metric):
    rng, tree, X = problem(seed)
    w = weights_of(rng, len(X), kind)
    centers = rng.normal(size=(4, 3))
    expected = naive_surrogate(X, tree.predict(X), np.ones(len(X)) if w is None else w, centers, metric)
    found = metrics.surrogate_cost(tree, X, centers, metric=metric, sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-12)
    assert found >= metrics.tree_cost(tree, X, metric=metric, sample_weight=w)


def test_around_their_own_means_the_two_costs_are_one():
    _, tree, X = problem(5)
    labels = tree.predict(X)
    centers = np.array([X[labels == code].mean(axis=0) for code in range(3)])
    assert metrics.surrogate_cost(tree, X, centers) == pytest.approx(metrics.tree_cost(tree, X), rel=1e-12)


@pytest.mark.parametrize("metric", ["kmeans", "kmedians"])
def test_another_space_is_measured_in_where_it_is_given(metric):
    rng, tree, X = problem(6)
    Z = rng.normal(size=(len(X), 5))
    labels = tree.predict(X)
    w = np.ones(len(X))
    centers = rng.normal(size=(3, 5))
    assert metrics.tree_cost(tree, X, metric=metric, Z=Z) == pytest.approx(naive_cost(Z, labels, w, metric))
    assert metrics.surrogate_cost(tree, X, centers, metric=metric, Z=Z) == pytest.approx(
        naive_surrogate(Z, labels, w, centers, metric)
    )


@each("offset", [1e9, 1e10, -1e10])
@each("metric", ["kmeans", "kmedians"])
@each("kind", KINDS)
def test_an_offset_of_ten_billion_takes_no_digit_away(offset, metric, kind):
    rng, tree, X = problem(7)
    w = weights_of(rng, len(X), kind)
    Z = np.round(X * 8) / 8  # exact beside the offset
    centers = np.round(rng.normal(size=(3, 3)) * 8) / 8
    for form in (np.asarray, np.asfortranarray):
        moved = form(Z + offset)
        at_zero = metrics.tree_cost(tree, X, metric=metric, Z=Z, sample_weight=w)
        assert metrics.tree_cost(tree, X, metric=metric, Z=moved, sample_weight=w) == pytest.approx(at_zero, rel=1e-9)
        at_zero = metrics.surrogate_cost(tree, X, centers, metric=metric, Z=Z, sample_weight=w)
        found = metrics.surrogate_cost(tree, X, centers + offset, metric=metric, Z=moved, sample_weight=w)
        assert found == pytest.approx(at_zero, rel=1e-9)


@each("kind", KINDS)
@each("seed", range(3))
def test_an_offset_takes_no_digit_away_from_sparse_rows(seed, kind):
    rng, tree, X = problem(seed, n_rows=2000)
    w = weights_of(rng, len(X), kind)
    Z = np.round(X * 8) / 8
    centers = np.round(rng.normal(size=(3, 3)) * 8) / 8
    moved = sparse.csr_array(Z + 1e10)
    at_zero = metrics.tree_cost(tree, X, Z=Z, sample_weight=w)
    assert metrics.tree_cost(tree, X, Z=moved, sample_weight=w) == pytest.approx(at_zero, rel=1e-9)
    at_zero = metrics.surrogate_cost(tree, X, centers, Z=Z, sample_weight=w)
    assert metrics.surrogate_cost(tree, X, centers + 1e10, Z=moved, sample_weight=w) == pytest.approx(at_zero, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.uint8, bool])
def test_every_dtype_is_summed_as_float64(dtype):
    _, tree, X = problem(9)
    X = (np.abs(X) * 10).astype(dtype)
    expected = naive_cost(X.astype(np.float64), tree.predict(X), np.ones(len(X)), "kmeans")
    assert metrics.tree_cost(tree, X) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("metric", ["kmeans", "kmedians"])
def test_whole_weights_cost_what_repeated_rows_do(metric):
    rng, tree, X = problem(10)
    times = rng.integers(0, 4, size=len(X))
    weighted = metrics.tree_cost(tree, X, metric=metric, sample_weight=times)
    repeated = metrics.tree_cost(tree, np.repeat(X, times, axis=0), metric=metric)
    assert weighted == pytest.approx(repeated, rel=1e-13)


@pytest.mark.parametrize("metric", ["kmeans", "kmedians"])
def test_the_order_of_the_rows_changes_nothing(metric):
    rng, tree, X = problem(11)
    order = rng.permutation(len(X))
    assert metrics.tree_cost(tree, X[order], metric=metric) == metrics.tree_cost(tree, X, metric=metric)


def test_equal_rows_cost_nothing():
    tree = chain(2)
    X = np.repeat([[0.1], [1.7], [2.9]], 50, axis=0)
    assert metrics.tree_cost(tree, X) == pytest.approx(0.0, abs=1e-28)
    assert metrics.tree_cost(tree, X, metric="kmedians") == 0.0
    assert metrics.tree_cost(tree, sparse.csr_array(X)) == pytest.approx(0.0, abs=1e-28)


def test_clusters_without_rows_cost_nothing():
    tree = chain(4)
    X = np.array([[0.5], [0.75], [4.5]])  # clusters 1, 2 and 3 stay empty
    assert metrics.tree_cost(tree, X) == pytest.approx(2 * 0.125**2)
    assert metrics.tree_cost(tree, X, metric="kmedians") == pytest.approx(0.25)
    assert metrics.surrogate_cost(tree, X, [[0.5], [9], [9], [9], [4]]) == pytest.approx(0.0625 + 0.25)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_clusters_without_weight_cost_nothing(form):
    X, w = np.array([[0.5], [0.75], [1.5], [1.75]]), [1.0, 1.0, 0.0, 0.0]
    assert metrics.tree_cost(chain(1), form(X), sample_weight=w) == pytest.approx(2 * 0.125**2)
    assert metrics.tree_cost(chain(1), form(X), metric="kmedians", sample_weight=w) == pytest.approx(0.25)
    kernel = metrics.tree_cost(chain(1), form(X), metric="kernel", K=X @ X.T, sample_weight=w)
    assert kernel == pytest.approx(2 * 0.125**2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_cost_beyond_float64_is_infinite(form):
    X = np.array([[1e200], [-1e200], [3e200]])
    single = random_tree(np.random.default_rng(0), n_leaves=1, n_features=1)
    assert metrics.tree_cost(single, form(X)) == math.inf
    assert metrics.surrogate_cost(single, form(X), [[0.0]]) == math.inf
    assert metrics.tree_cost(single, form(X), metric="kmedians") == pytest.approx(4e200)


def test_noise_in_a_partition_costs_nothing():
    X = np.array([[0.0], [2.0], [1000.0]])
    assert metrics.partition_cost(X, [0, 0, -1]) == 2.0
    assert metrics.partition_cost(X, ["a", "a", "b"]) == 2.0


def test_columns_are_taken_in_blocks_where_there_are_many(monkeypatch):
    import cutwise.readouts.metrics as costs

    _, tree, X = problem(12)
    whole = [metrics.tree_cost(tree, form(X), metric="kmedians") for form in (np.asarray, sparse.csr_array)]
    K = X @ X.T
    kernel = metrics.tree_cost(tree, X, metric="kernel", K=K)
    monkeypatch.setattr(costs, "_BLOCK", 60)
    assert [metrics.tree_cost(tree, form(X), metric="kmedians") for form in (np.asarray, sparse.csr_array)] == whole
    assert metrics.tree_cost(tree, X, metric="kernel", K=K) == pytest.approx(kernel, rel=1e-12)


# Kernels --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_cost_is_its_definition(kind):
    rng, tree, X = problem(13, n_rows=40)
    K = np.exp(-0.3 * cdist(X, X, "sqeuclidean"))
    w = weights_of(rng, len(X), kind)
    expected = naive_kernel_cost(K, tree.predict(X), np.ones(len(X)) if w is None else w)
    assert metrics.tree_cost(tree, X, metric="kernel", K=K, sample_weight=w) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_with_the_linear_kernel_it_is_the_cost_of_k_means(kind):
    rng, tree, X = problem(14)
    w = weights_of(rng, len(X), kind)
    expected = metrics.tree_cost(tree, X, sample_weight=w)
    found = metrics.tree_cost(tree, X, metric="kernel", K=X @ X.T, sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-9)
    found = metrics.partition_cost(X, tree.predict(X), metric="kernel", K=X @ X.T, sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-9)


# Mistakes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_mistakes_are_rows_predicted_into_another_cluster_than_theirs(kind):
    rng, tree, X = problem(15)
    labels = rng.integers(-1, 5, size=len(X))  # codes 3 and 4 have no leaf: always mistakes
    w = weights_of(rng, len(X), kind)
    wrong = (labels >= 0) & (tree.predict(X) != labels)
    found = metrics.n_mistakes(tree, X, labels, sample_weight=w)
    assert found == (wrong.sum() if w is None else pytest.approx(w[wrong].sum()))
    assert type(found) is (int if w is None else float)


def test_labels_may_be_the_original_ones():
    rng, tree, X = problem(16)
    classes = np.array(["left", "middle", "right"])
    labels = rng.choice(["left", "middle", "right", "elsewhere"], size=len(X))
    wrong = int(np.sum(classes[tree.predict(X)] != labels))
    assert metrics.n_mistakes(tree, X, labels, classes=classes) == wrong
    assert metrics.n_mistakes(SimpleNamespace(tree_=tree, classes_=classes), X, labels) == wrong
    assert metrics.n_mistakes(tree, X, classes[tree.predict(X)].tolist(), classes=classes) == 0
    numbers = np.array([10, 20, 30])
    assert metrics.n_mistakes(tree, X, numbers[tree.predict(X)], classes=numbers) == 0
    assert metrics.n_mistakes(tree, X, numbers[tree.predict(X)].astype(float), classes=numbers) == 0


def test_text_without_classes_is_refused():
    _, tree, X = problem(17)
    with pytest.raises(InvalidInputError, match="classes"):
        metrics.n_mistakes(tree, X, ["a"] * len(X))


# Depth and size -------------------------------------------------------------------------------------------------------


@each("seed", range(5))
@each("kind", KINDS)
def test_average_depth_and_size_are_taken_row_by_row(seed, kind):
    rng, tree, X = problem(seed)
    w = weights_of(rng, len(X), kind)
    depths, sizes = [], []
    for leaf in tree.apply(X):
        directions, depth, node = set(), 0, leaf
        while node != 0:
            parent = tree.parents[node]
            directions.add((tree.feature[parent], node == tree.children_left[parent]))
            depth, node = depth + 1, parent
        depths.append(depth)
        sizes.append(len(directions))
    assert metrics.weighted_average_depth(tree, X, w) == pytest.approx(np.average(depths, weights=w), rel=1e-14)
    assert metrics.weighted_average_explanation_size(tree, X, w) == pytest.approx(
        np.average(sizes, weights=w), rel=1e-14
    )


def test_inside_an_interval_counts_twice_and_outside_once():
    tree = random_tree(np.random.default_rng(0), n_leaves=2, n_features=1, intervals=1.0)
    a, b = tree.lower[0], tree.threshold[0]
    inside, outside = [[(a + b) / 2]], [[b + 1.0]]
    assert metrics.weighted_average_explanation_size(tree, inside) == 2.0
    assert metrics.weighted_average_explanation_size(tree, outside) == 1.0
    assert metrics.weighted_average_explanation_size(tree, inside + outside * 3) == 1.25
    assert metrics.weighted_average_explanation_size(tree, inside + outside, [3, 1]) == 1.75


def test_a_single_leaf_needs_no_words():
    assert metrics.weighted_average_depth(chain(1), [[0.5]]) == 1.0
    single = random_tree(np.random.default_rng(0), n_leaves=1, n_features=1)
    assert metrics.weighted_average_depth(single, [[0.5]]) == 0.0
    assert metrics.weighted_average_explanation_size(single, [[0.5]]) == 0.0


def test_a_chain_of_5000_tests_is_measured():
    X = np.arange(0.5, 5001)[:, None]
    assert metrics.weighted_average_depth(chain(5000), X) == pytest.approx((np.arange(1, 5001).sum() + 5000) / 5001)
    assert metrics.weighted_average_explanation_size(chain(5000), X) == pytest.approx((1 + 2 * 4999 + 1) / 5001)
    assert metrics.tree_cost(chain(5000), X) == 0.0


# Input ----------------------------------------------------------------------------------------------------------------


def test_a_metric_has_one_name():
    _, tree, X = problem(18)
    for name in ("sqeuclidean", "l1", "precomputed"):
        with pytest.raises(UnknownOptionError, match="Use one of 'kmeans', 'kmedians', 'kernel'"):
            metrics.tree_cost(tree, X, metric=name)


def test_a_fitted_estimator_may_stand_for_its_tree():
    pandas = pytest.importorskip("pandas")
    rng, tree, X = problem(19)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = SimpleNamespace(tree_=tree, feature_names_in_=np.array(["a", "b", "c"], dtype=object))
    centers = rng.normal(size=(3, 3))
    assert metrics.tree_cost(model, frame) == metrics.tree_cost(tree, X)
    assert metrics.surrogate_cost(model, frame, centers) == metrics.surrogate_cost(tree, X, centers)
    assert metrics.weighted_average_depth(model, frame) == metrics.weighted_average_depth(tree, X)
    with pytest.raises(ColumnMismatchError, match="order"):
        metrics.tree_cost(model, frame[["b", "a", "c"]])
    with pytest.warns(ColumnNamesWarning):
        metrics.tree_cost(model, X)
    with pytest.warns(ColumnNamesWarning):
        metrics.tree_cost(SimpleNamespace(tree_=tree), frame)
    assert metrics.tree_cost(tree, frame) == metrics.tree_cost(tree, X)


def test_levels_never_seen_at_fit_are_refused_where_predict_refuses_them():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"g": list("aabb")})
    model = ClusterExplainer(handle_unknown="error").fit(frame, [0, 0, 1, 1])
    with pytest.raises(InvalidInputError, match="never seen at fit"):
        metrics.weighted_average_depth(model, pandas.DataFrame({"g": ["c"]}))


def test_what_has_no_tree_is_refused():
    with pytest.raises(InvalidInputError, match="SimpleNamespace is neither"):
        metrics.tree_cost(SimpleNamespace(), [[1.0]])
    with pytest.raises(InvalidInputError, match="neither"):
        metrics.tree_cost(SimpleNamespace(tree_="tree"), [[1.0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t, X: metrics.tree_cost(t, X, metric="kmean"), UnknownOptionError, "Did you mean 'kmeans'"),
        (lambda t, X: metrics.tree_cost(t, X, metric=7), UnknownOptionError, "metric=7"),
        (lambda t, X: metrics.tree_cost(t, X[:, :2]), ColumnMismatchError, "2 features"),
        (lambda t, X: metrics.tree_cost(t, X * math.nan), NotFiniteError, "NaN"),
        (lambda t, X: metrics.tree_cost(t, X, Z=X[1:]), InvalidInputError, "120 rows but Z has 119"),
        (lambda t, X: metrics.tree_cost(t, X, K=X @ X.T), InvalidInputError, 'Use metric="kernel"'),
        (lambda t, X: metrics.tree_cost(t, X, metric="kernel"), InvalidInputError, "needs the kernel matrix"),
        (lambda t, X: metrics.tree_cost(t, X, metric="kernel", K=X), InvalidInputError, "120 x 120"),
        (lambda t, X: metrics.tree_cost(t, X, metric="kernel", K=X @ X.T, Z=X), InvalidInputError, "Leave Z out"),
        (lambda t, X: metrics.tree_cost(t, X, sample_weight=[1.0]), InvalidInputError, "sample_weight"),
        (lambda t, X: metrics.surrogate_cost(t, X, X[:2]), InvalidInputError, "2 centers"),
        (lambda t, X: metrics.surrogate_cost(t, X, X[:3, :2]), InvalidInputError, "centers have 2 columns"),
        (lambda t, X: metrics.surrogate_cost(t, X, X[:3], metric="kernel"), UnknownOptionError, "kmedians"),
        (lambda t, X: metrics.n_mistakes(t, X, [0]), InvalidInputError, "1 labels"),
        (lambda t, X: metrics.partition_cost(X, [0]), InvalidInputError, "1 labels"),
        (lambda t, X: metrics.weighted_average_depth(t, X, -np.ones(len(X))), InvalidInputError, "Negative"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, message):
    _, tree, X = problem(20)
    with pytest.raises(error, match=message):
        call(tree, X)


def test_what_a_given_kernel_says_of_further_rows_is_asked_for():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    model = ExplainableKernelKMeans(2, kernel="precomputed", algorithm="exkmc", random_state=0)
    model.fit(X, K=np.kron(np.eye(2), np.ones((2, 2))))
    with pytest.raises(InvalidInputError, match="Give their kernel matrix as K"):
        metrics.tree_cost(model, X)


def test_rows_on_thresholds_count_with_the_left_side():
    tree = random_tree(np.random.default_rng(3), n_leaves=6, n_features=2)
    X = rows_for(tree, np.random.default_rng(4))
    assert metrics.weighted_average_depth(tree, X) == pytest.approx(tree.node_depth[tree.apply(X)].mean())


def test_classes_that_are_no_list_of_labels_are_refused():
    with pytest.raises(InvalidInputError, match="classes=3 is not a list of labels"):
        metrics.n_mistakes(ClusterExplainer().fit([[1], [2]], [0, 1]), [[1], [2]], [0, 1], classes=3)
