"""``cutwise predict`` and ``cutwise rules`` answer from a saved model."""

import json

import pandas as pd
import pytest

from cutwise import ExplainableKMeans, export_text, load_model


@pytest.fixture
def model(cutwise, blobs_csv, tmp_path):
    path = tmp_path / "model.json"
    assert cutwise("fit", blobs_csv, "-k", 3, "--drop", "noise", "--out", path).code == 0
    return path


def test_predict_prints_a_line_per_row(cutwise, blobs, blobs_csv, model):
    result = cutwise("predict", model, blobs_csv)
    expected = load_model(model).predict(blobs[["age", "income, net"]]).tolist()
    assert result.out.splitlines() == ["row,cluster", *(f"{row},{cluster}" for row, cluster in enumerate(expected))]


def test_predict_gives_the_clusters_that_fit_wrote(cutwise, blobs_csv, tmp_path):
    model, fitted, predicted = tmp_path / "model.json", tmp_path / "fitted.csv", tmp_path / "predicted.csv"
    cutwise("fit", blobs_csv, "-k", 3, "--out", model, "--labels", fitted)
    result = cutwise("predict", model, blobs_csv, "--out", predicted)
    assert result.out == ""
    assert fitted.read_text() == predicted.read_text()


def test_columns_are_found_by_name_in_any_order(cutwise, blobs, blobs_csv, model, tmp_path):
    turned = tmp_path / "turned.csv"
    blobs[["noise", "income, net", "age"]].assign(town="x").to_csv(turned, index=False)
    assert cutwise("predict", model, turned).out == cutwise("predict", model, blobs_csv).out


def test_rules_of_an_edited_tree_come_with_the_way_to_count_its_rows(cutwise, model):
    assert cutwise("rules", model).err == ""
    document = json.loads(model.read_text())
    document["fitted"]["tree"]["threshold"][0] += 1
    model.write_text(json.dumps(document))
    assert "cutwise recount" in cutwise("rules", model).err


def test_a_missing_column_is_refused_with_the_nearest_name(refused, blobs, model, tmp_path):
    renamed = tmp_path / "renamed.csv"
    blobs.rename(columns={"age": "Age_"}).to_csv(renamed, index=False)
    line = refused("predict", model, renamed)
    assert "'age'" in line
    assert "Did you mean 'Age_'?" in line


def test_a_table_without_names_must_have_as_many_columns(cutwise, refused, blobs, blobs_csv, model, tmp_path):
    bare = tmp_path / "bare.csv"
    blobs.assign(more=1).to_csv(bare, index=False, header=False)
    assert "4 columns, and the model was fitted on 2 of the 3" in refused("predict", model, bare, "--no-header")
    placed = cutwise("predict", model, blobs_csv).out
    blobs.to_csv(bare, index=False, header=False)  # the file of fit, of which a column was left out
    assert cutwise("predict", model, bare).out == cutwise("predict", model, bare, "--no-header").out == placed
    blobs[["age", "income, net"]].to_csv(bare, index=False, header=False)
    assert len(cutwise("predict", model, bare, "--no-header").out.splitlines()) == 61


def test_rows_with_missing_values_can_be_passed_over(cutwise, refused, blobs, model, tmp_path):
    path = tmp_path / "holes.csv"
    blobs.loc[1, "age"] = None
    blobs.to_csv(path, index=False)
    assert "'age' has 1 missing value" in refused("predict", model, path)
    lines = cutwise("predict", model, path, "--drop-missing").out.splitlines()
    assert lines[2] == "1,"
    assert len(lines) == 61


def test_rules_prints_the_table_of_fit(cutwise, blobs_csv, tmp_path):
    path = tmp_path / "model.json"
    printed = cutwise("fit", blobs_csv, "-k", 3, "--out", path).out
    assert cutwise("rules", path).out in printed


def test_rules_prints_the_tree(cutwise, model):
    assert cutwise("rules", model, "--tree").out == export_text(load_model(model)).rstrip("\n") + "\n"


def test_rules_prints_json(cutwise, model):
    assert json.loads(cutwise("rules", model, "--json").out)["n_clusters"] == 3


def test_clusters_of_several_leaves_have_a_line_of_totals(cutwise, tmp_path):
    path = tmp_path / "ends.csv"
    pd.DataFrame({"a": [0, 1, 2, 10, 11, 12, 20, 21, 22], "kind": list("xxxyyyxxx")}).to_csv(path, index=False)
    out = cutwise("fit", path, "--labels-from", "kind", "--max-leaves", 3).out
    assert "any of 2 rules:" in out
    assert "agreement 100 %" in out


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "empty|not|read"),
        ("{}", "model"),
        ("row,cluster\n0,1\n", "model"),
    ],
)
def test_what_is_no_model_is_refused(refused, tmp_path, blobs_csv, content, word):
    path = tmp_path / "model.json"
    path.write_text(content)
    for command in (["rules", path], ["predict", path, blobs_csv]):
        line = refused(*command)
        assert any(part in line for part in word.split("|"))


