"""k-means and k-medians whose clusters are the leaves of a threshold tree: the growth of trees, and the estimators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise._docs import fill_doc
from cutwise._progress import Stages
from cutwise.exceptions import DominantColumnWarning, InfeasibleLimitsError, InvalidInputError, shown, warn
from cutwise.reference.objective import KMEANS, KMEDIANS
from cutwise.reference.resources import check_fits
from cutwise.table.convert import as_dense
from cutwise.table.intake import check_n_jobs, check_number, check_option
from cutwise.table.table import are_plain
from cutwise.tree.growing import GrowingTree, GrownTree
from cutwise.tree.optimal import optimal_cut
from cutwise.tree.provider import GrowthSpec, MemoryProvider
from cutwise.tree.recipes import EXPANSIONS, RECIPES, Expansion, recipes_for, unless_refused
from cutwise.tree.refine import SearchCheaper, SearchRecord, expand_tree
from cutwise.tree.refine_sample import MOST_COLUMNS
from cutwise.tree.subtree import sizes_of_growth, truncate_growth, without_small_trees
from cutwise.tree.threshold_tree import NodeTest

from ._base import UNKNOWN, HasLimits, TakesMixedTables, TreeClusterer, recipe_of
from ._curve import TreeFront, tree_front
from .table_scaler import TableScaler
from .training import FitContext, Growth, PreparedFit

FIRST_PENALTY = 0.03
"""The first penalty of a search, and the default of ``depth_penalty``."""

MOST_STEPS = 20
"""Maximum number of trees that a search grows."""

_SAME_PENALTY = 1.01
"""Halving stops when the ends of the interval are within one per cent of each other."""

_SMALLEST_PENALTY = 1e-6
"""Smaller penalties do little more than break ties: 0 is tried instead."""

_NEIGHBORHOOD = 1.5
"""Factor around the best penalty within which intervals are halved first at the end of a search."""

# Equal partitions may cost differently in the last digits.
_TARGET_TOLERANCE = 1e-12


@dataclass(frozen=True)
class PenaltySearch:
    """The result of a search for the depth penalty.

    ``depth_penalty``: the penalty of the chosen tree, from 0 to 1. ``cost``, ``waes``: its cost, each cluster with its
    own center, and the average number of conditions in a row's explanation. ``target_cost``, ``target_waes``: the upper
    limits of both. ``reached``: whether the chosen tree meets both targets. ``steps``: penalty, cost and explanation
    size of every tree, in the order they were grown.
    """

    depth_penalty: float
    cost: float
    waes: float
    target_cost: float
    target_waes: float
    reached: bool
    steps: tuple[tuple[float, float, float], ...]


def search_penalty(
    judge: Callable[[float], tuple[float, float]], target_cost: float, target_waes: float
) -> PenaltySearch:
    """Search for a penalty: lower where a tree costs too much, higher where its explanations are too long.

    ``judge``: grows a tree with a penalty, and returns its cost and the size of its explanations.

    A binary search that halves ratios, since useful penalties span decades. From 0.03 it steps up to 0.17, the
    geometric middle of 0.03 and 1, or down by the same factor until a tree meets the cost target; 0 is tried last. If
    cost rose and size fell steadily with the penalty, halving would find any interval of penalties that meets both
    targets, is wider than 1 % and lies above a millionth. Trees do so only roughly: if halving fails, the other steps
    halve the widest intervals between different trees, first near the best penalty. The result is the tree with the
    shortest explanations among those that meet the cost target, else the cheapest (Laber, Murtinho, Oliveira 2023,
    Section 4.4).
    """
    tried: dict[float, tuple[float, float]] = {}
    best: tuple[tuple[bool, float, float], float] | None = None
    low, high, reached = 0.0, 1.0, False
    penalty: float | None = FIRST_PENALTY
    while penalty is not None and not reached and len(tried) < MOST_STEPS:
        cost, waes = tried[penalty] = judge(penalty)
        cheap = cost <= target_cost * (1 + _TARGET_TOLERANCE)
        reached = cheap and waes <= target_waes * (1 + _TARGET_TOLERANCE)
        rank = (not cheap, waes, cost) if cheap else (not cheap, cost, waes)
        if reached or best is None or rank < best[0]:
            best = rank, penalty
        if low < penalty < high:
            low, high = (penalty, high) if cheap else (low, penalty)
        penalty = _halfway(tried, low, high)
        if penalty is None:
            penalty = _around(tried, best[1])
    assert best is not None
    steps = tuple((penalty, *judged) for penalty, judged in tried.items())
    return PenaltySearch(best[1], *tried[best[1]], target_cost, target_waes, reached, steps)


def _halfway(tried: dict[float, tuple[float, float]], low: float, high: float) -> float | None:
    """The geometric middle of the interval, then an end that was not tried; None if nothing is left."""
    below = high * math.sqrt(FIRST_PENALTY)  # 0 has no logarithm: steps down have the factor of the first step up
    if low == 0.0 and below >= _SMALLEST_PENALTY:
        return below
    if low > 0.0 and high > _SAME_PENALTY * low:
        return math.sqrt(low * high)
    return next((end for end in (low, high) if end not in tried), None)


def _around(tried: dict[float, tuple[float, float]], best: float) -> float | None:
    """The middle of the widest interval between two different trees, preferably near the best penalty."""
    intervals = [
        (low < best * _NEIGHBORHOOD and best < high * _NEIGHBORHOOD, high / low, low, high)
        for low, high in pairwise(sorted({*tried, 1.0}))
        if low > 0.0 and tried[low] != tried.get(high) and low < math.sqrt(low * high) < high
    ]
    if not intervals:
        return None
    *_, low, high = max(intervals)
    return math.sqrt(low * high) if high in tried else high


QUICK_VALUES = 2**20
"""Values up to which a table is so quick that every tree is grown."""


def _is_large(context: FitContext) -> bool:
    """Whether to grow a tree takes long, by the rows that take part; the same in memory and in batches."""
    return context.counted[0][0] * context.table.n_columns > QUICK_VALUES


def check_max_size(max_size: object) -> tuple[float, float] | Literal["exshallow"] | None:
    """Check bounds on the average conditions and tests of a rule, as two numbers; a single number bounds both."""
    if hasattr(max_size, "tolist"):  # an array or a series
        max_size = max_size.tolist()
    if max_size is None or max_size == "exshallow":
        return max_size
    bounds = max_size if isinstance(max_size, Sequence) and not isinstance(max_size, str) else (max_size, max_size)
    if isinstance(max_size, str) or len(bounds) != 2:
        raise InvalidInputError(
            f"max_size={shown(max_size)} is neither a number nor a pair: how many conditions a rule may have on average"
            ' and how many tests. Use 4.0 for both, (3.5, 4.0), or "exshallow" for the sizes of its tree.'
        )
    waes, wad = (check_number("max_size", bound, minimum=0) for bound in bounds)
    return waes, wad


def cut_in_two(context: FitContext) -> GrownTree:
    """The tree of the cheapest single cut; its clusters are numbered to agree with the reference on most weight."""
    rows = context.rows
    cut = optimal_cut(
        _dense(rows.metric.values),
        context.objective.name,
        rows.weights,
        columns=_dense(rows.compress(rows.table.values)) if not rows.same_columns else None,
        n_jobs=rows.n_jobs,
    )
    if cut is None:
        raise InvalidInputError(
            "The rows that count are equal in every column, so no cut separates them. Give rows that differ."
        )
    tree = GrowingTree(MemoryProvider(rows.encoded))
    left, right = tree.split(0, NodeTest(cut[0], cut[1]))
    sides = tree.provider.number_of_row({left: 0, right: 1})
    agreeing, differing = rows.weight_of((sides != context.reference.labels).astype(np.int32), 2).tolist()
    tree.label(left, int(differing > agreeing))
    tree.label(right, int(differing <= agreeing))
    return tree.finish()


def _dense(values: Any) -> npt.NDArray[Any]:
    """Values of a table as a dense array."""
    if sparse.issparse(values):
        check_fits(
            math.prod(values.shape) * values.dtype.itemsize,
            f'algorithm="optimal" makes the table dense, which {values.shape[0]:,} x {values.shape[1]:,}',
            'Use another algorithm, such as "exkmc", or fewer columns (TruncatedSVD as preprocessor).',
        )
    return as_dense(values)


def grow_starts(
    context: FitContext, spec: GrowthSpec, search: SearchCheaper
) -> tuple[dict[str, GrownTree], tuple[GrownTree, ...]]:
    """The trees that a search starts from, by algorithm, and all grown trees with more leaves than clusters."""
    names, k = RECIPES["search"].starts, context.n_clusters
    tried: dict[str, GrownTree | InfeasibleLimitsError] = {}

    def try_each(*names: str) -> None:
        grow = context.grower()
        calls = (partial(unless_refused, grow, replace(spec, algorithm=name)) for name in names)
        tried.update(zip(names, context.together(calls), strict=True))

    def is_over() -> bool:
        return any(isinstance(tree, GrownTree) and search.is_over([tree]) for tree in tried.values())

    # On large tables the rest is not grown if a tree equals the reference. Of such trees ExShallow's is nearly always
    # the shortest, and then IMM's. Another may cost less only if the reference is bad, as that of few distinct rows.
    quick = ("exshallow", "imm") if search.ends_at_reference and _is_large(context) else ()
    for name in quick if context.in_memory else ():
        if not is_over():
            try_each(name)
    if not is_over():
        # Trees with a leaf a cluster start the search; with more leaves the cheapest may beat the searched tree.
        # CART purifies leaves, so it also makes cuts that pay off only together with a second cut.
        further = ("cart",) if spec.max_leaves > k else ()
        try_each(*(name for name in (*names, *further) if name not in tried))
    trees = {name: tree for name, tree in tried.items() if isinstance(tree, GrownTree)}
    for i, name in enumerate(quick):  # the same ones if all were grown together, which takes fewer passes over the rows
        if name in trees and search.is_over([trees[name]]):
            trees = {name: trees[name] for name in quick[: i + 1] if name in trees}
            break
    grown_by = {name: trees[name] for name in names if name in trees}
    refused = [error for error in tried.values() if isinstance(error, InfeasibleLimitsError)]
    if refused and max(grown.tree.n_leaves for grown in grown_by.values()) < k:
        raise refused[0]
    larger = (tree for tree in {**grown_by, **trees}.values() if tree.tree.n_leaves > k)
    return grown_by, tuple(without_small_trees(tree, k + 1) for tree in larger)


_DOMINANT = 0.95
"""Share of the cost beyond which a column dominates the clustering."""


def _dominant_column(context: FitContext, scaler: TableScaler | None) -> tuple[int, float] | None:
    """The column with nearly all of the reference's cost, and its share; None if no column dominates."""
    n, reference = context.table.n_columns, context.reference
    if context.n_clusters < 2 or n < 2 or reference.cost <= 0:
        return None
    costs = context.column_costs()
    source = np.arange(n) if scaler is None else scaler.sources()
    of_column = np.bincount(source, costs, n)
    total = float(of_column.sum())
    share = float(of_column.max()) / total if 0 < total < math.inf else 0.0
    return (int(of_column.argmax()), share) if share > _DOMINANT else None


