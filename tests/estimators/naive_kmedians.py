"""k-medians by its definition, without any care for speed."""

import itertools

import numpy as np


def medians(X, labels, k, otherwise):
    """The lower median of every column in every cluster."""
    own = [np.sort(X[labels == j], axis=0) for j in range(k)]
    return np.array([rows[(len(rows) - 1) // 2] if len(rows) else otherwise[j] for j, rows in enumerate(own)])


def distances(X, centers):
    return np.abs(X[:, None] - centers[None]).sum(axis=2)


def plain_run(X, k, rng):
    """One start from random rows, until no row changes its center; its cost."""
    centers, labels = X[rng.choice(len(X), k, replace=False)].astype(float), None
    for _ in range(300):
        before, labels = labels, distances(X, centers).argmin(axis=1)
        if before is not None and (labels == before).all():
            break
        centers = medians(X, labels, k, centers)
    return distances(X, centers).min(axis=1).sum()


def best_of(X, k, seed, n_init=10):
    """The least cost of several plain starts."""
    rng = np.random.default_rng(seed)
    return min(plain_run(X, k, rng) for _ in range(n_init))


def optimum(X, k):
    """The least cost of all partitions of a few rows."""
    best = np.inf
    for rest in itertools.product(range(k), repeat=len(X) - 1):
        labels = np.array((0, *rest))
        centers = medians(X, labels, k, np.full((k, X.shape[1]), np.inf))
        best = min(best, np.abs(X - centers[labels]).sum())
    return best
