"""Weights are finite and non-negative, one a row; errors name the row."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cutwise.exceptions import InvalidInputError, NotFiniteError, NotNumericError
from cutwise.table.intake import read_weights


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5, 0],
        (1, 2.5, 0),
        np.array([1, 2.5, 0], dtype=np.float32),
        np.array([1, 2.5, 0], dtype=object),
        pd.Series([1, 2.5, 0]),
        pd.Series([1, 2.5, 0], dtype="Float64"),
        pl.Series([1.0, 2.5, 0.0]),
    ],
)
def test_weights_in_any_container_become_float64(values):
    weights = read_weights(values, 3)
    assert weights.dtype == np.float64
    assert weights.flags.c_contiguous
    assert weights.tolist() == [1.0, 2.5, 0.0]


def test_integers_and_booleans_are_weights():
    assert read_weights(pd.Series([1, 2, 3], dtype="Int64"), 3).tolist() == [1.0, 2.0, 3.0]
    assert read_weights([True, False, True], 3).tolist() == [1.0, 0.0, 1.0]


def test_no_weights_and_a_weight_of_one_are_the_same():
    assert read_weights(None, 3) is None
    assert read_weights(1, 3) is None
    assert read_weights(1.0, 3) is None


def test_a_number_is_the_weight_of_every_row():
    assert read_weights(2.5, 3).tolist() == [2.5, 2.5, 2.5]


def test_an_array_that_fits_is_shared_and_cannot_be_written_through():
    values = np.array([1.0, 2.0, 3.0])
    weights = read_weights(values, 3)
    assert np.shares_memory(weights, values)
    assert not weights.flags.writeable
    assert values.flags.writeable


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1, -2, 3], InvalidInputError, "Negative values in data passed to `sample_weight`: -2.0 in row 1"),
        (-1, InvalidInputError, "Negative values"),
        ([1, np.nan, 3], NotFiniteError, "Input sample_weight contains NaN: row 1"),
        ([1, None, 3], NotFiniteError, "Input sample_weight contains NaN: row 1"),
        (pd.Series([1, 2, None], dtype="Int64"), NotFiniteError, "contains NaN: row 2"),
        (pl.Series([1, 2, None]), NotFiniteError, "contains NaN: row 2"),
        (float("nan"), NotFiniteError, "contains NaN"),
        ([np.inf, -np.inf, 3], NotFiniteError, "contains infinity: row 0"),
        ([0, 0, 0], InvalidInputError, "Sample weights must contain at least one non-zero number"),
        (0, InvalidInputError, "at least one non-zero number"),
        ([1e308, 1e308, 1e308], InvalidInputError, "beyond float64"),
        ([1, 2], InvalidInputError, r"sample_weight.shape == \(2,\), expected \(3,\)! Give one weight a row"),
        ([[1], [2], [3]], InvalidInputError, "Sample weights must be 1D array or scalar, got 2D array"),
        (["1", "2", "3"], NotNumericError, "sample_weight must hold numbers, but row 0 .* holds '1'"),
        ([1, "heavy", 3], NotNumericError, "row 1 .* holds 'heavy'"),
    ],
)
def test_what_cannot_be_weights_is_refused(values, error, message):
    with pytest.raises(error, match=message):
        read_weights(values, 3)


def test_messages_name_the_argument():
    with pytest.raises(NotFiniteError, match="Input mass contains NaN"):
        read_weights([np.nan], 1, what="mass")
