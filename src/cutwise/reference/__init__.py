"""Reference clusterings, and their costs in fixed point: what trees are grown against."""

from .feature_space import FeatureSpace, feature_space
from .fitted import copying_clone, fitted_labels, from_estimator, unshared
from .kernel_centers import KernelCenters, cost_or_zero, warn_if_negative
from .kernel_input import check_domain, needs_nonnegative
from .kernel_kmeans import INITS, Partition, kernel_kmeans
from .kernels import KERNELS, PRECOMPUTED, Kernel
from .nystroem import NystroemMap
from .objective import (
    FEATURE_SPACE,
    KMEANS,
    KMEDIANS,
    OBJECTIVES,
    FixedCosts,
    LazyCosts,
    Objective,
    Reference,
    disagreement_costs,
    fixed_costs,
    fixed_costs_from_array,
    from_centers,
    from_labels,
    integer_weights,
    sum_costs,
    sum_weights,
    wrong_number,
)
from .search import Found, find_clustering, find_reference
from .threads import one_thread

__all__ = [
    "FEATURE_SPACE",
    "INITS",
    "KERNELS",
    "KMEANS",
    "KMEDIANS",
    "OBJECTIVES",
    "PRECOMPUTED",
    "FeatureSpace",
    "FixedCosts",
    "Found",
    "Kernel",
    "KernelCenters",
    "LazyCosts",
    "NystroemMap",
    "Objective",
    "Partition",
    "Reference",
    "check_domain",
    "copying_clone",
    "cost_or_zero",
    "disagreement_costs",
    "feature_space",
    "find_clustering",
    "find_reference",
    "fitted_labels",
    "fixed_costs",
    "fixed_costs_from_array",
    "from_centers",
    "from_estimator",
    "from_labels",
    "integer_weights",
    "kernel_kmeans",
    "needs_nonnegative",
    "one_thread",
    "sum_costs",
    "sum_weights",
    "unshared",
    "warn_if_negative",
    "wrong_number",
]
