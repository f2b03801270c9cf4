"""What people give by mistake is called by its name, and they are told what to give instead."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from cutwise import (
    Batches,
    ClusterExplainer,
    ExplainableKernelKMeans,
    ExplainableKMeans,
    ExplainableKMedians,
    KernelKMeans,
    KMedians,
)
from cutwise.baselines import CART
from cutwise.exceptions import (
    InvalidInputError,
    LargeIntegersWarning,
    NotFiniteError,
    UnknownOptionError,
    UnsupportedInputError,
)
from cutwise.metrics import weighted_average_depth

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
Y = np.repeat([0, 1, 2], 20)
TABLE = pd.DataFrame(X, columns=["a", "b"])


def relation():
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().sql("SELECT 1.0 AS a, 2.0 AS b")


def fit(*args, **params):
    return lambda: ExplainableKMeans(*(args or (3,)), **params).fit(X)


LEARNS_FROM_Y = "learns from y, and clusters are measured in X alone"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: ExplainableKMedians(2).fit(relation()),
            UnsupportedInputError,
            ["needs the table in memory", "fit a sample"],
        ),
        (
            lambda: ExplainableKMeans(2).fit(pa.table({"a": [1.0, 2.0]}).to_reader()),
            UnsupportedInputError,
            ["a RecordBatchReader", "X.read_all()"],
        ),
        (lambda: ClusterExplainer(KMeans(3)).fit(X, Y), InvalidInputError, ["max_leaves=KMeans", "clusterer.labels_"]),
        (lambda: ClusterExplainer(KMeans(3)).fit(X), InvalidInputError, ["max_leaves=KMeans", "clusterer.labels_"]),
        (lambda: ClusterExplainer().fit(X), InvalidInputError, ["requires y", "fit(X, clusterer.labels_)"]),
        (lambda: ExplainableKMeans(3).fit(X, KMeans(3)), UnsupportedInputError, ["y=KMeans", "reference=clusterer"]),
        (lambda: KMedians(3).fit(X, KMeans(3)), UnsupportedInputError, ["y=KMeans", "reference=clusterer"]),
        (lambda: KernelKMeans(3).fit(X, "label"), UnsupportedInputError, ["y='label'", "ClusterExplainer()"]),
        (
            lambda: ClusterExplainer().fit(TABLE, "y.csv"),
            InvalidInputError,
            ["not a column of X", "read_csv('y.csv')['name']"],
        ),
        (fit(reference=LinearRegression()), InvalidInputError, ["learns from y", "fit(X, model.predict(X))"]),
        (
            lambda: ExplainableKMeans(3).fit(pd.DataFrame(X, columns=["a", "b"]), feature_names=["b", "a"]),
            InvalidInputError,
            ["feature_names", "with columns 'a', 'b'", "rename the columns of X"],
        ),
        *(
            (
                lambda model=model, y=y: model.fit(Batches([TABLE]), *y, feature_names=["b", "a"]),
                InvalidInputError,
                ["in batches", "Leave feature_names out", "Batches(open, names)"],
            )
            for model, y in ((ExplainableKMeans(3), ()), (ClusterExplainer(), ("a",)))
        ),
        (fit(KMeans(3)), InvalidInputError, ["n_clusters=KMeans", "reference=clusterer"]),
        (fit(preprocessor=TargetEncoder()), InvalidInputError, ["TargetEncoder()", LEARNS_FROM_Y]),
        (fit(preprocessor=LinearDiscriminantAnalysis()), InvalidInputError, [LEARNS_FROM_Y, "StandardScaler()"]),
        (fit(preprocessor=SelectKBest(k=1)), InvalidInputError, [LEARNS_FROM_Y]),
        (fit(preprocessor=make_pipeline(StandardScaler(), SelectKBest(k=1))), InvalidInputError, [LEARNS_FROM_Y]),
        (
            lambda: ClusterExplainer(preprocessor=TargetEncoder()).fit(X, Y),
            InvalidInputError,
            [LEARNS_FROM_Y, "transform X with it first"],
        ),
        (
            lambda: ExplainableKMeans(3).fit(2**62 + np.arange(20)[:, None]),
            InvalidInputError,
            ["1 distinct row", "integers beyond 2**53", "subtract a constant"],
        ),
        (
            lambda: ExplainableKMeans(2, algorithm="optimal").fit(np.ones((5, 2))),
            InvalidInputError,
            ["1 distinct row", "other has.\nFor more clusters, give more rows."],
        ),
        (
            lambda: ExplainableKMeans(3).fit(X, feature_names=["a", 2]),
            InvalidInputError,
            ["feature_names holds 2, ", "list(map(str, feature_names))"],
        ),
        (
            lambda: ExplainableKMeans(3, preprocessor=None, handle_unknown="outsid").fit(X),
            UnknownOptionError,
            ["handle_unknown='outsid' is not a valid option", "Did you mean 'outside'?"],
        ),
        (
            lambda: ExplainableKMeans(3, random_state=0).fit(TABLE).transform(TABLE[["b"]]),
            InvalidInputError,
            ["missing:\n- a\nAdd what is missing, and pass the columns of fit"],
        ),
        (lambda: KMedians(3, init=X[:2]).fit(X), InvalidInputError, ["Give one row for each cluster: shape (3, 2)"]),
        (
            lambda: ClusterExplainer().fit(X, Y, costs=np.where(X[:, [0, 0, 0]] > 8, np.inf, 1.0)),
            NotFiniteError,
            ["costs contains infinity: column 0, row ", "\nGive finite numbers alone."],
        ),
        (
            lambda: ExplainableKernelKMeans(3, kernel="precomputed", algorithm="exkmc").fit(
                X, K=np.full((60, 60), np.nan)
            ),
            NotFiniteError,
            ["K contains NaN: column 0, row 0", "\nGive finite numbers alone."],
        ),
        (
            lambda: ExplainableKMeans(3).fit(Batches([TABLE.astype(pd.SparseDtype(float, 0.0))])),
            UnsupportedInputError,
            ["batches of sparse rows", "part.sparse.to_dense()"],
        ),
        (
            lambda: ExplainableKMeans(3, preprocessor=StandardScaler()).fit(sparse.csr_array(X)),
            UnsupportedInputError,
            ["StandardScaler() does not take these sparse rows (ValueError: Cannot", "or use MaxAbsScaler()"],
        ),
    ],
)
def test_it_is_refused_with_its_name_and_the_next_step(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def mistaken():
    """What is given for a table or labels, what it is called, and whether what is proposed can be typed as it is."""
    duckdb = pytest.importorskip("duckdb")
    table = pa.Table.from_pandas(TABLE.assign(name=Y))
    yield from [
        ("X", table.to_reader(), "a RecordBatchReader, whose rows are not in memory yet", True),
        ("y", table.to_reader(), "a RecordBatchReader, whose rows are not in memory yet", True),
        ("y", duckdb.from_arrow(table), "a DuckDBPyRelation, whose rows", False),
        ("X", (row for row in X), "a generator, which can be read only once", True),
        ("X", map(list, X), "a map, which can be read only once", True),
        ("y", (label for label in Y), "a generator, which can be read only once", True),
        ("y", iter(Y.tolist()), "a list_iterator, which can be read only once", True),
        ("X", "data/x.parquet", "a str ('data/x.parquet'). Give what the file holds: polars.scan_parquet(", False),
        ("X", Path("x.csv"), "('x.csv'). Give what the file holds: pandas.read_csv('x.csv')", False),
        ("X", KMeans(3), "a clusterer (KMeans). Give the table first", False),
        ("y", KMeans(3), "a clusterer (KMeans). Give its labels: KMeans(...).fit(X).labels_", False),
    ]


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
def test_what_is_no_data_is_called_by_its_name_and_what_is_proposed_works():
    def explain(what, given):
        return ExplainableKMeans(3).fit(given) if what == "X" else ClusterExplainer().fit(X, given)

    for what, given, called, can_be_typed in mistaken():
        with pytest.raises(UnsupportedInputError, match=f"^{what} is .*{re.escape(called)}") as caught:
            explain(what, given)
        if can_be_typed:
            step = str(caught.value).partition(" Give ")[2].removesuffix(".").partition(";")[0]
            assert explain(what, eval(step, {what: given})).n_leaves_ == 3


def test_the_name_of_a_column_is_no_weights_where_tables_are_arrays():
    with pytest.raises(
        UnsupportedInputError,
        match=r"^sample_weight is a str \('w'\)\. Give .*one a row: X\['w'\], or X\.obs\['w'\] of an A",
    ):
        weighted_average_depth(ExplainableKMeans(3).fit(TABLE).tree_, TABLE, sample_weight="w")


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
@pytest.mark.parametrize(
    ("column", "called"),
    [
        (pd.period_range("2020-01", periods=60, freq="M"), "values of type 'Period': Period('2020-01', 'M')"),
        ([[1, i] for i in range(60)], "values of type 'list': [1, 0]"),
        (X[:, 0] + 1j * Y, "complex numbers"),
        ([b"a", b"b"] * 30, "values of type 'bytes': b'a'"),
    ],
)
def test_columns_of_other_things_are_named_with_what_they_hold(column, called):
    with pytest.raises(UnsupportedInputError, match="numbers, texts or dates, but column 'p' holds") as caught:
        ExplainableKMeans(3).fit(TABLE.assign(p=column))
    assert called in str(caught.value)
    assert "or leave it out: X.drop(columns=['p'])" in str(caught.value)


@pytest.mark.parametrize("least", [2**53 - 3000, 2**53, 2**60])
def test_integers_that_float64_cannot_tell_apart_are_warned_of_where_rules_ask_about_them(least):
    table = pd.DataFrame({"id": least + RNG.integers(0, 1000, 60) * 1024, "x": X[:, 0]})
    with pytest.warns(LargeIntegersWarning, match=r"beyond 2\*\*53.*: column 'id'\."):
        ExplainableKMeans(2, preprocessor=None, random_state=0).fit(table)
    ExplainableKMeans(2, preprocessor=None, random_state=0).fit(table.astype(float))  # measured, not counted
    ClusterExplainer().fit(table, X[:, 0] > 4)  # no rule asks about it


@pytest.mark.parametrize("make", [KernelKMeans, ExplainableKernelKMeans])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_kernel_costs_are_right_or_refused_however_far_apart_weights_are(make, kernel):
    def cost(weight, k=3):
        weights = np.ones(60)
        weights[[0, 20, 40]] = weight
        model = make(k, kernel=kernel, gamma=0.1, random_state=0).fit(X, sample_weight=weights)
        own = model.labels_ == np.arange(3)[:, None]
        K = X @ X.T if kernel == "linear" else np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
        # To the heavy row of its cluster, which is the mean.
        heavy = np.array([0, 20, 40])
        to_heavy = np.diag(K)[:, None] + np.diag(K)[heavy] - 2 * K[:, heavy]
        assert sorted(map(len, map(np.flatnonzero, own))) == [20, 20, 20]
        return model.cost_, to_heavy.min(axis=1).sum()

    found, expected = cost(1e9)
    assert found == pytest.approx(expected, rel=1e-4)
    for weight in (1e16, 1e30):
        with pytest.raises(InvalidInputError, match=f"sample_weight goes from 1 to {weight:g}".replace("+", r"\+")):
            cost(weight)
    weights = np.where(np.arange(60) % 2, 1e-16, 1.0)  # weights that hardly count are no obstacle
    light = make(3, kernel=kernel, gamma=0.1, random_state=0).fit(X, sample_weight=weights)
    without = make(3, kernel=kernel, gamma=0.1, random_state=0).fit(X[::2])
    assert light.cost_ == pytest.approx(without.cost_)


def test_rules_of_many_columns_have_a_short_repr():
    names = [f"column number {i}" for i in range(2000)]
    table = pd.DataFrame(np.hstack([X, RNG.normal(size=(60, 1998))]), columns=names)
    rules = ClusterExplainer().fit(table, Y).rules()
    assert len(repr(rules)) < 2000
    assert rules[0].rules[0].columns.names == tuple(names)


LAZY_ROWS = {
    "polars": (lambda table: pl.from_arrow(table).lazy(), ["X.collect()", "X.head(100_000).collect()"]),
    "pyarrow": (dataset.dataset, ["X.to_table()", "X.head(100_000)"]),
    "duckdb": (lambda table: pytest.importorskip("duckdb").from_arrow(table), ["X.df()", "X.limit(100_000).df()"]),
    "batches": (lambda table: Batches([table.to_pandas()]), ["pandas.concat(X)", "next(iter(X))"]),
}


@pytest.mark.parametrize("kind", LAZY_ROWS)
@pytest.mark.parametrize("name", ["explain", "apply", "transform", "smallest_changes", "recount"])
def test_what_takes_rows_in_memory_alone_says_how_to_get_them_there(name, kind):
    make, steps = LAZY_ROWS[kind]
    given = make(pa.Table.from_pandas(TABLE.assign(w=1), preserve_index=False))
    model = ExplainableKMeans(3, random_state=0).fit(TABLE.assign(w=1), sample_weight="w")
    beside = {"sample_weight": "w"} if name == "recount" else {}
    with pytest.raises(UnsupportedInputError, match="rows are not in memory .*" + ".*".join(map(re.escape, steps))):
        getattr(model, name)(given, **beside)
    for step in steps:
        getattr(model, name)(eval(step, {"X": given, "pandas": pd}), **beside)


def test_a_folder_of_files_is_a_dataset(tmp_path):
    TABLE.to_parquet(tmp_path / "0.parquet")
    with pytest.raises(UnsupportedInputError, match=r"Give what the files hold: pyarrow\.dataset\.dataset\(") as caught:
        ExplainableKMeans(3).fit(str(tmp_path))
    step = str(caught.value).partition("hold: ")[2].removesuffix(".")
    assert ExplainableKMeans(3).fit(eval(step, {"pyarrow": pa})).n_leaves_ == 3


@pytest.mark.parametrize(
    "estimator", [ExplainableKMeans, ExplainableKMedians, ExplainableKernelKMeans, ClusterExplainer, CART]
)
def test_a_parameter_that_does_not_exist_is_refused_in_the_name_of_the_class(estimator):
    with pytest.raises(TypeError, match=rf"{estimator.__name__}.__init__\(\) got an unexpected .* 'max_leaf'"):
        estimator(max_leaf=10)
