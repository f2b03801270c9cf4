"""ClusterExplainer: labels from anywhere, and at least as faithful as a DecisionTreeClassifier with as many leaves."""

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from cutwise import ClusterExplainer, ExplainableKMeans, export_text
from cutwise.exceptions import EmptyClusterWarning, InvalidInputError

DATA = Path(__file__).parents[2].parent / "shared" / "data"
ALGORITHMS = ("auto", "imm", "exgreedy", "exshallow", "exkmc", "expand", "cart")


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


def agreement_of_cart(X, y, max_leaves, seeds=5):
    trees = [DecisionTreeClassifier(max_leaf_nodes=max_leaves, random_state=seed) for seed in range(seeds)]
    return max(tree.fit(X, y).score(X, y) for tree in trees)


def xor():
    x, y = np.meshgrid(np.linspace(-1, 1, 20), np.linspace(-1, 1, 20))
    X = np.column_stack([x.ravel(), y.ravel()])
    return X, (X[:, 0] > 0) ^ (X[:, 1] > 0)


class TestFigures:
    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_they_are_their_definitions(self, iris, algorithm):
        X, y = iris
        model = ClusterExplainer(max_leaves=5, algorithm=algorithm).fit(X, y)
        Z, codes = X.to_numpy(), np.unique(y, return_inverse=True)[1]
        assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
        assert np.array_equal(model.predict(X), model.labels_)
        assert model.agreement_ == np.mean(model.labels_ == y) == model.score(X, y)
        means = np.array([Z[codes == j].mean(axis=0) for j in range(3)])
        np.testing.assert_allclose(model.reference_.centers, means)
        assert np.array_equal(model.reference_.labels, codes)
        assert model.reference_.cost == pytest.approx(((Z - means[codes]) ** 2).sum())
        ours = model.tree_.predict(Z)
        own = np.array([Z[ours == j].mean(axis=0) for j in range(3)])
        np.testing.assert_allclose(model.cluster_centers_, own)
        assert model.cost_ == pytest.approx(((Z - own[ours]) ** 2).sum())
        assert model.surrogate_cost_ == pytest.approx(((Z - means[ours]) ** 2).sum())
        assert model.cost_ratio_ == model.cost_ / model.reference_.cost
        assert model.n_leaves_ <= 5
        for rule in model.rules():
            assert rule.purity == pytest.approx(np.mean(y[model.labels_ == rule.cluster] == rule.cluster))
            assert rule.coverage == pytest.approx(np.mean(model.labels_[y == rule.cluster] == rule.cluster))

    def test_the_growth_that_was_taken_is_named(self, iris):
        model = ClusterExplainer().fit(*iris)
        assert model.growth_ in model.candidates_
        assert model.candidates_[model.growth_] == max(model.candidates_.values()) == model.agreement_
        assert f"grown by {model.growth_}, agreement" in export_text(model).splitlines()[0]
        assert ClusterExplainer(algorithm="imm").fit(*iris).growth_ == "imm"

    @pytest.mark.parametrize("max_leaves", [10, 20])
    def test_a_search_makes_fewer_mistakes_than_any_greedy_tree_and_leaves_no_more_clusters_out(self, max_leaves):
        X = load_digits().data
        labels = ExplainableKMeans(10, algorithm="imm", random_state=0).fit(X).reference_.labels
        model = ClusterExplainer(max_leaves=max_leaves).fit(X, labels)
        greedy = max(agreement for name, agreement in model.candidates_.items() if name != "search")
        assert model.growth_ == "search"
        assert model.agreement_ > greedy
        assert len(np.unique(model.tree_.cluster[model.tree_.leaves])) == 10


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
class TestAuto:
    @pytest.mark.parametrize("extra", [0, 3, 15])
    @pytest.mark.parametrize("load", [load_iris, load_digits])
    def test_it_agrees_at_least_as_well_as_cart_on_classes(self, load, extra):
        X, y = load(return_X_y=True)
        leaves = len(np.unique(y)) + extra
        model = ClusterExplainer(leaves).fit(X, y)
        assert model.n_leaves_ <= leaves
        assert model.agreement_ >= agreement_of_cart(X, y, leaves, seeds=1)

    @pytest.mark.parametrize("max_leaves", [2, 3, 4, 6])
    def test_it_agrees_at_least_as_well_as_cart_on_xor(self, max_leaves):
        X, y = xor()
        model = ClusterExplainer(max_leaves).fit(X, y)
        assert model.agreement_ >= agreement_of_cart(X, y, max_leaves)

    def test_it_agrees_at_least_as_well_as_cart_on_labels_of_hdbscan(self):
        X, _ = make_moons(400, noise=0.09, random_state=0)
        y = HDBSCAN(min_cluster_size=8, copy=True).fit_predict(X)
        assert (y == -1).any()
        inside = y >= 0
        for extra in (0, 2, 8):
            leaves = len(np.unique(y[inside])) + extra
            model = ClusterExplainer(leaves).fit(X, y)
            assert model.agreement_ >= agreement_of_cart(X[inside], y[inside], leaves)

    @pytest.mark.data
    @pytest.mark.parametrize("name", ["aggregation", "flame", "halfmoons", "pathbased"])
    def test_it_agrees_at_least_as_well_as_cart_on_labels_of_hdbscan_on_known_shapes(self, name):
        path = DATA / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{path} is not there: the data folder beside the checkout is needed")
        with np.load(path) as file:
            X = file["X"]
        y = HDBSCAN(min_cluster_size=8, copy=True).fit_predict(X)
        inside = y >= 0
        for factor in (1, 2, 4):
            leaves = factor * len(np.unique(y[inside]))
            model = ClusterExplainer(leaves).fit(X, y)
            assert model.agreement_ >= agreement_of_cart(X[inside], y[inside], leaves)

    def test_a_cluster_without_a_leaf_is_named(self):
        # One row inside another cluster: giving it a leaf would cost more rows than it gains.
        X = np.array([[x] for x in (1, 2, 3, 4, 5, 6, 9, 20, 21)], dtype=float)
        y = np.array(list("aaabaaacc"))
        with pytest.warns(EmptyClusterWarning, match="b"):
            model = ClusterExplainer(max_leaves=3).fit(X, y)
        assert model.agreement_ == pytest.approx(8 / 9)
        assert "no rule" in str(model.rules()[1])

    def test_a_cluster_inside_another_gets_its_leaf_by_a_few_more_leaves(self):
        X = np.array([[x] for x in (1, 2, 3, 4, 5, 6, 9, 20, 21)], dtype=float)
        model = ClusterExplainer().fit(X, np.array(list("aaabaaacc")))
        assert model.agreement_ == 1.0
        assert model.n_leaves_ == 4

    def test_every_cluster_gets_a_leaf_where_that_costs_nothing(self, iris):
        model = ClusterExplainer().fit(*iris)
        assert set(model.tree_.cluster[model.tree_.leaves]) == {0, 1, 2}


