"""Columns of every kind: what they are taken for at fit, and how new rows are read by the kinds of fit."""

import datetime as dt
import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from cutwise import ClusterExplainer, ExplainableKMeans, export_python, report
from cutwise.exceptions import (
    CutwiseError,
    CutwiseWarning,
    IdentifierWarning,
    InvalidInputError,
    NotNumericError,
    UnknownLevelsWarning,
    UnsupportedInputError,
)
from cutwise.table.convert import as_dense
from cutwise.table.instants import choose_boundary, choose_length, duration_text, instant_text, to_ticks
from cutwise.table.intake import MixedOptions, read_table
from cutwise.table.table import ColumnKind
from tests.each import each

N = 60
RNG = np.random.default_rng(0)
GAPS = np.arange(N) % 7 == 3
BERLIN = pd.date_range("2024-03-20", periods=N, freq="7h", tz="Europe/Berlin")
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(20, 60, N),
        "income": np.where(GAPS, np.nan, RNG.normal(size=N)),
        "kids": np.where(GAPS, np.nan, RNG.integers(0, 4, N)),
        "region": RNG.choice(["W", "N", "S"], N),
        "plan": np.where(GAPS, None, RNG.choice(["basic", "pro"], N)),
        "grade": pd.Categorical(RNG.choice(["low", "mid"], N), categories=["low", "mid", "high"], ordered=True),
        "smoker": RNG.random(N) < 0.5,
        "member": pd.array(np.where(GAPS, None, RNG.random(N) < 0.5), dtype="boolean"),
        "since": pd.date_range("2024-01-01", periods=N, freq="37h"),
        "seen": BERLIN,
        "visit": pd.to_timedelta(RNG.integers(0, 5000, N), unit="s"),
        "ticket": [f"ticket {i}" for i in range(N)],
        "born": [f"{i % 28 + 1}.{i % 12 + 1}.{1960 + i}" for i in range(N)],
        "nothing": [None] * N,
    }
)
KINDS = {
    "age": ColumnKind("integer"),
    "income": ColumnKind("number", has_gaps=True),
    "kids": ColumnKind("integer", has_gaps=True),
    "region": ColumnKind("category", levels=("N", "S", "W")),
    "plan": ColumnKind("category", levels=("basic", "pro", None)),
    "grade": ColumnKind("ordered", levels=("low", "mid", "high")),
    "smoker": ColumnKind("bool"),
    "member": ColumnKind("bool", has_gaps=True),
    "since": ColumnKind("date", unit="microsecond"),
    "seen": ColumnKind("date", unit="microsecond", zone="Europe/Berlin"),
    "visit": ColumnKind("duration"),
    "ticket": ColumnKind("category", levels=(), left_out="60 different texts in 60 rows"),
    "born": ColumnKind("category", levels=(), left_out="60 different dates written as text in 60 rows"),
    "nothing": ColumnKind("number", left_out="no value"),
}


def read(X, **options):
    return read_table(X, mixed=MixedOptions(**options))


def as_objects(frame):
    return frame.astype({"region": object, "smoker": object, "age": object, "income": object})


def as_polars(frame):
    grade = pl.Enum(["low", "mid", "high"])
    return pl.from_pandas(frame).with_columns(pl.col("grade").cast(pl.String).cast(grade))


def as_arrow_columns(frame):
    return frame.convert_dtypes(dtype_backend="pyarrow")


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.IdentifierWarning")
@pytest.mark.parametrize("convert", [lambda f: f, as_objects, as_polars, as_arrow_columns], ids=lambda f: f.__name__)
def test_a_column_is_of_one_kind_whatever_the_library_and_its_type(convert):
    table, expected = read(convert(FRAME)), read(FRAME)
    assert dict(zip(table.names, table.kinds, strict=True)) == KINDS
    np.testing.assert_array_equal(table.values, expected.values)
    assert table.values.dtype == np.float64
    # New rows, in any order and number, are read as those of fit were.
    rows = FRAME.iloc[[41, 3, 7]].drop(columns=[])
    again = read_table(convert(rows), fitted=table.columns)
    np.testing.assert_array_equal(again.values, expected.values[[41, 3, 7]])


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([True, False], "bool"),
        ([1, 2], "integer"),
        ([1.5, 2], "number"),
        ([dt.date(2024, 1, 1), dt.date(2024, 3, 1)], "date"),
        ([dt.time(1), dt.time(5)], "duration"),
        (["a", "b"], "category"),
        (["", ""], "category"),
    ],
)
@pytest.mark.parametrize("n_gaps", [2, 150])
def test_objects_are_of_the_kind_of_their_values_however_many_are_missing_first(cells, kind, n_gaps):
    column = pd.Series([None] * n_gaps + cells * 10, dtype=object)
    assert read(pd.DataFrame({"a": np.arange(len(column)) % 7, "own": column})).kinds[1].name == kind


