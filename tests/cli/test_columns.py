"""Columns are chosen by name and checked before any work."""

import numpy as np
import pandas as pd
import pytest

from cutwise.cli.column_scan import scan_columns
from cutwise.cli.columns import check_complete, check_numbers, choose_columns, complete_rows
from cutwise.cli.options import ClusteringOptions
from cutwise.cli.tables import Source
from cutwise.exceptions import InvalidInputError


def source_of(**columns):
    return Source(pd.DataFrame(columns), "data.csv", lambda row: row + 2)


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
    assert choose_columns(source_of(**FOUR), ClusteringOptions(only=only, drop=drop), []) == expected


def test_columns_with_another_part_are_left_out():
    assert "age" not in choose_columns(source_of(**FOUR), ClusteringOptions(), ["age"])


def test_an_unknown_column_is_refused_with_the_nearest_name():
    with pytest.raises(InvalidInputError, match=r"--drop: data.csv has no column 'Citty'. Did you mean 'city'\?"):
        choose_columns(source_of(**FOUR), ClusteringOptions(drop=["Citty"]), [])


def test_no_column_left_is_refused():
    with pytest.raises(InvalidInputError, match="No column"):
        choose_columns(source_of(a=[1]), ClusteringOptions(drop=["a"]), [])


def test_text_is_refused_with_the_option_that_leaves_it_out():
    source = source_of(a=["x", "y", "y"], b=[1, 2, 3], c=["x y", "z", "z"])
    told = r"'a' holds .*2 different values in 3 rows, such as 'x' in row 0 \(line 2.*'c'.*--drop a,c\."
    with pytest.raises(InvalidInputError, match=told):
        check_numbers(source, scan_columns(source, list(source.frame)))


def test_a_few_texts_among_numbers_are_a_mistake_to_be_mended():
    source = source_of(a=["1", "2", "what"], c=["x", "y", "y"])
    told = r"'a' holds numbers, but 'what' in row 2 \(line 4 .* Write numbers there, or leave unknown .* --drop a\.$"
    with pytest.raises(InvalidInputError, match=told):
        check_numbers(source, scan_columns(source, list(source.frame)))
    assert scan_columns(source, ["a"])[0].why_left_out(mixed=False).startswith("numbers, but 'what' in row 2 (line 4")
    assert scan_columns(source, ["c"])[0].why_left_out(mixed=False) == "free text: 2 different values in 3 rows"


