"""Displays keep what they drew, draw it legibly at every size, and agree on the clusters' colors."""

import re
import sys
import warnings
from datetime import date, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError

from cutwise import ClusterExplainer, ExplainableKMeans
from cutwise.exceptions import CutwiseWarning, InvalidInputError, UnsupportedInputError
from cutwise.plot import CurveDisplay, FrontDisplay, PartitionDisplay, ProfileDisplay, TreeDisplay
from cutwise.readouts.shown import cluster_color
from cutwise.tree.threshold_tree import ThresholdTree
from tests.plot.models import LONG, chain, model_and_rows, people

CASES = {
    "2 clusters": lambda: model_and_rows(2),
    "8 clusters, 12 leaves": lambda: model_and_rows(8, extra=4),
    "30 clusters, 40 leaves, by imm": lambda: model_and_rows(30, algorithm="imm", extra=10),
    "30 clusters, long names": lambda: model_and_rows(30, name=LONG),
    "a chain of 12": lambda: chain(12),
}
EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def boxes(figure):
    """The place of every text that is drawn, in pixels."""
    drawn = []
    draw = Text.draw

    def record(text, *args, **kwargs):
        drawn.append(text)
        return draw(text, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", record)
        figure.draw_without_rendering()  # everything is placed, and pixels would take most of the time
    return {text: text.get_window_extent() for text in drawn if text.get_visible() and text.get_text().strip()}


def assert_legible(figure):
    """No text overlaps another, and none leaves the figure."""
    found = boxes(figure)
    texts = [text.get_text() for text in found]
    x0, y0, x1, y1 = np.array([box.extents for box in found.values()]).T
    width, height = figure.canvas.get_width_height()
    inside = (x0 >= -1) & (y0 >= -1) & (x1 <= width + 1) & (y1 <= height + 1)
    assert inside.all(), texts[inside.argmin()]
    # Left of another, or below it.
    apart = (x1[:, None] <= x0 + 0.5) | (y1[:, None] <= y0 + 1)
    overlaps = np.argwhere(np.triu(~(apart | apart.T), 1))
    assert not len(overlaps), [texts[i] for i in overlaps[0]]


@EACH
def test_a_tree_is_legible_and_names_every_leaf(case):
    model, _ = case()
    display = TreeDisplay.from_estimator(model)
    assert_legible(display.figure_)
    texts = [text.get_text() for text in display.ax_.texts]
    for leaf in model.tree_.leaves:
        assert str(model.tree_.cluster[leaf]) in texts
    for rule in (rule for cluster in model.rules() for rule in cluster.rules):
        assert any(f"{rule.size:,} row" in text for text in texts)
    assert display.node_x_.shape == display.node_y_.shape == (model.tree_.n_nodes,)
    assert (np.diff(display.node_y_[model.tree_.leaves]) > 0).all()


def test_long_levels_give_way_to_the_columns_name():
    from matplotlib import pyplot

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"city": rng.choice([f"city number {i} with a long name" for i in range(40)], 500)})
    table["size"] = pd.Categorical(
        rng.choice(levels := [f"a size so large that it needs {i} words" for i in "abc"], 500), levels, ordered=True
    )
    inside = table["city"].isin(table["city"].unique()[:15])
    model = ClusterExplainer(max_leaves=4).fit(
        table, np.where(inside, "in", np.where(table["size"] > levels[0], "o", "p"))
    )
    own = TreeDisplay.from_estimator(model)
    assert_legible(own.figure_)
    texts = [text.get_text() for text in own.ax_.texts]
    assert any(re.fullmatch(r"city not in \{`.*….*` and 14 more\}", text) for text in texts)
    figure, ax = pyplot.subplots(figsize=(3, 2.5))
    TreeDisplay.from_estimator(model, ax=ax)
    assert_legible(figure)
    assert "city in 15 levels" in {text.get_text() for text in ax.texts}


