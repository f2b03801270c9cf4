"""The rows of a fit in a kernel's feature space: inner products, centers, and what partitions of the rows cost.

Inner products are those of the kernel matrix itself, or of Nystrom features whose products come close to it; kernel
k-means asks the same few questions of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import Float64, Int32
from cutwise.exceptions import InvalidInputError, NotPositiveDefiniteWarning, warn
from cutwise.table.convert import as_dense
from cutwise.table.table import Table

from .kernels import PRECOMPUTED, Kernel, read_kernel
from .objective import weight_by
from .resources import check_fits, each_block, one_thread, row_blocks

Intp = npt.NDArray[np.intp]

_ASYMMETRY = {8: 1e-8, 4: 1e-5, 2: 1e-2}
"""By the bytes of a float: difference of two mirrored entries, relative to the largest, that rounding does not make."""


@dataclass(frozen=True, eq=False)
class MatrixGram:
    """A kernel matrix.

    ``matrix`` (n, n) float64: symmetric. ``diagonal`` (n,) float64.
    """

    matrix: Float64
    diagonal: Float64

    def times(self, weights: Float64) -> Float64:
        """Products of every point with k weighted sums of points."""
        return np.asarray(self.matrix @ weights)

    def times_rows(self, rows: Intp, weights: Float64) -> Float64:
        """``times`` with the weights of some points only."""
        out = np.zeros((len(self.matrix), weights.shape[1]))
        for part in row_blocks(len(rows), len(self.matrix)):  # copies of rows, which must stay small beside the matrix
            out += self.matrix[rows[part]].T @ weights[part]
        return out

    def columns(self, points: Intp) -> Float64:
        """Products of every point with some of them."""
        return self.matrix[points].T


@dataclass(frozen=True, eq=False)
class FeatureGram:
    """Points with coordinates.

    ``features`` (n, m) float64. ``diagonal`` (n,) float64.
    """

    features: Float64
    diagonal: Float64

    def times(self, weights: Float64) -> Float64:
        """Products of every point with k weighted sums of points."""
        return np.asarray(self.features @ (self.features.T @ weights))

    def times_rows(self, rows: Intp, weights: Float64) -> Float64:
        """``times`` with the weights of some points only."""
        return np.asarray(self.features @ (self.features[rows].T @ weights))

    def columns(self, points: Intp) -> Float64:
        """Products of every point with some of them."""
        return np.asarray(self.features @ self.features[points].T)


Gram = MatrixGram | FeatureGram
"""Inner products of n points of a feature space; ``diagonal`` (n,): of every point with itself."""


def matrix_gram(kernel: Kernel, rows: Any, n_jobs: int = 1) -> MatrixGram:
    """The kernel matrix of prepared rows.

    ``kernel``: not precomputed. ``rows`` (n, d) float64. Raises ``InvalidInputError``: it would not fit in memory; or a
    callable gives an asymmetric matrix.
    """
    n = rows.shape[0]
    check_fits(
        8 * n * n,
        f"The kernel matrix of {n:,} rows ({n:,} x {n:,} numbers)",
        'Use approximation="nystroem", which needs n_components numbers a row, or fewer rows.',
    )
    matrix = kernel.between(rows, rows, n_jobs)
    diagonal = kernel.diagonal(rows)
    if kernel.function is not None:
        check_symmetric(matrix, "The kernel function's matrix")
    # Blocks are computed apart from each other, and rounding must not put a row at a distance from itself.
    np.fill_diagonal(matrix, diagonal)
    return MatrixGram(matrix, diagonal)


def check_precomputed(values: Any, *, what: str = "X") -> Float64:
    """A kernel matrix that the caller computed, as float64.

    ``values``: finite numbers. ``what``: what messages call it. Returns ``matrix`` (n, n) float64: the caller's own
    memory where its dtype and layout allow. Raises ``InvalidInputError``: not square, not symmetric (names the pair
    that differs most), or a sparse one that would not fit in memory.
    """
    n, m = values.shape
    if n != m:
        raise InvalidInputError(
            f"{what} must be the kernel matrix of the rows with themselves, which is square, but its shape is "
            f"({n}, {m}). Give one row and one column for each of the rows."
        )
    if sparse.issparse(values):
        check_fits(8 * n * n, f"{what} as a dense matrix", "Use a kernel by name with the rows themselves.")
        values = values.toarray()
    matrix = np.ascontiguousarray(values, dtype=np.float64)
    check_symmetric(matrix, what, values.dtype)
    return matrix


def check_symmetric(matrix: Float64, what: str, dtype: Any = np.float64) -> None:
    """Refuses a matrix with two mirrored entries that differ by more than the rounding of the dtype it came in."""
    n = len(matrix)
    largest = max((float(np.abs(matrix[part]).max(initial=0.0)) for part in row_blocks(n, n)), default=0.0)
    worst, at = 0.0, (0, 0)
    for part in row_blocks(n, n):
        difference = np.abs(matrix[part] - matrix[:, part].T)
        place = int(difference.argmax())
        if difference.flat[place] > worst:
            worst, at = float(difference.flat[place]), (part.start + place // n, place % n)
    rounding = _ASYMMETRY[min(8, np.dtype(dtype).itemsize)] if np.dtype(dtype).kind == "f" else 0.0
    if worst > rounding * largest:
        i, j = at
        raise InvalidInputError(
            f"{what} must be symmetric, but entry [{i}, {j}] is {matrix[i, j]:g} and entry [{j}, {i}] is "
            f"{matrix[j, i]:g}. A kernel of two rows does not depend on their order: compute it between the rows and "
            "themselves, or take the mean of the matrix and its transpose."
        )


_SMALLEST = 1e-12
"""Eigenvalues below this share of the largest are rounding, and their directions noise."""


@dataclass(frozen=True, eq=False)
class NystroemMap:
    """From kernel values with the landmarks to features.

    ``landmarks`` (n_landmarks,): their numbers among the rows; empty where they were rows of another table. ``rows``
    (n_landmarks, d) float64: the landmarks, prepared; for a precomputed kernel the landmarks' own entries.
    ``projection`` (n_landmarks, m) float64: ``features = kernel.between(X, rows) @ projection``; m is at most the
    number of landmarks.
    """

    landmarks: npt.NDArray[np.intp]
    rows: Any
    projection: Float64


def nystroem_map(
    kernel: Kernel, rows: Any, n_components: int, rng: np.random.Generator, matrix: Float64 | None = None
) -> NystroemMap:
    """Draw landmarks and find the features they give.

    ``rows`` (n, d) float64: prepared. ``n_components``: number of landmarks; all rows where there are no more.
    ``matrix`` (n, n) float64: the kernel matrix where it is given.

    Williams, Seeger (2001), *Using the Nystrom method to speed up kernel machines*.
    """
    n = rows.shape[0]
    landmarks = np.sort(rng.choice(n, min(n, n_components), replace=False, shuffle=False))
    among = kernel.between(rows[landmarks], rows[landmarks]) if matrix is None else matrix[np.ix_(landmarks, landmarks)]
    with one_thread():
        values, vectors = np.linalg.eigh((among + among.T) / 2)
    positive = values > _SMALLEST * max(float(values[-1]), 0.0)
    projection = vectors[:, positive] / np.sqrt(values[positive])
    return NystroemMap(landmarks, rows[landmarks], np.ascontiguousarray(projection))


def nystroem_gram(
    kernel: Kernel, rows: Any, mapping: NystroemMap, matrix: Float64 | None = None, n_jobs: int = 1
) -> tuple[FeatureGram, Float64]:
    """Features of all rows.

    ``kernel``, ``rows``, ``matrix``: as in ``nystroem_map``. Returns ``residual`` (n,) float64: what the features lack
    of each row's kernel with itself, the square of the distance between the row and its features: 0 where they are
    exact, and never below.
    """
    n, m = rows.shape[0], mapping.projection.shape[1]
    check_fits(8 * n * max(1, m), f"{m} features of {n:,} rows", "Use fewer n_components, or fewer rows.")
    features = np.empty((n, m))

    def fill(part: slice) -> None:
        values = kernel.between(rows[part], mapping.rows) if matrix is None else matrix[part][:, mapping.landmarks]
        features[part] = values @ mapping.projection

    each_block(fill, n, len(mapping.projection), n_jobs)
    diagonal = np.einsum("ij,ij->i", features, features)
    exact = kernel.diagonal(rows) if matrix is None else np.diagonal(matrix)
    return FeatureGram(features, diagonal), np.maximum(exact - diagonal, 0.0)


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
        """Number of centers, k."""
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


SUBSPACE_ITERATIONS, SPARE_DIRECTIONS = 8, 8

WEIGHT_RANGE = 1e100
"""Weights are from one over this to this, so that products of two of them, summed over any table, stay in float64."""


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The m rows that take part in a fit, as points of a feature space.

    ``rows`` (m, d) float64: prepared; None for a precomputed kernel. ``gram``: inner products of the m points.
    ``weights`` (m,) float64: positive. ``row_of`` (m,): the caller's row that each of them is, or the first of those it
    stands for. ``position`` (n,): which of the m rows each of the caller's n rows is; -1 where it takes no part.
    ``approximation_error``: 0 for the kernel itself. For Nystrom features the share of the rows' variance about the
    origin of feature space that they lack: the trace norm of the difference of the two kernel matrices over that of the
    exact one.
    """

    kernel: Kernel
    rows: Any
    gram: Gram
    weights: Float64
    row_of: Intp
    position: Intp
    mapping: NystroemMap | None
    approximation_error: float

    @property
    def n_rows(self) -> int:
        """m, the number of rows that take part."""
        return len(self.weights)

    @property
    def scale(self) -> float:
        """The largest kernel of a row with itself: what rounding is measured by."""
        return float(np.abs(self.gram.diagonal).max(initial=0.0))

    @property
    def mean_similarity(self) -> tuple[float, float]:
        """The least and the largest mean kernel of a row with the others, over its kernel with itself; by weight.

        Where both are 1 all rows are equal; where both are 0 all rows are equally far from each other.
        There are two rows or more.
        """
        total, own = self.weights.sum(), self.gram.diagonal * self.weights
        with one_thread():
            others = self.gram.times(self.weights[:, None]).ravel() - own
        # An approximation may have a row that is like no row at all, not even itself.
        means = np.zeros_like(others)
        np.divide(others, (total - self.weights) * self.gram.diagonal, out=means, where=self.gram.diagonal > 0)
        return float(means.min()), float(means.max())

    def indicator(self, labels: Int32, n_clusters: int) -> Float64:
        """Weights of the rows in their clusters' columns, 0 elsewhere: ndarray of shape (m, k)."""
        out = np.zeros((self.n_rows, n_clusters))
        out[np.arange(self.n_rows), labels] = self.weights
        return out

    def partition_cost(self, labels: Int32, n_clusters: int) -> float:
        """Weighted sum of squared distances to the means of the rows' own clusters, which may be empty."""
        indicator = self.indicator(labels, n_clusters)
        with one_thread():
            within = (indicator * self.gram.times(indicator)).sum(axis=0)
        totals = indicator.sum(axis=0)
        own = float((within[totals > 0] / totals[totals > 0]).sum())
        return self.cost_or_zero(self._total - own)

    def cost_or_zero(self, cost: float) -> float:
        """What all rows cost together, 0 where that is only rounding."""
        return cost_or_zero(cost, self._total)

    def costs(self, labels: Int32, n_clusters: int) -> Float64:
        """Squared distances of the m rows to the means of k clusters, none of them empty; equation (5)."""
        indicator = self.indicator(labels, n_clusters)
        with one_thread():
            products = self.gram.times(indicator)
        totals = indicator.sum(axis=0)
        norms = (indicator * products).sum(axis=0) / totals**2
        return np.asarray(self.gram.diagonal[:, None] + norms - 2 * products / totals)

    def centers(self, labels: Int32, n_clusters: int, instead: Int32 | None = None) -> KernelCenters:
        """The means of k clusters as combinations of rows.

        ``labels`` (m,) int32. ``instead`` (m,) int32: labels that give a mean to a cluster that has no rows otherwise.
        """
        indicator = self.indicator(labels, n_clusters)
        if instead is not None:
            empty = indicator.sum(axis=0) == 0
            indicator[:, empty] = self.indicator(instead, n_clusters)[:, empty]
        means = indicator / indicator.sum(axis=0)
        with one_thread():
            norms = (means * self.gram.times(means)).sum(axis=0)
            if self.mapping is None:
                return KernelCenters(self.kernel, self.rows, self.row_of, means, norms, None, self.scale)
            assert isinstance(self.gram, FeatureGram)
            coefficients = self.mapping.projection @ (self.gram.features.T @ means)
        return KernelCenters(
            self.kernel,
            None if self.rows is None else self.mapping.rows,
            self.row_of[self.mapping.landmarks] if self.rows is None else np.empty(0, dtype=np.intp),
            coefficients,
            norms,
            self.mapping.projection,
            self.scale,
        )

    def main_coordinates(self, n_wanted: int) -> Float64:
        """Coordinates of the m rows whose inner products come close to the kernel, (m, n_wanted or fewer).

        Along the directions in which they reach farthest, by iterations on a subspace that is a little larger.
        """
        basis = np.random.default_rng(0).standard_normal((self.n_rows, min(self.n_rows, n_wanted + SPARE_DIRECTIONS)))
        with one_thread():
            for _ in range(SUBSPACE_ITERATIONS):
                basis, _ = np.linalg.qr(self.gram.times(basis))
            within = basis.T @ self.gram.times(basis)
            values, vectors = np.linalg.eigh((within + within.T) / 2)
            largest = slice(None, -n_wanted - 1, -1)
            return np.asarray(basis @ (vectors[:, largest] * np.sqrt(np.maximum(values[largest], 0.0))))

    @cached_property
    def _total(self) -> float:
        """What the rows cost without centers: the weighted sum of their kernels with themselves."""
        return float(self.weights @ self.gram.diagonal)


