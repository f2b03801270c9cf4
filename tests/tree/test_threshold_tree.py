"""ThresholdTree: checked when built, unchangeable, exact in routing and storage."""

import copy
import json
import pickle

import numpy as np
import pytest
from scipy import sparse

from cutwise import core
from cutwise.exceptions import ColumnMismatchError, InvalidInputError
from cutwise.table.intake import read_table
from cutwise.table.table import as_matrix
from cutwise.tree.threshold_tree import ThresholdTree, preorder
from tests.each import each
from tests.tree.random_trees import chain, naive_apply, random_tree, rows_for


def fields_of(tree):
    return {
        name: getattr(tree, name)
        for name in (
            "children_left",
            "children_right",
            "feature",
            "threshold",
            "lower",
            "cluster",
            "n_node_samples",
            "n_node_mistakes",
            "n_features",
        )
    }


def three_leaves():
    #       0: x0 <= 1.5
    #   1: leaf 2     2: 0 < x1 <= 7
    #             3: leaf 0    4: leaf 1
    return ThresholdTree(
        children_left=[1, -1, 3, -1, -1],
        children_right=[2, -1, 4, -1, -1],
        feature=[0, -1, 1, -1, -1],
        threshold=[1.5, np.nan, 7.0, np.nan, np.nan],
        lower=[-np.inf, -np.inf, 0.0, -np.inf, -np.inf],
        cluster=[-1, 2, -1, 0, 1],
        n_node_samples=[10, 4, 6, 5, 1],
        n_node_mistakes=[1, 0, 0, 0, 0],
        n_features=2,
    )


# Facts ----------------------------------------------------------------------------------------------------------------


def test_a_small_tree_says_what_it_is():
    tree = three_leaves()
    assert repr(tree) == "ThresholdTree(n_leaves=3, depth=2, n_features=2)"
    assert (tree.n_nodes, tree.n_leaves, tree.depth) == (5, 3, 2)
    assert tree.leaves.tolist() == [1, 3, 4]
    assert tree.parents.tolist() == [-1, 0, 0, 2, 2]
    assert tree.node_depth.tolist() == [0, 1, 1, 2, 2]


def test_a_single_leaf_is_a_tree():
    tree = ThresholdTree.from_unordered(
        children_left=[-1], children_right=[-1], feature=[-1], threshold=[np.nan], cluster=[3], n_features=2
    )
    assert (tree.n_leaves, tree.depth) == (1, 0)
    assert tree.predict(np.zeros((4, 2))).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("name", ["children_left", "feature", "threshold", "cluster", "n_node_samples"])
def test_arrays_are_copies_that_nobody_can_write(name):
    given = fields_of(three_leaves())
    given[name] = np.array(given[name])
    tree = ThresholdTree(**given)
    before = getattr(tree, name).copy()
    given[name][:] = 0
    np.testing.assert_array_equal(getattr(tree, name), before)
    with pytest.raises(ValueError, match="read-only"):
        getattr(tree, name)[0] = 1
    with pytest.raises(AttributeError):
        setattr(tree, name, before)


def test_derived_arrays_are_read_only_too():
    tree = three_leaves()
    for values in (tree.leaves, tree.parents, tree.node_depth):
        assert not values.flags.writeable


# Routing --------------------------------------------------------------------------------------------------------------


@each("seed", range(20))
@each("n_jobs", [1, 3])
def test_rows_reach_the_leaf_that_the_plain_walk_finds(seed, n_jobs):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves=int(rng.integers(1, 12)), intervals=0.3)
    X = rows_for(tree, rng)
    leaves = tree.apply(X, n_jobs=n_jobs)
    assert leaves.dtype == np.int32
    np.testing.assert_array_equal(leaves, naive_apply(tree, X))
    np.testing.assert_array_equal(tree.predict(X, n_jobs=n_jobs), tree.cluster[leaves])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8])
@each("seed", range(3))
def test_every_dtype_is_compared_as_float64(dtype, seed):
    rng = np.random.default_rng(seed)
    # 0.1 lies between float32(0.1) and the float32 below it; 2.5 between integers.
    tree = random_tree(rng, n_leaves=8, values=[0.1, 0.5, 1.0, 2.5, 3.0, 200.0])
    X = rng.choice([0.1, 0.5, 0.75, 1.0, 2.0, 3.0, 201.0], size=(100, 3)).astype(dtype)
    np.testing.assert_array_equal(tree.apply(X), naive_apply(tree, X.astype(np.float64)))


