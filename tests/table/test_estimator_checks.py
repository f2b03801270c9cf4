"""An estimator that reads its input through this package's intake passes scikit-learn's estimator checks."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted

from cutwise.table import check_n_clusters, check_n_jobs, read_table, read_weights


class NearestCenter(ClusterMixin, BaseEstimator):
    """k-means with this package's intake in place of scikit-learn's."""

    def __init__(self, n_clusters=2, random_state=None, n_jobs=None):
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None, sample_weight=None):
        table = read_table(X)
        weights = read_weights(sample_weight, table.n_rows)
        check_n_jobs(self.n_jobs)
        model = KMeans(check_n_clusters(self.n_clusters, table, weights), n_init=10, random_state=self.random_state)
        kept = slice(None) if weights is None else weights > 0
        model.fit(dense(table)[kept], sample_weight=None if weights is None else weights[kept])
        self.columns_ = table.columns
        self.n_features_in_ = table.n_columns
        if table.has_names:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        # Canonical numbers, so that weights and repeated rows give the same labels.
        self.cluster_centers_ = model.cluster_centers_[np.lexsort(model.cluster_centers_.T)]
        self.labels_ = self._assign(table)
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self._assign(read_table(X, fitted=self.columns_, estimator=type(self).__name__))

    def _assign(self, table):
        distances = ((dense(table)[:, None, :] - self.cluster_centers_) ** 2).sum(axis=2)
        return distances.argmin(axis=1).astype(np.int32)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def dense(table):
    return (table.values.toarray() if table.is_sparse else table.values).astype(np.float64)


CHECKS = list(estimator_checks_generator(NearestCenter(n_clusters=2, random_state=0)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=[getattr(c, "func", c).__name__ for _, c in CHECKS])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)
