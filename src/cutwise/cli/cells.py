"""Reading the cells of a column of text as numbers, missing values or words, by one table of rules.

=====================================  ===========================================================================
a cell such as                         is read, where all cells of its column are like it or missing, as
=====================================  ===========================================================================
``12``, ``-1.5e3``, ``1,5``            a number, with the file's decimal mark
``1,234``, ``1.234,5``, ``1 234``      a number with thousands separators, one kind a column
``$12``, ``12 EUR``                    a number and its currency, one a column; some cells may lack it
``12 %``                               a number of per cent: 12; every cell must say so
``(63)``, ``$(63)``                    -63, as in accounts
``2024-03-01``, ``2024/03/01 08:00``   a date, or an instant
``2024-03-01T08:00+01:00``             an instant, in UTC from here on
``31.12.2024``                         the same, the day first
``31/12/2024``, ``12/31/2024 8:00 PM`` the same, where some day of the column is past 12 and so tells the order
``31.12.98``                           the same, where some year of the column is past 31; 69 is 1969, and 68 is 2068
``1 days 02:00:00``, ``7:30:00``       a duration, or a time of day, also ``07:30``, as that since midnight
``yes``, ``no``                        True and False; also ``y`` and ``n``, ``true`` and ``false``, ``t`` and ``f``
``NA``, ``null``, blank, ...           a missing value, whatever the column holds
``?``, ``-``, ``none``, ...            a missing value among numbers, and a word among words; ``None`` always the former
``007``                                a code, so that the whole column is words; ``07`` is a number
=====================================  ===========================================================================

A few cells of a column determine how all are read: a model keeps these, and a new file is read together with them.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cutwise.table.mixed import are_dates, with_numbered_month

if TYPE_CHECKING:
    import pandas as pd


# In any case of letters.
MISSING = frozenset(
    {"", "na", "n/a", "#n/a", "#na", "nan", "-nan", "nat", "null", "<na>", "1.#ind", "1.#qnan", "-1.#ind"}
)
MISSING_AMONG_NUMBERS = MISSING | {
    *("none", "?", "-", "--", "---", "–", "—", ".", "..", "*", "missing", "unknown", "#missing"),
    *("#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"),
}
PAIRS = (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"))
THOUSANDS = {".": ",'’ \u00a0\u2009\u202f", ",": ".'’ \u00a0\u2009\u202f"}
CURRENCY = "[$€£¥₹₽₩]|(?:US|CA|AU)?[$]|(?:USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL|Fr[.]|kr[.]?|zł)"
_DATE = re.compile(
    r"(?:(?P<year>\d{4})([-/])(?P<month>\d\d)\2(?P<day>\d\d)"
    r"|(?P<first>\d\d?)(?P<mark>[-/.])(?P<second>\d\d?)(?P=mark)(?P<last>\d{4}|\d\d))"
    r"(?:(?:[ T]|, )(?P<hour>\d\d?)(?P<time>:\d\d(?::\d\d(?:[.]\d+)?)?)(?: ?(?P<half>[AP])[.]?M[.]?)?"
    r"(?P<zone>Z|[-+]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)
_DURATION = re.compile(
    r"[-+]?\d+ days?(?:,? [-+]?\d+:\d\d:\d\d(?:[.]\d+)?)?|[-+]?\d+:\d\d:\d\d(?:[.]\d+)?|(?:[01]\d|2[0-3]):[0-5]\d"
)
PLAIN = ("0",)
"""Cells that determine a column of plain numbers."""
_CODE = re.compile(r"0\d\d+")


def _number_pattern(decimal: str) -> re.Pattern[str]:
    mark = re.escape(decimal)
    grouped = rf"[1-9]\d{{0,2}}(?P<group>[{re.escape(THOUSANDS[decimal])}])\d{{3}}(?:(?P=group)\d{{3}})*(?:{mark}\d*)?"
    number = rf"(?:{grouped}|\d+(?:{mark}\d*)?|{mark}\d+)(?:[eE][-+]?\d+)?|inf(?:inity)?"
    return re.compile(
        rf"(?P<front>{CURRENCY}(?=\s*\())?"
        rf"\s*(?P<open>\()?\s*(?P<sign>[-+−]?)\s*(?P<before>{CURRENCY})?\s*(?P<inner>[-+−]?)\s*(?P<digits>{number})"
        rf"\s*(?P<after>%|{CURRENCY})?\s*(?P<close>\))?",
        re.IGNORECASE,
    )


_NUMBERS = {decimal: _number_pattern(decimal) for decimal in THOUSANDS}
_PLAIN = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Reading:
    """How a column of text was read."""

    markers: Mapping[str, int] = field(default_factory=dict)  # texts read as missing, with numbers of cells
    how: tuple[str, ...] = ()  # other decisions, in words
    are_words: bool = False  # whether two words became True and False
    unread: str = ""  # the dates that stay texts, in words
    cells: tuple[str, ...] = ()  # some that determine how all are read; none for words
    odd: str = ""  # the first cell that cannot be read like those given
    words: pd.Series | None = None  # the original cells, in memory, if ``are_words``

    @property
    def marks(self) -> str:
        """The texts that were read as missing, in words."""
        return ", ".join(f"{mark!r} in {n:,} cell{'s' if n > 1 else ''}" for mark, n in self.markers.items())

    def __str__(self) -> str:
        said = [f"{self.marks} is read as missing"] if self.markers else []
        return "; ".join([*said, *self.how, *([f"{self.unread} are read as text"] if self.unread else [])])


@dataclass(frozen=True)
class Format:
    """Format of files as far as options or a model's fit determine it; attributes are empty if unknown."""

    given_separator: str | None = None
    given_header: bool | None = None
    separator: str = ""
    decimal: str = ""
    has_names: bool | None = None
    width: int = 0  # number of columns of the files
    columns: Sequence[str] = ()  # their names, including columns that the fit left out
    cells: Mapping[str, Collection[str]] = field(default_factory=dict)  # of columns, see ``read_cells``
    tested: Collection[str] = ()  # columns that must be there
    levels: Collection[str] = ()  # words of a model
    names: Sequence[str] = ()  # of all columns of the fit, if they may be matched by position

    @property
    def texts(self) -> set[str]:
        """The columns whose cells are not plain numbers."""
        return {name for name, own in self.cells.items() if own != PLAIN}

    @property
    def read(self) -> list[str]:
        """The columns that must be there and whose cells are not words."""
        return [name for name in self.tested if not isinstance(self.cells.get(name), frozenset)]


