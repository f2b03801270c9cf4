"""Search for trees that are better than the grown ones: new cuts and moved leaves, from several starts.

The search uses a sample of the rows, with few bins a column and few numbers a row. More rows then choose the
thresholds, and the result is the tree that costs least on all rows, among the searched and the grown trees. So the
result never costs more than any given tree, even if the sample was misleading.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from cutwise import core
from cutwise._docs import table_html
from cutwise.core import Float64, Int32, Int64
from cutwise.reference.objective import KMEANS, Objective, fixed_costs
from cutwise.reference.search import COARSE, Points, Stop
from cutwise.table.table import EncodedTable, as_matrix

from .criteria.induced import ShallowCriterion
from .descent import descend
from .growing import GrowingTree, GrownTree, expand, separate, tree_size
from .limits import Limits
from .provider import GrowthProblem, MemoryProvider, Provider
from .recipes import RECIPES
from .refine_far import FarCut, cut_off_far
from .refine_sample import (
    FEWER_ROWS,
    GROWN_ROWS,
    GROWN_ROWS_A_CLUSTER,
    MOST_COLUMNS,
    ROWS_A_CLUSTER,
    BinnedRows,
    Cuts,
    DrawnRows,
    SampledRows,
    SearchSample,
    Tests,
    cut_of,
    draw_distinct,
    draw_more,
    draw_sample,
    encode_sample,
    leaves_by,
    part_of_tree,
    place_tests,
    room,
    sample_sizes,
    tests_of,
)
from .threshold_tree import NodeTest

Step = tuple[int, float, Cuts]
SizePrice = tuple[tuple[float, float], tuple[float, float]]
"""Prices of a condition and of a test of the average rule, as shares of the reference's cost, and free numbers."""
Path = list[Step]
"""The successive improvements of a search: work done so far, value of the tree, and the tree."""

SIZE_PRICES = (0.005, 0.01, 0.02, 0.04, 0.08)
"""Prices of a condition, as shares of the reference's cost, that a search with bounds on size tries."""
BOUNDED_PRICE, POLISHED_PRICE = 0.3, 100.0
"""Prices of size beyond the bounds: during the search, and when thresholds are chosen at its end."""
FURTHER_STARTS = 2
"""See ``Effort``."""
NEAR = 0.05
"""The first starts are kept if they cost at most this share of the reference's cost more than the best one."""
MANY_ROWS, MANY_LEAVES, MANY_VALUES = 80_000, 32, 20_000
"""Beyond this many distinct rows or leaves, or columns times leaves squared, a search starts only from the given trees
and moves leaves only in the best tree: more would take longer than growing the given trees."""
MOST_WORK = 112_000_000
"""Number of additions, about 0.1 s, after which no more leaves of a tree are moved, unless with more effort."""
FEW_ROWS, FURTHER_VALUES, ROWS_AS_BINS, MOST_FURTHER = 10_000, 42_000_000, 2_000, 6
"""With fewer than FEW_ROWS distinct rows a search has further rounds (see ``Effort``), at most MOST_FURTHER, so many
that rows (plus ROWS_AS_BINS for the sums by bin) times columns times leaves squared add up to FURTHER_VALUES: about
0.1 s."""
WHOLE_VALUES = 21_000_000
"""With at most this many of these values a search uses all rows."""
RUNS_AT_A_TIME, MOST_ITERATIONS, ORDERING_COLUMNS = 4, 8, 8
"""Clusterings of the sample for further starts: number kept at a time, the better half of those computed; iterations;
number of columns that rows are sorted by."""
LEAST_WORK = 1_000_000
"""Least earlier work, ten milliseconds, that repeated searches multiply: few rows shall end at the best tree too."""


@dataclass(frozen=True)
class Effort:
    """The length of a search, counted in operations rather than seconds, so that its result is reproducible.

    More effort than the default repeats all steps of the default and adds others. It finally continues from its results
    with more rows, as many as choose thresholds. ``n_starts``: number of starts. ``n_recut``: number of the best starts
    whose cuts are chosen again. ``n_swapped``: number of the best results in which leaves are moved. ``n_further``:
    rounds that add two starts, and the best tree in which no leaves were moved yet. ``tolerance``: leaves are moved if
    this is estimated to raise the cost by less than this share of the reference's. ``repeated``: work of searches from
    the best tree with some leaves moved at random, as a multiple of the earlier work.
    """

    n_starts: int = 8
    n_recut: int = 4
    n_swapped: int = 3
    n_further: int = 0
    tolerance: float = 0.006
    repeated: float = 0.0

    @classmethod
    def of(cls, effort: float) -> Effort:
        """The effort for a number: 1 is the default, 0.3 takes two thirds of its time; above 1 time is proportional."""
        swapped, further = max(1, round(3 * min(effort, 1.0))), round(3 * min(max(effort - 1.0, 0.0), 2.0))
        return cls(n_swapped=swapped, n_further=further, repeated=max(0.0, effort - 3.0))

    @property
    def goes_on(self) -> bool:
        """Whether it exceeds the default."""
        return self.n_further > 0

    @property
    def at_last(self) -> Effort:
        """The effort of the final search with more rows: without further rounds and repeats."""
        return replace(self, n_further=0, repeated=0.0)


