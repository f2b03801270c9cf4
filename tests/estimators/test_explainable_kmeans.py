"""ExplainableKMeans from end to end, against definitions written out here."""

import warnings
import weakref

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin, clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, StandardScaler

from cutwise import Batches, ExplainableKMeans, core
from cutwise.exceptions import ColumnMismatchError, EmptyClusterWarning, NotFiniteError, UnseparableCentersWarning
from cutwise.reference.fitted import unshared
from cutwise.reference.objective import sum_weights
from cutwise.table.table import as_matrix

ALGORITHMS = ("imm", "exgreedy", "exshallow", "exkmc")


def cost(X, labels, centers, weights=None):
    distances = ((np.asarray(X, dtype=float) - centers[labels]) ** 2).sum(axis=1)
    return float(np.dot(distances, np.ones(len(X)) if weights is None else weights))


def own_means(X, labels, k, weights=None):
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    return np.array([np.average(X[labels == j], axis=0, weights=weights[labels == j]) for j in range(k)])


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def blobs():
    X, _ = make_blobs(n_samples=300, n_features=3, centers=5, random_state=4)
    return X, KMeans(5, n_init=3, random_state=0).fit(X).cluster_centers_


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_figures_are_their_definitions(blobs, algorithm):
    X, centers = blobs
    model = ExplainableKMeans(5, algorithm=algorithm, reference=centers).fit(X)
    nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(model.reference_.labels, nearest)
    assert np.array_equal(model.reference_.centers, centers)
    assert model.reference_.cost == pytest.approx(cost(X, nearest, centers))
    assert np.array_equal(model.labels_, model.predict(X))
    assert np.array_equal(model.labels_, model.tree_.cluster[model.apply(X)])
    np.testing.assert_allclose(model.cluster_centers_, own_means(X, model.labels_, 5))
    assert model.cost_ == model.inertia_ == pytest.approx(cost(X, model.labels_, model.cluster_centers_))
    assert model.surrogate_cost_ == pytest.approx(cost(X, model.labels_, centers))
    assert model.cost_ratio_ == model.cost_ / model.reference_.cost
    assert model.cost_ <= model.surrogate_cost_
    assert (model.n_leaves_, model.depth_) == (model.tree_.n_leaves, model.tree_.depth)
    assert model.score(X) == pytest.approx(-model.cost_)
    distances = np.sqrt(((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2))
    np.testing.assert_allclose(model.transform(X), distances)


def test_iris_in_words(iris):
    model = ExplainableKMeans(3, random_state=0).fit(iris)
    assert model.n_leaves_ == 3
    assert model.cost_ratio_ < 1.05
    assert list(model.feature_names_in_) == list(iris.columns)
    rules = model.rules()
    assert [rule.cluster for rule in rules] == [0, 1, 2]
    assert sum(rule.size for rule in rules) == 150
    for rule in rules:
        assert np.array_equal(rule.matches(iris), model.labels_ == rule.cluster)
    assert model.explain(iris[:1])[0].startswith(f"cluster {model.labels_[0]} because ")
    assert list(model.get_feature_names_out()) == [f"explainablekmeans{j}" for j in range(3)]


def test_more_leaves_never_cost_more_under_the_reference_centers(blobs):
    X, centers = blobs
    costs = [
        ExplainableKMeans(5, algorithm="imm", reference=centers, max_leaves=leaves).fit(X).surrogate_cost_
        for leaves in (5, 7, 10, 20)
    ]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("rows", ["distinct", "repeated", "whole weights", "fractional weights", "sparse"])
def test_centers_are_the_exact_means_of_the_clusters_however_they_were_added_up(rows):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(600, 4)), 0 if rows == "repeated" else 8)
    weights = {"whole weights": rng.integers(1, 5, 600), "fractional weights": rng.random(600)}.get(rows)
    weights = None if weights is None else weights.astype(float)
    table = sparse.csr_array(X) if rows == "sparse" else X
    for algorithm in ("imm", "exgreedy"):
        model = ExplainableKMeans(5, algorithm=algorithm, reference=X[:5]).fit(table, sample_weight=weights)
        assert (model.labels_ != model.reference_.labels).any()
        expected = core.cluster_means(as_matrix(X), model.labels_.astype(np.int32), 5, sum_weights(weights))[0]
        present = np.unique(model.labels_)
        np.testing.assert_array_equal(model.cluster_centers_[present], expected[present])


