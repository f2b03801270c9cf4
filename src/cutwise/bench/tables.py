"""Tables as Markdown, and files that appear whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from pathlib import Path

__all__ = ["markdown_table", "write_text"]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table whose first ``left`` columns are set flush left, and the others flush right."""
    rule = ["---" if column < left else "---:" for column in range(len(header))]
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, rule, *rows)]
    return "\n".join(lines) + "\n"


def write_text(path: Path, content: str | bytes) -> None:
    """Write a file beside its place, and move it there."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
