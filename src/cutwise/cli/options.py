"""Options that several commands share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutwise.cli.tables import EXAMPLE_TABLES
from cutwise.exceptions import InvalidInputError
from cutwise.reference.kernels import FORMULAS, KERNELS, PRECOMPUTED, needs_nonnegative
from cutwise.table.intake import check_option

if TYPE_CHECKING:
    from cutwise import ExplainableKernelKMeans


# Option -> description on the screen.
SCALES = {
    "auto": "each column scaled as in standard",
    "standard": "each column scaled to mean 0 and standard deviation 1",
    "minmax": "each column scaled to the range 0 to 1",
    "robust": "each column scaled to median 0 and interquartile range 1",
    "none": "columns are not scaled",
}


# Constructors of options, by panel of the help.
of_table = partial(typer.Option, rich_help_panel="Table")
of_tree = partial(typer.Option, rich_help_panel="Clusters and tree")
of_output = partial(typer.Option, rich_help_panel="Output")
out_option = partial(typer.Option, "--out", "-o")


def one_of(words: Iterable[str]) -> Callable[[str], list[str]]:
    """Shell completion for an option that takes one of a few words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


FILE_HELP = (
    "CSV, TSV or Parquet file, plain or compressed (gzip, bzip2, xz, zip); - for standard input. A folder or a quoted "
    "pattern such as 'part-*.parquet' reads several files with the same columns as one table."
)
SEVERAL = "comma-separated names; may be repeated."

TableFiles = Annotated[list[str], typer.Argument(metavar="FILE...", help=FILE_HELP)]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="Model file that cutwise fit --out wrote.")]
EXAMPLE_HELP = f"A bundled table instead of FILE: {', '.join(EXAMPLE_TABLES)}."
Example = Annotated[str | None, of_table(help=EXAMPLE_HELP, autocompletion=one_of(EXAMPLE_TABLES))]
DropMissing = Annotated[bool, of_table("--drop-missing", help="Leave out rows with missing values.")]
Weights = Annotated[str | None, of_table(help="Column of row weights.")]
Number = Annotated[
    list[str] | None, of_table(help=f"Text columns to read as numbers, other cells as missing: {SEVERAL}")
]
Separator = Annotated[str | None, of_table(help="Separator of a text file; detected by default.")]
Header = Annotated[
    bool | None, of_table("--header/--no-header", help="Whether the first line has column names; detected by default.")
]
MaxMemory = Annotated[
    str,
    of_table(
        metavar="SIZE",
        help="Memory for the table, such as 2GiB; a larger table is read in batches.",
        show_default="half of this machine's memory",
    ),
]
OBJECTIVE_HELP = (
    "Cost to minimize: kmeans (squared distances to means) or kmedians (l1 distances to medians, for tables with "
    "outliers)."
)
SCALE_HELP = f"How to scale columns for clustering: {', '.join(SCALES)}. Rules keep the file's units."
of_scale = partial(of_tree, help=SCALE_HELP, autocompletion=one_of(SCALES))
LabelsFrom = Annotated[
    str | None,
    of_tree(help="Explain the labels in this column (numbers or words, -1 for noise) instead of clustering."),
]
MaxLeaves = Annotated[
    int | None, of_tree(help="Maximum leaves; more than clusters bring the tree closer to the clustering.")
]
PENALTY_HELP = (
    "Depth penalty of exshallow, 0 or more; auto finds one whose tree costs no more than exkmc's, with rules no longer."
)
INIT_HELP = "Number of clustering starts, more on small tables; the best is kept; auto: 10."
NAME_HELP = "Name of a cluster, such as 0=students; may be repeated."
Names = Annotated[list[str] | None, of_output("--name", metavar="CLUSTER=NAME", help=NAME_HELP)]
AsJson = Annotated[bool, of_output("--json", help="Print JSON for programs.")]
CutOnly = Annotated[list[str] | None, of_tree(help=f"Use only these columns in rules: {SEVERAL}")]

OBJECTIVES = ("kmeans", "kmedians")


