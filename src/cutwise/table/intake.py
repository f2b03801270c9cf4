"""Reads and checks tables and parameters, once; errors name what is wrong and where."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeGuard, TypeVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import Float64, count_distinct_rows
from cutwise.exceptions import (
    CutwiseWarning,
    IdentifierWarning,
    InvalidInputError,
    MissingValueError,
    NotFiniteError,
    NotNumericError,
    UnknownOptionError,
    UnsupportedInputError,
    did_you_mean,
    listed,
    shown,
    warn,
)

from . import convert
from .labels import as_vector
from .mixed import (
    ColumnSums,
    Items,
    RawColumn,
    are_dates,
    are_numbers,
    check_truth,
    counts_rows,
    raw_column,
    values_by_kind,
)
from .table import ColumnKind, Columns, Table, are_plain, check_same_columns, name_columns

# Advice where a clusterer was given instead of a number.
_CLUSTERER_HINTS = {
    "n_clusters": "To start from a clusterer, give it as reference: ExplainableKMeans(3, reference=clusterer).",
    "max_leaves": "To explain a clusterer, fit it and give its labels: ClusterExplainer().fit(X, clusterer.labels_).",
}

Option = TypeVar("Option")

Seed = int | np.random.RandomState | None
"""Types of ``random_state``."""

# The core counts by 64-bit integers; no table is as large.
_MOST = 2**63 - 1

# More threads help on no machine, and the core counts them in 32 bits.
_MAX_JOBS = 1 << 12


def check_option(name: str, value: Option, valid: Sequence[object]) -> Option:
    """Return the value if it is valid; else raise an error that lists the valid ones and suggests the nearest."""
    if any(value is option or (isinstance(value, str) and value == option) for option in valid):
        return value
    raise UnknownOptionError.of(name, value, valid)


def check_integer(name: str, value: object, *, minimum: int, maximum: int | None = None, hint: str = "") -> int:
    """Return an integer within bounds as an int; a boolean or 3.0 is an error. ``hint``: end of the error."""
    bounds = f">= {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    if not _is_integer(value):
        if hasattr(value, "fit"):
            hint = _CLUSTERER_HINTS.get(name, hint)
        given = shown(value)
        raise InvalidInputError(f"{name}={given} is not a whole number. Use an integer {bounds}. {hint}".rstrip())
    number = min(int(value), _MOST)
    if number < minimum or (maximum is not None and number > maximum):
        raise InvalidInputError(f"{name}={number} is out of range. Use an integer {bounds}. {hint}".rstrip())
    return number


def check_n_init(n_init: object) -> int:
    """Return the number of starts; ``"auto"``, as in KMeans, is 10."""
    return 10 if isinstance(n_init, str) and n_init == "auto" else check_integer("n_init", n_init, minimum=1)


def check_verbose(verbose: object) -> int:
    """Return the parameter as an integer; True and False are 1 and 0, as in scikit-learn."""
    return check_integer("verbose", int(verbose) if isinstance(verbose, bool) else verbose, minimum=0)


def check_number(
    name: str, value: object, *, minimum: float, maximum: float = math.inf, above: bool = False, hint: str = ""
) -> float:
    """Return a finite number within bounds as a float; ``above`` excludes ``minimum``. ``hint``: end of the error."""
    bounds = f"{'>' if above else '>='} {minimum:g}" + ("" if maximum == math.inf else f" and <= {maximum:g}")
    is_number = not isinstance(value, (bool, np.bool_)) and isinstance(value, Real)
    number = convert.as_float(value) if is_number else math.nan
    if math.isfinite(number) and minimum <= number <= maximum and not (above and number == minimum):
        return number
    problem = "out of range" if math.isfinite(number) else "not a finite number"
    raise InvalidInputError(f"{name}={shown(value)} is {problem}. Use a number {bounds}. {hint}".rstrip())


def check_n_jobs(n_jobs: object) -> int:
    """Number of threads for ``n_jobs`` by joblib's rule: -1 is all cores, None is 1 outside a joblib context."""
    import joblib  # it and scikit-learn take longer to import than a help text to print

    if n_jobs is None:
        return int(joblib.effective_n_jobs(None))
    if not _is_integer(n_jobs) or n_jobs == 0:
        raise InvalidInputError(
            f"n_jobs={shown(n_jobs)} is not a number of threads. "
            "Use an integer >= 1, -1 for all cores, or None for one."
        )
    return min(_MAX_JOBS, int(joblib.effective_n_jobs(int(n_jobs))))


