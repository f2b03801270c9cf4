"""One condition on one column, and the tests along a path merged into as few of them as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cutwise.table.convert import as_dense
from cutwise.table.table import NUMBER, WHOLE_BELOW, ColumnKind, Columns, Table, next_whole
from cutwise.tree.threshold_tree import NodeTest, ThresholdTree

from .words import as_json, finite, levels_text, quoted, value_text


@dataclass(frozen=True)
class Condition:
    """A condition on one column: inside an interval or a set of levels, or outside of it.

    ``feature``: the column's position. ``name``: the column's name. ``lower``, ``upper``: ``lower < x <= upper``;
    infinite where that side is open. ``lower >= upper`` holds for no value. ``outside``: the complement: ``x <= lower
    or x > upper``, both finite, or any known value except the levels. ``levels``: codes of levels, instead of bounds.
    ``unknown``: whether it also holds for a missing number; a missing level is a level. Empty ``levels`` with
    ``unknown``: the value is missing; with ``outside``: the value is known. ``kind``: kind of the column.

    Text for people says ``children = 0`` if 0 is the only value inside the bounds in the range of fit; code and SQL use
    the bounds, which place an unseen value such as -1 with its neighbors.
    """

    feature: int
    name: str
    lower: float = -math.inf
    upper: float = math.inf
    outside: bool = False
    levels: tuple[int, ...] | None = None
    unknown: bool = False
    kind: ColumnKind = field(default=NUMBER, repr=False)

    @property
    def size(self) -> int:
        """Contribution to the explanation size: 1 for each finite bound, 1 for an outside, and 1 for levels."""
        if self.outside or self.levels is not None:
            return 1
        return int(self.lower > -math.inf) + int(self.upper < math.inf)

    def holds(self, values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether the condition holds, value by value, compared as float64.

        ``values``: values of the column.
        """
        x = np.asarray(values).astype(np.float64, copy=False)
        inside = (x > self.lower) & (x <= self.upper) if self.levels is None else np.isin(x, self.levels)
        return np.where(np.isnan(x), self.unknown, ~inside if self.outside else inside)

    @property
    def matching_levels(self) -> list[int]:
        """Codes of the levels for which the condition holds."""
        matching: list[int] = np.flatnonzero(self.holds(np.arange(len(self.kind.levels or ())))).tolist()
        return matching

    def to_dict(self) -> dict[str, Any]:
        """The condition as values for JSON; ``None`` is an open side, or a missing level."""
        entries = {
            "feature": self.feature,
            "name": self.name,
            "lower": finite(self.lower),
            "upper": finite(self.upper),
            "outside": self.outside,
        }
        if self.levels is not None:
            entries["levels"] = [as_json((self.kind.levels or ())[code]) for code in self.levels]
        return entries | ({"unknown": self.unknown} if self.kind.has_gaps else {})

    def __str__(self) -> str:
        return self.written(quoted(self.name))

    def written(self, name: str, *, by_bounds: bool = False) -> str:
        """Write the condition with ``name`` for its column; ``by_bounds``: by bounds, also for a single value."""
        if self.levels is not None:
            return self._written_levels(name)
        kind, unknown = self.kind, " or unknown" if self.unknown else ""
        if not by_bounds and (only := self.only_value) is not None:
            text = f"{name} {'!=' if self.outside else '='} {value_text(kind, only)}"
            return f"({text}{unknown})" if unknown else text

        def within(lower: float, upper: float) -> str:
            written = next_whole if kind.name == "date" else float  # bounds of dates are written a step later
            return interval_text(name, lower, upper, kind, lambda end: value_text(kind, written(end)))

        if self.outside:
            return f"({within(-math.inf, self.lower)} or {within(self.upper, math.inf)}{unknown})"
        text = within(self.lower, self.upper)
        if kind.name == "bool" and not (self.lower > -math.inf and self.upper < math.inf):
            text = f"{name} is {'true' if self.lower > -math.inf else 'false'}"
        return f"({text}{unknown})" if unknown else text

    @property
    def only_value(self) -> float | None:
        """The only level it names, or only whole number in its bounds and the range of fit; None if not just one."""
        kind = self.kind
        if self.levels is not None:
            return float(self.levels[0]) if len(self.levels) == 1 else None
        if kind.name not in ("integer", "ordered"):
            return None
        every = (-math.inf, math.inf) if kind.levels is None else (0.0, len(kind.levels) - 1.0)
        least, most = kind.extent or every
        low, high = max(next_whole(self.lower), least), min(float(np.floor(self.upper)), most)
        return high if low == high and abs(high) < WHOLE_BELOW else None

    def _written_levels(self, name: str) -> str:
        levels = self.levels or ()
        text = levels_text(self.kind, levels) or "unknown"
        if text == "unknown":
            return f"{name} is {'known' if self.outside else 'unknown'}"
        if len(levels) > 1:
            return f"{name} {'not in' if self.outside else 'in'} {{{text}}}"
        return f"{name} {'!=' if self.outside else '='} {text}"


