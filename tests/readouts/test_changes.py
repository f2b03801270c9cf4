"""The smallest change of one column: it moves the row, and nothing smaller does."""

import datetime as dt
import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from cutwise import ClusterExplainer, ExplainableKMeans, load_model
from cutwise.estimators.table_scaler import moments
from cutwise.exceptions import EmptyClusterWarning
from cutwise.readouts.changes import changes_in_words, smallest_changes
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.words import own_value
from cutwise.table.table import INTEGER, Columns
from tests.each import each
from tests.readouts.test_rules import made, small_tree
from tests.tree.random_trees import chain, naive_apply, random_tree


def by_trying(tree, row, unit):
    """For every other cluster the least size of a change, from every value at which the tree's answer can change.

    Going away from the row's own value, the answer changes only at a cut: at the cut itself, or one float step above.
    """
    own = tree.cluster[naive_apply(tree, [row])[0]]
    least = {}
    for feature in range(tree.n_features):
        at = tree.feature == feature
        cuts = np.concatenate([tree.threshold[at], tree.lower[at]])
        cuts = cuts[np.isfinite(cuts)]
        for value in np.concatenate([cuts, np.nextafter(cuts, np.inf)]):
            changed = np.array(row, dtype=float)
            changed[feature] = value
            cluster = tree.cluster[naive_apply(tree, [changed])[0]]
            size = abs(value - row[feature]) / unit[feature]
            if cluster != own and size < least.get(cluster, math.inf):
                least[cluster] = size
    return least


@pytest.mark.parametrize("intervals", [0.0, 0.6])
@each("seed", range(8))
def test_no_change_of_one_column_is_smaller(seed, intervals):
    tree, X, _, _, _ = made(seed, intervals=intervals, n_leaves=9)
    unit = np.array([0.5, 1.0, 3.0])
    found = smallest_changes(LabeledTree(tree, ["a", "b", "c"]), X[:60], spreads=unit)
    for row, code, changes in zip(X, tree.predict(X), found, strict=False):
        least = by_trying(tree, row, unit)
        n_codes = int(tree.cluster.max()) + 1
        assert set(changes) == set(range(n_codes)) - {code}
        for other, change in changes.items():
            if change is None:
                assert other not in least
                continue
            assert change.size == least[other]
            moved = row.copy()
            moved[change.feature] = change.target
            assert tree.apply([moved])[0] == change.leaf
            assert tree.predict([moved])[0] == other == change.cluster
            assert change.value == row[change.feature]
            assert change.lower < change.target <= change.upper
            assert change.target in (change.upper, np.nextafter(change.lower, np.inf))


@each("seed", range(10))
def test_rows_with_gaps_move_wherever_trying_every_value_moves_them(seed):
    rng = np.random.default_rng(seed)
    n, codes = 60, pd.Series(rng.integers(0, 4, 60))
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(codes, unit="D")
    grades = pd.CategoricalDtype(list("abcd"), ordered=True)
    X = pd.DataFrame(
        {
            "number": rng.normal(size=n).round(1),
            "whole": codes.sample(frac=1, random_state=seed).reset_index(drop=True).astype("Int64") + 5,
            "day": day,
            "length": pd.Series(rng.permutation(day)) - day.min(),
            "truth": pd.Series(rng.random(n) < 0.5).astype("boolean"),
            "grade": pd.Series(rng.choice(list("abcd"), n)).astype(grades),
            "town": pd.Series(rng.choice(list("xyz"), n)).astype("category"),
        }
    ).sample(3, axis=1, random_state=seed)
    X = X.mask(rng.random(X.shape) < 0.4)
    gap = X.iloc[:, 0].isna().astype(int) + rng.integers(0, 2, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClusterWarning)  # labels at random
        model = ClusterExplainer(max_leaves=8).fit(X, gap if seed % 2 else rng.integers(0, 4, n))
    tree, kinds = model.tree_, model._kinds
    asked, moves = [], []  # rows that are placed at once: (the row, its change or None)
    found = list(zip(model.predict(X[:15]), model.smallest_changes(X[:15]), strict=True))
    for row, (_, changes) in enumerate(found):
        for feature in range(X.shape[1]):
            at, levels = tree.feature == feature, kinds[feature].levels
            cuts = np.concatenate([tree.threshold[at], tree.lower[at], [0.0]])
            cuts = cuts[np.isfinite(cuts)]
            tried = np.concatenate([cuts, np.floor(cuts) + 1])
            if levels is not None:
                tried = [code for code, level in enumerate(levels) if level is not None]
            own = X.iloc[[row] * len(tried)].copy()
            put = [own_value(kinds[feature], value) for value in tried]
            own[X.columns[feature]] = pd.Series(put, own.index).astype(X.dtypes.iloc[feature])
            asked.append(own)
            moves += [(row, None)] * len(own)
        for change in filter(None, changes.values()):
            own = X.iloc[[row]].copy()
            own[change.column] = pd.Series([change.target], own.index).astype(X.dtypes[change.column])
            asked.append(own)
            moves.append((row, change))
            assert change.size == 1 or not pd.isna(change.value) or kinds[change.feature].name == "category"
    reached = [set() for _ in found]
    for (row, change), cluster in zip(moves, model.predict(pd.concat(asked)).tolist(), strict=True):
        reached[row].add(cluster)
        assert change is None or cluster == change.cluster, (change, kinds)
    for clusters, (label, changes) in zip(reached, found, strict=True):
        assert {other for other, change in changes.items() if change is not None} == clusters - {label}


