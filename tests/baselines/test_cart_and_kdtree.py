"""CART is scikit-learn's tree where no cuts tie; KDTree halves the widest column, worked by hand."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

from cutwise.baselines import CART, KDTree
from cutwise.baselines.base import median_cut


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
def test_cart_is_the_decision_tree_on_the_reference_labels():
    X = load_digits().data
    model = CART(10, max_leaves=25, random_state=0, n_init=1).fit(X)
    theirs = DecisionTreeClassifier(max_leaf_nodes=25, random_state=0).fit(X, model.reference_.labels)
    assert np.array_equal(model.labels_, theirs.predict(X))
    assert model.n_leaves_ == theirs.get_n_leaves()


def test_kdtree_cuts_the_widest_column_in_half_and_then_each_half():
    # Column 1 is the wider one at the root; in the lower half column 0 is.
    X = np.array([[0, 0], [10, 1], [0, 2], [10, 3], [5, 100], [5, 110], [6, 120], [6, 130]], dtype=float)
    centers = np.array([[0.0, 1], [10, 2], [5, 105], [6, 125]])
    model = KDTree(4, reference=centers).fit(X)
    assert model.tree_.feature.tolist() == [1, 0, -1, -1, 1, -1, -1]
    assert model.tree_.threshold[[0, 1, 4]].tolist() == [50.0, 5.0, 115.0]
    assert model.labels_.tolist() == [0, 1, 0, 1, 2, 2, 3, 3]
    assert model.n_leaves_ == 4


def test_kdtree_takes_the_cut_nearest_to_the_half_where_values_are_equal():
    values = np.array([[1.0], [2.0], [2.0], [2.0], [2.0], [3.0], [4.0]])
    # At most 1: one row of seven; at most 2: five; at most 3: six.
    assert median_cut(values, np.ones(7, dtype=np.int64)) == (0, 2.0)
    assert median_cut(values, np.array([9, 1, 1, 1, 1, 1, 1])) == (0, 1.0)
    # One of three rows or two of three are equally far from the half: the lower cut.
    assert median_cut(np.array([[1.0], [2.0], [3.0]]), np.ones(3, dtype=np.int64)) == (0, 1.0)
    assert median_cut(np.ones((3, 2)), np.ones(3, dtype=np.int64)) is None


def test_of_columns_that_vary_alike_the_first_is_cut_whatever_the_order_of_the_rows():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        flags = np.repeat([1.0, 0.0], [20, 180])
        values = np.column_stack([rng.permutation(flags) for _ in range(10)])
        assert median_cut(values, np.ones(200, dtype=np.int64)) == (0, 0.0), seed


def test_kdtree_labels_leaves_by_surrogate_cost_not_by_majority():
    # Four rows nearest to center 0 and one far beyond center 1: the leaf costs less under center 1.
    X = np.array([[0.0], [0.0], [0.0], [0.0], [100.0], [-300.0], [-300.0], [-300.0], [-300.0], [-300.0]])
    model = KDTree(2, reference=np.array([[-300.0], [20.0]])).fit(X)
    assert model.labels_.tolist() == [1] * 5 + [0] * 5


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
def test_kdtree_stays_within_its_leaves_whatever_the_leaf_size():
    X = np.random.default_rng(0).normal(size=(37, 3))
    for max_leaves in range(2, 20):
        model = KDTree(2, max_leaves=max_leaves, n_init=1, random_state=0).fit(X)
        assert model.n_leaves_ <= max_leaves
        assert model.n_leaves_ > max_leaves // 2 - 1
    assert KDTree(2, max_leaves=30, leaf_size=10, n_init=1, random_state=0).fit(X).n_leaves_ == 2
