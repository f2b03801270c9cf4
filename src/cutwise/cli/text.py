"""Separated text: detect the table, its separator, decimal mark and names, then read its columns."""

from __future__ import annotations

import codecs
import csv
import math
import re
import shutil
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cutwise.cli.cells import Format, contains_codes, find_decimal, is_number, is_written, numbers_in, with_columns
from cutwise.cli.screen import note
from cutwise.exceptions import InvalidInputError, listed
from cutwise.table.table import check_unique

if TYPE_CHECKING:
    import pandas as pd


SEPARATORS = (";", "\t", "|", ",")  # only the last one may be in numbers
_SAMPLE_LINES = 100
_SAMPLE_BYTES = 1 << 24
_BYTE_ORDER_MARKS = {  # the first begins like another one
    b"\xff\xfe\0\0": "utf-32",
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_OTHER_TEXT = re.compile(r"\s*(?:(<)[!?a-z]|\{\s*[\"}]|\[\s*[\[{])", re.IGNORECASE)
_NUMBER_OR_NONE = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?|nan?|null|none|[?.-]|", re.IGNORECASE)
_SEPARATOR_LINE = re.compile(r"\ufeff?\"?sep=(.)\"?[;,\s]*(?:\n|$)", re.IGNORECASE)  # written by Excel
_TOTAL = re.compile(r"((grand |sub)?total|sums?|totals|gesamt|summe|insgesamt|average|mean)\s*:?", re.IGNORECASE)
_BLOCK_BYTES = 1 << 20
_CODE = re.compile(rb"[^0-9.+-]0[0-9]{2}")
UNKNOWN = Format()
_OTHER = "cp1252"
_ERRORS = "latin-1 for bytes"


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_ERRORS, _as_latin_1)  # five bytes are undefined in Windows-1252


@dataclass(frozen=True)
class Layout:
    """The layout of a text."""

    separator: str
    decimal: str  # "." or ","
    names: tuple[str, ...]  # ``x0``, ``x1``, ... when the text has none
    has_names: bool
    first_line: int  # first line of the data, counted from 1
    skipped: int = 0  # number of lines before the table: titles, comments, separators
    sure: float = 1.0  # certainty of the decimal mark, see ``find_decimal``


@dataclass(frozen=True)
class Text:
    """A table that was read from text."""

    frame: pd.DataFrame  # columns of numbers, truth values, and original cells
    layout: Layout
    encoding: str
    no_rows: Sequence[int]  # numbers, as pandas counts lines, of comments, totals and lines without a value
    removed: tuple[int, ...]  # lines from the first one of the data on that are not rows, including blank ones

    def line_of(self, row: int) -> int:
        """The line of a row."""
        line = row
        for removed in self.removed:
            line += removed <= line
        return self.layout.first_line + line

    def cells(self, file: IO[bytes], columns: Sequence[str]) -> pd.DataFrame:
        """The original cells of some columns."""
        cells = _read_cells(file, columns, self.layout, self.encoding)
        return cells.drop(index=self.no_rows).reset_index(drop=True)


def read_text(file: IO[bytes], name: str, known: Format = UNKNOWN) -> Text:
    """Read separated text from a seekable binary file; ``known`` determines parts of the layout."""
    sample, encoding = sample_of(file, name)
    file.seek(0)
    try:
        # Lines end at the byte of a line feed, half a character in UTF-16: the last character may be cut.
        text = codecs.getincrementaldecoder(encoding)().decode(sample, final=encoding != "utf-16")
        other = _OTHER_TEXT.match(text)
        if other:
            kind = "HTML or XML" if other.group(1) == "<" else "JSON"
            raise InvalidInputError(f"{name} looks like {kind}. Save the table as CSV or Parquet.")
        return _read_as(file, text, encoding, name, known)
    except UnicodeDecodeError:
        note(f"{name} is not UTF-8; read as Windows-1252")
        file.seek(0)
        return _read_as(file, sample.decode(_OTHER, _ERRORS), _OTHER, name, known)


