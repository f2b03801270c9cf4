"""The synthetic sets and hard cases of the papers, each with the clustering that it is built around."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from cutwise.core import Float64, Int32
from cutwise.exceptions import InvalidInputError
from cutwise.reference.resources import check_fits
from cutwise.table.intake import Seed, check_integer, check_number, check_option, read_random_state
from cutwise.tree.threshold_tree import ThresholdTree

Objective = Literal["kmeans", "kmedians"]
OBJECTIVES = get_args(Objective)


@dataclass(frozen=True, eq=False)
class PlantedSet:
    """A data set and the clustering planted in it.

    Attributes
    ----------
    X : ndarray of shape (n, d), float64
        The rows.
    labels : ndarray of shape (n,), int32
        The planted cluster of every row, 0 .. k-1.
    centers : ndarray of shape (k, d), float64
        The planted clusters' means, or medians where the objective is k-medians: the reference to grow trees against.
    cost : float
        Cost of the planted clustering, each cluster with its own center.
    objective : {"kmeans", "kmedians", "kernel"}
        Squared distances to means, l1 distances to medians, or squared distances in the feature space of a kernel.
    lower_bound : float
        Proved bound: every tree that the source covers costs at least this many times ``cost`` (more than 0 if this
        is infinite). 1 if the source proves no such bound.
    source : str
        The paper and the place in it.
    """

    X: Float64
    labels: Int32
    centers: Float64
    cost: float
    objective: str
    lower_bound: float
    source: str

    @property
    def n_clusters(self) -> int:
        """The number of planted clusters, k."""
        return len(self.centers)

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"{type(self).__name__}({n} x {d}, {self.n_clusters} clusters, {self.objective}; {self.source})"


@dataclass(frozen=True, eq=False, repr=False)
class KernelSet(PlantedSet):
    """A planted set whose clusters live in the feature space of a kernel.

    Attributes
    ----------
    kernel : ndarray of shape (n, n), float64
        Inner products of the rows in feature space. ``centers`` are the clusters' means in the input space, which
        are not used for costs.
    """

    kernel: Float64


@dataclass(frozen=True, eq=False, repr=False)
class TreeSet(PlantedSet):
    """A planted set together with trees that recover it.

    Attributes
    ----------
    trees : tuple of ThresholdTree
        Each induces the planted clustering.
    """

    trees: tuple[ThresholdTree, ...]


def plant(
    X: Float64,
    labels: npt.NDArray[np.signedinteger],
    *,
    objective: Objective = "kmeans",
    lower_bound: float = 1.0,
    source: str,
) -> PlantedSet:
    """A planted set from its rows and labels, with computed centers and cost.

    ``X`` (n, d) float64. ``labels`` (n,). ``lower_bound``, ``source``: as in ``PlantedSet``.
    """
    center_of, norm = (np.mean, np.square) if objective == "kmeans" else (np.median, np.abs)
    members = [X[labels == cluster] for cluster in range(int(labels.max()) + 1)]
    centers = np.array([center_of(rows, axis=0) for rows in members])
    cost = sum(float(norm(rows - center).sum()) for rows, center in zip(members, centers, strict=True))
    return PlantedSet(X, labels.astype(np.int32), centers, cost, objective, lower_bound, source)


_IMM = "Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Explainable k-Means and k-Medians Clustering"
_EXKMC = "Frost, Moshkovitz, Rashtchian (2020), ExKMC"
_EXSHALLOW = "Laber, Murtinho, Oliveira (2023), Shallow decision trees for explainable k-means clustering, Section 1.1"
_KERNEL = "Fleissner, Vankadara, Ghoshdastidar (2024), Explaining Kernel Clustering via Decision Trees"


def make_standard_basis(n_clusters: int = 8) -> PlantedSet:
    """The standard basis vectors and the origin: k rows whose exact tree needs depth k - 1.

    Parameters
    ----------
    n_clusters : int, default=8
        k, at least 2.

    Returns
    -------
    planted : PlantedSet
        k rows in k - 1 columns, each its own cluster, at cost 0. Whatever k - 2 columns a tree tests, two rows are 0
        in all of them, so a tree of lower depth costs more than 0.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Section 3 and Figure 2(a).
    """
    check_integer("n_clusters", n_clusters, minimum=2, hint="With fewer there is nothing to separate.")
    X = np.vstack([np.eye(n_clusters - 1), np.zeros((1, n_clusters - 1))])
    return plant(X, np.arange(n_clusters), source=f"{_IMM}, Section 3, Figure 2(a)")


def make_far_outliers(
    distance: float = 1000.0, *, n_per_cloud: int = 500, spread: float = 0.1, random_state: Seed = None
) -> PlantedSet:
    """Two clouds, and two points far above them as third cluster: entropy (ID3, CART) cuts the wrong way first.

    Parameters
    ----------
    distance : float, default=1000.0
        How far the two points are from the clouds, v in the paper.
    n_per_cloud : int, default=500
    spread : float, default=0.1
        Standard deviation of the clouds around (-2, 0) and (2, 0).
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    planted : PlantedSet
        ``2 * n_per_cloud + 2`` rows in 2 columns. A tree that is grown by entropy separates the clouds first and the
        two far points with them, so that with 3 leaves its cost grows with ``distance``, while the planted cost does
        not depend on it. IMM separates the far points first.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Section 3 and Figure 2(b).
    """
    distance = check_number("distance", distance, minimum=0)
    spread = check_number("spread", spread, minimum=0)
    check_integer(
        "n_per_cloud", n_per_cloud, minimum=2, hint="Entropy must gain more by separating the clouds than two points."
    )
    rng = read_random_state(random_state)
    clouds = [rng.normal((x, 0.0), spread, (n_per_cloud, 2)) for x in (-2.0, 2.0)]
    X = np.vstack([*clouds, [[-2.0, distance], [2.0, distance]]])
    labels = np.repeat([0, 1, 2], [n_per_cloud, n_per_cloud, 2])
    return plant(X, labels, source=f"{_IMM}, Section 3, Figure 2(b)")


def make_negated_clusters(n_features: int = 8, *, objective: Objective = "kmeans") -> PlantedSet:
    """The vectors of ones with one 0, and their negations: two clusters that no single cut separates cheaply.

    Parameters
    ----------
    n_features : int, default=8
        d, at least 2 (3 for ``"kmedians"``).
    objective : {"kmeans", "kmedians"}, default="kmeans"

    Returns
    -------
    planted : PlantedSet
        2d rows in d columns. Every single cut costs at least ``lower_bound`` times the planted cost:
        3 (1 - 1/d)^2 for k-means, 2 - 1/d for k-medians.

    Notes
    -----
    The paper states the bounds for any number of columns. For k-medians in 2 columns, a single cut is an optimum: the
    ratio is 1.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Theorem 4.4 and Appendix B.
    """
    check_option("objective", objective, OBJECTIVES)
    least = 2 if objective == "kmeans" else 3
    check_integer("n_features", n_features, minimum=least, hint="The theorem does not hold in fewer columns.")
    ones = 1.0 - np.eye(n_features)
    share = 1 / n_features
    bound = 3 * (1 - share) ** 2 if objective == "kmeans" else 2 - share
    X = np.vstack([ones, 0.0 - ones])
    labels = np.repeat([0, 1], n_features)
    return plant(X, labels, objective=objective, lower_bound=bound, source=f"{_IMM}, Theorem 4.4")


def make_hypercube(
    n_clusters: int = 6, n_features: int | None = None, *, objective: Objective = "kmeans", random_state: Seed = None
) -> PlantedSet:
    """Corners of a hypercube, each with its d neighbors at coordinate 0: k leaves cost log k times the optimum.

    Parameters
    ----------
    n_clusters : int, default=6
        k, at least 3.
    n_features : int, default=None
        d; None means k^3, as in the proof.
    objective : {"kmeans", "kmedians"}, default="kmeans"
    random_state : int, RandomState instance or None, default=None
        Draws the corners, again and again until any two differ in at least d/4 coordinates.

    Returns
    -------
    planted : PlantedSet
        kd rows in d columns: around each corner the d vectors with one of its coordinates set to 0. The planted cost is
        k (d - 1) for k-means and kd for k-medians. The theorem carries no constant, so ``lower_bound`` is 1; no tree of
        k leaves reaches the planted cost.

    Raises
    ------
    InvalidInputError
        So few columns that no such corners are found.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Theorem 5.9 and Appendix A.
    """
    check_integer("n_clusters", n_clusters, minimum=3, hint="The construction takes at least 3 corners.")
    d = n_clusters**3 if n_features is None else n_features
    return codewords_apart(n_clusters, d, objective, random_state, f"{_IMM}, Theorem 5.9")


def codewords_apart(
    n_clusters: int, n_features: int, objective: Objective, random_state: Seed, source: str
) -> PlantedSet:
    """Around each of k random sign vectors at least d/4 apart, the d vectors with one coordinate set to 0.

    Raises ``InvalidInputError``: no such vectors were found in 1000 draws, or the rows would not fit in memory.
    """
    check_option("objective", objective, OBJECTIVES)
    check_integer("n_features", n_features, minimum=2, hint="A cluster takes at least 2 columns.")
    rng = read_random_state(random_state)
    shape = (n_clusters * n_features, n_features)
    check_fits(
        8 * shape[0] * shape[1],
        f"A table of {shape[0]:,} rows and {shape[1]:,} columns, for {n_clusters} clusters,",
        "Use fewer clusters, or fewer columns (n_features).",
    )
    for _ in range(1000):
        words = rng.choice([-1.0, 1.0], (n_clusters, n_features))
        differ = (n_features - words @ words.T) / 2
        if n_clusters < 2 or differ[np.triu_indices(n_clusters, 1)].min() >= n_features / 4:
            break
    else:
        raise InvalidInputError(
            f"n_features={n_features} is too small for {n_clusters} sign vectors of which any two differ in a quarter "
            f"of the columns. Use more columns (the proof takes {n_clusters**3}), or fewer clusters."
        )
    rows = np.repeat(words, n_features, axis=0)
    rows[np.arange(len(rows)), np.tile(np.arange(n_features), n_clusters)] = 0.0
    return plant(rows, np.repeat(np.arange(n_clusters), n_features), objective=objective, source=source)


def make_synthetic_i(
    n_samples: int = 5000,
    n_features: int = 1000,
    *,
    n_flipped: int | None = None,
    distance: float = 1000.0,
    random_state: Seed = None,
) -> PlantedSet:
    """Synthetic I: two noisy patterns and two far outliers, which CART separates.

    Parameters
    ----------
    n_samples : int, default=5000
        Rows, at least 6; of an odd number the second pattern has one more.
    n_features : int, default=1000
    n_flipped : int, default=None
        Columns in which a row differs from its pattern, drawn for each row; None means a tenth of the columns.
    distance : float, default=1000.0
        Where the two outliers are in the first column; all other rows are 0 there.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    planted : PlantedSet
        3 clusters: rows of ones (cluster 0) and of zeros (cluster 1) with some columns flipped, and the two outliers
        (cluster 2), one of ones and one of zeros. CART with 3 leaves costs more than 5 times as much as the planted
        clusters, while trees that look at costs stay near 1.

    References
    ----------
    Frost, Moshkovitz, Rashtchian (2020), *ExKMC: Expanding Explainable k-Means Clustering*, Appendix B.2.
    """
    check_integer("n_samples", n_samples, minimum=6, hint="Two patterns and two outliers take 6 rows.")
    n_features = check_integer("n_features", n_features, minimum=2)
    flipped = n_features // 10 if n_flipped is None else check_integer("n_flipped", n_flipped, minimum=0)
    check_integer(
        "n_features", n_features, minimum=flipped + 2, hint=f"{flipped} columns are flipped beside the first."
    )
    distance = check_number("distance", distance, minimum=0)
    rng = read_random_state(random_state)
    half = (n_samples - 2) // 2
    labels = np.repeat([0, 1, 2], [half, n_samples - 2 - half, 2])
    X = np.zeros((n_samples, n_features))
    X[labels == 0, 1:] = 1.0
    # The flipped columns of a row are those of its lowest random numbers.
    columns = rng.random_sample((n_samples - 2, n_features - 1)).argpartition(max(flipped - 1, 0), axis=1)[:, :flipped]
    np.put_along_axis(X[:-2, 1:], columns, np.where(labels[:-2, None] == 0, 0.0, 1.0), axis=1)
    X[-2, 1:] = 1.0
    X[-2:, 0] = distance
    return plant(X, labels, source=f"{_EXKMC}, Synthetic I")


def make_synthetic_ii(
    n_clusters: int = 30, n_features: int = 1000, *, objective: Objective = "kmeans", random_state: Seed = None
) -> PlantedSet:
    """Synthetic II: clusters far from each other that look the same nearby, so that k leaves are too few.

    Parameters
    ----------
    n_clusters : int, default=30
        k.
    n_features : int, default=1000
        d; each cluster has d rows.
    objective : {"kmeans", "kmedians"}, default="kmeans"
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    planted : PlantedSet
        kd rows: around each of k random sign vectors (any two at least d/4 columns apart) the d vectors with one
        coordinate set to 0. Every tree of k leaves costs more than the planted clusters; ExKMC reaches them exactly
        with O(k log k) leaves (about 70 at k = 30).

    References
    ----------
    Frost, Moshkovitz, Rashtchian (2020), *ExKMC: Expanding Explainable k-Means Clustering*, Section 3.3 and
    Appendix A.1.
    """
    check_integer("n_clusters", n_clusters, minimum=2, hint="With fewer there is nothing to separate.")
    return codewords_apart(n_clusters, n_features, objective, random_state, f"{_EXKMC}, Synthetic II")


def make_four_trees(n_clusters: int = 8) -> TreeSet:
    """Clusters of doubling sizes, and four chains of cuts that recover them: depth and explanation size may disagree.

    Parameters
    ----------
    n_clusters : int, default=8
        k, from 3 to 12 (there are ``2**(k + 1) - k - 2`` rows).

    Returns
    -------
    planted : TreeSet
        Cluster i = 1 .. k (label i - 1) has ``2**i - 1`` rows in k columns; all coordinates of its j-th row are
        ``2**(2 * i) + j``. ``trees`` are D1 to D4, each of k - 1 cuts, one a level:

        ==== ============================= ====== ======
        tree level t cuts                  WAD    WAES
        ==== ============================= ====== ======
        D1   column t, smallest cluster    ~ k    ~ k
        D2   first column, largest cluster O(1)   O(1)
        D3   column t, largest cluster     O(1)   O(1)
        D4   first column, smallest one    ~ k    O(1)
        ==== ============================= ====== ======

        where "smallest" and "largest" say which of the clusters left is separated from the others. WAD and WAES are the
        average depth and the average number of non-redundant conditions, weighted by rows.

    References
    ----------
    Laber, Murtinho, Oliveira (2023), Section 1.1.
    """
    why = "Fewer clusters leave the four trees no choice, and sizes double with each (12 clusters: 8178 rows)."
    check_integer("n_clusters", n_clusters, minimum=3, maximum=12, hint=why)
    k = n_clusters
    sizes = [2**i - 1 for i in range(1, k + 1)]
    values = np.concatenate([2.0 ** (2 * i) + np.arange(1, size + 1) for i, size in enumerate(sizes, start=1)])
    flat = plant(np.repeat(values[:, None], k, axis=1), np.repeat(np.arange(k), sizes), source=_EXSHALLOW)
    trees = tuple(
        _chain(sizes, smallest_first=smallest_first, one_column=one_column)
        for smallest_first, one_column in ((True, False), (False, True), (False, False), (True, True))
    )
    return TreeSet(flat.X, flat.labels, flat.centers, flat.cost, flat.objective, flat.lower_bound, flat.source, trees)


def _chain(sizes: list[int], *, smallest_first: bool, one_column: bool) -> ThresholdTree:
    """A tree of k - 1 cuts, one a level, each with a leaf for the smallest or the largest cluster left."""
    k = len(sizes)
    # The inner node of level t has number 2 (t - 1), its leaf the next one, and the rest of the chain the one after.
    left, right, feature, cluster = np.full((4, 2 * k - 1), -1)
    threshold = np.full(2 * k - 1, np.nan)
    inner, level = np.arange(0, 2 * k - 2, 2), np.arange(1, k)
    left[inner], right[inner] = (inner + 1, inner + 2) if smallest_first else (inner + 2, inner + 1)
    feature[inner] = 0 if one_column else level - 1
    below = level if smallest_first else k - level  # the largest cluster left of the cut
    threshold[inner] = 2.0 ** (2 * below + 1)
    cluster[left < 0] = np.arange(k) if smallest_first else np.arange(k)[::-1]
    tree = ThresholdTree.from_unordered(
        children_left=left, children_right=right, feature=feature, threshold=threshold, cluster=cluster, n_features=k
    )
    return replace(tree, n_node_samples=tree.sum_up(np.array(sizes)[tree.cluster[tree.leaves]]))


def make_exkmc_line(epsilon: float = 0.01, *, n_per_point: int = 10) -> PlantedSet:
    """Three pairs of points on a line: IMM finds them exactly, ExKMC from an empty tree is arbitrarily bad.

    Parameters
    ----------
    epsilon : float, default=0.01
        Distance of every row from its center, from 1e-9 to 1/4.
    n_per_point : int, default=10
        Copies of each of the six points.

    Returns
    -------
    planted : PlantedSet
        ``6 * n_per_point`` rows in 1 column, at -1, 0 and 1 plus and minus ``epsilon``. The planted cost, n epsilon^2,
        is that of a tree with 3 leaves. ExKMC cuts at 0 first, for it serves each side by a single center, and with
        3 leaves costs more than (1 - 2 epsilon)^2 / (9 epsilon^2) times as much.

    Notes
    -----
    The paper's proof has twice that factor, for it counts each pair of rows twice; the tree costs about n / 9.

    References
    ----------
    Kernel paper, Theorem 6 and Appendix J.
    """
    check_number(
        "epsilon", epsilon, minimum=1e-9, maximum=0.25, hint="Rows must lie nearer to their own center than to another."
    )
    check_integer("n_per_point", n_per_point, minimum=1, hint="With none there would be no rows.")
    points = np.array([center + side * epsilon for center in (-1.0, 0.0, 1.0) for side in (-1.0, 1.0)])
    X = np.repeat(points, n_per_point)[:, None]
    return plant(X, np.repeat([0, 1, 2], 2 * n_per_point), source=f"{_KERNEL}, Theorem 6")


def make_quadratic_cross() -> KernelSet:
    """Four points on the axes that the quadratic kernel clusters at cost 0, and no one-sided cut does.

    Returns
    -------
    planted : KernelSet
        (0, 1), (0, -1) and (1, 0), (-1, 0) with the kernel <x, y>^2. ``lower_bound`` is infinite for cuts
        ``x <= threshold``. With interval tests the price is 1: -0.5 < x_1 <= 0.5 separates the two clusters.

    References
    ----------
    Kernel paper, Theorem 7 and Appendix K, Proposition 1 (which states it for all interpretable trees; it holds for
    one-sided cuts).
    """
    X = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])
    return _with_kernel(X, np.array([0, 0, 1, 1]), (X @ X.T) ** 2, "Theorem 7, quadratic kernel")


def make_neighborhood_clusters(epsilon: float = math.sqrt(24.0)) -> KernelSet:
    """Eight points that the neighborhood kernel clusters at cost 0, and neither a cut nor an interval test does.

    Parameters
    ----------
    epsilon : float, default=sqrt(24)
        Radius of the neighborhood; the points are scaled with it.

    Returns
    -------
    planted : KernelSet
        8 rows in 36 columns, two clusters of 4, with the kernel 1 where rows are at most ``epsilon`` apart, else 0. The
        columns go through all ways of giving two of the first four points the value 1 and two of the last four the
        value -1, the others 0. Distances are exactly ``epsilon`` within a cluster (the kernel is computed from the
        unscaled points, where they are integers) and 1.5 ``epsilon`` between, and ``lower_bound`` is infinite.

    References
    ----------
    Kernel paper, Theorem 7 and Appendix K, Proposition 2.
    """
    check_number("epsilon", epsilon, minimum=1e-100, hint="Nearer to 0 the points would coincide.")
    pairs = list(combinations(range(4), 2))
    X = np.zeros((8, len(pairs) ** 2))
    for column, (positive, negative) in enumerate((p, q) for p in pairs for q in pairs):
        X[list(positive), column] = 1.0
        X[[4 + i for i in negative], column] = -1.0
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    kernel = (squares <= 24.0).astype(np.float64)
    labels = np.repeat([0, 1], 4)
    return _with_kernel(X * (epsilon / math.sqrt(24.0)), labels, kernel, "Theorem 7, neighborhood kernel")


HISTOGRAM_KINDS = np.array(
    [[0.60, 0.38, 0.01, 0.01], [0.58, 0.34, 0.07, 0.01], [0.58, 0.34, 0.01, 0.07], [0.48, 0.50, 0.01, 0.01]]
)
"""Probabilities of four bins in each of four kinds. The paper shows its own in a picture only, so these are ours: two
kinds differ from the first in a rare bin each, where few draws tell much, and one in how the frequent bins share."""


def make_histogram_mixture(*, n_per_kind: int = 5, n_draws: int = 100, random_state: Seed = None) -> PlantedSet:
    """Histograms of draws from four distributions over four bins, some of them rare.

    Parameters
    ----------
    n_per_kind : int, default=5
        Histograms of each distribution.
    n_draws : int, default=100
        Draws that each counts.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    planted : PlantedSet
        ``4 * n_per_kind`` rows of shares in 4 columns, from the probabilities (.60, .38, .01, .01),
        (.58, .34, .07, .01), (.58, .34, .01, .07) and (.48, .50, .01, .01), which are ours. k-means is led by the noise
        of the frequent bins; the additive chi-squared kernel weighs a difference by how frequent the bin is.

    References
    ----------
    Kernel paper, Appendix I and Figure 6.
    """
    check_integer("n_per_kind", n_per_kind, minimum=1, hint="Every kind needs a row.")
    check_integer("n_draws", n_draws, minimum=1, hint="A histogram counts draws.")
    rng = read_random_state(random_state)
    counts = np.concatenate([rng.multinomial(n_draws, kind, size=n_per_kind) for kind in HISTOGRAM_KINDS])
    return plant(counts / n_draws, np.repeat(np.arange(4), n_per_kind), source=f"{_KERNEL}, Appendix I")


def _with_kernel(X: Float64, labels: np.ndarray, kernel: Float64, place: str) -> KernelSet:
    flat = plant(X, labels, source=f"{_KERNEL}, {place}")
    return KernelSet(flat.X, flat.labels, flat.centers, 0.0, "kernel", math.inf, flat.source, kernel)
