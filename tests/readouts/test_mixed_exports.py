"""Rules, SQL and Python of trees on levels, gaps, truth values, dates and ordered levels decide as predict does."""

import ast
import datetime as dt
import sqlite3
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cutwise import ClusterExplainer, ExplainableKMeans, export_polars, export_python, export_sql
from cutwise.exceptions import InvalidInputError, UnknownLevelsWarning, UnsupportedInputError
from cutwise.readouts.code import tree_python
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.rules import build_rules, tree_text
from cutwise.readouts.sql import DIALECTS, tree_sql
from cutwise.table.table import ColumnKind, Columns, Table, as_matrix
from tests.readouts.databases import Maria, Polars
from tests.tree.mixed import GAPS, Problem

LEVELS = ("N", "o'x", "unknown", "", None, "\u00e9`\U0001f600", 'a "b"')
RANKS = ("low", "mid", "high")
KINDS = (
    ColumnKind("category", LEVELS),
    GAPS,
    ColumnKind("number"),
    ColumnKind("bool"),
    ColumnKind("date", unit="day", has_gaps=True),
    ColumnKind("ordered", RANKS),
)
NAMES = ("region", "income", "x 2", "smoker", "signup", "edu")
COLUMNS = Columns(NAMES, True, KINDS)


def mixed_problem(seed):
    rng = np.random.default_rng(seed)
    n, k = 40, 4
    gap = rng.random((2, n)) < 0.3
    numbers = rng.integers(0, 9, n), 19000 + rng.integers(0, 900, n)
    income, signup = (np.where(g, np.nan, x) for g, x in zip(gap, numbers, strict=True))
    columns = rng.integers(0, 7, n), income, rng.integers(0, 5, n), rng.integers(0, 2, n), signup, rng.integers(0, 3, n)
    cost = rng.integers(0, 20, (n, k))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)]).astype(np.int32)
    excess = cost - cost.min(axis=1, keepdims=True)
    return Problem(np.column_stack(columns).astype(float), KINDS, np.ones(n, dtype=np.int64), labels, excess)


def rows_beside(values, seed):
    """The rows of a fit, and again with levels that were never seen, other gaps and extreme numbers."""
    rng = np.random.default_rng(seed)
    more = values.copy()
    more[:, 0] = rng.integers(0, 8, len(more))
    more[:, 1] = rng.choice([np.nan, -5.5, 3.0, 1e300], len(more))
    return np.concatenate([values, more])


def as_python(row):
    row = row.tolist()
    region = LEVELS[int(row[0])] if row[0] < len(LEVELS) else " N"
    signup = None if np.isnan(row[4]) else dt.date(1970, 1, 1) + dt.timedelta(days=int(row[4]))
    return region, None if np.isnan(row[1]) else row[1], row[2], bool(row[3]), signup, RANKS[int(row[5])]


@pytest.fixture(params=range(4))
def case(request):
    return made_case(request.param)


@cache  # every database asks for it
def made_case(seed):
    p = mixed_problem(seed)
    values = rows_beside(p.values, seed)
    trees = [p.grow(algorithm, 9).tree for algorithm in ("imm", "exkmc", "exgreedy", "expand")]
    return [(LabeledTree(tree, COLUMNS), tree.predict(as_matrix(values))) for tree in trees], values


def test_python_says_the_same_of_none_and_nan(case):
    for labeled, expected in case[0]:
        scope = {}
        exec(tree_python(labeled), scope)
        for missing in (None, float("nan")):
            rows = [[missing if x is None else x for x in as_python(row)] for row in case[1]]
            found = [scope["cluster_of"](dict(zip(NAMES, row, strict=True))) for row in rows]
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_python_takes_dates_as_they_are_and_as_text(zone):
    rng = np.random.default_rng(0)
    at = pd.Series(rng.integers(0, 10**13, 60).astype("datetime64[us]")).dt.floor("ms")
    X = pd.DataFrame({"at": at.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else at})
    model = ClusterExplainer(8, "expand").fit(X, pd.qcut(at, 8, labels=False))
    scope, expected = {}, model.predict(X).tolist()
    exec(export_python(model), scope)
    for write in (lambda t: t, str, pd.Timestamp.isoformat, pd.Timestamp.to_pydatetime):
        assert [scope["cluster_of"]({"at": write(t)}) for t in X["at"]] == expected
    with pytest.raises(ValueError, match="Invalid isoformat"):
        scope["cluster_of"]({"at": "03/01/2024"})


