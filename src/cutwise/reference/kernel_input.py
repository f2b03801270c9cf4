"""Kernels as users give them: names, functions and parameters, checked and settled on the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from cutwise.core import Float64
from cutwise.exceptions import InvalidInputError, UnknownOptionError
from cutwise.table.convert import as_dense
from cutwise.table.intake import check_number
from cutwise.table.table import Columns, Table

from .kernels import FORMULAS, KERNELS, Constants, Kernel, KernelFunction


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
    shift = _column_moments(table, weights)[0] if formula.shiftable and not table.is_sparse else None
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
    ``InvalidInputError``: the columns' spread is beyond float64.
    """
    mean, variance = _column_moments(table, weights)
    if kernel == "laplacian":
        spread = float(np.sqrt(variance).sum())
    elif kernel == "chi2":
        spread = float((variance / np.where(mean > 0, mean, 1.0)).sum())
    else:
        spread = float(variance.sum())
    if not np.isfinite(spread):
        raise InvalidInputError(
            "The spread of the columns is beyond float64, so there is no gamma to suit it. "
            "Scale the columns, or divide X by a constant."
        )
    return 1.0 / spread if spread > 0 and np.isfinite(1.0 / spread) else 1.0


def _column_moments(table: Table, weights: Float64 | None) -> tuple[Float64, Float64]:
    """Weighted mean and variance of every column; infinite or nan where they are beyond float64."""
    if isinstance(table.values, sparse.csr_array):
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
    try:
        values = np.asarray(function(rows, others), dtype=np.float64)
        if values.shape == (2, n_others):
            return Kernel("callable", constants, function, in_blocks=True)
        failure: Exception | None = None
    except Exception as error:  # whatever a function of two rows makes of two arrays
        failure = error
    try:
        value = np.asarray(function(rows[0], others[0]), dtype=np.float64)
    except Exception as error:
        raise InvalidInputError(
            f"The kernel function failed: {type(failure or error).__name__}: {failure or error}. It must take two "
            "arrays of rows, of shapes (n, d) and (m, d), and give one of shape (n, m); or take two rows and give one "
            "number."
        ) from (failure or error)
    if value.size != 1:
        raise InvalidInputError(
            f"The kernel function gave an array of shape {value.shape} for two rows. It must take two arrays of rows, "
            "of shapes (n, d) and (m, d), and give one of shape (n, m); or take two rows and give one number."
        )
    return Kernel("callable", constants, function, in_blocks=False)