class TestLabels:
    def test_noise_takes_no_part_and_is_placed(self, iris):
        X, _ = iris
        y = load_iris().target.copy()
        y[::7] = -1
        for algorithm in ALGORITHMS:
            model = ClusterExplainer(algorithm=algorithm).fit(X, y)
            without = ClusterExplainer(algorithm=algorithm).fit(X[y >= 0], y[y >= 0])
            assert model.tree_.equals(without.tree_)
            assert model.agreement_ == without.agreement_
            assert model.cost_ == without.cost_
            assert list(model.classes_) == [0, 1, 2]
            assert np.array_equal(model.labels_, model.predict(X))
            assert set(model.labels_) == {0, 1, 2}
            assert (model.reference_.labels == -1).sum() == (y == -1).sum()
            assert sum(rule.noise for rule in model.rules()) == (y == -1).sum()

    @pytest.mark.parametrize(
        "given",
        [
            lambda y: y,
            lambda y: y.astype(float),
            lambda y: pd.Series(y, dtype="category"),
            lambda y: pd.Series(y, dtype="Int64"),
            lambda y: list(y),
            lambda y: y.astype(np.int8),
        ],
    )
    def test_containers_of_numbers_give_one_tree(self, iris, given):
        X, y = iris[0], load_iris().target
        model = ClusterExplainer().fit(X, given(y))
        assert model.tree_.equals(ClusterExplainer().fit(X, y).tree_)

    def test_booleans_come_back_as_booleans(self):
        X, y = xor()
        y &= X[:, 0] > 0
        model = ClusterExplainer(3).fit(X, y)
        assert model.predict(X).dtype == bool
        assert model.score(X, y) == 1.0

    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_one_label_is_one_leaf(self, iris, algorithm):
        model = ClusterExplainer(algorithm=algorithm).fit(iris[0], ["all"] * 150)
        assert (model.n_leaves_, model.agreement_) == (1, 1.0)
        assert set(model.predict(iris[0])) == {"all"}
        assert str(model.rules()[0].rules[0]) == "any row"

    def test_equal_rows_with_different_labels(self):
        X = np.repeat(np.arange(6.0), 50)[:, None]
        y = np.where(np.arange(300) % 50 < 35, X[:, 0] > 2, X[:, 0] <= 2)
        model = ClusterExplainer().fit(X, y)
        assert model.agreement_ == pytest.approx(0.7)
        assert model.tree_.n_node_samples[0] == 300

    def test_unknown_labels_count_as_wrong_in_the_score_and_noise_not_at_all(self, iris):
        X, y = iris
        model = ClusterExplainer().fit(X, y)
        right = model.predict(X)
        assert model.score(X, right) == 1.0
        other = np.where(np.arange(150) < 50, "unheard of", right)
        assert model.score(X, other) == pytest.approx(100 / 150)
        numbers = ClusterExplainer().fit(X, load_iris().target)
        noisy = np.where(np.arange(150) < 50, -1, numbers.labels_)
        assert numbers.score(X, noisy) == 1.0


