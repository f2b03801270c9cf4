"""The finiteness check agrees with looking at every value, and does so without copies."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from cutwise.exceptions import NotFiniteError
from cutwise.table.intake import check_finite, is_all_finite
from cutwise.table.table import Columns
from tests.each import each


@given(hnp.arrays(st.sampled_from([np.float32, np.float64]), hnp.array_shapes(min_dims=1, max_dims=2, max_side=9)))
def test_it_equals_looking_at_every_value(values):
    assert is_all_finite(values) == np.isfinite(values).all()
    assert is_all_finite(values.T) == np.isfinite(values).all()
    assert is_all_finite(values[::-1]) == np.isfinite(values[::-1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_values_whose_sum_overflows_are_finite(dtype):
    largest = np.finfo(dtype).max
    assert is_all_finite(np.full((1000, 100), largest, dtype=dtype))
    assert is_all_finite(np.full((1000, 100), -largest, dtype=dtype)[:, ::2])


@each("layout", ["C", "F", "strided", "reversed"])
@each("value", [np.nan, np.inf, -np.inf])
def test_one_bad_value_anywhere_in_a_large_table_is_found(value, layout):
    rng = np.random.default_rng(3)
    for _ in range(10):
        n, d = int(rng.integers(1, 5000)), int(rng.integers(1, 60))
        X = np.ones((n, d))
        row, column = int(rng.integers(n)), int(rng.integers(d))
        X[row, column] = value
        if layout == "F":
            X = np.asfortranarray(X)
        elif layout == "strided":
            wide = np.ones((n, 2 * d))
            wide[:, ::2] = X
            X = wide[:, ::2]
        elif layout == "reversed":
            X, row = X[::-1], n - 1 - row
        columns = Columns(tuple(f"c{i}" for i in range(d)), has_names=True)
        with pytest.raises(NotFiniteError, match=rf"column 'c{column}', row {row} \("):
            check_finite(X, columns)


def test_infinities_that_cancel_are_found():
    assert not is_all_finite(np.array([np.inf, -np.inf, 1.0]))


def test_stored_values_of_a_sparse_matrix_are_checked_and_placed():
    X = np.random.default_rng(0).random((50, 20))
    X = sparse.csr_array(np.where(X < 0.2, X, 0))
    columns = Columns(tuple(f"x{i}" for i in range(20)), has_names=False)
    check_finite(X, columns)
    entry = X.nnz // 2
    X.data[entry] = np.inf
    row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
    with pytest.raises(NotFiniteError, match=rf"infinity: column {X.indices[entry]}, row {row} \("):
        check_finite(X, columns)


def test_whole_numbers_need_no_look():
    assert is_all_finite(np.full((2, 2), np.iinfo(np.int64).max))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_large_table_is_checked_in_small_blocks(order):
    X = np.zeros((200_000, 20), dtype=np.float32, order=order)
    tracemalloc.start()
    is_all_finite(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 20
