"""Model files: what comes back answers exactly as what was saved, and a file that is not right says so."""

import json
import os
import re
import warnings
from contextlib import suppress
from functools import reduce
from operator import getitem

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from cutwise import (
    ClusterExplainer,
    ExplainableKernelKMeans,
    ExplainableKMeans,
    ExplainableKMedians,
    TableScaler,
    export_graphviz,
    export_json,
    export_markdown,
    export_python,
    export_text,
    load_model,
    metrics,
    report,
)
from cutwise.baselines import CLTree
from cutwise.exceptions import CutwiseError, InvalidInputError, ModelFileError, UnsupportedInputError


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).data


def with_noise():
    y = load_iris().target.copy()
    y[::9] = -1
    return y


MODELS = {
    "k-means": lambda X: ExplainableKMeans(4, max_leaves=6, random_state=0).fit(X),
    "without names": lambda X: ExplainableKMeans(3, random_state=np.int64(0)).fit(X.to_numpy().astype(np.float32)),
    "given centers": lambda X: ExplainableKMeans(2, reference=X.to_numpy()[[0, 140]], depth_penalty=np.float64(0)).fit(
        X
    ),
    "texts": lambda X: ClusterExplainer(5).fit(X, load_iris().target_names[load_iris().target]),
    "noise": lambda X: ClusterExplainer(algorithm="exshallow").fit(X, with_noise()),
    "one leaf": lambda X: ClusterExplainer().fit(X, np.ones(150, dtype=bool)),
    "odd texts": lambda X: ClusterExplainer().fit(X, np.where(load_iris().target > 0, 'é"\\\n', "`")),
    "no cost": lambda X: ExplainableKMeans(2).fit(X.iloc[[0, 100]]),
    "offset": lambda X: ExplainableKMeans(3, random_state=0).fit(X + 1.7e9),
}


@pytest.fixture(params=MODELS)
def model(request, iris):
    return MODELS[request.param](iris)


def rows_for(model, X):
    return X if hasattr(model, "feature_names_in_") else X.to_numpy()


def test_a_loaded_model_answers_to_the_bit(model, iris, tmp_path):
    path = tmp_path / "model.json"
    model.save(path)
    again = load_model(str(path))
    X = rows_for(model, iris)
    assert type(again) is type(model)
    assert again.tree_.equals(model.tree_)
    for method in ("predict", "apply", "transform"):
        ours, theirs = getattr(model, method)(X), getattr(again, method)(X)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)
    assert again.explain(X) == model.explain(X)
    assert str(again.rules()) == str(model.rules())
    assert again.rules().to_dict() == model.rules().to_dict()
    assert export_text(again) == export_text(model)
    for name in ("cost_", "surrogate_cost_", "cost_ratio_", "n_leaves_", "depth_", "n_features_in_"):
        np.testing.assert_equal(getattr(again, name), getattr(model, name))
    assert np.array_equal(again.reference_.centers, model.reference_.centers)
    assert again.reference_.cost == model.reference_.cost
    assert np.array_equal(again.get_feature_names_out(), model.get_feature_names_out())
    assert not hasattr(again, "labels_")


def test_a_file_saved_again_is_the_same_file(model, tmp_path):
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    model.save(first)
    load_model(first).save(second)
    assert first.read_bytes() == second.read_bytes()


def test_a_loaded_model_can_be_fitted_again(iris, tmp_path):
    model = ExplainableKMeans(3, reference=iris.to_numpy()[[0, 60, 140]]).fit(iris)
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.fit(iris).tree_.equals(model.tree_)
    assert np.array_equal(again.labels_, model.labels_)


SCALERS = [StandardScaler(with_mean=mean, with_std=std) for mean in (True, False) for std in (True, False)]
SCALERS += [MinMaxScaler((0, 2)), MaxAbsScaler(), RobustScaler()]
SCALERS += [TableScaler(), TableScaler("robust", "absolute")]


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_a_plain_scaler_is_part_of_the_file(scaler, iris, tmp_path):
    model = ExplainableKMeans(3, preprocessor=scaler, random_state=0).fit(iris)
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert np.array_equal(model.transform(iris), again.transform(iris))
    assert model.score(iris) == again.score(iris)
    assert repr(again.preprocessor) == repr(scaler)
    assert again.fit(iris).cost_ == model.cost_


