"""Sample weights: one finite, non-negative number a row."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError, NotFiniteError, NotNumericError

from .objects import find_offender, to_numbers
from .vectors import as_vector

__all__ = ["read_weights"]


def read_weights(sample_weight: Any, n_rows: int, *, what: str = "sample_weight") -> npt.NDArray[np.float64] | None:
    """Checks sample weights; None stands for every weight 1.

    Parameters
    ----------
    sample_weight : None, number, or array-like or series of shape (n_rows,)
        A number is the weight of every row.
    n_rows : int
        How many weights are due.
    what : str
        The argument's name, for messages.

    Returns
    -------
    weights : None or ndarray of shape (n_rows,), float64, read-only
        The caller's memory where it is a contiguous float64 array. None when no weights were given, or a single 1.

    Raises
    ------
    InvalidInputError
        Another shape, a negative weight (names the row), no positive weight, a sum beyond float64.
    NotFiniteError
        A weight is missing or infinite; names the row.
    NotNumericError
        A weight is no number.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, (Real, np.bool_)):
        values: npt.NDArray[np.generic] = np.full(n_rows, sample_weight, dtype=np.float64)
    else:
        values = as_vector(sample_weight, what=what)
    if values.ndim != 1:
        raise InvalidInputError(
            f"Sample weights must be 1D array or scalar, got {values.ndim}D array. Expected either a scalar value or "
            f"a 1D array of length {n_rows}."
        )
    if len(values) != n_rows:
        raise InvalidInputError(
            f"{what}.shape == {values.shape}, expected ({n_rows},)! Give one weight a row: X has {n_rows} rows."
        )
    if values.dtype.kind not in "fiub":
        items = values.tolist()
        offender = find_offender(items)
        if offender is not None:
            raise NotNumericError(
                f"{what} must hold numbers, but row {offender.row} (rows are counted from 0) holds {offender.value!r}."
            )
        values = to_numbers(items)
    weights = np.ascontiguousarray(values, dtype=np.float64).view()
    weights.flags.writeable = False
    _check_weights(weights, what)
    return None if isinstance(sample_weight, Real) and sample_weight == 1 else weights


def _check_weights(weights: npt.NDArray[np.float64], what: str) -> None:
    """Finite, not negative, not all zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(weights.sum())
    if not np.isfinite(total):
        wrong = np.flatnonzero(~np.isfinite(weights))
        if len(wrong) == 0:
            raise InvalidInputError(f"The sum of {what} is beyond float64. Divide all weights by their largest.")
        kind = "NaN" if np.isnan(weights[wrong[0]]) else "infinity"
        raise NotFiniteError(
            f"Input {what} contains {kind}: row {wrong[0]} (rows are counted from 0). Weights are finite numbers >= 0; "
            "weight 0 leaves a row out."
        )
    if weights.min(initial=0.0) < 0:
        row = int(np.flatnonzero(weights < 0)[0])
        raise InvalidInputError(
            f"Negative values in data passed to `{what}`: {weights[row].item()!r} in row {row} (rows are counted from "
            "0). Weights are finite numbers >= 0; weight 0 leaves a row out."
        )
    if total == 0:
        raise InvalidInputError(f"Sample weights must contain at least one non-zero number: every {what} is zero.")
