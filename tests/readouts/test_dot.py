"""DOT text: it says the tree, whatever stands in names, and Graphviz draws it."""

import html
import re
import shutil
import subprocess

import numpy as np
import pytest

from cutwise.readouts.labeled_tree import LabeledTree, count_leaves
from cutwise.readouts.rules import tree_dot
from tests.each import each
from tests.readouts.reading import as_rows, read_rule, unquote
from tests.readouts.test_rules import made, small_tree
from tests.readouts.test_words import NASTY
from tests.tree.random_trees import chain

NODE = re.compile(
    r'  (?P<node>\d+) \[label="(?P<label>(?:[^"\\]|\\.)*)"(?:, fillcolor="#[0-9a-f]{6}", fontcolor="#[0-9a-f]{6}")?\];'
)
EDGE = re.compile(r'  (?P<start>\d+) -> (?P<end>\d+) \[label="(?P<label>yes|no)"\];')


def read_dot(text):
    """A function of a row that gives the label of the leaf it reaches, read from the DOT text alone."""
    first, *lines, last, end = text.split("\n")
    assert (first, last, end) == ("digraph tree {", "}", "")
    labels, edges = {}, {}
    for line in lines[2:]:
        node, edge = NODE.fullmatch(line), EDGE.fullmatch(line)
        assert node or edge, line
        if node:
            parts = re.split(r"(?<!\\)(?:\\\\)*\\n", node["label"])
            labels[int(node["node"])] = html.unescape(re.sub(r"\\(.)", r"\1", parts[0]))
        else:
            edges[int(edge["start"]), edge["label"]] = int(edge["end"])

    def predict(row):
        node = 0
        while (node, "yes") in edges:
            node = edges[node, "yes" if read_rule(labels[node])(row) else "no"]
        label = labels[node].removeprefix("cluster ")
        return unquote(label) if label.startswith("`") else label

    return predict


@each("scale", [1e-12, 1.0, 1e12])
@each("seed", range(5))
def test_reading_the_text_gives_predict_on_every_row(seed, scale):
    tree, X, _, _, counts = made(seed, values=np.random.default_rng(seed).normal(size=9) * scale)
    predict = read_dot(tree_dot(LabeledTree(tree, ["a", "b c", 'd"'], counts)))
    assert [predict(row) for row in as_rows(X, ["a", "b c", 'd"'])] == [str(code) for code in tree.predict(X)]


@each("start", range(0, len(NASTY), 3))
def test_any_names_can_be_read_back(start):
    names = (NASTY + NASTY)[start : start + 3]
    classes = np.array([*NASTY, "&lt;b&gt; \\N \\G"], dtype=object)
    tree, X, _, _, _ = made(start, n_clusters=len(classes))
    predict = read_dot(tree_dot(LabeledTree(tree, names, None, classes)))
    assert [predict(row) for row in as_rows(X, names)] == classes[tree.predict(X)].tolist()


def test_the_form():
    tree = small_tree()
    X = np.array([[50000.0, 20], [60000, 30], [60000, 35], [70000, 36]])
    counts = count_leaves(tree, tree.apply(X), np.array([0, 2, 0, -1]), 3)
    text = tree_dot(
        LabeledTree(tree, ["income", "age"], counts, np.array(["low", "none", "rich"]), cluster_names={"rich": "<b>"})
    )
    assert text.split("\n")[3:] == [
        r'  0 [label="income <= 52000\n3 rows, 100 %"];',
        '  0 -> 1 [label="yes"];',
        '  0 -> 2 [label="no"];',
        r'  1 [label="cluster low\n1 row, 33.3 %\npurity 100 %", fillcolor="#0072b2", fontcolor="#ffffff"];',
        r'  2 [label="age <= 35\n2 rows, 66.7 %"];',
        '  2 -> 3 [label="yes"];',
        '  2 -> 4 [label="no"];',
        r'  3 [label="cluster `<b>`\n2 rows, 66.7 %\npurity 50.0 %", fillcolor="#009e73", fontcolor="#111418"];',
        r'  4 [label="cluster low\n0 rows, 0 %", fillcolor="#0072b2", fontcolor="#ffffff"];',
        "}",
        "",
    ]


needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not installed")


@needs_dot
@pytest.mark.parametrize("start", range(0, len(NASTY), 6))
def test_graphviz_draws_names_as_they_are(start):
    names = (NASTY + NASTY + ["&amp;", "<script>", "\\l", "}"])[start : start + 6]
    tree, _, _, _, _ = made(start, n_features=6, n_leaves=12)
    text = tree_dot(LabeledTree(tree, names))
    drawn = subprocess.run(["dot", "-Tplain"], input=text.encode(), capture_output=True, check=True)
    assert drawn.stderr == b""
    svg = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=True).stdout.decode()
    shown = [html.unescape(label) for label in re.findall(r"<text [^>]*>([^<]*)</text>", svg)]
    tests = [re.sub(r"\\(.)", r"\1", found["label"]) for found in NODE.finditer(text)]
    spaces = lambda label: " ".join(label.replace("\xa0", " ").split())  # noqa: E731 (Graphviz widens them)
    assert {spaces(html.unescape(label)) for label in tests} <= set(map(spaces, shown))


@needs_dot
def test_graphviz_draws_a_deep_tree():
    subprocess.run(
        ["dot", "-Tplain"], input=tree_dot(LabeledTree(chain(150), ["x"])).encode(), capture_output=True, check=True
    )
