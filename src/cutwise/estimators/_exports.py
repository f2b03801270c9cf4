"""A fitted model in other forms: text for people, and what other programs run or draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from cutwise.estimators._base import TreeEstimator
from cutwise.exceptions import UnsupportedInputError
from cutwise.readouts.guarantee import certificate_line
from cutwise.readouts.text import rules_text, tree_text
from cutwise.table import check_option

__all__ = ["export_text"]

FORMS = ("tree", "rules")


def export_text(model: TreeEstimator, *, form: str = "tree", names: Mapping[Any, str | None] | None = None) -> str:
    """A fitted model as text: the tree, a node a line, or the rules, a cluster a paragraph.

    Parameters
    ----------
    model : ExplainableKMeans or ClusterExplainer
        Fitted, or loaded from a file.
    form : {"tree", "rules"}, default="tree"
    names : mapping of label to str, default=None
        Names of clusters for this time, on top of those of ``model.name_clusters``.

    Returns
    -------
    text : str
        A line about the whole tree, for IMM's trees another with what is proved about their cost
        (``metrics.imm_certificate``), then the tree with its tests in the units of the input, the training rows in each
        node, and at leaves the cluster and its purity; or the rules, as ``print(model.rules())`` shows them. Thresholds
        parse back to the very same cuts.

    Raises
    ------
    InvalidInputError
        Another form, or names that no cluster can have.

    Examples
    --------
    >>> from cutwise import ClusterExplainer, export_text
    >>> model = ClusterExplainer().fit([[1, 5], [2, 5], [8, 6], [9, 7]], ["a", "a", "b", "b"])
    >>> print(export_text(model))
    2 leaves, depth 1; grown by expand, agreement 100 %
    4 rows
    |-- x0 <= 4: cluster a (2 rows, 50.0 %; purity 100 %)
    |-- x0 > 4: cluster b (2 rows, 50.0 %; purity 100 %)
    >>> print(export_text(model, form="rules", names={"a": "beginners"}))
    2 leaves, depth 1; grown by expand, agreement 100 %
    cluster beginners (2 rows, 50.0 %; purity 100 %, coverage 100 %): x0 <= 4
    cluster b (2 rows, 50.0 %; purity 100 %, coverage 100 %): x0 > 4
    """
    _check_model(model, "export_text", "cutwise.readouts.text.tree_text")
    check_option("form", form, FORMS)
    if form == "rules":
        text = rules_text(model.rules(names=names))
    else:
        columns = model._columns_of_fit().names
        text = tree_text(model.tree_, columns, model._leaf_counts, model.classes_, model._names(names))
    certificate = certificate_line(model)
    return "\n".join(line for line in (model._summary(), certificate, text) if line is not None)


def _check_model(model: Any, function: str, for_trees: str) -> None:
    """Refuse what is no fitted model, and name the function for a bare tree."""
    if not isinstance(model, TreeEstimator):
        raise UnsupportedInputError(
            f"{function} takes a fitted model of cutwise, not {type(model).__name__}. For a bare ThresholdTree there "
            f"is {for_trees}."
        )
    check_is_fitted(model)
