"""Where the rows of a growing tree are, and what may be asked of them: sums, searches for a cut, and the split itself.

Criteria and growing trees see rows through this alone. A provider hands out row sets, which only it can read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.table import EncodedTable

from .node_test import NodeTest

__all__ = ["CostPayload", "Gap", "LabelPayload", "MemoryProvider", "NodeSums", "Payload"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Gap = tuple[float, float]
Found = TypeVar("Found")

_NO_GAP = (math.nan, math.nan)


@dataclass(eq=False)
class NodeSums:
    """What the rows of a node add up to; a node's sums are those of its children together.

    ``totals`` (k,) int64: over all rows. ``histogram`` (n_slots, k) int64: over the rows of every slot; None when
    sorting the columns is cheaper.
    """

    totals: Int64
    histogram: Int64 | None

    @property
    def nbytes(self) -> int:
        """Memory of the histogram."""
        return 0 if self.histogram is None else self.histogram.nbytes

    def subtract(self, child: NodeSums) -> NodeSums | None:
        """The sums of the other child, in this one's memory; None when there is no histogram to take from."""
        if self.histogram is None or child.histogram is None:
            return None
        self.histogram -= child.histogram
        self.totals -= child.totals
        return self


class Payload(Protocol):
    """What every row adds to the sums of its node: k integers."""

    @property
    def k(self) -> int:
        """How many."""
        ...

    def prefers_bins(self, n_rows: int, n_columns: int, n_slots: int) -> bool:
        """Whether adding into bins and walking them beats sorting the rows of every column."""
        ...

    def add(self, memory: MemoryProvider, rows: Int32, sums: NodeSums) -> None:
        """Add rows that are in memory to sums."""
        ...


@dataclass(frozen=True, eq=False)
class CostPayload:
    """The cost of every row by each of k clusters, of shape (m, k), in fixed-point units above the row's least."""

    excess: npt.NDArray[Any]

    @property
    def k(self) -> int:
        """Number of clusters."""
        return int(self.excess.shape[1])

    def prefers_bins(self, n_rows: int, n_columns: int, n_slots: int) -> bool:
        """See :class:`Payload`."""
        # Bins have sums for every cluster, and so does every row that is passed in order of a column.
        return n_rows * n_columns > 2 * n_slots

    def add(self, memory: MemoryProvider, rows: Int32, sums: NodeSums) -> None:
        """See :class:`Payload`."""
        packed = None if sums.histogram is None else memory.packed
        core.add_to_cost_histogram(
            memory.table.encoded, packed, rows, self.excess, sums.histogram, sums.totals, memory.n_jobs
        )


@dataclass(frozen=True, eq=False)
class LabelPayload:
    """The weight of every row, at its label: codes from 0 to k - 1 of shape (m,)."""

    labels: Int32
    k: int

    def prefers_bins(self, n_rows: int, n_columns: int, n_slots: int) -> bool:
        """See :class:`Payload`."""
        # Sorted rows pass one after the other, whatever the number of labels, and every bin has a count for each label.
        return bool(n_rows * (2.0 + np.log2(n_rows + 1.0)) * n_columns > n_slots * self.k)

    def add(self, memory: MemoryProvider, rows: Int32, sums: NodeSums) -> None:
        """See :class:`Payload`."""
        histogram = None if sums.histogram is None else sums.histogram[:, :, np.newaxis]
        memory.add_by_cluster(rows, self.labels, histogram, sums.totals[:, np.newaxis])


