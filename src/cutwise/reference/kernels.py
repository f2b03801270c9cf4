"""Kernels: their formulas between two blocks of rows, and one with its parameters settled, computed block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise as sk

from cutwise.core import Float64
from cutwise.exceptions import InvalidInputError
from cutwise.table.convert import as_dense

from .resources import each_block

Rows = Any
"""float64 rows: an ndarray, or a csr_array where the table is sparse."""


@dataclass(frozen=True)
class Constants:
    """The numbers in the kernels' formulas; each formula reads its own."""

    gamma: float
    degree: float
    coef0: float
    beta: float


@dataclass(frozen=True)
class Formula:
    """One kernel.

    ``between``: ``between(A, B, constants)``: kernel of every row of A with every row of B, ndarray of shape (len(A),
    len(B)). ``diagonal``: ``diagonal(A, constants)``: kernel of every row with itself. ``prepare``: done once to all
    rows before: what both of the others are given. ``nonnegative``: defined for values of at least 0 only.
    ``shiftable``: distances in feature space stay the same when all rows are shifted by one vector, so that an offset
    common to all rows, which would take digits away, can be removed. ``has_unit_diagonal``: from 0 to 1, and 1 between
    a row and itself alone.
    """

    between: Callable[[Rows, Rows, Constants], Float64]
    diagonal: Callable[[Rows, Constants], Float64]
    prepare: Callable[[Rows, Constants], Rows] | None = None
    nonnegative: bool = False
    shiftable: bool = False
    uses_gamma: bool = False
    has_unit_diagonal: bool = False


def _row_sums(A: Rows) -> Float64:
    return np.asarray(A.sum(axis=1), dtype=np.float64).ravel()


def _square_norms(A: Rows) -> Float64:
    if sparse.issparse(A):
        return _row_sums(A.multiply(A))
    return np.asarray(np.einsum("ij,ij->i", A, A))


def _ones(A: Rows, c: Constants) -> Float64:
    return np.ones(A.shape[0])


def _linear(A: Rows, B: Rows, c: Constants) -> Float64:
    return as_dense(A @ B.T)


def _rbf(A: Rows, B: Rows, c: Constants) -> Float64:
    return np.asarray(sk.rbf_kernel(A, B, gamma=c.gamma))


def _laplacian(A: Rows, B: Rows, c: Constants) -> Float64:
    return np.asarray(sk.laplacian_kernel(A, B, gamma=c.gamma))


def _polynomial(A: Rows, B: Rows, c: Constants) -> Float64:
    return np.asarray((c.gamma * _linear(A, B, c) + c.coef0) ** c.degree)


def _half_of_sums_minus(distance: Float64, A: Rows, B: Rows) -> Float64:
    """``(sum(a) + sum(b) - distance) / 2``, in place of ``distance``."""
    np.subtract(_row_sums(A)[:, None] + _row_sums(B), distance, out=distance)
    distance *= 0.5
    return distance


def _additive_chi2(A: Rows, B: Rows, c: Constants) -> Float64:
    # scikit-learn's kernel of this name is minus the sum of (a - b)^2 / (a + b), a distance with its sign turned.
    # As 2ab / (a + b) = (a + b - (a - b)^2 / (a + b)) / 2, both see 0/0 as 0.
    return _half_of_sums_minus(-sk.additive_chi2_kernel(as_dense(A), as_dense(B)), A, B)


def _chi2(A: Rows, B: Rows, c: Constants) -> Float64:
    return np.asarray(sk.chi2_kernel(as_dense(A), as_dense(B), gamma=c.gamma))


def _intersection(A: Rows, B: Rows, c: Constants) -> Float64:
    # min(a, b) = (a + b - |a - b|) / 2.
    return _half_of_sums_minus(np.asarray(sk.manhattan_distances(A, B)), A, B)


def _powers(A: Rows, c: Constants) -> Rows:
    return A if c.beta == 1 else (A.power(c.beta) if sparse.issparse(A) else A**c.beta)


FORMULAS: dict[str, Formula] = {
    "rbf": Formula(_rbf, _ones, shiftable=True, uses_gamma=True, has_unit_diagonal=True),
    "laplacian": Formula(_laplacian, _ones, uses_gamma=True, has_unit_diagonal=True),
    "additive_chi2": Formula(_additive_chi2, lambda A, c: _row_sums(A), nonnegative=True),
    "chi2": Formula(_chi2, _ones, nonnegative=True, uses_gamma=True, has_unit_diagonal=True),
    "hellinger": Formula(_linear, lambda A, c: _square_norms(A), lambda A, c: np.sqrt(A), nonnegative=True),
    "histogram_intersection": Formula(_intersection, lambda A, c: _row_sums(A), _powers, nonnegative=True),
    "polynomial": Formula(
        _polynomial, lambda A, c: (c.gamma * _square_norms(A) + c.coef0) ** c.degree, uses_gamma=True
    ),
    "linear": Formula(_linear, lambda A, c: _square_norms(A), shiftable=True),
}
"""By name:

========================== ========================================================
``rbf``                    exp(-gamma |a - b|^2), the Gaussian kernel
``laplacian``              exp(-gamma |a - b|_1)
``additive_chi2``          sum of 2 a b / (a + b), with 0/0 = 0
``chi2``                   exp(-gamma * sum of (a - b)^2 / (a + b)), with 0/0 = 0
``hellinger``              sum of sqrt(a b)
``histogram_intersection`` sum of min(a^beta, b^beta)
``polynomial``             (gamma a.b + coef0)^degree
``linear``                 a.b
========================== ========================================================
"""


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
