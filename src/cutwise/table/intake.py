"""From whatever users call a table to a ``Table``: one way in for fit and predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .arrays import as_array, convert_array
from .columns import Columns, HasColumns, check_same_columns, name_columns
from .finite import check_finite
from .frames import Frame, as_frame, convert_frame, library_of
from .shape import check_shape
from .sparse import convert_sparse
from .table import Table

__all__ = ["read_table", "take_rows"]


def read_table(
    X: Any,
    *,
    what: str = "X",
    fitted: HasColumns | None = None,
    estimator: str = "the model",
    tested: npt.NDArray[np.integer] | None = None,
) -> Table:
    """Checks a table of numbers and hands it on, without a copy where the core can read it as it is.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        A numpy array, nested lists or anything ``numpy.asarray`` reads; a scipy sparse matrix or array of any format; a
        pandas, polars, pyarrow, Modin or cuDF frame. Arrays of float32, float64, int32, int64, uint8 and bool are never
        copied, whatever their strides, and may be read-only or memory maps. Others are converted: float16 to float32;
        int8, int16 and uint16 to int32; uint32 to int64; uint64 to float64; a frame to one matrix of the smallest of
        these dtypes that holds every column.
    what : str
        The argument's name, for messages.
    fitted : HasColumns, optional
        The columns at fit; names and their number are checked before any value is read.
    estimator : str
        The class name that messages about ``fitted`` mention.
    tested : ndarray of shape (n_tested,), int, optional
        The columns of ``fitted`` that decide, ascending. In a data frame with names the others may be missing, and are
        not read: they count as ``unread``. Arrays have no names to tell columns apart, so all of theirs are read.

    Returns
    -------
    table : Table

    Raises
    ------
    InvalidInputError
        Not two-dimensional, no rows, no columns, duplicate column names, complex numbers, ragged lists.
    UnsupportedInputError
        A container that is no table, or column labels of which only some are strings.
    NotNumericError
        A column of text, dates, categories or other objects.
    NotFiniteError
        NaN, null or infinity: the error names the column and the first row.
    ColumnMismatchError
        Other columns than ``fitted``.

    Warns
    -----
    ColumnNamesWarning
        Only one of ``X`` and ``fitted`` has column names.
    """
    frame: Frame | None = None
    values: npt.NDArray[np.generic] | sparse.csr_array
    labels: list[object] | None = None
    if sparse.issparse(X):
        shape = X.shape
    else:
        frame = as_frame(X, what=what)
        if frame is not None:
            shape, labels = frame.shape, list(frame.columns)
        else:
            X = as_array(X, what=what)
            shape = X.shape
    if len(shape) != 2:
        check_shape(shape, what=what)
    columns = name_columns(labels, shape[1], what=what)
    if fitted is not None:
        # Before the values: a renamed column is the reason to give, not what reindexing put into it.
        check_same_columns(fitted, columns, estimator=estimator, tested=tested)
    check_shape(shape, what=what)
    if frame is not None and fitted is not None and tested is not None and fitted.has_names and columns.has_names:
        return _read_tested(frame, fitted, tested, what)
    if frame is not None:
        values, is_integer = convert_frame(frame, columns, what=what)
    elif sparse.issparse(X):
        values, is_integer = convert_sparse(X, columns, what=what)
    else:
        values, is_integer = convert_array(X, columns, what=what)
    check_finite(values, columns, what=what)
    return Table(values, columns.names, columns.has_names, is_integer, None if frame is None else library_of(frame))


def _read_tested(frame: Frame, fitted: HasColumns, tested: npt.NDArray[np.integer], what: str) -> Table:
    """The table of fit's columns of which only those that are tested are read; the others are zeros."""
    n_columns = len(fitted.names)
    names = [fitted.names[i] for i in tested]
    is_integer = np.zeros(n_columns, dtype=np.bool_)
    # Of zeros that nobody reads or writes the system keeps no pages, column by column.
    values: npt.NDArray[np.generic] | sparse.csr_array = np.zeros((len(frame), n_columns), dtype=np.uint8, order="F")
    if names:
        own = Columns(tuple(names), has_names=True)
        read, is_integer[tested] = convert_frame(frame.select(names), own, what=what)
        check_finite(read, own, what=what)
        if isinstance(read, sparse.csr_array):
            values = sparse.csr_array((read.data, tested[read.indices], read.indptr), shape=(len(frame), n_columns))
        else:
            values = np.zeros((len(frame), n_columns), dtype=read.dtype, order="F")
            values[:, tested] = read
    unread = np.setdiff1d(np.arange(n_columns), tested)
    return Table(values, fitted.names, True, is_integer, library_of(frame), frozenset(unread.tolist()))


def take_rows(X: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Some rows of what ``read_table`` takes, in the caller's own kind: a frame stays a frame of the same columns.

    Parameters
    ----------
    X : data frame, sparse matrix or array-like of shape (n_rows, n_columns)
    rows : ndarray of intp
        Their numbers.

    Returns
    -------
    taken : data frame, sparse matrix or ndarray
    """
    if sparse.issparse(X):
        return X.tocsr()[rows]
    frame = as_frame(X)
    return as_array(X)[rows] if frame is None else frame[rows.tolist(), :].to_native()
