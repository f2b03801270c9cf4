"""The table that the rest of the package uses: columns with kinds, and rows as the core reads them.

A cut ``x <= t`` of a column with gaps sends missing values right or left, so the column is searched twice: once with
missing values above all others and once below. One level against all others is a cut of a column of zeros and ones,
so a category has one such column for every level. The core then needs thresholds alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise import core
from cutwise.core import MATRIX_DTYPES, Float64, Int32, Int64, Matrix, Ranks, rank_columns
from cutwise.exceptions import (
    ColumnMismatchError,
    ColumnNamesWarning,
    InvalidInputError,
    UnsupportedInputError,
    listed,
    warn,
)

Values: TypeAlias = "npt.NDArray[np.generic] | sparse.csr_array"


def as_matrix(values: Values) -> Matrix:
    """The core's view of a table; dense values are never copied, and the view keeps them alive.

    ``values`` (n_rows, n_columns): one of ``MATRIX_DTYPES`` in native byte order. Dense: any strides (negative and zero
    included) that are whole multiples of the item size, writable or not. CSR: sorted indices, no duplicates, no stored
    zeros; the row pointers become int64, the column indices int32 and the values contiguous where they are not. Raises
    ``ValueError``: another dtype, another number of dimensions, or strides that are no multiples of the item size.
    """
    if values.dtype not in MATRIX_DTYPES or not values.dtype.isnative:
        raise ValueError(f"a matrix holds one of {', '.join(map(str, MATRIX_DTYPES))}, not {values.dtype}")
    if isinstance(values, sparse.csr_array):
        indptr = values.indptr.astype(np.int64, copy=False)
        indices = values.indices.astype(np.int32, copy=False)
        return Matrix.csr(indptr, indices, np.ascontiguousarray(values.data), int(values.shape[1]))
    if any(stride % values.itemsize for stride in values.strides):
        raise ValueError("the strides of a matrix are whole multiples of its item size")
    return Matrix.dense(np.asarray(values))


def known_values(
    values: npt.NDArray[Any], complete: npt.ArrayLike, gapped: npt.ArrayLike
) -> Iterator[tuple[slice, Any, npt.NDArray[Any]]]:
    """Columns of a table, an index of the rows where their values are known, and these values.

    ``complete``, ``gapped`` (n_columns,): the wanted columns without and with missing values. Complete columns that lie
    side by side come together and are not copied; the others come one by one.
    """
    ends = np.flatnonzero(np.diff(np.asarray(complete, dtype=np.int8), prepend=0, append=0)).tolist()
    for some in map(slice, ends[::2], ends[1::2]):
        yield some, slice(None), values[:, some]
    for column in np.flatnonzero(gapped).tolist():
        known = ~np.isnan(values[:, column])
        yield slice(column, column + 1), known, values[known, column][:, np.newaxis]


KindName = Literal["number", "integer", "bool", "category", "ordered", "date", "duration"]


@dataclass(frozen=True)
class ColumnKind:
    """Kind of a column at fit, and meaning of its float64 values in a matrix.

    Values of a category are positions in ``levels``, where a missing value may be a level (None); the position
    ``len(levels)`` stands for all others: rare levels, and levels unseen at fit. Values of an ordered column are
    positions (ranks), of a date whole days or microseconds since 1970, of a duration microseconds, of a time of day
    microseconds since midnight. A missing value of any of these, and of numbers, is NaN.
    """

    name: KindName
    levels: tuple[object, ...] | None = None  # of a category, and of an ordered column
    unit: Literal["day", "microsecond", "time"] | None = None  # of a date; of durations that are times of day
    zone: str | None = None  # of instants: the zone in which they are shown and cut
    has_gaps: bool = False  # whether values were missing at fit; False for categories
    has_other: bool = False  # whether rows of fit had levels beyond those of ``levels``
    left_out: str | None = None  # why the column is left out; its values are then all 0
    is_text: bool = False  # of booleans: whether the file has words, such as yes and no
    extent: tuple[float, float] | None = None  # least and largest of fit, of integers that a tree tests

    @property
    def is_integer(self) -> bool:
        """Whether values, and so thresholds, are whole numbers."""
        return self.name != "number"

    @property
    def n_levels(self) -> int:
        """Number of codes that rows of fit may have, with one code for all rare levels."""
        return len(self.levels or ()) + self.has_other

    @property
    def places_missing(self) -> bool:
        """Whether rules on the column place rows with a missing value."""
        return self.name == "category" or self.has_gaps

    @property
    def is_plain(self) -> bool:
        """Whether the column holds numbers or booleans, without gaps, or is left out."""
        return self.left_out is not None or (self.name in ("number", "integer", "bool") and not self.has_gaps)

    def to_dict(self) -> dict[str, Any]:
        """The entries of a model file: the name, and all that differs from its default."""
        given = {name: value for name, value in vars(self).items() if value or (name == "levels" and value is not None)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ColumnKind:
        """The inverse of ``to_dict``."""
        entries: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
        return cls(**entries)


NUMBER, INTEGER, BOOL = ColumnKind("number"), ColumnKind("integer"), ColumnKind("bool")


def number_kind(dtype: np.dtype[np.generic]) -> ColumnKind:
    """The kind of a column of numbers without gaps."""
    return BOOL if dtype.kind == "b" else INTEGER if dtype.kind in "iu" else NUMBER


def kind_of_both(first: ColumnKind, other: ColumnKind) -> ColumnKind:
    """Kind of a column whose parts have these kinds, numbers without gaps or booleans."""
    return first if first == other else NUMBER if NUMBER in (first, other) else INTEGER


WHOLE_BELOW = 2.0**53
"""Below this every whole number is a float64, and from here on every float64 is whole."""


def next_whole(value: float) -> float:
    """The first whole number above a bound; from ``WHOLE_BELOW`` on the next float64. Infinity is its own."""
    return max(math.floor(value) + 1.0, math.nextafter(value, math.inf)) if math.isfinite(value) else value


def last_whole(value: float) -> int:
    """The last whole number that float64, its digits cut off, has no larger than a bound."""
    return int(next_whole(value)) - 1


def are_plain(kinds: Sequence[ColumnKind]) -> bool:
    """Whether every column holds numbers without gaps, which every estimator takes, or is left out."""
    return all(kind.is_plain for kind in _unlike(kinds))


def are_all_plain(kinds: Sequence[ColumnKind]) -> bool:
    """Whether every column holds numbers without gaps, and none is left out."""
    return all(kind.is_plain and not kind.left_out for kind in _unlike(kinds))


def _unlike(kinds: Sequence[ColumnKind]) -> Iterable[ColumnKind]:
    """The distinct kinds: wide tables have one kind for tens of thousands of columns."""
    return dict(zip(map(id, kinds), kinds, strict=True)).values()


@dataclass(frozen=True, eq=False)
class SearchedColumns:
    """The D searched columns of a table.

    ``source`` (D,): column of the table. ``level`` (D,): the searched column is 1 for this level and 0 for others; -1
    for numbers. ``missing`` (D,): place of missing numbers: -1 below, 1 above all values; 0: there are none. ``kinds``:
    of the table's columns, each of which has at least one searched column.
    """

    source: Int32
    level: Int32
    missing: Int32
    kinds: tuple[ColumnKind, ...]

    @property
    def n_columns(self) -> int:
        """Number of searched columns, D."""
        return len(self.source)

    def of(self, column: int) -> Int32:
        """The searched columns of a column of the table."""
        return np.arange(self._begin[column], self._begin[column + 1], dtype=np.int32)

    @cached_property
    def _begin(self) -> list[int]:
        """The first searched column of every column of the table, and their number."""
        begin: list[int] = np.searchsorted(self.source, np.arange(len(self.kinds) + 1)).tolist()
        return begin

    def expand(self, values: npt.NDArray[np.generic]) -> Matrix:
        """The searched columns of some rows of the table, computed when they are read."""
        beyond = np.copysign(np.inf, self.missing)
        return Matrix.derived(np.asarray(values, dtype=np.float64), self.source, self.level, beyond)

    def centers(self, weights: npt.NDArray[Any], of_column: Callable[[int], Any]) -> Float64:
        """Centers (k, D) of clusters with weights (k,), for levels their shares; nan for clusters of weight 0.

        ``of_column``: of a category, the weights by cluster and level, (k, n_levels); of other columns, the centers
        (k,) of known values and the weights of these. A cluster without known values goes where missing values go.
        """
        whole = np.where(weights > 0, weights, np.nan)[:, np.newaxis]
        found = np.empty((len(weights), self.n_columns))
        for column, kind in enumerate(self.kinds):
            own = self.of(column)
            if kind.name == "category":
                found[:, own] = (of_column(column) / whole)[:, self.level[own]]
            else:
                center, known = (each[:, np.newaxis] for each in of_column(column))
                found[:, own] = np.where(known > 0, center, np.copysign(np.inf, self.missing[own]))
        return np.where(np.isnan(whole), np.nan, found)

    def codes(self, values: npt.NDArray[np.generic]) -> Matrix:
        """Rows of the table with one column for all levels of a category, and infinity for missing values."""
        source = np.arange(len(self.kinds), dtype=np.int32)
        beyond = np.full(len(source), math.inf)
        return Matrix.derived(values, source, np.full(len(source), -1, dtype=np.int32), beyond)


def searched_columns(kinds: Sequence[ColumnKind]) -> SearchedColumns | None:
    """The searched columns for columns of these kinds; None where they are the columns themselves."""
    if not any(kind.places_missing for kind in _unlike(kinds)):
        return None
    found: list[tuple[int, int, int]] = []
    for column, kind in enumerate(kinds):
        if kind.name == "category":
            n_codes = kind.n_levels
            # Of two levels the second is enough: one against the other is the other against the one.
            found += [(column, code, 0) for code in range(n_codes == 2, max(n_codes, 1))]
        elif kind.has_gaps:
            found += [(column, -1, 1), (column, -1, -1)]  # of equals, missing values go right
        else:
            found.append((column, -1, 0))
    source, level, missing = np.array(found, dtype=np.int32).T
    return SearchedColumns(source.copy(), level.copy(), missing.copy(), tuple(kinds))


@lru_cache(maxsize=8)
def numbered_names(n_columns: int) -> tuple[str, ...]:
    """``"x0"``, ``"x1"``, ...: the names of columns without names."""
    return tuple(f"x{i}" for i in range(n_columns))


@dataclass(frozen=True)
class Columns:
    """The columns of a table without its values."""

    names: Sequence[str]  # ``"x0"``, ``"x1"``, ... where the input had none
    has_names: bool  # whether names came with the input
    kinds: tuple[ColumnKind, ...] = ()  # one per column; numbers when left out

    def __post_init__(self) -> None:
        if len(self.kinds) != len(self.names):
            object.__setattr__(self, "kinds", (NUMBER,) * len(self.names))

    def in_words(self) -> str:
        """Describe the columns by kind: ``5 columns: 4 numbers, 1 category (sex); 1 left out (ticket: ...)``."""
        words = {"number": "number", "integer": "number", "bool": "yes or no", "ordered": "ordered category"}
        used: dict[str, list[str]] = {}
        for name, kind in zip(self.names, self.kinds, strict=True):
            if not kind.left_out:
                used.setdefault(words.get(kind.name, kind.name), []).append(name)
        plural = {"category": "categories", "ordered category": "ordered categories", "yes or no": "yes or no"}
        parts = []
        for word, names in used.items():
            own = f" ({listed(names, most=6, write=str)})" if word != "number" else ""
            parts.append(f"{len(names)} {word if len(names) == 1 else plural.get(word, word + 's')}{own}")
        n = len(self.names)
        text = f"{n} column{'s' if n > 1 else ''}: {', '.join(parts)}"
        out = [f"{name}: {kind.left_out}" for name, kind in zip(self.names, self.kinds, strict=True) if kind.left_out]
        return " ".join(f"{text}; {len(out)} left out ({'; '.join(out)})".split()) if out else text

    def describe(self, column: int) -> str:
        """Name a column for messages: ``column 'age'``, or ``column 3`` where there are no names."""
        return f"column {self.names[column]!r}" if self.has_names else f"column {column}"


def name_columns(given: Sequence[object] | None, n_columns: int, *, what: str = "X") -> Columns:
    """Name columns by scikit-learn's rule: the labels of the container if all are strings, else x0, x1, ..."""
    if given is not None and n_columns == 0:
        return Columns((), has_names=True)  # no column lacks a name
    if given is not None and len(given) > 0:
        types = sorted({type(name).__qualname__ for name in given})
        if any(isinstance(name, str) for name in given):
            if not all(isinstance(name, str) for name in given):
                raise UnsupportedInputError(
                    "Feature names are only supported if all input features have string names, but your input has "
                    f"{types} as feature name / column name types. If you want feature names to be stored and "
                    "validated, you must convert them all to strings, by using X.columns = X.columns.astype(str) for "
                    "example. "
                    "Otherwise you can remove feature / column names from your input data, or convert them all to a "
                    "non-string data type."
                )
            check_unique(given, what=what)
            return Columns(tuple(str(name) for name in given), has_names=True)
    return Columns(numbered_names(n_columns), has_names=False)


