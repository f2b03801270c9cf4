"""``cutwise fit``: cluster a table, or explain a column of labels, and say the clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from cutwise.cli import models, options
from cutwise.cli.columns import clustering
from cutwise.cli.screen import Outputs, collect_notes, note, print_json, working
from cutwise.cli.tables import find_files
from cutwise.table.intake import check_option, names_given
from cutwise.tree.recipes import RECIPES, recipes_for

EXAMPLES = (
    "cutwise fit --example wine",
    "cutwise fit customers.csv -k 5 --drop CustomerID,Genre --out segments.json",
    "cutwise fit customers.csv -k 5 --never Genre --max-depth 3",
    "cutwise fit incomes.csv -k 4 --objective kmedians --scale robust",
    "cutwise fit rings.csv -k 3 --kernel rbf --gamma 0.5 --max-leaves 6",
    "cutwise fit measured.parquet --labels-from species",
    "cutwise fit 'part-*.parquet' -k 8 --max-memory 2GiB --out segments.json",
)

_NOT_OF_THE_MODEL = ("example", "max_memory", "jobs", "out", "labels", "name", "as_json", "verbose")
"""Options that do not change the model of a table; names may change later."""


@dataclass(frozen=True)
class FitOptions(options.ClusteringOptions):
    """Options of clustering, with a kernel allowed."""

    scale: Annotated[str | None, options.of_scale(show_default="auto; none for kernels of histograms")] = None


def command(
    *,
    context: typer.Context,
    table: FitOptions,
    kernel: options.KernelOptions,
    labels_from: options.LabelsFrom = None,
    algorithm: Annotated[
        str | None,
        options.of_tree(
            help=f"How the tree is grown (see cutwise compare --help): {', '.join(recipes_for('centers'))}, optimal "
            f"(-k 2); imm, {', '.join(recipes_for('kernel'))} with a kernel; auto, {', '.join(recipes_for('labels'))} "
            "for given labels.",
            show_default="search; imm with a kernel",
            autocompletion=options.one_of(
                dict.fromkeys((*recipes_for("centers"), "optimal", "auto", *recipes_for("labels")))
            ),
        ),
    ] = None,
    max_leaves: options.MaxLeaves = None,
    growth: options.GrowthOptions,
    out: Annotated[
        str | None,
        options.of_output("--out", "-o", metavar="MODEL.json", help="Save the model for the other commands."),
    ] = None,
    labels: Annotated[str | None, options.of_output(metavar="OUT.csv", help="Write the cluster of every row.")] = None,
    unknown: Annotated[
        str,
        options.of_tree(
            help="How to predict categories not seen in this table: outside (as none that a rule names) or error."
        ),
    ] = "outside",
    name: options.Names = None,
    as_json: options.AsJson = False,
    verbose: Annotated[bool, options.of_output("--verbose", help="Print steps and timings on standard error.")] = False,
) -> None:
    """Cluster a table and print a rule for every cluster."""
    check_option("--unknown", unknown, ("outside", "error"))
    is_kernel = kernel.kernel is not None
    in_memory = {"--labels": "cutwise predict writes the clusters"} if labels is not None else {}
    in_memory = {"--kernel": "Leave it out"} if is_kernel else in_memory
    if is_kernel:
        options.refuse_beside(f"--kernel {kernel.kernel}", {"--unknown": None if unknown == "outside" else unknown})
    mixed = not is_kernel and (algorithm not in RECIPES or RECIPES[algorithm].takes_mixed)
    with Outputs(out, models.check_labels_path(labels), inputs=find_files(table.files or [])) as outputs:
        models.check_model_path(out)
        with collect_notes() as notes:
            start = clustering(
                table, growth, command="fit", labels_from=labels_from, kernel=kernel, mixed=mixed, in_memory=in_memory
            )
        source, task, scale = start.source, start.task, start.scale
        own = {} if algorithm is None else {"algorithm": algorithm}
        own |= {"handle_unknown": unknown} if task.is_mixed else {}
        model = start.model(max_leaves=max_leaves, verbose=2 if verbose else 0, **own)
        # "auto" does not scale complete numbers either, and warns if one column dominates.
        as_is = not (is_kernel or labels_from) and model.preprocessor is None
        with working(f"working on {task.size}", quiet=verbose):
            model.set_params(**({"preprocessor": "auto"} if as_is else {})).fit(task.table, **task.beside)
        if as_is:
            model.set_params(preprocessor=None)
            model._remember_params()
        model._remember_texts(source.readings)
        model._beside = names_given(table.weights, labels_from)
        words = options.words_given(context, but=_NOT_OF_THE_MODEL)
        model._intake = {
            "notes": notes, "left_out": task.left_out, "numbers": list(task.numbers), "options": words,
            "format": source.as_saved(task.columns),
        }  # fmt: skip
        models.name_clusters(model, name or [])
        if out is not None:
            outputs.write(out, model.save)
        if labels is not None:
            rows, names = task.rows, model.cluster_names_
            assert rows is not None
            lines = models.labels_frame(model.labels_, rows=rows, n_rows=len(source.frame), names=names)
            outputs.write(labels, lambda part: models.write_labels(lines, part))
    counts = model._leaf_counts
    n_noise = int(counts.n_noise.sum())
    weightless = task.n_rows - int(counts.n_rows.sum()) - n_noise
    for n, what in ((n_noise, "labeled -1 (noise)"), (weightless, "of weight 0")):
        if n:
            note(f"rows {what}: {n} of {task.n_rows}; sizes and figures exclude them")
    if as_json:
        from cutwise.estimators import model_document

        print_json(model_document(model, about={**task.about, "scale": scale}))
    else:
        models.print_fit(model, source=source.name, n_rows=task.n_rows, scale=scale)
    for path in (out, labels):
        if path is not None:
            note(f"wrote {path}")
