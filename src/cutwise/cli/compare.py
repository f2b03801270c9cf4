"""``cutwise compare``: every algorithm, and plain CART, against one and the same clustering."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cutwise.cli.columns import Task, clustering
from cutwise.cli.options import AsJson, ClusteringOptions, GrowthOptions, LabelsFrom, MaxLeaves
from cutwise.cli.screen import print_json, print_line, print_table, warnings_name, working
from cutwise.exceptions import CutwiseWarning, EmptyClusterWarning, InfeasibleLimitsError, warn
from cutwise.readouts import words
from cutwise.reference.objective import OBJECTIVES
from cutwise.tree.recipes import RECIPES, recipes_for

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator


EXAMPLES = (
    "cutwise compare --example wine",
    "cutwise compare customers.csv -k 5 --drop CustomerID,Genre --max-leaves 10",
    "cutwise compare customers.csv -k 5 --never Genre --max-depth 3",
    "cutwise compare measured.parquet --labels-from species",
)

NOTES = ("Algorithms:", *(f"{name}: {recipe.help}" for name, recipe in RECIPES.items() if recipe.explains))
"""Paragraphs of the help above the examples."""

HEADER = ("algorithm", "leaves", "depth", "cost ratio", "explained", "agreement", "WAD", "WAES", "seconds")


def command(
    *,
    table: ClusteringOptions,
    labels_from: LabelsFrom = None,
    max_leaves: MaxLeaves = None,
    growth: GrowthOptions,
    as_json: AsJson = False,
) -> None:
    """Grow a tree with every algorithm and with plain CART, and compare their costs.

    All trees explain the same clustering, or the labels in a column. Cost ratio: the cost of the tree's clusters
    divided by that of the clustering. Explained: the share that the tree keeps of what the clustering explains.
    Agreement: the share of rows in the same cluster as in the clustering. WAD and WAES: the mean number of tests to a
    row's leaf and of conditions in its rule. Seconds: for the tree alone, not the clustering. With limits on rules, a
    column shows how much they add to the cost, and the seconds include a tree without limits.
    """
    in_memory = {"compare": "Use a sample of its rows"}
    start = clustering(table, growth, command="compare", labels_from=labels_from, in_memory=in_memory)
    task, is_labeled = start.task, labels_from is not None
    entries, algorithms = [], recipes_for("labels" if is_labeled else "centers")
    refused = dict[str, list[str]]()
    with working(f"clustering {task.size}", steps=len(algorithms) + 2 - is_labeled) as begin:
        with warnings.catch_warnings(action="ignore", category=EmptyClusterWarning):  # the tree is not shown
            free = start.model(algorithm="exkmc", max_leaves=max_leaves)
            free.set_params(**{**dict.fromkeys(start.limits), "min_samples_leaf": 1})
            first, _ = _fit(free, task.table, **task.beside)
        # With centers as reference every row belongs to the nearest one.
        reference = {} if is_labeled else {"reference": first.reference_.centers}
        for algorithm in algorithms:
            begin(f"growing a tree by {algorithm}")
            with warnings_name(algorithm):
                model = start.model(algorithm=algorithm, max_leaves=max_leaves, **reference)
                try:
                    entries.append(_figures(algorithm, *_fit(model, task.table, **task.beside), task))
                except InfeasibleLimitsError as error:
                    refused.setdefault(str(error), []).append(algorithm)
        if not is_labeled:  # with labels it is one of the algorithms
            begin("growing a tree by CART")
            with warnings_name("CART"):
                entries.append(_cart(first, table.objective, task, start.limits))
        for reason, names in refused.items():
            warn(CutwiseWarning(f"{', '.join(names)}: left out: {reason}"))
    if as_json:
        trees = [{name: words.as_json(figure) for name, figure in entry.items()} for entry in entries]
        print_json({**start.about, "objective": table.objective, "trees": trees})
        return
    rows = [
        (
            entry["algorithm"],
            str(entry["n_leaves"]),
            str(entry["depth"]),
            words.ratio_text(entry["cost_ratio"]),
            words.explained_text(entry["explained"], first.reference_explained_),
            words.percent(entry["agreement"]),
            f"{entry['wad']:.2f}",
            f"{entry['waes']:.2f}",
            f"{entry['seconds']:.3f}",
            *([_price(entry)] if start.limits else []),
        )
        for entry in entries
    ]
    header = (*HEADER, *(["limits"] if start.limits else []))
    print_table(header, rows, right=range(1, len(header)))
    for line in words.table_notes(
        [entry["cost_ratio"] for entry in entries], first.reference_explained_, OBJECTIVES[table.objective].cost_words
    ):
        print_line(line)
    for line in start.limits_notes:
        print_line(f"{line}; the column shows how much they add to the cost")
    if is_labeled:
        best = max(entries, key=lambda entry: (entry["agreement"], -entry["waes"]), default={"algorithm": "none"})
        print_line(f"recommended: {best['algorithm']} (highest agreement with the labels)")
    elif choice := _choice(entries):
        print_line(choice)


def _price(entry: Mapping[str, Any]) -> str:
    """The price of limits of a tree, as printed."""
    return f"{100 * entry['limits_price']:+.1f} %" if "limits_price" in entry else "none"


def _choice(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """The recommended tree with the reason: the shortest rules among trees of nearly the lowest cost."""
    whole = [entry for entry in entries if not math.isnan(entry["cost_ratio"])]
    if not whole:
        return None
    cheapest = min(whole, key=lambda entry: (entry["cost"], entry["waes"]))
    close = [entry for entry in whole if entry["cost"] <= _NEXT_TO_NOTHING * cheapest["cost"]]
    shortest = min(entry["waes"] for entry in close)
    taken = min((entry for entry in close if entry["waes"] <= shortest + _HARDLY_LONGER), key=lambda e: e["cost"])
    name = taken["algorithm"]
    if taken is cheapest:
        return f"recommended: {name}, the cheapest; no tree within 1 % of its cost has clearly shorter rules"
    return f"recommended: {name}, within 1 % of the cheapest ({cheapest['algorithm']}) and with shorter rules"


_NEXT_TO_NOTHING = 1.01
_HARDLY_LONGER = 0.05
"""Average number of conditions per row."""


def _fit(model: TreeEstimator, table: Any, **beside: Any) -> tuple[TreeEstimator, float]:
    """The model fitted, and the seconds that took."""
    started = time.perf_counter()
    model.fit(table, **beside)
    return model, time.perf_counter() - started


def _cart(first: TreeEstimator, objective: str, task: Task, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Figures of plain CART on the labels of the reference clustering, computed as for all other trees."""
    from cutwise import ClusterExplainer
    from cutwise.estimators import share_explained
    from cutwise.metrics import tree_cost

    reference = first.reference_
    shared = ("max_leaves", "preprocessor", "categorical_features", "handle_unknown", "n_jobs")
    cart = ClusterExplainer(algorithm="cart", **{name: getattr(first, name) for name in shared}, **limits)
    model, seconds = _fit(cart, task.table, y=reference.labels, sample_weight=task.weights)
    cost = tree_cost(model, task.table, metric=objective, sample_weight=task.weights)
    ratio = cost / reference.cost if reference.cost > 0 else math.nan
    explained = share_explained(cost, reference.cost, first.total_cost_)
    return _figures("CART", model, seconds, task) | {"cost": cost, "cost_ratio": ratio, "explained": explained}


def _figures(algorithm: str, model: TreeEstimator, seconds: float, task: Task) -> dict[str, Any]:
    from cutwise.estimators import agreement_of
    from cutwise.metrics import weighted_average_depth, weighted_average_explanation_size

    price = getattr(model, "limits_price_", math.nan)
    return ({} if math.isnan(price) else {"limits_price": price}) | {
        "algorithm": algorithm,
        "n_leaves": model.n_leaves_,
        "depth": model.depth_,
        "cost": model.cost_,
        "cost_ratio": model.cost_ratio_,
        "explained": model.explained_,
        "agreement": agreement_of(model),
        "wad": weighted_average_depth(model, task.table, task.weights),
        "waes": weighted_average_explanation_size(model, task.table, task.weights),
        "seconds": seconds,
    }
