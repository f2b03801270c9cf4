"""Kernel k-means as a clusterer of its own, and the recipe of a clustering in feature space that kernel trees share."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from cutwise._docs import fill_doc
from cutwise._progress import Stages, all_or_nothing
from cutwise.core import Float64
from cutwise.estimators._clusterer import CenterClusterer
from cutwise.exceptions import CutwiseWarning, InvalidInputError, warn
from cutwise.reference.feature_space import FeatureSpace, NystroemMap, feature_space, warn_if_negative
from cutwise.reference.kernel_kmeans import INITS, Partition, kernel_kmeans
from cutwise.reference.kernels import PRECOMPUTED, check_domain, needs_nonnegative
from cutwise.reference.resources import one_thread
from cutwise.table.intake import (
    Seed,
    check_integer,
    check_n_init,
    check_n_jobs,
    check_option,
    check_unread,
    check_verbose,
    read_random_state,
)
from cutwise.table.table import Table

APPROXIMATIONS = (None, "nystroem")
_WEIGHT_RATIO = 2.0**40

CONSTANTS = ("gamma", "degree", "coef0", "beta")
KERNEL_PARAMETERS = ("kernel", *CONSTANTS, "approximation", "n_components")
"""Parameters that define distances."""


@dataclass(frozen=True)
class KernelRecipe:
    """All parameters of a kernel clustering, without the rows."""

    kernel: Any
    constants: dict[str, Any]  # gamma, degree, coef0 and beta
    n_components: int | None  # landmarks of a Nystrom approximation; None for the kernel itself
    init: str
    n_init: int
    max_iter: int
    n_jobs: int
    verbose: int
    landmarks: np.random.Generator
    starts: np.random.Generator
    mapping: NystroemMap | None = None

    @classmethod
    def of(cls, estimator: Any) -> KernelRecipe:
        """Check the parameters of an estimator; ``init`` and ``max_iter`` may be missing."""
        check_option("approximation", estimator.approximation, APPROXIMATIONS)
        n_components = check_integer("n_components", estimator.n_components, minimum=1)
        seeds = read_random_state(estimator.random_state).randint(2**31 - 1, size=4)
        landmarks, starts = np.random.default_rng(seeds).spawn(2)
        return cls(
            kernel=estimator.kernel,
            constants={name: getattr(estimator, name) for name in CONSTANTS},
            n_components=None if estimator.approximation is None else n_components,
            init=check_option("init", getattr(estimator, "init", "k-means++"), INITS),
            n_init=check_n_init(estimator.n_init),
            max_iter=check_integer("max_iter", getattr(estimator, "max_iter", 300), minimum=1),
            n_jobs=check_n_jobs(estimator.n_jobs),
            verbose=check_verbose(estimator.verbose),
            landmarks=landmarks,
            starts=starts,
        )

    def space(self, table: Table, sample_weight: Float64 | None, stages: Stages, **how: Any) -> FeatureSpace:
        """Map rows to feature space; ``matrix``, ``keep`` and ``merge_by`` as in ``feature_space``."""
        with stages.stage("kernel"):
            space = feature_space(
                table, sample_weight, self.kernel, self.constants, n_components=self.n_components,
                mapping=self.mapping, rng=self.landmarks, n_jobs=self.n_jobs, **how,
            )  # fmt: skip
        if self.n_components is not None:
            stages.say(f"nystroem: the features lack {space.approximation_error:.2%} of the kernel's trace")
        return space

    def cluster(self, space: FeatureSpace, n_clusters: int, stages: Stages) -> Partition:
        """Cluster the rows of a feature space."""
        _check_sums(space)
        formula = space.kernel.formula
        if formula is not None and formula.has_unit_diagonal and space.n_rows > n_clusters:
            _check_similarity(space, self.constants["gamma"] is None)
        with stages.stage("kernel k-means"):
            found = kernel_kmeans(
                space, n_clusters, init=self.init, n_init=self.n_init, max_iter=self.max_iter, rng=self.starts,
                n_jobs=self.n_jobs, verbose=max(self.verbose - 1, 0),
            )  # fmt: skip
        _check_weights(space, found.cost)
        return found


def _check_sums(space: FeatureSpace) -> None:
    """Raise an error if sums of the kernel over all pairs of rows, from which costs come, may be beyond float64."""
    weight = float(space.weights.sum())
    if space.scale > np.finfo(np.float64).max / max(weight, 1.0) ** 2:
        raise InvalidInputError(
            f"The kernel of a row with itself is {space.scale:.6g}, and sums of so large values over all pairs of rows "
            "are beyond float64. Scale the columns, or choose another kernel."
        )


def _check_weights(space: FeatureSpace, cost: float) -> None:
    """Raise an error if weights differ so much that the cost, a small difference of large sums, is only rounding."""
    least, largest = float(space.weights[space.weights > 0].min()), float(space.weights.max())
    if largest > _WEIGHT_RATIO * least and cost * _WEIGHT_RATIO < float(space.weights @ np.abs(space.gram.diagonal)):
        raise InvalidInputError(
            f"sample_weight goes from {least:.6g} to {largest:.6g}, and the cost of the clusters is lost in the "
            "rounding of the heavy rows' share. Use weights closer to each other, or 0 for rows that do not count."
        )


def _check_similarity(space: FeatureSpace, is_default: bool) -> None:
    """Warn if a kernel between 0 and 1 has the same value for all pairs of rows, so that clusters are arbitrary."""
    least, largest = space.mean_similarity
    if least > 1 - 1e-13:
        extreme, found, better = "small", "no row can be told from another", "larger"
    elif largest < 1e-9:
        extreme, found, better = "large", "no row is like any other", "smaller"
    else:
        return
    step = f"Use a {better} one, or None for one that suits the spread of the columns."
    if is_default and extreme == "small":
        step = "Multiply X by a constant: its differences are too small for float64."
    gamma = f"gamma={space.kernel.constants.gamma:g}"
    warn(CutwiseWarning(f"{gamma} is so {extreme} that {found}, and the clusters are arbitrary. {step}"))


@fill_doc
@dataclass(eq=False, repr=False)
class KernelKMeans(CenterClusterer):
    """k-means in the feature space of a kernel: clusters need not be convex, and centers are not points of the input.

    Parameters
    ----------
    {n_clusters}
    kernel : str or callable, default="rbf"
        ``"rbf"``: ``exp(-gamma |x - y|^2)``; ``"laplacian"``: ``exp(-gamma |x - y|_1)``; ``"additive_chi2"``: sum of
        ``2 x y / (x + y)``; ``"chi2"``: ``exp(-gamma * sum of (x - y)^2 / (x + y))``; ``"hellinger"``: sum of
        ``sqrt(x y)``; ``"histogram_intersection"``: sum of ``min(x^beta, y^beta)``; ``"polynomial"``:
        ``(gamma x.y + coef0)^degree``; ``"linear"``: ``x.y``; ``"precomputed"``: ``X`` is the kernel matrix. 0/0 is 0.
        A callable takes arrays of shapes (n, d) and (m, d) and gives one of shape (n, m), or takes two rows and gives
        a number. scikit-learn's ``additive_chi2_kernel`` is minus a distance; the one here is the kernel of the same
        distance.
    gamma : float, default=None
        None: 1 over the sum of the columns' variances for ``"rbf"`` and ``"polynomial"`` (as scikit-learn's "scale",
        with each column's own variance), of their standard deviations for ``"laplacian"``, of variance over mean for
        ``"chi2"``. The other kernels have none.
    {degree, coef0, beta}
    init : {"k-means++", "random"}, default="k-means++"
        Starts from k-means along the main directions of feature space and from rows far apart, or from random labels.
    n_init : int or "auto", default=10
        Number of starts (``"auto"`` is 10); the clustering of the lowest cost is kept. With ``"k-means++"`` the starts
        are those of k-means along the main directions, and half as many more are made in feature space itself; with
        fewer than ten rows per cluster all are made there.
    max_iter : int, default=300
        Iterations of a start at most, and as many moves of single rows after them.
    approximation : {None, "nystroem"}, default=None
        None computes the kernel matrix of all distinct rows. ``"nystroem"`` replaces the kernel by products of
        ``n_components`` features, for tables whose kernel matrix would not fit in memory.
    {n_components}
    random_state : int, RandomState instance or None, default=None
        Seeds starts and landmarks.
    {n_jobs}
    verbose : int, default=0
        1 prints each stage and its seconds to standard error, 2 also every start. 1 also prints the error of the
        approximation.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each training row.
    cost_, inertia_ : float
        Weighted sum of squared distances in feature space to the clusters' means. With an approximation: in the space
        of its features.
    n_iter_ : int
        Iterations of the best start, and moves of single rows.
    {gamma_, approximation_error_, n_features_in_, feature_names_in_}

    Notes
    -----
    Equal rows are merged, and the distinct rows are sorted by their values: the same table in another order gives the
    same clusters, and an integer weight equals a repeated row (not for ``"precomputed"``, where rows have no values).
    The matrix takes 8 bytes for each pair of distinct rows.

    The labels are those of ``predict``, each row's nearest mean, unless ``max_iter`` stopped the iterations early.

    References
    ----------
    Dhillon, Guan, Kulis (2004), *Kernel k-means, spectral clustering and normalized cuts*. Fleissner, Vankadara,
    Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*, Section 2 and Appendices B and H.

    Examples
    --------
    >>> from cutwise import KernelKMeans
    >>> X = [[0.0, 0.0], [0.1, 0.0], [3.0, 0.0], [3.1, 0.1]]
    >>> model = KernelKMeans(n_clusters=2, gamma=1.0, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    beta: float = 1
    init: Literal["k-means++", "random"] = "k-means++"
    n_init: int | Literal["auto"] = 10
    max_iter: int = 300
    approximation: Literal["nystroem"] | None = None
    n_components: int = 100
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Finite numbers. For ``kernel="precomputed"`` the kernel matrix, of shape (n_samples, n_samples).
        {y}
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; none negative, not all 0. Rows of weight 0 get the nearest cluster.

        Returns
        -------
        self : KernelKMeans

        Raises
        ------
        InvalidInputError
            A parameter, a value or a weight that cannot be used; negative values for a kernel of histograms; a
            precomputed kernel that is not square or not symmetric; a kernel matrix that would not fit in memory.

        Warns
        -----
        NotPositiveDefiniteWarning
            A squared distance below 0.
        """
        check_unread(y)
        with one_thread():
            return self._fit(X, sample_weight)

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The nearest cluster of every row, by the distance in feature space to the mean of its training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the columns of fit. For ``kernel="precomputed"`` the kernel of each with the training rows, of
            shape (n_samples, number of training rows).

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32

        Raises
        ------
        {NotFittedError, ColumnMismatchError}
        InvalidInputError
            No rows, or values outside the kernel's domain.
        """
        table = self._kernel_rows(X)
        return self._centers.nearest(table.values, check_n_jobs(self.n_jobs))

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Distance in feature space of every row to the mean of each cluster's training rows.

        Parameters
        ----------
        {X}

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters), float64
            With an approximation: in the space of its features.

        Raises
        ------
        {NotFittedError, ColumnMismatchError}
        InvalidInputError
            No rows, or values outside the kernel's domain, or a precomputed kernel: that of new rows with themselves is
            not known.
        """
        table = self._kernel_rows(X)
        return self._centers.distances(table.values, check_n_jobs(self.n_jobs))

    def _costs_of(self, X: Any) -> Float64:
        table = self._kernel_rows(X)
        costs: Float64 = self._centers.costs(table.values, check_n_jobs(self.n_jobs)).min(axis=1)
        return costs

    def _kernel_rows(self, X: Any) -> Table:
        """Read and check rows: in the kernel's domain, or kernel values with the training rows."""
        table = self._read(X)
        check_domain(self._centers.kernel.name, table.values, table.columns)
        return table

    def _fit(self, X: Any, sample_weight: Any) -> Self:
        recipe = KernelRecipe.of(self)
        table, weights, stages = self._read_fit(X, sample_weight)
        k = self._n_features_out
        space = recipe.space(table, weights, stages, merge_by=table.values)
        partition = recipe.cluster(space, k, stages)
        self._centers = space.centers(partition.labels, k)
        warn_if_negative(space.costs(partition.labels, k), space.scale, space.row_of)
        self.labels_ = partition.labels[space.position]
        left_out = np.flatnonzero(space.position < 0)
        if len(left_out):
            self.labels_[left_out] = self._centers.nearest(table.values[left_out], recipe.n_jobs)
        self.cost_, self.n_iter_ = partition.cost, partition.n_iter
        self.gamma_ = space.kernel.constants.gamma
        self.approximation_error_ = space.approximation_error
        self._remember_columns(table)
        stages.say(f"cost {self.cost_:.6g} after {self.n_iter_} iterations")
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == PRECOMPUTED
        tags.input_tags.positive_only = needs_nonnegative(self.kernel)
        return tags
