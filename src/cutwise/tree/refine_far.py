"""Clusters far away from all others: a search cuts them off first, since they would spoil its numerical scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int32, Int64
from cutwise.reference.objective import KMEANS
from cutwise.table.table import as_matrix

from .refine_sample import COVARIANCE_ROWS, DrawnRows, SearchProblem, select_columns

FAR, FAR_SHARE = 500.0, 0.02
"""A cluster is far if its squared distance to the others is at least FAR times the average cost of a row, and at least
the average cost times FAR_SHARE of the total weight."""


class FarCut(NamedTuple):
    """A cut that separates one cluster from all remaining ones, and whether this cluster is above it."""

    column: int
    threshold: float
    is_above: bool


@np.errstate(over="ignore")  # a distance beyond float64 is far
def cut_off_far(
    problem: SearchProblem, has_rows: npt.NDArray[np.bool_], drawn: DrawnRows
) -> tuple[list[FarCut], Int64, DrawnRows]:
    """Cut single clusters off, the farthest first; return the cuts, the remaining clusters and their rows.

    ``has_rows`` (k,): clusters without rows are not cut off. ``drawn``: the rows to use.
    """
    columns = select_columns(problem.centers, np.empty(0, dtype=np.int32))
    centers, coordinates = np.ascontiguousarray(problem.centers[:, columns]), problem.coordinates

    def nearest(drawn: DrawnRows) -> tuple[Int32, float]:
        rows = as_matrix(core.gather_rows(problem.metric, drawn.first, columns))
        labels, own = KMEANS.assign(rows, centers, problem.n_jobs)[:2]
        return labels, float(own.mean()) * max(FAR, FAR_SHARE * problem.total_weight)

    cuts, left = list[FarCut](), np.arange(len(centers))
    labels, least = nearest(drawn.begin(COVARIANCE_ROWS))  # few rows suffice almost always
    while len(left) > 1:
        far = left[_farthest(centers[left])]
        others = left[left != far]
        apart = ((centers[others] - centers[far]) ** 2).sum(axis=1).min()
        if apart > least and not cuts:
            labels, least = nearest(drawn)
        if not (apart > least and has_rows[far]):
            break
        cut = _cut_between(coordinates[far], coordinates[others])
        values = core.gather_rows(problem.table.matrix, drawn.first, np.array([cut.column]))[:, 0]
        is_near = labels != far
        if not np.array_equal((values > cut.threshold) != cut.is_above, is_near):  # also if there is no gap
            break
        cuts.append(cut)
        left, labels, drawn = others, labels[is_near], drawn.part(is_near)
    return cuts, left, drawn


def _farthest(centers: Float64) -> int:
    """The center with the largest distance to the next one along any single column."""
    along = np.sort(centers, axis=0)
    is_top, column = divmod(int(np.argmax([along[1] - along[0], along[-1] - along[-2]])), centers.shape[1])
    return int(np.argsort(centers[:, column])[-is_top])


def _cut_between(own: Float64, others: Float64) -> FarCut:
    """Cut in the middle of the widest gap, relative to the column's extent; own (d,), others (k, d)."""
    low, high = others.min(axis=0), others.max(axis=0)
    reach = np.maximum(high, own) - np.minimum(low, own)
    gaps = np.maximum(low - own, own - high)
    column = int(np.argmax(gaps / np.maximum(reach, np.finfo(np.float64).tiny)))
    is_above = bool(own[column] > high[column])
    threshold = own[column] + ((high if is_above else low)[column] - own[column]) / 2
    return FarCut(column, float(threshold), is_above)