def test_any_value_in_place_of_a_gap_is_said_so():
    gap = ["k"] * 3 + ["g"] * 3
    columns = {
        "number": ([1.5, 2, 3, None, None, None], 0.0),
        "whole": (pd.array([7, 8, 9, None, None, None], dtype="Int64"), 7),
        "day": (pd.to_datetime(["2024-01-01"] * 3 + [None] * 3), pd.Timestamp(0)),
        "truth": (pd.array([True, False, True, None, None, None], dtype="boolean"), False),
    }
    for name, (values, target) in columns.items():
        X = pd.DataFrame({name: values})
        model = ClusterExplainer().fit(X, gap)
        known, unknown = (model.smallest_changes(X.iloc[[i]])[0] for i in (0, 3))
        assert known == {"g": None}
        assert str(unknown["k"]) == f"{name} from unknown to any value"
        assert unknown["k"].target == target
        told = unknown["k"].to_dict()
        assert (told["value"], told["lower"], told["upper"]) == (None, None, None)
        assert json.loads(json.dumps(told["target"], allow_nan=False)) == told["target"]


@each("scale", [0.5, 1.0])
@each("intervals", [0.0, 0.6])
@each("seed", range(4))
def test_whole_numbers_move_to_the_nearest_whole_number(seed, intervals, scale):
    rng = np.random.default_rng(seed)  # thresholds lie at whole numbers, as in fitted trees, or at halves, as edited
    cuts = rng.permutation(30)[:16] * scale
    tree = random_tree(rng, n_leaves=8, n_features=2, n_clusters=4, values=cuts, intervals=intervals)
    X = rng.integers(0, 30, (40, 2)).astype(float)
    columns = Columns(("a", "b"), True, (INTEGER, INTEGER))
    for row, changes in zip(X, smallest_changes(LabeledTree(tree, columns), X), strict=True):
        tried = np.array([[value, row[1]] for value in range(-3, 34)] + [[row[0], value] for value in range(-3, 34)])
        codes, sizes = tree.predict(tried), np.abs(tried - row).sum(axis=1)
        for other, change in changes.items():
            assert (change is None) == (other not in codes)
            if change is not None:
                assert change.target == int(change.target)
                assert change.size == sizes[codes == other].min()
                moved = row.copy()
                moved[change.feature] = change.target
                assert tree.predict([moved])[0] == other


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_targets_are_exact_at_every_scale(scale):
    rng = np.random.default_rng(0)
    tree = random_tree(rng, n_leaves=10, n_features=2, n_clusters=4, values=rng.normal(size=12) * scale, intervals=0.3)
    X = rng.normal(size=(40, 2)) * scale
    for row, changes in zip(X, smallest_changes(LabeledTree(tree, ["a", "b"]), X), strict=True):
        for other, change in changes.items():
            if change is not None:
                moved = row.copy()
                moved[change.feature] = change.target
                back = np.nextafter(change.target, change.value)
                nearer = row.copy()
                nearer[change.feature] = back
                assert tree.predict([moved])[0] == other
                assert tree.predict([nearer])[0] != other


