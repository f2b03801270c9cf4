"""Converts arrays, frames and sparse matrices to the core's dtype that holds them exactly; finds other values."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from numbers import Integral, Real
from os import PathLike
from os.path import isdir
from pathlib import PurePath
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import MATRIX_DTYPES
from cutwise.exceptions import CutwiseError, InvalidInputError, NotNumericError, UnsupportedInputError, listed

from .table import BOOL, INTEGER, NUMBER, ColumnKind, Columns, check_unique, number_kind

AnyDType = np.dtype[np.generic]
Found = TypeVar("Found")

# The smallest first, and integers before floats.
_BY_SIZE = [np.dtype(t) for t in (np.uint8, np.int32, np.int64, np.float32, np.float64)]


def matrix_dtype(dtypes: Iterable[AnyDType]) -> AnyDType:
    """The smallest of the core's dtypes that holds boolean, integer or real columns exactly, in any byte order.

    Two conversions can round: long double to float64, and 64-bit integers beyond 2**53 next to (or, unsigned, as)
    float64, which is how every value is compared anyway.
    """
    found = set(dtypes)
    return next((own for own in _BY_SIZE if all(np.can_cast(dtype, own) for dtype in found)), _BY_SIZE[-1])


def core_reads(values: npt.NDArray[np.generic]) -> bool:
    """Whether the core reads this array without a copy (a boolean one as bytes)."""
    return (
        (values.dtype in MATRIX_DTYPES or values.dtype == np.bool_)
        and values.dtype.isnative
        and values.flags.aligned
        and not any(stride % values.itemsize for stride in values.strides)
    )


_NUMBERS = (Real, Decimal, Fraction, np.bool_)

# Names of non-numeric values, for errors.
_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((str,), "text"),
    ((np.datetime64, datetime.date, datetime.time), "dates or times"),
    ((np.timedelta64, datetime.timedelta), "durations"),
    ((complex, np.complexfloating), "complex numbers"),
    ((dict,), "structs"),
)


@dataclass(frozen=True)
class NonNumericValue:
    """The first value of a column that is not a number, with its row."""

    row: int
    value: object
    column_kind: str | None = None
    n_values: int = 1

    @property
    def kind(self) -> str:
        """Name of such values in an error: from the column's type if that says more than the value's."""
        found = next((kind for types, kind in _KINDS if isinstance(self.value, types)), None)
        return self.column_kind or found or f"values of type {type(self.value).__name__!r}"

    @property
    def is_mendable(self) -> bool:
        """Whether the column has numbers except for a few cells or their type, and should not be dropped."""
        return self.column_kind in ("text among numbers", "numbers written as text")


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | np.floating | np.datetime64 | np.timedelta64) and bool(np.isnan(value))


def find_non_numeric(items: Sequence[object]) -> NonNumericValue | None:
    """The first value that is neither a real number nor missing; None when there is none."""
    types = set(map(type, items))
    # In Python's numeric tower, numpy's durations are integers.
    numbers = {t for t in types if issubclass(t, _NUMBERS)} - {np.timedelta64}
    if numbers == types:
        return None
    for row, value in enumerate(items):
        if not (type(value) in numbers or is_missing(value) or _acts_as_number(value)):
            return _non_numeric_text(items, row) if isinstance(value, str) else NonNumericValue(row, value)
    return None


def _non_numeric_text(items: Sequence[object], first: int) -> NonNumericValue:
    """The text to report for a column whose first text is in row ``first``.

    It is the first text that is not a number, such as a ``"?"`` for a missing value, if there is one.
    """
    texts = [(row, value) for row, value in enumerate(items[first:], first) if isinstance(value, str)]
    others = [(row, value) for row, value in texts if not reads_as_number(value)]
    n_missing = sum(map(is_missing, items))
    if not others:
        return NonNumericValue(*texts[0], "numbers written as text")
    if len(items) - n_missing >= 2 * len(others):
        return NonNumericValue(*others[0], "text among numbers", len(others))
    return NonNumericValue(*others[0], "text with missing values" if n_missing else "text")


def to_numbers(items: Sequence[object]) -> npt.NDArray[np.generic]:
    """Convert numbers to an array of shape (len(items),): int64 if all are integers or booleans that fit, else float64.

    Missing values become NaN; an integer beyond float64 becomes infinity, which is an error later.
    """
    if all(issubclass(t, (Integral, np.bool_)) for t in set(map(type, items))):
        try:
            return np.array(items, dtype=np.int64)
        except OverflowError:
            pass
    return np.array([as_float(value) for value in items], dtype=np.float64)


def not_numeric_error(
    refused: Mapping[int, NonNumericValue], columns: Columns, *, what: str = "X", takes: str = "numbers"
) -> NotNumericError:
    """Make the error for a table with non-numeric columns (by position), about the first of them."""
    column = min(refused)
    wrong = refused[column]
    like = [i for i in sorted(refused) if refused[i].is_mendable == wrong.is_mendable] if columns.has_names else []
    error = NotNumericError.in_column(
        what=what,
        takes=takes,
        column=columns.describe(column),
        kind=wrong.kind,
        value=wrong.value,
        row=wrong.row,
        n_values=wrong.n_values,
        like=[columns.names[i] for i in like],
        drop=not wrong.is_mendable,
    )
    if isinstance(wrong.value, Mapping) and not columns.has_names:
        # scikit-learn lets float() refuse such objects, and its estimator checks look for these words.
        return NotNumericError(
            f"{error}\n(float() argument must be a string or a real number, not {type(wrong.value).__name__!r})"
        )
    return error


def _acts_as_number(value: object) -> bool:
    """Whether a value of another type converts to a float, as 0-dimensional arrays do; never text or dates."""
    others = (str, bytes, bytearray, complex, np.complexfloating, np.datetime64, np.timedelta64)
    return not isinstance(value, others) and reads_as_number(value)


def as_float(value: object) -> float:
    """A number as float64, infinite where it is beyond; NaN where it is missing."""
    if is_missing(value):
        return float("nan")
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return float("inf")


def reads_as_number(value: Any) -> bool:
    """Whether Python can convert a text or another value to a float."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def as_array(X: Any, *, what: str = "X") -> npt.NDArray[np.generic]:
    """Convert an array-like to an ndarray of its own dtype, without a copy of an ndarray; the shape is not checked."""
    if isinstance(X, np.matrix):
        raise UnsupportedInputError("np.matrix is not supported. Please convert to a numpy array with np.asarray.")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        # Masked values are undefined; they are reported as missing.
        return np.ma.filled(X.astype(np.float64), np.nan)
    if isinstance(X, np.ndarray):
        return np.asarray(X)
    with reading(f"{what} cannot be read as an array", "Give every row one value a column."):
        values = np.asarray(X)
        if values.dtype.kind in "US" and isinstance(X, (list, tuple)):
            # numpy turns numbers beside a text into text: use the original objects.
            values = np.asarray(X, dtype=object)
    if X is None or (values.ndim == 0 and values.dtype.kind in "OSU"):
        raise UnsupportedInputError(
            f"{what} must be a table (a data frame, a 2D array, nested lists or a sparse matrix), "
            f"not {type(X).__name__}."
        )
    return values


