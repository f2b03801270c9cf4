"""Trees that no other tree beats both in cost and in the length of their rules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cutwise._docs import table_html
from cutwise.exceptions import CutwiseWarning, InvalidInputError
from cutwise.readouts.words import finite
from cutwise.table.intake import check_integer, check_n_clusters, check_number
from cutwise.tree.growing import GrownTree
from cutwise.tree.refine import Judged

from ._curve import unfitted
from ._tuning import size_of_explanations
from .training import FitContext

NO_BOUND = (1e300, 1e300)
"""Bounds on size that all trees keep, and that let a search look at several prices of it."""


class Found(NamedTuple):
    """The figures of a tree, and how to get it."""

    waes: float
    wad: float
    cost: float
    tree: Callable[[], GrownTree]


@dataclass(frozen=True, eq=False)
class TreeFront:
    """Trees of one search, each cheaper than all with rules as short.

    Attributes
    ----------
    n_leaves : ndarray of shape (n_trees,), int64
    waes : ndarray of shape (n_trees,), float64
        Conditions that a row's rule has, on average; increasing.
    wad : ndarray of shape (n_trees,), float64
        Tests that a row passes, on average.
    cost, cost_ratio : ndarray of shape (n_trees,), float64
        Decreasing; nan where the reference costs nothing.
    """

    n_leaves: npt.NDArray[np.int64]
    waes: npt.NDArray[np.float64]
    wad: npt.NDArray[np.float64]
    cost: npt.NDArray[np.float64]
    cost_ratio: npt.NDArray[np.float64]
    _model: Callable[[int], Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.n_leaves)

    def __repr__(self) -> str:
        return (
            f"TreeFront({len(self)} trees, {self.waes[0]:.2f} to {self.waes[-1]:.2f} conditions a row, "
            f"cost ratio {self.cost_ratio[0]:.4f} to {self.cost_ratio[-1]:.4f})"
        )

    def _repr_html_(self) -> str:
        columns = ("n_leaves", "waes", "wad", "cost", "cost_ratio")
        return table_html(columns, zip(*(getattr(self, name).tolist() for name in columns), strict=True))

    def shortest(self, within: float) -> int:
        """The number of the tree with the shortest rules whose cost ratio is at most ``1 + within``.

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
            No tree is that cheap; says what the cheapest costs.
        """
        within = check_number("within", within, minimum=0)
        cheap = np.flatnonzero(self.cost_ratio <= 1.0 + within)
        if len(cheap):
            return int(cheap[0])
        raise InvalidInputError(
            f"No tree is within {within:.4g} of the reference's cost: the cheapest of these {len(self)} costs "
            f"{self.cost_ratio[-1]:.4f} times as much. Allow more leaves, or a larger difference."
        )

    def model(self, number: int) -> Any:
        """The fitted model of one tree, with all that models have: rules, names, files.

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
        return self._model(number)

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON can hold them; ``None`` stands for nan."""
        return {
            "n_leaves": self.n_leaves.tolist(),
            **{
                name: [finite(value) for value in getattr(self, name).tolist()]
                for name in ("waes", "wad", "cost", "cost_ratio")
            },
        }


def tree_front(model: Any, X: Any, max_leaves: int | None, fit: dict[str, Any]) -> TreeFront:
    """The front of a search at several prices of size; parameters as in ``ExplainableClusterer.front``."""
    k = check_n_clusters(model.n_clusters)
    probe, growths, judged = unfitted(model), list[tuple[FitContext, GrownTree]](), list[Judged]()
    most = max(2 * k, probe.max_leaves or 0) if max_leaves is None else max_leaves
    probe.set_params(algorithm="search", max_leaves=most, max_size=NO_BOUND, search_effort=model.search_effort or 1.0)
    probe._after_growth = lambda *growth: growths.append(growth)
    probe._after_search = judged.extend
    try:
        probe.fit(X, **fit)
    finally:
        del probe._after_growth, probe._after_search
    context, grown = growths[-1]

    def measured(get: Callable[[], GrownTree], cost: float) -> Found:
        rows = context.of(tree := get()).rows
        return Found(size_of_explanations(rows, tree), tree.size(rows.weights)[1], cost, get)

    ways = [(partial(getattr, tree, "grown"), tree.judgement) for tree in judged]
    if any(kind.places_missing for kind in context.table.kinds):  # a search counts what is asked of one level alone
        found = [measured(get, judgement.cost) for get, judgement in ways]
    else:
        found = [Found(*judgement[1:], judgement.cost, get) for get, judgement in ways]
    # What ends with more leaves; without a search (of one cluster, say) all there is.
    longer = context.trees_by_size(grown, every=True)
    found += [measured(own.get, own.cost) for own in longer if own.size > k or not judged]
    front: list[Found] = []
    for one in sorted(found, key=lambda one: (one.waes, one.cost, one.wad)):
        if not front or one.cost < front[-1].cost:
            front.append(one)

    def of_number(number: int) -> Any:
        taken, one = front[number].tree(), copy(probe)
        leaves = taken.tree.n_leaves
        one.set_params(max_leaves=leaves if leaves > k else None, max_size=model.max_size, algorithm=model.algorithm)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CutwiseWarning)  # the fit has said what is wrong with the clusters
            one._take_tree(context, taken)
        one.limits_price_ = math.nan  # there is no tree without limits to compare it with
        return one

    costs, reference = np.array([one.cost for one in front]), probe.reference_.cost
    return TreeFront(
        n_leaves=np.array([one.tree().tree.n_leaves for one in front], dtype=np.int64),
        waes=np.array([one.waes for one in front]),
        wad=np.array([one.wad for one in front]),
        cost=costs,
        cost_ratio=costs / reference if reference > 0 else np.full(len(costs), np.nan),
        _model=of_number,
    )
