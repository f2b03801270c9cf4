"""Columns of Python objects: numbers become numbers, everything else is named in an error."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError, NotNumericError

from .columns import Columns

__all__ = ["Offender", "find_offender", "is_missing", "not_numeric_error", "to_numbers"]

_NUMBERS = (Real, Decimal, Fraction, np.bool_)


@dataclass(frozen=True)
class Offender:
    """The first value of a column that is not a number."""

    row: int
    value: object
    column_kind: str | None = None
    n_values: int = 1

    @property
    def kind(self) -> str:
        """What such values are called in an error: by the column's type where it says more than the value's."""
        value = self.value
        if self.column_kind is not None:
            return self.column_kind
        if isinstance(value, str):
            return "text"
        if isinstance(value, (bytes, bytearray)):
            return "bytes"
        if isinstance(value, (np.datetime64, datetime.date, datetime.time)):
            return "dates or times"
        if isinstance(value, (np.timedelta64, datetime.timedelta)):
            return "durations"
        return f"values of type {type(value).__name__!r}"

    @property
    def mends(self) -> bool:
        """True where the column holds numbers, and a few cells or their type are in the way: not to be dropped."""
        return self.column_kind in ("text among numbers", "numbers written as text")


def is_missing(value: object) -> bool:
    """True for None, NaN, NaT and pandas.NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def find_offender(items: Sequence[object]) -> Offender | None:
    """The first value that is neither a real number nor missing; None when there is none."""
    if all(issubclass(t, _NUMBERS) for t in set(map(type, items))):
        return None
    for row, value in enumerate(items):
        if not (isinstance(value, _NUMBERS) or is_missing(value) or _acts_as_number(value)):
            return _text_offender(items, row) if isinstance(value, str) else Offender(row, value)
    return None


def _text_offender(items: Sequence[object], first: int) -> Offender:
    """The text to show of a column whose first text is in row ``first``.

    Where most cells are numbers (also written as text) it is one that is none: the ``"?"`` written for a missing value.
    """
    texts = [(row, value) for row, value in enumerate(items[first:], first) if isinstance(value, str)]
    others = [(row, value) for row, value in texts if not _reads_as_number(value)]
    n_missing = sum(map(is_missing, items))
    if not others:
        return Offender(*texts[0], "numbers written as text")
    if len(items) - n_missing >= 2 * len(others):
        return Offender(*others[0], "text among numbers", len(others))
    return Offender(*others[0], "text with missing values" if n_missing else "text")


def to_numbers(items: Sequence[object]) -> npt.NDArray[np.generic]:
    """A column without offenders as an array.

    Returns
    -------
    numbers : ndarray of shape (len(items),)
        int64 when every value is an integer or a boolean and fits, else float64 with NaN for missing values. An integer
        beyond float64 becomes infinite, to be refused as such.
    """
    if all(issubclass(t, (Integral, np.bool_)) for t in set(map(type, items))):
        try:
            return np.array(items, dtype=np.int64)
        except OverflowError:
            pass
    return np.array([_as_float(value) for value in items], dtype=np.float64)


def not_numeric_error(offenders: Mapping[int, Offender], columns: Columns, *, what: str = "X") -> InvalidInputError:
    """The error for a table with columns that are not numeric, about the first of them.

    Parameters
    ----------
    offenders : mapping of int to Offender
        Column number to its first offending value; at least one.
    columns : Columns
    what : str
        The argument's name.
    """
    column = min(offenders)
    offender = offenders[column]
    if isinstance(offender.value, (complex, np.complexfloating)):
        return InvalidInputError(
            f"Complex data not supported: {columns.describe(column)} of {what} holds {complex(offender.value)!r} in "
            f"row {offender.row} (rows are counted from 0). Give real and imaginary parts as two columns."
        )
    error = NotNumericError.in_column(
        what=what,
        column=columns.describe(column),
        kind=offender.kind,
        value=offender.value,
        row=offender.row,
        n_values=offender.n_values,
        like=[columns.names[i] for i in sorted(offenders) if offenders[i].mends == offender.mends]
        if columns.has_names
        else [],
        drop=not offender.mends,
    )
    if offender.kind.startswith("values of type"):
        # scikit-learn lets float() refuse such objects, and its estimator checks look for these words.
        return NotNumericError(
            f"{error}\n(float() argument must be a string or a real number, not {type(offender.value).__name__!r})"
        )
    return error


def _acts_as_number(value: object) -> bool:
    """Whether a value of another type converts to a float, as 0-dimensional arrays do; never text or dates."""
    if isinstance(value, (str, bytes, bytearray, complex, np.complexfloating, np.datetime64, np.timedelta64)):
        return False
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _as_float(value: object) -> float:
    if is_missing(value):
        return float("nan")
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return float("inf")


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
