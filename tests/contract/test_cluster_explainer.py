"""``ClusterExplainer``: labels from anywhere, and never less faithful than a plain decision tree of the same size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits, load_iris, load_wine, make_moons
from sklearn.tree import DecisionTreeClassifier

from cutwise import ClusterExplainer
from tests.oracle import measures
from tests.oracle.models import fit_quietly, same_tree
from tests.oracle.problem import Problem
from tests.oracle.verify import check_expansion, check_imm, check_induced

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def _blobs(k: int = 4, n: int = 160, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    return (rng.normal(size=(k, d)) * 4)[codes] + rng.normal(size=(n, d)), codes


# labels


def test_labels_may_be_texts_and_come_back_as_texts():
    X, codes = _blobs()
    names = np.array(["walnut", "ash", "oak", "beech"])
    model = fit_quietly(ClusterExplainer(), X, names[codes])
    assert list(model.classes_) == sorted(names)
    assert set(model.predict(X)) <= set(names)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.classes_[model.tree_.predict(X)], model.predict(X))


@pytest.mark.parametrize(
    "convert",
    [list, np.asarray, pd.Series, lambda y: pd.Series(y, dtype="category"), lambda y: pd.Series(y, dtype="string")],
    ids=["list", "array", "Series", "categorical", "string"],
)
def test_labels_may_come_in_any_container(convert):
    X, codes = _blobs()
    names = np.array(["a", "b", "c", "d"])[codes]
    expected, model = fit_quietly(ClusterExplainer(), X, codes), fit_quietly(ClusterExplainer(), X, convert(names))
    assert same_tree(expected.tree_, model.tree_)
    assert list(model.classes_) == ["a", "b", "c", "d"]


def test_label_values_do_not_matter_only_their_order():
    X, codes = _blobs()
    expected = fit_quietly(ClusterExplainer(), X, codes)
    for values in ([10, 20, 30, 40], [-7, 0, 5, 9], [0.0, 1.0, 2.0, 7.0], [1, 5, 6, 1000]):
        model = fit_quietly(ClusterExplainer(), X, np.array(values)[codes])
        assert same_tree(expected.tree_, model.tree_)
        assert np.array_equal(model.predict(X), np.array(values)[expected.tree_.predict(X)])


def test_noise_takes_no_part_and_is_placed_all_the_same():
    X, codes = _blobs(seed=3)
    rng = np.random.default_rng(3)
    far = rng.normal(size=(40, 3)) * 30
    noisy, labels = np.vstack([X, far]), np.concatenate([codes, np.full(40, -1)])
    for algorithm in ("auto", "imm", "exshallow"):
        clean = fit_quietly(ClusterExplainer(algorithm=algorithm), X, codes)
        model = fit_quietly(ClusterExplainer(algorithm=algorithm), noisy, labels)
        assert same_tree(clean.tree_, model.tree_), algorithm
        assert list(model.classes_) == [0, 1, 2, 3]
        assert set(model.predict(noisy)) <= {0, 1, 2, 3}
        assert model.tree_.n_node_samples[0] == len(X)


def test_text_labels_may_name_noise_like_numbers_do():
    X, codes = _blobs(seed=4)
    labels = np.array([str(code) for code in codes], dtype="U2")
    labels[:10] = "-1"
    model = fit_quietly(ClusterExplainer(), X, labels)
    assert model.classes_.tolist() == ["0", "1", "2", "3"]
    numbers = fit_quietly(ClusterExplainer(), X, labels.astype(int))
    assert same_tree(model.tree_, numbers.tree_)
    assert np.array_equal(model.labels_.astype(int), numbers.labels_)


def test_one_label_gives_one_leaf():
    X, _ = _blobs()
    for y in (np.zeros(len(X), dtype=int), np.full(len(X), "all"), np.where(np.arange(len(X)) < 9, -1, 5)):
        model = fit_quietly(ClusterExplainer(), X, y)
        assert model.n_leaves_ == 1
        assert set(model.predict(X)) == {y[-1]}


def test_every_cluster_has_a_leaf():
    """With "auto" too, by a few more leaves where the tree that agrees best would leave a small cluster without one."""
    for seed in range(10):
        X, codes = _blobs(k=6, n=60, d=2, seed=seed)
        for algorithm in ("imm", "exgreedy", "exshallow"):
            tree = fit_quietly(ClusterExplainer(algorithm=algorithm), X, codes).tree_
            assert set(tree.cluster[tree.cluster >= 0]) == set(range(6)), (seed, algorithm)
        tree = fit_quietly(ClusterExplainer(), X, codes).tree_
        assert set(tree.cluster[tree.cluster >= 0]) == set(range(6)), seed
        assert 6 <= tree.n_leaves <= 12


# costs and centers


def _problem(X, codes, centers, costs, weights=None) -> Problem:
    weights = np.ones(len(X), dtype=np.int64) if weights is None else weights.astype(np.int64)
    integer = np.full(X.shape[1], X.dtype.kind == "i")
    return Problem(X.astype(float), np.asarray(centers, float), codes, costs.astype(np.int64), weights, integer)


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc"])
def test_any_cost_table_is_searched_like_distances(algorithm):
    rng = np.random.default_rng(5)
    for seed in range(20):
        n, k, d = int(rng.integers(10, 40)), int(rng.integers(2, 6)), int(rng.integers(1, 4))
        X = rng.integers(0, 8, (n, d))
        codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
        centers = rng.integers(0, 16, (k, d)) / 2
        costs = rng.integers(0, 20, (n, k)).astype(float)
        weights = rng.integers(1, 4, n).astype(float)

        def fit(max_leaves=None, X=X, codes=codes, centers=centers, costs=costs, weights=weights):
            model = ClusterExplainer(max_leaves=max_leaves, algorithm=algorithm)
            return fit_quietly(model, X, codes, centers=centers, costs=costs, sample_weight=weights)

        given = _problem(X, codes, centers, costs, weights)
        if algorithm == "imm":
            check_imm(fit().tree_, given, exact=True)
        elif algorithm == "exkmc":
            check_expansion([fit(m).tree_ for m in range(k, k + 4)], given, exact=True)
        else:
            check_induced(fit().tree_, given, None if algorithm == "exgreedy" else 0.03, exact=True)
        assert seed >= 0


def test_without_centers_costs_are_distances_to_the_cluster_means():
    X, codes = _blobs(seed=6)
    means = np.array([X[codes == j].mean(axis=0) for j in range(4)])
    for algorithm in ("imm", "exgreedy", "exshallow", "exkmc"):
        plain = fit_quietly(ClusterExplainer(algorithm=algorithm), X, codes)
        given = fit_quietly(ClusterExplainer(algorithm=algorithm), X, codes, centers=means)
        assert np.array_equal(plain.tree_.feature, given.tree_.feature)
        assert np.array_equal(plain.predict(X), given.predict(X))


def test_the_cost_ratio_is_nan_when_the_reference_costs_nothing():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0], [5.0, 5.0]], 4, axis=0)
    model = fit_quietly(ClusterExplainer(), X, np.repeat([0, 1, 2], 4))
    assert np.isnan(model.cost_ratio_)


def test_mistakes_are_counted_against_the_given_labels():
    from cutwise import metrics

    X, codes = _blobs(seed=7)
    model = fit_quietly(ClusterExplainer(), X, codes)
    assert metrics.n_mistakes(model.tree_, X, codes) == measures.n_mistakes(model.tree_, X, codes)


# at least as faithful as a decision tree


def _two_dimensional() -> list[str]:
    return [name for name in ("aggregation", "flame", "halfmoons", "pathbased") if (DATA / f"{name}.npz").exists()]


def _assert_not_worse(X, y, max_leaves=None, weights=None) -> None:
    model = fit_quietly(ClusterExplainer(max_leaves=max_leaves), X, y, sample_weight=weights)
    y = np.asarray(y)
    part = y != -1 if y.dtype.kind in "if" else np.ones(len(y), dtype=bool)
    w = np.ones(len(y)) if weights is None else np.asarray(weights)
    ours = np.average(model.predict(X)[part] == y[part], weights=w[part])
    if model.n_leaves_ < 2:
        return
    for seed in range(4):
        tree = DecisionTreeClassifier(max_leaf_nodes=model.n_leaves_, random_state=seed)
        tree.fit(X[part], y[part], sample_weight=w[part])
        theirs = np.average(tree.predict(X[part]) == y[part], weights=w[part])
        assert ours >= theirs - 1e-12, f"{model.n_leaves_} leaves: {ours} against {theirs} (random_state={seed})"


@pytest.mark.parametrize("extra", [0, 1, 5, 20])
def test_not_worse_than_a_decision_tree_on_digits(extra):
    X, y = (part[:900] for part in load_digits(return_X_y=True))
    _assert_not_worse(X, y, 10 + extra)
    labels = KMeans(10, n_init=1, random_state=extra).fit_predict(X)
    _assert_not_worse(X, labels, 10 + extra)


@pytest.mark.data
@pytest.mark.skipif(not _two_dimensional(), reason="the data folder is not beside the checkout")
@pytest.mark.parametrize("name", ["aggregation", "flame", "halfmoons", "pathbased"])
def test_not_worse_than_a_decision_tree_on_hdbscan_labels(name):
    X = np.load(DATA / f"{name}.npz")["X"]
    for smallest in (5, 10, 20):
        y = HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(X)
        k = len(set(y) - {-1})
        if k < 1:
            continue
        for max_leaves in (None, k + 2, 2 * k + 3, 30):
            if max_leaves is None or max_leaves >= k:
                _assert_not_worse(X, y, max_leaves)


def test_not_worse_than_a_decision_tree_on_xor():
    rng = np.random.default_rng(8)
    X = rng.random((400, 2))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)
    for max_leaves in (None, 3, 4, 5, 8, 16):
        _assert_not_worse(X, y, max_leaves)
    four = fit_quietly(ClusterExplainer(max_leaves=8), X, y)
    assert (four.predict(X) == y).mean() > 0.9
    square = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert (fit_quietly(ClusterExplainer(max_leaves=4), square, [0, 1, 1, 0]).predict(square) == [0, 1, 1, 0]).all()


@pytest.mark.parametrize("load", [load_iris, load_wine], ids=["iris", "wine"])
def test_not_worse_than_a_decision_tree_on_bundled_classes(load):
    X, y = load(return_X_y=True)
    for max_leaves in (None, 4, 6, 10):
        _assert_not_worse(X, y, max_leaves)
        _assert_not_worse(X.astype(np.float32), y, max_leaves)


def test_not_worse_than_a_decision_tree_on_moons_noise_and_weights():
    rng = np.random.default_rng(9)
    X, y = make_moons(300, noise=0.2, random_state=0)
    for max_leaves in (None, 3, 5, 9, 20):
        _assert_not_worse(X, y, max_leaves)
        _assert_not_worse(X, y, max_leaves, rng.integers(1, 6, 300).astype(float))
    for seed in range(20):
        n, d, k = int(rng.integers(20, 80)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
        X = rng.integers(0, 10, (n, d)).astype(float)
        y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
        _assert_not_worse(X, y, k + seed % 6)


def test_the_growth_that_auto_took_is_said():
    X, codes = _blobs(seed=10)
    model = fit_quietly(ClusterExplainer(), X, codes)
    assert isinstance(model.growth_, str)
    assert model.growth_ != "auto"
