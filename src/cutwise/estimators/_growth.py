"""Growing several trees on given labels, and choosing the tree that agrees best with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cutwise import core
from cutwise.estimators.training import FitContext
from cutwise.table.table import are_plain
from cutwise.tree.growing import GrownTree
from cutwise.tree.provider import GrowthSpec
from cutwise.tree.recipes import RECIPES, unless_refused
from cutwise.tree.refine_labels import refine_agreement
from cutwise.tree.subtree import prune_to_agreement, truncate_growth, without_empty_leaves

ATTEMPTS = 4
_MANY_CLUSTERS = 50


@dataclass(frozen=True, eq=False)
class LabelProblem:
    """A clustering to explain, and how to grow trees for it.

    ``grow``: see ``FitContext.grower``. ``spec``: parameters of the trees.
    """

    context: FitContext
    grow: Callable[[GrowthSpec], GrownTree]
    spec: GrowthSpec

    def up_to(self, max_leaves: int) -> LabelProblem:
        """The same with another number of leaves."""
        return replace(self, spec=replace(self.spec, max_leaves=max_leaves))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A grown tree and the figures it is judged by."""

    growth: str  # the algorithm that grew it
    grown: GrownTree
    agreement: int  # weight of the rows whose cluster is their label
    n_without_leaf: int  # clusters without a leaf
    explanation_size: float  # average number of conditions in a row's rule (WAES)

    @property
    def rank(self) -> tuple[int, int, float]:
        """Sort key, smaller is better: most agreement, then fewest clusters without a leaf, then shortest rules."""
        return -self.agreement, self.n_without_leaf, self.explanation_size


def grow_all(problem: LabelProblem) -> dict[str, GrownTree]:
    """Grow the large trees that contain the candidates of ``"auto"``, by name, in order of preference among equals."""
    spec = replace(problem.spec, expansion="expand", gini=True)
    own = {name: replace(spec, algorithm=name) for name in RECIPES["auto"].starts}
    if problem.context.in_memory:  # otherwise so large a tree takes many passes over the rows
        own["cart"] = replace(own["cart"], max_leaves=_overgrown(spec.max_leaves))
    tried = problem.context.together(partial(unless_refused, problem.grow, each) for each in own.values())
    # Limits may make some fail, but not expand and cart, which may leave a cluster without a leaf.
    return {name: tree for name, tree in zip(own, tried, strict=True) if isinstance(tree, GrownTree)}


def candidates_of(problem: LabelProblem, grown: dict[str, GrownTree]) -> dict[str, Candidate]:
    """Every tree that ``"auto"`` chooses from, cut back from growths with as many leaves or more.

    Every leaf has rows, and the cluster with most of their weight.
    """
    trees = {name: truncate_growth(tree, problem.spec.max_leaves) for name, tree in grown.items()}
    if problem.context.in_memory:
        large, own = truncate_growth(grown["cart"], _overgrown(problem.spec.max_leaves)), problem.context
        trees["cart, pruned"] = prune_to_agreement(
            large, own.reference.labels, own.n_clusters, problem.spec.max_leaves, own.rows.weights
        )
    return {
        name: judge(problem, name, _with_majorities(without_empty_leaves(tree), problem))
        for name, tree in trees.items()
        if _is_allowed(problem, tree)
    }


def grow_until_every_cluster_has_a_leaf(problem: LabelProblem) -> dict[str, Candidate]:
    """Grow every tree of ``"auto"``, with a few more leaves where the best tree leaves a cluster without one.

    A small cluster may have no leaf in the tree that agrees best, because a leaf of its own would cost agreement
    elsewhere. Then the tree may grow further, up to two leaves a cluster, rather than agree less. Clusters that the
    columns cannot separate never get a leaf: if no other cluster lacks one, the number of attempts is limited.
    """
    context, most = problem.context, 2 * problem.context.n_clusters
    # Best-first growth contains all smaller trees. It takes long for many clusters, so it is done once.
    n_grown = most if context.in_memory and context.n_clusters > _MANY_CLUSTERS else problem.spec.max_leaves
    grown = grow_all(problem.up_to(n_grown))
    candidates, attempt = candidates_of(problem, grown), 0
    while (missing := best_candidate(candidates).n_without_leaf) and problem.spec.max_leaves < most:
        if attempt >= ATTEMPTS and missing <= _n_never_heaviest(context):
            break
        max_leaves = min(problem.spec.max_leaves + (missing << attempt), most)
        problem = problem.up_to(max_leaves)
        if max_leaves > n_grown:
            n_grown = min(max_leaves + 2 * missing, most) if attempt == 0 else most
            grown = grow_all(problem.up_to(n_grown))
        candidates, attempt = candidates_of(problem, grown), attempt + 1
    return candidates


