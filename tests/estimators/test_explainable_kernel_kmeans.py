"""ExplainableKernelKMeans: figures by their definitions, references of every kind, new rows without a kernel."""

import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cutwise import (
    Batches,
    ClusterExplainer,
    ExplainableKernelKMeans,
    ExplainableKMeans,
    KernelKMeans,
    cost_curve,
    export_text,
    load_model,
)
from cutwise.exceptions import (
    CutwiseWarning,
    InvalidInputError,
    ModelFileError,
    NotPositiveDefiniteWarning,
    UnknownOptionError,
    UnsupportedInputError,
)
from cutwise.metrics import cost_ratio, tree_cost
from tests.each import each
from tests.oracle.models import fit_quietly, same_tree

RNG = np.random.default_rng(4)
MOONS = make_moons(150, noise=0.06, random_state=0)[0]
HISTOGRAMS = RNG.dirichlet([1.0, 2.0, 0.7], size=60)


def gaussian(X, Y=None, gamma=3.0):
    Y = X if Y is None else Y
    return np.exp(-gamma * ((X[:, None] - Y) ** 2).sum(axis=2))


def test_it_is_a_clusterer():
    assert is_clusterer(ExplainableKernelKMeans())


@pytest.mark.parametrize("algorithm", ["imm", "exkmc", "expand", "search"])
@pytest.mark.parametrize("weighted", [False, True])
def test_costs_are_those_of_the_definition(algorithm, weighted):
    weights = RNG.random(150) + 0.1 if weighted else None
    model = ExplainableKernelKMeans(3, gamma=3.0, algorithm=algorithm, max_leaves=5, random_state=0)
    model.fit(MOONS, sample_weight=weights)
    matrix, w = gaussian(MOONS), np.ones(150) if weights is None else weights
    assert model.cost_ == pytest.approx(tree_cost(model, MOONS, metric="kernel", K=matrix, sample_weight=weights))

    def costs_by(labels):
        out = np.empty((150, 3))
        for j in range(3):
            part = w * (labels == j)
            out[:, j] = 1 + part @ matrix @ part / part.sum() ** 2 - 2 * matrix @ part / part.sum()
        return out

    by_reference, rows = costs_by(model.reference_.labels), np.arange(150)
    assert model.reference_.cost == pytest.approx(w @ by_reference[rows, model.reference_.labels])
    assert model.surrogate_cost_ == pytest.approx(w @ by_reference[rows, model.labels_])
    assert model.cost_ratio_ == model.cost_ / model.reference_.cost
    assert model.cost_ <= model.surrogate_cost_ + 1e-9
    assert np.allclose(model.transform(MOONS) ** 2, costs_by(model.labels_), atol=1e-9)
    assert model.score(MOONS, sample_weight=weights) == pytest.approx(-model.cost_)
    assert model.inertia_ == model.cost_
    assert not hasattr(model, "cluster_centers_")
    assert model.reference_.centers.shape == (3, 0)


@pytest.mark.filterwarnings("ignore::cutwise.exceptions.EmptyClusterWarning")
@pytest.mark.parametrize(
    ("kernel", "options"),
    [("rbf", {}), ("laplacian", {"max_leaves": 7}), ("polynomial", {}), ("linear", {"approximation": "nystroem"})],
)
def test_a_searched_tree_costs_no_more_than_any_other_algorithms_for_any_number_of_threads(kernel, options):
    X = np.random.default_rng(3).normal(size=(120, 3))
    given = KernelKMeans(4, kernel=kernel, gamma=0.7, random_state=0, approximation=options.get("approximation")).fit(X)
    options = options | {"kernel": kernel, "gamma": 0.7, "reference": given.labels_}
    models = {
        name: ExplainableKernelKMeans(4, algorithm=name, random_state=0, **options).fit(X)
        for name in ("imm", "exkmc", "expand", "search")
        if name != "imm" or kernel != "polynomial"
    }
    assert models["search"].cost_ <= min(model.cost_ for model in models.values()) * (1 + 1e-12)
    again = ExplainableKernelKMeans(4, algorithm="search", random_state=0, n_jobs=3, **options).fit(X)
    assert np.array_equal(again.tree_.threshold, models["search"].tree_.threshold, equal_nan=True)


