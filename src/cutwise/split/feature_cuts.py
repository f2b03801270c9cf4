"""Kernel IMM's criterion: fewest rows parted from their centers by a cut of a surrogate feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cutwise.core import intervals, kernels, searches
from cutwise.reference import FixedCosts
from cutwise.table import EncodedTable

from .features import SurrogateFeatures
from .separation import SeparatingCut, SeparationNode

__all__ = ["FeatureMistakeCriterion"]

Int32 = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]


class FeatureMistakeCriterion:
    """Fewest rows parted from their centers, both seen in a surrogate feature.

    A center's coordinate in a feature is the feature's mean over its cluster's rows. A cut lies half way between two
    neighboring values of the rows that a center of the node still holds, and is tested on the feature's column, as the
    interval that it is there. Where no such cut has centers on both sides, centers between two values are parted at
    their own coordinates; where that fails too, as for clusters without rows in the node, the columns are cut between
    the clusters' means, as plain IMM does.

    Parameters
    ----------
    table : EncodedTable
    ranks : Ranks
        Of the table.
    labels : ndarray of shape (m,), int32
        Reference cluster of every row, 0 to k - 1.
    k : int
    features : SurrogateFeatures, or a sequence of one for each column
    costs : callable or None
        Gives the fixed-point costs that settle ties. None: the lowest column, feature and level win.
    one_sided : bool
        Only cuts that are a threshold on their column.

    References
    ----------
    Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*, Algorithm 1.
    """

    def __init__(
        self,
        table: EncodedTable,
        ranks: intervals.Ranks,
        labels: Int32,
        k: int,
        features: SurrogateFeatures | Sequence[SurrogateFeatures],
        costs: Callable[[], FixedCosts] | None,
        *,
        one_sided: bool = False,
        n_jobs: int = 1,
    ) -> None:
        self._table = table
        self._cluster = labels.copy()
        self._excess = None if costs is None else costs().excess
        self._one_sided = one_sided
        self._n_jobs = n_jobs
        self._features = intervals.feature_table(ranks, labels, table.weights, k, n_jobs)
        self._k = k
        self._means, _ = kernels.cluster_means(table.matrix, labels, k, table.weights, n_jobs)
        for column in range(self._features.n_cols):
            own = features[column] if isinstance(features, Sequence) else features
            of_column = own.of_column(self._features.values(column), self._features.is_exact(column))
            self._features.add_features(column, np.ascontiguousarray(of_column, dtype=np.float64))

    def start(self, root: SeparationNode) -> None:
        """See :class:`SeparationCriterion`: the root's rows are held by their clusters from the beginning."""

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        found = intervals.fewest_feature_mistakes(
            self._features, node.rows, self._cluster, self._table.weights, node.survivors, self._excess,
            self._one_sided, self._n_jobs,
        )  # fmt: skip
        if found is None:
            return self._cut_between_means(node)
        mistakes, column, _, lower, upper, left = found
        return SeparatingCut(column, upper, np.isin(node.survivors, left), None, mistakes, lower)

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """See :class:`SeparationCriterion`: rows parted from their centers are dropped."""
        for child in children:
            parted, child.uncounted = searches.parted_rows(child.rows, self._cluster, child.survivors, self._k)
            self._cluster[parted] = -1

    def _cut_between_means(self, node: SeparationNode) -> SeparatingCut | None:
        table = self._table
        totals = np.zeros((self._k, 1), dtype=np.int64)
        searches.add_to_cluster_histogram(
            table.encoded, None, node.rows, self._cluster, table.weights, None, None, totals, 1, self._n_jobs
        )
        mistakes, columns, thresholds = searches.fewest_mistakes(
            table.encoded, table.matrix, node.rows, self._cluster, table.weights, node.uncounted, None, totals,
            self._means, node.survivors, searches.ColumnCuts(), self._n_jobs,
        )  # fmt: skip
        if mistakes < 0:
            return None
        return SeparatingCut.at(int(columns[0]), float(thresholds[0]), self._means, node.survivors, mistakes)
