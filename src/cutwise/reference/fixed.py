"""Costs in fixed point: the scale, chosen so that every sum of costs fits 64 bits and ties stay ties.

Integer sums do not depend on the order of their terms, so searches on them give the same tree for any number of
threads, order of rows and split into chunks. The scale is a power of two: equal costs stay equal, integer
costs exact.

Nothing that decides the scale depends on the order of the rows, or on whether equal rows were merged into weights: the
largest excess, the largest base, the total weight, and sums of integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Matrix
from cutwise.exceptions import InvalidInputError

from .objective import KMEANS, Objective, RowCosts

__all__ = ["FixedCosts", "LazyCosts", "disagreement_costs", "fixed_costs", "fixed_costs_from_array"]

Units = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Weights = npt.NDArray[np.int64] | None

SMALL = 2**20
"""Total weight times number of centers up to which memory does not matter and costs get all the bits there are."""
COARSE_BITS = 30
FINE_BITS = 50
SUM_BITS = 60
ENOUGH_BITS = 10
"""Binary digits that the excess of the second nearest center must have in the mean over the rows.

Otherwise far rows or far centers have taken 30 bits for themselves, and costs near by are rounded to nothing."""
CAPPED_BITS = 20
"""Binary digits that this excess gets where costs are capped, if sums leave room for them.

Far centers are then all equally far, and centers near by are told apart again."""


@dataclass(frozen=True, eq=False)
class FixedCosts:
    """Costs of n rows by k centers, in integers.

    ``excess`` (n, k) int32: ``weight * rint(scale * (cost - smallest cost of the row))``. int32 values are below 2**30.
    Where far rows would take all digits from the others, ``scale * (...)`` is capped: see ``fixed_costs``. ``base``
    (n,) int32: ``weight * rint(scale * smallest cost of the row)``, capped in the same case; as narrow as the largest
    allows. ``scale``: units per unit of cost (times weight); a power of two. For every center the sum of excess and
    base over all rows is below 2**61 in size.
    """

    excess: Units
    base: Units
    scale: float

    @property
    def n_clusters(self) -> int:
        """Number of centers."""
        return int(self.excess.shape[1])

    @property
    def fixed(self) -> FixedCosts:
        """These costs, as :class:`LazyCosts` give theirs."""
        return self


@dataclass(eq=False)
class LazyCosts:
    """Fixed-point costs that are worked out when they are first asked for.

    Parameters as in ``fixed_costs``; ``given``, of shape (n, k), takes the place of distances to the centers.
    """

    matrix: Matrix
    centers: npt.NDArray[np.float64] | None
    objective: Objective = KMEANS
    weights: Weights = None
    n_jobs: int = 1
    row_costs: RowCosts | None = None
    given: npt.NDArray[np.float64] | None = None

    @cached_property
    def fixed(self) -> FixedCosts:
        """The costs."""
        if self.given is not None:
            return fixed_costs_from_array(self.given, weights=self.weights, n_jobs=self.n_jobs)
        assert self.centers is not None
        return fixed_costs(
            self.matrix,
            self.centers,
            self.objective,
            weights=self.weights,
            n_jobs=self.n_jobs,
            row_costs=self.row_costs,
        )


class _Kernel(Protocol):
    def __call__(
        self, *, scale: float, weights: Weights, wide: bool, wide_base: bool, n_jobs: int
    ) -> tuple[Units, Units, npt.NDArray[np.int64], int]: ...


def fixed_costs(
    matrix: Matrix,
    centers: npt.NDArray[np.float64],
    objective: Objective = KMEANS,
    *,
    weights: Weights = None,
    n_jobs: int = 1,
    row_costs: RowCosts | None = None,
) -> FixedCosts:
    """Fixed-point costs of rows by centers.

    ``matrix``: the rows; noise and rows of weight 0 left out. ``centers`` (k, n_columns) float64. ``weights`` (n_rows,)
    int64: positive, of ``integer_weights``. Weighted costs are int64, and equal those of repeated rows. ``row_costs``:
    of these rows and centers, where they are at hand; its costs by every center are taken away. Returns ``costs``:
    where some rows or centers are so far away (some million times farther than centers are from each other near by)
    that most rows' costs would be rounded to nothing, what they cost is capped, if that saves most of the others.
    Raises ``InvalidInputError``: distances are beyond float64.
    """
    if row_costs is None:
        row_costs = RowCosts(*objective.assign(matrix, centers, n_jobs)[1:])
    largest_base, largest, every = _largest_size(row_costs.own), row_costs.largest_excess, row_costs.take_every()
    del row_costs  # as large as the table on narrow ones, and not needed beside the costs
    kernel: _Kernel
    if every is None:
        kernel = partial(core.fixed_costs, matrix, centers, objective.name)
    else:
        kernel = partial(core.fixed_costs_given, core.as_matrix(every))
    costs, magnitude = _fixed(kernel, largest_base, largest, matrix.n_rows, len(centers), weights, n_jobs)
    if len(centers) > 1 and magnitude < ENOUGH_BITS:
        exact = objective.costs(matrix, centers, n_jobs) if every is None else every
        return _with_digits(costs, exact, weights)
    return costs


def fixed_costs_from_array(costs: npt.NDArray[np.generic], *, weights: Weights = None, n_jobs: int = 1) -> FixedCosts:
    """Fixed-point costs of given costs: an array of shape (n, k), finite, of a dtype that the core reads."""
    matrix = core.as_matrix(costs)
    _, low, largest, _ = core.assign_given(matrix, n_jobs)
    n, k = costs.shape
    return _fixed(partial(core.fixed_costs_given, matrix), _largest_size(low), largest, n, k, weights, n_jobs)[0]


def disagreement_costs(labels: npt.NDArray[np.int32], n_clusters: int, *, weights: Weights = None) -> FixedCosts:
    """Cost 0 for the row's own cluster and 1 for every other; ``labels`` are 0 to ``n_clusters - 1``."""
    excess = np.ones((len(labels), n_clusters), np.int32 if weights is None else np.int64)
    if weights is not None:
        excess *= weights[:, None]
    excess[np.arange(len(labels)), labels] = 0
    return FixedCosts(excess, np.zeros(len(labels), np.int64), 1.0)


