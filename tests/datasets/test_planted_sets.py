"""The papers' sets are what their definitions say, and the same for the same seed."""

import inspect
import math

import numpy as np
import pytest

from cutwise import datasets, metrics
from cutwise.exceptions import InvalidInputError, UnknownOptionError
from cutwise.reference import resources
from tests.each import each

SETS = {
    "basis": lambda seed: datasets.make_standard_basis(6),
    "outliers": lambda seed: datasets.make_far_outliers(50.0, random_state=seed),
    "negated": lambda seed: datasets.make_negated_clusters(5),
    "negated, l1": lambda seed: datasets.make_negated_clusters(5, objective="kmedians"),
    "hypercube": lambda seed: datasets.make_hypercube(4, random_state=seed),
    "hypercube, l1": lambda seed: datasets.make_hypercube(4, objective="kmedians", random_state=seed),
    "one": lambda seed: datasets.make_synthetic_i(60, 40, random_state=seed),
    "two": lambda seed: datasets.make_synthetic_ii(5, 40, random_state=seed),
    "line": lambda seed: datasets.make_exkmc_line(0.05, n_per_point=3),
    "cross": lambda seed: datasets.make_quadratic_cross(),
    "neighborhood": lambda seed: datasets.make_neighborhood_clusters(),
    "four trees": lambda seed: datasets.make_four_trees(5),
}


@pytest.mark.parametrize("name", SETS)
def test_every_set_holds_together(name):
    planted, again = SETS[name](3), SETS[name](3)
    n, d = planted.X.shape
    assert planted.X.dtype == planted.centers.dtype == np.float64
    assert planted.labels.dtype == np.int32
    assert planted.labels.shape == (n,)
    assert planted.centers.shape == (planted.n_clusters, d)
    assert np.array_equal(np.unique(planted.labels), np.arange(planted.n_clusters))
    assert np.array_equal(planted.X, again.X)
    assert np.array_equal(planted.labels, again.labels)
    assert repr(planted).startswith(f"{type(planted).__name__}({n} x {d}, {planted.n_clusters} clusters")
    if planted.objective != "kernel":
        away = planted.X - planted.centers[planted.labels]
        cost = (away**2).sum() if planted.objective == "kmeans" else np.abs(away).sum()
        assert planted.cost == pytest.approx(cost, rel=1e-12, abs=0)


def test_seeds_differ():
    for name in ("outliers", "hypercube", "one", "two"):
        assert not np.array_equal(SETS[name](0).X, SETS[name](1).X)


def test_every_set_is_documented_with_its_source():
    for name in datasets.__all__:
        assert "References" in getattr(datasets, name).__doc__ or not name.startswith("make_")
        if name.startswith("make_"):
            for parameter in inspect.signature(getattr(datasets, name)).parameters:
                assert f"\n{parameter} : " in inspect.getdoc(getattr(datasets, name))


def test_the_standard_basis_has_k_rows_in_a_column_less():
    planted = datasets.make_standard_basis(4)
    assert planted.X.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert planted.cost == 0


def test_the_far_outliers_cost_the_same_wherever_they_are():
    near, far = (datasets.make_far_outliers(distance, random_state=0) for distance in (50.0, 5000.0))
    assert near.cost == pytest.approx(far.cost)
    assert near.X.shape == (1002, 2)
    assert near.X[-2:].tolist() == [[-2, 50], [2, 50]]


@pytest.mark.parametrize("d", [3, 7])
def test_the_negated_clusters_cost_what_the_proof_says(d):
    means = datasets.make_negated_clusters(d)
    assert means.cost == pytest.approx(2 * (d - 1))
    assert np.allclose(means.centers, [[(d - 1) / d] * d, [-(d - 1) / d] * d])
    assert means.lower_bound == pytest.approx(3 * (1 - 1 / d) ** 2)
    medians = datasets.make_negated_clusters(d, objective="kmedians")
    assert medians.cost == 2 * d
    assert medians.lower_bound == pytest.approx(2 - 1 / d)
    assert sorted(map(tuple, medians.X)) == sorted(map(tuple, -medians.X))


@pytest.mark.parametrize("k", [3, 5])
def test_the_hypercube_has_corners_far_apart_and_their_neighbors(k):
    planted = datasets.make_hypercube(k, random_state=1)
    d = k**3
    assert planted.X.shape == (k * d, d)
    assert planted.cost == pytest.approx(k * (d - 1))
    words = np.sign(planted.centers)
    differ = (words[:, None] != words).sum(axis=2)[np.triu_indices(k, 1)]
    assert differ.min() >= d / 4
    away = words[planted.labels] != planted.X
    assert (away.sum(axis=1) == 1).all()
    assert (planted.X[away] == 0).all()
    assert datasets.make_hypercube(k, objective="kmedians", random_state=1).cost == k * d


