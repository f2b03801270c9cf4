"""The description of a fitted model as a JSON document, and the guarantees of IMM for its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cutwise.estimators._base import TreeEstimator, fitted, recipe_of
from cutwise.exceptions import InvalidInputError, listed
from cutwise.readouts.guarantee import ImmCertificate, mistake_spread
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.words import advice, finite
from cutwise.reference.objective import FEATURE_SPACE, KMEDIANS, OBJECTIVES
from cutwise.tree.recipes import RECIPES

DOCUMENT_VERSION = 1
"""Raised by one whenever a reader of an older document could misread a newer one; entries may be added at any time."""

_SHARES_NOTHING = 0.05  # share of a cluster's rows in this cluster of the reference

_BOUNDS = ("theorem_bound", "instance_bound", "n_mistakes")  # proved for a tree by IMM, if the theory applies

_PAIRS = ("adjusted_rand_index", "normalized_mutual_info")  # agreement as a kernel estimator measures it


def model_document(
    model: TreeEstimator, *, names: Mapping[Any, str | None] | None = None, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Description of a fitted model for programs.

    ``model``: fitted. ``names``: cluster names that override those of the model. ``about``: further entries, such as
    the source of the table. Returns ``document``: see ``export_json``.
    """
    columns = model._columns_of_fit()
    certificate = imm_certificate(model) if recipe_of(model).bound == "mistakes" else None
    bounds = {name: finite(getattr(certificate, name, math.nan)) for name in _BOUNDS}
    return {
        "format": "cutwise rules",
        "format_version": DOCUMENT_VERSION,
        "left_out": model.left_out_,
        "notes": list(model._intake.get("notes", ())),
        **(about or {}),
        "estimator": type(model).__name__,
        "algorithm": algorithm_of(model),
        "n_clusters": len(model.classes_),
        "n_leaves": model.n_leaves_,
        "depth": model.depth_,
        "cost": finite(model.cost_),
        "cost_ratio": finite(model.cost_ratio_),
        "explained": finite(model.explained_),
        "reference_explained": finite(model.reference_explained_),
        "agreement": finite(agreement_of(model)),
        "limits_price": finite(getattr(model, "limits_price_", math.nan)),
        **{name: finite(getattr(model, f"{name}_")) for name in _PAIRS if hasattr(model, f"{name}_")},
        **({"certificate": bounds if certificate.applies else None} if certificate else {}),
        "columns": list(columns.names),
        "has_column_names": columns.has_names,
        "column_kinds": [kind.name for kind in columns.kinds],
        **model.rules(names=names).to_dict(),
        "tree": _nodes(model._labeled(names)),
    }


def words_of(model: TreeEstimator) -> tuple[str, str]:
    """Words for a model's reference clustering and for its costs, both in the plural."""
    if model.reference_.objective == FEATURE_SPACE:
        words, cost_words = "kernel k-means", "squared distances in the kernel's feature space"
    else:
        objective = OBJECTIVES[model.reference_.objective]
        words, cost_words = objective.words, objective.cost_words
    return "the given clusters" if hasattr(model, "agreement_") else f"the {words} clusters", cost_words


def advice_of(model: TreeEstimator, more_leaves: str = "max_leaves") -> str | None:
    """Advice for a fitted model that explains little, or None; ``more_leaves``: the option that allows more leaves."""
    params = model.get_params(deep=False)
    allowed = params.get("max_leaves") or len(model.classes_)
    # If growth ended before the allowed number of leaves, more leaves gain nothing.
    grows = recipe_of(model).takes_leaves and model.n_leaves_ >= allowed
    steps = f"{more_leaves} {2 * allowed}" if grows else None
    said = advice(
        model.explained_,
        # With a bounded kernel costs are high for any clusters.
        math.inf if model.reference_.objective == FEATURE_SPACE else model.reference_explained_,
        words_of(model)[0],
        chosen=bool(params.get("n_clusters", 1) > 1),
        more_leaves=steps,
    )
    strange = [str(cluster.cluster) for cluster in model.rules() if cluster.purity < _SHARES_NOTHING]
    if said is None and strange:
        said = (
            f"almost none of the rows under the rules of cluster {listed(strange, write=str)} are in it in "
            f"{words_of(model)[0]}"
        )
        said += f": allow more leaves ({steps}), or read it" if grows else ": read it"
        said += " by its rules alone"
    return said


def agreement_of(model: TreeEstimator) -> float:
    """Share of rows whose cluster is that of the reference; nan if no rows were counted."""
    return model._leaf_counts.agreement