def test_databases_say_the_same_of_null_and_nan(case, database):
    types = dict(zip(NAMES, ("text", "double", "double", "bool", "date", "text"), strict=True))
    rows = [as_python(row) for row in case[1]]
    for number, missing in enumerate((None, float("nan"))[: 1 + database.has_nan]):
        table = f"people {number}"
        database.create(table, types, [(row[0], missing if row[1] is None else row[1], *row[2:]) for row in rows])
        for labeled, expected in case[0][number :: 1 + database.has_nan]:
            found = database.query(tree_sql(labeled, dialect=database.dialect, table=table))
            clusters = [int(row[-1]) for row in sorted(found, key=lambda row: int(row[0]))]
            np.testing.assert_array_equal(clusters, expected)


@pytest.mark.parametrize(
    ("zone", "step"),
    [
        *((None, step) for step in (86_400_000_000, 1_000_000, 1_000, 1)),
        *((zone, step) for zone in ("Europe/Berlin", "America/New_York") for step in (1_000_000, 1)),
    ],
)
def test_databases_place_times_as_predict_does(database, zone, step):
    if isinstance(database, Polars) and not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("the first releases of polars read no such times in SQL")
    rng = np.random.default_rng(step)
    first, year = (2 if zone else -60), 366 * 86_400_000_000  # MariaDB's instants begin in 1970
    near, far = (
        rng.integers(first * year // step, [[first * year // step + 300], [60 * year // step]], (2, 40))
    ) * step
    ticks = np.concatenate([near, far])

    def frame(microseconds):
        at = pd.Series(np.asarray(microseconds, dtype="datetime64[us]"))
        return pd.DataFrame({"at": at.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else at})

    model = ClusterExplainer(12, "expand").fit(frame(ticks), pd.qcut(ticks, 8, labels=False))
    cuts = model.tree_.threshold[model.tree_.feature >= 0].astype(np.int64)
    beside = (cuts[:, np.newaxis] + [-1_000_000, -1000, -1, 0, 1, 2, 1001, 1_000_001]).ravel()
    ticks = np.concatenate([ticks, beside])
    if database.dialect == "sqlite" and zone:  # reads offsets to the millisecond
        ticks = ticks[ticks % 1000 == 0]
    X = frame(ticks)
    database.create("t", {"at": "instant" if zone else "time"}, [(at.to_pydatetime(),) for at in X["at"]])
    found = database.query(export_sql(model, database.dialect, table="t"))
    clusters = [int(row[-1]) for row in sorted(found, key=lambda row: int(row[0]))]
    np.testing.assert_array_equal(clusters, model.predict(X))


def test_databases_tell_levels_apart_byte_by_byte(database):
    levels = ["a", "A", "\u00fc", "u\u0308", "e", "\U0001f600", "n"]
    model = ClusterExplainer(8, "expand").fit(pd.DataFrame({"c": levels * 3}), [0, 1, 2, 3, 4, 5, 0] * 3)
    rows = [*levels, "N", "\u00dc", " a", "n "]
    database.create("t", {"c": "text"}, [(text,) for text in rows])
    found = database.query(export_sql(model, database.dialect, table="t"))
    clusters = [int(row[-1]) for row in sorted(found, key=lambda row: int(row[0]))]
    with pytest.warns(UnknownLevelsWarning):
        np.testing.assert_array_equal(clusters, model.predict(pd.DataFrame({"c": rows})))


@pytest.mark.parametrize("has_gaps", [True, False])
def test_databases_tell_levels_that_are_numbers_apart(database, has_gaps):
    levels = [0.0, 0.1, 0.30000000000000004, 8001.0, 1e300, float("nan")][: 5 + has_gaps]
    X = pd.DataFrame({"c": levels * 3})
    rows = [*levels, -0.0, 0.3, 2.0**53, -1e300]
    for groups in ([0, 1, 1, 0, 2, 1], [0, 1, 2, 3, 4, 5]):
        y = groups[: len(levels)] * 3
        model = ClusterExplainer(7, "expand", categorical_features=["c"]).fit(X, y)
        with pytest.warns(UnknownLevelsWarning):
            expected = model.predict(pd.DataFrame({"c": rows})).tolist()
        for missing in (None, float("nan"))[: 1 + database.has_nan]:
            table = f"t {groups[3]} {missing}"
            database.create(table, {"c": "double"}, [(missing if np.isnan(row) else row,) for row in rows])
            found = database.query(export_sql(model, database.dialect, table=(table,)))
            assert [int(row[-1]) for row in sorted(found, key=lambda row: int(row[0]))] == expected


def test_columns_of_mariadb_that_are_not_utf_8_hold_the_same_levels(maria_server):
    if maria_server.lacking:
        pytest.skip(maria_server.lacking)
    database = Maria(maria_server)
    model = ClusterExplainer().fit(pd.DataFrame({"c": ["a", "\u00fc"] * 3}), [0, 1] * 3)
    database.run("CREATE TABLE t (c varchar(9) CHARACTER SET latin1); INSERT INTO t VALUES ('a'), ('\u00fc')")
    assert database.query(export_sql(model, "mysql", table="t")) == [("a", "0"), ("\u00fc", "1")]
    database.close()


def test_oracle_and_sql_server_get_levels_that_they_would_take_for_others():
    X, y = pd.DataFrame({"c": ["", "a", "b "] * 3}), [0, 1, 2] * 3
    model = ClusterExplainer(algorithm="expand").fit(X, y)
    with pytest.raises(UnsupportedInputError, match=r"'c' has the empty text .* X\['c'\].replace\('', 'none'\)"):
        export_sql(model, "oracle")
    assert "( [c] + '|' ) COLLATE Latin1_General_BIN2 IN ('|', 'b |')" in " ".join(export_sql(model, "tsql").split())
    export_sql(ClusterExplainer().fit(X.replace("", "none"), y), "oracle")


@pytest.mark.parametrize(("of_words", "as_text"), [(True, True), (False, False), (False, True)])
@pytest.mark.parametrize("has_gaps", [True, False])
def test_databases_take_words_for_truth_values_where_the_file_held_them(database, has_gaps, of_words, as_text):
    if as_text and not of_words and database.dialect not in ("sqlite", "mysql"):
        pytest.skip("refuses to compare a truth value with text, or says in a comment that it must not be text")
    rng = np.random.default_rng(3)
    owns, x = rng.integers(0, 2, 60).astype(float), rng.integers(0, 9, 60).astype(float)
    owns[: 20 * has_gaps] = np.nan
    kinds = (ColumnKind("bool", has_gaps=has_gaps, is_text=of_words), ColumnKind("number"))
    known = np.nan_to_num(owns, nan=0.5)
    excess = np.stack([19 * known, 19 - 19 * known, 5 + np.abs(x - 2), 5 + np.abs(x - 7)], axis=1).astype(np.int64) + 1
    p = Problem(
        np.stack([owns, x], axis=1), kinds, np.ones(60, np.int64), excess.argmin(axis=1).astype(np.int32), excess
    )
    words = (
        {0.0: ["no", " No", "FALSE", "f"], 1.0: ["Yes", "y ", "true", "T"]} if as_text else {0.0: [False], 1.0: [True]}
    )
    unknown = [None, "", "n/a"] if of_words else [None]
    rows = [(words.get(v, unknown)[i % len(words.get(v, unknown))], x[i].item()) for i, v in enumerate(owns.tolist())]
    database.create("t", {"owns": "text" if as_text else "bool", "x": "double"}, rows)
    for n_leaves in (2, 4, 6):
        tree = p.grow("exkmc", n_leaves).tree
        assert (tree.feature == 0).any()
        labeled = LabeledTree(tree, Columns(("owns", "x"), True, kinds))
        found = database.query(tree_sql(labeled, dialect=database.dialect, table="t"))
        clusters = [int(row[-1]) for row in sorted(found, key=lambda row: int(row[0]))]
        np.testing.assert_array_equal(clusters, tree.predict(as_matrix(p.values)))


@pytest.mark.parametrize("has_gaps", [True, False])
@pytest.mark.parametrize("kind", ["number", "date", "time"])
def test_numbers_and_dates_that_a_database_holds_as_text_are_placed_alike_or_refused(database, kind, has_gaps):
    steps = range(0, 120, 2)
    values = {
        "number": [2.5 * step for step in steps],
        "date": [dt.date(2024, 1, 1) + dt.timedelta(days=step) for step in steps],
        "time": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=step) for step in steps],
    }[kind]
    frame = pd.DataFrame({"a": [None, *values[1:]] if has_gaps else values})
    model = ClusterExplainer().fit(frame, np.repeat([0, 1, 2, 3], 15))
    database.create("t", {"a": "text"}, [(None if pd.isna(value) else str(value),) for value in frame["a"].tolist()])
    try:
        found = database.query(export_sql(model, database.dialect, table="t"))
    except Exception:  # of the engine's own; SQL has no common one
        assert database.dialect not in ("sqlite", "mysql")
        return
    clusters = [int(row[-1]) for row in sorted(found, key=lambda row: int(row[0]))]
    np.testing.assert_array_equal(clusters, model.predict(frame))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_has_words_for_it(dialect):
    kinds = KINDS
    if dialect == "oracle":  # takes empty text for NULL
        kinds = (ColumnKind("category", tuple("none" if level == "" else level for level in LEVELS)), *KINDS[1:])
    sql = tree_sql(LabeledTree(mixed_problem(0).grow("exkmc", 9).tree, Columns(NAMES, True, kinds)), dialect=dialect)
    assert "CASE" in sql
    assert " IN (" in sql


