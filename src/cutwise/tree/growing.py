"""A tree under construction: places of thresholds, splits, and two ways to grow.

``separate`` splits until each center has a leaf; ``expand`` splits the leaf with the largest gain, up to a number.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.core import Flags, Float64, Int32, Int64
from cutwise.table.instants import choose_boundary, choose_length
from cutwise.table.table import WHOLE_BELOW, ColumnKind, SearchedColumns

from .limits import Limits, NoAllowedCutError
from .provider import (
    ExpansionCriterion,
    Gap,
    GrowthProblem,
    LeafCut,
    NodeSums,
    Provider,
    SeparatingCut,
    SeparationCriterion,
    SeparationNode,
)
from .table_cut import table_cut
from .threshold_tree import NodeTest, ThresholdTree, preorder

# Wide enough for the exact sum of 1e308 and 5e-324; short sums stay short, so the width costs them nothing.
_EXACT = Context(prec=800, Emax=MAX_EMAX, Emin=MIN_EMIN)

_HALF = Decimal("0.5")

_ONE = Decimal(1)

_DENSE_DIGITS = 16  # decimals with this many digits can be as dense as float64; 17 digits distinguish any two float64

_NEAR = 8  # up to this many float64 are tried one by one


def place_threshold(a: float, b: float, kind: ColumnKind) -> float:
    """Place the threshold of a cut between two neighboring values of a column, in the words of its kind."""
    if kind.name == "date":
        return choose_boundary(a, b, kind)
    if kind.name == "duration":
        return choose_length(a, b)
    return choose_threshold(a, b, kind.is_integer)


def choose_threshold(a: float, b: float, integer: bool = False) -> float:
    """Place the threshold of a cut between two neighboring values: the number with the fewest digits.

    Every ``t`` with ``a <= t < b`` separates values up to ``a`` from values of at least ``b``, so the most readable
    number is chosen. Digits are those of the shortest decimal that parses back to the same float64 (``repr``); 0 has no
    significant digit.

    ``a``, ``b``: the neighboring values, finite, ``a < b``. ``integer``: whether the column has integers only; an end
    that is not an integer is then a center's coordinate. Returns ``t``: ``a <= t < b``, never ``-0.0``. For integers:
    the integer of the interval with the fewest significant digits, or if it contains none the largest one below it,
    ``floor(a)``: no row changes sides, and a center between two integers stays on the side of its leaf. Otherwise: the
    float64 strictly between ``a`` and ``b`` with the fewest digits, among equals the nearest to the middle of the
    interval, then the smaller; ``a`` itself if no float64 lies between. Raises ``ValueError``: ``a`` and ``b`` are not
    finite, or not in increasing order.

    Examples
    --------
    >>> choose_threshold(51873.42, 52310.07)
    52000.0
    >>> choose_threshold(35, 36, integer=True)
    35.0
    >>> choose_threshold(0.1, 0.2)
    0.15
    """
    a, b = float(a) + 0.0, float(b) + 0.0  # adding 0.0 turns -0.0 into 0.0
    if not (math.isfinite(a) and math.isfinite(b) and a < b):
        raise ValueError(f"a cut lies between two finite values in increasing order, not a={a!r} and b={b!r}.")
    if integer:
        first, last = _first_integer(a), _last_integer(b)
        if first <= 0 <= last:
            return 0.0
        if first == last:
            return float(first)
        return _shortest(a, b, _half_way(first, last), whole=True) if first <= last else math.floor(a) + 0.0
    if a < 0.0 < b:
        return 0.0
    if math.nextafter(a, b) == b:
        return a
    return _shortest(a, b, _half_way(_printed(a), _printed(b)), whole=False)


def _shortest(a: float, b: float, middle: Decimal, *, whole: bool) -> float:
    """The shortest integer from ``a`` to below ``b``, or float between them; at least one must exist."""

    def best(candidates: Iterable[float]) -> float | None:
        inside = {t for t in candidates if (t.is_integer() and a <= t < b if whole else a < t < b)}
        # Most often there is a single candidate, which needs no ranking.
        return inside.pop() if len(inside) == 1 else min(inside, key=lambda t: _rank(t, middle), default=None)

    # If there are few numbers between, try each.
    near = _floats_from(a, b) if b - a <= _NEAR * math.ulp(max(-a, b)) else [a]
    found = best(near) if near[-1] == b else None
    n_digits = 0
    while found is None:
        # If any number with at most n_digits digits is inside, then one of the two nearest to the middle is: the first
        # success has the fewest digits, and is nearest to the middle.
        n_digits += 1
        unit = _ONE.scaleb(middle.adjusted() - n_digits + 1, _EXACT)
        below = float(middle.quantize(unit, ROUND_FLOOR, _EXACT))
        above = float(middle.quantize(unit, ROUND_CEILING, _EXACT))
        if n_digits < _DENSE_DIGITS:
            found = best((below, above))
        else:
            # Decimals are as dense as floats here: a neighbor of these two can print nearer to the middle.
            found = best((math.nextafter(below, -math.inf), below, above, math.nextafter(above, math.inf)))
    return found


def _rank(t: float, middle: Decimal) -> tuple[int, Decimal, float]:
    """Sort key: fewest digits first, then nearest to the middle, then smallest."""
    printed = _printed(t)
    n_digits = len(printed.normalize(_EXACT).as_tuple().digits)
    return n_digits, abs(_EXACT.subtract(printed, middle)), t


def _floats_from(a: float, b: float) -> list[float]:
    """List ``a`` and the float64 after it, in order, until ``b`` or ``_NEAR`` of them are reached."""
    values = [a]
    while values[-1] < b and len(values) < _NEAR:
        values.append(math.nextafter(values[-1], b))
    return values


def _printed(value: float) -> Decimal:
    return Decimal(repr(value))


def _half_way(low: Decimal, high: Decimal) -> Decimal:
    return _EXACT.multiply(_EXACT.add(low, high), _HALF)


def _first_integer(a: float) -> Decimal:
    """``ceil(a)`` as a decimal, as it is printed."""
    return Decimal(math.ceil(a)) if abs(a) < WHOLE_BELOW else _printed(a)


def _last_integer(b: float) -> Decimal:
    """The largest integer below ``b`` as a decimal, as it is printed."""
    return Decimal(math.ceil(b) - 1) if abs(b) <= WHOLE_BELOW else _EXACT.subtract(_printed(b), _ONE)


LEVELS_A_CONDITION = 8
"""Of equal trees the shorter one is taken; so many levels in sets count as one condition."""

_NO_GAP = (math.nan, math.nan)

_NO_TEST = NodeTest(-1, math.nan)


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree and the leaves of its rows.

    ``leaf_of_row`` (m,) int32: node number of the leaf of every encoded row. ``inseparable``: groups of clusters equal
    in every column that may be cut; the first of each group has the leaf. ``gaps`` (n_nodes, 4) float64: the two
    neighboring values around every threshold (centers count as values), then around the lower end of an interval; nan
    at leaves, and for the lower end of one-sided tests. ``split_order`` (n_nodes,) int32: the order in which the nodes
    were made: 0 for the root, then two with every split. ``leaf_clusters`` (n_nodes,) int32: the cluster of every node
    while it was a leaf, -1 if it never was a leaf of a complete tree. ``others``: other growths of the same fit, whose
    trees may be cheaper at some sizes. ``improve``: makes a cheaper tree of as many leaves, which has
    then grown further, or None. ``rows``: content of the m rows if they represent rows that are not in memory.
    """

    tree: ThresholdTree
    leaf_of_row: Int32
    inseparable: list[tuple[int, ...]]
    gaps: Float64
    split_order: Int32 | None = None
    leaf_clusters: Int32 | None = None
    others: tuple[GrownTree, ...] = ()
    improve: Callable[[GrownTree], GrownTree | None] | None = None
    rows: Any = None

    @property
    def n_empty(self) -> int:
        """Number of leaves without rows."""
        return int(((self.tree.children_left < 0) & (self.tree.n_node_samples == 0)).sum())

    @property
    def n_further_levels(self) -> int:
        """Number of levels that the tests name besides one each."""
        return sum(len(own) - 1 for own in self.tree.levels if own)

    @property
    def codes(self) -> Int32:
        """Cluster of every encoded row, shape (m,), int32."""
        return self.tree.cluster[self.leaf_of_row]

    def size_of(self, leaf_of_row: Int32, weights: Int64 | None) -> tuple[float, float]:
        """See ``tree_size``."""
        tree = self.tree
        return tree_size(tree.feature, tree.children_right, leaf_of_row, weights, [bool(own) for own in tree.levels])


