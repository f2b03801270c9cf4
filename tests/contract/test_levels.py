"""What a level of a category is: a text or a number, the same one in every library, lazily, and in all that runs."""

import datetime as dt
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cutwise import Batches, ClusterExplainer, ExplainableKMeans, export_polars, export_python, export_sql
from cutwise.exceptions import CutwiseError, NotNumericError, UnsupportedInputError

duckdb = pytest.importorskip("duckdb")
pytestmark = [
    pytest.mark.skipif(not hasattr(pl.LazyFrame, "collect_batches"), reason="this release of polars gives no batches"),
    pytest.mark.filterwarnings("ignore::cutwise.exceptions.ColumnNamesWarning"),
]

AT = np.arange(60) % 3
LABELS = np.where(AT == 1, "second", "others").tolist()
SAME = {  # columns whose values mean the same
    "codes": ([1, 2, 3], [1.0, 2.0, 3.0], [Decimal("1.00"), Decimal("2.00"), Decimal("3.00")]),
    "parts": ([0.1, 2.5, 3.0], [Decimal("0.10"), Decimal("2.50"), Decimal("3.00")]),
    "flags": ([True, False, True], [1, 0, 1], [1.0, 0.0, 1.0], [Decimal("1.0"), Decimal("0.0"), Decimal("1.0")]),
    "texts": (["1", "b", "c"],),
}
LIBRARIES = {
    "pandas": pd.DataFrame,
    "objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "arrow in pandas": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
    "batches": lambda columns: Batches([pd.DataFrame(columns)]),
    "array": lambda columns: np.array(list(columns.values()), dtype=object).T,
}


def columns_of(values):
    return {"c": [values[at] for at in AT], "x": np.arange(60.0).tolist()}


def predicted(model, X):
    found = model.predict(X)
    if isinstance(found, duckdb.DuckDBPyRelation):
        return [label for (label,) in found.fetchall()]
    if isinstance(found, pl.LazyFrame):
        return found.collect()["cluster"].to_list()
    return list(found) if isinstance(found, np.ndarray) else np.concatenate(list(found)).tolist()


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", SAME)
def test_a_level_is_the_same_in_every_type_and_library(name, named):
    for values in SAME[name]:
        for fit in ("pandas", "polars") if named else ("pandas",):
            X = LIBRARIES[fit](columns_of(values))
            model = ClusterExplainer(categorical_features=["c"] if named else "from_dtype", cut_features=["c"])
            model.set_params(max_leaves=None if named else 3).fit(X, LABELS)
            kinds = {"texts": "category", "flags": "bool" if values[0] is True else None}
            assert not named or model.column_kinds_["c"] == (kinds.get(name) or "category")
            for library, make in LIBRARIES.items():
                for now in SAME[name] if fit == "pandas" else [values]:
                    assert predicted(model, make(columns_of(now))) == LABELS, (fit, library, values, now)
            np.testing.assert_array_equal(model.to_sklearn().predict(X), LABELS)
            exec(export_python(model), scope := {})
            for now in SAME[name]:
                assert [scope["cluster_of"]({"c": now[at]}) for at in AT] == LABELS
            data = pa.table(columns_of(values))
            assert duckdb.from_arrow(data).query("data", export_sql(model)).df()["cluster"].tolist() == LABELS
            assert pl.from_arrow(data).with_columns(export_polars(model))["cluster"].to_list() == LABELS


