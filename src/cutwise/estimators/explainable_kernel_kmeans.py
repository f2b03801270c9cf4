"""Kernel k-means whose clusters are the leaves of a threshold tree: the reference, and the growth of trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cutwise._docs import fill_doc
from cutwise._progress import Stages, all_or_nothing
from cutwise.core import Float64, Int32
from cutwise.estimators._base import HasLimits, TreeClusterer
from cutwise.estimators.explainable_kmeans import grow_starts
from cutwise.estimators.kernel_kmeans import KERNEL_PARAMETERS, KernelKMeans, KernelRecipe
from cutwise.estimators.training import (
    FitContext,
    Growth,
    MetricSpace,
    PreparedFit,
    TrainingRows,
    TreeCosts,
    encode_rows,
    is_clusterer,
)  # fmt: skip
from cutwise.exceptions import InvalidInputError, ModelFileError
from cutwise.readouts.metrics import adjusted_rand, contingency, normalized_information
from cutwise.reference.feature_space import FeatureSpace, KernelCenters, NystroemMap, warn_if_negative
from cutwise.reference.fitted import fitted_labels, from_estimator
from cutwise.reference.kernels import KERNELS, PRECOMPUTED, check_domain, needs_nonnegative
from cutwise.reference.objective import FEATURE_SPACE, KMEANS, Measure, Reference, wrong_number
from cutwise.reference.resources import one_thread
from cutwise.table.convert import as_dense
from cutwise.table.intake import check_integer, check_n_jobs, check_number, check_option, read_table
from cutwise.table.labels import read_labels
from cutwise.table.table import Table, as_matrix
from cutwise.tree.growing import GrownTree
from cutwise.tree.provider import Features, GrowthSpec
from cutwise.tree.recipes import CUTS, EXPANSIONS, RECIPES, Expansion, recipes_for
from cutwise.tree.refine import SearchCheaper, expand_tree
from cutwise.tree.surrogate_features import SurrogateFeatures, surrogate_features

MAIN_COORDINATES = 32
"""Number of main coordinates of feature space in which a search measures trees."""


@dataclass(frozen=True, eq=False)
class KernelContext(FitContext):
    """Context of a kernel tree; the reference's centers have no coordinates, shape (k, 0).

    ``given_costs`` are squared distances to the means of the reference clusters; equation (5).
    """

    space: FeatureSpace = field(kw_only=True)  # the m rows in feature space, possibly merged otherwise

    @cached_property
    def coordinates(self) -> Float64:
        """Means of the clusters' rows in the columns, shape (k, D); only a search looks at them."""
        return self.rows.centers(KMEANS, self.reference.labels, self.n_clusters, raw=True)[0]

    def search(self) -> SearchCheaper:
        """A search in the main coordinates of feature space, judged by the cost in all of it."""
        rows, labels = self.rows, self.reference.labels
        coordinates = self.space.main_coordinates(MAIN_COORDINATES)[rows.compress(self.space.position)]
        metric = as_matrix(np.ascontiguousarray(coordinates))
        centers = KMEANS.centers(metric, labels, self.n_clusters, rows.weights, rows.n_jobs)[0]
        return replace(super().search(), metric=metric, centers=centers, n_jobs=rows.n_jobs)

    def cost_of_labels(self, codes: Int32) -> TreeCosts:
        """Costs of the clusters of the m rows, with their own means and with the reference's."""
        assert self.given_costs is not None
        own = self.given_costs[np.arange(len(codes)), codes]
        return TreeCosts(
            cost=self.space.partition_cost(self._in_space(codes), self.n_clusters),
            surrogate_cost=self.space.cost_or_zero(self.rows.sum(own)),
            centers=None,
            distances=False,
        )

    def cost_of_each(self, group: Int32, partitions: Iterable[Int32]) -> list[float]:
        """See :class:`FitContext`."""
        return [self.space.partition_cost(self._in_space(part[group]), self.n_clusters) for part in partitions]

    @cached_property
    def one_cluster_cost(self) -> float:
        """Cost of the m rows around one mean in feature space."""
        return self.space.partition_cost(np.zeros(len(self.space.row_of), dtype=np.int32), 1)

    def centers(self, codes: Int32) -> KernelCenters:
        """The means of clusters in feature space; a cluster without rows keeps the reference's mean."""
        reference = self._in_space(self.reference.labels)
        return self.space.centers(self._in_space(codes), self.n_clusters, instead=reference)

    def _in_space(self, codes: Int32) -> Int32:
        """Codes of the rows of the feature space from those of the m rows."""
        position = self.rows.encoded.position
        return codes[self.space.row_of if position is None else position[self.space.row_of]]


