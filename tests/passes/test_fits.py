"""The contract of tables that are not in memory: the bytes of the same rows in memory, whatever brings the rows."""

import gc
import os
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import cloudpickle
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from cutwise import (
    Batches,
    ClusterExplainer,
    ExplainableKMeans,
    ExplainableKMedians,
    cost_curve,
    export_json,
    load_model,
    report,
)
from cutwise.exceptions import (
    ChangedDataError,
    CutwiseError,
    DominantColumnWarning,
    InfeasibleLimitsError,
    InvalidInputError,
)
from cutwise.passes import provider, sources, spill
from cutwise.passes.sources import as_lazy

pytestmark = pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")

RECIPES = ("imm", "exkmc", "exgreedy", "exshallow", "search")


def door_of(name, frame, parts):
    """A table as an engine has it, in these parts."""
    arrow = pa.Table.from_batches(
        [frame[part].to_arrow().combine_chunks().to_batches()[0] for part in parts if len(part)]
    )
    if name == "polars":
        return pl.concat([frame[part] for part in parts]).lazy()
    if name == "duckdb":
        return duckdb.sql("select * from arrow")
    if name == "pyarrow":
        return ds.dataset(arrow.to_batches(), schema=arrow.schema)
    if name == "dask":
        return dask.from_pandas(arrow.to_pandas(), npartitions=len(parts))
    if name == "workers":
        return Workers([frame[part] for part in parts])
    if name == "frames":
        return Batches(lambda: (frame[part] for part in parts if len(part)))
    return Batches(lambda: (frame[part].to_numpy() for part in parts if len(part)), names=frame.columns)


class Workers(Batches):
    """An engine whose workers get what is to be done, and send what they find, as bytes."""


def lazy_by_workers(X):
    def engine(work, merge):
        work = cloudpickle.dumps(work)
        assert len(work) < 10**6
        parts = list(X)
        found = [pickle.dumps(cloudpickle.loads(work)(filter(len, parts[i::5]))) for i in range(5)]
        return reduce(merge, map(pickle.loads, found))

    lazy = as_lazy(X)
    return replace(lazy, engine=engine) if isinstance(X, Workers) else lazy


@pytest.fixture(autouse=True)
def rows_stay_with_workers(monkeypatch):
    monkeypatch.setattr("cutwise.passes.rows.COPIED_BYTES", -1)
    for module in ("_base", "_report", "cluster_explainer"):
        monkeypatch.setattr(f"cutwise.estimators.{module}.as_lazy", lazy_by_workers)


duckdb = None if find_spec("duckdb") is None else import_module("duckdb")
dask = None if find_spec("dask") is None else import_module("dask.dataframe")
IS_HERE = {"duckdb": duckdb is not None, "dask": dask is not None}
DOORS = [
    pytest.param(name, marks=pytest.mark.skipif(not IS_HERE.get(name, True), reason=f"{name} is not installed"))
    for name in ("polars", "duckdb", "pyarrow", "dask", "frames", "arrays", "workers")
]


@pytest.mark.parametrize("n_examples", [15, pytest.param(100, marks=pytest.mark.slow)])
def test_every_door_partition_and_order_gives_the_bytes_of_memory(n_examples):
    of_any_table = settings(max_examples=n_examples, phases=(Phase.explicit, Phase.generate))
    of_any_table(given(data=st.data())(same_through_any_door))()


