"""The report: a summary of a fitted model and a table as plain data, and that as HTML, Markdown or JSON."""

from .render import report_html as report_html
from .render import report_json as report_json
from .render import report_markdown as report_markdown
from .summary import SCHEMA_VERSION as SCHEMA_VERSION
from .summary import DescribedRows as DescribedRows
from .summary import ReportContext as ReportContext
from .summary import build_summary as build_summary
from .summary import count_rows as count_rows