def make_kernel_context(
    estimator: Any, table: Table, metric: MetricSpace, matrix: Any, sample_weight: Float64 | None, stages: Stages
) -> KernelContext:
    """Find the reference of an ``ExplainableKernelKMeans``, and the cost of every row by each of its clusters.

    ``table``: all n rows. ``metric``: the n rows as input of the kernel. ``matrix``: a precomputed kernel of shape
    (n, n), or None.
    """
    recipe = KernelRecipe.of(estimator)
    given, n_clusters = estimator.reference, int(estimator.n_clusters)
    labels: Int32 | None = None
    classes: npt.NDArray[Any] | None = None
    merge_by: Any = table.values
    if isinstance(given, KernelKMeans):
        recipe = _with_kernel_of(given, estimator, recipe, n_clusters)
        if hasattr(given, "labels_"):
            with stages.stage("reference clustering"):
                labels = fitted_labels(
                    given, metric.rows if matrix is None else matrix, table.n_rows, preprocessor=metric.preprocessor
                )
    elif given is not None:
        with stages.stage("reference clustering"):
            labels, classes = _given_labels(given, n_clusters, metric, sample_weight, recipe.n_jobs)
        own = labels[:, np.newaxis]  # equal rows may be labeled differently
        if sparse.issparse(merge_by):
            merge_by = sparse.hstack([merge_by, sparse.csr_array(own)], "csr")
        else:
            merge_by = np.hstack([merge_by, own])
    if metric.preprocessor is not None and isinstance(recipe.kernel, str):
        check_domain(recipe.kernel, metric.table.values, metric.table.columns, what="the preprocessor's output")
    keep = None if labels is None or not (labels < 0).any() else labels >= 0
    space = recipe.space(metric.table, sample_weight, stages, matrix=matrix, keep=keep, merge_by=merge_by)
    if labels is None:
        within = recipe.cluster(space, n_clusters, stages).labels
        full = within[space.position]
        out = np.flatnonzero(space.position < 0)
        if len(out):
            values = metric.table.values if matrix is None else matrix
            full[out] = space.centers(within, n_clusters).nearest(values[out], recipe.n_jobs)
    else:
        within, full = labels[space.row_of], labels
        if len(empty := np.flatnonzero(np.bincount(within, minlength=n_clusters) == 0)):
            label = empty[0] if classes is None else classes[empty[0]]
            raise InvalidInputError(
                f"Cluster {label} of the reference has no row of positive weight, so it has no mean in feature "
                "space. Give a reference whose clusters all have rows here."
            )
    with stages.stage("distances"):
        in_space = space.costs(within, n_clusters)
        warn_if_negative(in_space, space.scale, space.row_of)
        cost = space.partition_cost(within, n_clusters)
        reference = Reference(full, np.empty((n_clusters, 0)), cost, FEATURE_SPACE)
    with stages.stage("encoding"):
        rows = encode_rows(
            table,
            metric.table,
            sample_weight,
            keep=keep,
            shared=full,
            merge=space.kernel.name != PRECOMPUTED,  # equal rows may have different kernel values
            n_jobs=recipe.n_jobs,
        )
    costs = np.ascontiguousarray(in_space[rows.compress(space.position)])
    reference = replace(reference, labels=rows.compress(full))
    return KernelContext(rows, reference, full, sample_weight, KMEANS, costs, classes, space=space)


def _with_kernel_of(given: KernelKMeans, estimator: Any, recipe: KernelRecipe, n_clusters: int) -> KernelRecipe:
    """The recipe with the reference's kernel, and with its other parameters if it is not fitted yet."""
    defaults = type(estimator)().get_params(deep=False)
    for name in KERNEL_PARAMETERS:
        ours, theirs = getattr(estimator, name), getattr(given, name)
        if not _same(ours, theirs) and not _same(ours, defaults[name]):
            raise InvalidInputError(
                f"{name}={ours!r}, but reference=KernelKMeans has {name}={theirs!r}, and distances are measured in one "
                f"feature space.\nGive both the same, or leave {name} out here: the reference's kernel is then used."
            )
    if hasattr(given, "labels_"):
        check_is_fitted(given)
        found = given._centers.n_clusters
        if found != n_clusters:
            raise wrong_number("reference=KernelKMeans", found, n_clusters)
        centers = given._centers
        n_components = None if given.approximation is None else given.n_components
        if centers.kernel.name == PRECOMPUTED:
            return replace(recipe, kernel=PRECOMPUTED, n_components=n_components)
        mapping = None
        if centers.projection is not None:
            mapping = NystroemMap(np.empty(0, dtype=np.intp), centers.rows, centers.projection)
        return replace(recipe, kernel=centers.kernel, n_components=n_components, mapping=mapping)
    if given.n_clusters != n_clusters:
        raise wrong_number("reference=KernelKMeans", given.n_clusters, n_clusters)
    return replace(KernelRecipe.of(given), n_jobs=recipe.n_jobs, verbose=recipe.verbose)


