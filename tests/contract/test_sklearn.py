"""scikit-learn's own checks, and its tools: clone, pickle, Pipeline, GridSearchCV, set_output."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from cutwise import ClusterExplainer, ExplainableKMeans
from tests.oracle.models import fit_quietly, same_tree

ESTIMATORS = [
    ExplainableKMeans(n_clusters=2),
    ExplainableKMeans(n_clusters=2, algorithm="imm"),
    ExplainableKMeans(n_clusters=2, algorithm="exgreedy", max_leaves=3, expansion="expand"),
    ExplainableKMeans(n_clusters=2, algorithm="exkmc", max_leaves=4),
    ExplainableKMeans(n_clusters=2, preprocessor=MaxAbsScaler()),
    ClusterExplainer(),
    ClusterExplainer(algorithm="imm"),
    ClusterExplainer(max_leaves=4),
]


def expected_failed_checks(estimator):
    """Checks that cannot hold, each with its reason."""
    if isinstance(estimator, ClusterExplainer):
        return {"check_classifiers_classes": "the check's labels are 1 and -1, which is noise here and no cluster"}
    # For a given reference weights are repeated rows: tests/estimators/test_explainable_kmeans.py.
    reason = (
        "the k-means++ restarts of the reference draw other rows when rows are repeated, as in scikit-learn's KMeans"
    )
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failed_checks)
@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


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


def test_pickled_models_answer_alike():
    labels = np.array(["a", "b", "c"])[np.repeat([0, 1, 2], 30)]
    for model in (
        ExplainableKMeans(3, random_state=0).fit(VALUES),
        ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0).fit(VALUES),
        ClusterExplainer().fit(VALUES, labels),
    ):
        again = pickle.loads(pickle.dumps(model))
        assert same_tree(model.tree_, again.tree_)
        assert np.array_equal(model.predict(VALUES), again.predict(VALUES))
        assert repr(model) == repr(again)


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
