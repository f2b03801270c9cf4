"""Model files of an earlier release are read; an edited one claims nothing of rows until they are counted anew."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import cutwise
from cutwise import ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans, export_json, export_text, load_model
from cutwise.cli import main
from cutwise.exceptions import InvalidInputError, ModelFileError

EARLIER = sorted((Path(__file__).parent / "model_files").glob("*.json"))
X, Y = load_iris(as_frame=True, return_X_y=True)


def cluster_by_hand(tree, row):
    """What a tree says of a row, read off the lists of its file."""
    node = 0
    while tree["children_left"][node] >= 0:
        lower, value = tree["lower"][node], row[tree["feature"][node]]
        inside = (lower is None or value > lower) and value <= tree["threshold"][node]
        node = tree["children_left" if inside else "children_right"][node]
    return tree["cluster"][node]


@pytest.mark.parametrize("path", EARLIER, ids=lambda path: path.stem)
def test_a_file_of_an_earlier_release_is_read_and_loses_nothing(path, tmp_path):
    document = json.loads(path.read_text("utf-8"))
    model, state = load_model(path), document["fitted"]
    rows = np.random.default_rng(0).choice(np.arange(-3, 9, 0.05), (300, model.n_features_in_))
    if hasattr(model, "feature_names_in_"):
        frame = X.iloc[np.zeros(300, dtype=int)].set_axis(model.feature_names_in_, axis=1).reset_index(drop=True)
        frame.loc[:, :] = rows
        given = frame
    else:
        given = rows
    expected = [state["classes"]["values"][cluster_by_hand(state["tree"], row)] for row in rows]
    assert model.predict(given).tolist() == expected
    assert sorted(r.size for c in model.rules() for r in c.rules) == sorted(state["leaf_counts"]["n_rows"])
    assert export_text(model)
    model.save(tmp_path / "m.json")
    again = json.loads((tmp_path / "m.json").read_text("utf-8"))
    assert again["params"].items() >= document["params"].items()
    assert again["fitted"].items() >= state.items()


def test_every_kind_of_model_has_a_file_of_an_earlier_release():
    kinds = {json.loads(path.read_text("utf-8"))["estimator"] for path in EARLIER}
    assert kinds == {
        *("CART", "CLTree", "CUBT", "ClusterExplainer", "ExplainableKMeans", "ExplainableKMedians", "KDTree"),
        "ExplainableKernelKMeans",
    }


def edited(model, path, *, threshold=None):
    """The model from a file in which somebody moved the root's threshold."""
    model.save(path)
    document = json.loads(path.read_text("utf-8"))
    if threshold is not None:
        document["fitted"]["tree"]["threshold"][0] = threshold
    path.write_text(json.dumps(document), "utf-8")
    return load_model(path)


MODELS = {
    "k-means": (lambda: ExplainableKMeans(3, preprocessor=StandardScaler(), random_state=0).fit(X), None),
    "labels": (lambda: ClusterExplainer(6).fit(X, Y), Y),
    "kernel": (lambda: ExplainableKernelKMeans(3, random_state=0).fit(X), Y),
}


@pytest.mark.parametrize("kind", MODELS)
def test_an_edited_tree_shows_its_rules_without_figures_and_recount_gives_them(kind, tmp_path):
    fit, labels = MODELS[kind]
    model, path = fit(), tmp_path / "m.json"
    assert str(edited(model, path).rules()) == str(model.rules())
    again = edited(model, path, threshold=model.tree_.threshold[0] + 0.7)
    for text in (str(again.rules()), export_text(again, form="rules").split("\n", 1)[1], again.rules()[0].sentence):
        assert "row" not in text.replace("rows by", "")
        assert "%" not in text
    assert "recount(X)" in export_text(again)
    assert "%" not in export_text(again).split("\n", 1)[1]
    told = json.loads(export_json(again))
    assert [told[name] for name in ("cost", "cost_ratio", "agreement")] == [None] * 3
    assert {told["clusters"][0][name] for name in ("size", "share", "purity", "coverage")} == {None}
    for form in (cutwise.export_markdown, cutwise.export_graphviz, cutwise.export_sql, cutwise.export_python):
        assert " %" not in form(again).replace("agreement n/a", "")
    assert again.rules()._repr_html_().count("%") == model.rules()._repr_html_().count("100%")
    assert again.rules().to_frame("pandas")["size"].isna().all()
    again.save(tmp_path / "again.json")
    assert str(load_model(tmp_path / "again.json").rules()) == str(again.rules())
    with pytest.raises(InvalidInputError, match="recount"):
        cutwise.report(again, X)

    again.recount(X, labels)
    rows = np.bincount(again.tree_.apply(X), minlength=again.tree_.n_nodes)
    assert all(rule.size == rows[rule.leaf] for cluster in again.rules() for rule in cluster.rules)
    assert again.tree_.n_node_samples[0] == len(X)
    if labels is not None:
        for cluster in again.rules():
            caught = cluster.matches(X)
            if caught.any():
                np.testing.assert_allclose(cluster.purity, np.mean(Y[caught] == cluster.cluster))
            np.testing.assert_allclose(cluster.coverage, np.mean(caught[cluster.cluster == Y]))
    assert "recount(X)" not in export_text(again)


