"""What every estimator that clusters, and says the clusters with a tree, shares beside the tree itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClusterMixin

from cutwise._docs import fill_doc
from cutwise.estimators._base import TreeEstimator
from cutwise.estimators._rows import MetricSpace, Stages, fit_metric_space
from cutwise.readouts.explained import below_one
from cutwise.table import Table, check_n_clusters, read_weights

__all__ = ["TreeClusterer"]


@fill_doc
class TreeClusterer(ClusterMixin, TreeEstimator):  # type: ignore[misc]
    """Parent of the estimators with ``n_clusters``, whose ``fit`` needs no labels."""

    preprocessor: Any

    @property
    def inertia_(self) -> float:
        """The same as ``cost_``, under scikit-learn's name."""
        return self.cost_

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> npt.NDArray[Any]:
        """Fit, and give the cluster of every row.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        labels: npt.NDArray[Any] = self.fit(X, sample_weight=sample_weight).labels_
        return labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of rows when each is served by the center of the tree's cluster, as in scikit-learn's KMeans.

        Parameters
        ----------
        {X, y, sample_weight}

        Returns
        -------
        score : float
            In the units of ``cost_``; larger is better, 0 at best.
        """
        return -self._cost_of(X, sample_weight)

    def _read_input(
        self, X: Any, sample_weight: Any, n_clusters: int, stages: Stages
    ) -> tuple[Table, npt.NDArray[np.float64] | None, MetricSpace]:
        """The table, the weights and the space of distances of a fit, checked."""
        with stages.stage("reading the table"):
            table = self._read_rows_of_fit(X, sample_weight, stages)
            weights = read_weights(sample_weight, table.n_rows)
            check_n_clusters(n_clusters, table, weights)
        with stages.stage("preprocessor"):
            space = fit_metric_space(self._preprocessor_for(table), X, table, weights)
            if space.preprocessor is not None:
                what, instead = "the preprocessor's output", "a preprocessor that keeps more rows apart"
                check_n_clusters(n_clusters, space.table, weights, what=what, instead=instead)
        return table, weights, space

    def _remember_input(self, table: Table, space: MetricSpace, classes: npt.NDArray[Any]) -> None:
        """Set what a fit knows before its tree is priced."""
        self._remember_columns(table)
        self.preprocessor_ = space.preprocessor
        self.classes_ = classes

    def _summary(self) -> str:
        reason = ", below 1: the reference costs more" if below_one(self.cost_ratio_) else ""
        return f"{super()._summary()}; cost ratio {self.cost_ratio_:.4g}{reason}"