def test_the_words():
    tree = small_tree()
    (first, second) = smallest_changes(LabeledTree(tree, ["income", "age"]), [[50000.0, 36.0], [60000.0, 20.0]])
    assert str(first[2]) == "None"
    assert (
        changes_in_words(first) == "to cluster 1: no change of one column is enough; to cluster 2: no change of "
        "one column is enough"
    )
    assert changes_in_words(second, {0: "the poor"}) == (
        "to cluster `the poor`: age from 20 to above 35; to cluster 1: no change of one column is enough"
    )
    many = dict.fromkeys(range(4, 15))
    assert changes_in_words(second | many, {0: "the poor"}) == (
        "to cluster `the poor`: age from 20 to above 35; to the 12 other clusters: no change of one column is enough"
    )
    assert changes_in_words(many) == "to the 11 other clusters: no change of one column is enough"
    assert changes_in_words({}) == "there is no other cluster"
    assert second[0].target == np.nextafter(35.0, np.inf)
    inside = smallest_changes(LabeledTree(chain(3), ["x y"]), [[0.5], [9.0]])
    assert str(inside[0][1]) == "`x y` from 0.5 to above 1 (at most 2)"
    assert str(inside[1][1]) == "`x y` from 9 to at most 2 (above 1)"
    assert str(inside[1][0]) == "`x y` from 9 to at most 1"


def test_the_words_of_dates_durations_whole_numbers_and_levels_are_those_of_rules():
    days = pd.Series([0, 1, 2, 40, 41, 42] * 5)
    kinds = {
        "since": pd.Timestamp("2023-12-01") + pd.to_timedelta(days, unit="D"),
        "visit": pd.to_timedelta(days, unit="h"),
        "children": days,
        "town": np.where(days < 20, "Bern", "other"),
    }
    said = {}
    for name, values in kinds.items():
        model = ExplainableKMeans(2, random_state=0).fit(pd.DataFrame({name: values}))
        said[name] = [str(next(iter(of.values()))) for of in model.smallest_changes(pd.DataFrame({name: values[2:4]}))]
    assert said == {
        "since": ["since from 2023-12-03 to 2024-01-01 or later", "since from 2024-01-10 to before 2024-01-01"],
        "visit": ["visit from 2 h to above 1 day", "visit from 1 day 16 h to at most 1 day"],
        "children": ["children from 2 to at least 21", "children from 40 to at most 20"],
        "town": ["town from Bern to `other`", "town from `other` to Bern"],
    }
    with pytest.warns(UserWarning, match="never seen"):
        assert "(is another level)" in model.explain(pd.DataFrame({"town": ["Zug"]}))[0]


def test_sizes_are_in_units_of_the_columns_spread():
    tree = small_tree()
    row = [[60000.0, 20.0]]
    by_income = smallest_changes(LabeledTree(tree, ["income", "age"]), row, spreads=np.array([1e6, 1.0]))[0][0]
    by_age = smallest_changes(LabeledTree(tree, ["income", "age"]), row, spreads=np.array([1.0, 100.0]))[0][0]
    assert (by_income.column, by_income.target) == ("income", 52000.0)
    assert by_income.size == 8000 / 1e6
    assert by_age.column == "age"
    unknown = smallest_changes(LabeledTree(tree, ["income", "age"]), row, spreads=np.array([np.nan, 0.0]))[0][0]
    assert unknown == smallest_changes(LabeledTree(tree, ["income", "age"]), row)[0][0]


