"""Access to the rows of a growing tree, in memory or not.

Criteria and growing trees access rows only through a :class:`Provider`. They describe a payload (the terms that every
row adds to the sums of its node) or a search (the score of the sums on both sides of a cut), without rows. Each
description has a method for rows in memory; no other code knows the numbers of these rows.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Flags, Float64, Int32, Int64
from cutwise.reference.objective import FixedCosts
from cutwise.table.table import ColumnKind, EncodedTable, SearchedColumns

from .limits import Limits
from .surrogate_features import SurrogateFeatures
from .threshold_tree import NodeTest, ThresholdTree


@dataclass(frozen=True, eq=False)
class Category:
    """A category of the table.

    ``source``: its column in the table. ``n_levels``: number of codes. ``columns``: the searched columns of its levels;
    of two levels only the second has one.
    """

    source: int
    n_levels: int
    columns: Int32

    def modes(self, coordinates: Float64) -> Int32:
        """The most frequent level of every cluster, the first among equals, from the searched coordinates (k, D)."""
        modes: Int32 = np.argmax(coordinates[:, self.columns], axis=1).astype(np.int32)
        return modes


@dataclass(frozen=True, eq=False)
class CodedCategory(Category):
    """A category of rows in memory; ``levels``: the level of every row."""

    levels: core.Levels

    def costs(self, memory: MemoryProvider, rows: Int32) -> Int64:
        """Costs of the given rows, summed by level, for each cluster; (n_levels, k)."""
        return core.level_costs(self.levels.codes(rows), rows, memory.costs.excess, self.n_levels)

    def weights(self, rows: Int32, weights: Int64 | None) -> Int64:
        """Weight of the given rows by level."""
        return self.levels.count(rows, weights)[:, 0]


@dataclass(frozen=True, eq=False)
class LevelSums:
    """Sums over the rows of a node by level of a category that may be cut.

    ``counts`` (n_levels,): counts for the ``limits``; None without limits. ``sums`` (n_levels, k) int64, or with more
    axes: sums for the search; None if they are not needed. ``weight``: gives the weight of every level. ``costs``:
    gives the costs of every level by cluster.
    """

    category: Category
    counts: Int64 | None
    limits: core.NodeLimits | None
    sums: Any
    weight: Callable[[], Int64]
    costs: Callable[[], Int64]


def find_levels(searched: SearchedColumns) -> list[Category]:
    """The categories with two levels or more."""
    return [
        Category(source, kind.n_levels, searched.of(source))
        for source, kind in enumerate(searched.kinds)
        if kind.name == "category" and kind.n_levels > 1
    ]


def allowed_categories(
    memory: MemoryProvider,
    rows: Int32,
    limits: Limits | None,
    sums_of: Callable[[CodedCategory], Int64 | None],
    may_win: npt.NDArray[Any] | None = None,
) -> Iterator[LevelSums]:
    """Sums by level of the categories that may be cut; ``may_win``: by category, all 0 where it is not, or None."""
    for j, category in enumerate(memory.categories):
        if may_win is not None and not may_win[j].any():
            continue
        weight = partial(category.weights, rows, memory.weights)
        costs = partial(category.costs, memory, rows)
        if limits is None:
            yield LevelSums(category, None, None, sums_of(category), weight, costs)
        elif limits.columns is None or limits.columns[category.columns[0]]:
            counts = category.weights(rows, limits.counts)
            yield LevelSums(category, counts, limits.of_node, sums_of(category), weight, costs)


Gap = tuple[float, float]

FoundCut = TypeVar("FoundCut")

FoundCut_co = TypeVar("FoundCut_co", covariant=True)

State = TypeVar("State", bound="NodeRows", covariant=True)

_NO_GAP = (math.nan, math.nan)

Histogram = npt.NDArray[Any]
"""Sums by slot: int64, or uint16 for weights of sparse rows, whose many cells are mostly empty."""

HISTOGRAM_BYTES = 128 * 2**20
"""Largest size of a histogram with all clusters; beyond it, columns are sorted in every node instead."""


class Provider(Protocol):
    """The rows that grow a tree, by the number of their node; 0 is the root.

    All sums are sums of integers, so the results do not depend on where the rows are stored.
    """

    @property
    def n_columns(self) -> int:
        """Number of columns that are searched."""

    @property
    def searched(self) -> SearchedColumns | None:
        """The columns to search if they are not the table's own; None if all columns are complete numbers."""

    def values(self, node: int, column: int, cut: NodeTest) -> tuple[Float64, Int64 | None]:
        """Values of a node's rows in a column of the table, and their weights; None if each counts once.

        One value may represent several values on the same side of the cut, with their total weight.
        """

    def kind(self, column: int) -> ColumnKind:
        """Kind of a column of the table."""

    def size(self, node: int) -> int:
        """Number of rows in a node; equal rows may count once."""

    def n_samples(self, node: int) -> int:
        """Number of rows in a node; each of several equal rows counts."""

    def sums(self, node: int, payload: Payload) -> NodeSums:
        """Sums of a payload over the rows of a node, in total and possibly by bin."""

    def totals(self, node: int, payload: Payload) -> Int64:
        """Total sums of a payload over the rows of a node; shape (payload's k,)."""

    def follow(
        self, separation: Separation[NodeRows], node: SeparationNode | None, children: Sequence[SeparationNode]
    ) -> None:
        """Update a separation after ``node`` was split into ``children``; None: begin, with the root as child."""

    def search(self, node: int, search: Search[FoundCut]) -> FoundCut:
        """What is found among the cuts of a node."""

    def partition(self, node: int, test: NodeTest) -> None:
        """Split a node's rows in two, rows that pass the test first; the children get the next two numbers.

        ``test``: a threshold in a searched column, or levels of a column of the table.
        """

    def gaps(self, node: int) -> tuple[Gap, Gap]:
        """The neighboring values around each end of a split node's test, the lower end last.

        Infinite on a side without rows, nan for an end that the test does not have.
        """

    def number_of_row(self, numbers: Mapping[int, int]) -> Int32:
        """The number in ``numbers`` of each row's leaf; shape (m,)."""

    def leaf_rows(self, tree: ThresholdTree, leaf_of_row: Int32) -> Any:
        """Content of the m rows of a finished tree, if they represent rows that are not in memory."""

    def anew(self) -> Provider:
        """The same rows, all in the root."""

    def all_rows(self, columns: Int64) -> AllRows:
        """Labels, weights, costs and some searched columns of all rows; only for moderate numbers of rows."""