def convert_array(
    values: npt.NDArray[np.generic], columns: Columns, *, what: str = "X"
) -> tuple[npt.NDArray[np.generic], tuple[ColumnKind, ...]]:
    """Convert a two-dimensional array to one of the core's dtypes, and find the kind of every column.

    An array that the core reads is not copied; booleans become a uint8 view of the same memory.
    """
    kind = values.dtype.kind
    if kind == "O":
        return _in_one(_source_of_objects, values.T, len(values), columns, what)
    if kind not in "fiub":
        wrong = find_non_numeric(values[:, 0].tolist()) if kind == "U" else None
        raise not_numeric_error({0: wrong or NonNumericValue(0, values[0, 0])}, columns, what=what)
    kinds = (number_kind(values.dtype),) * values.shape[1]
    if not core_reads(values):
        values = values.astype(matrix_dtype([values.dtype]), order="K")
    return values.view(np.uint8) if values.dtype == np.bool_ else values, kinds


def convert_sparse(X: Any, columns: Columns, *, what: str = "X") -> tuple[sparse.csr_array, tuple[ColumnKind, ...]]:
    """Convert a scipy sparse matrix or array to the core's CSR, and find the kinds of its columns.

    The input is never changed; a canonical CSR of a dtype that the core reads shares its memory with the result.
    """
    with reading(f"{what} is not a valid sparse matrix", "Build it anew from its entries."):
        X = _checked(X)
    if X.dtype.kind not in "fiub":
        stored = X.tocoo()
        value = stored.data[0] if stored.nnz else X.dtype.type(0)
        column, row = (int(stored.col[0]), int(stored.row[0])) if stored.nnz else (0, 0)
        raise not_numeric_error({column: NonNumericValue(row, value)}, columns, what=what)
    csr = _to_csr(X)
    # Rebuilt, since flags of the matrix, such as sorted indices, may be wrong.
    csr = sparse.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape, copy=False)
    kinds = (number_kind(csr.dtype),) * csr.shape[1]
    csr = _canonical(csr)
    data = csr.data.view(np.uint8) if csr.dtype == np.bool_ else csr.data.astype(matrix_dtype([csr.dtype]), copy=False)
    return sparse.csr_array((data, csr.indices, csr.indptr), shape=csr.shape, copy=False), kinds


