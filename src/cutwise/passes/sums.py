"""Sums over batches that equal sums over the same rows in memory: integers, so that no order matters."""

from __future__ import annotations

import math
import operator
import pickle
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import metadata
from queue import SimpleQueue
from typing import Any, TypeVar
from zlib import compress, decompress

import numpy as np
import numpy.typing as npt

from cutwise.core import Float64, Int32, Int64
from cutwise.exceptions import CutwiseError, UnsupportedInputError
from cutwise.table.table import SearchedColumns

# Reading it takes 2 ms, and every worker of every pass asks for it.
version = cache(metadata.version)

TERM_BITS = 61

MOST_BINS = 256

_MERGED = 1 << 14
"""Parts whose sums are merged at a time."""


@dataclass(frozen=True)
class Scale:
    """Units of an exact sum in two integers, as in ``core.exact_sum``.

    ``scale``: units of the high part per 1.0. ``unit``: units of the low part per unit of the high part.
    """

    scale: float
    unit: float

    @classmethod
    def of(cls, largest: float, total_weight: float) -> Scale:
        """Units for terms of at most ``largest``, with weights that add up to ``total_weight``."""
        bits = min(TERM_BITS - max(0, math.ceil(math.log2(total_weight))) if total_weight > 1 else TERM_BITS, 50)
        exponent = math.frexp(largest)[1]
        return cls(math.ldexp(1.0, min(bits - exponent, 1023)) if largest > 0.0 else 1.0, math.ldexp(1.0, bits))

    def split(self, terms: Float64, times: Int64 | None = None) -> tuple[int, int]:
        """High and low part of the sum of terms, each repeated ``times``."""
        scaled = terms * self.scale
        high = np.rint(scaled)
        low = np.rint((scaled - high) * self.unit).astype(np.int64)
        whole = high.astype(np.int64)
        return (int(whole.sum()), int(low.sum())) if times is None else (int(times @ whole), int(times @ low))

    def total(self, high: int, low: int) -> float:
        """Sum as a float, from its parts."""
        return (float(high) + float(low) / self.unit) / self.scale


def place_of(values: Float64) -> npt.NDArray[np.uint64]:
    """Positions of numbers in the order of all float64 values."""
    bits = np.ascontiguousarray(values).view(np.int64)
    return np.where(bits >= 0, bits, -(bits & np.iinfo(np.int64).max)).view(np.uint64) ^ np.uint64(1 << 63)


