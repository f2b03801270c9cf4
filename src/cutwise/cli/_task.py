"""What is to be clustered: the columns and rows of a table that take part, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cutwise.cli._columns import choose_columns, complete_rows, need_column, numeric_columns
from cutwise.cli._examples import read_example
from cutwise.cli._files import Source, read_source
from cutwise.cli._screen import working
from cutwise.exceptions import InvalidInputError

__all__ = ["Task", "find_source", "prepare"]


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
    """

    table: Any
    rows: Any
    weights: Any = None
    labels: Any = None


def find_source(
    file: str | None,
    example: str | None,
    n_clusters: int | None,
    separator: str | None,
    header: bool | None,
    labels_from: str | None = None,
    *,
    command: str = "fit",
) -> tuple[Source, int | None]:
    """The table that a command line names, and the number of clusters; None when they are given by labels.

    Raises
    ------
    InvalidInputError
        No table or two, no number of clusters or one too many, or a file that cannot be read.
    """
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
            f"FILE is missing. Give a table (cutwise {command} data.csv -k 5), or try cutwise {command} --example wine."
        )
    if n_clusters is None and labels_from is None:
        raise InvalidInputError("The number of clusters is missing. Say how many with -k, such as -k 5.")
    with working(f"reading {file}"):
        return read_source(file, separator=separator, header=header), n_clusters


def prepare(
    source: Source,
    *,
    only: Sequence[str],
    drop: Sequence[str],
    weights: str | None,
    labels_from: str | None,
    drop_missing: bool,
) -> Task:
    """Choose columns and rows, and check them here, where messages can name the file's lines and the options.

    Raises
    ------
    InvalidInputError
        Unknown columns, text or infinity among numbers, missing values that may not be left out.
    """
    import numpy as np

    named = {"--weights": weights, "--labels-from": labels_from}
    apart = [need_column(source.frame, name, option, source) for option, name in named.items() if name is not None]
    table = choose_columns(source, only=only, drop=drop, apart=apart)
    numeric_columns(source, table)
    if weights is not None:
        numeric_columns(source, source.frame[[weights]], may_drop=False)
    used = source.frame[list(dict.fromkeys([*table.columns, *apart]))]
    complete = complete_rows(source, used, drop_missing=drop_missing, needed=apart)
    kept = used if complete.all() else _whole_again(used[complete])
    return Task(
        table=kept[list(table.columns)],
        rows=np.flatnonzero(complete),
        weights=None if weights is None else kept[weights].to_numpy(),
        labels=None if labels_from is None else kept[labels_from].to_numpy(),
    )


def _whole_again(frame: Any) -> Any:
    """Columns of whole numbers that are fractional only because pandas had no other way to hold a missing value."""
    from pandas.api import types

    for column in frame.columns:
        values = frame[column]
        if types.is_float_dtype(values) and (values % 1 == 0).all() and values.abs().max() < 2**53:
            frame = frame.assign(**{column: values.astype("int64")})
    return frame
