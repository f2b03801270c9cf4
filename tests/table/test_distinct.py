"""Counting distinct rows equals making a set of them, for any layout, and stops at the limit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from cutwise.table import count_distinct_rows, distinct, read_table


def by_set(X, weights=None):
    rows = np.asarray(X, dtype=np.float64) + 0.0
    return len({row.tobytes() for i, row in enumerate(rows) if weights is None or weights[i] > 0})


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


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_rows_with_one_hash_are_told_apart_by_their_values(monkeypatch, storage):
    monkeypatch.setattr(distinct, "_hash_rows", lambda block: np.zeros(block.shape[0], dtype=np.uint64))
    monkeypatch.setattr(distinct, "_BLOCK", 64)
    X = np.random.default_rng(0).integers(3, size=(200, 3)).astype(float)
    assert count_distinct_rows(read_table(storage(X)).values, 1000) == by_set(X)


def test_values_next_to_each_other_are_distinct():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)], [1.0]])
    assert count_distinct_rows(X, 5) == 2


def test_one_row_suffices_for_a_limit_of_one():
    assert count_distinct_rows(np.ones((10, 2)), 1) == 1
    assert count_distinct_rows(np.ones((10, 2)), 0) == 0


def test_a_wide_table_is_counted():
    X = np.random.default_rng(0).normal(size=(5, 300_000))
    assert count_distinct_rows(X, 10) == 5
