"""Plain CART: scikit-learn's tree where no cuts tie, and by the definition of Gini impurity where some do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from cutwise import ClusterExplainer
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from tests.each import each
from tests.growth import grow_tree


def cart(X, labels, max_leaves, weights=None):
    table = encode_table(read_table(X), weights=weights, merge=False)
    labels = np.asarray(labels, dtype=np.int32)
    coordinates = np.zeros((labels.max() + 1, table.encoded.n_cols))
    return grow_tree(table, labels, coordinates, None, algorithm="cart", max_leaves=max_leaves)


def scikit_learns(X, labels, max_leaves, weights=None, **limits):
    model = DecisionTreeClassifier(max_leaf_nodes=max_leaves, random_state=0, **limits)
    return model.fit(X, labels, sample_weight=weights)


def impurity(labels, weights):
    """Gini impurity of some rows, times their weight."""
    count = np.bincount(labels, weights)
    return count.sum() - (count**2).sum() / max(count.sum(), 1)


@each("max_leaves", [2, 7, 40])
@each("weighted", [False, True])
@each("n_rows", [90, 5_000])  # sorted columns, and bins that are opened
def test_it_is_scikit_learns_tree_where_no_cuts_tie(n_rows, weighted, max_leaves):
    rng = np.random.default_rng(n_rows)
    labels = rng.integers(0, 5, n_rows).astype(np.int32)
    X = (rng.normal(size=(n_rows, 6)) + 2 * rng.normal(size=(5, 6))[labels]).astype(np.float32)
    weights = rng.integers(1, 9, n_rows) if weighted else None
    grown, theirs = cart(X, labels, max_leaves, weights), scikit_learns(X, labels, max_leaves, weights)
    assert grown.tree.n_leaves == theirs.get_n_leaves()
    assert np.array_equal(grown.codes, theirs.predict(X))
    assert len(set(zip(grown.leaf_of_row.tolist(), theirs.apply(X).tolist(), strict=True))) == grown.tree.n_leaves


@each("seed", range(20))
def test_every_cut_has_the_least_impurity_and_of_equals_the_lowest_column(seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.integers(0, 3, (40, 5)).astype(float), rng.integers(0, 3, 40).astype(np.int32)
    weights = rng.integers(1, 4, 40)
    grown = cart(X, labels, 9, weights)
    tree, inside = grown.tree, {0: np.ones(40, dtype=bool)}
    for node in np.flatnonzero(tree.feature >= 0):
        rows = inside[node]
        column, goes_left = tree.feature[node], X[:, tree.feature[node]] <= tree.threshold[node]
        inside[tree.children_left[node]] = rows & goes_left
        inside[tree.children_right[node]] = rows & ~goes_left
        found = [
            (sum(impurity(labels[side], weights[side]) for side in (rows & (X[:, j] <= x), rows & (X[:, j] > x))), j)
            for j in range(5)
            for x in np.unique(X[rows, j])[:-1]
        ]
        least = min(score for score, _ in found)
        assert column == min(j for score, j in found if score <= least + 1e-6)
        assert sum(impurity(labels[s], weights[s]) for s in (rows & goes_left, rows & ~goes_left)) <= least + 1e-6


def test_two_cuts_that_gain_something_only_together_are_found():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, dtype=float)
    labels = (X[:, 0] != X[:, 1]).astype(np.int32)
    assert np.array_equal(cart(X, labels, 4).codes, labels)


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@each("seed", range(6))
def test_leaves_hold_as_many_rows_of_a_weight_as_are_asked_for(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    X = np.concatenate([X, X[:40]])  # some rows are equal
    y = np.where(rng.random(160) < 0.8, X[:, 0] > 0, 2)
    weights = rng.integers(0, 4, 160)
    model = ClusterExplainer(algorithm="cart", min_samples_leaf=6, max_leaves=8).fit(X, y, sample_weight=weights)
    with_weight = weights > 0
    rows, labels = X[with_weight], y[with_weight]
    theirs = scikit_learns(rows, labels, 8, weights[with_weight], min_samples_leaf=6)
    np.testing.assert_array_equal(model.predict(rows), theirs.predict(rows))
    assert np.unique(model.apply(rows), return_counts=True)[1].min() >= 6


def test_a_category_is_cut_as_its_one_hot_columns_are():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.choice(list("abcde"), 400), "size": rng.normal(size=400)})
    y = np.where(rng.random(400) < 0.1, 2, X["town"].isin(["b", "d"]) & (X["size"] > 0))
    model = ClusterExplainer(algorithm="cart", max_leaves=6).fit(X, y)
    one_hot = pd.get_dummies(X)
    assert np.array_equal(model.labels_, scikit_learns(one_hot, y, 6).predict(one_hot))


def test_missing_values_go_where_impurity_is_least():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    y = np.where(rng.random(300) < 0.9, X["a"] > 0.3, X["b"] > 0).astype(int)
    X.loc[rng.random(300) < 0.3, "a"] = np.nan
    model = ClusterExplainer(algorithm="cart", max_leaves=5).fit(X, y)
    assert np.array_equal(model.labels_, scikit_learns(X, y, 5).predict(X))


def test_sparse_rows_give_the_tree_of_the_dense_ones():
    rng = np.random.default_rng(1)
    X = rng.poisson(0.4, size=(300, 12)).astype(float)
    labels = rng.integers(0, 4, 300)
    dense, scarce = cart(X, labels, 12), cart(sparse.csr_array(X), labels, 12)
    assert dense.tree.equals(scarce.tree)
    assert np.array_equal(dense.leaf_of_row, scarce.leaf_of_row)


def test_values_that_only_float64_tells_apart_are_told_apart():
    X = np.array([1e9, np.nextafter(1e9, np.inf)] * 5)[:, None]
    assert cart(X, [0, 1] * 5, 2).codes.tolist() == [0, 1] * 5


@pytest.mark.parametrize(("labels", "max_leaves", "cluster"), [([0, 1, 1], 1, 1), ([0, 0, 0], 5, 0), ([1, 0, 2], 1, 0)])
def test_one_leaf_takes_the_heaviest_cluster(labels, max_leaves, cluster):
    grown = cart([[1.0], [2.0], [3.0]], labels, max_leaves)
    assert (grown.tree.n_nodes, grown.codes.tolist()) == (1, [cluster] * 3)


@each("max_leaves", [2, 3, 10])
def test_auto_agrees_at_least_as_well(max_leaves):
    X, y = load_iris(return_X_y=True)
    model = ClusterExplainer(max_leaves=max(max_leaves, 3)).fit(X, y)
    assert model.agreement_ >= scikit_learns(X, y, max_leaves).score(X, y)


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
