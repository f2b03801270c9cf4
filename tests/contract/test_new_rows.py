"""New rows need the columns that the tree asks about, and no others: ``predict``, rules, SQL and Python agree."""

import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import PowerTransformer, StandardScaler

from cutwise import (
    Batches,
    ClusterExplainer,
    ExplainableKernelKMeans,
    ExplainableKMeans,
    ExplainableKMedians,
    KernelKMeans,
    KMedians,
    export_python,
    export_sql,
    load_model,
    report,
)
from cutwise.exceptions import ColumnMismatchError, NotFiniteError, NotNumericError
from cutwise.metrics import tree_cost

RNG = np.random.default_rng(0)
LABELS = np.repeat([0, 1, 2, 3], 25)
# The clusters differ in "age" and "income"; "noise" and "rest" say nothing, and stand before and after them.
TABLE = pd.DataFrame(
    {
        "noise": RNG.normal(size=100),
        "age": np.array([20, 20, 60, 60])[LABELS] + RNG.integers(0, 5, 100),
        "rest": RNG.integers(0, 3, 100),
        "income": np.array([1.0, 9.0, 1.0, 9.0])[LABELS] + RNG.uniform(0, 1, 100),
    }
)
MODELS = {
    "kmeans": lambda: ExplainableKMeans(4, random_state=0).fit(TABLE),
    "scaled": lambda: ExplainableKMeans(4, preprocessor=StandardScaler(), random_state=0).fit(TABLE),
    "explainer": lambda: ClusterExplainer().fit(TABLE, LABELS),
}
CHANGES = {
    "missing": lambda frame: frame.drop(columns=["noise", "rest"]),
    "one missing": lambda frame: frame.drop(columns="noise"),
    "NaN": lambda frame: frame.assign(noise=np.nan, rest=np.nan),
    "null in some rows": lambda frame: frame.assign(rest=pd.array([1, None] * 50, dtype="Int64")),
    "text": lambda frame: frame.assign(noise="?", rest=None),
    "infinity": lambda frame: frame.assign(noise=-np.inf),
}
LIBRARIES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.fixture(params=MODELS, scope="module")
def model(request):
    fitted = MODELS[request.param]()
    assert set(fitted.feature_names_in_[fitted.tree_.feature[fitted.tree_.feature >= 0]]) == {"age", "income"}
    return fitted


@cache
def said_of_table(model):
    return model.explain(TABLE, changes=True), model.smallest_changes(TABLE)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("change", CHANGES)
def test_what_no_test_asks_about_may_be_anything_in_a_data_frame(model, change, library):
    new = LIBRARIES[library](CHANGES[change](TABLE))
    assert np.array_equal(model.predict(new), model.predict(TABLE))
    assert np.array_equal(model.apply(new), model.apply(TABLE))
    explained, changes = said_of_table(model)
    assert model.explain(new, changes=True) == explained
    assert model.smallest_changes(new) == changes
    for cluster in model.rules():
        assert np.array_equal(cluster.matches(new), model.predict(TABLE) == cluster.cluster)


def test_sql_and_python_ask_about_the_same_columns_as_predict(model):
    duckdb = pytest.importorskip("duckdb")
    data = TABLE[["age", "income"]]
    with duckdb.connect() as connection:
        connection.register("data", data)
        found = connection.execute(export_sql(model)).df()["cluster"]
    assert np.array_equal(found, model.predict(data))
    scope = {}
    exec(export_python(model), scope)
    (function,) = (value for name, value in scope.items() if callable(value) and not name.startswith("_"))
    assert [function(row) for row in data.to_dict("records")] == model.predict(data).tolist()


def test_a_tree_of_one_leaf_needs_no_column():
    model = ExplainableKMeans(1).fit(TABLE)
    assert model.predict(TABLE[["rest"]]).tolist() == [0] * 100
    assert model.explain(pd.DataFrame({"noise": ["x", None]})) == ["cluster 0 because every row is"] * 2


