"""The criterion of ExGreedy and ExShallow: least cost when every row is served by the best center on its side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.tree.provider import GrowthProblem, MemoryProvider, SeparatingCut, SeparationNode, allowed_categories
from cutwise.tree.threshold_tree import NodeTest

Int32 = npt.NDArray[np.int32]
Float64 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]


class InducedCriterion:
    """Least ``Price + depth_penalty * DExp``: every row served by the best surviving center on its side.

    ``depth_penalty``: lambda of ExShallow; 0 is ExGreedy.

    Laber, Murtinho, Oliveira (2023), Algorithms 1 to 3.
    """

    def __init__(self, problem: GrowthProblem, depth_penalty: float = 0.0) -> None:
        self._provider = problem.provider
        self._coordinates = problem.coordinates
        self._nearest = NearestTwo(problem.coordinates, float(depth_penalty))
        self.clusters = np.arange(problem.n_clusters, dtype=np.int32)

    def start(self, root: SeparationNode) -> None:
        """See :class:`SeparationCriterion`: every row finds its two nearest centers."""
        self._provider.follow(self._nearest, None, [root])

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        return self._provider.search(node.number, LeastInduced(self._nearest, node, kills_left, kills_right))

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """See :class:`SeparationCriterion`: rows that lost their nearest or second nearest center find new ones."""
        self._provider.follow(self._nearest, node, children)


class ShallowCriterion(InducedCriterion):
    """ExShallow: the depth penalty is that of the problem."""

    def __init__(self, problem: GrowthProblem) -> None:
        super().__init__(problem, problem.depth_penalty)


@dataclass(frozen=True, eq=False)
class NearestTwo:
    """What every row loses at least when the two surviving centers nearest to it are separated.

    ``coordinates`` (k, d) float64 of the centers. ``depth_penalty``: where it is positive, how many rows a cut leaves
    on its left counts too.
    """

    coordinates: Float64
    depth_penalty: float

    def in_memory(self, memory: MemoryProvider) -> NearestTwoRows:
        """See :class:`cutwise.tree.provider.Separation`."""
        return NearestTwoRows(memory, self)


@dataclass(frozen=True, eq=False)
class LeastInduced:
    """The cut of a node that costs least when every row is served by the best surviving center on its side.

    ``kills_left``, ``kills_right`` (n_columns,) uint8: see :class:`SeparationCriterion`. None where no cut has centers
    on both sides.
    """

    nearest: NearestTwo
    node: SeparationNode
    kills_left: Flags
    kills_right: Flags

    def among(self, memory: MemoryProvider, rows: Int32) -> SeparatingCut | None:
        """See :class:`cutwise.tree.provider.Search`."""
        return memory.state_of(self.nearest).least(self, rows)


class NearestTwoRows:
    """Rows in memory with their two nearest surviving centers, and the histogram of their losses."""

    def __init__(self, memory: MemoryProvider, nearest: NearestTwo) -> None:
        k = len(nearest.coordinates)
        self._memory = memory
        self._costs = memory.costs
        self._excess: npt.NDArray[Any] = memory.costs.excess  # of either width
        # Counts beside losses: the depth term depends on how many points a cut leaves on its left.
        self._histogram, self._totals = memory.new_histogram(k, width=2 if nearest.depth_penalty else 1)
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
        cut = best = None
        if found is not None:
            score, induced, feature, threshold, is_valid = found
            cut = SeparatingCut.at(feature, threshold, nearest.coordinates, search.node.survivors)
            best = (not is_valid, score, induced)
            source = feature if table.searched is None else int(table.searched.source[feature])
        for category, counts, limits in allowed_categories(self._memory.categories, rows, search.node.limits):
            modes, first = category.modes(nearest.coordinates)[search.node.survivors], int(category.columns[0])
            sums = None if self._histogram is None else category.of_histogram(self._histogram, self._totals)
            by_modes = core.least_induced_modes(
                table.matrix, rows, category.codes, self._excess, table.weights, category.n_levels, sums,
                search.node.survivors, modes, self._nearest_costs, nearest.depth_penalty,
                bool(search.kills_left[first]), bool(search.kills_right[first]),
                None if best is None or best[0] else best[1], counts, limits,
            )  # fmt: skip
            if by_modes is None:
                continue
            is_valid, score, induced, levels = by_modes
            if best is not None and (*best, source) <= (not is_valid, score, induced, category.source):
                continue
            best, source = (not is_valid, score, induced), category.source
            cut = SeparatingCut(NodeTest(source, math.nan, levels=tuple(levels)), np.isin(modes, levels))
        return cut

    def follow(self, node: SeparationNode | None, children: Sequence[SeparationNode]) -> None:
        """See :class:`cutwise.tree.provider.Provider`."""
        memory = self._memory
        core.update_two_nearest(
            memory.table.encoded, memory.packed, self._costs.excess, self._costs.base, memory.weights,
            [memory.rows(child.number) for child in children], [child.survivors for child in children], self._states,
            self._histogram, self._totals, self._nearest_costs, memory.n_jobs,
        )  # fmt: skip


def new_states(n_rows: int, k: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Records of ``core.update_two_nearest``, one a row: room for costs of this dtype and the numbers of k clusters."""
    if dtype == np.int64:
        return np.empty((n_rows, 2), dtype=np.int64)
    return np.empty((n_rows, 4), dtype=np.int16) if k < 2**15 else np.empty((n_rows, 3), dtype=np.int32)
