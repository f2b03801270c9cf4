"""``cutwise bench``: run the experiments of the papers again, with the published figures beside the new ones."""

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
            help="shallow: Tables 2, 3, 4 and Figures 4, 5 of the ExShallow paper. exkmc: cost, accuracy and running "
            "time by number of leaves, compared with CART, KDTree, CLTree and CUBT. kernel: Table 2 and Figures 1, 3, "
            "4 of the kernel paper. search: the default search compared with the papers' algorithms.",
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="FOLDER", help="Folder of the data files NAME.npz.", show_default="variable CUTWISE_DATA"
        ),
    ] = None,
    sets: Annotated[
        str | None, typer.Option("--sets", metavar="NAMES", help="Data sets, separated by commas.", show_default="all")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, help="Reference clusterings per data set.", show_default="as in the paper"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use small data sets and two seeds: takes a few minutes.")
    ] = False,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download data sets that the folder lacks, where possible.")
    ] = False,
    out: Annotated[
        str | None,
        out_option(
            metavar="FOLDER",
            help="Folder for results; jobs already finished there are not run again.",
            show_default="bench-EXPERIMENT",
        ),
    ] = None,
) -> None:
    """Run an experiment of the papers, and write its results as tables."""
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
