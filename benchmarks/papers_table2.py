"""The published figures of the ExShallow paper's Table 2 beside ours, on the same kind of references.

For every data set and seed: one ``KMeans(n_init=10, random_state=seed)`` gives the reference centers, and each of the
four algorithms grows a tree with one leaf per center from them. Printed are the means over the seeds, with their
standard errors, of the cost ratio (tree cost, every cluster with its own mean, over reference cost) and of WAES
(conditions per row that are not redundant). Avila and Vowel are scaled to [0, 1] a column, as the paper's own runs
were.

A cost ratio is flagged when it is farther from the published one than max(0.02, 3 combined standard errors), a WAES
when it is farther than 10 %. The paper gives no standard errors: its means over 30 seeds are taken to scatter like
ours. Where a figure is flagged, the naive twin of the tests (every cut tried, no shared code) is run on the same
references: what it shows too belongs to the references or the tie rule, not to the engine. Only differences between
"ours" and "twin" are ours to explain.

    python benchmarks/papers_table2.py --seeds 30 --data ../shared/data --json table2.json
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.cluster import KMeans
from sklearn.preprocessing import minmax_scale
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.oracle import measures
from tests.oracle.twin import Twin

PUBLISHED_SEEDS = 30
ALGORITHMS = ("exshallow", "exgreedy", "imm", "exkmc")
HEADINGS = {"exshallow": "ExShallow", "exgreedy": "ExGreedy", "imm": "IMM", "exkmc": "KMC"}


@dataclass(frozen=True)
class DataSet:
    """A data set of the table: its file, k, scaling, and the published (cost ratio, WAES) per algorithm."""

    name: str
    file: str
    k: int
    scaling: str
    published: dict[str, tuple[float, float]]

    def load(self, folder: Path) -> np.ndarray:
        """The rows, scaled as in the paper's runs."""
        with np.load(folder / f"{self.file}.npz", allow_pickle=False) as stored:
            rows = np.asarray(stored["X"], dtype=np.float64)
        return minmax_scale(rows) if self.scaling == "minmax" else rows


def _set(name: str, file: str, k: int, scaling: str, *figures: tuple[float, float]) -> DataSet:
    return DataSet(name, file, k, scaling, dict(zip(ALGORITHMS, figures, strict=True)))


# Source: Laber, Murtinho, Oliveira, "Shallow decision trees for explainable k-means clustering", Table 2.
DATA_SETS = (
    _set("Iris", "iris", 3, "raw", (1.04, 1.67), (1.04, 1.67), (1.04, 1.44), (1.04, 1.44)),
    _set("Mice", "mice_rows", 8, "raw", (1.07, 3.17), (1.09, 3.32), (1.12, 3.53), (1.15, 3.12)),
    _set("Vowel", "vowel", 11, "minmax", (1.21, 3.89), (1.25, 5.26), (1.36, 5.74), (1.29, 3.63)),
    _set("Digits", "digits", 10, "raw", (1.19, 3.96), (1.21, 5.65), (1.23, 5.36), (1.22, 3.80)),
    _set("Anuran", "anuran", 10, "raw", (1.16, 3.75), (1.15, 4.17), (1.28, 5.37), (1.32, 3.41)),
    _set("Pendigits", "pendigits", 10, "raw", (1.14, 3.70), (1.14, 4.43), (1.24, 4.31), (1.32, 3.49)),
    _set("Avila", "avila", 12, "minmax", (1.05, 3.87), (1.05, 5.58), (1.07, 5.20), (1.18, 3.26)),
    _set("Letter", "letter", 26, "raw", (1.19, 5.26), (1.23, 11.37), (1.30, 12.64), (1.36, 5.44)),
)


@dataclass(frozen=True)
class Reference:
    """One k-means run: what every algorithm of the table starts from."""

    centers: np.ndarray
    labels: np.ndarray
    cost: float


