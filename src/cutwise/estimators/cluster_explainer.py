"""An estimator that explains an existing clustering, from any source: several trees, and the one that agrees best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import ClassifierTags

from cutwise import core
from cutwise._docs import fill_doc
from cutwise._progress import Stages, all_or_nothing, show_progress
from cutwise.core import Float64
from cutwise.estimators._base import UNKNOWN, HasLimits, TakesMixedTables, TreeEstimator
from cutwise.estimators._lazy import read_labels_of
from cutwise.estimators.training import FitContext, Growth, PreparedFit, encode_rows, fit_metric_space
from cutwise.exceptions import CutwiseWarning, InvalidInputError, listed, warn
from cutwise.passes.sources import LazyTable, as_lazy, check_column_name, lazy_cost
from cutwise.readouts.words import percent
from cutwise.reference.objective import KMEANS, Reference, sum_costs, sum_weights
from cutwise.table.intake import (
    Seed,
    check_max_leaves,
    check_n_jobs,
    check_number,
    check_option,
    pop_column,
    read_centers,
    read_costs,
    read_weights,
)
from cutwise.table.labels import Labels, read_labels
from cutwise.table.table import Table
from cutwise.tree.growing import LEVELS_A_CONDITION, GrownTree
from cutwise.tree.provider import GrowthSpec
from cutwise.tree.recipes import EXPANSIONS, RECIPES, Expansion, recipes_for, unless_refused
from cutwise.tree.refine_labels import refine_agreement
from cutwise.tree.subtree import prune_to_agreement, truncate_growth, without_empty_leaves

ATTEMPTS = 4
_MANY_CLUSTERS = 50


@dataclass(frozen=True, eq=False)
class LabelProblem:
    """A clustering to explain, and how to grow trees for it.

    ``grow``: see ``FitContext.grower``. ``spec``: parameters of the trees.
    """

    context: FitContext
    grow: Callable[[GrowthSpec], GrownTree]
    spec: GrowthSpec

    def up_to(self, max_leaves: int) -> LabelProblem:
        """The same with another number of leaves."""
        return replace(self, spec=replace(self.spec, max_leaves=max_leaves))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A grown tree and the figures it is judged by."""

    growth: str  # the algorithm that grew it
    grown: GrownTree
    agreement: int  # weight of the rows whose cluster is their label
    n_without_leaf: int  # clusters without a leaf
    explanation_size: float  # average number of conditions in a row's rule (WAES)

    @property
    def rank(self) -> tuple[int, int, float]:
        """Sort key, smaller is better: most agreement, then fewest clusters without a leaf, then shortest rules."""
        length = self.explanation_size + self.grown.n_further_levels / LEVELS_A_CONDITION
        return -self.agreement, self.n_without_leaf, length


def grow_all(problem: LabelProblem) -> dict[str, GrownTree]:
    """Grow the large trees that contain the candidates of ``"auto"``, by name, in order of preference among equals."""
    spec = replace(problem.spec, expansion="expand", gini=True)
    own = {name: replace(spec, algorithm=name) for name in RECIPES["auto"].starts}
    if problem.context.in_memory:  # otherwise so large a tree takes many passes over the rows
        own["cart"] = replace(own["cart"], max_leaves=_overgrown(spec.max_leaves))
    tried = problem.context.together(partial(unless_refused, problem.grow, each) for each in own.values())
    # Limits may make some fail, but not expand and cart, which may leave a cluster without a leaf.
    return {name: tree for name, tree in zip(own, tried, strict=True) if isinstance(tree, GrownTree)}


