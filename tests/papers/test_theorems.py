"""What the papers prove, checked on optima found by enumeration and on their own hard sets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from cutwise import ExplainableKMeans, metrics
from tests.oracle import measures
from tests.oracle.models import fit_quietly
from tests.papers.sets import basis_vectors, codewords, far_outliers, two_negated_clusters


def _partitions(n: int, k: int) -> Iterator[np.ndarray]:
    """Every partition of n rows into exactly k parts, each written once."""

    def extend(prefix: list[int], used: int) -> Iterator[list[int]]:
        if len(prefix) == n:
            if used == k:
                yield prefix
            return
        if used + n - len(prefix) < k:
            return
        for part in range(min(used + 1, k)):
            yield from extend([*prefix, part], max(used, part + 1))

    for found in extend([], 0):
        yield np.array(found)


def _optimum(X: np.ndarray, k: int) -> tuple[float, np.ndarray]:
    """The k-means optimum and its labels, by enumeration."""
    best = min(_partitions(len(X), k), key=lambda labels: _quick_cost(X, labels, k))
    return measures.partition_cost(best, X), best


def _quick_cost(X: np.ndarray, labels: np.ndarray, k: int) -> float:
    cost = float((X**2).sum())
    for j in range(k):
        part = X[labels == j]
        cost -= float((part.sum(axis=0) ** 2).sum()) / len(part)
    return cost


@pytest.mark.parametrize("k", [2, 3, 4])
def test_imm_stays_within_its_bound_of_the_enumerated_optimum(k):
    """IMM paper, Theorem 5.1: cost(T) <= (8 H k + 2) cost of the centers."""
    rng = np.random.default_rng(k)
    for _ in range(6):
        X = rng.normal(size=(9, 2)).round(2)
        best, labels = _optimum(X, k)
        centers = np.array([X[labels == j].mean(axis=0) for j in range(k)])
        model = fit_quietly(ExplainableKMeans(k, algorithm="imm", reference=centers), X)
        assert model.reference_.cost == pytest.approx(best, rel=1e-9)
        assert model.cost_ <= (8 * model.depth_ * k + 2) * best * (1 + 1e-9)
        assert model.cost_ >= best * (1 - 1e-9)


def test_the_guarantee_of_an_imm_tree_lies_between_its_cost_and_the_worst_case():
    """IMM paper, Lemma 5.5: cost(T) <= 2 cost(centers) + 2 sum of mistakes * squared diameter of the centers."""
    rng = np.random.default_rng(11)
    for _ in range(20):
        n, d, k = 60, 3, int(rng.integers(2, 7))
        X = rng.normal(size=(n, d)) + rng.integers(0, 3, (n, 1)) * 2
        model = fit_quietly(ExplainableKMeans(k, algorithm="imm", random_state=0), X)
        tree, centers = model.tree_, model.reference_.centers
        spread, waiting = 0.0, [(0, np.arange(k))]
        while waiting:
            node, here = waiting.pop()
            if tree.children_left[node] < 0:
                continue
            box = centers[here].max(axis=0) - centers[here].min(axis=0)
            spread += tree.n_node_mistakes[node] * float(box @ box)
            left = centers[here, tree.feature[node]] <= tree.threshold[node]
            waiting += [(tree.children_left[node], here[left]), (tree.children_right[node], here[~left])]
        reference = model.reference_.cost
        by_lemma = 2 * reference + 2 * spread
        by_theorem = (8 * model.depth_ * k + 2) * reference
        guarantee = metrics.imm_guarantee(model)
        assert model.cost_ <= guarantee * (1 + 1e-12)
        assert guarantee == pytest.approx(min(by_lemma, by_theorem), rel=1e-9)


@pytest.mark.parametrize("k", [3, 5, 12])
@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc"])
def test_basis_vectors_are_split_exactly_by_a_caterpillar(k, algorithm):
    """IMM paper, Section 3: the cost is 0, and no tree of depth below k - 1 reaches it."""
    X = basis_vectors(k)
    model = fit_quietly(ExplainableKMeans(k, algorithm=algorithm, reference=X), X)
    assert model.cost_ == 0
    assert model.n_leaves_ == k
    assert model.depth_ == k - 1


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow"])
def test_far_outliers_keep_their_own_leaf_where_entropy_splits_them(algorithm):
    """IMM paper, Section 3, Figure 2(b): entropy cuts between the clouds, and its cost grows with the distance."""
    ratios = []
    for distance in (50.0, 500.0):
        X, labels = far_outliers(distance)
        centers = np.array([X[labels == j].mean(axis=0) for j in range(3)])
        model = fit_quietly(ExplainableKMeans(3, algorithm=algorithm, reference=centers), X)
        assert np.array_equal(model.labels_, labels)
        assert model.cost_ratio_ == pytest.approx(1, rel=1e-9)
        entropy = DecisionTreeClassifier(max_leaf_nodes=3, criterion="entropy", random_state=0).fit(X, labels)
        ratios.append(measures.partition_cost(entropy.predict(X), X) / model.reference_.cost)
    assert ratios[1] > 10 * ratios[0] > 10


@pytest.mark.parametrize("d", [3, 4, 8])
@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exkmc"])
def test_two_negated_clusters_cost_at_least_what_is_proved(d, algorithm):
    """IMM paper, Theorem 4.4: any single cut costs at least 3 (1 - 1/d)^2 times the 2-means optimum."""
    X, labels = two_negated_clusters(d)
    centers = np.array([X[labels == j].mean(axis=0) for j in range(2)])
    model = fit_quietly(ExplainableKMeans(2, algorithm=algorithm, reference=centers), X)
    assert model.cost_ratio_ >= 3 * (1 - 1 / d) ** 2 - 1e-9
    assert model.tree_.n_node_mistakes[0] >= 1 or algorithm != "imm"


def test_codewords_cost_more_with_k_leaves_and_are_recovered_exactly_with_more():
    """ExKMC paper, Theorem 4 and Corollary 1, on a small Synthetic II."""
    k, d = 8, 120
    X, words, labels = codewords(k, d)
    base = fit_quietly(ExplainableKMeans(k, algorithm="imm", reference=words), X)
    planted = measures.partition_cost(labels, X)
    assert base.cost_ > planted * 1.01
    costs = []
    for max_leaves in range(k, 4 * k):
        model = fit_quietly(ExplainableKMeans(k, algorithm="imm", reference=words, max_leaves=max_leaves), X)
        costs.append(model.surrogate_cost_)
    assert all(after <= before for before, after in pairwise(costs))
    assert np.array_equal(model.labels_, labels)
    assert model.surrogate_cost_ == model.reference_.cost


def test_own_means_never_cost_more_than_the_reference_centers():
    rng = np.random.default_rng(12)
    for algorithm in ("imm", "exgreedy", "exshallow", "exkmc"):
        X = rng.normal(size=(80, 4))
        model = fit_quietly(ExplainableKMeans(5, algorithm=algorithm, max_leaves=11, random_state=0), X)
        assert model.cost_ <= model.surrogate_cost_ * (1 + 1e-12)
        assert model.surrogate_cost_ >= model.reference_.cost * (1 - 1e-12)
