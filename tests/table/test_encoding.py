"""The table as the engine reads it."""

import numpy as np
from scipy import sparse

from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from tests.each import each


@each("make", [np.ascontiguousarray, sparse.csr_array])
@each("n_values", [3, 10_000])
@each("leave_out", [None, "weights", "keep"])
def test_column_sizes_are_the_largest_of_the_rows_that_take_part(make, n_values, leave_out):
    rng = np.random.default_rng(n_values)
    X = rng.integers(-n_values, n_values, (9000, 3)) * 0.5
    X[rng.random(X.shape) < 0.3] = 0.0
    left = np.ones(len(X), dtype=bool)
    if leave_out is not None:
        left = np.abs(X).max(axis=1) < 0.4 * n_values
    encoded = encode_table(
        read_table(make(X)),
        weights=left * 2 if leave_out == "weights" else None,
        keep=left if leave_out == "keep" else None,
    )
    assert (encoded.n_rows < left.sum()) == (n_values == 3), "equal rows are one"
    np.testing.assert_array_equal(encoded.column_sizes, np.abs(X[left]).max(axis=0))
