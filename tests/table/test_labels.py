"""Labels of any make are numbered alike: sorted classes as given, -1 for noise, errors that name the row."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from cutwise.exceptions import InvalidInputError, NotFiniteError, UnsupportedInputError
from cutwise.table.labels import read_labels

NUMBERS = [3, 1, -1, 3, 7]
WORDS = ["b", "a", "-1", "b", "c"]


def assert_numbered(labels, original):
    """The definition: every code leads back to the row's own label, and classes are exactly the labels in order."""
    kept = [v for v in original if v not in (-1, "-1")]
    assert labels.classes.tolist() == sorted(set(kept))
    assert labels.codes.dtype == np.int32
    assert labels.n_clusters == len(set(kept))
    assert labels.n_noise == len(original) - len(kept)
    for code, value in zip(labels.codes, original, strict=True):
        if value in (-1, "-1"):
            assert code == -1
        else:
            assert labels.classes[code] == value


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        lambda v: np.array(v, dtype=np.int8),
        lambda v: np.array(v, dtype=np.float32),
        lambda v: [float(x) for x in v],
        lambda v: np.array(v, dtype=object),
        pd.Series,
        pd.Index,
        lambda v: pd.Series(v, dtype="Int64"),
        lambda v: pd.Series(v, dtype="int64[pyarrow]"),
        lambda v: pd.Series(v, dtype="category"),
        pl.Series,
        lambda v: pa.chunked_array([v]),
        pa.array,
    ],
)
def test_numbers_in_any_container_are_numbered_with_minus_one_as_noise(make):
    assert_numbered(read_labels(make(NUMBERS), 5), NUMBERS)


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        lambda v: np.array(v, dtype=object),
        lambda v: [np.str_(x) for x in v],
        pd.Series,
        lambda v: pd.Series(v, dtype="category"),
        lambda v: pd.Series(v, dtype="string[pyarrow]"),
        pl.Series,
        lambda v: pl.Series(v, dtype=pl.Categorical),
        lambda v: pa.chunked_array([v]),
    ],
)
def test_text_in_any_container_is_numbered_with_minus_one_as_noise(make):
    assert_numbered(read_labels(make(WORDS), 5), WORDS)


@pytest.mark.parametrize("noise", [-1, -1.0, np.int64(-1), np.float32(-1), "-1"])
@pytest.mark.parametrize(
    "make", [list, np.array, lambda v: np.array(v, dtype=object), lambda v: pd.Series(v, dtype=object)]
)
def test_minus_one_among_words_is_noise_however_it_came_there(noise, make):
    if make is np.array and isinstance(noise, float | np.floating):
        noise = -1  # an array of text would hold "-1.0"
    assert_numbered(read_labels(make(["b", noise, "a", "b", noise]), 5), ["b", "-1", "a", "b", "-1"])


def test_noise_alone_is_refused_in_words_too():
    with pytest.raises(InvalidInputError, match="Every label in y is -1"):
        read_labels(["-1", "-1"], 2)


@given(st.lists(st.integers(-3, 5) | st.sampled_from([-(2**62), 2**62, 10**6]), min_size=1, max_size=30))
def test_integers_of_any_range_are_numbered(values):
    if set(values) == {-1}:
        values.append(0)
    assert_numbered(read_labels(np.array(values), len(values)), values)


@given(st.lists(st.text(max_size=3), min_size=1, max_size=20))
def test_any_text_is_numbered(values):
    assert_numbered(read_labels(["a", *values], len(values) + 1), ["a", *values])


@pytest.mark.parametrize(
    "values", [[True, np.False_, True], np.array([True, False, True]), pd.Series([True, False, True], dtype="boolean")]
)
def test_booleans_stay_booleans(values):
    labels = read_labels(values, 3)
    assert labels.classes.dtype == np.bool_
    assert labels.classes.tolist() == [False, True]
    assert labels.codes.tolist() == [1, 0, 1]


