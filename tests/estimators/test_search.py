"""``algorithm="search"``, the default: cheaper than the papers' trees, or as cheap, whatever else is asked for."""

import dataclasses
import itertools
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from cutwise import Batches, ExplainableKMeans, ExplainableKMedians, cost_curve, load_model
from cutwise.exceptions import EmptyClusterWarning, InvalidInputError
from cutwise.metrics import imm_certificate, weighted_average_depth, weighted_average_explanation_size
from cutwise.tree.refine import SearchCheaper

PAPERS = ("imm", "exgreedy", "exshallow", "exkmc")
DIGITS = load_digits().data


@pytest.mark.parametrize("estimator", [ExplainableKMeans, ExplainableKMedians])
@pytest.mark.parametrize(
    ("X", "k", "scaled"),
    [
        *((load_iris().data, 4, scaled) for scaled in (False, True)),
        *((load_wine().data, 5, scaled) for scaled in (False, True)),
        (DIGITS[:400], 10, False),
        pytest.param(DIGITS[:600], 10, True, marks=pytest.mark.slow),
    ],
)
def test_a_searched_tree_costs_no_more_than_any_papers_tree_on_the_same_reference(estimator, X, k, scaled):
    params = {"preprocessor": StandardScaler()} if scaled else {}
    searched = estimator(k, random_state=0, **params).fit(X)
    for algorithm in PAPERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyClusterWarning)
            other = estimator(k, algorithm=algorithm, random_state=0, **params).fit(X)
        assert other.reference_.cost == searched.reference_.cost
        assert searched.cost_ <= other.cost_ * (1 + 1e-12)
    assert searched.cost_ == pytest.approx(searched.search_.cost, rel=1e-9)
    assert searched.search_.cost <= searched.search_.start_cost
    assert searched.n_leaves_ == k
    assert sorted(searched.tree_.cluster[searched.tree_.leaves]) == list(range(k))


FORMS = {
    "plain": lambda X, rng: X,
    "integers": lambda X, rng: np.round(X * 2).astype(np.int64),
    "float32": lambda X, rng: X.astype(np.float32),
    "sparse": lambda X, rng: sparse.csr_array(np.where(rng.random(X.shape) < 0.6, 0.0, np.round(X, 1))),
    "far rows": lambda X, rng: np.where(rng.random((len(X), 1)) < 0.02, 1e9, X),
    "an offset": lambda X, rng: X + 1e9,
    "rows thrice": lambda X, rng: np.repeat(X, 3, axis=0),
    "columns of many sizes": lambda X, rng: X * 10.0 ** rng.integers(-12, 12, size=X.shape[1]),
}


@pytest.mark.parametrize("estimator", [ExplainableKMeans, ExplainableKMedians])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 5))])
def test_no_paper_has_a_cheaper_tree_whatever_the_table(estimator, form, seed):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(12, 120)), int(rng.integers(1, 7)), int(rng.integers(1, 8))
    X = FORMS[form](rng.normal(size=(k + 2, d))[rng.integers(k + 2, size=n)] * 2 + rng.normal(size=(n, d)), rng)
    n = X.shape[0]
    weights = [None, rng.integers(0, 4, size=n), rng.random(n)][seed % 3]
    dense = X.toarray() if sparse.issparse(X) else X
    distinct = np.unique(dense if weights is None else dense[weights > 0], axis=0)
    k = min(k, len(distinct))
    centers = distinct[rng.choice(len(distinct), k, replace=False)].astype(float)
    for max_leaves in (k, k + int(rng.integers(1, 6))):
        params = {"max_leaves": max_leaves, "reference": centers}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            searched = estimator(k, **params).fit(X, sample_weight=weights)
            papers = [estimator(k, algorithm=name, **params).fit(X, sample_weight=weights) for name in PAPERS]
        assert searched.cost_ <= min(paper.cost_ for paper in papers) * (1 + 1e-12)
        if max_leaves == k:
            assert searched.n_leaves_ == k
            assert (searched.tree_.n_node_samples[searched.tree_.leaves] > 0).all()


