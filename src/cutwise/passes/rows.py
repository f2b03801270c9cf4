"""The rows of a fit that are not in memory: read once from their engine, then from a temporary folder, in batches."""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise._progress import tell
from cutwise.exceptions import InvalidInputError, NotFiniteError, NotNumericError
from cutwise.reference.objective import ENOUGH_BITS, Objective, find_cap, fixed_costs_by, second_excess
from cutwise.table.intake import read_table, read_weights
from cutwise.table.labels import read_labels
from cutwise.table.table import Columns, EncodedTable, Table
from cutwise.tree.refine_sample import sample_sizes

from .provider import Rows
from .sources import BATCH_ROWS, LazyTable, pop_column
from .sums import Scale

Int32 = npt.NDArray[np.int32]

Int64 = npt.NDArray[np.int64]

Float64 = npt.NDArray[np.float64]

Sums = tuple[Int64, Int64, Int64]

MAX_WEIGHT = 2**31
"""What whole weights add up to at most; it leaves 30 bits for the cost of a row."""

MOST_BINS = 256

MOST_NODES = 1 << 16
"""Nodes in which rows are remembered to be."""


class Copies:
    """A folder with a copy of the rows as plain numbers, gone with the fit.

    Folders of processes that were killed are removed by the next.
    """

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        for old in parent.glob("cutwise-*-rows-*"):
            owner = re.match(r"cutwise-(\d+)-", old.name)
            if owner and not _is_running(int(owner[1])):
                shutil.rmtree(old, ignore_errors=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"cutwise-{os.getpid()}-rows-"))

    def __enter__(self) -> Path:
        return self.folder

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


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
        items = math.prod(self.width)
        with self.path.open("rb") as file:
            file.seek(first * items * self.dtype.itemsize)
            values = np.fromfile(file, self.dtype, n * items)
        values = values if self.renamed is None else self.renamed[values]
        return values.reshape(n, *self.width)

    def mapped(self, n: int) -> npt.NDArray[Any]:
        """All of it, as pages that the system reads and drops as it likes."""
        return np.memmap(self.path, self.dtype, "r", shape=(n, *self.width))