def test_rules_match_the_rows_of_their_leaves_and_name_levels(case):
    table = Table(case[1], NAMES, True, KINDS)
    for labeled, _ in case[0]:
        leaf = labeled.tree.apply(table)
        for cluster in build_rules(labeled):
            for rule in cluster.rules:
                np.testing.assert_array_equal(rule._holds(table), leaf == rule.leaf)


def test_what_is_missing_is_said_in_words():
    tree = mixed_problem(0).grow("exkmc", 9).tree
    text = tree_text(LabeledTree(tree, COLUMNS))
    assert "region" in text
    assert "unknown" in text
    assert "nan" not in text


@pytest.mark.parametrize("least", [0, -5, -20])
def test_durations_are_intervals_where_databases_compare_them(least):
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    visit = pd.to_timedelta(rng.integers(least, least + 9, 300) * 1800.5, unit="s").to_series(index=range(300))
    people = pd.DataFrame({"visit": visit.where(rng.random(300) < 0.8), "age": rng.integers(18, 80, 300)})
    model = ExplainableKMeans(4, random_state=0).fit(people)
    assert (model.tree_.feature == 0).any()
    found = duckdb.connect().execute(export_sql(model, dialect="duckdb", table="people")).df()
    np.testing.assert_array_equal(found["cluster"], model.predict(people))
    frame = pl.from_pandas(people)
    assert frame.with_columns(export_polars(model))["cluster"].to_list() == model.predict(frame).tolist()
    with pytest.raises(UnsupportedInputError, match="a number of seconds"):
        export_sql(model, dialect="sqlite")


