"""The depth penalty of ExShallow* for a table, without a tree to keep."""

from __future__ import annotations

from typing import Any

from cutwise.estimators._tuning import PenaltySearch
from cutwise.estimators.explainable_kmeans import ExplainableKMeans


def tune_depth_penalty(
    X: Any,
    n_clusters: int,
    *,
    target_cost: float | None = None,
    target_waes: float | None = None,
    reference: Any = None,
    preprocessor: Any = None,
    sample_weight: Any = None,
    n_init: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PenaltySearch:
    """Find the depth penalty with which ExShallow keeps a cost and an explanation size (ExShallow*).

    A binary search between 0 and 1, halving ratios, that starts at 0.03 and grows at most 20 trees: lower where a tree
    costs too much, higher where its explanations are too long, until one keeps both targets. Where none does, it is the
    tree with the shortest explanations of those that keep the cost; where none keeps the cost, the cheapest. The
    reference is found once.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The rows to cluster.
    n_clusters : int
        Number of clusters, and of leaves.
    target_cost : float, default=None
        What the tree's clusters may cost (``cost_``). None means the cost of ExKMC's tree with ``n_clusters`` leaves on
        the same reference.
    target_waes : float, default=None
        How many conditions a row's explanation may have on average. None means that of ExKMC's tree.
    reference, preprocessor, sample_weight, n_init, random_state, n_jobs
        As in :class:`cutwise.ExplainableKMeans`.

    Returns
    -------
    search : PenaltySearch
        ``depth_penalty`` and what it leads to. ``ExplainableKMeans`` with ``algorithm="exshallow"`` and
        ``depth_penalty="auto"`` fits that tree at once.

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
        n_clusters,
        algorithm="exshallow",
        depth_penalty="auto",
        target_cost=target_cost,
        target_waes=target_waes,
        reference=reference,
        preprocessor=preprocessor,
        n_init=n_init,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    search: PenaltySearch = model.fit(X, sample_weight=sample_weight)._penalty_search
    return search
