"""Separated text: detect the table, its separator, decimal mark and names, then read its columns."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

from cutwise.cli.cells import (
    MISSING_AMONG_NUMBERS,
    Format,
    contains_codes,
    find_decimal,
    is_number,
    is_written,
    numbers_in,
    with_columns,
)
from cutwise.cli.screen import note
from cutwise.exceptions import InvalidInputError, listed
from cutwise.table.table import check_unique

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
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
_PACKED = ("a tar archive", "compressed by Zstandard")
_NO_TEXTS = {  # by where they hold which bytes
    (256, b"\0ustar"): _PACKED[0],
    (0, b"(\xb5/\xfd"): _PACKED[1],
    (0, b"\xd0\xcf\x11\xe0"): "an Excel workbook",
    (0, b"SQLite format 3\0"): "an SQLite database",
    (0, b"ARROW1\0"): "an Arrow file",
}
_OTHER_TEXTS = {
    "HTML or XML": r"\s*<[!?a-z]",
    "JSON": r"\s*(\{\s*[\"}]|\[\s*[\[{])",
    "ARFF": r"(\s*%.*\n)*\s*@relation\s",
    "LIBSVM's format": r"[-+]?\d+(\.\d+)?( \d+:[-+.\de]+)+ *\r?\n",
}
_SEPARATOR_LINE = re.compile(r"\ufeff?\"?sep=(.)\"?[;,\s]*(?:\n|$)", re.IGNORECASE)  # written by Excel
_TOTAL = re.compile(r"((grand |sub)?total|sums?|totals|gesamt|summe|insgesamt|average|mean)\s*:?", re.IGNORECASE)
_NOTE = re.compile(
    r"\W*(as of\s|(foot ?)?(notes?|sources?|remarks?|comments?|quellen?|hinweise?|(an|be)merkung(en)?)\s*:).*",
    re.IGNORECASE,
)
_UNNAMED = "Unnamed: "
_BLOCK_BYTES = 1 << 20
_CODE = re.compile(rb"0[0-9][0-9](?<=[^0-9.+-]0[0-9][0-9])")  # starts with a byte that is searched for fast
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


@dataclass
class Text:
    """A file of separated text, whose rows can be read several times."""

    name: str  # name in messages
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    layout: Layout
    encoding: str
    no_rows: list[int] = field(default_factory=list)  # lines, as pandas counts them, that ``look`` found to be no rows
    n_rows: int = 0  # as ``look`` found
    rows: int | None = None  # to read at a time; None for all at once
    column_types: Mapping[str, str] = field(default_factory=dict)  # of Parquet files
    orders: dict[str, list[str]] = field(default_factory=dict)  # of Parquet files
    frame: pd.DataFrame | None = None  # all rows, if ``look`` read them at once

    def scan(self, known: Format = UNKNOWN) -> dict[str, set[str]]:
        """Find the kinds of cells in every column, and the lines that are no rows."""
        kinds = dict[str, set[str]]()
        no_rows: dict[str, list[int]] = {}
        first, frame = 0, None
        for frame, is_last in self._parts(known.texts):
            rows = [frame] if self.rows is None else self._frames(None, known.texts)
            here = _no_rows(frame, self, known.levels, rows if is_last else None)
            for what, lines in here.items():
                no_rows.setdefault(what, []).extend(first + line for line in lines)
            first += len(frame)
            frame = _without(frame, [line for lines in here.values() for line in lines])
            for column in frame.columns:
                kinds.setdefault(column, set()).add(kind_of_cells(frame[column]))
        assert frame is not None
        for what, lines in no_rows.items():
            if lines:
                note(f"{len(lines):,} line{'s' if len(lines) > 1 else ''} {what} in {self.name} left out")
        self.no_rows = sorted(line for lines in no_rows.values() for line in lines)
        self.n_rows = first - len(self.no_rows)
        last = self.layout.names[-1]
        if len(kinds) > 1 and last.startswith(_UNNAMED) and kinds[last] <= {"nothing"} and last not in known.tested:
            del kinds[last]  # lines end with a separator
        codes = self._codes([column for column, own in kinds.items() if own - {"nothing"} == {"numbers"}])
        for column in codes:
            kinds[column].add("texts")
        self.frame = with_columns(frame, codes) if self.rows is None else None
        return kinds

    def frames(self, columns: Collection[str], as_cells: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """Read the rows of some columns, in parts; ``as_cells``: those whose original cells are needed."""
        if self.frame is not None:
            frame = self.frame[list(columns)]
            again = [column for column in columns if column in as_cells and frame[column].dtype.kind in "iufb"]
            for cells in self._frames(again, again) if again else ():
                frame = with_columns(frame, dict(cells.items()))
            yield frame
        else:
            yield from self._frames(columns, as_cells)

    def _frames(self, columns: Collection[str] | None, as_cells: Collection[str]) -> Iterator[pd.DataFrame]:
        import pandas as pd

        options = _options(self.layout, self.encoding) | {"usecols": None if columns is None else list(columns)}
        types = {name: str for name in as_cells if name in self.layout.names}
        with self.open() as file:
            # Types are inferred from all rows that are read at a time.
            reader = self._tried(
                lambda: pd.read_csv(file, low_memory=False, dtype=types, chunksize=self.rows or sys.maxsize, **options)
            )
            with reader:
                while (frame := self._tried(lambda: next(reader, None))) is not None:
                    yield _without(frame, self.no_rows)

    def _parts(self, as_cells: Collection[str]) -> Iterator[tuple[pd.DataFrame, bool]]:
        """The rows in parts, and whether a part is the last one, which is never short unless it is the only one."""
        import pandas as pd

        frames = self._frames(None, as_cells)
        frame = next(frames, None)
        while frame is not None:
            after = next(frames, None)
            if after is not None and len(after) < (self.rows or 0):
                frame, after = pd.concat([frame, after], ignore_index=True), None
            yield frame, after is None
            frame = after

    def _tried(self, step: Callable[[], Any]) -> Any:
        """Convert errors of pandas to errors of cutwise."""
        import pandas as pd

        try:
            with warnings.catch_warnings():
                # Lines longer than the first one are errors: pandas would warn and drop cells.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                return step()
        except pd.errors.ParserWarning as error:
            raise InvalidInputError(
                f"{self.name} has lines with more values than the {len(self.layout.names)} of its first line. "
                "Check the separator (--separator) and the line of names."
            ) from error
        except pd.errors.EmptyDataError as error:
            raise InvalidInputError(f"{self.name} is empty.") from error
        except pd.errors.ParserError as error:
            reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
            advice = "Quote cells that contain the separator, or set another one (--separator)"
            if "EOF inside string" in reason:
                advice = "Close the quotation mark opened there"
            raise InvalidInputError(f"{self.name} cannot be read as a table: {reason}. {advice}.") from error

    def _codes(self, columns: Sequence[str]) -> dict[str, pd.Series]:
        """The original cells of columns of codes with leading zeros, which pandas reads as numbers."""
        if not columns or not self._may_contain_codes():
            return {}
        frames = self._frames(columns, columns)
        return {column: frame[column] for frame in frames for column in columns if contains_codes(frame[column])}

    def _may_contain_codes(self) -> bool:
        """Whether a cell may start with 0 and two more digits, by a cheap pass over the bytes."""
        before = b"\n"
        with self.open() as file:
            while block := file.read(_BLOCK_BYTES):
                if self.encoding.startswith("utf-16") or _CODE.search(before + block):
                    return True
                before = block[-3:]
        return False

    def line_of(self, row: int) -> int:
        """The line of a row; pandas does not count blank lines."""
        for line in self.no_rows:
            row += line <= row
        with self.open() as file:
            lines = io.TextIOWrapper(file, encoding=self.encoding, errors="replace", newline="")
            below = enumerate(islice(lines, self.layout.first_line - 1, None), self.layout.first_line)
            return next(islice((number for number, line in below if line.strip("\r\n")), row, None))


def find_text(name: str, opened: Callable[[], AbstractContextManager[IO[bytes]]], known: Format = UNKNOWN) -> Text:
    """Detect encoding and layout of separated text in a seekable file; ``known`` determines parts of the layout."""
    with opened() as file:
        sample, encoding = _sample_of(file, name)
        decoder = codecs.getincrementaldecoder(encoding)()
        file.seek(0)
        try:
            while block := file.read(_BLOCK_BYTES):
                decoder.decode(block)
            decoder.decode(b"", final=True)
            # Lines end at the byte of a line feed, half a character in UTF-16: the last character may be cut.
            text = codecs.getincrementaldecoder(encoding)().decode(sample)
        except UnicodeDecodeError:
            note(f"{name} is not UTF-8; read as Windows-1252")
            encoding, text = _OTHER, sample.decode(_OTHER, _ERRORS)
    for kind, start in _OTHER_TEXTS.items():
        if re.match(start, text, re.IGNORECASE):
            raise InvalidInputError(f"{name} looks like {kind}. Save the table as CSV or Parquet.")
    return Text(name, opened, find_layout(text, name, known), encoding)


def kind_of_cells(column: pd.Series) -> str:
    """Kind of the cells of a column of a file, as they were read."""
    kind = "truth values" if column.dtype.kind == "b" else "numbers" if column.dtype.kind in "iuf" else "texts"
    return kind if column.notna().any() else "nothing"


def _without(frame: pd.DataFrame, lines: Collection[int]) -> pd.DataFrame:
    """The rows without some lines, by their numbers in the index, which are counted anew."""
    gone = frame.index.isin(lines) if lines else None
    if gone is not None and gone.any():
        frame = whole_again(frame[~gone])
    frame.index = range(len(frame))
    return frame


def find_layout(sample: str, name: str, known: Format = UNKNOWN) -> Layout:
    """Detect the layout of a text from its first lines, as far as it is not known."""
    separator, rows = _separated(sample, name, known)
    at = _line_of_names(rows, known)
    rows = _without_notes(rows, at, name)
    first_line, first = rows[0]
    cells = [cell.strip() for cell in first]
    has_names = known.given_header
    below = [row for _, row in rows[1:]]
    if has_names is not False and _has_row_names(cells, below, separator, known):
        note(f"the rows of {name} begin with names, for which its first line has none")
        cells, has_names = ["", *cells], True
    if has_names is None and (at is not None or known.has_names is False):
        has_names = at is not None
    if has_names is None:
        has_names = _are_names(cells, below, name)
    mark, sure = _decimal_mark(below if has_names else [first, *below], separator, name, known)
    if has_names:
        names = _unique_names(cells, rows, name)
        start = rows[1][0] if len(rows) > 1 else first_line + 1
    else:
        names, start = _names_without_line(len(cells), known), first_line
    return Layout(separator, mark, tuple(names), has_names, start, first_line - 1, sure)


def _without_notes(rows: list[tuple[int, list[str]]], at: int | None, name: str) -> list[tuple[int, list[str]]]:
    """The lines without those above the table; ``at``: the place of the line of names, if known."""
    above = _lines_above(rows) if at is None else at
    if above:
        texts = [" ".join(cell for cell in cells if cell.strip()) for _, cells in rows[:above]]
        said = listed([text for text in texts if text], most=2) or "blank cells"
        note(f"{above} line{'s' if above > 1 else ''} above the table of {name} left out: {said}")
    return rows[above:]


def _decimal_mark(rows: Sequence[Sequence[str]], separator: str, name: str, known: Format) -> tuple[str, float]:
    """The decimal mark of the rows, and how sure it is."""
    width = max(map(len, rows), default=0)
    mark, sure = find_decimal([[row[i].strip() for row in rows if i < len(row)] for i in range(width)], separator)
    if known.decimal and (sure < 1 or known.decimal != separator):  # else 1.5 stands between commas
        if sure and mark != known.decimal:
            note(f"{name}: {known.decimal!r} is the decimal mark, as at fit")
        mark, sure = known.decimal, 1.0
    return mark, sure


def _unique_names(cells: Sequence[str], rows: Sequence[tuple[int, list[str]]], name: str) -> list[str]:
    """The names in the first of the rows, whose cells are given."""
    names = _names_in(cells)
    two_lines = [any(map(is_number, cells)) for _, cells in rows[1:3]] == [False, True]
    step = "leave one line of names, or " if two_lines else ""
    check_unique(names, what=name, step=f"{step}rename the copies in its line of names")
    return names


def _names_without_line(n_columns: int, known: Format) -> list[str]:
    """Names of the columns of a table without a line of names: those of the fit that are as many, or x0, x1, ..."""
    names = [f"x{position}" for position in range(n_columns)]
    by_position = known.has_names is False and len(names) == known.width  # as at fit, including columns left out
    ways = (names, known.columns) if by_position else (known.columns, known.names, names)
    return list(next(way for way in ways if len(way) == len(names)))


def _separated(sample: str, name: str, known: Format) -> tuple[str, list[tuple[int, list[str]]]]:
    """The separator of a text, and number and cells of its lines."""
    stated = _SEPARATOR_LINE.match(sample)
    separator = known.given_separator or (stated.group(1) if stated else "")
    if not separator:
        lines = _split(sample, known.separator) if known.separator else []
        is_known = _line_of_names(lines, known) is not None
        if known.has_names is False or known.given_header is False:
            is_known = is_known or any(1 < len(cells) in (known.width, len(known.names)) for _, cells in lines)
        separator = known.separator if is_known else _find_separator(sample)
    rows = _split(sample, separator)[1 if stated else 0 :]
    if not rows:
        raise InvalidInputError(
            f"{name} is empty. It must hold a table: a line of column names, then one line per row."
        )
    is_whole = known.given_separator and all(len(cells) == 1 for _, cells in rows)
    if is_whole and (likely := _find_separator(sample)) in rows[0][1][0]:
        note(f"no line of {name} contains {separator!r}, so the table has one column; try --separator {likely!r}")
    return separator, rows


def _has_row_names(
    cells: Sequence[str], rows: Sequence[Sequence[str]], separator: str, known: Format = UNKNOWN
) -> bool:
    """Whether every row begins with its own name or number, and the line of names has no cell for them, as R writes."""
    if {len(row) for row in rows} != {len(cells) + 1} or not any(row[-1].strip() for row in rows):
        return False
    if _names_in(["", *cells]) == list(known.columns):
        return True
    names = [row[0].strip() for row in rows]
    numbers = [int(name) for name in names if name.isdecimal()]
    if len(cells) == 1 and (separator == "," or not all(is_number(row[1].strip() or "0") for row in rows)):
        return False  # the cell may be a title
    if len(set(names)) < len(names):
        return False
    if len(numbers) < len(names):
        return not any(map(is_number, names))
    return separator != "," or (numbers[0] in (0, 1) and numbers == sorted(numbers))  # else it may part thousands


def _are_names(cells: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> bool:
    """Whether the cells of a first line are names of columns, not values like those of the rows below."""
    numbers = [is_number(cell) for cell in cells]
    below = [{row[i].strip() for row in rows if i < len(row)} for i in range(len(cells))]
    is_level = [
        cell in own and cell != "" for cell, own, number in zip(cells, below, numbers, strict=True) if not number
    ]
    is_value = [is_written(cell) and any(map(is_written, own)) for cell, own in zip(cells, below, strict=True)]
    filled = [cell for cell in cells if cell]
    are_copies = len(set(filled)) < len(filled) and 2 * sum(is_level) > len(filled)  # no names, which differ
    are_copies = are_copies and not any(is_number(cell) for own in below for cell in own)  # joined files
    if not (all(numbers) or (any(numbers) and any(is_level)) or any(is_value) or are_copies):
        return True
    what = "values" if any(is_value) else "numbers and words" if any(numbers) else "words"
    why = "holds only numbers" if all(numbers) else f"holds {what} like those below"
    note(f"the first line of {name} {why}, so it is read as data; use --header to read it as column names")
    return False


def _names_in(cells: Sequence[str]) -> list[str]:
    """The names of columns in a line."""
    first = cells[0].lstrip("# ") or cells[0]
    return [cell or f"{_UNNAMED}{position}" for position, cell in enumerate([first, *cells[1:]])]


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
    for fewest in (width, 2):  # titles of several cells stand above names without a blank one
        titles = first
        while titles + 2 < len(lines) and sum(map(bool, lines[titles])) < fewest and not is_number(lines[titles][0]):
            titles += 1  # spreadsheets write blank lines as blank cells
        names_follow = width > 1 and sum(map(bool, lines[titles])) > 1 and not any(map(is_number, lines[titles]))
        if titles > first and names_follow and contains_number(titles + 1):
            return titles
    return first


def _sample_of(file: IO[bytes], name: str) -> tuple[bytes, str]:
    """Complete lines from the start, up to some hundreds, and the encoding by the byte order mark."""
    lines = []
    size = 0
    for line in file:
        lines.append(line)
        size += len(line)
        if len(lines) > _SAMPLE_LINES or size > _SAMPLE_BYTES:
            break
    sample = b"".join(lines)
    # Without a mark: in numbers and Latin letters one byte of two is zero, and the other one never.
    even, odd = (sample[i : len(sample) // 2 * 2 : 2].count(0) for i in (0, 1))
    bare = (
        "utf-8" if bool(even) == bool(odd) or 4 * (even + odd) < len(sample) else "utf-16-be" if even else "utf-16-le"
    )
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if sample.startswith(mark)), bare)
    if encoding.startswith("utf-16"):
        return sample, encoding
    what = next((what for (at, magic), what in _NO_TEXTS.items() if sample.startswith(magic, at)), "")
    if what or b"\0" in sample:
        step = "Unpack it, and give the file with the table" if what in _PACKED else "Save the table as CSV or Parquet"
        raise InvalidInputError(f"{name} is {what or 'not a text table'}. {step}.")
    return sample, encoding


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


def _no_rows(
    frame: pd.DataFrame, text: Text, levels: Collection[str], whole: Iterable[pd.DataFrame] | None
) -> dict[str, list[int]]:
    """Numbers of the lines that are not rows of the table: blank ones, comments, and notes and totals below it.

    ``levels``: words of a model; a line with one of these is a row. ``whole``: all rows, if ``frame`` has the last of
    them, else None.
    """
    import numpy as np

    first, last, known = frame.iloc[:, 0], frame.columns[-1], frame.notna()
    width = frame.shape[1] - (last.startswith(_UNNAMED) and not known[last].any())
    if width == 1 and whole is not None and first.dtype.kind not in "iufb":
        cells = first.dropna()
        are_numbers = _are_numbers(cells)
        n = int((~are_numbers).sum())
        if 0 < n < len(cells) - n and not are_numbers.iloc[-n:].any():
            return {"of notes below the table": cells.index[-n:].tolist()}
    if frame.empty or width < 2:
        return {}
    n_values = known.sum(axis=1).to_numpy()
    alone = np.flatnonzero((n_values == 1) & first.notna() & (first.dtype.kind not in "iufb"))  # few, most often
    words = first.iloc[alone].astype(str).str.strip()
    is_comment = words.str.startswith("#").to_numpy(dtype=bool)
    found = {"without a value": np.flatnonzero(n_values == 0).tolist(), "of comments": alone[is_comment].tolist()}
    if whole is None:
        return found
    rows = np.setdiff1d(np.flatnonzero(n_values), alone[is_comment], assume_unique=True)
    lone = alone[~is_comment & ~words.str.fullmatch(_TOTAL).to_numpy(dtype=bool) & ~words.isin(levels).to_numpy()]
    notes = np.union1d(lone, [row for row in _split_notes(frame, rows) if first.iloc[row] not in levels])
    # Below the table, where no line in it has so few values.
    above = rows[: len(rows) - len(notes)]
    are_below = 0 < len(notes) < len(rows) and (rows[len(above) :] == notes).all()
    numbers = first.iloc[above][:-1].dropna()  # lines of totals may be between the table and the notes
    if are_below and (width > 2 or not len(lone) or (_are_numbers(numbers) | numbers.astype(str).map(_is_total)).all()):
        found["of notes below the table"], rows = notes.tolist(), above
    left_out = frame.iloc[found.get("of notes below the table", [])]
    return found | {"of totals": _totals_at_end(frame, rows, left_out, text, levels, whole)}


def _totals_at_end(
    frame: pd.DataFrame, rows: npt.NDArray[np.intp], left_out: pd.DataFrame, text: Text, levels: Collection[str],
    whole: Iterable[pd.DataFrame],
) -> list[int]:  # fmt: skip
    """The last rows that are totals by their first cells and by their numbers; parameters as in ``_no_rows``."""
    words = list[str]()
    while len(words) + 2 < len(rows) and (word := _word_of_total(frame, rows[-1 - len(words)], levels)):
        words.append(word)
    if not words:
        return []
    n = _n_totals(frame.iloc[rows[-len(words) :]], left_out, whole, text.layout.decimal)
    if not n:
        said = f"the last line of {text.name} says {words[0]!r} but has no sum or mean of the numbers above"
        note(f"{said}; kept as a row")
    totals: list[int] = rows[len(rows) - n :].tolist()
    return totals


def _split_notes(frame: pd.DataFrame, rows: npt.NDArray[np.intp]) -> set[int]:
    """The last rows that start like a note, and have words in a column of numbers: the note contains separators."""
    n = next((n for n, row in enumerate(rows[::-1]) if not _NOTE.fullmatch(str(frame.iat[row, 0]).strip())), 0)
    found = set[int]()
    for column in frame.columns[1:] if n else ():
        own, last = frame[column].iloc[rows[:-n]].dropna(), frame[column].iloc[rows[-n:]].dropna()
        words, are_written = last[~_are_numbers(last)], own.astype(str).map(is_written)
        if len(own) and len(words) and (_are_numbers(own) | are_written).all():
            found.update(words.index)
    return found


def _is_total(cell: str) -> bool:
    return _TOTAL.fullmatch(cell.strip()) is not None


def _word_of_total(frame: pd.DataFrame, row: int, levels: Collection[str]) -> str:
    """The word in a row that says that it is a total, which no other row has; empty if there is none."""
    for column in frame.columns:
        cell = str(frame[column].iloc[row])
        if _is_total(cell) and cell.strip() not in levels and (frame[column] == cell).sum() == 1:
            return cell
    return ""


def _are_numbers(cells: pd.Series) -> pd.Series:
    """Which cells are numbers or marks of missing ones."""
    words = cells.astype(str).str.strip()
    return words.map(lambda cell: is_number(cell) or cell.casefold() in MISSING_AMONG_NUMBERS).astype(bool)


def _n_totals(last: pd.DataFrame, notes: pd.DataFrame, whole: Iterable[pd.DataFrame], decimal: str) -> int:
    """How many last rows have no number, or one that is a sum or mean of the numbers above all of them.

    ``notes``: rows below them, which do not count.
    """
    import numpy as np
    import pandas as pd

    def numbers(frame: pd.DataFrame) -> pd.DataFrame:
        written = {
            name: cells if cells.dtype.kind in "iuf" else numbers_in(cells, decimal) for name, cells in frame.items()
        }
        return pd.DataFrame(written, index=frame.index, dtype=float)

    figures = numbers(last).dropna(axis="columns", how="all")
    sums = counts = 0.0
    for sign, frame in chain(((1, frame) for frame in whole), ((-1, notes), (-1, last))):
        own = numbers(frame[figures.columns])
        sums, counts = sums + sign * own.sum().to_numpy(), counts + sign * own.count().to_numpy()
    for at in range(len(last)):
        below, means = figures.iloc[at:], sums / np.maximum(counts, 1)
        add_up = np.isclose(below, sums, rtol=_ROUNDED, atol=0) | np.isclose(below, means, rtol=_ROUNDED, atol=0)
        if (add_up.any(axis=1) | below.isna().all(axis=1)).all():
            return len(last) - at
        sums, counts = sums + figures.iloc[at].fillna(0).to_numpy(), counts + figures.iloc[at].notna().to_numpy()
    return 0


_ROUNDED = 5e-3


def whole_again(frame: pd.DataFrame) -> pd.DataFrame:
    """Restore whole numbers in columns that pandas read as floats only because of missing values."""
    from pandas.api import types

    for column in frame.columns:
        values = frame[column]
        if types.is_float_dtype(values) and (values % 1 == 0).all() and values.abs().max() < 2**53:
            frame = with_columns(frame, {column: values.astype("int64")})
    return frame


def _split(sample: str, separator: str) -> list[tuple[int, list[str]]]:
    """Line number and cells of every line that is not blank."""
    csv.field_size_limit(_SAMPLE_BYTES)
    try:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator, skipinitialspace=True)
        rows = []
        line = 1
        for cells in reader:
            if cells:
                rows.append((line, cells))
            line = reader.line_num + 1
    except (TypeError, ValueError) as error:  # csv's errors for a separator that it cannot use
        raise InvalidInputError(f"The separator {separator!r} is not valid. Give a single character.") from error
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
    """Whether spaces split every line into equally many cells, and at least half of the columns hold numbers alone."""
    first, *rows = [cells for _, cells in _split(sample, " ") if not cells[0].startswith("#")] or [[]]
    widths = {len(row) for row in rows}
    if not rows or len(first) < 2 or not (widths == {len(first)} or _has_row_names(first, rows, " ")):
        return False
    columns = zip(*rows, strict=True)
    are_numbers = [all(is_number(cell) or cell.casefold() in MISSING_AMONG_NUMBERS for cell in own) for own in columns]
    # A number and a word may be one cell, such as 3 min.
    return all(are_numbers) or 2 * sum(are_numbers) >= len(are_numbers) > 2


def _exact_numbers(version: str) -> dict[str, str]:
    """Option for pandas to parse numbers exactly; from 3.1 on it always does, and has no such option."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}
