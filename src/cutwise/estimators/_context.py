"""The clustering that a tree is compared with, and what the clusters of a tree cost beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.estimators._rows import TrainingRows
from cutwise.reference import KMEANS, Objective, Reference
from cutwise.tree.growing import GrownTree
from cutwise.tree.subtree import clusters_by_size, sizes_of_growth, truncate_growth

__all__ = ["FitContext", "TreeCosts"]

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]

_ROUNDING = 1e-9
"""Costs that differ by less, relative to those of the reference, are compared exactly."""


@dataclass(frozen=True, eq=False)
class TreeCosts:
    """What the clusters of a tree cost: with their own centers, and with the reference's."""

    cost: float
    surrogate_cost: float
    centers: Float64 | None  # (k, p), where distances are measured; None in the feature space of a kernel
    distances: bool = True  # whether costs are distances to these centers: what IMM's guarantee is about
    between: float | None = None  # cost of the clusters' means around the mean of all rows; None for medians


@dataclass(frozen=True, eq=False)
class FitContext:
    """The clustering that a tree is compared with, and the rows of both."""

    rows: TrainingRows  # the m rows that take part
    reference: Reference  # with labels of these
    full_labels: Int32  # (n,), -1 for noise; rows without weight have the nearest center's
    sample_weight: Float64 | None  # (n,), as given
    objective: Objective = KMEANS
    given_costs: Float64 | None = None  # (m, k), of each row by each cluster, in place of the objective's

    @property
    def n_clusters(self) -> int:
        """k, the number of clusters."""
        return self.reference.n_clusters

    def cost_of_labels(self, codes: Int32) -> TreeCosts:
        """What clusters of the m rows cost, from the cluster of each; one without rows keeps the reference's center."""
        rows, reference = self.rows, self.reference
        centers, weight = rows.centers(self.objective, codes, self.n_clusters)
        centers[weight == 0] = reference.centers[weight == 0]
        if self.given_costs is not None:
            cost = rows.sum(self.given_costs[np.arange(len(codes)), codes])
            return TreeCosts(cost, cost, centers, distances=False)
        return TreeCosts(
            cost=rows.sum(rows.costs(self.objective, centers, codes)),
            surrogate_cost=rows.sum(self._costs_by_reference(codes)),
            centers=centers,
            between=_cost_around_mean(centers, weight) if self.objective is KMEANS else None,
        )

    def _costs_by_reference(self, codes: Int32) -> Float64:
        """Cost of each row by the reference's center of its cluster, measured only where that is not the row's own."""
        rows, reference = self.rows, self.reference
        if reference.row_costs is None:
            return rows.costs(self.objective, reference.centers, codes)
        costs = reference.row_costs.own.copy()
        moved = np.flatnonzero(codes != reference.labels)
        matrix = core.as_matrix(rows.metric.values[moved])
        costs[moved] = self.objective.label_costs(matrix, reference.centers, codes[moved], rows.n_jobs)
        return costs

    def total_cost(self, costs: TreeCosts) -> float:
        """What the m rows cost as one cluster, from what a tree's clusters cost."""
        return self.one_cluster_cost if costs.between is None else costs.cost + costs.between

    def cost_of_each(self, partitions: Iterable[Int32]) -> list[float]:
        """``cost_of_labels(codes).cost`` of every one; only clusters that changed since the one before are computed."""
        rows, k = self.rows, self.n_clusters
        if self.given_costs is not None:
            return [self.cost_of_labels(codes).cost for codes in partitions]
        before: Int32 | None = None
        row_costs = np.zeros(rows.n_rows)
        costs = []
        for codes in partitions:
            changed = np.full(k, before is None)
            if before is not None:
                moved = codes != before
                changed[codes[moved]] = changed[before[moved]] = True
            here = np.where(changed[codes], codes, np.int32(-1))
            centers = np.nan_to_num(rows.centers(self.objective, here, k)[0])
            np.copyto(row_costs, rows.costs(self.objective, centers, here), where=here >= 0)
            costs.append(rows.sum(row_costs))
            before = codes
        return costs

    def cheapest_tree(self, grown: GrownTree) -> GrownTree:
        """The tree of a growth, from one leaf a cluster on, whose clusters cost least; of equals the smallest.

        Growth goes by what a leaf costs at the reference's centers, which can rise at centers of its own.
        """
        if grown.split_order is None:
            return grown
        growths = self._sizes_of_growths(grown)
        if len(growths) == len(growths[0][1]) == 1:
            return grown
        growths = [(growth, self._nearly_cheapest(growth, sizes)) for growth, sizes in growths]
        if len(growths) == len(growths[0][1]) == 1:
            return truncate_growth(grown, growths[0][1][0])
        return min(self._trees(growths), key=lambda tree: tree[:2])[2]()

    def trees_by_size(self, grown: GrownTree) -> list[tuple[float, int, Callable[[], GrownTree]]]:
        """The cost and size of every tree of all growths of a fit, by size, and how to get it."""
        return sorted(self._trees(self._sizes_of_growths(grown)), key=lambda tree: (tree[1], tree[0]))

    def _sizes_of_growths(self, grown: GrownTree) -> list[tuple[GrownTree, list[int]]]:
        """All growths of a fit, and the sizes, decreasing, of their trees."""
        smallest = sizes_of_growth(grown, self.n_clusters)[0]
        return [
            (growth, [size for size in sizes_of_growth(growth, self.n_clusters)[::-1] if size >= smallest])
            for growth in (grown, *grown.others)
        ]

    def _trees(self, growths: list[tuple[GrownTree, list[int]]]) -> list[tuple[float, int, Callable[[], GrownTree]]]:
        """The cost and size of trees of several growths, and how to get them."""
        return [
            (cost, size, partial(truncate_growth, growth, size))
            for growth, sizes in growths
            for cost, size in zip(self.cost_of_each(clusters_by_size(growth, sizes)), sizes, strict=True)
        ]

    def _nearly_cheapest(self, grown: GrownTree, sizes: list[int]) -> list[int]:
        """The sizes, decreasing, at which the tree may cost least: for means, those that rounding alone tells apart."""
        if self.objective is not KMEANS or self.given_costs is not None:
            return sizes
        # Trees of one growth differ by what the means of the leaves cost around those of their clusters.
        leaves = grown.tree.leaves
        leaf = np.searchsorted(leaves, grown.leaf_of_row).astype(np.int32)
        means, weight = self.rows.centers(KMEANS, leaf, len(leaves))
        occupied = weight > 0
        means, weight = means[occupied], weight[occupied]
        costs = np.array(
            [
                sum(_cost_around_mean(means[clusters == c], weight[clusters == c]) for c in np.unique(clusters))
                for clusters in clusters_by_size(grown, sizes, leaves[occupied])
            ]
        )
        if not np.isfinite(costs).all():
            return sizes
        near = costs <= costs.min() + _ROUNDING * (self.reference.cost + costs.max())
        return [size for size, is_near in zip(sizes, near, strict=True) if is_near]

    @cached_property
    def one_cluster_cost(self) -> float:
        """What the m rows cost around one center, or by the one given cluster that serves them best."""
        rows = self.rows
        if self.given_costs is not None:
            return min(rows.sum(self.given_costs[:, cluster]) for cluster in range(self.n_clusters))
        one = np.zeros(rows.n_rows, dtype=np.int32)
        costs = rows.costs(self.objective, rows.centers(self.objective, one, 1)[0], one)
        # Clusters far apart may have finite costs where the distance between them is beyond float64.
        return rows.sum(costs) if np.isfinite(costs.max(initial=0.0)) else np.inf


def _cost_around_mean(centers: Float64, weight: Float64) -> float:
    """What the means of clusters cost around the mean of all rows, infinite beyond float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = (weight[:, None] * centers).sum(axis=0) / weight.sum()
        cost = float((weight[:, None] * (centers - mean) ** 2).sum())
    return cost if np.isfinite(cost) else np.inf
