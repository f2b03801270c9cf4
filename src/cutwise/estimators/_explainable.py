"""Explainable clusterings with centers: find a reference, grow or search a tree that approximates it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise._docs import fill_doc
from cutwise._progress import Stages
from cutwise.exceptions import DominantColumnWarning, InfeasibleLimitsError, InvalidInputError, shown, warn
from cutwise.reference.resources import check_fits
from cutwise.reference.search import QUICK_VALUES
from cutwise.table.intake import check_n_jobs, check_number, check_option
from cutwise.table.table import are_plain
from cutwise.tree.growing import GrowingTree, GrownTree
from cutwise.tree.limits import Limits, NoAllowedCutError
from cutwise.tree.optimal import optimal_cut
from cutwise.tree.provider import MemoryProvider
from cutwise.tree.recipes import EXPANSIONS, RECIPES, Expansion, recipes_for, unless_refused
from cutwise.tree.refine import SearchRecord, expand_tree
from cutwise.tree.refine_sample import MOST_COLUMNS
from cutwise.tree.subtree import truncate_growth, without_small_trees
from cutwise.tree.threshold_tree import NodeTest

from ._base import TreeClusterer, unlimited
from ._curve import TreeFront, tree_front
from ._tuning import FIRST_PENALTY, search_penalty, size_of_explanations
from .table_scaler import TableScaler
from .training import FitContext


def check_max_size(max_size: object) -> tuple[float, float] | Literal["exshallow"] | None:
    """Check bounds on the average conditions and tests of a rule, as two numbers; a single number bounds both."""
    if isinstance(max_size, np.ndarray):
        max_size = max_size.tolist()
    if max_size is None or max_size == "exshallow":
        return max_size
    bounds = max_size if isinstance(max_size, Sequence) and not isinstance(max_size, str) else (max_size, max_size)
    if isinstance(max_size, str) or len(bounds) != 2:
        raise InvalidInputError(
            f"max_size={shown(max_size)} is neither a number nor two: how many conditions a rule may have in the mean, "
            'and how many tests. Use 4.0 for both, (3.5, 4.0), or "exshallow" for those of that algorithm\'s tree.'
        )
    waes, wad = (check_number("max_size", bound, minimum=0) for bound in bounds)
    return waes, wad


def check_two_leaves(n_clusters: int, max_leaves: int) -> None:
    """Raise an error unless there are two clusters and two leaves, as a single cut makes."""
    if n_clusters != 2 or max_leaves != 2:
        name, number = ("n_clusters", n_clusters) if n_clusters != 2 else ("max_leaves", max_leaves)
        raise InvalidInputError(
            'algorithm="optimal" is the best single cut, which makes two clusters of a leaf each, so it cannot have '
            f"{name}={number}. Use {name}=2, or another algorithm."
        )


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
            "The rows that take part are equal in every column, so no cut parts them. Give rows that differ."
        )
    tree = GrowingTree(MemoryProvider(rows.encoded))
    left, right = tree.split(0, NodeTest(cut[0], cut[1]))
    sides = tree.provider.number_of_row({left: 0, right: 1})
    agreeing, differing = rows.weight_of((sides != context.reference.labels).astype(np.int32), 2).tolist()
    tree.label(left, int(differing > agreeing))
    tree.label(right, int(differing <= agreeing))
    return tree.finish()


def _dense(values: npt.NDArray[Any] | sparse.csr_array) -> npt.NDArray[Any]:
    """Values of a table as a dense array."""
    if not isinstance(values, sparse.csr_array):
        return values
    check_fits(
        math.prod(values.shape) * values.dtype.itemsize,
        f'algorithm="optimal" makes the table dense, which {values.shape[0]:,} x {values.shape[1]:,}',
        'Use another algorithm, such as "exkmc", or fewer columns (TruncatedSVD as preprocessor).',
    )
    dense: npt.NDArray[Any] = values.toarray()
    return dense


_DOMINANT = 0.95
"""Share of the cost beyond which a column dominates the clustering."""


def _dominant_column(context: FitContext, scaler: TableScaler | None) -> tuple[int, float] | None:
    """The column with nearly all of the reference's cost, and its share; None if no column dominates."""
    n, reference = context.table.n_columns, context.reference
    if context.n_clusters < 2 or n < 2 or reference.cost <= 0:
        return None
    costs = context.column_costs()
    source = np.arange(n) if scaler is None else scaler.derived(context.table).source
    of_column = np.bincount(source, costs, n)
    total = float(of_column.sum())
    share = float(of_column.max()) / total if 0 < total < math.inf else 0.0
    return (int(of_column.argmax()), share) if share > _DOMINANT else None


