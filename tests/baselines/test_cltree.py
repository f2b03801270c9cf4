"""CLTree's growth and pruning worked by hand and by a plain twin, and what it finds."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from cutwise import ExplainableKMeans
from cutwise.baselines import CLTREE_GRID, CLTree
from cutwise.baselines.cltree import (
    VirtualSketch,
    _Sorted,
    best_virtual_cut,
    cut_back,
    grow_with_virtual_points,
    prune_sparse,
)
from cutwise.exceptions import InvalidInputError
from cutwise.tree.threshold_tree import NodeTest

# Two even runs of 31 rows, from 0 to 3 and from 7 to 10.
TWO_RUNS = np.concatenate([np.linspace(0, 3, 31), np.linspace(7, 10, 31)])[:, None]
ONES = np.ones(62, dtype=np.int64)


def test_the_cut_borders_the_empty_stretch():
    # Just after 3 and just before 7 gain alike; the look-ahead takes the other edge of the gap. Nothing is in between.
    found = best_virtual_cut(_Sorted(TWO_RUNS, ONES), np.array([[0.0], [10.0]]), 62.0)
    assert found == (0, 7.0, 31, 3.0)


def test_children_inherit_virtual_points_by_width_and_never_have_fewer_than_rows():
    grown = grow_with_virtual_points(TWO_RUNS, ONES, min_split=32)
    left, right = grown.left[0], grown.right[0]
    # The left box, 0 to 7, has 0.7 of 62 virtual points; the right one inherits 18.6 and is given 31.
    assert grown.weight[left] == grown.weight[right] == 31
    assert grown.density[left] == pytest.approx(31 / 43.4)
    assert grown.density[right] == 1
    assert grown.left[left] == grown.left[right] == -1  # fewer rows than min_split


def test_empty_space_is_cut_away_and_parts_no_rows():
    # With min_split 31 the left box is cut again, at 3, and its right part holds nothing.
    grown = grow_with_virtual_points(TWO_RUNS, ONES, min_split=31)
    left = grown.left[0]
    assert grown.weight[grown.right[left]] == 0
    assert grown.density[grown.right[left]] == 0
    assert grown.rows[grown.left[left]].tolist() == list(range(31))
    model = CLTree(2, min_split=31, reference=[[1.5], [8.5]]).fit(TWO_RUNS)
    assert model.n_leaves_ == 2
    assert model.tree_.threshold[0] == 5


def plain_best_cut(X, weights, box, virtual):
    """The definition, one boundary at a time."""
    candidates = []
    for j in range(X.shape[1]):
        low, high = box[:, j]
        if low == high:
            continue
        edges = [(low, 0)]
        for value in np.unique(X[:, j]).tolist():
            edges.append((value, int(weights[X[:, j] < value].sum())))
            edges.append((value, int(weights[X[:, j] <= value].sum())))
        edges.append((high, int(weights.sum())))

        def content(a, b, edges=edges, width=high - low):
            return edges[b][1] - edges[a][1], (edges[b][0] - edges[a][0]) / width * virtual

        def entropy(y, n):
            return -sum(p / (y + n) * math.log(p / (y + n)) for p in (y, n) if p > 0) if y + n > 0 else 0.0

        def gain(a, b, c, content=content, entropy=entropy):
            whole, one, two = content(a, c), content(a, b), content(b, c)
            return entropy(*whole) - sum(sum(part) / sum(whole) * entropy(*part) for part in (one, two))

        def best(a, c, gain=gain, content=content):
            options = [
                (-round(gain(a, b, c) * sum(content(a, c)), 7), b)
                for b in range(a + 1, c)
                if sum(content(a, b)) > 0 and sum(content(b, c)) > 0 and gain(a, b, c) * sum(content(a, c)) > 1e-7
            ]
            return min(options)[1] if options else None

        def density(a, b, content=content):
            y, n = content(a, b)
            return y / n if n > 0 else math.inf

        first, last = 0, len(edges) - 1
        one = best(first, last)
        if one is None:
            continue
        a, c = (first, one) if density(first, one) <= density(one, last) else (one, last)
        chosen, region = one, (a, c)
        two = best(a, c)
        if two is not None:
            near, far = (sorted((one, two)), (two, c) if two > one else (a, two))
            if density(*near) <= density(*far):
                chosen, region = two, tuple(near)
                three = best(*near)
                if three is not None:
                    sides = [(near[0], three), (three, near[1])]
                    chosen, region = three, sides[0] if density(*sides[0]) <= density(*sides[1]) else sides[1]
            else:
                chosen, region = two, far
        candidates.append((density(*region), -content(*region)[1], j, edges[chosen]))
    return min(candidates, default=None)


def test_the_search_equals_its_definition_boundary_by_boundary():
    rng = np.random.default_rng(0)
    for trial in range(150):
        X = rng.integers(0, 30, (rng.integers(2, 14), 2)).astype(float) + (trial % 2) * rng.uniform(size=2)
        weights = rng.integers(1, 4, len(X))
        box = np.stack([X.min(axis=0) - rng.integers(0, 3, 2), X.max(axis=0) + rng.integers(0, 3, 2)])
        virtual = float(weights.sum() * rng.uniform(1, 3))
        found, plain = best_virtual_cut(_Sorted(X, weights), box, virtual), plain_best_cut(X, weights, box, virtual)
        assert (found is None) == (plain is None), trial
        if found is not None:
            feature, position, weight, _ = found
            assert (feature, position, weight) == (plain[2], *plain[3]), trial


def test_pruning_unites_what_is_sparse_or_alike():
    grown = grow_with_virtual_points(TWO_RUNS, ONES, min_split=32)
    left, right = grown.left[0], grown.right[0]
    assert prune_sparse(grown, min_split=32, min_y=0, min_rd=28) == [left, right]
    assert prune_sparse(grown, min_split=32, min_y=0, min_rd=29) == [0]  # densities 1 and 0.714
    assert prune_sparse(grown, min_split=32, min_y=50, min_rd=0) == [left, right]
    assert prune_sparse(grown, min_split=32, min_y=51, min_rd=0) == [0]  # two sparse siblings


def test_too_many_leaves_are_cut_back_by_cluster_and_then_by_size():
    # A chain by hand: 0 is cut into 1 and 2, 2 into 3 and 4, 4 into 5 and 6.
    grown = VirtualSketch([np.arange(10)], weight=[10], density=[1.0] * 7)
    grown.split(0, NodeTest(0, 3.0), np.arange(4), np.arange(4, 10))
    grown.split(2, NodeTest(0, 4.0), np.arange(4, 5), np.arange(5, 10))
    grown.split(4, NodeTest(0, 6.0), np.arange(5, 7), np.arange(7, 10))
    grown.weight = [len(rows) for rows in grown.rows]
    assert cut_back(grown, {1: 0, 3: 1, 5: 2, 6: 3}, 4) == [1, 3, 5, 6]
    assert cut_back(grown, {1: 0, 3: 1, 5: 2, 6: 2}, 3) == [1, 3, 4]  # 5 and 6 are parts of one cluster
    assert cut_back(grown, {1: 0, 3: 1, 5: 2, 6: 3}, 3) == [1, 5, 6]  # 3 has the fewest rows
    # Without 3 the others are siblings of one cluster: one leaf.
    assert cut_back(grown, {1: 0, 3: 1, 5: 0, 6: 0}, 1) == [0]


def test_a_larger_min_split_is_the_upper_part_of_the_same_growth():
    X, _ = make_blobs(200, centers=3, random_state=0)
    ones = np.ones(200, dtype=np.int64)
    fine, coarse = grow_with_virtual_points(X, ones, 10), grow_with_virtual_points(X, ones, 60)
    options = {"min_split": 60, "min_y": 0, "min_rd": 0}
    of_fine = [fine.rows[leaf].tolist() for leaf in prune_sparse(fine, **options)]
    assert of_fine == [coarse.rows[leaf].tolist() for leaf in prune_sparse(coarse, **options)]


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
def test_it_finds_planted_clusters_with_a_value_of_the_papers_grid():
    X, planted = make_blobs(600, centers=4, cluster_std=0.5, random_state=3)
    reached = [
        adjusted_rand_score(planted, CLTree(4, min_split=min_split, n_init=1, random_state=0).fit(X).labels_)
        for min_split in CLTREE_GRID["min_split"]
        if min_split < len(X)
    ]
    assert max(reached) > 0.99
    assert adjusted_rand_score(planted, CLTree(4, max_leaves=8, random_state=0).fit(X).labels_) > 0.99


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
def test_its_known_weakness_on_digits():
    # ExKMC paper, Section 4.1: CLTree performs the worst in most cases.
    X = load_digits().data
    ours = ExplainableKMeans(10, max_leaves=20, algorithm="exkmc", n_init=2, random_state=0).fit(X)
    theirs = CLTree(10, max_leaves=20, reference=ours.reference_.centers).fit(X)
    assert theirs.cost_ratio_ > ours.cost_ratio_ + 0.2


@pytest.mark.parametrize(("name", "value"), [("min_split", 0), ("min_y", -1), ("min_rd", 101)])
def test_parameters_out_of_range_are_refused(name, value):
    with pytest.raises(InvalidInputError, match=name):
        CLTree(2, **{name: value}).fit(TWO_RUNS)