def test_sparse_rows_are_read_by_the_kinds_of_fit():
    code = np.tile([3.0, 5.0, 0.0], 40)
    X = np.column_stack([code, np.arange(120) % 7 + 9.0 * (code == 5)])
    model = ExplainableKMeans(3, categorical_features=[0], random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(sp.csr_array(X)), model.predict(X))


def test_a_sparse_frame_stays_sparse_and_gets_the_same_clusters():
    sparse = TABLE.assign(noise=0.0).astype(pd.SparseDtype(float, 0.0))
    model = MODELS["kmeans"]()
    assert np.array_equal(model.predict(sparse[["age", "income"]]), model.predict(TABLE))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            lambda f: f.drop(columns=["age", "rest"]),
            ColumnMismatchError,
            "missing:\n- age\nThe tree uses 'age'",
        ),
        (lambda f: f.assign(age=np.nan), NotFiniteError, "column 'age', row 0"),
        (lambda f: f.assign(income="x"), NotNumericError, "column 'income'"),
        (lambda f: f.assign(other=1), ColumnMismatchError, "unseen at fit time:\n- other"),
        (lambda f: f[["age", "noise", "rest", "income"]], ColumnMismatchError, "same order"),
        (lambda f: f[["income", "age"]], ColumnMismatchError, "column 0: 'income' now, 'age' at fit time"),
        (lambda f: f[["age", "income"]].to_numpy(), ColumnMismatchError, "X has 2 features"),
        (lambda f: f.assign(noise=np.nan).to_numpy(), NotFiniteError, "NaN"),
    ],
)
@pytest.mark.filterwarnings("ignore::cutwise.exceptions.ColumnNamesWarning")
def test_what_a_test_asks_about_must_be_there_and_arrays_must_be_whole(model, change, error, words):
    with pytest.raises(error, match="(?s)" + words.replace("\n", "\\n")):
        model.predict(change(TABLE))


@pytest.mark.parametrize("library", ["pandas", "polars", "lazy", "pyarrow", "AnnData"])
@pytest.mark.parametrize("names", [["rest", "noise", "income", "age"], ["income", "age"]])
def test_the_next_step_for_columns_in_another_order_can_be_typed(library, names):
    if library == "lazy" and not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("this release of polars gives no batches")
    model, X = MODELS["kmeans"](), TABLE[names]
    if library == "AnnData":
        X = SimpleNamespace(X=X.to_numpy(), var_names=names, obs=None, shape=X.shape)
    elif library != "pandas":
        X = pl.from_pandas(X) if library == "polars" else pl.from_pandas(X).lazy()
        X = X.collect().to_arrow() if library == "pyarrow" else X
    with pytest.raises(ColumnMismatchError) as caught:
        model.predict(X)
    said = str(caught.value)
    assert "missing" not in said  # the tree asks about neither of the others
    (step,) = re.findall(r"under their names: (.*)\.$", said)
    if library == "AnnData":
        assert step.startswith("adata[:, ")
        X, step = TABLE[names], step.replace("[:, ", "[").replace(".var_names", ".columns")
    found = model.predict(eval(step, {"X": X, "adata": X, "model": model}))
    assert np.array_equal(found.collect()["cluster"] if library == "lazy" else found, model.predict(TABLE))


@pytest.mark.parametrize("change", ["missing", "NaN", "text"])
def test_distances_need_every_column_and_say_so(change):
    with pytest.raises((ColumnMismatchError, NotFiniteError, NotNumericError), match="noise"):
        MODELS["kmeans"]().transform(CHANGES[change](TABLE))


@pytest.mark.parametrize("change", ["missing", "NaN", "text"])
def test_a_report_describes_the_columns_that_it_can_and_says_so(model, change):
    summary = report(model, CHANGES[change](TABLE)).summary
    assert [column["name"] for column in summary["columns"]] == [
        name for name in summary_order(model) if name in ("age", "income")
    ]
    (said,) = summary["notes"]  # once, and nothing of how Python selects columns: the command line shows it too
    assert said.startswith("Only the columns that the tree tests are described, and the cost curve is left out")
    assert "noise" in said
    assert "X[" not in said
    assert [c["rows"] for c in summary["clusters"]] == np.bincount(model.predict(TABLE)).tolist()


