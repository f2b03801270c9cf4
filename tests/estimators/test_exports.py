"""Every estimator leaves in every form, and what it leaves as places the training rows as ``predict`` does."""

import json
import sqlite3
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import cutwise
from cutwise import ClusterExplainer, ExplainableKernelKMeans, ExplainableKMeans, ExplainableKMedians, load_model
from cutwise.baselines import CART, KDTree
from cutwise.exceptions import (
    EmptyClusterWarning,
    InvalidInputError,
    MissingDependencyError,
    UnknownOptionError,
    UnsupportedInputError,
)
from tests.readouts.databases import Lite
from tests.readouts.reading import read_rules
from tests.readouts.test_code import loaded
from tests.readouts.test_dot import read_dot

MODELS = {
    "k-means": lambda X: ExplainableKMeans(3, max_leaves=5, preprocessor=StandardScaler(), random_state=0).fit(X),
    "k-medians": lambda X: ExplainableKMedians(3, random_state=0).fit(X),
    "kernel, with intervals": lambda X: ExplainableKernelKMeans(3, max_leaves=6, random_state=0).fit(X),
    "given labels": lambda X: ClusterExplainer(6).fit(X, load_iris().target_names[load_iris().target]),
    "plain CART": lambda X: CART(3, random_state=0).fit(X),
    "k-d tree": lambda X: KDTree(3, random_state=0).fit(X),
}


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).data


@pytest.fixture(scope="module", params=MODELS)
def model(request, iris):
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", EmptyClusterWarning
        )  # the k-d tree leaves one without a leaf: a case of its own
        fitted = MODELS[request.param](iris)
    return fitted.name_clusters({fitted.classes_.tolist()[0]: 'the "first" | `one`'})


def test_python_and_sql_give_labels(model, iris):
    pytest.importorskip("sqlglot")
    expected = model.predict(iris).tolist()
    function = loaded(cutwise.export_python(model))
    assert [function(row) for row in iris.to_dict("records")] == expected
    database = Lite()
    database.create("iris", dict.fromkeys(iris.columns, "double"), iris.to_numpy().tolist())
    rows = database.query(cutwise.export_sql(model, "sqlite", table="iris"))
    assert [row[-1] for row in sorted(rows)] == expected
    database.close()


def test_texts_give_names(model, iris):
    expected = [str(model.cluster_names_.get(label, label)) for label in model.predict(iris).tolist()]
    rows = iris.to_dict("records")
    assert list(map(read_rules(str(model.rules())), rows)) == expected
    assert list(map(read_dot(cutwise.export_graphviz(model)), rows)) == expected


def test_json_is_complete_and_strict(model):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    told = json.loads(cutwise.export_json(model), parse_constant=refuse)
    assert (told["format"], told["format_version"]) == ("cutwise rules", 1)
    assert told["estimator"] == type(model).__name__
    assert [cluster["cluster"] for cluster in told["clusters"]] == model.classes_.tolist()
    assert told["clusters"][0]["name"] == 'the "first" | `one`'
    assert len(told["tree"]) == model.tree_.n_nodes
    assert sum("cluster" in node for node in told["tree"]) == told["n_leaves"] == model.n_leaves_
    for entry in told:
        assert f"``{entry}``" in cutwise.export_json.__doc__
    rule = next(rule for cluster in told["clusters"] for rule in cluster["rules"])
    for entry in told["clusters"][0].keys() | rule.keys() | rule["conditions"][0].keys() | told["tree"][0].keys():
        assert entry in cutwise.export_json.__doc__


def test_markdown_and_frame_have_a_line_a_rule(model):
    rules = [rule for cluster in model.rules() for rule in cluster.rules]
    markdown = cutwise.export_markdown(model)
    for rule in rules:
        assert str(rule).replace("|", "\\|") in markdown
    pytest.importorskip("pandas")
    assert model.rules().to_frame("pandas")["rule"].tolist() == [str(rule) for rule in rules]


def test_the_scikit_learn_tree_agrees(model, iris):
    assert model.to_sklearn().predict(iris).tolist() == model.predict(iris).tolist()


def test_sentences_have_changes(model, iris):
    for changes, label in zip(model.smallest_changes(iris), model.predict(iris).tolist(), strict=True):
        assert set(changes) == set(model.classes_.tolist()) - {label}
    assert all("; to cluster " in sentence for sentence in model.explain(iris[:3], changes=True))


def test_a_loaded_model_leaves_as_the_same(model, tmp_path):
    if not hasattr(model, "save"):
        pytest.skip("baselines are not saved")
    model.save(tmp_path / "m.json")
    try:
        again = load_model(tmp_path / "m.json")
    except cutwise.exceptions.ModelFileError:
        assert type(model).__module__.startswith("cutwise.baselines")
        return
    for export in (cutwise.export_json, cutwise.export_markdown, cutwise.export_python, cutwise.export_graphviz):
        assert export(again) == export(model)


@pytest.mark.parametrize(
    "name", ["export_graphviz", "export_json", "export_markdown", "export_python", "export_sql", "export_text"]
)
def test_what_is_no_fitted_model_is_refused(name, model):
    export = getattr(cutwise, name)
    with pytest.raises(UnsupportedInputError, match=f"^{name} takes a fitted model of cutwise, not ThresholdTree"):
        export(model.tree_)
    with pytest.raises(ValueError, match="not fitted"):
        export(ExplainableKMeans())


def test_an_unknown_form_is_refused(model):
    with pytest.raises(UnknownOptionError, match="Did you mean 'rules'"):
        cutwise.export_text(model, form="rule")


def test_a_missing_sqlglot_is_named_with_its_extra(model, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sqlglot", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "cutwise\[sql\]"'):
        cutwise.export_sql(model)


def test_columns_without_names_go_by_position_and_by_made_up_names():
    X = load_iris().data
    model = ExplainableKMeans(3, random_state=0).fit(X)
    expected = model.predict(X).tolist()
    assert list(map(loaded(cutwise.export_python(model)), X.tolist())) == expected
    pytest.importorskip("sqlglot")
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (x0 REAL, x1 REAL, x2 REAL, x3 REAL)")
    connection.executemany("INSERT INTO data VALUES (?, ?, ?, ?)", X.tolist())
    assert [row[-1] for row in connection.execute(cutwise.export_sql(model, "sqlite"))] == expected
    connection.close()


@pytest.mark.parametrize("labels", [np.array([True, False])[load_iris().target % 2], load_iris().target * 2.0])
def test_labels_of_any_type_come_back(labels, tmp_path):
    X = load_iris(as_frame=True).data
    model = ClusterExplainer().fit(X, labels)
    function = loaded(cutwise.export_python(model))
    assert [function(row) for row in X.to_dict("records")] == model.predict(X).tolist()
    assert json.loads(cutwise.export_json(model))["clusters"][0]["cluster"] == model.classes_.tolist()[0]


@pytest.mark.parametrize("indent", ["a", -1, 1.5, [2]])
def test_an_indentation_that_is_none_is_refused(indent):
    with pytest.raises(InvalidInputError, match="indent="):
        cutwise.export_json(ClusterExplainer().fit([[1], [2]], [0, 1]), indent=indent)


def test_labels_of_numpy_in_a_list_are_written_as_text():
    labels = [np.str_("setosa"), np.str_("virginica")] * 5
    model = ClusterExplainer().fit(np.arange(10.0)[:, np.newaxis] % 2, labels)
    scope = {}
    exec(cutwise.export_python(model), scope)
    assert scope["cluster_of"]([1.0]) == "virginica"
    assert {type(label) for label in model.classes_} == {str}
