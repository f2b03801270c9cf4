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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from glob import escape, glob, has_magic
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

import psutil

from cutwise.cli.cells import MISSING_AMONG_NUMBERS, PLAIN, Format, Reading, read_cells, read_columns, with_columns
from cutwise.cli.screen import note, working
from cutwise.cli.text import (
    UNKNOWN,
    Layout,
    find_layout,
    in_utf8,
    line_with_values,
    may_contain_codes,
    read_text,
    sample_of,
)
from cutwise.exceptions import InvalidInputError, MissingDependencyError, listed
from cutwise.passes.sources import BATCH_ROWS, polars_table, scan_dataset
from cutwise.passes.spill import Copies
from cutwise.reference.resources import in_words
from cutwise.table.intake import check_option
from cutwise.table.mixed import MOST_ITEMS
from cutwise.table.table import check_unique

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyarrow.dataset import Dataset


STANDARD_INPUT = "-"

Rows = TypeVar("Rows", "pl.DataFrame", "pl.LazyFrame")
Part = TypeVar("Part")

_COMPRESSED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_PARQUET = b"PAR1"
CODE_CELL = r"^\s*0\d\d+\s*$"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the latter without any member


@dataclass(frozen=True)
class Source:
    """A table as it was read, before any choice or check of columns."""

    frame: pd.DataFrame
    name: str  # name in messages
    line_of: Callable[[int], int] | None = None  # the line of a row in the file, if rows are lines
    readings: Mapping[str, Reading] = field(default_factory=dict)  # how columns of text were read
    first_row: int = 0  # number of the first row in a file that is read in parts
    lazy: pl.LazyFrame | None = None  # a table to be read in batches; ``frame`` has its columns and no rows
    parquet: Dataset | None = None  # the rows of ``lazy``, if all files are Parquet with the same columns and types
    values: Mapping[str, pl.Expr] = field(default_factory=dict)  # of columns of text in such a table
    numbers: Collection[str] = ()  # columns in which cells that are not numbers are missing
    decimal: str = ""  # of a text whose cells are not read yet
    layout: Layout | None = None  # of a text: that of the first file, with the decimal mark of all files
    cells: Callable[[Sequence[str]], pd.DataFrame] | None = None  # the original cells of columns
    column_types: Mapping[str, str] = field(default_factory=dict)  # contents of the columns of a Parquet file, by type
    differing: Mapping[str, str] = field(default_factory=dict)  # columns whose contents differ between such files
    copies: Copies | None = None  # copies of files in other encodings, while rows are read

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
        """The rows of some columns, all at once if they are in memory; ``as_words``: see ``read``.

        Parquet files are read one by one, since the engine would read ahead.
        """
        if self.lazy is None:
            yield self.frame[list(columns)]
            return
        import pandas as pd
        import polars as pl

        with in_batches(self.name) if self.parquet is None else _readable_parquet(self.name):
            if self.parquet is None:
                rows = self.read(self.lazy.select(columns), as_words)
                found: Iterator[Any] = rows.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
            else:
                batches = scan_dataset(self.parquet, list(columns))
                found = (self.read(pl.DataFrame(batch), as_words) for batch in batches)
            for batch in found:
                frame = _with_types(batch.to_pandas())
                numbers = {name: pd.to_numeric(frame[name], errors="coerce") for name in self.numbers if name in frame}
                yield with_columns(frame, numbers)

    def read(self, rows: Rows, as_words: Collection[str] = ()) -> Rows:
        """Convert rows of a table in batches to numbers, truth values, dates and texts.

        ``as_words``: columns of two words, such as yes and no, that stay words.
        """
        import polars as pl

        names = set(rows.collect_schema().names())
        names -= {name for name in as_words if name in self.readings and self.readings[name].words is not None}
        return rows.with_columns([own for name, own in self.values.items() if name in names]).with_columns(
            (pl.selectors.decimal() | pl.selectors.by_dtype(pl.Int128)).cast(pl.Float64),
            pl.selectors.float().fill_nan(None),
            pl.selectors.categorical().cast(pl.String),
        )

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
    found: list[str] = []
    for path in given:
        own = [path]
        if os.path.isdir(path):
            own, texts = (sorted(glob(os.path.join(escape(path), f"*.{ending}"))) for ending in ("parquet", "csv*"))
            texts = [name for name in texts if name.endswith((".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip"))]
            if own and texts:
                raise InvalidInputError(
                    f"{path} holds {_parts(own)} and {_parts(texts)}. Say which: '{os.path.join(path, '*.parquet')}' "
                    f"or '{os.path.join(path, '*.csv')}'."
                )
            own = own or texts
            if not own:
                raise InvalidInputError(f"{path} is a directory, and holds neither *.parquet nor *.csv. Give files.")
        elif has_magic(path) and not os.path.exists(path):
            own = sorted(name for name in glob(path, recursive=True) if os.path.isfile(name))
            if not own:
                raise InvalidInputError(f"No file matches {path}. Check the folder and the ending.")
        found += own
    if len(set(found)) < len(found):
        raise InvalidInputError(
            f"{listed(sorted({p for p in found if found.count(p) > 1}))}: given twice. Give it once."
        )
    return found


