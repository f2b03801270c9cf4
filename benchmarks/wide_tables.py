"""Wide tables: how long trees and whole fits take beside scikit-learn, and how much memory they add.

    python benchmarks/wide_tables.py                          # everything
    python benchmarks/wide_tables.py --tables cells-5 --only imm expand tree-csc

Sparse tables are CSR with positive float32 values; in every table each of eight groups has one column that tells it
apart. All contestants take turns on one thread, each in a forked process of its own, so that none uses memory that
another left, and after it did the same on a few rows and columns, so that memory is none of what libraries load. CPU
seconds are medians. "of the tree" is relative to the faster of the two DecisionTreeClassifiers (given CSC, and given
the table as it is), "of k-means" to KMeans(n_init=1).
"""

# ruff: noqa: E402 -- the number of threads must be set before numpy loads its libraries

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np
from memory import _reset_peak, _status
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier
from timing import take_turn

from cutwise import ClusterExplainer, ExplainableKMeans, cost_curve

TABLES: dict[str, tuple[int, int, float]] = {
    "cells-5": (5_000, 20_000, 0.05),
    "cells-1": (5_000, 20_000, 0.01),
    "texts-5": (20_000, 30_000, 0.05),
    "texts-1": (20_000, 30_000, 0.01),
    "pixels-small": (2_000, 2_000, 1.0),
    "pixels": (20_000, 3_072, 1.0),
}
K = 8


def make_table(name: str, seed: int = 0, scale: float = 1.0) -> tuple[Any, np.ndarray]:
    """One of ``TABLES``, float32, and the group of every row."""
    n, d, share = TABLES[name]
    n = int(n * scale)
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, K, n).astype(np.int32)
    if share == 1.0:
        X = rng.standard_normal((n, d), dtype=np.float32)
        X[np.arange(n), groups * (d // K)] += 8
        return X, groups
    gaps = rng.geometric(share, int(1.1 * share * n * d))
    flat = np.cumsum(gaps) - 1
    flat = flat[flat < n * d]
    own = np.arange(n) * np.int64(d) + groups * (d // K)
    flat = np.union1d(flat, own)
    values = rng.lognormal(size=len(flat)).astype(np.float32)
    values[np.searchsorted(flat, own)] += 8
    indptr = np.searchsorted(flat, np.arange(n + 1) * np.int64(d))
    return sparse.csr_array((values, (flat % d).astype(np.int32), indptr.astype(np.int32)), shape=(n, d)), groups


def contestants(X: Any, groups: np.ndarray) -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""
    columns = X.tocsc() if sparse.issparse(X) else np.asfortranarray(X)
    centers = np.stack([np.asarray(X[groups == g].mean(axis=0)).ravel() for g in range(K)])

    def explainer(algorithm: Any, max_leaves: int | None = None) -> Callable[[], Any]:
        return lambda: ClusterExplainer(algorithm=algorithm, max_leaves=max_leaves).fit(X, groups)

    def curve() -> Any:
        return cost_curve(ClusterExplainer(), X, groups)

    return {
        "tree": lambda: DecisionTreeClassifier(max_leaf_nodes=K, random_state=0).fit(X, groups),
        "tree-csc": lambda: DecisionTreeClassifier(max_leaf_nodes=K, random_state=0).fit(columns, groups),
        "k-means": lambda: KMeans(K, n_init=1, random_state=0).fit(X),
        "expand": explainer("expand"),
        "imm": explainer("imm"),
        "exgreedy": explainer("exgreedy"),
        "exshallow": explainer("exshallow"),
        "exkmc": explainer("exkmc", 2 * K),
        "auto": explainer("auto"),
        "given-imm": lambda: ExplainableKMeans(K, algorithm="imm", reference=centers).fit(X),
        "whole-imm": lambda: ExplainableKMeans(K, algorithm="imm", random_state=0).fit(X),
        "whole": lambda: ExplainableKMeans(K, random_state=0).fit(X),
        "curve": curve,
    }


def take_turn_apart(work: Callable[[], Any], small: Callable[[], Any]) -> tuple[float, int]:
    """CPU seconds, and the bytes at the peak beyond what the process held after the same on a small table."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)

    def run() -> None:
        take_turn(small)  # which collects garbage, too: that touches all that libraries have loaded
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)  # else what was freed before would be memory that nobody takes
        before = _status("VmRSS") if _reset_peak() else 0
        cpu = take_turn(work).cpu
        sender.send((cpu, _status("VmHWM") - before))

    process = fork.Process(target=run)
    process.start()
    sender.close()  # so that a process that ends without an answer is an error here, and not waited for
    cpu, peak = receiver.recv()
    process.join()
    return cpu, peak


def main() -> None:
    """Time the contestants and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.tables:
        X, groups = make_table(name, scale=arguments.scale)
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
        print(f"{name}: {X.shape[0]:,} x {X.shape[1]:,}, {size / 2**20:.0f} MiB", flush=True)
        works, small = contestants(X, groups), contestants(X[:200, :: X.shape[1] // (2 * K)], groups[:200])
        names = [key for key in works if not arguments.only or key in arguments.only]
        times: dict[str, list[float]] = {key: [] for key in names}
        peaks: dict[str, int] = {}
        for _ in range(arguments.rounds):
            for key in names:
                cpu_seconds, peak = take_turn_apart(works[key], small[key])
                times[key].append(cpu_seconds)
                peaks[key] = max(peaks.get(key, 0), peak)
        cpu = {key: float(np.median(seconds)) for key, seconds in times.items()}
        tree = min((cpu[key] for key in ("tree", "tree-csc") if key in cpu), default=np.nan)
        for key, seconds in cpu.items():
            print(
                f"  {key:10} {seconds:8.3f} s  {seconds / tree:7.2f} of the tree"
                f"  {seconds / cpu.get('k-means', np.nan):7.2f} of k-means"
                f"  memory {peaks[key] / size:5.2f} of the table",
                flush=True,
            )


if __name__ == "__main__":
    main()