def interval_text(name: str, lower: float, upper: float, kind: ColumnKind, write: Callable[[float], str]) -> str:
    """Write ``lower < name <= upper`` without infinite ends; ``write``: writes an end, of dates the first beyond."""
    up_to, below, above = ("<", "<=", ">=") if kind.name == "date" else ("<=", "<", ">")
    if lower == -math.inf:
        return f"{name} {up_to} {write(upper)}"
    if upper == math.inf:
        return f"{name} {above} {write(lower)}"
    return f"{write(lower)} {below} {name} {up_to} {write(upper)}"


class Region(NamedTuple):
    """Numbers of one column that pass the tests of a path: ``lower < x <= upper`` except some intervals ``(a, b]``.

    ``unknown``: whether a missing value passes.
    """

    lower: float = -math.inf
    upper: float = math.inf
    excluded: tuple[tuple[float, float], ...] = ()  # sorted, not touching, strictly between the bounds
    unknown: bool = True

    @property
    def size(self) -> int:
        """Number of bounds and excluded intervals; 1 where the value only has to be known, or missing."""
        if self.lower >= self.upper:
            return 1 if self.unknown else 2
        bounds = int(self.lower > -math.inf) + int(self.upper < math.inf) + len(self.excluded)
        return bounds if bounds or self.unknown else 1

    @property
    def is_empty(self) -> bool:
        """Whether no value passes."""
        return self.lower >= self.upper and not self.unknown

    def parts(self) -> list[tuple[float, float]]:
        """The intervals ``lower < x <= upper`` that the region consists of, from left to right."""
        if self.lower >= self.upper:
            return []
        starts = [self.lower, *(b for _, b in self.excluded)]
        ends = [*(a for a, _ in self.excluded), self.upper]
        return list(zip(starts, ends, strict=True))

    def holds(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Whether each value passes."""
        found = np.isnan(values) & self.unknown
        for lower, upper in self.parts():
            found |= (values > lower) & (values <= upper)
        return found

    def inside(self, lower: float, upper: float) -> Region:
        """The part with ``lower < x <= upper``; ``unknown`` does not change."""
        return self._normal(max(self.lower, lower), min(self.upper, upper), self.excluded)

    def outside(self, lower: float, upper: float) -> Region:
        """The part without ``lower < x <= upper``; ``unknown`` does not change."""
        return self._normal(self.lower, self.upper, (*self.excluded, (lower, upper)))

    def passing(self, test: NodeTest, *, inside: bool) -> Region:
        """The part on one side of a test."""
        if test.levels is not None:
            found = self.inside(math.inf, -math.inf) if inside else self
        elif inside:
            found = self.inside(test.lower, test.threshold)
        elif test.is_interval:
            found = self.outside(test.lower, test.threshold)
        else:
            found = self.inside(test.threshold, math.inf)
        return found._replace(unknown=self.unknown and test.unknown == inside)

    def conditions(self, feature: int, name: str, kind: ColumnKind) -> list[Condition]:
        """The fewest conditions that describe the region: its bounds, then each excluded interval."""
        unknown = self.unknown and kind.has_gaps
        if self.lower >= self.upper and unknown:
            return [Condition(feature, name, levels=(), unknown=True, kind=kind)]
        found = []
        if self.lower > -math.inf or self.upper < math.inf:
            found.append(Condition(feature, name, self.lower, self.upper, unknown=unknown, kind=kind))
        for a, b in self.excluded:
            found.append(Condition(feature, name, a, b, outside=True, unknown=unknown, kind=kind))
        return found or [Condition(feature, name, outside=True, levels=(), kind=kind)]

    def _normal(self, lower: float, upper: float, excluded: Sequence[tuple[float, float]]) -> Region:
        """Move bounds over excluded intervals that touch them, merge touching intervals, drop those out of bounds."""
        merged: list[tuple[float, float]] = []
        for a, b in sorted(excluded):
            if a <= lower:
                lower = max(lower, b)
            elif merged and a <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
            else:
                merged.append((a, b))
        merged = [(a, b) for a, b in merged if lower < a < upper]
        if merged and merged[-1][1] >= upper:
            upper = merged.pop()[0]
        return Region(lower, upper, tuple(merged) if lower < upper else (), self.unknown)


class Levels(NamedTuple):
    """Levels of one column that pass the tests of a path: ``codes`` or, if ``outside``, all others, unseen ones too."""

    codes: tuple[int, ...] = ()
    outside: bool = True

    @property
    def size(self) -> int:
        """Always 1."""
        return 1

    @property
    def is_empty(self) -> bool:
        """Whether no value passes."""
        return not self.outside and not self.codes

    def holds(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Whether each code passes."""
        return np.isin(values, self.codes, invert=self.outside)

    def passing(self, test: NodeTest, *, inside: bool) -> Levels:
        """The part on one side of a test."""
        own, named = set(self.codes), set(test.levels or ())
        if inside:
            return Levels(tuple(sorted(named - own if self.outside else named & own)), outside=False)
        return Levels(tuple(sorted(own | named if self.outside else own - named)), self.outside)

    def conditions(self, feature: int, name: str, kind: ColumnKind) -> list[Condition]:
        """The one condition that describes the levels, in a list."""
        return [Condition(feature, name, outside=self.outside, levels=self.codes, kind=kind)]


def all_values(test: NodeTest) -> Region | Levels:
    """All values of a column, before its first test."""
    return Levels() if test.levels else Region()


def walk_leaves(tree: ThresholdTree) -> Iterator[tuple[int, Mapping[int, Region | Levels]]]:
    """Walk the leaves from left to right, each with the tests of its path merged by column.

    Yields ``leaf``: node number. ``regions``: by column, the values that pass, in the order in which the path first
    tests the columns.
    """
    is_leaf = (tree.feature < 0).tolist()
    return ((node, regions) for node, regions in _walk(tree) if is_leaf[node])


def _walk(tree: ThresholdTree) -> Iterator[tuple[int, Mapping[int, Region | Levels]]]:
    """``walk_leaves`` for all nodes; the regions of an inner node change when the walk goes on."""
    is_leaf = (tree.feature < 0).tolist()
    regions_of: dict[int, dict[int, Region | Levels]] = {}
    for node, parent in enumerate(tree.parents.tolist()):
        regions: dict[int, Region | Levels] = {}
        if parent >= 0:
            test, inside = tree.test(parent), node == parent + 1
            regions = dict(regions_of[parent]) if inside else regions_of.pop(parent)
            regions[test.feature] = (regions.get(test.feature) or all_values(test)).passing(test, inside=inside)
        if not is_leaf[node]:
            regions_of[node] = regions
        yield node, regions


def is_reachable(regions: Mapping[int, Region | Levels]) -> bool:
    """Whether any row can pass all regions of a path."""
    return not any(region.is_empty for region in regions.values())


def conditions_of(regions: Mapping[int, Region | Levels], columns: Columns) -> tuple[Condition, ...]:
    """The fewest conditions that describe regions.

    ``columns``: of the table. Returns ``conditions``: in the order of ``regions``: a column's bounds first, then each
    of its excluded intervals.
    """
    return tuple(
        condition
        for column, region in regions.items()
        for condition in region.conditions(column, columns.names[column], columns.kinds[column])
    )


def path_rule(path: Iterable[tuple[NodeTest, bool]], columns: Columns) -> str:
    """Write the tests of a path, each with whether a row is inside, as one rule."""
    regions: dict[int, Region | Levels] = {}
    for test, inside in path:
        regions[test.feature] = (regions.get(test.feature) or all_values(test)).passing(test, inside=inside)
    return " and ".join(map(str, conditions_of(regions, columns)))


def explanation_sizes(tree: ThresholdTree) -> npt.NDArray[np.int64]:
    """Explanation size of every leaf: conditions on its path when only the tightest of each kind counts.

    Returns ``sizes`` (n_leaves,) int64: in the order of ``tree.leaves``. Conditions are counted by column and
    direction; the inside of an interval counts as one lower and one upper bound, its outside as one, and all tests on
    the levels of a column as one.

    Laber, Murtinho, Oliveira (2023), *Shallow decision trees for explainable k-means clustering*: explanation size.
    """
    return node_explanation_sizes(tree)[tree.leaves]


def node_explanation_sizes(tree: ThresholdTree) -> npt.NDArray[np.int64]:
    """``explanation_sizes`` of all nodes, as if each was a leaf: (n_nodes,) int64."""
    return np.array([sum(region.size for region in regions.values()) for _, regions in _walk(tree)], dtype=np.int64)


def column_of(table: Table, column: int) -> npt.NDArray[np.generic]:
    """Read one column; shape (n_rows,), dense, in the table's dtype."""
    return as_dense(table.values[:, [column]])[:, 0]
