"""Counting the rows of each leaf against a reference clustering."""

import json

import numpy as np

from cutwise.readouts.labeled_tree import LeafCounts, count_leaves
from tests.each import each
from tests.tree.random_trees import random_tree, rows_for

NAMES = ["n_rows", "n_noise", "weight", "agreeing", "cluster_weight"]


def problem(seed, noise=0.2):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves=7, n_clusters=4)
    X = rows_for(tree, rng)
    codes = rng.integers(5, size=len(X))
    codes[rng.random(len(X)) < noise] = -1
    return rng, tree, tree.apply(X), codes


@each("seed", range(5))
@each("weighted", [False, True])
def test_counts_are_those_of_counting_row_by_row(seed, weighted):
    rng, tree, leaf, codes = problem(seed)
    weights = rng.integers(0, 3, size=len(leaf)).astype(float) if weighted else None
    counts = count_leaves(tree, leaf, codes, 5, weights)
    w = np.ones(len(leaf)) if weights is None else weights
    for i, node in enumerate(tree.leaves):
        here = [r for r in range(len(leaf)) if leaf[r] == node and w[r] > 0]
        assert counts.n_rows[i] == sum(1 for r in here if codes[r] >= 0)
        assert counts.n_noise[i] == sum(1 for r in here if codes[r] < 0)
        assert counts.weight[i] == sum(w[r] for r in here if codes[r] >= 0)
        assert counts.agreeing[i] == sum(w[r] for r in here if codes[r] == tree.cluster[node])
    assert counts.cluster_weight.tolist() == [w[codes == code].sum() for code in range(5)]


def test_whole_weights_are_repeated_rows():
    rng, tree, leaf, codes = problem(1)
    times = rng.integers(0, 4, size=len(leaf))
    weighted = count_leaves(tree, leaf, codes, 5, times.astype(float))
    repeated = count_leaves(tree, np.repeat(leaf, times), np.repeat(codes, times), 5)
    for name in ("weight", "agreeing", "cluster_weight"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def test_counts_survive_json_and_cannot_be_written():
    _, tree, leaf, codes = problem(2)
    counts = count_leaves(tree, leaf, codes, 5)
    again = LeafCounts(**json.loads(json.dumps(counts.to_dict(), allow_nan=False)))
    for name in NAMES:
        np.testing.assert_array_equal(getattr(again, name), getattr(counts, name))
        assert not getattr(again, name).flags.writeable
