"""Tables of any kind of column that are not in memory: the bytes of the same rows in memory."""

import datetime as dt
import io
import json
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler

from cutwise import Batches, ClusterExplainer, ExplainableKMeans, TableScaler, export_json, report
from cutwise.exceptions import (
    ChangedDataError,
    CutwiseError,
    IdentifierWarning,
    InvalidInputError,
    UnknownLevelsWarning,
    UnsupportedInputError,
)
from cutwise.table import mixed

from .test_fits import IS_HERE, RECIPES, Workers, door_of, lazy_by_workers

pytestmark = pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")


@pytest.fixture(autouse=True)
def rows_stay_with_workers(monkeypatch):
    monkeypatch.setattr("cutwise.passes.rows.COPIED_BYTES", -1)
    for module in ("_base", "cluster_explainer"):
        monkeypatch.setattr(f"cutwise.estimators.{module}.as_lazy", lazy_by_workers)


@pytest.mark.parametrize("value", ["new", None])
def test_levels_that_come_with_a_later_pass_are_an_error(value):
    X = pd.DataFrame({"town": ["a", "b", "c"] * 30, "x": np.arange(90.0)})
    other = X.copy()
    other.loc[3, "town"] = value
    calls = []

    def parts():
        calls.append(len(calls))
        return iter([X[:40], X[40:]] if len(calls) < 3 else [other[:40], other[40:]])

    with pytest.raises(ChangedDataError, match=r"column 'town'.*Keep its source unchanged"):
        ExplainableKMeans(3, random_state=0).fit(Batches(parts))


@pytest.mark.parametrize("has_text", [False, True])
@pytest.mark.filterwarnings("default::cutwise.exceptions.IdentifierWarning")
def test_row_numbers_are_warned_of_as_in_memory(has_text):
    rng, n = np.random.default_rng(0), 500
    X = pd.DataFrame({"id": rng.permutation(n) + 7, "age": rng.integers(0, n, n), "x": rng.normal(size=n)})
    if has_text:
        X["town"] = rng.choice(["a", "b"], n)
    said = []
    for table in (X, Batches([X[:100], X[100:]])):
        with pytest.warns(IdentifierWarning) as caught:
            ExplainableKMeans(3, algorithm="imm", random_state=0).fit(table)
        said.append([str(each.message) for each in caught if each.category is IdentifierWarning])
    assert said[0] == said[1]
    assert "id numbers the rows" in said[0][0]
    assert "age" not in said[0][0]


def test_a_fitted_transformer_is_given_columns_by_name_as_they_were():
    rng, n = np.random.default_rng(0), 900
    z = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "age": rng.normal(size=n) + 3 * z,
            "town": np.array(["a", "b", "c", "d"])[(rng.integers(0, 2, n) + z) % 4],
            "visits": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 50, n) + 20.0 * z),
            "size": pd.Categorical(np.array(["s", "m", "l"])[z], categories=["s", "m", "l"], ordered=True),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 500, n) + 100 * z, "D"),
            "stay": pd.to_timedelta(rng.integers(1, 90, n), "min"),
            "member": rng.random(n) < 0.3,
        }
    )
    X.loc[rng.random(n) < 0.1, "town"] = None
    X.loc[rng.random(n) < 0.1, "since"] = pd.NaT
    since = FunctionTransformer(lambda X: (X - pd.Timestamp("2020-01-01")) / pd.Timedelta(days=100))
    fitted = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), RobustScaler()), ["visits", "age"]),
            ("texts", OneHotEncoder(sparse_output=False), ["town"]),
            ("order", OrdinalEncoder(categories=[["s", "m", "l"]]), ["size"]),
            ("dates", make_pipeline(since, SimpleImputer()), ["since"]),
            ("lengths", FunctionTransformer(lambda X: X / pd.Timedelta(hours=1)), ["stay"]),
            ("rest", "passthrough", ["member"]),
        ]
    ).fit(X)
    shuffled = X.iloc[rng.permutation(n)]
    parts = [shuffled[:400], shuffled[400:410], shuffled[410:]]
    for names in (list(X), ["age", "member"]):
        own = fitted
        if names != list(X):
            own = ColumnTransformer([("a", StandardScaler(), ["age"])], remainder="passthrough").fit(X[names])
        model = ExplainableKMeans(3, algorithm="imm", preprocessor=own, random_state=0)
        in_memory = export_json(model.fit(X[names]))
        assert export_json(model.fit(Batches([part[names] for part in parts]))) == in_memory


