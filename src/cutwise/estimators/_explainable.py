"""The recipe of explainable clusterings with centers: a reference by an objective, a tree grown on it, its price."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cutwise.estimators._clusterer import TreeClusterer
from cutwise.estimators._costs import Clustering, costs_by_centers
from cutwise.estimators._entries import Entries
from cutwise.estimators._optimal import LaterReference, check_two_leaves, cut_in_two
from cutwise.estimators._progress import Stages
from cutwise.estimators._reference import ReferenceRecipe, cut_coordinates, make_reference
from cutwise.estimators._rows import FitRows, MetricSpace, encode_rows
from cutwise.estimators._tuning import FIRST_PENALTY, PenaltySearch, search_penalty, size_of_explanations
from cutwise.exceptions import InvalidInputError
from cutwise.reference import Reference, fixed_costs
from cutwise.table import (
    Seed,
    Table,
    check_integer,
    check_max_leaves,
    check_n_clusters,
    check_n_jobs,
    check_number,
    check_option,
    read_random_state,
)
from cutwise.tree.grower import EXPANSIONS, GrownTree, grow_tree

__all__ = ["ALGORITHMS", "ExplainableClusterer"]

ALGORITHMS = ("imm", "exgreedy", "exshallow", "exkmc", "optimal")

# Set by the fit of an optimal cut only once one of them is read.
_PUT_OFF = frozenset({"reference_", "surrogate_cost_", "cost_ratio_", "_leaf_counts"})


class ExplainableClusterer(TreeClusterer):
    """Parent of the estimators whose clusters have centers; the objective makes them k-means or k-medians."""

    depth_penalty_: float
    _penalty_search: PenaltySearch
    _later: LaterReference | None = None

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_leaves: int | None = None,
        algorithm: str = "exshallow",
        expansion: str = "exkmc",
        depth_penalty: float | str = 0.03,
        target_cost: float | None = None,
        target_waes: float | None = None,
        reference: Any = None,
        preprocessor: Any = None,
        n_init: int = 10,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_leaves = max_leaves
        self.algorithm = algorithm
        self.expansion = expansion
        self.depth_penalty = depth_penalty
        self.target_cost = target_cost
        self.target_waes = target_waes
        self.reference = reference
        self.preprocessor = preprocessor
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows, and grow the tree that says the clusters.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Finite numbers; not copied where they are float32, float64, int32, int64, uint8 or bool.
        y : ignored
            There for scikit-learn's sake.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; none negative, not all 0.

        Returns
        -------
        self : object

        Raises
        ------
        InvalidInputError
            A parameter, a value or a weight that cannot be used: fewer distinct rows than clusters, NaN, text, ...

        Warns
        -----
        UnseparableCentersWarning
            Reference centers that no cut can part.
        EmptyClusterWarning
            A cluster that ended without rows.
        """
        self._refuse_unsaved()
        k = check_n_clusters(self.n_clusters)
        max_leaves = check_max_leaves(self.max_leaves, k)
        check_option("algorithm", self.algorithm, ALGORITHMS)
        check_option("expansion", self.expansion, EXPANSIONS)
        fixed_penalty = self._check_penalty()
        check_integer("n_init", self.n_init, minimum=1)
        read_random_state(self.random_state)
        n_jobs = check_n_jobs(self.n_jobs)
        if self.algorithm == "optimal":
            check_two_leaves(k, max_leaves)
        stages = Stages(type(self).__name__, self.verbose)

        table, sample_weight, space = self._read_input(X, sample_weight, k, stages)
        recipe = ReferenceRecipe(
            self.reference, k, self.n_init, self.random_state, n_jobs, int(self.verbose), self._objective
        )
        if self.algorithm == "optimal":
            self._fit_optimal(recipe, table, space, sample_weight, stages)
            return self
        clustering = make_reference(recipe, table, space, sample_weight, stages)
        rows, reference = clustering.rows, clustering.reference
        with stages.stage("tree"):
            grow = partial(
                grow_tree,
                rows.encoded,
                reference.labels,
                cut_coordinates(rows, reference, space, self._objective),
                cache(
                    lambda: fixed_costs(
                        rows.metric.matrix, reference.centers, self._objective, weights=rows.weights, n_jobs=n_jobs
                    )
                ),
                expansion=self.expansion,
                n_jobs=n_jobs,
                progress=stages.leaves,
            )
            penalty = self._tuned_penalty(grow, rows, reference) if fixed_penalty is None else fixed_penalty
            grown = grow(algorithm=self.algorithm, max_leaves=max_leaves, depth_penalty=penalty)
            del grow  # with it go the costs, the largest array of a fit
        with stages.stage("costs"):
            self._remember_input(table, space, np.arange(self.n_clusters, dtype=np.int32))
            self._remember_penalty(penalty)
            self._finish(clustering, grown)
        stages.say(self._summary())
        return self

    def _fit_optimal(
        self,
        recipe: ReferenceRecipe,
        table: Table,
        space: MetricSpace,
        sample_weight: npt.NDArray[np.float64] | None,
        stages: Stages,
    ) -> None:
        """Cut in two where that costs least. The reference is for later, unless it was given."""
        given: Clustering | None = None
        if recipe.given is None:
            with stages.stage("encoding"):
                rows = encode_rows(table, space.table, sample_weight, n_jobs=recipe.n_jobs)
        else:
            given = make_reference(recipe, table, space, sample_weight, stages)
            rows = given.rows
        with stages.stage("optimal cut"):
            like = None if given is None else given.reference.labels
            grown = cut_in_two(rows, recipe, columns_apart=space.preprocessor is not None, like=like)
        later = LaterReference(recipe, space, rows, grown, sample_weight)
        if given is None and self._ends_in is not None:
            given = later.make(stages)
        with stages.stage("costs"):
            self._remember_input(table, space, np.arange(self.n_clusters, dtype=np.int32))
            self._remember_penalty(FIRST_PENALTY)
            if given is not None:
                self._finish(given, grown)
                return
            for name in _PUT_OFF:
                self.__dict__.pop(name, None)  # from an earlier fit
            centers = rows.centers(self._objective, grown.codes, 2)
            self._take_tree(rows, grown, rows.sum(rows.costs(self._objective, centers, grown.codes)), centers)
            self._later = later

    def _make_reference(self) -> None:
        """Do what the fit of an optimal cut put off."""
        later = self._later
        if later is None:
            return
        clustering, grown = later.make(Stages(type(self).__name__, later.recipe.verbose)), later.grown
        rows = clustering.rows
        surrogate_cost = rows.sum(rows.costs(self._objective, clustering.reference.centers, grown.codes))
        leaf = rows.leaves_of_all(grown.tree, grown.leaf_of_row)
        self._take_reference(clustering, grown, leaf, surrogate_cost)
        self._later = None

    if not TYPE_CHECKING:  # or every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            """Whatever compares an optimal cut with a reference, made when it is first read."""
            if name in _PUT_OFF and self._later is not None:
                self._make_reference()
                return vars(self)[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> Any:
        self._make_reference()  # rows as the engine holds them cannot be copied
        return super().__getstate__()

    def _remember_input(self, table: Table, space: MetricSpace, classes: npt.NDArray[Any]) -> None:
        super()._remember_input(table, space, classes)
        self._later = None

    def _check_penalty(self) -> float | None:
        """The depth penalty; None where it is to be searched for."""
        for name in ("target_cost", "target_waes"):
            self._check_target(name, getattr(self, name))
        if isinstance(self.depth_penalty, str):
            if self.depth_penalty != "auto":
                raise InvalidInputError(
                    f'depth_penalty={self.depth_penalty!r} is neither a number >= 0 nor "auto". Use 0.03, for instance.'
                )
            return None if self.algorithm == "exshallow" else FIRST_PENALTY
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

    def _tuned_penalty(self, grow: Callable[..., GrownTree], rows: FitRows, reference: Reference) -> float:
        """The penalty of ExShallow*, on a reference and costs that are there already."""
        k = reference.n_clusters

        def judge(grown: GrownTree) -> tuple[float, float]:
            cost = costs_by_centers(rows, reference, self._objective, grown.codes).cost
            return cost, size_of_explanations(rows, grown)

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

    def _remember_penalty(self, penalty: float) -> None:
        if self.algorithm == "exshallow":
            self.depth_penalty_ = penalty
        elif hasattr(self, "depth_penalty_"):
            del self.depth_penalty_  # from an earlier fit

    def _fitted_state(self) -> dict[str, Any]:
        return super()._fitted_state() | {"depth_penalty": getattr(self, "depth_penalty_", None)}

    def _restore_fitted(self, state: Entries) -> None:
        super()._restore_fitted(state)
        penalty = state.later("depth_penalty", lambda key: state.number(key, minimum=0, finite=True))
        if penalty is not None:
            self.depth_penalty_ = penalty
