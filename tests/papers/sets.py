"""The papers' synthetic data sets, built by their definitions."""

from __future__ import annotations

import numpy as np


def basis_vectors(k: int) -> np.ndarray:
    """IMM paper, Section 3: k - 1 unit vectors and the origin; k leaves need depth k - 1."""
    return np.vstack([np.eye(k - 1), np.zeros((1, k - 1))])


def far_outliers(distance: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """IMM paper, Section 3: two clouds of 500, and two points far above them as one cluster."""
    rng = np.random.default_rng(seed)
    clouds = [np.column_stack([rng.normal(x, 0.1, 500), rng.normal(0, 0.1, 500)]) for x in (-2, 2)]
    return np.vstack([*clouds, [[-2, distance], [2, distance]]]), np.repeat([0, 1, 2], [500, 500, 2])


def two_negated_clusters(d: int) -> tuple[np.ndarray, np.ndarray]:
    """IMM paper, Theorem 4.4: the d vectors 1 - e_i, and their negations."""
    ones = 1 - np.eye(d)
    return np.vstack([ones, -ones]), np.repeat([0, 1], d)


def codewords(k: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ExKMC paper, Synthetic II: around each of k random sign vectors, the d vectors with one coordinate set to 0.

    Returns
    -------
    rows : ndarray of shape (k * d, d)
    words : ndarray of shape (k, d)
    labels : ndarray of shape (k * d,)
    """
    words = np.random.default_rng(seed).choice([-1.0, 1.0], (k, d))
    rows = np.repeat(words, d, axis=0)
    rows[np.arange(k * d), np.tile(np.arange(d), k)] = 0
    return rows, words, np.repeat(np.arange(k), d)
