"""Arrays and nested lists: never copied where the core can read them, exact where they must be converted."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cutwise.core import MATRIX_DTYPES
from cutwise.exceptions import InvalidInputError, NotFiniteError, NotNumericError, UnsupportedInputError
from cutwise.table.intake import read_table
from tests.each import each

KEPT = [np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_]


def grid(dtype, n=6, d=4):
    return (
        (np.arange(n * d).reshape(n, d) % 2).astype(dtype)
        if dtype == np.bool_
        else (np.arange(n * d).reshape(n, d).astype(dtype))
    )


LAYOUTS = {
    "C order": lambda a: a,
    "Fortran order": np.asfortranarray,
    "reversed rows": lambda a: a[::-1],
    "reversed columns": lambda a: a[:, ::-1],
    "every other row and column": lambda a: a[::2, ::2],
    "transposed": lambda a: a.T,
    "a broadcast row": lambda a: np.broadcast_to(a[1], (5, a.shape[1])),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@each("dtype", KEPT)
def test_an_array_the_core_can_read_is_never_copied(dtype, layout):
    X = LAYOUTS[layout](grid(dtype))
    table = read_table(X)
    assert np.shares_memory(table.values, X)
    assert table.values.strides == X.strides
    assert table.values.dtype == (np.uint8 if dtype == np.bool_ else dtype)
    np.testing.assert_array_equal(table.values, X)
    assert (table.matrix.n_rows, table.matrix.n_cols) == X.shape


def test_a_read_only_array_is_kept_and_stays_read_only():
    X = grid(np.float32)
    X.flags.writeable = False
    table = read_table(X)
    assert np.shares_memory(table.values, X)
    assert not table.values.flags.writeable
    assert table.matrix.n_rows == 6


def test_a_memory_map_is_not_read_into_memory(tmp_path):
    np.save(tmp_path / "X.npy", grid(np.float64))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    table = read_table(X)
    assert np.shares_memory(table.values, X)
    assert table.matrix.n_cols == 4


@each(
    "given_dtype, kept_dtype",
    [
        ("float16", "float32"),
        ("int8", "int32"),
        ("int16", "int32"),
        ("uint16", "int32"),
        ("uint32", "int64"),
        ("uint64", "float64"),
        (">f4", "float32"),
        (">f8", "float64"),
        (">i4", "int32"),
        (">u2", "int32"),
        ("longdouble", "float64"),
    ],
)
def test_another_dtype_becomes_the_smallest_that_holds_it(given_dtype, kept_dtype):
    X = grid(given_dtype)
    table = read_table(X)
    assert table.values.dtype == kept_dtype
    assert table.values.dtype.isnative
    np.testing.assert_array_equal(table.values, X)


@given(
    hnp.arrays(
        st.sampled_from(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "?", "f2", "f4", "f8"]).map(np.dtype),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements={"allow_nan": False, "allow_infinity": False},
    )
)
def test_no_value_changes_on_the_way_in(X):
    table = read_table(X)
    assert table.values.dtype in MATRIX_DTYPES
    np.testing.assert_array_equal(table.values, X)
    assert table.is_integer.tolist() == [X.dtype.kind in "iub"] * X.shape[1]


def test_a_field_of_a_structured_array_is_copied_because_its_strides_are_no_whole_items():
    records = np.zeros(5, dtype=[("a", "f8"), ("b", "f4")])
    records["a"] = np.arange(5)
    table = read_table(records["a"][:, None])
    np.testing.assert_array_equal(table.values[:, 0], np.arange(5.0))
    assert table.matrix.n_rows == 5


def test_an_unaligned_array_is_copied():
    raw = np.zeros(8 * 6 + 1, dtype=np.uint8)
    X = raw[1:].view(np.float64).reshape(3, 2)
    assert not X.flags.aligned
    table = read_table(X)
    assert table.values.flags.aligned
    assert table.matrix.n_rows == 3


def test_lists_of_whole_numbers_are_integers_and_lists_with_a_fraction_are_not():
    assert read_table([[1, 2], [3, 4]]).is_integer.tolist() == [True, True]
    assert read_table([[1, 2.5], [3, 4]]).is_integer.tolist() == [False, False]


def test_anything_with_an_array_interface_is_read():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.arange(6.0).reshape(3, 2)

    np.testing.assert_array_equal(read_table(Wrapped()).values, np.arange(6.0).reshape(3, 2))


def test_columns_of_python_objects_become_numbers_column_by_column():
    X = np.array([[1, 1.5, True], [2, Decimal("2.5"), False], [3, Fraction(7, 2), np.int8(1)]], dtype=object)
    table = read_table(X)
    np.testing.assert_array_equal(table.values, [[1, 1.5, 1], [2, 2.5, 0], [3, 3.5, 1]])
    assert table.is_integer.tolist() == [True, False, True]


def test_python_integers_beyond_64_bits_become_floats():
    table = read_table(np.array([[2**70], [1]], dtype=object))
    assert table.values.dtype == np.float64
    assert table.values[0, 0] == 2.0**70


def test_an_unnamed_table_has_made_up_names():
    table = read_table(np.zeros((2, 3)))
    assert table.names == ("x0", "x1", "x2")
    assert not table.has_names
    assert (table.n_rows, table.n_columns) == (2, 3)
    assert not table.is_sparse


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.arange(3.0), InvalidInputError, r"Expected 2D array, got 1D array(.|\n)*Reshape your data"),
        (3.0, InvalidInputError, r"got scalar array(.|\n)*Reshape your data"),
        (np.zeros((2, 2, 2)), InvalidInputError, r"Found array with dim 3, while dim <= 2 is required"),
        (np.zeros((0, 3)), InvalidInputError, r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.zeros((12, 0)), InvalidInputError, r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required"),
        (
            np.zeros((2, 2)) * 1j,
            InvalidInputError,
            r"column 0 holds complex numbers(.|\n)*Complex data not supported: make two columns",
        ),
        (np.array([[1, 2j]], dtype=object), InvalidInputError, "column 1 holds complex numbers: 2j in row 0"),
        ([[1, 2], [3]], InvalidInputError, "X cannot be read as an array.*Give every row one value a column"),
        (np.matrix([[1.0]]), UnsupportedInputError, "np.matrix is not supported"),
        ("data.csv", UnsupportedInputError, r"a str \('data.csv'\). Give .*pandas.read_csv\('data.csv'\)"),
        ({"a": [1]}, UnsupportedInputError, r"X is a dict. Give pandas.DataFrame\(X\)"),
        (None, UnsupportedInputError, "not NoneType"),
        (np.zeros((2, 2), dtype=[("a", "f8")]), UnsupportedInputError, "made of records"),
        ([["a", 1]], NotNumericError, "column 0 holds text: 'a' in row 0"),
        ([[1, 2], [3, "b"]], NotNumericError, "column 1 holds text among numbers: 'b' in row 1"),
        ([["1"], ["2"]], NotNumericError, "numbers written as text: '1' in row 0(.|\n)*pandas.to_numeric"),
        (np.array([["1"], ["?"]]), NotNumericError, r"text among numbers: '\?' in row 1"),
        (np.array([[b"a"]]), NotNumericError, "column 0 holds values of type 'bytes"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), NotNumericError, "dates or times: 2020-01-01 in row 0"),
        (np.array([[1]], dtype="m8[s]"), NotNumericError, "durations"),
        (np.array([[np.timedelta64(1, "s")]], dtype=object), NotNumericError, "durations"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        read_table(X)


def test_an_object_that_is_no_number_is_refused_in_the_words_of_float():
    X = np.ones((3, 2), dtype=object)
    X[1, 0] = {"foo": "bar"}
    with pytest.raises(TypeError, match=r"holds structs: (.|\n)*argument must be .* string.* number"):
        read_table(X)


def test_a_missing_value_names_its_column_and_first_row():
    X = np.zeros((9, 4), dtype=np.float32)
    X[[3, 7], 2] = np.nan
    X[8, 3] = np.nan
    X[0, 0] = np.inf
    with pytest.raises(NotFiniteError, match=r"Input X contains NaN: column 2, row 3 .*; 3 such values in 2 columns\."):
        read_table(X)


def test_an_infinite_value_names_its_column_and_first_row():
    X = np.zeros((9, 4))
    X[5, 1] = -np.inf
    with pytest.raises(NotFiniteError, match=r"Input centers contains infinity: column 1, row 5 \(rows are counted"):
        read_table(X, what="centers")


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), Decimal("nan")])
def test_missing_python_objects_are_reported_as_missing(missing):
    X = np.array([[1, 2], [3, missing]], dtype=object)
    with pytest.raises(NotFiniteError, match="contains NaN: column 1, row 1"):
        read_table(X)


def test_masked_values_are_missing_and_a_mask_that_hides_nothing_is_ignored():
    X = np.ma.masked_array(np.arange(6).reshape(3, 2), mask=False)
    np.testing.assert_array_equal(read_table(X).values, np.arange(6).reshape(3, 2))
    X[2, 1] = np.ma.masked
    with pytest.raises(NotFiniteError, match="contains NaN: column 1, row 2"):
        read_table(X)


def test_the_input_is_never_written_to():
    X = grid(np.float64)
    before = X.copy()
    read_table(X)
    np.testing.assert_array_equal(X, before)
