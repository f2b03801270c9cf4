"""The kernel paper through the public estimators: its figures, its mixture of histograms, and its theorems."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import rand_score

from cutwise import ExplainableKernelKMeans, KernelKMeans, datasets, metrics
from cutwise.exceptions import CutwiseWarning
from tests.papers.test_table2 import DATA

# Name: kernel, gamma, clusters, leaves of the refined trees, and the cost of the reference optimum.
SETTINGS = {
    "pathbased": ("rbf", 0.05, 3, 6, 204.4552),
    "flame": ("rbf", 0.1, 2, 4, 164.9843),
    "aggregation": ("laplacian", 0.1, 7, 10, 326.2290),
    "iris": ("laplacian", 1.0, 3, 6, 105.4635),
    "breast_cancer": ("rbf", 5e-6, 2, 4, 222.7586),
}
needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"the data folder {DATA} is not here")


@cache
def optimum(name):
    """Rows, and kernel k-means from random labelings: the lowest cost of several times the paper's ten."""
    kernel, gamma, k, _, _ = SETTINGS[name]
    X = np.load(DATA / f"{name}.npz")["X"].astype(np.float64)
    return X, KernelKMeans(k, kernel=kernel, gamma=gamma, init="random", n_init=30, random_state=0).fit(X)


def grown(name, **options):
    X, reference = optimum(name)
    kernel, gamma, k, _, _ = SETTINGS[name]
    return ExplainableKernelKMeans(k, kernel=kernel, gamma=gamma, reference=reference, **options).fit(X)


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("name", SETTINGS)
def test_kernel_k_means_finds_the_optimum_of_the_published_runs(name):
    assert optimum(name)[1].cost_ == pytest.approx(SETTINGS[name][4], abs=1e-3)


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "published", "features"),
    [
        ("pathbased", 1.06645, "kernel"),
        ("flame", 1.02256, "taylor"),
        ("iris", 1.00502, "kernel"),
        ("breast_cancer", 1.00179, "taylor"),
    ],
)
def test_table_2_is_reproduced(name, published, features):
    model = grown(name)
    assert model.cost_ratio_ == pytest.approx(published, abs=5e-5)
    assert model.surrogate_features_ == features
    assert model.n_leaves_ == model.n_clusters


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "most"),
    [("pathbased", 1.05), ("flame", 1.02), ("iris", 1.002), ("breast_cancer", 1.0018), ("aggregation", 1.0013)],
)
def test_a_search_by_thresholds_alone_costs_less_than_the_published_interval_trees(name, most):
    model = grown(name, algorithm="search")
    assert model.cost_ratio_ <= most
    assert model.n_leaves_ <= model.n_clusters


@needs_data
@pytest.mark.data
def test_aggregation_lies_in_the_range_that_the_starts_give():
    assert 1.0003 <= grown("aggregation").cost_ratio_ <= 1.0016


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("expansion", ["exkmc", "expand"])
@pytest.mark.parametrize("name", ["pathbased", "aggregation", "flame"])
def test_refined_trees_with_intervals_come_within_a_hundredth(name, expansion):
    leaves = SETTINGS[name][3]
    model = grown(name, max_leaves=leaves, expansion=expansion)
    assert model.cost_ratio_ <= 1.01
    assert model.adjusted_rand_index_ > 0.9
    one_sided = grown(name, max_leaves=leaves, expansion=expansion, cuts="threshold")
    assert one_sided.cost_ratio_ >= model.cost_ratio_ - 1e-4
    if name == "pathbased":
        assert 1.015 < one_sided.cost_ratio_ < 1.03


@needs_data
@pytest.mark.data
def test_a_low_ratio_is_no_high_agreement():
    """Section 7: under a bounded kernel ratios near 1 come cheaply."""
    model = grown("pathbased")
    assert model.cost_ratio_ < 1.07
    assert model.adjusted_rand_index_ < 0.6


def test_the_mixture_of_histograms_is_seeded_shares_of_four_kinds():
    planted = datasets.make_histogram_mixture(random_state=3)
    assert planted.X.shape == (20, 4)
    assert np.allclose(planted.X.sum(axis=1), 1.0)
    assert np.bincount(planted.labels).tolist() == [5, 5, 5, 5]
    assert np.array_equal(planted.X, datasets.make_histogram_mixture(random_state=3).X)
    many = datasets.make_histogram_mixture(n_per_kind=50, n_draws=10_000, random_state=0)
    assert np.allclose(many.centers[1], [0.58, 0.34, 0.07, 0.01], atol=0.01)


