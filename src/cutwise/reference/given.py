"""References that need no clustering: centers or labels that are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.core import exact_sum
from cutwise.exceptions import InvalidInputError, shown
from cutwise.table import Table

from .objective import KMEANS, KMEDIANS, Objective
from .result import Reference, RowCosts
from .weights import sum_weights

__all__ = ["from_centers", "from_labels", "sum_costs", "wrong_number"]

_SMALLEST_SQUARE = 2.0**-1000
"""Where no squared distance is larger, those a few digits smaller lose digits below float64's range, or all are 0."""


_COLUMNS_A_COST = 3
"""Costs by every center are kept where there are so many columns a center.

They then take little memory beside the rows, and measuring them again takes longer than reading them."""


def from_centers(
    table: Table,
    centers: Any,
    n_clusters: int | None = None,
    *,
    objective: Objective = KMEANS,
    sample_weight: npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
    what: str = "reference",
) -> Reference:
    """Every row with its nearest center.

    ``table``: the rows in the metric space. ``centers`` (k, n_columns). ``n_clusters``: how many centers are due.
    ``objective``: decides which center is nearest, and the cost. ``sample_weight`` (n_rows,) float64. ``what``: what
    messages call the centers. Raises ``InvalidInputError``: centers that are no finite numbers, another number of them,
    or of another number of columns; distances whose squares are beyond float64, or too small for it.
    """
    array = _read_centers(centers, what)
    if array.shape[1] != table.n_columns:
        raise InvalidInputError(
            f"{what} holds centers with {array.shape[1]} columns, but the rows have {table.n_columns} where distances "
            "are measured. Give one row per center, in the columns of X or of the preprocessor's output."
        )
    if n_clusters is not None and len(array) != n_clusters:
        raise wrong_number(what, len(array), n_clusters)
    keep = len(array) * _COLUMNS_A_COST <= table.n_columns
    labels, own, largest, every = objective.assign(table.matrix, array, n_jobs, keep=keep)
    _check_distance(largest)
    _check_squares(table, array, labels, own, largest, objective, n_jobs)
    cost = sum_costs(own, sum_weights(sample_weight))
    return Reference(labels, array, cost, objective.name, RowCosts(own, largest, every))


def from_labels(
    table: Table,
    labels: npt.NDArray[np.int32],
    n_clusters: int,
    *,
    objective: Objective = KMEANS,
    centers: npt.NDArray[np.float64] | None = None,
    sample_weight: npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
) -> Reference:
    """The given labels, with the best centers of their rows: weighted means, or coordinate-wise medians.

    ``table``: the rows in the metric space. ``labels`` (n_rows,) int32: 0 to ``n_clusters - 1``, or -1 for noise, which
    has no part in centers and cost. ``centers`` (n_clusters, n_columns) float64: in place of the best ones.
    ``sample_weight`` (n_rows,) float64. Raises ``InvalidInputError``: a cluster without a row of positive weight, and
    no centers given.
    """
    weights = sum_weights(sample_weight)
    if centers is None:
        centers, totals = objective.centers(table.matrix, labels, n_clusters, weights, n_jobs)
        empty = np.flatnonzero(totals <= 0)
        if len(empty):
            raise InvalidInputError(
                f"Cluster {empty[0]} of {n_clusters} has no row of positive weight, so it has no "
                f"{objective.center_word}. Label at least one row with each cluster, or give the centers."
            )
    low = objective.label_costs(table.matrix, centers, labels, n_jobs)
    _check_squares(table, centers, labels, low, 0.0, objective, n_jobs)
    return Reference(labels, centers, sum_costs(low, weights), objective.name)


def _check_distance(largest: float) -> None:
    """Refuse costs beyond float64."""
    if not np.isfinite(largest):
        raise InvalidInputError(
            "Distances to the centers are beyond float64. Scale the columns, for instance with "
            "preprocessor=StandardScaler(), or divide X by a constant."
        )


def sum_costs(costs: npt.NDArray[np.float64], weights: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None) -> float:
    """The weighted sum of one cost a row, whatever their order.

    ``costs`` (n_rows,) float64. ``weights`` (n_rows,): as ``sum_weights`` gives them. Raises ``InvalidInputError``: a
    cost beyond float64.
    """
    _check_distance(float(costs.max(initial=0.0)))
    return exact_sum(costs, weights)


def _check_squares(
    table: Table,
    centers: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int32],
    low: npt.NDArray[np.float64],
    largest: float,
    objective: Objective,
    n_jobs: int,
) -> None:
    """Refuses rows so near to all centers that the squares of their distances are lost below float64's range."""
    if objective is not KMEANS or low.max(initial=0.0) + largest > _SMALLEST_SQUARE:
        return
    apart = float(KMEDIANS.label_costs(table.matrix, centers, labels, n_jobs).max(initial=0.0))
    if apart > 0.0:
        raise InvalidInputError(
            f"Rows are at most {apart:.1e} apart from the centers, and squares of that are too small for float64. "
            f"Multiply X by a constant, such as 1e{round(-np.log10(apart))}."
        )


def wrong_number(what: str, found: int, n_clusters: int) -> InvalidInputError:
    """The error of a reference with another number of clusters than was asked for; it gives both."""
    return InvalidInputError(
        f"{what} has {found} cluster{'' if found == 1 else 's'}, but n_clusters={n_clusters}. "
        f"Use n_clusters={found}, or a reference with {n_clusters}."
    )


def _read_centers(centers: Any, what: str) -> npt.NDArray[np.float64]:
    try:
        array = np.array(centers, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{what}={shown(centers)} must be an array of numbers with one row per center, or a clusterer."
        ) from error
    if array.ndim != 2 or array.size == 0:
        labels = "\nIf these are the labels of rows, ClusterExplainer().fit(X, labels) explains them."
        raise InvalidInputError(
            f"{what}={shown(centers)} has shape {array.shape}, but needs one row per center and one column per "
            f"column of X: shape (n_clusters, n_columns).{labels if array.ndim == 1 and array.size else ''}"
        )
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        j, f = wrong[0]
        raise InvalidInputError(f"{what} must hold finite numbers, but center {j} has {array[j, f]} in column {f}.")
    return array