def in_utf8(path: str, folder: Path) -> str:
    """The file, or if it has another encoding a copy of it in ``folder``."""
    with open(path, "rb") as file:
        encoding, decoder = sample_of(file, path)[1], codecs.getincrementaldecoder("utf-8")()
        file.seek(0)
        with suppress(UnicodeDecodeError):
            while block := file.read(_BLOCK_BYTES):
                decoder.decode(block)
            decoder.decode(b"", final=True)
            return path
    if encoding != "utf-16":
        note(f"{path} is not UTF-8; read as Windows-1252")
        encoding = _OTHER
    copy = folder / f"{len(list(folder.iterdir()))}.csv"
    with (
        open(path, encoding=encoding, errors=_ERRORS, newline="") as text,
        open(copy, "w", encoding="utf-8", newline="") as file_in_utf8,
    ):
        shutil.copyfileobj(text, file_in_utf8)
    return str(copy)


def find_layout(sample: str, name: str, known: Format = UNKNOWN) -> Layout:
    """Detect the layout of a text from its first lines, as far as it is not known."""
    stated = _SEPARATOR_LINE.match(sample)
    separator = known.given_separator or (stated.group(1) if stated else "")
    header = known.given_header
    if not separator:
        lines = _split(sample, known.separator) if known.separator else []
        is_known = _line_of_names(lines, known) is not None
        if known.has_names is False or header is False:
            is_known = is_known or any(1 < len(cells) in (known.width, len(known.names)) for _, cells in lines)
        separator = known.separator if is_known else _find_separator(sample)
    rows = _split(sample, separator)[1 if stated else 0 :]
    if not rows:
        raise InvalidInputError(
            f"{name} is empty. It must hold a table: a line of column names, then one line per row."
        )
    is_whole = known.given_separator and all(len(cells) == 1 for _, cells in rows)
    if is_whole and (likely := _find_separator(sample)) in rows[0][1][0]:
        note(f"no line of {name} holds {separator!r}, so it has one column; --separator {likely!r} makes more")
    at = _line_of_names(rows, known)
    above = _lines_above(rows) if at is None else at
    if header is None and (at is not None or known.has_names is False):
        header = at is not None
    if above:
        texts = [" ".join(cell for cell in cells if cell.strip()) for _, cells in rows[:above]]
        said = listed([text for text in texts if text], most=2) or "blank cells"
        note(f"{above} line{'s' if above > 1 else ''} above the table of {name} left out: {said}")
        rows = rows[above:]
    first_line, first = rows[0]
    cells = [cell.strip() for cell in first]
    if header is None:
        numbers = [is_number(cell) for cell in cells]
        below = [{row[i].strip() for _, row in rows[1:] if i < len(row)} for i in range(len(cells))]
        is_level = [
            cell in own and cell != "" for cell, own, number in zip(cells, below, numbers, strict=True) if not number
        ]
        is_value = [is_written(cell) and any(map(is_written, own)) for cell, own in zip(cells, below, strict=True)]
        header = not all(numbers) and not (any(numbers) and any(is_level)) and not any(is_value)
        if not header:
            what = "values" if any(is_value) else "numbers and words"
            why = "holds only numbers" if all(numbers) else f"holds {what} like those below"
            note(f"the first line of {name} {why}, so it is read as data; --header takes it as names")
    body = rows[1:] if header else rows
    width = max(len(row) for _, row in rows)
    mark, sure = find_decimal([[row[i].strip() for _, row in body if i < len(row)] for i in range(width)], separator)
    if known.decimal:
        if sure and mark != known.decimal:
            note(f"{name}: {known.decimal!r} is the decimal mark, as it was at fit")
        mark, sure = known.decimal, 1.0
    skipped = first_line - 1
    if not header:
        names = [f"x{position}" for position in range(len(cells))]
        by_position = known.has_names is False and len(names) == known.width  # as at fit, including columns left out
        ways = (names, known.columns) if by_position else (known.columns, known.names, names)
        names = list(next(way for way in ways if len(way) == len(names)))
        return Layout(separator, mark, tuple(names), False, first_line, skipped, sure)
    names = _names_in(cells)
    check_unique(names, what=name, step="rename the copies in its line of names")
    start = rows[1][0] if len(rows) > 1 else first_line + 1
    return Layout(separator, mark, tuple(names), True, start, skipped, sure)


