"""Parts that estimators share: the columns of fit, checked in every later table, and methods of clusterers."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cutwise._docs import fill_doc
from cutwise._progress import Stages
from cutwise.core import Float64
from cutwise.passes.sources import as_lazy, lazy_cost
from cutwise.reference.objective import sum_costs, sum_weights
from cutwise.table.intake import (
    check_n_clusters,
    check_verbose,
    drop_columns,
    keep_columns,
    names_given,
    pop_column,
    read_table,
    read_weights,
)
from cutwise.table.table import ColumnKind, Columns, Table, numbered_names


class RemembersColumns:
    """Part of an estimator: the columns of fit, with ``n_features_in_`` and ``feature_names_in_`` of scikit-learn."""

    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    _frame_library: str | None
    _kinds: tuple[ColumnKind, ...] = ()
    _is_float32: bool = False  # dtype of the table of fit; not saved in model files
    # Changes to the table before fit: "notes" about them, columns "left_out", and columns of which only the "numbers"
    # in the cells were read.
    _intake: Mapping[str, Any] = {}
    _beside: Sequence[str] = ()  # columns of weights and labels at fit, which later frames may contain too

    def _remember_columns(self, table: Table) -> None:
        """Set the attributes that describe the input's columns."""
        self.n_features_in_ = table.n_columns
        self._frame_library = table.library
        self._kinds, self._intake, self._is_float32 = table.kinds, {}, table.values.dtype == np.float32
        if table.has_names:
            self.feature_names_in_ = np.array(table.names, dtype=object)
            self._beside = [name for name in self._beside if name not in table.names]  # AnnData.obs may share names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # set by an earlier fit

    def _remember_texts(self, columns: Container[str]) -> None:
        """Note which columns of truth values are written as words in the file that they were read from."""
        named = self._kinds_by_name.items()
        self._kinds = tuple(replace(kind, is_text=kind.name == "bool" and name in columns) for name, kind in named)

    def _columns_of_fit(self) -> Columns:
        """The columns of fit."""
        if hasattr(self, "feature_names_in_"):
            return Columns(tuple(self.feature_names_in_), True, self._kinds)
        return Columns(numbered_names(self.n_features_in_), False, self._kinds)

    @property
    def _kinds_by_name(self) -> dict[str, ColumnKind]:
        """The kind of every column, by name."""
        columns = self._columns_of_fit()
        return dict(zip(columns.names, columns.kinds, strict=True))

    @property
    def column_kinds_(self) -> dict[str, str]:
        """Kind of every column by name: number, integer, bool, category, ordered, date or duration."""
        return {name: kind.name for name, kind in self._kinds_by_name.items()}

    @property
    def left_out_(self) -> dict[str, str]:
        """Reason by name for each column that is left out."""
        own = {name: kind.left_out for name, kind in self._kinds_by_name.items() if kind.left_out}
        return {**self._intake.get("left_out", {}), **own}

    def _columns_of_batch(self, batch: Any) -> Any:
        """Drop columns that fit did not have: tables that are not in memory may have more."""
        return keep_columns(batch, tuple(self.feature_names_in_)) if hasattr(self, "feature_names_in_") else batch

    def _read(self, X: Any, tested: npt.NDArray[np.integer] | None = None) -> Table:
        """Read rows with the columns of fit; frames with names need only the columns ``tested`` if these are given."""
        check_is_fitted(self)
        unknown = getattr(self, "handle_unknown", "outside")
        columns, estimator = self._columns_of_fit(), type(self).__name__
        return read_table(
            drop_columns(X, self._beside), fitted=columns, estimator=estimator, tested=tested, unknown=unknown
        )


@fill_doc
class HasCost(ClusterMixin):  # type: ignore[misc]
    """Part of an estimator whose clusters have a cost; ``_costs_of(X)``: the cost of every row by its cluster."""

    cost_: float
    _costs_of: Callable[[Any], Float64]
    _columns_of_batch: Callable[[Any], Any]

    @property
    def inertia_(self) -> float:
        """The same as ``cost_``, under scikit-learn's name."""
        return self.cost_

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None, **fit: Any) -> npt.NDArray[Any]:
        """Fit, and give the cluster of every row.

        Parameters
        ----------
        X, y, sample_weight, **fit
            As in ``fit``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        self.fit(X, sample_weight=sample_weight, **fit)
        labels: npt.NDArray[Any] = self.predict(X) if "n_passes_" in self.__dict__ else self.labels_
        return labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of rows, each by the center of its predicted cluster, as in scikit-learn's KMeans.

        Parameters
        ----------
        {X, y, sample_weight}

        Returns
        -------
        score : float
            In the units of ``cost_``; larger is better, 0 at best.

        Raises
        ------
        {NotFittedError, ColumnMismatchError}
        InvalidInputError
            What ``predict`` refuses, or distances that are beyond float64 or not known.
        """
        if (lazy := as_lazy(X)) is not None:
            return -lazy_cost(lazy, sample_weight, lambda batch: self._costs_of(self._columns_of_batch(batch)))
        X, sample_weight = pop_column(X, sample_weight, "sample_weight")
        costs = self._costs_of(X)
        return -sum_costs(costs, sum_weights(read_weights(sample_weight, len(costs))))


class CenterClusterer(HasCost, RemembersColumns, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Parent of the clusterers that place every row with its nearest center."""

    def _read_fit(self, X: Any, sample_weight: Any) -> tuple[Table, Float64 | None, Stages]:
        """Read and check the table and the weights of a fit, and start its progress messages."""
        check_n_clusters(self.n_clusters)  # before the table is read
        stages = Stages(type(self).__name__, check_verbose(self.verbose))
        self._beside = names_given(sample_weight)
        with stages.stage("reading the table"):
            X, sample_weight = pop_column(X, sample_weight, "sample_weight")
            table = read_table(X)
            weights = read_weights(sample_weight, table.n_rows)
            self._n_features_out = check_n_clusters(self.n_clusters, table, weights)
        return table, weights, stages

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
