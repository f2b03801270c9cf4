"""Profiles of clusters: statistics of their rows, column by column, compared with all rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.sparsefuncs import mean_variance_axis

from cutwise import core
from cutwise.core import Float64, Int32, Int64
from cutwise.exceptions import InvalidInputError
from cutwise.passes.rows import MOST_BYTES, BatchedRows, Slice
from cutwise.passes.sums import place_of, value_at
from cutwise.table.convert import as_dense
from cutwise.table.table import Columns, Table, as_matrix
from cutwise.tree.threshold_tree import ThresholdTree

from .conditions import Condition
from .shown import shortened

N_BINS = 24
"""Bins of a column of many values; a column of few whole numbers has one bin for each."""

_TAILS = np.array([0.005, 0.995])
"""Quantiles at which bins begin and end."""

_N_TOGETHER = 8
"""Columns read at a time, since the values of a row are adjacent."""

_DIGIT = 13
"""Bits of the order statistics that one pass over batches finds."""


@dataclass(frozen=True, eq=False)
class Profile:
    """Clusters compared with all rows, in m entries.

    ``columns`` (m,) int64: position of each entry's column. ``size`` (k,) int64: rows of every cluster. ``mean``,
    ``median`` (k, m) float64: of every cluster; nan for a cluster without rows. ``whole_mean``, ``whole_median``,
    ``whole_std`` (m,) float64: of all rows; the standard deviation divides by the number of rows. ``edges``: edges
    of each entry's bins, from the 0.5 % to the 99.5 % quantile; the outermost bins include all values beyond.
    ``counts``: for each entry (k, n_bins) int64, rows by cluster and bin. ``levels``: for each entry of a category
    a set of its codes, whose share replaces the mean, with levels as bins; empty for numbers, of which only the
    known ones count. A category has an entry for each set of levels that the tree tests, and for the level that
    differs most from the whole in each cluster.
    """

    columns: Int64
    size: Int64
    mean: Float64
    median: Float64
    whole_mean: Float64
    whole_median: Float64
    whole_std: Float64
    edges: tuple[Float64, ...]
    counts: tuple[Int64, ...]
    levels: tuple[tuple[int, ...], ...]

    @cached_property
    def difference(self) -> Float64:
        """``(mean - whole_mean) / whole_std`` (k, m): 0 where a column is constant, nan for clusters without rows."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.whole_std > 0, (self.mean - self.whole_mean) / self.whole_std, 0.0 * self.mean)

    @property
    def by_difference(self) -> list[int]:
        """Entries, ordered by how much a cluster differs from the whole, most first; see ``distinguishing_columns``."""
        return _in_turns(self.difference)

    def of(self, places: Int64) -> Profile:
        """The profile of some entries."""
        lines: dict[str, Any] = {name: values[..., places] for name, values in vars(self).items() if name in _BY_COLUMN}
        lists: dict[str, Any] = {
            name: tuple(getattr(self, name)[i] for i in places) for name in ("edges", "counts", "levels")
        }
        return replace(self, **lines, **lists)

    def names(self, columns: Columns, short: Mapping[int, str]) -> list[str]:
        """Name of each entry: its column, and for a category the first few levels."""
        names = []
        for column, some in zip(self.columns.tolist(), self.levels, strict=True):
            condition = Condition(column, "", levels=some, kind=columns.kinds[column])
            said = (shortened(condition, short[column], most) for most in (4, 3))
            long = shortened(condition, short[column], 2)  # only the first level, where levels are long
            names.append(next((text for text in said if len(text) <= _LONG), long) if some else short[column])
        return names


_LONG = 50
"""Longest name of an entry with several levels, in characters."""

_BY_COLUMN = ("columns", "mean", "median", "whole_mean", "whole_median", "whole_std")

TestedLevels = Mapping[int, Sequence[tuple[int, ...]]]
"""Sets of levels that a tree tests, by column."""


def tested_levels(tree: ThresholdTree) -> TestedLevels:
    """Sets of levels that a tree tests, in the order of its nodes."""
    tested: dict[int, list[tuple[int, ...]]] = {}
    for feature, levels in zip(tree.feature.tolist(), tree.levels, strict=True):
        if levels:
            tested.setdefault(feature, []).append(levels)
    return tested


