"""The search on tables with categories and gaps: levels like bins, what is missing on either side."""

import numpy as np
import pandas as pd
import pytest

from cutwise import ClusterExplainer, ExplainableKMeans, ExplainableKMedians, cost_curve
from cutwise.tree.cut_tree import CutTree
from cutwise.tree.refine import SearchCheaper
from tests.each import each
from tests.tree.test_mixed_cuts import shapes


def planted(seed: int, n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 6, n)
    levels = np.array(["north", "south", "east", None, "o'x", "unknown"], dtype=object)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(2 * (z % 3), 1.0)),
            "place": levels[(z + rng.integers(0, 2, n)) % 6],
            "kind": pd.Categorical(np.array(list("abc"))[rng.integers(0, 3, n)]),
            "owns": pd.array(rng.random(n) < (z + 1) / 8, dtype="boolean"),
            "score": rng.integers(0, 40, n) + 5 * z,
        }
    )


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")  # of the papers' trees
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 6), marks=pytest.mark.slow)])
@each("k", [2, 5, 8])
def test_no_grown_tree_is_cheaper_than_what_the_search_finds_and_it_routes_rows_as_it_says(k, seeds):
    for seed in seeds:
        X = planted(seed)
        model = ExplainableKMeans(k, random_state=0).fit(X)
        grown = [
            ExplainableKMeans(k, algorithm=name, random_state=0).fit(X).cost_
            for name in ("imm", "exgreedy", "exshallow", "exkmc")
        ]
        assert model.cost_ <= min(grown) * (1 + 1e-12)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        order = np.random.default_rng(seed).permutation(len(X))
        again = ExplainableKMeans(k, random_state=0, reference=model.reference_.centers)
        assert again.fit(X).tree_.equals(again.fit(X.iloc[order]).tree_, counts=False)


@each("seed", [2, 3, 26])
def test_trees_are_judged_with_missing_rows_on_either_side(seed):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, 300)
    X = pd.DataFrame({"x": np.where(rng.random(300) < 0.2, np.nan, rng.normal(2 * z)), "y": rng.normal(z)})
    X["z"] = np.where((z == 0) & (rng.random(300) < 0.5), np.nan, rng.normal(z))
    model = ExplainableKMeans(4, random_state=0).fit(X)
    assert any(model.tree_.unknown)
    assert model.search_.cost == pytest.approx(model.cost_, rel=1e-9)


def test_the_search_finds_levels_that_no_greedy_tree_looks_at_first():
    costs = []
    for seed in range(6):
        X = planted(seed)
        searched = ExplainableKMeans(6, random_state=0).fit(X)
        costs.append(searched.search_.cost / searched.search_.start_cost)
    assert min(costs) < 0.999
    assert max(costs) <= 1 + 1e-12


def test_of_equal_trees_the_one_that_names_fewer_levels_is_taken():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 40, 400)
    X = pd.DataFrame({"town": [f"t{i:02}" for i in town], "hit": town < 20, "day": rng.integers(0, 2, 400) * 50.0})
    longer, model = (ExplainableKMeans(4, random_state=0, algorithm=name).fit(X) for name in ("exgreedy", "search"))
    named = [max(len(own or ()) for own in each.tree_.levels) for each in (longer, model)]
    assert named == [20, 0]
    assert model.cost_ == pytest.approx(longer.cost_, rel=1e-12)


def test_more_leaves_and_curves_start_at_the_tree_that_was_found():
    X = planted(1)
    model = ExplainableKMeans(6, random_state=0).fit(X)
    curve = cost_curve(model, X)
    assert curve.cost[0] == pytest.approx(model.cost_, rel=1e-9)
    more = ExplainableKMeans(6, max_leaves=9, random_state=0).fit(X)
    assert more.n_leaves_ == 9
    assert more.cost_ < 0.999 * model.cost_
    np.testing.assert_array_equal(more.predict(X), more.labels_)


def test_trees_of_more_leaves_are_searched_too(monkeypatch):
    def costs():
        return np.array([ExplainableKMeans(4, max_leaves=8, random_state=0).fit(planted(s)).cost_ for s in range(4)])

    searched = costs()
    monkeypatch.setattr(SearchCheaper, "cheaper_clusters", lambda *_: None)
    ratio = searched / costs()
    assert ratio.max() <= 1 + 1e-12
    assert ratio.min() < 0.997


def test_a_search_for_labels_makes_fewer_mistakes_and_routes_rows_as_it_says():
    growths = []
    for seed in range(4):
        X = planted(seed)
        labels = ExplainableKMeans(6, algorithm="imm", random_state=0).fit(X).reference_.labels
        model = ClusterExplainer(max_leaves=9).fit(X, labels)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.agreement_ == np.mean(model.labels_ == labels) == max(model.candidates_.values())
        order = np.random.default_rng(seed).permutation(len(X))
        again = ClusterExplainer(max_leaves=9).fit(X.iloc[order], labels[order])
        assert again.tree_.equals(model.tree_, counts=False)
        growths.append(model.growth_)
    assert "search" in growths


@pytest.mark.parametrize("seed", [1, 2])
def test_medians_are_searched_beside_trees_that_ask_for_sets_of_levels(seed):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, 90)
    X = pd.DataFrame({"x": z + rng.normal(size=90), "c": np.array(list("uvwxyz"))[(z + rng.integers(0, 2, 90)) % 6]})
    grown = ExplainableKMedians(3, algorithm="exkmc", n_init=1, random_state=0).fit(X)
    assert max(len(test.levels or ()) for test in map(grown.tree_.test, np.flatnonzero(grown.tree_.feature >= 0))) > 1
    assert ExplainableKMedians(3, n_init=1, random_state=0).fit(X).cost_ <= grown.cost_ * (1 + 1e-12)


@pytest.mark.parametrize("algorithm", ["imm", "exgreedy", "exkmc"])
@each("seed", range(60))
def test_tests_in_the_searched_columns_part_rows_as_the_tree_does(seed, algorithm):
    p = shapes(seed)
    grown, searched = p.grow(algorithm, p.k), p.encoded.searched
    tests = CutTree.of(grown.tree, searched)
    if tests is None:
        named = [grown.tree.test(node).levels or () for node in np.flatnonzero(grown.tree.feature >= 0)]
        assert max(map(len, named)) > 1
        return
    (column, threshold, right), cluster = tests
    values = p.values
    if searched is not None:
        x, level = p.values[:, searched.source], searched.level
        known = np.where(np.isnan(x), np.copysign(np.inf, searched.missing), x)
        values = np.where(level >= 0, x == level, known)
    leaf = np.zeros(len(values), dtype=int)
    for row in range(len(values)):
        at = 0
        while column[at] >= 0:
            at = at + 1 if values[row, column[at]] <= threshold[at] else right[at]
        leaf[row] = at
    np.testing.assert_array_equal(cluster[leaf], grown.codes)
    pairs = {(int(a), int(b)) for a, b in zip(leaf, grown.leaf_of_row, strict=True)}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
