"""Numbers, names, labels, shares and values as text that people can read and programs can parse back exactly.

Also sentences on a tree's cost ratio and share explained, with advice where that share is small.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from cutwise.exceptions import InvalidInputError, UnsupportedInputError
from cutwise.table.instants import duration_text, instant_of, instant_text, time_of
from cutwise.table.table import ColumnKind

# A letter or underscore, then letters, digits and underscores, also in parts joined by dots ("petal.length").
_PLAIN = re.compile(r"[^\W\d]\w*(\.\w+)*")

# Words of the rules themselves, and those that parse as numbers.
_RESERVED = frozenset(
    "and or not any because in is true false unknown known other inf infinity nan".split()  # noqa: SIM905
)


def number(value: float) -> str:
    """Write a number as the shortest decimal that parses back to the very same float64.

    ``value``: finite. Returns ``text``: ``52000``, ``0.1``, ``-2.5``; with an exponent below 0.0001
    (``1e-09``), and from 1e16 on (``1.7e+18``) unless the plain digits fit in 64 bits and are shorter.
    """
    text = repr(float(value) + 0.0).removesuffix(".0")  # adding 0.0 turns -0.0 into 0.0
    return min(text, f"{Decimal(text):f}", key=len) if 1e16 <= abs(value) < 2**63 else text


def finite(value: float) -> float | None:
    """Convert a figure for JSON: nan and infinity become None."""
    return float(value) if math.isfinite(value) else None


def quoted(name: Any) -> str:
    r"""Write a column name or a label so that it cannot be taken for anything else in a rule.

    Parameters
    ----------
    name : str, or any label
        Labels other than strings are written as Python writes them.

    Returns
    -------
    text : str
        A plain name as it is: a letter or underscore, then letters, digits and underscores, also in parts joined by
        dots, and no word of the rules such as ``and``. Any other name between backticks, with backticks and backslashes
        doubled, and line breaks and other unprintable characters as Python escapes (``\n``).
    """
    if not isinstance(name, str):
        return str(name)
    if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED and name.isprintable():
        return name
    escaped = name.replace("\\", "\\\\").replace("`", "``")
    if not escaped.isprintable():
        escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in escaped)
    return f"`{escaped}`"


def sayable(name: Any, what: str, *, empty: bool = False) -> None:
    """Raise an error for a name that no engine accepts, even quoted."""
    if not isinstance(name, str):
        raise UnsupportedInputError(f"{what}={name!r} is not a name. Give a string.")
    if "\x00" in name:
        raise InvalidInputError(f"The {what} {name!r} holds a zero character, which no query can hold. Rename it.")
    if not name and not empty:
        raise InvalidInputError(f"The name of a {what} is empty, and queries need one. Rename the {what}.")


def percent(share: float) -> str:
    """Write a share in per cent with one decimal, never rounded to 0 or 100.

    ``share``: nan where it is undefined. Returns ``text``: ``27.5 %``; ``100 %`` and ``0 %`` only
    where they are exact, else ``>99.9 %`` and ``<0.1 %``; ``n/a`` for nan. A share explained may be below 0 or above 1.
    """
    if math.isnan(share):
        return "n/a"
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    text = f"{100.0 * share:.1f} %"
    return {"0.0 %": "<0.1 %", "100.0 %": ">99.9 %" if share < 1 else text}.get(text, text)


def compared(ratio: float) -> str:
    """Write how a cost compares with another, as the words before the other.

    ``ratio``: the cost over the other; finite. Returns ``text``: ``4.7 % more than``, ``0.2 % less than``, or ``as much
    as`` only where it is exactly 1; a difference that would round to 0 is ``<0.1 %``.
    """
    return "as much as" if ratio == 1 else f"{percent(abs(ratio - 1))} {'less' if ratio < 1 else 'more'} than"


def rows(count: int) -> str:
    """Write a number of rows: ``1 row``, ``1,514,999 rows``."""
    return f"{count:,} row{'' if count == 1 else 's'}"


TRUTH_WORDS = (("no", "n", "false", "f", "0"), ("yes", "y", "true", "t", "1"))
"""Words that are read as false and as true; engines write their own booleans as one of these."""


# ---- values of a column: levels, truth values, dates and durations


def value_text(kind: ColumnKind, value: float) -> str:
    """Write a value of a column as conditions do; a missing value is ``unknown``."""
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
    """Write a level as conditions do."""
    levels = kind.levels or ()
    if code >= len(levels):
        return "another level"
    return "unknown" if levels[code] is None else quoted(levels[code])


def levels_text(kind: ColumnKind, codes: Iterable[int]) -> str:
    """Write several levels, separated by commas."""
    return ", ".join(level_text(kind, code) for code in codes)


def own_value(kind: ColumnKind, value: float) -> Any:
    """Convert a value to the type of the table's own; None for a missing level, or one unseen at fit."""
    if kind.levels is not None:
        return kind.levels[int(value)] if value < len(kind.levels) else None
    if value != value or kind.name in ("number", "integer"):
        return value
    if kind.name == "bool":
        return bool(value)
    if kind.name == "date":
        return instant_of(value, kind)
    return time_of(value) if kind.unit == "time" else dt.timedelta(microseconds=value)


