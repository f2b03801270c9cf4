"""The ExShallow paper's experiments, Tables 2, 3 and 4 and Figures 4 and 5, compared with its printed figures."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cutwise import ExplainableKMeans
from cutwise.bench.measures import (
    Trees,
    compare,
    figures_of,
    fit_quietly,
    is_far_from,
    kmeans_reference_of,
    trees_of,
    with_error,
)
from cutwise.bench.runner import Experiment, Options, Record, markdown_table
from cutwise.datasets import CATALOG

if TYPE_CHECKING:
    import pandas as pd

EXSHALLOW_SEEDS = 30
"""Number of references per data set in the ExShallow paper's tables."""

ALGORITHMS = ("exshallow", "exgreedy", "imm", "exkmc")
"""Algorithms in the order of the ExShallow paper's Table 2; its KMC is ExKMC from an empty tree with k leaves."""

HEADINGS = {
    "exshallow": "ExShallow",
    "exshallow_star": "ExShallow*",
    "exgreedy": "ExGreedy",
    "imm": "IMM",
    "exkmc": "KMC",
}


class Published(NamedTuple):
    """Means over 30 seeds: cost ratio, WAES, WAD, normalized mutual information with the reference, and seconds.

    Seconds are on eight threads of an Intel i7-4790 at 3.6 GHz, including k-means.
    """

    cost_ratio: float
    waes: float
    wad: float
    nmi: float
    seconds: float