def _parts(files: Sequence[str]) -> str:
    return f"{len(files)} *{os.path.splitext(files[0])[1]} file{'s' if len(files) > 1 else ''}"


def open_source(given: Sequence[str], max_memory: str | None, known: Format = UNKNOWN) -> Source:
    """Read a table from files, or prepare it for reading in batches if it would take too much memory."""
    limit = math.inf if max_memory is None else bytes_of(max_memory)
    if limit < math.inf and (size := size_in_memory(files := find_files(given))) > limit:
        source = scan_source(given, files, known)
        note(
            f"{source.name} takes about {in_words(int(size))} in memory, so its rows are read in batches",
            of_table=False,
        )
        return source
    with working(f"reading {' '.join(given)}"):
        return read_source(*given, known=known)


def read_source(*given: str, known: Format = UNKNOWN) -> Source:
    """Read a table from files of the same columns, or from standard input for ``-``; see ``find_files``."""
    sources = [_read_file(path, known) for path in find_files(given)]
    source = sources[0] if len(sources) == 1 else _joined(sources, name_of(given, len(sources)))
    if source.frame.empty:
        raise no_rows(source)
    return _with_readings(source, known)


def no_rows(source: Source) -> InvalidInputError:
    """The error for an empty table; single files of several may be empty."""
    are_names = source.layout is not None and source.has_names
    what = "a line of column names and no rows. It needs one line per row" if are_names else "no rows"
    return InvalidInputError(f"{source.name} holds {what}.")


def _filled(parts: Sequence[Part], paths: Sequence[str], are_empty: Sequence[bool]) -> list[Part]:
    """The files with rows, with a note about the others; the first file if none has rows."""
    if any(are_empty) and not all(are_empty):
        note(f"no rows in {listed(path for path, is_empty in zip(paths, are_empty, strict=True) if is_empty)}")
    return [part for part, is_empty in zip(parts, are_empty, strict=True) if not is_empty] or list(parts[:1])


def _with_readings(source: Source, known: Format) -> Source:
    """A table with its columns of text read; in Parquet files only columns that a model knows and not as words."""
    from pandas.api.types import infer_dtype

    texts = source.frame
    if not source.decimal:
        named = [name for name in known.read if name in texts]
        texts = texts[[name for name in named if infer_dtype(texts[name], skipna=True) == "string"]]
    frame, readings = read_columns(texts, source.decimal or known.decimal or ".", known.cells)
    return replace(source, frame=with_columns(source.frame, dict(frame.items())), readings=readings, decimal="")


def name_of(given: Sequence[str], n_files: int) -> str:
    """Name of several files in messages."""
    return f"{' '.join(given) if len(given) < 4 else f'{given[0]} ... {given[-1]}'} ({n_files} files)"


