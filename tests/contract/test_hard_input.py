"""Input that is legal and hard: large offsets, long chains, repeated points, constants, single columns."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse

import cutwise
from cutwise import ClusterExplainer, ExplainableKMeans, ExplainableKMedians, KMedians
from cutwise.exceptions import CutwiseWarning, UnseparableCentersWarning
from tests.oracle import measures
from tests.oracle.models import fit_quietly, same_tree
from tests.oracle.verify import check_imm, check_induced, check_measures, check_reference, problem_of

ALGORITHMS = ("imm", "exgreedy", "exshallow", "exkmc")
EACH = pytest.mark.parametrize("algorithm", ALGORITHMS)


def _spread(seed: int) -> np.ndarray:
    """Rows at unit spread, multiples of 1/1024: adding 1e10 to them loses nothing."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(4, 3)) * 2
    return (middles[rng.integers(0, 4, 120)] + rng.normal(size=(120, 3)) * 0.5) * 1024 // 1 / 1024


@EACH
@pytest.mark.parametrize("offset", [1_600_000_000, 2.0**33, -1e10])
def test_a_large_offset_changes_neither_clusters_nor_tree(algorithm, offset):
    for seed in range(3):
        X = _spread(seed)
        centers = X[[0, 30, 60, 90]]
        plain = fit_quietly(ExplainableKMeans(4, algorithm=algorithm, reference=centers, max_leaves=7), X)
        moved = fit_quietly(
            ExplainableKMeans(4, algorithm=algorithm, reference=centers + offset, max_leaves=7), X + offset
        )
        check_reference(moved, X + offset)
        assert np.array_equal(plain.reference_.labels, moved.reference_.labels)
        assert np.array_equal(plain.tree_.feature, moved.tree_.feature)
        assert np.array_equal(plain.tree_.n_node_samples, moved.tree_.n_node_samples)
        assert np.array_equal(plain.labels_, moved.predict(X + offset))
        assert moved.cost_ == pytest.approx(plain.cost_, rel=1e-9)
        assert moved.surrogate_cost_ == pytest.approx(plain.surrogate_cost_, rel=1e-9)


@pytest.mark.parametrize("offset", [1_600_000_000, 1e9, 1e10])
def test_clusters_are_found_at_a_large_offset(offset):
    rng = np.random.default_rng(0)
    part = np.repeat([0, 1, 2], 60)
    X = offset + 20 * part[:, None] + rng.normal(size=(180, 2)).round(3)
    model = fit_quietly(ExplainableKMeans(3, random_state=0), X)
    assert len(set(zip(model.labels_, part, strict=True))) == 3
    assert model.cost_ == pytest.approx(measures.partition_cost(part, X - offset), rel=1e-6)
    assert model.cost_ratio_ == pytest.approx(1.0)


def test_unix_timestamps_of_integer_type_are_cut_at_whole_seconds():
    rng = np.random.default_rng(1)
    seconds = np.concatenate([1_600_000_000 + rng.integers(0, 60, 50), 1_600_000_900 + rng.integers(0, 60, 50)])
    model = fit_quietly(ExplainableKMeans(2, algorithm="imm", random_state=0), seconds[:, None].astype(np.int64))
    assert model.tree_.threshold[0].is_integer()
    assert list(np.bincount(model.labels_)) == [50, 50]
    assert model.tree_.n_node_mistakes[0] == 0


@EACH
def test_k_points_repeated_give_k_leaves_and_no_cost(algorithm):
    rng = np.random.default_rng(2)
    for k in (2, 3, 7, 12):
        points = np.unique(rng.integers(0, 60, (3 * k, 2)), axis=0).astype(float)[:k]
        X = np.repeat(points, 25, axis=0)
        for reference in (points, None):
            model = fit_quietly(ExplainableKMeans(k, algorithm=algorithm, reference=reference, random_state=0), X)
            assert model.n_leaves_ == k
            assert model.cost_ == 0
            assert model.surrogate_cost_ == 0
            assert np.isnan(model.cost_ratio_) or model.cost_ratio_ == 1


