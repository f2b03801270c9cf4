"""``cutwise recount``: count the rows of a table at the leaves of a saved model, such as one edited by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from cutwise.cli import columns, models
from cutwise.cli.column_scan import scan_columns
from cutwise.cli.options import ModelFile, TableFiles, TextOptions, Weights, out_option
from cutwise.cli.screen import Outputs, note
from cutwise.cli.tables import find_files
from cutwise.exceptions import ColumnMismatchError, listed

EXAMPLES = (
    "cutwise recount segments.json customers.csv",
    "cutwise recount segments.json labeled.csv --labels-from cluster --out counted.json",
)


def command(
    model: ModelFile,
    files: TableFiles,
    labels_from: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of reference clusters; the nearest centers by default.")
    ] = None,
    weights: Weights = None,
    out: Annotated[
        str | None, out_option(metavar="FILE", help="Write the model to this file instead of MODEL.")
    ] = None,
    text: TextOptions = TextOptions(),
) -> None:
    """Recount the rows in the leaves of a model, print its rules, and save the model.

    Use it after editing a model's tree by hand, or to measure its rules on newer rows.
    """
    target = model if out is None else out
    with Outputs(target, inputs=find_files(files)) as outputs:
        models.check_model_path(out)
        fitted, source, tested = models.model_and_table(model, files, text)
        others = [name for name in models.other_columns(fitted, source) if name not in tested.columns]
        table = tested if labels_from is not None else source.frame[[*tested.columns, *others]]
        lacking = [name for name in getattr(fitted, "feature_names_in_", ()) if name not in table.columns]
        if lacking and labels_from is None:
            raise ColumnMismatchError(
                f"{source.name} lacks {listed(lacking, most=8)}, or holds other kinds of values than at fit. The "
                "nearest centers need all columns of fit: add them, or name a column of reference clusters with "
                "--labels-from."
            )
        needed = columns.check_as_fitted(fitted, source, table)
        columns.complete_rows(source, needed)
        y = None
        if labels_from is not None:
            (column,) = columns.chosen_names(source, [labels_from], "--labels-from")
            y = source.labels(column).to_numpy()
        own = None
        if weights is not None:
            column = columns.need_column(source.frame, weights, "--weights", source)
            columns.check_numbers(source, scan_columns(source, [column]), may_drop=False)
            columns.complete_rows(source, [column])
            own = source.frame[column].to_numpy()
        else:
            models.note_lost_weights(fitted)
        fitted.recount(models.as_fitted(fitted, source, table), y, sample_weight=own)
        models.print_rules(fitted)
        outputs.write(target, fitted.save)
    note(f"wrote {target}")