def _names_in(cells: Sequence[str]) -> list[str]:
    """The names of columns in a line."""
    first = cells[0].lstrip("# ") or cells[0]
    return [cell or f"Unnamed: {position}" for position, cell in enumerate([first, *cells[1:]])]


def _line_of_names(rows: Sequence[tuple[int, list[str]]], known: Format) -> int | None:
    """Index of the line that names all columns that must be there; None if there is none."""
    lines = (_names_in([cell.strip() for cell in cells]) for _, cells in rows if known.tested)
    return next((i for i, names in enumerate(lines) if set(known.tested) <= set(names)), None)


def _lines_above(rows: Sequence[tuple[int, list[str]]]) -> int:
    """Number of lines above the table: comments (``# ...``), and titles above a line of names and one of data."""
    lines = [[cell.strip() for cell in cells] for _, cells in rows]
    width = Counter(map(len, lines)).most_common(1)[0][0]

    def contains_number(line: int) -> bool:
        return line < len(lines) and len(lines[line]) == width and any(map(is_number, lines[line]))

    first = 0
    while first + 1 < len(lines) and lines[first][0].startswith("#"):
        if len(lines[first]) == width > 1 and contains_number(first + 1) and not contains_number(first):
            return first  # a line of names that starts like a comment
        first += 1
    titles = first
    while titles + 2 < len(lines) and sum(map(bool, lines[titles])) < 2 and not is_number(lines[titles][0]):
        titles += 1  # spreadsheets write blank lines as blank cells
    names_follow = width > 1 and sum(map(bool, lines[titles])) > 1 and not any(map(is_number, lines[titles]))
    return titles if titles > first and names_follow and contains_number(titles + 1) else first


def sample_of(file: IO[bytes], name: str) -> tuple[bytes, str]:
    """Complete lines from the start, up to some hundreds, and the encoding by the byte order mark."""
    lines = []
    size = 0
    for line in file:
        lines.append(line)
        size += len(line)
        if len(lines) > _SAMPLE_LINES or size > _SAMPLE_BYTES:
            break
    sample = b"".join(lines)
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if sample.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in sample:
        raise InvalidInputError(f"{name} does not look like a table in text. Save the table as CSV or Parquet.")
    return sample, encoding


