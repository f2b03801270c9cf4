"""Sparse input of every format becomes canonical CSR with the same values, and is itself never changed."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from cutwise.exceptions import InvalidInputError, NotFiniteError
from cutwise.table.intake import read_table
from tests.each import each
from tests.table.damaged_matrices import DAMAGED

FORMATS = ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]


def entries(format="coo"):  # noqa: A002 (scipy's word)
    X = np.random.default_rng(1).random((12, 7))
    return sparse.csr_array(np.where(X < 0.3, X, 0)).asformat(format)


def assert_canonical(csr):
    assert isinstance(csr, sparse.csr_array)
    assert csr.format == "csr"
    fresh = sparse.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape)
    assert fresh.has_canonical_format
    assert np.count_nonzero(csr.data) == csr.nnz


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_becomes_canonical_csr(format_, kind):
    X = entries().asformat(format_)
    if kind == "matrix":
        X = getattr(sparse, f"{format_}_matrix")(X)
    table = read_table(X)
    assert_canonical(table.values)
    np.testing.assert_array_equal(table.values.toarray(), X.toarray())
    assert table.is_sparse
    assert table.matrix.is_sparse
    assert (table.matrix.n_rows, table.matrix.n_cols) == (12, 7)


def test_a_canonical_csr_shares_its_memory():
    X = entries(format="csr")
    for given_matrix in (X, sparse.csr_matrix(X)):
        table = read_table(given_matrix)
        assert np.shares_memory(table.values.data, given_matrix.data)
        assert np.shares_memory(table.values.indices, given_matrix.indices)


@each(
    "given_dtype, kept_dtype",
    [
        ("bool", "uint8"),
        ("uint8", "uint8"),
        ("int8", "int32"),
        ("int64", "int64"),
        ("uint64", "float64"),
        ("float32", "float32"),
        ("longdouble", "float64"),
    ],
)
def test_dtypes_follow_the_dense_rule(given_dtype, kept_dtype):
    X = (entries(format="csr") * 9).astype(given_dtype)
    table = read_table(X)
    assert table.values.dtype == kept_dtype
    assert_canonical(table.values)
    np.testing.assert_array_equal(table.values.toarray(), X.toarray())
    assert table.is_integer.tolist() == [np.dtype(given_dtype).kind in "iub"] * 7


@given(
    hnp.arrays(
        st.sampled_from(["i1", "u1", "i4", "f8"]).map(np.dtype),
        st.integers(0, 12),
        elements={"allow_nan": False, "allow_infinity": False, "min_value": 0, "max_value": 127},
    ),
    st.data(),
)
def test_duplicates_are_summed_without_overflow_and_stored_zeros_go(values, data):
    rows = data.draw(hnp.arrays(np.intp, len(values), elements=st.integers(0, 2)))
    columns = data.draw(hnp.arrays(np.intp, len(values), elements=st.integers(0, 1)))
    expected = np.zeros((3, 2))
    np.add.at(expected, (rows, columns), values.astype(np.float64))
    coo = sparse.coo_array((values, (rows, columns)), shape=(3, 2))
    order = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(rows[order], np.arange(4))
    csr = sparse.csr_array((values[order], columns[order], indptr), shape=(3, 2))
    before = csr.copy()
    for X in (coo, csr):
        table = read_table(X)
        assert_canonical(table.values)
        np.testing.assert_allclose(table.values.toarray(), expected, rtol=1e-15)
    np.testing.assert_array_equal(csr.data, before.data)
    np.testing.assert_array_equal(csr.indices, before.indices)


def test_a_flag_that_wrongly_says_sorted_is_not_believed():
    X = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    X.has_sorted_indices = True
    X.has_canonical_format = True
    table = read_table(X)
    assert_canonical(table.values)
    np.testing.assert_array_equal(table.values.toarray(), [[2.0, 1.0]])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_both_index_widths_are_read(dtype):
    X = entries(format="csr")
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    np.testing.assert_array_equal(read_table(X).values.toarray(), X.toarray())


def test_a_damaged_matrix_of_any_format_is_refused_before_anything_reads_beyond_its_arrays():
    # In a process of its own: where one is converted unchecked, the process ends.
    program = [sys.executable, "-W", "ignore", "-m", "tests.table.damaged_matrices"]
    result = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    said = dict(line.split(": X is not a valid sparse matrix (") for line in result.stdout.splitlines())
    assert list(said) == list(DAMAGED)
    assert all(reason.endswith("Build it anew from its entries.") for reason in said.values())


def test_what_stands_behind_the_stored_values_is_not_looked_at():
    X = sparse.csr_array(np.eye(3))
    X.data, X.indices = np.append(X.data, np.nan), np.append(X.indices, -9)
    np.testing.assert_array_equal(read_table(X).values.toarray(), np.eye(3))


def test_diagonals_beyond_the_matrix_hold_nothing():
    X = sparse.dia_array((np.ones((3, 4)), [0, 2, 10**6]), shape=(4, 4))
    np.testing.assert_array_equal(read_table(X).values.toarray(), np.eye(4) + np.eye(4, k=2))


def test_a_missing_stored_value_names_its_place():
    X = entries(format="csc")
    X.data[5] = np.nan
    row, column = (int(i[0]) for i in np.nonzero(np.isnan(X.toarray())))
    with pytest.raises(NotFiniteError, match=rf"NaN: column {column}, row {row} \("):
        read_table(X)


def test_complex_and_empty_matrices_are_refused():
    with pytest.raises(InvalidInputError, match="Complex data not supported"):
        read_table(entries(format="csr") * 1j)
    with pytest.raises(InvalidInputError, match=r"0 feature\(s\)"):
        read_table(sparse.csr_array((3, 0)))
    with pytest.raises(InvalidInputError, match=r"0 sample\(s\)"):
        read_table(sparse.csr_array((0, 3)))


def test_a_one_dimensional_sparse_array_is_refused():
    X = sparse.coo_array(np.array([1.0, 0.0, 2.0]))
    if X.ndim == 2:
        pytest.skip("this scipy has no one-dimensional sparse arrays")
    with pytest.raises(InvalidInputError, match="Reshape your data"):
        read_table(X)


def test_a_matrix_without_entries_is_a_table_of_zeros():
    table = read_table(sparse.csr_array((3, 4)))
    assert table.values.nnz == 0
    assert table.matrix.n_rows == 3