def _checked(X: Any) -> Any:
    """Rebuild a sparse matrix so that scipy checks every index, since conversions and kernels do not."""
    if X.format == "dok":
        X = X.tocoo()
    elif X.format == "lil":
        rows = np.repeat(np.arange(len(X.rows)), list(map(len, X.rows)))
        columns, data = (list(chain.from_iterable(lists)) for lists in (X.rows, X.data))
        X = sparse.coo_array((np.array(data, dtype=X.dtype), (rows, columns)), shape=X.shape)
    if X.format == "coo":
        return sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)
    if X.format == "dia":
        return sparse.dia_array((X.data, X.offsets), shape=X.shape)
    # The check may also trim arrays, so it is done on views of the input's.
    made = getattr(sparse, f"{X.format}_array")((X.data, X.indices, X.indptr), shape=X.shape)
    made.check_format(full_check=True)
    return made


def _to_csr(X: Any) -> Any:
    """Convert any format to CSR; duplicate entries of narrow integers, which COO sums, do not overflow."""
    if X.format != "coo" or X.dtype.kind not in "iu":
        return X.tocsr()
    csr = X.astype(np.float64 if X.dtype == np.uint64 else np.int64).tocsr()
    return csr.astype(X.dtype) if csr.nnz == X.nnz else csr


def _canonical(csr: sparse.csr_array) -> sparse.csr_array:
    """Sort indices, sum duplicates and drop zeros; copies only where something has to change."""
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


def as_dense(values: Any) -> npt.NDArray[Any]:
    """Convert rows, a column or a matrix of any kind to an array; an array is returned unchanged."""
    return np.asarray(values.toarray() if sparse.issparse(values) else values)


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix of any kind with names of its columns, in the attributes of an AnnData object."""

    X: Any
    var_names: Sequence[object]
    obs: Any = None

    def __post_init__(self) -> None:
        if others := [name for name in self.var_names if not isinstance(name, str)]:
            raise InvalidInputError(
                f"feature_names holds {listed(others)}, and names are texts. Give list(map(str, feature_names))."
            )
        own = self.X.var_names if is_annotated(self.X) else getattr(self.X, "columns", None)
        if own is not None and list(own) != list(self.var_names):
            raise InvalidInputError(
                f"feature_names are for a matrix without names, and X is of type {type(self.X).__name__}, with columns "
                f"{listed(list(own))}. Leave feature_names out, or rename the columns of X."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the matrix."""
        return np.shape(self.X)


def is_annotated(X: Any) -> bool:
    """Whether X has the parts of an AnnData object: a matrix, names of its columns, and annotations of its rows."""
    return all(hasattr(X, part) for part in ("X", "var_names", "obs")) and not nw.dependencies.is_into_dataframe(X)


