"""References of clusterers: fitted or not, with centers, with predict, or with labels alone."""

import threading
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from cutwise.exceptions import CutwiseWarning, InvalidInputError
from cutwise.reference.fitted import from_estimator
from cutwise.reference.objective import Measure
from cutwise.reference.resources import one_thread
from cutwise.table.intake import read_table
from tests.each import each


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(c, 0.3, (40, 2)) for c in ((0, 0), (5, 0), (0, 5))])


def groups(labels):
    """The partition, whatever its numbers."""
    return {frozenset(np.flatnonzero(labels == j)) for j in set(labels.tolist())}


BLOBS = {frozenset(range(40 * j, 40 * j + 40)) for j in range(3)}

CLUSTERERS = [
    KMeans(3, n_init=3, random_state=0),
    MiniBatchKMeans(3, n_init=3, random_state=0),
    GaussianMixture(3, random_state=0),
    make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)),
    make_pipeline(PCA(1), KMeans(3, n_init=3, random_state=0)),
    AgglomerativeClustering(3),
]


@pytest.mark.parametrize(
    "clusterer", CLUSTERERS, ids=lambda c: "-".join(s[0] for s in c.steps) if hasattr(c, "steps") else ""
)
@pytest.mark.parametrize("fitted", [False, True])
def test_every_kind_of_clusterer_gives_its_clusters(blobs, clusterer, fitted):
    if fitted:
        clusterer = clone(clusterer).fit(blobs)
    reference = from_estimator(clusterer, read_table(blobs), 3)
    assert fitted or not hasattr(clusterer, "n_features_in_")  # a clone was fitted
    if not (hasattr(clusterer, "steps") and clusterer.steps[0][0] == "pca"):
        assert groups(reference.labels) == BLOBS
    for j in range(3):
        np.testing.assert_allclose(reference.centers[j], blobs[reference.labels == j].mean(axis=0), atol=0.05)


def test_a_fitted_kmeans_keeps_its_own_centers(blobs):
    model = KMeans(3, n_init=1, random_state=0).fit(blobs[::2])
    reference = from_estimator(model, read_table(blobs), 3)
    np.testing.assert_array_equal(reference.centers, model.cluster_centers_)


