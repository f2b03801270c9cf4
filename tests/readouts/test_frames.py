"""Rules as a data frame: of the library that came in, or of the one asked for."""

import math
import sys
from importlib import util

import numpy as np
import pytest

from cutwise import ClusterExplainer, ExplainableKMeans, load_model
from cutwise.exceptions import MissingDependencyError, UnknownOptionError
from tests.readouts.reading import read_rule

COLUMNS = [
    *("cluster", "name", "rule", "size", "share", "purity", "coverage", "noise", "leaf", "depth", "n_conditions"),
]
X = np.array([[1.0, 5], [2, 5], [8, 6], [9, 7], [30, 7], [31, 8]])


def table_of(library):
    module = pytest.importorskip(library)
    columns = {"a": X[:, 0], "b": X[:, 1]}
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_rules_come_in_the_library_of_the_table(library, tmp_path):
    model = ExplainableKMeans(3, random_state=0).fit(table_of(library))
    model.name_clusters({1: "b"})
    found = model.rules().to_frame()
    assert type(found).__module__.partition(".")[0] == library
    assert list(found.column_names if library == "pyarrow" else found.columns) == COLUMNS
    model.save(tmp_path / "m.json")
    assert type(load_model(tmp_path / "m.json").rules().to_frame()) is type(found)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_row_is_a_rule(library):
    pytest.importorskip(library)
    rules = ClusterExplainer(5).fit(X, ["a", "b", "a", "b", "a", "b"]).name_clusters({"a": "first"}).rules()
    found = rules.to_frame(library)
    columns = found.to_pydict() if library == "pyarrow" else {name: found[name].to_list() for name in COLUMNS}
    flat = [rule for cluster in rules for rule in cluster.rules]
    assert columns["cluster"] == [rule.cluster for rule in flat]
    assert columns["rule"] == [str(rule) for rule in flat]
    for name in ("size", "share", "purity", "coverage", "noise", "leaf", "depth", "n_conditions"):
        assert columns[name] == [getattr(rule, name) for rule in flat]
    for rule, name in zip(flat, columns["name"], strict=True):
        assert name == "first" if rule.cluster == "a" else name is None or math.isnan(name)
    for row in X:
        holding = [read_rule(text)({"x0": row[0], "x1": row[1]}) for text in columns["rule"]].count(True)
        assert holding == 1


def test_arrays_have_no_library_of_their_own(monkeypatch):
    rules = ExplainableKMeans(3, random_state=0).fit(X).rules()
    assert rules.library is None
    installed = [name for name in ("pandas", "polars", "pyarrow") if util.find_spec(name)]
    if not installed:
        pytest.skip("no data frame library is installed")
    assert type(rules.to_frame()).__module__.partition(".")[0] == installed[0]


def test_an_unknown_library_is_refused():
    rules = ExplainableKMeans(3, random_state=0).fit(X).rules()
    with pytest.raises(UnknownOptionError, match="Did you mean 'polars'"):
        rules.to_frame("polar")


def test_a_library_that_is_missing_is_named_with_the_extra(monkeypatch):
    rules = ExplainableKMeans(3, random_state=0).fit(X).rules()
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=r'needs polars.*pip install "cutwise\[files\]"'):
        rules.to_frame("polars")
    with pytest.raises(MissingDependencyError, match="needs pandas"):
        rules.to_frame()