def tree_size(
    column: Int32,
    right: Int32,
    leaf_of_row: Int32,
    weights: Int64 | None,
    is_set: Sequence[bool] | npt.NDArray[np.bool_] = (),
) -> tuple[float, float]:
    """Average number of conditions in a row's rule (one per column and direction), and of tests on its path.

    ``column``, ``right`` (n_nodes,): columns and right children of a tree in preorder, -1 at leaves. ``leaf_of_row``
    (m,): node numbers. ``is_set`` (n_nodes,): whether a node tests levels; all of a column's are one condition.
    """
    kinds: list[frozenset[tuple[int, bool | None]]] = [frozenset()] * len(column)
    depth = np.zeros(len(column))
    for node in np.flatnonzero(column >= 0).tolist():
        for child, is_left in ((node + 1, True), (int(right[node]), False)):
            kinds[child] = kinds[node] | {(int(column[node]), None if len(is_set) and is_set[node] else is_left)}
            depth[child] = depth[node] + 1
    conditions = np.array([len(kind) for kind in kinds])
    count = np.bincount(leaf_of_row, weights=weights, minlength=len(column))
    total = count.sum()
    return float(count @ conditions / total), float(count @ depth / total)


@dataclass(eq=False)
class _GrowingNode:
    """A node of a tree under construction.

    ``place``: see ``GrowingTree.place``. ``gaps``: of both ends of its test, once these are placed. ``centers``,
    ``mistakes``: see ``GrowingTree.split``. ``cluster``: of a leaf; -1 before it is labeled.
    """

    parent: int = -1
    depth: int = 0
    place: int = 0
    children: tuple[int, int] = (-1, -1)
    test: NodeTest | None = None
    gaps: tuple[Gap, Gap] | None = None
    centers: Float64 | None = None
    mistakes: int = 0
    cluster: int = -1