def test_a_weight_is_a_repeated_row_through_a_scaler_that_takes_weights():
    X, _ = make_blobs(n_samples=120, n_features=2, centers=3, random_state=0)
    weights = np.random.default_rng(1).integers(1, 5, len(X))
    centers = np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
    options = {"reference": centers, "preprocessor": StandardScaler()}
    weighted = ExplainableKMeans(3, **options).fit(X, sample_weight=weights)
    repeated = ExplainableKMeans(3, **options).fit(np.repeat(X, weights, axis=0))
    assert weighted.tree_.equals(repeated.tree_, counts=False)
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)


def test_weights_of_one_size_change_the_cost_and_nothing_else(blobs):
    X, centers = blobs
    plain = ExplainableKMeans(5, reference=centers).fit(X)
    tripled = ExplainableKMeans(5, reference=centers).fit(X, sample_weight=np.full(len(X), 3.0))
    assert plain.tree_.equals(tripled.tree_)
    assert tripled.cost_ == pytest.approx(3 * plain.cost_)
    assert tripled.cost_ratio_ == pytest.approx(plain.cost_ratio_)


def test_repeated_rows_are_merged_without_a_trace(iris):
    X = np.tile(iris.to_numpy(), (20, 1))
    centers = KMeans(3, n_init=2, random_state=0).fit(iris.to_numpy()).cluster_centers_
    few = ExplainableKMeans(3, reference=centers).fit(iris.to_numpy())
    many = ExplainableKMeans(3, reference=centers).fit(X)
    assert few.tree_.equals(many.tree_, counts=False)
    assert many.tree_.n_node_samples[0] == len(X)
    assert np.array_equal(many.labels_, np.tile(few.labels_, 20))
    assert np.array_equal(many.reference_.labels, np.tile(few.reference_.labels, 20))
    assert many.cost_ == pytest.approx(20 * few.cost_)
    assert sum(rule.size for rule in many.rules()) == len(X)


class TestPreprocessor:
    def test_clusters_form_in_its_output_and_rules_speak_input_units(self, iris):
        model = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0).fit(iris)
        Z = model.preprocessor_.transform(iris)
        assert model.reference_.centers.shape == (3, 4)
        np.testing.assert_allclose(model.cluster_centers_, own_means(Z, model.labels_, 3))
        assert model.cost_ == pytest.approx(cost(Z, model.labels_, model.cluster_centers_))
        assert model.score(iris) == pytest.approx(-model.cost_)
        cuts = model.tree_.feature >= 0
        for feature, threshold in zip(model.tree_.feature[cuts], model.tree_.threshold[cuts], strict=True):
            assert iris.iloc[:, feature].min() <= threshold < iris.iloc[:, feature].max()

    def test_it_is_copied_and_sees_the_data_frame(self, iris):
        scaler = ColumnTransformer([("petals", StandardScaler(), ["petal length (cm)", "petal width (cm)"])])
        model = ExplainableKMeans(3, preprocessor=scaler, random_state=0).fit(iris)
        assert not hasattr(scaler, "transformers_")
        assert model.cluster_centers_.shape == (3, 2)
        assert model.tree_.n_features == 4
        assert model.transform(iris).shape == (150, 3)

    def test_an_increasing_one_changes_no_imm_tree_but_its_numbers(self, blobs):
        X, _ = blobs
        scaled = MinMaxScaler().fit_transform(X)
        inside = ExplainableKMeans(5, algorithm="imm", preprocessor=MinMaxScaler(), random_state=0).fit(X)
        outside = ExplainableKMeans(5, algorithm="imm", random_state=0).fit(scaled)
        assert np.array_equal(inside.labels_, outside.labels_)

    def test_given_centers_live_in_its_output(self, iris):
        centers = KMeans(3, n_init=1, random_state=0).fit(StandardScaler().fit_transform(iris)).cluster_centers_
        model = ExplainableKMeans(3, preprocessor=StandardScaler(), reference=centers).fit(iris)
        assert np.array_equal(model.reference_.centers, centers)

    def test_a_center_without_rows_still_gets_a_place(self, iris):
        Z = StandardScaler().fit_transform(iris)
        centers = np.vstack([KMeans(2, n_init=1, random_state=0).fit(Z).cluster_centers_, np.full(4, 50.0)])
        with pytest.warns(EmptyClusterWarning, match="2"):
            model = ExplainableKMeans(3, algorithm="exkmc", preprocessor=StandardScaler(), reference=centers).fit(iris)
        assert np.array_equal(model.cluster_centers_[2], centers[2])

    def test_one_that_is_none_is_refused(self, iris):
        with pytest.raises(ValueError, match="not a transformer"):
            ExplainableKMeans(3, preprocessor=KMeans).fit(iris)


