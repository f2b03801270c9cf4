"""One condition on one column, and the tests along a path merged into as few of them as possible."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cutwise.table import Table, as_dense
from cutwise.tree.threshold_tree import ThresholdTree

from .words import finite, number, quoted

__all__ = ["Condition", "Region", "column_of", "conditions_of", "explanation_sizes", "walk_leaves"]


@dataclass(frozen=True)
class Condition:
    """A condition on one column: inside an interval, or outside of it.

    ``feature``: the column's position. ``name``: the column's name. ``lower``, ``upper``: ``lower < x <= upper``;
    infinite where that side is open. ``lower >= upper`` holds for no value. ``outside``: the opposite: ``x <= lower or
    x > upper``, both finite.
    """

    feature: int
    name: str
    lower: float = -math.inf
    upper: float = math.inf
    outside: bool = False

    @property
    def size(self) -> int:
        """What the condition adds to an explanation: 1 for each finite bound, 1 for the outside of an interval."""
        return 1 if self.outside else int(self.lower > -math.inf) + int(self.upper < math.inf)

    def holds(self, values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether the condition holds, value by value, compared as float64.

        ``values``: values of the column.
        """
        x = np.asarray(values).astype(np.float64, copy=False)
        inside = (x > self.lower) & (x <= self.upper)
        return ~inside if self.outside else inside

    def to_dict(self) -> dict[str, Any]:
        """The condition as JSON can hold it; ``None`` stands for an open side."""
        return {
            "feature": self.feature,
            "name": self.name,
            "lower": finite(self.lower),
            "upper": finite(self.upper),
            "outside": self.outside,
        }

    def __str__(self) -> str:
        name = quoted(self.name)
        if self.outside:
            return f"({name} <= {number(self.lower)} or {name} > {number(self.upper)})"
        if self.lower == -math.inf:
            return f"{name} <= {number(self.upper)}"
        if self.upper == math.inf:
            return f"{name} > {number(self.lower)}"
        return f"{number(self.lower)} < {name} <= {number(self.upper)}"


class Region(NamedTuple):
    """The values of one column that a path lets through: ``lower < x <= upper`` without some intervals ``(a, b]``."""

    lower: float = -math.inf
    upper: float = math.inf
    excluded: tuple[tuple[float, float], ...] = ()  # in order, apart from each other, strictly between the bounds

    @property
    def size(self) -> int:
        """Bounds and excluded intervals, each counted once."""
        return int(self.lower > -math.inf) + int(self.upper < math.inf) + len(self.excluded)

    @property
    def is_empty(self) -> bool:
        """Whether no value is let through."""
        return self.lower >= self.upper

    def parts(self) -> list[tuple[float, float]]:
        """The intervals ``lower < x <= upper`` that the region consists of, from left to right."""
        starts = [self.lower, *(b for _, b in self.excluded)]
        ends = [*(a for a, _ in self.excluded), self.upper]
        return list(zip(starts, ends, strict=True))

    def holds(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Whether each value is let through."""
        found = np.zeros(values.shape, dtype=np.bool_)
        for lower, upper in self.parts():
            found |= (values > lower) & (values <= upper)
        return found

    def inside(self, lower: float, upper: float) -> Region:
        """The part with ``lower < x <= upper``."""
        return _normal(max(self.lower, lower), min(self.upper, upper), self.excluded)

    def outside(self, lower: float, upper: float) -> Region:
        """The part without ``lower < x <= upper``."""
        return _normal(self.lower, self.upper, (*self.excluded, (lower, upper)))


def _normal(lower: float, upper: float, excluded: Sequence[tuple[float, float]]) -> Region:
    """Move the bounds over excluded intervals that touch them, join those that touch each other, drop the rest."""
    apart: list[tuple[float, float]] = []
    for a, b in sorted(excluded):
        if a <= lower:
            lower = max(lower, b)
        elif apart and a <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(b, apart[-1][1]))
        else:
            apart.append((a, b))
    apart = [(a, b) for a, b in apart if lower < a < upper]
    if apart and apart[-1][1] >= upper:
        upper = apart.pop()[0]
    return Region(lower, upper, tuple(apart) if lower < upper else ())


def walk_leaves(tree: ThresholdTree) -> Iterator[tuple[int, Mapping[int, Region], int]]:
    """Walk the leaves from left to right, each with its path's tests merged by column.

    Yields ``leaf``: node number. ``regions``: column to the values it may have, in the order in which the path first
    tests them. Valid until the next step. ``size``: the size of the explanation: the sum of the regions' sizes.

    One mapping is kept and changes are undone on the way back, so that a deep tree costs no more than its nodes.
    """
    parents, depth = tree.parents.tolist(), tree.node_depth.tolist()
    feature, threshold, lower = tree.feature.tolist(), tree.threshold.tolist(), tree.lower.tolist()
    regions: dict[int, Region] = {}
    changes: list[tuple[int, Region | None]] = []
    size = 0
    for node, parent in enumerate(parents):
        while len(changes) > max(depth[node] - 1, 0):
            column, before = changes.pop()
            size -= regions[column].size
            if before is None:
                del regions[column]  # it was the last to come in, so the order of the others stays
            else:
                size += before.size
                regions[column] = before
        if parent >= 0:
            column, t, a = feature[parent], threshold[parent], lower[parent]
            before = regions.get(column)
            region = before or Region()
            if node == parent + 1:
                region = region.inside(a, t)
            elif a == -math.inf:
                region = region.inside(t, math.inf)
            else:
                region = region.outside(a, t)
            changes.append((column, before))
            size += region.size - (before.size if before else 0)
            regions[column] = region
        if feature[node] < 0:
            yield node, regions, size


def conditions_of(regions: Mapping[int, Region], names: Sequence[str]) -> tuple[Condition, ...]:
    """The fewest conditions that say what the regions say.

    ``names``: the columns' names. Returns ``conditions``: in the order of ``regions``: a column's bounds first, then
    each of its excluded intervals.
    """
    found = []
    for column, region in regions.items():
        if region.lower > -math.inf or region.upper < math.inf:
            found.append(Condition(column, names[column], region.lower, region.upper))
        found += [Condition(column, names[column], a, b, outside=True) for a, b in region.excluded]
    return tuple(found)


def explanation_sizes(tree: ThresholdTree) -> npt.NDArray[np.int64]:
    """The number of conditions that are left on every leaf's path when only the tightest of each kind counts.

    Returns ``sizes`` (n_leaves,) int64: in the order of ``tree.leaves``. Conditions are counted by column and
    direction; the inside of an interval counts as one lower and one upper bound, its outside as one.

    Laber, Murtinho, Oliveira (2023), *Shallow decision trees for explainable k-means clustering*: explanation size.
    """
    return np.array([size for _, _, size in walk_leaves(tree)], dtype=np.int64)


def column_of(table: Table, column: int) -> npt.NDArray[np.generic]:
    """Read one column; shape (n_rows,), dense, in the table's dtype."""
    values: Any = table.values
    return as_dense(values[:, [column]])[:, 0] if table.is_sparse else np.asarray(values[:, column])
