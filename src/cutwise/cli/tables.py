"""Reading a table: CSV, TSV or Parquet, packed or not, from a file or standard input, told apart by what it holds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any

from cutwise.cli.cells import Reading, with_columns
from cutwise.cli.text import check_names_differ, read_text
from cutwise.exceptions import InvalidInputError, MissingDependencyError, listed
from cutwise.table.intake import check_option

if TYPE_CHECKING:
    import pandas as pd


STANDARD_INPUT = "-"

_COMPRESSED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_PARQUET = b"PAR1"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the latter without any member


@dataclass(frozen=True)
class Source:
    """A table as it was found: nothing chosen, nothing checked but its shape."""

    frame: pd.DataFrame
    name: str  # what messages call it
    first_line: int | None = None  # the line of the file that holds row 0, where rows are lines
    has_names: bool = True  # False when the file's first line is data already; columns are then ``x0``, ``x1``, ...
    removed: tuple[int, ...] = ()  # numbers of the lines from ``first_line`` on that are no rows
    readings: Mapping[str, Reading] = field(default_factory=dict)  # what was decided about columns of text

    def row(self, number: int) -> str:
        """A row in words: ``row 3 (line 5 of data.csv; rows are counted from 0)``."""
        if self.first_line is None:
            return f"row {number} of {self.name} (rows are counted from 0)"
        line = number
        for removed in self.removed:
            line += removed <= line
        return f"row {number} (line {self.first_line + line} of {self.name}; rows are counted from 0)"

    def labels(self, column: str) -> pd.Series:
        """A column of labels, as they stand in the file: ``yes`` stays a word there."""
        words = self.readings[column].words if column in self.readings else None
        return self.frame[column] if words is None else words


def read_source(path: str, *, separator: str | None = None, header: bool | None = None) -> Source:
    """Read a table from a file, or from standard input for ``-``.

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
    try:
        with opened() as packed:
            file = unpack(packed) if unpack else packed
            if unpack:
                start = file.read(8)
                file.seek(0)
            if start.startswith(_PARQUET):
                return _read_parquet(file, name)
            text = read_text(file, name, separator=separator, header=header)
            return Source(text.frame, name, text.first_line, text.has_names, text.removed, text.readings)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InvalidInputError(f"{name} is compressed and damaged or cut short: {error}. Copy it again.") from error


def _only_member(file: IO[bytes], name: str) -> bytes:
    """What the one file in a zip archive holds."""
    try:
        with zipfile.ZipFile(file) as archive:
            # Systems add folders and hidden files of their own.
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
    """All of standard input or of a pipe, which can be read once only; None for files."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return None if file.seekable() else file.read()


def _read_parquet(file: IO[bytes], name: str) -> Source:
    import pandas as pd

    _need("pyarrow", "Reading Parquet files")
    from pyarrow import parquet

    content = io.BytesIO(file.read())
    try:
        names = parquet.read_schema(content).names
        check_names_differ(names, name)
        content.seek(0)
        frame = pd.read_parquet(content, engine="pyarrow")
    except InvalidInputError:
        raise
    except (ValueError, OSError) as error:  # pyarrow's own errors are kinds of these
        raise InvalidInputError(f"{name} is not a Parquet file that can be read: {error}") from error
    if frame.empty:
        raise InvalidInputError(f"{name} holds no rows.")
    frame.columns = [str(column) for column in frame.columns]
    return Source(_with_decimals(frame.reset_index(drop=True)), name)


def _with_decimals(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of decimal numbers, as databases write amounts, and columns without any value, as float64."""
    for column in frame.columns:
        values = frame[column]
        if values.dtype == object and all(isinstance(value, Decimal) for value in values.dropna()):
            frame = with_columns(frame, {column: values.map(float, na_action="ignore").astype("float64")})
    return frame


def _need(package: str, purpose: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingDependencyError.of(package, purpose=purpose, extra="files")


# Name -> number of kinds that the data's publishers tell apart: the clusters asked for unless -k says otherwise.
EXAMPLE_TABLES = {"wine": 3, "iris": 3, "breast_cancer": 2, "digits": 10}


def clusters_of_example(name: str) -> int:
    """How many kinds the data of an example are of."""
    return EXAMPLE_TABLES[check_option("--example", name, tuple(EXAMPLE_TABLES))]


def read_example(name: str) -> Source:
    """A bundled table with its column names, without the column that says the kind."""
    check_option("--example", name, tuple(EXAMPLE_TABLES))
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Source(pd.DataFrame(bunch.data, columns=list(bunch.feature_names)), f"example {name}")
