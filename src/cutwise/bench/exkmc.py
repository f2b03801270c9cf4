"""The ExKMC paper's experiments: cost against the number of leaves, beside CART, KDTree, CLTree and CUBT."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from cutwise import ExplainableKMeans, datasets
from cutwise.baselines import KDTree
from cutwise.bench.grids import CltreeSearch, CubtSearch
from cutwise.bench.jobs import Job, Record
from cutwise.bench.measures import Sample, figures_of, fit_quietly
from cutwise.bench.pictures import Line, grid_of_curves, has_matplotlib
from cutwise.bench.references import BenchReference, kmeans_reference_of
from cutwise.bench.runner import Experiment, Options, Sets
from cutwise.bench.tables import markdown_table
from cutwise.datasets import CATALOG
from cutwise.table import read_table
from cutwise.tree.cart import cart_trees

__all__ = ["EXKMC", "sizes_of"]

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

LARGEST_SYNTHETIC_SEEDS = 1


def sizes_of(n_clusters: int) -> list[int]:
    """Numbers of leaves from k to 4 k, in steps of k / 2."""
    return sorted({int(n_clusters * factor) for factor in (1, 1.5, 2, 2.5, 3, 3.5, 4)})


def jobs(sets: Sets, options: Options, seeds: int) -> list[Job]:
    """One job for each data set and seed: all trees of all sizes from the same reference."""
    searches = _Searches(sets)
    return [
        Job({"set": name, "seed": seed, "scaling": "raw"}, _work(sets, searches, name, seed))
        for name in sets.names
        for seed in range(min(seeds, LARGEST_SYNTHETIC_SEEDS) if name in SYNTHETIC else seeds)
    ]


class _Searches:
    """The grid searches, each made once a data set."""

    def __init__(self, sets: Sets) -> None:
        self.cubt = cache(lambda name: CubtSearch(*_table(sets, name), sizes_of(_table(sets, name)[1])))
        self.cltree = cache(lambda name: CltreeSearch(_table(sets, name)[0]))


def _table(sets: Sets, name: str) -> tuple[Any, int]:
    loaded = sets.real(name, "raw")
    return loaded.X, loaded.n_clusters


def _start(sets: Sets, name: str, seed: int) -> tuple[Any, int, BenchReference]:
    """Rows, k, and the reference: k-means, or the planted clusters of the synthetic sets."""
    if name in SYNTHETIC:
        planted = getattr(datasets, f"make_{name}")(random_state=seed)
        return planted.X, planted.n_clusters, BenchReference(planted.centers, planted.labels, planted.cost, 0.0)
    X, k = _table(sets, name)
    return X, k, kmeans_reference_of(X, k, seed)


def _work(sets: Sets, searches: _Searches, name: str, seed: int) -> Callable[[], Record]:
    def work() -> Record:
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
                keep("cubt", size, searches.cubt(name).tree(size, reference), time.perf_counter() - start)
                start = time.perf_counter()
                keep("cltree", size, searches.cltree(name).tree(size, reference), time.perf_counter() - start)
        return {"kmeans_seconds": reference.seconds, "reference_cost": reference.cost, "trees": dict(found)}

    return work


def _grow(make: Any, X: Any, k: int, size: int, reference: BenchReference, **options: Any) -> tuple[Any, float]:
    model, seconds = fit_quietly(make(k, max_leaves=size, reference=reference.centers, **options), X)
    return model, seconds


def report(records: list[Record]) -> dict[str, str | bytes]:
    """Tables and pictures from the records of the jobs."""
    values = _values(records)
    files: dict[str, str | bytes] = {
        "curves.md": _curve_tables(values, "cost_ratio", "Cost ratio", "curves.png"),
        "accuracy.md": _curve_tables(values, "accuracy", "Share of rows in their reference cluster", "accuracy.png"),
        "surrogate.md": _surrogate_table(values),
        "time.md": _time_table(records, values),
    }
    if has_matplotlib():
        files["curves.png"] = _picture(values, "cost_ratio", "cost ratio", ratios=True)
        files["accuracy.png"] = _picture(values, "accuracy", "accuracy")
        files["surrogate.png"] = _surrogate_picture(values)
    return files


Values = dict[str, dict[str, dict[int, dict[str, Sample]]]]  # data set -> algorithm -> size -> figure


def _values(records: list[Record]) -> Values:
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


def _title(name: str) -> str:
    return SYNTHETIC.get(name) or CATALOG[name].title


def _curve_tables(values: Values, figure: str, what: str, picture: str) -> str:
    parts = [
        f"# ExKMC paper: {what.lower()} against the number of leaves\n\n![{what}]({picture})\n\n"
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
        parts.append(f"\n## {_title(name)}\n\n" + markdown_table(header, rows))
    return "".join(parts)


def _surrogate_table(values: Values) -> str:
    rows = []
    for name, algorithms in values.items():
        points = algorithms["exkmc_imm"]
        for figure, what in (("surrogate_ratio", "surrogate"), ("cost_ratio", "cost")):
            first = what == "surrogate"
            cells = [f"{np.median(points[size][figure].values):.3f}" for size in sorted(points)]
            rows.append([_title(name) if first else "", what, *cells])
        apart = [
            np.median(points[size]["surrogate_ratio"].values) / np.median(points[size]["cost_ratio"].values) - 1
            for size in sorted(points)
        ]
        rows.append(["", "apart", *(f"{100 * each:.1f} %" for each in apart)])
    header = ("set", "", "k leaves", "1.5 k", "2 k", "2.5 k", "3 k", "3.5 k", "4 k")
    return (
        "# ExKMC paper, Figure 5: surrogate cost and true cost\n\n![Surrogate and true cost](surrogate.png)\n\n"
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
                _title(name),
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


def _line(points: dict[int, dict[str, Sample]], figure: str, *, dashed: bool = False) -> Line:
    sizes = sorted(points)
    samples = [points[size][figure].values for size in sizes]
    error = [float(np.std(values)) for values in samples]
    return Line(sizes, [float(np.median(values)) for values in samples], error, dashed)


def _picture(values: Values, figure: str, label: str, *, ratios: bool = False) -> bytes:
    panels = {
        _title(name): {HEADINGS[a]: _line(algorithms[a], figure) for a in HEADINGS if a in algorithms}
        for name, algorithms in values.items()
    }
    return grid_of_curves(panels, x_label="leaves", y_label=label, ratios=ratios)


def _surrogate_picture(values: Values) -> bytes:
    panels = {
        _title(name): {
            "cost": _line(algorithms["exkmc_imm"], "cost_ratio"),
            "surrogate cost": _line(algorithms["exkmc_imm"], "surrogate_ratio", dashed=True),
        }
        for name, algorithms in values.items()
    }
    return grid_of_curves(panels, x_label="leaves", y_label="over the reference's cost")


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
    jobs=jobs,
    report=report,
)
