"""scikit-learn's own checks, and its tools: clone, pickle, Pipeline, GridSearchCV, set_output."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from cutwise import (
    ClusterExplainer,
    ExplainableKernelKMeans,
    ExplainableKMeans,
    ExplainableKMedians,
    KernelKMeans,
    KMedians,
    TableScaler,
)
from cutwise.baselines import CART, CUBT, CLTree, KDTree
from tests.each import each
from tests.oracle.models import fit_quietly

SKLEARN_VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])

# Of every family one, and what reads its rows another way. n_clusters=2: the checks' tables are small.
CHECKED = [
    ExplainableKMeans(n_clusters=2, n_init=1),
    ExplainableKernelKMeans(n_clusters=2, n_init=1),
    ClusterExplainer(),
    KMedians(n_clusters=2, n_init=1),
    KernelKMeans(n_clusters=2, n_init=1, kernel="precomputed"),
    CART(n_clusters=2, n_init=1),
]
# They share all but how a tree grows with CART, and all but how distances are made with the others.
CHECKED_LONG = [
    ExplainableKMedians(n_clusters=2, n_init=2),
    KernelKMeans(n_clusters=2, n_init=2),
    *(make(n_clusters=2, n_init=2) for make in (CLTree, CUBT, KDTree)),
    ExplainableKMeans(n_clusters=2, n_init=2, algorithm="optimal"),
    ExplainableKMeans(n_clusters=2, algorithm="exkmc", max_leaves=5, expansion="expand", preprocessor=MaxAbsScaler()),
    ExplainableKernelKMeans(n_clusters=2, algorithm="expand", cuts="threshold", approximation="nystroem"),
]
NO_MATRIX = "the check's table is no kernel matrix, and that is what it is told"
NO_DISTANCES = "the check asks for distances, and a matrix does not hold the kernel of new rows with themselves"
ONLY_TWO = "the check sets n_clusters to 1 or 3, and the optimal cut is for 2"
NEED_DISTANCES = (
    "check_fit_score_takes_y",
    "check_estimators_dtypes",
    "check_dtype_object",
    "check_pipeline_consistency",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_dict_unchanged",
    "check_fit_idempotent",
)
NEED_MORE_CLUSTERS = (
    "check_clustering",
    "check_dont_overwrite_parameters",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_methods_subset_invariance",
)


def expected_failures(estimator):
    """Checks that cannot hold, each with its reason."""
    if isinstance(estimator, ClusterExplainer):
        return {"check_classifiers_classes": "the check's labels are 1 and -1, which is noise here and no cluster"}
    if getattr(estimator, "kernel", None) == "precomputed":
        matrix = dict.fromkeys(["check_clustering", "check_estimators_nan_inf"], NO_MATRIX)
        return {**matrix, **dict.fromkeys(NEED_DISTANCES, NO_DISTANCES)}
    if getattr(estimator, "algorithm", None) == "optimal":
        return dict.fromkeys(NEED_MORE_CLUSTERS, ONLY_TWO)
    if isinstance(estimator, CLTree | KDTree):
        return {"check_clustering": "a reference cluster may end without a leaf, and labels_ then skips its number"}
    return {}


def run_checks(estimator):
    """All of them, but those that need what is not installed; what is expected to fail must fail."""
    results = check_estimator(estimator, on_skip=None, expected_failed_checks=expected_failures(estimator))
    held = [result["check_name"] for result in results if result["status"] == "passed" and result["expected_to_fail"]]
    assert not held, "expected to fail"
    assert sum(result["status"] == "passed" for result in results) > 30


# Many checks label random rows at random: then a cluster may end without a leaf, and the warning is right.
@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
@pytest.mark.parametrize("estimator", CHECKED, ids=str)
def test_scikit_learn_checks(estimator):
    run_checks(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
@pytest.mark.parametrize("estimator", CHECKED_LONG, ids=str)
def test_scikit_learn_checks_of_other_estimators(estimator):
    run_checks(estimator)


@pytest.mark.slow
@pytest.mark.skipif(SKLEARN_VERSION < (1, 7), reason="scikit-learn 1.6 has no such check")
def test_the_check_of_array_api_input_that_needs_a_switch_before_scipy_is_imported():
    script = """
import warnings
warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import estimator_checks_generator
from cutwise import ClusterExplainer, ExplainableKMeans, KMedians
n = 0
for model in (ExplainableKMeans(n_clusters=2, n_init=2), KMedians(n_clusters=2), ClusterExplainer()):
    for estimator, check in estimator_checks_generator(model):
        if "array_api" in str(check):
            check(estimator)
            n += 1
assert n >= 3
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


VALUES = np.random.default_rng(0).normal(size=(90, 4)) + np.repeat([[0], [4], [9]], 30, axis=0)


def test_the_clusterer_is_one_and_the_explainer_predicts_labels_that_were_given():
    assert is_clusterer(ExplainableKMeans())
    assert not is_classifier(ExplainableKMeans())
    assert not is_clusterer(ClusterExplainer())
    assert is_classifier(ClusterExplainer())


@pytest.mark.parametrize("cv", [2, 3, 5])
def test_folds_hold_rows_of_every_cluster_though_the_rows_come_cluster_by_cluster(cv):
    labels = np.repeat(["a", "b", "c"], 30)
    search = GridSearchCV(ClusterExplainer(), {"max_leaves": [3, 4]}, cv=cv).fit(VALUES, labels)
    assert min(search.cv_results_["mean_test_score"]) > 0.9


