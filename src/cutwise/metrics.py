"""Costs, agreement and explanation size of a tree: plain functions of a tree, or a fitted estimator, and data.

Lower is better, but for the agreement (adjusted Rand index and normalized mutual information). ``cost_ratio`` is the
price of explaining.
"""

from cutwise.estimators import imm_certificate, imm_guarantee
from cutwise.readouts.guarantee import ImmCertificate
from cutwise.readouts.metrics import (
    adjusted_rand_index,
    cost_ratio,
    n_mistakes,
    normalized_mutual_information,
    partition_cost,
    surrogate_cost,
    tree_cost,
    weighted_average_depth,
    weighted_average_explanation_size,
)

__all__ = [
    "ImmCertificate", "adjusted_rand_index", "cost_ratio", "imm_certificate", "imm_guarantee", "n_mistakes",
    "normalized_mutual_information", "partition_cost", "surrogate_cost", "tree_cost", "weighted_average_depth",
    "weighted_average_explanation_size",
]  # fmt: skip
