"""Data sets to try trees on: the synthetic sets and hard cases of the papers, each with the clusters planted in it."""

from cutwise.datasets.exkmc_paper import make_synthetic_i, make_synthetic_ii
from cutwise.datasets.exshallow_paper import make_four_trees
from cutwise.datasets.imm_paper import make_far_outliers, make_hypercube, make_negated_clusters, make_standard_basis
from cutwise.datasets.kernel_paper import make_exkmc_line, make_neighborhood_clusters, make_quadratic_cross
from cutwise.datasets.planted import KernelSet, PlantedSet, TreeSet

__all__ = [
    "KernelSet",
    "PlantedSet",
    "TreeSet",
    "make_exkmc_line",
    "make_far_outliers",
    "make_four_trees",
    "make_hypercube",
    "make_negated_clusters",
    "make_neighborhood_clusters",
    "make_quadratic_cross",
    "make_standard_basis",
    "make_synthetic_i",
    "make_synthetic_ii",
]
