"""One color for each cluster, the same in every plot and report, told apart with any kind of color vision.

The first six are those of Okabe and Ito (2008). The others were added one by one, each the color furthest from all
before it, where the distance of two colors is the least that people with normal vision, without red, green or blue
cones see (Machado, Oliveira, Fernandes 2009; distances in OKLab). All stand out from white and from near black.
"""

from __future__ import annotations

__all__ = ["COLORS", "cluster_color", "ink_on"]

# fmt: off
COLORS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#841830", "#3cf0c0", "#0c00d8", "#6c1884",
    "#9c6cfc", "#84546c", "#d8d860", "#c01800", "#90c084", "#b4ccfc", "#8424fc", "#cc0ca8", "#7890d8", "#606030",
    "#f06078", "#78cccc", "#846c54", "#783c78", "#4824a8", "#d88418", "#8460d8", "#fc84fc", "#6048cc", "#6c6090",
)
# fmt: on
"""Thirty colors; clusters beyond use them again, so names and numbers always stand beside a color."""

DARK, LIGHT = "#111418", "#ffffff"


def cluster_color(code: int) -> str:
    """The color of a cluster.

    Parameters
    ----------
    code : int
        Its code in the tree, from 0.

    Returns
    -------
    color : str
        ``#rrggbb``.
    """
    return COLORS[code % len(COLORS)]


def ink_on(color: str) -> str:
    """Black or white, whichever is easier to read on a color.

    Parameters
    ----------
    color : str
        ``#rrggbb``.

    Returns
    -------
    ink : str
        The one with the larger contrast ratio by the Web Content Accessibility Guidelines (WCAG 2).
    """
    luminance = _luminance(color)
    on_light = 1.05 / (luminance + 0.05)
    on_dark = (luminance + 0.05) / (_luminance(DARK) + 0.05)
    return LIGHT if on_light >= on_dark else DARK


def _luminance(color: str) -> float:
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
