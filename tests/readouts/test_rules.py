"""Rules: the printed text decides every row as the tree does, and the figures beside it are what they are called."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from cutwise import Batches, ClusterExplainer
from cutwise.exceptions import ColumnMismatchError, ColumnNamesWarning
from cutwise.readouts.labeled_tree import LabeledTree, LeafCounts, count_leaves
from cutwise.readouts.rules import build_rules
from cutwise.tree.threshold_tree import ThresholdTree
from tests.each import each
from tests.readouts.reading import as_rows, read_rule, read_rules
from tests.readouts.test_words import NASTY
from tests.tree.random_trees import chain, random_tree, rows_for


def made(seed, *, n_features=3, n_leaves=8, n_clusters=4, intervals=0.3, values=None, weighted=False):
    rng = np.random.default_rng(seed)
    tree = random_tree(
        rng, n_leaves=n_leaves, n_features=n_features, n_clusters=n_clusters, intervals=intervals, values=values
    )
    X = rows_for(tree, rng)
    codes = rng.integers(-1, n_clusters + 1, size=len(X))
    weights = rng.choice([0.0, 0.5, 3.0], size=len(X)) if weighted else None
    return tree, X, codes, weights, count_leaves(tree, tree.apply(X), codes, n_clusters + 1, weights)


# The text is the tree -------------------------------------------------------------------------------------------------


@each("seed", range(25))
def test_reading_the_printed_rules_gives_predict_on_every_row(seed):
    tree, X, _, _, counts = made(seed)
    names = ["age", "petal length (cm)", "a`b > 3 and"]
    predict = read_rules(str(build_rules(LabeledTree(tree, names, counts, has_names=False))))
    assert [predict(row) for row in as_rows(X, names)] == [str(code) for code in tree.predict(X)]


@each("scale", [1e-300, 1e-9, 0.1, 1.0, 1e9, 1e300])
@each("seed", range(3))
def test_printed_thresholds_are_exact_at_every_scale(seed, scale):
    values = np.random.default_rng(seed).normal(size=12) * scale
    tree, X, _, _, counts = made(seed, values=values)
    predict = read_rules(str(build_rules(LabeledTree(tree, ["a", "b", "c"], counts, has_names=False))))
    assert [predict(row) for row in as_rows(X, ["a", "b", "c"])] == [str(code) for code in tree.predict(X)]


@each("lazy", [False, True])
@each("left_out", ["noise", "weight 0"])
def test_a_rule_that_names_one_whole_number_covers_rows_that_took_no_part_in_the_fit(left_out, lazy):
    table = pd.DataFrame({"children": [0, 1, 1, 2, 2], "kind": ["one", "one", "one", "two", "two"]})
    table = table.assign(w=[1, 1, 1, 1, 1])
    table.loc[0, "kind" if left_out == "noise" else "w"] = "-1" if left_out == "noise" else 0
    model = ClusterExplainer().fit(Batches([table]) if lazy else table, "kind", sample_weight="w")
    assert read_rules(str(model.rules()))({"children": 0}) == "one"
    assert [str(cluster.rules[0]) for cluster in model.rules()] == ["children <= 1", "children = 2"]


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_rules_read_in_float64_decide_rows_of_other_dtypes(dtype):
    tree, X, _, _, counts = made(1, values=[0.1, 0.5, 1.0, 2.5, 3.0])
    X = np.abs(X).clip(0, 100).astype(dtype)
    predict = read_rules(str(build_rules(LabeledTree(tree, ["a", "b", "c"], counts, has_names=False))))
    assert [predict(row) for row in as_rows(X, ["a", "b", "c"])] == [str(code) for code in tree.predict(X)]


@each("start", range(0, len(NASTY), 3))
def test_any_column_names_and_labels_can_be_read_back(start):
    names = (NASTY + NASTY)[start : start + 3]
    tree, X, _, _, counts = made(start, n_clusters=len(NASTY) - 1)
    classes = np.array(NASTY, dtype=object)
    predict = read_rules(str(build_rules(LabeledTree(tree, names, counts, classes, has_names=False))))
    assert [predict(row) for row in as_rows(X, names)] == classes[tree.predict(X)].tolist()


@each("seed", range(10))
def test_matches_is_reaching_the_leaf(seed):
    tree, X, _, _, counts = made(seed)
    leaf, predicted = tree.apply(X), tree.predict(X)
    rows = as_rows(X, ["a", "b", "c"])
    for code, cluster in enumerate(build_rules(LabeledTree(tree, ["a", "b", "c"], counts, has_names=False))):
        np.testing.assert_array_equal(cluster.matches(X), predicted == code)
        for rule in cluster.rules:
            np.testing.assert_array_equal(rule.matches(X), leaf == rule.leaf)
            read = read_rule(str(rule))
            assert [read(row) for row in rows] == (leaf == rule.leaf).tolist()


def test_matches_reads_sparse_tables():
    from scipy import sparse

    tree, X, _, _, counts = made(3)
    for cluster in build_rules(LabeledTree(tree, ["a", "b", "c"], counts, has_names=False)):
        np.testing.assert_array_equal(cluster.matches(sparse.csr_array(X)), cluster.matches(X))


def test_matches_refuses_other_columns():
    tree, _, _, _, counts = made(0)
    cluster = next(c for c in build_rules(LabeledTree(tree, ["a", "b", "c"], counts, has_names=False)) if c.rules)
    with pytest.raises(ColumnMismatchError):
        cluster.rules[0].matches(np.zeros((2, 4)))


# The figures ----------------------------------------------------------------------------------------------------------


@each("seed", range(5))
@each("weighted", [False, True])
def test_size_share_coverage_and_purity_are_what_they_are_called(seed, weighted):
    tree, X, codes, weights, counts = made(seed, weighted=weighted)
    w = np.ones(len(X)) if weights is None else weights
    known = codes >= 0
    rules = build_rules(LabeledTree(tree, ["a", "b", "c"], counts, has_names=False))
    assert len(rules) == 5
    for code, cluster in enumerate(rules):
        for part in (cluster, *cluster.rules):
            caught = part.matches(X)
            own = caught & (codes == code)
            assert part.cluster == code
            assert part.size == np.sum(caught & known & (w > 0))
            assert part.noise == np.sum(caught & ~known & (w > 0))
            assert part.share == pytest.approx(w[caught & known].sum() / w[known].sum())
            reference, here = w[codes == code].sum(), w[caught & known].sum()
            assert part.coverage == pytest.approx(w[own].sum() / reference if reference else math.nan, nan_ok=True)
            assert part.purity == pytest.approx(w[own].sum() / here if here else math.nan, nan_ok=True)


@each("seed", range(20))
def test_conditions_are_in_the_order_of_weights_as_of_repeated_rows(seed):
    tree, X, codes, _, _ = made(seed)
    weights = np.random.default_rng(seed).integers(1, 5, len(X))
    rules = [
        build_rules(LabeledTree(tree, ["a", "b", "c"], count_leaves(tree, tree.apply(rows), own, 5, w)))
        for rows, own, w in ((X, codes, weights * 1.0), (X.repeat(weights, axis=0), codes.repeat(weights), None))
    ]
    one, other = ([[rule.conditions for rule in cluster.rules] for cluster in of] for of in rules)
    assert one == other


def test_a_rule_knows_its_leaf_depth_and_size():
    tree, _, _, _, counts = made(7)
    for cluster in build_rules(LabeledTree(tree, ["a", "b", "c"], counts, has_names=False)):
        for rule in cluster.rules:
            assert rule.depth == tree.node_depth[rule.leaf]
            assert tree.cluster[rule.leaf] == cluster.cluster
            assert rule.n_conditions == sum(condition.size for condition in rule.conditions)


def test_what_a_cluster_is_comes_before_what_it_is_not():
    """The columns of a rule come in the order of the rows that pass their tests, of those that reach them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (400, 6)).astype(float)
    model = ClusterExplainer(algorithm="cart", max_leaves=14).fit(X, X.astype(int) @ [1, 1, 2, 0, 3, 1] % 5)
    tree, n_reordered = model.tree_, 0
    for rule in (rule for cluster in model.rules() for rule in cluster.rules):
        path, at = [], 0
        while at != rule.leaf:
            left, right = tree.children_left[at], tree.children_right[at]
            child = left if left <= rule.leaf < right else right
            path.append((tree.feature[at], tree.n_node_samples[child] / tree.n_node_samples[at]))
            at = child
        share = {}
        for column, passing in path:
            share[column] = share.get(column, 1.0) * passing
        found = list(dict.fromkeys(condition.feature for condition in rule.conditions))
        assert set(found) == set(share)
        assert [share[column] for column in found] == sorted(share.values())
        n_reordered += found != list(share)
    assert n_reordered