def test_microseconds_that_float64_has_no_room_for_are_cut_off_in_exports_as_in_predict():
    duckdb, rng = pytest.importorskip("duckdb"), np.random.default_rng(0)
    parts = {
        "d": 2**55 + rng.integers(0, 99, 60).astype("m8[us]"),
        "e": -(2**55) - rng.integers(0, 99, 60).astype("m8[us]"),
        "t": (np.datetime64("1400-01-01", "us") + rng.integers(0, 99, 60)).tolist(),
    }
    for name, values in parts.items():
        kind = pa.timestamp("us", "UTC") if name == "t" else pa.duration("us")
        table = pa.table({name: pa.array(values, kind)})
        model = ClusterExplainer(max_leaves=9).fit(table, rng.integers(0, 3, 60))
        assert model.n_leaves_ > 3
        exec(export_python(model), scope := {})
        assert [scope["cluster_of"](row) for row in table.to_pylist()] == model.labels_.tolist()
        found = duckdb.sql(export_sql(model, dialect="duckdb", table="table")).fetchnumpy()["cluster"]
        np.testing.assert_array_equal(found, model.labels_)
        if name != "t":
            with pytest.raises(UnsupportedInputError, match="durations beyond 292 years"):
                export_polars(model)


def test_milliseconds_far_from_1970_are_told_apart_in_sqlite_in_utc():
    times = np.datetime64("7848-04-07T12:41:29", "us") + np.arange(60).astype("m8[ms]")
    texts = [f"{at.isoformat(' ')}+00:00" for at in times.tolist()]
    table = pa.table({"t": pa.array(times, pa.timestamp("us", "UTC"))})
    labels = np.random.default_rng(0).integers(0, 3, 60)
    model = ClusterExplainer(max_leaves=30).fit(table, labels)
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE x (t TEXT)")
        base.executemany("INSERT INTO x VALUES (?)", [(text,) for text in texts])
        found = [row[-1] for row in base.execute(export_sql(model, dialect="sqlite", table="x"))]
    assert found == model.labels_.tolist()