KINDS = (
    "number",
    "integer",
    "rounded",
    "bool",
    "text",
    "two texts",
    "many texts",
    "date",
    "instant",
    "duration",
    "enum",
)


def a_column(rng, kind, cluster, gaps):
    n, day = len(cluster), dt.datetime(2024, 2, 27)
    levels = {"two texts": 2, "many texts": 300, "enum": 4}.get(kind, int(rng.integers(1, 9)))
    codes = (rng.integers(0, levels, n) * rng.integers(1, 3, n) + cluster) % levels
    minutes = (rng.integers(0, 9000, n) + 3000 * cluster).tolist()
    values, dtype = {
        "number": (lambda: rng.normal(size=n) + cluster, pl.Float64),
        "rounded": (lambda: np.round(rng.normal(size=n) * 99), pl.Float64),
        "integer": (lambda: rng.integers(0, 400, n), pl.Int64),
        "bool": (lambda: rng.random(n) < 0.3, pl.Boolean),
        "date": (lambda: [day.date() + dt.timedelta(days=m % 500) for m in minutes], pl.Date),
        "instant": (lambda: [day + dt.timedelta(minutes=m) for m in minutes], pl.Datetime("us")),
        "duration": (lambda: [dt.timedelta(minutes=m) for m in minutes], pl.Duration("us")),
        "enum": (lambda: [("low", "mid", "high", "top")[c] for c in codes], pl.Enum(["low", "mid", "high", "top"])),
    }.get(kind, (lambda: [f"level {code}" for code in codes], pl.String))
    values = [None if gap else value for value, gap in zip(np.array(values(), dtype=object), gaps, strict=True)]
    return pl.Series(values, dtype=dtype)


def a_table(data, rng):
    n = data.draw(st.sampled_from([20, 60, 250]))
    cluster = rng.integers(0, 3, n)
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    shares = [data.draw(st.sampled_from([0.0, 0.02, 0.3])) for _ in kinds]
    columns = {
        f"{kind} {i}": a_column(rng, kind, cluster, rng.random(n) < share)
        for i, (kind, share) in enumerate(zip(kinds, shares, strict=True))
    }
    return pl.DataFrame(columns), cluster


def fitted(model, X, *args, **options):
    try:
        return model.fit(X, *args, **options)
    except CutwiseError as error:
        return type(error)


def assert_same(in_batches, in_memory):
    if isinstance(in_memory, type) or isinstance(in_batches, type):
        assert in_batches is in_memory
        return
    assert export_json(in_batches) == export_json(in_memory)
    assert np.array_equal(in_batches.cluster_centers_, in_memory.cluster_centers_)
    assert np.array_equal(in_batches._gaps, in_memory._gaps, equal_nan=True)
    assert np.array_equal(in_batches._column_spreads, in_memory._column_spreads, equal_nan=True)
    assert in_batches._kinds == in_memory._kinds
    assert in_batches.reference_.cost == in_memory.reference_.cost


@pytest.mark.parametrize("n_examples", [15, pytest.param(80, marks=pytest.mark.slow)])
def test_every_door_partition_and_order_gives_the_bytes_of_memory(n_examples):
    of_any_table = settings(max_examples=n_examples, phases=(Phase.explicit, Phase.generate))
    of_any_table(given(data=st.data())(same_through_any_door))()


