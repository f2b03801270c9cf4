"""Costs of trees by number of leaves, from one growth, and by length of rules, from one search."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from cutwise._docs import table_html
from cutwise._progress import show_progress
from cutwise.core import Float64, Int64
from cutwise.estimators._base import TreeEstimator, recipe_of
from cutwise.estimators._fitted_tree import reference_share_explained, share_explained
from cutwise.estimators._model_file import UnserializableParam
from cutwise.estimators.cluster_explainer import ClusterExplainer
from cutwise.estimators.training import FitContext, Growth, PreparedFit
from cutwise.exceptions import CutwiseWarning, InvalidInputError, UnsupportedInputError
from cutwise.readouts.words import finite
from cutwise.reference.objective import OBJECTIVES
from cutwise.table.intake import check_integer, check_n_clusters, check_number
from cutwise.tree.growing import GrownTree
from cutwise.tree.subtree import COST_TOLERANCE, SizedTree, cheapest_by_size, sizes_of_growth


class _Trees:
    """Base of collections of trees of one model."""

    _figures: ClassVar[tuple[str, ...]]  # arrays with one number per tree, besides n_leaves
    _make: Callable[[int], Any]  # the model of a number that ``model`` takes
    n_leaves: Int64

    @property
    def _numbers(self) -> Iterable[int]:
        """The numbers that ``model`` takes."""
        return range(len(self.n_leaves))

    def __getstate__(self) -> dict[str, Any]:
        """The figures and every model: the rows of the fit stay behind."""
        with warnings.catch_warnings(action="ignore", category=CutwiseWarning):  # the largest tree has warned
            models = {number: self._make(number) for number in self._numbers}
        return vars(self) | {"_make": models.__getitem__, "_context": None}

    def _repr_html_(self) -> str:
        columns = [name for name in ("n_leaves", *self._figures) if name != "surrogate_cost"]
        return table_html(columns, zip(*(getattr(self, name).tolist() for name in columns), strict=True))

    def _first_within(self: Any, within: float) -> int | None:
        """Index of the first tree that costs at most ``1 + within`` times the reference; None if there is none."""
        within = check_number("within", within, minimum=0)
        return next(iter(np.flatnonzero(self.cost <= (1.0 + within) * self.reference_cost).tolist()), None)

    def to_dict(self: Any) -> dict[str, Any]:
        """The figures for JSON; nan becomes ``None``."""
        figures = {name: [finite(value) for value in getattr(self, name).tolist()] for name in self._figures}
        return {"n_leaves": self.n_leaves.tolist(), **figures}


def _costs(cost: float, reference_cost: float) -> str:
    if reference_cost > 0:
        return f"costs {cost / reference_cost:.4f} times as much"
    return f"costs {cost:.4g}, and the reference nothing"


@dataclass(frozen=True, eq=False)
class CostCurve(_Trees):
    """Costs of the trees of one growth, by their number of leaves.

    Attributes
    ----------
    n_leaves : ndarray of shape (n_points,), int64
        Increasing. The last may be less than ``max_leaves``: growth ends when no single cut gains anything. Sizes that
        cost no less than a smaller one are left out if a fit would return the smaller tree.
    cost : ndarray of shape (n_points,), float64
        ``cost_`` of a fit with ``max_leaves=n_leaves[i]``, to the bit; all figures equal those of this fit
        (``agreement``: up to the rounding of fractional weights). Trees of ``ClusterExplainer("auto")``, and trees of
        at most one leaf a cluster, may need more leaves allowed: ``max_leaves=model(n_leaves[i]).max_leaves``.
    surrogate_cost, cost_ratio, explained : ndarray of shape (n_points,), float64
    agreement : ndarray of shape (n_points,), float64
        Share of the weight whose cluster is that of the reference.
    reference_cost, reference_explained : float
        The cost of the reference clustering, the denominator of the ratio, and its ``reference_explained_``.
    max_leaves : int
        The largest number of leaves allowed in the growth.
    """

    _figures = ("cost", "surrogate_cost", "cost_ratio", "explained", "agreement")

    n_leaves: Int64
    cost: Float64
    surrogate_cost: Float64
    cost_ratio: Float64
    explained: Float64
    agreement: Float64
    reference_cost: float
    reference_explained: float
    max_leaves: int
    _make: Callable[[int], TreeEstimator] = field(repr=False)
    _context: FitContext | None = field(repr=False)

    @property
    def _numbers(self) -> Iterable[int]:
        numbers: list[int] = self.n_leaves.tolist()
        return numbers

    def __repr__(self) -> str:
        return (
            f"CostCurve({self.n_leaves[0]} to {self.n_leaves[-1]} leaves, "
            f"cost ratio {self.cost_ratio[0]:.4f} to {self.cost_ratio[-1]:.4f})"
        )

    def smallest(self, within: float) -> int:
        """The fewest leaves whose cost is at most ``1 + within`` times that of the reference clustering.

        Parameters
        ----------
        within : float
            0.02 stands for two per cent.

        Returns
        -------
        n_leaves : int

        Raises
        ------
        InvalidInputError
            No tree is that close to the reference; the message says how close the best one is.
        """
        if (place := self._first_within(within)) is not None:
            return int(self.n_leaves[place])
        best = int(np.argmin(self.cost))
        last = int(self.n_leaves[-1])
        step = f"Allow more than {last} leaves, or a larger difference."
        if last < self.max_leaves:
            step = "No further cut that is allowed gains anything: take a larger difference, or another algorithm."
        raise InvalidInputError(
            f"No tree of up to {last} leaves is within {100 * within:.4g} % of the reference's cost: the best"
            f" has {int(self.n_leaves[best])} leaves and {_costs(self.cost[best], self.reference_cost)}. {step}"
        )

    def model(self, n_leaves: int) -> TreeEstimator:
        """The fitted model of one point, equal to a fit with ``max_leaves=n_leaves``.

        Parameters
        ----------
        n_leaves : int
            One of ``n_leaves``.

        Returns
        -------
        model : estimator
            Of the class that the curve was made with.

        Raises
        ------
        InvalidInputError
            A size that no point of the curve has.

        Warns
        -----
        EmptyClusterWarning
            A cluster that ended without rows.
        """
        if n_leaves not in self._numbers:
            raise InvalidInputError(
                f"The curve has no tree of {n_leaves!r} leaves, only those of {self.n_leaves[0]} to "
                f"{self.n_leaves[-1]}. Choose one of its n_leaves."
            )
        with warnings.catch_warnings(action="ignore", category=CutwiseWarning):  # the largest tree has warned
            model = copy(self._make(int(n_leaves)))  # may be named and counted again
        model._warn_of_empty_clusters()
        return model

    def to_dict(self) -> dict[str, Any]:
        """The curve for JSON; nan becomes ``None``."""
        return {
            "reference_cost": self.reference_cost,
            "reference_explained": finite(self.reference_explained),
            **super().to_dict(),
        }


def cost_curve(model: TreeEstimator, X: Any, y: Any = None, *, max_leaves: int | None = None, **fit: Any) -> CostCurve:
    """How cost falls with the number of leaves, from one fit.

    Growth always splits the best leaf, so the growth of a single tree of ``max_leaves`` leaves contains all the smaller
    trees. An estimator that clusters returns the cheapest of them, so cost falls from point to point.

    Parameters
    ----------
    model : estimator of cutwise
        Has the parameters of the fit; it is not changed. If it is fitted with a k-means reference of its own, the curve
        uses the same reference.
    X : array-like, sparse matrix, data frame or lazy table of shape (n_samples, n_features)
        The rows to fit.
    y : array-like of shape (n_samples,), default=None
        The clusters, for ``ClusterExplainer``.
    max_leaves : int, default=None
        The largest size. None means four leaves a cluster, at most 30 more than clusters, and no fewer than the model
        has.
    **fit
        Passed on to ``fit``: ``sample_weight``, ...

    Returns
    -------
    curve : CostCurve
        Sizes from one leaf a cluster.

    Raises
    ------
    InvalidInputError
        Fewer leaves than clusters, or what ``fit`` refuses.

    Notes
    -----
    With ``ClusterExplainer(algorithm="auto")`` and ``ExplainableKernelKMeans(surrogate_features="auto")`` the best
    algorithm may change with the size, so that the best tree of one size is not part of the best tree of another. Then
    the curve has few points: one leaf a cluster, the size of the fitted model, ``max_leaves``, and for
    ``ClusterExplainer``, whose trees come from one growth, a size between.

    With ``algorithm="search"`` a search improves the cheapest trees of 2, 4, 8 leaves a cluster and so on, and leaves
    are added to them. At every size the curve has the tree that a fit with so many leaves gives.

    References
    ----------
    Frost, Moshkovitz, Rashtchian (2020), *ExKMC: Expanding Explainable k-Means Clustering*: trees of k' > k leaves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cutwise import ExplainableKMeans, cost_curve
    >>> curve = cost_curve(ExplainableKMeans(3, random_state=0), load_iris().data, max_leaves=8)
    >>> curve.n_leaves.tolist()  # the sixth leaf and all others gain nothing
    [3, 4, 5]
    >>> curve.model(curve.smallest(within=0.02)).n_leaves_
    4
    """
    if not isinstance(model, TreeEstimator):
        raise UnsupportedInputError(f"cost_curve takes a model of cutwise, fitted or not, not {type(model).__name__}.")
    if max_leaves is not None:
        check_integer("max_leaves", max_leaves, minimum=1)
    fit = fit if y is None else {**fit, "y": y}
    probe = unfitted(model)
    if max_leaves is not None:
        _with(probe, max_leaves=max_leaves)
    with _start_fit(model, probe, X, fit) as start:
        context, k = start.context, start.context.n_clusters
        if max_leaves is None and recipe_of(model).takes_leaves:
            start = replace(start, max_leaves=max(min(4 * k, k + 30), start.max_leaves))
        most = start.max_leaves
        _with(probe, max_leaves=most)
        if isinstance(probe, ClusterExplainer) and probe.algorithm == "auto" and context.in_memory:
            return _curve_of(_points_of_auto(probe, start, _shared_sizes(k, most, model, _MOST_POINTS)), most, context)
        growth = probe._grow_within_limits(start)
        whole, by_size, sizes = growth.grown, dict[int, SizedTree](), list(range(k, most + 1))
        # The best of several growths may be a different one at each size.
        chosen = "auto" in (getattr(probe, "algorithm", None), getattr(probe, "surrogate_features", None))
        if whole.split_order is None or chosen:
            sizes = _shared_sizes(k, most, model, 2) if chosen else sizes
            growth = replace(growth, grown=probe._chosen(start, whole))
        elif probe._takes_cheapest:
            by_size = {tree.size: tree for tree in cheapest_by_size(context.trees_by_size(whole))}
            growth = replace(growth, grown=by_size[max(by_size)].get())
        else:
            by_size = {size: SizedTree(math.nan, size, whole) for size in sizes_of_growth(whole, k)}
        probe._publish(start, growth)

    def of_tree(size: int) -> TreeEstimator:
        # Beyond the first size growth was allowed more leaves than clusters, even if the tree has no more.
        least = k if size == min(by_size) else k + 1
        point: TreeEstimator = _with(copy(probe), max_leaves=max(size, least))
        point._publish(start, Growth(by_size[size].get()))
        if isinstance(point, ClusterExplainer):
            point.candidates_ = {point.growth_: point.agreement_}
        return point

    def point_of(size: int) -> _Point:
        show_progress(f"sizes: {size} leaves", 0.7 + 0.3 * size / most)
        if by_size:
            return _Point.on_the_way(context, by_size[size], partial(of_tree, size))
        return _Point.of(_with(clone(probe), max_leaves=size).fit(X, **fit))

    # The fit of the largest tree has warned; the others are parts of its growth.
    with warnings.catch_warnings(action="ignore", category=CutwiseWarning):
        calls = [partial(point_of, size) for size in by_size or sizes]
        return _curve_of(context.together(calls) if by_size else (call() for call in calls), most, context)


@contextmanager
def _start_fit(model: Any, probe: TreeEstimator, X: Any, fit: Mapping[str, Any]) -> Iterator[PreparedFit]:
    """Prepare a fit of ``probe``, an unfitted copy of ``model``, whose result is used after the block too."""
    signature(probe.fit).bind(X, **fit)  # refuses arguments that no fit takes
    with probe._prepare(X, **fit, stays=True) as start:
        yield replace(start, reference_is_own=getattr(model, "reference", probe) is None)


def _points_of_auto(probe: ClusterExplainer, start: PreparedFit, sizes: Sequence[int]) -> Iterator[_Point]:
    """Points of the best trees with up to so many leaves, out of one growth."""
    with warnings.catch_warnings(action="ignore", category=CutwiseWarning):  # each size would warn
        for size, growth in zip(sizes, probe._grow_sizes(start, sizes), strict=True):
            point: ClusterExplainer = _with(copy(probe), max_leaves=size)
            point._publish(start, growth)
            yield _Point.of(point)


class _Point(NamedTuple):
    """The figures of a tree, and a function that makes its model."""

    n_leaves: int
    cost: float
    surrogate_cost: float
    cost_ratio: float
    explained: float
    agreement: float
    total_cost: float
    reference_cost: float
    model: Callable[[], TreeEstimator]

    @classmethod
    def of(cls, model: TreeEstimator) -> _Point:
        """The point of a fitted model."""
        return cls(
            model.n_leaves_, model.cost_, model.surrogate_cost_, model.cost_ratio_, model.explained_,
            model._leaf_counts.agreement, model.total_cost_, model.reference_.cost, partial(copy, model),
        )  # fmt: skip

    @classmethod
    def on_the_way(cls, context: FitContext, tree: SizedTree, model: Callable[[], TreeEstimator]) -> _Point:
        """The point of a tree of a growth; its model is made only on demand."""
        own, codes = context.of(tree.growth), tree.codes
        costs, reference, rows = own.cost_of_labels(codes), own.reference, own.rows
        total, agrees = own.total_cost(costs), (codes == reference.labels).astype(np.float64)
        return cls(
            min(tree.size, tree.growth.tree.n_leaves), costs.cost, costs.surrogate_cost,
            costs.cost / reference.cost if reference.cost > 0 else math.nan,
            share_explained(costs.cost, reference.cost, total), rows.sum(agrees) / rows.sum(np.ones_like(agrees)),
            total, reference.cost, model,
        )  # fmt: skip


_MOST_POINTS = 3
"""Number of sizes to fit if smaller trees are not part of larger ones, but all come from one growth."""


def _shared_sizes(first: int, last: int, model: TreeEstimator, n_points: int) -> list[int]:
    """``n_points`` sizes from the first to the last, and the size of the model if it is fitted."""
    sizes = set(np.linspace(first, last, min(n_points, last - first + 1)).round().astype(int).tolist())
    own = getattr(model, "n_leaves_", first)
    return sorted(sizes | ({own} if first <= own <= last else set()))


def _curve_of(points: Iterable[_Point], max_leaves: int, context: FitContext | None) -> CostCurve:
    """The curve of points, sorted by size; the first point of a size counts."""
    by_size: dict[int, _Point] = {}
    for point in points:
        by_size.setdefault(point.n_leaves, point)
    found = [by_size[size] for size in sorted(by_size)]
    cost, surrogate, ratio, explained, agreement = np.array([point[1:6] for point in found], dtype=np.float64).T
    last = found[-1]
    return CostCurve(
        np.array([point.n_leaves for point in found], dtype=np.int64), cost, surrogate, ratio, explained, agreement,
        reference_cost=last.reference_cost,
        reference_explained=reference_share_explained(last.reference_cost, last.total_cost), max_leaves=int(max_leaves),
        _make=lambda n_leaves: by_size[n_leaves].model(), _context=context,
    )  # fmt: skip


_OF_CENTERS = {"reference", "preprocessor", "categorical_features"}
"""Parameters that decide what the reference's centers are; a model that was told others since has no such centers."""


