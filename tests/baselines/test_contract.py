"""The baselines answer like the estimators: scikit-learn's checks, metrics, rules, model files."""

import doctest
import importlib
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import cutwise
from cutwise import baselines, load_model, metrics
from cutwise.exceptions import InvalidInputError

NAMES = sorted(name for name in baselines.__all__ if not name.isupper() or name in ("CART", "CUBT"))
CLASSES = [getattr(baselines, name) for name in NAMES]


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


@pytest.mark.parametrize(
    "model", [baselines.KDTree(3, leaf_size=1, random_state=0), baselines.CLTree(3, random_state=0)], ids=str
)
def test_equal_rows_stay_in_one_leaf_however_many_they_are(model):
    X = np.repeat([[0.0, 0.0], [1.0, 5.0], [9.0, 9.0]], [80, 10, 10], axis=0)
    model.fit(X)
    assert model.tree_.n_node_samples[model.tree_.leaves].tolist() == [80, 10, 10]
    assert model.cost_ == 0
