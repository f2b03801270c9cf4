"""How values of a column are written where people read them: levels, truth values, dates and durations."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from cutwise.table import ColumnKind

from .words import number, quoted

__all__ = ["as_datetime", "json_value", "level_text", "levels_text", "value_text"]

_DAY = date(1970, 1, 1)
_INSTANT = datetime(1970, 1, 1)
_UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "us"))


def as_datetime(kind: ColumnKind, value: float) -> date | datetime:
    """A value of a column of dates: a date, or an instant in the column's zone."""
    if kind.unit == "day":
        return _DAY + timedelta(days=int(value))
    if kind.zone is None:
        return _INSTANT + timedelta(microseconds=int(value))
    return (_INSTANT.replace(tzinfo=UTC) + timedelta(microseconds=int(value))).astimezone(ZoneInfo(kind.zone))


def value_text(kind: ColumnKind, value: float) -> str:
    """One value of a column, as a condition writes it; a missing one is ``unknown``."""
    if value != value:
        return "unknown"
    if kind.name == "bool":
        return "true" if value else "false"
    if kind.name in ("category", "ordered"):
        return level_text(kind, int(value))
    if kind.name == "date":
        return _instant_text(as_datetime(kind, value))
    if kind.name == "duration":
        return _duration_text(int(value))
    return number(value)


def level_text(kind: ColumnKind, code: int) -> str:
    """One level as a condition names it."""
    levels = kind.levels or ()
    if code >= len(levels):
        return "a level of its own"
    if kind.has_other and code == len(levels) - 1:
        return "other"
    return "unknown" if levels[code] is None else quoted(levels[code])


def levels_text(kind: ColumnKind, codes: Iterable[int]) -> str:
    """Several levels, between commas."""
    return ", ".join(level_text(kind, code) for code in codes)


def json_value(kind: ColumnKind, code: int) -> Any:
    """A level as JSON can hold it: None is the missing value."""
    level = (kind.levels or ())[code]
    return level if level is None or isinstance(level, str | bool | int | float) else str(level)


def _instant_text(value: date | datetime) -> str:
    """In ISO 8601, without a time of day where that is midnight, and without seconds where these are 0."""
    if not isinstance(value, datetime):
        return value.isoformat()
    text = value.replace(tzinfo=None).isoformat(sep=" ").removesuffix(":00")
    zone = "" if value.tzinfo is None else value.strftime(" %z")
    return (text.removesuffix(" 00:00") if not zone else text) + zone


def _duration_text(microseconds: int) -> str:
    """``1 h 30 min``; every unit that is not 0."""
    rest, parts = abs(microseconds), []
    for size, unit in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
    return ("-" if microseconds < 0 else "") + (" ".join(parts) or "0 s")
