"""Options that several commands share: one wording, one meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutwise.cli.tables import EXAMPLE_TABLES
from cutwise.exceptions import InvalidInputError
from cutwise.reference.kernel_input import needs_nonnegative
from cutwise.reference.kernels import KERNELS, PRECOMPUTED
from cutwise.table.intake import check_option

if TYPE_CHECKING:
    from cutwise import ExplainableKernelKMeans
    from cutwise.estimators import ExplainableClusterer


# Option -> what it does, in the words of the screen.
SCALES = {
    "auto": "standard, and every other column to count as much as a number",
    "standard": "every column to mean 0 and standard deviation 1",
    "minmax": "every column to the range from 0 to 1",
    "robust": "every column to median 0 and interquartile range 1",
    "none": "columns as they are",
}


def scaler_of(scale: str, *, objective: str = "kmeans", mixed: bool = False) -> Any:
    """The transformer of an option of ``--scale``, or None for ``"none"``; ``mixed``: not of complete numbers alone."""
    check_option("--scale", scale, tuple(SCALES))
    if mixed:
        from cutwise import TableScaler

        usual, distance = ("robust", "absolute") if objective == "kmedians" else ("standard", "squared")
        return TableScaler(usual if scale == "auto" else scale, distance)
    if scale == "none":
        return None
    scale = "standard" if scale == "auto" else scale
    from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

    scaler = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler}[scale]
    return scaler()


FILE_HELP = "CSV, TSV or Parquet file, packed (gzip, bzip2, xz) or not; - for standard input."
TABLE, TREE, OUTPUT = "Table", "Clusters and tree", "Output"

File = Annotated[str | None, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)]
TableFile = Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)]
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
Category = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of codes to take as categories: names separated by commas; may be repeated.",
        rich_help_panel=TABLE,
    ),
]
Number = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of text to take as numbers, what is none as missing: names separated by commas; may be repeated.",
        rich_help_panel=TABLE,
    ),
]
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
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        metavar="CLUSTER=NAME",
        help="Name of a cluster, such as 0=students; may be repeated.",
        rich_help_panel=OUTPUT,
    ),
]
Picture = Annotated[
    str | None, typer.Option(metavar="PICTURE", help="Draw it: .png, .svg or .pdf.", rich_help_panel=OUTPUT)
]
ChosenModel = Annotated[
    str | None, typer.Option(metavar="MODEL.json", help="Save the tree that --within chooses.", rich_help_panel=OUTPUT)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.", rich_help_panel=OUTPUT)]

OBJECTIVES = ("kmeans", "kmedians")


@dataclass(frozen=True)
class TableOptions:
    """Which table, and which of its columns and rows."""

    file: File = None
    example: Example = None
    drop: Drop = None
    only: Only = None
    category: Category = None
    number: Number = None
    drop_missing: DropMissing = False
    weights: Weights = None
    separator: Separator = None
    header: Header = None


@dataclass(frozen=True)
class GrowthOptions:
    """How clusters are found and trees grow, beside the number of clusters and the algorithm."""

    expansion: Expansion = "exkmc"
    depth_penalty: DepthPenalty = "0.03"
    n_init: NInit = 10
    seed: Seed = 0
    jobs: Jobs = 1

    @property
    def penalty(self) -> float | str:
        """The number that ``--depth-penalty`` says, or its text, which the estimator takes or refuses."""
        try:
            return float(self.depth_penalty)
        except ValueError:
            return self.depth_penalty

    @property
    def params(self) -> dict[str, Any]:
        """The same as parameters of an estimator that clusters."""
        return {
            "expansion": self.expansion,
            "depth_penalty": self.penalty,
            "n_init": self.n_init,
            "random_state": self.seed,
            "n_jobs": self.jobs,
        }


def check_objective(objective: str) -> None:
    """Refuse an option of ``--objective`` that does not exist."""
    check_option("--objective", objective, OBJECTIVES)


def estimator_of(objective: str) -> type[ExplainableClusterer]:
    """The estimator of an option of ``--objective``."""
    from cutwise import ExplainableKMeans, ExplainableKMedians

    check_objective(objective)
    return ExplainableKMedians if objective == "kmedians" else ExplainableKMeans


KERNEL_NAMES = tuple(name for name in KERNELS if name != PRECOMPUTED)
"""Kernels that are computed from the columns of a file."""


@dataclass(frozen=True)
class KernelOptions:
    """The options of kernel k-means."""

    kernel: str | None
    gamma: float | None
    cuts: str | None
    nystroem: int | None

    def check(self, *, objective: str, labels_from: str | None) -> None:
        """Refuse options that have no meaning together."""
        if self.kernel is None:
            for option, value in (("--gamma", self.gamma), ("--cuts", self.cuts), ("--nystroem", self.nystroem)):
                if value is not None:
                    raise InvalidInputError(f"{option} {value} belongs to a kernel. Say which, such as --kernel rbf.")
            return
        check_option("--kernel", self.kernel, KERNEL_NAMES)
        if objective != "kmeans":
            raise InvalidInputError(
                f"--kernel {self.kernel} clusters by kernel k-means, and --objective {objective} is another objective. "
                "Leave one of them out."
            )
        if labels_from is not None:
            raise InvalidInputError(
                f"--kernel {self.kernel} has no meaning with --labels-from {labels_from}: that column has its clusters "
                "already. Leave one of them out."
            )

    @property
    def scale(self) -> str:
        """How columns are scaled by default: values that may not be negative stay as they are."""
        return "auto" if self.kernel is None else "none" if needs_nonnegative(self.kernel) else "standard"

    def estimator(self, n_clusters: int, growth: dict[str, Any]) -> ExplainableKernelKMeans:
        """The estimator, unfitted; ``growth`` are the parameters that all estimators have, and k-means' own."""
        from cutwise import ExplainableKernelKMeans

        shared = {name: value for name, value in growth.items() if name != "depth_penalty"}
        if self.nystroem is not None:
            shared |= {"approximation": "nystroem", "n_components": self.nystroem}
        shared |= {"kernel": self.kernel, "gamma": self.gamma, "cuts": self.cuts or "interval"}
        return ExplainableKernelKMeans(n_clusters, **shared)
