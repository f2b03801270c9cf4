"""Pruning finds the best of all subtrees: compared with every one of them on trees small enough to list."""

import itertools
import tracemalloc

import numpy as np

from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from cutwise.tree.subtree import prune_to_agreement
from tests.each import each
from tests.growth import grow_tree


def grow(rng, n_leaves, n=60, k=3):
    X = rng.integers(0, 12, size=(n, 2)).astype(float)
    labels = rng.integers(0, k, n).astype(np.int32)
    weights = rng.integers(1, 5, n)
    table = encode_table(read_table(X.astype(int)), weights=weights, merge=False)
    grown = grow_tree(table, labels, np.zeros((k, 2)), None, algorithm="cart", max_leaves=n_leaves)
    return X, labels, weights, grown


def agreement(cluster, labels, weights):
    return int(weights[cluster == labels].sum())


def paths(tree):
    """The nodes on the way from the root to every node."""
    ways = [[0]]
    for node in range(1, tree.n_nodes):
        ways.append([*ways[tree.parents[node]], node])
    return ways


def every_subtree(tree):
    """The sets of leaves of all subtrees that keep the root."""

    def below(node):
        found = [frozenset([node])]
        if tree.feature[node] >= 0:
            sides = below(tree.children_left[node]), below(tree.children_right[node])
            found += [left | right for left, right in itertools.product(*sides)]
        return found

    return below(0)


@each("seed", range(20))
def test_it_is_the_best_of_all_subtrees(seed):
    rng = np.random.default_rng(seed)
    X, labels, weights, grown = grow(rng, n_leaves=8)
    way = paths(grown.tree)
    best = {}
    for leaves in every_subtree(grown.tree):
        total = 0
        for leaf in leaves:
            inside = np.array([leaf in way[node] for node in grown.leaf_of_row])
            total += int(np.bincount(labels[inside], weights[inside]).max())
        size = len(leaves)
        best[size] = max(best.get(size, 0), total)
    for max_leaves in range(1, 10):
        pruned = prune_to_agreement(grown, labels, 3, max_leaves, weights)
        reachable = [best[size] for size in best if size <= max_leaves]
        got = agreement(pruned.tree.predict(X), labels, weights)
        assert got == max(reachable)
        assert pruned.tree.n_leaves == min(size for size in best if size <= max_leaves and best[size] == got)
        assert np.array_equal(pruned.tree.apply(X), pruned.leaf_of_row)
        assert np.array_equal(np.isnan(pruned.gaps[:, 0]), pruned.tree.feature < 0)
        inner = pruned.tree.feature >= 0
        assert (pruned.gaps[inner, 0] <= pruned.tree.threshold[inner]).all()
        assert (pruned.tree.threshold[inner] < pruned.gaps[inner, 1]).all()


def test_a_tree_that_is_good_as_it_is_stays():
    X = np.arange(6.0)[:, None]
    labels = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    table = encode_table(read_table(X), merge=False)
    grown = grow_tree(table, labels, np.zeros((3, 1)), None, algorithm="cart", max_leaves=3)
    assert prune_to_agreement(grown, labels, 3, 5).tree.equals(grown.tree)


def test_one_leaf_takes_the_heaviest_cluster():
    X, labels, weights, grown = grow(np.random.default_rng(0), n_leaves=6)
    pruned = prune_to_agreement(grown, labels, 3, 1, weights)
    assert pruned.tree.cluster.tolist() == [int(np.bincount(labels, weights).argmax())]
    assert (pruned.leaf_of_row == 0).all()
    assert pruned.tree.n_node_samples.tolist() == [len(X)]


def test_thousands_of_labels_take_memory_by_rows_and_not_by_labels_times_nodes():
    rng = np.random.default_rng(0)
    _, labels, weights, grown = grow(rng, n_leaves=500, n=4000, k=2000)
    tracemalloc.start()
    prune_to_agreement(grown, labels, 2000, 20, weights)
    assert tracemalloc.get_traced_memory()[1] < grown.tree.n_nodes * 2000 * 8 / 3
    tracemalloc.stop()
