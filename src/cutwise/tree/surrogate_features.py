"""Surrogate features of a kernel: functions of one column each, whose cuts are intervals of that column.

Kernel IMM cuts features of the kernel's feature space, but a tree can only test input columns. A surrogate feature is a
function of a single column, so a cut of it is a set of that column's values: a threshold where the feature is monotone,
an interval or its complement where it rises and falls once.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from cutwise.core import Float64
from cutwise.exceptions import InvalidInputError

MAX_ANCHORS = 256
"""Number of anchors of a column with grouped values, that is, with more than 1,000 distinct ones."""

SurrogateFeatures = Callable[[Float64, bool], Float64]
"""Features of a column, (n_features, m) float64, finite, at its values, (m,) float64, strictly increasing.

The second argument: whether these are all values of the column; otherwise they represent groups of neighboring values.
A feature that is neither monotone nor unimodal is cut only where one side is an interval of the node's values.
"""


def taylor_features(values: Float64, exact: bool, *, gamma: float, order: int = 4, shift: bool = True) -> Float64:
    """Taylor features of the one-dimensional Gaussian kernel ``exp(-gamma (x - y)^2)``.

    ``sqrt((2 gamma)^j / j!) x^j exp(-gamma x^2)`` for j from 0 to ``order``: on values of at least 0 each rises up to
    ``sqrt(j / (2 gamma))`` and falls from there on.

    ``gamma``: positive. ``order``: the highest power, at least 0: order + 1 features a column. ``shift``: subtract the
    smallest value from a column with negative values, which changes no kernel value, so that every cut is an interval.
    False does not shift, like the paper's authors; features of a column with values on both sides of 0 are then cut
    only where one side of the cut is an interval of the node's values.

    Fleissner, Vankadara, Ghoshdastidar (2024), Definition 3 and Theorem 3.
    """
    x = values - values[0] if shift and values[0] < 0 else values
    features = []
    with np.errstate(all="ignore"):
        # In logarithms, since high powers overflow where the exponential makes the feature small.
        log, square = np.log(np.abs(x)), gamma * x * x
        for j in range(order + 1):
            power = j * log if j else np.zeros(len(x))
            scale = 0.5 * (j * math.log(min(2 * gamma, sys.float_info.max)) - math.lgamma(j + 1))
            size = np.where(np.isfinite(square), np.exp(power - square + scale), 0.0)
            features.append(np.where((x < 0) & (j % 2 == 1), -size, size))
    return np.array(features)


def distance_features(values: Float64, exact: bool, *, profile: Callable[[Float64], Float64]) -> Float64:
    """Columns of the matrix of a distance-based product kernel: the feature of anchor a is ``profile(|x - a|)``.

    A cut is an interval around the anchor. Anchors are the column's values, or up to 256 of them, evenly spaced by
    rank, if the values represent groups.

    ``profile``: maps an array of distances to finite kernel values that never increase with the distance.

    Fleissner, Vankadara, Ghoshdastidar (2024), equation (4).
    """
    anchors = values
    if not exact and len(values) > MAX_ANCHORS:
        anchors = values[np.linspace(0, len(values) - 1, MAX_ANCHORS).round().astype(np.intp)]
    features = np.empty((len(anchors), len(values)))
    with np.errstate(over="ignore", under="ignore"):
        for i, anchor in enumerate(anchors):  # row by row: a matrix of distances would not stay in cache
            features[i] = profile(np.abs(values - anchor))
    return features


def linear_features(values: Float64, exact: bool) -> Float64:
    """``x`` itself: the feature map of the linear kernel. Cuts of it are those of plain IMM."""
    return values[np.newaxis]


def hellinger_features(values: Float64, exact: bool) -> Float64:
    """``sqrt(x)``: the feature map of Hellinger's kernel ``sum sqrt(x y)``.

    Fleissner, Vankadara, Ghoshdastidar (2024), Appendix H.
    """
    _refuse_negative(values, "Hellinger's kernel")
    return np.sqrt(values)[np.newaxis]


def intersection_features(values: Float64, exact: bool, *, beta: float = 1.0) -> Float64:
    """Unary code of the values: the feature map of the histogram intersection kernel ``sum min(x^beta, y^beta)``.

    With ``z_1 < z_2 < ...`` the values of ``x^beta``, feature j is ``sqrt(z_j - z_{j - 1})`` from ``z_j`` on and 0
    below; the first, ``sqrt(z_1)`` everywhere, has no cut. All cuts are thresholds.

    ``beta``: positive.

    Fleissner, Vankadara, Ghoshdastidar (2024), equation (13).
    """
    _refuse_negative(values, "the histogram intersection kernel")
    steps = np.sqrt(np.diff(values**beta, prepend=0.0))
    return np.asarray(np.triu(np.broadcast_to(steps[:, np.newaxis], (len(values), len(values)))))


def chi_squared_features(values: Float64, exact: bool, *, n_terms: int = 5) -> Float64:
    """``sqrt(2 / j) x (j / M)^x`` for j from 1 to M: approximate feature map of the additive chi-squared kernel.

    Feature j rises up to ``1 / log(M / j)`` and falls from there on; the last one rises throughout.

    ``n_terms``: M, at least 1.

    Fleissner, Vankadara, Ghoshdastidar (2024), Appendix H.
    """
    _refuse_negative(values, "the additive chi-squared kernel")
    j = np.arange(1.0, n_terms + 1)[:, np.newaxis]
    with np.errstate(under="ignore"):
        return np.asarray(np.sqrt(2 / j) * values * (j / n_terms) ** values)


def surrogate_features(
    kernel: str, *, gamma: float = 1.0, beta: float = 1.0, taylor_order: int = 4
) -> dict[str, SurrogateFeatures]:
    """All kinds of surrogate features of a kernel.

    ``gamma``: bandwidth of "rbf" and "laplacian". ``beta``: exponent of "histogram_intersection". ``taylor_order``: of
    the Taylor features of "rbf". Returns ``features``: "rbf": ``"taylor"`` and ``"kernel"``; "laplacian": ``"kernel"``;
    "linear", "hellinger", "histogram_intersection" and "additive_chi2": ``"map"``. Empty for any other kernel.
    """
    families: dict[str, dict[str, SurrogateFeatures]] = {
        "rbf": {
            "taylor": partial(taylor_features, gamma=gamma, order=taylor_order),
            "kernel": partial(distance_features, profile=lambda distance: np.exp(-gamma * (distance * distance))),
        },
        "laplacian": {"kernel": partial(distance_features, profile=lambda distance: np.exp(-gamma * distance))},
        "linear": {"map": linear_features},
        "hellinger": {"map": hellinger_features},
        "histogram_intersection": {"map": partial(intersection_features, beta=beta)},
        "additive_chi2": {"map": chi_squared_features},
    }
    return families.get(kernel, {})


def _refuse_negative(values: Float64, kernel: str) -> None:
    if values[0] < 0:
        raise InvalidInputError(
            f"X holds the negative value {float(values[0])!r}, and {kernel} is defined for values of at least 0. "
            "Use counts, shares or other non-negative columns, or another kernel such as 'rbf'."
        )
