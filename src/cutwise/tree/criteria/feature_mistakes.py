"""Kernel IMM's criterion: fewest rows separated from their centers by a cut of a surrogate feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cutwise import core
from cutwise.core import Flags, Int32
from cutwise.tree.provider import (
    Features,
    GrowthProblem,
    LabelPayload,
    MemoryProvider,
    SeparatingCut,
    SeparationCriterion,
    SeparationNode,
)
from cutwise.tree.threshold_tree import NodeTest

_FEATURE_BYTES = 256 * 2**20
"""Up to this size the features of all columns are kept; for wider tables they are formed again in every node."""


class FeatureMistakeCriterion(SeparationCriterion):
    """Fewest rows separated from their centers, in a surrogate feature.

    A center's coordinate in a feature is the feature's mean over its cluster's rows. A cut lies half way between two
    neighboring values of rows that are not mistakes yet, and tests the interval of the feature's column that
    corresponds to it. If no such cut has centers on both sides, centers between two values are separated at their own
    coordinates; if that fails too, as for clusters without rows in the node, the columns are cut between the clusters'
    means, as in plain IMM.

    ``problem``: with ``features``. Among equals the lowest column, feature and level win. With ``cuts="threshold"``
    only cuts that are a threshold on their column are made.

    Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*, Algorithm 1.
    """

    def __init__(self, problem: GrowthProblem) -> None:
        spec, k = problem.spec, problem.n_clusters
        assert spec.features is not None
        self._mistakes = FeatureMistakes(k, spec.features, one_sided=spec.cuts != "interval")
        # A cluster without rows has no center.
        clusters = np.flatnonzero(problem.provider.totals(0, LabelPayload(k))).astype(np.int32)
        super().__init__(problem.provider, self._mistakes, clusters)

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`."""
        return self._provider.search(node.number, FewestFeatureMistakes(self._mistakes, node))


@dataclass(frozen=True, eq=False)
class FeatureMistakes:
    """Weights of rows by cluster, of k, for rows whose cluster survives in their node, by surrogate features.

    ``one_sided``: whether all cuts must be thresholds.
    """

    k: int
    features: Features
    one_sided: bool

    def in_memory(self, memory: MemoryProvider) -> FeatureMistakeRows:
        """See :class:`cutwise.tree.provider.Separation`."""
        return FeatureMistakeRows(memory, self)


@dataclass(frozen=True, eq=False)
class FewestFeatureMistakes:
    """The cut that separates the fewest rows from their centers; None if no cut has centers on each side."""

    mistakes: FeatureMistakes
    node: SeparationNode

    def among(self, memory: MemoryProvider, rows: Int32) -> SeparatingCut | None:
        """See :class:`cutwise.tree.provider.Search`."""
        return memory.state_of(self.mistakes).fewest(self.node, rows)


class FeatureMistakeRows:
    """Rows in memory with their clusters (-1 for mistakes), and the features of the loaded columns."""

    def __init__(self, memory: MemoryProvider, mistakes: FeatureMistakes) -> None:
        labels, weights, k, n_jobs = memory.labels, memory.weights, mistakes.k, memory.n_jobs
        self._memory, self._mistakes, self._cluster = memory, mistakes, labels.copy()
        self._features = core.feature_table(memory.ranks, labels, weights, k, n_jobs)
        self._means, _ = core.cluster_means(memory.table.matrix, labels, k, weights, n_jobs)
        self._runs, self._loaded = self._run_up()
        self._already_mistaken: dict[int, Int32] = {}

    def fewest(self, node: SeparationNode, rows: Int32) -> SeparatingCut | None:
        """See :class:`FewestFeatureMistakes`."""
        memory = self._memory
        for any_level in (False, True):
            found = []
            for run in range(len(self._runs)):
                self._load(run)
                best_of_run = core.fewest_feature_mistakes(
                    self._features, rows, self._cluster, memory.weights, node.survivors, self._mistakes.one_sided,
                    any_level, memory.n_jobs,
                )  # fmt: skip
                if best_of_run is not None:
                    found.append(best_of_run)
            if found:
                mistakes, column, _, lower, upper, left = min(found, key=lambda cut: cut[:2])
                goes_left = np.isin(node.survivors, left)
                return SeparatingCut(NodeTest(column, upper, lower), goes_left, mistakes=mistakes)
        return self._cut_between_means(node, rows)

    def follow(self, node: SeparationNode | None, children: Sequence[SeparationNode]) -> None:
        """See :class:`cutwise.tree.provider.Provider`."""
        if node is None:
            return
        for child in children:
            rows = self._memory.rows(child.number)
            mistaken, already = core.mistaken_rows(rows, self._cluster, child.survivors, self._mistakes.k)
            self._already_mistaken[child.number] = already
            self._cluster[mistaken] = -1

    def _run_up(self) -> tuple[list[range], int]:
        """Divide the columns into runs whose features fit in memory together: a single run except for wide tables."""
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
        """Load the features of one run of columns, and drop those of the loaded run."""
        if run == self._loaded:
            return
        for column in self._runs[self._loaded]:
            self._features.drop_features(column)
        for column in self._runs[run]:
            self._form(column)
        self._loaded = run

    def _form(self, column: int) -> int:
        """Form the features of a column, and return their memory in bytes."""
        family = self._mistakes.features
        own = family[column] if isinstance(family, Sequence) else family
        values = own(self._features.values(column), self._features.is_exact(column))
        self._features.add_features(column, np.ascontiguousarray(values, dtype=np.float64))
        return int(values.nbytes)

    def _cut_between_means(self, node: SeparationNode, rows: Int32) -> SeparatingCut | None:
        memory, table = self._memory, self._memory.table
        totals = np.zeros((self._mistakes.k, 1), dtype=np.int64)
        memory.add_by_cluster(rows, self._cluster, None, totals)
        already_mistaken = self._already_mistaken.get(node.number, np.empty(0, dtype=np.int32))
        mistakes, columns, thresholds = core.fewest_mistakes(
            table.encoded, table.matrix, rows, self._cluster, memory.weights, already_mistaken, None, totals,
            self._means, node.survivors, None, memory.n_jobs,
        )  # fmt: skip
        if mistakes < 0:
            return None
        return SeparatingCut.at(int(columns[0]), float(thresholds[0]), self._means, node.survivors, mistakes)