def test_a_scaler_that_learned_an_infinity_is_not(tmp_path):
    X = np.array([[-1.7e308, 0], [1.7e308, 1], [0, 20], [1, 30]])
    model = ExplainableKMeans(2, preprocessor=MinMaxScaler(), random_state=0)
    with np.errstate(over="ignore"):
        model.fit(X).save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    with pytest.raises(ModelFileError, match="MinMaxScaler"):
        again.transform(X)
    again.save(tmp_path / "again.json")
    assert repr(load_model(tmp_path / "again.json")) == repr(again)


def test_a_scaler_of_another_make_is_not(iris, tmp_path):
    class OwnScaler(StandardScaler):
        pass

    ExplainableKMeans(3, preprocessor=OwnScaler(), random_state=0).fit(iris).save(tmp_path / "m.json")
    with pytest.raises(ModelFileError, match="preprocessor_"):
        load_model(tmp_path / "m.json").transform(iris)


class TestWhatAFileCannotHold:
    @pytest.fixture
    def loaded(self, iris, tmp_path):
        model = ExplainableKMeans(3, preprocessor=PCA(2), reference=KMeans(3, random_state=0, n_init=1)).fit(iris)
        model.save(tmp_path / "m.json")
        return model, load_model(tmp_path / "m.json")

    def test_rules_need_no_preprocessor(self, loaded, iris):
        model, again = loaded
        assert np.array_equal(model.predict(iris), again.predict(iris))
        assert "not in the model file: PCA(n_components=2)" in repr(again)

    def test_distances_do_and_say_so(self, loaded, iris):
        model, again = loaded
        for call in (again.transform, again.score):
            with pytest.raises(ModelFileError, match="preprocessor_"):
                call(iris)
        again.preprocessor_ = model.preprocessor_
        assert np.array_equal(model.transform(iris), again.transform(iris))
        assert model.score(iris) == again.score(iris)

    def test_so_does_a_refit(self, loaded, iris):
        with pytest.raises(
            InvalidInputError, match=r"set_params\(reference=\.\.\.\)|set_params\(preprocessor=\.\.\.\)"
        ):
            loaded[1].fit(iris)
        loaded[1].set_params(reference=None, preprocessor=StandardScaler(), random_state=0).fit(iris)

    def test_an_unfitted_model_is_not_saved(self, tmp_path):
        with pytest.raises(ValueError, match="not fitted"):
            ExplainableKMeans().save(tmp_path / "m.json")
        assert os.listdir(tmp_path) == []