@dataclass(frozen=True)
class _Number:
    value: int | float
    unit: str
    group: str
    in_brackets: bool


def is_number(text: str) -> bool:
    """Whether a cell is a plain number, with either decimal mark."""
    return _PLAIN.fullmatch(text) is not None


def is_written(text: str) -> bool:
    """Whether a cell is a number with its unit, a date or a duration."""
    patterns = (*_NUMBERS.values(), _DURATION)
    return not is_number(text) and (_date(text) is not None or any(pattern.fullmatch(text) for pattern in patterns))


def numbers_in(cells: pd.Series, decimal: str) -> pd.Series:
    """The numbers among cells."""
    found = cells.map(lambda cell: _number(str(cell).strip(), decimal)).dropna()
    return found.map(lambda number: float(number.value))


def contains_codes(cells: Sequence[Any]) -> bool:
    """Whether one of the cells is a code: three or more digits, the first of them 0."""
    return any(isinstance(cell, str) and _CODE.fullmatch(cell.strip()) for cell in cells)


def read_cells(
    given: Sequence[Any], counts: Sequence[int], decimal: str, known: Collection[str] | None = None
) -> tuple[pd.Series, Reading]:
    """Values of the distinct cells of a column, by the rules above: numbers if all cells allow it, else words.

    ``given``: cells, ``""`` for an empty one, and their numbers of rows. ``known``: cells to read together with these;
    empty if the column has words, or the set of these words.
    """
    import pandas as pd

    if isinstance(known, frozenset) or (known is not None and not known):
        return pd.Series(_words(given, known)), Reading()
    known = list(known or ())
    cells = [str(cell).strip() for cell in given]
    marks = {i: cell for i, cell in enumerate(cells) if cell.casefold() in MISSING_AMONG_NUMBERS}
    others = [i for i in range(len(cells)) if i not in marks]
    values, reading = _read_alike([*known, *(cells[i] for i in others)], decimal, len(known))
    if values is not None and marks:
        values = values.astype("boolean") if values.dtype == bool else values
        values = values.set_axis(others).reindex(range(len(cells)))
    if values is None:
        odd = _first_odd([cells[i] for i in others], known, decimal) if known and others else ""
        how = ("codes with leading zeros are kept as text",) if contains_codes(cells) else ()
        marks = {i: mark for i, mark in marks.items() if _is_missing(mark)}
        bare = (cell.strip() if isinstance(cell, str) else cell for cell in given)
        values = pd.Series([math.nan if i in marks else cell for i, cell in enumerate(bare)])
        reading = replace(reading, how=how, odd=odd)
    markers = Counter[str]()
    for i, mark in marks.items():
        if mark:  # an empty cell has no marker
            markers[mark] += counts[i]
    return values, replace(reading, markers=markers)


