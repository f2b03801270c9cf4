"""Trees on tables with categories beside the same tables one-hot encoded: the same reference and costs, in turns.

``python benchmarks/mixed_tables.py`` prints, for every shape and algorithm, the CPU seconds of encoding and growing on
the mixed table and how many times those on its numbers and one-hot columns that is, medians both; ``--memory``: peaks.
"""

# ruff: noqa: E402 -- the number of threads must be set before numpy loads its libraries

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np
from memory import _reset_peak, _status
from sklearn.cluster import KMeans
from timing import take_turn

from cutwise.estimators.training import encode_rows
from cutwise.reference.objective import KMEANS, fixed_costs
from cutwise.table.table import NUMBER, ColumnKind, Table, as_matrix
from cutwise.tree.growing import GrownTree
from cutwise.tree.provider import GrowthSpec, MemoryProvider
from cutwise.tree.recipes import grow_on

ALGORITHMS = ("imm", "exgreedy", "exshallow", "exkmc")


@dataclass(frozen=True)
class Shape:
    """``levels``: of every category."""

    n_rows: int
    levels: tuple[int, ...]
    n_numbers: int

    def values(self, k: int, seed: int = 0) -> np.ndarray:
        """Rows of k groups: numbers around the group's own, levels drawn from the group's shares; categories first."""
        rng = np.random.default_rng(seed)
        group = rng.integers(0, k, self.n_rows)
        columns = []
        for n_levels in self.levels:
            shares = np.cumsum(rng.dirichlet(np.full(n_levels, 0.5), size=k), axis=1)
            columns.append((rng.random(self.n_rows)[:, None] > shares[group, :-1]).sum(axis=1).astype(float))
        columns += [rng.normal(size=k)[group] + rng.normal(size=self.n_rows) for _ in range(self.n_numbers)]
        return np.column_stack(columns)


SHAPES = {
    "few small": Shape(30_000, (3, 4, 5, 6), 2),
    "many small": Shape(20_000, (3, 3, 4, 4, 5, 5, 6, 8, 3, 4, 5, 6), 4),
    "mixed": Shape(20_000, (5, 12, 30, 8), 6),
    "large": Shape(50_000, (20, 40, 60, 12), 2),
    "wide": Shape(30_000, (10, 20, 30, 40, 15, 25, 8, 50), 8),
}


def growers(shape: Shape, k: int, algorithm: str, seed: int = 0) -> tuple[Callable[[], GrownTree], ...]:
    """Encoding and growing on the mixed table, and on its numbers and one-hot columns."""
    values, n_categories = shape.values(k, seed), len(shape.levels)
    names = tuple(f"x{j}" for j in range(values.shape[1]))
    kinds = tuple(ColumnKind("category", tuple(f"l{v}" for v in range(n))) for n in shape.levels)
    mixed = Table(values, names, True, kinds + (NUMBER,) * shape.n_numbers)
    hot = [values[:, [j]] == np.arange(n) for j, n in enumerate(shape.levels)]
    columns = np.ascontiguousarray(np.column_stack([values[:, n_categories:], *hot]))
    one_hot = Table(columns, tuple(f"x{j}" for j in range(columns.shape[1])), True, (NUMBER,) * columns.shape[1])
    scales = [np.sqrt(n / (n - 1)) for n in shape.levels]
    numbers = values[:, n_categories:]
    metric = np.column_stack([numbers / numbers.std(axis=0), *(h * s for h, s in zip(hot, scales, strict=True))])
    reference = KMeans(k, n_init=1, random_state=seed, max_iter=30).fit(metric)
    labels = reference.labels_.astype(np.int32)
    costs = fixed_costs(as_matrix(metric), reference.cluster_centers_)

    def grow(table: Table) -> GrownTree:
        rows = encode_rows(table, table, None, n_jobs=1)
        coordinates, _ = rows.centers(KMEANS, labels, k, raw=True)
        provider = MemoryProvider(rows.encoded, labels, costs)
        return grow_on(provider, coordinates, GrowthSpec(algorithm, k))

    return lambda: grow(mixed), lambda: grow(one_hot)


def peak(shape: str, k: int, algorithm: str, which: int) -> int:
    """Bytes that a fresh process holds at most beyond its tables and costs."""
    command = [sys.executable, __file__, "--peak", json.dumps([shape, k, algorithm, which])]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _print_peak(shape: str, k: int, algorithm: str, which: int) -> None:
    for one in (Shape(2000, SHAPES[shape].levels, SHAPES[shape].n_numbers), SHAPES[shape]):
        work = growers(one, k, algorithm)[which]
        gc.collect()
        with contextlib.suppress(AttributeError):  # of glibc: peaks would hide in what is free
            ctypes.CDLL(None).malloc_trim(0)
        _reset_peak()
        before = _status("VmRSS")
        work()
        extra = _status("VmHWM") - before
    print(extra)


def main() -> None:
    """Times, or memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS, choices=ALGORITHMS)
    parser.add_argument("-k", nargs="+", type=int, default=[8, 12, 16, 20])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peak:
        _print_peak(*json.loads(given.peak))
        return
    for shape in given.shapes:
        for k in given.k:
            line = f"{shape:<11} k={k:<3}"
            for algorithm in given.algorithms:
                if given.memory:
                    mixed, one_hot = (peak(shape, k, algorithm, which) for which in (0, 1))
                    line += f"  {algorithm} {mixed / 2**20:5.1f} MB {mixed / one_hot:.2f}"
                    continue
                works = growers(SHAPES[shape], k, algorithm)
                cpu = np.array([[take_turn(work).cpu for work in works] for _ in range(given.rounds)])
                mixed, one_hot = np.median(cpu, axis=0)
                line += f"  {algorithm} {mixed:.3f} s {mixed / one_hot:.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
