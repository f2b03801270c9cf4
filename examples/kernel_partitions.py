"""Partitions of the plane: where explainable k-means must fail, a kernel tree says the clusters.

Four data sets of the kernel paper, a row each: the tree of plain explainable k-means, the clusters of kernel k-means,
and the kernel tree that says these by thresholds and intervals, with no more leaves than the first may have. Half-moons
are made here; the others are read from a folder of data files, and left out where they are not in it.

    python examples/kernel_partitions.py --out partitions.png
    python examples/kernel_partitions.py --data ../shared/data --out partitions.png
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from cutwise import ExplainableKernelKMeans, ExplainableKMeans, KernelKMeans, metrics
from cutwise.datasets import load_real
from cutwise.exceptions import DataSetUnavailableError
from cutwise.plot import PartitionDisplay


@dataclass(frozen=True)
class Case:
    """A data set, the kernel that finds its clusters, and the leaves that say them."""

    title: str
    n_clusters: int
    kernel: str
    gamma: float
    max_leaves: int
    name: str | None = None


# Kernels and bandwidths of the kernel paper's Table 2, and the leaves of its refinements; half-moons are our choice.
CASES = (
    Case("half-moons", 2, "rbf", 7.5, 8),
    Case("Pathbased", 3, "rbf", 0.05, 6, name="pathbased"),
    Case("Aggregation", 7, "laplacian", 0.1, 10, name="aggregation"),
    Case("Flame", 2, "rbf", 0.1, 4, name="flame"),
)


def rows_of(case: Case, data: Path | None) -> np.ndarray:
    """The rows of a case."""
    if case.name is None:
        return make_moons(n_samples=500, noise=0.05, random_state=0)[0]
    return load_real(case.name, data=data, network=False).X


def draw(case: Case, X: np.ndarray, axes: np.ndarray) -> None:
    """One row of pictures."""
    reference = KernelKMeans(
        case.n_clusters, kernel=case.kernel, gamma=case.gamma, init="random", n_init=60, random_state=2
    ).fit(X)
    plain = ExplainableKMeans(case.n_clusters, max_leaves=case.max_leaves, random_state=0).fit(X)
    tree = ExplainableKernelKMeans(
        case.n_clusters, max_leaves=case.max_leaves, expansion="expand", reference=reference
    ).fit(X)

    def agreement(model: ExplainableKMeans | ExplainableKernelKMeans) -> str:
        index = metrics.adjusted_rand_index(model, X, reference.labels_)
        return f"{model.n_leaves_} leaves, agreement {index:.2f}"

    PartitionDisplay.from_estimator(plain, X, ax=axes[0])
    axes[1].scatter(*X.T, c=reference.labels_, cmap="tab10", s=8)
    PartitionDisplay.from_estimator(tree, X, ax=axes[2])
    axes[0].set_title(f"{case.title}: explainable k-means\n{agreement(plain)}")
    axes[1].set_title(f"kernel k-means\n{case.kernel}, gamma {case.gamma:g}")
    axes[2].set_title(f"kernel tree\n{agreement(tree)}")
    print(f"\n{case.title}, said by the kernel tree (cost ratio {tree.cost_ratio_:.4f}):")
    print(tree.rules())


def main() -> None:
    """Draw what can be had, and write the picture."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=beside if beside.exists() else None, help="folder of data files")
    parser.add_argument("--out", type=Path, default=Path("kernel_partitions.png"), help="picture to write")
    options = parser.parse_args()
    found = []
    for case in CASES:
        try:
            found.append((case, rows_of(case, options.data)))
        except DataSetUnavailableError as error:
            print(f"{case.title} is left out: {str(error).splitlines()[0]}")
    figure, axes = plt.subplots(len(found), 3, figsize=(13, 4.2 * len(found)), layout="constrained", squeeze=False)
    for (case, X), row in zip(found, axes, strict=True):
        draw(case, X, row)
    figure.savefig(options.out, dpi=110)
    print(f"\nwrote {options.out}")


if __name__ == "__main__":
    main()
