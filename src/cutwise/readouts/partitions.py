"""What a partition costs, and how far two partitions of the same rows agree, whatever their clusters are called.

Costs are computed so that an offset common to all rows takes nothing away from the result.

Rows are always compared with their own cluster's mean, median or center, never expanded into ``|x|^2 - 2 x.c + |c|^2``:
on unix timestamps the expansion has no correct digit left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int32
from cutwise.reference.kernel_centers import cost_or_zero
from cutwise.reference.objective import Objective
from cutwise.table.table import Table

# Values held as float64 at once.
_BLOCK = 1 << 21


def own_cost(table: Table, labels: Int32, objective: Objective, weights: Float64 | None = None) -> float:
    """Cost of a partition, each cluster with its own center: its weighted mean, or coordinate-wise median.

    ``table``: rows in the space to measure in. ``labels`` (n_rows,) int32: cluster codes; rows with a negative one are
    left out. ``objective``: k-means or k-medians. ``weights`` (n_rows,) float64: not negative; 1 for every row when
    left out. Returns ``cost``: independent of the order of the rows; infinite where squares or sums are beyond float64.
    """
    centers, _ = objective.centers(table.matrix, labels, int(labels.max(initial=0)) + 1, weights, 1)
    return label_cost(table, labels, centers, objective, weights)


def label_cost(
    table: Table, labels: Int32, centers: Float64, objective: Objective, weights: Float64 | None = None
) -> float:
    """Cost of a partition when every row is served by the given center of its cluster.

    ``table``, ``labels``, ``objective``, ``weights``: as in ``own_cost``. ``centers`` (n_clusters, n_columns) float64:
    not read where no row has the label.
    """
    if weights is not None:
        labels = np.where(weights > 0, labels, np.int32(-1))  # such rows may have no center, and cost nothing
    costs = objective.label_costs(table.matrix, centers, labels)
    return core.exact_sum(costs, weights) if np.isfinite(costs.max(initial=0.0)) else np.inf


def kernel_cost(kernel: npt.NDArray[Any], labels: Int32, weights: Float64 | None = None) -> float:
    """Sum of squared distances to each cluster's mean in the feature space of a kernel.

    ``kernel`` (n_rows, n_rows): symmetric; entry ``[i, j]`` is the inner product of rows ``i`` and ``j`` in feature
    space. ``labels``, ``weights``: as in ``own_cost``. Returns ``cost``: ``sum_i w_i K_ii - sum_c (sum_ij w_i w_j K_ij)
    / W_c``, the inner sums over the rows of cluster ``c``, and ``W_c`` their weight; 0 where that is only rounding.
    """
    diagonal = np.diagonal(kernel)
    total = own = 0.0
    for _, rows, given in _clusters(labels, weights):
        w = np.ones(len(rows)) if given is None else given
        step = max(1, _BLOCK // len(rows))
        within = 0.0
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            block = kernel[np.ix_(rows[part], rows)].astype(np.float64)
            within += float(w[part] @ (block @ w))
        total += float(w @ diagonal[rows].astype(np.float64))
        own += within / float(w.sum())
    return cost_or_zero(total - own, total)


def _clusters(labels: Int32, weights: Float64 | None) -> Iterator[tuple[int, npt.NDArray[np.intp], Float64 | None]]:
    """Go through the clusters in order of their codes: code, its rows of positive weight, their weights."""
    order = np.argsort(labels, kind="stable")
    if weights is not None:
        order = order[weights[order] > 0]
    codes, first = np.unique(labels[order], return_index=True)
    for code, rows in zip(codes.tolist(), np.split(order, first[1:]), strict=True):
        if code >= 0:
            yield code, rows, None if weights is None else weights[rows]


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
