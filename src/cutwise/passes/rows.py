"""The rows of a fit that are not in memory: read once from their engine, then from a temporary folder, in batches."""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise._progress import tell
from cutwise.exceptions import InvalidInputError, NotFiniteError, NotNumericError
from cutwise.reference.objective import (
    ENOUGH_BITS,
    KMEDIANS,
    Objective,
    check_squares,
    find_cap,
    fixed_costs_by,
    second_excess,
)
from cutwise.table.intake import read_table, read_weights
from cutwise.table.labels import read_labels
from cutwise.table.table import Columns, EncodedTable, Table
from cutwise.tree.refine_sample import sample_sizes

from .provider import MOST_BYTES, Rows
from .sources import BATCH_ROWS, LazyTable, pop_column
from .sums import Scale, Smallest, T, place_of, value_at

Int32 = npt.NDArray[np.int32]

Int64 = npt.NDArray[np.int64]

Float64 = npt.NDArray[np.float64]

Sums = tuple[Int64, Int64, Int64]

MAX_WEIGHT = 2**31
"""What whole weights add up to at most; it leaves 30 bits for the cost of a row."""

MOST_BINS = 256

_DIGIT = 13
"""Bits of a value that a pass for order statistics looks at."""

MOST_NODES = 1 << 16
"""Nodes in which rows are remembered to be."""


class Copies:
    """A folder with a copy of the rows as plain numbers, gone with the fit, or with what ``keeps`` it.

    Folders of processes that were killed are removed by the next.
    """

    def __init__(self, *, keeps: bool = False) -> None:
        parent = Path(tempfile.gettempdir())
        for old in parent.glob("cutwise-*-rows-*"):
            owner = re.match(r"cutwise-(\d+)-", old.name)
            if owner and not _is_running(int(owner[1])):
                shutil.rmtree(old, ignore_errors=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"cutwise-{os.getpid()}-rows-"))
        self._keeps = keeps
        self._remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None or not self._keeps:
            self._remove()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of somebody else
        return True
    return True


