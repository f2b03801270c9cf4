"""What the clusters of a grown tree cost: by centers of their own, or as the caller gave it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cutwise.estimators._rows import FitRows
from cutwise.reference import Objective, Reference

__all__ = ["Clustering", "Price", "TreeCosts", "costs_by_centers", "costs_given"]


@dataclass(frozen=True, eq=False)
class TreeCosts:
    """What the clusters of a tree cost.

    Attributes
    ----------
    cost : float
        With the clusters' own centers.
    surrogate_cost : float
        With the reference's centers.
    centers : ndarray of shape (k, p), float64, or None
        The clusters' own centers where distances are measured; None where no coordinates could say them, as in the
        feature space of a kernel.
    distances : bool
        Whether costs are distances to these centers: what IMM's guarantee is about.
    """

    cost: float
    surrogate_cost: float
    centers: npt.NDArray[np.float64] | None
    distances: bool = True


Price = Callable[[npt.NDArray[np.int32]], TreeCosts]
"""From the cluster of each of the m rows that take part to what these clusters cost."""


@dataclass(frozen=True, eq=False)
class Clustering:
    """The clustering that a tree is compared with, and the rows of both.

    Attributes
    ----------
    rows : FitRows
        The m rows that take part.
    reference : Reference
        With labels of these.
    full_labels : ndarray of shape (n,), int32
        Labels of all n rows, -1 for noise; rows without weight have the nearest center's.
    sample_weight : ndarray of shape (n,), float64, or None
        As they were given.
    price : callable, optional
        What clusters of the m rows cost; left out, they are served by their own centers.
    """

    rows: FitRows
    reference: Reference
    full_labels: npt.NDArray[np.int32]
    sample_weight: npt.NDArray[np.float64] | None
    price: Price | None = None

    def costs(self, objective: Objective, codes: npt.NDArray[np.int32]) -> TreeCosts:
        """What clusters of the m rows cost, from the cluster of each."""
        if self.price is not None:
            return self.price(codes)
        return costs_by_centers(self.rows, self.reference, objective, codes)


def costs_by_centers(
    rows: FitRows, reference: Reference, objective: Objective, codes: npt.NDArray[np.int32]
) -> TreeCosts:
    """Costs by centers of the objective; a cluster without rows keeps the reference's center.

    Parameters
    ----------
    rows : FitRows
    reference : Reference
    objective : Objective
    codes : ndarray of shape (m,), int32
        The tree's cluster of each of the m rows that take part.
    """
    centers = _own_centers(rows, reference, objective, codes)
    return TreeCosts(
        cost=rows.sum(rows.costs(objective, centers, codes)),
        surrogate_cost=rows.sum(rows.costs(objective, reference.centers, codes)),
        centers=centers,
    )


def costs_given(
    rows: FitRows,
    reference: Reference,
    objective: Objective,
    costs: npt.NDArray[np.float64],
    codes: npt.NDArray[np.int32],
) -> TreeCosts:
    """Given costs of shape (m, k) of serving each row by each cluster; the centers are still the objective's."""
    cost = rows.sum(costs[np.arange(len(codes)), codes])
    return TreeCosts(cost, cost, _own_centers(rows, reference, objective, codes), distances=False)


def _own_centers(
    rows: FitRows, reference: Reference, objective: Objective, codes: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:
    k = reference.n_clusters
    centers = rows.centers(objective, codes, k)
    empty = rows.weight_of(codes, k) == 0
    centers[empty] = reference.centers[empty]
    return centers
