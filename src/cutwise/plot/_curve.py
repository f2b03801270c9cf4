"""What each further leaf buys: cost ratio and agreement against leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cutwise.estimators import CostCurve, cost_curve
from cutwise.plot.base import INK, MUTED, RULE, new_axes
from cutwise.readouts.explained import below_one
from cutwise.readouts.shown import COLORS
from cutwise.readouts.words import percent

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator

__all__ = ["CurveDisplay"]


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
        from matplotlib.ticker import MaxNLocator

        self.ax_ = ax = new_axes(ax, 6.8, 4.0)
        self.figure_ = ax.figure
        color = COLORS[0]
        few = len(self.n_leaves) <= 40
        ax.axhline(1.0, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        ax.plot(
            self.n_leaves, self.cost_ratio, color=color, linewidth=2, marker="o" if few else None, markersize=4.5,
            markeredgecolor="#ffffff", markeredgewidth=0.8, zorder=3,
        )  # fmt: skip
        known = self.cost_ratio[np.isfinite(self.cost_ratio)]
        top = max(float(known.max(initial=1.0)), 1.0)
        low = min(float(known.min(initial=1.0)), 1.0)
        spread = max(top - low, 0.01)
        ax.set_ylim(low - 0.08 * spread, top + 0.14 * spread)
        whose = "the reference clustering"
        if any(map(below_one, known)):
            whose += ", which costs more than the trees below"
        ax.annotate(
            whose, (1.0, 1.0), xycoords=ax.get_yaxis_transform(), xytext=(-2, -4),
            textcoords="offset points", ha="right", va="top", fontsize=8, color=MUTED,
        )  # fmt: skip
        if self.chosen is not None:
            self._point_at(ax, int(np.flatnonzero(self.n_leaves == self.chosen)[0]))
        ax.set_xlabel("leaves", color=INK)
        ax.set_ylabel("cost ratio", color=INK)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.grid(axis="y", color="#e6eaee", linewidth=0.8)
        ax.set_axisbelow(True)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            ax.spines[side].set_color(RULE)
        ax.tick_params(colors=MUTED, labelsize=9)
        return self

    def _point_at(self, ax: Any, i: int) -> None:
        n, ratio = int(self.n_leaves[i]), float(self.cost_ratio[i])
        ax.plot([n], [ratio], "o", markersize=9, markerfacecolor="#ffffff", markeredgecolor=COLORS[5],
                markeredgewidth=2.2, zorder=4)  # fmt: skip
        left = i > len(self.n_leaves) / 2
        ax.annotate(
            f"{n} leaves\ncost ratio {ratio:.4f}\nagreement {percent(float(self.agreement[i]))}", (n, ratio),
            xytext=(-14 if left else 14, 16), textcoords="offset points", ha="right" if left else "left", fontsize=8.5,
            color=INK, zorder=5, bbox={"boxstyle": "round,pad=0.35", "facecolor": "#ffffff", "edgecolor": RULE},
        )  # fmt: skip
