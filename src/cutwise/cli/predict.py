"""``cutwise predict``: the cluster of every row of a table, by a saved model."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from cutwise.cli._columns import complete_rows, numeric_columns
from cutwise.cli._files import Source, read_source
from cutwise.cli._labels import label_lines, labels_path
from cutwise.cli._outputs import Outputs
from cutwise.cli._screen import note, working
from cutwise.cli.fit import FILE_HELP
from cutwise.exceptions import ColumnMismatchError, did_you_mean, listed

__all__ = ["EXAMPLES", "command"]

EXAMPLES = (
    "cutwise predict segments.json new_customers.csv",
    "cutwise predict segments.json new_customers.csv --out clusters.csv",
)


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file that cutwise fit --out wrote.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    out: Annotated[
        str | None, typer.Option(metavar="OUT.csv", help="Write to this file in place of standard output.")
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Give no cluster to rows with missing values.")
    ] = False,
    separator: Annotated[str | None, typer.Option(help="Separator of a text file; found out by default.")] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line holds names; found out by default."),
    ] = None,
) -> None:
    """Print the cluster of every row: CSV lines of row number (from 0) and cluster.

    Columns are found by their names; others than the model's are ignored. Where clusters have names, a third column
    holds them.
    """
    from cutwise import load_model

    with Outputs(labels_path(out)) as outputs:
        fitted = load_model(model)
        with working(f"reading {file}"):
            source = read_source(file, separator=separator, header=header)
        table = _columns_of(fitted, source)
        numeric_columns(source, table)
        complete = complete_rows(source, table, drop_missing=drop_missing)
        labels = label_lines(
            fitted.predict(_as_fitted(fitted, table[complete])),
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


def _columns_of(model: Any, source: Source) -> Any:
    """The columns that the model was fitted on, in its order.

    Raises
    ------
    ColumnMismatchError
        One of them is not there, or the model knows its columns by position only and their number differs.
    """
    given = list(source.frame.columns)
    names = getattr(model, "feature_names_in_", None)
    if names is None or not source.has_names:
        if len(given) != model.n_features_in_:
            raise ColumnMismatchError(
                f"{source.name} has {len(given)} columns, and the model was fitted on {model.n_features_in_}. "
                "Without names they are matched by position, so the number must be the same."
            )
        return source.frame
    names = list(names)
    missing = [name for name in names if name not in given]
    if missing:
        free = [name for name in given if name not in names]
        raise ColumnMismatchError(
            f"{source.name} lacks {len(missing)} of the {len(names)} columns of the model: {listed(missing)}."
            f"{did_you_mean(missing[0], free)} Its own columns are {listed(given, most=20)}."
        )
    return source.frame[names]


def _as_fitted(model: Any, table: Any) -> Any:
    """The table with names exactly when the model has some: by position, both are known to agree."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return table.to_numpy()
    return table.set_axis(list(names), axis=1)