def test_a_growth_that_ends_early_is_no_hindrance():
    # By these centers all rows are served best by one leaf, so that ExKMC never splits.
    X, centers = np.arange(12.0)[:, None], np.array([[5.5], [100.0], [200.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClusterWarning)
        assert ExplainableKMeans(3, algorithm="exkmc", max_leaves=5, reference=centers).fit(X).n_leaves_ == 1
        assert ExplainableKMeans(3, max_leaves=5, reference=centers).fit(X).n_leaves_ >= 3


@pytest.mark.parametrize(
    ("rows", "centers"),
    [
        ("32 01 01 01 31 10 20 33 00 32 23 02", [[0.0, 1.0], [2.5, 0.5], [0.5, 3.5]]),
        ("20 13 32 01 11 23 12 11 13 01", [[1.5, 1.0], [3.0, 1.0], [2.0, 0.0], [0.0, 3.0], [1.0, 0.0]]),
    ],
)
def test_more_leaves_are_searched_where_a_grown_tree_has_leaves_without_rows(rows, centers):
    X, params = np.array([list(row) for row in rows.split()], dtype=float), {"reference": np.array(centers)}
    params["max_leaves"] = len(centers) + 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClusterWarning)
        searched = ExplainableKMeans(len(centers), **params).fit(X)
        papers = [ExplainableKMeans(len(centers), algorithm=name, **params).fit(X) for name in PAPERS]
    assert searched.cost_ <= min(paper.cost_ for paper in papers) * (1 + 1e-12)


def test_a_curve_ends_with_the_fit_of_its_size_and_knows_that_of_a_fitted_model():
    def model(max_leaves=None):
        return ExplainableKMeans(6, max_leaves=max_leaves, random_state=0)

    X = DIGITS[:700]
    fitted = model(8).fit(X)
    curve = cost_curve(fitted, X, max_leaves=12)
    assert curve.n_leaves[0] == 6
    assert (np.diff(curve.cost) < 0).all()
    fits = {size: model(size).fit(X) for size in curve.n_leaves.tolist()}
    for size in (6, 8, 12):
        assert curve.model(size).tree_.equals(fits[size].tree_)
    for size, cost in zip(curve.n_leaves.tolist(), curve.cost, strict=True):
        assert fits[size].cost_ <= cost


def test_longer_searches_find_no_dearer_trees():
    costs = [ExplainableKMeans(10, search_effort=effort, random_state=0).fit(DIGITS).cost_ for effort in (0, 1, 2)]
    assert costs == sorted(costs, reverse=True)
    assert costs[2] < costs[0]


def test_no_effort_is_exshallows_tree():
    nothing = ExplainableKMeans(5, search_effort=0, random_state=0).fit(DIGITS)
    assert nothing.tree_.equals(ExplainableKMeans(5, algorithm="exshallow", random_state=0).fit(DIGITS).tree_)
    assert not hasattr(nothing, "search_")


def test_bounds_on_the_size_of_rules_are_kept():
    plain = ExplainableKMeans(10, algorithm="exshallow", random_state=0).fit(DIGITS)
    size = (
        weighted_average_explanation_size(plain.tree_, DIGITS),
        weighted_average_depth(plain.tree_, DIGITS),
    )
    bounded = ExplainableKMeans(10, max_size=np.array(size), random_state=0).fit(DIGITS)
    for same in ("exshallow", pd.Series(size)):
        assert bounded.tree_.equals(ExplainableKMeans(10, max_size=same, random_state=0).fit(DIGITS).tree_)
    assert weighted_average_explanation_size(bounded.tree_, DIGITS) <= size[0]
    assert weighted_average_depth(bounded.tree_, DIGITS) <= size[1]
    assert bounded.cost_ <= plain.cost_


def test_a_record_of_the_search_is_kept_in_files(tmp_path):
    model = ExplainableKMeans(6, random_state=0).fit(DIGITS)
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").search_ == model.search_
    assert not hasattr(model.set_params(algorithm="imm").fit(DIGITS), "search_")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"search_effort": -1}, "search_effort"),
        ({"size_penalty": "much"}, "size_penalty"),
        ({"max_size": (1, 2, 3)}, "max_size"),
        ({"max_size": "short"}, "exshallow"),
    ],
)
def test_what_cannot_be_meant_is_refused(params, words):
    with pytest.raises(InvalidInputError, match=words):
        ExplainableKMeans(3, **params).fit(DIGITS)


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
@pytest.mark.parametrize("seed", range(3))
def test_no_price_of_conditions_removes_a_cluster(seed):
    X = np.random.default_rng(seed).normal(size=(60, 2))
    reference = [[0.0, 0.0], [50.0, 50.0], [0.5, 80.0]]  # one tree of the papers ends with a leaf less
    model = ExplainableKMeans(3, reference=reference, size_penalty=1.0).fit(X)
    assert len(np.unique(model.labels_)) == model.n_leaves_ == 3


