"""For a given reference the tree depends on the rows as a set with multiplicities, and on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from cutwise import ClusterExplainer, ExplainableKMeans, ExplainableKMedians
from tests.oracle.cases import SMALL, many_values, many_values_continuous, small_case
from tests.oracle.models import TREE_ARRAYS, fit_quietly, same_tree, tree_bytes

RECIPES = (
    {"algorithm": "imm"},
    {"algorithm": "exgreedy"},
    {"algorithm": "exshallow"},
    {"algorithm": "exkmc"},
    {"algorithm": "imm", "extra": 4, "expansion": "exkmc"},
    {"algorithm": "exshallow", "extra": 4, "expansion": "expand"},
)
RECIPE = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: "-".join(map(str, recipe.values())))


def _options(recipe: dict, k: int) -> dict:
    options = {name: value for name, value in recipe.items() if name != "extra"}
    if "extra" in recipe:
        options["max_leaves"] = k + recipe["extra"]
    return options


def _fit(recipe, values, centers, weights=None, **more):
    options = _options(recipe, len(centers))
    return fit_quietly(
        ExplainableKMeans(len(centers), reference=centers, **options, **more), values, sample_weight=weights
    )


def _cases():
    yield from (small_case(kind, 101) for kind in range(len(SMALL)))
    yield from (many_values(103), many_values_continuous(104))


@RECIPE
def test_any_number_of_threads_grows_the_same_tree(recipe):
    for case in _cases():
        trees = [_fit(recipe, case.values, case.centers, case.weights, n_jobs=n).tree_ for n in (1, 4)]
        assert same_tree(*trees), case


@RECIPE
def test_shuffled_rows_grow_the_same_tree(recipe):
    rng = np.random.default_rng(1)
    for case in _cases():
        order = rng.permutation(len(case.values))
        model = _fit(recipe, case.values, case.centers, case.weights)
        weights = None if case.weights is None else case.weights[order]
        shuffled = _fit(recipe, case.values[order], case.centers, weights)
        assert same_tree(model.tree_, shuffled.tree_), case
        assert np.array_equal(model.labels_[order], shuffled.labels_), case
        assert model.surrogate_cost_ == pytest.approx(shuffled.surrogate_cost_, rel=1e-12, abs=1e-300)


@RECIPE
def test_integer_weights_equal_repeated_rows(recipe):
    rng = np.random.default_rng(2)
    for case in _cases():
        weights = rng.integers(0, 4, len(case.values))
        weights[np.unique(case.values.astype(float), axis=0, return_index=True)[1]] += 1
        weighted = _fit(recipe, case.values, case.centers, weights)
        repeated = _fit(recipe, np.repeat(case.values, weights, axis=0), case.centers)
        assert same_tree(weighted.tree_, repeated.tree_, samples=False), case
        assert weighted.cost_ == pytest.approx(repeated.cost_, rel=1e-9, abs=1e-9 * weighted.reference_.cost)
        assert weighted.reference_.cost == pytest.approx(repeated.reference_.cost, rel=1e-9)


@RECIPE
def test_rows_of_weight_zero_do_not_exist(recipe):
    rng = np.random.default_rng(3)
    for case in _cases():
        keep = rng.random(len(case.values)) < 0.8
        keep[np.unique(case.values.astype(float), axis=0, return_index=True)[1]] = True
        with_zero = _fit(recipe, case.values, case.centers, keep.astype(float))
        without = _fit(recipe, case.values[keep], case.centers)
        assert same_tree(with_zero.tree_, without.tree_), case


@RECIPE
def test_all_weights_times_a_power_of_two_change_nothing(recipe):
    for case in _cases():
        weights = np.random.default_rng(4).integers(1, 9, len(case.values)).astype(float)
        model = _fit(recipe, case.values, case.centers, weights)
        if recipe["algorithm"] == "exshallow":
            continue  # its depth term counts the rows, and so sees their total weight
        double = _fit(recipe, case.values, case.centers, weights * 2)
        names = tuple(name for name in TREE_ARRAYS if name != "n_node_mistakes")
        assert tree_bytes(model.tree_, names) == tree_bytes(double.tree_, names), case


@RECIPE
def test_permuted_columns_grow_the_same_tree_up_to_ties(recipe):
    """Deep leaves hold few rows, which several columns part alike: there the labels are the same, not the cuts."""
    if recipe.get("expansion") == "expand":
        pytest.skip("cuts that disagree on as many rows part them in many ways")
    rng = np.random.default_rng(5)
    for seed in range(8):
        values = rng.normal(size=(120, 5))
        labels = np.concatenate([np.arange(4), rng.integers(0, 4, 116)])
        values += labels[:, None] * rng.normal(size=5)
        centers = np.array([values[labels == j].mean(axis=0) for j in range(4)])
        order = rng.permutation(5)
        model, permuted = _fit(recipe, values, centers), _fit(recipe, values[:, order], centers[:, order])
        assert np.array_equal(model.labels_, permuted.labels_), seed
        assert model.surrogate_cost_ == pytest.approx(permuted.surrogate_cost_, rel=1e-9), seed
        if "extra" not in recipe:
            tree, other = model.tree_, permuted.tree_
            inner = tree.feature >= 0
            assert np.array_equal(tree.threshold[inner], other.threshold[inner]), seed
            assert np.array_equal(tree.feature[inner], order[other.feature[inner]]), seed


@RECIPE
def test_renamed_clusters_grow_the_same_cuts_when_nothing_ties(recipe):
    rng = np.random.default_rng(6)
    for seed in range(8):
        labels = np.concatenate([np.arange(5), rng.integers(0, 5, 115)])
        values = rng.normal(size=(120, 4)) + labels[:, None] * rng.normal(size=4)
        centers = np.array([values[labels == j].mean(axis=0) for j in range(5)])
        order = rng.permutation(5)
        model = _fit(recipe, values, centers).tree_
        renamed = _fit(recipe, values, centers[order]).tree_
        inner = model.feature >= 0
        assert np.array_equal(model.feature, renamed.feature), seed
        assert np.array_equal(model.threshold[inner], renamed.threshold[inner]), seed
        assert np.array_equal(model.cluster[~inner], order[renamed.cluster[~inner]]), seed


def test_increasing_transforms_of_a_column_keep_imm_labels():
    rng = np.random.default_rng(7)
    for _ in range(8):
        values = rng.normal(size=(60, 3))
        codes = np.concatenate([np.arange(4), rng.integers(0, 4, 56)])
        centers = np.array([values[codes == j].mean(axis=0) for j in range(4)])
        costs = ((values[:, None] - centers) ** 2).sum(axis=2)
        explain = ClusterExplainer(algorithm="imm")
        plain = fit_quietly(explain, values, codes, centers=centers, costs=costs).predict(values)
        bent, bent_centers = np.exp(values), np.exp(centers)
        moved = fit_quietly(ClusterExplainer(algorithm="imm"), bent, codes, centers=bent_centers, costs=costs)
        assert np.array_equal(plain, moved.predict(bent))


@pytest.mark.parametrize("algorithm", ["imm", "exshallow", "exkmc"])
def test_without_a_reference_the_same_seed_gives_the_same_bytes(algorithm):
    values = np.random.default_rng(8).normal(size=(400, 6)).astype(np.float32)

    def fit(n_jobs):
        model = ExplainableKMeans(5, algorithm=algorithm, max_leaves=9, random_state=3, n_jobs=n_jobs)
        return fit_quietly(model, values)

    first = fit(1)
    for n_jobs in (1, 2, 4, None, -1):
        again = fit(n_jobs)
        assert same_tree(first.tree_, again.tree_), n_jobs
        assert first.reference_.centers.tobytes() == again.reference_.centers.tobytes(), n_jobs
        assert first.cluster_centers_.tobytes() == again.cluster_centers_.tobytes(), n_jobs
        assert (first.cost_, first.surrogate_cost_) == (again.cost_, again.surrogate_cost_), n_jobs


def test_sparse_and_dense_tables_grow_the_same_tree():
    rng = np.random.default_rng(9)
    kinds = scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.csr_matrix, scipy.sparse.coo_array
    for seed in range(8):
        kind = kinds[seed % 4]
        values = rng.integers(-3, 4, (60, 6)) * (rng.random((60, 6)) < 0.4)
        values = values.astype([np.float64, np.float32][seed // 4 % 2])
        centers = rng.integers(-4, 5, (4, 6)) / 2
        for recipe in RECIPES:
            dense = _fit(recipe, values, centers)
            sparse = _fit(recipe, kind(values), centers)
            assert same_tree(dense.tree_, sparse.tree_), (seed, recipe, kind)
            assert np.array_equal(dense.labels_, sparse.labels_)
            assert np.array_equal(sparse.predict(kind(values)), dense.labels_)
            assert sparse.cost_ == pytest.approx(dense.cost_, rel=1e-9)


def _grid_case(seed: int, n_columns: int, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows on a grid that float64 does not hold, so that many are equally far from two centers up to rounding."""
    rng = np.random.default_rng(seed)
    step = (0.1, 1 / 3, 0.001, 0.7)[seed % 4]
    values = rng.integers(1, 5, (60, n_columns)) * (rng.random((60, n_columns)) < share) * step
    centers = values[rng.choice(60, 5, replace=False)]
    weights = (None, rng.integers(1, 4, 60).astype(float), rng.random(60) + 0.1)[seed % 3]
    return values, centers, weights


