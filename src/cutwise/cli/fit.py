"""``cutwise fit``: cluster a table, or explain a column of labels, and say the clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutwise.cli.columns import Task, cut_features, find_source, in_memory_alone, prepare
from cutwise.cli.models import check_model_path, labels_frame, labels_path, name_clusters, print_fit, write_labels
from cutwise.cli.options import (
    OBJECTIVES,
    SCALE_HELP,
    SCALES,
    AsJson,
    Clusters,
    GrowthOptions,
    KernelOptions,
    LabelsFrom,
    LimitOptions,
    MaxLeaves,
    Names,
    Objective,
    TableOptions,
    estimator_of,
    of_output,
    of_tree,
    refuse_beside_labels,
    words_given,
)
from cutwise.cli.screen import Outputs, note, noted, print_json, working
from cutwise.cli.tables import find_files
from cutwise.estimators import model_document
from cutwise.table.intake import check_option
from cutwise.tree.recipes import recipes_for

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator


EXAMPLES = (
    "cutwise fit --example wine",
    "cutwise fit customers.csv -k 5 --drop CustomerID,Genre --out segments.json",
    "cutwise fit customers.csv -k 5 --never Genre --max-depth 3",
    "cutwise fit incomes.csv -k 4 --objective kmedians --scale robust",
    "cutwise fit rings.csv -k 3 --kernel rbf --gamma 0.5 --max-leaves 6",
    "cutwise fit measured.parquet --labels-from species",
    "cutwise fit 'part-*.parquet' -k 8 --max-memory 2GiB --out segments.json",
)

_NOT_OF_THE_MODEL = ("example", "max_memory", "jobs", "out", "labels", "as_json", "verbose")
"""Options that another run on the same table may have otherwise and make the same model."""


def command(
    *,
    context: typer.Context,
    table: TableOptions,
    n_clusters: Clusters = None,
    objective: Objective = "kmeans",
    kernel: KernelOptions,
    labels_from: LabelsFrom = None,
    scale: Annotated[str | None, of_tree(help=SCALE_HELP, show_default="auto; none for kernels of histograms")] = None,
    algorithm: Annotated[
        str | None,
        of_tree(
            help=f"How the tree is grown: {', '.join(recipes_for('centers'))}, optimal (-k 2); "
            f"imm, {', '.join(recipes_for('kernel'))} with a kernel; auto for given labels.",
            show_default="search; imm with a kernel",
        ),
    ] = None,
    max_leaves: MaxLeaves = None,
    limits: LimitOptions,
    growth: GrowthOptions,
    out: Annotated[
        str | None, of_output("--out", "-o", metavar="MODEL.json", help="Save the model for predict and rules.")
    ] = None,
    labels: Annotated[str | None, of_output(metavar="OUT.csv", help="Write every row's cluster.")] = None,
    unknown: Annotated[
        str,
        of_tree(help="What categories never seen here are to predict: outside of all that rules name, or an error."),
    ] = "outside",
    name: Names = None,
    as_json: AsJson = False,
    verbose: Annotated[bool, of_output("--verbose", help="Say on standard error what takes how long.")] = False,
) -> None:
    """Cluster a table and print a rule for every cluster."""
    scale = kernel.scale if scale is None else scale
    check_option("--scale", scale, tuple(SCALES))
    check_option("--unknown", unknown, ("outside", "error"))
    check_option("--objective", objective, OBJECTIVES)
    other = None if objective == "kmeans" else objective
    refuse_beside_labels(labels_from, {"-k": n_clusters, "--objective": other, "--kernel": kernel.kernel})
    kernel.check(other)
    params: dict[str, Any] = {"max_leaves": max_leaves, "verbose": 2 if verbose else 0, **growth.params}
    if algorithm is not None:
        params["algorithm"] = algorithm
    with Outputs(out, labels_path(labels), inputs=find_files(table.files or [])) as outputs:
        check_model_path(out)
        with noted() as notes:
            is_labeled = labels_from is not None
            source, n_clusters = find_source(table, n_clusters, command="fit", is_labeled=is_labeled)
            if source.lazy is not None:
                what = "--kernel" if kernel.kernel is not None else "--labels" if labels is not None else None
                if what is not None:
                    instead = "cutwise predict writes the clusters" if what == "--labels" else "Leave it out"
                    raise in_memory_alone(source, what, instead)
            only_numbers = kernel.kernel is not None or algorithm in ("optimal", "cart")
            task = prepare(source, table, labels_from=labels_from, mixed=not only_numbers)
        scale, measure = task.measured(scale, objective)
        params |= limits.params | cut_features(task, source, limits)
        params |= measure | ({"handle_unknown": unknown} if task.is_mixed else {})
        with working(f"working on {task.size}", quiet=verbose):
            model = _fitted(task, params, objective, kernel, n_clusters)
        model._remember_texts(source.readings)
        words = words_given(context, but=_NOT_OF_THE_MODEL)
        model._intake = {
            "notes": notes, "left_out": task.left_out, "numbers": list(task.numbers), "options": words,
            "format": source.as_kept(task.columns),
        }  # fmt: skip
        name_clusters(model, name or [])
        if out is not None:
            outputs.write(out, model.save)
        if labels is not None:
            rows, names = task.rows, model.cluster_names_
            assert rows is not None
            lines = labels_frame(model.labels_, rows=rows, n_rows=len(source.frame), names=names)
            outputs.write(labels, lambda part: write_labels(lines, part))
    for line in _without_part(task):
        note(line)
    if as_json:
        print_json(model_document(model, about={**task.about, "scale": scale}))
    else:
        print_fit(model, source=source.name, n_rows=task.n_rows, scale=scale)
    for path in (out, labels):
        if path is not None:
            note(f"wrote {path}")


def _without_part(task: Task) -> Iterator[str]:
    """Rows that sizes and figures leave out, so that these do not add up to the table."""
    from cutwise.table.labels import read_labels

    if isinstance(task.labels, str) or isinstance(task.weights, str):  # columns of a table in batches
        return
    if task.labels is not None and (noise := read_labels(task.labels, task.n_rows).n_noise):
        yield f"{noise} of {task.n_rows} rows are labeled -1 (noise): sizes and figures leave them out"
    if task.weights is not None and (weightless := int((task.weights == 0).sum())):
        yield f"{weightless} of {task.n_rows} rows have weight 0: sizes and figures leave them out"


def _fitted(
    task: Task, params: dict[str, Any], objective: str, kernel: KernelOptions, n_clusters: int | None
) -> TreeEstimator:
    if n_clusters is None:
        from cutwise import ClusterExplainer

        own = {name: value for name, value in params.items() if name != "n_init"}  # nothing is clustered
        return ClusterExplainer(**own).fit(task.table, **task.beside)
    if kernel.kernel is not None:
        return kernel.estimator(n_clusters, params).fit(task.table, **task.beside)
    # "auto" does nothing to complete numbers either, and says so where one column outweighs all others.
    as_is = params.get("preprocessor", "auto") is None and not task.in_batches
    params |= {"preprocessor": "auto"} if as_is else {}
    model = estimator_of(objective)(n_clusters, **params).fit(task.table, **task.beside)
    if as_is:
        model.set_params(preprocessor=None)
        model._remember_params()
    return model