def feature_space(
    table: Table,
    sample_weight: Float64 | None,
    kernel: Any,
    parameters: dict[str, Any],
    *,
    matrix: Any = None,
    keep: npt.NDArray[np.bool_] | None = None,
    merge_by: Any = None,
    n_components: int | None = None,
    mapping: NystroemMap | None = None,
    rng: np.random.Generator | None = None,
    n_jobs: int = 1,
) -> FeatureSpace:
    """Put the rows of a fit into a kernel's feature space.

    ``table``: the n rows. ``sample_weight`` (n,) float64: rows of weight 0 take no part. ``kernel``: see
    ``read_kernel``; a ``Kernel`` is settled already. ``parameters``: gamma, degree, coef0 and beta. ``matrix`` (n, n):
    the kernel matrix, for ``"precomputed"``; ``table`` itself by default. ``keep`` (n,) bool: false for rows that take
    no part. ``merge_by`` (n, any): rows equal in these values are equal in the table: merge them, and put them into an
    order that depends on these values alone. Then nothing that follows depends on the order of the caller's rows, and a
    weight is a repeated row. Not done for a precomputed kernel, whose rows have no values. ``n_components``: Nystrom
    features from so many landmarks; None for the kernel itself. ``mapping``: the features to use, of a kernel that is
    settled; drawn anew by default. ``rng``: draws the landmarks. Raises ``InvalidInputError``: parameters or rows that
    the kernel cannot use, or a matrix that would not fit in memory.
    """
    part = np.ones(table.n_rows, dtype=bool) if keep is None else keep
    if sample_weight is not None:
        part = part & (sample_weight > 0)
    row_of = np.flatnonzero(part)
    is_all = len(row_of) == table.n_rows
    weights = np.ones(len(row_of)) if sample_weight is None else sample_weight[row_of]
    _check_range(weights)
    position = np.full(table.n_rows, -1, dtype=np.intp)
    position[row_of] = np.arange(len(row_of))
    # Checked on the caller's rows, so that messages can number them.
    settled = kernel if isinstance(kernel, Kernel) else read_kernel(kernel, table, sample_weight, **parameters)
    given: Float64 | None = None
    if settled.name == PRECOMPUTED:
        given = check_precomputed(table.values if matrix is None else matrix, what="X" if matrix is None else "K")
        given = given if is_all else given[np.ix_(row_of, row_of)]
        rows = None
    else:
        values = table.values
        if merge_by is not None:
            first, group = _distinct(merge_by if is_all else merge_by[row_of])
            position[row_of] = group
            weights = weight_by(group, weights, len(first))
            row_of = row_of[first]
        if merge_by is not None or not is_all:
            values = values[row_of]
        if merge_by is not None and settled is not kernel:
            # Again on the merged rows: default parameters must not depend on the order of the rows in their last bits.
            settled = read_kernel(kernel, replace(table, values=values), weights, **parameters)
        rows = settled.prepare(values)
    if n_components is None:
        own = matrix_gram(settled, rows, n_jobs) if given is None else MatrixGram(given, np.diagonal(given).copy())
        return FeatureSpace(settled, rows, own, weights, row_of, position, None, 0.0)
    stand_in = given if given is not None else rows
    if mapping is None:
        mapping = nystroem_map(settled, stand_in, n_components, rng or np.random.default_rng(0), given)
    gram, residual = nystroem_gram(settled, stand_in, mapping, given, n_jobs)
    total = float(weights @ (gram.diagonal + residual))
    error = float(weights @ residual) / total if total > 0 else 0.0
    return FeatureSpace(settled, rows, gram, weights, row_of, position, mapping, error)


