"""Equal rows, and only those, are one group; counting them equals making a set of them, and stops at the limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from cutwise import core
from cutwise.table.intake import read_table
from cutwise.table.table import as_matrix


def merge(values):
    return core.group_rows(as_matrix(values))


def test_duplicates_are_merged_in_order_of_first_occurrence():
    rng = np.random.default_rng(12)
    distinct = np.column_stack([rng.normal(size=(500, 3)), rng.integers(0, 3, (500, 9))])
    X = distinct[rng.integers(0, 500, 30000)]
    for values in (X, sparse.csr_array(np.where(np.abs(X) > 0.1, X, 0))):
        raw = values.toarray() if sparse.issparse(values) else values
        merged = merge(values)
        assert merged is not None
        first_row, group_of_row = merged
        assert first_row.dtype == group_of_row.dtype == np.int32
        assert (np.diff(first_row) > 0).all()
        np.testing.assert_array_equal(raw[first_row[group_of_row]], raw)
        assert np.unique(raw[first_row], axis=0).shape[0] == first_row.size


def test_rows_of_equal_codes_and_different_values_stay_apart():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(20000, 1))
    assert merge(X) is None
    X = np.repeat(X, 3, axis=0)
    first_row, group_of_row = merge(X)
    np.testing.assert_array_equal(first_row, np.arange(0, 60000, 3))
    np.testing.assert_array_equal(group_of_row, np.repeat(np.arange(20000), 3))


def test_a_table_that_repeats_itself_too_little_is_left_alone():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(30000, 2))
    X[rng.random(30000) < 0.2] = 7  # one row in five is the same, the others are distinct
    assert merge(X) is None
    X[rng.random(30000) < 0.8] = 7
    first_row, group_of_row = merge(X)
    np.testing.assert_array_equal(X[first_row[group_of_row]], X)


def test_a_few_rows_are_merged_at_half():
    X = np.array([[1.0], [2.0], [1.0], [2.0]])
    first_row, group_of_row = merge(X)
    np.testing.assert_array_equal(first_row, [0, 1])
    np.testing.assert_array_equal(group_of_row, [0, 1, 0, 1])
    assert merge(X[:3]) is None


# ---- counting


def by_set(X, weights=None):
    rows = np.asarray(X, dtype=np.float64) + 0.0
    return len({row.tobytes() for i, row in enumerate(rows) if weights is None or weights[i] > 0})


def count_distinct_rows(values, limit, weights=None):
    return core.count_distinct_rows(as_matrix(values), limit, weights)


small = hnp.arrays(
    st.sampled_from([np.float32, np.float64, np.int64, np.uint8]),
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.sampled_from([0, 1, 2]),
)


@given(small, st.integers(0, 10))
def test_it_equals_the_size_of_a_set_as_far_as_the_limit(X, limit):
    assert count_distinct_rows(X, limit) == min(limit, by_set(X))
    assert count_distinct_rows(read_table(sparse.csr_array(X)).values, limit) == min(limit, by_set(X))
    assert count_distinct_rows(np.asfortranarray(X)[::-1], limit) == min(limit, by_set(X))


@given(small, st.data())
def test_rows_of_weight_zero_do_not_count(X, data):
    weights = data.draw(hnp.arrays(np.float64, X.shape[0], elements=st.sampled_from([0.0, 0.5, 3.0])))
    assert count_distinct_rows(X, 100, weights) == by_set(X, weights)


def test_rows_left_out_between_others_do_not_confuse_the_count():
    X = np.array([[1.0], [1.0], [0.0], [1.0], [0.0], [0.0], [1.0], [1.0]])
    assert count_distinct_rows(X, 100, np.array([0, 0, 1.0, 0, 1, 1, 1, 1])) == 2


def test_minus_zero_equals_zero():
    assert count_distinct_rows(np.array([[0.0, 1.0], [-0.0, 1.0]]), 5) == 1


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_rare_rows_at_the_end_of_a_long_table_are_found(storage):
    X = np.ones((100_000, 3))
    X[-1], X[-2] = 2, 3
    values = read_table(storage(X)).values
    assert count_distinct_rows(values, 3) == 3
    assert count_distinct_rows(values, 50) == 3


def test_values_next_to_each_other_are_distinct():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)], [1.0]])
    assert count_distinct_rows(X, 5) == 2


def test_one_row_suffices_for_a_limit_of_one():
    assert count_distinct_rows(np.ones((10, 2)), 1) == 1
    assert count_distinct_rows(np.ones((10, 2)), 0) == 0


def test_a_wide_table_is_counted():
    X = np.random.default_rng(0).normal(size=(5, 300_000))
    assert count_distinct_rows(X, 10) == 5
