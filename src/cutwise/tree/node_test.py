"""What a node asks of a row."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["NodeTest"]


@dataclass(frozen=True)
class NodeTest:
    """Rows with ``lower < x[feature] <= threshold`` go left, all others right.

    In a search the two ends are the largest values on their left; in a finished tree they are placed in the gaps there.
    """

    feature: int
    threshold: float
    lower: float = -math.inf

    @property
    def is_interval(self) -> bool:
        """Whether there is a lower end."""
        return self.lower != -math.inf