@dataclass
class Sample:
    """A figure over the seeds."""

    values: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(np.mean(self.values))

    @property
    def standard_error(self) -> float:
        """Of the mean; nan for a single seed."""
        return float(np.std(self.values, ddof=1) / math.sqrt(len(self.values))) if len(self.values) > 1 else math.nan


@dataclass
class Figures:
    """Cost ratio and WAES of one algorithm on one data set."""

    cost_ratio: Sample = field(default_factory=Sample)
    waes: Sample = field(default_factory=Sample)

    def add(self, cost_ratio: float, waes: float) -> None:
        """Note one seed's figures."""
        self.cost_ratio.values.append(cost_ratio)
        self.waes.values.append(waes)


Grower = Callable[[np.ndarray, Reference, str], tuple[float, float]]


def grow_ours(rows: np.ndarray, reference: Reference, algorithm: str) -> tuple[float, float]:
    """Cost ratio and WAES of the library's tree."""
    from cutwise import ExplainableKMeans, metrics

    model = ExplainableKMeans(len(reference.centers), algorithm=algorithm, reference=reference.centers).fit(rows)
    return model.cost_ / reference.cost, metrics.weighted_average_explanation_size(model.tree_, rows)


def grow_twin(rows: np.ndarray, reference: Reference, algorithm: str) -> tuple[float, float]:
    """The same of the naive twin's tree."""
    tree = Twin(rows, reference.centers).grow(algorithm)
    cost = measures.partition_cost(measures.clusters_of_rows(tree, rows), rows)
    return cost / reference.cost, measures.weighted_average_explanation_size(tree, rows)


def fit_reference(rows: np.ndarray, k: int, seed: int) -> Reference:
    # One thread: scikit-learn's centers differ in their last bits between thread counts.
    with threadpool_limits(limits=1):
        fitted = KMeans(n_clusters=k, n_init=10, random_state=seed).fit(rows)
    labels = fitted.labels_
    centers = np.array([rows[labels == j].mean(axis=0) for j in range(k)])
    return Reference(centers, labels, measures.partition_cost(labels, rows))


def is_cost_flagged(ours: Sample, published: float) -> bool:
    theirs = ours.standard_error * math.sqrt(len(ours.values) / PUBLISHED_SEEDS)
    combined = math.hypot(ours.standard_error, theirs)
    return abs(ours.mean - published) > max(0.02, 0.0 if math.isnan(combined) else 3 * combined)


def is_waes_flagged(ours: Sample, published: float) -> bool:
    return abs(ours.mean - published) > 0.1 * published


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    data_set: str
    scaling: str
    algorithm: str
    published_cost_ratio: float
    cost_ratio: float
    cost_ratio_se: float
    cost_ratio_flagged: bool
    published_waes: float
    waes: float
    waes_se: float
    waes_flagged: bool
    twin_cost_ratio: float | None
    twin_waes: float | None

    def text(self) -> str:
        """The line as printed; ``!`` marks a figure beyond the tolerance."""
        flag = {True: " !", False: "  "}
        line = (
            f"{self.data_set:<10}{HEADINGS[self.algorithm]:<10}"
            f"{self.published_cost_ratio:>6.2f} {self.cost_ratio:>7.3f} +- {self.cost_ratio_se:.3f}"
            f"{flag[self.cost_ratio_flagged]}   "
            f"{self.published_waes:>6.2f} {self.waes:>7.2f} +- {self.waes_se:.2f}{flag[self.waes_flagged]}"
        )
        if self.twin_cost_ratio is not None:
            line += f"   {self.twin_cost_ratio:>7.3f} {self.twin_waes:>6.2f}"
        return line.rstrip()


HEADER = (
    f"{'data set':<10}{'tree':<10}{'paper':>6} {'cost ratio':>16}     {'paper':>6} {'WAES':>15}"
    f"     {'twin, same references':>21}"
)


def say(*words: Any) -> None:
    print(*words, file=sys.stderr, flush=True)