class TestReference:
    def test_a_frame_of_centers_is_no_clusterer_whatever_its_columns_are_called(self, blobs):
        X, centers = blobs
        model = ExplainableKMeans(5, reference=pd.DataFrame(centers, columns=["fit", "predict", "b"])).fit(X)
        assert np.array_equal(model.reference_.centers, centers)

    def test_a_fitted_clusterer_is_used_as_it_is(self, blobs):
        X, _ = blobs
        clusterer = KMeans(5, n_init=1, random_state=1).fit(X)
        model = ExplainableKMeans(5, reference=clusterer).fit(X)
        assert np.array_equal(model.reference_.centers, clusterer.cluster_centers_)

    def test_an_unfitted_one_is_fitted_on_a_copy(self, blobs):
        X, _ = blobs
        clusterer = AgglomerativeClustering(5)
        model = ExplainableKMeans(5, reference=clusterer).fit(X)
        assert not hasattr(clusterer, "labels_")
        np.testing.assert_allclose(model.reference_.centers, own_means(X, model.reference_.labels, 5))

    def test_a_clusterer_works_in_the_preprocessors_output(self, iris):
        clusterer = KMeans(3, n_init=1, random_state=0)
        pipe = make_pipeline(StandardScaler())
        model = ExplainableKMeans(3, reference=clusterer, preprocessor=pipe).fit(iris)
        assert abs(model.reference_.centers.mean()) < 1

    @pytest.mark.parametrize("reference", [np.zeros((4, 2)), KMeans(4)])
    def test_another_number_of_clusters_is_an_error_with_both_numbers(self, reference):
        X = np.random.default_rng(0).normal(size=(30, 2))
        with pytest.raises(ValueError, match=r"4.*3|3.*4"):
            ExplainableKMeans(3, reference=reference).fit(X)

    def test_rows_that_are_equal_may_be_labeled_differently(self):
        class Mixed(ClusterMixin, BaseEstimator):
            def fit(self, X, y=None):
                self.labels_ = (np.arange(len(X)) % 40 < 8 * X[:, 0]).astype(int)
                return self

        X = np.repeat(np.arange(5.0), 40)[:, None]
        model = ExplainableKMeans(2, algorithm="imm", reference=Mixed()).fit(X)
        assert model.reference_.labels.sum() == 8 * (1 + 2 + 3 + 4)
        assert model.tree_.n_node_mistakes[0] == 8 + 16 + 16 + 8

    def test_equal_centers_are_named(self):
        X = np.array([[0.0], [1.0], [5.0]])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = ExplainableKMeans(3, algorithm="exshallow", reference=[[0.5], [5.0], [0.5]]).fit(X)
        kinds = {w.category: str(w.message) for w in caught}
        assert "0 = 2" in kinds[UnseparableCentersWarning]
        assert "2" in kinds[EmptyClusterWarning]
        assert model.n_leaves_ == 2
        assert np.array_equal(model.cluster_centers_[2], [0.5])


