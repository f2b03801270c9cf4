"""The Markdown table: one line a rule, and nothing in a name is markup."""

import re

import numpy as np

from cutwise.readouts.labeled_tree import LabeledTree, count_leaves
from cutwise.readouts.rules import build_rules, rules_markdown
from tests.each import each
from tests.readouts.reading import as_rows, read_rule, unquote
from tests.readouts.test_rules import made, small_tree
from tests.readouts.test_words import NASTY


def cells_of(line):
    """The cells of a line, as GitHub's Markdown takes them apart: a bar ends a cell unless a backslash escapes it."""
    cells = re.findall(r"((?:\\.|[^|\\])*)\|", line)
    assert cells[0] == ""
    return [cell.strip().replace("\\|", "|") for cell in cells[1:]]


def code_in(cell):
    span = re.fullmatch(r"(`+)(.*?)\1", cell, flags=re.DOTALL)
    text = span[2]
    return text[1:-1] if text[0] == text[-1] == " " and text.strip() else text


def read_markdown(text):
    head, marks, *lines = text.rstrip("\n").split("\n")
    assert len({len(cells_of(line)) for line in [head, marks, *lines]}) == 1
    found, current = [], None
    for line in lines:
        label, *_, rule = cells_of(line)
        if label:
            current = code_in(label)
            current = unquote(current) if current.startswith("`") else current
        if rule.startswith("`"):
            found.append((current, read_rule(code_in(rule))))

    def predict(row):
        (label,) = [label for label, rule in found if rule(row)]
        return label

    return predict


@each("start", range(0, len(NASTY), 3))
def test_reading_the_table_gives_predict_on_every_row(start):
    names = (NASTY + NASTY)[start : start + 3]
    classes = np.array([*NASTY, "a|b", "\\|", "<script>", "*x*"], dtype=object)
    tree, X, _, _, counts = made(start, n_clusters=len(classes) - 1)
    predict = read_markdown(rules_markdown(build_rules(LabeledTree(tree, names, counts, classes, has_names=False))))
    assert [predict(row) for row in as_rows(X, names)] == classes[tree.predict(X)].tolist()


def test_bars_and_backslashes_in_columns_are_read_back():
    names = ["a|b", "\\|", "|`|"]
    tree, X, _, _, counts = made(1)
    predict = read_markdown(rules_markdown(build_rules(LabeledTree(tree, names, counts, has_names=False))))
    assert [predict(row) for row in as_rows(X, names)] == [str(code) for code in tree.predict(X)]


def test_the_form():
    tree = small_tree()
    X = np.array([[50000.0, 20], [60000, 30], [60000, 35], [70000, 36]])
    counts = count_leaves(tree, tree.apply(X), np.array([0, 2, 0, -1]), 3)
    rules = build_rules(
        LabeledTree(tree, ["income", "age (years)"], counts, cluster_names={2: "the | young"}, has_names=False)
    )
    assert rules_markdown(rules).split("\n") == [
        "| cluster | name | rows | share | purity | coverage | rule |",
        "| :-- | :-- | --: | --: | --: | --: | :-- |",
        "| `0` |  | 1 | 33.3 % | 100 % | 50.0 % | any of 2 rules: |",
        "|  |  | 1 | 33.3 % | 100 % | 50.0 % | `income <= 52000` |",
        "|  |  | 0 | 0 % | n/a | 0 % | `` `age (years)` > 35 and income > 52000 `` |",
        "| `1` |  | 0 |  |  |  | no row reaches a leaf of this cluster |",
        r"| `2` | `` `the \| young` `` | 2 | 66.7 % | 50.0 % | 100 % | ``income > 52000 and `age (years)` <= 35`` |",
        "",
    ]