def test_values_say_what_the_cells_did():
    with pytest.warns(
        IdentifierWarning, match="ticket is left out: 60 different texts in 60 rows; .*; nothing is.*to_datetime"
    ):
        table = read(FRAME)
    column = dict(zip(table.names, table.values.T, strict=True))
    levels = {name: KINDS[name].levels for name in ("region", "plan", "grade")}
    assert [levels["region"][int(code)] for code in column["region"]] == FRAME["region"].tolist()
    assert [levels["plan"][int(code)] for code in column["plan"]] == np.where(GAPS, None, FRAME["plan"]).tolist()
    assert [levels["grade"][int(code)] for code in column["grade"]] == FRAME["grade"].tolist()
    assert [instant_text(v, KINDS["since"]) for v in column["since"][:3]] == [
        "2024-01-01",
        "2024-01-02 13:00",
        "2024-01-04 02:00",
    ]
    assert instant_text(column["seen"][40], KINDS["seen"]) == BERLIN[40].strftime("%Y-%m-%d %H:%M")
    assert column["visit"][5] == FRAME["visit"][5].total_seconds() * 1e6


def test_dates_written_as_text_of_which_some_are_known_together_are_warned_of():
    days = pd.Series(pd.date_range("2024-01-01", periods=300)).astype(str)
    X = pd.DataFrame({"day": [*days, *days], "x": 1.0})
    with pytest.warns(IdentifierWarning, match=r"day holds dates written as text; only the 254 .*to_datetime"):
        read_table(X, mixed=MixedOptions())
    read_table(X[X["day"] < "2024-06"], mixed=MixedOptions())


def test_plain_numbers_are_read_as_ever_and_numbers_of_rows_are_named():
    frame = pd.DataFrame({"row": np.arange(30)[::-1], "x": np.arange(30) * 2.0})
    with pytest.warns(IdentifierWarning, match=r"row numbers the rows. Leave out what only names rows"):
        table = read(frame)
    assert table.values.dtype == read_table(frame).values.dtype
    assert read(frame.to_numpy()).values.base is not None  # not copied, and not second-guessed


def test_numbers_with_gaps_are_read_where_they_are_and_stay_as_they_are():
    X = np.column_stack([np.where(GAPS, np.nan, np.arange(N)), RNG.normal(size=(N, 3))])
    assert np.shares_memory(read_table(X, mixed=MixedOptions()).values, X)
    X[:, 1:3] = np.nan  # columns without a value are left out, and zeros in the table
    with pytest.warns(IdentifierWarning, match="x1 is left out: no value; x2 is left out: no value"):
        table = read_table(X, mixed=MixedOptions())
    np.testing.assert_array_equal(table.values, np.column_stack([X[:, 0], np.zeros((N, 2)), X[:, 3]]))
    assert np.isnan(X[:, 1:3]).all()


def test_more_levels_than_codes_are_grouped_by_weight_and_the_rare_ones_are_never_named():
    texts = [f"{i:03}" for i in range(300) for _ in range(2 + (i >= 100))]
    (kind,) = read(pd.DataFrame({"code": texts})).kinds
    assert kind.has_other
    assert kind.levels == tuple(f"{i:03}" for i in [*range(54), *range(100, 300)])
    table = read_table(pd.DataFrame({"code": ["053", "054", "never"]}), fitted=read(pd.DataFrame({"code": texts})))
    assert table.values.ravel().tolist() == [53, 254, 254]
    # Weight decides, and a level without any is none.
    light = read(pd.DataFrame({"code": texts}), sample_weight=[int(t) % 2 for t in texts]).kinds[0]
    assert light.levels == tuple(f"{i:03}" for i in range(1, 300, 2))