def _joined(sources: Sequence[Source], name: str) -> Source:
    """One source with the rows of several."""
    import pandas as pd

    first = sources[0]
    for source in sources[1:]:
        check_parts_of_one_table(first.name, list(first.frame.columns), source.name, list(source.frame.columns))
    layouts = _with_one_mark([source.layout for source in sources])
    sources = [_in_mark(source, layout) for source, layout in zip(sources, layouts, strict=True)]
    filled = _filled(sources, [source.name for source in sources], [source.frame.empty for source in sources])
    # A column that is text in one file is text in all, as if they were one file.
    kinds = [{_kind(source.frame[column]) for source in filled} for column in first.frame.columns]
    torn = [column for column, own in zip(first.frame.columns, kinds, strict=True) if len(own - {"nothing"}) > 1]
    frames = [
        with_columns(source.frame, dict(source.cells(torn))) if torn and source.cells else source.frame
        for source in filled
    ]
    # A file without any value in a column does not determine its type.
    empty = [{column for column in first.frame.columns if own[column].isna().all()} for own in frames]
    always = set.intersection(*empty)
    frames = [own.drop(columns=list(names - always)) for own, names in zip(frames, empty, strict=True)]
    frame = pd.concat(frames, ignore_index=True)[first.frame.columns]
    decimal = min((source.decimal for source in sources if source.decimal), default="")  # a comma, where one has it
    frame = frame if decimal else _with_types(frame)
    differing = _differing({source.name: source.column_types for source in sources})
    layout = next(filter(None, layouts), None)
    return Source(frame, name, decimal=decimal, layout=layout, differing=differing)


def _with_one_mark(layouts: Sequence[Layout | None]) -> list[Layout | None]:
    """Layouts of files with a common decimal mark, unless a file's own numbers determine its mark."""
    texts = [layout for layout in layouts if layout is not None]
    most = max((layout.sure for layout in texts), default=0.0)
    marks = {layout.decimal for layout in texts if layout.sure == most}
    mark = min(marks, default=".")  # a comma, where one has it
    sure = most if len(marks) == 1 else 0.0
    return [
        layout and (layout if layout.sure == 1 and layout.decimal != mark else replace(layout, decimal=mark, sure=sure))
        for layout in layouts
    ]


def _in_mark(source: Source, layout: Layout | None) -> Source:
    """A source whose cells are read by a layout with a possibly different decimal mark."""
    if layout is None or layout.decimal == source.decimal or source.cells is None:
        return source
    fractions = [column for column in source.frame if source.frame[column].dtype.kind == "f"]
    frame = with_columns(source.frame, dict(source.cells(fractions))) if fractions else source.frame
    return replace(source, frame=frame, decimal=layout.decimal)


def _kind(column: pd.Series) -> str:
    """Kind of a column of a file."""
    kind = "truth values" if column.dtype.kind == "b" else "numbers" if column.dtype.kind in "iuf" else "texts"
    return kind if column.notna().any() else "nothing"


def check_parts_of_one_table(first: str, columns: Sequence[str], other: str, found: Sequence[str]) -> None:
    """Raise an error for files that are not parts of one table."""
    lacks, more = [c for c in columns if c not in found], [c for c in found if c not in columns]
    if lacks or more:
        what = f"lacks {listed(lacks)}" if lacks else f"has {listed(more)} too"
        raise InvalidInputError(f"{other} {what}, other than {first}. Several files need the same columns.")


def bytes_of(size: str) -> float:
    """Number of bytes of ``2GiB``, ``500 MB`` or a plain number; half of this machine's memory if not given."""
    if not size:
        return psutil.virtual_memory().total / 2.0  # type: ignore[no-any-return]
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(?:([KMGT])(i?)B?|B)?\s*", size, re.IGNORECASE)
    if found is None or float(found[1]) == 0:
        raise InvalidInputError(f"--max-memory {size} is no size. Say it such as 2GiB or 500MB.")
    power = 0 if found[2] is None else "KMGT".index(found[2].upper()) + 1
    return float(found[1]) * float(1024 if found[3] else 1000) ** power


