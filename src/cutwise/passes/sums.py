"""Sums over all batches that equal those over the same rows in memory: of integers, whose order does not matter."""

from __future__ import annotations

import math
import operator
import pickle
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from queue import SimpleQueue
from typing import Any, TypeVar
from zlib import compress, decompress

import numpy as np
import numpy.typing as npt

from cutwise.core import Float64, Int32, Int64
from cutwise.exceptions import CutwiseError, UnsupportedInputError
from cutwise.table.table import SearchedColumns

TERM_BITS = 61

MOST_BINS = 256

_MERGED = 1 << 14
"""Parts whose sums are put together at a time."""


@dataclass(frozen=True)
class Scale:
    """Units of an exact sum, as ``core.exact_sum`` takes them from its largest term and the weight of all.

    ``scale``: units of the high part to one. ``unit``: units of the low part to one of the high.
    """

    scale: float
    unit: float

    @classmethod
    def of(cls, largest: float, total_weight: float) -> Scale:
        """For terms of at most this size, repeated so often in all."""
        bits = min(TERM_BITS - max(0, math.ceil(math.log2(total_weight))) if total_weight > 1 else TERM_BITS, 50)
        exponent = math.frexp(largest)[1]
        return cls(math.ldexp(1.0, min(bits - exponent, 1023)) if largest > 0.0 else 1.0, math.ldexp(1.0, bits))

    def split(self, terms: Float64, times: Int64 | None = None) -> tuple[int, int]:
        """High and low parts of the sum of some terms."""
        scaled = terms * self.scale
        high = np.rint(scaled)
        low = np.rint((scaled - high) * self.unit).astype(np.int64)
        whole = high.astype(np.int64)
        return (int(whole.sum()), int(low.sum())) if times is None else (int(times @ whole), int(times @ low))

    def total(self, high: int, low: int) -> float:
        """The sum."""
        return (float(high) + float(low) / self.unit) / self.scale


def place_of(values: Float64) -> npt.NDArray[np.uint64]:
    """Where numbers stand in the order of all float64."""
    bits = np.ascontiguousarray(values).view(np.int64)
    return np.where(bits >= 0, bits, -(bits & np.iinfo(np.int64).max)).view(np.uint64) ^ np.uint64(1 << 63)


