"""The sample that a search for better trees reads: some rows, few bins a column, few numbers a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, starmap
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int32, Int64
from cutwise.reference.objective import KMEANS, sum_costs
from cutwise.table.table import EncodedTable, SearchedColumns, as_matrix, number_kind

from .limits import Limits
from .threshold_tree import NodeTest, ThresholdTree

Cuts = tuple[Int32, Int32, Int32]
"""A tree on codes, nodes in preorder: column (-1: leaf), the last bin that goes left, and the right child's number."""
Tests = tuple[Int32, Float64, Int32]
"""``Cuts`` with thresholds in place of bins. Columns of both are numbers among the searched columns."""

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
COVARIANCE_ROWS = 256
COVARIANCE_SHARE = 0.001
"""Weight of the rows' own scatter in the choice of directions, besides that of the centers."""
GRID_BITS = 51
FAR_DIGITS, FAR_CENTER_DIGITS = 20, 12
"""Rows are moved to within this many binary orders of the average distance to the centers: squares have twice the
digits. For directions centers are moved to within FAR_CENTER_DIGITS, so that the others keep their digits."""
_LAST_HASH = 2.0**64 - 2.0**11  # the largest that float64 has
_LOWEST = -float(np.finfo(np.float64).max)
NO_DEPTH = 2**30
COUNTED_WEIGHT = 2**26
"""Weights with at most this sum are treated as counts: a weight equals a repeated row to the bit."""


