"""Every estimator x everything that must change nothing: a model says the same of the same rows, however they come."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from cutwise import (
    ClusterExplainer,
    ExplainableKernelKMeans,
    ExplainableKMeans,
    ExplainableKMedians,
    KernelKMeans,
    KMedians,
    load_model,
)
from cutwise.baselines import CART, CUBT, CLTree, KDTree
from tests.each import each
from tests.oracle.models import fit_quietly, same_tree

K = 4
CENTERS = np.array([[0.0, 0.0, 0.0], [6.0, 1.0, 0.0], [1.0, 7.0, 2.0], [7.0, 6.0, 3.0]])


def rows(seed: int, n: int = 120) -> np.ndarray:
    """Values of few digits, many of them equal or 0, so that cuts tie and rows repeat."""
    rng = np.random.default_rng(seed)
    values = CENTERS[np.concatenate([np.arange(K), rng.integers(0, K, n - K)])] + rng.normal(scale=1.5, size=(n, 3))
    return np.where(rng.random(values.shape) < 0.2, 0.0, np.round(np.abs(values), 1))


# A given reference: what a seeded search for one draws depends on how many rows there are.
MODELS = {
    **{f"kmeans {a}": ExplainableKMeans(K, algorithm=a, reference=CENTERS) for a in ("imm", "exgreedy", "exshallow")},
    "kmeans exkmc": ExplainableKMeans(K, algorithm="exkmc", max_leaves=7, reference=CENTERS),
    "kmeans imm, expand": ExplainableKMeans(K, algorithm="imm", max_leaves=7, expansion="expand", reference=CENTERS),
    "kmeans search": ExplainableKMeans(K, max_leaves=7, reference=CENTERS),
    "kmedians search": ExplainableKMedians(K, max_leaves=7, reference=CENTERS),
    "kmeans optimal": ExplainableKMeans(2, algorithm="optimal", reference=CENTERS[:2]),
    **{f"kmedians {a}": ExplainableKMedians(K, algorithm=a, reference=CENTERS) for a in ("imm", "exshallow", "exkmc")},
    "kmedians optimal": ExplainableKMedians(2, algorithm="optimal", reference=CENTERS[:2]),
    **{f"explainer {a}": ClusterExplainer(max_leaves=6, algorithm=a) for a in ("auto", "imm", "cart")},
    "CART": CART(K, max_leaves=6, reference=CENTERS),
    "CLTree": CLTree(K, max_leaves=6, reference=CENTERS),
    "CUBT": CUBT(K, max_leaves=6, mindist=0.1, reference=CENTERS),
    "KDTree": KDTree(K, max_leaves=6, reference=CENTERS),
    "KMedians": KMedians(K, init=CENTERS),
    **{f"kernel {k}": KernelKMeans(K, kernel=k, gamma=0.1, random_state=0) for k in ("rbf", "laplacian", "hellinger")},
    **{
        f"kernel tree {a}": ExplainableKernelKMeans(K, algorithm=a, max_leaves=6, gamma=0.1, random_state=0)
        for a in ("imm", "exkmc", "expand")
    },
    "kernel nystroem": KernelKMeans(K, gamma=0.1, approximation="nystroem", n_components=20, random_state=0),
    "kernel tree nystroem": ExplainableKernelKMeans(
        K, max_leaves=6, gamma=0.1, approximation="nystroem", n_components=20, random_state=0
    ),
    "kernel tree search of labels": ExplainableKernelKMeans(K, algorithm="search"),
    "kernel tree nystroem of labels": ExplainableKernelKMeans(
        K, algorithm="exkmc", approximation="nystroem", n_components=20, random_state=0
    ),
}
# What does not hold, and why.
EXCEPT = {
    **{
        (name, "model file"): "only trees are kept in files"
        for name, model in MODELS.items()
        if isinstance(model, KMedians | KernelKMeans)
    },
    **{
        (
            name,
            "sparse rows",
        ): "products of sparse rows are summed in another order, so distances differ"
        for name, model in MODELS.items()
        if getattr(model, "kernel", None) == "rbf"
    },
}


def fit(name, X, labels, weights=None, **parameters):
    """A fitted copy of a model; labels are for those that explain them."""
    model = clone(MODELS[name]).set_params(**parameters, **({"reference": labels} if "of labels" in name else {}))
    if isinstance(model, ClusterExplainer):
        return fit_quietly(model, X, labels, sample_weight=weights)
    return fit_quietly(model, X, sample_weight=weights)


def nearest(X):
    return ((X[:, None] - CENTERS) ** 2).sum(axis=2).argmin(axis=1)


@cache
def first_fit(name):
    """Rows, and the model that every other fit of them is compared with."""
    X = rows(0)
    return X, fit(name, X, nearest(X))


def a_second_fit(name, X, model, tmp_path):
    return fit_quietly(fit(name, X, nearest(X)), X, *([nearest(X)] if name.startswith("explainer") else []))


def order_of_rows(name, X, model, tmp_path):
    order = np.random.default_rng(1).permutation(len(X))
    return fit(name, X[order], nearest(X[order]))


def rows_without_weight(name, X, model, tmp_path):
    away = np.random.default_rng(2).uniform(0, 9, (20, 3)).round(1)
    more = np.concatenate([X, away])
    return fit(name, more, nearest(more), np.repeat([1.0, 0.0], [len(X), 20]))


def sparse_rows(name, X, model, tmp_path):
    return fit(name, sparse.csr_array(X), nearest(X))


def a_frame(name, X, model, tmp_path):
    return fit(name, pd.DataFrame(X, columns=list("abc")), nearest(X))


def fortran_order(name, X, model, tmp_path):
    return fit(name, np.asfortranarray(X), nearest(X))


def a_pickle(name, X, model, tmp_path):
    return pickle.loads(pickle.dumps(model))


def a_model_file(name, X, model, tmp_path):
    model.save(tmp_path / "model.json")
    return load_model(tmp_path / "model.json")


CHANGES = {
    "second fit": a_second_fit,
    "order of the rows": order_of_rows,
    "rows without weight": rows_without_weight,
    "sparse rows": sparse_rows,
    "frame": a_frame,
    "Fortran order": fortran_order,
    "pickle": a_pickle,
    "model file": a_model_file,
}


def assert_alike(model, other, X, *, samples=True, rel=0.0):
    if hasattr(model, "tree_"):
        assert same_tree(model.tree_, other.tree_, samples=samples)
    asked = pd.DataFrame(X, columns=list("abc")) if hasattr(other, "feature_names_in_") else X
    assert np.array_equal(model.predict(X), other.predict(asked))
    assert other.cost_ == pytest.approx(model.cost_, rel=rel, abs=0.0)
    if hasattr(model, "cluster_centers_"):
        np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_, rtol=rel)


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
@pytest.mark.parametrize("name", MODELS)
@each("change", CHANGES)
def test_nothing_about_a_model_depends_on(name, change, tmp_path):
    if (name, change) in EXCEPT:
        return
    # Kernels are summed over rows in their order, sparse rows from what they store, costs beside weights as products.
    rel = 1e-12 if change in ("sparse rows", "rows without weight") or name.startswith("kernel") else 0.0
    X, model = first_fit(name)
    assert_alike(model, CHANGES[change](name, X, model, tmp_path), X, rel=rel)


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
@pytest.mark.parametrize("name", MODELS)
def test_the_number_of_threads_changes_no_bit(name):
    # Several blocks of rows; some models take time with the square of their number.
    X = rows(3, 5_000 if name.startswith(("kmeans", "kmedians", "explainer", "CART", "KMedians")) else 400)
    assert_alike(fit(name, X, nearest(X)), fit(name, X, nearest(X), n_jobs=3), X)


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_whole_weight_is_a_repeated_row(name):
    X = rows(1)
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    again = np.repeat(X, weights, axis=0)
    repeated, weighted = fit(name, again, nearest(again)), fit(name, X, nearest(X), weights.astype(float))
    assert_alike(repeated, weighted, X, samples=False, rel=1e-12 if name.startswith("kernel") else 0.0)


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.CutwiseWarning")
@each("name", MODELS)
def test_the_order_of_rows_with_fractions_for_weights_changes_no_bit(name):
    X, rng = rows(0).round(), np.random.default_rng(0)  # many rows repeat
    weights, order = rng.integers(1, 50, len(X)) / 10, rng.permutation(len(X))
    model, other = fit(name, X, nearest(X), weights), fit(name, X[order], nearest(X[order]), weights[order])
    assert_alike(model, other, X)
    if hasattr(model, "tree_"):
        assert model._leaf_counts.to_dict() == other._leaf_counts.to_dict()
