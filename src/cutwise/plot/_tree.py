"""The tree from left to right: a test on every branch, and a line for every leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from cutwise.estimators import TreeEstimator
from cutwise.exceptions import InvalidInputError
from cutwise.plot.base import (
    Display,
    Inks,
    fit_text,
    labeled_tree,
    need_matplotlib,
    read_rows,
    size_in_inches,
    text_width,
    tint,
)
from cutwise.readouts.conditions import Condition
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.shown import ShortNames, cluster_color, condition_text, ink_on, plain, shorten, shortened
from cutwise.readouts.words import percent, rows
from cutwise.table.table import Columns
from cutwise.tree.threshold_tree import ThresholdTree

# Inches, at the display's own size; on axes that are a little smaller everything shrinks alike.
_LINE = 0.36  # from leaf to leaf
_HEAD = 0.42
_FOOT = 0.34
_MARGIN = 0.12
_BAR = 1.35
_GAP = 0.14
_FONT = 8.5
_SMALL = 7.5
_LEGIBLE = 0.85  # axes that would shrink the letters more get a line a node instead, as wide as they are
_STEP = 0.13  # from level to level there


class _Layout(NamedTuple):
    """Where everything is, in inches from the upper left corner: nodes, ends of their lines, tests, leaves' columns."""

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    ends: npt.NDArray[np.float64]
    text_x: npt.NDArray[np.float64]
    room: npt.NDArray[np.float64]
    leaf_x: float
    pill: float
    thick: float
    titles: list[str]
    figures: list[str]
    figures_x: float
    bar_x: float | None  # none in an outline, whose tests stand on their lines, not above them
    head: float
    width: float
    height: float


