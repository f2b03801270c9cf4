"""ExplainableKMedians: l1 from the reference to the price, in everything an explainable clustering answers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris
from sklearn.preprocessing import MaxAbsScaler, RobustScaler

from cutwise import (
    Batches,
    ExplainableKMeans,
    ExplainableKMedians,
    KMedians,
    cost_curve,
    export_text,
    load_model,
    metrics,
)
from cutwise.exceptions import InvalidInputError
from tests.oracle import measures
from tests.oracle.verify import check_imm, check_induced, problem_of

from .naive_kmedians import distances, medians

IRIS = load_iris(as_frame=True).data
RECIPES = [
    {"algorithm": "imm"},
    {"algorithm": "exgreedy"},
    {"algorithm": "exshallow"},
    {"algorithm": "exkmc"},
    {"algorithm": "imm", "max_leaves": 6},
    {"algorithm": "exshallow", "max_leaves": 6, "expansion": "expand"},
    {"algorithm": "exshallow", "depth_penalty": "auto"},
]
RECIPE = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: "-".join(map(str, recipe.values())))


@RECIPE
def test_everything_is_measured_on_l1(recipe):
    X = IRIS.to_numpy()
    model = ExplainableKMedians(3, random_state=0, **recipe).fit(X)
    clusters = measures.clusters_of_rows(model.tree_, X)
    assert np.array_equal(model.labels_, clusters)
    assert np.array_equal(model.cluster_centers_, medians(X, clusters, 3, None))
    assert model.cost_ == pytest.approx(measures.partition_medians_cost(clusters, X), rel=1e-12)
    assert model.cost_ == model.inertia_ == pytest.approx(metrics.tree_cost(model, X, metric="kmedians"), rel=1e-12)
    surrogate = metrics.surrogate_cost(model, X, model.reference_.centers, metric="kmedians")
    assert model.cost_ <= model.surrogate_cost_ == pytest.approx(surrogate, rel=1e-12)
    assert model.cost_ratio_ == model.cost_ / model.reference_.cost >= 1
    np.testing.assert_allclose(model.transform(X), distances(X, model.cluster_centers_), rtol=1e-12)
    assert model.score(X) == pytest.approx(-model.cost_, rel=1e-12)
    assert model.reference_.objective == "kmedians"
    weights = np.random.default_rng(0).random(150)
    assert model.score(X, sample_weight=weights) == pytest.approx(
        -(weights * np.abs(X - model.cluster_centers_[clusters]).sum(axis=1)).sum()
    )


def test_the_reference_is_that_of_kmedians():
    model = ExplainableKMedians(4, random_state=3).fit(IRIS)
    alone = KMedians(4, random_state=3).fit(IRIS)
    assert model.reference_.cost == pytest.approx(alone.inertia_, rel=1e-12)
    assert np.array_equal(model.reference_.labels, alone.labels_)


def test_any_clustering_may_be_the_reference():
    X = IRIS.to_numpy()
    alone = KMedians(3, random_state=0).fit(X)
    by_centers = ExplainableKMedians(3, reference=alone.cluster_centers_).fit(X)
    for reference in (alone, KMedians(3, random_state=0)):
        model = ExplainableKMedians(3, reference=reference).fit(X)
        assert model.tree_.equals(by_centers.tree_)
        assert np.array_equal(model.reference_.labels, alone.labels_)
    means = KMeans(3, n_init=1, random_state=0).fit(X)
    model = ExplainableKMedians(3, reference=means).fit(X)
    assert np.array_equal(model.reference_.labels, means.labels_)
    linked = AgglomerativeClustering(3).fit_predict(X)
    model = ExplainableKMedians(3, reference=AgglomerativeClustering(3)).fit(X)
    assert np.array_equal(model.reference_.labels, linked)
    assert np.array_equal(model.reference_.centers, medians(X, linked, 3, None))
    with pytest.raises(InvalidInputError, match="n_clusters=3"):
        ExplainableKMedians(3, reference=X[:4]).fit(X)


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow"])
def test_cuts_part_the_medians_of_the_raw_rows_where_there_is_a_preprocessor(algorithm):
    rng = np.random.default_rng(0)
    for seed in range(4):
        part = np.concatenate([np.arange(3), rng.integers(0, 3, 45)])
        X = np.column_stack([20 + 9 * part + rng.integers(0, 9, 48), 1000 * rng.standard_cauchy(48).round(2)])
        scaler = RobustScaler()
        Z = scaler.fit_transform(X)
        centers = KMedians(3, random_state=seed).fit(Z).cluster_centers_
        model = ExplainableKMedians(3, algorithm=algorithm, reference=centers, preprocessor=RobustScaler()).fit(X)
        raw = medians(X, model.reference_.labels, 3, None)
        given = problem_of(model, X, metric_rows=Z, coordinates=raw)
        if algorithm == "imm":
            check_imm(model.tree_, given)
        else:
            check_induced(model.tree_, given, None if algorithm == "exgreedy" else 0.03)
        assert np.array_equal(model.cluster_centers_, medians(Z, model.labels_, 3, None))
        assert model.cost_ == pytest.approx(metrics.tree_cost(model, X, metric="kmedians", Z=Z), rel=1e-12)


@RECIPE
def test_a_saved_model_answers_as_before(recipe, tmp_path):
    model = ExplainableKMedians(3, random_state=0, preprocessor=MaxAbsScaler(), **recipe).fit(IRIS)
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert type(again) is ExplainableKMedians
    assert again.tree_.equals(model.tree_)
    assert str(again.rules()) == str(model.rules())
    assert export_text(again) == export_text(model)
    assert again.reference_.objective == "kmedians"
    assert (again.cost_, again.cost_ratio_, again.surrogate_cost_) == (
        model.cost_,
        model.cost_ratio_,
        model.surrogate_cost_,
    )
    assert np.array_equal(again.transform(IRIS), model.transform(IRIS))
    assert again.score(IRIS) == model.score(IRIS)


def test_a_curve_of_costs_is_one_of_l1_costs():
    X = IRIS.to_numpy()
    curve = cost_curve(ExplainableKMedians(3, random_state=0), X, max_leaves=6)
    for n_leaves, cost in zip(curve.n_leaves, curve.cost, strict=True):
        model = ExplainableKMedians(3, random_state=0, max_leaves=int(n_leaves)).fit(X)
        assert model.cost_ == cost == curve.model(int(n_leaves)).cost_


def test_outliers_take_a_cluster_of_k_means_and_none_of_k_medians():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"amount": np.concatenate([rng.normal(10, 1, 90), rng.normal(20, 1, 90), [200.0, 210.0]])})
    by_means = ExplainableKMeans(2, random_state=0).fit(X)
    by_medians = ExplainableKMedians(2, random_state=0).fit(X)
    assert sorted(np.bincount(by_means.labels_)) == [2, 180]
    assert sorted(np.bincount(by_medians.labels_)) == [90, 92]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"algorithm": "imn"}, ("algorithm", "imn", "Did you mean 'imm'")),
        ({"expansion": "none"}, ("expansion", "none", "exkmc")),
        ({"max_leaves": 2}, ("max_leaves=2", "n_clusters=3")),
        ({"n_init": 0}, ("n_init", "0")),
        ({"reference": "kmedians"}, ("reference", "kmedians")),
        ({"n_clusters": 200}, ("200", "149")),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_named(options, words):
    with pytest.raises(ValueError) as caught:
        ExplainableKMedians(**{"n_clusters": 3, **options}).fit(IRIS)
    for word in words:
        assert word in str(caught.value)


def test_values_that_are_no_numbers_are_named():
    with pytest.raises(InvalidInputError, match="contains NaN"):
        ExplainableKMedians(2, preprocessor=None).fit(IRIS.where(IRIS > 1.0))
    with pytest.raises(InvalidInputError, match="beyond float64"):
        ExplainableKMedians(2).fit(np.array([[1e308, 1e308], [-1e308, -1e308], [0.0, 1.0]]))
    with pytest.raises(InvalidInputError, match="beyond float64"):  # the search goes by squares
        ExplainableKMedians(2).fit(1e300 * np.random.default_rng(0).normal(size=(60, 3)))
    far = pd.DataFrame({"x": np.repeat([1e308, -1e308], [60, 20])})
    for rows in (far, Batches([far])):  # without warnings of numpy
        with pytest.raises(InvalidInputError, match="beyond float64"):
            ExplainableKMeans(2).fit(rows)
