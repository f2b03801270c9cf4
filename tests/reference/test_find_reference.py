"""The k-means reference: as good as scikit-learn's, deterministic, safe in threads and forked children."""

import multiprocessing
import os
import signal
import threading
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs

from cutwise.exceptions import InvalidInputError
from cutwise.reference.fitted import from_estimator
from cutwise.reference.objective import KMEANS, Measure, from_centers
from cutwise.reference.search import find_clustering
from cutwise.table.intake import read_table


def find_reference(table, n_clusters, objective=KMEANS, sample_weight=None, n_jobs=1, **options):
    by = Measure(objective, sample_weight, n_jobs)
    return find_clustering(table, n_clusters, by, brief=True, **options)[0]


def same(a, b):
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.centers, b.centers)
    assert a.cost == b.cost


@pytest.mark.parametrize(("load", "k"), [(load_iris, 3), (load_iris, 8), (load_digits, 10)])
def test_cost_is_that_of_scikit_learns_kmeans(load, k):
    X = load().data
    table = read_table(X)
    references = [find_reference(table, k, random_state=s) for s in range(3)]
    theirs = [KMeans(k, n_init=10, random_state=s).fit(X).inertia_ for s in range(3)]
    assert np.mean([r.cost for r in references]) <= 1.005 * np.mean(theirs)
    reference = references[0]
    assert reference.labels.dtype == np.int32
    assert sorted(set(reference.labels)) == list(range(k))


def test_a_reference_is_made_of_means_and_nearest_centers():
    X = load_digits().data
    reference = find_reference(read_table(X), 10, random_state=1)
    for j in range(10):
        np.testing.assert_allclose(reference.centers[j], X[reference.labels == j].mean(axis=0), rtol=1e-12, atol=1e-14)
    same(from_centers(read_table(X), reference.centers), reference)


@pytest.fixture(scope="module")
def large():
    """More rows than any sample takes, no two equal, in clusters of unlike sizes."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(4_000, 26_000, 8)
    return np.concatenate([rng.normal(rng.normal(size=4) * 4, 1.0, (s, 4)) for s in sizes]).astype(np.float32)


def test_a_large_table_costs_no_more_than_scikit_learns_best_of_ten(large):
    reference = find_reference(read_table(large), 8, random_state=0)
    assert reference.cost <= 1.003 * KMeans(8, n_init=10, random_state=0).fit(large).inertia_


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_the_number_of_threads_changes_nothing(large, n_jobs):
    table = read_table(large)
    same(find_reference(table, 8, random_state=3), find_reference(table, 8, random_state=3, n_jobs=n_jobs))


def test_the_layout_changes_nothing_and_the_input_is_not_written(large):
    X = large[:20_000]
    frozen = X.copy()
    frozen.setflags(write=False)
    expected = find_reference(read_table(X), 5, random_state=2)
    for layout in (np.asfortranarray(X), frozen, X.astype(np.float64), np.repeat(X, 2, axis=1)[:, ::2]):
        same(find_reference(read_table(layout), 5, random_state=2), expected)
    np.testing.assert_array_equal(frozen, X)


def test_random_state_may_be_a_generator_of_scikit_learns_kind(large):
    table = read_table(large[:5000])
    same(
        find_reference(table, 4, random_state=np.random.RandomState(7)),
        find_reference(table, 4, random_state=np.random.RandomState(7)),
    )
    find_reference(table, 4, n_init=1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
def test_integer_tables(dtype):
    X = load_digits().data.astype(dtype)
    assert find_reference(read_table(X), 10, random_state=0).cost == pytest.approx(
        find_reference(read_table(X.astype(float)), 10, random_state=0).cost, rel=1e-12
    )


def test_sparse_tables_are_clustered_like_dense_ones():
    rng = np.random.default_rng(1)
    centers = rng.integers(0, 5, (6, 50)) * (rng.random((6, 50)) < 0.2)
    X = centers[rng.integers(0, 6, 3000)] + (rng.random((3000, 50)) < 0.03)
    dense = find_reference(read_table(X), 6, random_state=0)
    compressed = find_reference(read_table(sparse.csr_array(X)), 6, random_state=0)
    assert compressed.cost == pytest.approx(dense.cost, rel=1e-9)


@pytest.mark.parametrize("offset", [1e9, 1e10])
def test_offsets_leave_the_clusters_as_they_are(offset):
    X, y = make_blobs(3000, centers=5, cluster_std=0.3, center_box=(-20, 20), random_state=0)
    reference = find_reference(read_table(X + offset), 5, random_state=0)
    pairs = set(zip(y.tolist(), reference.labels.tolist(), strict=True))
    assert len(pairs) == 5
    assert reference.cost == pytest.approx(find_reference(read_table(X), 5, random_state=0).cost, rel=1e-4)


# ---- weights and duplicates


def test_integer_weights_cost_what_repeated_rows_cost():
    X = load_iris().data
    weights = np.random.default_rng(2).integers(0, 5, len(X))
    weighted = find_reference(read_table(X), 4, random_state=0, sample_weight=weights.astype(float))
    repeated = find_reference(read_table(np.repeat(X, weights, axis=0)), 4, random_state=0)
    assert weighted.cost == pytest.approx(repeated.cost, rel=0.02)
    inside = (weighted.labels == 0) & (weights > 0)
    np.testing.assert_allclose(weighted.centers[0], np.average(X[inside], axis=0, weights=weights[inside]))


def test_equal_weights_are_no_weights_but_for_the_cost():
    X = load_iris().data
    plain = find_reference(read_table(X), 3, random_state=0)
    tripled = find_reference(read_table(X), 3, random_state=0, sample_weight=np.full(len(X), 3.0))
    np.testing.assert_array_equal(tripled.labels, plain.labels)
    assert tripled.cost == pytest.approx(3 * plain.cost)


def test_fractional_weights_have_weighted_means_as_centers():
    X = load_iris().data
    weights = np.random.default_rng(3).random(len(X))
    reference = find_reference(read_table(X), 3, random_state=0, sample_weight=weights)
    for j in range(3):
        inside = reference.labels == j
        np.testing.assert_allclose(
            reference.centers[j], np.average(X[inside], axis=0, weights=weights[inside]), rtol=1e-9
        )


@pytest.mark.parametrize("k", [1, 2, 7, 200])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_k_distinct_points_repeated_cost_nothing(k, make):
    rng = np.random.default_rng(k)
    points = rng.normal(size=(k, 3)) * 10.0 ** rng.integers(-3, 4, (k, 3))
    X = points[np.concatenate([np.arange(k), rng.integers(0, k, 3000)])]
    reference = find_reference(read_table(make(X)), k, random_state=0)
    assert reference.cost == 0.0
    assert len(set(reference.labels.tolist())) == k


def test_one_row_per_cluster():
    X = np.random.default_rng(4).normal(size=(40, 2))
    reference = find_reference(read_table(X), 40, random_state=0)
    assert reference.cost == 0.0
    assert sorted(reference.labels) == list(range(40))


def test_a_chain_of_many_clusters():
    X = np.repeat(np.arange(300.0), 5)[:, None]
    X += np.tile([-0.1, -0.05, 0.0, 0.05, 0.1], 300)[:, None]
    reference = find_reference(read_table(X), 300, n_init=2, random_state=0)
    assert len(set(reference.labels)) == 300


def test_constant_columns_and_one_column():
    X = np.random.default_rng(5).normal(size=(500, 3))
    X[:, 1] = 7.0
    assert (find_reference(read_table(X), 4, random_state=0).centers[:, 1] == 7.0).all()
    assert len(set(find_reference(read_table(X[:, :1]), 4, random_state=0).labels)) == 4


def test_a_repeated_table_is_merged_and_costs_no_less_than_it_should():
    rng = np.random.default_rng(6)
    points = rng.normal(size=(400, 3))
    X = points[rng.integers(0, 400, 30_000)]
    reference = find_reference(read_table(X), 6, random_state=0)
    assert reference.cost <= 1.005 * KMeans(6, n_init=5, random_state=0).fit(X).inertia_
    np.testing.assert_allclose(reference.centers[2], X[reference.labels == 2].mean(axis=0), rtol=1e-10)


@pytest.mark.parametrize("far", [1e8, 1e11])
def test_a_far_row_costs_the_clusters_of_the_others_nothing(far):
    """Restarts are on a sample with large weights, whose costs must not be rounded in units of the far row's."""
    X = np.random.default_rng(8).random((6000, 3))  # without clear clusters: restarts end in different places
    costs = [find_reference(read_table(X), 12, random_state=seed).cost for seed in range(3)]
    with_far = read_table(np.vstack([X, np.full(3, far)]))
    again = [find_reference(with_far, 13, random_state=seed).cost for seed in range(3)]
    assert max(again) <= 1.006 * min(costs)