@dataclass(eq=False)
class BatchedRows:
    """The n rows of positive weight of a fit.

    ``values``, ``weights``: where they lie. ``left_out``, ``is_noise``: rows without weight, and those that are noise.
    ``columns``: of the table, ``library``: of its batches. ``total_weight``:
    of all rows. ``labels``, ``classes``: codes, and what they stand for where a column of labels was given.
    ``extents`` (2, d): the least and the largest values. ``sample``, ``sample_weights``: the distinct rows of the
    smallest hashes of what they hold, in that order, and what they weigh: by these bins are planned, and better trees
    are searched. ``n_passes``: how often rows were gone over.
    """

    folder: Path
    columns: Columns
    library: str | None
    n_rows: int
    values: _Column
    left_out: _Column
    is_noise: _Column
    weights: _Column | None
    labels: _Column
    classes: npt.NDArray[np.generic] | None
    total_weight: int
    extents: Float64
    sample: Float64
    sample_weights: Int64
    say: Callable[[str], None]
    n_passes: int = 1

    @classmethod
    def read(
        cls,
        lazy: LazyTable,
        folder: Path,
        weights: str | None,
        say: Callable[[str], None],
        y: str | None = None,
        n_clusters: int = 1,
    ) -> BatchedRows:
        """Copy the rows of a source; errors as of tables in memory. ``weights``, ``y``: columns of it."""
        values, weight, left_out, is_noise = (
            _Column(folder / name) for name in ("values", "weights", "left_out", "is_noise")
        )
        labels = _Labels(_Column(folder / "labels"))
        first: Table | None = None
        n_rows = total = 0
        extents, is_one = np.zeros((2, 0)), True
        sample = _Sample(n_clusters)
        for batch in lazy.batches():
            tell(f"reading the table: {n_rows:,} rows")
            given: Any = None
            if y is not None:
                batch, given = pop_column(batch, y, "y")
            table, own = _checked(batch, weights)
            if first is None:
                first, extents = table, np.outer([np.inf, -np.inf], np.ones(table.n_columns))
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
                is_noise.append(counts[~taken] > 0)
                x, counts = x[taken], counts[taken]
            if not len(x):
                continue
            extents = np.array([np.minimum(extents[0], x.min(axis=0)), np.maximum(extents[1], x.max(axis=0))])
            x = np.ascontiguousarray(x)
            values.append(x)
            if own is not None:
                weight.append(counts)
                is_one = is_one and bool((counts == 1).all())
            total += int(counts.sum())
            n_rows += len(x)
            sample.add(x, counts)
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
            folder,
            first.columns,
            first.library,
            n_rows,
            values,
            left_out,
            is_noise,
            None if weights is None or is_one else weight,
            labels.column,
            labels.finish() if y is not None else None,
            total,
            extents,
            *sample.finish(),
            say,
        )

    @property
    def column_sizes(self) -> Float64:
        """The largest absolute values, shape (d,)."""
        return np.asarray(np.abs(self.extents).max(axis=0))

    def slices(self, what: str) -> Iterator[tuple[int, int]]:
        """Where batches start, and how many rows they have, of one pass."""
        self.n_passes += 1
        start, name = time.perf_counter(), f"pass {self.n_passes}, {what}"
        for first in range(0, self.n_rows, BATCH_ROWS):
            tell(f"{name}: {first:,} of {self.n_rows:,} rows")
            yield first, min(BATCH_ROWS, self.n_rows - first)
        self.say(f"{name}: {self.n_rows:,} rows, {time.perf_counter() - start:.2f} s")

    def left_out_rows(self) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]]:
        """The rows that take no part, batch by batch, and which of them are noise."""
        for first in range(0, self.left_out.n, BATCH_ROWS):
            n = min(BATCH_ROWS, self.left_out.n - first)
            yield self.left_out.read(first, n), self.is_noise.read(first, n)

    def table(self, first: int, n: int) -> Table:
        """Some rows."""
        return Table(self.values.read(first, n), self.columns.names, self.columns.has_names, self.columns.kinds)

    def weight(self, first: int, n: int) -> Int64 | None:
        """The weights of some rows."""
        return None if self.weights is None else self.weights.read(first, n)

    def whole(self) -> tuple[Table, Float64 | None]:
        """All rows where they lie, and their weights, for what goes over them in its own way."""
        table = Table(self.values.mapped(self.n_rows), self.columns.names, self.columns.has_names, self.columns.kinds)
        return table, None if self.weights is None else np.array(self.weights.mapped(self.n_rows), dtype=np.float64)

    def label_means(self) -> Float64:
        """The means of the rows of every label."""
        assert self.classes is not None
        k = len(self.classes)
        return self.means(
            self.grouped_sums("means", lambda rows, first: [(self.labels.read(first, rows.n_rows), k)])[0]
        )

    def grouped_sums(self, what: str, groups_of: Callable[[Table, int], Sequence[tuple[Int32, int]]]) -> list[Sums]:
        """Exact sums of the values of groups of rows, high and low parts, and weights; for several ways to group.

        ``groups_of``: takes rows and the number of the first; gives the group of each and how many groups there are.
        """
        total: list[Sums] = []
        for first, n in self.slices(what):
            rows, weights = self.table(first, n), self.weight(first, n)
            own = [
                core.cluster_sums(rows.matrix, groups, n_groups, weights, self.column_sizes, float(self.total_weight))
                for groups, n_groups in groups_of(rows, first)
            ]
            added = (tuple(a + b for a, b in zip(*pair, strict=True)) for pair in zip(total, own, strict=True))
            total = cast("list[Sums]", list(added)) if total else own
        return total

    def means(self, sums: Sums) -> Float64:
        """The means of groups; nan where one weighs nothing."""
        return core.means_of_sums(*sums, self.column_sizes, float(self.total_weight))

    def exact_sums(
        self, what: str, costs_of: Callable[[Table, int], list[Float64]], largest: Sequence[float] = ()
    ) -> list[float]:
        """The weighted sums of some costs a row, by two passes, or one where the largest of each are known.

        ``costs_of``: takes rows and the number of the first.
        """
        for first, n in () if largest else self.slices(f"{what}, the largest"):
            own = [float(costs.max(initial=0.0)) for costs in costs_of(self.table(first, n), first)]
            largest = [max(pair) for pair in zip(largest or own, own, strict=True)]
        scales = [Scale.of(size, float(self.total_weight)) for size in largest]
        parts = [(0, 0)] * len(scales)
        for first, n in self.slices(what):
            weights = self.weight(first, n)
            for i, (scale, costs) in enumerate(zip(scales, costs_of(self.table(first, n), first), strict=True)):
                high, low = scale.split(costs, weights)
                parts[i] = parts[i][0] + high, parts[i][1] + low
        return [scale.total(*part) for scale, part in zip(scales, parts, strict=True)]


