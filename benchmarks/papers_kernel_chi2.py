"""The kernel paper's mixture of histograms (Appendix I, Figure 6): the additive chi-squared kernel beside k-means.

Four distributions over four bins, five histograms of 100 draws from each, 100 times over; which distributions, see
``cutwise.datasets.make_histogram_mixture``. Prints the Rand index against the distributions, and how often the kernel
is ahead; ``--json`` also writes every repetition.

    python benchmarks/papers_kernel_chi2.py
    python benchmarks/papers_kernel_chi2.py --repetitions 20 --json chi2.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.metrics import rand_score

from cutwise import ExplainableKernelKMeans, ExplainableKMeans
from cutwise.datasets import make_histogram_mixture

METHODS = ("k-means", "k-means tree", "kernel k-means", "Kernel IMM tree")


def rand_indices(seed: int) -> list[float]:
    """Rand index of each method on one draw of the mixture."""
    planted = make_histogram_mixture(random_state=seed)
    found = []
    for model in (
        ExplainableKMeans(4, algorithm="imm", random_state=seed),
        ExplainableKernelKMeans(4, kernel="additive_chi2", random_state=seed),
    ):
        model.fit(planted.X)
        found += [rand_score(planted.labels, model.reference_.labels), rand_score(planted.labels, model.labels_)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--json", type=Path, help="file for every repetition")
    options = parser.parse_args()
    indices = np.array([rand_indices(seed) for seed in range(options.repetitions)])
    print(f"Rand index over {len(indices)} repetitions")
    print(f"{'':18}{'mean':>8}{'10 %':>8}{'median':>8}{'90 %':>8}")
    for method, column in zip(METHODS, indices.T, strict=True):
        low, middle, high = np.quantile(column, [0.1, 0.5, 0.9])
        print(f"{method:18}{column.mean():8.4f}{low:8.4f}{middle:8.4f}{high:8.4f}")
    ahead, behind = np.mean(indices[:, 2] > indices[:, 0]), np.mean(indices[:, 2] < indices[:, 0])
    print(f"the kernel is ahead of k-means in {ahead:.0%} and behind in {behind:.0%} of the repetitions")
    if options.json is not None:
        told = {"methods": METHODS, "rand_index": indices.tolist()}
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