def test_one_row_far_away_hides_no_better_tree():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(10, 16))[rng.integers(10, size=9_000)] + rng.normal(size=(9_000, 16))
    near = ExplainableKMeans(10, random_state=0).fit(X)
    far = np.eye(1, 16) * 1e9
    centers = np.vstack([near.reference_.centers, far])
    found = ExplainableKMeans(11, reference=centers).fit(np.vstack([X, far]))
    assert found.cost_ == pytest.approx(near.cost_)
    assert found.cost_ < 0.99 * found.search_.start_cost


def test_groups_far_apart_exchange_leaves_and_bounds_that_do_not_bind_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3)) * 3
    X[400:, 0] += 1e5
    uneven, even = np.vstack([X[:6], X[400:402]]), np.vstack([X[:4], X[400:404]])
    costs = [ExplainableKMeans(8, reference=centers).fit(X).cost_ for centers in (uneven, even)]
    assert costs[0] <= 1.01 * costs[1]
    model = ExplainableKMeans(9, random_state=0).fit(X)
    assert model.cost_ < model.search_.start_cost
    for params in ({"max_depth": model.depth_}, {"min_samples_leaf": 2}, {"max_size": 9}, {"search_effort": 2}):
        assert ExplainableKMeans(9, random_state=0, **params).fit(X).cost_ <= (1 + 1e-12) * model.cost_
    front = model.front(X).to_dict()
    assert min(c for c, n in zip(front["cost"], front["n_leaves"], strict=True) if n == 9) <= (1 + 1e-12) * model.cost_


def test_groups_far_apart_in_a_column_that_rules_may_not_use_are_not_cut_apart_there():
    X = np.random.default_rng(1).normal(size=(600, 4))
    X[300:, [0, 2]] += -5e5, 2e6
    X[:300, 0] += 5e5  # 0 lies between the groups
    for columns in ([1, 2, 3], [1, 3]):
        found = ExplainableKMeans(6, cut_features=columns, random_state=0).fit(X)
        assert set(found.tree_.feature[found.tree_.feature >= 0]) <= set(columns)
        greedy = ExplainableKMeans(6, cut_features=columns, random_state=0, algorithm="exgreedy").fit(X)
        assert found.cost_ < greedy.cost_


def test_a_far_center_without_rows_is_the_same_in_batches():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    model = ExplainableKMeans(6, reference=np.vstack([X[:5], [[1e3, 2e3, 3e3]]]))
    whole = model.fit(X).tree_
    assert model.fit(Batches([X[:700], X[700:]])).tree_.equals(whole)


def test_leaves_of_far_clusters_without_rows_are_used_elsewhere():
    X = np.random.default_rng(0).normal(size=(40, 2))
    spread, single = np.vstack([X, X + [1e6, 0]]), [[0, 0], [0, -1e5], [0, -1e5 - 2]]
    one = ExplainableKMeans(3, reference=single).fit(X)  # all rows are in one cluster
    assert one.cost_ < one.search_.start_cost
    both = ExplainableKMeans(6, reference=[*single, [0, -1e5 - 4], [0, -1e5 - 6], [1e6, 0]]).fit(spread)
    assert np.unique(both.predict(spread[40:])).size > 1  # where most is saved, not beside the other group alone


