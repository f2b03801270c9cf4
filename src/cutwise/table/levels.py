"""Levels of categories and their codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .convert import is_missing

MOST_LEVELS = 254
"""A code fits a byte, and one is left for all levels beyond these."""


def distinct_items(items: Sequence[Any]) -> tuple[npt.NDArray[np.intp], list[Any]]:
    """The position of every item among the distinct ones, shape (len(items),), and these: None for what is missing."""
    known = {item: None if is_missing(item) else item for item in dict.fromkeys(items)}  # NaN need not be one
    place = {item: i for i, item in enumerate(dict.fromkeys(known.values()))}
    number = {item: place[own] for item, own in known.items()}
    return np.fromiter(map(number.__getitem__, items), dtype=np.intp, count=len(items)), list(place)


def plain_level(item: Any) -> Any:
    """A level as a plain value: a number, whole ones without a fraction, or the text of anything else."""
    if item is None:
        return None
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, float) and item.is_integer():
        return int(item)
    return item if isinstance(item, str | int | float) else str(item)


def levels_by_weight(
    items: Sequence[Any], weight: npt.NDArray[np.float64], order: Sequence[Any] | None = None
) -> tuple[tuple[Any, ...], bool]:
    """The levels of a column, in ``order`` or else sorted, and whether rare ones are not among them.

    ``weight``: of the rows of each of the different items. A missing value is the level None, the last one. Levels are
    those of rows with a weight; of more than ``MOST_LEVELS`` the heaviest, of equals the first.
    """
    mass: dict[Any, float] = {}
    for level, w in zip(map(plain_level, items), weight.tolist(), strict=True):
        if w > 0:
            mass[level] = mass.get(level, 0) + w
    known = [level for level in mass if level is not None]
    if order is not None:
        present = set(known)
        ordered = [level for level in map(plain_level, order) if level in present]
    else:
        try:
            ordered = sorted(known)
        except TypeError:
            ordered = sorted(known, key=str)
    ordered += [None] if None in mass else []
    if len(ordered) <= MOST_LEVELS:
        return tuple(ordered), False
    heaviest = sorted(range(len(ordered)), key=lambda i: (-mass[ordered[i]], i))[:MOST_LEVELS]
    return tuple(ordered[i] for i in sorted(heaviest)), True


def code_levels(
    codes: npt.NDArray[np.intp], distinct: Sequence[Any], levels: Sequence[Any]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The position of every item among the levels, ``len(levels)`` for none of them; and which distinct are none."""
    position = {level: i for i, level in enumerate(levels)}
    found = np.array([position.get(level, len(levels)) for level in map(plain_level, distinct)], dtype=np.float64)
    return found[codes], found == len(levels)
