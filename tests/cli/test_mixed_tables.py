"""Tables of texts, codes, dates and gaps on the command line, without an option and with those about columns."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cutwise import ClusterExplainer, ExplainableKMeans, load_model

N = 200


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 3, N)
    frame = pd.DataFrame(
        {
            "PassengerId": np.arange(1, N + 1),
            "name": [f"Mr. {i}" for i in range(N)],
            "region": np.array(["north", "it's", "south"])[np.where(rng.random(N) < 0.9, kind, 0)],
            "channel": kind + 1,
            "age": np.where(rng.random(N) < 0.2, np.nan, (30 + 12 * kind + rng.normal(0, 3, N)).round()),
            "since": pd.date_range("2024-01-01", periods=N, freq="3D").strftime("%Y-%m-%d"),
            "member": np.where(rng.random(N) < 0.5, "yes", "no"),
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("scale", "said"),
    [("robust", "scale robust: numbers scaled to median 0 and"), ("none", "scale none: numbers are not scaled, every")],
)
def test_scales_are_those_of_numbers_where_there_are_other_columns(scale, said, cutwise, people):
    out = cutwise("fit", people, "-k", 3, "--scale", scale).out
    assert said in out
    assert "every other column weighted like a number" in out
    assert "weighted" not in cutwise("fit", people, "-k", 3, "--scale", scale, "--only", "age,channel").out


def test_a_table_as_it_is_gives_rules_and_says_what_was_taken_for_what(cutwise, people, tmp_path):
    model, labels, page = tmp_path / "m.json", tmp_path / "labels.csv", tmp_path / "r.md"
    done = cutwise("fit", people, "-k", 3, "--out", model, "--labels", labels)
    assert done.code == 0, done.err
    assert "200 rows, 5 columns: 1 category (region), 2 numbers, 1 date (since), 1 yes or no (member)" in done.out
    assert "left out: PassengerId (a row identifier), name (a different value in every row)" in done.err
    assert "channel: read as numbers; if these are codes, add --category channel" in done.err
    assert "since: read as dates" in done.err
    assert cutwise("predict", model, people).out == labels.read_text()
    assert cutwise("explain", model, people, "--row", 3).code == 0
    assert cutwise("report", model, people, "--out", page).code == 0
    assert "--scale" not in page.read_text()  # what --scale is by default needs no saying
    document = json.loads(cutwise("fit", people, "-k", 3, "--json").out)
    assert document["column_kinds"] == ["category", "integer", "integer", "date", "bool"]
    # What is said on the screen is in every form of the model.
    assert load_model(model).left_out_ == document["left_out"]
    assert list(document["left_out"]) == ["PassengerId", "name"]
    said = [line.removeprefix("cutwise: ") for line in done.err.splitlines() if not line.startswith("cutwise: wrote")]
    assert document["notes"] == said
    assert all(line in page.read_text() for line in ("1 category (region), 2 numbers", "since: read as dates"))
    done = cutwise("curve", people, "-k", 3, "--never", "age", "--max-depth", 2)
    assert done.code == 0
    assert "limits: no cut on age; depth at most 2" in done.out


def test_columns_are_taken_for_what_the_options_say(cutwise, people, tmp_path):
    model = tmp_path / "m.json"
    done = cutwise("fit", people, "-k", 3, "--category", "channel", "--only", "channel,age", "--out", model)
    assert "2 columns: 1 category (channel), 1 number" in done.out
    assert "channel = " in done.out or "channel != " in done.out
    assert "read as numbers" not in done.err
    assert cutwise("predict", model, people).code == 0
    people.write_text(people.read_text().replace("north", "7").replace("it's", "8"))
    done = cutwise("fit", people, "-k", 3, "--number", "region", "--only", "region,age")
    assert "2 columns: 2 numbers" in done.out
    assert "region: 68 cells that are not numbers are read as missing" in done.err or "cells that are no" in done.err


@pytest.mark.parametrize(("unknown", "code"), [("outside", 0), ("error", 2)])
def test_levels_never_seen_are_outside_or_refused(cutwise, people, tmp_path, unknown, code):
    model = tmp_path / "m.json"
    assert cutwise("fit", people, "-k", 3, "--only", "region", "--unknown", unknown, "--out", model).code == 0
    people.write_text(people.read_text().replace("north", "west"))
    done = cutwise("predict", model, people)
    assert done.code == code
    assert "never seen at fit: 'west'" in done.err
    assert "handle_unknown" not in done.err  # predict has no option for it


def test_few_numbers_and_words_are_levels_unless_a_word_is_in_a_single_row_or_the_column_name(cutwise, tmp_path):
    rng = np.random.default_rng(0)
    size = np.array(["1", "2", "3", "4+"])[rng.integers(0, 4, 80)]
    size[:2] = "2", "4+"
    path, model = tmp_path / "homes.csv", tmp_path / "m.json"
    pd.DataFrame({"size": size, "x": rng.normal(size=80)}).to_csv(path, index=False)
    done = cutwise("fit", path, "-k", 4, "--out", model)
    assert "1 category (size)" in done.out
    assert "size: read as levels because of words such as '4+'; use --number to read such words as missing" in done.err
    assert cutwise("predict", model, path).out.count("\n") == 81
    assert "2 numbers" in cutwise("fit", path, "-k", 2, "--number", "size", "--scale", "none").out
    size[size == "4+"] = "3"
    size[7] = "4+"
    pd.DataFrame({"size": size, "x": rng.normal(size=80)}).to_csv(path, index=False)
    assert "left out: size (numbers, but '4+' in row 7 " in cutwise("fit", path, "-k", 2).err
    size = np.where(np.isin(size, ["1", "4+"]), "size", size)  # as lines of names between joined files
    pd.DataFrame({"size": size, "x": rng.normal(size=80)}).to_csv(path, index=False)
    assert "left out: size (numbers, but 'size' in row" in cutwise("fit", path, "-k", 2).err


def test_long_sets_of_levels_are_cut_short_where_people_read_rules_and_whole_elsewhere(cutwise, tmp_path):
    rng = np.random.default_rng(0)
    city = rng.integers(0, 60, 900)
    rows, model, report = tmp_path / "rows.csv", tmp_path / "model.json", tmp_path / "report"
    pd.DataFrame({"city": [f"c{i:02}" for i in city], "group": city // 20, "few": list("abcdef") * 150}).to_csv(
        rows, index=False
    )
    fitted = cutwise("fit", rows, "--labels-from", "group", "--out", model)
    rules = load_model(model).rules()
    whole, short = (f"city {no}in {{{', '.join(f'c{i:02}' for i in range(*ends))}{more}}}"
                    for no, ends, more in (("", (20, 40), ""), ("", (20, 25), " and 15 more")))  # fmt: skip
    assert whole in str(rules)
    for told in (fitted, cutwise("rules", model), cutwise("recount", model, rows, "--labels-from", "group")):
        assert f" {short}\n" in told.out
        assert "c26" not in told.out
        assert "long sets of levels are shortened; fit, rules and explain print them in full with --json" in told.err
    cutwise("rules", model, "--out", tmp_path / "rules.txt")
    assert whole in (tmp_path / "rules.txt").read_text()
    row = int(np.flatnonzero(city == 21)[0])
    told = cutwise("explain", model, rows, "--row", row)
    assert f"because {short} (is c21)\n" in told.out
    assert "print them in full with --json" in told.err
    for command in (["fit", rows, "--labels-from", "group"], ["rules", model], ["explain", model, rows, "--row", row]):
        assert whole in cutwise(*command, "--json").out
    assert whole in load_model(model).explain(pd.read_csv(rows)[["city", "few"]][row : row + 1])[0]
    cutwise("report", model, rows, "--out", f"{report}.html")
    cutwise("report", model, rows, "--out", f"{report}.json")
    page, document = (report.with_suffix(ending).read_text() for ending in (".html", ".json"))
    (rule,) = (rule for c in json.loads(document)["clusters"] for rule in c["rules"] if rule["shown"] == [short])
    assert rule["conditions"] == [whole]
    assert rule["text"] == whole
    plain = page.replace("<wbr>", "")
    assert f'<div class="rule"><code><span><details><summary>{short}</summary>{whole}</details>' in plain
    of_few = cutwise("fit", rows, "--labels-from", "few", "--only", "few,group", "--max-leaves", 6)
    assert "cut short" not in of_few.err


def test_compare_takes_tables_as_they_are(cutwise, people):
    result = cutwise("compare", people, "-k", 3, "--json")
    trees = json.loads(result.out)["trees"]
    assert [tree["algorithm"] for tree in trees] == ["search", "imm", "exgreedy", "exshallow", "exkmc", "CART"]
    assert min(trees, key=lambda tree: tree["cost"])["cost"] == trees[0]["cost"]


def test_a_front_of_a_table_as_it_is_names_a_tree_that_predicts(cutwise, people, tmp_path):
    model = tmp_path / "m.json"
    assert cutwise("front", people, "-k", 3, "--within", "80%", "--model", model).code == 0
    assert cutwise("predict", model, people).code == 0


def test_columns_may_be_called_anything_and_limits_are_priced(cutwise, people):
    frame = pd.read_csv(people).rename(columns={"member": "self", "region": "columns"})
    frame.to_csv(people, index=False)
    done = cutwise("fit", people, "-k", 3, "--never", "columns,age", "--max-depth", 2, "--min-leaf", 20)
    assert done.code == 0, done.err
    assert "(no cut on columns, age; depth at most 2; at least 20 rows in a leaf)" in done.out
    for share in ("0.05", "5%", "5 %"):
        assert "(at least 5 % in a leaf)" in cutwise("fit", people, "-k", 3, "--min-leaf", share).out
    done = cutwise("fit", people, "-k", 5, "--max-depth", 2)
    assert done.code == 2
    assert "--max-depth 2 allows 4 leaves, fewer than -k 5" in done.err


@pytest.mark.skipif(not hasattr(pl.LazyFrame, "collect_batches"), reason="this release of polars gives no batches")
def test_cells_are_read_as_at_fit_whatever_few_of_them_look_like(cutwise, tmp_path):
    kind, model, path = np.arange(N) % 3, tmp_path / "m.json", tmp_path / "some.csv"
    columns = {
        "asked": np.array(["yes", "no", "maybe"])[kind],
        "state": np.array(["unknown", "low", "-"])[kind],
        "zone": np.array(["1", "07", "x"])[kind],
        "lag": np.array([1, 26, 900], dtype="timedelta64[h]")[kind],
        "at": np.array([dt.time(1), dt.time(7, 30), dt.time(23, 59)])[kind],
    }
    for name, values in columns.items():
        table = pd.DataFrame({name: values, "x": kind * 9.5})
        fitted = ExplainableKMeans(3, cut_features=[name], random_state=0).fit(table)
        fitted.save(model)
        for few in (table, table[kind == 0], table[kind < 2]):
            few.to_csv(path, index=False)
            done = cutwise("predict", model, path)
            assert done.code == 0, done.err
            assert [int(line.split(",")[1]) for line in done.out.splitlines()[1:]] == fitted.predict(few).tolist()
    asked = pd.DataFrame({"asked": ["yes", "no", "NA", "no"] * 20, "x": np.arange(80.0)})
    ExplainableKMeans(2, cut_features=["asked"], random_state=0).fit(asked.replace("NA", None)).save(model)
    asked.to_csv(path, index=False)
    pages = []
    for limit in ([], ["--max-memory", "1B"]):
        done = cutwise("report", model, path, "--out", tmp_path / "r.md", *limit)
        assert done.code == 0, done.err
        pages.append((tmp_path / "r.md").read_text().replace(" --max-memory 1B", ""))
    assert pages[0] == pages[1]


def test_cart_is_compared_on_the_same_questions(cutwise, tmp_path):
    rng = np.random.default_rng(0)
    code = rng.integers(1, 9, 400) * 10
    x = (code // 10 % 2) * 9 + rng.normal(size=400)
    frame = pd.DataFrame({"code": code, "x": x})
    frame.to_csv(path := tmp_path / "codes.csv", index=False)
    result = cutwise("compare", path, "-k", 2, "--category", "code", "--never", "x", "--json")
    rows = {tree["algorithm"]: tree for tree in json.loads(result.out)["trees"]}
    same = {"categorical_features": ["code"], "cut_features": ["code"]}
    labels = ExplainableKMeans(2, algorithm="exkmc", random_state=0, **same).fit(frame).reference_.labels
    cart = ClusterExplainer(algorithm="cart", max_leaves=2, **same).fit(frame, labels)
    assert rows["CART"]["agreement"] == np.mean(cart.predict(frame) == labels) < 0.8


def test_a_line_of_units_below_the_names_is_called_by_its_row_in_the_next_step(cutwise, tmp_path):
    for name, line in (("units", "cm,kg,\n"), ("words", "cm,3,a\n")):
        lines = [f"{i % 7},{i % 5 * 10},{'ab'[i % 2]}\n" for i in range(40)]
        (tmp_path / f"{name}.csv").write_text("".join(["size,mass,kind\n", line, *lines]))
    units, words = (cutwise("fit", str(tmp_path / f"{name}.csv"), "-k", "2").err for name in ("units", "words"))
    assert "size,mass: remove the line of row 0 if it holds units or names; else use --number" in units
    assert "size: use --number to read such words as missing" in words
