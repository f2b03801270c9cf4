"""The definition of an encoding, in plain NumPy: decode slots, and hold the bins against the values."""

from __future__ import annotations

import numpy as np

from cutwise import core
from cutwise.table.table import as_matrix


def decode(encoded, values):
    """The bin of every value, (n_rows, n_cols), from the slots, the columns' fields and which values are stored."""
    n_slots = encoded.n_bins - (encoded.default_bin >= 0)
    owner = np.full(encoded.n_slots, -1)
    for f, (first, n) in enumerate(zip(encoded.slot_begin, n_slots, strict=True)):
        assert (owner[first : first + n] == -1).all(), "slots of two columns overlap"
        owner[first : first + n] = f
    if encoded.is_sparse:
        rows, columns = np.nonzero(values)
        slots = encoded.slot_begin[columns] + encoded.codes.ravel().astype(np.int64)
    else:
        rows = np.repeat(np.arange(encoded.n_rows), encoded.n_groups)
        slots = (encoded.group_begin + encoded.codes.astype(np.int64)).ravel()
    assert (np.diff(slots)[np.diff(rows) == 0] > 0).all(), "the slots of a row increase"
    f = owner[slots]
    rows, slots, f = rows[f >= 0], slots[f >= 0], f[f >= 0]  # else: "all at their default"
    b = slots - encoded.slot_begin[f]
    bins = np.repeat(encoded.default_bin[None, :].astype(np.int64), encoded.n_rows, axis=0)
    bins[rows, f] = b + ((encoded.default_bin[f] >= 0) & (b >= encoded.default_bin[f]))
    return bins


def check(values, encoded):
    """The whole definition of an encoding of ``values``."""
    values = values.astype(np.float64)
    n, d = values.shape
    assert (encoded.n_rows, encoded.n_cols) == (n, d)
    bins = decode(encoded, values)
    assert (bins >= 0).all()
    assert (bins < encoded.n_bins).all()
    assert encoded.low.size == encoded.high.size == encoded.n_bins.sum()
    for f in range(d):
        column = values[:, f]
        here = slice(encoded.value_begin[f], encoded.value_begin[f] + encoded.n_bins[f])
        low, high = encoded.low[here], encoded.high[here]
        distinct = np.unique(column)
        few = 256
        if encoded.is_sparse:  # where values are few they have bins of their own, as long as these are not many
            few = np.clip(np.count_nonzero(column) // 128, np.clip(np.count_nonzero(column) // 8, 4, 16), 256)
        assert encoded.exact[f] == (distinct.size <= few)
        assert low.size <= 256
        if encoded.exact[f]:
            np.testing.assert_array_equal(low, distinct + 0.0)
            np.testing.assert_array_equal(high, distinct + 0.0)
            np.testing.assert_array_equal(low[bins[:, f]], column)
        else:
            assert (low <= high).all()
            assert (high[:-1] < low[1:]).all()
            smallest, largest = np.full(low.size, np.inf), np.full(low.size, -np.inf)
            np.minimum.at(smallest, bins[:, f], column)
            np.maximum.at(largest, bins[:, f], column)
            np.testing.assert_array_equal(low, smallest)  # an empty bin would have no smallest value
            np.testing.assert_array_equal(high, largest)
        assert not np.signbit(low[low == 0]).any()
        assert not np.signbit(high[high == 0]).any()
    if encoded.is_sparse:
        np.testing.assert_array_equal(encoded.column_group, np.full(d, -1))
        for f in range(d):
            if (values[:, f] == 0).any():
                assert encoded.high[encoded.value_begin[f] + encoded.default_bin[f]] == 0
            else:
                assert encoded.default_bin[f] == -1


def same(a, b):
    """Whether two encodings are the same bits."""
    for name in ("low", "high", "codes", "group_begin", "column_group", "slot_begin", "n_bins"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("default_bin", "value_begin", "exact"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.n_slots == b.n_slots


def encode(values, **options):
    return core.encode(as_matrix(values), **options)


def sampled_rows(n_rows):
    """The rows that bins are planned on, so that a test can hide values from the plan."""
    n_sampled = n_rows if n_rows <= 4096 else min(max(n_rows // 16, 4096), 8192)
    i = np.arange(n_sampled, dtype=np.uint64)
    first = i * np.uint64(n_rows) // np.uint64(n_sampled)
    end = (i + np.uint64(1)) * np.uint64(n_rows) // np.uint64(n_sampled)
    h = i * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(32)
    h *= np.uint64(0xD6E8FEB86659FD93)
    h ^= h >> np.uint64(32)
    return (first + h % (end - first)).astype(np.int64)