def test_the_additive_chi_squared_kernel_tells_histograms_apart_better_than_k_means():
    """Appendix I, Figure 6, with 20 of its 100 repetitions; benchmarks/papers_kernel_chi2.py runs them all."""
    kernel, tree, plain = [], [], []
    for seed in range(20):
        planted = datasets.make_histogram_mixture(random_state=seed)
        model = ExplainableKernelKMeans(4, kernel="additive_chi2", random_state=seed).fit(planted.X)
        kernel.append(rand_score(planted.labels, model.reference_.labels))
        tree.append(rand_score(planted.labels, model.labels_))
        means = KMeans(4, n_init=10, random_state=seed).fit(planted.X)
        plain.append(rand_score(planted.labels, means.labels_))
    assert np.mean(kernel) > np.mean(plain) + 0.05
    assert np.mean(tree) > np.mean(plain) + 0.04
    assert np.median(kernel) > np.median(plain)


# Theorems -------------------------------------------------------------------------------------------------------------


def test_theorem_1_no_features_of_single_columns_make_a_gaussian_kernel():
    """Its three points: features of single columns would make the kernel of the far two negative."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    for gamma in (1.0, 2.0, 5.0):
        kernel = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
        # phi(x) = (f(x_1), g(x_2)) has <phi(a), phi(c)> = <phi(a), phi(b)> + <phi(b), phi(c)> - |phi(b)|^2.
        implied = kernel[0, 1] + kernel[1, 2] - kernel[1, 1]
        assert implied < 0 < kernel[0, 2]


def test_theorem_2_monotone_features_cannot_make_a_gaussian_kernel():
    """Its three points on a line: squared distances under monotone features would be superadditive, and are not."""
    X = np.array([0.0, 2.0, 4.0])
    kernel = np.exp(-((X[:, None] - X) ** 2))
    squared = 2 - 2 * kernel
    # Increments of monotone features have products of at least 0, so |a + b|^2 >= |a|^2 + |b|^2.
    assert squared[0, 2] < squared[0, 1] + squared[1, 2]


def test_theorem_3_and_definition_2_every_test_is_one_interval_of_one_column():
    rng = np.random.default_rng(0)
    for seed in range(6):
        X = rng.normal(size=(60, 3)) * [1.0, 2.0, 0.5]
        for features in ("taylor", "kernel"):
            model = ExplainableKernelKMeans(5, surrogate_features=features, random_state=seed).fit(X)
            tree = model.tree_
            inner = tree.feature >= 0
            assert (tree.lower[inner] < tree.threshold[inner]).all()
            assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("epsilon", [0.05, 0.01])
def test_theorem_6_holds_for_the_linear_kernel(epsilon):
    """Kernel IMM recovers the three pairs exactly; Kernel ExKMC from an empty tree pays without bound."""
    planted = datasets.make_exkmc_line(epsilon)
    options = {"kernel": "linear", "reference": planted.labels, "cuts": "threshold"}
    assert ExplainableKernelKMeans(3, algorithm="imm", **options).fit(planted.X).cost_ratio_ == pytest.approx(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutwiseWarning)
        exkmc = ExplainableKernelKMeans(3, algorithm="exkmc", **options).fit(planted.X)
    assert exkmc.cost_ratio_ >= (1 - 2 * epsilon) ** 2 / (9 * epsilon**2)


def test_theorem_7_the_quadratic_kernel_defeats_one_sided_cuts_but_not_intervals():
    """With its erratum: -0.5 < x <= 0.5 parts the four points at cost 0."""
    planted = datasets.make_quadratic_cross()
    own = KernelKMeans(2, kernel="polynomial", degree=2, coef0=0, gamma=1.0, random_state=0).fit(planted.X)
    assert own.cost_ == pytest.approx(0.0, abs=1e-12)
    for algorithm in ("exkmc", "expand"):
        options = {"kernel": "precomputed", "algorithm": algorithm, "reference": planted.labels}
        interval = ExplainableKernelKMeans(2, **options).fit(planted.X, K=planted.kernel)
        assert interval.cost_ == pytest.approx(0.0, abs=1e-12)
        assert np.isnan(interval.cost_ratio_)
        one_sided = ExplainableKernelKMeans(2, cuts="threshold", **options).fit(planted.X, K=planted.kernel)
        assert one_sided.cost_ > 0.5


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
def test_theorem_7_the_neighborhood_kernel_defeats_every_test():
    planted = datasets.make_neighborhood_clusters()
    radius = np.sqrt(24.0) + 1e-9
    model = KernelKMeans(2, kernel=lambda a, b: float(np.linalg.norm(a - b) <= radius), random_state=0).fit(planted.X)
    assert model.cost_ == pytest.approx(0.0, abs=1e-12)
    for algorithm in ("exkmc", "expand"):
        tree = ExplainableKernelKMeans(2, kernel="precomputed", algorithm=algorithm, reference=planted.labels)
        tree.fit(planted.X, K=planted.kernel)
        assert tree.cost_ > 0.5
        assert tree.cost_ == pytest.approx(metrics.tree_cost(tree, planted.X, metric="kernel", K=planted.kernel))
