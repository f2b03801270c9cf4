"""Codes against their definition: every bin brackets its values, exact columns decode exactly, bundles lose nothing."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from cutwise import core
from cutwise.table.table import as_matrix
from tests.core.encoding_twin import check, decode, encode, same
from tests.each import each

DTYPES = [np.float32, np.float64, np.int32, np.int64, np.uint8]


def mixed(n, seed=0, dtype=np.float32):
    """One-hot groups, small and large ranges of whole numbers, skewed and crowded reals, a constant column."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.normal(size=n),
        rng.integers(0, 30, n),
        rng.integers(-3000, 3000, n),
        np.exp(3 * rng.normal(size=n)),
        rng.integers(0, 40, n) * 0.1,
        np.zeros(n),
        np.where(rng.random(n) < 0.9, 0, rng.normal(size=n)),
    ]
    for size in (3, 9):
        columns.extend(np.eye(size)[rng.integers(0, size, n)].T)
    X = np.column_stack(columns)
    if dtype == np.uint8:
        X = np.abs(X) % 256
    return X.astype(dtype)


@each("dtype", DTYPES)
@each("n", [1, 2, 150, 700, 3000, 5000, 20000])
def test_dense_codes_decode_to_their_values(dtype, n):
    X = mixed(n, dtype=dtype)
    check(X, encode(X))


@each("n", [300, 601, 639])
@each("dtype", [np.float32, np.float64])
def test_values_that_occur_once_share_bins_of_one_size(dtype, n):
    values = (np.random.default_rng(n).permutation(n) / 7).astype(dtype)[:, None]
    encoded, most, fill = encode(values), 32, 0.8 * n / 32
    while -(-n // int(np.ceil(fill))) > most:
        fill *= 1.04
    *full, last = np.bincount(decode(encoded, values)[:, 0]).tolist()
    assert set(full) == {int(np.ceil(fill))}
    assert last <= full[0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides_and_memory_order_change_nothing(dtype):
    X = mixed(6000, dtype=dtype)
    expected = encode(X)
    wide = np.zeros((12000, 40), dtype=dtype)
    wide[::2, 1 : 2 * X.shape[1] : 2] = X
    backwards = np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    for same_values in (np.asfortranarray(X), wide[::2, 1 : 2 * X.shape[1] : 2], backwards):
        assert np.array_equal(same_values, X)
        same(encode(same_values), expected)


def test_rows_repeated_by_a_zero_stride_are_one_value_a_column():
    X = np.broadcast_to(np.array([[1.5, 0.0, -2.0]]), (7000, 3))
    encoded = encode(X)
    check(X, encoded)
    assert (encoded.n_bins == 1).all()


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_threads_change_nothing(n_jobs):
    X = mixed(60000)
    same(encode(X, n_jobs=n_jobs), encode(X))
    S = sparse.csr_array(np.where(np.abs(X) > 1, X, 0))
    same(encode(S, n_jobs=n_jobs), encode(S))


@each("n_distinct", [255, 256, 257, 300])
@each("step", [1.0, 0.25, 7.0, 1e-3])
def test_a_column_is_exact_up_to_256_distinct_values(n_distinct, step):
    rng = np.random.default_rng(n_distinct)
    for n in (400, 30000):
        pick = np.concatenate([np.arange(n_distinct), rng.integers(0, n_distinct, n - n_distinct)])
        X = (rng.permutation(pick) * step)[:, None]
        encoded = encode(X)
        check(X, encoded)
        assert encoded.exact[0] == (n_distinct <= 256)
        assert n_distinct <= 256 or encoded.n_bins[0] <= max(n // 64, 32)  # not a sum kept for every few rows


@each("dtype", [np.float32, np.float64])
def test_no_bin_has_rows_of_groups_that_are_far_apart(dtype):
    rng = np.random.default_rng(4)
    groups = rng.integers(0, 12, 50_000)
    X = (rng.normal(size=(50_000, 3)) + 40 * groups[:, None]).astype(dtype)
    bins = decode(encode(X), X)
    for column in bins.T:
        shared = np.unique(np.column_stack((column, groups)), axis=0)
        assert len(np.unique(shared[:, 0])) == len(shared)


def test_outliers_and_subnormals_are_bracketed():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20000, 4))
    X[17, 0], X[18, 0] = 1e300, -1e300
    X[:, 1] *= 5e-324 * 2**20
    X[:, 2] = np.where(rng.random(20000) < 0.5, X[:, 2] * 1e-300, X[:, 2] * 1e300)
    X[:, 3] = 1e16 + 2.0 * rng.integers(0, 1000, 20000)
    check(X, encode(X))
    S = sparse.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0))
    check(S.toarray(), encode(S))


