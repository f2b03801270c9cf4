"""IMM's criterion: fewest rows separated from their centers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from cutwise import core
from cutwise.core import Flags, Float64, Int32, Int64
from cutwise.table.table import SearchedColumns
from cutwise.tree.provider import (
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


class MistakeCriterion(SeparationCriterion):
    """Fewest rows separated from their centers; among equals, the cut whose sides cost least.

    ``problem``: its provider's costs break ties, and are computed when the first tie appears.

    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithm 1.
    """

    def __init__(self, problem: GrowthProblem) -> None:
        self._coordinates = problem.coordinates
        self._mistakes = Mistakes(problem.coordinates)
        super().__init__(problem.provider, self._mistakes, np.arange(problem.n_clusters, dtype=np.int32))

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        provider = self._provider
        mistakes, features, thresholds = provider.search(node.number, FewestMistakes(self._mistakes, node))
        if mistakes < 0:
            return provider.search(node.number, FewestByModes(self._mistakes, node, None))
        chosen = 0
        if len(features) > 1 and provider.size(node.number) > 0:
            tie = CheapestTie(self._mistakes, node, features, thresholds, mistakes)
            chosen = provider.search(node.number, tie)
        cut = SeparatingCut.at(
            int(features[chosen]), float(thresholds[chosen]), self._coordinates, node.survivors, mistakes
        )
        return provider.search(node.number, FewestByModes(self._mistakes, node, cut))


@dataclass(frozen=True, eq=False)
class Mistakes:
    """Weights by cluster, of rows whose cluster survives in their node; ``coordinates`` (k, d) of clusters."""

    coordinates: Float64

    def in_memory(self, memory: MemoryProvider) -> MistakeRows:
        """See :class:`cutwise.tree.provider.Separation`."""
        return MistakeRows(memory, self.coordinates)


@dataclass(frozen=True, eq=False)
class FewestMistakes:
    """The cuts of a node that separate the fewest rows from their centers.

    Result: ``mistakes``, -1 if no cut has centers on both sides; ``features``, ``thresholds`` of all such cuts, the
    lowest first.
    """

    mistakes: Mistakes
    node: SeparationNode

    def among(self, memory: MemoryProvider, rows: Int32) -> tuple[int, Int32, Float64]:
        """See :class:`cutwise.tree.provider.Search`."""
        return memory.state_of(self.mistakes).fewest(self.node, rows)


@dataclass(frozen=True, eq=False)
class CheapestTie:
    """Index of the cut whose sides cost least, each with its best surviving cluster; the first among equals.

    ``n_separated``: weight of the rows that each cut separates from their centers.
    """

    mistakes: Mistakes
    node: SeparationNode
    features: Int32
    thresholds: Float64
    n_separated: int

    def among(self, memory: MemoryProvider, rows: Int32) -> int:
        """See :class:`cutwise.tree.provider.Search`."""
        return memory.state_of(self.mistakes).cheapest(self, rows)


@dataclass(frozen=True, eq=False)
class FewestByModes:
    """The best of a cut and of sets of levels, by the fewest separated rows; centers are on the sides of their modes.

    Among equals, the one whose sides cost least, then the lowest column, then the cut.
    """

    mistakes: Mistakes
    node: SeparationNode
    cut: SeparatingCut | None

    def among(self, memory: MemoryProvider, rows: Int32) -> SeparatingCut | None:
        """See :class:`cutwise.tree.provider.Search`."""
        clusters_of_rows = memory.state_of(self.mistakes)
        may_win = None if self.cut is None else clusters_of_rows.may_win(self.node.survivors, self.cut.mistakes)
        sums_of = partial(clusters_of_rows.by_level, rows=rows)
        sets = allowed_categories(memory, rows, self.node.limits, sums_of, may_win)
        return self.best(sets, partial(_costs_of_sides, memory, rows), memory.table.searched)

    def best(
        self,
        sets: Iterable[LevelSums],
        costs_of_sides: Callable[[SeparatingCut], tuple[Int64, Int64]],
        searched: SearchedColumns | None,
    ) -> SeparatingCut | None:
        """The best of the cut and of ``sets``, which have weights by level and cluster of rows that are not mistakes.

        ``costs_of_sides``: gives the costs of the rows on each side of a threshold by every cluster.
        """
        best, best_second, survivors = self.cut, None, self.node.survivors
        for by_level in sets:
            category, allowed = by_level.category, (by_level.counts, by_level.limits)
            modes = category.modes(self.mistakes.coordinates)[survivors]
            # Weights of levels break ties, which matter only once a set is as good as the best, and decide which modes
            # share a group if there are many.
            is_settled = by_level.limits is None and len(survivors) <= core.MOST_MODE_GROUPS
            weight = by_level.sums.sum(axis=1) if is_settled else by_level.weight()
            found = core.fewest_mode_mistakes(by_level.sums, weight, survivors, modes, None, *allowed)
            if found is None:
                continue
            mistakes, _, levels, n_tied = found
            if best is not None and mistakes > best.mistakes:
                continue
            if best is not None and searched and n_tied == 1 and _is_alike(best, by_level, levels, modes, searched):
                continue
            costs = by_level.costs()
            found = core.fewest_mode_mistakes(by_level.sums, by_level.weight(), survivors, modes, costs, *allowed)
            assert found is not None
            mistakes, second, levels, _ = found
            if best is not None and mistakes == best.mistakes:
                assert searched is not None
                j, is_set = best.test.feature, best.test.levels is not None
                source = j if is_set else int(searched.source[j])
                if best_second is None:
                    if source == category.source:
                        right = costs[searched.level[j]]
                        left = costs.sum(axis=0) - right
                    else:
                        left, right = costs_of_sides(best)
                    best_second = int(left[survivors[best.goes_left]].min() + right[survivors[~best.goes_left]].min())
                if (best_second, source) <= (second, category.source):
                    continue
            test = NodeTest(category.source, math.nan, levels=tuple(levels))
            best, best_second = SeparatingCut(test, np.isin(modes, levels), mistakes=mistakes), second
        return best


def _is_alike(
    cut: SeparatingCut, by_level: LevelSums, levels: Sequence[int], modes: Int32, searched: SearchedColumns
) -> bool:
    """Whether a cut of one level equals a set of levels, with the same centers on its side."""
    j, category = cut.test.feature, by_level.category
    if cut.test.levels is not None or searched.source[j] != category.source or len(category.columns) < 2:
        return False
    is_own = np.isin(np.arange(category.n_levels), levels)
    if is_own[searched.level[j]] == (is_own.sum() > 1) or is_own.sum() not in (1, category.n_levels - 1):
        return False
    return bool((is_own[modes] == (is_own[searched.level[j]] != cut.goes_left)).all())


def _costs_of_sides(memory: MemoryProvider, rows: Int32, cut: SeparatingCut) -> tuple[Int64, Int64]:
    x = core.gather_rows(memory.table.matrix, rows.astype(np.int64), np.array([cut.test.feature]))[:, 0]
    left, right = core.level_costs((x > cut.test.threshold).astype(np.int32), rows, memory.costs.excess, 2)
    return left, right


class MistakeRows:
    """Rows in memory with their clusters (-1 for mistakes), and a histogram by cluster.

    The histogram is built once: every cluster is in exactly one open node, so a node's statistics are those of its
    clusters, and only rows that become mistakes are subtracted.
    """

    def __init__(self, memory: MemoryProvider, coordinates: Float64) -> None:
        self._memory = memory
        self._coordinates = coordinates
        self._cluster = memory.labels.copy()
        self._histogram, self._totals = memory.new_histogram(len(coordinates), width=1, of_weights=True)
        self._already_mistaken: dict[int, Int32] = {}

    def by_level(self, category: CodedCategory, rows: Int32) -> Int64:
        """Weight by level and cluster of the rows of a node that are not mistakes."""
        if self._histogram is not None:
            return category.levels.sums(self._histogram)[:, :, 0]
        return category.levels.count(rows, self._memory.weights, self._cluster, len(self._coordinates))

    def may_win(self, survivors: Int32, most: int) -> Int32 | None:
        """See ``core.may_separate``: all 0 for categories whose sets make more mistakes; None if not known."""
        if self._histogram is None or not self._memory.categories:
            return None
        return core.may_separate(self._memory.levels, self._histogram, survivors, self._modes, most)

    @cached_property
    def _modes(self) -> Int32:
        """Modes of all categories."""
        return self._memory.modes(self._coordinates)

    def fewest(self, node: SeparationNode, rows: Int32) -> tuple[int, Int32, Float64]:
        """See :class:`FewestMistakes`."""
        memory, table = self._memory, self._memory.table
        return core.fewest_mistakes(
            table.encoded, table.matrix, rows, self._cluster, table.weights, self._already_mistaken[node.number],
            self._histogram, self._totals, self._coordinates, node.survivors, node.core_limits, memory.n_jobs,
        )  # fmt: skip

    def cheapest(self, tie: CheapestTie, rows: Int32) -> int:
        """See :class:`CheapestTie`."""
        table, node = self._memory.table, tie.node
        mistaken = self._already_mistaken[node.number]
        cuts = (self._coordinates, node.survivors, tie.features, tie.thresholds)
        if core.divide_alike(table.encoded, table.matrix, rows if tie.n_separated else mistaken, *cuts):
            return 0  # such as by columns for yes and for no: costs by every center may not be needed at all
        excess = self._memory.costs.excess
        (of_mistaken,) = core.level_costs(np.zeros_like(mistaken), mistaken, excess, 1)
        totals, of_clusters = of_mistaken + self._costs[node.survivors].sum(axis=0), None
        if not tie.n_separated:
            rows, of_clusters = mistaken, self._costs
        return core.cheapest_tied_cut(table.encoded, table.matrix, rows, excess, totals, of_clusters, *cuts)

    @cached_property
    def _costs(self) -> Int64:
        """Costs by every cluster, summed over the rows of each cluster that are not mistakes, shape (k, k)."""
        rows = np.flatnonzero(self._cluster >= 0).astype(np.int32)
        return core.level_costs(self._cluster[rows], rows, self._memory.costs.excess, len(self._coordinates))

    def follow(self, node: SeparationNode | None, children: Sequence[SeparationNode]) -> None:
        """See :class:`cutwise.tree.provider.Provider`."""
        memory = self._memory
        if node is None:
            for root in children:
                self._already_mistaken[root.number] = np.empty(0, dtype=np.int32)
                self._add(memory.rows(root.number), sign=1)
            return
        del self._already_mistaken[node.number]
        if all(len(child.survivors) == 1 for child in children):  # no node with these clusters will be searched
            return
        for child in children:
            rows, k = memory.rows(child.number), len(self._coordinates)
            mistaken, self._already_mistaken[child.number] = core.mistaken_rows(rows, self._cluster, child.survivors, k)
            self._add(mistaken, sign=-1)
            if "_costs" in self.__dict__:  # ties needed them
                clusters, codes = np.unique(self._cluster[mistaken], return_inverse=True)
                of_mistaken = core.level_costs(codes.astype(np.int32), mistaken, memory.costs.excess, len(clusters))
                self._costs[clusters] -= of_mistaken
            self._cluster[mistaken] = -1

    def _add(self, rows: Int32, sign: int) -> None:
        self._memory.add_by_cluster(rows, self._cluster, self._histogram, self._totals, sign=sign)