@dataclass(frozen=True)
class TextOptions:
    """How a text file is written."""

    separator: Separator = None
    header: Header = None


@dataclass(frozen=True)
class ClusteringOptions:
    """Which table, which of its columns and rows, and what its clusters are."""

    files: Annotated[list[str] | None, typer.Argument(metavar="FILE...", help=FILE_HELP, show_default=False)] = None
    example: Example = None
    drop: Annotated[list[str] | None, of_table(help=f"Columns to leave out: {SEVERAL}")] = None
    only: Annotated[list[str] | None, of_table(help=f"Use only these columns: {SEVERAL}")] = None
    category: Annotated[list[str] | None, of_table(help=f"Columns of codes to read as categories: {SEVERAL}")] = None
    number: Number = None
    drop_missing: DropMissing = False
    weights: Weights = None
    separator: Separator = None
    header: Header = None
    max_memory: MaxMemory = ""
    n_clusters: Annotated[int | None, of_tree("-k", "--clusters", help="Number of clusters.", show_default=False)] = (
        None
    )
    objective: Annotated[str, of_tree(help=OBJECTIVE_HELP, autocompletion=one_of(OBJECTIVES))] = "kmeans"
    scale: Annotated[str | None, of_scale(show_default="auto")] = None


def number_or_percent(text: str) -> float | None:
    """The number given as ``20``, ``0.05`` or ``5%``, per cent as a share of 1; None for other texts."""
    found = re.fullmatch(r"\s*((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*", text)
    return float(found[1]) / (100 if found[2] else 1) if found else None


@dataclass(frozen=True)
class GrowthOptions:
    """What rules may be, and options of clustering and growth besides the number of clusters and the algorithm."""

    cut_only: CutOnly = None
    never: Annotated[list[str] | None, of_tree(help=f"Columns not to use in rules: {SEVERAL}")] = None
    max_depth: Annotated[int | None, of_tree(help="Maximum depth: tests from the root to a leaf.")] = None
    min_leaf: Annotated[
        str | None, of_tree(metavar="ROWS", help="Minimum rows in a leaf: a number (20) or a share (5% or 0.05).")
    ] = None
    expansion: Annotated[str, of_tree(help="How leaves beyond one per cluster are grown: exkmc or expand.")] = "exkmc"
    depth_penalty: Annotated[str, of_tree(metavar="<float>", help=PENALTY_HELP)] = "0.03"
    n_init: Annotated[str, of_tree(metavar="<int>", help=INIT_HELP)] = "10"
    seed: Annotated[int, of_tree(help="Random seed; same seed and table, same result.", min=0, max=2**32 - 1)] = 0
    jobs: Annotated[int, of_tree(help="Number of threads, -1 for all cores; the result is the same.")] = 1

    @property
    def limits(self) -> dict[str, Any]:
        """The given limits that need no table, as parameters of an estimator."""
        given = {"max_depth": self.max_depth, "min_samples_leaf": self._least()}
        return {name: value for name, value in given.items() if value is not None}

    def _least(self) -> float | None:
        if self.min_leaf is None:
            return None
        least = number_or_percent(self.min_leaf)
        if least is None or (least >= 1 and "%" in self.min_leaf):
            raise InvalidInputError(
                f"--min-leaf {self.min_leaf} is not a number of rows. Give the minimum rows in a leaf, such as 20, "
                "or a share of all rows: 5% or 0.05."
            )
        return int(least) if least.is_integer() else least

    @property
    def params(self) -> dict[str, Any]:
        """The options as parameters of a clustering estimator, which refuses words other than auto."""
        penalty: float | str = self.depth_penalty
        with suppress(ValueError):
            penalty = float(penalty)
        n_init: int | str = self.n_init
        with suppress(ValueError):
            n_init = int(n_init)
        return {
            "expansion": self.expansion,
            "depth_penalty": penalty,
            "n_init": n_init,
            "random_state": self.seed,
            "n_jobs": self.jobs,
        }