class GrowingTree:
    """A tree under construction, 0 the root; a split gives a leaf two children with the next two numbers.

    ``provider``: has the rows of every node.
    """

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._nodes = [_GrowingNode()]

    def place(self, node: int) -> int:
        """Rank among leaves of equal gain: the lowest is split first, whichever side the test names."""
        return self._nodes[node].place

    def depth(self, node: int) -> int:
        """Number of tests above a node."""
        return self._nodes[node].depth

    def path(self, node: int) -> list[tuple[NodeTest, bool]]:
        """The tests above a node from the root, and whether the node is inside each."""
        tests: list[tuple[NodeTest, bool]] = []
        while (parent := self._nodes[node].parent) >= 0:
            test = self._place(parent)
            assert test is not None
            tests.append((test, self._nodes[parent].children[0] == node))
            node = parent
        return tests[::-1]

    def cluster(self, node: int) -> int:
        """The cluster of a leaf; -1 before it is labeled."""
        return self._nodes[node].cluster

    def label(self, node: int, cluster: int) -> None:
        """Give a leaf its cluster."""
        self._nodes[node].cluster = cluster

    def split(self, node: int, test: NodeTest, *, centers: Float64 | None = None, mistakes: int = 0) -> tuple[int, int]:
        """Split a leaf in two.

        ``test``: of a searched column; its ends are any values of the left sides of their gaps. ``centers``:
        coordinates that bound the gap of a one-sided cut besides the rows' values. ``mistakes``: IMM's mistakes of the
        cut. Returns ``left``, ``right``: numbers of the children. ``left`` is the lower one, unless the tree's test
        names the rows right of the cut.
        """
        provider, cut, is_swapped, outside_first = self.provider, test, False, False
        if provider.searched is not None:
            source = test.feature if test.levels is not None else int(provider.searched.source[test.feature])
            values = partial(provider.values, node, source, test)
            cut, test, is_swapped, outside_first = table_cut(provider.searched, test, values, centers)
        provider.partition(node, cut)
        is_same = test.levels is not None or test is cut
        own, left, right = self._nodes[node], len(self._nodes), len(self._nodes) + 1
        own.test = test if is_same else replace(test, threshold=cut.threshold)
        own.children, own.centers, own.mistakes = (left, right), centers, mistakes
        places = (right, left) if outside_first else (left, right)
        self._nodes += [_GrowingNode(node, own.depth + 1, place) for place in places]
        return (right, left) if is_swapped else (left, right)

    def _place(self, node: int) -> NodeTest | None:
        """Place the ends of a test between neighboring values; a provider may know these only after further splits."""
        own = self._nodes[node]
        if own.test is None or own.gaps is not None:
            return own.test
        (left_max, right_min), lower_gap = self.provider.gaps(node)
        if own.test.levels is None:
            kind = self.provider.kind(own.test.feature)
            if own.centers is not None:
                is_left = own.centers <= own.test.threshold
                left_max = max(left_max, float(own.centers[is_left].max(initial=-np.inf)))
                right_min = min(right_min, float(own.centers[~is_left].min(initial=np.inf)))
            own.test = replace(
                own.test,
                threshold=place_threshold(left_max, right_min, kind),
                lower=place_threshold(*lower_gap, kind) if own.test.is_interval else own.test.lower,
            )
        own.gaps = (left_max, right_min), lower_gap
        return own.test

    def leaves(self) -> Iterable[int]:
        """Numbers of the leaves, in the order they were made."""
        return [number for number, node in enumerate(self._nodes) if node.test is None]

    def _ordered(self) -> tuple[Int32, npt.NDArray[np.intp], Int32]:
        """Place all tests; return children, nodes in preorder, and preorder numbers with -1 (no node) at the end."""
        n_nodes = len(self._nodes)
        for node in range(n_nodes):
            self._place(node)
        children = np.array([node.children for node in self._nodes], dtype=np.int32)
        order = preorder(children[:, 0], children[:, 1])
        number = np.full(n_nodes + 1, -1, dtype=np.int32)
        number[order] = np.arange(n_nodes, dtype=np.int32)
        return children, order, number

    def tests(self) -> tuple[Int32, npt.NDArray[np.float64], Int32]:
        """Columns, thresholds and right children of the finished tree, for searches, whose tests are one-sided."""
        children, order, number = self._ordered()
        tests = [self._nodes[node].test or _NO_TEST for node in order]
        column = np.array([test.feature for test in tests], dtype=np.int32)
        threshold = np.array([test.threshold for test in tests])
        return column, threshold, number[children[order, 1]]

    def finish(self, inseparable: list[tuple[int, ...]] | None = None) -> GrownTree:
        """The finished tree, nodes in preorder."""
        nodes, leaves = self._nodes, self.leaves()
        children, order, number = self._ordered()
        samples = np.zeros(len(nodes), dtype=np.int64)
        for leaf in leaves:
            samples[leaf] = self.provider.n_samples(leaf)
        for node in range(len(nodes) - 1, 0, -1):  # children have higher numbers than parents
            samples[nodes[node].parent] += samples[node]
        searched, tests = self.provider.searched, [node.test or _NO_TEST for node in nodes]
        tree = ThresholdTree.from_unordered(
            children_left=children[:, 0],
            children_right=children[:, 1],
            feature=[test.feature for test in tests],
            threshold=[test.threshold for test in tests],
            lower=[test.lower for test in tests],
            cluster=[node.cluster for node in nodes],
            n_features=self.provider.n_columns if searched is None else len(searched.kinds),
            levels=[test.levels for test in tests],
            unknown=[test.unknown for test in tests],
            n_node_samples=samples,
            n_node_mistakes=[node.mistakes for node in nodes],
        )
        leaf_of_row = self.provider.number_of_row({leaf: int(number[leaf]) for leaf in leaves})
        return GrownTree(
            tree,
            leaf_of_row,
            inseparable or [],
            np.array([node.gaps or (_NO_GAP, _NO_GAP) for node in nodes]).reshape(-1, 4)[order],
            split_order=order.astype(np.int32),
            leaf_clusters=np.array([node.cluster for node in nodes], dtype=np.int32)[order],
            rows=self.provider.leaf_rows(tree, leaf_of_row),
        )