def profile_clusters(
    table: Table,
    codes: npt.NDArray[np.integer],
    n_clusters: int,
    columns: Sequence[int] | None = None,
    tested: TestedLevels | None = None,
) -> Profile:
    """Describe the rows of each cluster.

    ``table``: n rows, at least one. ``codes`` (n,): the cluster of every row, 0 to ``n_clusters - 1``. ``columns``:
    columns to profile, in that order; all when left out. ``tested``: from ``tested_levels``. Raises
    ``InvalidInputError``: a table without rows.
    """
    if table.n_rows == 0:
        raise InvalidInputError("A table without rows has no profile. Give at least one row.")
    profiled = np.arange(table.n_columns) if columns is None else np.asarray(columns, dtype=np.int64)
    m, size = len(profiled), np.bincount(codes, minlength=n_clusters)
    order = np.argsort(codes.astype(np.min_scalar_type(n_clusters)), kind="stable")
    mean, median = np.empty((n_clusters, m)), np.empty((n_clusters + 1, m))
    whole_mean, whole_std = np.empty(m), np.empty(m)
    edges, counts = [], []
    by_level, all_ordered = dict[int, Int64](), codes[order]
    values: Any = table.values
    by_column = values[:, profiled].tocsc() if table.is_sparse else values
    for j, column in enumerate(profiled.tolist()):
        if j % _N_TOGETHER == 0:
            together = slice(j, j + _N_TOGETHER)
            some = by_column[:, together if table.is_sparse else profiled[together]]
            some = as_dense(some)[order].T.astype(np.float64, order="C")
        values, ordered = some[j % _N_TOGETHER], all_ordered
        if table.kinds[column].name == "category":
            n_levels = max(len(table.kinds[column].levels or ()) + 1, 2)
            by_level[column] = cells = np.zeros((n_clusters, n_levels), dtype=np.int64)
            np.add.at(cells, (ordered, values.astype(np.intp)), 1)
        elif np.isnan(least := float(values.min())) and (known := ~np.isnan(values)).any():
            values, ordered = values[known], ordered[known]
        least, most = float(values.min()), float(values.max())
        counted = _OrderedValues(values, ordered, n_clusters)
        means, whole_mean[j : j + 1], (variance,) = _moments(as_matrix(values[:, np.newaxis]), ordered, n_clusters)
        mean[:, j], whole_std[j] = means[:, 0], math.sqrt(variance) if least < most else 0.0
        median[:, j], (low, high) = _medians_and_tails(counted.at(_ranks(counted.size)), counted.size)
        edges.append(_edges(low, high, least, most, whole=bool(table.is_integer[column])))
        counts.append(counted.between(edges[-1]))
    bins = tuple(edges), tuple(counts), ((),) * m
    found = Profile(profiled, size, mean, median[:-1], whole_mean, median[-1], whole_std, *bins)
    return _by_levels(found, by_level, tested or {})


def _moments(
    columns: Any, codes: npt.NDArray[np.integer], n_clusters: int, stored: Any = None
) -> tuple[Float64, Float64, Float64]:
    """Means by cluster, nan without rows, and mean and variance of all rows, whatever their order.

    ``stored``: the columns of a sparse table.
    """
    all_rows = np.zeros(len(codes), dtype=np.int32)
    own, _ = core.cluster_means(columns, codes.astype(np.int32), n_clusters)
    center, _ = core.cluster_means(columns, all_rows, 1)
    if stored is not None:
        return own, center[0], mean_variance_axis(stored.astype(np.float64), axis=0)[1]
    square, _ = core.cluster_means(columns, all_rows, 1, squares_around=center[0])
    return own, center[0], square[0]