# The form -------------------------------------------------------------------------------------------------------------


def small_tree():
    return ThresholdTree.from_unordered(
        children_left=[1, -1, 3, -1, -1],
        children_right=[2, -1, 4, -1, -1],
        feature=[0, 0, 1, 0, 0],
        threshold=[52000.0, 0, 35.0, 0, 0],
        cluster=[0, 0, 0, 2, 0],
        n_features=2,
    )


def test_the_text_form():
    tree = small_tree()
    X = np.array([[50000.0, 20], [60000, 30], [60000, 35], [70000, 36]])
    counts = count_leaves(tree, tree.apply(X), np.array([0, 2, 0, -1]), 3)
    rules = build_rules(LabeledTree(tree, ["income", "age"], counts, has_names=False))
    assert str(rules) == "\n".join(
        [
            "cluster 0 (1 row, 33.3 %; purity 100 %, coverage 50.0 %; and 1 row of noise), 2 rules:",
            "    either (1 row, 33.3 %; purity 100 %, coverage 50.0 %): income <= 52000",
            "    or     (0 rows, 0 %; and 1 row of noise): age > 35 and income > 52000",
            "cluster 1: no rule, because no row reaches a leaf of this cluster",
            "cluster 2 (2 rows, 66.7 %; purity 50.0 %, coverage 100 %): income > 52000 and age <= 35",
        ]
    )
    unknown = build_rules(LabeledTree(tree, ["income", "age"], LeafCounts.unknown(3, 3), has_names=False))
    assert str(unknown[0]) == "cluster 0, 2 rules:\n    either: income <= 52000\n    or: income > 52000 and age > 35"
    assert str(rules[2]) == str(rules).split("\n")[-1]
    assert [cluster.cluster for cluster in rules] == [0, 1, 2]
    assert rules[1].rules == ()
    assert math.isnan(rules[1].purity)
    assert rules[1:] == rules.clusters[1:]


