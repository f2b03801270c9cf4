"""Counting distinct rows, and stopping as soon as there are enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["count_distinct_rows"]

Rows: TypeAlias = "npt.NDArray[np.generic] | sparse.csr_array"

# Values hashed together; a few temporaries of this size stay in the cache.
_BLOCK = 1 << 17


def count_distinct_rows(values: Rows, limit: int, weights: npt.NDArray[np.float64] | None = None) -> int:
    """The number of distinct rows, as far as ``limit``.

    Parameters
    ----------
    values : ndarray or csr_array of shape (n_rows, n_columns)
        Finite numbers, compared as float64, so 0.0 equals -0.0; a ``csr_array`` in canonical form.
    limit : int
        Counting stops once this many have been seen.
    weights : ndarray of shape (n_rows,), float64, optional
        Rows of weight 0 are not counted.

    Returns
    -------
    count : int
        Exact when it is below ``limit``, else ``limit``.

    Notes
    -----
    A strided sample settles the usual case of many rows and a small limit. Otherwise every row is hashed, and rows of
    one hash are compared value by value, so that two distinct rows are never counted as one.
    """
    if limit <= 0:
        return 0
    seen = _Seen(values)
    for rows in _row_blocks(values.shape, limit, weights):
        if seen.add(rows) >= limit:
            return limit
    return seen.count


class _Seen:
    """The distinct rows met so far: one representative each, found by hash."""

    def __init__(self, values: Rows) -> None:
        self.values = values
        self.count = 0
        self.hashes = np.empty(0, dtype=np.uint64)  # sorted
        self.representatives = np.empty(0, dtype=np.intp)  # row numbers, in the order of hashes
        self.collided: set[bytes] = set()  # rows that differ from the representative of their hash

    def add(self, rows: npt.NDArray[np.intp]) -> int:
        """Counts these rows too and gives the new number of distinct rows."""
        block = _block(self.values, rows)
        hashes, first, inverse = np.unique(_hash_rows(block), return_index=True, return_inverse=True)
        place = np.searchsorted(self.hashes, hashes)
        known = np.zeros(len(hashes), dtype=np.bool_)
        inside = place < len(self.hashes)
        known[inside] = self.hashes[place[inside]] == hashes[inside]
        representatives = rows[first]
        representatives[known] = self.representatives[place[known]]
        self.hashes = np.insert(self.hashes, place[~known], hashes[~known])
        self.representatives = np.insert(self.representatives, place[~known], representatives[~known])
        self.count += int(np.count_nonzero(~known))
        differs = _rows_differ(block, _block(self.values, representatives[inverse.reshape(-1)]))
        for i in np.flatnonzero(differs):
            row = _row_bytes(block, int(i))
            if row not in self.collided:
                self.collided.add(row)
                self.count += 1
        return self.count


def _row_blocks(
    shape: tuple[int, ...], limit: int, weights: npt.NDArray[np.float64] | None
) -> Iterator[npt.NDArray[np.intp]]:
    """Row numbers in the order they are looked at: a strided sample, then all of them in blocks."""
    rows = np.arange(shape[0]) if weights is None else np.flatnonzero(weights > 0)
    step = max(1, _BLOCK // max(1, shape[1]))
    # Twice as many rows as are wanted are usually enough, unless duplicates abound.
    sample = rows[:: max(1, len(rows) // max(64, 2 * limit))]
    for start in range(0, len(sample), step):
        yield sample[start : start + step]
    if len(sample) < len(rows):
        for start in range(0, len(rows), step):
            yield rows[start : start + step]


def _block(values: Rows, rows: npt.NDArray[np.intp]) -> Rows:
    """Some rows as float64 without negative zeros."""
    if isinstance(values, sparse.csr_array):
        return values[rows].astype(np.float64)
    return values[rows].astype(np.float64) + 0.0


def _hash_rows(block: Rows) -> npt.NDArray[np.uint64]:
    """A 64-bit hash a row: the sum of its mixed (column, value) pairs, modulo 2**64."""
    if isinstance(block, sparse.csr_array):
        mixed = _mix(block.data.view(np.uint64), block.indices)
        running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        hashes: npt.NDArray[np.uint64] = running[block.indptr[1:]] - running[block.indptr[:-1]]
    else:
        hashes = _mix(block.view(np.uint64), np.arange(block.shape[1])).sum(axis=1, dtype=np.uint64)
    return hashes


def _mix(bits: npt.NDArray[np.uint64], columns: npt.NDArray[np.integer]) -> npt.NDArray[np.uint64]:
    """The finalizer of splitmix64 over a value's bits, shifted by a constant of its column."""
    mixed = bits + (columns.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _rows_differ(left: Rows, right: Rows) -> npt.NDArray[np.bool_]:
    """Which rows of two blocks of one shape differ."""
    if isinstance(left, sparse.csr_array):
        differs: npt.NDArray[np.bool_] = np.diff((left != right).tocsr().indptr) > 0
    else:
        differs = (left != right).any(axis=1)
    return differs


def _row_bytes(block: Rows, row: int) -> bytes:
    """A key equal for equal rows only."""
    if isinstance(block, sparse.csr_array):
        stored = slice(block.indptr[row], block.indptr[row + 1])
        key: bytes = block.indices[stored].tobytes() + block.data[stored].tobytes()
    else:
        key = block[row].tobytes()
    return key
