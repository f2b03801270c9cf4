"""The sets of the kernel paper: where ExKMC from an empty tree, or any cut, has no bound; and mixed histograms."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from cutwise.table import Seed, check_integer, check_number, read_random_state

from .planted import Float64, KernelSet, PlantedSet, plant

__all__ = ["make_exkmc_line", "make_histogram_mixture", "make_neighborhood_clusters", "make_quadratic_cross"]

_PAPER = "Fleissner, Vankadara, Ghoshdastidar (2024), Explaining Kernel Clustering via Decision Trees"


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
    return plant(X, np.repeat([0, 1, 2], 2 * n_per_point), source=f"{_PAPER}, Theorem 6")


def make_quadratic_cross() -> KernelSet:
    """Four points on the axes that the quadratic kernel clusters at cost 0, and no one-sided cut does.

    Returns
    -------
    planted : KernelSet
        (0, 1), (0, -1) and (1, 0), (-1, 0) with the kernel <x, y>^2. ``lower_bound`` is infinite for cuts
        ``x <= threshold``. With interval tests the price is 1: -0.5 < x_1 <= 0.5 parts the two clusters.

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
    return plant(counts / n_draws, np.repeat(np.arange(4), n_per_kind), source=f"{_PAPER}, Appendix I")


def _with_kernel(X: Float64, labels: np.ndarray, kernel: Float64, place: str) -> KernelSet:
    flat = plant(X, labels, source=f"{_PAPER}, {place}")
    return KernelSet(flat.X, flat.labels, flat.centers, 0.0, "kernel", math.inf, flat.source, kernel)