def test_synthetic_one_is_its_definition():
    planted = datasets.make_synthetic_i(102, 50, n_flipped=7, distance=90.0, random_state=4)
    X = planted.X
    assert X[-2].tolist() == [90] + [1] * 49
    assert X[-1].tolist() == [90] + [0] * 49
    assert (X[:-2, 0] == 0).all()
    assert ((X[:50, 1:] == 0).sum(axis=1) == 7).all()
    assert ((X[50:100, 1:] == 1).sum(axis=1) == 7).all()
    full = datasets.make_synthetic_i(6, random_state=0)
    assert full.X.shape == (6, 1000)
    assert ((full.X[:2, 1:] == 0).sum(axis=1) == 100).all()


def test_the_line_costs_epsilon_squared_a_row():
    planted = datasets.make_exkmc_line(0.1, n_per_point=4)
    assert planted.X.shape == (24, 1)
    assert planted.cost == pytest.approx(24 * 0.01)
    assert np.allclose(planted.centers[:, 0], [-1, 0, 1])


@pytest.mark.parametrize("planted", [datasets.make_quadratic_cross(), datasets.make_neighborhood_clusters(0.5)])
def test_the_kernel_sets_cost_nothing_in_feature_space(planted):
    same = planted.labels[:, None] == planted.labels
    assert planted.kernel.tolist() == same.astype(float).tolist()
    assert planted.cost == 0
    assert planted.lower_bound == math.inf


def test_the_neighborhood_clusters_are_as_far_apart_as_the_proof_says():
    planted = datasets.make_neighborhood_clusters(2.0)
    distance = np.sqrt(((planted.X[:, None] - planted.X) ** 2).sum(axis=2))
    same = planted.labels[:, None] == planted.labels
    assert np.allclose(distance[same & ~np.eye(8, dtype=bool)], 2.0)
    assert np.allclose(distance[~same], 3.0)


def test_the_four_trees_recover_their_clusters():
    planted = datasets.make_four_trees(6)
    assert np.bincount(planted.labels).tolist() == [1, 3, 7, 15, 31, 63]
    assert planted.X[:4, 0].tolist() == [5, 17, 18, 19]
    for tree in planted.trees:
        assert tree.n_leaves == 6
        assert tree.depth == 5
        assert np.array_equal(tree.predict(planted.X), planted.labels)
        assert metrics.tree_cost(tree, planted.X, metric="kmeans") == pytest.approx(planted.cost)
        assert (
            tree.n_node_samples[tree.leaves].tolist() == np.bincount(planted.labels)[tree.cluster[tree.leaves]].tolist()
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: datasets.make_standard_basis("a"), "n_clusters='a' is not a whole number"),
        (lambda: datasets.make_standard_basis(1), "n_clusters=1 is out of range"),
        (lambda: datasets.make_negated_clusters(2, objective="kmedians"), "n_features=2 is out of range"),
        (lambda: datasets.make_negated_clusters(4, objective="kmedian"), "Did you mean 'kmedians'"),
        (lambda: datasets.make_hypercube(30, 4), "Use more columns"),
        (lambda: datasets.make_exkmc_line(0.0), "epsilon=0.0 is out of range"),
        (lambda: datasets.make_exkmc_line(0.3), "epsilon=0.3 is out of range"),
        (lambda: datasets.make_four_trees(20), "n_clusters=20 is out of range"),
        (lambda: datasets.make_synthetic_i(4), "n_samples=4 is out of range"),
    ],
)
def test_sizes_that_cannot_be_are_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


GENERATORS = [name for name in datasets.__all__ if name.startswith("make_")]
MAY_BE_NONE = {("make_synthetic_i", "n_flipped"), ("make_hypercube", "n_features")}


@pytest.mark.parametrize("generator", GENERATORS)
@each("value", ["a", None, [3], 1j, float("nan"), -1, True])
def test_no_generator_takes_what_is_no_size_number_or_seed(generator, value):
    make = getattr(datasets, generator)
    for name in inspect.signature(make).parameters:
        if value is None and (name == "random_state" or (generator, name) in MAY_BE_NONE):
            continue
        if value is True and name == "random_state":
            continue  # True is 1 to whatever seeds
        with pytest.raises(InvalidInputError, match=name):
            make(**{name: value})


def test_a_real_set_is_asked_for_by_its_name():
    for name in (["iris"], None, 3):
        with pytest.raises(UnknownOptionError, match="'iris'"):
            datasets.load_real(name)


@pytest.mark.parametrize("make", [datasets.make_hypercube, datasets.make_synthetic_ii])
def test_rows_that_would_not_fit_in_memory_are_refused_with_their_size(make, monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 100_000)
    with pytest.raises(InvalidInputError, match=r"500 rows and 100 columns, for 5 clusters, takes 391 KiB of memory"):
        make(5, 100)
