"""k-medians clusters that can be said in words."""

from __future__ import annotations

from cutwise.estimators._explainable import ExplainableClusterer
from cutwise.reference import KMEDIANS

__all__ = ["ExplainableKMedians"]


class ExplainableKMedians(ExplainableClusterer):
    """k-medians whose clusters are the leaves of a small tree of single-column thresholds.

    A k-medians clustering serves as reference; a threshold tree then approximates it, and the tree is the model: a row
    belongs to the cluster of the leaf it reaches. Costs are l1 distances to coordinate-wise medians throughout: in the
    reference, in the choice of cuts, and in ``cost_ratio_``, the price paid for saying it that simply. Far rows count
    by their distance, not its square, so that outliers do not take the clusters for themselves.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    max_leaves : int, default=None
        Number of leaves at most, at least ``n_clusters``. None means one leaf a cluster. More leaves follow the
        reference more closely, and a cluster may then have several; of the trees that growth passes from one leaf a
        cluster on, the one of lowest ``cost_`` is returned, so that more leaves never cost more.
    algorithm : {"exshallow", "exgreedy", "imm", "exkmc", "optimal"}, default="exshallow"
        How the tree grows to ``n_clusters`` leaves. ``"imm"`` cuts where the fewest rows are parted from their
        reference center; ``"exgreedy"`` where the rows, each served by the best center left on its side, cost the
        least; ``"exshallow"`` also looks at how deep the tree would become; ``"exkmc"`` grows to ``max_leaves`` from an
        empty tree, best cut first, and need not give every cluster a leaf. ``"optimal"`` is for 2 clusters: the single
        cut that costs least of all, each side with its own center; it takes only the numbers of the clusters from the
        reference.
    expansion : {"exkmc", "expand"}, default="exkmc"
        How a tree with one leaf a cluster grows to ``max_leaves``. ``"exkmc"`` looks at cost under the reference
        centers, ``"expand"`` at the rows whose cluster differs from the reference.
    depth_penalty : float or "auto", default=0.03
        Weight of the expected depth for ``"exshallow"``; 0 looks at cost alone. ``"auto"`` (ExShallow*) searches
        between 0 and 1 for a tree of ``n_clusters`` leaves that keeps both targets: from 0.03 lower where a tree costs
        too much, higher where its explanations are too long, up to the first that keeps both, 20 trees at most. Where
        none does, it is the tree with the shortest explanations of those that keep the cost; where none keeps the
        cost, the cheapest. The other algorithms do not use it.
    target_cost : float, default=None
        What the tree may cost, in the units of ``cost_``. None means what ExKMC's tree with ``n_clusters`` leaves on
        the same reference costs. Only for ``depth_penalty="auto"`` with ``"exshallow"``: an error without them.
    target_waes : float, default=None
        How many conditions a row's explanation may have on average; None means as many as in ExKMC's tree. Only for
        ``depth_penalty="auto"``, as ``target_cost``.
    reference : clusterer or array-like of shape (n_clusters, n_features), default=None
        The clustering to approximate: centers, or a clusterer (fitted or not). None means :class:`KMedians`. Centers
        are in the preprocessor's output where there is one; rows belong to the nearest by l1 distance. Of a clusterer
        that was fitted on these rows, the same scaled or not as distances are here, ``labels_`` are taken; of another
        what it predicts. Where it has no centers, the medians of its clusters are.
    preprocessor : transformer, default=None
        Distances are measured in its output (a scaler's, say), rules stay in the columns and units of ``X``. A copy is
        fitted; weights are passed on where its ``fit`` takes them. One that is not scikit-learn's may write into its
        input, so it is given a copy of the rows.
    n_init : int, default=10
        Number of starts of the reference, as in :class:`KMedians`.
    random_state : int, RandomState instance or None, default=None
        Seeds the reference. The tree uses no randomness.
    n_jobs : int, default=None
        Threads, by joblib's rule: None means 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        1 prints each stage and its seconds to standard error; 2 also prints the reference's restarts, and the leaves as
        they come.

    Attributes
    ----------
    tree_ : ThresholdTree
        The model.
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each training row, by the tree. Numbers are those of the reference.
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
        Medians of the tree's clusters, column by column, in the preprocessor's output where there is one: the lower
        weighted median. A cluster without rows keeps the reference's center.
    cost_, inertia_ : float
        Weighted sum of l1 distances to ``cluster_centers_``.
    surrogate_cost_ : float
        The same with the reference's centers.
    cost_ratio_ : float
        ``cost_`` over ``reference_.cost``; nan where the latter is 0.
    total_cost_ : float
        Cost of all rows as a single cluster.
    explained_ : float
        Share of what the reference explains that the tree keeps: ``(total_cost_ - cost_) / (total_cost_ -
        reference_.cost)``; nan where the reference costs no less than a single cluster.
    reference_explained_ : float
        What the reference itself explains: ``1 - reference_.cost / total_cost_``; nan where the latter is 0.
    reference_ : Reference
        The clustering that the tree approximates: ``labels``, ``centers``, ``cost``.
    n_leaves_, depth_ : int
        Size of the tree.
    depth_penalty_ : float
        The depth penalty that was used; only with ``algorithm="exshallow"``.
    classes_ : ndarray of shape (n_clusters,), int32
        The cluster numbers 0 .. k-1.
    preprocessor_ : transformer
        The fitted preprocessor; None without one.
    n_features_in_ : int
    cluster_names_ : dict of label to str
        The names that ``name_clusters`` gave; empty after a fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Only when ``X`` has column names that are all strings.

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
    >>> X = [[1, 0], [2, 0], [3, 1], [21, 1], [22, 0], [23, 1], [500, 0]]
    >>> model = ExplainableKMedians(n_clusters=2, reference=[[2, 0], [22, 1]]).fit(X)
    >>> print(model.rules())
    cluster 0 (3 rows, 42.9 %; purity 100 %, coverage 100 %): x0 <= 10
    cluster 1 (4 rows, 57.1 %; purity 100 %, coverage 100 %): x0 > 10
    >>> model.cluster_centers_.tolist()
    [[2.0, 0.0], [22.0, 0.0]]
    """

    _objective = KMEDIANS