def size_in_memory(files: Sequence[str]) -> float:
    """Approximate memory in bytes of a fit to the table in these files; 0 if they cannot be read in batches."""
    total = 0.0
    for path in files:
        if not os.path.isfile(path):
            return 0.0
        if is_parquet(path):
            _need("pyarrow", "Reading Parquet files")
            from pyarrow import parquet

            with _readable_parquet(path):
                about = parquet.read_metadata(path)
            total += 40.0 * about.num_rows * about.num_columns
            continue
        with open(path, "rb") as file:
            if file.read(8).startswith((*_COMPRESSED, *_ZIP)):
                return 0.0
        total += 8.0 * os.path.getsize(path)
    return total


def is_parquet(path: str) -> bool:
    """Whether a file is a Parquet file."""
    with open(path, "rb") as file:
        return file.read(4) == _PARQUET


def scan_source(given: Sequence[str], files: Sequence[str], known: Format) -> Source:
    """A table of several files, or of a large one, to be read in batches."""
    _need("polars", "Reading tables in batches")
    import pandas as pd
    import polars as pl

    polars_table(pl.LazyFrame())  # if this release of polars has batches
    name = name_of(given, len(files)) if len(files) > 1 else files[0]
    parts, column_types, layouts, places = [], dict[str, dict[str, str]](), list[Layout | None](), list[str]()
    copies = None
    for path in files:
        layouts.append(None)
        places.append(path)
        if not is_parquet(path):
            copies = Copies(persistent=True) if copies is None else copies
            places[-1] = in_utf8(path, copies.folder)
            with open(places[-1], "rb") as file:
                sample, _ = sample_of(file, path)
                layouts[-1] = find_layout(sample.decode("utf-8-sig"), path, known)
    layouts = _with_one_mark(layouts)
    for path, place, layout in zip(files, places, layouts, strict=True):
        if layout is None:
            with in_batches(name):
                parts.append(_scan_parquet(path))
                column_types[path] = _column_types(_dataset_of([path]).schema)
            continue
        with open(place, "rb") as file:
            has_codes = may_contain_codes(file)
        scan = partial(
            pl.scan_csv, place, separator=layout.separator, decimal_comma=layout.decimal == ",",
            has_header=layout.has_names, skip_rows=layout.skipped, glob=False,
        )  # fmt: skip
        with in_batches(path):
            types = scan(infer_schema_length=None).collect_schema().dtypes()
            if len(types) != len(layout.names):
                many = f"its first line has {len(types)} columns, where lines end by line feeds alone"
                raise pl.exceptions.ShapeError(many)
            # With types given, since otherwise every pass would need another pass to infer them.
            own = dict(zip(layout.names, types, strict=True))
            cells, read = scan(schema=dict.fromkeys(own, pl.String)), scan(schema=own)
            part = _with_words(read, cells, layout.decimal, has_codes, known.texts)
            part = part.with_columns(pl.col(pl.String).str.strip_chars())
            parts.append(part.filter(~pl.all_horizontal(pl.all().is_null())) if len(layout.names) > 1 else part)
    with in_batches(name):
        schemas = [part.collect_schema() for part in parts]
        for path, schema in zip(files, schemas, strict=True):
            check_parts_of_one_table(files[0], schemas[0].names(), path, schema.names())
        durations = [
            column for own in column_types.values() for column, what in own.items() if what.startswith("duration")
        ]
        # The engine cannot cast durations to text, and casts them to numbers in their own unit.
        column_types |= {path: dict.fromkeys(durations, "cells of text") for path in files if path not in column_types}
        differing = _differing(column_types)
        nothing = [pl.lit(None).alias(column) for column in differing]
        parts = _filled(parts, files, [part.head(1).collect().is_empty() for part in parts])
        table = pl.concat(
            [part.with_columns(nothing).select(schemas[0].names()) for part in parts], how="vertical_relaxed"
        )
        first = next(filter(None, layouts), None)
        lines = None if len(files) > 1 or first is None else partial(line_with_values, places[0], first)
        source = Source(pd.DataFrame(), name, lines, lazy=table, layout=first, differing=differing, copies=copies)
        if first is not None:
            source = _with_values(source, table, min(layout.decimal for layout in layouts if layout), known.cells)
        else:
            orders = {path: _orders(path) for path in files}
            values = {
                name: pl.col(name).cast(pl.String).cast(pl.Enum(levels))
                for name, levels in (item for own in orders.values() for item in own.items())
                if all(own.get(name) == levels or not column_types[path][name] for path, own in orders.items())
            }
            same = not differing and schemas.count(schemas[0]) == len(schemas)
            texts = table.select([name for name in known.read if name in schemas[0]])
            source = _with_values(source, texts, known.decimal or ".", known.cells)
            source = replace(source, values={**source.values, **values}, parquet=_dataset_of(files) if same else None)
        return replace(source, frame=pl.DataFrame(schema=source.read(table).collect_schema()).to_pandas())


