"""Column names: which ones count, and whether a table has the columns a model was fitted on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import (
    ColumnMismatchError,
    ColumnNamesWarning,
    InvalidInputError,
    UnsupportedInputError,
    listed,
    warn,
)

__all__ = ["Columns", "HasColumns", "check_same_columns", "check_unique", "name_columns"]


class HasColumns(Protocol):
    """Anything with column names: a ``Table``, ``Columns``, or a fitted model's record of them."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name a column."""

    @property
    def has_names(self) -> bool:
        """True when the names came with the input."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table without its values.

    Attributes
    ----------
    names : tuple of str
        One name a column; ``"x0"``, ``"x1"``, ... where the input had none.
    has_names : bool
        True when the names came with the input.
    """

    names: tuple[str, ...]
    has_names: bool

    def describe(self, column: int) -> str:
        """The column as messages call it: ``column 'age'``, or ``column 3`` where there are no names."""
        return f"column {self.names[column]!r}" if self.has_names else f"column {column}"


def name_columns(given: Sequence[object] | None, n_columns: int, *, what: str = "X") -> Columns:
    """Names by scikit-learn's rule: kept when all are strings, made up when none is.

    Parameters
    ----------
    given : sequence or None
        The container's column labels; None when it has none.
    n_columns : int
        Used when there are no names to keep.

    Raises
    ------
    InvalidInputError
        Two columns share a name.
    UnsupportedInputError
        Some labels are strings and others are not (also a ``TypeError``).
    """
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

    Named against named: the same names in the same order, of which those that no test asks about may be missing. When
    only one side has names a warning says so and the number of columns decides.

    Parameters
    ----------
    fitted, given : HasColumns
        The columns at fit and now.
    estimator : str
        The class name to put into messages.
    tested : ndarray of int, optional
        The columns that must be there; all when left out.

    Raises
    ------
    ColumnMismatchError
        Columns renamed, missing, added or reordered, or another number of them.

    Warns
    -----
    ColumnNamesWarning
        Only one side has names.
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
