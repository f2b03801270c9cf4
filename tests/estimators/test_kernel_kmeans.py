"""KernelKMeans as users meet it."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_clusterer
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from cutwise import ExplainableKernelKMeans, KernelKMeans
from cutwise.exceptions import (
    ColumnMismatchError,
    CutwiseWarning,
    InvalidInputError,
    NotPositiveDefiniteWarning,
    UnknownOptionError,
)
from cutwise.reference import resources
from cutwise.reference.kernels import KERNELS

RNG = np.random.default_rng(2)
BLOBS = np.vstack([RNG.normal(size=(15, 2)) + center for center in ([0, 0], [6, 0], [0, 7])])
HISTOGRAMS = np.abs(BLOBS)


def of(kernel):
    """A kernel's estimator and rows that suit it."""
    if kernel == "precomputed":
        return KernelKMeans(3, kernel=kernel, random_state=0), np.exp(-((BLOBS[:, None] - BLOBS) ** 2).sum(axis=2) / 9)
    return KernelKMeans(3, kernel=kernel, random_state=0), HISTOGRAMS


def test_it_is_a_clusterer():
    assert is_clusterer(KernelKMeans())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_predict_gives_the_training_rows_their_labels(kernel, approximation):
    model, rows = of(kernel)
    model.set_params(approximation=approximation, n_components=30).fit(rows)
    assert np.array_equal(model.predict(rows), model.labels_)
    assert model.inertia_ == model.cost_ > 0
    assert model.labels_.dtype == np.int32
    assert (model.approximation_error_ == 0.0) == (approximation is None)


def test_the_linear_kernel_is_k_means():
    model = KernelKMeans(3, kernel="linear", random_state=0).fit(BLOBS)
    plain = KMeans(3, n_init=10, random_state=0).fit(BLOBS)
    assert model.cost_ == pytest.approx(plain.inertia_)
    assert adjusted_rand_score(model.labels_, plain.labels_) == 1.0


@pytest.mark.parametrize("weighted", [False, True])
def test_many_small_clusters_are_found_as_k_means_finds_them(weighted):
    # Starts in feature space alone leave some clusters together, since their runs end in local optima.
    rng = np.random.default_rng(0)
    sizes = np.concatenate([np.full(15, 2), np.full(15, 18)])
    X = (10 * rng.normal(size=(30, 4))).repeat(sizes, axis=0) + rng.normal(size=(300, 4))
    weights = rng.integers(1, 50, 300) if weighted else None
    best = KMeans(30, n_init=50, random_state=0).fit(X, sample_weight=weights).inertia_
    for seed in range(3):
        model = KernelKMeans(30, kernel="linear", random_state=seed).fit(X, sample_weight=weights)
        assert model.cost_ <= 1.005 * best


