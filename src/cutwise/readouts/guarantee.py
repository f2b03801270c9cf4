"""Upper bounds on the cost of an IMM tree, from its theory; they do not need the optimal cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np
import numpy.typing as npt

from cutwise.table.table import as_matrix
from cutwise.tree.threshold_tree import ThresholdTree

from .words import below_one_reason


@dataclass(frozen=True)
class ImmCertificate:
    """Proved bounds on the cost of an IMM tree, and its actual cost.

    Attributes
    ----------
    cost, reference_cost : float
        Cost of the tree, each cluster with its own center, and cost of the reference that it was grown against.
    theorem_bound : float
        Theorem 5.1: with k clusters and H tests on the longest path of the tree that separates the centers, the cost is
        at most ``(8 * H * k + 2) * reference_cost`` (k-means) or ``(2 * H + 1) * reference_cost`` (k-medians), whatever
        the data.
    instance_bound : float
        Lemma 5.5: with t_u the mistakes made at node u and D_u the squared diagonal (k-means) or the l1 diameter
        (k-medians) of the box around the centers that reach it, the cost is at most ``2 * reference_cost + 2 * sum(t_u
        * D_u)`` or ``reference_cost + sum(t_u * D_u)``.
    n_mistakes : float
        Weight of the rows that a cut separated from their center.

    Both bounds are nan where the theory does not apply: see ``metrics.imm_guarantee``.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), *Explainable k-Means and k-Medians Clustering*.
    """

    cost: float
    reference_cost: float
    theorem_bound: float
    instance_bound: float
    n_mistakes: float

    @property
    def bound(self) -> float:
        """The smaller of the two bounds."""
        return min(self.theorem_bound, self.instance_bound)

    @property
    def ratio(self) -> float:
        """``cost`` over ``reference_cost``; nan where the latter is 0."""
        return self.cost / self.reference_cost if self.reference_cost > 0 else math.nan

    @property
    def applies(self) -> bool:
        """Whether the theory applies to this tree."""
        return not math.isnan(self.bound)

    def __str__(self) -> str:
        """One line with the cost ratio, and the bounds as ratios, rounded up; only where the theory applies."""
        mistakes = f"its mistakes (weight {self.n_mistakes:.6g})"
        if not self.reference_cost > 0:
            return f"guarantee: cost {self.cost:.6g}; at most {_rounded_up(self.instance_bound)} by {mistakes}"
        by_tree, by_depth = (_rounded_up(of / self.reference_cost) for of in (self.instance_bound, self.theorem_bound))
        ratio = f"cost ratio {self.ratio:.4f}{below_one_reason(self.ratio)}"
        return f"guarantee: {ratio}; at most {by_tree} by {mistakes}, at most {by_depth} by its depth"


def mistake_spread(
    tree: ThresholdTree,
    gaps: npt.NDArray[np.float64],
    centers: npt.NDArray[np.float64],
    *,
    squared: bool,
    weight_scale: float = 1.0,
) -> tuple[float, int]:
    """Bound on the cost of an IMM tree's mistakes, and depth of the part of the tree that separates the centers.

    ``tree``: grown by IMM on these centers, with its mistakes; leaves that ExKMC added do not matter. ``gaps``
    (n_nodes, 4): neighboring values of its thresholds, see ``GrownTree``. ``centers`` (k, n_features) float64: in the
    columns that are cut. ``squared``: whether the diameter of a node is the squared diagonal of the box around its
    centers, or else its l1 diameter. ``weight_scale``: size of a mistake of weight 1 in ``tree.n_node_mistakes``.
    Returns ``spread``: the sum over the nodes of mistakes times diameter. ``depth``: tests on the longest path to a
    single center (or several equal ones).
    """
    low = np.full((tree.n_nodes, centers.shape[1]), np.inf)
    high = np.full((tree.n_nodes, centers.shape[1]), -np.inf)
    # A threshold in whole numbers can be below a center on its left, the lower end of its gap is not.
    separating = replace(tree, threshold=np.where(tree.feature >= 0, gaps[:, 0], np.nan))
    leaf = separating.apply(as_matrix(np.ascontiguousarray(centers)))
    np.minimum.at(low, leaf, centers)
    np.maximum.at(high, leaf, centers)
    spread, depth = 0.0, 0
    for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parent
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            continue
        if np.isfinite(low[left, 0]) and np.isfinite(low[right, 0]):
            depth = max(depth, int(tree.node_depth[node]) + 1)
        low[node] = np.minimum(low[left], low[right])
        high[node] = np.maximum(high[left], high[right])
        if tree.n_node_mistakes[node] > 0:
            sides = high[node] - low[node]
            diameter = float(sides @ sides) if squared else float(sides.sum())
            spread += float(tree.n_node_mistakes[node]) / weight_scale * diameter
    return spread, depth


def _rounded_up(value: float) -> str:
    """Write four significant digits, rounded up, since the value is an upper bound."""
    return f"{Context(prec=4, rounding=ROUND_CEILING).create_decimal(Decimal(value)).normalize():f}"
