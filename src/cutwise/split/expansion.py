"""Criteria that replace a leaf by two, each with its best cluster: surrogate cost (ExKMC), disagreement (Expand)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.reference import FixedCosts
from cutwise.table import EncodedTable

__all__ = ["DisagreementCriterion", "ExpansionCriterion", "LeafCut", "SurrogateCriterion"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LeafCut:
    """The best cut of a leaf: rows with ``lower < x[feature] <= threshold`` go left.

    ``threshold`` and a finite ``lower`` are the largest values of the leaf on their left. ``cost`` is what both sides
    cost together, each under its own label, in the criterion's units; ``impurity`` tells apart cuts of equal cost, 0
    where the criterion has no second score.
    """

    feature: int
    threshold: float
    cost: int
    impurity: float
    left_label: int
    right_label: int
    lower: float = -math.inf


@dataclass(eq=False)
class LeafSums:
    """The statistics of a leaf's rows; those of a node are the sums of its children's.

    Attributes
    ----------
    totals : ndarray of shape (k,), int64
        Over all rows.
    histogram : ndarray of shape (n_slots, k), int64, or None
        Over the rows of every slot; None when sorting the columns is cheaper.
    """

    totals: Int64
    histogram: Int64 | None

    @property
    def nbytes(self) -> int:
        """Memory of the histogram."""
        return 0 if self.histogram is None else self.histogram.nbytes

    def less(self, child: LeafSums) -> LeafSums | None:
        """The statistics of the other child, in this one's memory; None when there is no histogram to take from."""
        if self.histogram is None or child.histogram is None:
            return None
        self.histogram -= child.histogram
        self.totals -= child.totals
        return self


class ExpansionCriterion(Protocol):
    """Chooses the cut of a leaf."""

    def sums(self, rows: Int32) -> LeafSums:
        """The statistics of these rows."""
        ...

    def label(self, sums: LeafSums) -> int:
        """The best cluster for a leaf, the lowest number of equals."""
        ...

    def cost(self, sums: LeafSums, label: int) -> int:
        """What a leaf costs when one cluster serves all its rows."""
        ...

    def impurity(self, sums: LeafSums) -> float:
        """The second score of a leaf; 0 where there is none."""
        ...

    def best_cut(self, rows: Int32, sums: LeafSums) -> LeafCut | None:
        """The cut of least cost, or None when the rows are equal in every column."""
        ...


class SurrogateCriterion:
    """Least surrogate cost: each side of a cut served by the one reference cluster that serves it best.

    Parameters
    ----------
    table : EncodedTable
    costs : FixedCosts
        Of the m rows and k clusters.
    ranks : Ranks or None
        Of the table: cuts may be intervals. An interval is taken only where it costs less than every one-sided cut; of
        equals the lowest column, then the lowest lower end, then the lowest upper end.

    References
    ----------
    Frost, Moshkovitz, Rashtchian (2020), Section 3; intervals: Fleissner, Vankadara, Ghoshdastidar (2024), Section 5.
    """

    def __init__(
        self, table: EncodedTable, costs: FixedCosts, ranks: core.Ranks | None = None, n_jobs: int = 1
    ) -> None:
        self._table = table
        self._ranks = ranks
        self._excess = costs.excess
        self._packed = core.pack_codes(table.encoded, n_jobs)
        self._n_jobs = n_jobs
        silent = np.asarray(costs.excess.any(axis=1)) == 0
        self._silent = silent.astype(np.uint8) if silent.any() else None

    def sums(self, rows: Int32) -> LeafSums:
        """See :class:`ExpansionCriterion`; costs in fixed-point units above the base cost."""
        # Bins have sums for every cluster, and so does every row that is passed in order of a column.
        bins_pay = len(rows) * self._table.encoded.n_cols > 2 * self._table.encoded.n_slots
        sums = _new_sums(self._table, self._excess.shape[1], bins_pay=bins_pay)
        core.add_to_cost_histogram(
            self._table.encoded, self._packed, rows, self._excess, sums.histogram, sums.totals, self._n_jobs
        )
        return sums

    def label(self, sums: LeafSums) -> int:
        """See :class:`ExpansionCriterion`."""
        return int(np.argmin(sums.totals))

    def cost(self, sums: LeafSums, label: int) -> int:
        """See :class:`ExpansionCriterion`."""
        return int(sums.totals[label])

    def impurity(self, sums: LeafSums) -> float:
        """See :class:`ExpansionCriterion`."""
        return 0.0

    def best_cut(self, rows: Int32, sums: LeafSums) -> LeafCut | None:
        """See :class:`ExpansionCriterion`."""
        table = self._table
        found = core.best_surrogate_cut(
            table.encoded, table.matrix, rows, self._excess, sums.histogram, sums.totals, self._silent, self._n_jobs
        )
        if found is None or self._ranks is None or found[0] == 0:
            return _leaf_cut(found)
        return _interval_cut(
            core.best_surrogate_interval(
                self._ranks, rows, table.weights, self._excess, sums.totals, found[0], self._n_jobs
            )
        ) or _leaf_cut(found)


