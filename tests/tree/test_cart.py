"""The tree copied from scikit-learn parts the training rows as scikit-learn's does, with thresholds in float64."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.tree import DecisionTreeClassifier

from cutwise import ClusterExplainer
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from cutwise.tree.cart import cart_tree
from cutwise.tree.subtree import truncate_growth
from tests.each import each
from tests.growth import grow_tree


def cart(X, labels, max_leaves, weights=None):
    table = read_table(X)
    encoded = encode_table(table, weights=weights, merge=False)
    return cart_tree(encoded, table.values, np.asarray(labels, dtype=np.int32), max_leaves=max_leaves)


def grow(X, labels, max_leaves, weights=None):
    grown = cart(X, labels, max_leaves, weights)
    return grown.tree, grown.leaf_of_row


def assert_parts_alike(X, labels, max_leaves, weights=None):
    tree, leaf_of_row = grow(X, labels, max_leaves, weights=weights)
    theirs = DecisionTreeClassifier(max_leaf_nodes=max_leaves, random_state=0).fit(X, labels, sample_weight=weights)
    assert tree.n_leaves == theirs.get_n_leaves()
    assert np.array_equal(tree.apply(X), leaf_of_row)
    assert np.array_equal(tree.predict(X), theirs.predict(X))
    pairs = set(zip(leaf_of_row.tolist(), theirs.apply(X).tolist(), strict=True))
    assert len(pairs) == tree.n_leaves


@pytest.mark.parametrize("load", [load_iris, load_digits])
@pytest.mark.parametrize("max_leaves", [2, 3, 10, 40])
def test_the_rows_are_parted_as_by_scikit_learn(load, max_leaves):
    X, labels = load(return_X_y=True)
    assert_parts_alike(X, labels, max_leaves)


def test_trees_of_several_sizes_come_from_one_fit():
    X, labels = load_digits(return_X_y=True)
    sizes = [1, 2, 7, 10, 31, 60]
    largest = cart(X.astype(int), labels, sizes[-1])
    for size in sizes:
        grown = truncate_growth(largest, size)
        tree, leaf_of_row = grow(X.astype(int), labels, size)
        assert grown.tree.equals(tree)
        assert np.array_equal(grown.leaf_of_row, leaf_of_row)
        assert_parts_alike(X, labels, max(size, 2))


def test_weights_count():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, size=(200, 4)).astype(float)
    assert_parts_alike(X, rng.integers(0, 5, 200), 9, weights=rng.integers(1, 9, 200))


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@each("seed", range(6))
def test_leaves_hold_as_many_rows_of_a_weight_as_are_asked_for(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6 if seed % 2 else 1000, (120, 3)).astype(float)  # with equal rows, or without
    y = np.where(rng.random(120) < 0.8, X[:, 0] > X[:, 0].mean(), 2)
    weights = rng.integers(0, 4, 120)
    model = ClusterExplainer(algorithm="cart", min_samples_leaf=6, max_leaves=8).fit(X, y, sample_weight=weights)
    with_weight = weights > 0
    rows, labels = X[with_weight], y[with_weight]
    theirs = DecisionTreeClassifier(max_leaf_nodes=8, min_samples_leaf=6, random_state=0)
    theirs.fit(rows, labels, sample_weight=weights[with_weight])
    np.testing.assert_array_equal(model.predict(rows), theirs.predict(rows))
    assert np.unique(model.apply(rows), return_counts=True)[1].min() >= 6


def test_values_that_only_float64_tells_apart_stay_on_the_side_that_scikit_learn_gave_them():
    rng = np.random.default_rng(0)
    X = 1e9 + rng.normal(size=(500, 2)) * 200
    X = np.concatenate([X, np.nextafter(X, np.inf)])
    labels = (X[:, 0] > 1e9 + 30).astype(int) + 2 * (X[:, 1] > 1e9)
    assert_parts_alike(X, labels, 4)


def test_timestamps_in_64_bit_integers_get_whole_thresholds():
    X = np.arange(1_700_000_000, 1_700_000_400)[:, None]
    labels = np.arange(400) // 150
    assert_parts_alike(X, labels, 3)
    tree, _ = grow(X, labels, 3)
    cuts = tree.threshold[tree.feature >= 0]
    assert np.array_equal(cuts, np.round(cuts))


def test_integers_that_float64_cannot_tell_apart_are_one_value():
    # Rounded at once, the first two are neighbors in float32; by way of float64 they are one value.
    middle = 2**60 + 2**36
    X = np.array([[middle], [middle + 1], [2**61]])
    assert X[0].astype(np.float64) == X[1].astype(np.float64)
    assert X[0].astype(np.float32) != X[1].astype(np.float32)
    tree, leaf_of_row = grow(X, [0, 1, 2], 3)
    assert tree.n_leaves == 2
    assert leaf_of_row[0] == leaf_of_row[1] != leaf_of_row[2]


def test_sparse_rows_give_the_tree_of_the_dense_ones():
    rng = np.random.default_rng(1)
    X = rng.poisson(0.4, size=(300, 12)).astype(float)
    labels = rng.integers(0, 4, 300)
    dense, leaf_dense = grow(X, labels, 12)
    scarce, leaf_scarce = grow(sparse.csr_array(X), labels, 12)
    assert dense.equals(scarce)
    assert np.array_equal(leaf_dense, leaf_scarce)


def test_huge_values_are_no_obstacle():
    X = np.array([[1e300], [2e300], [-1e300], [0.5]])
    tree, _ = grow(X, [0, 0, 1, 2], 3)
    assert np.array_equal(tree.predict(X), [0, 0, 1, 2])


@pytest.mark.parametrize(("labels", "max_leaves", "cluster"), [([0, 1, 1], 1, 1), ([0, 0, 0], 5, 0), ([1, 0, 2], 1, 0)])
def test_one_leaf_takes_the_heaviest_cluster(labels, max_leaves, cluster):
    tree, leaf_of_row = grow([[1.0], [2.0], [3.0]], labels, max_leaves)
    assert (tree.n_nodes, tree.cluster.tolist(), leaf_of_row.tolist()) == (1, [cluster], [0, 0, 0])


def test_counts_are_the_rows_that_each_row_stands_for():
    table = encode_table(read_table(np.repeat([[1.0], [2.0], [3.0]], [5, 2, 1], axis=0)))
    labels = np.array([0, 1, 1], dtype=np.int32)
    tree = cart_tree(table, np.array([[1.0], [2.0], [3.0]]), labels, max_leaves=2).tree
    assert tree.n_node_samples.tolist() == [8, 5, 3]


@each("max_leaves", [2, 7, 40])
@each("weighted", [False, True])
@each("n_rows", [90, 5_000])  # sorted columns, and bins that are opened
def test_growth_by_gini_impurity_alone_is_plain_cart_where_no_cuts_tie(n_rows, weighted, max_leaves):
    rng = np.random.default_rng(n_rows)
    labels = rng.integers(0, 5, n_rows).astype(np.int32)
    X = (rng.normal(size=(n_rows, 6)) + 2 * rng.normal(size=(5, 6))[labels]).astype(np.float32)
    weights = rng.integers(1, 9, n_rows) if weighted else None
    table = encode_table(read_table(X), weights=weights, merge=False)
    grown = grow_tree(table, labels, np.zeros((5, 6)), None, algorithm="gini", max_leaves=max_leaves)
    theirs = DecisionTreeClassifier(max_leaf_nodes=max_leaves, random_state=0).fit(X, labels, sample_weight=weights)
    assert grown.tree.n_leaves == theirs.get_n_leaves()
    assert np.array_equal(grown.codes, theirs.predict(X))


def test_days_and_durations_are_cut_where_they_are_short_to_say():
    rng = np.random.default_rng(0)
    n = rng.integers(0, 60, 300)
    X = pd.DataFrame(
        {"day": pd.Timestamp("2023-03-01") + pd.to_timedelta(n, unit="D"), "visit": pd.to_timedelta(10 * n, unit="min")}
    )
    y = np.where(rng.random(300) < 0.15, rng.integers(0, 3, 300), n // 20)
    for column in X:
        model = ClusterExplainer(max_leaves=12, algorithm="cart").fit(X[[column]], y)
        cut = model.tree_.threshold[model.tree_.feature >= 0]
        assert len(cut) == 11
        assert ((cut + (column == "day")) % (6e7 if column == "visit" else 8.64e10) == 0).all()
