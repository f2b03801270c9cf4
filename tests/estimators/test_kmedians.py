"""KMedians: medians and l1 costs by definition, as good as ten plain restarts, deterministic."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from cutwise import KMedians
from cutwise.exceptions import InvalidInputError
from tests.each import each

from .naive_kmedians import best_of, distances, medians, optimum


def blobs(seed=0, n=300, d=3, k=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + rng.integers(0, 12, (k, d))[rng.integers(0, k, n)]


def test_centers_are_medians_labels_the_nearest_centers_and_the_cost_l1():
    X = blobs()
    model = KMedians(4, random_state=0).fit(X)
    apart = distances(X, model.cluster_centers_)
    assert np.array_equal(model.labels_, apart.argmin(axis=1))
    assert np.array_equal(model.cluster_centers_, medians(X, model.labels_, 4, None))
    assert model.inertia_ == model.cost_ == pytest.approx(apart.min(axis=1).sum(), rel=1e-12)
    assert model.score(X) == pytest.approx(-model.cost_, rel=1e-12)
    assert model.n_iter_ >= 1
    np.testing.assert_allclose(model.transform(X), apart, rtol=1e-12)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.fit_predict(X), model.labels_)


TABLES = {
    "iris": lambda rng: (load_iris().data, 7),
    "wine": lambda rng: (StandardScaler().fit_transform(load_wine().data), 3),
    "diabetes": lambda rng: (load_diabetes().data, 7),
    "breast cancer": lambda rng: (load_breast_cancer().data[:, :6], 3),
    "grid": lambda rng: (rng.integers(0, 4, (120, 3)).astype(float), 4),
    "heavy tails": lambda rng: (rng.standard_cauchy((120, 3)), 5),
    "counts": lambda rng: (rng.poisson(2.0, (60, 6)), 6),
    "skewed": lambda rng: (rng.exponential(size=(2_000, 3)), 5),
    "blobs": lambda rng: (blobs(1, n=2_000, k=6), 6),
}


@pytest.mark.parametrize("name", TABLES)
def test_it_costs_about_what_the_best_of_ten_plain_restarts_costs(name):
    X, k = TABLES[name](np.random.default_rng(0))
    ours = [KMedians(k, random_state=seed).fit(X).inertia_ for seed in range(3)]
    assert np.mean(ours) <= 1.01 * np.mean([best_of(X, k, seed) for seed in range(3)])


def test_many_starts_find_the_optimum_of_small_tables():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 6, (8, 2)).astype(float) + (rng.random((8, 2)) if seed % 2 else 0.0)
        for k in (1, 2, 3):
            if len(np.unique(X, axis=0)) >= k:
                model = KMedians(k, n_init=50, random_state=seed).fit(X)
                assert model.inertia_ == pytest.approx(optimum(X, k), rel=1e-12)


def test_far_rows_do_not_take_a_center():
    X = np.concatenate([np.arange(30.0), 100 + np.arange(30.0), [300.0]])[:, None]
    assert sorted(KMedians(2, random_state=0).fit(X).cluster_centers_.ravel()) == [14.0, 115.0]


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_the_type_of_the_table_does_not_matter(dtype):
    X = np.random.default_rng(2).integers(0, 2 if dtype is bool else 9, (80, 5))
    expected = KMedians(3, random_state=0).fit(X.astype(float))
    for table in (X.astype(dtype), np.asfortranarray(X.astype(dtype)), sparse.csc_matrix(X.astype(dtype))):
        model = KMedians(3, random_state=0).fit(table)
        assert np.array_equal(model.labels_, expected.labels_)
        assert np.array_equal(model.cluster_centers_, expected.cluster_centers_)
        assert np.array_equal(model.predict(table), expected.labels_)
        assert model.transform(table) == pytest.approx(expected.transform(X.astype(float)))


def test_a_wide_sparse_table_is_not_made_dense():
    X = sparse.random(200, 20_000, density=2e-3, format="csr", random_state=0)
    model = KMedians(2, n_init=1, max_iter=5, random_state=0).fit(X)
    assert model.cluster_centers_.shape == (2, 20_000)
    assert model.inertia_ <= np.abs(X).sum() * (1 + 1e-9)  # what the zero row would cost


def test_fractions_of_weights_lead_to_weighted_medians():
    X = np.array([[0.0], [1.0], [2.0], [10.0]])
    model = KMedians(1).fit(X, sample_weight=[0.1, 0.1, 0.1, 0.5])
    assert model.cluster_centers_.tolist() == [[10.0]]
    assert model.inertia_ == pytest.approx(0.1 * (10 + 9 + 8))


def test_an_offset_of_all_values_takes_nothing_away():
    X = np.round(blobs(5) * 64) / 64
    plain, far = KMedians(4, random_state=0).fit(X), KMedians(4, random_state=0).fit(X + 2.0**31)
    assert np.array_equal(plain.labels_, far.labels_)
    assert far.cost_ == plain.cost_


@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_both_ways_to_start_lead_to_good_clusterings(init):
    X = blobs(6)
    assert KMedians(4, init=init, random_state=0).fit(X).inertia_ <= 1.01 * best_of(X, 4, 0)


def test_given_centers_are_where_the_only_run_starts():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    model = KMedians(2, init=[[0.0], [1.0]], max_iter=1).fit(X)
    assert model.n_iter_ == 1
    assert model.cluster_centers_.tolist() == [[0.0], [10.0]]  # the medians of {0} and the rest, once
    assert KMedians(2, init=[[0.0], [1.0]]).fit(X).cluster_centers_.tolist() == [[1.0], [11.0]]


def test_starts_without_rows_are_put_where_rows_are_far():
    X = np.array([[0.0], [1.0], [50.0], [99.0]])
    model = KMedians(3, init=[[0.0], [0.0], [0.0]]).fit(X)
    assert sorted(np.bincount(model.labels_, minlength=3)) == [1, 1, 2]


def test_as_many_clusters_as_distinct_rows_cost_nothing():
    X = np.repeat(np.arange(12.0).reshape(6, 2), 3, axis=0)
    for k in (1, 6):
        model = KMedians(k, random_state=0).fit(X)
        assert (model.inertia_ == 0.0) == (k == 6)
        assert len(set(model.labels_)) == k


def test_names_of_columns_are_kept_and_asked_for():
    frame = pd.DataFrame(blobs(7), columns=["a", "b", "c"])
    model = KMedians(4, random_state=0).fit(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert np.array_equal(model.predict(pl.from_pandas(frame)), model.labels_)
    with pytest.raises(InvalidInputError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))
    out = KMedians(4, random_state=0).set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == [f"kmedians{j}" for j in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(model.fit(frame.to_numpy()), "feature_names_in_")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"init": "k-medians"}, ("init", "'k-means++'", "'random'", "Did you mean")),
        ({"init": None}, ("init", "None")),
        ({"init": [[1.0, 2.0, 3.0]]}, ("init", "(1, 3)", "(4, 3)")),
        ({"init": [[np.nan] * 3] * 4}, ("init", "NaN")),
        ({"n_init": 0}, ("n_init", "0")),
        ({"max_iter": 0}, ("max_iter", "0")),
        ({"n_clusters": 0}, ("n_clusters", "0")),
        ({"n_clusters": 301}, ("301", "300")),
        ({"n_jobs": 0}, ("n_jobs", "0")),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_named(options, words):
    with pytest.raises(ValueError) as caught:
        KMedians(**{"n_clusters": 4, **options}).fit(blobs())
    for word in words:
        assert word in str(caught.value)


def test_distances_beyond_float64_are_an_error():
    with pytest.raises(InvalidInputError, match="beyond float64"):
        KMedians(2).fit(np.array([[1e308, 1e308], [-1e308, -1e308], [0.0, 1.0]]))
    model = KMedians(2).fit([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    with pytest.raises(InvalidInputError, match="beyond float64"):
        model.score([[1.7e308, 1.7e308]])


@pytest.mark.parametrize("seed", ["a", -1, 1.5, np.random.default_rng(0)])
def test_what_can_seed_nothing_is_refused_by_name(seed):
    with pytest.raises(InvalidInputError, match=r"random_state=.* cannot seed anything"):
        KMedians(2, random_state=seed).fit([[0.0], [1.0], [5.0]])


@each("seed", range(120))
def test_centers_are_the_medians_of_their_rows_where_distances_tie(seed):
    rng = np.random.default_rng(seed)
    X, k = rng.integers(0, 12, (rng.integers(12, 60), rng.integers(1, 4))), rng.integers(2, 5)
    if len(np.unique(X, axis=0)) < k:
        return
    model = KMedians(k, n_init=1, random_state=0).fit(X)
    for cluster, center in enumerate(model.cluster_centers_):
        own = np.sort(X[model.labels_ == cluster], axis=0)
        assert np.array_equal(own[(len(own) - 1) // 2], center)
