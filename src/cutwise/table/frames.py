"""Data frames of any library narwhals knows, converted column by column into one matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import MATRIX_DTYPES
from cutwise.exceptions import UnsupportedInputError

from .arrays import convert_array
from .columns import Columns, check_unique
from .dtypes import AnyDType, is_integer_dtype, matrix_dtype
from .objects import Offender, find_offender, is_missing, not_numeric_error, to_numbers
from .sparse import convert_sparse

__all__ = ["Frame", "as_frame", "convert_frame", "library_of"]

Frame = nw.DataFrame[Any]
Series = nw.Series[Any]


def as_frame(X: Any, *, what: str = "X") -> Frame | None:
    """The data frame as narwhals sees it, or None when it is no data frame.

    Raises
    ------
    InvalidInputError
        Two columns share a name.
    UnsupportedInputError
        A single column (a series), or a lazy frame.
    """
    if nw.dependencies.is_into_series(X):
        raise UnsupportedInputError(
            f"Expected a 2-dimensional container but got {type(X)} instead: {what} is one column. Pass a DataFrame "
            "containing a single row (i.e. single sample) or a single column (i.e. single feature) instead.\n"
            f"Reshape your data with {what}.to_frame()."
        )
    arrow = nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(X, arrow.RecordBatch):
        X = arrow.Table.from_batches([X])
    if nw.dependencies.is_into_dataframe(X):
        check_unique(list(X.column_names if hasattr(X, "column_names") else X.columns), what=what)
        frame: Frame = nw.from_native(X, eager_only=True)
        return frame
    if hasattr(X, "read_all") or isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        kind = type(X).__name__
        collect = _COLLECT.get(kind, "collect()" if hasattr(X, "collect") else "compute()")
        raise UnsupportedInputError(
            f"{what} is a {kind}, whose rows are not in memory yet. Get them: {what}.{collect}."
        )
    return None


def library_of(frame: Frame) -> str:
    """The library that a data frame is of, such as ``"polars"``."""
    return str(nw.get_native_namespace(frame).__name__)


def convert_frame(
    frame: Frame, columns: Columns, *, what: str = "X"
) -> tuple[npt.NDArray[np.generic] | sparse.csr_array, npt.NDArray[np.bool_]]:
    """All columns in one matrix of the smallest of the core's dtypes that holds each of them exactly.

    Parameters
    ----------
    frame : narwhals.DataFrame
        Missing values become NaN (for the finiteness check to name), decimals float64. A pandas frame that is one block
        of a dtype the core reads is not copied; one of sparse columns (fill value 0) stays sparse.
    columns : Columns

    Returns
    -------
    values : ndarray or csr_array of shape (n_rows, n_columns)
    is_integer : ndarray of shape (n_columns,), bool
        By the column's own dtype, also where ``values`` is floating because of another column.

    Raises
    ------
    NotNumericError
        Text, categories, dates or other values in a column; names the first such column, and lists all.
    """
    whole = _pandas_whole(nw.to_native(frame))
    if sparse.issparse(whole):
        return convert_sparse(whole, columns, what=what)
    if whole is not None:
        return convert_array(whole, columns, what=what)
    sources: list[_Source] = []
    offenders: dict[int, Offender] = {}
    for i, series in enumerate(frame.to_dict(as_series=True).values()):
        source = _source_of(series)
        if isinstance(source, Offender):
            offenders[i] = source
        else:
            sources.append(source)
    if offenders:
        raise not_numeric_error(offenders, columns, what=what)
    dtype = matrix_dtype(source.dtype for source in sources)
    is_integer = np.array([source.is_integer for source in sources])
    if len(sources) == 1:
        return sources[0].read().astype(dtype, copy=False).reshape(-1, 1), is_integer
    # Column by column, so that at most one column exists twice.
    values = np.empty((len(frame), len(sources)), dtype=dtype, order="F")
    for i, source in enumerate(sources):
        values[:, i] = source.read()
    return values, is_integer


@dataclass(frozen=True)
class _Source:
    """A numeric column: the dtype it is read as, and how."""

    dtype: AnyDType
    is_integer: bool
    read: Callable[[], npt.NDArray[np.generic]]


def _source_of(series: Series) -> _Source | Offender:
    """How to read one column, or the first value that makes it unreadable."""
    dtype = series.dtype
    if dtype == nw.Boolean or dtype in _INTEGERS:
        if series.null_count() > 0 or dtype in (nw.Int128, nw.UInt128):
            return _Source(np.dtype(np.float64), True, lambda: _floats(series.cast(nw.Float64)))
        return _Source(np.dtype("bool" if dtype == nw.Boolean else str(dtype).lower()), True, series.to_numpy)
    if dtype == nw.Decimal:
        return _Source(np.dtype(np.float64), False, lambda: _floats(series.cast(nw.Float64)))
    if dtype.is_numeric():
        return _Source(np.dtype(str(dtype).lower()), False, lambda: _floats(series))
    if len(series) == series.null_count():
        return _Source(np.dtype(np.float64), False, lambda: np.full(len(series), np.nan))
    if dtype in (nw.Object, nw.Unknown):
        return _source_of_objects(series.to_numpy())
    items = series.to_list()
    if dtype in (nw.Categorical, nw.Enum):
        # Categories may hold numbers, but they are names to the user, and their order may be arbitrary.
        row = next(row for row, value in enumerate(items) if not is_missing(value))
        return Offender(row, items[row], "categories")
    offender = find_offender(items)
    return offender if offender is not None else Offender(0, items[0])


def _floats(series: Series) -> npt.NDArray[np.generic]:
    """A floating column with its nulls as NaN."""
    values = series.to_numpy()
    # Older pandas hands out its nulls as objects.
    return to_numbers(values.tolist()) if values.dtype.kind == "O" else values


def _source_of_objects(values: npt.NDArray[np.generic]) -> _Source | Offender:
    """A column narwhals has no type for: Python objects, or a dtype of the library's own."""
    if values.dtype.kind in "fiub":
        return _Source(values.dtype, is_integer_dtype(values.dtype), lambda: values)
    items = values.tolist()
    offender = find_offender(items)
    if offender is not None:
        return offender
    numbers = to_numbers(items)
    return _Source(numbers.dtype, is_integer_dtype(numbers.dtype), lambda: numbers)


def _pandas_whole(native: Any) -> npt.NDArray[np.generic] | sparse.coo_array | None:
    """A pandas frame that needs no look at its columns: of one dtype the core reads, or all sparse; else None."""
    if not hasattr(native, "iloc"):
        return None
    dtypes = set(native.dtypes)
    if all(type(dtype).__name__ == "SparseDtype" for dtype in dtypes):
        try:
            return native.sparse.to_coo()
        except (ValueError, TypeError):
            # Another fill value, or entries that are no numbers: the dense way converts or explains.
            return None
    dtype = dtypes.pop()
    if dtypes or not isinstance(dtype, np.dtype) or dtype not in (*MATRIX_DTYPES, np.dtype(np.bool_)):
        return None
    # Shared memory where pandas keeps the columns together.
    return np.asarray(native.to_numpy())


# What gives the rows of something that only describes them, by its type's name.
_COLLECT = {
    "DuckDBPyRelation": "df()",
    "RecordBatchReader": "read_all()",
    "LazyFrame": "collect()",
    "Table": "to_pandas()",
}

_INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.Int128) + (nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64, nw.UInt128)
