"""Trees with interval tests, grown by ExKMC and Expand: every node against all its cuts, and what must not matter."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest

from cutwise.reference.objective import fixed_costs_from_array
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from cutwise.tree.growing import choose_threshold
from cutwise.tree.surrogate_features import surrogate_features
from cutwise.tree.threshold_tree import ThresholdTree
from tests.each import each
from tests.growth import grow_tree


def problem(seed, *, n=36):
    """Rows with ties and repeats, clusters that are rings or bands, costs that are small integers."""
    rng = np.random.default_rng([17, seed])
    k = int(rng.integers(2, 5))
    X = np.column_stack([rng.integers(-3, 4, n), np.round(rng.normal(size=n), 1), rng.integers(0, 2, n)]).astype(float)
    if seed % 4 == 1:
        X = X[rng.integers(0, n // 3, n)]
    distance = np.abs(X[:, :2]).sum(axis=1)
    labels = np.minimum(np.digitize(distance, [1.2, 2.5, 3.4]), k - 1)
    labels = np.where(rng.random(n) < 0.2, rng.integers(0, k, n), labels)
    labels[:k] = np.arange(k)
    costs = rng.integers(0, 7, (n, k)) + 5 * (labels[:, None] != np.arange(k))
    weights = rng.integers(1, 4, n) if seed % 3 == 0 else np.ones(n, dtype=np.int64)
    return X, labels.astype(np.int32), costs, weights, k


def encode(X, weights, *, merge=False):
    return encode_table(read_table(X), weights=None if (weights == 1).all() else weights, merge=merge)


def grow(X, labels, costs, weights, k, algorithm, max_leaves, *, cuts="interval", n_jobs=1):
    table = encode(X, weights)
    fixed = fixed_costs_from_array(costs.astype(np.float64), weights=table.weights)
    return grow_tree(
        table, labels, np.zeros((k, X.shape[1])), fixed, algorithm=algorithm, max_leaves=max_leaves,
        cuts=cuts, n_jobs=n_jobs,
    )  # fmt: skip


def all_tests(X, rows):
    """Every test of a node: one-sided or not, column, lower and upper end (left values of their gaps), rows inside."""
    for feature in range(X.shape[1]):
        column = X[rows, feature]
        ends = np.unique(column)[:-1]
        for upper in ends:
            yield False, feature, -math.inf, upper, column <= upper
            for lower in ends[ends < upper]:
                yield True, feature, lower, upper, (column > lower) & (column <= upper)


def least(costs):
    return int(costs.sum(axis=0).min())


def check_growth(trees, X, costs):
    """Each tree splits the leaf of the one before that gains most, by its best test, one-sided before interval."""
    for before, after in pairwise(trees):
        leaf_before, leaf_after = before.leaf_of_row, after.leaf_of_row
        gains = {}
        for leaf in before.tree.leaves:
            rows = np.flatnonzero(leaf_before == leaf)
            now = int(costs[rows, before.tree.cluster[leaf]].sum())
            scored = [
                (least(costs[rows[inside]]) + least(costs[rows[~inside]]), *key) for *key, inside in all_tests(X, rows)
            ]
            gains[leaf] = (now - min(scored)[0], min(scored)) if scored else (0, None)
        best = max(gain for gain, _ in gains.values())
        if after.tree.n_leaves == before.tree.n_leaves:
            assert best <= 0
            return
        parted = [leaf for leaf in gains if len(set(leaf_after[leaf_before == leaf])) == 2]
        assert len(parted) == 1
        gain, (_, is_interval, feature, lower, upper) = gains[parted[0]]
        assert gain == best > 0
        rows = np.flatnonzero(leaf_before == parted[0])
        node = after.tree.parents[leaf_after[rows[0]]]
        assert after.tree.feature[node] == feature
        assert np.isfinite(after.tree.lower[node]) == is_interval
        assert after.gaps[node, 0] == upper
        assert not is_interval or after.gaps[node, 2] == lower
        for child in (after.tree.children_left[node], after.tree.children_right[node]):
            totals = costs[leaf_after == child].sum(axis=0)
            assert after.tree.cluster[child] == totals.argmin()


@pytest.mark.parametrize("algorithm", ["exkmc", "expand"])
@each("seed", range(8))
def test_every_leaf_is_split_by_the_best_of_all_intervals_and_thresholds(seed, algorithm):
    X, labels, costs, weights, k = problem(seed)
    trees = [grow(X, labels, costs, weights, k, algorithm, m) for m in range(1, 6)]
    assert trees[-1].tree.n_leaves >= 3
    if algorithm == "expand":
        costs = (labels[:, None] != np.arange(k)).astype(int)
    check_growth(trees, X, costs * weights[:, None])


@pytest.mark.parametrize("seed", range(4))
def test_intervals_never_cost_more_than_thresholds_at_the_first_split(seed):
    X, labels, costs, weights, k = problem(seed)
    costs_of = {}
    for cuts in ("threshold", "interval"):
        grown = grow(X, labels, costs, weights, k, "exkmc", 2, cuts=cuts)
        costs_of[cuts] = (costs * weights[:, None])[np.arange(len(X)), grown.tree.cluster[grown.leaf_of_row]].sum()
    assert costs_of["interval"] <= costs_of["threshold"]


def kernel_tree(X, labels, costs, weights, k, *, features=None, n_jobs=1, merge=False, **options):
    table = encode(X, weights, merge=merge)
    taken = slice(None) if table.row_of is None else table.row_of
    fixed = fixed_costs_from_array(costs[taken].astype(np.float64), weights=table.weights)
    return grow_tree(
        table, labels[taken], np.zeros((k, X.shape[1])), fixed, algorithm="kernel_imm",
        features=features or surrogate_features("rbf", gamma=0.5)["kernel"],
        **{"max_leaves": k + 3, "n_jobs": n_jobs, "cuts": "interval"} | options,
    )  # fmt: skip


def every_growth(X, labels, costs, weights, k, n_jobs=1):
    yield grow(X, labels, costs, weights, k, "exkmc", 6, n_jobs=n_jobs)
    yield grow(X, labels, costs, weights, k, "expand", 6, n_jobs=n_jobs)
    yield kernel_tree(X, labels, costs, weights, k, n_jobs=n_jobs)
    taylor = surrogate_features("rbf", gamma=0.3)["taylor"]
    yield kernel_tree(X, labels, costs, weights, k, n_jobs=n_jobs, features=taylor, expansion="expand")


@pytest.mark.parametrize("n", [36, 2500])
def test_neither_threads_nor_the_order_of_rows_change_a_tree(n):
    for seed in range(3 if n < 100 else 1):
        X, labels, costs, weights, k = problem(seed, n=n)
        if n > 1000:  # columns of more than 1,000 values are searched in groups
            X[:, 1] = np.random.default_rng(seed).normal(size=n)
        shuffled = np.random.default_rng(seed).permutation(n)
        given = X, labels, costs, weights
        for one, two, four, other in zip(
            every_growth(*given, k),
            every_growth(*given, k, n_jobs=2),
            every_growth(*given, k, n_jobs=4),
            every_growth(*(array[shuffled] for array in given), k),
            strict=True,
        ):
            assert np.isfinite(one.tree.lower).any()
            for again in (two, four, other):
                assert one.tree.equals(again.tree)
                np.testing.assert_array_equal(one.gaps, again.gaps)
            np.testing.assert_array_equal(one.leaf_of_row[shuffled], other.leaf_of_row)


def test_features_that_do_not_fit_in_memory_together_give_the_same_tree(monkeypatch):
    for seed in range(3):
        given = problem(seed)
        grown = kernel_tree(*given)
        with monkeypatch.context() as patch:
            patch.setattr("cutwise.tree.criteria.feature_mistakes._FEATURE_BYTES", 100)
            assert kernel_tree(*given).tree.equals(grown.tree)


def test_a_weight_is_a_repeated_row():
    for seed in (0, 3, 6):
        X, labels, costs, weights, k = problem(seed)
        repeated = np.repeat(np.arange(len(X)), weights)
        ones = np.ones(len(repeated), dtype=np.int64)
        for weighted, plain in zip(
            every_growth(X, labels, costs, weights, k),
            every_growth(X[repeated], labels[repeated], costs[repeated], ones, k),
            strict=True,
        ):
            assert weighted.tree.equals(plain.tree, counts=False)


def test_merged_rows_are_counted_as_often_as_they_come():
    X, labels, costs, _, k = problem(1, n=60)
    _, first, labels_of = np.unique(X, axis=0, return_index=True, return_inverse=True)
    labels, costs = labels[first][labels_of.ravel()], costs[first][labels_of.ravel()]
    k = int(labels.max()) + 1
    ones = np.ones(len(X), dtype=np.int64)
    merged = kernel_tree(X, labels, costs[:, :k], ones, k, merge=True)
    plain = kernel_tree(X, labels, costs[:, :k], ones, k)
    assert len(merged.leaf_of_row) < len(X)
    assert merged.tree.equals(plain.tree)
    np.testing.assert_array_equal(merged.tree.n_node_samples[merged.tree.leaves].sum(), len(X))


def test_both_ends_of_an_interval_are_placed_in_their_gaps():
    for seed in range(4):
        X, labels, costs, weights, k = problem(seed)
        for grown in every_growth(X, labels, costs, weights, k):
            tree = grown.tree
            assert grown.gaps.shape == (tree.n_nodes, 4)
            np.testing.assert_array_equal(np.isnan(grown.gaps[:, 0]), tree.feature < 0)
            np.testing.assert_array_equal(np.isfinite(grown.gaps[:, 2]), np.isfinite(tree.lower))
            np.testing.assert_array_equal(grown.leaf_of_row, tree.apply(X))
            for node in np.flatnonzero(tree.feature >= 0):
                column = X[rows_of(tree, X, node), tree.feature[node]]
                for end, gap in (
                    (tree.threshold[node], grown.gaps[node, :2]),
                    (tree.lower[node], grown.gaps[node, 2:]),
                ):
                    if np.isfinite(end):
                        assert gap.tolist() == [column[column <= end].max(), column[column > end].min()]
                        assert end == choose_threshold(*gap)


def rows_of(tree, X, wanted):
    """The rows that reach a node."""
    inside = tree.apply(X)
    for node in range(tree.n_nodes - 1, wanted, -1):  # children come after their parents
        inside[inside == node] = tree.parents[node]
    return inside == wanted


def test_every_test_of_a_kernel_tree_is_one_interval_around_a_value_of_one_column():
    # Theorems 3 and 5: a level of h(|x - a|) parts the values within a distance of a from the others.
    for seed in range(5):
        X, labels, costs, weights, k = problem(seed)
        tree = kernel_tree(X, labels, costs, weights, k, max_leaves=k).tree
        for node in np.flatnonzero(tree.feature >= 0):
            values = X[:, tree.feature[node]]
            column = values[rows_of(tree, X, node)]
            inside = (column > tree.lower[node]) & (column <= tree.threshold[node])
            assert any(
                np.abs(column[near] - anchor).max() < np.abs(column[~near] - anchor).min()
                for anchor in np.unique(values)
                for near in (inside, ~inside)
            )


def test_a_tree_with_intervals_comes_back_from_json():
    X, labels, costs, weights, k = problem(2)
    tree = grow(X, labels, costs, weights, k, "exkmc", 6).tree
    assert np.isfinite(tree.lower).any()
    assert ThresholdTree.from_dict(json.loads(json.dumps(tree.to_dict()))).equals(tree)
