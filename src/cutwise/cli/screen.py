"""Output of a run: tables for people, plain lines for pipes, notes on standard error, complete files."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, TypeVar

from cutwise._progress import watch_progress
from cutwise._whole import place_of, whole_file
from cutwise.exceptions import InvalidInputError
from cutwise.readouts.shown import harmless

# Lines do not break inside names, values and conditions: a private character replaces their spaces.
_NO_BREAK = "\ue000"
_WHOLE = re.compile(
    r"`[^`]*`|\((?:is |[^()`]*[<>=]|`[^`]*` [<>=!i])(?:`[^`]*`|[^()`])*\)|\{[^}]*\}|(?<=\d) (?=[\d%])"
    r"| (?:[<>]=?|!?=) | (?:not )?in (?=\{)| is (?=(?:not )?(?:known|unknown|true|false)\b)"
)


T = TypeVar("T")

COLUMN_NOTES = {
    "purity": "of the rows under the rule, the share that the clustering puts into this cluster",
    "coverage": "of the rows that the clustering puts into this cluster, the share under the rule",
    "cost ratio": "the cost of the tree's clusters divided by that of the clustering",
    "agreement": "the share of rows that are in the same cluster as in the clustering",
    "WAD": "weighted average depth, the mean number of tests from the root to a row's leaf",
    "WAES": "weighted average explanation size, the mean number of conditions in a row's rule",
    "seconds": "for the tree alone, without the clustering",
}
"""Columns of tables that need a line below the table."""

_ANY_WIDTH = 1 << 20
"""A width that no line of a table exceeds, for output that is not a terminal."""


def _writable(text: str) -> str:
    """The text for standard output: unsafe characters, and those outside its encoding, are escaped."""
    return harmless(text).encode(_encoding(sys.stdout), "backslashreplace").decode(_encoding(sys.stdout))


def _encoding(stream: Any) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def _is_unicode(stream: Any) -> bool:
    return _encoding(stream).lower().startswith("utf")


def one_line(text: str) -> str:
    """The text on one line."""
    return " ".join(harmless(text).split())


_collected: ContextVar[list[str] | None] = ContextVar("_collected", default=None)


@contextmanager
def collect_notes() -> Iterator[list[str]]:
    """Collect the notes about the table that a block prints, for documents that repeat them."""
    notes: list[str] = []
    before = _collected.set(notes)
    try:
        yield notes
    finally:
        _collected.reset(before)


def note(text: str, *, of_table: bool = True) -> None:
    """Print one line on standard error; a failure to write does not end the run."""
    notes = _collected.get()
    if of_table and notes is not None:
        notes.append(one_line(text))
    with suppress(OSError):
        sys.stderr.write(f"cutwise: {one_line(text)}\n")


def print_line(text: str = "") -> None:
    """Print a line of the results, wrapped on a terminal."""
    text = _writable(text)
    if sys.stdout.isatty():
        indent = text[: len(text) - len(text.lstrip(" "))]
        width = get_terminal_size().columns
        text = "\n".join(_filled(line, width, later=f"{indent}  ") for line in text.split("\n"))
    sys.stdout.write(text + "\n")


def print_document(text: str) -> None:
    """Print a text for a file or another program unchanged; on a terminal control characters are escaped."""
    if sys.stdout.isatty():
        sys.stdout.write(harmless(text))
        return
    try:
        text.encode(_encoding(sys.stdout))
    except UnicodeEncodeError as error:  # escapes would be other names
        raise InvalidInputError(
            f"Standard output is encoded as {error.encoding}, which has no {error.object[error.start]!a}. Write to "
            "a file with --out, or set the environment variable PYTHONIOENCODING to utf-8."
        ) from error
    sys.stdout.write(text)


def print_json(document: Any) -> None:
    """Print a document for programs as JSON."""
    print_document(json.dumps(document, ensure_ascii=not _is_unicode(sys.stdout), allow_nan=False, indent=2) + "\n")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print a table of results with notes on its columns: ruled and wrapped on a terminal, aligned text elsewhere.

    A cell may have several lines; the columns ``right`` are aligned right.
    """
    _print_cells(header, rows, right)
    for name in header:
        if name in COLUMN_NOTES:
            print_line(f"{name}: {COLUMN_NOTES[name]}")


def _print_cells(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[_writable(cell) for cell in row] for row in [header, *rows]]
    if sys.stdout.isatty():
        lines = any("\n" in cell for row in rows for cell in row)
        console = Console()
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True, show_lines=lines)
    else:
        console = Console(width=_ANY_WIDTH, no_color=True)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))

    def cell(column: int, text: str) -> Text:
        # Text, not str, since square brackets in a name are not markup.
        return Text(text.replace(" ", _NO_BREAK) if column in right else _bound(text))

    for column, name in enumerate(cells[0]):
        is_figure = column in right
        table.add_column(cell(column, name), justify="right" if is_figure else "left", no_wrap=is_figure)
    for row in cells[1:]:
        table.add_row(*(cell(column, text) for column, text in enumerate(row)))

    def is_too_wide() -> bool:
        return console.measure(table, options=console.options.update(width=_ANY_WIDTH)).minimum > console.width

    if is_too_wide():
        table.padding = 0  # a column stands one space beside the next, not two
    if is_too_wide():
        _print_blocks(cells, right, console.width)
        return
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().replace(_NO_BREAK, " ").splitlines():
        sys.stdout.write(line.rstrip() + "\n")


