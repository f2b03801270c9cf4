"""The stage between growing and finishing: from grown trees of the same rows to one that is better by some measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .growing import GrownTree
from .prune import prune_to_agreement

Int32 = npt.NDArray[np.int32]


class Refinement(Protocol):
    """A way from grown trees to one; which trees these are, a recipe says by its ``starts``.

    ``PruneToAgreement`` is one, ``SearchCheaper`` in ``refine.py`` another.
    """

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