def candidates_of(problem: LabelProblem, grown: dict[str, GrownTree]) -> dict[str, Candidate]:
    """Every tree that ``"auto"`` chooses from, cut back from growths with as many leaves or more.

    Every leaf has rows, and the cluster with most of their weight.
    """
    trees = {name: truncate_growth(tree, problem.spec.max_leaves) for name, tree in grown.items()}
    if problem.context.in_memory:
        large, own = truncate_growth(grown["cart"], _overgrown(problem.spec.max_leaves)), problem.context
        trees["cart, pruned"] = prune_to_agreement(
            large, own.reference.labels, own.n_clusters, problem.spec.max_leaves, own.rows.weights
        )
    return {
        name: judge(problem, name, _with_majorities(without_empty_leaves(tree), problem))
        for name, tree in trees.items()
        if _is_allowed(problem, tree)
    }


def grow_until_every_cluster_has_a_leaf(problem: LabelProblem) -> dict[str, Candidate]:
    """Grow every tree of ``"auto"``, with a few more leaves where the best tree leaves a cluster without one.

    A small cluster may have no leaf in the tree that agrees best, because a leaf of its own would cost agreement
    elsewhere. Then the tree may grow further, up to two leaves a cluster, rather than agree less. Clusters that the
    columns cannot separate never get a leaf: if no other cluster lacks one, the number of attempts is limited.
    """
    context, most = problem.context, 2 * problem.context.n_clusters
    # Best-first growth contains all smaller trees. It takes long for many clusters, so it is done once.
    n_grown = most if context.in_memory and context.n_clusters > _MANY_CLUSTERS else problem.spec.max_leaves
    grown = grow_all(problem.up_to(n_grown))
    candidates, attempt = candidates_of(problem, grown), 0
    while (missing := best_candidate(candidates).n_without_leaf) and problem.spec.max_leaves < most:
        if attempt >= ATTEMPTS and missing <= _n_never_heaviest(context):
            break
        max_leaves = min(problem.spec.max_leaves + (missing << attempt), most)
        problem = problem.up_to(max_leaves)
        if max_leaves > n_grown:
            n_grown = min(max_leaves + 2 * missing, most) if attempt == 0 else most
            grown = grow_all(problem.up_to(n_grown))
        candidates, attempt = candidates_of(problem, grown), attempt + 1
    return candidates


def _n_never_heaviest(context: FitContext) -> int:
    """Number of clusters that are the heaviest in no group of equal rows; all clusters if rows are not in memory."""
    if not context.in_memory:
        return context.n_clusters
    table, labels = context.rows.encoded, context.reference.labels
    group = np.unique(core.row_hashes(table.matrix, context.rows.n_jobs), return_inverse=True)[1].astype(np.int64)
    pairs, of_row = np.unique(group * context.n_clusters + labels, return_inverse=True)
    weight, own = np.bincount(of_row, weights=table.weights), pairs // context.n_clusters
    heaviest = np.zeros(own[-1] + 1)
    np.maximum.at(heaviest, own, weight)
    return context.n_clusters - len(np.unique(pairs[weight == heaviest[own]] % context.n_clusters))


def with_searched(problem: LabelProblem, candidates: dict[str, Candidate]) -> dict[str, Candidate]:
    """The candidates, and the best tree that a search finds from them, unless more clusters would lack a leaf."""
    best, context = best_candidate(candidates), problem.context
    if not context.in_memory or best.agreement == context.total_weight:
        return candidates
    starts = sorted(candidates.values(), key=lambda candidate: candidate.rank)
    trees = refine_agreement(
        context.rows.encoded,
        context.reference.labels,
        context.coordinates,
        [start.grown for start in starts],
        max(problem.spec.max_leaves, best.grown.tree.n_leaves),
        problem.spec.limits,
        context.rows.n_jobs,
    )
    searched = [judge(problem, "search", tree) for tree in trees if _is_allowed(problem, tree)]
    searched = [candidate for candidate in searched if candidate.n_without_leaf <= best.n_without_leaf]
    return candidates | ({"search": min(searched, key=lambda c: c.rank)} if searched else {})


def best_candidate(candidates: dict[str, Candidate]) -> Candidate:
    """The candidate that agrees best with the labels; see ``Candidate.rank``."""
    return min(candidates.values(), key=lambda candidate: candidate.rank)


