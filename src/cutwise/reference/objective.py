"""What a clustering minimizes, what rows count in it, and the references that given centers or labels are.

Costs that decide a tree are in fixed point, its scale chosen so that every sum fits 64 bits and ties stay ties. Integer
sums do not depend on the order of their terms, so searches on them give the same tree for any number of threads, order
of rows and split into chunks. The scale is a power of two: equal costs stay equal, integer costs exact. Nothing that
decides it depends on the order of the rows, or on whether equal rows were merged into weights: the largest excess, the
largest base, the total weight, and sums of integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise import core
from cutwise._docs import table_html
from cutwise.core import Float64, Int32, Int64, Matrix, ObjectiveName, exact_sum
from cutwise.exceptions import DistanceOverflowError, InvalidInputError, shown
from cutwise.table.intake import check_order
from cutwise.table.table import Table, as_matrix

ROW_BLOCK = 1 << 13
"""Rows at a time: few enough that they stay in the processor's caches."""

SumWeights = Int64 | Float64 | None


@dataclass(frozen=True)
class Objective:
    """A cost of rows by centers, and the centers that follow from it.

    ``name``: its name in the core, in metrics and in model files. ``words``: what clusterings by it are called:
    ``"k-means"`` or ``"k-medians"``. ``center_word``: what the best center of a cluster is called: ``"mean"`` or
    ``"median"``. ``cost_words``: what costs are, in the plural: ``"squared distances"`` or ``"l1 distances"``.
    """

    name: ObjectiveName
    words: str
    center_word: str
    cost_words: str

    def distances(self, costs: Float64) -> Float64:
        """Distances from costs, which may be written into: roots of squared ones."""
        return costs if self.name == "kmedians" else np.sqrt(costs, out=costs)

    def assign(self, matrix: Matrix, centers: Float64, n_jobs: int = 1) -> tuple[Int32, Float64, float]:
        """The nearest center of every row, its cost, and the largest excess: see ``core.assign``."""
        return core.assign(matrix, centers, self.name, n_jobs)

    def centers(
        self,
        matrix: Matrix,
        labels: Int32,
        n_clusters: int,
        weights: SumWeights,
        n_jobs: int,
        column_sizes: Float64 | None = None,
    ) -> tuple[Float64, Float64]:
        """Each cluster's best center, shape (n_clusters, n_columns), nan without weight, and each cluster's weight.

        Rows with a negative label are left out. ``column_sizes``, the largest absolute value of every column, spares
        the means a reading of the rows. The result does not depend on the order of the rows.
        """
        if self.name == "kmedians":
            return core.cluster_medians(matrix, labels, n_clusters, weights, n_jobs)
        return core.cluster_means(matrix, labels, n_clusters, weights, n_jobs, column_sizes)

    def costs(self, matrix: Matrix, centers: Float64, n_jobs: int = 1) -> Float64:
        """Cost of every row by every center, shape (n_rows, n_centers)."""
        return core.center_costs(matrix, centers, self.name, n_jobs)

    def label_costs(self, matrix: Matrix, centers: Float64, labels: Int32, n_jobs: int = 1) -> Float64:
        """Cost of every row by the center it is labeled with, shape (n_rows,); 0 where the label is negative."""
        return core.label_costs(matrix, centers, labels, self.name, n_jobs)

    def column_costs(
        self, rows: Table, labels: Int32, centers: Float64, sample_weight: npt.NDArray[Any] | None
    ) -> Float64:
        """The same of all rows together, by column; of sparse rows only stored values are looked at."""
        power, n_rows = 1 if self.name == "kmedians" else 2, rows.n_rows
        weights = np.ones(n_rows) if sample_weight is None else sample_weight
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(rows.values, sparse.csr_array):
                stored, of_zeros = rows.values.tocoo(), np.abs(centers) ** power
                own = labels[stored.row], stored.col
                more = np.abs(stored.data - centers[own]) ** power - of_zeros[own]
                costs: Float64 = np.bincount(labels, weights, len(centers)) @ of_zeros
                return costs + np.bincount(stored.col, weights[stored.row] * more, rows.n_columns)
            costs = np.zeros(rows.n_columns)
            for start in range(0, n_rows, ROW_BLOCK):
                block = np.arange(start, min(start + ROW_BLOCK, n_rows))
                differences = np.abs(core.gather_rows(rows.matrix, block) - centers[labels[block]])
                costs += weights[block] @ differences**power
        return costs


