"""The geometry of the report's small pictures: lists of numbers in, coordinates out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["curve_chart", "histogram_path", "short_number"]


def short_number(value: float | None) -> str:
    """A figure that describes, to three digits or whole; thresholds are never written with this."""
    if value is None or math.isnan(value):
        return "n/a"
    text = f"{value:,.0f}" if 100 <= abs(value) < 1e9 else f"{value:.3g}".replace("e+", "e").replace("e0", "e")
    return text.replace("-", "−")


def histogram_path(counts: Sequence[int], width: float, height: float) -> str:
    """Steps of a histogram, the tallest as high as the picture, as the ``d`` of an SVG path; empty without rows."""
    most = max(counts, default=0)
    if most == 0:
        return ""
    step = width / len(counts)
    parts = [f"M0 {height:g}"]
    for i, count in enumerate(counts):
        # A bin with a row is never invisible.
        up = height - (max(height * count / most, 0.8) if count else 0)
        parts.append(f"V{up:.4g}H{(i + 1) * step:.4g}")
    return "".join([*parts, f"V{height:g}Z"])


def curve_chart(curve: Mapping[str, Any], chosen: int) -> dict[str, Any] | None:
    """Cost ratio against leaves.

    ``curve``: ``n_leaves``, ``cost_ratio``, ``explained`` and ``agreement``; ratios and shares may be None. ``chosen``:
    the leaves of the model that the report is about. Returns ``chart``: ``width``, ``height``, the area's ``left``,
    ``right``, ``top``, ``bottom``; ``points`` with ``x``, ``y``, ``leaves``, ``ratio``, ``explained``, ``agreement``,
    ``chosen``; ``line``; ticks ``x_ticks`` and ``y_ticks`` as pairs of place and text; ``one``: where the reference is.
    None when no ratio is known.
    """
    names = ("n_leaves", "cost_ratio", "explained", "agreement")
    rows = zip(*(curve[name] for name in names), strict=True)
    known: list[tuple[int, float, float | None, float]] = [row for row in rows if row[1] is not None]
    if not known:
        return None
    width, height = 1060.0, 320.0
    left, right, top, bottom = 92.0, width - 20.0, 16.0, height - 62.0
    first, last = known[0][0], known[-1][0]
    ratios = [ratio for _, ratio, _, _ in known]
    y_ticks = _ticks(min(1.0, *ratios), max(1.0, *ratios))
    low, high = y_ticks[0], max(y_ticks[-1], *ratios)

    def across(n: float) -> float:
        part = 0.5 if last == first else (n - first) / (last - first)
        return round(left + part * (right - left), 1)

    def up(ratio: float) -> float:
        return round(bottom - (ratio - low) / (high - low) * (bottom - top), 1)

    points = [
        {"x": across(n), "y": up(r), "leaves": n, "ratio": r, "explained": e, "agreement": a, "chosen": n == chosen}
        for n, r, e, a in known
    ]
    digits = max(0, -math.floor(math.log10(y_ticks[1] - y_ticks[0]) + 1e-9))
    return {
        "width": width,
        "height": height,
        "left": left,
        "right": right,
        "top": top,
        "bottom": bottom,
        "points": points,
        "line": " ".join(f"{p['x']:g},{p['y']:g}" for p in points),
        "x_ticks": [(across(n), str(n)) for n in _whole_ticks(first, last)],
        "y_ticks": [(up(tick), f"{tick:.{digits}f}") for tick in y_ticks],
        "one": up(1.0),
    }


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers from below ``low`` to about ``high``."""
    spread = max(high - low, 1e-4 * max(abs(high), 1.0))
    raw = spread / 4
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(m * unit for m in (1, 2, 2.5, 5, 10) if m * unit >= raw)
    first = math.floor(low / step + 1e-9)
    n = math.ceil((high - first * step) / step - 1e-9)
    return [(first + i) * step for i in range(max(n, 1) + 1)]


def _whole_ticks(first: int, last: int) -> list[int]:
    step = max(1, math.ceil((last - first) / 10))
    return list(range(first, last + 1, step))
