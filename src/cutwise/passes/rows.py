"""Rows of a fit that are not in memory: read from their engine once, then in batches from a temporary folder."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise._progress import show_progress
from cutwise.core import Float64, Int32, Int64
from cutwise.exceptions import ChangedDataError, NotFiniteError, NotNumericError
from cutwise.reference.objective import (
    ENOUGH_BITS,
    KMEANS,
    Cap,
    FixedCosts,
    check_spread,
    find_cap,
    fixed_costs_by,
    second_excess,
)
from cutwise.table.intake import MixedOptions, TableSums, warn_of_columns
from cutwise.table.mixed import FEWEST_NUMBERED
from cutwise.table.table import (
    BOOL,
    INTEGER,
    NUMBER,
    Columns,
    EncodedTable,
    SearchedColumns,
    Table,
    as_matrix,
    encode_table,
)

from .sources import BATCH_ROWS, Again, LazyTable, Part, Seen, add_kinds, extents_of, fingerprint_of, itself
from .spill import Column, Copies
from .sums import Bins, Gathered, Scale, T, Total, plan_bins, run_together, total_by

Sums = tuple[Int64, Int64, Int64]

MOST_BYTES = 1 << 26
"""Memory for the sums of one pass; it limits how many nodes a pass serves."""

LOADED_BYTES = MOST_BYTES
"""Memory for the values and costs of all rows; trees of a table that takes more are grown by passes."""

_LIKELY = 1 << 13
"""Rows of the sample whose costs give a likely bound on all costs."""

COPIED_BYTES = SENT_BYTES = 1 << 23
"""Largest table that is copied from an engine's workers, and memory for the sums that they send in one pass."""

_CACHED_ROWS = 1 << 12
"""Rows per block of squares, which then stays in cache."""

_DENSE_ROWS = 1 << 12
"""Rows made dense at a time."""


@dataclass(frozen=True, eq=False)
class RowPlan:
    """How to compute the arrays of rows from their values; sent to workers.

    ``columns``: of the table. ``transform``: maps a table to the metric space, with columns ``measured``; None if
    distances are measured in the table's columns. ``searched``: searched columns, None if these are the table's.
    ``nearest`` (k, p): centers that label rows. ``centers`` (k, p): centers that costs are by. ``edges``, ``begin``: of
    bins. ``scale``, ``wide``: of costs, see ``core.fixed_costs``; ``cap``: of capped costs, in their place.
    """

    columns: Columns
    transform: Callable[[Table], Table] | None = None
    measured: Columns | None = None
    searched: SearchedColumns | None = None
    nearest: Float64 | None = None
    centers: Float64 | None = None
    edges: Float64 | None = None
    begin: Int64 | None = None
    scale: float = 1.0
    wide: bool = True
    cap: Cap | None = None


@dataclass(eq=False)
class Slice:
    """Consecutive rows; each of their arrays is read or computed on first use.

    ``stored``: arrays in files, where this slice starts at row ``first``. ``known``: arrays in memory.

    ``"values"`` (n, d): of the table. ``"matrix"``: the D searched columns. ``"codes"`` (n, d) uint8: bins of the
    table's columns. ``"metric"``: rows in the metric space. ``"labels"`` (n,). ``"base"`` (n,), ``"excess"`` (n, k):
    fixed-point costs, the row's least and the costs above it. ``"weights"`` (n,): None if every row counts once.
    """

    plan: RowPlan
    n: int
    known: dict[str, Any]
    stored: Mapping[str, Column]
    first: int = 0

    def read(self, name: str) -> Any:
        """Get an array by name, the same object every time."""
        if name not in self.known:
            if name in self.stored:
                self.known[name] = self.stored[name].read(self.first, self.n)
            else:
                self.known |= self._worked_out(name)
        return self.known[name]

    def _worked_out(self, name: str) -> dict[str, Any]:
        how: Any = self.plan
        if name == "metric":
            values = how.transform(self.table).values
            return {name: np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values}
        if name in ("matrix", "coded"):
            if how.searched is None:
                return {name: self.table.matrix}
            values = self.read("values")
            return {name: (how.searched.expand if name == "matrix" else how.searched.codes)(values)}
        if name == "weights":
            return {name: None}
        if name == "labels":
            return {name: KMEANS.assign(self.metric.matrix, how.nearest)[0]}
        if name == "codes":
            ends = np.empty((2, how.begin[-1]))
            return {name: core.bin_codes(self.read("coded"), how.edges, how.begin, *ends)}
        if how.cap is not None:
            costs = how.cap.costs(KMEANS.costs(self.metric.matrix, how.centers), self.weights)
            return {"excess": costs.excess, "base": costs.base}
        matrix, name = self.metric.matrix, KMEANS.name
        of_rows = core.fixed_costs(matrix, how.centers, name, how.scale, self.weights, how.wide)
        return dict(zip(("excess", "base", "sums", "magnitude"), of_rows, strict=True))

    @cached_property
    def table(self) -> Table:
        """The rows in the columns that are cut."""
        return self._table("values", self.plan.columns)

    @cached_property
    def metric(self) -> Table:
        """The rows in the metric space."""
        measured = self.plan.measured
        return self.table if measured is None else self._table("metric", measured)

    def _table(self, name: str, columns: Columns) -> Table:
        return Table(self.read(name), columns.names, columns.has_names, columns.kinds)

    @property
    def weights(self) -> Int64 | None:
        """Weight of each row; None if every row counts once."""
        weights: Int64 | None = self.read("weights")
        return weights

    @property
    def labels(self) -> Int32:
        """Reference cluster of each row."""
        labels: Int32 = self.read("labels")
        return labels