class _OrderedValues:
    """Sorted values of a column, by cluster and over all rows; ``size`` (k + 1,): their numbers.

    ``values``: in the order of clusters, as ``codes`` are.
    """

    def __init__(self, values: Float64, codes: npt.NDArray[np.integer], n_clusters: int) -> None:
        ends = np.searchsorted(codes, np.arange(1, n_clusters))
        self._runs = [np.sort(run) for run in (*np.split(values, ends), values)]
        self.size = np.array([len(run) for run in self._runs])

    def at(self, ranks: Int64) -> Float64:
        """Values at ranks from 0, by cluster and over all rows; (k + 1, n), nan for clusters without values."""
        runs = zip(self._runs, ranks, strict=True)
        return np.array([run[own] if len(run) else np.full(len(own), np.nan) for run, own in runs])

    def between(self, edges: Float64) -> Int64:
        """Rows by cluster and bin; the outermost bins include all values beyond."""
        return np.array([np.diff([0, *np.searchsorted(run, edges[1:-1]), len(run)]) for run in self._runs[:-1]])


def _ranks(sizes: Int64) -> Int64:
    """Ranks that determine medians and, for all rows, the ends of bins; (..., k + 1, 6) from sizes (..., k + 1)."""
    ranks = np.zeros((*sizes.shape, 6), dtype=np.int64)
    ranks[..., 0], ranks[..., 1] = (sizes - 1) // 2, sizes // 2
    tails = _TAILS * (sizes[..., -1:] - 1)
    ranks[..., -1, 2:] = np.concatenate([np.floor(tails), np.ceil(tails)], axis=-1)
    return np.maximum(ranks, 0)


def _medians_and_tails(found: Float64, sizes: Int64) -> tuple[Float64, Float64]:
    """Medians (..., k + 1) and ends of bins (..., 2), from the values at the ranks of ``_ranks``."""
    low, high = found[..., -1, 2:4], found[..., -1, 4:]
    return found[..., :2].mean(axis=-1), low + (high - low) * (_TAILS * (sizes[..., -1:] - 1) % 1.0)


def profile_batches(
    rows: BatchedRows, codes_of: Callable[[Slice], Int32], n_clusters: int, tested: TestedLevels | None = None
) -> Profile:
    """Describe the rows of each cluster, read in batches; ``codes_of``: cluster of every row of a slice."""
    kinds, d, k = rows.columns.kinds, rows.extents.shape[1], n_clusters
    codes = [len(kind.levels or ()) + 1 if kind.name == "category" else 0 for kind in kinds]
    cells = [np.zeros((k, max(n, 2)), dtype=np.int64) for n in codes]  # by level; of numbers known and missing
    for part in rows.slices("sizes of clusters"):
        clusters = codes_of(part)
        for own, x, n in zip(cells, part.table.values.T, codes, strict=True):
            cell = clusters * own.shape[1] + (x if n else np.isnan(x)).astype(np.intp)
            own += np.bincount(cell, minlength=own.size).reshape(own.shape)
    size = cells[0].sum(axis=1)
    own_sizes = np.array([size if n else own[:, 0] for own, n in zip(cells, codes, strict=True)])
    sizes = np.column_stack([own_sizes, own_sizes.sum(axis=1)])  # by column, of every cluster and of all rows

    def values_of(part: Slice) -> npt.NDArray[Any]:
        values = part.table.values
        return values if rows.searched is None else np.where(np.isnan(values), np.nan, values)  # nan without a sign

    mean, (_, whole_mean, variance) = rows.coordinates(codes_of, k), rows.moments()
    least, most = rows.extents.copy()
    if rows.searched is not None:
        columns = [int(rows.searched.of(j)[0]) for j in range(d)]
        mean = np.where(np.isinf(mean[:, columns]), np.nan, mean[:, columns])
    medians, tails = _medians_and_tails(order_statistics(rows, codes_of, _ranks(sizes), values_of), sizes)
    median = medians.T
    median[:-1][own_sizes.T == 0] = np.nan
    whole_std = np.where(least < most, np.sqrt(variance), 0.0)
    of_columns = zip(*tails.T, least, most, kinds, strict=True)
    edges = [_edges(*ends, whole=kind.is_integer) for *ends, kind in of_columns]
    counts = [np.zeros((k, len(own) - 1), dtype=np.int64) for own in edges]
    for part in rows.slices("bins of clusters"):
        clusters, values = codes_of(part), values_of(part).astype(np.float64)
        for j, limits in enumerate(edges):
            known = ~np.isnan(values[:, j])
            counts[j] += _cells(limits, values[known, j], clusters[known], k)
    bins = tuple(edges), tuple(counts), ((),) * d
    found = Profile(np.arange(d), size, mean, median[:-1], whole_mean, median[-1], whole_std, *bins)
    return _by_levels(found, {j: own for j, (own, n) in enumerate(zip(cells, codes, strict=True)) if n}, tested or {})


