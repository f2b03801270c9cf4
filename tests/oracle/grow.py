"""Whole trees by trying every cut of every node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .problem import Cut, Problem, candidate_cuts, disagreements, separating_cuts, valid_cuts
from .scores import Path, best_center, induced, mistakes, shallow_score, surrogate


@dataclass(eq=False)
class Node:
    """A node of a naive tree: its rows and surviving centers, and a cut or a label."""

    rows: np.ndarray
    centers: np.ndarray
    path: Path = field(default_factory=Path)
    cut: Cut | None = None
    label: int = -1
    n_mistakes: Any = 0
    left: Node | None = None
    right: Node | None = None

    def preorder(self) -> list[Node]:
        """The node, its left subtree, its right subtree."""
        found, waiting = [], [self]
        while waiting:
            node = waiting.pop()
            found.append(node)
            if node.left is not None and node.right is not None:
                waiting += [node.right, node.left]
        return found

    def leaves(self) -> list[Node]:
        return [node for node in self.preorder() if node.cut is None]

    def split(self, problem: Problem, cut: Cut) -> None:
        """Give the node its two children; rows and centers go to their sides."""
        rows_left, centers_left = cut.rows_left(problem, self.rows), cut.centers_left(problem, self.centers)
        self.cut = cut
        self.left = Node(self.rows[rows_left], self.centers[centers_left], self.path.then(cut.feature, "<="))
        self.right = Node(self.rows[~rows_left], self.centers[~centers_left], self.path.then(cut.feature, ">"))


Score = Callable[[Problem, Node, Cut], tuple[Any, ...]]
Cuts = Callable[[Problem, np.ndarray, np.ndarray], list[Cut]]


def imm_score(problem: Problem, node: Node, cut: Cut) -> tuple[Any, ...]:
    """Fewest mistakes; then the lowest surrogate cost of all routed rows, each side by its best surviving center."""
    left = cut.centers_left(problem, node.centers)
    return (
        mistakes(problem, node.rows, node.centers, cut),
        surrogate(problem, node.rows, node.centers[left], node.centers[~left], cut),
    )


def induced_score(problem: Problem, node: Node, cut: Cut) -> tuple[Any, ...]:
    return (induced(problem, node.rows, node.centers, cut),)


def price_score(depth_penalty: float) -> Score:
    def score(problem: Problem, node: Node, cut: Cut) -> tuple[Any, ...]:
        return (shallow_score(problem, node.rows, node.centers, cut, node.path, depth_penalty),)

    return score


def root_of(problem: Problem) -> Node:
    return Node(np.arange(problem.n_rows), np.arange(problem.n_centers))


def separate_all(problem: Problem, score: Score, cuts_of: Cuts = valid_cuts) -> Node:
    """Cut until one surviving center is left, or only centers equal in every column: the lowest number keeps the leaf.

    Among equal scores the lowest feature wins, then the lowest gap.
    """
    root = root_of(problem)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        cuts = cuts_of(problem, node.rows, node.centers)
        if not cuts:
            node.label = int(node.centers.min())
            continue
        node.split(problem, min(cuts, key=lambda cut: (*score(problem, node, cut), cut.feature, cut.low)))
        node.n_mistakes = mistakes(problem, node.rows, node.centers, node.cut)
        waiting += [node.left, node.right]
    return root


def imm(problem: Problem) -> Node:
    return separate_all(problem, imm_score, separating_cuts)


def exgreedy(problem: Problem) -> Node:
    return separate_all(problem, induced_score)


def exshallow(problem: Problem, depth_penalty: float = 0.03) -> Node:
    return separate_all(problem, price_score(penalty_used(problem, depth_penalty)))


def penalty_used(problem: Problem, depth_penalty: float) -> float:
    """None where the tree without a penalty has fewer leaves without rows."""

    def n_empty(penalty: float) -> int:
        leaves = separate_all(problem, price_score(penalty)).leaves()
        return sum(not np.any(problem.weights[leaf.rows] > 0) for leaf in leaves)

    return 0.0 if n_empty(depth_penalty) and n_empty(0.0) < n_empty(depth_penalty) else depth_penalty


def empty(problem: Problem) -> Node:
    """One leaf, served by the best single center."""
    root = root_of(problem)
    root.label = best_center(problem, root.rows, root.centers)[1]
    return root


def leaf_cost(problem: Problem, node: Node) -> Any:
    """Cost of a leaf's rows under its current label."""
    return problem.weighted_costs[node.rows, node.label].sum() if len(node.rows) else 0


def best_split(problem: Problem, node: Node) -> tuple[Any, Cut | None]:
    """The largest gain of any cut of a leaf, each child served by its best center, and the first cut that has it."""
    every = np.arange(problem.n_centers)
    cuts = candidate_cuts(problem, node.rows, np.empty(0, dtype=int))
    if not cuts:
        return 0, None
    scores = [surrogate(problem, node.rows, every, every, cut) for cut in cuts]
    best = min(range(len(cuts)), key=lambda c: (scores[c], cuts[c].feature, cuts[c].low))
    return leaf_cost(problem, node) - scores[best], cuts[best]


def expand(problem: Problem, root: Node, max_leaves: int) -> list[Any]:
    """Split the leaf with the largest gain (the first in preorder on ties) until ``max_leaves`` or no gain is positive.

    Returns
    -------
    costs : list
        The surrogate cost of the tree before, and after every added leaf.
    """
    every = np.arange(problem.n_centers)
    splits = {id(leaf): best_split(problem, leaf) for leaf in root.leaves()}
    costs = [sum(leaf_cost(problem, leaf) for leaf in root.leaves())]
    while len(root.leaves()) < max_leaves:
        leaf = max(root.leaves(), key=lambda node: splits[id(node)][0])
        gain, cut = splits[id(leaf)]
        if gain <= 0 or cut is None:
            break
        leaf.split(problem, cut)
        for child in (leaf.left, leaf.right):
            child.label = best_center(problem, child.rows, every)[1]
            splits[id(child)] = best_split(problem, child)
        costs.append(sum(leaf_cost(problem, node) for node in root.leaves()))
    return costs


def exkmc(problem: Problem, max_leaves: int) -> tuple[Node, list[Any]]:
    root = empty(problem)
    return root, expand(problem, root, max_leaves)


def as_disagreement(problem: Problem) -> Problem:
    """The same rows and centers under Expand's 0/1 costs."""
    return problem.with_costs(disagreements(problem.labels, problem.n_centers))


def arrays(problem: Problem, root: Node) -> dict[str, np.ndarray]:
    """A naive tree as the public arrays, nodes in preorder."""
    nodes = root.preorder()
    place = {id(node): i for i, node in enumerate(nodes)}
    inner = [node.cut is not None for node in nodes]
    return {
        "children_left": np.array([place[id(n.left)] if i else -1 for n, i in zip(nodes, inner, strict=True)]),
        "children_right": np.array([place[id(n.right)] if i else -1 for n, i in zip(nodes, inner, strict=True)]),
        "feature": np.array([n.cut.feature if n.cut else -1 for n in nodes]),
        "threshold": np.array([n.cut.threshold(problem) if n.cut else np.nan for n in nodes]),
        "cluster": np.array([-1 if n.cut else n.label for n in nodes]),
        "n_node_samples": np.array([len(n.rows) for n in nodes]),
    }
