"""Expand's criterion: fewest rows whose label is not the most common one of their side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutwise import core
from cutwise.core import Int32, Int64
from cutwise.table.table import SearchedColumns
from cutwise.tree.provider import CodedCategory, ExpansionCriterion, LeafCut, LevelSums, MemoryProvider, NodeSums

from .surrogate import CheapestCut


class DisagreementCriterion(ExpansionCriterion):
    """Fewest rows whose label is not the most common one of their side: the surrogate cost of 0/1 costs.

    With the problem's ``gini``, Gini impurity decides between cuts of equal disagreement. Intervals as in
    :class:`~cutwise.tree.criteria.surrogate.SurrogateCriterion`.

    Kernel Expand in Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*.
    """

    _gini_alone = False

    def cost(self, sums: NodeSums, label: int) -> int:
        """See :class:`ExpansionCriterion`; summed weight of the rows with another label."""
        return int(sums.totals.sum() - sums.totals[label])

    def impurity(self, sums: NodeSums) -> float:
        """See :class:`ExpansionCriterion`; Gini impurity times weight."""
        if not self._gini or not sums.totals.any():
            return 0.0
        counts = sums.totals.astype(np.float64)
        return float(counts.sum() - (counts * counts).sum() / counts.sum())

    def _search(self, sums: NodeSums) -> FewestDisagree:
        return FewestDisagree(sums, self._limits, None, self._gini, self._gini_alone)


class GiniCriterion(DisagreementCriterion):
    """Least Gini impurity, as in plain CART; among equal cuts the lowest column, where scikit-learn draws one.

    Leaves with several labels are split even without a gain.

    Breiman, Friedman, Olshen, Stone (1984), *Classification and Regression Trees*.
    """

    ends_without_gain = False
    _gini_alone = True

    def cost(self, sums: NodeSums, label: int) -> int:
        """See :class:`ExpansionCriterion`; impurity times weight in units of 2**-30, as in the core."""
        counts = sums.totals.astype(np.uint64)  # weights add up to less than 2^32, so squares to less than 2^64
        n = float(counts.sum())
        return int((n - float((counts * counts).sum()) / n) * 2**30) if n else 0

    def impurity(self, sums: NodeSums) -> float:
        """See :class:`ExpansionCriterion`."""
        return 0.0

    def best_cut(self, node: int, sums: NodeSums) -> LeafCut | None:
        """See :class:`ExpansionCriterion`."""
        return super().best_cut(node, sums) if np.count_nonzero(sums.totals) > 1 else None


@dataclass(frozen=True, eq=False)
class FewestDisagree(CheapestCut):
    """The cut with the fewest rows whose label is not the most common one of their side; None if rows are equal.

    ``gini``: impurity decides between equal cuts. ``gini_alone``: only impurity counts.
    """

    gini: bool = False
    gini_alone: bool = False

    by_label = True

    def or_set(
        self, cut: LeafCut | None, sets: Iterable[LevelSums], searched: SearchedColumns | None
    ) -> LeafCut | None:
        """See :class:`CheapestCut`; CART cuts single levels off."""
        return cut if self.gini_alone else super().or_set(cut, sets, searched)

    def _found(self, memory: MemoryProvider, rows: Int32) -> tuple[Any, ...] | None:
        return core.best_disagreement_cut(
            memory.table.encoded, memory.table.matrix, rows, memory.labels, memory.weights, self.sums.histogram,
            self.sums.totals, self.gini, None if self.limits is None else self.limits.of_node, memory.n_jobs,
            self.gini_alone,
        )  # fmt: skip

    def _interval(self, memory: MemoryProvider, rows: Int32, cost: int, impurity: float) -> tuple[Any, ...] | None:
        return core.best_disagreement_interval(
            memory.ranks, rows, memory.weights, memory.labels, self.sums.totals, self.gini, cost, impurity,
            memory.n_jobs,
        )  # fmt: skip

    def _level_sums(self, memory: MemoryProvider, rows: Int32, category: CodedCategory) -> Int64:
        return category.levels.count(rows, memory.weights, memory.labels, len(self.sums.totals))