def _by_levels(found: Profile, by_level: Mapping[int, Int64], tested: TestedLevels) -> Profile:
    """Replace the entry of each category by entries for sets of its levels.

    ``by_level``: by column, rows by cluster and level (k, n_levels + 1), the last for values of no level.
    """
    places, sets = list[int](), list[tuple[int, ...]]()
    for place, column in enumerate(found.columns.tolist()):
        cells = by_level.get(column)
        own = [()] if cells is None else _distinguishing_sets(cells, found.size, tested.get(column, ()))
        places += [place] * len(own)
        sets += own
    found = replace(found.of(np.array(places, dtype=np.int64)), levels=tuple(sets))
    edges, counts = list(found.edges), list(found.counts)
    for j, (column, some) in enumerate(zip(found.columns.tolist(), sets, strict=True)):
        if not some:
            continue
        cells = by_level[column][:, : None if by_level[column][:, -1].any() else -1]
        inside = cells[:, list(some)].sum(axis=1)
        with np.errstate(invalid="ignore"):
            found.mean[:, j] = share = inside / np.where(found.size > 0, found.size, np.nan)
        found.whole_mean[j] = whole = inside.sum() / found.size.sum()
        found.median[:, j] = np.where(np.isnan(share), share, (np.sign(share - 0.5) + 1) / 2)
        found.whole_median[j] = (np.sign(whole - 0.5) + 1) / 2
        found.whole_std[j] = math.sqrt(whole * (1 - whole))
        edges[j], counts[j] = np.arange(cells.shape[1] + 1) - 0.5, cells
    return replace(found, edges=tuple(edges), counts=tuple(counts))