class _Sample:
    """The distinct rows of the smallest hashes, and what they weigh, from batches."""

    def __init__(self, n_clusters: int) -> None:
        self._n_clusters, self._size = n_clusters, 0
        self._parts: list[tuple[npt.NDArray[np.uint64], Float64, Int64]] = []  # the first one merged, in order
        self._n_waiting = 0

    def add(self, x: npt.NDArray[Any], counts: Int64) -> None:
        """See a batch."""
        self._size = sample_sizes(self._n_clusters, x.shape[1])[1] + 1  # one more says that these are not all
        # Equal rows have equal hashes: those that are among the smallest in the end were so all along.
        hashes = core.row_hashes(core.as_matrix(x), 1)
        if self._parts and len(self._parts[0][0]) == self._size:
            drawn = hashes <= self._parts[0][0][-1]
            hashes, x, counts = hashes[drawn], x[drawn], counts[drawn]
        self._parts.append((hashes, x.astype(np.float64), counts))
        self._n_waiting += len(hashes)
        if self._n_waiting > self._size // 2:
            self.finish()

    def finish(self) -> tuple[Float64, Int64]:
        """The rows, in order of their hashes, and their weights."""
        hashes, x, counts = (np.concatenate(each) for each in zip(*self._parts, strict=True))
        hashes, chosen, group = np.unique(hashes, return_index=True, return_inverse=True)
        weights = np.bincount(group.ravel(), counts).astype(np.int64)[: self._size]
        self._parts, self._n_waiting = [(hashes[: self._size], x[chosen[: self._size]], weights)], 0
        return self._parts[0][1:]


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
            f"{error}\nX comes in batches, and rows are counted within one. Tables in batches hold complete numbers; "
            "a sample in memory may hold other columns too."
        ) from error
    return table, own


