"""CUBT: clustering by a tree of its own, without a reference: grow by deviance, prune and join by distance."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from cutwise._docs import fill_doc
from cutwise.baselines.base import Baseline, Sketch, Task, finish_tree
from cutwise.core import Float64, Int64
from cutwise.table.intake import check_integer, check_number
from cutwise.tree.growing import GrownTree
from cutwise.tree.threshold_tree import NodeTest

CUBT_GRID: dict[str, list[float]] = {
    "minsize": [5, 10, 15],
    "mindev": [0.001, 0.7, 0.9],
    "mindist": [0.3, 0.5],
    "alpha": [0.2, 0.4, 0.6],
}
"""Values of the parameters of `CUBT` that the ExKMC paper searched (Appendix B.3)."""


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class CUBT(Baseline):
    """Clustering using unsupervised binary trees: a tree makes the clusters, no reference does.

    A large tree is grown by the cuts that lower the deviance (the sum of squares within nodes) most. Sibling leaves
    whose nearest rows are near each other are united, then any leaves, until ``n_clusters`` groups are left. These
    groups are the clusters; they take the numbers of the reference clusters that they share most rows with, one to one.
    The reference only prices and numbers the clusters. Deviance and distances are measured in the preprocessor's
    output.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k, ``nclass`` in the paper. There are fewer when the tree ends with fewer leaves.
    max_leaves : int, default=None
        Maximum number of leaves, at least ``n_clusters``. None means ``n_clusters``; ``nleaves`` in the paper.
    minsize : int, default=5
        Nodes with fewer rows are not cut.
    mindev : float, default=0.001
        Nor is a node whose best cut lowers the deviance by less than this share of the whole table's.
    mindist : float, default=0.3
        Sibling leaves less dissimilar than this are united. A distance, in the units of the columns.
    alpha : float, default=0.2
        Dissimilarity looks at this share of a leaf's rows: those nearest to the other leaf.
    {reference, preprocessor, n_init, random_state, n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_, cluster_centers_, cost_, surrogate_cost_, cost_ratio_, total_cost_, explained_}
    {reference_explained_, reference_, n_leaves_, classes_, preprocessor_, n_features_in_, cluster_names_}
    {feature_names_in_}

    References
    ----------
    Fraiman, Ghattas, Svarc (2013), *Interpretable clustering using unsupervised binary trees*; parameters as in Frost,
    Moshkovitz, Rashtchian (2020), *ExKMC*, Appendix B.

    Examples
    --------
    >>> from cutwise.baselines import CUBT
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [9.0], [9.2]]
    >>> CUBT(3, minsize=2, random_state=0).fit(X).tree_.n_leaves
    3
    """

    minsize: int = 5
    mindev: float = 0.001
    mindist: float = 0.3
    alpha: float = 0.2

    def _check_own_parameters(self, n_clusters: int, max_leaves: int) -> None:
        check_integer("minsize", self.minsize, minimum=1)
        check_number("mindev", self.mindev, minimum=0, maximum=1)
        check_number("mindist", self.mindist, minimum=0)
        check_number("alpha", self.alpha, minimum=0, maximum=1, above=True)

    def _grow_task(self, task: Task) -> GrownTree:
        positions, weights = task.positions, task.weights
        sketch = grow_by_deviance(task.values, positions, weights, minsize=self.minsize, mindev=self.mindev)
        is_leaf = prune_nearest(
            sketch, positions, weights, mindist=self.mindist, alpha=self.alpha, n_leaves=task.max_leaves
        )
        leaves = sketch.leaves_under(is_leaf)
        group = join_nearest(positions, weights, [sketch.rows[leaf] for leaf in leaves], self.alpha, self.n_clusters)
        tree, leaf_of = sketch.draw(task, leaves)
        shared = np.zeros((self.n_clusters, self.n_clusters))
        for leaf, g in zip(leaves, group, strict=True):
            rows = sketch.rows[leaf]
            shared[g] += np.bincount(task.reference.labels[rows], weights=weights[rows], minlength=self.n_clusters)
        number = linear_sum_assignment(-shared)[1]
        for leaf, g in zip(leaves, group, strict=True):
            tree.label(leaf_of[leaf], int(number[g]))
        return finish_tree(tree)


Rows = npt.NDArray[np.intp]

# A tree index gains nothing over comparing all pairs where points are few or dimensions many.
_FEW_POINTS = 32
_MANY_DIMENSIONS = 15
_BLOCK = 1 << 22


def grow_by_deviance(values: Float64, positions: Float64, weights: Int64, *, minsize: int, mindev: float) -> Sketch:
    """Cut where the deviance falls most, until nodes are small or gains are.

    ``values`` (m, d): the columns to cut. ``positions`` (m, p): where the deviance is measured: ``R(t) = n_t / n *
    trace(covariance of t)``. ``weights`` (m,) int64. ``minsize``: a node of less weight is not cut. ``mindev``: nor is
    one whose best cut lowers the deviance by less than this share of the root's. Returns ``sketch``: deviances are
    compared as sums of squares: they are n times as large.
    """
    sketch = Sketch([np.arange(len(values))])
    centered = positions - positions[0]
    centered -= np.average(centered, axis=0, weights=weights)
    least = mindev * float(weights @ (centered**2).sum(axis=1))
    pending = [0]
    while pending:
        node = pending.pop()
        rows = sketch.rows[node]
        if weights[rows].sum() < minsize:
            continue
        found = _best_deviance_cut(values[rows], centered[rows], weights[rows])
        if found is None or found[0] < least:
            continue
        _, feature, cut = found
        goes_left = values[rows, feature] <= cut
        pending += reversed(sketch.split(node, NodeTest(feature, cut), rows[goes_left], rows[~goes_left]))
    return sketch


def _best_deviance_cut(values: Float64, positions: Float64, weights: Int64) -> tuple[float, int, float] | None:
    """The largest fall of the sum of squares, its column and the value left of the cut; None when rows are equal."""
    total = weights.sum()
    centered = (positions - np.average(positions, axis=0, weights=weights)) * weights[:, None]
    best: tuple[float, int, float] | None = None
    for feature in range(values.shape[1]):
        column = values[:, feature]
        order = np.argsort(column, kind="stable")
        ordered = column[order]
        ends = np.flatnonzero(ordered[:-1] < ordered[1:])
        if len(ends) == 0:
            continue
        left_sum = np.cumsum(centered[order], axis=0)[ends]
        left_weight = np.cumsum(weights[order])[ends]
        # The sums of the two sides are opposite, for the whole was centered.
        gains = np.einsum("ij,ij->i", left_sum, left_sum) * (1 / left_weight + 1 / (total - left_weight))
        at = int(gains.argmax())
        # Columns that separate the rows alike differ by rounding only: the first of them stays.
        if best is None or gains[at] > best[0] * (1 + 1e-12):
            best = float(gains[at]), feature, float(ordered[ends[at]])
    return best


def nearest_distances(points: Float64, queries: Float64) -> Float64:
    """Euclidean distance of every query to the nearest of the points."""
    if len(points) > _FEW_POINTS and points.shape[1] <= _MANY_DIMENSIONS:
        distances, _ = cKDTree(points).query(queries)
        return np.asarray(distances, dtype=np.float64)
    step = max(1, _BLOCK // len(points))
    blocks = [cdist(queries[start : start + step], points).min(axis=1) for start in range(0, len(queries), step)]
    return np.concatenate(blocks)


def _mean_of_lowest(distances: Float64, weights: Int64, alpha: float) -> float:
    """Mean of the lowest share ``alpha`` of the distances, each counted ``weights`` times; of one at least."""
    order = np.argsort(distances, kind="stable")
    # 0.6 * 5 is a hair above 3 in binary.
    counted = max(1, math.ceil(round(alpha * int(weights.sum()), 9)))
    before = np.cumsum(weights[order]) - weights[order]
    taken = np.clip(counted - before, 0, weights[order])
    return float(taken @ distances[order]) / counted


def dissimilarity(positions: Float64, weights: Int64, first: Rows, second: Rows, alpha: float) -> float:
    """How far two nodes are apart where they are nearest.

    ``positions`` (m, p). ``weights`` (m,) int64. ``alpha``: share of the rows that count: those nearest to the other
    node. Returns ``dissimilarity``: for each side the mean distance of these rows to the other side's nearest row; the
    larger of the two.
    """
    a, b = positions[first], positions[second]
    return max(
        _mean_of_lowest(nearest_distances(b, a), weights[first], alpha),
        _mean_of_lowest(nearest_distances(a, b), weights[second], alpha),
    )


def prune_nearest(
    sketch: Sketch, positions: Float64, weights: Int64, *, mindist: float, alpha: float, n_leaves: int
) -> npt.NDArray[np.bool_]:
    """Unite sibling leaves, the least dissimilar first, while they are near or the leaves are too many.

    ``positions``, ``weights``, ``alpha``: as in ``dissimilarity``. ``mindist``: siblings less dissimilar than this are
    united. ``n_leaves``: siblings are united, however dissimilar, while there are more leaves. Returns ``is_leaf``
    (n_nodes,) bool: true at the leaves of the pruned tree, and below them.
    """
    left, right = np.array(sketch.left), np.array(sketch.right)
    is_leaf = left < 0
    parent = np.full(sketch.n_nodes, -1)
    inner = np.flatnonzero(~is_leaf)
    parent[left[inner]] = parent[right[inner]] = inner
    count = len(inner) + 1
    queue: list[tuple[float, int]] = []

    def consider(node: int) -> None:
        if node >= 0 and is_leaf[left[node]] and is_leaf[right[node]]:
            siblings = sketch.rows[left[node]], sketch.rows[right[node]]
            heapq.heappush(queue, (dissimilarity(positions, weights, *siblings, alpha), node))

    for node in inner.tolist():
        consider(node)
    while queue and (queue[0][0] < mindist or count > n_leaves):
        _, node = heapq.heappop(queue)
        is_leaf[node] = True
        count -= 1
        consider(int(parent[node]))
    return is_leaf


def join_nearest(positions: Float64, weights: Int64, leaves: list[Rows], alpha: float, n_clusters: int) -> list[int]:
    """Unite the two least dissimilar of all groups of leaves until ``n_clusters`` are left.

    ``positions``, ``weights``, ``alpha``: as in ``dissimilarity``. ``leaves``: rows of every leaf. Returns
    ``group``: for every leaf the number of its group, from 0 on.
    """
    group = list(range(len(leaves)))
    if len(leaves) <= n_clusters:
        return group
    rows_of = dict(enumerate(leaves))
    # The distance to a union is the smaller of the distances to its parts, so points are compared only once.
    to_group = {i: nearest_distances(positions[rows], positions) for i, rows in rows_of.items()}

    def between(a: int, b: int) -> float:
        return max(
            _mean_of_lowest(to_group[b][rows_of[a]], weights[rows_of[a]], alpha),
            _mean_of_lowest(to_group[a][rows_of[b]], weights[rows_of[b]], alpha),
        )

    pairs = {(a, b): between(a, b) for b in rows_of for a in rows_of if a < b}
    while len(rows_of) > n_clusters:
        a, b = min(pairs, key=lambda pair: (pairs[pair], pair))
        rows_of[a] = np.concatenate([rows_of[a], rows_of.pop(b)])
        to_group[a] = np.minimum(to_group[a], to_group.pop(b))
        pairs = {pair: value for pair, value in pairs.items() if b not in pair}
        pairs |= {(min(a, c), max(a, c)): between(a, c) for c in rows_of if c != a}
        group = [a if g == b else g for g in group]
    number = {g: i for i, g in enumerate(sorted(rows_of))}
    return [number[g] for g in group]