@pytest.mark.parametrize(
    "values",
    [
        [dt.date(2024, 1, 1), dt.date(2024, 2, 1), dt.date(2024, 3, 1)],
        [dt.datetime(2024, 1, 1, hour) for hour in (1, 2, 3)],
        [dt.datetime(2024, 1, 1, hour, tzinfo=dt.UTC) for hour in (1, 2, 3)],
        [dt.timedelta(1), dt.timedelta(2), dt.timedelta(3)],
        [dt.time(1), dt.time(2), dt.time(3)],
        [b"a", b"b", b"c"],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_other_values_are_no_levels_and_the_error_says_what_to_do(values):
    for library, make in LIBRARIES.items():
        said = r"(?s)column ('c'|0) holds levels other than texts.*in row \d.*dates and durations as such.*texts of"
        with pytest.raises(NotNumericError, match=said):
            ClusterExplainer(categorical_features=[0]).fit(
                make(columns_of(values)), LABELS if library not in ("lazy", "duckdb", "batches") else "x"
            )
    category = pd.DataFrame(columns_of(values)).astype({"c": "category"})
    with pytest.raises(NotNumericError, match="not as categories"):
        ClusterExplainer().fit(category, LABELS)
    if not isinstance(values[0], bytes):  # its own dates need no categories, and texts of them are levels
        for X in (pd.DataFrame(columns_of(values)), category.assign(c=category["c"].astype(str))):
            assert predicted(ClusterExplainer(max_leaves=3).fit(X, LABELS), X) == LABELS


@pytest.mark.parametrize(
    "values", [[1, "a"], [True, "a"], [uuid.UUID(int=1), "a"], [1j, 2], [float("inf"), 1], [(1,), 2]]
)
def test_levels_of_one_column_are_all_texts_or_all_numbers(values):
    X = pd.DataFrame({"c": pd.Series(values * 30, dtype=object), "x": 1.0})
    with pytest.raises(NotNumericError, match=r"(?s)column 'c' holds .*in row [01] .*[Mm]ake texts of"):
        ClusterExplainer(categorical_features=["c"]).fit(X, [0, 1] * 30)


@pytest.mark.parametrize("tail", [".01", ".02", "." + "3" * 20])
def test_decimals_that_float64_rounds_are_no_levels_for_they_would_be_one_with_their_neighbors(tail):
    for library in ("pandas", "polars", "pyarrow", "lazy"):
        columns = columns_of([Decimal(7), Decimal(12345678901234567), Decimal("12345678901234567" + tail)])
        said = r"(?s)'c' holds decimals of more digits than float64 has: Decimal\('12345.*in row \d.*Make texts of all"
        with pytest.raises(NotNumericError, match=said):
            ClusterExplainer(categorical_features=["c"]).fit(
                LIBRARIES[library](columns), "x" if library == "lazy" else LABELS
            )
    X = pd.DataFrame(columns_of([Decimal(7), Decimal(12345678901234567), Decimal(12345678901234568)]))
    model = ClusterExplainer(max_leaves=3, categorical_features=["c"], cut_features=["c"]).fit(X, LABELS)
    assert predicted(model, X) == LABELS


def test_parts_of_a_table_in_batches_have_levels_of_one_type():
    parts = [pd.DataFrame({"c": pd.Series(cells * 30, dtype=object), "x": 1.0}) for cells in (["a", "b"], [1, 2])]
    with pytest.raises(CutwiseError, match="column 'c' holds texts, of several types"):
        ExplainableKMeans(2, categorical_features=["c"]).fit(Batches(parts))


def test_a_date_beside_instants_is_its_midnight():
    items = [dt.date(2024, 1, 1 + i) if i % 2 else dt.datetime(2024, 1, 1 + i, 12) for i in range(20)]
    objects = pd.DataFrame({"day": pd.Series(items, dtype=object)})
    model = ClusterExplainer().fit(objects, np.arange(20) >= 11)
    assert str(model.rules()) == str(
        ClusterExplainer().fit(objects.astype("datetime64[us]"), np.arange(20) >= 11).rules()
    )
    assert "day >= 2024-01-12" in str(model.rules())


UNION = "SELECT union_value(n := i % 2)::UNION(n INT, t VARCHAR) AS c, i * 1.0 AS x FROM range(60) t(i)"


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.DataFrame({"c": pd.Series([Decimal("sNaN"), Decimal(1)] * 30, dtype=object), "x": 1.0}),
        lambda: pa.table({"c": pa.UnionArray.from_sparse(pa.array([0] * 60, pa.int8()), [pa.array(AT)]), "x": AT}),
        lambda: duckdb.sql(UNION),
    ],
)
def test_what_a_library_cannot_hand_out_is_said_of_the_column(make):
    with pytest.raises(UnsupportedInputError, match=r"[Cc]olumn 'c' (holds|cannot be read) .*(?s:.*)leave it out"):
        ExplainableKMeans(2).fit(make())


@pytest.mark.parametrize("value", ["union_value(n := 1)", "uuid()", "[1]", "'a'::BLOB", "{'a': 1}", "'101'::BIT"])
def test_what_an_engine_cannot_compare_is_said_with_the_types_of_fit(value):
    model = ClusterExplainer().fit(pd.DataFrame({"c": AT * 1.0, "x": 0.0}), LABELS)
    with pytest.raises(CutwiseError, match=r"Column 'c' held numbers at fit|types of fit: c \(number\)"):
        model.predict(duckdb.sql(f"SELECT {value} AS c, 1.0 AS x"))


def test_labels_and_weights_may_be_wide_integers():
    X = pl.DataFrame({"x": AT, "y": pl.Series(AT).cast(pl.Int128), "w": pl.Series(AT + 1).cast(pl.Int128)})
    expected = ClusterExplainer().fit(X[["x"]], AT, sample_weight=AT + 1)
    for model in (
        ClusterExplainer().fit(X[["x"]], X["y"], sample_weight=X["w"]),
        ClusterExplainer().fit(X, "y", sample_weight="w"),
        ClusterExplainer().fit(X.lazy(), "y", sample_weight="w"),
    ):
        assert str(model.rules()) == str(expected.rules())
        assert model.predict(X[["x"]]).tolist() == AT.tolist()


@pytest.mark.parametrize("values", [[True, False, True], [True, False, None]], ids=["whole", "gaps"])
@pytest.mark.parametrize("named", [[], ["c"]], ids=["as it is", "named"])
def test_truth_values_are_such_in_pandas_categories_too(values, named):
    columns = columns_of(values)
    frame = pd.DataFrame({"c": pd.Categorical(columns["c"]), "x": columns["x"]})
    model = ClusterExplainer(categorical_features=named or "from_dtype").fit(frame, LABELS)
    assert model.column_kinds_["c"] == "bool"
    for same in (frame, frame.astype({"c": object}), pl.DataFrame(columns)):
        assert predicted(model, same) == list(model.labels_)
