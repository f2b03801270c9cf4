"""Cuts chosen anew while centers stay, and centers after them: what lowers the cost of a tree by any objective."""

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
"""So many of the cheapest trees have leaves moved, so often with centers that follow."""
TOLERANCE = 0.006
"""See ``Effort``."""
MOST_WORK = 2**21
SUM_BITS = 52
"""Sums of costs are exact in float64."""


def descend(
    rows: SampledRows,
    trees: Sequence[Tests],
    clusters: Sequence[Int32 | None],
    n_clusters: int,
    objective: Objective,
    room: tuple[float, int],
    n_jobs: int = 1,
) -> list[tuple[Tests, Int32]]:
    """Lower what trees cost where every cluster has the center of its rows.

    ``trees``: tests in the columns that are searched; no leaf is empty. ``clusters``: of every node, as far as it is a
    leaf; None: a cluster of its own for every leaf. ``n_clusters``: how many there are. ``room``: what a leaf holds at
    least, and how deep it may be. In few bins a column, cuts are chosen anew, then leaves are moved, with centers as
    they are and every leaf served by the best; then the centers follow. No step raises the cost. Neither the order of
    rows nor that of threads shows. Returns ``found``: the cheapest trees and the clusters of their nodes, the best one
    first; all clusters have rows.
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
    """A tree on bins, the clusters of its nodes, its cost, and what its centers say of all rows: see ``TreeSearch``."""

    cuts: Cuts
    cluster: Int32
    own: bool  # whether every leaf is a cluster of its own
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
        """A cheaper tree by the centers of this one, and its own centers; the same tree where there is none."""
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
        """A tree by the centers of its clusters; None where one has no rows."""
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
        payload[:, k + 1 :] = payload[:, 1:2]  # what fills a row up is never less than all others
        cost = (int(excess[np.arange(len(excess)), labels].sum()) + nearest) / fixed.scale
        return _Priced(cuts, cluster, own, cost, payload, nearest / 2**shift)

    def _leaves(self, cuts: Cuts) -> Int32:
        """The leaf of every row."""
        column, last_bin, right = cuts
        return leaves_by(self.codes, (column, last_bin.astype(np.float64), right), self.n_jobs)
