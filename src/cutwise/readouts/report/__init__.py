"""The report: a summary of a fitted model and a table as plain data, and that as HTML, Markdown or JSON."""

from .render import report_html, report_json, report_markdown
from .summary import SCHEMA_VERSION, DescribedRows, ReportContext, build_summary

__all__ = [
    "SCHEMA_VERSION",
    "DescribedRows",
    "ReportContext",
    "build_summary",
    "report_html",
    "report_json",
    "report_markdown",
]
