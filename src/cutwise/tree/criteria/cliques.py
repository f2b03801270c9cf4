"""SpEx's criterion on the clique graph: fewest separated pairs of rows of a cluster, relative to the sides."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cutwise import core
from cutwise.core import Int32, Int64
from cutwise.tree.limits import Limits
from cutwise.tree.provider import ExpansionCriterion, GrowthProblem, LeafCut, MemoryProvider, NodeSums
from cutwise.tree.threshold_tree import NodeTest


class CliqueCriterion(ExpansionCriterion):
    """Least sum over the sides of (edges that leave a side) / (edges at it), with edges between rows of one cluster.

    The leaf to split is the one whose best cut exceeds its own ratio least, even without a gain. Leaves with rows of a
    single cluster are not split.

    *SpEx: A Spectral Approach to Explainable Clustering* (2025), clique graph.
    """

    ends_without_gain = False

    def __init__(self, problem: GrowthProblem) -> None:
        super().__init__(problem)
        self._sizes = self._provider.totals(0, self._payload)

    def sums(self, node: int) -> NodeSums:
        """See :class:`ExpansionCriterion`; weight by label."""
        return NodeSums(self._provider.totals(node, self._payload), None)

    def cost(self, sums: NodeSums, label: int) -> Fraction:
        """See :class:`ExpansionCriterion`; the ratio of the leaf."""
        pairs = list(zip(sums.totals.tolist(), self._sizes.tolist(), strict=True))
        return _ratio(sum(n * (size - n) for n, size in pairs), sum(n * (size - 1) for n, size in pairs))

    def best_cut(self, node: int, sums: NodeSums) -> LeafCut | None:
        """See :class:`ExpansionCriterion`."""
        if np.count_nonzero(sums.totals) < 2:
            return None
        candidates = self._provider.search(node, FewestPairs(self._sizes, self._limits))
        if not candidates:
            return None
        scores = [_ratio(left, at_left) + _ratio(right, at_right) for left, at_left, right, at_right, *_ in candidates]
        best = scores.index(min(scores))
        feature, threshold, left_label, right_label = candidates[best][4:]
        return LeafCut(NodeTest(feature, threshold), scores[best], 0.0, left_label, right_label)


@dataclass(frozen=True, eq=False)
class FewestPairs:
    """Candidate cuts of a node, one of which has the least sum of ratios.

    ``sizes`` (k,) int64: weight of every cluster. Result: for each cut the edges that leave a side and the edges at it,
    left and right, feature, threshold, left label and right label.
    """

    sizes: Int64
    limits: Limits | None = None

    def among(self, memory: MemoryProvider, rows: Int32) -> list[tuple[int, int, int, int, int, float, int, int]]:
        """See :class:`cutwise.tree.provider.Search`."""
        return core.best_clique_cuts(
            memory.table.encoded, memory.table.matrix, rows, memory.labels, memory.weights, self.sizes,
            None if self.limits is None else self.limits.of_node, memory.n_jobs,
        )  # fmt: skip


def _ratio(separated: int, degree: int) -> Fraction:
    """The ratio of edges; 0 without any edges, as in clusters of one row."""
    return Fraction(separated, degree) if degree else Fraction(0)
