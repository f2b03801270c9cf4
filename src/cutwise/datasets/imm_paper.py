"""The hard cases of the IMM paper: what depth, entropy and single cuts must cost."""

from __future__ import annotations

import numpy as np

from cutwise.exceptions import InvalidInputError
from cutwise.reference.memory import check_fits
from cutwise.table import Seed, check_integer, check_number, check_option, read_random_state

from .planted import OBJECTIVES, Objective, PlantedSet, plant

__all__ = ["codewords_apart", "make_far_outliers", "make_hypercube", "make_negated_clusters", "make_standard_basis"]

_PAPER = "Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Explainable k-Means and k-Medians Clustering"


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
    check_integer("n_clusters", n_clusters, minimum=2, hint="With fewer there is nothing to part.")
    X = np.vstack([np.eye(n_clusters - 1), np.zeros((1, n_clusters - 1))])
    return plant(X, np.arange(n_clusters), source=f"{_PAPER}, Section 3, Figure 2(a)")


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
        ``2 * n_per_cloud + 2`` rows in 2 columns. A tree that is grown by entropy parts the clouds first and the two
        far points with them, so that with 3 leaves its cost grows with ``distance``, while the planted cost does not
        depend on it. IMM parts the far points first.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Section 3 and Figure 2(b).
    """
    distance = check_number("distance", distance, minimum=0)
    spread = check_number("spread", spread, minimum=0)
    check_integer(
        "n_per_cloud", n_per_cloud, minimum=2, hint="Entropy must gain more by parting the clouds than the two points."
    )
    rng = read_random_state(random_state)
    clouds = [rng.normal((x, 0.0), spread, (n_per_cloud, 2)) for x in (-2.0, 2.0)]
    X = np.vstack([*clouds, [[-2.0, distance], [2.0, distance]]])
    labels = np.repeat([0, 1, 2], [n_per_cloud, n_per_cloud, 2])
    return plant(X, labels, source=f"{_PAPER}, Section 3, Figure 2(b)")


def make_negated_clusters(n_features: int = 8, *, objective: Objective = "kmeans") -> PlantedSet:
    """The vectors of ones with one 0, and their negations: two clusters that no single cut parts cheaply.

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
    return plant(X, labels, objective=objective, lower_bound=bound, source=f"{_PAPER}, Theorem 4.4")


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
    return codewords_apart(n_clusters, d, objective, random_state, f"{_PAPER}, Theorem 5.9")


def codewords_apart(
    n_clusters: int, n_features: int, objective: Objective, random_state: Seed, source: str
) -> PlantedSet:
    """Around each of k random sign vectors at least d/4 apart, the d vectors with one coordinate set to 0.

    Parameters
    ----------
    n_clusters, n_features : int
    objective : {"kmeans", "kmedians"}
    random_state : int, RandomState instance or None
    source : str

    Returns
    -------
    planted : PlantedSet

    Raises
    ------
    InvalidInputError
        No such vectors were found in 1000 draws, or the rows would not fit in memory.
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