def test_unsigned_labels_keep_their_largest_value():
    labels = read_labels(np.array([255, 0, 255], dtype=np.uint8), 3)
    assert labels.classes.tolist() == [0, 255]
    labels = read_labels(np.array([2**64 - 1, 0], dtype=np.uint64), 2)
    assert labels.classes.tolist() == [0, 2**64 - 1]


def test_integers_on_both_sides_of_two_to_the_63_stay_apart_also_in_lists():
    items = [2**63 - 1, 2**63, 2**63 + 1, 5]
    for y in (items, tuple(items), np.array(items, dtype=object)):
        assert read_labels(y, 4).classes.tolist() == sorted(items)


def test_whole_floats_stay_floats():
    labels = read_labels([2.0, -1.0, 0.0], 3)
    assert labels.classes.dtype == np.float64
    assert labels.codes.tolist() == [1, -1, 0]


def test_one_label_only_is_one_cluster():
    assert read_labels([5, 5, -1], 3).classes.tolist() == [5]


def test_labels_are_not_written_to():
    y = np.array(NUMBERS)
    read_labels(y, 5)
    assert y.tolist() == NUMBERS


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 2],
        ["a", None, "b"],
        [1.0, float("nan"), 2.0],
        np.array([1, np.nan, 2], dtype=object),
        np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series([True, None, False], dtype="boolean"),
        pl.Series([1, None, 2]),
        pl.Series(["a", None, "b"]),
        pa.chunked_array([[1, None, 2]]),
    ],
)
def test_a_missing_label_names_its_row(values):
    with pytest.raises(NotFiniteError, match=r"Input y contains NaN: row 1 .*Label it -1"):
        read_labels(values, 3)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (None, InvalidInputError, "requires y to be passed, but the target y is None"),
        ([1, 2], InvalidInputError, r"X has 3 rows but y has 2 labels .*inconsistent numbers of samples: \[3, 2\]"),
        ([[1, 2]] * 3, InvalidInputError, r"y should be a 1d array, got an array of shape \(3, 2\)"),
        ("abc.csv", InvalidInputError, r"pandas.read_csv\('abc.csv'\)\['name'\]"),
        ([[1], [2, 3], [1]], InvalidInputError, "cannot be read as one value a row"),
        ([1, 2.5, 3], InvalidInputError, "Unknown label type: continuous. y holds 2.5 in row 1"),
        ([1, np.inf, 3], NotFiniteError, "infinity: row 1"),
        ([1, -1, "a"], InvalidInputError, "y mixes numbers and text.*str"),
        (["a", 1, 2], InvalidInputError, "y mixes numbers and text.*str"),
        ([-1, -1, -1], InvalidInputError, "Every label in y is -1, which means noise"),
        ([1j, 2, 3], UnsupportedInputError, "Unknown label type: y holds .*1j"),
        ([b"a", b"b", b"c"], UnsupportedInputError, "Unknown label type"),
        (
            [datetime.date(2020, 1, 1)] * 3,
            UnsupportedInputError,
            r"Unknown label type: y holds datetime.date(.*)str\(\)",
        ),
        (np.array(["2020"] * 3, dtype="M8[Y]"), UnsupportedInputError, "Unknown label type"),
        ([2**70, 1, 2], InvalidInputError, "beyond 64 bits"),
        (sparse.csr_array(np.eye(3)), UnsupportedInputError, "not a sparse matrix"),
        (pl.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3]}), InvalidInputError, r"got an array of shape \(3, 2\)"),
    ],
)
def test_what_cannot_be_labels_is_refused(values, error, message):
    with pytest.raises(error, match=message):
        read_labels(values, 3)


@pytest.mark.parametrize("values", [[[3], [1], [-1]], pd.DataFrame({"cluster": [3, 1, -1]})])
def test_a_column_vector_is_read_with_scikit_learns_warning(values):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        labels = read_labels(values, 3)
    assert_numbered(labels, [3, 1, -1])


def test_messages_name_the_argument_and_the_estimator():
    with pytest.raises(InvalidInputError, match=r"^Model requires labels to be passed"):
        read_labels(None, 3, what="labels", estimator="Model")
