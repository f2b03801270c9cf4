"""Two columns as a map: the regions that a tree cuts them into, with the rows on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError, listed
from cutwise.plot.base import INK, RULE, labeled_tree, new_axes, read_rows, text_titles, tint
from cutwise.readouts.conditions import Levels, Region, column_of, walk_leaves
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.shown import cluster_color, plain, shorten
from cutwise.tree.threshold_tree import ThresholdTree

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator


_MAX_ROWS = 5_000


@dataclass(eq=False)
class PartitionDisplay:
    """The rectangles of a tree that cuts one or two columns.

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
    rectangles_: Any = field(default=None, init=False)
    rectangle_cluster_: Any = field(default=None, init=False)
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    @classmethod
    def from_estimator(cls, model: TreeEstimator, X: Any, *, columns: Any = None, ax: Any = None) -> Self:
        """Draw the regions of a fitted model, and rows.

        Parameters
        ----------
        model : estimator of cutwise
            Its tree tests one or two columns.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The rows. Those of fit are colored by their reference cluster, so that color and region differ where the
            tree strays from it; others by the tree's.
        columns : pair of int or str, default=None
            The columns along and up, by position or name. None takes those that the tree tests.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : PartitionDisplay

        Raises
        ------
        InvalidInputError
            The tree tests a column that the picture does not show.
        MissingDependencyError
            matplotlib is not installed.
        """
        labeled = labeled_tree(model)
        across, up = _two_columns(labeled, columns)
        for column in (across, up):
            if (kind := labeled.columns.kinds[column]).places_missing:
                what = "has missing values" if kind.has_gaps else "holds categories"
                raise InvalidInputError(
                    f"A partition is drawn along two axes of numbers, and {labeled.columns.describe(column)} {what}. "
                    "Draw the tree instead: TreeDisplay.from_estimator(model)."
                )
        table = read_rows(model, X)
        points = np.column_stack([column_of(table, c).astype(np.float64) for c in (across, up)])
        tree, counts = labeled.tree, labeled.counts
        codes, leaf = np.asarray(model.reference_.labels), tree.apply(table)
        of_reference = len(codes) == table.n_rows and counts is not None and counts.are_of(tree, leaf)
        if not of_reference:
            codes = tree.cluster[leaf]
        names = labeled.names[across], labeled.names[up]
        return cls(tree, (across, up), names, text_titles(labeled), points, codes, of_reference).plot(ax=ax)

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
        limits = [_limits(self.points[:, axis]) for axis in (0, 1)]
        self.rectangles_, self.rectangle_cluster_ = self._rectangles(limits)
        for (left, right, bottom, top), code in zip(
            self.rectangles_.tolist(), self.rectangle_cluster_.tolist(), strict=True
        ):
            corners = [left, left, right, right], [bottom, top, top, bottom]
            ax.fill(*corners, facecolor=tint(cluster_color(code), 0.3), edgecolor="#ffffff", linewidth=0.8, zorder=1)
        # Every so many rows of a long table: more would only hide the regions.
        shown = np.linspace(0, len(self.points) - 1, min(len(self.points), _MAX_ROWS)).astype(np.intp)
        points, codes = self.points[shown], np.asarray(self.codes)[shown]
        size = float(np.clip(3000 / len(shown), 5, 26))
        colors = [cluster_color(code) if code >= 0 else "#ffffff" for code in codes.tolist()]
        edges = np.where(codes >= 0, "#ffffff", INK).tolist()
        ax.scatter(*points.T, s=size, c=colors, edgecolors=edges, linewidths=0.4, zorder=3)
        ax.set_xlim(*limits[0])
        ax.set_ylim(*limits[1])
        for set_label, name in zip((ax.set_xlabel, ax.set_ylabel), self.names, strict=True):
            set_label(shorten(plain(name), 60), color=INK, parse_math=False)
        for spine in ax.spines.values():
            spine.set_color(RULE)
        ax.tick_params(colors="#66707c", labelsize=9)
        self._legend(ax)
        return self

    def _rectangles(self, limits: list[tuple[float, float]]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
        found, clusters = [], []
        for leaf, regions, _ in walk_leaves(self.tree):
            across, up = (_within(regions.get(c, Region()), *limits[axis]) for axis, c in enumerate(self.columns))
            for left, right in across:
                for bottom, top in up:
                    found.append((left, right, bottom, top))
                    clusters.append(int(self.tree.cluster[leaf]))
        return np.array(found, dtype=np.float64).reshape(-1, 4), np.array(clusters, dtype=np.int32)

    def _legend(self, ax: Any) -> None:
        from matplotlib.patches import Patch

        present = sorted({*self.rectangle_cluster_.tolist(), *np.unique(self.codes[self.codes >= 0]).tolist()})
        handles = [
            Patch(facecolor=cluster_color(code), label=shorten(plain(self.titles[code]), 24)) for code in present
        ]
        columns = 1 if len(handles) <= 16 else 2
        legend = ax.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8.5, ncols=columns,
            title="cluster" + (", rows by reference" if self.of_reference else ""), title_fontsize=8.5,
            alignment="left", handlelength=1.0, handleheight=1.0, borderaxespad=0.0,
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)


def _two_columns(labeled: LabeledTree, wanted: Any) -> tuple[int, int]:
    """The columns to draw."""
    tested, names = labeled.tested, labeled.names
    if wanted is None:
        # A tree that tests one column is drawn against another.
        chosen = [*tested, *(c for c in range(len(names)) if c not in tested)]
        chosen = chosen[: max(2, len(tested))]
    else:
        if isinstance(wanted, str) or not isinstance(wanted, Sequence | np.ndarray) or len(wanted) != 2:
            raise InvalidInputError(f"columns={wanted!r} is no pair of columns. Give two names or positions.")
        chosen = []
        for column in wanted:
            if isinstance(column, str) and column in names:
                chosen.append(names.index(column))
            elif isinstance(column, int | np.integer) and 0 <= column < len(names):
                chosen.append(int(column))
            else:
                raise InvalidInputError(f"There is no column {column!r}; the columns are {listed(names, most=20)}.")
    hidden = [names[column] for column in tested if column not in chosen]
    if len(chosen) != 2 or hidden:
        asked = f"its tree tests {len(tested)}: {listed([names[c] for c in tested], most=10)}"
        raise InvalidInputError(
            f"A map shows two columns, and {asked}. Draw the tree (TreeDisplay), or fit on two columns of the table."
        )
    return chosen[0], chosen[1]


def _limits(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.04 * (high - low) or max(abs(low) * 0.04, 0.5)
    return low - margin, high + margin


def _within(region: Region | Levels, low: float, high: float) -> list[tuple[float, float]]:
    """The parts of a region that are within the picture."""
    parts = [] if isinstance(region, Levels) else region.parts()
    return [(max(a, low), min(b, high)) for a, b in parts if max(a, low) < min(b, high)]
