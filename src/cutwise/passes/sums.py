"""Sums over all batches that equal those over the same rows in memory: of integers, whose order does not matter."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import ChangedDataError, InvalidInputError

Float64 = npt.NDArray[np.float64]

Int32 = npt.NDArray[np.int32]

Int64 = npt.NDArray[np.int64]

Weights = npt.NDArray[np.int64] | Float64 | None

TERM_BITS = 61

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

    def split(self, terms: Float64, times: npt.NDArray[np.int64] | None = None) -> tuple[int, int]:
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


T = TypeVar("T")


@dataclass(frozen=True)
class _Extent:
    """What the scale of a sum of values times weights depends on."""

    n: int = 0
    largest: float = 0.0
    largest_product: float = 0.0
    total: float = 0.0
    is_whole: bool = True
    is_weighted: bool = False

    @classmethod
    def of(cls, values: Float64, weights: Weights) -> _Extent:
        largest = float(np.abs(values).max(initial=0.0))
        if weights is None:
            return cls(len(values), largest)
        product = float(np.abs(weights * values).max(initial=0.0))
        is_whole = bool((weights == np.rint(weights)).all())
        return cls(len(values), largest, product, float(weights.sum()), is_whole, True)

    def __or__(self, other: _Extent) -> _Extent:
        return _Extent(
            self.n + other.n,
            max(self.largest, other.largest),
            max(self.largest_product, other.largest_product),
            self.total + other.total,
            self.is_whole and other.is_whole,
            self.is_weighted or other.is_weighted,
        )


def _parts(scale: Scale, repeats: bool, values: Float64, weights: Weights) -> tuple[int, int, int]:
    """How many values, and the parts of their sum."""
    if weights is None:
        return len(values), *scale.split(values)
    if repeats:
        return len(values), *scale.split(values, weights.astype(np.int64))
    return len(values), *scale.split(weights * values)


class Passed(Protocol):
    """Goes over batches of values and weights, and says what a function gives of each."""

    def __call__(self, work: Callable[[Float64, Weights], T], /) -> Iterable[T]:
        """In any order; the function may be pickled."""


def exact_total(passed: Passed) -> float:
    """The sum of values times weights, by two passes: the bits of ``core.exact_sum`` of all of them.

    Without weights each value counts once. Whole weights are repeated values.
    """
    extent = reduce(operator.or_, passed(_Extent.of), _Extent())
    if extent.n == 0:
        raise InvalidInputError("X has no rows. Give at least one.")
    if not math.isfinite(extent.largest):
        raise InvalidInputError(
            "Distances to the centers are beyond float64. Scale the columns, or divide them by a constant."
        )
    repeats = extent.is_weighted and extent.is_whole and extent.total <= 2.0**44
    largest = extent.largest_product if extent.is_weighted and not repeats else extent.largest
    scale = Scale.of(largest, extent.total if repeats else float(extent.n))
    n = high = low = 0
    for part in passed(partial(_parts, scale, repeats)):
        n, high, low = n + part[0], high + part[1], low + part[2]
    if n != extent.n:
        raise ChangedDataError(
            f"X had {extent.n:,} rows in the first pass over it and {n:,} in the second. Keep what it reads from as it "
            "is meanwhile, or write it to Parquet first."
        )
    return scale.total(high, low)
