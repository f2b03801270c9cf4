"""A fitted clusterer is taken at its word for its own rows, and refused for rows that are strange to it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import (
    AffinityPropagation,
    AgglomerativeClustering,
    Birch,
    BisectingKMeans,
    KMeans,
    MiniBatchKMeans,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cutwise import ExplainableKernelKMeans, ExplainableKMeans, KernelKMeans, KMedians
from cutwise.exceptions import ColumnMismatchError, InvalidInputError
from cutwise.reference.fitted import from_estimator
from cutwise.reference.objective import KMEANS, KMEDIANS, Measure, from_labels
from cutwise.table.intake import read_table

N_TABLES = 6

WITH_LABELS = {
    "KMeans": lambda k, seed: KMeans(k, n_init=1, random_state=seed),
    "stopped": lambda k, seed: KMeans(k, n_init=1, max_iter=1, init="random", random_state=seed),
    "MiniBatchKMeans": lambda k, seed: MiniBatchKMeans(k, n_init=1, max_iter=3, batch_size=32, random_state=seed),
    "BisectingKMeans": lambda k, seed: BisectingKMeans(k, random_state=seed),
    "Birch": lambda k, seed: Birch(threshold=1e-3, n_clusters=k),
    "AgglomerativeClustering": lambda k, seed: AgglomerativeClustering(k),
    "Pipeline": lambda k, seed: make_pipeline(StandardScaler(), KMeans(k, n_init=1, random_state=seed)),
    "KMedians": lambda k, seed: KMedians(k, n_init=1, random_state=seed),
    "KernelKMeans": lambda k, seed: KernelKMeans(k, n_init=1, random_state=seed),
    "ExplainableKMeans": lambda k, seed: ExplainableKMeans(
        k, n_init=1, preprocessor=StandardScaler(), random_state=seed
    ),
}


def random_table(seed):
    """Rows of 2 to 8 groups, or none; skewed, rounded or neither; in units that differ by up to five decades."""
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(40, 300), rng.integers(2, 9), int(rng.integers(2, 7))
    X = (rng.normal(size=(k, d)) * rng.choice([0, 1, 3]))[rng.integers(0, k, n)] + rng.normal(size=(n, d))
    X = [X, np.exp(X), np.round(2 * X)][rng.integers(3)]
    X = X * 10.0 ** (rng.uniform(-2, 3, d) if rng.random() < 0.7 else rng.uniform(-0.3, 0.3, d))
    return X + rng.normal(size=d) * 10.0 ** rng.uniform(-1, 3, d) * (rng.random() < 0.5), k


def fitted(make, rows, k, seed, **fit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make(k, seed).fit(rows, **fit)


@pytest.mark.parametrize("make", WITH_LABELS.values(), ids=WITH_LABELS)
def test_labels_of_the_same_rows_are_the_reference(make):
    for seed in range(N_TABLES):
        X, k = random_table(seed)
        model = fitted(make, X, k, seed)
        reference = from_estimator(model, read_table(X), k)
        labels = (model.steps[-1][1] if hasattr(model, "steps") else model).labels_
        np.testing.assert_array_equal(reference.labels, labels)
        best = from_labels(read_table(X), reference.labels, k)
        assert reference.cost <= 1.1 * best.cost * (1 + 1e-9)


@pytest.mark.parametrize("make", [WITH_LABELS[name] for name in WITH_LABELS if name != "AgglomerativeClustering"])
def test_rows_of_another_scale_are_refused_or_change_nothing(make):
    errors = []
    for seed in range(N_TABLES):
        X, k = random_table(seed)
        Z = (StandardScaler(), MinMaxScaler())[seed % 2].fit_transform(X)
        for of_fit, given in ((Z, X), (X, Z)):
            model = fitted(make, of_fit, k, seed)
            labels = (model.steps[-1][1] if hasattr(model, "steps") else model).labels_
            try:
                reference = from_estimator(model, read_table(given), k)
            except InvalidInputError as error:
                errors.append(str(error))
            else:
                np.testing.assert_array_equal(reference.labels, labels)
                assert reference.cost <= 1.1 * from_labels(read_table(given), labels, k).cost * (1 + 1e-9)
    assert len(errors) > N_TABLES
    assert all("does not fit the rows" in error for error in errors)


@pytest.mark.parametrize("name", ["KMeans", "BisectingKMeans", "KMedians", "GaussianMixture", "Birch"])
def test_a_clusterer_of_other_rows_predicts(name):
    def mixture(k, seed):
        return GaussianMixture(k, reg_covar=1e-3, random_state=seed)

    make = WITH_LABELS.get(name, mixture)
    for seed in range(N_TABLES):
        X, k = random_table(seed)
        X = StandardScaler().fit_transform(X)
        model = fitted(make, X[::2], k, seed)
        predicted = model.predict(X)
        if len(set(predicted)) == k:
            np.testing.assert_array_equal(from_estimator(model, read_table(X), k).labels, predicted)


@pytest.mark.parametrize("make", [lambda: KMeans(3, n_init=1), lambda: GaussianMixture(3), lambda: Birch(n_clusters=3)])
def test_a_clusterer_of_other_rows_of_another_scale_is_refused(make, iris):
    model = make().fit(StandardScaler().fit_transform(iris)[::3])
    with pytest.raises(InvalidInputError, match="Give that scaler as preprocessor"):
        ExplainableKMeans(3, reference=model).fit(iris)
    assert ExplainableKMeans(3, reference=model, preprocessor=StandardScaler()).fit(iris).cost_ratio_ < 1.5


@pytest.mark.parametrize("objective", [KMEANS, KMEDIANS], ids=lambda objective: objective.name)
def test_a_sample_of_another_scale_is_refused_where_a_scaler_moves_rows_far(objective):
    """Centers of scaled columns lie in the middle of wide ones: all clusters have rows, and explain nothing."""
    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = (rng.normal(0, 2, (4, 5))[rng.integers(0, 4, 400)] + rng.normal(size=(400, 5))) * [1, 10, 100, 1, 1000]
        weights = rng.integers(0, 3, 400) * 0.5
        own = fitted(WITH_LABELS["KMeans"], X[::4], 4, seed)
        assert from_estimator(own, read_table(X), 4, Measure(objective, weights)).cost > 0
        scaled = fitted(WITH_LABELS["KMeans"], StandardScaler().fit_transform(X)[::4], 4, seed)
        assert len(set(scaled.predict(X))) > 1
        try:
            from_estimator(scaled, read_table(X), 4, Measure(objective, weights))
        except InvalidInputError as error:
            errors.append(str(error))
    assert len(errors) >= 19
    assert all("its centers cost" in error for error in errors)


@pytest.fixture
def iris():
    from sklearn.datasets import load_iris

    return load_iris().data


def test_the_commonest_mistake_is_named_with_its_cure(iris):
    Z = StandardScaler().fit_transform(iris)
    model = KMeans(3, n_init=3, random_state=0).fit(Z)
    with pytest.raises(InvalidInputError, match=r"(?s)KMeans does not fit the rows.* of 150 differ.*as preprocessor"):
        ExplainableKMeans(3, reference=model).fit(iris)
    tree = ExplainableKMeans(3, reference=model, preprocessor=StandardScaler()).fit(iris)
    np.testing.assert_array_equal(tree.reference_.labels, model.labels_)
    np.testing.assert_array_equal(tree.reference_.centers, model.cluster_centers_)
    raw = KMeans(3, n_init=3, random_state=0).fit(iris)
    with pytest.raises(InvalidInputError, match="StandardScaler had not changed"):
        ExplainableKMeans(3, reference=raw, preprocessor=StandardScaler()).fit(iris)
    own = make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)).fit(iris)
    with pytest.raises(
        InvalidInputError, match=r"had not changed\. Leave preprocessor out: .* the pipeline's own steps"
    ):
        ExplainableKMeans(3, reference=own, preprocessor=StandardScaler()).fit(iris)
    assert ExplainableKMeans(3, reference=own).fit(iris).cost_ratio_ >= 1
    with pytest.raises(InvalidInputError, match="in another order"):
        ExplainableKMeans(3, reference=model).fit(Z[::-1])
    kernel = KernelKMeans(3, random_state=0, n_init=1).fit(Z)
    with pytest.raises(InvalidInputError, match="does not fit the rows"):
        ExplainableKernelKMeans(3, reference=kernel).fit(10 * iris)


def test_columns_are_compared_by_name(iris):
    frame = pd.DataFrame(iris, columns=["a", "b", "c", "d"])
    model = KMeans(3, n_init=1, random_state=0).fit(frame)
    for changed, words in (
        (frame[["b", "a", "c", "d"]], "in their order"),
        (frame.rename(columns={"a": "z"}), "under their names"),
    ):
        with pytest.raises(ColumnMismatchError, match=f"(?s)reference=KMeans.*{words}"):
            ExplainableKMeans(3, reference=model).fit(changed)
    assert ExplainableKMeans(3, reference=model).fit(iris).n_leaves_ == 3  # no names, nothing to compare


def test_weights_and_small_differences_are_no_mistakes(iris):
    weights = np.random.default_rng(0).integers(0, 3, 150) * 1.5
    for objective in (KMEANS, KMEDIANS):
        model = KMeans(3, n_init=1, random_state=0).fit(iris, sample_weight=weights)
        table = read_table(iris.astype(np.float32))
        reference = from_estimator(model, table, 3, Measure(objective, weights))
        np.testing.assert_array_equal(reference.labels, model.labels_)
    exemplars = AffinityPropagation(random_state=0).fit(iris)
    k = len(exemplars.cluster_centers_)
    np.testing.assert_array_equal(from_estimator(exemplars, read_table(iris), k).labels, exemplars.labels_)
