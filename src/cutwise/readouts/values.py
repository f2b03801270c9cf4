"""How values of a column are written where people read them: levels, truth values, dates and durations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cutwise.table import ColumnKind
from cutwise.table.instants import duration_text, instant_text

from .words import number, quoted

__all__ = ["json_value", "level_text", "levels_text", "value_text"]


def value_text(kind: ColumnKind, value: float) -> str:
    """One value of a column, as a condition writes it; a missing one is ``unknown``."""
    if value != value:
        return "unknown"
    if kind.name == "bool":
        return "true" if value else "false"
    if kind.name in ("category", "ordered"):
        return level_text(kind, int(value))
    if kind.name == "date":
        return instant_text(value, kind)
    if kind.name == "duration":
        return duration_text(value)
    return number(value)


def level_text(kind: ColumnKind, code: int) -> str:
    """One level as a condition names it."""
    levels = kind.levels or ()
    if code >= len(levels):
        return "other"
    return "unknown" if levels[code] is None else quoted(levels[code])


def levels_text(kind: ColumnKind, codes: Iterable[int]) -> str:
    """Several levels, between commas."""
    return ", ".join(level_text(kind, code) for code in codes)


def json_value(kind: ColumnKind, code: int) -> Any:
    """A level as JSON can hold it: None is the missing value."""
    level = (kind.levels or ())[code]
    return level if level is None or isinstance(level, str | bool | int | float) else str(level)
