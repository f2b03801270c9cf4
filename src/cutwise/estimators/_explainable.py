"""The recipe of explainable clusterings with centers: a reference, a tree grown on it or searched for, its price."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from cutwise._docs import fill_doc
from cutwise.exceptions import InfeasibleLimitsError, InvalidInputError
from cutwise.passes.sources import as_lazy, pop_weights
from cutwise.reference.objective import LazyCosts
from cutwise.table.intake import (
    Seed,
    check_integer,
    check_max_leaves,
    check_n_clusters,
    check_n_jobs,
    check_number,
    check_option,
    read_random_state,
)
from cutwise.tree.growing import GrownTree
from cutwise.tree.limits import Limits, NoAllowedCutError
from cutwise.tree.recipes import EXPANSIONS, RECIPES, Expansion, grow_tree, recipes_for
from cutwise.tree.refine import Effort, Judged, SearchCheaper, SearchRecord, expand_tree
from cutwise.tree.subtree import truncate_growth

from ._base import TreeClusterer, unlimited
from ._entries import Entries, pack_float
from ._front import TreeFront, tree_front
from ._lazy import fit_lazily
from ._optimal import check_two_leaves, cut_in_two
from ._tuning import FIRST_PENALTY, PenaltySearch, search_penalty, size_of_explanations
from .training import FitContext, MetricSpace, ReferenceRecipe, Stages, cut_coordinates, make_reference


def check_max_size(max_size: object) -> tuple[float, float] | Literal["exshallow"] | None:
    """Bounds on the conditions and tests of a rule, as two numbers; a single number bounds both."""
    if max_size is None or max_size == "exshallow":
        return max_size
    bounds = max_size if isinstance(max_size, Sequence) and not isinstance(max_size, str) else (max_size, max_size)
    if isinstance(max_size, str) or len(bounds) != 2:
        raise InvalidInputError(
            f"max_size={max_size!r} is neither a number nor two: how many conditions a rule may have in the mean, and "
            'how many tests. Use 4.0 for both, (3.5, 4.0), or "exshallow" for those of that algorithm\'s tree.'
        )
    waes, wad = (check_number("max_size", bound, minimum=0) for bound in bounds)
    return waes, wad


def search_tree(
    context: FitContext,
    coordinates: npt.NDArray[np.float64],
    grow: Callable[..., GrownTree],
    *,
    is_own_space: bool,
    max_leaves: int,
    expansion: str,
    depth_penalty: float,
    effort: float,
    size_penalty: float,
    max_size: tuple[float, float] | Literal["exshallow"] | None,
    stages: Stages,
    limits: Limits | None = None,
) -> tuple[GrownTree, SearchRecord, list[Judged]]:
    """Grow the trees of the papers, and search for a cheaper one; gives also all that were measured on all rows.

    ``coordinates`` (k, d) float64: the reference clusters in the columns that are cut. ``grow``: ``grow_tree`` but for
    what differs from start to start. ``is_own_space``: whether distances are measured in the very columns that are cut.
    ``max_leaves``, ``expansion``, ``depth_penalty``: as in ``grow_tree``; leaves beyond k are added to the tree that
    was found. ``effort``, ``size_penalty``, ``max_size``, ``limits``: as in ``refine``. ``stages``: told of
    progress.
    """
    rows, reference, k = context.rows, context.reference, context.n_clusters
    # With a leaf a cluster each is a start; with more leaves the cheapest may be cheaper than the searched one.
    grown_by: dict[str, GrownTree] = {}
    refused: list[InfeasibleLimitsError] = []
    for name in RECIPES["search"].starts:
        try:
            grown_by[name] = grow(algorithm=name, max_leaves=max_leaves, depth_penalty=depth_penalty)
        except InfeasibleLimitsError as error:  # under limits some algorithms find a way where others do not
            refused.append(error)
    papers = tuple(grown_by.values())
    if refused and max(grown.tree.n_leaves for grown in papers) < k:
        raise refused[0]
    starts = [truncate_growth(grown, k) for grown in papers]
    shallow = starts[list(grown_by).index("exshallow") if "exshallow" in grown_by else 0]
    metric = rows.encoded.matrix if is_own_space else rows.metric.matrix
    search = SearchCheaper(
        rows.encoded,
        metric,
        [reference.centers] if reference.runs is None else list(reference.runs),
        reference.labels,
        coordinates,
        lambda parts: context.cost_of_each([parts])[0],
        n_leaves=k,
        effort=Effort.of(effort),
        objective=context.objective,
        depth_penalty=depth_penalty,
        size_penalty=size_penalty,
        max_size=shallow.size(rows.weights) if max_size == "exshallow" else max_size,
        limits=limits,
        n_jobs=rows.n_jobs,
        progress=stages.searching,
    )
    grown, record, judged = search.search(starts)
    has_empty_leaf = (grown.tree.n_node_samples[grown.tree.leaves] == 0).any()
    if max_leaves > k and has_empty_leaf:  # one of the papers' trees, then; these have been expanded
        grown = replace(papers[0], others=papers[1:])
    elif max_leaves > k:
        centers, weight = rows.centers(context.objective, grown.codes, k)
        centers[weight == 0] = reference.centers[weight == 0]
        grown = expand_tree(
            grown,
            rows.encoded,
            reference.labels,
            LazyCosts(rows.metric.matrix, centers, context.objective, weights=rows.weights, n_jobs=rows.n_jobs),
            expansion=expansion,
            max_leaves=max_leaves,
            n_clusters=k,
            limits=limits,
            n_jobs=rows.n_jobs,
            progress=stages.leaves,
        )
        grown = replace(grown, others=papers)
    return grown, record, judged


Algorithm = Literal["search", "imm", "exgreedy", "exshallow", "exkmc", "optimal"]
ALGORITHMS = (*recipes_for("centers"), "optimal")


@fill_doc
class ExplainableClusterer(TreeClusterer):
    """Parent of the estimators whose clusters have centers; the objective makes them k-means or k-medians."""

    # Called with the trees that a search measured, so that front can finish each.
    _after_search: Callable[[list[Judged]], None] | None = None
    _takes_cheapest = True
    _takes_mixed = True
    depth_penalty_: float
    search_: SearchRecord
    limits_price_: float
    _penalty_search: PenaltySearch

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_leaves: int | None = None,
        algorithm: Algorithm = "search",
        search_effort: float = 1.0,
        size_penalty: float = 0.0,
        max_size: float | tuple[float, float] | Literal["exshallow"] | None = None,
        expansion: Expansion = "exkmc",
        depth_penalty: float | Literal["auto"] = 0.03,
        target_cost: float | None = None,
        target_waes: float | None = None,
        cut_features: Any = None,
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "outside",
        reference: Any = None,
        preprocessor: Any = "auto",
        n_init: int = 10,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_leaves = max_leaves
        self.algorithm = algorithm
        self.search_effort = search_effort
        self.size_penalty = size_penalty
        self.max_size = max_size
        self.expansion = expansion
        self.depth_penalty = depth_penalty
        self.target_cost = target_cost
        self.target_waes = target_waes
        self.cut_features = cut_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.reference = reference
        self.preprocessor = preprocessor
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows, and grow the tree that explains the clusters.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers; not copied where they are float32, float64, int32, int64, uint8 or bool. In data frames also texts,
            categories, truth values, dates and durations, and everywhere missing values.
        {y, sample_weight}

        Returns
        -------
        self : object

        Raises
        ------
        InvalidInputError
            A parameter, a value or a weight that cannot be used: fewer distinct rows than clusters, infinity, ...
        InfeasibleLimitsError
            No tree within the limits gives every cluster a leaf.

        Warns
        -----
        UnseparableCentersWarning
            Reference centers that no cut can part.
        EmptyClusterWarning
            A cluster that ended without rows.
        IdentifierWarning
            Columns that are left out, for they only name rows or hold nothing, or that number the rows.
        """
        self._refuse_unsaved()
        k = check_n_clusters(self.n_clusters)
        max_leaves = check_max_leaves(self.max_leaves, k)
        check_option("algorithm", self.algorithm, ALGORITHMS)
        check_option("expansion", self.expansion, EXPANSIONS)
        fixed_penalty = self._check_penalty()
        for name in ("search_effort", "size_penalty"):
            check_number(name, getattr(self, name), minimum=0)
        check_max_size(self.max_size)
        check_integer("n_init", self.n_init, minimum=1)
        read_random_state(self.random_state)
        n_jobs = check_n_jobs(self.n_jobs)
        self._check_limits(k, ("exkmc",))
        if self.algorithm == "optimal":
            check_two_leaves(k, max_leaves)
        stages = Stages(type(self).__name__, self.verbose)

        for name in ("depth_penalty_", "search_", "n_passes_"):
            self.__dict__.pop(name, None)  # from an earlier fit
        if (lazy := as_lazy(X)) is not None:
            fit_lazily(self, lazy, sample_weight, max_leaves, fixed_penalty, stages)
            stages.say(self._summary())
            return self
        X, sample_weight = pop_weights(X, sample_weight)
        table, sample_weight, space = self._read_input(X, sample_weight, k, stages)
        recipe = ReferenceRecipe(
            self.reference,
            k,
            self.n_init,
            self.random_state,
            n_jobs,
            int(self.verbose),
            self._objective,
            self.algorithm == "search",
        )
        context = make_reference(recipe, table, space, sample_weight, stages)
        if self._runs is not None:
            context = replace(context, reference=replace(context.reference, runs=self._runs))
        with stages.stage("tree"):
            if self.algorithm == "optimal":
                grown = cut_in_two(context, columns_apart=space.preprocessor is not None)
            else:
                grown = self._grow(context, space, max_leaves, fixed_penalty, stages)
        with stages.stage("costs"):
            self._remember_input(table, space, np.arange(self.n_clusters, dtype=np.int32))
            self._finish(context, grown)
            self.limits_price_ = math.nan
        if not self._limits_given.is_none and self._after_growth is None:  # a probe wants no price
            with stages.stage("the same without limits"):
                free = unlimited(self)._grow(context, space, max_leaves, fixed_penalty, stages)
                self.limits_price_ = self._price_over(context.cost_of_labels(context.cheapest_tree(free).codes).cost)
        stages.say(self._summary())
        return self

    def front(self, X: Any, *, max_leaves: int | None = None, **fit: Any) -> TreeFront:
        """Trees among which to choose: each is cheaper than all that have rules as short.

        One search, at several prices of a condition, and with more leaves than clusters. The model is not changed;
        where it is fitted with a reference of its own, the trees keep that.

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

    def _grow(
        self,
        context: FitContext,
        space: MetricSpace,
        max_leaves: int,
        depth_penalty: float | None,
        stages: Stages,
    ) -> GrownTree:
        """Grow the tree of an algorithm that follows the reference; a depth penalty of None is searched for."""
        rows, reference = context.rows, context.reference
        coordinates = cut_coordinates(rows, reference, space, self._objective)
        classes = range(context.n_clusters)
        limits = self._read_limits(rows, coordinates, classes, ("exkmc",))
        grow = partial(
            grow_tree,
            rows.encoded,
            reference.labels,
            coordinates,
            LazyCosts(
                rows.metric.matrix,
                reference.centers,
                self._objective,
                weights=rows.weights,
                n_jobs=rows.n_jobs,
                row_costs=reference.row_costs,
            ),
            expansion=self.expansion,
            limits=limits,
            n_jobs=rows.n_jobs,
            progress=stages.leaves,
        )
        try:
            return self._grow_by(grow, context, coordinates, space, max_leaves, depth_penalty, limits, stages)
        except NoAllowedCutError as error:
            free = grow(algorithm="exgreedy", max_leaves=max_leaves, limits=None)
            raise self._infeasible(error, rows, classes, free) from None

    def _grow_by(
        self,
        grow: Callable[..., GrownTree],
        context: FitContext,
        coordinates: npt.NDArray[np.float64],
        space: MetricSpace,
        max_leaves: int,
        depth_penalty: float | None,
        limits: Limits | None,
        stages: Stages,
    ) -> GrownTree:
        rows = context.rows
        penalty = self._tuned_penalty(grow, context) if depth_penalty is None else depth_penalty
        # The search knows neither levels nor missing values.
        searches = self.algorithm == "search" and self.search_effort > 0 and rows.encoded.searched is None
        if searches and context.n_clusters > 1:
            grown, self.search_, judged = search_tree(
                context,
                coordinates,
                grow,
                is_own_space=space.preprocessor is None,
                max_leaves=max_leaves,
                expansion=self.expansion,
                depth_penalty=penalty,
                effort=self.search_effort,
                size_penalty=self.size_penalty,
                max_size=check_max_size(self.max_size),
                stages=stages,
                limits=limits,
            )
            if self._after_search is not None:
                self._after_search(judged)
            return grown
        if self.algorithm == "exshallow":
            self.depth_penalty_ = penalty
        algorithm = "exshallow" if self.algorithm == "search" else self.algorithm
        return grow(algorithm=algorithm, max_leaves=max_leaves, depth_penalty=penalty)

    def _check_penalty(self) -> float | None:
        """The depth penalty; None where it is to be searched for."""
        for name in ("target_cost", "target_waes"):
            self._check_target(name, getattr(self, name))
        if isinstance(self.depth_penalty, str):
            if self.depth_penalty != "auto":
                raise InvalidInputError(
                    f'depth_penalty={self.depth_penalty!r} is neither a number >= 0 nor "auto". Use 0.03, for instance.'
                )
            return None if self.algorithm in ("search", "exshallow") else FIRST_PENALTY
        return check_number("depth_penalty", self.depth_penalty, minimum=0)

    def _check_target(self, name: str, target: float | None) -> None:
        """A target is of the search for a penalty: without one it would be missed in silence."""
        if target is None:
            return
        check_number(name, target, minimum=0)
        if self.algorithm != "exshallow":
            raise InvalidInputError(
                f"{name}={target!r} is a target of the search for exshallow's depth penalty, and "
                f'algorithm={self.algorithm!r} has none. Use algorithm="exshallow", or leave {name} out.'
            )
        if not isinstance(self.depth_penalty, str):
            raise InvalidInputError(
                f"{name}={target!r} is a target of the search for a depth penalty, and "
                f'depth_penalty={self.depth_penalty!r} leaves nothing to search for. Use depth_penalty="auto", or '
                f"leave {name} out."
            )

    def _tuned_penalty(self, grow: Callable[..., GrownTree], context: FitContext) -> float:
        """The penalty of ExShallow*, on a reference and costs that are there already."""
        k = context.n_clusters

        def judge(grown: GrownTree) -> tuple[float, float]:
            return context.cost_of_labels(grown.codes).cost, size_of_explanations(context.rows, grown)

        target_cost, target_waes = self.target_cost, self.target_waes
        if target_cost is None or target_waes is None:
            cost, waes = judge(grow(algorithm="exkmc", max_leaves=k))
            target_cost = cost if target_cost is None else target_cost
            target_waes = waes if target_waes is None else target_waes
        self._penalty_search, _ = search_penalty(
            lambda penalty: grow(algorithm="exshallow", max_leaves=k, depth_penalty=penalty),
            judge,
            target_cost,
            target_waes,
        )
        return self._penalty_search.depth_penalty

    def _fitted_state(self) -> dict[str, Any]:
        record = getattr(self, "search_", None)
        return super()._fitted_state() | {
            "depth_penalty": getattr(self, "depth_penalty_", None),
            "limits_price": pack_float(self.limits_price_),
            "search": None if record is None else asdict(record),
        }

    def _restore_fitted(self, state: Entries) -> None:
        super()._restore_fitted(state)
        price = state.later("limits_price", state.number)
        self.limits_price_ = math.nan if price is None else price
        penalty = state.later("depth_penalty", lambda key: state.number(key, minimum=0, finite=True))
        if penalty is not None:
            self.depth_penalty_ = penalty
        record = state.later("search", lambda key: state.made(key, SearchRecord.from_dict))
        if record is not None:
            self.search_ = record
