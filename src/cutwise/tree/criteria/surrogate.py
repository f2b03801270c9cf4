"""ExKMC's criterion: least cost with one cluster for each side of a cut."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Int32, Int64
from cutwise.table.table import SearchedColumns
from cutwise.tree.limits import Limits
from cutwise.tree.provider import (
    CodedCategory,
    CostPayload,
    ExpansionCriterion,
    LeafCut,
    LevelSums,
    MemoryProvider,
    NodeSums,
    allowed_categories,
)
from cutwise.tree.threshold_tree import NodeTest


class SurrogateCriterion(ExpansionCriterion):
    """Least surrogate cost: each side of a cut has the reference cluster that is cheapest for it.

    If the problem allows intervals, one is chosen only if it costs less than every one-sided cut; among equals the
    lowest column, then the lowest lower end, then the lowest upper end.

    Frost, Moshkovitz, Rashtchian (2020), Section 3; intervals: Fleissner, Vankadara, Ghoshdastidar (2024), Section 5.
    """

    _payload_of = CostPayload

    def label(self, sums: NodeSums) -> int:
        """See :class:`ExpansionCriterion`."""
        return int(np.argmin(sums.totals))

    def cost(self, sums: NodeSums, label: int) -> int:
        """See :class:`ExpansionCriterion`."""
        return int(sums.totals[label])

    def _search(self, sums: NodeSums) -> CheapestCut:
        return CheapestCut(sums, self._limits)


@dataclass(frozen=True, eq=False)
class CheapestCut:
    """The cut of a node whose two sides cost least, each with one cluster; None if its rows are equal.

    ``known``: a cut; the result is then the cheapest interval, None if no interval costs less. ``by_label``: whether
    sums are weights by label, not costs. ``gini``: whether impurity decides between equal cuts.
    """

    sums: NodeSums
    limits: Limits | None = None
    known: LeafCut | None = None

    by_label, gini = False, False

    def among(self, memory: MemoryProvider, rows: Int32) -> LeafCut | None:
        """See :class:`cutwise.tree.provider.Search`."""
        if self.known is not None:
            return leaf_cut(self._interval(memory, rows, int(self.known.cost), self.known.impurity))
        cut, histogram = leaf_cut(self._found(memory, rows)), self.sums.histogram

        def of_level(category: CodedCategory) -> Int64:
            if histogram is None:
                return self._level_sums(memory, rows, category)
            return category.levels.sums(histogram[:, :, np.newaxis])[:, :, 0]

        may_win = self.may_win(memory, cut)
        return self.or_set(cut, allowed_categories(memory, rows, self.limits, of_level, may_win), memory.table.searched)

    def _found(self, memory: MemoryProvider, rows: Int32) -> tuple[Any, ...] | None:
        """The best cut by the core."""
        return core.best_surrogate_cut(
            memory.table.encoded, memory.table.matrix, rows, memory.costs.excess, self.sums.histogram, self.sums.totals,
            memory.zero_cost_rows, None if self.limits is None else self.limits.of_node, memory.n_jobs,
        )  # fmt: skip

    def _interval(self, memory: MemoryProvider, rows: Int32, cost: int, impurity: float) -> tuple[Any, ...] | None:
        """The best interval by the core that is better than this cost and impurity."""
        return core.best_surrogate_interval(
            memory.ranks, rows, memory.weights, memory.costs.excess, self.sums.totals, cost, memory.n_jobs
        )

    def _level_sums(self, memory: MemoryProvider, rows: Int32, category: CodedCategory) -> Int64:
        """Sums of the rows by level."""
        return category.costs(memory, rows)

    def may_win(self, memory: MemoryProvider, cut: LeafCut | None) -> npt.NDArray[np.bool_] | None:
        """Mask of the categories that may have a set of levels as cheap as a cut; None if not known."""
        if cut is None or self.sums.histogram is None or not memory.categories:
            return None
        histogram = self.sums.histogram[:, :, np.newaxis]
        return np.asarray(core.least_costs_of_sets(memory.levels, histogram, self.by_label) <= math.floor(cut.cost))

    def or_set(
        self, cut: LeafCut | None, sets: Iterable[LevelSums], searched: SearchedColumns | None
    ) -> LeafCut | None:
        """The better of a cut and the best set of levels; among equals the lower column, then the cut."""
        for by_level in sets:
            found = core.best_level_set(by_level.sums, self.by_label, self.gini, by_level.counts, by_level.limits)
            if found is None:
                continue
            (cost, impurity, levels, left_label, right_label), source = found, by_level.category.source
            if cut is not None:
                is_set = cut.test.levels is not None
                own = cut.test.feature if is_set or searched is None else int(searched.source[cut.test.feature])
                if (cut.cost, cut.impurity, own) <= (cost, impurity, source):
                    continue
            cut = LeafCut(NodeTest(source, math.nan, levels=tuple(levels)), cost, impurity, left_label, right_label)
        return cut


def leaf_cut(found: tuple[Any, ...] | None) -> LeafCut | None:
    """The result of a search of the core as a cut, by a threshold or by the two ends of an interval."""
    if found is None:
        return None
    cost, impurity, feature, *ends, left_label, right_label = found
    return LeafCut(NodeTest(feature, *reversed(ends)), cost, impurity, left_label, right_label)
