"""What one cut of one node costs, by each of the papers' criteria."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from .problem import Cut, Problem

NO_ROWS = 0


def mistakes(problem: Problem, rows: np.ndarray, centers: np.ndarray, cut: Cut) -> Any:
    """Weight of the rows that a cut parts from their center, both having reached the node (IMM)."""
    here = rows[np.isin(problem.labels[rows], centers)]
    own_center_left = problem.coordinates[problem.labels[here], cut.feature] <= cut.low
    parted = cut.rows_left(problem, here) != own_center_left
    return problem.weights[here[parted]].sum() if parted.any() else NO_ROWS


def best_center(problem: Problem, rows: np.ndarray, centers: np.ndarray) -> tuple[Any, int]:
    """The least cost of serving all rows by one of the centers, and the lowest such center."""
    totals = [problem.weighted_costs[rows, center].sum() if len(rows) else NO_ROWS for center in centers]
    best = min(range(len(centers)), key=lambda j: (totals[j], centers[j]))
    return totals[best], int(centers[best])


def surrogate(problem: Problem, rows: np.ndarray, left_centers: np.ndarray, right_centers: np.ndarray, cut: Cut) -> Any:
    """Cost when each side is served by its single best center."""
    left = cut.rows_left(problem, rows)
    return best_center(problem, rows[left], left_centers)[0] + best_center(problem, rows[~left], right_centers)[0]


def current_cost(problem: Problem, rows: np.ndarray, centers: np.ndarray) -> Any:
    """Cost when each row is served by its own nearest surviving center."""
    return problem.weighted_costs[np.ix_(rows, centers)].min(axis=1).sum() if len(rows) else NO_ROWS


def induced(problem: Problem, rows: np.ndarray, centers: np.ndarray, cut: Cut) -> Any:
    """Cost when each row is served by its nearest surviving center on its side of the cut (ExGreedy)."""
    left, centers_left = cut.rows_left(problem, rows), cut.centers_left(problem, centers)
    return current_cost(problem, rows[left], centers[centers_left]) + current_cost(
        problem, rows[~left], centers[~centers_left]
    )


def fraction(number: Any) -> Fraction:
    """A cost as an exact fraction; NumPy's integers must become Python's first, or they overflow."""
    return Fraction(number.item() if isinstance(number, np.generic) else number)


def price(induced_cost: Any, current: Any) -> Fraction | float:
    """InducedCost / CurrentCost (ExShallow, equation 5); 1 when both are 0, infinite when only the current one is."""
    if current == 0:
        return Fraction(1) if induced_cost == 0 else float("inf")
    return fraction(induced_cost) / fraction(current)


def _ceiling(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def total_depth(n: int, k: int, n_left: int, k_left: int) -> int:
    """``N * WAD`` of the theoretical tree that repeats a cut's proportions (ExShallow, Algorithm 2), as an integer.

    Parameters
    ----------
    n, k : int
        Rows and centers of the node; ``n_left``, ``k_left`` go left at the cut. The cut's own split uses these
        counts as they are, deeper ones their ratios rounded up and clamped so that both sides keep a center and,
        from two rows on, a row.
    """

    @cache
    def below(rows: int, centers: int) -> int:
        if centers == 1 or rows == 0:
            return 0
        centers_left = min(max(_ceiling(centers * k_left, k), 1), centers - 1)
        if rows == 1:
            rows_left = 1 if centers_left > centers - centers_left else 0
        else:
            rows_left = min(max(_ceiling(rows * n_left, n), 1), rows - 1)
        return rows + below(rows_left, centers_left) + below(rows - rows_left, centers - centers_left)

    if n == 0 or k == 1:
        return 0
    return n + below(n_left, k_left) + below(n - n_left, k - k_left)


@dataclass(frozen=True)
class Path:
    """The (feature, direction) conditions on the way to a node: ``"<="`` for a left edge, ``">"`` for a right one."""

    conditions: frozenset[tuple[int, str]] = field(default_factory=frozenset)

    def then(self, feature: int, direction: str) -> Path:
        return Path(self.conditions | {(feature, direction)})

    def is_killer(self, feature: int, direction: str) -> bool:
        """Whether one more such condition makes an earlier one redundant."""
        return (feature, direction) in self.conditions


def depth_expectation(problem: Problem, rows: np.ndarray, centers: np.ndarray, cut: Cut, path: Path) -> Fraction:
    """DExp (ExShallow, Algorithm 3): the theoretical WAD less the share of rows for which a condition falls away."""
    left = cut.rows_left(problem, rows)
    weights = problem.weights
    n = int(weights[rows].sum()) if len(rows) else 0
    n_left = int(weights[rows[left]].sum()) if left.any() else 0
    if n == 0:
        return Fraction(0)
    k_left = int(cut.centers_left(problem, centers).sum())
    total = total_depth(n, len(centers), n_left, k_left)
    if path.is_killer(cut.feature, "<="):
        total -= n_left
    if path.is_killer(cut.feature, ">"):
        total -= n - n_left
    return Fraction(total, n)


def shallow_score(
    problem: Problem, rows: np.ndarray, centers: np.ndarray, cut: Cut, path: Path, depth_penalty: float
) -> Fraction | float:
    """Price + lambda * DExp (ExShallow, equation 4), lambda taken at the exact value of its float."""
    cost = price(induced(problem, rows, centers, cut), current_cost(problem, rows, centers))
    if cost == float("inf"):
        return cost
    return cost + Fraction(depth_penalty) * depth_expectation(problem, rows, centers, cut, path)
