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
    try:
        X = X.tocoo() if X.format == "dok" else X
        _check_structure(X)  # every index: scipy and the kernels trust them all
    except (ValueError, IndexError) as error:
        raise InvalidInputError(
            f"{what} is not a valid sparse matrix: {error}. Build it anew from its entries."
        ) from error
    if X.dtype.kind not in "fiub":
        stored = X.tocoo()
        value = stored.data[0] if stored.nnz else X.dtype.type(0)
        column, row = (int(stored.col[0]), int(stored.row[0])) if stored.nnz else (0, 0)
        raise not_numeric_error({column: Offender(row, value)}, columns, what=what)
    csr = _to_csr(X)
    # Anew: what the matrix claims of itself, such as sorted indices, may be wrong.
    csr = sparse.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape, copy=False)
    is_integer = np.full(csr.shape[1], is_integer_dtype(csr.dtype))
    csr = _canonical(csr)
    if csr.dtype == np.bool_:
        csr = _with_data(csr, csr.data.view(np.uint8))
    dtype = matrix_dtype([csr.dtype])
    if csr.dtype != dtype or not csr.dtype.isnative:
        csr = _with_data(csr, csr.data.astype(dtype))
    return csr, is_integer


def _check_structure(X: Any) -> None:
    """Raise ``ValueError`` where scipy would read or write beyond the arrays of a matrix on converting it."""
    n_rows, n_columns = X.shape
    if X.format == "coo":
        for name, found, end in (("row", X.row, n_rows), ("column", X.col, n_columns)):
            _check_indices(f"{name} indices", found, end)
            if X.data.shape != found.shape:
                raise ValueError(f"there are {len(found)} {name} indices and data of shape {X.data.shape}")
    elif X.format == "dia":
        if X.data.ndim != 2 or X.offsets.shape != X.data.shape[:1]:
            raise ValueError(f"there are {X.offsets.size} offsets and data of shape {X.data.shape}")
    elif X.format == "lil":
        if len(X.rows) != n_rows or len(X.data) != n_rows or list(map(len, X.rows)) != list(map(len, X.data)):
            raise ValueError("its rows of indices and of data differ in length")
        _check_indices("indices", np.array([j for row in X.rows for j in row] or [0]), n_columns)
    elif X.format in ("csr", "csc", "bsr"):
        is_bsr = X.format == "bsr"
        if X.data.ndim != (3 if is_bsr else 1):
            raise ValueError(f"its data has {X.data.ndim} dimensions")
        height, width = X.data.shape[1:] if is_bsr else (1, 1)
        if not height or not width or n_rows % height or n_columns % width:
            raise ValueError(f"its blocks of shape {height} x {width} do not fill the shape {n_rows} x {n_columns}")
        n_major, n_minor = n_rows // height, n_columns // width
        if X.format == "csc":
            n_major, n_minor = n_minor, n_major
        _check_indices("values of indptr", X.indptr, len(X.indices) + 1)
        if len(X.indptr) != n_major + 1 or len(X.data) != len(X.indices):
            raise ValueError(
                f"its arrays have {len(X.indptr)}, {len(X.indices)} and {len(X.data)} entries (indptr, indices, data), "
                f"where {n_major + 1} and twice as many as there are stored values are needed"
            )
        if X.indptr[0] != 0 or (X.indptr[1:] < X.indptr[:-1]).any():
            raise ValueError("its values of indptr do not rise from 0")
        _check_indices("indices", X.indices[: X.indptr[-1]], n_minor)


def _check_indices(name: str, indices: npt.NDArray[Any], end: int) -> None:
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError(f"its {name} are integers in one dimension, not {indices.dtype} of shape {indices.shape}")
    if len(indices) and not 0 <= indices.min() <= indices.max() < end:
        raise ValueError(f"its {name} reach from {indices.min()} to {indices.max()}, beyond 0 to {end - 1}")


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
