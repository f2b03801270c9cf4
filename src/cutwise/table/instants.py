"""Dates, times and durations as whole days or microseconds, and boundaries of the calendar between two of them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from .convert import is_missing
from .table import WHOLE_BELOW, ColumnKind, next_whole

MICROSECONDS = {"day": 86_400_000_000, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
_EPOCH = dt.datetime(1970, 1, 1)
CALENDAR = (dt.datetime.min - _EPOCH).days, (dt.datetime.max - _EPOCH).days + 1
"""The days from 1970 at which Python's calendar begins and has ended."""


def to_ticks(
    values: npt.NDArray[Any] | Sequence[Any], unit: str, *, is_duration: bool = False
) -> npt.NDArray[np.float64]:
    """Convert dates or durations to days (``"day"``) or microseconds since 1970, finer digits dropped; NaN for NaT.

    ``values``: of numpy's types, or Python objects, possibly None. More than 285 years from 1970, float64 has no room
    for all microseconds: these are dropped too as far as needed, and whole seconds stay exact.
    """
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "mM":
        items = [None if is_missing(value) else _utc(value) for value in values]
        items = [getattr(item, "asm8", item) for item in items]  # of pandas
        items = [_in_unit(item, "us") if isinstance(item, np.datetime64 | np.timedelta64) else item for item in items]
        if any(isinstance(item, dt.time) for item in items):
            items = [None if item is None else _since_midnight(item) for item in items]
        values = np.array(items, dtype="timedelta64[us]" if is_duration else "datetime64[us]")
    whole = _in_unit(values, "D" if unit == "day" else "us")
    exact = whole.astype(np.int64)
    ticks: npt.NDArray[np.float64] = exact.astype(np.float64)
    ticks[np.isnat(whole)] = np.nan
    far = np.flatnonzero(np.abs(ticks) > WHOLE_BELOW)
    up = far[ticks[far].astype(np.int64) > exact[far]]  # rounded, but to be cut off
    ticks[up] = np.nextafter(ticks[up], -np.inf)
    return ticks


