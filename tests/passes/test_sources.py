"""Tables in batches: every door reads the same rows, and what is asked of the tree is answered where they lie."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

from cutwise import Batches, ClusterExplainer, ExplainableKMeans, export_polars
from cutwise.exceptions import (
    ColumnMismatchError,
    CutwiseError,
    InvalidInputError,
    MissingDependencyError,
    NotFiniteError,
)
from cutwise.passes.sources import _plain_files, _spark_total, scan_dataset

duckdb, dask = pytest.importorskip("duckdb"), pytest.importorskip("dask.dataframe")

pytestmark = pytest.mark.filterwarnings("ignore:X has feature names")


DOORS = {
    "polars": lambda frame: frame.lazy(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
    "pyarrow": lambda frame: ds.dataset(frame.to_arrow().to_batches(max_chunksize=7), schema=frame.to_arrow().schema),
    "dask": lambda frame: dask.from_pandas(frame.to_pandas(), npartitions=3),
    "batches of frames": lambda frame: Batches([frame[i::3] for i in range(3)]),
    "batches of arrays": lambda frame: Batches(lambda: (frame[i::3].to_numpy() for i in range(3)), frame.columns),
}
WITH_TYPES = list(DOORS)[:-1]


def gathered(found) -> list:
    if isinstance(found, pl.LazyFrame):
        return found.collect().to_series().to_list()
    if type(found).__module__.startswith("dask"):
        return found.compute().tolist()
    if isinstance(found, duckdb.DuckDBPyRelation):
        return [row[0] for row in found.fetchall()]
    if isinstance(found, pa.RecordBatchReader):
        return found.read_all()["cluster"].to_pylist()
    return np.concatenate(list(found)).tolist()


def a_table(dtype=np.float32, n=300) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 3)) + rng.integers(0, 4, (n, 1)) * 3, 1).astype(dtype)
    return pl.DataFrame(X, schema=["a", 'quoted "b"', "c d"])


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("door", DOORS)
def test_predict_gives_a_lazy_table_of_the_labels_of_the_rows(door, dtype):
    frame = a_table(dtype)
    model = ExplainableKMeans(4, max_leaves=9, algorithm="exshallow", random_state=0).fit(frame)
    assert sorted(gathered(model.predict(DOORS[door](frame)))) == sorted(model.predict(frame).tolist())
    if door in ("polars", "pyarrow"):
        assert gathered(model.predict(DOORS[door](frame))) == model.predict(frame).tolist()


def test_an_expression_of_polars_has_every_test_of_the_tree_once():
    frame = pl.DataFrame(np.random.default_rng(0).normal(size=(300, 2)), schema=["a", "b"])
    model = ClusterExplainer(12, algorithm="expand").fit(frame, np.arange(300) % 3)
    named = len(export_polars(model).meta.root_names())
    n_absent = 2 * len(model.tree_.tested)  # null or nan
    assert named == model.n_leaves_ - 1 + n_absent


def test_thresholds_between_neighboring_float32_values_place_rows_as_in_memory():
    x = np.float32(0.1)
    values = np.array([x, np.nextafter(x, np.float32(1))] * 5, dtype=np.float32)
    frame = pl.DataFrame({"x": values})
    model = ClusterExplainer().fit(frame, ["low", "high"] * 5)
    for door in DOORS.values():
        assert sorted(gathered(model.predict(door(frame)))) == ["high"] * 5 + ["low"] * 5


def test_rows_without_a_value_have_no_label():
    frame = pl.DataFrame({"x": [1.0, 2.0, 8.0, 9.0], "y": [0.0, 1.0, 0.0, 1.0]})
    model = ClusterExplainer().fit(frame, [5, 5, 7, 7])
    rows = pl.DataFrame({"x": [1.0, None, float("nan"), 9.0], "y": [None, 0.0, 0.0, 0.0]})
    assert gathered(model.predict(rows.lazy())) == [5, None, None, 7]
    assert gathered(model.predict(duckdb.sql("select * from rows"))) == [5, None, None, 7]
    for door in list(DOORS)[2:]:
        with pytest.raises(NotFiniteError, match="column 'x'"):
            gathered(model.predict(DOORS[door](rows)))


def test_infinity_is_beyond_all_thresholds_of_expressions_and_an_error_elsewhere():
    model = ClusterExplainer().fit(pl.DataFrame({"x": [1.0, 2.0, 8.0, 9.0]}), [5, 5, 7, 7])
    rows = pl.DataFrame({"x": [float("-inf"), float("inf")]})
    for name, door in DOORS.items():
        if name in ("polars", "duckdb"):
            assert gathered(model.predict(door(rows))) == [5, 7]
        else:
            with pytest.raises(NotFiniteError, match="contains infinity: column 'x'"):
                gathered(model.predict(door(rows)))


@pytest.mark.parametrize("door", WITH_TYPES)
def test_predict_and_score_pass_over_columns_that_fit_did_not_have(door):
    frame = a_table(np.float64)
    wider = frame.with_columns(more=pl.col("a") * 2, segment=pl.col("a") > 3)
    model, explainer = ExplainableKMeans(4, algorithm="imm", random_state=0), ClusterExplainer()
    expected = model.fit(frame).score(frame), explainer.fit(frame, wider["segment"]).score(frame, wider["segment"])
    lazy = DOORS[door](wider)
    assert sorted(gathered(model.predict(lazy))) == sorted(model.labels_.tolist())
    assert (model.score(lazy), explainer.score(lazy, "segment")) == expected
    with pytest.raises(ColumnMismatchError, match="unseen at fit time"):
        model.score(wider)


NOW = dt.datetime(2024, 5, 1)
OF_KINDS = {
    "numbers": [0.5, 9.5],
    "dates": [NOW, NOW + dt.timedelta(days=50)],
    "durations": [dt.timedelta(hours=1), dt.timedelta(hours=50)],
    "texts": ["u", "v"],
    "dates as texts": ["2024-05-01", "2024-06-20"],
}


@pytest.mark.parametrize("door", WITH_TYPES)
@pytest.mark.parametrize("then", OF_KINDS)
def test_a_tested_column_of_another_kind_than_at_fit_is_an_error_that_names_it(door, then):
    frames = {kind: pl.DataFrame({"x": values * 20}) for kind, values in OF_KINDS.items()}
    model = ClusterExplainer(algorithm="imm").fit(frames[then], [0, 1] * 20)
    for now, frame in frames.items():
        if now != then and not (now.endswith("texts") and then.endswith("texts")):
            with pytest.raises(InvalidInputError, match=r"(?s)olumn 'x'.*Give"):
                model.predict(frame)
            with pytest.raises(InvalidInputError, match=r"(?s)olumn 'x'.*Give"):
                gathered(model.predict(DOORS[door](frame)))
    zoned = frames["dates"].with_columns(pl.col("x").dt.replace_time_zone("UTC"))
    if then == "dates":
        with pytest.raises(InvalidInputError, match="Column 'x' held dates without a time zone at fit"):
            gathered(model.predict(DOORS[door](zoned)))


@pytest.mark.parametrize("door", WITH_TYPES)
def test_predict_asks_lazy_tables_about_categories_dates_and_gaps(door):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "a": rng.normal(size=200),
            "group": rng.choice(["x", "y", "o'z"], 200),
            "gaps": [None if i % 5 == 0 else float(i % 7) for i in range(200)],
            "day": np.datetime64("2024-01-01") + rng.integers(0, 400, 200).astype("timedelta64[D]"),
        }
    )
    model = ExplainableKMeans(6, max_leaves=9, algorithm="exkmc", random_state=0).fit(frame)
    assert {"group", "gaps", "day"} & {model.feature_names_in_[f] for f in model.tree_.feature if f >= 0}
    assert sorted(gathered(model.predict(DOORS[door](frame)))) == sorted(model.labels_.tolist())


def test_a_tree_of_one_leaf_gives_every_row_its_label():
    frame = a_table()
    model = ExplainableKMeans(1).fit(frame)
    for door in DOORS.values():
        assert gathered(model.predict(door(frame))) == [0] * len(frame)


@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
@pytest.mark.parametrize("door", DOORS)
def test_the_score_has_the_bits_of_the_rows_in_memory(door, weights):
    frame = a_table(np.float64)
    model = ExplainableKMeans(4, algorithm="imm", random_state=0).fit(frame)
    if weights is None:
        assert model.score(DOORS[door](frame)) == model.score(frame)
        return
    w = np.random.default_rng(1).integers(0, 5, len(frame)) / (1 if weights == "whole" else 3)
    weighted = frame.with_columns(pl.Series("w", w.astype(float)))
    assert model.score(DOORS[door](weighted), sample_weight="w") == model.score(frame, sample_weight=w)
    assert model.score(weighted, sample_weight="w") == model.score(frame, sample_weight=w)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, X: m.score(X.lazy(), sample_weight=np.ones(len(X))), 'sample_weight="w"'),
        (lambda m, X: m.score(X.lazy(), sample_weight="d"), "not a column of X"),
        (lambda m, X: m.predict(X.lazy().select("a")), "quoted"),
        (lambda m, X: m.fit(iter([X])), r"Batches\(lambda: iter\(parts\)\)"),
        (lambda m, X: m.fit("part-0.parquet"), r"polars.scan_parquet"),
        (lambda m, X: m.fit(X.to_arrow().to_reader()), r"X.read_all\(\)"),
        (lambda m, X: m.fit([X, X]), r"cutwise.Batches\(X\)"),
        (lambda m, X: Batches(iter([X])), r"Batches\(lambda: iter\(parts\)\)"),
        (lambda m, X: m.fit(Path("part-0.parquet")), r"polars.scan_parquet"),
        (lambda m, X: m.fit(part for part in [X]), r"Batches\(lambda: iter\(parts\)\)"),
        (lambda m, X: m.fit(Batches(lambda: 3)), r"returned 3, .* Batches\(lambda: iter\(parts\)\)"),
        (lambda m, X: m.fit(Batches([X, None])), "a batch of type NoneType. Give arrays"),
        (lambda m, X: m.fit(Batches([csr_array(X)])), r"part.toarray\(\) for part in parts"),
        (lambda m, X: m.fit(Batches([csr_array(X)], names=X.columns)), r"part.toarray\(\) for part in parts"),
        (lambda m, X: m.fit(Batches([csr_array(X)]), sample_weight="w"), r"part.toarray\(\) for part in parts"),
        (
            lambda m, X: m.fit(Batches([X, X[:0], X.with_columns(a=pl.lit("?"))])),
            "In batch 2 of X, counted from 0: .* column 'a' holds numbers and texts",
        ),
        (
            lambda m, X: m.predict(Batches([X, 3])),
            "In batch 1 of X, counted from 0: .* a batch of type int. Give arrays",
        ),
        (lambda m, X: m.predict(Batches(lambda: [np.ones((2, 2))], names=X.columns)), "3 names"),
    ],
)
def test_errors_say_what_to_type(call, words):
    frame = a_table()
    model = ExplainableKMeans(4, algorithm="imm", random_state=0).fit(frame)
    with pytest.raises(CutwiseError, match=words):
        list(call(model, frame))


def test_a_file_of_another_kind_in_a_dataset_is_named(tmp_path):
    pq.write_table(pa.table({"a": [1.0, 2, 8, 9]}), tmp_path / "a.parquet")
    model = ExplainableKMeans(2).fit(ds.dataset(tmp_path))
    (tmp_path / "notes.txt").write_text("a,b\n1,2\n")
    for read in (ExplainableKMeans(2).fit, model.score, lambda X: model.predict(X).read_all()):
        with pytest.raises(InvalidInputError, match=r"(?s)cannot be read: .*notes\.txt.*Give .* a list of those files"):
            read(ds.dataset(tmp_path))


def test_datasets_are_scanned_as_pyarrow_does(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(3):
        columns = {"a.b": rng.normal(size=100 * i), "c": rng.integers(0, 9, 100 * i), "n": [{"q": 1}] * 100 * i}
        schema = pa.schema({"a.b": pa.float64(), "c": pa.int64(), "n": pa.struct({"q": pa.int64()})})
        pq.write_table(pa.table(columns, schema), tmp_path / f"{i}.parquet", row_group_size=30)
    (tmp_path / "k=1").mkdir()
    pq.write_table(pa.table(columns, schema), tmp_path / "k=1" / "0.parquet")
    files = [str(tmp_path / f"{i}.parquet") for i in range(3)]
    whole = ds.dataset(files)
    groups = [group for file in whole.get_fragments() for group in file.split_by_row_group()][1:4]
    datasets = [
        whole,
        whole.filter(ds.field("c") > 3),
        ds.dataset(files, schema=pa.schema({"c": pa.float64(), "new": pa.int8()})),
        ds.dataset(tmp_path, partitioning="hive"),
        ds.dataset([whole, whole]),
        ds.FileSystemDataset(groups, whole.schema, whole.format, whole.filesystem),
    ]
    for X in datasets:
        for names in (None, ["c"], X.schema.names[::-1]):
            expected = X.to_table(columns=names)
            assert pa.Table.from_batches(scan_dataset(X, names), expected.schema).equals(expected)
    assert [_plain_files(X) is not None for X in datasets] == [True, False, False, False, False, True]


def test_a_group_of_many_rows_is_not_read_at_once(tmp_path):
    table = pa.table({name: np.random.default_rng(0).normal(size=500_000) for name in "abcdef"})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=500_000)
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() for _ in scan_dataset(ds.dataset(tmp_path)))
    assert most - before < table.nbytes


def test_workers_of_spark_without_a_package_are_an_error_that_says_what_to_set():
    class Frame:
        columns = ("a",)

        def toDF(self, *names):
            return self

        mapInArrow = repartition = toDF  # noqa: N815

        def collect(self):
            raise RuntimeError("PythonException: ModuleNotFoundError: No module named 'joblib'")

    with pytest.raises(MissingDependencyError, match=r"without joblib.*PYSPARK_PYTHON"):
        _spark_total(Frame(), list, merge=None)


def test_duckdb_knows_instants_of_nanoseconds():
    at = pd.Series(pd.date_range("2020-01-01", periods=30, tz="Europe/Berlin")).astype("datetime64[ns, Europe/Berlin]")
    y = ["a"] * 15 + ["b"] * 15
    frame = pa.table({"c": pa.array(at), "y": y})  # noqa: F841 - DuckDB finds it by its name
    relation = duckdb.sql("SELECT * FROM frame")
    if str(relation.types[0]) != "TIMESTAMPTZ_NS":
        pytest.skip("this DuckDB has no such type")
    model = ClusterExplainer().fit(relation, "y")
    assert [label for (label,) in model.predict(relation).fetchall()] == y
    naive = ClusterExplainer().fit(pd.DataFrame({"c": at.dt.tz_localize(None)}), y)
    with pytest.raises(InvalidInputError, match="without a time zone at fit"):
        naive.predict(relation)
