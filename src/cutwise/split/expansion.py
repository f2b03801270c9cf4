"""Criteria that replace a leaf by two, each with its best cluster: surrogate cost (ExKMC), disagreement (Expand)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cutwise.core import searches
from cutwise.reference import FixedCosts
from cutwise.table import EncodedTable

__all__ = ["DisagreementCriterion", "ExpansionCriterion", "LeafCut", "SurrogateCriterion"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LeafCut:
    """The best cut of a leaf.

    ``cost`` is what both sides cost together, each under its own label, in the criterion's units; ``impurity`` tells
    apart cuts of equal cost, 0 where the criterion has no second score.
    """

    feature: int
    threshold: float
    cost: int
    impurity: float
    left_label: int
    right_label: int


class ExpansionCriterion(Protocol):
    """Chooses the cut of a leaf."""

    def label(self, rows: Int32) -> int:
        """The best cluster for these rows, the lowest number of equals."""
        ...

    def cost(self, rows: Int32, label: int) -> int:
        """What these rows cost when all are served by one cluster."""
        ...

    def impurity(self, rows: Int32) -> float:
        """The second score of these rows together; 0 where there is none."""
        ...

    def histogram(self, rows: Int32) -> Int64 | None:
        """The statistics of these rows, or None when sorting their columns is cheaper."""
        ...

    def best_cut(self, rows: Int32, histogram: Int64 | None) -> LeafCut | None:
        """The cut of least cost, or None when the rows are equal in every column."""
        ...


class SurrogateCriterion:
    """Least surrogate cost: each side of a cut served by the one reference cluster that serves it best.

    Parameters
    ----------
    table : EncodedTable
    costs : FixedCosts
        Of the m rows and k clusters.

    References
    ----------
    Frost, Moshkovitz, Rashtchian (2020), Section 3.
    """

    def __init__(self, table: EncodedTable, costs: FixedCosts, n_jobs: int = 1) -> None:
        self._table = table
        self._excess = costs.excess
        self._n_jobs = n_jobs
        silent = ~costs.excess.any(axis=1)
        self._silent = silent.view(np.uint8) if silent.any() else None

    def label(self, rows: Int32) -> int:
        """See :class:`ExpansionCriterion`."""
        return int(np.argmin(self._sums(rows)))

    def cost(self, rows: Int32, label: int) -> int:
        """See :class:`ExpansionCriterion`; fixed-point units above the base cost."""
        return int(self._excess[rows, label].sum(dtype=np.int64))

    def impurity(self, rows: Int32) -> float:
        """See :class:`ExpansionCriterion`."""
        return 0.0

    def histogram(self, rows: Int32) -> Int64 | None:
        """See :class:`ExpansionCriterion`; shape (n_slots, k)."""
        if not _bins_pay(self._table, len(rows)):
            return None
        histogram = np.zeros((self._table.encoded.n_slots, self._excess.shape[1]), dtype=np.int64)
        searches.add_to_cost_histogram(self._table.encoded, rows, self._excess, histogram, self._n_jobs)
        return histogram

    def best_cut(self, rows: Int32, histogram: Int64 | None) -> LeafCut | None:
        """See :class:`ExpansionCriterion`."""
        table = self._table
        found = searches.best_surrogate_cut(
            table.encoded, table.matrix, rows, self._excess, histogram, self._silent, self._n_jobs
        )
        return _leaf_cut(found)

    def _sums(self, rows: Int32) -> Int64:
        total = np.zeros(self._excess.shape[1], dtype=np.int64)
        for start in range(0, len(rows), 65536):  # a block at a time: no copy of all the costs
            total += self._excess[rows[start : start + 65536]].sum(axis=0, dtype=np.int64)
        return total


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

    References
    ----------
    Kernel Expand in Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*.
    """

    def __init__(self, table: EncodedTable, labels: Int32, k: int, *, gini: bool = False, n_jobs: int = 1) -> None:
        self._table = table
        self._labels = labels
        self._k = k
        self._gini = gini
        self._n_jobs = n_jobs

    def label(self, rows: Int32) -> int:
        """See :class:`ExpansionCriterion`."""
        return int(np.argmax(self._counts(rows)))

    def cost(self, rows: Int32, label: int) -> int:
        """See :class:`ExpansionCriterion`; summed weight of the rows with another label."""
        counts = self._counts(rows)
        return int(counts.sum() - counts[label])

    def impurity(self, rows: Int32) -> float:
        """See :class:`ExpansionCriterion`; Gini impurity times weight."""
        if not self._gini or len(rows) == 0:
            return 0.0
        counts = self._counts(rows).astype(np.float64)
        return float(counts.sum() - (counts * counts).sum() / counts.sum())

    def histogram(self, rows: Int32) -> Int64 | None:
        """See :class:`ExpansionCriterion`; shape (n_slots, k), weight by label."""
        if not _bins_pay(self._table, len(rows)):
            return None
        histogram = np.zeros((self._table.encoded.n_slots, self._k, 1), dtype=np.int64)
        searches.add_to_cluster_histogram(
            self._table.encoded, rows, self._labels, self._table.weights, None, histogram, 1, self._n_jobs
        )
        return histogram[:, :, 0]

    def best_cut(self, rows: Int32, histogram: Int64 | None) -> LeafCut | None:
        """See :class:`ExpansionCriterion`."""
        table = self._table
        found = searches.best_disagreement_cut(
            table.encoded, table.matrix, rows, self._labels, table.weights, self._k, histogram, self._gini, self._n_jobs
        )
        return _leaf_cut(found)

    def _counts(self, rows: Int32) -> Int64:
        counts = np.zeros(self._k, dtype=np.int64)
        weights = self._table.weights
        np.add.at(counts, self._labels[rows], 1 if weights is None else weights[rows])
        return counts


def _leaf_cut(found: tuple[int, float, int, float, int, int] | None) -> LeafCut | None:
    if found is None:
        return None
    cost, impurity, feature, threshold, left_label, right_label = found
    return LeafCut(feature, threshold, cost, impurity, left_label, right_label)


def _bins_pay(table: EncodedTable, n: int) -> bool:
    """Whether adding rows into bins and walking the bins beats sorting the rows of every column."""
    return n * table.encoded.n_cols > 2 * table.encoded.n_slots
