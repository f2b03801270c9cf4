"""Whether the built-in reference is as good as KMeans(n_init=10), and what it costs, table by table.

``python benchmarks/reference_quality.py`` prints a line for each table: the inertia of the reference of
``ExplainableKMeans(k, algorithm="imm")`` relative to that of scikit-learn's ``KMeans(k, n_init=10)``, and the CPU time
of the whole fit relative to one ``KMeans(k, n_init=1)``, all on one thread and in turns. The tables are seeded: planted
clusters of very unequal size (the smallest 1e-4 of the rows, 3 to 100 standard deviations away), noise, heavy tails,
several scales at once, one-hot columns, sparse term weights, and real data where it lies beside the checkout.
"""

# ruff: noqa: E402 -- the number of threads must be set before numpy loads its libraries

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np
from report import machine, versions
from scipy import sparse
from sklearn.cluster import KMeans
from timing import take_turn

from cutwise import ExplainableKMeans

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
REAL = {"covtype_93k": 7, "letter": 26, "pendigits": 10, "avila": 12, "anuran": 10, "digits": 10, "wine": 3, "iris": 3}
"""Files of real tables, and how many clusters to look for."""

Table = tuple[Any, int]
Make = Callable[[np.random.Generator], Table]


def planted(n: int, d: int, k: int, far: float, n_rare: int, smallest: float = 1e-4) -> Make:
    """Normal clusters: common ones near each other, and rare ones ``far`` standard deviations away."""

    def make(rng: np.random.Generator) -> Table:
        shares = np.concatenate(
            [rng.dirichlet(np.full(k - n_rare, 2.0)), np.geomspace(smallest, 20 * smallest, n_rare)]
        )
        directions = rng.normal(size=(k, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        distance = np.concatenate([rng.uniform(2.0, 8.0, k - n_rare), np.full(n_rare, far)])
        sizes = np.maximum(1, np.rint(shares / shares.sum() * n)).astype(int)
        rows = [rng.normal(directions[j] * distance[j], 1.0, (size, d)) for j, size in enumerate(sizes)]
        return rng.permutation(np.concatenate(rows)), k

    return make


def scales(n: int, d: int, k: int) -> Make:
    """Rare groups at many scales: most columns nearly constant, each far out for a few rows; then standardized."""

    def make(rng: np.random.Generator) -> Table:
        X = rng.normal(size=(n, d)) * 0.1
        for _ in range(k):
            rows = rng.choice(n, max(3, int(n * 10.0 ** rng.uniform(-4, -0.5))), replace=False)
            columns = rng.choice(d, max(1, d // 6), replace=False)
            X[np.ix_(rows, columns)] += 10.0 ** rng.uniform(0, 3) * (
                1 + 0.05 * rng.normal(size=(len(rows), len(columns)))
            )
        return (X - X.mean(axis=0)) / X.std(axis=0), k

    return make


def noise(kind: str, n: int, d: int, k: int) -> Make:
    """No clusters at all."""

    def make(rng: np.random.Generator) -> Table:
        draws = {
            "uniform": lambda: rng.random((n, d)),
            "normal": lambda: rng.normal(size=(n, d)),
            "heavy tails": lambda: rng.standard_t(2.5, (n, d)),
            "skewed": lambda: rng.lognormal(0.0, 1.5, (n, d)),
        }
        return draws[kind](), k

    return make


def blobs(n: int, d: int, k: int, spread: float) -> Make:
    """Clusters of one size in a box."""

    def make(rng: np.random.Generator) -> Table:
        return rng.uniform(-10, 10, (k, d))[rng.integers(0, k, n)] + spread * rng.normal(size=(n, d)), k

    return make


def one_hot(n: int, k: int) -> Make:
    """Categories of unequal shares, a column each, that hang together."""

    def make(rng: np.random.Generator) -> Table:
        group, parts = rng.integers(0, 12, n), []
        for n_categories in (2, 3, 5, 5, 7, 9, 16, 40):
            shares = rng.dirichlet(np.full(n_categories, 0.4), size=12)
            category = (rng.random(n)[:, None] > np.cumsum(shares, axis=1)[group, :-1]).sum(axis=1)
            parts.append(np.eye(n_categories, dtype=np.float32)[category])
        return np.concatenate(parts, axis=1), k

    return make


def terms(n: int, d: int, k: int) -> Make:
    """Sparse weights of terms, heavy-tailed, some rows many times as long as others."""

    def make(rng: np.random.Generator) -> Table:
        topics = rng.dirichlet(np.full(d, 0.02), size=2 * k)
        counts = [
            rng.multinomial(int(rng.pareto(1.5) * 20 + 5), topics[topic])
            for topic in rng.choice(2 * k, n, p=rng.dirichlet(np.full(2 * k, 0.5)))
        ]
        X = sparse.csr_matrix(np.array(counts, dtype=np.float64))
        idf = np.log((1 + n) / (1 + (X > 0).sum(axis=0))) + 1
        return sparse.csr_matrix(X.multiply(idf)), k

    return make


def real(name: str) -> Make:
    """A real table, its columns standardized."""

    def make(rng: np.random.Generator) -> Table:
        with np.load(DATA / f"{name}.npz") as archive:
            X = archive["X"].astype(np.float64)
        spread = X.std(axis=0)
        return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), REAL[name]

    return make


TABLES: dict[str, Make] = {
    "planted 30k x 5, k 5, 100 away": planted(30_000, 5, 5, 100.0, 2),
    "planted 30k x 8, k 10, 30 away": planted(30_000, 8, 10, 30.0, 4),
    "planted 60k x 10, k 20, 10 away": planted(60_000, 10, 20, 10.0, 8),
    "planted 60k x 20, k 50, 30 away": planted(60_000, 20, 50, 30.0, 20),
    "planted 100k x 4, k 10, 3 away": planted(100_000, 4, 10, 3.0, 3),
    "planted 100k x 10, k 30, 100 away": planted(100_000, 10, 30, 100.0, 15),
    "planted 200k x 10, k 20, 50 away": planted(200_000, 10, 20, 50.0, 10),
    "planted 300k x 15, k 30, 20 away": planted(300_000, 15, 30, 20.0, 10),
    "planted 500k x 10, k 12, 40 away": planted(500_000, 10, 12, 40.0, 6),
    "planted 1M x 10, k 20, 60 away": planted(1_000_000, 10, 20, 60.0, 8),
    "planted 1.5M x 8, k 10, 30 away": planted(1_500_000, 8, 10, 30.0, 5),
    "planted 1.5M x 6, k 50, 100 away": planted(1_500_000, 6, 50, 100.0, 20),
    "scales 50k x 30, k 15": scales(50_000, 30, 15),
    "scales 200k x 38, k 23": scales(200_000, 38, 23),
    "scales 494k x 38, k 23": scales(494_021, 38, 23),
    "uniform 30k x 3, k 20": noise("uniform", 30_000, 3, 20),
    "uniform 200k x 2, k 50": noise("uniform", 200_000, 2, 50),
    "normal 100k x 10, k 8": noise("normal", 100_000, 10, 8),
    "heavy tails 50k x 5, k 10": noise("heavy tails", 50_000, 5, 10),
    "heavy tails 300k x 10, k 20": noise("heavy tails", 300_000, 10, 20),
    "skewed 100k x 6, k 12": noise("skewed", 100_000, 6, 12),
    "blobs 50k x 5, k 30": blobs(50_000, 5, 30, 0.5),
    "blobs 300k x 10, k 50": blobs(300_000, 10, 50, 1.0),
    "blobs 1M x 10, k 10": blobs(1_000_000, 10, 10, 2.0),
    "one-hot 60k, k 8": one_hot(60_000, 8),
    "one-hot 300k, k 12": one_hot(300_000, 12),
    "terms 20k x 1000, k 20": terms(20_000, 1_000, 20),
    "terms 60k x 500, k 10": terms(60_000, 500, 10),
    **{f"real {name}": real(name) for name in REAL if (DATA / f"{name}.npz").exists()},
}


def measure(name: str, seed: int) -> dict[str, Any]:
    """Inertia and CPU seconds of the three contestants on one table."""
    X, k = TABLES[name](np.random.default_rng(seed))
    ten = take_turn(lambda: KMeans(k, n_init=10, random_state=seed).fit(X))
    one = take_turn(lambda: KMeans(k, n_init=1, random_state=seed).fit(X))
    ours = take_turn(lambda: ExplainableKMeans(k, algorithm="imm", random_state=seed).fit(X))
    return {
        "table": name,
        "seed": seed,
        "inertia": ours.result.reference_.cost,
        "inertia_ten": float(ten.result.inertia_),
        "inertia_one": float(one.result.inertia_),
        "seconds": ours.cpu,
        "seconds_ten": ten.cpu,
        "seconds_one": one.cpu,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=[""], help="only tables whose name holds one of these")
    parser.add_argument("--seeds", type=int, default=1, help="of tables and fits: 0, 1, ...")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    started = machine()
    for estimator in (KMeans(2), ExplainableKMeans(2, algorithm="imm")):  # imports are no part of a fit
        estimator.fit(np.arange(100.0).reshape(50, 2))
    found = []
    print(f"{'':36}{'inertia / n_init=10':>20}{'time / n_init=1':>17}")
    for name in TABLES:
        for seed in range(options.seeds if any(part in name for part in options.tables) else 0):
            row = measure(name, seed)
            found.append(row)
            quality, time = row["inertia"] / row["inertia_ten"], row["seconds"] / row["seconds_one"]
            print(f"{name:36}{quality:>20.4f}{time:>17.2f}", flush=True)
    quality = np.array([row["inertia"] / row["inertia_ten"] for row in found])
    time = np.array([row["seconds"] / row["seconds_one"] for row in found])
    print(f"{'median':36}{np.median(quality):>20.4f}{np.median(time):>17.2f}")
    print(f"{'worst':36}{quality.max():>20.4f}{time.max():>17.2f}")
    if options.json is not None:
        kept = {"machine": started, "versions": versions(), "command": " ".join(sys.argv), "tables": found}
        options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
