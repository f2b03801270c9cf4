"""The search for a cheaper tree as a recipe: from grown trees and the runs of the reference to the tree of a fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from cutwise.estimators._progress import Stages
from cutwise.estimators._rows import FitContext
from cutwise.exceptions import InvalidInputError
from cutwise.reference import LazyCosts
from cutwise.table import check_number
from cutwise.tree.growing import GrownTree
from cutwise.tree.recipes import RECIPES
from cutwise.tree.refine import Effort, SearchRecord, expand_tree, tree_size
from cutwise.tree.refinement import SearchCheaper
from cutwise.tree.subtree import truncate_growth

__all__ = ["check_max_size", "search_tree"]


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
) -> tuple[GrownTree, SearchRecord]:
    """Grow the trees of the papers, and search for a cheaper one.

    ``coordinates`` (k, d) float64: the reference clusters in the columns that are cut. ``grow``: ``grow_tree`` but for
    what differs from start to start. ``is_own_space``: whether distances are measured in the very columns that are cut.
    ``max_leaves``, ``expansion``, ``depth_penalty``: as in ``grow_tree``; leaves beyond k are added to the tree that
    was found. ``effort``, ``size_penalty``, ``max_size``: as in ``refine``. ``stages``: told of progress.
    """
    rows, reference, k = context.rows, context.reference, context.n_clusters
    # With a leaf a cluster each is a start; with more leaves the cheapest may be cheaper than the searched one.
    papers = tuple(
        grow(algorithm=name, max_leaves=max_leaves, depth_penalty=depth_penalty) for name in RECIPES["search"].starts
    )
    starts = [truncate_growth(grown, k) for grown in papers]
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
        max_size=tree_size(starts[1], rows.weights) if max_size == "exshallow" else max_size,
        n_jobs=rows.n_jobs,
        progress=stages.searching,
    )
    grown, record = search.search(starts)
    if max_leaves > k:
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
            n_jobs=rows.n_jobs,
            progress=stages.leaves,
        )
        grown = replace(grown, others=papers)
    return grown, record
