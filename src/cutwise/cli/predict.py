"""``cutwise predict``: the cluster of every row of a table, by a saved model."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cutwise.cli.columns import columns_of_numbers, columns_without_gaps, complete_rows, numeric_columns
from cutwise.cli.models import as_fitted, label_lines, labels_path, model_and_table
from cutwise.cli.options import Header, ModelFile, Separator, TableFile
from cutwise.cli.screen import Outputs, file_or_stdout, note

EXAMPLES = (
    "cutwise predict segments.json new_customers.csv",
    "cutwise predict segments.json new_customers.csv --out clusters.csv",
)


def command(
    model: ModelFile,
    file: TableFile,
    out: Annotated[
        str | None, typer.Option(metavar="OUT.csv", help="Write to this file in place of standard output.")
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Give no cluster to rows with missing values.")
    ] = False,
    separator: Separator = None,
    header: Header = None,
) -> None:
    """Print the cluster of every row: CSV lines of row number (from 0) and cluster.

    Columns are found by their names, and only those that the rules ask about are needed. Where clusters have names, a
    third column holds them.
    """
    out = file_or_stdout(labels_path(out))
    with Outputs(out, inputs=[model, file]) as outputs:
        fitted, source, table = model_and_table(model, file, separator=separator, header=header)
        numeric_columns(source, table[columns_of_numbers(fitted, table)], may_drop=False)
        needed = columns_without_gaps(fitted, table)
        complete = complete_rows(source, table[needed], drop_missing=drop_missing, needed=needed)
        labels = label_lines(
            fitted.predict(as_fitted(fitted, source, table[complete])),
            rows=complete.nonzero()[0],
            n_rows=len(complete),
            names=fitted.cluster_names_,
        )
        if out is not None:
            outputs.write(out, labels.write)
    if out is None:
        labels.print_to(sys.stdout)
    else:
        note(f"wrote {out}")
