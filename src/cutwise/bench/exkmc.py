"""The ExKMC paper's experiments: cost, accuracy and time against the number of leaves, beside other trees.

The grids of CUBT's and CLTree's parameters are searched for the cheapest tree of every size, as the paper did.
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from cutwise import ExplainableKMeans, datasets
from cutwise.baselines import CLTREE_GRID, CUBT, CUBT_GRID, KDTree
from cutwise.baselines.base import Sketch, Task, finish_tree, label_by_surrogate_cost
from cutwise.baselines.cltree import cut_back, grow_with_virtual_points, prune_sparse
from cutwise.baselines.cubt import grow_by_deviance, join_nearest, nearest_distances, prune_nearest
from cutwise.bench.measures import BenchReference, Sample, figures_of, fit_quietly, kmeans_reference_of
from cutwise.bench.runner import Experiment, Record, Sets, markdown_table
from cutwise.core import Float64, Int32
from cutwise.datasets import CATALOG
from cutwise.estimators import encode_rows
from cutwise.exceptions import EmptyClusterWarning
from cutwise.reference.objective import from_centers
from cutwise.table.intake import read_table
from cutwise.tree.cart import cart_trees
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
"""Rows up to which CLTree's and CUBT's grids are searched; the paper, too, has them on its small real sets only."""


def sizes_of(n_clusters: int) -> list[int]:
    """Numbers of leaves from k to 4 k, in steps of k / 2."""
    return sorted({int(n_clusters * factor) for factor in (1, 1.5, 2, 2.5, 3, 3.5, 4)})


def _table(sets: Sets, name: str) -> tuple[Any, int]:
    loaded = sets.real(name, "raw")
    return loaded.X, loaded.n_clusters


@cache
def _cubt_search(sets: Sets, name: str) -> CubtSearch:
    X, k = _table(sets, name)
    return CubtSearch(X, k, sizes_of(k))


@cache
def _cltree_search(sets: Sets, name: str) -> CltreeSearch:
    return CltreeSearch(_table(sets, name)[0])


def _start(sets: Sets, name: str, seed: int) -> tuple[Any, int, BenchReference]:
    """Rows, k, and the reference: k-means, or the planted clusters of the synthetic sets."""
    if name in SYNTHETIC:
        planted = getattr(datasets, f"make_{name}")(random_state=seed)
        return planted.X, planted.n_clusters, BenchReference(planted.centers, planted.labels, planted.cost, 0.0)
    X, k = _table(sets, name)
    return X, k, kmeans_reference_of(X, k, seed)


def _work(sets: Sets, name: str, seed: int) -> Record:
    """All trees of all sizes from the same reference."""
    X, k, reference = _start(sets, name, seed)
    sizes = sizes_of(k)
    found: dict[str, list[dict[str, float]]] = defaultdict(list)

    def keep(algorithm: str, size: int, tree: Any, seconds: float) -> None:
        found[algorithm].append({"size": size, **figures_of(tree, X, reference, seconds)})

    for size in sizes:
        for heading, algorithm in (("exkmc_imm", "imm"), ("exkmc", "exkmc")):
            keep(heading, size, *_grow(ExplainableKMeans, X, k, size, reference, algorithm=algorithm))
        keep("kdtree", size, *_grow(KDTree, X, k, size, reference))
    start = time.perf_counter()
    table = read_table(X)
    grown = cart_trees(table.values, reference.labels, max_leaves=sizes, is_integer=table.is_integer)
    for size, each in zip(sizes, grown, strict=True):
        keep("cart", size, each.tree, time.perf_counter() - start)
    if name not in SYNTHETIC and len(X) <= LARGEST_SEARCH:
        for size in sizes:
            start = time.perf_counter()
            keep("cubt", size, _cubt_search(sets, name).tree(size, reference), time.perf_counter() - start)
            start = time.perf_counter()
            keep("cltree", size, _cltree_search(sets, name).tree(size, reference), time.perf_counter() - start)
    return {"kmeans_seconds": reference.seconds, "reference_cost": reference.cost, "trees": dict(found)}


def _grow(make: Any, X: Any, k: int, size: int, reference: BenchReference, **options: Any) -> tuple[Any, float]:
    model, seconds = fit_quietly(make(k, max_leaves=size, reference=reference.centers, **options), X)
    return model, seconds


def report(records: list[Record]) -> dict[str, str]:
    """Tables from the records of the jobs."""
    values = values_of(records)
    return {
        "curves.md": _curve_tables(values, "cost_ratio", "Cost ratio"),
        "accuracy.md": _curve_tables(values, "accuracy", "Share of rows in their reference cluster"),
        "surrogate.md": _surrogate_table(values),
        "time.md": _time_table(records, values),
    }


Values = dict[str, dict[str, dict[int, dict[str, Sample]]]]  # data set -> algorithm -> size -> figure


def values_of(records: list[Record]) -> Values:
    """The figures of every tree, over the references."""
    lists: dict[str, dict[str, dict[int, dict[str, list[float]]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    )
    for record in records:
        for algorithm, points in record["result"]["trees"].items():
            for point in points:
                for figure, value in point.items():
                    lists[record["key"]["set"]][algorithm][int(point["size"])][figure].append(value)
    return {
        name: {
            a: {size: {f: Sample(tuple(v)) for f, v in figures.items()} for size, figures in points.items()}
            for a, points in algorithms.items()
        }
        for name, algorithms in lists.items()
    }


def title_of(name: str) -> str:
    """A data set as it is printed."""
    return SYNTHETIC.get(name) or CATALOG[name].title


def _curve_tables(values: Values, figure: str, what: str) -> str:
    parts = [
        f"# ExKMC paper: {what.lower()} against the number of leaves\n\n"
        "Medians over the references; the parameters of CLTree and CUBT are the cheapest of the paper's grids at every "
        "size, and like KDTree they may end with fewer leaves than the size allows.\n"
    ]
    for name, algorithms in values.items():
        sizes = sorted(next(iter(algorithms.values())))
        rows = [
            [HEADINGS[a], *(f"{np.median(algorithms[a][size][figure].values):.3f}" for size in sizes)]
            for a in HEADINGS
            if a in algorithms
        ]
        header = ("leaves at most", *map(str, sizes))
        parts.append(f"\n## {title_of(name)}\n\n" + markdown_table(header, rows))
    return "".join(parts)


def _surrogate_table(values: Values) -> str:
    rows = []
    for name, algorithms in values.items():
        points = algorithms["exkmc_imm"]
        for figure, what in (("surrogate_ratio", "surrogate"), ("cost_ratio", "cost")):
            first = what == "surrogate"
            cells = [f"{np.median(points[size][figure].values):.3f}" for size in sorted(points)]
            rows.append([title_of(name) if first else "", what, *cells])
        apart = [
            np.median(points[size]["surrogate_ratio"].values) / np.median(points[size]["cost_ratio"].values) - 1
            for size in sorted(points)
        ]
        rows.append(["", "apart", *(f"{100 * each:.1f} %" for each in apart)])
    header = ("set", "", "k leaves", "1.5 k", "2 k", "2.5 k", "3 k", "3.5 k", "4 k")
    return (
        "# ExKMC paper, Figure 5: surrogate cost and true cost\n\n"
        "ExKMC from IMM's tree. Both over the reference's cost, medians over the references. Sizes are rounded "
        "down.\n\n" + markdown_table(header, rows, left=2)
    )


def _time_table(records: list[Record], values: Values) -> str:
    kmeans: dict[str, list[float]] = defaultdict(list)
    for record in records:
        kmeans[record["key"]["set"]].append(record["result"]["kmeans_seconds"])
    rows = []
    for name, algorithms in values.items():
        sizes = sorted(algorithms["exkmc_imm"])
        double = 2 * sizes[0]

        def seconds(algorithm: str, size: int, of: Any = algorithms) -> str:
            if algorithm not in of:
                return ""
            return f"{np.median(of[algorithm][size]['seconds'].values):.3f}"

        rows.append(
            [
                title_of(name),
                "" if name in SYNTHETIC else f"{np.median(kmeans[name]):.2f}",
                seconds("exkmc_imm", sizes[0]),
                seconds("exkmc_imm", double),
                seconds("exkmc", double),
                seconds("cart", sizes[-1]),
                seconds("kdtree", double),
            ]
        )
    return (
        "# ExKMC paper, Figure 4: run time\n\n"
        "Seconds on one thread, medians over the references, on a machine that did other work too. k-means: ten starts "
        "of scikit-learn's; the trees take this on top: reading the rows, costs by the given centers, growing, and "
        "every fitted attribute. CART is timed once, for the largest tree, which holds the smaller ones.\n\n"
        + markdown_table(
            ("set", "k-means", "IMM, k leaves", "ExKMC (base: IMM), 2 k", "ExKMC, 2 k", "CART, 4 k", "KDTree, 2 k"),
            rows,
        )
    )


EXKMC = Experiment(
    name="exkmc",
    title="ExKMC paper: cost, accuracy and time against the number of leaves",
    sets=(
        "iris",
        "wine",
        "breast_cancer",
        "digits",
        "mice_1080x69",
        "anuran",
        "avila",
        "covtype",
        "covtype_93k",
        "newsgroups_counts",
        "cifar10",
        *SYNTHETIC,
    ),
    quick_sets=("iris", "wine", "breast_cancer", "digits"),
    seeds=5,
    key=lambda _: {"scaling": "raw"},
    work=_work,
    report=report,
    sets_of_one_seed=tuple(SYNTHETIC),
)


# ---- the grid searches


class CubtSearch:
    """CUBT's grid on one table: no step of it looks at the reference, so one search serves all seeds.

    ``X`` (n, d). ``sizes``: numbers of leaves.
    """

    def __init__(self, X: Float64, n_clusters: int, sizes: list[int]) -> None:
        self._X, self._n_clusters = X, n_clusters
        ones = np.ones(len(X), dtype=np.int64)
        best = dict.fromkeys(sizes, (np.inf, dict[str, Any]()))
        seen: set[tuple[Any, ...]] = set()
        for growth in ParameterGrid({name: CUBT_GRID[name] for name in ("minsize", "mindev")}):
            sketch = grow_by_deviance(X, X, ones, minsize=int(growth["minsize"]), mindev=growth["mindev"])
            tree = (*sketch.feature, *map(str, sketch.cut))
            if tree in seen:
                continue
            seen.add(tree)
            distances = _Distances(sketch, X)
            for pruning in ParameterGrid({name: CUBT_GRID[name] for name in ("mindist", "alpha")}):
                alpha = pruning["alpha"]
                for size in sizes:
                    is_leaf = prune_nearest(
                        sketch, X, ones, n_leaves=size, known=distances.of_siblings[alpha], **pruning
                    )
                    leaves = sketch.leaves_under(is_leaf)
                    rows = [sketch.rows[leaf] for leaf in leaves]
                    near = [distances.to_node(leaf) for leaf in leaves]
                    group = join_nearest(X, ones, rows, alpha, n_clusters, near)
                    codes = np.empty(len(X), dtype=np.int32)
                    for of_leaf, cluster in zip(rows, group, strict=True):
                        codes[of_leaf] = cluster
                    cost = _own_cost(X, codes)
                    if cost < best[size][0] * (1 - 1e-12):
                        best[size] = cost, {**growth, **pruning}
        self.parameters = {size: parameters for size, (_, parameters) in best.items()}

    def tree(self, size: int, reference: BenchReference) -> ThresholdTree:
        """The cheapest tree of at most ``size`` leaves, its clusters numbered as the reference's."""
        model = CUBT(self._n_clusters, max_leaves=size, reference=reference.centers, **self.parameters[size])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyClusterWarning)
            return model.fit(self._X).tree_


