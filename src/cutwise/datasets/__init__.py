"""Data sets to try trees on: the papers' synthetic sets and hard cases, with planted clusters, and their real ones."""

from cutwise.datasets.papers import (
    KernelSet,
    PlantedSet,
    TreeSet,
    make_exkmc_line,
    make_far_outliers,
    make_four_trees,
    make_histogram_mixture,
    make_hypercube,
    make_negated_clusters,
    make_neighborhood_clusters,
    make_quadratic_cross,
    make_standard_basis,
    make_synthetic_i,
    make_synthetic_ii,
)
from cutwise.datasets.real import CATALOG, LoadedSet, RealSet, load_real

__all__ = [
    "CATALOG", "KernelSet", "LoadedSet", "PlantedSet", "RealSet", "TreeSet", "load_real", "make_exkmc_line",
    "make_far_outliers", "make_four_trees", "make_histogram_mixture", "make_hypercube", "make_negated_clusters",
    "make_neighborhood_clusters", "make_quadratic_cross", "make_standard_basis", "make_synthetic_i",
    "make_synthetic_ii",
]  # fmt: skip
