"""Random trees, chains, and the plain walk that says what a tree means."""

import numpy as np

from cutwise.tree.threshold_tree import ThresholdTree


def random_tree(rng, *, n_leaves=6, n_features=3, n_clusters=None, intervals=0.0, values=None):
    """A tree whose thresholds come from ``values`` (small integers and halves by default), with row counts of zero."""
    values = np.arange(-3, 3.5, 0.5) if values is None else np.sort(np.asarray(values, dtype=float))
    left, right, feature, threshold, lower = [-1], [-1], [-1], [np.nan], [-np.inf]
    leaves = [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(int(rng.integers(len(leaves))))
        low, high = np.sort(rng.choice(values, size=2, replace=False))
        left[node], right[node] = len(left), len(left) + 1
        feature[node], threshold[node] = int(rng.integers(n_features)), high
        lower[node] = low if rng.random() < intervals else -np.inf
        leaves += [len(left), len(left) + 1]
        for column, default in ((left, -1), (right, -1), (feature, -1), (threshold, np.nan), (lower, -np.inf)):
            column += [default, default]
    cluster = np.full(len(left), -1)
    codes = np.arange(n_leaves) if n_clusters is None else rng.integers(n_clusters, size=n_leaves)
    cluster[leaves] = rng.permutation(codes)
    return ThresholdTree.from_unordered(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        lower=lower,
        cluster=cluster,
        n_features=n_features,
    )


def chain(depth, *, to_the_left=False):
    """A tree as deep as it has tests, all on one column: leaf ``i`` holds ``i < x <= i + 1``, cluster ``i``."""
    inner = np.arange(depth)
    node = 2 * inner  # each inner node is followed by a leaf, then by the next inner node
    m = 2 * depth + 1
    left, right, cluster = (np.full(m, -1) for _ in range(3))
    threshold = np.full(m, np.nan)
    if to_the_left:
        left, right = np.full(m, -1), np.full(m, -1)
        left[:depth] = inner + 1
        right[:depth] = m - 1 - inner
        threshold[:depth] = depth - inner
        cluster[depth:] = np.arange(depth + 1)
        feature = np.where(np.arange(m) < depth, 0, -1)
    else:
        left[node], right[node] = node + 1, node + 2
        threshold[node] = inner + 1.0
        cluster[node + 1] = inner
        cluster[m - 1] = depth
        feature = np.full(m, -1)
        feature[node] = 0
    return ThresholdTree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        lower=np.full(m, -np.inf),
        cluster=cluster,
        n_node_samples=np.zeros(m, dtype=int),
        n_node_mistakes=np.zeros(m, dtype=int),
        n_features=1,
    )


def rows_for(tree, rng, n_rows=200):
    """Rows at random, and rows lying on thresholds and one float to each side of them."""
    cuts = np.concatenate(
        [tree.threshold[tree.threshold == tree.threshold], tree.lower[np.isfinite(tree.lower)], [0.0]]
    )
    pool = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), cuts - 0.25, cuts + 1e6])
    return rng.choice(pool, size=(n_rows, tree.n_features))


def naive_apply(tree, X):
    """One row at a time, as the docstring says: left when lower < x <= threshold."""
    leaves = []
    for row in np.asarray(X):
        node = 0
        while tree.children_left[node] != -1:
            inside = tree.lower[node] < float(row[tree.feature[node]]) <= tree.threshold[node]
            node = tree.children_left[node] if inside else tree.children_right[node]
        leaves.append(node)
    return np.array(leaves, dtype=np.int32)
