"""What further leaves and longer rules buy: cost ratio and agreement against these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cutwise.estimators import CostCurve, TreeFront, cost_curve
from cutwise.plot.base import Inks, new_axes
from cutwise.readouts.shown import COLORS
from cutwise.readouts.words import below_one, percent

if TYPE_CHECKING:
    from cutwise.estimators import ExplainableClusterer, TreeEstimator


@dataclass(eq=False)
class CurveDisplay:
    """Cost ratio, and agreement with the reference, against the number of leaves.

    Parameters
    ----------
    n_leaves : ndarray of shape (n_points,), int64
    cost_ratio, agreement : ndarray of shape (n_points,), float64
    chosen : int, default=None
        A number of leaves to point at.

    Attributes
    ----------
    curve : CostCurve or None
        What ``from_estimator`` computed.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    n_leaves: npt.NDArray[np.int64]
    cost_ratio: npt.NDArray[np.float64]
    agreement: npt.NDArray[np.float64]
    chosen: int | None = None
    curve: CostCurve | None = None
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    @classmethod
    def from_estimator(
        cls,
        model: TreeEstimator,
        X: Any,
        y: Any = None,
        *,
        max_leaves: int | None = None,
        within: float | None = None,
        ax: Any = None,
        **fit: Any,
    ) -> Self:
        """Fit once and draw the cost of every size.

        Parameters
        ----------
        model : estimator of cutwise
            Fitted or not; see :func:`cutwise.cost_curve`.
        X, y, max_leaves, **fit
            As in :func:`cutwise.cost_curve`.
        within : float, default=None
            Point at the smallest tree within so much of the reference's cost: 0.02 is two per cent.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : CurveDisplay

        Raises
        ------
        MissingDependencyError
            matplotlib is not installed.
        """
        return cls.from_curve(cost_curve(model, X, y, max_leaves=max_leaves, **fit), within=within, ax=ax)

    @classmethod
    def from_curve(cls, curve: CostCurve, *, within: float | None = None, ax: Any = None) -> Self:
        """Draw a curve that is there already.

        Parameters
        ----------
        curve : CostCurve
        within : float, default=None
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : CurveDisplay
        """
        chosen = None if within is None else curve.smallest(within)
        return cls(curve.n_leaves, curve.cost_ratio, curve.agreement, chosen, curve).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : CurveDisplay
        """
        self.ax_ = ax = _axes_of_costs(ax, self.n_leaves, self.cost_ratio, "leaves")
        self.figure_ = ax.figure
        if self.chosen is not None:
            self._point_at(ax, int(np.flatnonzero(self.n_leaves == self.chosen)[0]))
        return self

    def _point_at(self, ax: Any, i: int) -> None:
        n, ratio, inks = int(self.n_leaves[i]), float(self.cost_ratio[i]), Inks.of(ax)
        ax.plot([n], [ratio], "o", markersize=9, markerfacecolor=inks.ground, markeredgecolor=COLORS[5],
                markeredgewidth=2.2, zorder=4)  # fmt: skip
        left = i > len(self.n_leaves) / 2
        ax.annotate(
            f"{n} leaves\ncost ratio {ratio:.4f}\nagreement {percent(float(self.agreement[i]))}", (n, ratio),
            xytext=(-14 if left else 14, 16), textcoords="offset points", ha="right" if left else "left", fontsize=8.5,
            color=inks.text, zorder=5,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": inks.ground, "edgecolor": inks.rule},
        )  # fmt: skip


@dataclass(eq=False)
class FrontDisplay:
    """Cost ratio against the conditions of a rule, a point a tree, with its number of leaves.

    Parameters
    ----------
    n_leaves : ndarray of shape (n_trees,), int64
    waes, cost_ratio : ndarray of shape (n_trees,), float64

    Attributes
    ----------
    front : TreeFront or None
        What ``from_estimator`` computed.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    n_leaves: npt.NDArray[np.int64]
    waes: npt.NDArray[np.float64]
    cost_ratio: npt.NDArray[np.float64]
    front: TreeFront | None = None
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    @classmethod
    def from_estimator(
        cls, model: ExplainableClusterer, X: Any, *, max_leaves: int | None = None, ax: Any = None, **fit: Any
    ) -> Self:
        """Search once and draw the trees to choose from.

        Parameters
        ----------
        model : ExplainableKMeans or ExplainableKMedians
            Fitted or not.
        X, max_leaves, **fit
            As in its ``front``.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : FrontDisplay

        Raises
        ------
        MissingDependencyError
            matplotlib is not installed.
        """
        return cls.from_front(model.front(X, max_leaves=max_leaves, **fit), ax=ax)

    @classmethod
    def from_front(cls, front: TreeFront, *, ax: Any = None) -> Self:
        """Draw a front that is there already.

        Parameters
        ----------
        front : TreeFront
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : FrontDisplay
        """
        return cls(front.n_leaves, front.waes, front.cost_ratio, front).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : FrontDisplay
        """
        self.ax_ = ax = _axes_of_costs(ax, self.waes, self.cost_ratio, "conditions in the rule of a row, in the mean")
        self.figure_ = ax.figure
        inks = Inks.of(ax)
        for n, waes, ratio in zip(self.n_leaves.tolist(), self.waes, self.cost_ratio, strict=True):
            ax.annotate(str(n), (waes, ratio), xytext=(4, 5), textcoords="offset points", fontsize=8, color=inks.text)
        ax.annotate(
            "numbers: leaves", (1.0, 1.0), xycoords="axes fraction", ha="right", va="top", fontsize=8, color=inks.muted
        )
        return self


def _axes_of_costs(ax: Any, x: npt.NDArray[Any], cost_ratio: npt.NDArray[np.float64], label: str) -> Any:
    """Axes with the cost ratios of trees, and the line of the reference clustering."""
    from matplotlib.ticker import MaxNLocator

    ax = new_axes(ax, 6.8, 4.0)
    inks = Inks.of(ax)
    few = len(x) <= 40
    ax.axhline(1.0, color=inks.muted, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    ax.plot(
        x, cost_ratio, color=COLORS[0], linewidth=2, marker="o" if few else None, markersize=4.5,
        markeredgecolor=inks.ground, markeredgewidth=0.8, zorder=3,
    )  # fmt: skip
    known = cost_ratio[np.isfinite(cost_ratio)]
    top = max(float(known.max(initial=1.0)), 1.0)
    low = min(float(known.min(initial=1.0)), 1.0)
    spread = max(top - low, 0.01)
    ax.set_ylim(low - 0.08 * spread, top + 0.14 * spread)
    whose = "the reference clustering"
    if any(map(below_one, known)):
        whose += ", which costs more than the trees below"
    ax.annotate(
        whose, (1.0, 1.0), xycoords=ax.get_yaxis_transform(), xytext=(-2, -4),
        textcoords="offset points", ha="right", va="top", fontsize=8, color=inks.muted,
    )  # fmt: skip
    ax.set_xlabel(label, color=inks.text)
    ax.set_ylabel("cost ratio", color=inks.text)
    if x.dtype.kind == "i":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.grid(axis="y", color=inks.faint, linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(inks.rule)
    ax.tick_params(colors=inks.muted, labelsize=9)
    return ax
