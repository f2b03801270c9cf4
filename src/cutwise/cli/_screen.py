"""The screen: tables for people on a terminal, plain lines for pipes, notes on standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

__all__ = ["note", "one_line", "print_document", "print_line", "print_table", "working"]

# Column and cluster names come from files: a terminal must not obey what stands in them.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """The text with control characters, but for line breaks and tabs, spelled out."""
    return _CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """The text on one line."""
    return " ".join(harmless(text).split())


def note(text: str) -> None:
    """One line on standard error, beside the results; what cannot be written there ends no run."""
    with suppress(OSError):
        sys.stderr.write(f"cutwise: {one_line(text)}\n")


def print_line(text: str = "") -> None:
    """A line of the results."""
    sys.stdout.write(harmless(text) + "\n")


def print_document(text: str) -> None:
    """A text for a file or another program, to the byte; what a terminal would obey is spelled out on one."""
    sys.stdout.write(harmless(text) if sys.stdout.isatty() else text)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """A table of the results: ruled and wrapped on a terminal, aligned plain text elsewhere.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequences of str
        A cell may hold several lines.
    right : sequence of int
        The columns to set flush right.
    """
    cells = [[harmless(cell) for cell in row] for row in [header, *rows]]
    if sys.stdout.isatty():
        _print_ruled(cells[0], cells[1:], right)
    else:
        _print_plain(cells, right)


def _print_ruled(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_lines=any("\n" in cell for row in rows for cell in row))
    for column, name in enumerate(header):
        flush = column in right
        table.add_column(Text(name), justify="right" if flush else "left", no_wrap=flush, overflow="fold")
    for row in rows:
        # Text, not str: square brackets in a name are no markup.
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def _print_plain(cells: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    lines = [[cell.split("\n") for cell in row] for row in cells]
    widths = [max(len(line) for row in lines for line in row[column]) for column in range(len(cells[0]))]
    for row in lines:
        for level in range(max(len(cell) for cell in row)):
            parts = []
            for column, cell in enumerate(row):
                text = cell[level] if level < len(cell) else ""
                parts.append(text.rjust(widths[column]) if column in right else text.ljust(widths[column]))
            sys.stdout.write("  ".join(parts).rstrip() + "\n")


@contextmanager
def working(what: str, *, silent: bool = False) -> Iterator[None]:
    """Show on standard error that something long is being done, where a person is watching; silent elsewhere."""
    if silent or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(one_line(what))):
        yield
