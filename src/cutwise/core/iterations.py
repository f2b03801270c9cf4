"""What finds a reference clustering, typed: seeds and Lloyd's iterations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import _core
from ._core import Matrix
from .kernels import ObjectiveName, as_float64

__all__ = ["lloyd", "plusplus"]


def lloyd(
    matrix: Matrix,
    centers: npt.NDArray[np.float64],
    weights: npt.NDArray[np.int64] | None = None,
    max_iter: int = 300,
    tolerance: float = 0.0,
    n_jobs: int = 1,
    objective: ObjectiveName = "kmeans",
) -> tuple[npt.NDArray[np.float64], int]:
    """Lloyd's iterations, with bounds that leave out rows whose center cannot have changed.

    Parameters
    ----------
    matrix : Matrix
    centers : ndarray of shape (k, n_columns), float64
        Where to start. Distances are direct differences in float64, means are exact sums and medians are values of the
        data, so the data need not be centered, and the result depends neither on the number of threads nor on the order
        of the rows.
    weights : ndarray of shape (n_rows,), int64, optional
        Positive; a weight is a repeated row to the bit.
    max_iter : int, default 300
    tolerance : float, default 0.0
        Stop when moving the centers lowers the cost by no more than this share of the first iteration's (for k-medians,
        cannot lower it by more); 0 goes on until no row changes its center.
    n_jobs : int, default 1
    objective : {"kmeans", "kmedians"}, default "kmeans"
        Rows go to the center nearest in Euclidean or in l1 distance, centers to the mean or the median of their rows.

    Returns
    -------
    centers : ndarray of shape (k, n_columns), float64
        A center that loses all its rows starts again at the row farthest from every center.
    n_iter : int

    References
    ----------
    Hamerly (2010), *Making k-means even faster*.
    """
    return _core.lloyd(matrix, as_float64(centers), weights, objective, max_iter, tolerance, n_jobs)


def plusplus(
    matrix: Matrix,
    uniforms: npt.NDArray[np.float64],
    weights: npt.NDArray[np.int64] | None = None,
    objective: ObjectiveName = "kmeans",
) -> npt.NDArray[np.int64]:
    """Rows to start Lloyd's iterations from: greedy k-means++.

    Parameters
    ----------
    matrix : Matrix
    uniforms : ndarray of shape (k, n_trials), float64
        Random numbers in [0, 1), one for each candidate; of the candidates of a seed, each drawn by its share of the
        cost, the one that lowers the cost most is kept.
    weights : ndarray of shape (n_rows,), int64, optional
        Positive.
    objective : {"kmeans", "kmedians"}, default "kmeans"
        A cost is a squared Euclidean or an l1 distance.

    Returns
    -------
    rows : ndarray of shape (k,), int64
        Distinct points as long as there are any.

    References
    ----------
    Arthur, Vassilvitskii (2007), *k-means++: the advantages of careful seeding*.
    """
    return _core.plusplus(matrix, weights, uniforms, objective)
