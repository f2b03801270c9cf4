"""``cutwise rules --format``: the saved model for other programs."""

import csv
import json
import sqlite3
import sys

import numpy as np
import pandas as pd
import pytest

from cutwise import (
    export_graphviz,
    export_json,
    export_markdown,
    export_python,
    export_sql,
    export_text,
    load_model,
)


@pytest.fixture
def model(cutwise, blobs_csv, tmp_path):
    path = tmp_path / "model.json"
    assert cutwise("fit", blobs_csv, "-k", 3, "--drop", "noise", "--name", "0=a|b\u2028<i>", "--out", path).code == 0
    return path


@pytest.mark.parametrize(
    ("form", "export"),
    [
        ("markdown", export_markdown),
        ("json", export_json),
        ("python", export_python),
        ("dot", export_graphviz),
        pytest.param("sql", lambda model: export_sql(model) + "\n", id="sql"),
    ],
)
def test_it_prints_what_python_gives(cutwise, model, form, export):
    if form == "sql":
        pytest.importorskip("sqlglot")
    assert cutwise("rules", model, "--format", form).out == export(load_model(model))


def test_text_is_the_table_and_the_default(cutwise, model):
    assert cutwise("rules", model, "--format", "text").out == cutwise("rules", model).out


def test_json_is_a_short_form(cutwise, model):
    assert cutwise("rules", model, "--json").out == cutwise("rules", model, "--format", "json").out