def same_through_any_door(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    frame, cluster = a_table(data, rng)
    n, k, name = len(frame), data.draw(st.integers(1, 5)), None
    if data.draw(st.booleans()):
        frame, name = frame.with_columns(pl.Series("w", rng.integers(rng.integers(2), 5, n))), "w"
    options = {
        "max_leaves": data.draw(st.sampled_from([None, k + 1, 2 * k + 3])),
        "expansion": data.draw(st.sampled_from(["exkmc", "expand"])),
        "max_depth": data.draw(st.sampled_from([None, None, 3, 5])),
        "min_samples_leaf": data.draw(st.sampled_from([1, 1, 3, 0.05])),
    }
    if explains := data.draw(st.booleans()):
        labels = np.where(rng.random(n) < 0.1, rng.integers(-1, 3, n), cluster)
        frame = frame.with_columns(pl.Series("y", labels))
        options |= {
            "max_leaves": None,
            "algorithm": data.draw(st.sampled_from(["auto", "expand", "cart", *RECIPES[:4]])),
        }
    else:
        options |= {
            "algorithm": data.draw(st.sampled_from(RECIPES)),
            "search_effort": data.draw(st.sampled_from([0.0, 1.0])),
            "n_init": 2,
            "random_state": 0,
            "preprocessor": data.draw(st.sampled_from(["auto", "auto", TableScaler("minmax"), TableScaler("none")])),
        }
    parts = np.array_split(rng.permutation(n), data.draw(st.sampled_from([1, 2, 7, min(n, 30)])))
    parts.insert(1, np.empty(0, dtype=int))
    doors = [name for name in ("workers", "polars", "duckdb", "pyarrow", "frames") if IS_HERE.get(name, True)]
    if any(isinstance(dtype, pl.Enum) for dtype in frame.dtypes):  # an order that Arrow's dictionaries do not keep
        doors = ["workers", "polars", "frames"]
    door = door_of(data.draw(st.sampled_from(doors)), frame, parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cutwise.passes.rows.LOADED_BYTES", data.draw(st.sampled_from([0, 1 << 26])))
        if explains:
            patch.setattr("cutwise.estimators.training.FitContext.in_memory", False)  # as few trees for "auto"
            models = [fitted(ClusterExplainer(**options), X, "y", sample_weight=name) for X in (door, frame)]
        else:
            models = [fitted(ExplainableKMeans(k, **options), X, sample_weight=name) for X in (door, frame)]
    assert_same(*models)


@pytest.fixture(scope="module")
def customers():
    rng = np.random.default_rng(3)
    cluster = rng.integers(0, 3, 500)
    return pl.DataFrame(
        {
            "income": pl.Series([None if i % 17 == 0 else 10.0 * c + i % 7 for i, c in enumerate(cluster)]),
            "region": pl.Series([None if i % 23 == 0 else "NSEW"[(c + i % 5 // 4) % 4] for i, c in enumerate(cluster)]),
            "since": pl.Series(
                [dt.date(2020, 1, 1) + dt.timedelta(days=int(300 * c + i % 90)) for i, c in enumerate(cluster)]
            ),
            "member": pl.Series([bool((c + i) % 2) for i, c in enumerate(cluster)]),
        }
    )


@pytest.mark.parametrize("door", ["polars", "duckdb", "pyarrow", "frames"])
def test_predict_places_rows_where_memory_does(customers, door):
    if not IS_HERE.get(door, True):
        pytest.skip(f"{door} is not installed")
    options = {"max_leaves": 12, "algorithm": "exkmc", "cut_features": ["income", "region"], "random_state": 0}
    model = ExplainableKMeans(6, **options).fit(customers.lazy())
    assert {0, 1} <= set(model.tree_.feature.tolist())
    rows = customers.vstack(customers[:4].with_columns(region=pl.lit("new")))
    labels = model.predict(rows).tolist()
    assert model.score(door_of(door, rows, [np.arange(len(rows))])) == model.score(rows)
    if door == "polars":
        assert model.predict(rows.lazy()).collect()["cluster"].to_list() == labels
    elif door == "pyarrow":
        dataset = ds.dataset(rows.to_arrow())
        assert model.predict(dataset).read_all()["cluster"].to_pylist() == labels
    elif door == "duckdb":
        found = model.predict(door_of(door, rows, [np.arange(len(rows))])).fetchall()
        assert [label for (label,) in found] == labels
    else:
        assert np.concatenate(list(model.predict(Batches([rows[:100], rows[100:]])))).tolist() == labels


def test_a_column_without_a_value_in_one_batch(customers):
    arrow = customers.to_arrow()
    order = np.argsort(customers["income"].is_not_null().to_numpy(), kind="stable")
    first = int(customers["income"].null_count())
    taken = arrow.take(pa.array(order))
    empty = taken.slice(0, first).set_column(0, "income", pa.nulls(first))  # its type says nothing
    for parts in ([empty, taken.slice(first)], [taken.slice(first), empty]):
        assert_same(
            ExplainableKMeans(3, random_state=0).fit(Batches(parts)),
            ExplainableKMeans(3, random_state=0).fit(customers.to_arrow()),
        )


def test_numbers_that_are_whole_in_one_batch_and_miss_some_in_another():
    rng = np.random.default_rng(0)
    frames = [pd.DataFrame({"a": rng.integers(0, 50, 40), "b": rng.normal(size=40)}) for _ in range(3)]
    frames[1] = frames[1].astype({"a": float})
    frames[1].loc[5, "a"] = np.nan
    whole = pd.concat(frames, ignore_index=True)
    in_batches = ExplainableKMeans(3, random_state=0).fit(Batches(frames))
    assert_same(in_batches, ExplainableKMeans(3, random_state=0).fit(whole))
    assert in_batches.column_kinds_["a"] == "integer"


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_by_workers", [False, True])
@pytest.mark.parametrize("has_text", [False, True])
def test_numbers_whose_types_differ_from_batch_to_batch_are_those_of_frames_put_together(has_text, is_by_workers, step):
    rng = np.random.default_rng(0)
    types = ["?", "i1", "i4", "i8", "u2", "f4", "f8"]
    of_batches = [(*pair, pair[0]) for pair in permutations(types, 2)] + [("i8", "?", "f8"), ("u8", "f4", "u8")]
    for own in of_batches[:: step if has_text or is_by_workers else min(step, 4)]:
        frames = [
            pd.DataFrame({"a": rng.integers(0, 2 if "?" in own else 40, 40), "b": rng.normal(size=40)}) for _ in own
        ]
        frames = [frame.astype({"a": dtype}) for frame, dtype in zip(frames, own, strict=True)]
        if own[1][0] == "f" and own[0] != "?":
            frames[1]["a"] += frames[1]["a"].dtype.type(0.3)
        frames = [frame.assign(t=rng.choice(list("uv"), 40)) if has_text else frame for frame in frames]
        model = ExplainableKMeans(3, max_leaves=9, algorithm="exkmc", n_init=1, random_state=0)
        in_batches = clone(model).fit(Workers(frames) if is_by_workers else Batches(frames))
        in_memory = model.fit(whole := pd.concat(frames, ignore_index=True))
        assert_same(in_batches, in_memory)
        assert in_batches.score(Batches(frames)) == in_memory.score(whole)


def test_numbers_of_a_text_file_that_is_read_in_chunks():
    rng = np.random.default_rng(0)
    rows = zip(rng.normal(size=400), np.append(rng.integers(0, 9, 300), rng.integers(0, 9, 100) + 0.5), strict=True)
    csv = "a,b\n" + "".join(f"{x:.3f},{y:g}\n" for x, y in rows)
    chunks = Batches(lambda: pd.read_csv(io.StringIO(csv), chunksize=100))
    whole = pd.read_csv(io.StringIO(csv))
    in_batches, in_memory = (ExplainableKMeans(3, random_state=0).fit(X) for X in (chunks, whole))
    assert_same(in_batches, in_memory)
    described = (report(in_batches, X, curve=False).summary for X in (chunks, whole))
    assert len({json.dumps(summary) for summary in described}) == 1


def test_dictionaries_that_differ_from_batch_to_batch():
    rng = np.random.default_rng(0)
    texts, numbers = rng.choice(list("dacb"), 120), rng.normal(size=120)
    parts = [slice(0, 40), slice(40, 90), slice(90, 120)]
    plain = pd.DataFrame({"t": texts, "x": numbers})
    in_memory = ExplainableKMeans(3, random_state=0).fit(plain)
    orders = (list("dcba"), list("abcd"), list("bdac"))
    of_pandas = [
        pd.DataFrame({"t": pd.Categorical(texts[part], own), "x": numbers[part]})
        for part, own in zip(parts, orders, strict=True)
    ]
    of_arrow = [pa.record_batch({"t": pa.array(texts[part]).dictionary_encode(), "x": numbers[part]}) for part in parts]
    of_polars = [
        pl.DataFrame({"t": pl.Series(texts[part], dtype=pl.Categorical), "x": numbers[part]}) for part in parts
    ]
    for frames in (of_pandas, of_arrow, of_polars):
        in_batches = ExplainableKMeans(3, random_state=0).fit(Batches(frames))
        assert in_batches._kinds == in_memory._kinds
        assert str(in_batches.rules()) == str(in_memory.rules())
    for frame in of_pandas:
        frame["t"] = frame["t"].cat.as_ordered()
    with pytest.raises(InvalidInputError, match="column 't' holds levels in an order"):
        ExplainableKMeans(3).fit(Batches(of_pandas))


def test_identifiers_are_left_out_as_in_memory(customers, monkeypatch):
    frame = customers.with_columns(ticket=pl.Series([f"t{i}" for i in range(len(customers))]))
    with pytest.warns(IdentifierWarning, match="500 different texts in 500 rows"):
        in_batches = ExplainableKMeans(3, random_state=0).fit(Batches([frame[:200], frame[200:]]))
    assert_same(in_batches, ExplainableKMeans(3, random_state=0).fit(frame))
    monkeypatch.setattr(mixed, "MOST_ITEMS", 100)
    with pytest.raises(
        InvalidInputError, match=r"'ticket' holds more than 100 different texts.*Select the other columns"
    ):
        ExplainableKMeans(3).fit(Batches([frame[:200], frame[200:]]))


def test_what_is_asked_for_as_a_category(customers):
    frame = customers.with_columns(zip=pl.Series([8000 + i % 7 for i in range(len(customers))]))
    for asked in (["zip", "region"], [4, 1]):
        options = {"random_state": 0, "categorical_features": asked}
        assert_same(ExplainableKMeans(3, **options).fit(frame.lazy()), ExplainableKMeans(3, **options).fit(frame))
    with pytest.raises(CutwiseError, match="text"):
        ExplainableKMeans(3, categorical_features=[]).fit(frame.lazy())
    codes = frame.select(
        "income", zip=pl.Series([None if i % 5 else 8000.0 + i % 7 for i in range(len(frame))])
    ).to_pandas()
    options = {"random_state": 0, "categorical_features": ["zip"]}
    in_parts = ExplainableKMeans(3, **options).fit(Batches([codes[:200], codes[200:]]))
    assert_same(in_parts, ExplainableKMeans(3, **options).fit(codes))


def test_levels_never_seen_are_named_once_they_are_predicted(customers):
    model = ExplainableKMeans(3, random_state=0, algorithm="exshallow").fit(customers.lazy())
    rows = customers[:5].with_columns(region=pl.lit("new"))
    with pytest.warns(UnknownLevelsWarning, match="'new'"):
        model.score(Batches([rows]))


def test_a_report_describes_what_it_does_in_memory(customers):
    model = ExplainableKMeans(4, max_leaves=6, random_state=0).fit(customers.lazy())
    in_memory = report(model, customers, curve=False).summary
    for door in (customers.lazy(), Batches([customers[300:], customers[:300]])):
        in_batches = report(model, door, curve=False).summary
        assert json.dumps(in_batches) == json.dumps(in_memory)
    assert any(column.get("name", "").startswith("region") for column in in_memory["columns"])
    weighted = customers.with_columns(w=pl.int_range(pl.len()) % 3)
    in_memory = report(model, weighted, curve=False, sample_weight="w").summary
    for door in (weighted.lazy(), Batches([weighted[300:], weighted[:300]])):
        in_batches = report(model, door, curve=False, sample_weight="w").summary
        assert json.dumps(in_batches) == json.dumps(in_memory)
    with pytest.raises(InvalidInputError, match="at least one non-zero"):
        report(model, weighted.with_columns(w=0).lazy(), curve=False, sample_weight="w")


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
def test_a_report_of_rows_with_levels_that_fit_has_not_seen_is_that_of_memory(customers):
    model = ExplainableKMeans(4, random_state=0).fit(customers)
    unseen = customers.with_columns(
        pl.when(pl.int_range(pl.len()) % 7 == 0).then(pl.lit("Mars")).otherwise("region").alias("region")
    )
    in_memory, in_batches = (report(model, X, curve=False).summary for X in (unseen, unseen.lazy()))
    assert json.dumps(in_batches) == json.dumps(in_memory)


@pytest.mark.parametrize(
    ("fit", "error", "words"),
    [
        (lambda X: ExplainableKMeans(3, preprocessor=None).fit(X.lazy()), CutwiseError, "X.select"),
        (
            lambda X: ExplainableKMeans(3, preprocessor=TableScaler("robust")).fit(X.lazy()),
            UnsupportedInputError,
            r"use TableScaler\(\)|Use TableScaler\(\)",
        ),
        (
            lambda X: ExplainableKMeans(3).fit(Batches([X, X.with_columns(since=pl.lit("x"))])),
            InvalidInputError,
            "In batch 1 of X, counted from 0: .* column 'since' holds dates and texts",
        ),
        (
            lambda X: ExplainableKMeans(3).fit(Batches([X, X.rename({"since": "s"})])),
            InvalidInputError,
            "In batch 1 of X, counted from 0: The batches of X differ",
        ),
        (
            lambda X: ClusterExplainer().fit(Batches([X.with_columns(y=pl.lit(y)) for y in ("a", 3)]), "y"),
            InvalidInputError,
            "y='y' holds text in some batches of X and numbers in others",
        ),
        (lambda X: ExplainableKMeans(3).fit(X.with_columns(x=float("inf")).lazy()), CutwiseError, "infinity"),
        (
            lambda X: ExplainableKMeans(3).fit(X.with_columns(w=0).lazy(), sample_weight="w"),
            InvalidInputError,
            "every sample_weight is zero",
        ),
    ],
)
def test_errors_say_what_to_do(customers, fit, error, words):
    with pytest.raises(error, match=words):
        fit(customers)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: X[:400], "500 rows in the first pass over it and 400"),
        (lambda X: X.with_columns(since=None), "contains NaN: column 'since', row 0"),
        (lambda X: X.with_columns(since=pl.lit(1.5)), "Column 'since' held dates at fit and holds numbers now"),
        (lambda X: X.with_columns(region=pl.lit(3)), "Column 'region' held texts at fit, such as"),
        (lambda X: X.with_columns(region=pl.lit("new")), "column 'region' had no value in the first"),
        (lambda X: X.select(reversed(X.columns)), "The feature names should match"),
    ],
)
def test_rows_that_change_after_kinds_are_known(customers, change, words):
    opened = []

    def open_changed():
        opened.append(1)
        return iter([customers if len(opened) < 3 else change(customers)])

    with pytest.raises(ChangedDataError, match=rf"{words}.*\. Keep its source unchanged"):
        ExplainableKMeans(3).fit(Batches(open_changed))
