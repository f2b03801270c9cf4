"""Kernel IMM's criterion: fewest rows separated from their centers by a cut of a surrogate feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.tree.node_test import NodeTest

from .base import GrowthProblem, SeparatingCut, SeparationNode
from .mistakes import drop_mistaken

__all__ = ["FeatureMistakeCriterion"]

Int32 = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]

_FEATURE_BYTES = 256 * 2**20
"""Features of all columns are kept up to this size; those of wider tables are formed again for every node."""


class FeatureMistakeCriterion:
    """Fewest rows separated from their centers, both seen in a surrogate feature.

    A center's coordinate in a feature is the feature's mean over its cluster's rows. A cut lies half way between two
    neighboring values of the rows that a center of the node still holds, and is tested on the feature's column, as the
    interval that it is there. Where no such cut has centers on both sides, centers between two values are parted at
    their own coordinates; where that fails too, as for clusters without rows in the node, the columns are cut between
    the clusters' means, as plain IMM does.

    ``problem``: with ``features``. Its costs settle ties where its ``ties`` are those of cost; else the lowest column,
    feature and level win. Without ``intervals`` only cuts that are a threshold on their column are made.

    Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*, Algorithm 1.
    """

    def __init__(self, problem: GrowthProblem) -> None:
        provider = problem.provider
        assert problem.features is not None
        self._provider = provider
        self._k = problem.n_clusters
        self._cluster = problem.labels.copy()
        self._excess = problem.fixed_costs.excess if problem.ties == "cost" else None
        self._one_sided = not problem.intervals
        self._features = core.feature_table(provider.ranks, problem.labels, provider.weights, self._k, provider.n_jobs)
        self._means, _ = core.cluster_means(
            provider.table.matrix, problem.labels, self._k, provider.weights, provider.n_jobs
        )
        self._family = problem.features
        self._runs, self._loaded = self._run_up()
        self.clusters = np.unique(problem.labels)  # one without rows has no center

    def start(self, root: SeparationNode) -> None:
        """See :class:`SeparationCriterion`: the root's rows are with their clusters from the beginning."""

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        provider = self._provider
        for any_level in (False, True):
            found = []
            for run in range(len(self._runs)):
                self._load(run)
                best_of_run = core.fewest_feature_mistakes(
                    self._features, provider.rows(node.number), self._cluster, provider.weights, node.survivors,
                    self._excess, self._one_sided, any_level, provider.n_jobs,
                )  # fmt: skip
                if best_of_run is not None:
                    found.append(best_of_run)
            if found:
                mistakes, _, column, _, lower, upper, left = min(found, key=lambda cut: cut[:3])
                goes_left = np.isin(node.survivors, left)
                return SeparatingCut(NodeTest(column, upper, lower), goes_left, mistakes=mistakes)
        return self._cut_between_means(node)

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """See :class:`SeparationCriterion`: rows separated from their centers are dropped."""
        for child in children:
            self._cluster[drop_mistaken(self._provider, self._cluster, child, self._k)] = -1

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
        provider = self._provider
        totals = np.zeros((self._k, 1), dtype=np.int64)
        provider.add_by_cluster(provider.rows(node.number), self._cluster, None, totals)
        mistakes, columns, thresholds = provider.search(
            core.fewest_mistakes, node.number, self._cluster, provider.weights, node.already_mistaken, None, totals,
            self._means, node.survivors, core.CutCache(), provider.n_jobs,
        )  # fmt: skip
        if mistakes < 0:
            return None
        return SeparatingCut.at(int(columns[0]), float(thresholds[0]), self._means, node.survivors, mistakes)
