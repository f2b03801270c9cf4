"""How much cheaper searched trees are than the papers', and what the search takes.

Tables are the seven hard sets of the ExShallow paper, ``.npz`` files in the folder given by ``--data``: Avila and
Vowel scaled to [0, 1] as in its Table 2, the others raw. The reference is the best of ten k-means runs of scikit-
learn. Cost is relative to the reference's; "removed" is the share of the best paper's excess over 1 that the search
takes away. Time is CPU seconds of one thread, as a multiple of one ExGreedy fit on given centers: encoding, costs and
tree.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from cutwise import core
from cutwise.reference.objective import KMEANS, fixed_costs
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from cutwise.tree.recipes import grow_tree
from cutwise.tree.refine import Effort, SearchCheaper

PAPERS = ("exgreedy", "exshallow", "imm", "exkmc")

# File, whether columns are scaled to [0, 1], and the mean cost that the search should reach.
SETS = {
    "digits": ("digits.npz", False, 1.160),
    "anuran": ("anuran.npz", False, 1.120),
    "pendigits": ("pendigits.npz", False, 1.130),
    "mice": ("mice_rows.npz", False, 1.056),
    "vowel": ("vowel.npz", True, 1.168),
    "avila": ("avila.npz", True, 1.036),
    "letter": ("letter.npz", False, 1.153),
}


def read(folder: Path, name: str) -> tuple[np.ndarray, int]:
    """Rows and number of clusters of a set."""
    file, scaled, _ = SETS[name]
    data = np.load(folder / file, allow_pickle=True)
    X = data["X"]
    if scaled:
        X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return X, int(data["k"])


def measure(X: np.ndarray, k: int, seed: int, effort: float) -> dict[str, float]:
    """Figures of one search."""
    fits = [KMeans(k, n_init=1, random_state=1000 * seed + i).fit(X) for i in range(10)]
    runs = [fit.cluster_centers_.astype(np.float64) for fit in sorted(fits, key=lambda fit: fit.inertia_)]
    table = read_table(X)

    began = time.process_time()
    rows = encode_table(table)
    labels, own_costs = KMEANS.assign(rows.matrix, runs[0])[:2]
    costs = fixed_costs(rows.matrix, runs[0], weights=rows.weights)
    grow_tree(rows, labels, runs[0], costs, algorithm="exgreedy", max_leaves=k)
    exgreedy_seconds = time.process_time() - began

    def judge(parts: np.ndarray) -> float:
        means = np.nan_to_num(KMEANS.centers(rows.matrix, parts, k, rows.weights, 1)[0])
        return core.exact_sum(KMEANS.label_costs(rows.matrix, means, parts), rows.weights)

    reference_cost = core.exact_sum(own_costs, rows.weights)
    began = time.process_time()
    papers = [grow_tree(rows, labels, runs[0], costs, algorithm=name, max_leaves=k) for name in PAPERS]
    search = SearchCheaper(rows, rows.matrix, runs, labels, runs[0], judge, n_leaves=k, effort=Effort.of(effort))
    _, record, judged = search.search(papers)
    seconds = time.process_time() - began
    best_paper = min(tree.judgement.cost for tree in judged[: len(papers)]) / reference_cost
    cost = record.cost / reference_cost
    return {
        "best_paper": best_paper,
        "cost": cost,
        "removed": (best_paper - cost) / (best_paper - 1),
        "exgreedy_fits": seconds / exgreedy_seconds,
        "seconds": seconds,
    }


def main() -> None:
    """Print a table, a line a set, and write every figure as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the .npz files")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    every: dict[str, list[dict[str, float]]] = {}
    print(
        f"{'set':10} {'best paper':>10} {'search':>8} {'goal':>6} {'removed':>8} {'ExGreedy fits':>13} {'seconds':>8}"
    )
    for name in arguments.sets:
        X, k = read(arguments.data, name)
        every[name] = [measure(X, k, seed, arguments.effort) for seed in range(arguments.seeds)]
        mean = {key: float(np.mean([figures[key] for figures in every[name]])) for key in every[name][0]}
        print(
            f"{name:10} {mean['best_paper']:10.4f} {mean['cost']:8.4f} {SETS[name][2]:6.3f} {mean['removed']:8.1%} "
            f"{mean['exgreedy_fits']:13.1f} {mean['seconds']:8.2f}",
            flush=True,
        )
    removed = [figures["removed"] for of_set in every.values() for figures in of_set]
    print(f"excess removed: median {np.median(removed):.1%}, mean {np.mean(removed):.1%}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"effort": arguments.effort, "sets": every}, indent=1))


if __name__ == "__main__":
    main()
