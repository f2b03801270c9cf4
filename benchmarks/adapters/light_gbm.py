"""LightGBM: one boosted tree of k leaves, the fastest widely used histogram tree, as a yardstick of speed.

Both its binning (255 bins a column) and the growth of one tree are timed. The target is the number of the reference
cluster, as a regression: LightGBM's multiclass objective would grow k trees, one a class, where one tree is wanted.
The tree is therefore comparable in work, and not in meaning: its leaves hold means of cluster numbers.
``force_col_wise`` is set because the automatic choice times both layouts first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adapters import Contestant, Task, UnavailableError


def _one_tree(task: Task) -> Callable[[], Any]:
    import lightgbm

    parameters = {
        "objective": "regression",
        "num_leaves": task.n_clusters,
        "num_threads": 1,
        "max_bin": 255,
        "min_data_in_leaf": 1,
        "feature_pre_filter": False,
        "force_col_wise": True,
        "deterministic": True,
        "seed": task.seed,
        "verbosity": -1,
    }
    target = task.labels.astype(np.float32)

    def work() -> Any:
        data = lightgbm.Dataset(task.X, label=target, params=parameters)
        return lightgbm.train(parameters, data, num_boost_round=1)

    return work


def _outcome(booster: Any, task: Task) -> dict[str, float]:
    return {"n_leaves": int(booster.dump_model()["tree_info"][0]["num_leaves"])}


def contestants() -> list[Contestant]:
    try:
        import lightgbm  # noqa: F401
    except ImportError as error:
        raise UnavailableError(f"LightGBM cannot be imported ({error}); `pip install lightgbm` adds it") from error
    return [Contestant("lightgbm", "LightGBM, binning + one tree", "tree", _one_tree, outcome=_outcome)]