def read_random_state(random_state: object) -> np.random.RandomState:
    """Random state for ``random_state``: from a seed, the given object, or numpy's global one for None."""
    from sklearn.utils import check_random_state

    try:
        source: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise InvalidInputError(
            f"random_state={shown(random_state)} cannot seed anything. Use an integer from 0 to {2**32 - 1}, a "
            "numpy.random.RandomState, or None for another result every time."
        ) from error
    return source


def check_n_clusters(
    n_clusters: object,
    table: Table | None = None,
    weights: npt.NDArray[np.float64] | None = None,
    *,
    what: str = "X",
    instead: str = "give more rows",
    n_samples: int | None = None,
) -> int:
    """Number of clusters: at least 1, and at most the number of distinct rows of positive weight in ``table``.

    ``instead``: what the error suggests beside fewer clusters. ``n_samples``: number of rows that the error gives.
    """
    number = check_integer("n_clusters", n_clusters, minimum=1)
    if table is not None:
        distinct = count_distinct_rows(table.matrix, number, weights)
        if distinct < number:
            rows = "row" if distinct == 1 else "rows"
            if table.is_integer.any() and abs(table.values[:, table.is_integer]).max() > 2**53:
                instead += " (integers beyond 2**53 are one number with their neighbors: subtract a constant)"
            weighted = "" if weights is None else " of positive weight"
            raise InvalidInputError(
                f"n_clusters={number} is more than the {distinct} distinct {rows} of {what}{weighted} "
                f"(n_samples={n_samples or table.n_rows}), and every cluster needs a row that no other has.\n"
                f"{f'Use n_clusters <= {distinct}, or ' if distinct > 1 else 'For more clusters, '}{instead}."
            )
    return number


def check_max_leaves(max_leaves: object, n_clusters: int) -> int:
    """Number of leaves: ``n_clusters`` for None, otherwise at least as many."""
    if max_leaves is None:
        return n_clusters
    number = check_integer("max_leaves", max_leaves, minimum=1, hint="None leaves the number to the estimator.")
    if number < n_clusters:
        raise InvalidInputError(
            f"max_leaves={number} is fewer than n_clusters={n_clusters}, and every cluster needs a leaf of its own.\n"
            f"Use max_leaves >= {n_clusters}, or None for the default."
        )
    return number


def check_unread(y: Any) -> None:
    """Raise an error for a string or an estimator as ``y`` of an estimator that finds clusters itself."""
    if isinstance(y, str) or convert.is_estimator(y):
        raise UnsupportedInputError(
            f"y={shown(y)} would be ignored: clusters are found in X alone. To start from a clusterer, give it as "
            "reference: ExplainableKMeans(3, reference=clusterer). To explain labels, or a column of them: "
            "ClusterExplainer().fit(X, labels)."
        )


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_shape(shape: tuple[int, ...], *, what: str = "X") -> None:
    """Raise ``InvalidInputError`` unless the shape has two dimensions, at least one row and at least one column."""
    if len(shape) < 2:
        given = "1D" if shape else "scalar"
        raise InvalidInputError(
            f"Expected 2D array, got {given} array instead: {what} has shape {shape}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single "
            "sample."
        )
    if len(shape) > 2:
        raise InvalidInputError(
            f"Found array with dim {len(shape)}, while dim <= 2 is required: {what} has shape {shape}. "
            "Give one row a sample and one column a feature."
        )
    if 0 in shape:
        of, rows = ("feature(s)", "columns") if shape[0] else ("sample(s)", "rows")
        raise InvalidInputError(
            f"Found array with 0 {of} (shape={shape}) while a minimum of 1 is required. {what} has no {rows}."
        )


def is_all_finite(values: npt.NDArray[np.generic] | sparse.csr_array) -> bool:
    """Whether no value is NaN or infinite; any number of dimensions and any strides.

    The sum is finite only when all values are, so one addition per value is enough for nearly every table. Huge values
    can overflow it; such a table is checked value by value.
    """
    values = values.data if isinstance(values, sparse.csr_array) else values
    if values.dtype.kind != "f":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.add.reduce(values, axis=None))) or bool(np.isfinite(values).all())