class TestContainers:
    def test_all_give_one_tree(self, iris):
        X = np.round(iris.to_numpy() * 10).astype(np.int32)
        centers = KMeans(3, n_init=1, random_state=0).fit(X).cluster_centers_
        expected = ExplainableKMeans(3, reference=centers).fit(X)
        for other in (
            X.astype(np.int64),
            X.astype(np.uint8),
            np.asfortranarray(X),
            X[:, ::-1].copy()[:, ::-1],
            sparse.csr_array(X),
            sparse.csc_matrix(X),
            pd.DataFrame(X).astype("Int32"),
            X.tolist(),
        ):
            model = ExplainableKMeans(3, reference=centers).fit(other)
            assert expected.tree_.equals(model.tree_)
            assert np.array_equal(expected.labels_, model.labels_)
            assert np.array_equal(expected.labels_, model.predict(other))

    def test_floats_keep_their_thresholds_between_the_same_values(self, iris):
        single = ExplainableKMeans(3, random_state=0).fit(iris.to_numpy().astype(np.float32))
        assert np.array_equal(single.labels_, single.predict(iris.to_numpy().astype(np.float32)))

    def test_read_only_rows_stay_as_they_are(self, iris):
        X = iris.to_numpy().copy()
        X.flags.writeable = False
        ExplainableKMeans(3, random_state=0).fit(X)
        assert np.array_equal(X, iris.to_numpy())

    def test_polars_names_are_kept(self, iris):
        polars = pytest.importorskip("polars")
        frame = polars.from_pandas(iris)
        model = ExplainableKMeans(3, random_state=0).set_output(transform="polars").fit(frame)
        assert list(model.feature_names_in_) == list(iris.columns)
        assert model.transform(frame).columns == [f"explainablekmeans{j}" for j in range(3)]

    def test_other_columns_at_predict_are_named(self, iris):
        model = ExplainableKMeans(3, random_state=0).fit(iris)
        with pytest.raises(ColumnMismatchError, match="petal length"):
            model.predict(iris.drop(columns="petal length (cm)"))  # the tree asks about it
        with pytest.raises(ColumnMismatchError, match="petal width"):
            model.transform(iris.drop(columns="petal width (cm)"))
        with pytest.raises(ColumnMismatchError, match="order"):
            model.predict(iris[iris.columns[::-1]])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(iris.to_numpy())

    def test_a_refit_without_names_forgets_them(self, iris):
        model = ExplainableKMeans(3, random_state=0).fit(iris).fit(iris.to_numpy())
        assert not hasattr(model, "feature_names_in_")


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"n_clusters": 0}, ["n_clusters=0", ">= 1"]),
            ({"n_clusters": 2.5}, ["n_clusters=2.5"]),
            ({"n_clusters": 200}, ["n_clusters=200", "149"]),
            ({"n_clusters": 6, "max_leaves": 4}, ["max_leaves=4", "n_clusters=6"]),
            ({"algorithm": "im"}, ["algorithm='im'", "'exshallow'", "Did you mean 'imm'?"]),
            ({"expansion": "expnd"}, ["expansion='expnd'", "Did you mean 'expand'?"]),
            ({"depth_penalty": -1}, ["depth_penalty=-1"]),
            ({"depth_penalty": "much"}, ["depth_penalty='much'", "auto"]),
            ({"n_init": 0}, ["n_init=0"]),
            ({"n_jobs": 0}, ["n_jobs=0"]),
            ({"reference": 7}, ["reference"]),
        ],
    )
    def test_parameters(self, iris, options, words):
        with pytest.raises(ValueError) as caught:
            ExplainableKMeans(**{"n_clusters": 3, "random_state": 0} | options).fit(iris)
        assert all(word in str(caught.value) for word in words), str(caught.value)

    def test_zero_weights_and_distinct_rows(self):
        X = np.array([[0.0], [0.0], [1.0], [2.0]])
        with pytest.raises(ValueError, match="distinct"):
            ExplainableKMeans(3).fit(X, sample_weight=[1, 1, 1, 0])

    def test_a_failed_refit_leaves_the_old_model(self, iris):
        model = ExplainableKMeans(3, random_state=0).fit(iris)
        before = model.predict(iris)
        with pytest.raises(ValueError, match="infinity"):
            model.fit(iris.where(iris > 2, np.inf))
        assert np.array_equal(model.predict(iris), before)


