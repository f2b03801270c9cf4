"""The ExKMC paper's experiments: cost, accuracy and time against the number of leaves, compared with other trees.

The grids of CUBT's and CLTree's parameters are searched for the cheapest tree of every size, as the paper did.
"""

from __future__ import annotations

import time
from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from cutwise import ExplainableKMeans, datasets, metrics
from cutwise.baselines import CART, CLTREE_GRID, CUBT, CUBT_GRID, KDTree
from cutwise.baselines.base import Task
from cutwise.baselines.cltree import finish_pruned, grow_with_virtual_points, prune_sparse
from cutwise.bench.measures import BenchReference, Trees, figures_of, fit_quietly, kmeans_reference_of, trees_of
from cutwise.bench.runner import Experiment, Options, Record, markdown_table
from cutwise.core import Float64
from cutwise.datasets import CATALOG
from cutwise.estimators import encode_rows
from cutwise.reference.objective import from_centers
from cutwise.table.intake import read_table
from cutwise.tree.threshold_tree import ThresholdTree

SYNTHETIC = {"synthetic_i": "Synthetic I", "synthetic_ii": "Synthetic II"}

HEADINGS = {
    "exkmc_imm": "ExKMC (base: IMM)",
    "exkmc": "ExKMC",
    "cart": "CART",
    "kdtree": "KDTree",
    "cltree": "CLTree",
    "cubt": "CUBT",
}

LARGEST_SEARCH = 10_000
"""Rows up to which CLTree's and CUBT's grids are searched; the paper, too, has them only on small real sets."""


def sizes_of(n_clusters: int) -> list[int]:
    """Numbers of leaves from k to 4 k, in steps of k / 2."""
    return sorted({int(n_clusters * factor) for factor in (1, 1.5, 2, 2.5, 3, 3.5, 4)})


def _table(options: Options, name: str) -> tuple[Any, int]:
    loaded = options.real(name, "raw")
    return loaded.X, loaded.n_clusters


@cache
def _cltree_search(options: Options, name: str) -> CltreeSearch:
    return CltreeSearch(_table(options, name)[0])


def _start(options: Options, name: str, seed: int) -> tuple[Any, int, BenchReference]:
    """Rows, k, and the reference: k-means, or the planted clusters of the synthetic sets."""
    if name in SYNTHETIC:
        planted = getattr(datasets, f"make_{name}")(random_state=seed)
        return planted.X, planted.n_clusters, BenchReference(planted.centers, planted.labels, planted.cost, 0.0)
    X, k = _table(options, name)
    return X, k, kmeans_reference_of(X, k, seed)


def _work(options: Options, name: str, seed: int) -> Record:
    """All trees of all sizes from the same reference."""
    X, k, reference = _start(options, name, seed)
    sizes = sizes_of(k)
    found: dict[str, list[dict[str, float]]] = defaultdict(list)

    def keep(algorithm: str, size: int, tree: Any, seconds: float) -> None:
        found[algorithm].append({"size": size, **figures_of(tree, X, reference, seconds)})

    for size in sizes:
        for heading, algorithm in (("exkmc_imm", "imm"), ("exkmc", "exkmc")):
            keep(heading, size, *_grow(ExplainableKMeans, X, k, size, reference, algorithm=algorithm))
        for heading, baseline in (("cart", CART), ("kdtree", KDTree)):
            keep(heading, size, *_grow(baseline, X, k, size, reference))
    if name not in SYNTHETIC and len(X) <= LARGEST_SEARCH:
        for size in sizes:
            keep("cubt", size, *_grow(CUBT, X, k, size, reference, **cubt_parameters(options, name, size)))
            start = time.process_time()
            keep("cltree", size, _cltree_search(options, name).tree(size, reference), time.process_time() - start)
    return {"kmeans_seconds": reference.seconds, "reference_cost": reference.cost, "trees": dict(found)}


def _grow(make: Any, X: Any, k: int, size: int, reference: BenchReference, **options: Any) -> tuple[Any, float]:
    model, seconds = fit_quietly(make(k, max_leaves=size, reference=reference.centers, **options), X)
    return model, seconds


def report(records: list[Record]) -> dict[str, str]:
    """Tables from the records of the jobs."""
    trees = trees_of(records)
    return {
        "curves.md": _curve_tables(trees, "cost_ratio", "Cost ratio"),
        "accuracy.md": _curve_tables(trees, "accuracy", "Share of rows in their reference cluster"),
        "surrogate.md": _surrogate_table(trees),
        "time.md": _time_table(trees),
    }


def title_of(name: str) -> str:
    """The printed name of a data set."""
    return SYNTHETIC.get(name) or CATALOG[name].title