def test_unit_gaps_near_1e8_in_float32_are_kept_apart():
    # Neighboring float32 are 8 apart there; whole numbers above 2**24 never take the table of whole numbers.
    rng = np.random.default_rng(3)
    X = (1e8 + 8.0 * rng.integers(0, 5000, (20000, 2))).astype(np.float32)
    X[:, 1] = 1e8 + 8.0 * rng.integers(0, 200, 20000)
    check(X, encode(X))
    integers = (100_000_000 + rng.integers(0, 5000, (20000, 1))).astype(np.int32)
    check(integers, encode(integers))


def test_int64_beyond_2_53_is_compared_as_float64():
    X = (2**60 + np.arange(3000, dtype=np.int64))[:, None]
    encoded = encode(X)
    check(X, encoded)
    assert encoded.n_bins[0] == np.unique(X.astype(np.float64)).size


def test_fractions_in_a_column_that_looks_whole_are_never_cut_off():
    rng = np.random.default_rng(4)
    X = rng.integers(-2000, 2000, (50000, 3)).astype(np.float64)
    X[:, 1] = rng.integers(-5, 5, 50000)
    rows = rng.permutation(50000)[:40]
    X[rows, :] = rng.normal(size=(40, 3)) * 3000
    X[rows[0], 0], X[rows[1], 0] = 2500, -2500
    check(X, encode(X))


def test_zeros_of_either_sign_are_one_value():
    X = np.array([[0.0, -0.0], [-0.0, 1.5], [2.0, -1.5]])
    encoded = encode(X)
    check(X, encoded)
    np.testing.assert_array_equal(encoded.n_bins, [2, 3])
    merged = core.group_rows(as_matrix(X[[0, 0]] * [[1], [-1]]))
    assert merged is not None
    np.testing.assert_array_equal(merged[1], [0, 0])


