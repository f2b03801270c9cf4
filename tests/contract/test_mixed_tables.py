"""Tables of texts, categories, dates and gaps through every estimator: new rows, files, preprocessors, weights."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, RobustScaler, StandardScaler

from cutwise import (
    ClusterExplainer,
    ExplainableKMeans,
    ExplainableKMedians,
    TableScaler,
    export_python,
    load_model,
)
from cutwise.exceptions import (
    IdentifierWarning,
    InvalidInputError,
    NotFiniteError,
    UnknownLevelsWarning,
    UnsupportedInputError,
)

N = 240
RNG = np.random.default_rng(5)
KIND = RNG.integers(0, 3, N)
FRAME = pd.DataFrame(
    {
        "income": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(50 + 9 * KIND, 5)),
        "children": RNG.integers(0, 4, N),
        "region": np.array(["N", "W", "it's"])[np.where(RNG.random(N) < 0.85, KIND, 2 - KIND)],
        "plan": np.where(RNG.random(N) < 0.3, None, np.array(["a b", "pro", "unknown"])[RNG.integers(0, 3, N)]),
        "grade": pd.Categorical(
            np.array(["low", "mid", "high"])[KIND], categories=["low", "mid", "high"], ordered=True
        ),
        "member": RNG.random(N) < 0.5,
        "since": pd.date_range("2024-01-01", periods=N, freq="31h"),
    }
)
INTERVALS = pd.cut(KIND + RNG.random(N) / 2, [0, 1, 2, 3])
MODELS = {
    "search": ExplainableKMeans(4, algorithm="search", random_state=0),
    "imm": ExplainableKMeans(4, algorithm="imm", max_leaves=7, random_state=0),
    "exgreedy": ExplainableKMeans(4, algorithm="exgreedy", random_state=0),
    "exkmc": ExplainableKMeans(4, algorithm="exkmc", random_state=0),
    "medians": ExplainableKMedians(4, random_state=0),
    "explainer": ClusterExplainer(),
}


def fitted(name, frame=FRAME, **fit):
    model = MODELS[name]
    return model.fit(frame, KIND, **fit) if name == "explainer" else model.fit(frame, **fit)


@pytest.mark.parametrize("levels", [INTERVALS, INTERVALS.as_unordered(), INTERVALS.astype(str)])
def test_intervals_are_told_apart_by_their_texts(levels, tmp_path):
    frame = pd.DataFrame({"x": 1.0, "level": levels})
    model = ExplainableKMeans(3, random_state=0).fit(frame)
    assert len(set(zip(KIND.tolist(), model.labels_.tolist(), strict=True))) == len(model.classes_) == 3
    model.save(tmp_path / "m.json")
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").predict(frame), model.labels_)
    np.testing.assert_array_equal(model.to_sklearn().predict(frame), model.labels_)
    exec(export_python(model), own := {})
    assert [own["cluster_of"](row) for row in frame.to_dict("records")] == model.labels_.tolist()


@pytest.mark.parametrize("name", MODELS)
def test_new_rows_are_placed_as_those_of_fit_and_rules_files_and_libraries_agree(name, tmp_path):
    model = fitted(name)
    assert model.column_kinds_ == {
        "income": "number",
        "children": "integer",
        "region": "category",
        "plan": "category",
        "grade": "ordered",
        "member": "bool",
        "since": "date",
    }
    np.testing.assert_array_equal(model.predict(FRAME), model.labels_)
    np.testing.assert_array_equal(model.predict(FRAME.iloc[::-3]), model.labels_[::-3])
    grade = pl.Enum(["low", "mid", "high"])
    frame = pl.from_pandas(FRAME).with_columns(pl.col("grade").cast(pl.String).cast(grade))
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    assert model.transform(FRAME).shape == (N, len(model.classes_))
    assert len(model.explain(FRAME[:9], changes=True)) == 9
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(FRAME), model.labels_)
    np.testing.assert_array_equal(again.transform(FRAME), model.transform(FRAME))
    assert str(again.rules()) == str(model.rules())
    assert again.column_kinds_ == model.column_kinds_
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


@pytest.mark.parametrize("name", ["imm", "exgreedy", "medians", "explainer"])
def test_a_category_of_two_levels_a_truth_value_and_a_sign_grow_one_tree(name):
    frame = FRAME[["income", "children"]].fillna(50.0).assign(flag=FRAME["member"])
    texts = frame.assign(flag=np.where(frame["flag"], "yes", "no"))
    signs = frame.assign(flag=np.where(frame["flag"], 1, -1))
    scaler = TableScaler() if name != "medians" else TableScaler("robust", "absolute")
    labels = [
        (fitted(name, table) if table is texts else _with(name, scaler, table)).labels_
        for table in (texts, frame, signs)
    ]
    assert all(np.array_equal(labels[0], other) for other in labels[1:])


def _with(name, scaler, table):
    model = MODELS[name].set_params(preprocessor=scaler)
    try:
        return fitted(name, table)
    finally:
        model.set_params(preprocessor="auto")


def test_a_preprocessor_gets_the_table_as_it_was_passed_and_rules_stay_on_its_columns():
    preprocessor = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["region", "plan"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["income"]),
        remainder="drop",
    )
    model = ExplainableKMeans(3, preprocessor=preprocessor, random_state=0).fit(FRAME)
    np.testing.assert_array_equal(model.predict(FRAME), model.labels_)
    assert model.transform(FRAME).shape == (N, 3)
    assert "region" in str(model.rules())


@pytest.mark.parametrize("scaler", [StandardScaler(), RobustScaler()])
def test_scalers_of_numbers_refuse_categories_and_gaps_and_name_one_that_takes_them(scaler):
    numbers = pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) ** 2})
    for table in (numbers.assign(city=["N", "S", "W"] * 10), numbers.assign(a=numbers["a"].where(numbers["a"] > 3))):
        with pytest.raises((UnsupportedInputError, NotFiniteError), match=r"\bUse TableScaler\(\)"):
            ExplainableKMeans(3, preprocessor=scaler).fit(table)
    bools_and_dates = numbers.assign(a=numbers["a"] > 9, b=pd.date_range("2020-01-01", periods=30))
    assert ExplainableKMeans(2, preprocessor=StandardScaler(), random_state=0).fit(bools_and_dates).n_leaves_ == 2


def test_rows_with_levels_never_seen_are_placed_with_a_warning_or_refused():
    model = ExplainableKMeans(3, random_state=0).fit(FRAME[["region"]])
    with pytest.warns(UnknownLevelsWarning, match="'region' holds a level never seen at fit: 'X'"):
        model.predict(pd.DataFrame({"region": ["N", "X"]}))
    model.set_params(handle_unknown="error")
    with pytest.raises(InvalidInputError, match="Those of fit were 'N', 'W'"):
        model.predict(pd.DataFrame({"region": ["N", "X"]}))


def test_columns_that_only_name_rows_are_left_out_and_those_that_number_them_named():
    frame = FRAME[["income", "region"]].assign(name=[f"row {i}" for i in range(N)], row=np.arange(N))
    with pytest.warns(
        IdentifierWarning, match="name is left out: 240 different texts in 240 rows; row numbers the rows"
    ):
        model = ExplainableKMeans(3, random_state=0).fit(frame)
    assert model.left_out_ == {"name": "240 different texts in 240 rows"}
    with pytest.warns(IdentifierWarning, match=r"paid is left out: 2\d\d different texts .* Make numbers of amounts"):
        ExplainableKMeans(3, random_state=0).fit(frame.assign(paid=[f"${i / 7:.2f}" for i in range(N)]))
    assert model.predict(frame.drop(columns="name")).tolist() == model.labels_.tolist()
    with pytest.warns(IdentifierWarning, match="row numbers"):
        asked = ExplainableKMeans(3, categorical_features=["name", "region"], random_state=0).fit(frame)
    assert asked.left_out_ == {}


def test_the_reference_of_one_fit_may_be_given_to_another():
    first = ExplainableKMeans(4, random_state=0).fit(FRAME)
    limited = ExplainableKMeans(4, reference=first.reference_, max_depth=2).fit(FRAME)
    np.testing.assert_array_equal(limited.reference_.centers, first.reference_.centers)


@pytest.mark.parametrize("name", ["imm", "exgreedy", "exkmc", "explainer"])
def test_weights_are_repeated_rows(name):
    weights = np.random.default_rng(1).integers(1, 4, N)
    rows = np.repeat(np.arange(N), weights)
    scaler = TableScaler().fit(FRAME.iloc[rows])
    reference = scaler.transform(FRAME.iloc[[0, 1, 4, 7]])
    model = MODELS[name]
    if name == "explainer":
        weighted = model.fit(FRAME, KIND, sample_weight=weights).predict(FRAME)
        repeated = model.fit(FRAME.iloc[rows], KIND[rows]).predict(FRAME)
    else:
        model = ExplainableKMeans(4, algorithm=name, reference=reference)
        weighted = model.fit(FRAME, sample_weight=weights).predict(FRAME)
        repeated = model.fit(FRAME.iloc[rows]).predict(FRAME)
    np.testing.assert_array_equal(weighted, repeated)
