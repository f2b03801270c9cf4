"""The search for a reference: small far clusters are found; order, repetition, parts and threads decide nothing."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from cutwise.core import distinct_rows, hash_uniforms, principal_axes, project
from cutwise.reference.objective import KMEANS, KMEDIANS, PLAIN, Measure
from cutwise.reference.search import draw_rows, find_clustering, largest_first, read_points
from cutwise.table.intake import read_table
from cutwise.table.table import as_matrix
from tests.each import each


def find_reference(table, n_clusters, objective=KMEANS, sample_weight=None, n_jobs=1, **options):
    by = Measure(objective, sample_weight, n_jobs)
    return find_clustering(table, n_clusters, by, brief=True, **options)[0]


def planted(n, d, k, far, n_rare, seed, smallest=1e-4):
    """Common clusters near each other, and rare ones far away."""
    rng = np.random.default_rng(seed)
    shares = np.concatenate([rng.dirichlet(np.full(k - n_rare, 2.0)), np.geomspace(smallest, 20 * smallest, n_rare)])
    directions = rng.normal(size=(k, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    distances = np.concatenate([rng.uniform(2.0, 8.0, k - n_rare), np.full(n_rare, far)])
    sizes = np.maximum(1, np.rint(shares / shares.sum() * n)).astype(int)
    rows = [rng.normal(directions[j] * distances[j], 1.0, (size, d)) for j, size in enumerate(sizes)]
    order = rng.permutation(sizes.sum())
    return np.concatenate(rows)[order], np.repeat(np.arange(k), sizes)[order]


PLANTED = {
    "five, some 100 away": (30_000, 5, 5, 100.0, 2),
    "ten, some 30 away": (30_000, 8, 10, 30.0, 4),
    "twenty, some 10 away": (40_000, 10, 20, 10.0, 8),
    "fifty, many 100 away": (40_000, 6, 50, 100.0, 20),
    "ten, some 3 away": (30_000, 4, 10, 3.0, 3),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (shape[2] >= 20)) for name, shape in PLANTED.items()]
)
def test_a_table_of_rare_clusters_costs_no_more_than_kmeans_finds_in_ten_starts(name):
    k = PLANTED[name][2]
    X, _ = planted(*PLANTED[name], seed=0)
    reference = find_reference(read_table(X), k, random_state=0)
    assert reference.cost <= 1.01 * KMeans(k, n_init=10, random_state=0).fit(X).inertia_


@pytest.mark.parametrize("n", [8, 20, 60])
def test_tables_of_few_rows_cost_no_more_than_kmeans_finds_in_ten_starts(n):
    rng = np.random.default_rng(n)
    ratios = []
    for seed in range(20):
        X, k = rng.integers(0, 9, size=(n, seed % 4 + 2)) + 0.0 if seed % 2 else rng.random((n, 4)), seed % 5 + 2
        reference = find_reference(read_table(X), k, random_state=seed)
        ratios.append(reference.cost / KMeans(k, n_init=10, random_state=seed).fit(X).inertia_)
    assert np.mean(ratios) <= 1.001
    assert np.max(ratios) <= 1.03


@pytest.mark.parametrize(("n", "d", "k", "seed"), [(60, 12, 53, 44), (200, 3, 170, 1), (600, 2, 300, 0)])
def test_nearly_as_many_clusters_as_rows_cost_no_more_than_kmeans_finds_in_ten_starts(n, d, k, seed):
    X = np.random.default_rng(seed).normal(size=(n, d))
    best = KMeans(k, n_init=10, random_state=0).fit(X).inertia_
    assert find_reference(read_table(X), k, random_state=0).cost <= 1.005 * best


def test_many_clusters_take_few_restarts_and_cost_no_more_than_kmeans_finds_in_five_starts(capfd):
    X = np.random.default_rng(0).random((12_500, 3))
    best = KMeans(130, n_init=5, random_state=0).fit(X).inertia_
    found, _ = find_clustering(read_table(X), 130, random_state=0, verbose=1)
    assert "restart 1 of 2 on 12500 rows" in capfd.readouterr().err
    assert found.cost <= 1.01 * best


@pytest.mark.parametrize(("n", "d", "k"), [(1_395, 5, 13), (20_000, 8, 7)])
def test_more_groups_than_clusters_cost_no_more_than_kmeans_finds_in_ten_starts(n, d, k):
    ratios = []
    for seed in range(3):
        X, _ = make_blobs(n, d, centers=2 * k, cluster_std=2.0, random_state=seed)
        reference = find_reference(read_table(X), k, random_state=seed)
        ratios.append(reference.cost / KMeans(k, n_init=10, random_state=seed).fit(X).inertia_)
    assert np.mean(ratios) <= 1.0
    assert np.max(ratios) <= 1.01


@pytest.mark.parametrize("objective", [KMEANS, KMEDIANS], ids=lambda objective: objective.name)
def test_a_cluster_of_a_few_rows_far_away_gets_its_center(objective):
    X, cluster = planted(30_000, 4, 6, 1e5, 3, seed=1)
    labels = find_reference(read_table(X), 6, objective=objective, random_state=0).labels
    for rare in (3, 4, 5):
        (label,) = set(labels[cluster == rare])
        assert set(cluster[labels == label]) == {rare}


def test_a_few_far_rows_get_their_center_and_not_half_of_a_large_cluster():
    """What half of the large cluster gains is about half of what the three rows do, and they lie near sixty others."""
    rng = np.random.default_rng(4)
    far = np.array([[0.0] * 5, [90.0, 0, 0, 0, 40.0], [90.0, 0, 0, 0, -57.0]])
    parts = zip((24_000, 60, 3), far, strict=True)
    X = np.concatenate([rng.normal(center, 1.0, (n, 5)) for n, center in parts])
    for seed in range(8):
        assert sorted(np.bincount(find_reference(read_table(X), 3, random_state=seed).labels)) == [3, 60, 24_000]


def test_far_clusters_at_many_scales_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 3))
    for i, distance in enumerate((1e2, 1e3, 1e4, 1e5, 1e6)):
        X[4 * i : 4 * i + 4, 0] += distance
    reference = find_reference(read_table(X), 6, random_state=0)
    assert sorted(np.bincount(reference.labels))[:5] == [4, 4, 4, 4, 4]


def test_small_clusters_near_by_are_found_besides_far_rows():
    rng = np.random.default_rng(37)
    near = rng.normal(size=(7000, 3))
    near[:2000] += 6
    near[2000:2060, 0] += 25
    near[2060:2100, 1] -= 30
    far = [distance * rng.normal(size=3) for distance in (1e9, 1e10, 1e11)]
    for seed in range(3):
        cost = find_reference(read_table(np.vstack([near, far])), 7, random_state=seed).cost
        assert cost <= 1.001 * find_reference(read_table(near), 4, random_state=0).cost


def test_restarts_that_agree_on_a_sample_which_lacks_much_of_the_cost_begin_again():
    rng = np.random.default_rng(60)
    sizes = [872, 424, 138, 1092, 417, 958, 397, 122, 461, 273, 286, 19, 39, 7, 22, 30, 26, 30, 12, 35, 5, 2, 4]
    scale = 10.0 ** np.array([6, 3, 6, 0, 3, 6, 0, 3, 0, 3, 1, 3, 0, 0, 0, 0, 0, 3, 1, 6, 1, 0, 1])
    noise = np.array([1, 1, 3, 1, 1, 0.1, 1, 1, 0.1, 1, 1, 1, 1, 1, 1, 3, 1, 3, 3, 0.1, 0.1, 1, 0.1])
    X = np.repeat(20 * scale[:, np.newaxis] * rng.normal(size=(23, 8)), sizes, axis=0)
    X += rng.normal(size=X.shape) * np.repeat(noise, sizes)[:, np.newaxis]
    X = np.vstack([X, 1e7 * rng.normal(size=(3, 8))])
    costs = [find_reference(read_table(X), 23, random_state=seed).cost for seed in (0, 2)]
    assert max(costs) <= 1.001 * min(costs)


# ---- what a result does not depend on


def table_of_ties(seed=0, n=30_000):
    """Whole numbers, so that rows repeat; more distinct rows than any sample holds."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.integers(0, 60, (n, 3)), rng.integers(0, 3, (n // 10, 3)) + 200]).astype(float)