def test_it_finds_clusters_that_k_means_does_not():
    X, truth = make_moons(300, noise=0.05, random_state=0)
    found = KernelKMeans(2, gamma=7.5, init="random", n_init=30, random_state=2).fit(X)
    plain = KMeans(2, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(truth, found.labels_) > 0.95
    assert adjusted_rand_score(truth, plain.labels_) < 0.3


def test_a_precomputed_kernel_gives_what_the_kernel_itself_gives():
    named = KernelKMeans(3, kernel="rbf", gamma=0.1, random_state=0).fit(BLOBS)
    matrix = np.exp(-0.1 * ((BLOBS[:, None] - BLOBS) ** 2).sum(axis=2))
    weights = np.ones(len(BLOBS))
    weights[[3, 20]] = 0
    for w in (None, weights):
        given = KernelKMeans(3, kernel="precomputed", random_state=0).fit(matrix, sample_weight=w)
        assert adjusted_rand_score(given.labels_, named.labels_) == 1.0
        new = RNG.normal(size=(9, 2))
        across = np.exp(-0.1 * ((new[:, None] - BLOBS) ** 2).sum(axis=2))
        pairs = set(zip(given.predict(across).tolist(), named.predict(new).tolist(), strict=True))
        assert pairs <= set(zip(given.labels_.tolist(), named.labels_.tolist(), strict=True))
    assert given.__sklearn_tags__().input_tags.pairwise


def test_a_callable_is_used_for_fit_and_for_new_rows():
    def kernel(A, B):
        return np.exp(-0.1 * ((A[:, None] - B) ** 2).sum(axis=2))

    named = KernelKMeans(3, gamma=0.1, random_state=0).fit(BLOBS)
    for approximation in (None, "nystroem"):
        model = KernelKMeans(3, kernel=kernel, approximation=approximation, n_components=45, random_state=0).fit(BLOBS)
        assert adjusted_rand_score(model.labels_, named.labels_) == 1.0
        assert model.cost_ == pytest.approx(named.cost_)
        assert model.predict(BLOBS[:1] + 0.01)[0] == model.labels_[0]


def test_frames_and_sparse_matrices_are_read():
    frame = pd.DataFrame(HISTOGRAMS, columns=["a", "b"])
    for kernel in ("rbf", "laplacian", "additive_chi2", "chi2", "hellinger", "histogram_intersection"):
        model = KernelKMeans(3, kernel=kernel, random_state=0).fit(frame)
        assert list(model.feature_names_in_) == ["a", "b"]
        assert np.array_equal(model.predict(frame), model.labels_)
        loose = KernelKMeans(3, kernel=kernel, random_state=0).fit(sparse.csr_array(HISTOGRAMS))
        assert adjusted_rand_score(loose.labels_, model.labels_) == 1.0
        assert np.array_equal(loose.predict(sparse.csc_matrix(HISTOGRAMS)), loose.labels_)


def test_as_many_clusters_as_distinct_rows_cost_nothing():
    values = np.repeat(np.arange(6.0)[:, None], 3, axis=0)
    for init in ("k-means++", "random"):
        model = KernelKMeans(6, gamma=1.0, init=init, random_state=0).fit(values)
        assert model.cost_ == pytest.approx(0.0, abs=1e-12)
        assert len(np.unique(model.labels_)) == 6


def test_rows_that_one_kernel_value_cannot_tell_apart_still_fill_every_cluster():
    X = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])
    model = KernelKMeans(3, kernel="polynomial", degree=2, coef0=0, gamma=1, random_state=0).fit(X)
    assert model.cost_ == pytest.approx(0.0, abs=1e-12)
    assert len(np.unique(model.labels_)) == 3


def test_the_quadratic_kernel_puts_opposite_points_together():
    X = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])
    model = KernelKMeans(2, kernel="polynomial", degree=2, coef0=0, gamma=1, random_state=0).fit(X)
    assert model.cost_ == pytest.approx(0.0, abs=1e-12)
    assert adjusted_rand_score(model.labels_, [0, 0, 1, 1]) == 1.0


def test_a_kernel_that_is_not_positive_definite_is_named_with_row_and_cluster():
    matrix = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.warns(NotPositiveDefiniteWarning, match=r"row 0 .* mean of cluster \d is -0\.5"):
        KernelKMeans(2, kernel="precomputed", random_state=0).fit(matrix)


