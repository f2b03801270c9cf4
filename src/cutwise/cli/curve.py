"""``cutwise curve``: what each further leaf buys, from one fit."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutwise.cli.columns import find_source, prepare
from cutwise.cli.models import print_rules
from cutwise.cli.options import (
    SCALES,
    TREE,
    AsJson,
    ChosenModel,
    Clusters,
    GrowthOptions,
    Objective,
    Picture,
    Scale,
    TableOptions,
    estimator_of,
)
from cutwise.cli.screen import Outputs, note, print_line, print_table, warnings_name, working
from cutwise.exceptions import EmptyClusterWarning, InvalidInputError
from cutwise.readouts.explained import table_notes
from cutwise.readouts.words import percent
from cutwise.reference.objective import OBJECTIVES
from cutwise.table.intake import check_option
from cutwise.tree.recipes import recipes_for

if TYPE_CHECKING:
    from cutwise import CostCurve
    from cutwise.estimators import TreeEstimator


EXAMPLES = (
    "cutwise curve --example wine --within 2%",
    "cutwise curve customers.csv -k 5 --drop CustomerID,Genre --max-leaves 20 --out curve.png",
    "cutwise curve customers.csv -k 5 --drop CustomerID,Genre --within 1% --model segments.json",
)

PICTURES = (".png", ".svg", ".pdf")


def command(
    *,
    table: TableOptions,
    n_clusters: Clusters = None,
    objective: Objective = "kmeans",
    scale: Scale = "auto",
    algorithm: Annotated[
        str, typer.Option(help=f"How the tree is grown: {', '.join(recipes_for('centers'))}.", rich_help_panel=TREE)
    ] = "search",
    max_leaves: Annotated[
        int | None,
        typer.Option(
            help="Where the curve ends.", show_default="four leaves a cluster, 30 more at most", rich_help_panel=TREE
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Choose the smallest tree whose cost is within so much of the clustering's, such as 2%, and print its "
            "rules.",
            rich_help_panel=TREE,
        ),
    ] = None,
    growth: GrowthOptions,
    out: Picture = None,
    model: ChosenModel = None,
    as_json: AsJson = False,
) -> None:
    """Print cost, share kept and agreement of every tree from one leaf a cluster on, all from a single fit."""
    share = read_choice(within, model, out, example="2%")
    estimator = estimator_of(objective)
    check_option("--scale", scale, tuple(SCALES))
    from cutwise import cost_curve

    with Outputs(out, model, inputs=[table.file]) as outputs:
        source, n_clusters = find_source(table, n_clusters, command="curve")
        task = prepare(source, table)
        scale, measure = task.measured(scale, objective)
        with working(f"working on {len(task.table):,} rows and {task.table.shape[1]} columns"):
            recipe = estimator(n_clusters, **{"algorithm": algorithm, **measure, **growth.params})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptyClusterWarning)  # of the tree to start from, one of many
                curve = cost_curve(recipe, task.table, max_leaves=max_leaves, sample_weight=task.weights)
            chosen = None
            if share is not None:
                n_leaves = curve.smallest(share)
                with warnings_name(f"the tree of {n_leaves} leaves"):
                    chosen = curve.model(n_leaves)
        if out is not None:
            write_picture(outputs, out, partial(_draw, curve, share))
        if model is not None and chosen is not None:
            outputs.write(model, chosen.save)
    if as_json:
        about = {"source": source.name, "n_rows": len(task.table), "n_columns": task.table.shape[1], "scale": scale}
        picked = {} if chosen is None else {"chosen": {"n_leaves": chosen.n_leaves_, **chosen.rules().to_dict()}}
        document = {**about, "n_clusters": n_clusters, "algorithm": algorithm, **curve.to_dict(), **picked}
        print_line(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2))
    else:
        _print(curve, chosen, within, objective)
    for path in (out, model):
        if path is not None:
            note(f"wrote {path}")


def _print(curve: CostCurve, chosen: TreeEstimator | None, within: str | None, objective: str) -> None:
    header = ["leaves", "cost ratio", "explained", "agreement"]
    rows = []
    figures = (curve.n_leaves, curve.cost_ratio, curve.explained, curve.agreement)
    for n, ratio, explained, agreement in zip(*(each.tolist() for each in figures), strict=True):
        row = [str(n), "none" if ratio != ratio else f"{ratio:.4f}", percent(explained), percent(agreement)]
        if chosen is not None:
            row.append("<" if n == chosen.n_leaves_ else "")
        rows.append(row)
    print_table(header if chosen is None else [*header, ""], rows, right=(0, 1, 2, 3))
    for line in table_notes(curve.cost_ratio.tolist(), curve.reference_explained, OBJECTIVES[objective].cost_words):
        print_line(line)
    if chosen is not None:
        print_line()
        leaves = "1 leaf is" if chosen.n_leaves_ == 1 else f"{chosen.n_leaves_} leaves are"
        print_line(f"{leaves} the fewest that come within {within} of the clustering's cost:")
        print_line()
        print_rules(chosen)


def read_choice(within: str | None, model: str | None, out: str | None, *, example: str) -> float | None:
    """The share of the cost that ``--within`` allows, after what goes with it has been checked."""
    if model is not None and within is None:
        raise InvalidInputError(
            f"--model {model} saves the tree that --within chooses: say --within {example}, for instance."
        )
    share = None if within is None else share_of(within)
    if out is not None:
        check_picture(out)
    return share


def share_of(within: str) -> float:
    """The fraction that ``2%`` or ``0.02`` says."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", within)
    if found and found[2]:
        return float(found[1]) / 100
    if found and float(found[1]) < 1:
        return float(found[1])
    hint = f"{within.strip()}%" if found else "2%"
    raise InvalidInputError(
        f"--within {within} is no share. Say it in per cent, such as {hint}, or as a fraction: 0.02."
    )


def check_picture(out: str) -> None:
    """Refuse before any work what cannot be drawn."""
    from cutwise.plot.base import need_matplotlib

    if Path(out).suffix.lower() not in PICTURES:
        raise InvalidInputError(f"--out {out}: a curve is drawn as {', '.join(PICTURES[:-1])} or {PICTURES[-1]}.")
    need_matplotlib()


def write_picture(outputs: Outputs, out: str, draw: Callable[[Any], object]) -> None:
    """Draw on axes of matplotlib, and write the picture; its name's ending says how."""
    # A figure of its own, not pyplot's: no window system is asked for.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.8, 4.0), layout="constrained")
    draw(figure.add_subplot())
    ending = Path(out).suffix.lower().removeprefix(".")
    outputs.write(out, lambda part: figure.savefig(part, format=ending, dpi=160))


def _draw(curve: CostCurve, share: float | None, ax: Any) -> None:
    from cutwise.plot import CurveDisplay

    CurveDisplay.from_curve(curve, within=share, ax=ax)
