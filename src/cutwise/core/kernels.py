"""The typed, checked Python face of the C++ core: what the rest of the package calls.

Nothing else imports ``_core``. Each function says which arrays it takes and gives; a kernel checks shapes and bounds
itself and raises ``ValueError`` where they do not fit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _core
from ._core import Matrix

__all__ = ["MATRIX_DTYPES", "Matrix", "apply", "as_matrix"]

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


def apply(
    matrix: Matrix,
    children_left: npt.NDArray[np.int32],
    children_right: npt.NDArray[np.int32],
    feature: npt.NDArray[np.int32],
    threshold: npt.NDArray[np.float64],
    lower: npt.NDArray[np.float64],
    n_jobs: int = 1,
) -> npt.NDArray[np.int32]:
    """The leaf that every row reaches in a threshold tree.

    Parameters
    ----------
    matrix : Matrix
        The rows, read in place. Values are compared as float64 whatever their dtype.
    children_left, children_right : ndarray of shape (n_nodes,), int32
        Nodes in preorder: the left child of inner node ``i`` is ``i + 1``, and -1 marks a leaf.
    feature : ndarray of shape (n_nodes,), int32
        The column tested; not read at leaves.
    threshold, lower : ndarray of shape (n_nodes,), float64
        A row goes left when ``lower < value <= threshold``.
    n_jobs : int, default 1
        Threads to use, at least 1, over blocks of rows. The result does not depend on it.

    Returns
    -------
    leaf : ndarray of shape (n_rows,), int32
        Node numbers.

    Raises
    ------
    ValueError
        Arrays of different lengths, nodes out of preorder, or a column that the matrix does not have.
    """
    return _core.apply(matrix, children_left, children_right, feature, threshold, lower, n_jobs)
