"""The tree as indented text."""

import numpy as np
import pytest

from cutwise.readouts.labeled_tree import LabeledTree, count_leaves
from cutwise.readouts.rules import tree_text
from tests.each import each
from tests.readouts.reading import as_rows, read_tree
from tests.readouts.test_rules import made, small_tree
from tests.readouts.test_words import NASTY
from tests.tree.random_trees import chain


def test_the_text_form():
    tree = small_tree()
    X = np.array([[50000.0, 20], [60000, 30], [60000, 35], [70000, 36]])
    counts = count_leaves(tree, tree.apply(X), np.array([0, 2, 0, -1]), 3)
    assert tree_text(
        LabeledTree(tree, ["income", "age"], counts, np.array(["low", "none", "young, rich"]))
    ) == "\n".join(
        [
            "3 rows",
            "|-- income <= 52000: cluster low (1 row, 33.3 %; purity 100 %)",
            "|-- income > 52000 (2 rows, 66.7 %)",
            "|   |-- age <= 35: cluster `young, rich` (2 rows, 66.7 %; purity 50.0 %)",
            "|   |-- age > 35: cluster low (0 rows, 0 %)",
        ]
    )


def test_without_counts_the_sizes_of_the_tree_are_shown_or_none():
    tree = small_tree()
    assert tree_text(LabeledTree(tree, ["income", "age"])).split("\n")[:3] == [
        "all rows",
        "|-- income <= 52000: cluster 0",
        "|-- income > 52000",
    ]
    known = type(tree)(**{**tree.to_dict(), **arrays(tree), "n_node_samples": [4, 1, 3, 3, 0]})
    assert tree_text(LabeledTree(known, ["income", "age"])).split("\n")[:3] == [
        "4 rows",
        "|-- income <= 52000: cluster 0 (1 row, 25.0 %)",
        "|-- income > 52000 (3 rows, 75.0 %)",
    ]


def arrays(tree):
    return {"threshold": tree.threshold, "lower": tree.lower}


@each("seed", range(15))
@pytest.mark.parametrize("counted", [False, True])
def test_reading_the_printed_tree_gives_predict_on_every_row(seed, counted):
    tree, X, _, _, counts = made(seed, n_leaves=int(1 + seed))
    names = ["age", "petal length (cm)", NASTY[seed]]
    predict = read_tree(tree_text(LabeledTree(tree, names, counts if counted else None)))
    assert [predict(row) for row in as_rows(X, names)] == [str(code) for code in tree.predict(X)]


def test_levels_beyond_the_fortieth_are_numbered_and_still_read():
    tree = chain(120)
    X = np.arange(0.5, 121)[:, None]
    text = tree_text(LabeledTree(tree, ["x"]))
    assert max(map(len, text.split("\n"))) < 220
    predict = read_tree(text)
    assert [predict(row) for row in as_rows(X, ["x"])] == [str(code) for code in range(121)]


@pytest.mark.parametrize("to_the_left", [False, True])
def test_a_tree_of_depth_5000_is_written(to_the_left):
    tree = chain(5000, to_the_left=to_the_left)
    lines = tree_text(LabeledTree(tree, ["x"])).split("\n")
    assert len(lines) == tree.n_nodes
    assert sum("cluster" in line for line in lines) == 5001