Progress = Callable[[int], None]


def separate(
    tree: GrowingTree,
    criterion: SeparationCriterion,
    progress: Progress | None = None,
    limits: Limits | None = None,
    coordinates: Float64 | None = None,
) -> list[tuple[int, ...]]:
    """Split until every leaf contains one center, also in nodes without rows.

    ``tree``: a bare root. ``limits``: limits of cuts; raises ``NoAllowedCutError`` if no allowed cut separates centers
    that differ in ``coordinates`` (k, d). ``progress``: called with the number of leaves after every split. Returns
    ``inseparable``: groups of clusters equal in every column; the first of each group has the leaf.
    """
    inseparable: list[tuple[int, ...]] = []
    no_kills = np.zeros((2, tree.provider.n_columns), dtype=np.uint8)
    root = SeparationNode(0, criterion.clusters, limits and limits.at(0))
    criterion.start(root)
    pending: list[tuple[int, SeparationNode, npt.NDArray[np.uint8]]] = [(0, root, no_kills)]
    n_leaves = 1
    while pending:
        node, seen, kills = pending.pop()
        survivors = seen.survivors
        cut = criterion.best_cut(seen, kills[0], kills[1]) if len(survivors) > 1 else None
        if cut is None:
            tree.label(node, int(survivors[0]))
            if limits is not None and coordinates is not None and _differ(coordinates[survivors]):
                raise NoAllowedCutError(survivors.tolist(), tree.provider.n_samples(node), tree.path(node))
            if len(survivors) > 1:
                inseparable.append(tuple(survivors.tolist()))
            continue
        left, right = tree.split(node, cut.test, centers=cut.coordinates, mistakes=cut.mistakes)
        below = limits and limits.at(tree.depth(left))
        children = [
            SeparationNode(left, survivors[cut.goes_left], below),
            SeparationNode(right, survivors[~cut.goes_left], below),
        ]
        criterion.follow(seen, children)
        for side, child in ((1, right), (0, left)):
            pending.append((child, children[side], _after(kills, side, cut.test, tree.provider.searched)))
        n_leaves += 1
        if progress is not None:
            progress(n_leaves)
    return inseparable