def _read_alike(cells: Sequence[str], decimal: str, first: int = 0) -> tuple[pd.Series | None, Reading]:
    """Values of cells that are all numbers, both words of a pair or times, from cell ``first`` on; None for others."""
    import pandas as pd

    numbers, how = _as_numbers(cells, decimal)
    if numbers is not None:
        own, typical = numbers[first:], _typical(cells, partial(_traits_of_number, decimal))
        are_whole = all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in own)
        return pd.Series(own, dtype="int64" if are_whole else "float64"), Reading(how=how, cells=typical)
    words = {cell.casefold() for cell in cells}
    pair = next((pair for pair in PAIRS if words and words <= set(pair)), None)
    if pair is not None:
        values = pd.Series([cell.casefold() == pair[0] for cell in cells[first:]], dtype=bool)
        if pair[0] == "true":
            return values, Reading(cells=("true",))  # as others find it
        how = (f"{pair[0]} is true, {pair[1]} is false",)
        return values, Reading(how=how, are_words=True, cells=_typical(cells, lambda _: {pair}))
    times, said = _as_times(cells)
    if times is None:
        return None, Reading(unread=said)
    times = times.iloc[first:].reset_index(drop=True)
    return times.dt.as_unit("us"), Reading(how=(said,), cells=_typical(cells, _traits_of_time))


def _first_odd(cells: Sequence[str], known: Sequence[str], decimal: str) -> str:
    """The first cell that cannot be read together with the known and the earlier ones."""

    def are_words(n: int) -> bool:
        return _read_alike([*known, *cells[:n]], decimal)[0] is None

    return cells[bisect_left(range(len(cells)), True, key=lambda i: are_words(i + 1))]


def _typical(cells: Sequence[str], traits_of: Callable[[str], set[Hashable]]) -> tuple[str, ...]:
    """A few cells that together have the traits of all cells."""
    seen, found = set[Hashable](), []
    for cell in sorted(cells):
        if own := traits_of(cell) - seen:
            seen |= own
            found.append(cell)
    return tuple(found) or PLAIN


def _traits_of_number(decimal: str, cell: str) -> set[Hashable]:
    number = _number(cell, decimal)
    return set() if number is None else {trait for trait in (number.unit, number.group) if trait}


def _traits_of_time(cell: str) -> set[Hashable]:
    date = _date(cell)
    if date is None:
        return {"duration"}
    own: set[Hashable] = {date["zone"] is None}
    if date["year"] is None:
        own |= {len(date["last"]) + 2, *(order for order in _ORDERS if not _may_be(date, order))}
    return own


