"""A genuine scikit-learn tree with our cuts: what export_text, plot_tree, SHAP, ONNX and the like accept.

scikit-learn rounds the values of a row to float32 before it compares them, so a threshold that is right in float64 can
send a row the other way. The gap that a cut was chosen in tells whether a threshold exists that is right for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cutwise.exceptions import InvalidInputError
from cutwise.tree.threshold_tree import ThresholdTree

from .one_sided import without_intervals

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

__all__ = ["single_precision_thresholds", "to_decision_tree"]


def to_decision_tree(
    tree: ThresholdTree,
    *,
    classes: np.ndarray,
    gaps: np.ndarray | None = None,
    names: Sequence[str] | None = None,
) -> DecisionTreeClassifier:
    """A fitted ``DecisionTreeClassifier`` with the nodes of ``tree``, numbered alike.

    Parameters
    ----------
    tree : ThresholdTree
        Each interval test becomes two thresholds; nodes are then numbered otherwise, and rows of a leaf that appears
        twice are shared out evenly.
    classes : ndarray of shape (k,)
        What cluster number j is called.
    gaps : ndarray of shape (n_nodes, 4), float64, optional
        ``gaps[i]``: the two neighboring values between which the threshold of node i lies, then those around its lower
        end; nan at leaves, and for the lower end of one-sided tests. Thresholds move within them where float32 asks for
        it. Left out, thresholds stay as they are.
    names : sequence of d str, optional
        Column names, when the model has any.

    Returns
    -------
    classifier : DecisionTreeClassifier
        Predicts the tree's clusters. A node's ``value`` is the share of its rows that end in each cluster, so a leaf is
        always pure: it says what the tree decides, not how well it matches the reference.

    Raises
    ------
    InvalidInputError
        The two sides of a cut are one value in float32, or there would be more than a million nodes.
    """
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.tree._tree import Tree

    tree, gaps = without_intervals(tree, gaps)
    n_nodes, n_clusters = len(tree.feature), len(classes)
    inner = tree.feature >= 0
    shares = _cluster_shares(tree, n_clusters)
    template = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])
    nodes = np.zeros(n_nodes, dtype=template.tree_.__getstate__()["nodes"].dtype)
    nodes["left_child"] = tree.children_left
    nodes["right_child"] = tree.children_right
    # -2 is how scikit-learn marks "no cut" in both.
    nodes["feature"] = np.where(inner, tree.feature, -2)
    nodes["threshold"] = np.where(inner, single_precision_thresholds(tree, gaps, names), -2.0)
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
    classifier.classes_ = np.asarray(classes)
    classifier.n_classes_ = n_clusters
    classifier.n_outputs_ = 1
    classifier.n_features_in_ = tree.n_features
    classifier.max_features_ = tree.n_features
    if names is not None:
        classifier.feature_names_in_ = np.array(names, dtype=object)
    return classifier


def single_precision_thresholds(
    tree: ThresholdTree, gaps: np.ndarray | None, names: Sequence[str] | None = None
) -> np.ndarray:
    """Thresholds that part float32 values as ``tree`` parts the float64 ones.

    Parameters
    ----------
    tree : ThresholdTree
    gaps : ndarray of shape (n_nodes, 2), float64, or None
        The two neighboring values between which the threshold of every node lies.
    names : sequence of str, optional
        Column names for the error.

    Returns
    -------
    thresholds : ndarray of shape (n_nodes,), float64
        The tree's own wherever they are right in float32 too, else the left end of the gap, rounded to float32.

    Raises
    ------
    InvalidInputError
        Both ends of a gap are the same in float32.
    """
    if gaps is None:
        return tree.threshold
    left, right = _rounded(gaps)
    inner = tree.feature >= 0
    for node in np.flatnonzero(inner & (left >= right)):
        column = names[tree.feature[node]] if names is not None else f"x{tree.feature[node]}"
        raise InvalidInputError(
            f"scikit-learn's trees compare in float32, where the neighboring values {float(gaps[node, 0])!r} "
            f"and {float(gaps[node, 1])!r} of column {column!r} are the same: its tree would send rows the other way.\n"
            f"{_advice(gaps[node])} and fit again."
        )
    return np.where(inner & ((tree.threshold < left) | (tree.threshold >= right)), left, tree.threshold)


def _rounded(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two ends of every gap as scikit-learn sees them; shape (n_nodes,), float64 each.

    Rounding keeps order: what is at most the left end stays at most its rounding, and so on the right. Integers beyond
    2**53 become float32 at once there, but float64 first in ``gaps``: the two may round to neighbors, hence the margin.
    """
    margin = np.where(np.abs(gaps) > 2**53, np.spacing(np.abs(gaps)), 0.0)
    with np.errstate(over="ignore"):
        highest = (gaps + margin).astype(np.float32).astype(np.float64)
        lowest = (gaps - margin).astype(np.float32).astype(np.float64)
    return highest[:, 0], lowest[:, 1]


def _advice(gap: np.ndarray) -> str:
    """What makes two values differ in float32 that do not."""
    size, limits = float(np.abs(gap[:2]).max()), np.finfo(np.float32)
    if size > float(limits.max):
        return f"They are beyond float32, which ends at {limits.max:.2g}: divide that column by a constant"
    if size < float(limits.tiny):
        return f"They are below what float32 tells from 0 ({limits.tiny:.2g}): multiply that column by a constant"
    return "Subtract a constant from that column (an offset, the first timestamp)"


def _cluster_shares(tree: ThresholdTree, n_clusters: int) -> np.ndarray:
    """Share of each node's rows that end in each cluster; a node without rows counts its leaves instead."""
    rows = np.zeros((len(tree.feature), n_clusters))
    leaves = np.zeros_like(rows)
    for node in range(len(tree.feature) - 1, -1, -1):  # children come after their parent
        if tree.feature[node] < 0:
            rows[node, tree.cluster[node]] = tree.n_node_samples[node]
            leaves[node, tree.cluster[node]] = 1
        else:
            for child in (tree.children_left[node], tree.children_right[node]):
                rows[node] += rows[child]
                leaves[node] += leaves[child]
    counts = np.where(rows.sum(axis=1, keepdims=True) > 0, rows, leaves)
    shares: np.ndarray = counts / counts.sum(axis=1, keepdims=True)
    return shares