def test_equally_small_changes_are_settled_by_column_and_then_downwards():
    tree, X, _, _, _ = made(11, n_leaves=14)
    for row, changes in zip(X[:40], smallest_changes(LabeledTree(tree, ["a", "b", "c"]), X[:40]), strict=True):
        for other, change in changes.items():
            if change is None:
                continue
            for feature in range(3):
                for target in (row[feature] - change.size, row[feature] + change.size):
                    moved = row.copy()
                    moved[feature] = target
                    if abs(target - row[feature]) == change.size and tree.predict([moved])[0] == other:
                        assert (change.feature, change.target) <= (feature, target)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_rows_of_other_types_are_read_as_float64(dtype):
    tree, X, _, _, _ = made(2)
    X = X.clip(-100, 100).astype(dtype)
    assert smallest_changes(LabeledTree(tree, ["a", "b", "c"]), X) == smallest_changes(
        LabeledTree(tree, ["a", "b", "c"]), X.astype(float)
    )


class TestOfAModel:
    @pytest.fixture
    def iris(self):
        return load_iris(as_frame=True).data

    def test_it_measures_in_standard_deviations_of_the_training_rows(self, iris):
        model = ExplainableKMeans(3, random_state=0).fit(iris)
        tested = np.unique(model.tree_.feature[model.tree_.feature >= 0])
        spreads = iris.to_numpy().std(axis=0)
        np.testing.assert_allclose(model._column_spreads[tested], spreads[tested], rtol=1e-5)
        for row, changes in zip(iris.to_numpy(), model.smallest_changes(iris), strict=True):
            for other, change in changes.items():
                if change is not None:
                    moved = iris.iloc[[0]] * 0 + row
                    moved.iloc[0, change.feature] = change.target
                    assert model.predict(moved)[0] == other
                    size = abs(change.target - row[change.feature]) / spreads[change.feature]
                    assert change.size == pytest.approx(size, rel=1e-5)

    def test_weights_are_repeated_rows(self, iris):
        weight = np.arange(len(iris)) % 4
        weighted = ExplainableKMeans(3, reference=iris.iloc[[0, 60, 140]].to_numpy()).fit(iris, sample_weight=weight)
        repeated = ExplainableKMeans(3, reference=iris.iloc[[0, 60, 140]].to_numpy()).fit(
            iris.loc[iris.index.repeat(weight)]
        )
        np.testing.assert_array_equal(weighted._column_spreads, repeated._column_spreads)

    def test_units_between_two_roundings_do_not_depend_on_the_order_of_rows(self):
        X = np.tile([[0], [2]], (50, 1)) * (1.000005 + np.arange(40) / 100) + 7.3
        for rows in (X, X[np.argsort(X[:, 0], kind="stable")], X + 1e14):
            with ClusterExplainer()._prepare(rows, np.arange(100) % 2) as fit:
                found, exact = fit.context.rows.deviations(range(40)), moments(rows, None)[1]
            np.testing.assert_array_equal(found, [float(f"{unit:.6g}") for unit in np.sqrt(exact)])

    def test_gaps_do_not_narrow_the_unit(self, iris):
        rng = np.random.default_rng(0)
        X, weight = iris.mask(rng.random(iris.shape) < 0.4), rng.integers(0, 3, len(iris))
        model = ExplainableKMeans(3, max_leaves=6, random_state=0).fit(X, sample_weight=weight)
        spreads = np.nanstd(X.to_numpy().repeat(weight, axis=0), axis=0)
        for row, changes in zip(iris.to_numpy(), model.smallest_changes(iris), strict=True):
            least = by_trying(model.tree_, row, spreads)
            sizes = {other: change.size for other, change in changes.items() if change is not None}
            assert sizes == pytest.approx(least, rel=1e-5)

    def test_noise_does_not_count(self, iris):
        y = load_iris().target.copy()
        y[::7] = -1
        model = ClusterExplainer().fit(iris, y)
        tested = np.unique(model.tree_.feature[model.tree_.feature >= 0])
        np.testing.assert_allclose(
            model._column_spreads[tested], iris.to_numpy()[y >= 0].std(axis=0)[tested], rtol=1e-5
        )

    def test_huge_and_constant_columns_are_no_trouble(self):
        X = np.array([[1e150, 3.0], [-1e150, 3.0], [9e149, 3.0], [-9e149, 3.0]])
        model = ClusterExplainer().fit(X, [0, 1, 0, 1])
        assert model._column_spreads[0] == pytest.approx(9.513148795220223e149, rel=1e-5)
        assert model.smallest_changes(X)[0][1].column == "x0"

    def test_files_keep_the_unit(self, iris, tmp_path):
        model = ExplainableKMeans(4, random_state=0).fit(iris)
        model.save(tmp_path / "m.json")
        again = load_model(tmp_path / "m.json")
        assert again.smallest_changes(iris) == model.smallest_changes(iris)
        document = json.loads((tmp_path / "m.json").read_text("utf-8"))
        del document["fitted"]["column_spreads"]
        del document["checksum"]
        (tmp_path / "m.json").write_text(json.dumps(document), "utf-8")
        others = {0, 1, 2, 3} - {model.predict(iris)[0]}
        assert set(load_model(tmp_path / "m.json").smallest_changes(iris)[0]) == others

    def test_explain_tells_them_on_demand(self, iris):
        model = ExplainableKMeans(2, random_state=0).fit(iris).name_clusters({0: "small ones"})
        plain, told = model.explain(iris), model.explain(iris, changes=True)
        for row, (short, long, changes) in enumerate(zip(plain, told, model.smallest_changes(iris), strict=True)):
            (change,) = changes.values()
            assert long == f"{short}; to cluster {'`small ones`' if change.cluster == 0 else change.cluster}: {change}"
            assert change.name == ("small ones" if change.cluster == 0 else None), row

    def test_it_goes_into_json(self, iris):
        for changes in ExplainableKMeans(3, random_state=0).fit(iris).smallest_changes(iris[:5]):
            for change in changes.values():
                if change is not None:
                    told = json.loads(json.dumps(change.to_dict(), allow_nan=False))
                    assert told["target"] == change.target
                    assert told["lower"] in (None, change.lower)

    def test_one_cluster_has_no_other(self, iris):
        model = ExplainableKMeans(1).fit(iris)
        assert model.smallest_changes(iris[:1]) == [{}]
        assert model.explain(iris[:1], changes=True) == ["cluster 0 because every row is; there is no other cluster"]