def same_through_any_door(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    kind = data.draw(st.sampled_from(["few", "halves", "normal", "constant", "zeros", "far", "255", "256", "257"]))
    n, d = data.draw(st.sampled_from([12, 60, 400])), data.draw(st.integers(1, 3))
    X = {
        "few": lambda: rng.integers(0, 4, (n, d)),
        "halves": lambda: rng.integers(-9, 9, (n, d)) / 2,
        "normal": lambda: rng.normal(size=(n, d)),
        "constant": lambda: np.column_stack([rng.normal(size=n), *np.ones((d - 1, n))]),
        "zeros": lambda: rng.choice([-0.0, 0.0, 1.0, 0.5, 3.25], (n, d)),
        "far": lambda: rng.normal(size=(n, d)) * np.where(np.arange(n) < 3, 1e9, 1.0)[:, None],
    }.get(kind, lambda: rng.permuted(np.arange(n * d) % int(kind)).reshape(n, d) * 0.37)()
    X = X.astype(data.draw(st.sampled_from([X.dtype, np.float32, np.int64])))
    frame = pl.DataFrame(np.ascontiguousarray(X), schema=[f"c{i}" for i in range(d)])
    k = data.draw(st.integers(1, max(1, min(5, len(np.unique(X, axis=0))))))
    reference = None
    if data.draw(st.booleans()):  # also where distances are measured in other units
        reference = X[rng.choice(n, k, replace=False)].astype(float) + rng.choice([0.0, 0.25], (k, d))
    options = {
        "algorithm": data.draw(st.sampled_from(RECIPES)),
        "max_leaves": data.draw(st.sampled_from([None, k + 1, 2 * k + 3])),
        "expansion": data.draw(st.sampled_from(["exkmc", "expand"])),
        "reference": reference,
        "n_init": 2,
        "random_state": 0,
        "search_effort": data.draw(st.sampled_from([0.0, 1.0, 2.3])),
        "max_size": data.draw(st.sampled_from([None, "exshallow"])),
        "cut_features": data.draw(st.sampled_from([None, None, ["c0"]])),
        "max_depth": data.draw(st.sampled_from([None, None, 3, 5])),
        "min_samples_leaf": data.draw(st.sampled_from([1, 1, 3, 0.05])),
        "preprocessor": data.draw(
            st.sampled_from(
                [
                    "auto",
                    "auto",
                    StandardScaler(),
                    StandardScaler(with_mean=False),
                    MinMaxScaler((-1, 2)),
                    MaxAbsScaler(),
                ]
            )
        ),
    }
    weights = data.draw(st.sampled_from([None, "ones", "whole"]))
    given_frame, name = frame, None
    if weights is not None:
        w = np.ones(n, dtype=int) if weights == "ones" else rng.integers(rng.integers(2), 5, n)
        w = w.astype(np.result_type(X.dtype, np.int8))  # an array of both keeps the dtype
        given_frame, name = frame.with_columns(pl.Series("w", w)), "w"
    rows = rng.permutation(n)
    parts = np.array_split(rows, data.draw(st.sampled_from([1, 2, 7, min(n, 30)])))
    parts.insert(1, np.empty(0, dtype=int))
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):  # searches look at fewer rows than there are
            for size, n_rows in (("SAMPLED_ROWS", 40), ("POLISHED_ROWS", 40), ("ROWS_A_CLUSTER", 4)):
                patch.setattr(f"cutwise.tree.refine_sample.{size}", n_rows)
            patch.setattr("cutwise.tree.refine_sample.WHOLE_VALUES", 0)
        # Costs of others are larger than those of the rows that say which are likely.
        patch.setattr("cutwise.passes.rows._LIKELY", data.draw(st.sampled_from([1, 1 << 13])))
        patch.setattr("cutwise.passes.rows.LOADED_BYTES", data.draw(st.sampled_from([0, 1 << 26])))
        same_in_batches(data, given_frame, name, parts, k, options)


def same_in_batches(data, given_frame, name, parts, k, options):
    try:
        in_memory = ExplainableKMeans(k, **options).fit(given_frame, sample_weight=name)
    except InfeasibleLimitsError as error:
        with pytest.raises(InfeasibleLimitsError, match=re.escape(str(error))):
            ExplainableKMeans(k, **options).fit(given_frame.lazy(), sample_weight=name)
        return
    except InvalidInputError:  # rows that differ by less than float32 tells apart once they are scaled
        with pytest.raises(InvalidInputError, match="distinct row"):
            ExplainableKMeans(k, **options).fit(given_frame.lazy(), sample_weight=name)
        return
    doors = [name for name in ("workers", "polars", "duckdb", "pyarrow", "frames", "arrays") if IS_HERE.get(name, True)]
    door = door_of(data.draw(st.sampled_from(doors)), given_frame, parts)
    in_batches = ExplainableKMeans(k, **options).fit(door, sample_weight=name)
    assert export_json(in_batches) == export_json(in_memory)
    assert np.array_equal(in_batches.cluster_centers_, in_memory.cluster_centers_)
    assert np.array_equal(in_batches.reference_.centers, in_memory.reference_.centers)
    assert np.array_equal(in_batches._gaps, in_memory._gaps, equal_nan=True)
    assert np.array_equal(in_batches._column_spreads, in_memory._column_spreads, equal_nan=True)
    assert in_batches._kinds == in_memory._kinds
    assert repr(in_batches.limits_price_) == repr(in_memory.limits_price_)


