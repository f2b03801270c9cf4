"""``cutwise front``: trees to choose from, each cheaper than all with rules as short."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutwise.cli.columns import find_source, prepare
from cutwise.cli.curve import read_choice, write_picture
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
from cutwise.cli.screen import Outputs, note, print_line, print_table, working
from cutwise.table.intake import check_option

if TYPE_CHECKING:
    from cutwise import TreeFront


EXAMPLES = (
    "cutwise front --example wine",
    "cutwise front customers.csv -k 5 --drop CustomerID,Genre --out front.png",
    "cutwise front customers.csv -k 5 --drop CustomerID,Genre --within 10% --model segments.json",
)


def command(
    *,
    table: TableOptions,
    n_clusters: Clusters = None,
    objective: Objective = "kmeans",
    scale: Scale = "auto",
    max_leaves: Annotated[
        int | None, typer.Option(help="Leaves at most.", show_default="two a cluster", rich_help_panel=TREE)
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Choose the tree with the shortest rules whose cost is within so much of the clustering's, such as "
            "5%, and print its rules.",
            rich_help_panel=TREE,
        ),
    ] = None,
    growth: GrowthOptions,
    out: Picture = None,
    model: ChosenModel = None,
    as_json: AsJson = False,
) -> None:
    """Print the trees that none beats both in cost and in the length of rules, all from a single search."""
    share = read_choice(within, model, out, example="5%")
    estimator = estimator_of(objective)
    check_option("--scale", scale, tuple(SCALES))
    with Outputs(out, model, inputs=[table.file]) as outputs:
        source, n_clusters = find_source(table, n_clusters, command="front")
        task = prepare(source, table)
        with working(f"working on {len(task.table):,} rows and {task.table.shape[1]} columns"):
            scale, measure = task.measured(scale, objective)
            recipe = estimator(n_clusters, **measure, **growth.params)
            front = recipe.front(task.table, max_leaves=max_leaves, sample_weight=task.weights)
            number = None if share is None else front.shortest(share)
            chosen = None if number is None else front.model(number)
        if out is not None:
            write_picture(outputs, out, partial(_draw, front))
        if model is not None and chosen is not None:
            outputs.write(model, chosen.save)
    if as_json:
        about = {"source": source.name, "n_rows": len(task.table), "n_columns": task.table.shape[1], "scale": scale}
        picked = {} if chosen is None else {"chosen": {"number": number, **chosen.rules().to_dict()}}
        document = {**about, "n_clusters": n_clusters, **front.to_dict(), **picked}
        print_line(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2))
    else:
        figures = (front.n_leaves, front.waes, front.wad, front.cost_ratio)
        rows = [
            [str(n), f"{waes:.2f}", f"{wad:.2f}", "none" if ratio != ratio else f"{ratio:.4f}"]
            for n, waes, wad, ratio in zip(*(each.tolist() for each in figures), strict=True)
        ]
        mark = [["<"] if i == number else [""] for i in range(len(rows))] if chosen is not None else [[]] * len(rows)
        header = ["leaves", "conditions", "tests", "cost ratio", *([""] if chosen is not None else [])]
        print_table(header, [row + end for row, end in zip(rows, mark, strict=True)], right=(0, 1, 2, 3))
        if chosen is not None:
            print_line()
            print_line(f"The shortest rules whose cost is within {within} of the clustering's:")
            print_line()
            print_rules(chosen)
    for path in (out, model):
        if path is not None:
            note(f"wrote {path}")


def _draw(front: TreeFront, ax: Any) -> None:
    from cutwise.plot import FrontDisplay

    FrontDisplay.from_front(front, ax=ax)
