"""TableScaler: the scales as they are defined, weights as repeated rows, and scikit-learn's contract."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from cutwise import TableScaler
from cutwise.exceptions import InvalidInputError

RNG = np.random.default_rng(3)
N = 40
GAPS = RNG.random(N) < 0.3
FRAME = pd.DataFrame(
    {
        "income": np.where(GAPS, np.nan, RNG.normal(50, 9, N)),
        "age": RNG.integers(20, 60, N),
        "flag": RNG.choice([3, 7], N),
        "smoker": RNG.random(N) < 0.2,
        "region": RNG.choice(["N", "S", "W"], N),
        "plan": np.where(GAPS, None, RNG.choice(["a", "b"], N)),
        "grade": pd.Categorical(RNG.choice(list("abcd"), N), ordered=True),
        "since": pd.date_range("2024-01-01", periods=N, freq="D"),
        "one": 5,
    }
)
NAMES = ["income", "income is unknown", "age", "flag", "smoker", "region=N", "region=S", "region=W"]
NAMES += ["plan=a", "plan=b", "plan=unknown", "grade", "since", "one"]


def points(scaler, frame=FRAME, **fit):
    return pd.DataFrame(scaler.fit(frame, **fit).transform(frame), columns=scaler.get_feature_names_out())


def standard(x):
    return (x - x.mean()) / x.std(ddof=0)


def test_points_are_those_of_the_definition():
    Z = points(TableScaler())
    assert list(Z) == NAMES
    expected = {
        "income": standard(FRAME["income"]).fillna(0),
        "income is unknown": GAPS.astype(float),
        "age": standard(FRAME["age"]),
        "flag": np.where(FRAME["flag"] == 3, -1, 1),
        "smoker": np.where(FRAME["smoker"], 1, -1),
        **{f"region={v}": np.sqrt(3 / 2) * (FRAME["region"] == v) for v in "NSW"},
        **{f"plan={v}": np.sqrt(3 / 2) * (FRAME["plan"] == v) for v in "ab"},
        "plan=unknown": np.sqrt(3 / 2) * GAPS,
        "grade": standard(pd.Series(FRAME["grade"].cat.codes)),
        "since": standard(pd.Series(np.arange(N))),
        "one": np.zeros(N),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(Z[name], values, atol=1e-12, err_msg=name)


def test_for_absolute_distances_numbers_go_by_quartiles_and_levels_lie_nearer():
    Z = points(TableScaler("robust", "absolute"))
    age = FRAME["age"]
    low, middle, high = (np.quantile(age, q, method="averaged_inverted_cdf") for q in (0.25, 0.5, 0.75))
    np.testing.assert_allclose(Z["age"], (age - middle) / (high - low))
    assert np.unique(Z["smoker"]).tolist() == [-0.8, 0.8]
    assert np.unique(Z["region=N"]).tolist() == pytest.approx([0, 0.6])
    # Mostly one value: its quartiles are equal, its standard deviation is not 0.
    rare = points(TableScaler("robust"), pd.DataFrame({"x": [0.0] * 30 + [1.0, 900.0]}))["x"]
    assert rare.std(ddof=0) == pytest.approx(1)


@pytest.mark.parametrize(("numbers", "low", "high"), [("minmax", 0, 1), ("none", 20, 59)])
def test_other_scales_of_numbers(numbers, low, high):
    frame = pd.DataFrame({"age": [20.0, 59, np.nan, 30], "region": ["N", "S", "N", "N"]})
    Z = points(TableScaler(numbers), frame)
    assert (Z["age"].min(), Z["age"].max()) == (low, high)
    assert Z["age"][2] == pytest.approx(Z["age"][[0, 1, 3]].mean())


@pytest.mark.parametrize("scaler", [TableScaler(), TableScaler("robust", "absolute")], ids=str)
def test_weights_are_repeated_rows_and_order_changes_nothing(scaler):
    weights = RNG.integers(0, 4, N)
    Z = points(scaler, sample_weight=weights)
    repeated = FRAME.loc[np.repeat(np.arange(N), weights)].sample(frac=1, random_state=0)
    learned = [getattr(scaler, name).copy() for name in ("center_", "scale_", "missing_")]
    points(scaler, repeated)
    for name, values in zip(("center_", "scale_", "missing_"), learned, strict=True):
        assert np.array_equal(getattr(scaler, name), values), name
    np.testing.assert_array_equal(scaler.transform(FRAME), Z)


def test_quantiles_do_not_depend_on_the_unit_of_weights_or_the_order_of_rows():
    x = np.arange(10.0)[:, np.newaxis] ** 2
    assert TableScaler("robust").fit(x, sample_weight=np.full(10, 0.1)).center_ == TableScaler("robust").fit(x).center_
    for _ in range(100):
        x, weights, order = RNG.integers(0, 4, (12, 1)) * 1.0, RNG.integers(1, 5, 12), RNG.permutation(12)
        whole = TableScaler("robust").fit(x, sample_weight=weights)
        tenths = TableScaler("robust").fit(x[order], sample_weight=weights[order] / 10)
        assert (tenths.center_, tenths.scale_) == (whole.center_, whole.scale_)


def test_a_level_never_seen_lies_at_none_and_wide_tables_are_sparse():
    codes = [f"{i:03}" for i in range(300)] * 2
    scaler = TableScaler().fit(pd.DataFrame({"code": codes, "other": codes}))
    Z = scaler.transform(pd.DataFrame({"code": codes, "other": codes}))
    assert sparse.issparse(Z)
    assert Z.shape == (600, 2 * 255)
    assert (np.diff(Z.indptr) == 2).all()
    few = TableScaler().fit(pd.DataFrame({"region": ["N", "S"] * 4}))
    with pytest.warns(UserWarning, match="never seen at fit: 'W'"):
        assert few.transform(pd.DataFrame({"region": ["W"]})).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"c": ["unknown", "a", None] * 2}, ["c=a", "c=`unknown`", "c=unknown"]),
        ({"a": ["b=c", "d", "d"], "a=b": ["c", "e", "e"]}, ["a=`b=c`", "a=d", "`a=b`=c", "a=b=e"]),
        ({"a": [1.0, None, 2.0], "a is unknown": [1.0, 2.0, 3.0]}, ["a", "a is unknown", "`a is unknown`"]),
    ],
)
def test_what_two_columns_would_be_called_is_written_as_in_rules(columns, names):
    frame = pl.DataFrame(columns)
    assert TableScaler().set_output(transform="polars").fit_transform(frame).columns == names


def test_it_stands_in_pipelines_and_names_frames():
    assert make_pipeline(TableScaler(), PCA(2)).fit_transform(FRAME).shape == (N, 2)
    assert list(TableScaler().set_output(transform="pandas").fit_transform(FRAME)) == NAMES
    with pytest.raises(NotFittedError):
        TableScaler().transform(FRAME)
    with pytest.raises(InvalidInputError, match=r"numbers='standart' is not a valid option.*mean 'standard'"):
        TableScaler("standart").fit(FRAME)
    with pytest.raises(InvalidInputError, match=r"takes dense tables.*toarray"):
        TableScaler().fit(sparse.csr_array([[1.0], [0.0]]))


@pytest.mark.parametrize("scaler", [TableScaler(), TableScaler("robust", "absolute")], ids=str)
def test_scikit_learns_checks(scaler):
    results = check_estimator(scaler, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 30