@pytest.mark.parametrize(("seed", "k", "algorithm", "least"), [(6, 4, "imm", 19), (0, 5, "exgreedy", 20)])
def test_where_limits_take_cuts_back_batches_have_the_tree_of_memory(seed, k, algorithm, least, monkeypatch):
    read, all_rows = [], provider.PassProvider.all_rows
    monkeypatch.setattr(provider.PassProvider, "all_rows", lambda *given: read.append(given) or all_rows(*given))
    X = pl.DataFrame(np.random.default_rng(seed).integers(0, 5, (24 * k, 3)).astype(float), schema=list("abc"))
    options = {"algorithm": algorithm, "min_samples_leaf": least, "preprocessor": None, "random_state": 0}
    in_batches = ExplainableKMeans(k, **options).fit(X.lazy())
    assert read
    assert export_json(in_batches) == export_json(ExplainableKMeans(k, **options).fit(X))


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(1200, 4)) + rng.integers(0, 6, (1200, 1)) * 2).astype(np.float32)
    return pl.DataFrame(X, schema=list("abcd"))


@pytest.mark.parametrize("door", DOORS)
def test_a_table_of_many_batches_gives_the_bytes_of_memory(frame, door, monkeypatch):
    algorithm = {"polars": "exshallow", "duckdb": "exkmc", "dask": "exgreedy", "pyarrow": "imm", "arrays": "imm"}
    algorithm = algorithm.get(door, "search")
    monkeypatch.setattr("cutwise.passes.rows.BATCH_ROWS", 300)
    options = {"algorithm": algorithm, "max_leaves": 9, "random_state": 1}
    in_memory = ExplainableKMeans(4, **options).fit(frame)
    in_batches = ExplainableKMeans(4, **options).fit(door_of(door, frame, np.array_split(np.arange(1200), 11)))
    assert export_json(in_batches) == export_json(in_memory)


def test_more_clusters_than_a_byte_counts_whose_first_rows_are_of_few(monkeypatch):
    monkeypatch.setattr("cutwise.passes.rows.BATCH_ROWS", 200)
    centers = 10.0 * np.arange(260)[:, np.newaxis]
    X = np.repeat(centers, 2, axis=0) + np.random.default_rng(0).normal(size=(520, 1))
    options = {"reference": centers, "algorithm": "imm"}
    in_batches = ExplainableKMeans(260, **options).fit(Batches(np.array_split(X, 3)))
    assert export_json(in_batches) == export_json(ExplainableKMeans(260, **options).fit(X))


def test_parquet_files_give_the_bytes_of_memory(frame, tmp_path):
    for i in range(3):
        frame[i * 400 : (i + 1) * 400].write_parquet(tmp_path / f"{i}.parquet", row_group_size=150)
    frame[:0].write_parquet(tmp_path / "none.parquet")
    in_memory = ExplainableKMeans(4, algorithm="exkmc", random_state=0).fit(frame)
    in_batches = ExplainableKMeans(4, algorithm="exkmc", random_state=0).fit(ds.dataset(tmp_path))
    assert export_json(in_batches) == export_json(in_memory)