@dataclass(frozen=True)
class SearchRecord:
    """A record of a search.

    ``start_cost``, ``cost``: costs of the cheapest grown tree and of the result. ``n_starts``: number of trees that the
    search started from. ``n_steps``: improvements from one of these to the result; 0 if the result is a grown tree.
    ``path``: work done (additions of a row, or of a bin, to the sums of a column) and cost after each improvement; the
    cost is an estimate on the sample of the search.
    """

    start_cost: float
    cost: float
    n_starts: int
    n_steps: int
    path: list[tuple[int, float]] = field(default_factory=list)

    def __repr__(self) -> str:
        return (
            f"SearchRecord(cost {self.start_cost:.6g} to {self.cost:.6g}, starts={self.n_starts}, steps={self.n_steps})"
        )

    def _repr_html_(self) -> str:
        figures = self.start_cost, self.cost, self.n_starts, self.n_steps
        return table_html(("cheapest tree that was grown", "tree that was found", "starts", "steps"), [figures])

    @classmethod
    def from_dict(cls, data: Any) -> SearchRecord:
        """The record that ``dataclasses.asdict`` described, also after JSON."""
        path = [(int(work), float(cost)) for work, cost in data["path"]]
        return cls(float(data["start_cost"]), float(data["cost"]), int(data["n_starts"]), int(data["n_steps"]), path)


class Judgement(NamedTuple):
    """Cost of a tree on all rows, and average number of conditions and of tests in a row's rule."""

    cost: float
    waes: float
    wad: float


Steps = list[tuple[int, float]]
"""Work done and cost after each improvement."""


class FoundTree(NamedTuple):
    """A tree that a search found: its tests, thresholds as they were before all rows chose them, and the way there."""

    tests: Tests
    before: list[Float64]
    steps: Steps

    def beside(self, cut: NodeTest, is_above: bool) -> FoundTree:
        """The same tree below a cut, with a leaf on its other side, above it or not."""
        column, thresholds, right = self.tests
        at, right_of_root = ([0, len(column)], len(column) + 1) if is_above else ([0, 0], 2)
        child = np.insert(np.where(column < 0, right, right + 2 - is_above), at, [right_of_root, -1])
        ends = np.insert(thresholds, at, [cut.threshold, np.nan])
        return FoundTree((np.insert(column, at, [cut.feature, -1]), ends, child.astype(np.int32)), [], self.steps)


@dataclass(frozen=True, eq=False)
class Judged:
    """A tree's judgement on all rows, the steps that led to it (none for a grown tree), and a function to grow it."""

    judgement: Judgement
    steps: Steps
    grow: Callable[[], GrownTree]

    @cached_property
    def grown(self) -> GrownTree:
        """The tree, grown on demand: most trees are only judged."""
        return self.grow()