class _Distances:
    """Distances that one grown tree needs again and again, each found once."""

    def __init__(self, sketch: Sketch, X: Float64) -> None:
        self._sketch, self._X = sketch, X
        self._to_node: dict[int, Float64] = {}
        self.of_siblings: dict[float, dict[int, float]] = defaultdict(dict)

    def to_node(self, node: int) -> Float64:
        """Distance of every row to the node's nearest row."""
        if node not in self._to_node:
            self._to_node[node] = nearest_distances(self._X[self._sketch.rows[node]], self._X)
        return self._to_node[node]


class CltreeSearch:
    """CLTree's grid on one table: grown once, pruned in every way.

    ``X`` (n, d).
    """

    def __init__(self, X: Float64) -> None:
        ones = np.ones(len(X), dtype=np.int64)
        self._table = read_table(X)
        self._rows = encode_rows(self._table, self._table, None, merge=False, n_jobs=1)
        self._grown = grow_with_virtual_points(X, ones, min(CLTREE_GRID["min_split"]))
        # Most values of the grid prune alike.
        self._prunings = {tuple(prune_sparse(self._grown, **values)): values for values in ParameterGrid(CLTREE_GRID)}

    def tree(self, size: int, reference: BenchReference) -> ThresholdTree:
        """The cheapest tree of at most ``size`` leaves; larger prunings are cut back as the estimator does."""
        of_rows = from_centers(self._table, reference.centers, len(reference.centers))
        task = Task(self._rows, of_rows, size)
        best: tuple[float, ThresholdTree] | None = None
        tried: set[tuple[int, ...]] = set()
        cluster_of: dict[int, int] = {}
        for leaves in self._prunings:
            for leaf in leaves:
                if leaf not in cluster_of:
                    cluster_of[leaf] = task.best_cluster(self._grown.sketch.rows[leaf])
            kept = tuple(cut_back(self._grown, {leaf: cluster_of[leaf] for leaf in leaves}, size))
            if kept in tried:
                continue
            tried.add(kept)
            tree, _ = self._grown.sketch.draw(task, list(kept))
            label_by_surrogate_cost(tree, task)
            grown = finish_tree(tree)
            cost = _own_cost(task.values, grown.codes)
            if best is None or cost < best[0]:
                best = cost, grown.tree
        assert best is not None
        return best[1]


def _own_cost(X: Float64, codes: Int32) -> float:
    """k-means cost of a partition, each cluster with its own mean."""
    centered = X - X.mean(axis=0)
    present = np.unique(codes)
    return float(sum(((centered[codes == c] - centered[codes == c].mean(axis=0)) ** 2).sum() for c in present))
