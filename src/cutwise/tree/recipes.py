"""From a table, a reference and a recipe to a tree. Sees arrays only: what can be put as arrays can be explained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InfeasibleLimitsError
from cutwise.reference.objective import FixedCosts, LazyCosts
from cutwise.table.table import EncodedTable

from .criteria.cliques import CliqueCriterion
from .criteria.disagreement import DisagreementCriterion, GiniCriterion
from .criteria.feature_mistakes import FeatureMistakeCriterion
from .criteria.induced import InducedCriterion, ShallowCriterion
from .criteria.mistakes import MistakeCriterion
from .criteria.surrogate import SurrogateCriterion
from .growing import GrowingTree, GrownTree, PlannedCriterion, expand, separate
from .limits import Limits, NoAllowedCutError
from .provider import ExpansionCriterion, Features, GrowthProblem, MemoryProvider, SeparationCriterion

CUTS = ("interval", "threshold")
"""What tests may be: intervals as well, or one-sided alone."""


@dataclass(frozen=True)
class Recipe:
    """How a tree grows.

    ``help``: what is cut where, in one line. ``base``: what gives every reference cluster one leaf; None: growth starts
    at a single leaf. ``expansion``: what adds leaves one by one, where this recipe is the whole growth or expands a
    base tree. ``explains``: what estimators offer it for: "centers" of clusters, "labels" from anywhere, clusterings by
    a "kernel". ``starts``: the recipes whose trees a search makes one of (``refine.py``), where this recipe is one; it
    grows none itself.
    """

    help: str
    base: Callable[[GrowthProblem], SeparationCriterion] | None = None
    expansion: Callable[[GrowthProblem], ExpansionCriterion] | None = None
    explains: tuple[str, ...] = ("centers", "labels")
    starts: tuple[str, ...] = ()


RECIPES = {
    # Trees that every search starts from, so that the result costs no more than any of the papers' with these leaves.
    "search": Recipe(
        "the cheapest tree that a search finds from those of the others",
        explains=("centers", "kernel"),
        starts=("exgreedy", "exshallow", "imm", "exkmc"),
    ),
    "imm": Recipe("the fewest rows are separated from their reference center", base=MistakeCriterion),
    "exgreedy": Recipe("rows cost least by the best center on their side", base=InducedCriterion),
    "exshallow": Recipe("the same, and the tree stays shallow", base=ShallowCriterion),
    "kernel_imm": Recipe(
        "the fewest rows are separated, in a surrogate feature", base=FeatureMistakeCriterion, explains=()
    ),
    "exkmc": Recipe(
        "each side costs least by one center",
        expansion=SurrogateCriterion,
        explains=("centers", "labels", "kernel"),
    ),
    "expand": Recipe(
        "the fewest rows differ from their side's commonest cluster",
        expansion=DisagreementCriterion,
        explains=("labels", "kernel"),
    ),
    "gini": Recipe("the sides have the least Gini impurity", expansion=GiniCriterion, explains=()),
    "spex": Recipe(
        "the fewest pairs of a cluster are separated, for the size of the sides",
        expansion=CliqueCriterion,
        explains=("labels",),
    ),
}
"""Every algorithm by its name. A new one is a criterion, or a search, and a line here."""

Expansion = Literal["exkmc", "expand"]
EXPANSIONS: tuple[Expansion, ...] = get_args(Expansion)
"""Recipes that users may expand a base tree by."""


def recipes_for(what: str) -> tuple[str, ...]:
    """Names of the recipes that estimators offer for "centers", "labels" or a "kernel"."""
    return tuple(name for name, recipe in RECIPES.items() if what in recipe.explains)


def grow_tree(
    table: EncodedTable,
    labels: npt.NDArray[np.int32],
    coordinates: npt.NDArray[np.float64],
    costs: FixedCosts | LazyCosts | None,
    *,
    algorithm: str,
    max_leaves: int,
    expansion: str = "exkmc",
    depth_penalty: float = 0.03,
    gini: bool = False,
    cuts: str = "threshold",
    features: Features | None = None,
    limits: Limits | None = None,
    n_jobs: int = 1,
    progress: Callable[[str, int], None] | None = None,
) -> GrownTree:
    """Grow a threshold tree against a fixed reference.

    ``table``: the m rows that grow the tree, in the columns that may be cut. ``labels`` (m,) int32: reference cluster
    of every row, 0 to k - 1. ``coordinates`` (k, d) float64: the reference clusters' coordinates in those columns.
    ``costs``: what it costs to serve every row by every cluster; lazy ones are worked out only if the recipe needs
    them. None: "imm" settles ties by position, and only "expand" may follow it. ``algorithm``: one of ``RECIPES``.
    ``max_leaves``: leaves at most; a base tree with fewer is expanded while that gains anything. ``expansion``: how a
    base tree is expanded. ``depth_penalty``: lambda of "exshallow". ``gini``: "expand" tells apart cuts that disagree
    equally by Gini impurity. ``cuts``: what "exkmc" and "expand" may test: one-sided cuts, or intervals ``lower < x <=
    threshold`` too. An interval is taken where it costs less than every one-sided cut; of equals the one of the lowest
    column, then of the lowest lower gap, then of the lowest upper gap. Over all pairs of gaps in columns of at most
    1,000 distinct values in the node; other columns are searched between 256 groups of values of equal weight, and the
    ends of the best pair then moved to the best single values next to them. ``features``: for "kernel_imm", which of
    the cuts with the fewest mistakes takes that of the lowest column, then of the lowest feature, then of the lowest
    level, as the published trees do; see ``surrogate_features``. ``limits``: of cuts and depth; raises
    ``NoAllowedCutError`` where they leave a cluster of a base tree without a leaf. ``n_jobs``: threads; the tree does
    not depend on it. ``progress``: told the algorithm and the number of leaves after every split. Returns ``grown``:
    the same, bit for bit, for any order of rows and any number of threads. Each cut of a "kernel_imm" base is a level
    of one feature, half way between neighboring values of the node's rows (mistakes of earlier cuts apart): exact in
    columns of at most 1,000 distinct values; other columns are cut between 512 groups of values of equal weight (more
    where single values are heavy), a feature taking the group's median, and ``DistanceFeatures`` have 256 of these as
    anchors.
    """

    def grown(penalty: float) -> GrownTree:
        problem = GrowthProblem(
            MemoryProvider(table, labels, costs, n_jobs),
            np.ascontiguousarray(coordinates, dtype=np.float64),
            depth_penalty=penalty,
            gini=gini,
            intervals=cuts == "interval",
            features=features,
            limits=limits,
        )
        return grow(problem, algorithm, max_leaves, expansion, progress)

    return fewest_empty(grown, algorithm, depth_penalty)


def fewest_empty(grown: Callable[[float], GrownTree], algorithm: str, depth_penalty: float) -> GrownTree:
    """The tree of a depth penalty, or the one without where that has fewer leaves without rows.

    Valid cuts may end at a node where no cut is valid: less depth is no reason for a cluster without rows.
    """
    tree = grown(depth_penalty)
    if algorithm == "exshallow" and depth_penalty > 0 and tree.n_empty:
        deeper = grown(0.0)
        tree = deeper if deeper.n_empty < tree.n_empty else tree
    return tree


def unless_refused(grow: Callable[[], GrownTree]) -> Callable[[], GrownTree | InfeasibleLimitsError]:
    """A growth that gives the error where limits leave this algorithm no tree: others may find a way."""

    def tried() -> GrownTree | InfeasibleLimitsError:
        try:
            return grow()
        except InfeasibleLimitsError as error:
            return error

    return tried


def grow(
    problem: GrowthProblem,
    algorithm: str,
    max_leaves: int,
    expansion: str = "exkmc",
    progress: Callable[[str, int], None] | None = None,
) -> GrownTree:
    """Grow a threshold tree on rows wherever they lie; parameters as in ``grow_tree``."""
    recipe, tree = RECIPES[algorithm], GrowingTree(problem.provider)
    tell = progress and partial(progress, algorithm)
    if recipe.starts:
        raise ValueError(f"{algorithm!r} refines the trees of {', '.join(recipe.starts)}: grow these")
    inseparable: list[tuple[int, ...]] = []
    further = recipe.expansion
    if recipe.base is not None:
        try:
            inseparable = separate(tree, recipe.base(problem), tell, problem.limits, problem.coordinates)
        except NoAllowedCutError:
            limits = problem.limits
            if limits is None:
                raise
            planned = PlannedCriterion(problem, limits)
            if not planned.is_known:
                raise
            problem = replace(problem, provider=problem.provider.anew())
            tree = GrowingTree(problem.provider)
            inseparable = separate(tree, planned, tell, limits, problem.coordinates)
        further = RECIPES[expansion].expansion if max_leaves > problem.n_clusters else None
    if further is not None:
        expand(tree, further(problem), max_leaves, tell, problem.limits)
    return tree.finish(inseparable)
