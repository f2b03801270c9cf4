"""IMM's guarantee: the bound written out, and trees that keep it."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from cutwise import ClusterExplainer, ExplainableKMeans, export_text, load_model
from cutwise.exceptions import InvalidInputError
from cutwise.metrics import imm_certificate, imm_guarantee
from cutwise.readouts.guarantee import _rounded_up
from tests.each import each

# Random centers: some cluster may lose all its rows.
pytestmark = pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")


def problem(seed, n=150, d=3, k=6):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 30, size=(n, d)).astype(float)
    centers = X[rng.choice(n, k, replace=False)] + rng.random((k, d)) * 0.5
    return rng, X, centers


def written_out(X, centers, tree, weights):
    """Lemma 5.5 from its definition: rows leave the count when they are first parted from their center's leaf."""
    labels = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    cost = float(weights @ ((X - centers[labels]) ** 2).sum(axis=1))
    total = 0.0
    pending = [(0, np.arange(len(X)), np.arange(len(centers)))]
    while pending:
        node, rows, inside = pending.pop()
        if tree.feature[node] < 0:
            continue
        f, t = tree.feature[node], tree.threshold[node]
        left, right = tree.children_left[node], tree.children_right[node]
        is_left = np.isin(np.arange(len(centers)), tree.cluster[left:right])  # nodes are in preorder
        parted = (X[rows, f] <= t) != is_left[labels[rows]]
        diagonal = np.ptp(centers[inside], axis=0)
        total += weights[rows[parted]].sum() * float(diagonal @ diagonal)
        for child, side in ((left, True), (right, False)):
            stays = rows[~parted & ((X[rows, f] <= t) == side)]
            pending.append((child, stays, inside[is_left[inside] == side]))
    return min((8 * tree.depth * len(centers) + 2) * cost, 2 * cost + 2 * total)


@pytest.mark.parametrize("dtype", [float, int])
@each("seed", range(12))
def test_the_bound_is_its_definition_and_holds(seed, dtype):
    rng, X, centers = problem(seed)
    X, centers = X.astype(dtype) // (1 if dtype is float else 5), centers / (1 if dtype is float else 5)
    for weights in (None, rng.integers(1, 4, len(X)), rng.integers(1, 9, len(X)) / 8, np.full(len(X), 3.0)):
        model = ExplainableKMeans(6, algorithm="imm", reference=centers).fit(X, sample_weight=weights)
        bound = imm_guarantee(model)
        expected = written_out(X, centers, model.tree_, np.ones(len(X)) if weights is None else weights)
        assert bound == pytest.approx(expected, rel=1e-9)
        assert dtype is float or (model.tree_.threshold[model.tree_.feature >= 0] % 1 == 0).all()
        assert model.cost_ <= model.surrogate_cost_ <= bound


def test_leaves_added_by_cost_do_no_harm():
    _, X, centers = problem(0)
    small = ExplainableKMeans(6, algorithm="imm", reference=centers).fit(X)
    large = ExplainableKMeans(6, algorithm="imm", reference=centers, max_leaves=15).fit(X)
    assert large.cost_ <= imm_guarantee(large) == pytest.approx(imm_guarantee(small))


def test_it_is_nan_where_the_theory_says_nothing(tmp_path):
    _, X, centers = problem(1)
    scaled = ExplainableKMeans(6, algorithm="imm", preprocessor=StandardScaler(), random_state=0).fit(X)
    assert np.isnan(imm_guarantee(scaled))
    scaled.save(tmp_path / "m.json")
    assert np.isnan(imm_guarantee(load_model(tmp_path / "m.json")))
    expanded = ExplainableKMeans(6, algorithm="imm", reference=centers, max_leaves=12, expansion="expand").fit(X)
    assert np.isnan(imm_guarantee(expanded))
    labels = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    costs = np.abs(X[:, None] - centers).sum(axis=2)
    assert np.isnan(imm_guarantee(ClusterExplainer(algorithm="imm").fit(X, labels, costs=costs)))


def test_it_survives_a_file(tmp_path):
    _, X, centers = problem(2)
    model = ExplainableKMeans(6, algorithm="imm", reference=centers).fit(X)
    model.save(tmp_path / "m.json")
    assert imm_guarantee(load_model(tmp_path / "m.json")) == imm_guarantee(model)


def test_it_takes_a_fitted_model():
    with pytest.raises(NotFittedError):
        imm_guarantee(ExplainableKMeans(2))
    with pytest.raises(InvalidInputError, match="imm_guarantee takes a fitted model of cutwise, not str"):
        imm_guarantee("no model")


def test_it_is_about_imm_only():
    _, X, centers = problem(3)
    with pytest.raises(InvalidInputError, match="search"):
        imm_guarantee(ExplainableKMeans(6, reference=centers).fit(X))


@pytest.mark.parametrize("seed", range(4))
def test_the_certificate_has_both_bounds_and_the_cost_beside_them(seed):
    _, X, centers = problem(seed)
    model = ExplainableKMeans(6, algorithm="imm", reference=centers).fit(X)
    certificate = imm_certificate(model)
    assert certificate.cost == model.cost_
    assert certificate.reference_cost == model.reference_.cost
    assert certificate.ratio == model.cost_ratio_
    assert certificate.theorem_bound == (8 * model.depth_ * 6 + 2) * model.reference_.cost
    assert certificate.bound == min(certificate.theorem_bound, certificate.instance_bound) == imm_guarantee(model)
    assert certificate.n_mistakes == model.tree_.n_node_mistakes.sum()


def test_the_theorem_is_about_the_tree_that_parts_the_centers():
    _, X, centers = problem(0)
    small = ExplainableKMeans(6, algorithm="imm", reference=centers).fit(X)
    large = ExplainableKMeans(6, algorithm="imm", reference=centers, max_leaves=40).fit(X)
    assert large.depth_ > small.depth_
    assert imm_certificate(large).theorem_bound == imm_certificate(small).theorem_bound


def test_the_line_never_promises_too_much():
    assert _rounded_up(1.23401) == "1.235"
    assert _rounded_up(2.0) == "2"
    assert _rounded_up(12345.6) == "12350"


def test_the_certificate_stands_above_the_tree():
    _, X, centers = problem(1)
    model = ExplainableKMeans(6, algorithm="imm", reference=centers).fit(X)
    for form in ("tree", "rules"):
        assert export_text(model, form=form).splitlines()[1] == str(imm_certificate(model))
    assert model.cost_ratio_ < 1
    assert f"cost ratio {model.cost_ratio_:.4f}, below 1: the reference costs more; at most " in export_text(model)
    scaled = ExplainableKMeans(6, algorithm="imm", preprocessor=StandardScaler(), random_state=0).fit(X)
    assert not imm_certificate(scaled).applies
    for model in (scaled, ExplainableKMeans(6, reference=centers).fit(X)):
        assert "guarantee" not in export_text(model)


def test_a_reference_without_cost_leaves_no_ratio():
    X = np.eye(3)
    certificate = imm_certificate(ExplainableKMeans(3, algorithm="imm", reference=X).fit(X))
    assert certificate.bound == 0
    assert np.isnan(certificate.ratio)
    assert str(certificate).startswith("guarantee: cost 0; at most 0 by its mistakes")
