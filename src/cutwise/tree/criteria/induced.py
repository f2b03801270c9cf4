"""The criterion of ExGreedy and ExShallow: least cost with the best center on the side of every row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Flags, Float64, Int32, Int64
from cutwise.table.table import SearchedColumns
from cutwise.tree.provider import (
    Category,
    CodedCategory,
    GrowthProblem,
    LevelSums,
    MemoryProvider,
    SeparatingCut,
    SeparationCriterion,
    SeparationNode,
    allowed_categories,
)
from cutwise.tree.threshold_tree import NodeTest

ModesCut = tuple[bool, float, int, list[int]]
"""Whether each side has as many distinct rows as centers, the score, the cost of rows on their sides, the levels."""
_MOST_CELLS_A_ROW = 8
"""Cells of a histogram per row whose memory is negligible compared with that of the rows."""


class InducedCriterion(SeparationCriterion):
    """Least ``Price + depth_penalty * DExp``, with the best surviving center on the side of every row.

    ``depth_penalty``: lambda of ExShallow; 0 is ExGreedy.

    Laber, Murtinho, Oliveira (2023), Algorithms 1 to 3.
    """

    def __init__(self, problem: GrowthProblem, depth_penalty: float = 0.0) -> None:
        self._nearest = NearestTwo(problem.coordinates, float(depth_penalty))
        super().__init__(problem.provider, self._nearest, np.arange(problem.n_clusters, dtype=np.int32))

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        return self._provider.search(node.number, LeastInduced(self._nearest, node, kills_left, kills_right))


class ShallowCriterion(InducedCriterion):
    """ExShallow, with the depth penalty of the problem."""

    def __init__(self, problem: GrowthProblem) -> None:
        super().__init__(problem, problem.spec.depth_penalty)


@dataclass(frozen=True, eq=False)
class NearestTwo:
    """Least loss of every row that is separated from its nearest surviving center: the second nearest costs more.

    ``coordinates`` (k, d) float64: of the centers. ``depth_penalty``: if positive, numbers of rows are counted as well.
    """

    coordinates: Float64
    depth_penalty: float

    def in_memory(self, memory: MemoryProvider) -> NearestTwoRows:
        """See :class:`cutwise.tree.provider.Separation`."""
        return NearestTwoRows(memory, self)


@dataclass(frozen=True, eq=False)
class LeastInduced:
    """The cheapest cut of a node with the best surviving center on the side of every row.

    ``kills_left``, ``kills_right`` (n_columns,) uint8: see :class:`SeparationCriterion`. The result is None if no cut
    has centers on both sides.
    """

    nearest: NearestTwo
    node: SeparationNode
    kills_left: Flags
    kills_right: Flags

    def among(self, memory: MemoryProvider, rows: Int32) -> SeparatingCut | None:
        """See :class:`cutwise.tree.provider.Search`."""
        return memory.state_of(self.nearest).least(self, rows)

    def best(
        self,
        found: Induced | None,
        searched: SearchedColumns | None,
        sets: Callable[[float | None], Iterable[tuple[Category, ModesCut | None]]],
    ) -> SeparatingCut | None:
        """The better of a cut and the best set of levels; ``sets``: gives the sets that may beat a score."""
        cut = best = None
        if found is not None:
            cut, best = found.cut, (not found.is_valid, found.score, found.induced)
            source = cut.test.feature if searched is None else int(searched.source[cut.test.feature])
        for category, by_modes in sets(found.score if found is not None and found.is_valid else None):
            if by_modes is None:
                continue
            is_valid, score, induced, levels = by_modes
            if best is not None and (*best, source) <= (not is_valid, score, induced, category.source):
                continue
            best, source = (not is_valid, score, induced), category.source
            modes = category.modes(self.nearest.coordinates)[self.node.survivors]
            cut = SeparatingCut(NodeTest(source, math.nan, levels=tuple(levels)), np.isin(modes, levels))
        return cut

    def modes_cut(
        self,
        by_level: LevelSums,
        shares: tuple[Int32, npt.NDArray[np.uint64], Int64],
        weight: Int64,
        distinct: Int64,
        current: int,
        known_score: float | None,
        parts: Int32 | None = None,
    ) -> ModesCut | None:
        """The best set of levels of a category.

        ``shares``: of ``core.mode_shares`` for all rows of the node. ``weight``, ``distinct`` (n_levels,): weight and
        number of distinct rows by level. ``current``: cost of the node. ``parts`` (n_survivors,): see
        ``core.mode_shares``.
        """
        category, modes = by_level.category, by_level.category.modes(self.nearest.coordinates)[self.node.survivors]
        kills_left, kills_right = (bool(kills[category.columns[0]]) for kills in (self.kills_left, self.kills_right))
        best: ModesCut | None = core.least_induced_modes(
            *shares, weight, distinct, modes, current, self.nearest.depth_penalty, kills_left, kills_right, known_score,
            by_level.counts, by_level.limits, parts,
        )  # fmt: skip
        return best


class Induced(NamedTuple):
    """A cut: whether its sides have as many distinct rows as centers, its score, and the cost of rows on its sides."""

    is_valid: bool
    score: float
    induced: int
    cut: SeparatingCut


class NearestTwoRows:
    """Rows in memory with their two nearest surviving centers, and the histogram of their losses."""

    def __init__(self, memory: MemoryProvider, nearest: NearestTwo) -> None:
        k = len(nearest.coordinates)
        self._memory, self._coordinates = memory, nearest.coordinates
        self._costs = memory.costs
        self._excess: npt.NDArray[Any] = memory.costs.excess  # of either width
        # Counts besides losses: the depth term needs the number of points left of a cut. Otherwise counts exclude cuts
        # with fewer rows than centers on a side, which one-hot columns have in large numbers.
        counts = nearest.depth_penalty > 0 or memory.n_slots * k <= _MOST_CELLS_A_ROW * memory.table.n_rows
        self._histogram, self._totals = memory.new_histogram(k, width=1 + counts)
        self._nearest_costs = np.zeros((k, 2), dtype=np.int64)
        self._states = new_states(memory.table.n_rows, k, self._costs.excess.dtype)

    def least(self, search: LeastInduced, rows: Int32) -> SeparatingCut | None:
        """See :class:`LeastInduced`."""
        table, nearest = self._memory.table, search.nearest
        found = core.best_induced_cut(
            table.encoded, table.matrix, rows, self._costs.excess, self._states, table.weights, self._histogram,
            self._totals, self._nearest_costs, nearest.coordinates, search.node.survivors, nearest.depth_penalty,
            search.kills_left, search.kills_right, search.node.core_limits, self._memory.n_jobs,
        )  # fmt: skip
        best = None
        if found is not None:
            score, induced, feature, threshold, is_valid = found
            cut = SeparatingCut.at(feature, threshold, nearest.coordinates, search.node.survivors)
            best = Induced(is_valid, score, induced, cut)

        return search.best(best, table.searched, partial(self._by_modes, search, rows))

    def _by_modes(
        self, search: LeastInduced, rows: Int32, known_score: float | None
    ) -> Iterator[tuple[Category, ModesCut | None]]:
        memory, node, nearest = self._memory, search.node, search.nearest
        if not memory.categories:
            return
        current = int(self._nearest_costs[node.survivors].sum())
        parts = None
        if self._histogram is not None and known_score is not None:
            first = np.array([each.columns[0] for each in memory.categories])
            parts = core.may_induce(
                memory.levels, self._histogram, node.survivors, self._modes, first, current, nearest.depth_penalty,
                search.kills_left, search.kills_right, known_score,
            )  # fmt: skip
        for by_level in allowed_categories(memory, rows, node.limits, lambda _: None, parts):
            category = by_level.category
            assert isinstance(category, CodedCategory)
            own = None if parts is None else parts[memory.categories.index(category)]
            modes = category.modes(nearest.coordinates)[node.survivors]
            if len(np.unique(modes)) > 1:
                codes, weight = category.levels.codes(rows), self._weight(by_level, node)
                shares = core.mode_shares(codes, rows, self._excess, weight, node.survivors, modes, own)
                rest = (current, known_score, own)
                found = search.modes_cut(by_level, shares, weight, np.full(len(weight), len(modes)), *rest)
                if found is None:
                    continue
                # Distinct rows matter only for sets that beat the known score, and few rows of a side show them.
                *_, levels = found
                matrix, inside = memory.table.matrix, np.isin(modes, levels)
                sides = np.isin(np.arange(len(weight)), levels).astype(np.int32)[codes]
                of_sides = core.distinct_by_level(matrix, rows, sides, 2, len(modes))
                if of_sides[1] < inside.sum() or of_sides[0] < (~inside).sum():
                    distinct = core.distinct_by_level(matrix, rows, codes, len(weight), len(modes))
                    found = search.modes_cut(by_level, shares, weight, distinct, *rest)
                yield category, found

    def _weight(self, by_level: LevelSums, node: SeparationNode) -> Int64:
        """Weight of every level of a category in a node."""
        if self._histogram is None or self._histogram.shape[2] == 1:
            return by_level.weight()
        assert isinstance(by_level.category, CodedCategory)
        weight: Int64 = by_level.category.levels.sums(self._histogram)[:, node.survivors, 1].sum(axis=1)
        return weight

    @cached_property
    def _modes(self) -> Int32:
        """Modes of all categories."""
        return self._memory.modes(self._coordinates)

    def follow(self, node: SeparationNode | None, children: Sequence[SeparationNode]) -> None:
        """See :class:`cutwise.tree.provider.Provider`."""
        memory = self._memory
        core.update_two_nearest(
            memory.table.encoded, self._costs.excess, self._costs.base, memory.weights,
            [memory.rows(child.number) for child in children], [child.survivors for child in children], self._states,
            self._histogram, self._totals, self._nearest_costs, memory.n_jobs,
        )  # fmt: skip


def new_states(n_rows: int, k: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Records of ``core.update_two_nearest``, one per row, for costs of this dtype and numbers of k clusters."""
    if dtype == np.int64:
        return np.full((n_rows, 2), -1, dtype=np.int64)
    return np.full((n_rows, 4), -1, dtype=np.int16) if k < 2**15 else np.full((n_rows, 3), -1, dtype=np.int32)