def _fixed(
    kernel: _Kernel,
    largest_base: float,
    largest: float,
    n_rows: int,
    n_clusters: int,
    weights: Weights,
    n_jobs: int,
) -> tuple[FixedCosts, float]:
    """The costs, and how many binary digits the excess of the second nearest center has in the mean."""
    if weights is not None and len(weights) and int(weights.min()) < 1:
        raise ValueError("fixed-point costs are for rows of positive weight: leave the others out")
    if not math.isfinite(largest) or not math.isfinite(largest_base):
        raise InvalidInputError(
            "Distances to the centers are beyond float64. Scale the columns, for instance with "
            "preprocessor=StandardScaler(), or divide X by a constant."
        )
    total = _total(n_rows, weights)
    fine = total * n_clusters <= SMALL
    exponent = _exponent(largest, largest_base, total, FINE_BITS if fine else COARSE_BITS)
    wide = fine or weights is not None
    # One bit to spare for the rounding of each row.
    wide_base = wide or math.ldexp(largest_base, exponent) >= 2**30
    excess, base, sums, magnitude = kernel(
        scale=math.ldexp(1.0, exponent),
        weights=weights,
        wide=wide,
        wide_base=wide_base,
        n_jobs=n_jobs,
    )
    if not fine and largest > 0.0 and magnitude < ENOUGH_BITS * total:
        # The sums themselves, at most this many units, say how much finer the scale can be.
        reach = int(sums.max()) + int(np.abs(base).sum(dtype=np.int64)) + 2 * total
        finer = min(SUM_BITS - reach.bit_length(), FINE_BITS - COARSE_BITS)
        if finer > 0:
            del excess, base
            exponent += finer
            scale = math.ldexp(1.0, exponent)
            excess, base, _, magnitude = kernel(scale=scale, weights=weights, wide=True, wide_base=True, n_jobs=n_jobs)
    return FixedCosts(excess, base, math.ldexp(1.0, exponent)), magnitude / max(total, 1)


def _with_digits(costs: FixedCosts, exact: npt.NDArray[np.float64], weights: Weights) -> FixedCosts:
    """The costs capped where most rows' two nearest centers differ by too few units; ``exact`` is written into."""
    low = exact.min(axis=1)
    exact -= low[:, None]
    second = np.partition(exact, 1, axis=1)[:, 1]
    typical = _median_of_positive(second, weights)
    # Half of the sums for the excess, half for the base; a far center counts at least 2**16 times what a near one does.
    room = SUM_BITS - 1 - _total(len(low), weights).bit_length()
    cap = min(FINE_BITS, room)
    enough = 2.0 ** min(ENOUGH_BITS, cap - 20)
    if typical == 0.0 or typical * costs.scale >= enough:
        return costs
    digits = min(CAPPED_BITS, max(cap - 30, min(ENOUGH_BITS, cap - 16)))
    scale = math.ldexp(1.0, min(digits - math.frexp(typical)[1], 1000))
    rows = np.ones(len(low)) if weights is None else weights
    lost = rows[(second > 0.0) & (second < enough / costs.scale)].sum()
    still_lost = rows[(second > 0.0) & ((second < enough / scale) | (second > 2.0**cap / scale))].sum()
    if still_lost > lost / 2:
        return costs  # of all sizes, such as a geometric series: something is lost either way
    with np.errstate(over="ignore"):
        excess = np.rint(np.minimum(exact * scale, 2.0**cap)).astype(np.int64)
        base = np.rint(np.minimum(low * scale, 2.0**room)).astype(np.int64)
    if weights is not None:
        excess *= weights[:, None]
        base *= weights
    return FixedCosts(excess, base, scale)


def _total(n_rows: int, weights: Weights) -> int:
    return n_rows if weights is None else int(weights.sum())


def _median_of_positive(values: npt.NDArray[np.float64], weights: Weights) -> float:
    """The lower weighted median of the positive values, 0 where there is none: a weight is a repeated value."""
    w = (values > 0.0).astype(np.int64) if weights is None else np.where(values > 0.0, weights, 0)
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(w[order])
    return float(values[order[np.searchsorted(reached, (reached[-1] + 1) // 2)]]) if reached[-1] else 0.0


def _largest_size(values: npt.NDArray[np.float64]) -> float:
    """The largest absolute value; not a number where one is none."""
    return float(np.maximum(values.max(initial=0.0), -values.min(initial=0.0)))


def _exponent(largest: float, largest_base: float, total: int, bits: int) -> int:
    """The largest power of two by which the largest excess stays below ``2**bits`` and every sum below ``2**61``."""
    if largest == 0.0 and largest_base == 0.0:
        return 0
    exponent = bits - math.frexp(largest or largest_base)[1]
    if math.ldexp(largest, exponent) > 2**bits - 1:
        exponent -= 1  # would be rounded up to 2**bits
    # From the exponents, for the product itself may be beyond float64. One bit to spare for the rounding of each row.
    reach = math.frexp(max(largest, largest_base))[1] + 1 + (total - 1).bit_length()
    return max(-1000, min(exponent, SUM_BITS - reach, 1000))
