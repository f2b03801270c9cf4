"""k-means whose clusters are the leaves of a threshold tree."""

from __future__ import annotations

from cutwise._docs import fill_doc
from cutwise.estimators._explainable import ExplainableClusterer
from cutwise.reference.objective import KMEANS


@fill_doc
class ExplainableKMeans(ExplainableClusterer):
    """k-means whose clusters are the leaves of a small tree of single-column thresholds.

    A k-means clustering serves as reference; a threshold tree then approximates it, and the tree is the model: a row
    belongs to the cluster of the leaf it reaches. ``cost_ratio_`` is the price of explainability.

    Parameters
    ----------
    {n_clusters, max_leaves, algorithm, search_effort, size_penalty, max_size, expansion}
    {depth_penalty, target_cost, target_waes, cut_features, max_depth, min_samples_leaf}
    {categorical_features, handle_unknown}
    {reference, mixed_preprocessor}
    {n_init, random_state, n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_, cluster_centers_, cost_, surrogate_cost_, cost_ratio_, total_cost_, explained_}
    {reference_explained_, reference_, n_leaves_, depth_penalty_, search_, classes_, preprocessor_, n_features_in_}
    {cluster_names_, feature_names_in_, column_kinds_, left_out_, limits_price_}

    Notes
    -----
    The same input gives the same result, bit for bit, for any ``n_jobs``. For a given reference it does not depend on
    the order of the rows either, and an integer weight is the same as a repeated row. Rows of weight 0 are placed by
    the tree but take no part in growing it.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), *Explainable k-Means and k-Medians Clustering* (IMM). Frost,
    Moshkovitz, Rashtchian (2020), *ExKMC: Expanding Explainable k-Means Clustering*. Laber, Murtinho, Oliveira (2023),
    *Shallow decision trees for explainable k-means clustering* (ExGreedy, ExShallow).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cutwise import ExplainableKMeans
    >>> X = load_iris(as_frame=True).data
    >>> model = ExplainableKMeans(n_clusters=3, random_state=0).fit(X)
    >>> model.n_leaves_
    3
    >>> bool(model.cost_ratio_ < 1.05)
    True
    """

    _objective = KMEANS
