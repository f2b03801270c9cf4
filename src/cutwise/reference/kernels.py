"""Kernels: their formulas between two blocks of rows, what users give checked and settled, and values by blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cutwise.core import Float64
from cutwise.exceptions import InvalidInputError, UnknownOptionError
from cutwise.table.convert import as_dense
from cutwise.table.intake import check_number
from cutwise.table.table import Columns, Table

from .objective import KMEDIANS, check_distance
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


def _pairwise(name: str, *given: Any, **constants: float) -> Float64:
    """What a function of scikit-learn says, which takes long to import: the names of kernels stand in help texts."""
    from sklearn.metrics import pairwise

    return np.asarray(getattr(pairwise, name)(*given, **constants))


def _rbf(A: Rows, B: Rows, c: Constants) -> Float64:
    return _pairwise("rbf_kernel", A, B, gamma=c.gamma)


def _laplacian(A: Rows, B: Rows, c: Constants) -> Float64:
    return _pairwise("laplacian_kernel", A, B, gamma=c.gamma)


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
    return _half_of_sums_minus(-_pairwise("additive_chi2_kernel", _writable(A), _writable(B)), A, B)


def _writable(A: Rows) -> Float64:
    """Dense rows that may be written to: scikit-learn's chi-squared kernels take no others, and frames give others."""
    return np.require(as_dense(A), requirements="W")


def _chi2(A: Rows, B: Rows, c: Constants) -> Float64:
    return _pairwise("chi2_kernel", _writable(A), _writable(B), gamma=c.gamma)


def _intersection(A: Rows, B: Rows, c: Constants) -> Float64:
    # min(a, b) = (a + b - |a - b|) / 2.
    return _half_of_sums_minus(_pairwise("manhattan_distances", A, B), A, B)


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


def read_kernel(
    kernel: Any,
    table: Table,
    weights: Float64 | None = None,
    *,
    gamma: Any = None,
    degree: Any = 3,
    coef0: Any = 1,
    beta: Any = 1,
) -> Kernel:
    """Check a kernel's parameters, and settle those that depend on the rows.

    ``kernel``: one of ``KERNELS``. A callable takes two arrays of rows, of shapes (n, d) and (m, d), and gives one of
    shape (n, m), or takes two rows and gives a number. ``table``: the rows; for ``"precomputed"`` the kernel matrix.
    ``weights`` (n,) float64. ``gamma``, ``degree``, ``coef0``, ``beta``: see ``FORMULAS``; ``gamma=None``: see
    ``default_gamma``. Raises ``UnknownOptionError``: another name. Raises ``InvalidInputError``: a parameter out of
    range, a value outside the kernel's domain, or a callable that gives no kernel values.
    """
    if not callable(kernel) and not (isinstance(kernel, str) and kernel in KERNELS):
        raise UnknownOptionError.of("kernel", kernel, KERNELS)
    if gamma is not None:
        gamma = check_number("gamma", gamma, minimum=0, above=True)
    constants = Constants(
        gamma=1.0 if gamma is None else gamma,
        degree=check_number("degree", degree, minimum=0, above=True),
        coef0=check_number("coef0", coef0, minimum=0),
        beta=check_number("beta", beta, minimum=0, above=True),
    )
    if callable(kernel):
        return _read_callable(kernel, constants, table)
    formula = FORMULAS.get(kernel)
    if formula is None:
        return Kernel(kernel, constants)
    check_domain(kernel, table.values, table.columns)
    if gamma is None and formula.uses_gamma:
        constants = Constants(default_gamma(kernel, table, weights), constants.degree, constants.coef0, constants.beta)
    if kernel == "polynomial" and constants.degree != int(constants.degree):
        raise InvalidInputError(
            f"degree={degree!r} is not a whole number, and fractional powers of a polynomial kernel are not defined "
            "for all rows. Use an integer >= 1."
        )
    shift = None
    if formula.shiftable and not table.is_sparse:
        one = np.zeros(table.n_rows, dtype=np.int32)
        shift = KMEDIANS.centers(table.matrix, one, 1, weights, 1)[0][0]  # near most rows even if some are far away
    return Kernel(kernel, constants, shift=shift)


def needs_nonnegative(kernel: Any) -> bool:
    """Whether a kernel is defined for values of at least 0 only."""
    return isinstance(kernel, str) and kernel in FORMULAS and FORMULAS[kernel].nonnegative