KMEANS = Objective("kmeans", "k-means", "mean", "squared distances")
"""Squared Euclidean distance to the weighted mean."""

KMEDIANS = Objective("kmedians", "k-medians", "median", "l1 distances")
"""l1 distance to the coordinate-wise weighted median."""

OBJECTIVES: dict[str, Objective] = {objective.name: objective for objective in (KMEANS, KMEDIANS)}
"""Every objective by its name."""


@dataclass(frozen=True, eq=False)
class Measure:
    """How the cost of a clustering is measured.

    ``objective``: decides which center is nearest, and the cost of a row by it. ``sample_weight`` (n_rows,) float64.
    ``n_jobs``: threads; the cost does not depend on them.
    """

    objective: Objective = KMEANS
    sample_weight: Float64 | None = None
    n_jobs: int = 1

    @property
    def weights(self) -> SumWeights:
        """What means and costs are weighted with."""
        return sum_weights(self.sample_weight)


PLAIN = Measure()
"""By squared distances, every row once."""

FEATURE_SPACE = "kernel"
"""What stands in place of an objective where centers are means in the feature space of a kernel."""


class RowCosts(NamedTuple):
    """What rows cost by the centers of a reference, measured when their nearest were found.

    ``own`` (n_rows,) float64: by the nearest center, whose number is the row's label. ``largest_excess``: the largest,
    over all rows, of the largest less the smallest cost of a row.
    """

    own: Float64
    largest_excess: float


@dataclass(frozen=True, eq=False)
class Reference:
    """The clustering that a tree is grown against.

    ``labels`` (n_rows,) int32: cluster of every row, 0 to k - 1; -1 marks noise. ``centers`` (k, p) float64: in the
    metric space, that is, the preprocessor's output where there is one. Of shape (k, 0) for a kernel, in whose feature
    space they have no coordinates. ``cost``: weighted sum of the rows' costs by the center of their label: squared
    Euclidean distances for ``"kmeans"``, l1 distances for ``"kmedians"``, squared distances in feature space for
    ``"kernel"``. Independent of the order of the rows. ``objective``: ``"kmeans"``, ``"kmedians"`` or ``"kernel"``.
    ``row_costs``: where every row is labeled with its nearest center, and its costs are at hand.
    """

    labels: Int32
    centers: Float64
    cost: float
    objective: str = "kmeans"
    row_costs: RowCosts | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return (
            f"Reference(clusters={self.n_clusters}, rows={len(self.labels)}, objective={self.objective!r}, "
            f"cost={self.cost:.6g})"
        )

    def _repr_html_(self) -> str:
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)
        return table_html(("cluster", "rows"), enumerate(sizes.tolist()))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Float64:
        """Its centers, so that the reference of one fit may be given to another."""
        return np.array(self.centers, dtype=dtype)

    @property
    def n_clusters(self) -> int:
        """Number of centers."""
        return len(self.centers)


MAX_TOTAL = 2**31
"""What integer weights add up to at most (and one more per row); it leaves 30 bits for the cost of a row."""

# Two float64 whose ratio is this near to an integer are taken for an integer ratio that was rounded twice.
_RATIO_TOLERANCE = 4 * float(np.finfo(np.float64).eps)


