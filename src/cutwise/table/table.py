"""A table of numbers as the rest of the package sees it, and the names and kinds of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import Matrix, as_matrix
from cutwise.exceptions import (
    ColumnMismatchError,
    ColumnNamesWarning,
    InvalidInputError,
    UnsupportedInputError,
    listed,
    warn,
)

from .kinds import NUMBER, ColumnKind, integer_columns

__all__ = ["Columns", "HasColumns", "Table", "check_same_columns", "check_unique", "name_columns"]


class HasColumns(Protocol):
    """Anything with column names: a ``Table``, ``Columns``, or a fitted model's record of them."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name a column."""

    @property
    def has_names(self) -> bool:
        """True when the names came with the input."""

    @property
    def kinds(self) -> tuple[ColumnKind, ...]:
        """What the columns held at fit."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table without its values."""

    names: tuple[str, ...]  # ``"x0"``, ``"x1"``, ... where the input had none
    has_names: bool  # whether they came with the input
    kinds: tuple[ColumnKind, ...] = ()  # one a column; numbers where none are given

    def __post_init__(self) -> None:
        if len(self.kinds) != len(self.names):
            object.__setattr__(self, "kinds", (NUMBER,) * len(self.names))

    def in_words(self) -> str:
        """What the columns were taken for: ``7 columns: 4 numbers, 3 categories; 1 left out (ticket: ...)``."""
        words = {"number": "number", "integer": "number", "bool": "yes or no", "ordered": "ordered category"}
        used = Counter(words.get(kind.name, kind.name) for kind in self.kinds if not kind.left_out)
        plural = {"category": "categories", "ordered category": "ordered categories", "yes or no": "yes or no"}
        parts = [f"{n} {word if n == 1 else plural.get(word, word + 's')}" for word, n in used.items()]
        n = len(self.names)
        text = f"{n} column{'s' if n > 1 else ''}: {', '.join(parts)}"
        out = [f"{name}: {kind.left_out}" for name, kind in zip(self.names, self.kinds, strict=True) if kind.left_out]
        return f"{text}; {len(out)} left out ({'; '.join(out)})" if out else text

    def describe(self, column: int) -> str:
        """The column as messages call it: ``column 'age'``, or ``column 3`` where there are no names."""
        return f"column {self.names[column]!r}" if self.has_names else f"column {column}"


def name_columns(given: Sequence[object] | None, n_columns: int, *, what: str = "X") -> Columns:
    """Names by scikit-learn's rule from a container's labels: taken when all are strings, else x0, x1, ..."""
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
    return Columns(tuple(f"x{i}" for i in range(n_columns)), has_names=False)


def check_unique(names: Sequence[object], *, what: str = "X") -> None:
    """Raises ``InvalidInputError`` when two columns share a name, and says which."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InvalidInputError(
            f"{what} has duplicate column names: {listed(repeated)}. Every column needs a name of its own; "
            "rename or drop the copies."
        )


def check_same_columns(
    fitted: HasColumns,
    given: HasColumns,
    *,
    estimator: str = "the model",
    tested: npt.NDArray[np.integer] | None = None,
) -> None:
    """Refuses a table whose columns are not those of fit, by scikit-learn's rule and in its words.

    Named against named: the same names in the same order, of which those not in ``tested`` (column numbers; None for
    all) may be missing. When only one side has names a ``ColumnNamesWarning`` says so and the number of columns
    decides.
    """
    if fitted.has_names and given.has_names:
        if fitted.names == given.names:
            return
        needed = fitted.names if tested is None else [fitted.names[i] for i in tested]
        there = set(given.names)
        if tuple(name for name in fitted.names if name in there) != given.names or not there.issuperset(needed):
            raise ColumnMismatchError.of_names(fitted.names, given.names, () if tested is None else needed)
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
    names: tuple[str, ...]  # ``"x0"``, ``"x1"``, ... where the input had none
    has_names: bool  # whether they came with the input
    kinds: tuple[ColumnKind, ...]  # (n_columns,), by the input's own columns: integers even if ``values`` is floating
    library: str | None = None  # of the data frame that the input was, such as "polars"
    unread: frozenset[int] = frozenset()  # columns that no test asks about, whose values were not read: zeros

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
        """True when ``values`` is a ``csr_array``."""
        return isinstance(self.values, sparse.csr_array)

    @property
    def columns(self) -> Columns:
        """The columns alone, to keep after the values are gone."""
        return Columns(self.names, self.has_names, self.kinds)

    @cached_property
    def is_integer(self) -> npt.NDArray[np.bool_]:
        """Which columns have whole thresholds, shape (n_columns,)."""
        return integer_columns(self.kinds)

    @cached_property
    def matrix(self) -> Matrix:
        """The core's view of ``values``, made once."""
        return as_matrix(self.values)
