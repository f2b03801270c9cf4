"""``cutwise explain``: why rows are in their clusters, and what would move them to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutwise.cli.columns import check_as_fitted
from cutwise.cli.models import as_fitted, model_and_table, name_clusters, note_long_sets
from cutwise.cli.options import AsJson, ModelFile, Names, TableFiles, TextOptions
from cutwise.cli.screen import print_json, print_line, warnings_name
from cutwise.cli.tables import Source
from cutwise.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from cutwise.estimators import TreeEstimator
    from cutwise.readouts.changes import Change


EXAMPLES = (
    "cutwise explain segments.json customers.csv --row 7",
    "cutwise explain segments.json customers.csv --row 7 --row 12 --json",
)

_BLOCK = 1 << 12


def command(
    model: ModelFile,
    files: TableFiles,
    row: Annotated[
        list[int] | None,
        typer.Option(help="Row number, counted from 0; may be repeated. All rows by default.", min=0),
    ] = None,
    name: Names = None,
    as_json: AsJson = False,
    text: TextOptions = TextOptions(),
) -> None:
    """Explain why rows are in their clusters, and the smallest change of one column that moves them to each other one.

    Changes of different columns are compared in standard deviations of the rows that the model was fitted on.
    An unknown value may become any value; no value becomes unknown.
    """
    from cutwise.readouts.changes import change_lines

    fitted, source, table = model_and_table(model, files, text)
    name_clusters(fitted, name or [])
    rows = _rows(source, row)
    needed = check_as_fitted(fitted, source, table)
    _check_complete(source, table[needed], rows)
    explained = _explain(fitted, source, table, rows, short=not as_json)
    if as_json:
        entries = [
            {
                "row": number,
                "cluster": cluster,
                "name": fitted.cluster_names_.get(cluster),
                "sentence": sentence,
                "changes": [
                    {"cluster": label, "change": None if change is None else change.to_dict()}
                    for label, change in changes.items()
                ],
            }
            for number, cluster, sentence, changes in explained
        ]
        print_json({"rows": entries})
        return
    for number, _, sentence, changes in explained:
        print_line(f"row {number}: {sentence}")
        for line in change_lines(changes, fitted.cluster_names_):
            print_line(f"  {line}")
    note_long_sets(fitted.rules())


def _explain(
    model: TreeEstimator, source: Source, table: pd.DataFrame, rows: Sequence[int], *, short: bool
) -> Iterator[tuple[int, Any, str, dict[Any, Change | None]]]:
    """Number, cluster, sentence and changes of every row; in blocks of rows, since changes are Python objects.

    ``short``: whether sentences show only the first few of long sets of levels.
    """
    from cutwise.readouts.changes import explain_rows

    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        with warnings_name("among the rows to explain"):
            X = model._read_tested(as_fitted(model, source, table.iloc[block]))  # once, to warn only once
        sentences = explain_rows(model._labeled(), X, short=short)
        yield from zip(block, model.predict(X).tolist(), sentences, model.smallest_changes(X), strict=True)


def _rows(source: Source, wanted: Sequence[int] | None) -> list[int]:
    """The numbers of the rows to explain, by default all."""
    n_rows = len(source.frame)
    for number in wanted or []:
        if number >= n_rows:
            raise InvalidInputError(
                f"--row {number}: {source.name} has {n_rows} rows, counted from 0. Give a number up to {n_rows - 1}."
            )
    return list(range(n_rows)) if wanted is None else list(wanted)


def _check_complete(source: Source, table: pd.DataFrame, rows: Sequence[int]) -> None:
    """Raise an error if any of the given rows has a missing value."""
    missing = table.iloc[rows].isna().to_numpy()
    if missing.any():
        at, column = divmod(int(missing.argmax()), missing.shape[1])
        raise InvalidInputError(
            f"Column {table.columns[column]!r} has no value in {source.row(rows[at])}, and the rules need "
            "it. Fill it in, or choose other rows with --row."
        )