class PreparedRows:
    """Rows with their bins, labels and costs by given centers: what trees are grown from, as a provider's ``Source``.

    Labels are those of the nearest center, where the rows have none.
    """

    def __init__(self, rows: BatchedRows, centers: Float64, objective: Objective) -> None:
        self.rows, self.centers, self.objective = rows, centers, objective
        self.kinds, self.n_clusters = rows.columns.kinds, len(centers)
        self._edges, self.begin = _plan_bins(rows.sample, centers)
        self.low, self.high = np.full((2, self.begin[-1]), [[math.inf], [-math.inf]])
        self._codes = _Column(rows.folder / "codes")
        self._measure("")

    def _measure(self, prefix: str) -> None:
        """Label all rows, and work out their costs in fixed point; ``prefix``: of what is kept of them."""
        self._excess, self._base = (_Column(self.rows.folder / f"{prefix}{name}") for name in ("excess", "base"))
        self._nodes = _Column(self.rows.folder / f"nodes-{self.rows.n_passes}")  # shared with no other costs
        self._nodes.renamed = np.arange(MOST_NODES, dtype=np.int32)
        self._owner: object = None  # of the nodes that rows were in
        rows, centers, objective = self.rows, self.centers, self.objective
        largest = largest_own = self._largest_cost = 0.0
        is_new = not self._codes.path.exists()
        for first, n in rows.slices("nearest centers"):
            table = rows.table(first, n)
            matrix = table.matrix
            labels, own, excess, _ = objective.assign(matrix, centers)
            if is_new and rows.classes is None:
                rows.labels.append(labels.astype(np.min_scalar_type(len(centers))))
                rows.labels.renamed = np.arange(len(centers), dtype=np.int32)
            if is_new:
                self._codes.append(core.bin_codes(matrix, self._edges, self.begin, self.low, self.high))
            largest, largest_own = float(np.maximum(largest, excess)), max(largest_own, float(own.max()))
            self._largest_cost = max(self._largest_cost, float(self._label_costs(table, first)[0].max()))

        def kernel(*, scale: float, wide: bool, wide_base: bool) -> tuple[Int64, Int64, Int64, int]:
            sums, of_base, magnitude = np.zeros(len(centers), dtype=np.int64), 0, 0
            self._forget_costs()
            for first, n in rows.slices("costs"):
                matrix = rows.table(first, n).matrix
                excess, base, own_sums, own_magnitude = core.fixed_costs(
                    matrix, centers, objective.name, scale, rows.weight(first, n), wide, wide_base
                )
                self._excess.append(excess)
                self._base.append(base)
                sums, of_base = sums + own_sums, of_base + int(base.sum(dtype=np.int64))
                magnitude += own_magnitude
            return np.empty(0, dtype=np.int64), np.array([of_base]), sums, magnitude

        total, is_weighted = rows.total_weight, rows.weights is not None
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
    def sample(self) -> EncodedTable:
        """What a search looks at, as a table of its own."""
        matrix, weights = core.as_matrix(self.rows.sample), self.rows.sample_weights
        return EncodedTable(core.encode(matrix), matrix, self.kinds, weights, copies=None, row_of=None, position=None)

    def _forget_costs(self) -> None:
        for column in (self._excess, self._base):
            column.path.unlink(missing_ok=True)

    def _exact(self, first: int, n: int) -> Float64:
        return self.objective.costs(self.rows.table(first, n).matrix, self.centers)

    def _cap(self, scale: float) -> None:
        """Cap the costs where far rows would take all digits: 8 bytes a row, for a median of all rows."""
        rows = self.rows
        second = np.concatenate([second_excess(self._exact(*batch)) for batch in rows.slices("second nearest centers")])
        weights = None if rows.weights is None else rows.weights.read(0, rows.n_rows)
        cap = find_cap(second, scale, rows.total_weight, weights)
        if cap is None:
            return
        self._forget_costs()
        for first, n in rows.slices("costs, capped"):
            costs = cap.costs(self._exact(first, n), rows.weight(first, n))
            self._excess.append(costs.excess)
            self._base.append(costs.base)

    @property
    def cost(self) -> float:
        """What all rows cost by the centers of their labels, by a pass."""
        return self.rows.exact_sums("cost of the clusters", self._label_costs, [self._largest_cost])[0]

    def _label_costs(self, table: Table, first: int) -> list[Float64]:
        labels = self.rows.labels.read(first, table.n_rows)
        return [self.objective.label_costs(table.matrix, self.centers, labels)]

    def passed(self, what: str, owner: object) -> Iterator[Rows]:
        """See :class:`cutwise.passes.provider.Source`."""
        rows, is_known, self._owner = self.rows, self._owner is owner, owner
        columns = {
            "values": rows.values, "codes": self._codes, "labels": rows.labels, "base": self._base,
            "excess": self._excess, "weights": rows.weights, "nodes": self._nodes,
        }  # fmt: skip
        for first, n in rows.slices(what):
            batch = _Batch(columns, first, n, {} if is_known else {"nodes": np.zeros(n, dtype=np.int32)})
            yield batch
            if batch.read("nodes").max() < MOST_NODES:
                self._nodes.write(first, batch.read("nodes").astype(np.uint16))
            else:
                self._owner = None  # forgotten


@dataclass(frozen=True)
class _Batch:
    """See :class:`cutwise.passes.provider.Rows`."""

    columns: dict[str, _Column | None]
    first: int
    n: int
    known: dict[str, Any]

    def read(self, name: str) -> Any:
        if name not in self.known:
            column = self.columns[name]
            self.known[name] = None if column is None else column.read(self.first, self.n)
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
