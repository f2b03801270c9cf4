"""What a search for better trees reads: how long it is, some rows, few bins a column and few numbers a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise, starmap
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int32, Int64
from cutwise.reference.objective import KMEANS, Objective, sum_costs
from cutwise.table.table import EncodedTable, as_matrix, number_kind

from .cut_tree import CutTree
from .limits import Limits

SAMPLED_ROWS, FEWER_ROWS = 4_000, 2_500
"""Least number of rows in a sample, and the number for large tables, where all rows take most of the time."""
ROWS_A_CLUSTER = 150
GROWN_ROWS, GROWN_ROWS_A_CLUSTER = 2_000, 50
POLISHED_ROWS, POLISHED_VALUES = 24_000, 2**22
"""Largest numbers of rows and of values that choose the thresholds of a searched tree in the end."""
MOST_BINS, FEWEST_BINS, TABLE_BYTES = 96, 16, 2**22
"""Number of bins of a column; fewer if the sums by leaf and bin of one tree would take more memory than TABLE_BYTES."""
MOST_COLUMNS = 256
FEW_COLUMNS, MANY_CLUSTERS = 32, 16
DIRECTIONS_OF_FEW_COLUMNS, FEW_DIRECTIONS, MORE_DIRECTIONS = 11, 7, 15
"""Number of directions in which costs are measured."""
MOST_DIRECTIONS, DIRECTION_ROUNDS = 16, 10
"""Number of directions that are looked for together, and of rounds that find them."""
COVARIANCE_ROWS = 256
COVARIANCE_SHARE = 0.001
"""Weight of the rows' own scatter in the choice of directions, besides that of the centers."""
GRID_BITS = 51
FAR_DIGITS, FAR_CENTER_DIGITS = 20, 12
"""Rows are moved to within this many binary orders of the average distance to the centers: squares have twice the
digits. For directions centers are moved to within FAR_CENTER_DIGITS, so that the others keep their digits."""
_LAST_HASH = 2.0**64 - 2.0**11  # the largest that float64 has
NO_DEPTH = 2**30
COUNTED_WEIGHT = 2**26
"""Weights with at most this sum are treated as counts: a weight equals a repeated row to the bit."""


FURTHER_STARTS = 2
"""Number of starts that a further round adds."""
MANY_ROWS, MANY_LEAVES, MANY_VALUES = 80_000, 32, 20_000
"""Beyond this many distinct rows or leaves, or columns times leaves squared, a search starts only from the given trees
and moves leaves only in the best tree: more would take longer than growing the given trees."""
SMALL_VALUES = 64_000_000
"""Not so with fewer than FEW_ROWS distinct rows, if these (plus ROWS_AS_BINS) times columns times leaves squared are at
most SMALL_VALUES: that takes less than 0.3 s."""
LARGE_VALUES, LARGE_SHARE, LARGE_WORK = 8_000_000, 20, 4
"""Not so for tables of many values, which take longer to grow on: those with so many more than LARGE_VALUES that
LARGE_SHARE times these are at least the sampled rows (plus ROWS_AS_BINS) times columns times leaves squared. LARGE_WORK
times all values may be added in any case."""
FEW_ROWS, FURTHER_VALUES, ROWS_AS_BINS, MOST_FURTHER = 10_000, 42_000_000, 2_000, 6
"""With fewer than FEW_ROWS distinct rows a search has further rounds, at most MOST_FURTHER, so many that rows (plus
ROWS_AS_BINS for the sums by bin) times columns times leaves squared add up to FURTHER_VALUES: about 0.1 s."""
WHOLE_VALUES = 21_000_000
"""With at most this many of these values a search uses all rows."""
MOST_WORK, LESS_WORK = 40_000_000, 20_000_000
"""Number of additions, about 0.04 s, after which no more leaves of a tree are moved, unless with more effort; and the
number from FEW_ROWS distinct rows on. A single tree on up to MANY_ROWS takes as many as three others."""


