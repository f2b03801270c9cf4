"""Kernel trees: the clustering in feature space that they are grown against, and how they grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from cutwise._progress import Stages
from cutwise.core import Float64, Int32
from cutwise.estimators.kernel_kmeans import KERNEL_PARAMETERS, KernelKMeans, KernelRecipe
from cutwise.estimators.training import FitContext, MetricSpace, TrainingRows, TreeCosts, encode_rows, is_clusterer
from cutwise.exceptions import InvalidInputError
from cutwise.reference.feature_space import FeatureSpace, KernelCenters, warn_if_negative
from cutwise.reference.fitted import fitted_labels, from_estimator
from cutwise.reference.gram import NystroemMap
from cutwise.reference.kernels import KERNELS, PRECOMPUTED, Kernel, check_domain
from cutwise.reference.objective import FEATURE_SPACE, KMEANS, LazyCosts, Reference, wrong_number
from cutwise.table.convert import as_dense
from cutwise.table.labels import read_labels
from cutwise.table.table import Table, as_matrix
from cutwise.tree.growing import GrownTree
from cutwise.tree.provider import Features, MemoryProvider
from cutwise.tree.recipes import RECIPES, grow_tree
from cutwise.tree.refine import Effort, SearchCheaper, expand_tree
from cutwise.tree.subtree import truncate_growth
from cutwise.tree.surrogate_features import SurrogateFeatures, surrogate_features

MAIN_COORDINATES = 32
"""Of feature space, in which trees are searched."""


@dataclass(frozen=True, eq=False)
class KernelContext(FitContext):
    """What a kernel tree is grown on, and what its clusters cost; centers have no coordinates, shape (k, 0)."""

    space: FeatureSpace = field(kw_only=True)  # the m rows in feature space, possibly merged otherwise
    costs: Float64 = field(kw_only=True)  # (m, k), squared distances to the reference clusters' means; equation (5)

    def cost_of_labels(self, codes: Int32) -> TreeCosts:
        """What clusters of the m rows cost: with means of their own, and with the reference's."""
        own = self.costs[np.arange(len(codes)), codes]
        return TreeCosts(
            cost=self.space.partition_cost(self._in_space(codes), self.n_clusters),
            surrogate_cost=self.space.cost_or_zero(self.rows.sum(own)),
            centers=None,
            distances=False,
        )

    def cost_of_each(self, partitions: Iterable[Int32]) -> list[float]:
        """``cost_of_labels(codes).cost`` of every one."""
        return [self.space.partition_cost(self._in_space(codes), self.n_clusters) for codes in partitions]

    def _nearly_cheapest(self, grown: GrownTree, sizes: list[int]) -> list[int]:
        """All of them: the means of leaves have no coordinates."""
        return sizes

    @cached_property
    def one_cluster_cost(self) -> float:
        """What the m rows cost around one mean in feature space."""
        return self.space.partition_cost(np.zeros(len(self.space.row_of), dtype=np.int32), 1)

    def centers(self, codes: Int32) -> KernelCenters:
        """The means of clusters in feature space; one without rows keeps the reference's."""
        reference = self._in_space(self.reference.labels)
        return self.space.centers(self._in_space(codes), self.n_clusters, instead=reference)

    def _in_space(self, codes: Int32) -> Int32:
        """Codes of the rows of the feature space from those of the m rows."""
        position = self.rows.encoded.position
        return codes[self.space.row_of if position is None else position[self.space.row_of]]


def make_kernel_context(
    estimator: Any,
    table: Table,
    metric: MetricSpace,
    matrix: Any,
    sample_weight: Float64 | None,
    stages: Stages,
) -> KernelContext:
    """Find the reference of an ``ExplainableKernelKMeans``, and what every row costs by each of its clusters.

    ``table`` has all n rows, ``metric`` the same where the kernel reads them; ``matrix`` is a precomputed kernel of
    shape (n, n), or None.
    """
    recipe = KernelRecipe.of(estimator)
    given, n_clusters = estimator.reference, int(estimator.n_clusters)
    labels: Int32 | None = None
    classes: npt.NDArray[Any] | None = None
    merge_by: Any = table.values
    if isinstance(given, KernelKMeans):
        recipe = _with_kernel_of(given, estimator, recipe, n_clusters)
        if _is_fitted(given):
            with stages.stage("reference clustering"):
                labels = fitted_labels(
                    given, metric.rows if matrix is None else matrix, table.n_rows, preprocessor=metric.preprocessor
                )
    elif given is not None:
        with stages.stage("reference clustering"):
            labels, classes = _given_labels(given, n_clusters, metric, sample_weight, recipe.n_jobs)
        merge_by = None  # equal rows may be labeled differently
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
        _refuse_empty(within, n_clusters)
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
    part = slice(None) if rows.encoded.row_of is None else rows.encoded.row_of
    costs = np.ascontiguousarray(in_space[space.position[part]])
    reference = replace(reference, labels=rows.compress(full))
    return KernelContext(rows, reference, full, sample_weight, given_classes=classes, space=space, costs=costs)


