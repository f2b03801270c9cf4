"""What a node asks of a row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["NodeTest"]


@dataclass(frozen=True)
class NodeTest:
    """Rows whose value is inside go left, all others right.

    Inside is ``lower < value <= threshold``, or a value among ``levels`` where these are given (``threshold`` is nan
    then), or a missing value where ``unknown`` is true: ``NodeTest(0, nan, levels=(), unknown=True)`` asks whether the
    value is missing. In a search the two ends are the largest values on their left; in a finished tree they are placed
    in the gaps there.
    """

    feature: int
    threshold: float
    lower: float = -math.inf
    levels: tuple[int, ...] | None = None
    unknown: bool = False

    @property
    def is_interval(self) -> bool:
        """Whether there is a lower end."""
        return self.lower != -math.inf

    def holds(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which values of the column are inside."""
        x = np.asarray(values).astype(np.float64, copy=False)
        inside = (x > self.lower) & (x <= self.threshold) if self.levels is None else np.isin(x, self.levels)
        if self.unknown:
            inside |= np.isnan(x)
        found: npt.NDArray[np.bool_] = inside
        return found