def algorithm_of(model: TreeEstimator) -> str:
    """The algorithm that grew the tree, and the expansion if it has further leaves."""
    grown = getattr(model, "growth_", None) or getattr(model, "algorithm", None) or type(model).__name__
    recipe = RECIPES.get(grown)  # none for the best subtree of plain CART
    expansion = "expand" if getattr(model, "algorithm", None) == "auto" else getattr(model, "expansion", None)
    expanded = model.n_leaves_ > len(model.classes_) and recipe is not None and not recipe.may_leave_out
    return f"{grown} and {expansion}" if expanded and expansion else str(grown)


def _nodes(labeled: LabeledTree) -> list[dict[str, Any]]:
    tree = labeled.tree
    nodes: list[dict[str, Any]] = []
    for node, (size, share) in enumerate(zip(labeled.size.tolist(), labeled.share.tolist(), strict=True)):
        entry: dict[str, Any] = {"node": node, "size": size, "share": finite(share)}
        if tree.feature[node] < 0:
            label = labeled.labels[tree.cluster[node]]
            entry |= {"cluster": label, "name": labeled.cluster_names.get(label)}
        else:
            inside, outside = int(tree.children_left[node]), int(tree.children_right[node])
            test = labeled.condition(inside).to_dict()
            entry |= {"feature": test.pop("feature"), "column": test.pop("name"), **test}
            entry |= {"inside": inside, "outside": outside}
        nodes.append(entry)
    return nodes


def imm_guarantee(model: TreeEstimator) -> float:
    """Upper bound of the cost of a model that IMM grew, from its own mistakes and depth.

    Parameters
    ----------
    model : ExplainableKMeans, ExplainableKMedians or ClusterExplainer
        Fitted with ``algorithm="imm"``, or loaded from a file.

    Returns
    -------
    bound : float
        ``model.cost_`` is at most this. Divided by ``model.reference_.cost`` it bounds ``cost_ratio_``. nan if the
        theory does not apply: distances are measured in other columns than those that are cut (a preprocessor, given
        costs), or leaves were added by ``expansion="expand"``, which ignores costs.

    Raises
    ------
    NotFittedError
        The model is not fitted.
    InvalidInputError
        No model of cutwise, or one that was grown by another algorithm.

    See Also
    --------
    imm_certificate : Both bounds, of which this is the smaller, and the cost.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Theorem 5.1 and Lemma 5.5.
    """
    return _certify(model, "imm_guarantee").bound


def imm_certificate(model: TreeEstimator) -> ImmCertificate:
    """Both bounds proved for the cost of a model that IMM grew, and the cost.

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
    """Line about the guarantee for a fitted model: for IMM, and by Theorem 4.1 for optimal cuts; None for others."""
    bound = recipe_of(model).bound
    if bound == "single cut" and model._imm_applies:
        factor = 2 if model.reference_.objective == KMEDIANS.name else 4
        return f"guarantee: no single cut costs less, and this one costs at most {factor} times the best two clusters"
    if bound != "mistakes":
        return None
    certificate = imm_certificate(model)
    return str(certificate) if certificate.applies else None


def _certify(model: Any, caller: str) -> ImmCertificate:
    model = fitted(model, caller, 'Fit one with algorithm="imm".')
    if recipe_of(model).bound != "mistakes":
        algorithm = getattr(model, "algorithm", None)
        raise InvalidInputError(
            f"{caller} is for trees grown by IMM; this {type(model).__name__} "
            + ("has no algorithm to choose" if algorithm is None else f"has algorithm={algorithm!r}")
            + '. Fit a model with algorithm="imm".'
        )
    tree, reference, scale = model.tree_, model.reference_, model._weight_scale
    mistakes = float(tree.n_node_mistakes.sum()) / scale
    # Values of the fit, since parameters may have been set later.
    if not model._imm_applies or model._gaps is None or reference.objective not in OBJECTIVES:
        return ImmCertificate(model.cost_, reference.cost, math.nan, math.nan, mistakes)
    by_medians = reference.objective == KMEDIANS.name
    spread, depth = mistake_spread(tree, model._gaps, reference.centers, squared=not by_medians, weight_scale=scale)
    if by_medians:
        factor, instance = 2 * depth + 1, reference.cost + spread
    else:
        factor, instance = 8 * depth * len(reference.centers) + 2, 2 * reference.cost + 2 * spread
    return ImmCertificate(model.cost_, reference.cost, factor * reference.cost, instance, mistakes)