def test_agreement_is_scikit_learns():
    model = ExplainableKernelKMeans(3, gamma=3.0, random_state=0).fit(MOONS)
    assert model.adjusted_rand_index_ == pytest.approx(adjusted_rand_score(model.reference_.labels, model.labels_))
    expected = normalized_mutual_info_score(model.reference_.labels, model.labels_)
    assert model.normalized_mutual_info_ == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("rbf", ("taylor", "kernel")),
        ("laplacian", ("kernel",)),
        ("additive_chi2", ("map",)),
        ("hellinger", ("map",)),
        ("histogram_intersection", ("map",)),
        ("linear", ("map",)),
    ],
)
@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_every_kernel_with_surrogate_features_grows_a_leaf_a_cluster(kernel, kind, approximation):
    model = ExplainableKernelKMeans(4, kernel=kernel, approximation=approximation, n_components=40, random_state=0)
    model.fit(HISTOGRAMS)
    assert model.n_leaves_ == 4
    assert sorted(model.tree_.cluster[model.tree_.leaves]) == [0, 1, 2, 3]
    assert model.surrogate_features_ in kind
    assert np.array_equal(model.predict(HISTOGRAMS), model.labels_)
    # The features of these two have three dimensions, which 40 landmarks span.
    exact = approximation is None or kernel in ("hellinger", "linear")
    assert (model.approximation_error_ < 1e-12) == exact


def test_auto_keeps_the_cheaper_of_the_trees_of_all_features():
    for seed in range(4):
        trees = {
            kind: ExplainableKernelKMeans(3, gamma=5.0, surrogate_features=kind, random_state=seed).fit(MOONS)
            for kind in ("auto", "taylor", "kernel")
        }
        kept = trees["auto"].surrogate_features_
        assert trees["auto"].cost_ == trees[kept].cost_ == min(trees["taylor"].cost_, trees["kernel"].cost_)


@pytest.mark.parametrize("kernel", ["chi2", "polynomial", "precomputed", lambda A, B: A @ B.T])
def test_imm_needs_surrogate_features_and_the_error_names_what_does_not(kernel):
    with pytest.raises(InvalidInputError, match=r"none\.\nUse algorithm='search', 'exkmc' or 'expand'"):
        ExplainableKernelKMeans(3, kernel=kernel).fit(HISTOGRAMS)
    for algorithm in ("search", "exkmc", "expand"):
        model = ExplainableKernelKMeans(3, kernel=kernel, algorithm=algorithm, max_leaves=6, random_state=0)
        matrix = HISTOGRAMS @ HISTOGRAMS.T if kernel == "precomputed" else None
        model.fit(HISTOGRAMS, K=matrix)
        assert model.surrogate_features_ is None
        assert model.cost_ratio_ < 1.2


def test_features_that_a_kernel_does_not_have_are_refused():
    with pytest.raises(InvalidInputError, match="is not available for kernel='laplacian'"):
        ExplainableKernelKMeans(2, kernel="laplacian", surrogate_features="taylor").fit(MOONS)
    with pytest.raises(InvalidInputError, match="is not available for kernel='hellinger'"):
        ExplainableKernelKMeans(2, kernel="hellinger", surrogate_features="kernel").fit(HISTOGRAMS)


def test_unknown_options_are_refused():
    for wrong in ({"algorithm": "exgreedy"}, {"expansion": "imm"}, {"cuts": "both"}, {"surrogate_features": "tailor"}):
        with pytest.raises(UnknownOptionError, match=next(iter(wrong))):
            ExplainableKernelKMeans(2, **wrong).fit(MOONS)
    with pytest.raises(UnknownOptionError, match="Did you mean 'laplacian'"):
        ExplainableKernelKMeans(2, kernel="laplace").fit(MOONS)


def test_the_linear_kernel_with_means_as_reference_gives_plain_imm():
    means = KMeans(4, n_init=3, random_state=0).fit(HISTOGRAMS)
    kernel = ExplainableKernelKMeans(4, kernel="linear", reference=means, cuts="threshold").fit(HISTOGRAMS)
    plain = ExplainableKMeans(4, algorithm="imm", reference=means).fit(HISTOGRAMS)
    assert kernel.reference_.cost == pytest.approx(plain.reference_.cost)
    assert kernel.tree_.n_node_mistakes.sum() == plain.tree_.n_node_mistakes.sum()


