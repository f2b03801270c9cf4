"""Sums over all batches that equal those over the same rows in memory: of integers, whose order does not matter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import ChangedDataError, InvalidInputError

Float64 = npt.NDArray[np.float64]

Weights = npt.NDArray[np.int64] | Float64 | None

TERM_BITS = 61


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


def exact_total(passed: Callable[[], Iterable[tuple[Float64, Float64 | None]]]) -> float:
    """The sum of values times weights, by two passes: the bits of ``core.exact_sum`` of all of them.

    ``passed``: goes over the batches; without weights each value counts once. Whole weights are repeated values.
    """
    n, largest, largest_product, total, is_whole, is_weighted = 0, 0.0, 0.0, 0.0, True, False
    for values, weights in passed():
        n += len(values)
        if not len(values):
            continue
        largest = max(largest, float(np.abs(values).max()))
        if weights is not None:
            is_weighted = True
            largest_product = max(largest_product, float(np.abs(weights * values).max()))
            is_whole = is_whole and bool((weights == np.rint(weights)).all())
            total += float(weights.sum())
    if n == 0:
        raise InvalidInputError("X has no rows. Give at least one.")
    if not math.isfinite(largest):
        raise InvalidInputError(
            "Distances to the centers are beyond float64. Scale the columns, or divide them by a constant."
        )
    repeats = is_weighted and is_whole and total <= 2.0**44
    if repeats:
        largest_product = largest
    scale = Scale.of(largest_product if is_weighted else largest, total if repeats else float(n))
    high = low = again = 0
    for values, weights in passed():
        again += len(values)
        if weights is None:
            parts = scale.split(values)
        elif repeats:
            parts = scale.split(values, weights.astype(np.int64))
        else:
            parts = scale.split(weights * values)
        high, low = high + parts[0], low + parts[1]
    if again != n:
        raise ChangedDataError(
            f"X had {n:,} rows in the first pass over it and {again:,} in the second. Keep what it reads from as it is "
            "meanwhile, or write it to Parquet first."
        )
    return scale.total(high, low)