def check_domain(kernel: str, values: Any, columns: Columns, *, what: str = "X") -> None:
    """Refuse rows on which the kernel is not defined.

    ``kernel``: a name; callables and precomputed kernels are defined everywhere. ``values`` (n, d). ``what``: what
    messages call the rows. Raises ``InvalidInputError``: a negative value, for a kernel of histograms; names the first
    column that has one and its first row.
    """
    if not needs_nonnegative(kernel) or values.shape[0] == 0:
        return
    lowest = as_dense(values.min(axis=0)).ravel()
    if not (lowest < 0).any():
        return
    column = int(np.argmax(lowest < 0))
    entries = as_dense(values[:, [column]]).ravel()
    row = int(np.argmax(entries < 0))
    raise InvalidInputError(
        f"Negative values in data passed to kernel={kernel!r}, which is defined for values of at least 0: "
        f"{columns.describe(column)} of {what} holds {entries[row]:g} in row {row} (rows are counted from 0).\n"
        "Leave the column out or shift it to start at 0; or use a kernel for any numbers, such as 'rbf' or 'laplacian'."
    )


def default_gamma(kernel: str, table: Table, weights: Float64 | None = None) -> float:
    """The gamma that makes a typical distance between rows a distance of about one.

    ``weights`` (n,) float64. Returns ``gamma``: ``1 / (sum of the columns' variances)`` for ``"rbf"`` and
    ``"polynomial"``: scikit-learn's ``"scale"``, but with each column's own variance, so that columns of different
    means do not lower it. ``1 / (sum of their standard deviations)`` for ``"laplacian"``, ``1 / (sum of variance /
    mean)`` for ``"chi2"``: the same for their distances. 1 when all rows are equal. Labels play no part in it. Raises
    ``InvalidInputError``: a spread beyond float64.
    """
    mean, variance = _column_moments(table, weights)
    if kernel == "laplacian":
        spread = float(np.sqrt(variance).sum())
    elif kernel == "chi2":
        spread = float((variance / np.where(mean > 0, mean, 1.0)).sum())
    else:
        spread = float(variance.sum())
    check_distance(spread)
    return 1.0 / spread if spread > 0 and np.isfinite(1.0 / spread) else 1.0


def _column_moments(table: Table, weights: Float64 | None) -> tuple[Float64, Float64]:
    """Weighted mean and variance of every column; infinite or nan where they are beyond float64."""
    if isinstance(table.values, sparse.csr_array):
        from sklearn.utils.sparsefuncs import mean_variance_axis

        values = table.values.astype(np.float64)
        mean, variance = mean_variance_axis(sparse.csr_matrix(values), axis=0, weights=weights)
        return np.asarray(mean), np.asarray(variance)
    values = table.values.astype(np.float64, copy=False)
    w = np.ones(len(values)) if weights is None else weights
    total = w.sum()
    # One column after the other: no copy of a large table, and no overflow where one column is huge.
    first = values[0].copy()
    mean, variance = np.empty(values.shape[1]), np.empty(values.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for j in range(values.shape[1]):
            column = values[:, j] - first[j]
            offset = float(column @ w) / total
            mean[j], variance[j] = first[j] + offset, float((column - offset) ** 2 @ w) / total
    return mean, variance


def _read_callable(function: KernelFunction, constants: Constants, table: Table) -> Kernel:
    """Find out which of the two forms a callable has, on rows too many or too few to be taken for columns."""
    n_others = 3 if table.n_columns != 3 else 4
    sample = as_dense(table.values[np.arange(2 + n_others) % table.n_rows]).astype(np.float64)
    rows, others = sample[:2], sample[2:]
    needs = (
        "It must take two arrays of rows, of shapes (n, d) and (m, d), and give one of shape (n, m); or take two rows "
        "and give one number."
    )
    failure: Exception | None = None
    try:
        values = np.asarray(function(rows, others), dtype=np.float64)
        if values.shape == (2, n_others):
            return Kernel("callable", constants, function, in_blocks=True)
    except Exception as error:  # whatever a function of two rows makes of two arrays
        failure = error
    try:
        value = np.asarray(function(rows[0], others[0]), dtype=np.float64)
    except Exception as error:
        cause = failure or error
        raise InvalidInputError(f"The kernel function failed: {type(cause).__name__}: {cause}. {needs}") from cause
    if value.size != 1:
        raise InvalidInputError(f"The kernel function gave an array of shape {value.shape} for two rows. {needs}")
    return Kernel("callable", constants, function, in_blocks=False)
