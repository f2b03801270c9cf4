"""The optimal cut into two clusters: the search that needs no reference clustering."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int64, ObjectiveName
from cutwise.table.table import as_matrix


def optimal_cut(
    values: npt.NDArray[Any],
    objective: ObjectiveName,
    weights: Int64 | None = None,
    *,
    columns: npt.NDArray[Any] | None = None,
    n_jobs: int = 1,
) -> tuple[int, float, float] | None:
    """The cheapest single cut of a table, if each side has its own mean or median as center.

    ``values``: the rows in the metric space, dense. ``weights`` (n_rows,) int64: positive; a weight equals a repeated
    row exactly. ``columns``: the same rows in the columns that may be cut, dense; ``values`` itself when left out.
    ``n_jobs``: threads, over columns. The cut depends neither on it nor on the order of the rows. Returns ``cut``: the
    column, the largest value on its left side and the smallest on its right; None if all rows are equal in the
    columns that may be cut. Among cuts of equal cost the one of the lowest column, then the lowest; costs are compared
    exactly, so rounding decides nothing.

    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithms 2 and 3 in Appendix D.
    """
    find = core.near_best_medians_cuts if objective == "kmedians" else core.near_best_means_cuts
    matrix, apart = as_matrix(values), None if columns is None else as_matrix(columns)
    feature, left_max, right_min = (found.tolist() for found in find(matrix, weights, apart, n_jobs))
    cuts = list(zip(feature, left_max, right_min, strict=True))
    if len(cuts) < 2:
        return cuts[0] if cuts else None
    table = values if columns is None else columns
    w = np.ones(len(values), dtype=np.int64) if weights is None else weights
    exact = _ExactRows(np.asarray(values, dtype=np.float64), w)
    cost_of: dict[bytes, Fraction] = {}  # many columns may give the same sides
    costs = []
    for f, below, _ in cuts:
        left = np.asarray(table[:, f], dtype=np.float64) <= below
        sides = left.tobytes()
        if sides not in cost_of:
            cost_of[sides] = exact.median_cost(left) if objective == "kmedians" else -exact.mean_gain(left)
        costs.append(cost_of[sides])
    return cuts[costs.index(min(costs))]  # the first of equals


class _ExactRows:
    """Rows as exact integers: digits of float64 values in a base, a power of two, that all columns share."""

    def __init__(self, values: Float64, weights: Int64) -> None:
        self._values, self._weights, self._total = values, weights, int(weights.sum())
        # Twice the weighted sums of signed digits stay below 2**63. Constant columns do not matter.
        self._bits = min(50, 60 - self._total.bit_length())
        varying = np.where(values.min(axis=0) < values.max(axis=0), values, 0.0)
        rest = np.ldexp(varying, self._bits - np.frexp(np.abs(varying).max())[1])
        self._digits: list[Int64] = []
        while rest.any():
            whole = np.rint(rest)
            self._digits.append(whole.astype(np.int64))
            rest = np.ldexp(rest - whole, self._bits)

    def _sums(self, coefficients: Int64) -> npt.NDArray[np.object_]:
        """Exact integer sum of every column's values times coefficients of shape (n, d) or (n, 1)."""
        sums = np.zeros(self._values.shape[1], dtype=object)
        for digit in self._digits:
            sums = (sums << self._bits) + (coefficients * digit).sum(axis=0).astype(object)
        return sums

    def mean_gain(self, left: npt.NDArray[np.bool_]) -> Fraction:
        """Decrease of the 2-means cost by a cut, up to a factor common to all cuts.

        With sums L of the rows on the left and T of all rows, and their weights l and t: |t L - l T|^2 / (l (t - l)).
        """
        own, t = int(self._weights[left].sum()), self._total
        of_left, of_all = self._sums((self._weights * left)[:, None]), self._sums(self._weights[:, None])
        return Fraction(int(((t * of_left - own * of_all) ** 2).sum()), own * (t - own))

    def median_cost(self, left: npt.NDArray[np.bool_]) -> Fraction:
        """Sum of the l1 distances to the medians of both sides, up to a factor common to all cuts."""
        coefficients = np.empty(self._values.shape, dtype=np.int64)
        for rows in (np.flatnonzero(left), np.flatnonzero(~left)):
            for j, x in enumerate(self._values[rows].T):
                order = np.argsort(x, kind="stable")
                running = np.cumsum(self._weights[rows[order]])
                median = order[np.searchsorted(2 * running, running[-1])]
                of_column = self._weights[rows] * np.sign(x - x[median]).astype(np.int64)
                of_column[median] -= of_column.sum()
                coefficients[rows, j] = of_column
        return Fraction(int(self._sums(coefficients).sum()))
