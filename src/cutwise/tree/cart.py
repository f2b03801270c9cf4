"""Plain CART as a threshold tree: the tree that a DecisionTreeClassifier grows on the labels.

It is what most people describe a clustering with today, hence both a candidate of ``ClusterExplainer`` and a baseline.
scikit-learn compares values rounded to float32. Rounding keeps the order of values, so each of its cuts parts the
node's rows at one gap between neighboring float64 values, and a threshold inside that gap parts them in the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.table.table import ColumnKind
from cutwise.tree.growing import GrownTree, place_threshold
from cutwise.tree.limits import Limits
from cutwise.tree.subtree import truncate_growth
from cutwise.tree.threshold_tree import ThresholdTree, preorder

Values: TypeAlias = Any  # ndarray or csr_array; scipy has no types to say so
Nodes: TypeAlias = tuple[npt.NDArray[Any], ...]  # children left and right, column, threshold, heaviest cluster


def cart_trees(
    values: Values,
    labels: npt.NDArray[np.int32],
    *,
    max_leaves: Sequence[int],
    kinds: Sequence[ColumnKind],
    weights: npt.NDArray[np.int64] | None = None,
    counts: npt.NDArray[np.int64] | None = None,
    limits: Limits | None = None,
) -> list[GrownTree]:
    """The trees of ``DecisionTreeClassifier(max_leaf_nodes=..., random_state=0)``, with readable thresholds.

    ``values`` (m, d): the rows, finite. Values beyond the range of float32 are clipped to it, where scikit-learn would
    refuse them. ``labels`` (m,) int32: cluster codes, none negative. ``max_leaves``: sizes, each at least 1; one fit
    serves them all. ``kinds``, d of them: what thresholds are said in. ``weights`` (m,) int64: weight of every row; 1
    when left out. ``counts`` (m,) int64: how many rows of the table each row stands for; 1 when
    left out. ``limits``: passed on; what a leaf holds is a share of the weight there. Returns ``grown``: one for each
    size. It parts the given rows exactly as scikit-learn's tree does. A leaf takes its heaviest cluster, the lowest on
    ties.
    """
    if values.dtype == np.int64:
        # Rounded twice like every other comparison: integers that are one float64 must not be two float32.
        values = values.astype(np.float64)
    nodes = _grow(values, labels, min(max(max_leaves), len(labels)), weights, limits)
    # Best-first growth adds two nodes with every split, so the largest tree holds all the smaller ones.
    largest = _convert(nodes, values, kinds, counts)
    return [truncate_growth(largest, n) for n in max_leaves]


def _grow(
    values: Values,
    labels: npt.NDArray[np.int32],
    max_leaves: int,
    weights: npt.NDArray[np.int64] | None,
    limits: Limits | None,
) -> Nodes:
    """scikit-learn's nodes, in the order in which it made them."""
    totals = np.bincount(labels, weights=weights)
    if max_leaves == 1 or np.count_nonzero(totals) == 1:  # scikit-learn knows no limit of one leaf
        none = np.array([-1], dtype=np.int32)
        return none, none, none, np.array([np.nan]), np.array([totals.argmax()], dtype=np.int32)
    from sklearn.tree import DecisionTreeClassifier

    limited: dict[str, Any] = {}
    columns = np.arange(values.shape[1])
    if limits is not None:
        columns = columns if limits.sources is None else np.flatnonzero(limits.sources)
        values = values[:, columns]
        share = (limits.least - 0.5) / totals.sum() if limits.least else 0.0
        limited = {"max_depth": limits.max_depth, "min_weight_fraction_leaf": min(share, 0.5)}
    model = DecisionTreeClassifier(max_leaf_nodes=max_leaves, random_state=0, **limited)
    with warnings.catch_warnings():
        # scikit-learn wonders about targets with many classes; clusters may be small.
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        model.fit(_as_float32(values), labels, sample_weight=weights)
    grown = model.tree_
    cluster = model.classes_[np.argmax(grown.value[:, 0, :], axis=1)].astype(np.int32)
    children = grown.children_left.astype(np.int32), grown.children_right.astype(np.int32)
    feature = np.where(grown.feature < 0, -1, columns[np.maximum(grown.feature, 0)]).astype(np.int32)
    return *children, feature, grown.threshold, cluster


def _convert(
    nodes: Nodes, values: Values, kinds: Sequence[ColumnKind], counts: npt.NDArray[np.int64] | None
) -> GrownTree:
    """Route the rows as scikit-learn does, and place each threshold in the gap that it finds there."""
    left, right, feature, limit, cluster = nodes
    n_rows, n_columns = values.shape
    tested = np.unique(feature[feature >= 0])
    columns = values[:, tested].tocsc() if sparse.issparse(values) else None
    order = preorder(left, right)
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)

    gaps = np.full((len(left), 4), np.nan)  # the last two are for intervals, which CART does not know
    threshold = np.full(len(left), np.nan)
    n_samples = np.zeros(len(left), dtype=np.int64)
    leaf_of_row = np.empty(n_rows, dtype=np.int32)
    rows_of: dict[int, npt.NDArray[np.intp]] = {0: np.arange(n_rows)}
    for node in order.tolist():
        rows = rows_of.pop(node)
        n_samples[node] = len(rows) if counts is None else counts[rows].sum()
        if left[node] < 0:
            leaf_of_row[rows] = number[node]
            continue
        if columns is None:
            column = values[rows, feature[node]]
        else:
            column = columns[:, [np.searchsorted(tested, feature[node])]].toarray().ravel()[rows]
        # float32 against float64, as scikit-learn compares; older NumPy would round a scalar limit to float32 first.
        goes_left = _as_float32(column).astype(np.float64) <= limit[node]
        left_max, right_min = float(column[goes_left].max()), float(column[~goes_left].min())
        gaps[node, :2] = left_max, right_min
        threshold[node] = place_threshold(left_max, right_min, kinds[feature[node]])
        rows_of[int(left[node])], rows_of[int(right[node])] = rows[goes_left], rows[~goes_left]

    tree = ThresholdTree.from_unordered(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        cluster=cluster,
        n_node_samples=n_samples,
        n_features=int(n_columns),
    )
    return GrownTree(tree, leaf_of_row, [], gaps[order], order.astype(np.int32), cluster[order].astype(np.int32))


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
