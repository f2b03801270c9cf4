"""``cutwise predict``: the cluster of every row of a table, by a saved model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cutwise._whole import whole_folder
from cutwise.cli import models
from cutwise.cli.columns import check_as_fitted, complete_rows
from cutwise.cli.options import ModelFile, TableFiles, TextOptions, out_option
from cutwise.cli.screen import Outputs, check_place, note, working
from cutwise.cli.tables import STANDARD_INPUT, find_files, is_parquet, read_in_parts
from cutwise.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from cutwise.estimators import TreeEstimator

EXAMPLES = (
    "cutwise predict segments.json new_customers.csv",
    "cutwise predict segments.json new_customers.csv --out clusters.csv",
    "cutwise predict segments.json 'part-*.parquet' --out clusters",
)

_ROWS = 1 << 16
"""Number of rows to read at a time."""


def command(
    model: ModelFile,
    files: TableFiles,
    out: Annotated[
        str | None,
        out_option(
            metavar="OUT.csv|FOLDER",
            help="Write to this file instead of standard output; with several FILEs, one file each in this new folder.",
        ),
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Give no cluster to rows with missing values.")
    ] = False,
    text: TextOptions = TextOptions(),
) -> None:
    """Print the cluster of every row: CSV lines of row number (from 0) and cluster.

    Columns are matched by name, and only those in the rules are needed. Named clusters add a third column with the
    name. In an output folder, clusters of Parquet files are written as Parquet.
    """
    found = find_files(files)
    read = partial(_predict, drop_missing=drop_missing, text=text)
    if found != files or len(files) > 1:
        _predict_each(model, found, out, read)
        return
    file, out = files[0], None if out == "-" else models.check_labels_path(out)
    with Outputs(out, inputs=[model, file]) as outputs:
        fitted = models.read_model(model, file)

        def write(place: Path | None) -> int:
            with nullcontext(models.write_labels) if place is None else _labels_csv(place) as lines:
                n_rows, n_left_out = read(fitted, file, lines)
            if n_rows == 0:
                raise InvalidInputError(f"{file} holds no rows.")
            return n_left_out

        n_left_out = write(None) if out is None else outputs.write(out, write)
    _say(n_left_out)
    if out is not None:
        note(f"wrote {out}")


def _predict(
    fitted: TreeEstimator,
    path: str,
    write: Callable[[pd.DataFrame], None],
    *,
    drop_missing: bool,
    text: TextOptions,
) -> tuple[int, int]:
    """Write the clusters of a file's rows; return the number of rows, and of rows without a cluster."""
    n_rows = n_left_out = 0
    for part in read_in_parts(path, _ROWS, models.format_of(fitted, text)):
        source = models.with_lost_words(fitted, part)
        table = models.tested_columns(fitted, source)
        needed = check_as_fitted(fitted, source, table)
        complete = table[needed].notna().all(axis=1).to_numpy()
        if not drop_missing:
            complete_rows(source, needed, drop_missing=False)
        rows = complete.nonzero()[0]
        labels = fitted.predict(models.as_fitted(fitted, source, table[complete])) if len(rows) else rows
        names = fitted.cluster_names_
        write(models.labels_frame(labels, rows=rows, n_rows=len(complete), names=names, first=source.first_row))
        n_rows, n_left_out = n_rows + len(complete), n_left_out + int((~complete).sum())
    return n_rows, n_left_out


def _predict_each(model: str, files: list[str], out: str | None, read: Callable[..., tuple[int, int]]) -> None:
    """Write the clusters of each file to a file in a folder, which appears once all are complete."""
    if out is None or out == "-":
        raise InvalidInputError("The clusters of several files go to a folder. Add --out FOLDER.")
    if out.lower().endswith(".csv"):
        folder = Path(out).with_suffix("")
        raise InvalidInputError(f"The clusters of several files go to a folder, not to a file. Use --out {folder}.")
    if Path(out).exists():
        raise InvalidInputError(f"{out} already exists, and nothing in it is replaced. Name a new folder.")
    check_place(Path(out).absolute())
    if STANDARD_INPUT in files:
        raise InvalidInputError("Standard input (-) cannot be combined with other files. Give it alone.")
    names = [_part_name(path) for path in files]
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(f"Several of the files would be written as {name}. Give those of one folder at a time.")
    fitted, n_rows, n_left_out = models.read_model(model, files[0]), 0, 0
    with whole_folder(out) as folder, working("predicting", steps=len(files)) as begin:
        for path, name in zip(files, names, strict=True):
            begin(f"{path}, after {n_rows:,} rows")
            place = folder / name
            with _labels_csv(place) if name.endswith(".csv") else _labels_parquet(place, fitted) as write:
                here, left_out = read(fitted, path, write)
            n_rows, n_left_out = n_rows + here, n_left_out + left_out
    _say(n_left_out)
    note(f"wrote {len(files)} files of {n_rows:,} rows to {out}")


def _say(n_left_out: int) -> None:
    if n_left_out:
        note(f"{n_left_out:,} row{'s have' if n_left_out > 1 else ' has'} missing values and no cluster")


def _part_name(path: str) -> str:
    """Name of the file with the clusters of a file: Parquet for Parquet, CSV for all others."""
    name = Path(Path(path).name.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz").removesuffix(".zip"))
    return name.stem + (".parquet" if is_parquet(path) else ".csv")


@contextmanager
def _labels_csv(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Context of a function that writes lines of clusters to a CSV file."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        yield partial(models.write_labels, file=file)


@contextmanager
def _labels_parquet(path: Path, fitted: TreeEstimator) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Context of a function that writes lines of clusters to a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    fields = [("row", pa.int64()), ("cluster", pa.array(fitted.classes_.tolist()).type)]
    schema = pa.schema([*fields, *([("name", pa.string())] if fitted.cluster_names_ else [])])
    with parquet.ParquetWriter(path, schema) as writer:
        yield lambda lines: writer.write_table(pa.Table.from_pandas(lines, schema, preserve_index=False))
