"""Renders a summary as a page by jinja2, with every name escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from cutwise.exceptions import optional_package
from cutwise.readouts.shown import harmless, html_text
from cutwise.readouts.words import COSTS_UNKNOWN, explained_text, explained_words, percent, ratio_words, rows

PROFILE_ROWS = 6
"""Columns that a card shows at once; its table has the others."""


def report_html(summary: Mapping[str, Any]) -> str:
    """Render one self-contained page.

    ``summary``: from ``build_summary``. Returns ``html``: refers to no other file, and its own content security policy
    forbids every request. Raises ``MissingDependencyError``: jinja2 is not installed.
    """
    script = _own_file("script.js")
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    curve = summary["curve"]
    return _render(
        "page.html.jinja",
        summary,
        style=_own_file("style.css"),
        script=script,
        script_hash=hashed,
        # A single point is no curve.
        chart=curve_chart(curve, summary["headline"]["n_leaves"]) if curve and len(curve["n_leaves"]) > 1 else None,
        n_shown=PROFILE_ROWS,
    )


def report_markdown(summary: Mapping[str, Any]) -> str:
    """Render the report as Markdown.

    ``summary``: from ``build_summary``. Returns ``markdown``: characters of names that are markup in Markdown or HTML
    are escaped. Raises ``MissingDependencyError``: jinja2 is not installed.
    """
    return _render("page.md.jinja", summary)


def report_json(summary: Mapping[str, Any]) -> str:
    """Write the summary as JSON."""
    return json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _render(template: str, summary: Mapping[str, Any], **more: Any) -> str:
    jinja2 = optional_package("jinja2", "Writing a report", "report")
    page: str = _environment(jinja2, ".html" in template).get_template(template).render(s=summary, **more)
    return page


@cache  # with its compiled templates: compiling one takes longer than a report
def _environment(jinja2: Any, is_html: bool) -> Any:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_own_file),
        autoescape=is_html,
        finalize=_finished,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        percent=lambda share: percent(_figure(share)),
        rows=rows,
        short=short_number,
        histogram=histogram_path,
        ratio_in_words=_ratio_in_words,
        explained_in_words=_explained_in_words,
        cart_in_words=_cart_in_words,
        markdown=_escape_markdown,
        kept=lambda share, whole: explained_text(_figure(share), _figure(whole)),
        breaks=_with_breaks,
        isolate=_isolated,
        copied=_to_be_copied,
    )
    return environment


def _figure(value: float | None) -> float:
    """Convert a figure of the summary to float; None becomes nan."""
    return math.nan if value is None else value


def _ratio_in_words(headline: Mapping[str, Any]) -> str:
    """Explain the cost ratio, in words."""
    if headline["cost"] is None:
        return COSTS_UNKNOWN
    return _whole(ratio_words(_figure(headline["cost_ratio"]), headline["reference"], headline["cost_words"]))


def _explained_in_words(headline: Mapping[str, Any]) -> str:
    """Write the share explained, in words."""
    if headline["cost"] is None:
        return COSTS_UNKNOWN
    explained, whole = _figure(headline["explained"]), _figure(headline["reference_explained"])
    return _whole(explained_words(explained, whole, headline["reference"], headline["cost_words"]))


def _cart_in_words(cart: Mapping[str, Any]) -> str:
    """Cost ratio and agreement of plain CART, in words."""
    ratio = "" if cart["cost_ratio"] is None else f"cost ratio {cart['cost_ratio']:.4f}, "
    return _whole(f"{ratio}agreement {percent(_figure(cart['agreement']))}")


def _whole(text: str) -> str:
    """Replace the space before every per cent sign by one that does not break."""
    return text.replace(" %", "\u00a0%")


def _finished(value: Any) -> Any:
    """Escape control characters in a template's values, except in text that is marked as escaped, such as code."""
    return harmless(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _with_breaks(text: Any) -> Any:
    """Escape text, with opportunities for line breaks between the words of names."""
    from markupsafe import Markup, escape

    def write(part: str) -> str:
        return re.sub(r"(?<=[_/])(?=\w)|(?<=\.)(?=[^\W\d])|(?<=[a-z])(?=[A-Z])", "<wbr>", str(escape(part)))

    return Markup(html_text(text, write))


def _isolated(text: str) -> Any:
    """Escape text for an attribute; isolating characters replace the ``bdi`` elements."""
    from markupsafe import Markup

    return Markup(html_text(text, isolate=("\u2068", "\u2069")))


def _to_be_copied(text: str) -> Any:
    """Escape text that readers copy: all of its characters stay, also those that browsers change."""
    from markupsafe import Markup, escape

    return Markup(str(escape(text)).replace("\r", "&#13;"))


def _escape_markdown(text: Any) -> str:
    escaped = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{c}" if c in "\\`*_[]|#~$" else c for c in escaped)


def _own_file(name: str) -> str:
    return files("cutwise.readouts.report").joinpath(name).read_text(encoding="utf-8")


# ---- small pictures: lists of numbers in, coordinates out


def short_number(value: float | None) -> str:
    """Write a descriptive figure, to three digits or whole; never used for thresholds."""
    if value is None or math.isnan(value):
        return "n/a"
    mark = "," if abs(value) >= 10_000 else ""  # years have no comma
    text = f"{value:{mark}.0f}" if 100 <= abs(value) < 1e9 else f"{value:.3g}".replace("e+", "e").replace("e0", "e")
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
    """Geometry of the chart of cost ratio against number of leaves.

    ``curve``: ``n_leaves``, ``cost_ratio``, ``explained`` and ``agreement``; ratios and shares may be None. ``chosen``:
    number of leaves of the model in the report. Returns ``chart``: ``width``, ``height``, the area's ``left``,
    ``right``, ``top``, ``bottom``; ``points`` with ``x``, ``y``, ``leaves``, ``ratio``, ``explained``, ``agreement``,
    ``chosen``; ``line``; ticks ``x_ticks`` and ``y_ticks`` as pairs of place and text; ``one``: y of ratio 1.
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
    digits = max(0, -int(Decimal(f"{y_ticks[1] - y_ticks[0]:.2g}").normalize().as_tuple().exponent))  # 0.025 has three
    return {
        "width": width,
        "height": height,
        "left": left,
        "right": right,
        "top": top,
        "bottom": bottom,
        "points": points,
        "line": " ".join(f"{p['x']:g},{p['y']:g}" for p in points),
        "x_ticks": [(across(n), str(n)) for n in range(first, last + 1, math.ceil((last - first) / 10) or 1)],
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
