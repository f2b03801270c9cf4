"""How long trees take beside what people use today, on the papers' sets; `benchmarks/speed.py` has the large tables."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from cutwise import ExplainableKMeans
from cutwise.bench.jobs import Job, Record
from cutwise.bench.measures import fit_quietly
from cutwise.bench.references import BenchReference, kmeans_reference_of
from cutwise.bench.runner import Experiment, Options, Sets
from cutwise.bench.tables import markdown_table
from cutwise.datasets import CATALOG

__all__ = ["SPEED"]


def _decision_tree(X: Any, k: int, reference: BenchReference) -> None:
    from sklearn.tree import DecisionTreeClassifier

    DecisionTreeClassifier(max_leaf_nodes=k, random_state=0).fit(X, reference.labels)


def _exkmc_package(X: Any, k: int, reference: BenchReference) -> None:
    from ExKMC.Tree import Tree

    Tree(k=k, max_leaves=2 * k, base_tree="IMM").fit(X, _fitted_like(reference))


def _shallow_package(X: Any, k: int, reference: BenchReference) -> None:
    from ShallowTree.ShallowTree import ShallowTree

    ShallowTree(k=k, depth_factor=0.03).fit(X, _fitted_like(reference))


def _fitted_like(reference: BenchReference) -> Any:
    """A KMeans with these centers, which the authors' packages ask for."""
    from sklearn.cluster import KMeans

    model = KMeans(len(reference.centers), n_init=1, max_iter=1, init=reference.centers)
    model.fit(reference.centers)
    model.cluster_centers_ = reference.centers
    return model


def _ours(algorithm: str, leaves: int = 1) -> Callable[[Any, int, BenchReference], None]:
    def run(X: Any, k: int, reference: BenchReference) -> None:
        model = ExplainableKMeans(k, max_leaves=leaves * k, algorithm=algorithm, reference=reference.centers)
        fit_quietly(model, X)

    return run


CONTESTANTS: dict[str, tuple[str | None, Callable[[Any, int, BenchReference], None]]] = {
    "DecisionTreeClassifier": (None, _decision_tree),
    "cutwise IMM": (None, _ours("imm")),
    "cutwise ExKMC (base: IMM), 2 k": (None, _ours("imm", 2)),
    "cutwise ExGreedy": (None, _ours("exgreedy")),
    "cutwise ExShallow": (None, _ours("exshallow")),
    "ExKMC package, 2 k": ("ExKMC", _exkmc_package),
    "ShallowTree package": ("ShallowTree", _shallow_package),
}
"""Name -> the module it needs beyond cutwise's own, and what is timed."""


def jobs(sets: Sets, options: Options, seeds: int) -> list[Job]:
    """One job for each data set and seed: every contestant in turn, on the same reference."""
    present = [name for name, (module, _) in CONTESTANTS.items() if module is None or find_spec(module) is not None]
    # Part of the key: a package that is installed later is measured then.
    packages = [name for name in present if CONTESTANTS[name][0] is not None]

    def work(name: str, seed: int) -> Callable[[], Record]:
        def timed() -> Record:
            loaded = sets.real(name)
            X, k = loaded.X, loaded.n_clusters
            once = kmeans_reference_of(X, k, seed, n_init=1)
            seconds = {"KMeans(n_init=1)": once.seconds}
            for contestant in present:
                start = time.perf_counter()
                CONTESTANTS[contestant][1](X, k, once)
                seconds[contestant] = time.perf_counter() - start
            return {"seconds": seconds}

        return timed

    return [
        Job({"set": name, "seed": seed, "packages": packages}, work(name, seed))
        for name in sets.names
        for seed in range(seeds)
    ]


def report(records: list[Record]) -> dict[str, str | bytes]:
    """One table: median seconds."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        for contestant, seconds in record["result"]["seconds"].items():
            values[record["key"]["set"]][contestant].append(seconds)
    columns = ["KMeans(n_init=1)", *CONTESTANTS]
    columns = [column for column in columns if any(column in of for of in values.values())]
    rows = [
        [CATALOG[name].title, *(f"{np.median(of[column]):.4f}" if column in of else "" for column in columns)]
        for name, of in values.items()
    ]
    absent = [name for name in CONTESTANTS if name not in columns]
    note = f"\nNot importable here: {', '.join(absent)}.\n" if absent else ""
    return {
        "speed.md": "# Speed\n\nMedian seconds on one thread, wall time, all on the same reference (one start of "
        "k-means). Ours are whole fits to given centers. `benchmarks/speed.py` measures large tables, CPU time and "
        "memory.\n\n" + markdown_table(("set", *columns), rows) + note
    }


SPEED = Experiment(
    name="speed",
    title="Speed",
    sets=("iris", "mice_rows", "vowel", "digits", "anuran", "pendigits", "avila", "letter", "covtype_93k", "covtype"),
    quick_sets=("iris", "digits"),
    seeds=3,
    jobs=jobs,
    report=report,
)
