"""Fits of tables that are not in memory: the tree, the figures and the errors of the same rows in memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.exceptions import UnsupportedInputError
from cutwise.passes.provider import PassProvider
from cutwise.passes.rows import BatchedRows, Copies, PreparedRows
from cutwise.passes.sources import LazyTable, check_column_name
from cutwise.reference.objective import KMEANS, Objective, Reference, from_centers
from cutwise.reference.search import find_reference
from cutwise.table.intake import check_n_clusters, check_n_jobs
from cutwise.table.table import Table
from cutwise.tree.growing import GrownTree
from cutwise.tree.provider import GrowthProblem
from cutwise.tree.recipes import fewest_empty, grow
from cutwise.tree.threshold_tree import ThresholdTree

from .training import FitContext, MetricSpace, Stages, TrainingRows, TreeCosts, cost_around_mean, is_clusterer

Float64 = npt.NDArray[np.float64]

Int32 = npt.NDArray[np.int32]

Int64 = npt.NDArray[np.int64]


class SummedRows(TrainingRows):
    """All rows of a grown tree, one for each leaf and label: what follows growth finds the rows of one alike.

    ``tree``: grown from ``rows``, its leaves in the order in which ``leaf_weights`` (n_leaves, k) has them: the weight
    of their rows by label.
    """

    def __init__(self, rows: BatchedRows, tree: ThresholdTree, leaves: Int32, leaf_weights: Int64) -> None:
        self._rows, self._tree, self._leaves, self._by_label = rows, tree, leaves, leaf_weights
        first = rows.table(0, 1)
        fields = {
            "table": replace(first, library=rows.library),
            "metric": first,
            "sample_weight": leaf_weights.ravel().astype(np.float64),
            "weight_scale": 1.0,
            "n_jobs": 1,
            "same_columns": True,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def n_rows(self) -> int:
        """How many stand for all."""
        return int(self._by_label.size)

    @property
    def weights(self) -> Int64:
        """Of the rows that each stands for."""
        return self._by_label.ravel()

    @cached_property
    def left_out(self) -> npt.NDArray[np.intp]:
        """Rows without weight were not read."""
        return np.empty(0, dtype=np.intp)

    def leaves_of_all(self, tree: ThresholdTree, leaf_of_row: Int32) -> Int32:
        """See :class:`TrainingRows`."""
        return leaf_of_row

    def deviations(self, columns: Sequence[int]) -> Float64:
        """See :class:`TrainingRows`."""
        rows = self._rows
        mean = self.centers(KMEANS, np.zeros(self.n_rows, dtype=np.int32), 1)[0][0]
        squares = np.zeros(len(mean))
        for first, n in rows.slices("deviations"):
            weights = rows.weight(first, n)
            with np.errstate(over="ignore", invalid="ignore"):
                apart = (rows.values.read(first, n) - mean) ** 2
                squares += apart.sum(axis=0) if weights is None else weights @ apart
        found = np.full(len(mean), np.nan)
        for column in columns:
            value = np.sqrt(squares[column] / rows.total_weight)
            found[column] = float(f"{value:.6g}") if np.isfinite(value) else np.nan
        return found

    def centers(
        self, objective: Objective, labels: Int32, n_clusters: int, *, raw: bool = False
    ) -> tuple[Float64, Float64]:
        """See :class:`TrainingRows`; ``labels`` are the same for all labels of a leaf."""
        of_leaf, rows = labels[:: self._by_label.shape[1]], self._rows

        def by_code(sums: Int64) -> Int64:
            total = np.zeros((n_clusters, *sums.shape[1:]), dtype=np.int64)
            np.add.at(total, of_leaf, sums)
            return total

        high, low, weight = map(by_code, self._leaf_sums)
        means = core.means_of_sums(high, low, weight, rows.column_sizes, float(rows.total_weight))
        return means, weight.astype(np.float64)

    @cached_property
    def _leaf_sums(self) -> tuple[Int64, Int64, Int64]:
        """Exact sums of the values of every leaf, (n_leaves, d), high and low parts, and weights."""
        rows, n_leaves = self._rows, len(self._leaves)
        number = np.full(self._tree.n_nodes, -1, dtype=np.int32)
        number[self._leaves] = np.arange(n_leaves, dtype=np.int32)
        total: list[Int64] = []
        for first, n in rows.slices("sums of leaves"):
            matrix = rows.table(first, n).matrix
            leaf = number[self._tree.apply(matrix)]
            own = core.cluster_sums(
                matrix, leaf, n_leaves, rows.weight(first, n), rows.column_sizes, float(rows.total_weight)
            )
            total = [a + b for a, b in zip(total, own, strict=True)] if total else list(own)
        return total[0], total[1], total[2]

    def cost_sums(self, what: str, ways: Sequence[tuple[Int32, Float64]], objective: Objective) -> list[float]:
        """What all rows cost, by the code of each of these and the center of that code, for several of both."""
        k = self._by_label.shape[1]
        of_node = []
        for codes, _ in ways:
            of_node.append(np.full(self._tree.n_nodes, -1, dtype=np.int32))
            of_node[-1][self._leaves] = codes[::k]

        def costs_of(table: Table, first: int) -> list[Float64]:
            leaf = self._tree.apply(table.matrix)
            return [
                objective.label_costs(table.matrix, centers, codes[leaf])
                for codes, (_, centers) in zip(of_node, ways, strict=True)
            ]

        return self._rows.exact_sums(what, costs_of)


@dataclass(frozen=True, eq=False)
class LazyContext(FitContext):
    """A clustering of rows that are not in memory."""

    rows: SummedRows

    def cost_of_labels(self, codes: Int32) -> TreeCosts:
        """See :class:`FitContext`."""
        centers = self._centers(codes)
        weight = self.rows.weight_of(codes, self.n_clusters)
        ways = [(codes, centers), (codes, self.reference.centers)]
        cost, surrogate = self.rows.cost_sums("costs of the tree", ways, self.objective)
        return TreeCosts(cost, surrogate, centers, between=cost_around_mean(centers, weight.astype(np.float64)))

    def cost_of_each(self, partitions: Iterable[Int32]) -> list[float]:
        """See :class:`FitContext`."""
        ways = [(codes, np.nan_to_num(self._centers(codes))) for codes in partitions]
        return self.rows.cost_sums("costs of trees", ways, self.objective)

    def _centers(self, codes: Int32) -> Float64:
        centers, weight = self.rows.centers(self.objective, codes, self.n_clusters)
        centers[weight == 0] = self.reference.centers[weight == 0]
        return centers


def fit_lazily(
    model: Any, lazy: LazyTable, sample_weight: Any, max_leaves: int, depth_penalty: float | None, stages: Stages
) -> None:
    """Fit an estimator of clusters with centers to a table that comes in batches."""
    _check_options(model, depth_penalty)
    weights, k, objective = check_column_name(sample_weight, "sample_weight"), model.n_clusters, model._objective
    assert depth_penalty is not None
    with Copies() as folder:
        with stages.stage("reading the table"):
            rows = BatchedRows.read(lazy, folder, weights, stages.say)
            first = rows.table(0, 1)
            check_n_clusters(k, replace(first, values=rows.sample))
        with stages.stage("reference clustering"):
            centers = _reference_centers(model, rows, first)
            prepared = PreparedRows(rows, centers, objective)
            cost = rows.exact_sums("cost of the reference", prepared.costs_of)[0]
        with stages.stage("tree"):
            algorithm = "exshallow" if model.algorithm == "search" else model.algorithm
            providers: dict[int, PassProvider] = {}

            def grown_with(penalty: float) -> GrownTree:
                provider = PassProvider(prepared)
                grown = grow(
                    GrowthProblem(provider, centers, depth_penalty=penalty),
                    algorithm,
                    max_leaves,
                    model.expansion,
                    stages.leaves,
                )
                providers[id(grown)] = provider
                return grown

            grown = fewest_empty(grown_with, algorithm, depth_penalty)
            leaf_weights = providers[id(grown)].leaf_weights()
        with stages.stage("costs"):
            summed = SummedRows(rows, grown.tree, grown.leaf_of_row[::k].copy(), leaf_weights)
            labels = np.tile(np.arange(k, dtype=np.int32), len(leaf_weights))
            reference = Reference(labels, centers, cost, objective.name)
            context = LazyContext(summed, reference, labels, None, objective)
            model._remember_input(summed.table, MetricSpace(None, None, summed.table), np.arange(k, dtype=np.int32))
            model._finish(context, grown)
    model.limits_price_ = math.nan
    if model.algorithm == "exshallow":
        model.depth_penalty_ = depth_penalty
    none = np.empty(0, dtype=np.int32)
    model.reference_ = replace(model.reference_, labels=none)
    del model.labels_  # one a row: predict gives them
    model.n_passes_ = rows.n_passes


def _check_options(model: Any, depth_penalty: float | None) -> None:
    """Refuse what needs all rows in memory, with what to do instead."""
    name = type(model).__name__
    if model._objective is not KMEANS:
        raise UnsupportedInputError(
            f"{name} has medians for centers, and takes tables in memory alone: fit a sample, or use ExplainableKMeans."
        )
    if model.algorithm == "optimal" or depth_penalty is None:
        given = 'algorithm="optimal"' if model.algorithm == "optimal" else 'depth_penalty="auto"'
        raise UnsupportedInputError(f"{given} takes tables in memory alone: fit a sample, or leave it out.")
    if not model._limits_given.is_none:
        raise UnsupportedInputError(
            "Limits of the tree (cut_features, max_depth, min_samples_leaf) take tables in memory alone: fit a sample."
        )
    if model.preprocessor is not None and model.preprocessor != "auto":
        raise UnsupportedInputError(
            "Tables in batches are clustered in their own columns, and a preprocessor was given. Scale the columns in "
            "the engine, or fit a sample."
        )
    if is_clusterer(model.reference):
        raise UnsupportedInputError(
            "Tables in batches take centers for a reference, and a clusterer was given. Fit it on a sample: "
            "reference=clusterer.fit(sample).cluster_centers_."
        )


def _reference_centers(model: Any, rows: BatchedRows, first: Table) -> Float64:
    """The centers given, or those of our own search, which goes over the copied rows where they lie."""
    k = model.n_clusters
    if model.reference is not None:
        return from_centers(first, model.reference, k, objective=model._objective).centers
    table, weights = rows.whole()
    return find_reference(
        table,
        k,
        objective=model._objective,
        n_init=model.n_init,
        random_state=model.random_state,
        sample_weight=weights,
        n_jobs=check_n_jobs(model.n_jobs),
        verbose=max(int(model.verbose) - 1, 0),
    ).centers