@pytest.mark.parametrize(
    ("algorithm", "labels", "weights", "door"),
    [
        ("imm", "text", None, "workers"),
        ("exshallow", "integers", "w", "frames"),
        ("exkmc", "text", "w", "workers"),
        ("expand", "bools", None, "frames"),
        ("cart", "text", "w", "workers"),
    ],
)
def test_a_column_of_labels_is_explained_as_in_memory(frame, algorithm, labels, weights, door):
    columns = {"w": np.random.default_rng(2).integers(0, 4, 1200)}
    groups = np.digitize(frame["a"] + frame["b"], [3, 9, 15])
    segments = {"text": np.array(["d", "b", "-1", "a"])[groups], "integers": groups * 3 - 1, "bools": groups > 1}
    columns["segment"] = segments[labels]
    given = frame.with_columns(**{name: pl.Series(x) for name, x in columns.items() if name in ("segment", weights)})
    limits = {} if weights is None else {"max_depth": 4, "min_samples_leaf": 0.02, "preprocessor": StandardScaler()}
    in_memory = ClusterExplainer(9, algorithm, **limits).fit(given, "segment", sample_weight=weights)
    # Where the rows are is nothing to the algorithm: each is asked of one of both.
    door = door_of(door, given, np.array_split(np.argsort(frame["c"]), 7))
    in_batches = ClusterExplainer(9, algorithm, **limits).fit(door, "segment", sample_weight=weights)
    assert export_json(in_batches) == export_json(in_memory)
    assert in_batches.classes_.tolist() == in_memory.classes_.tolist()
    assert in_batches.agreement_ == in_memory.agreement_
    assert in_batches.score(door, "segment", weights) == in_memory.score(given, "segment", weights)
    assert in_memory.score(given, "segment", weights) == pytest.approx(in_memory.agreement_, rel=1e-12)


def test_scores_by_fractions_of_weights_are_those_of_memory():
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"a": rng.normal(size=300), "segment": rng.integers(0, 3, 300)})
    model = ClusterExplainer().fit(rows, "segment")
    for _ in range(10):
        rows = rows.with_columns(f=rng.random(300))
        assert model.score(rows.lazy(), "segment", "f") == model.score(rows, "segment", "f")


def test_a_column_that_holds_nearly_all_of_the_cost_is_said_as_in_memory(frame):
    far = frame.with_columns(pl.col("b") * 1000)
    for options in ({}, {"reference": far[:3].to_numpy()}, {"preprocessor": StandardScaler()}):
        said = []
        for table in (far, far.lazy(), door_of("workers", far, [range(600), range(600, 1200)])):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                ExplainableKMeans(3, random_state=0, algorithm="imm", **options).fit(table)
            said.append([str(own.message) for own in found if own.category is DominantColumnWarning])
        assert said[0] == said[1] == said[2]
        assert bool(said[0]) == (not options)


@pytest.mark.parametrize("door", ["frames", "arrays", "workers"])
def test_batches_may_be_empty_or_without_weight(frame, door):
    given = frame.with_columns(w=pl.Series(np.arange(1200) >= 400))
    parts = [np.arange(0), np.arange(400), np.arange(400, 400), np.arange(400, 1200), np.arange(0)]
    arrays = [given[part].to_numpy() for part in parts]
    rows = Batches(arrays, names=given.columns) if door == "arrays" else Batches([given[part] for part in parts])
    rows = Workers(list(rows)) if door == "workers" else rows
    in_memory = ExplainableKMeans(4, random_state=0).fit(given, sample_weight="w")
    model = ExplainableKMeans(4, random_state=0).fit(rows, sample_weight="w")
    assert export_json(model) == export_json(in_memory)
    assert model.score(rows, sample_weight="w") == in_memory.score(given, sample_weight="w") == -model.cost_
    labels = list(model.predict(Batches([frame[part] for part in parts])))
    assert [len(found) for found in labels] == [len(part) for part in parts]
    assert np.concatenate(labels).tolist() == in_memory.labels_.tolist()
    nothing = Batches([given[:400]])
    with pytest.raises(InvalidInputError, match="every sample_weight is zero"):
        model.score(nothing, sample_weight="w")


