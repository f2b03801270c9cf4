"""Data frames of every library: names kept, each column exact, nulls and text named."""

import datetime
import tracemalloc
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cutwise.exceptions import InvalidInputError, NotFiniteError, NotNumericError, UnsupportedInputError
from cutwise.table.intake import read_table

COLUMNS = {"age": [31, 40, 25], "income": [1500.5, 2200.0, 900.25], "member": [True, False, True]}


def nullable(columns, backend):
    with np.errstate(invalid="ignore"):  # pandas tries whether infinity is an integer
        return pd.DataFrame(columns).convert_dtypes(dtype_backend=backend)


CONTAINERS = {
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda c: nullable(c, "numpy_nullable"),
    "pandas, Arrow": lambda c: nullable(c, "pyarrow"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "a pyarrow record batch": pa.RecordBatch.from_pydict,
    "narwhals": lambda c: nw.from_native(pl.DataFrame(c)),
}


@pytest.fixture(params=CONTAINERS, name="frame_of")
def _frame_of(request):
    return CONTAINERS[request.param]


def test_a_frame_keeps_its_names_its_values_and_which_columns_are_whole_numbers(frame_of):
    table = read_table(frame_of(COLUMNS))
    assert table.names == ("age", "income", "member")
    assert table.has_names
    assert table.values.dtype == np.float64
    np.testing.assert_array_equal(table.values, np.column_stack(list(COLUMNS.values())))
    assert table.is_integer.tolist() == [True, False, True]
    assert (table.matrix.n_rows, table.matrix.n_cols) == (3, 3)


def test_a_null_is_reported_like_nan_with_its_column_and_first_row(frame_of):
    for name, values in {"age": [31, None, None], "income": [1.5, None, 2.5], "member": [True, None, False]}.items():
        frame = frame_of({**COLUMNS, name: values})
        with pytest.raises(NotFiniteError, match=f"Input X contains NaN: column '{name}', row 1 "):
            read_table(frame)


def test_a_column_of_nothing_but_nulls_is_missing(frame_of):
    with pytest.raises(NotFiniteError, match=r"column 'gone', row 0 .*; 3 such values in 1 column"):
        read_table(frame_of({**COLUMNS, "gone": [None, None, None]}))


def test_nan_and_infinity_are_reported(frame_of):
    with pytest.raises(NotFiniteError, match="infinity: column 'income', row 2"):
        read_table(frame_of({**COLUMNS, "income": [1.0, 2.0, float("inf")]}))


def test_a_text_column_is_named_with_its_first_value_and_the_next_step(frame_of):
    frame = frame_of({**COLUMNS, "city": ["Paris", "Rome", "Oslo"], "code": ["a", "b", "c"]})
    with pytest.raises(NotNumericError) as caught:
        read_table(frame)
    message = str(caught.value)
    assert "column 'city' holds text: 'Paris' in row 0" in message
    assert "2 columns are like that: 'city', 'code'" in message
    assert "OneHotEncoder" in message
    assert "X.drop(columns=['city', 'code'])" in message
    assert "--drop" in message


def test_a_single_text_column_is_dropped_by_name_on_the_command_line(frame_of):
    with pytest.raises(NotNumericError, match="--drop city on the command line"):
        read_table(frame_of({**COLUMNS, "city": ["Paris", "Rome", "Oslo"]}))


def test_a_question_mark_among_numbers_is_the_value_that_is_shown(frame_of):
    with pytest.raises(
        NotNumericError, match=r"(?s)text among numbers: '\?' in row 1.*If '\?' marks a missing value.*na_values"
    ):
        read_table(frame_of({**COLUMNS, "age": ["31", "?", "25"]}))


def test_numbers_written_as_text_are_refused(frame_of):
    with pytest.raises(NotNumericError, match=r"numbers written as text: '31' in row 0(.|\n)*pandas.to_numeric"):
        read_table(frame_of({**COLUMNS, "age": ["31", "40", "25"]}))


def test_dates_are_refused(frame_of):
    day = datetime.datetime(2020, 1, 1)
    with pytest.raises(NotNumericError, match="column 'since' holds dates or times"):
        read_table(frame_of({**COLUMNS, "since": [day, day, day]}))


def test_decimals_become_floats(frame_of):
    table = read_table(frame_of({"price": [Decimal("1.50"), Decimal("2.25")], "n": [1, 2]}))
    np.testing.assert_array_equal(table.values, [[1.5, 1], [2.25, 2]])
    assert table.is_integer.tolist() == [False, True]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", "b", "a"], dtype="category"),
        pd.Series([2, 1, 2], dtype="category"),
        pl.Series(["a", "b", "a"], dtype=pl.Categorical),
        pl.Series(["a", "b", "a"], dtype=pl.Enum(["a", "b"])),
        pa.chunked_array([pa.array(["a", "b", "a"]).dictionary_encode()]),
    ],
    ids=["pandas", "pandas of numbers", "polars categorical", "polars enum", "pyarrow dictionary"],
)
def test_categories_are_refused_even_when_they_are_numbers(column):
    make = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(column), pa.table)
    with pytest.raises(NotNumericError, match=r"column 'kind' holds categories: .* in row 0"):
        read_table(make({"kind": column}))