def _print_blocks(cells: Sequence[Sequence[str]], right: Sequence[int], width: int) -> None:
    """Print one block per row if conditions do not fit in a column: first cell, figures, and complete texts below."""
    header = cells[0]
    for row in cells[1:]:
        figures = ", ".join(f"{header[i]}{_NO_BREAK}{row[i]}" for i in right if i and row[i])
        texts = [row[i] for i in range(1, len(row)) if i not in right and row[i]]
        for text, later in (
            (f"{header[0]} {row[0]}", "  "),
            (f"  {figures}", "  "),
            *((f"  {t}", "    ") for t in texts),
        ):
            for line in text.split("\n"):
                sys.stdout.write(_filled(line, width, later=later) + "\n")


def _bound(text: str) -> str:
    """The text with unbreakable spaces inside names, values and conditions."""
    return _WHOLE.sub(lambda found: found[0].replace(" ", _NO_BREAK), text)


def _filled(text: str, width: int, *, later: str) -> str:
    """The text in lines of at most ``width``, all but the first indented; longer words are left to the terminal."""
    if len(text) > width:
        lines = textwrap.wrap(
            _bound(text), width, subsequent_indent=later, break_on_hyphens=False, break_long_words=False
        )
        text = "\n".join(lines)
    return text.replace(_NO_BREAK, " ")


@contextmanager
def working(what: str, *, steps: int = 1, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show progress on standard error if it is a terminal.

    Yields a function that begins the next of several ``steps``, each about as long as a fit.
    """
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda step: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    text = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))
    spinner = "dots" if _is_unicode(sys.stderr) else "line"
    columns = SpinnerColumn(spinner), BarColumn(20), TaskProgressColumn(), TimeElapsedColumn(), text
    begun, now = 0, escape(one_line(what))
    with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as progress:
        task = progress.add_task(now, total=steps)

        def begin(step: str) -> None:
            nonlocal begun, now
            begun, now = begun + 1, escape(one_line(step))
            progress.update(task, completed=begun, description=now)

        def show(stage: str, share: float) -> None:
            done = max(progress.tasks[0].completed, begun + share)  # less for a fit within a stage
            progress.update(task, completed=done, description=f"{now}: {escape(stage)}")

        with watch_progress(show):
            yield begin


@contextmanager
def warnings_name(what: str) -> Iterator[None]:
    """Add the name of a tree to warnings about it."""
    usual = warnings.showwarning
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *rest, **named: usual(f"{what}: {message}", *rest, **named)
        yield


class Outputs(ExitStack):
    """Context for writing several files: on success all of them appear, on an error or interrupt none.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Outputs(str(folder / "a.txt")) as outputs:
    ...     outputs.write(str(folder / "a.txt"), lambda part: part.write_text("whole"))
    ...     (folder / "a.txt").exists()
    False
    >>> (folder / "a.txt").read_text()
    'whole'
    """

    def __init__(self, *paths: str | None, inputs: Sequence[str | None] = ()) -> None:
        """Check before any work that the files (None: no file) can be written, and are not among ``inputs``."""
        super().__init__()
        if "-" in paths:
            raise InvalidInputError(
                '"-" (standard output) already receives what this command prints. Give the name of a file.'
            )
        wanted = [place_of(path) for path in paths if path is not None]
        for place in wanted:
            check_place(place)
        read = [Path(path) for path in inputs if path is not None and os.path.isfile(path)]
        for place in wanted:
            if place.is_file() and any(place.samefile(path) for path in read):
                raise InvalidInputError(
                    f"{place.name} is read by this command, and writing to it would destroy it. "
                    "Give another file to write to."
                )
        if len(set(wanted)) < len(wanted):
            raise InvalidInputError(f"Two outputs would go to {wanted[0]}. Give each a file of its own.")

    def write(self, path: str, writer: Callable[[Path], T]) -> T:
        """Let ``writer`` write the file that will appear as ``path``; return its result."""
        return writer(self.enter_context(whole_file(path)))


def check_place(place: Path) -> None:
    """Check before any work that a file can be written to a place."""
    folder = place.parent
    if place.is_dir():
        raise InvalidInputError(f"{place} is a folder. Give the name of a file to write.")
    if not folder.is_dir():
        raise InvalidInputError(
            f"The folder {folder} does not exist, so {place.name} cannot be written there. Create it first."
        )
    parts = (folder, place) if place.is_file() else () if place.exists() else (folder,)  # a device is written in place
    if not all(os.access(part, os.W_OK) for part in parts):
        raise InvalidInputError(f"No permission to write {place.name} in {folder}.")
