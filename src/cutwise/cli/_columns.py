"""Choosing the columns to work on, and checking before any work that they hold numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cutwise.cli._files import Source
from cutwise.cli._screen import note
from cutwise.exceptions import InvalidInputError, did_you_mean, listed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

__all__ = ["choose_columns", "complete_rows", "need_column", "numeric_columns"]


def need_column(frame: pd.DataFrame, name: str, option: str, source: Source) -> str:
    """The column of that name.

    Raises
    ------
    InvalidInputError
        There is none; the nearest name is proposed.
    """
    columns = list(frame.columns)
    if name in columns:
        return name
    raise InvalidInputError(
        f"{option}: {source.name} has no column {name!r}.{did_you_mean(name, columns)} "
        f"Its columns are {listed(columns, most=20)}."
    )


def choose_columns(source: Source, *, only: Sequence[str], drop: Sequence[str], apart: Sequence[str]) -> pd.DataFrame:
    """The table reduced to the columns to cluster on, in the file's order.

    Parameters
    ----------
    source : Source
    only, drop : sequences of str
        What ``--only`` and ``--drop`` were given: column names, or several separated by commas. Without ``only``,
        every column.
    apart : sequence of str
        Columns with another part to play: weights, labels.

    Returns
    -------
    frame : pandas.DataFrame
    """
    columns = list(source.frame.columns)
    kept = set(_names(source, only, "--only")) or set(columns)
    kept -= set(_names(source, drop, "--drop")) | set(apart)
    if not kept:
        raise InvalidInputError(
            f"No column of {source.name} is left to work on. Its columns are {listed(columns, most=20)}."
        )
    return source.frame[[column for column in columns if column in kept]]


def complete_rows(
    source: Source, frame: pd.DataFrame, *, drop_missing: bool, needed: Sequence[str] = ()
) -> npt.NDArray[np.bool_]:
    """Which rows have a value in every column.

    Parameters
    ----------
    source : Source
    frame : pandas.DataFrame
        The columns in use.
    drop_missing : bool
        Whether rows with a missing value may be left out.
    needed : sequence of str
        Columns that cannot be left out with ``--drop``: those of a fitted model, labels, weights.

    Returns
    -------
    complete : ndarray of shape (n_rows,), bool

    Raises
    ------
    InvalidInputError
        A value is missing and may not be; names the column and its first row.
    """
    missing = frame.isna()
    complete: npt.NDArray[np.bool_] = ~missing.any(axis=1).to_numpy()
    if complete.all():
        return complete
    counts = missing.sum()
    holding = [column for column in frame.columns if counts[column]]
    columns = holding
    if not complete.any():  # as long as a column without any value stays, leaving out rows leaves none
        without = [column for column in holding if counts[column] == len(frame)]
        columns = without or [counts.idxmax()]
    if set(columns) & set(needed):
        columns = []
    if drop_missing and complete.any():
        note(f"{int((~complete).sum())} of {len(frame)} rows have missing values and are left out")
        return complete
    if drop_missing:
        instead = f" Leave out columns in place of rows, such as with {_drop_option(columns)}." if columns else ""
        raise InvalidInputError(
            f"Every row of {source.name} has a missing value: --drop-missing would leave none.{instead}"
        )
    first = holding[0]
    many = int(counts[first])
    also = f", and so {'has' if len(holding) == 2 else 'have'} {listed(holding[1:])}" if len(holding) > 1 else ""
    steps = ["those rows out with --drop-missing"] if complete.any() else []
    if columns:
        steps.append(f"the column{'' if steps else ' out'} with {_drop_option(columns)}")
    step = f"Leave {', or '.join(steps)}." if steps else "Fill them in first."
    raise InvalidInputError(
        f"Column {first!r} has {many} missing value{'s' if many > 1 else ''} (NaN), the first in "
        f"{source.row(int(missing[first].to_numpy().argmax()))}{also}. "
        f"{step}"
    )


def numeric_columns(source: Source, frame: pd.DataFrame, *, may_drop: bool = True) -> None:
    """Check that every column holds finite numbers; ``may_drop`` says whether the command has ``--drop``.

    Raises
    ------
    InvalidInputError
        Text, dates or infinity in a column; names all such columns and, where that is possible, how to leave them out.
    """
    import numpy as np
    from pandas.api import types

    wrong = []
    for column in frame.columns:
        values = frame[column]
        if not (types.is_numeric_dtype(values) or types.is_bool_dtype(values)) or types.is_complex_dtype(values):
            wrong.append(column)
        elif types.is_float_dtype(values):
            infinite = np.isinf(values.to_numpy(dtype=float, na_value=math.nan))
            if infinite.any():
                or_drop = f", or leave the column out with {_drop_option([column])}" if may_drop else ""
                raise InvalidInputError(
                    f"Column {column!r} holds infinity, first in {source.row(int(infinite.argmax()))}. "
                    f"Replace it by a finite number{or_drop}."
                )
    if wrong:
        row, value = _first_text(frame[wrong[0]])
        also = f", and so {'does' if len(wrong) == 2 else 'do'} {listed(wrong[1:])}" if len(wrong) > 1 else ""
        needed = (
            f"Leave out what cannot be counted or measured: {_drop_option(wrong)}"
            if may_drop
            else "Numbers are needed there"
        )
        raise InvalidInputError(
            f"Column {wrong[0]!r} holds values that are not numbers, the first {value!r} in {source.row(row)}{also}. "
            f"{needed}."
        )


def _names(source: Source, given: Sequence[str], option: str) -> list[str]:
    names = []
    for value in given:
        # A name that holds a comma itself may be given whole.
        parts = [value] if value in source.frame.columns else [part.strip() for part in value.split(",")]
        names += [need_column(source.frame, part, option, source) for part in parts if part]
    return names


def _first_text(values: pd.Series) -> tuple[int, str]:
    """Row and value of the first entry that is neither a number nor missing."""
    import pandas as pd

    numbers = pd.to_numeric(values.astype("object"), errors="coerce")
    rows = (numbers.isna() & values.notna()).to_numpy()
    row = int(rows.argmax()) if rows.any() else 0
    shown = str(values.iloc[row])
    return row, shown if len(shown) <= 40 else shown[:37] + "..."


def _drop_option(columns: Sequence[str]) -> str:
    """The option to add, ready to be pasted into a shell."""
    import shlex

    if any("," in column for column in columns):
        return " ".join(f"--drop {shlex.quote(column)}" for column in columns)
    return f"--drop {shlex.quote(','.join(columns))}"
