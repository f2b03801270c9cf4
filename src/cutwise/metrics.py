"""Costs, agreement and explanation size of a tree: plain functions of a tree, or a fitted estimator, and data.

Lower is better throughout. ``tree_cost`` over ``partition_cost`` of the reference labels is the price of explaining.
"""

from cutwise.readouts.guarantee import ImmCertificate, imm_certificate, imm_guarantee
from cutwise.readouts.metrics import (
    n_mistakes,
    partition_cost,
    surrogate_cost,
    tree_cost,
    weighted_average_depth,
    weighted_average_explanation_size,
)

__all__ = [
    "ImmCertificate",
    "imm_certificate",
    "imm_guarantee",
    "n_mistakes",
    "partition_cost",
    "surrogate_cost",
    "tree_cost",
    "weighted_average_depth",
    "weighted_average_explanation_size",
]