def test_the_tests_of_a_deep_tree_keep_their_names_where_the_figure_chooses_its_width():
    model, table = chain(23)
    table.columns = ["pixel 3 0"]
    model.fit(table)
    texts = [text.get_text() for text in TreeDisplay.from_estimator(model).ax_.texts]
    assert sum("pixel 3 0" in text for text in texts) == 2 * 22


@EACH
def test_a_profile_is_legible(case):
    model, table = case()
    display = ProfileDisplay.from_estimator(model, table)
    assert_legible(display.figure_)
    assert len(repr(display)) < 80  # a notebook shows it above the picture
    assert display.difference_.shape == (min(30, table.shape[1]), len(model.classes_))
    own = table[model.labels_ == 0].mean() - table.mean()
    expected = (own / table.std(ddof=0)).to_numpy()[display.columns_]
    np.testing.assert_allclose(display.difference_[:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 8, 30])
def test_a_map_is_legible_and_its_rectangles_are_the_tree(k):
    model, table = model_and_rows(k, n_columns=2, extra=3, name="width of $leaf {}$ (mm)")
    display = PartitionDisplay.from_estimator(model, table)
    assert_legible(display.figure_)
    assert display.of_reference
    assert display.codes.tolist() == model.reference_.labels.tolist()
    assert_rectangles_say_what_the_tree_says(model, display)


def assert_rectangles_say_what_the_tree_says(model, display):
    """Every point of the picture is in exactly one rectangle, and that has the cluster that the tree gives it."""
    rng = np.random.default_rng(0)
    low, high = display.rectangles_[:, [0, 2]].min(axis=0), display.rectangles_[:, [1, 3]].max(axis=0)
    points = np.zeros((300, model.n_features_in_))
    points[:, list(display.fixed)] = list(display.fixed.values())
    points[:, list(display.columns)] = rng.uniform(low, high, (300, 2))
    x, y = points[:, display.columns[0], None], points[:, display.columns[1], None]
    left, right, bottom, top = display.rectangles_.T
    inside = (left < x) & (x <= right) & (bottom < y) & (y <= top)
    assert (inside.sum(axis=1) == 1).all()
    assert (display.rectangle_cluster_[inside.argmax(axis=1)] == model.tree_.predict(points)).all()


def test_a_map_shows_interval_tests():
    model, table = model_and_rows(3, n_columns=2)
    tree = ThresholdTree.from_unordered(
        children_left=[1, -1, 3, -1, -1], children_right=[2, -1, 4, -1, -1], feature=[0, -1, 1, -1, -1],
        threshold=[2.0, np.nan, 1.0, np.nan, np.nan], lower=[-2.0, -np.inf, 0.0, -np.inf, -np.inf],
        cluster=[-1, 0, -1, 1, 2], n_features=2,
    )  # fmt: skip
    points, codes = table.to_numpy(), model.reference_.labels
    display = PartitionDisplay(tree, (0, 1), ("a", "b"), ["0", "1", "2"], points, codes).plot()
    assert len(display.rectangles_) == 1 + 2 + 4
    assert_rectangles_say_what_the_tree_says(SimpleNamespace(tree_=tree, n_features_in_=2), display)


def test_one_column_is_drawn_against_another_and_columns_can_be_named():
    table = pd.DataFrame({"other": [5.0, 1.0, 2.0, 3.0], "tested": [0.0, 1.0, 9.0, 10.0]})
    model = ClusterExplainer().fit(table, ["a", "a", "b", "b"])
    display = PartitionDisplay.from_estimator(model, table)
    assert display.names == ("tested", "other")
    display = PartitionDisplay.from_estimator(model, table, columns=["other", 1])
    assert display.names == ("other", "tested")
    assert_rectangles_say_what_the_tree_says(model, display)