def as_json(value: Any) -> Any:
    """Convert a value for JSON: dates and durations become text that parses back, nan and infinity None."""
    if isinstance(value, float):
        return finite(value)
    return value if value is None or isinstance(value, str | int) else str(value)


_KEEPS_LITTLE = 0.75
"""Trees with one leaf per cluster explain a larger share on most clustered tables; on noise about half."""

_EXPLAINS_LITTLE = 0.2
"""k-means explains more of clustered tables and of any data in a few columns, less of noise in many columns."""

_EXPLAINS_NOTHING = 0.01
"""About the share that random labels of two hundred rows explain by chance; a share of it means nothing."""


COSTS_UNKNOWN = "costs are unknown: the rows were recounted after fit, or the tree was edited"


def below_one(ratio: float) -> bool:
    """Whether a cost ratio is below 1 by more than four digits show."""
    return ratio < 1 - 5e-5


def below_one_reason(ratio: float) -> str:
    """Remark to append to a cost ratio below 1; empty for other ratios."""
    return ", below 1: the reference costs more" if below_one(ratio) else ""


def ratio_words(ratio: float, own: str, cost_words: str) -> str:
    """Explain a cost ratio.

    ``ratio``: nan where the reference has cost 0. ``own``: name of the reference, in the plural: ``"the k-means
    clusters"``. ``cost_words``: name of the costs, in the plural: ``"squared distances"``.
    """
    if math.isnan(ratio):
        return f"{own} have cost 0, so there is no ratio"
    reason = ", which are not the cheapest for these rows" if below_one(ratio) else ""
    return f"{cost_words} within the tree's clusters add up to {compared(ratio)} within {own}{reason}"


def ratio_text(ratio: float) -> str:
    """Write a cost ratio with four decimals; ``none`` where the reference has cost 0."""
    return "none" if math.isnan(ratio) else f"{ratio:.4f}"


def explained_text(explained: float, reference_explained: float) -> str:
    """Write the share explained in per cent; ``n/a`` if the clustering itself explains next to nothing."""
    return percent(math.nan if reference_explained < _EXPLAINS_NOTHING else explained)


def explained_words(explained: float, reference_explained: float, own: str, cost_words: str) -> str:
    """Write what the share explained is a share of; the two shares are nan where they are undefined."""
    if math.isnan(explained):
        return f"{own} cost no less than a single cluster, so they explain nothing for the tree to keep"
    own_share = f"and the tree keeps {percent(explained)} of that"
    if explained > 1:  # labels that have little to do with distances
        own_share = f"and the tree's clusters explain {percent(explained * reference_explained)}"
    if reference_explained < _EXPLAINS_NOTHING:
        own_share = f"next to nothing; the tree's clusters explain {percent(explained * reference_explained)}"
    return f"{own} explain {percent(reference_explained)} of all {cost_words}, {own_share}"


def table_notes(ratios: Sequence[float], reference_explained: float, cost_words: str) -> list[str]:
    """Notes below a table of cost ratios and shares explained."""
    notes = []
    if not math.isnan(reference_explained):
        whole = f"{percent(reference_explained)} of all {cost_words}"
        little = "; n/a: next to nothing" if reference_explained < _EXPLAINS_NOTHING else ""
        notes.append(f"explained: the share that the tree keeps of what the clustering explains ({whole}{little})")
    if any(map(below_one, ratios)):
        notes.append(
            "cost ratio below 1: the clustering is not the cheapest for these rows; the tree's clusters cost less"
        )
    return notes


def advice(
    explained: float, reference_explained: float, own: str, *, chosen: bool, more_leaves: str | None = None
) -> str | None:
    """Advice where the clustering or the tree explains little; None where it explains enough, or shares are unknown.

    ``chosen``: whether the clustering minimizes costs, and its number of clusters can be changed. ``more_leaves``: how
    to allow more leaves; None where that does not help.
    """
    if chosen and reference_explained < _EXPLAINS_LITTLE:
        return f"{own} explain little of this table: try another number of clusters, other columns or another scale"
    if not explained < _KEEPS_LITTLE or reference_explained < _EXPLAINS_LITTLE:
        return None
    steps = [f"allow more leaves ({more_leaves})"] * (more_leaves is not None)
    steps += ["try another number of clusters"] * chosen
    return f"the tree keeps little of what {own} explain: {', or '.join(steps)}" if steps else None
