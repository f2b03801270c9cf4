"""A kernel with its parameters settled, and its values between rows, block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cutwise.core import Float64
from cutwise.exceptions import InvalidInputError
from cutwise.table.convert import as_dense

from .pairwise import FORMULAS, Constants, Formula
from .threads import each_block

KernelFunction = Callable[[Any, Any], Any]

PRECOMPUTED = "precomputed"
KERNELS = (*FORMULAS, PRECOMPUTED)
"""Every kernel that has a name."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel whose parameters are settled.

    ``name``: one of ``KERNELS``, or ``"callable"``. ``function``: for ``"callable"``. ``in_blocks``: ``function`` takes
    two arrays of rows, and not two rows. ``shift`` (d,) float64: taken off every row, where that changes no distance in
    feature space.
    """

    name: str
    constants: Constants
    function: KernelFunction | None = None
    in_blocks: bool = False
    shift: Float64 | None = None

    @property
    def formula(self) -> Formula | None:
        """What is computed; None for callables and precomputed kernels."""
        return FORMULAS.get(self.name)

    def prepare(self, values: Any) -> Any:
        """Rows as the other methods want them: float64, with all that is done to single rows done.

        ``values`` (n, d). Returns ``rows`` (n, d) float64: a precomputed kernel's rows are its entries: shape (n,
        number of training rows).
        """
        rows = values.astype(np.float64, copy=False)
        rows = _short_indices(rows) if sparse.issparse(rows) else np.ascontiguousarray(rows)
        if self.shift is not None:
            rows = rows - self.shift
        formula = self.formula
        return rows if formula is None or formula.prepare is None else formula.prepare(rows, self.constants)

    def diagonal(self, rows: Any) -> Float64:
        """Kernel of every prepared row with itself: ndarray of shape (n,)."""
        if self.formula is not None:
            return self.formula.diagonal(rows, self.constants)
        assert self.function is not None, "a precomputed kernel's diagonal is in its matrix"
        if not self.in_blocks:
            return np.array([self._of_pair(row, row) for row in as_dense(rows)])
        step = 32
        parts = [rows[start : start + step] for start in range(0, rows.shape[0], step)]
        return np.concatenate([np.diagonal(self._call(part, part)) for part in parts])

    def between(self, rows: Any, others: Any, n_jobs: int = 1) -> Float64:
        """Kernel of every prepared row with each of the others: ndarray of shape (n, m), computed in blocks of rows."""
        out = np.empty((rows.shape[0], others.shape[0]))

        def fill(part: slice) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # said below, with the rows
                block = self._block(rows[part], others)
                total = block.sum()
            if not np.isfinite(total) and not np.isfinite(block).all():
                raise _not_finite(self.name, block, part.start)
            out[part] = block

        each_block(fill, rows.shape[0], others.shape[0], n_jobs)
        return out

    def _block(self, rows: Any, others: Any) -> Float64:
        if self.formula is not None:
            return self.formula.between(rows, others, self.constants)
        if self.in_blocks:
            return self._call(rows, others)
        return np.array([[self._of_pair(a, b) for b in as_dense(others)] for a in as_dense(rows)])

    def _of_pair(self, row: Any, other: Any) -> float:
        assert self.function is not None, "a precomputed kernel has no values between other rows"
        # Also an array of one number, which scikit-learn's own kernels give of two rows; None becomes nan.
        value: float = np.asarray(self.function(row, other), dtype=np.float64).item()
        return value

    def _call(self, rows: Any, others: Any) -> Float64:
        assert self.function is not None
        return _check_values(self.function(rows, others), rows.shape[0], others.shape[0])


def _short_indices(rows: sparse.csr_array) -> sparse.csr_array:
    """The same rows with 32-bit indices, which are all that scikit-learn's distances read."""
    if rows.indices.dtype == np.int32 or max(rows.nnz, rows.shape[1]) >= 2**31:
        return rows
    parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=rows.shape)


def _check_values(values: Any, n_rows: int, n_others: int) -> Float64:
    array = np.asarray(as_dense(values), dtype=np.float64)
    if array.shape != (n_rows, n_others):
        raise InvalidInputError(
            f"The kernel function gave an array of shape {array.shape} for {n_rows} and {n_others} rows. "
            f"It must be of shape ({n_rows}, {n_others})."
        )
    return array


def _not_finite(name: str, block: Float64, start: int) -> InvalidInputError:
    row, other = np.argwhere(~np.isfinite(block))[0]
    what = "The kernel function" if name == "callable" else f"kernel={name!r}"
    return InvalidInputError(
        f"{what} is {block[row, other]} between rows {start + row} and {other} (rows are counted from 0), and a kernel "
        "must be finite. Scale the columns, or choose another kernel."
    )