def integer_weights(sample_weight: Float64 | None) -> tuple[Int64 | None, float]:
    """Integer weights in proportion to the given ones.

    ``sample_weight`` (n_rows,) float64: finite, not negative, not all zero. Returns ``weights`` (n_rows,) int64: none
    stands for 1 each: no weights were given, or they are all equal fractions. ``weight_scale``: ``weights`` is
    ``sample_weight * weight_scale``. Whole numbers that add up to at most 2**31 stay as they are: each is a row
    repeated that often. Otherwise exactly in proportion (within float64's rounding) where the weights are integer
    multiples of a common unit, the smallest weight or a power of two, and at most 2**31 of it in sum. Otherwise the
    scale is the power of two that makes them add up to between 2**30 and 2**31, and each is rounded to the nearest
    integer: off by at most 2**-31 of the total weight. No positive weight becomes 0.

    The result does not depend on the order of the rows. Fractions have no size of their own: a common factor that is a
    power of two (or any factor, where there is a common unit) changes nothing, and weights of 0.5 grow the tree that no
    weights grow. Whole numbers have one: ExShallow's depth term counts rows, and a weight of 2 is two of them.
    """
    if sample_weight is None:
        return None, 1.0
    if bool((sample_weight == np.rint(sample_weight)).all()) and float(sample_weight.sum()) <= MAX_TOTAL:
        return (None if bool((sample_weight == 1.0).all()) else sample_weight.astype(np.int64)), 1.0
    positive = sample_weight > 0
    smallest = float(sample_weight[positive].min())
    if smallest == float(sample_weight.max()) and bool(positive.all()):
        return None, 1.0 / smallest
    total = exact_sum(sample_weight)
    for unit in (smallest, _dyadic_unit(sample_weight[positive])):
        if total / unit <= MAX_TOTAL:
            multiples = sample_weight / unit
            integers = np.rint(multiples)
            if bool((np.abs(multiples - integers) <= _RATIO_TOLERANCE * multiples).all()):
                common = int(np.gcd.reduce(integers.astype(np.int64)))
                return integers.astype(np.int64) // common, 1.0 / unit / common
    scale = float(np.ldexp(1.0, 31 - int(np.frexp(total)[1])))
    rounded = np.rint(sample_weight * scale).astype(np.int64)
    return np.maximum(rounded, positive.astype(np.int64)), scale


def _dyadic_unit(weights: Float64) -> float:
    """The largest power of two that divides every one of some positive numbers."""
    mantissa, exponent = np.frexp(weights)
    integers = (mantissa * 2.0**53).astype(np.int64)
    return float(np.ldexp((integers & -integers).astype(np.float64), exponent - 53).min())


def sum_weights(sample_weight: Float64 | None) -> Int64 | Float64 | None:
    """The given weights, never rounded, as int64 where they are whole numbers: what means and costs are weighted with.

    Whole weights multiply exactly, so that means and costs equal those of repeated rows to the bit.
    """
    if sample_weight is None or float(sample_weight.sum()) > 2.0**44:
        return sample_weight
    integers = sample_weight.astype(np.int64)
    return integers if bool((integers == sample_weight).all()) else sample_weight


def weight_by(place: npt.NDArray[np.integer[Any]], weights: Float64, n: int) -> Float64:
    """Sum of the weights at each place, shape (n,), in any order of the rows: sums of fractions depend on theirs."""
    order = np.argsort(weights)
    return np.bincount(place[order], weights[order], n).astype(np.float64, copy=False)


_SMALLEST_DISTANCE = 2.0**-500
"""Squares of smaller ones lose digits below float64's range, or are 0."""


