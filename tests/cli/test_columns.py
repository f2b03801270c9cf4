"""Columns are chosen by name and checked before any work."""

import numpy as np
import pandas as pd
import pytest

from cutwise.cli._columns import choose_columns, complete_rows, numeric_columns
from cutwise.cli._files import Source
from cutwise.exceptions import InvalidInputError


def source_of(**columns):
    return Source(pd.DataFrame(columns), "data.csv", 2)


FOUR = {"id": [1, 2], "age": [30, 40], "income, net": [1.0, 2.0], "city": ["a", "b"]}


@pytest.mark.parametrize(
    ("only", "drop", "expected"),
    [
        ([], [], ["id", "age", "income, net", "city"]),
        ([], ["id,city"], ["age", "income, net"]),
        ([], ["id", "city"], ["age", "income, net"]),
        ([], ["income, net"], ["id", "age", "city"]),
        (["city,age"], [], ["age", "city"]),
        (["age", "id"], ["id"], ["age"]),
    ],
)
def test_only_and_drop_take_names_lists_and_repeats(only, drop, expected):
    assert choose_columns(source_of(**FOUR), only=only, drop=drop, apart=[]).columns.tolist() == expected


def test_columns_with_another_part_are_left_out():
    assert "age" not in choose_columns(source_of(**FOUR), only=[], drop=[], apart=["age"])


def test_an_unknown_column_is_refused_with_the_nearest_name():
    with pytest.raises(InvalidInputError, match=r"--drop: data.csv has no column 'Citty'. Did you mean 'city'\?"):
        choose_columns(source_of(**FOUR), only=[], drop=["Citty"], apart=[])


def test_no_column_left_is_refused():
    with pytest.raises(InvalidInputError, match="No column"):
        choose_columns(source_of(a=[1]), only=[], drop=["a"], apart=[])


def test_text_is_refused_with_the_option_that_leaves_it_out():
    source = source_of(a=["1", "2", "?"], b=[1, 2, 3], c=["x y", "z", "z"])
    with pytest.raises(InvalidInputError, match=r"'a' holds .* first '\?' in row 2 \(line 4.*'c'.*--drop a,c\."):
        numeric_columns(source, source.frame)


def test_the_option_can_be_pasted_into_a_shell():
    source = source_of(**{"it's": ["x"], "a b": ["x"]})
    with pytest.raises(InvalidInputError, match="""--drop 'it'"'"'s,a b'"""):
        numeric_columns(source, source.frame)


def test_dates_are_refused():
    source = source_of(day=pd.to_datetime(["2020-01-01"]))
    with pytest.raises(InvalidInputError, match="'day'"):
        numeric_columns(source, source.frame)


def test_infinity_is_refused_with_its_row():
    source = source_of(a=[1.0, np.inf, np.inf])
    with pytest.raises(InvalidInputError, match=r"'a' holds infinity, first in row 1 \(line 3"):
        numeric_columns(source, source.frame)


def test_numbers_and_truth_values_pass():
    source = source_of(a=[1, 2], b=[0.5, np.nan], c=[True, False], d=pd.array([1, None], dtype="Int64"))
    numeric_columns(source, source.frame)


def test_a_missing_value_is_refused_with_column_row_and_both_ways_out():
    source = source_of(a=[1, 2, 3, 4], b=[1, np.nan, np.nan, 4], c=[np.nan, 1, 1, 4])
    told = r"'b' has 2 missing values \(NaN\), the first in row 1 .*'c'.*--drop-missing.*--drop b,c"
    with pytest.raises(InvalidInputError, match=told):
        complete_rows(source, source.frame, drop_missing=False)


def test_rows_with_missing_values_can_be_left_out(capsys):
    source = source_of(a=[1, 2, 3], b=[1, np.nan, 3])
    assert complete_rows(source, source.frame, drop_missing=True).tolist() == [True, False, True]
    assert "1 of 3 rows" in capsys.readouterr().err


def test_leaving_out_every_row_is_refused():
    source = source_of(a=[np.nan])
    with pytest.raises(InvalidInputError, match="would leave none"):
        complete_rows(source, source.frame, drop_missing=True)


def test_where_no_row_is_complete_the_column_without_values_is_to_go_and_not_all_rows():
    source = source_of(a=[1.0, None, 3.0], b=[None, None, None], c=[None, 2.0, 3.0])
    for drop_missing in (False, True):
        with pytest.raises(InvalidInputError, match=r"--drop b\.$") as error:
            complete_rows(source, source.frame, drop_missing=drop_missing)
    assert "--drop-missing" not in str(error.value).replace("--drop-missing would leave none", "")


def test_where_no_row_and_no_column_can_go_values_must_be_filled_in():
    source = source_of(a=[None, None], b=[1.0, 2.0])
    with pytest.raises(InvalidInputError, match=r"Fill them in first\.$"):
        complete_rows(source, source.frame, drop_missing=False, needed=["a", "b"])
