"""What further leaves and longer rules buy: cost ratio and agreement against these."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import hypot
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cutwise.estimators import CostCurve, ExplainableClusterer, TreeEstimator, TreeFront, cost_curve
from cutwise.exceptions import UnsupportedInputError
from cutwise.plot.base import Display, Inks, size_in_inches
from cutwise.readouts.shown import COLORS
from cutwise.readouts.words import below_one, percent

_SMALL = 3.4  # inches across, below which texts are shorter


class _CostsDisplay(Display):
    """Part of the displays of cost ratios."""

    cost_ratio: npt.NDArray[np.float64]

    def _draw_costs(
        self, ax: Any, x: npt.NDArray[Any], label: str, short: str | None = None
    ) -> tuple[Any, Inks, _Places]:
        """Draw the cost ratios of trees, and the line of the reference clustering: axes, inks, and places for texts.

        ``label``: of the line across; ``short``: where it has little room.
        """
        from matplotlib.ticker import MaxNLocator

        ax, inks = self._start(ax, 6.8, 4.0)
        cost_ratio, few = self.cost_ratio, len(x) <= 40
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
        if x.dtype.kind == "i":
            ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ax.grid(axis="y", color=inks.faint, linewidth=0.8)
        ax.set_axisbelow(True)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            ax.spines[side].set_color(inks.rule)
        ax.tick_params(colors=inks.muted, labelsize=9)
        ax.set_ylabel("cost ratio", color=inks.text)
        ax.set_xlabel(short if short and size_in_inches(ax)[0] < _SMALL else label, color=inks.text)
        places = _Places(ax, x, cost_ratio)
        whose = "the reference clustering"
        if any(map(below_one, known)) and size_in_inches(ax)[0] > 2:
            whose += (
                ",\nwhich costs more than trees below" if places.small else ", which costs more than the trees below"
            )
        spots = [(side, 1.0, 2 - 4 * side, up) for up in (-4, 4) for side in (1, 0)]
        across = ax.get_yaxis_transform()
        places.put(whose, spots, xycoords=across, fontsize=8 - places.small, color=inks.muted)
        return ax, inks, places


@dataclass(eq=False, repr=False)
class CurveDisplay(_CostsDisplay):
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
        ax, inks, places = self._draw_costs(ax, self.n_leaves, "leaves")
        if self.chosen is not None:
            self._point_at(ax, inks, int(np.flatnonzero(self.n_leaves == self.chosen)[0]), places)
        return self

    def _point_at(self, ax: Any, inks: Inks, i: int, places: _Places) -> None:
        n, ratio = int(self.n_leaves[i]), float(self.cost_ratio[i])
        ax.plot([n], [ratio], "o", markersize=9, markerfacecolor=inks.ground, markeredgecolor=COLORS[5],
                markeredgewidth=2.2, zorder=4)  # fmt: skip
        steps = [14 * sign * far for far in (1, 2, 3, 5, 8) for sign in (1, -1)]
        around = sorted(product(steps, steps), key=lambda offset: hypot(*offset))
        places.put(
            f"{n} leaves\ncost ratio {ratio:.4f}\nagreement {percent(float(self.agreement[i]))}",
            [(n, ratio, *offset) for offset in around], pad=5, fontsize=8.5 - places.small, color=inks.text, zorder=5,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": inks.ground, "edgecolor": inks.rule},
        )  # fmt: skip


@dataclass(eq=False, repr=False)
class FrontDisplay(_CostsDisplay):
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
        UnsupportedInputError
            Another estimator, which has no fronts.
        """
        if not isinstance(model, ExplainableClusterer):
            raise UnsupportedInputError(
                f"A front takes ExplainableKMeans or ExplainableKMedians, not {type(model).__name__}. For other models "
                "draw cost against leaves: CurveDisplay."
            )
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
        label = "conditions in the rule of a row, in the mean"
        ax, inks, places = self._draw_costs(ax, self.waes, label, "conditions a row")
        above = [(1.0, y, -1, -1) for y in (1.0, 0.9, 0.8)]
        places.put("numbers: leaves", above, xycoords="axes fraction", fontsize=8, color=inks.muted)
        around = [(4, 5), (-4, 5), (4, -5), (-4, -5), (10, 0), (-10, 0), (0, 7), (0, -7)]
        for n, waes, ratio in zip(self.n_leaves.tolist(), self.waes, self.cost_ratio, strict=True):
            spots = [(waes, ratio, *offset) for offset in around]
            places.put(str(n), spots, needed=False, fontsize=8, color=inks.text)
        return self


class _Places:
    """Where texts have been put beside a line, to put others where they cover neither, within the axes."""

    def __init__(self, ax: Any, x: npt.NDArray[Any], y: npt.NDArray[np.float64]) -> None:
        self._ax, self._taken = ax, list[Any]()
        self.small = size_in_inches(ax)[0] < _SMALL
        known = np.isfinite(y)
        corners = ax.transData.transform(np.column_stack([x[known], y[known]]).astype(np.float64).reshape(-1, 2))
        steps = np.linspace(0, max(len(corners) - 1, 0), 40 * len(corners))
        at = np.arange(len(corners))
        self._line = np.column_stack([np.interp(steps, at, c) for c in corners.T]) if len(corners) else corners
        self._corners = corners

    def put(
        self, text: str, spots: list[tuple[Any, ...]], *, needed: bool = True, pad: float = 1, **style: Any
    ) -> None:
        """Write where it covers least; ``spots``: x, y, and how many points to the right and above.

        ``needed``: whether to write it also where it covers another text, leaves the axes, or stands nearer to
        another corner of the line than to its own. ``pad``: points around it.
        """
        put = self._ax.annotate(text, (0, 0), xytext=(0, 0), textcoords="offset points", **style)
        put.set_in_layout(False)  # axes do not give way to what stands in them

        def move(spot: tuple[Any, ...]) -> Any:
            x, y, across, up = spot
            put.xy, put.xyann = (x, y), (across, up)
            put.set(ha="left" if across > 0 else "right" if across < 0 else "center")
            put.set(va="bottom" if up > 0 else "top" if up < 0 else "center")
            return put.get_window_extent().padded(pad * self._ax.figure.dpi / 72)

        def covered(spot: tuple[Any, ...]) -> tuple[float, ...]:
            box = move(spot)
            return (0 if needed else self._beside_another(box, spot), *self._covered(box))

        best = min(spots, key=covered)
        if any(covered(best)[:3]) and not needed:
            put.remove()
        else:
            self._taken.append(move(best))

    def _beside_another(self, box: Any, spot: tuple[Any, ...]) -> bool:
        """Whether a box stands nearer to another corner of the line than to the point that it is about."""
        middle = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
        own = self._ax.transData.transform(spot[:2]) - middle
        return bool(np.hypot(*own) > np.hypot(*(self._corners - middle).T).min() + 1e-6)

    def _covered(self, box: Any) -> tuple[int, float, int]:
        """Other texts, how far beyond the axes, and how much of the line."""
        own, (x, y) = self._ax.get_window_extent(), self._line.T
        beyond = max(own.x0 - box.x0, 0) + max(box.x1 - own.x1, 0) + max(own.y0 - box.y0, 0) + max(box.y1 - own.y1, 0)
        inside = (box.x0 <= x) & (x <= box.x1) & (box.y0 <= y) & (y <= box.y1)
        return box.count_overlaps(self._taken), round(beyond), int(np.count_nonzero(inside))
