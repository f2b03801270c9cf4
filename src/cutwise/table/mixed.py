"""One column of a table, of any type: its kind at fit, and its values as numbers by that kind."""

from __future__ import annotations

import datetime as dt
import heapq
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from importlib.util import find_spec
from numbers import Real
from typing import Any, Literal

import narwhals as nw
import numpy as np
import numpy.typing as npt

from cutwise.core import Float64, Int64
from cutwise.exceptions import ColumnMismatchError, InvalidInputError, UnknownLevelsWarning, listed, shown, warn

from .convert import NonNumericValue, as_float64, find_non_numeric, is_missing, reads_as_number, to_numbers
from .instants import CALENDAR, MICROSECONDS, as_duration, instant_of, to_ticks
from .table import WHOLE_BELOW, ColumnKind, KindName, Table, number_kind

MOST_LEVELS = 254
"""Most levels of a category: a code fits in a byte, with one code for all other levels."""


def distinct_items(items: Sequence[Any]) -> tuple[npt.NDArray[np.intp], list[Any]]:
    """Position of every item among the distinct items, shape (len(items),), and these; missing ones become None."""
    known = {item: None if is_missing(item) else item for item in dict.fromkeys(items)}  # there may be several NaN
    place = {item: i for i, item in enumerate(dict.fromkeys(known.values()))}
    number = {item: place[own] for item, own in known.items()}
    return np.fromiter(map(number.__getitem__, items), dtype=np.intp, count=len(items)), list(place)


def plain_level(item: Any) -> Any:
    """Normalize a level to a string or a number, an int where it is whole; None for anything else.

    Intervals, which only pandas has, become strings. A decimal that float64 rounds gives None: it would be one level
    with its neighbors, and a rule that no such value in a database equals.
    """
    if isinstance(item, np.generic) and item.dtype.kind in "biufU":
        item = item.item()
    if isinstance(item, Decimal | Fraction) and math.isfinite(item):
        exact = Fraction(item)
        item = int(exact) if exact.denominator == 1 else float(exact)
        return item if Fraction(repr(item)) == exact else None
    if isinstance(item, float):
        return int(item) if item.is_integer() else item if math.isfinite(item) else None
    return str(item) if type(item).__name__ == "Interval" else item if isinstance(item, str | int) else None


def levels_by_weight(
    items: Sequence[Any], weight: npt.NDArray[np.float64], order: Sequence[Any] | None = None
) -> tuple[tuple[Any, ...], bool]:
    """Levels of a column, in ``order`` or else sorted, and whether rare levels were dropped.

    ``weight``: total weight of each distinct item. A missing value is the level None, the last one. Levels have
    positive weight; of more than ``MOST_LEVELS`` the heaviest remain, of equals the first.
    """
    # Sums of fractions depend on the order of the rows in their last digits.
    mass = {level: float(f"{w:.12g}") for level, w in zip(items, weight.tolist(), strict=True) if w > 0}
    ordered = sorted(mass.keys() - {None}) if order is None else [level for level in order if level in mass]
    ordered += [None] if None in mass else []
    if len(ordered) <= MOST_LEVELS:
        return tuple(ordered), False
    heaviest = sorted(range(len(ordered)), key=lambda i: (-mass[ordered[i]], i))[:MOST_LEVELS]
    return tuple(ordered[i] for i in sorted(heaviest)), True


Items = npt.NDArray[np.generic] | nw.Series[Any]

_DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(\D|$)")
_MONTHS = " january february march april may june july august september october november december"
_NAMED_MONTH = re.compile(
    r"(?:(?P<day>\d\d?)[-/. ]{0,2}(?P<month>[a-z]{3,9})[.,]?[-/ ]?|(?P<first>[a-z]{3,9})[.]? ?(?P<second>\d\d?),? )"
    r"(?P<year>\d{4}|\d\d)(?!\d)",
    re.IGNORECASE,
)
_CODE = re.compile(r"\s*0\d")
FEWEST_NUMBERED = 20
"""Fewest rows for which consecutive numbers are no coincidence."""
MOST_ITEMS = 1 << 17
"""Most distinct texts of a column that are stored for a table in batches."""


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column before its kind is known: numbers, or items that are levels."""

    name: KindName
    values: Float64 | None = None  # (n,), NaN where missing; None where there are items
    codes: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # (n,), positions in items
    items: Sequence[Any] = ()  # distinct; None for a missing value
    order: Sequence[Any] | None = None  # of the levels, where the type has one
    unit: Literal["day", "microsecond", "time"] | None = None
    zone: str | None = None
    are_floats: bool = False  # of a type that has no integers with missing values

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return len(self.codes) if self.values is None else len(self.values)

    @property
    def are_texts(self) -> bool:
        """Whether the levels are texts, not numbers."""
        return any(isinstance(item, str) for item in self.items)

    @property
    def is_empty(self) -> bool:
        """Whether all values are missing."""
        return all(item is None for item in self.items) if self.values is None else bool(np.isnan(self.values).all())


def raw_column(column: Items, *, as_category: bool = False) -> RawColumn | NonNumericValue:
    """Read a column as numbers or levels by its type; if that is not possible, return the first value in the way."""
    if isinstance(column, np.ndarray):
        if as_category or column.dtype.kind in "OUT":
            return _of_items(list(column) if column.dtype.kind in "mM" else column.tolist(), as_category)
        return _of_array(column)
    dtype = column.dtype
    if as_category:
        return _of_items(column.to_list(), True, _order_of(column)[0])
    if dtype in (nw.Categorical, nw.Enum):
        try:
            codes, levels = _distinct(column)
        except TypeError:  # Arrow's dictionary of structs, such as pandas' intervals
            return _of_items(column.to_list())
        order, is_ordered = _order_of(column)
        return _of_levels(codes, levels, order, "ordered" if is_ordered else "category")
    if dtype == nw.String:
        codes, levels = _distinct(column)
        # narwhals takes objects for text if the first hundred are missing, whatever the others are.
        if {type(level) for level in levels} - {type(None)} == {str}:
            return RawColumn("category", codes=codes, items=levels)
    name = kind_of_type(dtype)
    if name in _NUMBERS:
        return RawColumn(name, values=as_float64(column), are_floats=name == "number")
    if dtype == nw.Date:
        return RawColumn("date", values=to_ticks(column.to_numpy(), "day"), unit="day")
    if isinstance(dtype, nw.Datetime):
        if dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        values = to_ticks(column.to_numpy(), "microsecond")
        # Python's name of a fixed offset, UTC+02:00, is not a zone; Arrow writes +02:00.
        zone = None if dtype.time_zone is None else re.sub(r"^UTC(?=[-+])", "", dtype.time_zone)
        return RawColumn("date", values=values, unit="microsecond", zone=zone)
    if dtype in (nw.Duration, nw.Time):
        items = column.to_numpy() if dtype == nw.Duration else column.to_list()
        ticks = to_ticks(items, "microsecond", is_duration=True)
        return RawColumn("duration", values=ticks, unit=None if dtype == nw.Duration else "time")
    if dtype == nw.Unknown and hasattr(whole := column.to_native(), "sparse"):  # of pandas
        return raw_column(nw.from_native(whole.sparse.to_dense(), series_only=True))
    if dtype == nw.Unknown and (zone := getattr(getattr(whole, "dtype", None), "tz", None)) is not None:
        # Of pandas, in a zone such as America/New_York, whose underscore narwhals does not expect.
        values = to_ticks(whole.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), "microsecond")
        return RawColumn("date", values=values, unit="microsecond", zone=str(zone))
    native = column.to_numpy() if dtype in (nw.Object, nw.Unknown) else None
    if native is None or native.ndim > 1:  # structs of polars
        return _of_items(column.to_list())
    return _of_array(native) if native.dtype.kind in "fiub" else _of_items(native.tolist())


def kind_of_type(dtype: Any) -> KindName | None:
    """Kind of columns of a narwhals type; None where the type does not determine it."""
    if dtype == nw.Boolean or dtype.is_numeric():
        return "bool" if dtype == nw.Boolean else "integer" if dtype.is_integer() else "number"
    of_types: dict[KindName, tuple[Any, ...]] = {
        "date": (nw.Date, nw.Datetime),
        "duration": (nw.Duration, nw.Time),
        "category": (nw.String, nw.Categorical),
        "ordered": (nw.Enum,),
    }
    return next((name for name, types in of_types.items() if dtype in types), None)


def _distinct(column: nw.Series[Any]) -> tuple[npt.NDArray[np.intp], list[Any]]:
    """See ``distinct_items``; pandas does it without creating a Python object per row."""
    native = column.to_native()
    if not hasattr(native, "factorize"):
        return distinct_items(column.to_list())
    codes, found = native.factorize()
    items = list(found.tolist())
    if (codes < 0).any():
        codes, items = np.where(codes < 0, len(items), codes), [*items, None]
    return codes, items


def _order_of(column: nw.Series[Any]) -> tuple[list[Any] | None, bool]:
    """Levels of a type that lists them, in its order, and whether that order is meaningful."""
    native = column.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "categories"):
        return native.cat.categories.to_list(), bool(native.cat.ordered)
    arrow: Any = native if hasattr(native, "unify_dictionaries") else getattr(native, "array", None)
    if hasattr(arrow, "__arrow_array__"):  # of pandas
        arrow = arrow.__arrow_array__()
    if getattr(getattr(arrow, "type", None), "ordered", False):
        orders = {tuple(chunk.dictionary.to_pylist()) for chunk in getattr(arrow, "chunks", [arrow])}
        if len(orders) == 1:
            return list(*orders), True
    # Other types list levels in the order of rows.
    return (native.dtype.categories.to_list(), True) if column.dtype == nw.Enum else (None, False)


def _of_array(values: npt.NDArray[np.generic]) -> RawColumn | NonNumericValue:
    kind = values.dtype.kind
    if kind == "m":
        return RawColumn("duration", values=to_ticks(values, "microsecond", is_duration=True))
    if kind == "M":
        return RawColumn("date", values=to_ticks(values, "microsecond"), unit="microsecond")
    if kind not in "fiub":
        return NonNumericValue(0, values[0])
    return RawColumn(number_kind(values.dtype).name, values=values.astype(np.float64))


def _of_levels(
    codes: npt.NDArray[np.intp], items: Sequence[Any], order: Sequence[Any] | None, name: KindName
) -> RawColumn | NonNumericValue:
    """Make a column of levels, all texts or all numbers, or return the first other value; booleans remain booleans."""
    types = {type(item) for item in items if item is not None}
    if types and types <= {bool, np.bool_}:
        return RawColumn("bool", values=np.array(items, dtype=np.float64)[codes])
    levels = list(map(plain_level, items))
    are_texts = isinstance(next((level for level in levels if level is not None), None), str)
    for i, (item, level) in enumerate(zip(items, levels, strict=True)):
        if item is not None and (level is None or isinstance(level, str) != are_texts):
            said = "texts and other values" if level is not None else "levels other than texts and finite numbers"
            if isinstance(item, Decimal | Fraction) and math.isfinite(item) and level is None:
                said = "decimals of more digits than float64 has"
            return NonNumericValue(int(np.argmax(codes == i)), item, said)
    place, levels = distinct_items(levels)
    return RawColumn(name, codes=place[codes], items=levels, order=order and list(map(plain_level, order)))


def _of_items(
    items: Sequence[Any], as_category: bool = False, order: Sequence[Any] | None = None
) -> RawColumn | NonNumericValue:
    """Read a column of Python objects: levels if requested or if all are text; else numbers, dates or durations."""
    try:
        codes, distinct = distinct_items(items)
    except TypeError:  # not hashable: lists, mappings, arrays
        row = next((row for row, item in enumerate(items) if type(item).__hash__ is None), None)
        if row is None:
            raise
        return NonNumericValue(row, items[row])
    types = {type(item) for item in distinct if item is not None}
    if types and all(issubclass(t, bool | np.bool_ | Real) for t in types):  # distinct has one of equal items
        types = {type(item) for item in items if not is_missing(item)}
    if types and all(hasattr(item, "months") and hasattr(item, "nanoseconds") for item in distinct if item is not None):
        items, types = [item if item is None else as_duration(item) for item in items], {dt.timedelta}

    def are(*kinds: type) -> bool:
        return bool(types) and all(issubclass(t, kinds) for t in types)

    if are(str) or as_category:
        return _of_levels(codes, distinct, order, "category")
    if are(dt.date, np.datetime64):  # a date among instants is its midnight
        has_times = any(issubclass(t, dt.datetime | np.datetime64) for t in types)
        unit: Literal["day", "microsecond"] = "microsecond" if has_times else "day"
        zoned = [getattr(item, "tzinfo", None) is not None for item in items if not is_missing(item)]
        if any(zoned) and not all(zoned):
            row, item = next((row, item) for row, item in enumerate(items) if not is_missing(item))
            return NonNumericValue(row, item, "dates with and without a time zone")
        return RawColumn("date", values=to_ticks(items, unit), unit=unit, zone=_zone_of(items))
    if are(dt.timedelta, np.timedelta64) or are(dt.time):
        values = to_ticks(items, "microsecond", is_duration=True)
        return RawColumn("duration", values=values, unit="time" if types <= {dt.time} else None)
    wrong = find_non_numeric(items)
    if wrong is not None:  # texts without other values would be levels, and dates dates
        return replace(wrong, column_kind=_BESIDE_OTHERS.get(wrong.kind, wrong.column_kind))
    numbers = to_numbers(items).astype(np.float64)
    if are(bool, np.bool_):
        return RawColumn("bool", values=numbers)
    return RawColumn("integer" if are(int, np.integer) else "number", values=numbers)


def _zone_of(items: Iterable[Any]) -> str | None:
    """Name of the zone of instants; UTC if they have several zones or only offsets, None without zones."""
    zones = {zone for item in items if (zone := getattr(item, "tzinfo", None)) is not None}
    names = {getattr(zone, "key", None) or getattr(zone, "zone", None) for zone in zones}  # zoneinfo's, and pytz's
    return next(iter(names), None) if len(names) == 1 and None not in names else "UTC" if zones else None


@dataclass(eq=False)
class ColumnSums:
    """Statistics of a column that determine its kind; those of parts of the rows can be merged.

    ``types``: name, unit and zone of the parts that have a value. ``orders``: of their levels. ``is_whole``: whether
    all numbers are whole, and of an integer type or of floats, which integers with missing values become. ``items``,
    ``seen``, ``mass``: distinct items, None for a missing one, with their numbers of rows and weights.
    """

    describe: str
    is_explicit: bool = False
    n_rows: int = 0
    n_missing: int = 0
    types: set[tuple[KindName, str | None, str | None]] = field(default_factory=set)
    orders: set[tuple[Any, ...] | None] = field(default_factory=set)
    is_whole: bool = True
    items: list[Any] = field(default_factory=list)
    seen: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    mass: Float64 = field(default_factory=lambda: np.empty(0))

    def update(self, raw: RawColumn, weights: Float64 | None) -> None:
        """Add rows."""
        self.n_rows += raw.n_rows
        if raw.is_empty:
            weight = raw.n_rows if weights is None else weights.sum()
            self._add([None], np.array([raw.n_rows]), np.array([weight], dtype=np.float64))
            return
        self.types.add((raw.name, "text" if raw.are_texts else raw.unit, raw.zone))
        if raw.values is None:
            self.orders.add(None if raw.order is None else tuple(raw.order))
            mass = np.bincount(raw.codes, weights, len(raw.items)).astype(np.float64)
            self._add(raw.items, np.bincount(raw.codes, minlength=len(raw.items)), mass)
            return
        gaps = np.isnan(raw.values)
        self.n_missing += int(gaps.sum())
        if raw.name == "number" and self.is_whole:
            known = raw.values[~gaps]
            self.is_whole = raw.are_floats and _are_whole(known[:FEWEST_NUMBERED]) and _are_whole(known)

    def merge(self, other: ColumnSums) -> ColumnSums:
        """Merge the statistics of other rows into these."""
        for name in ("n_rows", "n_missing"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.types, self.orders = self.types | other.types, self.orders | other.orders
        self.is_whole = self.is_whole and other.is_whole
        names = {name for name, _, _ in self.types}
        are_numbers = names <= {"integer", "number", "bool"} and names != {"bool"}
        if not are_numbers and (len(self.types) > 1 or (names == {"ordered"} and len(self.orders) > 1)):
            words = " and ".join(sorted({_WORDS[name] for name in names}))
            raise InvalidInputError(
                f"The batches of X differ: {self.describe[:1].lower()}{self.describe[1:]} holds {words}, of several "
                "types, units, time zones or orders. Give it the same type in all of them."
            )
        self._add(other.items, other.seen, other.mass)
        return self

    def _add(self, items: Sequence[Any], seen: Int64, mass: Float64) -> None:
        if not self.items:
            self.items, self.seen, self.mass = list(items), seen, mass
            return
        place = {item: i for i, item in enumerate(self.items)}
        at = np.append(np.arange(len(place)), [place.setdefault(item, len(place)) for item in items]).astype(np.intp)
        if len(place) > MOST_ITEMS:
            raise InvalidInputError(
                f"{self.describe} holds more than {MOST_ITEMS:,} different texts, too many for a table in "
                "batches. Select the other columns, or give it as numbers or dates where it holds these."
            )
        self.items = list(place)
        self.seen = np.bincount(at, np.append(self.seen, seen), len(place)).astype(np.int64)
        self.mass = np.bincount(at, np.append(self.mass, mass), len(place)).astype(np.float64)

    def kind(self) -> ColumnKind:
        """Kind of the column, from all rows of a fit."""
        if not self.types:
            return ColumnKind("number", left_out="no value")
        names, has_gaps = {name for name, _, _ in self.types}, self.n_missing > 0 or None in self.items
        if names <= {"integer", "number", "bool"} and names != {"bool"}:
            # In pandas integers with missing values become floats, except in columns of objects.
            is_whole = self.is_whole and ("number" not in names or (has_gaps and "bool" not in names))
            return ColumnKind("integer" if is_whole else "number", has_gaps=has_gaps)
        ((name, unit, zone),) = self.types
        order = next(iter(self.orders)) if len(self.orders) == 1 else None  # else levels are sorted
        if name == "ordered":
            return ColumnKind("ordered", levels=tuple(order or ()), has_gaps=has_gaps)
        if name != "category":
            return ColumnKind(name, unit=unit, zone=zone, has_gaps=has_gaps)  # type: ignore[arg-type]
        if 2 * int((self.seen == 1).sum()) > self.n_rows and not self.is_explicit:
            known = [item for item in self.items if item is not None]
            what = "dates written as text" if are_dates(heapq.nsmallest(100, known, key=str)) else "texts"
            return ColumnKind(
                "category", levels=(), left_out=f"{len(known):,} different {what} in {self.n_rows:,} rows"
            )
        levels, has_other = levels_by_weight(self.items, self.mass, order)
        return ColumnKind("category", levels=levels, has_other=has_other)


def _are_whole(known: Float64) -> bool:
    return bool(np.abs(known).max(initial=0.0) < WHOLE_BELOW and (known % 1 == 0).all())


def values_by_kind(raw: RawColumn, kind: ColumnKind, *, describe: str, unknown: str | None = "outside") -> Float64:
    """Values of a column by its kind at fit, shape (n,).

    ``unknown``: treatment of levels unseen at fit: ``"outside"`` of all named levels, with a warning, or ``"error"``;
    None at fit itself, where only rows without weight have them. Raises ``InvalidInputError`` if the column has another
    kind now.
    """
    if kind.levels is not None:
        return _level_values(raw, kind, describe, unknown)
    if raw.is_empty:
        return np.full(raw.n_rows, np.nan)
    check_kind(raw.name, kind, describe, next((item for item in raw.items if item is not None), None))
    assert raw.values is not None
    if kind.name == "bool":
        check_truth(raw.values, describe)
    if kind.name != "date":
        return raw.values
    check_zone(raw.zone, kind, describe)
    values, day = raw.values, MICROSECONDS["day"]
    if raw.unit != kind.unit:
        values = np.floor(values / day) if kind.unit == "day" else values * day
    first, last = (days if kind.unit == "day" else days * day for days in CALENDAR)
    if not ((values >= first) & (values < last) | np.isnan(values)).all():
        raise InvalidInputError(
            f"{describe} holds a date before the year 1 or after 9999. Give years as numbers, or leave the column out."
        )
    return values


def check_type(dtype: Any, kind: ColumnKind, describe: str, *, has_zones: bool = True) -> None:
    """Raise an error if a column's narwhals type does not match its kind at fit.

    ``has_zones``: whether types of instants tell whether these have a zone.
    """
    now = kind_of_type(dtype)
    if dtype != nw.Unknown and not (kind.is_text and now == "category"):  # a file's words for booleans are text
        check_kind(now, kind, describe)
    if has_zones:
        check_zone(getattr(dtype, "time_zone", None), kind, describe)


def check_kind(now: KindName | None, kind: ColumnKind, describe: str, value: object = None) -> None:
    """Raise an error if a column has another kind than at fit; ``value``: an example for the error."""
    of_fit = {kind.name}
    if kind.levels is not None:
        of_fit = {"category" if isinstance(level, str) else "number" for level in kind.levels if level is not None}
    if not of_fit or of_fit & ({"category", "ordered"} if now in ("category", "ordered") else {now}):
        return
    if now in _NUMBERS and of_fit & set(_NUMBERS):
        return
    expected, found = _WORDS[min(of_fit)], _WORDS[now]
    if kind.levels:
        found += " now" if value is None else f" now, such as {shown(value)}"
        raise ColumnMismatchError(
            f"{describe} held {expected} at fit, such as {listed(kind.levels[:3])}, and holds {found}. "
            f"Give {expected}, as at fit."
        )
    if value is not None:
        found = shown(value) if isinstance(value, str) else f"levels of a category, such as {shown(value)},"
    raise ColumnMismatchError(f"{describe} held {expected} at fit and holds {found} now. Give {expected}.")


def check_truth(values: npt.NDArray[np.generic], describe: str) -> None:
    """Raise an error for numbers other than 0 and 1 where fit had true and false."""
    wrong = np.flatnonzero((values != 0) & (values != 1) & ~np.isnan(values))
    if len(wrong):
        raise ColumnMismatchError(
            f"{describe} held {_WORDS['bool']} at fit and holds {values[wrong[0]]:g} now, in row {wrong[0]} (rows are "
            "counted from 0). Give true and false, or 1 and 0 for them."
        )


def check_zone(zone: str | None, kind: ColumnKind, describe: str) -> None:
    """Raise an error for instants without a time zone where fit had one, and the reverse."""
    if kind.name != "date" or (zone is None) == (kind.zone is None):
        return
    now, then, step = "with", "without", "Leave the zone out"
    if kind.zone is not None:
        now, then, step = "without", "with", "Give them one"
    raise ColumnMismatchError(
        f"{describe} held dates {then} a time zone at fit, and holds dates {now} one now. "
        f"{step} (dt.tz_localize({kind.zone!r}) in pandas)."
    )


def _level_values(raw: RawColumn, kind: ColumnKind, describe: str, unknown: str | None) -> Float64:
    assert kind.levels is not None
    codes, items = (raw.codes, raw.items) if raw.values is None else distinct_items(raw.values.tolist())
    if not raw.is_empty:
        known = None if raw.values is not None else next(item for item in items if item is not None)
        check_kind("number" if raw.values is None and not raw.are_texts else raw.name, kind, describe, known)
    position = {level: i for i, level in enumerate(kind.levels)}
    place = np.array([position.get(level, len(kind.levels)) for level in items], dtype=np.float64)
    values, is_strange = place[codes], place == len(kind.levels)
    is_gap = np.array([item is None for item in items], dtype=np.bool_)
    if kind.name == "ordered":
        values[is_gap[codes]] = np.nan
        strange = is_strange & ~is_gap
    else:
        strange = is_strange if not kind.has_other else np.zeros_like(is_strange)
    rows = np.flatnonzero(strange[codes])
    if not len(rows) or unknown is None:
        return values
    names = [item for item, is_new in zip(items, strange, strict=True) if is_new]
    message = (
        f"{describe} holds {'a level' if len(names) == 1 else 'levels'} never seen at fit: "
        f"{_levels_listed(names)} in {len(rows):,} row"
        f"{'s' if len(rows) > 1 else ''}, the first row {int(rows[0])} (rows are counted from 0)."
    )
    known = _levels_listed(kind.levels, most=8)
    if kind.name == "ordered":
        raise InvalidInputError(f"{message}\nIt has no place in their order: {known}. Give one of these, or none.")
    if unknown == "error":
        raise InvalidInputError(
            f'{message}\nThose of fit were {known}. Give these, or use handle_unknown="outside": such a row counts as '
            "none of the levels that a rule names."
        )
    warn(UnknownLevelsWarning(f"{message} Such a row counts as none of the levels that a rule names."))
    return values


def _levels_listed(levels: Sequence[object], most: int = 5) -> str:
    """List levels, with a missing value as words without quotes."""
    known = listed([level for level in levels if level is not None], most=most)
    return ", ".join(filter(None, [known, "a missing value" if None in levels else ""]))


def with_numbered_month(text: str) -> str:
    """A date with its month in digits instead of in English; other texts stay.

    ``12-Mar-21`` becomes ``12.3.21``, and ``Jan 1, 2000`` becomes ``2000-01-01``.
    """
    found = _NAMED_MONTH.match(text)
    place = -1 if found is None else _MONTHS.find(" " + (found["month"] or found["first"]).lower())
    if found is None or place < 0:
        return text
    month, day, year = _MONTHS.count(" ", 0, place + 1), found["day"] or found["second"], found["year"]
    date = f"{day}.{month}.{year}" if len(year) == 2 else f"{year}-{month:02}-{day:>02}"
    return date + text[found.end() :]


def are_dates(items: Sequence[object]) -> bool:
    """Whether the first hundred texts look like dates."""
    return all(isinstance(item, str) and _DATE.match(with_numbered_month(item.strip())) for item in items[:100])


def are_numbers(items: Sequence[object]) -> bool:
    """Whether all known items are numbers written as text; a leading zero before other digits means a code."""
    known = [item for item in items if item is not None]
    return bool(known) and all(
        isinstance(item, str) and reads_as_number(item) and not _CODE.match(item) for item in known
    )


def counts_rows(values: npt.NDArray[Any]) -> bool:
    """Whether integers number the rows: distinct and consecutive, one for each row."""
    n = len(values)
    if n < FEWEST_NUMBERED or int(values.max()) - int(values.min()) != n - 1:
        return False
    return len(np.unique(values)) == n


_NUMBERS = ("number", "integer", "bool")
_BESIDE_OTHERS = dict.fromkeys(("text", "text with missing values"), "texts and other values")
_BESIDE_OTHERS |= dict.fromkeys(("dates or times", "durations"), "times and other values")

_WORDS: dict[KindName | None, str] = {
    None: "other values",
    "number": "numbers",
    "integer": "numbers",
    "bool": "true and false",
    "category": "texts",
    "ordered": "levels in an order",
    "date": "dates",
    "duration": "durations",
}


def frame_of(table: Table) -> Any:
    """Convert a table to a data frame with the original values, for transformers that select columns by name.

    The frame is of pandas if that is installed, else of polars. Columns that were left out are empty; no category may
    have rows with other levels than those of its kind.
    """
    columns = {name: _items(x, kind) for name, x, kind in zip(table.names, table.values.T, table.kinds, strict=True)}
    return nw.from_dict(columns, backend="pandas" if find_spec("pandas") else "polars").to_native()


def _items(x: npt.NDArray[Any], kind: ColumnKind) -> npt.NDArray[Any] | list[Any]:
    """Values of a column in its own type, None or NaN where they are missing."""
    if kind.left_out is not None:
        return [None] * len(x)
    if kind.levels is not None:
        return [None if math.isnan(value) else kind.levels[int(value)] for value in x.tolist()]
    if kind.name == "date":
        return [None if math.isnan(value) else instant_of(value, kind) for value in x.tolist()]
    if kind.name == "duration":
        return x.astype("timedelta64[us]")
    return x if kind.name == "number" or np.isnan(x).any() else x.astype(bool if kind.name == "bool" else np.int64)
