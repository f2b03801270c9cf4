"""Engines of many processes: Spark and Dask give the bytes of memory, whatever the partitions."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cutwise import ClusterExplainer, ExplainableKMeans, export_json
from cutwise.exceptions import InvalidInputError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the engines warn of all kinds of things

NAMES = ["a", "b b", "c.d"]


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.adaptive.enabled", "false")
    try:
        session = builder.getOrCreate()
    except Exception as error:
        pytest.skip(f"Spark cannot run here: {error} (Debian: apt-get install default-jre-headless)")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def workers():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(2000, 3)) + rng.integers(0, 6, (2000, 1)) * 2, 2).astype(np.float32)
    frame = pl.DataFrame(X, schema=NAMES)
    return frame.with_columns(w=pl.Series(rng.integers(1, 4, 2000)), segment=pl.Series(np.digitize(X[:, 0], [3, 7])))


OPTIONS = {"algorithm": "exshallow", "max_leaves": 7, "random_state": 0}


@pytest.mark.parametrize("parts", [2, 7])
def test_spark_and_dask_frames_grow_the_tree_of_memory(spark, workers, frame, parts):
    dask = pytest.importorskip("dask.dataframe")
    given = frame.drop("segment")
    expected = ExplainableKMeans(4, **OPTIONS).fit(given, sample_weight="w")
    on_spark = spark.createDataFrame(given.to_pandas()).repartition(parts)
    assert on_spark.rdd.getNumPartitions() == parts
    on_dask = dask.from_pandas(given.to_pandas(), npartitions=parts)
    labels = expected.predict(frame.select(NAMES))
    for rows, gathered in ((on_spark, lambda x: [row[0] for row in x.collect()]), (on_dask, lambda x: x.compute())):
        model = ExplainableKMeans(4, **OPTIONS).fit(rows, sample_weight="w")
        assert export_json(model) == export_json(expected)
        assert model.score(rows, sample_weight="w") == expected.score(given, sample_weight="w")
        assert sorted(gathered(model.predict(rows))) == sorted(labels)


def test_tasks_that_are_run_again_change_nothing_where_rows_stay_with_workers(
    spark, workers, frame, tmp_path, monkeypatch
):
    dask = pytest.importorskip("dask.dataframe")
    monkeypatch.setattr("cutwise.passes.rows.COPIED_BYTES", -1)
    centers = frame.select(NAMES)[:4].to_numpy()
    options = {"algorithm": "imm", "reference": centers}
    given = frame.select(pl.col(NAMES).name.map(lambda name: name[0])).to_pandas()
    failed, died = tmp_path / "failed", tmp_path / "died"

    def fails_at_first(batches):
        if not failed.exists():
            failed.touch()
            raise RuntimeError("at first")
        yield from batches

    def dies_at_first(part):
        if not died.exists():
            died.touch()
            os._exit(1)
        return part

    on_spark = spark.createDataFrame(given).repartition(3)
    on_dask = dask.from_pandas(given, npartitions=3)
    expected = export_json(ExplainableKMeans(4, **options).fit(given))
    for rows in (
        on_spark.mapInArrow(fails_at_first, on_spark.schema),
        on_dask.map_partitions(dies_at_first, meta=on_dask._meta),
    ):
        model = ExplainableKMeans(4, **options).fit(rows)
        assert export_json(model) == expected
        assert model.n_passes_ > 5
    assert failed.exists()
    assert died.exists()


CONNECTED = """
import sys
import polars as pl
from pyspark.sql import SparkSession
import cutwise.passes.rows
from cutwise import ExplainableKMeans, export_json

