"""Clusters far away from all others: a search cuts them off first, for they spoil the scale of all that it measures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int32, Int64
from cutwise.reference.objective import KMEANS
from cutwise.table.table import as_matrix

from .refine_sample import COVARIANCE_ROWS, DrawnRows, select_columns
from .threshold_tree import NodeTest

FAR, FAR_SHARE = 500.0, 0.02
"""Clusters are far apart where the square of their distance is so many times what a row costs in the mean, and so many
times what this share of all rows costs."""


class FarCut(NamedTuple):
    """A cut that parts one cluster from all that are left, and whether that one is above it."""

    test: NodeTest
    is_above: bool


@np.errstate(over="ignore")  # what is beyond float64 is far
def cut_off_far(
    matrix: core.Matrix,
    metric: core.Matrix,
    centers: Float64,
    coordinates: Float64,
    has_rows: npt.NDArray[np.bool_],
    drawn: DrawnRows,
    total_weight: int,
    n_jobs: int,
) -> tuple[list[FarCut], Int64, DrawnRows]:
    """Cut single clusters off, the farthest first, and give the cuts, the clusters that are left and their rows.

    ``matrix``, ``metric``: rows in the columns that are cut, and where distances are measured. ``centers`` (k, p),
    ``coordinates`` (k, d): of the clusters, there and there. ``has_rows`` (k,): a cluster without any is not cut off.
    ``drawn``: the rows to go by. ``total_weight``: of all rows.
    """
    columns = select_columns(centers, np.empty(0, dtype=np.int32))
    centers = np.ascontiguousarray(centers[:, columns])

    def nearest(drawn: DrawnRows) -> tuple[Int32, float]:
        rows = as_matrix(core.gather_rows(metric, drawn.first, columns))
        labels, own = KMEANS.assign(rows, centers, n_jobs)[:2]
        return labels, float(own.mean()) * max(FAR, FAR_SHARE * total_weight)

    cuts, left = list[FarCut](), np.arange(len(centers))
    labels, least = nearest(drawn.begin(COVARIANCE_ROWS))  # few rows tell almost always
    while len(left) > 1:
        far = left[_farthest(centers[left])]
        others = left[left != far]
        apart = ((centers[others] - centers[far]) ** 2).sum(axis=1).min()
        if apart > least and not cuts:
            labels, least = nearest(drawn)
        if not (apart > least and has_rows[far]):
            break
        cut = _cut_between(coordinates[far], coordinates[others])
        values = core.gather_rows(matrix, drawn.first, np.array([cut.test.feature]))[:, 0]
        is_near = labels != far
        if not np.array_equal((values > cut.test.threshold) != cut.is_above, is_near):  # also where there is no gap
            break
        cuts.append(cut)
        left, labels, drawn = others, labels[is_near], drawn.part(is_near)
    return cuts, left, drawn


def _farthest(centers: Float64) -> int:
    """The center that is farthest from the next one along any column."""
    along = np.sort(centers, axis=0)
    is_top, column = divmod(int(np.argmax([along[1] - along[0], along[-1] - along[-2]])), centers.shape[1])
    return int(np.argsort(centers[:, column])[-is_top])


def _cut_between(own: Float64, others: Float64) -> FarCut:
    """In the middle of the gap that is widest beside what the column holds; own (d,), others (k, d)."""
    low, high = others.min(axis=0), others.max(axis=0)
    reach = np.maximum(high, own) - np.minimum(low, own)
    gaps = np.maximum(low - own, own - high)
    column = int(np.argmax(gaps / np.maximum(reach, np.finfo(np.float64).tiny)))
    is_above = bool(own[column] > high[column])
    threshold = own[column] + ((high if is_above else low)[column] - own[column]) / 2
    return FarCut(NodeTest(column, float(threshold)), is_above)