def test_times_of_day_are_compared_as_such_by_everything_that_runs():
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    times = [dt.time(int(hour), int(2 * hour), 30, 5) for hour in rng.integers(0, 23, 200)]
    people = pd.DataFrame({"at": times, "age": rng.normal(size=200)})
    people.loc[::9, "at"] = None
    model = ExplainableKMeans(4, random_state=0).fit(people)
    assert (model.tree_.feature == 0).any()
    expected = model.labels_.tolist()
    scope = {}
    exec(export_python(model), scope)
    assert [scope["cluster_of"](row) for row in people.to_dict("records")] == expected
    frame = pl.from_pandas(people)
    assert ExplainableKMeans(4, random_state=0).fit(frame).labels_.tolist() == expected
    assert frame.with_columns(export_polars(model))["cluster"].to_list() == expected
    assert model.predict(frame.lazy()).collect()["cluster"].to_list() == expected
    connection = duckdb.connect()
    for table in (people, frame):  # their times are of two types there
        connection.register("data", table)
        assert connection.execute(export_sql(model, dialect="duckdb")).df()["cluster"].tolist() == expected


@pytest.mark.parametrize("name", ["str", "isinstance", "float", "value", "row"])
def test_columns_may_have_the_names_that_the_function_uses(name):
    other = {"t": ["u", "v"], "day": pd.to_datetime(["2020-01-01", "2021-01-01"]), "time": [dt.time(1), dt.time(5)]}
    for column, values in other.items():
        X = pd.DataFrame({name: [1.0, 1.0, 9.0, 9.0] * 2, column: list(values) * 4})
        model = ClusterExplainer().fit(X, [0, 1, 2, 3] * 2)
        scope = {}
        exec(source := export_python(model), scope)
        assert [scope["cluster_of"](row) for row in X.to_dict("records")] == model.labels_.tolist()
        called = {
            node.func.id
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert called <= {"str", "float", "isinstance"}


@pytest.mark.parametrize(
    ("row", "boundary"), [(14, "02:15+02:00"), (17, "02:45+02:00"), (20, "02:15+01:00"), (24, "03:00")]
)
def test_a_time_that_clocks_show_twice_has_its_offset(row, boundary):
    X = pd.DataFrame({"t": pd.date_range("2021-10-31", "2021-10-31 05:00", freq="10min", tz="Europe/Berlin")})
    model = ClusterExplainer().fit(X, np.arange(len(X)) >= row)
    then = X.t[row].strftime("%Y-%m-%d %H:%M") + boundary[5:]
    assert str(model.rules()).endswith(f": t >= 2021-10-31 {boundary}")
    assert model.explain(X[row : row + 1]) == [f"cluster True because t >= 2021-10-31 {boundary} (is {then})"]


@pytest.mark.skipif(not hasattr(pl.LazyFrame, "collect_batches"), reason="this release of polars knows no zones in SQL")
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Tokyo", "UTC"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_polars_compares_instants_of_any_zone_and_unit(zone, unit):
    times = pl.Series([dt.datetime(2020, 1 + i, 1, 12) for i in range(9)]).dt.replace_time_zone("Europe/Berlin")
    frame = pl.DataFrame({"t": times, "x": range(9)})
    model = ClusterExplainer(cut_features=["t"]).fit(frame, [0] * 4 + [1] * 5)
    other = frame.with_columns(pl.col("t").dt.convert_time_zone(zone).cast(pl.Datetime(unit, zone)))
    assert other.with_columns(export_polars(model))["cluster"].to_list() == model.labels_.tolist()
    assert model.predict(other.lazy()).collect()["cluster"].to_list() == model.labels_.tolist()
    with pytest.raises(
        InvalidInputError, match="Column 't' held dates with a time zone at fit, and holds dates without"
    ):
        model.predict(frame.lazy().with_columns(pl.col("t").dt.replace_time_zone(None)))


def dated_model(zone=None):
    """A model of instants around one, in which some columns of SQLite say the same in other words."""
    times = pd.Series(pd.date_range("2020-03-27 18:00", periods=60, freq="h", tz=zone))
    late = (times >= pd.Timestamp("2020-03-28 20:00", tz=zone)).astype(int)
    frame = pd.DataFrame({"t": times, "x": 0.0})
    return times, frame, ClusterExplainer().fit(frame, late)


def found_in_sqlite(model, cells, **how):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (t)")
    connection.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
    found = [row[-1] for row in connection.execute(export_sql(model, "sqlite", table="t", **how))]
    connection.close()
    return found


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S.%f"])
def test_sqlite_reads_dates_in_all_forms_of_its_texts(form):
    times, frame, model = dated_model()
    assert found_in_sqlite(model, times.dt.strftime(form)) == model.predict(frame).tolist()


@pytest.mark.parametrize("zone", ["America/New_York", "UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("as_written", [str, pd.Timestamp.isoformat, lambda time: str(time.tz_convert("Asia/Tokyo"))])
def test_sqlite_minds_offsets_from_utc(zone, as_written):
    times, frame, model = dated_model(zone)
    assert found_in_sqlite(model, map(as_written, times)) == model.predict(frame).tolist()


def test_sqlite_is_refused_thresholds_in_times_with_offsets_of_seconds():
    times = pd.Series(pd.date_range("1850", periods=6, freq="YS", tz="UTC"))
    model = ClusterExplainer().fit(pd.DataFrame({"t": times.dt.tz_convert("Europe/Berlin")}), [0, 0, 0, 1, 1, 1])
    with pytest.raises(UnsupportedInputError, match=r"1853-01-01 00:00:00\+00:53:28.*tz_convert\('UTC'\)"):
        export_sql(model, "sqlite")
    model = ClusterExplainer().fit(pd.DataFrame({"t": times}), [0, 0, 0, 1, 1, 1])
    assert found_in_sqlite(model, map(str, times)) == model.labels_.tolist()


def test_sqlite_places_whole_milliseconds_beside_thresholds_between_them():
    times = pd.Series(pd.date_range("2020-03-28", periods=9, freq="us", tz="UTC"))
    model = ClusterExplainer().fit(pd.DataFrame({"t": times}), [0] * 5 + [1] * 4)
    cells = pd.Series(pd.date_range("2020-03-27 23:59:59.998", periods=5, freq="ms", tz="UTC"))
    assert found_in_sqlite(model, map(str, cells)) == model.predict(pd.DataFrame({"t": cells})).tolist()


def test_what_is_no_text_of_a_date_has_no_cluster_in_sqlite():
    cells = [1_585_339_200, 2458936.5, "20200328", "1585339200", "28.03.2020", "", "soon", None]
    for zone in (None, "UTC"):
        _, _, model = dated_model(zone)
        assert found_in_sqlite(model, cells) == [None] * len(cells)
        assert found_in_sqlite(model, cells, nulls=-1) == [-1] * len(cells)


def test_a_function_of_python_refuses_what_is_no_date():
    zoned, naive = (dated_model(zone)[2] for zone in ("America/New_York", None))
    for model in (naive, zoned):
        scope = {}
        exec(export_python(model), scope)
        for value in (1_577_944_800, 20_200_328, "28.3.2020"):
            with pytest.raises((AttributeError, TypeError, ValueError)):
                scope["cluster_of"]({"t": value})
    for value in (dt.datetime(2020, 3, 28, 20), "2020-03-28 20:00"):  # of the last, in a zone
        with pytest.raises(TypeError, match="offset-naive"):
            scope["cluster_of"]({"t": value})
    assert scope["cluster_of"]({"t": pd.Timestamp("2020-03-28 20:00", tz="America/New_York")}) == 1
    assert scope["cluster_of"]({"t": dt.datetime(2020, 3, 28, 23, 59, tzinfo=dt.UTC)}) == 0
