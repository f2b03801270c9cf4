"""Names and conditions where people look at them, in pictures and pages: on one line, shortened, in plain signs.

Rules that are applied or parsed are written by ``words`` and ``conditions`` instead, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from .conditions import Condition
from .words import number

__all__ = ["ShortNames", "condition_text", "plain", "shorten"]

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
        if end < len(name) and name.find(" ", start + 1, end) >= 0:
            end = name.rindex(" ", start + 1, end)  # no half word behind what matters
        return f"{_ELLIPSIS}{name[begin:end].strip()}{_ELLIPSIS if end < len(name) else ''}"


def shorten(text: str, length: int) -> str:
    """At most so many characters: the middle gives way."""
    if len(text) <= length:
        return text
    kept = max(length - 1, 2)
    return text[: kept - kept // 2] + _ELLIPSIS + text[len(text) - kept // 2 :]


def condition_text(condition: Condition, name: str) -> str:
    """A condition with another name for its column; numbers stay whole."""
    low, high = number(condition.lower), number(condition.upper)
    # Spaces that do not break keep a number beside its sign.
    if condition.outside:
        return f"{name} ≤\u00a0{low} or >\u00a0{high}"
    if condition.lower == -math.inf:
        return f"{name} ≤\u00a0{high}"
    if condition.upper == math.inf:
        return f"{name} >\u00a0{low}"
    return f"{low}\u00a0< {name} ≤\u00a0{high}"
