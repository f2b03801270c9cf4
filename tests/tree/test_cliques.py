"""SpEx on the clique graph, against its definition: pairs of rows of one cluster are edges, and all cuts are tried."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import sparse

from cutwise import ClusterExplainer
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from tests.each import each
from tests.growth import grow_tree


def conductance(side, labels):
    """Edges from the rows of a side to others, and edges at them: rows of one cluster are neighbors."""
    adjacent = (labels[:, None] == labels) & ~np.eye(len(labels), dtype=bool)
    inside = np.isin(np.arange(len(labels)), side)
    degree = int(adjacent[inside].sum())
    return Fraction(int(adjacent[np.ix_(inside, ~inside)].sum()), degree) if degree else Fraction(0)


def best_cut(rows, X, labels):
    """Score, column and left end of the gap of the best cut of some rows; None for rows of one cluster."""
    if len(np.unique(labels[rows])) < 2:
        return None
    cuts = [
        (conductance(rows[left := X[rows, f] <= value], labels) + conductance(rows[~left], labels), f, value)
        for f in range(X.shape[1])
        for value in np.unique(X[rows, f])[:-1]
    ]
    return min(cuts, default=None)


def naive_leaves(X, labels, n_leaves):
    """The rows of every leaf, of trees of 1, 2, ... leaves."""
    leaves = [np.arange(len(X))]
    yield leaves
    while len(leaves) < n_leaves:
        cuts = [(best_cut(rows, X, labels), i) for i, rows in enumerate(leaves)]
        open_leaves = [(cut[0] - conductance(leaves[i], labels), i, cut) for cut, i in cuts if cut is not None]
        if not open_leaves:
            return
        _, i, (_, feature, value) = min(open_leaves, key=lambda leaf: leaf[:2])
        rows = leaves[i]
        left = X[rows, feature] <= value
        leaves = [*leaves[:i], *leaves[i + 1 :], rows[left], rows[~left]]
        yield leaves


@each("seed", range(12))
def test_the_tree_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    X = rng.integers(0, 6, size=(24, 3)).astype(float) if seed % 2 else rng.normal(size=(24, 3))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, 24 - k)]).astype(np.int32)
    if seed % 3 == 0:
        labels[labels == k - 1] = 0
        labels[-1] = k - 1  # a cluster of one row has no edges
    table = encode_table(read_table(X), merge=False)
    for leaves in naive_leaves(X, labels, 7):
        grown = grow_tree(table, labels, np.zeros((k, 3)), None, algorithm="spex", max_leaves=len(leaves))
        mine = {tuple(np.flatnonzero(grown.leaf_of_row == leaf)) for leaf in np.unique(grown.leaf_of_row)}
        assert mine == {tuple(rows) for rows in leaves}
        for leaf in grown.tree.leaves:
            counts = np.bincount(labels[grown.leaf_of_row == leaf], minlength=k)
            assert grown.tree.cluster[leaf] == counts.argmax()


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(0)
    X, labels, weights = rng.integers(0, 5, (40, 3)), rng.integers(0, 4, 40), rng.integers(1, 4, 40)
    weighted = ClusterExplainer(7, algorithm="spex").fit(X, labels, sample_weight=weights)
    repeated = ClusterExplainer(7, algorithm="spex").fit(np.repeat(X, weights, axis=0), np.repeat(labels, weights))
    assert weighted.tree_.equals(repeated.tree_, counts=False)


@each("seed", range(6))
def test_a_sparse_table_has_the_tree_of_the_dense_one(seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((60, 1100)) < (0.05, 0.5, 0.99)[seed % 3], rng.integers(-2, 4, (60, 1100)), 0)
    labels, weights = rng.integers(0, 4, 60), rng.integers(1, 4, 60)
    model = ClusterExplainer(9, algorithm="spex", min_samples_leaf=1 + seed // 3)
    dense = model.fit(X, labels, sample_weight=weights).tree_
    assert model.fit(sparse.csr_array(X), labels, sample_weight=weights).tree_.equals(dense)