path = sys.argv[1]
cutwise.passes.rows.COPIED_BYTES = -1
in_memory = pl.read_parquet(path)
options = {"algorithm": "imm", "reference": in_memory[:3].to_numpy()}
expected = ExplainableKMeans(3, **options).fit(in_memory)
rows = SparkSession.builder.remote("local[2]").getOrCreate().read.parquet(path).repartition(3)
model = ExplainableKMeans(3, **options).fit(rows)
assert export_json(model) == export_json(expected)
found = sorted(row[0] for row in model.predict(rows).collect())
assert found == sorted(expected.labels_.tolist())
"""


def test_a_frame_of_spark_connect_grows_the_tree_of_memory_where_rows_stay_with_workers(spark, frame, tmp_path):
    pytest.importorskip("grpc")
    frame.select(NAMES).write_parquet(tmp_path / "rows.parquet")
    command = [sys.executable, "-c", CONNECTED, str(tmp_path / "rows.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_labels_in_a_column_of_a_spark_frame_are_explained(spark, frame):
    given = frame.drop("w")
    rows = spark.createDataFrame(given.to_pandas()).repartition(3)
    expected = ClusterExplainer(algorithm="imm").fit(given, "segment")
    assert export_json(ClusterExplainer(algorithm="imm").fit(rows, "segment")) == export_json(expected)


def test_a_stage_of_spark_places_every_row_as_the_model_does_in_the_jvm_and_is_saved(spark, frame, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import VectorAssembler

    from cutwise.spark import ExplainableKMeans as Stage
    from cutwise.spark import ExplainableKMeansModel

    expected = ExplainableKMeans(4, **OPTIONS).fit(frame.drop("segment"), sample_weight="w")
    pandas = frame.to_pandas()
    rows = spark.createDataFrame(pandas)
    stage = Stage(inputCols=NAMES, weightCol="w", k=4, maxLeaves=7, algorithm="exshallow")
    stage.save(str(tmp_path / "stage"))
    model = Stage.load(str(tmp_path / "stage")).fit(rows)
    assert export_json(model.fitted) == export_json(expected)
    assert np.array_equal(model.clusterCenters(), expected.cluster_centers_)
    model.save(str(tmp_path / "model"))
    found = ExplainableKMeansModel.load(str(tmp_path / "model")).transform(rows)
    assert found.columns == [*rows.columns, "prediction"]
    assert "Python" not in found._jdf.queryExecution().toString()
    assert found.toPandas()["prediction"].tolist() == expected.predict(frame.select(NAMES)).tolist()

    a = float(expected.tree_.threshold[0])
    hard = [(a, a, None), (None, a, a), (float("nan"), a, a), (a, a, a)]
    placed = model.transform(spark.createDataFrame(hard, schema=", ".join(f"`{name}` double" for name in NAMES)))
    lazily = expected.predict(pl.LazyFrame(hard, schema=dict.fromkeys(NAMES, pl.Float64), orient="row"))
    assert [row.prediction for row in placed.collect()] == lazily.collect().to_series().to_list()

    vectors = VectorAssembler(inputCols=["a", "w"], outputCol="both")
    pipeline = Pipeline(stages=[vectors, Stage(featuresCol="both", predictionCol="group", k=3, algorithm="imm")])
    pipeline.fit(rows).save(str(tmp_path / "pipeline"))
    placed = PipelineModel.load(str(tmp_path / "pipeline")).transform(rows)
    assert placed.columns == [*rows.columns, "both", "group"]
    in_memory = ExplainableKMeans(3, algorithm="imm", random_state=0).fit(frame.select("a", "w").to_numpy())
    assert placed.toPandas()["group"].tolist() == in_memory.labels_.tolist()


def test_a_stage_names_columns_that_are_missing_or_in_the_way(spark):
    from cutwise.spark import ExplainableKMeans as Stage

    rows = spark.createDataFrame(
        [(float(i), float(i % 5), i % 3) for i in range(60)], schema="a double, b double, T int"
    )
    options = {"inputCols": ["a", "b"], "k": 2, "algorithm": "imm"}
    for make, words in (
        (lambda: Stage(**options, predictionCol="t").fit(rows), "has a column 't' already.*predictionCol="),
        (lambda: Stage(inputCols=["a", "bb"], k=2).fit(rows), "no column 'bb'. Did you mean 'b'"),
        (lambda: Stage(k=2).fit(rows), r"no column 'features'.*'a', 'b', 'T'. Name those.*inputCols="),
        (lambda: Stage(**options, weightCol="w").fit(rows), "no column 'w'"),
        (lambda: Stage(**options).fit(rows).transform(rows.drop("a")), "no column 'a'"),
        (lambda: (model := Stage(**options).fit(rows)).transform(model.transform(rows)), "'prediction' already"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            make()
    assert "prediction" in Stage(**options).fit(rows).transform(rows.drop("b")).columns  # the tree asks about a alone


def test_the_pipeline_of_the_page_runs(spark, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "howto" / "lazy.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```py\n(.*?)```", page, flags=re.DOTALL)
    example = example.replace('"segments"', repr(str(tmp_path / "segments")))  # the JVM has a folder of its own
    rows = [(float(age), float(age % 7)) for age in range(20, 80)]
    names = {"customers": spark.createDataFrame(rows, schema="age double, income double")}
    exec(example, names)
    counts = names["placed"].groupBy("segment").count().collect()
    assert {row.segment: row["count"] for row in counts} == {rule.cluster: rule.size for rule in names["rules"]}
