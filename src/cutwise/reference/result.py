"""What every way of making a reference clustering ends in."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["FEATURE_SPACE", "Reference", "RowCosts"]

FEATURE_SPACE = "kernel"
"""What stands in place of an objective where centers are means in the feature space of a kernel."""


@dataclass(eq=False)
class RowCosts:
    """What rows cost by the centers of a reference, measured when their nearest were found.

    ``own`` (n_rows,) float64: by the nearest center, whose number is the row's label. ``largest_excess``: the largest,
    over all rows, of the largest less the smallest cost of a row. ``every`` (n_rows, k) float64: by every center, where
    that takes little memory beside the rows.
    """

    own: npt.NDArray[np.float64]
    largest_excess: float
    every: npt.NDArray[np.float64] | None

    def take_every(self) -> npt.NDArray[np.float64] | None:
        """Costs by every center, for one reader: the largest array of a fit is not kept longer than it is needed."""
        every, self.every = self.every, None
        return every


@dataclass(frozen=True, eq=False)
class Reference:
    """The clustering that a tree is grown against.

    ``labels`` (n_rows,) int32: cluster of every row, 0 to k - 1; -1 marks noise. ``centers`` (k, p) float64: in the
    metric space, that is, the preprocessor's output where there is one. Of shape (k, 0) for a kernel, in whose feature
    space they have no coordinates. ``cost``: weighted sum of the rows' costs by the center of their label: squared
    Euclidean distances for ``"kmeans"``, l1 distances for ``"kmedians"``, squared distances in feature space for
    ``"kernel"``. Independent of the order of the rows. ``objective``: ``"kmeans"``, ``"kmedians"`` or ``"kernel"``.
    ``row_costs``: where every row is labeled with its nearest center, and its costs are at hand. ``runs``
    (n_runs, k, p) float64, or None: where cutwise searched for the clustering, ``centers`` first, then those where the
    other restarts ended, on a sample of a large table, cheapest first.
    """

    labels: npt.NDArray[np.int32]
    centers: npt.NDArray[np.float64]
    cost: float
    objective: str = "kmeans"
    row_costs: RowCosts | None = field(default=None, repr=False)
    runs: npt.NDArray[np.float64] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return (
            f"Reference(clusters={self.n_clusters}, rows={len(self.labels)}, objective={self.objective!r}, "
            f"cost={self.cost:.6g})"
        )

    @property
    def n_clusters(self) -> int:
        """Number of centers."""
        return len(self.centers)