def unfitted(model: TreeEstimator) -> TreeEstimator:
    """An unfitted copy of a model; if the fitted model found its reference itself, the copy is given its centers."""
    probe: TreeEstimator = clone(model)
    fitted, now = getattr(model, "reference_", None), model.get_params(deep=False)
    is_same = getattr(fitted, "n_clusters", None) == now.get("n_clusters")
    for name in model._params_of_fit.keys() & _OF_CENTERS:
        then = model._params_of_fit[name]
        is_same = is_same and (isinstance(then, UnserializableParam) or then is now[name])
    # A given clusterer is used again, since its labels may differ from those of the nearest centers; a clustering in
    # the feature space of a kernel has no centers to pass on.
    own = "reference" in now and isinstance(model.reference, UnserializableParam | None)
    if own and is_same and fitted is not None and fitted.objective in OBJECTIVES:
        _with(probe, reference=fitted.centers)
    return probe


Estimator = TypeVar("Estimator", bound=TreeEstimator)


def _with(estimator: Estimator, **parameters: Any) -> Estimator:
    """The estimator with these parameters, also those that the constructor of a subclass does not take."""
    for name, value in parameters.items():
        setattr(estimator, name, value)
    return estimator


NO_BOUND = (1e300, 1e300)
"""Bounds on size that every tree meets, so that a search tries several prices of size."""


