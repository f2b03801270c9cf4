"""Expand's criterion: fewest rows outside their side's commonest label."""

from __future__ import annotations

import numpy as np

from cutwise import core
from cutwise.tree.provider import LabelPayload, NodeSums

from .base import GrowthProblem, LeafCut
from .surrogate import interval_cut, leaf_cut

__all__ = ["DisagreementCriterion"]


class DisagreementCriterion:
    """Fewest rows outside their side's commonest label: the surrogate cost of 0/1 costs.

    With the problem's ``gini``, cuts that disagree equally are told apart by Gini impurity. Intervals as in
    :class:`~cutwise.tree.criteria.surrogate.SurrogateCriterion`.

    Kernel Expand in Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*.
    """

    ends_without_gain = True

    def __init__(self, problem: GrowthProblem) -> None:
        self._provider = problem.provider
        self._intervals = problem.intervals
        self._payload = LabelPayload(problem.labels, problem.n_clusters)
        self._gini = problem.gini

    def sums(self, node: int) -> NodeSums:
        """See :class:`ExpansionCriterion`; weight by label."""
        return self._provider.sums(node, self._payload)

    def label(self, sums: NodeSums) -> int:
        """See :class:`ExpansionCriterion`."""
        return int(np.argmax(sums.totals))

    def cost(self, sums: NodeSums, label: int) -> int:
        """See :class:`ExpansionCriterion`; summed weight of the rows with another label."""
        return int(sums.totals.sum() - sums.totals[label])

    def impurity(self, sums: NodeSums) -> float:
        """See :class:`ExpansionCriterion`; Gini impurity times weight."""
        if not self._gini or not sums.totals.any():
            return 0.0
        counts = sums.totals.astype(np.float64)
        return float(counts.sum() - (counts * counts).sum() / counts.sum())

    def best_cut(self, node: int, sums: NodeSums) -> LeafCut | None:
        """See :class:`ExpansionCriterion`."""
        provider, labels = self._provider, self._payload.labels
        found = provider.search(
            core.best_disagreement_cut, node, labels, provider.weights, sums.histogram, sums.totals, self._gini,
            provider.n_jobs,
        )  # fmt: skip
        if found is None or not self._intervals or (found[0] == 0 and found[1] == 0.0):
            return leaf_cut(found)
        return interval_cut(
            provider.search_intervals(
                core.best_disagreement_interval, node, labels, sums.totals, self._gini, found[0], found[1]
            )
        ) or leaf_cut(found)