@dataclass(frozen=True, eq=False)
class SearchCheaper:
    """A search for a cheaper tree of ``n_leaves`` leaves, where each leaf has the center of its rows.

    ``table``: the m rows, in the columns that are cut. ``metric``: the m rows in the metric space; the table's own
    matrix if both are the same. ``centers`` (k, p) float64: the reference's centers. ``labels`` (m,) int32: reference
    clusters, after which the leaves of the result are named. ``coordinates`` (k, d) float64: the reference clusters in
    the columns that are cut. ``judge``: gives the costs of partitions of the m rows; each partition is a call that
    returns the part of every row, 0 to the number of leaves - 1. Costs that are not the lowest of their group may be
    off by rounding. ``rows``: provider of the m rows, to grow trees. ``n_leaves``: leaves of the result; the starts may
    have fewer leaves with rows. ``objective``: objective of the centers; the search itself uses squared distances for
    any objective. ``depth_penalty``: penalty of "exshallow", which grows further starts. ``size_penalty``: price of one
    condition in every rule, as a share of the reference's cost; a level of depth costs a quarter. ``max_size``: bounds
    on the weighted average of conditions and of tests; several prices of size are then tried. ``limits``: limits of all
    trees, also of the starts. ``ends_at_reference``: whether a start that equals the reference ends a search that would
    not use all columns. ``n_jobs``: threads; the result does not depend on it. ``progress``: called twice a second with
    the cost ratio of the cheapest tree on the sample.
    """

    table: EncodedTable
    metric: core.Matrix
    centers: Float64
    labels: Int32
    coordinates: Float64
    judge: Callable[[Sequence[Callable[[], Int32]], Sequence[range]], list[float]]
    rows: Provider
    n_leaves: int
    effort: Effort
    objective: Objective = KMEANS
    depth_penalty: float = 0.03
    size_penalty: float = 0.0
    max_size: tuple[float, float] | None = None
    limits: Limits | None = None
    ends_at_reference: bool = False
    n_jobs: int = 1
    progress: Callable[[float], None] | None = None

    def search(self, starts: Sequence[GrownTree]) -> tuple[GrownTree, SearchRecord, list[Judged]]:
        """The refined tree, the record of the search, and all judged trees; ``starts``: trees of all rows.

        The tree is the same, bit for bit, for any order of rows and number of threads, and for weights as for repeated
        rows. If no tree meets the bounds on size, it is the one that comes closest.
        """
        n_starts, found, price = (len(starts), list[FoundTree](), 0.0) if self.is_over(starts) else self._find(starts)
        tests = [(grown.tree.feature, grown.tree.threshold, grown.tree.children_right) for grown in starts]
        ways: list[tuple[Steps, Callable[[], GrownTree]]] = [
            ([], partial(self._name_leaves, grown)) for grown in starts
        ]
        for each in found:
            column, _, right = each.tests
            for ends in (each.tests[1], *each.before):
                tree = column, ends, right
                grow = partial(self._grow_again, tree)
                if self.limits is None or self._allows(grow()):  # moved thresholds may make a leaf too small
                    tests.append(tree)
                    ways.append((each.steps, grow))
                    break
        judged = [Judged(each, *way) for each, way in zip(self._judge(starts, tests), ways, strict=True)]

        def rank(tree: Judged) -> tuple[float, float, float, float]:
            cost, waes, wad = tree.judgement
            bound = self.max_size
            beyond = 0.0 if bound is None else max(waes - bound[0], 0.0) + max(wad - bound[1], 0.0)
            return beyond, cost + price * (waes + wad / 4), waes, wad

        taken = min(judged, key=rank)
        start_cost = min(tree.judgement.cost for tree in judged[: len(starts)])
        record = SearchRecord(start_cost, taken.judgement.cost, n_starts, len(taken.steps), taken.steps)
        # Only if leaves are missing: the search may have given inseparable clusters leaves elsewhere.
        short = taken.grown.tree.n_leaves < self.n_leaves
        inseparable = max((start.inseparable for start in starts), key=len) if short else []
        return replace(taken.grown, inseparable=inseparable), record, judged

    def is_over(self, starts: Sequence[GrownTree]) -> bool:
        """Whether no search is needed; see ``ends_at_reference``."""
        ends_early = self.ends_at_reference and self.table.matrix.n_cols > MOST_COLUMNS
        return ends_early and any(map(self._equals_reference, starts))

    def _find(self, starts: Sequence[GrownTree]) -> tuple[int, list[FoundTree], float]:
        """Search from some trees; return the number of starts, the best trees, and the price of a condition."""
        table, matrix = self.table, self.table.matrix
        n_polished = sample_sizes(self.n_leaves, max(matrix.n_cols, self.metric.n_cols))[1]
        drawn = draw_distinct(core.row_hashes(matrix, self.n_jobs), n_polished)
        known = [tests for grown in starts if (tests := tests_of(grown.tree, table.searched)) is not None]
        cuts, near = list[FarCut](), np.arange(len(self.centers))
        bounded = self.limits is not None or self.max_size is not None or self.size_penalty > 0.0
        if not bounded and self.n_leaves == len(near) and np.isfinite(self.coordinates).all():
            has_rows = np.bincount(self._by_label(starts[0])[0], minlength=self.n_leaves) > 0
            cuts, near, drawn = cut_off_far(
                matrix, self.metric, self.centers, self.coordinates, has_rows, drawn, self._total_weight(), self.n_jobs
            )
        rest = replace(
            self, centers=self.centers[near], coordinates=self.coordinates[near], n_leaves=self.n_leaves - len(cuts)
        )
        if cuts:
            rows = as_matrix(core.gather_rows(matrix, drawn.first))
            known = [part_of_tree(tests, leaves_by(rows, tests)) for tests in known]
            known = [tests for tests in known if np.count_nonzero(tests[0] < 0) <= rest.n_leaves]
        n_starts, found, price = rest._find_near(drawn, known, len(starts))
        for cut in reversed(cuts):
            found = [each.beside(*cut) for each in found]
        return n_starts, found, price

    def _find_near(self, drawn: DrawnRows, known: Sequence[Tests], n_grown: int) -> tuple[int, list[FoundTree], float]:
        """Search as ``_find``, after far clusters are cut off; ``known``: trees to start from."""
        table, n_leaves = self.table, self.n_leaves
        if n_leaves == 1:
            leaf = np.array([-1], dtype=np.int32)
            return 0, [FoundTree((leaf, np.array([np.nan]), leaf), [], [])], 0.0
        n_sampled, n_polished = sample_sizes(n_leaves, max(table.matrix.n_cols, self.metric.n_cols))
        given = list(known)
        n_rows, n_values = len(drawn.first) / drawn.share, self._n_searched() * n_leaves**2
        if n_rows > MANY_ROWS:
            n_sampled = max(FEWER_ROWS, ROWS_A_CLUSTER * n_leaves)
        elif n_rows < FEW_ROWS and (n_rows + ROWS_AS_BINS) * n_values <= WHOLE_VALUES:
            n_sampled = FEW_ROWS
        drawn = self._led_by_clusters(drawn, n_sampled)
        goes_on = self.effort.goes_on and n_sampled < len(drawn.first)
        effort = self._in_time(n_rows, n_values)
        search = partial(self._search_rows, drawn, n_grown=n_grown, anew=len(known) < n_grown)
        n_starts, found, sample = search(n_sampled, given, effort)
        if goes_on:
            given += [each.tests for each in found]
            more_starts, more, sample = search(n_polished, given, self.effort.at_last)
            n_starts, found = n_starts + more_starts, found + more
        if self.objective is not KMEANS:
            # The search used squared distances: continue with the objective, from its results and its starts.
            tests = [*(each.tests for each in found), *known]
            whole = [each for each in tests if np.count_nonzero(each[0] < 0) == n_leaves]
            descended = self._descend(whole, [None] * len(whole), drawn) if whole else []
            found += [FoundTree(each, [], []) for each, _ in descended]
        return n_starts, found, self.size_penalty * sample.cost / sample.weight * self._total_weight()

    def _led_by_clusters(self, drawn: DrawnRows, n_sampled: int) -> DrawnRows:
        """Move a row of every cluster that the sample would miss to the front, since far clusters cost much."""
        first = np.unique(self.labels[drawn.first], return_index=True)[1]
        return drawn.led_by(first[first >= n_sampled])

    def _search_rows(
        self, drawn: DrawnRows, n_sampled: int, given: Sequence[Tests], effort: Effort, *, n_grown: int, anew: bool
    ) -> tuple[int, list[FoundTree], SearchSample]:
        """Search with the first ``n_sampled`` of the drawn rows.

        ``given``: trees to start from. ``n_grown``: number of starts that count as given. ``anew``: whether to grow a
        tree on the reference's centers too. Returns ``n_starts``, ``found``, ``sample``: the number of starts, the best
        trees, and the sample.
        """
        table, metric, n_leaves, max_size, n_jobs = self.table, self.metric, self.n_leaves, self.max_size, self.n_jobs
        sampled = drawn.begin(n_sampled)
        rows = draw_sample(table, metric, sampled, self.centers, self.coordinates, given, self.limits)
        trees = [place_tests(tests, rows.columns, table.matrix.n_cols) for tests in given]
        n_runs, n_further = max(0, effort.n_starts - n_grown), FURTHER_STARTS * effort.n_further
        takes_all = rows.share > 0.5 and n_sampled <= FEW_ROWS
        n_growing = n_sampled if takes_all else max(GROWN_ROWS, GROWN_ROWS_A_CLUSTER * n_leaves)
        grown_rows = rows.first(n_growing)
        centers = np.ascontiguousarray(self.centers[:, rows.metric_columns])
        runs = [centers, *_cluster_sample(grown_rows, len(centers), n_runs + n_further, self.objective, n_jobs)]
        sample, cuts = encode_sample(rows, self.centers, runs[: 1 + n_runs], trees, self._total_weight(), n_jobs)
        first = 0 if anew else 1
        further = _grow_on_sample(
            *sample.first(n_growing), sample.bins, runs[first:], self.objective, self.depth_penalty, n_jobs
        )
        n_first = len(further) - n_further
        levels = [[*cuts, *further[:n_first]]]
        levels += [further[i : i + FURTHER_STARTS] for i in range(n_first, len(further), FURTHER_STARTS)]
        cuts = [tree for level in levels for tree in level if tree is not None]
        del grown_rows
        rows = rows.without_rows()
        sample = replace(sample, rows=rows)
        search = partial(
            _search, sample, n_leaves=n_leaves, effort=effort, goes_on=self.effort.goes_on,
            least=room(self.limits, sample.weight), n_jobs=n_jobs, progress=self.progress,
        )  # fmt: skip
        paths, bound = search(levels, _everywhere(self.size_penalty)), _everywhere(0.0)
        if max_size is not None:
            for price in (price for price in SIZE_PRICES if price > self.size_penalty):
                paths += search([[path[-1][2] for path in paths[-1:]]], _everywhere(price))
            if min(max_size) < n_leaves:  # longer rules do not exist
                near = [*cuts, *(path[-1][2] for path in paths)]
                paths += search([near], (2 * (BOUNDED_PRICE,), max_size))
                bound = 2 * (POLISHED_PRICE,), max_size
        more_rows = draw_more(table, metric, drawn, rows)
        found = list[FoundTree]()
        for path in _different(paths):
            cuts_found = path[-1][2]
            steps = [(work, sample.cost_of(value)) for work, value, _ in path if math.isfinite(value)]
            tests = _polish(*more_rows, sample, cuts_found, bound, n_jobs)
            found.append(FoundTree(tests, [sample.bins.thresholds(cuts_found)], steps))
        return len(cuts), found, sample

    def _n_searched(self) -> int:
        """Number of searched columns."""
        allowed = None if self.limits is None else self.limits.columns
        return min(self.table.matrix.n_cols if allowed is None else int((allowed > 0).sum()), MOST_COLUMNS)

    def _in_time(self, n_rows: float, n_values: int) -> Effort:
        """The effort, reduced if trees take long, increased if the table is small."""
        effort = self.effort
        if n_rows > MANY_ROWS or self.n_leaves > MANY_LEAVES or n_values > MANY_VALUES:
            return replace(effort, n_starts=0, n_recut=2, n_swapped=1)
        if effort.n_swapped < Effort.n_swapped or n_rows >= FEW_ROWS:
            return effort
        n_further = min(int(FURTHER_VALUES / ((n_rows + ROWS_AS_BINS) * n_values)), MOST_FURTHER)
        return replace(effort, n_further=effort.n_further + n_further)

    def cheaper_clusters(self, starts: Sequence[GrownTree]) -> list[GrownTree]:
        """Cheaper trees by a search from trees whose clusters may have several leaves, in the table's columns.

        Trees with empty leaves are left out, since their thresholds have no neighboring values.
        """
        starts = [start for start in starts if not start.n_empty]
        given = [(start.tree.feature, start.tree.threshold, start.tree.children_right) for start in starts]
        clusters = [start.tree.cluster for start in starts]
        n_rows = sample_sizes(self.n_leaves, max(self.table.matrix.n_cols, self.metric.n_cols))[1]
        drawn = draw_distinct(core.row_hashes(self.table.matrix, self.n_jobs), n_rows)
        found = self._descend(given, clusters, drawn)
        replayed = [self._replay(*each) for each in found]
        trees = [tree.finish() for tree in replayed if all(tree.provider.size(leaf) for leaf in tree.leaves())]
        return [each for each in trees if self.limits is None or self._allows(each)]

    def _descend(
        self, trees: Sequence[Tests], clusters: Sequence[Int32 | None], drawn: DrawnRows
    ) -> list[tuple[Tests, Int32]]:
        """See ``descend``; tests are of the table's columns."""
        rows = draw_sample(self.table, self.metric, drawn, self.centers, self.coordinates, trees, self.limits)
        placed = [place_tests(tests, rows.columns, self.table.matrix.n_cols) for tests in trees]
        least = room(self.limits, float(rows.weights.sum()))
        columns = np.append(rows.columns, -1).astype(np.int32)
        return [
            ((columns[column], thresholds, right), cluster)
            for (column, thresholds, right), cluster in descend(
                rows, placed, clusters, len(self.centers), self.objective, least, self.n_jobs
            )
        ]

    def _total_weight(self) -> int:
        """Weight of all rows."""
        return self.table.n_rows if self.table.weights is None else int(self.table.weights.sum())

    def _judge(self, starts: Sequence[GrownTree], trees: Sequence[Tests]) -> list[Judgement]:
        """Judge trees on all rows; the first ones are the starts."""
        leaves = [start.leaf_of_row for start in starts]
        leaves += [leaves_by(self.table.matrix, tree, self.n_jobs) for tree in trees[len(starts) :]]

        def parts(i: int) -> Int32:
            number: Int32 = np.cumsum(trees[i][0] < 0, dtype=np.int32) - np.int32(1)
            return number[leaves[i]]

        first = dict[bytes, int]()  # one tree is judged for all that give the same partition
        alike = [first.setdefault(_together(parts(i)), i) for i in range(len(trees))]
        judged = list(first.values())
        n_starts = sum(i < len(starts) for i in judged)
        groups = [range(n_starts), range(n_starts, len(judged))]
        if self.max_size is not None or self.size_penalty > 0.0:  # then all costs must be exact
            groups = [range(i, i + 1) for i in range(len(judged))]
        found = self.judge([partial(parts, i) for i in judged], [group for group in groups if group])
        costs = [found[judged.index(i)] for i in alike]
        return self._judgements(costs, starts, trees, [(leaf, self.table.weights) for leaf in leaves])

    def _judgements(
        self,
        costs: Sequence[float],
        starts: Sequence[GrownTree],
        trees: Sequence[Tests],
        rows: Sequence[tuple[Int32, Int64 | None]],
    ) -> list[Judgement]:
        """Costs and sizes of trees, the starts first; ``rows``: the leaf of every row in each tree, and weights."""
        sizes, searched = [start.size_of(*own) for start, own in zip(starts, rows, strict=False)], self.table.searched
        for (column, _, right), own in zip(trees[len(starts) :], rows[len(starts) :], strict=True):
            if searched is None:
                sizes.append(tree_size(column, right, *own))
            else:
                source = np.where(column < 0, column, searched.source[column])
                sizes.append(tree_size(source, right, *own, searched.level[column] >= 0))
        return [Judgement(cost, *size) for cost, size in zip(costs, sizes, strict=True)]

    def _grow_again(self, tests: Tests) -> GrownTree:
        """The tree with these cuts as a grown tree: thresholds placed in their gaps, leaves named after clusters."""
        return self._name_leaves(self._replay(tests).finish(), anew=True)

    def _replay(self, tests: Tests, cluster: Int32 | None = None) -> GrowingTree:
        """Replay the splits of a tree on all rows; see ``replay``."""
        return replay(self.rows.anew(), *tests, cluster)

    def _allows(self, grown: GrownTree) -> bool:
        assert self.limits is not None
        return self.limits.are_met(grown.tree, grown.leaf_of_row, grown.rows)

    def _by_label(self, grown: GrownTree) -> tuple[Int32, Int64 | None]:
        """Labels and weights of the rows in ``grown.leaf_of_row``."""
        return (self.labels, self.table.weights) if grown.rows is None else grown.rows.by_label

    def _equals_reference(self, grown: GrownTree) -> bool:
        """Whether the leaves equal the reference's clusters."""
        labels, weights = self._by_label(grown)
        differs = grown.codes != labels
        return grown.tree.n_leaves == self.n_leaves and not (differs if weights is None else weights[differs]).any()

    def _name_leaves(self, grown: GrownTree, *, anew: bool = False) -> GrownTree:
        """Give every leaf its own cluster, to agree with the reference on most weight.

        Without ``anew`` only if several leaves of a start have the same cluster.
        """
        tree, leaves = grown.tree, grown.tree.leaves
        if not anew and len(np.unique(tree.cluster[leaves[tree.n_node_samples[leaves] > 0]])) == len(leaves):
            return grown
        labels, weights = self._by_label(grown)
        cluster = tree.cluster.copy()
        place = np.cumsum(tree.feature < 0) - 1
        cluster[leaves] = _names(place[grown.leaf_of_row], len(leaves), labels, weights)
        order, clusters = (grown.split_order, cluster) if anew else (None, None)
        return replace(grown, tree=replace(tree, cluster=cluster), split_order=order, leaf_clusters=clusters)