def check_unique(names: Sequence[object], *, what: str = "X", step: str = "rename or drop the copies") -> None:
    """Raise ``InvalidInputError`` if two columns have the same name, and name them."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InvalidInputError(
            f"{what} has duplicate column names: {listed(repeated)}. Every column needs a name of its own; {step}."
        )


def check_same_columns(
    fitted: Columns,
    given: Columns,
    *,
    estimator: str = "the model",
    tested: npt.NDArray[np.integer] | None = None,
    ways: tuple[str, str] | None = None,
) -> None:
    """Raise an error if the columns of a table are not those of fit, by scikit-learn's rule and in its words.

    If both have names, these must be the same in the same order, but columns that are not in ``tested`` (positions;
    None for all) may be missing. If only one side has names, a ``ColumnNamesWarning`` says so and the number of columns
    has to match. ``ways``: see ``ColumnMismatchError``.
    """
    if fitted.has_names and given.has_names:
        if fitted.names == given.names:
            return
        needed = fitted.names if tested is None else [fitted.names[i] for i in tested]
        there = set(given.names)
        if tuple(name for name in fitted.names if name in there) != given.names or not there.issuperset(needed):
            raise ColumnMismatchError.of_names(fitted.names, given.names, None if tested is None else needed, ways=ways)
        return
    if fitted.has_names:
        warn(ColumnNamesWarning(f"X does not have valid feature names, but {estimator} was fitted with feature names"))
    elif given.has_names:
        warn(ColumnNamesWarning(f"X has feature names, but {estimator} was fitted without feature names"))
    if len(fitted.names) != len(given.names):
        names = fitted.names if fitted.has_names else ()
        raise ColumnMismatchError.of_count(
            given=len(given.names), fitted=len(fitted.names), estimator=estimator, names=names
        )


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and columns of finite numbers, in the caller's own memory where its dtype allows; nothing writes to it."""

    # float32, float64, int32, int64 or uint8 in native byte order, of shape (n_rows, n_columns). Dense: any strides,
    # possibly read-only or a memory map. Sparse: sorted indices, no duplicates, no stored zeros.
    values: npt.NDArray[np.generic] | sparse.csr_array
    names: Sequence[str]  # ``"x0"``, ``"x1"``, ... where the input had none
    has_names: bool  # whether names came with the input
    kinds: tuple[ColumnKind, ...]  # (n_columns,), by the input's own columns: integers even if ``values`` is floating
    library: str | None = None  # of the input, if that was a data frame, such as "polars"
    unread: frozenset[int] = frozenset()  # columns that no test reads; their values are zeros

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether ``values`` is not a dense array."""
        return not isinstance(self.values, np.ndarray)

    @property
    def columns(self) -> Columns:
        """The columns without values."""
        return Columns(self.names, self.has_names, self.kinds)

    @cached_property
    def is_integer(self) -> npt.NDArray[np.bool_]:
        """Which columns have whole thresholds, shape (n_columns,)."""
        return np.array([kind.is_integer for kind in self.kinds], dtype=np.bool_)

    @cached_property
    def matrix(self) -> Matrix:
        """The core's view of ``values``, made once."""
        return as_matrix(self.values)

    def largest_value(self, least: float = 0.0) -> str:
        """Where the value of largest size is, in words; nothing if its size is not above ``least``."""
        rows, columns, values = sparse.find(self.values)
        if not (np.abs(values) > least).any():
            return ""
        at = np.nanargmax(np.abs(values))
        where = f"{self.columns.describe(columns[at])}, row {rows[at]} (rows are counted from 0)"
        return f"The largest value of X is {values[at]:.3g}: {where}. If it stands for a missing value, make it NaN."


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """The m rows that a tree is grown from, made from the caller's n rows."""

    encoded: core.Encoded  # codes of the m rows in the searched columns
    matrix: core.Matrix  # values of the m rows in the searched columns
    kinds: tuple[ColumnKind, ...]  # (d,), of the table's columns
    weights: Int64 | None  # (m,); None: 1 each
    copies: Int64 | None  # (m,), number of the caller's rows equal to each; None: 1 each
    row_of: Int32 | None  # (m,), the first of the caller's rows equal to each; None: the same number
    position: Int32 | None  # (n,), the row equal to each of the caller's, -1: none; None: the same number
    searched: SearchedColumns | None = None  # None: the searched columns are the table's
    values: Float64 | None = None  # (m, d), of the table, where ``searched`` is not None
    _levels: dict[int, core.Levels] = field(default_factory=dict, init=False, repr=False)
    _ranks: list[Ranks] = field(default_factory=list, init=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows, m."""
        return int(self.matrix.n_rows)

    @property
    def column_sizes(self) -> Float64:
        """Largest absolute value of each column among the m rows, shape (d,), from the ends of its bins."""
        first = self.encoded.value_begin
        last = first + self.encoded.n_bins - 1
        sizes: Float64 = np.maximum(np.abs(self.encoded.low[first]), np.abs(self.encoded.high[last]))
        return sizes

    def levels(self, column: int) -> core.Levels:
        """Levels of the rows in a category of the table."""
        if column not in self._levels:
            assert self.searched is not None
            columns, n_levels = self.searched.of(column), max(self.kinds[column].n_levels, 1)
            self._levels[column] = core.Levels(self.encoded, columns, n_levels)
        return self._levels[column]

    def ranks(self, n_jobs: int = 1) -> Ranks:
        """Order of every column's values, for searches of intervals; computed once."""
        if not self._ranks:
            self._ranks.append(rank_columns(self.matrix, n_jobs))
        return self._ranks[0]


def encode_table(
    table: Table,
    *,
    weights: Int64 | None = None,
    keep: npt.NDArray[np.bool_] | None = None,
    merge: bool = True,
    n_jobs: int = 1,
) -> EncodedTable:
    """Encode the rows of positive weight where ``keep`` is true; with ``merge`` equal rows become one.

    ``weights``: integers, shape (n,). Merging changes no tree, since sums over rows are integers.
    """
    if weights is not None and (weights == 0).any():
        keep = (weights > 0) if keep is None else keep & (weights > 0)
    row_of: Int32 | None = None
    values = table.values
    if keep is not None and not keep.all():
        row_of = np.flatnonzero(keep).astype(np.int32)
        values = values[row_of]
        weights = None if weights is None else weights[row_of]
    searched = searched_columns(table.kinds)
    if searched is not None:
        values = np.asarray(values, dtype=np.float64)
    matrix = table.matrix if values is table.values else as_matrix(values)
    copies: Int64 | None = None
    group: Int32 | None = None
    # In codes, missing values are equal.
    merged = core.group_rows(matrix if searched is None else searched.codes(values)) if merge else None
    if merged is not None:
        first_row, group = merged
        copies = np.bincount(group, minlength=len(first_row))
        # Integer weights add up to less than 2**53, so that sums in float64 are exact.
        weights = copies if weights is None else np.bincount(group, weights).astype(np.int64)
        values = values[first_row]
        matrix = as_matrix(values)
        row_of = first_row if row_of is None else row_of[first_row]
    if searched is not None:
        encoded = core.encode_levels(matrix, searched.source, searched.level, searched.missing, n_jobs)
        matrix = searched.expand(values)
    else:
        encoded = core.encode(matrix, n_jobs=n_jobs)
    position: Int32 | None = None
    if row_of is not None:
        position = np.full(table.n_rows, -1, dtype=np.int32)
        takes_part = slice(None) if keep is None else keep
        position[takes_part] = np.arange(matrix.n_rows, dtype=np.int32) if group is None else group
    own: Float64 | None = None if searched is None else np.asarray(values, dtype=np.float64)
    return EncodedTable(encoded, matrix, table.kinds, weights, copies, row_of, position, searched, own)


_NEARLY = 1e-6
"""Largest distance of mean and variance of a standardized column from 0 and 1; it allows a scaler to round."""


def is_standardized(table: Table) -> bool:
    """Whether all columns of a frame have mean 0 and variance 1, except constant ones."""
    if not table.has_names or table.is_sparse or table.n_rows < 2 or any(k.name != "number" for k in table.kinds):
        return False
    varies = False
    for j in range(table.n_columns):  # most tables are decided by their first column
        x = table.values[:, j].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            mean, spread = float(x.mean()), float(x.var())
        if abs(mean) > _NEARLY or (abs(spread - 1) > _NEARLY and spread > 0):
            return False
        varies = varies or spread > 0
    return varies
