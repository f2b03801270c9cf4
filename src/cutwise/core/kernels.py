"""The typed, checked Python face of the C++ core: what the rest of the package calls.

Nothing else imports ``_core``. Each function says which arrays it takes and gives; a kernel checks shapes and bounds itself
and raises ``ValueError`` where they do not fit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _core
from ._core import Matrix

__all__ = ["MATRIX_DTYPES", "Matrix", "as_matrix"]

MATRIX_DTYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.int32, np.int64, np.uint8))
"""The dtypes a kernel reads as they are; every other one is converted at intake."""


def as_matrix(values: npt.NDArray[np.generic] | sparse.csr_array) -> Matrix:
    """The core's view of a table; dense values are never copied, and the view keeps them alive.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns) or scipy.sparse.csr_array of that shape
        One of ``MATRIX_DTYPES`` in native byte order. Dense: any strides (negative and zero included) that are whole
        multiples of the item size, writable or not. CSR: sorted indices, no duplicates, no stored zeros; the
        row pointers become int64 and the column indices int32 where they are not.

    Returns
    -------
    matrix : Matrix

    Raises
    ------
    ValueError
        Another dtype, another number of dimensions, or strides that are no multiples of the item size.
    """
    if values.dtype not in MATRIX_DTYPES or not values.dtype.isnative:
        raise ValueError(f"a matrix holds one of {', '.join(map(str, MATRIX_DTYPES))}, not {values.dtype}")
    if isinstance(values, sparse.csr_array):
        indptr = values.indptr.astype(np.int64, copy=False)
        indices = values.indices.astype(np.int32, copy=False)
        return _core.Matrix.csr(indptr, indices, values.data, int(values.shape[1]))
    if any(stride % values.itemsize for stride in values.strides):
        raise ValueError("the strides of a matrix are whole multiples of its item size")
    return _core.Matrix.dense(np.asarray(values))