class TestWeights:
    def test_a_cluster_of_rows_without_weight_is_none(self, iris):
        X, y = iris
        model = ClusterExplainer().fit(X, y, sample_weight=(y != "setosa").astype(float))
        assert list(model.classes_) == ["versicolor", "virginica"]
        assert len(model.labels_) == 150


class TestSpace:
    def test_given_centers_are_the_references(self, iris):
        X, y = iris
        centers = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
        model = ClusterExplainer(algorithm="exgreedy").fit(X, y, centers=centers)
        assert np.array_equal(model.reference_.centers, centers)

    @pytest.mark.parametrize("algorithm", ["exgreedy", "exshallow", "exkmc", "imm"])
    def test_costs_of_squared_distances_give_the_tree_of_the_centers(self, algorithm):
        rng = np.random.default_rng(2)
        X = rng.integers(0, 40, size=(200, 3)).astype(float)
        centers = X[:4]
        costs = ((X[:, None] - centers) ** 2).sum(axis=2)
        y = costs.argmin(axis=1)
        by_centers = ClusterExplainer(6, algorithm).fit(X, y, centers=centers)
        by_costs = ClusterExplainer(6, algorithm).fit(X, y, centers=centers, costs=costs)
        assert by_centers.tree_.equals(by_costs.tree_)
        assert by_costs.cost_ == pytest.approx(by_centers.surrogate_cost_)
        assert by_costs.reference_.cost == pytest.approx(by_centers.reference_.cost)

    def test_any_costs_will_do(self):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(120, 2))
        y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
        costs = rng.random(size=(120, 3))
        model = ClusterExplainer(algorithm="exkmc").fit(X, y, costs=costs)
        codes = model.tree_.predict(X)
        assert model.cost_ == pytest.approx(costs[np.arange(120), codes].sum())

    def test_a_preprocessor_measures_and_rules_keep_their_units(self, iris):
        X, y = iris
        model = ClusterExplainer(algorithm="exgreedy", preprocessor=StandardScaler()).fit(X, y)
        Z = StandardScaler().fit_transform(X)
        np.testing.assert_allclose(model.reference_.centers, [Z[y == c].mean(axis=0) for c in model.classes_])
        cuts = model.tree_.threshold[model.tree_.feature >= 0]
        assert (cuts > 0.1).all()
        assert model.transform(X).shape == (150, 3)


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "given", "words"),
        [
            ({"algorithm": "cartt"}, {}, ["algorithm='cartt'", "Did you mean 'cart'?"]),
            ({"max_leaves": 2}, {}, ["max_leaves=2", "n_clusters=3"]),
            ({}, {"y": ["a"] * 149}, ["149", "150"]),
            ({}, {"y": None}, ["requires y"]),
            ({}, {"y": [-1] * 150}, ["noise"]),
            ({}, {"centers": np.zeros((2, 4))}, ["(2, 4)", "(3, 4)"]),
            ({}, {"centers": np.full((3, 4), np.nan)}, ["NaN", "centers"]),
            ({}, {"costs": np.zeros((150, 2))}, ["(150, 2)", "(150, 3)"]),
            ({}, {"costs": np.full((150, 3), -1.0)}, ["-1.0", "row 0"]),
            ({}, {"sample_weight": np.zeros(150)}, ["non-zero"]),
        ],
    )
    def test_the_error_says_what_was_given_and_what_is_needed(self, iris, options, given, words):
        X, y = iris
        given = {"y": y} | given
        with pytest.raises(ValueError) as caught:
            ClusterExplainer(**options).fit(X, **given)
        assert all(word in str(caught.value) for word in words), str(caught.value)

    def test_weight_only_on_noise(self, iris):
        y = np.where(np.arange(150) < 10, -1, 1)
        with pytest.raises(ValueError, match="weight 0"):
            ClusterExplainer().fit(iris[0], y, sample_weight=(y == -1).astype(float))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_distances_beyond_float64_are_refused_with_a_way_out(iris, algorithm):
    X, y = iris
    with pytest.raises(InvalidInputError, match=r"beyond float64, .* Divide X by a constant"):
        ClusterExplainer(algorithm=algorithm).fit(X * 1e300, y)