def _curve_tables(trees: Trees, figure: str, what: str) -> str:
    parts = [
        f"# ExKMC paper: {what.lower()} against the number of leaves\n\n"
        "Medians over the references; the parameters of CLTree and CUBT are the cheapest of the paper's grids at every "
        "size, and like KDTree they may end with fewer leaves than the size allows.\n"
    ]
    for name, algorithms in trees.items():
        medians = {a: algorithms[a].groupby("size")[figure].median() for a in HEADINGS if a in algorithms}
        rows = [[HEADINGS[a], *(f"{value:.3f}" for value in of_sizes)] for a, of_sizes in medians.items()]
        header = ("leaves at most", *map(str, medians["exkmc"].index))
        parts.append(f"\n## {title_of(name)}\n\n" + markdown_table(header, rows))
    return "".join(parts)


def _surrogate_table(trees: Trees) -> str:
    rows = []
    for name, algorithms in trees.items():
        medians = algorithms["exkmc_imm"].groupby("size")[["surrogate_ratio", "cost_ratio"]].median()
        surrogate, cost = medians["surrogate_ratio"], medians["cost_ratio"]
        rows.append([title_of(name), "surrogate", *(f"{value:.3f}" for value in surrogate)])
        rows.append(["", "cost", *(f"{value:.3f}" for value in cost)])
        rows.append(["", "apart", *(f"{100 * each:.1f} %" for each in surrogate / cost - 1)])
    header = ("set", "", "k leaves", "1.5 k", "2 k", "2.5 k", "3 k", "3.5 k", "4 k")
    return (
        "# ExKMC paper, Figure 5: surrogate cost and true cost\n\n"
        "ExKMC from IMM's tree. Both over the reference's cost, medians over the references. Sizes are rounded "
        "down.\n\n" + markdown_table(header, rows, left=2)
    )


def _time_table(trees: Trees) -> str:
    rows = []
    for name, algorithms in trees.items():
        seconds = {a: own.groupby("size")["seconds"].median() for a, own in algorithms.items()}
        sizes = seconds["exkmc_imm"].index
        k, double = sizes[0], 2 * sizes[0]
        shown = (("exkmc_imm", k), ("exkmc_imm", double), ("exkmc", double), ("cart", double), ("kdtree", double))
        of_kmeans = algorithms["exkmc_imm"]["kmeans_seconds"].median()
        rows.append(
            [
                title_of(name),
                "" if name in SYNTHETIC else f"{of_kmeans:.2f}",
                *(f"{seconds[a][size]:.3f}" if a in seconds else "" for a, size in shown),
            ]
        )
    return (
        "# ExKMC paper, Figure 4: run time\n\n"
        "Seconds of CPU, medians over the references. k-means: ten starts of scikit-learn's; the trees take this on "
        "top: reading the rows, costs by the given centers, growing, and every fitted attribute.\n\n"
        + markdown_table(
            ("set", "k-means", "IMM, k leaves", "ExKMC (base: IMM), 2 k", "ExKMC, 2 k", "CART, 2 k", "KDTree, 2 k"),
            rows,
        )
    )


EXKMC = Experiment(
    name="exkmc",
    title="ExKMC paper: cost, accuracy and time against the number of leaves",
    sets=(
        "iris", "wine", "breast_cancer", "digits", "mice_1080x69", "anuran", "avila", "covtype", "covtype_93k",
        "newsgroups_counts", "cifar10", *SYNTHETIC,
    ),
    quick_sets=("iris", "wine", "breast_cancer", "digits"),
    seeds=5,
    key=lambda _: {"scaling": "raw"},
    work=_work,
    report=report,
    sets_of_one_seed=tuple(SYNTHETIC),
)  # fmt: skip


# ---- the grid searches


@cache
def cubt_parameters(options: Options, name: str, size: int) -> dict[str, Any]:
    """The parameters of CUBT's grid with the cheapest tree of at most ``size`` leaves; CUBT ignores the reference."""
    X, n_clusters = _table(options, name)

    def cost(parameters: Any) -> float:
        model, _ = fit_quietly(CUBT(n_clusters, max_leaves=size, reference=X[:n_clusters], **parameters), X)
        return float(model.cost_)

    return dict(min(ParameterGrid(CUBT_GRID), key=cost))


class CltreeSearch:
    """CLTree's grid on one table: grown once, pruned in every way.

    ``X`` (n, d).
    """

    def __init__(self, X: Float64) -> None:
        ones = np.ones(len(X), dtype=np.int64)
        self._table = read_table(X)
        self._rows = encode_rows(self._table, self._table, None, merge=False, n_jobs=1)
        self._grown = grow_with_virtual_points(X, ones, min(CLTREE_GRID["min_split"]))
        # Most values of the grid give the same pruning.
        prunings = (tuple(prune_sparse(self._grown, **values)) for values in ParameterGrid(CLTREE_GRID))
        self._prunings = list(dict.fromkeys(prunings))

    def tree(self, size: int, reference: BenchReference) -> ThresholdTree:
        """The cheapest tree of at most ``size`` leaves; larger prunings are cut back as the estimator does."""
        of_rows = from_centers(self._table, reference.centers, len(reference.centers))
        task = Task(self._rows, of_rows, size)
        trees = (finish_pruned(self._grown, leaves, task) for leaves in self._prunings)
        return min(trees, key=lambda grown: metrics.partition_cost(task.values, grown.codes)).tree
