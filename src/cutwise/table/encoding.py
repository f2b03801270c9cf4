"""The table as the engine reads it: small codes, equal rows merged where that pays, rows that do not count left out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Ranks, rank_columns

from .table import Table

__all__ = ["EncodedTable", "encode_table"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """The m rows that grow a tree.

    Attributes
    ----------
    encoded : Encoded
        Codes of the m rows.
    matrix : Matrix
        Raw values of the m rows.
    is_integer : ndarray of shape (d,), bool
        Columns whose thresholds are integers.
    weights : ndarray of shape (m,), int64, or None
        What every row counts for; None: 1 each.
    copies : ndarray of shape (m,), int64, or None
        How many of the caller's rows every row stands for; None: 1 each.
    row_of : ndarray of shape (m,), int32, or None
        The caller's row that every row is (its first occurrence); None: the same number.
    position : ndarray of shape (n,), int32, or None
        The row that stands for each of the caller's n rows, -1 where it was left out; None: the same number.
    """

    encoded: core.Encoded
    matrix: core.Matrix
    is_integer: npt.NDArray[np.bool_]
    weights: Int64 | None
    copies: Int64 | None
    row_of: Int32 | None
    position: Int32 | None
    _ranks: Ranks | None = field(default=None, init=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows, m."""
        return int(self.matrix.n_rows)

    @property
    def column_sizes(self) -> npt.NDArray[np.float64]:
        """The largest absolute value of each column among the m rows, shape (d,): that of a bin's end."""
        first = self.encoded.value_begin
        last = first + self.encoded.n_bins - 1
        sizes: npt.NDArray[np.float64] = np.maximum(np.abs(self.encoded.low[first]), np.abs(self.encoded.high[last]))
        return sizes

    def ranks(self, n_jobs: int = 1) -> Ranks:
        """The order of every column's values, which searches for intervals read; found once and kept."""
        if self._ranks is None:
            object.__setattr__(self, "_ranks", rank_columns(self.matrix, n_jobs))
        assert self._ranks is not None
        return self._ranks


def encode_table(
    table: Table,
    *,
    weights: Int64 | None = None,
    keep: npt.NDArray[np.bool_] | None = None,
    merge: bool = True,
    n_jobs: int = 1,
) -> EncodedTable:
    """Encode a table for growing.

    Parameters
    ----------
    table : Table
        n rows.
    weights : ndarray of shape (n,), int64, optional
        Fixed-point weights; rows of weight 0 are left out.
    keep : ndarray of shape (n,), bool, optional
        False for rows that take no part, such as noise.
    merge : bool, default True
        Merge equal rows where that pays; False where equal rows differ in something else, such as a label.
    n_jobs : int, default 1

    Returns
    -------
    encoded : EncodedTable
        Merging duplicates and leaving rows out changes no tree: rows are summed, and sums are integers.
    """
    if weights is not None and (weights == 0).any():
        keep = (weights > 0) if keep is None else keep & (weights > 0)
    row_of: Int32 | None = None
    values = table.values
    if keep is not None and not keep.all():
        row_of = np.flatnonzero(keep).astype(np.int32)
        values = values[row_of]
        weights = None if weights is None else weights[row_of]
    matrix = table.matrix if row_of is None else core.as_matrix(values)
    copies: Int64 | None = None
    group: Int32 | None = None
    merged = core.group_rows(matrix) if merge else None
    if merged is not None:
        first_row, group = merged
        copies = np.bincount(group, minlength=len(first_row))
        if weights is None:
            weights = copies
        else:
            summed = np.zeros(len(first_row), dtype=np.int64)
            np.add.at(summed, group, weights)
            weights = summed
        values = values[first_row]
        matrix = core.as_matrix(values)
        row_of = first_row if row_of is None else row_of[first_row]
    encoded = core.encode(matrix, n_jobs=n_jobs)
    position: Int32 | None = None
    if row_of is not None:
        position = np.full(table.n_rows, -1, dtype=np.int32)
        kept = slice(None) if keep is None else keep
        position[kept] = np.arange(matrix.n_rows, dtype=np.int32) if group is None else group
    return EncodedTable(encoded, matrix, table.is_integer, weights, copies, row_of, position)
