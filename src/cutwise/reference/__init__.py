"""Reference clusterings, and their costs in fixed point: what trees are grown against."""

from .fitted import from_estimator
from .fixed import FixedCosts, disagreement_costs, fixed_costs, fixed_costs_from_array
from .given import from_centers, from_labels
from .kmeans import kmeans_reference
from .objective import KMEANS, KMEDIANS, OBJECTIVES, Objective
from .result import Reference
from .weights import integer_weights, sum_weights

__all__ = [
    "KMEANS",
    "KMEDIANS",
    "OBJECTIVES",
    "FixedCosts",
    "Objective",
    "Reference",
    "disagreement_costs",
    "fixed_costs",
    "fixed_costs_from_array",
    "from_centers",
    "from_estimator",
    "from_labels",
    "integer_weights",
    "kmeans_reference",
    "sum_weights",
]
