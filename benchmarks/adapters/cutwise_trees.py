"""cutwise: trees from a given reference, and whole fits.

``tree-...`` does what a DecisionTreeClassifier does for the same rows and labels: it takes the rows, the reference
labels and the reference centers, and checks the rows, encodes them, finds each row's costs by the centers where the
algorithm needs them, and grows the tree. Finding the reference is not part of it, and neither are the figures that an
estimator works out after the tree is grown. ``given-...`` is a whole ``fit`` with the centers given, ``whole-...``
one from rows alone: reference, tree and all fitted attributes. ``labels-auto`` is one with the labels given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clustering_cost import clustering_cost, tree_cost_ratio

from adapters import Contestant, Task, UnavailableError

# Name, title, leaves per cluster. The search is no tree of one growth, and always a fit.
_IMM, _EXSHALLOW, _EXKMC = ("imm", "IMM", 1), ("exshallow", "ExShallow", 1), ("exkmc", "ExKMC to 2k leaves", 2)
_GROWN = (_IMM, ("exgreedy", "ExGreedy", 1), _EXSHALLOW, _EXKMC)
_FITTED = (("search", "search (the default)", 1), _IMM, _EXSHALLOW, _EXKMC)


def _tree(algorithm: str, leaves_per_cluster: int, jobs: int) -> Callable[[Task], Callable[[], Any]]:
    def prepare(task: Task) -> Callable[[], Any]:
        from cutwise.reference.objective import LazyCosts
        from cutwise.table.intake import read_table
        from cutwise.table.table import encode_table
        from cutwise.tree.provider import GrowthSpec, MemoryProvider
        from cutwise.tree.recipes import grow_on

        def work() -> Any:
            table = encode_table(read_table(task.X), n_jobs=jobs)
            labels = task.labels if table.row_of is None else task.labels[table.row_of]
            costs = LazyCosts(table.matrix, task.centers, weights=table.weights, n_jobs=jobs)
            provider, most = MemoryProvider(table, labels, costs, jobs), leaves_per_cluster * task.n_clusters
            return grow_on(provider, task.centers, GrowthSpec(algorithm, most)).tree

        return work

    return prepare


def _tree_outcome(tree: Any, task: Task) -> dict[str, float]:
    return {"n_leaves": tree.n_leaves, "depth": tree.depth, "cost_ratio": tree_cost_ratio(tree.predict(task.X), task)}


def _fit(algorithm: str, leaves_per_cluster: int, jobs: int, *, given: bool) -> Callable[[Task], Callable[[], Any]]:
    def prepare(task: Task) -> Callable[[], Any]:
        from cutwise import ExplainableKMeans

        model = ExplainableKMeans(
            task.n_clusters,
            algorithm=algorithm,
            max_leaves=leaves_per_cluster * task.n_clusters,
            reference=task.centers if given else None,
            random_state=task.seed,
            n_jobs=jobs,
        )
        return lambda: model.fit(task.X)

    return prepare


def _fit_outcome(model: Any, task: Task) -> dict[str, float]:
    return {
        "n_leaves": model.n_leaves_,
        "depth": model.depth_,
        "cost_ratio": model.cost_ratio_,
        "inertia": model.cost_,
        "reference_inertia": clustering_cost(task.X, model.reference_.centers),
    }


def _explain(jobs: int) -> Callable[[Task], Callable[[], Any]]:
    def prepare(task: Task) -> Callable[[], Any]:
        from cutwise import ClusterExplainer

        model = ClusterExplainer(max_leaves=task.n_clusters, n_jobs=jobs)
        return lambda: model.fit(task.X, task.labels)

    return prepare


def _explain_outcome(model: Any, task: Task) -> dict[str, float]:
    return {"n_leaves": model.n_leaves_, "depth": model.depth_, "agreement": model.agreement_}


def _contestants(jobs: int) -> list[Contestant]:
    suffix, threads = ("", "") if jobs == 1 else (f"-{jobs}-threads", f", {jobs} threads")
    trees = [
        Contestant(f"tree-{key}{suffix}", f"cutwise {title}{threads}", "tree", _tree(key, leaves, jobs), _tree_outcome)
        for key, title, leaves in _GROWN
    ]
    fits = [
        Contestant(
            f"{kind}-{key}{suffix}",
            f"cutwise {title}, {words}{threads}",
            kind,
            _fit(key, leaves, jobs, given=kind == "given"),
            _fit_outcome,
        )
        for kind, words in (("given", "fit to given centers"), ("whole", "whole fit"))
        for key, title, leaves in _FITTED
    ]
    title = f"cutwise ClusterExplainer, fit to given labels{threads}"
    return [*trees, *fits, Contestant(f"labels-auto{suffix}", title, "given", _explain(jobs), _explain_outcome)]


def contestants() -> list[Contestant]:
    try:
        import cutwise.tree.recipes  # noqa: F401
    except ImportError as error:
        raise UnavailableError(
            f"cutwise cannot be imported ({error}); `pip install .` in the project's root"
        ) from error
    return _contestants(1)


def parallel_contestants(jobs: int) -> list[Contestant]:
    return _contestants(jobs)
