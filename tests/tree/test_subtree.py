"""A smaller tree out of a larger growth is the tree that growing to its size gives."""

import sys
from functools import partial

import numpy as np
import pytest

from cutwise.reference.objective import fixed_costs
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from cutwise.tree.growing import GrowingTree
from cutwise.tree.provider import MemoryProvider
from cutwise.tree.recipes import RECIPES
from cutwise.tree.subtree import clusters_by_size, sizes_of_growth, truncate_growth
from cutwise.tree.threshold_tree import NodeTest
from tests.each import each
from tests.growth import grow_tree


def same(a, b):
    return (
        a.tree.equals(b.tree)
        and np.array_equal(a.leaf_of_row, b.leaf_of_row)
        and np.array_equal(a.gaps, b.gaps, equal_nan=True)
        and a.inseparable == b.inseparable
    )


@pytest.mark.parametrize("expansion", ["exkmc", "expand"])
@pytest.mark.parametrize(
    "algorithm",
    [name for name, recipe in RECIPES.items() if name != "kernel_imm" and (recipe.base or recipe.expansion)],
)
@each("seed", range(3))
def test_every_size_of_one_growth_is_a_growth_of_that_size(seed, algorithm, expansion):
    rng = np.random.default_rng(seed)
    k, X = 4, rng.integers(0, 9, size=(80, 3)).astype(float)
    centers = X[rng.choice(80, k, replace=False)] + rng.random((k, 3))
    labels = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1).astype(np.int32)
    table = read_table(X)

    def grow(max_leaves):
        encoded = encode_table(table)
        costs = fixed_costs(encoded.matrix, centers, weights=encoded.weights)
        of_rows = labels if encoded.row_of is None else labels[encoded.row_of]
        options = {"algorithm": algorithm, "expansion": expansion, "gini": seed == 1}
        return grow_tree(encoded, of_rows, centers, costs, max_leaves=max_leaves, **options)

    largest = grow(16)
    smallest, n_leaves = k if RECIPES[algorithm].base else 1, largest.tree.n_leaves
    for size in range(smallest, n_leaves + 1):
        cut = truncate_growth(largest, size)
        assert same(cut, grow(size))
        assert same(truncate_growth(cut, smallest), grow(smallest))
    assert sizes_of_growth(largest, k) == list(range(k, n_leaves + 1))
    for sizes in (range(n_leaves, smallest - 1, -1), range(n_leaves - 1, smallest - 1, -2)):
        for size, codes in zip(sizes, clusters_by_size(largest, sizes), strict=True):
            assert np.array_equal(codes, truncate_growth(largest, size).codes)


def test_the_clusters_of_one_size_take_as_many_steps_in_python_in_every_tree():
    rng = np.random.default_rng(3)
    table = encode_table(read_table(rng.normal(size=(200, 3))), merge=False)
    labels, steps = rng.integers(0, 4, 200).astype(np.int32), []

    def count(frame, event, arg):
        is_own = frame.f_code.co_filename == clusters_by_size.__code__.co_filename
        steps[-1] += is_own
        return count if is_own else None

    for max_leaves in (20, 40):
        grown = grow_tree(table, labels, np.zeros((4, 3)), None, algorithm="cart", max_leaves=max_leaves)
        traced = sys.gettrace()
        steps.append(0)
        sys.settrace(count)
        next(clusters_by_size(grown, [5]))
        sys.settrace(traced)
    assert steps[0] == steps[1] > 0


def test_plain_cart_is_nested_too():
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(90, 3)), rng.integers(0, 4, 90).astype(np.int32)
    table = encode_table(read_table(X), merge=False)
    grow = partial(grow_tree, table, labels, np.zeros((4, 3)), None, algorithm="cart")
    for size in (2, 3, 7, 12):
        assert same(truncate_growth(grow(max_leaves=12), size), grow(max_leaves=size))


def test_a_size_from_before_the_base_tree_was_complete_is_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    table = encode_table(read_table(X))
    labels = (X[:, 0] > 0).astype(np.int32) + 2 * (X[:, 1] > 0).astype(np.int32)
    centers = np.array([X[labels == c].mean(axis=0) for c in range(4)])
    grown = grow_tree(table, labels, centers, fixed_costs(table.matrix, centers), algorithm="imm", max_leaves=4)
    with pytest.raises(ValueError, match="4 leaves when it was first complete, not 3"):
        truncate_growth(grown, 3)


@pytest.mark.parametrize("seed", range(5))
def test_the_tests_of_a_growing_tree_are_those_of_the_finished_one(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(60, 3)).round(1)
    growing = GrowingTree(MemoryProvider(encode_table(read_table(values), merge=False)))
    leaves = [0]
    for _ in range(7):
        node = max(leaves, key=growing.provider.size)
        column = int(rng.integers(3))
        here = np.unique(values[growing.provider.rows(node), column])
        leaves.remove(node)
        leaves += growing.split(node, NodeTest(column, float(here[len(here) // 2 - 1])))
    for leaf in leaves:
        growing.label(leaf, 0)
    column, threshold, right = growing.tests()
    tree = growing.finish().tree
    assert np.array_equal(column, tree.feature)
    assert np.array_equal(threshold, tree.threshold, equal_nan=True)
    assert np.array_equal(right, tree.children_right)
