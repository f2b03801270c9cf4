"""Kernels between two blocks of rows: scikit-learn's where it has them, sums over columns otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise as sk

from cutwise.core import Float64
from cutwise.table.convert import as_dense

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
