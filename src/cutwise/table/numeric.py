"""What counts as a number, and which of the core's dtypes holds a column, or several side by side, exactly."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from cutwise.core import MATRIX_DTYPES
from cutwise.exceptions import InvalidInputError, NotNumericError

from .table import Columns

__all__ = [
    "AnyDType",
    "NonNumericValue",
    "core_reads",
    "find_non_numeric",
    "is_missing",
    "matrix_dtype",
    "not_numeric_error",
    "to_numbers",
]

AnyDType = np.dtype[np.generic]

_FLOAT64 = frozenset({np.dtype(t) for t in (np.float64, np.longdouble, np.uint64)})
_FLOAT32 = frozenset({np.dtype(t) for t in (np.float16, np.float32)})
_INT64 = frozenset({np.dtype(t) for t in (np.int64, np.uint32)})
_INT32 = frozenset({np.dtype(t) for t in (np.int8, np.int16, np.uint16, np.int32)})
# Integers of at most 16 bits fit into float32's 24-bit mantissa, wider ones need float64 beside a float.
_WIDER_THAN_FLOAT32 = frozenset({np.dtype(t) for t in (np.int32, np.uint32, np.int64)})


def matrix_dtype(dtypes: Iterable[AnyDType]) -> AnyDType:
    """The smallest of the core's dtypes that holds boolean, integer or real columns exactly, in any byte order.

    Two conversions can round: long double to float64, and 64-bit integers beyond 2**53 next to (or, unsigned, as)
    float64, which is how every value is compared anyway.
    """
    kinds = {dtype.newbyteorder("=") for dtype in dtypes}
    if kinds & _FLOAT64:
        return np.dtype(np.float64)
    if kinds & _FLOAT32:
        return np.dtype(np.float64 if kinds & _WIDER_THAN_FLOAT32 else np.float32)
    if kinds & _INT64:
        return np.dtype(np.int64)
    if kinds & _INT32:
        return np.dtype(np.int32)
    return np.dtype(np.uint8)


def core_reads(values: npt.NDArray[np.generic]) -> bool:
    """True when the core reads this array as it is (a boolean one as bytes), so none is copied."""
    return (
        (values.dtype in MATRIX_DTYPES or values.dtype == np.bool_)
        and values.dtype.isnative
        and values.flags.aligned
        and not any(stride % values.itemsize for stride in values.strides)
    )


_NUMBERS = (Real, Decimal, Fraction, np.bool_)


@dataclass(frozen=True)
class NonNumericValue:
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
    def is_mendable(self) -> bool:
        """True where the column holds numbers, and a few cells or their type are in the way: not to be dropped."""
        return self.column_kind in ("text among numbers", "numbers written as text")


def is_missing(value: object) -> bool:
    """True for None, NaN, NaT and pandas.NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def find_non_numeric(items: Sequence[object]) -> NonNumericValue | None:
    """The first value that is neither a real number nor missing; None when there is none."""
    if all(issubclass(t, _NUMBERS) for t in set(map(type, items))):
        return None
    for row, value in enumerate(items):
        if not (isinstance(value, _NUMBERS) or is_missing(value) or _acts_as_number(value)):
            return _non_numeric_text(items, row) if isinstance(value, str) else NonNumericValue(row, value)
    return None


def _non_numeric_text(items: Sequence[object], first: int) -> NonNumericValue:
    """The text to show of a column whose first text is in row ``first``.

    Where most cells are numbers (also written as text) it is one that is none: the ``"?"`` written for a missing value.
    """
    texts = [(row, value) for row, value in enumerate(items[first:], first) if isinstance(value, str)]
    others = [(row, value) for row, value in texts if not _reads_as_number(value)]
    n_missing = sum(map(is_missing, items))
    if not others:
        return NonNumericValue(*texts[0], "numbers written as text")
    if len(items) - n_missing >= 2 * len(others):
        return NonNumericValue(*others[0], "text among numbers", len(others))
    return NonNumericValue(*others[0], "text with missing values" if n_missing else "text")


def to_numbers(items: Sequence[object]) -> npt.NDArray[np.generic]:
    """A column of numbers, shape (len(items),): int64 when all are integers or booleans that fit, else float64.

    Missing values are NaN; an integer beyond float64 becomes infinite, to be refused as such.
    """
    if all(issubclass(t, (Integral, np.bool_)) for t in set(map(type, items))):
        try:
            return np.array(items, dtype=np.int64)
        except OverflowError:
            pass
    return np.array([_as_float(value) for value in items], dtype=np.float64)


def not_numeric_error(
    refused: Mapping[int, NonNumericValue], columns: Columns, *, what: str = "X"
) -> InvalidInputError:
    """The error for a table with columns that are not numeric (by number), about the first of them."""
    column = min(refused)
    wrong = refused[column]
    if isinstance(wrong.value, (complex, np.complexfloating)):
        return InvalidInputError(
            f"Complex data not supported: {columns.describe(column)} of {what} holds {complex(wrong.value)!r} in "
            f"row {wrong.row} (rows are counted from 0). Give real and imaginary parts as two columns."
        )
    error = NotNumericError.in_column(
        what=what,
        column=columns.describe(column),
        kind=wrong.kind,
        value=wrong.value,
        row=wrong.row,
        n_values=wrong.n_values,
        like=[columns.names[i] for i in sorted(refused) if refused[i].is_mendable == wrong.is_mendable]
        if columns.has_names
        else [],
        drop=not wrong.is_mendable,
    )
    if wrong.kind.startswith("values of type"):
        # scikit-learn lets float() refuse such objects, and its estimator checks look for these words.
        return NotNumericError(
            f"{error}\n(float() argument must be a string or a real number, not {type(wrong.value).__name__!r})"
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
