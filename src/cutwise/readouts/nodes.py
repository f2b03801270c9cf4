"""What stands at every node of a tree: the test that leads there, and how many rows it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.tree.threshold_tree import ThresholdTree

from .conditions import Condition
from .counts import LeafCounts
from .inputs import check_counts, check_names, class_labels
from .names import cluster_titles

__all__ = ["NodeFigures", "condition_towards", "node_figures", "node_sizes", "sum_up"]


@dataclass(frozen=True, eq=False)
class NodeFigures:
    """What a picture or a text says of nodes beside their tests.

    Attributes
    ----------
    titles : list of length n_clusters
        What every cluster is called.
    size : ndarray of shape (n_nodes,), int64
        Rows.
    share : ndarray of shape (n_nodes,), float64
        Of the weight; nan where there is none at all.
    purity : dict of int to float
        Of every leaf that has rows, by its node number; empty where that is not known.
    counted : bool
        Whether sizes are known.
    """

    titles: list[Any]
    size: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]
    purity: dict[int, float]
    counted: bool


def node_figures(
    tree: ThresholdTree,
    names: Sequence[str],
    counts: LeafCounts | None,
    classes: npt.NDArray[Any] | None,
    cluster_names: Mapping[Any, str] | None,
) -> NodeFigures:
    """Check what a tree is shown with, and put together what is said of its nodes.

    Parameters
    ----------
    tree : ThresholdTree
    names : sequence of str, one a column
    counts : LeafCounts or None
        None: the sizes that the tree was grown with, if it knows them, and no purity.
    classes : ndarray of shape (n_clusters,), or None
        The original label of every cluster code; None: the codes themselves.
    cluster_names : mapping of label to str, or None
        As ``read_cluster_names`` gives them.

    Returns
    -------
    figures : NodeFigures

    Raises
    ------
    InvalidInputError
        Names, classes or counts that do not fit the tree.
    """
    check_names(tree, names)
    if counts is not None:
        check_counts(tree, counts)
    labels = class_labels(tree, classes, None if counts is None else len(counts.cluster_weight))
    size, share = node_sizes(tree, counts)
    purity = {} if counts is None else dict(zip(tree.leaves.tolist(), counts.purity.tolist(), strict=True))
    return NodeFigures(
        titles=cluster_titles(labels, cluster_names),
        size=size,
        share=share,
        purity={leaf: of_leaf for leaf, of_leaf in purity.items() if size[leaf]},
        counted=counts is not None or bool(size[0] > 0),
    )


def condition_towards(tree: ThresholdTree, node: int, parent: int, names: Sequence[str]) -> Condition:
    """The condition under which a row at the parent goes to the node.

    Parameters
    ----------
    tree : ThresholdTree
    node, parent : int
        A node and its parent.
    names : sequence of str, one a column

    Returns
    -------
    condition : Condition
    """
    feature, t, a = int(tree.feature[parent]), float(tree.threshold[parent]), float(tree.lower[parent])
    name = names[feature]
    if node == parent + 1:
        return Condition(feature, name, lower=a, upper=t)
    if np.isneginf(a):
        return Condition(feature, name, lower=t)
    return Condition(feature, name, lower=a, upper=t, outside=True)


def node_sizes(tree: ThresholdTree, counts: LeafCounts | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Rows of every node, and their share of the weight.

    Parameters
    ----------
    tree : ThresholdTree
    counts : LeafCounts or None
        None: those that the tree was grown with.

    Returns
    -------
    size : ndarray of shape (n_nodes,), int64
    share : ndarray of shape (n_nodes,), float64
        nan where there is no weight at all.
    """
    if counts is None:
        size = tree.n_node_samples
        weight = size.astype(np.float64)
    else:
        size = sum_up(tree, counts.n_rows)
        weight = sum_up(tree, counts.weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        return size, weight / weight[0]


def sum_up(tree: ThresholdTree, of_leaf: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give every inner node the sum of its leaves.

    Parameters
    ----------
    tree : ThresholdTree
    of_leaf : ndarray of shape (n_leaves,) or (n_leaves, m)
        In the order of ``tree.leaves``.

    Returns
    -------
    of_node : ndarray of shape (n_nodes,) or (n_nodes, m)
    """
    total = np.zeros((tree.n_nodes, *of_leaf.shape[1:]), dtype=of_leaf.dtype)
    total[tree.leaves] = of_leaf
    parents = tree.parents.tolist()
    for node in range(tree.n_nodes - 1, 0, -1):  # children come after their parent
        total[parents[node]] += total[node]
    return total