def summary_order(model):
    tested = model.tree_.feature[model.tree_.feature >= 0]
    return [model.feature_names_in_[i] for i in dict.fromkeys(tested.tolist())]


BESIDE = TABLE.assign(w=RNG.integers(1, 4, 100), group=[f"g{label}" for label in LABELS])
GIVEN = {
    "weights": (ExplainableKMeans(4, random_state=0), {"sample_weight": "w"}),
    "preprocessor": (
        ExplainableKMeans(4, preprocessor=PowerTransformer(), random_state=0),
        {"sample_weight": "w"},
    ),
    "medians": (ExplainableKMedians(4, random_state=0), {"sample_weight": "w"}),
    "kernel": (ExplainableKernelKMeans(4, random_state=0), {"sample_weight": "w"}),
    "plain medians": (KMedians(4, random_state=0), {"sample_weight": "w"}),
    "plain kernel": (KernelKMeans(4, random_state=0), {"sample_weight": "w"}),
    "labels": (ClusterExplainer(), {"y": "group"}),
    "both": (ClusterExplainer(), {"y": "group", "sample_weight": "w"}),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("given", GIVEN)
def test_columns_that_were_weights_or_labels_at_fit_are_passed_over_in_later_frames(given, library, tmp_path):
    estimator, beside = GIVEN[given]
    as_given = LIBRARIES[library]
    frame = as_given(BESIDE[[*TABLE, *beside.values()]])
    model = clone(estimator)
    distances = model.fit_transform(frame, **beside)
    assert np.array_equal(distances, model.transform(as_given(TABLE)))
    models = [model]
    if hasattr(model, "save") and given not in ("kernel", "preprocessor"):
        model.save(tmp_path / "model.json")
        models.append(load_model(tmp_path / "model.json"))
    for own in models:
        for name in ("predict", "apply", "explain", "smallest_changes", "transform"):
            if hasattr(own, name):
                found, expected = (getattr(own, name)(X) for X in (frame, as_given(TABLE)))
                assert np.array_equal(found, expected) if isinstance(found, np.ndarray) else found == expected
        with pytest.raises(ColumnMismatchError, match=r"unseen at fit time:\n- other\n"):
            own.transform(as_given(BESIDE[[*TABLE, *beside.values()]].assign(other=1)))
    if "y" not in beside and hasattr(model, "tree_"):
        assert model.score(frame) == model.score(as_given(TABLE))
        assert tree_cost(model, frame) == tree_cost(model, as_given(TABLE))
    # A fit without them knows no such columns.
    model.fit(*([as_given(TABLE)] if "y" not in beside else [as_given(TABLE), LABELS]))
    with pytest.raises(ColumnMismatchError, match="unseen at fit time"):
        model.transform(frame)


def test_columns_beside_annotated_matrices_hide_no_column_of_the_same_name():
    names = ["noise", "age", "rest", "group"]
    adata = SimpleNamespace(X=TABLE.to_numpy(), var_names=names, obs=BESIDE[["group"]], shape=TABLE.shape)
    model = ClusterExplainer().fit(adata, "group")
    assert model.predict(TABLE.set_axis(names, axis=1)).tolist() == BESIDE["group"].tolist()


def test_batches_of_frames_may_have_further_columns_as_other_lazy_tables(model):
    expected = model.predict(TABLE).tolist()
    for frame in (BESIDE, pl.from_pandas(BESIDE), pa.Table.from_pandas(BESIDE).to_batches()[0]):
        (labels,) = model.predict(Batches([frame]))
        assert labels.tolist() == expected
    with pytest.raises(ColumnMismatchError, match="- income"):
        list(model.predict(Batches([BESIDE.drop(columns="income")])))


@pytest.mark.skipif(not hasattr(pl.LazyFrame, "collect_batches"), reason="this release of polars gives no batches")
def test_columns_beside_a_fit_in_batches_are_passed_over_too():
    model = ClusterExplainer().fit(pl.from_pandas(BESIDE).lazy(), "group", sample_weight="w")
    assert model.predict(BESIDE).tolist() == model.predict(TABLE).tolist()
