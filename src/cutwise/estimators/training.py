"""The rows of a fit, as they came and where costs are measured, and the reference that a tree is compared with."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from cutwise import core
from cutwise._progress import Stages, show_progress
from cutwise.core import Float64, Int32, Int64
from cutwise.exceptions import InvalidInputError, NotFiniteError, shown
from cutwise.reference.fitted import copying_clone, from_estimator, unshared
from cutwise.reference.objective import (
    KMEANS,
    ROW_BLOCK,
    LazyCosts,
    Objective,
    Reference,
    from_centers,
    integer_weights,
    sum_costs,
    sum_weights,
)
from cutwise.reference.search import find_clustering
from cutwise.table.convert import as_dense, bare_matrix, reading
from cutwise.table.intake import check_n_jobs, read_table, take_rows
from cutwise.table.table import (
    NUMBER,
    DerivedRows,
    EncodedTable,
    SearchedColumns,
    Table,
    are_plain,
    as_matrix,
    encode_table,
)
from cutwise.tree.growing import GrownTree
from cutwise.tree.provider import MemoryProvider, Provider
from cutwise.tree.recipes import grow_on
from cutwise.tree.refine import SearchCheaper
from cutwise.tree.subtree import SizedTree, clusters_by_size, sizes_of_growth
from cutwise.tree.threshold_tree import ThresholdTree

from .table_scaler import EXACT_SCALERS, TableScaler, standardize_table

MEASURED, FINER_PREPROCESSOR = "the preprocessor's output", "use a preprocessor that keeps more rows apart"
"""What errors call the rows where distances are measured, and what they propose where too few of these differ."""


@dataclass(frozen=True, eq=False)
class MetricSpace:
    """Where distances are measured."""

    preprocessor: Any  # fitted; None where distances are measured in the input's own columns
    rows: Any  # the n rows there, as the preprocessor gave them, or as the caller did; None where that needs memory
    table: Table  # the same, read


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The m rows that take part in a fit: those of positive weight that are no noise, equal ones possibly merged."""

    table: Table  # all n rows, in the input's columns and units
    encoded: EncodedTable  # the m rows that take part, as codes
    metric: Table  # the same m rows where distances are measured
    sample_weight: Float64 | None  # (m,), as given; None where each counts once
    weight_scale: float  # what weight 1 in ``sample_weight`` is in ``encoded.weights``
    n_jobs: int
    same_columns: bool  # whether distances are measured in the input's own columns

    @property
    def n_rows(self) -> int:
        """m, the number of rows that take part."""
        return self.metric.n_rows

    @property
    def weights(self) -> Int64 | None:
        """Weights in integers, in proportion to the given ones; None where every row counts once."""
        return self.encoded.weights

    @cached_property
    def left_out(self) -> npt.NDArray[np.intp]:
        """Numbers of the rows that take no part: noise, and rows without weight."""
        position = self.encoded.position
        return np.empty(0, dtype=np.intp) if position is None else np.flatnonzero(position < 0)

    def compress(self, values: Any) -> Any:
        """One value for each of the m rows from one for each of the n rows."""
        return values if self.encoded.row_of is None else values[self.encoded.row_of]

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One value for each of the n rows from one for each of the m rows; undefined where a row is left out.

        The same array where every row stands for itself; a new one otherwise.
        """
        return values if self.encoded.position is None else values[self.encoded.position]

    def leaves_of_all(self, tree: ThresholdTree, leaf_of_row: Int32) -> Int32:
        """The leaf of each of the n rows from that of each of the m rows; those left out are routed down the tree."""
        leaf = self.spread(leaf_of_row)
        if len(self.left_out):
            leaf[self.left_out] = tree.apply(as_matrix(self.table.values[self.left_out]), n_jobs=self.n_jobs)
        return leaf

    def gaps_of_all(self, tree: ThresholdTree, gaps: Float64) -> Float64:
        """The gaps of every test among the n rows, from those among the m rows; shape (n_nodes, 4), see ``GrownTree``.

        Rows that take no part in a fit may lie between the values that a cut was chosen between.
        """
        return with_values(tree, gaps, self.table.values[self.left_out]) if len(self.left_out) else gaps

    def sum(self, values: Float64) -> float:
        """The weighted sum of one cost a row; an ``InvalidInputError`` where one is beyond float64."""
        return sum_costs(values, self._summing_weights)

    def extent(self, column: int) -> tuple[float, float]:
        """The least and the largest known value in a column of the input."""
        values = as_dense(self.table.values[:, [column]]).astype(np.float64)
        values = values if self.encoded.row_of is None else values[self.encoded.row_of]
        return float(np.nanmin(values)), float(np.nanmax(values))

    def deviations(self, columns: Sequence[int]) -> Float64:
        """Weighted standard deviations of some of the input's columns, shape (n_columns,); nan for the others.

        They are rounded to six digits, so that the order of the rows does not show; nan where squares are beyond
        float64.
        """
        missing = [column for column in columns if np.isnan(self._deviations[column])]
        if missing:
            with np.errstate(over="ignore", invalid="ignore"):
                found = np.sqrt(self._variances(missing))
            self._deviations[missing] = [float(f"{value:.6g}") if np.isfinite(value) else np.nan for value in found]
        deviations = np.full(self.table.n_columns, np.nan)
        deviations[columns] = self._deviations[columns]
        return deviations

    def _variances(self, columns: Sequence[int]) -> Float64:
        """Weighted variances of the known values, by one pass over blocks of rows (Chan, Golub, LeVeque 1983)."""
        total, mean, squares = np.zeros((3, len(columns)))
        for start in range(0, self.n_rows, ROW_BLOCK):
            rows = np.arange(start, min(start + ROW_BLOCK, self.n_rows))
            row_of = rows if self.encoded.row_of is None else self.encoded.row_of[rows].astype(np.int64)
            x = core.gather_rows(self.table.matrix, row_of, np.asarray(columns, dtype=np.int64))
            w = np.ones(len(x)) if self.sample_weight is None else self.sample_weight[rows]
            unknown = np.isnan(x)
            x[unknown] = 0.0
            weight = w @ ~unknown
            center = np.divide(w @ x, weight, out=mean.copy(), where=weight > 0)
            x -= center
            x[unknown] = 0.0
            apart, share = center - mean, np.divide(weight, total + weight, out=np.zeros_like(mean), where=weight > 0)
            squares += w @ np.square(x, out=x) + apart**2 * (total * share)
            total += weight
            mean += apart * share
        return np.asarray(squares / total, dtype=np.float64)

    def weight_of(self, codes: npt.NDArray[np.signedinteger[Any]], n_codes: int) -> Int64:
        """Integer weight of the rows of each code, 0 .. n_codes - 1."""
        # Weights add up to no more than 2**53, so float64 sums are exact.
        return np.bincount(codes, weights=self.weights, minlength=n_codes).astype(np.int64)

    def centers(
        self, objective: Objective, labels: Int32, n_clusters: int, *, raw: bool = False
    ) -> tuple[Float64, Float64]:
        """Best center of each cluster's rows where distances are measured, or in the columns searched, and its weight.

        The center of a cluster without weight is not a number.
        """
        if raw and self.encoded.searched is not None:
            return self._searched_centers(self.encoded.searched, objective, labels, n_clusters)
        matrix = self.encoded.matrix if raw else self.metric.matrix
        sizes = self.encoded.column_sizes if raw or self.same_columns else None
        return objective.centers(matrix, labels, n_clusters, self._summing_weights, self.n_jobs, sizes)

    def _searched_centers(
        self, searched: SearchedColumns, objective: Objective, labels: Int32, n_clusters: int
    ) -> tuple[Float64, Float64]:
        values, weights, every_row = self.encoded.values, self._summing_weights, np.arange(self.n_rows, dtype=np.int32)
        assert values is not None

        def of_column(column: int) -> Any:
            if searched.kinds[column].name == "category":
                return self.encoded.levels(column).count(every_row, self.weights, labels, n_clusters).T
            known = np.isfinite(values[:, column])
            own, of_known = as_matrix(values[known, column][:, np.newaxis]), None if weights is None else weights[known]
            center, weight = objective.centers(own, labels[known], n_clusters, of_known, self.n_jobs)
            return center[:, 0], weight

        own = self.weight_of(labels, n_clusters)
        return searched.centers(own, of_column), own.astype(np.float64)

    def costs(self, objective: Objective, centers: Float64, labels: Int32) -> Float64:
        """Cost of each row by the center that it is labeled with."""
        return objective.label_costs(self.metric.matrix, centers, labels, self.n_jobs)

    @cached_property
    def _deviations(self) -> Float64:
        """Those that were asked for already: one fit may make many trees of the same rows."""
        return np.full(self.table.n_columns, np.nan)

    @cached_property
    def _summing_weights(self) -> Int64 | Float64 | None:
        return sum_weights(self.sample_weight)


def with_values(tree: ThresholdTree, gaps: Float64, rows: Any) -> Float64:
    """The gaps of every test, narrowed by the values of further rows of the table."""
    gaps, tested = gaps.copy(), np.unique(tree.feature[tree.feature >= 0])
    values = as_dense(rows[:, tested]).astype(np.float64)
    column = np.searchsorted(tested, tree.feature)
    reaching = {0: np.arange(len(values))}
    for node in range(tree.n_nodes):  # parents come before their children
        at_node = reaching.pop(node)
        if tree.feature[node] < 0:
            continue
        x = values[at_node, column[node]]
        inside = tree.test(node).holds(x)
        reaching[int(tree.children_left[node])] = at_node[inside]
        reaching[int(tree.children_right[node])] = at_node[~inside]
        for at, end in ((0, tree.threshold[node]), (2, tree.lower[node])):
            if np.isfinite(end):
                gaps[node, at] = max(gaps[node, at], x[x <= end].max(initial=-np.inf))
                gaps[node, at + 1] = min(gaps[node, at + 1], x[x > end].min(initial=np.inf))
    return gaps


def encode_rows(
    table: Table,
    metric: Table,
    sample_weight: Float64 | None,
    *,
    keep: npt.NDArray[np.bool_] | None = None,
    shared: npt.NDArray[Any] | None = None,
    merge: bool = True,
    n_jobs: int,
) -> TrainingRows:
    """Encode the rows that take part in a fit, from the table and the same n rows where distances are measured.

    ``keep`` is False for noise; equal rows are merged only where they have the same ``shared`` value, such as a label.
    """
    weights, scale = integer_weights(sample_weight)
    encoded = encode_table(table, weights=weights, keep=keep, merge=merge, n_jobs=n_jobs)
    if shared is not None and encoded.copies is not None:
        present, position = _present(encoded)
        if (shared[encoded.row_of][position] != shared[present]).any():  # rows that were merged have different values
            encoded = encode_table(table, weights=weights, keep=keep, merge=False, n_jobs=n_jobs)
    same_columns = metric is table
    if encoded.row_of is not None:
        metric = replace(metric, values=metric.values[encoded.row_of])
        if sample_weight is not None:  # those of the rows that each row stands for, added up
            present, position = _present(encoded)
            merged = np.bincount(position, sample_weight[present], encoded.n_rows)
            sample_weight = merged.astype(np.float64, copy=False)
        elif encoded.copies is not None:
            sample_weight = encoded.copies.astype(np.float64)
    return TrainingRows(table, encoded, metric, sample_weight, scale, n_jobs, same_columns)


def _present(encoded: EncodedTable) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
    """Which of the n rows take part, and by which of the m rows each of these is stood for."""
    assert encoded.position is not None
    present = encoded.position >= 0
    return present, encoded.position[present]


def fit_metric_space(preprocessor: Any, X: Any, table: Table, sample_weight: Float64 | None) -> MetricSpace:
    """Fit a copy of the preprocessor and transform the rows with it; it does not write into ``X`` (see ``unshared``).

    Weights are passed on where its ``fit`` takes them, so that a weight is a repeated row here too; where it takes none
    it is fitted on the rows that have a weight.
    """
    X = bare_matrix(X)
    if preprocessor is None:
        return MetricSpace(None, X, table)
    if isinstance(preprocessor, type) or not (hasattr(preprocessor, "fit") and hasattr(preprocessor, "transform")):
        raise InvalidInputError(
            f"preprocessor={preprocessor!r} is no transformer: it needs fit and transform. "
            "Give one of scikit-learn's, such as StandardScaler() or a Pipeline, or None."
        )
    fitted = copying_clone(preprocessor)
    own = _rows_for(fitted, X, table)
    # What comes of an overflow is said once, with its row.
    with np.errstate(all="ignore"), _refusing_y(preprocessor), _refusing_sparse(fitted, table):
        if sample_weight is not None and has_fit_parameter(fitted, "sample_weight"):
            fitted.fit(own, sample_weight=sample_weight)
        elif sample_weight is not None and not sample_weight.all():
            fitted.fit(take_rows(own, np.flatnonzero(sample_weight)))
        elif hasattr(fitted, "fit_transform") and own is not table and type(fitted) not in EXACT_SCALERS:
            Z = fitted.fit_transform(own)
            return MetricSpace(fitted, Z, _read_metric(Z, table.n_rows))
        else:
            fitted.fit(own)
        if type(fitted) in EXACT_SCALERS and table.has_names:
            fitted.feature_names_in_ = np.array(table.names, dtype=object)
        if type(fitted) is StandardScaler and not table.is_sparse and are_plain(table.kinds):
            standardize_table(fitted, table, sample_weight)
    return MetricSpace(fitted, *transform_rows(fitted, X, table))


def _rows_for(fitted: Any, X: Any, table: Table) -> Any:
    """What a preprocessor is given: the table as it was passed, or as it was read already.

    Frames of some libraries are float64 to scikit-learn whatever they hold, and those of others are not.
    """
    if isinstance(fitted, TableScaler):
        return table
    return unshared(table.values if type(fitted) in EXACT_SCALERS else X, fitted)


@contextmanager
def _refusing_y(preprocessor: Any) -> Iterator[None]:
    """Say what to do with a transformer that learns from labels; it says itself, in its own words, that it needs y."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not re.search(r"argument: 'y'|requires y to be passed", str(error)):
            raise
        raise InvalidInputError(
            f"preprocessor={shown(preprocessor)} learns from y, and clusters are measured in X alone. Use one that "
            "needs no y, such as StandardScaler(), or transform X with it first: the rules are then in its output."
        ) from error