N = 60
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("Unnamed: 0", np.arange(N), "a row identifier"),
        ("n", RNG.permutation(N) + 1000, "a row identifier"),
        ("year", 1960 + np.arange(N), "a row identifier"),
        ("CustomerID", RNG.integers(10**9, size=N), "a row identifier"),
        ("Obs", np.arange(5), "a row identifier"),
        ("person_id", np.arange(N) // 3, "identifiers that several rows share"),
        ("Unnamed: 0", np.arange(N) % 20, "identifiers that several rows share"),
        ("CustomerID", np.where(np.arange(N) % 3, np.arange(N) // 2, np.nan), "identifiers with gaps"),
        ("grid_id", np.where(np.arange(N) % 3, np.arange(N) / 8, np.nan), None),
        ("species_id", np.arange(N) % 3 + 1, None),  # codes
        ("species_id", np.arange(N) % 3 * 1000, None),
        ("paid", np.arange(N) // 3, None),
        ("sales", RNG.integers(10**9, size=N), None),
        ("age", RNG.integers(90, size=N), None),
        ("channel", np.arange(N) % 2, None),
        ("price", np.arange(N) + 0.5, None),
        ("few", np.arange(N) % (N - 1), None),
        ("unit", np.full(N, 7.0), "the same value in every row"),
        ("unit", np.where(np.arange(N) % 2, 7.0, np.nan), None),  # whether it is known may tell rows apart
        ("none", np.full(N, np.nan), "no value"),
        ("city", ["a", "b", "c"] * 20, "text: 3 different values"),
        ("city", ["a", None, "c"] * 20, "text: 2 different values, and 20 gaps"),
        ("city", ["a", "b", "a", None] + ["c"] * 56, "text: 3 different values, and 1 gap"),
        ("name", [f"name {i}" for i in range(N)], "a different value in every row"),
        ("ticket", [f"ticket {i % 50}" for i in range(N)], "free text: 50 different values in 60 rows"),
        ("zip", ["00501", "10001", "94103"] * 20, "codes with leading zeros"),
        ("day", ["2020-01-01", "2020-01-02"] * 30, "dates written as text"),
        ("day", ["1.12.2020", "02/03/20"] * 30, "dates written as text"),
        ("day", pd.date_range("2020", periods=N), "dates or times"),
        ("flag", [True, False] * 30, None),
        ("flag", [True] * N, "the same value in every row"),
        (
            "mended",
            ["1"] * 40 + ["x"] * 20,
            "numbers, but 'x' in row 40 (line 42 of data.csv; rows are counted from 0) and 19 more cells",
        ),
    ],
)
def test_columns_that_measure_nothing_are_left_out_with_the_reason(name, values, reason):
    assert scan_columns(source_of(**{name: values}), [name])[0].why_left_out(mixed=False) == reason


def test_texts_whose_name_says_that_they_identify_are_left_out_if_they_are_many():
    source = source_of(
        userId=[f"u{i // 3}" for i in range(N)], city=[f"u{i // 3}" for i in range(N)], id=["a", "b"] * 30
    )
    user, city, few = scan_columns(source, ["userId", "city", "id"])
    assert user.why_left_out() == "identifiers that several rows share"
    assert city.why_left_out() is few.why_left_out() is None


def test_the_option_can_be_pasted_into_a_shell():
    source = source_of(**{"it's": ["x"], "a b": ["x"]})
    with pytest.raises(InvalidInputError, match="""--drop 'it'"'"'s,a b'"""):
        check_numbers(source, scan_columns(source, list(source.frame)))


def test_dates_are_refused():
    source = source_of(day=pd.to_datetime(["2020-01-01"]))
    with pytest.raises(InvalidInputError, match="'day'"):
        check_numbers(source, scan_columns(source, list(source.frame)))


def test_infinity_is_refused_with_its_row():
    source = source_of(a=[1.0, np.inf, np.inf])
    with pytest.raises(InvalidInputError, match=r"'a' holds infinity, first in row 1 \(line 3"):
        check_numbers(source, scan_columns(source, list(source.frame)))


def test_numbers_and_truth_values_pass():
    source = source_of(a=[1, 2], b=[0.5, np.nan], c=[True, False], d=pd.array([1, None], dtype="Int64"))
    check_numbers(source, scan_columns(source, list(source.frame)))


def check_gaps(source, *, drop_missing):
    n_missing, n_complete = source.frame.isna().sum().to_dict(), len(source.frame.dropna())
    check_complete(source, n_missing, len(source.frame), n_complete, drop_missing=drop_missing)


def test_a_missing_value_is_refused_with_column_row_and_both_ways_out():
    source = source_of(a=[1, 2, 3, 4], b=[1, np.nan, np.nan, 4], c=[np.nan, 1, 1, 4])
    told = r"'b' has 2 missing values \(NaN\), the first in row 1 .*'c'.*--drop-missing.*--drop b,c"
    with pytest.raises(InvalidInputError, match=told):
        check_gaps(source, drop_missing=False)


def test_rows_with_missing_values_can_be_left_out(capsys):
    source = source_of(a=[1, 2, 3], b=[1, np.nan, 3])
    assert complete_rows(source, ["a", "b"], drop_missing=True).tolist() == [True, False, True]
    assert "1 of 3 rows" in capsys.readouterr().err


def test_leaving_out_every_row_is_refused():
    source = source_of(a=[np.nan])
    with pytest.raises(InvalidInputError, match="would leave none"):
        check_gaps(source, drop_missing=True)


def test_where_no_row_is_complete_the_column_without_values_is_to_go_and_not_all_rows():
    source = source_of(a=[1.0, None, 3.0], b=[None, None, None], c=[None, 2.0, 3.0])
    for drop_missing in (False, True):
        with pytest.raises(InvalidInputError, match=r"--drop b\.$") as error:
            check_gaps(source, drop_missing=drop_missing)
    assert "--drop-missing" not in str(error.value).replace("--drop-missing would leave none", "")


def test_where_no_row_and_no_column_can_go_values_must_be_filled_in():
    source = source_of(a=[None, None], b=[1.0, 2.0])
    with pytest.raises(InvalidInputError, match=r"Fill them in first\.$"):
        complete_rows(source, ["a", "b"], drop_missing=False)