def ways_to_columns(X: Any) -> tuple[str, str] | None:
    """Expressions that select columns of a table and give their names, where these differ from pandas; for errors."""
    if is_annotated(X):
        return "adata[:, {}]", "adata.var_names"
    ways = {
        "pyarrow": ("X.select({})", "X.column_names"),
        "polars": ("X.select(*{})", "X.collect_schema()"),
        "duckdb": ("X.select(*{})", "X.columns"),
        "pyspark": ("X.select(*{})", "X.columns"),
    }
    return ways.get(type(X).__module__.partition(".")[0].lstrip("_"))


def bare_matrix(X: Any) -> Any:
    """The matrix of an annotated one, in memory, as is a matrix of a file or of Dask; others are returned unchanged."""
    if is_annotated(X):
        if X.X is None and hasattr(X, "mod"):
            raise InvalidInputError(f"X is a {type(X).__name__} of several tables. Give one: {listed(X.mod)}.")
        if X.X is None:
            step = "Put one there: adata.X = adata.layers[...]."
            raise InvalidInputError(f"X.X is None: there is no matrix to read. {step}")
        X = X.X
    read = getattr(X, "to_memory", None) or (getattr(X, "compute", None) if hasattr(X, "chunks") else None)
    return X if read is None else read()


Frame = nw.DataFrame[Any]

Series = nw.Series[Any]


def as_frame(X: Any, *, what: str = "X") -> Frame | None:
    """Wrap a data frame by narwhals; None for arrays and the like, an error for what cannot be a table."""
    if isinstance(X, np.ndarray) and X.dtype.names is None:  # narwhals takes a while to say so
        return None
    arrow = nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(X, arrow.RecordBatch):
        X = arrow.Table.from_batches([X])
    if nw.dependencies.is_into_dataframe(X):
        check_unique(list(X.column_names if hasattr(X, "column_names") else X.columns), what=what)
        frame: Frame = nw.from_native(X, eager_only=True)
        return frame
    refuse_mistaken(X, what, table=True)
    return None


def library_of(X: Any) -> str | None:
    """Library of a data frame of narwhals, such as ``"polars"``; None for other tables."""
    return str(nw.get_native_namespace(X).__name__) if isinstance(X, nw.DataFrame) else None


def convert_frame(
    frame: Frame, columns: Columns, *, what: str = "X"
) -> tuple[npt.NDArray[np.generic] | sparse.csr_array, tuple[ColumnKind, ...]]:
    """Convert all columns to one matrix of the smallest core dtype that holds each exactly, and find their kinds.

    Missing values become NaN (which the check for finite values reports), decimals float64. A pandas frame that is one
    block of a dtype the core reads is not copied; a frame of sparse columns (fill value 0) remains sparse.
    """
    whole = _pandas_whole(nw.to_native(frame))
    if sparse.issparse(whole):
        return convert_sparse(whole, columns, what=what)
    if whole is not None:
        return convert_array(whole, columns, what=what)
    return _in_one(_source_of, frame.to_dict(as_series=True).values(), len(frame), columns, what)


@contextmanager
def reading(what: str, step: str = "Make numbers, texts or dates of them, or leave it out.") -> Iterator[None]:
    """Convert a library's exception about values it cannot handle to an error that says ``what``, and the next step."""
    try:
        yield
    except (CutwiseError, MemoryError, Warning):
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise UnsupportedInputError(f"{what} ({said.rstrip('.')}). {step}") from error


def read_columns(
    given: Iterable[tuple[int, Any]],
    read: Callable[[Any], Found | NonNumericValue],
    columns: Columns,
    *,
    what: str,
    takes: str = "numbers",
) -> Iterator[tuple[int, Found]]:
    """Read columns with their positions one by one; the error for all that hold other values follows the last."""
    refused: dict[int, NonNumericValue] = {}
    for i, column in given:
        with reading(f"Values of {columns.describe(i)} cannot be read"):
            found = read(column)
        if isinstance(found, NonNumericValue):
            refused[i] = found
        elif not refused:
            yield i, found
    if refused:
        raise not_numeric_error(refused, columns, what=what, takes=takes)


