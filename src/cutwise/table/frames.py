"""Data frames of any library narwhals knows, converted column by column into one matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core.kernels import MATRIX_DTYPES
from cutwise.exceptions import UnsupportedInputError

from .columns import Columns, check_unique
from .dtypes import AnyDType, is_integer_dtype, matrix_dtype
from .objects import Offender, find_offender, is_missing, not_numeric_error, to_numbers

__all__ = ["as_frame", "convert_frame", "sparse_of_frame"]

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
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise UnsupportedInputError(
            f"{what} is a lazy frame ({type(X).__name__}) whose rows are not computed yet. Collect it first "
            f"({what}.collect() in polars, {what}.compute() in dask)."
        )
    return None


def sparse_of_frame(frame: Frame) -> sparse.coo_array | None:
    """The entries of a pandas frame whose columns are all sparse with fill value zero; None for every other frame."""
    accessor = getattr(nw.to_native(frame), "sparse", None)
    if accessor is None or not hasattr(accessor, "to_coo"):
        return None
    try:
        return accessor.to_coo()
    except (ValueError, TypeError):
        # Another fill value, or entries that are no numbers: the dense way converts or explains.
        return None


def convert_frame(
    frame: Frame, columns: Columns, *, what: str = "X"
) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]]:
    """All columns in one matrix of the smallest of the core's dtypes that holds each of them exactly.

    Parameters
    ----------
    frame : narwhals.DataFrame
        Missing values become NaN (for the finiteness check to name), decimals float64. A pandas frame that is one block
        of a dtype the core reads is not copied.
    columns : Columns

    Returns
    -------
    values : ndarray of shape (n_rows, n_columns)
    is_integer : ndarray of shape (n_columns,), bool
        By the column's own dtype, also where ``values`` is floating because of another column.

    Raises
    ------
    NotNumericError
        Text, categories, dates or other values in a column; names the first such column, and lists all.
    """
    whole = _one_block(frame)
    if whole is not None:
        return whole, np.full(whole.shape[1], is_integer_dtype(whole.dtype))
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
            return _Source(np.dtype(np.float64), True, lambda: _floats(series))
        values = series.to_numpy()
        return _Source(values.dtype, True, lambda: values)
    if dtype == nw.Decimal:
        return _Source(np.dtype(np.float64), False, lambda: _floats(series))
    if dtype.is_numeric():
        values = series.to_numpy()
        values = values if values.dtype.kind == "f" else _floats(series)
        return _Source(values.dtype, False, lambda: values)
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
    """A numeric column as float64, nulls as NaN."""
    values = series.cast(nw.Float64).to_numpy()
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


def _one_block(frame: Frame) -> npt.NDArray[np.generic] | None:
    """The values of a pandas frame of one dtype the core reads, shared where pandas keeps them together."""
    native = nw.to_native(frame)
    dtypes = set(getattr(native, "dtypes", ()))
    if not hasattr(native, "iloc") or len(dtypes) != 1:
        return None
    dtype = dtypes.pop()
    if not (isinstance(dtype, np.dtype) and dtype.isnative and (dtype in MATRIX_DTYPES or dtype == np.bool_)):
        return None
    values = np.asarray(native.to_numpy())
    return values.view(np.uint8) if values.dtype == np.bool_ else values


_INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.Int128) + (nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64, nw.UInt128)
