"""``cutwise explain``: a row's sentence, and what would move it."""

import json

import numpy as np
import pandas as pd
import pytest

from cutwise import load_model


@pytest.fixture
def model(cutwise, blobs_csv, tmp_path):
    path = tmp_path / "model.json"
    assert cutwise("fit", blobs_csv, "-k", 3, "--drop", "noise", "--out", path).code == 0
    return path


def test_a_row_is_told_with_its_changes(cutwise, blobs, blobs_csv, model):
    fitted = load_model(model)
    X = blobs[["age", "income, net"]].iloc[[7]]
    (changes,) = fitted.smallest_changes(X)
    first, *others = cutwise("explain", model, blobs_csv, "--row", 7).out.splitlines()
    assert first == f"row 7: {fitted.explain(X)[0]}"
    assert len(others) == 2
    for line, (label, change) in zip(others, changes.items(), strict=True):
        assert line == f"  to cluster {label}: {change or 'no change of one column is enough'}"


def test_rows_come_in_the_order_asked_for_or_all_of_them(cutwise, blobs_csv, model):
    told = cutwise("explain", model, blobs_csv).out.splitlines()
    heads = [line for line in told if line.startswith("row ")]
    assert [line.split(":")[0] for line in heads] == [f"row {i}" for i in range(60)]
    chosen = cutwise("explain", model, blobs_csv, "--row", 12, "--row", 3).out.splitlines()
    assert [line for line in chosen if line.startswith("row ")] == [heads[12], heads[3]]


def test_names_and_json(cutwise, blobs_csv, model):
    options = ["--row", 0, "--name", "0=the young", "--name", "1=b", "--name", "2=c"]
    assert "cluster `the young`" in cutwise("explain", model, blobs_csv, *options).out
    (told,) = json.loads(cutwise("explain", model, blobs_csv, *options, "--json").out)["rows"]
    assert (told["row"], told["name"]) == (0, {0: "the young", 1: "b", 2: "c"}[told["cluster"]])
    assert told["sentence"].startswith("cluster ")
    assert len(told["changes"]) == 2
    for entry in told["changes"]:
        assert entry["change"] is None or entry["change"]["cluster"] == entry["cluster"]


def test_the_target_moves_the_row(cutwise, blobs, blobs_csv, model):
    fitted = load_model(model)
    for entry in json.loads(cutwise("explain", model, blobs_csv, "--json").out)["rows"][:20]:
        for change in (e["change"] for e in entry["changes"] if e["change"]):
            moved = blobs[["age", "income, net"]].astype(float).iloc[[entry["row"]]].copy()
            moved.iloc[0, change["feature"]] = change["target"]
            assert fitted.predict(moved)[0] == change["cluster"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--row", 60], "60 rows, counted from 0. Give a number up to 59"),
        (["--row", -1], "--row"),
        (["--row", "x"], "--row"),
        (["--name", "9=x"], "no such cluster"),
    ],
)
def test_what_cannot_be_is_refused(refused, blobs_csv, model, options, words):
    assert words in refused("explain", model, blobs_csv, *options)


def test_a_missing_value_counts_only_in_the_rows_asked_for(cutwise, refused, blobs, model, tmp_path):
    path = tmp_path / "holes.csv"
    blobs.loc[5, "age"] = np.nan
    blobs.to_csv(path, index=False)
    assert cutwise("explain", model, path, "--row", 4).code == 0
    assert "'age' has no value in row 5 (line 7 of" in refused("explain", model, path, "--row", 4, "--row", 5)
    blobs["age"] = blobs["age"].map(str)
    pd.DataFrame(blobs).replace("nan", "old").to_csv(path, index=False)
    assert "'age' holds 'old' in row 5" in refused("explain", model, path)


def test_levels_never_seen_are_said_once(cutwise, tmp_path):
    rows, model = tmp_path / "rows.csv", tmp_path / "model.json"
    rows.write_text("\n".join(["kind,size", *(f"{'abc'[i % 3]},{i % 5}" for i in range(60))]) + "\n")
    assert cutwise("fit", rows, "-k", 3, "--cut-only", "kind", "--out", model).code == 0
    new = tmp_path / "new.csv"
    new.write_text("kind,size\na,1\nz,1\nb,2\n")
    said = cutwise("explain", model, new, "--row", 1).err
    assert said.count("never seen at fit") == 1
    assert "among the rows to explain: Column 'kind' holds a level never seen at fit: 'z'" in said
