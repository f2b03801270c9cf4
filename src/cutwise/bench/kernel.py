"""The kernel paper's experiments: Table 2, and Figures 1, 3 and 4."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import adjusted_rand_score, pairwise_kernels

from cutwise import ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans, KernelKMeans, metrics
from cutwise.bench.measures import fit_quietly, kmeans_reference_of
from cutwise.bench.runner import Experiment, Options, Record, markdown_table
from cutwise.datasets import CATALOG


@dataclass(frozen=True)
class Setting:
    """The paper's setting of a set: its kernel, the leaves of the refined trees, and Table 2 (Kernel IMM, CART)."""

    kernel: str
    gamma: float
    leaves: int
    published: tuple[float, float] | None = None


# Kernels and bandwidths from the authors' notebooks. The paper states none for the halfmoons: ours is the one from
# 0.5 to 100 for which kernel k-means agrees best with the two moons.
SETTINGS = {
    "pathbased": Setting("rbf", 0.05, 6, (1.06645, 1.07004)),
    "aggregation": Setting("laplacian", 0.1, 10, (1.00125, 1.00125)),
    "flame": Setting("rbf", 0.1, 4, (1.02256, 1.02732)),
    "iris": Setting("laplacian", 1.0, 6, (1.00502, 1.00502)),
    "breast_cancer": Setting("rbf", 5e-6, 4, (1.00179, 0.99330)),
    "halfmoons": Setting("rbf", 5.0, 4),
}

TREES = {
    "kernel_imm": "Kernel IMM",
    "kernel_exkmc": "Kernel ExKMC",
    "kernel_expand": "Kernel Expand",
    "cart": "CART, k leaves",
}
OTHERS = {"kmeans": "k-means", "imm": "IMM", "kernel_kmeans": "kernel k-means"}

_DIFFERENCE = 0.02


def _work(options: Options, name: str, seed: int) -> Record:
    """All trees from the same kernel clustering."""
    loaded, setting = options.real(name, "raw"), SETTINGS[name]
    X, k = loaded.X, loaded.n_clusters
    kernel: dict[str, Any] = {"kernel": setting.kernel, "gamma": setting.gamma}
    clustering = KernelKMeans(k, random_state=seed, **kernel).fit(X)
    found: dict[str, npt.NDArray[Any]] = {"kernel_kmeans": clustering.labels_}
    ratios: dict[str, float] = {}
    trees: dict[str, dict[str, Any]] = {
        "kernel_imm": {"max_leaves": k},
        "kernel_exkmc": {"max_leaves": setting.leaves},
        "kernel_expand": {"max_leaves": setting.leaves, "expansion": "expand"},
    }
    for tree, growth in trees.items():
        model, _ = fit_quietly(ExplainableKernelKMeans(k, reference=clustering, **growth, **kernel), X)
        found[tree], ratios[tree] = model.labels_, model.cost_ratio_
        cost = model.reference_.cost
    cart = ClusterExplainer(algorithm="cart", max_leaves=k).fit(X, clustering.labels_)
    found["cart"] = cart.labels_
    matrix = pairwise_kernels(X, metric=setting.kernel, gamma=setting.gamma)
    ratios["cart"] = metrics.tree_cost(cart, X, metric="kernel", K=matrix) / cost
    reference = kmeans_reference_of(X, k, seed)
    found["kmeans"] = reference.labels
    found["imm"] = fit_quietly(ExplainableKMeans(k, algorithm="imm", reference=reference.centers), X)[0].labels_
    result: Record = {"reference_cost": cost, "cost_ratio": ratios}
    if loaded.labels is not None:
        result["agreement"] = {each: adjusted_rand_score(loaded.labels, labels) for each, labels in found.items()}
    if X.shape[1] == 2:
        # One digit per row, since all sets in the plane have fewer than ten clusters.
        result["partitions"] = {each: "".join(map(str, labels.tolist())) for each, labels in found.items()}
        if seed == 0:
            result["points"] = np.round(X, 4).tolist()
    return result


def by_set_and_best(records: list[Record]) -> tuple[dict[str, list[Record]], dict[str, Record]]:
    """The results of every set, and the result of its cheapest reference, as in the paper."""
    by_set: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_set[record["key"]["set"]].append(record["result"])
    best = {name: min(results, key=lambda result: float(result["reference_cost"])) for name, results in by_set.items()}
    return by_set, best


def report(records: list[Record]) -> dict[str, str]:
    """Tables from the records of the jobs."""
    by_set, best = by_set_and_best(records)
    return {"table2.md": _table_2(by_set, best), "figure4.md": _figure_4(by_set, best)}


def _table_2(by_set: dict[str, list[Record]], best: dict[str, Record]) -> str:
    rows = []
    for name, result in best.items():
        published = SETTINGS[name].published
        cells = [CATALOG[name].title, f"{SETTINGS[name].kernel} {SETTINGS[name].gamma:g}"]
        for place, tree in enumerate(("kernel_imm", "cart")):
            ours = result["cost_ratio"][tree]
            every = [each["cost_ratio"][tree] for each in by_set[name]]
            far = published is not None and abs(ours - published[place]) > _DIFFERENCE
            cells += ["" if published is None else f"{published[place]:.5f}", f"{ours:.5f}{' **!**' * far}"]
            cells.append(f"{min(every):.5f} – {max(every):.5f}")
        rows.append(cells)
    seeds = max(len(results) for results in by_set.values())
    header = ("set", "kernel, γ", "Kernel IMM, paper", "ours", "over all references")
    return (
        "# Kernel paper, Table 2\n\n"
        "Kernel cost of trees of k leaves over that of kernel k-means. Ours is that of the cheapest of "
        f"{seeds} references (each the best of ten starts), as the paper kept its cheapest; beside it the range over "
        f"all of them. **!** marks a difference beyond {_DIFFERENCE}.\n\n"
        + markdown_table((*header, "CART, paper", "ours", "over all references"), rows, left=2)
    )


def _figure_4(by_set: dict[str, list[Record]], best: dict[str, Record]) -> str:
    prices = [
        [CATALOG[name].title, str(SETTINGS[name].leaves), *(f"{result['cost_ratio'][tree]:.4f}" for tree in TREES)]
        for name, result in best.items()
    ]
    columns = {**OTHERS, **TREES}
    agreements = [
        [CATALOG[name].title, *(f"{result['agreement'][each]:.3f}" for each in columns)]
        for name, result in best.items()
        if "agreement" in result
    ]
    return (
        "# Kernel paper, Figure 4\n\n"
        "Price of explainability: kernel cost over that of kernel k-means, on the cheapest reference. Kernel ExKMC and "
        "Kernel Expand refine Kernel IMM's tree to the number of leaves in the second column.\n\n"
        + markdown_table(("set", "leaves", *TREES.values()), prices)
        + "\nAgreement with the known kinds (adjusted Rand index):\n\n"
        + markdown_table(("set", *columns.values()), agreements)
    )


KERNEL = Experiment(
    name="kernel",
    title="Kernel paper: Table 2, Figures 1, 3 and 4",
    sets=tuple(SETTINGS),
    quick_sets=("iris", "breast_cancer", "halfmoons"),
    seeds=10,
    key=lambda name: {"kernel": SETTINGS[name].kernel, "gamma": SETTINGS[name].gamma},
    work=_work,
    report=report,
)
