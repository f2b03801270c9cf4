"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["markdown_table"]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table whose first ``left`` columns are set flush left, and the others flush right."""
    rule = ["---" if column < left else "---:" for column in range(len(header))]
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, rule, *rows)]
    return "\n".join(lines) + "\n"