def _in_one(
    source_of: Callable[[Any], _Source | NonNumericValue],
    given: Iterable[Any],
    n_rows: int,
    columns: Columns,
    what: str,
) -> tuple[npt.NDArray[np.generic], tuple[ColumnKind, ...]]:
    """Convert columns to one matrix of the smallest core dtype that holds each exactly, and find their kinds."""
    found = [source for _, source in read_columns(enumerate(given), source_of, columns, what=what)]
    dtype, kinds = matrix_dtype(source.dtype for source in found), tuple(source.kind for source in found)
    if len(found) == 1:
        return found[0].read().astype(dtype, copy=False).reshape(-1, 1), kinds
    # Column by column, so that at most one column is in memory twice.
    values = np.empty((n_rows, len(found)), dtype=dtype, order="F")
    for i, source in enumerate(found):
        values[:, i] = source.read()
    return values, kinds


@dataclass(frozen=True)
class _Source:
    """A numeric column: its dtype and kind, and a function that reads it."""

    dtype: AnyDType
    kind: ColumnKind
    read: Callable[[], npt.NDArray[np.generic]]


def _source_of(series: Series) -> _Source | NonNumericValue:
    """Source of one column, or its first non-numeric value."""
    dtype = series.dtype
    if dtype == nw.Boolean or dtype.is_numeric():
        kind = BOOL if dtype == nw.Boolean else INTEGER if dtype.is_integer() else NUMBER
        lacks = kind is not NUMBER and series.null_count() > 0
        if lacks or dtype in (nw.Int128, nw.UInt128, nw.Decimal):
            return _Source(np.dtype(np.float64), kind, lambda: as_float64(series))
        return _Source(np.dtype("bool" if kind is BOOL else str(dtype).lower()), kind, lambda: floats(series))
    if len(series) == series.null_count():
        return _Source(np.dtype(np.float64), NUMBER, lambda: np.full(len(series), np.nan))
    if dtype in (nw.Object, nw.Unknown):
        return _source_of_objects(series.to_numpy())
    items = series.to_list()
    if dtype in (nw.Categorical, nw.Enum):
        # Categories may hold numbers, but they are names to the user, and their order may be arbitrary.
        row = next(row for row, value in enumerate(items) if not is_missing(value))
        if isinstance(items[row], bool | np.bool_):  # booleans remain booleans in a category
            return _source_of_objects(np.array(items, dtype=object))
        return NonNumericValue(row, items[row], "categories")
    wrong = find_non_numeric(items)
    return wrong if wrong is not None else NonNumericValue(0, items[0])


def floats(series: Series) -> npt.NDArray[np.generic]:
    """Convert a floating column to an array, nulls to NaN."""
    values = series.to_numpy()
    # Older pandas returns nulls as objects.
    return to_numbers(values.tolist()) if values.dtype.kind == "O" else values


def as_float64(series: Series) -> npt.NDArray[np.float64]:
    """Convert numbers or booleans to the nearest float64, where the library's own cast may not; nulls to NaN."""
    dtype = series.dtype
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):  # Arrow refuses some beyond 2**53
        values = floats(series.fill_null(0)).astype(np.float64)
        values[series.is_null().to_numpy()] = np.nan
        return values
    if dtype == nw.Decimal:  # Arrow makes 0.30000000000000004 of 0.3, and 0.3 of its text
        series = series.cast(nw.String)
    return floats(series.cast(nw.Float64)).astype(np.float64)


def _source_of_objects(values: npt.NDArray[np.generic]) -> _Source | NonNumericValue:
    """Source of a column without a narwhals type: Python objects, or a dtype of the library's own."""
    if values.dtype.kind in "fiub" and values.ndim == 1:
        return _Source(values.dtype, number_kind(values.dtype), lambda: values)
    items = values.tolist()
    wrong = find_non_numeric(items)
    if wrong is not None:
        return wrong
    numbers = to_numbers(items)
    kind = BOOL if set(map(type, items)) <= {bool, np.bool_} else number_kind(numbers.dtype)
    return _Source(numbers.dtype, kind, lambda: numbers)