def check_finite(
    values: npt.NDArray[np.generic] | sparse.csr_array,
    columns: Columns,
    *,
    what: str = "X",
    may_miss: Sequence[bool] = (),
) -> None:
    """Raise an error that names the column and the first row of a missing or infinite value.

    Missing values are reported before infinite ones, and the first column of the table before others; missing values in
    columns with ``may_miss`` are allowed.
    """
    if is_all_finite(values):
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
    """Rows and columns of missing values, or else of infinite ones."""
    wanted = np.isnan if missing else np.isinf
    if isinstance(values, sparse.csr_array):
        found = np.flatnonzero(wanted(values.data))
        return np.searchsorted(values.indptr, found, side="right") - 1, values.indices[found].astype(np.intp)
    rows, cols = np.nonzero(wanted(values))
    return rows, cols


@dataclass(frozen=True)
class MixedOptions:
    """Options of a fit on a mixed table: which columns are categories, and weights of rows, which select levels."""

    categorical: Any = "from_dtype"  # or names, positions or a mask of columns
    sample_weight: Any = None

    @property
    def names_categories(self) -> bool:
        """Whether some columns are categories whatever their type."""
        return not isinstance(self.categorical, str) and np.size(self.categorical) > 0

    def categories(self, columns: Columns) -> set[int] | None:
        """Columns that are categories whatever their type, and no others; None where types decide."""
        if isinstance(self.categorical, str) and self.categorical == "from_dtype":
            return None
        return find_columns("categorical_features", self.categorical, columns, or_text=', or "from_dtype"')


def find_columns(parameter: str, given: Any, columns: Columns, *, or_text: str = "") -> set[int]:
    """Positions of the columns that a parameter gives as names, positions or a mask."""
    names = columns.names
    items: list[Any] = [None] if given is None else np.asarray(given).ravel().tolist()
    if items and all(isinstance(item, bool) for item in items):
        if len(items) != len(names):
            raise InvalidInputError(
                f"{parameter} is a mask of {len(items)} columns, and X has {len(names)}. "
                "Give one value a column, or names."
            )
        return set(np.flatnonzero(np.array(items, dtype=np.bool_)).tolist())
    found = set()
    for item in items:
        if isinstance(item, str) and item in names:
            found.add(names.index(item))
        elif isinstance(item, int) and not isinstance(item, bool) and -len(names) <= item < len(names):
            found.add(item % len(names))
        else:
            raise InvalidInputError(
                f"{parameter} names {shown(item)}, and X has no such column.{did_you_mean(item, names)} "
                f"Its columns are {listed(names, most=20)}; names, positions from 0 to {len(names) - 1} (or from the "
                f"end, negative) or a mask are taken{or_text}."
            )
    return found


