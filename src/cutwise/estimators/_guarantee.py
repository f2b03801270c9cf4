"""What the theory of IMM promises for a fitted model, from its own mistakes and depth."""

from __future__ import annotations

import math
from typing import Any

from cutwise.estimators._base import TreeEstimator, fitted
from cutwise.exceptions import InvalidInputError
from cutwise.readouts.guarantee import ImmCertificate, mistake_spread
from cutwise.reference.objective import KMEDIANS, OBJECTIVES


def imm_guarantee(model: TreeEstimator) -> float:
    """Upper bound of the cost of a model that IMM grew, from its own mistakes and depth.

    Parameters
    ----------
    model : ExplainableKMeans, ExplainableKMedians or ClusterExplainer
        Fitted with ``algorithm="imm"``, or loaded from a file.

    Returns
    -------
    bound : float
        ``model.cost_`` is at most this. Divided by ``model.reference_.cost`` it bounds ``cost_ratio_``. nan where the
        theory says nothing: distances are measured elsewhere than the columns are cut (a preprocessor, given costs), or
        leaves were added by ``expansion="expand"``, which does not look at costs.

    Raises
    ------
    NotFittedError
        The model is not fitted.
    InvalidInputError
        No model of cutwise, or one that was grown by another algorithm.

    See Also
    --------
    imm_certificate : Both bounds this is the smaller of, and the cost beside them.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Theorem 5.1 and Lemma 5.5.
    """
    return _certify(model, "imm_guarantee").bound


def imm_certificate(model: TreeEstimator) -> ImmCertificate:
    """Both bounds that are proved for a model that IMM grew, with its cost beside them.

    Parameters
    ----------
    model : ExplainableKMeans, ExplainableKMedians or ClusterExplainer
        Fitted with ``algorithm="imm"``, or loaded from a file.

    Returns
    -------
    certificate : ImmCertificate
        ``print(certificate)`` says it in a line.

    Raises
    ------
    NotFittedError
        The model is not fitted.
    InvalidInputError
        No model of cutwise, or one that was grown by another algorithm.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Theorem 5.1 and Lemma 5.5.
    """
    return _certify(model, "imm_certificate")


def certificate_line(model: TreeEstimator) -> str | None:
    """The line about what is proved for a fitted model, or None: for IMM, and by Theorem 4.1 for optimal cuts."""
    algorithm = getattr(model, "algorithm", None)
    if algorithm == "optimal" and model._imm_applies:
        factor = 2 if model.reference_.objective == KMEDIANS.name else 4
        return f"guarantee: no single cut costs less, and this one costs at most {factor} times the best two clusters"
    if algorithm != "imm":
        return None
    certificate = imm_certificate(model)
    return str(certificate) if certificate.applies else None


def _certify(model: Any, caller: str) -> ImmCertificate:
    fitted(model, caller, 'Fit one with algorithm="imm".')
    algorithm = getattr(model, "algorithm", None)
    if algorithm != "imm":
        raise InvalidInputError(
            f"{caller} is about trees that IMM grew; this {type(model).__name__} "
            + ("has no algorithm to choose" if algorithm is None else f"has algorithm={algorithm!r}")
            + '. Fit a model with algorithm="imm".'
        )
    tree, reference, scale = model.tree_, model.reference_, model._weight_scale
    mistakes = float(tree.n_node_mistakes.sum()) / scale
    # Fixed by the fit: parameters may have been set since.
    if not model._imm_applies or model._gaps is None or reference.objective not in OBJECTIVES:
        return ImmCertificate(model.cost_, reference.cost, math.nan, math.nan, mistakes)
    by_medians = reference.objective == KMEDIANS.name
    spread, depth = mistake_spread(tree, model._gaps, reference.centers, squared=not by_medians, weight_scale=scale)
    if by_medians:
        factor, instance = 2 * depth + 1, reference.cost + spread
    else:
        factor, instance = 8 * depth * len(reference.centers) + 2, 2 * reference.cost + 2 * spread
    return ImmCertificate(model.cost_, reference.cost, factor * reference.cost, instance, mistakes)