def test_one_hot_groups_share_one_code_each():
    rng = np.random.default_rng(5)
    n = 20000
    X = np.column_stack([np.eye(4)[rng.integers(0, 4, n)], np.eye(40)[rng.integers(0, 40, n)], rng.normal(size=n)])
    encoded = encode(X)
    check(X, encoded)
    assert encoded.n_groups == 3
    np.testing.assert_array_equal(encoded.column_group, [0] * 4 + [1] * 40 + [2])
    assert (encoded.default_bin == [0] * 44 + [-1]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_bundles_have_the_same_codes_in_every_dtype(dtype):
    rng = np.random.default_rng(8)
    X = np.hstack(
        [np.eye(17)[rng.integers(0, 17, 500)], rng.integers(1, 3, (500, 60)) * (rng.random((500, 60)) < 0.05)]
    )
    np.testing.assert_array_equal(encode(X.astype(dtype)).codes, encode(X).codes)


def test_bundles_take_any_default_and_several_other_values():
    rng = np.random.default_rng(6)
    n = 9000
    X = np.tile([3.5, -1.0, 7.0, 0.25], (n, 1))
    which = rng.integers(0, 6, n)
    for c in range(4):
        X[which == c, c] += rng.integers(-3, 4, (which == c).sum())
    encoded = encode(X)
    check(X, encoded)
    assert encoded.n_groups == 1
    assert (encoded.default_bin >= 0).all()


def test_columns_that_are_not_exclusive_never_share_a_group():
    rng = np.random.default_rng(8)
    X = (rng.random((12000, 50)) < 1e-3).astype(np.float32)
    X[:, 7] = rng.random(12000) < 0.5
    check(X, encode(X))


def test_csr_touches_stored_values_and_puts_zero_in_no_slot():
    rng = np.random.default_rng(9)
    X = np.where(rng.random((4000, 12)) < 0.1, mixed(4000)[:, :12], 0).astype(np.float32)
    X[:, 3] = rng.normal(size=4000)  # no zero at all
    X[:, 4] = 0
    S = sparse.csr_array(X)
    encoded = encode(S)
    check(X, encoded)
    assert encoded.codes.shape == (S.nnz, 1)
    assert encoded.codes.dtype == np.uint8


def test_codes_of_csr_keep_the_columns_of_the_table_that_they_stand_beside():
    rng = np.random.default_rng(12)
    X = np.where(rng.random((500, 9)) < 0.3, rng.integers(1, 5, (500, 9)), 0).astype(np.float32)
    encoded, rows = encode(sparse.csr_array(X)), np.arange(500, dtype=np.int32)
    gc.collect()
    totals, histogram = np.zeros((1, 1), np.int64), np.zeros((encoded.n_slots, 1, 1), np.int64)
    noise = [np.full(X.size, 7, np.int32) for _ in range(20)]  # where the columns lay, if nobody kept them
    core.add_to_cluster_histogram(encoded, rows, np.zeros(500, np.int32), None, None, histogram, totals, 1)
    assert len(noise) == 20
    expected = [(X[:, f] == value).sum() for f in range(9) for value in range(1, 5)]
    np.testing.assert_array_equal(histogram.ravel(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_csr_columns_keep_zero_apart_from_values_a_sample_missed(dtype):
    rng = np.random.default_rng(10)
    n = 60_000
    X = np.zeros((n, 3))
    X[:, 0] = np.where(rng.random(n) < 0.7, rng.normal(size=n) * 1000, 0)
    X[:, 1] = rng.integers(-200, 200, n)
    X[::9, 2] = 5
    X[123], X[4567] = [1e-30, 300, 7], [-1e-30, -300, 9]
    X = np.abs(X).astype(dtype) if dtype == np.uint8 else X.astype(dtype)
    S = sparse.csr_array(X)
    S.eliminate_zeros()
    check(X, encode(S))


@each("dtype", DTYPES)
@each("seed", range(6))
def test_csr_columns_of_any_distribution_keep_the_definition(dtype, seed):
    rng = np.random.default_rng([31, seed])
    n = int(rng.integers(700, 9000))
    whole = np.dtype(dtype).kind in "iu"
    scale = 1.0 if whole else [1e-40, 1e-3, 1.0, 1e30][seed % 4]
    columns = [
        rng.lognormal(0, 3, n) * scale,  # a long tail
        -rng.lognormal(0, 1, n) * scale,
        rng.normal(size=n) * scale * 100,
        rng.integers(1, 257, n),  # 256 values, the most that are exact, and perhaps more than that with zero
        rng.integers(-129, 129, n),
        rng.integers(1, 300, n),
        np.where(rng.random(n) < 0.999, 3, rng.integers(-400, 400, n)),  # values that a sample misses
        np.where(np.arange(n) == n // 2, -7, rng.normal(size=n) ** 2 * 90),
        np.where(np.arange(n) == n // 3, 7, -(rng.normal(size=n) ** 2) * 90),
        rng.choice([-1.0, 1.0], n) * 2.0 ** rng.integers(-20, 20, n),
        np.full(n, 5),
    ]
    if whole:
        columns = [np.clip(np.rint(column), -200, 255 if dtype == np.uint8 else 1000) for column in columns]
    X = np.column_stack(columns)
    X = np.abs(X) % 256 if dtype == np.uint8 else X
    X[rng.random(X.shape) < rng.choice([0.0, 0.3, 0.8, 0.99], X.shape[1])] = 0
    X = X.astype(dtype)
    S = sparse.csr_array(X)
    S.eliminate_zeros()
    check(X, encode(S))
    same(encode(S), encode(S, n_jobs=3))


@pytest.mark.parametrize(
    ("indptr", "indices", "match"),
    [
        ([0, 2], [1, 0], "increase strictly"),
        ([0, 2], [0, 9], "increase strictly"),
        ([0, 2], [-1, 1], "increase strictly"),
        ([2, 0], [0, 1], "goes from 0"),
        ([0, 2, 1], [0, 1], "never decreases"),
    ],
)
def test_a_broken_csr_matrix_is_refused(indptr, indices, match):
    values = np.array([1.0, 2.0])
    with pytest.raises(ValueError, match=match):
        core.encode(core.Matrix.csr(np.array(indptr), np.array(indices, dtype=np.int32), values, 3))


def test_stored_zeros_and_empty_tables_are_refused():
    stored = sparse.csr_array((np.zeros(1), np.zeros(1, dtype=np.int32), np.array([0, 1])), shape=(1, 2))
    with pytest.raises(ValueError, match="eliminate_zeros"):
        encode(stored)
    with pytest.raises(ValueError, match="rows and columns"):
        encode(np.zeros((0, 3)))


VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, 2.5, -1.0, 1e300, -1e300, 5e-324, 1e8, 1e8 + 1, 16777217.0])


@settings(deadline=None, max_examples=150)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 6)), elements=VALUES),
    st.sampled_from(DTYPES),
    st.booleans(),
)
def test_any_small_table_decodes_to_itself(X, dtype, transposed):
    if np.dtype(dtype).kind != "f":
        X = np.clip(X, 0, 255) if dtype == np.uint8 else np.clip(X, -(2**30), 2**30)
    else:
        X = np.clip(X, np.finfo(dtype).min, np.finfo(dtype).max)
    X = X.astype(dtype)
    if transposed:
        X = np.asfortranarray(X)
    check(X, encode(X))
    S = sparse.csr_array(X)
    S.eliminate_zeros()
    check(X, encode(S))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_any_distribution_of_a_long_column_is_bracketed(seed, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4000, 12000))
    shapes = [
        rng.normal(size=n) * 10.0 ** rng.integers(-30, 30),
        np.exp(rng.normal(size=n) * rng.integers(1, 12)),
        rng.integers(0, rng.integers(1, 20000), n) * rng.choice([1.0, 0.5, 0.1]),
        np.where(rng.random(n) < rng.random() ** 4, rng.normal(size=n), rng.integers(0, 3)),
        rng.choice([0.0, 1e8, -1e16], n) + rng.normal(size=n) * 10.0 ** rng.integers(-3, 9),
    ]
    X = np.column_stack(shapes).astype(dtype)
    check(X, encode(X))