def test_sql_runs_on_the_table_of_fit(cutwise, blobs, model):
    pytest.importorskip("sqlglot")
    connection = sqlite3.connect(":memory:")
    blobs.to_sql("blobs", connection, index=False)
    options = ["--format", "sql", "--dialect", "sqlite", "--table", "blobs"]
    expected = load_model(model).predict(blobs[["age", "income, net"]]).tolist()
    rows = connection.execute(cutwise("rules", model, *options).out).fetchall()
    assert [row[-1] for row in rows] == expected
    connection.execute(cutwise("rules", model, *options, "--statement", "view").out)
    assert [row[-1] for row in connection.execute("SELECT * FROM blobs_clusters")] == expected
    named = connection.execute(cutwise("rules", model, *options, "--values", "names").out).fetchall()
    other = connection.execute(cutwise("rules", model, *options, "--column", "segment").out)
    assert other.description[-1][0] == "segment"
    assert [row[-1] for row in named] == [{0: "a|b\u2028<i>"}.get(label, str(label)) for label in expected]
    connection.close()


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (["no", "yes"], []),
        (["no", "yes"], [""]),
        (["FALSE", "TRUE"], []),
        (["f", "t"], [""]),
        (["No", "Yes", "no ", " YES"], ["", "n/a"]),
    ],
)
def test_sql_and_python_take_the_words_of_yes_and_no_as_the_file_has_them(cutwise, tmp_path, words, missing):
    pytest.importorskip("sqlglot")
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(0)
    z, spelled = rng.integers(0, 4, 200), rng.integers(0, len(words) // 2, 200)
    owns = np.array(words, dtype=object)[2 * spelled + z % 2]
    if missing:
        owns[:40] = rng.choice(missing, 40)
    path = tmp_path / "people.csv"
    pd.DataFrame({"income": rng.normal(50 + 20 * (z // 2), 4).round(1), "owns": owns}).to_csv(path, index=False)
    model = tmp_path / "model.json"
    assert cutwise("fit", path, "-k", 4, "--seed", 0, "--out", model).code == 0
    assert load_model(model).column_kinds_["owns"] == "bool"
    assert "owns is true" in cutwise("rules", model).out
    expected = [line.split(",")[1] for line in cutwise("predict", model, path).out.splitlines()[1:]]
    with open(path, newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    lite = sqlite3.connect(":memory:")
    lite.execute("CREATE TABLE people (income TEXT, owns TEXT)")  # as .import makes it
    lite.executemany("INSERT INTO people VALUES (?, ?)", rows)
    database = duckdb.connect()
    database.execute("CREATE TABLE people AS SELECT * FROM read_csv(?)", [str(path)])
    for dialect, connection in (("sqlite", lite), ("duckdb", database)):
        options = ["--format", "sql", "--dialect", dialect, "--table", "people"]
        found = connection.execute(cutwise("rules", model, *options).out).fetchall()
        assert [str(row[-1]) for row in found] == expected
    lite.close()
    scope = {}
    exec(cutwise("rules", model, "--format", "python").out, scope)
    found = [scope["cluster_of"]({"income": income, "owns": owns}) for income, owns in rows]
    assert list(map(str, found)) == expected
    assert scope["cluster_of"]({"income": 50, "owns": True}) == scope["cluster_of"]({"income": 50, "owns": "Yes"})


def test_rows_without_a_value_get_what_nulls_says(cutwise, model):
    pytest.importorskip("sqlglot")
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE data (age REAL, "income, net" REAL)')
    connection.execute("INSERT INTO data VALUES (NULL, 1000), (30, NULL), (NULL, NULL)")
    told = {}
    for options in ([], ["--nulls", "-1"], ["--nulls", "nobody", "--values", "names"]):
        sql = cutwise("rules", model, "--format", "sql", "--dialect", "sqlite", *options).out
        told[options[-1] if options else None] = connection.execute(sql).fetchall()[2][-1]
    connection.close()
    assert told == {None: None, "-1": -1, "names": "nobody"}


@pytest.mark.parametrize("form", ["text", "markdown", "json", "python", "dot"])
def test_it_can_go_into_a_file(cutwise, model, tmp_path, form):
    path = tmp_path / "out"
    result = cutwise("rules", model, "--format", form, "--out", path)
    assert result.out == ""
    assert "wrote" in result.err
    fitted = load_model(model)
    expected = {
        "text": export_text(fitted, form="rules") + "\n",
        "markdown": export_markdown(fitted),
        "json": export_json(fitted),
        "python": export_python(fitted),
        "dot": export_graphviz(fitted),
    }
    assert path.read_bytes() == expected[form].encode()


def test_names_for_this_time_are_in_every_format(cutwise, model):
    pytest.importorskip("sqlglot")
    for form in ("text", "markdown", "json", "sql", "python", "dot"):
        assert "students" in cutwise("rules", model, "--name", "1=students", "--format", form).out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--format", "pyhton"], "Did you mean 'python'?"),
        (["--format", "sql", "--dialect", "informix"], "'duckdb', 'postgres'"),
        (["--format", "sql", "--statement", "selct"], "--statement 'selct' is not a valid option."),
        (["--format", "sql", "--table", "a.b.c.d"], "one to three parts"),
        (["--dialect", "duckdb"], "--dialect is for SQL"),
        (["--format", "dot", "--statement", "view"], "--statement is for SQL"),
        (["--format", "sql", "--nulls", "none"], "Give a number such as -1"),
        (["--format", "sql", "--nulls", "1"], "is a cluster"),
        (["--format", "sql", "--json"], "contradict each other"),
        (["--format", "dot", "--tree"], "--tree is for text"),
    ],
)
def test_options_that_do_not_go_together_are_refused(refused, model, tmp_path, options, words):
    if words != "--dialect is for SQL" and "sql" in options:
        pytest.importorskip("sqlglot")
    assert words in refused("rules", model, *options, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_sqlglot_is_one_line_with_the_extra(refused, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    monkeypatch.delitem(sys.modules, "cutwise.readouts.sql_writer", raising=False)
    line = refused("rules", model, "--format", "sql")
    assert 'Writing SQL needs sqlglot, which is not installed. Install it: pip install "cutwise[sql]"' in line


@pytest.mark.parametrize("command", ["rules", "explain"])
def test_help_has_an_example_of_each_format(cutwise, command):
    printed = cutwise(command, "--help").out
    assert f"cutwise {command} segments.json" in printed
    if command == "rules":
        for form in ("markdown", "json", "sql", "python", "dot"):
            assert f"--format {form}" in " ".join(printed.split())


def test_json_has_the_entries_that_are_documented(cutwise, model):
    told = json.loads(cutwise("rules", model, "--format", "json").out)
    for entry in told:
        assert f"``{entry}``" in export_json.__doc__


def test_advice_of_sql_is_given_once(cutwise, refused, tmp_path):
    path, model = tmp_path / "table.csv", tmp_path / "m.json"
    path.write_text("cluster,b\n1,2\n2,1\n7,8\n8,9\n")
    assert cutwise("fit", path, "-k", 2, "--out", model).code == 0
    said = refused("rules", model, "--format", "sql")
    assert said.endswith("Give it another name: --column 'cluster_2'.")
    assert said.count("--column") == 1
