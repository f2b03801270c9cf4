"""Kernel k-means whose clusters are the leaves of a threshold tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from cutwise._docs import fill_doc
from cutwise._progress import Stages
from cutwise.estimators._base import TreeClusterer
from cutwise.estimators._explainable_kernel import (
    KernelContext,
    features_of,
    grow_kernel_tree,
    kinds_of_features,
    make_kernel_context,
)
from cutwise.estimators.kernel_kmeans import KernelKMeans
from cutwise.estimators.training import FitContext, MetricSpace
from cutwise.exceptions import InvalidInputError, ModelFileError
from cutwise.readouts.metrics import adjusted_rand, contingency, normalized_information
from cutwise.reference.kernels import PRECOMPUTED, Kernel, check_domain, needs_nonnegative
from cutwise.reference.resources import one_thread
from cutwise.table.intake import (
    check_integer,
    check_n_jobs,
    check_option,
    check_unread,
    read_table,
)
from cutwise.table.table import Table
from cutwise.tree.growing import GrownTree
from cutwise.tree.recipes import CUTS, EXPANSIONS, Expansion, recipes_for
from cutwise.tree.surrogate_features import SurrogateFeatures, surrogate_features

Algorithm = Literal["imm", "exkmc", "expand", "search"]
ALGORITHMS = ("imm", *recipes_for("kernel"))
FEATURES = ("auto", "taylor", "kernel")


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class ExplainableKernelKMeans(TreeClusterer):
    """Kernel k-means whose clusters are the leaves of a small tree of tests on single columns.

    Kernel k-means serves as reference: its clusters need not be convex, and its centers are no points of the input. The
    tree that approximates it tests the input's own columns all the same, by thresholds (``x <= 3.4``) and intervals
    (``1.2 < x <= 3.4``), and the tree is the model: ``predict`` never computes a kernel.

    Parameters
    ----------
    {n_clusters, max_leaves}
    algorithm : {"imm", "exkmc", "expand", "search"}, default="imm"
        ``"imm"``, Kernel IMM, gives every cluster a leaf, by cuts of surrogate features that part the fewest rows from
        their reference center. ``"exkmc"`` and ``"expand"`` grow to ``max_leaves`` from an empty tree, best cut first,
        by the rows' costs under the reference centers or by the rows whose cluster differs from the reference; they
        need not give every cluster a leaf, and work with any kernel. ``"search"`` searches for a tree of thresholds
        that costs less, and takes the cheapest of that and of the others' trees.
    expansion : {"exkmc", "expand"}, default="exkmc"
        How a tree with one leaf a cluster grows to ``max_leaves``. Only Kernel IMM makes one.
    kernel : str or callable, default="rbf"
        See :class:`KernelKMeans`. For ``"precomputed"`` the matrix is given to ``fit`` as ``K``; without ``K``, ``X``
        itself is the matrix, and the rules are about kernel values with the training rows.
    gamma : float, default=None
        None: see :class:`KernelKMeans`.
    {degree, coef0, beta, n_components}
    surrogate_features : {"auto", "taylor", "kernel"}, default="auto"
        What Kernel IMM cuts. ``"taylor"``: the first ``taylor_order + 1`` features of the one-dimensional Gaussian
        kernel, on columns shifted to start at 0 where they have negative values; ``"kernel"``: for ``"rbf"`` and
        ``"laplacian"`` the kernel's values in each column with the rows, all of them in columns of up to 1,000 distinct
        values, 256 anchors in others. The linear, Hellinger, intersection and additive chi-squared kernels have feature
        maps of their own. ``"auto"`` tries what applies and keeps the tree of the lower cost.
    taylor_order : int, default=4
        The highest power of the Taylor features.
    cuts : {"interval", "threshold"}, default="interval"
        Whether tests may be intervals, or only thresholds.
    approximation : {None, "nystroem"}, default=None
        As in :class:`KernelKMeans`. Costs are then those in the space of the approximate features.
    reference : KernelKMeans, clusterer or array-like of shape (n_samples,), default=None
        The clustering to approximate: None for kernel k-means, a clusterer (fitted or not) for its labels, or a label
        for each row, -1 for noise. A :class:`KernelKMeans` brings its kernel along, so the kernel's parameters must
        then be the same here, or left out. Its centers are the means of its clusters' rows in feature space.
    preprocessor : transformer, default=None
        Distances are measured in its output (a scaler's, say), rules stay in the columns and units of ``X``. Kernel IMM
        needs one that changes every column by itself and keeps its order, such as a scaler.
    n_init : int, default=10
        Number of starts of the reference, as in :class:`KernelKMeans`.
    random_state : int, RandomState instance or None, default=None
        Seeds the reference, and the landmarks of the approximation. The tree uses no randomness.
    {n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_}
    cost_, inertia_ : float
        Weighted sum of squared distances in feature space to the means of the tree's clusters.
    surrogate_cost_ : float
        The same with the means of the reference's clusters.
    cost_ratio_ : float
        ``cost_`` over ``reference_.cost``; nan where the latter is 0. Where the kernel is bounded and costs are high
        anyway, ratios near 1 come easily (kernel paper, Section 7): look at the agreement too.
    {total_cost_, explained_, reference_explained_}
    adjusted_rand_index_, normalized_mutual_info_ : float
        Agreement of the tree's clusters with the reference's: 1 where they are the same, about 0 where they have
        nothing to do with each other.
    reference_ : Reference
        The clustering that the tree approximates: ``labels``, ``centers``, ``cost``. Labels are codes, and ``centers``
        have the shape (k, 0), for in feature space they have no coordinates; for the same reason there is no
        ``cluster_centers_``.
    surrogate_features_ : str or None
        The features of the tree that was kept: ``"taylor"``, ``"kernel"``, or ``"map"`` for a kernel's own feature map;
        None without Kernel IMM.
    {gamma_, approximation_error_, n_leaves_}
    classes_ : ndarray of shape (n_clusters,), int32 or the type of the labels given as reference
        The clusters by their codes in the tree.
    {preprocessor_, n_features_in_, cluster_names_, feature_names_in_}

    Notes
    -----
    The same input gives the same result, bit for bit, for any ``n_jobs``. ``transform`` and ``score`` measure distances
    in feature space and need the training rows for it; a model file does not hold them, so a loaded model has neither.

    References
    ----------
    Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*: Algorithms 1 (Kernel
    IMM), 2 (Kernel ExKMC) and 3 (Kernel Expand).

    Examples
    --------
    >>> from cutwise import ExplainableKernelKMeans
    >>> X = [[-2.0], [-1.9], [0.0], [0.1], [1.9], [2.0]]
    >>> model = ExplainableKernelKMeans(2, gamma=0.1, reference=[0, 0, 1, 1, 0, 0]).fit(X)
    >>> print(model.rules())
    cluster 0 (4 rows, 66.7 %; purity 100 %, coverage 100 %): (x0 <= -1 or x0 > 1)
    cluster 1 (2 rows, 33.3 %; purity 100 %, coverage 100 %): -1 < x0 <= 1
    """

    _takes_cheapest = True
    _figures = (
        *TreeClusterer._figures, "gamma", "approximation_error", "adjusted_rand_index", "normalized_mutual_info",
    )  # fmt: skip

    algorithm: Algorithm = "imm"
    expansion: Expansion = "exkmc"
    kernel: Any = "rbf"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1
    beta: float = 1
    n_components: int = 100
    surrogate_features: Literal["auto", "taylor", "kernel"] = "auto"
    taylor_order: int = 4
    cuts: Literal["interval", "threshold"] = "interval"
    approximation: Literal["nystroem"] | None = None

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, K: Any = None, feature_names: Any = None
    ) -> Self:
        """Cluster the rows, and grow the tree that explains the clusters.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Finite numbers.
        {y, sample_weight}
        K : array-like of shape (n_samples, n_samples), default=None
            The kernel matrix of the rows, for ``kernel="precomputed"``.
        {feature_names}

        Returns
        -------
        self : ExplainableKernelKMeans

        Raises
        ------
        InvalidInputError
            A parameter, a value or a weight that cannot be used; ``algorithm="imm"`` with a kernel that has no
            surrogate features; negative values for a kernel of histograms; a precomputed kernel that is not square or
            not symmetric; a kernel matrix that would not fit in memory.

        Warns
        -----
        UnseparableCentersWarning
            Reference clusters that no cut can part.
        EmptyClusterWarning
            A cluster that ended without rows.
        NotPositiveDefiniteWarning
            A squared distance below 0.
        """
        check_unread(y)
        with one_thread():
            return self._fit(X, sample_weight, feature_names, K=K)

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Distance of every row to the mean of each of the tree's clusters, in feature space.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows in the kernel's domain.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters), float64

        Raises
        ------
        ModelFileError
            The model was loaded from a file: it has no training rows, and so no means.
        InvalidInputError
            Values outside the kernel's domain, or a precomputed kernel: that of new rows with themselves is not known.
        """
        rows = self._metric_rows(X, self._read(X))
        return self._centers.distances(rows, check_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.preprocessor is None and needs_nonnegative(self._kernel)
        return tags

    # Pieces -----------------------------------------------------------------------------------------------------------

    def _check_own_parameters(self, n_clusters: int, max_leaves: int) -> None:
        check_option("algorithm", self.algorithm, ALGORITHMS)
        check_option("expansion", self.expansion, EXPANSIONS)
        check_option("surrogate_features", self.surrogate_features, FEATURES)
        check_option("cuts", self.cuts, CUTS)
        if self.algorithm == "imm":
            kinds_of_features(self._kernel, self.surrogate_features)
        check_integer("taylor_order", self.taylor_order, minimum=0)

    def _make_context(
        self, table: Table, space: MetricSpace, sample_weight: Any, stages: Stages, K: Any = None
    ) -> KernelContext:
        return make_kernel_context(self, table, space, self._read_matrix(K, table), sample_weight, stages)

    def _grow(self, context: FitContext, space: MetricSpace, max_leaves: int, stages: Stages) -> GrownTree:
        assert isinstance(context, KernelContext)
        scaled, features = space.preprocessor is not None, self._features(context.space.kernel)
        grown, self.surrogate_features_ = grow_kernel_tree(
            self, context, features, max_leaves, stages.leaves, scaled=scaled
        )
        return grown

    def _features(self, kernel: Kernel) -> dict[str, SurrogateFeatures]:
        """The surrogate features to try; a search does without where Kernel IMM cannot be had."""
        searched = self.algorithm == "search" and self.preprocessor is None and surrogate_features(kernel.name)
        if self.algorithm == "imm" or searched:
            return features_of(kernel, self.surrogate_features, self.taylor_order)
        return {}

    @property
    def _kernel(self) -> Any:
        """The kernel that distances come from: a reference brings its own."""
        return self.reference.kernel if isinstance(self.reference, KernelKMeans) else self.kernel

    def _read_matrix(self, K: Any, table: Table) -> Any:
        """The given kernel matrix; None where the kernel is computed, or ``X`` is its matrix."""
        is_given = isinstance(self._kernel, str) and self._kernel == PRECOMPUTED
        if K is not None and (not is_given or self.preprocessor is not None):
            raise InvalidInputError(
                f"K is a kernel matrix, and kernel={self._kernel!r} with preprocessor={self.preprocessor!r} is "
                "computed from X. Use kernel='precomputed' without a preprocessor, or leave K out."
            )
        if not is_given:
            return None
        shape = (table.n_rows, table.n_columns) if K is None else np.shape(K)
        if shape[:1] != (table.n_rows,) or shape != shape[:1] * 2:
            raise InvalidInputError(
                f"kernel='precomputed' needs the kernel matrix of the {table.n_rows} rows: fit(X, K=K) with K of shape "
                f"({table.n_rows}, {table.n_rows}), or X as that matrix; this one has the shape {shape}."
            )
        return None if K is None else read_table(K, what="K").values

    def _take_tree(self, context: FitContext, grown: GrownTree) -> None:
        super()._take_tree(context, grown)
        assert isinstance(context, KernelContext)
        self.gamma_ = context.space.kernel.constants.gamma
        self.approximation_error_ = context.space.approximation_error
        self._centers = context.centers(grown.codes)
        together = contingency(grown.codes, context.reference.labels, context.rows.weights)
        self.adjusted_rand_index_ = adjusted_rand(together)
        self.normalized_mutual_info_ = normalized_information(together)

    def _metric_rows(self, X: Any, table: Table) -> Any:
        """Rows as the kernel reads them, checked, for distances to the means of the tree's clusters."""
        if not hasattr(self, "_centers"):
            raise ModelFileError(
                "Distances in feature space are measured to means of training rows, and a model file does not hold "
                "those. Fit the model again; predict, apply, rules and explain need none."
            )
        metric = self._metric(X, table)
        check_domain(self._centers.kernel.name, metric.values, metric.columns)
        return metric.values

    def _kernel_matrix(self, X: Any, table: Table) -> npt.NDArray[np.float64]:
        """Inner products of rows in feature space."""
        return self._centers.kernel_matrix(self._metric_rows(X, table), check_n_jobs(self.n_jobs))

    def _costs_of(self, X: Any) -> npt.NDArray[np.float64]:
        table = self._read(X)
        codes, rows = self._codes(table), self._metric_rows(X, table)
        costs = self._centers.costs(rows, check_n_jobs(self.n_jobs))
        return costs[np.arange(len(codes)), codes]

    def _summary(self) -> str:
        return (
            f"{super()._summary()}; agreement with the reference: ARI "
            f"{self.adjusted_rand_index_:.4g}, NMI {self.normalized_mutual_info_:.4g}"
        )

    def _fitted_state(self) -> dict[str, Any]:
        return super()._fitted_state() | {"surrogate_features": self.surrogate_features_}

    def _restore_fitted(self, state: Mapping[str, Any]) -> None:
        super()._restore_fitted(state)
        self.surrogate_features_ = state["surrogate_features"]

    def _clear_figures(self) -> None:
        super()._clear_figures()
        self.adjusted_rand_index_ = self.normalized_mutual_info_ = float("nan")
