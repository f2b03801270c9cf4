"""Scalers in front of a model, and columns that outweigh all others."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, load_wine, make_circles
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from cutwise import (
    ClusterExplainer,
    ExplainableKernelKMeans,
    ExplainableKMeans,
    ExplainableKMedians,
    TableScaler,
    explain_pipeline,
    export_text,
)
from cutwise.exceptions import (
    ColumnMismatchError,
    DominantColumnWarning,
    InvalidInputError,
    ScaledColumnsWarning,
    UnsupportedInputError,
)
from cutwise.metrics import imm_guarantee

LOG = FunctionTransformer(np.log1p, np.expm1)
X = load_wine(as_frame=True).data


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [MinMaxScaler()],
        [RobustScaler()],
        [MaxAbsScaler()],
        [LOG, StandardScaler()],
        [FunctionTransformer(np.log, np.exp), StandardScaler()],
        [make_pipeline(FunctionTransformer(np.log, np.exp), StandardScaler())],
        ["passthrough", StandardScaler()],
        [StandardScaler(), make_pipeline(None, "passthrough")],
    ],
)
def test_a_pipeline_is_explained_in_the_columns_that_came_in_row_by_row(steps):
    pipeline = make_pipeline(*steps, ExplainableKMeans(4, max_leaves=7, random_state=0)).fit(X)
    model = explain_pipeline(pipeline)
    np.testing.assert_array_equal(model.predict(X), pipeline.predict(X))
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.score(X) == pytest.approx(pipeline.score(X))
    # Thresholds are in the units of the table, between the same neighboring rows.
    tree, scaled = model.tree_, pipeline[-1].tree_
    for node in np.flatnonzero(tree.feature >= 0):
        column = X.iloc[:, tree.feature[node]]
        assert column.min() <= tree.threshold[node] < column.max()
        assert len(repr(float(tree.threshold[node]))) < 10
    np.testing.assert_array_equal(scaled.n_node_samples, tree.n_node_samples)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler()])
def test_rows_of_float32_are_where_the_pipeline_places_them_though_scalers_round(scaler):
    far, tiny = 1e6 + load_iris().data, 1e-7 * load_iris().data
    for values in (load_iris().data, np.rint(X.to_numpy()), far, tiny):
        rows = values.astype(np.float32)
        pipeline = make_pipeline(scaler, ExplainableKMedians(3, max_leaves=6, random_state=0)).fit(rows)
        model = explain_pipeline(pipeline)
        np.testing.assert_array_equal(model.predict(rows), pipeline.predict(rows))
        if values is not far:
            assert all(len(repr(float(t))) < 10 for t in model.tree_.threshold[model.tree_.feature >= 0])


def test_a_pipeline_explained_has_the_smallest_changes_of_the_scaler_as_preprocessor_and_no_guarantee():
    iris = load_iris().data
    options = {"n_clusters": 3, "max_leaves": 5, "algorithm": "imm", "random_state": 0}
    model = explain_pipeline(make_pipeline(RobustScaler(), ExplainableKMeans(**options)).fit(iris))
    same = ExplainableKMeans(**options, preprocessor=RobustScaler()).fit(iris)
    assert model.tree_.equals(same.tree_, counts=False)
    assert model.smallest_changes(iris) == same.smallest_changes(iris)
    assert np.isnan([imm_guarantee(same), imm_guarantee(model)]).all()
    assert "at most" not in export_text(model)


A, B = list(X.columns[:6]), list(X.columns[6:])


@pytest.mark.parametrize(
    "columns",
    [
        make_column_transformer((StandardScaler(), B), remainder="passthrough"),
        make_column_transformer((make_pipeline(LOG, StandardScaler()), B), (MinMaxScaler(), slice(1, 4))),
        make_column_transformer(("drop", A[:2]), (RobustScaler(), [9, 12, 6]), (MaxAbsScaler(), []), (LOG, A[3:])),
    ],
)
def test_scalers_of_some_columns_each_are_undone_row_by_row(columns):
    rows = X.assign(vineyard="text")[[*A, *B, "vineyard"]]
    if columns.remainder == "passthrough":
        rows = X
    pipeline = make_pipeline(columns, MinMaxScaler(), ExplainableKMeans(5, max_leaves=8, random_state=0)).fit(rows)
    model = explain_pipeline(pipeline)
    np.testing.assert_array_equal(model.predict(rows), pipeline.predict(rows))
    assert list(model.feature_names_in_) == list(rows.columns)
    assert model.score(X) == pytest.approx(pipeline.score(X)) if rows is X else "vineyard" not in str(model.rules())
    for node in np.flatnonzero(model.tree_.feature >= 0):
        column = rows.iloc[:, model.tree_.feature[node]]
        assert column.min() <= model.tree_.threshold[node] < column.max()


def test_names_that_steps_give_to_the_columns_of_an_array_are_not_those_of_the_array():
    columns = make_column_transformer((StandardScaler(), [6, 9])).set_output(transform="pandas")
    pipeline = make_pipeline(columns, ExplainableKMeans(3, preprocessor=None, random_state=0)).fit(X.to_numpy())
    model = explain_pipeline(pipeline)
    np.testing.assert_array_equal(model.predict(X.to_numpy()), pipeline.predict(X.to_numpy()))
    assert "x6" in str(model.rules()) or "x9" in str(model.rules())


def test_the_root_of_0_levels_and_dates_are_undone():
    visits, region, half = (part.ravel() for part in np.indices((3, 3, 4)))
    day = pd.Timestamp("2024-03-01") + pd.to_timedelta(half, unit="D")
    rows = pd.DataFrame({"visits": visits, "region": np.array(["N", "S", "W"])[region], "day": day})
    group = np.where(visits == 0, 0, np.where(region == 1, 1, np.where(half < 2, 2, 3)))
    root = make_pipeline(FunctionTransformer(np.sqrt, np.square), StandardScaler())
    columns = make_column_transformer((root, ["visits"]), remainder="passthrough").set_output(transform="pandas")
    pipeline = make_pipeline(columns, ClusterExplainer()).fit(rows, group)
    model = explain_pipeline(pipeline)
    np.testing.assert_array_equal(model.predict(rows), pipeline.predict(rows))
    assert str(model.rules()[0].rules[0]) == "visits <= 0"
    assert str(model.rules()[2].rules[0]) == "day < 2024-03-03 and visits > 0 and region != S"


def test_both_ends_of_an_interval_are_undone():
    rows = make_circles(200, factor=0.3, noise=0.05, random_state=0)[0] * [1, 30]
    model = ExplainableKernelKMeans(2, algorithm="imm", gamma=1, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(rows)
    tree = explain_pipeline(pipeline).tree_
    assert np.isfinite(tree.lower).any()
    np.testing.assert_array_equal(tree.predict(rows), pipeline.predict(rows))


def test_a_column_that_two_scalers_take_is_not_undone():
    twice = make_column_transformer((StandardScaler(), A), (MinMaxScaler(), A))
    with pytest.raises(InvalidInputError, match="can be undone"):
        explain_pipeline(make_pipeline(twice, ExplainableKMeans(3)).fit(X))


@pytest.mark.parametrize("seed", [0, 16, 25, 36, 38])
def test_thresholds_between_whole_numbers_are_whole_where_one_lies_between_row_and_center(seed):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, 200)
    whole = pd.DataFrame({"age": rng.integers(18, 60, 200) + 10 * group, "kids": rng.integers(0, 3, 200) + group})
    pipeline = make_pipeline(StandardScaler(), ExplainableKMeans(4, algorithm="exgreedy", n_init=1, random_state=0))
    pipeline.fit(whole)
    model = explain_pipeline(pipeline)
    inner = model.tree_.feature >= 0
    has_none = np.ceil(model._gaps[inner, 0]) >= model._gaps[inner, 1]
    assert ((model.tree_.threshold[inner] % 1 == 0) | has_none).all()
    np.testing.assert_array_equal(model.predict(whole), pipeline.predict(whole))


def test_steps_that_mix_columns_stay_in_front():
    pipeline = make_pipeline(PCA(3, random_state=0), StandardScaler(), ExplainableKMeans(3, random_state=0)).fit(X)
    model = explain_pipeline(pipeline)
    np.testing.assert_array_equal(model.predict(pipeline[:1].transform(X)), pipeline.predict(X))
    with pytest.raises(InvalidInputError, match="already in the columns"):
        explain_pipeline(make_pipeline(PCA(2), ExplainableKMeans(3)).fit(X))
    negated, swapped = (np.negative, np.negative), (np.fliplr, np.fliplr)
    for functions in (negated, swapped, (np.log, np.positive), (np.log, np.square)):
        step = FunctionTransformer(*functions, check_inverse=False)
        with pytest.raises(InvalidInputError, match="does not increase"):
            explain_pipeline(make_pipeline(step, ExplainableKMeans(3)).fit(X.to_numpy()))
    with pytest.raises(UnsupportedInputError, match="fitted Pipeline"):
        explain_pipeline(ExplainableKMeans(3))


def _square_from_zero(x):
    return np.square(np.maximum(x, 0))


def _signs(x):
    return x * np.where(np.arange(x.shape[1]) == 1, -1, 1)


@pytest.mark.parametrize(
    ("function", "inverse", "increases"),
    [
        (np.cbrt, lambda x: x**3, True),
        (np.arcsinh, np.sinh, True),
        (np.tanh, np.arctanh, True),
        (_square_from_zero, np.sqrt, True),
        (lambda x: -_signs(_signs(-x)), np.positive, True),
        (np.square, np.sqrt, False),
        (np.cos, np.arccos, False),
        (np.abs, np.abs, False),
        (_signs, _signs, False),
        (lambda x: np.where(x == 999, -1, x), np.positive, False),
        (lambda x: x + 2 * np.sin(3 * x), np.positive, False),
        (lambda x: np.floor(10 * x) / 10, np.positive, False),
        (lambda x: x + np.roll(x, 1, axis=1), lambda x: x - 1, False),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rules_hold_for_rows_unlike_those_of_fit_or_the_function_is_refused(function, inverse, increases, dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(scale=2, size=(300, 3)).astype(dtype)
    step = FunctionTransformer(function, inverse, check_inverse=False)
    pipeline = make_pipeline(step, StandardScaler(), ExplainableKMeans(4, max_leaves=6, random_state=0)).fit(rows)
    if not increases:
        with pytest.raises(InvalidInputError, match="does not increase"):
            explain_pipeline(pipeline)
        return
    model = explain_pipeline(pipeline)
    new = rng.normal(scale=6, size=(2000, 3)).astype(dtype)
    new[:800] = rng.choice(rows.ravel(), (800, 3)) + rng.choice([0, 1e-4], (800, 3))
    inner = model.tree_.feature >= 0
    values = new.astype(float)[:, model.tree_.feature[inner]]
    between = ((model._gaps[inner, 0] < values) & (values < model._gaps[inner, 1])).any(axis=1)
    assert between.mean() < 0.7
    np.testing.assert_array_equal(model.predict(new)[~between], pipeline.predict(new)[~between])


def test_a_function_that_makes_missing_values_is_refused_where_rules_place_them():
    rows = np.repeat(np.arange(12.0), 5)[:, np.newaxis]
    rows[::7] = np.nan
    root = FunctionTransformer(np.sqrt, np.square, check_inverse=False)
    pipeline = make_pipeline(root, ExplainableKMeans(3, random_state=0)).fit(rows)
    with pytest.raises(InvalidInputError, match="does not increase with column 0 alone over all numbers: not at -"):
        explain_pipeline(pipeline)
    # A tree may only ask whether a value is missing.
    with np.errstate(invalid="ignore"):
        pipeline = make_pipeline(root, ExplainableKMeans(2, random_state=0)).fit(np.repeat([[-1.0], [4.0]], 5, axis=0))
    assert str(pipeline[-1].rules()[0].rules[0]) == "x0 is known"
    with pytest.raises(InvalidInputError, match="does not increase with column 0 alone over all numbers: not at -"):
        explain_pipeline(pipeline)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_thresholds_are_found_where_an_inverse_grows_beyond_all_floats(dtype):
    rows = np.repeat([0.0011, 1.1, 2.9e5, 3.1e5], 5)[:, np.newaxis].astype(dtype)
    functions = (np.arcsinh, np.sinh), (np.log, np.exp)
    steps = [FunctionTransformer(*both, check_inverse=False) for both in functions]
    pipeline = make_pipeline(*steps, MaxAbsScaler(), ExplainableKMeans(3, random_state=0)).fit(rows)
    model = explain_pipeline(pipeline)
    assert model.tree_.threshold[model.tree_.feature >= 0].tolist() == [100_000, 0.6]
    np.testing.assert_array_equal(model.predict(rows), pipeline.predict(rows))


def test_a_function_of_frames_alone_is_refused():
    step = FunctionTransformer(lambda frame: frame.assign(ash=2 * frame.ash), lambda frame: frame, check_inverse=False)
    with pytest.raises(InvalidInputError, match=r"takes no array: .*'assign'\. Give one that takes arrays too"):
        explain_pipeline(make_pipeline(step, ExplainableKMeans(3, preprocessor=None, random_state=0)).fit(X))


def test_scaled_columns_of_a_frame_are_named():
    scaled = pd.DataFrame(StandardScaler().fit_transform(X), columns=X.columns)
    with pytest.warns(ScaledColumnsWarning, match="explain_pipeline"):
        ExplainableKMeans(3, random_state=0).fit(scaled)
    ExplainableKMeans(3, random_state=0).fit(scaled.to_numpy())


@pytest.mark.parametrize("scaler", ["StandardScaler", "MaxAbsScaler"])
@pytest.mark.parametrize(("estimator", "power"), [(ExplainableKMeans, 2), (ExplainableKMedians, 1)])
def test_one_warning_names_the_column_that_holds_nearly_all_of_the_cost(estimator, power, scaler):
    # Limits are priced by growing another tree, and that says nothing again.
    table = X.assign(proline=10 * X["proline"], flag=(X["ash"] > 2.5) * 1.0)
    model = estimator(3, random_state=0, max_depth=2)
    table = table.astype(pd.SparseDtype(float, 0.0)) if scaler == "MaxAbsScaler" else table
    with pytest.warns(DominantColumnWarning) as warned:
        model.fit(table)
    costs = (np.abs(table.to_numpy() - model.reference_.centers[model.reference_.labels]) ** power).sum(axis=0)
    assert table.columns[costs.argmax()] == "proline"
    assert len(warned) == 1
    assert f"Column 'proline' holds {costs.max() / costs.sum():.1%} of the cost" in str(warned[0].message)
    assert f"preprocessor={scaler}()" in str(warned[0].message)


def test_the_column_that_outweighs_all_others_of_a_mixed_table_as_it_is_is_named():
    regions = np.where(X["ash"] > 2.4, "north", "south")
    table = X[["alcohol", "proline"]].assign(region=regions, ash=X["ash"].where(X["ash"] > 2))
    with pytest.warns(DominantColumnWarning, match=r"'proline' holds \S+% .* preprocessor=TableScaler\(\).$"):
        ExplainableKMeans(3, random_state=0, preprocessor=TableScaler("none")).fit(table)
    ExplainableKMeans(3, random_state=0, preprocessor=TableScaler()).fit(table)  # a warning would be an error


def test_a_scaler_that_leaves_complete_numbers_as_they_are_silences_nothing():
    with pytest.warns(
        DominantColumnWarning, match=r"'proline' holds \S+% .* If they should not, set preprocessor=None\.$"
    ):
        ExplainableKMeans(3, random_state=0, preprocessor=TableScaler("none")).fit(X)


@pytest.mark.parametrize(
    ("table", "params", "in_verbose"),
    [
        (X, {"preprocessor": StandardScaler()}, False),
        (X[["proline"]], {}, False),
        (X, {"n_clusters": 1}, False),
        (X.drop(columns=["proline", "magnesium"]), {}, False),
        (X, {"preprocessor": None}, True),
        (X.to_numpy(), {}, True),
        (X, {"reference": X.to_numpy()[[0, 70, 140]]}, True),
    ],
    ids=["a scaler", "one column", "one cluster", "comparable columns", "None", "an array", "a reference"],
)
def test_no_warning_where_a_column_cannot_be_a_surprise(table, params, in_verbose, capsys):
    model = ExplainableKMeans(3, random_state=0, verbose=1).set_params(**params)
    model.fit(table)  # a warning would be an error
    assert ("of the cost" in capsys.readouterr().err) == in_verbose


@pytest.mark.parametrize("fitted", [True, False])
def test_the_steps_before_a_pipelines_clusterer_are_where_distances_are_measured(fitted):
    pipeline = make_pipeline(StandardScaler(), KMeans(3, n_init=10, random_state=0))
    model = ExplainableKMeans(3, reference=pipeline.fit(X) if fitted else pipeline).fit(X)
    scaler, kmeans = StandardScaler().fit(X), KMeans(3, n_init=10, random_state=0)
    apart = ExplainableKMeans(3, reference=kmeans.fit(scaler.transform(X)), preprocessor=scaler).fit(X)
    assert model.cost_ratio_ == pytest.approx(apart.cost_ratio_)
    assert model.cost_ratio_ > 1
    assert model.score(X) == pytest.approx(-model.cost_)
    assert str(model.rules()) == str(apart.rules())


def test_a_fitted_pipelines_steps_are_used_as_they_are_and_on_its_own_columns():
    pipeline = make_pipeline(StandardScaler(), KMeans(3, n_init=10, random_state=0)).fit(X[::2])
    model = ExplainableKMeans(3, reference=pipeline).fit(X)
    np.testing.assert_array_equal(model.preprocessor_.mean_, pipeline[0].mean_)
    np.testing.assert_array_equal(model.reference_.labels, pipeline.predict(X))
    with pytest.raises(ColumnMismatchError, match="reference=Pipeline"):
        ExplainableKMeans(3, reference=pipeline).fit(X.iloc[:, ::-1])