def test_a_single_leaf_catches_any_row():
    tree = ThresholdTree.from_unordered(
        children_left=[-1], children_right=[-1], feature=[-1], threshold=[math.nan], cluster=[0], n_features=1
    )
    X = np.array([[1.0], [2.0]])
    rules = build_rules(
        LabeledTree(tree, ["x"], count_leaves(tree, tree.apply(X), np.zeros(2, dtype=int), 1), has_names=False)
    )
    assert str(rules) == "cluster 0 (2 rows, 100 %; purity 100 %, coverage 100 %): any row"
    assert rules[0].matches(X).all()


def test_rules_go_into_json():
    tree, _, _, _, counts = made(2)
    rules = build_rules(
        LabeledTree(tree, ["a", "b", "c"], counts, np.array(["p", "q", "r", "s", "t"]), has_names=False)
    )
    data = json.loads(json.dumps(rules.to_dict(), allow_nan=False))
    assert [cluster["cluster"] for cluster in data["clusters"]] == ["p", "q", "r", "s", "t"]
    assert [len(cluster["rules"]) for cluster in data["clusters"]] == [len(cluster.rules) for cluster in rules]
    for cluster, told in zip(rules, data["clusters"], strict=True):
        for rule, written in zip(cluster.rules, told["rules"], strict=True):
            assert written["text"] == str(rule)
            for condition, bounds in zip(rule.conditions, written["conditions"], strict=True):
                assert (bounds["feature"], bounds["name"]) == (condition.feature, condition.name)
                assert bounds["lower"] in (condition.lower, None)
                assert bounds["upper"] in (condition.upper, None)


def test_numpy_labels_come_as_python_values():
    tree, _, _, _, counts = made(2)
    rules = build_rules(LabeledTree(tree, ["a", "b", "c"], counts, np.arange(10, 15), has_names=False))
    assert [type(cluster.cluster) for cluster in rules] == [int] * 5
    assert [cluster.cluster for cluster in rules] == [10, 11, 12, 13, 14]


def test_a_chain_of_2000_tests_becomes_rules_and_text():
    tree = chain(2000)
    X = np.arange(0.5, 2001)[:, None]
    rules = build_rules(
        LabeledTree(tree, ["x"], count_leaves(tree, tree.apply(X), np.arange(2001), 2001), has_names=False)
    )
    assert str(rules[1999]).endswith(": 1999 < x <= 2000")
    assert all(cluster.purity == cluster.coverage == 1 for cluster in rules)
    assert len(str(rules).split("\n")) == 2001


def test_a_tree_whose_rows_nobody_counted_has_rules_without_sizes():
    tree, _, _, _, _ = made(0)
    uncounted = [rule for cluster in build_rules(LabeledTree(tree)) for rule in cluster.rules]
    assert len(uncounted) == 5  # no value reaches three of eight leaves
    assert {rule.size for rule in uncounted} == {None}


def test_rules_ask_for_the_columns_of_fit_as_predict_does():
    frame = pd.DataFrame({"age": [20, 30, 60, 70], "income": [9, 8, 2, 1]})
    rules = ClusterExplainer().fit(frame, [0, 0, 1, 1]).rules()
    for part in (rules[0], rules[0].rules[0]):
        assert part.matches(frame).tolist() == [True, True, False, False]
        with pytest.raises(ColumnMismatchError, match="same order"):
            part.matches(frame[["income", "age"]])
        with pytest.warns(ColumnNamesWarning, match="does not have valid feature names, but Rule"):
            part.matches(frame.to_numpy())