def _overgrown(max_leaves: int) -> int:
    """Leaves of a tree to prune: enough to see beyond a cut that gains nothing by itself."""
    return min(3 * max_leaves + 8, max_leaves + 200)


def _is_allowed(problem: LabelProblem, grown: GrownTree) -> bool:
    limits = problem.spec.limits
    return limits is None or limits.are_met(grown.tree, grown.leaf_of_row, grown.rows)


def judge(problem: LabelProblem, growth: str, grown: GrownTree) -> Candidate:
    """The candidate of a tree that an algorithm grew."""
    tree, own = grown.tree, problem.context.of(grown)
    rows, agrees = own.rows, tree.cluster[grown.leaf_of_row] == own.reference.labels
    with_leaf = np.unique(tree.cluster[tree.leaves])
    return Candidate(
        growth=growth,
        grown=grown,
        agreement=int(rows.weight_of(agrees.astype(np.int32), 2)[1]),
        n_without_leaf=own.n_clusters - len(with_leaf),
        explanation_size=rows.explanation_size(grown),
    )


def _with_majorities(grown: GrownTree, problem: LabelProblem) -> GrownTree:
    """Give every leaf its heaviest cluster; a leaf without rows, or with a tie, keeps its cluster."""
    tree, own, k = grown.tree, problem.context.of(grown), problem.context.n_clusters
    rows, labels = own.rows, own.reference.labels
    leaf_number = np.cumsum(tree.feature < 0) - 1
    pair = leaf_number[grown.leaf_of_row] * k + labels
    weight = rows.weight_of(pair, tree.n_leaves * k).reshape(tree.n_leaves, k)
    now = tree.cluster[tree.leaves]
    wins = weight.max(axis=1) > weight[np.arange(tree.n_leaves), now]
    cluster = tree.cluster.copy()
    cluster[tree.leaves] = np.where(wins, weight.argmax(axis=1), now)
    return replace(grown, tree=replace(tree, cluster=cluster))


Algorithm = Literal["auto", "imm", "exgreedy", "exshallow", "exkmc", "expand", "spex", "cart"]
ALGORITHMS = ("auto", *recipes_for("labels"))
_MANY_LABELS = 100
"""Up to this many labels give no warning, however few rows each has."""


