"""What a tree may be: which columns it cuts, how deep it is, how much a leaf holds.

Limits filter cuts and change no score, so a search under limits finds the best cut that is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.exceptions import InfeasibleLimitsError

from .threshold_tree import NodeTest, ThresholdTree

_MOST_CENTERS = 2**31 - 1
MOST_DEPTH = 31
"""Trees that are deeper have room for more leaves than there are rows."""


class NoAllowedCutError(InfeasibleLimitsError):
    """A node whose clusters no allowed cut separates: its clusters, its rows and the tests above it."""

    def __init__(self, clusters: Sequence[int], n_rows: int, path: Sequence[tuple[NodeTest, bool]]) -> None:
        super().__init__(f"no allowed cut for clusters {list(clusters)}, which share {n_rows} rows")
        self.clusters, self.n_rows, self.path = clusters, n_rows, path


@dataclass(frozen=True, eq=False)
class Limits:
    """Which cuts are allowed among the m rows of a table.

    ``sources`` (d,) bool: the table's columns that may be cut; None: all. ``columns`` (D,) uint8: the same of the
    searched columns. ``max_depth``: tests on a path at most. ``least``: what a leaf counts at least, rows counting
    ``counts`` (m,), or 1 each; 0: no matter what. ``total``: what all count. ``by_weight``: whether that is weight.
    """

    sources: npt.NDArray[np.bool_] | None = None
    columns: npt.NDArray[np.uint8] | None = None
    max_depth: int | None = None
    least: int = 0
    counts: npt.NDArray[np.int64] | None = None
    total: int = 1
    by_weight: bool = False
    depth: int = 0  # of the node that is asked about

    def at(self, depth: int) -> Limits:
        """The limits of a node with so many tests above it."""
        return self if self.max_depth is None else replace(self, depth=depth)

    def has_room(self, depth: int) -> bool:
        """Whether a node at this depth may be cut at all."""
        return self.max_depth is None or depth < self.max_depth

    @property
    def most_centers(self) -> int:
        """How many clusters each side of a cut has room for."""
        if self.max_depth is not None and (left := self.max_depth - self.depth - 1) < MOST_DEPTH:
            return 2**left if left >= 0 else 0
        return _MOST_CENTERS

    @cached_property
    def of_node(self) -> core.NodeLimits:
        """As searches of the core take them."""
        return core.NodeLimits(self.columns, self.counts, self.least, self.most_centers)

    def are_met(self, tree: ThresholdTree, leaf_of_row: npt.NDArray[np.int32], rows: Any = None) -> bool:
        """Whether a tree that cuts allowed columns alone is within the limits, by the leaves of its rows.

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
