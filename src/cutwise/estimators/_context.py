"""The clustering that a tree is compared with, and what the clusters of a tree cost beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cutwise.estimators._rows import TrainingRows
from cutwise.reference import KMEANS, Objective, Reference

__all__ = ["FitContext", "TreeCosts"]

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]


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
    centers: Float64 | None
    distances: bool = True


@dataclass(frozen=True, eq=False)
class FitContext:
    """The clustering that a tree is compared with, and the rows of both.

    Attributes
    ----------
    rows : TrainingRows
        The m rows that take part.
    reference : Reference
        With labels of these.
    full_labels : ndarray of shape (n,), int32
        Labels of all n rows, -1 for noise; rows without weight have the nearest center's.
    sample_weight : ndarray of shape (n,), float64, or None
        As they were given.
    objective : Objective
        What costs are, and what centers follow from it.
    given_costs : ndarray of shape (m, k), float64, optional
        In place of the objective's costs: what it costs to serve each row by each cluster.
    """

    rows: TrainingRows
    reference: Reference
    full_labels: Int32
    sample_weight: Float64 | None
    objective: Objective = KMEANS
    given_costs: Float64 | None = None

    @property
    def n_clusters(self) -> int:
        """k, the number of clusters."""
        return self.reference.n_clusters

    def cost_of_labels(self, codes: Int32) -> TreeCosts:
        """What clusters of the m rows cost, from the cluster of each; one without rows keeps the reference's center."""
        rows, reference = self.rows, self.reference
        centers = rows.centers(self.objective, codes, self.n_clusters)
        empty = rows.weight_of(codes, self.n_clusters) == 0
        centers[empty] = reference.centers[empty]
        if self.given_costs is not None:
            cost = rows.sum(self.given_costs[np.arange(len(codes)), codes])
            return TreeCosts(cost, cost, centers, distances=False)
        return TreeCosts(
            cost=rows.sum(rows.costs(self.objective, centers, codes)),
            surrogate_cost=rows.sum(rows.costs(self.objective, reference.centers, codes)),
            centers=centers,
        )

    @cached_property
    def total_cost(self) -> float:
        """What the m rows cost as one cluster: around one center, or by the one given cluster that serves them best."""
        rows = self.rows
        if self.given_costs is not None:
            return min(rows.sum(self.given_costs[:, cluster]) for cluster in range(self.n_clusters))
        one = np.zeros(rows.n_rows, dtype=np.int32)
        costs = rows.costs(self.objective, rows.centers(self.objective, one, 1), one)
        # Clusters far apart may have finite costs where the distance between them is beyond float64.
        return rows.sum(costs) if np.isfinite(costs.max(initial=0.0)) else np.inf