def test_a_fitted_preprocessor_is_taken_as_it_is(frame):
    fitted = PCA(3, random_state=0).fit(frame[:500])
    model = ExplainableKMeans(4, algorithm="exkmc", random_state=0, preprocessor=fitted).fit(frame.lazy())
    scores = fitted.transform(frame)
    _, labels = np.unique(model.predict(frame), return_inverse=True)
    means = np.array([scores[labels == label].mean(axis=0) for label in range(4)])
    assert model.cluster_centers_ == pytest.approx(means, rel=1e-5)
    assert -model.score(frame.lazy()) == pytest.approx(((scores - means[labels]) ** 2).sum(), rel=1e-5)


def test_the_best_of_several_explanations_is_taken(frame):
    given = frame.with_columns(segment=pl.Series(np.digitize(frame["a"], [3, 9, 15])))
    model = ClusterExplainer().fit(given.lazy(), "segment")
    assert model.agreement_ == 1.0
    assert model.candidates_.keys() == {"expand", "exshallow", "exgreedy", "imm", "cart"}


def test_trees_that_grow_side_by_side_share_their_passes(frame, monkeypatch):
    options = {"n_clusters": 6, "reference": frame.sample(6, seed=1).to_numpy()}
    passes = [
        ExplainableKMeans(algorithm=name, **options).fit(frame.lazy()).n_passes_
        for name in ("exshallow", "exgreedy", "imm", "exkmc", "search")
    ]
    assert passes[-1] < sum(passes[:-1]) / 2
    monkeypatch.setattr("cutwise.passes.rows.LOADED_BYTES", 1 << 26)
    assert (
        ExplainableKMeans(**options).fit(frame.lazy()).n_passes_ < passes[-1] / 2
    )  # a small table is gone over for its sums alone


def test_fit_transform_is_refused_before_anything_is_fitted(frame, monkeypatch):
    monkeypatch.setattr(ExplainableKMeans, "fit", lambda *_: pytest.fail("fitted first"))
    with pytest.raises(InvalidInputError, match=r"X is of type LazyFrame. .* batch after batch"):
        ExplainableKMeans(4).fit_transform(frame.lazy())


def test_what_is_fitted_answers_as_ever_but_for_its_rows(frame, tmp_path):
    model = ExplainableKMeans(4, algorithm="imm", random_state=0).fit(frame.lazy())
    in_memory = ExplainableKMeans(4, algorithm="imm", random_state=0).fit(frame)
    assert 5 < model.n_passes_ < 40
    assert str(model.rules()) == str(in_memory.rules())
    assert model.predict(frame.lazy()).collect().to_series().to_list() == in_memory.labels_.tolist()
    assert model.score(frame.lazy()) == pytest.approx(-model.cost_, rel=1e-12)
    assert model.inertia_ == model.cost_
    again = ExplainableKMeans(4, algorithm="imm", random_state=0).fit_predict(frame.lazy())
    assert again.collect().to_series().to_list() == in_memory.labels_.tolist()
    with pytest.raises(AttributeError, match=r"predict\(X\) gives the labels"):
        model.labels_  # noqa: B018
    model.save(tmp_path / "model.json")
    assert export_json(load_model(tmp_path / "model.json")) == export_json(model)
    assert model.fit(frame).labels_.tolist() == in_memory.labels_.tolist()
    assert not hasattr(model, "n_passes_")


@pytest.mark.parametrize(
    ("change", "words"),
    [(lambda part: part[1:], "1,200 rows.*and 1,193"), (lambda part: part * 2, "and 1,200 .*hold other values")],
)
def test_rows_that_change_between_passes_are_an_error_with_both_counts(frame, change, words):
    door, opened = Workers([]), []
    parts = [frame[part] for part in np.array_split(np.arange(1200), 7)]
    door.open = lambda: opened.append(0) or (parts if len(opened) < 6 else map(change, parts))
    with pytest.raises(ChangedDataError, match=words):
        ExplainableKMeans(3, algorithm="imm").fit(door)


