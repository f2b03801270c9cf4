"""``cutwise curve``: what each further leaf buys, from one fit."""

from __future__ import annotations

import warnings
from typing import Annotated, Any

from cutwise.cli.choice import ChoiceOptions
from cutwise.cli.columns import clustering
from cutwise.cli.options import ClusteringOptions, GrowthOptions, of_tree
from cutwise.cli.screen import Outputs, warnings_name, working
from cutwise.exceptions import EmptyClusterWarning
from cutwise.readouts.explained import table_notes
from cutwise.readouts.words import percent
from cutwise.reference.objective import OBJECTIVES
from cutwise.tree.recipes import recipes_for

EXAMPLES = (
    "cutwise curve --example wine --within 2%",
    "cutwise curve customers.csv -k 5 --drop CustomerID,Genre --max-leaves 20 --out curve.png",
    "cutwise curve customers.csv -k 5 --drop CustomerID,Genre --within 1% --model segments.json",
)


def command(
    *,
    table: ClusteringOptions,
    algorithm: Annotated[str, of_tree(help=f"How the tree is grown: {', '.join(recipes_for('centers'))}.")] = "search",
    max_leaves: Annotated[
        int | None, of_tree(help="Where the curve ends.", show_default="four leaves a cluster, 30 more at most")
    ] = None,
    growth: GrowthOptions,
    choice: ChoiceOptions,
) -> None:
    """Print cost, share kept and agreement of every tree from one leaf a cluster on, all from a single fit."""
    from cutwise import cost_curve
    from cutwise.plot import CurveDisplay

    share = choice.check(example="2%")
    with Outputs(choice.out, choice.model, inputs=[table.file]) as outputs:
        start = clustering(table, growth, command="curve")
        task, chosen = start.task, None
        with working(f"working on {task.size}"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptyClusterWarning)  # of the tree to start from, one of many
                recipe = start.model(algorithm=algorithm)
                curve = cost_curve(recipe, task.table, max_leaves=max_leaves, sample_weight=task.weights)
            if share is not None:
                n_leaves = curve.smallest(share)
                with warnings_name(f"the tree of {n_leaves} leaves"):
                    chosen = curve.model(n_leaves)
        choice.write(outputs, lambda ax: CurveDisplay.from_curve(curve, within=share, ax=ax), chosen)
    figures = (curve.n_leaves, curve.cost_ratio, curve.explained, curve.agreement)
    rows: list[Any] = [
        (str(n), "none" if ratio != ratio else f"{ratio:.4f}", percent(explained), percent(agreement))
        for n, ratio, explained, agreement in zip(*(each.tolist() for each in figures), strict=True)
    ]
    number = 0 if chosen is None else chosen.n_leaves_
    leaves = "1 leaf is" if number == 1 else f"{number} leaves are"
    choice.show(
        {**start.about, "algorithm": algorithm, **curve.to_dict()},
        ("leaves", "cost ratio", "explained", "agreement"),
        rows,
        table_notes(curve.cost_ratio.tolist(), curve.reference_explained, OBJECTIVES[table.objective].cost_words),
        chosen,
        ("n_leaves", number, curve.n_leaves.tolist().index(number) if chosen else -1),
        f"{leaves} the fewest that come within {choice.within} of the clustering's cost",
    )
