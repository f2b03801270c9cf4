"""The baselines answer like the estimators: scikit-learn's checks, metrics, rules, model files."""

import doctest
import importlib
import pickle

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import cutwise
from cutwise import baselines, load_model, metrics
from cutwise.exceptions import InvalidInputError

NAMES = sorted(name for name in baselines.__all__ if not name.isupper() or name in ("CART", "CUBT"))
CLASSES = [getattr(baselines, name) for name in NAMES]


def expected_failures(estimator):
    """Checks that cannot hold, each with its reason."""
    name = type(estimator).__name__
    failures = {}
    if name != "CUBT":  # which only numbers its clusters by the reference
        reason = "the k-means++ restarts of the reference draw other rows when rows are repeated, as in KMeans"
        failures = {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if name == "CLTree":
        failures["check_clustering"] = "a reference cluster may end without a leaf, and labels_ then skips its number"
    return failures


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@parametrize_with_checks(
    [make(n_clusters=2, n_init=2) for make in CLASSES],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).data


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@pytest.mark.parametrize("make", CLASSES)
class TestEachBaseline:
    def test_metrics_rules_and_files_apply(self, make, iris, tmp_path):
        model = make(3, max_leaves=6, random_state=0).fit(iris)
        assert model.n_leaves_ <= 6
        assert model.cost_ == pytest.approx(metrics.tree_cost(model, iris))
        assert model.surrogate_cost_ == pytest.approx(metrics.surrogate_cost(model, iris, model.reference_.centers))
        assert model.cost_ratio_ == pytest.approx(model.cost_ / model.reference_.cost)
        assert np.array_equal(model.labels_, model.predict(iris))
        assert np.array_equal(model.to_sklearn().predict(iris), model.labels_)
        assert "cluster" in cutwise.export_text(model)
        assert metrics.weighted_average_explanation_size(model, iris) <= metrics.weighted_average_depth(model, iris)
        model.save(tmp_path / "model.json")
        again = load_model(tmp_path / "model.json")
        assert type(again) is make
        assert str(again.rules()) == str(model.rules())
        assert pickle.loads(pickle.dumps(model)).tree_.equals(model.tree_)

    def test_a_weight_is_a_repeated_row_for_a_given_reference(self, make):
        rng = np.random.default_rng(0)
        X = np.round(rng.normal(size=(60, 3)), 1) + np.repeat([[0, 0, 0], [4, 1, 0], [1, 5, 2]], 20, axis=0)
        weights = rng.integers(1, 4, 60)
        centers = KMeans(3, n_init=2, random_state=0).fit(X).cluster_centers_
        weighted = make(3, max_leaves=5, reference=centers).fit(X, sample_weight=weights)
        repeated = make(3, max_leaves=5, reference=centers).fit(np.repeat(X, weights, axis=0))
        assert np.array_equal(weighted.predict(X), repeated.predict(X))
        assert weighted.cost_ == pytest.approx(repeated.cost_)

    def test_a_preprocessor_keeps_the_rules_in_raw_units(self, make, iris):
        model = make(3, preprocessor=StandardScaler(), random_state=0).fit(iris)
        inside = model.tree_.threshold[model.tree_.feature >= 0]
        assert (inside >= 0).all()
        Z = StandardScaler().fit_transform(iris)
        assert model.cost_ == pytest.approx(metrics.tree_cost(model, iris, Z=Z))

    def test_rows_of_one_kind_make_one_leaf(self, make):
        model = make(1).fit(np.ones((5, 2)))
        assert model.n_leaves_ == 1
        assert model.cost_ == 0

    def test_fewer_leaves_than_clusters_are_refused(self, make, iris):
        with pytest.raises(InvalidInputError, match="max_leaves=2 is fewer than n_clusters=3"):
            make(3, max_leaves=2).fit(iris)

    def test_parameters_are_documented(self, make):
        for parameter in make().get_params():
            assert parameter in make.__doc__


@pytest.mark.parametrize("make", CLASSES)
def test_the_examples_are_true(make):
    outcome = doctest.testmod(importlib.import_module(make.__module__), raise_on_error=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0
