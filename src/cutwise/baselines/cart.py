"""CART on the labels of a reference clustering: what most people describe clusters with."""

from __future__ import annotations

from cutwise._docs import fill_doc
from cutwise.baselines.base import Baseline, Task
from cutwise.tree.cart import cart_trees
from cutwise.tree.growing import GrownTree


@fill_doc
class CART(Baseline):
    """scikit-learn's ``DecisionTreeClassifier`` on the labels of a k-means clustering, as a tree of clusters.

    The tree parts the training rows exactly as ``DecisionTreeClassifier(max_leaf_nodes=max_leaves, random_state=0)``
    does; thresholds are placed in the same gaps, where they read best.

    Parameters
    ----------
    {n_clusters}
    max_leaves : int, default=None
        Number of leaves at most, at least ``n_clusters``. None means ``n_clusters``.
    {reference, preprocessor, n_init, random_state, n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_, cluster_centers_, cost_, surrogate_cost_, cost_ratio_, total_cost_, explained_}
    {reference_explained_, reference_, n_leaves_, classes_, preprocessor_, n_features_in_, cluster_names_}
    {feature_names_in_}

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), *Classification and Regression Trees*; used as in Frost, Moshkovitz,
    Rashtchian (2020), *ExKMC*, Appendix B.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cutwise.baselines import CART
    >>> CART(3, random_state=0).fit(load_iris().data).n_leaves_
    3
    """

    def _grow_task(self, task: Task) -> GrownTree:
        rows = task.rows
        return cart_trees(
            rows.compress(rows.table.values),
            task.reference.labels,
            max_leaves=[task.max_leaves],
            kinds=rows.table.kinds,
            weights=rows.weights,
            counts=rows.encoded.copies,
        )[0]