class DisagreementCriterion:
    """Fewest rows outside their side's commonest label: the surrogate cost of 0/1 costs.

    Parameters
    ----------
    table : EncodedTable
    labels : ndarray of shape (m,), int32
        Reference cluster of every row.
    k : int
        Number of clusters.
    gini : bool, default False
        Tell apart cuts that disagree equally by Gini impurity.
    ranks : Ranks or None
        Of the table: cuts may be intervals, as in :class:`SurrogateCriterion`.

    References
    ----------
    Kernel Expand in Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*.
    """

    def __init__(
        self,
        table: EncodedTable,
        labels: Int32,
        k: int,
        *,
        gini: bool = False,
        ranks: core.Ranks | None = None,
        n_jobs: int = 1,
    ) -> None:
        self._table = table
        self._ranks = ranks
        self._labels = labels
        self._k = k
        self._gini = gini
        self._n_jobs = n_jobs

    def sums(self, rows: Int32) -> LeafSums:
        """See :class:`ExpansionCriterion`; weight by label."""
        n, k = len(rows), self._k
        # Sorted rows pass one after the other, whatever the number of labels, and every bin has a count for each label.
        bins_pay = n * (2.0 + np.log2(n + 1.0)) * self._table.encoded.n_cols > self._table.encoded.n_slots * k
        sums = _new_sums(self._table, k, bins_pay=bins_pay)
        histogram = None if sums.histogram is None else sums.histogram[:, :, np.newaxis]
        core.add_to_cluster_histogram(
            self._table.encoded, None, rows, self._labels, self._table.weights, None, histogram,
            sums.totals[:, np.newaxis], 1, self._n_jobs,
        )  # fmt: skip
        return sums

    def label(self, sums: LeafSums) -> int:
        """See :class:`ExpansionCriterion`."""
        return int(np.argmax(sums.totals))

    def cost(self, sums: LeafSums, label: int) -> int:
        """See :class:`ExpansionCriterion`; summed weight of the rows with another label."""
        return int(sums.totals.sum() - sums.totals[label])

    def impurity(self, sums: LeafSums) -> float:
        """See :class:`ExpansionCriterion`; Gini impurity times weight."""
        if not self._gini or not sums.totals.any():
            return 0.0
        counts = sums.totals.astype(np.float64)
        return float(counts.sum() - (counts * counts).sum() / counts.sum())

    def best_cut(self, rows: Int32, sums: LeafSums) -> LeafCut | None:
        """See :class:`ExpansionCriterion`."""
        table = self._table
        found = core.best_disagreement_cut(
            table.encoded, table.matrix, rows, self._labels, table.weights, sums.histogram, sums.totals, self._gini,
            self._n_jobs,
        )  # fmt: skip
        if found is None or self._ranks is None or (found[0] == 0 and found[1] == 0.0):
            return _leaf_cut(found)
        return _interval_cut(
            core.best_disagreement_interval(
                self._ranks, rows, table.weights, self._labels, sums.totals, self._gini, found[0], found[1],
                self._n_jobs,
            )
        ) or _leaf_cut(found)  # fmt: skip


def _interval_cut(found: tuple[int, float, int, float, float, int, int] | None) -> LeafCut | None:
    if found is None:
        return None
    cost, impurity, feature, lower, upper, inside_label, outside_label = found
    return LeafCut(feature, upper, cost, impurity, inside_label, outside_label, lower)


def _leaf_cut(found: tuple[int, float, int, float, int, int] | None) -> LeafCut | None:
    if found is None:
        return None
    cost, impurity, feature, threshold, left_label, right_label = found
    return LeafCut(feature, threshold, cost, impurity, left_label, right_label)


def _new_sums(table: EncodedTable, k: int, *, bins_pay: bool) -> LeafSums:
    """Zeros; a histogram when adding into bins and walking them beats sorting the rows of every column."""
    histogram = np.zeros((table.encoded.n_slots, k), dtype=np.int64) if bins_pay else None
    return LeafSums(np.zeros(k, dtype=np.int64), histogram)