def test_truth_values_are_drawn_only_where_other_columns_are_not_tested():
    table = pd.DataFrame({"paid": np.arange(80) % 2 == 1, "age": np.arange(80.0), "pay": np.arange(80.0) * 27 % 80})
    labels = 4 * table["paid"] + 2 * (table["age"] > 39) + (table["pay"] > 39)
    for columns, drawn in ((["paid", "age", "pay"], ("age", "pay")), (["paid", "age"], ("paid", "age"))):
        model = ClusterExplainer(8).fit(table[columns], labels if len(columns) == 3 else labels // 2)
        assert PartitionDisplay.from_estimator(model, table[columns]).names == drawn


def test_a_map_of_three_columns_holds_the_third():
    model, table = model_and_rows(8, n_columns=3, extra=4)
    assert set(model.tree_.feature[model.tree_.feature >= 0]) == {0, 1, 2}
    display = PartitionDisplay.from_estimator(model, table, columns=("x_0", 2), fixed={"x_1": 1.5})
    assert_rectangles_say_what_the_tree_says(model, display)
    fixed = table.assign(x_1=1.5)
    same = model.apply(fixed) == model.apply(table)
    assert display.is_shown.tolist() == same.tolist()
    assert display.ax_.get_title(loc="left") == f"where x_1 = 1.5: {same.sum()} of {len(table)} rows in these leaves"
    of_itself = PartitionDisplay.from_estimator(model, table)
    ((column, value),) = of_itself.fixed.items()
    assert value == np.sort(table.iloc[:, column])[(len(table) - 1) // 2]
    assert_rectangles_say_what_the_tree_says(model, of_itself)
    assert_legible(of_itself.figure_)
    far = PartitionDisplay.from_estimator(model, table, columns=(0, 1), fixed={2: 1e9})
    assert_rectangles_say_what_the_tree_says(model, far)


def test_what_a_map_cannot_show_is_refused():
    model, table = model_and_rows(8, extra=4)
    with pytest.raises(InvalidInputError, match="columns names 'nothing', and X has no such column"):
        PartitionDisplay.from_estimator(model, table, columns=("nothing", 0))
    for wanted in (1, "ab", [0], {0, 1}):
        with pytest.raises(InvalidInputError, match="is not a pair of columns"):
            PartitionDisplay.from_estimator(model, table, columns=wanted)
    with pytest.raises(InvalidInputError, match="max_columns=0"):
        ProfileDisplay.from_estimator(model, table, max_columns=0)


def test_a_map_speaks_of_dates_durations_and_levels_as_people_do():
    model, table = people()
    display = PartitionDisplay.from_estimator(model, table, columns=("owns_home", "since"))
    assert_legible(display.figure_)
    ticks = [[text.get_text() for text in axis.get_ticklabels()] for axis in (display.ax_.xaxis, display.ax_.yaxis)]
    assert [text for text in ticks[0] if text] == ["false", "true"]
    assert "2021" in ticks[1]
    assert set(display.rectangles_[:, :2].ravel()) <= {-0.5, 0.5, 1.5}
    tested = {str(table.columns[j]) for j in model.tree_.tested} - {"owns_home", "since"}
    assert tested == {said.split(" = ")[0] for said in display.caption[:-1]} >= {"children", "income"}
    display = PartitionDisplay.from_estimator(model, table, columns=("visit", "school"))
    display.figure_.canvas.draw()
    ticks = [[text.get_text() for text in axis.get_ticklabels()] for axis in (display.ax_.xaxis, display.ax_.yaxis)]
    assert "2 h" in ticks[0]
    assert [text for text in ticks[1] if text] == ["primary", "secondary", "bachelor", "master"]


def test_what_a_map_holds_is_given_as_people_write_it_or_refused_with_what_is_needed():
    model, table = people()
    tested = model.tree_.feature.tolist()
    assert {0, 3} <= set(tested)  # income, which has gaps, and a date
    fixed = {"income": None, "region": "east", "owns_home": True}
    for since in ("2021-01-01", pd.Timestamp("2021-01-01"), np.datetime64("2021-01-01"), date(2021, 1, 1)):
        display = PartitionDisplay.from_estimator(
            model, table, columns=("visit", "school"), fixed=fixed | {"since": since}
        )
        assert "since = 2021-01-01" in display.caption
        assert "income = unknown" in display.caption
        same = table.assign(income=np.nan, region="east", owns_home=True, since=pd.Timestamp("2021-01-01"), children=2)
        assert display.is_shown.tolist() == (model.apply(same) == model.apply(table)).tolist()
    with pytest.raises(InvalidInputError, match="Give values by column"):
        PartitionDisplay.from_estimator(model, table, columns=("visit", "school"), fixed=[1])
    for wrong, needed in (
        ({"since": "soon"}, "cannot be 'soon'. Give a date"),
        ({"region": "nowhere"}, "Give one of its levels: 'east', 'north'"),
        ({"income": "a"}, "Give a number"),
        ({"owns_home": "yes"}, "Give True or False"),
        ({"visit": timedelta(hours=1)}, "is drawn, so it has all its values"),
        ({"since": None}, "cannot be None"),
        ({"since": "2021-01-01T00:00Z"}, "cannot be '2021-01-01T00:00Z'"),
        ({"nothing": 1}, "fixed names 'nothing', and X has no such column"),
    ):
        with pytest.raises(InvalidInputError, match=re.escape(needed)):
            PartitionDisplay.from_estimator(model, table, columns=("visit", "school"), fixed=wrong)
    for columns, said in ((("visit", "visit"), "one column twice"), (("region", 0), "holds categories")):
        with pytest.raises(InvalidInputError, match=said):
            PartitionDisplay.from_estimator(model, table, columns=columns)


@pytest.mark.parametrize("missing", [None, pd.NaT, np.timedelta64("NaT"), np.datetime64("NaT")])
def test_a_map_can_be_fixed_at_a_missing_value_however_it_is_written(missing):
    group = np.arange(120) % 4
    table = pd.DataFrame({"a": group % 2 * 9.0 + np.arange(120) / 120, "b": np.arange(120) / 9.0})
    table["t"] = pd.to_timedelta(group // 2 * 50, "h").where(np.arange(120) % 7 > 0)
    model = ExplainableKMeans(5, random_state=0).fit(table)
    assert 2 in model.tree_.feature
    display = PartitionDisplay.from_estimator(model, table, columns=("a", "b"), fixed={"t": missing})
    assert "t = unknown" in display.caption


def test_dates_at_the_end_of_the_calendar_have_a_margin_within_it():
    ends = pd.Series([datetime.min, datetime(2020, 1, 1), datetime.max] * 10, dtype=object)
    frame = pd.DataFrame({"until": ends, "x": np.arange(30.0)})
    display = PartitionDisplay.from_estimator(ExplainableKMeans(3, random_state=0).fit(frame), frame)
    display.figure_.canvas.draw()


@pytest.mark.parametrize("engine", ["constrained", None])
def test_a_map_in_a_small_place_stays_a_map_whatever_is_held(engine):
    from matplotlib import pyplot

    model, table = model_and_rows(30, algorithm="imm", n_columns=20, name="a column of some length {}")
    own = PartitionDisplay.from_estimator(model, table)
    assert_legible(own.figure_)
    assert len(own.caption) > 12
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4), layout=engine)
    display = PartitionDisplay.from_estimator(model, table, ax=axes[0])
    found = boxes(figure)
    title = next(text for text in found if text.get_text().startswith("where "))
    assert title.get_text().count("\n") == 1
    assert " more: " in title.get_text()
    box = axes[0].get_window_extent()
    assert found[title].x1 <= box.x1 + 2
    assert box.width > 0.15 * figure.bbox.width
    assert display.ax_.get_legend().get_window_extent().x1 <= axes[1].get_window_extent().x0


def test_as_many_rows_as_fit_had_are_not_the_rows_of_fit():
    table = pd.DataFrame({"a": [0.0, 1.0, 9.0, 10.0], "b": [5.0, 1.0, 2.0, 3.0]})
    model = ClusterExplainer().fit(table, ["a", "a", "b", "b"])
    others = PartitionDisplay.from_estimator(model, table.assign(a=[9.0, 9.0, 9.0, 1.0]))
    assert not others.of_reference
    assert others.codes.tolist() == [1, 1, 1, 0]


def test_new_rows_on_a_map_have_the_trees_colors():
    model, table = model_and_rows(8, n_columns=2)
    display = PartitionDisplay.from_estimator(model, table[:50])
    assert not display.of_reference
    assert display.codes.tolist() == model.predict(table[:50]).tolist()


@pytest.mark.parametrize("k", [2, 8, 30])
def test_a_curve_is_legible_and_is_the_cost_curve(k):
    model, table = model_and_rows(k)
    display = CurveDisplay.from_estimator(model, table, within=1.0)
    assert_legible(display.figure_)
    assert display.n_leaves[0] == k
    assert display.cost_ratio[0] == model.cost_ratio_
    assert display.chosen == display.curve.smallest(1.0)
    again = CurveDisplay(display.n_leaves, display.cost_ratio, display.agreement).plot(ax=display.ax_)
    assert again.ax_ is display.ax_


def test_a_curve_below_its_reference_says_so():
    for lowest, is_below in ((0.9, True), (1.0, False)):
        display = CurveDisplay(np.array([2, 3]), np.array([1.1, lowest]), np.array([0.9, 0.9])).plot()
        assert any("costs more" in text.get_text() for text in display.ax_.texts) == is_below


def test_a_front_is_legible_and_is_the_models():
    model, table = model_and_rows(8)
    display = FrontDisplay.from_estimator(model, table)
    assert_legible(display.figure_)
    assert np.array_equal(display.cost_ratio, model.front(table).cost_ratio)
    assert [text.get_text() for text in display.ax_.texts[2:]] == display.n_leaves.astype(str).tolist()


@pytest.mark.parametrize("size", [(6.8, 4), (4, 3), (2.6, 2.2)])
def test_texts_in_small_axes_are_beside_the_curve_and_below_the_title(size):
    from matplotlib import pyplot

    ratio = np.array([1.027, 1.019, 1.012, 1.0075, 1.0062, 1.0055, 1.005, 1.004, 1.003, 0.9995])
    for chosen in (6, 9, 15) if size[0] < 3 else (9,):
        figure, ax = pyplot.subplots(figsize=size, layout="constrained")
        ax.set_title("a title")
        CurveDisplay(np.arange(6, 16), ratio, ratio / 2, chosen).plot(ax=ax)
        assert_legible(figure)
    figure, ax = pyplot.subplots(figsize=size, layout="constrained")
    waes = np.array([2.4, 2.48, 2.9, 3.1, 3.14, 3.4, 3.5, 3.66, 3.8, 3.82])
    FrontDisplay(np.array([6, 6, 6, 12, 6, 9, 10, 11, 12, 12]), waes, ratio).plot(ax=ax)
    assert_legible(figure)


def test_numbers_of_leaves_stand_nearest_to_their_own_points():
    waes = np.array([2.16, 2.455, 2.505, 2.51, 2.515, 2.53, 2.545, 2.55, 2.56])
    ratio = np.array([1.5512, 1.4082, 1.0163, 1.0156, 1.0153, 1.0101, 1.008, 1.007, 1.0032])
    display = FrontDisplay(np.arange(10, 19), waes, ratio).plot()
    points = display.ax_.transData.transform(np.column_stack([waes, ratio]))
    numbers = [text for text in display.ax_.texts if text.get_text().isdecimal()]
    assert len(numbers) > 6
    for text in numbers:
        box = text.get_window_extent()
        middle = [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2]
        assert int(text.get_text()) == 10 + np.hypot(*(points - middle).T).argmin()


def test_a_front_is_refused_where_there_is_none():
    with pytest.raises(UnsupportedInputError, match="ExplainableKMedians, not ClusterExplainer"):
        FrontDisplay.from_estimator(ClusterExplainer(), [[0.0], [1.0]])


def test_a_curve_of_one_point_and_without_a_ratio_can_be_drawn():
    few = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert_legible(CurveDisplay.from_estimator(ExplainableKMeans(2, random_state=0), few).figure_)
    same = np.array([[0.0], [0.0], [10.0]])
    assert_legible(CurveDisplay.from_estimator(ExplainableKMeans(2, random_state=0), same).figure_)


def test_a_cluster_has_one_color_in_all_displays():
    model, table = model_and_rows(8, n_columns=2)
    tree = TreeDisplay.from_estimator(model)
    boxes_of_tree = [to_hex(p.get_facecolor()) for p in tree.ax_.patches if type(p).__name__ == "FancyBboxPatch"]
    assert boxes_of_tree == [cluster_color(code) for code in model.tree_.cluster[model.tree_.leaves].tolist()]
    legend = PartitionDisplay.from_estimator(model, table).ax_.get_legend()
    assert [to_hex(p.get_facecolor()) for p in legend.get_patches()] == [cluster_color(code) for code in range(8)]
    strip = [to_hex(p.get_facecolor()) for p in ProfileDisplay.from_estimator(model, table).ax_.patches]
    assert strip == [cluster_color(code) for code in range(8)]


def test_rows_of_noise_are_in_the_legend_of_a_map_that_draws_some():
    _, table = model_and_rows(3, n_columns=2)
    labels = np.arange(len(table)) % 4 - 1
    for rows, said in ((labels, ["0", "1", "2", "noise"]), (np.maximum(labels, 0), ["0", "1", "2"])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CutwiseWarning)  # the labels have nothing to do with the table
            model = ClusterExplainer().fit(table, rows)
        display = PartitionDisplay.from_estimator(model, table)
        assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == said


def test_axes_that_are_given_are_drawn_on_and_the_tree_shrinks_to_them():
    from matplotlib import pyplot

    model, table = model_and_rows(8, n_columns=2)
    figure, axes = pyplot.subplots(2, 2, figsize=(10, 8))
    for display, ax in (
        (TreeDisplay.from_estimator(model, ax=axes[0, 0]), axes[0, 0]),
        (PartitionDisplay.from_estimator(model, table, ax=axes[0, 1]), axes[0, 1]),
        (ProfileDisplay.from_estimator(model, table, ax=axes[1, 0]), axes[1, 0]),
        (CurveDisplay.from_estimator(model, table, ax=axes[1, 1]), axes[1, 1]),
    ):
        assert display.ax_ is ax
        assert display.figure_ is figure
    sizes = {text.get_fontsize() for text in axes[0, 0].texts}
    assert max(sizes) < 8.5


def test_a_tree_too_large_to_draw_is_an_error_that_says_how_to_see_it(monkeypatch):
    def no_memory(figure):
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr("matplotlib.figure.Figure.draw_without_rendering", no_memory)
    with pytest.raises(InvalidInputError, match=r"inches does not fit in memory\. Give axes"):
        TreeDisplay.from_estimator(model_and_rows(2)[0])


def test_a_tree_shrinks_with_axes_that_a_neighbor_makes_narrower():
    from matplotlib import pyplot

    model, table = model_and_rows(3, n_columns=2)
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3), layout="constrained")
    TreeDisplay.from_estimator(model, ax=axes[0])
    width = axes[0].get_window_extent().width
    before = [text.get_fontsize() for text in axes[0].texts]
    PartitionDisplay.from_estimator(model, table, ax=axes[1])
    assert_legible(figure)
    shrunk = axes[0].get_window_extent().width / width
    assert shrunk < 0.97
    assert np.allclose([text.get_fontsize() for text in axes[0].texts], np.multiply(before, shrunk), rtol=0.02)


