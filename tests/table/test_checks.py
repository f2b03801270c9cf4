"""Parameters out of range say what was given, what is needed and the next step."""

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from cutwise.exceptions import InvalidInputError, UnknownOptionError
from cutwise.table.intake import (
    check_integer,
    check_max_leaves,
    check_n_clusters,
    check_n_jobs,
    check_number,
    check_option,
    read_random_state,
    read_table,
)


def test_a_valid_option_is_handed_back():
    assert check_option("algorithm", "imm", ["imm", "exkmc"]) == "imm"
    assert check_option("reference", None, [None, "kmeans"]) is None


@pytest.mark.parametrize("value", ["IMM", "im", None, 3, ["imm"], np.array([1, 2])])
def test_an_unknown_option_is_refused(value):
    with pytest.raises(UnknownOptionError, match=r"is not a valid option. Use one of 'imm', 'exkmc'"):
        check_option("algorithm", value, ["imm", "exkmc"])


@pytest.mark.parametrize("value", [3, np.int32(3), np.uint8(3)])
def test_whole_numbers_of_every_kind_become_python_integers(value):
    assert check_integer("n_init", value, minimum=1) == 3
    assert type(check_integer("n_init", value, minimum=1)) is int


@pytest.mark.parametrize("value", [True, np.True_, 3.0, "3", None, [3]])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(InvalidInputError, match=r"n_init=.* is not a whole number. Use an integer >= 1\."):
        check_integer("n_init", value, minimum=1)


def test_bounds_of_whole_numbers_are_kept():
    with pytest.raises(InvalidInputError, match=r"n_init=0 is out of range. Use an integer >= 1. Ten is usual\."):
        check_integer("n_init", 0, minimum=1, hint="Ten is usual.")
    with pytest.raises(InvalidInputError, match="Use an integer from 1 to 5"):
        check_integer("n_init", 6, minimum=1, maximum=5)
    assert check_integer("n_init", 5, minimum=1, maximum=5) == 5
    assert check_integer("n_init", 2**63 - 1, minimum=1) == 2**63 - 1
    assert check_integer("n_init", 10**20, minimum=1) == 2**63 - 1  # as the core counts


def test_bounds_of_numbers_are_kept():
    assert check_number("gamma", np.float32(0.5), minimum=0) == 0.5
    assert check_number("gamma", 0, minimum=0) == 0.0
    with pytest.raises(InvalidInputError, match=r"gamma=0 is out of range. Use a number > 0"):
        check_number("gamma", 0, minimum=0, above=True)
    with pytest.raises(InvalidInputError, match=r"gamma=-1 is out of range. Use a number >= 0 and <= 1"):
        check_number("gamma", -1, minimum=0, maximum=1)
    with pytest.raises(InvalidInputError, match="gamma=2 is out of range"):
        check_number("gamma", 2, minimum=0, maximum=1)
    with pytest.raises(InvalidInputError, match=r"gamma=10.* is not a finite number. Use a number >= 0"):
        check_number("gamma", 10**400, minimum=0)


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("inf"), 1j])
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(InvalidInputError, match=r"gamma=.* is not a finite number. Use a number >= 0"):
        check_number("gamma", value, minimum=0)


def test_jobs_are_counted_as_joblib_does():
    assert check_n_jobs(None) == 1
    assert check_n_jobs(3) == 3
    assert check_n_jobs(-1) == joblib.effective_n_jobs(-1)
    assert check_n_jobs(-1000) == 1
    assert check_n_jobs(10**12) < 2**31
    for value in (0, 1.5, "2", True):
        with pytest.raises(InvalidInputError, match="Use an integer >= 1, -1 for all cores, or None for one"):
            check_n_jobs(value)


def test_no_more_clusters_than_distinct_rows():
    table = read_table([[1, 2], [1, 2], [3, 4], [0.0, 1], [-0.0, 1]])
    assert check_n_clusters(3, table) == 3
    with pytest.raises(InvalidInputError, match=r"n_clusters=9 is more than the 3 distinct rows of X \(n_samples=5\)"):
        check_n_clusters(9, table)
    wide = read_table(csr_array((10**6, 10**6), dtype=np.int64))  # dense it would take terabytes
    with pytest.raises(InvalidInputError, match="1 distinct row of X"):
        check_n_clusters(2, wide)


def test_rows_of_weight_zero_give_no_cluster():
    table = read_table([[1.0], [2.0], [3.0]])
    weights = np.array([1.0, 0.0, 0.0])
    assert check_n_clusters(1, table, weights) == 1
    with pytest.raises(InvalidInputError, match="more than the 1 distinct row of X of positive weight"):
        check_n_clusters(2, table, weights)


@pytest.mark.parametrize("value", [0, -3])
def test_at_least_one_cluster(value):
    with pytest.raises(InvalidInputError, match=f"n_clusters={value} is out of range. Use an integer >= 1"):
        check_n_clusters(value)


def test_every_cluster_needs_a_leaf():
    assert check_max_leaves(None, 6) == 6
    assert check_max_leaves(6, 6) == 6
    assert check_max_leaves(9, 6) == 9
    with pytest.raises(InvalidInputError) as caught:
        check_max_leaves(4, 6)
    assert str(caught.value) == (
        "max_leaves=4 is fewer than n_clusters=6, and every cluster needs a leaf of its own.\n"
        "Use max_leaves >= 6, or None for the default."
    )
    with pytest.raises(InvalidInputError, match=r"max_leaves=2.5 is not a whole number"):
        check_max_leaves(2.5, 6)


@pytest.mark.parametrize(
    "check",
    [
        lambda value: check_integer("n_clusters", value, minimum=1),
        lambda value: check_number("gamma", value, minimum=0),
        lambda value: check_option("algorithm", value, ["imm"]),
        check_n_jobs,
        read_random_state,
    ],
)
@pytest.mark.parametrize("value", [pd.DataFrame(np.ones((200, 5))), list(range(500))])
def test_a_table_given_for_a_parameter_is_shown_in_short(check, value):
    with pytest.raises(InvalidInputError) as error:
        check(value)
    assert len(str(error.value)) < 300
    assert "\n" not in str(error.value)
