"""Criteria that part reference centers until each has a leaf: mistakes (IMM) and induced cost (ExGreedy, ExShallow)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.reference import FixedCosts
from cutwise.table import EncodedTable

__all__ = ["InducedCriterion", "MistakeCriterion", "SeparatingCut", "SeparationCriterion", "SeparationNode"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]

_HISTOGRAM_BYTES = 128 * 2**20
"""A histogram of every cluster is kept up to this size; above it columns are sorted node by node instead."""

_IS_FEW = 8
"""A child is small beside its sibling when it has this many times fewer rows: then columns are rather compared than
searched anew."""


@dataclass(frozen=True, eq=False)
class SeparatingCut:
    """A test ``lower < x[feature] <= threshold`` with a surviving center on each side.

    Attributes
    ----------
    feature : int
    threshold : float
        The left end of its gap.
    goes_left : ndarray, bool
        By survivor: whether its center lies left.
    coordinates : ndarray, float64, or None
        The survivors' coordinates, where these bound the gap beside the rows' values.
    mistakes : int
        Rows parted from their centers, where the criterion counts them.
    lower : float
        The left end of the gap of an interval's other end; -inf for a threshold.
    """

    feature: int
    threshold: float
    goes_left: npt.NDArray[np.bool_]
    coordinates: Float64 | None = None
    mistakes: int = 0
    lower: float = -math.inf

    @classmethod
    def at(
        cls, feature: int, threshold: float, coordinates: Float64, survivors: Int32, mistakes: int = 0
    ) -> SeparatingCut:
        """A threshold between centers whose coordinates are those of the columns, of shape (k, d)."""
        along = coordinates[survivors, feature]
        return cls(feature, threshold, along <= threshold, along, mistakes)


@dataclass(eq=False)
class SeparationNode:
    """A node as a criterion sees it.

    Attributes
    ----------
    rows : ndarray, int32
        All rows routed to it.
    survivors : ndarray, int32
        Its centers, in increasing order.
    uncounted : ndarray, int32
        Rows that none of its centers holds (mistakes of earlier cuts); kept by the criterion.
    cost_totals : ndarray of shape (k,), int64, or None
        What all its rows cost by every cluster, where that is known; kept by the criterion.
    cuts : ColumnCuts or None
        The best cuts of its columns, as far as they are known; kept by the criterion.
    """

    rows: Int32
    survivors: Int32
    uncounted: Int32 = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    cost_totals: Int64 | None = None
    cuts: core.ColumnCuts | None = None


class SeparationCriterion(Protocol):
    """Chooses the cut of a node that holds several centers, and follows the rows down."""

    def start(self, root: SeparationNode) -> None:
        """Nothing is cut yet: this is the root."""
        ...

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """The best cut of a node of two or more centers, or None when these are equal in every column.

        Parameters
        ----------
        node : SeparationNode
        kills_left, kills_right : ndarray of shape (n_columns,), uint8
            1 where a left (right) branch on the column makes an ancestor's condition redundant.
        """
        ...

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """The node that was seen last was cut in two: these are its children."""
        ...


class MistakeCriterion:
    """Fewest rows parted from their centers; of equals, the cut whose sides cost least.

    The histogram of all clusters is built once: every cluster lives in exactly one open node, so a node's statistics
    are those of its clusters, and only rows that become mistakes are ever taken out.

    Parameters
    ----------
    table : EncodedTable
    labels : ndarray of shape (m,), int32
        Reference cluster of every row.
    coordinates : ndarray of shape (k, d), float64
        The clusters' coordinates in the columns that may be cut.
    costs : callable or None
        Gives the fixed-point costs that settle ties, when the first tie appears. None: the lowest column and gap win.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithm 1.
    """

    def __init__(
        self,
        table: EncodedTable,
        labels: Int32,
        coordinates: Float64,
        costs: Callable[[], FixedCosts] | None,
        n_jobs: int = 1,
    ) -> None:
        self._table = table
        self._cluster = labels.copy()
        self._coordinates = coordinates
        self._costs = costs
        self._n_jobs = n_jobs
        self._most_costs: npt.NDArray[Any] | None = None
        self._histogram, self._totals = _new_histogram(table, len(coordinates), width=1)

    def start(self, root: SeparationNode) -> None:
        """See :class:`SeparationCriterion`."""
        self._add(root.rows, sign=1)

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        table, rows, survivors = self._table, node.rows, node.survivors
        node.cuts = node.cuts or core.ColumnCuts()
        mistakes, features, thresholds = core.fewest_mistakes(
            table.encoded, table.matrix, rows, self._cluster, table.weights, node.uncounted, self._histogram,
            self._totals, self._coordinates, survivors, node.cuts, self._n_jobs,
        )  # fmt: skip
        if mistakes < 0:
            return None
        chosen = 0
        if len(features) > 1 and self._costs is not None and len(rows) > 0:
            excess = self._costs().excess
            if node.cost_totals is None:
                node.cost_totals = self._cost_totals(rows)
            if self._most_costs is None:
                self._most_costs = np.zeros(len(excess), dtype=excess.dtype)
            chosen = core.cheapest_tied_cut(
                table.encoded, table.matrix, rows, excess, node.cost_totals, self._most_costs, self._coordinates,
                survivors, features, thresholds,
            )  # fmt: skip
        return SeparatingCut.at(
            int(features[chosen]), float(thresholds[chosen]), self._coordinates, survivors, mistakes
        )

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """See :class:`SeparationCriterion`: rows parted from their centers are dropped."""
        k = len(self._coordinates)
        smaller, larger = sorted(children, key=lambda child: len(child.rows))
        none_parted = True
        for child in children:
            parted, child.uncounted = core.parted_rows(child.rows, self._cluster, child.survivors, k)
            none_parted = none_parted and len(parted) == 0
            self._add(parted, sign=-1)
            self._cluster[parted] = -1
        if len(larger.survivors) < 2:
            return
        # What a node knows is handed on to the larger child, less what the smaller one takes away.
        if node.cost_totals is not None:
            smaller.cost_totals = self._cost_totals(smaller.rows)
            larger.cost_totals = node.cost_totals
            larger.cost_totals -= smaller.cost_totals
        if none_parted and len(node.uncounted) == 0 and _IS_FEW * len(smaller.rows) <= len(larger.rows):
            larger.cuts, node.cuts = node.cuts, None
            if larger.cuts is not None:
                core.forget_changed_cuts(
                    larger.cuts, self._table.matrix, smaller.rows, self._cluster, self._coordinates,
                    smaller.survivors, larger.survivors,
                )  # fmt: skip

    def _cost_totals(self, rows: Int32) -> Int64:
        assert self._costs is not None
        excess = self._costs().excess
        totals = np.zeros(excess.shape[1], dtype=np.int64)
        core.add_to_cost_histogram(self._table.encoded, None, rows, excess, None, totals, self._n_jobs)
        return totals

    def _add(self, rows: Int32, sign: int) -> None:
        core.add_to_cluster_histogram(
            self._table.encoded, None, rows, self._cluster, self._table.weights, None, self._histogram,
            self._totals, sign, self._n_jobs,
        )  # fmt: skip


class InducedCriterion:
    """Least ``Price + depth_penalty * DExp``: every row served by the best surviving center on its side.

    Parameters
    ----------
    table : EncodedTable
    coordinates : ndarray of shape (k, d), float64
        The clusters' coordinates in the columns that may be cut.
    costs : FixedCosts
        Of the m rows and k clusters.
    depth_penalty : float
        Lambda of ExShallow; 0 is ExGreedy.

    References
    ----------
    Laber, Murtinho, Oliveira (2023), Algorithms 1 to 3.
    """

    def __init__(
        self,
        table: EncodedTable,
        coordinates: Float64,
        costs: FixedCosts,
        depth_penalty: float,
        n_jobs: int = 1,
    ) -> None:
        self._table = table
        self._coordinates = coordinates
        self._costs = costs
        self._penalty = float(depth_penalty)
        self._n_jobs = n_jobs
        # Counts beside losses: the depth term depends on how many points a cut leaves on its left.
        width = 2 if self._penalty else 1
        self._histogram, self._totals = _new_histogram(table, len(coordinates), width=width)
        self._held = np.zeros((len(coordinates), 2), dtype=np.int64)
        self._packed = core.pack_codes(table.encoded, n_jobs)
        self._states = new_states(table.n_rows, len(coordinates), costs.excess.dtype)

    def start(self, root: SeparationNode) -> None:
        """See :class:`SeparationCriterion`: every row finds its two nearest centers."""
        self._hold([root])

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        table = self._table
        found = core.best_induced_cut(
            table.encoded, table.matrix, node.rows, self._costs.excess, self._states, table.weights, self._histogram,
            self._totals, self._held, self._coordinates, node.survivors,
            self._penalty, kills_left, kills_right, self._n_jobs,
        )  # fmt: skip
        return None if found is None else SeparatingCut.at(found[2], found[3], self._coordinates, node.survivors)

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """See :class:`SeparationCriterion`: rows that lost their nearest or second nearest center find new ones."""
        self._hold(children)

    def _hold(self, nodes: Sequence[SeparationNode]) -> None:
        core.hold_by_nearest(
            self._table.encoded, self._packed, self._costs.excess, self._costs.base, self._table.weights,
            [node.rows for node in nodes], [node.survivors for node in nodes], self._states, self._histogram,
            self._totals, self._held, self._n_jobs,
        )  # fmt: skip


def new_states(n_rows: int, k: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Records of ``core.hold_by_nearest``, one a row: room for costs of this dtype and the numbers of k clusters."""
    if dtype == np.int64:
        return np.empty((n_rows, 2), dtype=np.int64)
    return np.empty((n_rows, 4), dtype=np.int16) if k < 2**15 else np.empty((n_rows, 3), dtype=np.int32)


def _new_histogram(table: EncodedTable, k: int, *, width: int) -> tuple[Int64 | None, Int64]:
    """Zeros of shape (n_slots, k, width), None when not worth their memory; and totals of shape (k, width)."""
    totals = np.zeros((k, width), dtype=np.int64)
    shape = (table.encoded.n_slots, k, width)
    if 8 * shape[0] * k * width > _HISTOGRAM_BYTES:
        return None, totals
    return np.zeros(shape, dtype=np.int64), totals
