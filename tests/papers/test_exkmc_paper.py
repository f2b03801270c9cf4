"""The ExKMC paper's claims: its two synthetic sets, and what expansion does to the surrogate cost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from cutwise import ExplainableKMeans, ExplainableKMedians, ThresholdTree, datasets, metrics
from tests.oracle.models import fit_quietly
from tests.papers.optima import clustering_cost

MODELS = {"kmeans": ExplainableKMeans, "kmedians": ExplainableKMedians}


@pytest.fixture(scope="module")
def synthetic_i():
    return datasets.make_synthetic_i(random_state=0)


@pytest.mark.slow
def test_cart_pays_for_the_outliers_of_synthetic_one(synthetic_i):
    """Section 4 and Figure 2(k): CART with k leaves costs above 5 times the reference."""
    cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(synthetic_i.X, synthetic_i.labels)
    assert clustering_cost(synthetic_i.X, cart.predict(synthetic_i.X), "kmeans") > 5 * synthetic_i.cost


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["imm", "exkmc"])
def test_trees_that_look_at_costs_stay_near_the_reference_on_synthetic_one(synthetic_i, algorithm):
    """Figure 2(k): near-optimal costs; below 2 with k leaves, below 1.15 with 4k."""
    for max_leaves, most in ((3, 2.0), (12, 1.15)):
        model = ExplainableKMeans(
            3, algorithm=algorithm, max_leaves=max_leaves, reference=synthetic_i.centers, n_jobs=1
        )
        assert fit_quietly(model, synthetic_i.X).cost_ratio_ < most


@pytest.mark.slow
def test_exkmc_recovers_synthetic_two_exactly_within_four_leaves_a_cluster():
    """Theorem 4 and Figure 2(l), at the paper's size: high with k leaves, then down to the reference."""
    planted = datasets.make_synthetic_ii(random_state=0)
    small = fit_quietly(ExplainableKMeans(30, algorithm="imm", reference=planted.centers), planted.X)
    assert small.cost_ratio_ > 2
    large = fit_quietly(ExplainableKMeans(30, algorithm="imm", max_leaves=120, reference=planted.centers), planted.X)
    assert large.n_leaves_ <= 120
    assert large.surrogate_cost_ == large.reference_.cost
    assert np.array_equal(large.labels_, planted.labels)


@pytest.mark.parametrize("objective", MODELS)
@pytest.mark.parametrize("algorithm", ["imm", "exkmc"])
def test_the_surrogate_cost_of_a_small_synthetic_two_falls_to_the_reference(objective, algorithm):
    planted = datasets.make_synthetic_ii(8, 120, objective=objective, random_state=0)
    costs = []
    for max_leaves in range(8, 32, 3):
        model = MODELS[objective](8, algorithm=algorithm, reference=planted.centers, max_leaves=max_leaves)
        costs.append(fit_quietly(model, planted.X).surrogate_cost_)
    assert costs[0] > planted.cost * 1.01
    assert all(after <= before for before, after in pairwise(costs))
    assert np.array_equal(model.labels_, planted.labels)
    assert model.surrogate_cost_ == model.reference_.cost


@pytest.mark.parametrize("objective", MODELS)
@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc"])
def test_the_surrogate_cost_never_rises_with_leaves_and_lies_above_both_other_costs(objective, algorithm):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(90, 3)).round(1)
    costs = []
    for max_leaves in range(5, 26, 4):
        model = MODELS[objective](5, algorithm=algorithm, max_leaves=max_leaves, n_init=1, random_state=0)
        fit_quietly(model, X)
        assert model.cost_ <= model.surrogate_cost_ * (1 + 1e-12)
        assert model.surrogate_cost_ >= model.reference_.cost * (1 - 1e-12)
        costs.append(model.surrogate_cost_)
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(costs))


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_that_refines_the_reference_has_its_cost(seed):
    """Section 3: the surrogate cost is the reference's when no leaf holds rows of two clusters."""
    X = np.random.default_rng(seed).normal(size=(120, 3))
    reference = fit_quietly(ExplainableKMeans(4, random_state=seed), X).reference_
    grown = DecisionTreeClassifier(random_state=0).fit(X, reference.labels).tree_
    tree = ThresholdTree.from_unordered(
        children_left=grown.children_left,
        children_right=grown.children_right,
        feature=grown.feature,
        threshold=grown.threshold,
        cluster=grown.value[:, 0].argmax(axis=1),
        n_features=3,
    )
    assert np.array_equal(tree.predict(X), reference.labels)
    assert metrics.surrogate_cost(tree, X, reference.centers) == pytest.approx(reference.cost, rel=1e-12)
