"""Kernel IMM: explains a clustering made in a kernel's feature space, by cuts of surrogate features of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from cutwise.reference import FixedCosts
from cutwise.split import FeatureMistakeCriterion, SurrogateFeatures
from cutwise.table import EncodedTable

from .grower import GrownTree, expand_tree, finish
from .growing import GrowingTree
from .policies import separate

__all__ = ["grow_kernel_imm"]


def grow_kernel_imm(
    table: EncodedTable,
    labels: npt.NDArray[np.int32],
    n_clusters: int,
    features: SurrogateFeatures | Sequence[SurrogateFeatures],
    costs: Callable[[], FixedCosts] | None,
    *,
    max_leaves: int,
    expansion: str = "exkmc",
    cuts: str = "interval",
    ties: str = "position",
    gini: bool = False,
    n_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> GrownTree:
    """Grow a tree that gives every reference cluster one leaf, by cuts of surrogate features.

    Parameters
    ----------
    table : EncodedTable
        The m rows that grow the tree, in the columns that may be cut.
    labels : ndarray of shape (m,), int32
        Reference cluster of every row, 0 to k - 1. A cluster without rows has no center, and gets no leaf.
    n_clusters : int
        k.
    features : SurrogateFeatures, or a sequence of one for each column
        See ``cutwise.split.surrogate_features``.
    costs : callable or None
        Gives the cost of serving every row by every cluster; called at most once. None: only "expand" may follow.
    max_leaves : int
        Leaves at most; a tree with fewer is expanded while that gains anything.
    expansion : {"exkmc", "expand"}
        How it is expanded.
    cuts : {"interval", "threshold"}
        Whether tests may be intervals ``lower < x <= threshold``, or only one-sided; see ``grow_tree``.
    ties : {"position", "cost"}
        Which of the cuts with the fewest mistakes is taken: the lowest column, then the lowest feature, then the lowest
        level, which gives the published trees; or first the cut whose two sides cost least, each served by its best
        surviving cluster.
    gini, n_jobs, progress
        As in ``grow_tree``.

    Returns
    -------
    grown : GrownTree
        Each of the first tree's cuts is a level of one feature, half way between neighboring values of the node's rows
        (mistakes of earlier cuts apart), and parts the fewest rows from their centers. Exact in columns of at most
        1,000 distinct values; other columns are cut between 512 groups of values of equal weight (more where single
        values are heavy), a feature taking the group's median, and ``DistanceFeatures`` have 256 of these as anchors.
        The same, bit for bit, for any order of rows and any number of threads.

    References
    ----------
    Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*, Algorithm 1.
    """
    fixed_costs = None if costs is None else cache(costs)
    ranks = table.ranks(n_jobs)
    tree = GrowingTree(table)
    criterion = FeatureMistakeCriterion(
        table, ranks, labels, n_clusters, features, fixed_costs if ties == "cost" else None,
        one_sided=cuts == "threshold", n_jobs=n_jobs,
    )  # fmt: skip
    inseparable = separate(tree, criterion, np.unique(labels), progress)
    del criterion  # its features are not needed while the tree is expanded
    if max_leaves > n_clusters:
        used = ranks if cuts == "interval" else None
        expand_tree(tree, table, labels, n_clusters, fixed_costs, expansion, max_leaves, gini, used, n_jobs, progress)
    return finish(tree, inseparable)