def _everywhere(penalty: float) -> SizePrice:
    return (penalty, penalty / 4), (0.0, 0.0)


def _in_units(price: SizePrice, sample: SearchSample, weight: float) -> SizePrice:
    """Convert a price for rows of this weight to units of the grid."""
    (condition, level), (conditions, levels) = price
    unit = sample.grid.in_units(sample.cost) / sample.weight
    return (condition * unit, level * unit), (conditions * weight, levels * weight)


def _different(paths: Sequence[Path]) -> list[Path]:
    """The first of all paths that end in the same tree."""
    found = {tuple(each.tobytes() for each in path[-1][2]): path for path in reversed(paths)}
    return list(reversed(found.values()))


def _search(
    sample: SearchSample,
    levels: Sequence[Sequence[Cuts | None]],
    size_price: SizePrice,
    *,
    n_leaves: int,
    effort: Effort,
    goes_on: bool,
    least: tuple[float, int],
    n_jobs: int,
    progress: Callable[[float], None] | None,
) -> list[Path]:
    """Paths to the best trees of the sample, the best one last."""
    in_units, least_gain = sample.grid.in_units, sample.grid.in_units(sample.least_gain)
    search = core.TreeSearch(
        sample.bins.codes,
        sample.bins.n_bins,
        sample.payload,
        "squares",
        least_gain,
        *least,
        *_in_units(size_price, sample, sample.weight),
    )

    def run(
        trees: Sequence[Cuts], *, swaps: bool, work: int = 0, most_work: int = 2**62
    ) -> tuple[list[int], list[Path]]:
        found = search.run(
            list(trees),
            n_leaves=n_leaves,
            swaps=swaps,
            tolerance=in_units(effort.tolerance * sample.cost),
            work=work,
            n_jobs=n_jobs,
            progress=None if progress is None else lambda value: progress(sample.cost_of(value) / sample.cost),
            most_work=most_work,
        )
        return [done for done, _ in found], [path for _, path in found]

    # Expensive starts end as expensive trees.
    chosen, waiting = list[list[Cuts]](), list[tuple[float, Cuts]]()
    for level in levels:
        waiting += [(search.value(tree), tree) for tree in level if tree is not None]
        waiting.sort(key=itemgetter(0))
        near = [tree for value, tree in waiting if value <= waiting[0][0] + in_units(NEAR * sample.cost)]
        n_recut = FURTHER_STARTS if chosen else min(effort.n_recut, len(near))
        chosen.append([tree for _, tree in waiting[:n_recut]])
        waiting = waiting[n_recut:]
    done, paths = run([tree for level in chosen for tree in level], swaps=False)
    # Starts often end in the same tree.
    swapped, ends = list[Step](), list[Step]()
    reached = iter(paths)
    for i, level in enumerate(chosen):
        ends += [path[-1] for path in islice(reached, len(level)) if path]
        for step in sorted(ends, key=itemgetter(1)):
            is_new = all(abs(step[1] - other[1]) > least_gain for other in swapped)
            if is_new and len(swapped) < effort.n_swapped + i:
                swapped.append(step)
    most_work = MOST_WORK // sample.payload.shape[1]
    further, paths = run([cuts for _, _, cuts in swapped], swaps=True, most_work=most_work)
    if goes_on:
        stopped = [path for path, each in zip(paths, further, strict=True) if each >= most_work]
        longer, ends_of = run([path[-1][2] for path in stopped], swaps=True)
        further += longer
        paths += [path + more for path, more in zip(stopped, ends_of, strict=True)]
    found = {path[-1][1]: path for path in reversed(paths) if path}  # the first path to each value
    paths = [found[value] for value in sorted(found, reverse=True)]
    if effort.repeated > 0.0 and paths:
        work = int(effort.repeated * max(sum(done) + sum(further), LEAST_WORK))
        ((longest,),) = run([paths[-1][-1][2]], swaps=True, work=work)[1:]
        paths += [longest[: n + 1] for n in range(1, len(longest))]
    return paths


