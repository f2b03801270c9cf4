"""The typed, checked Python face of the C++ core: what the rest of the package calls.

Nothing else imports ``_core``. Each function says which arrays it takes and gives; a kernel checks shapes and bounds
itself and raises ``ValueError`` where they do not fit.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _core
from ._core import Encoded, Matrix

__all__ = [
    "MATRIX_DTYPES",
    "Encoded",
    "FixedDtype",
    "Matrix",
    "ObjectiveName",
    "apply",
    "as_float64",
    "as_matrix",
    "assign",
    "assign_from_array",
    "center_costs",
    "cluster_means",
    "cluster_medians",
    "encode",
    "exact_sum",
    "fixed_costs",
    "fixed_costs_from_array",
    "label_costs",
    "merge_duplicates",
]

MATRIX_DTYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.int32, np.int64, np.uint8))
"""The dtypes a kernel reads as they are; every other one is converted at intake."""


def as_matrix(values: npt.NDArray[np.generic] | sparse.csr_array) -> Matrix:
    """The core's view of a table; dense values are never copied, and the view keeps them alive.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns) or scipy.sparse.csr_array of that shape
        One of ``MATRIX_DTYPES`` in native byte order. Dense: any strides (negative and zero included) that are whole
        multiples of the item size, writable or not. CSR: sorted indices, no duplicates, no stored zeros; the
        row pointers become int64, the column indices int32 and the values contiguous where they are not.

    Returns
    -------
    matrix : Matrix

    Raises
    ------
    ValueError
        Another dtype, another number of dimensions, or strides that are no multiples of the item size.
    """
    if values.dtype not in MATRIX_DTYPES or not values.dtype.isnative:
        raise ValueError(f"a matrix holds one of {', '.join(map(str, MATRIX_DTYPES))}, not {values.dtype}")
    if isinstance(values, sparse.csr_array):
        indptr = values.indptr.astype(np.int64, copy=False)
        indices = values.indices.astype(np.int32, copy=False)
        return _core.Matrix.csr(indptr, indices, np.ascontiguousarray(values.data), int(values.shape[1]))
    if any(stride % values.itemsize for stride in values.strides):
        raise ValueError("the strides of a matrix are whole multiples of its item size")
    return _core.Matrix.dense(np.asarray(values))


def apply(
    matrix: Matrix,
    children_left: npt.NDArray[np.int32],
    children_right: npt.NDArray[np.int32],
    feature: npt.NDArray[np.int32],
    threshold: npt.NDArray[np.float64],
    lower: npt.NDArray[np.float64],
    n_jobs: int = 1,
) -> npt.NDArray[np.int32]:
    """The leaf that every row reaches in a threshold tree.

    Parameters
    ----------
    matrix : Matrix
        The rows, read in place. Values are compared as float64 whatever their dtype.
    children_left, children_right : ndarray of shape (n_nodes,), int32
        Nodes in preorder: the left child of inner node ``i`` is ``i + 1``, and -1 marks a leaf.
    feature : ndarray of shape (n_nodes,), int32
        The column tested; not read at leaves.
    threshold, lower : ndarray of shape (n_nodes,), float64
        A row goes left when ``lower < value <= threshold``.
    n_jobs : int, default 1
        Threads to use, at least 1, over blocks of rows. The result does not depend on it.

    Returns
    -------
    leaf : ndarray of shape (n_rows,), int32
        Node numbers.

    Raises
    ------
    ValueError
        Arrays of different lengths, nodes out of preorder, or a column that the matrix does not have.
    """
    return _core.apply(matrix, children_left, children_right, feature, threshold, lower, n_jobs)


# ---- codes (encoding/)


def encode(matrix: Matrix, *, bundle: bool = True, n_jobs: int = 1) -> Encoded:
    """A table as small codes: every column in bins, every row as slots of one flat histogram.

    Bins of a column are in increasing order of value, bin ``b`` holds the values in ``[low[b], high[b]]``, and both
    ends occur in the data. A column of at most 256 distinct values is exact: one value a bin. Other columns get up to
    256 bins of about equally many rows; searches refine them from the raw values where it matters.

    Parameters
    ----------
    matrix : Matrix
        Finite values; 1 to 2**31 - 1 rows, at least one column. Values are compared as float64, and -0.0 equals 0.0.
    bundle : bool, default True
        Whether exact columns of few values, of which at most one differs from its default value in any row (one-hot
        groups), share one byte a row. It changes the layout, never the bins. CSR matrices have no bundles.
    n_jobs : int, default 1
        Threads to use, at least 1, over blocks of rows. The result does not depend on it.

    Returns
    -------
    encoded : Encoded
        Per column ``f``: ``n_bins``, ``exact``, ``low`` and ``high`` from ``value_begin[f]``, ``slot_begin``, and
        ``default_bin`` (-1: none), the one bin that has no slot. Dense: ``codes`` of shape (n_rows, n_groups), uint8;
        the slot is ``group_begin[g] + code``. CSR: ``slots[indptr[i]:indptr[i + 1]]`` of the stored values of row
        ``i``. ``take(rows)`` gives the same columns over some rows, given as int32: bins and their ends stay those of
        all rows, so a bin may be empty there and its ends need not occur.

    Raises
    ------
    ValueError
        No rows, no columns, more rows than 2**31 - 1, or a CSR matrix with unsorted or repeated columns or with
        stored zeros.

    Notes
    -----
    Bins are planned on a sample of rows that depends on the shape alone, and made true while all rows are read.
    """
    return _core.encode(matrix, bundle, n_jobs)


def merge_duplicates(matrix: Matrix, encoded: Encoded) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]] | None:
    """Groups of equal rows, when they pay: at most half of the rows are distinct.

    Parameters
    ----------
    matrix : Matrix
    encoded : Encoded
        ``encode(matrix)``, over all rows.

    Returns
    -------
    first_row : ndarray of shape (n_groups,), int32
        The first row of every group, increasing.
    group_of_row : ndarray of shape (n_rows,), int32
        ``matrix[i]`` equals ``matrix[first_row[group_of_row[i]]]`` in every column.

    Both are None when more than half of the rows are distinct. On more than 4096 rows a sample of ``4 * sqrt(n_rows)``
    rows is asked first, and a table without repeats is told from it alone.

    Raises
    ------
    ValueError
        ``encoded`` is not of this matrix's shape and kind.
    """
    return _core.merge_duplicates(matrix, encoded)


# ---- costs and clusterings (clustering/)

ObjectiveName = Literal["kmeans", "kmedians"]
"""Squared Euclidean distance to the center, or l1 distance."""

FixedDtype = type[np.int32] | type[np.int64]
FixedUnits = npt.NDArray[np.int32] | npt.NDArray[np.int64]


def assign(
    matrix: Matrix,
    centers: npt.NDArray[np.float64],
    objective: ObjectiveName = "kmeans",
    n_jobs: int = 1,
    *,
    keep: bool = False,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], float, npt.NDArray[np.float64] | None]:
    """The nearest center of every row, and what it costs.

    Parameters
    ----------
    matrix : Matrix
        The rows, read in place.
    centers : ndarray of shape (n_centers, n_columns), float64
    objective : {"kmeans", "kmedians"}, default "kmeans"
        A row costs its squared Euclidean or its l1 distance, summed over the columns in their order in float64 from
        the differences themselves, so a common offset of all values loses nothing. CSR rows: the cost of the all-zero
        row, corrected at the stored values.
    n_jobs : int, default 1
        Threads to use, at least 1. Results do not depend on it, nor on the order of the rows: a row's numbers are
        a function of that row and the centers.

    Returns
    -------
    labels : ndarray of shape (n_rows,), int32
        The lowest number wins a tie.
    min_cost : ndarray of shape (n_rows,), float64
    max_excess : float
        The largest, over all rows, of the largest less the smallest cost of a row. Infinite or not a number where
        costs are beyond float64.
    costs : ndarray of shape (n_rows, n_centers), float64, or None
        Of every row by every center, where they are to be kept.
    """
    return _core.assign(matrix, as_float64(centers), objective, keep, n_jobs)


def assign_from_array(
    costs: npt.NDArray[np.generic], n_jobs: int = 1
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], float, None]:
    """``assign`` for given costs: an array of shape (n_rows, n_centers), finite, of one of ``MATRIX_DTYPES``."""
    return _core.assign_given(as_matrix(costs), n_jobs)


def fixed_costs(
    matrix: Matrix,
    centers: npt.NDArray[np.float64],
    objective: ObjectiveName,
    scale: float,
    weights: npt.NDArray[np.int64] | None = None,
    dtype: FixedDtype = np.int64,
    base_dtype: FixedDtype = np.int64,
    n_jobs: int = 1,
) -> tuple[FixedUnits, FixedUnits, npt.NDArray[np.int64], int]:
    """Costs of the rows by every center in fixed point.

    Parameters
    ----------
    matrix, centers, objective, n_jobs
        As in ``assign``.
    scale : float
        Fixed-point units per unit of cost; a power of two keeps equal costs equal and integer costs exact.
    weights : ndarray of shape (n_rows,), int64, optional
        Multiplied in after rounding, so that a weight is a repeated row exactly. Needs ``dtype=np.int64``.
    dtype : {np.int32, np.int64}, default np.int64
        Of the excess. A row's unweighted excess may reach 2**30 (int32) or 2**51 (int64) units.
    base_dtype : {np.int32, np.int64}, default np.int64
        Of the base; int32 only beside an int32 excess, for bases below 2**31 - 1.

    Returns
    -------
    excess : ndarray of shape (n_rows, n_centers), int32 or int64
        ``weight * rint(scale * (cost - smallest cost of the row))``.
    base : ndarray of shape (n_rows,), int32 or int64
        ``weight * rint(scale * smallest cost of the row)``.
    sums : ndarray of shape (n_centers,), int64
        ``excess`` summed over the rows.
    magnitude : int
        The sum over the rows of ``weight`` times the number of binary digits of the unweighted excess of the second
        nearest center.

    Raises
    ------
    ValueError
        A scale that is not positive or takes a cost out of range (sums are the caller's care); arrays that do not fit.
    """
    return _core.fixed_costs(
        matrix, as_float64(centers), objective, scale, weights, dtype is np.int64, base_dtype is np.int64, n_jobs
    )


def fixed_costs_from_array(
    costs: npt.NDArray[np.generic],
    scale: float,
    weights: npt.NDArray[np.int64] | None = None,
    dtype: FixedDtype = np.int64,
    base_dtype: FixedDtype = np.int64,
    n_jobs: int = 1,
) -> tuple[FixedUnits, FixedUnits, npt.NDArray[np.int64], int]:
    """``fixed_costs`` for costs that are given: an array of shape (n_rows, n_centers) of one of ``MATRIX_DTYPES``."""
    return _core.fixed_costs_given(as_matrix(costs), scale, weights, dtype is np.int64, base_dtype is np.int64, n_jobs)


def center_costs(
    matrix: Matrix, centers: npt.NDArray[np.float64], objective: ObjectiveName = "kmeans", n_jobs: int = 1
) -> npt.NDArray[np.float64]:
    """Cost of every row by every center, shape (n_rows, n_centers), float64; parameters as in ``assign``.

    Bit for bit the costs that ``assign`` and ``fixed_costs`` use, which do without this array.
    """
    return _core.center_costs(matrix, as_float64(centers), objective, n_jobs)


def label_costs(
    matrix: Matrix,
    centers: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int32],
    objective: ObjectiveName = "kmeans",
    n_jobs: int = 1,
) -> npt.NDArray[np.float64]:
    """Cost of every row by the center it is labeled with, shape (n_rows,), float64; 0 where the label is negative.

    Parameters as in ``assign``; the costs are the same to the bit.
    """
    return _core.label_costs(matrix, as_float64(centers), labels, objective, n_jobs)


def cluster_means(
    matrix: Matrix,
    labels: npt.NDArray[np.int32],
    n_clusters: int,
    weights: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Weighted means of the rows of each cluster, independent of the order of the rows.

    Terms are split into integers and summed exactly (to 2**-80 of a column's largest value for a million rows), so
    offsets cost no digits, neither threads nor row order change a bit, and an int64 weight is a repeated row exactly.

    Parameters
    ----------
    matrix : Matrix
    labels : ndarray of shape (n_rows,), int32
        Rows with a negative label are left out.
    n_clusters : int
        More than the largest label.
    weights : ndarray of shape (n_rows,), int64 or float64, optional
        Finite and not negative; integers add up to 2**45 at most.
    n_jobs : int, default 1

    Returns
    -------
    means : ndarray of shape (n_clusters, n_columns), float64
        Not a number for clusters without weight.
    totals : ndarray of shape (n_clusters,), float64
        The weight of each cluster.

    Raises
    ------
    ValueError
        Labels or weights out of range, or of another length than the rows.
    """
    return _core.cluster_means(matrix, labels, weights, n_clusters, n_jobs)


def cluster_medians(
    matrix: Matrix,
    labels: npt.NDArray[np.int32],
    n_clusters: int,
    weights: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Weighted median of every column over the rows of each cluster, independent of the order of the rows.

    The lower median: the smallest value such that the rows at or below it hold at least half of the cluster's weight.
    Every value from it to the upper median costs the same. Found by selection, in time linear in the number of values;
    of CSR rows only the stored values are touched.

    Parameters
    ----------
    matrix : Matrix
    labels : ndarray of shape (n_rows,), int32
        Rows with a negative label are left out.
    n_clusters : int
        More than the largest label.
    weights : ndarray of shape (n_rows,), int64 or float64, optional
        Finite and not negative; integers add up to less than 2**61. Fractions are rounded to at least 40 binary digits
        of the largest for a million rows, so equal ones stay equal; none but 0 becomes 0.
    n_jobs : int, default 1
        Threads over clusters and columns.

    Returns
    -------
    medians : ndarray of shape (n_clusters, n_columns), float64
        Not a number for clusters without weight.
    totals : ndarray of shape (n_clusters,), float64
        The weight of each cluster.

    Raises
    ------
    ValueError
        Labels or weights out of range, or of another length than the rows.
    """
    return _core.cluster_medians(matrix, labels, weights, n_clusters, n_jobs)


def exact_sum(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None = None
) -> float:
    """The (weighted) sum of finite values, independent of their order; an int64 weight is a repeated value exactly."""
    return _core.exact_sum(values, weights)


def as_float64(centers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Centers as the core takes them: float64, one row after the other; copied only where they are not."""
    return np.ascontiguousarray(centers, dtype=np.float64)
