"""The columns of a saved model in a table that was read from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutwise.cli._files import Source
from cutwise.exceptions import ColumnMismatchError, did_you_mean, listed

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from cutwise.estimators._base import TreeEstimator

__all__ = ["as_fitted", "columns_of"]


def columns_of(model: TreeEstimator, source: Source) -> pd.DataFrame:
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


def as_fitted(model: TreeEstimator, table: pd.DataFrame) -> pd.DataFrame | npt.NDArray[Any]:
    """The table with names exactly when the model has some: by position, both are known to agree."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return table.to_numpy()
    return table.set_axis(list(names), axis=1)