def _check_range(weights: Float64) -> None:
    """Refuses weights whose products with each other could leave float64."""
    for weight in (weights.max(initial=1.0), weights.min(initial=1.0)):
        if not 1 / WEIGHT_RANGE <= weight <= WEIGHT_RANGE:
            raise InvalidInputError(
                f"sample_weight holds {weight:.6g}, and a kernel's clusters need positive weights from "
                f"{1 / WEIGHT_RANGE:g} to {WEIGHT_RANGE:g}, because products of two must stay in float64. "
                "Multiply all weights by a constant: clusters depend on their proportions alone."
            )


def _distinct(values: Any) -> tuple[Intp, Intp]:
    """Distinct rows in an order that depends on their values alone.

    Returns ``first`` (m,): the first row of each. ``group`` (n,): which of them each row is.
    """
    factors = np.random.default_rng(0).normal(size=values.shape[1])
    # Rows are sorted by one number each, added up column by column: a row's has the same bits wherever the row stands.
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(values, sparse.csr_array):
            rows = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
            keys = np.bincount(rows, values.data * factors[values.indices], minlength=values.shape[0])
        else:
            keys = np.zeros(values.shape[0])
            for j, factor in enumerate(factors):
                keys += values[:, j] * factor
    order = np.argsort(keys, kind="stable")
    ordered = values[order]
    if isinstance(values, sparse.csr_array):
        same = np.diff((ordered[1:] != ordered[:-1]).tocsr().indptr) == 0
    else:
        same = (ordered[1:] == ordered[:-1]).all(axis=1)
    number = np.concatenate([[0], np.cumsum(~same)]).astype(np.intp)
    group = np.empty(len(order), dtype=np.intp)
    group[order] = number
    # Of equal keys the stable sort puts the earlier row first.
    return order[np.concatenate([[True], ~same])], group
