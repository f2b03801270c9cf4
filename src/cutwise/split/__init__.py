"""Criteria: which cut of a node is best, from sums over bins."""

from .expansion import DisagreementCriterion, ExpansionCriterion, LeafCut, SurrogateCriterion
from .separation import InducedCriterion, MistakeCriterion, SeparatingCut, SeparationCriterion

__all__ = [
    "DisagreementCriterion",
    "ExpansionCriterion",
    "InducedCriterion",
    "LeafCut",
    "MistakeCriterion",
    "SeparatingCut",
    "SeparationCriterion",
    "SurrogateCriterion",
]