def _refusing_sparse(fitted: Any, table: Table) -> AbstractContextManager[None]:
    """Say what to do with a transformer that cannot take sparse rows."""
    what = f"preprocessor={shown(fitted)} does not take these sparse rows"
    return reading(what, "Give dense rows, or use MaxAbsScaler().") if table.is_sparse else nullcontext()


def transform_rows(fitted: Any, X: Any, table: Table) -> tuple[Any, Table]:
    """The output of a fitted preprocessor, as it gives it and as a table; nothing is written into ``X``.

    A category's many columns are not made, but read from its codes; there is no output then.
    """
    X = bare_matrix(X)
    if isinstance(fitted, TableScaler):
        derived: Any = fitted.derived(table)
        if derived.is_mostly_zero():
            width = derived.shape[1]
            return None, Table(derived, tuple(f"x{j}" for j in range(width)), False, (NUMBER,) * width)
    with np.errstate(all="ignore"), warnings.catch_warnings():  # as when it was fitted
        warnings.filterwarnings("ignore", message="X does not have valid feature names")  # they were compared before
        with _refusing_sparse(fitted, table):
            Z = fitted.transform(_rows_for(fitted, X, table))
    return Z, _read_metric(Z, table.n_rows)


def _read_metric(Z: Any, n_rows: int) -> Table:
    """The preprocessor's output as a table of as many rows as went in."""
    try:
        metric = read_table(Z, what=MEASURED)
    except NotFiniteError as error:
        raise error.with_next_step(
            "What went in is finite, so the preprocessor made it: of the logarithm of a negative number, for instance, "
            "or of squares beyond float64. Choose another, or change those values (divide a column by a constant)."
        ) from error
    if metric.n_rows != n_rows:
        raise InvalidInputError(
            f"The preprocessor gave {metric.n_rows} rows for {n_rows}, and every row needs one. Leave rows out before "
            "fitting instead."
        )
    return metric