def test_a_change_to_the_only_value_there_says_the_value():
    model = ExplainableKMeans(2, random_state=0).fit(pd.DataFrame({"children": [0] * 8 + [1] * 8}))
    (changes,) = model.smallest_changes(pd.DataFrame({"children": [1]}))
    assert [str(change) for change in changes.values()] == ["children from 1 to 0"]


def test_targets_may_be_put_into_the_row_whatever_the_column_holds():
    n = np.arange(40)
    low = n < 20
    grade = pd.Categorical.from_codes(np.where(low, 0, 1 + n % 2), ["bad", "fair", "good"], ordered=True)
    columns = {
        "day": (pd.Timestamp("2024-01-01") + pd.to_timedelta(n, unit="D"), "2024-02-01 00:00:00"),
        "zoned": (pd.date_range("2024-03-01", periods=40, tz="Europe/Berlin"), "2024-04-01 00:00:00+02:00"),
        "date": ([dt.date(2024, 1, 1) + dt.timedelta(days=int(i)) for i in n], "2024-02-01"),
        "length": (pd.to_timedelta(n, unit="h"), None),
        "time": ([dt.time(int(i) // 2, int(i) % 2 * 30) for i in n], None),
        "grade": (grade, "fair"),
        "yes": (~low, True),
        "town": (np.where(low, "Bern", "Zug"), "Zug"),
        "number": (n * 1.5, None),
    }
    for name, (values, written) in columns.items():
        X = pd.DataFrame({name: values})
        model = ClusterExplainer().fit(X, n >= 31 if name in ("day", "zoned", "date") else ~low)
        change = model.smallest_changes(X[:1])[0][True]
        assert change.value == X[name][0]
        moved = pd.DataFrame({name: pd.Series([change.target], dtype=X[name].dtype)})
        assert model.predict(moved).tolist() == [True], name
        read = change.to_dict()["target"]
        assert json.loads(json.dumps(read)) == read
        assert written is None or read == written
