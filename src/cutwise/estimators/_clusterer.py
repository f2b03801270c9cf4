"""What all estimators that cluster rows answer alike."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from cutwise._docs import fill_doc
from cutwise._progress import Stages
from cutwise.core import Float64
from cutwise.passes.sources import as_lazy, lazy_cost
from cutwise.reference.objective import sum_costs, sum_weights
from cutwise.table.intake import check_n_clusters, check_verbose, names_given, pop_column, read_table, read_weights
from cutwise.table.table import Table

from ._columns import RemembersColumns


@fill_doc
class HasCost(ClusterMixin):  # type: ignore[misc]
    """Part of an estimator whose clusters have a cost; ``_costs_of(X)``: of every row, by the center of its cluster."""

    cost_: float

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
        """Minus the cost of rows, each by the center of the cluster it is placed in, as in scikit-learn's KMeans.

        Parameters
        ----------
        {X, y, sample_weight}

        Returns
        -------
        score : float
            In the units of ``cost_``; larger is better, 0 at best.

        Raises
        ------
        ColumnMismatchError
            Not the columns of fit.
        InvalidInputError
            Values that cannot be used, or distances that are beyond float64 or not known.
        """
        if (lazy := as_lazy(X)) is not None:
            return -lazy_cost(lazy, sample_weight, self._costs_of)
        X, sample_weight = pop_column(X, sample_weight, "sample_weight")
        costs = self._costs_of(X)
        return -sum_costs(costs, sum_weights(read_weights(sample_weight, len(costs))))


class CenterClusterer(HasCost, RemembersColumns, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Parent of the clusterers that place every row with its nearest center."""

    def _read_fit(self, X: Any, sample_weight: Any) -> tuple[Table, Float64 | None, Stages]:
        """The table and the weights of a fit, checked, and what says how far it is."""
        self._n_features_out = check_n_clusters(self.n_clusters)
        stages = Stages(type(self).__name__, check_verbose(self.verbose))
        self._beside = names_given(sample_weight)
        with stages.stage("reading the table"):
            X, sample_weight = pop_column(X, sample_weight, "sample_weight")
            table = read_table(X)
            weights = read_weights(sample_weight, table.n_rows)
            check_n_clusters(self._n_features_out, table, weights)
        return table, weights, stages

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
