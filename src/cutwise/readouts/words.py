"""How numbers, names, labels, shares and values are written, so that a reader and a parser both get them back exactly.

And what a tree costs beside its clustering and how much it keeps of it, in words, with advice where that is little.
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

    ``value``: finite. Returns ``text``: ``52000``, ``0.1``, ``-2.5``; with an exponent (``1e-09``, ``1.7e+18``) below
    0.0001, and from 1e16 on where it is beyond 64 bits or all zeros would be long.
    """
    text = repr(float(value) + 0.0).removesuffix(".0")  # adding 0.0 turns -0.0 into 0.0
    return min(text, f"{Decimal(text):f}", key=len) if 1e16 <= abs(value) < 2**63 else text


def finite(value: float) -> float | None:
    """A figure as JSON can hold it: None for nan and infinity."""
    return float(value) if math.isfinite(value) else None


def quoted(name: Any) -> str:
    r"""Write a column name or a label so that it cannot be taken for anything else in a rule.

    Parameters
    ----------
    name : str, or any label
        Labels that are no text are written as Python writes them.

    Returns
    -------
    text : str
        The name itself where it is plain: a letter or underscore, then letters, digits and underscores, also in parts
        joined by dots, and no word of the rules such as ``and``. Any other between backticks, with backticks doubled,
        backslashes doubled, and line breaks and other unprintable characters as Python escapes (``\n``).
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
    """Refuse names that no engine takes, even quoted."""
    if not isinstance(name, str):
        raise UnsupportedInputError(f"{what}={name!r} is no name. Give a text.")
    if "\x00" in name:
        raise InvalidInputError(f"SQL has no way to write the {what} {name!r}: it holds a zero character. Rename it.")
    if not name and not empty:
        raise InvalidInputError(f"SQL has no way to write a {what} whose name is empty. Rename it.")


def percent(share: float) -> str:
    """Write a share between 0 and 1 in per cent, with one decimal that never claims all or nothing falsely.

    ``share``: nan where there is nothing to take a share of. Returns ``text``: ``27.5 %``; ``100 %`` and ``0 %`` only
    where they are exact, else ``>99.9 %`` and ``<0.1 %``; ``n/a`` for nan. A share kept may also be below 0 or above 1.
    """
    if math.isnan(share):
        return "n/a"
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    text = f"{100.0 * share:.1f} %"
    return {"0.0 %": "<0.1 %", "100.0 %": ">99.9 %" if share < 1 else text}.get(text, text)


def compared(ratio: float) -> str:
    """Write how a cost compares with another, ready to be followed by that one.

    ``ratio``: the cost over the other; finite. Returns ``text``: ``4.7 % more than``, ``0.2 % less than``, or ``as much
    as`` where it is exactly 1: what would round to no difference without being none is ``<0.1 %``.
    """
    return "as much as" if ratio == 1 else f"{percent(abs(ratio - 1))} {'less' if ratio < 1 else 'more'} than"


def rows(count: int) -> str:
    """Write a number of rows: ``1 row``, ``1,514,999 rows``."""
    return f"{count:,} row{'' if count == 1 else 's'}"


TRUTH_WORDS = (("no", "n", "false", "f", "0"), ("yes", "y", "true", "t", "1"))
"""What is read as false and as true, and how engines write their own truth values as text."""


# ---- values of a column: levels, truth values, dates and durations


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
        return "another level"
    return "unknown" if levels[code] is None else quoted(levels[code])


def levels_text(kind: ColumnKind, codes: Iterable[int]) -> str:
    """Several levels, between commas."""
    return ", ".join(level_text(kind, code) for code in codes)


def own_value(kind: ColumnKind, value: float) -> Any:
    """A value as the table holds it; of a level that is missing, or that fit never saw, None."""
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
    """A value as JSON can hold it: dates and durations as texts that read back, nothing for what is no number."""
    if isinstance(value, float):
        return finite(value)
    return value if value is None or isinstance(value, str | int) else str(value)


_KEEPS_LITTLE = 0.75
"""Trees of one leaf a cluster keep more of most tables with clusters; of noise in many columns they keep about half."""

_EXPLAINS_LITTLE = 0.2
"""k-means explains more where there are clusters, and of any data in a few columns; less of noise in many columns."""

_EXPLAINS_NOTHING = 0.01
"""About what labels drawn at random explain of two hundred rows; a share of that is a share of chance."""


COSTS_UNKNOWN = "costs not known: rows were counted anew since fit, or the tree was edited"


def below_one(ratio: float) -> bool:
    """Whether a cost ratio is below 1 by more than four digits show."""
    return ratio < 1 - 5e-5


def below_one_reason(ratio: float) -> str:
    """What follows a cost ratio that is below 1, and nothing otherwise."""
    return ", below 1: the reference costs more" if below_one(ratio) else ""


def ratio_words(ratio: float, own: str, cost_words: str) -> str:
    """What a cost ratio means.

    ``ratio``: nan where the reference costs nothing. ``own``: what the reference is called, in the plural: ``"the
    k-means clusters"``. ``cost_words``: what costs are, in the plural: ``"squared distances"``.
    """
    if math.isnan(ratio):
        return f"{own} have cost 0, so there is no ratio"
    reason = ", which are not the cheapest for these rows" if below_one(ratio) else ""
    return f"{cost_words} within the tree's clusters are {compared(ratio)} within {own}{reason}"


def kept_text(explained: float, reference_explained: float) -> str:
    """The share kept in per cent; ``n/a`` where the clustering explains too little for a share of that to mean much."""
    return percent(math.nan if reference_explained < _EXPLAINS_NOTHING else explained)


def explained_words(explained: float, reference_explained: float, own: str, cost_words: str) -> str:
    """What the share kept is a share of; the first two are nan where they are undefined."""
    if math.isnan(explained):
        return f"{own} cost no less than a single cluster, so they explain nothing that a tree could keep"
    own_share = "and the tree keeps this share of that"
    if explained > 1:  # labels that have little to do with distances
        own_share = f"and the tree's clusters {percent(explained * reference_explained)}"
    if reference_explained < _EXPLAINS_NOTHING:
        own_share = f"next to nothing; the tree's clusters explain {percent(explained * reference_explained)}"
    return f"{own} explain {percent(reference_explained)} of all {cost_words}, {own_share}"


def table_notes(ratios: Sequence[float], reference_explained: float, cost_words: str) -> list[str]:
    """What stands below a table of cost ratios and shares kept."""
    notes = []
    if not math.isnan(reference_explained):
        whole = f"{percent(reference_explained)} of all {cost_words}"
        little = " (n/a: next to nothing)" if reference_explained < _EXPLAINS_NOTHING else ""
        notes.append(f"explained: the share kept of what the clustering explains, which is {whole}{little}")
    if any(map(below_one, ratios)):
        notes.append("cost ratio below 1: the clustering is not the cheapest for these rows, and the tree's costs less")
    return notes


def advice(
    explained: float, reference_explained: float, own: str, *, chosen: bool, more_leaves: str | None = None
) -> str | None:
    """What to try where little is explained or kept; None where enough is, or nothing is known.

    ``chosen``: whether the clustering was made for low costs, with a number of clusters that can be chosen anew.
    ``more_leaves``: how to allow more leaves; None where that does not help.
    """
    if chosen and reference_explained < _EXPLAINS_LITTLE:
        return f"{own} explain little of this table: try another number of clusters, other columns or another scale"
    if not explained < _KEEPS_LITTLE or reference_explained < _EXPLAINS_LITTLE:
        return None
    steps = [f"allow more leaves ({more_leaves})"] * (more_leaves is not None)
    steps += ["try another number of clusters"] * chosen
    return f"the tree keeps little of what {own} explain: {', or '.join(steps)}" if steps else None
