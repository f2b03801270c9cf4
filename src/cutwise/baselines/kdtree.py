"""KDTree: halves of the widest column, labeled afterwards; a partition that never looks at clusters."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cutwise._docs import fill_doc
from cutwise.baselines.base import Baseline, Task, finish_tree, label_by_surrogate_cost
from cutwise.table.intake import check_integer
from cutwise.tree.growing import GrowingTree, GrownTree
from cutwise.tree.provider import MemoryProvider
from cutwise.tree.threshold_tree import NodeTest


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class KDTree(Baseline):
    """Cuts the column of highest variance at its median, and labels the leaves by surrogate cost.

    A node is cut while both halves can hold ``leaf_size`` rows, the largest node first. Where equal values make a half
    impossible, the cut nearest to it is taken (the lower of two). Each leaf then becomes part of the reference cluster
    whose center serves its rows at the lowest cost. Variances are those of the columns that are cut.

    Parameters
    ----------
    {n_clusters}
    max_leaves : int, default=None
        Number of leaves at most, at least ``n_clusters``. None means ``n_clusters``.
    leaf_size : int, default=None
        Rows that a leaf should hold at least. None means rows // ``max_leaves``: halving then ends at about as many
        leaves as the largest power of two within ``max_leaves``.
    {reference, preprocessor, n_init, random_state, n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_, cluster_centers_, cost_, surrogate_cost_, cost_ratio_, total_cost_, explained_}
    {reference_explained_, reference_, n_leaves_, classes_, preprocessor_, n_features_in_, cluster_names_}
    {feature_names_in_}

    References
    ----------
    Bentley (1975), *Multidimensional binary search trees used for associative searching*; used as in Frost, Moshkovitz,
    Rashtchian (2020), *ExKMC*, Appendix B.1.

    Examples
    --------
    >>> from cutwise.baselines import KDTree
    >>> KDTree(2, random_state=0).fit([[1, 0], [2, 0], [7, 0], [9, 1]]).tree_.threshold[0].item()
    4.0
    """

    leaf_size: int | None = None

    def _check_own_parameters(self, n_clusters: int, max_leaves: int) -> None:
        if self.leaf_size is not None:
            check_integer("leaf_size", self.leaf_size, minimum=1)

    def _grow_task(self, task: Task) -> GrownTree:
        provider = MemoryProvider(task.rows.encoded)
        tree = GrowingTree(provider)
        total = int(task.weights.sum())
        leaf_size = max(1, total // task.max_leaves) if self.leaf_size is None else self.leaf_size
        largest = [(-total, 0)]
        n_leaves = 1
        while n_leaves < task.max_leaves and largest:
            weight, node = heapq.heappop(largest)
            if -weight < 2 * leaf_size:
                break
            rows = provider.rows(node)
            found = median_cut(task.values[rows], task.weights[rows])
            if found is None:
                continue
            left, right = tree.split(node, NodeTest(*found))
            n_leaves += 1
            for child in (left, right):
                heapq.heappush(largest, (-int(task.weights[provider.rows(child)].sum()), child))
        label_by_surrogate_cost(tree, task)
        return finish_tree(tree)


def median_cut(values: npt.NDArray[np.float64], weights: npt.NDArray[np.int64]) -> tuple[int, float] | None:
    """The column of highest variance, and the value there whose rows and those below are nearest to half of all.

    ``values`` (m, d) float64. ``weights`` (m,) int64. Returns ``feature``, ``cut``: the lowest column of highest
    variance; ``cut`` is a value of it, not the largest. None when all rows are equal.
    """
    low, high = values.min(axis=0), values.max(axis=0)
    if (low == high).all():
        return None
    centered = values - values[0]  # a common offset would cost digits
    centered -= np.average(centered, axis=0, weights=weights)
    variance = np.where(low < high, weights @ centered**2, -1.0)
    feature = int(variance.argmax())
    distinct, code = np.unique(values[:, feature], return_inverse=True)
    at_most = np.cumsum(np.bincount(code, weights=weights))
    return feature, float(distinct[np.abs(2 * at_most[:-1] - at_most[-1]).argmin()])
