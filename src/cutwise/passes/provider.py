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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
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
from cutwise.tree.provider import AllRows, CostPayload, Gap, LeafCut, NodeSums, SeparatingCut, SeparationNode
from cutwise.tree.threshold_tree import NodeTest, ThresholdTree

from .sums import Opened, place_of

Int32 = npt.NDArray[np.int32]

Int64 = npt.NDArray[np.int64]

Float64 = npt.NDArray[np.float64]

TALLIED = 1 << 14
"""A range of so many rows is looked into value by value; one of more is split in parts first."""

PARTS = 256

OPENED = 1 << 18
"""Rows whose values are looked into by one pass: those of the ranges that promise most."""

MOST_BYTES = 1 << 26
"""Sums that one pass adds up: of as many nodes as there is room for."""


@dataclass(frozen=True, order=True)
class Wish:
    """A range of a column that is to be looked into.

    ``bound``: no cut inside is better. ``n``: rows in it.
    """

    bound: float
    column: int
    low: float
    high: float
    n: int


class Rows(Protocol):
    """A batch, and what every row adds, by name; read when it is asked for.

    ``"values"`` (n, d). ``"codes"`` (n, d) uint8: bins. ``"labels"`` (n,). ``"base"`` (n,), ``"excess"`` (n, k):
    fixed-point costs, the row's least and what is above it. ``"weights"`` (n,): None where each row counts once.
    ``"nodes"`` (n,): that each row was in when it was last seen, 0 at first: kept or forgotten, as the source likes.
    """

    def read(self, name: str) -> Any:
        """One of these, the same array every time."""
        ...


class Source(Protocol):
    """Rows that can be gone over as often as wanted.

    ``kinds``: of the d columns. ``begin`` (d + 1,): the first bin of each. ``low``, ``high`` (begin[d],): the least
    and the largest value of every bin. ``n_clusters``: k.
    """

    kinds: tuple[ColumnKind, ...]
    begin: Int64
    low: Float64
    high: Float64
    n_clusters: int

    def passed(self, what: str, owner: object) -> Iterator[Rows]:
        """All rows once; ``what`` the pass is for, ``owner``: whose nodes they are in."""
        ...


@dataclass(eq=False)
class Pieces:
    """The values of a node in one column, in order: single ones, and closed ranges, where ``low`` is below ``high``.

    ``low``, ``high`` (p,): no row of the node is in between. ``sums`` (p, 2 + w): rows, weight, and what rows add.
    """

    low: Float64
    high: Float64
    sums: Int64

    @property
    def is_closed(self) -> npt.NDArray[np.bool_]:
        """By piece."""
        return self.low < self.high

    @property
    def added(self) -> Int64:
        """What the rows of every piece add, (p, w)."""
        return self.sums[:, 2:]

    def wish(self, column: int, i: int, bound: float = -math.inf) -> Wish:
        """The range of a piece of a column."""
        return Wish(bound, column, float(self.low[i]), float(self.high[i]), int(self.sums[i, 0]))

    def look_into(self, low: float, opened: Pieces) -> None:
        """Put what a closed range holds in its place."""
        i = int(np.searchsorted(self.low, low))
        for name in ("low", "high", "sums"):
            own = getattr(self, name)
            setattr(self, name, np.concatenate([own[:i], getattr(opened, name), own[i + 1 :]]))


LABELS, COSTS, SIDES, BASE = "labels", "costs", "sides", "base"
"""What rows add: their weight at their label, their costs by cluster, by the clusters of each side, and at least."""