def same(a, b):
    np.testing.assert_array_equal(a.centers, b.centers)
    assert a.cost == b.cost


both = pytest.mark.parametrize("objective", [KMEANS, KMEDIANS], ids=lambda objective: objective.name)


@both
@pytest.mark.parametrize("n", [300, 14_000])
def test_the_order_of_the_rows_changes_no_bit(objective, n):
    for X in (table_of_ties(1, n), planted(n, 3, 7, 40.0, 3, 2)[0]):
        order = np.random.default_rng(3).permutation(len(X))
        expected = find_reference(read_table(X), 7, objective=objective, random_state=0)
        shuffled = find_reference(read_table(X[order]), 7, objective=objective, random_state=0, n_jobs=3)
        same(shuffled, expected)
        np.testing.assert_array_equal(shuffled.labels, expected.labels[order])


@both
@pytest.mark.parametrize("n", [300, 20_000])
def test_a_whole_weight_is_a_repeated_row_to_the_bit(objective, n):
    X, rng = table_of_ties(4, n), np.random.default_rng(5)
    weights = rng.integers(0, 4, len(X))
    weighted = find_reference(
        read_table(X), 5, objective=objective, random_state=0, sample_weight=weights.astype(float)
    )
    repeated = find_reference(read_table(np.repeat(X, weights, axis=0)), 5, objective=objective, random_state=0)
    same(weighted, repeated)
    np.testing.assert_array_equal(np.repeat(weighted.labels, weights), repeated.labels)


