"""The values that the ExKMC paper searched for its baselines (Appendix B.3), in the form of scikit-learn's grids."""

from __future__ import annotations

__all__ = ["CLTREE_GRID", "CUBT_GRID"]

CUBT_GRID: dict[str, list[float]] = {
    "minsize": [5, 10, 15],
    "mindev": [0.001, 0.7, 0.9],
    "mindist": [0.3, 0.5],
    "alpha": [0.2, 0.4, 0.6],
}
"""Parameters of :class:`cutwise.baselines.CUBT`."""

CLTREE_GRID: dict[str, list[float]] = {
    "min_split": [10, 20, 30, 50, 100, 200, 500, 1000, 1500, 2000],
    "min_y": [0.1, 0.2, 0.3, 0.4, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5],
    "min_rd": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 50],
}
"""Parameters of :class:`cutwise.baselines.CLTree`."""