class AllRows(NamedTuple):
    """All rows: ``values`` (m, n_columns), ``labels`` (m,), ``weights`` (m,) or None, ``costs`` (m, k)."""

    values: Float64
    labels: Int32
    weights: Int64 | None
    costs: npt.NDArray[Any]


@dataclass(eq=False)
class NodeSums:
    """Sums over the rows of a node; a node's sums are the total of its children's.

    ``totals`` (k,) int64: over all rows. ``histogram`` (n_slots, k): over the rows of every slot; None when
    sorting the columns is cheaper. ``cache_bytes``: memory for the sums of all waiting nodes; with cached sums the
    larger child only costs a subtraction.
    """

    totals: Int64
    histogram: Histogram | None
    cache_bytes: int = 0

    @property
    def nbytes(self) -> int:
        """Memory of the histogram."""
        return 0 if self.histogram is None else self.histogram.nbytes

    def subtract(self, child: NodeSums) -> NodeSums | None:
        """The sums of the other child, computed in place; None without histograms."""
        if self.histogram is None or child.histogram is None:
            return None
        self.histogram -= child.histogram
        self.totals -= child.totals
        return self


@dataclass(frozen=True, eq=False)
class SeparationNode:
    """A node of a tree that separates clusters.

    ``number``: its number in the tree. ``survivors``: the clusters whose centers lie in it, in increasing order.
    ``limits``: limits of its cuts; None: all are allowed.
    """

    number: int
    survivors: Int32
    limits: Limits | None = None

    @property
    def core_limits(self) -> core.NodeLimits | None:
        """The limits as searches of the core take them."""
        return None if self.limits is None else self.limits.of_node


class Search(Protocol[FoundCut_co]):
    """A search among the cuts of a node, by a score of the sums of rows on both sides of a cut."""

    def among(self, memory: MemoryProvider, rows: Int32) -> FoundCut_co:
        """What is found where the rows of the node are in memory."""


class Separation(Protocol[State]):
    """A payload that depends on the clusters that survive in the node of a row."""

    def in_memory(self, memory: MemoryProvider) -> State:
        """State of the rows in memory, which is updated from node to node."""


class NodeRows(Protocol):
    """State of a separation for rows in memory."""

    def follow(self, node: SeparationNode | None, children: Sequence[SeparationNode]) -> None:
        """See :class:`Provider`."""


