"""Whether KMedians ever costs more than plain restarts, on tables with many local optima.

``python benchmarks/kmedians_restarts.py`` prints a line for each of 60 seeded tables (uniform, normal, heavy-tailed and
skewed noise, blobs and grids; 300 to 20,000 rows) and how many fits cost more than the best of 10, and of all, plain
restarts of a naive implementation; ``--json FILE`` keeps every single cost. A plain restart begins with rows drawn at
random and ends where no row changes its center. ``10 win`` is how probably the best of 10 of these, drawn anew, costs
less than a fit, in the mean. The time is that of a fit relative to 10 plain restarts.
"""

# ruff: noqa: E402 -- the number of threads must be set before numpy loads its libraries

from __future__ import annotations

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "estimators"))

import numpy as np
from naive_kmedians import plain_run
from report import machine, versions
from timing import take_turn

from cutwise import KMedians

KINDS = ("uniform", "normal", "heavy tails", "skewed", "grid", "blobs")
ROWS, COLUMNS, CLUSTERS = (300, 1_000, 3_000, 10_000, 20_000), (1, 2, 3, 4, 6, 10), (3, 5, 8, 12, 20)
SAME = 1e-12


def draw(kind: str, n: int, d: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """A table of one of ``KINDS``."""
    if kind == "blobs":
        return rng.normal(size=(n, d)) + (rng.random((2 * k, d)) * 4)[rng.integers(0, 2 * k, n)]
    made = {
        "uniform": rng.random,
        "normal": lambda shape: rng.normal(size=shape),
        "heavy tails": lambda shape: rng.standard_t(3, shape),
        "skewed": lambda shape: rng.exponential(size=shape),
        "grid": lambda shape: rng.integers(0, 8, shape).astype(float),
    }
    return made[kind]((n, d))


def measure(number: int, *, seed: int, n_plain: int, n_fits: int) -> dict[str, Any]:
    """Costs and CPU seconds of fits and of plain restarts on one table."""
    rng = np.random.default_rng((seed, number))
    kind = KINDS[number % len(KINDS)]
    n, d, k = (int(rng.choice(choices)) for choices in (ROWS, COLUMNS, CLUSTERS))
    X = draw(kind, n, d, k, rng)
    # Of a grid of few columns, a table may hold fewer distinct rows than clusters.
    k = min(k, len(np.unique(X, axis=0)) - 1)
    plain: list[float] = []
    plain_seconds = [take_turn(lambda: plain.append(float(plain_run(X, k, rng)))).cpu for _ in range(n_plain)]
    costs: list[float] = []
    seconds = [take_turn(lambda i=i: costs.append(KMedians(k, random_state=i).fit(X).cost_)).cpu for i in range(n_fits)]
    table = f"{kind} {n} x {d}, k = {k}"
    return {"table": table, "plain": plain, "plain_seconds": plain_seconds, "costs": costs, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--plain", type=int, default=50, help="plain restarts on each table")
    parser.add_argument("--fits", type=int, default=2, help="fits on each table, with other seeds")
    parser.add_argument("--seed", type=int, default=0, help="of the tables")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    started = machine()
    print(f"{'':32} {'worst fit / best of all':>24} {'10 win':>9} {'time':>7}")
    worse_than_ten, worse_than_all, wins, tables = [], [], [], []
    work = partial(measure, seed=options.seed, n_plain=options.plain, n_fits=options.fits)
    with ProcessPoolExecutor(options.processes) as processes:
        for told in processes.map(work, range(options.tables)):
            tables.append(told)
            plain, costs = np.array(told["plain"]), np.array(told["costs"])
            # Relative to the least of the first ten, and of all.
            worse_than_ten += list(costs > plain[:10].min() * (1 + SAME))
            worse_than_all += list(costs > plain.min() * (1 + SAME))
            below = np.array([(plain < cost * (1 - SAME)).mean() for cost in costs])
            wins.append(float(np.mean(1 - (1 - below) ** 10)))
            time = np.mean(told["seconds"]) / (10 * np.mean(told["plain_seconds"]))
            excess = costs.max() / plain.min() - 1
            print(f"{told['table']:32} {excess:>+24.1e} {wins[-1]:>9.4f} {time:>6.2f}x", flush=True)
    n = len(worse_than_ten)
    print(f"of {n} fits, {sum(worse_than_ten)} cost more than the best of 10 plain restarts", end=", ")
    print(f"{sum(worse_than_all)} more than the best of {options.plain}; 10 win in the mean {np.mean(wins):.4f}")
    if options.json is not None:
        told = {"machine": started, "versions": versions(), "command": " ".join(sys.argv), "tables": tables}
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
