"""A provider of rows that come in batches: one pass adds up sums for all nodes that are open.

For each node it stores, column by column, the values in order with the sums of their rows: single values, and closed
ranges of many values. A search returns the best cut known so far and the ranges that may hold a better one; another
pass opens these ranges, together with those that other nodes will need. All sums are integers, so the tree is that of
the same rows in memory.

Statistics by node and column from passes over the rows: Gehrke, Ramakrishnan, Ganti (1998), *RainForest*. Ranges that
stay closed by a bound: Alsabti, Ranka, Singh (1998), *CLOUDS*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int32, Int64
from cutwise.table.table import ColumnKind, EncodedTable, as_matrix
from cutwise.tree.criteria.disagreement import FewestDisagree
from cutwise.tree.criteria.induced import Induced, LeastInduced, ModesCut, NearestTwo
from cutwise.tree.criteria.mistakes import CheapestTie, FewestByModes, FewestMistakes
from cutwise.tree.criteria.surrogate import CheapestCut, leaf_cut
from cutwise.tree.limits import Limits
from cutwise.tree.provider import (
    AllRows,
    Category,
    CostPayload,
    Gap,
    LeafCut,
    LevelSums,
    MemoryProvider,
    NodeSums,
    SeparatingCut,
    SeparationNode,
    find_levels,
)
from cutwise.tree.table_cut import table_cut
from cutwise.tree.threshold_tree import NodeTest, ThresholdTree

from .rows import PreparedRows, Slice
from .sums import Gathered, Opened, T, Tallies, Total, nearer, place_of

TALLIED = 1 << 14
"""Most rows of a range that is opened value by value; larger ranges are split into parts first."""

PARTS = 256

OPENED = 1 << 17
"""Rows whose values one pass opens, from the most promising ranges."""


@dataclass(eq=False)
class Pieces:
    """The values of a node by column, in order: single values, and closed ranges, where ``low`` is below ``high``.

    ``column``, ``low``, ``high`` (p,): of each piece; no row of the node is between pieces. ``sums`` (p, 2 + w): number
    of rows, weight, and payload.
    """

    column: Int32
    low: Float64
    high: Float64
    sums: Int64

    def of(self, column: int) -> slice:
        """Slice of the pieces of a column."""
        return slice(*np.searchsorted(self.column, [column, column + 1]))

    def open(self, ranges: Int64, opened: Pieces) -> None:
        """Replace closed ranges by their contents."""
        others = np.delete(np.arange(len(self.low)), ranges)
        order = np.lexsort([np.append(getattr(self, of)[others], getattr(opened, of)) for of in ("low", "column")])
        place = np.argsort(order)
        for name, own in list(vars(self).items()):
            both = np.empty((len(order), *own.shape[1:]), dtype=own.dtype)
            both[place[: len(others)]], both[place[len(others) :]] = own[others], getattr(opened, name)
            setattr(self, name, both)


LABELS, COSTS, SIDES, BASE = "labels", "costs", "sides", "base"
"""Payloads of rows: weight at the label, costs by cluster, least costs on the sides of cuts, least cost of all."""


class Node:
    """A node and the sums of its rows.

    ``totals``: by payload, the sums over all rows; ``pieces``: by payload, the sums by column and piece. ``order``
    (d, k): its surviving centers sorted along every column, the last repeated; only where a search by induced cost
    separates them. ``gap``: neighboring values on the two sides of its threshold, once a pass has found them.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.totals: dict[str, Int64] = {}
        self.pieces: dict[str, Pieces] = {}
        self.survivors: Int32 | None = None
        self.order: Int32 | None = None
        self.test: NodeTest | None = None
        self.children: tuple[Node, Node] | None = None
        self.is_split = False  # in the tree, not only ahead of it
        self.gain = 0  # of a split made ahead
        self.gap: Gap | None = None
        self.contents: dict[int, list[set[int]]] = {}  # by column and piece: hashes of distinct rows
        self.shares: dict[int, tuple[Opened, Int64]] = {}  # by category: losses, distinct rows by level


@dataclass(eq=False)
class LeafRows:
    """All rows of a grown tree, summed up by leaf.

    ``leaves``: of the tree, in the order of ``weights`` (n_leaves, k), the weights by label, and of ``sums``, the sums
    of the values, in the form of the source's ``value_sums``.
    """

    tree: ThresholdTree
    leaves: Int32
    weights: Int64
    sums: Sequence[Int64]

    @property
    def by_label(self) -> tuple[Int32, Int64]:
        """Label and weight of each pair of leaf and label, both (n_leaves * k,)."""
        n_leaves, k = self.weights.shape
        return np.tile(np.arange(k, dtype=np.int32), n_leaves), self.weights.ravel()


def provide(source: PreparedRows) -> LoadedProvider | PassProvider:
    """The provider of rows in batches: all are in memory if they are few."""
    return PassProvider(source) if source.loaded is None else LoadedProvider(source, source.loaded)


