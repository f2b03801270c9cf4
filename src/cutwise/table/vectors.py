"""One value a row: labels and weights of any container as a one-dimensional array."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.exceptions import InvalidInputError, UnsupportedInputError

__all__ = ["as_vector"]


def as_vector(values: Any, *, what: str) -> npt.NDArray[np.generic]:
    """An array-like or a series as an ndarray, whatever its shape; nulls stay recognizable in it.

    Parameters
    ----------
    values : array-like, series or one-column data frame
        Text in lists is kept as Python objects, so that numbers beside it stay numbers.
    what : str
        The argument's name, for messages.

    Returns
    -------
    vector : ndarray
        A series with nulls comes as objects (None) or, when numeric, as float64 (NaN); a one-column frame has shape
        (n, 1).

    Raises
    ------
    InvalidInputError
        Lists no array can be made of.
    UnsupportedInputError
        A sparse or lazy container.
    """
    if sparse.issparse(values):
        raise UnsupportedInputError(
            f"{what} must be one value a row, not a sparse matrix. Use {what}.toarray().ravel()."
        )
    if nw.dependencies.is_into_series(values):
        return _from_series(nw.from_native(values, series_only=True))
    if nw.dependencies.is_into_dataframe(values):
        columns = [
            _from_series(series) for series in nw.from_native(values, eager_only=True).to_dict(as_series=True).values()
        ]
        return np.column_stack(columns) if columns else np.empty((len(values), 0))
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        return np.ma.filled(values.astype(object), np.nan)
    try:
        vector = np.asarray(values)
        if vector.dtype.kind in "US" and not isinstance(values, np.ndarray):
            vector = np.asarray(values, dtype=object)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{what} cannot be read as one value a row: {error}") from error
    return vector


def _from_series(series: nw.Series[Any]) -> npt.NDArray[np.generic]:
    """A column as an array; a null is None, or NaN among floats."""
    if series.null_count() == 0:
        return series.to_numpy()
    if series.dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy()
    return np.array([*series.to_list(), None], dtype=object)[:-1]