def test_many_small_clusters_are_nothing_to_warn_of():
    X = np.random.default_rng(0).normal(size=(75, 3))
    labels = np.arange(75)
    assert (ClusterExplainer().fit(X, labels).predict(X) == labels).all()


def groups_and_a_row(seed, k=24):
    """Groups that overlap, and a cluster of one row."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(240) % (k - 1), [k - 1])
    return rng.uniform(-1, 1, (k, 2))[y] + rng.normal(0, 0.12, (241, 2)), y


def without_leaf(model):
    return set(range(len(model.classes_))) - set(model.tree_.cluster[model.tree_.leaves].tolist())


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@pytest.mark.parametrize("seed", [0, 2, 5, 7])
def test_only_trees_with_two_leaves_a_cluster_leave_out_clusters_that_columns_tell_apart(seed):
    X, y = groups_and_a_row(seed)
    model = ClusterExplainer().fit(X, y)
    assert not without_leaf(model) or seed in (0, 7)
    if without_leaf(model):
        largest = ClusterExplainer(48).fit(X, y)
        assert model.candidates_ | {"search": 0} == largest.candidates_ | {"search": 0}


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
def test_the_tree_does_not_grow_to_its_most_for_a_cluster_that_no_column_tells_apart():
    X, y = groups_and_a_row(2)
    X[-1] = X[0]
    y = np.append(y, y[0])  # where the cluster of one row lies, two rows are of another
    model = ClusterExplainer().fit(np.append(X, X[:1], axis=0), y)
    assert without_leaf(model) == {23}
    assert model.n_leaves_ <= 24 + 1 + 2 + 4 + 8


def test_of_many_clusters_the_tree_that_grew_once_is_the_one_grown_for_its_size():
    rng, k = np.random.default_rng(0), 60
    y = np.arange(6 * k) % k
    X = rng.uniform(-1, 1, (k, 3))[y] + rng.normal(0, 0.03, (6 * k, 3))
    model, again = ClusterExplainer().fit(X, y), ClusterExplainer(k).fit(X, y)
    assert model.n_leaves_ == k
    assert model.candidates_ == again.candidates_
    assert model.tree_.to_dict() == again.tree_.to_dict()


def test_two_leaves_a_cluster_are_most_and_clusters_without_one_are_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), rng.integers(0, 30, 400)  # labels that no column tells
    with pytest.warns(EmptyClusterWarning):
        model = ClusterExplainer().fit(X, y)
    without = sorted(set(range(30)) - set(model.tree_.cluster[model.tree_.leaves].tolist()))
    assert 30 < model.n_leaves_ <= 60
    assert 0 < len(without) <= 20
    assert f"; without a leaf: {', '.join(map(str, without))}" in model._repr_html_()
    assert ClusterExplainer(max_leaves=90).fit(X, y).n_leaves_ > 60
    assert ClusterExplainer(max_leaves=10**20, algorithm="cart").fit(X, y).n_leaves_ <= 400


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
@pytest.mark.parametrize("kind", [str, bool])
def test_no_leaf_is_without_rows_and_rules_say_what_predict_does_where_labels_outnumber_rows_that_differ(kind):
    rng = np.random.default_rng(0)
    for seed in range(12):
        table = pd.DataFrame({name: [kind(i) for i in rng.integers(0, 2 + seed % 2, 20)] for name in "ab"})
        table["c"] = np.where(rng.random(20) < 0.2, None, table["a"].astype(str))
        model = ClusterExplainer().fit(table, rng.integers(0, 6, 20))
        assert model.tree_.n_node_samples.min() > 0
        rules = model.rules()
        found = np.array([cluster.matches(table) for cluster in rules])
        labels = np.array([cluster.cluster for cluster in rules])
        assert (found.sum(axis=0) == 1).all()
        assert labels[found.argmax(axis=0)].tolist() == model.predict(table).tolist()
        assert [c.cluster for c in rules if not c.rules] == sorted(set(labels) - set(model.labels_))


def test_deviations_of_many_columns_of_a_sparse_table_are_found_a_few_rows_at_a_time():
    n, d = 40_000, 600
    X = sparse.csr_array((np.arange(n) % 7 + 1.0, (np.arange(n), np.arange(n) % d)), shape=(n, d))
    with ClusterExplainer()._prepare(X, np.arange(n) % 2) as fit:
        tracemalloc.start()
        found = fit.context.rows.deviations(range(d))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < n * d * 8 / 2
    np.testing.assert_allclose(found[[0, 599]], X[:, [0, 599]].toarray().std(axis=0), rtol=1e-5)