@EACH
def test_one_row_per_cluster(algorithm):
    X = np.random.default_rng(3).normal(size=(40, 3))
    model = fit_quietly(ExplainableKMeans(40, algorithm=algorithm, random_state=0), X)
    assert model.n_leaves_ == 40
    assert len(set(model.labels_)) == 40
    assert model.cost_ == pytest.approx(0, abs=1e-20)


@EACH
def test_constant_columns_are_never_cut(algorithm):
    rng = np.random.default_rng(4)
    X = np.column_stack([np.full(60, 1e9), rng.normal(size=60), np.zeros(60), rng.normal(size=60), np.full(60, -0.0)])
    model = fit_quietly(ExplainableKMeans(5, algorithm=algorithm, max_leaves=9, random_state=0), X)
    assert set(model.tree_.feature[model.tree_.feature >= 0]) <= {1, 3}


@EACH
def test_a_single_column(algorithm):
    X = np.random.default_rng(5).normal(size=(80, 1))
    model = fit_quietly(ExplainableKMeans(6, algorithm=algorithm, random_state=0), X)
    assert model.n_leaves_ == 6
    check_measures(model, X)


def test_negative_zero_is_zero():
    X = np.array([[-0.0], [0.0], [1.0], [-0.0]])
    model = fit_quietly(ExplainableKMeans(2, algorithm="imm", reference=[[0.0], [1.0]]), X)
    assert list(model.labels_) == [0, 0, 1, 0]
    assert list(model.predict([[-0.0], [0.0]])) == [0, 0]


def test_values_of_every_magnitude_do_not_overflow():
    rng = np.random.default_rng(6)
    for scale in (1e-150, 1e-30, 1e30, 1e150):
        X = rng.normal(size=(40, 2)) * scale
        model = fit_quietly(ExplainableKMeans(3, algorithm="exshallow", reference=X[:3]), X)
        unit = fit_quietly(ExplainableKMeans(3, algorithm="exshallow", reference=X[:3] / scale), X / scale)
        assert np.array_equal(model.tree_.feature, unit.tree_.feature), scale
        assert np.array_equal(model.labels_, unit.labels_), scale
        assert np.isfinite(model.cost_)


@pytest.mark.parametrize(
    ("estimator", "powers"), [(ExplainableKMeans, (-500, 500)), (ExplainableKMedians, (-500, -530, -1000, 500))]
)
def test_trees_of_every_magnitude_are_searched(estimator, powers):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(200, 3)) + 4 * rng.integers(0, 3, (200, 1))
    unit = estimator(3, max_leaves=5, random_state=0).fit(X)
    for power in powers:
        model = estimator(3, max_leaves=5, random_state=0).fit(X * 2.0**power)
        assert np.array_equal(model.labels_, unit.labels_), power
        assert model.cost_ratio_ == pytest.approx(unit.cost_ratio_), power


def test_the_smallest_numbers_have_medians():
    smallest = 5e-324 * np.array([[1.0], [0.0], [2.0]])
    for seed in range(10):
        centers = KMedians(2, random_state=seed).fit(smallest).cluster_centers_
        assert np.abs(smallest - centers.ravel()).min(axis=1).sum() == 5e-324


def test_neighboring_floats_can_be_parted():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)]] * 5)
    model = fit_quietly(ExplainableKMeans(2, algorithm="imm", reference=X[:2]), X)
    assert model.n_leaves_ == 2
    assert list(model.labels_) == [0, 1] * 5
    assert model.tree_.threshold[0] == 1.0


def test_centers_equal_in_every_column_share_the_leaf_of_the_lowest_and_a_warning_names_them():
    X = np.random.default_rng(7).normal(size=(30, 2))
    centers = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    for algorithm in ("imm", "exgreedy", "exshallow"):
        with pytest.warns(CutwiseWarning) as warned:
            model = ExplainableKMeans(3, algorithm=algorithm, reference=centers).fit(X)
        messages = [str(w.message) for w in warned if issubclass(w.category, UnseparableCentersWarning)]
        assert len(messages) == 1
        assert "1" in messages[0]
        assert "2" in messages[0]
        assert sorted(model.tree_.cluster[model.tree_.cluster >= 0]) == [0, 1]
        assert set(model.labels_) <= {0, 1}
        assert model.cluster_centers_.shape == (3, 2)


