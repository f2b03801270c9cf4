"""What a column holds: numbers, truth values, categories in some order or none, dates, durations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

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

    def to_dict(self) -> dict[str, Any]:
        """What a model file holds: the name, and what is not as usual."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "levels"}
        levels = {} if self.levels is None else {"levels": list(self.levels)}
        return {name: value for name, value in values.items() if value} | levels

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ColumnKind:
        """The inverse of ``to_dict``; raises ``ValueError`` for what it never gives."""
        levels = data.get("levels")
        kind = cls(**data) if levels is None else cls(**{**data, "levels": tuple(levels)})
        found = kind.levels or ()
        is_sound = (
            kind.name in get_args(KindName)
            and (kind.name in ("category", "ordered")) == (levels is not None)
            and (kind.name == "date") == (kind.unit in ("day", "microsecond"))
            and all(isinstance(level, str | int | float | None) for level in found)
            and len(set(found)) == len(found)
            and all(isinstance(text, str | None) for text in (kind.zone, kind.left_out))
            and all(isinstance(flag, bool) for flag in (kind.has_gaps, kind.has_other))
        )
        if not is_sound:
            raise ValueError(f"no kind of column: {data}")
        return kind


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
