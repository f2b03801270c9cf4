"""What a finished tree costs and how long its rules are, by definition. A tree is anything with the public arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def paths(tree: Any) -> Iterator[tuple[int, list[tuple[int, str, float]]]]:
    """Each leaf with its conditions (feature, "<=" or ">", threshold) from the root; one-sided tests only."""
    waiting: list[tuple[int, list[tuple[int, str, float]]]] = [(0, [])]
    while waiting:
        node, path = waiting.pop()
        if tree.children_left[node] < 0:
            yield node, path
            continue
        assert not np.isfinite(tree.lower[node]), "interval tests have no one-sided path"
        feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
        waiting.append((int(tree.children_left[node]), [*path, (feature, "<=", threshold)]))
        waiting.append((int(tree.children_right[node]), [*path, (feature, ">", threshold)]))


def leaf_of_rows(tree: Any, values: np.ndarray) -> np.ndarray:
    """The leaf of every row: the one all of whose conditions it meets."""
    found = np.full(len(values), -1)
    for leaf, path in paths(tree):
        inside = np.ones(len(values), dtype=bool)
        for feature, direction, threshold in path:
            below = values[:, feature].astype(np.float64) <= threshold
            inside &= below if direction == "<=" else ~below
        found[inside] = leaf
    return found


def n_needed(path: list[tuple[int, str, float]]) -> int:
    """Conditions that are not redundant: one per feature and direction, the tightest."""
    return len({(feature, direction) for feature, direction, _ in path})


def _average_over_rows(tree: Any, values: np.ndarray, weights: np.ndarray | None, size: Any) -> float:
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    of_leaf = {leaf: size(path) for leaf, path in paths(tree)}
    sizes = np.array([of_leaf[leaf] for leaf in leaf_of_rows(tree, values)], dtype=np.float64)
    return float((sizes * weights).sum() / weights.sum())


def weighted_average_depth(tree: Any, values: np.ndarray, weights: np.ndarray | None = None) -> float:
    return _average_over_rows(tree, values, weights, len)


def weighted_average_explanation_size(tree: Any, values: np.ndarray, weights: np.ndarray | None = None) -> float:
    return _average_over_rows(tree, values, weights, n_needed)


def clusters_of_rows(tree: Any, values: np.ndarray) -> np.ndarray:
    return np.asarray(tree.cluster)[leaf_of_rows(tree, values)]


def partition_cost(clusters: np.ndarray, metric_rows: np.ndarray, weights: np.ndarray | None = None) -> float:
    """k-means cost of a partition, every cluster with its own weighted mean."""
    rows = np.asarray(metric_rows, dtype=np.longdouble)
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
    cost = np.longdouble(0)
    for cluster in np.unique(clusters):
        here = (clusters == cluster) & (weights > 0)
        if not here.any():
            continue
        weight = weights[here].astype(np.longdouble)[:, None]
        mean = (rows[here] * weight).sum(axis=0) / weight.sum()
        cost += (((rows[here] - mean) ** 2) * weight).sum()
    return float(cost)


def partition_medians_cost(clusters: np.ndarray, metric_rows: np.ndarray, weights: np.ndarray | None = None) -> float:
    """k-medians cost of a partition: l1 to each cluster's own coordinate-wise weighted median."""
    rows = np.asarray(metric_rows, dtype=np.float64)
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
    cost = 0.0
    for cluster in np.unique(clusters):
        here = (clusters == cluster) & (weights > 0)
        for column in rows[here].T:
            # Any minimizer will do: the cost is the least over the data values themselves.
            cost += min((((np.abs(column - value)) * weights[here]).sum() for value in np.unique(column)), default=0.0)
    return float(cost)


OWN_COST = {"kmeans": partition_cost, "kmedians": partition_medians_cost}
"""Cost of a partition whose clusters have centers of their own, by objective."""

TERM = {"kmeans": np.square, "kmedians": np.abs}
"""What a difference in one column costs, by objective."""


def fixed_center_cost(
    clusters: np.ndarray,
    metric_rows: np.ndarray,
    centers: np.ndarray,
    weights: np.ndarray | None = None,
    objective: str = "kmeans",
) -> float:
    """Surrogate cost: cost of every row by the reference center of its leaf's label."""
    rows = np.asarray(metric_rows, dtype=np.longdouble)
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
    offsets = rows - np.asarray(centers, dtype=np.longdouble)[clusters]
    return float((TERM[objective](offsets).sum(axis=1) * weights).sum())


def n_mistakes(tree: Any, values: np.ndarray, labels: np.ndarray) -> int:
    return int((clusters_of_rows(tree, values) != np.asarray(labels)).sum())