def value_at(place: npt.NDArray[np.uint64]) -> Float64:
    """The inverse of ``place_of``; -0.0 is 0.0."""
    signed = (place ^ np.uint64(1 << 63)).view(np.int64)
    return np.where(signed >= 0, signed, -signed | np.iinfo(np.int64).min).view(np.float64)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of the columns that are searched, by those of the table's columns, which rows have codes of.

    ``coded_begin`` (d + 1,), ``begin`` (D + 1,): the first bin of each column. ``own`` (n_bins,): which of the table's
    each is; where ``is_rest``, all others of that column. A level of a category is alone in the second of two bins.
    """

    searched: SearchedColumns | None
    coded_begin: Int64
    begin: Int64
    own: Int64
    is_rest: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, coded_begin: Int64, searched: SearchedColumns | None) -> Bins:
        """From those of the table's columns."""
        if searched is None:
            return cls(None, coded_begin, coded_begin, np.arange(coded_begin[-1]), np.zeros(coded_begin[-1], np.bool_))
        own, rest = list[Int64](), list[bool]()
        for j, level, missing in zip(searched.source, searched.level, searched.missing, strict=True):
            bins = np.arange(coded_begin[j], coded_begin[j + 1])
            own.append(bins[[level, level]] if level >= 0 else np.roll(bins, 1) if missing < 0 else bins)
            rest += [level >= 0 and i == 0 for i in range(len(own[-1]))]
        return cls(searched, coded_begin, np.cumsum([0, *map(len, own)]), np.concatenate(own), np.array(rest))

    def ends(self, low: Float64, high: Float64) -> tuple[Float64, Float64]:
        """The least and the largest value of every bin, from those of the table's columns."""
        low, high = low[self.own], high[self.own]
        if self.searched is not None:
            first = self.begin[:-1]
            levels, below = first[self.searched.level >= 0], first[self.searched.missing < 0]
            low[levels] = high[levels] = 0.0
            low[levels + 1] = high[levels + 1] = 1.0
            low[below] = high[below] = -math.inf
        return low, high

    def sums(self, coded: Int64) -> Int64:
        """The sums of every bin, (m, n_bins, w), from those of the table's columns."""
        if self.searched is None:
            return coded
        found: Int64 = coded[:, self.own]
        totals = coded[:, : self.coded_begin[1]].sum(axis=1, keepdims=True)
        found[:, self.is_rest] = totals - found[:, self.is_rest]
        return found

    def codes(self, coded: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """The bin of every value in the columns that are searched, (n, D)."""
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
    """Edges of bins, column after column, and the first bin of each: which ones there are changes no tree.

    A level of a category has one, and so have missing values.
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
    """What ranges hold, by part: number of the range, number of the part, its ends, its sums; in this order."""

    which: Int32
    part: npt.NDArray[np.uint64]
    low: Float64
    high: Float64
    sums: Int64

    @classmethod
    def merged(cls, found: Sequence[Opened]) -> Opened:
        """The same parts as one."""
        which, part, low, high, added = (
            np.concatenate([getattr(own, name) for own in found]) for name in ("which", "part", "low", "high", "sums")
        )
        if not len(which):
            return found[0]
        order = np.lexsort((part, which))
        which, part = which[order], part[order]
        first = np.flatnonzero(np.append(True, (which[1:] != which[:-1]) | (part[1:] != part[:-1])))
        sums = np.empty((len(first), added.shape[1]), dtype=np.int64)
        for i in range(0, len(first), _MERGED):  # all at once would be in memory several times
            own = first[i : i + _MERGED]
            end = first[i + _MERGED] if i + _MERGED < len(first) else len(order)
            sums[i : i + _MERGED] = np.add.reduceat(added[order[own[0] : end]], own - own[0], axis=0)
        ends = np.minimum.reduceat(low[order], first), np.maximum.reduceat(high[order], first)
        return cls(which[first], part[first], *ends, sums)


class Tallies:
    """What ranges hold, from batches."""

    def __init__(self) -> None:
        self._found: list[Opened] = []

    def add(self, opened: Opened, most: int) -> None:
        """Further parts; those at hand are put together where they are more than ``most``."""
        self._found.append(opened)
        if sum(len(own.low) for own in self._found) > most:
            self._found = [Opened.merged(self._found)]

    def merge(self, other: Tallies) -> Tallies:
        """Those of both."""
        self._found += other._found
        self._found = [Opened.merged(self._found)] if self._found else []
        return self

    def merged(self) -> Opened:
        """All of them."""
        return Opened.merged(self._found)


class Smallest:
    """Distinct rows of the smallest keys, and what they weigh; a key follows from what a row holds.

    ``size``: how many. ``hashes``, ``values``, ``weights``: of these rows, in the order of their keys.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: list[tuple[npt.NDArray[Any], ...]] = []  # the first one merged, in order
        self._n_waiting = 0

    def add(
        self, keys: npt.NDArray[Any], hashes: npt.NDArray[np.uint64], values: npt.NDArray[Any], weights: Int64
    ) -> None:
        """See some rows."""
        # Equal rows have equal keys: those that are among the smallest in the end were so all along.
        if self._parts and len(self._parts[0][0]) == self.size:
            drawn = keys <= self._parts[0][0][-1]
            keys, hashes, values, weights = keys[drawn], hashes[drawn], values[drawn], weights[drawn]
        # -0.0 is 0.0, whichever of equal rows is at hand
        self._parts.append((keys, hashes, values + values.dtype.type(0), weights))
        self._n_waiting += len(keys)
        if self._n_waiting > self.size // 2:
            self._merge()

    def merge(self, other: Smallest) -> Smallest:
        """Those of both."""
        self.size = max(self.size, other.size)
        self._parts, self._n_waiting = self._parts + other._parts, self.size
        if self._parts:
            self._merge()
        return self

    def _merge(self) -> tuple[npt.NDArray[Any], ...]:
        if len(self._parts) > 1 or self._n_waiting:
            keys, hashes, values, weights = (np.concatenate(each) for each in zip(*self._parts, strict=True))
            _, chosen, group = np.unique(hashes, return_index=True, return_inverse=True)
            total = np.bincount(group.ravel(), weights).astype(np.int64)
            order = np.argsort(keys[chosen], kind="stable")[: self.size]
            chosen = chosen[order]
            self._parts, self._n_waiting = [(keys[chosen], hashes[chosen], values[chosen], total[order])], 0
        return self._parts[0]

    @property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """Of what each holds."""
        return self._merge()[1]

    @property
    def values(self) -> npt.NDArray[Any]:
        """The rows."""
        return self._merge()[2]

    @property
    def weights(self) -> Int64:
        """What all rows equal to each weigh."""
        return self._merge()[3]


@dataclass(eq=False)
class Total:
    """Arrays of all rows put together, none at first. ``of``: how those of two parts are."""

    of: Callable[[Any, Any], Any] = operator.add
    values: list[Any] = field(default_factory=list)

    def update(self, values: Iterable[Any]) -> None:
        """Those of further rows."""
        self.values = list(map(self.of, self.values, values)) if self.values else list(values)

    def merge(self, other: Total) -> Total:
        """Those of both."""
        if other.values:
            self.update(other.values)
        return self


def least_row(costs: Float64, values: Any) -> tuple[float, list[float]]:
    """The least cost and its row, of such the one of the smallest values; of parts of the rows the least is so too."""
    found: Any = values[costs == costs.min()]
    found = found if isinstance(found, np.ndarray) else found.toarray()
    found = found.astype(np.float64) + 0.0  # -0.0 is 0.0, whichever of equal rows it is
    return float(costs.min()), found[np.lexsort(found.T[::-1])[0]].tolist()


def nearer(gaps: Float64, others: Float64) -> Float64:
    """Of ends of gaps, (..., 2 m), lower and upper ones in turns: those that are nearer to each other."""
    gaps = gaps.copy()
    gaps[..., 0::2] = np.maximum(gaps[..., 0::2], others[..., 0::2])
    gaps[..., 1::2] = np.minimum(gaps[..., 1::2], others[..., 1::2])
    return gaps


class Gathered(list[Any]):
    """Items of all rows, in any order."""

    def merge(self, other: Gathered) -> Gathered:
        """Those of both."""
        self += other
        return self


def merged(sums: Any, others: Any) -> Any:
    """Sums of two parts of the rows as those of both: arrays are added up, others say how."""
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
    """The sums that an engine's workers add up, each over its rows, from what these are before the first one.

    ``add``, ``read``: a batch to the sums, as it is read; they are sent to the workers, and so are the sums.
    """
    start = compress(pickle.dumps(sums), 1)  # zeros, for the most part
    found: T | CutwiseError = engine(partial(_of_part, version("cutwise"), start, add, read), merged)
    if isinstance(found, CutwiseError):
        raise found
    return found


def _of_part(
    release: str, start: bytes, add: Callable[[T, Any], object], read: Callable[[Any], Any], batches: Iterable[Any]
) -> T | CutwiseError:
    """The sums of one worker, or what is wrong with its rows."""
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
    """What some functions give that ask for passes: side by side, so that one pass serves all that wait for one.

    ``serve``: answers some questions at once, in this thread; ``clients``: by thread, how a function asks one. Of
    errors the first function's is raised. Which functions are served together changes no answer.
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
        except BaseException as error:  # of a pass, or whoever stops it: nobody is to wait on
            for i in running:
                replies[i].put(error)
            raise
    return [each.result() for each in found]