def _dataset_of(files: Sequence[str]) -> Dataset:
    from pyarrow import dataset

    return dataset.dataset(list(files), format="parquet")


def _scan_parquet(path: str) -> pl.LazyFrame:
    """The rows of a file, read by pyarrow, which needs less memory than polars."""
    import polars as pl
    from polars.io.plugins import register_io_source

    with _readable_parquet(path):
        rows = _dataset_of([path])
    schema = pl.DataFrame(rows.schema.empty_table().select(list(_column_types(rows.schema)))).schema

    def read(columns: list[str] | None, where: pl.Expr | None, n: int | None, _: int | None) -> Iterator[pl.DataFrame]:
        with _readable_parquet(path):
            for batch in scan_dataset(rows, list(schema) if columns is None else columns):
                frame = pl.DataFrame(batch) if where is None else pl.DataFrame(batch).filter(where)
                yield frame if n is None else frame.head(n)
                if n is not None and (n := n - len(frame)) <= 0:
                    return

    return register_io_source(read, schema=schema)


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


def _differing(column_types: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The columns whose contents differ between files, in words; ``column_types``: by file and column."""
    first, found = dict[str, tuple[str, str]](), dict[str, str]()
    for name, columns in column_types.items():
        for column, what in columns.items():
            before, where = first.setdefault(column, (what, name)) if what else (what, name)
            if what != before:
                found.setdefault(column, f"{before} in {where} and {what} in {name}")
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


@contextmanager
def in_batches(name: str) -> Iterator[None]:
    """Convert errors of the engine that reads in batches to errors of cutwise."""
    import polars as pl

    try:
        yield
    except pl.exceptions.PolarsError as error:
        said = str(error).strip().partition("\n")[0]
        raise InvalidInputError(
            f"{name} cannot be read in batches: {said[:200].rstrip('.')}. Raise --max-memory to read it in memory."
        ) from error


def _numbers(x: pl.Expr, decimal: str) -> pl.Expr:
    """Cells as numbers, null for other cells."""
    import polars as pl

    return (
        (x.str.replace(",", ".", literal=True) if decimal == "," else x)
        .str.strip_chars(" ")
        .cast(pl.Float64, strict=False)
    )


def is_word(x: pl.Expr, decimal: str = ".") -> pl.Expr:
    """Whether cells have a value that is not a number."""
    return x.is_not_null() & _numbers(x, decimal).fill_nan(None).is_null()


def _with_words(
    table: pl.LazyFrame, cells: pl.LazyFrame, decimal: str, has_codes: bool, known: Collection[str]
) -> pl.LazyFrame:
    """A table with codes and truth values as texts, since other files may have words in these columns.

    Also columns ``known`` to a model, which determines how their cells are read.
    """
    import polars as pl

    schema = table.collect_schema()
    if not has_codes and pl.Boolean not in schema.dtypes() and not {*known} & {*schema}:
        return table
    types = {name: own for name, own in schema.items() if own.is_numeric() and name not in known}
    is_code = pl.col(list(types)).str.contains(CODE_CELL).any()
    found = cells.select(pl.len(), is_code).collect(engine="streaming").row(0, named=True)
    numbers = [_numbers(pl.col(name), decimal).cast(own) for name, own in types.items() if not found[name]]
    return cells.with_columns(numbers)


def _with_values(source: Source, table: pl.LazyFrame, decimal: str, known: Mapping[str, Collection[str]]) -> Source:
    """Read columns of text by their distinct cells, or if there are many by the cells that are not numbers."""
    import polars as pl

    values, types = {}, table.collect_schema()
    readings = {name: Reading(cells=("true",)) for name, own in types.items() if own == pl.Boolean}
    for name in [name for name, own in types.items() if own == pl.String]:
        x = pl.col(name)
        number, rows = _numbers(x, decimal), table.select(name).drop_nulls()
        are_many, has_codes = (
            rows.select(x.approx_n_unique() > MOST_ITEMS, x.str.contains(CODE_CELL).any().alias("codes"))
            .collect(engine="streaming").row(0)
        )  # fmt: skip
        if are_many:
            rows = rows.filter(is_word(x, decimal))
            if has_codes or rows.select(x.approx_n_unique()).collect(engine="streaming").item() > len(
                MISSING_AMONG_NUMBERS
            ):
                continue
        cells = rows.group_by(name).len().sort(name).collect(engine="streaming")
        column, reading = read_cells(cells[name].to_pandas(), decimal, known.get(name))
        counts = Counter[str]()
        for mark, n in zip(cells[name].str.strip_chars().to_list(), cells["len"].to_list(), strict=True):
            counts[mark] += n
        readings[name] = replace(reading, markers={mark: counts[mark] for mark in reading.markers})
        if column.dtype.kind in "mMiufb":
            own: Any = pl.from_pandas(column)
            values[name] = (
                number if are_many or own.is_empty() else x.replace_strict(cells[name], own, return_dtype=own.dtype)
            )
        elif isinstance(known.get(name), frozenset) or column.isna().any():
            found = pl.Series([cell if isinstance(cell, str) else None for cell in column], dtype=pl.String)
            x = x.fill_null("") if "" in known.get(name, ()) else x
            values[name] = x.replace(cells[name], found)
    return replace(source, values=values, readings=readings)


def read_in_parts(path: str, rows: int, known: Format) -> Iterator[Source]:
    """The rows of a file: of a Parquet file ``rows`` at a time, of a text all at once."""
    if not (os.path.isfile(path) and is_parquet(path)):
        yield _with_readings(_read_file(path, known), known)
        return
    _need("pyarrow", "Reading Parquet files")
    from pyarrow import parquet

    first = 0
    with _readable_parquet(path), parquet.ParquetFile(path) as table:
        check_unique(table.schema_arrow.names, what=path)
        for batch in table.iter_batches(rows):
            yield _with_readings(Source(_with_types(batch.to_pandas()), path, first_row=first), known)
            first += batch.num_rows


def _read_file(path: str, known: Format) -> Source:
    """Read a table from one file.

    Separated text or Parquet; gzip, bzip2, xz and zip are unpacked on the way. The content decides, not the name's
    ending. A separator or a header that is not given is found out.
    """
    _need("pandas", "Reading files")
    name = "standard input" if path == STANDARD_INPUT else path
    content = _read_once(path)

    def opened() -> IO[bytes]:
        return open(path, "rb") if content is None else io.BytesIO(content)

    with opened() as file:
        start = file.read(8)
        if start.startswith(_ZIP):
            file.seek(0)
            content = _only_member(file, name)
            start = content[:8]
    if not start:
        raise InvalidInputError(
            f"{name} is empty. It must hold a table: a line of column names, then one line per row."
        )
    unpack = next((unpack for magic, unpack in _COMPRESSED.items() if start.startswith(magic)), None)

    def cells(columns: Sequence[str]) -> pd.DataFrame:
        with opened() as packed:
            return text.cells(unpack(packed) if unpack else packed, columns)

    try:
        with opened() as packed:
            file = unpack(packed) if unpack else packed
            if unpack:
                start = file.read(8)
                file.seek(0)
            if start.startswith(_PARQUET):
                return _read_parquet(file, name)
            text = read_text(file, name, known)
        return Source(text.frame, name, text.line_of, decimal=text.layout.decimal, layout=text.layout, cells=cells)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InvalidInputError(f"{name} is compressed and damaged or cut short: {error}. Copy it again.") from error


def _only_member(file: IO[bytes], name: str) -> bytes:
    """The content of the only file in a zip archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            # Operating systems add folders and hidden files.
            members = [m for m in archive.namelist() if not m.endswith("/") and not m.split("/")[-1].startswith(".")]
            members = [member for member in members if not member.startswith("__MACOSX/")]
            if len(members) == 1:
                return archive.read(members[0])
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InvalidInputError(
            f"{name} is a zip archive or an Excel workbook that cannot be read: {error}. "
            "Save the table as CSV or Parquet."
        ) from error
    if "[Content_Types].xml" in members:
        raise InvalidInputError(f"{name} is an Excel workbook. Save the table as CSV or Parquet.")
    raise InvalidInputError(
        f"{name} is a zip archive of {len(members)} files ({listed(members)}). "
        "Unpack it, and give the one with the table."
    )


def _read_once(path: str) -> bytes | None:
    """The content of standard input or of a pipe, which can be read only once; None for files."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return None if file.seekable() else file.read()


def _read_parquet(file: IO[bytes], name: str) -> Source:
    import pandas as pd

    _need("pyarrow", "Reading Parquet files")
    from pyarrow import parquet

    content = io.BytesIO(file.read())
    with _readable_parquet(name):
        schema = parquet.read_schema(content)
        check_unique(schema.names, what=name)
        content.seek(0)
        frame = pd.read_parquet(content, engine="pyarrow")
    frame.columns = [str(column) for column in frame.columns]
    return Source(_with_types(frame.reset_index(drop=True)), name, column_types=_column_types(schema))


@contextmanager
def _readable_parquet(name: str) -> Iterator[None]:
    """Convert errors of a damaged or invalid Parquet file to errors of cutwise."""
    try:
        yield
    except InvalidInputError:
        raise
    except (ValueError, OSError) as error:  # parents of pyarrow's errors
        raise InvalidInputError(f"{name} is not a Parquet file that can be read: {error}") from error


def _with_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert columns that are typed in Parquet but objects in pandas: decimals, truth values with gaps, dates, nulls.

    Unordered categories become texts, since the order of levels in a file is that of first appearance.
    """
    import pandas as pd
    from pandas.api.types import infer_dtype

    found = {}
    for column in [column for column in frame.columns if frame[column].dtype.kind == "O"]:
        values, kind = frame[column], infer_dtype(frame[column], skipna=True)
        if isinstance(values.dtype, pd.CategoricalDtype):
            if not values.cat.ordered:
                found[column] = values.astype(object)
        elif kind in ("decimal", "empty"):
            found[column] = values.map(float, na_action="ignore").astype("float64")
        elif kind == "boolean":
            found[column] = values.astype("boolean")
        elif kind == "date":
            found[column] = values.to_numpy().astype("datetime64[s]")
    return with_columns(frame, found) if found else frame


def _need(package: str, purpose: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingDependencyError.of(package, purpose=purpose, extra="files")


# Name -> number of known classes, the default of -k.
EXAMPLE_TABLES = {"wine": 3, "iris": 3, "breast_cancer": 2, "digits": 10}


def read_example(name: str) -> Source:
    """A bundled table with its column names, without the column of classes."""
    check_option("--example", name, tuple(EXAMPLE_TABLES))
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Source(pd.DataFrame(bunch.data, columns=list(bunch.feature_names)), f"example {name}")
