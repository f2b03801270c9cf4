"""Which of the core's five dtypes holds a column, or several columns side by side, exactly."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from cutwise.core import MATRIX_DTYPES

__all__ = ["AnyDType", "is_integer_dtype", "is_kept", "matrix_dtype"]

AnyDType = np.dtype[np.generic]

_FLOAT64 = frozenset({np.dtype(t) for t in (np.float64, np.longdouble, np.uint64)})
_FLOAT32 = frozenset({np.dtype(t) for t in (np.float16, np.float32)})
_INT64 = frozenset({np.dtype(t) for t in (np.int64, np.uint32)})
_INT32 = frozenset({np.dtype(t) for t in (np.int8, np.int16, np.uint16, np.int32)})
# Integers of at most 16 bits fit into float32's 24-bit mantissa, wider ones need float64 beside a float.
_WIDER_THAN_FLOAT32 = frozenset({np.dtype(t) for t in (np.int32, np.uint32, np.int64)})


def matrix_dtype(dtypes: Iterable[AnyDType]) -> AnyDType:
    """The smallest of the core's dtypes that holds every column exactly.

    Parameters
    ----------
    dtypes : iterable of numpy dtype
        Boolean, integer or real floating; byte order does not matter.

    Returns
    -------
    dtype : numpy dtype
        uint8 (booleans and uint8 only), int32, int64, float32 or float64. Two conversions can round: long double to
        float64, and 64-bit integers beyond 2**53 next to (or, unsigned, as) float64, which is how every value is
        compared anyway.
    """
    kinds = {dtype.newbyteorder("=") for dtype in dtypes}
    if kinds & _FLOAT64:
        return np.dtype(np.float64)
    if kinds & _FLOAT32:
        return np.dtype(np.float64 if kinds & _WIDER_THAN_FLOAT32 else np.float32)
    if kinds & _INT64:
        return np.dtype(np.int64)
    if kinds & _INT32:
        return np.dtype(np.int32)
    return np.dtype(np.uint8)


def is_integer_dtype(dtype: AnyDType) -> bool:
    """True for integers and booleans, whose cuts are printed as whole numbers."""
    return dtype.kind in "iub"


def is_kept(values: npt.NDArray[np.generic]) -> bool:
    """True when the core reads this array as it is (a boolean one as bytes), so no copy is due."""
    return (
        (values.dtype in MATRIX_DTYPES or values.dtype == np.bool_)
        and values.dtype.isnative
        and values.flags.aligned
        and not any(stride % values.itemsize for stride in values.strides)
    )