@pytest.mark.parametrize("algorithm", ["exkmc", "search"])
def test_curves_fronts_and_reports_of_batches_are_those_of_memory(frame, algorithm):
    frame = frame[:400]
    door = door_of("frames", frame, np.array_split(np.argsort(frame["c"]), 5))
    options = {"algorithm": algorithm, "random_state": 0, "preprocessor": StandardScaler()}
    made = []
    for X in (frame, door):
        model = ExplainableKMeans(4, **options).fit(X)
        curve, front = cost_curve(model, X, max_leaves=7), model.front(X)
        models = [*map(curve.model, curve.n_leaves.tolist()), *map(front.model, range(len(front)))]
        described = report(model, X).summary
        shown = pytest.importorskip("cutwise.plot").ProfileDisplay.from_estimator(model, X).difference_.tolist()
        made.append((curve.to_dict(), front.to_dict(), list(map(export_json, models)), described, shown))
    assert made[1] == made[0]
    del model, curve, front, models
    gc.collect()
    assert not folders()


def folders():
    return set(Path(tempfile.gettempdir()).glob(f"cutwise-rows-{os.getpid()}-*"))


def test_nothing_is_left_behind(frame, monkeypatch):
    def fails(*_):
        raise KeyboardInterrupt

    ExplainableKMeans(3, algorithm="imm").fit(frame.lazy())
    assert not folders()
    monkeypatch.setattr("cutwise.estimators._lazy.PreparedRows", fails)
    with pytest.raises(KeyboardInterrupt):
        ExplainableKMeans(3, algorithm="imm").fit(frame.lazy())
    assert not folders()


def test_a_full_disk_is_an_error_with_the_folder_and_nothing_left_behind():
    resource = pytest.importorskip("resource", reason="this system has no limits")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    X = pl.DataFrame({"a": range(2000)}).lazy()
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, limits[1]))  # Python has its signal ignored
        with pytest.raises(InvalidInputError, match=r"written to (\S+): .*TMPDIR") as caught:
            ExplainableKMeans(3, algorithm="imm").fit(X)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    folder = Path(re.search(r"written to (\S+): ", str(caught.value))[1])
    assert folder.parent == Path(tempfile.gettempdir())
    assert not folder.exists()
    assert not folders()


def test_a_folder_for_copies_that_is_not_there_is_an_error(frame, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with pytest.raises(InvalidInputError, match=r"TMPDIR names .*none, where nothing can be written\. Set it"):
        ExplainableKMeans(3).fit(Batches([frame]))


def test_files_are_read_again_and_their_values_are_not_copied(frame, tmp_path, monkeypatch):
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=7)
    written = set()
    append = spill.Column.append
    monkeypatch.setattr(
        spill.Column, "append", lambda self, values: (written.add(self.path.name), append(self, values))
    )
    options = {"algorithm": "exshallow", "random_state": 0, "preprocessor": StandardScaler()}
    in_batches = ExplainableKMeans(3, **options).fit(ds.dataset(tmp_path / "rows.parquet"))
    assert export_json(in_batches) == export_json(ExplainableKMeans(3, **options).fit(frame))
    assert {name.partition("-")[0] for name in written} == {"codes", "labels", "excess", "base"}


def test_the_length_of_a_curve_of_labels_in_batches_has_a_default(frame):
    labeled = frame.with_columns(y=pl.Series(np.arange(len(frame)) % 2)).lazy()
    assert cost_curve(ClusterExplainer(algorithm="cart"), labeled, "y").max_leaves == 8


def test_the_share_that_is_done_never_falls(frame):
    from cutwise._progress import watch_progress

    shares = []
    with watch_progress(lambda what, share: shares.append(share)):
        ExplainableKMeans(3, random_state=0, max_depth=3).fit(frame.lazy())
    assert shares == sorted(shares)
    assert len(set(shares)) > 5


@pytest.mark.parametrize("change", ["other", "order", "fewer", "more"])
def test_files_that_change_between_passes_are_an_error(frame, tmp_path, monkeypatch, change):
    path, read, n_read = tmp_path / "rows.parquet", sources.Again.read, []
    frame.write_parquet(path)
    changed = {
        "other": frame.with_columns(pl.col("a") + (pl.int_range(pl.len()) == 5)),
        "order": frame.reverse(),
        "fewer": frame[:-1],
        "more": pl.concat([frame, frame[:1]]),
    }[change]

    def read_changed(self, columns=None):
        n_read.append(columns)
        if len(n_read) == 3:
            changed.write_parquet(path)
        return read(self, columns)

    monkeypatch.setattr(sources.Again, "read", read_changed)
    with pytest.raises(ChangedDataError, match=r"1,200 rows in the first pass|was rewritten after"):
        ExplainableKMeans(3, random_state=0).fit(ds.dataset(path))


