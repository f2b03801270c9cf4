"""The k-medians clusterer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from cutwise._docs import fill_doc
from cutwise._progress import all_or_nothing
from cutwise.core import Float64, Int32
from cutwise.estimators._clusterer import CenterClusterer
from cutwise.reference.objective import KMEDIANS, Measure
from cutwise.reference.search import find_clustering
from cutwise.table.intake import check_integer, check_n_init, check_n_jobs, check_option, check_unread, read_centers

INITS = ("k-means++", "random")


@fill_doc
@dataclass(eq=False, repr=False)
class KMedians(CenterClusterer):
    """k-medians: clusters around coordinate-wise medians, by the sum of l1 distances.

    Distances are not squared, and a median does not follow single far values: outliers attract centers, or get clusters
    of their own, less easily than in k-means.

    Parameters
    ----------
    {n_clusters}
    init : {"k-means++", "random"} or array-like of shape (n_clusters, n_features), default="k-means++"
        How to start: from rows drawn by their l1 distance to the nearest center so far (greedy k-means++), from random
        rows, or from the given centers, in a single run without randomness.
    n_init : int or "auto", default=10
        Number of starts (``"auto"`` is 10); small tables get more, as long as they improve the result.
    max_iter : int, default=300
        Iterations of a start at most.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts.
    {n_jobs}
    verbose : int, default=0
        1 prints each stage and its seconds to standard error, 2 also every start.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features), float64
        The clusters' medians, column by column: the lower weighted median, that is, the smallest value such that the
        rows at or below it hold at least half of the cluster's weight.
    labels_ : ndarray of shape (n_samples,), int32
        The nearest center of each training row; the lowest number on a tie.
    cost_, inertia_ : float
        Weighted sum of l1 distances to the nearest center.
    n_iter_ : int
        Iterations of the last run that led to the result.
    {n_features_in_, feature_names_in_}

    Notes
    -----
    Rows move to their nearest center and centers to the medians of their rows, in turn, until nothing changes; the
    best of ``n_init`` such runs is the result. A median stays until half of its rows' weight has moved, so runs end
    in many local optima, and more starts find better ones. A start is greedy k-means++, and each run is crossed
    with the best earlier run: the centers of both whose removal would cost most are kept. Starts use a sample, drawn
    by the cost of rows, and the best continue with all rows. Time grows linearly with the number of rows. Sparse
    input is not made dense. The same rows and seed give the same result, bit for bit, in any order and for any
    ``n_jobs``; an integer weight equals a repeated row.

    References
    ----------
    Bradley, Mangasarian, Street (1996), *Clustering via concave minimization* (the k-median algorithm). Fränti
    (2000), *Genetic algorithm with deterministic crossover for vector quantization*. Hamerly (2010), *Making
    k-means even faster*.

    Examples
    --------
    >>> from cutwise import KMedians
    >>> X = [[1.0], [2.0], [3.0], [80.0], [81.0], [900.0]]
    >>> model = KMedians(n_clusters=2, init=[[1.0], [80.0]]).fit(X)
    >>> model.cluster_centers_.ravel().tolist()
    [2.0, 81.0]
    >>> model.inertia_
    822.0
    """

    n_clusters: int = 8
    _: KW_ONLY
    init: Any = "k-means++"
    n_init: int | Literal["auto"] = 10
    max_iter: int = 300
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Finite numbers; not copied where they are float32, float64, int32, int64, uint8 or bool.
        {y, sample_weight}

        Returns
        -------
        self : KMedians

        Raises
        ------
        InvalidInputError
            A parameter, a value or a weight that cannot be used: fewer distinct rows than clusters, NaN, text, ...
        """
        check_unread(y)
        init = self.init
        if isinstance(init, str) or init is None:
            check_option("init", init, INITS)
        n_init = check_n_init(self.n_init)
        max_iter = check_integer("max_iter", self.max_iter, minimum=1)
        n_jobs = check_n_jobs(self.n_jobs)
        table, weights, stages = self._read_fit(X, sample_weight)
        k = self._n_features_out
        if not isinstance(init, str):
            init = read_centers(init, k, table, what="init")
        with stages.stage("clustering"):
            reference, self.n_iter_ = find_clustering(
                table, k, Measure(KMEDIANS, weights, n_jobs), init=init, n_init=n_init, max_iter=max_iter,
                random_state=self.random_state, verbose=max(int(self.verbose) - 1, 0),
            )  # fmt: skip
        self._remember_columns(table)
        self.cluster_centers_, self.labels_, self.cost_ = reference.centers, reference.labels, reference.cost
        stages.say(f"cost {self.cost_:.6g} after {self.n_iter_} iterations")
        return self

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The nearest center of every row.

        Parameters
        ----------
        {X}

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            The lowest number wins a tie.

        Raises
        ------
        {NotFittedError, ColumnMismatchError, InvalidInputError}
        """
        return self._assign(X)[0]

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """The l1 distance of every row to every center.

        Parameters
        ----------
        {X}

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters), float64

        Raises
        ------
        {NotFittedError, ColumnMismatchError, InvalidInputError}
        """
        table = self._read(X)
        return KMEDIANS.distances(KMEDIANS.costs(table.matrix, self.cluster_centers_, check_n_jobs(self.n_jobs)))

    def _assign(self, X: Any) -> tuple[Int32, Float64]:
        """The nearest center of every row, and the cost of the row by it."""
        return KMEDIANS.assign(self._read(X).matrix, self.cluster_centers_, check_n_jobs(self.n_jobs))[:2]

    def _costs_of(self, X: Any) -> Float64:
        return self._assign(X)[1]
