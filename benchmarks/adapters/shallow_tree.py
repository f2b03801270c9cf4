"""ShallowTree, the package of the authors of the ExShallow paper.

It merges equal rows, then evaluates every cut of every column against a table of distances, distinct rows x centers,
which it sorts anew for every node and column. Larger tasks are left out: a million distinct rows, 85 columns and 24
centers take seven minutes, and a hundred centers tens of gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from clustering_cost import n_distinct_rows, tree_cost_ratio

from adapters import Contestant, Task, UnavailableError
from adapters.authors import shallow_tree_package, why_not_importable

# Distinct rows times centers beyond which a tree is left out.
_LARGEST_TABLE = 1.5e7


def _tree(depth_factor: float) -> Callable[[Task], Callable[[], Any]]:
    return lambda task: shallow_tree_package(task.X, task.centers, depth_factor)


def _too_large(task: Task) -> str:
    if n_distinct_rows(task.X) * task.n_clusters <= _LARGEST_TABLE:
        return ""
    return "it takes many minutes, or more memory than most machines have, at this size"


def _outcome(tree: Any, task: Task) -> dict[str, float]:
    return {"cost_ratio": tree_cost_ratio(tree.predict(task.X).astype(np.intp), task)}


def contestants() -> list[Contestant]:
    if why := why_not_importable("ShallowTree"):
        raise UnavailableError(f"the package ShallowTree cannot be imported ({why})")
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