def _cluster_sample(
    rows: SampledRows, n_clusters: int, n_runs: int, objective: Objective, n_jobs: int
) -> list[Float64]:
    """Centers of ``n_runs`` clusterings of the sample, in its metric columns."""
    # An order that does not change with an offset of the table; equal rows remain in the order of their hashes.
    order = np.lexsort(rows.coordinates.T[:ORDERING_COLUMNS][::-1])
    points = Points(rows.coordinates[order], rows.weights[order], objective)
    runs = list[Float64]()
    while len(runs) < n_runs:
        seeds = range(2 * len(runs), 2 * (len(runs) + RUNS_AT_A_TIME))
        rows_of = [points.seeds(n_clusters, np.random.default_rng(seed)) for seed in seeds]
        found = [points.iterate(each, Stop(COARSE, MOST_ITERATIONS), n_jobs) for each in rows_of]
        runs += [run.centers for run in sorted(found, key=attrgetter("cost"))[:RUNS_AT_A_TIME]]
    return runs[:n_runs]


def _grow_on_sample(
    rows: SampledRows,
    table: EncodedTable,
    bins: BinnedRows,
    runs: Sequence[Float64],
    objective: Objective,
    depth_penalty: float,
    n_jobs: int,
) -> list[Cuts | None]:
    """Trees of "exshallow" on the bins of the sample, one per clustering; None if its labels occurred before."""
    trees = list[Cuts | None]()
    seen: list[Int32] = []
    for centers in runs:
        labels = objective.assign(rows.metric, centers, n_jobs)[0]
        if any(np.array_equal(labels, others) for others in seen):
            trees.append(None)
            continue
        seen.append(labels)
        coordinates = centers
        if rows.coordinates is not rows.values:
            means, _ = objective.centers(as_matrix(rows.values), labels, len(centers), rows.weights, n_jobs)
            coordinates = np.where(np.isnan(means), rows.values[0], means)
        costs = fixed_costs(rows.metric, centers, objective, weights=rows.weights, n_jobs=n_jobs)
        growing = GrowingTree(MemoryProvider(table, labels, costs, n_jobs))
        problem = GrowthProblem(growing.provider, bins.bins_of(coordinates), depth_penalty=depth_penalty)
        separate(growing, ShallowCriterion(problem))
        column, threshold, right = growing.tests()
        trees.append((column, np.floor(np.nan_to_num(threshold, nan=-1.0)).astype(np.int32), right))
    return trees


