"""Criteria that part reference centers until each has a leaf: mistakes (IMM) and induced cost (ExGreedy, ExShallow)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from cutwise.core import searches
from cutwise.reference import FixedCosts
from cutwise.table import EncodedTable

__all__ = ["InducedCriterion", "MistakeCriterion", "SeparatingCut", "SeparationCriterion"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]

_HISTOGRAM_BYTES = 128 * 2**20
"""A histogram of every cluster is kept up to this size; above it columns are sorted node by node instead."""


@dataclass(frozen=True)
class SeparatingCut:
    """``x[feature] <= threshold``, a surviving center on each side; ``threshold`` is the left end of the gap."""

    feature: int
    threshold: float
    mistakes: int = 0


class SeparationCriterion(Protocol):
    """Chooses the cut of a node that holds several centers, and follows the rows down."""

    def best_cut(self, rows: Int32, survivors: Int32, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """The best cut of a node, or None when its centers are equal in every column.

        Parameters
        ----------
        rows : ndarray, int32
            All rows routed to the node.
        survivors : ndarray, int32
            Its centers in increasing order, two or more.
        kills_left, kills_right : ndarray of shape (n_columns,), uint8
            1 where a left (right) branch on the column makes an ancestor's condition redundant.
        """
        ...

    def follow(self, children: Sequence[tuple[Int32, Int32]]) -> None:
        """A node was cut: the rows and the surviving centers of both its children."""
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
        self._histogram = _new_histogram(table, len(coordinates), width=1)
        if self._histogram is not None:
            self._add(np.arange(table.n_rows, dtype=np.int32), sign=1)

    def best_cut(self, rows: Int32, survivors: Int32, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        table = self._table
        mistakes, features, thresholds = searches.fewest_mistakes(
            table.encoded, table.matrix, rows, self._cluster, table.weights, self._histogram, self._coordinates,
            survivors, self._n_jobs,
        )  # fmt: skip
        if mistakes < 0:
            return None
        chosen = 0
        if len(features) > 1 and self._costs is not None and len(rows) > 0:
            chosen = searches.cheapest_tied_cut(
                table.encoded,
                table.matrix,
                rows,
                self._costs().excess,
                self._coordinates,
                survivors,
                features,
                thresholds,
            )
        return SeparatingCut(int(features[chosen]), float(thresholds[chosen]), mistakes)

    def follow(self, children: Sequence[tuple[Int32, Int32]]) -> None:
        """See :class:`SeparationCriterion`: rows parted from their centers are dropped."""
        for rows, survivors in children:
            self._drop_mistakes(rows, survivors)

    def _drop_mistakes(self, rows: Int32, survivors: Int32) -> None:
        survives = np.zeros(len(self._coordinates) + 1, dtype=bool)  # the last entry answers for cluster -1: no mistake
        survives[survivors] = True
        survives[-1] = True
        parted = rows[~survives[self._cluster[rows]]]
        if len(parted) == 0:
            return
        if self._histogram is not None:
            self._add(parted, sign=-1)
        self._cluster[parted] = -1

    def _add(self, rows: Int32, sign: int) -> None:
        assert self._histogram is not None
        searches.add_to_cluster_histogram(
            self._table.encoded, rows, self._cluster, self._table.weights, None, self._histogram, sign, self._n_jobs
        )


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
        self._histogram = _new_histogram(table, len(coordinates), width=2 if self._penalty else 1)
        self._nearest = np.zeros(table.n_rows, dtype=np.int32)
        self._second = np.zeros(table.n_rows, dtype=np.int32)
        self._loss = np.zeros(table.n_rows, dtype=np.int64)
        every_row = np.arange(table.n_rows, dtype=np.int32)
        self._hold(every_row, np.arange(len(coordinates), dtype=np.int32), "root")

    def best_cut(self, rows: Int32, survivors: Int32, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        table = self._table
        found = searches.best_induced_cut(
            table.encoded, table.matrix, rows, self._costs.excess, self._costs.base, self._nearest, self._second,
            self._loss, table.weights, self._histogram, self._coordinates, survivors, self._penalty, kills_left,
            kills_right, self._n_jobs,
        )  # fmt: skip
        return None if found is None else SeparatingCut(found[2], found[3])

    def follow(self, children: Sequence[tuple[Int32, Int32]]) -> None:
        """See :class:`SeparationCriterion`: rows that lost their nearest or second nearest center find new ones."""
        for rows, survivors in children:
            self._hold(rows, survivors, "release")
        for rows, survivors in children:
            self._hold(rows, survivors, "hold")

    def _hold(self, rows: Int32, survivors: Int32, stage: Literal["root", "release", "hold"]) -> None:
        searches.hold_by_nearest(
            self._table.encoded, rows, self._costs.excess, survivors, self._table.weights, self._nearest, self._second,
            self._loss, self._histogram, stage, self._n_jobs,
        )  # fmt: skip


def _new_histogram(table: EncodedTable, k: int, *, width: int) -> Int64 | None:
    """Zeros of shape (n_slots, k, width), or None when they would not be worth their memory."""
    shape = (table.encoded.n_slots, k, width)
    if 8 * shape[0] * k * width > _HISTOGRAM_BYTES:
        return None
    return np.zeros(shape, dtype=np.int64)