@dataclass(eq=False)
class BatchedRows:
    """The n rows of positive weight of a fit.

    ``stored``: files of their arrays, by name; ``left_out``: files of noise and of rows without weight. ``plan``: how
    to compute other arrays. ``classes``: label of each code, if a column of labels was given. ``seen``: summary of the
    first pass. ``extents`` (2, d): least and largest values; ``metric_sizes``: largest absolute values in the metric
    space. ``sample``, ``sample_weights``: the distinct rows with the smallest hashes, in that order, and their weights,
    used to plan bins and to search for better trees; ``example``: the sample as a table; ``measured``: the sample in
    the metric space, None if that is the table. ``variances``: of the columns that are cut, once known. ``engine``: its
    workers add up sums, if rows stay there. ``again``: reads values that are not stored. ``n_passes``: number of passes
    so far. ``n_clients``: number of callers that may share a pass.
    """

    copies: Copies
    seen: Seen
    stored: dict[str, Column]
    left_out: dict[str, Column]
    say: Callable[[str], None]
    engine: Callable[..., Any] | None = None
    again: Again | None = None
    n_passes: int = 1
    n_clients: int = 1
    _clients: dict[int, Callable[[_Request], Any]] = field(default_factory=dict)  # by thread
    measured: Table | None = None
    variances: Float64 | None = None

    def __post_init__(self) -> None:
        seen = self.seen
        assert seen.like is not None
        self.columns, self.dtype, self.library = seen.like
        self.classes = None if seen.y is None else np.unique(np.concatenate(seen.classes))
        self.n_rows, self.total_weight = seen.n_rows, seen.total
        self.extents, self.metric_sizes = seen.extents, np.abs(seen.extents).max(axis=0)
        self.extents_with_noise = extents_of(np.concatenate([seen.extents, seen.of_noise]))
        _, _, sample, self.sample_weights = seen.sample.merged()
        self.sample = sample.astype(np.float64)
        columns = self.columns
        values = sample.astype(self.dtype, copy=False)  # batches may differ in dtype
        self.example = Table(values, columns.names, columns.has_names, columns.kinds, self.library)
        self.searched = seen.searched
        self.plan = RowPlan(columns, searched=self.searched)

    @classmethod
    def read(
        cls,
        lazy: LazyTable,
        copies: Copies,
        weights: str | None = None,
        say: Callable[[str], None] = lambda _: None,
        y: str | None = None,
        n_clusters: int = 1,
        mixed: MixedOptions | None = None,
    ) -> BatchedRows:
        """Copy the rows of a source, or leave a large table with its engine; ``weights``, ``y``: column names.

        ``mixed``: columns may be of any kind; unless all hold complete numbers, an extra pass finds their kinds.
        """
        read = partial(cls._read, lazy, copies, say, partial(Seen, weights, y, n_clusters))
        if mixed is None:
            return read()
        rows: BatchedRows | None = None
        if not mixed.names_categories:
            with suppress(NotFiniteError, NotNumericError):
                rows = read()
        if rows is None:
            sums = _kinds_of(lazy, TableSums(mixed.categorical), weights, y)
            rows = read(None if sums.columns is None else sums.found())
            rows._check_unchanged(sums.n_rows)
            rows.n_passes = 2
        warn_of_columns(rows.columns, rows._counts_rows)
        return rows

    def _check_unchanged(self, n_rows: int) -> None:
        """Raise an error if the data changed after the pass that found the kinds."""
        if self.n_rows + self.seen.n_left != n_rows:
            raise ChangedDataError.between(n_rows, self.n_rows + self.seen.n_left)
        for j, (kind, most) in enumerate(zip(self.columns.kinds, self.extents_with_noise[1].tolist(), strict=True)):
            if kind.name == "category" and kind.left_out is None and most >= kind.n_levels:
                column = self.columns.describe(j)
                raise ChangedDataError.of(f"{column} had no value in the first that it has in another")

    @classmethod
    def _read(
        cls,
        lazy: LazyTable,
        copies: Copies,
        say: Callable[[str], None],
        no_rows: Callable[[], Seen],
        columns: Columns | None = None,
    ) -> BatchedRows:
        """See ``read``; ``no_rows``: makes a summary before the first row. ``columns``: None if all hold numbers."""
        seen, n_met = no_rows(), 0
        read = partial(Part.read, weights=seen.weights, y=seen.y, columns=columns)
        if lazy.engine is not None:
            seen = total_by(lazy.engine, seen, Seen.add, read)
            seen.check()
            if seen.size > COPIED_BYTES:
                say(f"{seen.n_rows:,} rows seen")
                return cls(copies, seen, {}, {}, say, lazy.engine)
            seen = no_rows()
        is_plain = columns is None and seen.weights is None and seen.y is None
        again = Again(lazy.again) if lazy.again is not None and is_plain else None
        names = ["values", "weights"] + ["labels"] * (seen.y is not None)
        stored = {name: Column(copies.folder / name) for name in ([] if again else names)}
        left_out = {name: Column(copies.folder / f"left-out-{name}") for name in ("values", "weights")}

        def see(batch: Any) -> Part:
            part = read(batch)
            seen.add(part)
            return part

        for part in lazy.mapped(see) if lazy.engine is None else map(see, lazy.batches()):
            show_progress(f"reading the table: {seen.n_rows:,} rows")
            if len(part.left_out):
                left_out["values"].append(part.left_out)
                left_out["weights"].append(part.left_weights)
            if again is not None:
                again.update(part)
            elif len(part.values):
                arrays = {"values": part.values, "weights": part.weights, "labels": part.labels + n_met}
                for name, column in stored.items():
                    column.append(arrays[name])
                del arrays
            n_met += len(part.classes)
            del part  # before the next one is read
        seen.check()
        if seen.is_one and again is None:
            stored.pop("weights").path.unlink()
        say(f"{seen.n_rows:,} rows read")
        rows = cls(copies, seen, stored, left_out, say, again=again)
        if rows.classes is not None:
            stored["labels"].renamed = np.searchsorted(rows.classes, np.concatenate(seen.classes)).astype(np.int32)
        return rows

    def _counts_rows(self, column: int) -> bool:
        """Whether a column seems to number the rows: its range fits their count, and the sample has no repeats."""
        (least, most), own = self.extents_with_noise[:, column], self.sample[:, column]
        is_span = most - least == self.n_rows + self.seen.n_left - 1
        return bool(is_span and len(np.unique(own)) == len(own) >= FEWEST_NUMBERED)

    def measure_in(self, transform: Callable[[Table], Table]) -> None:
        """Measure distances in a transformer's output."""
        self.measured = transform(self.example)
        self.plan = replace(self.plan, transform=transform, measured=self.measured.columns)
        keep = ["metric"] if self.again is None and isinstance(self.measured.values, np.ndarray) else []
        sizes = self.go_over("the preprocessor's output", Total(np.maximum), _update_sizes, *keep)
        self.metric_sizes = sizes.values[0]

    def slices(self, what: str, columns: Sequence[int] | None = None) -> Iterator[Slice]:
        """Iterate over all rows in batches, by one pass; not for rows that stay with workers.

        ``columns``: columns that are read; None: all.
        """
        start, name = self._begin(what)
        for first, known in self._batches(columns):
            show_progress(f"{name}: {first:,} of {self.n_rows:,} rows")
            n = len(known["values"]) if known else min(BATCH_ROWS, self.n_rows - first)
            yield Slice(self.plan, n, known, self.stored, first)
        self._end(start, name)

    def _batches(self, columns: Sequence[int] | None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Number of the first row of each batch, and its arrays in memory."""
        if self.again is None or (columns is not None and not len(columns)):
            yield from ((first, {}) for first in range(0, self.n_rows, BATCH_ROWS))
        else:
            yield from ((first, {"values": values}) for first, values in self.again.read(columns))

    def _begin(self, what: str) -> tuple[float, str]:
        self.n_passes += 1
        return time.perf_counter(), f"pass {self.n_passes}, {what}"

    def _end(self, start: float, name: str) -> None:
        self.say(f"{name}: {self.n_rows:,} rows, {time.perf_counter() - start:.2f} s")

    def go_over(
        self,
        what: str,
        sums: T,
        add: Callable[[T, Slice], object],
        *keep: str,
        plan: RowPlan | None = None,
        stored: dict[str, Column] | None = None,
        columns: Sequence[int] | None = None,
    ) -> T:
        """Add all rows to sums, in batches and in any order, by one pass; see ``total_by``.

        ``plan``, ``stored``: replace the attributes of these names. ``keep``: arrays to store, unless rows stay with
        workers. ``columns``: columns that are read; None: all.
        """
        stored = self.stored if stored is None else stored
        added = {} if self.engine else {name: Column(self.copies.folder / f"{name}-{self.n_passes}") for name in keep}
        how = partial(_add_and_store, add, added) if added else add
        own = _Request(what, sums, (how, plan or self.plan, stored), columns)
        ask = self._clients.get(threading.get_ident())
        (found,) = self._serve([own]) if ask is None else (ask(own),)
        stored |= added
        return cast("T", found)

    def together(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Run functions that go over the rows in parallel, so that they share passes; return their results."""
        if len(calls) < 2:
            return [call() for call in calls]
        self.n_clients = len(calls)
        try:
            return run_together(calls, self._serve, self._clients)
        finally:
            self.n_clients = 1

    def _serve(self, requests: Sequence[_Request]) -> list[Any]:
        """Compute the sums of several requests, by one pass."""
        what = ", ".join(dict.fromkeys(each.what for each in requests))
        sums, add = [each.sums for each in requests], partial(_add_to_each, [each.of_rows for each in requests])
        if self.engine is not None:
            start, name = self._begin(what)
            show_progress(name)
            sums = self._by_workers(sums, add)
            self._end(start, name)
            return sums
        is_all = any(each.columns is None for each in requests)
        columns = None if is_all else sorted(set().union(*(each.columns or () for each in requests)))
        for rows in self.slices(what, columns=columns):
            add(sums, rows)
        return sums

    def _by_workers(self, sums: T, add: Callable[[T, Slice], object], *, side: bool = False) -> T:
        seen, engine = self.seen, self.engine
        assert engine is not None
        read = partial(_slice_of, self.plan, seen.weights, seen.y, self.classes, is_one=seen.is_one)
        sums, now = total_by(engine, (sums, np.zeros(3, dtype=np.int64)), partial(_add_and_count, add, side), read)
        if now.tolist() != [seen.n_rows, seen.n_left, int(seen.fingerprint[0])]:
            raise ChangedDataError.between(seen.n_rows + seen.n_left, int(now[:2].sum()))
        return sums

    def go_over_left_out(self, sums: T, add: Callable[[T, Slice], object]) -> T:
        """Add the left-out rows to sums; noise has positive weights."""
        n = self.seen.n_left
        if n and self.engine is not None:
            return self._by_workers(sums, add, side=True)
        for first in range(0, n, BATCH_ROWS):
            add(sums, Slice(self.plan, min(BATCH_ROWS, n - first), {}, self.left_out, first))
        return sums

    def coordinates(self, labels_of: Callable[[Slice], Int32], k: int) -> Float64:
        """Centers of clusters in the searched columns, see ``TrainingRows.centers``; nan for clusters without rows."""
        what, searched = "coordinates of the centers", self.searched
        if searched is None:
            return self.means(self.grouped_sums(what, lambda rows: [(labels_of(rows), k)], raw=True)[0], raw=True)
        kinds, sizes = searched.kinds, self._sizes(raw=True)
        totals = (self.total_weight - self.seen.missing[0]).astype(np.float64)

        def add(found: Total, rows: Slice) -> None:
            labels, weights, of_columns = labels_of(rows), rows.weights, list[Any]()
            for j, (x, kind) in enumerate(zip(rows.read("values").T, kinds, strict=True)):
                n = len(kind.levels or ()) + 1  # new rows may have levels that fit has not seen
                if kind.name == "category":
                    of_columns.append(np.bincount(labels * n + x.astype(np.intp), weights, k * n).astype(np.int64))
                    continue
                known = ~np.isnan(x)
                column, own = as_matrix(np.ascontiguousarray(x[known, np.newaxis])), labels[known]
                w = None if weights is None else weights[known]
                of_columns += core.cluster_sums(column, own, k, w, sizes[[j]], totals[j])
            found.update([np.bincount(labels, weights, k).astype(np.int64), *of_columns])

        weight, *sums = self.go_over(what, Total(), add).values
        parts = iter(sums)

        def of_column(j: int) -> Any:
            if kinds[j].name == "category":
                return next(parts).reshape(k, -1)
            high, low, known = next(parts), next(parts), next(parts)
            return core.means_of_sums(high, low, known, sizes[[j]], totals[j])[:, 0], known

        return searched.centers(weight, of_column)

    def grouped_sums(
        self, what: str, groups_of: Callable[[Slice], Sequence[tuple[Int32, int]]], *, raw: bool = False
    ) -> list[Sums]:
        """Exact sums of values by group of rows, high and low parts, and weights; for several groupings.

        ``groups_of``: by grouping, the group of each row and their number. ``raw``: sum the columns that are cut.
        """
        sizes, total = self._sizes(raw), float(self.total_weight)

        def add(found: Total, rows: Slice) -> None:
            matrix = (rows.table if raw else rows.metric).matrix
            of_ways = (core.cluster_sums(matrix, *way, rows.weights, sizes, total) for way in groups_of(rows))
            found.update([part for own in of_ways for part in own])

        parts = self.go_over(what, Total(), add).values
        return [cast("Sums", tuple(parts[i : i + 3])) for i in range(0, len(parts), 3)]

    def moments(self, *, with_noise: bool = False) -> tuple[float, Float64, Float64]:
        """Weight of the rows, and mean and variance of the known values of every column, from exact sums."""
        found = list[Float64]()
        for what in ("means", "variances"):
            add, read = self.powers(*found, with_noise=with_noise)
            sums = self.go_over(what, Total(), add)
            found.append(read(sums.merge(self.go_over_left_out(Total(), add)) if with_noise else sums))
        return float(self.total_weight + (self.seen.left_total if with_noise else 0)), found[0], found[1]

    def powers(
        self, means: Float64 | None = None, *, with_noise: bool = False
    ) -> tuple[Callable[[Total, Slice], None], Callable[[Total], Float64]]:
        """Functions that add up values of columns, or squared distances from ``means``, and that read the sums."""
        extents = self.extents_with_noise if with_noise else self.extents
        total = float(self.total_weight + (self.seen.left_total if with_noise else 0))
        missing = self.seen.missing[: 1 + with_noise].sum(axis=0)
        with np.errstate(over="ignore"):  # overflow ends as nan
            sizes = np.abs(extents if means is None else np.square(extents - means)).max(axis=0)
        sizes[np.isnan(sizes)] = 0.0  # columns without a value

        def read(sums: Total) -> Float64:
            high, low, weight = sums.values
            of_columns = core.means_of_sums(high, low, weight, sizes, total)[0]
            for j in np.flatnonzero(missing).tolist():
                known = high[:, [j]].copy(), low[:, [j]].copy(), weight - missing[j]
                of_columns[j] = core.means_of_sums(*known, sizes[[j]], total)[0, 0]
            return np.where(np.isfinite(sizes), of_columns, np.nan)

        return partial(_add_powers, means, sizes, total), read

    def means(self, sums: Sums, *, raw: bool = False) -> Float64:
        """Means of groups; nan for a group without weight."""
        return core.means_of_sums(*sums, self._sizes(raw), float(self.total_weight))

    def _sizes(self, raw: bool) -> Float64:
        """Largest absolute value of every column, shape (d,)."""
        sizes: Float64 = np.abs(self.extents).max(axis=0) if raw else self.metric_sizes
        return sizes

    def exact_sums(
        self,
        what: str,
        costs_of: Callable[[Slice], list[Float64]],
        beside: T,
        add_beside: Callable[[T, Slice], object] = lambda *_: None,
    ) -> tuple[list[float], T]:
        """Exact weighted sums of the rows' costs, inf if one is; the pass also adds rows to ``beside``.

        The scale of a sum depends on the largest cost. The sample suggests two; if neither fits, another pass follows.
        """
        total, n = float(self.total_weight), min(_LIKELY, len(self.sample))
        known = {"values": self.example.values[:n]} | ({"metric": self.measured.values[:n]} if self.measured else {})
        most = [costs.max() for costs in costs_of(Slice(self.plan, n, known, {}))]

        def add(found: tuple[Total, Total, T], rows: Slice) -> None:
            costs = costs_of(rows)
            found[0].update([float(own.max(initial=0.0)) for own in costs])
            with np.errstate(invalid="ignore"):  # sums of the wrong scale are not used
                parts = [[each.split(own, rows.weights) for each in of] for of, own in zip(scales, costs, strict=True)]
                found[1].update(map(np.array, parts))
            add_beside(found[2], rows)

        while True:
            scales = [[Scale.of(factor * own, total) for factor in (1.0, 2.0)] for own in most]
            largest, parts, found = self.go_over(what, (Total(np.maximum), Total(), deepcopy(beside)), add)
            most = largest.values
            if all(Scale.of(own, total) in likely for own, likely in zip(most, scales, strict=True)):
                break
        costs = list[float]()
        for own, likely, split in zip(most, scales, parts.values, strict=True):
            scale = Scale.of(own, total)
            costs.append(scale.total(*split[likely.index(scale)].tolist()) if math.isfinite(own) else math.inf)
        return costs, found


_OfRows = tuple[Callable[[Any, "Slice"], object], RowPlan, Mapping[str, Column]]
"""Function, plan and stored arrays by which workers add rows."""


@dataclass(frozen=True, eq=False)
class _Request:
    """A request for sums; see ``BatchedRows.go_over``."""

    what: str
    sums: Any
    of_rows: _OfRows
    columns: Sequence[int] | None


def _add_to_each(requests: Sequence[_OfRows], sums: list[Any], rows: Slice) -> None:
    """Add rows to the sums of every request; requests with the same plan share a slice and its arrays."""
    given, by_plan = dict(rows.known), dict[tuple[int, int], Slice]()
    for (add, plan, stored), own in zip(requests, sums, strict=True):
        add(own, by_plan.setdefault((id(plan), id(stored)), Slice(plan, rows.n, dict(given), stored, rows.first)))


def _add_and_store(add: Callable[[Any, Slice], object], added: Mapping[str, Column], sums: Any, rows: Slice) -> None:
    """Add rows to sums, and store some of their arrays."""
    add(sums, rows)
    for name, column in added.items():
        values = rows.read(name)
        column.append(values.astype(np.min_scalar_type(int(values.max(initial=0)))) if name == "labels" else values)


def _add_powers(mean: Float64 | None, sizes: Float64, total: float, sums: Total, rows: Slice) -> None:
    """Add values to sums, or their squared distances from ``mean``."""
    values, weights = rows.read("values"), rows.weights
    for first in range(0, rows.n, _CACHED_ROWS):
        block = slice(first, first + _CACHED_ROWS)
        with np.errstate(over="ignore"):
            terms = np.ascontiguousarray(values[block]) if mean is None else np.square(values[block] - mean)
        if (gaps := np.isnan(terms)).any():  # missing values add nothing
            terms = np.where(gaps, 0.0, terms)
        one = np.zeros(len(terms), dtype=np.int32)
        of_one = None if weights is None else weights[block]
        sums.update(core.cluster_sums(as_matrix(terms), one, 1, of_one, sizes, total))


def _update_sizes(found: Total, rows: Slice) -> None:
    """Update the largest absolute values in the metric space."""
    matrix = rows.metric.matrix
    for first in range(0, rows.n, _DENSE_ROWS):
        dense = core.gather_rows(matrix, np.arange(first, min(first + _DENSE_ROWS, rows.n)))
        found.update([np.abs(dense).max(axis=0)])


def _kinds_of(lazy: LazyTable, sums: TableSums, weights: str | None, y: str | None) -> TableSums:
    """Find the kinds of a table's columns, except weights and labels, by one pass."""
    update = partial(add_kinds, weights=weights, y=y)
    if lazy.engine is not None:
        return total_by(lazy.engine, sums, update, itself)
    for _ in lazy.mapped(partial(update, sums)):
        show_progress(f"kinds of columns: {sums.n_rows:,} rows")
    return sums


def _slice_of(
    plan: RowPlan, weights: str | None, y: str | None, classes: npt.NDArray[Any] | None, batch: Any, *, is_one: bool
) -> Slice:
    """Make a slice of a batch on a worker, where nothing is stored."""
    is_plain = all(kind in (NUMBER, INTEGER, BOOL) for kind in plan.columns.kinds)
    part = Part.read(batch, weights, y, None if is_plain else plan.columns)
    left_out = {"values": part.left_out, "weights": part.left_weights}
    known: dict[str, Any] = {"values": part.values, "left_out": Slice(plan, len(part.left_out), left_out, {})}
    if not is_one:
        known["weights"] = part.weights
    if classes is not None:
        known["labels"] = np.searchsorted(classes, part.classes).astype(np.int32)[part.labels]
    return Slice(plan, len(part.values), known, {})


def _add_and_count(add: Callable[[Any, Slice], object], side: bool, sums: tuple[Any, Int64], rows: Slice) -> None:
    """Add rows (left-out ones if ``side``), and the counts and fingerprint that tell whether the data changed."""
    left_out: Slice = rows.known["left_out"]
    sums[1][:2] += np.array([rows.n, left_out.n])
    if rows.n:
        sums[1][2:] += fingerprint_of(core.row_hashes(rows.read("matrix"), 1))
    if (own := left_out if side else rows).n:
        add(sums[0], own)


class PreparedRows:
    """Rows with bins, labels and costs by given centers, from which trees are grown.

    Rows without labels get those of their nearest centers. ``coordinates``: of the centers, in the columns that are
    cut.
    """

    def __init__(self, rows: BatchedRows, centers: Float64, coordinates: Float64) -> None:
        self.rows, self.centers, self.coordinates = rows, centers, coordinates
        self.kinds, self.searched, self.n_clusters = rows.columns.kinds, rows.searched, len(centers)
        edges, begin = plan_bins(rows.sample, coordinates, rows.searched)
        self.bins = Bins.of(begin, rows.searched)
        self.plan = replace(rows.plan, nearest=centers, centers=centers, edges=edges, begin=begin)
        self._stored = dict(rows.stored)
        self._measure("codes", *([] if rows.classes is not None else ["labels"]))

    @property
    def where(self) -> dict[str, Any]:
        """Arguments of ``BatchedRows.go_over`` by which passes find labels and costs."""
        return {"plan": self.plan, "stored": self._stored}

    def _measure(self, *keep: str) -> None:
        """Compute the costs of all rows in fixed point, and the arrays in ``keep``: "codes", "labels"."""
        all_rows, centers, begin = self.rows, self.centers, self.bins.coded_begin
        check_spread(centers, KMEANS)

        def add(found: tuple[Total, Total], rows: Slice) -> None:
            labels, own, excess = KMEANS.assign(rows.metric.matrix, centers)
            if "labels" in keep:
                rows.known["labels"], of_label = labels, own
            else:
                of_label = KMEANS.label_costs(rows.metric.matrix, centers, rows.labels)
            found[0].update([np.float64(excess), own.max(), of_label.max()])
            if "codes" in keep:
                low, high = np.full((2, begin[-1]), [[math.inf], [-math.inf]])
                edges = rows.plan.edges
                assert edges is not None
                rows.known["codes"] = core.bin_codes(rows.read("coded"), edges, begin, low, high)
                found[1].update([low, -high])

        sizes, ends = all_rows.go_over(
            "nearest centers", (Total(np.maximum), Total(np.minimum)), add, *keep, **self.where
        )
        largest, largest_own, largest_cost = map(float, sizes.values)
        of_label = Scale.of(largest_cost, float(all_rows.total_weight))
        if ends.values:
            self.low, self.high = self.bins.ends(ends.values[0], -ends.values[1])

        def add_costs(found: Total, rows: Slice) -> None:
            of_base = rows.read("base").sum(dtype=np.int64)
            rows.read("excess")
            costs = KMEANS.label_costs(rows.metric.matrix, centers, rows.labels)
            own = np.array(of_label.split(costs, rows.weights))
            found.update([rows.known["sums"], of_base, np.int64(rows.known["magnitude"]), own])

        def kernel(*, scale: float, wide: bool) -> tuple[Int64, Int64, Int64, int]:
            self.plan = replace(self.plan, scale=scale, wide=wide)
            self._remove_costs()
            found = all_rows.go_over("costs", Total(), add_costs, "excess", "base", **self.where)
            sums, of_base, magnitude, of_label_costs = found.values
            self.cost = of_label.total(*of_label_costs.tolist())
            return np.empty(0, dtype=np.int64), np.array([of_base]), sums, int(magnitude)

        total, is_weighted = all_rows.total_weight, all_rows.seen.is_one is False
        costs, magnitude = fixed_costs_by(kernel, largest_own, largest, total, len(centers), is_weighted)
        if len(centers) > 1 and magnitude < ENOUGH_BITS:
            self._cap(costs.scale)

    @cached_property
    def loaded(self) -> EncodedTable | None:
        """All rows in memory, if the table is small; it may not leave an engine's workers."""
        rows, n = self.rows, self.rows.n_rows
        if rows.engine is not None or 8 * n * (len(self.bins.begin) - 1 + self.n_clusters) > LOADED_BYTES:
            return None
        known: dict[str, Any] = {name: self._all_of(name) for name in ("values", "weights") if name in self._stored}
        if "values" not in known:
            known["values"] = np.concatenate([part.read("values").copy() for part in rows.slices("all rows")])
        everything = Slice(self.plan, n, known, {})
        return encode_table(everything.table, weights=everything.weights, merge=False)

    @cached_property
    def labels_and_costs(self) -> tuple[Int32, FixedCosts]:
        """Of all rows, where they are loaded."""
        costs = FixedCosts(self._all_of("excess"), self._all_of("base"), self.plan.scale)
        return self._all_of("labels").astype(np.int32), costs

    def _all_of(self, name: str) -> npt.NDArray[Any]:
        """Copy of an array of all rows: a file that is mapped to memory cannot be removed everywhere."""
        return self._stored[name].read(0, self.rows.n_rows).copy()

    def priced_by(self, centers: Float64) -> PreparedRows:
        """Copy with the same labels and costs by other centers."""
        other = copy(self)
        vars(other).pop("labels_and_costs", None)
        other.centers, other.plan = centers, replace(self.plan, centers=centers, cap=None)
        other._stored = {name: column for name, column in self._stored.items() if name not in ("excess", "base")}
        other._measure()
        return other

    @property
    def sample(self) -> tuple[EncodedTable, core.Matrix]:
        """The sample on which trees are searched, as a table, and its rows in the metric space."""
        rows = self.rows
        table = encode_table(replace(rows.example, values=rows.sample), weights=rows.sample_weights, merge=False)
        return table, table.matrix if rows.measured is None else rows.measured.matrix

    def _remove_costs(self) -> None:
        for name in {"excess", "base"} & self._stored.keys():
            self._stored.pop(name).path.unlink()

    def _cap(self, scale: float) -> None:
        """Cap the costs where distant rows would use up the digits; a median needs 16 bytes of memory a row."""
        centers = self.centers

        def add(found: list[Any], rows: Slice) -> None:
            weights = np.ones(rows.n, dtype=np.int64) if rows.weights is None else rows.weights
            found += [second_excess(KMEANS.costs(rows.metric.matrix, centers)), weights]

        found = self.rows.go_over("second nearest centers", Gathered(), add)
        cap = find_cap(np.concatenate(found[::2]), scale, self.rows.total_weight, np.concatenate(found[1::2]))
        if cap is not None:
            self.plan = replace(self.plan, cap=cap)
            self._remove_costs()
            self.rows.go_over("costs, capped", [], lambda *_: None, "excess", "base", **self.where)

    @property
    def most_bytes(self) -> int:
        """Memory limit for the sums of one request."""
        return (MOST_BYTES if self.rows.engine is None else SENT_BYTES) // self.rows.n_clients

    @property
    def value_sums(self) -> Callable[[Slice, Int32, int], Sums]:
        """Function that sums rows by group in the metric space, in the form that ``BatchedRows.means`` takes."""
        return partial(_value_sums, self.rows.metric_sizes, float(self.rows.total_weight))

    def go_over(self, what: str, sums: T, add: Callable[[T, Slice], object], columns: Sequence[int] | None = None) -> T:
        """See ``BatchedRows.go_over``; the values of columns that are not read are undefined."""
        return self.rows.go_over(what, sums, add, columns=columns, **self.where)


def _value_sums(sizes: Float64, total: float, rows: Slice, groups: Int32, n_groups: int) -> Sums:
    return core.cluster_sums(rows.metric.matrix, groups, n_groups, rows.weights, sizes, total)
