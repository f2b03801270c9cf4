"""Whatever a model is written as, it still gives every row the cluster that ``predict`` gives it.

Each form is read back by a reader that knows only that form; the rows lie on every cut and one float step beside it.
"""

import json

import numpy as np
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
from tests.each import each
from tests.readouts.databases import Lite
from tests.readouts.models import model_of, rows_at_cuts
from tests.readouts.reading import read_rules, read_tree
from tests.readouts.test_code import loaded
from tests.readouts.test_dot import read_dot
from tests.readouts.test_markdown import read_markdown
from tests.tree.random_trees import random_tree

NAMES = ["income", "petal length (cm)", 'a`b > 3 and "c"', "<script>|"]
LABELS = ["students", "1", "the `old` | \\", "日", "it's"]


def by_file(model, X, tmp_path):
    model.save(tmp_path / "model.json")
    return load_model(tmp_path / "model.json").predict(X).tolist()


def by_rules(model, rows):
    return list(map(read_rules(str(model.rules())), rows))


def by_tree_text(model, rows):
    return list(map(read_tree(export_text(model).partition("\n")[2]), rows))


def by_rules_text(model, rows):
    return list(map(read_rules(export_text(model, form="rules").partition("\n")[2]), rows))


def by_markdown(model, rows):
    return list(map(read_markdown(export_markdown(model).partition("\n\n")[2]), rows))


def by_dot(model, rows):
    return list(map(read_dot(export_graphviz(model)), rows))


def by_python(model, rows):
    return list(map(loaded(export_python(model)), rows))


def holds(condition, row):
    value = row[condition["name"]]
    lower, upper = condition["lower"], condition["upper"]
    inside = (lower is None or lower < value) and (upper is None or value <= upper)
    return inside != condition["outside"]


def by_json_rules(model, rows):
    clusters = json.loads(export_json(model))["clusters"]
    found = []
    for row in rows:
        (label,) = [
            cluster["cluster"]
            for cluster in clusters
            for rule in cluster["rules"]
            if all(holds(condition, row) for condition in rule["conditions"])
        ]
        found.append(label)
    return found


def by_json_tree(model, rows):
    nodes = json.loads(export_json(model, indent=None))["tree"]
    found = []
    for row in rows:
        node = nodes[0]
        while "inside" in node:
            value = row[node["column"]]
            inside = (node["lower"] is None or node["lower"] < value) and value <= node["upper"]
            node = nodes[node["inside" if inside else "outside"]]
        found.append(node["cluster"])
    return found


def by_sql(model, rows):
    pytest.importorskip("sqlglot")
    database = Lite()
    database.create("rows", dict.fromkeys(NAMES, "double"), [tuple(row.values()) for row in rows])
    found = {number: cluster for number, *_, cluster in database.query(export_sql(model, "sqlite", table="rows"))}
    database.close()
    return [found[i] for i in range(len(rows))]


READERS = [
    *(by_rules, by_tree_text, by_rules_text, by_markdown, by_dot, by_python, by_json_rules, by_json_tree, by_sql),
]


@each("intervals", [0.0, 0.5])
@each("scale", [1e-12, 1e-3, 1.0, 1e6, 1e12])
def test_every_form_places_every_row_as_predict_does(scale, intervals, tmp_path):
    rng = np.random.default_rng([int(scale), int(intervals * 2)])
    # Cuts with few digits and with all seventeen.
    values = np.concatenate([rng.normal(size=12), rng.integers(-99, 99, size=12) / 8]) * scale
    tree = random_tree(rng, n_leaves=14, n_features=4, n_clusters=5, intervals=intervals, values=values)
    model = model_of(tree, NAMES, np.array(LABELS, dtype=object))
    X = rows_at_cuts(tree, rng)
    expected = np.array(LABELS, dtype=object)[tree.predict(X)].tolist()
    rows = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    for reader in READERS:
        assert reader(model, rows) == expected, reader.__name__
    with pytest.warns(UserWarning, match="valid feature names"):
        assert model.predict(X).tolist() == expected
    with pytest.warns(UserWarning, match="valid feature names"):
        assert by_file(model, X, tmp_path) == expected


@pytest.mark.parametrize("intervals", [0.0, 0.5])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_scikit_learn_tree_places_float32_rows_as_predict_does(scale, intervals):
    rng = np.random.default_rng(int(scale))
    tree = random_tree(rng, n_leaves=14, n_features=4, intervals=intervals, values=rng.normal(size=24) * scale)
    model = model_of(tree, None)
    X = rows_at_cuts(tree, rng, np.float32)
    assert model.to_sklearn().predict(X).tolist() == tree.predict(X).tolist()


def test_names_change_no_place():
    rng = np.random.default_rng(3)
    tree = random_tree(rng, n_leaves=10, n_features=4, n_clusters=5, intervals=0.3)
    model = model_of(tree, NAMES).name_clusters(dict(enumerate(["a", "it's", "`", "c|d", "\n"][:4])))
    rows = [dict(zip(NAMES, row, strict=True)) for row in rows_at_cuts(tree, rng).tolist()]
    codes = tree.predict([list(row.values()) for row in rows]).tolist()
    titles = [model.cluster_names_.get(code, str(code)) for code in codes]
    for reader in (by_rules, by_tree_text, by_rules_text, by_dot):
        assert reader(model, rows) == titles, reader.__name__
    for reader in (by_python, by_json_rules, by_json_tree, by_sql):
        assert reader(model, rows) == codes, reader.__name__
