"""What a tree may be: which columns it cuts, how deep it is, how much a leaf holds.

Limits filter cuts and change no score, so a search under limits finds the best cut that is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.exceptions import InfeasibleLimitsError

from .threshold_tree import NodeTest, ThresholdTree

_MOST_CENTERS = 2**31 - 1
MOST_DEPTH = 31
"""Deeper trees have room for more leaves than there are rows."""


class NoAllowedCutError(InfeasibleLimitsError):
    """No allowed cut separates the clusters of a node: with the clusters, the number of rows and the tests above."""

    def __init__(self, clusters: Sequence[int], n_rows: int, path: Sequence[tuple[NodeTest, bool]]) -> None:
        super().__init__(f"no allowed cut for clusters {list(clusters)}, which share {n_rows} rows")
        self.clusters, self.n_rows, self.path = clusters, n_rows, path


@dataclass(frozen=True, eq=False)
class Limits:
    """Which cuts are allowed among the m rows of a table.

    ``columns`` (D,) uint8: the searched columns that may be cut; None: all. ``max_depth``: tests on a path at most.
    ``least``: smallest sum of ``counts`` (m,), or number of rows, in a leaf; 0: no limit. ``total``: the sum over all
    rows. ``by_weight``: whether counts are weights. ``plans``: the cuts of a ``PlannedCriterion``, if one was needed:
    all algorithms share them.
    """

    columns: npt.NDArray[np.uint8] | None = None
    max_depth: int | None = None
    least: int = 0
    counts: npt.NDArray[np.int64] | None = None
    total: int = 1
    by_weight: bool = False
    depth: int = 0  # depth of the node to cut
    plans: list[Any] = field(default_factory=list)

    @property
    def is_of_depth(self) -> bool:
        """Whether only the depth is limited."""
        return self.columns is None and self.least == 0

    def at(self, depth: int) -> Limits:
        """The limits of a node with so many tests above it."""
        return self if self.max_depth is None else replace(self, depth=depth)

    def has_room(self, depth: int) -> bool:
        """Whether a node at this depth may be cut at all."""
        return self.max_depth is None or depth < self.max_depth

    @property
    def most_centers(self) -> int:
        """Number of clusters that each side of a cut has room for."""
        if self.max_depth is not None and (left := self.max_depth - self.depth - 1) < MOST_DEPTH:
            return 2**left if left >= 0 else 0
        return _MOST_CENTERS

    @cached_property
    def of_node(self) -> core.NodeLimits:
        """As searches of the core take them."""
        return core.NodeLimits(self.columns, self.counts, self.least, self.most_centers)

    def are_met(self, tree: ThresholdTree, leaf_of_row: npt.NDArray[np.int32], rows: Any = None) -> bool:
        """Whether a tree that cuts only allowed columns is within the limits, given the leaves of its rows.

        ``rows``: see ``GrownTree``.
        """
        if self.max_depth is not None and tree.depth > self.max_depth:
            return False
        if tree.n_leaves == 1 or self.least == 0:
            return True
        if rows is not None and not self.by_weight:
            return bool(tree.n_node_samples[tree.leaves].min() >= self.least)
        own = self.counts if rows is None else rows.by_label[1]
        counts = np.bincount(leaf_of_row, weights=own, minlength=tree.n_nodes)
        return bool(counts[tree.leaves].min() >= self.least)