def test_centers_that_start_anywhere_are_refilled_whatever_the_order_of_the_rows():
    X = np.random.default_rng(6).integers(0, 4, (500, 2)).astype(float)  # many rows are the farthest from all centers
    start = np.array([[1.0, 1.0], [99.0, 0.0], [99.0, 1.0], [99.0, 2.0]])
    expected = find_clustering(read_table(X), 4, init=start)[0]
    order = np.random.default_rng(7).permutation(len(X))
    same(find_clustering(read_table(X[order]), 4, init=start)[0], expected)


@both
@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_are_numbered_by_decreasing_weight(objective, weighted):
    X, _ = planted(3_000, 3, 6, 20.0, 2, 9)
    weights = np.random.default_rng(9).random(len(X)) * 5 if weighted else None
    for n_rows in (len(X), 6):  # as many rows as clusters, too
        w = None if weights is None else weights[:n_rows]
        labels = find_reference(read_table(X[:n_rows]), 6, objective=objective, random_state=0, sample_weight=w).labels
        sizes = np.bincount(labels, w, 6)
        assert (np.diff(sizes) <= 1e-6).all()


@both
def test_clusters_of_one_weight_are_numbered_by_their_centers(objective):
    X = np.repeat([[3.0, 1.0], [2.0, 9.0], [2.0, 4.0], [7.0, 7.0]], [2, 2, 2, 5], axis=0)
    reference = find_reference(read_table(X), 4, objective=objective, random_state=0)
    assert reference.centers.tolist() == [[7.0, 7.0], [2.0, 4.0], [2.0, 9.0], [3.0, 1.0]]


def test_clusters_of_given_starts_keep_their_numbers():
    X = np.array([[0.0], [10.0], [11.0], [12.0]])
    assert find_clustering(read_table(X), 2, init=np.array([[0.0], [11.0]]))[0].labels.tolist() == [0, 1, 1, 1]


# ---- distinct rows and samples of them


