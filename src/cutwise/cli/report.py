"""``cutwise report``: a page about a saved model and a table, for readers who did not make it."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutwise.cli import columns, models, options
from cutwise.cli.screen import Outputs, note, working
from cutwise.cli.tables import Source, find_files
from cutwise.readouts.sql import DIALECTS

if TYPE_CHECKING:
    import pandas as pd

    from cutwise.estimators import TreeEstimator


EXAMPLES = (
    "cutwise report segments.json customers.csv --out report.html",
    "cutwise report segments.json customers.csv --out report.md --title 'Customer segments'",
)


def command(
    context: typer.Context,
    model: options.ModelFile,
    files: options.TableFiles,
    out: Annotated[
        str, options.out_option(metavar="REPORT", help="Report file; the ending sets the format: .html, .md or .json.")
    ] = "report.html",
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    name: options.Names = None,
    labels_from: Annotated[
        str | None, typer.Option(help="Column of the clusters that the model explains, for the cost curve.")
    ] = None,
    dialect: Annotated[
        str, typer.Option(help=f"SQL dialect: {', '.join(DIALECTS)}.", autocompletion=options.one_of(DIALECTS))
    ] = "duckdb",
    table: Annotated[
        str | None, typer.Option(help="Name of the table in the SQL, such as sales.customers.", show_default="data")
    ] = None,
    curve: Annotated[bool, typer.Option("--curve/--no-curve", help="Whether to show cost by number of leaves.")] = True,
    weights: options.Weights = None,
    drop_missing: options.DropMissing = False,
    text: options.TextOptions = options.TextOptions(),
    max_memory: options.MaxMemory = "",
) -> None:
    """Write a report with the results, their cost, the tree and a card for every cluster.

    The report is one self-contained file that opens offline. Give the table that the model was fitted on; any other
    table is described with the same clusters.
    """
    from cutwise.estimators import check_form, report

    check_form(out)
    with Outputs(out, inputs=[model, *find_files(files)]) as outputs:
        fitted, source, tested = models.model_and_table(model, files, text, max_memory)
        if "n_clusters" in fitted.get_params(deep=False):
            options.refuse_beside(f"{model}, which found its clusters itself", {"--labels-from": labels_from})
        commands = _commands(fitted, context)
        models.name_clusters(fitted, name or [])
        described = [*tested.columns, *models.other_columns(fitted, source)]
        requested = {"y": ("--labels-from", labels_from), "sample_weight": ("--weights", weights)}
        beside = {
            what: columns.need_column(source.frame, c, o, source) for what, (o, c) in requested.items() if c is not None
        }
        if weights is None:
            models.note_lost_weights(fitted)
        rows, n, given = _rows(fitted, source, described, beside, drop_missing)
        with working(f"looking at {n:,} rows and {len(described)} columns", steps=2 if curve else 1):
            made = report(
                fitted,
                rows,
                title=title,
                source=source.name,
                table=table,
                curve=curve,
                reproduce=commands,
                **{"dialect": dialect, **given},
            )
        outputs.write(out, lambda part: part.write_text(made.written_as(out), encoding="utf-8", newline="\n"))
    for line in made.summary["notes"]:
        note(line)
    note(f"wrote {out}")


def _rows(
    model: TreeEstimator, source: Source, described: list[str], beside: dict[str, str], drop_missing: bool
) -> tuple[Any, int, dict[str, Any]]:
    """The model's columns of a table, the number of rows, and the further columns of options.

    In a table that is read in batches the further columns are columns of the table.
    """
    if not source.in_batches:
        tested = models.tested_columns(model, source)
        asked = columns.check_as_fitted(model, source, tested)
        # Rules place rows with gaps elsewhere: users who left them out of the fit leave them out here too.
        needed = list(dict.fromkeys([*(described if drop_missing else asked), *beside.values()]))
        complete = columns.complete_rows(source, needed, drop_missing=drop_missing)
        rows = models.as_fitted(model, source, source.frame.loc[complete, described])
        found = {what: source.labels(c) if what == "y" else source.frame[c] for what, c in beside.items()}
        return rows, int(complete.sum()), {what: column.to_numpy()[complete] for what, column in found.items()}
    used = list(dict.fromkeys([*described, *beside.values()]))
    n = sum(len(batch) for batch in source.batches(used[:1]))
    if drop_missing:
        n_before, n = n, sum(len(batch.dropna()) for batch in source.batches(used))
        columns.check_complete(source, {}, n_before, n, drop_missing=True)

    def as_given(frame: pd.DataFrame) -> Any:
        own: Any = models.as_fitted(model, source, frame[described])
        return own.assign(**{name: frame[name] for name in beside.values()}) if beside else own

    batches = columns.batches_of(source, used, [beside["y"]] if "y" in beside else [], drop_missing=drop_missing)
    return batches.read_by(as_given), n, dict(beside)


def _commands(model: TreeEstimator, context: typer.Context) -> list[str]:
    """The commands that make the model, if a command made it, and the report again."""
    model_file, files, out = (context.params[name] for name in ("model", "files", "out"))
    again = ["cutwise", "report", model_file, *files, "--out", out, *options.words_given(context, but=("out",))]
    made_by = model._intake.get("options", ())
    names = [word for label, name in model.cluster_names_.items() for word in ("--name", f"{label}={name}")]
    fit = ["cutwise", "fit", *files, *made_by, *names, "--out", model_file]
    made_by_fit = bool(made_by) and not isnan(model.cost_)  # and neither edited nor counted again since
    return [options.shell_text(command) for command in ([fit, again] if made_by_fit else [again])]
