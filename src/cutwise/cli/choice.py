"""Trees to choose from: what curve and front share once they have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cutwise.cli.models import print_rules
from cutwise.cli.options import AsJson, of_output, of_tree
from cutwise.cli.screen import Outputs, note, print_json, print_line, print_table
from cutwise.exceptions import InvalidInputError

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator

PICTURES = (".png", ".svg", ".pdf")

WITHIN_HELP = (
    "Choose the simplest tree whose cost is within so much of the clustering's, such as 2%, and print its rules: the "
    "one with the fewest leaves (curve), or with the shortest rules (front)."
)


@dataclass(frozen=True)
class ChoiceOptions:
    """Which of the trees to choose, and what to write."""

    within: Annotated[str | None, of_tree(metavar="PERCENT", help=WITHIN_HELP)] = None
    out: Annotated[str | None, of_output(metavar="PICTURE", help="Draw it: .png, .svg or .pdf.")] = None
    model: Annotated[str | None, of_output(metavar="MODEL.json", help="Save the tree that --within chooses.")] = None
    as_json: AsJson = False

    def check(self, *, example: str) -> float | None:
        """The share of the cost that ``--within`` allows, after what goes with it has been checked."""
        if self.model is not None and self.within is None:
            raise InvalidInputError(
                f"--model {self.model} saves the tree that --within chooses: say --within {example}, for instance."
            )
        share = None if self.within is None else _share_of(self.within)
        if self.out is not None:
            _check_picture(self.out)
        return share

    def write(self, outputs: Outputs, draw: Callable[[Any], object], chosen: TreeEstimator | None) -> None:
        """Write the picture that ``draw`` makes on axes of matplotlib, and the tree chosen, where they are wanted."""
        if self.out is not None:
            # A figure of its own, not pyplot's: no window system is asked for.
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
        """Print all trees, and the rules of the chosen one; ``place``: what it is called, its number and its row."""
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


def _share_of(within: str) -> float:
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


def _check_picture(out: str) -> None:
    """Refuse before any work what cannot be drawn."""
    from cutwise.plot.base import need_matplotlib

    if Path(out).suffix.lower() not in PICTURES:
        raise InvalidInputError(f"--out {out}: a curve is drawn as {', '.join(PICTURES[:-1])} or {PICTURES[-1]}.")
    need_matplotlib()
