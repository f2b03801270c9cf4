"""k-means made for being a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.cluster import KMeans

from cutwise.core.kernels import assign, cluster_means
from cutwise.table import Table

from .given import from_centers
from .result import Reference
from .threads import one_thread
from .weights import sum_weights

__all__ = ["kmeans_reference"]


def kmeans_reference(
    table: Table,
    n_clusters: int,
    *,
    n_init: int = 10,
    random_state: Any = None,
    sample_weight: npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
    verbose: int = 0,
) -> Reference:
    """The best of several k-means clusterings."""
    values = table.values
    offset = np.zeros(table.n_columns)
    if not isinstance(values, sparse.csr_array):
        offset = values.mean(axis=0, dtype=np.float64)
        values = values - offset
    with one_thread():
        model = KMeans(n_clusters, n_init=n_init, random_state=random_state, copy_x=False)
        model.fit(values, sample_weight=sample_weight)
    labels, _, _ = assign(table.matrix, model.cluster_centers_ + offset, "kmeans", n_jobs)
    centers, totals = cluster_means(table.matrix, labels, n_clusters, sum_weights(sample_weight), n_jobs)
    centers = np.where(totals[:, None] > 0, centers, model.cluster_centers_ + offset)
    return from_centers(table, centers, n_clusters, sample_weight=sample_weight, n_jobs=n_jobs)
