"""Finding NaN and infinity: one cheap pass where there is none, and the exact place where there is one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.exceptions import NotFiniteError

from .columns import Columns

__all__ = ["check_finite", "is_all_finite"]

# Values looked at together: 256 KiB to 512 KiB, so that a second look at a block comes from the cache.
_BLOCK = 1 << 16


def is_all_finite(values: npt.NDArray[np.generic]) -> bool:
    """Whether no value is NaN or infinite; any number of dimensions and any strides.

    A block's sum is finite only when all its values are, so one addition a value settles nearly every block. Huge
    values can overflow the sum; such a block is looked at value by value.
    """
    if values.dtype.kind != "f":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return all(
            bool(np.isfinite(np.add.reduce(b, axis=None))) or bool(np.isfinite(b).all()) for b in _blocks(values)
        )


def check_finite(values: npt.NDArray[np.generic] | sparse.csr_array, columns: Columns, *, what: str = "X") -> None:
    """Raises the error that names the column and the first row of a missing or infinite value.

    Missing values are reported before infinite ones, and the first column of the table before the others.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns) or csr_array of that shape
    columns : Columns
    what : str
        The argument's name, for the message.

    Raises
    ------
    NotFiniteError
    """
    if is_all_finite(values.data if isinstance(values, sparse.csr_array) else values):
        return
    for missing in (True, False):
        rows, cols = _places(values, missing)
        if len(cols):
            column = int(cols.min())
            raise NotFiniteError.in_column(
                what=what,
                column=columns.describe(column),
                row=int(rows[cols == column].min()),
                missing=missing,
                n_values=len(cols),
                n_columns=len(np.unique(cols)),
            )


def _places(
    values: npt.NDArray[np.generic] | sparse.csr_array, missing: bool
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns of the missing (or else the infinite) values."""
    wanted = np.isnan if missing else np.isinf
    if isinstance(values, sparse.csr_array):
        found = np.flatnonzero(wanted(values.data))
        return np.searchsorted(values.indptr, found, side="right") - 1, values.indices[found].astype(np.intp)
    step = max(1, _BLOCK // max(1, values.shape[1]))
    rows, cols = [], []
    for start in range(0, values.shape[0], step):
        r, c = np.nonzero(wanted(values[start : start + step]))
        rows.append(r + start)
        cols.append(c)
    return np.concatenate(rows), np.concatenate(cols)


def _blocks(values: npt.NDArray[np.generic]) -> Iterator[npt.NDArray[np.generic]]:
    """The array in views of about ``_BLOCK`` values, along its longest stride."""
    if values.ndim == 1 or values.flags.c_contiguous or values.flags.f_contiguous:
        flat = values.ravel(order="K")
        for start in range(0, flat.size, _BLOCK):
            yield flat[start : start + _BLOCK]
        return
    if abs(values.strides[0]) < abs(values.strides[1]):
        values = values.T
    step = max(1, _BLOCK // max(1, values.shape[1]))
    for start in range(0, values.shape[0], step):
        yield values[start : start + step]
