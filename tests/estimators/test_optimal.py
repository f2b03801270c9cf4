"""algorithm="optimal": the best single cut as a model, beside the same reference as any other."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from cutwise import ExplainableKMeans, ExplainableKMedians, cost_curve, export_text, load_model, metrics
from cutwise.exceptions import InvalidInputError
from tests.each import each
from tests.papers.optima import clustering_cost, single_cuts

OBJECTIVES = {"kmeans": ExplainableKMeans, "kmedians": ExplainableKMedians}


def rows(seed=0, n=80, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + rng.integers(0, 2, (n, 1)) * 2


def optimal(objective, **parameters):
    return OBJECTIVES[objective](2, algorithm="optimal", n_init=1, random_state=0, **parameters)


@pytest.fixture(params=OBJECTIVES)
def objective(request):
    return request.param


@each("seed", range(4))
def test_no_single_cut_costs_less(objective, seed):
    X = rows(seed, n=40)
    model = optimal(objective).fit(X)
    assert model.n_leaves_ == 2
    assert model.cost_ == pytest.approx(min(clustering_cost(X, labels, objective) for labels in single_cuts(X)))
    assert model.cost_ == pytest.approx(clustering_cost(X, model.labels_, objective))
    for algorithm in ("imm", "exgreedy", "exshallow", "exkmc"):
        other = OBJECTIVES[objective](2, algorithm=algorithm, n_init=1, random_state=0).fit(X)
        assert model.cost_ <= other.cost_ * (1 + 1e-12)


def test_everything_else_is_answered(objective):
    X = rows()
    model = optimal(objective).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.transform(X).shape == (80, 2)
    assert model.score(X) == pytest.approx(-model.cost_)
    assert len(model.rules()) == 2
    assert "purity" in export_text(model)
    assert np.array_equal(model.to_sklearn().predict(X), model.labels_)


def test_the_reference_is_that_of_every_other_algorithm(objective):
    X = rows()
    model = optimal(objective).fit(X)
    other = OBJECTIVES[objective](2, n_init=1, random_state=0).fit(X).reference_
    assert np.array_equal(model.reference_.labels, other.labels)
    assert np.array_equal(model.reference_.centers, other.centers)
    assert model.reference_.cost == other.cost
    assert model.cost_ratio_ == model.cost_ / model.reference_.cost
    # The tree's clusters have its numbers.
    assert (model.reference_.labels == model.labels_).mean() >= 0.5


def test_another_fit_has_another_reference(objective):
    model = optimal(objective).fit(rows(0))
    before = model.reference_.cost
    assert model.fit(rows(1)).reference_.cost != before
    assert model.set_params(algorithm="imm").fit(rows(0)).reference_.cost == before
    assert metrics.imm_guarantee(model) >= model.cost_


def test_copies_pickles_and_files_are_complete(objective, tmp_path):
    X = rows()
    ratio = optimal(objective).fit(X).cost_ratio_
    for duplicate in (copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))):
        assert duplicate(optimal(objective).fit(X)).cost_ratio_ == ratio
    optimal(objective).fit(X).save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.cost_ratio_ == ratio
    assert loaded.algorithm == "optimal"


def test_a_given_reference_is_taken(objective):
    X = rows()
    centers = np.array([[2.0, 2, 2], [0, 0, 0]])
    model = optimal(objective, reference=centers).fit(X)
    assert np.array_equal(model.reference_.centers, centers)
    assert (
        model.reference_.labels == model.labels_
    ).mean() > 0.7  # the tree's clusters have the numbers of the reference
    with_model = optimal(objective, reference=KMeans(2, n_init=1, random_state=0)).fit(X)
    assert with_model.cost_ == model.cost_


def test_costs_are_measured_where_the_preprocessor_says(objective):
    X = rows() * [1, 100, 0.01]
    model = optimal(objective, preprocessor=StandardScaler()).fit(X)
    Z = StandardScaler().fit_transform(X)
    assert model.cost_ == pytest.approx(min(clustering_cost(Z, labels, objective) for labels in single_cuts(X)))
    assert set(model.labels_) == {0, 1}


def test_weights_are_repeated_rows_and_rows_without_weight_are_placed(objective):
    X = rows(3, n=30).round(1)
    weights = np.random.default_rng(1).integers(0, 4, 30)
    weighted = optimal(objective).fit(X, sample_weight=weights)
    repeated = optimal(objective).fit(np.repeat(X, weights, axis=0))
    assert weighted.tree_.to_dict()["threshold"] == repeated.tree_.to_dict()["threshold"]
    assert weighted.cost_ == pytest.approx(repeated.cost_, rel=1e-12)
    assert np.array_equal(weighted.labels_, repeated.predict(X))
    assert len(weighted.labels_) == 30
    halves = optimal(objective).fit(X, sample_weight=weights / 8)
    assert halves.cost_ == pytest.approx(repeated.cost_ / 8)


@pytest.mark.parametrize("container", [sparse.csr_array, lambda X: X.astype(np.float32), np.asfortranarray])
def test_any_table_will_do(objective, container):
    X = rows().round(1) * (np.random.default_rng(0).random((80, 3)) < 0.5)
    X = X.astype(np.float32).astype(np.float64)
    model, other = optimal(objective).fit(X), optimal(objective).fit(container(X))
    assert np.array_equal(model.labels_, other.labels_)
    assert other.cost_ == pytest.approx(model.cost_)
    assert other.cost_ratio_ == pytest.approx(model.cost_ratio_)


def test_it_is_about_two_clusters_and_two_leaves(objective):
    X = rows()
    with pytest.raises(InvalidInputError, match="n_clusters=3"):
        clone(optimal(objective)).set_params(n_clusters=3).fit(X)
    with pytest.raises(InvalidInputError, match="max_leaves=5"):
        optimal(objective, max_leaves=5).fit(X)
    assert optimal(objective, max_leaves=2).fit(X).n_leaves_ == 2
    with pytest.raises(InvalidInputError, match="max_leaves"):
        cost_curve(optimal(objective), X, max_leaves=8)
    assert cost_curve(optimal(objective), X).n_leaves.tolist() == [2]


def test_a_sparse_table_too_large_to_make_dense_is_refused(objective, monkeypatch):
    monkeypatch.setattr("cutwise.reference.resources.available_memory", lambda: 8_000)
    X = sparse.csr_array(np.random.default_rng(0).random((60, 60)))
    with pytest.raises(InvalidInputError, match=r"60 x 60 takes 28\.1 KiB of memory"):
        optimal(objective).fit(X)


def test_theorem_4_1_is_said_with_the_tree(objective):
    text = export_text(optimal(objective).fit(rows()))
    assert f"at most {4 if objective == 'kmeans' else 2} times the best two clusters" in text
    scaled = optimal(objective, preprocessor=StandardScaler()).fit(rows())
    assert "guarantee" not in export_text(scaled)