def test_a_model_of_a_newer_version_is_refused(refused, model, blobs_csv):
    document = json.loads(model.read_text())
    document["format_version"] = 999
    model.write_text(json.dumps(document))
    assert "999" in refused("rules", model)
    assert "999" in refused("predict", model, blobs_csv)


def test_a_missing_model_is_refused(refused, blobs_csv, tmp_path):
    assert "nowhere.json" in refused("rules", tmp_path / "nowhere.json")
    assert "nowhere.json" in refused("predict", tmp_path / "nowhere.json", blobs_csv)


@pytest.mark.parametrize("rest", [None, "x", ""])
def test_only_the_columns_that_the_rules_ask_about_are_needed(cutwise, refused, blobs, blobs_csv, tmp_path, rest):
    path, new = tmp_path / "whole.json", tmp_path / "new.csv"
    grouped = tmp_path / "grouped.csv"
    blobs.assign(group=[0, 1, 2] * 20).to_csv(grouped, index=False)
    assert cutwise("fit", grouped, "--labels-from", "group", "--out", path).code == 0
    table = blobs.drop(columns="noise") if rest is None else blobs.assign(noise=rest)
    table.to_csv(new, index=False)
    assert cutwise("predict", path, new).out == cutwise("predict", path, blobs_csv).out
    assert cutwise("explain", path, new).out == cutwise("explain", path, blobs_csv).out
    assert cutwise("report", path, new, "--out", tmp_path / "report.md").code == 0
    table.to_csv(new, index=False, header=False)
    if rest is None:
        assert "2 columns, and the model was fitted on 3" in refused("predict", path, new, "--no-header")
    else:
        assert cutwise("predict", path, new, "--no-header").out == cutwise("predict", path, blobs_csv).out
    blobs.drop(columns=["age", "noise"]).to_csv(new, index=False)
    assert "columns that the model uses: 'age'" in (said := refused("predict", path, new))
    assert "Rename them" in said


def test_a_tree_of_one_leaf_answers_for_any_table(cutwise, blobs_csv, tmp_path):
    saved, other = tmp_path / "one.json", tmp_path / "other.csv"
    assert cutwise("fit", blobs_csv, "-k", 1, "--out", saved).code == 0
    other.write_text("size,kind\n1,a\n2,b\n", encoding="utf-8")
    for path, n_rows in ((blobs_csv, 60), (other, 2)):
        result = cutwise("predict", saved, path)
        assert (result.code, result.err) == (0, "")
        assert result.out == "row,cluster\n" + "".join(f"{row},0\n" for row in range(n_rows))
    assert cutwise("explain", saved, blobs_csv, "--row", 0).out == "row 0: cluster 0 because every row is\n"
    assert cutwise("recount", saved, blobs_csv).code == 0


def test_a_report_takes_labels_for_models_of_labels_alone(refused, blobs_csv, model, tmp_path):
    line = refused("report", model, blobs_csv, "--labels-from", "noise", "--out", tmp_path / "r.json")
    assert "--labels-from noise cannot be used with" in line


def test_standard_input_is_predicted_alone(refused, blobs_csv, model, tmp_path):
    line = refused("predict", model, "-", blobs_csv, "--out", tmp_path / "new")
    assert "Standard input (-) cannot be combined with other files" in line


def test_a_gap_is_named_by_its_line_when_rows_are_counted_anew(refused, blobs, model, tmp_path):
    path = tmp_path / "gap.csv"
    blobs.assign(age=blobs["age"].where(blobs.index != 4)).to_csv(path, index=False)
    said = refused("recount", model, path)
    assert f"'age' has 1 missing value (NaN), the first in row 4 (line 6 of {path}" in said
    assert said.endswith("Fill them in first.")  # recount has no --drop-missing


@pytest.mark.parametrize("command", ["predict", "explain", "report"])
def test_a_table_given_for_the_model_is_said_to_be_one(refused, blobs_csv, model, command):
    assert f"{model} is the model, and {blobs_csv} the table" in refused(command, blobs_csv, model)
    assert "is not a cutwise model, or was cut short" in refused(command, blobs_csv, blobs_csv)


def test_warnings_speak_of_the_table_and_not_of_attributes(cutwise, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,kind\n1,x\n1,y\n1,y\n2,z\n")
    result = cutwise("fit", path, "--labels-from", "kind")
    assert "Cluster x ended without rows: the tree puts all rows into other clusters" in result.err
    assert "labels_" not in result.err


def test_a_model_of_an_array_takes_columns_by_their_places(cutwise, blobs, blobs_csv, tmp_path):
    model = ExplainableKMeans(3, random_state=0).fit(blobs.to_numpy())
    model.save(tmp_path / "m.json")
    done = cutwise("predict", tmp_path / "m.json", blobs_csv)
    assert done.out.splitlines()[1:] == [f"{row},{label}" for row, label in enumerate(model.labels_)]
    explained = cutwise("explain", tmp_path / "m.json", blobs_csv).out.splitlines()
    assert explained[0] == f"row 0: {model.explain(blobs.to_numpy()[:1])[0]}"
