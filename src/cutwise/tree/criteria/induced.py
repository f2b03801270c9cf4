"""The criterion of ExGreedy and ExShallow: least cost when every row is served by the best center on its side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core

from .base import GrowthProblem, SeparatingCut, SeparationNode
from .mistakes import new_histogram

__all__ = ["InducedCriterion", "ShallowCriterion", "new_states"]

Flags = npt.NDArray[np.uint8]


class InducedCriterion:
    """Least ``Price + depth_penalty * DExp``: every row served by the best surviving center on its side.

    ``depth_penalty``: lambda of ExShallow; 0 is ExGreedy.

    Laber, Murtinho, Oliveira (2023), Algorithms 1 to 3.
    """

    def __init__(self, problem: GrowthProblem, depth_penalty: float = 0.0) -> None:
        provider, k = problem.provider, problem.n_clusters
        self._provider = provider
        self._coordinates = problem.coordinates
        self._costs = problem.fixed_costs
        self._penalty = float(depth_penalty)
        # Counts beside losses: the depth term depends on how many points a cut leaves on its left.
        self._histogram, self._totals = new_histogram(provider, k, width=2 if self._penalty else 1)
        self._nearest_costs = np.zeros((k, 2), dtype=np.int64)
        self._states = new_states(provider.n_rows, k, self._costs.excess.dtype)
        self.clusters = np.arange(k, dtype=np.int32)

    def start(self, root: SeparationNode) -> None:
        """See :class:`SeparationCriterion`: every row finds its two nearest centers."""
        self._update_two_nearest([root])

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        provider = self._provider
        found = provider.search(
            core.best_induced_cut, node.number, self._costs.excess, self._states, provider.weights, self._histogram,
            self._totals, self._nearest_costs, self._coordinates, node.survivors, self._penalty, kills_left,
            kills_right, provider.n_jobs,
        )  # fmt: skip
        return None if found is None else SeparatingCut.at(found[2], found[3], self._coordinates, node.survivors)

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """See :class:`SeparationCriterion`: rows that lost their nearest or second nearest center find new ones."""
        self._update_two_nearest(children)

    def _update_two_nearest(self, nodes: Sequence[SeparationNode]) -> None:
        provider = self._provider
        core.update_two_nearest(
            provider.table.encoded, provider.packed, self._costs.excess, self._costs.base, provider.weights,
            [provider.rows(node.number) for node in nodes], [node.survivors for node in nodes], self._states,
            self._histogram, self._totals, self._nearest_costs, provider.n_jobs,
        )  # fmt: skip


class ShallowCriterion(InducedCriterion):
    """ExShallow: the depth penalty is that of the problem."""

    def __init__(self, problem: GrowthProblem) -> None:
        super().__init__(problem, problem.depth_penalty)


def new_states(n_rows: int, k: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Records of ``core.update_two_nearest``, one a row: room for costs of this dtype and the numbers of k clusters."""
    if dtype == np.int64:
        return np.empty((n_rows, 2), dtype=np.int64)
    return np.empty((n_rows, 4), dtype=np.int16) if k < 2**15 else np.empty((n_rows, 3), dtype=np.int32)
