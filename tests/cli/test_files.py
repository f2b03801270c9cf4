"""Files are told apart by what they hold."""

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from cutwise.cli.tables import read_source
from cutwise.exceptions import InvalidInputError, MissingDependencyError

TEXT = b"a,b\n1,2\n3,4\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data"])
def test_packing_is_found_whatever_the_name(tmp_path, pack, name):
    path = tmp_path / name
    path.write_bytes(pack(TEXT))
    assert read_source(str(path)).frame.to_numpy().tolist() == [[1, 2], [3, 4]]


def test_parquet_is_found_whatever_the_name(tmp_path):
    path = tmp_path / "data.csv"
    pd.DataFrame({"a": [1, 3], "b": [2.5, 4]}, index=[7, 9]).to_parquet(path)
    source = read_source(str(path))
    assert source.frame.to_dict("list") == {"a": [1, 3], "b": [2.5, 4]}
    assert source.frame.index.tolist() == [0, 1]
    assert source.line_of is None


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_dash_is_standard_input(monkeypatch, pack):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(pack(TEXT))))
    source = read_source("-")
    assert source.frame["b"].tolist() == [2, 4]
    assert source.name == "standard input"


def test_parquet_comes_through_standard_input(monkeypatch):
    buffer = io.BytesIO()
    pd.DataFrame({"a": [1, 3]}).to_parquet(buffer)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(buffer.getvalue())))
    assert read_source("-").frame["a"].tolist() == [1, 3]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in the file system")
def test_a_pipe_is_read_once(tmp_path):
    # What a shell passes for <(zcat data.csv.gz).
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(gzip.compress(TEXT)))
    writer.start()
    assert read_source(str(path)).frame["b"].tolist() == [2, 4]
    writer.join()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (gzip.compress(b""), "is empty"),
        (gzip.compress(TEXT * 1000)[:-20], "damaged or truncated"),
        (b"PK\x03\x04 and so on", "Excel"),
        (b"PAR1 and no more", "not a Parquet file"),
    ],
    # Names of their own: packed bytes hold the time, and parallel runs must collect the same names.
    ids=["empty", "packed and empty", "cut short", "workbook", "half a Parquet file"],
)
def test_what_is_no_table_is_refused(tmp_path, content, message):
    path = tmp_path / "data"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read_source(str(path))


def test_parquet_without_rows_is_refused(tmp_path):
    path = tmp_path / "data.parquet"
    pd.DataFrame({"a": [1.0]}).iloc[:0].to_parquet(path)
    with pytest.raises(InvalidInputError, match="no rows"):
        read_source(str(path))


def test_a_missing_package_is_named_with_the_way_to_get_it(tmp_path, monkeypatch):
    path = tmp_path / "data.parquet"
    pd.DataFrame({"a": [1.0]}).to_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"pyarrow.*cutwise\[files\]"):
        read_source(str(path))


def test_rows_are_named_by_number_and_line(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(TEXT)
    assert read_source(str(path)).row(1) == f"row 1 (line 3 of {path}; rows are counted from 0)"


def test_lines_that_are_no_rows_are_counted_all_the_same(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b\n1,2\n\n,\n3,4\n\n\n,\n5,6\n")
    source = read_source(str(path))
    assert source.frame["a"].tolist() == [1, 3, 5]
    assert [source.row(row).split(" of")[0] for row in range(3)] == ["row 0 (line 2", "row 1 (line 5", "row 2 (line 9"]


def test_decimal_numbers_of_parquet_are_numbers_and_a_column_without_values_holds_none(tmp_path):
    path = tmp_path / "data.parquet"
    amounts = [Decimal("1.10"), None, Decimal("-20.00")]
    parquet.write_table(pa.table({"amount": amounts, "none": pa.nulls(3), "text": ["1", "2", None]}), path)
    frame = read_source(str(path)).frame
    np.testing.assert_array_equal(frame["amount"], [1.1, np.nan, -20.0])
    assert frame["none"].isna().all()
    assert [column for column in frame if frame[column].dtype == np.float64] == ["amount", "none"]


def test_parquet_with_two_columns_of_one_name_is_refused_by_their_name(tmp_path):
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.Table.from_arrays([pa.array([1, 2])] * 3, names=["a", "b", "a"]), path)
    with pytest.raises(InvalidInputError, match="has duplicate column names: 'a'"):
        read_source(str(path))