@dataclass(eq=False, repr=False)
class TreeDisplay(Display):
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
    leaf_share : ndarray of shape (n_leaves,), float64, default=None
        The part of the weight in each leaf. None: the part of the rows.

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
    leaf_share: npt.NDArray[np.float64] | None = None
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
                "The tree was edited after its rows were counted. Recount them first: model.recount(X)."
            )
        leaf_rows, share = counts.n_rows, labeled.share[tree.leaves] if X is None else None
        if X is not None:
            leaf_rows = np.bincount(tree.apply(read_rows(model, X)), minlength=tree.n_nodes)[tree.leaves]
        return cls(tree, labeled.columns, list(map(str, labeled.titles)), leaf_rows, counts.purity, share).plot(ax=ax)

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
        from cutwise.plot._text import ScaledText

        labeled = LabeledTree(tree, self.names)
        tests = [None, *map(labeled.condition, range(1, tree.n_nodes))]
        name_of = ShortNames(labeled.names)

        written = partial(_written, name_of)
        # Room for the tests: what the longest one asks for, within a page's width. Long names are shortened to it.
        wanted = (
            max((text_width(written(t, 30 if t.kind.levels is None else 44), _SMALL) for t in tests if t), default=0.0)
            + 0.3
        )
        lay = self._branching(wanted)
        if ax is not None:
            width, height = size_in_inches(ax)
            if min(width / lay.width, height / lay.height) < _LEGIBLE:
                lay = self._outline(width, height)
        ax, inks = self._start(ax, lay.width, lay.height)
        ax.set_axis_off()
        ax.set_xlim(0, lay.width)  # one unit is an inch of the drawing
        ax.set_ylim(lay.height, 0)
        ax.set_aspect("equal", adjustable="box", anchor="NW")
        wide, high = size_in_inches(ax)
        scale = min(wide / lay.width, high / lay.height)
        self.node_x_, self.node_y_ = x, y = lay.x, lay.y
        size = tree.sum_up(self.leaf_rows)
        share = size / max(int(size[0]), 1)

        def write(at: float, line: float, text: str, font: float, **style: Any) -> None:
            style = {"color": inks.text, "va": "center", **style}
            ScaledText(at, line, text, ax=ax, font=font, fontsize=font * scale, **style)

        branch = tint(inks.text, 0.45, inks.ground)
        for node in range(1, tree.n_nodes):
            parent, leaf = int(tree.parents[node]), tree.feature[node] < 0
            stroke = (0.9 + (1.6 if lay.bar_x is None else 4.6) * float(np.sqrt(share[node]))) * scale
            ax.plot(
                [x[parent], x[parent], lay.ends[node]], [y[parent], y[node], y[node]], linewidth=stroke,
                color=cluster_color(int(tree.cluster[node])) if leaf else branch,
                solid_joinstyle="round", solid_capstyle="butt", zorder=1 + leaf,
            )  # fmt: skip
            test = tests[node]
            assert test is not None
            longest = name_of.length(test.feature) if test.kind.levels is None else 200
            text = fit_text(partial(written, test), longest, float(lay.room[node]), _SMALL)
            if lay.bar_x is None:
                write(lay.text_x[node], y[node], text, _SMALL, zorder=5)
            else:
                above = y[node] - 0.035 - stroke / scale / 144
                write(lay.text_x[node], above, text, _SMALL, va="bottom", zorder=5)
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            ax.plot([x[node]], [y[node]], "o", color=inks.ground, markeredgecolor=inks.muted, markersize=5 * scale,
                    markeredgewidth=1.1 * scale, zorder=4)  # fmt: skip
        beside = (0.09, "left") if lay.bar_x is None else (-0.09, "right")
        write(x[0] + beside[0], y[0], rows(int(size[0])), _SMALL, ha=beside[1], color=inks.muted)
        self._draw_leaves(ax, inks, lay, write)
        self._write_head(inks, lay, write)
        line = [lay.leaf_x, lay.width - _MARGIN]
        ax.plot(line, [lay.head - 0.07] * 2, color=inks.rule, linewidth=0.8 * scale)
        return self

    def _draw_leaves(self, ax: Any, inks: Inks, lay: _Layout, write: Callable[..., None]) -> None:
        from matplotlib.patches import FancyBboxPatch

        for i, leaf in enumerate(self.tree.leaves.tolist()):
            code, line = int(self.tree.cluster[leaf]), lay.y[leaf]
            color = cluster_color(code)
            corner, shape = (lay.leaf_x, line - lay.thick / 2), "round,pad=0,rounding_size=0.07"
            ax.add_patch(
                FancyBboxPatch(corner, lay.pill, lay.thick, shape, facecolor=color, edgecolor="none", zorder=5)
            )
            write(lay.leaf_x + lay.pill / 2, line, lay.titles[code], min(_FONT, 64 * lay.thick), color=ink_on(color),
                  ha="center", va="center_baseline", zorder=6)  # fmt: skip
            write(lay.figures_x, line, lay.figures[i], _SMALL)
            if lay.bar_x is None:
                continue
            length = _BAR * float(self.leaf_rows[i]) / max(int(self.leaf_rows.max()), 1)
            pure = float(np.nan_to_num(self.leaf_purity[i], nan=1.0))
            ax.barh([line], [_BAR], height=0.14, left=lay.bar_x, color=inks.faint, zorder=2)
            ax.barh([line], [length], height=0.14, left=lay.bar_x, color=tint(color, 0.38, inks.ground), zorder=3)
            ax.barh([line], [length * pure], height=0.14, left=lay.bar_x, color=color, zorder=4)

    def _write_head(self, inks: Inks, lay: _Layout, write: Callable[..., None]) -> None:
        """What stands above the leaves, and below them."""
        head, right = lay.head * 0.55, lay.width - _MARGIN
        if lay.bar_x is None:
            write(right, head, "cluster, rows" + ", pure" * self._knows_purity, _SMALL, color=inks.muted, ha="right")
        else:
            write(lay.leaf_x, head, "cluster", _SMALL, color=inks.muted)
            write(lay.bar_x, head, "rows", _SMALL, color=inks.muted)
            if self._knows_purity:
                legend = "pale: rows that the reference has in other clusters"
                write(right, lay.height - _MARGIN - 0.06, legend, _SMALL - 1, color=inks.muted, ha="right")

    @property
    def _knows_purity(self) -> bool:
        return bool(np.isfinite(self.leaf_purity).any())

    def _branching(self, wanted: float) -> _Layout:
        """Leaves one below the other, a branch between its two, tests of a width in inches above the lines."""
        tree = self.tree
        is_leaf, parents = tree.feature < 0, np.maximum(tree.parents, 0)
        level = max(min(wanted, 2.3, max(13.0 / max(tree.depth, 1), 1.25)), 0.8)
        titles, pill = self._pills(24)
        pill = max(pill, text_width("cluster", _SMALL) + 0.1)
        shares = self.leaf_rows / max(int(self.leaf_rows.sum()), 1) if self.leaf_share is None else self.leaf_share
        figures = [
            f"{rows(int(n))} · {percent(float(share))} · {percent(float(purity))} pure"
            for n, share, purity in zip(self.leaf_rows, shares, self.leaf_purity, strict=True)
        ]
        left = _MARGIN + text_width(rows(int(self.leaf_rows.sum())), _SMALL) + 0.1
        leaf_x = left + level * tree.depth
        y = np.zeros(tree.n_nodes)
        y[tree.leaves] = _HEAD + _LINE * (np.arange(tree.n_leaves) + 0.5)
        for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parent
            if not is_leaf[node]:
                y[node] = (y[tree.children_left[node]] + y[tree.children_right[node]]) / 2
        x = np.where(is_leaf, leaf_x, left + level * tree.node_depth.astype(np.float64))
        ends = np.where(is_leaf, leaf_x - 0.04, x)
        bar_x = leaf_x + pill + _GAP
        figures_x = bar_x + _BAR + _GAP
        width = figures_x + max(text_width(text, _SMALL) for text in figures) + 0.05 + _MARGIN
        height = _HEAD + _LINE * tree.n_leaves + _FOOT
        return _Layout(
            x, y, ends, x[parents] + 0.08, ends - x[parents] - 0.14, leaf_x, pill, 0.25, titles, figures, figures_x,
            bar_x, _HEAD, width, height,
        )  # fmt: skip

    def _outline(self, width: float, height: float) -> _Layout:
        """A line a node, indented by its depth, on axes of a size in inches."""
        tree = self.tree
        n_lines = max(tree.n_nodes - 1, 1)
        scale = float(np.clip(height / (0.125 * n_lines + 0.3), 0.6, 0.93))
        width, height = width / scale, height / scale
        line = min((height - 0.3) / n_lines, _LINE)
        titles, pill = self._pills(10)
        figures = [f"{n:,}" + f" · {percent(float(purity))}" * self._knows_purity
                   for n, purity in zip(self.leaf_rows.tolist(), self.leaf_purity, strict=True)]  # fmt: skip
        figures_x = width - _MARGIN - max(text_width(text, _SMALL) for text in figures)
        leaf_x = figures_x - 0.08 - pill
        step = min(_STEP, 0.3 * leaf_x / max(tree.depth, 1))
        x = 0.08 + step * tree.node_depth.astype(np.float64)
        y = (0.3 + line * (np.arange(tree.n_nodes) - 0.5)).astype(np.float64)
        y[0] = 0.16
        text_x = x + 0.06
        room = np.where(tree.feature < 0, leaf_x, width - _MARGIN) - text_x - 0.06
        return _Layout(
            x, y, x, text_x, room, leaf_x, pill, min(0.19, 0.95 * line), titles, figures, figures_x, None, 0.3, width,
            height,
        )  # fmt: skip

    def _pills(self, length: int) -> tuple[list[str], float]:
        """What the clusters are called in so many characters, and the width in inches that holds any of them."""
        titles = [shorten(plain(title), length) for title in self.titles]
        clusters = self.tree.cluster[self.tree.leaves].tolist()
        return titles, max(text_width(titles[c], _FONT) for c in clusters) + 0.24


def _written(name_of: ShortNames, test: Condition, length: int) -> str:
    """A test with its column's name in so many characters; one of levels is so long as a whole, and they give way."""
    levels, codes = test.kind.levels, test.levels
    if levels is None:
        return condition_text(test, name_of(test.feature, length))
    name = name_of(test.feature, 30)
    for letters, most in ((60, 4), (30, 3), (30, 2), (18, 2), (12, 2), (8, 2)):
        named = levels if codes is None else [levels[c] if c < len(levels) else "other" for c in codes[:most]]
        kind = replace(test.kind, levels=tuple(shorten(x, letters) if isinstance(x, str) else x for x in named))
        if codes is None:
            text = condition_text(replace(test, kind=kind), name)
        else:
            text = shortened(replace(test, kind=kind, levels=tuple(range(len(codes)))), name, most)
        if len(text) <= length:
            return text
    if codes and len(codes) > 1:
        text = f"{name} {'not in' if test.outside else 'in'} {len(codes):,} levels"
    if len(text) <= length:
        return text
    return text.replace(name, name_of(test.feature, max(length - len(text) + len(name), 3)), 1)