def test_a_threshold_between_two_float32_values_is_not_rounded():
    below, above = np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1))
    tree = ThresholdTree.from_unordered(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, 0, 0],
        threshold=[float(below) + 1e-12, 0, 0],
        cluster=[0, 0, 1],
        n_features=1,
    )
    assert tree.predict(np.array([[below], [above]], dtype=np.float32)).tolist() == [0, 1]


@pytest.mark.parametrize(
    "view",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X[::-1][::-1],
        lambda X: np.ascontiguousarray(X[:, ::-1])[:, ::-1],
        lambda X: np.lib.stride_tricks.as_strided(X, X.shape, X.strides, writeable=False),
    ],
    ids=["Fortran", "every second row", "backwards", "columns backwards", "read-only"],
)
def test_any_strides_are_read_in_place(view):
    rng = np.random.default_rng(0)
    tree = random_tree(rng, n_leaves=9)
    X = rows_for(tree, rng)
    np.testing.assert_array_equal(tree.apply(view(X)), naive_apply(tree, X))


@pytest.mark.parametrize("seed", range(5))
def test_sparse_rows_reach_the_leaf_of_their_dense_twins(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves=10, n_features=6, intervals=0.3)
    X = rows_for(tree, rng) * (rng.random((200, 6)) < 0.3)
    for given in (sparse.csr_array(X), sparse.csc_array(X), sparse.coo_matrix(X)):
        np.testing.assert_array_equal(tree.apply(given), naive_apply(tree, X))


def test_data_frames_and_nested_lists_are_read():
    pandas = pytest.importorskip("pandas")
    tree = three_leaves()
    X = [[1.5, 3.0], [2.0, 7.0], [2.0, 7.5], [2.0, 0.0]]
    expected = [2, 0, 1, 1]
    assert tree.predict(X).tolist() == expected
    assert tree.predict(pandas.DataFrame(X, columns=["a", "b"])).tolist() == expected
    assert tree.predict(read_table(X)).tolist() == expected


def test_more_rows_than_one_block_give_the_same_leaves_on_any_number_of_threads():
    rng = np.random.default_rng(1)
    tree = random_tree(rng, n_leaves=12)
    X = rng.normal(size=(20_011, 3))
    expected = naive_apply(tree, X[-100:])
    leaves = [tree.apply(X, n_jobs=n_jobs) for n_jobs in (1, 2, 7)]
    np.testing.assert_array_equal(leaves[0], leaves[1])
    np.testing.assert_array_equal(leaves[0], leaves[2])
    np.testing.assert_array_equal(leaves[0][-100:], expected)


def test_no_rows_give_no_leaves():
    assert chain(2).apply(as_matrix(np.zeros((0, 1)))).shape == (0,)  # read_table would ask for a row


@pytest.mark.parametrize("to_the_left", [False, True])
def test_a_tree_of_depth_5000_works(to_the_left):
    tree = chain(5000, to_the_left=to_the_left)
    assert (tree.depth, tree.n_leaves) == (5000, 5001)
    X = np.arange(0.5, 5001)[:, None]
    assert tree.predict(X).tolist() == list(range(5001))
    assert ThresholdTree.from_dict(tree.to_dict()).equals(tree)
    assert pickle.loads(pickle.dumps(tree)).equals(tree)


def test_another_number_of_columns_is_refused():
    with pytest.raises(ColumnMismatchError, match=r"3 .* 2"):
        three_leaves().apply(np.zeros((1, 3)))


# Comparison and storage -----------------------------------------------------------------------------------------------


