"""The tree from left to right: a test on every branch, and a line for every leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError
from cutwise.plot.base import (
    INK,
    MUTED,
    RULE,
    fit_text,
    labeled_tree,
    need_matplotlib,
    new_axes,
    read_rows,
    text_titles,
    text_width,
    tint,
)
from cutwise.readouts.conditions import Condition
from cutwise.readouts.labeled_tree import LabeledTree, sum_up
from cutwise.readouts.shown import ShortNames, cluster_color, condition_text, ink_on, plain, shorten
from cutwise.readouts.words import percent, rows
from cutwise.table.table import Columns
from cutwise.tree.threshold_tree import ThresholdTree

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator


# Inches, at the display's own size; on axes that are smaller everything shrinks alike.
_LINE = 0.36  # from leaf to leaf
_HEAD = 0.42
_FOOT = 0.34
_MARGIN = 0.12
_BAR = 1.35
_GAP = 0.14
_FONT = 8.5
_SMALL = 7.5


@dataclass(eq=False)
class TreeDisplay:
    """A tree drawn from left to right, its leaves one below the other with their cluster, rows and purity.

    Parameters
    ----------
    tree : ThresholdTree
    names : sequence of str, one a column, or the columns with their kinds
    titles : sequence of str, one a cluster
        What the clusters are called.
    leaf_rows : ndarray of shape (n_leaves,), int64
        In the order of ``tree.leaves``.
    leaf_purity : ndarray of shape (n_leaves,), float64
        The part of each leaf's rows that the reference has in its cluster; nan where nothing is known.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    node_x_, node_y_ : ndarray of shape (n_nodes,), float64
        Where the nodes are, in inches from the upper left corner of the drawing.
    """

    tree: ThresholdTree
    names: Columns | Sequence[str]
    titles: list[str]
    leaf_rows: npt.NDArray[np.int64]
    leaf_purity: npt.NDArray[np.float64]
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)
    node_x_: Any = field(default=None, init=False)
    node_y_: Any = field(default=None, init=False)

    @classmethod
    def from_estimator(cls, model: TreeEstimator, X: Any = None, *, ax: Any = None) -> Self:
        """Draw the tree of a fitted model.

        Parameters
        ----------
        model : estimator of cutwise
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            The rows to count at the leaves; those of fit when left out. Purity is always that of fit.
        ax : matplotlib Axes, default=None
            None makes a figure of the size that the tree needs.

        Returns
        -------
        display : TreeDisplay

        Raises
        ------
        MissingDependencyError
            matplotlib is not installed.
        """
        labeled = labeled_tree(model)
        tree, counts = labeled.tree, labeled.counts
        if counts is None:
            raise InvalidInputError(
                "The tree was edited after its rows were counted. Count them before it is drawn: model.recount(X)."
            )
        leaf_rows = counts.n_rows
        if X is not None:
            leaf_rows = np.bincount(tree.apply(read_rows(model, X)), minlength=tree.n_nodes)[tree.leaves]
        return cls(tree, labeled.columns, text_titles(labeled), leaf_rows, counts.purity).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure of the size that the tree needs.

        Returns
        -------
        display : TreeDisplay
        """
        tree = self.tree
        need_matplotlib()
        shown = [shorten(plain(title), 24) for title in self.titles]
        labeled = LabeledTree(tree, self.names)
        tests = [None, *map(labeled.condition, range(1, tree.n_nodes))]
        # Room for the tests: what the longest one asks for, within a page's width. Long names are shortened to it.
        name_of = ShortNames(labeled.names)

        def written(test: Condition, length: int) -> str:
            return condition_text(test, name_of(test.feature, length))

        wanted = max((text_width(written(t, 30), _SMALL) for t in tests if t is not None), default=0.0) + 0.3
        level = max(min(wanted, 2.3, max(13.0 / max(tree.depth, 1), 0.95)), 0.8)
        pill = max(text_width(shown[c], _FONT) for c in tree.cluster[tree.leaves].tolist()) + 0.24
        pill = max(pill, text_width("cluster", _SMALL) + 0.1)
        figures = [self._figures(i) for i in range(tree.n_leaves)]
        numbers = max(text_width(text, _SMALL) for text in figures) + 0.05
        left = _MARGIN + text_width(rows(int(self.leaf_rows.sum())), _SMALL) + 0.1
        leaf_x = left + level * tree.depth
        bar_x = leaf_x + pill + _GAP
        width = bar_x + _BAR + _GAP + numbers + _MARGIN
        height = _HEAD + _LINE * tree.n_leaves + _FOOT
        self.ax_ = ax = new_axes(ax, width, height)
        self.figure_ = ax.figure
        scale = self._prepare(ax, width, height)

        leaf_number = {leaf: i for i, leaf in enumerate(tree.leaves.tolist())}
        y = np.zeros(tree.n_nodes)
        y[tree.leaves] = _HEAD + _LINE * (np.arange(tree.n_leaves) + 0.5)
        for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parent
            if tree.feature[node] >= 0:
                y[node] = (y[tree.children_left[node]] + y[tree.children_right[node]]) / 2
        x = left + level * tree.node_depth.astype(np.float64)
        x[tree.leaves] = leaf_x
        self.node_x_, self.node_y_ = x, y

        size = sum_up(tree, self.leaf_rows)
        share = size / max(int(size[0]), 1)

        def write(at: float, line: float, text: str, font: float, **style: Any) -> None:
            style = {"color": INK, "va": "center", **style}
            ax.text(at, line, text, fontsize=font * scale, parse_math=False, clip_on=False, **style)

        for node in range(1, tree.n_nodes):
            parent, leaf = int(tree.parents[node]), node in leaf_number
            color = cluster_color(int(tree.cluster[node])) if leaf else "#98a2ae"
            stroke = (0.9 + 4.6 * float(np.sqrt(share[node]))) * scale
            ends = x[node] if not leaf else leaf_x - 0.04
            ax.plot(
                [x[parent], x[parent], ends], [y[parent], y[node], y[node]], color=color, linewidth=stroke,
                solid_joinstyle="round", solid_capstyle="butt", zorder=1 + leaf,
            )  # fmt: skip
            test = tests[node]
            assert test is not None
            room = ends - x[parent] - 0.14
            text = fit_text(partial(written, test), name_of.length(test.feature), room, _SMALL)
            above = y[node] - 0.035 - stroke / scale / 144
            write(x[parent] + 0.08, above, text, _SMALL, va="bottom", zorder=5)
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            ax.plot([x[node]], [y[node]], "o", color="#ffffff", markeredgecolor="#66707c", markersize=5 * scale,
                    markeredgewidth=1.1 * scale, zorder=4)  # fmt: skip
        write(left - 0.09, y[0], rows(int(size[0])), _SMALL, ha="right", color=MUTED)

        most = max(int(self.leaf_rows.max()), 1)
        for i, leaf in enumerate(tree.leaves.tolist()):
            code, line = int(tree.cluster[leaf]), y[leaf]
            color = cluster_color(code)
            self._box(ax, leaf_x, line - 0.125, pill, 0.25, color, 0.07)
            write(leaf_x + pill / 2, line - 0.004, shown[code], _FONT, color=ink_on(color), ha="center", zorder=6)
            length = _BAR * float(self.leaf_rows[i]) / most
            pure = float(np.nan_to_num(self.leaf_purity[i], nan=1.0))
            ax.barh([line], [_BAR], height=0.14, left=bar_x, color="#eef1f4", zorder=2)
            ax.barh([line], [length], height=0.14, left=bar_x, color=tint(color, 0.38), zorder=3)
            ax.barh([line], [length * pure], height=0.14, left=bar_x, color=color, zorder=4)
            write(bar_x + _BAR + _GAP, line, figures[i], _SMALL)
        head, foot = _HEAD * 0.55, height - _MARGIN - 0.06
        write(leaf_x, head, "cluster", _SMALL, color=MUTED)
        write(bar_x, head, "rows", _SMALL, color=MUTED)
        if np.isfinite(self.leaf_purity).any():
            legend = "pale: rows that the reference has in other clusters"
            write(width - _MARGIN, foot, legend, _SMALL - 1, color=MUTED, ha="right")
        ax.plot([leaf_x, width - _MARGIN], [_HEAD - 0.07] * 2, color=RULE, linewidth=0.8 * scale)
        return self

    def _figures(self, leaf: int) -> str:
        total = max(int(self.leaf_rows.sum()), 1)
        return (
            f"{rows(int(self.leaf_rows[leaf]))} · {percent(float(self.leaf_rows[leaf]) / total)}"
            f" · {percent(float(self.leaf_purity[leaf]))} pure"
        )

    def _prepare(self, ax: Any, width: float, height: float) -> float:
        """Make one unit an inch of the drawing, and say how much smaller than drawn the axes are."""
        ax.set_axis_off()
        ax.set_xlim(0, width)
        ax.set_ylim(height, 0)
        ax.set_aspect("equal", adjustable="box", anchor="NW")
        ax.figure.draw_without_rendering()
        box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        return float(min(box.width / width, box.height / height))

    def _box(self, ax: Any, x: float, y: float, width: float, height: float, color: str, corner: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        shape = f"round,pad=0,rounding_size={corner}"
        ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, facecolor=color, edgecolor="none", zorder=5))
