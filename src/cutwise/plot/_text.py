"""Text in pictures: measured before it is drawn, shortened where it would not fit, and never read as mathematics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from cutwise.readouts.conditions import Condition
from cutwise.readouts.words import number

__all__ = ["ShortNames", "condition_text", "fit_text", "plain", "shorten", "text_width"]

_ELLIPSIS = "…"


def plain(text: object) -> str:
    """A name on one line, without characters that cannot be shown."""
    one_line = " ".join(str(text).split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in one_line)


class ShortNames:
    """Names shortened so that they can still be told apart, where that is possible at all.

    Parameters
    ----------
    names : sequence of str
        All the names that stand in one picture.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = [plain(name) for name in names]
        # In sorted order the name that shares most of its beginning with another stands next to it.
        order = sorted(range(len(names)), key=self._names.__getitem__)
        self._differs = [0] * len(names)
        for one, other in pairwise(order):
            shared = 0
            for a, b in zip(self._names[one], self._names[other], strict=False):
                if a != b:
                    break
                shared += 1
            for i in (one, other):
                self._differs[i] = max(self._differs[i], shared)

    def length(self, i: int) -> int:
        """Length of the whole name."""
        return len(self._names[i])

    def __call__(self, i: int, length: int) -> str:
        """The name in at most so many characters.

        The middle gives way, for most names differ at their ends; one that differs from its likes in the middle keeps
        that part instead.
        """
        name, start = self._names[i], self._differs[i]
        tail = max(length - 1, 2) // 2
        if len(name) <= length or start < length - 1 - tail or start >= len(name) - tail:
            return shorten(name, length)
        room = length - 2
        begin = max(start - 2 * room // 3, 0)  # what leads up to the difference says more than what follows
        space = name.find(" ", begin, start)
        if space >= 0:
            begin = space + 1
        begin = min(begin, len(name) - room)
        end = begin + room
        return f"{_ELLIPSIS}{name[begin:end].strip()}{_ELLIPSIS if end < len(name) else ''}"


def shorten(text: str, length: int) -> str:
    """At most so many characters: the middle gives way."""
    if len(text) <= length:
        return text
    kept = max(length - 1, 2)
    return text[: kept - kept // 2] + _ELLIPSIS + text[len(text) - kept // 2 :]


def text_width(text: str, size: float) -> float:
    """Width in inches of a text of a font size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width) / 72.0


def fit_text(write: Callable[[int], str], longest: int, width: float, size: float) -> str:
    """The longest of some texts that fits.

    Parameters
    ----------
    write : callable
        Gives the text with a name of at most so many characters.
    longest : int
        The name's own length.
    width : float
        Inches.
    size : float
        Font size in points.

    Returns
    -------
    text : str
        With a name of three characters where even that is too long.
    """
    if text_width(write(longest), size) <= width:
        return write(longest)
    low, high = 3, max(longest, 3)
    while low < high:  # the longest name that fits, by halving
        middle = (low + high + 1) // 2
        if text_width(write(middle), size) <= width:
            low = middle
        else:
            high = middle - 1
    return write(low)


def condition_text(condition: Condition, name: str) -> str:
    """A condition with another name for its column; numbers stay whole."""
    low, high = number(condition.lower), number(condition.upper)
    if condition.outside:
        return f"{name} ≤ {low} or > {high}"
    if condition.lower == -math.inf:
        return f"{name} ≤ {high}"
    if condition.upper == math.inf:
        return f"{name} > {low}"
    return f"{low} < {name} ≤ {high}"
