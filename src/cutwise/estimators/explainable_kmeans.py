"""k-means and k-medians whose clusters are the leaves of a threshold tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cutwise._docs import fill_doc
from cutwise.estimators._explainable import ExplainableClusterer
from cutwise.estimators._tuning import PenaltySearch
from cutwise.reference.objective import KMEANS, KMEDIANS


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
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


@fill_doc
@dataclass(eq=False, repr=False, kw_only=True)
class ExplainableKMedians(ExplainableClusterer):
    """k-medians whose clusters are the leaves of a small tree of single-column thresholds.

    A k-medians clustering serves as reference; a threshold tree then approximates it, and the tree is the model: a row
    belongs to the cluster of the leaf it reaches. Costs are l1 distances to coordinate-wise medians throughout: in the
    reference, in the choice of cuts, and in ``cost_ratio_``, the price of explainability. Far rows count
    by their distance, not its square, so that outliers do not get clusters of their own.

    Parameters
    ----------
    {n_clusters, max_leaves, algorithm, search_effort, size_penalty, max_size, expansion}
    {depth_penalty, target_cost, target_waes, cut_features, max_depth, min_samples_leaf}
    {categorical_features, handle_unknown}
    reference : clusterer or array-like of shape (n_clusters, n_features), default=None
        The clustering to approximate: centers, or a clusterer (fitted or not). None means :class:`KMedians`. Centers
        are in the preprocessor's output if there is one; rows belong to the nearest by l1 distance. A clusterer that
        was fitted on these rows (scaled as distances are here) gives its ``labels_``, another fitted one its
        predictions. If a clusterer has no centers, the medians of its clusters are used.
    {mixed_preprocessor}
    n_init : int or "auto", default=10
        Number of starts of the reference (``"auto"`` is 10), as in :class:`KMedians`.
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


def tune_depth_penalty(
    X: Any,
    n_clusters: int,
    *,
    target_cost: float | None = None,
    target_waes: float | None = None,
    reference: Any = None,
    preprocessor: Any = None,
    sample_weight: Any = None,
    n_init: int | Literal["auto"] = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PenaltySearch:
    """Find the depth penalty with which ExShallow keeps a cost and an explanation size (ExShallow*).

    A binary search between 0 and 1, halving ratios, that starts at 0.03 and grows at most 20 trees: lower if a tree
    costs too much, higher if its explanations are too long, until a tree meets both targets. If none does, the result
    is the tree with the shortest explanations among those that meet the cost target, or else the cheapest. The
    reference is found once.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The rows to cluster.
    n_clusters : int
        Number of clusters, and of leaves.
    target_cost : float, default=None
        Upper limit of ``cost_``. None means the cost of ExKMC's tree with ``n_clusters`` leaves and the same reference.
    target_waes : float, default=None
        Upper limit of the average number of conditions in a row's explanation. None means that of ExKMC's tree.
    reference, preprocessor, sample_weight, n_init, random_state, n_jobs
        As in :class:`cutwise.ExplainableKMeans`.

    Returns
    -------
    search : PenaltySearch
        ``depth_penalty`` and the figures of its tree. ``ExplainableKMeans`` with ``algorithm="exshallow"`` and
        ``depth_penalty="auto"`` fits this tree directly.

    Raises
    ------
    InvalidInputError
        What ``ExplainableKMeans.fit`` refuses.

    References
    ----------
    Laber, Murtinho, Oliveira (2023), *Shallow decision trees for explainable k-means clustering*, Section 4.4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cutwise import tune_depth_penalty
    >>> search = tune_depth_penalty(load_digits().data, 10, n_init=1, random_state=0)
    >>> search.reached, search.cost <= search.target_cost, search.waes <= search.target_waes
    (True, True, True)
    """
    model = ExplainableKMeans(
        n_clusters, algorithm="exshallow", depth_penalty="auto", target_cost=target_cost, target_waes=target_waes,
        reference=reference, preprocessor=preprocessor, n_init=n_init, random_state=random_state, n_jobs=n_jobs,
    )  # fmt: skip
    search: PenaltySearch = model.fit(X, sample_weight=sample_weight)._penalty_search
    return search