class _Column:
    """One array of all rows, in a file: written batch by batch, read by slices."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.width: tuple[int, ...] = ()
        self.dtype: np.dtype[Any] = np.dtype(np.float64)
        self.n = 0
        self.renamed: npt.NDArray[Any] | None = None  # what the values stand for

    def append(self, values: npt.NDArray[Any]) -> None:
        self.width, self.dtype, self.n = values.shape[1:], values.dtype, self.n + len(values)
        try:
            with self.path.open("ab") as file:
                file.write(np.ascontiguousarray(values).data)
        except OSError as error:
            raise InvalidInputError(
                f"The copy of the rows could not be written to {self.path.parent}: {error.strerror}. It takes the "
                "table's values and about 4 k + d + 7 bytes a row, and is removed. Set TMPDIR to a folder with room."
            ) from error

    def write(self, first: int, values: npt.NDArray[Any]) -> None:
        """Put values in the place of what is there, or behind it."""
        if first >= self.n:
            self.append(values)
            return
        with self.path.open("r+b") as file:
            file.seek(first * values.itemsize)
            file.write(values.data)

    def read(self, first: int, n: int) -> npt.NDArray[Any]:
        values = self.mapped(first, n)
        return values if self.renamed is None else self.renamed[values]

    def mapped(self, first: int = 0, n: int | None = None) -> npt.NDArray[Any]:
        """All of it, or a slice, as pages that the system reads and drops as it likes."""
        n = self.n - first if n is None else n
        if n == 0:
            return np.empty((0, *self.width), dtype=self.dtype)
        offset = first * math.prod(self.width) * self.dtype.itemsize
        return np.memmap(self.path, self.dtype, "r", offset, (n, *self.width))


@dataclass(frozen=True, eq=False)
class Slice:
    """The rows ``first`` to ``first + n`` of a fit; each of their arrays is read when it is asked for, once."""

    rows: BatchedRows
    first: int
    n: int

    def read(self, column: _Column) -> npt.NDArray[Any]:
        """Their part of a column."""
        return column.read(self.first, self.n)

    @cached_property
    def table(self) -> Table:
        """In the columns that are cut."""
        columns = self.rows.columns
        return Table(self.read(self.rows.values), columns.names, columns.has_names, columns.kinds)

    @cached_property
    def metric(self) -> Table:
        """Where distances are measured."""
        rows = self.rows
        return self.table if rows.measured is None else replace(rows.measured, values=self.read(rows.metric))

    @cached_property
    def weights(self) -> Int64 | None:
        """None where each counts once."""
        return None if self.rows.weights is None else self.read(self.rows.weights)

    @cached_property
    def labels(self) -> Int32:
        """Their reference clusters."""
        return self.read(self.rows.labels)


@dataclass(eq=False)
class BatchedRows:
    """The n rows of positive weight of a fit.

    ``values``, ``weights``: where they lie; ``metric``: the same rows where distances are measured. ``left_out``,
    ``left_weights``: rows without weight, and those that are noise, with theirs. ``columns``: of the table,
    ``library``: of its batches. ``total_weight``: of all rows. ``labels``, ``classes``: codes, and what they stand
    for where a column of labels was given. ``extents`` (2, d): the least and the largest values; ``metric_sizes``:
    the largest absolute ones of ``metric``. ``sample``, ``sample_weights``: the distinct rows of the smallest hashes
    of what they hold, in that order, and what they weigh: by these bins are planned, and better trees are searched;
    ``measured``: the sample where distances are measured, if that is another place. ``n_passes``: how often rows were
    gone over.
    """

    copies: Copies
    columns: Columns
    library: str | None
    n_rows: int
    values: _Column
    metric: _Column
    metric_sizes: Float64
    left_out: _Column
    left_weights: _Column
    weights: _Column | None
    labels: _Column
    classes: npt.NDArray[np.generic] | None
    total_weight: int
    extents: Float64
    extents_with_noise: Float64
    sample: Float64
    sample_weights: Int64
    say: Callable[[str], None]
    n_passes: int = 1
    measured: Table | None = None

    @classmethod
    def read(
        cls,
        lazy: LazyTable,
        copies: Copies,
        weights: str | None = None,
        say: Callable[[str], None] = lambda _: None,
        y: str | None = None,
        n_clusters: int = 1,
    ) -> BatchedRows:
        """Copy the rows of a source; errors as of tables in memory. ``weights``, ``y``: columns of it."""
        values, weight, left_out, left_weights = (
            _Column(copies.folder / name) for name in ("values", "weights", "left_out", "left_weights")
        )
        noisy = list[Float64]()
        labels = _Labels(_Column(copies.folder / "labels"))
        first: Table | None = None
        n_rows = total = 0
        extents, is_one = np.empty((0, 0)), True
        sample = Smallest(0)
        for batch in lazy.batches():
            tell(f"reading the table: {n_rows:,} rows")
            given: Any = None
            if y is not None:
                batch, given = pop_column(batch, y, "y")
            table, own = _checked(batch, weights)
            if first is None:
                first, extents = table, np.empty((0, table.n_columns))
            if (table.names, table.kinds, table.values.dtype) != (first.names, first.kinds, first.values.dtype):
                raise InvalidInputError(
                    f"The batches of X differ: the first has columns {first.names} of {first.values.dtype}, another "
                    f"{table.names} of {table.values.dtype}. Give all the same names and types."
                )
            x = table.values
            counts = np.ones(len(x), dtype=np.int64) if own is None else own.astype(np.int64)
            taken = counts > 0
            if y is not None:
                codes = labels.codes_of(given, taken)
                taken = codes >= 0
                labels.column.append(codes[taken])
            if not taken.all():
                left_out.append(x[~taken])
                left_weights.append(counts[~taken])
                if (noise := counts[~taken] > 0).any():
                    noisy.append(_extents(x[~taken][noise]))
                x, counts = x[taken], counts[taken]
            if not len(x):
                continue
            extents = _extents(np.concatenate([extents, _extents(x)]))
            x = np.ascontiguousarray(x)
            values.append(x)
            if own is not None:
                weight.append(counts)
                is_one = is_one and bool((counts == 1).all())
            total += int(counts.sum())
            n_rows += len(x)
            sample.size = sample_sizes(n_clusters, x.shape[1])[1] + 1  # one more says that these are not all
            hashes = core.row_hashes(core.as_matrix(x), 1)
            sample.add(hashes, hashes, x, counts)
        if y is not None and first is not None and not labels.column.n:
            raise InvalidInputError(
                f"Every label in y={y!r} is -1, which means noise, or of a row without weight: there is no cluster. "
                "Give at least one row another label."
            )
        if first is None or n_rows == 0:
            raise InvalidInputError("X has no rows of positive weight. Give at least one.")
        if total > MAX_WEIGHT:
            raise InvalidInputError(f"The weights add up to {total}, and tables in batches take 2**31 at most.")
        say(f"{n_rows:,} rows read")
        return cls(
            copies,
            first.columns,
            first.library,
            n_rows,
            values,
            values,
            np.abs(extents).max(axis=0),
            left_out,
            left_weights,
            None if weights is None or is_one else weight,
            labels.column,
            labels.finish() if y is not None else None,
            total,
            extents,
            _extents(np.concatenate([extents, *noisy])),
            sample.values.astype(np.float64),
            sample.weights,
            say,
        )

    def measure_in(self, transform: Callable[[Table], Table]) -> None:
        """Measure distances in what a transformer makes of rows."""
        sample = replace(self.first.table, values=self.sample.astype(self.values.dtype))
        self.measured = transform(sample)  # until all rows are
        self.metric, self.metric_sizes = _Column(self.folder / "metric"), np.zeros(self.measured.n_columns)
        for rows in self.slices("the preprocessor's output"):
            made = np.ascontiguousarray(transform(rows.table).values)
            self.metric.append(made)
            self.metric_sizes = np.maximum(self.metric_sizes, np.abs(made.astype(np.float64)).max(axis=0))

    @property
    def folder(self) -> Path:
        """With their copies."""
        return self.copies.folder

    @property
    def first(self) -> Slice:
        """The first row."""
        return Slice(self, 0, 1)

    def slices(self, what: str) -> Iterator[Slice]:
        """All rows, in batches, by one pass."""
        self.n_passes += 1
        start, name = time.perf_counter(), f"pass {self.n_passes}, {what}"
        for first in range(0, self.n_rows, BATCH_ROWS):
            tell(f"{name}: {first:,} of {self.n_rows:,} rows")
            yield Slice(self, first, min(BATCH_ROWS, self.n_rows - first))
        self.say(f"{name}: {self.n_rows:,} rows, {time.perf_counter() - start:.2f} s")

    def go_over(self, what: str, sums: T, add: Callable[[T, Slice], object]) -> T:
        """Add all rows to some sums, in batches and in any order, by one pass."""
        for rows in self.slices(what):
            add(sums, rows)
        return sums

    def order_statistics(self, groups_of: Callable[[Slice], Int32], ranks: Int64) -> Float64:
        """The values of some ranks, from 0, in groups of rows and in all of them, the last; (d, n_groups + 1, n).

        ``ranks`` (n_groups + 1, n); ``groups_of``: of every row. Five passes, each for 13 bits of the values, for as
        many columns as there is room for.
        """
        d = self.extents.shape[1]
        step = max(1, MOST_BYTES // (ranks.size << _DIGIT + 3))
        found = [self._in_order(range(i, min(i + step, d)), groups_of, ranks) for i in range(0, d, step)]
        return value_at(np.concatenate(found))

    def _in_order(self, columns: range, groups_of: Callable[[Slice], Int32], ranks: Int64) -> npt.NDArray[np.uint64]:
        """The same for some columns, as places in the order of float64."""
        left = np.tile(ranks, (len(columns), 1, 1))
        place = np.zeros(left.shape, dtype=np.uint64)
        for shift in range(64 - 64 % _DIGIT, -1, -_DIGIT):
            counts = {(at[:2], int(place[at])): np.zeros(1 << _DIGIT, dtype=np.int64) for at in np.ndindex(left.shape)}
            for rows in self.slices("order of values"):
                groups = groups_of(rows)
                places = [place_of(rows.table.values[:, column].astype(np.float64)) for column in columns]
                for ((column, group), start), count in counts.items():
                    own = places[column] if group == len(ranks) - 1 else places[column][groups == group]
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

    def left_out_rows(self) -> Iterator[tuple[npt.NDArray[Any], Int64]]:
        """The rows that take no part, batch by batch, and their weights: those of noise are not 0."""
        for first in range(0, self.left_out.n, BATCH_ROWS):
            n = min(BATCH_ROWS, self.left_out.n - first)
            yield self.left_out.read(first, n), self.left_weights.read(first, n)

    def label_means(self, *, raw: bool = False) -> Float64:
        """The means of the rows of every label, where distances are measured or in the columns that are cut."""
        assert self.classes is not None
        k = len(self.classes)
        return self.means(self.grouped_sums("means", lambda rows: [(rows.labels, k)], raw=raw)[0], raw=raw)

    def grouped_sums(
        self, what: str, groups_of: Callable[[Slice], Sequence[tuple[Int32, int]]], *, raw: bool = False
    ) -> list[Sums]:
        """Exact sums of the values of groups of rows, high and low parts, and weights; for several ways to group.

        ``groups_of``: the group of each row and how many groups there are. ``raw``: of the columns that are cut.
        """
        total: list[Sums] = []
        for rows in self.slices(what):
            matrix = (rows.table if raw else rows.metric).matrix
            own = [
                core.cluster_sums(matrix, groups, n_groups, rows.weights, self._sizes(raw), float(self.total_weight))
                for groups, n_groups in groups_of(rows)
            ]
            added = (tuple(a + b for a, b in zip(*pair, strict=True)) for pair in zip(total, own, strict=True))
            total = cast("list[Sums]", list(added)) if total else own
        return total

    def moments(self, means: Float64 | None = None, *, with_noise: bool = False) -> tuple[float, Float64, Float64]:
        """The weight of the rows, and mean and variance of every column that may be cut, from exact sums.

        ``means``: where they are known.
        """
        extents, found = self.extents_with_noise if with_noise else self.extents, [] if means is None else [means]
        weight = self.total_weight + (int(self.left_weights.mapped().sum()) if with_noise else 0)
        total = float(weight)
        for what in ("means", "variances")[len(found) :]:
            with np.errstate(over="ignore"):  # nan from there on
                sizes = np.abs(np.square(extents - found[0]) if found else extents).max(axis=0)
            parts: list[Sums] = []
            own = ((rows.read(self.values), rows.weights) for rows in self.slices(what))
            for values, weights in chain(own, self.left_out_rows() if with_noise else ()):
                with np.errstate(over="ignore"):
                    apart = np.square(values - found[0]) if found else np.ascontiguousarray(values)
                one = np.zeros(len(values), dtype=np.int32)
                parts.append(core.cluster_sums(core.as_matrix(apart), one, 1, weights, sizes, total))
            high, low, of_all = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
            of_columns = core.means_of_sums(high, low, of_all, sizes, total)[0]
            found.append(np.where(np.isfinite(sizes), of_columns, np.nan))
        return total, found[0], found[1]

    def means(self, sums: Sums, *, raw: bool = False) -> Float64:
        """The means of groups; nan where one weighs nothing."""
        return core.means_of_sums(*sums, self._sizes(raw), float(self.total_weight))

    def _sizes(self, raw: bool) -> Float64:
        """The largest absolute values, shape (d,)."""
        return np.abs(self.extents).max(axis=0) if raw else self.metric_sizes

    def exact_sums(
        self, what: str, costs_of: Callable[[Slice], list[Float64]], largest: Sequence[float] = ()
    ) -> list[float]:
        """The weighted sums of some costs a row, by two passes, or one where the largest of each are known."""
        for rows in () if largest else self.slices(f"{what}, the largest"):
            own = [float(costs.max(initial=0.0)) for costs in costs_of(rows)]
            largest = [max(pair) for pair in zip(largest or own, own, strict=True)]
        scales = [Scale.of(size, float(self.total_weight)) for size in largest]
        parts = [(0, 0)] * len(scales)
        for rows in self.slices(what):
            for i, (scale, costs) in enumerate(zip(scales, costs_of(rows), strict=True)):
                high, low = scale.split(costs, rows.weights)
                parts[i] = parts[i][0] + high, parts[i][1] + low
        return [scale.total(*part) for scale, part in zip(scales, parts, strict=True)]


def _extents(x: npt.NDArray[Any]) -> Float64:
    """The least and the largest value of every column, (2, d)."""
    return np.array([x.min(axis=0), x.max(axis=0)], dtype=np.float64)


class _Labels:
    """Codes of labels, in the order in which these are met until all are known."""

    def __init__(self, column: _Column) -> None:
        self.column = column
        self._met: list[npt.NDArray[np.generic]] = []
        self._code_of: dict[Any, int] = {}

    def codes_of(self, given: Any, counts: npt.NDArray[np.bool_]) -> Int32:
        """The labels of a batch; -1 where they are noise, or do not count."""
        labels = read_labels(given[counts], int(counts.sum()), is_part=True)
        self._met.append(labels.classes)
        codes = [self._code_of.setdefault(label, len(self._code_of)) for label in labels.classes.tolist()]
        found = np.full(len(counts), -1, dtype=np.int32)
        found[counts] = np.array([*codes, -1], dtype=np.int32)[labels.codes]
        return found

    def finish(self) -> npt.NDArray[np.generic]:
        """The labels in increasing order, which their codes are in from here on."""
        classes: npt.NDArray[np.generic] = np.unique(np.concatenate(self._met))
        self.column.renamed = np.empty(len(classes), dtype=np.int32)
        for code, label in enumerate(classes.tolist()):
            self.column.renamed[self._code_of[label]] = code
        return classes


_STEPS = (
    "leave out rows with gaps (X.drop_nulls() in polars, X.dropna() in Spark and Dask), fill these, or fit a sample.",
    'take columns of numbers (X.select("age", "income") in polars and Spark, X[["age", "income"]] in Dask), or fit a '
    "sample.",
)


def _checked(batch: Any, weights: str | None) -> tuple[Table, Float64 | None]:
    """A batch as a table of numbers, and its weights."""
    own: Any = None
    if weights is not None:
        batch, own = pop_column(batch, weights, "sample_weight")
        if np.asarray(own).dtype.kind in "fiub" and not np.asarray(own).any():
            own = np.zeros(len(own))  # other batches have rows that count
        else:
            own = read_weights(own, len(own))
        if not (own == np.rint(own)).all():
            raise InvalidInputError(
                f"sample_weight={weights!r} holds fractions, and tables in batches take whole numbers: how often a row "
                "counts. Multiply them, and round."
            )
    try:
        table = read_table(batch)
    except (NotFiniteError, NotNumericError) as error:
        raise type(error)(
            f"{error}\nX comes in batches, and rows are counted within one. Tables in batches hold complete numbers, a "
            f"sample in memory may hold other columns too: {_STEPS[isinstance(error, NotNumericError)]}"
        ) from error
    return table, own


class PreparedRows:
    """Rows with their bins, labels and costs by given centers: what trees are grown from, as a provider's ``Source``.

    Labels are those of the nearest center, where the rows have none. ``coordinates``: of the centers, in the columns
    that are cut.
    """

    def __init__(self, rows: BatchedRows, centers: Float64, coordinates: Float64, objective: Objective) -> None:
        self.rows, self.centers, self.coordinates, self.objective = rows, centers, coordinates, objective
        self.kinds, self.n_clusters = rows.columns.kinds, len(centers)
        self._edges, self.begin = _plan_bins(rows.sample, coordinates)
        self.low, self.high = np.full((2, self.begin[-1]), [[math.inf], [-math.inf]])
        self._codes = _Column(rows.folder / "codes")
        self._measure("")

    def _measure(self, prefix: str) -> None:
        """Label all rows, and work out their costs in fixed point; ``prefix``: of what is kept of them."""
        self._excess, self._base = (_Column(self.rows.folder / f"{prefix}{name}") for name in ("excess", "base"))
        self._nodes = _Column(self.rows.folder / f"nodes-{self.rows.n_passes}")  # shared with no other costs
        self._nodes.renamed = np.arange(MOST_NODES, dtype=np.int32)
        self._owner: object = None  # of the nodes that rows were in
        all_rows, centers, objective = self.rows, self.centers, self.objective
        largest = largest_own = self._largest_cost = 0.0
        is_new = not self._codes.path.exists()
        for rows in all_rows.slices("nearest centers"):
            labels, own, excess, _ = objective.assign(rows.metric.matrix, centers)
            if is_new and all_rows.classes is None:
                all_rows.labels.append(labels.astype(np.min_scalar_type(len(centers))))
                all_rows.labels.renamed = np.arange(len(centers), dtype=np.int32)
            if is_new:
                self._codes.append(core.bin_codes(rows.table.matrix, self._edges, self.begin, self.low, self.high))
            largest, largest_own = float(np.maximum(largest, excess)), max(largest_own, float(own.max()))
            self._largest_cost = max(self._largest_cost, float(self._label_costs(rows)[0].max()))
        check_squares(max(largest_own, self._largest_cost) + largest, objective, self._apart)

        def kernel(*, scale: float, wide: bool, wide_base: bool) -> tuple[Int64, Int64, Int64, int]:
            sums, of_base, magnitude = np.zeros(len(centers), dtype=np.int64), 0, 0
            self._forget_costs()
            for rows in all_rows.slices("costs"):
                excess, base, own_sums, own_magnitude = core.fixed_costs(
                    rows.metric.matrix, centers, objective.name, scale, rows.weights, wide, wide_base
                )
                self._excess.append(excess)
                self._base.append(base)
                sums, of_base = sums + own_sums, of_base + int(base.sum(dtype=np.int64))
                magnitude += own_magnitude
            return np.empty(0, dtype=np.int64), np.array([of_base]), sums, magnitude

        total, is_weighted = all_rows.total_weight, all_rows.weights is not None
        costs, magnitude = fixed_costs_by(kernel, largest_own, largest, total, len(centers), is_weighted)
        if len(centers) > 1 and magnitude < ENOUGH_BITS:
            self._cap(costs.scale)

    def priced_by(self, centers: Float64) -> PreparedRows:
        """The same rows and labels with costs by other centers, for as long as none others are asked for."""
        other = copy(self)
        other.centers = centers
        other._measure("other_")
        return other

    @property
    def sample(self) -> tuple[EncodedTable, core.Matrix]:
        """What a search looks at, as a table of its own, and the same rows where distances are measured."""
        rows = self.rows
        matrix, weights = core.as_matrix(rows.sample), rows.sample_weights
        table = EncodedTable(core.encode(matrix), matrix, self.kinds, weights, copies=None, row_of=None, position=None)
        return table, matrix if rows.measured is None else rows.measured.matrix

    def _forget_costs(self) -> None:
        for column in (self._excess, self._base):
            column.path.unlink(missing_ok=True)

    def _exact(self, rows: Slice) -> Float64:
        return self.objective.costs(rows.metric.matrix, self.centers)

    def _cap(self, scale: float) -> None:
        """Cap the costs where far rows would take all digits: 8 bytes a row, for a median of all rows."""
        slices = self.rows.slices
        second = np.concatenate([second_excess(self._exact(rows)) for rows in slices("second nearest centers")])
        weights = None if self.rows.weights is None else self.rows.weights.read(0, self.rows.n_rows)
        cap = find_cap(second, scale, self.rows.total_weight, weights)
        if cap is None:
            return
        self._forget_costs()
        for rows in slices("costs, capped"):
            costs = cap.costs(self._exact(rows), rows.weights)
            self._excess.append(costs.excess)
            self._base.append(costs.base)

    @property
    def cost(self) -> float:
        """What all rows cost by the centers of their labels, by a pass."""
        return self.rows.exact_sums("cost of the clusters", self._label_costs, [self._largest_cost])[0]

    def _apart(self) -> float:
        slices = self.rows.slices("distances")
        return max(float(KMEDIANS.label_costs(s.metric.matrix, self.centers, s.labels).max()) for s in slices)

    def _label_costs(self, rows: Slice) -> list[Float64]:
        return [self.objective.label_costs(rows.metric.matrix, self.centers, rows.labels)]

    def passed(self, what: str, owner: object) -> Iterator[Rows]:
        """See :class:`cutwise.passes.provider.Source`."""
        is_known, self._owner = self._owner is owner, owner
        columns = {
            "values": self.rows.values, "codes": self._codes, "labels": self.rows.labels, "base": self._base,
            "excess": self._excess, "weights": self.rows.weights, "nodes": self._nodes,
        }  # fmt: skip
        for rows in self.rows.slices(what):
            batch = _Batch(columns, rows, {} if is_known else {"nodes": np.zeros(rows.n, dtype=np.int32)})
            yield batch
            if batch.read("nodes").max() < MOST_NODES:
                self._nodes.write(rows.first, batch.read("nodes").astype(np.uint16))
            else:
                self._owner = None  # forgotten


@dataclass(frozen=True)
class _Batch:
    """See :class:`cutwise.passes.provider.Rows`."""

    columns: dict[str, _Column | None]
    rows: Slice
    known: dict[str, Any]

    def read(self, name: str) -> Any:
        if name not in self.known:
            column = self.columns[name]
            self.known[name] = None if column is None else self.rows.read(column)
        return self.known[name]


def _plan_bins(sample: Float64, centers: Float64) -> tuple[Float64, Int64]:
    """Edges of bins, column after column, and the first bin of each: which ones there are changes no tree."""
    edges = []
    for x, center in zip(sample.T, centers.T, strict=True):
        values = np.unique(x)
        if len(values) >= MOST_BINS:
            own = np.unique(center)[: MOST_BINS // 2]
            values = np.sort(x)[np.linspace(0, len(x) - 1, MOST_BINS - len(own)).astype(int)]
            values = np.unique(np.concatenate([values[:-1], own]))
        edges.append(values[: MOST_BINS - 1])
    return np.concatenate(edges), np.cumsum([0, *(len(own) + 1 for own in edges)]).astype(np.int64)