class MemoryProvider:
    """All rows in memory: a node's are a slice of one index, which splits reorder in place.

    ``table``: the m rows. ``n_jobs``: threads; no result depends on it.
    """

    def __init__(self, table: EncodedTable, n_jobs: int = 1) -> None:
        self.table = table
        self.n_jobs = n_jobs
        self._order = np.arange(table.n_rows, dtype=np.int32)
        self._slices: list[tuple[int, int]] = [(0, table.n_rows)]

    @property
    def n_rows(self) -> int:
        """M."""
        return int(self.table.n_rows)

    @property
    def n_columns(self) -> int:
        """Number of columns that may be cut."""
        return int(self.table.encoded.n_cols)

    @property
    def n_slots(self) -> int:
        """Number of bins of all columns, as a histogram has them."""
        return int(self.table.encoded.n_slots)

    @property
    def weights(self) -> Int64 | None:
        """Integer weight of every row; None where each counts once."""
        return self.table.weights

    @cached_property
    def ranks(self) -> core.Ranks:
        """Of all columns, for searches of intervals."""
        return self.table.ranks(self.n_jobs)

    @cached_property
    def packed(self) -> core.PackedCodes:
        """The codes in fewer bytes."""
        return core.pack_codes(self.table.encoded, self.n_jobs)

    def rows(self, node: int) -> Int32:
        """All rows routed to a node: a view that the split of the node reorders."""
        start, stop = self._slices[node]
        return self._order[start:stop]

    def size(self, node: int) -> int:
        """How many rows, equal ones counted once where they were merged."""
        start, stop = self._slices[node]
        return stop - start

    def n_samples(self, node: int) -> int:
        """How many rows of the table that was given."""
        copies = self.table.copies
        return self.size(node) if copies is None else int(copies[self.rows(node)].sum())

    def sums(self, node: int, payload: Payload) -> NodeSums:
        """What the rows of a node add up to."""
        with_bins = payload.prefers_bins(self.size(node), self.n_columns, self.n_slots)
        histogram = np.zeros((self.n_slots, payload.k), dtype=np.int64) if with_bins else None
        sums = NodeSums(np.zeros(payload.k, dtype=np.int64), histogram)
        payload.add(self, self.rows(node), sums)
        return sums

    def totals(self, node: int, payload: Payload) -> Int64:
        """What the rows of a node add up to, without their bins."""
        sums = NodeSums(np.zeros(payload.k, dtype=np.int64), None)
        payload.add(self, self.rows(node), sums)
        return sums.totals

    def add_by_cluster(
        self, rows: Int32, cluster: Int32, histogram: Int64 | None, totals: Int64, *, sign: int = 1
    ) -> None:
        """Add the weights of rows into cells of their clusters, (n_slots, k, 1) and (k, 1), or take them out."""
        core.add_to_cluster_histogram(
            self.table.encoded, None, rows, cluster, self.weights, None, histogram, totals, sign, self.n_jobs
        )

    def search(self, kernel: Callable[..., Found], node: int, *what: Any) -> Found:
        """What a search of the core finds among the rows of a node."""
        return kernel(self.table.encoded, self.table.matrix, self.rows(node), *what)

    def search_intervals(self, kernel: Callable[..., Found], node: int, *what: Any) -> Found:
        """The same of a search for intervals, which reads the order of every column's values."""
        return kernel(self.ranks, self.rows(node), self.weights, *what, self.n_jobs)

    def partition(self, node: int, test: NodeTest) -> tuple[Gap, Gap]:
        """Split a node's rows in two, those that pass the test first; its children are the next two nodes.

        Returns ``gap``, ``lower_gap``: the neighboring values that the two ends lie between; infinite where no row is,
        nan without a lower end.
        """
        table, rows = self.table, self.rows(node)
        if test.is_interval:
            n_left, *lower_gap, left_max, right_min = core.partition_interval(
                table.matrix, rows, test.feature, test.lower, test.threshold
            )
        else:
            n_left, left_max, right_min = core.partition(
                table.encoded, table.matrix, rows, test.feature, test.threshold
            )
            lower_gap = list(_NO_GAP)
        start, stop = self._slices[node]
        self._slices += [(start, start + n_left), (start + n_left, stop)]
        return (left_max, right_min), (lower_gap[0], lower_gap[1])
