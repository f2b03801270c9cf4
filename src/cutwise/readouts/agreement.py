"""How far two partitions of the same rows agree, whatever their clusters are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]


def contingency(first: npt.NDArray[Any], second: npt.NDArray[Any], weights: npt.NDArray[Any] | None = None) -> Float64:
    """Weight of the rows for each pair of clusters.

    ``first``, ``second`` (n_rows,): codes from 0 on. ``weights`` (n_rows,). Returns ``table`` (n_first, n_second)
    float64.
    """
    n_second = int(second.max(initial=-1)) + 1
    n_first = int(first.max(initial=-1)) + 1
    counts = np.bincount(first.astype(np.int64) * n_second + second, weights, n_first * n_second)
    return counts.reshape(n_first, n_second).astype(np.float64, copy=False)


def adjusted_rand(table: Float64) -> float:
    """The adjusted Rand index: 1 for equal partitions, about 0 for independent ones.

    ``table`` (n_first, n_second) float64: see ``contingency``; a weight counts as a repeated row.

    Hubert, Arabie (1985), *Comparing partitions*.
    """

    def pairs(counts: Float64) -> float:
        return float((counts * (counts - 1) / 2).sum())

    together, rows, columns = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    every = pairs(np.array([table.sum()]))
    expected = rows * columns / every if every > 0 else 0.0
    highest = (rows + columns) / 2
    # Both partitions are all rows together, or all rows apart: there is nothing to disagree on.
    return 1.0 if highest == expected else (together - expected) / (highest - expected)


def normalized_information(table: Float64) -> float:
    """Mutual information over the mean of the two entropies: from 0 for independent partitions to 1 for equal ones.

    ``table`` (n_first, n_second) float64: see ``contingency``.
    """
    share = table / table.sum()
    rows, columns = share.sum(axis=1), share.sum(axis=0)

    def entropy(shares: Float64) -> float:
        present = shares[shares > 0]
        return float(-(present * np.log(present)).sum())

    mean = (entropy(rows) + entropy(columns)) / 2
    if mean == 0.0:
        return 1.0
    present = share > 0
    mutual = float((share[present] * np.log(share[present] / np.outer(rows, columns)[present])).sum())
    return min(max(mutual / mean, 0.0), 1.0)
