"""The columns of a saved model in a table that was read from a file."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cutwise.cli._files import Source
from cutwise.exceptions import ColumnMismatchError, InvalidInputError, ModelFileError, did_you_mean, listed

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from cutwise.estimators import TreeEstimator

__all__ = ["as_fitted", "other_columns", "read_model", "tested_columns"]


def read_model(path: str, file: str) -> TreeEstimator:
    """The model that a command answers from; ``file`` is the table that it is given beside.

    Raises
    ------
    ModelFileError
        ``path`` holds none; where ``file`` does, the two were swapped.
    """
    from cutwise import load_model

    try:
        return load_model(path)
    except ModelFileError as error:
        with suppress(ModelFileError):
            load_model(file)
            raise InvalidInputError(f"{file} is the model, and {path} the table. Give the model first.") from error
        raise


def tested_columns(model: TreeEstimator, source: Source) -> pd.DataFrame:
    """The columns that the model's tree asks about, in its order; no others are needed to place a row.

    Raises
    ------
    ColumnMismatchError
        One of them is not there, or the model knows its columns by position only and their number differs.
    """
    given = list(source.frame.columns)
    tested = _tested(model)
    names = getattr(model, "feature_names_in_", None)
    if names is None or not source.has_names:
        if len(given) != model.n_features_in_:
            raise ColumnMismatchError(
                f"{source.name} has {len(given)} columns, and the model was fitted on {model.n_features_in_}. "
                "Without names they are matched by position, so the number must be the same."
            )
        return source.frame.iloc[:, tested]
    needed = [names[i] for i in tested]
    missing = [name for name in needed if name not in given]
    if missing:
        free = [name for name in given if name not in names]
        raise ColumnMismatchError(
            f"{source.name} lacks {len(missing)} of the {len(needed)} columns that the model asks about: "
            f"{listed(missing)}.{did_you_mean(missing[0], free)} Its own columns are {listed(given, most=20)}."
        )
    return source.frame[needed]


def other_columns(model: TreeEstimator, source: Source) -> list[str]:
    """The names in the file of the model's further columns, as far as they are there and hold numbers."""
    from pandas.api import types

    given, tested = list(source.frame.columns), set(_tested(model))
    names = getattr(model, "feature_names_in_", given) if source.has_names else given
    found = [name for i, name in enumerate(names) if i not in tested and name in given]
    return [name for name in found if types.is_numeric_dtype(source.frame[name])]


def as_fitted(model: TreeEstimator, source: Source, rows: pd.DataFrame) -> pd.DataFrame | npt.NDArray[Any]:
    """Rows of some of the file's columns as the model takes them: under its own names, or each in its place."""
    import numpy as np

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        values = np.zeros((len(rows), model.n_features_in_))
        values[:, source.frame.columns.get_indexer(rows.columns)] = rows.to_numpy(dtype=np.float64)
        return values
    if not source.has_names:
        rows = rows.rename(columns=dict(zip(source.frame.columns, names, strict=True)))
    return rows[[name for name in names if name in rows.columns]]


def _tested(model: TreeEstimator) -> list[int]:
    feature = model.tree_.feature
    return sorted(set(feature[feature >= 0].tolist()))