Algorithm = Literal["search", "imm", "exgreedy", "exshallow", "exkmc", "optimal"]
ALGORITHMS = (*recipes_for("centers"), "optimal")


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class ExplainableClusterer(HasLimits, TakesMixedTables, TreeClusterer):
    """Parent of the estimators whose clusters have centers: k-means or k-medians, as the objective says."""

    _takes_cheapest = True
    _takes_batches = True
    _figures = (*TreeClusterer._figures, "limits_price")

    algorithm: Algorithm = "search"
    search_effort: float = 1.0
    size_penalty: float = 0.0
    max_size: float | tuple[float, float] | Literal["exshallow"] | None = None
    expansion: Expansion = "exkmc"
    depth_penalty: float | Literal["auto"] = 0.03
    target_cost: float | None = None
    target_waes: float | None = None

    def _check_own_parameters(self, n_clusters: int, max_leaves: int) -> None:
        check_option("algorithm", self.algorithm, ALGORITHMS)
        check_option("expansion", self.expansion, EXPANSIONS)
        check_option("handle_unknown", self.handle_unknown, UNKNOWN)
        self._check_penalty()
        check_number("search_effort", self.search_effort, minimum=0, maximum=1e6)
        check_number("size_penalty", self.size_penalty, minimum=0)
        check_max_size(self.max_size)
        self._check_limits(n_clusters)
        if not recipe_of(self).takes_leaves and (n_clusters, max_leaves) != (2, 2):
            name, number = ("n_clusters", n_clusters) if n_clusters != 2 else ("max_leaves", max_leaves)
            raise InvalidInputError(
                'algorithm="optimal" is the best single cut, for two clusters with a leaf each, so it cannot have '
                f"{name}={number}. Use {name}=2, or another algorithm."
            )

    def _prepared(self, context: FitContext, preprocessor: Any, stages: Stages) -> PreparedFit:
        if preprocessor is None or (type(preprocessor) is TableScaler and preprocessor.numbers == "none"):
            self._say_dominant_column(context, preprocessor, stages)
        return super()._prepared(context, preprocessor, stages)

    def _say_dominant_column(self, context: FitContext, scaler: TableScaler | None, stages: Stages) -> None:
        """Report a column with nearly all of the cost; warn if nothing suggests that the user knows about it."""
        columns = context.table.columns
        warns = columns.has_names and self.reference is None and self.preprocessor is not None
        found = _dominant_column(context, scaler) if warns or self.verbose else None
        if found is not None and warns:
            advised = "StandardScaler()" if are_plain(columns.kinds) else "TableScaler()"
            advised = "MaxAbsScaler()" if context.table.is_sparse else advised
            warn(DominantColumnWarning.of(columns.describe(found[0]), found[1], advised))
        elif found is not None:
            stages.say(f"{columns.describe(found[0])} holds {found[1]:.1%} of the cost")

    def front(self, X: Any, *, max_leaves: int | None = None, **fit: Any) -> TreeFront:
        """Trees to choose from: each is cheaper than all trees with rules as short.

        One search finds them, at several prices of a condition, and with more leaves than clusters. The model is not
        changed; if it is fitted with a reference of its own, the trees approximate the same reference.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The rows to fit.
        max_leaves : int, default=None
            Leaves at most. None means two a cluster, and no fewer than the model has.
        **fit
            Passed on to ``fit``: ``sample_weight``.

        Returns
        -------
        front : TreeFront
            The shortest rules first. ``front.model(i)`` is a fitted model.

        Raises
        ------
        InvalidInputError
            What ``fit`` refuses.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from cutwise import ExplainableKMeans
        >>> front = ExplainableKMeans(10, random_state=0).front(load_digits().data)
        >>> bool(front.waes[0] < front.waes[-1] and front.cost[0] > front.cost[-1])
        True
        >>> short = front.model(front.shortest(within=0.2))
        >>> bool(short.cost_ratio_ <= 1.2)
        True
        """
        return tree_front(self, X, max_leaves, fit)

    def _grow(self, fit: PreparedFit) -> Growth:
        context, recipe = fit.context, recipe_of(self)
        if not recipe.takes_leaves:
            return Growth(cut_in_two(context))
        spec = GrowthSpec(self.algorithm, fit.max_leaves, self.expansion, limits=fit.limits, progress=fit.stages.leaves)
        found: dict[str, Any] = {}
        penalty = self._check_penalty()
        grow = context.grower()
        if penalty is None:
            found["_penalty_search"] = tuned = self._tune_penalty(grow, spec, context)
            penalty = tuned.depth_penalty
        spec = replace(spec, depth_penalty=penalty)
        if recipe.starts and self.search_effort > 0 and context.n_clusters > 1:
            growth = self._search_tree(fit, spec)
            return replace(growth, found={**found, **growth.found})
        if recipe.starts:  # without effort, the search is its shallowest start
            return Growth(grow(replace(spec, algorithm="exshallow")), found)
        if recipe.weighs_depth:
            found["depth_penalty_"] = penalty
        return Growth(grow(spec), found)

    def _search_tree(self, fit: PreparedFit, spec: GrowthSpec) -> Growth:
        """Grow the papers' trees, search for a cheaper one, and add leaves beyond k to it."""
        context, k, max_leaves = fit.context, fit.context.n_clusters, fit.max_leaves
        search = context.search()
        needs_more = self.search_effort > 1 or self.size_penalty > 0 or self.max_size is not None
        # A tree equal to the reference may end a search, if the reference is our own and only the cost counts.
        is_wide = search.table.matrix.n_cols > MOST_COLUMNS
        may_end = fit.reference_is_own and not needs_more and (is_wide or _is_large(context))
        search = replace(
            search,
            effort=self.search_effort,
            depth_penalty=spec.depth_penalty,
            size_penalty=self.size_penalty,
            limits=spec.limits,
            ends_at_reference=may_end,
            n_jobs=check_n_jobs(self.n_jobs),
            progress=fit.stages.searching,
        )
        # Trees with more than k leaves are grown later, unless a start ends the search.
        first = k if may_end and is_wide else max_leaves
        grown_by, others = grow_starts(context, replace(spec, max_leaves=first), search)
        starts = [truncate_growth(grown, sizes_of_growth(grown, k)[0]) for grown in grown_by.values()]
        max_size = check_max_size(self.max_size)
        if max_size == "exshallow":
            shallow = starts[list(grown_by).index("exshallow") if "exshallow" in grown_by else 0]
            max_size = shallow.size_of(shallow.leaf_of_row, context.of(shallow).rows.weights)
        search = replace(search, max_size=max_size)
        grown, record, judged = search.search(starts)
        growth = Growth(grown, {"search_": record}, judged)
        if max_leaves <= k or search.is_over(starts):
            return growth
        if first < max_leaves:
            _, others = grow_starts(context, spec, search)
        if (grown.tree.n_node_samples[grown.tree.leaves] == 0).any():  # the papers' trees are expanded already
            return replace(growth, grown=replace(grown, others=others))

        def with_leaves(tree: GrownTree) -> GrownTree:
            centers, weight = context.of(tree).rows.centers(context.objective, tree.codes, k)
            centers[weight == 0] = context.reference.centers[weight == 0]
            return without_small_trees(expand_tree(tree, context.provider(centers), k, spec), tree.tree.n_leaves)

        def improve(tree: GrownTree) -> GrownTree | None:
            found = search.cheaper_clusters(tree)
            return None if found is None else with_leaves(found)

        expanded = replace(with_leaves(grown), others=others, improve=improve if self.expansion == "exkmc" else None)
        return replace(growth, grown=expanded)

    def _check_penalty(self) -> float | None:
        """The depth penalty; None if it is to be searched for."""
        for name in ("target_cost", "target_waes"):
            if (target := getattr(self, name)) is None:
                continue
            check_number(name, target, minimum=0)
            # Targets apply only to the search for a penalty; otherwise they would be ignored silently.
            if not recipe_of(self).weighs_depth or not isinstance(self.depth_penalty, str):
                raise InvalidInputError(
                    f"{name}={target!r} is a target of the search for exshallow's depth penalty. "
                    f'Use algorithm="exshallow" with depth_penalty="auto", or leave {name} out.'
                )
        if isinstance(self.depth_penalty, str):
            if self.depth_penalty != "auto":
                raise InvalidInputError(
                    f'depth_penalty={self.depth_penalty!r} is neither a number >= 0 nor "auto". Use 0.03, for instance.'
                )
            grown = map(RECIPES.__getitem__, (self.algorithm, *recipe_of(self).starts))
            return None if any(recipe.weighs_depth for recipe in grown) else FIRST_PENALTY
        return check_number("depth_penalty", self.depth_penalty, minimum=0)

    def _tune_penalty(
        self, grow: Callable[[GrowthSpec], GrownTree], spec: GrowthSpec, context: FitContext
    ) -> PenaltySearch:
        """The penalty of ExShallow*, for the reference and costs of ``context``."""
        spec = replace(spec, max_leaves=context.n_clusters)

        def judge(spec: GrowthSpec) -> tuple[float, float]:
            own = context.of(grown := grow(spec))
            return own.cost_of_labels(grown.codes).cost, own.rows.explanation_size(grown)

        target_cost, target_waes = self.target_cost, self.target_waes
        if target_cost is None or target_waes is None:
            cost, waes = judge(replace(spec, algorithm="exkmc"))
            target_cost = cost if target_cost is None else target_cost
            target_waes = waes if target_waes is None else target_waes
        shallow = replace(spec, algorithm="exshallow")
        return search_penalty(lambda penalty: judge(replace(shallow, depth_penalty=penalty)), target_cost, target_waes)

    def _fitted_state(self) -> dict[str, Any]:
        record = getattr(self, "search_", None)
        return super()._fitted_state() | {
            "depth_penalty": getattr(self, "depth_penalty_", None),
            "search": None if record is None else asdict(record),
        }

    def _restore_fitted(self, state: Mapping[str, Any]) -> None:
        super()._restore_fitted(state)
        if state.get("depth_penalty") is not None:
            self.depth_penalty_ = state["depth_penalty"]
        if state.get("search") is not None:
            self.search_ = SearchRecord.from_dict(state["search"])


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class ExplainableKMeans(ExplainableClusterer):
    """k-means whose clusters are the leaves of a small tree of single-column thresholds.

    A k-means clustering serves as reference; a threshold tree then approximates it, and the tree is the model: a row
    belongs to the cluster of the leaf it reaches. ``cost_ratio_`` is the price of explainability.

    Parameters
    ----------
    {n_clusters, max_leaves, algorithm, search_effort, size_penalty, max_size, expansion}
    {depth_penalty, target_cost, target_waes, cut_features, max_depth, min_samples_leaf}
    {categorical_features, handle_unknown}
    {reference, mixed_preprocessor}
    {n_init, random_state, n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_, cluster_centers_, cost_, surrogate_cost_, cost_ratio_, total_cost_, explained_}
    {reference_explained_, reference_, n_leaves_, depth_penalty_, search_, classes_, preprocessor_, n_features_in_}
    {cluster_names_, feature_names_in_, column_kinds_, left_out_, limits_price_}

    Notes
    -----
    The same input gives the same result, bit for bit, for any ``n_jobs``. For a given reference it does not depend on
    the order of the rows either, and an integer weight is the same as a repeated row. Rows of weight 0 are placed by
    the tree but take no part in growing it.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), *Explainable k-Means and k-Medians Clustering* (IMM). Frost,
    Moshkovitz, Rashtchian (2020), *ExKMC: Expanding Explainable k-Means Clustering*. Laber, Murtinho, Oliveira (2023),
    *Shallow decision trees for explainable k-means clustering* (ExGreedy, ExShallow).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cutwise import ExplainableKMeans
    >>> X = load_iris(as_frame=True).data
    >>> model = ExplainableKMeans(n_clusters=3, random_state=0).fit(X)
    >>> model.n_leaves_
    3
    >>> bool(model.cost_ratio_ < 1.05)
    True
    """

    _objective = KMEANS


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class ExplainableKMedians(ExplainableClusterer):
    """k-medians whose clusters are the leaves of a small tree of single-column thresholds.

    A k-medians clustering serves as reference; a threshold tree then approximates it, and the tree is the model: a row
    belongs to the cluster of the leaf it reaches. Costs are l1 distances to coordinate-wise medians throughout: in the
    reference, in the choice of cuts, and in ``cost_ratio_``, the price of explainability. Far rows count
    by their distance, not its square, so that outliers do not get clusters of their own.

    Parameters
    ----------
    {n_clusters, max_leaves, algorithm, search_effort, size_penalty, max_size, expansion}
    {depth_penalty, target_cost, target_waes, cut_features, max_depth, min_samples_leaf}
    {categorical_features, handle_unknown}
    reference : clusterer or array-like of shape (n_clusters, n_features), default=None
        The clustering to approximate: centers, or a clusterer (fitted or not). None means :class:`KMedians`. Centers
        are in the preprocessor's output if there is one; rows belong to the nearest by l1 distance. A clusterer that
        was fitted on these rows (scaled as distances are here) gives its ``labels_``, another fitted one its
        predictions. If a clusterer has no centers, the medians of its clusters are used.
    {mixed_preprocessor}
    n_init : int or "auto", default=10
        Number of starts of the reference (``"auto"`` is 10), as in :class:`KMedians`.
    {random_state, n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_}
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
        Medians of the tree's clusters, column by column, in the preprocessor's output where there is one: the lower
        weighted median. A cluster without rows keeps the reference's center.
    cost_, inertia_ : float
        Weighted sum of l1 distances to ``cluster_centers_``.
    {surrogate_cost_, cost_ratio_, total_cost_, explained_, reference_explained_, reference_, n_leaves_}
    {depth_penalty_, search_, classes_, preprocessor_, n_features_in_, cluster_names_, feature_names_in_}
    {column_kinds_, left_out_, limits_price_}

    Notes
    -----
    The same input gives the same result, bit for bit, for any ``n_jobs``. For a given reference it does not depend on
    the order of the rows either, and an integer weight is the same as a repeated row. Rows of weight 0 are placed by
    the tree but take no part in growing it.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), *Explainable k-Means and k-Medians Clustering* (IMM). Frost,
    Moshkovitz, Rashtchian (2020), *ExKMC: Expanding Explainable k-Means Clustering*. Laber, Murtinho, Oliveira (2023),
    *Shallow decision trees for explainable k-means clustering* (ExGreedy, ExShallow).

    Examples
    --------
    >>> from cutwise import ExplainableKMedians
    >>> X = [[1, 0], [2, 0], [3, 1], [21, 1], [22, 0], [23, 1], [60, 0]]
    >>> model = ExplainableKMedians(n_clusters=2, reference=[[2, 0], [22, 1]]).fit(X)
    >>> print(model.rules())
    cluster 0 (3 rows, 42.9 %; purity 100 %, coverage 100 %): x0 <= 10
    cluster 1 (4 rows, 57.1 %; purity 100 %, coverage 100 %): x0 > 10
    >>> model.cluster_centers_.tolist()
    [[2.0, 0.0], [22.0, 0.0]]
    """

    _objective = KMEDIANS


