"""Conversion of a cut in the searched columns to a node's test of the table: named levels, and missing values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cutwise.core import Float64, Int64
from cutwise.table.table import ColumnKind, SearchedColumns

from .threshold_tree import NodeTest


class TableCut(NamedTuple):
    """A cut in terms of the table's columns.

    ``cut``: partitions the node's rows, rows inside first: a threshold in a searched column, or levels of a column.
    ``test``: the cut as a test of the table's column, its ends not placed yet. ``is_swapped``: whether the left side of
    the found cut is outside. ``outside_first``: whether the node's first level is outside, so that this side comes
    first among equal gains, as it would in a column of zeros and ones.
    """

    cut: NodeTest
    test: NodeTest
    is_swapped: bool
    outside_first: bool = False


def table_cut(
    searched: SearchedColumns, cut: NodeTest, rows: Callable[[], tuple[Float64, Int64 | None]], along: Float64 | None
) -> TableCut:
    """Convert a cut to the table's columns.

    ``cut``: a threshold in a searched column, or levels of a column. ``rows``: gives the values (m,) of the node's rows
    in the table's column, and their weights (m,), None for 1 each. ``along``: the surviving centers in the searched
    column.
    """
    if cut.levels is not None:
        return _level_cut(cut, searched.kinds[cut.feature], *rows(), is_left=True)
    j, source = cut.feature, int(searched.source[cut.feature])
    if searched.level[j] >= 0:
        level = NodeTest(source, math.nan, levels=(int(searched.level[j]),))
        return _level_cut(level, searched.kinds[source], *rows(), is_left=False)
    test = NodeTest(source, cut.threshold, cut.lower)
    if searched.missing[j] == 0:
        return TableCut(cut, test, False)
    values, weights = rows()
    centers = np.empty(0) if along is None else along
    side = -1 if searched.missing[j] < 0 else 1
    is_left, finite = values <= cut.threshold, centers[np.isfinite(centers)]
    if side < 0:
        has_known = is_left.any() or (finite <= cut.threshold).any()
    else:
        has_known = (values > cut.threshold).any() or (finite > cut.threshold).any()
    if not has_known:
        test = NodeTest(source, math.nan, levels=(), unknown=True)
        return TableCut(test, test, side > 0)
    unknown = side < 0
    if not np.isnan(values).any() and not np.isinf(centers).any():
        weight = np.ones(len(values)) if weights is None else weights
        unknown = bool(weight[is_left].sum() > weight[~is_left].sum())
    return TableCut(cut, NodeTest(source, cut.threshold, unknown=unknown), False)


def _level_cut(cut: NodeTest, kind: ColumnKind, values: Float64, weights: Int64 | None, *, is_left: bool) -> TableCut:
    """Convert a cut of levels against all others; the test names the side with fewer present levels, or less weight.

    ``is_left``: whether the levels were the left side of the cut.
    """
    levels, codes = cut.levels or (), values.astype(np.intp)
    n_rows = np.bincount(codes)
    weight = n_rows if weights is None else np.bincount(codes, weights=weights)
    present = np.flatnonzero(n_rows).tolist()
    ours, others = ([code for code in present if (code in levels) == is_ours] for is_ours in (True, False))
    other = len(kind.levels or ())  # rare and unseen levels are not named

    def rank(side: list[int]) -> tuple[bool, int, float, bool]:
        return other in side, len(side), float(weight[side].sum()), side[:1] == present[:1]

    if not ours or not others:  # the cut separates centers, but no rows
        named_ours = other not in levels
        named = tuple(sorted(levels)) if named_ours else tuple(others)
    else:
        named_ours = rank(ours) < rank(others)
        named = tuple(ours if named_ours else others)
    test = NodeTest(cut.feature, math.nan, levels=named)
    return TableCut(test, test, named_ours != is_left, not set(present[:1]) <= set(named))
