"""Costs of clusterings by their definitions, in float64, so that all contestants are judged by one ruler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from adapters import Task

__all__ = ["clustering_cost", "n_distinct_rows", "partition_cost", "tree_cost_ratio"]

# Rows a block: the block's float64 distances to 104 centers stay near 50 MB.
_BLOCK = 1 << 16


def clustering_cost(X: np.ndarray, centers: np.ndarray) -> float:
    """Sum of the squared distances of all rows to their nearest center.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    centers : ndarray of shape (n_centers, n_columns)

    Returns
    -------
    cost : float
        In squared units of the columns.
    """
    middle = np.asarray(centers, dtype=np.float64).mean(axis=0)
    centers = np.asarray(centers, dtype=np.float64) - middle
    norms = (centers**2).sum(axis=1)
    cost = 0.0
    for start in range(0, len(X), _BLOCK):
        rows = X[start : start + _BLOCK] - middle
        distance = norms - 2.0 * (rows @ centers.T)
        cost += float((distance.min(axis=1) + (rows**2).sum(axis=1)).sum())
    return cost


def partition_cost(X: np.ndarray, labels: np.ndarray, n_clusters: int) -> float:
    """Sum of the squared distances of all rows to the mean of their cluster, labels in ``0..n_clusters - 1``."""
    cost = 0.0
    for cluster in range(n_clusters):
        rows = X[labels == cluster].astype(np.float64)
        if len(rows):
            cost += float(((rows - rows.mean(axis=0)) ** 2).sum())
    return cost


def tree_cost_ratio(labels: np.ndarray, task: Task) -> float:
    """Cost of a tree's partition, each cluster with its own mean, divided by the cost of the task's reference."""
    return partition_cost(task.X, labels, task.n_clusters) / clustering_cost(task.X, task.centers)


def n_distinct_rows(X: np.ndarray) -> int:
    """Number of different rows, up to collisions of a 64-bit hash."""
    words = np.ascontiguousarray(X, dtype=np.float32).view(np.uint32)
    code = np.zeros(len(X), dtype=np.uint64)
    for column in range(X.shape[1]):
        code ^= words[:, column]
        code *= np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(29)
    return len(np.unique(code))
