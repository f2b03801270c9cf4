"""IMM's criterion: fewest rows separated from their centers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.tree.provider import CostPayload, MemoryProvider

from .base import GrowthProblem, SeparatingCut, SeparationNode

__all__ = ["MistakeCriterion", "drop_mistaken", "new_histogram"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]

HISTOGRAM_BYTES = 128 * 2**20
"""A histogram of every cluster is kept up to this size; above it columns are sorted node by node instead."""

FEWER_TIMES = 8
"""A child that has this many times fewer rows than its sibling is small beside it: then columns are rather compared
than searched anew."""


class MistakeCriterion:
    """Fewest rows separated from their centers; of equals, the cut whose sides cost least.

    The histogram of all clusters is built once: every cluster lives in exactly one open node, so a node's statistics
    are those of its clusters, and only rows that become mistakes are ever taken out.

    ``problem``: its costs settle ties, and are asked for when the first tie appears; without them the lowest column and
    gap win.

    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithm 1.
    """

    def __init__(self, problem: GrowthProblem) -> None:
        self._provider = problem.provider
        self._cluster = problem.labels.copy()
        self._coordinates = problem.coordinates
        self._costs = problem.costs
        self._most_costs: npt.NDArray[Any] | None = None
        self._histogram, self._totals = new_histogram(problem.provider, problem.n_clusters, width=1)
        self.clusters = np.arange(problem.n_clusters, dtype=np.int32)

    def start(self, root: SeparationNode) -> None:
        """See :class:`SeparationCriterion`."""
        self._add(self._provider.rows(root.number), sign=1)

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        provider, survivors = self._provider, node.survivors
        node.cuts = node.cuts or core.CutCache()
        mistakes, features, thresholds = provider.search(
            core.fewest_mistakes, node.number, self._cluster, provider.weights, node.already_mistaken, self._histogram,
            self._totals, self._coordinates, survivors, node.cuts, provider.n_jobs,
        )  # fmt: skip
        if mistakes < 0:
            return None
        chosen = 0
        if len(features) > 1 and self._costs is not None and provider.size(node.number) > 0:
            excess = self._costs.fixed.excess
            if node.cost_totals is None:
                node.cost_totals = self._cost_totals(node)
            if self._most_costs is None:
                self._most_costs = np.zeros(len(excess), dtype=excess.dtype)
            chosen = provider.search(
                core.cheapest_tied_cut, node.number, excess, node.cost_totals, self._most_costs, self._coordinates,
                survivors, features, thresholds,
            )  # fmt: skip
        return SeparatingCut.at(
            int(features[chosen]), float(thresholds[chosen]), self._coordinates, survivors, mistakes
        )

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """See :class:`SeparationCriterion`: rows separated from their centers are dropped."""
        provider = self._provider
        smaller, larger = sorted(children, key=lambda child: provider.size(child.number))
        n_mistaken = 0
        for child in children:
            mistaken = drop_mistaken(provider, self._cluster, child, len(self._coordinates))
            self._add(mistaken, sign=-1)
            self._cluster[mistaken] = -1
            n_mistaken += len(mistaken)
        if len(larger.survivors) < 2:
            return
        # What a node knows is handed on to the larger child, less what the smaller one takes away.
        if node.cost_totals is not None:
            smaller.cost_totals = self._cost_totals(smaller)
            larger.cost_totals = node.cost_totals
            larger.cost_totals -= smaller.cost_totals
        n_smaller, n_larger = provider.size(smaller.number), provider.size(larger.number)
        if n_mistaken == len(node.already_mistaken) == 0 and FEWER_TIMES * n_smaller <= n_larger:
            larger.cuts, node.cuts = node.cuts, None
            if larger.cuts is not None:
                core.invalidate_changed_cuts(
                    larger.cuts, provider.table.matrix, provider.rows(smaller.number), self._cluster,
                    self._coordinates, smaller.survivors, larger.survivors,
                )  # fmt: skip

    def _cost_totals(self, node: SeparationNode) -> Int64:
        assert self._costs is not None
        return self._provider.totals(node.number, CostPayload(self._costs.fixed.excess))

    def _add(self, rows: Int32, sign: int) -> None:
        self._provider.add_by_cluster(rows, self._cluster, self._histogram, self._totals, sign=sign)


def drop_mistaken(provider: MemoryProvider, cluster: Int32, child: SeparationNode, k: int) -> Int32:
    """Rows of a child whose cluster went to the other side; sets its ``already_mistaken``."""
    mistaken, child.already_mistaken = core.mistaken_rows(provider.rows(child.number), cluster, child.survivors, k)
    return mistaken


def new_histogram(provider: MemoryProvider, k: int, *, width: int) -> tuple[Int64 | None, Int64]:
    """Zeros of shape (n_slots, k, width), None when not worth their memory; and totals of shape (k, width)."""
    totals = np.zeros((k, width), dtype=np.int64)
    if 8 * provider.n_slots * k * width > HISTOGRAM_BYTES:
        return None, totals
    return np.zeros((provider.n_slots, k, width), dtype=np.int64), totals
