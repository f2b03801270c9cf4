"""What the sample did not show is found in the rows: new values, rare categories, conflicts in a bundle."""

from __future__ import annotations

import numpy as np
import pytest

from cutwise import core
from cutwise.table.table import as_matrix
from tests.core.encoding_twin import check, encode, same, sampled_rows
from tests.each import each


def hidden_rows(n, seed=0):
    """Rows outside the sample, shuffled."""
    return np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(n), sampled_rows(n)))


def one_hot(n, size, seed=0):
    return np.eye(size, dtype=np.float32)[np.random.default_rng(seed).integers(0, size, n)]


def test_the_hidden_rows_are_hidden():
    # Were the twin of the sampling wrong, the tests below would test less than they say: 200 new values in 1.5 % of the
    # rows must leave the plan of the other columns, and the bundle, as they are.
    n = 40_000
    X = np.zeros((n, 1))
    X[hidden_rows(n)[:600], 0] = np.arange(600) % 200 + 0.5
    X[:, 0] += np.arange(n) % 2
    check(X, encode(X))


@each("dtype", [np.float32, np.float64, np.int32])
@each("n_distinct", [200, 256, 257])
def test_values_that_a_sample_misses_get_bins_of_their_own(dtype, n_distinct):
    # One row each for most values, among 100,000 rows: a sample sees next to none of them.
    n = 100_000
    X = np.zeros((n, 2), dtype=dtype)
    rows = np.random.default_rng(1).permutation(n)[: n_distinct - 1]
    X[rows, 0] = np.arange(1, n_distinct)
    X[:, 1] = np.arange(n) % 3
    check(X, encode(X))


@pytest.mark.parametrize("where", [0, 7777, 149_999])
def test_a_conflict_in_a_single_row_is_found(where):
    rng = np.random.default_rng(7)
    n = 150_000
    X = np.eye(6, dtype=np.float32)[rng.integers(0, 6, n)]
    X[where] = [0, 1, 0, 0, 1, 0]
    encoded = encode(X)
    assert encoded.n_groups == 2
    check(X, encoded)


def test_a_category_that_no_sampled_row_has_joins_its_bundle():
    n = 50_000
    X = one_hot(n, 30)
    X[np.argmax(X, axis=1) == 7, 7] = 0
    X[:, 12] = 0
    rare = hidden_rows(n)[:3]
    X[rare] = 0
    X[rare, 12] = 1
    encoded = encode(X)
    check(X, encoded)
    assert encoded.n_groups == 1


def test_new_values_of_bundled_columns_get_codes_of_their_own():
    n = 50_000
    X = one_hot(n, 6)
    rows = hidden_rows(n)[:40]
    X[rows] *= np.arange(2, 42)[:, None]
    X[rows[:5]] *= -1
    encoded = encode(X)
    check(X, encoded)
    assert encoded.n_groups == 1
    assert encoded.n_bins.sum() == 12 + 40


def test_a_bundle_that_outgrows_its_byte_lets_columns_go():
    n = 50_000
    X = one_hot(n, 6).astype(np.float64)
    rows = hidden_rows(n)[:500]
    X[rows] *= np.arange(2, 502)[:, None]
    encoded = encode(X)
    check(X, encoded)
    assert encoded.n_groups > 1


def test_a_bundled_column_may_turn_out_coarse():
    n = 60_000
    X = one_hot(n, 4).astype(np.float64)
    rows = hidden_rows(n)[:900]
    X[rows] = 0
    X[rows, 2] = np.random.default_rng(0).normal(size=900)
    encoded = encode(X)
    check(X, encoded)
    np.testing.assert_array_equal(encoded.exact, [True, True, False, True])


def test_columns_in_conflict_with_earlier_ones_leave_the_bundle():
    n = 60_000
    X = one_hot(n, 8)
    rows = hidden_rows(n)[:120]
    X[rows, 5] = 1  # column 5 against all others
    encoded = encode(X)
    check(X, encoded)
    np.testing.assert_array_equal(encoded.column_group, [0, 0, 0, 0, 0, 1, 2, 3])


def test_new_values_in_conflict_with_each_other_are_told_apart():
    n = 60_000
    X = one_hot(n, 8)
    rows = hidden_rows(n)[:50]
    X[rows] = 0
    X[rows, 1] = 5
    X[rows[:20], 2] = 6
    X[rows[20:30], 1:4] = [7, 8, 9]
    check(X, encode(X))


@each("distinct", [40, 250, 20_000])
@each("bundled", [False, True])
def test_a_column_that_the_sample_misjudged_is_planned_anew(distinct, bundled):
    n = 60_000
    rng = np.random.default_rng(distinct)
    X = one_hot(n, 5).astype(np.float64) if bundled else np.tile([0.0, 1.0, 2.0, 3.0, 4.0], (n, 1))
    rows = hidden_rows(n)[:20_000]  # one row in three
    X[rows] = 0
    X[rows, 2] = rng.permutation(np.arange(20_000) % distinct) + 0.25
    check(X, encode(X))
    same(encode(X, n_jobs=3), encode(X))


def test_a_surprise_in_every_memory_order_and_thread_count_gives_the_same():
    n = 50_000
    X = np.column_stack([one_hot(n, 5), np.random.default_rng(0).normal(size=n), np.arange(n) % 7]).astype(np.float32)
    rows = hidden_rows(n)[:60]
    X[rows, 6] = np.arange(60) * 0.5 - 10
    X[rows[:9], 1] = 1
    expected = encode(X)
    check(X, expected)
    same(encode(np.asfortranarray(X)), expected)
    same(encode(np.repeat(X, 2, axis=1)[:, ::2]), expected)
    for n_jobs in (2, 4):
        same(encode(X, n_jobs=n_jobs), expected)


@each("n_known", [0, 40, 255, 256, 40_000])
@each("missing", ["seen", "hidden", "most", "none"])
def test_what_is_missing_has_a_bin_of_its_own_on_either_side(n_known, missing):
    n = 60_000
    rng = np.random.default_rng(n_known)
    x = rng.normal(size=n) if n_known == 40_000 else rng.integers(0, max(n_known, 1), n) / 8.0
    x[hidden_rows(n)[:700]] += np.linspace(0, 500, 700)  # the largest values of all
    if missing == "most" or n_known == 0:
        x[sampled_rows(n)] = np.inf
    elif missing != "none":
        x[hidden_rows(n)[800:803] if missing == "hidden" else rng.random(n) < 0.1] = np.inf
    of, level, sides = (np.array(a, dtype=np.int32) for a in ([0, 0], [-1, -1], [1, -1]))
    encoded = core.encode_levels(as_matrix(np.where(np.isinf(x), np.nan, x)[:, None]), of, level, sides)
    assert encoded.n_groups == 1
    for j, values in enumerate((x, np.where(np.isinf(x), -np.inf, x))):
        begin, n_bins, default = encoded.slot_begin[j], encoded.n_bins[j], encoded.default_bin[j]
        at = encoded.codes[:, 0] + encoded.group_begin[0] - begin
        bins = np.where(at < n_bins - (default >= 0), at + (default >= 0), default)
        here = slice(encoded.value_begin[j], encoded.value_begin[j] + n_bins)
        low, high = encoded.low[here], encoded.high[here]
        for b in range(n_bins):
            assert (values[bins == b].min(), values[bins == b].max()) == (low[b], high[b])
        assert (high[:-1] < low[1:]).all()
        assert encoded.exact[j] == bool((low == high).all())
        assert (np.isinf(low) == np.isinf(high)).all()
