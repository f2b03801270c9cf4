"""A fitted model as text."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from cutwise.estimators._base import TreeEstimator
from cutwise.exceptions import UnsupportedInputError
from cutwise.readouts.text import tree_text

__all__ = ["export_text"]


def export_text(model: TreeEstimator) -> str:
    """A fitted model's tree as text, a node a line.

    Parameters
    ----------
    model : ExplainableKMeans or ClusterExplainer
        Fitted, or loaded from a file.

    Returns
    -------
    text : str
        A line about the whole tree, then the tree with its tests in the units of the input, the training rows in each
        node, and at leaves the cluster and its purity. Thresholds parse back to the very same cuts.

    Examples
    --------
    >>> from cutwise import ClusterExplainer, export_text
    >>> model = ClusterExplainer().fit([[1, 5], [2, 5], [8, 6], [9, 7]], ["a", "a", "b", "b"])
    >>> print(export_text(model))
    2 leaves, depth 1; grown by expand, agreement 100 %
    4 rows
    |-- x0 <= 4: cluster a (2 rows, 50.0 %; purity 100 %)
    |-- x0 > 4: cluster b (2 rows, 50.0 %; purity 100 %)
    """
    if not isinstance(model, TreeEstimator):
        raise UnsupportedInputError(
            f"export_text takes a fitted model of cutwise, not {type(model).__name__}. For a bare ThresholdTree there "
            "is cutwise.readouts.text.tree_text."
        )
    check_is_fitted(model)
    text = tree_text(model.tree_, model._columns_of_fit().names, model._leaf_counts, model.classes_)
    return f"{model._summary()}\n{text}"
