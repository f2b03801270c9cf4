"""Fits of tables that are not in memory: the tree, the figures and the errors of the same rows in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.exceptions import InvalidInputError, UnsupportedInputError
from cutwise.passes.provider import PassProvider
from cutwise.passes.rows import BatchedRows, Copies, PreparedRows
from cutwise.passes.sources import LazyTable, as_lazy, check_column_name
from cutwise.reference.objective import KMEANS, Objective, Reference, from_centers
from cutwise.reference.search import find_reference
from cutwise.table.intake import check_max_leaves, check_n_clusters, check_n_jobs
from cutwise.table.table import Table
from cutwise.tree.growing import GrownTree
from cutwise.tree.provider import GrowthProblem
from cutwise.tree.recipes import fewest_empty, grow
from cutwise.tree.threshold_tree import ThresholdTree

from ._growth import (
    ATTEMPTS,
    LabelProblem,
    best_candidate,
    grow_candidate,
    grow_candidates,
)
from .training import FitContext, Stages, TrainingRows, TreeCosts, cost_around_mean, is_clusterer, read_centers

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
    def n_passes(self) -> int:
        """How often the rows were gone over."""
        return self._rows.n_passes

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

    def extent(self, column: int) -> tuple[float, float]:
        """See :class:`TrainingRows`."""
        least, most = self._rows.extents[:, column].tolist()
        return least, most

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


class LazyGrowths:
    """Trees grown from rows in batches, each with rows that stand for all of its own."""

    def __init__(self, prepared: PreparedRows, progress: Callable[[int], None]) -> None:
        self._prepared, self._progress = prepared, progress
        self._rows: list[tuple[Int32, SummedRows, Int32]] = []

    def grow(self, algorithm: str, max_leaves: int, expansion: str, depth_penalty: float, gini: bool) -> GrownTree:
        """As ``grow_tree``."""
        prepared, k = self._prepared, self._prepared.n_clusters

        def grown_with(penalty: float) -> GrownTree:
            provider = PassProvider(prepared)
            problem = GrowthProblem(provider, prepared.centers, depth_penalty=penalty, gini=gini)
            grown = grow(problem, algorithm, max_leaves, expansion, self._progress)
            weights = provider.leaf_weights()
            rows = SummedRows(prepared.rows, grown.tree, grown.leaf_of_row[::k].copy(), weights)
            self._rows.append((grown.leaf_of_row, rows, np.tile(np.arange(k, dtype=np.int32), len(weights))))
            return grown

        return fewest_empty(grown_with, algorithm, depth_penalty)

    def rows_of(self, grown: GrownTree) -> tuple[SummedRows, Int32]:
        """The rows that stand for all those of a tree, and their labels."""
        return next((rows, labels) for leaves, rows, labels in self._rows if leaves is grown.leaf_of_row)


@dataclass(frozen=True, eq=False)
class LazyLabelProblem(LabelProblem):
    """A column of labels to explain, of rows that are not in memory."""

    growths: LazyGrowths | None = None

    @property
    def takes_cart(self) -> bool:
        """Plain CART wants the rows."""
        return False

    def grow(self, algorithm: str, max_leaves: int, expansion: str, *, gini: bool = False) -> GrownTree:
        """See :class:`LabelProblem`."""
        assert self.growths is not None
        return self.growths.grow(algorithm, max_leaves, expansion, self.depth_penalty, gini)

    def rows_of(self, grown: GrownTree) -> tuple[TrainingRows, Int32]:
        """See :class:`LabelProblem`."""
        assert self.growths is not None
        return self.growths.rows_of(grown)


def explain_lazily(
    model: Any, lazy: LazyTable, y: Any, centers: Any, sample_weight: Any, depth_penalty: float, stages: Stages
) -> None:
    """Fit an estimator of labels to a table that comes in batches, of which they are a column."""
    _check_in_batches(model, f"algorithm={model.algorithm!r}" if model.algorithm in ("cart", "spex") else None)
    name, weights = check_column_name(y, "y"), check_column_name(sample_weight, "sample_weight")
    if name is None:
        raise InvalidInputError('y is the name of the column of labels: fit(X, "segment").')
    with Copies() as folder:
        with stages.stage("reading the table"):
            rows = BatchedRows.read(lazy, folder, weights, stages.say, name)
            assert rows.classes is not None
            k = len(rows.classes)
            max_leaves = check_max_leaves(model.max_leaves, k)
        with stages.stage("costs of the clusters"):
            middles = rows.label_means()
            middles = middles if centers is None else read_centers(centers, *middles.shape)
            prepared = PreparedRows(rows, middles, KMEANS)
            cost = rows.exact_sums("cost of the clusters", prepared.costs_of)[0]
        with stages.stage("tree"):
            growths = LazyGrowths(prepared, stages.leaves)
            nobody: Any = None  # rows, labels and costs are those of each tree
            problem = LazyLabelProblem(
                nobody, nobody, middles, nobody, max_leaves, model.expansion, depth_penalty, stages.leaves,
                growths=growths,
            )  # fmt: skip
            if model.algorithm == "auto":
                tried = grow_candidates(problem)
                for attempt in range(ATTEMPTS if model.max_leaves is None else 0):
                    missing = best_candidate(tried).n_without_leaf
                    further = min(problem.max_leaves + (missing << attempt), 2 * k)
                    if further == problem.max_leaves:
                        break
                    problem = replace(problem, max_leaves=further)
                    tried = grow_candidates(problem)
            else:
                tried = {model.algorithm: grow_candidate(problem, model.algorithm)}
            chosen = best_candidate(tried)
        with stages.stage("costs of the tree"):
            model.growth_ = chosen.growth
            model.candidates_ = {name: each.agreement / rows.total_weight for name, each in tried.items()}
            _finish(model, growths, chosen.grown, middles, cost, rows.classes)


def _finish(
    model: Any, growths: LazyGrowths, grown: GrownTree, centers: Float64, cost: float, classes: npt.NDArray[Any]
) -> None:
    """Set what is fitted, but for what has an entry for each row."""
    summed, labels = growths.rows_of(grown)
    context = LazyContext(summed, Reference(labels, centers, cost, KMEANS.name), labels, None, KMEANS)
    model._remember_columns(summed.table)
    model.preprocessor_, model.classes_ = None, classes
    model._finish(context, grown)
    model.limits_price_ = math.nan
    model.reference_ = replace(model.reference_, labels=np.empty(0, dtype=np.int32))
    del model.labels_  # predict gives them
    model.n_passes_ = summed.n_passes


def need_memory(X: Any, what: str) -> None:
    """Raise where the rows come in batches and ``what`` needs them at hand."""
    if as_lazy(X) is not None:
        raise UnsupportedInputError(
            f"{what} takes a table in memory, and X is of type {type(X).__name__}. "
            "Give it a sample, or all rows where they fit: X.collect() in polars, X.compute() in Dask, X.toPandas() in "
            "Spark."
        )


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
            growths = LazyGrowths(prepared, stages.leaves)
            grown = growths.grow(algorithm, max_leaves, model.expansion, depth_penalty, False)
        with stages.stage("costs"):
            _finish(model, growths, grown, centers, cost, np.arange(k, dtype=np.int32))
    if model.algorithm == "exshallow":
        model.depth_penalty_ = depth_penalty


def _check_in_batches(model: Any, given: str | None) -> None:
    """Refuse what needs all rows in memory, with what to do instead; ``given``: an option that does."""
    if given is not None:
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


def _check_options(model: Any, depth_penalty: float | None) -> None:
    """The same for clusters with centers."""
    if model._objective is not KMEANS:
        raise UnsupportedInputError(
            f"{type(model).__name__} has medians for centers, and takes tables in memory alone: fit a sample, or use "
            "ExplainableKMeans."
        )
    optimal = 'algorithm="optimal"' if model.algorithm == "optimal" else None
    _check_in_batches(model, 'depth_penalty="auto"' if depth_penalty is None else optimal)
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
