"""``--name``: clusters by the names that people give them."""

import csv
import html
import json
import re
import subprocess

import pytest

from cutwise import load_model


@pytest.fixture
def model(cutwise, blobs_csv, tmp_path):
    path = tmp_path / "model.json"
    assert cutwise("fit", blobs_csv, "-k", 3, "--drop", "noise", "--out", path).code == 0
    return path


def test_a_report_says_the_names_that_were_kept_where_it_makes_the_model_again(cutwise, blobs_csv, tmp_path):
    model, out = tmp_path / "model.json", tmp_path / "r.json"
    assert cutwise("fit", blobs_csv, "-k", 3, "--name", "0=x", "--seed", 1, "--out", model).code == 0
    assert cutwise("rules", model, "--name", "0=young", "--keep").code == 0
    assert cutwise("report", model, blobs_csv, "--name", "1=old", "--out", out).code == 0
    fit, again = json.loads(out.read_text())["reproduce"]
    assert fit == f"cutwise fit {blobs_csv} -k 3 --seed 1 --name 0=young --out {model}"
    assert "--name 1=old" in again


def test_fit_keeps_names_in_the_model_and_prints_them(cutwise, blobs_csv, tmp_path):
    path = tmp_path / "model.json"
    result = cutwise("fit", blobs_csv, "-k", 3, "--name", "0=students", "--name", "2=the old", "--out", path)
    header, *rows = result.out.splitlines()[4:8]
    assert header.split()[:3] == ["cluster", "name", "rows"]
    assert rows[0].split()[:2] == ["0", "students"]
    assert rows[1].split()[1].isdigit()
    assert "`the old`" in rows[2]
    assert load_model(path).cluster_names_ == {0: "students", 2: "the old"}
    assert "students" in cutwise("rules", path).out


def test_rules_names_clusters_for_once_or_for_good(cutwise, model):
    before = model.read_bytes()
    assert "students" in cutwise("rules", model, "--name", "1=students").out
    assert "students" in cutwise("rules", model, "--name", "1=students", "--tree").out
    assert model.read_bytes() == before
    result = cutwise("rules", model, "--name", "1=students", "--keep", "--json")
    assert [cluster["name"] for cluster in json.loads(result.out)["clusters"]] == [None, "students", None]
    assert "wrote the names" in result.err
    assert load_model(model).cluster_names_ == {1: "students"}


def test_clusters_of_rows_have_names_beside_the_labels(cutwise, blobs_csv, model, tmp_path):
    bare = cutwise("predict", model, blobs_csv).out.splitlines()
    cutwise("rules", model, "--name", '0=a, "b"', "--keep")
    lines = list(csv.reader(cutwise("predict", model, blobs_csv).out.splitlines()))
    assert lines[0] == ["row", "cluster", "name"]
    assert [",".join(line[:2]) for line in lines] == bare
    assert {(line[1], line[2]) for line in lines[1:]} == {("0", 'a, "b"'), ("1", ""), ("2", "")}


def test_labels_that_hold_an_equals_sign_can_be_named(cutwise, blobs, tmp_path):
    path, model = tmp_path / "kinds.csv", tmp_path / "model.json"
    kind = blobs["age"].gt(30).map({True: "a", False: "a=b"})
    blobs[["age"]].assign(kind=kind).to_csv(path, index=False)
    cutwise("fit", path, "--labels-from", "kind", "--name", "a=b=x=y", "--name", "a=z", "--out", model)
    assert load_model(model).cluster_names_ == {"a": "z", "a=b": "x=y"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--name", "7=x"], "no such cluster"),
        (["--name", "students"], "Use CLUSTER=NAME"),
        (["--name", "0="], "empty"),
        (["--name", "0=x", "--name", "0=y"], "two names"),
        (["--name", "0=x", "--name", "1=x"], "both named"),
        (["--name", "0=1"], "label of another"),
        (["--keep"], "--name 0=students"),
    ],
)
def test_names_that_cannot_be_are_refused(refused, model, options, words):
    before = model.read_bytes()
    assert words in refused("rules", model, *options)
    assert model.read_bytes() == before


def test_no_name_of_a_column_breaks_a_line(cutwise, tmp_path):
    path, out = tmp_path / "table.csv", tmp_path / "report.md"
    rows = [f"{i % 2 * 9 + i % 5},{i},{'ab'[i % 2]}" for i in range(20)]
    path.write_text("\n".join(['"in\ncome","a\tge","ki\r\nnd"', *rows]) + "\n")
    for command in ("fit", "compare", "curve", "front"):
        printed = cutwise(command, path, "-k", 2, "--never", "in\ncome", "--cut-only", "a\tge").out
        assert "only cuts on a ge" in printed, printed
        assert "\nnd" not in printed
        assert "\t" not in printed
    assert cutwise("fit", path, "-k", 2, "--never", "a\tge", "--out", tmp_path / "m.json").code == 0
    assert cutwise("report", tmp_path / "m.json", path, "--out", out).code == 0
    assert "no cut on a ge" in out.read_text()


def test_commands_that_name_columns_of_any_characters_can_be_pasted_into_a_shell(cutwise, tmp_path):
    names = ["in\ncome", "a\tge", " two  blanks ", "it's", 'a "q"', "back\\slash", "\u2028ü😀", "x,y", "$HOME `x`"]
    path, model = tmp_path / "table.csv", tmp_path / "m.json"
    rows = [[*(i % 2 * 9 + i % (j + 2) for j in range(len(names))), i or ""] for i in range(20)]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*names, "w\no  rds"], *rows])
    columns = [word for name in names for word in ("--never", name)][2:]
    step = re.search("--drop (?!-missing).*(?=\\.)", cutwise("fit", path, "-k", 2, "--kernel", "rbf").err)[0]
    assert cutwise("fit", path, "-k", 2, *columns, *_words(step), "--out", model).code == 0
    before = model.read_bytes()
    for form in ("md", "html"):
        out = tmp_path / f"report.{form}"
        assert cutwise("report", model, path, "--out", out).code == 0
        commands = re.findall(
            r"^ *(?:<p.*)?(cutwise [fr].*)", html.unescape(out.read_text(encoding="utf-8")), re.MULTILINE
        )
        assert len(commands) == 2
        for command in commands:
            assert cutwise(*_words(command)[1:]).code == 0
        assert model.read_bytes() == before


def _words(text):
    return (
        subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True).stdout.decode().split("\0")[:-1]
    )