def _n_never_heaviest(context: FitContext) -> int:
    """Number of clusters that are the heaviest in no group of equal rows; all clusters if rows are not in memory."""
    if not context.in_memory:
        return context.n_clusters
    table, labels = context.rows.encoded, context.reference.labels
    group = np.unique(core.row_hashes(table.matrix, context.rows.n_jobs), return_inverse=True)[1].astype(np.int64)
    pairs, of_row = np.unique(group * context.n_clusters + labels, return_inverse=True)
    weight, own = np.bincount(of_row, weights=table.weights), pairs // context.n_clusters
    heaviest = np.zeros(own[-1] + 1)
    np.maximum.at(heaviest, own, weight)
    return context.n_clusters - len(np.unique(pairs[weight == heaviest[own]] % context.n_clusters))


def with_searched(problem: LabelProblem, candidates: dict[str, Candidate]) -> dict[str, Candidate]:
    """The candidates, and the best tree that a search finds from them, unless more clusters would lack a leaf."""
    best, context = best_candidate(candidates), problem.context
    takes_search = context.in_memory and are_plain(context.rows.encoded.kinds)  # complete numbers
    if not takes_search or best.agreement == context.total_weight:
        return candidates
    starts = sorted(candidates.values(), key=lambda candidate: candidate.rank)
    trees = refine_agreement(
        context.rows.encoded,
        context.reference.labels,
        context.coordinates,
        [start.grown for start in starts],
        max(problem.spec.max_leaves, best.grown.tree.n_leaves),
        problem.spec.limits,
        context.rows.n_jobs,
    )
    searched = [judge(problem, "search", tree) for tree in trees if _is_allowed(problem, tree)]
    searched = [candidate for candidate in searched if candidate.n_without_leaf <= best.n_without_leaf]
    return candidates | ({"search": min(searched, key=lambda c: c.rank)} if searched else {})


def best_candidate(candidates: dict[str, Candidate]) -> Candidate:
    """The candidate that agrees best with the labels; see ``Candidate.rank``."""
    return min(candidates.values(), key=lambda candidate: candidate.rank)


def _overgrown(max_leaves: int) -> int:
    """Leaves of a tree to prune: enough to see beyond a cut that gains nothing by itself."""
    return min(3 * max_leaves + 8, max_leaves + 200)


def _is_allowed(problem: LabelProblem, grown: GrownTree) -> bool:
    limits = problem.spec.limits
    return limits is None or limits.are_met(grown.tree, grown.leaf_of_row, grown.rows)


def judge(problem: LabelProblem, growth: str, grown: GrownTree) -> Candidate:
    """The candidate of a tree that an algorithm grew."""
    tree, own = grown.tree, problem.context.of(grown)
    rows, agrees = own.rows, tree.cluster[grown.leaf_of_row] == own.reference.labels
    with_leaf = np.unique(tree.cluster[tree.leaves])
    return Candidate(
        growth=growth,
        grown=grown,
        agreement=int(rows.weight_of(agrees.astype(np.int32), 2)[1]),
        n_without_leaf=own.n_clusters - len(with_leaf),
        explanation_size=rows.explanation_size(grown),
    )


def _with_majorities(grown: GrownTree, problem: LabelProblem) -> GrownTree:
    """Give every leaf its heaviest cluster; a leaf without rows, or with a tie, keeps its cluster."""
    tree, own, k = grown.tree, problem.context.of(grown), problem.context.n_clusters
    rows, labels = own.rows, own.reference.labels
    leaf_number = np.cumsum(tree.feature < 0) - 1
    pair = leaf_number[grown.leaf_of_row] * k + labels
    weight = rows.weight_of(pair, tree.n_leaves * k).reshape(tree.n_leaves, k)
    now = tree.cluster[tree.leaves]
    wins = weight.max(axis=1) > weight[np.arange(tree.n_leaves), now]
    cluster = tree.cluster.copy()
    cluster[tree.leaves] = np.where(wins, weight.argmax(axis=1), now)
    return replace(grown, tree=replace(tree, cluster=cluster))
