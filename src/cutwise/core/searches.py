"""The searches of the C++ core, typed: histograms, the best cut by each criterion, and the split of a node's rows.

Throughout, ``rows`` are the numbers of a node's rows (int32); per-row arrays have one entry for every row of the
table; all costs, losses and weights are integers (fixed point), so no result depends on the order of rows or on
``n_jobs``. A ``histogram`` is indexed by slot (see ``Encoded``), and None stands for "sort every column instead".

A search checks shapes and the numbers of columns and surviving clusters. What ``rows``, ``cluster`` and ``labels`` hold
is taken on trust: looking through them at every node would cost as much as many a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._core import ColumnCuts, Encoded, Matrix, PackedCodes

__all__ = [
    "ColumnCuts",
    "add_to_cluster_histogram",
    "add_to_cost_histogram",
    "best_disagreement_cut",
    "best_induced_cut",
    "best_surrogate_cut",
    "cheapest_tied_cut",
    "fewest_mistakes",
    "forget_changed_cuts",
    "hold_by_nearest",
    "new_states",
    "pack_codes",
    "parted_rows",
    "partition",
]

Flags = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Costs = npt.NDArray[np.int32] | npt.NDArray[np.int64]
States = npt.NDArray[np.int16] | npt.NDArray[np.int32] | npt.NDArray[np.int64]


def add_to_cluster_histogram(
    encoded: Encoded,
    packed: PackedCodes | None,
    rows: Int32,
    cluster: Int32,
    first: Int64 | None,
    second: Int64 | None,
    histogram: Int64 | None,
    totals: Int64,
    sign: int,
    n_jobs: int = 1,
) -> None:
    """Add one or two numbers per row into the cells of its slots and its cluster.

    Parameters
    ----------
    encoded : Encoded
    packed : PackedCodes or None
        The same table in fewer bytes: changes the time, not the sums.
    rows : ndarray, int32
    cluster : ndarray of shape (n_rows,), int32
        Rows of a negative cluster are passed over.
    first, second : ndarray of shape (n_rows,), int64, or None
        What every row adds; None: ones.
    histogram : ndarray of shape (n_slots, k, 1 or 2), int64, or None
        Changed in place.
    totals : ndarray of shape (k, 1 or 2), int64
        Sums by cluster, changed in place.
    sign : {1, -1}
        -1 takes the rows out again.
    n_jobs : int
    """
    _core.cluster_histogram(encoded, packed, rows, cluster, first, second, histogram, totals, sign, n_jobs)


def add_to_cost_histogram(
    encoded: Encoded,
    packed: PackedCodes | None,
    rows: Int32,
    costs: Costs,
    histogram: Int64 | None,
    totals: Int64,
    n_jobs: int = 1,
) -> None:
    """Add every row's vector of costs into each of its slots.

    Parameters
    ----------
    encoded : Encoded
    packed : PackedCodes or None
        The same table in fewer bytes: changes the time, not the sums.
    rows : ndarray, int32
    costs : ndarray of shape (n_rows, k), int32 or int64
    histogram : ndarray of shape (n_slots, k), int64, or None
        Zeros, changed in place.
    totals : ndarray of shape (k,), int64
        Zeros, which become the sums over all given rows.
    n_jobs : int
    """
    _core.cost_histogram(encoded, packed, rows, costs, histogram, totals, n_jobs)


def parted_rows(rows: Int32, cluster: Int32, survivors: Int32, k: int) -> tuple[Int32, Int32]:
    """A child's rows whose cluster went to the other side.

    Parameters
    ----------
    rows : ndarray, int32
    cluster : ndarray of shape (n_rows,), int32
        -1 for rows that were parted before.
    survivors : ndarray, int32
        The child's clusters.
    k : int

    Returns
    -------
    parted : ndarray, int32
        Rows of the child that are held by a cluster which is not among the survivors.
    uncounted : ndarray, int32
        These, and the rows of cluster -1.
    """
    return _core.parted_rows(rows, cluster, survivors, k)


def pack_codes(encoded: Encoded, n_jobs: int = 1) -> PackedCodes:
    """Small groups of a table, several to a byte, for histograms over many rows.

    Parameters
    ----------
    encoded : Encoded
    n_jobs : int

    Returns
    -------
    packed : PackedCodes
        Without packs where these would not save a quarter of the bytes.
    """
    return _core.pack_codes(encoded, n_jobs)


def fewest_mistakes(
    encoded: Encoded,
    matrix: Matrix,
    rows: Int32,
    cluster: Int32,
    weights: Int64 | None,
    uncounted: Int32,
    histogram: Int64 | None,
    totals: Int64,
    coordinates: Float64,
    survivors: Int32,
    known: ColumnCuts,
    n_jobs: int = 1,
) -> tuple[int, Int32, Float64]:
    """The cuts that part the fewest rows from their centers and leave a surviving center on each side.

    Parameters
    ----------
    encoded, matrix : Encoded, Matrix
    rows : ndarray, int32
        All rows routed to the node; those of cluster -1 count nothing, but tell cuts apart.
    cluster : ndarray of shape (n_rows,), int32
        The surviving cluster of every row, -1 where it was parted before.
    weights : ndarray of shape (n_rows,), int64, or None
    uncounted : ndarray, int32
        The rows of cluster -1 among them.
    histogram : ndarray of shape (n_slots, k, 1), int64, or None
        Weights of the node's rows by slot and cluster; other clusters' columns are not read.
    totals : ndarray of shape (k, 1), int64
        Weights by cluster.
    coordinates : ndarray of shape (k, d), float64
    survivors : ndarray, int32
        Clusters whose centers reached the node, in increasing order, two or more.
    known : ColumnCuts
        The best cuts of every column: new, or the parent's after :func:`forget_changed_cuts`. Columns that are known
        are not looked at again; on return it holds those of this node.
    n_jobs : int

    Returns
    -------
    mistakes : int
        The minimum; -1 when no cut parts the centers.
    features, thresholds : ndarray, int32 and float64
        Every cut that attains it, by column, then by threshold (the left end of its gap).

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithm 1.
    """
    return _core.fewest_mistakes(
        encoded, matrix, rows, cluster, weights, uncounted, histogram, totals, coordinates, survivors, known, n_jobs
    )


def forget_changed_cuts(
    cuts: ColumnCuts,
    matrix: Matrix,
    lost_rows: Int32,
    cluster: Int32,
    coordinates: Float64,
    lost_centers: Int32,
    kept_centers: Int32,
) -> None:
    """Make a parent's best cuts those of a child that has lost a few rows and centers to its sibling.

    A column's cuts are forgotten where a lost row does not lie at its center's coordinate, or where no center that
    stays shares the coordinate of a lost one. In every other column the child has the values, the centers and the
    mistakes of its parent.

    Parameters
    ----------
    cuts : ColumnCuts
        Of the parent; changed in place.
    matrix : Matrix
    lost_rows : ndarray, int32
        Each on its center's side: the cut made no mistakes, and none was made above.
    cluster : ndarray of shape (n_rows,), int32
    coordinates : ndarray of shape (k, d), float64
    lost_centers, kept_centers : ndarray, int32
        Of the sibling, and of the child.
    """
    _core.forget_changed_cuts(cuts, matrix, lost_rows, cluster, coordinates, lost_centers, kept_centers)


def cheapest_tied_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: Int32,
    costs: Costs,
    totals: Int64,
    most_costs: Costs,
    coordinates: Float64,
    survivors: Int32,
    features: Int32,
    thresholds: Float64,
) -> int:
    """Of several cuts the one whose sides cost least, each side served by its best surviving center.

    Parameters
    ----------
    encoded, matrix, rows, coordinates, survivors
        As in :func:`fewest_mistakes`.
    costs : ndarray of shape (n_rows, k), int32 or int64
        None negative.
    totals : ndarray of shape (k,), int64
        Their sums over the node's rows; those of other clusters than the survivors are not read.
    most_costs : ndarray of shape (n_rows,), the dtype of ``costs``
        Zeros at first; the largest cost of a row, and 1, once it was needed. Kept from node to node.
    features, thresholds : ndarray, int32 and float64
        The cuts, by column, then by threshold.

    Returns
    -------
    index : int
        The first of the best.
    """
    return _core.cheapest_tied_cut(
        encoded, matrix, rows, costs, totals, most_costs, coordinates, survivors, features, thresholds
    )


def best_surrogate_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: Int32,
    costs: Costs,
    histogram: Int64 | None,
    totals: Int64,
    silent: Flags | None,
    n_jobs: int = 1,
) -> tuple[int, float, int, float, int, int] | None:
    """The cut whose two sides cost least, each served by the one cluster that serves it best.

    Parameters
    ----------
    encoded, matrix : Encoded, Matrix
    rows : ndarray, int32
    costs : ndarray of shape (n_rows, k), int32 or int64
    histogram : ndarray of shape (n_slots, k), int64, or None
        Summed costs of the node's rows by slot.
    totals : ndarray of shape (k,), int64
        Summed costs of the node's rows.
    silent : ndarray of shape (n_rows,), uint8, or None
        1 for rows whose costs are all 0: sums cannot show that they are there.
    n_jobs : int

    Returns
    -------
    found : tuple or None
        ``(cost, 0.0, feature, threshold, left label, right label)``; None when no cut parts the rows. The threshold is
        the left end of the gap.

    References
    ----------
    Frost, Moshkovitz, Rashtchian (2020), Algorithm 2.
    """
    return _core.best_surrogate_cut(encoded, matrix, rows, costs, histogram, totals, silent, n_jobs)


def best_disagreement_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: Int32,
    labels: Int32,
    weights: Int64 | None,
    histogram: Int64 | None,
    totals: Int64,
    gini: bool,
    n_jobs: int = 1,
) -> tuple[int, float, int, float, int, int] | None:
    """The cut that leaves the fewest rows outside their side's commonest label.

    Parameters
    ----------
    encoded, matrix : Encoded, Matrix
    rows : ndarray, int32
    labels : ndarray of shape (n_rows,), int32
        0 to k - 1.
    weights : ndarray of shape (n_rows,), int64, or None
    histogram : ndarray of shape (n_slots, k), int64, or None
        Weights of the node's rows by slot and label.
    totals : ndarray of shape (k,), int64
        Weights of the node's rows by label.
    gini : bool
        Whether Gini impurity decides between cuts that disagree equally.
    n_jobs : int

    Returns
    -------
    found : tuple or None
        ``(disagreement, impurity, feature, threshold, left label, right label)``.
    """
    return _core.best_disagreement_cut(encoded, matrix, rows, labels, weights, histogram, totals, gini, n_jobs)


def best_induced_cut(
    encoded: Encoded,
    matrix: Matrix,
    rows: Int32,
    excess: Costs,
    states: States,
    weights: Int64 | None,
    histogram: Int64 | None,
    totals: Int64,
    held: Int64,
    coordinates: Float64,
    survivors: Int32,
    penalty: float,
    kills_left: Flags,
    kills_right: Flags,
    n_jobs: int = 1,
) -> tuple[float, int, int, float] | None:
    """The cut of least ``Price + penalty * DExp`` with a surviving center on each side.

    Parameters
    ----------
    encoded, matrix, rows, coordinates, survivors, weights
        As in :func:`fewest_mistakes`.
    excess : ndarray of shape (n_rows, k), int32 or int64
        Costs above a part that is common to all clusters, the row's base.
    states : ndarray of :func:`new_states`
        Records of :func:`hold_by_nearest`: the two cheapest surviving clusters of every row, and what parting it from
        the first loses.
    histogram : ndarray of shape (n_slots, k, 1 or 2), int64, or None
        Losses, and weights when ``penalty`` is not 0, by slot and nearest cluster.
    totals : ndarray of shape (k, 1 or 2), int64
        The same by nearest cluster.
    held : ndarray of shape (k, 2), int64
        Base, and excess under the nearest cluster, of the rows by nearest cluster.
    penalty : float
    kills_left, kills_right : ndarray of shape (d,), uint8
        1 where the branch makes an ancestor's condition redundant.
    n_jobs : int

    Returns
    -------
    found : tuple or None
        ``(score, induced cost, feature, threshold)``; None when no cut parts the centers.

    References
    ----------
    Laber, Murtinho, Oliveira (2023), Algorithms 1 to 3.
    """
    return _core.best_induced_cut(
        encoded, matrix, rows, excess, states, weights, histogram, totals, held, coordinates,
        survivors, penalty, kills_left, kills_right, n_jobs,
    )  # fmt: skip


def new_states(n_rows: int, k: int, dtype: np.dtype[Any]) -> States:
    """Records for :func:`hold_by_nearest`, one a row: room for costs of this dtype and the numbers of k clusters."""
    if dtype == np.int64:
        return np.empty((n_rows, 2), dtype=np.int64)
    return np.empty((n_rows, 4), dtype=np.int16) if k < 2**15 else np.empty((n_rows, 3), dtype=np.int32)


def hold_by_nearest(
    encoded: Encoded,
    packed: PackedCodes | None,
    excess: Costs,
    base: Costs,
    weights: Int64 | None,
    rows: Sequence[Int32],
    survivors: Sequence[Int32],
    states: States,
    histogram: Int64 | None,
    totals: Int64,
    held: Int64,
    n_jobs: int = 1,
) -> None:
    """Keep every row's two nearest surviving clusters, and the histogram of losses, true to the tree.

    Parameters
    ----------
    encoded, excess, weights
        As in :func:`best_induced_cut`.
    packed : PackedCodes or None
    base : ndarray of shape (n_rows,), int32 or int64
    rows, survivors : sequences of ndarray, int32
        Of the root, with zeros in all sums; then of the two children of every node that was cut.
    states, histogram, totals, held
        Changed in place. What they say of a child with one survivor is not kept true: it is never cut.
    n_jobs : int
    """
    _core.hold_by_nearest(
        encoded, packed, excess, base, weights, rows, survivors, states, histogram, totals, held, n_jobs
    )


def partition(
    encoded: Encoded, matrix: Matrix, rows: Int32, feature: int, threshold: float
) -> tuple[int, float, float]:
    """Bring the rows with ``x[feature] <= threshold`` to the front, both sides in their old order.

    Parameters
    ----------
    encoded, matrix : Encoded, Matrix
    rows : ndarray, int32
        Reordered in place.
    feature : int
    threshold : float

    Returns
    -------
    n_left : int
    left_max, right_min : float
        The two values that the cut lies between; infinite where a side is empty.
    """
    return _core.partition(encoded, matrix, rows, feature, threshold)
