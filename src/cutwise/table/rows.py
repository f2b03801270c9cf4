"""The table as the engine reads it: small codes, equal rows merged, rows that do not count left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Ranks, rank_columns

from .kinds import ColumnKind, integer_columns
from .searched import SearchedColumns, searched_columns
from .table import Table

__all__ = ["EncodedTable", "encode_table"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """The m rows that grow a tree, from the caller's n rows."""

    encoded: core.Encoded  # codes of the m rows in the searched columns: the table's, where all hold known numbers
    matrix: core.Matrix  # values of the m rows there
    kinds: tuple[ColumnKind, ...]  # (d,), what the columns' values mean
    weights: Int64 | None  # (m,); None: 1 each
    copies: Int64 | None  # (m,), how many of the caller's rows each stands for; None: 1 each
    row_of: Int32 | None  # (m,), the first of the caller's rows that each stands for; None: the same number
    position: Int32 | None  # (n,), the row that stands for each of the caller's, -1: none; None: the same number
    searched: SearchedColumns | None = None  # what is searched instead of the table's columns
    values: npt.NDArray[np.float64] | None = None  # (m, d), those of the table, where that is something else
    _ranks: Ranks | None = field(default=None, init=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows, m."""
        return int(self.matrix.n_rows)

    @cached_property
    def is_integer(self) -> npt.NDArray[np.bool_]:
        """Which columns have whole thresholds, shape (d,)."""
        return integer_columns(self.kinds)

    @property
    def column_sizes(self) -> npt.NDArray[np.float64]:
        """The largest absolute value of each column among the m rows, shape (d,): that of a bin's end."""
        first = self.encoded.value_begin
        last = first + self.encoded.n_bins - 1
        sizes: npt.NDArray[np.float64] = np.maximum(np.abs(self.encoded.low[first]), np.abs(self.encoded.high[last]))
        return sizes

    def ranks(self, n_jobs: int = 1) -> Ranks:
        """The order of every column's values, which searches for intervals read; computed once."""
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
    """Encode the rows of positive weight where ``keep`` is true; with ``merge`` equal ones become one row.

    ``weights`` are integers, shape (n,). Merging and leaving rows out changes no tree: rows are summed, and sums are
    integers.
    """
    if weights is not None and (weights == 0).any():
        keep = (weights > 0) if keep is None else keep & (weights > 0)
    row_of: Int32 | None = None
    values = table.values
    if keep is not None and not keep.all():
        row_of = np.flatnonzero(keep).astype(np.int32)
        values = values[row_of]
        weights = None if weights is None else weights[row_of]
    own: npt.NDArray[np.float64] | None = None
    searched = searched_columns(table.kinds)
    if searched is not None:
        own = np.asarray(values, dtype=np.float64)
        values = searched.expand(own)
    matrix = table.matrix if row_of is None and searched is None else core.as_matrix(values)
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
        own = None if own is None else own[first_row]
        matrix = core.as_matrix(values)
        row_of = first_row if row_of is None else row_of[first_row]
    encoded = core.encode(matrix, n_jobs=n_jobs)
    position: Int32 | None = None
    if row_of is not None:
        position = np.full(table.n_rows, -1, dtype=np.int32)
        takes_part = slice(None) if keep is None else keep
        position[takes_part] = np.arange(matrix.n_rows, dtype=np.int32) if group is None else group
    return EncodedTable(encoded, matrix, table.kinds, weights, copies, row_of, position, searched, own)
