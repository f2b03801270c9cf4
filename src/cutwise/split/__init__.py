"""Criteria: which cut of a node is best, from sums over bins."""

from .expansion import DisagreementCriterion, ExpansionCriterion, LeafCut, LeafSums, SurrogateCriterion
from .separation import InducedCriterion, MistakeCriterion, SeparatingCut, SeparationCriterion, SeparationNode

__all__ = [
    "DisagreementCriterion",
    "ExpansionCriterion",
    "InducedCriterion",
    "LeafCut",
    "LeafSums",
    "MistakeCriterion",
    "SeparatingCut",
    "SeparationCriterion",
    "SeparationNode",
    "SurrogateCriterion",
]