@dataclass(frozen=True)
class CostPayload:
    """The cost of every row by each of k clusters, in fixed-point units above the row's least."""

    k: int
    is_weight: ClassVar[bool] = False

    def prefers_bins(self, n_rows: int, n_columns: int, n_slots: int) -> bool:
        """Whether adding into bins and walking them beats sorting the rows of every column."""
        # A bin takes one addition per cluster, and so does every row in the sorted order of a column.
        return n_rows * n_columns > 2 * n_slots

    def add(self, memory: MemoryProvider, rows: Int32, sums: NodeSums) -> None:
        """Add rows that are in memory to sums."""
        core.add_to_cost_histogram(
            memory.table.encoded, rows, memory.costs.excess, sums.histogram, sums.totals, memory.n_jobs
        )


@dataclass(frozen=True)
class LabelPayload:
    """The weight of every row in the entry of its label, one of k clusters."""

    k: int
    is_weight: ClassVar[bool] = True

    def prefers_bins(self, n_rows: int, n_columns: int, n_slots: int) -> bool:
        """See :class:`CostPayload`."""
        # The work for sorted rows does not depend on the number of labels; every bin has a count for each label.
        return bool(n_rows * (2.0 + np.log2(n_rows + 1.0)) * n_columns > n_slots * self.k)

    def add(self, memory: MemoryProvider, rows: Int32, sums: NodeSums) -> None:
        """See :class:`CostPayload`."""
        histogram = None if sums.histogram is None else sums.histogram[:, :, np.newaxis]
        memory.add_by_cluster(rows, memory.labels, histogram, sums.totals[:, np.newaxis])


Payload = CostPayload | LabelPayload
"""The k integers that every row adds to the sums of its node; ``is_weight``: whether these are weights."""


