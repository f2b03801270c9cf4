"""`cutwise bench`: run the papers' experiments again, with their figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cutwise.cli.options import out_option
from cutwise.cli.screen import note, print_line

EXAMPLES = (
    "cutwise bench shallow --quick",
    "cutwise bench shallow --data ../data --seeds 10 --out evidence/shallow",
    "cutwise bench exkmc --sets iris,wine",
)


def command(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT",
            help="shallow: Tables 2, 3, 4 and Figures 4, 5 of the ExShallow paper. exkmc: cost, accuracy and time "
            "against the number of leaves, with CART, KDTree, CLTree and CUBT. kernel: Table 2 and Figures 1, 3, 4 of "
            "the kernel paper. search: the default search beside the papers' trees.",
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="FOLDER", help="Folder of NAME.npz files. Without it: CUTWISE_DATA, if that is set."
        ),
    ] = None,
    sets: Annotated[str | None, typer.Option("--sets", metavar="NAMES", help="Data sets, separated by commas.")] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, help="Reference clusterings a set; as many as the paper's otherwise."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sets and two seeds: a few minutes.")] = False,
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch sets that are not at hand, where that works.")] = False,
    out: Annotated[
        str | None,
        out_option(
            metavar="FOLDER",
            help="Where results go; finished jobs in it are not done again.",
            show_default="bench-EXPERIMENT",
        ),
    ] = None,
) -> None:
    """Run an experiment of the papers, and write tables."""
    from cutwise.bench import EXPERIMENTS, Options, run_experiment
    from cutwise.exceptions import InvalidInputError
    from cutwise.table.intake import check_option

    check_option("EXPERIMENT", experiment, tuple(EXPERIMENTS))
    if data is not None and not Path(data).is_dir():
        raise InvalidInputError(f"--data {data}: there is no such folder. Give the one that holds the NAME.npz files.")
    names = tuple(name.strip() for name in (sets or "").split(",") if name.strip())
    options = Options(data, names, seeds, quick, fetch)
    folder = Path(out if out is not None else f"bench-{experiment}")
    for path in run_experiment(EXPERIMENTS[experiment], options, folder, note):
        print_line(str(path))