def _words(cells: Sequence[Any], levels: Collection[str]) -> list[Any]:
    """Cells as words: levels of the model, even with spaces around, else NaN for missing values."""
    import numpy as np

    own = {level.strip(): level for level in levels} | {level: level for level in levels}

    def word(cell: str) -> Any:
        bare = cell.strip()
        return own.get(cell) or own.get(bare, np.nan if _is_missing(bare) else bare)

    return [word(cell) if isinstance(cell, str) else cell for cell in cells]


def _is_missing(cell: str) -> bool:
    """Whether a cell is missing in any kind of column; ``none`` may be a word, and ``None`` is Python's."""
    return cell.casefold() in MISSING or cell == "None"


def _as_numbers(cells: Sequence[str], decimal: str) -> tuple[list[int | float] | None, tuple[str, ...]]:
    """The numbers that cells represent, and notes on how they were read; None unless all are numbers."""
    found = [_number(cell, decimal) for cell in cells]
    numbers = [number for number in found if number is not None]
    units = {number.unit for number in numbers}
    groups = {number.group for number in numbers} - {""}
    if len(numbers) < len(cells) or len(units - {""}) > 1 or len(groups) > 1 or ("%" in units and "" in units):
        return None, ()
    if contains_codes(cells):
        return None, ()
    how = []
    if groups:
        how.append(f"{next(iter(groups))!r} separates thousands")
    if "%" in units:
        how.append("numbers are percentages")
    elif unit := next(iter(units - {""}), ""):
        how.append(f"{unit!r} is ignored")
    if any(number.in_brackets for number in numbers):
        how.append("numbers in brackets are negative")
    return [number.value for number in numbers], tuple(how)


def _as_times(cells: Sequence[str]) -> tuple[pd.Series | None, str]:
    """The timestamps of cells, all with a time zone (then in UTC) or all without, or the durations.

    None unless all cells are such. The text says how they are read, or which dates cannot be read.
    """
    import pandas as pd

    if cells and all(map(_DURATION.fullmatch, cells)):
        whole = [f"{cell}:00" if cell.count(":") == 1 else cell for cell in cells]
        return pd.to_timedelta(pd.Series(whole)), "read as durations"
    if not are_dates(cells):
        return None, ""
    found = [match for match in map(_date, cells) if match is not None]
    zoned = {match["zone"] is not None for match in found}
    others = [match for match in found if match["year"] is None]
    short = {len(match["last"]) == 2 for match in others}
    if len(found) < len(cells) or len(zoned) > 1 or len(short) > 1:
        return None, "dates that are not all written like 2024-12-31"
    orders = [order for order in _ORDERS if all(_may_be(match, order) for match in others)]
    if others and len(orders) != 1:
        which = f"may have {' or '.join(orders)} first" if orders else "do not all have the same part first"
        return None, f"dates that {which} (write them like 2024-12-31)"
    texts = pd.Series([_in_order(match, orders[0]) for match in found])
    dates = pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=zoned == {True})
    if dates.dtype.kind != "M" or dates.isna().any():
        return None, f"dates, but {cells[int(dates.isna().to_numpy().argmax())]!r} is not one,"
    order = f", the {orders[0]} first" if others else ""
    years = ", years from 1969 to 2068" if True in short else ""
    return dates, f"read as {'instants, in UTC' if True in zoned else 'dates'}{order}{years}"


def _date(cell: str) -> re.Match[str] | None:
    """The parts of a date, with its month in digits."""
    return _DATE.fullmatch(with_numbered_month(cell))


# Order of year, month and day, by the part that comes first.
_ORDERS = {
    "day": ("last", "second", "first"),
    "month": ("last", "first", "second"),
    "year": ("first", "second", "last"),
}


def _may_be(date: re.Match[str], order: str) -> bool:
    """Whether a date may be written in an order; dotted dates are day first, days beside long years are not checked."""
    year, month, day = (date[part] for part in _ORDERS[order])
    if date["mark"] == "." and order != "day":
        return False
    is_short = len(date["last"]) == 2
    return int(month) <= 12 and (int(day) <= 31 and len(year) == 2 if is_short else len(year) == 4)


