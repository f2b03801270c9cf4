"""Tools made for scikit-learn's trees take ``to_sklearn()``, and agree with ``predict`` on the training rows."""

import io
import json
import re
import shutil
import warnings
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier

from cutwise import ClusterExplainer, ExplainableKMeans
from tests.readouts.models import model_of, rows_at_cuts
from tests.tree.random_trees import random_tree

MODELS = {
    "k-means": lambda: (ExplainableKMeans(4, max_leaves=7, random_state=0), load_iris(as_frame=True).data, None),
    "texts": lambda: (
        ClusterExplainer(6),
        load_wine(as_frame=True).data,
        np.array(["first", "second", "third"])[load_wine().target],
    ),
    # float32 knows only multiples of 128 around these: thresholds have to move within their gaps.
    "large numbers": lambda: (
        ClusterExplainer(5),
        load_iris(as_frame=True).data * 1e4 + 1.7e9,
        load_iris().target,
    ),
}


@contextmanager
def quiet():
    """What other packages warn about is their own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def package(name):
    """A package, or the reason why the test is skipped."""
    try:
        with quiet():
            return import_module(name)
    except Exception as error:
        pytest.skip(f"{name} cannot be imported: {type(error).__name__}: {error}")


@pytest.fixture(params=MODELS)
def fitted(request):
    """A model, its training rows, and the scikit-learn tree."""
    model, X, y = MODELS[request.param]()
    model.fit(X) if y is None else model.fit(X, y)
    return model, X, model.to_sklearn()


def test_scikit_learn_prints_it(fitted):
    from sklearn.tree import export_text

    model, X, theirs = fitted
    # Printed thresholds are rounded; ten decimals are enough for these tables.
    text = export_text(theirs, feature_names=list(X.columns), decimals=10)
    tests = re.findall(r"\|--- (.*?) (<=|> ) +(-?[\d.]+)", text)
    assert len(tests) == 2 * (model.n_leaves_ - 1)
    assert {name for name, *_ in tests} <= set(X.columns)
    assert {float(t) for *_, t in tests} == set(theirs.tree_.threshold[theirs.tree_.feature >= 0].round(10))
    assert set(re.findall(r"class: (.*)", text)) == set(map(str, model.predict(X)))


def test_scikit_learn_draws_it(fitted):
    matplotlib = package("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from sklearn.tree import plot_tree

    model, X, theirs = fitted
    figure, axes = pyplot.subplots()
    boxes = plot_tree(theirs, feature_names=list(X.columns), class_names=list(map(str, model.classes_)), ax=axes)
    figure.canvas.draw()
    told = [box.get_text() for box in boxes]
    leaves = [text for text in told if "class = " in text and "<=" not in text]
    assert len(leaves) == model.n_leaves_
    pyplot.close(figure)


def test_dtreeviz_draws_it(fitted):
    dtreeviz = package("dtreeviz")
    model, X, theirs = fitted
    codes = np.searchsorted(model.classes_, model.predict(X)).astype(np.int64)
    with quiet():
        adapter = dtreeviz.model(
            theirs,
            X_train=X.to_numpy(),
            y_train=codes,
            feature_names=list(X.columns),
            target_name="cluster",
            class_names=list(map(str, model.classes_)),
        )
        shadow = adapter.shadow_tree
        assert len(shadow.leaves) == model.n_leaves_
        predicted = [shadow.predict_path(row)[-1].prediction() for row in X.to_numpy()[::7]]
        assert predicted == codes[::7].tolist()
        if shutil.which("dot") and model.classes_.dtype.kind in "iu":  # its pictures take whole numbers as classes only
            drawn = adapter.view(fancy=False).svg()
            assert drawn.count('class="node"') >= 2 * model.n_leaves_ - 1


def test_supertree_takes_it(fitted, tmp_path):
    supertree = package("supertree")
    model, X, theirs = fitted
    codes = np.searchsorted(model.classes_, model.predict(X))
    titles = list(map(str, model.classes_))
    with quiet():
        page = supertree.SuperTree(theirs, X, codes, list(X.columns), titles)
        page.save_json_tree(str(tmp_path / "tree"))
    root = json.loads((tmp_path / "tree.json").read_text())["node_data"]
    found = []
    for row in X.to_numpy().astype(np.float32).astype(float):
        node = root
        while not node["is_leaf"]:
            node = node["left_node" if row[node["feature"]] <= node["threshold"] else "right_node"]
        found.append(node["treeclass"])
    assert found == list(map(str, model.predict(X)))


def test_shap_explains_it(fitted):
    shap = package("shap")
    model, X, theirs = fitted
    with quiet():
        explainer = shap.TreeExplainer(theirs)
        values = np.asarray(explainer.shap_values(X))
    assert values.shape == (len(X), X.shape[1], len(model.classes_))
    # Contributions add up to the tree's answer: 1 for the row's cluster, 0 for the others.
    answer = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(answer, model.predict(X)[:, None] == model.classes_, atol=1e-6)


def test_onnx_runs_it(fitted):
    skl2onnx = package("skl2onnx")
    onnxruntime = package("onnxruntime")
    model, X, theirs = fitted
    with quiet():
        written = skl2onnx.to_onnx(theirs, X.to_numpy()[:1].astype(np.float32), options={"zipmap": False})
    session = onnxruntime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(["label"], {session.get_inputs()[0].name: X.to_numpy().astype(np.float32)})
    assert found.tolist() == model.predict(X).tolist()


def forest_of(theirs):
    """A forest of this one tree: treelite takes no single trees."""
    forest = RandomForestClassifier(n_estimators=1)
    forest.estimators_, forest.n_classes_, forest.classes_ = [theirs], theirs.n_classes_, theirs.classes_
    forest.n_features_in_, forest.n_outputs_ = theirs.n_features_in_, 1
    return forest


def test_treelite_runs_it_as_a_forest_of_one(fitted):
    treelite = package("treelite")
    model, X, theirs = fitted
    with quiet():
        imported = treelite.sklearn.import_model(forest_of(theirs))
        shares = treelite.gtil.predict(imported, X.to_numpy().astype(np.float32))
    codes = np.asarray(shares).reshape(len(X), -1).argmax(axis=1)
    assert model.classes_[codes].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("intervals", [0.0, 0.5])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
class TestRandomTreesOnFloat32RowsAtEveryCut:
    @pytest.fixture
    def drawn(self, scale, intervals):
        rng = np.random.default_rng(int(scale))
        tree = random_tree(
            rng, n_leaves=14, n_features=4, n_clusters=5, intervals=intervals, values=rng.normal(size=24) * scale
        )
        X = rows_at_cuts(tree, rng, np.float32)
        return model_of(tree, None).to_sklearn(), X, tree.predict(X).tolist()

    def test_onnx_agrees(self, drawn):
        skl2onnx, onnxruntime = package("skl2onnx"), package("onnxruntime")
        theirs, X, expected = drawn
        with quiet():
            written = skl2onnx.to_onnx(theirs, X[:1], options={"zipmap": False})
        session = onnxruntime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
        assert session.run(["label"], {session.get_inputs()[0].name: X})[0].tolist() == expected

    def test_treelite_agrees(self, drawn):
        treelite = package("treelite")
        theirs, X, expected = drawn
        with quiet():
            shares = treelite.gtil.predict(treelite.sklearn.import_model(forest_of(theirs)), X)
        assert np.asarray(shares).reshape(len(X), -1).argmax(axis=1).tolist() == expected


def test_skops_keeps_it(fitted):
    package("skops")
    skops_io = package("skops.io")
    model, X, theirs = fitted
    kept = skops_io.dumps(theirs)
    again = skops_io.loads(kept, trusted=skops_io.get_untrusted_types(data=kept))
    assert again.predict(X).tolist() == model.predict(X).tolist()
    np.testing.assert_array_equal(again.tree_.threshold, theirs.tree_.threshold)


def test_joblib_keeps_it(fitted):
    import joblib

    model, X, theirs = fitted
    file = io.BytesIO()
    joblib.dump(theirs, file)
    file.seek(0)
    assert joblib.load(file).predict(X).tolist() == model.predict(X).tolist()
