"""The best clusterings of small tables, by enumeration, and what clusterings cost by definition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def partitions(n: int, k: int) -> Iterator[np.ndarray]:
    """Every partition of n rows into exactly k parts, each written once."""

    def extend(prefix: list[int], used: int) -> Iterator[list[int]]:
        if len(prefix) == n:
            if used == k:
                yield prefix
            return
        if used + n - len(prefix) < k:
            return
        for part in range(min(used + 1, k)):
            yield from extend([*prefix, part], max(used, part + 1))

    for found in extend([], 0):
        yield np.array(found)


def side_centers(X: np.ndarray, labels: np.ndarray, objective: str) -> np.ndarray:
    """Means, or medians, of the clusters 0, 1, ..."""
    of = np.mean if objective == "kmeans" else np.median
    return np.array([of(X[labels == j], axis=0) for j in range(labels.max() + 1)])


def clustering_cost(X: np.ndarray, labels: np.ndarray, objective: str) -> float:
    """Cost of clusters, each with its own center."""
    cost = 0.0
    for j in np.unique(labels):
        rows = X[labels == j]
        if objective == "kmeans":
            cost += float(((rows - rows.mean(axis=0)) ** 2).sum())
        else:
            cost += float(np.abs(rows - np.median(rows, axis=0)).sum())
    return cost


def optimum(X: np.ndarray, k: int, objective: str) -> tuple[float, np.ndarray]:
    """The least cost of any k clusters, and labels that have it."""
    best = min(partitions(len(X), k), key=lambda labels: clustering_cost(X, labels, objective))
    return clustering_cost(X, best, objective), best


def single_cuts(X: np.ndarray) -> Iterator[np.ndarray]:
    """The labels of every cut of every column."""
    for column in X.T:
        for value in np.unique(column)[:-1]:
            yield (column > value).astype(np.intp)
