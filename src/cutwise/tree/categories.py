"""The levels of categories among rows in memory: what is summed by level, and where centers are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cutwise.table import EncodedTable

__all__ = ["Category", "find_categories"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Category:
    """A category of the table.

    ``source``: its column there. ``codes`` (m,) int32: the level of every row. ``n_levels``: codes there are.
    ``columns``: the searched columns of its levels: of two levels that of the second. ``slots`` (n_columns,) int64:
    where a histogram has the rows of each level; where ``has_rest``, all others. -1: nowhere.
    """

    source: int
    codes: Int32
    n_levels: int
    columns: Int32
    slots: Int64
    has_rest: npt.NDArray[np.bool_]

    def of_histogram(self, histogram: Int64, totals: Int64) -> Int64:
        """The sums of every level, (n_levels, k), from a histogram (n_slots, k) and the totals (k,) of a node."""
        sums = np.zeros((self.n_levels, len(totals)), dtype=np.int64)
        own = sums[-len(self.columns) :]
        known = self.slots >= 0
        own[known] = histogram[self.slots[known]]
        own[self.has_rest] = totals - own[self.has_rest]
        if self.n_levels > len(self.columns):
            sums[0] = totals - own[0]
        return sums

    def of_rows(self, rows: Int32, values: npt.NDArray[np.integer]) -> Int64:
        """The same from what every given row adds, (n_rows, k)."""
        sums = np.zeros((self.n_levels, values.shape[1]), dtype=np.int64)
        if len(rows):
            codes = self.codes[rows]
            order = np.argsort(codes, kind="stable")
            present, first = np.unique(codes[order], return_index=True)
            sums[present] = np.add.reduceat(values[order].astype(np.int64, copy=False), first, axis=0)
        return sums

    def weights(self, rows: Int32, weights: Int64 | None) -> Int64:
        """Weight of the given rows by level."""
        w = None if weights is None else weights[rows]  # sums of integers below 2**53
        return np.bincount(self.codes[rows], weights=w, minlength=self.n_levels).astype(np.int64)

    def modes(self, coordinates: Float64) -> Int32:
        """The level most frequent in every cluster, the first of equals, from the searched coordinates (k, D)."""
        shares = coordinates[:, self.columns]
        if self.n_levels > len(self.columns):
            shares = np.column_stack([1.0 - shares, shares])
        modes: Int32 = np.argmax(shares, axis=1).astype(np.int32)
        return modes


def find_categories(table: EncodedTable) -> list[Category]:
    """The categories of a table that have two levels or more."""
    searched, values, encoded = table.searched, table.values, table.encoded
    if searched is None or values is None:
        return []
    found = []
    for source, kind in enumerate(searched.kinds):
        n_levels = len(kind.levels or ()) + kind.has_other
        if kind.name != "category" or n_levels < 2:
            continue
        columns = searched.of(source)
        begin, default, n_bins = (
            a[columns].astype(np.int64) for a in (encoded.slot_begin, encoded.default_bin, encoded.n_bins)
        )
        has_level = encoded.low[encoded.value_begin[columns] + n_bins - 1] == 1.0  # the last bin is that of ones
        has_rest = has_level & (default == n_bins - 1)
        slots = np.where(has_rest, begin, begin + n_bins - 1 - (default >= 0))
        slots[~has_level | (has_rest & (n_bins == 1))] = -1
        codes = values[:, source].astype(np.int32)
        found.append(Category(source, codes, n_levels, columns, slots, has_rest))
    return found