def _polish(
    matrix: core.Matrix,
    metric: core.Matrix,
    weights: Int64 | None,
    sample: SearchSample,
    cuts: Cuts,
    size_price: SizePrice,
    n_jobs: int,
) -> tuple[Int32, Float64, Int32]:
    """Choose thresholds again on more rows, without changing their columns; the result has columns of the table."""
    searched, _, right = cuts
    rows, grid, directions = sample.rows, sample.grid, None
    if sample.directions is not None and len(rows.metric_columns) < len(grid.origin):
        directions = sample.directions
    is_whole = rows.share == 1.0
    thresholds = core.polish(
        matrix,
        metric,
        weights,
        grid.origin[rows.metric_columns],
        grid.reach,
        grid.scale,
        grid.weigh_first,
        directions,
        searched,
        sample.bins.thresholds(cuts),
        right,
        None if is_whole else sample.bins.edges,
        None if is_whole else sample.bins.edge_begin,
        grid.in_units(sample.least_gain),
        *_in_units(size_price, sample, matrix.n_rows if weights is None else float(weights.sum())),
        n_jobs,
    )
    column = np.where(searched >= 0, rows.columns[searched], -1).astype(np.int32)
    return column, thresholds, right


def _together(part: Int32) -> bytes:
    """Hash of a partition that does not depend on the numbers of its parts."""
    first = np.empty(part.max() + 1, dtype=np.int32)
    first[part[::-1]] = np.arange(len(part) - 1, -1, -1, dtype=np.int32)
    return hashlib.sha256(first[part].tobytes()).digest()


