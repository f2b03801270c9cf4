"""Descent on the cost of trees for any objective: new cuts for fixed centers, then new centers for the cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cutwise import core
from cutwise.core import Float64, Int32
from cutwise.reference.objective import Objective, fixed_costs
from cutwise.table.table import as_matrix

from .refine_sample import MOST_BINS, BinnedRows, Cuts, SampledRows, Tests, bin_rows, leaves_by

N_SWAPPED, MOST_ROUNDS = 1, 4
"""Number of the cheapest trees in which leaves are moved, and of rounds of moved leaves and new centers at most."""
TOLERANCE = 0.006
"""See ``Effort``."""
MOST_WORK = 2**21
SUM_BITS = 52
"""Sums of costs have at most this many bits, so that float64 is exact."""


def descend(
    rows: SampledRows,
    trees: Sequence[Tests],
    clusters: Sequence[Int32 | None],
    n_clusters: int,
    objective: Objective,
    room: tuple[float, int],
    n_jobs: int = 1,
) -> list[tuple[Tests, Int32]]:
    """Lower the cost of trees whose clusters have the centers of their rows.

    ``trees``: tests in the searched columns; no leaf is empty. ``clusters``: the cluster of every node that is a leaf;
    None: every leaf is its own cluster. ``n_clusters``: number of clusters. ``room``: least content and largest depth
    of a leaf. With few bins a column, cuts are chosen again, then leaves are moved, for fixed centers and the best
    center for every leaf; then the centers are updated. No step raises the cost. The result does not depend on the
    order of rows or threads. Returns ``found``: the cheapest trees and the clusters of their nodes, the best one first;
    all clusters have rows.
    """
    weights = rows.weights.astype(np.float64)
    bins, cuts = bin_rows(rows.values, weights, trees, MOST_BINS, n_jobs)
    descent = _Descent(rows, bins, as_matrix(bins.codes), n_clusters, objective, room, n_jobs)
    starts = (descent.price(cut, cluster) for cut, cluster in zip(cuts, clusters, strict=True))
    found = [descent.step(start, swaps=False) for start in starts if start is not None]
    result = []
    for tree in sorted(found, key=lambda tree: tree.cost)[:N_SWAPPED]:
        for _ in range(MOST_ROUNDS):
            before, tree = tree, descent.step(tree, swaps=True)
            if tree is before:
                break
        result.append(tree)
    result.sort(key=lambda tree: tree.cost)
    return [((tree.cuts[0], bins.thresholds(tree.cuts), tree.cuts[2]), tree.cluster) for tree in result]


@dataclass(frozen=True, eq=False)
class _Priced:
    """A tree on bins, the clusters of its nodes, its cost, and the payload of its centers: see ``TreeSearch``."""

    cuts: Cuts
    cluster: Int32
    own: bool  # whether every leaf is its own cluster
    cost: int | float
    payload: Float64
    unit: float  # the cost of the rows by their nearest centers, in units of the payload


@dataclass(frozen=True, eq=False)
class _Descent:
    rows: SampledRows
    bins: BinnedRows
    codes: core.Matrix
    n_clusters: int
    objective: Objective
    room: tuple[float, int]
    n_jobs: int

    def step(self, tree: _Priced, *, swaps: bool) -> _Priced:
        """A cheaper tree for the centers of ``tree``, priced with its own centers; ``tree`` itself if there is none."""
        search = core.TreeSearch(
            self.bins.codes, self.bins.n_bins, tree.payload, "least", max(1.0, 1e-9 * tree.unit), *self.room
        )
        cuts = tree.cuts
        for swap in (False, True)[: 1 + swaps]:
            ((_, path),) = search.run(
                [cuts],
                n_leaves=int(np.count_nonzero(cuts[0] < 0)),
                swaps=swap,
                tolerance=TOLERANCE * tree.unit,
                n_jobs=self.n_jobs,
                most_work=MOST_WORK,
            )
            cuts = path[-1][2] if path else cuts
        leaf = self._leaves(cuts)
        by_node = [np.bincount(leaf, each, minlength=len(cuts[0])) for each in tree.payload.T[1:]]
        found = self.price(cuts, None if tree.own else np.argmin(by_node, axis=0).astype(np.int32))
        return tree if found is None or not found.cost < tree.cost * (1 - 1e-9) else found

    def price(self, cuts: Cuts, cluster: Int32 | None) -> _Priced | None:
        """Price a tree with the centers of its clusters; None if a cluster has no rows."""
        rows, k, own = self.rows, self.n_clusters, cluster is None
        if cluster is None:
            cluster = np.cumsum(cuts[0] < 0, dtype=np.int32) - np.int32(1)
        labels = cluster[self._leaves(cuts)]
        centers = self.objective.centers(rows.metric, labels, k, rows.weights, self.n_jobs)[0]
        if np.isnan(centers).any():
            return None
        fixed = fixed_costs(rows.metric, centers, self.objective, weights=rows.weights, n_jobs=self.n_jobs)
        excess, nearest = fixed.excess.astype(np.int64), int(fixed.base.sum(dtype=np.int64))
        shift = max(0, int(excess.sum(axis=0).max()).bit_length() - SUM_BITS)
        payload = np.empty((len(excess), 4 * -(-(k + 1) // 4)))
        payload[:, 0] = rows.weights
        payload[:, 1 : k + 1] = excess >> shift
        payload[:, k + 1 :] = payload[:, 1:2]  # padding that is never the only minimum
        cost = (int(excess[np.arange(len(excess)), labels].sum()) + nearest) / fixed.scale
        return _Priced(cuts, cluster, own, cost, payload, nearest / 2**shift)

    def _leaves(self, cuts: Cuts) -> Int32:
        """The leaf of every row."""
        column, last_bin, right = cuts
        return leaves_by(self.codes, (column, last_bin.astype(np.float64), right), self.n_jobs)
