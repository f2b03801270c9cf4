"""Growing trees on labels from anywhere, and choosing among several by what they agree on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cutwise.estimators._rows import FitRows
from cutwise.readouts.conditions import explanation_sizes
from cutwise.reference import FixedCosts
from cutwise.tree.cart import cart_tree
from cutwise.tree.grower import GrownTree, grow_tree
from cutwise.tree.threshold_tree import ThresholdTree

__all__ = ["AUTO_CANDIDATES", "Candidate", "LabelProblem", "best_candidate", "grow_candidate"]

AUTO_CANDIDATES = ("expand", "exshallow", "exgreedy", "imm", "cart")
"""What ``"auto"`` tries: disagreement with Gini, induced cost with and without the depth term, mistakes, plain CART."""


@dataclass(frozen=True, eq=False)
class LabelProblem:
    """A clustering to explain, as the growers want it.

    Attributes
    ----------
    rows : FitRows
    labels : ndarray of shape (m,), int32
        Cluster codes of the rows that take part.
    coordinates : ndarray of shape (k, d), float64
        The clusters' centers in the columns that are cut.
    costs : callable
        Gives the cost of each row by each cluster, in fixed point.
    max_leaves : int
    expansion : str
    depth_penalty : float
    progress : callable
        Told the number of leaves.
    """

    rows: FitRows
    labels: npt.NDArray[np.int32]
    coordinates: npt.NDArray[np.float64]
    costs: Callable[[], FixedCosts]
    max_leaves: int
    expansion: str
    depth_penalty: float
    progress: Callable[[int], None]

    @property
    def n_clusters(self) -> int:
        """k, the number of clusters."""
        return len(self.coordinates)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A grown tree and what it is judged by.

    Attributes
    ----------
    growth : str
        The algorithm that grew it.
    grown : GrownTree
    agreement : int
        Weight of the rows whose cluster it keeps.
    n_without_leaf : int
        Clusters without a leaf.
    explanation_size : float
        Conditions that a row's rule has, on average (WAES).
    """

    growth: str
    grown: GrownTree
    agreement: int
    n_without_leaf: int
    explanation_size: float

    @property
    def rank(self) -> tuple[int, int, float]:
        """Less is better: agreement first, then every cluster with a leaf, then short rules."""
        return -self.agreement, self.n_without_leaf, self.explanation_size


def grow_candidate(
    problem: LabelProblem, algorithm: str, *, expansion: str | None = None, labels_only: bool = False
) -> Candidate:
    """Grow one tree and judge it.

    Parameters
    ----------
    problem : LabelProblem
    algorithm : str
        One of grow_tree's, or ``"cart"``.
    expansion : str, optional
        Instead of the problem's.
    labels_only : bool, default False
        Look at nothing but the labels: Gini decides between cuts that disagree on as many rows, and in the end each
        leaf gets the cluster that most of its rows have.
    """
    rows = problem.rows
    if algorithm == "cart":
        grown = cart_tree(
            rows.compress(rows.table.values),
            problem.labels,
            max_leaves=problem.max_leaves,
            is_integer=rows.table.is_integer,
            weights=rows.weights,
            counts=rows.encoded.copies,
        )
    else:
        grown = grow_tree(
            rows.encoded,
            problem.labels,
            problem.coordinates,
            None if algorithm == "expand" else problem.costs,
            algorithm=algorithm,
            max_leaves=problem.max_leaves,
            expansion=expansion or problem.expansion,
            depth_penalty=problem.depth_penalty,
            gini=labels_only,
            n_jobs=rows.n_jobs,
            progress=problem.progress,
        )
        if labels_only:
            grown = replace(grown, tree=_with_majorities(grown, problem))
    return _judge(problem, algorithm, grown)


def best_candidate(problem: LabelProblem) -> tuple[Candidate, dict[str, Candidate]]:
    """Grow every tree that ``"auto"`` tries, and keep the one that agrees best with the labels.

    Returns
    -------
    best : Candidate
        The first of the best in the order of ``AUTO_CANDIDATES``.
    tried : dict of str to Candidate
    """
    tried: dict[str, Candidate] = {}
    for algorithm in AUTO_CANDIDATES:
        tried[algorithm] = grow_candidate(problem, algorithm, expansion="expand", labels_only=True)
    best = min(tried.values(), key=lambda candidate: candidate.rank)
    return best, tried


def _judge(problem: LabelProblem, growth: str, grown: GrownTree) -> Candidate:
    tree = grown.tree
    agrees = tree.cluster[grown.leaf_of_row] == problem.labels
    with_leaf = np.unique(tree.cluster[tree.leaves])
    leaf_weight = problem.rows.weight_of(grown.leaf_of_row, tree.n_nodes)[tree.leaves]
    return Candidate(
        growth=growth,
        grown=grown,
        agreement=int(problem.rows.weight_of(agrees.astype(np.int32), 2)[1]),
        n_without_leaf=problem.n_clusters - len(with_leaf),
        explanation_size=float(explanation_sizes(tree) @ leaf_weight / leaf_weight.sum()),
    )


def _with_majorities(grown: GrownTree, problem: LabelProblem) -> ThresholdTree:
    """The tree with every leaf's heaviest cluster; a leaf whose own is as heavy, or that has no rows, keeps it."""
    tree, k = grown.tree, problem.n_clusters
    leaf_number = np.cumsum(tree.feature < 0) - 1
    pair = leaf_number[grown.leaf_of_row] * k + problem.labels
    weight = problem.rows.weight_of(pair, tree.n_leaves * k).reshape(tree.n_leaves, k)
    own = tree.cluster[tree.leaves]
    heaviest = weight.argmax(axis=1)
    wins = weight.max(axis=1) > weight[np.arange(tree.n_leaves), own]
    cluster = tree.cluster.copy()
    cluster[tree.leaves] = np.where(wins, heaviest, own)
    return replace(tree, cluster=cluster)
