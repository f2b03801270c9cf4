"""Inner products in feature space: the kernel matrix itself, or Nystrom features whose products come close to it.

Kernel k-means asks the same few questions of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core import Float64
from cutwise.exceptions import InvalidInputError

from .kernels import Kernel
from .resources import check_fits, each_block, one_thread, row_blocks

Int = npt.NDArray[np.intp]

_ASYMMETRY = {8: 1e-8, 4: 1e-5, 2: 1e-2}
"""By the bytes of a float: difference of two mirrored entries, relative to the largest, that rounding does not make."""


class Gram(Protocol):
    """Inner products of n points of a feature space."""

    @property
    def diagonal(self) -> Float64:
        """Of every point with itself: ndarray of shape (n,)."""

    def times(self, weights: Float64) -> Float64:
        """Products of every point with k weighted sums of points: (n, n) times (n, k)."""

    def times_rows(self, rows: Int, weights: Float64) -> Float64:
        """``times`` with the weights of some points only, which are 0 for all others."""

    def columns(self, points: Int) -> Float64:
        """Products of every point with some of them: ndarray of shape (n, len(points))."""


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

    def times_rows(self, rows: Int, weights: Float64) -> Float64:
        """``times`` with the weights of some points only."""
        out = np.zeros((len(self.matrix), weights.shape[1]))
        for part in row_blocks(len(rows), len(self.matrix)):  # copies of rows, which must stay small beside the matrix
            out += self.matrix[rows[part]].T @ weights[part]
        return out

    def columns(self, points: Int) -> Float64:
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

    def times_rows(self, rows: Int, weights: Float64) -> Float64:
        """``times`` with the weights of some points only."""
        return np.asarray(self.features @ (self.features[rows].T @ weights))

    def columns(self, points: Int) -> Float64:
        """Products of every point with some of them."""
        return np.asarray(self.features @ self.features[points].T)


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
    kept = values > _SMALLEST * max(float(values[-1]), 0.0)
    if not kept.any():  # all landmarks are the origin of feature space
        return NystroemMap(landmarks, rows[landmarks], np.zeros((len(landmarks), 1)))
    projection = vectors[:, kept] / np.sqrt(values[kept])
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