def test_a_dataset_of_a_file_that_was_written_anew_since_its_first_fit(frame, tmp_path):
    path, model = tmp_path / "rows.parquet", ExplainableKMeans(3, algorithm="imm", random_state=0)
    frame.write_parquet(path)
    model.fit(rows := ds.dataset(path))
    frame[:70].write_parquet(path)
    with pytest.raises(ChangedDataError, match=r"rows.parquet was rewritten .*\. Open the dataset again"):
        model.fit(rows)


def test_a_file_that_grows_between_passes_is_an_error_with_both_counts(frame, tmp_path, monkeypatch):
    path, read, n_read = tmp_path / "rows.csv", sources.Again.read, []
    frame.write_csv(path)

    def read_changed(self, columns=None):
        n_read.append(columns)
        if len(n_read) == 2:
            pl.concat([frame, frame[:70]]).write_csv(path)
        return read(self, columns)

    monkeypatch.setattr(sources.Again, "read", read_changed)
    with pytest.raises(ChangedDataError, match=r"1,200 rows in the first pass over it and 1,270 in another\."):
        ExplainableKMeans(3, random_state=0).fit(ds.dataset(path, format="csv"))


def test_a_file_that_goes_between_passes_is_an_error_in_sentences(frame, tmp_path, monkeypatch):
    path, read = tmp_path / "rows.parquet", sources.Again.read
    frame.write_parquet(path)

    def read_nothing(self, columns=None):
        path.unlink(missing_ok=True)
        return read(self, columns)

    monkeypatch.setattr(sources.Again, "read", read_nothing)
    with pytest.raises(ChangedDataError, match=r"could not read them: .*[^.]\. Keep its files unchanged"):
        ExplainableKMeans(3, random_state=0).fit(ds.dataset(path))


