"""scikit-learn: the tree most people grow on k-means labels today, and k-means itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clustering_cost import clustering_cost, tree_cost_ratio
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier

from adapters import Contestant, Task


def _decision_tree(task: Task) -> Callable[[], DecisionTreeClassifier]:
    tree = DecisionTreeClassifier(max_leaf_nodes=task.n_clusters, random_state=task.seed)
    return lambda: tree.fit(task.X, task.labels)


def _decision_tree_outcome(tree: Any, task: Task) -> dict[str, float]:
    return {"n_leaves": int(tree.get_n_leaves()), "cost_ratio": tree_cost_ratio(tree.predict(task.X), task)}


def _k_means(n_init: int) -> Callable[[Task], Callable[[], KMeans]]:
    def prepare(task: Task) -> Callable[[], KMeans]:
        model = KMeans(task.n_clusters, n_init=n_init, random_state=task.seed)
        return lambda: model.fit(task.X)

    return prepare


def _k_means_outcome(model: Any, task: Task) -> dict[str, float]:
    return {"inertia": clustering_cost(task.X, model.cluster_centers_), "n_iterations": model.n_iter_}


def contestants() -> list[Contestant]:
    return [
        Contestant(
            "decision-tree", "DecisionTreeClassifier, k leaves", "tree", _decision_tree, outcome=_decision_tree_outcome
        ),
        Contestant("k-means-1", "KMeans(n_init=1)", "whole", _k_means(1), outcome=_k_means_outcome),
        Contestant("k-means-10", "KMeans(n_init=10)", "whole", _k_means(10), outcome=_k_means_outcome, heavy=True),
    ]
