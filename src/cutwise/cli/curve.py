"""``cutwise curve``: costs by number of leaves, from one fit; and the choice of one of several trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cutwise.cli import options
from cutwise.cli.columns import clustering
from cutwise.cli.models import print_rules
from cutwise.cli.screen import Outputs, note, print_json, print_line, print_table, warnings_name, working
from cutwise.exceptions import EmptyClusterWarning, InvalidInputError
from cutwise.readouts.words import explained_text, percent, ratio_text, table_notes
from cutwise.reference.objective import OBJECTIVES
from cutwise.table.intake import check_option
from cutwise.tree.recipes import recipes_for

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator

EXAMPLES = (
    "cutwise curve --example wine --within 2%",
    "cutwise curve customers.csv -k 5 --drop CustomerID,Genre --max-leaves 20 --out curve.png",
    "cutwise curve customers.csv -k 5 --drop CustomerID,Genre --within 1% --model segments.json",
    "cutwise curve measured.parquet --labels-from species",
)

PICTURES = (".png", ".svg", ".pdf")

WITHIN_HELP = (
    "Choose the simplest tree whose cost is within this share of the clustering's, such as 2%, and print its rules: "
    "the fewest leaves (curve) or the shortest rules (front)."
)


@dataclass(frozen=True)
class ChoiceOptions:
    """Which of the trees to choose, and what to write."""

    within: Annotated[str | None, options.of_tree(metavar="PERCENT", help=WITHIN_HELP)] = None
    out: Annotated[
        str | None, options.of_output("--out", "-o", metavar="PICTURE", help="Save a .png, .svg or .pdf plot.")
    ] = None
    model: Annotated[
        str | None, options.of_output(metavar="MODEL.json", help="Save the tree that --within chooses.")
    ] = None
    as_json: options.AsJson = False

    def check(self, *, example: str) -> float | None:
        """Check options that belong together; return the share of the cost that ``--within`` allows."""
        if self.model is not None and self.within is None:
            raise InvalidInputError(
                f"--model {self.model} saves the tree that --within chooses. Add --within, such as --within {example}."
            )
        share = None if self.within is None else _share_of(self.within)
        if self.out is not None:
            _check_picture(self.out)
        return share

    def write(self, outputs: Outputs, draw: Callable[[Any], object], chosen: TreeEstimator | None) -> None:
        """Write the picture that ``draw`` makes on axes of matplotlib, and the chosen tree, if options ask for them."""
        if self.out is not None:
            # A figure without pyplot needs no window system.
            from matplotlib.figure import Figure

            figure = Figure(figsize=(6.8, 4.0), layout="constrained")
            draw(figure.add_subplot())
            ending = Path(self.out).suffix.lower().removeprefix(".")
            outputs.write(self.out, lambda part: figure.savefig(part, format=ending, dpi=160))
        if self.model is not None and chosen is not None:
            outputs.write(self.model, chosen.save)

    def show(
        self,
        document: dict[str, Any],
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        notes: Sequence[str],
        chosen: TreeEstimator | None,
        place: tuple[str, int, int],
        why: str,
    ) -> None:
        """Print all trees, and the rules of the chosen one; ``place``: its name, its number and its row."""
        name, number, row = place
        if self.as_json:
            picked = {} if chosen is None else {"chosen": {name: number, **chosen.rules().to_dict()}}
            print_json({**document, **picked})
        else:
            marks = [[] if chosen is None else ["<" if i == row else ""] for i in range(len(rows))]
            marked = [[*cells, *mark] for cells, mark in zip(rows, marks, strict=True)]
            print_table(header if chosen is None else [*header, ""], marked, right=range(len(header)))
            for line in notes:
                print_line(line)
            if chosen is not None:
                print_line(f"\n{why}:\n")
                print_rules(chosen)
        for path in (self.out, self.model):
            if path is not None:
                note(f"wrote {path}")


def command(
    *,
    table: options.ClusteringOptions,
    labels_from: options.LabelsFrom = None,
    algorithm: Annotated[
        str | None,
        options.of_tree(
            help=f"How the tree is grown (see cutwise compare --help): {', '.join(recipes_for('centers'))}; auto for "
            "given labels.",
            show_default="search",
            autocompletion=options.one_of((*recipes_for("centers"), "auto")),
        ),
    ] = None,
    max_leaves: Annotated[
        int | None, options.of_tree(help="Largest number of leaves.", show_default="four per cluster, at most 30 extra")
    ] = None,
    growth: options.GrowthOptions,
    choice: ChoiceOptions,
) -> None:
    """Print cost, share explained and agreement by number of leaves, from one leaf per cluster on, all from one fit."""
    from cutwise import cost_curve
    from cutwise.plot import CurveDisplay

    if labels_from is not None:
        options.refuse_beside(
            f"--labels-from {labels_from}: labels have no cost to compare with", {"--within": choice.within}
        )
    elif algorithm is not None:
        check_option("--algorithm", algorithm, recipes_for("centers"))
    share = choice.check(example="2%")
    algorithm = algorithm or ("search" if labels_from is None else "auto")
    with Outputs(choice.out, choice.model, inputs=table.files or ()) as outputs:
        start = clustering(table, growth, command="curve", labels_from=labels_from)
        task, chosen = start.task, None
        with working(f"working on {task.size}", steps=2):
            # Warnings are about the tree to start from, one of many.
            with warnings.catch_warnings(action="ignore", category=EmptyClusterWarning):
                recipe = start.model(algorithm=algorithm)
                curve = cost_curve(recipe, task.table, max_leaves=max_leaves, **task.beside)
            if share is not None:
                n_leaves = curve.smallest(share)
                with warnings_name(f"the tree of {n_leaves} leaves"):
                    chosen = curve.model(n_leaves)
        choice.write(outputs, lambda ax: CurveDisplay.from_curve(curve, within=share, ax=ax), chosen)
    figures = (curve.n_leaves, curve.cost_ratio, curve.explained, curve.agreement)
    whole = curve.reference_explained
    rows: list[Any] = [
        (str(n), ratio_text(ratio), explained_text(explained, whole), percent(agreement))
        for n, ratio, explained, agreement in zip(*(each.tolist() for each in figures), strict=True)
    ]
    number = 0 if chosen is None else chosen.n_leaves_
    leaves = "1 leaf is" if number == 1 else f"{number} leaves are"
    choice.show(
        {**start.about, "algorithm": algorithm, **curve.to_dict()},
        ("leaves", "cost ratio", "explained", "agreement"),
        rows,
        [*table_notes(curve.cost_ratio.tolist(), whole, OBJECTIVES[table.objective].cost_words), *start.limits_notes],
        chosen,
        ("n_leaves", number, curve.n_leaves.tolist().index(number) if chosen else -1),
        f"{leaves} the fewest with a cost within {choice.within} of the clustering's",
    )


def _share_of(within: str) -> float:
    """The fraction given as ``2%`` or ``0.02``."""
    share = options.number_or_percent(within)
    if share is not None and (share < 1 or "%" in within):
        return share
    hint = "2%" if share is None else f"{within.strip()}%"
    raise InvalidInputError(
        f"--within {within} is not a share. Give a percentage, such as {hint}, or a fraction, such as 0.02."
    )


def _check_picture(out: str) -> None:
    """Check before any work that a picture can be drawn."""
    from cutwise.plot.base import need_matplotlib

    if Path(out).suffix.lower() not in PICTURES:
        raise InvalidInputError(f"--out {out}: plots are saved as {', '.join(PICTURES[:-1])} or {PICTURES[-1]}.")
    need_matplotlib()