@pytest.mark.parametrize("algorithm", ["imm", "exkmc", "exgreedy", "exshallow", "search"])
@pytest.mark.parametrize("estimator", [ExplainableKMeans, ExplainableKMedians])
def test_ties_but_for_rounding_are_split_alike_in_sparse_and_dense_tables(estimator, algorithm):
    for seed in range(12):  # every step of the grid with every kind of weights
        values, centers, weights = _grid_case(seed, 2 + 2 * seed, (0.2, 0.7)[seed % 2])
        for max_leaves in (9, None)[seed // 4 % 2 :: 2]:
            model = estimator(5, algorithm=algorithm, reference=centers, max_leaves=max_leaves, random_state=0)
            dense = fit_quietly(clone(model), values, sample_weight=weights)
            table = (scipy.sparse.csr_array, scipy.sparse.csc_array)[seed // 2 % 2](values)
            sparse = fit_quietly(clone(model), table, sample_weight=weights)
            assert dense.tree_.equals(sparse.tree_), seed
            assert np.array_equal(dense.reference_.labels, sparse.reference_.labels), seed
            assert np.array_equal(dense.labels_, sparse.labels_), seed
            assert np.array_equal(dense.labels_, sparse.predict(table)), seed
            assert dense.reference_.cost == sparse.reference_.cost, seed
            assert (dense.cost_, dense.cost_ratio_) == (sparse.cost_, sparse.cost_ratio_), seed


@pytest.mark.parametrize("estimator", [ExplainableKMeans, ExplainableKMedians])
def test_centers_found_in_sparse_tables_of_few_columns_are_those_of_dense_tables(estimator):
    for seed in range(12):
        values, _, weights = _grid_case(seed, 2 + 2 * seed, 0.4)
        model = estimator(5, algorithm="imm", random_state=0)
        dense = fit_quietly(clone(model), values, sample_weight=weights)
        sparse = fit_quietly(clone(model), scipy.sparse.csr_array(values), sample_weight=weights)
        assert dense.reference_.centers.tobytes() == sparse.reference_.centers.tobytes(), seed
        assert dense.tree_.equals(sparse.tree_), seed
        assert dense.cost_ == sparse.cost_, seed


def test_float32_and_the_same_numbers_in_float64_grow_the_same_tree():
    for seed in range(8):
        case = small_case([make.__name__ for make in SMALL].index("float32"), seed)
        for recipe in RECIPES:
            narrow = _fit(recipe, case.values, case.centers)
            wide = _fit(recipe, case.values.astype(np.float64), case.centers)
            assert same_tree(narrow.tree_, wide.tree_), (seed, recipe)
