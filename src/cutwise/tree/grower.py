"""From a table, a reference and a recipe to a tree. Sees arrays only: what can be put as arrays can be explained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from cutwise.core import Ranks
from cutwise.reference import FixedCosts
from cutwise.split import (
    DisagreementCriterion,
    ExpansionCriterion,
    InducedCriterion,
    MistakeCriterion,
    SeparationCriterion,
    SurrogateCriterion,
)
from cutwise.table import EncodedTable

from .growing import GrowingTree
from .policies import expand, separate
from .threshold_tree import ThresholdTree

__all__ = ["BASES", "CUTS", "EXPANSIONS", "GrownTree", "expand_tree", "finish", "grow_tree"]

Progress = Callable[[int], None]

BASES = ("imm", "exgreedy", "exshallow")
"""Recipes that give every reference cluster one leaf."""

EXPANSIONS = ("exkmc", "expand")
"""Recipes that add leaves one by one, from a base tree or from a single leaf."""

CUTS = ("interval", "threshold")
"""What tests may be: intervals as well, or one-sided alone."""


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree and where its rows are.

    Attributes
    ----------
    tree : ThresholdTree
    leaf_of_row : ndarray of shape (m,), int32
        Node number of the leaf of every encoded row.
    inseparable : list of tuples of int
        Groups of clusters equal in every column that may be cut; the first of each has the leaf.
    gaps : ndarray of shape (n_nodes, 4), float64
        The two neighboring values that every threshold lies between (centers count as values), then those of the lower
        end of an interval; nan at leaves, and for the lower end of one-sided tests.
    made : ndarray of shape (n_nodes,), int32, or None
        The order in which the nodes were made: 0 for the root, then two with every split.
    held : ndarray of shape (n_nodes,), int32, or None
        The cluster that every node held while it was a leaf, -1 where it never was one of a complete tree.
    """

    tree: ThresholdTree
    leaf_of_row: npt.NDArray[np.int32]
    inseparable: list[tuple[int, ...]]
    gaps: npt.NDArray[np.float64]
    made: npt.NDArray[np.int32] | None = None
    held: npt.NDArray[np.int32] | None = None

    @property
    def codes(self) -> npt.NDArray[np.int32]:
        """Cluster of every encoded row, shape (m,), int32."""
        return self.tree.cluster[self.leaf_of_row]


def grow_tree(
    table: EncodedTable,
    labels: npt.NDArray[np.int32],
    coordinates: npt.NDArray[np.float64],
    costs: Callable[[], FixedCosts] | None,
    *,
    algorithm: str,
    max_leaves: int,
    expansion: str = "exkmc",
    depth_penalty: float = 0.03,
    gini: bool = False,
    cuts: str = "threshold",
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> GrownTree:
    """Grow a threshold tree against a fixed reference.

    Parameters
    ----------
    table : EncodedTable
        The m rows that grow the tree, in the columns that may be cut.
    labels : ndarray of shape (m,), int32
        Reference cluster of every row, 0 to k - 1.
    coordinates : ndarray of shape (k, d), float64
        The reference clusters' coordinates in those columns.
    costs : callable or None
        Gives the cost of serving every row by every cluster; called once, and only if the recipe needs it. None: "imm"
        settles ties by position, and only "expand" may follow it.
    algorithm : {"imm", "exgreedy", "exshallow", "exkmc", "expand"}
        The base tree; the last two start from a single leaf.
    max_leaves : int
        Leaves at most; a base tree with fewer is expanded while that gains anything.
    expansion : {"exkmc", "expand"}
        How a base tree is expanded.
    depth_penalty : float
        Lambda of "exshallow".
    gini : bool
        "expand" tells apart cuts that disagree equally by Gini impurity.
    cuts : {"threshold", "interval"}
        What "exkmc" and "expand" may test: one-sided cuts, or intervals ``lower < x <= threshold`` too. An interval is
        taken where it costs less than every one-sided cut; of equals the one of the lowest column, then of the lowest
        lower gap, then of the lowest upper gap. Over all pairs of gaps in columns of at most 1,000 distinct values in
        the node; other columns are searched between 256 groups of values of equal weight, and the ends of the best
        pair then moved to the best single values next to them.
    n_jobs : int
        Threads; the tree does not depend on it.
    progress : callable, optional
        Told the number of leaves after every split.

    Returns
    -------
    grown : GrownTree
        The same, bit for bit, for any order of rows and any number of threads.
    """
    fixed_costs = None if costs is None else cache(costs)
    k = len(coordinates)
    coordinates = np.ascontiguousarray(coordinates, dtype=np.float64)
    tree = GrowingTree(table)
    inseparable: list[tuple[int, ...]] = []
    if algorithm in BASES:
        criterion: SeparationCriterion
        if algorithm == "imm":
            criterion = MistakeCriterion(table, labels, coordinates, fixed_costs, n_jobs)
        else:
            penalty = depth_penalty if algorithm == "exshallow" else 0.0
            criterion = InducedCriterion(table, coordinates, _needed(fixed_costs, algorithm)(), penalty, n_jobs)
        inseparable = separate(tree, criterion, np.arange(k, dtype=np.int32), progress)
        del criterion  # its histogram is not needed while the tree is expanded
    if algorithm not in BASES or max_leaves > k:
        further = expansion if algorithm in BASES else algorithm
        ranks = table.ranks(n_jobs) if cuts == "interval" else None
        expand_tree(tree, table, labels, k, fixed_costs, further, max_leaves, gini, ranks, n_jobs, progress)
    return finish(tree, inseparable)


def finish(tree: GrowingTree, inseparable: list[tuple[int, ...]]) -> GrownTree:
    """A tree that has grown as far as it should."""
    finished, leaf_of_row, gaps = tree.finish()
    made, held = tree.history()
    return GrownTree(finished, leaf_of_row, inseparable, gaps, made, held)


def expand_tree(
    tree: GrowingTree,
    table: EncodedTable,
    labels: npt.NDArray[np.int32],
    k: int,
    costs: Callable[[], FixedCosts] | None,
    expansion: str,
    max_leaves: int,
    gini: bool,
    ranks: Ranks | None,
    n_jobs: int,
    progress: Progress | None,
) -> None:
    """Add leaves by "exkmc" or "expand"; parameters as in :func:`grow_tree`, ``ranks`` where intervals may be taken."""
    criterion: ExpansionCriterion
    if expansion == "exkmc":
        criterion = SurrogateCriterion(table, _needed(costs, expansion)(), ranks, n_jobs)
    else:
        criterion = DisagreementCriterion(table, labels, k, gini=gini, ranks=ranks, n_jobs=n_jobs)
    expand(tree, criterion, max_leaves, progress)


def _needed(costs: Callable[[], FixedCosts] | None, algorithm: str) -> Callable[[], FixedCosts]:
    if costs is None:
        raise ValueError(f"{algorithm!r} needs the cost of serving every row by every cluster")
    return costs