class TestEdges:
    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_one_cluster_is_one_leaf(self, algorithm):
        model = ExplainableKMeans(1, algorithm=algorithm, max_leaves=3).fit([[1.0], [2.0]])
        assert (model.n_leaves_, model.depth_) == (1, 0)
        assert model.predict([[9.0]]).tolist() == [0]
        assert str(model.rules()[0].rules[0]) == "any row"

    @pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow"])
    def test_k_distinct_points_repeated_cost_nothing(self, algorithm):
        points = np.random.default_rng(0).normal(size=(12, 3))
        model = ExplainableKMeans(12, algorithm=algorithm, random_state=0).fit(np.repeat(points, 7, axis=0))
        assert (model.n_leaves_, model.cost_) == (12, 0.0)
        assert np.isnan(model.cost_ratio_)

    def test_offsets_lose_nothing(self, blobs):
        X, centers = blobs
        near = ExplainableKMeans(5, reference=centers).fit(X)
        far = ExplainableKMeans(5, reference=centers + 1e9).fit(X + 1e9)
        assert np.array_equal(near.labels_, far.labels_)
        assert far.cost_ == pytest.approx(near.cost_, rel=1e-6)

    def test_verbose_speaks_on_standard_error_only(self, capsys):
        ExplainableKMeans(2, verbose=2, random_state=0).fit([[0.0], [1.0], [5.0], [6.0]])
        out, err = capsys.readouterr()
        assert out == ""
        assert "[ExplainableKMeans] tree: " in err
        assert "2 leaves, depth 1; cost ratio" in err

    @pytest.mark.parametrize("given", [np.asarray, lambda X: Batches([np.asarray(X)])])
    def test_verbose_says_which_of_several_trees_grows(self, capsys, monkeypatch, given):
        monkeypatch.setattr("cutwise._progress.SECONDS_BETWEEN_LINES", 0.0)
        X = np.random.default_rng(0).normal(size=(60, 2))
        ExplainableKMeans(3, verbose=2, random_state=0).fit(given(X))
        lines = {line for line in capsys.readouterr().err.splitlines() if " leaves by " in line}
        starts = ("exgreedy", "exshallow", "imm", "exkmc")
        assert lines == {f"[ExplainableKMeans]   {n} leaves by {name}" for n in (2, 3) for name in starts}


@pytest.mark.parametrize("algorithm", ["imm", "exshallow", "exkmc"])
def test_the_costs_of_rows_are_gone_before_the_figures_are_worked_out(monkeypatch, algorithm):
    arrays, at_choosing = [], []
    fixed_costs, chosen = core.fixed_costs, ExplainableKMeans._chosen

    def seen_costs(*arguments, **keywords):
        found = fixed_costs(*arguments, **keywords)
        arrays.append(weakref.ref(found[0]))
        return found

    def seen_chosen(self, *arguments, **keywords):
        at_choosing.extend(array() is None for array in arrays)
        return chosen(self, *arguments, **keywords)

    monkeypatch.setattr(core, "fixed_costs", seen_costs)
    monkeypatch.setattr(ExplainableKMeans, "_chosen", seen_chosen)
    rng = np.random.default_rng(0)
    ExplainableKMeans(4, algorithm=algorithm, max_leaves=6, random_state=0).fit(rng.integers(0, 9, (300, 3)))
    assert at_choosing
    assert all(at_choosing)


