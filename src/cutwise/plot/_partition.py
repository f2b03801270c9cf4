"""Two columns as a map: the regions that a tree cuts them into, with the rows on top."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from cutwise.estimators import TreeEstimator
from cutwise.exceptions import InvalidInputError, listed
from cutwise.plot.base import (
    Display,
    Inks,
    fit_text,
    labeled_tree,
    make_room,
    read_rows,
    size_in_inches,
    text_width,
    tint,
)
from cutwise.readouts.conditions import Levels, Region, column_of, walk_leaves
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.shown import cluster_color, plain, shorten
from cutwise.readouts.words import rows, value_text
from cutwise.table.convert import is_missing
from cutwise.table.instants import CALENDAR, MICROSECONDS, instant_of
from cutwise.table.intake import find_columns
from cutwise.table.mixed import RawColumn, raw_column, values_by_kind
from cutwise.table.table import NUMBER, ColumnKind, Columns
from cutwise.tree.threshold_tree import ThresholdTree

_Floats: TypeAlias = npt.NDArray[np.float64]
_MAX_ROWS = 5_000
_STEPS = {"day": (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 20_000), "h": (1, 2, 3, 6, 12)}
_STEPS |= dict.fromkeys(("min", "s"), (1, 2, 5, 10, 15, 30)) | dict.fromkeys(
    ("ms", "us"), (1, 2, 5, 10, 20, 50, 100, 200, 500)
)


@dataclass(eq=False, repr=False)
class PartitionDisplay(Display):
    """The rectangles into which a tree cuts two columns, where its other columns are fixed at one value each.

    Parameters
    ----------
    tree : ThresholdTree
    columns : tuple of two int
        The columns along and up.
    names : tuple of two str
        Their names.
    titles : sequence of str, one a cluster
    points : ndarray of shape (n, 2), float64
        The rows in these columns.
    codes : ndarray of shape (n,), int
        The cluster that colors each row; -1 for noise.
    of_reference : bool
        Whether these are the reference's clusters, not the tree's.
    fixed : mapping of int to float, default={}
        The values, or codes of levels, at which the other columns of the tree are fixed.
    is_shown : ndarray of shape (n,), bool, default=None
        The rows that the tree places alike with those values; None for all.
    caption : sequence of str, default=()
        What is said of both: every value, then how many rows. Of many values the first are drawn, and how many more.
    kinds : tuple of two ColumnKind
        What the columns along and up hold; numbers when left out.

    Attributes
    ----------
    rectangles_ : ndarray of shape (n_rectangles, 4), float64
        Left, right, bottom and top of every rectangle, within the limits of the picture. Sides of whole numbers, dates
        and levels lie half a step behind the last one.
    rectangle_cluster_ : ndarray of shape (n_rectangles,), int32
        The cluster code of each.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    tree: ThresholdTree
    columns: tuple[int, int]
    names: tuple[str, str]
    titles: list[str]
    points: _Floats
    codes: npt.NDArray[np.integer]
    of_reference: bool = False
    fixed: Mapping[int, float] = field(default_factory=dict)
    is_shown: npt.NDArray[np.bool_] | None = None
    caption: Sequence[str] = ()
    kinds: tuple[ColumnKind, ColumnKind] = (NUMBER, NUMBER)
    rectangles_: Any = field(default=None, init=False)
    rectangle_cluster_: Any = field(default=None, init=False)

    @classmethod
    def from_estimator(
        cls,
        model: TreeEstimator,
        X: Any,
        *,
        columns: Any = None,
        fixed: Mapping[Any, Any] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the regions of a fitted model, and rows.

        Parameters
        ----------
        model : estimator of cutwise
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The rows. Those of fit are colored by their reference cluster, so that color and region differ where the
            tree strays from it; others by the tree's.
        columns : pair of int or str, default=None
            The columns along and up, by position or name, of numbers, dates, durations, truth values or levels in an
            order, without gaps. None takes those whose tests see most rows.
        fixed : mapping of int or str to value, default=None
            A value for other columns that the tree tests, by position or name: a number, a level, a date (also as text:
            ``"2024-03-01"``) or a duration, None for a missing one; the median of the rows, or their most frequent
            level, for those not named. Drawn are the leaves that these values lead to, and all of their rows, also
            those of other values; the caption says how many.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : PartitionDisplay

        Raises
        ------
        InvalidInputError
            A column that is not there, or that has no axis, or a value that is none of its column.
        MissingDependencyError
            matplotlib is not installed.
        """
        labeled = labeled_tree(model)
        across, up = _two_columns(labeled, columns)
        table = read_rows(model, X)
        for column in (across, up):
            if (kind := labeled.columns.kinds[column]).places_missing:
                what = "has missing values" if kind.has_gaps else "holds categories"
                raise InvalidInputError(
                    f"A map has no axis for {labeled.columns.describe(column)}, which {what}. Draw two others "
                    "(columns=), or the tree instead: TreeDisplay.from_estimator(model)."
                )
        if fixed is not None and not isinstance(fixed, Mapping):
            raise InvalidInputError(f"fixed is {fixed!r}. Give values by column, such as {{'age': 40}}.")
        given = {_position(labeled, column, "fixed"): value for column, value in (fixed or {}).items()}
        given = {column: _fixed_value(labeled.columns, column, value) for column, value in given.items()}
        if both := [column for column in given if column in (across, up)]:
            raise InvalidInputError(
                f"fixed: {labeled.columns.describe(both[0])} is drawn, so it has all its values. Fix others, or draw "
                "others (columns=)."
            )
        at = {
            column: given[column]
            if column in given
            else _middle(column_of(table, column), labeled.columns.kinds[column])
            for column in dict.fromkeys(labeled.tree.feature[labeled.tree.feature >= 0].tolist())  # the first tests'
            if column not in (across, up)
        }
        tree, counts = labeled.tree, labeled.counts
        codes, leaf = np.asarray(model.reference_.labels), tree.apply(table)
        in_leaves = np.bincount(leaf, minlength=tree.n_nodes)[tree.leaves]
        of_reference = len(codes) == table.n_rows and counts is not None and counts.are_of(in_leaves)
        if not of_reference:
            codes = tree.cluster[leaf]
        points = np.column_stack([column_of(table, c).astype(np.float64) for c in (across, up)])
        is_shown = np.isin(leaf, [number for number, regions in walk_leaves(tree) if _is_cut(regions, at)])
        caption = []
        if at:
            kind_of = labeled.columns.kinds
            caption = [f"{shorten(plain(labeled.names[c]), 30)} = {_written(kind_of[c], v)}" for c, v in at.items()]
            caption.append(f"{np.count_nonzero(is_shown):,} of {rows(table.n_rows)} in these leaves")
        names = labeled.names[across], labeled.names[up]
        titles = list(map(str, labeled.titles))
        kinds = labeled.columns.kinds[across], labeled.columns.kinds[up]
        drawn = cls(tree, (across, up), names, titles, points, codes, of_reference, at, is_shown, caption, kinds)
        return drawn.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : PartitionDisplay
        """
        ax, inks = self._start(ax, 7.6, 5.4)
        limits = [_limits(self.points[:, axis], self.kinds[axis]) for axis in (0, 1)]
        units = np.array([MICROSECONDS["day"] if kind.unit == "microsecond" else 1.0 for kind in self.kinds])
        self.rectangles_, self.rectangle_cluster_ = self._rectangles(limits)
        for (left, right, bottom, top), code in zip(
            (self.rectangles_ / units.repeat(2)).tolist(), self.rectangle_cluster_.tolist(), strict=True
        ):
            corners, color = ([left, left, right, right], [bottom, top, top, bottom]), cluster_color(code)
            ax.fill(*corners, facecolor=tint(color, 0.3, inks.ground), edgecolor=inks.ground, linewidth=0.8, zorder=1)
        alike = np.flatnonzero(np.ones(len(self.points), dtype=bool) if self.is_shown is None else self.is_shown)
        # Every so many rows of a long table: more would only hide the regions.
        shown = alike[np.linspace(0, len(alike) - 1, min(len(alike), _MAX_ROWS)).astype(np.intp)]
        points, codes = self.points[shown] / units, np.asarray(self.codes)[shown]
        size = float(np.clip(3000 / max(len(shown), 1), 5, 26))
        colors = [cluster_color(code) if code >= 0 else inks.ground for code in codes.tolist()]
        edges = np.where(codes >= 0, inks.ground, inks.text).tolist()
        ax.scatter(*points.T, s=size, c=colors, edgecolors=edges, linewidths=0.4, zorder=3)
        ax.set_xlim(*limits[0] / units[0])
        ax.set_ylim(*limits[1] / units[1])
        for spine in ax.spines.values():
            spine.set_color(inks.rule)
        for axis, kind, room in zip((ax.xaxis, ax.yaxis), self.kinds, size_in_inches(ax), strict=True):
            _set_ticks(axis, kind, room)
        self._surround(ax, inks, {*self.rectangle_cluster_.tolist(), *codes.tolist()})
        return self

    def _rectangles(self, limits: list[_Floats]) -> tuple[_Floats, npt.NDArray[np.int32]]:
        found, clusters = [], []
        for leaf, regions in walk_leaves(self.tree):
            if not _is_cut(regions, self.fixed):
                continue
            across, up = (
                _within(regions.get(c, Region()), limits[axis], 0.5 * self.kinds[axis].is_integer)
                for axis, c in enumerate(self.columns)
            )
            for left, right in across:
                for bottom, top in up:
                    found.append((left, right, bottom, top))
                    clusters.append(int(self.tree.cluster[leaf]))
        return np.array(found, dtype=np.float64).reshape(-1, 4), np.array(clusters, dtype=np.int32)

    def _surround(self, ax: Any, inks: Inks, present: set[int]) -> None:
        """What stands around the map: the clusters beside it, and a caption and names no wider than it is."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        width, height = size_in_inches(ax)
        small = width < 3.6 or height < 2.4
        font, by = (7.0, "rows by\nreference") if small else (8.5, "rows by reference")
        handles: list[Any] = [
            Patch(facecolor=cluster_color(code), label=shorten(plain(self.titles[code]), 10 if small else 24))
            for code in sorted(present - {-1})
        ]
        if -1 in present:
            ring = Line2D([], [], linestyle="", marker="o", markersize=0.6 * font, color=inks.text, label="noise")
            ring.set(markerfacecolor=inks.ground, markeredgewidth=0.6)
            handles.append(ring)
        legend = ax.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=font,
            ncols=-(-len(handles) // max(int(height / font * 50), 1)), title_fontsize=font,
            title="cluster" + f",{chr(10) if small else ' '}{by}" * self.of_reference,
            alignment="left", handlelength=1.0, handleheight=1.0, borderaxespad=0.0, labelcolor=inks.text,
        )  # fmt: skip
        legend.get_title().set_color(inks.text)
        for text in legend.get_texts():
            text.set_parse_math(False)
        make_room(ax, right=legend.get_window_extent().width / ax.figure.dpi + 0.08, above=0.3 * bool(self.caption))
        width, height = size_in_inches(ax)
        for set_label, name, room in zip((ax.set_xlabel, ax.set_ylabel), self.names, (width, height), strict=True):
            label = fit_text(partial(shorten, plain(name)), 60, room, font + 1.5)
            set_label(label, fontsize=font + 1.5, color=inks.text, parse_math=False)
        ax.tick_params(colors=inks.muted, labelsize=font + 0.5)
        if self.caption:
            caption = _wrapped(self.caption, width, font)
            ax.set_title(caption, fontsize=font, color=inks.muted, loc="left", parse_math=False)


def _wrapped(caption: Sequence[str], width: float, size: float) -> str:
    """A caption in two lines of a width in inches, with as many of its values as they have room for."""
    *values, of_all = caption
    lines: list[str] = []
    for n in range(len(values), 0, -1):
        said = [*(f"{value}," for value in values[: n - 1]), values[n - 1]]
        said += [f"and {len(values) - n} more"] * (n < len(values))
        lines = [""]
        said[0] = f"where {said[0]}"
        said[-1] += ":"
        for words in (*said, of_all):
            part = fit_text(partial(shorten, words), len(words), width, size)
            if lines[-1] and text_width(f"{lines[-1]} {part}", size) > width:
                lines.append("")
            lines[-1] = f"{lines[-1]} {part}".lstrip()
        if len(lines) <= 2:
            break
    return "\n".join(lines)


def _two_columns(labeled: LabeledTree, wanted: Any) -> tuple[int, int]:
    """The columns to draw."""
    if wanted is None:
        # Those whose tests see most rows, and such as spread them; a tree that tests one is drawn against another.
        tree, n_columns = labeled.tree, len(labeled.names)
        inner = tree.feature >= 0
        seen = np.bincount(tree.feature[inner], tree.n_node_samples[inner] + 1, minlength=n_columns)
        seen[[kind.name in ("bool", "ordered") and seen[j] > 0 for j, kind in enumerate(labeled.columns.kinds)]] = 1
        seen[[kind.places_missing or kind.left_out is not None for kind in labeled.columns.kinds]] = -1
        chosen = sorted(np.argsort(-seen, kind="stable")[:2].tolist(), key=lambda c: (seen[c] <= 0, c))
        if (n_drawable := np.count_nonzero(seen >= 0)) < 2:
            raise InvalidInputError(
                f"A map shows two columns without gaps and categories, and the table has {n_drawable or 'none'}. Draw "
                "the tree (TreeDisplay)."
            )
        return chosen[0], chosen[1]
    if isinstance(wanted, str) or not isinstance(wanted, Sequence | np.ndarray) or len(wanted) != 2:
        raise InvalidInputError(f"columns={wanted!r} is not a pair of columns. Give two names or positions.")
    across, up = (_position(labeled, column, "columns") for column in wanted)
    if across == up:
        raise InvalidInputError(f"columns={wanted!r} is one column twice. Give two.")
    return across, up


def _position(labeled: LabeledTree, column: Any, what: str) -> int:
    """The position of a column that is given by position or name."""
    (position,) = find_columns(what, [column], labeled.columns)
    return position


def _fixed_value(columns: Columns, column: int, value: Any) -> float:
    """A value that is given for a column, as the tree reads it."""
    kind = columns.kinds[column]
    try:
        found = _as_tested(value, kind)
    except (OverflowError, TypeError, ValueError):  # also of our own kind, which speak of tables
        found = None
    if found is None:
        known = [level for level in kind.levels or () if level is not None]
        needed = {"bool": "True or False", "date": "a date, such as '2024-03-01'", "duration": "a datetime.timedelta"}
        wanted = f"one of its levels: {listed(known, most=20)}" if known else needed.get(kind.name, "a number")
        raise InvalidInputError(f"fixed: {columns.describe(column)} cannot be {value!r}. Give {wanted}.")
    return found


def _as_tested(value: Any, kind: ColumnKind) -> float | None:
    """The number by which a tree tests a value of a column, read as a column of that one value; None if it has none."""
    if is_missing(value) and kind.levels is None:
        return math.nan if kind.has_gaps else None
    cell = np.empty(1, dtype=object)  # np.array would take a list for several values
    cell[0] = value
    if kind.name == "date":
        text = str(np.datetime_as_string(value) if isinstance(value, np.datetime64) else value)
        instant = dt.datetime.fromisoformat(text)
        if instant.tzinfo is None and kind.zone is not None:
            instant = instant.replace(tzinfo=getattr(instant_of(0, kind), "tzinfo", None))
        cell[0] = instant
    raw = raw_column(cell, as_category=kind.levels is not None)
    if not isinstance(raw, RawColumn):
        return None
    found = float(values_by_kind(raw, kind, describe="fixed", unknown="error")[0])
    if math.isnan(found):
        return found if kind.has_gaps and is_missing(value) else None
    return found if kind.levels is None or found < len(kind.levels) else None


def _middle(values: npt.NDArray[np.generic], kind: ColumnKind) -> float:
    """The value in the middle, or the lower of two; of a category the most frequent level. Missing numbers are none."""
    if kind.name == "category":
        return float(np.bincount(values.astype(np.intp)).argmax())
    known = values.astype(np.float64)
    known = known[~np.isnan(known)]
    return float(np.quantile(known, 0.5, method="lower")) if len(known) else float("nan")


def _written(kind: ColumnKind, value: float) -> str:
    """A value as people write it; of numbers a few digits."""
    return f"{value:.4g}" if kind.name == "number" and value == value else value_text(kind, value)


def _is_cut(regions: Mapping[int, Region | Levels], fixed: Mapping[int, float]) -> bool:
    """Whether a leaf's regions contain the values at which other columns are fixed."""
    return all(regions.get(column, Region()).holds(np.array([value]))[0] for column, value in fixed.items())


def _limits(values: _Floats, kind: ColumnKind) -> _Floats:
    if (n_levels := _n_levels(kind)) > 0:
        return np.array([-0.5, n_levels - 0.5])
    low, high = float(values.min()), float(values.max())
    margin = 0.04 * (high - low) or max(abs(low) * 0.04, 0.5)
    limits = np.array([low - margin, high + margin])
    if kind.name == "date":
        day = MICROSECONDS["day"] if kind.unit == "microsecond" else 1.0
        limits = np.clip(limits, day * CALENDAR[0], day * (CALENDAR[1] - 1))
    return limits


def _n_levels(kind: ColumnKind) -> int:
    """How many values an axis of truth values or levels has; 0 for others."""
    return 2 if kind.name == "bool" else len(kind.levels or ())


def _within(region: Region | Levels, limits: _Floats, beyond: float) -> list[tuple[float, float]]:
    """The parts of a region that are within the picture; ``beyond``: how far behind the last value they end."""
    parts = [] if isinstance(region, Levels) else region.parts()
    low, high = limits.tolist()
    ends = [(max(a + beyond, low), min(b + beyond, high)) for a, b in parts]
    return [(a, b) for a, b in ends if a < b]


def _set_ticks(axis: Any, kind: ColumnKind, room: float) -> None:
    """Ticks in people's words, as many as an axis of so many inches has room for."""
    from matplotlib import dates, ticker

    is_across, n_levels = axis.axis_name == "x", _n_levels(kind)
    most = int(np.clip(room / (0.7 if is_across else 0.5), 2, 8))
    if kind.name == "date":
        zone = getattr(instant_of(0, kind), "tzinfo", None)
        locator = dates.AutoDateLocator(tz=zone, minticks=2, maxticks=max(most, 5))  # type: ignore[no-untyped-call]
        axis.set_major_locator(locator)
        axis.set_major_formatter(dates.ConciseDateFormatter(locator, tz=zone))  # type: ignore[no-untyped-call]
    elif n_levels:

        def level(value: float, _: int) -> str:
            if value not in range(n_levels):
                return ""
            return shorten(plain(kind.levels[int(value)] if kind.levels else value_text(kind, value)), 14)

        axis.set_major_locator(ticker.MaxNLocator(int(np.clip(room / 0.2, 2, 20)), integer=True, min_n_ticks=1))
        axis.set_major_formatter(level)
        if is_across and sum(text_width(level(i, 0), 10) + 0.1 for i in range(n_levels)) > room:
            axis.set_tick_params(rotation=90)
    elif kind.name == "duration":
        low, high = axis.get_view_interval()
        steps = [size * n for unit, size in MICROSECONDS.items() for n in _STEPS[unit]]
        step = min((step for step in steps if high - low <= step * most), default=max(steps))
        axis.set_major_locator(ticker.MultipleLocator(step))
        axis.set_major_formatter(lambda value, _: value_text(kind, round(value)))
    elif kind.name == "integer":
        axis.set_major_locator(ticker.MaxNLocator("auto", integer=True, min_n_ticks=1))
