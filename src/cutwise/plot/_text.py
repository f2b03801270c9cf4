"""A text of a drawing: as large as its axes are when they are drawn, since a layout may make them smaller later."""

from __future__ import annotations

from typing import Any

from matplotlib.text import Text


class ScaledText(Text):
    """A text of a size in points at the drawing's own width, in data units that are inches of it."""

    def __init__(self, x: float, y: float, text: str, *, ax: Any, font: float, **style: Any) -> None:
        super().__init__(x, y, text, transform=ax.transData, parse_math=False, **style)
        self._font = font
        ax.add_artist(self).set_clip_on(False)

    def draw(self, renderer: Any) -> None:
        """Draw."""
        assert self.axes is not None
        (left, _), (right, _) = self.axes.transData.transform([(0.0, 0.0), (1.0, 0.0)])
        self.set_fontsize(self._font * (right - left) / renderer.points_to_pixels(72.0))
        super().draw(renderer)
