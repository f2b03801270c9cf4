"""Sample weights as integers, so that every sum over rows is exact and a weight is a repeated row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cutwise.core import exact_sum

__all__ = ["integer_weights", "sum_weights"]

MAX_TOTAL = 2**31
"""What integer weights add up to at most (and one more per row); it leaves 30 bits for the cost of a row."""

# Two float64 whose ratio is this near to an integer cannot be told from an integer ratio that was rounded twice.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)


def integer_weights(sample_weight: npt.NDArray[np.float64] | None) -> tuple[npt.NDArray[np.int64] | None, float]:
    """Integer weights in proportion to the given ones.

    ``sample_weight`` (n_rows,) float64: finite, not negative, not all zero. Returns ``weights`` (n_rows,) int64: none
    stands for 1 each: no weights were given, or they are all equal fractions. ``weight_scale``: ``weights`` is
    ``sample_weight * weight_scale``. Whole numbers that add up to at most 2**31 stay as they are: each is a row
    repeated that often. Otherwise exactly in proportion (within float64's rounding) where the weights are integer
    multiples of a common unit, the smallest weight or a power of two, and at most 2**31 of it in sum. Otherwise the
    scale is the power of two that makes them add up to between 2**30 and 2**31, and each is rounded to the nearest
    integer: off by at most 2**-31 of the total weight. No positive weight becomes 0.

    The result does not depend on the order of the rows. Fractions have no size of their own: a common factor that is a
    power of two (or any factor, where there is a common unit) changes nothing, and weights of 0.5 grow the tree that no
    weights grow. Whole numbers have one: ExShallow's depth term counts rows, and a weight of 2 is two of them.
    """
    if sample_weight is None:
        return None, 1.0
    if bool((sample_weight == np.rint(sample_weight)).all()) and float(sample_weight.sum()) <= MAX_TOTAL:
        return (None if bool((sample_weight == 1.0).all()) else sample_weight.astype(np.int64)), 1.0
    positive = sample_weight > 0
    smallest = float(sample_weight[positive].min())
    if smallest == float(sample_weight.max()) and bool(positive.all()):
        return None, 1.0 / smallest
    total = exact_sum(sample_weight)
    for unit in (smallest, _dyadic_unit(sample_weight[positive])):
        if total / unit <= MAX_TOTAL:
            multiples = sample_weight / unit
            integers = np.rint(multiples)
            if bool((np.abs(multiples - integers) <= _ROUNDING * multiples).all()):
                common = int(np.gcd.reduce(integers.astype(np.int64)))
                return integers.astype(np.int64) // common, 1.0 / unit / common
    scale = float(np.ldexp(1.0, 31 - int(np.frexp(total)[1])))
    rounded = np.rint(sample_weight * scale).astype(np.int64)
    return np.maximum(rounded, positive.astype(np.int64)), scale


def _dyadic_unit(weights: npt.NDArray[np.float64]) -> float:
    """The largest power of two that divides every one of some positive numbers."""
    mantissa, exponent = np.frexp(weights)
    integers = (mantissa * 2.0**53).astype(np.int64)
    return float(np.ldexp((integers & -integers).astype(np.float64), exponent - 53).min())


def sum_weights(
    sample_weight: npt.NDArray[np.float64] | None,
) -> npt.NDArray[np.int64] | npt.NDArray[np.float64] | None:
    """The given weights, never rounded, as int64 where they are whole numbers: what means and costs are weighted with.

    Whole weights multiply exactly, so that means and costs equal those of repeated rows to the bit.
    """
    if sample_weight is None or float(sample_weight.sum()) > 2.0**44:
        return sample_weight
    integers = sample_weight.astype(np.int64)
    return integers if bool((integers == sample_weight).all()) else sample_weight
