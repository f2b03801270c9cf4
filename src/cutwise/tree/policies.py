"""Two ways to grow: separate the centers until each has a leaf; split the leaf that gains most, as often as wanted."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cutwise.table import SearchedColumns

from .criteria.base import ExpansionCriterion, LeafCut, SeparationCriterion
from .growing import GrowingTree
from .node_test import NodeTest
from .provider import NodeSums, SeparationNode

__all__ = ["expand", "separate"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Progress = Callable[[int], None]

_KEPT_BYTES = 128 * 2**20
"""Histograms of open leaves are kept up to this size: a larger child then costs a subtraction."""


def separate(
    tree: GrowingTree,
    criterion: SeparationCriterion,
    progress: Progress | None = None,
) -> list[tuple[int, ...]]:
    """Split until every leaf holds one center, even where no row is.

    ``tree``: a bare root. ``progress``: called with the number of leaves after every split. Returns ``inseparable``:
    groups of clusters equal in every column; the first of each has the leaf.
    """
    inseparable: list[tuple[int, ...]] = []
    no_kills = np.zeros((2, tree.provider.n_columns), dtype=np.uint8)
    root = SeparationNode(0, criterion.clusters)
    criterion.start(root)
    pending: list[tuple[int, SeparationNode, npt.NDArray[np.uint8]]] = [(0, root, no_kills)]
    n_leaves = 1
    while pending:
        node, seen, kills = pending.pop()
        survivors = seen.survivors
        cut = criterion.best_cut(seen, kills[0], kills[1]) if len(survivors) > 1 else None
        if cut is None:
            tree.label(node, int(survivors[0]))
            if len(survivors) > 1:
                inseparable.append(tuple(survivors.tolist()))
            continue
        left, right = tree.split(node, cut.test, centers=cut.coordinates, mistakes=cut.mistakes)
        children = [
            SeparationNode(left, survivors[cut.goes_left]),
            SeparationNode(right, survivors[~cut.goes_left]),
        ]
        criterion.follow(seen, children)
        for side, child in ((1, right), (0, left)):
            pending.append((child, children[side], _after(kills, side, cut.test, tree.provider.searched)))
        n_leaves += 1
        if progress is not None:
            progress(n_leaves)
    return inseparable


def _after(
    kills: npt.NDArray[np.uint8], side: int, test: NodeTest, searched: SearchedColumns | None
) -> npt.NDArray[np.uint8]:
    """Which branches make an ancestor redundant below one side of a cut: on levels, all of the same column."""
    sides: int | slice = side
    columns: int | Int32 = test.feature
    if searched is not None:
        is_category = test.levels is not None or searched.level[test.feature] >= 0
        columns = searched.of(test.feature if test.levels is not None else int(searched.source[test.feature]))
        sides = slice(None) if is_category else side
    if np.all(kills[sides, columns]):
        return kills
    after = kills.copy()
    after[sides, columns] = 1
    return after


class _OpenLeaf:
    """A leaf that may be split: its best cut, what the cut gains, and statistics for its children."""

    def __init__(self, node: int, cut: LeafCut, gain: int | Fraction, purer_by: float, sums: NodeSums | None) -> None:
        self.node = node
        self.cut = cut
        self.gain = gain
        self.purer_by = purer_by
        self.sums = sums

    def __lt__(self, other: _OpenLeaf) -> bool:
        return (-self.gain, -self.purer_by, self.node) < (-other.gain, -other.purer_by, other.node)


def expand(tree: GrowingTree, criterion: ExpansionCriterion, max_leaves: int, progress: Progress | None = None) -> None:
    """Split the leaf whose best cut gains most, until there are max_leaves leaves or no cut gains anything.

    ``tree``: its leaves labelled, or a bare root, which gets its best label. ``progress``: called with the number of
    leaves after every split.
    """
    queue: list[_OpenLeaf] = []
    kept_bytes = 0

    def consider(node: int, sums: NodeSums) -> None:
        nonlocal kept_bytes
        cost = criterion.cost(sums, tree.cluster(node))
        impurity = criterion.impurity(sums)
        if criterion.ends_without_gain and cost == 0 and impurity == 0.0:
            return
        cut = criterion.best_cut(node, sums)
        if cut is None:
            return
        gain, purer_by = cost - cut.cost, impurity - cut.impurity
        # Impurities are floating point: a cut that only seems to purify by rounding would never end the growth.
        if criterion.ends_without_gain and (gain < 0 or (gain == 0 and purer_by <= 1e-9 * impurity)):
            return
        keep = kept_bytes + sums.nbytes <= _KEPT_BYTES
        kept_bytes += sums.nbytes if keep else 0
        heapq.heappush(queue, _OpenLeaf(node, cut, gain, purer_by, sums if keep else None))

    leaves = list(tree.leaves())
    n_leaves = len(leaves)
    if tree.cluster(leaves[0]) < 0:
        of_all = criterion.sums(0)
        tree.label(0, criterion.label(of_all))
        consider(0, of_all)
    elif n_leaves < max_leaves:
        for node in leaves:
            consider(node, criterion.sums(node))
    while n_leaves < max_leaves and queue:
        leaf = heapq.heappop(queue)
        left, right = tree.split(leaf.node, leaf.cut.test)
        tree.label(left, leaf.cut.left_label)
        tree.label(right, leaf.cut.right_label)
        n_leaves += 1
        if progress is not None:
            progress(n_leaves)
        kept_bytes -= 0 if leaf.sums is None else leaf.sums.nbytes
        if n_leaves == max_leaves:
            break
        smaller, larger = sorted((left, right), key=tree.provider.size)
        of_smaller = criterion.sums(smaller)
        of_larger = None if leaf.sums is None else leaf.sums.subtract(of_smaller)
        consider(smaller, of_smaller)
        consider(larger, criterion.sums(larger) if of_larger is None else of_larger)