def _distinguishing_sets(cells: Int64, size: Int64, tested: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Tested sets of levels, and the level that differs most from the whole in each cluster, the first of equals.

    ``cells`` (k, n_levels): rows by cluster and level. ``size`` (k,): rows of every cluster.
    """
    whole = cells.sum(axis=0) / size.sum()
    share = cells[size > 0] / size[size > 0, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.nan_to_num(np.abs(share - whole) / np.sqrt(whole * (1 - whole)))
    if np.count_nonzero(whole) <= 2:  # of two levels, one determines the other
        return [tested[0] if tested else (int(np.argmax(deviation.max(axis=0).round(9))),)]
    levels = sorted({(int(level),) for level in np.argmax(deviation.round(9), axis=1)})
    return list(dict.fromkeys([*tested, *levels]))


def distinguishing_columns(
    table: Table, codes: npt.NDArray[np.integer], n_clusters: int, n_wanted: int | None = None
) -> list[int]:
    """Columns ordered by how much a cluster differs from the whole, most first; at least ``n_wanted``, or all.

    ``table``: n rows. ``codes`` (n,): the cluster of every row. Clusters take turns: the best column of each comes
    first, then the second of each. Differences are those of ``Profile``; categories, which have none, come last.
    """
    matrix: Any = table.matrix
    of_known: Any = 1.0
    if not table.is_sparse and np.isnan(table.values).any():
        values = np.asarray(table.values, dtype=np.float64)
        known = ~np.isnan(values)
        mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        # Rounding must not make a column of one value vary.
        mean = np.fmax(np.fmin(mean, np.fmax.reduce(values)), np.fmin.reduce(values))
        matrix = as_matrix(np.where(known, values, mean))  # the sums of differences stay, but count too many rows
        n_known = np.array([known[codes == code].sum(axis=0) for code in range(n_clusters)])
        size = np.bincount(codes, minlength=n_clusters)[:, np.newaxis]
        of_known = size / np.maximum(n_known, 1) * np.sqrt(known.mean(axis=0))
    own, center, variance = _moments(matrix, codes, n_clusters, table.values if table.is_sparse else None)
    difference = np.divide(own - center, np.sqrt(variance), out=np.zeros_like(own), where=variance > 0) * of_known
    difference[:, [kind.name == "category" for kind in table.kinds]] = 0
    return _in_turns(difference, n_wanted)


def _in_turns(difference: Float64, n_wanted: int | None = None) -> list[int]:
    """Columns in which clusters differ most, one of each cluster in turn; at least ``n_wanted``, or all."""
    # Equal columns stay in order, whatever the rounding of their sums.
    order = np.argsort(-np.nan_to_num(np.abs(difference)).round(9), axis=1, kind="stable")
    return list(dict.fromkeys(order[:, :n_wanted].T.ravel().tolist()))


def _cells(edges: Float64, values: Float64, codes: npt.NDArray[np.integer], n_clusters: int) -> Int64:
    """Rows by cluster and bin."""
    n_bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, n_bins - 1)
    return np.bincount(codes * n_bins + place, minlength=n_clusters * n_bins).reshape(n_clusters, -1)


def _edges(low: float, high: float, least: float, most: float, *, whole: bool) -> Float64:
    """Edges of bins, at least two and increasing, however close or far the values are; ``low``, ``high``: quantiles."""
    if whole and high - low < N_BINS and high < 2.0**52 > -low:  # beyond, float64 has no halves
        halves: Float64 = np.arange(np.floor(low), np.ceil(high) + 2) - 0.5
        return halves
    # Beside one frequent value, all other values may be outside of the quantiles.
    if low == high:
        low, high = least, most
    steps: Float64 = np.unique(low + (high - low) * (np.arange(N_BINS + 1) / N_BINS))
    if len(steps) < 2:
        near = max(abs(float(low)) * 1e-6, 0.5)
        return np.array([low - near, low + near])
    return steps


def order_statistics(
    rows: BatchedRows, groups_of: Callable[[Slice], Int32], ranks: Int64, values_of: Callable[[Slice], npt.NDArray[Any]]
) -> Float64:
    """Values at ranks from 0, by group of rows and last over all rows; (d, n_groups + 1, n).

    ``ranks`` (d, n_groups + 1, n). ``groups_of``: group of every row. ``values_of``: (n, d); missing values sort last.
    Each of five passes finds 13 bits of the values, of as many columns as memory allows.
    """
    d = len(ranks)
    step = max(1, MOST_BYTES // (ranks[0].size << _DIGIT + 3))
    found = [_in_order(rows, range(i, min(i + step, d)), groups_of, ranks, values_of) for i in range(0, d, step)]
    return value_at(np.concatenate(found))


def _in_order(
    rows: BatchedRows,
    columns: range,
    groups_of: Callable[[Slice], Int32],
    ranks: Int64,
    values_of: Callable[[Slice], npt.NDArray[Any]],
) -> npt.NDArray[np.uint64]:
    """Order statistics of some columns, as positions in the order of float64."""
    left = ranks[columns.start : columns.stop].copy()
    place = np.zeros(left.shape, dtype=np.uint64)
    for shift in range(64 - 64 % _DIGIT, -1, -_DIGIT):
        counts = {(at[:2], int(place[at])): np.zeros(1 << _DIGIT, dtype=np.int64) for at in np.ndindex(left.shape)}
        for part in rows.slices("order of values", columns=columns):
            groups, values = groups_of(part), values_of(part)
            places = [place_of(values[:, column].astype(np.float64)) for column in columns]
            for ((column, group), start), count in counts.items():
                own = places[column] if group == left.shape[1] - 1 else places[column][groups == group]
                if shift + _DIGIT < 64:
                    own = own[own >> np.uint64(shift + _DIGIT) == start]
                digits = (own >> np.uint64(shift)) & np.uint64((1 << _DIGIT) - 1)
                count += np.bincount(digits.astype(np.intp), minlength=1 << _DIGIT)
        for at in np.ndindex(left.shape):
            upto = np.cumsum(counts[at[:2], int(place[at])])
            digit = min(int(np.searchsorted(upto, left[at], side="right")), (1 << _DIGIT) - 1)
            left[at] -= upto[digit - 1] if digit else 0
            place[at] = place[at] << np.uint64(_DIGIT) | np.uint64(digit)
    return place