def _same(first: Any, second: Any) -> bool:
    return first is second or (type(first) in (str, int, float) and first == second)


def _given_labels(
    given: Any, n_clusters: int, metric: MetricSpace, sample_weight: Float64 | None, n_jobs: int
) -> tuple[Int32, npt.NDArray[Any] | None]:
    """Codes of all rows, from a clusterer or given labels, -1 for noise; and the given labels by code."""
    n_rows = metric.table.n_rows
    if is_clusterer(given):
        full = from_estimator(
            given, metric.table, n_clusters, Measure(sample_weight=sample_weight, n_jobs=n_jobs), X=metric.rows,
            preprocessor=metric.preprocessor,
        )  # fmt: skip
        return full.labels, None
    if np.ndim(given) != 1:
        raise InvalidInputError(
            f"reference has {np.ndim(given)} dimensions, but must be a label for each row, a clusterer or None. "
            "Centers of a kernel clustering are points of its feature space and cannot be given as rows: give labels."
        )
    labels = read_labels(given, n_rows, what="reference", estimator="ExplainableKernelKMeans")
    if labels.n_clusters != n_clusters:
        raise wrong_number("reference", labels.n_clusters, n_clusters)
    return labels.codes, labels.classes


def kinds_of_features(kernel: Any, wanted: str) -> list[str]:
    """Kinds of surrogate features to try: all that the kernel has for ``"auto"``, else the wanted one."""
    every = list(surrogate_features(kernel)) if isinstance(kernel, str) else []
    name = "a kernel function" if callable(kernel) else f"kernel={kernel!r}"
    known = callable(kernel) or (isinstance(kernel, str) and kernel in KERNELS)
    if not every and known:  # unknown kernels raise an error elsewhere
        raise InvalidInputError(
            f"algorithm='imm' cuts surrogate features, functions of one column each, and {name} has none.\n"
            "Use algorithm='search', 'exkmc' or 'expand', which need only the kernel's distances."
        )
    if known and wanted != "auto" and wanted not in every:
        raise InvalidInputError(f"surrogate_features={wanted!r} is not available for {name}. Use 'auto'.")
    return every if wanted == "auto" else [wanted]


def _of_input(features: SurrogateFeatures, rows: TrainingRows) -> list[SurrogateFeatures]:
    """Surrogate features of each input column, from features of the preprocessor's output."""
    tables, found = (rows.compress(rows.table.values), rows.metric.values), list[SurrogateFeatures]()
    for j in range(rows.table.n_columns if rows.metric.n_columns == rows.table.n_columns else 0):
        before, after = (as_dense(table[:, [j]]).astype(np.float64).ravel() for table in tables)
        values, first, inverse = np.unique(before, return_index=True, return_inverse=True)
        scaled = after[first]
        if (scaled[inverse.ravel()] == after).all() and (np.diff(scaled) >= 0).all():
            found.append(partial(_of_scaled, features, values, scaled))
    if len(found) < rows.table.n_columns:
        raise InvalidInputError(
            "algorithm='imm' cuts functions of single columns, so each column of the preprocessor's output must be a "
            "non-decreasing function of the same column of X, as with StandardScaler or MinMaxScaler. "
            "This preprocessor's is not.\nUse algorithm='search', 'exkmc' or 'expand' with it, or a scaler."
        )
    return found


def _of_scaled(features: SurrogateFeatures, own: Float64, scaled: Float64, values: Float64, exact: bool) -> Float64:
    """Features of a column after a non-decreasing function of its values, such as a scaler's."""
    return features(np.interp(values, own, scaled), exact)