def read_table(
    X: Any,
    *,
    what: str = "X",
    fitted: Columns | None = None,
    estimator: str = "the model",
    tested: npt.NDArray[np.integer] | None = None,
    mixed: MixedOptions | None = None,
    unknown: str | None = "outside",
) -> Table:
    """Check a table and convert it, without a copy where the core can read it as it is.

    ``X``: anything ``numpy.asarray`` reads, a scipy sparse matrix or array, or a pandas, polars, pyarrow, Modin or
    cuDF frame. Arrays of float32, float64, int32, int64, uint8 and bool are never copied, whatever their strides, and
    may be read-only or memory maps. Others are converted: float16 to float32; int8, int16 and uint16 to int32; uint32
    to int64; uint64 to float64; a frame to one matrix of the smallest of these dtypes that holds every column.

    ``fitted``: the columns of fit; names and their number are checked before any value is read. ``tested``: positions
    of the columns that the tree tests, ascending; where columns have names, others may be missing and are not read.
    Arrays have no names, so all columns are read.

    With ``mixed`` options, columns of other kinds and missing values are allowed, and the result is one float64 matrix;
    see ``ColumnKind``. Columns that had other kinds at fit are read by these kinds; ``unknown``: treatment of levels
    unseen at fit. A ``Table`` is returned unchanged.
    """
    if isinstance(X, Table):
        return X
    labels, ways = None, convert.ways_to_columns(X)
    if convert.is_annotated(X):
        labels = list(X.var_names)
        if len(labels) != np.shape(X)[-1]:
            raise InvalidInputError(
                f"{what} has {np.shape(X)[-1]} columns, and {len(labels)} names are given for them. Give one a column."
            )
    X = convert.bare_matrix(X)
    if not sparse.issparse(X):
        X = _in_memory(X, what)
        labels = list(X.columns) if isinstance(X, nw.DataFrame) else labels
    if len(X.shape) != 2:
        check_shape(X.shape, what=what)
    columns = name_columns(labels, X.shape[1], what=what)
    if fitted is not None:
        # Before the values: the error should name a renamed column, not the missing values of a reindexed one.
        check_same_columns(fitted, columns, estimator=estimator, tested=tested, ways=ways)
    # Reading all columns of a sparse matrix is faster than selecting some.
    is_whole = sparse.issparse(X) and fitted is not None and columns.names == fitted.names
    if fitted is not None and tested is not None and fitted.has_names and columns.has_names and not is_whole:
        check_shape((X.shape[0], len(fitted.names)), what=what)  # a tree of one leaf needs none of them
        return _read_tested(X, columns, fitted, tested, what, unknown)
    check_shape(X.shape, what=what)
    if mixed is not None and not sparse.issparse(X):
        return _read_mixed(X, columns, mixed, what)
    if mixed is not None and mixed.categories(columns):
        raise InvalidInputError(
            f"categorical_features names columns of {what}, a sparse matrix, which holds numbers alone. "
            "Give a data frame, or leave it out."
        )
    values, kinds = _read(X, columns, None if fitted is None else fitted.kinds, what, unknown)
    return Table(values, columns.names, columns.has_names, kinds, convert.library_of(X))


def _in_memory(X: Any, what: str = "X") -> Any:
    """Convert to a data frame of narwhals, or to an array."""
    frame = convert.as_frame(X, what=what)
    return convert.as_array(X, what=what) if frame is None else frame


def _read(
    X: Any, columns: Columns, of_fit: tuple[ColumnKind, ...] | None, what: str, unknown: str | None
) -> tuple[npt.NDArray[np.generic] | sparse.csr_array, tuple[ColumnKind, ...]]:
    """Read columns as numbers without gaps, with their kinds, or by the kinds of fit if some are not plain numbers."""
    if of_fit is not None and (not are_plain(of_fit) or any(kind.left_out for kind in of_fit)):
        return _read_by_kind(X, of_fit, columns, what, unknown), of_fit
    with _as_at_fit(of_fit is not None):
        values, kinds = _convert(X, columns, what)
        check_finite(values, columns, what=what)
    for i, (then, now) in enumerate(zip(of_fit or (), kinds, strict=False)):
        if then.name == "bool" and now.name != "bool":
            check_truth(convert.as_dense(values[:, [i]])[:, 0], _start(columns.describe(i)))
    return values, kinds


def _convert(
    X: Any, columns: Columns, what: str
) -> tuple[npt.NDArray[np.generic] | sparse.csr_array, tuple[ColumnKind, ...]]:
    """Convert a frame or a matrix to numbers, with the kinds of its columns."""
    if isinstance(X, nw.DataFrame):
        return convert.convert_frame(X, columns, what=what)
    return (convert.convert_sparse if sparse.issparse(X) else convert.convert_array)(X, columns, what=what)


