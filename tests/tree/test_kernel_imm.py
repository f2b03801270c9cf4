"""Kernel IMM against an explicit twin that forms every surrogate feature of every row and tries every level."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from cutwise.exceptions import InvalidInputError
from cutwise.reference.objective import fixed_costs_from_array
from cutwise.table.intake import read_table
from cutwise.table.table import encode_table
from cutwise.tree.surrogate_features import (
    chi_squared_features,
    hellinger_features,
    intersection_features,
    surrogate_features,
    taylor_features,
)
from tests.growth import grow_tree


def valleys_and_waves(values, exact):
    """Features of other shapes: some cuts leave an interval below the level, some leave no interval at all."""
    return np.array([np.abs(values), np.cos(2 * values), -np.minimum(values**2, 2.0)])


def rbf_features(gamma):
    return surrogate_features("rbf", gamma=gamma)["kernel"]


FAMILIES = {
    "valleys and waves": valleys_and_waves,
    "taylor": partial(taylor_features, gamma=0.3),
    "taylor, unshifted": partial(taylor_features, gamma=0.3, shift=False),
    "rbf": rbf_features(0.4),
    "laplacian": surrogate_features("laplacian", gamma=0.7)["kernel"],
    "hellinger": hellinger_features,
    "intersection": partial(intersection_features, beta=0.8),
    "chi2": partial(chi_squared_features, n_terms=4),
}
NON_NEGATIVE = {"hellinger", "intersection", "chi2"}


def materialized(family, X, labels, weights, k):
    """Per column: the features of every row, (n_features, n), and the centers in them, (n_features, k)."""
    found = []
    for column in X.T:
        values, position = np.unique(column, return_inverse=True)
        at_values = family(values, True)
        centers = np.zeros((len(at_values), k))
        for c in range(k):
            weight = np.bincount(position[labels == c], weights[labels == c], len(values))
            for j, feature in enumerate(at_values):
                total = 0.0
                for value, w in zip(feature, weight, strict=True):  # in the order of the values, to the same bits
                    total += value * w
                centers[j, c] = total / weight.sum()
        found.append((at_values[:, position], centers))
    return found


def is_interval(column, inside):
    """Whether no other row of the node lies between the rows of a side."""
    low, high = column[inside].min(), column[inside].max()
    return not ((column[~inside] > low) & (column[~inside] < high)).any()


def levels_of(held_values, centers, any_level):
    """The levels tried: half way between neighboring values, or wherever centers between them can be parted."""
    for below, above in pairwise(np.unique(held_values)):
        if not any_level:
            yield above / 2 + below / 2
        else:
            for at in np.unique([above, *centers[(centers > below) & (centers < above)]]):
                yield np.nextafter(at, below)


def twin_cuts(features, X, rows, held, labels, weights, survivors, *, one_sided=False, any_level=False):
    """Every cut of a node: mistakes, column, feature, the rows above the level, the survivors above it."""
    for f, (of_rows, centers) in enumerate(features):
        column = X[rows, f]
        for j, feature in enumerate(of_rows[:, rows]):
            center = centers[j, survivors]
            for level in levels_of(feature[held], center, any_level):
                above, center_above = feature > level, center > level
                if center_above.all() or not center_above.any():
                    continue
                sides = [is_interval(column, side) for side in (above, ~above)]
                if not (all(sides) if one_sided else any(sides)):
                    continue
                own_above = np.isin(labels[rows], survivors[center_above])
                mistakes = weights[rows][held & (own_above != above)].sum()
                yield mistakes, f, j, above, survivors[center_above]


def check_tree(grown, family, X, labels, weights, k, *, one_sided=False):
    """Every cut has the fewest mistakes of all, and of those the first position; leaves hold the survivors."""
    tree = grown.tree
    features = materialized(family, X, labels, weights, k)
    held = np.ones(len(X), dtype=bool)
    pending = [(0, np.arange(len(X)), np.unique(labels))]
    n_fallbacks = 0
    while pending:
        node, rows, survivors = pending.pop()
        if tree.feature[node] < 0:
            assert (grown.leaf_of_row[rows] == node).all()
            assert tree.cluster[node] == survivors[0]
            assert len(survivors) == 1 or any(set(survivors) == set(group) for group in grown.inseparable)
            continue
        cuts = []
        for any_level in (False, True):
            cuts = cuts or list(
                twin_cuts(
                    features, X, rows, held[rows], labels, weights, survivors, one_sided=one_sided, any_level=any_level
                )
            )
        inside = (X[rows, tree.feature[node]] > tree.lower[node]) & (
            X[rows, tree.feature[node]] <= tree.threshold[node]
        )
        if not cuts:
            n_fallbacks += 1
            below = subtree_clusters(tree, tree.children_left[node])
        else:
            fewest = min(cut[0] for cut in cuts)
            assert tree.n_node_mistakes[node] == fewest
            best = [cut[1:] for cut in cuts if cut[0] == fewest]
            column, feature = min(cut[:2] for cut in best)
            below = subtree_clusters(tree, tree.children_left[node])
            matching = [
                cut
                for cut in best
                if cut[0] == tree.feature[node] == column
                and (
                    (np.array_equal(cut[2], inside) and set(cut[3]) == below)
                    or (np.array_equal(~cut[2], inside) and set(survivors) - set(cut[3]) == below)
                )
            ]
            assert matching
            assert min(cut[1] for cut in matching) == feature
        left = np.array(sorted(below))
        right = np.setdiff1d(survivors, left)
        for child, side, centers in (
            (tree.children_left[node], rows[inside], left),
            (tree.children_right[node], rows[~inside], right),
        ):
            held[side] &= np.isin(labels[side], centers)
            pending.append((child, side, centers))
    return n_fallbacks


def subtree_clusters(tree, root):
    found, pending = set(), [root]
    while pending:
        node = pending.pop()
        if tree.feature[node] < 0:
            found.add(int(tree.cluster[node]))
        else:
            pending += [tree.children_left[node], tree.children_right[node]]
    return found


def problem(seed, *, non_negative, n=40):
    rng = np.random.default_rng([11, seed])
    k = int(rng.integers(2, 5))
    X = np.column_stack([rng.integers(-4, 5, n), np.round(rng.normal(size=n), 1), rng.normal(size=n)]).astype(float)
    if non_negative:
        X = np.abs(X)
    # Clusters that are bands of a column, and some rows of any cluster.
    labels = np.digitize(X[:, seed % 3], np.quantile(X[:, seed % 3], np.linspace(0, 1, k + 1)[1:-1])) % k
    labels = np.where(rng.random(n) < 0.2, rng.integers(0, k, n), (labels * [1, 2][k % 2 and seed % 2]) % k)
    labels[:k] = np.arange(k)
    weights = rng.integers(1, 4, n) if seed % 3 == 0 else np.ones(n, dtype=np.int64)
    costs = rng.integers(0, 9, (n, k)) if seed % 3 else np.ones((n, k), dtype=int)  # where they settle nothing
    return X, labels.astype(np.int32), weights, costs, k


def grow(X, labels, weights, costs, k, family, **options):
    table = encode_table(read_table(X), weights=None if (weights == 1).all() else weights, merge=False)
    fixed = fixed_costs_from_array(costs.astype(np.float64), weights=table.weights)
    options = {"max_leaves": k, "cuts": "interval"} | options
    nowhere = np.zeros((k, X.shape[1]))
    return grow_tree(table, labels, nowhere, fixed, algorithm="kernel_imm", features=family, **options)


@pytest.mark.parametrize("cuts", ["interval", "threshold"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_cut_has_the_fewest_mistakes_of_all_levels_of_all_features(family, cuts):
    for seed in range(3):
        X, labels, weights, costs, k = problem(seed, non_negative=family in NON_NEGATIVE, n=24 + 4 * seed)
        grown = grow(X, labels, weights, costs, k, FAMILIES[family], cuts=cuts)
        try:
            assert grown.tree.n_leaves == k
            assert sorted(grown.tree.cluster[grown.tree.leaves]) == list(range(k))
            check_tree(grown, FAMILIES[family], X, labels, weights, k, one_sided=cuts == "threshold")
            assert np.array_equal(grown.leaf_of_row, grown.tree.apply(X))
            if cuts == "threshold" or family in ("hellinger", "intersection"):
                assert np.isneginf(grown.tree.lower).all()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def grouped_by_weight(column, weights, n_groups):
    """Every value as the median of its group: runs of values that hold a share of the weight each."""
    values, position = np.unique(column, return_inverse=True)
    mass = np.bincount(position, weights).astype(np.int64)
    share = -(-mass.sum() // n_groups)
    groups, filled = [[]], 0
    for i, m in enumerate(mass):
        if m >= share and groups[-1]:
            groups.append([])
            filled = 0
        groups[-1].append(i)
        filled += m
        if filled >= share:
            groups.append([])
            filled = 0
    median = np.empty(len(values))
    for group in filter(None, groups):
        passed = mass[group].cumsum()
        median[group] = values[group[int((passed < -(-passed[-1] // 2)).sum())]]
    return median[position]


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_of_many_values_are_cut_between_groups(weighted):
    rng = np.random.default_rng(3)
    n, k = 3000, 3
    column = np.concatenate([rng.normal(2, 1, n - 400), np.full(400, 2.75)])
    labels = np.digitize(column, [1.1, 3.02]) % k
    labels = np.where(rng.random(n) < 0.05, rng.integers(0, k, n), labels).astype(np.int32)
    weights = rng.integers(1, 4, n) if weighted else np.ones(n, dtype=np.int64)
    X = grouped_by_weight(column, weights, 512)[:, None]
    assert 400 < len(np.unique(X)) < 600
    family = partial(taylor_features, gamma=0.2)
    grown = grow(column[:, None], labels, weights, np.ones((n, k)), k, family)
    tree = grown.tree
    features = materialized(family, X, labels, weights, k)
    everything = np.arange(n), np.ones(n, dtype=bool)
    cuts = list(twin_cuts(features, X, *everything, labels, weights, np.arange(k)))
    fewest = min(cut[0] for cut in cuts)
    assert tree.n_node_mistakes[0] == fewest
    inside = (column > tree.lower[0]) & (column <= tree.threshold[0])
    assert any(
        np.array_equal(above, inside) or np.array_equal(above, ~inside) for m, *_, above, _ in cuts if m == fewest
    )


def up_and_down(values, exact):
    """The values themselves, then their negatives: the same cuts in opposite order."""
    return np.array([values, -values])


def test_equally_good_cuts_go_to_the_lowest_column_then_feature_then_level():
    labels = np.array([0, 0, 0, 1, 0, 1, 1, 1], dtype=np.int32)  # cut after 3 or after 5: one mistake
    X = np.column_stack([np.zeros(8), np.arange(8.0), np.arange(8.0)])
    grown = grow(X, labels, np.ones(8, dtype=np.int64), np.ones((8, 2)), 2, up_and_down)
    assert grown.tree.n_node_mistakes[0] == 1
    assert (grown.tree.feature[0], grown.gaps[0, :2].tolist()) == (1, [2.0, 3.0])


def test_centers_on_one_side_of_every_middle_are_parted_where_they_lie():
    # Both centers lie nearer to 0 than to 9, in the one gap that there is.
    X = np.array([0.0, 0.0, 0.0, 9.0, 0.0, 9.0, 0.0])[:, None]
    labels = np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.int32)
    ones = np.ones(7, dtype=np.int64)
    grown = grow(X, labels, ones, np.ones((7, 2)), 2, hellinger_features)
    tree = grown.tree
    assert tree.cluster[tree.leaves].tolist() == [0, 1]  # the center of 1 is the higher one
    assert tree.n_node_mistakes[0] == 3
    assert check_tree(grown, hellinger_features, X, labels, ones, 2) == 0


def test_a_cluster_whose_rows_are_gone_or_alike_is_cut_off_between_the_means():
    # The first cut takes one row of cluster 2 away; what is left of it is equal to the rows of cluster 0.
    X = np.array([0.0, 0.0, 0.0, 9.0, 9.0, 0.0, 9.0])[:, None]
    labels = np.array([0, 0, 0, 1, 1, 2, 2], dtype=np.int32)
    ones = np.ones(7, dtype=np.int64)
    grown = grow(X, labels, ones, np.ones((7, 3)), 3, hellinger_features)
    tree = grown.tree
    assert sorted(tree.cluster[tree.leaves]) == [0, 1, 2]
    assert not grown.inseparable
    assert tree.n_node_mistakes.tolist() == [1, 1, 0, 0, 0]
    empty = tree.leaves[tree.cluster[tree.leaves] == 2]
    assert tree.n_node_samples[empty] == 0
    assert check_tree(grown, hellinger_features, X, labels, ones, 3) == 1


def test_clusters_that_no_column_tells_apart_share_a_leaf():
    X = np.array([0.0, 0.0, 5.0, 5.0])[:, None]
    labels = np.array([0, 1, 2, 2], dtype=np.int32)
    grown = grow(X, labels, np.ones(4, dtype=np.int64), np.ones((4, 3)), 3, rbf_features(1.0))
    assert grown.inseparable == [(0, 1)]
    assert grown.tree.n_leaves == 2


def test_a_cluster_without_rows_gets_no_leaf():
    X = np.array([0.0, 1.0, 5.0, 6.0])[:, None]
    labels = np.array([0, 0, 2, 2], dtype=np.int32)
    grown = grow(X, labels, np.ones(4, dtype=np.int64), np.ones((4, 3)), 3, rbf_features(1.0))
    assert sorted(grown.tree.cluster[grown.tree.leaves]) == [0, 2]


def test_values_outside_of_a_kernel_are_named():
    X = np.array([[0.5], [-1.0]])
    with pytest.raises(InvalidInputError, match="Hellinger"):
        grow(X, np.array([0, 1], dtype=np.int32), np.ones(2, dtype=np.int64), np.ones((2, 2)), 2, hellinger_features)


def test_every_kind_of_features_of_a_kernel_grows_a_tree():
    X, labels, weights, costs, k = problem(1, non_negative=True)
    for kernel in ("rbf", "laplacian", "hellinger", "histogram_intersection", "additive_chi2"):
        for family in surrogate_features(kernel, gamma=0.3).values():
            assert grow(X, labels, weights, costs, k, family).tree.n_leaves == k
