"""ExKMC's criterion: least cost when each side of a cut is served by one cluster."""

from __future__ import annotations

import numpy as np

from cutwise import core
from cutwise.tree.node_test import NodeTest
from cutwise.tree.provider import CostPayload, NodeSums

from .base import GrowthProblem, LeafCut

__all__ = ["SurrogateCriterion", "interval_cut", "leaf_cut"]


class SurrogateCriterion:
    """Least surrogate cost: each side of a cut served by the one reference cluster that serves it best.

    Where the problem allows intervals, one is taken only where it costs less than every one-sided cut; of equals the
    lowest column, then the lowest lower end, then the lowest upper end.

    Frost, Moshkovitz, Rashtchian (2020), Section 3; intervals: Fleissner, Vankadara, Ghoshdastidar (2024), Section 5.
    """

    ends_without_gain = True

    def __init__(self, problem: GrowthProblem) -> None:
        self._provider = problem.provider
        self._intervals = problem.intervals
        self._payload = CostPayload(problem.fixed_costs.excess)
        costs_nothing = np.asarray(self._payload.excess.any(axis=1)) == 0
        self._zero_cost_rows = costs_nothing.astype(np.uint8) if costs_nothing.any() else None

    def sums(self, node: int) -> NodeSums:
        """See :class:`ExpansionCriterion`; costs in fixed-point units above the base cost."""
        return self._provider.sums(node, self._payload)

    def label(self, sums: NodeSums) -> int:
        """See :class:`ExpansionCriterion`."""
        return int(np.argmin(sums.totals))

    def cost(self, sums: NodeSums, label: int) -> int:
        """See :class:`ExpansionCriterion`."""
        return int(sums.totals[label])

    def impurity(self, sums: NodeSums) -> float:
        """See :class:`ExpansionCriterion`."""
        return 0.0

    def best_cut(self, node: int, sums: NodeSums) -> LeafCut | None:
        """See :class:`ExpansionCriterion`."""
        provider, excess = self._provider, self._payload.excess
        found = provider.search(
            core.best_surrogate_cut, node, excess, sums.histogram, sums.totals, self._zero_cost_rows, provider.n_jobs
        )
        if found is None or not self._intervals or found[0] == 0:
            return leaf_cut(found)
        return interval_cut(
            provider.search_intervals(core.best_surrogate_interval, node, excess, sums.totals, found[0])
        ) or leaf_cut(found)


def interval_cut(found: tuple[int, float, int, float, float, int, int] | None) -> LeafCut | None:
    """What a search of the core found, as a cut."""
    if found is None:
        return None
    cost, impurity, feature, lower, upper, inside_label, outside_label = found
    return LeafCut(NodeTest(feature, upper, lower), cost, impurity, inside_label, outside_label)


def leaf_cut(found: tuple[int, float, int, float, int, int] | None) -> LeafCut | None:
    """What a search of the core found, as a cut."""
    if found is None:
        return None
    cost, impurity, feature, threshold, left_label, right_label = found
    return LeafCut(NodeTest(feature, threshold), cost, impurity, left_label, right_label)
