"""Criteria: which cut of a node is best, from sums over bins."""

from .expansion import DisagreementCriterion, ExpansionCriterion, LeafCut, LeafSums, SurrogateCriterion
from .feature_cuts import FeatureMistakeCriterion
from .features import (
    ChiSquaredFeatures,
    DistanceFeatures,
    HellingerFeatures,
    IntersectionFeatures,
    LinearFeatures,
    SurrogateFeatures,
    TaylorFeatures,
    surrogate_features,
)
from .separation import InducedCriterion, MistakeCriterion, SeparatingCut, SeparationCriterion, SeparationNode

__all__ = [
    "ChiSquaredFeatures",
    "DisagreementCriterion",
    "DistanceFeatures",
    "ExpansionCriterion",
    "FeatureMistakeCriterion",
    "HellingerFeatures",
    "InducedCriterion",
    "IntersectionFeatures",
    "LeafCut",
    "LeafSums",
    "LinearFeatures",
    "MistakeCriterion",
    "SeparatingCut",
    "SeparationCriterion",
    "SeparationNode",
    "SurrogateCriterion",
    "SurrogateFeatures",
    "TaylorFeatures",
    "surrogate_features",
]
