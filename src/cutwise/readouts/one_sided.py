"""A tree with interval tests as a tree of thresholds alone, for readers that know nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError
from cutwise.tree.threshold_tree import ThresholdTree, preorder

__all__ = ["MAX_NODES", "without_intervals"]

MAX_NODES = 1_000_000
"""A tree that would come out larger is refused: what lies outside of an interval is needed twice, below and above."""

Float64 = npt.NDArray[np.float64]
Bounds = Mapping[int, tuple[float, float]]


def without_intervals(tree: ThresholdTree, gaps: Float64 | None = None) -> tuple[ThresholdTree, Float64 | None]:
    """The same decisions by thresholds alone.

    Parameters
    ----------
    tree : ThresholdTree
    gaps : ndarray of shape (n_nodes, 4), float64, optional
        The values next to the threshold of every node, then those next to its lower end.

    Returns
    -------
    tree : ThresholdTree
        The tree itself where it has no intervals. Else ``a < x <= b`` becomes ``x <= b`` and then ``x <= a``, and what
        follows outside of the interval appears twice, below and above it, without the tests that are decided there.
        Rows of a leaf that appears several times are shared out evenly: the tree does not know where they lie.
    gaps : ndarray of shape (n_nodes, 2), float64, or None
        The values next to each threshold; nan at leaves.

    Raises
    ------
    InvalidInputError
        There would be more than ``MAX_NODES`` nodes.
    """
    if np.isneginf(tree.lower).all():
        return tree, None if gaps is None else gaps[:, :2]
    left, right, feature = tree.children_left.tolist(), tree.children_right.tolist(), tree.feature.tolist()
    threshold, lower = tree.threshold.tolist(), tree.lower.tolist()
    children: list[list[int]] = []
    source: list[int] = []  # the node that every new node comes from
    at_lower: list[bool] = []  # it tests that node's lower end

    # A node to copy, whether the row is known to be at most its threshold, what the path says of the columns, and where
    # the copy belongs: the new parent's number and side.
    pending: list[tuple[int, bool, Bounds, int, int]] = [(0, False, {}, -1, 0)]
    while pending:
        node, is_below, bounds, parent, side = pending.pop()
        column = feature[node]
        if column >= 0:
            end = lower[node] if is_below else threshold[node]
            if is_below:
                smaller, larger = (right[node], False), (left[node], False)
            elif lower[node] == -math.inf:
                smaller, larger = (left[node], False), (right[node], False)
            else:
                smaller, larger = (node, True), (right[node], False)
            low, high = bounds.get(column, (-math.inf, math.inf))
            if end <= low or end >= high:  # decided by the tests above
                pending.append((*(larger if end <= low else smaller), bounds, parent, side))
                continue
        number = len(source)
        if number == MAX_NODES:
            raise InvalidInputError(
                f"Without intervals this tree would have more than {MAX_NODES:,} nodes, because what lies outside of "
                "each of them is needed twice. Use the tree as it is, or grow it with one-sided cuts."
            )
        source.append(node)
        at_lower.append(is_below)
        children.append([-1, -1])
        if parent >= 0:
            children[parent][side] = number
        if column >= 0:
            pending.append((*larger, {**bounds, column: (end, high)}, number, 1))
            pending.append((*smaller, {**bounds, column: (low, end)}, number, 0))

    links = np.array(children, dtype=np.int32)
    order = preorder(links[:, 0], links[:, 1])
    origin, lower_end = np.array(source), np.array(at_lower)
    flat = ThresholdTree.from_unordered(
        children_left=links[:, 0],
        children_right=links[:, 1],
        feature=tree.feature[origin],
        threshold=np.where(lower_end, tree.lower[origin], tree.threshold[origin]),
        cluster=tree.cluster[origin],
        n_features=tree.n_features,
        n_node_samples=_shared_out(tree.n_node_samples, origin, links),
    )
    if gaps is None:
        return flat, None
    return flat, np.where(lower_end[:, np.newaxis], gaps[origin, 2:], gaps[origin, :2])[order]


def _shared_out(
    samples: npt.NDArray[np.int64], origin: npt.NDArray[np.int64], links: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Rows of every new node: those of a leaf in equal parts to its copies, those of the others summed up."""
    is_leaf = links[:, 0] < 0
    copies = np.bincount(origin[is_leaf], minlength=len(samples))
    shared = np.zeros(len(origin), dtype=np.int64)
    given = np.zeros(len(samples), dtype=np.int64)
    for node in np.flatnonzero(is_leaf).tolist():
        leaf = int(origin[node])
        shared[node] = samples[leaf] // copies[leaf] + int(given[leaf] < samples[leaf] % copies[leaf])
        given[leaf] += 1
    for node in range(len(origin) - 1, -1, -1):  # children were made after their parents
        if not is_leaf[node]:
            shared[node] = shared[links[node]].sum()
    return shared