def test_lists_and_other_objects_are_refused():
    with pytest.raises(NotNumericError, match=r"holds values of type 'list': \[1\] in row 0.*\n.*leave it out"):
        read_table(pl.DataFrame({"a": [[1], [2]]}))
    with pytest.raises(NotNumericError, match="holds values of type 'Period'"):
        read_table(pd.DataFrame({"a": pd.period_range("2020", periods=2)}))
    with pytest.raises(NotNumericError, match="column 'a' holds values of type 'bytes'"):
        read_table(pl.DataFrame({"a": [b"1", b"2"]}))
    with pytest.raises(
        InvalidInputError, match=r"column 'a' holds complex numbers: 1j.*\nComplex data not supported: make two columns"
    ):
        read_table(pd.DataFrame({"a": [1j, 2j]}))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "bool"])
def test_a_pandas_frame_of_one_block_is_not_copied(dtype):
    frame = pd.DataFrame(np.ones((4, 3)).astype(dtype), columns=list("abc"))
    assert np.shares_memory(read_table(frame).values, frame.to_numpy())


def test_a_single_column_is_not_copied():
    frame = pl.DataFrame({"a": np.arange(4.0)})
    assert np.shares_memory(read_table(frame).values, frame["a"].to_numpy())
    frame = pa.table({"a": np.arange(4.0)})
    assert np.shares_memory(read_table(frame).values, frame["a"].chunk(0).to_numpy())


@pytest.mark.parametrize(
    ("dtypes", "matrix"),
    [
        (["Float32", "Float32"], "float32"),
        (["Int8", "Int16"], "int32"),
        (["Int32", "Int64"], "int64"),
        (["UInt32", "Int8"], "int64"),
        (["Int32", "Float32"], "float64"),
        (["Int16", "Float32"], "float32"),
        (["Boolean", "Float32"], "float32"),
        (["Boolean", "UInt8"], "uint8"),
        (["UInt64", "Boolean"], "float64"),
        (["Int128", "Boolean"], "float64"),
    ],
)
def test_the_matrix_has_the_smallest_dtype_that_holds_every_column(dtypes, matrix):
    if not all(hasattr(pl, t) for t in dtypes):
        pytest.skip("this polars has no 128-bit integers")
    frame = pl.DataFrame({f"c{i}": pl.Series([0, 1, 1]).cast(getattr(pl, t)) for i, t in enumerate(dtypes)})
    table = read_table(frame)
    assert table.values.dtype == matrix
    np.testing.assert_array_equal(table.values, [[0, 0], [1, 1], [1, 1]])
    assert table.is_integer.tolist() == [not t.startswith("Float") for t in dtypes]


@given(
    st.lists(
        st.sampled_from(["int8", "int32", "int64", "uint8", "uint32", "bool", "float32", "float64"]),
        min_size=1,
        max_size=4,
    ),
    st.data(),
)
def test_no_value_of_a_mixed_frame_changes(dtypes, data):
    columns = {}
    for i, dtype in enumerate(dtypes):
        if dtype == "bool":
            values = st.booleans()
        elif dtype.startswith("float"):
            values = st.floats(allow_nan=False, allow_infinity=False, width=int(dtype[5:]))
        else:
            info = np.iinfo(dtype)
            values = st.integers(max(int(info.min), -(2**53)), min(int(info.max), 2**53))
        columns[f"c{i}"] = np.array(data.draw(st.lists(values, min_size=3, max_size=3)), dtype=dtype)
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        table = read_table(make(columns))
        for i, values in enumerate(columns.values()):
            np.testing.assert_array_equal(table.values[:, i], values)
            assert table.is_integer[i] == (values.dtype.kind in "iub")


def test_unusual_numpy_dtypes_inside_pandas_are_converted():
    frame = pd.DataFrame({"big": np.arange(3).astype(">f8"), "half": np.arange(3).astype("f2"), "n": [1, 2, 3]})
    table = read_table(frame)
    np.testing.assert_array_equal(table.values, [[0, 0, 1], [1, 1, 2], [2, 2, 3]])
    assert table.is_integer.tolist() == [False, False, True]
    long = pd.DataFrame({"a": np.arange(3).astype(np.longdouble)})
    assert read_table(long).values.dtype == np.float64


def test_columns_of_python_numbers_are_read():
    table = read_table(
        pd.DataFrame({"a": pd.Series([2**70, 1], dtype=object), "b": pd.Series([1, True], dtype=object)})
    )
    np.testing.assert_array_equal(table.values, [[2.0**70, 1], [1, 1]])
    assert table.is_integer.tolist() == [False, True]


