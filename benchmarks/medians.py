"""k-medians beside k-means: the time of trees with the reference excluded, and of the clusterings alone.

    python benchmarks/medians.py --scale 0.2 --rounds 3 --out benchmarks/results/medians.json

Trees are grown as in ``speed.py`` (rows checked, encoded, costed where the algorithm needs it, grown), each on the
reference of its own objective, in turn within a round; CPU seconds on one thread, medians over rounds. The clusterings
are ``KMedians`` and the k-means reference on the same rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shapes import SHAPES, make_shape

from cutwise.reference.objective import KMEANS, KMEDIANS, LazyCosts
from cutwise.reference.search import find_clustering
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from cutwise.tree.provider import GrowthSpec, MemoryProvider
from cutwise.tree.recipes import grow_on

RECIPES = (("imm", 1), ("exgreedy", 1), ("exshallow", 1), ("exkmc", 2))


def seconds(work: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[float, Any]:
    """CPU seconds of a job, and what it gives."""
    start = time.process_time()
    outcome = work(*arguments, **options)
    return time.process_time() - start, outcome


def tree_of(X: Any, reference: Any, objective: Any, algorithm: str, leaves_per_cluster: int) -> Any:
    """A tree, from the rows and a reference on."""
    table = encode_table(read_table(X))
    labels = reference.labels if table.row_of is None else reference.labels[table.row_of]
    costs = LazyCosts(table.matrix, reference.centers, objective, weights=table.weights)
    return grow_on(
        MemoryProvider(table, labels, costs),
        reference.centers,
        GrowthSpec(algorithm, leaves_per_cluster * reference.n_clusters),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="covtype,poker,beer,audiology")
    parser.add_argument("--scale", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    told: dict[str, Any] = {"scale": options.scale, "rounds": options.rounds, "shapes": {}}
    for name in options.shapes.split(","):
        shape = next(shape for shape in SHAPES.values() if shape.name == name)
        X = make_shape(shape.name, options.scale)
        table, found, line = read_table(X), {}, {}
        for objective in (KMEANS, KMEDIANS):
            line[f"clustering {objective.name}"], clustering = seconds(
                find_clustering, table, shape.n_clusters, objective=objective, random_state=0, brief=True
            )
            found[objective.name] = clustering.reference
        for algorithm, leaves in RECIPES:
            times: dict[str, list[float]] = {KMEANS.name: [], KMEDIANS.name: []}
            for _ in range(options.rounds):
                for objective in (KMEANS, KMEDIANS):
                    reference = found[objective.name]
                    spent, _ = seconds(tree_of, X, reference, objective, algorithm, leaves)
                    times[objective.name].append(spent)
            for key, spent_all in times.items():
                line[f"{algorithm} {key}"] = statistics.median(spent_all)
            line[f"{algorithm} ratio"] = line[f"{algorithm} kmedians"] / line[f"{algorithm} kmeans"]
        told["shapes"][name] = line
        print(name, X.shape, *(f"{key} {value:.3g}" for key, value in line.items()), sep="\n  ", flush=True)
    if options.out is not None:
        options.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
