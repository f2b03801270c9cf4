"""What a clustering explains, and how much of that its tree keeps, from the definitions."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from cutwise import ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans, ExplainableKMedians, load_model
from cutwise.baselines import CART
from tests.each import each

RNG = np.random.default_rng(0)
CENTERS = np.array([[0.0, 0, 0], [4, 1, 0], [0, 5, 30]])
LABELS = np.repeat([0, 1, 2], 30)
X = CENTERS[LABELS] + RNG.normal(size=(90, 3)) * [1, 1, 10]
Z = StandardScaler().fit_transform(X)
WEIGHTS = RNG.integers(0, 4, 90) / 2.0
NOISY = np.where(np.arange(90) % 7, LABELS, -1)
COSTS = RNG.uniform(size=(90, 3)) + 2 * (np.arange(3) != LABELS[:, None])
HALF = {"n_clusters": 3, "random_state": 0, "n_init": 1}


def around_one_mean(rows, weights):
    return float(weights @ ((rows - np.average(rows, axis=0, weights=weights)) ** 2).sum(axis=1))


def around_one_median(rows, weights):
    # Some value of the column itself is a best center.
    return sum(min(float(weights @ abs(column - value)) for value in column) for column in rows.T)


def around_one_point_of_feature_space(kernel, weights):
    return float(weights @ np.diag(kernel) - weights @ kernel @ weights / weights.sum())


ONES, NO_NOISE = np.ones(90), (NOISY >= 0).astype(float)
CASES = {
    "k-means": (ExplainableKMeans(**HALF), {}, around_one_mean(X, ONES)),
    "weighted": (ExplainableKMeans(**HALF), {"sample_weight": WEIGHTS}, around_one_mean(X, WEIGHTS)),
    "scaled": (ExplainableKMeans(**HALF, preprocessor=StandardScaler()), {}, around_one_mean(Z, ONES)),
    "optimal": (
        ExplainableKMeans(2, algorithm="optimal", random_state=0),
        {"sample_weight": WEIGHTS},
        around_one_mean(X, WEIGHTS),
    ),
    "k-medians": (ExplainableKMedians(**HALF), {"sample_weight": WEIGHTS}, around_one_median(X, WEIGHTS)),
    "kernel": (
        ExplainableKernelKMeans(**HALF, gamma=0.05),
        {"sample_weight": WEIGHTS},
        around_one_point_of_feature_space(rbf_kernel(X, gamma=0.05), WEIGHTS),
    ),
    "given labels": (ClusterExplainer(), {"y": NOISY}, around_one_mean(X, NO_NOISE)),
    "given costs": (ClusterExplainer(), {"y": LABELS, "costs": COSTS}, float(COSTS.sum(axis=0).min())),
    "baseline": (CART(**HALF), {"sample_weight": WEIGHTS}, around_one_mean(X, WEIGHTS)),
}


@pytest.mark.parametrize(("model", "fit", "total"), CASES.values(), ids=CASES)
def test_the_share_kept_is_what_the_definition_says(model, fit, total, tmp_path):
    model.fit(X, **fit)
    assert model.total_cost_ == pytest.approx(total)
    gain = total - model.reference_.cost
    assert model.explained_ == pytest.approx((total - model.cost_) / gain)
    assert model.reference_explained_ == pytest.approx(gain / total)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    for name in ("total_cost_", "explained_", "reference_explained_"):
        assert getattr(loaded, name) == getattr(model, name)


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@pytest.mark.parametrize("far", [0.0, 1e3, 1e9])
def test_it_is_undefined_where_the_reference_is_no_better_than_a_single_cluster(far):
    rows = X + far
    assert np.isnan(ExplainableKMeans(1).fit(rows).explained_)
    assert np.isnan(ExplainableKMeans(2, reference=[rows[0] + 100, rows[0] + 200]).fit(rows).explained_)
    equal = ClusterExplainer().fit(np.ones((4, 1)), [0, 0, 1, 1])
    assert np.isnan(equal.explained_)
    assert np.isnan(equal.reference_explained_)


def test_models_that_are_not_fitted_have_none():
    assert not hasattr(ExplainableKMeans(), "explained_")
    assert not hasattr(ClusterExplainer(), "reference_explained_")


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@each("offset", [0.0, 1e3, 1e9])
@each("apart", [0.0, 1e-3, 1.0, 30.0])
@each("spread", [0.0, 1e-2, 1.0])
@each("weighted", [False, True])
def test_the_cost_is_that_of_the_clusters_own_means(offset, apart, spread, weighted):
    rng = np.random.default_rng(3)
    where = np.arange(60) % 3
    rows = np.round(offset + 8 * CENTERS[where] + spread * rng.normal(size=(60, 3)), 6)
    centers = offset + 8 * CENTERS + apart * rng.normal(size=(3, 3))
    weights = rng.integers(1, 4, 60) if weighted else None
    model = ExplainableKMeans(3, algorithm="imm", reference=centers).fit(rows, sample_weight=weights)
    rounded = 3 * 3 * 60 * np.spacing(offset) ** 2  # the means themselves, in three columns, with weights up to 3
    assert model.cost_ == pytest.approx(_exact_cost(rows, model.labels_, weights), rel=1e-12, abs=rounded)


def _exact_cost(rows, labels, weights):
    cost = Fraction(0)
    for cluster in np.unique(labels):
        own = labels == cluster
        w = np.ones(own.sum(), dtype=int) if weights is None else weights[own]
        for column in rows[own].T:
            values = [Fraction(float(v)) for v in column]
            mean = sum(n * v for n, v in zip(w.tolist(), values, strict=True)) / int(w.sum())
            cost += sum(n * (v - mean) ** 2 for n, v in zip(w.tolist(), values, strict=True))
    return float(cost)
