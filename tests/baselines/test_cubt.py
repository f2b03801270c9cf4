"""CUBT's stages worked by hand and by plain twins, and what it finds."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from cutwise import ExplainableKMeans
from cutwise.baselines import CUBT, CUBT_GRID
from cutwise.baselines.cubt import (
    dissimilarity,
    grow_by_deviance,
    join_nearest,
    nearest_distances,
    prune_nearest,
)
from cutwise.exceptions import InvalidInputError

FOUR = np.array([[0.0], [1.0], [10.0], [11.0]])
ONES = np.ones(4, dtype=np.int64)


def leaf_rows(sketch, is_leaf=None):
    is_leaf = np.array(sketch.left) < 0 if is_leaf is None else is_leaf
    return [sketch.rows[leaf].tolist() for leaf in sketch.leaves_under(is_leaf)]


@pytest.mark.parametrize(
    ("minsize", "mindev", "leaves"),
    [
        # Sum of squares 101 at the root; 1 after the cut at 1 | 10, a fall by 100/101; then 0.5 each.
        (1, 0.0, [[0], [1], [2], [3]]),
        (3, 0.0, [[0, 1], [2, 3]]),
        (1, 0.005, [[0, 1], [2, 3]]),
        (1, 0.99, [[0, 1], [2, 3]]),
        (1, 0.995, [[0, 1, 2, 3]]),
    ],
)
def test_growth_stops_at_small_nodes_and_small_gains(minsize, mindev, leaves):
    assert leaf_rows(grow_by_deviance(FOUR, FOUR, ONES, minsize=minsize, mindev=mindev)) == leaves


def test_the_first_cut_lowers_the_deviance_most_of_all():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = np.round(rng.normal(size=(12, 3)), 1)
        weights = rng.integers(1, 4, 12)

        def squares(rows, X=X, weights=weights):
            mean = np.average(X[rows], axis=0, weights=weights[rows])
            return float((weights[rows, None] * (X[rows] - mean) ** 2).sum())

        sketch = grow_by_deviance(X, X, weights, minsize=1, mindev=0.0)
        left, right = sketch.rows[sketch.left[0]], sketch.rows[sketch.right[0]]
        every = [
            squares(X[:, j] <= t) + squares(X[:, j] > t) for j in range(3) for t in np.unique(X[:, j])[:-1].tolist()
        ]
        assert squares(left) + squares(right) == pytest.approx(min(every))


def test_dissimilarity_is_the_larger_mean_of_the_nearest_share():
    X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]])
    first, second = np.arange(3), np.arange(3, 6)
    ones = np.ones(6, dtype=np.int64)
    # From the first side 5, 4, 3; from the second 3, 4, 7.
    assert dissimilarity(X, ones, first, second, 1 / 3) == 3
    assert dissimilarity(X, ones, first, second, 2 / 3) == 3.5
    assert dissimilarity(X, ones, first, second, 1.0) == pytest.approx(14 / 3)
    assert dissimilarity(X, ones, first, second, 0.4) == 3.5  # 1.2 rows are 2
    # The row at 9 twice: 3, 4, 7, 7, of which the nearest three.
    assert dissimilarity(X, np.array([1, 1, 1, 1, 1, 2]), first, second, 0.75) == pytest.approx(14 / 3)


def test_nearest_distances_are_those_of_all_pairs():
    rng = np.random.default_rng(0)
    for n, d in [(10, 2), (200, 3), (200, 20)]:
        points, queries = rng.normal(size=(n, d)), rng.normal(size=(70, d))
        every = np.linalg.norm(queries[:, None] - points[None], axis=2).min(axis=1)
        assert nearest_distances(points, queries) == pytest.approx(every)


@pytest.mark.parametrize(
    ("mindist", "n_leaves", "leaves"),
    [
        (0.0, 9, [[0], [1], [2], [3]]),
        (2.0, 9, [[0, 1], [2, 3]]),  # siblings at distance 1 are united, 9 apart they are not
        (9.5, 9, [[0, 1, 2, 3]]),
        (0.0, 3, [[0, 1], [2], [3]]),  # the first of two equal pairs
        (0.0, 2, [[0, 1], [2, 3]]),
        (0.0, 1, [[0, 1, 2, 3]]),
    ],
)
def test_pruning_unites_near_siblings(mindist, n_leaves, leaves):
    sketch = grow_by_deviance(FOUR, FOUR, ONES, minsize=1, mindev=0.0)
    assert leaf_rows(sketch, prune_nearest(sketch, FOUR, ONES, mindist=mindist, alpha=0.5, n_leaves=n_leaves)) == leaves


def test_joining_unites_the_two_nearest_groups_again_and_again():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    weights = rng.integers(1, 3, 40)
    leaves = np.array_split(rng.permutation(40), 8)
    groups = [[i] for i in range(8)]
    for n_clusters in range(8, 0, -1):
        found = join_nearest(X, weights, leaves, 0.4, n_clusters)
        assert sorted(np.flatnonzero(np.array(found) == g).tolist() for g in set(found)) == sorted(groups)
        if n_clusters == 1:
            break
        rows = [np.concatenate([leaves[i] for i in group]) for group in groups]
        a, b = min(
            itertools.combinations(range(len(groups)), 2),
            key=lambda pair: dissimilarity(X, weights, rows[pair[0]], rows[pair[1]], 0.4),
        )
        groups[a] = sorted(groups[a] + groups.pop(b))


def test_it_finds_planted_clusters_and_numbers_them_as_the_reference_does():
    X, planted = make_blobs(600, centers=4, cluster_std=0.5, random_state=3)
    for max_leaves in (4, 8, 16):
        model = CUBT(4, max_leaves=max_leaves, random_state=0).fit(X)
        assert adjusted_rand_score(planted, model.labels_) == 1
        assert np.array_equal(model.labels_, model.reference_.labels)


def test_leaves_of_one_cluster_are_joined_across_the_tree():
    # An L of two arms around a square cluster: no single box holds it, two leaves do.
    rng = np.random.default_rng(0)
    arm, foot = rng.uniform([0, 0], [1, 6], (300, 2)), rng.uniform([0, 0], [6, 1], (300, 2))
    square = rng.uniform([4, 4], [6, 6], (200, 2))
    X = np.vstack([arm, foot, square])
    model = CUBT(2, max_leaves=8, minsize=20, random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], [600, 200]), model.labels_) == 1
    assert model.n_leaves_ > 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
def test_its_known_weakness_on_digits():
    # ExKMC paper, Section 4.1: on Digits CUBT fails to reach a good clustering.
    X = load_digits().data
    ours = ExplainableKMeans(10, max_leaves=20, algorithm="exkmc", n_init=2, random_state=0).fit(X)
    theirs = [
        CUBT(10, max_leaves=20, mindev=mindev, alpha=alpha, reference=ours.reference_.centers).fit(X).cost_ratio_
        for mindev in CUBT_GRID["mindev"][:1]
        for alpha in CUBT_GRID["alpha"]
    ]
    assert min(theirs) > ours.cost_ratio_ + 0.1


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
def test_its_known_weakness_on_mice():
    # The same place: nor does it on Mice Protein.
    path = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mice_1080x69.npz"
    if not path.exists():
        pytest.skip("the data folder is not beside the checkout")
    X = np.load(path)["X"]
    ours = ExplainableKMeans(8, max_leaves=16, algorithm="imm", n_init=2, random_state=0).fit(X)
    theirs = [
        CUBT(8, max_leaves=16, alpha=alpha, reference=ours.reference_.centers).fit(X).cost_ratio_
        for alpha in CUBT_GRID["alpha"]
    ]
    assert min(theirs) > ours.cost_ratio_ + 0.5


@pytest.mark.parametrize(("name", "value"), [("minsize", 0), ("mindev", 2), ("mindist", -1), ("alpha", 0)])
def test_parameters_out_of_range_are_refused(name, value):
    with pytest.raises(InvalidInputError, match=name):
        CUBT(2, **{name: value}).fit(FOUR)
