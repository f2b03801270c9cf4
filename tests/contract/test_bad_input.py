"""Input that cannot be used: every case is a ValueError that says what was given, what is needed and what to do."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import cutwise
from cutwise import Batches, ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans, KernelKMeans, KMedians
from cutwise.exceptions import CutwiseWarning
from cutwise.metrics import surrogate_cost
from tests.oracle.models import fit_quietly

X = np.random.default_rng(0).normal(size=(30, 4))
FRAME = pd.DataFrame(X, columns=["age", "income", "height", "weight"])
CODES = np.arange(30) % 3


def _with(values, row, column, value):
    changed = values.astype(float)
    changed[row, column] = value
    return changed


def _says(model, *words, error=ValueError, **fit):
    """The fit fails, with every one of the words (or one of a tuple of them) in its message."""
    with pytest.raises(error) as caught:
        model.fit(**fit)
    _check(str(caught.value), words)


def _check(message: str, words) -> None:
    for word in words:
        alternatives = word if isinstance(word, tuple) else (word,)
        assert any(str(one) in message for one in alternatives), f"{word!r} not in: {message}"
    assert "Traceback" not in message
    assert len(message) < 1200


# the table


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("model", [ExplainableKMeans(3, preprocessor=None), ClusterExplainer(preprocessor=None)])
def test_values_that_are_not_finite_are_named_by_column_and_first_row(model, value):
    y = {"y": CODES} if isinstance(model, ClusterExplainer) else {}
    word = "NaN" if np.isnan(value) else "infinity"
    bad = _with(X, 17, 2, value)
    bad[20, 1] = value
    _says(model, word, ("x1", "column 1"), "row 20", X=_with(X, 20, 1, value), **y)
    _says(model, word, ("column 1, row 20", "column 2, row 17"), X=bad, **y)
    _says(model, word, "height", "17", X=pd.DataFrame(_with(X, 17, 2, value), columns=FRAME.columns), **y)
    sparse = scipy.sparse.csr_array(_with(X, 17, 2, value))
    _says(model, word, ("x2", "column 2"), "row 17", X=sparse, **y)


def test_missing_values_of_nullable_columns_are_named():
    frame = FRAME.convert_dtypes()
    frame.loc[5, "income"] = pd.NA
    _says(ExplainableKMeans(3, preprocessor=None), "income", "5", X=frame)


@pytest.mark.parametrize("size", [1e200, 1.79e308])
def test_a_value_too_large_for_squares_of_distances_is_named(size):
    frame, sparse = FRAME.copy(), scipy.sparse.lil_array(X)
    frame.loc[17, "income"] = sparse[17, 1] = -size
    for model in (
        ExplainableKMeans(3),
        ExplainableKernelKMeans(3),
        ExplainableKMeans(3, preprocessor=StandardScaler()),
    ):
        _says(model, f"-{size:.3g}", "'income'", "row 17", "NaN", X=frame)
    _says(ClusterExplainer(algorithm="imm"), f"-{size:.3g}", "'income'", "row 17", X=frame, y=CODES)
    words = frame.assign(segment=np.array(["low", "mid", "high"])[CODES])
    _says(ClusterExplainer(preprocessor=None), f"-{size:.3g}", "'income'", "row 17", X=words, y="segment")
    _says(ExplainableKMeans(3), f"-{size:.3g}", "column 1", "row 17", X=scipy.sparse.csr_array(sparse))


def test_text_in_a_column_is_named():
    frame = FRAME.assign(city=["Bonn", "Rome", "Oslo"] * 10)
    for model in (
        ExplainableKMeans(3, preprocessor=None),
        ExplainableKMeans(3, categorical_features=[]),
        ExplainableKMeans(2, algorithm="optimal"),
        ExplainableKernelKMeans(3),
        KMedians(3),
    ):
        _says(model, "city", X=frame)
        _says(model, X=[[1.0, "high"], [2.0, "low"], [3.0, "low"]])


@pytest.mark.parametrize(
    "model", [ExplainableKMeans(3, categorical_features=[1]), ClusterExplainer(categorical_features=[1])]
)
def test_columns_of_a_sparse_matrix_are_no_categories(model):
    y = {"y": CODES} if isinstance(model, ClusterExplainer) else {}
    _says(model, "categorical_features", "sparse", "data frame", X=scipy.sparse.csr_array(X), **y)


def test_dates_are_not_numbers():
    _says(
        ExplainableKMeans(3, preprocessor=None), "since", X=FRAME.assign(since=pd.date_range("2024-01-01", periods=30))
    )


def test_duplicate_column_names_are_named():
    frame = pd.DataFrame(X, columns=["age", "income", "age", "weight"])
    _says(ExplainableKMeans(3), "age", X=frame)


@pytest.mark.parametrize("shape", [(0, 4), (30, 0), (30,), (2, 3, 4), ()])
def test_tables_of_no_rows_no_columns_or_other_dimensions(shape):
    _says(ExplainableKMeans(3), X=np.ones(shape))


def test_complex_numbers():
    _says(ExplainableKMeans(3), "omplex", X=X + 1j)


# parameters


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", None, np.nan])
def test_n_clusters_must_be_a_positive_integer(k):
    _says(ExplainableKMeans(k), "n_clusters", repr(k), X=X, error=(ValueError, TypeError))


def test_more_clusters_than_distinct_rows_gives_both_numbers():
    repeated = np.repeat(X[:4], 5, axis=0)
    _says(ExplainableKMeans(7), "7", "4", X=repeated)
    _says(ExplainableKMeans(31), "31", "30", X=X)
    _says(ExplainableKMeans(7, reference=np.arange(28.0).reshape(7, 4)), "7", "4", X=repeated)
    _says(ExplainableKMeans(7), "7", "4", X=X[:9], sample_weight=[1, 1, 1, 1, 0, 0, 0, 0, 0])


def test_fewer_leaves_than_clusters_gives_both_numbers():
    _says(ExplainableKMeans(6, max_leaves=4), "max_leaves=4", "n_clusters=6", X=X)
    _says(ClusterExplainer(max_leaves=2), "max_leaves=2", "3", X=X, y=CODES)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"algorithm": "imn"}, ("algorithm", "imn", "'imm'", "exgreedy", "exshallow", "exkmc", "Did you mean")),
        ({"algorithm": "EXKMC"}, ("algorithm", "exkmc")),
        ({"algorithm": None}, ("algorithm", "None")),
        ({"expansion": "expnd", "max_leaves": 9}, ("expansion", "expnd", "'expand'", "exkmc")),
        ({"depth_penalty": -1}, ("depth_penalty", "-1")),
        ({"depth_penalty": np.nan}, ("depth_penalty", "nan")),
        ({"depth_penalty": "much"}, ("depth_penalty", "much")),
        ({"max_leaves": 2.5}, ("max_leaves", "2.5")),
        ({"max_leaves": "9"}, ("max_leaves", "9")),
        ({"n_init": 0}, ("n_init", "0")),
        ({"random_state": "a"}, ("random_state", "'a'", "integer")),
        ({"random_state": -1}, ("random_state", "-1", "integer")),
        ({"n_jobs": 0}, ("n_jobs", "0")),
        ({"n_jobs": "two"}, ("n_jobs", "two")),
        ({"reference": "kmeans"}, ("reference", "kmeans")),
        ({"reference": 5}, ("reference", "5")),
        ({"preprocessor": "scale"}, ("preprocessor", "scale")),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_that_cannot_be_used_are_named_with_the_valid_ones(options, words):
    _says(ExplainableKMeans(3, **options), *words, X=X, error=(ValueError, TypeError))


@pytest.mark.parametrize("options", [{"algorithm": "imn"}, {"max_leaves": 2.5}, {"n_jobs": 0}])
def test_the_explainer_names_its_options_too(options):
    ((name, value),) = options.items()
    _says(ClusterExplainer(**options), name, value, X=X, y=CODES, error=(ValueError, TypeError))


# the reference


def test_a_reference_of_another_number_of_clusters_gives_both_numbers():
    _says(ExplainableKMeans(3, reference=X[:5]), "3", "5", X=X)
    _says(ExplainableKMeans(3, reference=KMeans(5, n_init=1).fit(X)), "3", "5", X=X)
    fitted = KernelKMeans(4, random_state=0).fit(X)
    _says(ExplainableKernelKMeans(3, algorithm="exkmc", reference=fitted), "4 clusters", "n_clusters=3", X=X)


def test_a_reference_of_other_columns_gives_both_numbers():
    _says(ExplainableKMeans(3, reference=X[:3, :2]), "2", "4", X=X)
    _says(ExplainableKMeans(3, reference=KMeans(3, n_init=1).fit(X[:, :2])), "2", "4", X=X)


def test_a_reference_that_is_not_finite():
    _says(ExplainableKMeans(3, reference=_with(X[:3], 1, 2, np.nan)), "reference", X=X)


# labels, weights, costs


def test_labels_and_rows_of_different_length_give_both_numbers():
    _says(ClusterExplainer(), "29", "30", X=X, y=CODES[:29])


def test_labels_are_required():
    with pytest.raises((ValueError, TypeError), match="y"):
        ClusterExplainer().fit(X, None)
    with pytest.raises((ValueError, TypeError), match="y"):
        ClusterExplainer().fit(X)


def test_labels_of_noise_only():
    _says(ClusterExplainer(), "-1", X=X, y=np.full(30, -1))


def test_missing_labels_are_named_by_row():
    y = CODES.astype(float)
    y[7] = np.nan
    _says(ClusterExplainer(), "7", X=X, y=y)


@pytest.mark.parametrize("weights", [np.zeros(30), -np.ones(30), np.full(30, np.nan), np.r_[-1.0, np.ones(29)]])
@pytest.mark.parametrize("model", [ExplainableKMeans(3), ClusterExplainer()])
def test_weights_must_be_non_negative_and_not_all_zero(model, weights):
    y = {"y": CODES} if isinstance(model, ClusterExplainer) else {}
    _says(model, "weight", X=X, sample_weight=weights, **y)


@pytest.mark.parametrize("model", [ExplainableKMeans(3), ClusterExplainer()])
def test_weights_and_rows_of_different_length_give_both_numbers(model):
    y = {"y": CODES} if isinstance(model, ClusterExplainer) else {}
    _says(model, "29", "30", X=X, sample_weight=np.ones(29), **y)


def test_a_score_needs_a_row_with_a_cluster_and_a_weight():
    with pytest.raises(ValueError, match=r"Every row with a cluster has weight 0.* Give some a positive weight"):
        _fitted("explainer").score(FRAME, np.where(CODES == 0, -1, CODES), sample_weight=(CODES == 0) * 1.0)


def test_a_preprocessor_must_give_a_row_for_each_and_keep_columns_apart_where_these_are_cut():
    shorter = FunctionTransformer(lambda rows: rows[1:])
    _says(ExplainableKMeans(3, preprocessor=shorter), "29 rows for 30", "Leave rows out before fitting", X=X)
    mixed = ExplainableKernelKMeans(3, algorithm="imm", preprocessor=PCA(2))
    _says(mixed, "algorithm='imm'", "This preprocessor's is not", "Use algorithm='search', 'exkmc'", X=X)


def test_labels_that_tell_rows_apart_are_said_to():
    rows = np.arange(240.0)[:, np.newaxis]
    with pytest.warns(CutwiseWarning, match="240 different labels for 240 rows.*Give labels that many rows share"):
        ClusterExplainer(algorithm="expand").fit(rows, np.arange(240))


def test_costs_and_centers_must_fit_rows_and_clusters():
    for costs in (np.ones((29, 3)), np.ones((30, 4)), np.full((30, 3), np.nan), np.ones(30)):
        _says(ClusterExplainer(), "costs", X=X, y=CODES, costs=costs)
    for centers in (np.ones((4, 4)), np.ones((3, 5)), np.full((3, 4), np.inf)):
        _says(ClusterExplainer(), "centers", X=X, y=CODES, centers=centers)
    swapped = FRAME.iloc[:3, ::-1]
    _says(ClusterExplainer(), "another order", "centers[X.columns]", X=FRAME, y=CODES, centers=swapped)
    _says(ExplainableKMeans(3, reference=swapped), "another order", "reference[X.columns]", X=FRAME)
    _says(KMedians(3, init=swapped), "another order", "init[X.columns]", X=FRAME)
    batches = Batches([FRAME.assign(kind=CODES)])
    _says(ClusterExplainer(), "another order", "centers[X.columns]", X=batches, y="kind", centers=swapped)
    with pytest.raises(ValueError, match="another order"):
        surrogate_cost(ClusterExplainer().fit(FRAME, CODES), FRAME, swapped)


# columns at predict


def _fitted(kind):
    return (
        fit_quietly(ExplainableKMeans(3, algorithm="exshallow", random_state=0), FRAME)
        if kind == "kmeans"
        else fit_quietly(ClusterExplainer(), FRAME, CODES)
    )


ASK = pytest.mark.parametrize("method", ["predict", "apply", "explain", "transform"])


@ASK
def test_renamed_missing_extra_and_reordered_columns_are_an_error_that_names_them(method):
    model = _fitted("kmeans")
    ask = getattr(model, method)
    ask(FRAME)
    asked = FRAME.columns[model.tree_.feature[0]]
    for changed, words in (
        (FRAME.rename(columns={"income": "salary"}), ("income", "salary")),
        (FRAME.drop(columns=asked), (asked,)),
        (FRAME.assign(shoe=1.0), ("shoe",)),
        (FRAME[["income", "age", "height", "weight"]], ("order",)),
    ):
        with pytest.raises(ValueError) as caught:
            ask(changed)
        _check(str(caught.value), words)


def test_the_explainer_refuses_changed_columns_too():
    model = _fitted("explainer")
    for changed in (FRAME.rename(columns={"income": "salary"}), FRAME[FRAME.columns[::-1]], FRAME.assign(shoe=1.0)):
        with pytest.raises(ValueError):
            model.predict(changed)


@ASK
def test_another_number_of_columns_gives_both_numbers(method):
    model = fit_quietly(ExplainableKMeans(3, random_state=0), X)
    for other in (X[:, :3], np.hstack([X, X[:, :1]])):
        with pytest.raises(ValueError) as caught:
            getattr(model, method)(other)
        _check(str(caught.value), (str(other.shape[1]), "4"))


def test_unnamed_input_to_a_named_model_is_warned_about_as_in_scikit_learn():
    model = _fitted("kmeans")
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)


def test_asking_before_fitting():
    from sklearn.exceptions import NotFittedError

    for model in (ExplainableKMeans(3), ClusterExplainer()):
        for method in ("predict", "apply", "explain"):
            with pytest.raises(NotFittedError):
                getattr(model, method)(X)
        with pytest.raises(NotFittedError):
            model.rules()
        with pytest.raises(NotFittedError):
            cutwise.export_text(model)


# nothing is lost


def test_a_fit_that_fails_leaves_the_model_before_it_usable():
    model = fit_quietly(ExplainableKMeans(3, random_state=0), X)
    labels = model.predict(X)
    with pytest.raises(ValueError):
        model.fit(_with(X, 0, 0, np.inf))
    assert np.array_equal(model.predict(X), labels)


def test_a_save_that_fails_leaves_the_file_before_it(tmp_path):
    path = tmp_path / "model.json"
    fit_quietly(ExplainableKMeans(3, random_state=0), X).save(path)
    before = path.read_bytes()
    with pytest.raises(Exception):  # noqa: B017 - the type is the estimator's own business here
        ExplainableKMeans(3).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]


def test_model_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "model.json"
    fit_quietly(ExplainableKMeans(3, random_state=0), X).save(path)
    document = json.loads(path.read_text())
    newer = {**document, "format_version": 999}
    (tmp_path / "newer.json").write_text(json.dumps(newer))
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "cut.json").write_text(path.read_text()[:300])
    (tmp_path / "other.json").write_text('{"hello": 1}')
    (tmp_path / "bytes.json").write_bytes(bytes(range(256)))
    for name, words in (
        ("newer.json", ("999",)),
        ("empty.json", ("empty",)),
        ("cut.json", ("cut.json",)),
        ("other.json", ("other.json",)),
        ("bytes.json", ("bytes.json",)),
        ("nowhere.json", ("nowhere.json",)),
    ):
        with pytest.raises(ValueError) as caught:
            cutwise.load_model(tmp_path / name)
        _check(str(caught.value), words)


def test_saved_models_answer_alike(tmp_path):
    model = _fitted("kmeans")
    model.save(tmp_path / "model.json")
    again = cutwise.load_model(tmp_path / "model.json")
    assert np.array_equal(model.predict(FRAME), again.predict(FRAME))
    assert np.array_equal(model.apply(FRAME), again.apply(FRAME))
