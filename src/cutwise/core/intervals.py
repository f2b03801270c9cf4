"""The searches that find intervals, typed: the best interval of a node, and cuts of surrogate features (Kernel IMM).

Conventions are those of ``searches``. Columns are read as *ranks*: the order of their values, two bytes each.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import _core
from ._core import FeatureTable, Matrix, Ranks

__all__ = [
    "FeatureTable",
    "Ranks",
    "best_disagreement_interval",
    "best_surrogate_interval",
    "feature_table",
    "fewest_feature_mistakes",
    "partition_interval",
    "rank_columns",
]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Costs = npt.NDArray[np.int32] | npt.NDArray[np.int64]
FoundInterval = tuple[int, float, int, float, float, int, int]


def rank_columns(matrix: Matrix, n_jobs: int = 1) -> Ranks:
    """Sort every column once.

    Parameters
    ----------
    matrix : Matrix
    n_jobs : int

    Returns
    -------
    ranks : Ranks
        The position of every value among its column's distinct values; where these are more than 65,536, neighboring
        ones share a position. Two bytes a value.
    """
    return _core.rank_columns(matrix, n_jobs)


def best_surrogate_interval(
    ranks: Ranks,
    rows: Int32,
    weights: Int64 | None,
    costs: Costs,
    totals: Int64,
    limit: int,
    n_jobs: int = 1,
) -> FoundInterval | None:
    """The interval whose inside and outside cost least together, each served by the one cluster that serves it best.

    Parameters
    ----------
    ranks : Ranks
    rows : ndarray, int32
    weights : ndarray of shape (n_rows,), int64, or None
        Only to form groups of values; ``costs`` hold them already.
    costs : ndarray of shape (n_rows, k), int32 or int64
        Not negative.
    totals : ndarray of shape (k,), int64
        Summed costs of the node's rows.
    limit : int
        What the interval has to beat, such as the cost of the best one-sided cut.
    n_jobs : int

    Returns
    -------
    found : tuple or None
        ``(cost, 0.0, feature, lower, upper, inside label, outside label)``; ``lower`` is the largest value of the node
        below the interval, ``upper`` the largest inside. None when no interval costs less than the limit. Of equals
        the one of the lowest feature, then of the lowest ``lower``, then of the lowest ``upper``.

    Notes
    -----
    Over all pairs of the node's values in columns that have at most 1,000 distinct ones there. Other columns are
    searched on groups of values of equal weight, 256 of them and more where single values are heavy; the ends of a
    column's best pair are then moved to the best single values next to them.

    References
    ----------
    Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*, Section 5.
    """
    return _core.best_surrogate_interval(ranks, rows, weights, costs, totals, limit, n_jobs)


def best_disagreement_interval(
    ranks: Ranks,
    rows: Int32,
    weights: Int64 | None,
    labels: Int32,
    totals: Int64,
    gini: bool,
    limit: int,
    second_limit: float,
    n_jobs: int = 1,
) -> FoundInterval | None:
    """The interval that leaves the fewest rows outside their side's commonest label.

    Parameters
    ----------
    ranks, rows, limit, n_jobs
        As in :func:`best_surrogate_interval`.
    weights : ndarray of shape (n_rows,), int64, or None
    labels : ndarray of shape (n_rows,), int32
        0 to k - 1.
    totals : ndarray of shape (k,), int64
        Weights of the node's rows by label.
    gini : bool
        Whether Gini impurity decides between cuts that disagree equally.
    second_limit : float
        With ``gini``, the impurity that an interval as costly as the limit has to beat.

    Returns
    -------
    found : tuple or None
        ``(disagreement, impurity, feature, lower, upper, inside label, outside label)``.
    """
    return _core.best_disagreement_interval(ranks, rows, weights, labels, totals, gini, limit, second_limit, n_jobs)


def feature_table(ranks: Ranks, labels: Int32, weights: Int64 | None, k: int, n_jobs: int = 1) -> FeatureTable:
    """A table that awaits the surrogate features of its columns.

    Parameters
    ----------
    ranks : Ranks
    labels : ndarray of shape (n_rows,), int32
        Reference cluster of every row, 0 to k - 1: a center's coordinate is the mean of a feature over its rows.
    weights : ndarray of shape (n_rows,), int64, or None
    k : int
    n_jobs : int

    Returns
    -------
    table : FeatureTable
        ``values(column)``: the values of a column that features are wanted for, increasing: all distinct ones, or,
        where they are more than 1,000, the medians of groups of equal weight, 512 of them and more where single values
        are heavy; ``is_exact(column)`` tells which. ``add_features(column, values)`` takes the features of a column,
        (n_features, n_values), float64, of which a copy is kept; ``drop_features(column)`` gives the memory back.
    """
    return _core.feature_table(ranks, labels, weights, k, n_jobs)


def fewest_feature_mistakes(
    table: FeatureTable,
    rows: Int32,
    cluster: Int32,
    weights: Int64 | None,
    survivors: Int32,
    costs: Costs | None,
    one_sided: bool,
    any_level: bool,
    n_jobs: int = 1,
) -> tuple[int, int, int, int, float, float, Int32] | None:
    """The cut of a surrogate feature that parts the fewest rows from their centers.

    A cut at a level has rows and surviving centers above it and at or below it, and counts where one of its sides is an
    interval of the node's values on the column. Only columns that have features now are looked at.

    Parameters
    ----------
    table : FeatureTable
    rows : ndarray, int32
        All rows routed to the node.
    cluster : ndarray of shape (n_rows,), int32
        The surviving cluster of every row, -1 where it was parted before.
    weights : ndarray of shape (n_rows,), int64, or None
    survivors : ndarray, int32
        Clusters whose centers reached the node, in increasing order, two or more.
    costs : ndarray of shape (n_rows, k), int32 or int64, or None
        Settle ties: of cuts with equally few mistakes the one whose sides cost least, each served by its best surviving
        center. Then, or without them: the lowest column, the lowest feature, the lowest level.
    one_sided : bool
        Only cuts that are a threshold on the column.
    any_level : bool
        False: levels lie half way between neighboring values of the rows that a center holds. True: anywhere between
        them, so that centers between two values are parted at their own coordinates.
    n_jobs : int

    Returns
    -------
    found : tuple or None
        ``(mistakes, cost, column, feature, lower, upper, left)``; cost is 0 without costs. Rows with
        ``lower < x <= upper`` go left, ``left`` are the survivors that do; ``lower`` is -inf for a threshold. None when
        no cut has rows and centers on both sides.

    References
    ----------
    Fleissner, Vankadara, Ghoshdastidar (2024), Algorithm 1.
    """
    return _core.fewest_feature_mistakes(table, rows, cluster, weights, survivors, costs, one_sided, any_level, n_jobs)


def partition_interval(
    matrix: Matrix, rows: Int32, feature: int, lower: float, upper: float
) -> tuple[int, float, float, float, float]:
    """Bring the rows with ``lower < x[feature] <= upper`` to the front, both sides in their old order.

    Parameters
    ----------
    matrix : Matrix
    rows : ndarray, int32
        Reordered in place.
    feature : int
    lower, upper : float

    Returns
    -------
    n_inside : int
    below_max, inside_min, inside_max, above_min : float
        The values next to the two ends; infinite where no row is.
    """
    return _core.partition_interval(matrix, rows, feature, lower, upper)
