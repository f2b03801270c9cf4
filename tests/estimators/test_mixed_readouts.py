"""Every readout of a fitted model on categories, gaps, dates and truth values decides as ``predict`` does."""

import json

import numpy as np
import pandas as pd
import pytest

import cutwise
from cutwise import ExplainableKMeans, load_model

pytestmark = pytest.mark.filterwarnings("ignore::cutwise.exceptions.UnknownLevelsWarning")


def mixed_frame(seed, n=240):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "region": rng.choice(["N", "S", "E", "o'x"], n),
            "income": np.where(rng.random(n) < 0.3, np.nan, rng.normal(50000, 9000, n).round()),
            "age": rng.integers(18, 80, n),
            "smoker": rng.random(n) < 0.3,
            "job": rng.choice(np.array(["a b", "unknown", None], dtype=object), n),
            "signup": pd.to_datetime("2023-01-01") + pd.to_timedelta(rng.integers(0, 800, n), "D"),
        }
    )
    frame.loc[frame["region"].isin(["N", "E"]), "age"] += 30
    return frame


COLUMNS = {
    "gaps": ["income", "age"],
    "categories": ["region", "job", "income"],
    "all": ["region", "income", "age", "smoker", "job", "signup"],
}


@pytest.fixture(scope="module", params=[(c, a) for c in COLUMNS for a in ("imm", "exkmc", "exgreedy")], ids=str)
def fitted(request):
    columns, algorithm = request.param
    frame = mixed_frame(3)[COLUMNS[columns]]
    model = ExplainableKMeans(4, algorithm=algorithm, max_leaves=8, random_state=0).fit(frame)
    rows = frame.copy()
    if "region" in rows:
        rows.loc[:20, "region"] = "never seen"
    return model, frame, rows


def test_a_genuine_tree_says_the_same(fitted):
    model, _, rows = fitted
    np.testing.assert_array_equal(model.to_sklearn().predict(rows), model.predict(rows))


def test_python_says_the_same(fitted):
    model, _, rows = fitted
    scope = {}
    exec(cutwise.export_python(model), scope)
    found = [scope["cluster_of"](row) for row in rows.to_dict("records")]
    np.testing.assert_array_equal(found, model.predict(rows))


def test_duckdb_says_the_same(fitted):
    duckdb = pytest.importorskip("duckdb")
    model, _, rows = fitted
    data = rows.assign(number=np.arange(len(rows)))  # noqa: F841
    found = duckdb.sql(f"select cluster from ({cutwise.export_sql(model)}) order by number").df()["cluster"]
    np.testing.assert_array_equal(found, model.predict(rows))


def test_levels_that_are_refused_are_in_no_cluster_for_programs_and_databases():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"floor": pd.Categorical(rng.integers(0, 5, 90)), "town": rng.choice(list("abc"), 90)})
    model = ExplainableKMeans(4, algorithm="imm", handle_unknown="error", random_state=0).fit(frame)
    rows, scope = frame.astype({"floor": int}).assign(label=model.predict(frame)), {}
    assert {frame.columns[j] for j in model.tree_.feature if j >= 0} == {"floor", "town"}
    unseen = [{"floor": 7, "town": "a", "label": None}, {"floor": 1, "town": "d", "label": None}]
    rows = pd.concat([rows, pd.DataFrame(unseen)], ignore_index=True)
    exec(cutwise.export_python(model), scope)
    labels = [None if pd.isna(label) else int(label) for label in rows["label"]]
    assert [scope["cluster_of"](row) for row in rows.to_dict("records")] == labels
    sql = cutwise.export_sql(model, dialect="duckdb", table="rows")
    assert "a level not seen at fit gets NULL" in sql
    found = pytest.importorskip("duckdb").sql(sql).df()["cluster"]
    assert [None if pd.isna(label) else int(label) for label in found] == labels


def test_dates_that_lie_close_together_are_said_to_the_minute():
    minutes = np.repeat([0, 1500], 30) + np.tile(np.arange(30), 2)
    frame = pd.DataFrame({"at": pd.Timestamp("2024-03-01 06:00") + pd.to_timedelta(minutes, unit="min")})
    page = cutwise.report(ExplainableKMeans(2).fit(frame), frame).to_markdown()
    assert "On average, at is earlier (2024-03-01 06:14 against 2024-03-01 18:44)" in page


def test_the_genuine_tree_of_dates_needs_no_neighboring_values(tmp_path):
    frame = pd.DataFrame({"at": pd.date_range("2024-01-01", periods=40, freq="37h"), "x": np.arange(40) % 3})
    model = ExplainableKMeans(4, random_state=0).fit(frame)
    model.save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text("utf-8"))
    document["fitted"]["tree"]["threshold"][0] += 1  # a microsecond: rows stay where they are, and gaps are not known
    (tmp_path / "m.json").write_text(json.dumps(document), "utf-8")
    edited = load_model(tmp_path / "m.json")
    assert edited._gaps is None
    np.testing.assert_array_equal(edited.to_sklearn().predict(frame), model.labels_)


def test_a_file_holds_it_all(fitted, tmp_path):
    model, frame, rows = fitted
    model.save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["format_version"] == 2
    again = load_model(tmp_path / "model.json")
    assert str(again.rules()) == str(model.rules())
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(again.predict(frame), model.labels_)


def test_smallest_changes_move_rows_where_they_say(fitted):
    model, frame, _ = fitted
    for i, changes in enumerate(model.smallest_changes(frame.head(15))):
        for cluster, change in changes.items():
            if change is None:
                continue
            row = frame.iloc[[i]].copy()
            row[change.column] = [change.target]
            assert model.predict(row)[0] == cluster, str(change)


def test_an_explanation_says_of_a_missing_number_that_it_is_unknown_and_of_any_other_what_it_is(fitted):
    model, frame, _ = fitted
    asked = model.tree_.feature[model.tree_.feature >= 0]
    for income, said in zip(frame["income"], model.explain(frame), strict=True):
        assert "or unknown" not in said
        assert not ("income is unknown" in said and income == income)
        assert "income" not in said or f"(is {income:.0f})" in said or income != income
    assert (list(frame).index("income") in asked) == any("income" in said for said in model.explain(frame))


def test_the_report_says_shares_of_levels_and_truth_values_in_per_cent(fitted):
    model, frame, _ = fitted
    summary = cutwise.report(model, frame).summary
    by_name = {column["name"]: j for j, column in enumerate(summary["columns"])}
    if "smoker" in frame:
        share = frame["smoker"].mean()
        assert summary["columns"][by_name["smoker"]]["mean_text"] == f"{100 * share:.1f} %"
    for cluster in summary["clusters"]:
        for entry in cluster["profile"]:
            name = summary["columns"][entry["column"]]["name"]
            is_share = entry["mean_text"].endswith(" %") or entry["mean"] is None
            assert is_share == (name in ("region", "job", "smoker") or entry["mean"] is None)
