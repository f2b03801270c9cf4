"""Growing a tree on rows, by an algorithm and within limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InfeasibleLimitsError, InvalidInputError, listed
from cutwise.table.intake import check_integer, check_number, find_columns
from cutwise.table.table import Columns, SearchedColumns, searched_columns

from .criteria.cliques import CliqueCriterion
from .criteria.disagreement import DisagreementCriterion, GiniCriterion
from .criteria.feature_mistakes import FeatureMistakeCriterion
from .criteria.induced import InducedCriterion, ShallowCriterion
from .criteria.mistakes import MistakeCriterion
from .criteria.surrogate import SurrogateCriterion
from .growing import GrowingTree, GrownTree, PlannedCriterion, expand, separate
from .limits import MOST_DEPTH, Limits, NoAllowedCutError
from .provider import ExpansionCriterion, GrowthProblem, GrowthSpec, Provider, SeparationCriterion

CUTS = ("interval", "threshold")
"""Kinds of tests: intervals and one-sided tests, or only one-sided tests."""


@dataclass(frozen=True)
class Recipe:
    """How a tree grows, and what it can be grown on.

    ``help``: one line about its cuts. ``base``: the criterion that gives every reference cluster one leaf; None: growth
    starts at a single leaf. ``expansion``: the criterion that adds leaves one by one, as the whole growth or to a base
    tree. ``explains``: inputs of estimators that offer it: "centers" of clusters, "labels" from any source, clusterings
    by a "kernel". ``starts``: the recipes whose trees a search (``refine.py``) starts from, or the best of which is
    taken; such a recipe grows no tree itself. ``takes_mixed``: tables with categories, dates or missing values.
    ``takes_limits``: limits of cuts, depth and leaves. ``takes_batches``: tables that are not in memory.
    ``takes_leaves``: more leaves than clusters. ``weighs_depth``: the depth penalty makes another tree. ``bound``: what
    bounds the cost, where the theory applies: the "mistakes" of IMM's cuts, or the "single cut" that costs least.
    """

    help: str
    base: Callable[[GrowthProblem], SeparationCriterion] | None = None
    expansion: Callable[[GrowthProblem], ExpansionCriterion] | None = None
    explains: tuple[str, ...] = ("centers", "labels")
    starts: tuple[str, ...] = ()
    takes_mixed: bool = True
    takes_limits: bool = True
    takes_batches: bool = True
    takes_leaves: bool = True
    weighs_depth: bool = False
    bound: Literal["mistakes", "single cut"] | None = None

    @property
    def may_leave_out(self) -> bool:
        """Whether it may leave clusters without a leaf."""
        return self.expansion is not None


RECIPES = {
    # Every search starts from these trees, so that its result costs no more than any of them with as many leaves.
    "search": Recipe(
        "the cheapest tree that a local search finds; it starts from trees of other algorithms",
        explains=("centers", "kernel"),
        starts=("exgreedy", "exshallow", "imm", "exkmc"),
    ),
    "imm": Recipe(
        "a cut separates the fewest rows from their reference center", base=MistakeCriterion, bound="mistakes"
    ),
    "exgreedy": Recipe(
        "a cut minimizes the cost when each row is served by the best center on its side", base=InducedCriterion
    ),
    "exshallow": Recipe("as exgreedy, with a penalty on depth", base=ShallowCriterion, weighs_depth=True),
    "kernel_imm": Recipe(
        "as imm, in a surrogate feature of the kernel",
        base=FeatureMistakeCriterion,
        explains=(),
        takes_limits=False,
        bound="mistakes",
    ),
    "exkmc": Recipe(
        "a split minimizes the cost when each side is served by a single center",
        expansion=SurrogateCriterion,
        explains=("centers", "labels", "kernel"),
    ),
    "expand": Recipe(
        "a split minimizes the number of rows outside the largest cluster on their side",
        expansion=DisagreementCriterion,
        explains=("labels", "kernel"),
    ),
    "spex": Recipe(
        "a split separates the fewest pairs of rows of one cluster, relative to the size of the sides",
        expansion=CliqueCriterion,
        explains=("labels",),
        takes_batches=False,
    ),
    "cart": Recipe(
        "a split minimizes the Gini impurity of the sides, as in CART", expansion=GiniCriterion, explains=("labels",)
    ),
    "auto": Recipe(
        "the tree of several algorithms that agrees best with the labels",
        explains=(),
        starts=("expand", "exshallow", "exgreedy", "imm", "cart"),
    ),
    "optimal": Recipe(
        "the single cut of lowest cost, for two clusters",
        explains=(),
        takes_mixed=False,
        takes_limits=False,
        takes_batches=False,
        takes_leaves=False,
        bound="single cut",
    ),
}
"""Every algorithm by name. A new algorithm needs a criterion or a search, and an entry here."""

Expansion = Literal["exkmc", "expand"]
EXPANSIONS: tuple[Expansion, ...] = get_args(Expansion)
"""Recipes with which users may expand a base tree."""


def recipes_for(what: str) -> tuple[str, ...]:
    """Names of the recipes that estimators offer for "centers", "labels" or a "kernel"."""
    return tuple(name for name, recipe in RECIPES.items() if what in recipe.explains)


_ANOTHER = 'algorithm="exkmc" (a cluster may end without a leaf)'


@dataclass(frozen=True)
class LimitsGiven:
    """The limits as they are given to an estimator; ``may_leave_out``: see :class:`Recipe`."""

    cut_features: Any = None
    max_depth: Any = None
    min_samples_leaf: Any = 1
    may_leave_out: bool = False

    @property
    def is_none(self) -> bool:
        """Whether there are no limits."""
        return self.cut_features is None and self.max_depth is None and self.min_samples_leaf == 1

    def check(self, n_clusters: int) -> None:
        """Check the limits as far as possible without a table."""
        if self.max_depth is not None:
            check_integer("max_depth", self.max_depth, minimum=1)
        hint = "20 is twenty rows, 0.05 five per cent."
        share = check_number("min_samples_leaf", self.min_samples_leaf, minimum=0, above=True, hint=hint)
        if share > 1 and not share.is_integer():
            raise InvalidInputError(
                f"min_samples_leaf={self.min_samples_leaf!r} is neither a number of rows nor a share of the weight. "
                "Use 20 for twenty rows, or 0.05 for five per cent."
            )
        if self.may_leave_out:
            return
        depth = self.max_depth
        if depth is not None and depth < MOST_DEPTH and 2**depth < n_clusters:
            raise InfeasibleLimitsError(
                f"max_depth={depth} allows {2**depth} leaves, fewer than n_clusters={n_clusters}. "
                f"Use max_depth >= {(n_clusters - 1).bit_length()}, or fewer clusters, or {_ANOTHER}."
            )
        if share < 1 and n_clusters * share > 1:
            room = int(1 / share)
            raise InfeasibleLimitsError(
                f"min_samples_leaf={self.min_samples_leaf!r} allows {room} lea{'f' if room == 1 else 'ves'}, "
                f"fewer than n_clusters={n_clusters}. Use min_samples_leaf <= {_share_below(n_clusters)}, less where "
                f"clusters differ in size, or fewer clusters, or {_ANOTHER}."
            )

    def read(
        self,
        columns: Columns,
        coordinates: npt.NDArray[np.float64],
        classes: Sequence[Any],
        totals: tuple[int, int],
        counts: tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int64] | None] = (None, None),
    ) -> Limits:
        """The limits for the rows of a table.

        ``coordinates`` (k, D): the clusters in the searched columns. ``classes``: labels of the clusters. ``totals``:
        number and weight of all rows. ``counts``: number and weight of each of the m rows.
        """
        mask = None
        if self.cut_features is not None:
            chosen = find_columns("cut_features", self.cut_features, columns)
            if not chosen:
                raise InvalidInputError("cut_features names no column, so there is no cut. Name one, or leave it out.")
            allowed, searched = np.isin(np.arange(len(columns.names)), sorted(chosen)), searched_columns(columns.kinds)
            mask = (allowed if searched is None else allowed[searched.source]).astype(np.uint8)
            if not self.may_leave_out:
                _check_separable(columns, searched, coordinates, mask, classes)
        share, least = float(self.min_samples_leaf), 0
        by_weight = share < 1
        total = totals[by_weight]
        if by_weight:
            least = -int(-Fraction(repr(share)) * total // 1)
        elif share > 1:
            least = int(self.min_samples_leaf)
            if least * len(classes) > total and not self.may_leave_out:
                raise InfeasibleLimitsError(
                    f"min_samples_leaf={least} for each of {len(classes)} clusters needs {least * len(classes)} rows, "
                    f"but there are {total}. Use min_samples_leaf <= {total // len(classes)}, less where clusters "
                    f"differ in size, or fewer clusters, or {_ANOTHER}."
                )
        return Limits(mask, self.max_depth, least, counts[by_weight], total, by_weight)

    def in_words(self, columns: Columns) -> str:
        """The limits in words: ``no cut on gender, age; depth at most 3``."""
        said = []
        if self.cut_features is not None:
            chosen = find_columns("cut_features", self.cut_features, columns)
            only = 2 * len(chosen) <= len(columns.names)
            names = [name for j, name in enumerate(columns.names) if (j in chosen) == only]
            text = f"{'only cuts on' if only else 'no cut on'} {listed(names, write=str)}"
            said += [text] if names else []
        if self.max_depth is not None:
            said.append(f"depth at most {self.max_depth}")
        least = self.min_samples_leaf
        if least < 1:
            said.append(f"at least {100 * least:g} % in a leaf")
        elif least > 1:
            said.append(f"at least {least:g} rows in a leaf")
        return "; ".join(said)

    def infeasible(
        self, error: NoAllowedCutError, rule: str, classes: Sequence[Any], smallest: int
    ) -> InfeasibleLimitsError:
        """The error for a growth that limits stopped: with the limits, the node, and the next step.

        ``rule``: rule of the node. ``smallest``: rows of the smallest leaf of the tree without limits.
        """
        least = self.min_samples_leaf
        said = ["cut_features=..."] * (self.cut_features is not None)
        said += [f"max_depth={self.max_depth}"] * (self.max_depth is not None)
        said += [f"min_samples_leaf={least}"] * bool(least != 1)
        clusters = [str(classes[cluster]) for cluster in error.clusters]
        few = f"{', '.join(clusters[:-1])} and {clusters[-1]}"
        who = f"clusters {few if len(clusters) <= 20 else listed(clusters, most=20, write=str)}"
        where = f"the {error.n_rows} rows where {rule}" if rule else f"all {error.n_rows} rows"
        leaves, step = ("allows", "Use a looser limit") if len(said) == 1 else ("allow", "Use looser limits")
        message = f"{', '.join(said)} {leaves} no cut between {who}, which share {where}."
        if isinstance(least, int) and least > smallest > 0:
            message += f"\nWithout it the smallest leaf would have {smallest} rows."
            step = f"Use min_samples_leaf <= {smallest}"
        return InfeasibleLimitsError(f"{message} {step}, or fewer clusters, or {_ANOTHER}.")


def _share_below(n_clusters: int) -> float:
    """The largest share, in a few digits, that each of ``n_clusters`` leaves can have."""
    digits: int = 10 ** (len(str(n_clusters)) + 2)
    return digits // n_clusters / digits


def _check_separable(
    columns: Columns,
    searched: SearchedColumns | None,
    coordinates: npt.NDArray[np.float64],
    mask: npt.NDArray[np.uint8],
    classes: Sequence[Any],
) -> None:
    """Raise an error if two clusters that differ in other columns are equal in all allowed columns."""
    among = coordinates[:, mask > 0]
    for i in range(len(among)):
        for j in range(i + 1, len(among)):
            differs = coordinates[i] != coordinates[j]
            if (among[i] != among[j]).any() or not differs.any():
                continue
            sources = np.flatnonzero(differs) if searched is None else searched.source[differs]
            names = [columns.names[source] for source in dict.fromkeys(sources.tolist())]
            raise InfeasibleLimitsError(
                f"clusters {classes[i]} and {classes[j]} are equal in every column of cut_features, so no allowed cut "
                f"separates them. Add one that tells them apart: {listed(names)}."
            )


def grow_on(rows: Provider, coordinates: npt.NDArray[np.float64], spec: GrowthSpec) -> GrownTree:
    """Grow a threshold tree on rows in memory or elsewhere.

    ``coordinates`` (k, d) float64: the reference clusters' coordinates in the columns that may be cut. Raises
    ``NoAllowedCutError`` if a cluster of a base tree gets no leaf within the limits. Returns ``grown``: the same, bit
    for bit, for any order of rows and any number of threads. Each cut of a "kernel_imm" base is a level of one feature,
    half way between neighboring values of the node's rows (without mistakes of earlier cuts): exact in columns of at
    most 1,000 distinct values; other columns are cut between 512 groups of values of equal weight (more if single
    values are heavy), with the feature of the group's median, and ``distance_features`` have 256 of these as anchors.
    """
    coordinates = np.ascontiguousarray(coordinates, dtype=np.float64)
    tree = grow(GrowthProblem(rows.anew(), coordinates, spec))
    # Valid cuts may lead to a node without a valid cut, so leaves may be empty; less depth does not justify that.
    if RECIPES[spec.algorithm].weighs_depth and spec.depth_penalty > 0 and tree.n_empty:
        deeper = grow(GrowthProblem(rows.anew(), coordinates, replace(spec, depth_penalty=0.0)))
        tree = deeper if deeper.n_empty < tree.n_empty else tree
    return tree


def unless_refused(grow: Callable[[GrowthSpec], GrownTree], spec: GrowthSpec) -> GrownTree | InfeasibleLimitsError:
    """The grown tree, or the error if limits leave this algorithm no tree: other algorithms may find one."""
    try:
        return grow(spec)
    except InfeasibleLimitsError as error:
        return error


def grow(problem: GrowthProblem) -> GrownTree:
    """Grow a tree by its recipe; see ``grow_on``."""
    spec, coordinates, tree = problem.spec, problem.coordinates, GrowingTree(problem.provider)
    recipe, limits = RECIPES[spec.algorithm], spec.limits
    on_leaf = spec.progress and partial(spec.progress, spec.algorithm)
    inseparable: list[tuple[int, ...]] = []
    further = recipe.expansion
    if recipe.base is not None:
        try:
            inseparable = separate(tree, recipe.base(problem), on_leaf, limits, coordinates)
        except NoAllowedCutError:
            assert limits is not None
            planned = PlannedCriterion(problem, limits)
            if not planned.is_known:
                raise
            problem = replace(problem, provider=problem.provider.anew())
            tree = GrowingTree(problem.provider)
            inseparable = separate(tree, planned, on_leaf, limits, coordinates)
        further = RECIPES[spec.expansion].expansion if spec.max_leaves > problem.n_clusters else None
    if further is not None:
        expand(tree, further(problem), spec.max_leaves, on_leaf, limits)
    return tree.finish(inseparable)
