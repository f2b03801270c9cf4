"""Plain CART as a threshold tree: the tree that a DecisionTreeClassifier grows on the labels.

It is what most people describe a clustering with today, hence both a candidate of ``ClusterExplainer`` and a baseline.
scikit-learn compares values rounded to float32. Rounding keeps the order of values, so each of its cuts parts the
node's rows at one gap between neighboring float64 values, and a threshold inside that gap parts them in the same way.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import Float64
from cutwise.table.table import EncodedTable
from cutwise.tree.growing import GrowingTree, GrownTree
from cutwise.tree.limits import Limits
from cutwise.tree.provider import MemoryProvider
from cutwise.tree.threshold_tree import NodeTest

Values: TypeAlias = Any  # ndarray or csr_array; scipy has no types to say so
Nodes: TypeAlias = tuple[npt.NDArray[Any], ...]  # left child, column, threshold, heaviest cluster


def cart_tree(
    table: EncodedTable, values: Values, labels: npt.NDArray[np.int32], *, max_leaves: int, limits: Limits | None = None
) -> GrownTree:
    """The tree of ``DecisionTreeClassifier(max_leaf_nodes=..., random_state=0)``, with readable thresholds.

    ``table``: the m rows, all of their columns complete numbers; ``values`` (m, d): the same rows as they were
    encoded. Values beyond the range of float32 are clipped to it, where scikit-learn would refuse them. ``labels``
    (m,) int32: cluster codes, none negative. ``max_leaves``: at least 1. ``limits``: passed on. Returns ``grown``: it
    parts the given rows exactly as scikit-learn's tree does. A leaf takes its heaviest cluster, the lowest on ties.
    """
    if values.dtype == np.int64:
        # Rounded twice like every other comparison: integers that are one float64 must not be two float32.
        values = values.astype(np.float64)
    left, feature, limit, cluster = _grow(values, labels, min(max_leaves, len(labels)), table.weights, limits)
    tree, cuts = GrowingTree(MemoryProvider(table)), _last_of_float32(limit)
    for node in sorted(np.flatnonzero(left >= 0).tolist(), key=left.__getitem__):  # as scikit-learn split them
        tree.split(node, NodeTest(int(feature[node]), float(cuts[node])))
    for node, own in enumerate(cluster.tolist()):
        tree.label(node, own)
    return tree.finish()


def _grow(
    values: Values,
    labels: npt.NDArray[np.int32],
    max_leaves: int,
    weights: npt.NDArray[np.int64] | None,
    limits: Limits | None,
) -> Nodes:
    """scikit-learn's nodes, in the order in which it made them, the two of a split one after the other."""
    totals = np.bincount(labels, weights=weights)
    if max_leaves == 1 or np.count_nonzero(totals) == 1:  # scikit-learn knows no limit of one leaf
        none = np.array([-1], dtype=np.int32)
        return none, none, np.array([np.nan]), np.array([totals.argmax()], dtype=np.int32)
    from sklearn.tree import DecisionTreeClassifier

    limited: dict[str, Any] = {}
    columns = np.arange(values.shape[1])
    if limits is not None:
        columns = columns if limits.sources is None else np.flatnonzero(limits.sources)
        values = values[:, columns]
        limited = {"max_depth": limits.max_depth}
        counts = limits.counts
        if limits.by_weight or weights is None or (counts is not None and np.array_equal(counts, weights)):
            share = (limits.least - 0.5) / totals.sum() if limits.least else 0.0
            limited["min_weight_fraction_leaf"] = min(share, 0.5)
        elif limits.least:
            limited["min_samples_leaf"] = limits.least
            if counts is not None:
                values, labels, weights = _repeated(values, labels, weights, counts)
    model = DecisionTreeClassifier(max_leaf_nodes=max_leaves, random_state=0, **limited)
    # It looks for missing values by sums, which values near the end of float32 overflow; none is missing.
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        # scikit-learn wonders about targets with many classes; clusters may be small.
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        model.fit(_as_float32(values), labels, sample_weight=weights)
    grown = model.tree_
    cluster = model.classes_[np.argmax(grown.value[:, 0, :], axis=1)].astype(np.int32)
    feature = np.where(grown.feature < 0, -1, columns[np.maximum(grown.feature, 0)]).astype(np.int32)
    return grown.children_left, feature, grown.threshold, cluster


def _repeated(
    values: Values, labels: npt.NDArray[np.int32], weights: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> tuple[Values, npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Rows that stand for several as so many, with the same weight together; none of them weighs less than 1."""
    row, first = np.repeat(np.arange(len(counts)), counts), np.cumsum(counts) - counts
    of_each = np.ones(len(row), dtype=np.int64)
    of_each[first] = weights - counts + 1
    return values[row], labels[row], of_each


def _last_of_float32(limits: Float64) -> Float64:
    """The largest float64 that is at most each of these numbers, once it is rounded to float32."""
    rounded = limits.astype(np.float32)
    below = np.where(rounded > limits, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    middle = below.astype(np.float64) / 2 + np.nextafter(below, np.float32(np.inf)).astype(np.float64) / 2
    return np.where(middle.astype(np.float32) == below, middle, np.nextafter(middle, -np.inf))


def _as_float32(values: Values) -> Values:
    """What scikit-learn's trees compare, with values that would overflow kept finite (clipping keeps the order too)."""
    largest = float(np.finfo(np.float32).max)
    if sparse.issparse(values):
        # 32-bit indices are the only ones that scikit-learn's trees take.
        indices, indptr = values.indices.astype(np.int32, copy=False), values.indptr.astype(np.int32, copy=False)
        return sparse.csr_array((_as_float32(values.data), indices, indptr), shape=values.shape)
    if values.dtype == np.float64:
        values = np.clip(values, -largest, largest)
    return values.astype(np.float32, copy=False)
