"""A genuine scikit-learn tree with the same cuts, for export_text, plot_tree, SHAP, ONNX and the like.

scikit-learn rounds the values of a row to float32 before it compares them, so a threshold that is right in float64 can
send a row the other way. The gap of a cut determines whether some threshold is right for both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from cutwise.core import Float64
from cutwise.exceptions import InvalidInputError
from cutwise.table.convert import as_dense
from cutwise.table.intake import read_table
from cutwise.table.table import Columns
from cutwise.tree.threshold_tree import NodeTest, ThresholdTree, preorder

from .conditions import Condition
from .labeled_tree import LabeledTree

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier


MAX_NODES = 1_000_000
"""Limit on trees without intervals: the subtree outside of an interval appears twice, below and above it."""

Bounds = Mapping[int, tuple[float, float]]


RuleTest = tuple[int, tuple[int, ...] | None, float | None]


class RuleColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transformer to the columns that a tree tests, as numbers for a scikit-learn tree with the same rules.

    Numbers do not change, missing numbers are nan, and ordered levels are whole numbers. Every tested set of levels is
    a column of its own, 1 for its levels and 0 elsewhere, named after the rule; and so is every threshold of dates and
    durations, which float32 would blur: 0 up to it, and 1 above it.

    ``columns``: of fit. ``tests``: of each output column: position of the column, levels or None, and threshold of
    dates or durations, or None. ``unknown``: treatment of levels unseen at fit, as ``handle_unknown`` of estimators.
    """

    def __init__(self, columns: Columns, tests: tuple[RuleTest, ...], unknown: str = "outside") -> None:
        self.columns = columns
        self.tests = tests
        self.unknown = unknown

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> RuleColumns:
        """Return self; nothing is learned."""
        return self

    def transform(self, X: Any) -> Float64:
        """Compute the columns that the rules test, float64."""
        tested = np.unique([column for column, *_ in self.tests])
        table = read_table(X, fitted=self.columns, tested=tested, unknown=self.unknown)
        values = np.asarray(as_dense(table.values), dtype=np.float64)
        found = []
        for f, levels, end in self.tests:
            x = values[:, f] if levels is None else np.isin(values[:, f], levels)
            found.append(x if end is None else np.where(np.isnan(x), np.nan, x > end))
        return np.column_stack(found).astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns, or rules for sets of levels and thresholds of dates."""
        names, kinds = self.columns.names, self.columns.kinds
        return np.array(
            [
                names[f]
                if levels is None and end is None
                else str(Condition(f, names[f], lower=-np.inf if end is None else end, levels=levels, kind=kinds[f]))
                for f, levels, end in self.tests
            ],
            dtype=object,
        )


def to_sklearn(
    labeled: LabeledTree, gaps: Float64 | None = None, *, middle: bool = False
) -> DecisionTreeClassifier | Pipeline:
    """Convert by ``to_decision_tree``, behind a step that turns columns of other kinds into numbers."""
    tree, columns = labeled.tree, labeled.columns
    tested = [tree.test(node) for node in np.flatnonzero(tree.feature >= 0).tolist()]
    if all(kind.name in ("number", "integer", "bool") for kind in columns.kinds):
        return to_decision_tree(labeled, gaps, middle=middle)

    def rule(test: NodeTest) -> RuleTest:
        is_end = test.levels is None and columns.kinds[test.feature].name in ("date", "duration")
        return test.feature, test.levels or None, test.threshold if is_end else None

    tests = sorted(set(map(rule, tested)), key=lambda t: (t[0], t[1] or (), -np.inf if t[2] is None else t[2]))
    tests = tests or [(0, None, None)]  # scikit-learn's trees need a column, also those of one leaf
    position = {test: i for i, test in enumerate(tests)}
    feature, threshold = tree.feature.copy(), tree.threshold.copy()
    left, right = tree.children_left.copy(), tree.children_right.copy()
    levels: list[tuple[int, ...] | None] = [None] * tree.n_nodes
    gaps = None if gaps is None else gaps.copy()
    for node, test in zip(np.flatnonzero(tree.feature >= 0).tolist(), tested, strict=True):
        feature[node] = position[rule(test)]
        levels[node] = None if test.levels else test.levels
        if test.levels:  # 1 is right of the cut
            threshold[node], left[node], right[node] = 0.5, right[node], left[node]
        elif rule(test)[2] is not None:
            threshold[node] = 0.5
            if gaps is not None:
                gaps[node] = np.nan
    flat = ThresholdTree.from_unordered(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        lower=tree.lower,
        cluster=tree.cluster,
        n_features=len(tests),
        n_node_samples=tree.n_node_samples,
        levels=levels,
        unknown=tree.unknown,
    )
    step = RuleColumns(columns, tuple(tests), "error" if labeled.refuses_unknown else "outside")
    names = Columns(tuple(step.get_feature_names_out().tolist()), has_names=False)
    order = preorder(left, right)
    placed = None if gaps is None else gaps[order]
    classifier = to_decision_tree(LabeledTree(flat, names, classes=labeled.classes), placed, middle=middle)
    return Pipeline([("columns", step), ("tree", classifier)])


def to_decision_tree(
    labeled: LabeledTree, gaps: Float64 | None = None, *, middle: bool = False
) -> DecisionTreeClassifier:
    """A fitted ``DecisionTreeClassifier`` with the nodes and node numbers of a tree.

    ``labeled``: each interval test becomes two thresholds; this changes node numbers, and rows of a leaf that appears
    twice are divided evenly. ``gaps`` (n_nodes, 4) float64: ``gaps[i]``: the two neighboring values between which the
    threshold of node i lies, then those around its lower end; nan at leaves, and for the lower end of one-sided tests.
    Thresholds move within their gaps where float32 requires it, or with ``middle`` to the middle. When left out,
    thresholds do not change.
    Returns ``classifier``: predicts the tree's clusters. A node's ``value`` is the share of its rows that end in each
    cluster, so a leaf is always pure: it shows the tree's decision, not how well it matches the reference. Raises
    ``InvalidInputError``: the two sides of a cut are one value in float32, or there would be more than a million nodes.
    """
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.tree._tree import Tree

    classes, columns = labeled.classes, labeled.columns
    tree, gaps = without_intervals(labeled.tree, gaps)
    n_nodes, n_clusters = len(tree.feature), len(classes)
    inner = tree.feature >= 0
    shares = _cluster_shares(tree, n_clusters)
    template = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])
    nodes = np.zeros(n_nodes, dtype=template.tree_.__getstate__()["nodes"].dtype)
    nodes["left_child"] = tree.children_left
    nodes["right_child"] = tree.children_right
    # -2 is how scikit-learn marks "no cut" in both.
    nodes["feature"] = np.where(inner, tree.feature, -2)
    # A test for missing values has a threshold below all values.
    thresholds = np.nan_to_num(single_precision_thresholds(tree, gaps, columns.names, middle=middle), nan=-np.inf)
    nodes["threshold"] = np.where(inner, thresholds, -2.0)
    nodes["missing_go_to_left"] = tree.unknown
    nodes["impurity"] = 1.0 - (shares**2).sum(axis=1)
    nodes["n_node_samples"] = tree.n_node_samples
    nodes["weighted_n_node_samples"] = tree.n_node_samples

    grown = Tree(tree.n_features, np.array([n_clusters], dtype=np.intp), 1)
    grown.__setstate__(
        {
            "max_depth": int(tree.depth),
            "node_count": n_nodes,
            "nodes": nodes,
            "values": np.ascontiguousarray(shares[:, None, :]),
        }
    )
    classifier = DecisionTreeClassifier(max_leaf_nodes=max(2, int(tree.n_leaves)), random_state=0)
    classifier.tree_ = grown
    classifier.classes_ = classes
    classifier.n_classes_ = n_clusters
    classifier.n_outputs_ = 1
    classifier.n_features_in_ = tree.n_features
    classifier.max_features_ = tree.n_features
    if columns.has_names:
        classifier.feature_names_in_ = np.array(columns.names, dtype=object)
    return classifier


def single_precision_thresholds(
    tree: ThresholdTree, gaps: np.ndarray | None, names: Sequence[str], *, middle: bool
) -> np.ndarray:
    """Thresholds that split float32 values as ``tree`` splits float64 values.

    ``gaps`` (n_nodes, 2) float64: the two neighboring values between which the threshold of every node lies. ``names``:
    column names for the error. Returns ``thresholds`` (n_nodes,) float64: the tree's own, rounded to float32, so that
    new values equal to them go left; where that is outside of the rounded gap, its left end; with ``middle`` the middle
    of the gap. Raises ``InvalidInputError``: both ends of a gap are the same in float32.
    """
    if gaps is None:
        return tree.threshold
    left, right = _rounded(gaps)
    inner = tree.feature >= 0
    for node in np.flatnonzero(inner & ((left >= right) | np.isinf(left) | np.isinf(right))):
        is_same, column = left[node] >= right[node], names[tree.feature[node]]
        why = "are the same: its tree would send rows the other way" if is_same else "are not both known"
        raise InvalidInputError(
            f"scikit-learn's trees compare in float32, where the neighboring values {float(gaps[node, 0])!r} "
            f"and {float(gaps[node, 1])!r} of column {column!r} {why}.\n"
            f"{_advice(gaps[node])} and fit again."
        )
    inner &= ~np.isnan(gaps[:, 0])
    if middle:
        return np.where(inner, left / 2 + right / 2, tree.threshold)
    with np.errstate(over="ignore"):
        own = tree.threshold.astype(np.float32).astype(np.float64)
    return np.where(inner, np.where((own < left) | (own >= right), left, own), tree.threshold)


def _advice(gap: np.ndarray) -> str:
    """Advice on how to make two values differ in float32."""
    size, limits = float(np.abs(gap[:2]).max()), np.finfo(np.float32)
    if size > float(limits.max):
        return f"They are beyond float32, which ends at {limits.max:.2g}: divide that column by a constant"
    if size < float(limits.tiny):
        return f"They are below what float32 tells from 0 ({limits.tiny:.2g}): multiply that column by a constant"
    return "Subtract a constant from that column (an offset, the first timestamp)"


def _rounded(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of every gap after scikit-learn's rounding; shape (n_nodes,), float64 each.

    Rounding is monotone: values up to the left end stay up to its rounding, and likewise on the right. scikit-learn
    converts integers beyond 2**53 directly to float32, ``gaps`` by way of float64: results may differ, hence the
    margin.
    """
    margin = np.where(np.abs(gaps) > 2**53, np.spacing(np.abs(gaps)), 0.0)
    with np.errstate(over="ignore"):
        highest = (gaps + margin).astype(np.float32).astype(np.float64)
        lowest = (gaps - margin).astype(np.float32).astype(np.float64)
    return highest[:, 0], lowest[:, 1]