def test_a_tree_that_keeps_our_own_reference_ends_the_search_of_a_wide_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 300)) + 8 * rng.normal(size=(4, 300))[np.arange(200) % 4]
    found = ExplainableKMeans(4, random_state=0).fit(X)
    assert (found.labels_ == found.reference_.labels).all()
    assert found.search_.n_starts == len(PAPERS)
    assert found.search_.path == []
    assert found.search_.cost == found.search_.start_cost == pytest.approx(found.reference_.cost, rel=1e-12)
    lazily = ExplainableKMeans(4, random_state=0).fit(Batches(lambda: iter((X[:90], X[90:]))))
    assert lazily.tree_.equals(found.tree_)
    assert lazily.search_ == found.search_
    curve = cost_curve(found, X)
    assert curve.n_leaves.tolist() == [4]
    assert curve.model(4).tree_.equals(ExplainableKMeans(4, random_state=0, max_leaves=9).fit(X).tree_)
    assert curve.model(4).search_ == found.search_
    own = {"search_effort": 2, "size_penalty": 0.01, "max_size": 3}
    for name, value in (own | {"reference": found.reference_.centers}).items():
        assert ExplainableKMeans(4, random_state=0, **{name: value}).fit(X).search_.n_starts > len(PAPERS)
    assert ExplainableKMeans(4, random_state=0).fit(X[:, :200]).search_.n_starts > len(PAPERS)


@pytest.mark.parametrize("seed", [74, 1068])  # IMM's tree keeps the reference, and ExKMC's costs less
def test_a_search_that_ends_at_the_reference_is_no_dearer_than_any_papers_tree(seed):
    X = np.pad(np.random.default_rng(seed).integers(0, 12, size=(20, 2)), ((0, 0), (0, 300)))
    searched, imm, exkmc = (
        ExplainableKMeans(5, algorithm=name, n_init=1, random_state=0).fit(X) for name in ("search", "imm", "exkmc")
    )
    assert (imm.labels_ == imm.reference_.labels).all()
    assert exkmc.cost_ < imm.cost_
    assert searched.search_.path == []
    assert searched.cost_ == pytest.approx(exkmc.cost_, rel=1e-12)


@pytest.mark.parametrize(("distance", "n_grown"), [(12, 1), (8, 2)])  # ExShallow's tree, or only IMM's, keeps all rows
def test_a_large_wide_table_needs_no_further_tree_than_one_that_keeps_the_reference(monkeypatch, distance, n_grown):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(400, 280)), rng.integers(0, 7, 400)
    X[np.arange(len(X)), groups * 40] += distance  # one column tells each group from all others
    monkeypatch.setattr("cutwise.estimators.explainable_kmeans.QUICK_VALUES", X.size - 1)
    searched, exgreedy, exkmc = (
        ExplainableKMeans(7, algorithm=name, random_state=0).fit(X) for name in ("search", "exgreedy", "exkmc")
    )
    assert (searched.labels_ == searched.reference_.labels).all()
    assert searched.search_.n_starts == n_grown
    assert searched.cost_ <= min(exgreedy.cost_, exkmc.cost_)
    monkeypatch.setattr("cutwise.estimators.explainable_kmeans.QUICK_VALUES", X.size)
    whole = ExplainableKMeans(7, random_state=0).fit(X)
    assert whole.search_.n_starts == len(PAPERS)
    assert whole.cost_ == searched.cost_


@pytest.mark.parametrize("weighted", [False, True])
def test_a_large_table_needs_no_search_if_merged_clusters_cost_more_than_all(monkeypatch, weighted):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 6, 600)
    X = 20 * rng.normal(size=(6, 5))[groups] + rng.normal(size=(600, 5))
    weights = rng.integers(1, 5, 600) / 4 if weighted else None
    whole = ExplainableKMeans(6, random_state=0).fit(X, sample_weight=weights)
    assert whole.search_.n_starts > len(PAPERS)
    monkeypatch.setattr("cutwise.estimators.explainable_kmeans.QUICK_VALUES", X.size - 1)
    model = ExplainableKMeans(6, random_state=0).fit(X, sample_weight=weights)
    assert (model.labels_ == model.reference_.labels).all()
    assert model.search_.n_starts == 1
    assert model.cost_ == pytest.approx(whole.cost_, rel=1e-12)
    if not weighted:
        lazy = ExplainableKMeans(6, random_state=0).fit(Batches(lambda: iter((X[:90], X[90:]))))
        assert lazy.tree_.equals(model.tree_)
        assert lazy.search_ == model.search_
    # A small cluster is merged cheaply, and another could be divided instead.
    assert ExplainableKMeans(7, random_state=0).fit(np.vstack([X, X[:1] + 10])).search_.n_starts > len(PAPERS)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of other processes")