@fill_doc
@dataclass(eq=False, repr=False)
class ClusterExplainer(HasLimits, TakesMixedTables, TreeEstimator):
    """Explains an existing clustering, from any source.

    It grows a small tree of single-column thresholds whose leaves are the clusters given as ``y``. The columns of ``X``
    need not be those that made the clusters. ``agreement_`` says how faithful the tree is.

    Parameters
    ----------
    max_leaves : int, default=None
        Maximum number of leaves, at least one a cluster. None means one leaf a cluster; with ``"auto"`` up to two a
        cluster, if the tree that agrees best would leave a cluster without a leaf. A cluster of few rows may still get
        no leaf if other cuts agree on more rows: a warning names it.
    algorithm : {"auto", "imm", "exgreedy", "exshallow", "exkmc", "expand", "spex", "cart"}, default="auto"
        How the tree grows. ``"auto"`` grows several trees, takes the one that agrees with ``y`` on most rows (among
        equals one that gives every cluster a leaf, then one with the shortest rules), and ``growth_`` names its
        algorithm. The trees include plain CART's; in memory also the best subtree of a larger CART tree, and a tree
        that a search makes from the best five by new cuts and moved leaves, with single levels of categories.
        ``"expand"`` minimizes the rows whose cluster differs from ``y``; ``"spex"`` separates few pairs of rows of one
        cluster, relative to the size of the sides; ``"cart"`` is plain CART: the tree of a DecisionTreeClassifier with
        as many leaves, except where cuts tie or values are equal in float32, which scikit-learn compares. The others
        are as in :class:`ExplainableKMeans`, with the cost of each row by each cluster.
    expansion : {"exkmc", "expand"}, default="exkmc"
        How a tree with one leaf per cluster grows to ``max_leaves``. ``"auto"`` always uses ``"expand"``.
    depth_penalty : float, default=0.03
        Weight of the expected depth for ``"exshallow"``; 0 looks at cost alone.
    {cut_features, max_depth, min_samples_leaf, categorical_features, handle_unknown, mixed_preprocessor}
    random_state : int, RandomState instance or None, default=None
        Not used, since nothing is random; accepted for pipelines that set it everywhere.
    {n_jobs, verbose}

    Attributes
    ----------
    tree_ : ThresholdTree
        The model. ``tree_.cluster`` holds positions in ``classes_``.
    classes_ : ndarray of shape (n_clusters,)
        The labels of ``y`` in increasing order, without noise.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training row, by the tree, as labels of ``y``. Noise is placed too.
    growth_ : str
        The algorithm that grew the tree; ``"cart, pruned"`` is the best subtree of a larger tree of plain CART,
        ``"search"`` a tree that a search made from the others.
    candidates_ : dict of str to float
        The agreement of every candidate tree by its algorithm.
    agreement_ : float
        Share of the weight, without noise, of rows whose cluster the tree gets right.
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
        Means of the tree's clusters, in the preprocessor's output where there is one.
    reference_ : Reference
        The clustering that the tree approximates: ``labels``, ``centers``, ``cost``. Labels are codes, -1 for noise.
    cost_ : float
        Cost of the tree's clusters with their own means; with ``costs``, the given cost of each row by its cluster.
    surrogate_cost_ : float
        Cost of the tree's clusters with the centers of ``y``'s clusters.
    {cost_ratio_}
    total_cost_ : float
        Cost of all rows as a single cluster, without noise; with ``costs``, by the best single cluster.
    {explained_, reference_explained_, n_leaves_, preprocessor_, n_features_in_, cluster_names_}
    {feature_names_in_, column_kinds_, left_out_, limits_price_}

    Examples
    --------
    >>> from cutwise import ClusterExplainer
    >>> X = [[1, 5], [2, 5], [2, 7], [8, 6], [9, 7]]
    >>> model = ClusterExplainer().fit(X, ["low", "low", "low", "high", "high"])
    >>> model.predict([[3, 0], [7, 0]]).tolist()
    ['low', 'high']
    >>> model.agreement_
    1.0
    """

    _takes_batches = True
    _figures = (*TreeEstimator._figures, "limits_price")
    _further = ("growth", "candidates")

    growth_: str = field(init=False)
    candidates_: dict[str, float] = field(init=False)
    limits_price_: float = field(init=False)

    max_leaves: int | None = None
    algorithm: Algorithm = "auto"
    _: KW_ONLY
    expansion: Expansion = "exkmc"
    depth_penalty: float = 0.03
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        centers: Any = None,
        costs: Any = None,
        sample_weight: Any = None,
        feature_names: Any = None,
    ) -> Self:
        """Grow the tree that explains the clusters ``y``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or lazy table of shape (n_samples, n_features)
            Numbers; other columns and missing values if ``preprocessor`` takes them.
        y : array-like of shape (n_samples,), or str
            The name of a column of ``X`` (of ``X.obs`` where X is an AnnData object), or a label for each row:
            integers, texts or booleans. -1 is noise, also as the text ``"-1"``: noise takes no part in the fit, but
            ``predict`` places it.
        centers : array-like of shape (n_clusters, n_features), default=None
            Centers of the clusters in the order of their sorted labels, in the preprocessor's output where there is
            one. None means their means.
        costs : array-like of shape (n_samples, n_clusters), default=None
            Cost of each row by each cluster, at least 0, clusters in the order of their sorted labels. None means
            squared distances to the centers.
        {sample_weight, feature_names}

        Returns
        -------
        self : ClusterExplainer

        Raises
        ------
        InvalidInputError
            A parameter, a value, a label or a weight that cannot be used.
        InfeasibleLimitsError
            A node has no cut within the limits that leads every cluster to a leaf.

        Warns
        -----
        EmptyClusterWarning
            A cluster without a leaf of its own, or one that ended without rows.
        UnseparableCentersWarning
            Clusters with equal centers, if the algorithm separates centers.
        """
        with self._prepare(
            X, y, centers=centers, costs=costs, sample_weight=sample_weight, feature_names=feature_names
        ) as prepared:
            return self._grow_and_publish(prepared)

    def _check_parameters(self, y: Any) -> None:
        check_max_leaves(self.max_leaves, 1)
        check_option("algorithm", self.algorithm, ALGORITHMS)
        check_option("expansion", self.expansion, EXPANSIONS)
        check_number("depth_penalty", self.depth_penalty, minimum=0)
        check_option("handle_unknown", self.handle_unknown, UNKNOWN)

    def _context_of_batches(
        self, lazy: LazyTable, y: Any, sample_weight: Any, stages: Stages, stays: bool, centers: Any = None,
        costs: Any = None,
    ) -> AbstractContextManager[tuple[FitContext, Any]]:  # fmt: skip
        if costs is not None:
            raise InvalidInputError("costs have one line per row, but X comes in batches. Leave them out.")
        return read_labels_of(self, lazy, y, centers, sample_weight, stages, stays)

    def _context_of_rows(
        self, X: Any, table: Table, y: Any, weights: Float64 | None, stages: Stages, centers: Any = None,
        costs: Any = None,
    ) -> tuple[FitContext, Any]:  # fmt: skip
        n_jobs = check_n_jobs(self.n_jobs)
        labels = _weighted_labels(read_labels(y, table.n_rows, estimator=type(self).__name__), weights)
        check_max_leaves(self.max_leaves, labels.n_clusters)
        self._check_limits(labels.n_clusters)
        if labels.n_clusters > max(table.n_rows / 2, _MANY_LABELS):
            said = f"There are {labels.n_clusters:,} different labels for {table.n_rows:,} rows"
            warn(
                CutwiseWarning(
                    f"{said}, as if they named rows rather than clusters: a tree with a leaf for each takes long. "
                    "Give labels that many rows share."
                )
            )
        with stages.stage("encoding"):
            space = fit_metric_space(self._preprocessor_for(table), X, table, weights)
            keep = labels.codes >= 0 if labels.n_noise else None
            rows = encode_rows(
                table, space.table, weights, keep=keep, shared=labels.codes, merge=costs is None, n_jobs=n_jobs
            )
        with stages.stage("costs of the clusters"):
            given = None if costs is None else rows.compress(read_costs(costs, table.n_rows, labels.n_clusters))
            means, _ = rows.centers(KMEANS, codes := rows.compress(labels.codes), labels.n_clusters)
            middles = means if centers is None else read_centers(centers, len(means), space.table)
            own = rows.costs(KMEANS, middles, codes) if given is None else given[np.arange(len(codes)), codes]
            reference = Reference(codes, middles, rows.sum(own), KMEANS.name)
        return FitContext(rows, reference, labels.codes, weights, KMEANS, given, labels.classes), space.preprocessor

    def _problem(self, fit: PreparedFit) -> LabelProblem:
        spec = GrowthSpec(
            self.algorithm, fit.max_leaves, self.expansion, self.depth_penalty, limits=fit.limits,
            progress=fit.stages.leaves, found={},
        )  # fmt: skip
        return LabelProblem(fit.context, fit.context.grower(), spec)

    def _grow(self, fit: PreparedFit) -> Growth:
        problem = self._problem(fit)
        if self.algorithm != "auto":
            return _taken(problem, {self.algorithm: judge(problem, self.algorithm, problem.grow(problem.spec))})
        if self.max_leaves is None:
            return _taken(problem, with_searched(problem, grow_until_every_cluster_has_a_leaf(problem)))
        return _taken(problem, with_searched(problem, candidates_of(problem, grow_all(problem))))

    def _grow_sizes(self, fit: PreparedFit, sizes: Sequence[int]) -> Iterator[Growth]:
        """Trees of ``"auto"`` with up to so many leaves, out of one growth to ``fit.max_leaves``.

        Only the pruned CART tree and the searched tree are made anew for every size.
        """
        problem = self._problem(fit)
        with fit.stages.stage("tree"):
            grown = grow_all(problem)
        for size in sizes:
            smaller = problem.up_to(size)
            yield _taken(smaller, with_searched(smaller, candidates_of(smaller, grown)))
            show_progress(f"sizes: {size} leaves", size / sizes[-1])

    def _say_result(self, stages: Stages) -> None:
        for name, agreement in self.candidates_.items():
            stages.say(f"  grown by {name}: agreement {percent(agreement)}")
        super()._say_result(stages)

    @property
    def agreement_(self) -> float:
        """Share of the weight, without noise, of rows whose cluster the tree gets right."""
        return self._leaf_counts.agreement

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows whose cluster the tree gets right; noise does not count.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            Labels like those of fit; one that fit never saw counts as wrong.
        {sample_weight}

        Returns
        -------
        agreement : float
            1 at best.

        Raises
        ------
        {NotFittedError, ColumnMismatchError, InvalidInputError}
        """
        if (lazy := as_lazy(X)) is not None:
            name = check_column_name(y, "y")
            scored = partial(self._scored, y=name, is_part=True)
            right = lazy_cost(lazy, sample_weight, lambda batch: scored(batch)[0])
            counted = lazy_cost(lazy, sample_weight, lambda batch: scored(batch)[1])
        else:
            X, sample_weight = pop_column(X, sample_weight, "sample_weight")
            shares = self._scored(X, y)
            weights = read_weights(sample_weight, len(shares[0]))
            right, counted = (sum_costs(own, sum_weights(weights)) for own in shares)
        if not counted:
            raise InvalidInputError(
                "Every row with a cluster has weight 0: there is nothing to score. Give some a positive weight."
            )
        return right / counted

    def _scored(self, X: Any, y: Any, *, is_part: bool = False) -> tuple[npt.NDArray[np.float64], ...]:
        """Whether the tree gets each row right, and whether the row has a cluster; two arrays of shape (n,)."""
        X, y = pop_column(X, y, "y")
        table = self._read_tested(self._columns_of_batch(X) if is_part else X)
        labels = read_labels(y, table.n_rows, estimator=type(self).__name__, is_part=is_part)
        counted = labels.codes >= 0
        right = self._codes_of(labels) == self._codes(table)
        return right.astype(np.float64), counted.astype(np.float64)

    def _summary(self) -> str:
        summary = f"{super()._summary()}; grown by {self.growth_}, agreement {percent(self.agreement_)}"
        without = np.delete(self.classes_, np.unique(self.tree_.cluster[self.tree_.leaves])).tolist()
        return f"{summary}; without a leaf: {listed(without, most=20)}" if without else summary

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # A classifier, since it predicts given labels: cross-validation should stratify its folds.
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


def _taken(problem: LabelProblem, tried: dict[str, Candidate]) -> Growth:
    """The candidate that agrees best."""
    chosen, total = best_candidate(tried), problem.context.total_weight
    candidates = {name: candidate.agreement / total for name, candidate in tried.items()}
    return Growth(chosen.grown, {"growth_": chosen.growth, "candidates_": candidates})


def _weighted_labels(labels: Labels, weights: npt.NDArray[np.float64] | None) -> Labels:
    """Labels with rows of weight 0 as noise; clusters that consist only of such rows are dropped."""
    if weights is None or weights.all():
        return labels
    codes = np.where(weights > 0, labels.codes, np.int32(-1))
    present = np.bincount(codes[codes >= 0], minlength=labels.n_clusters) > 0
    if not present.any():
        raise InvalidInputError(
            "Every row with a cluster has weight 0: there is no cluster to explain. Give a positive weight to some."
        )
    number = np.append(np.cumsum(present) - 1, -1).astype(np.int32)  # the last entry is for code -1
    return Labels(labels.classes[present], number[codes])
