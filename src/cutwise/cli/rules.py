"""``cutwise rules``: say the clusters of a saved model."""

from __future__ import annotations

from typing import Annotated

import typer

from cutwise.cli._names import NAME_HELP, name_clusters
from cutwise.cli._outputs import Outputs
from cutwise.cli._report import print_certificate, print_json, print_rules
from cutwise.cli._screen import note, print_line
from cutwise.exceptions import InvalidInputError

__all__ = ["EXAMPLES", "command"]

EXAMPLES = (
    "cutwise rules segments.json",
    "cutwise rules segments.json --tree",
    "cutwise rules segments.json --name 0=students --name 1=families --keep",
)


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file that cutwise fit --out wrote.")],
    tree: Annotated[bool, typer.Option("--tree", help="Print the tree in place of the rules.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    name: Annotated[list[str] | None, typer.Option(metavar="CLUSTER=NAME", help=NAME_HELP)] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Write the names into the model file.")] = False,
) -> None:
    """Print the rules of a saved model."""
    from cutwise import export_text, load_model

    if keep and not name:
        raise InvalidInputError("--keep writes names into the model file, and none was given. Add --name 0=students.")
    with Outputs(model if keep else None) as outputs:
        fitted = load_model(model)
        name_clusters(fitted, name or [])
        if keep:
            outputs.write(model, fitted.save)
    if as_json:
        print_json(fitted)
    elif tree:
        print_line(export_text(fitted).rstrip("\n"))
    else:
        print_rules(fitted)
        print_certificate(fitted)
    if keep:
        note(f"wrote the names into {model}")