class TestTheFileItself:
    @pytest.fixture
    def path(self, iris, tmp_path):
        MODELS["k-means"](iris).save(tmp_path / "m.json")
        return tmp_path / "m.json"

    def test_it_is_plain_json_with_a_version(self, path):
        def refuse(constant):
            raise AssertionError(f"{constant} is no JSON")

        document = json.loads(path.read_text("utf-8"), parse_constant=refuse)
        assert (document["format"], document["format_version"]) == ("cutwise model", 1)
        assert document["estimator"] == "ExplainableKMeans"
        assert document["params"]["n_clusters"] == 4

    def test_a_byte_order_mark_that_an_editor_wrote_is_passed_over(self, path, iris):
        before = load_model(path).predict(iris)
        path.write_text(path.read_text("utf-8"), "utf-8-sig")
        np.testing.assert_array_equal(load_model(path).predict(iris), before)

    def test_nothing_else_is_left_in_the_folder(self, path):
        assert os.listdir(path.parent) == ["m.json"]

    def test_a_failed_save_leaves_the_old_file_whole(self, path, iris, monkeypatch):
        before = path.read_bytes()

        def fail(*args):
            raise OSError("disk full")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            MODELS["texts"](iris).save(path)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == ["m.json"]

    @pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.999])
    def test_a_truncated_one_is_an_error(self, path, share):
        text = path.read_text("utf-8").rstrip()
        path.write_text(text[: int(share * len(text))], "utf-8")
        with pytest.raises(ModelFileError, match=r"m\.json is not a cutwise model, or was cut short"):
            load_model(path)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"\xff\xfe\x00", "not valid JSON"),
            (b"hello", "not valid JSON"),
            (b"[1, 2]", "not a cutwise model"),
            (b'{"format": "other"}', "not a cutwise model"),
            (b"[" * 100_000, "m.json"),
        ],
    )
    def test_another_file_is_an_error(self, path, content, words):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=words):
            load_model(path)

    def test_a_missing_one_is_an_error(self, tmp_path):
        with pytest.raises(ModelFileError, match="cannot be read"):
            load_model(tmp_path / "none.json")
        with pytest.raises(ModelFileError, match="cannot be read"):
            load_model(tmp_path)

    @pytest.mark.parametrize(
        ("edit", "words"),
        [
            ({"format_version": 3}, r"format 3 .*up to 2"),
            ({"format_version": "1"}, "model format 1"),
            ({"estimator": "ExplainableKNothing"}, "ExplainableKNothing"),
            ({"fitted": {}}, "does not fit together"),
            ({"params": {"n_clusters": 2, "new": 1}}, "params, or fitted .* not what was saved"),
            ({"params": []}, "does not fit together"),
        ],
    )
    def test_an_edited_one_is_an_error(self, path, edit, words):
        document = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps(document | edit), "utf-8")
        with pytest.raises(ModelFileError, match=words):
            load_model(path)

    @pytest.mark.parametrize(
        ("edit", "words"),
        [
            (lambda fitted: fitted.pop("tree"), "'tree' is missing or unknown"),
            (lambda fitted: fitted["cluster_names"].append("one more"), "an entry is of another kind or length"),
            (lambda fitted: fitted.update(gaps=3), "an entry is of another kind or length"),
        ],
    )
    def test_the_error_of_entries_that_do_not_fit_is_in_words_of_the_file(self, path, edit, words):
        document = json.loads(path.read_text("utf-8"))
        del document["checksum"]  # as the first files were
        edit(document["fitted"])
        path.write_text(json.dumps(document), "utf-8")
        with pytest.raises(ModelFileError, match=rf"does not fit together: {words}\.\n"):
            load_model(path)

    @pytest.mark.parametrize("entry", ["classes", "leaf_counts", "cost", "reference", "feature_names_in", "gaps"])
    def test_an_entry_that_is_not_what_was_saved_is_an_error(self, path, entry):
        document = json.loads(path.read_text("utf-8"))
        document["fitted"][entry] = 3
        path.write_text(json.dumps(document), "utf-8")
        with pytest.raises(ModelFileError, match=r"does not fit together.*fitted but for its tree and cluster_names"):
            load_model(path)
        del document["checksum"]  # as the first files were
        path.write_text(json.dumps(document), "utf-8")
        with suppress(ModelFileError):
            load_model(path)

    def test_what_no_file_holds_is_not_made_from_one(self, path):
        document = json.loads(path.read_text("utf-8"))
        del document["checksum"]  # as the first files were
        document["params"]["preprocessor"] = {"scaler": {"class": "PCA", "params": {}}}
        path.write_text(json.dumps(document), "utf-8")
        with pytest.raises(ModelFileError, match="'PCA' is no scaler that a model file may hold"):
            load_model(path)
        document["params"]["preprocessor"] = None
        document["fitted"]["classes"]["dtype"] = "<M8[s]"
        path.write_text(json.dumps(document), "utf-8")
        with pytest.raises(ModelFileError, match="is no dtype of numbers, booleans or texts"):
            load_model(path)

    @pytest.mark.parametrize(
        ("edit", "words"),
        [
            ({"threshold": None}, "threshold of a tree is a list"),
            ({"n_features": 9}, "fitted.tree is not of 4 columns and 4 clusters"),
            ({"cluster": [-1, 0]}, "the arrays of a tree have one length"),
        ],
    )
    def test_a_tree_that_does_not_fit_is_an_error(self, path, edit, words):
        document = json.loads(path.read_text("utf-8"))
        document["fitted"]["tree"] |= edit
        path.write_text(json.dumps(document), "utf-8")
        with pytest.raises(ModelFileError, match=f"does not fit together.*{words}"):
            load_model(path)


def test_a_tree_that_asks_for_levels_that_its_columns_do_not_have_is_an_error(tmp_path):
    table = pd.DataFrame({"plan": list("xyz") * 20, "age": np.arange(60) % 7})
    ClusterExplainer().fit(table, table["plan"]).save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text("utf-8"))
    tree = document["fitted"]["tree"]
    assert tree["levels"][0]
    for edit in (
        *({"levels": [codes, *tree["levels"][1:]]} for codes in ([7], [])),
        {"feature": [1, *tree["feature"][1:]]},
    ):
        changed = {**document, "fitted": {**document["fitted"], "tree": tree | edit}}
        (tmp_path / "m.json").write_text(json.dumps(changed), "utf-8")
        with pytest.raises(ModelFileError, match="levels that it does not have"):
            load_model(tmp_path / "m.json")


