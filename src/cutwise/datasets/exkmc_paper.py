"""The two synthetic sets of the ExKMC paper."""

from __future__ import annotations

import numpy as np

from cutwise.table import Seed, check_integer, check_number, read_random_state

from .imm_paper import codewords_apart
from .planted import Objective, PlantedSet, plant

__all__ = ["make_synthetic_i", "make_synthetic_ii"]

_PAPER = "Frost, Moshkovitz, Rashtchian (2020), ExKMC"


def make_synthetic_i(
    n_samples: int = 5000,
    n_features: int = 1000,
    *,
    n_flipped: int | None = None,
    distance: float = 1000.0,
    random_state: Seed = None,
) -> PlantedSet:
    """Synthetic I: two noisy patterns and two far outliers, which CART parts from each other.

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
    # The flipped columns of a row: those of its lowest random numbers.
    columns = rng.random_sample((n_samples - 2, n_features - 1)).argpartition(max(flipped - 1, 0), axis=1)[:, :flipped]
    np.put_along_axis(X[:-2, 1:], columns, np.where(labels[:-2, None] == 0, 0.0, 1.0), axis=1)
    X[-2, 1:] = 1.0
    X[-2:, 0] = distance
    return plant(X, labels, source=f"{_PAPER}, Synthetic I")


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
    check_integer("n_clusters", n_clusters, minimum=2, hint="With fewer there is nothing to part.")
    return codewords_apart(n_clusters, n_features, objective, random_state, f"{_PAPER}, Synthetic II")
