"""Cuts chosen anew while centers stay, and centers after them: what lowers the cost of a tree by any objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.reference.objective import Objective, fixed_costs

from .refine_sample import MOST_BINS, MOST_COLUMNS, Cuts, Tests, bin_rows, gather

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]

MOST_PASSES = 12


def descend(
    matrix: core.Matrix,
    metric: core.Matrix,
    weights: Int64 | None,
    trees: Sequence[Tests],
    objective: Objective,
    n_jobs: int = 1,
) -> list[Tests]:
    """Lower what trees cost where every leaf has the center of its rows.

    ``matrix``, ``metric``, ``weights``: the rows. ``trees``: tests in the matrix's columns; no leaf is empty. Every cut
    in turn becomes the best one in few bins a column for the centers as they are, everything below and above it as it
    is; then the centers follow. No step raises the cost. Neither the order of rows nor that of threads shows.
    """
    columns = np.arange(matrix.n_cols)
    if matrix.n_cols > MOST_COLUMNS:
        columns = np.unique(np.concatenate([column[column >= 0] for column, _, _ in trees]))
    values = gather(matrix, np.arange(matrix.n_rows), columns)
    place = np.full(matrix.n_cols + 1, -1, dtype=np.int32)  # the last entry answers for leaves
    place[columns] = np.arange(len(columns), dtype=np.int32)
    tests = [(place[column], threshold, right) for column, threshold, right in trees]
    own = np.ones(len(values)) if weights is None else weights.astype(np.float64)
    bins, cuts = bin_rows(values, own, tests, MOST_BINS, n_jobs)
    descent = _Descent(bins.codes.T.copy(), bins.n_bins, metric, weights, objective, n_jobs)
    improved = [descent.improve(*cut) for cut in cuts]
    return [(np.append(columns, -1)[cut[0]].astype(np.int32), bins.thresholds(cut), cut[2]) for cut in improved]


@dataclass(frozen=True, eq=False)
class _Descent:
    codes: npt.NDArray[np.uint8]  # (d, m)
    n_bins: Int32
    metric: core.Matrix
    weights: Int64 | None
    objective: Objective
    n_jobs: int

    def improve(self, column: Int32, last_bin: Int32, right: Int32) -> Cuts:
        tree = column, last_bin, right = column.copy(), last_bin.copy(), right
        inner, n_leaves = np.flatnonzero(column >= 0), int(np.count_nonzero(column < 0))
        number = np.cumsum(column < 0, dtype=np.int32) - np.int32(1)  # of every leaf
        end = np.arange(1, len(column) + 1)  # of every node's subtree
        for node in inner[::-1].tolist():
            end[node] = end[right[node]]
        leaf = self._leaves(tree, np.arange(self.codes.shape[1]), 0)
        for i in range(MOST_PASSES):
            centers = self.objective.centers(self.metric, number[leaf], n_leaves, self.weights, self.n_jobs)[0]
            if np.isnan(centers).any():  # a leaf has rows, but none among these
                break
            costs = fixed_costs(self.metric, centers, self.objective, weights=self.weights, n_jobs=self.n_jobs).excess
            changed = False
            for node in (inner if i % 2 == 0 else inner[::-1]).tolist():
                rows = np.flatnonzero((leaf >= node) & (leaf < end[node]))
                sides = [self._leaves(tree, rows, child) for child in (node + 1, int(right[node]))]
                # What rows cost more when they are sent left, in whole numbers whose sums are exact.
                more = costs[rows, number[sides[0]]].astype(np.int64) - costs[rows, number[sides[1]]]
                more >>= max(0, int(np.abs(more).max()).bit_length() + len(rows).bit_length() - 53)
                now = float(more[self.codes[column[node]][rows] <= last_bin[node]].sum())
                best, feature, b = min(self._cheapest(feature, rows, more) for feature in range(len(self.codes)))
                if not best < now:
                    continue
                moved = np.where(self.codes[feature][rows] <= b, *sides)
                n_rows = np.bincount(moved - node, minlength=end[node] - node)
                if (n_rows[column[node : end[node]] < 0] > 0).all():
                    leaf[rows], column[node], last_bin[node], changed = moved, feature, b, True
            if not changed:
                break
        return tree

    def _leaves(self, tree: Cuts, rows: Rows, node: int) -> Rows:
        """The leaf below a node that each row reaches."""
        column, last_bin, right = tree
        if column[node] < 0:
            return np.full(len(rows), node)
        goes_left = self.codes[column[node]][rows] <= last_bin[node]
        reached = np.empty(len(rows), dtype=np.intp)
        reached[goes_left] = self._leaves(tree, rows[goes_left], node + 1)
        reached[~goes_left] = self._leaves(tree, rows[~goes_left], int(right[node]))
        return reached

    def _cheapest(self, feature: int, rows: Rows, more: Int64) -> tuple[float, int, int]:
        """What the rows cost more that the best cut of a column sends left, and that cut; rows are on both sides."""
        codes, n_bins = self.codes[feature][rows], self.n_bins[feature]
        n_left = np.bincount(codes, minlength=n_bins).cumsum()
        cost = np.bincount(codes, more, minlength=n_bins).cumsum()
        cost[(n_left == 0) | (n_left == len(rows))] = np.inf
        b = int(cost.argmin())
        return float(cost[b]), feature, b
