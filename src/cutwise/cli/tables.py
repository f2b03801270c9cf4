"""Reading a table: CSV, TSV or Parquet, compressed or not, from files or standard input, detected by content."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from glob import glob, has_magic
from typing import IO, TYPE_CHECKING, Any, Literal

import psutil

from cutwise.cli.cells import MISSING_AMONG_NUMBERS, PLAIN, Format, Reading, read_cells, with_columns
from cutwise.cli.screen import note, working
from cutwise.cli.text import UNKNOWN, Layout, Text, find_text
from cutwise.exceptions import InvalidInputError, listed, optional_package
from cutwise.passes.sources import BATCH_ROWS, arrow_reads, scan_dataset
from cutwise.reference.resources import in_words
from cutwise.table.intake import check_option
from cutwise.table.mixed import MOST_ITEMS
from cutwise.table.table import check_unique

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa
    from pyarrow.dataset import Dataset


STANDARD_INPUT = "-"


_COMPRESSED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_PARQUET = b"PAR1"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the latter without any member


@dataclass(frozen=True)
class Source:
    """A table as it was read, before any choice or check of columns."""

    frame: pd.DataFrame  # of a table that is read in batches without rows
    name: str  # name in messages
    line_of: Callable[[int], int] | None = None  # the line of a row in the file, if rows are lines
    readings: Mapping[str, Reading] = field(default_factory=dict)  # how columns of text were read
    first_row: int = 0  # number of the first row in a file that is read in parts
    files: Sequence[File] = ()  # of a table that is not in memory
    values: Mapping[str, Callable[[pd.Series], pd.Series]] = field(default_factory=dict)  # of original cells in these
    parquet: Dataset | None = None  # the rows of ``files``, if all are Parquet with the same columns and types
    numbers: Collection[str] = ()  # columns in which cells that are not numbers are missing
    layout: Layout | None = None  # of a text: that of the first file, with the decimal mark of all files
    differing: Mapping[str, str] = field(default_factory=dict)  # columns whose contents differ between Parquet files

    @property
    def in_batches(self) -> bool:
        """Whether the rows are read in batches."""
        return bool(self.files)

    @property
    def has_names(self) -> bool:
        """False when the file's first line is data already; columns are then ``x0``, ``x1``, ..."""
        return self.layout is None or self.layout.has_names

    def row(self, number: int) -> str:
        """Text for a row: ``row 3 (line 5 of data.csv; rows are counted from 0)``."""
        if self.line_of is None:
            return f"row {self.first_row + number} of {self.name} (rows are counted from 0)"
        return f"row {number} (line {self.line_of(number)} of {self.name}; rows are counted from 0)"

    def first(self, column: str, what: Literal["value", "gap", "infinity"]) -> tuple[str, Any]:
        """The first row, in words, with such a cell in a column, and the content of the cell."""
        row = 0
        for batch in self.batches([column]):
            x = batch[column]
            is_such = x.notna() if what == "value" else x.isna() if what == "gap" else x.astype(float).abs() == math.inf
            if is_such.any():
                at = int(is_such.to_numpy().argmax())
                return self.row(row + at), x.iloc[at]
            row += len(x)
        raise ValueError(f"no {what} in {column}")

    def batches(self, columns: Sequence[str], as_words: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """The rows of some columns, all at once if they are in memory.

        ``as_words``: columns of two words, such as yes and no, that stay words.
        """
        import pandas as pd

        if not self.files:
            yield self.frame[list(columns)]
        words = {name for name in as_words if name in self.readings and self.readings[name].are_words}
        for frame in (frame for file in self.files for frame in file.frames(columns, self.values)):
            own = {name: read(frame[name]) for name, read in self.values.items() if name in frame and name not in words}
            frame = with_columns(frame, own)
            numbers = {name: pd.to_numeric(frame[name], errors="coerce") for name in self.numbers if name in frame}
            yield with_columns(frame, numbers)[list(columns)]

    def labels(self, column: str) -> pd.Series:
        """A column of labels as in the file: ``yes`` stays a word."""
        words = self.readings[column].words if column in self.readings else None
        return self.frame[column] if words is None else words

    def as_saved(self, columns: Collection[str]) -> dict[str, Any]:
        """The format of the file for a model file, for the columns of the model; see ``Format``."""
        if self.layout is None:
            return {}
        cells = {name: list(own.cells) for name, own in self.readings.items() if name in columns and own.cells != PLAIN}
        return {
            "separator": self.layout.separator,
            "decimal": self.layout.decimal if self.layout.sure else "",
            "has_names": self.has_names,
            "width": len(self.layout.names),
            "columns": list(self.layout.names),
            "cells": cells,
        }


def find_files(given: Sequence[str]) -> list[str]:
    """The files of paths, folders and patterns such as ``part-*.parquet``."""
    found = [name for path in given for name in _files_of(path)]
    if len(set(found)) < len(found):
        raise InvalidInputError(
            f"{listed(sorted({p for p in found if found.count(p) > 1}))} was given twice. Give it once."
        )
    return found


def _files_of(path: str) -> list[str]:
    if os.path.isdir(path):
        names = [os.path.join(path, name) for name in sorted(os.listdir(path)) if not name.startswith(".")]
        tables = [name for name in names if name.endswith(".parquet")]
        texts = [name for name in names if name.endswith((".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip"))]
        if tables and texts:
            raise InvalidInputError(
                f"{path} holds {_parts(tables)} and {_parts(texts)}. Give one kind: "
                f"'{os.path.join(path, '*.parquet')}' or '{os.path.join(path, '*.csv')}'."
            )
        if not tables and not texts:
            raise InvalidInputError(f"{path} is a directory without *.parquet or *.csv files. Give files.")
        return tables or texts
    if has_magic(path) and not os.path.exists(path):
        matching = sorted(name for name in glob(path, recursive=True) if os.path.isfile(name))
        if not matching:
            raise InvalidInputError(f"No file matches {path}. Check the folder and the ending.")
        return matching
    return [path]


def _parts(files: Sequence[str]) -> str:
    return f"{len(files)} *{os.path.splitext(files[0])[1]} file{'s' if len(files) > 1 else ''}"


def open_source(given: Sequence[str], max_memory: str | None, known: Format = UNKNOWN) -> Source:
    """Read a table from files, or prepare it for reading in batches if it would take too much memory."""
    if max_memory is not None:
        size = size_in_memory(files := find_files(given))
        if size is not None and size > bytes_of(max_memory):
            source = scan_source(given, files, known)
            note(
                f"{source.name} takes about {in_words(int(size))} in memory, so its rows are read in batches",
                of_table=False,
            )
            return source
        if max_memory and size is None:
            note("standard input and compressed Parquet are read whole; --max-memory does not apply", of_table=False)
    with working(f"reading {' '.join(given)}"):
        return read_source(*given, known=known)


def read_source(*given: str, known: Format = UNKNOWN) -> Source:
    """Read a table from files of the same columns, or from standard input for ``-``; see ``find_files``."""
    source = read_files(given, _open_files(find_files(given), known), known)
    if source.frame.empty:
        raise no_rows(source)
    return source


def scan_source(given: Sequence[str], paths: Sequence[str], known: Format) -> Source:
    """A table of several files, or of a large one, to be read in batches."""
    import pandas as pd

    files = _open_files(paths, known, BATCH_ROWS)
    orders = [_orders(file.name) if isinstance(file, Parquet) else {} for file in files]
    for name, levels in {name: levels for own in orders for name, levels in own.items()}.items():
        holding = [own for file, own in zip(files, orders, strict=True) if file.column_types.get(name, "texts")]
        for file in files:
            file.orders |= {name: levels} if all(own.get(name) == levels for own in holding) else {}
    source, columns = _inspect(given, files, known)
    schema = getattr(files[0], "schema", None)
    same = all(isinstance(file, Parquet) and file.schema.equals(schema) for file in source.files)
    frame = next(source.batches(columns), pd.DataFrame(columns=columns))[:0]
    return replace(source, frame=frame, parquet=_dataset_of(source.files) if same else None)


def read_files(given: Sequence[str], files: Sequence[File], known: Format) -> Source:
    """Read a table, possibly without rows, into memory."""
    import pandas as pd

    source, columns = _inspect(given, files, known)
    words = [name for name, reading in source.readings.items() if reading.are_words]
    frames = list(source.batches(columns, words))
    cells = {name: pd.concat([own[name] for own in frames], ignore_index=True) for name in words}
    readings = {name: replace(source.readings[name], words=own) for name, own in cells.items()}
    frames = [with_columns(own, {name: source.values[name](own[name]) for name in words}) for own in frames]
    # A file without any value in a column does not determine its type.
    empty = [{column for column in columns if own[column].isna().all()} for own in frames if len(frames) > 1]
    always = set.intersection(*empty) if empty else set()
    parts = [own.drop(columns=list(names - always)) for own, names in zip(frames, empty, strict=False)]
    frame = _with_types(pd.concat(parts, ignore_index=True)[columns]) if parts else frames[0]
    frame = pd.DataFrame(columns=columns, dtype="float64") if frame.empty else frame
    for file in files:
        file.frame = None
    return replace(source, frame=frame, readings={**source.readings, **readings}, files=(), values={})


def _inspect(given: Sequence[str], files: Sequence[File], known: Format) -> tuple[Source, list[str]]:
    """A table whose cells were looked at, and its columns.

    A column that is text somewhere is text everywhere; in Parquet files text is read only for columns that a model
    knows and not as words.
    """
    import pandas as pd

    kinds, readings, line_of = _kinds_of_cells(files, known), dict[str, Reading](), None
    text = next((file for file in files if isinstance(file, Text)), None)
    if text is None:
        layout, decimal = None, known.decimal or "."
        texts = [name for name in known.read if all(file.column_types.get(name) == "texts" for file in files)]
    else:
        layout, decimal = text.layout, text.layout.decimal
        line_of = text.line_of if len(files) == 1 else None
        truths = [name for name, own in kinds.items() if own == {"truth values"}]
        readings = {name: Reading(cells=("true",)) for name in truths}
        texts = [name for name, own in kinds.items() if "texts" in own or len(own) > 1]
        texts += [name for name in truths if known.cells.get(name) == PLAIN]
    filled = [file for file in files if file.n_rows] or list(files[:1])
    if filled[0].n_rows and len(filled) < len(files):
        note(f"no rows in {listed(file.name for file in files if not file.n_rows)}")
    frames = (frame for file in filled if texts for frame in file.frames(texts, texts))
    values, read = read_cells_of(frames, texts, decimal, known.cells, MOST_ITEMS if files[0].rows else math.inf)
    shown = " ".join(given) if len(given) < 4 else f"{given[0]} ... {given[-1]}"
    name = files[0].name if len(files) == 1 else f"{shown} ({len(files)} files)"
    source = Source(
        pd.DataFrame(), name, line_of, readings | read, files=filled, values=values, layout=layout,
        differing=_differing(files),
    )  # fmt: skip
    return source, list(kinds)


def _kinds_of_cells(files: Sequence[File], known: Format) -> dict[str, set[str]]:
    """The kinds of cells of every column over all files, which need the same columns."""
    of_files = [file.scan(known) for file in files]
    first = of_files[0]
    for file, own in zip(files, of_files, strict=True):
        lacks, more = [c for c in first if c not in own], [c for c in own if c not in first]
        if lacks or more:
            what = f"lacks {listed(lacks)}" if lacks else f"has {listed(more)} too"
            raise InvalidInputError(f"{file.name} {what}, unlike {files[0].name}. All files need the same columns.")
    return {column: set().union(*(own[column] for own in of_files)) - {"nothing"} for column in first}


def _open_files(paths: Sequence[str], known: Format, rows: int | None = None) -> list[File]:
    """The files of one table, to be read ``rows`` at a time, or all at once.

    The numbers of all texts have the same decimal mark, unless a file's own numbers determine it.
    """
    files = [_open_file(path, known) for path in paths]
    for file in files:
        file.rows = rows
    texts = [file for file in files if isinstance(file, Text)]
    most = max((text.layout.sure for text in texts), default=0.0)
    marks = {text.layout.decimal for text in texts if text.layout.sure == most}
    mark = min(marks, default=".")  # a comma, where one has it
    for text in texts:
        if text.layout.sure < 1 or text.layout.decimal == mark:
            text.layout = replace(text.layout, decimal=mark, sure=most if len(marks) == 1 else 0.0)
    return files


def no_rows(source: Source) -> InvalidInputError:
    """The error for an empty table; single files of several may be empty."""
    are_names = source.layout is not None and source.has_names
    what = "a line of column names and no rows. It needs one line per row" if are_names else "no rows"
    return InvalidInputError(f"{source.name} holds {what}.")


def bytes_of(size: str) -> float:
    """Number of bytes of ``2GiB``, ``500 MB`` or a plain number; half of this machine's memory if not given."""
    if not size:
        return psutil.virtual_memory().total / 2.0  # type: ignore[no-any-return]
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(?:([KMGT])(i?)B?|B)?\s*", size, re.IGNORECASE)
    if found is None or float(found[1]) == 0:
        raise InvalidInputError(f"--max-memory {size} is not a size. Give one such as 2GiB or 500MB.")
    power = 0 if found[2] is None else "KMGT".index(found[2].upper()) + 1
    return float(found[1]) * float(1024 if found[3] else 1000) ** power


def size_in_memory(files: Sequence[str]) -> float | None:
    """Approximate memory in bytes of a fit to the table in these files; None if they cannot be read in batches."""
    total = 0.0
    for path in files:
        if not os.path.isfile(path):
            return None
        if is_parquet(path):
            optional_package("pyarrow", "Reading Parquet files", "files")
            from pyarrow import parquet

            with _readable_parquet(path):
                about = parquet.read_metadata(path)
            total += 40.0 * about.num_rows * about.num_columns
            continue
        size = os.path.getsize(path)
        with open(path, "rb") as file, _naming_damage(path):
            content = _unpacked(file, path)
            if content is not file:
                beginning = content.read(2**22)
                if beginning.startswith(_PARQUET):
                    return None
                size = int(len(beginning) / file.tell() * size)
        total += 8.0 * size
    return total


def is_parquet(path: str) -> bool:
    """Whether a file is a Parquet file."""
    with open(path, "rb") as file:
        return file.read(4) == _PARQUET


def read_cells_of(
    frames: Iterable[pd.DataFrame],
    columns: Sequence[str],
    decimal: str,
    known: Mapping[str, Collection[str]],
    most: float = math.inf,
) -> tuple[dict[str, Callable[[pd.Series], pd.Series]], dict[str, Reading]]:
    """How columns of text are read, by their distinct cells, or by those that are no numbers if there are too many."""
    import pandas as pd

    counts, many = {column: Counter[str]() for column in columns}, set[str]()
    for frame in frames:
        for column in columns:
            own = frame[column].fillna("").value_counts(sort=False)
            own = own[~_are_numbers(own.index, decimal)] if column in many else own
            counts[column].update(own.to_dict())
            if len(counts[column]) > most and column not in many:
                many.add(column)
                own = pd.Series(counts[column])
                counts[column] = Counter(own[~_are_numbers(own.index, decimal)].to_dict())
            if column in many and len(counts[column]) > len(MISSING_AMONG_NUMBERS):
                counts[column] = Counter(list(counts[column])[: len(MISSING_AMONG_NUMBERS) + 1])  # free text
    values, readings = dict[str, Callable[[pd.Series], pd.Series]](), {}
    for column, cells in counts.items():
        found, reading = read_cells(list(cells), list(cells.values()), decimal, known.get(column))
        if column not in many:
            values[column], readings[column] = partial(_values_of, pd.Series(found.array, index=list(cells))), reading
        elif found.isna().all():
            values[column], readings[column] = partial(_as_numbers, decimal), reading
        else:
            values[column] = lambda cells: cells.str.strip()
    return values, readings


def _values_of(values: pd.Series, cells: pd.Series) -> pd.Series:
    import pandas as pd

    codes, distinct = pd.factorize(cells.fillna(""))
    return pd.Series(values.reindex(distinct).array.take(codes), index=cells.index, name=cells.name)


def _as_numbers(decimal: str, cells: pd.Series) -> pd.Series:
    import pandas as pd

    return pd.to_numeric(cells.str.replace(decimal, ".", regex=False), errors="coerce")


def _are_numbers(cells: pd.Index, decimal: str) -> npt.NDArray[np.bool_]:
    """Which cells are plain numbers, and no codes with leading zeros."""
    x = cells.to_series()
    found: npt.NDArray[np.bool_] = (_as_numbers(decimal, x).notna() & ~x.str.fullmatch(r"\s*0\d\d+\s*")).to_numpy(
        dtype=bool
    )
    return found


def _dataset_of(files: Sequence[File]) -> Dataset:
    from pyarrow import dataset

    return dataset.dataset([file.name for file in files], format="parquet")


def _column_types(schema: pa.Schema) -> dict[str, str]:
    """Contents of the columns of a Parquet file, in words, empty without any value; without an index of pandas.

    Columns of two files with the same words are parts of one column.
    """
    from pyarrow import types

    words: dict[str, Callable[[pa.DataType], bool]] = {
        "": types.is_null,
        "numbers": lambda own: any(is_kind(own) for is_kind in (types.is_integer, types.is_floating, types.is_decimal)),
        "true and false": types.is_boolean,
        "texts": lambda own: types.is_string(own) or types.is_large_string(own),
        "dates": lambda own: types.is_date(own) or (types.is_timestamp(own) and own.tz is None),
        "times of day": types.is_time,
    }
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    found = {}
    for column in schema:
        own = column.type.value_type if types.is_dictionary(column.type) else column.type
        if column.name not in index:
            found[column.name] = next((what for what, holds in words.items() if holds(own)), str(own))
    return found


def _differing(files: Sequence[File]) -> dict[str, str]:
    """The columns whose contents differ between Parquet files, in words."""
    first, found = dict[str, tuple[str, str]](), dict[str, str]()
    for file in files:
        for column, what in file.column_types.items():
            before, where = first.setdefault(column, (what, file.name)) if what else (what, file.name)
            if what != before:
                found.setdefault(column, f"{before} in {where} and {what} in {file.name}")
    return found


def _orders(path: str) -> dict[str, list[str]]:
    """The levels of ordered categorical columns of a file."""
    from pyarrow import parquet, types

    found = dict[str, dict[str, None]]()
    with _readable_parquet(path), parquet.ParquetFile(path) as file:
        for column in file.schema_arrow:
            if types.is_dictionary(column.type) and column.type.ordered:
                found[column.name] = {}
        for group in range(file.num_row_groups if found else 0):
            for rows in file.iter_batches(1, row_groups=[group], columns=list(found)):
                for name, levels in found.items():
                    levels |= dict.fromkeys(rows.column(name).dictionary.to_pylist())
                break
    return {name: list(levels) for name, levels in found.items()}


def read_in_parts(path: str, rows: int, known: Format) -> Iterator[Source]:
    """The rows of a file: of a Parquet file ``rows`` at a time, of a text all at once."""
    is_text, first = not (os.path.isfile(path) and is_parquet(path)), 0
    (file,) = _open_files([path], known, None if is_text else rows)
    if is_text:
        yield read_files([path], [file], known)
        return
    texts = [name for name in known.read if file.column_types.get(name) == "texts"]
    for frame in file.frames(file.column_types):
        values, readings = read_cells_of([frame], texts, known.decimal or ".", known.cells)
        read = {name: own(frame[name]) for name, own in values.items()}
        yield Source(with_columns(frame, read), path, readings=readings, first_row=first)
        first += len(frame)


def _open_file(path: str, known: Format) -> File:
    """A table in one file, whose rows are not read yet.

    Separated text or Parquet; gzip, bzip2, xz and zip are unpacked on the way. The content decides, not the name's
    ending. A separator or a header that is not given is found out.
    """
    optional_package("pandas", "Reading files", "files")
    name, content = path, None
    if path == STANDARD_INPUT:
        name, content = "standard input", sys.stdin.buffer.read()
    else:
        with open(path, "rb") as given:
            content = None if given.seekable() else given.read()  # a pipe can be read only once

    @contextmanager
    def opened() -> Iterator[IO[bytes]]:
        with open(path, "rb") if content is None else io.BytesIO(content) as file, _naming_damage(name):
            yield _unpacked(file, name)

    with opened() as unpacked:
        start = unpacked.read(len(_PARQUET))
    if not start:
        raise InvalidInputError(
            f"{name} is empty. It must hold a table: a line of column names, then one line per row."
        )
    return Parquet(name, opened) if start == _PARQUET else find_text(name, opened, known)


@contextmanager
def _naming_damage(name: str) -> Iterator[None]:
    """Name the file in errors of unpacking."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"{name} is damaged or truncated: {error}. Copy it again.") from error


def _unpacked(file: IO[bytes], name: str) -> IO[bytes]:
    """The content of a file that may be compressed."""
    start = file.read(8)
    file.seek(0)
    if start.startswith(_ZIP):
        return _unpacked(_only_member(file, name), name)
    unpack = next((unpack for magic, unpack in _COMPRESSED.items() if start.startswith(magic)), None)
    return unpack(file) if unpack else file


def _only_member(file: IO[bytes], name: str) -> IO[bytes]:
    """The only file in a zip archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            # Operating systems add folders and hidden files.
            members = [m for m in archive.namelist() if not m.endswith("/") and not m.split("/")[-1].startswith(".")]
            members = [member for member in members if not member.startswith("__MACOSX/")]
            if len(members) == 1:
                return archive.open(members[0])
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InvalidInputError(
            f"{name} is a zip archive or an Excel workbook that cannot be read: {error}. "
            "Save the table as CSV or Parquet."
        ) from error
    if not members:
        raise InvalidInputError(f"{name} is a zip archive without files. Give the file of the table.")
    if "[Content_Types].xml" in members:
        raise InvalidInputError(f"{name} is an Excel workbook. Save the table as CSV or Parquet.")
    raise InvalidInputError(
        f"{name} is a zip archive of {len(members)} files ({listed(members)}). "
        "Unpack it and give the one with the table."
    )


class Parquet:
    """A Parquet file.

    ``column_types``: contents of the columns, in words, empty without any value. ``orders``: levels of ordered
    categorical columns that are read in batches; without them such columns are texts.
    """

    def __init__(self, name: str, opened: Callable[[], AbstractContextManager[IO[bytes]]]) -> None:
        optional_package("pyarrow", "Reading Parquet files", "files")
        from pyarrow import parquet

        self.name, self._open = name, opened
        with _readable_parquet(name), opened() as file:
            about = parquet.ParquetFile(file)
            self.schema, self.n_rows = about.schema_arrow, about.metadata.num_rows
        check_unique(self.schema.names, what=name)
        self.column_types = _column_types(self.schema)
        self.orders = dict[str, list[str]]()
        self.frame: pd.DataFrame | None = None  # as in ``Text``
        self.rows: int | None = None

    def scan(self, known: Format = UNKNOWN) -> dict[str, set[str]]:
        """Kinds of the cells of every column, by its type; see ``Text.scan``."""
        kinds = {"numbers": "numbers", "true and false": "truth values", "": "nothing"}
        return {column: {kinds.get(what, "texts")} for column, what in self.column_types.items()}

    def frames(self, columns: Collection[str], as_cells: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """Read the rows of some columns, in parts; ``as_cells``: those to convert to text."""
        from pyarrow import parquet

        names, orders = list(columns), None if self.rows is None else self.orders
        with _readable_parquet(self.name), self._open() as file:
            whole = [parquet.read_table(file, columns=names)] if self.rows is None else None
            for part in whole or scan_dataset(_dataset_of([self]), names):
                frame = _with_types(part.replace_schema_metadata(None).to_pandas(), orders)
                cells = {name: frame[name].map(str, na_action="ignore") for name in as_cells if name in frame}
                yield with_columns(frame, cells)


File = Text | Parquet


def _readable_parquet(name: str) -> AbstractContextManager[None]:
    """Convert errors of a damaged or invalid Parquet file to errors of cutwise."""
    return arrow_reads(lambda said: InvalidInputError(f"{name} is not a Parquet file that can be read: {said}"))


def _with_types(frame: pd.DataFrame, orders: Mapping[str, Sequence[str]] | None = None) -> pd.DataFrame:
    """Convert columns that are typed in Parquet but objects in pandas: decimals, truth values with gaps, dates, nulls.

    Unordered categories become texts, since the order of levels in a file is that of first appearance. ``orders``: all
    levels of ordered ones, if the frame is a part of the rows.
    """
    import pandas as pd
    from pandas.api.types import infer_dtype

    found = {}
    for column in [column for column in frame.columns if frame[column].dtype.kind == "O"]:
        values, kind = frame[column], infer_dtype(frame[column], skipna=True)
        if isinstance(values.dtype, pd.CategoricalDtype):
            if not values.cat.ordered or (orders is not None and column not in orders):
                found[column] = values.astype(object)
            elif orders is not None:
                found[column] = values.cat.set_categories(orders[column])
        elif kind in ("decimal", "empty"):
            found[column] = values.map(float, na_action="ignore").astype("float64")
        elif kind == "boolean":
            found[column] = values.astype("boolean")
        elif kind == "date":
            found[column] = values.to_numpy().astype("datetime64[s]")
    return with_columns(frame, found) if found else frame


# Name -> number of known classes, the default of -k.
EXAMPLE_TABLES = {"wine": 3, "iris": 3, "breast_cancer": 2, "digits": 10}


def read_example(name: str) -> Source:
    """A bundled table with its column names, without the column of classes."""
    check_option("--example", name, tuple(EXAMPLE_TABLES))
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Source(pd.DataFrame(bunch.data, columns=list(bunch.feature_names)), f"example {name}")
