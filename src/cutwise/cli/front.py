"""``cutwise front``: trees to choose from, each cheaper than all with rules as short."""

from __future__ import annotations

from typing import Annotated, Any

from cutwise.cli.columns import clustering
from cutwise.cli.curve import ChoiceOptions
from cutwise.cli.options import ClusteringOptions, GrowthOptions, of_tree
from cutwise.cli.screen import Outputs, working
from cutwise.readouts.words import ratio_text

EXAMPLES = (
    "cutwise front --example wine",
    "cutwise front customers.csv -k 5 --drop CustomerID,Genre --out front.png",
    "cutwise front customers.csv -k 5 --drop CustomerID,Genre --within 10% --model segments.json",
)


def command(
    *,
    table: ClusteringOptions,
    max_leaves: Annotated[int | None, of_tree(help="Maximum number of leaves.", show_default="two per cluster")] = None,
    growth: GrowthOptions,
    choice: ChoiceOptions,
) -> None:
    """Print the trees with the best trade-offs between cost and rule length (the Pareto front), all from one search."""
    from cutwise.plot import FrontDisplay

    share = choice.check(example="5%")
    with Outputs(choice.out, choice.model, inputs=table.files or ()) as outputs:
        start = clustering(table, growth, command="front")
        task, chosen, number = start.task, None, -1
        with working(f"working on {task.size}", steps=2):
            front = start.model().front(task.table, max_leaves=max_leaves, sample_weight=task.weights)
            if share is not None:
                number = front.shortest(share)
                chosen = front.model(number)
        choice.write(outputs, lambda ax: FrontDisplay.from_front(front, ax=ax), chosen)
    figures = (front.n_leaves, front.waes, front.wad, front.cost_ratio)
    rows: list[Any] = [
        (str(n), f"{waes:.2f}", f"{wad:.2f}", ratio_text(ratio))
        for n, waes, wad, ratio in zip(*(each.tolist() for each in figures), strict=True)
    ]
    choice.show(
        {**start.about, **front.to_dict()},
        ("leaves", "WAES", "WAD", "cost ratio"),
        rows,
        start.limits_notes,
        chosen,
        ("number", number, number),
        f"The shortest rules with a cost within {choice.within} of the clustering's",
    )
