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
from .threshold_tree import NodeTest

FAR, FAR_SHARE, GROUP_FAR = 500.0, 0.02, 2.0**14
"""A cluster is far if its squared distance to the others is at least FAR times the average cost of a row, and at least
the average cost times FAR_SHARE of the total weight. A group of clusters is far if the square of a gap is at least
GROUP_FAR times that: nearer ones share digits and bins without loss."""


class FarClusters(NamedTuple):
    """Clusters that a cut separates from all remaining ones, whether they are above it, and their rows."""

    cut: NodeTest
    is_above: bool
    clusters: Int64
    drawn: DrawnRows


@np.errstate(over="ignore")  # a distance beyond float64 is far
def cut_off_far(
    problem: SearchProblem, has_rows: npt.NDArray[np.bool_], drawn: DrawnRows, *, groups: bool
) -> tuple[list[FarClusters], Int64, DrawnRows]:
    """Cut single clusters off, the farthest first; also return the remaining clusters and their rows.

    ``has_rows`` (k,): clusters without rows are not cut off. ``drawn``: the rows to use. ``groups``: whether to cut off
    groups of clusters as well, if all of them have rows among these.
    """
    columns = select_columns(problem.centers, np.empty(0, dtype=np.int32))
    centers, limits = np.ascontiguousarray(problem.centers[:, columns]), problem.limits
    allowed = np.arange(problem.coordinates.shape[1])
    if limits is not None and limits.columns is not None:
        allowed = np.flatnonzero(limits.columns)
    coordinates = problem.coordinates[:, allowed]

    def nearest(drawn: DrawnRows) -> tuple[Int32, float]:
        rows = as_matrix(core.gather_rows(problem.metric, drawn.first, columns))
        labels, own = KMEANS.assign(rows, centers, problem.n_jobs)[:2]
        return labels, float(own.mean()) * max(FAR, FAR_SHARE * problem.total_weight)

    found, left = list[FarClusters](), np.arange(len(centers))
    if len(left) == 1:
        return found, left, drawn
    labels, least = nearest(drawn.begin(COVARIANCE_ROWS))  # few rows suffice almost always
    while len(left) > 1 and (is_far := _farthest(centers[left], least, groups)) is not None:
        if not found:
            labels, least = nearest(drawn)
            if (is_far := _farthest(centers[left], least, groups)) is None:
                break
        far, others = left[is_far], left[~is_far]
        if not (np.isin(far, labels).all() or (len(far) == 1 and has_rows[far[0]])):
            break
        column, threshold, is_above = _cut_between(coordinates[far], coordinates[others])
        cut = NodeTest(int(allowed[column]), threshold)
        values = core.gather_rows(problem.table.matrix, drawn.first, np.array([cut.feature]))[:, 0]
        is_near = ~np.isin(labels, far)
        # Also if there is no gap. Clusters without any rows need leaves among those of the others.
        if not is_near.any() or not np.array_equal((values > cut.threshold) != is_above, is_near):
            break
        found.append(FarClusters(cut, is_above, far, drawn.part(~is_near)))
        left, labels, drawn = others, labels[is_near], drawn.part(is_near)
    return found, left, drawn


def _farthest(centers: Float64, least: float, groups: bool) -> npt.NDArray[np.bool_] | None:
    """The cluster with the largest distance to the next one along any column, or all beyond the widest gap; if far."""
    along = np.sort(centers, axis=0)
    gaps = np.diff(along, axis=0)
    end, column = np.unravel_index(np.argmax(gaps[[0, -1]]), (2, centers.shape[1]))
    single: npt.NDArray[np.bool_] = np.arange(len(centers)) == np.argsort(centers[:, column])[-end]
    if ((centers[~single] - centers[single]) ** 2).sum(axis=1).min() > least:
        return single
    last, column = np.unravel_index(np.argmax(gaps), gaps.shape)
    is_beyond: npt.NDArray[np.bool_] = centers[:, column] > along[last, column]
    return is_beyond if groups and gaps[last, column] ** 2 > GROUP_FAR * least else None


def _cut_between(far: Float64, others: Float64) -> tuple[int, float, bool]:
    """The column of the widest gap in relation to its extent, its middle, and whether far (m, d) is above others."""
    ends = [(clusters.min(axis=0), clusters.max(axis=0)) for clusters in (far, others)]
    (far_low, far_high), (low, high) = ends
    reach = np.maximum(high, far_high) - np.minimum(low, far_low)
    gaps = np.maximum(low - far_high, far_low - high)
    column = int(np.argmax(gaps / np.maximum(reach, np.finfo(np.float64).tiny)))
    is_above = bool(far_low[column] > high[column])
    near, beyond = (high, far_low) if is_above else (low, far_high)
    return column, float(beyond[column] + (near[column] - beyond[column]) / 2), is_above
