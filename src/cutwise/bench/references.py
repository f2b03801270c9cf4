"""The clustering that the trees of an experiment start from, as the papers made it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["BenchReference", "kmeans_reference_of"]


@dataclass(frozen=True, eq=False)
class BenchReference:
    """A reference clustering.

    Attributes
    ----------
    centers : ndarray of shape (k, d), float64
    labels : ndarray of shape (n,), int32
    cost : float
    seconds : float
        What finding it took.
    """

    centers: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int32]
    cost: float
    seconds: float


def kmeans_reference_of(X: Any, n_clusters: int, seed: int, *, n_init: int = 10) -> BenchReference:
    """scikit-learn's KMeans with ten starts, on one thread: its centers differ in the last bits between thread counts.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
    n_clusters, seed, n_init : int

    Returns
    -------
    reference : BenchReference
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    start = time.perf_counter()
    with threadpool_limits(limits=1):
        fitted = KMeans(n_clusters, n_init=n_init, random_state=seed).fit(X)
    seconds = time.perf_counter() - start
    return BenchReference(fitted.cluster_centers_, fitted.labels_, float(fitted.inertia_), seconds)
