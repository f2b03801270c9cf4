"""How long trees take beside scikit-learn and the authors' packages on the papers' sets; ``speed.py`` has large tables.

``python benchmarks/papers_speed.py FOLDER`` takes the sets that CUTWISE_DATA or scikit-learn has, writes ``speed.md``
to the folder, and does not do again what its ``results.jsonl`` holds.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from adapters.authors import exkmc_package, shallow_tree_package, why_not_importable

from cutwise import ExplainableKMeans
from cutwise.bench.measures import BenchReference, fit_quietly, kmeans_reference_of
from cutwise.bench.runner import Experiment, Options, Record, markdown_table, run_experiment
from cutwise.datasets import CATALOG

Work = Callable[[Any, int, BenchReference], Callable[[], Any]]
"""What to time, from rows, k and a reference; called outside the clock, and what it returns inside it."""


def _decision_tree(X: Any, k: int, reference: BenchReference) -> Callable[[], Any]:
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_leaf_nodes=k, random_state=0)
    return lambda: model.fit(X, reference.labels)


def _exkmc(leaves: int, base_tree: str) -> Work:
    return lambda X, k, reference: exkmc_package(X, reference.centers, leaves * k, base_tree)


def _shallow_tree(depth_factor: float) -> Work:
    return lambda X, k, reference: shallow_tree_package(X, reference.centers, depth_factor)


def _ours(algorithm: str, leaves: int = 1) -> Work:
    def ready(X: Any, k: int, reference: BenchReference) -> Callable[[], Any]:
        model = ExplainableKMeans(k, max_leaves=leaves * k, algorithm=algorithm, reference=reference.centers)
        return lambda: fit_quietly(model, X)

    return ready


CONTESTANTS: dict[str, tuple[str | None, Work]] = {
    "DecisionTreeClassifier": (None, _decision_tree),
    "cutwise search": (None, _ours("search")),
    "cutwise IMM": (None, _ours("imm")),
    "cutwise ExKMC (base: IMM), 2 k": (None, _ours("imm", 2)),
    "cutwise ExGreedy": (None, _ours("exgreedy")),
    "cutwise ExShallow": (None, _ours("exshallow")),
    "ExKMC package, IMM": ("ExKMC", _exkmc(1, "IMM")),
    "ExKMC package, ExKMC (base: IMM), 2 k": ("ExKMC", _exkmc(2, "IMM")),
    "ShallowTree package, ExGreedy": ("ShallowTree", _shallow_tree(0.0)),
    "ShallowTree package, ExShallow": ("ShallowTree", _shallow_tree(0.03)),
}
"""Name -> the package it needs beyond cutwise's own, and what is timed."""


def _present() -> list[str]:
    """The contestants that can be had here."""
    return [name for name, (package, _) in CONTESTANTS.items() if package is None or not why_not_importable(package)]


def _key(_: str) -> dict[str, Any]:
    # A package that is installed later is measured then.
    return {"packages": [name for name in _present() if CONTESTANTS[name][0] is not None]}


def _work(options: Options, name: str, seed: int) -> Record:
    """Every contestant in turn, on the same reference."""
    loaded = options.real(name)
    X, k = loaded.X, loaded.n_clusters
    once = kmeans_reference_of(X, k, seed, n_init=1)
    seconds = {"KMeans(n_init=1)": once.seconds}
    for contestant in _present():
        ready = CONTESTANTS[contestant][1](X, k, once)
        start = time.process_time()
        ready()
        seconds[contestant] = time.process_time() - start
    return {"seconds": seconds}


def report(records: list[Record]) -> dict[str, str]:
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
        "speed.md": "# Speed\n\nMedian seconds of CPU on one thread, all on the same reference (one start of k-means). "
        "Ours are whole fits to given centers. `benchmarks/speed.py` measures large tables, and memory.\n\n"
        + markdown_table(("set", *columns), rows)
        + note
    }


SPEED = Experiment(
    name="speed",
    title="Speed beside scikit-learn and the authors' packages",
    sets=("iris", "mice_rows", "vowel", "digits", "anuran", "pendigits", "avila", "letter", "covtype_93k", "covtype"),
    quick_sets=("iris", "digits"),
    seeds=3,
    key=_key,
    work=_work,
    report=report,
    command="python benchmarks/papers_speed.py",
)

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for path in run_experiment(SPEED, Options(), folder, lambda line: print(line, file=sys.stderr)):
        print(path)