class MemoryProvider:
    """All rows in memory: the rows of a node are a slice of one index array, which splits reorder in place.

    ``table``: the m rows. ``labels`` (m,) int32: reference cluster of every row, 0 to k - 1. ``costs``: cost of every
    row by every cluster, or a function that gives it when a criterion first needs it. Both may be left out if nothing
    is searched. ``n_jobs``: threads; no result depends on it.
    """

    def __init__(
        self,
        table: EncodedTable,
        labels: Int32 | None = None,
        costs: FixedCosts | Callable[[], FixedCosts] | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.table = table
        self.n_jobs = n_jobs
        self._labels = labels
        self._costs = costs
        self._order = np.arange(table.n_rows, dtype=np.int32)
        self._slices: list[tuple[int, int]] = [(0, table.n_rows)]
        self._gaps: dict[int, tuple[Gap, Gap]] = {}
        # What a separation keeps of the rows is not kept beyond it.
        self._states: MutableMapping[Separation[Any], Any] = weakref.WeakKeyDictionary()

    def anew(self) -> MemoryProvider:
        """The same rows, all in the root."""
        return MemoryProvider(self.table, self._labels, self._costs, self.n_jobs)

    def all_rows(self, columns: Int64) -> AllRows:
        """See :class:`Provider`."""
        values = core.gather_rows(self.table.matrix, np.arange(self.table.n_rows, dtype=np.int64), columns)
        return AllRows(values, self.labels, self.weights, self.costs.excess)

    @property
    def n_columns(self) -> int:
        """See :class:`Provider`."""
        return int(self.table.encoded.n_cols)

    @property
    def n_slots(self) -> int:
        """Number of bins of all columns, as a histogram has them."""
        return int(self.table.encoded.n_slots)

    @property
    def weights(self) -> Int64 | None:
        """Integer weight of every row; None where each counts once."""
        return self.table.weights

    @property
    def labels(self) -> Int32:
        """Reference cluster of every row, shape (m,)."""
        assert self._labels is not None
        return self._labels

    @property
    def costs(self) -> FixedCosts:
        """Costs of every row by every cluster."""
        assert self._costs is not None
        return self._costs if isinstance(self._costs, FixedCosts) else self._costs()

    @cached_property
    def zero_cost_rows(self) -> npt.NDArray[np.uint8] | None:
        """Mask of the rows whose costs are all 0; None if there are none."""
        excess = self.costs.excess
        rows = np.flatnonzero(excess[:, 0] == 0)
        for cluster in range(1, excess.shape[1]):  # few rows are left after each
            rows = rows[excess[rows, cluster] == 0]
        if not len(rows):
            return None
        costs_nothing = np.zeros(len(excess), dtype=np.uint8)
        costs_nothing[rows] = 1
        return costs_nothing

    @cached_property
    def ranks(self) -> core.Ranks:
        """Ranks of all columns, for searches of intervals."""
        return self.table.ranks(self.n_jobs)

    @cached_property
    def categories(self) -> list[CodedCategory]:
        """Categories with three levels or more, which have cuts on sets of levels, with the level of every row."""
        return [
            CodedCategory(each.source, each.n_levels, each.columns, self.table.levels(each.source))
            for each in ([] if self.searched is None else find_levels(self.searched))
            if each.n_levels > 2
        ]

    @cached_property
    def levels(self) -> list[core.Levels]:
        """Levels of all ``categories``, for a joint search."""
        return [category.levels for category in self.categories]

    def modes(self, coordinates: Float64) -> Int32:
        """The most frequent level of every cluster, (n_categories, k), from the searched coordinates (k, D)."""
        return np.array([each.modes(coordinates) for each in self.categories], dtype=np.int32)

    @property
    def searched(self) -> SearchedColumns | None:
        """See :class:`Provider`."""
        return self.table.searched

    def values(self, node: int, column: int, cut: NodeTest) -> tuple[Float64, Int64 | None]:
        """See :class:`Provider`."""
        rows, table = self.rows(node), self.table
        assert table.values is not None
        if table.kinds[column].name == "category":
            levels = table.levels(column)
            counts = levels.count(rows, None)[:, 0]
            present = np.flatnonzero(counts)
            weights = counts if table.weights is None else levels.count(rows, table.weights)[:, 0]
            return present.astype(np.float64), weights[present]
        return table.values[:, column][rows], None if table.weights is None else table.weights[rows]

    def kind(self, column: int) -> ColumnKind:
        """See :class:`Provider`."""
        return self.table.kinds[column]

    def rows(self, node: int) -> Int32:
        """All rows routed to a node: a view that the split of the node reorders."""
        start, stop = self._slices[node]
        return self._order[start:stop]

    def size(self, node: int) -> int:
        """See :class:`Provider`; equal rows count once where they were merged."""
        start, stop = self._slices[node]
        return stop - start

    def n_samples(self, node: int) -> int:
        """See :class:`Provider`."""
        copies = self.table.copies
        return self.size(node) if copies is None else int(copies[self.rows(node)].sum())

    def sums(self, node: int, payload: Payload) -> NodeSums:
        """See :class:`Provider`."""
        # Sorting a sparse table would need a lookup of every value.
        with_bins = self.table.encoded.is_sparse or payload.prefers_bins(self.size(node), self.n_columns, self.n_slots)
        dtype = self._weight_type if payload.is_weight else np.int64
        histogram = np.zeros((self.n_slots, payload.k), dtype=dtype) if with_bins else None
        # About half the memory of the table plus that of the costs; more on small tables.
        encoded = self.table.encoded
        of_rows = (4 if encoded.is_sparse else 2) * encoded.codes.nbytes + 4 * encoded.n_rows * payload.k
        cache_bytes = min(max(of_rows, 2**22), HISTOGRAM_BYTES // 2)
        sums = NodeSums(np.zeros(payload.k, dtype=np.int64), histogram, cache_bytes)
        payload.add(self, self.rows(node), sums)
        return sums

    def totals(self, node: int, payload: Payload) -> Int64:
        """See :class:`Provider`."""
        sums = NodeSums(np.zeros(payload.k, dtype=np.int64), None)
        payload.add(self, self.rows(node), sums)
        return sums.totals

    def new_histogram(self, k: int, *, width: int, of_weights: bool = False) -> tuple[Histogram | None, Int64]:
        """Zeros of shape (n_slots, k, width), or None if they are too large, and zero totals of shape (k, width)."""
        dtype = np.dtype(self._weight_type if of_weights else np.int64)
        is_large = dtype.itemsize * self.n_slots * k * width > HISTOGRAM_BYTES
        histogram = None if is_large else np.zeros((self.n_slots, k, width), dtype=dtype)
        return histogram, np.zeros((k, width), dtype=np.int64)

    @cached_property
    def _weight_type(self) -> type[np.int64 | np.uint16]:
        """Type of the cells of a histogram of weights."""
        total = self.table.n_rows if self.weights is None else int(self.weights.sum())
        return np.uint16 if self.table.encoded.is_sparse and total < 2**16 else np.int64

    def add_by_cluster(
        self, rows: Int32, cluster: Int32, histogram: Histogram | None, totals: Int64, *, sign: int = 1
    ) -> None:
        """Add the weights of rows to cells of their clusters, (n_slots, k, 1) and (k, 1), or subtract them."""
        core.add_to_cluster_histogram(
            self.table.encoded, rows, cluster, self.weights, None, histogram, totals, sign, self.n_jobs
        )

    def state_of(self, separation: Separation[State]) -> State:
        """The state of a separation."""
        # A reference cycle would keep the costs of all rows in memory until the garbage collector runs.
        state: State = self._states.get(separation) or separation.in_memory(weakref.proxy(self))
        self._states[separation] = state
        return state

    def follow(
        self, separation: Separation[NodeRows], node: SeparationNode | None, children: Sequence[SeparationNode]
    ) -> None:
        """See :class:`Provider`."""
        self.state_of(separation).follow(node, children)

    def search(self, node: int, search: Search[FoundCut]) -> FoundCut:
        """See :class:`Provider`."""
        return search.among(self, self.rows(node))

    def partition(self, node: int, test: NodeTest) -> None:
        """See :class:`Provider`."""
        table, rows = self.table, self.rows(node)
        if test.levels is not None:
            if table.kinds[test.feature].name == "category":
                n_left = table.levels(test.feature).partition(rows, test.levels)
            else:  # whether a value is missing
                assert table.values is not None
                inside = test.holds(table.values[rows, test.feature])
                n_left = int(np.count_nonzero(inside))
                rows[:] = np.concatenate([rows[inside], rows[~inside]])
            gap = lower_gap = _NO_GAP
        else:
            ends = test.lower, test.threshold
            n_left, gap, lower_gap = core.partition(table.encoded, table.matrix, rows, test.feature, *ends)
        start, stop = self._slices[node]
        self._slices += [(start, start + n_left), (start + n_left, stop)]
        self._gaps[node] = gap, lower_gap

    def gaps(self, node: int) -> tuple[Gap, Gap]:
        """See :class:`Provider`."""
        return self._gaps[node]

    def number_of_row(self, numbers: Mapping[int, int]) -> Int32:
        """See :class:`Provider`."""
        number = np.empty(self.table.n_rows, dtype=np.int32)
        for leaf, given in numbers.items():
            number[self.rows(leaf)] = given
        return number

    def leaf_rows(self, tree: ThresholdTree, leaf_of_row: Int32) -> Any:
        """See :class:`Provider`."""


Features = SurrogateFeatures | Sequence[SurrogateFeatures]


@dataclass(frozen=True, eq=False)
class GrowthSpec:
    """How a tree grows, whatever the rows.

    ``algorithm``: one of ``RECIPES``. ``max_leaves``: leaves at most; a base tree with fewer is expanded while a cut
    gains anything. ``expansion``: recipe of this expansion. ``depth_penalty``: lambda of "exshallow". ``gini``:
    "expand" chooses among cuts of equal disagreement by Gini impurity. ``cuts``: tests of "exkmc" and "expand": only
    one-sided cuts ("threshold"), or also intervals ``lower < x <= threshold`` ("interval"). An interval is chosen only
    if it costs less than every one-sided cut; among equals the one of the lowest column, then of the lowest lower gap,
    then of the lowest upper gap. Columns with at most 1,000 distinct values in the node are searched over all pairs of
    gaps, other columns between 256 groups of values of equal weight; the ends of the best pair then move to the best
    single values next to them. ``features``: for "kernel_imm"; of the cuts with the fewest mistakes it takes the lowest
    column, then the lowest feature, then the lowest level, as the published trees do; see ``surrogate_features``.
    ``limits``: limits of cuts and depth. ``progress``: called with the algorithm and the number of leaves after every
    split. ``found``: keeps the cuts of leaves for growths of the same trees to other sizes.
    """

    algorithm: str = "exgreedy"
    max_leaves: int = 0
    expansion: str = "exkmc"
    depth_penalty: float = 0.03
    gini: bool = False
    cuts: str = "threshold"
    features: Features | None = None
    limits: Limits | None = None
    progress: Callable[[str, int], None] | None = None
    found: dict[tuple[str, float, int], LeafCut | None] | None = None


@dataclass(frozen=True, eq=False)
class GrowthProblem:
    """What criteria are made from.

    ``provider``: the rows, in the columns that may be cut. ``coordinates`` (k, d) float64: the reference clusters'
    coordinates in these columns. ``spec``: how the tree grows.
    """

    provider: Provider
    coordinates: Float64
    spec: GrowthSpec

    @property
    def n_clusters(self) -> int:
        """k, the number of clusters."""
        return len(self.coordinates)


@dataclass(frozen=True, eq=False)
class SeparatingCut:
    """A test with a surviving center on each side.

    ``goes_left``: mask of the survivors whose center lies left. ``coordinates``: the survivors' coordinates, if they
    bound the gap besides the rows' values. ``mistakes``: rows separated from their centers, if the criterion counts
    them.
    """

    test: NodeTest
    goes_left: npt.NDArray[np.bool_]
    coordinates: Float64 | None = None
    mistakes: int = 0

    @classmethod
    def at(
        cls, feature: int, threshold: float, coordinates: Float64, survivors: Int32, mistakes: int = 0
    ) -> SeparatingCut:
        """A cut by a threshold in a column; ``coordinates`` (k, d): of all clusters in the searched columns."""
        along = coordinates[survivors, feature]
        return cls(NodeTest(feature, threshold), along <= threshold, along, mistakes)


class SeparationCriterion:
    """Chooses the cut of a node with several centers, and keeps track of rows after splits.

    ``clusters``: the clusters whose centers are to be separated, in increasing order.
    """

    def __init__(self, provider: Provider, separation: Separation[NodeRows], clusters: Int32) -> None:
        self._provider, self._separation, self.clusters = provider, separation, clusters

    def start(self, root: SeparationNode) -> None:
        """Begin at the root, before the first cut."""
        self._provider.follow(self._separation, None, [root])

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """The best cut of a node with two or more centers, or None if these are equal in every column.

        ``kills_left``, ``kills_right`` (n_columns,) uint8: 1 where a left (right) branch on the column makes an
        ancestor's condition redundant.
        """
        raise NotImplementedError

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """Update after the split of ``node``, the last one passed to ``best_cut``, into ``children``."""
        self._provider.follow(self._separation, node, children)


@dataclass(frozen=True)
class LeafCut:
    """The best cut of a leaf.

    ``cost``: cost of both sides together, each with its own label, in the criterion's units. ``impurity``: second score
    for cuts of equal cost; 0 if the criterion has none.
    """

    test: NodeTest
    cost: int | Fraction
    impurity: float
    left_label: int
    right_label: int


class ExpansionCriterion:
    """Chooses the cut of a leaf, and computes its gain.

    ``ends_without_gain``: whether growth stops when no cut lowers the cost. ``_payload``: the payload of the rows.
    """

    ends_without_gain = True
    _payload_of: type[Payload] = LabelPayload

    def __init__(self, problem: GrowthProblem) -> None:
        self._provider, self._limits, self._spec = problem.provider, problem.spec.limits, problem.spec
        self._gini = problem.spec.gini
        # Searches for intervals know no limits, and any node may be cut within a limit of depth.
        self._intervals = problem.spec.cuts == "interval" and (self._limits is None or self._limits.is_of_depth)
        self._payload = self._payload_of(problem.n_clusters)

    def sums(self, node: int) -> NodeSums:
        """The statistics of a leaf's rows: weights by label, or costs in fixed-point units above the least."""
        return self._provider.sums(node, self._payload)

    def label(self, sums: NodeSums) -> int:
        """The best cluster for a leaf, the lowest number among equals."""
        return int(np.argmax(sums.totals))

    def cost(self, sums: NodeSums, label: int) -> int | Fraction:
        """The cost of a leaf if one cluster serves all its rows."""
        raise NotImplementedError

    def impurity(self, sums: NodeSums) -> float:
        """The second score of a leaf; 0 if the criterion has none."""
        return 0.0

    def best_cut(self, node: int, sums: NodeSums) -> LeafCut | None:
        """The cheapest cut, or None if the rows are equal in every column, or no cut can gain anything."""
        found = {} if self._spec.found is None else self._spec.found
        key = self._spec.algorithm, self._spec.depth_penalty, node  # a larger growth splits the same nodes first
        if key not in found:
            search = self._search(sums)
            cut: LeafCut | None = self._provider.search(node, search)
            if cut is not None and self._intervals and (cut.cost, cut.impurity) != (0, 0.0):
                cut = self._provider.search(node, replace(search, known=cut)) or cut
            found[key] = cut
        return found[key]

    def _search(self, sums: NodeSums) -> Any:
        """The search for the cheapest cut; with a ``known`` cut, for an interval that is better."""
        raise NotImplementedError