def test_what_cannot_be_used_is_refused(monkeypatch):
    with pytest.raises(UnknownOptionError, match="'rbf', 'laplacian'"):
        KernelKMeans(2, kernel="gaussian").fit(BLOBS)
    with pytest.raises(UnknownOptionError, match="nystroem"):
        KernelKMeans(2, approximation="nystrom").fit(BLOBS)
    with pytest.raises(UnknownOptionError, match="init"):
        KernelKMeans(2, init="kmeans").fit(BLOBS)
    with pytest.raises(InvalidInputError, match="n_clusters=46 is more than the 45 distinct"):
        KernelKMeans(46).fit(BLOBS)
    frame = pd.DataFrame(BLOBS, columns=["height", "width"])
    with pytest.raises(InvalidInputError, match=re.escape("column 'height' of X holds")):
        KernelKMeans(2, kernel="chi2").fit(frame)
    model = KernelKMeans(2, kernel="chi2", random_state=0).fit(HISTOGRAMS)
    with pytest.raises(InvalidInputError, match="row 1"):
        model.predict([[1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(InvalidInputError, match="square"):
        KernelKMeans(2, kernel="precomputed").fit(BLOBS)
    given = KernelKMeans(2, kernel="precomputed", random_state=0).fit(np.eye(4))
    with pytest.raises(ColumnMismatchError, match="X has 3 features, but KernelKMeans is expecting 4"):
        given.predict(np.eye(3))
    with pytest.raises(InvalidInputError, match="are beyond float64"):
        KernelKMeans(2, kernel="polynomial", gamma=1).fit(BLOBS * 1e50)
    monkeypatch.setattr(resources, "available_memory", lambda: 10_000)
    with pytest.raises(InvalidInputError, match="nystroem"):
        KernelKMeans(2).fit(BLOBS)
    assert KernelKMeans(2, approximation="nystroem", n_components=5, random_state=0).fit(BLOBS).n_iter_ > 0
    zeros = np.append(np.zeros((40, 2)), [[1.0, 2.0]], axis=0)  # the one landmark is the origin of feature space
    model = KernelKMeans(2, kernel="linear", approximation="nystroem", n_components=1, random_state=0).fit(zeros)
    assert model.inertia_ == 0


def test_verbose_says_how_good_the_approximation_is(capsys):
    options = {"approximation": "nystroem", "n_components": 5, "init": "random", "n_init": 3}
    KernelKMeans(2, **options, verbose=2, random_state=0).fit(BLOBS)
    told = capsys.readouterr().err
    assert re.search(r"nystroem: the features lack \d+\.\d+% of the kernel's trace", told)
    assert told.count("kernel k-means run") == 3


def test_no_cluster_loses_its_last_row_where_distances_are_negative():
    with pytest.warns(NotPositiveDefiniteWarning):
        model = KernelKMeans(2, kernel="precomputed", random_state=0).fit(-np.eye(20))
    assert len(np.unique(model.labels_)) == 2
    assert np.isfinite(model.inertia_)


@pytest.mark.parametrize("weight", [1e300, 1e-300])
@pytest.mark.parametrize("estimator", [KernelKMeans, ExplainableKernelKMeans])
def test_weights_whose_products_leave_float64_are_refused(estimator, weight):
    with pytest.raises(InvalidInputError, match="Multiply all weights by a constant"):
        estimator(3, random_state=0).fit(BLOBS, sample_weight=np.full(len(BLOBS), weight))


def test_a_matrix_given_as_the_kernel_is_no_kernel():
    with pytest.raises(UnknownOptionError, match="'precomputed'") as caught:
        KernelKMeans(3, kernel=np.eye(len(BLOBS))).fit(BLOBS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("verbose", ["a", -1])
def test_a_verbosity_that_is_none_is_refused(verbose):
    with pytest.raises(InvalidInputError, match="verbose="):
        KernelKMeans(3, verbose=verbose).fit(BLOBS)


def by_definition(kernel_of, train, labels, weights, rows, k):
    """Squared distances to the clusters' weighted means in feature space, by sums over pairs of rows."""
    costs = np.empty((len(rows), k))
    for cluster in range(k):
        own, w = train[labels == cluster], weights[labels == cluster]
        for i, x in enumerate(rows):
            to_own = sum(v * kernel_of(x, y) for v, y in zip(w, own, strict=True)) / w.sum()
            within = sum(
                u * v * kernel_of(a, b) for u, a in zip(w, own, strict=True) for v, b in zip(w, own, strict=True)
            )
            costs[i, cluster] = kernel_of(x, x) - 2 * to_own + within / w.sum() ** 2
    return costs


KERNELS_BY_DEFINITION = {
    "rbf": lambda x, y: np.exp(-0.3 * ((x - y) ** 2).sum()),
    "laplacian": lambda x, y: np.exp(-0.3 * np.abs(x - y).sum()),
    "hellinger": lambda x, y: np.sqrt(x * y).sum(),
    "polynomial": lambda x, y: (0.3 * (x @ y) + 1) ** 3,
    "linear": lambda x, y: x @ y,
}


@pytest.mark.parametrize("kernel", KERNELS_BY_DEFINITION)
@pytest.mark.parametrize("weighted", [False, True])
def test_transform_and_score_are_distances_in_feature_space(kernel, weighted):
    train, new = HISTOGRAMS[::2], HISTOGRAMS[1::4]
    weights = np.arange(len(train)) % 4 * 1.5 if weighted else np.ones(len(train))
    of_new = np.arange(len(new)) % 3 * 0.5
    model = KernelKMeans(3, kernel=kernel, gamma=0.3, random_state=0).fit(train, sample_weight=weights)
    counted = weights > 0
    costs = by_definition(
        KERNELS_BY_DEFINITION[kernel], train[counted], model.labels_[counted], weights[counted], new, 3
    )
    scale = max(KERNELS_BY_DEFINITION[kernel](x, x) for x in HISTOGRAMS)
    assert model.transform(new) ** 2 == pytest.approx(costs, rel=1e-9, abs=1e-12 * scale)
    assert model.score(new) == pytest.approx(-costs.min(axis=1).sum(), rel=1e-9)
    assert model.score(new, sample_weight=of_new) == pytest.approx(-(of_new @ costs.min(axis=1)), rel=1e-9)
    assert model.score(train, sample_weight=weights) == pytest.approx(-model.cost_, rel=1e-9)
    assert np.array_equal(model.transform(train).argmin(axis=1), model.labels_)
    assert model.get_feature_names_out().tolist() == ["kernelkmeans0", "kernelkmeans1", "kernelkmeans2"]


def test_under_the_linear_kernel_they_are_those_of_k_means():
    ours = KernelKMeans(3, kernel="linear", random_state=0).fit(BLOBS)
    theirs = KMeans(3, init=np.array([BLOBS[ours.labels_ == j].mean(axis=0) for j in range(3)]), n_init=1).fit(BLOBS)
    new = BLOBS + RNG.normal(size=BLOBS.shape)
    assert ours.transform(new) == pytest.approx(theirs.transform(new))
    assert ours.score(new) == pytest.approx(theirs.score(new))
    weights = np.arange(len(new))
    assert ours.score(new, sample_weight=weights) == pytest.approx(theirs.score(new, sample_weight=weights))


def test_with_an_approximation_distances_are_those_of_its_features():
    exact = KernelKMeans(3, gamma=0.1, random_state=0).fit(BLOBS)
    whole = KernelKMeans(3, gamma=0.1, approximation="nystroem", n_components=len(BLOBS), random_state=0).fit(BLOBS)
    assert np.sort(whole.transform(BLOBS)) == pytest.approx(np.sort(exact.transform(BLOBS)), abs=1e-5)
    rough = KernelKMeans(3, gamma=0.1, approximation="nystroem", n_components=5, random_state=0).fit(BLOBS)
    assert rough.score(BLOBS) == pytest.approx(-rough.cost_, rel=1e-9)


@pytest.mark.parametrize("estimator", [KernelKMeans, ExplainableKernelKMeans])
def test_scikit_learns_short_name_of_a_kernel_leads_to_ours(estimator):
    with pytest.raises(UnknownOptionError, match="Did you mean 'polynomial'"):
        estimator(2, kernel="poly").fit(BLOBS)
    with pytest.raises(InvalidInputError, match="random_state='a' cannot seed anything"):
        estimator(2, kernel="linear", random_state="a").fit(BLOBS)


def test_a_precomputed_kernel_has_no_distances_of_new_rows_and_says_so():
    matrix = BLOBS @ BLOBS.T
    model = KernelKMeans(3, kernel="precomputed", random_state=0).fit(matrix)
    for call in (model.transform, model.score):
        with pytest.raises(InvalidInputError, match="the kernel of every row with itself"):
            call(matrix)


@pytest.mark.parametrize("estimator", [KernelKMeans, ExplainableKernelKMeans])
@pytest.mark.parametrize("approximation", [None, "nystroem"])
@pytest.mark.parametrize(
    ("gamma", "told"),
    [
        (1e-25, "so small that no row can be told from another.*larger"),
        (1e9, "so large that no row is like.*smaller"),
        (1e308, "so large that no row is like.*smaller"),
    ],
)
def test_a_gamma_under_which_any_clusters_will_do_is_warned_of(estimator, approximation, gamma, told):
    with pytest.warns(CutwiseWarning, match=told):
        estimator(3, gamma=gamma, approximation=approximation, n_init=1, random_state=0).fit(BLOBS)


@pytest.mark.parametrize("estimator", [KernelKMeans, ExplainableKernelKMeans])
def test_columns_too_small_for_any_gamma_are_to_be_multiplied(estimator):
    with pytest.warns(CutwiseWarning, match=r"^gamma=1 is so small .* Multiply X by a constant: "):
        estimator(3, n_init=1, random_state=0).fit(BLOBS * 1e-160)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("gamma", [1e-9, 1e-3, None, 10.0])
def test_a_gamma_that_tells_some_rows_from_others_is_not(kernel, gamma):
    KernelKMeans(3, kernel=kernel, gamma=gamma, n_init=1, random_state=0).fit(BLOBS)  # warnings are errors here


def test_a_gamma_matters_not_where_every_row_is_a_cluster():
    assert KernelKMeans(2, gamma=1e9, random_state=0).fit([[0.0], [0.0], [5.0]]).cost_ == 0
