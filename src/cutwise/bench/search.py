"""The default search compared with the four papers' trees on the same references, also on held-out rows."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from cutwise import ExplainableKMeans, metrics
from cutwise.bench.measures import BenchReference, figures_of, fit_quietly, kmeans_reference_of
from cutwise.bench.runner import Experiment, Options, Record, markdown_table
from cutwise.datasets import CATALOG
from cutwise.reference.objective import KMEANS
from cutwise.table.table import as_matrix
from cutwise.tree.recipes import RECIPES

PAPERS = RECIPES["search"].starts

Values = dict[str, dict[str, list[float]]]  # data set -> figure -> by seed


def _work(options: Options, name: str, seed: int) -> Record:
    """All trees from the same reference, and from a reference of half of the rows."""
    loaded = options.real(name)
    X, k = loaded.X, loaded.n_clusters
    reference = kmeans_reference_of(X, k, seed)
    models = _models(X, k, reference, seed)
    result: Record = {"trees": {name: figures_of(each, X, reference, t) for name, (each, t) in models.items()}}
    # Half of the rows to fit, and the other half to judge.
    order = np.random.default_rng(seed).permutation(len(X))
    seen, unseen = X[order[: len(X) // 2]], X[order[len(X) // 2 :]]
    of_seen = kmeans_reference_of(seen, k, seed)
    reference_cost = KMEANS.assign(as_matrix(unseen), of_seen.centers)[1].sum()
    result["unseen"] = {
        name: [each.cost_ratio_, metrics.tree_cost(each, unseen) / reference_cost]
        for name, (each, _) in _models(seen, k, of_seen, seed).items()
    }
    return result


def _models(X: Any, k: int, reference: BenchReference, seed: int) -> dict[str, tuple[Any, float]]:
    """The models of every algorithm, and the CPU seconds of each fit."""

    def fitted(algorithm: Any) -> tuple[Any, float]:
        model = ExplainableKMeans(k, algorithm=algorithm, reference=reference.centers, random_state=seed, n_jobs=1)
        return fit_quietly(model, X)

    fitted(PAPERS[0])  # so that no figure includes the time of imports
    return {name: fitted(name) for name in ("search", *PAPERS)}


def report(records: list[Record]) -> dict[str, str]:
    """Tables from the records of the jobs."""
    values: Values = defaultdict(lambda: defaultdict(list))
    for record in records:
        for figure, value in _figures(record["result"]).items():
            values[record["key"]["set"]][figure].append(value)
    return {"search.md": _table(values), "summary.txt": _summary(values)}


def _figures(result: Record) -> dict[str, float]:
    """Figures of the cheapest of the papers' trees (``best_``) and of the search."""
    trees, unseen = result["trees"], result["unseen"]
    best = min((trees[name] for name in PAPERS), key=lambda figures: figures["cost_ratio"])
    return {
        **{f"best_{figure}": best[figure] for figure in ("cost_ratio", "waes", "wad", "nmi")},
        **{figure: trees["search"][figure] for figure in ("cost_ratio", "waes", "wad", "nmi", "seconds")},
        "best_unseen": min((unseen[name] for name in PAPERS), key=lambda costs: costs[0])[1],
        "unseen": unseen["search"][1],
        "exgreedy_fits": trees["search"]["seconds"] / trees["exgreedy"]["seconds"],
    }


LEAST_EXCESS = 0.005
"""Trees with a smaller excess cost over the reference are not compared."""


def _removed(before: float, after: float) -> float:
    """Per cent by which the excess cost of a tree over the reference decreased."""
    return 100.0 * (before - after) / (before - 1.0) if before > 1.0 + LEAST_EXCESS else np.nan


HEADINGS = (
    "set", "cost: four", "search", "removed, %", "unseen: four", "search", "removed, %", "WAES: four", "search",
    "WAD: four", "search", "NMI: four", "search", "time, ExGreedy fits", "seconds",
)  # fmt: skip


def _table(values: Values) -> str:
    rows, removed = [], list[float]()
    for name, figures in values.items():
        mean = {figure: float(np.mean(by_seed)) for figure, by_seed in figures.items()}
        cells = []
        for figure in ("cost_ratio", "unseen"):
            before, after = mean[f"best_{figure}"], mean[figure]
            share = _removed(before, after)
            cells += [f"{before:.4f}", f"{after:.4f}", "" if np.isnan(share) else f"{share:.0f}"]
        cells += [f"{mean[which + figure]:.2f}" for figure in ("waes", "wad", "nmi") for which in ("best_", "")]
        rows.append([CATALOG[name].title, *cells, f"{mean['exgreedy_fits']:.1f}", f"{mean['seconds']:.2f}"])
        removed += map(_removed, figures["best_cost_ratio"], figures["cost_ratio"])
    n_seeds = len(removed) // max(len(values), 1)
    return (
        "# The search beside the papers' trees\n\n"
        f"Means over {n_seeds} k-means references a set. Trees have a leaf a cluster; four stands for the cheapest of "
        "IMM's, ExGreedy's, ExShallow's and ExKMC's on the same reference. Cost is the tree's over the reference's; "
        "removed is the share of the excess over 1 that the search takes away. Unseen: half of the rows to fit, costs "
        "of the other half. WAES is the average number of conditions, WAD the average depth; NMI compares with the "
        "reference's clusters. Time is CPU time of one thread, of a fit on the centers of the reference.\n\n"
        + markdown_table(HEADINGS, rows)
        + f"\nOf single references where the four cost {100 * LEAST_EXCESS:g} % more at least: "
        f"{np.nanmedian(removed):.1f} % removed in the median, {np.nanmean(removed):.1f} % in the mean.\n"
    )


def _summary(values: Values) -> str:
    """Cost ratios only, one column per set."""
    names = [CATALOG[name].title for name in values]
    lines = {"best of the papers' four": "best_cost_ratio", '`"search"`': "cost_ratio"}
    rows = [[title, *(f"{np.mean(f[figure]):.3f}" for f in values.values())] for title, figure in lines.items()]
    return markdown_table(("", *names), rows)


SEARCH = Experiment(
    name="search",
    title="The search beside the papers' trees",
    sets=(
        "digits", "anuran", "pendigits", "mice_rows", "vowel", "avila", "letter", "iris", "wine", "breast_cancer",
    ),
    quick_sets=("iris", "mice_rows", "vowel", "digits"),
    seeds=10,
    key=lambda name: {"scaling": CATALOG[name].exshallow_scaling},
    work=_work,
    report=report,
)  # fmt: skip
