"""``cutwise rules``: say the clusters of a saved model."""

from __future__ import annotations

from typing import Annotated

import typer

from cutwise.cli._report import print_json, print_rules
from cutwise.cli._screen import print_line

__all__ = ["EXAMPLES", "command"]

EXAMPLES = (
    "cutwise rules segments.json",
    "cutwise rules segments.json --tree",
)


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file that cutwise fit --out wrote.")],
    tree: Annotated[bool, typer.Option("--tree", help="Print the tree in place of the rules.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Print the rules of a saved model."""
    from cutwise import export_text, load_model

    fitted = load_model(model)
    if as_json:
        print_json(fitted)
    elif tree:
        print_line(export_text(fitted).rstrip("\n"))
    else:
        print_rules(fitted)
