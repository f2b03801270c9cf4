"""Sparse matrices of any format as canonical CSR: sorted, without duplicates and without stored zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.exceptions import InvalidInputError

from .columns import Columns
from .dtypes import is_integer_dtype, matrix_dtype
from .objects import Offender, not_numeric_error

__all__ = ["as_dense", "convert_sparse"]


def convert_sparse(X: Any, columns: Columns, *, what: str = "X") -> tuple[sparse.csr_array, npt.NDArray[np.bool_]]:
    """A two-dimensional scipy sparse matrix or array as the core's CSR; the input is never changed.

    Parameters
    ----------
    X : sparse matrix or array of shape (n_rows, n_columns)
        A canonical CSR of a dtype the core reads shares its memory with the result.

    Returns
    -------
    values : csr_array of shape (n_rows, n_columns)
    is_integer : ndarray of shape (n_columns,), bool

    Raises
    ------
    InvalidInputError
        Not numbers, or indices that point outside the matrix.
    """
    if X.dtype.kind not in "fiub":
        stored = X.tocoo()
        value = stored.data[0] if stored.nnz else X.dtype.type(0)
        column, row = (int(stored.col[0]), int(stored.row[0])) if stored.nnz else (0, 0)
        raise not_numeric_error({column: Offender(row, value)}, columns, what=what)
    try:
        csr = _to_csr(X)
        csr = sparse.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape, copy=False)
        # The kernels trust the indices, so every one is looked at here.
        csr.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise InvalidInputError(
            f"{what} is not a valid sparse matrix: {error}. Build it anew from its entries."
        ) from error
    is_integer = np.full(csr.shape[1], is_integer_dtype(csr.dtype))
    csr = _canonical(csr)
    if csr.dtype == np.bool_:
        csr = _with_data(csr, csr.data.view(np.uint8))
    dtype = matrix_dtype([csr.dtype])
    if csr.dtype != dtype or not csr.dtype.isnative:
        csr = _with_data(csr, csr.data.astype(dtype))
    return csr, is_integer


def _to_csr(X: Any) -> Any:
    """Any format as CSR; duplicate entries of narrow integers, which COO sums on the way, do not overflow."""
    if X.format != "coo" or X.dtype.kind not in "iu":
        return X.tocsr()
    csr = X.astype(np.float64 if X.dtype == np.uint64 else np.int64).tocsr()
    return csr.astype(X.dtype) if csr.nnz == X.nnz else csr


def _canonical(csr: sparse.csr_array) -> sparse.csr_array:
    """Sorted, duplicates summed, zeros gone; a copy only where something has to change."""
    if not csr.has_canonical_format:
        csr = csr.copy()
        if csr.dtype.kind in "iu":
            # Duplicates of a narrow integer would overflow when summed.
            csr = csr.astype(np.float64 if csr.dtype == np.uint64 else np.int64)
        csr.sum_duplicates()
    if np.count_nonzero(csr.data) != csr.nnz:
        csr = csr.copy()
        csr.eliminate_zeros()
    return csr


def _with_data(csr: sparse.csr_array, data: npt.NDArray[np.generic]) -> sparse.csr_array:
    return sparse.csr_array((data, csr.indices, csr.indptr), shape=csr.shape, copy=False)


def as_dense(values: Any) -> npt.NDArray[Any]:
    """Rows, a column or a matrix of any kind as a plain array: the very same one where it is one already."""
    return np.asarray(values.toarray() if sparse.issparse(values) else values)