def _in_order(date: re.Match[str], order: str) -> str:
    """A date in ISO 8601, from the largest unit to the smallest."""
    year, month, day = (date[part] for part in (_ORDERS[order] if date["year"] is None else ("year", "month", "day")))
    century = "" if len(year) == 4 else "19" if year >= "69" else "20"
    text = f"{century}{year}-{month:>02}-{day:>02}"
    if date["hour"] is None:
        return text
    hour = int(date["hour"])
    if date["half"]:
        hour = hour % 12 + 12 * (date["half"] in "Pp") if 0 < hour <= 12 else 24  # 24 is invalid
    return f"{text}T{hour:02}{date['time']}{(date['zone'] or '').upper()}"


def _number(cell: str, decimal: str) -> _Number | None:
    """The number that a cell represents; None if it is not a number."""
    found = _NUMBERS[decimal].fullmatch(cell)
    if found is None:
        return None
    part = found.groupdict(default="")
    in_brackets = bool(part["open"])
    units = [part[place] for place in ("front", "before", "after") if part[place]]
    signs = in_brackets + bool(part["sign"]) + bool(part["inner"])
    if in_brackets != bool(part["close"]) or signs > 1 or len(units) > 1:
        return None
    digits = part["digits"].replace(part["group"], "") if part["group"] else part["digits"]
    digits = digits.replace(decimal, ".")
    value = int(digits) if digits.isdecimal() else float(digits)
    negative = in_brackets or (part["sign"] or part["inner"]) in ("-", "−")
    return _Number(-value if negative else value, "".join(units), part["group"], in_brackets)


def find_decimal(columns: Sequence[Sequence[str]], separator: str) -> tuple[str, float]:
    """The decimal mark of a file, from the cells of its columns: a comma if only a comma explains them, or a point.

    Also the certainty: 1 if only one mark explains the cells, 0 if no cell has either.
    """
    bare = [[_AROUND_NUMBER.sub("", cell) for cell in column] for column in columns]
    for mark in (".", ","):
        if any(_DECIMAL[mark].fullmatch(cell) for column in bare for cell in column):
            return mark, 1.0
    either = [cell for column in bare for cell in column if _EITHER.fullmatch(cell)]
    sure = 1.0 if separator == "," and any("." in cell for cell in either) else 0.5 if either else 0.0
    grouped = [cell for column in bare for cell in column if _GROUPED.fullmatch(cell)]
    # A file with commas between cells has no decimal commas.
    if separator == "," or not grouped or any(cell.count(",") > 1 for cell in grouped):
        return ".", sure
    # 1,234 is ambiguous: thousands if its column also has whole numbers without a comma.
    mixed = [column for column in bare if any(map(_GROUPED.fullmatch, column)) and any(map(str.isdecimal, column))]
    return "." if mixed else ",", sure


_AROUND_NUMBER = re.compile(rf"^[-+−(\s]*(?:{CURRENCY})?[-+−(\s]*|\s*(?:%|{CURRENCY})?[)\s]*$", re.IGNORECASE)

# Numbers with a certain decimal mark, and ambiguous ones: three digits after every comma.
_GROUPED = re.compile(r"[1-9]\d{0,2}(,\d{3})+")
_EITHER = re.compile(r"[1-9]\d{0,2}([.,]\d{3})+")
_DECIMAL = {
    mark: re.compile(
        rf"(?![1-9]\d{{0,2}}([{mark}]\d{{3}})+$)([1-9]\d{{0,2}}([{other}]\d{{3}})+|\d*)[{mark}]\d+([eE][-+]?\d+)?"
    )
    for mark, other in ((".", ","), (",", "."))
}


def with_columns(frame: pd.DataFrame, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with some columns replaced; names may be anything, such as ``self``."""
    frame = frame.copy(deep=False)
    for name, values in columns.items():
        frame[name] = values
    return frame
