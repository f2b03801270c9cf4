"""One dtype for several columns: exact, and the smallest of the core's five that is."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cutwise.core import MATRIX_DTYPES
from cutwise.table.convert import core_reads, matrix_dtype
from tests.each import each

# From the smallest to the largest; float32 before int64 at 4 bytes, and int32 before float32 as the more common.
BY_SIZE = [np.dtype(t) for t in (np.uint8, np.int32, np.float32, np.int64, np.float64)]
NARROW = [np.dtype(t) for t in ["?", "i1", "i2", "i4", "u1", "u2", "u4", "f2", "f4", "f8"]]


def extremes(dtype):
    if dtype.kind == "b":
        return [0, 1]
    info = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    values = [info.min, info.max, 1]
    return [int(v) if dtype.kind in "iu" else float(v) for v in values] + ([0.1] if dtype.kind == "f" else [])


def holds(target, dtype):
    values = np.array(extremes(dtype), dtype=dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        moved = values.astype(target)
    return all(int(a) == int(b) if dtype.kind in "iub" else a == b for a, b in zip(values, moved, strict=True))


@each("dtypes", list(itertools.combinations_with_replacement(NARROW, 2)))
def test_the_common_dtype_holds_the_extremes_of_each_column_and_no_smaller_one_does(dtypes):
    chosen = matrix_dtype(dtypes)
    assert chosen in MATRIX_DTYPES
    for dtype in dtypes:
        assert holds(chosen, dtype)
    for smaller in BY_SIZE[: BY_SIZE.index(chosen)]:
        if smaller.itemsize < chosen.itemsize:
            assert not all(holds(smaller, dtype) for dtype in dtypes)


@given(st.lists(st.sampled_from(NARROW), min_size=1, max_size=6))
def test_order_and_repetition_of_columns_do_not_matter(dtypes):
    assert matrix_dtype(dtypes) == matrix_dtype(set(dtypes)) == matrix_dtype(dtypes[::-1])


def test_byte_order_does_not_matter_to_the_choice_but_forces_a_conversion():
    assert matrix_dtype([np.dtype(">f4")]) == np.float32
    assert not core_reads(np.zeros((2, 2), dtype=">f4"))
    assert core_reads(np.zeros((2, 2), dtype="f4"))


def test_wide_integers_beside_floats_are_compared_as_float64():
    assert matrix_dtype([np.dtype(np.int64), np.dtype(np.float32)]) == np.float64
    assert matrix_dtype([np.dtype(np.uint64)]) == np.float64