def measure(
    data_set: DataSet, folder: Path, n_seeds: int, grower: Grower, twin: str
) -> tuple[list[Row], dict[str, dict[str, list[float]]]]:
    rows = data_set.load(folder)
    start = time.perf_counter()
    references: list[Reference] = []
    figures = {algorithm: Figures() for algorithm in ALGORITHMS}
    for seed in range(n_seeds):
        references.append(fit_reference(rows, data_set.k, seed))
        for algorithm in ALGORITHMS:
            figures[algorithm].add(*grower(rows, references[-1], algorithm))
        say(f"{data_set.name}: seed {seed + 1} of {n_seeds}, {time.perf_counter() - start:.0f} s")
    table = []
    for algorithm in ALGORITHMS:
        ours, (cost_ratio, waes) = figures[algorithm], data_set.published[algorithm]
        flagged = is_cost_flagged(ours.cost_ratio, cost_ratio), is_waes_flagged(ours.waes, waes)
        naive = Figures()
        if twin == "always" or (twin == "flagged" and any(flagged)):
            say(f"{data_set.name}: the naive twin of {HEADINGS[algorithm]} on the same references")
            for reference in references:
                naive.add(*grow_twin(rows, reference, algorithm))
        has_twin = bool(naive.waes.values)
        table.append(
            Row(
                data_set.name,
                data_set.scaling,
                algorithm,
                cost_ratio,
                ours.cost_ratio.mean,
                ours.cost_ratio.standard_error,
                flagged[0],
                waes,
                ours.waes.mean,
                ours.waes.standard_error,
                flagged[1],
                naive.cost_ratio.mean if has_twin else None,
                naive.waes.mean if has_twin else None,
            )
        )
    runs = {name: {"cost_ratio": f.cost_ratio.values, "waes": f.waes.values} for name, f in figures.items()}
    return table, runs


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=PUBLISHED_SEEDS, help="k-means runs a data set (default: 30)")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the .npz files")
    parser.add_argument("--json", type=Path, help="write the table and every run to this file")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="data sets to run, by name")
    parser.add_argument(
        "--twin",
        choices=("flagged", "always", "never", "alone"),
        default="flagged",
        help="when to run the naive twin; 'alone' puts it in the library's place",
    )
    options = parser.parse_args(arguments)
    chosen = [d for d in DATA_SETS if not options.only or d.name.lower() in {name.lower() for name in options.only}]
    missing = [str(options.data / f"{d.file}.npz") for d in chosen if not (options.data / f"{d.file}.npz").exists()]
    if not chosen or missing:
        parser.error(
            f"not found: {', '.join(missing)}"
            if missing
            else f"no such data set; there are {[d.name for d in DATA_SETS]}"
        )
    if options.seeds < 1:
        parser.error(f"--seeds {options.seeds}: at least 1 is needed")
    grower = grow_twin if options.twin == "alone" else grow_ours
    print(HEADER, flush=True)
    table, runs = [], {}
    for data_set in chosen:
        rows, runs[data_set.name] = measure(data_set, options.data, options.seeds, grower, options.twin)
        table += rows
        for row in rows:
            print(row.text(), flush=True)
    n_flagged = sum(row.cost_ratio_flagged or row.waes_flagged for row in table)
    print(f"{n_flagged} of {len(table)} lines have a figure beyond the tolerance (!), {options.seeds} seeds.")
    if options.json:
        result = {
            "what": "ExShallow paper, Table 2",
            "measured": "naive twin" if options.twin == "alone" else "cutwise",
            "seeds": options.seeds,
            "reference": "KMeans(n_init=10)",
            "versions": {"python": platform.python_version(), "numpy": np.__version__, "sklearn": sklearn.__version__},
            "machine": platform.machine(),
            "table": [asdict(row) for row in table],
            "runs": runs,
        }
        partial = options.json.with_name(options.json.name + ".part")
        partial.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        partial.replace(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
