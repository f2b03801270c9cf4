"""Separated text: find out the separator, the decimal mark and whether the first line holds names, then read it."""

from __future__ import annotations

import codecs
import csv
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from cutwise.cli._screen import note
from cutwise.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Layout", "check_names_differ", "find_layout", "read_text"]

SEPARATORS = (",", ";", "\t", "|")
_SPOKEN = {"\t": "tabs", " ": "spaces"}
_SAMPLE_LINES = 100
_SAMPLE_BYTES = 1 << 24
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_OTHER_TEXT = re.compile(r"\s*(?:(<)[!?a-z]|\{\s*[\"}]|\[\s*[\[{])", re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"[-+]?\d+")
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
_NUMBER_OR_NONE = re.compile(rf"{_NUMBER.pattern}|nan?|null|none|", re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
_POINT_NUMBER = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Layout:
    """How a text is written.

    Attributes
    ----------
    separator : str
    decimal : str
        ``"."`` or ``","``.
    names : tuple of str
        The columns' names; ``x0``, ``x1``, ... when the text has none.
    has_names : bool
    first_line : int
        The line, counted from 1, on which the data start.
    """

    separator: str
    decimal: str
    names: tuple[str, ...]
    has_names: bool
    first_line: int


def read_text(
    file: IO[bytes], name: str, *, separator: str | None, header: bool | None
) -> tuple[pd.DataFrame, int, bool]:
    """Read separated text from a seekable binary file.

    Returns
    -------
    frame : pandas.DataFrame
    first_line : int
        The line of row 0.
    has_names : bool
    """
    sample = _first_lines(file)
    file.seek(0)
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if sample.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in sample:
        raise InvalidInputError(f"{name} does not look like a table in text. CSV, TSV and Parquet files can be read.")
    try:
        # Lines end at the byte of a line feed, which in UTF-16 is half a character: the last one may be cut there.
        text = codecs.getincrementaldecoder(encoding)().decode(sample, final=encoding != "utf-16")
        other = _OTHER_TEXT.match(text)
        if other:
            kind = "HTML or XML" if other.group(1) == "<" else "JSON"
            raise InvalidInputError(f"{name} looks like {kind}. CSV, TSV and Parquet files can be read.")
        return _read_as(file, text, encoding, name, separator, header)
    except UnicodeDecodeError:
        note(f"{name} is not UTF-8; read as Latin-1")
        file.seek(0)
        return _read_as(file, sample.decode("latin-1"), "latin-1", name, separator, header)


def find_layout(sample: str, name: str, *, separator: str | None = None, header: bool | None = None) -> Layout:
    """Find out how a text is written from its first lines.

    Raises
    ------
    InvalidInputError
        No line, two columns of one name, or a separator that is not one character or not the text's.
    """
    found = _find_separator(sample)
    rows = _split(sample, found if separator is None else separator)
    if separator is None:
        separator = found
    elif rows and len(rows[0][1]) < 2 <= len(_split(sample, found)[0][1]):
        between = _SPOKEN.get(found, repr(found))
        raise InvalidInputError(
            f"The first line of {name} holds no {separator!r}: its cells stand between {between}. "
            "Leave --separator out."
        )
    if not rows:
        raise InvalidInputError(
            f"{name} is empty. It must hold a table: a line of column names, then one line per row."
        )
    first_line, first = rows[0]
    cells = [cell.strip() for cell in first]
    if header is None:
        header = not all(_NUMBER.fullmatch(cell) for cell in cells)
        if not header:
            note(f"the first line of {name} holds only numbers, so it is read as data; --header takes it as names")
    if not header:
        return Layout(separator, _find_decimal(rows, separator), _numbered(len(cells)), False, first_line)
    names = [cell or f"Unnamed: {position}" for position, cell in enumerate(cells)]
    check_names_differ(names, name)
    start = rows[1][0] if len(rows) > 1 else first_line + 1
    return Layout(separator, _find_decimal(rows[1:], separator), tuple(names), True, start)


def check_names_differ(names: Sequence[str], source: str) -> None:
    """Refuse two columns of one name.

    Raises
    ------
    InvalidInputError
        Names the first such columns.
    """
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        positions = [str(position) for position, column in enumerate(names, 1) if column == twice[0]]
        raise InvalidInputError(
            f"{source} has {len(positions)} columns named {twice[0]!r} (columns {' and '.join(positions)}). "
            "Give every column a name of its own."
        )


def _first_lines(file: IO[bytes]) -> bytes:
    """Whole lines from the start: some hundred, or all there are."""
    lines = []
    size = 0
    for line in file:
        lines.append(line)
        size += len(line)
        if len(lines) > _SAMPLE_LINES or size > _SAMPLE_BYTES:
            break
    return b"".join(lines)


def _read_as(
    file: IO[bytes], sample: str, encoding: str, name: str, separator: str | None, header: bool | None
) -> tuple[pd.DataFrame, int, bool]:
    import pandas as pd

    layout = find_layout(sample, name, separator=separator, header=header)
    try:
        with warnings.catch_warnings():
            # Lines longer than the first one: pandas would warn and drop what is too much.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                file,
                sep=layout.separator,
                decimal=layout.decimal,
                header=0 if layout.has_names else None,
                names=list(layout.names),
                index_col=False,
                encoding=encoding,
                skipinitialspace=True,
                low_memory=False,  # a column's type is decided by all of it
                **_exact_numbers(pd.__version__),
            )
    except pd.errors.ParserWarning as error:
        raise InvalidInputError(
            f"{name} has lines with more than the {len(layout.names)} values of its first line. "
            "Check the separator (--separator) and the line of names."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise InvalidInputError(f"{name} is empty.") from error
    except pd.errors.ParserError as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise InvalidInputError(
            f"{name} cannot be read as a table: {reason}. Check the separator (--separator)."
        ) from error
    if frame.empty:
        raise InvalidInputError(f"{name} holds a line of column names and no rows. It needs one line per row.")
    return _with_long_numbers(_without_empty_edge(frame)), layout.first_line, layout.has_names


def _without_empty_edge(frame: pd.DataFrame) -> pd.DataFrame:
    """Lines that end with a separator make a last column without name or values: it is no column."""
    last = frame.columns[-1]
    if len(frame.columns) > 1 and last.startswith("Unnamed: ") and frame[last].isna().all():
        return frame.drop(columns=last)
    return frame


def _with_long_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Whole numbers beyond 64 bits, which pandas leaves as text, as float64."""
    from pandas.api import types

    for column in frame.columns:
        values = frame[column]
        if not types.is_numeric_dtype(values):
            held = values.dropna()
            if len(held) and all(_WHOLE_NUMBER.fullmatch(str(value)) for value in held):
                frame = frame.assign(**{column: values.map(float, na_action="ignore").astype("float64")})
    return frame


def _split(sample: str, separator: str) -> list[tuple[int, list[str]]]:
    """Line number and cells of every line that is not blank."""
    csv.field_size_limit(_SAMPLE_BYTES)
    try:
        reader = csv.reader(sample.splitlines(keepends=True), delimiter=separator, skipinitialspace=True)
        rows = []
        line = 1
        for cells in reader:
            if cells:
                rows.append((line, cells))
            line = reader.line_num + 1
    except (TypeError, ValueError) as error:  # csv's own words for a separator that it cannot use
        raise InvalidInputError(f"The separator {separator!r} cannot be used: it must be one character.") from error
    except csv.Error as error:
        raise InvalidInputError(f"The first lines cannot be read as a table: {error}.") from error
    return rows


def _find_separator(sample: str) -> str:
    """The separator that cuts most lines into as many cells as the first, and into the most cells."""

    def fit(separator: str) -> tuple[float, int]:
        widths = [len(cells) for _, cells in _split(sample, separator)]
        if not widths or widths[0] < 2:
            return 0.0, 0
        return sum(width == widths[0] for width in widths) / len(widths), widths[0]

    best = max(SEPARATORS, key=fit)
    return " " if fit(best)[1] < 2 and _stands_in_columns(sample) else best


def _stands_in_columns(sample: str) -> bool:
    """Whether spaces, one or more, part every line into as many cells, and all below the first line are numbers."""
    rows = [cells for _, cells in _split(sample, " ")]
    return (
        len(rows) > 1
        and len(rows[0]) > 1
        and all(len(cells) == len(rows[0]) for cells in rows)
        and all(_NUMBER_OR_NONE.fullmatch(cell) for cells in rows[1:] for cell in cells)
    )


def _find_decimal(rows: Sequence[tuple[int, list[str]]], separator: str) -> str:
    """A decimal comma when cells are written with it and none with a point."""
    if separator == ",":
        return "."
    cells = [cell.strip() for _, row in rows for cell in row]
    with_comma = any(_COMMA_NUMBER.fullmatch(cell) for cell in cells)
    return "," if with_comma and not any(_POINT_NUMBER.fullmatch(cell) for cell in cells) else "."


def _exact_numbers(version: str) -> dict[str, str]:
    """What makes pandas read the very number that is written; from 3.1 on it always does, and takes no such option."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"x{position}" for position in range(count))
