"""Options that several commands share: one wording, one meaning."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cutwise.cli._examples import EXAMPLE_TABLES
from cutwise.cli._scaling import SCALES
from cutwise.exceptions import UnknownOptionError

__all__ = [
    "FILE_HELP",
    "OUTPUT",
    "TABLE",
    "TREE",
    "AsJson",
    "Clusters",
    "DepthPenalty",
    "Drop",
    "DropMissing",
    "Example",
    "Expansion",
    "File",
    "Header",
    "Jobs",
    "MaxLeaves",
    "ModelFile",
    "NInit",
    "Objective",
    "Only",
    "Scale",
    "Seed",
    "Separator",
    "Weights",
    "check_objective",
    "depth_penalty_of",
    "estimator_of",
]

FILE_HELP = "CSV, TSV or Parquet file, packed (gzip, bzip2, xz) or not; - for standard input."
TABLE, TREE, OUTPUT = "Table", "Clusters and tree", "Output"

File = Annotated[str | None, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="Model file that cutwise fit --out wrote.")]
Example = Annotated[
    str | None,
    typer.Option(help=f"A bundled table in place of FILE: {', '.join(EXAMPLE_TABLES)}.", rich_help_panel=TABLE),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out: names separated by commas; may be repeated.", rich_help_panel=TABLE),
]
Only = Annotated[
    list[str] | None,
    typer.Option(help="Columns to keep, no others: names separated by commas; may be repeated.", rich_help_panel=TABLE),
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with missing values.", rich_help_panel=TABLE)
]
Weights = Annotated[str | None, typer.Option(help="Column that says how much each row counts.", rich_help_panel=TABLE)]
Separator = Annotated[
    str | None, typer.Option(help="Separator of a text file; found out by default.", rich_help_panel=TABLE)
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first line holds names; found out by default.", rich_help_panel=TABLE
    ),
]
Clusters = Annotated[
    int | None, typer.Option("-k", "--clusters", help="How many clusters.", rich_help_panel=TREE, show_default=False)
]
Objective = Annotated[
    str,
    typer.Option(
        help="What makes clusters: kmeans (squared distances to means) or kmedians (l1 distances to medians, for "
        "tables with outliers).",
        rich_help_panel=TREE,
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        help=f"How columns are made comparable for clustering: {', '.join(SCALES)}. Rules keep the file's units.",
        rich_help_panel=TREE,
    ),
]
MaxLeaves = Annotated[
    int | None, typer.Option(help="Leaves at most; more than clusters make a closer tree.", rich_help_panel=TREE)
]
Expansion = Annotated[
    str, typer.Option(help="How leaves beyond one per cluster are grown: exkmc, expand.", rich_help_panel=TREE)
]
DepthPenalty = Annotated[
    str,
    typer.Option(
        metavar="<float>",
        help="exshallow's price of depth, from 0; auto looks for one whose tree costs no more than exkmc's and has "
        "rules no longer.",
        rich_help_panel=TREE,
    ),
]
NInit = Annotated[int, typer.Option(help="Starts of the clustering; the best one counts.", rich_help_panel=TREE)]
Seed = Annotated[
    int, typer.Option(help="Same seed, same table: same result.", min=0, max=2**32 - 1, rich_help_panel=TREE)
]
Jobs = Annotated[
    int, typer.Option(help="Threads, -1 for all processors; the result does not depend on it.", rich_help_panel=TREE)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.", rich_help_panel=OUTPUT)]

OBJECTIVES = ("kmeans", "kmedians")


def check_objective(objective: str) -> None:
    """Refuse an option of ``--objective`` that there is not.

    Raises
    ------
    UnknownOptionError
        The valid ones are listed.
    """
    if objective not in OBJECTIVES:
        raise UnknownOptionError.of("--objective", objective, OBJECTIVES)


def depth_penalty_of(text: str) -> float | str:
    """The number that ``--depth-penalty`` says, or its text, which the estimator takes or refuses."""
    try:
        return float(text)
    except ValueError:
        return text


def estimator_of(objective: str) -> Any:
    """The estimator of an option of ``--objective``."""
    from cutwise import ExplainableKMeans, ExplainableKMedians

    check_objective(objective)
    return ExplainableKMedians if objective == "kmedians" else ExplainableKMeans
