"""What a clustering minimizes: how a row costs by a center, and which center serves the rows of a cluster best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Matrix, ObjectiveName

__all__ = ["KMEANS", "KMEDIANS", "OBJECTIVES", "Objective"]

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
SumWeights = npt.NDArray[np.int64] | npt.NDArray[np.float64] | None


@dataclass(frozen=True)
class Objective:
    """A cost of rows by centers, and the centers that follow from it.

    ``name``: its name in the core, in metrics and in model files. ``words``: what clusterings by it are called:
    ``"k-means"`` or ``"k-medians"``. ``center_word``: what the best center of a cluster is called: ``"mean"`` or
    ``"median"``. ``cost_words``: what costs are, in the plural: ``"squared distances"`` or ``"l1 distances"``.
    ``distances``: turns an array of costs into the distances that ``transform`` gives, in place where it can.
    """

    name: ObjectiveName
    words: str
    center_word: str
    cost_words: str
    distances: Callable[[Float64], Float64]

    def assign(
        self, matrix: Matrix, centers: Float64, n_jobs: int = 1, *, keep: bool = False
    ) -> tuple[Int32, Float64, float, Float64 | None]:
        """The nearest center of every row, its cost, the largest excess, and all costs: see ``core.assign``."""
        return core.assign(matrix, centers, self.name, n_jobs, keep=keep)

    def centers(
        self,
        matrix: Matrix,
        labels: Int32,
        n_clusters: int,
        weights: SumWeights,
        n_jobs: int,
        column_sizes: Float64 | None = None,
    ) -> tuple[Float64, Float64]:
        """Each cluster's best center, shape (n_clusters, n_columns), nan without weight, and each cluster's weight.

        Rows with a negative label are left out. ``column_sizes``, the largest absolute value of every column, spares
        the means a reading of the rows. The result does not depend on the order of the rows.
        """
        if self.name == "kmedians":
            return core.cluster_medians(matrix, labels, n_clusters, weights, n_jobs)
        return core.cluster_means(matrix, labels, n_clusters, weights, n_jobs, column_sizes)

    def costs(self, matrix: Matrix, centers: Float64, n_jobs: int = 1) -> Float64:
        """Cost of every row by every center, shape (n_rows, n_centers)."""
        return core.center_costs(matrix, centers, self.name, n_jobs)

    def label_costs(self, matrix: Matrix, centers: Float64, labels: Int32, n_jobs: int = 1) -> Float64:
        """Cost of every row by the center it is labeled with, shape (n_rows,); 0 where the label is negative."""
        return core.label_costs(matrix, centers, labels, self.name, n_jobs)


def _roots(costs: Float64) -> Float64:
    return np.sqrt(costs, out=costs)


def _as_they_are(costs: Float64) -> Float64:
    return costs


KMEANS = Objective("kmeans", "k-means", "mean", "squared distances", _roots)
"""Squared Euclidean distance to the weighted mean."""

KMEDIANS = Objective("kmedians", "k-medians", "median", "l1 distances", _as_they_are)
"""l1 distance to the coordinate-wise weighted median."""

OBJECTIVES: dict[str, Objective] = {objective.name: objective for objective in (KMEANS, KMEDIANS)}
"""Every objective by its name."""
