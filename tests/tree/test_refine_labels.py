"""Searched trees for labels: few leaves, the heaviest cluster in each, and the same whatever the form of the rows."""

import numpy as np

from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from cutwise.tree.refine_labels import refine_agreement
from tests.each import each
from tests.growth import grow_tree


def problem(seed, n=300, d=4, k=5):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 2)
    labels = (X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k))).argmax(axis=1).astype(np.int32)
    return X, labels


def means(X, labels, weights):
    k = labels.max() + 1
    return np.array([np.average(X[labels == c], axis=0, weights=weights[labels == c]) for c in range(k)])


def searched(X, labels, n_leaves, weights=None, n_jobs=1):
    """The start, and the trees of a search from it, with what they agree on."""
    table = encode_table(read_table(X), weights=weights, merge=False)
    coordinates = means(X.astype(float), labels, np.ones(len(X)) if weights is None else weights)
    start = grow_tree(table, labels, coordinates, None, algorithm="expand", max_leaves=n_leaves, gini=True)
    return start, refine_agreement(table, labels, coordinates, [start], n_leaves, n_jobs=n_jobs)


@each("seed", range(6))
@each("n_rows", [60, 10_000])
def test_leaves_have_their_heaviest_cluster_and_no_fewer_rows_agree(monkeypatch, seed, n_rows):
    monkeypatch.setattr("cutwise.tree.refine_labels.SEARCHED_ROWS", n_rows)
    X, labels = problem(seed)
    start, trees = searched(X, labels, 8)
    for grown in trees:
        leaf = grown.tree.apply(X)
        assert grown.tree.n_leaves <= 8
        for node in grown.tree.leaves:
            counts = np.bincount(labels[leaf == node], minlength=5)
            assert counts[grown.tree.cluster[node]] == counts.max() > 0
    if n_rows > len(X):
        agreement = [np.mean(grown.tree.predict(X) == labels) for grown in (start, *trees)]
        assert max(agreement[1:]) >= agreement[0]


def test_nothing_is_searched_where_columns_and_clusters_leave_no_room_for_bins(monkeypatch):
    assert searched(*problem(0), 8)[1]
    monkeypatch.setattr("cutwise.tree.refine_labels.TABLE_BYTES", 2**12)
    assert searched(*problem(0), 8)[1] == []


def test_the_form_of_the_rows_does_not_show():
    X, labels = problem(3)
    times = np.random.default_rng(0).integers(1, 4, size=len(X))
    order = np.random.default_rng(1).permutation(times.sum())
    expected = searched(X, labels, 9, weights=times)[1]
    repeated = np.repeat(X, times, axis=0)[order], np.repeat(labels, times)[order]
    for other in (searched(*repeated, 9)[1], searched(X, labels, 9, weights=times, n_jobs=3)[1]):
        assert len(other) == len(expected) > 0
        assert all(a.tree.equals(b.tree, counts=False) for a, b in zip(expected, other, strict=True))