def test_recounting_the_rows_of_fit_changes_nothing():
    weights = np.arange(150) % 3
    for model, y in ((ExplainableKMeans(4, random_state=0), None), (ClusterExplainer(5), np.where(Y == 1, -1, Y))):
        model.fit(X, *([] if y is None else [y]), sample_weight=weights)
        before = model.rules().to_dict()
        assert model.recount(X, y, sample_weight=weights).rules().to_dict() == before


def test_recount_says_what_it_lacks():
    model = ClusterExplainer().fit(X, Y)
    with pytest.raises(InvalidInputError, match="Give y"):
        model.recount(X)
    with pytest.raises(InvalidInputError, match="y holds 7, and the clusters of the model are 0, 1, 2"):
        model.recount(X, np.where(Y == 0, 7, Y))


def test_the_command_recounts_and_writes_the_model(tmp_path, capsys):
    path, table = tmp_path / "m.json", tmp_path / "iris.csv"
    model = ExplainableKMeans(3, random_state=0).fit(X)
    X.assign(kind=Y).to_csv(table, index=False)
    edited(model, path, threshold=2.5)
    assert main(["rules", str(path)]) == 0
    assert "%" not in capsys.readouterr().out
    assert main(["recount", str(path), str(table), "--labels-from", "kind", "--out", str(tmp_path / "new.json")]) == 0
    assert "100 %" in capsys.readouterr().out
    assert load_model(path).rules()[0].size is None
    assert main(["recount", str(path), str(table)]) == 0
    assert sum(cluster.size for cluster in load_model(path).rules()) == 150
    assert main(["recount", str(path), str(table), "--labels-from", "kinds"]) == 2


@pytest.mark.parametrize("unit", ["D", "us"])
@pytest.mark.parametrize("bound", [2.0**63, -(2.0**70), 3e17])
def test_a_bound_that_is_no_date_is_refused(unit, bound, tmp_path):
    when = np.datetime64("2023-01-01", unit) + np.arange(60) * np.timedelta64(1, "D")
    model = ExplainableKMeans(2, random_state=0).fit(pd.DataFrame({"when": when}))
    model.save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text("utf-8"))
    tree = document["fitted"]["tree"]
    tree["threshold"][0] = bound
    (tmp_path / "m.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(ModelFileError, match="dates of the years 1 to 9999"):
        load_model(tmp_path / "m.json")


@pytest.mark.parametrize("column", ["size", "home"])
@pytest.mark.parametrize("bound", [-1.0, 7.0, 2.0, -0.5])
def test_a_bound_beyond_the_levels_of_a_column_is_refused(column, bound, tmp_path):
    level = np.arange(60) % 3
    X = pd.DataFrame(
        {"size": pd.Categorical.from_codes(level, ["small", "medium", "large"], ordered=True), "home": level > 1}
    )
    model = ExplainableKMeans(2, random_state=0, cut_features=[column]).fit(X)
    model.save(tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").tree_.equals(model.tree_)
    document = json.loads((tmp_path / "m.json").read_text("utf-8"))
    document["fitted"]["tree"]["threshold"][0] = bound
    (tmp_path / "m.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(ModelFileError, match="between no two of its levels"):
        load_model(tmp_path / "m.json")