class FrontPoint(NamedTuple):
    """The figures of a tree, and how to get it."""

    waes: float
    wad: float
    cost: float
    tree: Callable[[], GrownTree]


@dataclass(frozen=True, eq=False)
class TreeFront(_Trees):
    """Trees of one search, each cheaper than all trees with rules as short.

    Attributes
    ----------
    n_leaves : ndarray of shape (n_trees,), int64
    waes : ndarray of shape (n_trees,), float64
        Average number of conditions in a row's rule; increasing.
    wad : ndarray of shape (n_trees,), float64
        Average number of tests that a row passes.
    cost, cost_ratio : ndarray of shape (n_trees,), float64
        Decreasing; the ratio is nan where the reference costs nothing.
    reference_cost : float
        The cost of the reference clustering, the denominator of the ratio.
    """

    _figures = ("waes", "wad", "cost", "cost_ratio")

    n_leaves: npt.NDArray[np.int64]
    waes: npt.NDArray[np.float64]
    wad: npt.NDArray[np.float64]
    cost: npt.NDArray[np.float64]
    cost_ratio: npt.NDArray[np.float64]
    reference_cost: float
    _make: Callable[[int], Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.n_leaves)

    def __repr__(self) -> str:
        return (
            f"TreeFront({len(self)} trees, {self.waes[0]:.2f} to {self.waes[-1]:.2f} conditions a row, "
            f"cost ratio {self.cost_ratio[0]:.4f} to {self.cost_ratio[-1]:.4f})"
        )

    def shortest(self, within: float) -> int:
        """The number of the tree with the shortest rules whose cost is at most ``1 + within`` times the reference's.

        Parameters
        ----------
        within : float
            0.05 stands for five per cent.

        Returns
        -------
        number : int
            For :meth:`model`.

        Raises
        ------
        InvalidInputError
            No tree is that cheap; the message says how much the cheapest costs.
        """
        if (place := self._first_within(within)) is not None:
            return place
        raise InvalidInputError(
            f"No tree is within {100 * within:.4g} % of the reference's cost: the cheapest of these {len(self)} "
            f"{_costs(self.cost[-1], self.reference_cost)}. Allow more leaves, or a larger difference."
        )

    def model(self, number: int) -> Any:
        """The fitted model of one tree, complete with rules, names and files.

        Parameters
        ----------
        number : int
            From 0, the shortest rules, to ``len(front) - 1``, the lowest cost.

        Returns
        -------
        model : estimator
            Of the class that the front was made with.

        Raises
        ------
        InvalidInputError
            A number that no tree has.
        """
        if check_integer("number", number, minimum=0) >= len(self):
            raise InvalidInputError(f"number={number} of {len(self)} trees. Choose one from 0 to {len(self) - 1}.")
        return copy(self._make(number))