@pytest.mark.parametrize(
    ("case", "style"),
    [*((case, "default") for case in (*list(CASES)[:2], "a chain of 12")), ("2 clusters", "dark_background")],
)
def test_half_a_page_is_enough_on_light_and_dark_styles(case, style):
    from matplotlib import pyplot

    model, table = CASES[case]()
    with pyplot.style.context(style):
        for draw in (TreeDisplay.from_estimator, ProfileDisplay.from_estimator):
            figure, ax = pyplot.subplots(figsize=(3.3, 3.0))
            draw(model, table, ax=ax)
            assert_legible(figure)
            texts = boxes(figure)
            assert min(text.get_fontsize() for text in texts) >= 5
            assert_stands_out(figure, texts)


def assert_stands_out(figure, texts):
    """The color of each text and that of what lies below differ as WCAG asks of large letters."""
    for text in texts:
        text.set_visible(False)
    figure.canvas.draw()
    picture = np.asarray(figure.canvas.buffer_rgba())[:, :, :3] / 255
    for text, box in texts.items():
        below = picture[picture.shape[0] - int((box.y0 + box.y1) / 2), int((box.x0 + box.x1) / 2)]
        lighter, darker = sorted(map(luminance, (to_rgb(text.get_color()), below)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 3, text


def luminance(rgb):
    """Relative luminance as the Web Content Accessibility Guidelines define it."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_held_out_rows_are_counted_in_the_tree():
    model, table = model_and_rows(8)
    display = TreeDisplay.from_estimator(model, table[:30])
    assert display.leaf_rows.sum() == 30


def test_shares_in_the_tree_are_those_of_the_rules():
    model = ExplainableKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]], sample_weight=[1, 1, 3])
    figures = [text.get_text() for text in TreeDisplay.from_estimator(model).ax_.texts]
    assert {"2 rows · 40.0 % · 100 % pure", "1 row · 60.0 % · 100 % pure"} <= set(figures)


def test_dollar_signs_and_line_breaks_in_names_are_only_text():
    table = pd.DataFrame({"price in $ and $^{_": [0.0, 1.0, 9.0, 10.0], "line\nbreak\ttab": [0.0, 9.0, 1.0, 10.0]})
    model = ClusterExplainer().fit(table, ["$a$", "$b$", "$c^$", "\\frac"])
    for display in (
        TreeDisplay.from_estimator(model),
        PartitionDisplay.from_estimator(model, table),
        ProfileDisplay.from_estimator(model, table),
    ):
        assert_legible(display.figure_)
        shown = {text.get_text() for text in display.ax_.findobj(match=lambda a: hasattr(a, "get_text"))}
        assert any("$" in text for text in shown)
        assert not any("\n" in text for text in shown if "break" in text)


def test_names_that_people_gave_stand_in_the_pictures():
    model, table = model_and_rows(8, n_columns=2)
    model.name_clusters({0: "students", 1: "retired"})
    try:
        for display in (
            TreeDisplay.from_estimator(model),
            ProfileDisplay.from_estimator(model, table),
        ):
            shown = {text.get_text() for text in display.ax_.findobj(match=lambda a: hasattr(a, "get_text"))}
            assert {"students", "retired", "2"} <= shown
    finally:
        model.name_clusters({0: None, 1: None})


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError) as caught:
        TreeDisplay.from_estimator(model_and_rows(2)[0])
    assert (
        str(caught.value) == 'Drawing needs matplotlib, which is not installed. Install it: pip install "cutwise[plot]"'
    )


def test_what_is_no_fitted_model_is_refused():
    with pytest.raises(NotFittedError, match="ExplainableKMeans instance is not fitted"):
        TreeDisplay.from_estimator(ExplainableKMeans(3))
    with pytest.raises(TypeError, match="A display takes a fitted model of cutwise, not list"):
        TreeDisplay.from_estimator([1, 2])
