"""What the baselines share: reading, the reference that prices them, and trees pruned before they are drawn.

And the two that need little beside it: CART on the labels of a reference clustering, what most people describe clusters
with; and KDTree, halves of the widest column, labeled afterwards, a partition that never looks at clusters.
"""

from __future__ import annotations

import heapq
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise._docs import fill_doc
from cutwise.core import Float64, Int64
from cutwise.estimators import Growth, PreparedFit, TrainingRows, TreeClusterer
from cutwise.reference.objective import KMEANS, Reference, fixed_costs
from cutwise.table.convert import as_dense
from cutwise.table.intake import check_integer
from cutwise.table.table import as_matrix
from cutwise.tree.growing import GrowingTree, GrownTree
from cutwise.tree.provider import GrowthSpec, MemoryProvider
from cutwise.tree.recipes import grow_on
from cutwise.tree.threshold_tree import NodeTest


@dataclass(frozen=True, eq=False)
class Task:
    """What a baseline is given to grow a tree.

    ``rows``: the m rows that take part. ``reference``: with their labels.
    """

    rows: TrainingRows
    reference: Reference
    max_leaves: int

    @cached_property
    def values(self) -> Float64:
        """The rows in the columns that are cut; shape (m, d), dense."""
        return np.ascontiguousarray(as_dense(self.rows.compress(self.rows.table.values)), dtype=np.float64)

    @cached_property
    def positions(self) -> Float64:
        """The rows where distances are measured; shape (m, n_dimensions), dense."""
        return np.ascontiguousarray(as_dense(self.rows.metric.values), dtype=np.float64)

    @cached_property
    def weights(self) -> Int64:
        """Weight of every row; shape (m,)."""
        weights = self.rows.weights
        return np.ones(self.rows.n_rows, dtype=np.int64) if weights is None else weights

    @cached_property
    def _excess(self) -> Any:
        rows = self.rows
        return fixed_costs(rows.metric.matrix, self.reference.centers, weights=rows.weights, n_jobs=rows.n_jobs).excess

    def best_cluster(self, rows: npt.NDArray[Any]) -> int:
        """The reference cluster whose center serves some rows at the lowest cost, the lowest on ties."""
        return int(self._excess[rows].sum(axis=0, dtype=np.int64).argmin())


class Baseline(TreeClusterer):
    """Parent of the baselines: everything but how the tree grows."""

    def _grow(self, fit: PreparedFit) -> Growth:
        return Growth(self._grow_task(Task(fit.context.rows, fit.context.reference, fit.max_leaves)))

    @abstractmethod
    def _grow_task(self, task: Task) -> GrownTree:
        """Grow a tree with labeled leaves, ``task.max_leaves`` at most."""


def label_by_surrogate_cost(tree: GrowingTree, task: Task) -> None:
    """Give every leaf the reference cluster whose center serves its rows at the lowest cost."""
    leaf_of_row = tree.provider.number_of_row({leaf: leaf for leaf in tree.leaves()})
    for leaf in tree.leaves():
        tree.label(leaf, task.best_cluster(np.flatnonzero(leaf_of_row == leaf)))


def finish_tree(tree: GrowingTree) -> GrownTree:
    """The finished tree as the estimators take it: with fewer leaves it would have been another."""
    return replace(tree.finish(), split_order=None, leaf_clusters=None)