@pytest.mark.parametrize(
    "preprocessor",
    [
        StandardScaler(copy=False),
        MaxAbsScaler(copy=False),
        make_pipeline(StandardScaler(copy=False), PCA(4, copy=False)),
    ],
)
def test_a_preprocessor_that_would_write_into_the_table_does_not(preprocessor):
    X = load_wine().data
    before = X.copy()
    model = ExplainableKMeans(3, preprocessor=preprocessor, random_state=0).fit(X)
    model.transform(X)
    model.score(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert str(model.rules()) == str(
        ExplainableKMeans(3, preprocessor=copying(preprocessor), random_state=0).fit(X).rules()
    )


def copying(preprocessor):
    names = [name for name in preprocessor.get_params() if name.endswith("copy")]
    return clone(preprocessor).set_params(**dict.fromkeys(names, True))


def test_a_reference_that_would_write_into_the_table_does_not():
    X = load_wine().data
    before = X.copy()
    clusterer = make_pipeline(StandardScaler(copy=False), KMeans(3, random_state=0, copy_x=False))
    ExplainableKMeans(3, reference=clusterer).fit(X)
    np.testing.assert_array_equal(X, before)


def test_nor_does_one_that_is_fitted():
    X = load_wine().data
    before = X.copy()
    clusterer = make_pipeline(StandardScaler(copy=False), KMeans(3, random_state=0)).fit(X.copy())
    model = ExplainableKMeans(3, reference=clusterer).fit(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def center_in_place(X):
    X -= X.mean(axis=0)
    return X


class WritesInPlace(TransformerMixin, BaseEstimator):
    """A scaler as people write them: it standardizes the very array that it is given, and has no ``copy``."""

    def fit(self, X, y=None):
        self.mean_, self.scale_ = np.array(X.mean(axis=0)), np.array(X.std(axis=0))
        return self

    def transform(self, X):
        X -= self.mean_
        X /= self.scale_
        return X


class ClustersInPlace(ClusterMixin, BaseEstimator):
    def fit(self, X, y=None, sample_weight=None):
        X /= X.std(axis=0)
        self.kmeans_ = KMeans(3, n_init=1, random_state=0).fit(np.asarray(X))
        return self

    def predict(self, X):
        X /= X.std(axis=0)
        return self.kmeans_.predict(np.asarray(X))


WRITERS = {
    "transformer": {"preprocessor": WritesInPlace()},
    "step": {"preprocessor": make_pipeline(WritesInPlace(), PCA(4))},
    "function": {"preprocessor": FunctionTransformer(center_in_place)},
    "clusterer": {"reference": ClustersInPlace()},
    "fitted clusterer": {"reference": ClustersInPlace().fit(load_wine().data)},
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_nobody_writes_into_the_table_of_the_caller(writer, as_frame, weighted):
    X = load_wine(as_frame=as_frame).data
    before = np.array(X)
    weights = np.arange(len(X)) % 3 if weighted else None
    model = ExplainableKMeans(3, random_state=0, **WRITERS[writer]).fit(X, sample_weight=weights)
    model.transform(X)
    model.score(X)
    np.testing.assert_array_equal(np.asarray(X), before)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if "preprocessor" in WRITERS[writer]:
        Z = np.asarray(model.preprocessor_.transform(load_wine(as_frame=as_frame).data))
        assert model.score(X) == pytest.approx(-((Z - model.cluster_centers_[model.labels_]) ** 2).sum())


@pytest.mark.parametrize(
    ("estimator", "shared"),
    [
        (StandardScaler(), True),
        (make_pipeline(StandardScaler(), PCA(2), KMeans(2)), True),
        (FunctionTransformer(np.log1p), True),
        (ColumnTransformer([("all", "passthrough", [0])]), True),
        (StandardScaler(copy=False), False),
        (FunctionTransformer(center_in_place), False),
        (make_pipeline(StandardScaler(), WritesInPlace()), False),
        (ColumnTransformer([("all", WritesInPlace(), [0])]), False),
    ],
)
def test_only_who_may_write_is_given_a_copy(estimator, shared):
    X = load_wine().data
    assert (unshared(X, estimator) is X) == shared


@pytest.mark.parametrize(
    ("preprocessor", "factor"), [(StandardScaler(), 1e300), (FunctionTransformer(np.log), -1.0)], ids=["huge", "log"]
)
def test_values_that_a_preprocessor_spoils_are_told_once_and_as_its_own(preprocessor, factor):
    X = load_wine().data
    model = ExplainableKMeans(3, preprocessor=preprocessor, random_state=0)
    words = r"The preprocessor's output contains NaN: .*\nIts input is finite"
    with pytest.raises(NotFiniteError, match=words) as refused:
        model.fit(X * factor)  # warnings are errors here: none says the same before
    assert ("largest value of X" in str(refused.value)) == (factor > 1)  # an ordinary value is no culprit
