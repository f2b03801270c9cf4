"""Two columns as a map: the regions that a tree cuts them into, with the rows on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError, listed
from cutwise.plot.base import Inks, labeled_tree, new_axes, read_rows, text_titles, tint
from cutwise.readouts.conditions import Levels, Region, column_of, walk_leaves
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.shown import cluster_color, plain, shorten
from cutwise.readouts.words import rows
from cutwise.tree.threshold_tree import ThresholdTree

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator


_MAX_ROWS = 5_000


@dataclass(eq=False)
class PartitionDisplay:
    """The rectangles into which a tree cuts two columns, where its other columns are held at one value each.

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
        The cluster that colors each row; -1 for none.
    of_reference : bool
        Whether these are the reference's clusters, not the tree's.
    held : mapping of int to float, default={}
        The values, or codes of levels, at which the other columns of the tree are held.
    is_shown : ndarray of shape (n,), bool, default=None
        The rows that the tree places alike with those values; None for all.
    caption : str, default=""
        What is said of both.

    Attributes
    ----------
    rectangles_ : ndarray of shape (n_rectangles, 4), float64
        Left, right, bottom and top of every rectangle, within the limits of the picture.
    rectangle_cluster_ : ndarray of shape (n_rectangles,), int32
        The cluster code of each.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    tree: ThresholdTree
    columns: tuple[int, int]
    names: tuple[str, str]
    titles: list[str]
    points: npt.NDArray[np.float64]
    codes: npt.NDArray[np.integer]
    of_reference: bool = False
    held: Mapping[int, float] = field(default_factory=dict)
    is_shown: npt.NDArray[np.bool_] | None = None
    caption: str = ""
    rectangles_: Any = field(default=None, init=False)
    rectangle_cluster_: Any = field(default=None, init=False)
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    @classmethod
    def from_estimator(
        cls,
        model: TreeEstimator,
        X: Any,
        *,
        columns: Any = None,
        held: Mapping[Any, float] | None = None,
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
            The columns along and up, by position or name. None takes those whose tests see most rows.
        held : mapping of int or str to number, default=None
            A value for other columns that the tree tests, by position or name; the median of the rows for those not
            named. Rows that another value of these columns sends elsewhere are left out; the caption says how many.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : PartitionDisplay

        Raises
        ------
        InvalidInputError
            A column that is not there, or that has no axis of numbers.
        MissingDependencyError
            matplotlib is not installed.
        """
        labeled = labeled_tree(model)
        across, up = _two_columns(labeled, columns)
        table = read_rows(model, X)
        given = {_position(labeled, column): float(value) for column, value in (held or {}).items()}
        others = [column for column in labeled.tested if column not in (across, up)]
        for column in (across, up, *others):
            if (kind := labeled.columns.kinds[column]).places_missing:
                what = "has missing values" if kind.has_gaps else "holds categories"
                raise InvalidInputError(
                    f"A partition is drawn along axes of numbers, and {labeled.columns.describe(column)} {what}. "
                    "Draw the tree instead: TreeDisplay.from_estimator(model)."
                )
        at = {column: given.get(column, _median(column_of(table, column))) for column in others}
        tree, counts = labeled.tree, labeled.counts
        codes, leaf = np.asarray(model.reference_.labels), tree.apply(table)
        in_leaves = np.bincount(leaf, minlength=tree.n_nodes)[tree.leaves]
        of_reference = len(codes) == table.n_rows and counts is not None and counts.are_of(in_leaves)
        if not of_reference:
            codes = tree.cluster[leaf]
        points = np.column_stack([column_of(table, c).astype(np.float64) for c in (across, up)])
        is_shown = np.isin(leaf, [number for number, regions, _ in walk_leaves(tree) if _is_cut(regions, at)])
        caption = ""
        if at:
            values = ", ".join(f"{shorten(plain(labeled.names[c]), 30)} = {value:.4g}" for c, value in at.items())
            caption = f"where {values}: {np.count_nonzero(is_shown):,} of {rows(table.n_rows)}"
        names = labeled.names[across], labeled.names[up]
        titles = text_titles(labeled)
        return cls(tree, (across, up), names, titles, points, codes, of_reference, at, is_shown, caption).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : PartitionDisplay
        """
        self.ax_ = ax = new_axes(ax, 7.6, 5.4)
        self.figure_ = ax.figure
        inks = Inks.of(ax)
        limits = [_limits(self.points[:, axis]) for axis in (0, 1)]
        self.rectangles_, self.rectangle_cluster_ = self._rectangles(limits)
        for (left, right, bottom, top), code in zip(
            self.rectangles_.tolist(), self.rectangle_cluster_.tolist(), strict=True
        ):
            corners = [left, left, right, right], [bottom, top, top, bottom]
            ax.fill(
                *corners,
                facecolor=tint(cluster_color(code), 0.3, inks.ground),
                edgecolor=inks.ground,
                linewidth=0.8,
                zorder=1,
            )
        alike = np.flatnonzero(np.ones(len(self.points), dtype=bool) if self.is_shown is None else self.is_shown)
        # Every so many rows of a long table: more would only hide the regions.
        shown = alike[np.linspace(0, len(alike) - 1, min(len(alike), _MAX_ROWS)).astype(np.intp)]
        points, codes = self.points[shown], np.asarray(self.codes)[shown]
        size = float(np.clip(3000 / max(len(shown), 1), 5, 26))
        colors = [cluster_color(code) if code >= 0 else inks.ground for code in codes.tolist()]
        edges = np.where(codes >= 0, inks.ground, inks.text).tolist()
        ax.scatter(*points.T, s=size, c=colors, edgecolors=edges, linewidths=0.4, zorder=3)
        ax.set_xlim(*limits[0])
        ax.set_ylim(*limits[1])
        for set_label, name in zip((ax.set_xlabel, ax.set_ylabel), self.names, strict=True):
            set_label(shorten(plain(name), 60), color=inks.text, parse_math=False)
        for spine in ax.spines.values():
            spine.set_color(inks.rule)
        ax.tick_params(colors=inks.muted, labelsize=9)
        if self.caption:
            ax.set_title(self.caption, fontsize=8.5, color=inks.muted, loc="left", parse_math=False)
        self._legend(ax, inks)
        return self

    def _rectangles(self, limits: list[tuple[float, float]]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
        found, clusters = [], []
        for leaf, regions, _ in walk_leaves(self.tree):
            if not _is_cut(regions, self.held):
                continue
            across, up = (_within(regions.get(c, Region()), *limits[axis]) for axis, c in enumerate(self.columns))
            for left, right in across:
                for bottom, top in up:
                    found.append((left, right, bottom, top))
                    clusters.append(int(self.tree.cluster[leaf]))
        return np.array(found, dtype=np.float64).reshape(-1, 4), np.array(clusters, dtype=np.int32)

    def _legend(self, ax: Any, inks: Inks) -> None:
        from matplotlib.patches import Patch

        present = sorted({*self.rectangle_cluster_.tolist(), *np.unique(self.codes[self.codes >= 0]).tolist()})
        handles = [
            Patch(facecolor=cluster_color(code), label=shorten(plain(self.titles[code]), 24)) for code in present
        ]
        columns = 1 if len(handles) <= 16 else 2
        # Beside the axes where something makes room for it.
        beside = ax.figure.get_layout_engine() is not None
        place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "frameon": False} if beside else {"loc": "best"}
        legend = ax.legend(
            handles=handles, **place, facecolor=inks.ground, fontsize=8.5, ncols=columns,
            title="cluster" + (", rows by reference" if self.of_reference else ""), title_fontsize=8.5,
            alignment="left", handlelength=1.0, handleheight=1.0, borderaxespad=0.0, labelcolor=inks.text,
        )  # fmt: skip
        legend.get_title().set_color(inks.text)
        for text in legend.get_texts():
            text.set_parse_math(False)


def _two_columns(labeled: LabeledTree, wanted: Any) -> tuple[int, int]:
    """The columns to draw."""
    if wanted is None:
        # Those whose tests see most rows; a tree that tests one column is drawn against another.
        tree, n_columns = labeled.tree, len(labeled.names)
        inner = tree.feature >= 0
        seen = np.bincount(tree.feature[inner], tree.n_node_samples[inner] + 1, minlength=n_columns)
        chosen = sorted(np.argsort(-seen, kind="stable")[:2].tolist(), key=lambda c: (seen[c] == 0, c))
        if len(chosen) < 2:
            raise InvalidInputError("A map shows two columns, and the table has one. Draw the tree (TreeDisplay).")
        return chosen[0], chosen[1]
    if isinstance(wanted, str) or not isinstance(wanted, Sequence | np.ndarray) or len(wanted) != 2:
        raise InvalidInputError(f"columns={wanted!r} is no pair of columns. Give two names or positions.")
    return _position(labeled, wanted[0]), _position(labeled, wanted[1])


def _position(labeled: LabeledTree, column: Any) -> int:
    """The position of a column that is given by position or name."""
    names = labeled.names
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int | np.integer) and 0 <= column < len(names):
        return int(column)
    raise InvalidInputError(f"There is no column {column!r}; the columns are {listed(names, most=20)}.")


def _median(values: npt.NDArray[np.generic]) -> float:
    """The value in the middle, or the lower of two."""
    return float(np.quantile(values.astype(np.float64), 0.5, method="lower"))


def _is_cut(regions: Mapping[int, Region | Levels], held: Mapping[int, float]) -> bool:
    """Whether a leaf's regions let the held values of the other columns through."""
    return all(regions.get(column, Region()).holds(np.array([value]))[0] for column, value in held.items())


def _limits(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.04 * (high - low) or max(abs(low) * 0.04, 0.5)
    return low - margin, high + margin


def _within(region: Region | Levels, low: float, high: float) -> list[tuple[float, float]]:
    """The parts of a region that are within the picture."""
    parts = [] if isinstance(region, Levels) else region.parts()
    return [(max(a, low), min(b, high)) for a, b in parts if max(a, low) < min(b, high)]
