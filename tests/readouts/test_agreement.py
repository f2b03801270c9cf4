"""Cost ratio and agreement of a tree with a clustering, against their definitions and scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from cutwise import ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans, ExplainableKMedians, metrics
from cutwise.exceptions import InvalidInputError
from cutwise.readouts.metrics import adjusted_rand, contingency, normalized_information
from tests.each import each

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
LABELS = RNG.integers(0, 3, 80)
MODEL = ExplainableKMeans(3, random_state=0).fit(X)


@each("seed", range(15))
def test_both_measures_are_scikit_learns_and_weights_are_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, rng.integers(1, 5), 30), rng.integers(0, rng.integers(1, 5), 30)
    weights = rng.integers(1, 4, 30)
    a, b = np.repeat(first, weights), np.repeat(second, weights)
    table = contingency(first, second, weights)
    assert adjusted_rand(table) == pytest.approx(adjusted_rand_score(a, b))
    assert normalized_information(table) == pytest.approx(normalized_mutual_info_score(a, b), abs=1e-12)


def test_the_agreement_of_a_tree_does_not_ask_what_clusters_are_called():
    words = np.array(["red", "green", "blue"])[LABELS]
    predicted = MODEL.predict(X)
    assert metrics.adjusted_rand_index(MODEL, X, words) == pytest.approx(adjusted_rand_score(LABELS, predicted))
    expected = normalized_mutual_info_score(LABELS, predicted)
    assert metrics.normalized_mutual_information(MODEL.tree_, X, words) == pytest.approx(expected)
    assert metrics.adjusted_rand_index(MODEL, X, predicted + 5) == 1.0


def test_noise_is_left_out():
    noisy = np.where(np.arange(80) < 30, -1, LABELS)
    expected = adjusted_rand_score(LABELS[30:], MODEL.predict(X[30:]))
    assert metrics.adjusted_rand_index(MODEL, X, noisy) == pytest.approx(expected)
    weights = np.where(np.arange(80) < 30, 0.0, 1.0)
    assert metrics.adjusted_rand_index(MODEL, X, LABELS, sample_weight=weights) == pytest.approx(expected)
    ratio = metrics.cost_ratio(MODEL, X, noisy)
    assert ratio == pytest.approx(metrics.cost_ratio(MODEL, X[30:], LABELS[30:]))


def test_fractional_weights_agree_with_those_of_the_fit():
    weights = RNG.random(80) * 1e-5
    model = ExplainableKernelKMeans(3, gamma=0.5, random_state=0).fit(X, sample_weight=weights)
    found = metrics.adjusted_rand_index(model, X, model.reference_.labels, sample_weight=weights)
    assert found == pytest.approx(model.adjusted_rand_index_, abs=1e-6)


def test_the_cost_ratio_is_that_of_the_fit():
    assert metrics.cost_ratio(MODEL, X, MODEL.reference_.labels) == pytest.approx(MODEL.cost_ratio_, rel=1e-6)
    kernel = ExplainableKernelKMeans(3, gamma=0.5, random_state=0).fit(X)
    matrix = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    ratio = metrics.cost_ratio(kernel, X, kernel.reference_.labels, metric="kernel", K=matrix)
    assert ratio == pytest.approx(kernel.cost_ratio_)
    assert metrics.cost_ratio(MODEL, X, LABELS) == pytest.approx(
        metrics.tree_cost(MODEL, X) / metrics.partition_cost(X, LABELS)
    )


NAMES = np.array(["red", "green", "noise", "blue"])[RNG.integers(0, 4, 80)]
NAMES[NAMES == "noise"] = "-1"
WEIGHTS = RNG.integers(0, 3, 80) + 0.5 * (np.arange(80) < 9)
SCALED = {"preprocessor": StandardScaler(), "random_state": 0}


@pytest.mark.parametrize(
    ("model", "fit"),
    [
        (ExplainableKMeans(3, reference=[[0.0, 1.0], [1.0, 0.0], [5.0, 0.0]], preprocessor=StandardScaler()), {}),
        (ExplainableKMeans(3, **SCALED), {"sample_weight": WEIGHTS}),
        (ExplainableKMedians(3, **SCALED), {"sample_weight": WEIGHTS}),
        (ExplainableKernelKMeans(3, gamma=0.5, **SCALED), {"sample_weight": WEIGHTS}),
        (ExplainableKernelKMeans(3, gamma=0.5, approximation="nystroem", n_components=20, **SCALED), {}),
        (ClusterExplainer(preprocessor=StandardScaler()), {"y": NAMES, "sample_weight": WEIGHTS}),
    ],
    ids=["given centers", "k-means", "k-medians", "kernel", "nystroem", "labels"],
)
@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
def test_a_model_is_measured_in_its_own_space_against_its_own_reference(model, fit):
    rows = X * [1, 30]
    model.fit(rows, **fit)
    weights = fit.get("sample_weight")
    labels = model.reference_.labels
    assert metrics.cost_ratio(model, rows, sample_weight=weights) == pytest.approx(model.cost_ratio_, rel=1e-7)
    if "y" not in fit:  # noise takes no part in the cost of a fit
        assert metrics.tree_cost(model, rows, sample_weight=weights) == pytest.approx(model.cost_, rel=1e-7)
    if not isinstance(model, ExplainableKernelKMeans):
        codes = np.searchsorted(model.classes_, model.predict(rows))
        counted = (labels >= 0).astype(float) * (1 if weights is None else weights)
        surrogate = metrics.surrogate_cost(model, rows, sample_weight=counted)
        assert surrogate == pytest.approx(model.surrogate_cost_)
        assert metrics.n_mistakes(model, rows) == ((labels >= 0) & (labels != codes)).sum()
    assert metrics.adjusted_rand_index(model, rows) == metrics.adjusted_rand_index(model, rows, labels)
    with pytest.raises(InvalidInputError, match="those of the 80 rows of fit"):
        metrics.cost_ratio(model, rows[1:])


def test_a_tree_alone_has_no_reference():
    with pytest.raises(InvalidInputError, match="ThresholdTree has no reference"):
        metrics.cost_ratio(MODEL.tree_, X)


def test_a_reference_that_costs_nothing_has_no_ratio():
    assert np.isnan(metrics.cost_ratio(MODEL, X, np.arange(80)))


def test_labels_of_other_rows_are_refused():
    with pytest.raises(InvalidInputError, match="79"):
        metrics.adjusted_rand_index(MODEL, X, LABELS[1:])
