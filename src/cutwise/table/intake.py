"""From whatever users call a table to a ``Table``: one way in for fit and predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.exceptions import IdentifierWarning, InvalidInputError, NotFiniteError, NotNumericError, warn

from .convert import Frame, as_array, as_frame, convert_array, convert_frame, convert_sparse, library_of
from .kinds import ColumnKind, are_plain
from .labels import read_weights
from .mixed import Items, MixedOptions, RawColumn, counts_rows, find_kind, raw_column, values_by_kind
from .numeric import NonNumericValue, not_numeric_error
from .table import Columns, HasColumns, Table, check_same_columns, name_columns

__all__ = ["RESHAPE_HINT", "check_finite", "check_shape", "is_all_finite", "read_table", "take_rows"]

RESHAPE_HINT = (
    "Reshape your data either using array.reshape(-1, 1) if your data has a single feature "
    "or array.reshape(1, -1) if it contains a single sample."
)

# The core numbers columns by 32-bit integers.
_MAX_COLUMNS = 2**31 - 1


def check_shape(shape: tuple[int, ...], *, what: str = "X") -> None:
    """Raises ``InvalidInputError`` unless the shape is (at least one row, at least one column)."""
    if len(shape) == 0:
        raise InvalidInputError(
            f"Expected 2D array, got scalar array instead: {what} is a single value.\n{RESHAPE_HINT}"
        )
    if len(shape) == 1:
        raise InvalidInputError(f"Expected 2D array, got 1D array instead: {what} has shape {shape}.\n{RESHAPE_HINT}")
    if len(shape) > 2:
        raise InvalidInputError(
            f"Found array with dim {len(shape)}, while dim <= 2 is required: {what} has shape {shape}. "
            "Give one row a sample and one column a feature."
        )
    if shape[0] == 0:
        raise InvalidInputError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required. {what} has no rows."
        )
    if shape[1] > _MAX_COLUMNS:
        raise InvalidInputError(
            f"{what} has {shape[1]} columns, more than the {_MAX_COLUMNS} that can be told apart. Drop empty columns."
        )
    if shape[1] == 0:
        raise InvalidInputError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required. {what} has no columns."
        )


# Values looked at together: 256 KiB to 512 KiB, so that a second look at a block comes from the cache.
_BLOCK = 1 << 16


def is_all_finite(values: npt.NDArray[np.generic]) -> bool:
    """Whether no value is NaN or infinite; any number of dimensions and any strides.

    A block's sum is finite only when all its values are, so one addition a value settles nearly every block. Huge
    values can overflow the sum; such a block is looked at value by value.
    """
    if values.dtype.kind != "f":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return all(
            bool(np.isfinite(np.add.reduce(b, axis=None))) or bool(np.isfinite(b).all()) for b in _blocks(values)
        )


def check_finite(
    values: npt.NDArray[np.generic] | sparse.csr_array,
    columns: Columns,
    *,
    what: str = "X",
    may_miss: Sequence[bool] = (),
) -> None:
    """Raises the error that names the column and the first row of a missing or infinite value.

    Missing values are reported before infinite ones, and the first column of the table before the others; those of
    columns that ``may_miss`` some are none to report.
    """
    if is_all_finite(values.data if isinstance(values, sparse.csr_array) else values):
        return
    for missing in (True, False):
        rows, cols = _places(values, missing)
        if missing and any(may_miss):
            reported = ~np.array(may_miss)[cols]
            rows, cols = rows[reported], cols[reported]
        if len(cols):
            column = int(cols.min())
            raise NotFiniteError.in_column(
                what=what,
                column=columns.describe(column),
                row=int(rows[cols == column].min()),
                missing=missing,
                n_values=len(cols),
                n_columns=len(np.unique(cols)),
            )


def _places(
    values: npt.NDArray[np.generic] | sparse.csr_array, missing: bool
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns of the missing (or else the infinite) values."""
    wanted = np.isnan if missing else np.isinf
    if isinstance(values, sparse.csr_array):
        found = np.flatnonzero(wanted(values.data))
        return np.searchsorted(values.indptr, found, side="right") - 1, values.indices[found].astype(np.intp)
    step = max(1, _BLOCK // max(1, values.shape[1]))
    rows, cols = [], []
    for start in range(0, values.shape[0], step):
        r, c = np.nonzero(wanted(values[start : start + step]))
        rows.append(r + start)
        cols.append(c)
    return np.concatenate(rows), np.concatenate(cols)


def _blocks(values: npt.NDArray[np.generic]) -> Iterator[npt.NDArray[np.generic]]:
    """The array in views of about ``_BLOCK`` values, along its longest stride."""
    if values.ndim == 1 or values.flags.c_contiguous or values.flags.f_contiguous:
        flat = values.ravel(order="K")
        for start in range(0, flat.size, _BLOCK):
            yield flat[start : start + _BLOCK]
        return
    if abs(values.strides[0]) < abs(values.strides[1]):
        values = values.T
    step = max(1, _BLOCK // max(1, values.shape[1]))
    for start in range(0, values.shape[0], step):
        yield values[start : start + step]


def read_table(
    X: Any,
    *,
    what: str = "X",
    fitted: HasColumns | None = None,
    estimator: str = "the model",
    tested: npt.NDArray[np.integer] | None = None,
    mixed: MixedOptions | None = None,
    unknown: str = "outside",
) -> Table:
    """Checks a table of numbers and hands it on, without a copy where the core can read it as it is.

    ``X`` is anything ``numpy.asarray`` reads, a scipy sparse matrix or array, or a pandas, polars, pyarrow, Modin or
    cuDF frame. Arrays of float32, float64, int32, int64, uint8 and bool are never copied, whatever their strides, and
    may be read-only or memory maps. Others are converted: float16 to float32; int8, int16 and uint16 to int32; uint32
    to int64; uint64 to float64; a frame to one matrix of the smallest of these dtypes that holds every column.

    ``fitted`` are the columns of fit: names and their number are checked before any value is read. ``tested`` are those
    of them that decide, ascending: in a data frame with names the others may be missing, and are not read. Arrays have
    no names to tell columns apart, so all of theirs are read.

    With ``mixed`` options, columns of other kinds and missing values are taken too, as one float64 matrix that
    ``ColumnKind`` explains. Columns of fit that were of other kinds are read by these; ``unknown`` says what levels are
    that fit never saw. A ``Table`` is handed back.
    """
    if isinstance(X, Table):
        return X
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
    if fitted is not None and not sparse.issparse(X):
        if frame is not None and tested is not None and fitted.has_names and columns.has_names:
            return _read_tested(frame, fitted, tested, what, unknown)
        if not are_plain(fitted.kinds) or any(kind.left_out for kind in fitted.kinds):
            read = _read_by_kind(_columns_of(X, frame), fitted.kinds, columns, what, unknown)
            return Table(read, columns.names, columns.has_names, fitted.kinds, library_of(frame) if frame else None)
    if mixed is not None and not sparse.issparse(X):
        return _read_mixed(X, frame, columns, mixed, what)
    if frame is not None:
        values, kinds = convert_frame(frame, columns, what=what)
    elif sparse.issparse(X):
        values, kinds = convert_sparse(X, columns, what=what)
    else:
        values, kinds = convert_array(X, columns, what=what)
    check_finite(values, columns, what=what)
    return Table(values, columns.names, columns.has_names, kinds, None if frame is None else library_of(frame))


def _read_tested(frame: Frame, fitted: HasColumns, tested: npt.NDArray[np.integer], what: str, unknown: str) -> Table:
    """The table of fit's columns of which only those that are tested are read; the others are zeros."""
    n_columns = len(fitted.names)
    names = [fitted.names[i] for i in tested]
    kinds = list(fitted.kinds)
    # Of zeros that nobody reads or writes the system keeps no pages, column by column.
    values: npt.NDArray[np.generic] | sparse.csr_array = np.zeros((len(frame), n_columns), dtype=np.uint8, order="F")
    if names:
        own = Columns(tuple(names), True, tuple(kinds[i] for i in tested))
        frame = frame.select(names)
        read: npt.NDArray[np.generic] | sparse.csr_array
        if are_plain(own.kinds):
            read, own_kinds = convert_frame(frame, own, what=what)
            check_finite(read, own, what=what)
            for column, kind in zip(tested, own_kinds, strict=True):
                kinds[column] = kind
        else:
            read = _read_by_kind(_columns_of(None, frame), own.kinds, own, what, unknown)
        if isinstance(read, sparse.csr_array):
            values = sparse.csr_array((read.data, tested[read.indices], read.indptr), shape=(len(frame), n_columns))
        else:
            values = np.zeros((len(frame), n_columns), dtype=read.dtype, order="F")
            values[:, tested] = read
    unread = np.setdiff1d(np.arange(n_columns), tested)
    return Table(values, fitted.names, True, tuple(kinds), library_of(frame), frozenset(unread.tolist()))


def _columns_of(X: Any, frame: Frame | None) -> list[Items]:
    """The columns of an array or a data frame, one by one."""
    return list(X.T) if frame is None else list(frame.to_dict(as_series=True).values())


def _read_mixed(X: Any, frame: Frame | None, columns: Columns, options: MixedOptions, what: str) -> Table:
    """A table to fit, of whatever columns: as complete numbers where it holds these alone, else column by column."""
    categories = options.categories(columns)
    library = None if frame is None else library_of(frame)
    if not categories and _may_be_numbers(X, frame):
        try:
            values, kinds = convert_frame(frame, columns, what=what) if frame else convert_array(X, columns, what=what)
            if is_all_finite(values.data if isinstance(values, sparse.csr_array) else values):
                return _warned(Table(values, columns.names, columns.has_names, kinds, library), what)
        except NotNumericError:
            pass  # what the columns hold is found out one by one
    weights = read_weights(options.sample_weight, len(X) if frame is None else len(frame))
    found: list[ColumnKind] = []
    read = np.zeros((len(X) if frame is None else len(frame), len(columns.names)), order="F")
    refused: dict[int, NonNumericValue] = {}
    for i, column in enumerate(_columns_of(X, frame)):
        asked_for = categories is not None and i in categories
        raw = raw_column(column, as_category=asked_for)
        refuses_text = categories is not None and not asked_for
        if refuses_text and isinstance(raw, RawColumn) and raw.name == "category" and not raw.is_empty:
            row = int(np.flatnonzero(np.array([item is not None for item in raw.items])[raw.codes])[0])
            raw = NonNumericValue(row, raw.items[raw.codes[row]], "text")
        if isinstance(raw, NonNumericValue):
            refused[i] = raw
        elif not refused:
            kind, read[:, i] = find_kind(
                raw, describe=_start(columns.describe(i)), weights=weights, is_asked_for=asked_for
            )
            found.append(kind)
    if refused:
        raise not_numeric_error(refused, columns, what=what)
    check_finite(read, columns, what=what, may_miss=[kind.has_gaps for kind in found])
    if all(kind.left_out for kind in found):
        reasons = ", ".join(f"{name} ({kind.left_out})" for name, kind in zip(columns.names, found, strict=True))
        raise InvalidInputError(
            f"{what} has no column to cut: {reasons}. Give a column that rows share values of, or name these in "
            "categorical_features."
        )
    return _warned(Table(read, columns.names, columns.has_names, tuple(found), library), what)


def _may_be_numbers(X: Any, frame: Frame | None) -> bool:
    """Whether every column is of numbers, or of objects that may be."""
    if frame is None:
        return X.dtype.kind in "fiubO"
    types = (nw.Boolean, nw.Object, nw.Unknown)
    return all(dtype.is_numeric() or dtype in types for dtype in frame.schema.values())


def _read_by_kind(
    given: list[Items], kinds: Sequence[ColumnKind], columns: Columns, what: str, unknown: str
) -> npt.NDArray[np.float64]:
    """New rows by the kinds of fit, shape (n, d)."""
    read = np.zeros((len(given[0]), len(given)), order="F")
    refused: dict[int, NonNumericValue] = {}
    for i, (column, kind) in enumerate(zip(given, kinds, strict=True)):
        if kind.left_out is not None:
            continue
        raw = raw_column(column, as_category=kind.name == "category" and kind.levels is not None)
        if isinstance(raw, NonNumericValue):
            refused[i] = raw
        else:
            read[:, i] = values_by_kind(raw, kind, describe=_start(columns.describe(i)), unknown=unknown)
    if refused:
        raise not_numeric_error(refused, columns, what=what)
    try:
        check_finite(read, columns, what=what, may_miss=[kind.has_gaps for kind in kinds])
    except NotFiniteError as error:
        if "NaN" not in str(error):
            raise
        raise error.with_next_step(
            "No value of that column was missing at fit, so the rules say nothing of it. Fill it in, or fit on rows "
            "of which some have none."
        ) from error
    return read


def _start(words: str) -> str:
    """Words at the start of a sentence; what they quote stays as it is."""
    return words[:1].upper() + words[1:]


def _warned(table: Table, what: str) -> Table:
    """The table of a fit, with a warning of columns that say nothing of what rows are like."""
    columns = list(zip(table.names, table.kinds, strict=True))
    lines = [f"{name} is left out: {kind.left_out}" for name, kind in columns if kind.left_out]
    if table.has_names and not table.is_sparse:
        lines += [
            f"{name} numbers the rows"
            for i, (name, kind) in enumerate(columns)
            if kind.name == "integer" and not kind.has_gaps and counts_rows(table.values[:, i])
        ]
    if lines:
        warn(IdentifierWarning.of(lines, what))
    return table


def take_rows(X: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Some rows of what ``read_table`` takes, in the caller's own kind: a frame stays a frame of the same columns."""
    if sparse.issparse(X):
        return X.tocsr()[rows]
    frame = as_frame(X)
    return as_array(X)[rows] if frame is None else frame[rows.tolist(), :].to_native()
