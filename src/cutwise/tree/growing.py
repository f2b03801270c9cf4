"""A tree under construction, and what it becomes: nodes in the order they were made."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .asked import ask
from .node_test import NodeTest
from .provider import Gap, Provider
from .threshold_tree import ThresholdTree, preorder
from .thresholds import place_threshold

__all__ = ["GrowingTree", "GrownTree"]

Int32 = npt.NDArray[np.int32]

_NO_GAP = (math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree and where its rows are.

    ``leaf_of_row`` (m,) int32: node number of the leaf of every encoded row. ``inseparable``: groups of clusters equal
    in every column that may be cut; the first of each has the leaf. ``gaps`` (n_nodes, 4) float64: the two neighboring
    values that every threshold lies between (centers count as values), then those of the lower end of an interval; nan
    at leaves, and for the lower end of one-sided tests. ``split_order`` (n_nodes,) int32: the order in which the nodes
    were made: 0 for the root, then two with every split. ``leaf_clusters`` (n_nodes,) int32: the cluster of every node
    while it was a leaf, -1 where it never was one of a complete tree. ``others``: other growths of the same fit, whose
    trees may be cheaper at some sizes.
    """

    tree: ThresholdTree
    leaf_of_row: Int32
    inseparable: list[tuple[int, ...]]
    gaps: npt.NDArray[np.float64]
    split_order: Int32 | None = None
    leaf_clusters: Int32 | None = None
    others: tuple[GrownTree, ...] = ()

    @property
    def codes(self) -> Int32:
        """Cluster of every encoded row, shape (m,), int32."""
        return self.tree.cluster[self.leaf_of_row]


class GrowingTree:
    """Nodes by number, 0 the root; a split turns a leaf into an inner node with the next two numbers as children.

    ``provider``: has the rows of every node.
    """

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._children: list[tuple[int, int]] = [(-1, -1)]
        self._test: list[NodeTest | None] = [None]
        self._gaps: list[tuple[Gap, Gap]] = [(_NO_GAP, _NO_GAP)]
        self._cluster: list[int] = [-1]
        self._mistakes: list[int] = [0]

    def cluster(self, node: int) -> int:
        """The cluster of a leaf; -1 before it is labeled."""
        return self._cluster[node]

    def label(self, node: int, cluster: int) -> None:
        """Give a leaf its cluster."""
        self._cluster[node] = cluster

    def split(
        self, node: int, test: NodeTest, *, centers: npt.NDArray[np.float64] | None = None, mistakes: int = 0
    ) -> tuple[int, int]:
        """Split a leaf in two.

        ``test``: of a searched column; its ends are any values of the left sides of their gaps. ``centers``:
        coordinates that bound the gap of a one-sided cut beside the rows' values. ``mistakes``: IMM's mistakes of the
        cut. Returns ``left``, ``right``: numbers of the children. The left one is the first of the two but where what
        lies right of the cut is what the tree's test names.
        """
        provider, cut, is_swapped = self.provider, test, False
        if provider.searched is not None:
            source = test.feature if test.levels is not None else int(provider.searched.source[test.feature])
            cut, test, is_swapped = ask(provider.searched, test, *provider.values(node, source), centers)
        (left_max, right_min), lower_gap = provider.partition(node, cut)
        if test.levels is None:
            if centers is not None:
                left_max = max(left_max, float(centers[centers <= cut.threshold].max(initial=-np.inf)))
                right_min = min(right_min, float(centers[centers > cut.threshold].min(initial=np.inf)))
            kind = provider.kind(test.feature)
            test = replace(
                test,
                threshold=place_threshold(left_max, right_min, kind),
                lower=place_threshold(*lower_gap, kind) if test.is_interval else test.lower,
            )
        self._test[node] = test
        self._gaps[node] = ((left_max, right_min), lower_gap)
        self._mistakes[node] = mistakes
        left, right = len(self._test), len(self._test) + 1
        self._children[node] = (left, right)
        for _ in range(2):
            self._children.append((-1, -1))
            self._test.append(None)
            self._gaps.append((_NO_GAP, _NO_GAP))
            self._cluster.append(-1)
            self._mistakes.append(0)
        return (right, left) if is_swapped else (left, right)

    def leaves(self) -> Iterable[int]:
        """Numbers of the leaves, in the order they were made."""
        return [node for node, (left, _) in enumerate(self._children) if left < 0]

    def finish(self, inseparable: list[tuple[int, ...]] | None = None) -> GrownTree:
        """The finished tree, nodes in preorder."""
        n_nodes = len(self._test)
        children = np.array(self._children, dtype=np.int32)
        order = preorder(children[:, 0], children[:, 1])
        number = np.empty(n_nodes, dtype=np.int32)
        number[order] = np.arange(n_nodes, dtype=np.int32)
        samples = np.zeros(n_nodes, dtype=np.int64)
        for leaf in self.leaves():
            samples[leaf] = self.provider.n_samples(leaf)
        for node in range(n_nodes - 1, -1, -1):  # children were made after their parents
            left, right = self._children[node]
            if left >= 0:
                samples[node] = samples[left] + samples[right]
        searched = self.provider.searched
        tree = ThresholdTree.from_unordered(
            children_left=children[:, 0],
            children_right=children[:, 1],
            feature=[-1 if test is None else test.feature for test in self._test],
            threshold=[np.nan if test is None else test.threshold for test in self._test],
            lower=[-np.inf if test is None else test.lower for test in self._test],
            cluster=self._cluster,
            n_features=self.provider.n_columns if searched is None else len(searched.kinds),
            levels=[None if test is None else test.levels for test in self._test],
            unknown=[test is not None and test.unknown for test in self._test],
            n_node_samples=samples,
            n_node_mistakes=self._mistakes,
        )
        return GrownTree(
            tree,
            self.provider.number_of_row({leaf: int(number[leaf]) for leaf in self.leaves()}),
            inseparable or [],
            np.array(self._gaps).reshape(n_nodes, 4)[order],
            split_order=order.astype(np.int32),
            leaf_clusters=np.array(self._cluster, dtype=np.int32)[order],
        )