def test_clone_keeps_the_parameters_and_nothing_fitted():
    model = ExplainableKMeans(3, reference=KMeans(3, n_init=1), preprocessor=StandardScaler(), depth_penalty=0.1).fit(
        VALUES
    )
    copy = clone(model)
    assert not hasattr(copy, "tree_")
    assert copy.get_params()["reference__n_init"] == 1
    assert copy.get_params()["depth_penalty"] == 0.1
    assert not hasattr(model.preprocessor, "mean_"), "fit must work on a copy of the preprocessor"
    assert not hasattr(model.reference, "cluster_centers_"), "fit must work on a copy of an unfitted reference"


@pytest.mark.parametrize(
    "estimator", [ExplainableKMeans, ExplainableKMedians, ExplainableKernelKMeans, KMedians, KernelKMeans, CLTree]
)
def test_the_number_of_starts_may_be_auto_as_for_k_means(estimator):
    rows = load_iris().data
    auto, ten = (estimator(3, n_init=n, random_state=0).fit(rows) for n in ("auto", 10))
    np.testing.assert_array_equal(auto.labels_, ten.labels_)
    assert clone(auto).n_init == "auto"
    with pytest.raises(ValueError, match="n_init='Auto' is not a whole number"):
        estimator(3, n_init="Auto").fit(rows)


def test_a_fit_that_fails_leaves_the_fitted_model_as_it_was():
    model = ExplainableKMeans(3, random_state=0).fit(VALUES)
    fitted = dict(vars(model))
    with pytest.raises(ValueError, match="more than the 2 distinct rows"):
        model.fit(VALUES[:2])
    assert {name for name, value in vars(model).items() if value is not fitted.pop(name)} <= {"_beside"}
    assert fitted == {}


def test_grid_search_over_parameters_and_nested_ones():
    search = GridSearchCV(
        ExplainableKMeans(3, reference=KMeans(3, n_init=1, random_state=0), random_state=0),
        {"algorithm": ["imm", "exkmc"], "max_leaves": [3, 5], "reference__n_init": [1, 2]},
        cv=2,
        error_score="raise",
    )
    search.fit(VALUES)
    assert set(search.best_params_) == {"algorithm", "max_leaves", "reference__n_init"}


def test_the_score_is_the_negative_cost_as_for_k_means():
    model = ExplainableKMeans(3, random_state=0).fit(VALUES)
    leaf_centers = model.cluster_centers_[model.predict(VALUES)]
    assert model.score(VALUES) == pytest.approx(-((VALUES - leaf_centers) ** 2).sum())
    assert model.score(VALUES) == pytest.approx(-model.cost_)


def test_a_pipeline_fits_predicts_and_transforms():
    pipeline = make_pipeline(StandardScaler(), ExplainableKMeans(3, random_state=0))
    labels = pipeline.fit_predict(VALUES)
    assert np.array_equal(labels, pipeline.predict(VALUES))
    assert pipeline.transform(VALUES).shape == (90, 3)
    assert list(pipeline.get_feature_names_out()) == [f"explainablekmeans{j}" for j in range(3)]


def test_set_output_gives_data_frames_of_distances():
    frame = pd.DataFrame(VALUES, columns=list("abcd"))
    model = ExplainableKMeans(3, random_state=0).set_output(transform="pandas").fit(frame)
    distances = model.transform(frame)
    assert isinstance(distances, pd.DataFrame)
    assert list(distances.columns) == list(model.get_feature_names_out())
    assert distances.index.equals(frame.index)
    polars = ExplainableKMeans(3, random_state=0).set_output(transform="polars").fit(frame).transform(frame)
    assert polars.columns == list(distances.columns)


def test_transform_gives_the_distances_to_the_cluster_centers():
    model = ExplainableKMeans(3, random_state=0).fit(VALUES)
    expected = np.linalg.norm(VALUES[:, None] - model.cluster_centers_[None], axis=2)
    assert np.allclose(model.transform(VALUES), expected)
    assert np.allclose(model.fit_transform(VALUES), expected)
    means = [VALUES[model.labels_ == j].mean(axis=0) for j in range(3)]
    assert np.allclose(model.cluster_centers_, means)


def test_fit_predict_is_fit_then_labels():
    model = ExplainableKMeans(3, random_state=0)
    assert np.array_equal(model.fit_predict(VALUES), model.labels_)
    assert np.array_equal(model.labels_, model.predict(VALUES))


def test_a_column_transformer_as_preprocessor_keeps_the_rules_in_the_input_columns():
    frame = pd.DataFrame(VALUES, columns=list("abcd")).assign(kind=np.repeat([1, 2, 3], 30))
    preprocessor = ColumnTransformer([("n", StandardScaler(), list("abcd")), ("c", OneHotEncoder(), ["kind"])])
    model = fit_quietly(ExplainableKMeans(3, preprocessor=preprocessor, random_state=0), frame)
    assert list(model.feature_names_in_) == [*"abcd", "kind"]
    assert model.tree_.n_features == 5
    assert np.array_equal(model.predict(frame), model.labels_)


def test_sample_weights_are_routed_where_asked_for():
    iris = load_iris()
    with config_context(enable_metadata_routing=True):
        model = ExplainableKMeans(3, random_state=0).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        weights = np.where(iris.target == 0, 0.0, 1.0)
        pipeline.fit(iris.data, sample_weight=weights)
    assert pipeline[-1].tree_.n_node_samples[0] == 100


@pytest.mark.parametrize("make", [*(type(estimator) for estimator in CHECKED), TableScaler])
@each("is_fitted", [False, True])
def test_a_fit_that_is_interrupted_leaves_the_estimator_as_it_was(make, is_fitted, monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    model = make() if make is TableScaler else make(max_leaves=2) if make is ClusterExplainer else make(2, n_init=1)
    if is_fitted:
        fit_quietly(model, X, y)
    before, remember = dict(vars(model)), make._remember_columns

    def interrupted(self, table):
        remember(self, table)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(make, "_remember_columns", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fit_quietly(model, X[:, :2] * 9, y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
