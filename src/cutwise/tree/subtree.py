"""Smaller trees out of a grown one: some inner nodes made leaves, or its growth truncated at fewer leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .growing import GrownTree
from .threshold_tree import ThresholdTree


def cut_back(
    grown: GrownTree, is_leaf: npt.NDArray[np.bool_], kept: npt.NDArray[np.intp], cluster: npt.NDArray[np.integer]
) -> GrownTree:
    """The subtree in which the given nodes are leaves.

    ``is_leaf`` (n_nodes,) bool: true for the nodes that end as leaves; only those among ``kept`` count. ``kept``
    (n_kept,): the nodes at or above such a leaf, in preorder. ``cluster`` (n_nodes,): the cluster of each of these
    leaves. Returns ``smaller``: its rows are in the kept node nearest above the leaf where they were. It does not know
    how it was grown.
    """
    tree = grown.tree
    number = np.full(tree.n_nodes, -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)

    def links(children: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        return np.where(is_leaf[kept], -1, number[children[kept]]).astype(np.int32)

    smaller = ThresholdTree(
        children_left=links(tree.children_left),
        children_right=links(tree.children_right),
        feature=np.where(is_leaf, -1, tree.feature)[kept],
        threshold=np.where(is_leaf, np.nan, tree.threshold)[kept],
        lower=np.where(is_leaf, -np.inf, tree.lower)[kept],
        cluster=np.where(is_leaf, cluster, -1)[kept].astype(np.int32),
        n_node_samples=tree.n_node_samples[kept],
        n_node_mistakes=np.where(is_leaf, 0, tree.n_node_mistakes)[kept],
        n_features=tree.n_features,
        levels=tuple(None if is_leaf[node] else tree.levels[node] for node in kept),
        unknown=np.where(is_leaf, False, tree.unknown)[kept],
    )
    above = np.arange(tree.n_nodes)  # the kept node at or above each node
    for node, parent in enumerate(tree.parents.tolist()):
        if number[node] < 0:
            above[node] = above[parent]
    gaps = np.where(is_leaf[:, None], np.nan, grown.gaps)[kept]
    return GrownTree(smaller, number[above[grown.leaf_of_row]], grown.inseparable, gaps, rows=grown.rows)


def sizes_of_growth(grown: GrownTree, n_clusters: int) -> list[int]:
    """Leaves of the trees that one growth gives for ``max_leaves`` of ``n_clusters``, ``n_clusters + 1``, and so on.

    ``grown``: one that knows how it was grown. Returns ``sizes``: increasing. The first is that of the base tree, which
    has fewer leaves than clusters where these were inseparable, or ``n_clusters`` where growth began at a single leaf.
    """
    n_leaves, base = grown.tree.n_leaves, _base_size(grown)
    first = base if base > 1 or grown.inseparable else min(n_clusters, n_leaves)
    return [first, *range(max(first + 1, min(n_clusters + 1, n_leaves)), n_leaves + 1)]


def _base_size(grown: GrownTree) -> int:
    """Leaves of the first complete tree of a growth, where all its leaves had a cluster."""
    assert grown.leaf_clusters is not None
    return int(np.count_nonzero(grown.leaf_clusters < 0)) + 1


def clusters_by_size(
    grown: GrownTree, sizes: Sequence[int], leaves: npt.NDArray[np.integer] | None = None
) -> Iterator[npt.NDArray[np.int32]]:
    """The cluster of every row, or of every given leaf, in each tree of a growth; ``sizes`` decrease."""
    tree, leaves = grown.tree, grown.leaf_of_row if leaves is None else leaves
    assert grown.split_order is not None
    assert grown.leaf_clusters is not None
    end = np.arange(1, tree.n_nodes + 1)  # one past the last node below each
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.children_right[node] >= 0:
            end[node] = end[tree.children_right[node]]
    cluster = tree.cluster.copy()
    by_order, n_leaves = np.argsort(grown.split_order), tree.n_leaves
    for size in sizes:
        for undone in tree.parents[by_order[2 * n_leaves - 2 : 2 * size - 2 : -2]].tolist():  # a split makes two nodes
            cluster[undone : end[undone]] = grown.leaf_clusters[undone]
        n_leaves = size
        yield cluster[leaves]


def truncate_growth(grown: GrownTree, n_leaves: int) -> GrownTree:
    """The tree when it had so many leaves.

    ``grown``: one that knows how it was grown. ``n_leaves``: at least those of its base tree; with more leaves than it
    has, the tree itself. Returns ``smaller``: growth splits the best leaf, whatever the number of leaves that was asked
    for. So this is what growing to ``n_leaves`` gives, bit for bit. Raises ``ValueError``: a size from before all
    leaves had a cluster.
    """
    tree = grown.tree
    if n_leaves >= tree.n_leaves:
        return grown
    if grown.split_order is None or grown.leaf_clusters is None:
        raise ValueError("this tree does not know in which order its nodes were made")
    if n_leaves < _base_size(grown):
        raise ValueError(f"the tree had {_base_size(grown)} leaves when it was first complete, not {n_leaves}")
    n_nodes = 2 * n_leaves - 1  # every split makes two nodes
    kept = np.flatnonzero(grown.split_order < n_nodes)
    # The two children of a node are made together: the left one speaks for both.
    is_leaf = (tree.feature < 0) | (grown.split_order[tree.children_left] >= n_nodes)
    smaller = cut_back(grown, is_leaf, kept, grown.leaf_clusters)
    return replace(smaller, split_order=grown.split_order[kept], leaf_clusters=grown.leaf_clusters[kept])


class SizedTree(NamedTuple):
    """A tree of a growth: what it costs, how many leaves it may have, and the growth."""

    cost: float
    size: int
    growth: GrownTree

    def get(self) -> GrownTree:
        """The tree itself."""
        return truncate_growth(self.growth, self.size)

    @property
    def codes(self) -> npt.NDArray[np.int32]:
        """Its cluster of every row."""
        is_all = self.size >= self.growth.tree.n_leaves
        return self.growth.codes if is_all else next(clusters_by_size(self.growth, [self.size]))
