"""``cutwise fit``: cluster a table, or explain a column of labels, and say the clusters."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cutwise.cli._examples import EXAMPLE_TABLES, read_example
from cutwise.cli._files import Source, read_source
from cutwise.cli._kernel import KERNEL_NAMES, KernelOptions
from cutwise.cli._labels import label_lines, labels_path
from cutwise.cli._names import NAME_HELP, name_clusters
from cutwise.cli._outputs import Outputs
from cutwise.cli._report import print_fit, print_json
from cutwise.cli._scaling import SCALES, scaler_of
from cutwise.cli._screen import note, working
from cutwise.cli._task import Task, prepare
from cutwise.exceptions import InvalidInputError, UnknownOptionError

__all__ = ["EXAMPLES", "command"]

EXAMPLES = (
    "cutwise fit --example wine",
    "cutwise fit customers.csv -k 5 --drop CustomerID,Genre --out segments.json",
    "cutwise fit incomes.csv -k 4 --objective kmedians --scale robust",
    "cutwise fit rings.csv -k 3 --kernel rbf --gamma 0.5 --max-leaves 6",
    "cutwise fit measured.parquet --labels-from species",
)

OBJECTIVES = ("kmeans", "kmedians")
FILE_HELP = "CSV, TSV or Parquet file, packed (gzip, bzip2, xz) or not; - for standard input."
_TABLE, _TREE, _OUTPUT = "Table", "Clusters and tree", "Output"


def command(
    file: Annotated[str | None, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)] = None,
    example: Annotated[
        str | None,
        typer.Option(help=f"A bundled table in place of FILE: {', '.join(EXAMPLE_TABLES)}.", rich_help_panel=_TABLE),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Columns to leave out: names separated by commas; may be repeated.", rich_help_panel=_TABLE),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns to keep, no others: names separated by commas; may be repeated.", rich_help_panel=_TABLE
        ),
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows with missing values.", rich_help_panel=_TABLE)
    ] = False,
    weights: Annotated[
        str | None, typer.Option(help="Column that says how much each row counts.", rich_help_panel=_TABLE)
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Separator of a text file; found out by default.", rich_help_panel=_TABLE)
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line holds names; found out by default.",
            rich_help_panel=_TABLE,
        ),
    ] = None,
    n_clusters: Annotated[
        int | None,
        typer.Option("-k", "--clusters", help="How many clusters.", rich_help_panel=_TREE, show_default=False),
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            help="What makes clusters: kmeans (squared distances to means) or kmedians (l1 distances to medians, for "
            "tables with outliers).",
            rich_help_panel=_TREE,
        ),
    ] = "kmeans",
    kernel: Annotated[
        str | None,
        typer.Option(
            help=f"Cluster by kernel k-means, whose clusters may bend: {', '.join(KERNEL_NAMES)}.",
            rich_help_panel=_TREE,
        ),
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option(
            help="Width of the kernel, of the scaled columns; found from their spread by default.",
            rich_help_panel=_TREE,
        ),
    ] = None,
    cuts: Annotated[
        str | None,
        typer.Option(
            help="Tests of a kernel tree: interval or threshold.", show_default="interval", rich_help_panel=_TREE
        ),
    ] = None,
    nystroem: Annotated[
        int | None,
        typer.Option(
            help="Approximate the kernel by so many features, for tables too large for a kernel matrix.",
            rich_help_panel=_TREE,
            min=1,
        ),
    ] = None,
    labels_from: Annotated[
        str | None,
        typer.Option(
            help="Explain the labels in this column (numbers or words, -1 for noise) in place of clustering.",
            rich_help_panel=_TREE,
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            help=f"How columns are made comparable for clustering: {', '.join(SCALES)}. Rules keep the file's units.",
            show_default="standard; none for kernels of histograms",
            rich_help_panel=_TREE,
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="How the tree is grown: imm, exgreedy, exshallow, exkmc, optimal (-k 2); imm, exkmc, expand with a "
            "kernel; auto for given labels.",
            show_default="exshallow; imm with a kernel",
            rich_help_panel=_TREE,
        ),
    ] = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="Leaves at most; more than clusters make a closer tree.", rich_help_panel=_TREE)
    ] = None,
    expansion: Annotated[
        str, typer.Option(help="How leaves beyond one per cluster are grown: exkmc, expand.", rich_help_panel=_TREE)
    ] = "exkmc",
    depth_penalty: Annotated[
        float, typer.Option(help="exshallow's price of depth, from 0.", rich_help_panel=_TREE)
    ] = 0.03,
    n_init: Annotated[
        int, typer.Option(help="Starts of the clustering; the best one counts.", rich_help_panel=_TREE)
    ] = 10,
    seed: Annotated[
        int, typer.Option(help="Same seed, same table: same result.", min=0, max=2**32 - 1, rich_help_panel=_TREE)
    ] = 0,
    jobs: Annotated[
        int,
        typer.Option(help="Threads, -1 for all processors; the result does not depend on it.", rich_help_panel=_TREE),
    ] = 1,
    out: Annotated[
        str | None,
        typer.Option(metavar="MODEL.json", help="Save the model for predict and rules.", rich_help_panel=_OUTPUT),
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="OUT.csv", help="Write every row's cluster.", rich_help_panel=_OUTPUT)
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(metavar="CLUSTER=NAME", help=NAME_HELP, rich_help_panel=_OUTPUT)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.", rich_help_panel=_OUTPUT)] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Say on standard error what takes how long.", rich_help_panel=_OUTPUT)
    ] = False,
) -> None:
    """Cluster a table and print a rule for every cluster."""
    kernel_options = KernelOptions(kernel, gamma, cuts, nystroem)
    scale = kernel_options.scale if scale is None else scale
    if scale not in SCALES:
        raise UnknownOptionError.of("--scale", scale, list(SCALES))
    if objective not in OBJECTIVES:
        raise UnknownOptionError.of("--objective", objective, OBJECTIVES)
    if labels_from is not None and objective != "kmeans":
        raise InvalidInputError(
            f"--objective {objective} has no meaning with --labels-from {labels_from}: that column has its clusters "
            "already, and costs are those of k-means. Leave one of them out."
        )
    kernel_options.check(objective=objective, labels_from=labels_from)
    growth: dict[str, Any] = {
        "preprocessor": scaler_of(scale),
        "max_leaves": max_leaves,
        "expansion": expansion,
        "depth_penalty": depth_penalty,
        "random_state": seed,
        "n_jobs": jobs,
        "verbose": 2 if verbose else 0,
    }
    if algorithm is not None:
        growth["algorithm"] = algorithm
    with Outputs(out, labels_path(labels)) as outputs:
        source, n_clusters = _read(file, example, n_clusters, separator, header, labels_from)
        task = prepare(
            source,
            only=only or [],
            drop=drop or [],
            weights=weights,
            labels_from=labels_from,
            drop_missing=drop_missing,
        )
        with working(f"working on {len(task.table):,} rows and {task.table.shape[1]} columns", silent=verbose):
            model = _fitted(task, growth, objective, kernel_options, n_clusters, n_init)
        name_clusters(model, name or [])
        if out is not None:
            outputs.write(out, model.save)
        if labels is not None:
            lines = label_lines(model.labels_, rows=task.rows, n_rows=len(source.frame), names=model.cluster_names_)
            outputs.write(labels, lines.write)
    if as_json:
        print_json(model, source=source.name, n_rows=len(task.table), n_columns=task.table.shape[1], scale=scale)
    else:
        print_fit(model, source=source.name, n_rows=len(task.table), scale=scale)
    for path in (out, labels):
        if path is not None:
            note(f"wrote {path}")


def _read(
    file: str | None,
    example: str | None,
    n_clusters: int | None,
    separator: str | None,
    header: bool | None,
    labels_from: str | None,
) -> tuple[Source, int | None]:
    """The table, and the number of clusters; None when they are given by labels."""
    if labels_from is not None and n_clusters is not None:
        raise InvalidInputError(
            f"-k {n_clusters} has no meaning with --labels-from {labels_from}: that column has its clusters already. "
            "Leave one of them out."
        )
    if example is not None:
        if file is not None:
            raise InvalidInputError(f"Both FILE ({file}) and --example ({example}) were given. Give one of them.")
        source, usual = read_example(example)
        return source, usual if n_clusters is None and labels_from is None else n_clusters
    if file is None:
        raise InvalidInputError(
            "FILE is missing. Give a table (cutwise fit data.csv -k 5), or try cutwise fit --example wine."
        )
    if n_clusters is None and labels_from is None:
        raise InvalidInputError("The number of clusters is missing. Say how many with -k, such as -k 5.")
    with working(f"reading {file}"):
        return read_source(file, separator=separator, header=header), n_clusters


def _fitted(
    task: Task, growth: dict[str, Any], objective: str, kernel: KernelOptions, n_clusters: int | None, n_init: int
) -> Any:
    from cutwise import ClusterExplainer, ExplainableKMeans, ExplainableKMedians

    if n_clusters is None:
        return ClusterExplainer(**growth).fit(task.table, task.labels, sample_weight=task.weights)
    if kernel.kernel is not None:
        return kernel.estimator(n_clusters, {**growth, "n_init": n_init}).fit(task.table, sample_weight=task.weights)
    clusterer = ExplainableKMedians if objective == "kmedians" else ExplainableKMeans
    return clusterer(n_clusters, n_init=n_init, **growth).fit(task.table, sample_weight=task.weights)