def test_levels_of_equal_weight_are_chosen_alike_in_any_order_of_rows_with_fractions_for_weights():
    cells, weights, found = np.repeat([f"{i:03}" for i in range(300)], 3), np.tile([0.1, 0.2, 0.3], 300), set()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(900)
        options = MixedOptions(sample_weight=weights[order])
        found.add(read_table(pd.DataFrame({"a": cells[order]}), mixed=options).kinds[0].levels)
    assert found == {tuple(cells[: 3 * 254 : 3])}


def test_columns_may_be_taken_as_categories_by_name_position_or_mask():
    frame = pd.DataFrame({"zip": [8002, 8001, 8002], "x": [1.5, 2.5, 3.5]})
    for given in (["zip"], [0], [True, False], "zip"):
        table = read(frame, categorical=given)
        assert table.kinds == (ColumnKind("category", levels=(8001, 8002)), ColumnKind("number"))
        assert table.values[:, 0].tolist() == [1, 0, 1]


FITTED = read(
    pd.DataFrame(
        {
            "region": ["N", "S", "N"],
            "grade": pd.Categorical(["a", "b", "a"], ordered=True),
            "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
            "x": [1.0, 2.0, 3.0],
        }
    )
)
ROW = {"region": ["N"], "grade": ["a"], "day": [pd.Timestamp("2024-01-01")], "x": [1.0]}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: read(pd.DataFrame({"a": ["x", 1, "y"], "b": [1, 2, 3]})),
            r"'a' holds texts and other values: 'x' in row 0.*Make texts of all values \(astype\(str\)",
        ),
        (lambda: read(pd.DataFrame({"a": [1, "x", 1, "x"]})), r"marks a missing value.*else make texts of all values"),
        (lambda: read(pd.DataFrame({"a": [None, None], "b": [np.nan, np.nan]})), "no column to cut: a .no value., b"),
        (lambda: read(pd.DataFrame({"a": [b"x", b"y"]})), "bytes"),
        (
            lambda: read(pd.DataFrame({"a": [[1], [2]]})),
            "must hold numbers, texts or dates, but column 'a' holds values of type 'list'",
        ),
        (
            lambda: read(pd.DataFrame({"a": ["x", "x"]}), categorical=[]),
            r"'a' holds other text: 'x' in .*\nName it in cat",
        ),
        (
            lambda: read(pd.DataFrame({"zip": [1, 2]}), categorical=["zipp"]),
            "'zipp', and X has no such column. Did",
        ),
        (lambda: read(pd.DataFrame({"zip": [1, 2]}), categorical=[1]), "names 1, and X has no such column"),
        (lambda: read(pd.DataFrame({"zip": [1, 2]}), categorical=[True, False]), "a mask of 2 columns, and X has 1"),
        (lambda: read(pd.DataFrame({"a": ["x", "x"], "b": [1.0, np.inf]})), "contains infinity: column 'b', row 1"),
        (lambda: new(x=["one"]), "'x' held numbers at fit and holds 'one' now"),
        (lambda: new(x=pd.Categorical([1])), "'x' held numbers at fit and holds levels of a category, such as 1, now"),
        (lambda: new(region=[3]), "'region' held texts at fit, such as 'N', 'S', and holds numbers now, such as 3"),
        (
            lambda: new(region=[dt.timedelta(1)]),
            r"'region' holds levels other than texts and finite numbers: Timedelta.*\nGive values like those",
        ),
        (lambda: new(grade=[pd.Timestamp("2024-01-01")]), "'grade' held texts at fit.* holds dates now. Give texts"),
        (lambda: new(grade=["c"]), "never seen at fit: 'c' in 1 row.*no place in their order: 'a', 'b'"),
        (
            lambda: new(day=[pd.Timestamp("2024-01-01", tz="UTC")]),
            "without a time zone at fit, and holds dates with",
        ),
        (lambda: new(day=[3.5]), "'day' held dates at fit and holds numbers now"),
        (lambda: new(x=[np.nan]), "contains NaN: column 'x', row 0.*\nNo value of that column was missing at fit"),
        (lambda: new(unknown="error", region=["W"]), "never seen at fit: 'W'.*handle_unknown=\"outside\""),
        (
            lambda: read(pd.DataFrame({"a": np.array(["2020-01-01", "20000-01-01"], dtype="datetime64[s]")})),
            "'a' holds a date before the year 1 or after 9999",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_the_next_step(make, words):
    with pytest.raises(CutwiseError, match=f"(?s){words}"):
        make()


def new(unknown="outside", **cells):
    return read_table(pd.DataFrame(ROW | cells), fitted=FITTED, unknown=unknown)


def test_levels_never_seen_are_outside_with_a_warning():
    with pytest.warns(
        UnknownLevelsWarning, match=r"'region' holds levels never seen at fit: 'W', a missing value in 2 rows"
    ):
        table = read_table(
            pd.DataFrame({"region": ["N", "W", None]}), fitted=read(pd.DataFrame({"region": ["N", "S"] * 2}))
        )
    assert table.values.ravel().tolist() == [0, 2, 2]


COARSEST_FIRST = [
    lambda t: (t.month, t.day, t.hour, t.minute, t.second) == (1, 1, 0, 0, 0),
    lambda t: (t.day, t.hour, t.minute, t.second) == (1, 0, 0, 0),
    lambda t: (t.hour, t.minute, t.second) == (0, 0, 0),
    lambda t: (t.minute, t.second) == (0, 0),
    lambda t: t.second == 0,
    lambda t: True,
]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_a_cut_of_instants_lies_at_the_best_boundary_between_them(zone):
    kind = ColumnKind("date", unit="microsecond", zone=zone)
    rng = np.random.default_rng(1)
    for _ in range(12):
        start = dt.datetime(2024, 3, 31, tzinfo=dt.UTC) + dt.timedelta(seconds=int(rng.integers(-9000, 9000)))
        width = int(rng.choice([1, 5, 90, 4000, 20000]))
        seconds = [start + dt.timedelta(seconds=s) for s in range(1, width + 1)]
        at = pd.DatetimeIndex(seconds).tz_convert(zone or "UTC")
        inside = next(found for fits in COARSEST_FIRST if (found := [i for i, t in enumerate(at) if fits(t)]))
        best = min(inside, key=lambda i: (abs(2 * (i + 1) - width), i))
        a, b = (int(t.timestamp()) * 10**6 for t in (start, seconds[-1]))
        assert choose_boundary(a, b, kind) == int(seconds[best].timestamp()) * 10**6 - 1


@pytest.mark.parametrize("years", [(1, 9999), (1680, 1690), (9998, 9999)])
def test_instants_of_all_years_are_placed_as_their_texts_are(years):
    """float64 has no room for microseconds there: values are cut off, and no boundary lies where it has none."""
    rng = np.random.default_rng(5)
    first, last = (dt.datetime(year, *day) for year, day in zip(years, [(1, 1), (12, 31)], strict=True))
    width = (last - first) // dt.timedelta(microseconds=1)
    times = [first + dt.timedelta(microseconds=int(at)) for at in rng.integers(0, width, 120)]
    near = times[0] + np.array([dt.timedelta(microseconds=int(at)) for at in rng.integers(0, 500, 60)])
    frame = pd.DataFrame({"t": pd.Series([*times, *near, *[dt.datetime.max] * 20], dtype=object)})
    model = ClusterExplainer(max_leaves=30).fit(frame, rng.integers(0, 4, len(frame)))
    assert model.n_leaves_ > 9
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    exec(export_python(model), space := {})
    assert [space["cluster_of"]({"t": t.isoformat()}) for t in frame["t"]] == model.labels_.tolist()
    assert "is 9999-12-31 23:59:59.999968" in model.explain(frame[-1:])[0]
    assert report(model, frame, curve=False).summary["source"]["n_rows"] == len(frame)


@pytest.mark.parametrize(("zone", "day"), [("Asia/Tokyo", "9999-12-31"), ("+05:30", "0001-01-01")])
def test_the_first_and_last_hours_of_the_calendar_are_dates_in_every_zone(zone, day):
    hours = np.datetime64(f"{day}T00", "us") + np.arange(24).astype("m8[h]")
    frame = pa.table({"t": pa.array(hours, pa.timestamp("us", zone))})
    model = ClusterExplainer().fit(frame, np.arange(24) // 6)
    np.testing.assert_array_equal(model.predict(frame), np.arange(24) // 6)
    assert len(model.explain(frame)) == 24
    in_pandas = frame.to_pandas()[::-1]
    np.testing.assert_array_equal(model.predict(in_pandas), np.arange(24)[::-1] // 6)


@pytest.mark.parametrize("hours", [2, -5.5])
def test_offsets_from_utc_are_zones(hours):
    zone = dt.timezone(dt.timedelta(hours=hours))
    day = pd.Series(pd.date_range("2024-01-01", periods=60, tz=zone).as_unit("us"))
    frame = pd.DataFrame({"day": day + pd.to_timedelta(400 * (np.arange(60) // 30), unit="D")})
    model = ExplainableKMeans(2, random_state=0).fit(frame)
    assert sorted(str(rule) for cluster in model.rules().clusters for rule in cluster.rules) == [
        "day < 2025-01-01",
        "day >= 2025-01-01",
    ]
    assert model.predict(frame).tolist() == [model.predict(frame[:1])[0]] * 30 + [model.predict(frame[-1:])[0]] * 30


@pytest.mark.parametrize("zone", ["America/New_York", "Etc/GMT+5", "US/Eastern"])
def test_rules_are_by_the_clocks_of_the_zone_whatever_holds_the_column(zone):
    times = ["2024-03-01 12:00", "2024-03-02 12:00", "2024-03-02 21:00", "2024-03-05 12:00", "2024-03-06 12:00"]
    column = pd.Series(pd.to_datetime(times)).dt.tz_localize(zone)
    frame = pd.DataFrame({"at": column})
    objects = pd.DataFrame({"at": np.array([at.to_pydatetime() for at in column], dtype=object)}, dtype=object)
    for X in (frame, objects, pl.from_pandas(frame)):
        model = ClusterExplainer().fit(X, ["early", "early", "late", "late", "late"])
        assert [str(c.rules[0]) for c in model.rules().clusters] == ["at < 2024-03-02 16:00", "at >= 2024-03-02 16:00"]
        assert model.predict(frame).tolist() == ["early", "early", "late", "late", "late"]


def test_instants_of_several_zones_are_said_in_utc():
    items = [dt.datetime(2024, 3, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=h))) for h in (-5, -5, 3, 3)]
    model = ClusterExplainer().fit(pd.DataFrame({"at": np.array(items, dtype=object)}, dtype=object), [1, 1, 0, 0])
    assert [str(c.rules[0]) for c in model.rules().clusters] == ["at < 2024-03-01 13:00", "at >= 2024-03-01 13:00"]


@each("make", [lambda t: t, lambda t: t.to_pandas(types_mapper=pd.ArrowDtype)])
@each("gap", [[], [None]])
def test_decimals_of_arrow_are_the_nearest_floats(make, gap):
    cells = [*(Decimal(k) / 10 for k in (1, 2, 3, 4)), Decimal("-939.99999999999994315659"), *gap]
    table = make(pa.table({"c": pa.array(cells, pa.decimal128(38, 20)), "x": pa.array(range(len(cells)), pa.int64())}))
    values = as_dense(read_table(table, mixed=MixedOptions()).values)[:, 0]
    np.testing.assert_array_equal(values, [np.nan if cell is None else float(cell) for cell in cells])


def test_whole_numbers_of_arrow_beyond_2_53_may_have_gaps():
    table = pa.table({"id": [1500000000000000001, None, 5, 2**60 + 1]})
    for given in (table, table.to_pandas(types_mapper=pd.ArrowDtype)):
        values = as_dense(read_table(given, mixed=MixedOptions()).values)[:, 0]
        np.testing.assert_array_equal(values, [1.5e18, np.nan, 5, 2.0**60])


def test_ordered_dictionaries_of_arrow_are_ordered_as_in_pandas():
    frame = pd.DataFrame({"c": pd.Categorical(["low", "mid", "high"] * 5, ["low", "mid", "high"], ordered=True)})
    arrow = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string(), ordered=True))
    for X in (frame, pa.Table.from_pandas(frame), frame.astype(arrow)):
        model = ClusterExplainer().fit(X, [0, 0, 1] * 5)
        assert [str(c.rules[0]) for c in model.rules().clusters] == ["c <= mid", "c = high"]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (pd.Categorical([b"a", b"b"] * 5), "levels other than texts"),
        ([dt.time(1), dt.timedelta(1)] * 5, "times and other values"),
        ([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, tzinfo=dt.UTC)] * 5, "dates with and without a time zone"),
    ],
)
def test_what_has_no_one_meaning_is_refused(cells, said):
    column = cells if isinstance(cells, pd.Categorical) else pd.Series(cells, dtype=object)
    with pytest.raises(NotNumericError, match=f"column 'c' holds {said}"):
        ClusterExplainer().fit(pd.DataFrame({"c": column}), [0, 1] * 5)


def test_months_years_and_days_come_before_hours():
    kind = ColumnKind("date", unit="microsecond")

    def cut(a, b):
        a, b = (pd.Timestamp(t).value // 1000 for t in (a, b))
        return instant_text(choose_boundary(a, b, kind) + 1, kind)

    assert cut("2024-02-27 13:05", "2024-03-04 08:00") == "2024-03-01"
    assert cut("2019-05-01", "2024-03-04") == "2022-01-01"
    assert cut("2024-03-04 08:10", "2024-03-04 09:55") == "2024-03-04 09:00"
    days = ColumnKind("date", unit="day")
    assert instant_text(choose_boundary(19780, 19790, days) + 1, days) == "2024-03-01"
    assert choose_boundary(19790, 19791, days) == 19790
    assert choose_boundary(19790.2, 19790.7, days) == 19790  # two centers within a day
    assert duration_text(choose_length(3_605_000_000, 7_000_000_000)) == "1 h 28 min"
    assert duration_text(5_400_000_000) == "1 h 30 min"


def test_objects_of_numpy_are_dates_and_durations():
    days = [np.datetime64("2024-01-01") + np.timedelta64(i, "D") for i in range(6)]
    times = [np.timedelta64(i, "h") for i in range(6)]
    table = read_table(np.array([days, times, [None, *times[1:]]], dtype=object).T, mixed=MixedOptions())
    assert [kind.name for kind in table.kinds] == ["date", "duration", "duration"]
    np.testing.assert_array_equal(table.values[:, 0], (19723 + np.arange(6)) * 86_400e6)
    np.testing.assert_array_equal(table.values[:, 1], np.arange(6) * 3600e6)
    assert np.isnan(table.values[0, 2])


@pytest.mark.parametrize("as_objects", [False, True])
def test_instants_and_durations_are_cut_off_or_refused_at_the_ends_of_64_bits(as_objects):
    ends, days = pd.Series([pd.Timedelta.min, pd.Timedelta.max]), pd.Series([pd.Timestamp.min, pd.Timestamp.max])
    for values, unit, expected in ((ends, "us", 2**63 // 1000), (days, "us", 2**63 // 1000), (days, "day", 106751)):
        given = list(values) if as_objects and unit == "us" else values.to_numpy()
        ticks = to_ticks(given, unit, is_duration=values is ends)
        even = expected if unit == "day" else expected // 2 * 2  # float64 has the even numbers there
        np.testing.assert_array_equal(ticks, [-expected - 1, even])
    for dtype, dropped in (("ps", 10**6), ("7ns", 1000 / 7), ("2000ns", 0.5), ("h", 1 / 3_600_000_000)):
        found = to_ticks(np.array([-10, 10, 2**30, "NaT"], f"m8[{dtype}]"), "us", is_duration=True)
        np.testing.assert_array_equal(found, [*(np.floor(np.array([-10, 10, 2**30]) / dropped)), np.nan])
    for dtype in ("m8[s]", "M8[s]"):
        X = pd.DataFrame({"far": np.array([5, 2**62, 7]).astype(dtype)})
        with pytest.raises(UnsupportedInputError, match=r"('far'|column 0).*(4611686|14613).*leave it out"):
            read_table(X.to_numpy() if as_objects else X, mixed=MixedOptions())


@pytest.mark.skipif(
    not hasattr(pl.LazyFrame, "collect_batches"),
    reason="this release of polars is too old for it",
)
@pytest.mark.parametrize("ordered", [False, True])
def test_intervals_of_pandas_that_another_library_holds_as_structs_are_refused_with_a_next_step(ordered):
    pa = pytest.importorskip("pyarrow")
    X = pd.DataFrame({"c": pd.Categorical(pd.cut(np.arange(60.0), [-1, 20, 40, 60]), ordered=ordered)})
    model = ClusterExplainer().fit(X, np.arange(60) // 21)
    for frame in (pa.Table.from_pandas(X), pl.from_pandas(X)):
        with pytest.raises(NotNumericError, match=r"column 'c' holds structs.*\n.*astype\(str\)"):
            model.predict(frame)
        with pytest.raises(NotNumericError, match="column 'c' holds structs"):
            ClusterExplainer().fit(frame, np.arange(60) // 21)


@pytest.mark.parametrize("unit", ["hours", "days", "months"])
def test_intervals_of_duckdb_are_durations_a_month_being_30_days(unit):
    duckdb = pytest.importorskip("duckdb")
    X = duckdb.sql(f"SELECT to_{unit}((range % 20)::int) AS d FROM range(60)")
    model = ExplainableKMeans(2, random_state=0).fit(X)
    assert model.column_kinds_ == {"d": "duration"}
    assert str(model.rules()) == str(ExplainableKMeans(2, random_state=0).fit(X.df()).rules())
    assert [label for (label,) in model.predict(X).fetchall()] == model.predict(X.df()).tolist()


def test_tables_that_are_no_tables_yet_are_to_become_data_frames():
    records = np.array([(1.0, 2.0), (3.0, 4.0)], dtype=[("a", "f8"), ("b", "f8")])
    for X in (records, records.view(np.recarray), [{"a": 1.0, "b": 2.0}], {"a": [1.0, 2.0]}):
        with pytest.raises(UnsupportedInputError, match=r"Give pandas\.DataFrame\(X\)"):
            read_table(X)
    with pytest.raises(NotNumericError, match=r"dt\.to_timestamp\(\)"):
        read_table(pd.DataFrame({"d": pd.period_range("2020-01", periods=6, freq="M")}), mixed=MixedOptions())


@pytest.mark.skipif(
    not hasattr(pl.LazyFrame, "collect_batches"),
    reason="this release of polars is too old for it",
)
def test_a_table_of_numbers_written_as_text_is_said_to_be_one():
    X = pd.DataFrame({"a": [1.5, 2.0] * 30, "b": [3, 4] * 30}).astype(str)
    for rows in (X, X.to_numpy(dtype=object)):
        with pytest.warns(CutwiseWarning, match=r"All columns of X hold numbers written as text.*X\.astype\(float\)"):
            read_table(rows, mixed=MixedOptions())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(X.assign(c=["x", "y"] * 30), mixed=MixedOptions())
        read_table(X, mixed=MixedOptions([0, 1]))
    with pytest.warns(CutwiseWarning, match="written as text"):
        ExplainableKMeans(2, random_state=0).fit(pl.from_pandas(X).lazy())


@pytest.mark.parametrize("fill", [0, np.nan])
@pytest.mark.parametrize("halves", [0, 0.5])
def test_sparse_columns_with_gaps_are_of_the_kinds_of_dense_ones(fill, halves):
    dense = pd.DataFrame({"a": [0, 1, 2, 3, 10, 11, 12, np.nan], "b": [0, 1, 0, 0, 1 + halves, 0, 1, 0.0]})
    same = dense.astype(pd.SparseDtype(float, fill))
    assert read(same).kinds == read(dense).kinds
    assert np.array_equal(read(same).values, read(dense).values, equal_nan=True)
    assert read_table(same, fitted=read(dense).columns).kinds == read(dense).kinds


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, lambda values: pd.DataFrame({"a": values[:, 0]})])
def test_truth_values_take_0_and_1_alone_as_numbers(make):
    fitted = read_table(make(np.array([[True], [False]]))).columns
    for values in ([[0], [1]], [[0.0], [1.0]]):
        assert as_dense(read_table(make(np.array(values)), fitted=fitted).values).tolist() == values
    for wrong in (5, 0.5, -1):
        with pytest.raises(
            InvalidInputError, match=rf"held true and false at fit and holds {wrong} now, in row 1 .*Give"
        ):
            read_table(make(np.array([[1], [wrong]])), fitted=fitted)
    with pytest.raises(NotNumericError, match=r"holds text: 'yes' in row 0.*\n.*true and false where it had these"):
        read_table(np.array([["yes"], ["no"]]), fitted=replace(fitted, has_names=False))
    fitted = read(pd.DataFrame({"t": ["a", "b"] * 2, "member": [True, False] * 2})).columns
    with pytest.raises(InvalidInputError, match="'member' held true and false at fit and holds 3 now, in row 0"):
        read_table(pd.DataFrame({"t": ["a"], "member": [3]}), fitted=fitted)