@each("make", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
@each("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_distinct_rows_are_those_of_numpy_and_hash_by_what_they_hold(make, dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (5000, 5)).astype(dtype)
    weights = rng.integers(0, 4, 5000)
    numbers, totals, hashes = distinct_rows(read_table(make(X)).matrix, weights)
    rows, inverse = np.unique(X[weights > 0], axis=0, return_inverse=True)
    order = np.lexsort(X[numbers].T[::-1])
    np.testing.assert_array_equal(X[numbers][order], rows)
    np.testing.assert_array_equal(totals[order], np.bincount(inverse.ravel(), weights[weights > 0]))
    dense = distinct_rows(as_matrix(X.astype(np.float64)), weights)
    np.testing.assert_array_equal(hashes, dense[2])
    assert len(set(hashes.tolist())) == len(rows)


def test_zeros_of_either_sign_are_one_value_and_weight_zero_is_no_row():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    numbers, totals, hashes = distinct_rows(as_matrix(X), np.array([1, 2, 3, 0]))
    assert numbers.tolist() == [0, 2]
    assert totals.tolist() == [3, 3]
    assert len(set(hashes.tolist())) == 2


def test_a_sample_of_all_is_known_from_the_smallest_priorities_of_any_parts():
    rng = np.random.default_rng(1)
    X, size, seed = rng.integers(0, 25, (9_000, 3)), 400, 5
    score_of = lambda rows: 1.0 + (X[rows] ** 2).sum(axis=1)  # noqa: E731 -- of a row's values alone
    numbers, weights, hashes = distinct_rows(as_matrix(X), None)
    scores = score_of(numbers)
    total = float((scores * weights).sum())
    chosen, drawn = draw_rows(hashes, weights, scores, size, seed, total)
    for parts in (1, 2, 7):
        known = {}
        for part in np.array_split(rng.permutation(len(X)), parts):
            rows, weight, hash_ = distinct_rows(as_matrix(X[part]), None)
            priority = hash_uniforms(hash_, seed) / score_of(part[rows])
            for i in np.argsort(priority)[: size + 1]:
                known.setdefault(int(hash_[i]), [part[rows[i]], 0])[1] += int(weight[i])
        # Weights of rows that are among the smallest of one part only are not whole: they are not in the sample.
        rows, counts = np.array(list(known.values())).T
        again, drawn_again = draw_rows(np.array(list(known), np.uint64), counts, score_of(rows), size, seed, total)
        np.testing.assert_array_equal(X[rows[again]], X[numbers[chosen]])
        np.testing.assert_array_equal(drawn_again, drawn)


def test_weights_of_samples_add_up_to_those_of_all_rows_in_the_mean():
    rng = np.random.default_rng(2)
    hashes, weights = rng.integers(0, 2**63, 3_000).astype(np.uint64), rng.integers(1, 5, 3_000)
    scores, values = rng.pareto(1.0, 3_000) + 0.1, rng.random(3_000)
    sums = []
    for seed in range(400):
        chosen, drawn = draw_rows(hashes, weights, scores, 200, seed, scores @ weights)
        assert len(chosen) == 200
        sums.append(drawn @ values[chosen])
    assert np.mean(sums) == pytest.approx(weights @ values, abs=4 * np.std(sums) / 20)


def test_rows_that_weigh_much_are_in_every_sample_as_they_are():
    weights = np.ones(2_000, dtype=np.int64)
    weights[:5] = 1_000
    hashes = np.random.default_rng(3).integers(0, 2**63, 2_000).astype(np.uint64)
    for seed in range(20):
        chosen, drawn = draw_rows(hashes, weights, np.ones(2_000), 50, seed, weights.sum())
        assert set(range(5)) <= set(chosen.tolist())
        assert (drawn[np.isin(chosen, range(5))] == 1_000).all()


def test_a_sample_in_the_search_has_weights_in_proportion_and_an_order_of_its_own():
    X = np.random.default_rng(4).normal(size=(5_000, 2))
    for table in (X, X[::-1].copy()):
        points = read_points(read_table(table), PLAIN)
        importance = points.importance(points.best_center(1), 1)
        assert importance.total == pytest.approx(importance.of_rows.sum())
        assert importance.cost == pytest.approx(X.var(axis=0).sum())
        sample = points.sample(500, [importance], 9)
        assert sample.n_rows == 500
        assert sample.weights.sum() == pytest.approx(2**31, rel=1e-6)
        if table is X:
            first = sample
    np.testing.assert_array_equal(sample.rows(np.arange(sample.n_rows)), first.rows(np.arange(first.n_rows)))
    np.testing.assert_array_equal(sample.weights, first.weights)


def wide(seed, n=400, d=1_500, k=5):
    """Mostly zeros, some rows equal; the groups differ in many columns, and few rows in one of large values."""
    rng = np.random.default_rng(seed)
    profile = rng.lognormal(sigma=1.5, size=(k, d)) * 0.05
    X = rng.poisson(profile[rng.integers(0, k, n)]).astype(float)
    X[: n // 50, 7] = 40.0
    return np.concatenate([X, X[: n // 4]])


def test_a_sketch_is_a_projection_on_principal_axes_with_the_bits_of_sparse_rows():
    X = wide(0)
    rng = np.random.default_rng(1)
    rows, weights = rng.permutation(len(X))[:200], rng.integers(1, 5, 200)
    axes = principal_axes(as_matrix(X), rows, weights, 16, 12)
    np.testing.assert_allclose(axes.T @ axes, np.eye(16), atol=1e-10)
    along, apart = project(as_matrix(X), rows, axes)
    np.testing.assert_allclose(along, X[rows] @ axes, atol=1e-9)
    np.testing.assert_allclose((along**2).sum(axis=1) + apart, (X[rows] ** 2).sum(axis=1), rtol=1e-9)
    singular = np.linalg.svd(X[rows] * np.sqrt(weights)[:, None], compute_uv=False)
    assert weights @ apart <= 1.01 * (singular[16:] ** 2).sum()
    for same_rows in (sparse.csr_array(X), np.asfortranarray(X), X.astype(np.uint8)):
        np.testing.assert_array_equal(principal_axes(as_matrix(same_rows), rows, weights, 16, 12), axes)
        for found, expected in zip(project(as_matrix(same_rows), rows, axes), (along, apart), strict=True):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="rows are numbered"):
        project(as_matrix(X), np.array([len(X)]), axes)
    with pytest.raises(ValueError, match="multiple of 16"):
        principal_axes(as_matrix(X), rows, None, 8, 1)


@pytest.mark.parametrize("scale", [1e-200, 1e120])
def test_axes_of_few_different_rows_span_them_at_any_scale(scale):
    few = np.random.default_rng(0).normal(size=(3, 1_200))
    X = few[np.random.default_rng(1).integers(0, 3, 50)] * scale
    axes = principal_axes(as_matrix(X), np.arange(50), None, 16, 2)
    assert np.linalg.matrix_rank(axes) == np.count_nonzero(axes.any(axis=0)) == 3
    np.testing.assert_allclose(project(as_matrix(X), np.arange(50), axes)[0] @ axes.T, X, rtol=1e-6, atol=1e-6 * scale)


def test_axes_do_not_depend_on_the_unit():
    X = np.random.default_rng(0).normal(size=(60, 40))
    axes = principal_axes(as_matrix(X), np.arange(60), None, 16, 10)
    for unit in (2.0**-60, 2.0**20, 2.0**60):
        np.testing.assert_array_equal(principal_axes(as_matrix(X * unit), np.arange(60), None, 16, 10), axes)


@pytest.mark.parametrize("n", [400, pytest.param(13_000, marks=pytest.mark.slow)])
def test_a_wide_table_gives_the_same_bits_in_any_order_layout_and_repetition(n):
    X = wide(2, n)
    expected = find_reference(read_table(X), 5, random_state=0)
    order = np.random.default_rng(3).permutation(len(X))
    shuffled = find_reference(read_table(X[order]), 5, random_state=0, n_jobs=3)
    same(shuffled, expected)
    np.testing.assert_array_equal(shuffled.labels, expected.labels[order])
    stored = find_reference(read_table(sparse.csr_array(X)), 5, random_state=0)
    np.testing.assert_array_equal(stored.labels, expected.labels)
    weights = np.random.default_rng(4).integers(0, 4, len(X))
    weighted = find_reference(read_table(X), 5, random_state=0, sample_weight=weights.astype(float))
    same(weighted, find_reference(read_table(np.repeat(X, weights, axis=0)), 5, random_state=0))


@pytest.mark.parametrize("seed", range(3))
def test_the_clusters_of_a_wide_table_cost_no_more_than_kmeans_finds_in_ten_starts(seed):
    X = wide(seed, n=900)
    best = KMeans(6, n_init=10, random_state=seed).fit(X).inertia_
    assert find_reference(read_table(X), 6, random_state=seed).cost <= 1.01 * best


@pytest.mark.parametrize(("n", "d", "n_groups", "k", "seed"), [(2631, 17, 3, 5, 6037), (642, 18, 9, 10, 6018)])
def test_the_clusters_of_a_table_of_yes_and_no_cost_no_more_than_kmeans_finds_in_ten_starts(n, d, n_groups, k, seed):
    rng = np.random.default_rng(seed)
    shares = np.clip(rng.beta(0.4, 0.4, (n_groups, d)), 0.02, 0.98)
    group = rng.choice(n_groups, n, p=rng.dirichlet(np.full(n_groups, 2.0)))
    X = (rng.random((n, d)) < shares[group]).astype(float)
    best = KMeans(k, n_init=10, random_state=0).fit(X).inertia_
    assert max(find_reference(read_table(X), k, random_state=s).cost for s in range(3)) <= 1.01 * best


def test_clusters_of_one_weight_are_in_the_order_of_their_centers():
    rng = np.random.default_rng(0)
    for _ in range(100):
        weights, centers = rng.integers(1, 4, 6), rng.integers(-2, 2, (6, 3)).astype(float)
        expected = sorted(range(6), key=lambda j: (-weights[j], centers[j].tolist()))
        assert largest_first(weights, centers).tolist() == expected