def from_centers(
    table: Table, centers: Any, n_clusters: int | None = None, by: Measure = PLAIN, *, what: str = "reference"
) -> Reference:
    """Every row with its nearest center.

    ``table``: the rows in the metric space. ``centers`` (k, n_columns). ``n_clusters``: how many centers are expected.
    ``what``: what messages call the centers. Raises ``InvalidInputError``: centers that are no finite numbers, another
    number of them, or of another number of columns; distances whose squares are beyond float64, or too small for it.
    """
    array = _read_centers(centers, what)
    check_order(table, centers, what)
    if array.shape[1] != table.n_columns:
        raise InvalidInputError(
            f"{what} holds centers with {array.shape[1]} columns, but the rows have {table.n_columns} where distances "
            "are measured. Give one row per center, in the columns of X or of the preprocessor's output."
        )
    if n_clusters is not None and len(array) != n_clusters:
        raise wrong_number(what, len(array), n_clusters)
    labels, own, largest = by.objective.assign(table.matrix, array, by.n_jobs)
    check_distance(largest)
    check_spread(array, by.objective)
    cost = sum_costs(own, by.weights)
    return Reference(labels, array, cost, by.objective.name, RowCosts(own, largest))


def from_labels(
    table: Table, labels: Int32, n_clusters: int, by: Measure = PLAIN, *, centers: Float64 | None = None
) -> Reference:
    """The given labels, with the best centers of their rows: weighted means, or coordinate-wise medians.

    ``table``: the rows in the metric space. ``labels`` (n_rows,) int32: 0 to ``n_clusters - 1``, or -1 for noise, which
    has no part in centers and cost. ``centers`` (n_clusters, n_columns) float64: in place of the best ones. Raises
    ``InvalidInputError``: a cluster without a row of positive weight, and no centers given.
    """
    objective, weights = by.objective, by.weights
    if centers is None:
        centers, totals = objective.centers(table.matrix, labels, n_clusters, weights, by.n_jobs)
        empty = np.flatnonzero(totals <= 0)
        if len(empty):
            raise InvalidInputError(
                f"Cluster {empty[0]} of {n_clusters} has no row of positive weight, so it has no "
                f"{objective.center_word}. Label at least one row with each cluster, or give the centers."
            )
    check_spread(centers, objective)
    low = objective.label_costs(table.matrix, centers, labels, by.n_jobs)
    return Reference(labels, centers, sum_costs(low, weights), objective.name)


def check_distance(largest: float) -> None:
    """Refuse costs beyond float64."""
    if not np.isfinite(largest):
        raise DistanceOverflowError(
            "Distances to the centers, or sums of them, are beyond float64, squares of values among them. "
            "Divide X by a constant."
        )


def check_spread(centers: Float64, objective: Objective) -> None:
    """Refuse centers so near to each other that squares of their distances are lost below float64's range."""
    with np.errstate(over="ignore"):  # check_distance refuses those too far from each other
        spread = float(np.ptp(centers, axis=0).max())
    if objective is KMEANS and 0.0 < spread < _SMALLEST_DISTANCE:
        digits = round(-np.log10(spread))
        raise InvalidInputError(
            f"The centers are at most {spread:.1e} apart, and squares of that are too small for float64. "
            f"Multiply X by a constant, such as 1e{min(digits, 300)}."  # what Python can hold is enough
        )


def sum_costs(costs: Float64, weights: Int64 | Float64 | None) -> float:
    """The weighted sum of one cost a row, whatever their order.

    ``costs`` (n_rows,) float64. ``weights`` (n_rows,): as ``sum_weights`` gives them. Raises ``InvalidInputError``: a
    cost or a sum beyond float64.
    """
    check_distance(total := exact_sum(costs, weights))
    return total


def wrong_number(what: str, found: int, n_clusters: int) -> InvalidInputError:
    """The error of a reference whose number of clusters is not the requested one; it gives both."""
    return InvalidInputError(
        f"{what} has {found} cluster{'' if found == 1 else 's'}, but n_clusters={n_clusters}. "
        f"Use n_clusters={found}, or a reference with {n_clusters}."
    )


def _read_centers(centers: Any, what: str) -> Float64:
    try:
        array = np.array(centers, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{what}={shown(centers)} must be an array of numbers with one row per center, or a clusterer."
        ) from error
    if array.ndim != 2 or array.size == 0:
        labels = "\nIf these are the labels of rows, ClusterExplainer().fit(X, labels) explains them."
        raise InvalidInputError(
            f"{what}={shown(centers)} has shape {array.shape}, but needs one row per center and one column per "
            f"column of X: shape (n_clusters, n_columns).{labels if array.ndim == 1 and array.size else ''}"
        )
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        j, f = wrong[0]
        raise InvalidInputError(f"{what} must hold finite numbers, but center {j} has {array[j, f]} in column {f}.")
    return array


