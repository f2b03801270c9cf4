"""Equal rows, and only those, are merged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cutwise import core
from tests.core.encoding_twin import encode


def merge(values):
    return core.merge_duplicates(core.as_matrix(values), encode(values))


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


def test_merging_needs_the_matrix_that_was_encoded():
    X = np.arange(50.0)[:, None]
    with pytest.raises(ValueError, match="was encoded"):
        core.merge_duplicates(core.as_matrix(X), encode(X[:40]))


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
