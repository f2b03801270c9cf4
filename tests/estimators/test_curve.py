"""Every point of a cost curve is a fit of that size, to the bit, though one fit made them all."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from cutwise import ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans, ExplainableKMedians, cost_curve
from cutwise.baselines import CART, KDTree
from cutwise.exceptions import InvalidInputError
from cutwise.tree.recipes import grow_on
from cutwise.tree.refine import SearchCheaper
from tests.each import each

X = load_wine().data

# A short exkmc tree may leave a cluster without rows, and says so.
pytestmark = pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")


def assert_same(curve, fit):
    """Compare every point with the fit of its size."""
    for i, size in enumerate(curve.n_leaves.tolist()):
        alone, point = fit(size), curve.model(size)
        assert alone.n_leaves_ == point.n_leaves_ == size
        assert point.tree_.equals(alone.tree_)
        assert curve.cost[i] == alone.cost_ == point.cost_
        assert curve.surrogate_cost[i] == alone.surrogate_cost_
        assert curve.cost_ratio[i] == alone.cost_ratio_
        assert curve.reference_cost == alone.reference_.cost
        assert np.array_equal(point.labels_, alone.labels_)
        assert str(point.rules()) == str(alone.rules())
        weight = sum(c.share * c.purity for c in alone.rules() if c.size)
        assert curve.agreement[i] == pytest.approx(weight, abs=1e-12)
        assert point.max_leaves == alone.max_leaves


@pytest.mark.parametrize("expansion", ["exkmc", "expand"])
@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exshallow", "exkmc"])
def test_every_point_is_a_fit_of_that_size(algorithm, expansion):
    options = {"algorithm": algorithm, "expansion": expansion, "preprocessor": StandardScaler(), "random_state": 0}
    curve = cost_curve(ExplainableKMeans(4, n_init=2, **options), X, max_leaves=10)
    fits = {size: ExplainableKMeans(4, n_init=2, max_leaves=size, **options).fit(X) for size in range(4, 11)}
    # The cheapest tree of a growth may have fewer leaves than it may have: then there is no point of that size.
    assert curve.n_leaves.tolist() == sorted({fit.n_leaves_ for fit in fits.values()})
    assert_same(curve, lambda size: fits[size])


@pytest.mark.parametrize("unit", [0.5, 1])
def test_weights_are_those_of_the_fit(unit):
    weights = np.random.default_rng(0).integers(0, 4, len(X)) * unit
    model = ExplainableKMeans(3, n_init=2, random_state=0)
    curve = cost_curve(model, X, max_leaves=6, sample_weight=weights)
    assert_same(curve, lambda size: clone(model).set_params(max_leaves=size).fit(X, sample_weight=weights))


def test_the_order_of_rows_with_fractions_for_weights_changes_no_bit():
    rng = np.random.default_rng(0)
    weights, order = rng.integers(1, 50, len(X)) / 10, rng.permutation(len(X))
    model = ExplainableKMeans(3, algorithm="exkmc", reference=X[[0, 60, 150]])
    curve = cost_curve(model, X, sample_weight=weights)
    assert cost_curve(model, X[order], sample_weight=weights[order]).to_dict() == curve.to_dict()


@pytest.mark.parametrize("seed", [3, 5, 6])
def test_more_leaves_never_cost_more_where_centers_are_equal(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-20, 20, size=(50, 2)) / 10
    centers = rows[rng.integers(0, 50, 44)]
    short, long = (ExplainableKMeans(44, reference=centers, max_leaves=most).fit(rows) for most in (44, 45))
    assert long.cost_ <= short.cost_
    assert cost_curve(short, rows, max_leaves=45).model(short.n_leaves_).tree_.equals(short.tree_)


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_costs_fall_far_from_zero_too(seed):
    rows = np.random.default_rng(seed).normal(size=(150, 2)) + 1e12
    model = ExplainableKMeans(3, n_init=1, random_state=0)
    curve, front = cost_curve(model, rows, max_leaves=15), model.front(rows, max_leaves=12)
    assert (np.diff(curve.cost) < 0).all()
    assert (np.diff(front.cost) < 0).all()


@pytest.mark.parametrize("seed", [2, pytest.param(6, marks=pytest.mark.slow), 7])  # of three leaves IMM's, or too dear
def test_a_search_goes_on_from_trees_of_a_size_once(seed, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(1_000, 66))
    model, searched = ExplainableKMeans(3, n_init=1, random_state=seed), []
    search = SearchCheaper.cheaper_clusters
    monkeypatch.setattr(
        SearchCheaper, "cheaper_clusters", lambda self, start: (searched.append(start), search(self, start))[1]
    )
    curve = cost_curve(model, rows, max_leaves=14)
    sizes = [start.tree.n_leaves for start in searched]
    assert sizes == sorted(sizes)
    assert set(sizes) == {6, 12}
    assert len(set(map(id, searched))) == len(searched) <= 6
    monkeypatch.undo()
    for size in curve.n_leaves[np.isin(curve.n_leaves, [3, 5, 6, 7, 12, 14])]:  # searched there, between and after
        assert curve.model(size).tree_.equals(clone(model).set_params(max_leaves=size).fit(rows).tree_)


@pytest.mark.parametrize("seed", [9, 12])  # IMM's tree with twelve leaves is cheapest, and no step improves it
def test_where_the_cheapest_tree_cannot_be_improved_another_start_is_taken(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(6, 4))[rng.integers(0, 6, 400)] * 3 + rng.normal(size=(400, 4))
    rows = rows.round(2)
    centers = KMeans(6, n_init=1, init=rows[rng.integers(0, 400, 6)]).fit(rows).cluster_centers_
    model = ExplainableKMeans(6, reference=centers, max_leaves=12)
    grown = [clone(model).set_params(algorithm=each).fit(rows) for each in ("imm", "exgreedy", "exshallow", "exkmc")]
    assert model.fit(rows).cost_ < min(each.cost_ for each in grown) * (1 - 1e-4)


@pytest.mark.parametrize("algorithm", ["auto", "imm", "exkmc", "expand", "cart"])
def test_given_clusters_have_a_curve_too(algorithm):
    y = np.array(["a", "b", "c"])[load_wine().target]
    curve = cost_curve(ClusterExplainer(algorithm=algorithm), X, y, max_leaves=7)
    assert_same(curve, lambda size: ClusterExplainer(algorithm=algorithm, max_leaves=size).fit(X, y))
    last = curve.model(int(curve.n_leaves[-1]))
    assert last.agreement_ == pytest.approx(curve.agreement[-1])
    assert last.candidates_[last.growth_] == last.agreement_


def test_where_sizes_are_chosen_anew_a_few_points_come_from_one_growth(monkeypatch):
    from cutwise.estimators import training

    few = load_digits().target < 5
    X, y = load_digits().data[few][:150], load_digits().target[few][:150]
    model = ClusterExplainer().fit(X, y)
    grown = []
    monkeypatch.setattr(training, "grow_on", lambda *a, **k: (grown.append(k), grow_on(*a, **k))[1])
    curve = cost_curve(model, X, y)
    assert len(grown) == 5  # expand, exshallow, exgreedy, imm and cart: each once
    assert len(curve.n_leaves) <= 5
    assert {5, model.n_leaves_} <= set(curve.n_leaves.tolist())
    assert curve.cost[curve.n_leaves == model.n_leaves_] == model.cost_
    assert_same(curve, lambda size: ClusterExplainer(max_leaves=curve.model(size).max_leaves).fit(X, y))


@pytest.mark.parametrize(
    "model",
    [
        ExplainableKMedians(3, n_init=2, preprocessor=StandardScaler(), random_state=0),
        ExplainableKernelKMeans(3, n_init=1, preprocessor=StandardScaler(), gamma=0.1, random_state=0),
        ExplainableKernelKMeans(3, n_init=1, algorithm="exkmc", preprocessor=StandardScaler(), random_state=0),
        ExplainableKMeans(3, n_init=1, depth_penalty="auto", preprocessor=StandardScaler(), random_state=0),
        CART(3, n_init=1, preprocessor=StandardScaler(), random_state=0),
        KDTree(3, n_init=1, preprocessor=StandardScaler(), random_state=0),
    ],
    ids=["medians", "kernel imm", "kernel exkmc", "exshallow*", "cart", "kdtree"],
)
def test_every_estimator_has_a_curve(model):
    curve = cost_curve(clone(model).fit(X), X, max_leaves=6)
    assert_same(curve, lambda size: clone(model).set_params(max_leaves=max(size, 3)).fit(X))


def test_a_single_cut_is_a_curve_of_one_point():
    model = ExplainableKMeans(2, n_init=1, algorithm="optimal", random_state=0).fit(X)
    curve = cost_curve(model, X)
    assert curve.n_leaves.tolist() == [2]
    assert curve.cost[0] == model.cost_


def test_a_fitted_model_keeps_its_reference():
    model = ExplainableKMeans(5, n_init=1, random_state=np.random.RandomState(3)).fit(X)
    curve = cost_curve(model, X, max_leaves=9)
    assert curve.reference_cost == model.reference_.cost
    assert curve.cost[0] == model.cost_


@pytest.mark.parametrize("others", [{"n_clusters": 4}, {"preprocessor": None}])
def test_a_fitted_model_that_was_told_another_number_of_clusters_or_space_gets_another_reference(others):
    model = ExplainableKMeans(3, random_state=0, preprocessor=StandardScaler()).fit(X).set_params(**others)
    assert np.array_equal(cost_curve(model, X).cost, cost_curve(clone(model), X).cost)
    assert model.front(X).reference_cost == clone(model).front(X).reference_cost


def test_a_clusterer_given_as_reference_is_asked_again():
    reference = KMeans(3, n_init=1, random_state=0).fit(X)
    model = ExplainableKMeans(3, reference=reference).fit(X)
    assert cost_curve(model, X, max_leaves=5).cost[0] == model.cost_


def test_a_loaded_model_gives_the_same_curve(tmp_path):
    from cutwise import load_model

    model = ExplainableKMeans(3, n_init=1, random_state=0).fit(X)
    model.save(tmp_path / "model.json")
    assert cost_curve(load_model(tmp_path / "model.json"), X).to_dict() == cost_curve(model, X).to_dict()


def test_growth_that_gains_nothing_more_ends_the_curve():
    few = np.array([[0.0], [1.0], [10.0], [11.0]])
    curve = cost_curve(ExplainableKMeans(2, random_state=0), few, max_leaves=4)
    assert curve.n_leaves.tolist() == [2]
    assert curve.smallest(0) == 2


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
@pytest.mark.parametrize(
    ("first", "model"),
    [
        (2, ExplainableKMeans(3, algorithm="exshallow", reference=[[0.0, 2.0], [0.0, 2.0], [3.0, 2.0]])),
        (4, ExplainableKMeans(4, min_samples_leaf=4, size_penalty=1.0, n_init=1, random_state=0)),
        (6, ExplainableKMeans(6, max_depth=3, n_init=1, random_state=0)),
    ],
    ids=["inseparable centers", "short rules", "an empty leaf"],
)
def test_curves_begin_with_the_fit_where_a_tree_of_one_leaf_a_cluster_has_fewer_with_rows(first, model):
    rows = np.random.default_rng(0).integers(0, 4, (40, 2)).astype(float)
    curve = cost_curve(model.set_params(cut_features=[0]), rows, max_leaves=12)
    assert curve.n_leaves[0] == first
    assert_same(curve, lambda size: clone(model).set_params(max_leaves=curve.model(size).max_leaves).fit(rows))


def test_the_smallest_tree_within_is_the_first_that_is():
    curve = cost_curve(ExplainableKMeans(4, n_init=2, random_state=1), load_iris().data, max_leaves=16)
    for within in (0.0, 0.01, 0.05, 0.2, 1.0):
        close = [
            n for n, cost in zip(curve.n_leaves, curve.cost, strict=True) if cost <= (1 + within) * curve.reference_cost
        ]
        if close:
            assert curve.smallest(within) == close[0]
            assert curve.model(close[0]).cost_ratio_ <= 1 + within
        else:
            with pytest.raises(InvalidInputError, match=r"the best has \d+ leaves and costs 1\.\d+ times"):
                curve.smallest(within)


def test_what_could_be_done_is_said_where_no_tree_is_close_enough():
    recipe, iris = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0), load_iris().data
    with pytest.raises(InvalidInputError, match="Allow more than 3 leaves"):
        cost_curve(recipe, iris, max_leaves=3).smallest(0)
    ended = cost_curve(recipe.set_params(algorithm="exgreedy"), iris, max_leaves=40)
    assert ended.n_leaves[-1] < ended.max_leaves == 40
    with pytest.raises(InvalidInputError, match="No further cut that is allowed gains anything"):
        ended.smallest(0)


@pytest.mark.parametrize("again", [lambda given: pickle.loads(pickle.dumps(given)), copy.deepcopy])
def test_pickles_and_copies_of_curves_and_fronts_have_all_models_each_its_own(again):
    model = ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0)
    curve, front = cost_curve(model, X, max_leaves=7), model.front(X)
    for given, numbers in ((curve, curve.n_leaves.tolist()), (front, range(len(front)))):
        found = again(given)
        assert found.to_dict() == given.to_dict()
        assert all(found.model(number).tree_.equals(given.model(number).tree_) for number in numbers)
        found.model(numbers[0]).name_clusters({0: "mild"})
        assert found.model(numbers[0]).cluster_names_ == {}
    assert len(curve.n_leaves) > 2


def test_a_size_the_curve_lacks_is_refused():
    curve = cost_curve(ExplainableKMeans(3, random_state=0), load_iris().data, max_leaves=4)
    with pytest.raises(InvalidInputError, match="no tree of 9 leaves, only those of 3 to 4"):
        curve.model(9)
    with pytest.raises(InvalidInputError, match=r"no tree of \[4\] leaves"):
        curve.model([4])


def test_fewer_leaves_than_clusters_are_refused_and_so_is_another_thing():
    with pytest.raises(InvalidInputError, match="max_leaves=2 is fewer than n_clusters=3"):
        cost_curve(ClusterExplainer(), X, load_wine().target, max_leaves=2)
    with pytest.raises(InvalidInputError, match="max_leaves=2 is fewer than n_clusters=3"):
        cost_curve(ExplainableKMeans(3), X, max_leaves=2)
    with pytest.raises(TypeError, match="cost_curve takes a model of cutwise"):
        cost_curve(KMeans(3), X)


def test_the_length_of_a_curve_has_a_default():
    rows = np.random.default_rng(0).normal(size=(300, 4))
    assert cost_curve(ExplainableKMeans(2, n_init=1, random_state=0), rows).max_leaves == 8
    assert cost_curve(ExplainableKMeans(2, max_leaves=11, n_init=1, random_state=0), rows).max_leaves == 11
    assert cost_curve(ClusterExplainer(algorithm="expand"), rows, rows.sum(axis=1) > 0).max_leaves == 8


@pytest.mark.parametrize("options", [{"max_leaves": "9"}, {"max_leaves": 2}, {"n_clusters": "a"}, {"n_clusters": 0}])
def test_parameters_that_no_fit_takes_are_refused_by_name(options):
    model = ExplainableKMeans(3).set_params(**options)
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        cost_curve(model, X)


@each("seed", range(3))
def test_the_unit_of_weights_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    rows, weights = rng.normal(size=(300, 4)), rng.random(300)
    curves = [
        cost_curve(ExplainableKMeans(4, random_state=0), rows, sample_weight=weights * unit) for unit in (2**-10, 2**10)
    ]
    assert curves[0].n_leaves.tolist() == curves[1].n_leaves.tolist()
    np.testing.assert_allclose(curves[0].cost * 2**20, curves[1].cost, rtol=1e-9)


def test_a_subclass_whose_constructor_takes_fewer_parameters_has_a_curve_and_a_front():
    class OfThree(ExplainableKMeans):
        def __init__(self, n_clusters=3):
            super().__init__(n_clusters, random_state=0)

    X = load_iris().data
    own, plain = OfThree().fit(X), ExplainableKMeans(3, random_state=0).fit(X)
    curve, same = cost_curve(own, X), cost_curve(plain, X)
    assert curve.cost.tolist() == same.cost.tolist()
    assert isinstance(curve.model(4), OfThree)
    assert own.front(X).cost.tolist() == plain.front(X).cost.tolist()
