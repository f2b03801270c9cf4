"""Search for trees that are better than the grown ones: new cuts and moved leaves, from several starts.

The search uses a sample of the rows, with few bins a column and few numbers a row. More rows then choose the
thresholds, and the result is the tree that costs least on all rows, among the searched and the grown trees. So the
result never costs more than any given tree, even if the sample was misleading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from cutwise import core
from cutwise._docs import table_html
from cutwise.core import Float64, Int32, Int64
from cutwise.reference.objective import KMEANS, fixed_costs
from cutwise.reference.search import COARSE, Points, Stop
from cutwise.table.table import as_matrix

from .criteria.induced import ShallowCriterion
from .cut_tree import CutTree, cut_of
from .descent import descend
from .growing import LEVELS_A_CONDITION, GrowingTree, GrownTree, expand, separate, tree_size
from .provider import GrowthProblem, GrowthSpec, MemoryProvider, Provider
from .recipes import RECIPES
from .refine_far import cut_off_far
from .refine_sample import (
    FURTHER_STARTS,
    MOST_COLUMNS,
    ROWS_A_CLUSTER,
    DrawnRows,
    Path,
    SampledRows,
    SearchPlan,
    SearchProblem,
    SearchSample,
    Step,
    encode_sample,
    improve,
    room,
    sample_sizes,
)

SIZE_PRICES = (0.005, 0.01, 0.02, 0.04, 0.08)
"""Prices of a condition, as shares of the reference's cost, that a search with bounds on size tries."""
BOUNDED_PRICE, POLISHED_PRICE = 0.3, 100.0
"""Prices of size beyond the bounds: during the search, and when thresholds are chosen at its end."""
NEAR = 0.05
"""The first starts are kept if they cost at most this share of the reference's cost more than the best one."""
DESCENT_ROWS = 12_000
"""Least number of rows that improve trees with more leaves than clusters."""
MOST_GROUPS, ROWS_A_GROUP, MOST_PAIRS, MOST_VALUES = 1_024, 32, 2**24, 2**18
"""Limits on groups of rows that trees share for their costs; the first one holds for any number of rows and nodes, the
last one for the means of the groups."""
ROUNDING = 1e-12
"""A tree's cost is rounded by at most this share, so that the shorter of two trees this close is taken."""
TOLERANCE = 0.006
"""Leaves are moved if this is estimated to raise the cost by less than this share of the reference's."""
RUNS_AT_A_TIME, MOST_ITERATIONS, ORDERING_COLUMNS = 4, 8, 8
"""Clusterings of the sample for further starts: number kept at a time, the better half of those computed; iterations;
number of columns that rows are sorted by."""
LEAST_WORK = 1_000_000
"""Least earlier work, ten milliseconds, that repeated searches multiply: few rows shall end at the best tree too."""


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