def _read_published() -> dict[str, dict[str, Published]]:
    """Data set -> algorithm -> the figures of Tables 2, 3 (ExShallow*) and 4; for k-means only the seconds.

    Laber, Murtinho, Oliveira (2023), "Shallow decision trees for explainable k-means clustering". Avila and Vowel had
    every column scaled to 0 .. 1.
    """
    published: dict[str, dict[str, Published]] = defaultdict(dict)
    with open(Path(__file__).with_name("shallow.csv"), encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            figures = (float(line[name] or "nan") for name in Published._fields)
            published[line["set"]][line["algorithm"]] = Published(*figures)
    return published


PUBLISHED = _read_published()

PENALTIES = (0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3)
"""Depth penalties of Figures 4 and 5."""

PAPERS_PENALTY = 0.03

CURVE_SEEDS = 10

LEAST_COST_DIFFERENCE = 0.02
LARGEST_SIZE_DIFFERENCE = 0.1

# Whether larger values are better, also for the paper's colors.
_LARGER_IS = {"cost_ratio": "worse", "waes": "worse", "wad": "worse", "nmi": "better"}


def _work(options: Options, name: str, seed: int) -> Record:
    """All trees from the same reference."""
    loaded = options.real(name)
    X, k = loaded.X, loaded.n_clusters
    reference = kmeans_reference_of(X, k, seed)

    def figures(algorithm: str, depth_penalty: Any = "auto") -> dict[str, float]:
        growth = {"algorithm": algorithm, "depth_penalty": depth_penalty}
        model, seconds = fit_quietly(ExplainableKMeans(k, **growth, reference=reference.centers), X)
        return figures_of(model, X, reference, seconds)

    trees = {algorithm: figures(algorithm, PAPERS_PENALTY) for algorithm in ALGORITHMS}
    trees["exshallow_star"] = figures("exshallow")
    result: Record = {"kmeans_seconds": reference.seconds, "reference_cost": reference.cost, "trees": trees}
    if seed < CURVE_SEEDS:
        curve = {penalty: figures("exshallow", penalty) for penalty in PENALTIES}
        result["curve"] = [[penalty, own["cost_ratio"], own["waes"]] for penalty, own in curve.items()]
    return result


def report(records: list[Record]) -> dict[str, str]:
    """Tables from the records of the jobs."""
    trees = trees_of(records)
    return {
        "summary.txt": _summary(trees),
        "table2.md": _table_2(trees),
        "table3.md": _table_3(trees),
        "table4.md": _table_4(trees),
        "figures4and5.md": _curve_table(records),
    }


def _beside(ours: pd.Series, published: float, *, is_cost: bool) -> tuple[str, bool]:
    """Our figure, marked if it is too far from the published one."""
    if is_cost:
        far = is_far_from(ours, published, least=LEAST_COST_DIFFERENCE, published_seeds=EXSHALLOW_SEEDS)
    else:
        far = bool(abs(ours.mean() - published) > LARGEST_SIZE_DIFFERENCE * published)
    return with_error(ours, 3 if is_cost else 2) + (" **!**" if far else ""), far


def _figures_beside(ours: pd.DataFrame, published: Published) -> tuple[list[str], bool]:
    """Published and our figures of cost, WAES, WAD and NMI; and whether cost or WAES is too far."""
    cost, cost_is_far = _beside(ours["cost_ratio"], published.cost_ratio, is_cost=True)
    waes, waes_is_far = _beside(ours["waes"], published.waes, is_cost=False)
    shown = {"cost_ratio": cost, "waes": waes, "wad": with_error(ours["wad"], 2), "nmi": with_error(ours["nmi"], 2)}
    cells = [cell for figure, own in shown.items() for cell in (f"{getattr(published, figure):.2f}", own)]
    return cells, cost_is_far or waes_is_far


_BESIDE = ("cost, paper", "ours", "WAES, paper", "ours", "WAD, paper", "ours", "NMI, paper", "ours")


def _table_2(trees: Trees) -> str:
    rows, n_far, beaten = [], 0, defaultdict[tuple[str, str], int](int)
    for name, algorithms in trees.items():
        for algorithm in ALGORITHMS:
            ours = algorithms[algorithm]
            cells, is_far = _figures_beside(ours, PUBLISHED[name][algorithm])
            n_far += is_far
            verdicts = []
            for figure, larger_is in _LARGER_IS.items():
                verdict = compare(ours[figure], algorithms["exshallow"][figure], larger_is)
                if verdict:
                    verdicts.append(f"{'+' if verdict == 'better' else '-'}{_SHORT[figure]}")
                    beaten[algorithm, f"{verdict} {figure}"] += 1
            rows.append([CATALOG[name].title, HEADINGS[algorithm], *cells, " ".join(verdicts)])
    seeds = max((len(each["imm"]) for each in trees.values()), default=0)
    tests = "\n".join(
        f"- {HEADINGS[a]}: cost better on {beaten[a, 'better cost_ratio']} and worse on "
        f"{beaten[a, 'worse cost_ratio']} of {len(trees)} sets, WAES better on {beaten[a, 'better waes']} and worse "
        f"on {beaten[a, 'worse waes']}."
        for a in ALGORITHMS[1:]
    )
    return (
        "# ExShallow paper, Table 2\n\n"
        f"Means over {seeds} references a set ± standard errors, beside the paper's means over {EXSHALLOW_SEEDS}. Cost "
        "is the tree's over the reference's; WAES the average number of conditions, WAD the average depth; NMI "
        "compares the tree's clusters with the reference's. **!** marks a cost farther than max(0.02, 3 combined "
        "standard errors) from the paper's and a WAES farther than 10 %.\n\n"
        + markdown_table(("set", "tree", *_BESIDE, "against ExShallow"), rows, left=2)
        + f"\n{n_far} of {len(rows)} lines are marked.\n\n"
        "The last column gives the paper's one-sided t-tests (equal variances, 95 %) against ExShallow: `+` better, "
        "`-` worse, for cost (c), WAES (e), WAD (d) and NMI (n). Against ExShallow:\n\n" + tests + "\n"
    )


def _summary(trees: Trees) -> str:
    """Table 2 in short: cost ratio and WAES, the paper's figure first."""

    def cell(name: str, algorithm: str) -> str:
        paper, ours = PUBLISHED[name][algorithm], trees[name][algorithm]
        cost, waes = ours["cost_ratio"].mean(), ours["waes"].mean()
        pairs = f"{paper.cost_ratio:.2f} → {cost:.2f}", f"{paper.waes:.2f} → {waes:.2f}"
        return ", ".join(pair.replace(" ", "\u00a0") for pair in pairs)  # pairs do not break at line ends

    rows = [[CATALOG[name].title, *(cell(name, algorithm) for algorithm in ALGORITHMS)] for name in trees]
    return markdown_table(("cost ratio, WAES", *(HEADINGS[algorithm] for algorithm in ALGORITHMS)), rows)


_SHORT = {"cost_ratio": "c", "waes": "e", "wad": "d", "nmi": "n"}


def _table_3(trees: Trees) -> str:
    rows, dominated, n_within = [], 0, 0
    for name, algorithms in trees.items():
        for algorithm in ("exkmc", "exshallow_star"):
            cells, _ = _figures_beside(algorithms[algorithm], PUBLISHED[name][algorithm])
            rows.append([CATALOG[name].title, HEADINGS[algorithm], *cells])
        star, kmc = (algorithms[tree][["cost_ratio", "waes"]] for tree in ("exshallow_star", "exkmc"))
        dominated += bool((star.mean() <= kmc.mean() + 1e-9).all())
        n_within += bool((star.to_numpy() <= kmc.to_numpy() + 1e-9).all())
    return (
        "# ExShallow paper, Table 3\n\n"
        "ExShallow* searches for the depth penalty with which it costs no more than KMC (ExKMC with k leaves) on the "
        "same reference, and has explanations no longer. Columns and marks as in Table 2.\n\n"
        + markdown_table(("set", "tree", *_BESIDE), rows, left=2)
        + f"\nIn the means ExShallow* is no worse than KMC in both on {dominated} of {len(trees)} sets; on every "
        f"single reference, on {n_within} of them.\n"
    )


def _table_4(trees: Trees) -> str:
    columns = ("exshallow", "exshallow_star", "exgreedy", "imm", "exkmc")
    rows = []
    for name, algorithms in trees.items():
        of_kmeans = algorithms["imm"]["kmeans_seconds"].median()
        ours = [algorithms[a]["seconds"].median() for a in columns]
        paper_kmeans = PUBLISHED[name]["kmeans"].seconds
        published = [PUBLISHED[name][a].seconds - paper_kmeans for a in columns]
        rows.append(
            [
                CATALOG[name].title,
                f"{paper_kmeans:.2f}",
                f"{of_kmeans:.2f}",
                *(cell for p, o in zip(published, ours, strict=True) for cell in (f"{p:.2f}", f"{o:.3f}")),
            ]
        )
    header = ["set", "k-means, paper", "ours"]
    for algorithm in columns:
        header += [f"{HEADINGS[algorithm]}, paper", "ours"]
    return (
        "# ExShallow paper, Table 4\n\n"
        "Seconds, ours of CPU on one thread, medians over the references; the paper's machine had eight cores. "
        "k-means: ten starts of scikit-learn's, which is what trees start from. The trees: what they take on top of it "
        "(the paper prints the sums; its k-means is taken off here, so its figures have an error of 0.01).\n\n"
        + markdown_table(header, rows)
    )


def _curve_values(records: list[Record]) -> dict[str, np.ndarray]:
    """Data set -> array of shape (seeds, penalties, 2): cost ratio and WAES."""
    values: dict[str, list[list[list[float]]]] = defaultdict(list)
    for record in records:
        if "curve" in record["result"]:
            values[record["key"]["set"]].append([point[1:] for point in record["result"]["curve"]])
    return {name: np.array(curve) for name, curve in values.items()}


def penalty_curves(records: list[Record]) -> dict[str, np.ndarray]:
    """Cost ratio and WAES relative to penalty 0, by penalty; a line for each seed of each set."""
    values = _curve_values(records).values()
    cost = np.concatenate([curve[:, :, 0] for curve in values])
    return {"cost": cost, "waes": np.concatenate([curve[:, :, 1] / curve[:, :1, 1] for curve in values])}


def _curve_table(records: list[Record]) -> str:
    rows = []
    values = _curve_values(records)
    for name, curve in values.items():
        mean = curve.mean(axis=0)
        rows.append([CATALOG[name].title, "cost", *(f"{value:.3f}" for value in mean[:, 0])])
        rows.append(["", "WAES", *(f"{value:.2f}" for value in mean[:, 1])])
    if values:
        curves = penalty_curves(records)
        rows.append(["mean", "cost", *(f"{value:.3f}" for value in curves["cost"].mean(axis=0))])
        rows.append(["", "WAES / WAES at 0", *(f"{value:.3f}" for value in curves["waes"].mean(axis=0))])
    seeds = max((len(curve) for curve in values.values()), default=0)
    return (
        "# ExShallow paper, Figures 4 and 5\n\n"
        f"Cost ratio and WAES of ExShallow against the depth penalty λ: means over {seeds} references a set.\n\n"
        + markdown_table(("set", "", *(f"λ = {penalty:g}" for penalty in PENALTIES)), rows, left=2)
    )


SHALLOW = Experiment(
    name="shallow",
    title="ExShallow paper: Tables 2, 3 and 4, Figures 4 and 5",
    sets=tuple(PUBLISHED),
    quick_sets=("iris", "mice_rows", "vowel", "digits"),
    seeds=EXSHALLOW_SEEDS,
    key=lambda name: {"scaling": CATALOG[name].exshallow_scaling},
    work=_work,
    report=report,
)
