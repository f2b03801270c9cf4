"""The best subtree with few leaves: grow too far, then take back what agrees least with the labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cutwise.core import Int32, Int64
from cutwise.tree.growing import GrownTree
from cutwise.tree.subtree import cut_back
from cutwise.tree.threshold_tree import ThresholdTree


def prune_to_agreement(
    grown: GrownTree, labels: Int32, n_clusters: int, max_leaves: int, weights: Int64 | None = None
) -> GrownTree:
    """Of all subtrees with at most ``max_leaves`` leaves, one whose leaves agree with the labels on most rows.

    ``grown``: a tree with any number of leaves. ``labels`` (m,) int32: cluster codes of the rows that grew it.
    ``max_leaves``: at least 1. ``weights`` (m,) int64: 1 for each row when left out. Returns ``pruned``: a subtree that
    keeps the root; each leaf has its heaviest cluster, the lowest on ties. Of equally good subtrees one with the fewest
    leaves.

    Exact, by dynamic programming from the leaves up: the best with l leaves below a node is the best of all ways to
    share l between its children.
    """
    tree = grown.tree
    by_node = _label_weights(grown, labels, n_clusters, weights)
    best, share = _best_agreements(tree, by_node.max(axis=1), max_leaves)
    is_leaf, kept = _chosen_leaves(tree, best[0], share)
    return replace(cut_back(grown, is_leaf, kept, by_node.argmax(axis=1)), inseparable=[])


def _label_weights(grown: GrownTree, labels: Int32, n_clusters: int, weights: Int64 | None) -> Int64:
    """Weight of each cluster in each node, of shape (n_nodes, n_clusters)."""
    n_nodes = grown.tree.n_nodes
    cell = grown.leaf_of_row.astype(np.int64) * n_clusters + labels
    by_node = np.bincount(cell, weights=weights, minlength=n_nodes * n_clusters).astype(np.int64)
    by_node = by_node.reshape(n_nodes, n_clusters)
    for node in range(n_nodes - 1, 0, -1):  # children come after their parent
        by_node[grown.tree.parents[node]] += by_node[node]
    return by_node


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
        # With more leaves than needed nothing is lost: keep what fewer reach.
        for leaves in range(1, size):
            if best[node][leaves] <= best[node][leaves - 1]:
                best[node][leaves] = best[node][leaves - 1]
                share[node][leaves] = -1  # the same as with one leaf less
    return best, share


def _chosen_leaves(
    tree: ThresholdTree, best_of_root: Int64, share: list[Int64]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Which nodes become leaves, and the nodes that are kept, in preorder."""
    is_leaf = np.zeros(tree.n_nodes, dtype=np.bool_)
    kept: list[int] = []
    pending = [(0, len(best_of_root))]
    while pending:
        node, leaves = pending.pop()
        leaves = min(leaves, len(share[node]))
        while share[node][leaves - 1] < 0:
            leaves -= 1
        kept.append(node)
        given = int(share[node][leaves - 1])
        if given == 0:
            is_leaf[node] = True
            continue
        pending.append((int(tree.children_right[node]), leaves - given))
        pending.append((int(tree.children_left[node]), given))
    return is_leaf, np.array(kept, dtype=np.intp)