def _names(
    leaf_of_row: npt.NDArray[np.intp], n_leaves: int, labels: Int32, weights: Int64 | None
) -> npt.NDArray[np.intp]:
    """A different cluster for every leaf, to agree with the labels on most weight."""
    n_clusters = max(int(labels.max()) + 1, n_leaves)
    common = np.bincount(leaf_of_row * n_clusters + labels, weights, n_leaves * n_clusters)
    names: npt.NDArray[np.intp] = linear_sum_assignment(common.reshape(n_leaves, n_clusters), maximize=True)[1]
    return names


def replay(
    provider: Provider, column: Int32, thresholds: Float64, right: Int32, cluster: Int32 | None = None
) -> GrowingTree:
    """Replay the splits of a tree in preorder, with the clusters of its leaves; 0 if ``cluster`` is None."""
    tree = GrowingTree(provider)
    number = {0: 0}
    for node in range(len(column)):
        if column[node] < 0:
            tree.label(number[node], 0 if cluster is None else int(cluster[node]))
            continue
        test = NodeTest(int(column[node]), float(thresholds[node]))
        number[node + 1], number[int(right[node])] = tree.split(number[node], test)
    return tree


def expand_tree(
    grown: GrownTree,
    provider: Provider,
    *,
    expansion: str,
    max_leaves: int,
    n_clusters: int,
    limits: Limits | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> GrownTree:
    """Add leaves to a searched tree, best first; parameters as in ``grow_on``."""
    found, tree, number = grown.tree, GrowingTree(provider), {0: 0}
    for node in range(found.n_nodes):
        if found.feature[node] < 0:
            tree.label(number[node], int(found.cluster[node]))
            continue
        children = int(found.children_left[node]), int(found.children_right[node])
        gap = None if found.levels[node] is not None else grown.gaps[node, :2]  # centers may bound the gap
        cut = cut_of(found.test(node), provider.searched)
        mistakes = int(found.n_node_mistakes[node])
        number |= zip(children, tree.split(number[node], cut, centers=gap, mistakes=mistakes), strict=True)
    criterion = RECIPES[expansion].expansion
    assert criterion is not None
    # Expansions use only costs and labels, not the coordinates of centers.
    coordinates = np.zeros((n_clusters, provider.n_columns))
    expand(
        tree,
        criterion(GrowthProblem(provider, coordinates, limits=limits)),
        max_leaves,
        progress and partial(progress, expansion),
        limits,
    )
    return tree.finish(grown.inseparable)