def sample_sizes(n_leaves: int, n_columns: int) -> tuple[int, int]:
    """Number of distinct rows in the sample of a search, and of rows that choose the thresholds in the end."""
    n_sampled = max(SAMPLED_ROWS, ROWS_A_CLUSTER * n_leaves)
    return n_sampled, max(n_sampled, min(POLISHED_ROWS, POLISHED_VALUES // n_columns))


class Grid(NamedTuple):
    """Conversion of coordinates to whole numbers, whose sums are exact.

    ``origin`` (p,) float64. ``reach``: coordinates farther from the origin count as this far. ``scale``: units per unit
    of distance, a power of two. ``weigh_first``: whether rows are rounded after they are multiplied by their weight.
    """

    origin: Float64
    reach: float
    scale: float
    weigh_first: bool

    def in_units(self, square: float) -> float:
        """A squared distance in squared units; the square of the scale alone may be beyond float64."""
        return square * self.scale * self.scale


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Distinct rows of a table, in an order that depends on their values alone.

    ``columns`` (d,) int64: the searched columns of the table, increasing: all of them, unless there are very many.
    ``metric_columns`` (p,) int64: the columns used of the metric space. ``values`` (m, d), ``coordinates`` (m, p)
    float64: the rows in these columns. ``weights`` (m,) int64. ``share``: approximate share of the table's distinct
    rows that are here; 1 for all. ``metric``: the coordinates.
    """

    columns: Int64
    metric_columns: Int64
    values: Float64
    coordinates: Float64
    weights: Int64
    share: float
    metric: core.Matrix

    def first(self, n_rows: int) -> SampledRows:
        """The first ``n_rows`` rows."""
        coordinates = self.coordinates[:n_rows]
        is_same = self.coordinates is self.values
        return replace(
            self,
            values=coordinates if is_same else self.values[:n_rows],
            coordinates=coordinates,
            weights=self.weights[:n_rows],
            metric=as_matrix(coordinates),
        )

    def without_rows(self) -> SampledRows:
        """A copy without the rows, to free their memory."""
        none = np.empty((0, self.values.shape[1]))
        coordinates = none if self.coordinates is self.values else np.empty((0, self.coordinates.shape[1]))
        return replace(self, values=none, coordinates=coordinates, metric=as_matrix(coordinates))


def leaves_by(matrix: core.Matrix, tests: Tests, n_jobs: int = 1) -> Int32:
    """The node number of every row's leaf."""
    column, thresholds, right = tests
    left = np.where(column >= 0, np.arange(1, len(column) + 1), -1).astype(np.int32)
    no_lower = np.full(len(column), -np.inf)
    return core.apply(matrix, left, right, column, thresholds, no_lower, n_jobs=n_jobs)


def tests_of(tree: ThresholdTree, searched: SearchedColumns | None) -> Tests | None:
    """The tests of a tree in the searched columns; None if a test is of several levels of a category."""
    if searched is None:
        return tree.feature, tree.threshold, tree.children_right
    column, threshold, right = list[int](), list[float](), list[int]()
    pending = [(0, -1)]  # a node, and the new number of its parent if it is a right child
    while pending:
        node, parent = pending.pop()
        here = len(column)
        if parent >= 0:
            right[parent] = here
        column.append(-1)
        threshold.append(math.nan)
        right.append(-1)
        if tree.feature[node] < 0:
            continue
        test = tree.test(node)
        own = searched.of(test.feature).tolist()
        sides = int(tree.children_left[node]), int(tree.children_right[node])
        if test.levels:  # rows of the level are right of the cut of its column
            named = [j for j in own if searched.level[j] == test.levels[0]]
            if len(test.levels) > 1 or (not named and test.levels[0] > 0):
                return None
            column[here], threshold[here] = (named or own)[0], 0.5
            sides = sides[::-1] if named else sides  # of two levels only the second has a column
        else:
            cut = cut_of(test, searched)
            column[here], threshold[here] = cut.feature, cut.threshold
        pending += [(sides[1], here), (sides[0], -1)]
    return np.array(column, dtype=np.int32), np.array(threshold), np.array(right, dtype=np.int32)


def cut_of(test: NodeTest, searched: SearchedColumns | None) -> NodeTest:
    """A test as a cut: a threshold in a searched column, or levels of a category."""
    if searched is None or test.levels:
        return test
    below = -1 if test.unknown else 1
    column = next(j for j in searched.of(test.feature).tolist() if searched.missing[j] in (0, below))
    return NodeTest(column, _LOWEST if test.levels is not None else test.threshold)


def place_tests(tests: Tests, columns: Int64, n_columns: int) -> Tests:
    """Tests that cut only these columns, with columns numbered by their place among them."""
    place = np.full(n_columns + 1, -1, dtype=np.int32)  # the last entry is for leaves
    place[columns] = np.arange(len(columns), dtype=np.int32)
    return place[tests[0]], tests[1], tests[2]


def part_of_tree(tests: Tests, leaf_of_row: Int32) -> Tests:
    """The part of a tree that some rows reach: leaves without rows are removed, with the tests above them."""
    column, threshold, right = tests
    n_reached = np.bincount(leaf_of_row, minlength=len(column))  # number of rows that reach the node
    remaining = n_reached > 0
    for node in np.flatnonzero(column >= 0)[::-1].tolist():
        sides = n_reached[[node + 1, right[node]]]
        n_reached[node], remaining[node] = sides.sum(), sides.all()
    number = np.cumsum(remaining, dtype=np.int32) - remaining
    column, right = column[remaining], right[remaining]
    return column, threshold[remaining], np.where(column < 0, right, number[right])


def _finite(values: Float64) -> Float64:
    """Sampled values, with missing ones at some distance beyond the others."""
    if np.isfinite(values).all():
        return values
    known = np.isfinite(values)
    low = np.where(known, values, np.inf).min(axis=0)
    high = np.where(known, values, -np.inf).max(axis=0)
    low, high = (np.where(known.any(axis=0), end, 0.0) for end in (low, high))
    apart = high - low + 1.0
    return np.where(known, values, np.where(values > 0, high + apart, low - apart))


def draw_sample(
    table: EncodedTable,
    metric: core.Matrix,
    drawn: DrawnRows,
    centers: Float64,
    coordinates: Float64,
    trees: Sequence[Tests],
    limits: Limits | None = None,
) -> SampledRows:
    """The values of drawn rows that a search uses.

    ``metric``: the table's rows in the metric space. ``centers``, ``coordinates`` (k, n_columns) float64: the reference
    clusters in the metric space, and in the columns that are cut. ``trees``: columns that they cut are searched.
    ``limits``: columns that may not be cut are not searched.
    """
    needed = np.concatenate([np.empty(0, np.int32), *(t[0] for t in trees)])
    columns, is_same = select_columns(coordinates, needed), metric is table.matrix
    metric_columns = columns if is_same else select_columns(centers, np.empty(0, dtype=np.int32))
    if limits is not None and limits.columns is not None:
        is_same, columns = False, select_columns(coordinates, needed, limits)
    values = _finite(core.gather_rows(table.matrix, drawn.first, columns))
    in_metric = values if is_same else core.gather_rows(metric, drawn.first, metric_columns)
    return SampledRows(
        columns=columns,
        metric_columns=metric_columns,
        values=values,
        coordinates=in_metric,
        weights=_weights(table, drawn),
        share=drawn.share,
        metric=as_matrix(in_metric),
    )


def draw_more(
    table: EncodedTable, metric: core.Matrix, drawn: DrawnRows, sampled: SampledRows
) -> tuple[core.Matrix, core.Matrix, Int64 | None]:
    """All drawn rows, beyond the sampled ones: in the searched columns, in the metric columns, and their weights."""
    is_whole = len(drawn.rows) == table.n_rows
    rows, weights = (None, table.weights) if is_whole else (drawn.first, _weights(table, drawn))
    matrix = _part(table.matrix, rows, sampled.columns)
    is_same = metric is table.matrix and sampled.coordinates is sampled.values
    return matrix, matrix if is_same else _part(metric, rows, sampled.metric_columns), weights


def _part(matrix: core.Matrix, rows: Int64 | None, columns: Int64) -> core.Matrix:
    """Some or all rows (None) of some columns; dense."""
    if rows is None and not matrix.is_sparse and len(columns) == matrix.n_cols:
        return matrix
    return as_matrix(core.gather_rows(matrix, np.arange(matrix.n_rows) if rows is None else rows, columns))


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


def _weights(table: EncodedTable, drawn: DrawnRows) -> Int64:
    """Weight of each group of equal rows; sums are below 2**53, so float64 is exact."""
    own = None if table.weights is None else table.weights[drawn.rows].astype(np.float64)
    return np.bincount(drawn.group, weights=own).astype(np.int64)


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

    def thresholds(self, cuts: Cuts) -> Float64:
        """A number in the gap of every cut, nan at leaves."""
        column, last_bin, _ = cuts
        thresholds = np.full(len(column), np.nan)
        inner = column >= 0
        thresholds[inner] = self.edges[self.edge_begin[column[inner]] + last_bin[inner]]
        return thresholds

    def bins_of(self, coordinates: Float64) -> Float64:
        """The bins of points (k, d) in the searched columns."""
        edges = np.split(self.edges, self.edge_begin[1:-1])
        return np.stack([np.searchsorted(e, c) for e, c in zip(edges, coordinates.T, strict=True)], axis=1) * 1.0


def bin_rows(
    values: Float64, weights: Float64, trees: Sequence[Tests], most_bins: int, n_jobs: int
) -> tuple[BinnedRows, list[Cuts]]:
    """Rows in at most ``most_bins`` bins a column, and trees (most important first) with cuts between bins."""
    column = np.concatenate([np.empty(0, dtype=np.int32), *(feature for feature, _, _ in trees)])
    inner = column >= 0
    threshold = np.concatenate([np.empty(0), *(threshold for _, threshold, _ in trees)])[inner]
    codes, edges, edge_begin, cut_bins = core.sample_bins(values, weights, column[inner], threshold, most_bins, n_jobs)
    last_bin = np.full(len(column), -1, dtype=np.int32)
    last_bin[inner] = cut_bins
    ends = np.cumsum([len(feature) for feature, _, _ in trees])
    cuts: list[Cuts] = [
        (feature, last_bin[end - len(feature) : end], right)
        for (feature, _, right), end in zip(trees, ends, strict=True)
    ]
    return BinnedRows(codes, edges, edge_begin), cuts


@dataclass(frozen=True, eq=False)
class SearchSample:
    """Sampled rows, in few bins a column and few numbers a row.

    ``payload`` (m, w) float64: weight and coordinates along the main directions, on the grid. ``directions`` (w - 1, p)
    float64: None if the payload has all coordinates. ``weight``, ``cost``: total weight of the sampled rows, and their
    cost by the reference. ``scatter``: squared distances of the sampled rows to the origin.
    """

    rows: SampledRows
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

    def first(self, n_rows: int) -> tuple[SampledRows, EncodedTable]:
        """The first ``n_rows`` rows, and their bins as a table for growing trees."""
        rows = self.rows.first(n_rows)
        matrix = as_matrix(self.bins.codes[:n_rows])
        return rows, EncodedTable(
            encoded=core.encode(matrix),
            matrix=matrix,
            kinds=(number_kind(self.bins.codes.dtype),) * matrix.n_cols,
            weights=rows.weights,
            copies=None,
            row_of=None,
            position=None,
        )


def encode_sample(
    rows: SampledRows, centers: Float64, runs: Sequence[Float64], trees: Sequence[Tests], total_weight: int, n_jobs: int
) -> tuple[SearchSample, list[Cuts]]:
    """Encode sampled rows for a search, and the trees that it starts from.

    ``centers`` (k, p) float64: the reference's centers. ``runs``: these and the centers of other clusterings, in the
    sample's metric columns. ``trees``: all their cuts lie between bins; the most important tree first.
    ``total_weight``: weight of all rows of the table.
    """
    labels, own_costs = KMEANS.assign(rows.metric, runs[0], n_jobs)[:2]
    cost = sum_costs(own_costs, rows.weights)
    # An origin near most rows, so that far rows do not cost them digits.
    origin = centers[np.bincount(labels, weights=rows.weights, minlength=len(centers)).argmax()]
    near = origin[rows.metric_columns]
    ends = rows.coordinates.max(axis=0), rows.coordinates.min(axis=0)
    farthest = float(max((ends[0] - near).max(initial=0.0), (near - ends[1]).max(initial=0.0)))
    mean_cost = cost / int(rows.weights.sum())
    grid = choose_grid(origin, farthest, mean_cost, total_weight)

    def from_origin(first: int) -> Float64:
        some: Float64 = rows.coordinates[first : first + COVARIANCE_ROWS] - near
        return np.clip(some, -grid.reach, grid.reach, out=some)

    directions = _directions(from_origin(0), rows, [run - near for run in runs], mean_cost)
    width = 4 * -(-(1 + (len(rows.metric_columns) if directions is None else len(directions))) // 4)
    n_bins = TABLE_BYTES // (8 * width * rows.values.shape[1] * len(centers))
    n_bins = min(max(n_bins, FEWEST_BINS), MOST_BINS)
    some = map(from_origin, range(0, len(rows.coordinates), COVARIANCE_ROWS))
    squares = [np.einsum("ij,ij->i", block, block) for block in some]
    bins, starts = bin_rows(rows.values, rows.weights.astype(np.float64), trees, n_bins, n_jobs)
    sample = SearchSample(
        rows=rows,
        bins=bins,
        payload=core.grid_rows(rows.metric, rows.weights, near, grid.reach, grid.scale, grid.weigh_first, directions),
        grid=grid,
        directions=directions,
        weight=float(rows.weights.sum()),
        cost=cost,
        scatter=core.exact_sum(np.concatenate(squares), rows.weights),
    )
    return sample, starts


def choose_grid(origin: Float64, farthest: float, mean_cost: float, total_weight: int) -> Grid:
    """The finest grid with exact sums. Far rows are moved nearer if they would cost the others their digits."""
    reach = farthest if mean_cost == 0.0 else min(farthest, 2.0**FAR_DIGITS * math.sqrt(mean_cost))
    # The norm of a row is at most its largest coordinate times the root of the number of columns.
    room = 2.0**GRID_BITS / (total_weight * math.sqrt(len(origin)))
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
    return core.main_directions(points, shares, n_directions)