def test_a_cluster_without_rows_keeps_its_number():
    X = np.random.default_rng(8).normal(size=(30, 2))
    centers = np.array([[0.0, 0.0], [1e6, 1e6], [0.5, 0.5]])
    model = fit_quietly(ExplainableKMeans(3, algorithm="imm", reference=centers), X)
    assert sorted(model.tree_.cluster[model.tree_.cluster >= 0]) == [0, 1, 2]
    assert set(model.labels_) == {0, 2}
    assert model.predict([[1e6, 1e6]]) == [1]
    # The others leave each side as many rows as centers: the far center gets some.
    for algorithm in ("exgreedy", "exshallow"):
        model = fit_quietly(ExplainableKMeans(3, algorithm=algorithm, reference=centers), X)
        assert set(model.labels_) == {0, 1, 2}
        assert model.predict([[1e6, 1e6]]) == [1]


def test_unit_vectors_are_parted_one_by_one():
    k = 250
    X = scipy.sparse.csr_array(scipy.sparse.identity(k))
    model = fit_quietly(ExplainableKMeans(k, algorithm="imm", reference=X.toarray()), X)
    assert model.depth_ == k - 1
    assert np.array_equal(model.labels_, np.arange(k))
    assert model.cost_ == 0


@pytest.mark.slow
def test_a_chain_deeper_than_python_recurses():
    k = 1300
    X = (1.1 ** np.arange(k))[:, None]
    model = fit_quietly(ExplainableKMeans(k, algorithm="imm", reference=X), X)
    assert model.n_leaves_ == k
    assert model.depth_ > 1000
    assert np.array_equal(model.labels_, np.arange(k))
    assert same_tree(model.tree_, pickle.loads(pickle.dumps(model)).tree_)
    assert cutwise.export_text(model).count("cluster") >= k
    assert len(model.rules()) >= k


@pytest.mark.parametrize("algorithm", ["imm", "exkmc"])
def test_two_thousand_clusters_on_a_line(algorithm):
    k = 2000
    X = np.arange(k, dtype=np.int64)[:, None] * 3
    model = fit_quietly(ExplainableKMeans(k, algorithm=algorithm, reference=X.astype(float)), X)
    assert model.n_leaves_ == k
    assert np.array_equal(model.labels_, np.arange(k))


def test_ten_thousand_rows_with_heavy_ties_are_exact():
    rng = np.random.default_rng(9)
    X = rng.integers(0, 12, (10_000, 3))
    centers = rng.integers(0, 12, (6, 3)).astype(float)
    model = fit_quietly(ExplainableKMeans(6, algorithm="imm", reference=centers), X)
    given = problem_of(model, X, costs="float")
    given = given.with_costs(given.costs.astype(np.int64))
    check_imm(model.tree_, given, exact=True)
    model = fit_quietly(ExplainableKMeans(6, algorithm="exshallow", reference=centers), X)
    check_induced(model.tree_, given, 0.03, exact=True)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("algorithm", ["auto", "cart"])
@pytest.mark.parametrize("limits", [{}, {"max_depth": 3}])
def test_values_beyond_float32_are_grown_on_as_scikit_learn_compares_them_and_without_its_warnings(algorithm, limits):
    rng = np.random.default_rng(0)
    X, large = rng.normal(size=(90, 3)), rng.choice([-1.0, 1.0], 90)
    y = (large > 0) + 2 * (X[:, 0] > 0.3)
    X[:, 2] = large
    plain = ClusterExplainer(algorithm=algorithm, **limits).fit(X, y)
    assert 2 in plain.tree_.feature
    X[:, 2] *= 1e150  # clipped to float32 these add up to infinity and to no number
    found = ClusterExplainer(algorithm=algorithm, **limits).fit(X, y)
    assert found.labels_.tolist() == plain.labels_.tolist()
    assert found.tree_.feature.tolist() == plain.tree_.feature.tolist()
    others = found.tree_.feature != 2
    assert np.array_equal(found.tree_.threshold[others], plain.tree_.threshold[others], equal_nan=True)
