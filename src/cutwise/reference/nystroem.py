"""Nystrom features: coordinates whose inner products come close to a kernel, from its values with landmark rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.core import Float64

from .gram import FeatureGram
from .kernels import Kernel
from .memory import check_fits
from .threads import each_block, one_thread

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
