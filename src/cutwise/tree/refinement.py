"""The stage between growing and finishing: from grown trees of the same rows to one that is better by some measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cutwise.core import Matrix
from cutwise.reference import KMEANS, Objective
from cutwise.table import EncodedTable

from .growing import GrownTree
from .prune import prune_to_agreement
from .refine import Effort, Judged, SearchRecord, refine

__all__ = ["PruneToAgreement", "Refinement", "SearchCheaper"]

Int32 = npt.NDArray[np.int32]
Float64 = npt.NDArray[np.float64]


class Refinement(Protocol):
    """A way from grown trees to one; which trees these are, a recipe says by its ``starts``."""

    def refine(self, starts: Sequence[GrownTree]) -> GrownTree:
        """The refined tree; ``starts`` are trees of the same rows, with any numbers of leaves."""
        ...


@dataclass(frozen=True, eq=False)
class PruneToAgreement:
    """The subtree with few leaves that agrees best with the labels; of several trees' the first that agrees best.

    ``labels`` (m,) int32: cluster of every row. ``max_leaves``: of the result. ``weights`` (m,) int64, or None.
    """

    labels: Int32
    n_clusters: int
    max_leaves: int
    weights: npt.NDArray[np.int64] | None = None

    def refine(self, starts: Sequence[GrownTree]) -> GrownTree:
        """See :class:`Refinement`."""
        pruned = [
            prune_to_agreement(grown, self.labels, self.n_clusters, self.max_leaves, self.weights) for grown in starts
        ]
        agreement = [np.bincount(self.labels == grown.codes, self.weights, 2)[1] for grown in pruned]
        return pruned[int(np.argmax(agreement))]


@dataclass(frozen=True, eq=False)
class SearchCheaper:
    """The cheapest tree of ``n_leaves`` leaves that a search finds; parameters as in ``refine``."""

    table: EncodedTable
    metric: Matrix
    runs: Sequence[Float64]
    labels: Int32
    coordinates: Float64
    judge: Callable[[Int32], float]
    n_leaves: int
    effort: Effort
    objective: Objective = KMEANS
    depth_penalty: float = 0.03
    size_penalty: float = 0.0
    max_size: tuple[float, float] | None = None
    n_jobs: int = 1
    progress: Callable[[float], None] | None = None

    def refine(self, starts: Sequence[GrownTree]) -> GrownTree:
        """See :class:`Refinement`."""
        return self.search(starts)[0]

    def search(self, starts: Sequence[GrownTree]) -> tuple[GrownTree, SearchRecord, list[Judged]]:
        """The same, what the search did, and all trees that were measured on all rows."""
        grown, record, judged = refine(
            self.table,
            self.metric,
            self.runs,
            self.labels,
            self.coordinates,
            starts,
            self.judge,
            n_leaves=self.n_leaves,
            effort=self.effort,
            objective=self.objective,
            depth_penalty=self.depth_penalty,
            size_penalty=self.size_penalty,
            max_size=self.max_size,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        # No cut could give some clusters leaves of their own, but the search may have given them others.
        short = grown.tree.n_leaves < self.n_leaves
        inseparable = max((start.inseparable for start in starts), key=len) if short else []
        return replace(grown, inseparable=inseparable), record, judged