Units = Int32 | Int64

Weights = Int64 | None

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

Far centers are then all equally far, and near centers can be distinguished again."""


@dataclass(frozen=True, eq=False)
class FixedCosts:
    """Costs of n rows by k centers, in integers.

    ``excess`` (n, k) int32 or int64: ``weight * rint(scale * (cost - smallest cost of the row))``. int32 values are
    below 2**30. Where far rows would take all digits from the others, ``scale * (...)`` is capped: see ``fixed_costs``.
    ``base`` (n,) int64: ``weight * rint(scale * smallest cost of the row)``, capped in the same case. ``scale``: units
    per unit of cost (times weight); a power of two. For every center the sum of excess and base over all rows is below
    2**61 in size.
    """

    excess: Units
    base: Int64
    scale: float


FixedCostsKernel = Callable[..., tuple[Units, Int64, Int64, int]]
"""Costs at a ``scale``, ``wide`` or not: as ``core.fixed_costs`` gives them."""


def fixed_costs(
    matrix: Matrix,
    centers: Float64,
    objective: Objective = KMEANS,
    *,
    weights: Weights = None,
    n_jobs: int = 1,
    row_costs: RowCosts | None = None,
) -> FixedCosts:
    """Fixed-point costs of rows by centers.

    ``matrix``: the rows; noise and rows of weight 0 left out. ``centers`` (k, n_columns) float64. ``weights`` (n_rows,)
    int64: positive, of ``integer_weights``. Weighted costs are int64, and equal those of repeated rows. ``row_costs``:
    of these rows and centers, where they are at hand. Returns ``costs``: where some rows or centers are so far away
    (some million times farther than centers are from each other near by) that most rows' costs would be rounded to
    nothing, what they cost is capped, if that saves most of the others. Raises ``InvalidInputError``: distances are
    beyond float64.
    """
    if row_costs is None:
        row_costs = RowCosts(*objective.assign(matrix, centers, n_jobs)[1:])
    largest_base, largest = _largest_size(row_costs.own), row_costs.largest_excess
    del row_costs  # as large as the table on narrow ones, and not needed beside the costs
    kernel = partial(core.fixed_costs, matrix, centers, objective.name, weights=weights, n_jobs=n_jobs)
    total = _total(matrix.n_rows, weights)
    costs, magnitude = fixed_costs_by(kernel, largest_base, largest, total, len(centers), weights is not None)
    if len(centers) > 1 and magnitude < ENOUGH_BITS:
        exact = objective.costs(matrix, centers, n_jobs)
        capped = find_cap(second_excess(exact), costs.scale, total, weights)
        return costs if capped is None else capped.costs(exact, weights)
    return costs


def fixed_costs_from_array(costs: npt.NDArray[np.generic], *, weights: Weights = None, n_jobs: int = 1) -> FixedCosts:
    """Fixed-point costs of given costs: an array of shape (n, k), finite, of a dtype that the core reads."""
    matrix = as_matrix(costs)
    _, low, largest = core.assign_given(matrix, n_jobs)
    n, k = costs.shape
    kernel = partial(core.fixed_costs_given, matrix, weights=weights, n_jobs=n_jobs)
    return fixed_costs_by(kernel, _largest_size(low), largest, _total(n, weights), k, weights is not None)[0]


def fixed_costs_by(
    kernel: FixedCostsKernel, largest_base: float, largest: float, total: int, n_clusters: int, is_weighted: bool
) -> tuple[FixedCosts, float]:
    """The costs of rows of this total weight, and how many binary digits their second nearest excess has in the mean.

    ``largest_base``, ``largest``: of all rows, the largest cost by the nearest center and the largest excess above it.
    """
    check_distance(max(largest, largest_base))
    fine = total * n_clusters <= SMALL
    exponent = _exponent(largest, largest_base, total, FINE_BITS if fine else COARSE_BITS)
    wide = fine or is_weighted
    scale = math.ldexp(1.0, exponent)
    excess, base, sums, magnitude = kernel(scale=scale, wide=wide)
    if not fine and largest > 0.0 and magnitude < ENOUGH_BITS * total:
        # The sums themselves, at most this many units, say how much finer the scale can be.
        reach = int(sums.max()) + int(np.abs(base).sum(dtype=np.int64)) + 2 * total
        finer = min(SUM_BITS - reach.bit_length(), FINE_BITS - COARSE_BITS)
        if finer > 0:
            del excess, base
            exponent += finer
            scale = math.ldexp(1.0, exponent)
            excess, base, _, magnitude = kernel(scale=scale, wide=True)
    return FixedCosts(excess, base, math.ldexp(1.0, exponent)), magnitude / max(total, 1)


@dataclass(frozen=True)
class Cap:
    """What costs are capped at, ``2**excess_bits`` and ``2**base_bits`` units of ``1 / scale``."""

    scale: float
    excess_bits: int
    base_bits: int

    def costs(self, exact: Float64, weights: Weights) -> FixedCosts:
        """The costs; ``exact``, by every center, is written into."""
        low = exact.min(axis=1)
        exact -= low[:, None]
        with np.errstate(over="ignore"):
            excess = np.rint(np.minimum(exact * self.scale, 2.0**self.excess_bits)).astype(np.int64)
            base = np.rint(np.minimum(low * self.scale, 2.0**self.base_bits)).astype(np.int64)
        if weights is not None:
            excess *= weights[:, None]
            base *= weights
        return FixedCosts(excess, base, self.scale)


def second_excess(exact: Float64) -> Float64:
    """What every row's second nearest center costs above the nearest."""
    two = np.partition(exact, 1, axis=1)[:, :2]
    second: Float64 = two[:, 1] - two[:, 0]
    return second


