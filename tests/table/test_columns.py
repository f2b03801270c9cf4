"""Columns at predict are those of fit, by scikit-learn's rule and in its words."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from cutwise.exceptions import ColumnMismatchError, ColumnNamesWarning
from cutwise.table.intake import read_table
from cutwise.table.table import INTEGER, Columns, check_same_columns, name_columns

FITTED = Columns(("age", "income", "score"), has_names=True)
UNNAMED = Columns(("x0", "x1", "x2"), has_names=False)


class Model(BaseEstimator):
    """Fitted by scikit-learn's own intake, whose messages are the reference."""

    def fit(self, X, y=None):
        validate_data(self, X)
        return self

    def check(self, X):
        validate_data(self, X, reset=False)


def scikit_learn_message(fitted, given):
    model = Model().fit(pd.DataFrame(np.ones((2, len(fitted))), columns=fitted))
    with pytest.raises(ValueError) as caught:
        model.check(pd.DataFrame(np.ones((2, len(given))), columns=given))
    return str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        ["income", "age", "score"],
        ["age", "income"],
        ["age", "income", "score", "extra"],
        ["age", "income", "points"],
        ["a", "b", "c", "d", "e", "f", "g"],
    ],
    ids=["reordered", "missing", "added", "renamed", "all other, and many"],
)
def test_other_columns_are_refused_with_scikit_learns_message_and_a_next_step(given):
    with pytest.raises(ColumnMismatchError) as caught:
        check_same_columns(FITTED, Columns(tuple(given), has_names=True))
    message = str(caught.value)
    assert message.startswith(scikit_learn_message(list(FITTED.names), given))
    assert message.endswith("X[list(model.feature_names_in_)].")


def test_reordered_columns_name_the_first_that_differs():
    with pytest.raises(ColumnMismatchError, match="column 1: 'score' now, 'income' at fit time"):
        check_same_columns(FITTED, Columns(("age", "score", "income"), has_names=True))


@given(st.permutations(["a", "b", "c", "d"]), st.integers(0, 4))
def test_only_the_same_names_in_the_same_order_pass(names, n):
    fitted, now = Columns(("a", "b", "c", "d"), True), Columns(tuple(names[:n]), True)
    if fitted.names == now.names:
        check_same_columns(fitted, now)
    else:
        with pytest.raises(ColumnMismatchError):
            check_same_columns(fitted, now)


def test_another_number_of_unnamed_columns_is_refused():
    with pytest.raises(ColumnMismatchError, match=r"^X has 1 features, but KMeans is expecting 3 features as input\.$"):
        check_same_columns(UNNAMED, Columns(("x0",), False), estimator="KMeans")


def test_names_on_one_side_only_warn_and_the_number_decides():
    with pytest.warns(ColumnNamesWarning, match="X does not have valid feature names, but KMeans was fitted with"):
        check_same_columns(FITTED, UNNAMED, estimator="KMeans")
    with pytest.warns(ColumnNamesWarning, match="X has feature names, but KMeans was fitted without feature names"):
        check_same_columns(UNNAMED, FITTED, estimator="KMeans")
    with (
        pytest.warns(ColumnNamesWarning),
        pytest.raises(ColumnMismatchError, match=r"X has 2 features.* Those of fit were 'age', 'income', 'score'"),
    ):
        check_same_columns(FITTED, Columns(("x0", "x1"), False))


def test_unnamed_input_to_an_unnamed_model_passes_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_same_columns(UNNAMED, UNNAMED)
        check_same_columns(FITTED, FITTED)


def test_the_library_of_the_frame_does_not_matter():
    columns = {"age": [1], "income": [2], "score": [3]}
    fitted = read_table(pd.DataFrame(columns))
    assert read_table(pl.DataFrame(columns), fitted=fitted).names == fitted.names


def test_columns_are_compared_before_values_are_read():
    # Reindexing a frame to other names fills it with NaN; the names are the mistake to report.
    frame = pd.DataFrame({"age": [np.nan], "income": ["x"], "points": [np.inf]})
    with pytest.raises(ColumnMismatchError, match="points"):
        read_table(frame, fitted=FITTED)


def test_the_warning_points_at_the_line_that_called():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(np.ones((2, 3)), fitted=FITTED)
    assert [w.filename for w in caught] == [__file__]


def test_a_table_gives_its_columns_to_keep():
    assert read_table(pd.DataFrame({"a": [1], "b": [2]})).columns == Columns(("a", "b"), True, (INTEGER, INTEGER))
    assert Columns(("a",), True).describe(0) == "column 'a'"
    assert Columns(("x0",), False).describe(0) == "column 0"


def test_columns_without_names_are_numbered():
    assert name_columns(None, 12).names == tuple(f"x{i}" for i in range(12))
