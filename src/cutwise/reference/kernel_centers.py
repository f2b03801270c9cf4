"""Cluster centers in a kernel's feature space: combinations of rows, and the distances of any rows to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.core import Float64, Int32
from cutwise.exceptions import InvalidInputError, NotPositiveDefiniteWarning, warn
from cutwise.table.convert import as_dense

from .gram import matrix_gram
from .kernels import PRECOMPUTED, Kernel
from .resources import each_block

TIE = 1e-12
"""Differences of squared distances that are rounding, as a share of the largest kernel of a row with itself."""

_NOTHING = 2.0**-46
"""A cost that is rounding, as a share of the rows' kernels with themselves, of which it is what is left."""

_CLEARLY = 1e-6
"""The same for a squared distance below 0 that is no rounding, of a float32 matrix either."""


@dataclass(frozen=True, eq=False)
class KernelCenters:
    """Centers of k clusters: means of rows in feature space, or of their Nystrom features.

    ``rows`` (m, d) float64: prepared; what the centers are combinations of. None for a precomputed kernel. ``columns``
    (m,): which columns of a precomputed kernel these rows are; of no use for other kernels. ``coefficients`` (m, k)
    float64: center ``l`` is the sum of ``coefficients[j, l]`` times row ``j``. ``squared_norms`` (k,) float64: inner
    product of each center with itself. ``projection`` (m, p) float64: from kernel values with ``rows`` to Nystrom
    features, where these are what distances are measured in. ``scale``: the largest kernel of a training row with
    itself.
    """

    kernel: Kernel
    rows: Any
    columns: npt.NDArray[np.intp]
    coefficients: Float64
    squared_norms: Float64
    projection: Float64 | None
    scale: float

    @property
    def n_clusters(self) -> int:
        """k, the number of centers."""
        return len(self.squared_norms)

    def costs(self, values: Any, n_jobs: int = 1) -> Float64:
        """Squared distances in feature space, equation (5) of the kernel paper.

        ``values`` (n, d): rows, not prepared. Returns ``costs`` (n, k) float64: ``K(x, x) + (sum of K over pairs of the
        cluster) / W^2 - 2 (sum of K(x, y) over it) / W``, with weights. Raises ``InvalidInputError``: a precomputed
        kernel: ``K(x, x)`` of new rows is not known.
        """
        if self.kernel.name == PRECOMPUTED:
            raise InvalidInputError(
                "Distances in feature space need the kernel of every row with itself, and kernel='precomputed' does "
                "not know that of new rows. Give the kernel by name or as a function in its place; predict needs no "
                "distances, and cost_ is that of the training rows."
            )
        return self._answer(values, n_jobs, with_self=True)

    def distances(self, values: Any, n_jobs: int = 1) -> Float64:
        """Distances in feature space: the roots of ``costs``, 0 where rounding made these negative."""
        costs = self.costs(values, n_jobs)
        return np.sqrt(np.maximum(costs, 0.0, out=costs), out=costs)

    def nearest(self, values: Any, n_jobs: int = 1) -> Int32:
        """The nearest center of every row: ndarray of shape (n,), int32; the lowest number where several are."""
        return nearest_centers(self._answer(values, n_jobs, with_self=False), self.scale)

    def kernel_matrix(self, values: Any, n_jobs: int = 1) -> Float64:
        """Inner products of rows in the feature space where distances are measured; shape (n, n)."""
        if self.kernel.name == PRECOMPUTED:
            raise InvalidInputError(
                "kernel='precomputed' does not know the kernel of these rows. Give their kernel matrix as K."
            )
        rows = self.kernel.prepare(values)
        if self.projection is None:
            return matrix_gram(self.kernel, rows, n_jobs).matrix
        features = self.kernel.between(rows, self.rows, n_jobs) @ self.projection
        return np.asarray(features @ features.T)

    def _answer(self, values: Any, n_jobs: int, *, with_self: bool) -> Float64:
        rows = self.kernel.prepare(values)
        out = np.empty((rows.shape[0], self.n_clusters))

        def fill(part: slice) -> None:
            if self.rows is None:
                products = as_dense(rows[part][:, self.columns])
            else:
                products = self.kernel.between(rows[part], self.rows)
            out[part] = self.squared_norms - 2 * (products @ self.coefficients)
            if with_self and self.projection is not None:
                out[part] += ((products @ self.projection) ** 2).sum(axis=1)[:, None]
            elif with_self:
                out[part] += self.kernel.diagonal(rows[part])[:, None]

        each_block(fill, rows.shape[0], len(self.coefficients), n_jobs)
        return out


def cost_or_zero(cost: float, total: float) -> float:
    """A cost in feature space, 0 where it is only rounding: equal rows cost nothing, and nothing costs less.

    ``total``: the weighted sum of the rows' kernels with themselves.
    """
    return 0.0 if abs(cost) <= _NOTHING * abs(total) else cost


def nearest_centers(costs: Float64, scale: float) -> Int32:
    """The number of the smallest cost of every row: the lowest one among those equal up to rounding.

    ``costs`` (n, k) float64: squared distances, or those less a number per row. ``scale``: the largest kernel of a row
    with itself: what rounding is measured by. Returns ``labels`` (n,) int32.
    """
    within = costs <= (costs.min(axis=1) + TIE * scale)[:, None]
    return np.asarray(within.argmax(axis=1), dtype=np.int32)


def warn_if_negative(costs: Float64, scale: float, row_numbers: npt.NDArray[np.integer[Any]]) -> None:
    """Warn of squared distances that no positive definite kernel has.

    ``costs`` (n, k) float64. ``scale``: the largest kernel of a row with itself. ``row_numbers`` (n,): what the caller
    calls the rows. Warns ``NotPositiveDefiniteWarning``: names the row and the cluster of the lowest one.
    """
    place = int(costs.argmin())
    lowest = float(costs.flat[place])
    if lowest < -_CLEARLY * scale:
        row, cluster = divmod(place, costs.shape[1])
        warn(NotPositiveDefiniteWarning.of(row=int(row_numbers[row]), cluster=cluster, squared_distance=lowest))
