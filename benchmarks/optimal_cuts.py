"""How long the optimal cut into two clusters takes beside one k-means run on the same rows.

``python benchmarks/optimal_cuts.py`` prints a table; ``--json FILE`` keeps every single time. Contestants take turns on
seeded Gaussian rows, on one thread: ``ExplainableKMeans(2, algorithm="optimal").fit`` and ``KMeans(2, n_init=1).fit``
on 1,000,000 x 20, ``ExplainableKMedians(2, algorithm="optimal").fit`` and the same on 50,000 to 200,000 x 20. Each
model is fitted twice: with its own reference (whole), and at the centers of that k-means run (cut). Growth is judged
by the second, since the iterations that a reference takes differ from table to table.
"""

# ruff: noqa: E402 -- the number of threads must be set before numpy loads its libraries

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np
from report import machine, versions
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits
from timing import take_turn

from cutwise import ExplainableKMeans, ExplainableKMedians

MEANS_ROWS = 1_000_000
MEDIANS_ROWS = (50_000, 100_000, 200_000)
COLUMNS = 20

# Goals: CPU time relative to one k-means run, and relative to half as many rows.
MOST_FOR_MEANS, MOST_FOR_MEDIANS, MOST_FOR_DOUBLING = 10.0, 30.0, 2.5


def measure(rows: int, estimator: Callable[..., Any], rounds: int) -> dict[str, Any]:
    """CPU seconds of a model's fits and of k-means, turn by turn."""
    times: dict[str, Any] = {"rows": rows, "columns": COLUMNS, "whole": [], "cut": [], "kmeans": []}
    for number in range(rounds):
        X = np.random.default_rng(number).normal(size=(rows, COLUMNS))
        kmeans = KMeans(2, n_init=1, random_state=number)
        whole = estimator(2, algorithm="optimal", random_state=number)
        times["kmeans"].append(take_turn(lambda X=X, model=kmeans: model.fit(X)).cpu)
        times["whole"].append(take_turn(lambda X=X, model=whole: model.fit(X)).cpu)
        cut = estimator(2, algorithm="optimal", reference=kmeans.cluster_centers_)
        times["cut"].append(take_turn(lambda X=X, model=cut: model.fit(X)).cpu)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows, for a quick look")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    started = machine()
    runs = {}
    with threadpool_limits(limits=1):
        for name, sizes, estimator in (
            ("2-means", (MEANS_ROWS,), ExplainableKMeans),
            ("2-medians", MEDIANS_ROWS, ExplainableKMedians),
        ):
            estimator(2, algorithm="optimal").fit(np.random.default_rng(0).normal(size=(1000, COLUMNS)))  # imports
            for size in sizes:
                runs[f"{name} {size}"] = measure(int(size * options.scale), estimator, options.rounds)
    print(f"{started['processor']}, load {started['load_at_start']}; CPU seconds, medians of {options.rounds} rounds")
    print(f"{'rows':>9} {'':10} {'cut':>8} {'whole':>8} {'k-means':>8} {'whole / k-means':>16}")
    medians = {}
    for name, times in runs.items():
        cut, whole, kmeans = (float(np.median(times[key])) for key in ("cut", "whole", "kmeans"))
        medians[name] = cut
        goal = MOST_FOR_MEANS if name.startswith("2-means") else MOST_FOR_MEDIANS
        if not name.endswith((str(MEDIANS_ROWS[0]), str(MEDIANS_ROWS[2]))):
            verdict = f"goal: at most {goal:g} {'+' if whole <= goal * kmeans else '-'}"
        else:
            verdict = ""
        took = f"{cut:8.2f} {whole:8.2f} {kmeans:8.2f} {whole / kmeans:16.2f}"
        print(f"{times['rows']:>9,} {name.split()[0]:10} {took}  {verdict}")
    for half, whole in pairwise(MEDIANS_ROWS):
        ratio = medians[f"2-medians {whole}"] / medians[f"2-medians {half}"]
        sign = "+" if ratio <= MOST_FOR_DOUBLING else "-"
        print(f"2-medians, cut, twice {half:,} rows: {ratio:.2f}-fold  goal: at most {MOST_FOR_DOUBLING:g} {sign}")
    if options.json is not None:
        told = {"machine": started, "versions": versions(), "runs": runs}
        options.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