_IN_A_MICROSECOND = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}
_IN_A_DAY = {"h": 24, "m": 1_440, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


def _in_unit(values: Any, unit: Literal["D", "us"]) -> Any:
    """Convert an array or scalar to a unit, finer digits dropped; raises ``OverflowError`` beyond 64 bits."""
    base, count = np.datetime_data(values.dtype)
    if unit == "D" and base in _IN_A_MICROSECOND:
        return _in_unit(_in_unit(values, "us"), unit)
    dtype, missing = f"{values.dtype.kind}8[{unit}]", np.isnat(values)
    if n_ticks := (_IN_A_DAY if unit == "D" else _IN_A_MICROSECOND).get(base):
        # Numpy's own division goes beyond 64 bits near the smallest value, which stands for a missing one.
        ticks = np.where(missing, 0, np.asarray(values).astype(np.int64))
        whole = ticks // n_ticks if count == 1 else np.asarray(ticks.astype(object) * count // n_ticks, dtype=np.int64)
        return np.where(missing, np.array("NaT", dtype), whole.astype(dtype))[()]
    try:
        whole = values.astype(dtype)
        wrong = (whole.astype(values.dtype) != values) & ~missing
    except OverflowError:  # numpy 2.5 and later; earlier ones wrap
        limit = np.array([np.iinfo(np.int64).max], dtype).astype(values.dtype).astype(np.int64)
        wrong = (np.abs(values.astype(np.int64).astype(np.float64)) > limit) & ~missing
    if wrong.any():
        raise OverflowError(f"{np.extract(wrong, values)[0]!s} is beyond microseconds of 64 bits")
    return whole


def _utc(value: Any) -> Any:
    """Convert an instant with a zone to UTC without a zone."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return value


def as_duration(interval: Any) -> dt.timedelta:
    """Convert Arrow's interval of months, days and nanoseconds; a month is 30 days, as DuckDB compares intervals."""
    days = 30 * interval.months + interval.days
    return dt.timedelta(days=days, microseconds=interval.nanoseconds // 1000)


def _since_midnight(time: dt.time) -> dt.timedelta:
    return dt.datetime.combine(dt.date.min, time.replace(tzinfo=None)) - dt.datetime.min


def time_of(value: float) -> dt.time:
    """Time of day ``value`` microseconds after midnight."""
    return (dt.datetime.min + dt.timedelta(microseconds=int(value))).time()


def instant_of(value: float, kind: ColumnKind) -> dt.date | dt.datetime:
    """Convert a value of a column to a date (for whole days), or an instant in the column's zone."""
    if kind.unit == "day":
        return (_EPOCH + dt.timedelta(days=value)).date()
    instant = _EPOCH + dt.timedelta(microseconds=int(value))
    if kind.zone is None:
        return instant
    try:
        return instant.replace(tzinfo=dt.UTC).astimezone(_zone(kind.zone))
    except OverflowError:  # the first or last day of Python's calendar, which is over in this zone
        return instant.replace(tzinfo=dt.UTC)


def has_instant(value: float, kind: ColumnKind) -> bool:
    """Whether a value of a column of dates, and the next one, are within the years of Python's dates."""
    try:
        return instant_of(value, kind) <= instant_of(next_whole(value), kind)
    except (OverflowError, ValueError):
        return False


def instant_text(value: float, kind: ColumnKind) -> str:
    """Write a date or instant: ``2024-03-01``, ``2024-03-01 08:00``; with seconds where there are any.

    Where clocks show a time twice, the offset is added: ``2021-10-31 02:15+02:00``.
    """
    instant = instant_of(value, kind)
    if not isinstance(instant, dt.datetime):
        return instant.isoformat()
    if instant.utcoffset() == instant.replace(fold=1 - instant.fold).utcoffset():
        instant = instant.replace(tzinfo=None)
        if instant.time() == dt.time():
            return instant.date().isoformat()
    precision = "minutes" if not (instant.second or instant.microsecond) else "auto"
    return instant.isoformat(" ", precision)


def duration_text(value: float) -> str:
    """Write a duration: ``1 h 30 min``."""
    left, parts = abs(int(value)), []
    for word, size in MICROSECONDS.items():
        n, left = divmod(left, size)
        if n:
            parts.append(f"{n} {word}{'s' if word == 'day' and n > 1 else ''}")
    return ("-" if value < 0 else "") + (" ".join(parts) or "0 s")


def choose_boundary(a: float, b: float, kind: ColumnKind) -> float:
    """Threshold of a cut of dates between the values a < b: one step before a boundary of the calendar.

    The boundary is the instant B, a < B <= b, on the coarsest unit (year, month, day, hour, minute, second,
    millisecond), then the nearest to the middle, then the earlier one.
    """
    first, last = math.floor(a), math.floor(b)  # centers may lie between whole steps
    step = MICROSECONDS["day"] if kind.unit == "day" else 1
    middle = (first + last) * step // 2
    for unit in ("year", "month", *MICROSECONDS):
        near = [B // step for B in _near(middle, unit, kind.zone) if first * step < B <= last * step]
        inside = [B for B in near if int(float(B)) == B]
        if inside:
            return 0.0 - next_whole(-min(inside, key=lambda B: (abs(2 * B - first - last), B)))  # the last one below
    return float(first)


def choose_length(a: float, b: float) -> float:
    """Threshold of a cut of durations, a <= t < b: in the coarsest unit, then the nearest to the middle."""
    first, last = math.ceil(a), math.ceil(b) - 1
    for size in MICROSECONDS.values():
        low, high = -(-first // size), last // size
        if low <= high:
            middle = (first + last) // 2
            near = {min(max(n, low), high) for n in (middle // size, middle // size + 1)}
            found = min((n * size for n in near), key=lambda t: (abs(2 * t - first - last), t))
            return float(found) if int(float(found)) == found else float(first)
    return float(math.floor(a))  # between two centers in one step


def _near(middle: int, unit: str, zone: str | None) -> Iterator[int]:
    """Boundaries of a unit on both sides of an instant, in microseconds, by the clocks of the zone."""
    wall = _EPOCH + dt.timedelta(microseconds=middle)
    wall = wall if zone is None else _wall(wall, zone)
    for offset in (-1, 0, 1, 2):
        try:
            if unit == "year":
                at = dt.datetime(wall.year + offset, 1, 1)
            elif unit == "month":
                month = wall.year * 12 + wall.month - 1 + offset
                at = dt.datetime(month // 12, month % 12 + 1, 1)
            else:
                ticks = (wall - _EPOCH) // dt.timedelta(microseconds=1)
                size = MICROSECONDS[unit]
                at = _EPOCH + dt.timedelta(microseconds=(ticks // size + offset) * size)
        except (OverflowError, ValueError):  # before the year 1, or beyond 9999
            continue
        for fold in (0, 1) if zone is not None else (0,):
            try:
                instant = at if zone is None else _utc(at.replace(tzinfo=_zone(zone), fold=fold))
            except OverflowError:
                continue
            if zone is None or _wall(instant, zone) == at:  # else clocks skip this time
                yield (instant - _EPOCH) // dt.timedelta(microseconds=1)


def _wall(instant: dt.datetime, zone: str) -> dt.datetime:
    """Local time of an instant in a zone; the instant itself where Python's calendar has no such time."""
    try:
        return instant.replace(tzinfo=dt.UTC).astimezone(_zone(zone)).replace(tzinfo=None)
    except OverflowError:
        return instant


@lru_cache(maxsize=64)
def _zone(name: str) -> dt.tzinfo | None:
    is_offset = name[0] in "+-"
    return dt.datetime.fromisoformat(f"1970-01-01T00{name}").tzinfo if is_offset else ZoneInfo(name)
