"""A tree under construction: nodes in the order they were made, each with its slice of the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.table import EncodedTable

from .threshold_tree import ThresholdTree, preorder
from .thresholds import choose_threshold

__all__ = ["GrowingTree"]

Int32 = npt.NDArray[np.int32]
Gap = tuple[float, float]

_NO_GAP = (math.nan, math.nan)


class GrowingTree:
    """Nodes by number, 0 the root; a split turns a leaf into an inner node with the next two numbers as children.

    Parameters
    ----------
    table : EncodedTable
        The rows; every node holds a contiguous slice of an index that splits reorder in place.
    """

    def __init__(self, table: EncodedTable) -> None:
        self._table = table
        self._order = np.arange(table.n_rows, dtype=np.int32)
        self._slices: list[tuple[int, int]] = [(0, table.n_rows)]
        self._children: list[tuple[int, int]] = [(-1, -1)]
        self._feature: list[int] = [-1]
        self._threshold: list[float] = [np.nan]
        self._cluster: list[int] = [-1]
        self._mistakes: list[int] = [0]
        self._lower: list[float] = [-math.inf]
        self._gaps: list[tuple[Gap, Gap]] = [(_NO_GAP, _NO_GAP)]

    @property
    def n_columns(self) -> int:
        """Number of columns that may be cut."""
        return int(self._table.encoded.n_cols)

    def rows(self, node: int) -> Int32:
        """All rows routed to a node: a view that the next split of the node reorders."""
        start, stop = self._slices[node]
        return self._order[start:stop]

    def cluster(self, node: int) -> int:
        """The cluster a leaf holds; -1 before it is labelled."""
        return self._cluster[node]

    def label(self, node: int, cluster: int) -> None:
        """Give a leaf its cluster."""
        self._cluster[node] = cluster

    def split(
        self,
        node: int,
        feature: int,
        cut: float,
        *,
        lower: float = -math.inf,
        centers: npt.NDArray[np.float64] | None = None,
        mistakes: int = 0,
    ) -> tuple[int, int, float]:
        """Cut a leaf in two.

        Parameters
        ----------
        node, feature : int
        cut : float
            Any value of the gap's left side: rows with ``x[feature] <= cut`` go left.
        lower : float
            Of an interval: any value on the left of its lower gap; rows with ``x[feature] <= lower`` go right.
        centers : ndarray or None
            Coordinates that bound the gap of a one-sided cut beside the rows' values.
        mistakes : int
            IMM's mistakes of the cut.

        Returns
        -------
        left, right : int
            Numbers of the children.
        threshold : float
            The number placed in the gap.
        """
        start, stop = self._slices[node]
        table = self._table
        rows = self._order[start:stop]
        lower_gap = _NO_GAP
        if lower == -math.inf:
            n_left, left_max, right_min = core.partition(table.encoded, table.matrix, rows, feature, cut)
            if centers is not None:
                left_max = max(left_max, float(centers[centers <= cut].max(initial=-np.inf)))
                right_min = min(right_min, float(centers[centers > cut].min(initial=np.inf)))
        else:
            n_left, below_max, inside_min, left_max, right_min = core.partition_interval(
                table.matrix, rows, feature, lower, cut
            )
            lower_gap = (below_max, inside_min)
            lower = choose_threshold(below_max, inside_min, bool(table.is_integer[feature]))
        threshold = choose_threshold(left_max, right_min, bool(table.is_integer[feature]))
        left, right = len(self._feature), len(self._feature) + 1
        self._feature[node] = feature
        self._threshold[node] = threshold
        self._lower[node] = lower
        self._gaps[node] = ((left_max, right_min), lower_gap)
        self._mistakes[node] = mistakes
        self._children[node] = (left, right)
        for child in ((start, start + n_left), (start + n_left, stop)):
            self._slices.append(child)
            self._children.append((-1, -1))
            self._feature.append(-1)
            self._threshold.append(np.nan)
            self._lower.append(-math.inf)
            self._cluster.append(-1)
            self._mistakes.append(0)
            self._gaps.append((_NO_GAP, _NO_GAP))
        return left, right, threshold

    def leaves(self) -> Iterable[int]:
        """Numbers of the leaves, in the order they were made."""
        return [node for node, (left, _) in enumerate(self._children) if left < 0]

    def finish(self) -> tuple[ThresholdTree, Int32, npt.NDArray[np.float64]]:
        """The finished tree in preorder, every row's leaf, and the gaps of every test, as in ``GrownTree``."""
        n_nodes = len(self._feature)
        children = np.array(self._children, dtype=np.int32)
        order = preorder(children[:, 0], children[:, 1])
        number = np.empty(n_nodes, dtype=np.int32)
        number[order] = np.arange(n_nodes, dtype=np.int32)
        copies = self._table.copies
        samples = np.zeros(n_nodes, dtype=np.int64)
        leaf_of_row = np.empty(self._table.n_rows, dtype=np.int32)
        for leaf in self.leaves():
            rows = self.rows(leaf)
            leaf_of_row[rows] = number[leaf]
            samples[leaf] = len(rows) if copies is None else copies[rows].sum()
        for node in range(n_nodes - 1, -1, -1):  # children were made after their parents
            left, right = self._children[node]
            if left >= 0:
                samples[node] = samples[left] + samples[right]
        tree = ThresholdTree.from_unordered(
            children_left=children[:, 0],
            children_right=children[:, 1],
            feature=self._feature,
            threshold=self._threshold,
            lower=self._lower,
            cluster=self._cluster,
            n_features=self._table.encoded.n_cols,
            n_node_samples=samples,
            n_node_mistakes=self._mistakes,
        )
        return tree, leaf_of_row, np.array(self._gaps).reshape(n_nodes, 4)[order]

    def history(self) -> tuple[Int32, Int32]:
        """For every node of the finished tree its number here, and the cluster that it held while it was a leaf."""
        children = np.array(self._children, dtype=np.int32)
        order = preorder(children[:, 0], children[:, 1])
        return order.astype(np.int32), np.array(self._cluster, dtype=np.int32)[order]
