"""What a column holds: numbers, truth values, categories in some order or none, dates, durations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = ["BOOL", "INTEGER", "NUMBER", "ColumnKind", "are_plain", "integer_columns", "number_kind"]

KindName = Literal["number", "integer", "bool", "category", "ordered", "date", "duration"]


@dataclass(frozen=True)
class ColumnKind:
    """What a column held at fit, and what its float64 values in a matrix mean.

    A category's values are positions in ``levels``, of which a missing value may be one (None); the position
    ``len(levels)`` is everything else: rare levels beyond the most frequent ones, and those never seen at fit. An
    ordered column's values are positions too (ranks), a date's whole days or microseconds since 1970, a duration's
    microseconds. What is missing in these, and in numbers, is NaN.
    """

    name: KindName
    levels: tuple[object, ...] | None = None  # of a category, and of an ordered column
    unit: Literal["day", "microsecond"] | None = None  # of a date
    zone: str | None = None  # of instants: the one that they are shown and cut in
    has_gaps: bool = False  # whether values were missing at fit; False for categories
    has_other: bool = False  # whether rows of fit had levels beyond those of ``levels``
    left_out: str | None = None  # why the column takes no part: its values are all 0 then

    @property
    def is_integer(self) -> bool:
        """Whether values, and so thresholds, are whole numbers."""
        return self.name != "number"

    @property
    def is_plain(self) -> bool:
        """Whether the column holds numbers or truth values, all of them known, or takes no part."""
        return self.left_out is not None or (self.name in ("number", "integer", "bool") and not self.has_gaps)


NUMBER, INTEGER, BOOL = ColumnKind("number"), ColumnKind("integer"), ColumnKind("bool")


def number_kind(dtype: np.dtype[np.generic]) -> ColumnKind:
    """The kind of a column of numbers without gaps."""
    return BOOL if dtype.kind == "b" else INTEGER if dtype.kind in "iu" else NUMBER


def integer_columns(kinds: Iterable[ColumnKind]) -> npt.NDArray[np.bool_]:
    """Which columns have whole thresholds, shape (n_columns,)."""
    return np.array([kind.is_integer for kind in kinds], dtype=np.bool_)


def are_plain(kinds: Iterable[ColumnKind]) -> bool:
    """Whether every column holds known numbers: what every estimator takes."""
    return all(kind.is_plain for kind in kinds)