def _read_tested(
    X: Any, columns: Columns, fitted: Columns, tested: npt.NDArray[np.integer], what: str, unknown: str | None
) -> Table:
    """Read only the tested columns into a table with all columns of fit; the others are zeros."""
    n_rows, n_columns, library = X.shape[0], len(fitted.names), convert.library_of(X)
    names = [fitted.names[i] for i in tested]
    kinds = list(fitted.kinds)
    # In column order, the system allocates no memory for zeros that are never read or written.
    values: npt.NDArray[np.generic] | sparse.csr_array = np.zeros((n_rows, n_columns), dtype=np.uint8, order="F")
    if names:
        own = Columns(tuple(names), True, tuple(kinds[i] for i in tested))
        if isinstance(X, nw.DataFrame):
            X = X.select(names)
        else:
            whole = convert.convert_sparse(X, columns, what=what)[0] if sparse.issparse(X) else X  # which checks X
            X = whole[:, [columns.names.index(name) for name in names]]
        read, own_kinds = _read(X, own, own.kinds, what, unknown)
        for column, kind in zip(tested, own_kinds, strict=True):
            kinds[column] = kind
        if isinstance(read, sparse.csr_array):
            values = sparse.csr_array((read.data, tested[read.indices], read.indptr), shape=(n_rows, n_columns))
        else:
            values = np.zeros((n_rows, n_columns), dtype=read.dtype, order="F")
            values[:, tested] = read
    unread = np.setdiff1d(np.arange(n_columns), tested)
    return Table(values, fitted.names, True, tuple(kinds), library, frozenset(unread.tolist()))


def _columns_of(X: Any) -> list[Items]:
    """The columns of a matrix or a data frame, one by one."""
    return list(X.to_dict(as_series=True).values() if isinstance(X, nw.DataFrame) else convert.as_dense(X).T)


def _read_mixed(X: Any, columns: Columns, options: MixedOptions, what: str) -> Table:
    """Read a table for fit: as a matrix if all columns are numbers without gaps, else column by column."""
    categories, numbers = options.categories(columns), None
    if not categories and _may_be_numbers(X):
        try:
            values, kinds = _convert(X, columns, what)
            if is_all_finite(values):
                return _warned(Table(values, columns.names, columns.has_names, kinds, convert.library_of(X)))
            numbers = values if isinstance(values, np.ndarray) and values.dtype == np.float64 else None
            del values  # before another matrix is made
        except NotNumericError:
            pass  # columns are read one by one
    weights = read_weights(options.sample_weight, len(X))
    sums, kinds_found = _sums_of(columns, categories), list[ColumnKind]()
    read = np.zeros(X.shape, order="F") if numbers is None else numbers  # numbers with gaps stay where they are
    for i, raw in _raw_columns(X, columns, categories, what):
        sums[i].update(raw, weights)
        kinds_found.append(kind := sums[i].kind())
        if kind.left_out is None and read is not numbers:
            read[:, i] = values_by_kind(raw, kind, describe=sums[i].describe, unknown=None)
        elif kind.left_out is not None and numbers is not None:
            read = read.copy(order="F") if read is numbers else read
            read[:, i] = 0.0
    columns = _checked(columns, sums, kinds_found, what)
    check_finite(read, columns, what=what, may_miss=[kind.has_gaps for kind in kinds_found])
    return _warned(Table(read, columns.names, columns.has_names, columns.kinds, convert.library_of(X)))


def _raw_columns(X: Any, columns: Columns, categories: set[int] | None, what: str) -> Iterator[tuple[int, RawColumn]]:
    """Read columns by type, others are an error; ``categories``: those that are one by request."""

    def read(given: tuple[Items, bool]) -> RawColumn | convert.NonNumericValue:
        column, is_explicit = given
        raw = raw_column(column, as_category=is_explicit)
        refuses_text = categories is not None and not is_explicit
        if refuses_text and isinstance(raw, RawColumn) and raw.name == "category" and not raw.is_empty:
            row = int(np.flatnonzero(np.array([item is not None for item in raw.items])[raw.codes])[0])
            return convert.NonNumericValue(row, raw.items[raw.codes[row]], "other text")
        return raw

    given = ((i, (column, i in (categories or ()))) for i, column in enumerate(_columns_of(X)))
    return convert.read_columns(given, read, columns, what=what, takes=_MIXED if categories is None else _NAMED)


def _sums_of(columns: Columns, categories: set[int] | None) -> list[ColumnSums]:
    """Statistics of columns without rows."""
    return [ColumnSums(_start(columns.describe(i)), i in (categories or ())) for i in range(len(columns.names))]


