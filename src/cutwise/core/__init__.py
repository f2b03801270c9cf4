"""The C++ core, a folder a stage, and the view of a table that it reads.

Signatures, shapes and meanings are in ``_core.pyi``, which is written from the bindings. Throughout, ``rows`` are the
numbers of a node's rows (int32); per-row arrays have one entry for every row of the table; ``k`` is a number of
clusters, ``d`` of columns. Costs, losses and weights are integers (fixed point), so no result depends on the order of
rows or on ``n_jobs``. A ``histogram`` is indexed by slot (see ``Encoded``), and None stands for "sort every column
instead". Functions check shapes and bounds and raise ``ValueError``; but what ``rows``, ``cluster`` and ``labels`` hold
is taken on trust by the searches: looking through them at every node would cost as much as many a search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ._core import *  # noqa: F403  all of it: the stub lists the names
from ._core import Matrix

MATRIX_DTYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.int32, np.int64, np.uint8))
"""The dtypes that the core reads as they are; every other one is converted at intake."""

Flags: TypeAlias = npt.NDArray[np.uint8]
Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]
Float64: TypeAlias = npt.NDArray[np.float64]

ObjectiveName = Literal["kmeans", "kmedians"]
"""Squared Euclidean distance to the center, or l1 distance."""


@dataclass(frozen=True, eq=False)
class DerivedRows:
    """Rows with columns that are made of those of a table when they are read, most of them zeros; see ``Matrix``.

    ``values`` (n, d) float64. ``source``, ``level`` (D,) int32, ``shift``, ``scale``, ``missing`` (D,) float64.
    """

    values: Float64
    source: Int32
    level: Int32
    shift: Float64
    scale: Float64
    missing: Float64

    dtype = np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the rows, (n, D)."""
        return len(self.values), len(self.source)

    def __getitem__(self, rows: npt.NDArray[np.generic] | slice) -> DerivedRows:
        return replace(self, values=self.values[rows])

    def matrix(self, *, is_sparse: bool = True) -> Matrix:
        """The core's view of them."""
        columns = (self.source, self.level, self.shift, self.scale, self.missing)
        return Matrix.derived(self.values, *columns, sparse=is_sparse)

    def is_mostly_zero(self) -> bool:
        """Whether reading them as sparse rows is much less work, and all of them are finite."""
        numbers = self.level == -1
        x = self.values[:, self.source[numbers]]
        with np.errstate(all="ignore"):
            ends = (np.stack([np.fmin.reduce(x), np.fmax.reduce(x)]) - self.shift[numbers]) / self.scale[numbers]
        return len(self.source) > 3 * len(np.unique(self.source)) and not np.isinf(ends).any()

    def toarray(self) -> npt.NDArray[np.float64]:
        """All columns in memory."""
        return gather_rows(self.matrix(), np.arange(len(self.values)))  # noqa: F405


Values: TypeAlias = "npt.NDArray[np.generic] | sparse.csr_array | DerivedRows"


def as_matrix(values: Values) -> Matrix:
    """The core's view of a table; dense values are never copied, and the view keeps them alive.

    ``values`` (n_rows, n_columns): one of ``MATRIX_DTYPES`` in native byte order. Dense: any strides (negative and zero
    included) that are whole multiples of the item size, writable or not. CSR: sorted indices, no duplicates, no stored
    zeros; the row pointers become int64, the column indices int32 and the values contiguous where they are not. Raises
    ``ValueError``: another dtype, another number of dimensions, or strides that are no multiples of the item size.
    """
    if isinstance(values, DerivedRows):
        return values.matrix()
    if values.dtype not in MATRIX_DTYPES or not values.dtype.isnative:
        raise ValueError(f"a matrix holds one of {', '.join(map(str, MATRIX_DTYPES))}, not {values.dtype}")
    if isinstance(values, sparse.csr_array):
        indptr = values.indptr.astype(np.int64, copy=False)
        indices = values.indices.astype(np.int32, copy=False)
        return Matrix.csr(indptr, indices, np.ascontiguousarray(values.data), int(values.shape[1]))
    if any(stride % values.itemsize for stride in values.strides):
        raise ValueError("the strides of a matrix are whole multiples of its item size")
    return Matrix.dense(np.asarray(values))
