"""ExShallow*: search for a depth penalty that meets targets of cost and of explanation size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

FIRST_PENALTY = 0.03
"""The first penalty of a search, and the default of ``depth_penalty``."""

MOST_STEPS = 20
"""Maximum number of trees that a search grows."""

_SAME_PENALTY = 1.01
"""Halving stops when the ends of the interval are within one per cent of each other."""

_SMALLEST_PENALTY = 1e-6
"""Smaller penalties do little more than break ties: 0 is tried instead."""

_NEIGHBORHOOD = 1.5
"""Factor around the best penalty within which intervals are halved first at the end of a search."""

# Equal partitions may cost differently in the last digits.
_TARGET_TOLERANCE = 1e-12


@dataclass(frozen=True)
class PenaltySearch:
    """The result of a search for the depth penalty.

    ``depth_penalty``: the penalty of the chosen tree, from 0 to 1. ``cost``, ``waes``: its cost, each cluster with its
    own center, and the average number of conditions in a row's explanation. ``target_cost``, ``target_waes``: the upper
    limits of both. ``reached``: whether the chosen tree meets both targets. ``steps``: penalty, cost and explanation
    size of every tree, in the order they were grown.
    """

    depth_penalty: float
    cost: float
    waes: float
    target_cost: float
    target_waes: float
    reached: bool
    steps: tuple[tuple[float, float, float], ...]


def search_penalty(
    judge: Callable[[float], tuple[float, float]], target_cost: float, target_waes: float
) -> PenaltySearch:
    """Search for a penalty: lower where a tree costs too much, higher where its explanations are too long.

    ``judge``: grows a tree with a penalty, and returns its cost and the size of its explanations.

    A binary search that halves ratios, since useful penalties span decades. From 0.03 it steps up to 0.17, the
    geometric middle of 0.03 and 1, or down by the same factor until a tree meets the cost target; 0 is tried last. If
    cost rose and size fell steadily with the penalty, halving would find any interval of penalties that meets both
    targets, is wider than 1 % and lies above a millionth. Trees do so only roughly: if halving fails, the other steps
    halve the widest intervals between different trees, first near the best penalty. The result is the tree with the
    shortest explanations among those that meet the cost target, else the cheapest (Laber, Murtinho, Oliveira 2023,
    Section 4.4).
    """
    tried: dict[float, tuple[float, float]] = {}
    best: tuple[tuple[bool, float, float], float] | None = None
    low, high, reached = 0.0, 1.0, False
    penalty: float | None = FIRST_PENALTY
    while penalty is not None and not reached and len(tried) < MOST_STEPS:
        cost, waes = tried[penalty] = judge(penalty)
        cheap = cost <= target_cost * (1 + _TARGET_TOLERANCE)
        reached = cheap and waes <= target_waes * (1 + _TARGET_TOLERANCE)
        rank = (not cheap, waes, cost) if cheap else (not cheap, cost, waes)
        if reached or best is None or rank < best[0]:
            best = rank, penalty
        if low < penalty < high:
            low, high = (penalty, high) if cheap else (low, penalty)
        penalty = _halfway(tried, low, high)
        if penalty is None:
            penalty = _around(tried, best[1])
    assert best is not None
    steps = tuple((penalty, *judged) for penalty, judged in tried.items())
    return PenaltySearch(best[1], *tried[best[1]], target_cost, target_waes, reached, steps)


def _halfway(tried: dict[float, tuple[float, float]], low: float, high: float) -> float | None:
    """The geometric middle of the interval, then an end that was not tried; None if nothing is left."""
    below = high * math.sqrt(FIRST_PENALTY)  # 0 has no logarithm: steps down have the factor of the first step up
    if low == 0.0 and below >= _SMALLEST_PENALTY:
        return below
    if low > 0.0 and high > _SAME_PENALTY * low:
        return math.sqrt(low * high)
    return next((end for end in (low, high) if end not in tried), None)


def _around(tried: dict[float, tuple[float, float]], best: float) -> float | None:
    """The middle of the widest interval between two different trees, preferably near the best penalty."""
    intervals = [
        (low < best * _NEIGHBORHOOD and best < high * _NEIGHBORHOOD, high / low, low, high)
        for low, high in pairwise(sorted({*tried, 1.0}))
        if low > 0.0 and tried[low] != tried.get(high) and low < math.sqrt(low * high) < high
    ]
    if not intervals:
        return None
    *_, low, high = max(intervals)
    return math.sqrt(low * high) if high in tried else high
