"""ExKMC, the package of the authors of the IMM and ExKMC papers (https://github.com/navefr/ExKMC).

Its ``fit`` first assigns the rows to the given centers; that is a small part of its time and is left in. It cannot be
installed from PyPI on Python 3.11 and newer: the C source in its archive was generated for older interpreters and has
to be generated again from its Cython source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from clustering_cost import tree_cost_ratio
from sklearn.cluster import KMeans

from adapters import Contestant, Task, UnavailableError


def fitted_k_means(task: Task, dtype: type) -> KMeans:
    """A KMeans that holds the task's reference, its centers of the type in which the package passes rows to it."""
    few = task.X[: task.n_clusters]
    model = KMeans(task.n_clusters, init=few, n_init=1, max_iter=1).fit(few)
    model.cluster_centers_ = np.ascontiguousarray(task.centers, dtype=dtype)
    return model


def _tree(base_tree: str, leaves_per_cluster: int) -> Callable[[Task], Callable[[], Any]]:
    def prepare(task: Task) -> Callable[[], Any]:
        from ExKMC.Tree import Tree

        tree = Tree(task.n_clusters, max_leaves=leaves_per_cluster * task.n_clusters, base_tree=base_tree, n_jobs=1)
        reference = fitted_k_means(task, np.float64)
        return lambda: tree.fit(task.X, reference)

    return prepare


def _outcome(tree: Any, task: Task) -> dict[str, float]:
    return {"cost_ratio": tree_cost_ratio(tree.predict(task.X).astype(np.intp), task)}


def contestants() -> list[Contestant]:
    try:
        import ExKMC.Tree  # noqa: F401
    except ImportError as error:
        raise UnavailableError(f"the package ExKMC cannot be imported ({error})") from error
    return [
        Contestant(key, title, "tree", _tree(base_tree, leaves), outcome=_outcome, heavy=True)
        for key, title, base_tree, leaves in (
            ("exkmc-package-imm", "ExKMC package, IMM", "IMM", 1),
            ("exkmc-package-exkmc", "ExKMC package, ExKMC to 2k leaves", "NONE", 2),
        )
    ]
