"""What every way of making a reference clustering ends in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FEATURE_SPACE", "Reference"]

FEATURE_SPACE = "kernel"
"""What stands in place of an objective where centers are means in the feature space of a kernel."""


@dataclass(frozen=True, eq=False)
class Reference:
    """The clustering that a tree is grown against.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,), int32
        Cluster of every row, 0 to k - 1; -1 marks noise.
    centers : ndarray of shape (k, p), float64
        In the metric space, that is, the preprocessor's output where there is one. Of shape (k, 0) for a kernel, in
        whose feature space they have no coordinates.
    cost : float
        Weighted sum of the rows' costs by the center of their label: squared Euclidean distances for ``"kmeans"``, l1
        distances for ``"kmedians"``, squared distances in feature space for ``"kernel"``. Independent of the order of
        the rows.
    objective : str
        ``"kmeans"``, ``"kmedians"`` or ``"kernel"``.
    """

    labels: npt.NDArray[np.int32]
    centers: npt.NDArray[np.float64]
    cost: float
    objective: str = "kmeans"

    @property
    def n_clusters(self) -> int:
        """Number of centers."""
        return len(self.centers)