def _cluster_shares(tree: ThresholdTree, n_clusters: int) -> np.ndarray:
    """Share of each node's rows that end in each cluster; a node without rows counts its leaves instead."""
    own = np.eye(n_clusters)[tree.cluster[tree.leaves]]
    leaves, rows = tree.sum_up(own), tree.sum_up(own * tree.n_node_samples[tree.leaves, None])
    counts = np.where(rows.sum(axis=1, keepdims=True) > 0, rows, leaves)
    shares: np.ndarray = counts / counts.sum(axis=1, keepdims=True)
    return shares


def without_intervals(tree: ThresholdTree, gaps: Float64 | None = None) -> tuple[ThresholdTree, Float64 | None]:
    """Replace interval tests by thresholds.

    ``gaps`` (n_nodes, 4) float64: the values next to the threshold of every node, then those next to its lower end.
    Returns ``tree``: the tree itself where it has no intervals. Else ``a < x <= b`` becomes ``x <= b`` and then ``x <=
    a``, and the subtree outside of the interval appears twice, below and above it, without tests that are already
    decided there. Rows of a leaf that appears several times are divided evenly, since the tree does not have their
    values. ``gaps`` (n_nodes, 2) float64: the values next to each threshold; nan at leaves. Raises
    ``InvalidInputError``: there would be more than ``MAX_NODES`` nodes.
    """
    if np.isneginf(tree.lower).all():
        return tree, None if gaps is None else gaps[:, :2]
    # Node i tests the threshold of node i; node n + i, reached from it where there is one, the lower end.
    n, left, right = tree.n_nodes, tree.children_left, tree.children_right
    below = np.where(np.isneginf(tree.lower), left, n + np.arange(n))
    feature, cluster, end = np.tile(tree.feature, 2), np.tile(tree.cluster, 2), np.append(tree.threshold, tree.lower)
    smaller_side, larger_side = np.append(below, right).tolist(), np.append(right, left).tolist()
    source: list[int] = []  # the node that every new node is a copy of
    children: list[list[int]] = []
    # Node to copy, bounds of columns on the path, and place of the copy: number of the new parent and side.
    pending: list[tuple[int, Bounds, int, int]] = [(0, {}, -1, 0)]
    while pending:
        node, bounds, parent, side = pending.pop()
        column, cut, smaller, larger = int(feature[node]), float(end[node]), smaller_side[node], larger_side[node]
        low, high = bounds.get(column, (-math.inf, math.inf))
        if cut <= low or cut >= high:  # decided by the tests above
            pending.append((larger if cut <= low else smaller, bounds, parent, side))
            continue
        number = len(source)
        if number == MAX_NODES:
            raise InvalidInputError(
                f"Without intervals this tree would have more than {MAX_NODES:,} nodes, because what lies outside of "
                "each of them is needed twice. Use the tree as it is, or grow it with one-sided cuts."
            )
        source.append(node)
        children.append([-1, -1])
        if parent >= 0:
            children[parent][side] = number
        if column >= 0:
            pending.append((larger, {**bounds, column: (cut, high)}, number, 1))
            pending.append((smaller, {**bounds, column: (low, cut)}, number, 0))

    links, origin = np.array(children), np.array(source)
    flat = ThresholdTree.from_unordered(
        children_left=links[:, 0],
        children_right=links[:, 1],
        feature=feature[origin],
        threshold=end[origin],
        cluster=cluster[origin],
        n_features=tree.n_features,
    )
    # Rows of a leaf are divided evenly among its copies.
    leaves = origin[flat.leaves]
    order, earlier = np.argsort(leaves, kind="stable"), np.empty(len(leaves), dtype=np.int64)
    earlier[order] = np.arange(len(leaves)) - np.searchsorted(leaves[order], leaves[order])
    whole, rest = np.divmod(tree.n_node_samples[leaves], np.bincount(leaves)[leaves])
    flat = replace(flat, n_node_samples=flat.sum_up(whole + (earlier < rest)))
    return flat, None if gaps is None else np.concatenate([gaps[:, :2], gaps[:, 2:]])[origin]
