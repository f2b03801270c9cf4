"""k-medians whose clusters are the leaves of a threshold tree."""

from __future__ import annotations

from cutwise._docs import fill_doc
from cutwise.estimators._explainable import ExplainableClusterer
from cutwise.reference.objective import KMEDIANS


@fill_doc
class ExplainableKMedians(ExplainableClusterer):
    """k-medians whose clusters are the leaves of a small tree of single-column thresholds.

    A k-medians clustering serves as reference; a threshold tree then approximates it, and the tree is the model: a row
    belongs to the cluster of the leaf it reaches. Costs are l1 distances to coordinate-wise medians throughout: in the
    reference, in the choice of cuts, and in ``cost_ratio_``, the price of explainability. Far rows count
    by their distance, not its square, so that outliers do not take the clusters for themselves.

    Parameters
    ----------
    {n_clusters, max_leaves, algorithm, search_effort, size_penalty, max_size, expansion}
    {depth_penalty, target_cost, target_waes, cut_features, max_depth, min_samples_leaf}
    {categorical_features, handle_unknown}
    reference : clusterer or array-like of shape (n_clusters, n_features), default=None
        The clustering to approximate: centers, or a clusterer (fitted or not). None means :class:`KMedians`. Centers
        are in the preprocessor's output where there is one; rows belong to the nearest by l1 distance. Of a clusterer
        that was fitted on these rows, the same scaled or not as distances are here, ``labels_`` are taken; of another
        what it predicts. Where it has no centers, the medians of its clusters are.
    {mixed_preprocessor}
    n_init : int, default=10
        Number of starts of the reference, as in :class:`KMedians`.
    {random_state, n_jobs, verbose}

    Attributes
    ----------
    {tree_, labels_}
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
        Medians of the tree's clusters, column by column, in the preprocessor's output where there is one: the lower
        weighted median. A cluster without rows keeps the reference's center.
    cost_, inertia_ : float
        Weighted sum of l1 distances to ``cluster_centers_``.
    {surrogate_cost_, cost_ratio_, total_cost_, explained_, reference_explained_, reference_, n_leaves_}
    {depth_penalty_, search_, classes_, preprocessor_, n_features_in_, cluster_names_, feature_names_in_}
    {column_kinds_, left_out_, limits_price_}

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
    >>> from cutwise import ExplainableKMedians
    >>> X = [[1, 0], [2, 0], [3, 1], [21, 1], [22, 0], [23, 1], [60, 0]]
    >>> model = ExplainableKMedians(n_clusters=2, reference=[[2, 0], [22, 1]]).fit(X)
    >>> print(model.rules())
    cluster 0 (3 rows, 42.9 %; purity 100 %, coverage 100 %): x0 <= 10
    cluster 1 (4 rows, 57.1 %; purity 100 %, coverage 100 %): x0 > 10
    >>> model.cluster_centers_.tolist()
    [[2.0, 0.0], [22.0, 0.0]]
    """

    _objective = KMEDIANS
