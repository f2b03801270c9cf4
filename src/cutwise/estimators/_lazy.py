"""Fits to tables that are not in memory, with the tree, figures and errors of a fit to the same rows in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from cutwise import core
from cutwise._progress import Stages
from cutwise.core import Float64, Int32, Int64
from cutwise.exceptions import InvalidInputError, UnsupportedInputError, shown
from cutwise.passes.provider import LeafRows, provide
from cutwise.passes.reference import find_centers
from cutwise.passes.rows import BatchedRows, PreparedRows, Slice
from cutwise.passes.sources import LazyTable, check_column_name
from cutwise.passes.spill import Copies
from cutwise.passes.sums import T, Total, least_row, nearer
from cutwise.reference.fitted import copying_clone
from cutwise.reference.objective import KMEANS, Objective, Reference, from_centers
from cutwise.table.intake import check_max_leaves, check_n_clusters, check_n_init, check_n_jobs, read_centers
from cutwise.table.mixed import frame_of
from cutwise.table.table import Table, are_plain, as_matrix
from cutwise.tree.cut_tree import CutTree
from cutwise.tree.growing import GrownTree
from cutwise.tree.provider import Provider
from cutwise.tree.recipes import RECIPES
from cutwise.tree.refine import Judgement, SearchCheaper
from cutwise.tree.threshold_tree import ThresholdTree

from .table_scaler import EXACT_SCALERS, TableScaler, standardize
from .training import FINER_PREPROCESSOR, MEASURED, FitContext, TrainingRows, is_clusterer, transform_rows, with_values


class SummedRows(TrainingRows):
    """The rows of a grown tree, merged to one row per leaf and label, which suffices after growth."""

    def __init__(self, rows: BatchedRows, of_tree: LeafRows) -> None:
        self._rows, self._of_tree = rows, of_tree
        is_same, weights, none = rows.measured is None, self.weights.astype(np.float64), cast("Any", None)
        super().__init__(rows.example, none, rows.measured or rows.example, weights, 1.0, 1, is_same)

    @property
    def n_rows(self) -> int:
        """Number of merged rows."""
        return int(self._of_tree.weights.size)

    @property
    def weights(self) -> Int64:
        """Weight of each merged row."""
        return self._of_tree.weights.ravel()

    def leaves_of_all(self, tree: ThresholdTree, leaf_of_row: Int32) -> Int32:
        """See :class:`TrainingRows`."""
        return leaf_of_row

    def extent(self, column: int) -> tuple[float, float]:
        """See :class:`TrainingRows`."""
        ends = np.concatenate([self._rows.extents, self._rows.seen.of_left_out])[:, column]
        return float(np.nanmin(ends)), float(np.nanmax(ends))

    def gaps_of_all(self, tree: ThresholdTree, gaps: Float64) -> Float64:
        """See :class:`TrainingRows`."""

        def add(found: Total, rows: Slice) -> None:
            found.update([with_values(tree, gaps, rows.read("values"))])

        found: Float64 = self._rows.go_over_left_out(Total(nearer, [gaps]), add).values[0]
        return found

    def _variances(self, columns: Sequence[int]) -> Float64:
        """See :class:`TrainingRows`."""
        if self._rows.variances is None:
            self._rows.variances = self._rows.moments()[2]
        variances: Float64 = self._rows.variances
        return variances[columns]

    def centers(
        self, objective: Objective, labels: Int32, n_clusters: int, *, raw: bool = False
    ) -> tuple[Float64, Float64]:
        """See :class:`TrainingRows`; all merged rows of a leaf must have the same value in ``labels``."""
        of_tree, total = self._of_tree, []
        for sums in of_tree.sums:
            total.append(np.zeros((n_clusters, *sums.shape[1:]), dtype=np.int64))
            np.add.at(total[-1], labels[:: of_tree.weights.shape[1]], sums)
        high, low, weight = total
        return self._rows.means((high, low, weight)), weight.astype(np.float64)

    def cost_around(self, objective: Objective, centers: Float64, labels: Int32) -> float:
        """See :class:`TrainingRows`; all merged rows of a leaf must have the same value in ``labels``."""
        rows, tree, what = self._rows, self._of_tree.tree, "costs of the tree"
        of_node = np.full(tree.n_nodes, -1, dtype=np.int32)
        of_node[self._of_tree.leaves] = labels[:: self._of_tree.weights.shape[1]]

        def costs_of(rows: Slice) -> list[Float64]:
            return [KMEANS.label_costs(rows.metric.matrix, centers, of_node[tree.apply(rows.table.matrix)])]

        if rows.variances is not None or rows.measured is not None:
            return rows.exact_sums(what, costs_of, ())[0][0]
        add, read = rows.powers(self.centers(KMEANS, np.zeros(self.n_rows, dtype=np.int32), 1)[0][0])
        (cost,), sums = rows.exact_sums(what, costs_of, Total(), add)
        rows.variances = read(sums)
        return cost


@dataclass(frozen=True, eq=False)
class LazyContext(FitContext):
    """A reference clustering of rows that are not in memory; ``of`` sets the ``rows`` and labels of a tree."""

    rows: SummedRows
    prepared: PreparedRows = field(kw_only=True)

    in_memory = False

    @classmethod
    def by(cls, rows: BatchedRows, centers: Float64) -> LazyContext:
        """Context before any tree is grown; rows without labels belong to their nearest centers."""
        rows.plan = replace(rows.plan, nearest=centers)
        prepared, nobody = PreparedRows(rows, centers, _coordinates(rows, centers)), cast("Any", None)
        reference = Reference(nobody, centers, prepared.cost, KMEANS.name)
        return cls(nobody, reference, nobody, None, given_classes=rows.classes, prepared=prepared)

    @property
    def batches(self) -> BatchedRows:
        """All rows."""
        return self.prepared.rows

    @property
    def counted(self) -> tuple[tuple[int, int], tuple[None, Int64 | None]]:
        """See :class:`FitContext`."""
        loaded = self.prepared.loaded
        return (self.batches.n_rows, self.batches.total_weight), (None, None if loaded is None else loaded.weights)

    @cached_property
    def coordinates(self) -> Float64:
        """See :class:`FitContext`."""
        return self.prepared.coordinates

    def provider(self, centers: Float64 | None = None) -> Provider:
        """See :class:`FitContext`."""
        return provide(self.prepared if centers is None else self.prepared.priced_by(centers))

    def search(self) -> SearchByPasses:
        """See :class:`FitContext`; a search on a sample of the rows."""
        centers, (table, metric) = self.reference.centers, self.prepared.sample
        labels, nobody = KMEANS.assign(metric, centers)[0], cast("Any", None)
        return SearchByPasses(
            table, metric, centers, labels, self.coordinates, nobody, self.provider(), self.n_clusters,
            batches=self.batches, cost=self.reference.cost,
        )  # fmt: skip

    def of(self, grown: GrownTree) -> LazyContext:
        """See :class:`FitContext`."""
        labels, _ = grown.rows.by_label
        reference = replace(self.reference, labels=labels)
        return replace(self, rows=SummedRows(self.batches, grown.rows), reference=reference, full_labels=labels)

    @property
    def table(self) -> Table:
        """See :class:`FitContext`."""
        return self.batches.example

    def column_costs(self) -> Float64:
        """See :class:`FitContext`; every row counts with its nearest center."""
        centers = self.reference.centers

        def add(found: Total, rows: Slice) -> None:
            found.update([KMEANS.column_costs(rows.metric, rows.labels, centers, rows.weights)])

        found: Float64 = self.batches.go_over("costs of columns", Total(), add).values[0]
        return found

    def noise_of(self, tree: ThresholdTree, leaf: Int32) -> Int64:
        """See :class:`FitContext`."""

        def add(found: Int64, rows: Slice) -> None:
            noise = rows.read("values")[rows.read("weights") > 0]
            found += np.bincount(tree.apply(as_matrix(noise)), minlength=tree.n_nodes)

        return self.batches.go_over_left_out(np.zeros(tree.n_nodes, dtype=np.int64), add)

    def together(self, calls: Iterable[Callable[[], T]]) -> list[T]:
        """See :class:`FitContext`."""
        return self.batches.together(list(calls))

    def remove_rows(self, model: Any) -> None:
        """See :class:`FitContext`."""
        model.reference_ = replace(model.reference_, labels=np.empty(0, dtype=np.int32))
        del model.labels_  # predict gives them
        model.n_passes_ = self.batches.n_passes


@dataclass(frozen=True, eq=False)
class SearchByPasses(SearchCheaper):
    """The search on rows that are not in memory; ``table``, ``metric`` and ``labels`` are of a sample of the rows."""

    batches: BatchedRows = field(kw_only=True)

    @property
    def total_weight(self) -> int:
        """See :class:`SearchProblem`."""
        return self.batches.total_weight

    def _judge(self, starts: Sequence[GrownTree], found: Sequence[CutTree]) -> list[Judgement]:
        rows, grown = self.batches, [start.tree for start in starts]  # these may test sets of levels
        leaves = [tree.leaves for tree in grown]
        leaves += [np.flatnonzero(tree.column < 0).astype(np.int32) for tree in found]

        def leaves_of(rows: Slice) -> list[tuple[Int32, int]]:
            reached = [tree.apply(rows.table.matrix) for tree in grown]
            reached += [tree.apply(rows.read("matrix")) for tree in found]
            numbers = (np.searchsorted(own, leaf) for own, leaf in zip(leaves, reached, strict=True))
            return [(leaf.astype(np.int32), len(own)) for leaf, own in zip(numbers, leaves, strict=True)]

        sums = rows.grouped_sums("sums of trees", leaves_of)
        centers = [np.nan_to_num(rows.means(own)) for own in sums]

        def costs_of(rows: Slice) -> list[Float64]:
            pairs = zip(leaves_of(rows), centers, strict=True)
            return [KMEANS.label_costs(rows.metric.matrix, own, leaf) for (leaf, _), own in pairs]

        costs, _ = rows.exact_sums("costs of trees", costs_of, ())
        weights = (weight for _, _, weight in sums)
        return self._judgements(costs, starts, found, list(zip(leaves, weights, strict=True)))


@contextmanager
def read_labels_of(
    model: Any, lazy: LazyTable, y: Any, centers: Any, sample_weight: Any, stages: Stages, stays: bool
) -> Iterator[tuple[LazyContext, Any]]:
    """Read labels that are a column of a table in batches: the context, and the fitted preprocessor."""
    name = check_column_name(y, "y")
    if name is None:
        raise InvalidInputError('y is the name of the column of labels: fit(X, "segment").')
    with _read(model, lazy, sample_weight, stages, stays, y=name) as rows:
        assert rows.classes is not None
        k = len(rows.classes)
        check_max_leaves(model.max_leaves, k)
        model._check_limits(k)
        fitted = measure_by_passes(model._preprocessor_for(rows.example), rows, stages)
        with stages.stage("costs of the clusters"):
            middles = rows.means(rows.grouped_sums("means", lambda part: [(part.labels, k)])[0])
            centers = middles if centers is None else read_centers(centers, k, rows.measured or rows.example)
            context = LazyContext.by(rows, centers)
        yield context, fitted


@contextmanager
def read_clusters(
    model: Any, lazy: LazyTable, sample_weight: Any, stages: Stages, stays: bool
) -> Iterator[tuple[LazyContext, Any]]:
    """Read a table that comes in batches and find its reference: the context, and the fitted preprocessor."""
    if model._objective is not KMEANS:
        raise UnsupportedInputError(
            f"{type(model).__name__} has medians for centers, and needs the table in memory: fit a sample, or use "
            "ExplainableKMeans."
        )
    if is_clusterer(model.reference):
        raise UnsupportedInputError(
            "Tables in batches need centers as reference, but a clusterer was given. Fit it on a sample: "
            "reference=clusterer.fit(sample).cluster_centers_."
        )
    k = model.n_clusters
    with _read(model, lazy, sample_weight, stages, stays, n_clusters=k) as rows:
        weights = None if sample_weight is None else rows.sample_weights.astype(np.float64)
        n_samples = rows.n_rows + rows.seen.n_left
        check_n_clusters(k, rows.example, weights, n_samples=n_samples)
        fitted = measure_by_passes(model._preprocessor_for(rows.example), rows, stages)
        if rows.measured is not None:
            check_n_clusters(k, rows.measured, weights, n_samples=n_samples, what=MEASURED, instead=FINER_PREPROCESSOR)
        with stages.stage("reference clustering"):
            if model.reference is not None:
                centers = from_centers(rows.measured or rows.example, model.reference, k).centers
            else:
                centers = find_centers(
                    rows, k, n_init=check_n_init(model.n_init), random_state=model.random_state,
                    n_jobs=check_n_jobs(model.n_jobs), verbose=max(int(model.verbose) - 1, 0),
                )  # fmt: skip
            context = LazyContext.by(rows, centers)
        yield context, fitted


@contextmanager
def _read(
    model: Any, lazy: LazyTable, sample_weight: Any, stages: Stages, stays: bool, **how: Any
) -> Iterator[BatchedRows]:
    """Read the rows of a fit, and delete their copies at its end; or with the rows if these stay."""
    if not RECIPES[model.algorithm].takes_batches:
        raise UnsupportedInputError(
            f'algorithm="{model.algorithm}" needs the table in memory: fit a sample, or leave it out.'
        )
    weights = check_column_name(sample_weight, "sample_weight")
    with Copies(persistent=stays) as copies:
        with stages.stage("reading the table"):
            rows = BatchedRows.read(lazy, copies, weights, stages.say, mixed=model._mixed_options, **how)
            model._say_columns(rows.example, stages)
        yield rows


def _coordinates(rows: BatchedRows, centers: Float64) -> Float64:
    """See :class:`FitContext`."""
    if rows.measured is None:
        return centers
    coordinates = rows.coordinates(lambda part: part.labels, len(centers))
    for cluster in np.flatnonzero(np.isnan(coordinates).any(axis=1)):
        center = centers[[cluster]]

        def add(found: Total, batch: Slice, center: Float64 = center) -> None:
            costs = KMEANS.costs(batch.metric.matrix, center)[:, 0]
            nearest = np.flatnonzero(costs == costs.min())
            found.update([least_row(costs[nearest], core.gather_rows(batch.read("matrix"), nearest))])

        ((_, coordinates[cluster]),) = rows.go_over("nearest rows", Total(min), add).values
    return coordinates


def measure_by_passes(preprocessor: Any, rows: BatchedRows, stages: Stages) -> Any:
    """Measure distances in the output of a preprocessor, and return it fitted; None if there is none.

    Scalers that depend only on sums and extents are fitted to all rows, as in memory. Others must be fitted already.
    """
    if preprocessor is None or isinstance(preprocessor, str):
        return None
    first = rows.example
    with stages.stage("preprocessor"), np.errstate(all="ignore"):  # values that are not finite raise an error later
        fitted = _fit_by_passes(preprocessor, rows)
        is_ours = type(fitted) in (*EXACT_SCALERS, TableScaler)
        by_name = first.has_names and hasattr(fitted, "feature_names_in_") and not is_ours
        rows.measure_in(lambda table: transform_rows(fitted, frame_of(table) if by_name else table.values, table)[1])
    return fitted


def _fit_by_passes(preprocessor: Any, rows: BatchedRows) -> Any:
    first = rows.example
    if type(preprocessor) is TableScaler and preprocessor.numbers != "robust":
        return _fit_table_scaler(preprocessor, rows)
    takes_frames = hasattr(preprocessor, "feature_names_in_") and not any(kind.has_other for kind in first.kinds)
    if not are_plain(first.kinds) and not takes_frames:
        raise UnsupportedInputError(
            f"preprocessor={shown(preprocessor)} takes this table with categories, dates or missing values in "
            "memory alone: in batches a transformer must be fitted, to a data frame of the same columns, and "
            'categories have at most 255 levels. Use TableScaler(), which "auto" stands for, or fit a sample.'
        )
    if type(preprocessor) in EXACT_SCALERS:
        fitted = copying_clone(preprocessor).fit(rows.extents_with_noise.astype(first.values.dtype))
        fitted.n_samples_seen_ = rows.n_rows
        if isinstance(fitted, StandardScaler) and (fitted.with_mean or fitted.with_std):
            standardize(fitted, *rows.moments(with_noise=True))
        if first.has_names:
            fitted.feature_names_in_ = np.array(first.names, dtype=object)
        return fitted
    try:
        check_is_fitted(preprocessor)
    except (NotFittedError, TypeError) as error:
        raise UnsupportedInputError(
            f"preprocessor={shown(preprocessor)} is not fitted. With a table in batches StandardScaler, MinMaxScaler, "
            "MaxAbsScaler and TableScaler are fitted to all rows, and others must be fitted already: "
            "preprocessor=transformer.fit(sample)."
        ) from error
    return preprocessor


def _fit_table_scaler(preprocessor: TableScaler, rows: BatchedRows) -> TableScaler:
    """Fit a ``TableScaler``, with the same result as for rows in memory."""
    fitted: TableScaler = copying_clone(preprocessor)
    fitted._validate_params()
    low, high = rows.extents_with_noise
    known = [
        x if len(x) < 3 else np.array([least, x[1], most])
        for x, least, most in zip(rows.seen.few, low, high, strict=True)
    ]
    _, means, variances = rows.moments(with_noise=True)
    return fitted.take(rows.example, known, means, list(zip(means, map(math.sqrt, variances), strict=True)))