def tune_depth_penalty(
    X: Any,
    n_clusters: int,
    *,
    target_cost: float | None = None,
    target_waes: float | None = None,
    reference: Any = None,
    preprocessor: Any = None,
    sample_weight: Any = None,
    n_init: int | Literal["auto"] = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PenaltySearch:
    """Find the depth penalty with which ExShallow keeps a cost and an explanation size (ExShallow*).

    A binary search between 0 and 1, halving ratios, that starts at 0.03 and grows at most 20 trees: lower if a tree
    costs too much, higher if its explanations are too long, until a tree meets both targets. If none does, the result
    is the tree with the shortest explanations among those that meet the cost target, or else the cheapest. The
    reference is found once.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The rows to cluster.
    n_clusters : int
        Number of clusters, and of leaves.
    target_cost : float, default=None
        Upper limit of ``cost_``. None means the cost of ExKMC's tree with ``n_clusters`` leaves and the same reference.
    target_waes : float, default=None
        Upper limit of the average number of conditions in a row's explanation. None means that of ExKMC's tree.
    reference, preprocessor, sample_weight, n_init, random_state, n_jobs
        As in :class:`cutwise.ExplainableKMeans`.

    Returns
    -------
    search : PenaltySearch
        ``depth_penalty`` and the figures of its tree. ``ExplainableKMeans`` with ``algorithm="exshallow"`` and
        ``depth_penalty="auto"`` fits this tree directly.

    Raises
    ------
    InvalidInputError
        What ``ExplainableKMeans.fit`` refuses.

    References
    ----------
    Laber, Murtinho, Oliveira (2023), *Shallow decision trees for explainable k-means clustering*, Section 4.4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cutwise import tune_depth_penalty
    >>> search = tune_depth_penalty(load_digits().data, 10, n_init=1, random_state=0)
    >>> search.reached, search.cost <= search.target_cost, search.waes <= search.target_waes
    (True, True, True)
    """
    model = ExplainableKMeans(
        n_clusters, algorithm="exshallow", depth_penalty="auto", target_cost=target_cost, target_waes=target_waes,
        reference=reference, preprocessor=preprocessor, n_init=n_init, random_state=random_state, n_jobs=n_jobs,
    )  # fmt: skip
    search: PenaltySearch = model.fit(X, sample_weight=sample_weight)._penalty_search
    return search
