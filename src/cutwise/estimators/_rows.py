"""The rows of a fit: as they came, as the engine sees them, and in the space where costs are measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import has_fit_parameter

from cutwise import core
from cutwise.exceptions import InvalidInputError, NotFiniteError, shown
from cutwise.reference import Objective, copying_clone, integer_weights, sum_costs, sum_weights, unshared
from cutwise.table import EncodedTable, Table, as_dense, encode_table, read_table, take_rows
from cutwise.tree.threshold_tree import ThresholdTree

__all__ = ["MetricSpace", "TrainingRows", "encode_rows", "fit_metric_space", "transform_rows"]


# Rows at a time: few enough that they stay in the processor's caches.
_BLOCK = 1 << 13


@dataclass(frozen=True, eq=False)
class MetricSpace:
    """Where distances are measured."""

    preprocessor: Any  # fitted; None where distances are measured in the input's own columns
    rows: Any  # the n rows there, as the preprocessor gave them, or as the caller did
    table: Table  # the same, read


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The m rows that take part in a fit: those of positive weight that are no noise, equal ones possibly merged."""

    table: Table  # all n rows, in the input's columns and units
    encoded: EncodedTable  # the m rows that take part, as codes
    metric: Table  # the same m rows where distances are measured
    sample_weight: npt.NDArray[np.float64] | None  # (m,), as given; None where each counts once
    weight_scale: float  # what weight 1 in ``sample_weight`` is in ``encoded.weights``
    n_jobs: int
    same_columns: bool  # whether distances are measured in the input's own columns

    @property
    def n_rows(self) -> int:
        """m, the number of rows that take part."""
        return self.metric.n_rows

    @property
    def weights(self) -> npt.NDArray[np.int64] | None:
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

    def leaves_of_all(self, tree: ThresholdTree, leaf_of_row: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The leaf of each of the n rows from that of each of the m rows; those left out are routed down the tree."""
        leaf = self.spread(leaf_of_row)
        if len(self.left_out):
            leaf[self.left_out] = tree.apply(core.as_matrix(self.table.values[self.left_out]), n_jobs=self.n_jobs)
        return leaf

    def gaps_of_all(self, tree: ThresholdTree, gaps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The gaps of every test among the n rows, from those among the m rows; shape (n_nodes, 4), see ``GrownTree``.

        Rows that take no part in a fit may lie between the values that a cut was chosen between.
        """
        if not len(self.left_out):
            return gaps
        gaps, tested = gaps.copy(), np.unique(tree.feature[tree.feature >= 0])
        values = as_dense(self.table.values[self.left_out][:, tested]).astype(np.float64)
        column = np.searchsorted(tested, tree.feature)
        reaching = {0: np.arange(len(values))}
        for node in range(tree.n_nodes):  # parents come before their children
            rows = reaching.pop(node)
            if tree.feature[node] < 0:
                continue
            x = values[rows, column[node]]
            inside = (x > tree.lower[node]) & (x <= tree.threshold[node])
            reaching[int(tree.children_left[node])] = rows[inside]
            reaching[int(tree.children_right[node])] = rows[~inside]
            for at, end in ((0, tree.threshold[node]), (2, tree.lower[node])):
                if np.isfinite(end):
                    gaps[node, at] = max(gaps[node, at], x[x <= end].max(initial=-np.inf))
                    gaps[node, at + 1] = min(gaps[node, at + 1], x[x > end].min(initial=np.inf))
        return gaps

    def raw_row(self, row: int) -> npt.NDArray[np.float64]:
        """One of the m rows in the input's columns."""
        number = row if self.encoded.row_of is None else self.encoded.row_of[row]
        return as_dense(self.table.values[[number]]).astype(np.float64).ravel()

    def sum(self, values: npt.NDArray[np.float64]) -> float:
        """The weighted sum of one cost a row; an ``InvalidInputError`` where one is beyond float64."""
        return sum_costs(values, self._summing_weights)

    def deviations(self, columns: Sequence[int]) -> npt.NDArray[np.float64]:
        """Weighted standard deviations of some of the input's columns, shape (n_columns,); nan for the others.

        They are rounded to six digits, so that the order of the rows does not show; nan where squares are beyond
        float64.
        """
        missing = [column for column in columns if np.isnan(self._deviations[column])]
        if missing:
            with np.errstate(over="ignore", invalid="ignore"):
                found = np.sqrt(self._variances(missing))
            self._deviations[missing] = [float(f"{value:.6g}") if np.isfinite(value) else np.nan for value in found]
        return np.where(np.isin(np.arange(self.table.n_columns), columns), self._deviations, np.nan)

    def _variances(self, columns: Sequence[int]) -> npt.NDArray[np.float64]:
        """Weighted variances, by one pass over blocks of rows (Chan, Golub, LeVeque 1983)."""
        total, mean, squares = 0.0, np.zeros(len(columns)), np.zeros(len(columns))
        for start in range(0, self.n_rows, _BLOCK):
            block = slice(start, start + _BLOCK)
            rows = self.table.values[block if self.encoded.row_of is None else self.encoded.row_of[block]]
            x = as_dense(rows[:, columns]).astype(np.float64)
            w = np.ones(len(x)) if self.sample_weight is None else self.sample_weight[block]
            weight = float(w.sum())
            if weight == 0:
                continue
            center = w @ x / weight
            apart = center - mean
            squares += w @ (x - center) ** 2 + apart**2 * (total * weight / (total + weight))
            total += weight
            mean += apart * (weight / total)
        variances: npt.NDArray[np.float64] = squares / total
        return variances

    def weight_of(self, codes: npt.NDArray[np.signedinteger[Any]], n_codes: int) -> npt.NDArray[np.int64]:
        """Integer weight of the rows of each code, 0 .. n_codes - 1."""
        # Weights add up to no more than 2**53, so float64 sums are exact.
        return np.bincount(codes, weights=self.weights, minlength=n_codes).astype(np.int64)

    def centers(
        self, objective: Objective, labels: npt.NDArray[np.int32], n_clusters: int, *, raw: bool = False
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Best center of each cluster's rows where distances are measured, or in the input's columns, and its weight.

        The center of a cluster without weight is not a number.
        """
        matrix = self.encoded.matrix if raw else self.metric.matrix
        sizes = self.encoded.column_sizes if raw or self.same_columns else None
        return objective.centers(matrix, labels, n_clusters, self._summing_weights, self.n_jobs, sizes)

    def costs(
        self, objective: Objective, centers: npt.NDArray[np.float64], labels: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.float64]:
        """Cost of each row by the center that it is labeled with."""
        return objective.label_costs(self.metric.matrix, centers, labels, self.n_jobs)

    @cached_property
    def _deviations(self) -> npt.NDArray[np.float64]:
        """Those that were asked for already: one fit may make many trees of the same rows."""
        return np.full(self.table.n_columns, np.nan)

    @cached_property
    def _summing_weights(self) -> npt.NDArray[np.int64] | npt.NDArray[np.float64] | None:
        return sum_weights(self.sample_weight)


def encode_rows(
    table: Table,
    metric: Table,
    sample_weight: npt.NDArray[np.float64] | None,
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
    if shared is not None and _differs_within(encoded, shared):
        encoded = encode_table(table, weights=weights, keep=keep, merge=False, n_jobs=n_jobs)
    same_columns = metric is table
    if encoded.row_of is not None:
        metric = replace(metric, values=metric.values[encoded.row_of])
        sample_weight = _merged_weights(encoded, sample_weight)
    return TrainingRows(table, encoded, metric, sample_weight, scale, n_jobs, same_columns)


def _differs_within(encoded: EncodedTable, values: npt.NDArray[Any]) -> bool:
    """Whether rows that were merged have different values."""
    if encoded.copies is None or encoded.row_of is None or encoded.position is None:
        return False
    kept = encoded.position >= 0
    return bool((values[encoded.row_of][encoded.position[kept]] != values[kept]).any())


def _merged_weights(
    encoded: EncodedTable, sample_weight: npt.NDArray[np.float64] | None
) -> npt.NDArray[np.float64] | None:
    """The given weights of the rows that each row stands for, added up."""
    if sample_weight is None:
        return None if encoded.copies is None else encoded.copies.astype(np.float64)
    assert encoded.position is not None
    kept = encoded.position >= 0
    merged: npt.NDArray[np.float64] = np.bincount(
        encoded.position[kept], weights=sample_weight[kept], minlength=encoded.n_rows
    ).astype(np.float64, copy=False)
    return merged


def fit_metric_space(
    preprocessor: Any, X: Any, table: Table, sample_weight: npt.NDArray[np.float64] | None
) -> MetricSpace:
    """Fit a copy of the preprocessor and transform the rows with it; it does not write into ``X`` (see ``unshared``).

    Weights are passed on where its ``fit`` takes them, so that a weight is a repeated row here too; where it takes none
    it is fitted on the rows that have a weight.
    """
    if preprocessor is None:
        return MetricSpace(None, X, table)
    if isinstance(preprocessor, type) or not (hasattr(preprocessor, "fit") and hasattr(preprocessor, "transform")):
        raise InvalidInputError(
            f"preprocessor={preprocessor!r} is no transformer: it needs fit and transform. "
            "Give one of scikit-learn's, such as StandardScaler() or a Pipeline, or None."
        )
    fitted = copying_clone(preprocessor)
    own = unshared(X, fitted)
    with np.errstate(all="ignore"), _refusing_y(preprocessor):  # what comes of an overflow is said once, with its row
        if sample_weight is not None and has_fit_parameter(fitted, "sample_weight"):
            fitted.fit(own, sample_weight=sample_weight)
        elif sample_weight is not None and not sample_weight.all():
            fitted.fit(take_rows(own, np.flatnonzero(sample_weight)))
        elif hasattr(fitted, "fit_transform"):
            Z = fitted.fit_transform(own)
            return MetricSpace(fitted, Z, _read_metric(Z, table.n_rows))
        else:
            fitted.fit(own)
    return MetricSpace(fitted, *transform_rows(fitted, X, table.n_rows))


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


def transform_rows(fitted: Any, X: Any, n_rows: int) -> tuple[Any, Table]:
    """The output of a fitted preprocessor, as it gives it and as a table; nothing is written into ``X``."""
    with np.errstate(all="ignore"):  # as when it was fitted
        Z = fitted.transform(unshared(X, fitted))
    return Z, _read_metric(Z, n_rows)


def _read_metric(Z: Any, n_rows: int) -> Table:
    """The preprocessor's output as a table of as many rows as went in."""
    try:
        metric = read_table(Z, what="the preprocessor's output")
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
