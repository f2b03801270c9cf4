"""A provider of rows that come in batches: what one pass adds up serves all nodes that are open at that time.

Of a node it keeps, column by column, the values in order, with what rows of each value add up to: single values, and
ranges of many that were not looked into yet. A search says which cut is best as far as is known, and which ranges may
hold a better one; these are looked into by another pass, together with those that other nodes will ask for. All sums
are of integers, so the tree is that of the same rows in memory.

Statistics by node and column from passes over the rows: Gehrke, Ramakrishnan, Ganti (1998), *RainForest*. Ranges that
stay closed by a bound: Alsabti, Ranka, Singh (1998), *CLOUDS*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.table.table import ColumnKind
from cutwise.tree.criteria.disagreement import FewestDisagree
from cutwise.tree.criteria.induced import LeastInduced, NearestTwo
from cutwise.tree.criteria.mistakes import CheapestTie, FewestByModes, FewestMistakes
from cutwise.tree.criteria.surrogate import CheapestCut
from cutwise.tree.limits import Limits
from cutwise.tree.provider import CostPayload, Gap, LeafCut, NodeSums, SeparatingCut, SeparationNode
from cutwise.tree.threshold_tree import NodeTest, ThresholdTree

Int32 = npt.NDArray[np.int32]

Int64 = npt.NDArray[np.int64]

Float64 = npt.NDArray[np.float64]

TALLIED = 1 << 17
"""A range of so many rows is looked into value by value; one of more is split in parts first."""

PARTS = 256

MOST_BYTES = 1 << 28
"""Sums that one pass adds up: of as many nodes as there is room for."""


Wish = tuple[int, float, float]
"""A range of a column that is to be looked into."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A batch, and what every row adds: nothing of where it is in a tree.

    ``values`` (n, d). ``codes`` (n, d) uint8: bins. ``labels`` (n,). ``base`` (n,), ``excess`` (n, k): fixed-point
    costs, the row's least and what is above it. ``weights`` (n,): None where each row counts once.
    """

    values: npt.NDArray[np.generic]
    codes: npt.NDArray[np.uint8]
    labels: Int32
    base: Int64
    excess: npt.NDArray[Any]
    weights: Int64 | None


class Source(Protocol):
    """Rows that can be gone over as often as wanted.

    ``kinds``: of the d columns. ``begin`` (d + 1,): the first bin of each. ``n_clusters``: k.
    """

    kinds: tuple[ColumnKind, ...]
    begin: Int64
    n_clusters: int

    def passed(self, what: str) -> Iterator[Rows]:
        """All rows once; ``what`` the pass is for."""
        ...


@dataclass(eq=False)
class Pieces:
    """The values of a node in one column, in order: single ones, and closed ranges, where ``low`` is below ``high``.

    ``low``, ``high`` (p,): both occur. ``sums`` (p, 2 + 2 k): rows, base, weight by label, costs by cluster. ``sides``
    (p, 2 k - 1), where centers are separated: see ``core.add_to_tallies``.
    """

    low: Float64
    high: Float64
    sums: Int64
    sides: Int64 | None

    @property
    def is_closed(self) -> npt.NDArray[np.bool_]:
        """By piece."""
        return self.low < self.high

    def wish(self, column: int, i: int) -> Wish:
        """The range of a piece of a column."""
        return column, float(self.low[i]), float(self.high[i])

    def look_into(self, low: float, opened: Pieces) -> None:
        """Put what a closed range holds in its place."""
        i = int(np.searchsorted(self.low, low))
        for name in ("low", "high", "sums", "sides"):
            own = getattr(self, name)
            if own is not None:
                setattr(self, name, np.concatenate([own[:i], getattr(opened, name), own[i + 1 :]]))


class Node:
    """A node: the rows that pass the tests above it, by what they add up to.

    ``sums``: of all its rows, None before it is known. ``order`` (d, k): of its survivors, along every column, where
    these are to be separated by what rows lose.
    """

    def __init__(self, sums: Int64 | None = None) -> None:
        self.sums = sums
        self.survivors: Int32 | None = None
        self.order: Int32 | None = None
        self.test: NodeTest | None = None
        self.children: tuple[Node, Node] | None = None
        self.is_split = False  # in the tree, not only ahead of it
        self.columns: list[Pieces] | None = None
        self.contents: dict[int, list[set[int]]] = {}  # by column and piece: what tells apart its rows


@dataclass(eq=False)
class LeafRows:
    """All rows of a grown tree, as one for each leaf and label.

    ``source``: has them. ``leaves``: of the tree, in the order in which ``weights`` (n_leaves, k) has them: what their
    rows weigh by label. ``sums``: of the values of their rows, once these are known.
    """

    source: Any
    tree: ThresholdTree
    leaves: Int32
    weights: Int64
    sums: Sequence[Int64] | None = None

    @property
    def by_label(self) -> tuple[Int32, Int64]:
        """Label and weight of each."""
        n_leaves, k = self.weights.shape
        return np.tile(np.arange(k, dtype=np.int32), n_leaves), self.weights.ravel()


class PassProvider:
    """Rows in batches, as :class:`cutwise.tree.provider.Provider` asks of rows."""

    has_costs = True
    searched: None = None

    def __init__(self, source: Source) -> None:
        self._source = source
        self._k = source.n_clusters
        self._root = Node()
        self._nodes: list[Node] = [self._root]

    # What a tree asks -------------------------------------------------------------------------------------------------

    @property
    def n_columns(self) -> int:
        """See :class:`Provider`."""
        return len(self._source.kinds)

    def kind(self, column: int) -> ColumnKind:
        """See :class:`Provider`."""
        return self._source.kinds[column]

    def values(self, node: int, column: int) -> NoReturn:
        """See :class:`Provider`: asked of columns with categories and gaps alone."""
        raise NotImplementedError

    def size(self, node: int) -> int:
        """See :class:`Provider`."""
        return int(self._sums(self._nodes[node])[0])

    def n_samples(self, node: int) -> int:
        """See :class:`Provider`."""
        return self.size(node)

    def sums(self, node: int, payload: Any) -> NodeSums:
        """See :class:`Provider`; bin by bin they stay here."""
        return NodeSums(self.totals(node, payload), None)

    def totals(self, node: int, payload: Any) -> Int64:
        """See :class:`Provider`."""
        sums = self._sums(self._nodes[node])
        return (sums[2 + self._k :] if isinstance(payload, CostPayload) else sums[2 : 2 + self._k]).copy()

    def follow(self, separation: Any, node: SeparationNode | None, children: Sequence[SeparationNode]) -> None:
        """See :class:`Provider`."""
        for child in children:
            own = self._nodes[child.number]
            own.survivors = child.survivors
            if isinstance(separation, NearestTwo) and len(child.survivors) > 1:
                own.order = np.zeros((self.n_columns, self._k), dtype=np.int32)
                for f in range(self.n_columns):
                    along = np.argsort(separation.coordinates[child.survivors, f], kind="stable")
                    own.order[f, : len(along)] = child.survivors[along]

    def partition(self, node: int, test: NodeTest) -> tuple[Gap, Gap]:
        """See :class:`Provider`."""
        own = self._nodes[node]
        pieces = self._columns(own)[test.feature]
        while (through := pieces.is_closed & (pieces.low <= test.threshold) & (test.threshold < pieces.high)).any():
            i = int(through.argmax())
            self._look_into({own: [pieces.wish(test.feature, i)]})
        self._split(own, test)
        own.is_split, own.contents = True, {}
        assert own.children is not None
        self._nodes += own.children
        left = pieces.high <= test.threshold
        gap = (float(pieces.high[left].max(initial=-math.inf)), float(pieces.low[~left].min(initial=math.inf)))
        own.columns = None
        return gap, (math.nan, math.nan)

    def number_of_row(self, numbers: Mapping[int, int]) -> Int32:
        """See :class:`Provider`: of what leaves hold by label, k a leaf, as ``leaf_sums`` has it."""
        return np.repeat(np.array(list(numbers.values()), dtype=np.int32), self._k)

    def leaf_weights(self) -> Int64:
        """Weight of the rows of every leaf by label, (n_leaves, k), leaves in the order they were made."""
        return np.array([self._sums(node)[2 : 2 + self._k] for node in self._nodes if not node.is_split])

    def leaf_rows(self, tree: ThresholdTree, leaf_of_row: Int32) -> LeafRows:
        """See :class:`Provider`."""
        return LeafRows(self._source, tree, leaf_of_row[:: self._k].copy(), self.leaf_weights())

    def search(self, node: int, search: Any) -> Any:
        """See :class:`Provider`."""
        own = self._nodes[node]
        if isinstance(search, FewestByModes):  # there are no categories
            return search.cut
        while True:
            self._columns(own)
            found, wishes = self._look(own, search)
            if not wishes:
                break
            # Others will ask alike: what is known of them says which ranges.
            asked = {own: wishes}
            for other in self._open():
                if other is not own and other.columns is not None and (like := _of_node(search, other)) is not None:
                    asked[other] = self._look(other, like)[1]
            self._look_into(asked)
        if isinstance(found, LeafCut) and own.children is None:
            self._split(own, found.test)
        return found

    # Passes -----------------------------------------------------------------------------------------------------------

    def _open(self) -> list[Node]:
        """The leaves, and the children of splits that are likely to come."""
        leaves = [node for node in self._nodes if not node.is_split]
        return leaves + [child for leaf in leaves for child in leaf.children or ()]

    def _sums(self, node: Node) -> Int64:
        if node.sums is None:
            self._columns(node)
        assert node.sums is not None
        return node.sums

    def _columns(self, node: Node) -> list[Pieces]:
        """The columns of a node, and by the same pass those of all that are open."""
        if node.columns is None:
            k, n_bins = self._k, int(self._source.begin[-1])
            others = [n for n in self._open() if n.columns is None and n is not node]
            # A leaf that keeps its only center has nothing to be asked before it is expanded.
            others = [n for n in others if n.survivors is None or len(n.survivors) > 1 or node.survivors is None
                      or len(node.survivors) < 2]  # fmt: skip
            room = max(1, MOST_BYTES // (8 * n_bins * (4 * k + 3)))
            self._add_up([node, *others[: room - 1]])
        assert node.columns is not None
        return node.columns

    def _split(self, node: Node, test: NodeTest) -> None:
        """Make the children of a node, unless they were made ahead."""
        if node.children is None or node.test != test:
            pieces = self._columns(node)[test.feature]
            left = pieces.high <= test.threshold
            node.test, node.children = test, (Node(pieces.sums[left].sum(axis=0)), Node(pieces.sums[~left].sum(axis=0)))

    def _routed(self, rows: Rows) -> Iterator[tuple[Node, npt.NDArray[np.intp]]]:
        """The rows of a batch that every node holds, of all that are no inner node, and of those split ahead."""
        nodes, right, column, threshold = list[Node](), list[int](), list[int](), list[float]()
        pending = [(self._root, -1)]  # in preorder; a node, and that of which it is the right child
        while pending:
            node, parent = pending.pop()
            i, test = len(nodes), node.test
            if parent >= 0:
                right[parent] = i
            nodes.append(node)
            right.append(-1)
            column.append(-1 if test is None else test.feature)
            threshold.append(math.nan if test is None else test.threshold)
            if node.children is not None:
                pending += [(node.children[1], i), (node.children[0], -1)]
        links = np.array(right, dtype=np.int32)
        found = core.apply(
            core.as_matrix(rows.values), np.where(links < 0, -1, np.arange(1, len(nodes) + 1)).astype(np.int32), links,
            np.array(column, dtype=np.int32), np.array(threshold), np.full(len(nodes), -math.inf),
        )  # fmt: skip
        for i, node in enumerate(nodes):
            if not node.is_split:
                yield node, np.flatnonzero((found == i) if right[i] < 0 else (found == i + 1) | (found == right[i]))

    def _add_up(self, nodes: list[Node]) -> None:
        """Sums of nodes by column and bin."""
        k, begin, d = self._k, self._source.begin, self.n_columns
        # Rows of a node whose children are wanted too count for each of them.
        depths = {node: int(any(node in (leaf.children or ()) for leaf in self._nodes)) for node in nodes}
        n_bins, m = int(begin[-1]), len(nodes)
        sums = np.zeros((m, n_bins, 2 + 2 * k), dtype=np.int64)
        order = np.zeros((m, d, k), dtype=np.int32)
        n_survivors = np.zeros(m, dtype=np.int32)
        for i, node in enumerate(nodes):
            if node.order is not None and node.survivors is not None:
                order[i], n_survivors[i] = node.order, len(node.survivors)
        sides = np.zeros((m, n_bins, 2 * k - 1), dtype=np.int64) if n_survivors.any() else None
        low, high = np.full((m, n_bins), math.inf), np.full((m, n_bins), -math.inf)
        number = {node: i for i, node in enumerate(nodes)}
        for rows in self._source.passed("sums of nodes"):
            matrix = core.as_matrix(rows.values)
            layers = [np.full(len(rows.labels), -1, dtype=np.int32) for _ in range(1 + max(depths.values()))]
            for node, at in self._routed(rows):
                if node in number:
                    layers[depths[node]][at] = number[node]
            for layer in layers:
                if (layer >= 0).any():
                    core.add_to_tallies(
                        matrix, rows.codes, begin, layer, rows.labels, rows.weights, rows.base, rows.excess, order,
                        n_survivors, sums, sides, low, high,
                    )  # fmt: skip
        for i, node in enumerate(nodes):
            node.columns = []
            for f in range(d):
                bins = slice(begin[f], begin[f + 1])
                held = sums[i, bins, 0] > 0
                of_sides = sides[i, bins][held] if sides is not None and n_survivors[i] else None
                node.columns.append(Pieces(low[i, bins][held], high[i, bins][held], sums[i, bins][held], of_sides))
            node.sums = node.columns[0].sums.sum(axis=0)

    def _look_into(self, wishes: Mapping[Node, Sequence[Wish]]) -> None:
        """Tally closed ranges of nodes by value."""
        found: dict[tuple[Node, Wish], list[Pieces]] = {}
        for rows in self._source.passed("ranges of values"):
            for node, at in self._routed(rows):
                for wish in wishes.get(node, ()):
                    column, low, high = wish
                    x = rows.values[at, column].astype(np.float64) + 0.0
                    inside = (x >= low) & (x <= high)
                    if inside.any():
                        assert node.columns is not None
                        pieces = node.columns[column]
                        n = int(pieces.sums[np.searchsorted(pieces.low, low), 0])
                        own = found.setdefault((node, wish), [])
                        own.append(self._tally(rows, at[inside], x[inside], node, wish, n))
                        while len(own) > 1 and 2 * len(own[-1].low) >= len(
                            own[-2].low
                        ):  # what is large is merged rarely
                            own[-2:] = [_merged(own[-2], own[-1], *_parts(wish, n))]
        for (node, wish), own in found.items():
            assert node.columns is not None
            pieces = node.columns[column := wish[0]]
            n = int(pieces.sums[np.searchsorted(pieces.low, wish[1]), 0])
            pieces.look_into(wish[1], reduce(lambda one, more: _merged(one, more, *_parts(wish, n)), own[::-1]))
            node.contents.pop(column, None)

    def _tally(self, rows: Rows, at: npt.NDArray[np.intp], x: Float64, node: Node, wish: Wish, n: int) -> Pieces:
        k, excess = self._k, rows.excess[at].astype(np.int64)
        sums = np.zeros((len(at), 2 + 2 * k), dtype=np.int64)
        sums[:, 0], sums[:, 1], sums[:, 2 + k :] = 1, rows.base[at], excess
        sums[np.arange(len(at)), 2 + rows.labels[at]] = 1 if rows.weights is None else rows.weights[at]
        sides = None
        if node.order is not None and node.survivors is not None and len(node.survivors) > 1:
            m = len(node.survivors)
            along = excess[:, node.order[wish[0], :m]]
            sides = np.zeros((len(at), 2 * k - 1), dtype=np.int64)
            sides[:, 0] = along.min(axis=1)
            sides[:, 1:m] = np.minimum.accumulate(along, axis=1)[:, :-1]
            sides[:, k : k + m - 1] = np.minimum.accumulate(along[:, ::-1], axis=1)[:, ::-1][:, 1:]
        return _merged(Pieces(x, x, sums, sides), None, *_parts(wish, n))

    def _tell_rows_apart(self, node: Node, column: int, n: int) -> list[set[int]]:
        """Up to n hashes of what the rows of every piece of a column hold."""
        if column not in node.contents:
            assert node.columns is not None
            pieces = node.columns[column]
            found: list[set[int]] = [set() for _ in pieces.low]
            for rows in self._source.passed("distinct rows"):
                for other, at in self._routed(rows):
                    if other is not node or not len(at):
                        continue
                    hashes = core.row_hashes(core.as_matrix(np.ascontiguousarray(rows.values[at])), 1)
                    piece = np.searchsorted(pieces.high, rows.values[at, column].astype(np.float64))
                    for i in np.unique(piece).tolist():
                        if len(found[i]) < n:
                            found[i] |= set(np.unique(hashes[piece == i])[:n].tolist())
            node.contents[column] = found
        return node.contents[column]

    def _allowed(self, node: Node, limits: Limits | None) -> list[tuple[int, Pieces]]:
        """The columns of a node that may be cut."""
        assert node.columns is not None
        mask = None if limits is None else limits.columns
        return [(f, pieces) for f, pieces in enumerate(node.columns) if mask is None or mask[f]]

    # Searches ---------------------------------------------------------------------------------------------------------

    def _look(self, node: Node, search: Any) -> tuple[Any, list[Wish]]:
        """What is found as far as is known, and the ranges that may hold something better."""
        if isinstance(search, CheapestCut):
            return self._cheapest(node, slice(2 + self._k, None), _CostOfSides(), search.limits)
        if isinstance(search, FewestDisagree):
            return self._cheapest(node, slice(2, 2 + self._k), _Disagreement(search.gini), search.limits)
        if isinstance(search, FewestMistakes):
            return self._fewest_mistakes(node, search)
        if isinstance(search, CheapestTie):
            return self._cheapest_tie(node, search), []
        assert isinstance(search, LeastInduced)
        return self._least_induced(node, search)

    def _cheapest(
        self, node: Node, payload: slice, score: _CostOfSides | _Disagreement, limits: Limits | None
    ) -> tuple[Any, list[Wish]]:
        """The cut whose sides cost least; see ``cuts/surrogate.cpp``."""
        assert node.columns is not None
        best: tuple[Any, ...] | None = None
        closed: list[tuple[Int64, int, Pieces, npt.NDArray[np.intp]]] = []  # bounds, column, its pieces, which of them
        first: dict[int, Wish | None] = {}  # by column: the range that its lowest cut is in
        for f, pieces in self._allowed(node, limits):
            sums = pieces.sums[:, payload]
            upto, total = np.cumsum(sums, axis=0), sums.sum(axis=0)
            counts = _counted(pieces, limits)
            cuts = np.flatnonzero(_are_allowed(limits, counts[1:-1], counts[-1], 1, 1))
            if len(cuts):
                left, right = upto[cuts], total - upto[cuts]
                cost, second = score.cut(left, right)
                i = int(np.lexsort((second, cost))[0])
                high = float(pieces.high[cuts[i]])
                key = (int(cost[i]), float(second[i]), f, high)
                if best is None or key < best[:4]:
                    best = (*key, score.label(left[i]), score.label(right[i]))
            at = np.flatnonzero(pieces.is_closed & _may_hold(limits, counts, 1, 1))
            if len(at):
                closed.append((score.bounds(upto[at] - sums[at], total - upto[at]), f, pieces, at))
            first[f] = pieces.wish(f, 0) if len(at) and at[0] == 0 else None
        uncut = int(
            score.cut(node.columns[0].sums[:, payload].sum(axis=0)[None], np.zeros((1, self._k), np.int64))[0][0]
        )
        limit = math.inf if best is None else best[0]
        if not score.has_second and limit >= uncut:
            limit = uncut - 1
        wishes = [pieces.wish(f, i) for bounds, f, pieces, at in closed for i in at[bounds <= limit].tolist()]
        if not wishes and not score.has_second and (best is None or best[0] >= uncut):
            # All cuts cost the same: the lowest of the lowest column is wanted.
            for f, lowest in first.items():
                if best is not None and best[2] < f:
                    break
                if lowest is not None:
                    return None, [lowest]
        cut = None if best is None else LeafCut(NodeTest(best[2], best[3]), best[0], best[1], best[4], best[5])
        return cut, wishes

    def _fewest_mistakes(self, node: Node, search: FewestMistakes) -> tuple[Any, list[Wish]]:
        """All cuts that part the fewest rows from their centers; see ``cuts/mistakes.cpp``."""
        assert node.columns is not None
        survivors, fewest, limits = search.node.survivors, -1, search.node.limits
        tied: list[tuple[int, Float64]] = []
        closed: list[tuple[int, Wish]] = []
        for f, pieces in self._allowed(node, limits):
            center = search.mistakes.coordinates[survivors, f]
            if center.min() == center.max():
                continue
            sums = pieces.sums[:, 2 + survivors]
            upto = np.vstack([np.zeros(len(survivors), dtype=np.int64), np.cumsum(sums, axis=0)])
            total, is_closed = upto[-1], pieces.is_closed
            # Cuts lie behind values of rows, and behind centers that are in no closed range.
            thresholds = np.unique(np.concatenate([pieces.high, center]))
            at = np.searchsorted(pieces.high, thresholds, side="right")
            in_closed = np.append(is_closed & True, False)[at] & (thresholds >= np.append(pieces.low, math.inf)[at])
            goes_left = center <= thresholds[:, None]
            counts, n_left = _counted(pieces, limits), goes_left.sum(axis=1)
            is_cut = goes_left.any(axis=1) & ~goes_left.all(axis=1) & ~in_closed
            is_cut &= _are_allowed(limits, counts[at], counts[-1], n_left, len(survivors) - n_left)
            thresholds, at, goes_left = thresholds[is_cut], at[is_cut], goes_left[is_cut]
            mistakes = np.where(goes_left, total - upto[at], upto[at]).sum(axis=1)
            if len(mistakes) and (fewest < 0 or mistakes.min() <= fewest):
                if fewest < 0 or mistakes.min() < fewest:
                    fewest, tied = int(mistakes.min()), []
                tied.append((f, thresholds[mistakes == fewest]))
            n_left = np.maximum((center <= pieces.low[:, None]).sum(axis=1), 1)
            n_right = np.maximum((center >= pieces.high[:, None]).sum(axis=1), 1)
            may_cut = (center.min() < pieces.high) & (center.max() > pieces.low)
            through = np.flatnonzero(is_closed & may_cut & _may_hold(limits, counts, n_left, n_right))
            # At least so many are parted, whichever side the center is on.
            left, right = total - upto[through + 1], upto[through]
            low, high = pieces.low[through, None], pieces.high[through, None]
            inside = (center > low) & (center < high)
            bounds = np.where(inside, np.minimum(left, right), np.where(center <= low, left, right)).sum(axis=1)
            closed += [(bound, pieces.wish(f, i)) for bound, i in zip(bounds.tolist(), through.tolist(), strict=True)]
        wishes = [wish for bound, wish in closed if fewest < 0 or bound <= fewest]
        features = np.repeat(np.array([f for f, _ in tied], dtype=np.int32), [len(x) for _, x in tied])
        found = (fewest, features, np.concatenate([x for _, x in tied]) if tied else np.empty(0))
        return found, wishes

    def _cheapest_tie(self, node: Node, search: CheapestTie) -> int:
        assert node.columns is not None
        survivors, costs = search.node.survivors, []
        for f, x in zip(search.features.tolist(), search.thresholds.tolist(), strict=True):
            pieces = node.columns[f]
            left = pieces.sums[pieces.high <= x, 2 + self._k :].sum(axis=0)
            goes_left = search.mistakes.coordinates[survivors, f] <= x
            right = search.cost_totals - left
            costs.append(int(left[survivors[goes_left]].min()) + int(right[survivors[~goes_left]].min()))
        return costs.index(min(costs))

    def _least_induced(self, node: Node, search: LeastInduced) -> tuple[SeparatingCut | None, list[Wish]]:
        """The cut after which the centers of each side serve their rows best; see ``cuts/induced.cpp``."""
        assert node.columns is not None
        survivors, coordinates, k = search.node.survivors, search.nearest.coordinates, self._k
        m, limits = len(survivors), search.node.limits
        cuts: list[tuple[Int64, ...]] = []
        closed: list[tuple[int, int, int, int, int, int]] = []
        for f, pieces in self._allowed(node, limits):
            counts = _counted(pieces, limits)
            center = np.sort(coordinates[survivors, f])
            assert pieces.sides is not None
            weight = np.append(0, np.cumsum(pieces.sums[:, 2 : 2 + k].sum(axis=1)))
            sides = np.vstack([np.zeros(2 * k - 1, dtype=np.int64), np.cumsum(pieces.sides, axis=0)])
            for s in range(1, m):
                begin, end = center[s - 1], center[s]
                if begin == end:
                    continue
                thresholds = np.append(begin, pieces.high[(pieces.high > begin) & (pieces.high < end)])
                at = np.searchsorted(pieces.high, thresholds, side="right")
                if (at[0] < len(pieces.low)) and pieces.low[at[0]] <= begin < pieces.high[at[0]]:
                    thresholds, at = thresholds[1:], at[1:]
                within = _are_allowed(limits, counts[at], counts[-1], s, m - s)
                thresholds, at = thresholds[within], at[within]
                induced = sides[at, s] + (sides[-1, k - 1 + s] - sides[at, k - 1 + s])
                cuts.append((induced, weight[at], np.full(len(at), s), np.full(len(at), f), thresholds, at))
                inside = pieces.is_closed & (pieces.low < end) & (pieces.high > begin)
                for i in np.flatnonzero(inside & _may_hold(limits, counts, s, m - s)).tolist():
                    least = sides[i, s] + (sides[-1, k - 1 + s] - sides[i + 1, k - 1 + s]) + pieces.sides[i, 0]
                    closed.append((int(least), int(weight[i]), int(weight[i + 1]), s, f, i))
        if not cuts:
            return None, []
        of_all = node.columns[0]
        assert of_all.sides is not None
        base = int(of_all.sums[:, 1].sum())
        current = base + int(of_all.sides[:, 0].sum())
        induced, left, n_left, feature, threshold, at = (np.concatenate(each) for each in zip(*cuts, strict=True))
        rank = _Ranking(search, current, int(weight[-1]), m)
        chosen, scores = rank.best(induced + base, left, left, n_left, feature, threshold)
        if self._has_distinct(node, m):
            is_allowed = np.ones(len(induced), dtype=bool)
            while chosen >= 0 and not self._is_valid(
                node, int(feature[chosen]), int(at[chosen]), int(n_left[chosen]), m
            ):
                is_allowed[chosen] = False
                allowed = np.flatnonzero(is_allowed)
                i = rank.best(*(each[allowed] for each in (induced + base, left, left, n_left, feature, threshold)))[0]
                chosen = int(allowed[i]) if i >= 0 else -1
            if chosen < 0 and not closed:
                chosen = rank.best(induced + base, left, left, n_left, feature, threshold)[0]
        wishes: list[Wish] = []
        if closed:
            bounds = [np.array(each, dtype=np.int64) for each in zip(*closed, strict=True)]
            bound = rank.best(bounds[0] + base, bounds[1], bounds[2], bounds[3], bounds[4], np.zeros(len(closed)))[1]
            limit = math.inf if chosen < 0 else scores[chosen] + 2.0**-40 * abs(scores[chosen])
            for j in np.flatnonzero(bound <= limit).tolist():
                f, i = closed[j][4], closed[j][5]
                wishes.append(node.columns[f].wish(f, i))
        if chosen < 0:
            return None, list(dict.fromkeys(wishes))
        cut = SeparatingCut.at(int(feature[chosen]), float(threshold[chosen]), coordinates, survivors)
        return cut, list(dict.fromkeys(wishes))

    def _has_distinct(self, node: Node, n: int) -> bool:
        """Whether a node has so many distinct rows."""
        assert node.columns is not None
        if any(len(p.low) + int(p.is_closed.sum()) >= n for p in node.columns):
            return True
        return len(set().union(*self._tell_rows_apart(node, 0, n))) >= n

    def _is_valid(self, node: Node, column: int, at: int, n_left: int, n: int) -> bool:
        """Whether so many distinct rows lie among the first pieces of a column, and the rest of n among the others."""
        assert node.columns is not None
        n_values = 1 + node.columns[column].is_closed
        for part, wanted in ((slice(0, at), n_left), (slice(at, None), n - n_left)):
            if n_values[part].sum() >= wanted:
                continue
            if len(set().union(*self._tell_rows_apart(node, column, n)[part])) < wanted:
                return False
        return True


class KnownTree(PassProvider):
    """The provider of a tree whose tests are known: one pass finds all gaps, and what the leaves hold."""

    def __init__(self, source: Source, column: Int32, thresholds: Float64, right: Int32) -> None:
        super().__init__(source)
        self._right, self._is_leaf, n_nodes = right, column < 0, len(column)
        self._place = [0]  # of every node among those of the tests
        self._gaps = np.tile([-math.inf, math.inf], (n_nodes, 1))
        self._n_rows, self._weights = np.zeros(n_nodes, dtype=np.int64), np.zeros((n_nodes, self._k), dtype=np.int64)
        for rows in source.passed("gaps of the tree"):
            reaching = {0: np.arange(len(rows.labels))}
            for node in range(n_nodes):
                at = reaching.pop(node)
                self._n_rows[node] += len(at)
                if self._is_leaf[node]:
                    weights = None if rows.weights is None else rows.weights[at]
                    self._weights[node] += np.bincount(rows.labels[at], weights, self._k).astype(np.int64)
                    continue
                x = rows.values[at, column[node]].astype(np.float64)
                left = x <= thresholds[node]
                reaching[node + 1], reaching[int(right[node])] = at[left], at[~left]
                low, high = self._gaps[node]
                self._gaps[node] = x[left].max(initial=low), x[~left].min(initial=high)

    def partition(self, node: int, test: NodeTest) -> tuple[Gap, Gap]:
        """See :class:`Provider`."""
        place = self._place[node]
        self._place += [place + 1, int(self._right[place])]
        return (float(self._gaps[place, 0]), float(self._gaps[place, 1])), (math.nan, math.nan)

    def n_samples(self, node: int) -> int:
        """See :class:`Provider`."""
        return int(self._n_rows[self._place[node]])

    def leaf_weights(self) -> Int64:
        """See :class:`PassProvider`."""
        return self._weights[[place for place in self._place if self._is_leaf[place]]]


@dataclass(frozen=True)
class _Ranking:
    """How the cuts of a node compare: price and depth."""

    search: LeastInduced
    current: int
    points: int
    centers: int

    def best(self, induced: Int64, low: Int64, high: Int64, n_left: Int64, feature: Any, threshold: Float64) -> Any:
        """The position of the best cut, -1 where there is none, and all scores."""
        search = self.search
        return core.least_depth_score(
            induced.astype(np.int64), low, high, n_left.astype(np.int64), feature.astype(np.int32), threshold,
            self.current, self.points, self.centers, search.nearest.depth_penalty, search.kills_left,
            search.kills_right,
        )  # fmt: skip


class _CostOfSides:
    """Each side of a cut is served by one cluster, at its summed cost."""

    has_second = False

    def cut(self, left: Int64, right: Int64) -> tuple[Int64, Float64]:
        return left.min(axis=1) + right.min(axis=1), np.zeros(len(left))

    def label(self, side: Int64) -> int:
        return int(side.argmin())

    def bounds(self, before: Int64, after: Int64) -> Int64:
        return _least_apart(before, after)


@dataclass(frozen=True)
class _Disagreement:
    """Each side has the commonest label of its rows, and costs all others."""

    has_second: bool

    def cut(self, left: Int64, right: Int64) -> tuple[Int64, Float64]:
        cost = left.sum(axis=1) - left.max(axis=1) + right.sum(axis=1) - right.max(axis=1)
        return cost, _impurity(left) + _impurity(right) if self.has_second else np.zeros(len(left))

    def label(self, side: Int64) -> int:
        return int(side.argmax())

    def bounds(self, before: Int64, after: Int64) -> Int64:
        if self.has_second:
            bounds: Int64 = before.sum(axis=1) - before.max(axis=1) + after.sum(axis=1) - after.max(axis=1)
            return bounds
        return _least_apart(before.sum(axis=1)[:, None] - before, after.sum(axis=1)[:, None] - after)


def _impurity(counts: Int64) -> Float64:
    n = counts.sum(axis=1).astype(np.float64)
    squares = (counts.astype(np.uint64) ** 2).sum(axis=1).astype(np.float64)
    return np.where(n > 0, n - squares / np.where(n > 0, n, 1.0), 0.0)


def _least_apart(left: Int64, right: Int64) -> Int64:
    """Line by line, the least sum of an entry of one and an entry of the other that stands elsewhere."""
    if left.shape[1] < 2:
        return np.full(len(left), np.iinfo(np.int64).max)
    (least_left, second_left, i), (least_right, second_right, j) = map(_two_least, (left, right))
    apart = np.minimum(least_left + second_right, second_left + least_right)
    return np.where(i != j, least_left + least_right, apart)


def _two_least(sums: Int64) -> tuple[Int64, Int64, npt.NDArray[np.intp]]:
    """Of every line the least and the second least entry, and where the least is."""
    two = np.partition(sums, 1, axis=1)
    return two[:, 0], two[:, 1], sums.argmin(axis=1)


def _of_node(search: Any, node: Node) -> Any:
    """The same search at another node; None where that has nothing to find."""
    if isinstance(search, CheapestCut | FewestDisagree):
        return search
    if node.survivors is None or len(node.survivors) < 2:
        return None
    return replace(search, node=SeparationNode(-1, node.survivors, search.node.limits))


def _counted(pieces: Pieces, limits: Limits | None) -> Int64:
    """What the rows before every piece count, and all of them: rows, or their weight."""
    k = (pieces.sums.shape[1] - 2) // 2
    by_weight = limits is not None and limits.by_weight
    return np.append(0, np.cumsum(pieces.sums[:, 2 : 2 + k].sum(axis=1) if by_weight else pieces.sums[:, 0]))


def _are_allowed(limits: Limits | None, left: Int64, total: int, n_left: Any, n_right: Any) -> npt.NDArray[np.bool_]:
    """Whether cuts with so much on their left are within limits; ``n_left``, ``n_right``: clusters on their sides."""
    if limits is None:
        return np.ones(len(left), dtype=bool)
    has_room = np.maximum(n_left, n_right) <= limits.most_centers
    allowed: npt.NDArray[np.bool_] = (
        has_room & (left >= limits.least * n_left) & (total - left >= limits.least * n_right)
    )
    return allowed


def _may_hold(limits: Limits | None, counts: Int64, n_left: Any, n_right: Any) -> npt.NDArray[np.bool_]:
    """Whether each piece may hold an allowed cut with at least so many clusters on its sides."""
    if limits is None:
        return np.ones(len(counts) - 1, dtype=bool)
    has_room = np.maximum(n_left, n_right) <= limits.most_centers
    reaches = (counts[1:] > limits.least * n_left) & (counts[-1] - counts[:-1] > limits.least * n_right)
    may: npt.NDArray[np.bool_] = has_room & reaches
    return may


def _parts(wish: Wish, n: int) -> tuple[Float64 | None]:
    """Where a range of many rows is split: evenly in the order of the float64 numbers; None: at every value."""
    if n <= TALLIED:
        return (None,)
    ends = np.array(wish[1:])
    bits = ends.view(np.int64)
    first, last = (int(b) if b >= 0 else -(b & 0x7FFFFFFFFFFFFFFF) for b in bits.tolist())
    steps = np.array([first + (last - first) * i // PARTS for i in range(1, PARTS)], dtype=object)
    unsigned = [s if s >= 0 else (-s) - 2**63 for s in steps]
    return (np.unique(np.array(unsigned, dtype=np.int64).view(np.float64)),)


def _merged(pieces: Pieces, more: Pieces | None, edges: Float64 | None) -> Pieces:
    """Pieces of the same value, or between the same edges, as one."""
    if more is not None:
        pieces = Pieces(
            np.concatenate([pieces.low, more.low]),
            np.concatenate([pieces.high, more.high]),
            np.concatenate([pieces.sums, more.sums]),
            None if pieces.sides is None or more.sides is None else np.concatenate([pieces.sides, more.sides]),
        )
    order = np.argsort(pieces.low, kind="stable")
    low = pieces.low[order]
    group = low if edges is None else np.searchsorted(edges, low)
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    return Pieces(
        low[first],
        np.maximum.reduceat(pieces.high[order], first),
        np.add.reduceat(pieces.sums[order], first, axis=0),
        None if pieces.sides is None else np.add.reduceat(pieces.sides[order], first, axis=0),
    )
