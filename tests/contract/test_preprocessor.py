"""With a preprocessor, clusters live in its output and rules in the input's columns and units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils import get_tags

from cutwise import ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans, ExplainableKMedians
from cutwise.baselines import CART
from cutwise.exceptions import InvalidInputError
from tests.oracle import measures
from tests.oracle.models import fit_quietly, same_tree
from tests.oracle.verify import check_expansion, check_imm, check_induced, expansion_problem, problem_of

PREPROCESSORS = {
    "standard": StandardScaler(),
    "minmax": MinMaxScaler(),
    "pca": PCA(2, random_state=0),
    "standard and pca": make_pipeline(StandardScaler(), PCA(3, random_state=0)),
}
EACH = pytest.mark.parametrize("preprocessor", PREPROCESSORS.values(), ids=PREPROCESSORS.keys())


def _rows(seed: int) -> np.ndarray:
    """Columns in different units: an age, an income, a share."""
    rng = np.random.default_rng(seed)
    part = np.concatenate([np.arange(4), rng.integers(0, 4, 46)])
    return np.column_stack(
        [
            rng.integers(20, 40, 50) + 10 * part,
            (rng.normal(40_000, 5_000, 50) + 9_000 * (part % 2)).round(),
            rng.random(50).round(3),
        ]
    )


def _centers_in_output(preprocessor, X, seed: int) -> tuple[np.ndarray, np.ndarray]:
    Z = preprocessor.fit_transform(X)
    return KMeans(4, n_init=1, random_state=seed).fit(Z).cluster_centers_, Z


def _raw_means(X, labels, weights=None) -> np.ndarray:
    weights = np.ones(len(X)) if weights is None else weights
    return np.array([np.average(X[labels == j], axis=0, weights=weights[labels == j]) for j in range(labels.max() + 1)])


@EACH
@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow"])
def test_cuts_are_searched_on_raw_columns_with_costs_of_the_output(preprocessor, algorithm):
    for seed in range(5):
        X = _rows(seed)
        centers, Z = _centers_in_output(preprocessor, X, seed)
        model = ExplainableKMeans(4, algorithm=algorithm, reference=centers, preprocessor=preprocessor)
        fit_quietly(model, X)
        given = problem_of(model, X, metric_rows=Z, coordinates=_raw_means(X, model.reference_.labels))
        if algorithm == "imm":
            check_imm(model.tree_, given)
        else:
            check_induced(model.tree_, given, None if algorithm == "exgreedy" else 0.03)


@EACH
@pytest.mark.parametrize("expansion", ["exkmc", "expand"])
def test_expansion_uses_the_output_costs_too(preprocessor, expansion):
    X = _rows(11)
    centers, Z = _centers_in_output(preprocessor, X, 11)
    models = [
        fit_quietly(
            ExplainableKMeans(
                4,
                algorithm="exshallow",
                reference=centers,
                preprocessor=preprocessor,
                max_leaves=m,
                expansion=expansion,
            ),
            X,
        )
        for m in range(4, 9)
    ]
    given = problem_of(models[0], X, metric_rows=Z, coordinates=_raw_means(X, models[0].reference_.labels))
    check_expansion([model.tree_ for model in models], expansion_problem(given, expansion))


@EACH
def test_costs_centers_and_distances_live_in_the_output(preprocessor):
    X = _rows(21)
    model = fit_quietly(ExplainableKMeans(4, preprocessor=preprocessor, random_state=0), X)
    Z = model.preprocessor_.transform(X)
    labels = model.labels_
    assert np.array_equal(measures.clusters_of_rows(model.tree_, X), labels)
    assert model.cost_ == pytest.approx(measures.partition_cost(labels, Z), rel=1e-9)
    assert model.surrogate_cost_ == pytest.approx(
        measures.fixed_center_cost(labels, Z, model.reference_.centers), rel=1e-9
    )
    means = np.array([Z[labels == j].mean(axis=0) for j in range(4)])
    assert np.allclose(model.cluster_centers_, means)
    assert np.allclose(model.transform(X), np.linalg.norm(Z[:, None] - means[None], axis=2))
    assert model.tree_.n_features == X.shape[1] == model.n_features_in_


def test_cut_coordinates_are_weighted_means_of_raw_rows():
    X = _rows(31)
    weights = np.random.default_rng(31).integers(1, 5, len(X)).astype(float)
    scaler = MinMaxScaler()
    centers, Z = _centers_in_output(scaler, X, 31)
    model = fit_quietly(
        ExplainableKMeans(4, algorithm="imm", reference=centers, preprocessor=scaler), X, sample_weight=weights
    )
    means = _raw_means(X, model.reference_.labels, weights)
    check_imm(model.tree_, problem_of(model, X, weights=weights, metric_rows=Z, coordinates=means))


def test_the_guarantee_of_imm_does_not_hold_across_a_preprocessor():
    from cutwise import metrics

    X = _rows(41)
    model = fit_quietly(ExplainableKMeans(4, algorithm="imm", preprocessor=StandardScaler(), random_state=0), X)
    assert np.isnan(metrics.imm_guarantee(model))


def test_scaling_a_column_changes_nothing_but_the_units_of_its_cuts():
    X = _rows(51)
    for preprocessor in (StandardScaler(), MinMaxScaler()):
        centers, _ = _centers_in_output(preprocessor, X, 51)
        model = fit_quietly(ExplainableKMeans(4, reference=centers, preprocessor=preprocessor), X)
        scaled = fit_quietly(ExplainableKMeans(4, reference=centers, preprocessor=preprocessor), X * [1, 1024, 0.25])
        assert np.array_equal(model.tree_.feature, scaled.tree_.feature)
        assert np.array_equal(model.labels_, scaled.labels_)


def _containers(X: np.ndarray) -> dict[str, object]:
    names = ["age", "income", "share"]
    return {
        "array": X,
        "list": X.tolist(),
        "pandas": pd.DataFrame(X, columns=names, index=np.arange(len(X)) * 3),
        "polars": pl.DataFrame(X, schema=names),
        "csr": sparse.csr_array(X),
        "coo": sparse.coo_matrix(X),
    }


@pytest.mark.parametrize("container", list(_containers(_rows(0))))
def test_a_preprocessor_without_weights_never_sees_rows_of_weight_0(container):
    X = _rows(3)
    weights = np.ones(len(X))
    weights[::5] = 0
    X[::5] *= 100  # would squeeze all other rows into a corner
    scaler = MaxAbsScaler() if container in ("csr", "coo") else MinMaxScaler()
    model = ExplainableKMeans(3, preprocessor=scaler, random_state=0)
    with_all = fit_quietly(clone(model), _containers(X)[container], sample_weight=weights)
    kept = fit_quietly(clone(model), _containers(X[weights > 0])[container])
    assert same_tree(with_all.tree_, kept.tree_)
    np.testing.assert_array_equal(with_all.cluster_centers_, kept.cluster_centers_)


@pytest.mark.parametrize("preprocessor", [None, MaxAbsScaler(), StandardScaler()])
@pytest.mark.parametrize("estimator", [ExplainableKMeans(), ClusterExplainer()])
def test_the_sparse_tag_is_that_of_the_preprocessor(estimator, preprocessor):
    model = clone(estimator).set_params(preprocessor=preprocessor)
    # What a scaler says of itself differs between versions of scikit-learn.
    takes_sparse = preprocessor is None or get_tags(preprocessor).input_tags.sparse
    assert get_tags(model).input_tags.sparse == takes_sparse


class _Collapses(TransformerMixin, BaseEstimator):
    """Puts every row at one point, as a scaler's column of a single value does to all others."""

    def fit(self, X, y=None):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X):
        return np.zeros((np.shape(X)[0], 2))


@pytest.mark.parametrize("estimator", [ExplainableKMeans, ExplainableKMedians, ExplainableKernelKMeans, CART])
@pytest.mark.parametrize("reference", [None, [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]])
def test_a_preprocessor_that_leaves_too_few_distinct_rows_is_refused_by_name(estimator, reference):
    model = estimator(3, preprocessor=_Collapses(), reference=reference)
    with pytest.raises(InvalidInputError, match=r"n_clusters=3 is more than the 1 distinct row of the preprocessor's"):
        model.fit(_rows(0))
    with pytest.raises(InvalidInputError, match="a preprocessor that keeps more rows apart"):
        model.fit(_rows(0))