@dataclass
class Sketch:
    """Nodes by number, 0 the root, children after their parents.

    ``rows``: numbers of every node's rows. ``test``: at leaves None; its threshold is a value of the left child's rows.
    ``left``, ``right``: children; -1 at leaves.
    """

    rows: list[npt.NDArray[np.intp]]
    test: list[NodeTest | None] = field(default_factory=lambda: [None])
    left: list[int] = field(default_factory=lambda: [-1])
    right: list[int] = field(default_factory=lambda: [-1])

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.rows)

    def split(
        self, node: int, test: NodeTest, left_rows: npt.NDArray[np.intp], right_rows: npt.NDArray[np.intp]
    ) -> tuple[int, int]:
        """Give a leaf two children, and return their numbers."""
        self.test[node], self.left[node], self.right[node] = test, self.n_nodes, self.n_nodes + 1
        for rows in (left_rows, right_rows):
            self.rows.append(rows)
            self.test.append(None)
            self.left.append(-1)
            self.right.append(-1)
        return self.left[node], self.right[node]

    def leaves_under(self, is_leaf: npt.NDArray[np.bool_]) -> list[int]:
        """The leaves of the tree that ends where ``is_leaf`` first holds on the way down, from left to right."""
        leaves, pending = [], [0]
        while pending:
            node = pending.pop()
            if is_leaf[node]:
                leaves.append(node)
            else:
                pending += [self.right[node], self.left[node]]
        return leaves

    def draw(self, task: Task, leaves: list[int]) -> tuple[GrowingTree, dict[int, int]]:
        """The tree of some leaves, with thresholds; a cut with leaves on one side only is left out.

        ``leaves``: nodes with rows, none below another. Returns ``tree``: its leaves are not labeled yet. ``leaf_of``:
        the node of ``tree`` for every leaf.
        """
        stays = np.zeros(self.n_nodes, dtype=bool)
        stays[leaves] = True
        for node in range(self.n_nodes - 1, -1, -1):  # children have higher numbers
            if self.left[node] >= 0:
                stays[node] |= stays[self.left[node]] | stays[self.right[node]]
        is_leaf = set(leaves)
        tree = GrowingTree(MemoryProvider(task.rows.encoded))
        leaf_of: dict[int, int] = {}
        pending = [(0, 0)]
        while pending:
            node, drawn = pending.pop()
            if node in is_leaf:
                leaf_of[node] = drawn
                continue
            left, right, test = self.left[node], self.right[node], self.test[node]
            if test is not None and stays[left] and stays[right]:
                drawn_left, drawn_right = tree.split(drawn, test)
                pending += [(right, drawn_right), (left, drawn_left)]
            else:
                pending.append((left if stays[left] else right, drawn))
        return tree, leaf_of


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class CART(Baseline):
    """Plain CART on the labels of a k-means clustering, as a tree of clusters.

    The tree is that of ``DecisionTreeClassifier(max_leaf_nodes=max_leaves)`` but where cuts gain the same, of which the
    lowest column's is taken, and where values are one number in float32, which scikit-learn compares; thresholds are
    placed in the same gaps, where they read best.

    Parameters
    ----------
    {n_clusters}
    max_leaves : int, default=None
        Maximum number of leaves, at least ``n_clusters``. None means ``n_clusters``.
    {reference, preprocessor, n_init, random_state, n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_, cluster_centers_, cost_, surrogate_cost_, cost_ratio_, total_cost_, explained_}
    {reference_explained_, reference_, n_leaves_, classes_, preprocessor_, n_features_in_, cluster_names_}
    {feature_names_in_}

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), *Classification and Regression Trees*; used as in Frost, Moshkovitz,
    Rashtchian (2020), *ExKMC*, Appendix B.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cutwise.baselines import CART
    >>> CART(3, random_state=0).fit(load_iris().data).n_leaves_
    3
    """

    def _grow_task(self, task: Task) -> GrownTree:
        provider = MemoryProvider(task.rows.encoded, task.reference.labels, n_jobs=task.rows.n_jobs)
        coordinates = np.zeros((len(task.reference.centers), provider.n_columns))  # which CART does not look at
        return grow_on(provider, coordinates, GrowthSpec("cart", task.max_leaves))


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class KDTree(Baseline):
    """Cuts the column of highest variance at its median, and labels the leaves by surrogate cost.

    A node is cut while both halves can hold ``leaf_size`` rows, the largest node first. Where equal values make a half
    impossible, the cut nearest to it is taken (the lower of two). Each leaf then becomes part of the reference cluster
    whose center serves its rows at the lowest cost. Variances are those of the columns that are cut.

    Parameters
    ----------
    {n_clusters}
    max_leaves : int, default=None
        Maximum number of leaves, at least ``n_clusters``. None means ``n_clusters``.
    leaf_size : int, default=None
        Half the rows of a node must be as many for it to be cut; where values are equal a leaf may get fewer. None
        means rows // ``max_leaves``: halving then ends at about as many leaves as the largest power of two within
        ``max_leaves``.
    {reference, preprocessor, n_init, random_state, n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_, cluster_centers_, cost_, surrogate_cost_, cost_ratio_, total_cost_, explained_}
    {reference_explained_, reference_, n_leaves_, classes_, preprocessor_, n_features_in_, cluster_names_}
    {feature_names_in_}

    References
    ----------
    Bentley (1975), *Multidimensional binary search trees used for associative searching*; used as in Frost, Moshkovitz,
    Rashtchian (2020), *ExKMC*, Appendix B.1.

    Examples
    --------
    >>> from cutwise.baselines import KDTree
    >>> KDTree(2, random_state=0).fit([[1, 0], [2, 0], [7, 0], [9, 1]]).tree_.threshold[0].item()
    4.0
    """

    leaf_size: int | None = None

    def _check_own_parameters(self, n_clusters: int, max_leaves: int) -> None:
        if self.leaf_size is not None:
            check_integer("leaf_size", self.leaf_size, minimum=1)

    def _grow_task(self, task: Task) -> GrownTree:
        provider = MemoryProvider(task.rows.encoded)
        tree = GrowingTree(provider)
        total = int(task.weights.sum())
        leaf_size = max(1, total // task.max_leaves) if self.leaf_size is None else self.leaf_size
        largest = [(-total, 0)]
        n_leaves = 1
        while n_leaves < task.max_leaves and largest:
            weight, node = heapq.heappop(largest)
            if -weight < 2 * leaf_size:
                break
            rows = provider.rows(node)
            found = median_cut(task.values[rows], task.weights[rows])
            if found is None:
                continue
            left, right = tree.split(node, NodeTest(*found))
            n_leaves += 1
            for child in (left, right):
                heapq.heappush(largest, (-int(task.weights[provider.rows(child)].sum()), child))
        label_by_surrogate_cost(tree, task)
        return finish_tree(tree)


def median_cut(values: npt.NDArray[np.float64], weights: npt.NDArray[np.int64]) -> tuple[int, float] | None:
    """The column of highest variance, and the value there whose rows and those below are nearest to half of all.

    ``values`` (m, d) float64. ``weights`` (m,) int64. Returns ``feature``, ``cut``: the lowest column of highest
    variance; ``cut`` is a value of it, not the largest. None when all rows are equal.
    """
    low, high = values.min(axis=0), values.max(axis=0)
    if (low == high).all():
        return None

    def mean(of_rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:  # whatever the order of the rows
        means, _ = KMEANS.centers(as_matrix(of_rows), np.zeros(len(of_rows), dtype=np.int32), 1, weights, 1)
        return means.ravel()

    variance = np.where(low < high, mean((values - mean(values)) ** 2), -1.0)
    feature = int(variance.argmax())
    distinct, code = np.unique(values[:, feature], return_inverse=True)
    at_most = np.cumsum(np.bincount(code, weights=weights))
    return feature, float(distinct[np.abs(2 * at_most[:-1] - at_most[-1]).argmin()])