def test_a_frame_of_sparse_columns_stays_sparse():
    X = sparse.csr_array(np.random.default_rng(0).integers(2, size=(8, 5)) * 1.5)
    frame = pd.DataFrame.sparse.from_spmatrix(X, columns=list("abcde"))
    table = read_table(frame)
    assert table.is_sparse
    assert table.names == tuple("abcde")
    np.testing.assert_array_equal(table.values.toarray(), X.toarray())


def test_sparse_columns_beside_dense_ones_or_with_another_fill_value_become_dense():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.5]), "b": [1, 2]})
    np.testing.assert_array_equal(read_table(frame).values, [[0, 1], [1.5, 2]])
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([7.0, 1.5], fill_value=7.0)})
    np.testing.assert_array_equal(read_table(frame).values, [[7], [1.5]])
    frame["b"] = pd.arrays.SparseArray([0.0, 2.0])  # pandas warns of two fill values, and a warning is an error here
    np.testing.assert_array_equal(read_table(frame).values, [[7, 0], [1.5, 2]])


def test_column_names_that_are_not_text_count_as_none():
    table = read_table(pd.DataFrame(np.ones((2, 2))))
    assert table.names == ("x0", "x1")
    assert not table.has_names
    assert not read_table(pd.DataFrame(np.ones((2, 1)), columns=pd.MultiIndex.from_tuples([("a", "b")]))).has_names


def test_names_of_which_some_are_not_text_are_refused_as_scikit_learn_does():
    with pytest.raises(TypeError, match="Feature names are only supported if all input features have string names"):
        read_table(pd.DataFrame([[1, 2]], columns=["a", 0]))


@pytest.mark.parametrize(
    "frame", [pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), pa.table([[1], [2], [3]], names=["a", "b", "a"])]
)
def test_duplicate_names_are_refused_and_named(frame):
    with pytest.raises(InvalidInputError, match="X has duplicate column names: 'a'"):
        read_table(frame)


@pytest.mark.parametrize("series", [pd.Series([1, 2]), pl.Series([1, 2]), pa.chunked_array([[1, 2]]), pa.array([1, 2])])
def test_a_single_column_container_is_refused_with_what_makes_a_table_of_it(series):
    with pytest.raises(InvalidInputError, match=r"Expected 2D array, got 1D array instead.*\n.*reshape\(-1, 1\)"):
        read_table(series)


def test_a_lazy_frame_is_refused_with_the_way_to_collect_it():
    with pytest.raises(UnsupportedInputError, match=r"a LazyFrame.*collect"):
        read_table(pl.LazyFrame({"a": [1]}))


def test_empty_frames_are_refused(frame_of):
    with pytest.raises(InvalidInputError, match=r"0 sample\(s\)"):
        read_table(frame_of({"a": [], "b": []}))
    with pytest.raises(InvalidInputError, match=r"0 (sample|feature)\(s\)"):
        read_table(frame_of({}))


def test_columns_are_converted_one_at_a_time():
    frame = pd.DataFrame({f"c{i}": np.arange(20_000.0) + i / 3 for i in range(40)}).convert_dtypes()
    frame["n"] = pd.array(range(20_000), dtype="Int64")
    read_table(frame)
    tracemalloc.start()
    table = read_table(frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * table.values.nbytes


@pytest.mark.parametrize(
    ("values", "words", "drop"),
    [
        (["State-gov", None, "Private"], "holds text with missing values: 'State-gov' in row 0", True),
        ([np.nan, "State-gov", "Private"], "holds text with missing values: 'State-gov' in row 1", True),
        (["a", "b", "c"], "holds text: 'a' in row 0", True),
        (
            [1.0, "?", 2.0, "?", None],
            "holds text among numbers: '?' in row 1 (rows are counted from 0), and 1 more",
            False,
        ),
        (
            ["39", "?", "50", "", None],
            "holds text among numbers: '?' in row 1 (rows are counted from 0), and 1 more",
            False,
        ),
        (["A1", "7", "B2", "C3"], "holds text: 'A1' in row 0", True),
        (["1", "2", None], "holds numbers written as text: '1' in row 0", False),
    ],
)
@pytest.mark.parametrize("dtype", [object, "string"])
def test_a_column_is_called_what_it_is_and_one_of_numbers_is_not_to_be_dropped(values, words, drop, dtype):
    frame = pd.DataFrame(
        {
            "b": pd.Series(
                values
                if dtype is object
                else pd.array(values, dtype=object).map(lambda v: v if v is None or v != v else str(v)),
                dtype=dtype,
            ),
            "text": ["x"] * len(values),
        }
    )
    with pytest.raises(NotNumericError) as caught:
        read_table(frame)
    assert words in str(caught.value)
    assert ("X.drop(columns=['b'" in str(caught.value)) == drop
    if not drop:
        assert "If '?' marks" in str(caught.value) or "pandas.to_numeric" in str(caught.value)
