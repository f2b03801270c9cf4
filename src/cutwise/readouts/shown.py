"""Names, conditions and colors of clusters for pictures and pages: shortened, with typographic signs.

``words`` and ``conditions`` write the exact rules, which are applied or parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise

from .conditions import Condition
from .words import levels_text, quoted

_ELLIPSIS = "…"
_MOST_IN_PICTURES = 4
MOST_SHOWN = 6
"""Levels of a set that are shown to people; programs and files get all."""


# Names come from files: their characters must not control a terminal, nor change the direction of text.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

_RTL = (
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"  # Hebrew, Arabic and others
)
_QUOTED_OR_RTL = re.compile(rf"(`(?:[^`]|``)*`|{_RTL}\w*(?:[ '\"-]{{1,2}}(?:{_RTL}\w*|\d+\b))*)")


def harmless(text: str) -> str:
    """Escape the control characters of a text, except line breaks and tabs."""
    return _CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def html_text(text: str, write: Callable[[str], str] = escape, isolate: tuple[str, str] = ("<bdi>", "</bdi>")) -> str:
    """Convert text to HTML, with names in a right-to-left script isolated: the signs around them keep their places.

    ``write``: escapes a part. ``isolate``: marks before and after such a name.
    """
    parts = [write(part) for part in _QUOTED_OR_RTL.split(harmless(text))]
    return "".join(f"{isolate[0]}{part}{isolate[1]}" if re.search(_RTL, part) else part for part in parts)


def plain(text: object) -> str:
    """Write a name on one line, with unprintable characters escaped."""
    one_line = " ".join(str(text).split())
    if one_line.isprintable():
        return one_line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in one_line)


class ShortNames:
    """Names shortened so that they remain distinct, where possible.

    ``names``: all names of one picture.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = [plain(name) for name in names]
        # In sorted order, the names with the longest common beginning are neighbors.
        order = sorted(range(len(names)), key=self._names.__getitem__)
        self._differs = [0] * len(names)
        for one, other in pairwise(order):
            pair = self._names[one], self._names[other]
            shared = next((i for i, (a, b) in enumerate(zip(*pair, strict=False)) if a != b), min(map(len, pair)))
            for i in (one, other):
                self._differs[i] = max(self._differs[i], shared)

    def length(self, i: int) -> int:
        """Length of the whole name."""
        return len(self._names[i])

    def __call__(self, i: int, length: int) -> str:
        """Shorten name ``i`` to at most ``length`` characters.

        The middle is cut, since most names differ at their ends; a name that differs from similar ones in the middle
        keeps that part instead.
        """
        name, start = self._names[i], self._differs[i]
        tail = max(length - 1, 2) // 2
        if len(name) <= length or start < length - 1 - tail or start >= len(name) - tail:
            return shorten(name, length)
        room = length - 2
        begin = max(start - 2 * room // 3, 0)  # more of the text before the difference than after it
        space = name.find(" ", begin, start)
        if space >= 0:
            begin = space + 1
        begin = min(begin, len(name) - room)
        end = begin + room
        if end < len(name) and name.find(" ", start + 1, end) >= 0:
            end = name.rindex(" ", start + 1, end)  # no half word after the difference
        return f"{_ELLIPSIS}{name[begin:end].strip()}{_ELLIPSIS if end < len(name) else ''}"


def shorten(text: str, length: int) -> str:
    """Shorten a text to at most ``length`` characters by cutting its middle."""
    if len(text) <= length:
        return text
    room = max(length - 1, 2)
    return text[: room - room // 2] + _ELLIPSIS + text[len(text) - room // 2 :]


def condition_text(condition: Condition, name: str) -> str:
    """Write a condition with ``name`` for its column; numbers are not shortened."""
    if condition.levels is not None:
        return shortened(condition, name, _MOST_IN_PICTURES)
    text = condition.written("\0")
    # Spaces that do not break keep a number beside its sign.
    for sign, plain_sign in ((" <= ", " ≤\u00a0"), (" >= ", " ≥\u00a0"), (" > ", " >\u00a0"), (" < ", "\u00a0< ")):
        text = text.replace(sign, plain_sign)
    if text.startswith("(") and not condition.unknown:
        text = text[1:-1].replace(" or \0", " or")
    return text.replace("\0", name)


def shortened(condition: Condition, name: str | None = None, most: int = MOST_SHOWN) -> str:
    """Write a condition as rules do; of more than ``most`` levels the first ones and the number of others."""
    name, levels = quoted(condition.name) if name is None else name, condition.levels or ()
    if len(levels) <= most:
        return condition.written(name)
    first = levels_text(condition.kind, levels[: most - 1])
    return f"{name} {'not in' if condition.outside else 'in'} {{{first} and {len(levels) - most + 1:,} more}}"


# Colors of clusters, the same in every plot and report, told apart with any kind of color vision.
# The first six are those of Okabe and Ito (2008). The others were added one by one, each the color furthest from all
# before it, where the distance of two colors is the least that people with normal vision, without red, green or blue
# cones see (Machado, Oliveira, Fernandes 2009; distances in OKLab). All stand out from white and from near black.
# fmt: off
COLORS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#841830", "#3cf0c0", "#0c00d8", "#6c1884",
    "#9c6cfc", "#84546c", "#d8d860", "#c01800", "#90c084", "#b4ccfc", "#8424fc", "#cc0ca8", "#7890d8", "#606030",
    "#f06078", "#78cccc", "#846c54", "#783c78", "#4824a8", "#d88418", "#8460d8", "#fc84fc", "#6048cc", "#6c6090",
)
# fmt: on
"""Thirty colors; further clusters reuse them, so a name or number always stands beside a color."""

DARK, LIGHT = "#111418", "#ffffff"


def cluster_color(code: int) -> str:
    """The color of a cluster.

    ``code``: its code in the tree, from 0. Returns ``color``: ``#rrggbb``.
    """
    return COLORS[code % len(COLORS)]


def ink_on(color: str) -> str:
    """Black or white, whichever is easier to read on a color.

    ``color``: ``#rrggbb``. Returns ``ink``: the one with the larger contrast ratio by the Web Content Accessibility
    Guidelines (WCAG 2).
    """
    luminance = _luminance(color)
    on_light = 1.05 / (luminance + 0.05)
    on_dark = (luminance + 0.05) / (_luminance(DARK) + 0.05)
    return LIGHT if on_light >= on_dark else DARK


def _luminance(color: str) -> float:
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