def test_what_a_killed_process_left_is_removed_by_the_next_fit_on_its_machine(frame, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program = "import os; from cutwise.passes.spill import Copies; copies = Copies(); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    (left,) = tmp_path.iterdir()
    monkeypatch.setattr("cutwise._whole._MACHINE", "0" * 8)
    ExplainableKMeans(3, algorithm="imm").fit(frame.lazy())
    assert left.exists()
    monkeypatch.undo()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ExplainableKMeans(3, algorithm="imm").fit(frame.lazy())
    assert not left.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_a_forked_child_that_ends_leaves_the_copies_of_its_parent():
    program = """
import os, sys
from cutwise.passes.spill import Copies
copies = Copies()
child = os.fork()
if not child:
    sys.exit()
os.waitpid(child, 0)
assert copies.folder.is_dir()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (lambda X: ExplainableKMeans(3).fit(X.lazy(), sample_weight=np.ones(len(X))), 'sample_weight="w"'),
        (lambda X: ExplainableKMeans(3).fit(X.lazy(), sample_weight="e"), "not a column of X"),
        (lambda X: ExplainableKMeans(3).fit(X.lazy(), sample_weight="b"), "Negative|fractions"),
        (lambda X: ExplainableKMeans(2, algorithm="optimal").fit(X.lazy()), "a sample"),
        (lambda X: ExplainableKMeans(5, max_depth=2).fit(X.lazy()), "allows 4 leaves"),
        (lambda X: ExplainableKMeans(3, preprocessor=RobustScaler()).fit(X.lazy()), r"RobustScaler.*fit\(sample\)"),
        (
            lambda X: ExplainableKMeans(3).fit(X.lazy().with_columns(w=2**21), sample_weight="w"),
            r"add up to \d+, .* Give smaller whole numbers",
        ),
        (lambda X: ClusterExplainer().fit(X.lazy(), np.zeros(len(X))), 'y="segment"'),
        (
            lambda X: ClusterExplainer().fit(X.lazy(), None),
            r'y is the name of the column of labels: fit\(X, "segment"\)',
        ),
        (lambda X: ClusterExplainer().fit(X.lazy(), "a", costs=np.ones((1200, 3))), "one line per row.*Leave them out"),
        (
            lambda X: ExplainableKMeans(3).fit(X).score(X.lazy().filter(pl.col("a") > 99)),
            "X has no rows. Give at least",
        ),
        (lambda X: ClusterExplainer().fit(X.lazy(), "segments"), "not a column of X"),
        (lambda X: ClusterExplainer(algorithm="spex").fit(X.lazy(), "a"), "a sample"),
        (lambda X: ClusterExplainer().fit(X.lazy().with_columns(y=pl.lit(-1)), "y"), "Every label.*noise"),
        (lambda X: ExplainableKMedians(3).fit(X.lazy()), "ExplainableKMeans"),
        (lambda X: ExplainableKMeans(3, reference=ExplainableKMeans(3)).fit(X.lazy()), "cluster_centers_"),
        (lambda X: ExplainableKMeans(3, reference=np.ones((2, 4))).fit(X.lazy()), "n_clusters=3"),
        (lambda X: ExplainableKMeans(9).fit(X[[0, 1, 1, 0]].lazy()), r"the 2 distinct rows of X \(n_samples=4\)"),
        (
            lambda X: ExplainableKMeans(9).fit(
                X[[0, 1, 1, 2]].with_columns(w=pl.Series([1, 2, 3, 0])).lazy(), sample_weight="w"
            ),
            r"the 2 distinct rows of X of positive weight \(n_samples=4\)",
        ),
        (lambda X: ExplainableKMeans(1).fit(X.lazy().filter(pl.col("a") > 99)), "no rows"),
        (
            lambda X: ExplainableKMeans(1, preprocessor=None).fit(X.lazy().with_columns(a=float("nan"))),
            r"column 'a'.*batches.*X\.drop_nulls\(\)",
        ),
        (
            lambda X: ExplainableKMeans(1, preprocessor=None).fit(X.lazy().with_columns(a=pl.lit("x"))),
            r"column 'a'.*batches.*X\.select\(",
        ),
        (lambda X: ExplainableKMeans(1).fit(Batches(lambda: [X, X[["a", "b"]]])), "differ"),
    ],
)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_errors_say_what_to_type(frame, fit, words):
    with pytest.raises(CutwiseError, match=f"(?s){words}"):
        fit(frame)
    assert not folders()


_UNDER_A_LIMIT = """
import resource, numpy as np
from cutwise import Batches, ExplainableKMeans

def rows(n):
    for i in range(n):
        rng = np.random.default_rng(i)
        yield rng.normal(size=(1 << 16, 8)) + 9 * rng.integers(0, 4, (1 << 16, 1))

model = ExplainableKMeans(4, algorithm="imm", max_leaves=6, random_state=0)
model.fit(Batches(lambda: rows(2)))  # imports and threads take room too
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 128 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(model.fit(Batches(lambda: rows(80))).tree_.n_leaves)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits on a process are the system's")
def test_rows_take_no_memory_however_many():
    # 320 MiB of values, in a process that may take 128 MiB more.
    done = subprocess.run([sys.executable, "-c", _UNDER_A_LIMIT], capture_output=True, text=True)
    assert done.stdout == "6\n", done.stderr


@pytest.mark.parametrize("seed", [4, 10, 18])  # another leaf splits a cluster that it need not
def test_of_trees_that_cost_the_same_a_front_has_the_shorter(seed):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(40, 1)) + 3 * rng.integers(0, 3, (40, 1)), 1)
    model = ExplainableKMeans(4, random_state=0).fit(rows)
    front = model.front(rows, max_leaves=9)
    assert front.n_leaves[-1] == 4
    assert front.to_dict() == model.front(Batches([rows[:20], rows[20:]]), max_leaves=9).to_dict()
