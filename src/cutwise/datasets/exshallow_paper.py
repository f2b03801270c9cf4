"""The ExShallow paper's example of four trees that part the same clusters, with short and long explanations."""

from __future__ import annotations

import numpy as np

from cutwise.table import check_integer
from cutwise.tree.threshold_tree import ThresholdTree

from .planted import TreeSet, plant

__all__ = ["make_four_trees"]

_SOURCE = "Laber, Murtinho, Oliveira (2023), Shallow decision trees for explainable k-means clustering, Section 1.1"


def make_four_trees(n_clusters: int = 8) -> TreeSet:
    """Clusters of doubling sizes, and four chains of cuts that recover them: depth and explanation size may disagree.

    Parameters
    ----------
    n_clusters : int, default=8
        k, from 3 to 12 (there are ``2**(k + 1) - k - 2`` rows).

    Returns
    -------
    planted : TreeSet
        Cluster i = 1 .. k (label i - 1) has ``2**i - 1`` rows in k columns; all coordinates of its j-th row are
        ``2**(2 * i) + j``. ``trees`` are D1 to D4, each of k - 1 cuts, one a level:

        ==== ============================= ====== ======
        tree level t cuts                  WAD    WAES
        ==== ============================= ====== ======
        D1   column t, smallest cluster    ~ k    ~ k
        D2   first column, largest cluster O(1)   O(1)
        D3   column t, largest cluster     O(1)   O(1)
        D4   first column, smallest one    ~ k    O(1)
        ==== ============================= ====== ======

        where "smallest" and "largest" say which of the clusters left is parted from the others. WAD and WAES are the
        average depth and the average number of non-redundant conditions, weighted by rows.

    References
    ----------
    Laber, Murtinho, Oliveira (2023), Section 1.1.
    """
    why = "Fewer clusters leave the four trees no choice, and sizes double with each (12 clusters: 8178 rows)."
    check_integer("n_clusters", n_clusters, minimum=3, maximum=12, hint=why)
    k = n_clusters
    sizes = [2**i - 1 for i in range(1, k + 1)]
    values = np.concatenate([2.0 ** (2 * i) + np.arange(1, size + 1) for i, size in enumerate(sizes, start=1)])
    flat = plant(np.repeat(values[:, None], k, axis=1), np.repeat(np.arange(k), sizes), source=_SOURCE)
    trees = tuple(
        _chain(sizes, smallest_first=smallest_first, one_column=one_column)
        for smallest_first, one_column in ((True, False), (False, True), (False, False), (True, True))
    )
    return TreeSet(flat.X, flat.labels, flat.centers, flat.cost, flat.objective, flat.lower_bound, flat.source, trees)


def _chain(sizes: list[int], *, smallest_first: bool, one_column: bool) -> ThresholdTree:
    """A tree of k - 1 cuts, one a level, each with a leaf for the smallest or the largest cluster left."""
    k = len(sizes)
    n_nodes = 2 * k - 1
    # Inner node of level t is number 2 (t - 1), its leaf the next, and what is left the one after.
    inner = np.arange(0, n_nodes - 1, 2)
    leaf, rest = inner + 1, inner + 2
    left, right = np.full(n_nodes, -1), np.full(n_nodes, -1)
    left[inner], right[inner] = (leaf, rest) if smallest_first else (rest, leaf)
    level = np.arange(1, k)
    below = level if smallest_first else k - level  # the largest cluster left of the cut
    feature, threshold = np.full(n_nodes, -1), np.full(n_nodes, np.nan)
    feature[inner] = 0 if one_column else level - 1
    threshold[inner] = 2.0 ** (2 * below + 1)
    order = np.arange(k) if smallest_first else np.arange(k)[::-1]
    cluster = np.full(n_nodes, -1)
    cluster[leaf] = order[:-1]
    cluster[n_nodes - 1] = order[-1]
    samples = np.zeros(n_nodes, dtype=np.int64)
    samples[leaf] = np.array(sizes)[order[:-1]]
    samples[n_nodes - 1] = sizes[order[-1]]
    for node in reversed(inner.tolist()):
        samples[node] = samples[node + 1] + samples[node + 2]
    return ThresholdTree.from_unordered(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        cluster=cluster,
        n_features=k,
        n_node_samples=samples,
    )
