"""A tree as a search takes and gives it: one-sided cuts of the searched columns, in three arrays."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int32
from cutwise.table.table import SearchedColumns

from .growing import GrowingTree
from .provider import Provider
from .threshold_tree import NodeTest, ThresholdTree

_LOWEST = -float(np.finfo(np.float64).max)


class CutTree(NamedTuple):
    """A tree of one-sided cuts, nodes in preorder: a value of at most ``threshold`` goes left, to the next node.

    ``column`` (n_nodes,) int32: -1 at leaves. ``threshold`` (n_nodes,) float64: nan at leaves; for rows in bins the
    number of the last bin on the left. ``right`` (n_nodes,) int32: the right child, -1 at leaves.
    """

    column: Int32
    threshold: Float64
    right: Int32

    @classmethod
    def of(cls, tree: ThresholdTree, searched: SearchedColumns | None = None) -> tuple[CutTree, Int32] | None:
        """A threshold tree as cuts of the searched columns, and the cluster of every node.

        None if a test is of several levels of a category.
        """
        if searched is None:
            return cls(tree.feature, tree.threshold, tree.children_right), tree.cluster
        found: list[list[Any]] = []  # column, threshold, right child, and number in the given tree
        pending = [(0, -1)]  # a node, and the new number of its parent if it is a right child
        while pending:
            node, parent = pending.pop()
            here = len(found)
            if parent >= 0:
                found[parent][2] = here
            found.append([-1, math.nan, -1, node])
            if tree.feature[node] < 0:
                continue
            test = tree.test(node)
            own = searched.of(test.feature).tolist()
            sides = int(tree.children_left[node]), int(tree.children_right[node])
            if test.levels:  # rows of the level are right of the cut of its column
                named = [j for j in own if searched.level[j] == test.levels[0]]
                if len(test.levels) > 1 or (not named and test.levels[0] > 0):
                    return None
                found[here][:2] = (named or own)[0], 0.5
                sides = sides[::-1] if named else sides  # of two levels only the second has a column
            else:
                cut = cut_of(test, searched)
                found[here][:2] = cut.feature, cut.threshold
            pending += [(sides[1], here), (sides[0], -1)]
        column, threshold, right, order = map(np.array, zip(*found, strict=True))
        return cls(column.astype(np.int32), threshold, right.astype(np.int32)), tree.cluster[order]

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.column)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.n_nodes // 2 + 1

    def apply(self, matrix: core.Matrix, n_jobs: int = 1) -> Int32:
        """The node number of every row's leaf."""
        left = np.where(self.column >= 0, np.arange(1, self.n_nodes + 1), -1).astype(np.int32)
        no_lower = np.full(self.n_nodes, -np.inf)
        return core.apply(matrix, left, self.right, self.column, self.threshold, no_lower, n_jobs=n_jobs)

    def reached_by(self, leaf_of_row: Int32) -> CutTree:
        """The part of the tree that some rows reach: leaves without rows are removed, with the cuts above them."""
        column, threshold, right = self
        n_reached = np.bincount(leaf_of_row, minlength=self.n_nodes)  # number of rows that reach the node
        remaining = n_reached > 0
        for node in np.flatnonzero(column >= 0)[::-1].tolist():
            sides = n_reached[[node + 1, right[node]]]
            n_reached[node], remaining[node] = sides.sum(), sides.all()
        number = np.cumsum(remaining, dtype=np.int32) - remaining
        column, right = column[remaining], right[remaining]
        return CutTree(column, threshold[remaining], np.where(column < 0, right, number[right]))

    def beside(self, other: CutTree, cut: NodeTest, is_above: bool) -> CutTree:
        """The tree whose root makes a cut, with this tree on one side and another one above the threshold, or below."""
        below, above = (self, other) if is_above else (other, self)
        n = 1 + below.n_nodes
        right = [np.where(tree.right < 0, -1, tree.right + place) for tree, place in ((below, 1), (above, n))]
        return CutTree(
            np.concatenate([[cut.feature], below.column, above.column]).astype(np.int32),
            np.concatenate([[cut.threshold], below.threshold, above.threshold]),
            np.concatenate([[n], *right]).astype(np.int32),
        )

    def replay(self, provider: Provider, cluster: npt.NDArray[np.integer] | None = None) -> GrowingTree:
        """The tree grown on the rows of a provider; ``cluster`` (n_nodes,): of the leaves, 0 if it is left out."""
        tree, number = GrowingTree(provider), {0: 0}
        for node, column in enumerate(self.column.tolist()):
            if column < 0:
                tree.label(number[node], 0 if cluster is None else int(cluster[node]))
                continue
            test = NodeTest(column, float(self.threshold[node]))
            number[node + 1], number[int(self.right[node])] = tree.split(number[node], test)
        return tree


def cut_of(test: NodeTest, searched: SearchedColumns | None) -> NodeTest:
    """A test as a cut: a threshold in a searched column, or levels of a category."""
    if searched is None or test.levels:
        return test
    below = -1 if test.unknown else 1
    column = next(j for j in searched.of(test.feature).tolist() if searched.missing[j] in (0, below))
    return NodeTest(column, _LOWEST if test.levels is not None else test.threshold)
