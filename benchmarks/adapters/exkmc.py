"""ExKMC, the package of the authors of the IMM and ExKMC papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from clustering_cost import tree_cost_ratio

from adapters import Contestant, Task, UnavailableError
from adapters.authors import exkmc_package, why_not_importable


def _tree(base_tree: str, leaves_per_cluster: int) -> Callable[[Task], Callable[[], Any]]:
    return lambda task: exkmc_package(task.X, task.centers, leaves_per_cluster * task.n_clusters, base_tree)


def _outcome(tree: Any, task: Task) -> dict[str, float]:
    return {"cost_ratio": tree_cost_ratio(tree.predict(task.X).astype(np.intp), task)}


def contestants() -> list[Contestant]:
    if why := why_not_importable("ExKMC"):
        raise UnavailableError(f"the package ExKMC cannot be imported ({why})")
    return [
        Contestant(key, title, "tree", _tree(base_tree, leaves), outcome=_outcome, heavy=True)
        for key, title, base_tree, leaves in (
            ("exkmc-package-imm", "ExKMC package, IMM", "IMM", 1),
            ("exkmc-package-exkmc", "ExKMC package, ExKMC to 2k leaves", "NONE", 2),
        )
    ]