def _checked(columns: Columns, sums: Sequence[ColumnSums], kinds: Sequence[ColumnKind], what: str) -> Columns:
    """Columns of a fit with their kinds; raises an error if all are left out."""
    if all(are_numbers(own.items) and not own.is_explicit for own in sums):
        step = f"{what}.astype(float) makes numbers of them."
        warn(CutwiseWarning(f"All columns of {what} hold numbers written as text, and are read as text. {step}"))
    if all(kind.left_out for kind in kinds):
        reasons = ", ".join(f"{name} ({kind.left_out})" for name, kind in zip(columns.names, kinds, strict=True))
        raise InvalidInputError(
            f"{what} has no column to cut: {reasons}. Give a column that rows share values of, or name these in "
            "categorical_features."
        )
    return Columns(columns.names, columns.has_names, tuple(kinds))


@dataclass(eq=False)
class TableSums:
    """Statistics of a table's columns that determine their kinds; those of parts of the table can be merged."""

    categorical: Any = "from_dtype"
    columns: Columns | None = None
    of_columns: list[ColumnSums] = field(default_factory=list)

    def update(self, X: Any, weights: npt.NDArray[np.float64] | None) -> None:
        """Add rows, at least one."""
        X = _in_memory(X)
        columns = name_columns(list(X.columns) if isinstance(X, nw.DataFrame) else None, X.shape[1])
        categories = MixedOptions(self.categorical).categories(columns)
        fresh = _sums_of(columns, categories)
        for i, raw in _raw_columns(X, columns, categories, "X"):
            fresh[i].update(raw, weights)
        self.merge(TableSums(self.categorical, columns, fresh))

    def merge(self, other: TableSums) -> TableSums:
        """Merge the statistics of other rows into these."""
        if self.columns is None or other.columns is None:
            self.columns, self.of_columns = self.columns or other.columns, self.of_columns or other.of_columns
            return self
        check_same_names(self.columns, other.columns)
        for own, more in zip(self.of_columns, other.of_columns, strict=True):
            own.merge(more)
        return self

    @property
    def n_rows(self) -> int:
        """Number of rows so far."""
        return self.of_columns[0].n_rows if self.of_columns else 0

    def found(self) -> Columns:
        """Columns with their kinds."""
        assert self.columns is not None
        return _checked(self.columns, self.of_columns, [sums.kind() for sums in self.of_columns], "X")


def check_same_names(first: Columns, other: Columns) -> None:
    """Raise an error if batches of one table have different columns."""
    if (first.has_names, first.names) != (other.has_names, other.names):
        raise InvalidInputError(
            f"The batches of X differ: the first has columns {_listed(first)}, another {_listed(other)}. Give all the "
            "same names, in the same order."
        )


def _listed(columns: Columns) -> str:
    return listed(columns.names, most=20) + ("" if columns.has_names else " by number, without names")


def _may_be_numbers(X: Any) -> bool:
    """Whether every column has a numeric type, or objects that may be numbers."""
    if not isinstance(X, nw.DataFrame):
        return X.dtype.kind in "fiubO"
    types = (nw.Boolean, nw.Object, nw.Unknown)
    return all(dtype.is_numeric() or dtype in types for dtype in X.schema.values())


def _read_by_kind(
    X: Any, kinds: Sequence[ColumnKind], columns: Columns, what: str, unknown: str | None
) -> npt.NDArray[np.float64]:
    """Read new rows by the kinds of fit, shape (n, d)."""
    values = np.zeros(X.shape, order="F")

    def read(given: tuple[int, Items]) -> Float64 | convert.NonNumericValue:
        (i, column), kind = given, kinds[given[0]]
        raw = raw_column(column, as_category=kind.name == "category" and kind.levels is not None)
        if isinstance(raw, convert.NonNumericValue):
            return raw
        return values_by_kind(raw, kind, describe=_start(columns.describe(i)), unknown=unknown)

    given = ((i, (i, column)) for i, column in enumerate(_columns_of(X)) if kinds[i].left_out is None)
    with _as_at_fit():
        for i, own in convert.read_columns(given, read, columns, what=what, takes=_MIXED):
            values[:, i] = own
        check_finite(values, columns, what=what, may_miss=[kind.has_gaps for kind in kinds])
    return values


_MIXED = "numbers, texts or dates"
_NAMED = "numbers, dates or texts that categorical_features names"


