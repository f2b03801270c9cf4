"""CLTree: a decision tree between the rows and virtual points spread evenly over their box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from cutwise._docs import fill_doc
from cutwise.baselines.base import Baseline, Sketch, Task, finish_tree, label_by_surrogate_cost
from cutwise.core import Float64, Int64
from cutwise.table.intake import check_integer, check_number
from cutwise.tree.growing import GrownTree
from cutwise.tree.threshold_tree import NodeTest

CLTREE_GRID: dict[str, list[float]] = {
    "min_split": [10, 20, 30, 50, 100, 200, 500, 1000, 1500, 2000],
    "min_y": [0.1, 0.2, 0.3, 0.4, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5],
    "min_rd": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 50],
}
"""Values of the parameters of `CLTree` that the ExKMC paper searched (Appendix B.3)."""


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class CLTree(Baseline):
    """Clustering based on decision trees: dense boxes are told apart from empty space.

    Virtual points are spread evenly over the box of the rows, as many as there are rows, and a tree is grown between
    the two kinds by information gain. In every column it looks ahead up to three cuts for the sparsest region, and cuts
    beside it. Sparse nodes are then pruned, and siblings of about equal density united. The leaves that remain become
    parts of the reference clusters that serve their rows at the lowest cost. Boxes are those of the columns that are
    cut.

    Parameters
    ----------
    {n_clusters}
    max_leaves : int, default=None
        Maximum number of leaves, at least ``n_clusters``. None means ``n_clusters``. Where pruning leaves more,
        siblings that are parts of one cluster are united, and then the leaves with the fewest rows go with their
        siblings.
    min_split : int, default=20
        Nodes with fewer rows are not cut.
    min_y : float, default=1.0
        A node with fewer rows than these per cent of all is sparse.
    min_rd : float, default=10.0
        A dense node absorbs a sibling whose relative density (rows per virtual point, 1 at most) differs from its own
        by at most this, in per cent.
    {reference, preprocessor, n_init, random_state, n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_, cluster_centers_, cost_, surrogate_cost_, cost_ratio_, total_cost_, explained_}
    {reference_explained_, reference_, n_leaves_, classes_, preprocessor_, n_features_in_, cluster_names_}
    {feature_names_in_}

    Notes
    -----
    Leaves that hold no row are not part of ``tree_``: the cut that made them separates nothing.

    References
    ----------
    Liu, Xia, Yu (2000), *Clustering through decision tree construction*; used as in Frost, Moshkovitz, Rashtchian
    (2020), *ExKMC*, Appendix B.

    Examples
    --------
    >>> import numpy as np
    >>> from cutwise.baselines import CLTree
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.uniform(0, 3, 50), rng.uniform(6, 9, 50)])[:, None]
    >>> CLTree(2, random_state=0).fit(X).tree_.n_leaves
    2
    """

    min_split: int = 20
    min_y: float = 1.0
    min_rd: float = 10.0

    def _check_own_parameters(self, n_clusters: int, max_leaves: int) -> None:
        check_integer("min_split", self.min_split, minimum=1)
        check_number("min_y", self.min_y, minimum=0, maximum=100)
        check_number("min_rd", self.min_rd, minimum=0, maximum=100)

    def _grow_task(self, task: Task) -> GrownTree:
        grown = grow_with_virtual_points(task.values, task.weights, self.min_split)
        pruned = prune_sparse(grown, min_split=self.min_split, min_y=self.min_y, min_rd=self.min_rd)
        return finish_pruned(grown, pruned, task)


# Gains in nats below this share of a point are rounding.
_NOTHING = 1e-9


@dataclass(kw_only=True)
class VirtualSketch(Sketch):
    """A grown CLTree, some of whose leaves hold no rows, only virtual points.

    ``weight``: weight of every node's rows (Y). ``density``: rows per virtual point (Y / N), at most 1: a node with
    fewer virtual points than rows was given as many.
    """

    weight: list[int]
    density: list[float]


def grow_with_virtual_points(values: Float64, weights: Int64, min_split: float) -> VirtualSketch:
    """Grow until no node of ``min_split`` rows has a cut that gains.

    ``values`` (m, d). ``weights`` (m,) int64. ``min_split``: a node with fewer rows is not cut. Returns ``grown``: the
    tree for a larger ``min_split`` is the upper part of it.
    """
    total = int(weights.sum())
    grown = VirtualSketch([np.arange(len(values))], weight=[total], density=[1.0])
    box = np.stack([values.min(axis=0), values.max(axis=0)])
    pending: list[tuple[int, Float64, float, _Sorted | None]] = [(0, box, float(total), None)]
    while pending:
        node, box, virtual, ordered = pending.pop()
        if grown.weight[node] < max(min_split, 1):
            continue
        rows = grown.rows[node]
        if ordered is None:
            ordered = _Sorted(values[rows], weights[rows])
        found = best_virtual_cut(ordered, box, virtual)
        if found is None:
            continue
        feature, position, n_left, cut = found
        goes_left = values[rows, feature] <= cut
        children = grown.split(node, NodeTest(feature, cut), rows[goes_left], rows[~goes_left])
        share = (position - box[0, feature]) / (box[1, feature] - box[0, feature])
        weights_of = (n_left, grown.weight[node] - n_left)
        counts = [max(virtual * part, float(w)) for part, w in zip((share, 1 - share), weights_of, strict=True)]
        grown.weight += weights_of
        grown.density += [w / count if count > 0 else 0.0 for w, count in zip(weights_of, counts, strict=True)]
        for side in (1, 0):
            child_box = box.copy()
            child_box[1 - side, feature] = position
            # The order of the rows stays where a cut only takes empty space away.
            reusable = ordered if weights_of[side] == grown.weight[node] else None
            pending.append((children[side], child_box, counts[side], reusable))
    return grown


class _Sorted:
    """Every column's boundaries: just before and just after every row, in order, and the ends of the box.

    ``inner`` (2 m, d): positions of the boundaries between the ends. ``below`` (2 m + 2, d): weight of the rows below
    each boundary, ends included. ``valid`` (2 m + 2, d) bool: false at the ends, and between rows of equal value.
    """

    def __init__(self, values: Float64, weights: Int64) -> None:
        m, d = values.shape
        order = np.argsort(values, axis=0, kind="stable")
        ordered = np.take_along_axis(values, order, axis=0)
        reached = np.cumsum(weights[order], axis=0).astype(np.float64)
        self.inner = np.repeat(ordered, 2, axis=0)
        self.below = np.zeros((2 * m + 2, d))
        self.below[2:-1:2] = reached
        self.below[3::2] = reached
        self.valid = np.zeros((2 * m + 2, d), dtype=bool)
        changes = ordered[:-1] < ordered[1:]
        self.valid[1] = True
        self.valid[3:-1:2] = changes  # just before a row larger than the one below
        self.valid[2:-2:2] = changes  # just after a row smaller than the one above
        self.valid[2 * m] = True

    def below_cut(self, boundary: int, feature: int) -> float:
        """The largest row value below a boundary; minus infinity when there is none."""
        return -np.inf if boundary < 2 else float(self.inner[2 * (boundary // 2) - 1, feature])


def best_virtual_cut(ordered: _Sorted, box: Float64, virtual: float) -> tuple[int, float, int, float] | None:
    """The cut that borders the sparsest region found by looking ahead up to three cuts in every column.

    ``box`` (2, d): lower and upper end of the node's box in every column. ``virtual``: virtual points in the box.
    Returns ``feature``, ``position``, ``weight``, ``cut``: where the box is cut, the weight of the rows on the left,
    and the largest value among them. None when no cut gains anything. Of equally sparse regions the one with most
    virtual points counts, then the lowest column.
    """
    regions = [_sparsest_region(ordered, feature, box[:, feature], virtual) for feature in range(box.shape[1])]
    found = min((region for region in regions if region is not None), default=None)
    if found is None:
        return None
    _, _, feature, boundary, position = found
    return feature, position, int(ordered.below[boundary, feature]), ordered.below_cut(boundary, feature)


def _sparsest_region(
    ordered: _Sorted, feature: int, box: Float64, virtual: float
) -> tuple[float, float, int, int, float] | None:
    """Density of a column's sparsest region, its virtual points (negative), the column, and the cut that borders it."""
    low, high = box.tolist()
    if low == high:
        return None
    position = np.concatenate([[low], ordered.inner[:, feature], [high]])
    points = (position - low) * (virtual / (high - low))  # below every boundary
    below, valid = ordered.below[:, feature], ordered.valid[:, feature]

    def density(region: tuple[int, int]) -> float:
        start, stop = region
        inside = points[stop] - points[start]
        return float((below[stop] - below[start]) / inside) if inside > 0 else np.inf

    def best_cut(region: tuple[int, int]) -> int:
        """The boundary inside of a region whose cut gains most, the lowest of equals; 0 without a gain."""
        start, stop = region
        rows, n = below[stop] - below[start], points[stop] - points[start]
        y = np.clip(below[start + 1 : stop] - below[start], 0.0, rows)
        x = np.clip(points[start + 1 : stop] - points[start], 0.0, n)
        gain = _disorder(rows, n) - _disorder(y, x) - _disorder(rows - y, n - x)
        gain[~valid[start + 1 : stop]] = -np.inf
        rounding = _NOTHING * (1 + rows + n)
        most = gain.max(initial=-np.inf)
        # The two edges of a gap often gain alike: then the lower one, whatever the last digits say.
        return start + 1 + int((gain >= most - rounding).argmax()) if most > rounding else 0

    region = 0, len(position) - 1
    if not (one := best_cut(region)):
        return None
    # The region that is sparser, then up to two cuts more within it.
    region, chosen = min((0, one), (one, region[1]), key=density), one
    if two := best_cut(region):
        near, far = (min(one, two), max(one, two)), (two, region[1]) if two > one else (region[0], two)
        region, chosen = min(near, far, key=density), two
        if region == near and (three := best_cut(near)):
            region, chosen = min((near[0], three), (three, near[1]), key=density), three
    return density(region), float(points[region[0]] - points[region[1]]), feature, chosen, float(position[chosen])