def _is_fitted(estimator: Any) -> bool:
    return hasattr(estimator, "labels_")


def _with_kernel_of(given: KernelKMeans, estimator: Any, recipe: KernelRecipe, n_clusters: int) -> KernelRecipe:
    """The recipe with the reference's own kernel, and its own iterations where it is not fitted yet."""
    defaults = type(estimator)().get_params(deep=False)
    for name in KERNEL_PARAMETERS:
        ours, theirs = getattr(estimator, name), getattr(given, name)
        if not _same(ours, theirs) and not _same(ours, defaults[name]):
            raise InvalidInputError(
                f"{name}={ours!r}, but reference=KernelKMeans has {name}={theirs!r}, and distances are measured in one "
                f"feature space.\nGive both the same, or leave {name} out here: the reference's kernel is then used."
            )
    if _is_fitted(given):
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
            given,
            metric.table,
            n_clusters,
            X=metric.rows,
            sample_weight=sample_weight,
            n_jobs=n_jobs,
            preprocessor=metric.preprocessor,
        )
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


def _refuse_empty(labels: Int32, n_clusters: int) -> None:
    empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    if len(empty):
        raise InvalidInputError(
            f"Cluster {empty[0]} of the reference has no row of positive weight, so it has no mean in feature space. "
            "Give a reference whose clusters all have rows here."
        )


def kinds_of_features(kernel: Any, wanted: str) -> list[str]:
    """Which kinds of surrogate features to try: all that the kernel has for ``"auto"``, else the wanted one."""
    every = list(surrogate_features(kernel)) if isinstance(kernel, str) else []
    name = "a kernel function" if callable(kernel) else f"kernel={kernel!r}"
    known = callable(kernel) or (isinstance(kernel, str) and kernel in KERNELS)
    if not every and known:  # what is no kernel is refused elsewhere
        raise InvalidInputError(
            f"algorithm='imm' cuts surrogate features, functions of one column each, and {name} has none.\n"
            "Use algorithm='exkmc' or algorithm='expand', which need the kernel's distances alone."
        )
    if known and wanted != "auto" and wanted not in every:
        raise InvalidInputError(
            f"surrogate_features={wanted!r} is not what {name} has. Use 'auto', which takes what is."
        )
    return every if wanted == "auto" else [wanted]


def features_of(kernel: Kernel, wanted: str, taylor_order: int) -> dict[str, SurrogateFeatures]:
    """The surrogate features to try, by kind; parameters as in ``kinds_of_features``."""
    constants = kernel.constants
    every = surrogate_features(kernel.name, gamma=constants.gamma, beta=constants.beta, taylor_order=taylor_order)
    return {kind: every[kind] for kind in kinds_of_features(kernel.name, wanted)}


