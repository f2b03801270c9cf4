"""The columns that searches cut: one of complete numbers for every way to cut a column of the table.

A cut ``x <= t`` of a column with gaps sends missing values right or left: it is searched twice, once with what is
missing above all values and once below. One level against all others is a cut of a column of zeros and ones, so a
category has one of these for every level. Everything that sums, walks and bounds then sees thresholds alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .kinds import ColumnKind

__all__ = ["SearchedColumns", "searched_columns"]

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]

_MANY = 128
"""With more columns than this most are of levels, and few of their values are not zero."""


@dataclass(frozen=True, eq=False)
class SearchedColumns:
    """What each of D searched columns is.

    ``source`` (D,): a column of the table. ``level`` (D,): 1 where that has this level, 0 elsewhere; -1 for numbers.
    ``missing`` (D,): where missing numbers are: -1 below, 1 above all values; 0: there are none. ``kinds``: of the
    table's columns.
    """

    source: Int32
    level: Int32
    missing: Int32
    kinds: tuple[ColumnKind, ...]

    @property
    def n_columns(self) -> int:
        """D."""
        return len(self.source)

    def of(self, column: int) -> Int32:
        """The searched columns of a column of the table."""
        return np.flatnonzero(self.source == column).astype(np.int32)

    def expand(self, values: npt.NDArray[np.generic]) -> Float64 | sparse.csr_array:
        """The searched columns of some rows of the table."""
        if self.n_columns > _MANY and np.count_nonzero(self.level >= 0) > self.n_columns // 2:
            return self._expand_sparse(values)
        expanded = np.empty((len(values), self.n_columns), dtype=np.float64)
        for j in range(self.n_columns):
            expanded[:, j] = self.column(values, j)
        return expanded

    def column(self, values: npt.NDArray[np.generic], j: int) -> Float64:
        """One of them."""
        x = np.asarray(values[:, self.source[j]], dtype=np.float64)
        if self.level[j] >= 0:
            return np.asarray(x == self.level[j], dtype=np.float64)
        if self.missing[j]:
            x = np.where(np.isnan(x), np.copysign(np.inf, self.missing[j]), x)
        return x

    def _expand_sparse(self, values: npt.NDArray[np.generic]) -> sparse.csr_array:
        columns = [sparse.csc_array(self.column(values, j)[:, np.newaxis]) for j in range(self.n_columns)]
        joined: sparse.csr_array = sparse.hstack(columns, format="csr")
        joined.sort_indices()
        return joined


def searched_columns(kinds: Sequence[ColumnKind]) -> SearchedColumns | None:
    """What is searched of columns of these kinds; None where it is the columns themselves."""
    if not any(kind.name == "category" or kind.has_gaps for kind in kinds):
        return None
    found: list[tuple[int, int, int]] = []
    for column, kind in enumerate(kinds):
        if kind.name == "category":
            n_codes = len(kind.levels or ()) + kind.has_other
            # Of two levels the second is enough: one against the other is the other against the one.
            found += [(column, code, 0) for code in range(n_codes == 2, max(n_codes, 1))]
        elif kind.has_gaps:
            found += [(column, -1, 1), (column, -1, -1)]  # of equals, missing values go right
        else:
            found.append((column, -1, 0))
    source, level, missing = np.array(found, dtype=np.int32).T
    return SearchedColumns(source.copy(), level.copy(), missing.copy(), tuple(kinds))
