"""What is to be clustered: the columns and rows of a table that take part, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cutwise.cli._columns import choose_columns, complete_rows, need_column, numeric_columns
from cutwise.cli._files import Source

__all__ = ["Task", "prepare"]


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
        numeric_columns(source, source.frame[[weights]])
    used = source.frame[list(dict.fromkeys([*table.columns, *apart]))]
    complete = complete_rows(source, used, drop_missing=drop_missing)
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
