"""The IMM paper's theorems, on optima found by enumeration and on its own hard sets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from cutwise import ExplainableKMeans, ExplainableKMedians, datasets, metrics
from cutwise.tree.optimal import optimal_cut
from tests.each import each
from tests.oracle.models import fit_quietly
from tests.papers.optima import clustering_cost, optimum, side_centers, single_cuts

OBJECTIVES = ("kmeans", "kmedians")
MODELS = {"kmeans": ExplainableKMeans, "kmedians": ExplainableKMedians}


def by_cut(X: np.ndarray, objective: str) -> np.ndarray:
    """The labels of the optimal cut."""
    cut = optimal_cut(X, objective)
    return (X[:, cut[0]] > cut[1]).astype(np.intp)


@pytest.mark.parametrize(("objective", "factor"), [("kmeans", 4), ("kmedians", 2)])
def test_the_best_single_cut_is_within_its_factor_of_the_best_two_clusters(objective, factor):
    """Theorem 4.1."""
    rng = np.random.default_rng(1)
    ratios = []
    for trial in range(40):
        X = rng.normal(size=(int(rng.integers(4, 10)), int(rng.integers(1, 5)))).round(1 + trial % 2)
        if trial % 4 == 0:  # about a set that is hard to cut
            X = datasets.make_negated_clusters(4).X + rng.normal(scale=0.1, size=(8, 4)).round(2)
        best, _ = optimum(X, 2, objective)
        cost = clustering_cost(X, by_cut(X, objective), objective)
        assert cost == pytest.approx(min(clustering_cost(X, labels, objective) for labels in single_cuts(X)))
        assert best * (1 - 1e-9) <= cost <= factor * best * (1 + 1e-9)
        ratios.append(cost / best)
    assert max(ratios) > 1.3  # the bound was asked something


@each("k", [2, 3, 4])
@pytest.mark.parametrize("objective", MODELS)
def test_imm_stays_within_its_bound_of_the_best_clusters(objective, k):
    """Theorem 5.1: (8 H k + 2) times for k-means, 2 H + 1 times for k-medians."""
    rng = np.random.default_rng(k)
    for _ in range(5):
        X = rng.normal(size=(7, 2)).round(2)
        best, labels = optimum(X, k, objective)
        model = fit_quietly(MODELS[objective](k, algorithm="imm", reference=side_centers(X, labels, objective)), X)
        assert model.reference_.cost == pytest.approx(best, rel=1e-9)
        factor = 8 * model.depth_ * k + 2 if objective == "kmeans" else 2 * model.depth_ + 1
        assert metrics.imm_certificate(model).theorem_bound == pytest.approx(factor * best, rel=1e-9)
        assert best * (1 - 1e-9) <= model.cost_ <= factor * best


@pytest.mark.parametrize("objective", MODELS)
def test_the_guarantee_of_an_imm_tree_lies_between_its_cost_and_the_worst_case(objective):
    """Lemma 5.5: mistakes times the squared, or l1, diameter of the box of the centers, summed over the nodes."""
    rng = np.random.default_rng(11)
    for _ in range(20):
        n, d, k = 60, 3, int(rng.integers(2, 7))
        X = rng.normal(size=(n, d)) + rng.integers(0, 3, (n, 1)) * 2
        model = fit_quietly(MODELS[objective](k, algorithm="imm", n_init=1, random_state=0), X)
        tree, centers = model.tree_, model.reference_.centers
        spread, waiting = 0.0, [(0, np.arange(k))]
        while waiting:
            node, here = waiting.pop()
            if tree.children_left[node] < 0:
                continue
            box = centers[here].max(axis=0) - centers[here].min(axis=0)
            spread += tree.n_node_mistakes[node] * float(box @ box if objective == "kmeans" else box.sum())
            left = centers[here, tree.feature[node]] <= tree.threshold[node]
            waiting += [(tree.children_left[node], here[left]), (tree.children_right[node], here[~left])]
        reference = model.reference_.cost
        by_lemma = 2 * reference + 2 * spread if objective == "kmeans" else reference + spread
        factor = 8 * model.depth_ * k + 2 if objective == "kmeans" else 2 * model.depth_ + 1
        guarantee = metrics.imm_guarantee(model)
        assert model.cost_ <= guarantee * (1 + 1e-12)
        assert guarantee == pytest.approx(min(by_lemma, factor * reference), rel=1e-9)


@each("k", [3, 5, 12])
@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc"])
def test_the_standard_basis_is_split_exactly_by_a_caterpillar(k, algorithm):
    """Section 3: the cost is 0, and no tree of depth below k - 1 reaches it."""
    planted = datasets.make_standard_basis(k)
    model = fit_quietly(ExplainableKMeans(k, algorithm=algorithm, reference=planted.centers), planted.X)
    assert model.cost_ == 0
    assert model.n_leaves_ == k
    assert model.depth_ == k - 1


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow"])
def test_far_outliers_keep_their_own_leaf_where_entropy_splits_them(algorithm):
    """Section 3, Figure 2(b): entropy cuts between the clouds, and its cost grows with the distance."""
    ratios = []
    for distance in (50.0, 500.0):
        planted = datasets.make_far_outliers(distance, random_state=0)
        X, labels = planted.X, planted.labels
        model = fit_quietly(ExplainableKMeans(3, algorithm=algorithm, reference=planted.centers), X)
        assert np.array_equal(model.labels_, labels)
        assert model.cost_ratio_ == pytest.approx(1, rel=1e-9)
        entropy = DecisionTreeClassifier(max_leaf_nodes=3, criterion="entropy", random_state=0).fit(X, labels)
        ratios.append(clustering_cost(X, entropy.predict(X), "kmeans") / planted.cost)
    assert ratios[1] > 10 * ratios[0] > 10


@each("d", [3, 4, 8])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_single_cut_of_the_negated_clusters_is_cheaper_than_proved(d, objective):
    """Theorem 4.4: 3 (1 - 1/d)^2 for 2-means, 2 - 1/d for 2-medians, which the best cut has exactly."""
    planted = datasets.make_negated_clusters(d, objective=objective)
    ratios = [clustering_cost(planted.X, labels, objective) / planted.cost for labels in single_cuts(planted.X)]
    assert min(ratios) >= planted.lower_bound * (1 - 1e-12)
    best = clustering_cost(planted.X, by_cut(planted.X, objective), objective) / planted.cost
    assert best == pytest.approx(min(ratios))
    if objective == "kmedians":
        assert best == pytest.approx(planted.lower_bound)


def test_two_columns_of_negated_medians_are_cut_at_no_cost():
    """Theorem 4.4 is stated for any number of columns; with 2, the optimum for medians is itself a cut."""
    X = np.array([[0.0, 1], [1, 0], [0, -1], [-1, 0]])
    best, _ = optimum(X, 2, "kmedians")
    assert clustering_cost(X, by_cut(X, "kmedians"), "kmedians") == best


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exkmc"])
@pytest.mark.parametrize("objective", MODELS)
def test_trees_on_the_negated_clusters_cost_at_least_what_is_proved(objective, algorithm):
    planted = datasets.make_negated_clusters(6, objective=objective)
    model = fit_quietly(MODELS[objective](2, algorithm=algorithm, reference=planted.centers), planted.X)
    assert model.reference_.cost == pytest.approx(planted.cost)
    assert model.cost_ratio_ >= planted.lower_bound - 1e-9
    assert model.tree_.n_node_mistakes[0] >= 1 or algorithm != "imm"


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc"])
@pytest.mark.parametrize("objective", MODELS)
def test_every_tree_of_k_leaves_costs_more_than_the_hypercubes_planted_clusters(objective, algorithm):
    """Theorem 5.9, which has no constants: a cut parts rows from their corner, and corners are far apart."""
    planted = datasets.make_hypercube(5, objective=objective, random_state=0)
    model = fit_quietly(MODELS[objective](5, algorithm=algorithm, reference=planted.centers), planted.X)
    assert model.reference_.cost == pytest.approx(planted.cost)
    assert model.cost_ratio_ > 1.05
    certificate = fit_quietly(MODELS[objective](5, algorithm="imm", reference=planted.centers), planted.X)
    assert certificate.cost_ <= metrics.imm_guarantee(certificate)


def test_the_printed_update_of_algorithm_3_is_right_with_the_medians_of_the_odd_sides_only():
    rng = np.random.default_rng(0)
    printed_is_wrong = 0
    for _ in range(50):
        x = rng.normal(size=int(rng.integers(4, 12)))
        n = len(x)
        printed = ours = np.abs(x - np.median(x)).sum()
        wrong = False
        for p in range(1, n):
            moved, true = x[p - 1], sum(np.abs(s - np.median(s)).sum() for s in (x[:p], x[p:]))
            printed += abs(moved - np.median(x[:p])) - abs(moved - np.median(x[p - 1 :]))
            wrong |= abs(printed - true) > 1e-9
            left = np.median(x[: p if p % 2 else p - 1])
            right = np.median(x[p - 1 if (n - p + 1) % 2 else p :])
            ours += abs(moved - left) - abs(moved - right)
            assert ours == pytest.approx(true)
        printed_is_wrong += wrong
    assert printed_is_wrong == 50