def _disorder(rows: Float64, points: Float64) -> Float64:
    """Entropy of a mixture of rows and virtual points, in nats, times their number."""
    return np.asarray(xlogy(rows + points, rows + points) - xlogy(rows, rows) - xlogy(points, points))


def prune_sparse(grown: VirtualSketch, *, min_split: float, min_y: float, min_rd: float) -> list[int]:
    """Unite, from the leaves up, what is no cluster of its own.

    ``grown``: grown with this ``min_split`` or a smaller one. ``min_split``: nodes with fewer rows are leaves.
    ``min_y``: a node with fewer rows than these per cent of all is sparse, and a leaf. Two sparse siblings are united.
    ``min_rd``: a dense node absorbs a sibling whose density differs by at most this, in per cent. Returns ``leaves``:
    those that hold rows, from left to right.
    """
    weight, density = np.array(grown.weight), np.array(grown.density)
    sparse = weight < min_y / 100 * weight[0]
    left, right = np.array(grown.left), np.array(grown.right)
    is_leaf = (left < 0) | sparse | (weight < min_split)
    for node in np.flatnonzero(left >= 0)[::-1].tolist():  # children have higher numbers
        a, b = left[node], right[node]
        if is_leaf[a] and is_leaf[b]:
            # 1e-9: 25 % is met by 0.75 and 1 whatever their last digit.
            alike = abs(density[a] - density[b]) <= min_rd / 100 + 1e-9
            is_leaf[node] |= (sparse[a] and sparse[b]) or alike
    return [leaf for leaf in grown.leaves_under(is_leaf) if weight[leaf] > 0]