def test_half_moons_can_be_said_with_a_kernel_and_not_without():
    X, truth = make_moons(300, noise=0.05, random_state=0)
    reference = KernelKMeans(2, gamma=7.5, init="random", n_init=30, random_state=2)
    model = ExplainableKernelKMeans(2, reference=reference, max_leaves=6).fit(X)
    plain = ExplainableKMeans(2, max_leaves=6, random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.8
    assert adjusted_rand_score(truth, plain.labels_) < 0.4


# References -----------------------------------------------------------------------------------------------------------


def test_a_kernel_k_means_as_reference_fitted_or_not_is_what_none_does_itself():
    own = ExplainableKernelKMeans(3, gamma=3.0, random_state=5).fit(MOONS)
    unfitted = KernelKMeans(3, gamma=3.0, random_state=5)
    fitted = clone(unfitted).fit(MOONS)
    assert own.reference_.cost == pytest.approx(fitted.cost_)
    for reference in (unfitted, fitted):
        model = ExplainableKernelKMeans(3, reference=reference).fit(MOONS)
        assert np.array_equal(model.reference_.labels, fitted.labels_)
        assert model.gamma_ == 3.0
        assert model.tree_.equals(own.tree_)
        assert model.cost_ == pytest.approx(own.cost_)
    assert not hasattr(unfitted, "labels_")


def test_a_fitted_reference_brings_its_nystroem_features_along():
    fitted = KernelKMeans(3, gamma=3.0, approximation="nystroem", n_components=15, random_state=1).fit(MOONS)
    model = ExplainableKernelKMeans(3, reference=fitted, random_state=7).fit(MOONS)
    assert model.reference_.cost == pytest.approx(fitted.cost_)
    assert model.approximation_error_ == pytest.approx(fitted.approximation_error_)
    few = np.concatenate([MOONS[fitted.labels_ == cluster][:3] for cluster in range(3)])
    assert ExplainableKernelKMeans(3, reference=fitted).fit(few).n_leaves_ == 3
    assert np.allclose(model.transform(MOONS), clone(model).fit(MOONS).transform(MOONS))


def test_a_reference_with_another_kernel_is_refused_unless_the_kernel_is_left_to_it():
    reference = KernelKMeans(2, kernel="laplacian", gamma=0.5, random_state=0)
    assert ExplainableKernelKMeans(2, reference=reference).fit(MOONS).gamma_ == 0.5
    assert ExplainableKernelKMeans(2, kernel="laplacian", gamma=0.5, reference=reference).fit(MOONS).gamma_ == 0.5
    with pytest.raises(InvalidInputError, match=r"gamma=2\.0, but reference=KernelKMeans has gamma=0\.5"):
        ExplainableKernelKMeans(2, kernel="laplacian", gamma=2.0, reference=reference).fit(MOONS)
    with pytest.raises(InvalidInputError, match="3 clusters, but n_clusters=2"):
        ExplainableKernelKMeans(2, reference=KernelKMeans(3)).fit(MOONS)


def test_any_clusterer_and_any_labels_can_be_the_reference():
    labels = AgglomerativeClustering(3).fit_predict(MOONS)
    by_clusterer = ExplainableKernelKMeans(3, reference=AgglomerativeClustering(3)).fit(MOONS)
    by_labels = ExplainableKernelKMeans(3, reference=labels).fit(MOONS)
    assert by_clusterer.tree_.equals(by_labels.tree_)
    named = ExplainableKernelKMeans(3, reference=np.array(["a", "b", "c"])[labels]).fit(MOONS)
    assert named.tree_.equals(by_labels.tree_)
    assert set(named.predict(MOONS)) <= {"a", "b", "c"}
    with_noise = np.where(np.arange(150) < 20, -1, labels)
    model = ExplainableKernelKMeans(3, reference=with_noise).fit(MOONS)
    alone = ExplainableKernelKMeans(3, gamma=model.gamma_, reference=labels[20:]).fit(MOONS[20:])
    assert model.tree_.equals(alone.tree_)
    assert model.cost_ == pytest.approx(alone.cost_)
    assert len(model.labels_) == 150


def test_references_that_cannot_be_are_refused():
    for wrong, message in (
        (np.zeros((2, 2)), "reference has 2 dimensions, but must be a label for each row"),
        (np.zeros(7), "7"),
        (np.arange(150) % 4, "4 clusters, but n_clusters=2"),
        (KernelKMeans, "the class KernelKMeans"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            ExplainableKernelKMeans(2, reference=wrong).fit(MOONS)
    far = KernelKMeans(2, gamma=3.0, random_state=0).fit(np.vstack([MOONS, MOONS + 50]))
    with pytest.raises(InvalidInputError, match=r"Cluster \d of the reference has no row"):
        ExplainableKernelKMeans(2, reference=far).fit(MOONS)
    with pytest.raises(InvalidInputError, match="Cluster b of the reference has no row"):
        ExplainableKernelKMeans(2, reference=np.repeat(["a", "b"], 75)).fit(MOONS, sample_weight=np.arange(150) < 75)


# Kernels that are given -----------------------------------------------------------------------------------------------


def test_a_precomputed_kernel_comes_beside_the_columns():
    options = {"algorithm": "exkmc", "max_leaves": 5, "random_state": 0}
    labels = KernelKMeans(3, gamma=3.0, random_state=0).fit(MOONS).labels_
    named = ExplainableKernelKMeans(3, gamma=3.0, reference=labels, **options).fit(MOONS)
    given = ExplainableKernelKMeans(3, kernel="precomputed", reference=labels, **options)
    given.fit(MOONS, K=gaussian(MOONS))
    assert given.tree_.equals(named.tree_)
    assert given.cost_ == pytest.approx(named.cost_)
    assert np.array_equal(given.predict(MOONS + 0.1), named.predict(MOONS + 0.1))
    own = ExplainableKernelKMeans(3, kernel="precomputed", **options).fit_predict(MOONS, K=gaussian(MOONS))
    assert len(own) == 150
    with pytest.raises(InvalidInputError, match="the kernel of every row with itself"):
        given.transform(MOONS)
    unfitted = KernelKMeans(3, kernel="precomputed", random_state=0)
    for reference in (unfitted, clone(unfitted).fit(gaussian(MOONS))):
        model = ExplainableKernelKMeans(3, reference=reference, **options).fit(MOONS, K=gaussian(MOONS))
        assert model.tree_.equals(named.tree_)


def test_a_kernel_matrix_alone_is_explained_by_its_own_columns():
    model = ExplainableKernelKMeans(3, kernel="precomputed", algorithm="exkmc", random_state=0)
    model.fit(gaussian(MOONS))
    assert model.n_features_in_ == 150
    assert np.array_equal(model.predict(gaussian(MOONS)), model.labels_)
    with pytest.raises(InvalidInputError, match="X has 2 features"):
        model.predict(MOONS)


def test_matrices_that_do_not_fit_are_refused():
    model = ExplainableKernelKMeans(3, kernel="precomputed", algorithm="expand")
    with pytest.raises(InvalidInputError, match=re.escape("fit(X, K=K) with K of shape (150, 150)")):
        model.fit(MOONS)
    with pytest.raises(InvalidInputError, match=re.escape("of the 150 rows: fit(X, K=K) with K of shape (150, 150)")):
        model.fit(MOONS, K=np.eye(9))
    with pytest.raises(InvalidInputError, match=r"needs the kernel matrix .* \(150, 149\)"):
        model.fit(MOONS, K=np.ones((150, 149)))
    lopsided = gaussian(MOONS)
    lopsided[3, 4] += 0.5
    with pytest.raises(InvalidInputError, match="K must be symmetric"):
        model.fit(MOONS, K=lopsided)
    with pytest.raises(InvalidInputError, match="preprocessor"):
        clone(model).set_params(preprocessor=StandardScaler()).fit(MOONS, K=gaussian(MOONS))
    with pytest.raises(InvalidInputError, match="K is a kernel matrix, and kernel='rbf'"):
        ExplainableKernelKMeans(3).fit(MOONS, K=gaussian(MOONS))


def test_a_kernel_that_is_not_positive_definite_warns_and_still_gives_a_tree():
    matrix = gaussian(MOONS) - 0.9 * np.eye(150)
    model = ExplainableKernelKMeans(2, kernel="precomputed", algorithm="exkmc", random_state=0)
    with pytest.warns(NotPositiveDefiniteWarning, match=r"row \d+ .* cluster \d"):
        model.fit(MOONS, K=matrix)
    assert model.n_leaves_ == 2


def test_values_outside_the_domain_are_refused_by_column_and_row():
    frame = pd.DataFrame(HISTOGRAMS.copy(), columns=["low", "mid", "high"])
    frame.loc[7, "mid"] = -0.5
    for kernel in ("additive_chi2", "hellinger", "histogram_intersection"):
        with pytest.raises(InvalidInputError, match=r"column 'mid' of X holds -0\.5 in row 7"):
            ExplainableKernelKMeans(2, kernel=kernel).fit(frame)


# Invariances ----------------------------------------------------------------------------------------------------------


def test_a_scaler_changes_what_the_kernel_reads_and_leaves_the_rules_in_the_units_of_the_input():
    raw = MOONS * [1000.0, 0.01] + [5000.0, 3.0]
    labels = KernelKMeans(3, gamma=1.0, random_state=0).fit(StandardScaler().fit_transform(raw)).labels_
    for scaler in (StandardScaler(), MinMaxScaler()):
        for algorithm in ("imm", "exkmc"):
            options = {"gamma": 1.0, "algorithm": algorithm, "max_leaves": 4, "reference": labels}
            inside = ExplainableKernelKMeans(3, preprocessor=scaler, **options).fit(raw)
            before = ExplainableKernelKMeans(3, **options).fit(scaler.fit_transform(raw))
            assert np.array_equal(inside.labels_, before.labels_)
            assert inside.cost_ == pytest.approx(before.cost_)
            tests = inside.tree_.feature >= 0
            assert np.array_equal(inside.tree_.feature, before.tree_.feature)
            assert (inside.tree_.threshold[tests & (inside.tree_.feature == 0)] > 1000).all()
            assert np.allclose(inside.transform(raw), before.transform(scaler.fit_transform(raw)))
    with pytest.raises(InvalidInputError, match="non-decreasing function of the same column"):
        ExplainableKernelKMeans(2, preprocessor=PCA(2)).fit(raw)
    assert ExplainableKernelKMeans(2, preprocessor=PCA(2), algorithm="exkmc", random_state=0).fit(raw).n_leaves_ == 2


# After the fit --------------------------------------------------------------------------------------------------------


def calls_no_kernel(A, B):
    raise AssertionError("a kernel was computed")


def test_predict_never_computes_a_kernel_and_neither_does_a_loaded_model(tmp_path):
    model = ExplainableKernelKMeans(3, kernel=lambda A, B: A @ B.T, algorithm="exkmc", random_state=0).fit(MOONS)
    model.kernel = calls_no_kernel
    new = RNG.normal(size=(20, 2))
    expected = model.tree_.predict(new)
    assert np.array_equal(model.predict(new), expected)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert isinstance(loaded, ExplainableKernelKMeans)
    assert np.array_equal(loaded.predict(new), expected)
    assert np.array_equal(loaded.apply(new), model.apply(new))
    assert str(loaded.rules()) == str(model.rules())
    assert loaded.explain(new) == model.explain(new)
    assert export_text(loaded) == export_text(model)
    figures = ("gamma_", "cost_", "surrogate_cost_", "cost_ratio_", "adjusted_rand_index_", "normalized_mutual_info_")
    assert [getattr(loaded, name) for name in figures] == [getattr(model, name) for name in figures]
    assert loaded.surrogate_features_ is None
    for measure in (loaded.transform, partial(tree_cost, loaded), lambda X: cost_ratio(loaded, X, expected)):
        with pytest.raises(ModelFileError, match="means of training rows"):
            measure(new)
    with pytest.raises(InvalidInputError, match="kernel was not part of the model file"):
        loaded.fit(MOONS)


def test_new_rows_may_lie_outside_the_kernels_domain():
    model = ExplainableKernelKMeans(3, kernel="hellinger", random_state=0).fit(HISTOGRAMS)
    assert len(model.predict([[-1.0, 0.5, 2.0]])) == 1
    with pytest.raises(InvalidInputError, match="column 0 of X holds -1 in row 0"):
        model.transform([[-1.0, 0.5, 2.0]])


@pytest.mark.parametrize("features", ["auto", "kernel"])
def test_the_cost_curve_is_that_of_single_fits(features):
    model = ExplainableKernelKMeans(3, gamma=3.0, surrogate_features=features, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutwiseWarning)
        curve = cost_curve(model, MOONS, max_leaves=6)
    for n_leaves, cost in zip(curve.n_leaves, curve.cost, strict=True):
        alone = clone(model).set_params(max_leaves=int(n_leaves)).fit(MOONS)
        assert alone.cost_ == cost
        point = curve.model(int(n_leaves))
        assert point.adjusted_rand_index_ == alone.adjusted_rand_index_
        assert np.array_equal(point.transform(MOONS), alone.transform(MOONS))


def test_verbose_says_cost_and_agreement(capsys):
    ExplainableKernelKMeans(3, random_state=0, verbose=1).fit(MOONS)
    told = capsys.readouterr().err
    assert re.search(r"3 leaves, depth \d; cost ratio [\d.]+; agreement with the reference: ARI [\d.]+, NMI", told)


@pytest.mark.parametrize("features", ["auto", "taylor"])
def test_what_is_no_kernel_is_told_the_kernels(features):
    with pytest.raises(UnknownOptionError, match="kernel=5 is not a valid option"):
        ExplainableKernelKMeans(2, kernel=5, surrogate_features=features).fit(np.eye(4))


def test_weights_may_be_a_column_scores_may_go_over_batches_and_y_is_not_read():
    frame = pd.DataFrame(MOONS, columns=["a", "b"])
    options = {"gamma": 3.0, "random_state": 0}
    named = ExplainableKernelKMeans(3, **options).fit(frame.assign(w=RNG.integers(1, 4, 150)), sample_weight="w")
    assert named.feature_names_in_.tolist() == ["a", "b"]
    batches = Batches(lambda: (frame[i : i + 50] for i in range(0, 150, 50)))
    assert named.score(batches) == pytest.approx(named.score(frame))
    with pytest.raises(UnsupportedInputError, match="would be ignored"):
        named.fit(frame, "a")


LIMITS = [
    {"max_depth": 2},
    {"min_samples_leaf": 12},
    {"cut_features": [0, 2]},
    {"max_depth": 3, "min_samples_leaf": 0.1},
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@each("seed", range(8))
def test_limits_give_the_trees_of_equal_problems(limits, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 3)) + 3 * rng.integers(0, 2, (90, 3))
    reference = KMeans(4, n_init=1, random_state=seed).fit(X)
    options = {"kernel": "linear", "reference": reference.labels_, "cuts": "threshold", **limits}

    def tree(algorithm, max_leaves):
        model = ExplainableKernelKMeans(4, max_leaves=max_leaves, algorithm=algorithm, **options)
        return fit_quietly(model, X).tree_

    explainer = fit_quietly(ClusterExplainer(4, algorithm="expand", **limits), X, reference.labels_)
    assert same_tree(tree("expand", 4), explainer.tree_)
    # With a linear kernel, costs are those of k-means, also under the means as centers.
    means = np.array([X[reference.labels_ == cluster].mean(axis=0) for cluster in range(4)])
    kmeans = ExplainableKMeans(4, algorithm="exkmc", reference=means, max_leaves=6, **limits)
    assert same_tree(tree("exkmc", 6), fit_quietly(kmeans, X).tree_)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("algorithm", ["exkmc", "expand", "search"])
def test_trees_keep_their_limits_and_say_their_price(limits, algorithm):
    model = ExplainableKernelKMeans(3, gamma=3.0, algorithm=algorithm, max_leaves=5, random_state=0, **limits)
    X = np.column_stack([MOONS, RNG.random(150)])
    tree = fit_quietly(model, X).tree_
    assert tree.depth <= limits.get("max_depth", np.inf)
    least = limits.get("min_samples_leaf", 1)
    assert tree.n_node_samples[tree.leaves].min() >= (least if least >= 1 else least * 150)
    assert set(tree.feature[tree.feature >= 0]) <= set(limits.get("cut_features", range(3)))
    free = clone(model).set_params(cut_features=None, max_depth=None, min_samples_leaf=1)
    assert model.limits_price_ == pytest.approx(model.cost_ / fit_quietly(free, X).cost_ - 1)


def test_kernel_imm_takes_no_limits():
    with pytest.raises(InvalidInputError, match='algorithm="imm" takes no limits here'):
        ExplainableKernelKMeans(2, max_depth=3).fit(MOONS)


def test_more_effort_searches_longer_and_none_takes_the_cheapest_of_the_others():
    def cost(algorithm, **options):
        model = ExplainableKernelKMeans(3, gamma=3.0, algorithm=algorithm, random_state=0, **options)
        return fit_quietly(model, MOONS).cost_

    none, some, more = (cost("search", search_effort=effort) for effort in (0, 1, 3))
    assert none == min(map(cost, ("imm", "exkmc", "expand")))
    assert more <= some <= none


@each("seed", [36, 50, 72])
def test_leaves_that_save_no_cost_are_not_taken(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (rng.integers(12, 30), 2)).astype(float)
    few, many = (
        fit_quietly(ExplainableKernelKMeans(3, algorithm="search", max_leaves=n_leaves, random_state=0), X)
        for n_leaves in (4, 6)
    )
    assert (many.cost_, many.tree_.n_leaves) == (few.cost_, 4)