def _leaf_sums(source: PreparedRows, n_leaves: int) -> Callable[[Total, Slice, Int32], None]:
    """Function that adds rows to weights by label and sums of values of every leaf."""
    k, value_sums = source.n_clusters, source.value_sums

    def add(found: Total, rows: Slice, leaf: Int32) -> None:
        labels = np.bincount(leaf * k + rows.read("labels"), rows.read("weights"), n_leaves * k)
        found.update([labels.reshape(-1, k).astype(np.int64), *value_sums(rows, leaf, n_leaves)])

    return add


class LoadedProvider(MemoryProvider):
    """All rows of a source, in memory; those of a finished tree are summed up as those of other sources."""

    def __init__(self, source: PreparedRows, table: EncodedTable) -> None:
        super().__init__(table, *source.labels_and_costs)
        self._source = source

    def anew(self) -> LoadedProvider:
        """See :class:`Provider`."""
        return LoadedProvider(self._source, self.table)

    def number_of_row(self, numbers: Mapping[int, int]) -> Int32:
        """See :meth:`PassProvider.number_of_row`."""
        return np.repeat(np.array(list(numbers.values()), dtype=np.int32), self._source.n_clusters)

    def leaf_rows(self, tree: ThresholdTree, leaf_of_row: Int32) -> LeafRows:
        """See :class:`Provider`."""
        leaves, place = leaf_of_row[:: self._source.n_clusters].copy(), np.empty(tree.n_nodes, dtype=np.int32)
        place[leaves] = np.arange(len(leaves))
        add_up = _leaf_sums(self._source, len(leaves))

        def add(found: Total, rows: Slice) -> None:
            add_up(found, rows, place[tree.apply(rows.table.matrix)])

        weights, *sums = self._source.go_over("leaves of the tree", Total(), add).values
        return LeafRows(tree, leaves, weights, sums)