def finish_pruned(grown: VirtualSketch, leaves: Sequence[int], task: Task) -> GrownTree:
    """The tree of these leaves, or of fewer where they are too many, with their clusters."""
    cluster_of = {leaf: task.best_cluster(grown.rows[leaf]) for leaf in leaves}
    tree, _ = grown.draw(task, cut_back(grown, cluster_of, task.max_leaves))
    label_by_surrogate_cost(tree, task)
    return finish_tree(tree)


def cut_back(grown: VirtualSketch, cluster_of: dict[int, int], max_leaves: int) -> list[int]:
    """Leave no more leaves than wanted: first unite siblings of one cluster, then give up the leaves with fewest rows.

    ``cluster_of``: the leaves, and the cluster of each. Returns ``leaves``: from left to right; all of them where they
    are not too many. A cut with leaves on one side only is meant to be left out: what was on the other side goes with
    them.
    """
    # Of every leaf its cluster and the weight of the leaves united in it.
    leaves = {leaf: (cluster, grown.weight[leaf]) for leaf, cluster in cluster_of.items()}
    while len(leaves) > max_leaves:
        leaves = _with_siblings_united(grown, leaves)
        surplus = len(leaves) - max_leaves
        if surplus > 0:
            # Giving up half of them at a time lets others become siblings.
            smallest = sorted(leaves, key=lambda leaf: (leaves[leaf][1], leaf))[: (surplus + 1) // 2]
            for leaf in smallest:
                del leaves[leaf]
    is_leaf = np.array(grown.left) < 0
    is_leaf[list(leaves)] = True
    return [leaf for leaf in grown.leaves_under(is_leaf) if leaf in leaves]


def _with_siblings_united(sketch: Sketch, leaves: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Put their parent in the place of two leaves of one cluster, from the leaves up; empty sides do not count."""
    united = dict(leaves)
    # What stands for every node: the one leaf in it, -1 for several, None for none.
    stands: list[int | None] = [None] * sketch.n_nodes
    for node in range(sketch.n_nodes - 1, -1, -1):
        if node in leaves:
            stands[node] = node
        elif sketch.left[node] >= 0:
            a, b = stands[sketch.left[node]], stands[sketch.right[node]]
            if a is None or b is None:
                stands[node] = b if a is None else a
            elif a >= 0 and b >= 0 and united[a][0] == united[b][0]:
                cluster, weight = united.pop(a)
                united[node] = cluster, weight + united.pop(b)[1]
                stands[node] = node
            else:
                stands[node] = -1
    return united