def test_noise_stays_noise(blobs):
    rows = np.concatenate([blobs, [[50.0, 50.0]]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # HDBSCAN's own copy parameter
        model = HDBSCAN(min_cluster_size=10, copy=True).fit(rows)
    reference = from_estimator(model, read_table(rows), 3)
    assert reference.labels[-1] == -1
    assert np.abs(reference.centers).max() < 10


def test_labels_may_have_gaps(blobs):
    model = AgglomerativeClustering(3).fit(blobs)
    model.labels_ = model.labels_ * 10 + 5
    assert sorted(set(from_estimator(model, read_table(blobs), 3).labels)) == [0, 1, 2]


@each("centers", [[["a", "b"]] * 3, [0.0, 5.0, 9.0], np.zeros((3, 4))])
def test_centers_that_are_no_points_of_the_table_are_left_alone(blobs, centers):
    model = AgglomerativeClustering(3).fit(blobs)
    model.cluster_centers_ = np.array(centers)
    reference = from_estimator(model, read_table(blobs), 3)
    assert groups(reference.labels) == BLOBS
    np.testing.assert_allclose(reference.centers, [blobs[reference.labels == j].mean(axis=0) for j in range(3)])


@each("names", [["a", "b", "c"], [0, 1, 3], [-2, 0, 1], [0.0, 1.0, 2.0]])
def test_labels_that_number_no_centers_are_clusters_at_their_means(blobs, names):
    model = AgglomerativeClustering(3).fit(blobs)
    model.cluster_centers_ = np.zeros((3, 2))
    model.labels_ = np.array(names)[model.labels_]
    reference = from_estimator(model, read_table(blobs), 3)
    assert groups(reference.labels) == BLOBS
    np.testing.assert_allclose(reference.centers, [blobs[reference.labels == j].mean(axis=0) for j in range(3)])


def test_another_number_of_clusters_is_an_error_with_both_numbers(blobs):
    table = read_table(blobs)
    for clusterer in (
        KMeans(5),
        KMeans(5, n_init=1).fit(blobs),
        AgglomerativeClustering(5).fit(blobs),
        GaussianMixture(5),
    ):
        with pytest.raises(InvalidInputError, match=r"has 5 clusters, but n_clusters=3"):
            from_estimator(clusterer, table, 3)


def test_what_is_no_clusterer_is_refused(blobs):
    table = read_table(blobs)
    with pytest.raises(InvalidInputError, match=r"not the class KMeans. Call it: KMeans\(\)"):
        from_estimator(KMeans, table, 3)
    with pytest.raises(InvalidInputError, match="not an object of type int"):
        from_estimator(7, table, 3)
    with pytest.raises(InvalidInputError, match="is not a clusterer"):
        from_estimator(StandardScaler(), table, 3)
    with pytest.raises(InvalidInputError, match="whole numbers or text"):
        from_estimator(LinearRegression().fit(blobs, blobs[:, 0]), table, 3)


def test_a_clusterer_fitted_elsewhere_is_refused(blobs):
    with pytest.raises(InvalidInputError, match=r"fitted on 1 columns, but the rows have 2"):
        from_estimator(KMeans(3, n_init=1).fit(blobs[:, :1]), read_table(blobs), 3)
    with pytest.raises(InvalidInputError, match=r"fitted on 60 rows and cannot predict, but X has 120 rows"):
        from_estimator(AgglomerativeClustering(3).fit(blobs[::2]), read_table(blobs), 3)


def test_weights_go_where_they_are_taken(blobs):
    weight = np.ones(120)
    weight[:10] = 50.0
    table = read_table(blobs)
    for model in (
        KMeans(3, n_init=1, random_state=0),
        make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)),
    ):
        reference = from_estimator(model, table, 3, Measure(sample_weight=weight))
        cluster = reference.labels[0]
        inside = reference.labels == cluster
        np.testing.assert_allclose(
            reference.centers[cluster], np.average(blobs[inside], axis=0, weights=weight[inside]), rtol=1e-6
        )
    with pytest.warns(CutwiseWarning, match="takes no sample_weight"):
        from_estimator(AgglomerativeClustering(3), table, 3, Measure(sample_weight=weight))


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_overlapping_limits_leave_the_number_of_blas_threads_as_it_was():
    before = blas_threads()
    with one_thread():  # the main thread lives on, and must not stay the only one that may set a limit
        pass
    first_inside, second_inside, first_left = (threading.Event() for _ in range(3))

    def first():
        with one_thread():
            first_inside.set()
            second_inside.wait()
        first_left.set()

    def second():
        first_inside.wait()
        with one_thread():
            second_inside.set()
            first_left.wait()
            assert set(blas_threads()) <= {1}

    threads = [threading.Thread(target=t) for t in (first, second)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert blas_threads() == before


@pytest.mark.parametrize("clusterer", [KMeans(3, n_init=1, random_state=0), AgglomerativeClustering(3)])
def test_routing_of_metadata_changes_nothing_about_a_pipelines_weights(clusterer, blobs):
    pipeline, weights = make_pipeline(StandardScaler(), clusterer), np.arange(1.0, 121.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutwiseWarning)  # of the clusterer that takes no weights
        plain = from_estimator(pipeline, read_table(blobs), 3, Measure(sample_weight=weights))
        with config_context(enable_metadata_routing=True):
            routed = from_estimator(pipeline, read_table(blobs), 3, Measure(sample_weight=weights))
    np.testing.assert_array_equal(routed.labels, plain.labels)
    assert routed.cost == plain.cost
