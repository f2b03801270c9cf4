"""Descent on the cost of trees for any objective: new cuts for fixed centers, then new centers for the cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from cutwise import core
from cutwise.core import Float64, Int32
from cutwise.reference.objective import fixed_costs
from cutwise.table.table import as_matrix

from .cut_tree import CutTree
from .refine_sample import MOST_BINS, BinnedRows, SampledRows, SearchProblem, bin_rows, improve, room

MOST_ROUNDS = 4
"""Number of rounds of moved leaves and new centers at most."""
TOLERANCE = 0.006
"""As in ``refine.py``."""
MOST_WORK = 2**21
SUM_BITS = 52
"""Sums of costs have at most this many bits, so that float64 is exact."""


def descend(
    problem: SearchProblem, rows: SampledRows, trees: Sequence[CutTree], clusters: Sequence[Int32 | None]
) -> tuple[CutTree, Int32] | None:
    """Lower the cost of trees whose clusters have the centers of their rows.

    ``rows``: the rows to use. ``trees``: in the columns of ``rows``; no leaf is empty. ``clusters``: the cluster of
    every node that is a leaf; None: every leaf is its own cluster. With few bins a column, cuts are chosen again, then
    leaves are moved in the cheapest tree until none is, for fixed centers and the best center for every leaf; then the
    centers are updated. No step raises the cost. The result does not depend on the order of rows or threads.

    Returns the tree, and the clusters of its nodes, all with rows; None if a cluster has no rows in any of the trees.
    """
    bins, cuts = bin_rows(rows.values, rows.weights.astype(np.float64), trees, MOST_BINS, problem.n_jobs)
    descent = _Descent(problem, rows, bins, as_matrix(bins.codes))
    starts = (descent.price(cut, cluster) for cut, cluster in zip(cuts, clusters, strict=True))
    found = [descent.step(start, swaps=False)[0] for start in starts if start is not None]
    if not found:
        return None
    tree = min(found, key=attrgetter("cost"))
    has_moved = True
    for _ in range(MOST_ROUNDS):
        before = tree.cost
        tree, has_moved = descent.step(tree, swaps=has_moved)
        if tree.cost == before:
            break
    return bins.unbinned(tree.tree), tree.cluster


@dataclass(frozen=True, eq=False)
class _Priced:
    """A tree on bins, the clusters of its nodes, its cost, and the payload of its centers: see ``TreeSearch``."""

    tree: CutTree
    cluster: Int32
    own: bool  # whether every leaf is its own cluster
    cost: int | float
    payload: Float64
    unit: float  # the cost of the rows by their nearest centers, in units of the payload
    recut: CutTree | None = None  # the tree with its cuts chosen again, where that is known to gain nothing


@dataclass(frozen=True, eq=False)
class _Descent:
    problem: SearchProblem
    rows: SampledRows
    bins: BinnedRows
    codes: core.Matrix

    def step(self, priced: _Priced, *, swaps: bool) -> tuple[_Priced, bool]:
        """A cheaper tree for the centers of ``priced``, priced with its own centers; ``priced`` if there is none.

        Second, whether a leaf was moved.
        """
        tree, limits = priced.recut or priced.tree, room(self.problem.limits, float(self.rows.weights.sum()))
        least_gain = max(1.0, 1e-9 * priced.unit)
        search = core.TreeSearch(self.bins.codes, self.bins.n_bins, priced.payload, "least", least_gain, *limits)
        for swap in (False, True)[priced.recut is not None : 1 + swaps]:
            _, (path,) = improve(
                search,
                [tree],
                n_leaves=tree.n_leaves,
                swaps=swap,
                tolerance=TOLERANCE * priced.unit,
                n_jobs=self.problem.n_jobs,
                most_work=MOST_WORK,
            )
            tree = path[-1].tree if path else tree
        has_moved = swaps and len(path) > 1
        leaf = tree.apply(self.codes, self.problem.n_jobs)
        by_node = [np.bincount(leaf, each, minlength=tree.n_nodes) for each in priced.payload.T[1:]]
        found = self.price(tree, None if priced.own else np.argmin(by_node, axis=0).astype(np.int32))
        if found is None or not found.cost < priced.cost * (1 - 1e-9):
            return replace(priced, recut=None if swaps else tree), has_moved
        return found, has_moved

    def price(self, tree: CutTree, cluster: Int32 | None) -> _Priced | None:
        """Price a tree with the centers of its clusters; None if a cluster has no rows."""
        rows, k, own = self.rows, len(self.problem.centers), cluster is None
        objective, n_jobs = self.problem.objective, self.problem.n_jobs
        if cluster is None:
            cluster = np.cumsum(tree.column < 0, dtype=np.int32) - np.int32(1)
        labels = cluster[tree.apply(self.codes, n_jobs)]
        centers = objective.centers(rows.metric, labels, k, rows.weights, n_jobs)[0]
        if np.isnan(centers).any():
            return None
        fixed = fixed_costs(rows.metric, centers, objective, weights=rows.weights, n_jobs=n_jobs)
        excess, nearest = fixed.excess.astype(np.int64), int(fixed.base.sum(dtype=np.int64))
        shift = max(0, int(excess.sum(axis=0).max()).bit_length() - SUM_BITS)
        payload = np.empty((len(excess), 4 * -(-(k + 1) // 4)))
        payload[:, 0] = rows.weights
        payload[:, 1 : k + 1] = excess >> shift
        payload[:, k + 1 :] = payload[:, 1:2]  # padding that is never the only minimum
        cost = (int(excess[np.arange(len(excess)), labels].sum()) + nearest) / fixed.scale
        return _Priced(tree, cluster, own, cost, payload, nearest / 2**shift)
