"""Smaller trees out of a grown one: some inner nodes made leaves, or the tree as it was with fewer leaves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .grower import GrownTree
from .threshold_tree import ThresholdTree

__all__ = ["as_it_was", "cut_back", "smallest_size"]


def cut_back(
    grown: GrownTree, is_leaf: npt.NDArray[np.bool_], kept: npt.NDArray[np.intp], cluster: npt.NDArray[np.integer]
) -> GrownTree:
    """The subtree in which the given nodes are leaves.

    Parameters
    ----------
    grown : GrownTree
    is_leaf : ndarray of shape (n_nodes,), bool
        True for the nodes that end as leaves; only those among ``kept`` count.
    kept : ndarray of shape (n_kept,), intp
        The nodes at or above such a leaf, in preorder.
    cluster : ndarray of shape (n_nodes,), int
        What each of these leaves holds.

    Returns
    -------
    smaller : GrownTree
        Its rows are in the kept node nearest above the leaf where they were. It does not know how it was grown.
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
    )
    above = np.arange(tree.n_nodes)  # the kept node at or above each node
    for node, parent in enumerate(tree.parents.tolist()):
        if number[node] < 0:
            above[node] = above[parent]
    gaps = np.where(is_leaf[:, None], np.nan, grown.gaps)[kept]
    return GrownTree(smaller, number[above[grown.leaf_of_row]], grown.inseparable, gaps)


def smallest_size(grown: GrownTree) -> int:
    """Leaves of the first complete tree of a growth: where all its leaves held a cluster.

    Parameters
    ----------
    grown : GrownTree
        One that knows how it was grown.

    Returns
    -------
    n_leaves : int
        1 for a tree that was grown from a single leaf; otherwise the leaves of its base tree.
    """
    assert grown.held is not None
    return int(np.count_nonzero(grown.held < 0)) + 1


def as_it_was(grown: GrownTree, n_leaves: int) -> GrownTree:
    """The tree as it was when it had so many leaves.

    Parameters
    ----------
    grown : GrownTree
        One that knows how it was grown.
    n_leaves : int
        At least ``smallest_size(grown)``; with more leaves than it has, the tree itself.

    Returns
    -------
    smaller : GrownTree
        Growth splits the best leaf, whatever the number of leaves that was asked for. So this is what growing to
        ``n_leaves`` gives, bit for bit.

    Raises
    ------
    ValueError
        A size from before all leaves held a cluster.
    """
    tree = grown.tree
    if n_leaves >= tree.n_leaves:
        return grown
    if grown.made is None or grown.held is None:
        raise ValueError("this tree does not know in which order its nodes were made")
    if n_leaves < smallest_size(grown):
        raise ValueError(f"the tree had {smallest_size(grown)} leaves when it was first complete, not {n_leaves}")
    n_nodes = 2 * n_leaves - 1  # every split makes two nodes
    kept = np.flatnonzero(grown.made < n_nodes)
    # The two children of a node are made together: the left one speaks for both.
    is_leaf = (tree.feature < 0) | (grown.made[tree.children_left] >= n_nodes)
    smaller = cut_back(grown, is_leaf, kept, grown.held)
    return GrownTree(
        smaller.tree,
        smaller.leaf_of_row,
        smaller.inseparable,
        smaller.gaps,
        made=grown.made[kept],
        held=grown.held[kept],
    )
