"""A binary tree as CUBT and CLTree make it: grown large, pruned, and then drawn again as a threshold tree."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cutwise.baselines._base import Task
from cutwise.tree.growing import GrowingTree

__all__ = ["Sketch"]


@dataclass
class Sketch:
    """Nodes by number, 0 the root, children after their parents.

    Attributes
    ----------
    rows : list of ndarray
        Numbers of every node's rows.
    feature, cut : list
        Rows with ``x[feature] <= cut`` go left; ``cut`` is a value of the left child's rows. -1 and nan at leaves.
    left, right : list of int
        Children; -1 at leaves.
    """

    rows: list[npt.NDArray[np.intp]]
    feature: list[int] = field(default_factory=lambda: [-1])
    cut: list[float] = field(default_factory=lambda: [np.nan])
    left: list[int] = field(default_factory=lambda: [-1])
    right: list[int] = field(default_factory=lambda: [-1])

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.feature)

    def split(
        self, node: int, feature: int, cut: float, left_rows: npt.NDArray[np.intp], right_rows: npt.NDArray[np.intp]
    ) -> tuple[int, int]:
        """Give a leaf two children, and return their numbers."""
        self.feature[node], self.cut[node] = feature, cut
        self.left[node], self.right[node] = self.n_nodes, self.n_nodes + 1
        for rows in (left_rows, right_rows):
            self.rows.append(rows)
            self.feature.append(-1)
            self.cut.append(np.nan)
            self.left.append(-1)
            self.right.append(-1)
        return self.left[node], self.right[node]

    def leaves_under(self, is_leaf: npt.NDArray[np.bool_]) -> list[int]:
        """The leaves of the tree that ends where ``is_leaf`` first holds on the way down, from left to right."""
        leaves, pending = [], [0]
        while pending:
            node = pending.pop()
            if is_leaf[node]:
                leaves.append(node)
            else:
                pending += [self.right[node], self.left[node]]
        return leaves

    def draw(self, task: Task, leaves: list[int]) -> tuple[GrowingTree, dict[int, int]]:
        """The tree of some leaves, with thresholds; a cut with leaves on one side only is left out.

        Parameters
        ----------
        task : Task
        leaves : list of int
            Nodes with rows, none below another.

        Returns
        -------
        tree : GrowingTree
            Its leaves are not labeled yet.
        leaf_of : dict
            The node of ``tree`` for every leaf.
        """
        stays = np.zeros(self.n_nodes, dtype=bool)
        stays[leaves] = True
        for node in range(self.n_nodes - 1, -1, -1):  # children have higher numbers
            if self.left[node] >= 0:
                stays[node] |= stays[self.left[node]] | stays[self.right[node]]
        is_leaf = set(leaves)
        tree = GrowingTree(task.rows.encoded)
        leaf_of: dict[int, int] = {}
        pending = [(0, 0)]
        while pending:
            node, drawn = pending.pop()
            if node in is_leaf:
                leaf_of[node] = drawn
                continue
            left, right = self.left[node], self.right[node]
            if stays[left] and stays[right]:
                drawn_left, drawn_right, _ = tree.split(drawn, self.feature[node], self.cut[node])
                pending += [(right, drawn_right), (left, drawn_left)]
            else:
                pending.append((left if stays[left] else right, drawn))
        return tree, leaf_of
