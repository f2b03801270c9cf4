"""Centers and costs that the caller gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError
from cutwise.table import as_dense, read_table

__all__ = ["read_centers", "read_costs"]


def read_centers(
    centers: Any, n_clusters: int, n_columns: int, *, what: str = "centers", order: str = "the sorted labels"
) -> npt.NDArray[np.float64]:
    """Check centers of clusters.

    Parameters
    ----------
    centers : array-like of shape (n_clusters, n_columns)
    n_clusters, n_columns : int
        What is due.
    what : str
        What messages call them.
    order : str
        What messages say their order is.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_columns), float64

    Raises
    ------
    InvalidInputError
        Another shape, or values that are no finite numbers.
    """
    given = _dense(centers, what)
    if given.shape != (n_clusters, n_columns):
        raise InvalidInputError(
            f"{what} has shape {given.shape}, but there are {n_clusters} clusters and {n_columns} columns.\n"
            f"Give one row for each cluster{order and f', in the order of {order}'}: shape ({n_clusters}, {n_columns})."
        )
    return given


def read_costs(costs: Any, n_rows: int, n_clusters: int) -> npt.NDArray[np.float64]:
    """Check the cost of each row by each cluster.

    Parameters
    ----------
    costs : array-like of shape (n_rows, n_clusters)
    n_rows, n_clusters : int
        What is due.

    Returns
    -------
    costs : ndarray of shape (n_rows, n_clusters), float64

    Raises
    ------
    InvalidInputError
        Another shape, a negative cost (names row and cluster), or values that are no finite numbers.
    """
    given = _dense(costs, "costs")
    if given.shape != (n_rows, n_clusters):
        raise InvalidInputError(
            f"costs has shape {given.shape}, but there are {n_rows} rows and {n_clusters} clusters.\n"
            f"Give one row for each row of X and one column for each cluster, in the order of the sorted labels: "
            f"shape ({n_rows}, {n_clusters})."
        )
    if given.min() < 0:
        row, cluster = np.argwhere(given < 0)[0]
        raise InvalidInputError(
            f"costs holds {given[row, cluster].item()!r} in row {row}, column {cluster} (counted from 0), and a cost "
            "is at least 0.\nAdd the same number to every cost of a row: it changes no tree, only the cost ratio."
        )
    return given


def _dense(values: Any, what: str) -> npt.NDArray[np.float64]:
    return np.ascontiguousarray(as_dense(read_table(values, what=what).values), dtype=np.float64)
