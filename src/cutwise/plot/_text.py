"""Text in pictures, measured before it is drawn."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["fit_text", "text_width"]


def text_width(text: str, size: float) -> float:
    """Width in inches of a text of a font size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width) / 72.0


def fit_text(write: Callable[[int], str], longest: int, width: float, size: float) -> str:
    """The longest of some texts that fits.

    Parameters
    ----------
    write : callable
        Gives the text with a name of at most so many characters.
    longest : int
        The name's own length.
    width : float
        Inches.
    size : float
        Font size in points.

    Returns
    -------
    text : str
        With a name of three characters where even that is too long.
    """
    if text_width(write(longest), size) <= width:
        return write(longest)
    low, high = 3, max(longest, 3)
    while low < high:  # the longest name that fits, by halving
        middle = (low + high + 1) // 2
        if text_width(write(middle), size) <= width:
            low = middle
        else:
            high = middle - 1
    return write(low)