def find_cap(second: Float64, scale: float, total: int, weights: Weights) -> Cap | None:
    """Where most rows' two nearest centers differ by too few units: the cap that saves most of them, if one does."""
    typical = _median_of_positive(second, weights)
    # Half of the sums for the excess, half for the base; a far center counts at least 2**16 times what a near one does.
    room = SUM_BITS - 1 - total.bit_length()
    cap = min(FINE_BITS, room)
    enough = 2.0 ** min(ENOUGH_BITS, cap - 20)
    if typical == 0.0 or typical * scale >= enough:
        return None
    digits = min(CAPPED_BITS, max(cap - 30, min(ENOUGH_BITS, cap - 16)))
    capped = math.ldexp(1.0, min(digits - math.frexp(typical)[1], 1000))
    rows = np.ones(len(second)) if weights is None else weights
    lost = rows[(second > 0.0) & (second < enough / scale)].sum()
    still_lost = rows[(second > 0.0) & ((second < enough / capped) | (second > 2.0**cap / capped))].sum()
    if still_lost > lost / 2:
        return None  # of all sizes, such as a geometric series: something is lost either way
    return Cap(capped, cap, room)


def _total(n_rows: int, weights: Weights) -> int:
    if weights is not None and len(weights) and int(weights.min()) < 1:
        raise ValueError("fixed-point costs are for rows of positive weight: leave the others out")
    return n_rows if weights is None else int(weights.sum())


def _median_of_positive(values: Float64, weights: Weights) -> float:
    """The lower weighted median of the positive values, 0 where there is none: a weight is a repeated value."""
    w = (values > 0.0).astype(np.int64) if weights is None else np.where(values > 0.0, weights, 0)
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(w[order])
    return float(values[order[np.searchsorted(reached, (reached[-1] + 1) // 2)]]) if reached[-1] else 0.0


def _largest_size(values: Float64) -> float:
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
