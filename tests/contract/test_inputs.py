"""Every container and memory layout of the same table grows the same tree."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler

from cutwise import ClusterExplainer, ExplainableKMeans, KernelKMeans, KMedians, cost_curve, export_sql
from cutwise.exceptions import InvalidInputError
from cutwise.table.convert import as_dense
from tests.oracle.models import fit_quietly, same_tree

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(80, 3)).round(3)
COUNTS = RNG.integers(0, 50, (80, 3))
CENTERS = VALUES[:4] + 0.01
NAMES = ["height", "width", "depth"]


def _fit(X, centers=CENTERS, algorithm="exshallow"):
    return fit_quietly(ExplainableKMeans(len(centers), algorithm=algorithm, reference=centers, max_leaves=7), X)


def _layouts(values, tmp_path):
    stored = tmp_path / "rows.npy"
    np.save(stored, values)
    read_only = values.copy()
    read_only.flags.writeable = False
    padded = np.zeros((len(values), 2 * values.shape[1]), dtype=values.dtype)
    padded[:, ::2] = values
    return {
        "Fortran order": np.asfortranarray(values),
        "read-only": read_only,
        "memory map": np.load(stored, mmap_mode="r"),
        "every other column": padded[:, ::2],
        "reversed twice": values[::-1].copy()[::-1],
        "nested lists": values.tolist(),
        "other byte order": values.astype(values.dtype.newbyteorder(">")),
    }


def test_memory_layouts_do_not_matter(tmp_path):
    expected = _fit(VALUES)
    for name, X in _layouts(VALUES, tmp_path).items():
        model = _fit(X)
        assert same_tree(expected.tree_, model.tree_), name
        assert np.array_equal(model.predict(X), expected.labels_), name
        assert np.array_equal(model.transform(X), expected.transform(VALUES)), name


def _frames(values):
    columns = dict(zip(NAMES, values.T, strict=True))
    plain = pd.DataFrame(values, columns=NAMES)
    return {
        "pandas": plain,
        "pandas, nullable": plain.convert_dtypes(),
        "pandas, Arrow": plain.convert_dtypes(dtype_backend="pyarrow"),
        "pandas, odd index": plain.set_index(np.arange(len(values))[::-1] * 7),
        "polars": pl.DataFrame({name: np.ascontiguousarray(column) for name, column in columns.items()}),
        "pyarrow": pa.table({name: pa.array(column) for name, column in columns.items()}),
    }


@pytest.mark.parametrize("values", [VALUES, COUNTS], ids=["floats", "integers"])
def test_data_frames_of_any_make_keep_their_names_and_grow_the_same_tree(values):
    centers = values[[0, 20, 40, 60]] + 0.25
    expected = _fit(values, centers)
    for name, X in _frames(values).items():
        model = _fit(X, centers)
        assert same_tree(expected.tree_, model.tree_), name
        assert list(model.feature_names_in_) == NAMES, name
        assert np.array_equal(model.predict(X), expected.labels_), name


def test_columns_of_different_types_are_each_printed_by_their_own():
    frame = pd.DataFrame(
        {
            "age": pd.array([20, 30, 40, 50, 60, 70], dtype="Int64"),
            "income": np.array([1.5, 2.5, 3.5, 60.25, 61.5, 62.5], dtype=np.float32),
            "member": [True, False, True, False, True, False],
        }
    )
    centers = np.array([[30, 2.5, 0.5], [60, 61.5, 0.5]])
    model = _fit(frame, centers, "imm")
    assert model.tree_.feature[0] in (0, 1)
    assert list(model.predict(frame)) == [0, 0, 0, 1, 1, 1]


def test_truth_values_beside_complete_numbers_are_called_true_and_false_whatever_holds_them():
    member = [True, True, False, False]
    frame = pd.DataFrame({"age": [20, 30, 21, 31], "member": member})
    frames = [frame, frame.astype({"member": "boolean"}), frame.astype({"member": object}), pl.DataFrame(frame)]
    for X in [*frames, frame.convert_dtypes(dtype_backend="pyarrow"), pa.Table.from_pandas(frame)]:
        model = ExplainableKMeans(2, reference=[[25, 1], [25, 0]], cut_features=["member"], n_init=1).fit(X)
        assert model.column_kinds_ == {"age": "integer", "member": "bool"}
        assert [str(cluster.rules[0]).split(": ")[-1] for cluster in model.rules()] == [
            "member is true",
            "member is false",
        ]
        assert '"member" = TRUE' in export_sql(model, "duckdb")  # 1 is no truth value to databases
        # which has none, and keeps the words of an imported file or numbers
        assert "(CAST(\"data\".\"member\" AS TEXT))) IN ('yes', 'y', 'true', 't', '1')" in export_sql(model, "sqlite")


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "f2", "f4", "f8"]
)
def test_every_number_type_grows_the_tree_of_its_values(dtype):
    values = RNG.integers(0, 2 if dtype == "bool" else 9, (50, 4)).astype(dtype)
    centers = RNG.integers(0, 5, (3, 4)) / 4
    expected, model = _fit(values.astype(np.float64), centers), _fit(values, centers)
    assert np.array_equal(expected.labels_, model.labels_)
    assert np.array_equal(expected.tree_.feature, model.tree_.feature)
    for node in np.flatnonzero(model.tree_.feature >= 0):
        whole = model.tree_.threshold[node].is_integer()
        assert whole or np.dtype(dtype).kind == "f" or not _has_integer(values, centers, model.tree_, node)


def _has_integer(values, centers, tree, node) -> bool:
    """Whether any integer would part the same rows and centers of the whole table at that threshold."""
    column = np.concatenate([values[:, tree.feature[node]].astype(float), centers[:, tree.feature[node]]])
    threshold = tree.threshold[node]
    return np.ceil(column[column <= threshold].max()) < column[column > threshold].min()


def test_big_integers_are_compared_as_float64():
    values = np.array([[2**53], [2**53 + 2], [2**53 + 8], [2**53 + 10]], dtype=np.int64)
    model = _fit(values, values[[0, 2]].astype(float) + 1, "imm")
    assert list(model.labels_) == [0, 0, 1, 1]


def test_input_is_never_written_to():
    for X in (VALUES.copy(), COUNTS.copy(), np.asfortranarray(VALUES), VALUES.astype(np.float32)):
        before = X.copy()
        model = _fit(X, X[[0, 20, 40, 60]].astype(float))
        model.predict(X)
        model.transform(X)
        assert np.array_equal(X, before)


def _annotated(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of anndata's about pandas
        anndata = pytest.importorskip("anndata", reason="AnnData objects are made by the package anndata")
        genes, cells = [f"gene {i}" for i in range(X.shape[1])], [f"cell {i}" for i in range(X.shape[0])]
        kind = pd.Categorical(np.where(X[:, [2]].toarray().ravel() > 0, "T", "B"))
        return anndata.AnnData(X, obs=pd.DataFrame({"leiden": kind}, index=cells), var=pd.DataFrame(index=genes))


class _Lookalike:
    """The parts of an annotated matrix that are read."""

    def __init__(self, X, var_names=None):
        self.X, self.var_names, self.shape = X, var_names or [f"gene {i}" for i in range(X.shape[1])], X.shape
        self.obs = pd.DataFrame({"leiden": np.where(as_dense(X)[:, 1 if var_names else 2] > 0, "T", "B")})


@pytest.mark.parametrize("estimator", [ExplainableKMeans, KMedians, KernelKMeans])
def test_weights_may_be_a_column_of_the_table(estimator):
    X = pd.DataFrame(VALUES[:, :2], columns=["a", "b"])
    w, model = np.arange(len(X)) % 3, estimator(3, random_state=0)
    labels, score = model.fit(X, sample_weight=w).labels_, model.score(X, sample_weight=w)
    named = model.fit(X.assign(w=w), sample_weight="w")
    assert (named.labels_.tolist(), named.score(X.assign(w=w), sample_weight="w")) == (labels.tolist(), score)
    if estimator is ExplainableKMeans:
        rules = str(model.rules())
        assert str(model.recount(X.assign(w=w), sample_weight="w").rules()) == rules
    with pytest.raises(InvalidInputError, match="sample_weight='v' is not a column of X"):
        model.fit(X.assign(w=w), sample_weight="v")


def test_columns_that_no_test_asks_about_may_be_missing_from_a_dense_matrix_with_gaps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[::5, 2] = np.nan
    names = [f"gene {i}" for i in range(4)]
    model = ClusterExplainer().fit(X, np.isnan(X[:, 2]) | (X[:, 2] > 0), feature_names=names)
    assert model.predict(_Lookalike(X[:, [0, 2]], ["gene 0", "gene 2"])).tolist() == model.labels_.tolist()


def test_names_of_columns_hold_for_both_parts_of_fit_transform(recwarn):
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = ExplainableKMeans(2, random_state=0)
    found = model.fit_transform(X, feature_names=["a", "b"])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert not recwarn.list
    np.testing.assert_array_equal(found, ExplainableKMeans(2, random_state=0).fit_transform(X))


def test_the_raw_part_of_annotated_rows_is_refused_with_the_way_to_a_whole():
    data = _annotated(sparse.csr_array(sparse.random(30, 4, density=0.5, random_state=1)))
    data.raw = data
    with pytest.raises(InvalidInputError, match=r"Give a whole one: adata.raw.to_adata\(\)"):
        ClusterExplainer().fit(data.raw, "leiden")


def test_a_matrix_of_a_file_or_of_dask_is_read_into_memory():
    X = sparse.csr_array(sparse.random(60, 8, density=0.3, random_state=1, format="csr"))
    y = np.where(as_dense(X)[:, 2] > 0, "T", "B")
    model = ClusterExplainer().fit(X, y)
    for layer in (
        SimpleNamespace(to_memory=lambda: X, shape=X.shape),  # as a file of AnnData in backed mode has it
        SimpleNamespace(compute=lambda: X, chunks=((60,), (8,)), shape=X.shape),
    ):
        assert ClusterExplainer().fit(layer, y).tree_.equals(model.tree_)
        assert model.predict(layer).tolist() == y.tolist()
        annotated = _Lookalike(X)
        annotated.X = layer
        assert ClusterExplainer().fit(annotated, "leiden").tree_.equals(model.tree_)


def test_an_object_of_several_annotated_matrices_is_refused_by_their_names():
    data = _Lookalike(np.eye(3))
    data.X, data.mod = None, {"rna": 1, "prot": 2}
    with pytest.raises(InvalidInputError, match=r"several tables\. Give one: 'rna', 'prot'"):
        ClusterExplainer().fit(data, "leiden")


@pytest.mark.parametrize("annotate", [_annotated, _Lookalike], ids=["AnnData", "a lookalike"])
def test_an_annotated_matrix_is_read_as_it_is(annotate):
    X = sparse.csr_array(sparse.random(60, 8, density=0.3, random_state=1, format="csr"))
    data = annotate(X)
    model = ClusterExplainer().fit(data, "leiden")
    assert model.agreement_ == 1.0
    assert model.feature_names_in_.tolist() == list(data.var_names)
    assert "`gene 2` <= 0.0" in str(model.rules())
    assert model.predict(data).tolist() == np.asarray(data.obs["leiden"]).tolist()
    assert model.score(data, "leiden") == 1.0
    rules = str(model.rules())
    assert str(model.recount(data, "leiden").rules()) == rules
    assert cost_curve(model, data, "leiden").agreement[0] == 1.0
    named = ClusterExplainer().fit(X, np.asarray(data.obs["leiden"]), feature_names=list(data.var_names))
    assert str(named.rules()) == str(model.rules())
    clusters = ExplainableKMeans(2, random_state=0, preprocessor=MaxAbsScaler()).fit(data)
    alone = ExplainableKMeans(2, random_state=0, preprocessor=MaxAbsScaler()).fit(X)
    assert clusters.tree_.equals(alone.tree_)
    for layout in (sparse.csr_array, sparse.csc_array, sparse.coo_array, np.asarray):
        some = _Lookalike(layout(X.toarray()[:, [1, 2, 5]]), ["gene 1", "gene 2", "gene 5"])
        assert model.predict(some).tolist() == model.predict(data).tolist()
        assert model.explain(some) == model.explain(data)
        with pytest.raises(InvalidInputError, match="The tree uses 'gene 2'"):
            model.predict(_Lookalike(layout(X.toarray()[:, [1, 5]]), ["gene 1", "gene 5"]))
    with pytest.raises(InvalidInputError, match=r"y='leidn' is not a column of X.obs. Did you mean 'leiden'"):
        model.fit(data, "leidn")
    bare = _Lookalike(X)
    bare.obs = bare.obs[[]]
    with pytest.raises(InvalidInputError, match=r"not a column of X.obs. X.obs has no column names"):
        model.fit(bare, "leiden")
    with pytest.raises(InvalidInputError, match="X has no column names"):
        model.fit(X, "leiden")
    with pytest.raises(InvalidInputError, match="X has 8 columns, and 2 names are given"):
        model.fit(X, np.asarray(data.obs["leiden"]), feature_names=["a", "b"])