def test_a_far_row_of_a_wide_table_leaves_the_others_their_directions():
    rng = np.random.default_rng(9)
    centers = rng.normal(size=(10, 1100)) * (rng.random((10, 1100)) < 0.05) * 1.5
    X = centers[rng.integers(0, 10, 700)] + rng.normal(size=(700, 1100))
    cost = find_reference(read_table(X), 10, random_state=0).cost
    with_far = read_table(np.vstack([X, 1e7 * rng.normal(size=(1, 1100))]))
    assert find_reference(with_far, 11, random_state=0).cost <= 1.001 * cost


def test_distances_beyond_float64_are_refused():
    X = np.random.default_rng(7).normal(size=(50, 2)) * 1e200
    with pytest.raises(InvalidInputError, match="beyond float64"):
        find_reference(read_table(X), 3, random_state=0)


def test_stages_are_told_on_request(capsys, large):
    find_reference(read_table(large[:3_000]), 3, n_init=2, random_state=0, verbose=1)
    out, told = capsys.readouterr()
    assert out == ""  # standard output belongs to results
    assert "restart 6 of 6 on 3000 rows" in told
    find_reference(read_table(large[:3_000]), 3, n_init=2, random_state=0)
    assert capsys.readouterr().err == ""


# ---- threads and forks


def test_two_threads_at_once_get_what_one_gets(large):
    table = read_table(large[:30_000])
    expected = [find_reference(table, 6, random_state=s) for s in range(2)]
    found = {}

    def work(s):
        found[s] = find_reference(table, 6, random_state=s, n_jobs=2)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for s in range(2):
        same(found[s], expected[s])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.parametrize("estimator", [None, KMeans(4, n_init=1, random_state=0)], ids=["own", "scikit-learn"])
def test_a_forked_child_can_fit_after_its_parent_did(estimator):
    X = np.random.default_rng(8).normal(size=(5000, 4))
    table = read_table(X)

    def fit():
        if estimator is None:
            return find_reference(table, 4, random_state=0, n_jobs=2)
        return from_estimator(estimator, table, 4)

    expected = fit()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forking beside threads
        child = context.Process(target=lambda: sender.send(fit().cost))
        child.start()
    answered = receiver.poll(60)
    if not answered:
        os.kill(child.pid, signal.SIGKILL)
    assert answered, "the child hangs"
    assert receiver.recv() == expected.cost
    child.join()
    assert child.exitcode == 0