def value_at(place: npt.NDArray[np.uint64]) -> Float64:
    """The inverse of ``place_of``; -0.0 is 0.0."""
    signed = (place ^ np.uint64(1 << 63)).view(np.int64)
    return np.where(signed >= 0, signed, -signed | np.iinfo(np.int64).min).view(np.float64)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of the D searched columns, derived from the bins of the d table columns, which rows are coded in.

    ``coded_begin`` (d + 1,), ``begin`` (D + 1,): first bin of each table column and of each searched column. ``own``
    (n_bins,): the table bin that each bin equals or, where ``is_rest``, all other bins of that table column. A column
    for a level of a category has two bins, the second with that level alone.
    """

    searched: SearchedColumns | None
    coded_begin: Int64
    begin: Int64
    own: Int64
    is_rest: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, coded_begin: Int64, searched: SearchedColumns | None) -> Bins:
        """Derive bins from those of the table's columns."""
        if searched is None:
            return cls(None, coded_begin, coded_begin, np.arange(coded_begin[-1]), np.zeros(coded_begin[-1], np.bool_))
        own, rest = list[Int64](), list[bool]()
        for j, level, missing in zip(searched.source, searched.level, searched.missing, strict=True):
            bins = np.arange(coded_begin[j], coded_begin[j + 1])
            own.append(bins[[level, level]] if level >= 0 else np.roll(bins, 1) if missing < 0 else bins)
            rest += [level >= 0 and i == 0 for i in range(len(own[-1]))]
        return cls(searched, coded_begin, np.cumsum([0, *map(len, own)]), np.concatenate(own), np.array(rest))

    def ends(self, low: Float64, high: Float64) -> tuple[Float64, Float64]:
        """Least and largest value of every bin, from those of the table's bins."""
        low, high = low[self.own], high[self.own]
        if self.searched is not None:
            first = self.begin[:-1]
            levels, below = first[self.searched.level >= 0], first[self.searched.missing < 0]
            low[levels] = high[levels] = 0.0
            low[levels + 1] = high[levels + 1] = 1.0
            low[below] = high[below] = -math.inf
        return low, high

    def sums(self, coded: Int64) -> Int64:
        """Sums by bin, (m, n_bins, w), from the sums by the table's bins."""
        if self.searched is None:
            return coded
        found: Int64 = coded[:, self.own]
        totals = coded[:, : self.coded_begin[1]].sum(axis=1, keepdims=True)
        found[:, self.is_rest] = totals - found[:, self.is_rest]
        return found

    def codes(self, coded: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Codes of rows in the searched columns, (n, D), from their codes in the table's columns."""
        if self.searched is None:
            return coded
        found = np.empty((len(coded), self.searched.n_columns), dtype=np.uint8)
        for j, source in enumerate(self.searched.source.tolist()):
            own = self.own[self.begin[j] : self.begin[j + 1]] - self.coded_begin[source]
            place = np.zeros(256, dtype=np.uint8)
            place[own] = np.arange(len(own))
            found[:, j] = place[coded[:, source]]
        return found


def plan_bins(sample: Float64, centers: Float64, searched: SearchedColumns | None) -> tuple[Float64, Int64]:
    """Edges of bins, column after column, and the first bin of each column; the tree does not depend on them.

    Every level of a category has a bin of its own, and so have missing values.
    """
    edges = []
    for j, x in enumerate(sample.T):
        column = j if searched is None else int(searched.of(j)[0])
        if searched is not None and searched.level[column] >= 0:
            edges.append(np.arange(max(searched.kinds[j].n_levels, 1) - 1.0))
            continue
        has_gaps = searched is not None and bool(searched.missing[column])
        most, x, center = MOST_BINS - has_gaps, x[~np.isnan(x)], centers[:, column]
        values = np.unique(x)
        if len(values) >= most:
            own = np.unique(center[np.isfinite(center)])[: most // 2]
            values = np.sort(x)[np.linspace(0, len(x) - 1, most - len(own)).astype(int)]
            values = np.unique(np.concatenate([values[:-1], own]))
        edges.append(np.append(values[: most - 1], [np.finfo(np.float64).max] * has_gaps))
    return np.concatenate(edges), np.cumsum([0, *(len(own) + 1 for own in edges)]).astype(np.int64)


@dataclass(eq=False)
class Opened:
    """Sums by part of ranges: number of the range, number of the part, least and largest value, sums."""

    which: Int32
    part: npt.NDArray[np.uint64]
    low: Float64
    high: Float64
    sums: Int64

    @classmethod
    def merged(cls, found: Sequence[Opened]) -> Opened:
        """Sort all parts by range and number, and merge equal ones."""
        which, part, low, high, added = (
            np.concatenate([getattr(own, name) for own in found]) for name in ("which", "part", "low", "high", "sums")
        )
        if not len(which):
            return found[0]
        order = np.lexsort((part, which))
        which, part = which[order], part[order]
        first = np.flatnonzero(np.append(True, (which[1:] != which[:-1]) | (part[1:] != part[:-1])))
        sums = np.empty((len(first), added.shape[1]), dtype=np.int64)
        for i in range(0, len(first), _MERGED):  # in blocks, to save memory
            own = first[i : i + _MERGED]
            end = first[i + _MERGED] if i + _MERGED < len(first) else len(order)
            sums[i : i + _MERGED] = np.add.reduceat(added[order[own[0] : end]], own - own[0], axis=0)
        ends = np.minimum.reduceat(low[order], first), np.maximum.reduceat(high[order], first)
        return cls(which[first], part[first], *ends, sums)


class Tallies:
    """Accumulates parts of ranges over batches."""

    def __init__(self) -> None:
        self._found: list[Opened] = []

    def add(self, opened: Opened, most: int) -> None:
        """Add parts; merge all when there are more than ``most``."""
        self._found.append(opened)
        if sum(len(own.low) for own in self._found) > most:
            self._found = [Opened.merged(self._found)]

    def merge(self, other: Tallies) -> Tallies:
        """Add the parts of another."""
        self._found += other._found
        self._found = [Opened.merged(self._found)] if self._found else []
        return self

    def merged(self) -> Opened:
        """All parts, merged."""
        return Opened.merged(self._found)


class Smallest:
    """The distinct rows with the smallest keys, and their weights; a key is a function of a row's values.

    ``size``: number of rows.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: list[tuple[npt.NDArray[Any], ...]] = []  # the first one merged, in order
        self._n_waiting = 0

    def add(
        self, keys: npt.NDArray[Any], hashes: npt.NDArray[np.uint64], values: npt.NDArray[Any], weights: Int64
    ) -> None:
        """Add rows."""
        # Equal rows have equal keys, so no copy of a row that is among the smallest in the end was dropped before.
        if self._parts and len(self._parts[0][0]) == self.size:
            drawn = keys <= self._parts[0][0][-1]
            keys, hashes, values, weights = keys[drawn], hashes[drawn], values[drawn], weights[drawn]
        # turns -0.0 into 0.0, so that equal rows have equal bits
        self._parts.append((keys, hashes, values + values.dtype.type(0), weights))
        self._n_waiting += len(keys)
        if self._n_waiting > self.size // 2:
            self.merged()

    def merge(self, other: Smallest) -> Smallest:
        """Add the rows of another."""
        self.size = max(self.size, other.size)
        self._parts, self._n_waiting = self._parts + other._parts, self.size
        if self._parts:
            self.merged()
        return self

    def merged(self) -> tuple[npt.NDArray[Any], ...]:
        """Keys, hashes and values of these rows, in the order of their keys, and weights of the rows equal to each."""
        if len(self._parts) > 1 or self._n_waiting:
            keys, hashes, values, weights = (np.concatenate(each) for each in zip(*self._parts, strict=True))
            _, chosen, group = np.unique(hashes, return_index=True, return_inverse=True)
            total = np.bincount(group.ravel(), weights).astype(np.int64)
            order = np.argsort(keys[chosen], kind="stable")[: self.size]
            chosen = chosen[order]
            self._parts, self._n_waiting = [(keys[chosen], hashes[chosen], values[chosen], total[order])], 0
        return self._parts[0]


@dataclass(eq=False)
class Total:
    """Arrays accumulated over rows, none at first. ``of``: combines the arrays of two parts."""

    of: Callable[[Any, Any], Any] = operator.add
    values: list[Any] = field(default_factory=list)

    def update(self, values: Iterable[Any]) -> None:
        """Combine with the arrays of further rows."""
        self.values = list(map(self.of, self.values, values)) if self.values else list(values)

    def merge(self, other: Total) -> Total:
        """Combine with another total."""
        if other.values:
            self.update(other.values)
        return self


def least_row(costs: Float64, values: Any) -> tuple[float, list[float]]:
    """Least cost and its row, the lexicographically smallest of equals; the least over parts is that of all rows."""
    found: Any = values[costs == costs.min()]
    found = found if isinstance(found, np.ndarray) else found.toarray()
    found = found.astype(np.float64) + 0.0  # turns -0.0 into 0.0
    return float(costs.min()), found[np.lexsort(found.T[::-1])[0]].tolist()


def nearer(gaps: Float64, others: Float64) -> Float64:
    """Intersect gaps, (..., 2 m), given by their lower and upper ends in turn."""
    gaps = gaps.copy()
    gaps[..., 0::2] = np.maximum(gaps[..., 0::2], others[..., 0::2])
    gaps[..., 1::2] = np.minimum(gaps[..., 1::2], others[..., 1::2])
    return gaps


class Gathered(list[Any]):
    """Items of all rows, in any order."""

    def merge(self, other: Gathered) -> Gathered:
        """Append the items of another."""
        self += other
        return self


def merged(sums: Any, others: Any) -> Any:
    """Merge the sums of two parts of the rows: arrays are added up, other objects have ``merge``."""
    if isinstance(sums, CutwiseError) or isinstance(others, CutwiseError):
        return sums if isinstance(sums, CutwiseError) else others
    if isinstance(sums, np.ndarray):
        sums += others
        return sums
    if isinstance(sums, set):
        return sums | others
    if isinstance(sums, tuple) or type(sums) is list:
        return type(sums)(map(merged, sums, others))
    return sums.merge(others)


def total_by(engine: Callable[..., Any], sums: T, add: Callable[[T, Any], object], read: Callable[[Any], Any]) -> T:
    """Sums over all rows, added up by an engine's workers.

    ``sums``: before the first row. ``read`` converts a batch, ``add`` adds the result. All are sent to the workers.
    """
    start = compress(pickle.dumps(sums), 1)  # zeros, for the most part
    found: T | CutwiseError = engine(partial(_of_part, version("cutwise"), start, add, read), merged)
    if isinstance(found, CutwiseError):
        raise found
    return found


def _of_part(
    release: str, start: bytes, add: Callable[[T, Any], object], read: Callable[[Any], Any], batches: Iterable[Any]
) -> T | CutwiseError:
    """Sums of one worker's rows, or the error that they raise."""
    if release != version("cutwise"):
        return UnsupportedInputError(
            f"A worker has cutwise {version('cutwise')}, and {release} is here. Install the same release there."
        )
    sums: T = pickle.loads(decompress(start))
    try:
        for batch in batches:
            add(sums, read(batch))
    except CutwiseError as error:
        return error
    return sums


T = TypeVar("T")


def run_together(
    calls: Sequence[Callable[[], T]], serve: Callable[[list[Any]], list[Any]], clients: dict[int, Callable[[Any], Any]]
) -> list[T]:
    """Run functions that request passes in parallel, so that one pass serves all waiting ones; return their results.

    ``serve``: answers several requests, in this thread. ``clients``: by thread, a function that sends a request. If
    several functions fail, the first one's error is raised. No answer depends on which requests are served together.
    """
    questions: SimpleQueue[tuple[int, bool, Any]] = SimpleQueue()
    replies: list[SimpleQueue[Any]] = [SimpleQueue() for _ in calls]

    def ask(i: int, question: Any) -> Any:
        questions.put((i, False, question))
        answer = replies[i].get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def run(i: int, call: Callable[[], T]) -> T:
        clients[threading.get_ident()] = partial(ask, i)
        try:
            return call()
        finally:
            del clients[threading.get_ident()]
            questions.put((i, True, None))

    running, waiting = set(range(len(calls))), dict[int, Any]()
    with ThreadPoolExecutor(len(calls)) as pool:
        try:
            found = [pool.submit(copy_context().run, run, i, call) for i, call in enumerate(calls)]
            while running:
                while len(waiting) < len(running):
                    i, is_done, question = questions.get()
                    if is_done:
                        running.remove(i)
                    else:
                        waiting[i] = question
                answers = serve([waiting[i] for i in sorted(waiting)]) if waiting else []
                for i, answer in zip(sorted(waiting), answers, strict=True):
                    replies[i].put(answer)
                waiting = {}
        except BaseException as error:  # a pass failed or was interrupted: release all waiting threads
            for i in running:
                replies[i].put(error)
            raise
    return [each.result() for each in found]
