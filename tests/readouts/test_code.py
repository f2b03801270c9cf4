"""The Python function: it needs nothing, and gives every row the cluster that the tree gives it."""

import ast
import builtins
import math

import numpy as np
import pytest

from cutwise.exceptions import InvalidInputError
from cutwise.readouts.code import tree_python
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.tree.threshold_tree import ThresholdTree
from tests.each import each
from tests.readouts.test_rules import small_tree
from tests.readouts.test_words import NASTY
from tests.tree.random_trees import chain, random_tree, rows_for


def loaded(source, function="cluster_of"):
    (definition,) = ast.parse(source).body  # a function and nothing else
    assert isinstance(definition, ast.FunctionDef)
    space = {}
    exec(compile(source, "clusters.py", "exec"), space)
    return space[function]


def made(seed, *, n_features=3, n_leaves=15, n_clusters=6, intervals=0.4, values=None):
    rng = np.random.default_rng(seed)
    tree = random_tree(
        rng, n_leaves=n_leaves, n_features=n_features, n_clusters=n_clusters, intervals=intervals, values=values
    )
    return tree, rows_for(tree, rng)


@each("scale", [1e-300, 1e-12, 1e-3, 1.0, 1e12, 1e300])
@each("seed", range(4))
def test_it_gives_what_predict_gives(seed, scale):
    tree, X = made(seed, values=np.random.default_rng(seed).normal(size=15) * scale)
    function = loaded(tree_python(LabeledTree(tree, ["a", "b", "c"])))
    found = [function(dict(zip("abc", row, strict=True))) for row in X.tolist()]
    assert found == tree.predict(X).tolist()


@each("start", range(0, len(NASTY), 4))
def test_any_names_of_columns_and_labels_are_held(start):
    names = (NASTY + NASTY)[start : start + 4]
    tree, X = made(start, n_features=4, n_clusters=len(NASTY))
    classes = np.array(NASTY, dtype=object)
    source = tree_python(
        LabeledTree(tree, names, classes=classes, cluster_names=dict(zip(NASTY, NASTY[::-1], strict=True)))
    )
    source.encode("utf-8")
    function = loaded(source)
    found = [function(dict(zip(names, row, strict=True))) for row in X.tolist()]
    assert found == classes[tree.predict(X)].tolist()


def test_columns_that_read_alike_are_kept_apart():
    names = ["a b", "a_b", "a-b", "A b", "row", "float", "if", "cluster_of", "1", "", "é", "x"]
    tree, X = made(0, n_features=len(names), n_leaves=40)
    function = loaded(tree_python(LabeledTree(tree, names)))
    assert [function(dict(zip(names, row, strict=True))) for row in X.tolist()] == tree.predict(X).tolist()


def test_columns_without_names_go_by_position():
    tree, X = made(1)
    function = loaded(tree_python(LabeledTree(tree)))
    expected = tree.predict(X).tolist()
    assert [function(row) for row in X.tolist()] == expected
    assert [function(dict(enumerate(row))) for row in X.tolist()] == expected


@pytest.mark.parametrize(
    "classes",
    [np.array([-3, 7, 9]), np.array([1.0, 2.0, 5.0]), np.array([False, True, True]), np.array(["a", "", "-1"])],
)
def test_labels_come_in_their_own_type(classes):
    tree, X = made(2, n_clusters=3)
    function = loaded(tree_python(LabeledTree(tree, classes=classes)))
    found, expected = [function(row) for row in X.tolist()], classes[tree.predict(X)].tolist()
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_numbers_of_other_types_are_compared_as_float64(dtype):
    tree, X = made(3, values=[-2.5, 0.1, 0.3, 1, 2**53, 2.0**60])
    X = X.clip(-1e18, 1e18).astype(dtype)
    function = loaded(tree_python(LabeledTree(tree)))
    assert [function(row) for row in X] == tree.predict(X).tolist()


def test_a_row_without_a_value_that_is_tested_has_no_cluster():
    function = loaded(tree_python(LabeledTree(small_tree(), ["income", "age"])))
    for missing in (None, math.nan, np.float32("nan"), "nan"):
        assert function({"income": missing, "age": 30}) is None
        assert function({"income": 1, "age": missing}) is None
    assert function({"income": 60000, "age": 30, "other": None}) == 2
    with pytest.raises(KeyError, match="age"):
        function({"income": 60000})


def test_deep_and_large_trees_run():
    X = np.arange(0.5, 3001)[:, None]
    function = loaded(tree_python(LabeledTree(chain(3000))))
    assert [function(row) for row in X[::100].tolist()] == list(range(0, 3001, 100))
    tree, X = made(0, n_leaves=2000, n_features=6, values=np.random.default_rng(0).normal(size=300))
    function = loaded(tree_python(LabeledTree(tree)))
    assert [function(row) for row in X.tolist()] == tree.predict(X).tolist()


def test_it_uses_no_name_but_those_of_python():
    tree, _ = made(4, n_leaves=30)
    definition = ast.parse(tree_python(LabeledTree(tree, ["a", "b", "c"]))).body[0]
    read = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    assert {name for name in read if hasattr(builtins, name)} == {"float"}
    assert read <= {"a", "b", "c", "row", "value", "float"}


def test_the_form():
    source = tree_python(
        LabeledTree(small_tree(), ["income", "age (years)"], cluster_names={2: "rich young"}), function="segment"
    )
    assert source.split('"""\n')[1].splitlines()[-8:] == [
        "    income = float(income)",
        "    age_years = float(age_years)",
        "    if income <= 52000:",
        "        return 0",
        "    if income > 52000 and age_years <= 35:",
        "        return 2  # `rich young`",
        "    if income > 52000 and age_years > 35:",
        "        return 0",
    ]


def test_a_single_leaf():
    tree = ThresholdTree.from_unordered(
        children_left=[-1], children_right=[-1], feature=[-1], threshold=[math.nan], cluster=[0], n_features=1
    )
    assert loaded(tree_python(LabeledTree(tree, ["x"])))({}) == 0


@pytest.mark.parametrize("function", ["", "a b", "class", "1x", "float"])
def test_a_function_name_that_python_does_not_take_is_refused(function):
    with pytest.raises(InvalidInputError, match="not a name for this Python function"):
        tree_python(LabeledTree(small_tree(), ["income", "age"]), function=function)