def words_given(context: typer.Context, *, but: Container[str]) -> list[str]:
    """The given options of a command, without ``but``, as on a command line."""
    words = []
    for option in context.command.params:
        value, default = context.params.get(option.name), option.get_default(context)
        if option.param_type_name == "argument" or option.name in but or value in (None, default):
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            is_flag = isinstance(each, bool)
            words += [(option.opts if each else option.secondary_opts)[0]] if is_flag else [option.opts[0], str(each)]
    return words


def shell_text(words: Iterable[str]) -> str:
    """Words as one line that a shell reads as these words again, whatever characters they hold."""

    def escaped(character: str) -> str:
        return "".join(f"\\x{byte:02x}" for byte in character.encode(errors="surrogateescape"))

    def quoted(word: str) -> str:
        if word.isprintable() and "  " not in word:  # messages join blanks
            return shlex.quote(word)
        return "$'" + "".join(c if c.isprintable() and c not in " \\'" else escaped(c) for c in word) + "'"

    return " ".join(map(quoted, words))


def refuse_beside(option: str, others: Mapping[str, object]) -> None:
    """Raise an error if options that ``option`` makes meaningless are given (not None)."""
    for name, value in others.items():
        if value is not None:
            raise InvalidInputError(f"{name} {value} cannot be used with {option}. Leave one of them out.")


KERNEL_NAMES = tuple(name for name in KERNELS if name != PRECOMPUTED)
"""Kernels that are computed from the columns of a file."""


@dataclass(frozen=True)
class KernelOptions:
    """The options of kernel k-means."""

    kernel: Annotated[
        str | None,
        of_tree(
            help=f"Cluster by kernel k-means, for curved clusters: {', '.join(KERNEL_NAMES)}.",
            autocompletion=one_of(KERNEL_NAMES),
        ),
    ] = None
    gamma: Annotated[
        float | None, of_tree(help="The kernel's gamma, for the scaled columns; set from their spread by default.")
    ] = None
    cuts: Annotated[
        str | None, of_tree(help="Tests of a kernel tree: interval or threshold.", show_default="interval")
    ] = None
    nystroem: Annotated[
        int | None,
        of_tree(help="Approximate the kernel by this many features, for tables too large for a kernel matrix.", min=1),
    ] = None

    def check(self, objective: str | None, growth: GrowthOptions) -> None:
        """Raise an error for options that do not go together; ``objective``: if it is not that of k-means."""
        if self.kernel is None:
            for option, value in (("--gamma", self.gamma), ("--cuts", self.cuts), ("--nystroem", self.nystroem)):
                if value is not None:
                    raise InvalidInputError(f"{option} {value} needs a kernel. Add one, such as --kernel rbf.")
            return
        check_option("--kernel", self.kernel, KERNEL_NAMES)
        refuse_beside(f"--kernel {self.kernel}: it clusters by kernel k-means", {"--objective": objective})
        others = {
            "--gamma": None if FORMULAS[self.kernel].uses_gamma else self.gamma,
            "--depth-penalty": None if growth.depth_penalty == GrowthOptions.depth_penalty else growth.depth_penalty,
        }
        refuse_beside(f"--kernel {self.kernel}", others)

    @property
    def scale(self) -> str:
        """Default scaling of columns: none for kernels whose values may not be negative."""
        return "auto" if self.kernel is None else "none" if needs_nonnegative(self.kernel) else "standard"

    def estimator(self, n_clusters: int, **growth: Any) -> ExplainableKernelKMeans:
        """The unfitted estimator; ``growth``: parameters common to all estimators, and those of k-means."""
        from cutwise import ExplainableKernelKMeans

        shared = {name: value for name, value in growth.items() if name != "depth_penalty"}
        if self.nystroem is not None:
            shared |= {"approximation": "nystroem", "n_components": self.nystroem}
        shared |= {"kernel": self.kernel, "gamma": self.gamma, "cuts": self.cuts or "interval"}
        return ExplainableKernelKMeans(n_clusters, **shared)
