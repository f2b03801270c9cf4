"""The genuine scikit-learn tree: it routes the training rows as ours does, and scikit-learn's tools take it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, export_text, plot_tree

from cutwise import ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans
from cutwise.exceptions import InvalidInputError
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.sklearn import to_decision_tree
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from cutwise.tree.threshold_tree import ThresholdTree
from tests.each import each
from tests.growth import grow_tree
from tests.tree.random_trees import random_tree


def stump(threshold, lower=-np.inf, samples=(0, 0, 0)):
    return ThresholdTree.from_unordered(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[threshold, 0, 0],
        lower=[lower, 0, 0],
        cluster=[-1, 0, 1],
        n_node_samples=samples,
        n_features=1,
    )


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).data


@pytest.mark.parametrize("max_leaves", [4, 9])
def test_it_answers_as_ours_does(iris, max_leaves):
    model = ExplainableKMeans(4, max_leaves=max_leaves, random_state=0).fit(iris)
    theirs = model.to_sklearn()
    assert type(theirs) is DecisionTreeClassifier
    assert np.array_equal(theirs.predict(iris), model.predict(iris))
    assert np.array_equal(theirs.apply(iris), model.apply(iris))
    assert (theirs.get_n_leaves(), theirs.get_depth()) == (model.n_leaves_, model.depth_)
    assert list(theirs.feature_names_in_) == list(iris.columns)
    assert np.array_equal(theirs.tree_.n_node_samples, model.tree_.n_node_samples)
    np.testing.assert_allclose(theirs.feature_importances_.sum(), 1.0)


@pytest.mark.parametrize("values", [[1, 2, 3, 8, 9], [0.1, 0.2, 0.3, 0.4, 0.5], [2.0**24, 2.0**24 + 2, 2.0**24 + 4]])
def test_no_training_row_lies_on_a_threshold_in_the_middle(values):
    X = np.random.default_rng(0).choice(values, (200, 3))
    y = (X[:, 0] <= values[1]) * 2 + (X[:, 1] <= values[0])
    model = ClusterExplainer().fit(X, y)
    theirs = model.to_sklearn(thresholds="middle")
    assert np.array_equal(theirs.predict(X), model.predict(X))
    inner = theirs.tree_.feature >= 0
    assert not (X.astype(np.float32)[:, theirs.tree_.feature[inner]] == theirs.tree_.threshold[inner]).any()
    model._gaps = None  # as in a file that was edited
    with pytest.raises(InvalidInputError, match="edited after it was fitted"):
        model.to_sklearn(thresholds="middle")


def test_labels_are_those_of_the_user(iris):
    y = np.where(load_iris().target == 0, "small", "large")
    theirs = ClusterExplainer().fit(iris, y).to_sklearn()
    assert list(theirs.classes_) == ["large", "small"]
    assert np.array_equal(theirs.predict(iris), y)


def test_its_tools_take_it(iris):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    theirs = ExplainableKMeans(3, random_state=0).fit(iris).to_sklearn()
    assert "petal length" in export_text(theirs, feature_names=list(iris.columns))
    assert "x[2] <= " in plot_tree(theirs)[0].get_text()


@each("first", ["length", "kind", "day", "name"])
def test_one_leaf_takes_the_table_of_fit(iris, first):
    days, names = pd.date_range("2020", periods=150), [f"a {i}" for i in range(150)]
    mixed = iris.assign(length=iris.iloc[:, 0].where(iris.index > 3), kind=["a", "b"] * 75, day=days, name=names)
    for table in (iris, mixed[sorted(mixed, key=lambda name: name != first)]):
        with warnings.catch_warnings(action="ignore"):  # of the names, which are left out
            model = ExplainableKMeans(1).fit(table)
        assert set(model.to_sklearn().predict(table)) == set(model.predict(table)) == {0}


def test_thresholds_move_within_their_gap_where_float32_would_send_a_row_the_other_way():
    # Around 1.7e9 float32 knows multiples of 128 only: 1700000070 becomes 1700000128, above the threshold 1700000100.
    X = 1.7e9 + np.array([[0.0], [70.0], [230.0], [400.0]])
    y = [0, 0, 1, 1]
    model = ClusterExplainer(algorithm="expand").fit(X, y)
    assert model.tree_.threshold[0] == 1.7e9 + 100
    unmoved = to_decision_tree(LabeledTree(model.tree_, classes=model.classes_))
    assert unmoved.predict(X).tolist() == [0, 1, 1, 1]
    theirs = model.to_sklearn()
    assert theirs.tree_.threshold[0] == 1.7e9 + 128
    assert theirs.predict(X).tolist() == y


def test_a_gap_that_float32_does_not_know_is_an_error_with_the_column():
    gaps = np.array([[1.7e9, 1.7e9 + 1, np.nan, np.nan], [np.nan] * 4, [np.nan] * 4])
    with pytest.raises(InvalidInputError, match=r"(?s)1700000000\.0 and 1700000001\.0 of column 'when'.*Subtract"):
        to_decision_tree(LabeledTree(stump(1.7e9), ["when"], classes=np.arange(2)), gaps=gaps)


def test_values_beyond_float32_are_an_error_with_the_column_also_where_only_one_side_has_them():
    model = ClusterExplainer(algorithm="expand").fit([[0.0], [1.0], [1e150], [2e150]], [0, 0, 1, 1])
    with pytest.raises(InvalidInputError, match=r"(?s)1\.0 and 1e\+150 of column 'x0' are not both known.*divide"):
        model.to_sklearn()


@pytest.mark.parametrize("threshold", [0.1, 0.15, 0.7, 2.2])
def test_a_new_row_on_a_threshold_goes_left_there_too(threshold):
    model = ExplainableKMeans(2, random_state=0).fit([[threshold - 0.04], [threshold + 0.04]])
    assert model.tree_.threshold[0] == threshold
    assert model.to_sklearn().predict([[threshold]]) == model.predict([[threshold]])


def test_a_node_without_rows_shares_by_leaves():
    theirs = to_decision_tree(LabeledTree(stump(0.5), classes=np.array(["a", "b"])))
    assert theirs.tree_.value[0, 0].tolist() == [0.5, 0.5]
    assert theirs.predict([[0.0], [1.0]]).tolist() == ["a", "b"]


def test_an_interval_becomes_two_thresholds():
    theirs = to_decision_tree(LabeledTree(stump(0.5, lower=0.0, samples=(7, 3, 4)), classes=np.array(["in", "out"])))
    assert theirs.get_n_leaves() == 3
    assert theirs.tree_.threshold[theirs.tree_.feature >= 0].tolist() == [0.5, 0.0]
    assert theirs.predict([[-1.0], [0.0], [0.1], [0.5], [0.6]]).tolist() == ["out", "out", "in", "in", "out"]
    assert theirs.tree_.n_node_samples.tolist() == [7, 5, 2, 3, 2]


@each("seed", range(12))
def test_trees_with_intervals_answer_as_ours_do(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves=int(rng.integers(2, 12)), intervals=0.6)
    theirs = to_decision_tree(LabeledTree(tree, classes=np.arange(tree.n_leaves)))
    # scikit-learn compares in float32, where neighbors of a threshold in float64 are one with it.
    rows = rng.choice(np.arange(-4, 4.25, 0.25), (300, tree.n_features))
    assert np.array_equal(theirs.predict(rows), tree.predict(rows))


def test_training_rows_keep_their_clusters_where_float32_moves_an_interval():
    rng = np.random.default_rng(0)
    X = 1.7e9 + np.round(np.column_stack([rng.uniform(0, 4000, 60), rng.uniform(0, 4000, 60)]) / 140) * 140
    labels = ((X[:, 0] > 1.7e9 + 1000) & (X[:, 0] <= 1.7e9 + 2600)).astype(np.int32) + 2 * (X[:, 1] > 1.7e9 + 3000)
    table = encode_table(read_table(X), merge=False)
    grown = grow_tree(
        table, labels.astype(np.int32), np.zeros((4, 2)), None, algorithm="expand", max_leaves=8, cuts="interval"
    )
    assert np.isfinite(grown.tree.lower).any()
    assert np.array_equal(grown.tree.predict(X), labels)
    unmoved = to_decision_tree(LabeledTree(grown.tree, classes=np.arange(4)))
    theirs = to_decision_tree(LabeledTree(grown.tree, classes=np.arange(4)), gaps=grown.gaps)
    assert not np.array_equal(unmoved.predict(X), labels)
    assert np.array_equal(theirs.predict(X), labels)


@pytest.mark.parametrize(
    ("ends", "advice"),
    [
        ((1e39, 2e39), "divide"),
        ((-2e39, -1e39), "divide"),
        ((1e-50, 2e-50), "multiply"),
        ((2.0**40, 2.0**40 + 1), "Sub"),
    ],
)
def test_the_advice_fits_what_float32_cannot_tell_apart(ends, advice):
    gaps = np.array([[*ends, np.nan, np.nan], [np.nan] * 4, [np.nan] * 4])
    with pytest.raises(InvalidInputError, match=rf"(?s)of column 'x0' are the same.*{advice}.* fit again\.$"):
        to_decision_tree(LabeledTree(stump(ends[0]), classes=np.arange(2)), gaps=gaps)


# Values whose neighbors in float64 are one in float32, or that become one of two neighbors there: offsets, int64.
CLOSE = {
    "decimals": lambda rng, shape: 1000 + rng.integers(0, 40, shape) * 1e-4,
    "timestamps": lambda rng, shape: 1.7e9 + rng.integers(0, 60, shape) * 70.0,
    "int64": lambda rng, shape: 2**30 + rng.integers(0, 9000, shape),
    "int64 beyond 2^53": lambda rng, shape: 2**58 + 2**36 * rng.integers(0, 9, shape) + rng.integers(-99, 99, shape),
}


@pytest.mark.filterwarnings(
    "ignore::cutwise.exceptions.EmptyClusterWarning", "ignore::cutwise.exceptions.LargeIntegersWarning"
)
@pytest.mark.parametrize("kind", CLOSE)
def test_rows_of_noise_and_of_weight_0_are_training_rows_too(kind):
    answered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = CLOSE[kind](rng, (40, 2))
        y, weights = rng.integers(-1, 3, 40), rng.integers(0, 3, 40)
        model = ClusterExplainer(algorithm="expand", max_leaves=5).fit(X, y, sample_weight=weights)
        try:
            theirs = model.to_sklearn()
        except InvalidInputError:
            continue  # the two sides of a cut are one value in float32
        answered += 1
        assert np.array_equal(theirs.predict(X), model.predict(X))
    assert answered > 10


def test_gaps_are_those_of_all_rows_also_around_intervals():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 60, (80, 2))
    y = np.where((X[:, 0] > 20) & (X[:, 0] <= 40), 1, 0)
    y[rng.random(80) < 0.4] = -1
    model = ExplainableKernelKMeans(2, algorithm="expand", cuts="interval", max_leaves=6, random_state=0)
    for fitted in (
        model.fit(X, sample_weight=(y >= 0).astype(float)),
        ClusterExplainer(algorithm="expand", max_leaves=6).fit(X, y),
    ):
        tree = fitted.tree_
        assert (tree.feature >= 0).any()
        for node in np.flatnonzero(tree.feature >= 0):
            x = X[reaches(tree, X, node), tree.feature[node]]
            for at, end in ((0, tree.threshold[node]), (2, tree.lower[node])):
                if np.isfinite(end):
                    low, high = fitted._gaps[node, at : at + 2]
                    assert x[x <= end].max() <= low <= end < high <= x[x > end].min()


def reaches(tree, X, node):
    """The rows that come by a node."""
    below = {node}
    for child in range(node + 1, tree.n_nodes):
        if int(tree.parents[child]) in below:
            below.add(child)
    return np.isin(tree.apply(X), list(below))


def test_a_tree_that_would_explode_is_refused(monkeypatch):
    monkeypatch.setattr("cutwise.readouts.sklearn.MAX_NODES", 20)
    tree = random_tree(np.random.default_rng(1), n_leaves=12, intervals=1.0)
    with pytest.raises(InvalidInputError, match="more than 20 nodes"):
        to_decision_tree(LabeledTree(tree, classes=np.arange(12)))