def tree_front(model: Any, X: Any, max_leaves: int | None, fit: dict[str, Any]) -> TreeFront:
    """The front of a search at several prices of size; parameters as in ``ExplainableClusterer.front``."""
    k, probe = check_n_clusters(model.n_clusters), unfitted(model)
    most = max(2 * k, probe.max_leaves or 0) if max_leaves is None else max_leaves
    model._check_penalty()  # targets are of exshallow alone, which the search takes the place of
    _with(probe, algorithm="search", target_cost=None, target_waes=None)
    _with(probe, max_leaves=most, max_size=NO_BOUND, search_effort=model.search_effort or 1.0)
    with _start_fit(model, probe, X, fit) as start:
        growth = probe._grow_within_limits(start)
        context, judged = start.context, growth.judged
        longer = context.trees_by_size(growth.grown, every=True)
        probe._publish(start, replace(growth, grown=cheapest_by_size(longer)[-1].get()))
        if model.max_size is not None:  # bounds find trees that no price finds, such as that of the fit
            _with(probe, max_size=model.max_size)
            judged = [*judged, *probe._grow_within_limits(replace(start, max_leaves=k)).judged]

    def lengths(grown: GrownTree, sizes: Sequence[int]) -> list[tuple[float, float]]:
        return context.of(grown).rows.rule_lengths(grown, sizes)

    counts_levels = any(kind.places_missing for kind in context.table.kinds)  # a search counts each separately
    found = list[FrontPoint]()
    for tree in judged:
        (length,) = lengths(tree.grown, [tree.grown.tree.n_leaves]) if counts_levels else [tree.judgement[1:]]
        found.append(FrontPoint(*length, tree.judgement.cost, partial(getattr, tree, "grown")))
    # Trees with more leaves than clusters; all trees if there was no search (for one cluster, say).
    for grown, each in groupby(longer, attrgetter("growth")):
        sized = [tree for tree in each if tree.size > k or not judged]
        of_sizes = zip(lengths(grown, [tree.size for tree in sized]), sized, strict=True)
        found += [FrontPoint(*length, tree.cost, tree.get) for length, tree in of_sizes]
    front: list[FrontPoint] = []
    for one in sorted(found, key=lambda one: (one.waes, one.wad)):
        if not front or one.cost < front[-1].cost * (1.0 - COST_TOLERANCE):
            front = [*(other for other in front if other.waes < one.waes), one]
    trees = [one.tree() for one in front]

    def of_number(number: int) -> Any:
        taken, one = trees[number], copy(probe)
        leaves = taken.tree.n_leaves
        _with(one, max_leaves=leaves if leaves > k else None, max_size=model.max_size)
        # The fit has warned about the clusters.
        with warnings.catch_warnings(action="ignore", category=CutwiseWarning):
            one._publish(start, Growth(taken))
        one.__dict__.pop("search_", None)  # it is about all trees of the front
        return one

    own = context.together(partial(context.of(tree).cost_of_labels, tree.codes) for tree in trees)
    costs, reference = np.array([each.cost for each in own]), probe.reference_.cost
    return TreeFront(
        n_leaves=np.array([tree.tree.n_leaves for tree in trees], dtype=np.int64),
        waes=np.array([one.waes for one in front]),
        wad=np.array([one.wad for one in front]),
        cost=costs,
        cost_ratio=costs / reference if reference > 0 else np.full(len(costs), np.nan),
        reference_cost=reference,
        _make=of_number,
    )