def test_an_interrupt_ends_a_long_search_at_once():
    code = (
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # shells have background jobs ignore it
        "from sklearn.datasets import load_digits\n"
        "from cutwise import ExplainableKMeans\n"
        "model = ExplainableKMeans(10, search_effort=1e5, n_init=1, random_state=0, n_jobs=2, verbose=2)\n"
        "model.fit(load_digits().data[:500])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        while "tree" not in (line := process.stderr.readline()) and "leaves" not in line:
            assert line or process.poll() is None
        time.sleep(0.5)  # into the search itself
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in said


@pytest.mark.parametrize("estimator", [ExplainableKMeans, ExplainableKMedians])
def test_a_front_holds_the_trees_that_none_beats_in_cost_and_size(estimator, tmp_path):
    X = DIGITS[:400]
    fitted = estimator(8, random_state=0).fit(X)
    front = fitted.front(X)
    assert (np.diff(front.waes) > 0).all()
    assert (np.diff(front.cost) < 0).all()
    assert (front.n_leaves >= 8).all()
    for i in (0, len(front) // 2, len(front) - 1):
        model = front.model(i)
        assert model.cost_ == pytest.approx(front.cost[i], rel=1e-12)
        assert weighted_average_explanation_size(model.tree_, X) == pytest.approx(front.waes[i])
        assert weighted_average_depth(model.tree_, X) == pytest.approx(front.wad[i])
        model.save(tmp_path / "model.json")
        assert load_model(tmp_path / "model.json").tree_.equals(model.tree_)
    # Trees that one could have had are on it, or beaten by one that is.
    for other in (fitted, *(estimator(8, algorithm=name, random_state=0).fit(X) for name in ("imm", "exshallow"))):
        waes = weighted_average_explanation_size(other.tree_, X)
        assert ((front.waes <= waes + 1e-12) & (front.cost <= other.cost_ * (1 + 1e-12))).any()
    assert front.shortest(front.cost_ratio[1] - 1 + 1e-9) == 1
    with pytest.raises(InvalidInputError, match=r"within 0.001 %.*Allow more leaves"):
        front.shortest(1e-5)
    with pytest.raises(InvalidInputError, match=f"from 0 to {len(front) - 1}"):
        front.model(len(front))


@pytest.mark.parametrize("seed", [13, 24])
def test_a_front_beats_or_has_the_tree_of_the_fit_where_clusters_are_far_apart(seed):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 9, 400)
    X = rng.normal(size=(9, 3))[z] * 2 + rng.normal(size=(400, 3))
    X[z < 2, 0] += 1e4
    X[z == 3, 1] -= 1e6
    model = ExplainableKMeans(7, random_state=0, n_init=1).fit(X)
    front, own = model.front(X), weighted_average_explanation_size(model, X)
    assert ((front.cost <= model.cost_ * (1 + 1e-9)) & (front.waes <= own * (1 + 1e-9))).any()


def test_a_front_beats_or_has_the_tree_of_a_fit_with_bounds_on_size():
    X = np.random.default_rng(8).normal(size=(300, 4))
    for bound in (2.0, "exshallow"):
        model = ExplainableKMeans(6, max_size=bound, n_init=1, random_state=0).fit(X)
        front, own = model.front(X), weighted_average_explanation_size(model, X)
        assert ((front.cost <= model.cost_ * (1 + 1e-9)) & (front.waes <= own * (1 + 1e-9))).any(), bound


def test_trees_of_a_front_are_the_searchs_whatever_grew_the_tree_of_the_fit():
    model = ExplainableKMeans(6, algorithm="imm", random_state=0).fit(DIGITS[:300])
    shortest = model.front(DIGITS[:300]).model(0)
    assert shortest.algorithm == "search"
    with pytest.raises(InvalidInputError, match="for trees grown by IMM"):
        imm_certificate(shortest)
    tuned = model.set_params(algorithm="exshallow", depth_penalty="auto", target_waes=3.0)
    assert tuned.front(DIGITS[:300]).model(0).algorithm == "search"
    with pytest.raises(InvalidInputError, match="target_waes=3"):
        model.set_params(algorithm="search").front(DIGITS[:300])


def test_a_tree_that_costs_nothing_is_close_to_a_reference_that_does():
    X = np.repeat([[1.0], [5.0], [9.0]], 5, axis=0)
    front = ExplainableKMeans(3, random_state=0).fit(X).front(X)
    assert front.reference_cost == front.cost[-1] == 0
    assert front.cost[front.shortest(0.01)] == 0
    with pytest.raises(InvalidInputError, match="costs 2, and the reference nothing"):
        dataclasses.replace(front, cost=front.cost + 2).shortest(0.01)


def test_more_leaves_never_cost_more():
    """Searches go on from trees of the same sizes, whatever the most leaves are."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 3)) + 2 * rng.integers(0, 3, (60, 1))
        costs = [ExplainableKMeans(4, max_leaves=m, n_init=1, random_state=0).fit(X).cost_ for m in range(4, 15)]
        assert all(more <= fewer * (1 + 1e-12) for fewer, more in itertools.pairwise(costs))


@pytest.mark.parametrize("k", [3, 5, 8])
def test_more_leaves_go_on_where_only_two_cuts_together_gain_something(k):
    X = load_iris().data.astype(np.float32)
    for max_leaves in (2 * k, 5 * k):
        model = ExplainableKMeans(k, max_leaves=max_leaves, random_state=0).fit(X)
        ended = ExplainableKMeans(k, algorithm="exgreedy", max_leaves=max_leaves, random_state=0).fit(X)
        cart = DecisionTreeClassifier(max_leaf_nodes=max_leaves, random_state=0).fit(X, model.reference_.labels)
        parts = [X[cart.predict(X) == part] for part in range(k)]
        assert model.cost_ <= sum(((rows - rows.mean(0)) ** 2).sum(dtype=np.float64) for rows in parts) * (1 + 1e-6)
    assert ended.n_leaves_ < max_leaves
    assert model.cost_ratio_ <= 1 + 1e-9 < ended.cost_ratio_


@pytest.mark.parametrize("seed", [6, 8, 9])
def test_the_cheapest_tree_of_a_front_costs_no_more_than_that_of_a_fit_with_as_many_leaves(seed):
    X = np.random.default_rng(seed).normal(size=(100, 4))
    front = ExplainableKMeans(4, random_state=0).front(X)
    assert front.cost[-1] <= ExplainableKMeans(4, max_leaves=8, random_state=0).fit(X).cost_ * (1 + 1e-9)


def test_a_front_searches_at_few_of_many_sizes_and_measures_all_their_trees(monkeypatch):
    sizes, search = [], SearchCheaper.cheaper_clusters
    monkeypatch.setattr(
        SearchCheaper, "cheaper_clusters", lambda own, tree: sizes.append(tree.tree.n_leaves) or search(own, tree)
    )
    X = np.random.default_rng(0).normal(size=(300, 3))
    front = ExplainableKMeans(4, random_state=0).front(X, max_leaves=60)
    assert sizes[:3] == [8, 16, 32]  # those of a fit first
    assert (min(sizes), len(set(sizes))) == (5, 17)
    assert max(front.n_leaves) > 25
    models = [front.model(i) for i in range(len(front))]
    assert front.cost.tolist() == [model.cost_ for model in models]
    assert front.waes == pytest.approx([weighted_average_explanation_size(m, X) for m in models], rel=1e-12)
    assert front.wad == pytest.approx([weighted_average_depth(m, X) for m in models], rel=1e-12)


def test_fronts_count_all_that_is_asked_of_a_category_as_one_condition():
    rng, n = np.random.default_rng(0), 900
    z = rng.integers(0, 4, n)
    X = pd.DataFrame(
        {
            "town": np.array(list("abcdefgh"))[(2 * z + rng.integers(0, 3, n)) % 8],
            "visits": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n) + 2 * z),
            "age": rng.normal(size=n) + z,
        }
    )
    front = ExplainableKMeans(4, random_state=0).fit(X).front(X)
    models = [front.model(i) for i in range(len(front))]
    assert len(models) > 2
    assert front.waes == pytest.approx([weighted_average_explanation_size(m, X) for m in models], rel=1e-12)
    assert front.wad == pytest.approx([weighted_average_depth(m, X) for m in models], rel=1e-12)
    assert (np.diff(front.waes) > 0).all()
    assert (np.diff(front.cost) < 0).all()