def _read_as(file: IO[bytes], sample: str, encoding: str, name: str, known: Format) -> Text:
    import pandas as pd

    layout = find_layout(sample, name, known)
    as_text = {column: str for column in layout.names if column in known.texts}
    try:
        with warnings.catch_warnings():
            # Lines longer than the first one are errors: pandas would warn and drop cells.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(file, low_memory=False, dtype=as_text, **_options(layout, encoding))  # uses all rows
    except pd.errors.ParserWarning as error:
        raise InvalidInputError(
            f"{name} has lines with more than the {len(layout.names)} values of its first line. "
            "Check the separator (--separator) and the line of names."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise InvalidInputError(f"{name} is empty.") from error
    except pd.errors.ParserError as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        is_open = "EOF inside string" in reason
        step = "Put cells that hold the separator in quotation marks, or say another one (--separator)"
        step = "Close the quotation mark that opens there" if is_open else step
        raise InvalidInputError(f"{name} cannot be read as a table: {reason}. {step}.") from error
    frame = frame if frame.columns[-1] in known.tested else _without_empty_edge(frame)
    no_rows = _no_rows(frame, name, layout.decimal, known.levels)
    frame = _with_codes(file, frame, layout, encoding)
    if no_rows:
        frame = whole_again(frame.drop(index=no_rows).reset_index(drop=True))
    removed = () if encoding == "utf-16" else _with_blank_lines(file, layout.first_line, no_rows)
    return Text(frame, layout, encoding, no_rows, removed)


def _options(layout: Layout, encoding: str) -> dict[str, Any]:
    """Options of pandas to read a text, with only blank cells as missing."""
    import pandas as pd

    return {
        "sep": layout.separator,
        "decimal": "." if layout.decimal == layout.separator else layout.decimal,
        "header": 0 if layout.has_names else None,
        "names": list(layout.names),
        "index_col": False,
        "encoding": encoding,
        "encoding_errors": _ERRORS if encoding == _OTHER else "strict",
        "skipinitialspace": True,
        "skiprows": layout.skipped,
        "keep_default_na": False,
        "na_values": [""],
        **_exact_numbers(pd.__version__),
    }


def _no_rows(frame: pd.DataFrame, name: str, decimal: str, levels: Collection[str]) -> list[int]:
    """Numbers of the lines that are not rows of the table: blank ones, comments, and totals below it.

    ``levels``: words of a model; a line with one of these is a row.
    """
    import numpy as np

    if frame.empty or frame.shape[1] < 2:
        return []
    first = frame.iloc[:, 0]
    n_values = frame.notna().sum(axis=1).to_numpy()
    alone = np.flatnonzero((n_values == 1) & first.notna() & (first.dtype.kind not in "iufb"))  # few, most often
    words = first.iloc[alone].astype(str).str.strip()
    is_comment = words.str.startswith("#").to_numpy(dtype=bool)
    found = {
        "without a value": np.flatnonzero(n_values == 0).tolist(),
        "of comments": alone[is_comment].tolist(),
    }
    rows = np.setdiff1d(np.flatnonzero(n_values), alone[is_comment], assume_unique=True)
    notes = alone[~is_comment & ~words.str.fullmatch(_TOTAL).to_numpy(dtype=bool) & ~words.isin(levels).to_numpy()]
    # Below the table, where no line in it has so few values.
    if frame.shape[1] > 2 and 0 < len(notes) < len(rows) and (rows[-len(notes) :] == notes).all():
        found["of notes below the table"], rows = notes.tolist(), rows[: -len(notes)]
    for column in frame.columns if len(rows) > 2 else ():
        last = frame[column].iloc[rows[-1]]
        is_word = _TOTAL.fullmatch(str(last).strip()) and str(last).strip() not in levels
        if is_word and (frame[column] == last).sum() == 1:
            if _adds_up(frame.iloc[rows], decimal):
                found["of totals"] = [int(rows[-1])]
            else:
                note(f"{str(last)!r} ends {name}, and no number there is a sum or mean of those above: taken as a row")
            break
    for kind, lines in found.items():
        if lines:
            note(f"{len(lines):,} line{'s' if len(lines) > 1 else ''} {kind} in {name} left out")
    return sorted(line for lines in found.values() for line in lines)


def _adds_up(frame: pd.DataFrame, decimal: str) -> bool:
    """Whether a number in the last row is the sum or the mean of the numbers above, or the row has no number."""
    has_numbers = False
    for column in frame.columns:
        cells = frame[column].dropna()
        values = cells.astype(float) if cells.dtype.kind in "iuf" else numbers_in(cells, decimal)
        if frame.index[-1] in values.index:
            above, last, has_numbers = values.iloc[:-1], values.iloc[-1], True
            if any(math.isclose(last, figure, rel_tol=_ROUNDED) for figure in (above.sum(), above.mean())):
                return True
    return not has_numbers


_ROUNDED = 5e-3


def _with_blank_lines(file: IO[bytes], first_line: int, no_rows: Sequence[int]) -> tuple[int, ...]:
    """Lines from ``first_line`` on that are not rows: ``no_rows`` and blank lines, which pandas does not count."""
    import numpy as np

    file.seek(0)
    below = islice(file, first_line - 1, None)
    blank = np.array([number for number, line in enumerate(below) if line in (b"\n", b"\r\n")], dtype=np.int64)
    rows = np.array(no_rows, dtype=np.int64)
    rows += np.searchsorted(blank - np.arange(len(blank)), rows, side="right")
    return tuple(sorted([*blank.tolist(), *rows.tolist()]))


def line_with_values(path: str, layout: Layout, row: int) -> int:
    """The line of a row in a file, where lines without a value are not rows."""
    nothing = f" \t\r\n{layout.separator}".encode()
    with open(path, "rb") as file:
        below = enumerate(islice(file, layout.first_line - 1, None), layout.first_line)
        return next(islice((number for number, line in below if line.strip(nothing)), row, None))


def _with_codes(file: IO[bytes], frame: pd.DataFrame, layout: Layout, encoding: str) -> pd.DataFrame:
    """Restore the original cells of columns of codes with leading zeros, which pandas read as numbers."""
    numbers = [column for column in frame.columns if frame[column].dtype.kind in "iuf"]
    if not numbers or not (encoding == "utf-16" or may_contain_codes(file)):
        return frame
    cells = _read_cells(file, numbers, layout, encoding)
    return with_columns(frame, {column: cells[column] for column in numbers if contains_codes(cells[column])})


def _read_cells(file: IO[bytes], columns: Sequence[str], layout: Layout, encoding: str) -> pd.DataFrame:
    import pandas as pd

    file.seek(0)
    return pd.read_csv(file, dtype=str, usecols=list(columns), **_options(layout, encoding))


def may_contain_codes(file: IO[bytes]) -> bool:
    """Whether a cell may start with 0 and two more digits, by a cheap pass over the bytes."""
    file.seek(0)
    before = b"\n"
    while block := file.read(_BLOCK_BYTES):
        if _CODE.search(before + block):
            return True
        before = block[-3:]
    return False


def whole_again(frame: pd.DataFrame) -> pd.DataFrame:
    """Restore whole numbers in columns that pandas read as floats only because of missing values."""
    from pandas.api import types

    for column in frame.columns:
        values = frame[column]
        if types.is_float_dtype(values) and (values % 1 == 0).all() and values.abs().max() < 2**53:
            frame = with_columns(frame, {column: values.astype("int64")})
    return frame


def _without_empty_edge(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop the last column, without name or values, of lines that end with a separator."""
    last = frame.columns[-1]
    if len(frame.columns) > 1 and last.startswith("Unnamed: ") and frame[last].isna().all():
        return frame.drop(columns=last)
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
    except (TypeError, ValueError) as error:  # csv's errors for a separator that it cannot use
        raise InvalidInputError(f"The separator {separator!r} cannot be used: it must be one character.") from error
    except csv.Error as error:
        raise InvalidInputError(f"The first lines cannot be read as a table: {error}.") from error
    return rows


def _find_separator(sample: str) -> str:
    """The separator with most lines of equally many cells, then most characters in values, then most cells."""

    def fit(separator: str) -> tuple[float, float, int]:
        rows = [cells for _, cells in _split(sample, separator) if not cells[0].startswith("#")]
        width, lines = max(Counter(map(len, rows)).items(), key=lambda item: item[::-1], default=(0, 0))
        if width < 2:
            return 0.0, 0.0, 0
        texts = [cell.strip() for cells in rows for cell in cells]
        return lines / len(rows), sum(len(text) for text in texts if is_number(text) or is_written(text)), width

    best = max(SEPARATORS, key=fit)
    return " " if fit(best)[-1] < 2 and _stands_in_columns(sample) else best


def _stands_in_columns(sample: str) -> bool:
    """Whether spaces split every line into equally many cells, and all cells below the first line are numbers."""
    rows = [cells for _, cells in _split(sample, " ")]
    return (
        len(rows) > 1
        and len(rows[0]) > 1
        and all(len(cells) == len(rows[0]) for cells in rows)
        and all(_NUMBER_OR_NONE.fullmatch(cell) for cells in rows[1:] for cell in cells)
    )


def _exact_numbers(version: str) -> dict[str, str]:
    """Option for pandas to parse numbers exactly; from 3.1 on it always does, and has no such option."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}
