"""Clusters against the whole: how far each cluster's mean is from that of all rows, column by column."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from cutwise.estimators import TreeEstimator
from cutwise.passes.rows import BatchedRows
from cutwise.passes.sources import as_lazy
from cutwise.passes.spill import Copies
from cutwise.plot.base import (
    Display,
    Inks,
    fit_text,
    labeled_tree,
    make_room,
    need_matplotlib,
    read_rows,
    size_in_inches,
    text_width,
)
from cutwise.readouts.profile import Profile, profile_batches, profile_clusters, tested_levels
from cutwise.readouts.shown import DARK, LIGHT, ShortNames, cluster_color, plain, shorten
from cutwise.table.intake import check_integer

_CELL = 0.27  # inches up
_NAME = 44  # characters of a column's name


@dataclass(eq=False, repr=False)
class ProfileDisplay(Display):
    """A heat map of standardized differences, a column of the table a line and a cluster a column.

    Parameters
    ----------
    profile : Profile
    names : sequence of str
        Of what the profile has: columns of the table, and some levels of its categories.
    titles : sequence of str
        Of the clusters.
    max_columns : int, default=30
        Lines to show, columns of the table or levels of its categories: those in which some cluster differs most.

    Attributes
    ----------
    difference_ : ndarray of shape (n_shown, n_clusters), float64
        What the picture shows: mean of the cluster minus mean of all rows, in standard deviations of all rows.
    columns_ : ndarray of shape (n_shown,), int64
        The columns shown, from top to bottom.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    profile: Profile
    names: tuple[str, ...]
    titles: list[str]
    max_columns: int = 30
    difference_: Any = field(default=None, init=False)
    columns_: Any = field(default=None, init=False)

    @classmethod
    def from_estimator(cls, model: TreeEstimator, X: Any, *, max_columns: int = 30, ax: Any = None) -> Self:
        """Draw what the rows of each cluster are like.

        Parameters
        ----------
        model : estimator of cutwise
        X : array-like, sparse matrix, data frame or lazy table of shape (n_samples, n_features)
            The rows to describe; the tree says which cluster each is in.
        max_columns : int, default=30
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : ProfileDisplay

        Raises
        ------
        MissingDependencyError
            matplotlib is not installed.
        """
        check_integer("max_columns", max_columns, minimum=1)
        labeled = labeled_tree(model)
        tree, k = labeled.tree, len(labeled.labels)
        if (lazy := as_lazy(X)) is not None:
            with Copies() as copies:
                rows = BatchedRows.read(lazy.read_by(partial(read_rows, model)), copies)
                profile = profile_batches(rows, lambda part: tree.predict(part.table), k, tested_levels(tree))
        else:
            table = read_rows(model, X)
            profile = profile_clusters(table, tree.predict(table), k, tested=tested_levels(tree))
        names = profile.names(labeled.columns, dict(enumerate(labeled.names)))
        return cls(profile, tuple(names), list(map(str, labeled.titles)), max_columns).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : ProfileDisplay
        """
        need_matplotlib()
        everything = self.profile.difference.T  # column by cluster
        strength = np.nan_to_num(np.abs(everything)).max(axis=1)
        n_clusters, most, room, font = everything.shape[1], self.max_columns, 99.0, 8.5
        small = ax is not None
        if ax is not None:
            width, height = size_in_inches(ax)
            small = width < 5 or height < 3.5
        if small:
            # As many lines as are legible, and names in a part of the width.
            font, room = 7.0, 0.36 * width
            most = min(most, max(int((height - 0.75) / 0.14), 1))
        order = np.argsort(-strength, kind="stable")[:most]
        self.difference_ = shown = everything[order]
        self.columns_ = self.profile.columns[order]
        n_shown = len(shown)
        cell = 0.5 if n_clusters <= 12 else 0.36
        short = ShortNames([self.names[i] for i in order])
        names = [fit_text(partial(short, i), _NAME, room, font) for i in range(n_shown)]
        clusters = [shorten(plain(title), 10 if small else 18) for title in self.titles]
        margin = max(text_width(name, font) for name in names) + 0.3
        if small:
            cell = (width - margin) / n_clusters
        longest = max(text_width(title, font) for title in clusters)
        upright = longest > cell - 0.08
        head = (longest if upright else 0.2) + 0.45
        ax, inks = self._start(ax, margin + max(cell * n_clusters, 1.6) + 1.1, head + max(_CELL * n_shown, 1.6) + 0.35)
        if small:
            make_room(ax, left=margin, below=0.42, above=head - 0.1)
        limit = min(max(float(np.nanmax(np.abs(shown), initial=0.5)), 0.5), 2.5)
        image = ax.imshow(shown, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
        said = n_clusters <= 12 and cell > text_width("+9.9", 6.0 if small else 7.5)
        if said:
            self._write_values(ax, 0.62 * limit, 6.0 if small else 7.5)
        ax.set_yticks(range(n_shown), labels=names, fontsize=font, color=inks.text, parse_math=False)
        turn = 90 if upright else 0
        ax.set_xticks(range(n_clusters), clusters, fontsize=font, color=inks.text, parse_math=False, rotation=turn)
        ax.tick_params(length=0, top=False, bottom=False, labeltop=True, labelbottom=False, pad=7)
        ax.tick_params(axis="y", pad=4)
        ax.set_xticks(np.arange(n_clusters + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n_shown + 1) - 0.5, minor=True)
        ax.grid(which="minor", color=inks.ground, linewidth=1.2)
        ax.tick_params(which="minor", length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        self._strip(ax, n_clusters)
        what = "mean against all rows{},\nin standard deviations"
        if small:
            signs = what.format("" if said else " (red: above)")
            ax.set_xlabel(signs, fontsize=font - 0.5, color=inks.muted)
            return self
        self._add_color_bar(image, ax, inks, what.format(""), limit)
        return self

    def _write_values(self, ax: Any, strong: float, font: float) -> None:
        """Write the differences into the cells; from ``strong`` on cells are dark."""
        for (i, j), value in np.ndenumerate(self.difference_):
            if np.isfinite(value):
                written = f"{value:+.1f}".replace("-", "−") if abs(value) >= 0.05 else "0.0"
                ink = LIGHT if abs(value) > strong else DARK
                ax.text(j, i, written, ha="center", va="center", fontsize=font, color=ink)

    def _add_color_bar(self, image: Any, ax: Any, inks: Inks, label: str, limit: float) -> None:
        """Explain the colors beside the cells; ``limit``: the largest difference with a color of its own."""
        beyond = "both" if np.nanmax(np.abs(self.difference_), initial=0.0) > limit else "neither"
        shrink = min(1.0, 1.8 / max(_CELL * len(self.difference_), 1.6))
        bar = self.figure_.colorbar(image, ax=ax, shrink=shrink, pad=0.02, extend=beyond, anchor=(0.0, 1.0), aspect=14)
        bar.set_label(label, fontsize=8, color=inks.muted)
        bar.ax.tick_params(labelsize=8, colors=inks.muted, length=2)
        bar.outline.set_visible(False)

    def _strip(self, ax: Any, k: int) -> None:
        """The clusters' colors above the cells."""
        from matplotlib.patches import Rectangle
        from matplotlib.transforms import ScaledTranslation, blended_transform_factory

        # A strip of fixed height just above the axes, whatever their size.
        up = ScaledTranslation(0, 2 / 72, ax.figure.dpi_scale_trans)
        above = blended_transform_factory(ax.transData, ax.transAxes) + up
        height = 4 / 72 / max(ax.get_window_extent().height / ax.figure.dpi, 0.2)
        for code in range(k):
            patch = Rectangle((code - 0.46, 1.0), 0.92, height, transform=above, clip_on=False, linewidth=0)
            patch.set_facecolor(cluster_color(code))
            ax.add_patch(patch)