def sample_sizes(n_leaves: int, n_columns: int) -> tuple[int, int]:
    """Number of distinct rows in the sample of a search, and of rows that choose the thresholds in the end."""
    n_sampled = max(SAMPLED_ROWS, ROWS_A_CLUSTER * n_leaves)
    return n_sampled, max(n_sampled, min(POLISHED_ROWS, POLISHED_VALUES // n_columns))


@dataclass(frozen=True)
class SearchPlan:
    """How long a search is, counted in operations rather than seconds, so that its result is reproducible.

    ``n_rows``: number of distinct rows in the sample. ``n_growing``: number of them that further starts are grown on.
    ``most_work``: number of additions after which no more leaves of a tree are moved. ``n_starts``: number of starts.
    ``n_recut``: number of the best starts whose cuts are chosen again. ``n_swapped``: number of the best results in
    which leaves are moved. ``n_further``: rounds that add two starts, and the best tree in which no leaves were moved
    yet. ``is_long``: whether leaves are moved beyond ``most_work``. ``repeated``: work of searches from the best tree
    with some leaves moved at random, as a multiple of the earlier work.
    """

    n_rows: int
    n_growing: int
    most_work: int
    n_starts: int = 8
    n_recut: int = 4
    n_swapped: int = 3
    n_further: int = 0
    is_long: bool = False
    repeated: float = 0.0

    @classmethod
    def of(
        cls, effort: float, n_leaves: int, n_columns: int, sizes: tuple[int, int], n_drawn: int, share: float
    ) -> list[SearchPlan]:
        """The plans of successive searches for an effort.

        1 is the default, 0.3 takes two thirds of its time; above 1 time is proportional. More effort than the default
        repeats all steps of the default and adds others. It finally continues from its results with more rows, as many
        as choose thresholds. ``n_columns``: number of searched columns. ``sizes``: see ``sample_sizes``. ``n_drawn``,
        ``share``: number of drawn rows, and their share of all distinct rows.
        """
        n_all, n_values, (n_sampled, n_polished) = n_drawn / share, n_columns * n_leaves**2, sizes
        is_small, n_table = n_all < FEW_ROWS, int(n_all) * n_columns
        if n_all > MANY_ROWS:
            n_sampled = max(FEWER_ROWS, ROWS_A_CLUSTER * n_leaves)
        elif is_small and (n_all + ROWS_AS_BINS) * n_values <= WHOLE_VALUES:
            n_sampled = FEW_ROWS
        n_sums, is_many = (n_all + ROWS_AS_BINS) * n_values, n_leaves > MANY_LEAVES or n_values > MANY_VALUES
        if is_small:
            is_short = is_many and n_sums > SMALL_VALUES
        else:
            n_sampled_sums = (n_sampled + ROWS_AS_BINS) * n_values
            is_short = (is_many or n_all > MANY_ROWS) and n_sampled_sums > LARGE_SHARE * (n_table - LARGE_VALUES)
        most_work = MOST_WORK if is_small else LESS_WORK
        if is_short and n_all <= MANY_ROWS:
            most_work = cls.n_swapped * LESS_WORK  # for a single tree
        most_work = max(most_work, LARGE_WORK * n_table)

        def with_rows(n_rows: int, **how: Any) -> SearchPlan:
            takes_all = n_all / 2 < n_rows <= FEW_ROWS
            n_growing = n_rows if takes_all else max(GROWN_ROWS, GROWN_ROWS_A_CLUSTER * n_leaves)
            return cls(n_rows, n_growing, most_work, **how)

        n_swapped, n_further = max(1, round(3 * min(effort, 1.0))), round(3 * min(max(effort - 1.0, 0.0), 2.0))
        is_long, first = n_further > 0, {"n_swapped": n_swapped}
        if is_short:
            first = {"n_starts": 0, "n_recut": 2, "n_swapped": 1}
        elif n_swapped == cls.n_swapped and is_small:
            n_further += min(int(FURTHER_VALUES / n_sums), MOST_FURTHER)
        plans = [with_rows(n_sampled, n_further=n_further, is_long=is_long, repeated=max(0.0, effort - 3.0), **first)]
        return [*plans, with_rows(n_polished, is_long=True)] if is_long and n_sampled < n_drawn else plans


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Rows of a table, and the clusters of a reference that a tree is searched for.

    ``table``: the m rows, in the columns that are cut. ``metric``: the m rows in the metric space; the table's own
    matrix if both are the same. ``centers`` (k, p) float64: the reference's centers. ``labels`` (m,) int32: reference
    clusters, after which the leaves of the result are named. ``coordinates`` (k, d) float64: the reference clusters in
    the columns that are cut. ``objective``: objective of the centers; the search itself uses squared distances for any
    objective. ``limits``: limits of all trees. ``n_jobs``: threads; no result depends on it.
    """

    table: EncodedTable
    metric: core.Matrix
    centers: Float64
    labels: Int32
    coordinates: Float64
    _: KW_ONLY
    objective: Objective = KMEANS
    limits: Limits | None = None
    n_jobs: int = 1

    @property
    def total_weight(self) -> int:
        """Weight of all rows."""
        return self.table.n_rows if self.table.weights is None else int(self.table.weights.sum())

    def draw(self, n_leaves: int) -> DrawnRows:
        """The rows that choose the thresholds in the end; a search samples some of them."""
        n_wanted = sample_sizes(n_leaves, max(self.table.matrix.n_cols, self.metric.n_cols))[1]
        return draw_distinct(core.row_hashes(self.table.matrix, self.n_jobs), n_wanted)

    def part_with(self, trees: Sequence[CutTree]) -> SearchedPart:
        """The columns that a search uses; those that the trees cut are among them."""
        matrix, metric, limits = self.table.matrix, self.metric, self.limits
        needed = np.concatenate([np.empty(0, np.int32), *(tree.column for tree in trees)])
        columns = select_columns(self.coordinates, needed, limits)
        is_same = metric is matrix and (limits is None or limits.columns is None)
        in_metric = columns if is_same else select_columns(self.centers, needed if metric is matrix else needed[:0])
        return SearchedPart(self.table, metric, columns, in_metric, is_same)


class DrawnRows(NamedTuple):
    """Drawn rows of a table, with all rows equal to them; independent of row order, equal for weights and for copies.

    ``first``: one row of each group of equal rows. ``group``, ``rows``: group and number of every drawn row, sorted by
    group. ``share``: approximate share of all groups of the table; 1 for all.
    """

    first: Int64
    group: Int64
    rows: Int64
    share: float

    def begin(self, n: int) -> DrawnRows:
        """The first ``n`` groups of equal rows, or all if there are fewer."""
        if n >= len(self.first):
            return self
        n_rows = int(np.searchsorted(self.group, n))
        return DrawnRows(self.first[:n], self.group[:n_rows], self.rows[:n_rows], self.share * n / len(self.first))

    def part(self, kinds: npt.NDArray[np.bool_]) -> DrawnRows:
        """Some of the groups of equal rows."""
        remaining = kinds[self.group]
        return DrawnRows(
            self.first[kinds], (np.cumsum(kinds) - 1)[self.group[remaining]], self.rows[remaining], self.share
        )

    def led_by(self, kinds: npt.NDArray[np.intp]) -> DrawnRows:
        """The same rows, with these groups first."""
        if not len(kinds):
            return self
        order = np.concatenate([kinds, np.delete(np.arange(len(self.first)), kinds)])
        group = np.argsort(order)[self.group]
        by_group = np.argsort(group, kind="stable")
        return DrawnRows(self.first[order], group[by_group], self.rows[by_group], self.share)


def draw_distinct(hashes: npt.NDArray[np.uint64], n_wanted: int) -> DrawnRows:
    """The rows with the ``n_wanted`` smallest distinct hashes, or all rows if there are fewer."""
    n_seen = n_wanted
    while True:
        n_seen = min(n_seen, len(hashes))
        # Hashes are spread evenly, so that most often enough of them lie below 1.5 times the wanted share.
        near = np.flatnonzero(hashes <= np.uint64(min(1.5 * n_seen / len(hashes), 1.0) * _LAST_HASH))
        near = near if len(near) >= n_seen else np.arange(len(hashes))
        if n_seen < len(near):
            near = near[hashes[near] <= np.partition(hashes[near], n_seen - 1)[n_seen - 1]]
        order = np.argsort(hashes[near])
        is_first = np.append(True, np.diff(hashes[near[order]]) != 0)
        if not is_first.all():  # keep equal rows in the order of the table, which takes longer
            order = np.argsort(hashes[near], kind="stable")
        near = near[order]
        group = np.cumsum(is_first) - 1
        if n_seen == len(hashes) or group[-1] + 1 >= n_wanted:
            rows = near[group < n_wanted]
            share = 1.0 if len(rows) == len(hashes) else float(hashes[rows[-1]]) / 2.0**64
            return DrawnRows(near[is_first][:n_wanted], group[: len(rows)], rows, share)
        n_seen *= 2  # some rows are equal


def room(limits: Limits | None, weight: float) -> tuple[float, int]:
    """What a leaf of a sample of this weight holds at least, and how deep it may be; about as much as in all rows."""
    if limits is None:
        return 0.0, NO_DEPTH
    return limits.least * weight / limits.total, min(limits.max_depth or NO_DEPTH, NO_DEPTH)


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows of a sample, in an order that depends on their values alone.

    ``values`` (m, d), ``coordinates`` (m, p) float64: in the columns of a ``SearchedPart``. ``weights`` (m,) int64.
    """

    values: Float64
    coordinates: Float64
    weights: Int64

    @cached_property
    def metric(self) -> core.Matrix:
        """The coordinates."""
        return as_matrix(self.coordinates)

    def first(self, n_rows: int) -> SampledRows:
        """The first ``n_rows`` rows."""
        values = self.values[:n_rows]
        is_same = self.coordinates is self.values
        return SampledRows(values, values if is_same else self.coordinates[:n_rows], self.weights[:n_rows])


@dataclass(frozen=True, eq=False)
class SearchedPart:
    """The columns of a table that a search uses.

    ``columns`` (d,) int64: the searched columns of the table, increasing: all of them, unless there are very many.
    ``metric_columns`` (p,) int64: the columns used of the metric space; ``is_same``: whether these are the same.
    """

    table: EncodedTable
    metric: core.Matrix
    columns: Int64
    metric_columns: Int64
    is_same: bool

    def rows(self, drawn: DrawnRows) -> SampledRows:
        """Drawn rows in these columns."""
        values = _finite(core.gather_rows(self.table.matrix, drawn.first, self.columns))
        in_metric = values if self.is_same else core.gather_rows(self.metric, drawn.first, self.metric_columns)
        own = None if self.table.weights is None else self.table.weights[drawn.rows].astype(np.float64)
        # Sums of weights are below 2**53, so float64 is exact.
        return SampledRows(values, in_metric, np.bincount(drawn.group, weights=own).astype(np.int64))

    def place(self, tree: CutTree) -> CutTree:
        """A tree that cuts these columns of the table, with columns numbered by their place."""
        place = np.full(self.table.matrix.n_cols + 1, -1, dtype=np.int32)  # the last entry is for leaves
        place[self.columns] = np.arange(len(self.columns), dtype=np.int32)
        return tree._replace(column=place[tree.column])

    def restore(self, tree: CutTree) -> CutTree:
        """A tree with the table's numbers of the columns."""
        return tree._replace(column=np.append(self.columns, -1).astype(np.int32)[tree.column])


def _finite(values: Float64) -> Float64:
    """The same array of sampled values, with missing ones at some distance beyond the others."""
    missing = ~np.isfinite(values)
    if len(columns := np.flatnonzero(missing.any(axis=0))):
        own, gaps = values[:, columns], missing[:, columns]
        low, high = np.where(gaps, np.inf, own).min(axis=0), np.where(gaps, -np.inf, own).max(axis=0)
        low, high = (np.where(low <= high, end, 0.0) for end in (low, high))  # 0 where no value is known
        apart = high - low + 1.0
        values[:, columns] = np.where(gaps, np.where(own > 0, high + apart, low - apart), own)
    return values


def select_columns(centers: Float64, needed: Int32, limits: Limits | None = None) -> Int64:
    """All columns that may be cut, or those that are needed and the ones in which the centers differ most."""
    n_columns = centers.shape[1]
    allowed = np.arange(n_columns) if limits is None or limits.columns is None else np.flatnonzero(limits.columns)
    if len(allowed) <= MOST_COLUMNS:
        return allowed
    spread = np.empty(n_columns)
    ends = np.linspace(0, n_columns, n_columns // MOST_COLUMNS + 1).astype(int).tolist()
    for part in starmap(slice, pairwise(ends)):  # a second array of all centers would take much memory
        some = np.nan_to_num(centers[:, part], posinf=0.0, neginf=0.0)
        spread[part] = ((some - some.mean(axis=0)) ** 2).sum(axis=0)
    spread[needed[needed >= 0]] = np.inf
    return np.sort(allowed[np.argsort(-spread[allowed], kind="stable")[:MOST_COLUMNS]])


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Rows in few bins a column.

    ``codes`` (m, d) uint8. ``edges``, ``edge_begin`` (n_edges,) float64: a value is in bin b of column c or below if it
    is at most ``edges[edge_begin[c] + b]``.
    """

    codes: npt.NDArray[np.uint8]
    edges: Float64
    edge_begin: Int32

    @property
    def n_bins(self) -> Int32:
        """Number of bins of every column."""
        return np.diff(self.edge_begin) + np.int32(1)

    def unbinned(self, tree: CutTree) -> CutTree:
        """A tree on the bins, with a number in the gap of every cut for its threshold."""
        threshold, inner = np.full(tree.n_nodes, np.nan), tree.column >= 0
        threshold[inner] = self.edges[self.edge_begin[tree.column[inner]] + tree.threshold[inner].astype(np.int32)]
        return tree._replace(threshold=threshold)

    def bins_of(self, coordinates: Float64) -> Float64:
        """The bins of points (k, d) in the searched columns."""
        edges = np.split(self.edges, self.edge_begin[1:-1])
        return np.stack([np.searchsorted(e, c) for e, c in zip(edges, coordinates.T, strict=True)], axis=1) * 1.0


def bin_rows(
    values: Float64, weights: Float64, trees: Sequence[CutTree], most_bins: int, n_jobs: int
) -> tuple[BinnedRows, list[CutTree]]:
    """Rows in at most ``most_bins`` bins a column, and trees (most important first) with cuts between bins."""
    column = np.concatenate([np.empty(0, dtype=np.int32), *(tree.column for tree in trees)])
    cut = np.concatenate([np.empty(0), *(tree.threshold for tree in trees)])
    inner = column >= 0
    codes, edges, begin, cut[inner] = core.sample_bins(values, weights, column[inner], cut[inner], most_bins, n_jobs)
    parts = np.split(cut, np.cumsum([tree.n_nodes for tree in trees])[:-1])
    cuts = [tree._replace(threshold=own) for tree, own in zip(trees, parts, strict=False)]
    return BinnedRows(codes, edges, begin), cuts


class Grid(NamedTuple):
    """Conversion of coordinates to whole numbers, whose sums are exact.

    ``origin`` (p,) float64. ``reach``: coordinates farther from the origin count as this far. ``scale``: units per unit
    of distance, a power of two. ``weigh_first``: whether rows are rounded after they are multiplied by their weight.
    """

    origin: Float64
    reach: float
    scale: float
    weigh_first: bool

    def payload(self, rows: SampledRows, directions: Float64 | None) -> Float64:
        """The weights of rows, and their coordinates, or those along the directions; on the grid."""
        return core.grid_rows(rows.coordinates, rows.weights, *self, directions)

    def in_units(self, square: float) -> float:
        """A squared distance in squared units; the square of the scale alone may be beyond float64."""
        return square * self.scale * self.scale


@dataclass(frozen=True, eq=False)
class SearchSample:
    """Sampled rows, in few bins a column and few numbers a row.

    ``part``: the columns. ``is_whole``: whether all rows of the table are here. ``payload`` (m, w) float64: weight and
    coordinates along the main directions, on the grid. ``directions`` (w - 1, p) float64: None if the payload has all
    coordinates. ``weight``, ``cost``: total weight of the sampled rows, and their cost by the reference. ``scatter``:
    squared distances of the sampled rows to the origin.
    """

    part: SearchedPart
    is_whole: bool
    bins: BinnedRows
    payload: Float64
    grid: Grid
    directions: Float64 | None
    weight: float
    cost: float
    scatter: float

    @property
    def least_gain(self) -> float:
        """Smaller changes of the cost may be rounding."""
        return max(1e-9 * self.cost, 2.0**-50 * self.scatter)

    def cost_of(self, value: float) -> float:
        """The cost of a tree from its value in a search; too high if the directions omit some scatter."""
        return self.scatter + value / self.grid.scale / self.grid.scale

    def table(self, rows: SampledRows) -> EncodedTable:
        """The bins of the first rows as a table for growing trees."""
        codes = self.bins.codes[: len(rows.weights)]
        matrix = as_matrix(codes)
        kinds = (number_kind(codes.dtype),) * matrix.n_cols
        return EncodedTable(core.encode(matrix), matrix, kinds, rows.weights, copies=None, row_of=None, position=None)


class Step(NamedTuple):
    """An improvement in a search: the work done so far, and the tree with its value on the sample."""

    work: int
    value: float
    tree: CutTree


Path = list[Step]
"""The successive improvements of one start."""


def improve(search: core.TreeSearch, trees: list[CutTree], **how: Any) -> tuple[list[int], list[Path]]:
    """The work done from each start, and the path from there; see ``TreeSearch``."""
    found = search.run(trees, **how)
    paths = [[Step(work, value, CutTree(*tree)) for work, value, tree in path] for _, path in found]
    return [work for work, _ in found], paths


def encode_sample(
    problem: SearchProblem,
    part: SearchedPart,
    rows: SampledRows,
    runs: Sequence[Float64],
    trees: Sequence[CutTree],
    *,
    is_whole: bool,
) -> tuple[SearchSample, list[CutTree]]:
    """Encode sampled rows for a search, and the trees that it starts from.

    ``runs``: the reference's centers and those of other clusterings, in the sample's metric columns. ``trees``: all
    their cuts lie between bins; the most important tree first.
    """
    labels, own_costs = KMEANS.assign(rows.metric, runs[0], problem.n_jobs)[:2]
    cost, weight = sum_costs(own_costs, rows.weights), int(rows.weights.sum())
    # An origin near most rows, so that far rows do not cost them digits.
    origin = runs[0][np.bincount(labels, weights=rows.weights, minlength=len(runs[0])).argmax()]
    ends = rows.coordinates.max(axis=0), rows.coordinates.min(axis=0)
    farthest = float(max((ends[0] - origin).max(initial=0.0), (origin - ends[1]).max(initial=0.0)))
    mean_cost = cost / weight
    grid = choose_grid(origin, farthest, mean_cost, problem)

    def from_origin(first: int) -> Float64:
        some: Float64 = rows.coordinates[first : first + COVARIANCE_ROWS] - origin
        return np.clip(some, -grid.reach, grid.reach, out=some)

    directions = _directions(from_origin(0), rows, [run - origin for run in runs], mean_cost)
    payload = grid.payload(rows, directions)
    n_bins = TABLE_BYTES // (8 * payload.shape[1] * rows.values.shape[1] * len(runs[0]))
    n_bins = min(max(n_bins, FEWEST_BINS), MOST_BINS)
    some = map(from_origin, range(0, len(rows.coordinates), COVARIANCE_ROWS))
    squares = [np.einsum("ij,ij->i", block, block) for block in some]
    bins, starts = bin_rows(rows.values, rows.weights.astype(np.float64), trees, n_bins, problem.n_jobs)
    scatter = sum_costs(np.concatenate(squares), rows.weights)
    return SearchSample(part, is_whole, bins, payload, grid, directions, float(weight), cost, scatter), starts


def choose_grid(origin: Float64, farthest: float, mean_cost: float, problem: SearchProblem) -> Grid:
    """The finest grid with exact sums. Far rows are moved nearer if they would cost the others their digits."""
    total_weight = problem.total_weight
    reach = farthest if mean_cost == 0.0 else min(farthest, 2.0**FAR_DIGITS * math.sqrt(mean_cost))
    # The norm of a row is at most its largest coordinate times the root of the number of columns.
    room = 2.0**GRID_BITS / (total_weight * math.sqrt(problem.metric.n_cols))
    scale = _power_of_two(room / reach) if reach > 0.0 else 1.0
    return Grid(origin, room / scale, scale, weigh_first=total_weight > COUNTED_WEIGHT)


def _power_of_two(largest: float) -> float:
    """The largest power of two that is at most ``largest``."""
    return math.ldexp(1.0, max(-1000, min(math.frexp(largest)[1] - 1, 1000)))


def _directions(from_origin: Float64, rows: SampledRows, runs: Sequence[Float64], mean_cost: float) -> Float64 | None:
    """Main directions of the centers of all runs, with some weight of the rows'; None if all columns are few enough."""
    n_directions = MORE_DIRECTIONS if len(runs[0]) > MANY_CLUSTERS else FEW_DIRECTIONS
    if from_origin.shape[1] <= FEW_COLUMNS:
        n_directions = DIRECTIONS_OF_FEW_COLUMNS
    if from_origin.shape[1] <= n_directions:
        return None
    far = 2.0**FAR_CENTER_DIGITS * math.sqrt(mean_cost) if mean_cost > 0.0 else math.inf
    some = rows.weights[:COVARIANCE_ROWS]
    points = np.concatenate([*runs, from_origin])
    np.clip(points, -far, far, out=points)
    n_centers = len(points) - len(some)
    shares = np.concatenate([np.full(n_centers, 1 / n_centers), COVARIANCE_SHARE * some / some.sum()])
    points -= (shares[:, np.newaxis] * points).sum(axis=0) / shares.sum()
    points *= np.sqrt(shares)[:, np.newaxis]
    axes = core.principal_axes(as_matrix(points), np.arange(len(points)), None, MOST_DIRECTIONS, DIRECTION_ROUNDS)
    return np.ascontiguousarray(axes[:, :n_directions].T)
