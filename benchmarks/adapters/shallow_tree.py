"""ShallowTree, the package of the authors of the ExShallow paper (https://github.com/lmurtinho/ShallowTree).

It needs ExKMC. It merges equal rows, then evaluates every cut of every column against a table of distances, distinct
rows x centers, which it sorts anew for every node and column. Larger tasks are left out: a million distinct rows, 85
columns and 24 centers take seven minutes, and a hundred centers tens of gigabytes.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from clustering_cost import n_distinct_rows, tree_cost_ratio

from adapters import Contestant, Task, UnavailableError
from adapters.exkmc import fitted_k_means

# Distinct rows times centers beyond which a tree is left out.
_LARGEST_TABLE = 1.5e7


def _tree(depth_factor: float) -> Callable[[Task], Callable[[], Any]]:
    def prepare(task: Task) -> Callable[[], Any]:
        module = importlib.import_module("ShallowTree.ShallowTree")

        # Its fit calls predict on a KMeans that was never fitted; current versions then miss what fitting sets.
        if not hasattr(module.KMeans, "_n_threads"):
            module.KMeans = type("KMeans", (module.KMeans,), {"_n_threads": 1})
        reference = fitted_k_means(task, task.X.dtype.type)
        if "centers" in inspect.signature(module.ShallowTree.fit).parameters:  # the version on PyPI
            tree = module.ShallowTree(task.n_clusters, depth_factor=depth_factor)
            return lambda: tree.fit(task.X, reference.cluster_centers_)
        tree = module.ShallowTree(task.n_clusters)
        return lambda: tree.fit(task.X, reference, depth_factor=depth_factor)

    return prepare


def _too_large(task: Task) -> str:
    if n_distinct_rows(task.X) * task.n_clusters <= _LARGEST_TABLE:
        return ""
    return "it takes many minutes, or more memory than most machines have, at this size"


def _outcome(tree: Any, task: Task) -> dict[str, float]:
    return {"cost_ratio": tree_cost_ratio(tree.predict(task.X).astype(np.intp), task)}


def contestants() -> list[Contestant]:
    try:
        from ShallowTree import ShallowTree  # noqa: F401
    except (ImportError, OSError) as error:
        raise UnavailableError(f"the package ShallowTree cannot be imported ({error})") from error
    return [
        Contestant(
            f"shallow-tree-package-{key}",
            f"ShallowTree package, {title}",
            "tree",
            _tree(depth_factor),
            outcome=_outcome,
            too_large=_too_large,
            heavy=True,
        )
        for key, title, depth_factor in (("exgreedy", "ExGreedy", 0.0), ("exshallow", "ExShallow", 0.03))
    ]
