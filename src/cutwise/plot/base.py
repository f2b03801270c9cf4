"""What the displays share: axes to draw on, and what they read off a fitted model."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from cutwise.estimators import TreeEstimator, fitted
from cutwise.exceptions import InvalidInputError, optional_package
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.shown import ink_on
from cutwise.table.table import Table


class Inks(NamedTuple):
    """What a picture is drawn on and in, as ``#rrggbb``: the ground, text, lesser text, lines, and faint areas."""

    ground: str
    text: str
    muted: str
    rule: str
    faint: str

    @classmethod
    def of(cls, ax: Any) -> Self:
        """Those that are read on the figure of some axes, light or dark."""
        from matplotlib import rcParams
        from matplotlib.colors import to_hex, to_rgba

        ground = ax.figure.get_facecolor()
        if to_rgba(ground)[3] < 0.5:  # what lies behind is seen, and the style's text is made for it
            ground = ink_on(to_hex(rcParams["text.color"]))
        ground = to_hex(ground)
        text = ink_on(ground)
        return cls(ground, text, *(to_hex(tint(text, share, ground)) for share in (0.65, 0.25, 0.07)))


@dataclass(eq=False, repr=False)
class Display:
    """Parent of the displays: the axes that they were drawn on, once they are."""

    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    def _start(self, ax: Any, width: float, height: float) -> tuple[Any, Inks]:
        """The axes given, or those of a new figure of that size in inches, and what to draw in."""
        need_matplotlib()
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure(figsize=(width, height), layout="constrained").add_subplot()
        self.ax_, self.figure_ = ax, ax.figure
        return ax, Inks.of(ax)


def labeled_tree(model: TreeEstimator) -> LabeledTree:
    """The tree of a fitted model as displays take it."""
    return fitted(model, "A display")._labeled()


def read_rows(model: TreeEstimator, X: Any) -> Table:
    """The rows as a table with the columns of fit."""
    table = model._read(X)
    if table.n_rows == 0:
        raise InvalidInputError("X has no rows, so there is nothing to draw. Give at least one row.")
    return table


def need_matplotlib() -> None:
    """Refuse to go on where matplotlib is not installed."""
    optional_package("matplotlib", "Drawing", "plot")


def tint(color: str, amount: float, ground: str) -> tuple[float, float, float]:
    """A color mixed with the ground: 0 gives the ground, 1 the color."""
    rgb, below = (np.array([int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)]) for c in (color, ground))
    red, green, blue = (amount * rgb + (1 - amount) * below).tolist()
    return red, green, blue


def size_in_inches(ax: Any) -> tuple[float, float]:
    """Width and height of axes."""
    try:
        ax.figure.draw_without_rendering()
    except MemoryError as error:
        width, height = ax.figure.get_size_inches()
        raise InvalidInputError(
            f"A picture of {width:.0f} by {height:.0f} inches does not fit in memory. Give axes of a size of your own "
            "(ax), or draw a smaller tree: cost_curve finds them. export_text and report show trees of any size."
        ) from error
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return float(box.width), float(box.height)


def make_room(ax: Any, *, left: float = 0.0, right: float = 0.0, below: float = 0.0, above: float = 0.0) -> None:
    """Shrink axes by inches, to 0.4 of their width at least, for what stands around them, unless a layout does that."""
    if ax.figure.get_layout_engine() is not None:
        return
    place, (width, height) = ax.get_position(), size_in_inches(ax)
    wide, high = max(1 - (left + right) / width, 0.4), 1 - (below + above) / height
    x, y = place.x0 + place.width * left / width, place.y0 + place.height * below / height
    ax.set_position([x, y, place.width * wide, place.height * high])


def text_width(text: str, size: float) -> float:
    """Width in inches of a text of a font size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width) / 72.0


def fit_text(write: Callable[[int], str], longest: int, width: float, size: float) -> str:
    """What ``write`` gives for the longest name that fits into a width in inches, at a font size in points.

    It is called with the number of characters, from ``longest`` down to three.
    """
    if text_width(write(longest), size) <= width:
        return write(longest)
    n_fitting = bisect_right(range(3, longest), width, key=lambda length: text_width(write(length), size))
    return write(max(2 + n_fitting, 3))