@contextmanager
def _as_at_fit(is_fitted: bool = True) -> Iterator[None]:
    """Replace the next step in errors about new rows, since a fitted model needs all of its columns."""
    try:
        yield
    except (NotNumericError, MissingValueError) as error:
        if not is_fitted:
            raise
        gap = (
            "No value of that column was missing at fit, so the rules do not cover gaps. Fill it in, or fit on rows "
            "with gaps."
        )
        wrong = (
            "Give values like those of fit, true and false where it had these (pandas.to_numeric turns text into "
            "numbers, astype(str) the rest into text)."
        )
        raise error.with_next_step(gap if isinstance(error, MissingValueError) else wrong) from error


def _start(words: str) -> str:
    """Capitalize the first letter, and no other."""
    return words[:1].upper() + words[1:]


def _warned(table: Table) -> Table:
    """Return the table of a fit, with a warning about columns that only name or number rows."""
    warn_of_columns(table.columns, lambda i: not table.is_sparse and counts_rows(table.values[:, i]))
    return table


def warn_of_columns(columns: Columns, counts: Callable[[int], bool]) -> None:
    """Warn of columns that only name or number rows; ``counts``: whether a column of integers numbers the rows."""
    own = list(zip(columns.names, columns.kinds, strict=True))
    lines = [f"{name} is left out: {kind.left_out}" for name, kind in own if kind.left_out]
    lines += [
        f"{name} holds dates written as text; only the {len(kind.levels)} most frequent are told apart"
        for name, kind in own
        if kind.levels and kind.has_other and are_dates(kind.levels)
    ]
    lines += [
        f"{name} numbers the rows"
        for i, (name, kind) in enumerate(own if columns.has_names else ())
        if kind.name == "integer" and not kind.has_gaps and counts(i)
    ]
    if lines:
        warn(IdentifierWarning.of(lines))


def pop_column(X: Any, column: Any, what: str) -> tuple[Any, Any]:
    """Resolve labels or weights given by column name: the table without that column, and the column.

    Of an annotated matrix, it is a column of ``obs``, and the matrix does not change.
    """
    if not isinstance(column, str):
        return X, column
    is_annotated = convert.is_annotated(X)
    frame: convert.Frame | None = convert.as_frame(X.obs if is_annotated else X)
    if frame is None or column not in frame.columns:
        known, named = [] if frame is None else frame.columns, "X.obs" if is_annotated else "X"
        own = f"Its columns are {listed(known, most=20)}." if known else f"{named} has no column names: give an array."
        file = f" A file is read first: pandas.read_csv({column!r})['name']." if "." in column else ""
        raise InvalidInputError(
            f"{what}={column!r} is not a column of {named}.{did_you_mean(column, known)} {own}{file}"
        )
    rest = X if is_annotated else frame.drop(column).to_native()
    return rest, as_vector(frame[column].to_native(), what=what)


def names_given(*given: Any) -> list[str]:
    """Names of columns among the labels and weights given to a fit."""
    return [name for name in given if isinstance(name, str)]


def drop_columns(X: Any, names: Sequence[str]) -> Any:
    """Drop columns from a data frame where it has them; other tables are returned unchanged."""
    frame = convert.as_frame(X) if names and not convert.is_annotated(X) else None
    there = [] if frame is None else [name for name in names if name in frame.columns]
    return X if frame is None or not there else frame.drop(there).to_native()


def keep_columns(X: Any, names: Sequence[str]) -> Any:
    """Select columns of a data frame, in its own order, where it has them; other tables are returned unchanged."""
    frame, used = None if convert.is_annotated(X) else convert.as_frame(X), set(names)
    if frame is None or used.issuperset(frame.columns):
        return X
    return frame.select([name for name in frame.columns if name in used]).to_native()


