"""A sentence per row: its cluster, conditions that hold, and values that are the row's."""

import re

import numpy as np
import pytest
from scipy import sparse

from cutwise.exceptions import ColumnMismatchError
from cutwise.readouts.changes import explain_rows
from cutwise.readouts.labeled_tree import LabeledTree, count_leaves
from cutwise.readouts.rules import build_rules
from cutwise.tree.threshold_tree import ThresholdTree
from tests.each import each
from tests.readouts.reading import as_rows, read_rule
from tests.readouts.test_rules import made, small_tree
from tests.tree.random_trees import chain

SENTENCE = re.compile(r"cluster (?P<label>\S+) because (?P<reasons>.*)")
REASON = re.compile(r"(?P<condition>.*?) \(is (?P<value>[^()]*)\)(?: and |$)")


def take_apart(sentence):
    match = SENTENCE.fullmatch(sentence)
    reasons = [(reason["condition"], float(reason["value"])) for reason in REASON.finditer(match["reasons"])]
    assert (
        "".join(f"{c} (is _) and " for c, _ in reasons)
        == re.sub(r"\(is [^()]*\)", "(is _)", match["reasons"]) + " and "
    )
    return match["label"], reasons


def test_the_form_of_a_sentence():
    assert explain_rows(LabeledTree(small_tree(), ["income", "age"]), [[60000, 30.5], [0.1, 3]]) == [
        "cluster 2 because income > 52000 (is 60000) and age <= 35 (is 30.5)",
        "cluster 0 because income <= 52000 (is 0.1)",
    ]
    assert explain_rows(
        LabeledTree(small_tree(), ["income", "age"], classes=np.array(["a", "b", "rich young"])), [[60000, 30]]
    ) == ["cluster `rich young` because income > 52000 (is 60000) and age <= 35 (is 30)"]


@each("seed", range(10))
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int64])
def test_every_sentence_is_true_of_its_row(seed, dtype):
    tree, X, _, _, _ = made(seed, values=[-2.5, -0.1, 0.1, 0.3, 1, 1.5, 7])
    X = X.astype(dtype)
    names = ["a", "b", "c"]
    sentences = explain_rows(LabeledTree(tree, names), X)
    for row, code, sentence in zip(X, tree.predict(X), sentences, strict=True):
        label, reasons = take_apart(sentence)
        assert label == str(code)
        assert len(reasons) > 0
        for condition, value in reasons:
            (name,) = {name for name in names if re.search(rf"\b{name}\b", condition)}
            assert dtype(value) == row[names.index(name)]
            # True of the number as it stands there, and of the row itself.
            assert read_rule(condition)({name: value})
            assert read_rule(condition)({name: float(row[names.index(name)])})


def test_a_float32_is_written_short_unless_that_reads_as_a_contradiction():
    tree = ThresholdTree.from_unordered(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, 0, 0],
        threshold=[0.1, 0, 0],
        cluster=[0, 0, 1],
        n_features=1,
    )
    X = np.array([[0.1], [0.2]], dtype=np.float32)  # float32(0.1) is more than 0.1
    assert explain_rows(LabeledTree(tree, ["x"]), X) == [
        "cluster 1 because x > 0.1 (is 0.10000000149011612)",
        "cluster 1 because x > 0.1 (is 0.2)",
    ]


def test_sparse_rows_are_told_like_dense_ones():
    tree, X, _, _, _ = made(4)
    assert explain_rows(LabeledTree(tree, ["a", "b", "c"]), sparse.csr_array(X)) == explain_rows(
        LabeledTree(tree, ["a", "b", "c"]), X + 0.0
    )


def test_a_single_leaf_gives_its_reason():
    tree = chain(1)
    single = ThresholdTree.from_unordered(
        children_left=[-1], children_right=[-1], feature=[-1], threshold=[np.nan], cluster=[0], n_features=1
    )
    assert explain_rows(LabeledTree(single, ["x"]), [[1.0]]) == ["cluster 0 because every row is"]
    assert explain_rows(LabeledTree(tree, ["x"]), [[1.0], [2.0]]) == [
        "cluster 0 because x <= 1 (is 1)",
        "cluster 1 because x > 1 (is 2)",
    ]


def test_a_chain_of_5000_tests_is_told():
    X = np.arange(0.5, 5001)[:, None]
    sentences = explain_rows(LabeledTree(chain(5000), ["x"]), X)
    assert sentences[2500] == "cluster 2500 because 2500 < x <= 2501 (is 2500.5)"


def test_what_does_not_fit_the_tree_is_refused():
    with pytest.raises(ColumnMismatchError):
        explain_rows(LabeledTree(small_tree(), ["income", "age"]), [[1.0]])


class TestOfAClusterAsAWhole:
    def rules(self, **options):
        tree = small_tree()
        X = np.array([[50000.0, 20], [60000, 30], [60000, 35], [70000, 36]])
        counts = count_leaves(tree, tree.apply(X), np.array([0, 2, 0, -1]), 3)
        return build_rules(LabeledTree(tree, ["income", "age (years)"], counts, has_names=False, **options))

    def test_the_form(self):
        assert [cluster.sentence for cluster in self.rules(cluster_names={2: "rich young"})] == [
            "Cluster 0 holds 1 row (33.3 %): those with income <= 52000, or with `age (years)` > 35 and income > 52000."
            " 100 % of them are in that cluster of the reference too, and 50.0 % of the latter are among them.",
            "Cluster 1 holds no rows: no leaf of the tree belongs to it.",
            "Cluster `rich young` holds 2 rows (66.7 %): those with income > 52000 and `age (years)` <= 35. "
            "50.0 % of them are in that cluster of the reference too, and 100 % of the latter are among them.",
        ]

    @each("seed", range(6))
    def test_who_is_named_is_who_is_in_it(self, seed):
        tree, X, _, _, counts = made(seed)
        rows = as_rows(X, ["a", "b", "c"])
        for code, cluster in enumerate(build_rules(LabeledTree(tree, ["a", "b", "c"], counts, has_names=False))):
            who = re.search(r"those with (.*?)\.(?: \S+ %| n/a|$)", cluster.sentence)
            read = [read_rule(rule) for rule in who[1].split(", or with ")] if who else []
            assert [any(rule(row) for rule in read) for row in rows] == (tree.predict(X) == code).tolist()

    def test_a_tree_without_tests_holds_all(self):
        single = ThresholdTree.from_unordered(
            children_left=[-1], children_right=[-1], feature=[-1], threshold=[np.nan], cluster=[0], n_features=1
        )
        X = np.array([[1.0], [2.0]])
        counts = count_leaves(single, single.apply(X), np.zeros(2, dtype=int), 1)
        assert build_rules(LabeledTree(single, ["x"], counts, has_names=False))[0].sentence.startswith(
            "Cluster 0 holds 2 rows (100 %): all there are."
        )
