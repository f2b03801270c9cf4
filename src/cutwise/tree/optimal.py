"""The optimal cut into two clusters: the search that needs no reference clustering."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Matrix, ObjectiveName


def optimal_cut(
    matrix: Matrix,
    objective: ObjectiveName,
    weights: npt.NDArray[np.int64] | None = None,
    *,
    columns: Matrix | None = None,
    n_jobs: int = 1,
) -> tuple[int, float, float] | None:
    """The single cut of a table that costs least when each side is served by its own mean, or median.

    ``matrix``: the rows where costs are measured, dense. ``weights`` (n_rows,) int64: positive; a weight is a repeated
    row exactly. ``columns``: the same rows in the columns that may be cut, dense; ``matrix`` itself when left out.
    ``n_jobs``: threads, over columns. The cut depends neither on it nor on the order of the rows. Returns ``cut``: the
    column, the largest value on its left side and the smallest on its right; None where all rows are equal in the
    columns that may be cut. Of cuts that cost the same the lowest column's, then the lowest; costs are compared
    exactly, as sums of the float64 values (for a million rows of 20 columns to 140 bits below the largest value of a
    column that varies), so rounding decides nothing.

    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithms 2 and 3 in Appendix D.
    """
    if objective == "kmedians":
        return core.best_medians_cut(matrix, weights, columns, n_jobs)
    feature, left_max, right_min, left, sums, bits = core.best_means_cuts(matrix, weights, columns, n_jobs)
    if len(feature) == 0:
        return None
    best = 0
    if len(feature) > 1:
        total = matrix.n_rows if weights is None else int(weights.sum())
        gains = _gains(sums, bits, left, total)
        best = max(range(len(gains)), key=gains.__getitem__)  # the first of equals
    return int(feature[best]), float(left_max[best]), float(right_min[best])


def _gains(sums: npt.NDArray[np.int64], bits: int, left: npt.NDArray[np.int64], total: int) -> list[Fraction]:
    """What cuts lower the 2-means cost by, exactly, up to a factor that all share.

    With L the sum of the rows on the left, T that of all rows, l and t their weights: |t L - l T|^2 / (l (t - l)).
    """
    digits = np.array([1 << bits * place for place in reversed(range(sums.shape[2]))], dtype=object)
    exact = (sums.astype(object) * digits).sum(axis=2)
    weight = left.astype(object)
    squares = ((exact[:-1] * total - exact[-1] * weight[:, None]) ** 2).sum(axis=1)
    return [Fraction(square, w * (total - w)) for square, w in zip(squares.tolist(), weight.tolist(), strict=True)]