def take_rows(X: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Select rows of any input of ``read_table``, with its type: a frame remains a frame of the same columns."""
    if sparse.issparse(X):
        return X.tocsr()[rows]
    frame = convert.as_frame(X)
    return convert.as_array(X)[rows] if frame is None else frame[rows.tolist(), :].to_native()


def read_weights(sample_weight: Any, n_rows: int, *, what: str = "sample_weight") -> npt.NDArray[np.float64] | None:
    """Check ``n_rows`` sample weights, or one for all; None means that every weight is 1, also for a single 1.

    The array is read-only, and shares memory with the caller's if that is a contiguous float64 array.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, (Real, np.bool_)):
        values: npt.NDArray[np.generic] = np.full(n_rows, sample_weight, dtype=np.float64)
    else:
        values = as_vector(sample_weight, what=what)
    if values.ndim != 1:
        raise InvalidInputError(
            f"Sample weights must be 1D array or scalar, got {values.ndim}D array. Expected either a scalar value or "
            f"a 1D array of length {n_rows}."
        )
    if len(values) != n_rows:
        raise InvalidInputError(
            f"{what}.shape == {values.shape}, expected ({n_rows},)! Give one weight a row: X has {n_rows} rows."
        )
    if values.dtype.kind not in "fiub":
        items = values.tolist()
        found = convert.find_non_numeric(items)
        if found is not None:
            raise NotNumericError(
                f"{what} must hold numbers, but row {found.row} (rows are counted from 0) holds {found.value!r}."
            )
        values = convert.to_numbers(items)
    weights = np.ascontiguousarray(values, dtype=np.float64).view()
    weights.flags.writeable = False
    _check_weights(weights, what)
    return None if isinstance(sample_weight, Real) and sample_weight == 1 else weights


def _check_weights(weights: npt.NDArray[np.float64], what: str) -> None:
    """Raise an error unless weights are finite, not negative and not all zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(weights.sum())
    if not np.isfinite(total):
        wrong = np.flatnonzero(~np.isfinite(weights))
        if len(wrong) == 0:
            raise InvalidInputError(f"The sum of {what} is beyond float64. Divide all weights by their largest.")
        kind = "NaN" if np.isnan(weights[wrong[0]]) else "infinity"
        raise NotFiniteError(
            f"Input {what} contains {kind}: row {wrong[0]} (rows are counted from 0). Weights are finite numbers >= 0; "
            "weight 0 leaves a row out."
        )
    if weights.min(initial=0.0) < 0:
        row = int(np.flatnonzero(weights < 0)[0])
        raise InvalidInputError(
            f"Negative values in data passed to `{what}`: {weights[row].item()!r} in row {row} (rows are counted from "
            "0). Weights are finite numbers >= 0; weight 0 leaves a row out."
        )
    if total == 0:
        raise InvalidInputError(f"Sample weights must contain at least one non-zero number: every {what} is zero.")


def check_order(table: Table, centers: Any, what: str = "centers") -> None:
    """Raise ``InvalidInputError`` if a frame of centers has the names of the table's columns in another order."""
    names = [str(name) for name in getattr(centers, "columns", ())]
    if table.has_names and names != list(table.names) and sorted(names) == sorted(table.names):
        raise InvalidInputError(
            f"{what} has the columns of X in another order: column 0 is {names[0]!r} there. Give them as X has them: "
            f"{what}[X.columns]."
        )


def read_centers(centers: Any, n_clusters: int, table: Table, *, what: str = "centers") -> Float64:
    """Check centers of clusters in the columns of a table, in the order of their labels."""
    check_order(table, centers, what)
    order = ", in the order of the sorted labels" if what == "centers" else ""
    return _dense(centers, what, (n_clusters, table.n_columns), f"one row for each cluster{order}")


def read_costs(costs: Any, n_rows: int, n_clusters: int) -> Float64:
    """Check costs of each row by each cluster, float64 of shape (n_rows, n_clusters)."""
    given = _dense(costs, "costs", (n_rows, n_clusters), "one row for each row of X and one column for each cluster")
    if given.min() < 0:
        row, cluster = np.argwhere(given < 0)[0]
        raise InvalidInputError(
            f"costs holds {given[row, cluster].item()!r} in row {row}, column {cluster} (counted from 0), and a cost "
            "is at least 0.\nAdd the same number to every cost of a row: it changes no tree, only the cost ratio."
        )
    return given


def _dense(values: Any, what: str, shape: tuple[int, int], need: str) -> Float64:
    given = np.ascontiguousarray(convert.as_dense(read_table(values, what=what).values), dtype=np.float64)
    if given.shape != shape:
        raise InvalidInputError(f"{what} has shape {given.shape}.\nGive {need}: shape {shape}.")
    return given
