"""The optimal cut into two clusters, typed: the searches that need no reference clustering."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from ._core import Matrix
from .kernels import ObjectiveName

__all__ = ["OptimalCut", "optimal_cut"]


class OptimalCut(NamedTuple):
    """A cut between two neighboring values of a column.

    Attributes
    ----------
    feature : int
    left_max, right_min : float
        The largest value on the left side and the smallest on the right.
    """

    feature: int
    left_max: float
    right_min: float


def optimal_cut(
    matrix: Matrix,
    objective: ObjectiveName,
    weights: npt.NDArray[np.int64] | None = None,
    *,
    columns: Matrix | None = None,
    n_jobs: int = 1,
) -> OptimalCut | None:
    """The single cut of a table that costs least when each side is served by its own mean, or median.

    Parameters
    ----------
    matrix : Matrix
        The rows where costs are measured: dense, of finite values; 1 to 2**31 - 1 rows, at least one column.
    objective : {"kmeans", "kmedians"}
        Squared Euclidean distances to means, or l1 distances to coordinate-wise medians.
    weights : ndarray of shape (n_rows,), int64, optional
        Positive; a weight is a repeated row exactly.
    columns : Matrix, optional
        The same rows in the columns that may be cut, dense; ``matrix`` itself when left out.
    n_jobs : int, default 1
        Threads, over columns. The cut depends neither on it nor on the order of the rows.

    Returns
    -------
    cut : OptimalCut or None
        None where all rows are equal in the columns that may be cut. Of cuts that cost the same the lowest column's,
        then the lowest; costs are compared exactly, as sums of the float64 values (for a million rows of 20 columns to
        140 bits below the largest value of a column that varies), so rounding decides nothing.

    Raises
    ------
    ValueError
        A sparse matrix, no rows, or weights that do not fit or are not positive.

    Notes
    -----
    With n rows, d columns where costs are measured and c that may be cut, O(n d c + n (c + d) log n) time for k-means
    and, for equal weights, for k-medians; k-medians takes 32 bytes for each value. Dense float64 rows are read in
    place.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithms 2 and 3 in Appendix D.
    """
    search = _core.best_means_cut if objective == "kmeans" else _core.best_medians_cut
    cut = OptimalCut(*search(matrix if columns is None else columns, matrix, weights, n_jobs))
    return cut if cut.feature >= 0 else None
