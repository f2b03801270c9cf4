"""What a column holds: numbers, truth values, categories in some order or none, dates, durations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = ["INTEGER", "NUMBER", "ColumnKind", "integer_columns", "number_kind"]

KindName = Literal["number", "integer", "bool", "category", "ordered", "date", "duration"]


@dataclass(frozen=True)
class ColumnKind:
    """What a column held at fit, and what its float64 values in a matrix mean.

    A category's values are positions in ``levels``: the missing value is a level of its own, the text None, and a level
    never seen at fit has the position ``len(levels)``. An ordered column's values are positions too (ranks), a date's
    whole days or microseconds since 1970, a duration's microseconds. What is missing in them is NaN.
    """

    name: KindName
    levels: tuple[object, ...] | None = None  # of a category, and of an ordered column
    unit: Literal["day", "microsecond"] | None = None  # of a date
    zone: str | None = None  # of instants: the one that they are shown and cut in
    has_gaps: bool = False  # whether values were missing at fit; False for categories
    has_other: bool = False  # whether the last of the levels stands for all rare ones and those never seen

    @property
    def is_integer(self) -> bool:
        """Whether values, and so thresholds, are whole numbers."""
        return self.name != "number"


NUMBER = ColumnKind("number")
INTEGER = ColumnKind("integer")


def number_kind(dtype: np.dtype[np.generic]) -> ColumnKind:
    """The kind of a column of numbers: integers and booleans have whole thresholds."""
    return INTEGER if dtype.kind in "iub" else NUMBER


def integer_columns(kinds: Iterable[ColumnKind]) -> npt.NDArray[np.bool_]:
    """Which columns have whole thresholds, shape (n_columns,)."""
    return np.array([kind.is_integer for kind in kinds], dtype=np.bool_)