Algorithm = Literal["imm", "exkmc", "expand", "search"]
ALGORITHMS = ("imm", *recipes_for("kernel"))
FEATURES = ("auto", "taylor", "kernel")


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class ExplainableKernelKMeans(HasLimits, TreeClusterer):
    """Kernel k-means whose clusters are the leaves of a small tree of tests on single columns.

    Kernel k-means serves as reference: its clusters need not be convex, and its centers are no points of the input. The
    tree that approximates it tests the input's own columns all the same, by thresholds (``x <= 3.4``) and intervals
    (``1.2 < x <= 3.4``), and the tree is the model: ``predict`` never computes a kernel.

    Parameters
    ----------
    {n_clusters, max_leaves}
    algorithm : {"imm", "exkmc", "expand", "search"}, default="imm"
        ``"imm"``, Kernel IMM, gives every cluster a leaf, by cuts of surrogate features that separate the fewest rows
        from their reference center. ``"exkmc"`` and ``"expand"`` grow to ``max_leaves`` from an empty tree, best cut
        first, by the rows' costs under the reference centers or by the rows whose cluster differs from the reference;
        they need not give every cluster a leaf, and work with any kernel. ``"search"`` searches for a tree of
        thresholds that costs less, and takes the cheapest of that and of the others' trees.
    search_effort : float, default=1.0
        Effort of ``"search"``, as in :class:`ExplainableKMeans`; 0 takes the cheapest of the other algorithms' trees.
    expansion : {"exkmc", "expand"}, default="exkmc"
        How a tree with one leaf per cluster grows to ``max_leaves``. Only Kernel IMM makes one.
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
        Whether tests may be intervals, or only thresholds, as always under ``cut_features`` or ``min_samples_leaf``.
    {cut_features, max_depth, min_samples_leaf}
    approximation : {None, "nystroem"}, default=None
        As in :class:`KernelKMeans`. Costs are then those in the space of the approximate features.
    reference : KernelKMeans, clusterer or array-like of shape (n_samples,), default=None
        The clustering to approximate: None for kernel k-means, a clusterer (fitted or not) for its labels, or a label
        for each row, -1 for noise. A :class:`KernelKMeans` brings its kernel along, so the kernel's parameters must
        then be the same here, or left out. Its centers are the means of its clusters' rows in feature space.
    preprocessor : transformer, default=None
        Distances are measured in its output (a scaler's, say), rules stay in the columns and units of ``X``. Kernel IMM
        needs one that changes every column by itself and keeps its order, such as a scaler.
    n_init : int or "auto", default=10
        Number of starts of the reference (``"auto"`` is 10), as in :class:`KernelKMeans`.
    random_state : int, RandomState instance or None, default=None
        Seeds the reference, and the landmarks of the approximation. The tree uses no randomness.
    {n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_}
    cost_, inertia_ : float
        Weighted sum of squared distances in feature space to the means of the tree's clusters.
    surrogate_cost_ : float
        ``cost_`` by the means of the reference's clusters instead of the tree's.
    cost_ratio_ : float
        ``cost_`` divided by ``reference_.cost``; nan where the latter is 0. Where the kernel is bounded and costs are
        high anyway, ratios near 1 come easily (kernel paper, Section 7): look at the agreement too.
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
    {preprocessor_, n_features_in_, cluster_names_, feature_names_in_, limits_price_}

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
        "limits_price",
    )  # fmt: skip
    _further = ("surrogate_features",)
    _recipes = RECIPES | {"imm": RECIPES["kernel_imm"]}

    algorithm: Algorithm = "imm"
    search_effort: float = 1.0
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

    @all_or_nothing
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
            A parameter, a value or a weight that cannot be used; ``algorithm="imm"`` with limits or a kernel that has
            no surrogate features; negative values for a kernel of histograms; a precomputed kernel that is not square
            or not symmetric; a kernel matrix that would not fit in memory.

        Warns
        -----
        UnseparableCentersWarning
            Reference clusters that no cut can separate.
        EmptyClusterWarning
            A cluster that ended without rows.
        NotPositiveDefiniteWarning
            A squared distance below 0.
        """
        with self._prepare(X, y, sample_weight, feature_names=feature_names, K=K) as prepared:
            return self._grow_and_publish(prepared)

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
        {NotFittedError, ColumnMismatchError}
        ModelFileError
            The model was loaded from a file: it has no training rows, and so no means.
        InvalidInputError
            No rows, or values outside the kernel's domain, or a precomputed kernel: that of new rows with themselves is
            not known.
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
        check_number("search_effort", self.search_effort, minimum=0, maximum=1e6)
        self._check_limits(n_clusters)

    @contextmanager
    def _prepare(self, *given: Any, **named: Any) -> Iterator[PreparedFit]:
        with one_thread(), super()._prepare(*given, **named) as prepared:
            yield prepared

    def _make_context(
        self, table: Table, space: MetricSpace, sample_weight: Any, stages: Stages, K: Any
    ) -> KernelContext:
        return make_kernel_context(self, table, space, self._read_matrix(K, table), sample_weight, stages)

    def _grow(self, fit: PreparedFit) -> Growth:
        """Grow the cheapest of several trees, of the fewest leaves, the first among equals.

        For "imm" one for each kind of surrogate features, for "search" the trees of all other algorithms that apply and
        the tree that the search finds.
        """
        context, grow = fit.context, fit.context.grower()
        assert isinstance(context, KernelContext)
        spec = GrowthSpec(
            self.algorithm, fit.max_leaves, self.expansion, cuts=self.cuts, limits=fit.limits,
            progress=fit.stages.leaves,
        )  # fmt: skip
        features, is_search = self._features(context, spec), self.algorithm == "search"
        others = ("exkmc", "expand") if is_search else (self.algorithm,) if self.algorithm != "imm" else ()
        specs = [replace(spec, algorithm="kernel_imm", features=own) for own in features.values()]
        trees = [grow(each) for each in (*specs, *(replace(spec, algorithm=name) for name in others))]
        if is_search and self.search_effort > 0 and context.n_clusters > 1:
            trees.append(self._search_tree(fit, replace(spec, cuts="threshold")))
        best = 0
        if len(trees) > 1:
            trees = [context.cheapest_tree(grown) for grown in trees]
            costs = [context.cost_of_labels(grown.codes).cost for grown in trees]
            best = min(range(len(trees)), key=lambda at: (costs[at], trees[at].tree.n_leaves))
        return Growth(trees[best], {"surrogate_features_": dict(enumerate(features)).get(best)})

    def _search_tree(self, fit: PreparedFit, spec: GrowthSpec) -> GrownTree:
        """The tree of a search, with leaves added beyond k."""
        context, k = fit.context, fit.context.n_clusters
        search = replace(context.search(), effort=self.search_effort, limits=spec.limits)
        grown_by, _ = grow_starts(context, replace(spec, max_leaves=k), search)
        found = search.search(list(grown_by.values()))[0]
        return found if fit.max_leaves == k else expand_tree(found, context.provider(), k, spec)

    def _features(self, context: KernelContext, spec: GrowthSpec) -> dict[str, Features]:
        """The surrogate features to try, by kind; none for a search if Kernel IMM does not apply."""
        kernel, rows = context.space.kernel, context.rows
        applies = self.preprocessor is None and spec.limits is None and surrogate_features(kernel.name)
        if self.algorithm != "imm" and not (self.algorithm == "search" and applies):
            return {}
        constants = kernel.constants
        every = surrogate_features(
            kernel.name, gamma=constants.gamma, beta=constants.beta, taylor_order=self.taylor_order
        )
        kinds = kinds_of_features(kernel.name, self.surrogate_features)
        return {kind: every[kind] if rows.same_columns else _of_input(every[kind], rows) for kind in kinds}

    @property
    def _kernel(self) -> Any:
        """The kernel of distances: the reference's if it has one."""
        return self.reference.kernel if isinstance(self.reference, KernelKMeans) else self.kernel

    def _read_matrix(self, K: Any, table: Table) -> Any:
        """The given kernel matrix; None if the kernel is computed from ``X``, or if ``X`` is its matrix."""
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

    def _publish(self, fit: PreparedFit, growth: Growth) -> None:
        super()._publish(fit, growth)
        context, grown = fit.context, growth.grown
        assert isinstance(context, KernelContext)
        self.gamma_ = context.space.kernel.constants.gamma
        self.approximation_error_ = context.space.approximation_error
        self._centers = context.centers(grown.codes)
        together = contingency(grown.codes, context.reference.labels, context.rows.weights)
        self.adjusted_rand_index_ = adjusted_rand(together)
        self.normalized_mutual_info_ = normalized_information(together)

    def _metric_rows(self, X: Any, table: Table) -> Any:
        """Read and check rows as input of the kernel, for distances to the means of the tree's clusters."""
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
        rows = self._metric_rows(X, table)
        return self._centers.kernel_matrix(rows, check_n_jobs(self.n_jobs))

    def _costs_of(self, X: Any) -> npt.NDArray[np.float64]:
        table = self._read(X)
        codes, rows = self._codes(table), self._metric_rows(X, table)
        costs = self._centers.costs(rows, check_n_jobs(self.n_jobs))
        return costs[np.arange(len(codes)), codes]

    def _summary(self) -> str:
        if np.isnan(self.cost_):
            return super()._summary()
        return (
            f"{super()._summary()}; agreement with the reference: ARI "
            f"{self.adjusted_rand_index_:.4g}, NMI {self.normalized_mutual_info_:.4g}"
        )
