"""What is to be clustered: the columns and rows of a table that take part, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cutwise.cli._columns import (
    choose_columns,
    chosen_names,
    columns_to_leave_out,
    complete_rows,
    need_column,
    numeric_columns,
)
from cutwise.cli._examples import clusters_of_example, read_example
from cutwise.cli._files import Source, read_source
from cutwise.cli._options import TableOptions
from cutwise.cli._screen import note, working
from cutwise.cli._text import whole_again
from cutwise.exceptions import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

__all__ = ["Task", "find_labeled", "find_source", "prepare"]


@dataclass(frozen=True)
class Task:
    """The part of a table to work on.

    Attributes
    ----------
    table : pandas.DataFrame of shape (n, d)
        Finite numbers.
    rows : ndarray of shape (n,), int64
        The numbers of these rows in the source.
    weights : ndarray of shape (n,) or None
    labels : ndarray of shape (n,) or None
        Clusters to explain, in the words of the source.
    left_out : dict of str to str
        Columns that nobody asked to leave out, each with the reason.
    """

    table: pd.DataFrame
    rows: npt.NDArray[np.int64]
    weights: npt.NDArray[Any] | None = None
    labels: npt.NDArray[Any] | None = None
    left_out: dict[str, str] = field(default_factory=dict)


def find_source(table: TableOptions, n_clusters: int | None, *, command: str) -> tuple[Source, int]:
    """The table that a command line names, and the number of clusters; an example knows its own.

    Raises
    ------
    InvalidInputError
        No table or two, no number of clusters, or a file that cannot be read.
    """
    _check_given(table, command)
    if n_clusters is None:
        if table.example is None:
            raise InvalidInputError("The number of clusters is missing. Say how many with -k, such as -k 5.")
        n_clusters = clusters_of_example(table.example)
    return _read(table), n_clusters


def find_labeled(table: TableOptions, n_clusters: int | None, labels_from: str, *, command: str) -> Source:
    """The table that a command line names, whose clusters a column of it gives.

    Raises
    ------
    InvalidInputError
        No table or two, a number of clusters beside those of the column, or a file that cannot be read.
    """
    if n_clusters is not None:
        raise InvalidInputError(
            f"-k {n_clusters} has no meaning with --labels-from {labels_from}: that column has its clusters already. "
            "Leave one of them out."
        )
    _check_given(table, command)
    return _read(table)


def _check_given(table: TableOptions, command: str) -> None:
    """Refuse no table, and two."""
    if table.example is not None and table.file is not None:
        raise InvalidInputError(
            f"Both FILE ({table.file}) and --example ({table.example}) were given. Give one of them."
        )
    if table.example is None and table.file is None:
        raise InvalidInputError(
            f"FILE is missing. Give a table (cutwise {command} data.csv -k 5), or try cutwise {command} --example wine."
        )


def _read(table: TableOptions) -> Source:
    if table.file is None:
        return read_example(str(table.example))
    with working(f"reading {table.file}"):
        return read_source(table.file, separator=table.separator, header=table.header)


def prepare(source: Source, table: TableOptions, *, labels_from: str | None = None) -> Task:
    """Choose columns and rows, and check them here, where messages can name the file's lines and the options.

    Raises
    ------
    InvalidInputError
        Unknown columns, text or infinity among numbers, missing values that may not be left out.
    """
    import numpy as np

    weights = table.weights
    named = {"--weights": weights, "--labels-from": labels_from}
    apart = [need_column(source.frame, name, option, source) for option, name in named.items() if name is not None]
    frame = choose_columns(source, only=table.only or [], drop=table.drop or [], apart=apart)
    asked_for = chosen_names(source, table.only or [], "--only")
    left_out = columns_to_leave_out(source, [column for column in frame.columns if column not in asked_for])
    if len(left_out) == frame.shape[1]:
        raise InvalidInputError(
            f"No column of {source.name} can be clustered by what it measures: {_with_reasons(left_out)}. "
            "Name those to use all the same with --only."
        )
    frame = frame.drop(columns=list(left_out))
    numeric_columns(source, frame)
    if weights is not None:
        numeric_columns(source, source.frame[[weights]], may_drop=False)
    used = source.frame[list(dict.fromkeys([*frame.columns, *apart]))]
    complete = complete_rows(source, used, drop_missing=table.drop_missing, needed=apart)
    kept = used if complete.all() else whole_again(used[complete])
    for column in frame.columns:
        if column in source.readings:
            note(f"{column}: {source.readings[column]}")
    if left_out:
        note(f"left out: {_with_reasons(left_out)}; --only names the columns to use")
    return Task(
        table=kept[list(frame.columns)],
        rows=np.flatnonzero(complete),
        weights=None if weights is None else kept[weights].to_numpy(),
        labels=None
        if labels_from is None
        else whole_again(source.labels(labels_from)[complete].to_frame()).iloc[:, 0].to_numpy(),
        left_out=left_out,
    )


def _with_reasons(left_out: Mapping[str, str], most: int = 8) -> str:
    told = [f"{column} ({reason})" for column, reason in left_out.items()]
    return ", ".join(told[:most]) + (f" and {len(told) - most} more" if len(told) > most else "")
