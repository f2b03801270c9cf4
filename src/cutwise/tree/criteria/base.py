"""What a criterion is made of, what it sees of a node, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cutwise.tree.node_test import NodeTest
from cutwise.tree.provider import NodeSums, Provider, SeparationNode
from cutwise.tree.surrogate_features import SurrogateFeatures

__all__ = [
    "ExpansionCriterion",
    "GrowthProblem",
    "LeafCut",
    "SeparatingCut",
    "SeparationCriterion",
]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]
Features = SurrogateFeatures | Sequence[SurrogateFeatures]


@dataclass(frozen=True, eq=False)
class GrowthProblem:
    """What a tree is grown on.

    ``provider``: the rows, in the columns that may be cut. ``coordinates`` (k, d) float64: the reference clusters'
    coordinates in those columns. ``depth_penalty``, ``gini``, ``intervals``, ``features``, ``ties``: as in
    ``grow_tree``; ``intervals`` where its ``cuts`` are.
    """

    provider: Provider
    coordinates: Float64
    depth_penalty: float = 0.0
    gini: bool = False
    intervals: bool = False
    features: Features | None = None
    ties: str = "position"

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.coordinates)


@dataclass(frozen=True, eq=False)
class SeparatingCut:
    """A test with a surviving center on each side.

    ``goes_left``: by survivor: whether its center lies left. ``coordinates``: the survivors' coordinates, where these
    bound the gap beside the rows' values. ``mistakes``: rows separated from their centers, where the criterion counts
    them.
    """

    test: NodeTest
    goes_left: npt.NDArray[np.bool_]
    coordinates: Float64 | None = None
    mistakes: int = 0

    @classmethod
    def at(
        cls, feature: int, threshold: float, coordinates: Float64, survivors: Int32, mistakes: int = 0
    ) -> SeparatingCut:
        """A threshold between centers whose coordinates are those of the columns, of shape (k, d)."""
        along = coordinates[survivors, feature]
        return cls(NodeTest(feature, threshold), along <= threshold, along, mistakes)


class SeparationCriterion(Protocol):
    """Chooses the cut of a node that has several centers, and follows the rows down."""

    @property
    def clusters(self) -> Int32:
        """Those whose centers are to be separated, in increasing order."""
        ...

    def start(self, root: SeparationNode) -> None:
        """Nothing is cut yet: this is the root."""
        ...

    def best_cut(self, node: SeparationNode, kills_left: Flags, kills_right: Flags) -> SeparatingCut | None:
        """The best cut of a node of two or more centers, or None when these are equal in every column.

        ``kills_left``, ``kills_right`` (n_columns,) uint8: 1 where a left (right) branch on the column makes an
        ancestor's condition redundant.
        """
        ...

    def follow(self, node: SeparationNode, children: Sequence[SeparationNode]) -> None:
        """The node that was seen last was cut in two: these are its children."""
        ...


@dataclass(frozen=True)
class LeafCut:
    """The best cut of a leaf.

    ``cost``: of both sides together, each under its own label, in the criterion's units. ``impurity``: tells apart cuts
    of equal cost; 0 where the criterion has no second score.
    """

    test: NodeTest
    cost: int | Fraction
    impurity: float
    left_label: int
    right_label: int


class ExpansionCriterion(Protocol):
    """Chooses the cut of a leaf, and says what it gains."""

    ends_without_gain: bool
    """Whether growth stops where no cut lowers the cost."""

    def sums(self, node: int) -> NodeSums:
        """The statistics of a leaf's rows."""
        ...

    def label(self, sums: NodeSums) -> int:
        """The best cluster for a leaf, the lowest number of equals."""
        ...

    def cost(self, sums: NodeSums, label: int) -> int | Fraction:
        """What a leaf costs when one cluster serves all its rows."""
        ...

    def impurity(self, sums: NodeSums) -> float:
        """The second score of a leaf; 0 where there is none."""
        ...

    def best_cut(self, node: int, sums: NodeSums) -> LeafCut | None:
        """The cut of least cost, or None when the rows are equal in every column, or nothing is left to gain."""
        ...