T = TypeVar("T")

Growths = list[tuple[GrownTree, list[int]]]
"""Growths, and sizes of their trees."""

_MOST_IMPROVED = 3
"""Trees of a size that a search for a cheaper one with several leaves a cluster starts from: the cheapest."""
_BLOCK_VALUES = 1 << 14
"""Numbers at a time, of clusters by columns."""
_COST_TOLERANCE = 1e-9
"""Costs that differ by less, relative to those of the reference, are compared exactly."""


@dataclass(frozen=True, eq=False)
class TreeCosts:
    """What the clusters of a tree cost: with their own centers, and with the reference's."""

    cost: float
    surrogate_cost: float
    centers: Float64 | None  # (k, p), where distances are measured; None in the feature space of a kernel
    distances: bool = True  # whether costs are distances to these centers: what IMM's guarantee is about
    between: float | None = None  # cost of the clusters' means around the mean of all rows; None for medians


@dataclass(frozen=True, eq=False)
class FitContext:
    """The clustering that a tree is compared with, and the rows of both."""

    rows: TrainingRows  # the m rows that take part
    reference: Reference  # with labels of these
    full_labels: Int32  # (n,), -1 for noise; rows without weight have the nearest center's
    sample_weight: Float64 | None  # (n,), as given
    objective: Objective = KMEANS
    given_costs: Float64 | None = None  # (m, k), of each row by each cluster, in place of the objective's
    given_classes: npt.NDArray[Any] | None = None  # (k,), the labels of the clusters, where these are not 0 to k - 1
    _searched: dict[tuple[Any, int], list[SizedTree]] = field(default_factory=dict, repr=False)  # by search and size
    _measured: list[tuple[Int32, Float64]] = field(default_factory=list, repr=False)  # at most one: the last clusters,
    # and what each row costs by the reference's center of its own

    @property
    def n_clusters(self) -> int:
        """k, the number of clusters."""
        return self.reference.n_clusters

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The clusters as their labels, shape (k,)."""
        return np.arange(self.n_clusters, dtype=np.int32) if self.given_classes is None else self.given_classes

    in_memory: ClassVar[bool] = True

    @property
    def total_weight(self) -> int:
        """Of the m rows, in integers."""
        return self.counted[0][1]

    @property
    def counted(self) -> tuple[tuple[int, int], tuple[Int64 | None, Int64 | None]]:
        """How many rows take part, equal ones and all, and what they weigh; the same of each of the m rows."""
        encoded = self.rows.encoded
        n_rows, weight = (encoded.n_rows if of is None else int(of.sum()) for of in (encoded.copies, encoded.weights))
        return (n_rows, weight), (encoded.copies, encoded.weights)

    @cached_property
    def coordinates(self) -> Float64:
        """The clusters' coordinates in the columns that may be cut, shape (k, D).

        With a preprocessor these are the centers of the clusters' raw rows; a cluster without rows is put at the row
        that is nearest to its center.
        """
        rows, reference, objective = self.rows, self.reference, self.objective
        if rows.same_columns:
            return reference.centers
        coordinates, _ = rows.centers(objective, reference.labels, reference.n_clusters, raw=True)
        for cluster in np.flatnonzero(np.isnan(coordinates).any(axis=1)):
            distances = objective.costs(rows.metric.matrix, reference.centers[[cluster]], rows.n_jobs)[:, 0]
            nearest = np.flatnonzero(distances == distances.min())
            coordinates[cluster] = min(core.gather_rows(rows.encoded.matrix, nearest).tolist())  # whatever their order
        return coordinates

    def provider(self, centers: Float64 | None = None, *, several: bool = False) -> Provider:
        """The rows, with costs by the reference's centers or by others; ``several``: see :class:`LazyCosts`."""
        rows, reference = self.rows, self.reference
        by, row_costs = (reference.centers, reference.row_costs) if centers is None else (centers, None)
        costs = LazyCosts(
            rows.metric.matrix, by, self.objective, rows.weights, rows.n_jobs, row_costs, self.given_costs, several
        )
        return MemoryProvider(rows.encoded, reference.labels, costs, rows.n_jobs)

    def grower(self, *, several: bool = False, **how: Any) -> Callable[..., GrownTree]:
        """What grows trees of the rows: see ``grow_on``."""
        return partial(grow_on, self.provider(several=several), self.coordinates, **how)

    def search(self, **how: Any) -> SearchCheaper:
        """A search on the rows: see :class:`SearchCheaper`."""
        rows, reference = self.rows, self.reference
        metric = rows.encoded.matrix if rows.same_columns else rows.metric.matrix
        return SearchCheaper(
            rows.encoded, metric, reference.centers, reference.labels, self.coordinates, self.costs_of_parts,
            MemoryProvider(rows.encoded), objective=self.objective, **how,
        )  # fmt: skip

    def of(self, grown: GrownTree) -> FitContext:
        """The same, by the rows that a tree's leaves are given for."""
        return self

    def together(self, calls: Iterable[Callable[[], T]]) -> list[T]:
        """What some functions give, side by side where each goes over rows that are not in memory."""
        return [call() for call in calls]

    def remove_rows(self, model: Any) -> None:
        """Take from a fitted model what has an entry for each row, where the rows are not in memory."""

    def noise_of(self, tree: ThresholdTree, leaf: Int32) -> Int64:
        """How many rows of positive weight are noise, by node; ``leaf``: that of each of the n rows."""
        out = self.rows.left_out
        counted = self.full_labels[out] < 0
        if self.sample_weight is not None:
            counted &= self.sample_weight[out] > 0
        return np.bincount(leaf[out[counted]], minlength=tree.n_nodes)

    def cost_of_labels(self, codes: Int32) -> TreeCosts:
        """What clusters of the m rows cost, from the cluster of each; one without rows keeps the reference's center."""
        centers, weight = self.rows.centers(self.objective, codes, self.n_clusters)
        centers[weight == 0] = self.reference.centers[weight == 0]
        if self.given_costs is not None:
            cost = self.rows.sum(self.given_costs[np.arange(len(codes)), codes])
            return TreeCosts(cost, cost, centers, distances=False)
        surrogate = self._cost_by_reference(codes)
        known = self._cost_by_means(surrogate, centers, weight)
        return TreeCosts(
            cost=self._cost_around(codes, centers) if known is None else known,
            surrogate_cost=surrogate,
            centers=centers,
            between=cost_around_mean(centers, weight) if self.objective is KMEANS else None,
        )

    def _cost_around(self, codes: Int32, centers: Float64) -> float:
        """What clusters of the m rows cost by some centers."""
        return self.rows.sum(self.rows.costs(self.objective, centers, codes))

    def _cost_by_reference(self, codes: Int32) -> float:
        """What clusters of the m rows cost by the reference's centers.

        It follows from what is known of the last clusters, or of the reference's, and from the rows that moved.
        """
        rows, reference, known = self.rows, self.reference, self.reference.row_costs
        before = None if known is None else (reference.labels, known.own)
        before = self._measured.pop() if self._measured else before
        if before is not None and 2 * len(moved := np.flatnonzero(codes != before[0])) <= rows.n_rows:
            matrix, own = as_matrix(rows.metric.values[moved]), before[1].copy()
            own[moved] = self.objective.label_costs(matrix, reference.centers, codes[moved], rows.n_jobs)
        else:
            own = rows.costs(self.objective, reference.centers, codes)
        self._measured.append((codes, own))
        return rows.sum(own)

    def _cost_by_means(self, surrogate: float, means: Float64, weight: Float64) -> float | None:
        """What clusters cost around their means, from what they cost by the reference's centers.

        None where that is not known to twelve digits: the means are far from the centers, or have few digits.
        """
        if self.objective is not KMEANS:
            return None
        between, rounding, of_each = 0.0, 0.0, weight[:, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            for block in _column_blocks(means):
                apart = means[:, block] - self.reference.centers[:, block]
                between += float((np.square(apart) * of_each).sum())
                rounding += float((np.spacing(np.abs(means[:, block])) * np.abs(apart) * of_each).sum())
        return surrogate - between if max(between, rounding * 1e12) <= surrogate / 2 else None

    def total_cost(self, costs: TreeCosts) -> float:
        """What the m rows cost as one cluster, from what a tree's clusters cost."""
        return self.one_cluster_cost if costs.between is None else costs.cost + costs.between

    def cost_of_each(self, partitions: Iterable[Int32]) -> list[float]:
        """``cost_of_labels(codes).cost`` of every one; only clusters that changed since the one before are computed."""
        rows, k = self.rows, self.n_clusters
        if self.given_costs is not None:
            return [self.cost_of_labels(codes).cost for codes in partitions]
        before: Int32 | None = None
        row_costs = np.zeros(rows.n_rows)
        costs = []
        for codes in partitions:
            changed = np.full(k, before is None)
            if before is not None:
                moved = codes != before
                changed[codes[moved]] = changed[before[moved]] = True
            here = np.where(changed[codes], codes, np.int32(-1))
            centers = np.nan_to_num(rows.centers(self.objective, here, k)[0], copy=False)
            np.copyto(row_costs, rows.costs(self.objective, centers, here), where=here >= 0)
            costs.append(rows.sum(row_costs))
            before = codes
        return costs

    def costs_of_parts(self, partitions: Sequence[Callable[[], Int32]], groups: Sequence[range]) -> list[float]:
        """What the m rows cost in each partition: exactly where that may be least of a group, else but for rounding."""
        rows = self.rows
        if self.objective is not KMEANS or self.given_costs is not None:
            return self.cost_of_each(parts() for parts in partitions)
        between, exact = list[float](), dict[int, float]()
        for group in groups:
            near, most = dict[int, Float64](), -math.inf  # each is as large as the clusters of a wide table are
            for i in group:
                parts = partitions[i]()
                near[i], weight = rows.centers(KMEANS, parts, self.n_clusters)
                between.append(cost_around_mean(near[i], weight))
                most = max(most, between[i])
                least = most - _COST_TOLERANCE * (self.reference.cost + most)
                near = {j: mean for j, mean in near.items() if not between[j] < least}
            for i, mean in near.items():
                exact[i] = rows.sum(rows.costs(KMEANS, np.nan_to_num(mean, copy=False), partitions[i]()))
        total = next(cost + between[i] for i, cost in exact.items())
        return [exact.get(i, total - own) for i, own in enumerate(between)]

    def cheapest_tree(self, grown: GrownTree) -> GrownTree:
        """The tree of a growth, from one leaf a cluster on, whose clusters cost least; of equals the smallest.

        Growth goes by what a leaf costs at the reference's centers, which can rise at centers of its own.
        """
        if grown.split_order is None:
            return grown
        growths = self._sizes_of_growths(grown)
        if len(growths) == len(growths[0][1]) == 1:
            return grown
        trees = self._cheapest(growths, lambda _: 0)
        if grown.improve is not None:
            for size in self._searched_sizes(growths):
                trees += self._improved(grown, growths, size)
        return min(trees, key=lambda tree: tree[:2]).get()

    def trees_by_size(self, grown: GrownTree, *, every: bool = False) -> list[SizedTree]:
        """The cheapest trees of all growths of a fit, by size; ``every`` one of them, where that is asked for.

        A search goes on from those of the sizes of ``cheapest_tree``; of all sizes where every tree is wanted.
        """
        growths = self._sizes_of_growths(grown)
        show_progress("sizes: costs of trees")
        trees = self._trees(growths) if every else self._cheapest(growths, lambda size: size)
        if grown.improve is not None:
            for size in {size for _, size, _ in trees} if every else self._searched_sizes(growths):
                show_progress(f"sizes: searching trees of {size} leaves", 0.7 * size / trees[-1].size)
                known = [tree for tree in trees if tree.size == size] if every else []
                trees += self._improved(grown, growths, size, known)
        return sorted(trees, key=lambda tree: (tree[1], tree[0]))

    def _searched_sizes(self, growths: Growths) -> list[int]:
        """What a search goes on from: 1.5 k, 2 k, 3 k, 4 k, 6 k leaves and so on, so that more never cost more."""
        known = {size for _, sizes in growths for size in sizes}
        octaves = range(max(known).bit_length())
        steps = {-(-self.n_clusters * half * 2**octave // 2) for octave in octaves for half in (3, 4)}
        return sorted(known & steps)

    def _improved(
        self, grown: GrownTree, growths: Growths, size: int, known: Sequence[SizedTree] = ()
    ) -> list[SizedTree]:
        """What a search makes of trees of one size, ``known`` or measured now, where it is above that of clusters."""
        if grown.improve is None or size <= self.n_clusters:
            return []
        if (grown.improve, size) not in self._searched:
            trees = known or self._trees([(growth, [size]) for growth, sizes in growths if size in sizes])
            cheapest = sorted(trees, key=lambda tree: tree.cost)[:_MOST_IMPROVED]
            improved = grown.improve([tree.get() for tree in cheapest])
            costs = self.together(partial(self.of(found).cost_of_each, [found.codes]) for found in improved)
            self._searched[grown.improve, size] = [
                SizedTree(cost, size, found) for (cost,), found in zip(costs, improved, strict=True)
            ]
        return self._searched[grown.improve, size]

    def _sizes_of_growths(self, grown: GrownTree) -> Growths:
        """All growths of a fit, and the sizes, decreasing, of their trees."""
        smallest = sizes_of_growth(grown, self.n_clusters)[0]
        growths = [
            (growth, [size for size in sizes_of_growth(growth, self.n_clusters)[::-1] if size >= smallest])
            for growth in (grown, *grown.others)
        ]
        return [(growth, sizes) for growth, sizes in growths if sizes]  # some may have ended early

    def _trees(self, growths: Growths) -> list[SizedTree]:
        """Trees of several growths."""
        costs = self.together(
            partial(self.of(growth).cost_of_each, clusters_by_size(growth, sizes)) for growth, sizes in growths
        )
        return [
            SizedTree(cost, size, growth)
            for (growth, sizes), of_growth in zip(growths, costs, strict=True)
            for cost, size in zip(of_growth, sizes, strict=True)
        ]

    def _cheapest(self, growths: Growths, group: Callable[[int], int]) -> list[SizedTree]:
        """Of trees whose sizes are of one group those that may cost least: for means, all but for rounding."""
        if self.objective is not KMEANS or self.given_costs is not None:
            return self._trees(growths)
        found = self.together(partial(self.of(growth)._between, growth, sizes) for growth, sizes in growths)
        most = dict[int, float]()
        for (_, sizes), costs in zip(growths, found, strict=True):
            for size, cost in zip(sizes, costs, strict=True):
                most[group(size)] = max(most.get(group(size), 0.0), cost)
        least = {own: cost - _COST_TOLERANCE * (self.reference.cost + cost) for own, cost in most.items()}
        near = [
            (growth, [size for size, cost in zip(sizes, costs, strict=True) if not cost < least[group(size)]])
            for (growth, sizes), costs in zip(growths, found, strict=True)
        ]
        return self._trees([own for own in near if own[1]])

    def _between(self, grown: GrownTree, sizes: list[int]) -> list[float]:
        """What the means of the clusters of every tree of a growth cost around that of all rows: costs are the rest."""
        leaves = grown.tree.leaves
        leaf = np.searchsorted(leaves, grown.leaf_of_row).astype(np.int32)
        means, weight = self.rows.centers(KMEANS, leaf, len(leaves))
        costs, share = list[float](), np.empty((self.n_clusters, len(leaves)))
        for clusters in clusters_by_size(grown, sizes, leaves):
            share[:] = 0.0
            share[clusters, np.arange(len(leaves))] = weight
            of_each = share.sum(axis=1)
            sums = np.einsum("kl,ld->kd", share, np.nan_to_num(means))  # adds up in one order, unlike BLAS
            of_any = np.where(of_each > 0.0, of_each, 1.0)
            costs.append(cost_around_mean(sums / of_any[:, np.newaxis], of_each))
        return costs

    @property
    def table(self) -> Table:
        """The columns that may be cut, with some rows or all."""
        return self.rows.table

    def column_costs(self) -> Float64:
        """What the rows cost by the reference, by column where distances are measured."""
        rows, reference = self.rows, self.reference
        return self.objective.column_costs(rows.metric, reference.labels, reference.centers, rows.sample_weight)

    @cached_property
    def one_cluster_cost(self) -> float:
        """What the m rows cost around one center, or by the one given cluster that serves them best."""
        rows = self.rows
        if self.given_costs is not None:
            return min(rows.sum(self.given_costs[:, cluster]) for cluster in range(self.n_clusters))
        one = np.zeros(rows.n_rows, dtype=np.int32)
        costs = rows.costs(self.objective, rows.centers(self.objective, one, 1)[0], one)
        # Clusters far apart may have finite costs where the distance between them is beyond float64.
        return rows.sum(costs) if np.isfinite(costs.max(initial=0.0)) else np.inf


def _column_blocks(centers: Float64) -> Iterator[slice]:
    """Columns a few at a time: of a wide table another array like that of all centers would take much memory."""
    n_columns = max(1, _BLOCK_VALUES // len(centers))
    yield from (slice(start, start + n_columns) for start in range(0, centers.shape[1], n_columns))


def cost_around_mean(centers: Float64, weight: Float64) -> float:
    """What the means of clusters cost around the mean of all rows, infinite beyond float64; one may have no weight."""
    occupied, total, cost = np.flatnonzero(weight > 0), weight.sum(), 0.0
    weight = weight[occupied, np.newaxis]
    with np.errstate(over="ignore", invalid="ignore"):
        for block in _column_blocks(centers):
            of_clusters = centers[occupied, block]
            mean = (weight * of_clusters).sum(axis=0) / total
            cost += float((weight * (of_clusters - mean) ** 2).sum())
    return cost if np.isfinite(cost) else np.inf


def make_reference(
    model: Any, table: Table, space: MetricSpace, sample_weight: Float64 | None, stages: Stages
) -> FitContext:
    """Find the reference of an estimator, and encode those of the n rows that take part."""
    steps = pipeline_steps(model.reference, model.preprocessor)
    given, k, objective = steps[1] if steps else model.reference, int(model.n_clusters), model._objective
    n_jobs = check_n_jobs(model.n_jobs)
    if is_clusterer(given):
        with stages.stage("reference clustering"):
            full = from_estimator(
                given,
                space.table,
                k,
                X=space.table.values.toarray() if isinstance(space.table.values, DerivedRows) else space.rows,
                objective=objective,
                sample_weight=sample_weight,
                n_jobs=n_jobs,
                preprocessor=space.preprocessor,
            )
        with stages.stage("encoding"):
            noise = full.labels < 0
            keep = ~noise if noise.any() else None
            # A clusterer may label equal rows differently; then they cannot be one row.
            rows = encode_rows(table, space.table, sample_weight, keep=keep, shared=full.labels, n_jobs=n_jobs)
        row_costs = full.row_costs if rows.encoded.row_of is None else None
        reference = replace(full, labels=rows.compress(full.labels), row_costs=row_costs)
        return FitContext(rows, reference, full.labels, sample_weight, objective)

    with stages.stage("encoding"):
        rows = encode_rows(table, space.table, sample_weight, n_jobs=n_jobs)
    with stages.stage("reference clustering"):
        if given is None:
            reference = find_clustering(
                rows.metric,
                k,
                brief=True,
                objective=objective,
                n_init=model.n_init,
                random_state=model.random_state,
                sample_weight=rows.sample_weight,
                n_jobs=n_jobs,
                verbose=max(int(model.verbose) - 1, 0),
            ).reference
        else:
            reference = from_centers(
                rows.metric, given, k, objective=objective, sample_weight=rows.sample_weight, n_jobs=n_jobs
            )
    labels = rows.spread(reference.labels)
    if len(rows.left_out):
        left_out = as_matrix(space.table.values[rows.left_out])
        labels[rows.left_out] = objective.assign(left_out, reference.centers, n_jobs)[0]
    return FitContext(rows, reference, labels, sample_weight, objective)


def pipeline_steps(given: Any, preprocessor: Any) -> tuple[Any, Any] | None:
    """The steps before a pipeline's clusterer and that, where the reference is one and ``"auto"`` the preprocessor."""
    if not isinstance(given, Pipeline) or len(given) < 2 or not isinstance(preprocessor, str):
        return None
    return given[0] if len(given) == 2 and hasattr(given[0], "transform") else given[:-1], given[-1]


def is_clusterer(given: Any) -> bool:
    """Whether ``reference`` is meant as a clusterer: neither None nor numbers (a frame may have a column ``fit``)."""
    if given is None or (hasattr(given, "__array__") and not isinstance(given, type)):
        return False
    return isinstance(given, type) or hasattr(given, "fit") or hasattr(given, "predict")
