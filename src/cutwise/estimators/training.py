"""The rows of a fit in the input's columns and in the metric space, and the reference that a tree approximates."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from operator import attrgetter
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
from cutwise.readouts.conditions import explanation_sizes, node_explanation_sizes
from cutwise.reference.fitted import copying_clone, from_estimator, unshared
from cutwise.reference.objective import (
    KMEANS,
    Measure,
    Objective,
    Reference,
    fixed_costs,
    fixed_costs_from_array,
    from_centers,
    integer_weights,
    sum_costs,
    sum_weights,
    weight_by,
)
from cutwise.reference.search import find_clustering
from cutwise.table.convert import as_dense, bare_matrix, reading
from cutwise.table.intake import check_n_init, check_n_jobs, read_table, take_rows
from cutwise.table.table import (
    NUMBER,
    EncodedTable,
    SearchedColumns,
    Table,
    are_plain,
    as_matrix,
    encode_table,
    known_values,
    numbered_names,
)
from cutwise.tree.growing import GrownTree
from cutwise.tree.limits import Limits
from cutwise.tree.provider import GrowthSpec, MemoryProvider, Provider
from cutwise.tree.recipes import grow_on
from cutwise.tree.refine import ROUNDING, Judged, SearchCheaper
from cutwise.tree.subtree import (
    COST_TOLERANCE,
    SizedTree,
    cheapest_by_size,
    clusters_by_size,
    leaves_by_size,
    sizes_of_growth,
)
from cutwise.tree.threshold_tree import ThresholdTree

from .table_scaler import EXACT_SCALERS, TableScaler, moments, standardize_table

MEASURED, FINER_PREPROCESSOR = "the preprocessor's output", "use a preprocessor that keeps more rows apart"
"""The name of the metric rows in errors, and the advice if too few of these rows differ."""
_MAKE_NUMBERS = "Use TableScaler(), or a ColumnTransformer that makes complete numbers of texts, dates and gaps."
_DENSE_VALUES = 2**16
"""Number of values that are made dense at a time: trees of many labels test many columns."""


@dataclass(frozen=True, eq=False)
class MetricSpace:
    """The space where distances are measured."""

    preprocessor: Any  # fitted; None where distances are measured in the input's own columns
    rows: Any  # the preprocessor's output for the n rows, or X itself; None where it would take much memory
    table: Table  # these n rows as a table


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The m rows that take part in a fit: those of positive weight that are no noise, equal ones possibly merged."""

    table: Table  # all n rows, in the input's columns and units
    encoded: EncodedTable  # the m rows that take part, as codes
    metric: Table  # the same m rows where distances are measured
    sample_weight: Float64 | None  # (m,), as given; None where each counts once
    weight_scale: float  # integer in ``encoded.weights`` for a weight of 1 in ``sample_weight``
    n_jobs: int
    same_columns: bool  # whether distances are measured in the input's own columns

    @property
    def n_rows(self) -> int:
        """m, the number of rows that take part."""
        return self.metric.n_rows

    @property
    def weights(self) -> Int64 | None:
        """Integer weights of the m rows, in proportion to the given ones; None where every row counts once."""
        return self.encoded.weights

    @cached_property
    def left_out(self) -> npt.NDArray[np.intp]:
        """Numbers of the rows that take no part: noise, and rows without weight."""
        position = self.encoded.position
        return np.empty(0, dtype=np.intp) if position is None else np.flatnonzero(position < 0)

    def compress(self, values: Any) -> Any:
        """Values of the m rows from values of the n rows."""
        return values if self.encoded.row_of is None else values[self.encoded.row_of]

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the n rows from values of the m rows; undefined where a row is left out.

        Returns ``values`` itself if no row was merged or left out, else a new array.
        """
        return values if self.encoded.position is None else values[self.encoded.position]

    def leaves_of_all(self, tree: ThresholdTree, leaf_of_row: Int32) -> Int32:
        """Leaves of the n rows from leaves of the m rows; the tree routes the rows that are left out."""
        leaf = self.spread(leaf_of_row)
        if len(self.left_out):
            leaf[self.left_out] = tree.apply(as_matrix(self.table.values[self.left_out]), n_jobs=self.n_jobs)
        return leaf

    def gaps_of_all(self, tree: ThresholdTree, gaps: Float64) -> Float64:
        """Gaps of every test among the n rows, from the gaps among the m rows; shape (n_nodes, 4), see ``GrownTree``.

        Rows that take no part in a fit may lie inside the gap that a cut was chosen in.
        """
        return with_values(tree, gaps, self.table.values[self.left_out]) if len(self.left_out) else gaps

    def sum(self, values: Float64) -> float:
        """Weighted sum of the costs of the m rows; an ``InvalidInputError`` if a cost is beyond float64."""
        return sum_costs(values, self._summing_weights)

    def extent(self, column: int) -> tuple[float, float]:
        """The least and the largest known value in a column of the input, also in rows that take no part."""
        values = as_dense(self.table.values[:, [column]]).astype(np.float64)
        return float(np.nanmin(values)), float(np.nanmax(values))

    def deviations(self, columns: Sequence[int]) -> Float64:
        """Weighted standard deviations of some of the input's columns, shape (n_columns,); nan for the others.

        Rounded to six digits, so that the order of the rows does not matter; nan where squares are beyond float64.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.sqrt(self._variances(columns)) if columns else np.empty(0)
        deviations = np.full(self.table.n_columns, np.nan)
        deviations[columns] = [float(f"{value:.6g}") if np.isfinite(value) else np.nan for value in found]
        return deviations

    def _variances(self, columns: Sequence[int]) -> Float64:
        """Weighted variances of the known values: of blocks of rows, merged as Chan, Golub and LeVeque (1979) do.

        Exact where values are missing, and where an error could change the first six digits of a deviation.
        """
        total, mean, squares = 0.0, np.zeros(len(columns)), np.zeros(len(columns))
        n_rows = max(_DENSE_VALUES // len(columns), 1)
        values, own_columns = self.table.values, columns
        if self.table.is_sparse:  # rows of all columns would be copied
            values, own_columns = values[:, columns], range(len(columns))
        for start in range(0, self.n_rows, n_rows):
            block = slice(start, start + n_rows)
            rows = values[block if self.encoded.row_of is None else self.encoded.row_of[block]]
            x = as_dense(rows[:, own_columns]).astype(np.float64)
            weight = np.ones(len(x)) if self.sample_weight is None else self.sample_weight[block]
            own = float(weight.sum())
            x -= (center := weight @ x / own)
            apart, share = center - mean, own / (total + own)
            squares += weight @ np.square(x, out=x) + apart**2 * (total * share)
            mean += apart * share
            total += own
        variances: Float64 = squares / total
        for j, (middle, value) in enumerate(zip(mean, np.sqrt(variances), strict=True)):
            error = 1e-9 * value + 1e-15 * abs(middle)
            if not 1e-140 < value < math.inf or f"{value - error:.6g}" != f"{value + error:.6g}":
                column = self.compress(as_dense(self.table.values[:, [columns[j]]]))
                variances[j] = moments(column, self.sample_weight)[1][0]
        return variances

    def weight_of(self, codes: npt.NDArray[np.signedinteger[Any]], n_codes: int) -> Int64:
        """Integer weight of the rows of each code, 0 .. n_codes - 1."""
        # Weights add up to no more than 2**53, so float64 sums are exact.
        return np.bincount(codes, weights=self.weights, minlength=n_codes).astype(np.int64, copy=False)

    def explanation_size(self, grown: GrownTree) -> float:
        """Average number of conditions in the rule of a row (WAES)."""
        tree = grown.tree
        weight = self.weight_of(grown.leaf_of_row, tree.n_nodes)[tree.leaves]
        return float(weight @ explanation_sizes(tree) / np.float64(weight.sum()))

    def rule_lengths(self, grown: GrownTree, sizes: Sequence[int]) -> list[tuple[float, float]]:
        """WAES, and the average number of tests (WAD), in the trees of a growth of these sizes."""
        tree = grown.tree
        weight = self.weight_of(grown.leaf_of_row, tree.n_nodes)
        for node in range(tree.n_nodes - 1, 0, -1):
            weight[tree.parents[node]] += weight[node]
        conditions, total = weight * node_explanation_sizes(tree), float(weight[0])
        tests = weight * tree.node_depth.astype(np.int64)
        trees = leaves_by_size(grown, [min(size, tree.n_leaves) for size in sizes])
        return [(float(conditions[own].sum() / total), float(tests[own].sum() / total)) for own in trees]

    def centers(
        self, objective: Objective, labels: Int32, n_clusters: int, *, raw: bool = False
    ) -> tuple[Float64, Float64]:
        """Best center and weight of each cluster, in the metric space, or in the input's columns if ``raw``.

        The center of a cluster without weight is nan.
        """
        if raw and self.encoded.searched is not None:
            return self._searched_centers(self.encoded.searched, objective, labels, n_clusters)
        matrix = self.encoded.matrix if raw else self.metric.matrix
        sizes = self.encoded.column_sizes if raw or self.same_columns else None
        return objective.centers(matrix, labels, n_clusters, self._summing_weights, self.n_jobs, sizes)

    def _searched_centers(
        self, searched: SearchedColumns, objective: Objective, labels: Int32, n_clusters: int
    ) -> tuple[Float64, Float64]:
        values, weights, own = self.encoded.values, self._summing_weights, self.weight_of(labels, n_clusters)
        assert values is not None
        kinds, found = searched.kinds, dict[int, Any]()
        complete, gapped = [not kind.places_missing for kind in kinds], [kind.has_gaps for kind in kinds]
        for some, known, rows in known_values(values, complete, gapped):
            of_known = None if weights is None else weights[known]
            centers, weight = objective.centers(as_matrix(rows), labels[known], n_clusters, of_known, self.n_jobs)
            found |= {some.start + j: (center, weight) for j, center in enumerate(centers.T)}
        every_row = np.arange(self.n_rows, dtype=np.int32)
        for column in (j for j, kind in enumerate(kinds) if kind.name == "category"):
            found[column] = self.encoded.levels(column).count(every_row, self.weights, labels, n_clusters).T
        return searched.centers(own, found.__getitem__), own.astype(np.float64)

    def costs(self, objective: Objective, centers: Float64, labels: Int32) -> Float64:
        """Cost of each row by the center of its label."""
        return objective.label_costs(self.metric.matrix, centers, labels, self.n_jobs)

    def cost_around(self, objective: Objective, centers: Float64, labels: Int32) -> float:
        """Weighted sum of these costs."""
        return self.sum(self.costs(objective, centers, labels))

    @cached_property
    def _summing_weights(self) -> Int64 | Float64 | None:
        return sum_weights(self.sample_weight)


def with_values(tree: ThresholdTree, gaps: Float64, rows: Any) -> Float64:
    """Gaps of every test, narrowed by the values of further rows of the table."""
    gaps, tested = gaps.copy(), tree.tested
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
    """Encode the rows that take part in a fit, from the n rows in the input's columns and in the metric space.

    ``keep`` is False for noise. Rows are merged only if all equal rows have equal ``shared`` values, such as labels.
    """
    weights, scale = integer_weights(sample_weight)
    encoded = encode_table(table, weights=weights, keep=keep, merge=merge, n_jobs=n_jobs)
    if shared is not None and encoded.copies is not None:
        present, position = _present(encoded)
        if (shared[encoded.row_of][position] != shared[present]).any():  # merged rows differ in ``shared``
            encoded = encode_table(table, weights=weights, keep=keep, merge=False, n_jobs=n_jobs)
    same_columns = metric is table
    if encoded.row_of is not None:
        metric = replace(metric, values=metric.values[encoded.row_of])
        if sample_weight is not None:  # sum the weights of merged rows
            present, position = _present(encoded)
            sample_weight = weight_by(position, sample_weight[present], encoded.n_rows)
        elif encoded.copies is not None:
            sample_weight = encoded.copies.astype(np.float64)
    return TrainingRows(table, encoded, metric, sample_weight, scale, n_jobs, same_columns)


def _present(encoded: EncodedTable) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
    """Mask of the n rows that take part, shape (n,), and the index of each such row among the m rows."""
    assert encoded.position is not None
    present = encoded.position >= 0
    return present, encoded.position[present]


def fit_metric_space(preprocessor: Any, X: Any, table: Table, sample_weight: Float64 | None) -> MetricSpace:
    """Fit a copy of the preprocessor and transform the rows with it; ``X`` is not modified (see ``unshared``).

    Weights are passed on if its ``fit`` takes them, so that a weight equals a repeated row here too. Otherwise rows of
    weight 0 are left out of ``fit``.
    """
    X = bare_matrix(X)
    if preprocessor is None:
        return MetricSpace(None, X, table)
    if isinstance(preprocessor, type) or not (hasattr(preprocessor, "fit") and hasattr(preprocessor, "transform")):
        raise InvalidInputError(
            f"preprocessor={preprocessor!r} is not a transformer: it needs fit and transform. "
            "Give one of scikit-learn's, such as StandardScaler() or a Pipeline, or None."
        )
    fitted = copying_clone(preprocessor)
    own = _rows_for(fitted, X, table)
    # ``_read_metric`` reports an overflow once, with its row.
    with np.errstate(all="ignore"), _advising(fitted, table):
        if sample_weight is not None and has_fit_parameter(fitted, "sample_weight"):
            fitted.fit(own, sample_weight=sample_weight)
        elif sample_weight is not None and not sample_weight.all():
            fitted.fit(take_rows(own, np.flatnonzero(sample_weight)))
        elif hasattr(fitted, "fit_transform") and own is not table and type(fitted) not in EXACT_SCALERS:
            Z = fitted.fit_transform(own)
            return MetricSpace(fitted, Z, _read_metric(Z, table))
        else:
            fitted.fit(own)
        if type(fitted) in EXACT_SCALERS and table.has_names:
            fitted.feature_names_in_ = np.array(table.names, dtype=object)
        if type(fitted) is StandardScaler and not table.is_sparse and are_plain(table.kinds):
            standardize_table(fitted, table, sample_weight)
    return MetricSpace(fitted, *transform_rows(fitted, X, table))


def _rows_for(fitted: Any, X: Any, table: Table) -> Any:
    """Input for a preprocessor: ``X`` as the user passed it, or the table that was read from it.

    scikit-learn reads frames of some libraries as float64 whatever their dtypes, and keeps the dtypes of others. In a
    table, categories are codes, which no scaler may take for numbers.
    """
    if isinstance(fitted, TableScaler):
        return table
    reads_values = type(fitted) in EXACT_SCALERS and not any(kind.name == "category" for kind in table.kinds)
    return unshared(table.values if reads_values else X, fitted)


@contextmanager
def _advising(fitted: Any, table: Table) -> Iterator[None]:
    """Advise on a transformer that learns from labels, or cannot take sparse rows, texts, dates or missing values."""
    what = f"preprocessor={shown(fitted)} does not take these {'sparse ' if table.is_sparse else ''}rows"
    step = "Give dense rows, or use MaxAbsScaler()." if table.is_sparse else _MAKE_NUMBERS
    with nullcontext() if are_plain(table.kinds) and not table.is_sparse else reading(what, step):
        try:
            yield
        except (TypeError, ValueError) as error:
            if not re.search(r"argument: 'y'|requires y to be passed", str(error)):
                raise
            raise InvalidInputError(
                f"preprocessor={shown(fitted)} learns from y, and clusters are measured in X alone. Use one that needs "
                "no y, such as StandardScaler(), or transform X with it first: the rules are then in its output."
            ) from error


def transform_rows(fitted: Any, X: Any, table: Table) -> tuple[Any, Table]:
    """Output of a fitted preprocessor, as it returns it and as a table; ``X`` is not modified.

    If most of a ``TableScaler``'s output is 0, the table is sparse and the output is None.
    """
    X = bare_matrix(X)
    if isinstance(fitted, TableScaler) and len(sources := fitted.sources()) > 3 * len(np.unique(sources)):
        points, width = fitted.sparse_points(table), len(sources)
        if np.isfinite(points.data).all():
            return None, Table(points, numbered_names(width), False, (NUMBER,) * width)
    with np.errstate(all="ignore"), warnings.catch_warnings(), _advising(fitted, table):  # as when it was fitted
        warnings.filterwarnings("ignore", message="X does not have valid feature names")  # names were checked before
        Z = fitted.transform(_rows_for(fitted, X, table))
    return Z, _read_metric(Z, table)


def _read_metric(Z: Any, table: Table) -> Table:
    """Read the preprocessor's output as a table, and check that it has the rows of ``table``."""
    try:
        metric = read_table(Z, what=MEASURED)
    except NotFiniteError as error:
        raise error.with_next_step(
            f"{'Its input is finite, so' if are_plain(table.kinds) else _MAKE_NUMBERS + ' If there were no gaps,'} "
            "the preprocessor made it: by the logarithm of a negative number, for instance, or squares beyond float64. "
            "Choose another, or change those values (divide a column by a constant). "
            + table.largest_value(least=1e150)  # where squares end
        ) from error
    if metric.n_rows != table.n_rows:
        raise InvalidInputError(
            f"The preprocessor gave {metric.n_rows} rows for {table.n_rows}, but every row needs one. "
            "Leave rows out before fitting instead."
        )
    return metric


T = TypeVar("T")

Growths = list[tuple[GrownTree, list[int]]]
"""Growths, each with the sizes of its trees."""

_MOST_SIZES = 16
"""Number of sizes at which the trees of a front are improved; leaves added to these give the sizes between. More took
time in proportion, and the trees of each length cost the same on average."""
_MOST_STARTS = 3
"""Number of trees of a size from which a search for a cheaper one starts, until it finds one."""
_BLOCK_VALUES = 1 << 14
"""Entries of an array of shape (k, p) that are processed at a time."""


@dataclass(frozen=True, eq=False)
class TreeCosts:
    """Costs of a tree's clusters, with their own centers and with the reference's."""

    cost: float
    surrogate_cost: float
    centers: Float64 | None  # (k, p), in the metric space; None in the feature space of a kernel
    distances: bool = True  # whether costs are distances to these centers, as IMM's guarantee assumes
    between: float | None = None  # cost of the clusters' means around the mean of all rows; None for medians


@dataclass(frozen=True, eq=False)
class FitContext:
    """The reference clustering that a tree approximates, and the rows of a fit."""

    rows: TrainingRows  # the m rows that take part
    reference: Reference  # with labels of the m rows
    full_labels: Int32  # (n,), -1 for noise; rows without weight have the label of the nearest center
    sample_weight: Float64 | None  # (n,), as given
    objective: Objective = KMEANS
    given_costs: Float64 | None = None  # (m, k), cost of each row by each cluster; replaces the objective's costs
    given_classes: npt.NDArray[Any] | None = None  # (k,), the labels of the clusters; None for 0 to k - 1

    @property
    def n_clusters(self) -> int:
        """k, the number of clusters."""
        return self.reference.n_clusters

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The labels of the clusters, shape (k,)."""
        return np.arange(self.n_clusters, dtype=np.int32) if self.given_classes is None else self.given_classes

    in_memory: ClassVar[bool] = True

    @property
    def total_weight(self) -> int:
        """Integer weight of the m rows."""
        return self.counted[0][1]

    @property
    def counted(self) -> tuple[tuple[int, int], tuple[Int64 | None, Int64 | None]]:
        """Number (before merging) and weight of all rows that take part, then both for each of the m rows."""
        encoded = self.rows.encoded
        n_rows, weight = (encoded.n_rows if of is None else int(of.sum()) for of in (encoded.copies, encoded.weights))
        return (n_rows, weight), (encoded.copies, encoded.weights)

    @cached_property
    def coordinates(self) -> Float64:
        """The clusters' coordinates in the columns that may be cut, shape (k, D).

        With a preprocessor these are the centers of the clusters' raw rows; a cluster without rows gets the raw row
        that is nearest to its center.
        """
        rows, reference, objective = self.rows, self.reference, self.objective
        if rows.same_columns:
            return reference.centers
        coordinates, _ = rows.centers(objective, reference.labels, reference.n_clusters, raw=True)
        for cluster in np.flatnonzero(np.isnan(coordinates).any(axis=1)):
            distances = objective.costs(rows.metric.matrix, reference.centers[[cluster]], rows.n_jobs)[:, 0]
            nearest = np.flatnonzero(distances == distances.min())
            coordinates[cluster] = min(core.gather_rows(rows.encoded.matrix, nearest).tolist())  # in any order of rows
        return coordinates

    def provider(self, centers: Float64 | None = None) -> Provider:
        """Provider of the rows with costs by the reference's or other centers."""
        rows, reference = self.rows, self.reference
        by, row_costs = (reference.centers, reference.row_costs) if centers is None else (centers, None)
        if self.given_costs is not None:
            costs = partial(fixed_costs_from_array, self.given_costs)
        else:
            costs = partial(fixed_costs, rows.metric.matrix, by, self.objective, row_costs=row_costs)
        lazy = cache(partial(costs, weights=rows.weights, n_jobs=rows.n_jobs))
        return MemoryProvider(rows.encoded, reference.labels, lazy, rows.n_jobs)

    def grower(self) -> Callable[[GrowthSpec], GrownTree]:
        """Function that grows trees on the rows; see ``provider`` and ``grow_on``."""
        return partial(grow_on, self.provider(), self.coordinates)

    def search(self) -> SearchCheaper:
        """A search on the rows, for one leaf a cluster: see :class:`SearchCheaper`."""
        rows, reference = self.rows, self.reference
        metric = rows.encoded.matrix if rows.same_columns else rows.metric.matrix
        return SearchCheaper(
            rows.encoded, metric, reference.centers, reference.labels, self.coordinates, self.cost_of_each,
            MemoryProvider(rows.encoded), self.n_clusters, objective=self.objective,
            cost=reference.cost * rows.weight_scale,
        )  # fmt: skip

    def of(self, grown: GrownTree) -> FitContext:
        """The context for the rows that ``grown.leaf_of_row`` describes."""
        return self

    def together(self, calls: Iterable[Callable[[], T]]) -> list[T]:
        """Results of ``calls``; they share passes over the rows if these are not in memory."""
        return [call() for call in calls]

    def remove_rows(self, model: Any) -> None:
        """Delete attributes with one entry per row from a fitted model, if the rows are not in memory."""

    def noise_of(self, tree: ThresholdTree, leaf: Int32) -> Int64:
        """Number of noise rows of positive weight at each node; ``leaf``: the leaf of each of the n rows."""
        out = self.rows.left_out
        counted = self.full_labels[out] < 0
        if self.sample_weight is not None:
            counted &= self.sample_weight[out] > 0
        return np.bincount(leaf[out[counted]], minlength=tree.n_nodes)

    def cost_of_labels(self, codes: Int32) -> TreeCosts:
        """Costs of the clusters of the m rows; a cluster without rows keeps the reference's center."""
        centers, weight = self.rows.centers(self.objective, codes, self.n_clusters)
        centers[weight == 0] = self.reference.centers[weight == 0]
        if self.given_costs is not None:
            cost = self.rows.sum(self.given_costs[np.arange(len(codes)), codes])
            return TreeCosts(cost, cost, centers, distances=False)
        surrogate = self._cost_by_reference(codes)
        known = self._cost_by_means(surrogate, centers, weight)
        return TreeCosts(
            cost=self.rows.cost_around(self.objective, centers, codes) if known is None else known,
            surrogate_cost=surrogate,
            centers=centers,
            between=cost_around_means(centers, weight) if self.objective is KMEANS else None,
        )

    def _cost_by_reference(self, codes: Int32) -> float:
        """Cost of the m rows by the reference's centers; only rows that moved are measured if they are few."""
        rows, reference, known = self.rows, self.reference, self.reference.row_costs
        if known is None or 4 * len(moved := np.flatnonzero(codes != reference.labels)) > rows.n_rows:
            return rows.cost_around(self.objective, reference.centers, codes)
        matrix, own = as_matrix(rows.metric.values[moved]), known.own.copy()
        own[moved] = self.objective.label_costs(matrix, reference.centers, codes[moved], rows.n_jobs)
        return rows.sum(own)

    def _cost_by_means(self, surrogate: float, means: Float64, weight: Float64) -> float | None:
        """Cost of clusters around their means, from their cost by the reference's centers.

        None if twelve digits cannot be guaranteed: the means are far from the centers, or have few digits.
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
        """Cost of the m rows as one cluster, from the costs of a tree's clusters."""
        return self.one_cluster_cost if costs.between is None else costs.cost + costs.between

    def cost_of_each(self, group: Int32, partitions: Iterable[Int32]) -> list[float]:
        """The cost of the m rows around the centers of their parts, in each of several partitions.

        ``group`` (m,): the group of every row; each part consists of whole groups. ``partitions``: the part of every
        group, 0 to k - 1.
        """
        if self.objective is not KMEANS:
            return self._costs_of_changes(part[group] for part in partitions)
        partitions = list(partitions)
        means, weight = self.rows.centers(KMEANS, group, len(partitions[0]))
        within = self.rows.cost_around(KMEANS, np.nan_to_num(means), group)
        # Far from 0, rounded means have too few digits.
        rounding = np.spacing(np.nanmax(np.abs(means))) * np.sqrt(means.shape[1]) * np.sqrt(weight.sum())
        if rounding * np.sqrt(cost_around_means(means, weight)) > ROUNDING * within:
            return [self.cost_of_labels(part[group]).cost for part in partitions]
        return [within + cost_around_means(means, weight, part) for part in partitions]

    def _costs_of_changes(self, partitions: Iterable[Int32]) -> list[float]:
        """``cost_of_labels(codes).cost`` of each partition; measures only clusters that differ from the last one's."""
        rows, k = self.rows, self.n_clusters
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

    def cheapest_tree(self, grown: GrownTree) -> GrownTree:
        """The cheapest tree of a fit's growths with at least one leaf a cluster; the smallest among equals.

        Growth lowers the cost at the reference's centers; the cost at the clusters' own centers may rise meanwhile.
        """
        growths = self._sizes_of_growths(grown)
        if len(growths) == len(growths[0][1]) == 1:
            return grown
        return cheapest_by_size(self._with_searched(grown, growths))[-1].get()

    def trees_by_size(self, grown: GrownTree, *, every: bool = False) -> list[SizedTree]:
        """All trees of a fit's growths; ``every``: with a search at each size too, or at ``_MOST_SIZES``."""
        show_progress("sizes: costs of trees")
        return self._with_searched(grown, self._sizes_of_growths(grown), every=every)

    def _with_searched(self, grown: GrownTree, growths: Growths, *, every: bool = False) -> list[SizedTree]:
        """Trees of growths; at twice as many leaves each time, a search improves the cheapest tree.

        Leaves are then added to the improved tree, so the search after it starts from all trees before it. Where the
        cheapest tree cannot be improved, others are.
        """
        trees = self._trees(growths)
        if grown.improve is None:
            return trees
        k, most = self.n_clusters, max(sizes[0] for _, sizes in growths)
        sizes = [k * 2**n for n in range(1, (most // k).bit_length())]
        if every:  # after those of a fit, so that its tree is among these
            sizes += np.linspace(k + 1, most, min(most - k, _MOST_SIZES)).round().astype(int).tolist()
        for size in sizes:
            show_progress(f"sizes: searching trees of {size} leaves", 0.7 * size / most)
            known = sorted((tree for tree in trees if tree.size == size), key=attrgetter("cost"))
            for start in known[:_MOST_STARTS]:
                if (improved := grown.improve(start.get())) is not None:
                    found = self._trees([(improved, sizes_of_growth(improved, k)[::-1])])
                    trees += found
                    if min(tree.cost for tree in found if tree.size == size) < known[0].cost * (1.0 - COST_TOLERANCE):
                        break
        return trees

    def _sizes_of_growths(self, grown: GrownTree) -> Growths:
        """All growths of a fit, each with the sizes of its trees in decreasing order."""
        smallest = sizes_of_growth(grown, self.n_clusters)[0]
        growths = [
            (growth, [size for size in sizes_of_growth(growth, self.n_clusters)[::-1] if size >= smallest])
            for growth in (grown, *grown.others)
        ]
        return [(growth, sizes) for growth, sizes in growths if sizes]  # some growths may have ended early

    def _trees(self, growths: Growths) -> list[SizedTree]:
        """Trees of the given sizes of several growths, with their costs."""

        def trees_of(growth: GrownTree, sizes: list[int]) -> list[SizedTree]:
            leaves = growth.tree.leaves
            leaf = np.searchsorted(leaves, growth.leaf_of_row).astype(np.int32)
            costs = self.of(growth).cost_of_each(leaf, clusters_by_size(growth, sizes, leaves))
            return [SizedTree(cost, size, growth) for cost, size in zip(costs, sizes, strict=True)]

        return [tree for trees in self.together(partial(trees_of, *own) for own in growths) for tree in trees]

    @property
    def table(self) -> Table:
        """Table of the columns that may be cut, with some or all rows."""
        return self.rows.table

    def column_costs(self) -> Float64:
        """Cost of the rows by the reference in each column of the metric space."""
        rows, reference = self.rows, self.reference
        return self.objective.column_costs(rows.metric, reference.labels, reference.centers, rows.sample_weight)

    @cached_property
    def one_cluster_cost(self) -> float:
        """Cost of the m rows with one center, or with the best single cluster of ``given_costs``."""
        rows = self.rows
        if self.given_costs is not None:
            return min(rows.sum(self.given_costs[:, cluster]) for cluster in range(self.n_clusters))
        one = np.zeros(rows.n_rows, dtype=np.int32)
        costs = rows.costs(self.objective, rows.centers(self.objective, one, 1)[0], one)
        # Distant clusters may have finite costs although the distance between them is beyond float64.
        return rows.sum(costs) if np.isfinite(costs.max(initial=0.0)) else np.inf


@dataclass(frozen=True, eq=False)
class PreparedFit:
    """What a fit knows before its tree grows."""

    context: FitContext
    preprocessor: Any  # fitted; None where distances are measured in the input's own columns
    max_leaves: int
    stages: Stages
    limits: Limits | None
    reference_is_own: bool  # whether the estimator found the reference itself, in this fit or in an earlier one


@dataclass(frozen=True, eq=False)
class Growth:
    """What a fit grows: a tree, fitted attributes about its growth, and the trees that a search measured on the way."""

    grown: GrownTree
    found: Mapping[str, Any] = field(default_factory=dict)
    judged: Sequence[Judged] = ()


def _column_blocks(centers: Float64) -> Iterator[slice]:
    """Slices of a few columns: a second array of all centers of a wide table would take much memory."""
    n_columns = max(1, _BLOCK_VALUES // len(centers))
    yield from (slice(start, start + n_columns) for start in range(0, centers.shape[1], n_columns))


def cost_around_means(centers: Float64, weight: Float64, part: Int32 | None = None) -> float:
    """Cost of the clusters' means around the means of their parts, infinite beyond float64; weights may be 0.

    ``part``: of every cluster; None for all in one.
    """
    occupied, cost = np.flatnonzero(weight > 0), 0.0
    if part is None:
        part = np.zeros(len(weight), dtype=np.int32)
    occupied = occupied[np.argsort(part[occupied], kind="stable")]
    weight = weight[occupied, np.newaxis]
    _, first, counts = np.unique(part[occupied], return_index=True, return_counts=True)
    totals = np.add.reduceat(weight, first)
    with np.errstate(over="ignore", invalid="ignore"):
        for block in _column_blocks(centers):
            of_clusters = centers[occupied, block]
            means = np.add.reduceat(weight * of_clusters, first) / totals
            cost += float((weight * (of_clusters - np.repeat(means, counts, axis=0)) ** 2).sum())
    return cost if np.isfinite(cost) else np.inf


def make_reference(
    model: Any, table: Table, space: MetricSpace, sample_weight: Float64 | None, stages: Stages
) -> FitContext:
    """Find the reference clustering of an estimator, and encode the rows that take part."""
    steps = pipeline_steps(model.reference, model.preprocessor)
    given, k, objective = steps[1] if steps else model.reference, int(model.n_clusters), model._objective
    n_jobs = check_n_jobs(model.n_jobs)
    if is_clusterer(given):
        with stages.stage("reference clustering"):
            full = from_estimator(
                given, space.table, k, Measure(objective, sample_weight, n_jobs),
                X=as_dense(space.table.values) if space.rows is None else space.rows, preprocessor=space.preprocessor,
            )  # fmt: skip
        with stages.stage("encoding"):
            noise = full.labels < 0
            keep = ~noise if noise.any() else None
            # A clusterer may label equal rows differently; then they cannot be merged.
            rows = encode_rows(table, space.table, sample_weight, keep=keep, shared=full.labels, n_jobs=n_jobs)
        row_costs = full.row_costs if rows.encoded.row_of is None else None
        reference = replace(full, labels=rows.compress(full.labels), row_costs=row_costs)
        return FitContext(rows, reference, full.labels, sample_weight, objective)

    with stages.stage("encoding"):
        rows = encode_rows(table, space.table, sample_weight, n_jobs=n_jobs)
    by = Measure(objective, rows.sample_weight, n_jobs)
    with stages.stage("reference clustering"):
        if given is None:
            reference, _ = find_clustering(
                rows.metric,
                k,
                by,
                brief=True,
                n_init=check_n_init(model.n_init),
                random_state=model.random_state,
                verbose=max(int(model.verbose) - 1, 0),
                column_sizes=rows.encoded.column_sizes if rows.same_columns else None,
            )
        else:
            reference = from_centers(rows.metric, given, k, by)
    labels = rows.spread(reference.labels)
    if len(rows.left_out):
        left_out = as_matrix(space.table.values[rows.left_out])
        labels[rows.left_out] = objective.assign(left_out, reference.centers, n_jobs)[0]
    return FitContext(rows, reference, labels, sample_weight, objective)


def pipeline_steps(given: Any, preprocessor: Any) -> tuple[Any, Any] | None:
    """Transformer and clusterer of a reference that is a pipeline, if ``preprocessor="auto"``; else None."""
    if not isinstance(given, Pipeline) or len(given) < 2 or not isinstance(preprocessor, str):
        return None
    return given[0] if len(given) == 2 and hasattr(given[0], "transform") else given[:-1], given[-1]


def is_clusterer(given: Any) -> bool:
    """Whether ``reference`` is a clusterer, neither None nor numbers (a frame may have a column ``fit``)."""
    if given is None or (hasattr(given, "__array__") and not isinstance(given, type)):
        return False
    return isinstance(given, type) or hasattr(given, "fit") or hasattr(given, "predict")