@pytest.mark.parametrize("names", [[], ["a"], ["a", "b", "c", 4], ["a", "b", "c", ["d"]], 7])
def test_names_that_are_not_those_of_the_columns_are_an_error(iris, tmp_path, names):
    MODELS["k-means"](iris).save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text("utf-8"))
    del document["checksum"]
    document["fitted"]["feature_names_in"] = names
    (tmp_path / "m.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(ModelFileError, match="does not fit together"):
        load_model(tmp_path / "m.json")


def test_half_a_character_is_not_saved(iris, tmp_path):
    model = MODELS["k-means"](iris)
    with pytest.raises(InvalidInputError, match=r"half of a character.*Rename"):
        model.name_clusters({0: "\ud800"}).save(tmp_path / "m.json")
    assert os.listdir(tmp_path) == []


def rings():
    angle = np.linspace(0, 6, 60)
    return np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([1.0, 3.0], 30)[:, None]


EDITED = {
    **{name: MODELS[name] for name in ("k-means", "without names", "odd texts", "noise")},
    "scaled": lambda X: ExplainableKMedians(3, preprocessor=StandardScaler(), algorithm="imm", random_state=0).fit(X),
    "unsaved": lambda X: ExplainableKMeans(3, preprocessor=PCA(2), random_state=0).fit(X),
    "kernel": lambda X: ExplainableKernelKMeans(2, gamma=0.5, max_leaves=4, random_state=0).fit(rings()),
    "named": lambda X: ClusterExplainer().fit(X, load_iris().target).name_clusters({0: "small"}),
    "baseline": lambda X: CLTree(3, random_state=0).fit(X),
}
JUNK = (
    "<,4",
    "f16",
    "O",
    "V8",
    2**64,
    [2**64],
    [0, 2**64],
    "\ud800",
    None,
    True,
    -1,
    0,
    3,
    2**70,
    0.5,
    1e308,
    "",
    "a",
    "nan",
    [],
    [0],
    [None],
    ["a", "a"],
    {},
    {"a": 1},
    [[1], 2],
)


def places(value, path=()):
    """Every place in a document, from the outside in."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in inside:
        yield from places(entry, (*path, key))


def damaged(document, rng):
    """A copy of a document with an entry taken out, replaced by junk or by another entry, or written twice."""
    document = json.loads(json.dumps(document))
    every = [path for path in places(document) if path[0] in ("params", "fitted")]
    *way, key = every[rng.integers(len(every))]
    *other, last = every[rng.integers(len(every))]
    holder = reduce(getitem, way, document)
    match rng.integers(4):
        case 0:
            del holder[key]
        case 1:
            holder[key] = json.loads(json.dumps(reduce(getitem, other, document)[last]))
        case 2 if isinstance(holder, list):
            holder.insert(key, holder[key])
        case _:
            holder[key] = JUNK[rng.integers(len(JUNK))]
    return document


def ask_everything(model, X):
    """All that a loaded model answers; what it cannot answer it must refuse in words of its own."""
    rows = X if hasattr(model, "feature_names_in_") else X.to_numpy()[:, : model.n_features_in_]
    if model.n_features_in_ != rows.shape[1]:
        return
    questions = [
        lambda: model.predict(rows),
        lambda: model.transform(rows),
        lambda: model.score(rows, model.predict(rows)),
        lambda: model.explain(rows[:3], changes=True),
        lambda: (str(model.rules()), model.rules().to_frame("pandas"), model._repr_html_(), repr(model)),
        lambda: [
            export(model) for export in (export_text, export_json, export_markdown, export_python, export_graphviz)
        ],
        lambda: model.to_sklearn().predict(np.asarray(rows)),
        lambda: model.get_feature_names_out(),
        lambda: metrics.imm_certificate(model),
        lambda: model.name_clusters({model.classes_.tolist()[0]: "first"}),
    ]
    for question in questions:
        with suppress(CutwiseError):
            question()


@pytest.mark.parametrize("n_edits", [15, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", EDITED)
def test_any_edit_ends_in_an_error_of_ours_or_in_a_model_that_answers(name, n_edits, iris, tmp_path):
    path = tmp_path / "m.json"
    EDITED[name](iris).save(path)
    document = json.loads(path.read_text("utf-8"))
    rng = np.random.default_rng(sorted(EDITED).index(name))
    refused = 0
    for _ in range(n_edits):
        path.write_text(json.dumps(damaged(document, rng)), "utf-8")
        try:
            model = load_model(path)
        except ModelFileError as error:
            refused += bool(re.search(r"(params|fitted)\b", str(error)))
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that are far off
            ask_everything(model, iris)
            model.save(path)
    assert refused > n_edits / 6


def test_a_missing_folder_is_named_and_not_a_file_nobody_asked_for(iris, tmp_path):
    target = tmp_path / "none" / "model.json"
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*create it first") as caught:
        ExplainableKMeans(2, random_state=0).fit(iris).save(target)
    assert caught.value.filename == str(target)


@pytest.mark.parametrize("path", [None, 3, b"model.json", pd.DataFrame()])
def test_what_is_no_path_is_named(path, iris):
    for function in (load_model, ExplainableKMeans(2, random_state=0).fit(iris).save):
        name = type(path).__name__
        with pytest.raises(UnsupportedInputError, match=rf'takes the path of a file, "model.json", not {name}\.'):
            function(path)


def test_a_path_with_a_zero_character_is_an_error_that_shows_it(iris):
    for function in (load_model, ExplainableKMeans(2, random_state=0).fit(iris).save):
        with pytest.raises(InvalidInputError, match=r"the path 'a\\x00b' holds a zero character"):
            function("a\0b")


def test_a_model_is_not_saved_as_a_folder(iris, tmp_path):
    with pytest.raises(IsADirectoryError, match="This is a folder; name a file in it"):
        ExplainableKMeans(2, random_state=0).fit(iris).save(tmp_path)


def test_what_is_said_of_a_fitted_tree_is_of_the_parameters_that_made_it(iris, tmp_path):
    model = ExplainableKMeans(3, algorithm="exgreedy", max_depth=2, random_state=0).fit(iris)

    def said():
        made = report(model, iris, curve=False).summary
        return export_text(model), export_json(model), made["settings"], made["reproduce"], metrics_of(model)

    def metrics_of(model):
        with pytest.raises(InvalidInputError, match="this ExplainableKMeans has algorithm='exgreedy'"):
            metrics.imm_certificate(model)

    before = said()
    model.set_params(algorithm="imm", max_depth=None, max_leaves=9, expansion="expand", n_clusters=2)
    assert said() == before
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert (again.algorithm, again.max_depth, again.n_clusters) == ("exgreedy", 2, 3)
    model.fit(iris)  # and what was set counts from the next fit on
    assert "certificate" in json.loads(export_json(model))


class Mine(ExplainableKMeans):
    """A user's class, with a parameter of its own."""

    def __init__(self, n_clusters=8, *, shade="red", max_leaves=None, random_state=None):
        super().__init__(n_clusters, max_leaves=max_leaves, random_state=random_state, search_effort=0.5)
        self.shade = shade


def test_a_subclass_comes_back_as_the_class_that_it_is_made_from(iris, tmp_path):
    model = Mine(3, max_leaves=5, random_state=0).fit(iris)
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert type(again) is ExplainableKMeans
    assert (again.max_leaves, again.search_effort) == (5, 0.5)
    np.testing.assert_array_equal(again.predict(iris), model.labels_)


def test_steps_of_a_pipeline_that_no_file_can_hold_are_missed_where_distances_are_asked_for(iris, tmp_path):
    pipeline = make_pipeline(PCA(2), KMeans(3, n_init=3, random_state=0))
    model = ExplainableKMeans(3, reference=pipeline).fit(iris)
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(iris), model.labels_)
    with pytest.raises(ModelFileError, match="PCA"):
        again.transform(iris)
    again.preprocessor_ = model.preprocessor_
    assert again.score(iris) == model.score(iris)


@pytest.mark.parametrize(
    "params", [{"max_size": (2.5, 3.0)}, {"cut_features": [0, 2]}, {"categorical_features": []}, {"max_size": 3}]
)
def test_lists_and_tuples_come_back_as_they_were(params, iris, tmp_path):
    model = ExplainableKMeans(3, random_state=0, **params).fit(iris)
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").get_params() == model.get_params()


@pytest.mark.parametrize("make", [np.asarray, pd.Index, pd.Series])
def test_names_and_numbers_of_numpy_and_pandas_in_parameters_are_part_of_the_file(make, iris, tmp_path):
    scaler = MinMaxScaler((np.int64(0), np.int64(2)))
    model = ExplainableKMeans(3, random_state=0, cut_features=make(iris.columns[:2]), preprocessor=scaler).fit(iris)
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    notes = report(model, iris, curve=False).summary["notes"]
    assert report(again, iris, curve=False).summary["notes"] == notes
    assert any("only cuts on" in note or "no cut on" in note for note in notes)
    assert again.fit(iris).cost_ == model.cost_