class PassProvider:
    """The :class:`cutwise.tree.provider.Provider` of rows that are gone over in batches."""

    def __init__(self, source: PreparedRows) -> None:
        self._source, self.searched = source, source.searched
        self._k = source.n_clusters
        self._categories = [] if self.searched is None else find_levels(self.searched)
        self._no_rows = as_matrix(np.empty((0, self.n_columns)))
        self._made: list[Node] = []
        self._seen_leaves: tuple[list[Node], Int64, list[Int64]] = [], np.empty(0, dtype=np.int64), []
        self._root = self._new_node()
        self._nodes: list[Node] = [self._root]

    # What a tree asks -------------------------------------------------------------------------------------------------

    @property
    def n_columns(self) -> int:
        """See :class:`Provider`."""
        return len(self._source.bins.begin) - 1

    def kind(self, column: int) -> ColumnKind:
        """See :class:`Provider`."""
        return self._source.kinds[column]

    def values(self, node: int, column: int, cut: NodeTest) -> tuple[Float64, Int64]:
        """See :class:`Provider`; one value for all rows of a piece."""
        own = self._nodes[node]
        if not own.pieces:
            self._columns(own, LABELS)
        kind = next(iter(own.pieces))
        for category in self._categories:
            if category.source == column:
                sums = self._level_sums(own, kind, category)
                present = np.flatnonzero(sums[:, 0])
                return present.astype(np.float64), sums[present, 1]
        self._exact_sides(own, kind, cut)
        pieces = own.pieces[kind]
        place = pieces.of(cut.feature)
        values = pieces.high[place]
        return np.where(np.isinf(values), np.nan, values), pieces.sums[place, 1]

    def size(self, node: int) -> int:
        """See :class:`Provider`."""
        own = self._nodes[node]
        known = next(iter(own.totals.values()), None)
        return int((self._total(own, LABELS) if known is None else known)[0])

    def n_samples(self, node: int) -> int:
        """See :class:`Provider`."""
        return self.size(node)

    def sums(self, node: int, payload: Any) -> NodeSums:
        """See :class:`Provider`; sums by bin stay in this object."""
        own, kind = self._nodes[node], COSTS if isinstance(payload, CostPayload) else LABELS
        if kind not in own.totals:
            self._columns(own, kind)
        return NodeSums(self.totals(node, payload), None)

    def totals(self, node: int, payload: Any) -> Int64:
        """See :class:`Provider`."""
        return self._total(self._nodes[node], COSTS if isinstance(payload, CostPayload) else LABELS)[2:].copy()

    def follow(self, separation: Any, node: SeparationNode | None, children: Sequence[SeparationNode]) -> None:
        """See :class:`Provider`."""
        for child in children:
            own = self._nodes[child.number]
            own.survivors = child.survivors
            if isinstance(separation, NearestTwo) and len(child.survivors) > 1:
                along = np.argsort(separation.coordinates[child.survivors], axis=0, kind="stable").T
                order = child.survivors[np.pad(along, ((0, 0), (0, self._k - along.shape[1])), mode="edge")]
                own.order = np.ascontiguousarray(order, dtype=np.int32)

    def partition(self, node: int, test: NodeTest) -> None:
        """See :class:`Provider`."""
        own = self._nodes[node]
        self._split(own, test)
        own.is_split, own.pieces, own.contents, own.shares = True, {}, {}, {}
        assert own.children is not None
        self._nodes += own.children

    def gaps(self, node: int) -> tuple[Gap, Gap]:
        """See :class:`Provider`."""
        own = self._nodes[node]
        if own.test is not None and own.test.levels is not None:
            return (math.nan, math.nan), (math.nan, math.nan)
        if own.gap is None:
            self._measure_leaves()
        assert own.gap is not None
        return own.gap, (math.nan, math.nan)

    def number_of_row(self, numbers: Mapping[int, int]) -> Int32:
        """See :class:`Provider`; by pair of leaf and label, k pairs a leaf, as in :class:`LeafRows`."""
        return np.repeat(np.array(list(numbers.values()), dtype=np.int32), self._k)

    def leaf_rows(self, tree: ThresholdTree, leaf_of_row: Int32) -> LeafRows:
        """See :class:`Provider`."""
        weights, sums = self._measure_leaves()
        return LeafRows(tree, leaf_of_row[:: self._k].copy(), weights, sums)

    def anew(self) -> PassProvider:
        """See :class:`Provider`."""
        return PassProvider(self._source)

    def all_rows(self, columns: Int64) -> AllRows:
        """See :class:`Provider`."""

        def add(found: Gathered, rows: Slice, numbers: Int32) -> None:
            values = core.gather_rows(rows.read("matrix"), np.arange(len(numbers)), columns)
            found.append([values, *(rows.read(name) for name in ("labels", "weights", "excess"))])

        values, labels, weights, costs = zip(*self._go_over("all rows", Gathered(), add, columns.tolist()), strict=True)
        return AllRows(
            np.concatenate(values),
            np.concatenate(labels),
            None if weights[0] is None else np.concatenate(weights),
            np.concatenate(costs),
        )

    def search(self, node: int, search: Any) -> Any:
        """See :class:`Provider`."""
        own = self._nodes[node]
        if isinstance(search, FewestByModes):
            return search.best(
                self._levels(own, LABELS, search.node.limits), partial(self._sums_of_sides, own), self.searched
            )
        kind = _KINDS[type(search)]
        while True:
            self._columns(own, kind)
            found, pending = self._search_bins(own, search)
            if not len(pending):
                break
            # Other open nodes will be searched in the same way: open the ranges that they need, too.
            of_nodes = {own: pending}
            for other in self._open():
                if other is own or other.children is not None or kind not in other.pieces:
                    continue
                like = _of_node(search, other)
                if like is not None and len(wanted := self._search_bins(other, like)[1]):
                    of_nodes[other] = wanted
            self._open_bins(kind, of_nodes)
        if isinstance(search, CheapestCut):
            found = search.or_set(found, self._levels(own, kind, search.limits), self.searched)
        elif isinstance(search, LeastInduced):
            return search.best(found, self.searched, partial(self._by_modes, own, search))
        if isinstance(found, LeafCut) and own.children is None:
            self._split(own, self._table_test(node, found.test))
            total = own.totals[kind][2:]
            own.gain = int(total.min() if kind == COSTS else total.sum() - total.max()) - int(found.cost)
        return found

    # Passes -----------------------------------------------------------------------------------------------------------

    def _new_node(self) -> Node:
        self._made.append(Node(len(self._made)))
        return self._made[-1]

    def _open(self) -> list[Node]:
        """Leaves, and children of likely next splits: the half of the splits made ahead that gain most."""
        leaves = [node for node in self._nodes if not node.is_split]
        ahead = sorted((leaf for leaf in leaves if leaf.children is not None), key=lambda leaf: -leaf.gain)
        return leaves + [child for leaf in ahead[: (len(ahead) + 1) // 2] for child in leaf.children or ()]

    def _total(self, node: Node, kind: str) -> Int64:
        """Sums over all rows of a node; the same pass adds up those of all open nodes."""
        if kind not in node.totals:
            for other in self._open() if kind == COSTS else ():
                if other.survivors is not None and len(other.survivors) > 1 and LABELS not in other.pieces:
                    self._columns(other, LABELS)  # its cuts are searched next
                    return node.totals[kind]
            self._add_up((), None, kind)
        return node.totals[kind]

    def _columns(self, node: Node, kind: str) -> None:
        """Add up the pieces of a node and, by the same pass, those of other open nodes."""
        if kind not in node.pieces:
            others = [n for n in self._open() if kind not in n.pieces and n is not node]
            if kind == SIDES:
                others = [n for n in others if n.order is not None]
            elif node.survivors is not None and len(node.survivors) > 1:
                # A leaf with a single center is not searched before expansion.
                others = [n for n in others if n.survivors is None or len(n.survivors) > 1]
            room = max(1, self._source.most_bytes // (8 * int(self._source.bins.begin[-1]) * _width(kind, self._k)))
            # Where nodes are separated by labels, costs of all rows settle ties.
            more = {SIDES: BASE, LABELS: None if node.survivors is None else COSTS}.get(kind)
            self._add_up([node, *others[: room - 1]], kind, more)

    def _split(self, node: Node, test: NodeTest) -> None:
        """Make the children of a node, unless they were made ahead."""
        if node.children is not None and node.test == test:
            return
        node.test, node.children, node.gap = test, (self._new_node(), self._new_node()), None
        if test.levels is not None:
            node.gap = math.nan, math.nan
        for kind in node.pieces:
            if isinstance(sides := self._sides(node, kind, test), tuple):
                for child, sums in zip(node.children, sides, strict=True):
                    child.totals[kind] = sums

    def _go_over(
        self, what: str, sums: T, add: Callable[[T, Slice, Int32], object], columns: Iterable[int] | None = ()
    ) -> T:
        """Add all rows to sums; ``add`` gets each batch with the node number of every row.

        ``columns``: columns that ``add`` reads, beside those of the nodes' tests; None: all.
        """
        inner = [node for node in self._made if node.children is not None]
        column, left, right = np.full((3, len(self._made)), -1, dtype=np.int32)
        threshold, sets = np.full(len(self._made), np.nan), dict[int, NodeTest]()
        for node in inner:
            assert node.test is not None
            assert node.children is not None
            i = node.number
            left[i], right[i] = node.children[0].number, node.children[1].number
            if node.test.levels is not None:
                sets[i] = node.test
            else:
                column[i], threshold[i] = node.test.feature, node.test.threshold

        def add_in_nodes(found: tuple[T, Total], rows: Slice) -> None:
            nodes = np.zeros(rows.n, dtype=np.int32)
            while (left[nodes] >= 0).any():
                gaps = np.tile([-math.inf, math.inf], (len(column), 1))
                core.step_down(rows.read("matrix"), nodes, column, threshold, left, right, gaps)
                found[1].update([gaps])
                for i in sets.keys() & (np.unique(nodes).tolist() if sets else ()):
                    at = np.flatnonzero(nodes == i)
                    nodes[at] = np.where(sets[i].holds(rows.read("values")[at, sets[i].feature]), left[i], right[i])
            add(found[0], rows, nodes)

        if columns is not None:
            columns = sorted({*columns, *column.tolist()} - {-1})
        sums, gaps = self._source.go_over(what, (sums, Total(nearer)), add_in_nodes, columns)
        for node in inner if gaps.values else ():
            if node.gap is None:
                low, high = gaps.values[0][node.number].tolist()
                node.gap = low, high
        return sums

    def _layers(self, nodes: Iterable[Node]) -> list[Int32]:
        """Arrays from node number to place in ``nodes``, or -1: one for these nodes, one for their children."""
        own, above = np.full((2, len(self._made)), -1, dtype=np.int32)
        for i, node in enumerate(nodes):
            own[node.number] = i
            for child in node.children or ():
                above[child.number] = i
        return [layer for layer in (own, above) if (layer >= 0).any()]

    def _measure_leaves(self) -> tuple[Int64, list[Int64]]:
        """Weights by label and sums of values of every leaf; the pass also finds the gaps of tests."""
        leaves = [node for node in self._nodes if not node.is_split]
        if self._seen_leaves[0] != leaves:
            layers, add_up = self._layers(leaves), _leaf_sums(self._source, len(leaves))

            def add(found: Total, rows: Slice, numbers: Int32) -> None:
                add_up(found, rows, np.maximum.reduce([layer[numbers] for layer in layers]))

            weights, *sums = self._go_over("leaves of the tree", Total(), add, None).values
            self._seen_leaves = leaves, weights, sums
        return self._seen_leaves[1:]

    def _add_up(self, nodes: Sequence[Node], by_bin: str | None, in_all: str | None) -> None:
        """Add up one payload of ``nodes`` by column and bin, and another over all rows of every open node."""
        source, bins, k = self._source, self._source.bins, self._k
        whole = [node for node in self._open() if in_all is not None and in_all not in node.totals]
        layers, layers_of_whole = self._layers(nodes), self._layers(whole)
        # The order of centers differs by searched column; other sums follow from those of the table's columns.
        is_sides = by_bin == SIDES
        begin = bins.begin if is_sides else bins.coded_begin
        order = _orders(nodes) if is_sides else _NO_ORDER

        def add(found: tuple[Int64, Int64], rows: Slice, numbers: Int32) -> None:
            weights = rows.read("weights")
            for place in (layer[numbers] for layer in layers):
                if (place >= 0).any():
                    codes = bins.codes(rows.read("codes")) if is_sides else rows.read("codes")
                    core.add_to_tallies(codes, begin, place, weights, _payload(rows, by_bin, k), *order, found[0])
            for place in (layer[numbers] for layer in layers_of_whole):
                if (place >= 0).any():
                    codes, one_bin = np.zeros((rows.n, 1), dtype=np.uint8), np.array([0, 1])
                    payload = _payload(rows, in_all, k)
                    core.add_to_tallies(codes, one_bin, place, weights, payload, *_NO_ORDER, found[1])

        nothing = (
            np.zeros((len(nodes), int(begin[-1]), _width(by_bin, k)), dtype=np.int64),
            np.zeros((len(whole), 1, _width(in_all, k)), dtype=np.int64),
        )
        by_node, totals = self._go_over("sums of nodes", nothing, add)
        for node, total in zip(whole, totals, strict=True):
            node.totals[str(in_all)] = total[0]
        column = np.repeat(np.arange(self.n_columns, dtype=np.int32), np.diff(bins.begin))
        for node, sums in zip(nodes, by_node if is_sides else bins.sums(by_node), strict=True):
            own = np.flatnonzero(sums[:, 0])
            node.pieces[str(by_bin)] = Pieces(column[own], source.low[own], source.high[own], sums[own])
            node.totals[str(by_bin)] = sums[: bins.begin[1]].sum(axis=0)

    def _open_bins(self, kind: str, pending: Mapping[Node, Int64]) -> None:
        """Open closed ranges of nodes: by value, or with many rows by parts of equal length in the order of float64."""
        at_once = min(OPENED, self._source.most_bytes // (8 * (4 + _width(kind, self._k))))
        nodes, taken = list(pending), _ranges_within(at_once, kind, pending)
        first = np.cumsum([0, *map(len, taken)])
        ranges = [(node.pieces[kind], own) for node, own in zip(nodes, taken, strict=True)]
        column, low, high = (
            np.concatenate([getattr(pieces, name)[own] for pieces, own in ranges]) for name in ("column", "low", "high")
        )
        n_rows = np.concatenate([pieces.sums[own, 0] for pieces, own in ranges])
        parts = np.where(n_rows > TALLIED, PARTS, 0).astype(np.uint64)
        step = np.maximum((place_of(high) - place_of(low)) // np.maximum(parts, 1), 1)
        step[parts == 0] = 1
        layers, k, bottom = self._layers(nodes), self._k, place_of(low)
        order = _orders(nodes)[0] if kind == SIDES else None

        def add(found: Tallies, rows: Slice, numbers: Int32) -> None:
            for layer in layers:
                at, which, x = core.rows_in_ranges(rows.read("matrix"), layer[numbers], first, column, low, high)
                if not len(at):
                    continue
                of_node = np.searchsorted(first, which, side="right") - 1
                along = None if order is None else order[of_node, column[which]]
                sums = _sums_of_rows(rows, at, kind, k, along)
                found.add(Opened(which, (place_of(x) - bottom[which]) // step[which], x, x, sums), 2 * at_once)

        opened = self._go_over("ranges of values", Tallies(), add, column.tolist()).merged()
        for i, node in enumerate(nodes):
            own = slice(*np.searchsorted(opened.which, first[i : i + 2]))
            inside = Pieces(column[opened.which[own]], opened.low[own], opened.high[own], opened.sums[own])
            node.pieces[kind].open(taken[i], inside)
            for f in column[first[i] : first[i + 1]].tolist():
                node.contents.pop(f, None)

    # Sets of levels --------------------------------------------------------------------------------------------------

    def _table_test(self, node: int, test: NodeTest) -> NodeTest:
        """Turn the cut found for a leaf into a test of the table's columns."""
        if self.searched is None:
            return test
        source = test.feature if test.levels is not None else int(self.searched.source[test.feature])
        return table_cut(self.searched, test, partial(self.values, node, source, test), None).cut

    def _level_sums(self, node: Node, kind: str, category: Category) -> Int64:
        """Sums by level; for ``SIDES`` only number of rows and weight are valid."""
        pieces, first = node.pieces[kind], int(category.columns[0])
        found = np.zeros((category.n_levels, pieces.sums.shape[1]), dtype=np.int64)
        place = slice(*np.searchsorted(pieces.column, [first, int(category.columns[-1]) + 1]))
        column, sums, is_level = pieces.column[place] - first, pieces.sums[place], pieces.high[place] == 1.0
        if category.n_levels > len(category.columns):
            found[is_level.astype(np.intp)] = sums
        else:
            found[column[is_level]] = sums[is_level]
        return found

    def _sides(self, node: Node, kind: str, test: NodeTest) -> tuple[Int64, Int64] | Int64:
        """Sums of the rows on each side of a test, or the closed ranges that it cuts through."""
        pieces, feature = node.pieces[kind], test.feature
        if test.levels:
            category = next(category for category in self._categories if category.source == feature)
            sums = self._level_sums(node, kind, category)
            left = np.isin(np.arange(len(sums)), test.levels)
        else:
            if test.levels is not None and self.searched is not None:  # whether a value is missing
                feature = int(self.searched.of(feature)[0])
            place = pieces.of(feature)
            low, high, sums = pieces.low[place], pieces.high[place], pieces.sums[place]
            if (crossed := (low <= test.threshold) & (test.threshold < high)).any():
                return np.arange(place.start, place.stop)[crossed]
            left = high <= test.threshold if test.levels is None else high == math.inf
        return sums[left].sum(axis=0), sums[~left].sum(axis=0)

    def _exact_sides(self, node: Node, kind: str, test: NodeTest) -> tuple[Int64, Int64]:
        """Sums of the rows on each side of a test, by further passes where they are not known."""
        self._columns(node, kind)
        while not isinstance(sides := self._sides(node, kind, test), tuple):
            self._open_bins(kind, {node: sides})
        return sides

    def _sums_of_sides(self, node: Node, cut: SeparatingCut) -> tuple[Int64, Int64]:
        """Costs by cluster of the rows on each side of a cut."""
        left, right = self._exact_sides(node, COSTS, cut.test)
        return left[2:], right[2:]

    def _levels(self, node: Node, kind: str, limits: Limits | None) -> Iterator[LevelSums]:
        """Categories that may be cut, with their sums by level."""
        for category in self._categories:
            is_allowed = limits is None or limits.columns is None or limits.columns[category.columns[0]]
            if category.n_levels == 2 or not is_allowed:
                continue
            sums = self._level_sums(node, kind, category)
            counts, allowed = _node_limits(limits, sums)
            yield LevelSums(
                category, counts, allowed, np.ascontiguousarray(sums[:, 2:]), partial(np.ascontiguousarray, sums[:, 1]),
                partial(self._level_costs, node, category),
            )  # fmt: skip

    def _level_costs(self, node: Node, category: Category) -> Int64:
        self._columns(node, COSTS)
        return np.ascontiguousarray(self._level_sums(node, COSTS, category)[:, 2:])

    def _by_modes(
        self, node: Node, search: LeastInduced, known_score: float | None
    ) -> Iterator[tuple[Category, ModesCut | None]]:
        """The best set of levels of every category."""
        nearest, survivors = search.nearest, search.node.survivors
        current = int(node.totals[BASE][2] + node.totals[SIDES][2])
        for by_level in self._levels(node, SIDES, search.node.limits):
            category = by_level.category
            modes = category.modes(nearest.coordinates)[survivors]
            if len(np.unique(modes)) < 2:
                continue
            if category.source not in node.shares:
                self._add_up_shares(node, nearest)
            opened, distinct = node.shares[category.source]
            shares = opened.which, opened.part, opened.sums[:, 0].copy()
            found = search.modes_cut(by_level, shares, by_level.weight(), distinct, current, known_score)
            yield category, found

    def _add_up_shares(self, node: Node, nearest: NearestTwo) -> None:
        """Add up losses and distinct rows by level: of a node and, by the same pass, of other open nodes."""
        pending = [
            (own, category, category.modes(nearest.coordinates)[own.survivors])
            for own in dict.fromkeys([node, *self._open()])
            if own.survivors is not None and SIDES in own.pieces and not own.shares
            for category in self._categories
            if category.n_levels > 2
        ]
        pending = [each for each in pending if len(np.unique(each[2])) > 1]
        survivors: list[Any] = [own.survivors for own, _, _ in pending]
        layers = [self._layers([own]) for own, _, _ in pending]
        weights = [self._level_sums(own, SIDES, category)[:, 1].copy() for own, category, _ in pending]

        def add(found: list[tuple[Tallies, list[set[int]]]], rows: Slice, numbers: Int32) -> None:
            hashes = core.row_hashes(rows.read("matrix"), 1)
            for (_, category, modes), clusters, of_node, weight, (tallies, distinct) in zip(
                pending, survivors, layers, weights, found, strict=True
            ):
                at = np.flatnonzero(np.any([layer[numbers] >= 0 for layer in of_node], axis=0))
                codes = rows.read("values")[at, category.source].astype(np.int32)
                excess = rows.read("excess")
                which, part, loss = core.mode_shares(codes, at.astype(np.int32), excess, weight, clusters, modes)
                ends = np.zeros(len(which))
                tallies.add(Opened(which, part, ends, ends, loss[:, np.newaxis]), 2 * OPENED)
                for level in np.unique(codes).tolist():
                    if len(distinct[level]) < len(modes):
                        distinct[level] |= set(np.unique(hashes[at[codes == level]])[: len(modes)].tolist())

        sums = [(Tallies(), [set[int]() for _ in range(category.n_levels)]) for _, category, _ in pending]
        found = self._go_over("levels and centers", sums, add, None)
        for (own, category, _), (tallies, distinct) in zip(pending, found, strict=True):
            own.shares[category.source] = tallies.merged(), np.array([len(rows) for rows in distinct], dtype=np.int64)

    def _distinct_rows(self, node: Node, column: int, n: int) -> list[set[int]]:
        """Hashes of distinct rows in every piece of a column, n or more if there are that many."""
        if column not in node.contents:
            high = node.pieces[SIDES].high[node.pieces[SIDES].of(column)]
            found: list[set[int]] = [set() for _ in high]
            layers = self._layers([node])

            def add(found: list[set[int]], rows: Slice, numbers: Int32) -> None:
                at = np.flatnonzero(np.any([layer[numbers] >= 0 for layer in layers], axis=0))
                if not len(at):
                    return
                matrix, one = rows.read("matrix"), np.array([column])
                hashes = core.row_hashes(matrix, 1)[at]
                piece = np.searchsorted(high, core.gather_rows(matrix, at, one)[:, 0])
                for i in np.unique(piece).tolist():
                    if len(found[i]) < n:
                        found[i] |= set(np.unique(hashes[piece == i])[:n].tolist())

            found = self._go_over("distinct rows", found, add, None)
            node.contents[column] = found
        return node.contents[column]

    # Searches ---------------------------------------------------------------------------------------------------------

    def _search_bins(self, node: Node, search: Any) -> tuple[Any, Int64]:
        """The best cut known so far, and the ranges that may hold a better one, the most promising first."""
        if isinstance(search, CheapestTie):
            return self._cheapest_tie(node, search), np.empty(0, dtype=np.int64)
        kind, k = _KINDS[type(search)], self._k
        pieces, totals = node.pieces[kind], node.totals[kind][2:]
        bins = core.bins_alone(np.searchsorted(pieces.column, np.arange(self.n_columns + 1)), pieces.low, pieces.high)
        _, limits = _node_limits(search.limits if isinstance(search, CheapestCut) else search.node.limits, pieces.sums)
        rows, matrix = np.empty(0, dtype=np.int32), self._no_rows
        sums = np.ascontiguousarray(pieces.sums[:, 2:])
        found: Any
        if isinstance(search, FewestDisagree):
            found = leaf_cut(core.best_disagreement_cut(
                bins, matrix, rows, rows, None, sums, totals, search.gini, limits, 1, search.gini_alone
            ))  # fmt: skip
        elif isinstance(search, CheapestCut):
            costs = np.empty((0, k), dtype=np.int64)
            found = leaf_cut(core.best_surrogate_cut(bins, matrix, rows, costs, sums, totals, None, limits))
        elif isinstance(search, FewestMistakes):
            found = core.fewest_mistakes(
                bins, matrix, rows, rows, None, rows, sums[:, :, None], totals[:, None], search.mistakes.coordinates,
                search.node.survivors, limits,
            )  # fmt: skip
        else:
            found = self._least_induced(node, search, bins, limits)
        at, bounds = bins.requested
        at = at[np.argsort(bounds, kind="stable")]
        return found, at[np.sort(np.unique(at, return_index=True)[1])]

    def _cheapest_tie(self, node: Node, search: CheapestTie) -> int:
        """Index of the cut whose sides cost least, by a pass of its own."""
        survivors, costs = search.node.survivors, list[int]()
        starts = [0, *np.flatnonzero(np.diff(search.features)) + 1, len(search.features)]
        groups = [slice(i, min(i + 255, end)) for start, end in pairwise(starts) for i in range(start, end, 255)]
        begin = np.cumsum([0, *(group.stop - group.start + 1 for group in groups)])
        columns, ends = search.features[[group.start for group in groups]].astype(np.int64), np.zeros((2, begin[-1]))
        sums = np.zeros((1, begin[-1], 2 + self._k), dtype=np.int64)
        layers, thresholds = self._layers([node]), search.thresholds

        def add(sums: Int64, rows: Slice, numbers: Int32) -> None:
            matrix = as_matrix(core.gather_rows(rows.read("matrix"), np.arange(len(numbers)), columns))
            codes = core.bin_codes(matrix, thresholds, begin, *ends.copy())
            weights, excess = rows.read("weights"), rows.read("excess")
            for layer in layers:
                core.add_to_tallies(codes, begin, layer[numbers], weights, excess, *_NO_ORDER, sums)

        sums = self._go_over("cuts that tie", sums, add, columns.tolist())
        for group, first in zip(groups, begin.tolist(), strict=False):
            *upto, total = np.cumsum(sums[0, first : first + group.stop - group.start + 1, 2:], axis=0)
            for x, left in zip(search.thresholds[group].tolist(), upto, strict=True):
                goes_left = search.mistakes.coordinates[survivors, search.features[group.start]] <= x
                right = total - left
                costs.append(int(left[survivors[goes_left]].min()) + int(right[survivors[~goes_left]].min()))
        return costs.index(min(costs))

    def _least_induced(
        self, node: Node, search: LeastInduced, bins: core.Encoded, limits: core.NodeLimits | None
    ) -> Induced | None:
        """The best cut with as many distinct rows as centers on each side or, if there is none, the best of all."""
        nearest, survivors, pieces = search.nearest, search.node.survivors, node.pieces[SIDES]
        m, base, valid = len(survivors), int(node.totals[BASE][2]), np.empty((2, self.n_columns, self._k))
        valid[:] = all_valid = np.array([-math.inf, math.inf]).reshape(2, 1, 1)
        needs_distinct = self._has_distinct(node, int(np.bincount(pieces.column, minlength=1).argmax()), slice(None), m)
        while True:
            found = core.best_cut_of_sides(
                bins, self._no_rows, pieces.sums, base, nearest.coordinates, survivors, nearest.depth_penalty,
                search.kills_left, search.kills_right, valid, limits,
            )  # fmt: skip
            if found is None and needs_distinct and not len(bins.requested[0]):
                needs_distinct, valid[:] = False, all_valid
                continue
            if found is None:
                return None
            score, induced, feature, threshold = found
            cut = SeparatingCut.at(feature, threshold, nearest.coordinates, survivors)
            n_left = int(cut.goes_left.sum())
            at = int(np.searchsorted(pieces.high[pieces.of(feature)], threshold, side="right"))
            if needs_distinct and not self._has_distinct(node, feature, slice(at), n_left):
                valid[0, feature, n_left] = np.nextafter(threshold, math.inf)
            elif needs_distinct and not self._has_distinct(node, feature, slice(at, None), m - n_left):
                valid[1, feature, n_left] = threshold
            else:
                return Induced(needs_distinct, score, induced, cut)

    def _has_distinct(self, node: Node, column: int, part: slice, wanted: int) -> bool:
        """Whether ``part`` of a column's pieces has at least ``wanted`` distinct rows."""
        own = node.pieces[SIDES].of(column)
        n_survivors = 0 if node.survivors is None else len(node.survivors)
        return len(range(own.start, own.stop)[part]) >= wanted or (
            len(set().union(*self._distinct_rows(node, column, n_survivors)[part])) >= wanted
        )


_KINDS = {CheapestCut: COSTS, CheapestTie: LABELS, FewestDisagree: LABELS, FewestMistakes: LABELS, LeastInduced: SIDES}


_NO_ORDER: tuple[Int32 | None, Int32] = None, np.ones(1, dtype=np.int32)


def _node_limits(limits: Limits | None, sums: Int64) -> tuple[Int64 | None, core.NodeLimits | None]:
    """Counts of rows for limits, by piece or level, and the limits as searches of the core take them."""
    if limits is None:
        return None, None
    counts = np.ascontiguousarray(sums[:, int(limits.by_weight)])
    return counts, core.NodeLimits(limits.columns, counts, limits.least, limits.most_centers)


def _orders(nodes: Iterable[Node]) -> tuple[Int32, Int32]:
    """The surviving centers of nodes along every column, (m, d, k), and their numbers, (m,)."""
    order = [node.order for node in nodes if node.order is not None]
    return np.array(order), np.array([len(own.survivors) for own in nodes if own.survivors is not None], np.int32)


def _payload(rows: Slice, kind: str | None, k: int) -> npt.NDArray[Any]:
    """Payload of every row of a batch."""
    if kind != LABELS:
        payload: npt.NDArray[Any] = rows.read("base")[:, None] if kind == BASE else rows.read("excess")
        return payload
    labels: Int32 = rows.read("labels")
    weights: Int64 | None = rows.read("weights")
    payload = np.zeros((len(labels), k), dtype=np.int32 if weights is None else np.int64)
    payload[np.arange(len(labels)), labels] = 1 if weights is None else weights
    return payload


def _width(kind: str | None, k: int) -> int:
    """Width of sums: number of rows, weight, and payload."""
    return 2 + {SIDES: 2 * k - 1, BASE: 1}.get(str(kind), k)


def _sums_of_rows(rows: Slice, at: Int32, kind: str, k: int, order: Int64 | None) -> Int64:
    """What each of some rows adds; ``order`` (n_rows, k): for ``SIDES``, the centers along the column of each row."""
    weights = rows.read("weights")
    sums = np.empty((len(at), _width(kind, k)), dtype=np.int64)
    sums[:, 0], sums[:, 1] = 1, 1 if weights is None else weights[at]
    if order is None:
        sums[:, 2:] = _payload(rows, kind, k)[at]
    else:
        along = np.take_along_axis(rows.read("excess")[at], order, axis=1)
        sums[:, 2] = along.min(axis=1)
        sums[:, 3 : 2 + k] = np.minimum.accumulate(along, axis=1)[:, :-1]
        sums[:, 2 + k :] = np.minimum.accumulate(along[:, ::-1], axis=1)[:, -2::-1]
    return sums


def _ranges_within(room: int, kind: str, pending: Mapping[Node, Int64]) -> list[Int64]:
    """The ranges of each node that are opened together, within so many cells; at least one."""
    taken = list[Int64]()
    for node, wanted in pending.items():
        n_rows = node.pieces[kind].sums[wanted, 0]
        cells = np.append(0, np.cumsum(np.where(n_rows <= TALLIED, n_rows, PARTS)))
        n_taken = max(int(np.searchsorted(cells, room, side="right")) - 1, 0 if taken else 1)
        taken.append(np.sort(wanted[:n_taken]))
        room -= int(cells[n_taken])
    return taken


def _of_node(search: Any, node: Node) -> Any:
    """The same search for another node; None if there is nothing to find."""
    if isinstance(search, CheapestCut):
        return search
    if node.survivors is None or len(node.survivors) < 2 or isinstance(search, CheapestTie):
        return None
    return replace(search, node=SeparationNode(-1, node.survivors, search.node.limits))
