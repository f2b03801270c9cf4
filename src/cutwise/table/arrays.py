"""Arrays and nested lists, kept as they are where the core can read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError, UnsupportedInputError

from .columns import Columns
from .dtypes import is_integer_dtype, is_kept, matrix_dtype
from .objects import Offender, find_offender, not_numeric_error, to_numbers

__all__ = ["as_array", "convert_array"]


def as_array(X: Any, *, what: str = "X") -> npt.NDArray[np.generic]:
    """Anything array-like as an ndarray of its own dtype, not copied when it is one; its shape is not checked.

    Raises
    ------
    UnsupportedInputError
        ``np.matrix``, or an object no array can be made of.
    InvalidInputError
        Nested lists of unequal lengths.
    """
    if isinstance(X, np.matrix):
        raise UnsupportedInputError("np.matrix is not supported. Please convert to a numpy array with np.asarray.")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        # The values behind a mask are undefined; they are missing, and reported as such.
        return np.ma.filled(X.astype(np.float64), np.nan)
    if isinstance(X, np.ndarray):
        return np.asarray(X)
    if X is None or isinstance(X, (str, bytes, dict, set, frozenset)):
        hint = " Read the file first, for instance with pandas.read_csv." if isinstance(X, str) else ""
        hint = " Make a data frame of it: pandas.DataFrame(...)." if isinstance(X, dict) else hint
        raise UnsupportedInputError(
            f"{what} must be a table (a data frame, a 2D array, nested lists or a sparse matrix), "
            f"not {type(X).__name__}.{hint}"
        )
    if isinstance(X, Iterator):
        raise UnsupportedInputError(
            f"{what} is a {type(X).__name__}, which can be read only once. Make an array: numpy.array(list({what}))."
        )
    try:
        values = np.asarray(X)
        if values.dtype.kind in "US" and isinstance(X, (list, tuple)):
            # One text among numbers turns them all into text: look at what was written.
            values = np.asarray(X, dtype=object)
    except ValueError as error:
        if isinstance(X, (list, tuple)):
            raise InvalidInputError(_ragged(X, what)) from error
        raise InvalidInputError(f"{what} cannot be read as an array: {error}") from error
    except TypeError as error:
        raise UnsupportedInputError(f"{what} of type {type(X).__name__} cannot be read as an array: {error}") from error
    return values


def convert_array(
    values: npt.NDArray[np.generic], columns: Columns, *, what: str = "X"
) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]]:
    """A two-dimensional array in one of the core's dtypes, and which of its columns were integers.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Any dtype; one the core reads is returned as it is, booleans as a uint8 view of the same memory.

    Returns
    -------
    values : ndarray of shape (n_rows, n_columns)
    is_integer : ndarray of shape (n_columns,), bool

    Raises
    ------
    InvalidInputError
        Complex numbers, text, dates, or objects that are no numbers.
    """
    kind = values.dtype.kind
    if kind == "O":
        return _from_objects(values, columns, what)
    if kind not in "fiub":
        if kind == "V":
            raise UnsupportedInputError(
                f"{what} is a structured array. Give a data frame, or "
                f"numpy.lib.recfunctions.structured_to_unstructured({what})."
            )
        offender = find_offender(values[:, 0].tolist()) if kind == "U" else None
        raise not_numeric_error({0: offender or Offender(0, values[0, 0])}, columns, what=what)
    is_integer = np.full(values.shape[1], is_integer_dtype(values.dtype))
    if not is_kept(values):
        values = values.astype(matrix_dtype([values.dtype]), order="K")
    return values.view(np.uint8) if values.dtype == np.bool_ else values, is_integer


def _from_objects(
    values: npt.NDArray[np.generic], columns: Columns, what: str
) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]]:
    """An object array, column by column."""
    offenders: dict[int, Offender] = {}
    numbers: list[npt.NDArray[np.generic]] = []
    for column in range(values.shape[1]):
        items = values[:, column].tolist()
        offender = find_offender(items)
        if offender is not None:
            offenders[column] = offender
        elif not offenders:
            numbers.append(to_numbers(items))
    if offenders:
        raise not_numeric_error(offenders, columns, what=what)
    dtypes = [column.dtype for column in numbers]
    return np.column_stack(numbers).astype(matrix_dtype(dtypes), copy=False), np.array(
        [is_integer_dtype(t) for t in dtypes]
    )


def _ragged(rows: list[Any] | tuple[Any, ...], what: str) -> str:
    """Why nested lists make no array: the first row whose length differs."""
    try:
        lengths = [len(row) for row in rows]
    except TypeError:
        return f"{what} cannot be read as an array: its rows are not all lists of numbers."
    for row, length in enumerate(lengths):
        if length != lengths[0]:
            return (
                f"The rows of {what} have different lengths: row 0 has {lengths[0]} values and row {row} has {length}. "
                "Give every row one value a column."
            )
    return f"{what} cannot be read as an array: some of its values are sequences themselves."
