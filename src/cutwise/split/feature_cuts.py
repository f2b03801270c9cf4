"""Kernel IMM's criterion: fewest rows parted from their centers by a cut of a surrogate feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.reference import FixedCosts
from cutwise.table import EncodedTable

from .features import SurrogateFeatures
from .separation import SeparatingCut, SeparationNode

__all__ = ["FeatureMistakeCriterion"]

Int32 = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]

_FEATURE_BYTES = 256 * 2**20
"""Features of all columns are kept up to this size; those of wider tables are formed again for every node."""


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
        ranks: core.Ranks,
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
        self._features = core.feature_table(ranks, labels, table.weights, k, n_jobs)
        self._k = k
        self._means, _ = core.cluster_means(table.matrix, labels, k, table.weights, n_jobs)
        self._family = features
        self._runs, self._loaded = self._run_up()

    def start(self, root: SeparationNode) -> None:
        """See :class:`SeparationCriterion`: the root's rows are held by their clusters from the beginning."""

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        for any_level in (False, True):
            found = []
            for run in range(len(self._runs)):
                self._load(run)
                best_of_run = core.fewest_feature_mistakes(
                    self._features, node.rows, self._cluster, self._table.weights, node.survivors, self._excess,
                    self._one_sided, any_level, self._n_jobs,
                )  # fmt: skip
                if best_of_run is not None:
                    found.append(best_of_run)
            if found:
                mistakes, _, column, _, lower, upper, left = min(found, key=lambda cut: cut[:3])
                return SeparatingCut(column, upper, np.isin(node.survivors, left), None, mistakes, lower)
        return self._cut_between_means(node)

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """See :class:`SeparationCriterion`: rows parted from their centers are dropped."""
        for child in children:
            parted, child.uncounted = core.parted_rows(child.rows, self._cluster, child.survivors, self._k)
            self._cluster[parted] = -1

    def _run_up(self) -> tuple[list[range], int]:
        """Divide the columns into runs whose features fit in memory together: one run in all but wide tables."""
        runs, begin, used = [], 0, 0
        for column in range(self._features.n_cols):
            nbytes = self._form(column)
            if used and used + nbytes > _FEATURE_BYTES:
                for earlier in range(begin, column):
                    self._features.drop_features(earlier)
                runs.append(range(begin, column))
                begin, used = column, 0
            used += nbytes
        runs.append(range(begin, self._features.n_cols))
        return runs, len(runs) - 1

    def _load(self, run: int) -> None:
        """Have the features of one run of columns, and of no other."""
        if run == self._loaded:
            return
        for column in self._runs[self._loaded]:
            self._features.drop_features(column)
        for column in self._runs[run]:
            self._form(column)
        self._loaded = run

    def _form(self, column: int) -> int:
        """Form the features of a column; the memory they take."""
        own = self._family[column] if isinstance(self._family, Sequence) else self._family
        values = own.of_column(self._features.values(column), self._features.is_exact(column))
        self._features.add_features(column, np.ascontiguousarray(values, dtype=np.float64))
        return int(values.nbytes)

    def _cut_between_means(self, node: SeparationNode) -> SeparatingCut | None:
        table = self._table
        totals = np.zeros((self._k, 1), dtype=np.int64)
        core.add_to_cluster_histogram(
            table.encoded, None, node.rows, self._cluster, table.weights, None, None, totals, 1, self._n_jobs
        )
        mistakes, columns, thresholds = core.fewest_mistakes(
            table.encoded, table.matrix, node.rows, self._cluster, table.weights, node.uncounted, None, totals,
            self._means, node.survivors, core.ColumnCuts(), self._n_jobs,
        )  # fmt: skip
        if mistakes < 0:
            return None
        return SeparatingCut.at(int(columns[0]), float(thresholds[0]), self._means, node.survivors, mistakes)
