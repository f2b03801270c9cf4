"""What the theory of IMM promises for one tree: an upper bound of its cost that needs no optimum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.core import kernels
from cutwise.exceptions import InvalidInputError
from cutwise.reference import KMEANS
from cutwise.tree.threshold_tree import ThresholdTree

__all__ = ["imm_bound", "imm_guarantee"]


def imm_guarantee(model: Any) -> float:
    """Upper bound of the cost of a model that IMM grew, from its own mistakes and depth.

    Parameters
    ----------
    model : fitted ExplainableKMeans or ClusterExplainer
        With ``algorithm="imm"``.

    Returns
    -------
    bound : float
        ``model.cost_`` is at most this. Divided by ``model.reference_.cost`` it bounds ``cost_ratio_``. nan where the
        theory says nothing: distances are measured elsewhere than the columns are cut (a preprocessor, given costs), or
        leaves were added by ``expansion="expand"``, which does not look at costs.

    Raises
    ------
    InvalidInputError
        The model is not fitted, or was grown by another algorithm.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Theorem 5.1 and Lemma 5.5.
    """
    tree, algorithm = getattr(model, "tree_", None), getattr(model, "algorithm", None)
    if not isinstance(tree, ThresholdTree):
        raise InvalidInputError(f"imm_guarantee takes a fitted model of cutwise; this {type(model).__name__} is none.")
    if algorithm != "imm":
        raise InvalidInputError(
            f"imm_guarantee is about trees that IMM grew; this model has algorithm={algorithm!r}. "
            'Fit it with algorithm="imm".'
        )
    reference = model.reference_
    # Fixed by the fit: parameters may have been set since.
    if not model._imm_applies or reference.objective != KMEANS.name:
        return math.nan
    return imm_bound(tree, reference.centers, reference.cost, weight_scale=model._weight_scale)


def imm_bound(
    tree: ThresholdTree, centers: npt.NDArray[np.float64], reference_cost: float, *, weight_scale: float = 1.0
) -> float:
    """Upper bound of the k-means cost of an IMM tree.

    Parameters
    ----------
    tree : ThresholdTree
        Grown by IMM on these centers, with its mistakes; leaves that ExKMC added do no harm.
    centers : ndarray of shape (k, n_features), float64
        In the columns that are cut.
    reference_cost : float
        Cost of the rows by their reference centers.
    weight_scale : float, default 1.0
        What a mistake of weight 1 counts for in ``tree.n_node_mistakes``.

    Returns
    -------
    bound : float
        The smaller of ``(8 * depth * k + 2) * cost`` and ``2 * cost + 2 * sum(t_u * diam_u)``, with t_u the mistakes at
        node u and diam_u the squared diagonal of the box around the centers that reach it.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Theorem 5.1 and Lemma 5.5.
    """
    k = len(centers)
    low = np.full((tree.n_nodes, centers.shape[1]), np.inf)
    high = np.full((tree.n_nodes, centers.shape[1]), -np.inf)
    leaf = tree.apply(kernels.as_matrix(np.ascontiguousarray(centers)))
    np.minimum.at(low, leaf, centers)
    np.maximum.at(high, leaf, centers)
    total = 0.0
    parents = tree.parents.tolist()
    for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parent
        if tree.n_node_mistakes[node] > 0:
            diagonal = high[node] - low[node]
            total += float(tree.n_node_mistakes[node]) / weight_scale * float(diagonal @ diagonal)
        if node:
            parent = parents[node]
            np.minimum(low[parent], low[node], out=low[parent])
            np.maximum(high[parent], high[node], out=high[parent])
    return min((8 * tree.depth * k + 2) * reference_cost, 2 * reference_cost + 2 * total)
