"""Smaller trees from a grown one: its growth truncated at fewer leaves, or its best subtree with fewer leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import Int32, Int64
from cutwise.tree.growing import GrownTree
from cutwise.tree.threshold_tree import ThresholdTree


def cut_back(
    grown: GrownTree,
    is_leaf: npt.NDArray[np.bool_],
    remaining: npt.NDArray[np.intp],
    cluster: npt.NDArray[np.integer],
    instead: npt.NDArray[np.intp] | None = None,
) -> GrownTree:
    """The subtree in which the given nodes are leaves.

    ``is_leaf`` (n_nodes,) bool: true for the nodes that become leaves; only nodes among ``remaining`` count.
    ``remaining`` (n_remaining,): the nodes at or above such a leaf, in preorder. ``cluster`` (n_nodes,): the cluster of
    each new leaf. ``instead`` (n_nodes,): the node that replaces each node. Returns ``smaller``: each row is in the
    nearest remaining node at or above its former leaf. Its order of growth is not known.
    """
    tree = grown.tree
    number = np.full(tree.n_nodes, -1, dtype=np.int32)
    number[remaining] = np.arange(len(remaining), dtype=np.int32)

    def links(children: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        below = children[remaining] if instead is None else instead[children[remaining]]
        return np.where(is_leaf[remaining], -1, number[below]).astype(np.int32)

    smaller = ThresholdTree(
        children_left=links(tree.children_left),
        children_right=links(tree.children_right),
        feature=np.where(is_leaf, -1, tree.feature)[remaining],
        threshold=np.where(is_leaf, np.nan, tree.threshold)[remaining],
        lower=np.where(is_leaf, -np.inf, tree.lower)[remaining],
        cluster=np.where(is_leaf, cluster, -1)[remaining].astype(np.int32),
        n_node_samples=tree.n_node_samples[remaining],
        n_node_mistakes=np.where(is_leaf, 0, tree.n_node_mistakes)[remaining],
        n_features=tree.n_features,
        levels=tuple(None if is_leaf[node] else tree.levels[node] for node in remaining),
        unknown=np.where(is_leaf, False, tree.unknown)[remaining],
    )
    above = np.cumsum(number >= 0, dtype=np.int32) - 1  # nodes below a new leaf follow it in preorder
    gaps = np.where(is_leaf[:, None], np.nan, grown.gaps)[remaining]
    return GrownTree(smaller, above[grown.leaf_of_row], grown.inseparable, gaps, rows=grown.rows)


def without_empty_leaves(grown: GrownTree) -> GrownTree:
    """The tree without leaves that no row of fit reaches: the sibling of such a leaf replaces their parent."""
    tree, has_rows = grown.tree, grown.tree.n_node_samples > 0
    if has_rows.all():
        return grown
    instead = np.arange(tree.n_nodes)
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:
        left, right = tree.children_left[node], tree.children_right[node]
        if not (has_rows[left] and has_rows[right]):
            instead[node] = instead[left if has_rows[left] else right]
    remaining = np.flatnonzero(has_rows & (instead == np.arange(tree.n_nodes)))
    # Merged rows of a leaf may all have weight 0.
    leaf = np.where(has_rows[grown.leaf_of_row], grown.leaf_of_row, tree.leaves[has_rows[tree.leaves]][0])
    return cut_back(replace(grown, leaf_of_row=leaf), tree.feature < 0, remaining, tree.cluster, instead)


def sizes_of_growth(grown: GrownTree, n_clusters: int) -> list[int]:
    """Numbers of leaves of the trees of a growth for ``max_leaves`` of ``n_clusters``, ``n_clusters + 1``, and so on.

    ``grown``: a tree with its order of growth. Returns ``sizes``: increasing. The first is the size of the base tree
    (fewer leaves than clusters if clusters were inseparable), or ``n_clusters`` if growth began at a single leaf.
    """
    n_leaves, base = grown.tree.n_leaves, _base_size(grown)
    first = base if base > 1 or grown.inseparable else min(n_clusters, n_leaves)
    return [first, *range(max(first + 1, min(n_clusters + 1, n_leaves)), n_leaves + 1)]


def _base_size(grown: GrownTree) -> int:
    """Number of leaves of the first complete tree of a growth, in which all leaves have a cluster."""
    assert grown.leaf_clusters is not None
    return int(np.count_nonzero(grown.leaf_clusters < 0)) + 1


def _history(grown: GrownTree) -> tuple[Int32, Int64, Int32]:
    """When each node was made and when it was split, by number of nodes, and its cluster before that.

    Every split makes two nodes. Leaves are split after all others.
    """
    assert grown.split_order is not None
    assert grown.leaf_clusters is not None
    never = 2 * grown.tree.n_leaves
    split = np.where(grown.tree.feature < 0, never, grown.split_order[grown.tree.children_left])
    return grown.split_order, split, grown.leaf_clusters


def leaves_by_size(grown: GrownTree, sizes: Sequence[int]) -> Iterator[npt.NDArray[np.bool_]]:
    """Whether every node is a leaf of the trees of a growth of these sizes."""
    made, split, _ = _history(grown)
    for size in sizes:
        yield (made < 2 * size - 1) & (split >= 2 * size - 1)


def clusters_by_size(
    grown: GrownTree, sizes: Sequence[int], leaves: npt.NDArray[np.integer] | None = None
) -> Iterator[npt.NDArray[np.int32]]:
    """The cluster of every row, or of every given leaf, in the trees of a growth of these sizes."""
    clusters = np.where(grown.tree.feature < 0, grown.tree.cluster, _history(grown)[2])
    for is_leaf in leaves_by_size(grown, sizes):
        place = np.cumsum(is_leaf) - 1  # nodes below a leaf of the smaller tree follow it in preorder
        yield clusters[is_leaf][place[grown.leaf_of_row if leaves is None else leaves]]


def without_small_trees(grown: GrownTree, n_leaves: int) -> GrownTree:
    """The growth without its trees of fewer than ``n_leaves`` leaves; the largest tree is always kept."""
    _, split, clusters = _history(grown)
    return replace(grown, leaf_clusters=np.where(split < 2 * n_leaves - 1, -1, clusters).astype(np.int32))


def truncate_growth(grown: GrownTree, n_leaves: int) -> GrownTree:
    """The tree at the time of its growth when it had ``n_leaves`` leaves.

    ``grown``: a tree with its order of growth. ``n_leaves``: at least the size of its base tree; the tree itself is
    returned if it has no more leaves. Returns ``smaller``: the tree of a growth to ``n_leaves``, bit for bit, since
    growth always splits the best leaf. Raises ``ValueError``: a size below that of the first tree whose leaves all had
    clusters.
    """
    if n_leaves >= grown.tree.n_leaves:
        return grown
    if n_leaves < _base_size(grown):
        raise ValueError(f"the tree had {_base_size(grown)} leaves when it was first complete, not {n_leaves}")
    made, split, clusters = _history(grown)
    remaining = np.flatnonzero(made < 2 * n_leaves - 1)
    smaller = cut_back(grown, split >= 2 * n_leaves - 1, remaining, clusters)
    return replace(smaller, split_order=made[remaining], leaf_clusters=clusters[remaining])


COST_TOLERANCE = 1e-9
"""Costs that differ by a smaller share are equal: their sums are rounded in different orders."""


class SizedTree(NamedTuple):
    """A tree of a growth: its cost, its allowed number of leaves, and the growth."""

    cost: float
    size: int
    growth: GrownTree

    def get(self) -> GrownTree:
        """The tree itself."""
        return truncate_growth(self.growth, self.size)

    @property
    def codes(self) -> npt.NDArray[np.int32]:
        """The cluster of every row in the tree."""
        is_all = self.size >= self.growth.tree.n_leaves
        return self.growth.codes if is_all else next(clusters_by_size(self.growth, [self.size]))


def cheapest_by_size(trees: Sequence[SizedTree]) -> list[SizedTree]:
    """The cheapest tree of each size that costs less than all smaller ones; the first among equals, sorted by size."""
    found, by_size = list[SizedTree](), dict[int, list[SizedTree]]()
    for tree in trees:
        by_size.setdefault(tree.size, []).append(tree)
    for _, own in sorted(by_size.items()):
        least = min(tree.cost for tree in own)
        if not found or least < found[-1].cost * (1.0 - COST_TOLERANCE):
            found.append(next(tree for tree in own if tree.cost <= least * (1.0 + COST_TOLERANCE)))
    return found


def prune_to_agreement(
    grown: GrownTree, labels: Int32, n_clusters: int, max_leaves: int, weights: Int64 | None = None
) -> GrownTree:
    """The subtree with at most ``max_leaves`` leaves whose leaves agree with the labels on most rows.

    ``grown``: a tree with any number of leaves. ``labels`` (m,) int32: cluster codes of the rows that grew it.
    ``max_leaves``: at least 1. ``weights`` (m,) int64: 1 for each row when left out. Returns ``pruned``: a subtree with
    the same root; each leaf has its heaviest cluster, the lowest on ties. Among equally good subtrees one with the
    fewest leaves.

    Exact, by dynamic programming from the leaves up: the best subtree with l leaves below a node is the best over all
    divisions of l between its children.
    """
    tree = grown.tree
    heaviest, weight = _heaviest_clusters(grown, labels, n_clusters, weights)
    best, share = _best_agreements(tree, weight, max_leaves)
    is_leaf, remaining = _chosen_leaves(tree, best[0], share)
    return replace(cut_back(grown, is_leaf, remaining, heaviest), inseparable=[])


def _heaviest_clusters(grown: GrownTree, labels: Int32, n_clusters: int, weights: Int64 | None) -> tuple[Int64, Int64]:
    """The heaviest cluster of each node, the lowest on ties, and its weight; shape (n_nodes,) each."""
    tree, n_rows = grown.tree, len(labels)
    counts = np.ones(n_rows, dtype=np.int64) if weights is None else weights
    cells = sparse.csr_array((counts, (grown.leaf_of_row, labels)), shape=(tree.n_nodes, n_clusters))
    ends = cells.indptr.tolist()
    sums = [dict(zip(cells.indices[i:j].tolist(), cells.data[i:j].tolist(), strict=True)) for i, j in pairwise(ends)]
    best = [max(((weight, -c) for c, weight in own.items()), default=(0, 0)) for own in sums]
    parents = tree.parents.tolist()
    for node in range(tree.n_nodes - 1, 0, -1):  # the smaller sums are added to the larger ones
        parent = parents[node]
        small, large = sorted((sums[node], sums[parent]), key=len)
        for c, weight in small.items():
            large[c] = large.get(c, 0) + weight
        best[parent] = max(best[node], best[parent], *((large[c], -c) for c in small))
        sums[parent], sums[node] = large, {}
    weight, cluster = np.array(best, dtype=np.int64).T
    return -cluster, weight


def _best_agreements(tree: ThresholdTree, as_leaf: Int64, max_leaves: int) -> tuple[list[Int64], list[Int64]]:
    """For each node and l = 1, 2, ...: the best agreement with at most l leaves, and the left child's share of l.

    A share of 0 stands for making the node a leaf.
    """
    best: list[Int64] = [np.empty(0, dtype=np.int64)] * tree.n_nodes
    share: list[Int64] = [np.empty(0, dtype=np.int64)] * tree.n_nodes
    for node in range(tree.n_nodes - 1, -1, -1):
        best[node] = as_leaf[[node]]
        share[node] = np.zeros(1, dtype=np.int64)
        if tree.feature[node] < 0:
            continue
        left, right = best[tree.children_left[node]], best[tree.children_right[node]]
        size = min(max_leaves, len(left) + len(right))
        best[node] = np.repeat(best[node], size)
        share[node] = np.zeros(size, dtype=np.int64)
        for given in range(1, min(len(left), size - 1) + 1):
            # The left child gets this many leaves, the right one 1, 2, ... of what is left.
            together = left[given - 1] + right[: size - given]
            window = slice(given, given + len(together))
            better = together > best[node][window]
            best[node][window][better] = together[better]
            share[node][window][better] = given
        # More leaves never do worse: keep the agreement of fewer leaves if it is better.
        for leaves in range(1, size):
            if best[node][leaves] <= best[node][leaves - 1]:
                best[node][leaves] = best[node][leaves - 1]
                share[node][leaves] = -1  # as with one leaf less
    return best, share


def _chosen_leaves(
    tree: ThresholdTree, best_of_root: Int64, share: list[Int64]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Mask of the nodes that become leaves, and the remaining nodes in preorder."""
    is_leaf = np.zeros(tree.n_nodes, dtype=np.bool_)
    remaining: list[int] = []
    pending = [(0, len(best_of_root))]
    while pending:
        node, leaves = pending.pop()
        leaves = min(leaves, len(share[node]))
        while share[node][leaves - 1] < 0:
            leaves -= 1
        remaining.append(node)
        given = int(share[node][leaves - 1])
        if given == 0:
            is_leaf[node] = True
            continue
        pending.append((int(tree.children_right[node]), leaves - given))
        pending.append((int(tree.children_left[node]), given))
    return is_leaf, np.array(remaining, dtype=np.intp)