class Node:
    """A node: the rows that pass the tests above it, by what they add up to.

    ``totals``: by kind, the sums over all rows; ``pieces``: the same by column and piece. ``order`` (d, k): its
    survivors along every column, the last repeated, where these are to be separated by what rows lose. ``gap``: the
    neighboring values of its test, once rows were seen to part there.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.totals: dict[str, Int64] = {}
        self.pieces: dict[str, list[Pieces]] = {}
        self.survivors: Int32 | None = None
        self.order: Int32 | None = None
        self.test: NodeTest | None = None
        self.children: tuple[Node, Node] | None = None
        self.is_split = False  # in the tree, not only ahead of it
        self.gain = 0  # of a split that was made ahead
        self.gap: Gap | None = None
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
        self._owner = object()  # of what the source keeps of rows
        self._made: list[Node] = []
        self._root = self._new_node()
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
        own = self._nodes[node]
        known = next(iter(own.totals.values()), None)
        return int((self._total(own, LABELS) if known is None else known)[0])

    def n_samples(self, node: int) -> int:
        """See :class:`Provider`."""
        return self.size(node)

    def sums(self, node: int, payload: Any) -> NodeSums:
        """See :class:`Provider`; bin by bin they stay here."""
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
        own.is_split, own.pieces, own.contents = True, {}, {}
        assert own.children is not None
        self._nodes += own.children

    def gaps(self, node: int) -> tuple[Gap, Gap]:
        """See :class:`Provider`."""
        own = self._nodes[node]
        if own.gap is None:
            self._add_up("gaps of the tree", (), None, LABELS)
        assert own.gap is not None
        return own.gap, (math.nan, math.nan)

    def number_of_row(self, numbers: Mapping[int, int]) -> Int32:
        """See :class:`Provider`: of what leaves hold by label, k a leaf, as ``leaf_sums`` has it."""
        return np.repeat(np.array(list(numbers.values()), dtype=np.int32), self._k)

    def leaf_rows(self, tree: ThresholdTree, leaf_of_row: Int32) -> LeafRows:
        """See :class:`Provider`."""
        weights = np.array([self._total(node, LABELS)[2:] for node in self._nodes if not node.is_split])
        return LeafRows(self._source, tree, leaf_of_row[:: self._k].copy(), weights)

    def anew(self) -> PassProvider:
        """See :class:`Provider`."""
        return PassProvider(self._source)

    def all_rows(self, columns: Int64) -> AllRows:
        """See :class:`Provider`."""
        names = ("values", "labels", "weights", "excess")
        batches = [[rows.read(name) for name in names] for rows, _ in self._passed("all rows")]
        values, labels, weights, costs = zip(*batches, strict=True)
        return AllRows(
            np.concatenate([own[:, columns] for own in values]).astype(np.float64),
            np.concatenate(labels),
            None if weights[0] is None else np.concatenate(weights),
            np.concatenate(costs),
        )

    def search(self, node: int, search: Any) -> Any:
        """See :class:`Provider`."""
        own = self._nodes[node]
        if isinstance(search, FewestByModes):  # there are no categories
            return search.cut
        kind = _KINDS[type(search)]
        while True:
            self._columns(own, kind)
            found, wishes = self._look(own, search)
            if not wishes:
                break
            # Others will ask alike: what is known of them says which ranges.
            asked = {own: wishes}
            for other in self._open():
                if other is not own and kind in other.pieces and (like := _of_node(search, other)) is not None:
                    asked[other] = self._look(other, like)[1]
            self._look_into(kind, asked)
        if isinstance(found, LeafCut) and own.children is None:
            self._split(own, found.test)
            total = own.totals[kind][2:]
            own.gain = int(total.min() if kind == COSTS else total.sum() - total.max()) - int(found.cost)
        return found

    # Passes -----------------------------------------------------------------------------------------------------------

    def _new_node(self) -> Node:
        self._made.append(Node(len(self._made)))
        return self._made[-1]

    def _open(self) -> list[Node]:
        """The leaves, and the children of splits that are likely to come: the half of them that gain most."""
        leaves = [node for node in self._nodes if not node.is_split]
        ahead = sorted((leaf for leaf in leaves if leaf.children is not None), key=lambda leaf: -leaf.gain)
        return leaves + [child for leaf in ahead[: (len(ahead) + 1) // 2] for child in leaf.children or ()]

    def _total(self, node: Node, kind: str) -> Int64:
        """The sums over all rows of a node, and by the same pass those of all that are open."""
        if kind not in node.totals:
            for other in self._open() if kind == COSTS else ():
                if other.survivors is not None and len(other.survivors) > 1 and LABELS not in other.pieces:
                    self._columns(other, LABELS)  # its cuts will be asked for next
                    return node.totals[kind]
            self._add_up("sums of nodes", (), None, kind)
        return node.totals[kind]

    def _columns(self, node: Node, kind: str) -> list[Pieces]:
        """The columns of a node, and by the same pass those of all that are open."""
        if kind not in node.pieces:
            others = [n for n in self._open() if kind not in n.pieces and n is not node]
            if kind == SIDES:
                others = [n for n in others if n.order is not None]
            elif node.survivors is not None and len(node.survivors) > 1:
                # A leaf that keeps its only center has nothing to be asked before it is expanded.
                others = [n for n in others if n.survivors is None or len(n.survivors) > 1]
            room = max(1, MOST_BYTES // (8 * int(self._source.begin[-1]) * _width(kind, self._k)))
            # Of nodes that are separated by labels, costs of all rows settle ties.
            more = {SIDES: BASE, LABELS: None if node.survivors is None else COSTS}.get(kind)
            self._add_up("sums of nodes", [node, *others[: room - 1]], kind, more)
        return node.pieces[kind]

    def _split(self, node: Node, test: NodeTest) -> None:
        """Make the children of a node, unless they were made ahead."""
        if node.children is not None and node.test == test:
            return
        if node.children is not None:
            self._owner = object()  # rows went to other children
        node.test, node.children, node.gap = test, (self._new_node(), self._new_node()), None
        for kind, columns in node.pieces.items():
            pieces = columns[test.feature]
            if (pieces.is_closed & (pieces.low <= test.threshold) & (test.threshold < pieces.high)).any():
                continue
            left = pieces.high <= test.threshold
            for child, side in zip(node.children, (left, ~left), strict=True):
                child.totals[kind] = pieces.sums[side].sum(axis=0)

    def _passed(self, what: str) -> Iterator[tuple[Rows, Int32]]:
        """All rows once, and the number of the node that each is in."""
        inner = [node for node in self._made if node.children is not None]
        column, left, right = np.full((3, len(self._made)), -1, dtype=np.int32)
        threshold, gaps = np.full(len(self._made), np.nan), np.tile([-math.inf, math.inf], (len(self._made), 1))
        for node in inner:
            assert node.test is not None
            assert node.children is not None
            i = node.number
            column[i], threshold[i] = node.test.feature, node.test.threshold
            left[i], right[i] = node.children[0].number, node.children[1].number
        for rows in self._source.passed(what, self._owner):
            nodes: Int32 = rows.read("nodes")
            if inner and (column[nodes] >= 0).any():
                core.step_down(core.as_matrix(rows.read("values")), nodes, column, threshold, left, right, gaps)
            yield rows, nodes
        for node in inner:
            if node.gap is None:
                node.gap = (float(gaps[node.number, 0]), float(gaps[node.number, 1]))

    def _layers(self, nodes: Iterable[Node]) -> list[Int32]:
        """By number of a node, its place among some, -1: none; rows of a node split ahead are with its children."""
        own, above = np.full((2, len(self._made)), -1, dtype=np.int32)
        for i, node in enumerate(nodes):
            own[node.number] = i
            for child in node.children or ():
                above[child.number] = i
        return [layer for layer in (own, above) if (layer >= 0).any()]

    def _payload(self, rows: Rows, kind: str | None) -> npt.NDArray[Any]:
        """What every row of a batch adds."""
        if kind != LABELS:
            payload: npt.NDArray[Any] = rows.read("base")[:, None] if kind == BASE else rows.read("excess")
            return payload
        labels: Int32 = rows.read("labels")
        weights: Int64 | None = rows.read("weights")
        payload = np.zeros((len(labels), self._k), dtype=np.int32 if weights is None else np.int64)
        payload[np.arange(len(labels)), labels] = 1 if weights is None else weights
        return payload

    def _add_up(self, what: str, nodes: Sequence[Node], by_bin: str | None, in_all: str | None) -> None:
        """Sums of nodes: one kind by column and bin, another over all rows of each that is open."""
        source, k, m = self._source, self._k, len(nodes)
        order, n_survivors = np.zeros((m, self.n_columns, k), dtype=np.int32), np.ones(m, dtype=np.int32)
        for i, node in enumerate(nodes if by_bin == SIDES else ()):
            assert node.order is not None
            assert node.survivors is not None
            order[i], n_survivors[i] = node.order, len(node.survivors)
        whole = [node for node in self._open() if in_all is not None and in_all not in node.totals]
        bins = np.zeros((m, int(source.begin[-1]), _width(by_bin, k)), dtype=np.int64)
        totals = np.zeros((len(whole), 1, _width(in_all, k)), dtype=np.int64)
        one_bin, layers, of_whole = np.array([0, 1]), self._layers(nodes), self._layers(whole)
        for rows, numbers in self._passed(what):
            for places, kind, sums in ((layers, by_bin, bins), (of_whole, in_all, totals)):
                for place in (layer[numbers] for layer in places):
                    if not (place >= 0).any():
                        continue
                    begin, codes = one_bin, np.zeros((len(place), 1), dtype=np.uint8)
                    if sums is bins:
                        begin, codes = source.begin, rows.read("codes")
                    core.add_to_tallies(
                        codes, begin, place, rows.read("weights"), self._payload(rows, kind),
                        order if kind == SIDES else None, n_survivors, sums,
                    )  # fmt: skip
        for node, total in zip(whole, totals, strict=True):
            node.totals[str(in_all)] = total[0]
        for node, of_node in zip(nodes, bins, strict=True):
            pieces = []
            for start, end in pairwise(source.begin.tolist()):
                held = start + np.flatnonzero(of_node[start:end, 0])
                pieces.append(Pieces(source.low[held], source.high[held], of_node[held]))
            node.pieces[str(by_bin)], node.totals[str(by_bin)] = pieces, pieces[0].sums.sum(axis=0)

    def _look_into(self, kind: str, asked: Mapping[Node, Sequence[Wish]]) -> None:
        """Tally closed ranges of nodes by value, those of many rows by parts, even in the order of float64."""
        nodes, wishes, first, room = list(asked), list[Wish](), [0], OPENED
        for node in nodes:
            taken = list[Wish]()
            for wish in sorted(asked[node]):
                cells = wish.n if wish.n <= TALLIED else PARTS
                if cells <= room or not (wishes or taken):
                    taken.append(wish)
                    room -= cells
            wishes += sorted(taken, key=lambda wish: (wish.column, wish.low))
            first.append(len(wishes))
        column = np.array([wish.column for wish in wishes], dtype=np.int32)
        low, high = (np.array([getattr(wish, end) for wish in wishes]) for end in ("low", "high"))
        parts = np.where([wish.n > TALLIED for wish in wishes], PARTS, 0).astype(np.uint64)
        step = np.maximum((place_of(high) - place_of(low)) // np.maximum(parts, 1), 1)
        step[parts == 0] = 1
        layers, found = self._layers(nodes), list[Opened]()
        for rows, numbers in self._passed("ranges of values"):
            for layer in layers:
                at, which, x = core.rows_in_ranges(
                    core.as_matrix(rows.read("values")), layer[numbers], np.array(first), column, low, high
                )
                if not len(at):
                    continue
                place = np.searchsorted(first, which, side="right") - 1
                sums = np.empty((len(at), _width(kind, self._k)), dtype=np.int64)
                sums[:, 0] = 1
                sums[:, 1] = 1 if rows.read("weights") is None else rows.read("weights")[at]
                if kind == SIDES:
                    order = np.array([node.order for node in nodes])
                    along = np.take_along_axis(rows.read("excess")[at], order[place, column[which]], axis=1)
                    sums[:, 2] = along.min(axis=1)
                    sums[:, 3 : 2 + self._k] = np.minimum.accumulate(along, axis=1)[:, :-1]
                    sums[:, 2 + self._k :] = np.minimum.accumulate(along[:, ::-1], axis=1)[:, -2::-1]
                else:
                    sums[:, 2:] = self._payload(rows, kind)[at]
                part = (place_of(x) - place_of(low)[which]) // step[which]
                found.append(Opened(which, part, x, x, sums).merged())
                while len(found) > 1 and 2 * len(found[-1].low) >= len(found[-2].low):  # what is large is merged rarely
                    found[-2:] = [found[-2].merged(found[-1])]
        opened = reduce(Opened.merged, found[::-1])
        for i, wish in enumerate(wishes):
            node = nodes[int(np.searchsorted(first, i, side="right")) - 1]
            own = slice(*np.searchsorted(opened.which, [i, i + 1]))
            node.pieces[kind][wish.column].look_into(
                wish.low, Pieces(opened.low[own], opened.high[own], opened.sums[own])
            )
            node.contents.pop(wish.column, None)

    def _tell_rows_apart(self, node: Node, column: int, n: int) -> list[set[int]]:
        """Up to n hashes of what the rows of every piece of a column hold."""
        if column not in node.contents:
            pieces = node.pieces[SIDES][column]
            found: list[set[int]] = [set() for _ in pieces.low]
            layers = self._layers([node])
            for rows, numbers in self._passed("distinct rows"):
                at = np.flatnonzero(np.any([layer[numbers] >= 0 for layer in layers], axis=0))
                if not len(at):
                    continue
                hashes = core.row_hashes(core.as_matrix(np.ascontiguousarray(rows.read("values")[at])), 1)
                piece = np.searchsorted(pieces.high, rows.read("values")[at, column].astype(np.float64))
                for i in np.unique(piece).tolist():
                    if len(found[i]) < n:
                        found[i] |= set(np.unique(hashes[piece == i])[:n].tolist())
            node.contents[column] = found
        return node.contents[column]

    def _allowed(self, node: Node, kind: str, limits: Limits | None) -> list[tuple[int, Pieces]]:
        """The columns of a node that may be cut."""
        mask = None if limits is None else limits.columns
        return [(f, pieces) for f, pieces in enumerate(node.pieces[kind]) if mask is None or mask[f]]

    # Searches ---------------------------------------------------------------------------------------------------------

    def _look(self, node: Node, search: Any) -> tuple[Any, list[Wish]]:
        """What is found as far as is known, and the ranges that may hold something better."""
        if isinstance(search, CheapestCut):
            return self._cheapest(node, COSTS, _CostOfSides(), search.limits)
        if isinstance(search, FewestDisagree):
            return self._cheapest(node, LABELS, _Disagreement(search.gini), search.limits)
        if isinstance(search, FewestMistakes):
            return self._fewest_mistakes(node, search)
        if isinstance(search, CheapestTie):
            return self._cheapest_tie(node, search), []
        assert isinstance(search, LeastInduced)
        return self._least_induced(node, search)

    def _cheapest(
        self, node: Node, kind: str, score: _CostOfSides | _Disagreement, limits: Limits | None
    ) -> tuple[Any, list[Wish]]:
        """The cut whose sides cost least; see ``cuts/surrogate.cpp``."""
        best: tuple[Any, ...] | None = None
        closed: list[tuple[Int64, int, Pieces, npt.NDArray[np.intp]]] = []  # bounds, column, its pieces, which of them
        first: dict[int, Wish | None] = {}  # by column: the range that its lowest cut is in
        total = node.totals[kind][2:]
        for f, pieces in self._allowed(node, kind, limits):
            sums = pieces.added
            upto = np.cumsum(sums, axis=0)
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
        uncut = int(score.cut(total[None], np.zeros((1, self._k), np.int64))[0][0])
        limit = math.inf if best is None else best[0]
        if not score.has_second and limit >= uncut:
            limit = uncut - 1
        wishes = [
            pieces.wish(f, i, bound)
            for bounds, f, pieces, at in closed
            for i, bound in zip(at[bounds <= limit].tolist(), bounds[bounds <= limit].tolist(), strict=True)
        ]
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
        survivors, fewest, limits = search.node.survivors, -1, search.node.limits
        tied: list[tuple[int, Float64]] = []
        closed: list[Wish] = []
        for f, pieces in self._allowed(node, LABELS, limits):
            center = search.mistakes.coordinates[survivors, f]
            if center.min() == center.max():
                continue
            sums = pieces.added[:, survivors]
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
            closed += [pieces.wish(f, i, bound) for bound, i in zip(bounds.tolist(), through.tolist(), strict=True)]
        wishes = [wish for wish in closed if fewest < 0 or wish.bound <= fewest]
        features = np.repeat(np.array([f for f, _ in tied], dtype=np.int32), [len(x) for _, x in tied])
        found = (fewest, features, np.concatenate([x for _, x in tied]) if tied else np.empty(0))
        return found, wishes

    def _cheapest_tie(self, node: Node, search: CheapestTie) -> int:
        """Which of some cuts has sides that cost least, by a pass of its own."""
        survivors, costs = search.node.survivors, list[int]()
        starts = [0, *np.flatnonzero(np.diff(search.features)) + 1, len(search.features)]
        groups = [slice(i, min(i + 255, end)) for start, end in pairwise(starts) for i in range(start, end, 255)]
        begin = np.cumsum([0, *(group.stop - group.start + 1 for group in groups)])
        columns, ends = search.features[[group.start for group in groups]], np.zeros((2, begin[-1]))
        sums = np.zeros((1, begin[-1], 2 + self._k), dtype=np.int64)
        for rows, numbers in self._passed("cuts that tie"):
            matrix = core.as_matrix(np.ascontiguousarray(rows.read("values")[:, columns]))
            codes = core.bin_codes(matrix, search.thresholds, begin, *ends)
            weights, excess, n_survivors = rows.read("weights"), rows.read("excess"), np.ones(1, dtype=np.int32)
            for layer in self._layers([node]):
                core.add_to_tallies(codes, begin, layer[numbers], weights, excess, None, n_survivors, sums)
        for group, first in zip(groups, begin.tolist(), strict=False):
            upto = np.cumsum(sums[0, first : first + group.stop - group.start, 2:], axis=0)
            for x, left in zip(search.thresholds[group].tolist(), upto, strict=True):
                goes_left = search.mistakes.coordinates[survivors, search.features[group.start]] <= x
                right = search.cost_totals - left
                costs.append(int(left[survivors[goes_left]].min()) + int(right[survivors[~goes_left]].min()))
        return costs.index(min(costs))

    def _least_induced(self, node: Node, search: LeastInduced) -> tuple[SeparatingCut | None, list[Wish]]:
        """The cut after which the centers of each side serve their rows best; see ``cuts/induced.cpp``."""
        survivors, coordinates, k = search.node.survivors, search.nearest.coordinates, self._k
        m, limits = len(survivors), search.node.limits
        cuts: list[tuple[Int64, ...]] = []
        closed: list[tuple[Int64, ...]] = []
        for f, pieces in self._allowed(node, SIDES, limits):
            counts = _counted(pieces, limits)
            center = np.sort(coordinates[survivors, f])
            weight = np.append(0, np.cumsum(pieces.sums[:, 1]))
            sides = np.vstack([np.zeros(2 * k - 1, dtype=np.int64), np.cumsum(pieces.added, axis=0)])
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
                right = sides[-1, k - 1 + s] - sides[:, k - 1 + s]
                cuts.append((sides[at, s] + right[at], weight[at], np.full(len(at), s), np.full(len(at), f),
                             thresholds, at))  # fmt: skip
                inside = pieces.is_closed & (pieces.low < end) & (pieces.high > begin)
                i = np.flatnonzero(inside & _may_hold(limits, counts, s, m - s))
                least = sides[i, s] + right[i + 1] + pieces.added[i, 0]
                closed.append((least, weight[i], weight[i + 1], np.full(len(i), s), np.full(len(i), f), i))
        if not cuts:
            return None, []
        base = int(node.totals[BASE][2])
        current = base + int(node.totals[SIDES][2])
        induced, left, n_left, feature, threshold, at = (np.concatenate(each) for each in zip(*cuts, strict=True))
        least, low, high, n_below, column, piece = (np.concatenate(each) for each in zip(*closed, strict=True))
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
            if chosen < 0 and not len(least):
                chosen = rank.best(induced + base, left, left, n_left, feature, threshold)[0]
        bounds = rank.best(least + base, low, high, n_below, column, np.zeros(len(least)))[1]
        limit = math.inf if chosen < 0 else scores[chosen] + 2.0**-40 * abs(scores[chosen])
        promising = np.flatnonzero(bounds <= limit)
        wishes: dict[tuple[int, int], Wish] = {}
        for j in promising[np.argsort(-bounds[promising], kind="stable")].tolist():
            f, at_piece = int(column[j]), int(piece[j])
            wishes[f, at_piece] = node.pieces[SIDES][f].wish(f, at_piece, float(bounds[j]))
        if chosen < 0:
            return None, list(wishes.values())
        cut = SeparatingCut.at(int(feature[chosen]), float(threshold[chosen]), coordinates, survivors)
        return cut, list(wishes.values())

    def _has_distinct(self, node: Node, n: int) -> bool:
        """Whether a node has so many distinct rows."""
        if any(len(pieces.low) >= n for pieces in node.pieces[SIDES]):
            return True
        return len(set().union(*self._tell_rows_apart(node, 0, n))) >= n

    def _is_valid(self, node: Node, column: int, at: int, n_left: int, n: int) -> bool:
        """Whether so many distinct rows lie among the first pieces of a column, and the rest of n among the others."""
        n_pieces = len(node.pieces[SIDES][column].low)
        for part, n_there, wanted in ((slice(0, at), at, n_left), (slice(at, None), n_pieces - at, n - n_left)):
            if n_there >= wanted:
                continue
            if len(set().union(*self._tell_rows_apart(node, column, n)[part])) < wanted:
                return False
        return True


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


_KINDS = {
    CheapestCut: COSTS,
    CheapestTie: LABELS,
    FewestDisagree: LABELS,
    FewestMistakes: LABELS,
    LeastInduced: SIDES,
}


def _width(kind: str | None, k: int) -> int:
    """Of the sums of a kind: rows, weight, and what rows add."""
    return 2 + {SIDES: 2 * k - 1, BASE: 1}.get(str(kind), k)


def _of_node(search: Any, node: Node) -> Any:
    """The same search at another node; None where that has nothing to find."""
    if isinstance(search, CheapestCut | FewestDisagree):
        return search
    if node.survivors is None or len(node.survivors) < 2 or isinstance(search, CheapestTie):
        return None
    return replace(search, node=SeparationNode(-1, node.survivors, search.node.limits))


def _counted(pieces: Pieces, limits: Limits | None) -> Int64:
    """What the rows before every piece count, and all of them: rows, or their weight."""
    return np.append(0, np.cumsum(pieces.sums[:, int(limits is not None and limits.by_weight)]))


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