Algorithm = Literal["search", "imm", "exgreedy", "exshallow", "exkmc", "optimal"]
ALGORITHMS = (*recipes_for("centers"), "optimal")


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class ExplainableClusterer(TreeClusterer):
    """Parent of the estimators whose clusters have centers: k-means or k-medians, as the objective says."""

    _takes_cheapest = True
    _takes_mixed = True
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
    cut_features: Any = None
    max_depth: int | None = None
    min_samples_leaf: float = 1
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "outside"
    preprocessor: Any = "auto"

    def _check_own_parameters(self, n_clusters: int, max_leaves: int) -> None:
        check_option("algorithm", self.algorithm, ALGORITHMS)
        check_option("expansion", self.expansion, EXPANSIONS)
        self._check_penalty()
        check_number("search_effort", self.search_effort, minimum=0, maximum=1e6)
        check_number("size_penalty", self.size_penalty, minimum=0)
        check_max_size(self.max_size)
        self._check_limits(n_clusters)
        if self.algorithm == "optimal":
            check_two_leaves(n_clusters, max_leaves)

    def _explain(self, context: FitContext, preprocessor: Any, max_leaves: int, stages: Stages) -> None:
        if preprocessor is None or (type(preprocessor) is TableScaler and preprocessor.numbers == "none"):
            self._say_dominant_column(context, preprocessor, stages)
        super()._explain(context, preprocessor, max_leaves, stages)
        self.limits_price_ = math.nan
        if not self._limits_given.is_none and self._after_growth is None:  # curves need no price
            with stages.stage("the same without limits"):
                free = unlimited(self)._grow(context, max_leaves, stages)
                self.limits_price_ = self._price_over(context, context.cheapest_tree(free))

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

    def _grow(self, context: FitContext, max_leaves: int, stages: Stages) -> GrownTree:
        if self.algorithm == "optimal":
            return cut_in_two(context)
        limits = self._read_limits(context)
        grow = context.grower(
            several=self.algorithm == "search", expansion=self.expansion, limits=limits, progress=stages.leaves
        )
        try:
            given = self._check_penalty()
            penalty = self._tuned_penalty(grow, context) if given is None else given
            if self.algorithm == "search" and self.search_effort > 0 and context.n_clusters > 1:
                return self._search_tree(context, grow, limits, max_leaves, penalty, stages)
            if self.algorithm == "exshallow":
                self.depth_penalty_ = penalty
            algorithm = "exshallow" if self.algorithm == "search" else self.algorithm
            return grow(algorithm=algorithm, max_leaves=max_leaves, depth_penalty=penalty)
        except NoAllowedCutError as error:
            free = grow(algorithm="exgreedy", max_leaves=max_leaves, limits=None)
            raise self._infeasible(error, context, free) from None

    def _search_tree(
        self,
        context: FitContext,
        grow: Callable[..., GrownTree],
        limits: Limits | None,
        max_leaves: int,
        depth_penalty: float,
        stages: Stages,
    ) -> GrownTree:
        """Grow the papers' trees, search for a cheaper one, and add leaves beyond k to it."""
        reference, k = context.reference, context.n_clusters

        ends_early = self._ends_at_reference and context.table.n_columns > MOST_COLUMNS
        is_large = context.table.n_rows * context.table.n_columns > QUICK_VALUES
        cheaper = context.search(
            n_leaves=k,
            effort=self.search_effort,
            n_jobs=check_n_jobs(self.n_jobs),
            depth_penalty=depth_penalty,
            size_penalty=self.size_penalty,
            limits=limits,
            ends_at_reference=self._ends_at_reference,
            progress=stages.searching,
        )

        def papers_trees(max_leaves: int) -> tuple[dict[str, GrownTree], tuple[GrownTree, ...]]:
            # Trees with a leaf a cluster start the search; with more leaves the cheapest may beat the searched tree.
            # CART purifies leaves, so it also makes cuts that pay off only together with a second cut.
            names = RECIPES["search"].starts
            tried: dict[str, GrownTree | InfeasibleLimitsError] = {}

            def try_each(*names: str) -> None:
                grown = partial(grow, max_leaves=max_leaves, depth_penalty=depth_penalty)
                calls = (unless_refused(partial(grown, algorithm=name)) for name in names)
                tried.update(zip(names, context.together(calls), strict=True))

            def is_over() -> bool:
                return any(isinstance(tree, GrownTree) and cheaper.is_over([tree]) for tree in tried.values())

            # Of the trees that equal the reference, ExShallow's is nearly always the shortest, and then IMM's. Another
            # tree may cost less only if the reference is far from the best clustering, as of a few distinct rows.
            for name in ("exshallow", "imm") if ends_early and is_large else ():
                if not is_over():
                    try_each(name)
            if not is_over():
                further = ("cart",) if max_leaves > k else ()
                try_each(*(name for name in (*names, *further) if name not in tried))
            trees = {name: tree for name, tree in tried.items() if isinstance(tree, GrownTree)}
            grown_by = {name: trees[name] for name in names if name in trees}
            refused = [error for error in tried.values() if isinstance(error, InfeasibleLimitsError)]
            papers = tuple(grown_by.values())
            if refused and max(grown.tree.n_leaves for grown in papers) < k:
                raise refused[0]
            purer = (tree for name, tree in trees.items() if name not in names and tree.tree.n_leaves > k)
            return grown_by, (*papers, *(without_small_trees(tree, k + 1) for tree in purer))  # no start with k

        # Trees with more than k leaves are grown later, unless a start ends the search.
        first = k if ends_early else max_leaves
        grown_by, others = papers_trees(first)
        starts = [truncate_growth(grown, k) for grown in grown_by.values()]
        max_size = check_max_size(self.max_size)
        if max_size == "exshallow":
            shallow = starts[list(grown_by).index("exshallow") if "exshallow" in grown_by else 0]
            max_size = shallow.size(context.of(shallow).rows.weights)
        cheaper = replace(cheaper, max_size=max_size)
        grown, self.search_, judged = cheaper.search(starts)
        if self._after_search is not None:
            self._after_search(judged)
        if max_leaves <= k or cheaper.is_over(starts):
            return grown
        if first < max_leaves:
            _, others = papers_trees(max_leaves)
        if (grown.tree.n_node_samples[grown.tree.leaves] == 0).any():  # the papers' trees are expanded already
            return replace(others[0], others=others[1:])
        centers, weight = context.of(grown).rows.centers(context.objective, grown.codes, k)
        centers[weight == 0] = reference.centers[weight == 0]
        expanded = expand_tree(
            grown,
            context.provider(centers),
            expansion=self.expansion,
            max_leaves=max_leaves,
            n_clusters=k,
            limits=limits,
            progress=stages.leaves,
        )
        # The search with several leaves a cluster handles thresholds only.
        searches = self.expansion == "exkmc" and cheaper.table.searched is None
        return replace(expanded, others=others, improve=cheaper.cheaper_clusters if searches else None)

    @property
    def _ends_at_reference(self) -> bool:
        """Whether a tree equal to the reference ends a search: the reference is our own, and only the cost counts."""
        needs_more = self.search_effort > 1 or self.size_penalty > 0 or self.max_size is not None
        is_own = self.reference is None or self._reference_is_own
        return is_own and not needs_more and self._after_search is None

    def _check_penalty(self) -> float | None:
        """The depth penalty; None if it is to be searched for."""
        for name in ("target_cost", "target_waes"):
            if (target := getattr(self, name)) is None:
                continue
            check_number(name, target, minimum=0)
            # Targets apply only to the search for a penalty; otherwise they would be ignored silently.
            if self.algorithm != "exshallow" or not isinstance(self.depth_penalty, str):
                raise InvalidInputError(
                    f"{name}={target!r} is a target of the search for exshallow's depth penalty. "
                    f'Use algorithm="exshallow" with depth_penalty="auto", or leave {name} out.'
                )
        if isinstance(self.depth_penalty, str):
            if self.depth_penalty != "auto":
                raise InvalidInputError(
                    f'depth_penalty={self.depth_penalty!r} is neither a number >= 0 nor "auto". Use 0.03, for instance.'
                )
            return None if self.algorithm in ("search", "exshallow") else FIRST_PENALTY
        return check_number("depth_penalty", self.depth_penalty, minimum=0)

    def _tuned_penalty(self, grow: Callable[..., GrownTree], context: FitContext) -> float:
        """The penalty of ExShallow*, for the reference and costs of ``context``."""
        k = context.n_clusters

        def judge(grown: GrownTree) -> tuple[float, float]:
            own = context.of(grown)
            return own.cost_of_labels(grown.codes).cost, size_of_explanations(own.rows, grown)

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
            "search": None if record is None else asdict(record),
        }

    def _restore_fitted(self, state: Mapping[str, Any]) -> None:
        super()._restore_fitted(state)
        if state.get("depth_penalty") is not None:
            self.depth_penalty_ = state["depth_penalty"]
        if state.get("search") is not None:
            self.search_ = SearchRecord.from_dict(state["search"])