def grow_kernel_tree(
    model: Any,
    context: KernelContext,
    features: dict[str, SurrogateFeatures],
    max_leaves: int,
    progress: Callable[[str, int], None],
    *,
    scaled: bool,
) -> tuple[GrownTree, str | None]:
    """Grow a tree against a clustering in feature space; also say which kind of features it cuts, if any.

    ``model``: whose parameters say how. ``features``: the kinds to try, for "imm" and "search". ``scaled``: whether the
    kernel reads a preprocessor's output.

    Of several trees it is the one of lowest cost, the first of equals: for "imm" of those of several kinds of features,
    for "search" of all that the other algorithms grow and of the one that the search finds.
    """
    rows, labels = context.rows, context.reference.labels

    costs = LazyCosts(rows.metric.matrix, None, weights=rows.weights, n_jobs=rows.n_jobs, given=context.costs)
    nowhere = np.zeros((context.n_clusters, rows.table.n_columns))  # centers have no coordinates in the columns

    def grow(algorithm: str, features: Features | None = None) -> GrownTree:
        return grow_tree(
            rows.encoded,
            labels,
            nowhere,
            costs,
            algorithm=algorithm,
            max_leaves=max_leaves,
            expansion=model.expansion,
            cuts=model.cuts,
            features=features,
            n_jobs=rows.n_jobs,
            progress=progress,
        )

    trees: list[tuple[str | None, GrownTree]] = [
        (kind, grow("kernel_imm", _of_input(own, rows) if scaled else own)) for kind, own in features.items()
    ]
    if model.algorithm == "search":
        trees += [(None, grow("exkmc")), (None, grow("expand"))]
        if context.n_clusters > 1:
            trees.append((None, _search(model, context, costs, max_leaves, progress)))
    elif model.algorithm != "imm":
        trees.append((None, grow(model.algorithm)))
    if len(trees) == 1:
        return trees[0][1], trees[0][0]
    cheapest = [context.cheapest_tree(grown) for _, grown in trees]
    best = int(np.argmin(context.cost_of_each(grown.codes for grown in cheapest)))
    return cheapest[best], trees[best][0]


def _search(
    model: Any, context: KernelContext, costs: LazyCosts, max_leaves: int, progress: Callable[[str, int], None]
) -> GrownTree:
    """The cheapest tree that a search finds in the main coordinates of feature space, by what it costs in all of it."""
    rows, reference, k = context.rows, context.reference, context.n_clusters
    part = slice(None) if rows.encoded.row_of is None else rows.encoded.row_of
    coordinates = context.space.main_coordinates(MAIN_COORDINATES)[context.space.position[part]]
    metric = as_matrix(np.ascontiguousarray(coordinates))
    means = rows.centers(KMEANS, reference.labels, k, raw=True)[0]
    starts = [
        truncate_growth(grow_tree(rows.encoded, reference.labels, means, costs, algorithm=name, max_leaves=k), k)
        for name in RECIPES["search"].starts
    ]
    search = SearchCheaper(
        rows.encoded,
        metric,
        KMEANS.centers(metric, reference.labels, k, rows.weights, rows.n_jobs)[0],
        reference.labels,
        means,
        lambda partitions, _: context.cost_of_each(parts() for parts in partitions),
        n_leaves=k,
        effort=Effort(),
        n_jobs=rows.n_jobs,
    )
    found = search.refine(starts)
    if max_leaves == k:
        return found
    return expand_tree(
        found,
        MemoryProvider(rows.encoded, reference.labels, costs, rows.n_jobs),
        expansion=model.expansion,
        max_leaves=max_leaves,
        n_clusters=k,
        progress=progress,
    )


def _of_input(features: SurrogateFeatures, rows: TrainingRows) -> list[SurrogateFeatures]:
    """Features of the input's columns, from those of the preprocessor's output: one for each column."""
    if rows.metric.n_columns == rows.table.n_columns:
        raw, scaled = rows.compress(rows.table.values), rows.metric.values
        columns = [_scaled_column(raw, scaled, j) for j in range(rows.table.n_columns)]
        if all(column is not None for column in columns):
            return [_OfScaled(features, *column) for column in columns if column is not None]
    raise InvalidInputError(
        "algorithm='imm' cuts functions of single columns, so each column of the preprocessor's output must be a "
        "non-decreasing function of the same column of X, as with StandardScaler or MinMaxScaler. "
        "This preprocessor's is not.\nUse algorithm='exkmc' or 'expand' with it, or a scaler."
    )


def _scaled_column(raw: Any, scaled: Any, column: int) -> tuple[Float64, Float64] | None:
    """The distinct values of a column and what the preprocessor made of them; None unless these follow their order."""
    before, after = (as_dense(part[:, [column]]).astype(np.float64).ravel() for part in (raw, scaled))
    values, first, inverse = np.unique(before, return_index=True, return_inverse=True)
    made = after[first]
    if (made[inverse.ravel()] != after).any() or (np.diff(made) < 0).any():
        return None
    return values, made


@dataclass(frozen=True, eq=False)
class _OfScaled:
    """Features of a column after a non-decreasing function of its values, such as a scaler's."""

    features: SurrogateFeatures
    values: Float64
    scaled: Float64

    def of_column(self, values: Float64, exact: bool) -> Float64:
        """See :class:`SurrogateFeatures`."""
        return self.features.of_column(np.interp(values, self.values, self.scaled), exact)
