"""k-means clusters that can be said in words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClusterMixin

from cutwise.estimators._base import TreeEstimator
from cutwise.estimators._costs import costs_by_centers
from cutwise.estimators._progress import Stages
from cutwise.estimators._reference import ReferenceRecipe, cut_coordinates, make_reference
from cutwise.estimators._rows import FitRows, fit_metric_space
from cutwise.estimators._tuning import FIRST_PENALTY, PenaltySearch, search_penalty, size_of_explanations
from cutwise.exceptions import InvalidInputError
from cutwise.reference import Reference, fixed_costs
from cutwise.table import (
    check_integer,
    check_max_leaves,
    check_n_clusters,
    check_n_jobs,
    check_number,
    check_option,
    read_table,
    read_weights,
)
from cutwise.tree.grower import GrownTree, grow_tree

__all__ = ["ExplainableKMeans"]

ALGORITHMS = ("imm", "exgreedy", "exshallow", "exkmc")
EXPANSIONS = ("exkmc", "expand")


class ExplainableKMeans(ClusterMixin, TreeEstimator):  # type: ignore[misc]
    """k-means whose clusters are the leaves of a small tree of single-column thresholds.

    A k-means clustering serves as reference; a threshold tree then approximates it, and the tree is the model: a row
    belongs to the cluster of the leaf it reaches. ``cost_ratio_`` is the price paid for saying it that simply.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    max_leaves : int, default=None
        Number of leaves at most, at least ``n_clusters``. None means one leaf a cluster. More leaves follow the
        reference more closely, and a cluster may then have several.
    algorithm : {"exshallow", "exgreedy", "imm", "exkmc"}, default="exshallow"
        How the tree grows to ``n_clusters`` leaves. ``"imm"`` cuts where the fewest rows are parted from their
        reference center; ``"exgreedy"`` where the rows, each served by the best center left on its side, cost the
        least; ``"exshallow"`` also looks at how deep the tree would become; ``"exkmc"`` grows to ``max_leaves`` from an
        empty tree, best cut first, and need not give every cluster a leaf.
    expansion : {"exkmc", "expand"}, default="exkmc"
        How the tree of ``n_clusters`` leaves grows to ``max_leaves``: by cost under the reference centers, or by the
        rows whose cluster differs from the reference.
    depth_penalty : float or "auto", default=0.03
        Weight of the expected depth for ``"exshallow"``; 0 looks at cost alone. ``"auto"`` (ExShallow*) searches
        between 0 and 1 for a tree of ``n_clusters`` leaves that keeps both targets. The other algorithms do not use it.
    target_cost : float, default=None
        What the tree may cost, in the units of ``cost_``, for ``depth_penalty="auto"``. None means what ExKMC's tree
        with ``n_clusters`` leaves on the same reference costs.
    target_waes : float, default=None
        How many conditions a row's explanation may have on average, for ``depth_penalty="auto"``. None means as many as
        in ExKMC's tree. Where both targets cannot be kept, it is the tree with the shortest explanations of those that
        keep the cost.
    reference : clusterer or array-like of shape (n_clusters, n_features), default=None
        The clustering to approximate: centers, a scikit-learn clusterer (fitted or not), or None for k-means. Centers
        are in the preprocessor's output where there is one.
    preprocessor : transformer, default=None
        Clustering happens in its output (a scaler's, say), rules stay in the columns and units of ``X``. A copy is
        fitted; weights are passed on where its ``fit`` takes them.
    n_init : int, default=10
        Number of k-means++ starts of the reference.
    random_state : int, RandomState instance or None, default=None
        Seeds the reference. The tree uses no randomness.
    n_jobs : int, default=None
        Threads, by joblib's rule: None means 1, -1 all cores. The result does not depend on it.
    verbose : int, default=0
        1 prints each stage and its seconds to standard error, 2 also the reference's restarts and the leaves as they
        come.

    Attributes
    ----------
    tree_ : ThresholdTree
        The model.
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each training row, by the tree. Numbers are those of the reference.
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
        Means of the tree's clusters, in the preprocessor's output where there is one. A cluster without rows keeps the
        reference's center.
    cost_, inertia_ : float
        Weighted sum of squared distances to ``cluster_centers_``.
    surrogate_cost_ : float
        The same with the reference's centers.
    cost_ratio_ : float
        ``cost_`` over ``reference_.cost``; nan where the latter is 0.
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
    feature_names_in_ : ndarray of shape (n_features_in_,)
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
    >>> from sklearn.datasets import load_iris
    >>> from cutwise import ExplainableKMeans
    >>> X = load_iris(as_frame=True).data
    >>> model = ExplainableKMeans(n_clusters=3, random_state=0).fit(X)
    >>> model.n_leaves_
    3
    >>> bool(model.cost_ratio_ < 1.05)
    True
    """

    depth_penalty_: float
    _penalty_search: PenaltySearch

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_leaves: int | None = None,
        algorithm: str = "exshallow",
        expansion: str = "exkmc",
        depth_penalty: float | str = 0.03,
        target_cost: float | None = None,
        target_waes: float | None = None,
        reference: Any = None,
        preprocessor: Any = None,
        n_init: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_leaves = max_leaves
        self.algorithm = algorithm
        self.expansion = expansion
        self.depth_penalty = depth_penalty
        self.target_cost = target_cost
        self.target_waes = target_waes
        self.reference = reference
        self.preprocessor = preprocessor
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def inertia_(self) -> float:
        """The same as ``cost_``, under scikit-learn's name."""
        return self.cost_

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows, and grow the tree that says the clusters.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Finite numbers; not copied where they are float32, float64, int32, int64, uint8 or bool.
        y : ignored
            There for scikit-learn's sake.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; none negative, not all 0.

        Returns
        -------
        self : ExplainableKMeans

        Raises
        ------
        InvalidInputError
            A parameter, a value or a weight that cannot be used: fewer distinct rows than clusters, NaN, text, ...

        Warns
        -----
        UnseparableCentersWarning
            Reference centers that no cut can part.
        EmptyClusterWarning
            A cluster that ended without rows.
        """
        self._refuse_unsaved()
        k = check_n_clusters(self.n_clusters)
        max_leaves = check_max_leaves(self.max_leaves, k)
        check_option("algorithm", self.algorithm, ALGORITHMS)
        check_option("expansion", self.expansion, EXPANSIONS)
        fixed_penalty = self._check_penalty()
        check_integer("n_init", self.n_init, minimum=1)
        n_jobs = check_n_jobs(self.n_jobs)
        stages = Stages(type(self).__name__, self.verbose)

        with stages.stage("reading the table"):
            table = read_table(X)
            sample_weight = read_weights(sample_weight, table.n_rows)
            check_n_clusters(k, table, sample_weight)
        with stages.stage("preprocessor"):
            space = fit_metric_space(self.preprocessor, X, table, sample_weight)
        recipe = ReferenceRecipe(
            self.reference, k, self.n_init, self.random_state, n_jobs, int(self.verbose), self._objective
        )
        rows, reference, full_labels = make_reference(recipe, table, space, sample_weight, stages)
        with stages.stage("tree"):
            grow = partial(
                grow_tree,
                rows.encoded,
                reference.labels,
                cut_coordinates(rows, reference, space, self._objective),
                cache(
                    lambda: fixed_costs(
                        rows.metric.matrix, reference.centers, self._objective, weights=rows.weights, n_jobs=n_jobs
                    )
                ),
                expansion=self.expansion,
                n_jobs=n_jobs,
                progress=stages.leaves,
            )
            penalty = self._tuned_penalty(grow, rows, reference) if fixed_penalty is None else fixed_penalty
            grown = grow(algorithm=self.algorithm, max_leaves=max_leaves, depth_penalty=penalty)
        with stages.stage("costs"):
            self._remember_columns(table)
            self.preprocessor_ = space.preprocessor
            self.classes_ = np.arange(k, dtype=np.int32)
            self._remember_penalty(penalty)
            self._finish(rows, grown, reference, full_labels, sample_weight)
        stages.say(self._summary())
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> npt.NDArray[np.int32]:
        """Fit, and give the cluster of every row.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        labels: npt.NDArray[np.int32] = self.fit(X, sample_weight=sample_weight).labels_
        return labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of rows when each is served by the center of the tree's cluster, as in scikit-learn's KMeans.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
            Larger is better; 0 at best.
        """
        return -self._cost_of(X, sample_weight)

    def _check_penalty(self) -> float | None:
        """The depth penalty; None where it is to be searched for."""
        for name in ("target_cost", "target_waes"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), minimum=0)
        if isinstance(self.depth_penalty, str):
            if self.depth_penalty != "auto":
                raise InvalidInputError(
                    f'depth_penalty={self.depth_penalty!r} is neither a number >= 0 nor "auto". Use 0.03, for instance.'
                )
            return None if self.algorithm == "exshallow" else FIRST_PENALTY
        return check_number("depth_penalty", self.depth_penalty, minimum=0)

    def _tuned_penalty(self, grow: Callable[..., GrownTree], rows: FitRows, reference: Reference) -> float:
        """The penalty of ExShallow*, on a reference and costs that are there already."""
        k = reference.n_clusters

        def judge(grown: GrownTree) -> tuple[float, float]:
            cost = costs_by_centers(rows, reference, self._objective, grown.codes).cost
            return cost, size_of_explanations(rows, grown)

        target_cost, target_waes = self.target_cost, self.target_waes
        if target_cost is None or target_waes is None:
            cost, waes = judge(grow(algorithm="exkmc", max_leaves=k))
            target_cost = cost if target_cost is None else target_cost
            target_waes = waes if target_waes is None else target_waes
        self._penalty_search, _ = search_penalty(
            lambda penalty: grow(algorithm="exshallow", max_leaves=k, depth_penalty=penalty),
            judge,
            target_cost,
            target_waes,
        )
        return self._penalty_search.depth_penalty

    def _remember_penalty(self, penalty: float) -> None:
        if self.algorithm == "exshallow":
            self.depth_penalty_ = penalty
        elif hasattr(self, "depth_penalty_"):
            del self.depth_penalty_  # from an earlier fit

    def _fitted_state(self) -> dict[str, Any]:
        return super()._fitted_state() | {"depth_penalty": getattr(self, "depth_penalty_", None)}

    def _restore_fitted(self, state: dict[str, Any]) -> None:
        super()._restore_fitted(state)
        if state.get("depth_penalty") is not None:  # the first files did not hold it
            self.depth_penalty_ = float(state["depth_penalty"])

    def _summary(self) -> str:
        return f"{super()._summary()}; cost ratio {self.cost_ratio_:.4g}"
