"""From a summary to a page: jinja2 writes it, with every name escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from cutwise.exceptions import MissingDependencyError
from cutwise.readouts.explained import explained_words, ratio_words
from cutwise.readouts.words import percent, rows

from .charts import curve_chart, histogram_path, short_number

__all__ = ["report_html", "report_json", "report_markdown"]

PROFILE_ROWS = 6
"""Columns that a card shows at once; the others are in the table below them."""


def report_html(summary: Mapping[str, Any]) -> str:
    """One self-contained page.

    ``summary``: as ``build_summary`` gives it. Returns ``html``: nothing in it asks for another file, and its own
    policy forbids every request. Raises ``MissingDependencyError``: jinja2 is not installed.
    """
    script = _own_file("script.js")
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    curve = summary["curve"]
    from markupsafe import Markup

    return _render(
        "page.html.jinja",
        summary,
        style=Markup(_own_file("style.css")),
        script=Markup(script),
        script_hash=hashed,
        # A single point is no curve.
        chart=curve_chart(curve, summary["headline"]["n_leaves"]) if curve and len(curve["n_leaves"]) > 1 else None,
        n_shown=PROFILE_ROWS,
    )


def report_markdown(summary: Mapping[str, Any]) -> str:
    """The report as Markdown.

    ``summary``: as ``build_summary`` gives it. Returns ``markdown``: characters of names that Markdown or HTML would
    obey are escaped. Raises ``MissingDependencyError``: jinja2 is not installed.
    """
    return _render("page.md.jinja", summary)


def report_json(summary: Mapping[str, Any]) -> str:
    """The summary itself, as JSON."""
    return json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _render(template: str, summary: Mapping[str, Any], **more: Any) -> str:
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise MissingDependencyError.of("jinja2", purpose="Writing a report", extra="report") from error
    is_html = ".html" in template
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_own_file),
        autoescape=is_html,
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
        told_ratio=_told_ratio,
        told_explained=_told_explained,
        markdown=_escape_markdown,
        breaks=_with_breaks,
    )
    page: str = environment.get_template(template).render(s=summary, **more)
    return page


def _figure(value: float | None) -> float:
    """A figure of the summary, where None stands for nan."""
    return math.nan if value is None else value


def _told_ratio(headline: Mapping[str, Any]) -> str:
    """What the cost ratio means, in words."""
    return ratio_words(_figure(headline["cost_ratio"]), headline["reference"], headline["cost_words"])


def _told_explained(headline: Mapping[str, Any]) -> str:
    """What the share kept means, in words."""
    explained, whole = _figure(headline["explained"]), _figure(headline["reference_explained"])
    return explained_words(explained, whole, headline["reference"], headline["cost_words"])


def _with_breaks(text: Any) -> Any:
    """Escaped, with places to break a line after the signs that join words in names."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"(?<=[_/])(?=\w)", "<wbr>", str(escape(text))))


def _escape_markdown(text: Any) -> str:
    escaped = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{c}" if c in "\\`*_[]|#~$" else c for c in escaped)


def _own_file(name: str) -> str:
    return files("cutwise.readouts.report").joinpath(name).read_text(encoding="utf-8")