def _pandas_whole(native: Any) -> npt.NDArray[np.generic] | sparse.coo_array | None:
    """Values of a pandas frame of a single dtype that the core reads, or of sparse columns; None for other frames."""
    if not hasattr(native, "iloc"):
        return None
    dtypes = set(native.dtypes)
    if all(type(dtype).__name__ == "SparseDtype" for dtype in dtypes):
        # Another fill value, or entries that are no numbers: the dense way converts or explains. pandas would warn.
        try:
            return native.sparse.to_coo() if all(dtype.fill_value == 0 for dtype in dtypes) else None
        except (ValueError, TypeError):
            return None
    dtype = dtypes.pop()
    if dtypes or not isinstance(dtype, np.dtype) or dtype not in (*MATRIX_DTYPES, np.dtype(np.bool_)):
        return None
    # Shared memory where pandas keeps the columns together.
    return np.asarray(native.to_numpy())


def is_estimator(given: object) -> bool:
    """Whether an object is an estimator with scikit-learn's interface."""
    return hasattr(given, "fit") and hasattr(given, "get_params") and not isinstance(given, type)


def refuse_mistaken(given: Any, what: str, *, table: bool) -> None:
    """Raise ``UnsupportedInputError`` for an object from which a ``table`` or vector can be made; it says how."""
    if (mistake := _mistake(given, what, table)) is not None:
        called, step = mistake
        raise UnsupportedInputError(f"{what} is {called}. Give {step}.")


def _mistake(given: Any, what: str, table: bool) -> tuple[str, str] | None:
    """What was given instead of a table or vector, and what to give; None for what is neither known nor a mistake."""
    own, column = type(given).__name__, "" if table else "['name']"

    def in_memory(load: str, some: str) -> str:
        part = f", or a part where that is too large: {what}.{some.format('100_000')}" if table and some else ""
        return f"{what}.{load}(){column}{part}"

    if is_estimator(given):
        return f"a clusterer ({own})", "the table first: fit(X)" if table else f"its labels: {own}(...).fit(X).labels_"
    if isinstance(given, str | PathLike):
        path, suffix = str(given), PurePath(given).suffix
        if not table and not suffix:  # the name of a column
            step = f"the values, one a row: X[{path!r}], or X.obs[{path!r}] of an AnnData object"
        elif table and isdir(given):
            step = f"what the files hold: pyarrow.dataset.dataset({path!r})"
        else:
            reader = "polars.scan_parquet" if suffix == ".parquet" else "pandas.read_csv"
            step = f"what the file holds: {reader}({path!r}){column}"
        return f"a {own} ({path!r})", step
    if hasattr(given, "read_all") or isinstance(nw.from_native(given, pass_through=True), nw.LazyFrame):
        # Spark has a collect too, which gives lists of rows.
        ways = {"toPandas": "limit({}).toPandas()", "df": "limit({}).df()", "compute": "head({})", "read_all": ""}
        load = next((name for name in ways if hasattr(type(given), name)), "collect")
        some = ways.get(load, "head({}).collect()")
        return f"a {own}, whose rows are not in memory yet", in_memory(load, some)
    if hasattr(given, "to_table") and hasattr(given, "to_batches"):
        return "a dataset of pyarrow, whose rows are not in memory yet", in_memory("to_table", "head({})")
    if table and own == "Batches":
        step = f"one table, pandas.concat({what}) or numpy.vstack(list({what})), or one of them: next(iter({what}))"
        return "Batches, whose rows are not in memory together", step
    if isinstance(given, Iterator):
        anew = "; of batches, a function that opens them anew: cutwise.Batches(lambda: iter(parts))" if table else ""
        return f"a {own}, which can be read only once", f"list({what}){anew}"
    if hasattr(given, "to_adata"):
        return "the raw part of an AnnData object", "a whole one: adata.raw.to_adata()"
    first = given[0] if isinstance(given, list | tuple) and given else None
    has_fields = getattr(getattr(given, "dtype", None), "names", None)
    if table and (has_fields or isinstance(given, Mapping) or isinstance(first, Mapping)):
        return f"a {own}" if isinstance(given, Mapping) else "made of records", f"pandas.DataFrame({what})"
    if hasattr(first, "columns"):
        return f"a {own} of data frames", f"pandas.concat({what}), or cutwise.Batches({what})"
    return None
