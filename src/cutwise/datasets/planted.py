"""What every generator gives: a data set, and the clustering that it is built around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from cutwise.tree.threshold_tree import ThresholdTree

__all__ = ["OBJECTIVES", "KernelSet", "Objective", "PlantedSet", "TreeSet", "plant"]

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Objective = Literal["kmeans", "kmedians"]
OBJECTIVES = get_args(Objective)


@dataclass(frozen=True, eq=False)
class PlantedSet:
    """A data set and the clustering planted in it.

    Attributes
    ----------
    X : ndarray of shape (n, d), float64
        The rows.
    labels : ndarray of shape (n,), int32
        The planted cluster of every row, 0 .. k-1.
    centers : ndarray of shape (k, d), float64
        The planted clusters' means, or medians where the objective is k-medians: the reference to grow trees against.
    cost : float
        What the planted clustering costs, each cluster with its own center.
    objective : {"kmeans", "kmedians", "kernel"}
        Squared distances to means, l1 distances to medians, or squared distances in the feature space of a kernel.
    lower_bound : float
        What is proved: every tree that the source speaks of costs at least this many times ``cost`` (or costs
        anything at all, where this is infinite). 1 where the source proves no such bound.
    source : str
        The paper and the place in it.
    """

    X: Float64
    labels: Int32
    centers: Float64
    cost: float
    objective: str
    lower_bound: float
    source: str

    @property
    def n_clusters(self) -> int:
        """The number of planted clusters, k."""
        return len(self.centers)

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"{type(self).__name__}({n} x {d}, {self.n_clusters} clusters, {self.objective}; {self.source})"


@dataclass(frozen=True, eq=False, repr=False)
class KernelSet(PlantedSet):
    """A planted set whose clusters live in the feature space of a kernel.

    Attributes
    ----------
    kernel : ndarray of shape (n, n), float64
        Inner products of the rows in feature space. ``centers`` are the clusters' means in the input space: they say
        little here, and nothing is served by them.
    """

    kernel: Float64


@dataclass(frozen=True, eq=False, repr=False)
class TreeSet(PlantedSet):
    """A planted set together with trees that recover it.

    Attributes
    ----------
    trees : tuple of ThresholdTree
        Each induces the planted clustering.
    """

    trees: tuple[ThresholdTree, ...]


def plant(
    X: Float64,
    labels: npt.NDArray[np.signedinteger],
    *,
    objective: Objective = "kmeans",
    lower_bound: float = 1.0,
    source: str,
) -> PlantedSet:
    """A planted set from its rows and labels: centers and cost follow.

    ``X`` (n, d) float64. ``labels`` (n,). ``lower_bound``, ``source``: as in ``PlantedSet``.
    """
    of, norm = (np.mean, np.square) if objective == "kmeans" else (np.median, np.abs)
    members = [X[labels == cluster] for cluster in range(int(labels.max()) + 1)]
    centers = np.array([of(rows, axis=0) for rows in members])
    cost = sum(float(norm(rows - center).sum()) for rows, center in zip(members, centers, strict=True))
    return PlantedSet(X, labels.astype(np.int32), centers, cost, objective, lower_bound, source)