@each("seed", range(10))
def test_a_tree_survives_json_and_pickle_and_copying_bit_for_bit(seed):
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(size=5) * 1e-9, rng.normal(size=5) * 1e9, [5e-324, -1.7e308, 0.1]])
    tree = random_tree(rng, n_leaves=7, intervals=0.5, values=values)
    text = json.dumps(tree.to_dict(), allow_nan=False)
    for other in (ThresholdTree.from_dict(json.loads(text)), pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert other.equals(tree)
        for name, values in fields_of(tree).items():
            np.testing.assert_array_equal(getattr(other, name), values)
            assert name == "n_features" or not getattr(other, name).flags.writeable


@pytest.mark.parametrize(
    ("name", "value"),
    [("threshold", 1.25), ("lower", -5.0), ("cluster", 9), ("feature", 1), ("n_node_mistakes", 3), ("n_features", 5)],
)
def test_equality_sees_every_difference(name, value):
    tree = three_leaves()
    given = fields_of(tree)
    if name == "n_features":
        given[name] = value
    else:
        given[name] = np.array(given[name])
        given[name][1 if name == "cluster" else 0] = value
    other = ThresholdTree(**given)
    assert tree.equals(three_leaves())
    assert not tree.equals(other)
    assert tree.equals(other, counts=False) == (name == "n_node_mistakes")


def test_trees_of_different_size_are_not_equal():
    assert not three_leaves().equals(chain(1))


@each(
    "change, message",
    [
        (lambda d: d.pop("cluster"), "entries"),
        (lambda d: d.update(extra=1), "entries"),
        (lambda d: d.update(threshold=["1.5", None, 7.0, None, None]), "numbers and None"),
        (lambda d: d.update(threshold=[True, None, 7.0, None, None]), "numbers and None"),
        (lambda d: d.update(threshold="abc"), "numbers and None"),
        (lambda d: d.update(cluster=[-1, 2.5, -1, 0, 1]), "integers"),
        (lambda d: d.update(cluster=["a"] * 5), "integers"),
        (lambda d: d.update(feature=[2**40, -1, 1, -1, -1]), "int32"),
        (lambda d: d.update(n_features="2"), "n_features"),
        (lambda d: d.update(lower=None), "numbers and None"),
    ],
)
def test_a_damaged_description_is_refused(change, message):
    data = three_leaves().to_dict()
    change(data)
    with pytest.raises(InvalidInputError, match=message):
        ThresholdTree.from_dict(data)


@pytest.mark.parametrize("data", [None, 3, "tree", [1, 2]])
def test_what_is_no_mapping_is_no_description(data):
    with pytest.raises(InvalidInputError, match="a tree is a mapping with the entries"):
        ThresholdTree.from_dict(data)


# Construction ---------------------------------------------------------------------------------------------------------


@each(
    "changes, message",
    [
        ({"children_left": [1, -1, 3, -1]}, "one length"),
        ({"children_left": [2, -1, 3, -1, -1], "children_right": [1, -1, 4, -1, -1]}, "node 1 .* preorder"),
        ({"children_right": [4, -1, 3, -1, -1]}, "node 2"),
        ({"children_right": [2, 3, 4, -1, -1]}, "node 1"),
        ({"children_right": [0, -1, 4, -1, -1]}, "node 0"),
        ({"children_right": [9, -1, 4, -1, -1]}, "node 9 is out of range"),
        ({"children_left": [-1, -1, 3, -1, -1], "children_right": [-1, -1, 4, -1, -1]}, "node 1"),
        ({"children_left": [1, 2, 3, -1, -1], "children_right": [2, -1, 4, -1, -1]}, "node 1"),
        ({"feature": [2, -1, 1, -1, -1]}, "node 0 of a tree needs a feature from 0 to 1"),
        ({"feature": [-1, -1, 1, -1, -1]}, "node 0"),
        ({"feature": [0, 0, 1, -1, -1]}, "node 1 .* being a leaf"),
        ({"threshold": [1.5, np.nan, np.nan, np.nan, np.nan]}, "node 2 .* finite threshold"),
        ({"threshold": [np.inf, np.nan, 7.0, np.nan, np.nan]}, "node 0 .* finite threshold"),
        ({"threshold": [1.5, 2.0, 7.0, np.nan, np.nan]}, "node 1 .* being a leaf"),
        ({"lower": [1.5, -np.inf, 0.0, -np.inf, -np.inf]}, "node 0 .* below its threshold"),
        ({"lower": [np.nan, -np.inf, 0.0, -np.inf, -np.inf]}, "node 0 .* below its threshold"),
        ({"lower": [-np.inf, 0.0, 0.0, -np.inf, -np.inf]}, "node 1 .* being a leaf"),
        ({"cluster": [-1, -1, -1, 0, 1]}, "node 1 .* cluster code"),
        ({"cluster": [0, 2, -1, 0, 1]}, "node 0 .* being inside"),
        ({"cluster": [-1.0, 2.0, -1.0, 0.0, 1.0]}, "integers"),
        ({"n_node_samples": [10, 4, 6, 7, -1]}, "node 4 .* count"),
        ({"n_node_samples": [10, 4, 6, 5, 2]}, "node 2 .* sum"),
        ({"n_node_mistakes": [-1, 0, 0, 0, 0]}, "node 0 .* count"),
        ({"n_features": 0}, "n_features"),
        ({"n_features": True}, "n_features"),
        ({"feature": [[0, -1, 1, -1, -1]]}, "one-dimensional"),
        ({"levels": [(1.5,), None, None, None, None]}, r"codes from 0 to 255, not \(1.5,\)"),
        ({"levels": [(True,), None, None, None, None]}, "codes from 0 to 255"),
        ({"levels": [(3, 256), None, None, None, None]}, r"codes from 0 to 255, not \(3, 256\)"),
        ({"levels": [7, None, None, None, None]}, "codes from 0 to 255, not 7"),
        ({"levels": None}, "one list of codes or None a node, not None"),
        ({"unknown": None}, "unknown of a tree holds one bool a node"),
        ({"unknown": [0, 0, 0, 0, 0]}, "unknown of a tree holds one bool a node, not int64"),
        ({"unknown": [[True, False, False, False, False]]}, "unknown of a tree holds one bool a node, not"),
    ],
)
def test_what_is_no_tree_is_refused_and_the_node_named(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        ThresholdTree(**{**fields_of(three_leaves()), **changes})


@each("seed", range(20))
def test_nodes_in_any_order_give_the_same_tree(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves=int(rng.integers(1, 15)), intervals=0.4)
    m = tree.n_nodes
    order = np.concatenate([[0], 1 + rng.permutation(m - 1)])  # the root stays node 0
    number = np.append(np.argsort(order), -1)
    samples = np.zeros(m, dtype=int)
    samples[tree.leaves] = rng.integers(5, size=tree.n_leaves)
    for node in range(m - 1, 0, -1):
        samples[tree.parents[node]] += samples[node]
    shuffled = ThresholdTree.from_unordered(
        children_left=number[tree.children_left[order]],
        children_right=number[tree.children_right[order]],
        feature=np.where(tree.feature[order] < 0, 7, tree.feature[order]),  # what stands at leaves is not read
        threshold=np.nan_to_num(tree.threshold[order], nan=0.0),
        lower=tree.lower[order],
        cluster=np.where(tree.cluster[order] < 0, 5, tree.cluster[order]),
        n_node_samples=samples[order],
        n_features=tree.n_features,
    )
    assert shuffled.equals(tree, counts=False)
    np.testing.assert_array_equal(shuffled.n_node_samples, samples)
    np.testing.assert_array_equal(
        preorder(number[tree.children_left[order]], number[tree.children_right[order]]), np.argsort(order)
    )


@each(
    "left, right, message",
    [
        ([1, -1, -1], [1, -1, -1], "node 1"),
        ([1, -1, -1, -1], [2, -1, -1, -1], "node 3 is never reached"),
        ([1, 0, -1], [2, -1, -1], "node 1 .* one child"),
        ([1, 0, -1], [2, 2, -1], "reached twice"),
        ([1, -1, -1], [5, -1, -1], "out of range"),
        ([], [], "one or more nodes"),
        ([-1], [-1, -1], "as many left as right"),
    ],
)
def test_children_that_are_no_tree_are_refused(left, right, message):
    with pytest.raises(InvalidInputError, match=message):
        preorder(left, right)


def test_values_of_more_or_fewer_nodes_than_there_are_children_are_refused():
    with pytest.raises(InvalidInputError, match=r"the arrays of a tree have one length, not \(2,\) and \(3,\)"):
        ThresholdTree.from_unordered(
            children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[0, -1], threshold=[1, 0, 0],
            cluster=[0, 0, 1], n_node_samples=[2, 1, 1], n_features=1,
        )  # fmt: skip


# The kernel's own checks ----------------------------------------------------------------------------------------------


@each(
    "changes, message",
    [
        ({"children_left": [0, -1, -1]}, "preorder"),
        ({"children_right": [0, -1, -1]}, "preorder"),
        ({"children_right": [3, -1, -1]}, "preorder"),
        ({"feature": [1, -1, -1]}, "column"),
        ({"feature": [-2, -1, -1]}, "column"),
        ({"feature": [0, -1]}, "one length"),
        ({"children_left": [], "children_right": [], "feature": [], "threshold": [], "lower": []}, "at least one"),
    ],
)
def test_the_kernel_never_leaves_its_arrays(changes, message):
    arrays = {
        "children_left": [1, -1, -1],
        "children_right": [2, -1, -1],
        "feature": [0, -1, -1],
        "threshold": [0.5, np.nan, np.nan],
        "lower": [-np.inf] * 3,
        **changes,
    }
    kinds = {"threshold": np.float64, "lower": np.float64}
    arrays = {name: np.array(values, dtype=kinds.get(name, np.int32)) for name, values in arrays.items()}
    with pytest.raises(ValueError, match=message):
        core.apply(as_matrix(np.zeros((5, 1))), **arrays)