class SizePrice(NamedTuple):
    """Prices of a condition and of a test of the average rule, as shares of the reference's cost, and free numbers."""

    price: tuple[float, float]
    free: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def everywhere(cls, penalty: float) -> SizePrice:
        """The same price for all conditions; a test costs a quarter."""
        return cls((penalty, penalty / 4))

    def in_units(self, sample: SearchSample, weight: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """The prices for rows of this weight, in units of the grid."""
        (condition, level), (conditions, levels) = self
        unit = sample.grid.in_units(sample.cost) / sample.weight
        return (condition * unit, level * unit), (conditions * weight, levels * weight)


Steps = list[tuple[int, float]]
"""Work done and cost after each improvement."""


class FoundTree(NamedTuple):
    """A tree that a search found: its cuts, as they were before more rows chose the thresholds, and the way there."""

    tree: CutTree
    before: CutTree | None
    steps: Steps


@dataclass(frozen=True, eq=False)
class Judged:
    """A tree's judgement on all rows, the steps that led to it (none for a grown tree), and a function to grow it.

    ``n_further_levels``: see ``GrownTree``.
    """

    judgement: Judgement
    n_further_levels: int
    steps: Steps
    grow: Callable[[], GrownTree]

    @cached_property
    def grown(self) -> GrownTree:
        """The tree, grown on demand: most trees are only judged."""
        return self.grow()


@dataclass(frozen=True, eq=False)
class SearchCheaper(SearchProblem):
    """A search for a cheaper tree of ``n_leaves`` leaves, where each leaf has the center of its rows.

    ``judge``: gives the costs of several partitions of the m rows, from the group of every row and the part of every
    group in each partition, 0 to the number of leaves - 1.
    ``rows``: provider of the m rows, to grow trees. ``n_leaves``: leaves of the result; the starts may have fewer
    leaves with rows. ``effort``: see ``SearchPlan``. ``depth_penalty``: penalty of "exshallow", which grows further
    starts. ``size_penalty``: price of one condition in every rule, as a share of the reference's cost; a level of
    depth costs a quarter. ``max_size``: bounds on the weighted average of conditions and of tests; several prices
    of size are then tried. ``ends_at_reference``: whether a start that equals the reference ends a search that would
    not use all columns or could not move a leaf. ``cost``: of the reference, by the table's weights. ``progress``:
    called twice a second with the cost ratio of the cheapest tree on the sample.
    """

    judge: Callable[[Int32, Sequence[Int32]], list[float]]
    rows: Provider
    n_leaves: int
    effort: float = 1.0
    depth_penalty: float = 0.03
    size_penalty: float = 0.0
    max_size: tuple[float, float] | None = None
    ends_at_reference: bool = False
    cost: float = math.inf
    progress: Callable[[float], None] | None = None

    def search(self, starts: Sequence[GrownTree]) -> tuple[GrownTree, SearchRecord, list[Judged]]:
        """The refined tree, the record of the search, and all judged trees; ``starts``: trees of all rows.

        The tree is the same, bit for bit, for any order of rows and number of threads, and for weights as for repeated
        rows. If no tree meets the bounds on size, it is the one that comes closest.
        """
        n_starts, found, price = (len(starts), list[FoundTree](), 0.0) if self.is_over(starts) else self._find(starts)
        ways: list[tuple[int, Steps, Callable[[], GrownTree]]] = [
            (start.n_further_levels, [], partial(self._name_leaves, start)) for start in starts
        ]
        trees = list[CutTree]()
        for each in found:
            for tree in (each.tree, each.before):  # moved thresholds may make a leaf too small
                if tree is not None and (self.limits is None or self._is_within(self._grow(tree))):
                    trees.append(tree)
                    ways.append((0, each.steps, partial(self._grow, tree)))
                    break
        judged = [Judged(each, *way) for each, way in zip(self._judge(starts, trees), ways, strict=True)]
        start_cost = min(tree.judgement.cost for tree in judged[: len(starts)])
        if self.size_penalty > 0.0 or self.max_size is not None:  # only a bound may leave a cluster without rows
            used = [start.tree.n_leaves - (self.max_size is None) * start.n_empty for start in starts]
            used += [tree.n_leaves for tree in trees]
            judged = [tree for tree, n_leaves in zip(judged, used, strict=True) if n_leaves == max(used)]
        judged.sort(key=attrgetter("n_further_levels"))  # a front has the first of equal trees

        def rank(tree: Judged) -> tuple[float, float]:
            cost, waes, wad = tree.judgement
            bound = self.max_size
            beyond = 0.0 if bound is None else max(waes - bound[0], 0.0) + max(wad - bound[1], 0.0)
            return beyond, cost + price * (waes + wad / 4)

        best = min(map(rank, judged))
        equal = (tree for tree in judged if rank(tree) <= (best[0], best[1] * (1.0 + ROUNDING)))
        taken = min(
            equal,
            key=lambda tree: (tree.judgement.waes + tree.n_further_levels / LEVELS_A_CONDITION, tree.judgement.wad),
        )
        # Rows in batches are added up in another way, which changes the last digits.
        cost, start_cost = (float(f"{each:.12g}") for each in (taken.judgement.cost, start_cost))
        record = SearchRecord(start_cost, cost, n_starts, len(taken.steps), taken.steps)
        # Only if leaves are missing: the search may have given inseparable clusters leaves elsewhere.
        short = taken.grown.tree.n_leaves < self.n_leaves
        inseparable = max((start.inseparable for start in starts), key=len) if short else []
        return replace(taken.grown, inseparable=inseparable), record, judged

    def is_over(self, starts: Sequence[GrownTree]) -> bool:
        """Whether no search is needed; see ``ends_at_reference``."""
        is_wide = self.table.matrix.n_cols > MOST_COLUMNS
        return self.ends_at_reference and any(
            self._equals_reference(start) and (is_wide or self._is_settled(start)) for start in starts
        )

    def _find(self, starts: Sequence[GrownTree]) -> tuple[int, list[FoundTree], float]:
        """Search from some trees; return the number of starts, the best trees, and the price of a condition."""
        known = [own[0] for start in starts if (own := CutTree.of(start.tree, self.table.searched)) is not None]
        drawn, n_given = self.draw(self.n_leaves), len(starts)
        if self.n_leaves != len(self.centers) or not np.isfinite(self.coordinates).all():
            return self._find_near(drawn, known, n_given)
        has_rows = np.bincount(*self._by_label(starts[0]), minlength=self.n_leaves) > 0
        far, *_ = cut_off_far(self, has_rows, drawn, groups=True)
        bounded = self.limits is not None or self.max_size is not None or self.size_penalty > 0.0
        n_starts, found, price = 0, list[FoundTree](), 0.0
        if not far or bounded or not has_rows.all():  # a leaf without rows may be of use among the far clusters
            n_starts, found, price = self._find_near(drawn, known, n_given)
        if far:
            # Each group has its own digits and bins, but as many leaves as the reference has clusters there. More
            # effort may end elsewhere, so the trees of the default are among its trees.
            limits = self.limits and replace(self.limits, max_depth=None)
            apart = replace(self, limits=limits, size_penalty=0.0, max_size=None)
            efforts = [(self.effort, False)]
            if any(len(each.clusters) > 1 for each in far):
                efforts += [(effort, True) for effort in sorted({min(self.effort, 1.0), self.effort})]
            for effort, groups in efforts:
                problem = replace(apart, effort=effort)
                n_further, further, _ = problem._find_apart(drawn, known, n_given, has_rows, groups=groups)
                n_starts, found = n_starts + n_further, [*found, *further]
        return n_starts, found, price

    def _find_apart(
        self, drawn: DrawnRows, known: list[CutTree], n_given: int, has_rows: npt.NDArray[np.bool_], *, groups: bool
    ) -> tuple[int, list[FoundTree], float]:
        """Search as ``_find_near``, without single far clusters, and if ``groups``, in far groups by themselves."""
        n_rows = len(drawn.rows)
        far, near, drawn = cut_off_far(self, has_rows, drawn, groups=groups)
        if not far:
            return self._find_near(drawn, known, n_given)

        def within(clusters: Int64, drawn: DrawnRows) -> tuple[SearchCheaper, list[CutTree]]:
            rows = as_matrix(core.gather_rows(self.table.matrix, drawn.first))
            parts = (tree.reached_by(tree.apply(rows)) for tree in known if len(clusters) > 1)
            centers, coordinates = self.centers[clusters], self.coordinates[clusters]
            total = max(1, round(self.limits.total * len(drawn.rows) / n_rows)) if self.limits else 1
            limits = self.limits and replace(self.limits, total=total)
            problem = replace(self, centers=centers, coordinates=coordinates, limits=limits, n_leaves=len(clusters))
            return problem, [part for part in parts if part.n_leaves <= len(clusters)]

        problem, own = within(near, drawn)
        n_starts, found, price = problem._find_near(drawn, own, n_given)
        for cut, is_above, clusters, rows in reversed(far):
            problem, own = within(clusters, rows)
            n_further, others, _ = problem._find_apart(rows, own, n_given, has_rows[clusters], groups=groups)
            n_starts += n_further
            others = [*(FoundTree(each, None, []) for each in own if each.n_leaves == len(clusters)), *others]
            if not (found and others):
                return n_starts, [], price
            # The last ones are the best; those of one side cost the same beside any tree on the other side.
            pairs = [*((each, others[-1]) for each in found[:-1]), *((found[-1], other) for other in others)]
            found = [
                each._replace(tree=each.tree.beside(other.tree, cut, is_above), before=None) for each, other in pairs
            ]
        return n_starts, found, price

    def _find_near(self, drawn: DrawnRows, known: list[CutTree], n_given: int) -> tuple[int, list[FoundTree], float]:
        """Search near each other; ``known``: trees to start from, of ``n_given`` starts."""
        if self.n_leaves == 1:
            leaf = np.array([-1], dtype=np.int32)
            return 0, [FoundTree(CutTree(leaf, np.array([np.nan]), leaf), None, [])], 0.0
        n_starts, found = 0, list[FoundTree]()
        for plan in self._plans(drawn):
            # Far clusters cost much: rows of those that the sample would miss come first.
            first = np.unique(self.labels[drawn.first], return_index=True)[1]
            drawn = drawn.led_by(first[first >= plan.n_rows])
            given = [*known, *(each.tree for each in found)]
            sample, rounds = self._sample_and_starts(plan, drawn, given, n_given, len(known) < n_given)
            paths, bound = self._search_sample(sample, plan, rounds)
            n_starts += sum(map(len, rounds))
            found += self._choose_thresholds(sample, drawn, paths, bound)
        if self.objective is not KMEANS:
            # The search used squared distances: continue with the objective, from its results and its starts.
            trees = [tree for tree in (*(each.tree for each in found), *known) if tree.n_leaves == self.n_leaves]
            if (descended := self._descend(trees, [None] * len(trees), drawn)) is not None:
                found.append(FoundTree(descended[0], None, []))
        return n_starts, found, self.size_penalty * sample.cost / sample.weight * self.total_weight

    def _plans(self, drawn: DrawnRows) -> list[SearchPlan]:
        allowed, matrix = None if self.limits is None else self.limits.columns, self.table.matrix
        n_columns = min(matrix.n_cols if allowed is None else int((allowed > 0).sum()), MOST_COLUMNS)
        sizes = sample_sizes(self.n_leaves, max(matrix.n_cols, self.metric.n_cols))
        return SearchPlan.of(self.effort, self.n_leaves, n_columns, sizes, len(drawn.first), drawn.share)

    def _sample_and_starts(
        self, plan: SearchPlan, drawn: DrawnRows, given: Sequence[CutTree], n_given: int, anew: bool
    ) -> tuple[SearchSample, list[list[CutTree]]]:
        """The sample, and the starts by round; ``anew``: whether to grow a tree on the reference's centers too."""
        part, sampled = self.part_with(given), drawn.begin(plan.n_rows)
        rows = part.rows(sampled)
        growing = rows.first(plan.n_growing)
        n_runs, n_further = max(0, plan.n_starts - n_given), FURTHER_STARTS * plan.n_further
        runs = [np.ascontiguousarray(self.centers[:, part.metric_columns])]
        runs += _cluster_sample(self, growing, n_runs + n_further)
        is_whole = sampled.share == 1.0
        sample, cuts = encode_sample(
            self, part, rows, runs[: 1 + n_runs], list(map(part.place, given)), is_whole=is_whole
        )
        grown = self._grow_on_sample(sample, growing, runs[0 if anew else 1 :])
        ends = range(len(grown) - n_further, len(grown) + 1, FURTHER_STARTS)
        rounds = [[*cuts, *grown[: ends[0]]], *(grown[end - FURTHER_STARTS : end] for end in ends[1:])]
        return sample, [[tree for tree in trees if tree is not None] for trees in rounds]

    def _search_sample(
        self, sample: SearchSample, plan: SearchPlan, rounds: Sequence[Sequence[CutTree]]
    ) -> tuple[list[Path], SizePrice]:
        """Different paths to good trees, the best one last at each price of size; and the price of size in the end."""
        search = partial(self._search_at_price, sample, plan)
        paths, bound = search(SizePrice.everywhere(self.size_penalty), rounds), SizePrice.everywhere(0.0)
        if self.max_size is not None:
            for price in (price for price in SIZE_PRICES if price > self.size_penalty):
                paths += search(SizePrice.everywhere(price), [[path[-1].tree for path in paths[-1:]]])
            if min(self.max_size) < self.n_leaves:  # longer rules do not exist
                near = [*chain.from_iterable(rounds), *(path[-1].tree for path in paths)]
                paths += search(SizePrice(2 * (BOUNDED_PRICE,), self.max_size), [near])
                bound = SizePrice(2 * (POLISHED_PRICE,), self.max_size)
        different = {tuple(each.tobytes() for each in path[-1].tree): path for path in reversed(paths)}
        return list(reversed(different.values())), bound

    def _search_at_price(
        self, sample: SearchSample, plan: SearchPlan, price: SizePrice, rounds: Sequence[Sequence[CutTree]]
    ) -> list[Path]:
        """Choose cuts of the best starts again, then move leaves of the best results; see ``SearchPlan``."""
        in_units, least_gain, say = sample.grid.in_units, sample.grid.in_units(sample.least_gain), self.progress
        search = core.TreeSearch(
            sample.bins.codes, sample.bins.n_bins, sample.payload, "squares", least_gain,
            *room(self.limits, sample.weight), price.in_units(sample, sample.weight),
        )  # fmt: skip
        run = partial(
            improve, search, n_leaves=self.n_leaves, tolerance=in_units(TOLERANCE * sample.cost), n_jobs=self.n_jobs,
            progress=say and (lambda value: say(sample.cost_of(value) / sample.cost)),
        )  # fmt: skip
        chosen = _starts_to_recut(search, plan, rounds, in_units(NEAR * sample.cost))
        work, paths = run(list(chain.from_iterable(chosen)), swaps=False)
        swapped = _results_to_swap(plan, paths, list(map(len, chosen)), least_gain)
        most_work = plan.most_work // sample.payload.shape[1]
        further, paths = run([step.tree for step in swapped], swaps=True, most_work=most_work)
        if plan.is_long:
            stopped = [path for path, each in zip(paths, further, strict=True) if each >= most_work]
            longer, ends_of = run([path[-1].tree for path in stopped], swaps=True)
            further += longer
            paths += [path + more for path, more in zip(stopped, ends_of, strict=True)]
        found = {path[-1].value: path for path in reversed(paths) if path}  # the first path to each value
        paths = [found[value] for value in sorted(found, reverse=True)]
        if plan.repeated > 0.0 and paths:
            most = int(plan.repeated * max(sum(work) + sum(further), LEAST_WORK))
            ((longest,),) = run([paths[-1][-1].tree], swaps=True, work=most)[1:]
            paths += [longest[: n + 1] for n in range(1, len(longest))]
        return paths

    def _choose_thresholds(
        self, sample: SearchSample, drawn: DrawnRows, paths: Sequence[Path], price: SizePrice
    ) -> list[FoundTree]:
        """The trees at the ends of paths in the table's columns, with thresholds chosen again on all drawn rows."""
        part, grid, bins = sample.part, sample.grid, sample.bins
        rows, found = part.rows(drawn), list[FoundTree]()
        payload = grid.payload(rows, sample.directions if len(part.metric_columns) < self.metric.n_cols else None)
        edges, begin = (None, None) if sample.is_whole else (bins.edges, bins.edge_begin)
        least_gain, prices = grid.in_units(sample.least_gain), price.in_units(sample, float(rows.weights.sum()))
        for path in paths:
            tree = bins.unbinned(path[-1].tree)
            threshold = core.polish(rows.values, payload, tree, edges, begin, least_gain, prices)
            steps = [(step.work, sample.cost_of(step.value)) for step in path if math.isfinite(step.value)]
            before = part.restore(tree)
            found.append(FoundTree(before._replace(threshold=threshold), before, steps))
        return found

    def cheaper_clusters(self, start: GrownTree) -> GrownTree | None:
        """A cheaper tree by a search from a tree whose clusters may have several leaves.

        None if a leaf is empty, for then thresholds have no neighboring values, or if a test is of several levels.
        """
        if start.n_empty or (given := CutTree.of(start.tree, self.table.searched)) is None:
            return None
        drawn = self.draw(self.n_leaves).begin(max(DESCENT_ROWS, ROWS_A_CLUSTER * self.n_leaves))
        if (descended := self._descend([given[0]], [given[1]], drawn)) is None:
            return None
        replayed = descended[0].replay(self.rows.anew(), descended[1])
        if not all(replayed.provider.size(leaf) for leaf in replayed.leaves()):
            return None
        found = replayed.finish()
        return found if self._is_within(found) else None

    def _descend(
        self, trees: Sequence[CutTree], clusters: Sequence[Int32 | None], drawn: DrawnRows
    ) -> tuple[CutTree, Int32] | None:
        """See ``descend``; cuts are of the table's columns."""
        part = self.part_with(trees)
        found = descend(self, part.rows(drawn), list(map(part.place, trees)), clusters)
        return found and (part.restore(found[0]), found[1])

    def _grow_on_sample(self, sample: SearchSample, rows: SampledRows, runs: Sequence[Float64]) -> list[CutTree | None]:
        """Trees of "exshallow" on the bins of the sample, one per clustering; None if its labels occurred before."""
        trees, seen, table = list[CutTree | None](), list[Int32](), sample.table(rows)
        objective, n_jobs = self.objective, self.n_jobs
        for centers in runs:
            labels = objective.assign(rows.metric, centers, n_jobs)[0]
            if any(np.array_equal(labels, others) for others in seen):
                trees.append(None)
                continue
            seen.append(labels)
            coordinates = centers
            if not sample.part.is_same:
                means, _ = objective.centers(as_matrix(rows.values), labels, len(centers), rows.weights, n_jobs)
                coordinates = np.where(np.isnan(means), rows.values[0], means)
            costs = fixed_costs(rows.metric, centers, objective, weights=rows.weights, n_jobs=n_jobs)
            growing = GrowingTree(MemoryProvider(table, labels, costs, n_jobs))
            coordinates = sample.bins.bins_of(coordinates)
            problem = GrowthProblem(growing.provider, coordinates, GrowthSpec(depth_penalty=self.depth_penalty))
            separate(growing, ShallowCriterion(problem))
            trees.append(CutTree(*growing.tests()))
        return trees

    def _judge(self, starts: Sequence[GrownTree], found: Sequence[CutTree]) -> list[Judgement]:
        """Judge trees on all rows: the starts, then the found ones."""
        leaves = [start.leaf_of_row for start in starts]
        leaves += [tree.apply(self.table.matrix, self.n_jobs) for tree in found]
        columns = [*(start.tree.feature for start in starts), *(tree.column for tree in found)]
        numbers = [np.cumsum(column < 0, dtype=np.int32) - np.int32(1) for column in columns]  # of leaves
        costs, rows = list[float](), list[tuple[Int32, Int64 | None]]()
        for group, leaf_of_group in groups_by_leaf(leaves, self.metric.n_cols):
            alike = zip(numbers[len(costs) :], leaf_of_group, strict=False)
            costs += self.judge(group, [number[leaf] for number, leaf in alike])
            weight = np.bincount(group, self.table.weights).astype(np.int64)  # sums are below 2**53
            rows += [(leaf, weight) for leaf in leaf_of_group]
        return self._judgements(costs, starts, found, rows)

    def _judgements(
        self,
        costs: Sequence[float],
        starts: Sequence[GrownTree],
        found: Sequence[CutTree],
        rows: Sequence[tuple[Int32, Int64 | None]],
    ) -> list[Judgement]:
        """Costs and sizes of trees, the starts first; ``rows``: the leaf of every row in each tree, and weights."""
        sizes, searched = [start.size_of(*own) for start, own in zip(starts, rows, strict=False)], self.table.searched
        for (column, _, right), own in zip(found, rows[len(starts) :], strict=True):
            if searched is None:
                sizes.append(tree_size(column, right, *own))
            else:
                source = np.where(column < 0, column, searched.source[column])
                sizes.append(tree_size(source, right, *own, searched.level[column] >= 0))
        return [Judgement(cost, *size) for cost, size in zip(costs, sizes, strict=True)]

    def _grow(self, tree: CutTree) -> GrownTree:
        """The tree grown on all rows: thresholds placed in their gaps, leaves named after clusters."""
        return self._name_leaves(tree.replay(self.rows.anew()).finish(), anew=True)

    def _is_within(self, grown: GrownTree) -> bool:
        """Whether a tree is within the limits."""
        return self.limits is None or self.limits.are_met(grown.tree, grown.leaf_of_row, grown.rows)

    def _by_label(self, grown: GrownTree) -> tuple[Int32, Int64 | None]:
        """Labels and weights of the rows in ``grown.leaf_of_row``."""
        return (self.labels, self.table.weights) if grown.rows is None else grown.rows.by_label

    def _equals_reference(self, grown: GrownTree) -> bool:
        """Whether the leaves equal the reference's clusters."""
        labels, weights = self._by_label(grown)
        differs = grown.codes != labels
        return grown.tree.n_leaves == self.n_leaves and not (differs if weights is None else weights[differs]).any()

    @np.errstate(over="ignore")
    def _is_settled(self, grown: GrownTree) -> bool:
        """Whether no leaf can be moved: to merge any two of the reference's clusters would cost more than it does."""
        weight = np.bincount(*self._by_label(grown), minlength=len(self.centers)).astype(np.float64)
        if self.objective is not KMEANS or not weight.all():
            return False
        for i in range(1, len(weight)):  # most often the first pairs decide
            merged = ((self.centers[:i] - self.centers[i]) ** 2).sum(axis=1) / (1.0 / weight[:i] + 1.0 / weight[i])
            if not merged.min() > self.cost:
                return False
        return True

    def _name_leaves(self, grown: GrownTree, *, anew: bool = False) -> GrownTree:
        """Give every leaf its own cluster, to agree with the reference on most weight.

        Without ``anew`` only if several leaves of a start have the same cluster.
        """
        tree, leaves = grown.tree, grown.tree.leaves
        if not anew and len(np.unique(tree.cluster[leaves[tree.n_node_samples[leaves] > 0]])) == len(leaves):
            return grown
        labels, weights = self._by_label(grown)
        cluster = tree.cluster.copy()
        cluster[leaves] = _names(np.searchsorted(leaves, grown.leaf_of_row), len(leaves), labels, weights)
        return replace(grown, tree=replace(tree, cluster=cluster), leaf_clusters=cluster)


def _starts_to_recut(
    search: core.TreeSearch, plan: SearchPlan, rounds: Sequence[Sequence[CutTree]], near: float
) -> list[list[CutTree]]:
    """The best starts of each round, with those left from earlier ones; expensive starts end as expensive trees."""
    chosen, waiting = list[list[CutTree]](), list[tuple[float, CutTree]]()
    for trees in rounds:
        waiting = sorted([*waiting, *((search.value(tree), tree) for tree in trees)], key=itemgetter(0))
        n_near = sum(value <= waiting[0][0] + near for value, _ in waiting)
        n_recut = FURTHER_STARTS if chosen else min(plan.n_recut, n_near)
        chosen.append([tree for _, tree in waiting[:n_recut]])
        waiting = waiting[n_recut:]
    return chosen


def _results_to_swap(plan: SearchPlan, paths: Sequence[Path], sizes: Sequence[int], least_gain: float) -> list[Step]:
    """The best results after each round of so many starts; starts often end in the same tree."""
    swapped, ends, reached = list[Step](), list[Step](), iter(paths)
    for n_further, size in enumerate(sizes):
        ends += [path[-1] for path in islice(reached, size) if path]
        for step in sorted(ends, key=attrgetter("value")):
            is_new = all(abs(step.value - other.value) > least_gain for other in swapped)
            if is_new and len(swapped) < plan.n_swapped + n_further:
                swapped.append(step)
    return swapped


def _cluster_sample(problem: SearchProblem, rows: SampledRows, n_runs: int) -> list[Float64]:
    """Centers of ``n_runs`` clusterings of the sample, in its metric columns."""
    # An order that does not change with an offset of the table; equal rows remain in the order of their hashes.
    order = np.lexsort(rows.coordinates.T[:ORDERING_COLUMNS][::-1])
    points = Points(rows.coordinates[order], rows.weights[order], problem.objective)
    runs = list[Float64]()
    while len(runs) < n_runs:
        seeds = range(2 * len(runs), 2 * (len(runs) + RUNS_AT_A_TIME))
        rows_of = [points.seeds(len(problem.centers), np.random.default_rng(seed)) for seed in seeds]
        found = [points.iterate(each, Stop(COARSE, MOST_ITERATIONS), problem.n_jobs) for each in rows_of]
        runs += [run.centers for run in sorted(found, key=attrgetter("cost"))[:RUNS_AT_A_TIME]]
    return runs[:n_runs]


def groups_by_leaf(leaves: Sequence[Int32], n_columns: int) -> Iterator[tuple[Int32, list[Int32]]]:
    """Groups of rows that share a leaf in each of several trees: the group of every row, and its leaf in each tree.

    ``leaves``: the leaf of every row in every tree. ``n_columns``: of the metric space. Where most groups would be
    small, or their means large, fewer trees share them. Groups are numbered by their leaves, in any order of the rows.
    """
    n_nodes = max(int(leaf.max()) for leaf in leaves) + 1
    most = max(MOST_GROUPS, min(len(leaves[0]) // ROWS_A_GROUP, MOST_PAIRS // n_nodes))
    most = min(most, MOST_VALUES // n_columns)
    group, leaf_of_group = _groups_within(np.zeros_like(leaves[0]), [], leaves[0])
    for leaf in leaves[1:]:
        narrower = _groups_within(group, leaf_of_group, leaf)
        if len(narrower[1][0]) > most:
            yield group, leaf_of_group
            narrower = _groups_within(np.zeros_like(leaf), [], leaf)
        group, leaf_of_group = narrower
    yield group, leaf_of_group


def _groups_within(group: Int32, leaf_of_group: Sequence[Int32], leaf: Int32) -> tuple[Int32, list[Int32]]:
    """The groups of ``groups_by_leaf`` for one more tree."""
    n_groups, n_nodes = len(leaf_of_group[0]) if leaf_of_group else 1, int(leaf.max()) + 1
    pair, number = group.astype(np.intp) * n_nodes + leaf, np.zeros(n_groups * n_nodes, dtype=np.int32)
    number[pair] = 1
    pairs = np.flatnonzero(number)
    number[pairs] = np.arange(len(pairs), dtype=np.int32)
    wider, own = np.divmod(pairs, n_nodes)
    return number[pair], [*(each[wider] for each in leaf_of_group), own.astype(np.int32)]


def _names(
    leaf_of_row: npt.NDArray[np.intp], n_leaves: int, labels: Int32, weights: Int64 | None
) -> npt.NDArray[np.intp]:
    """A different cluster for every leaf, to agree with the labels on most weight."""
    n_clusters = max(int(labels.max()) + 1, n_leaves)
    common = np.bincount(leaf_of_row * n_clusters + labels, weights, n_leaves * n_clusters)
    names: npt.NDArray[np.intp] = linear_sum_assignment(common.reshape(n_leaves, n_clusters), maximize=True)[1]
    return names


def expand_tree(grown: GrownTree, provider: Provider, n_clusters: int, spec: GrowthSpec) -> GrownTree:
    """Add leaves to a searched tree, best first."""
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
    criterion = RECIPES[spec.expansion].expansion
    assert criterion is not None
    # Expansions use only costs and labels, not the coordinates of centers.
    problem = GrowthProblem(provider, np.zeros((n_clusters, provider.n_columns)), spec)
    on_leaf = spec.progress and partial(spec.progress, spec.expansion)
    expand(tree, criterion(problem), spec.max_leaves, on_leaf, spec.limits)
    return tree.finish(grown.inseparable)