_PLACES = 16
"""Number of allowed thresholds between two centers to try: half of them the cheapest, half evenly spread, since a cut
also decides which cuts are possible below it."""

_MOST_PLANNED = 256
"""Largest number of clusters to plan for: a tree can be a chain, and each of its cuts is a nested call."""

_MOST_VALUES = 2**24
"""Largest number of values of a table to plan for."""

_MOST_WORK, _NODE_WORK, _PAIR_WORK = 2**27, 512, 256
"""Work before the search for a tree within limits gives up, in values read; of a node, and of two centers to separate,
besides."""


class PlannedCriterion(SeparationCriterion):
    """Cuts that give every center a leaf within limits, for tables where the best cut of each node does not.

    Cuts are tried in order of cost, with backtracking if no cut is left below. ``is_known``: whether such cuts were
    found. Single levels are tried, sets of levels are not. All trees are tried if columns have few values in a node and
    the search does not give up.
    """

    def __init__(self, problem: GrowthProblem, limits: Limits) -> None:
        self.clusters = np.arange(problem.n_clusters, dtype=np.int32)
        n_columns = problem.provider.n_columns
        columns = np.arange(n_columns) if limits.columns is None else np.flatnonzero(limits.columns)
        self._columns, self._coordinates, self._limits = columns, problem.coordinates, limits
        self._failed: set[tuple[int, bytes, bytes]] = set()
        self._work_left = _MOST_WORK
        is_small = problem.provider.size(0) * n_columns <= _MOST_VALUES and problem.n_clusters <= _MOST_PLANNED
        if is_small and not limits.plans:
            rows = problem.provider.all_rows(columns)
            one_each = np.ones(len(rows.labels), dtype=np.int64)
            self._values, self._labels = rows.values, rows.labels
            self._weights = one_each if rows.weights is None else rows.weights
            self._counts = (self._weights if limits.by_weight else one_each) if limits.counts is None else limits.counts
            self._costs = rows.costs.astype(np.int64)
            limits.plans.append(self._plan(np.arange(len(one_each), dtype=np.int64), self.clusters, 0))
        cuts: list[SeparatingCut | None] | None = limits.plans[0] if limits.plans else None
        self.is_known, self._cuts = cuts is not None, iter(cuts or [])

    def start(self, root: SeparationNode) -> None:
        """See :class:`SeparationCriterion`."""

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """See :class:`SeparationCriterion`: the next planned cut."""
        return next(self._cuts)

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """See :class:`SeparationCriterion`."""

    def _plan(self, rows: Int64, survivors: Int32, depth: int) -> list[SeparatingCut | None] | None:
        """The cuts of a node and of all nodes below it, in preorder; None if there are none."""
        if len(survivors) == 1:
            return []
        if not _differ(self._coordinates[survivors]):
            return [None]
        node = depth, survivors.tobytes(), rows.tobytes()
        self._work_left -= _NODE_WORK
        if node in self._failed or self._work_left < 0 or not self._limits.has_room(depth):
            return None
        self._work_left -= len(rows) * len(self._columns)
        for _, j, threshold, goes_left in self._allowed(rows, survivors, depth):
            is_left = self._values[rows, j] <= threshold
            left = self._plan(rows[is_left], survivors[goes_left], depth + 1)
            right = None if left is None else self._plan(rows[~is_left], survivors[~goes_left], depth + 1)
            if left is not None and right is not None:
                own = self._labels[rows]
                is_own_left = np.isin(own, survivors[goes_left])
                is_mistaken = (is_own_left != is_left) & np.isin(own, survivors)
                mistakes = int(self._weights[rows[is_mistaken]].sum())
                column = int(self._columns[j])
                cut = SeparatingCut.at(column, threshold, self._coordinates, survivors, mistakes)
                return [cut, *left, *right]
        self._failed.add(node)
        return None

    def _divisible(self, rows: Int64) -> npt.NDArray[np.intp]:
        """Places of the columns with room for the least leaf on both sides; most levels are in too few rows."""
        if self._limits.least == 0:
            return np.arange(len(self._columns))
        values, counts = self._values[rows], self._counts[rows]
        low, high = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
        at_ends = np.stack([counts @ (values == low), counts @ (values == high)])
        is_binary = at_ends.sum(axis=0) == counts.sum()
        return np.flatnonzero((low < high) & ~(is_binary & (at_ends.min(axis=0) < self._limits.least)))

    def _allowed(
        self, rows: Int64, survivors: Int32, depth: int
    ) -> list[tuple[int, int, float, npt.NDArray[np.bool_]]]:
        """The allowed cuts to try in a node, sorted by cost: cost, column, threshold, and which centers go left."""
        limits, n_centers, found = self._limits, len(survivors), []
        room = n_centers if limits.max_depth is None else 2 ** min(limits.max_depth - depth - 1, 31)
        for j in self._divisible(rows).tolist():
            along = self._coordinates[survivors, self._columns[j]]
            by_center, by_value = np.argsort(along, kind="stable"), np.argsort(self._values[rows, j], kind="stable")
            centers, values = along[by_center], self._values[rows[by_value], j]
            counts = np.append(0, np.cumsum(self._counts[rows[by_value]]))
            # The cuts between two neighboring centers are places in the order of rows, from `first` to `last`.
            n_left = np.flatnonzero(centers[1:] > centers[:-1]) + 1
            n_left = n_left[np.maximum(n_left, n_centers - n_left) <= room]
            first = np.searchsorted(values, centers[n_left - 1], "right")
            last = np.searchsorted(values, centers[n_left], "left")
            least = np.searchsorted(counts, limits.least * n_left, "left")
            most = np.searchsorted(counts, counts[-1] - limits.least * (n_centers - n_left), "right") - 1
            is_allowed = np.maximum(first, least) <= np.minimum(last, most)
            if not is_allowed.any():
                continue
            costs = self._costs[rows[by_value]][:, survivors[by_center]]
            by_left_centers = np.minimum.accumulate(costs, axis=1)
            by_right_centers = np.minimum.accumulate(costs[:, ::-1], axis=1)
            self._work_left -= _PAIR_WORK * int(is_allowed.sum())
            for i in np.flatnonzero(is_allowed).tolist():
                n, places = int(n_left[i]), np.arange(first[i], last[i] + 1)
                is_between_values = np.ones(len(places), dtype=np.bool_)
                is_between_values[1:-1] = values[places[1:-1] - 1] < values[places[1:-1]]
                places = places[is_between_values & (places >= least[i]) & (places <= most[i])]
                left = np.append(0, np.cumsum(by_left_centers[:, n - 1]))
                right = np.append(0, np.cumsum(by_right_centers[:, n_centers - n - 1]))
                cost = left[places] + right[-1] - right[places]
                if len(places) > _PLACES:
                    spread = np.linspace(0, len(places) - 1, _PLACES // 2).astype(np.intp)
                    chosen = np.union1d(spread, np.argsort(cost, kind="stable")[: _PLACES // 2])
                    places, cost = places[chosen], cost[chosen]
                center = float(centers[n - 1])
                for place, price in zip(places.tolist(), cost.tolist(), strict=True):
                    threshold = max(center, values[place - 1]) if place else center
                    found.append((price, j, threshold, along <= center))
        return sorted(found, key=lambda cut: cut[:3])


def _differ(points: Float64) -> bool:
    return bool((points != points[0]).any())


def _after(
    kills: npt.NDArray[np.uint8], side: int, test: NodeTest, searched: SearchedColumns | None
) -> npt.NDArray[np.uint8]:
    """Flags of branches that make an ancestor redundant below one side of a cut; for levels, those of all levels."""
    sides: int | slice = side
    columns: int | Int32 = test.feature
    if searched is not None:
        is_category = test.levels is not None or searched.level[test.feature] >= 0
        columns = searched.of(test.feature if test.levels is not None else int(searched.source[test.feature]))
        sides = slice(None) if is_category else side
    if kills[sides, columns].all():
        return kills
    after = kills.copy()
    after[sides, columns] = 1
    return after


@dataclass(frozen=True, eq=False)
class _OpenLeaf:
    """A leaf that may be split, and its gain, an upper bound until its best cut is known.

    ``sums``: statistics of the leaf, if there is memory for them. ``children``: the children of a node that was split,
    as long as neither was examined; ``sums`` are then the node's.
    """

    node: int
    place: int
    gain: float | Fraction
    purer_by: float
    sums: NodeSums | None
    cut: LeafCut | None = None
    children: tuple[int, int] | None = None

    def __lt__(self, other: _OpenLeaf) -> bool:
        return (-self.gain, -self.purer_by, self.place) < (-other.gain, -other.purer_by, other.place)


class _Expansion:
    """The leaves of a tree that may be split, the one with the largest gain first."""

    def __init__(self, tree: GrowingTree, criterion: ExpansionCriterion, limits: Limits | None) -> None:
        self.tree, self.criterion, self.limits = tree, criterion, limits
        self.queue: list[_OpenLeaf] = []
        self._cached_bytes = 0  # of the sums in the queue

    def consider(self, node: int, sums: NodeSums) -> None:
        """Put a leaf with a bound on its gain into the queue, unless nothing can be gained."""
        tree, criterion = self.tree, self.criterion
        if self.limits is not None and not self.limits.has_room(tree.depth(node)):
            return
        cost, impurity = criterion.cost(sums, tree.cluster(node)), criterion.impurity(sums)
        if not criterion.ends_without_gain or cost != 0 or impurity != 0.0:
            self._push(_OpenLeaf(node, tree.place(node), cost, impurity, sums))

    def split_next(self) -> bool:
        """Split the first leaf if its best cut is known, else put it back with more known; whether it was split.

        A function, so that no variable of the caller's loop keeps sums alive, which are large.
        """
        tree, leaf = self.tree, heapq.heappop(self.queue)
        self._cached_bytes -= 0 if leaf.sums is None else leaf.sums.nbytes
        if leaf.children is not None:
            self._consider_children(leaf, leaf.children)
            return False
        if leaf.cut is None:
            self._find_cut(leaf)
            return False
        left, right = tree.split(leaf.node, leaf.cut.test)
        tree.label(left, leaf.cut.left_label)
        tree.label(right, leaf.cut.right_label)
        # If costs are sums over rows, neither child gains more than both cost.
        most = leaf.cut.cost if self.criterion.ends_without_gain else math.inf
        self._push(_OpenLeaf(left, min(left, right), most, math.inf, leaf.sums, children=(left, right)))
        return True

    def _push(self, leaf: _OpenLeaf) -> None:
        if leaf.sums is not None and self._cached_bytes + leaf.sums.nbytes > leaf.sums.cache_bytes:
            leaf = replace(leaf, sums=None)
        self._cached_bytes += 0 if leaf.sums is None else leaf.sums.nbytes
        heapq.heappush(self.queue, leaf)

    def _find_cut(self, leaf: _OpenLeaf) -> None:
        sums = self.criterion.sums(leaf.node) if leaf.sums is None else leaf.sums
        cut = self.criterion.best_cut(leaf.node, sums)
        if cut is None:
            return
        gain, purer_by = leaf.gain - cut.cost, leaf.purer_by - cut.impurity
        # Impurities are floats: cuts that purify only by rounding would never end the growth.
        is_gain = gain > 0 or (gain == 0 and purer_by > 1e-9 * leaf.purer_by)
        if is_gain or not self.criterion.ends_without_gain:
            self._push(replace(leaf, gain=gain, purer_by=purer_by, sums=sums, cut=cut))

    def _consider_children(self, parent: _OpenLeaf, children: tuple[int, int]) -> None:
        smaller, larger = sorted(children, key=self.tree.provider.size)
        of_smaller = self.criterion.sums(smaller)
        of_larger = None if parent.sums is None else parent.sums.subtract(of_smaller)
        if of_larger is not None:  # larger child first: if only one fits the cache, it takes longer to compute again
            self.consider(larger, of_larger)
        self.consider(smaller, of_smaller)
        del of_smaller
        if of_larger is None:
            self.consider(larger, self.criterion.sums(larger))


def expand(
    tree: GrowingTree,
    criterion: ExpansionCriterion,
    max_leaves: int,
    progress: Progress | None = None,
    limits: Limits | None = None,
) -> None:
    """Split the leaf whose best cut gains most, until there are max_leaves leaves or no cut gains anything.

    ``tree``: with labeled leaves, or a bare root, which gets its best label. ``limits``: limits of depth; the criterion
    applies the limits of cuts. ``progress``: called with the number of leaves after every split.
    """
    expansion, leaves = _Expansion(tree, criterion, limits), list(tree.leaves())
    for node in leaves:
        sums = criterion.sums(node)
        if tree.cluster(node) < 0:
            tree.label(node, criterion.label(sums))
        expansion.consider(node, sums)
        del sums
    n_leaves = len(leaves)
    while n_leaves < max_leaves and expansion.queue:
        if expansion.split_next():
            n_leaves += 1
            if progress is not None:
                progress(n_leaves)
