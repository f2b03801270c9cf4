"""What a clustering minimizes, what rows count in it, and the references that given centers or labels are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Matrix, ObjectiveName, exact_sum
from cutwise.exceptions import InvalidInputError, shown
from cutwise.table import Table

__all__ = [
    "FEATURE_SPACE",
    "KMEANS",
    "KMEDIANS",
    "OBJECTIVES",
    "Objective",
    "Reference",
    "RowCosts",
    "from_centers",
    "from_labels",
    "integer_weights",
    "sum_costs",
    "sum_weights",
    "wrong_number",
]

Float64 = npt.NDArray[np.float64]

Int32 = npt.NDArray[np.int32]

SumWeights = npt.NDArray[np.int64] | npt.NDArray[np.float64] | None


@dataclass(frozen=True)
class Objective:
    """A cost of rows by centers, and the centers that follow from it.

    ``name``: its name in the core, in metrics and in model files. ``words``: what clusterings by it are called:
    ``"k-means"`` or ``"k-medians"``. ``center_word``: what the best center of a cluster is called: ``"mean"`` or
    ``"median"``. ``cost_words``: what costs are, in the plural: ``"squared distances"`` or ``"l1 distances"``.
    ``distances``: turns an array of costs into the distances that ``transform`` gives, in place where it can.
    """

    name: ObjectiveName
    words: str
    center_word: str
    cost_words: str
    distances: Callable[[Float64], Float64]

    def assign(
        self, matrix: Matrix, centers: Float64, n_jobs: int = 1, *, keep: bool = False
    ) -> tuple[Int32, Float64, float, Float64 | None]:
        """The nearest center of every row, its cost, the largest excess, and all costs: see ``core.assign``."""
        return core.assign(matrix, centers, self.name, n_jobs, keep=keep)

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


def _roots(costs: Float64) -> Float64:
    return np.sqrt(costs, out=costs)


def _as_they_are(costs: Float64) -> Float64:
    return costs


KMEANS = Objective("kmeans", "k-means", "mean", "squared distances", _roots)

"""Squared Euclidean distance to the weighted mean."""

KMEDIANS = Objective("kmedians", "k-medians", "median", "l1 distances", _as_they_are)

"""l1 distance to the coordinate-wise weighted median."""

OBJECTIVES: dict[str, Objective] = {objective.name: objective for objective in (KMEANS, KMEDIANS)}

"""Every objective by its name."""


FEATURE_SPACE = "kernel"

"""What stands in place of an objective where centers are means in the feature space of a kernel."""


@dataclass(eq=False)
class RowCosts:
    """What rows cost by the centers of a reference, measured when their nearest were found.

    ``own`` (n_rows,) float64: by the nearest center, whose number is the row's label. ``largest_excess``: the largest,
    over all rows, of the largest less the smallest cost of a row. ``every`` (n_rows, k) float64: by every center, where
    that takes little memory beside the rows.
    """

    own: npt.NDArray[np.float64]
    largest_excess: float
    every: npt.NDArray[np.float64] | None

    def take_every(self) -> npt.NDArray[np.float64] | None:
        """Costs by every center, for one reader: the largest array of a fit is not kept longer than it is needed."""
        every, self.every = self.every, None
        return every


@dataclass(frozen=True, eq=False)
class Reference:
    """The clustering that a tree is grown against.

    ``labels`` (n_rows,) int32: cluster of every row, 0 to k - 1; -1 marks noise. ``centers`` (k, p) float64: in the
    metric space, that is, the preprocessor's output where there is one. Of shape (k, 0) for a kernel, in whose feature
    space they have no coordinates. ``cost``: weighted sum of the rows' costs by the center of their label: squared
    Euclidean distances for ``"kmeans"``, l1 distances for ``"kmedians"``, squared distances in feature space for
    ``"kernel"``. Independent of the order of the rows. ``objective``: ``"kmeans"``, ``"kmedians"`` or ``"kernel"``.
    ``row_costs``: where every row is labeled with its nearest center, and its costs are at hand. ``runs``
    (n_runs, k, p) float64, or None: where cutwise searched for the clustering, ``centers`` first, then those where the
    other restarts ended, on a sample of a large table, cheapest first.
    """

    labels: npt.NDArray[np.int32]
    centers: npt.NDArray[np.float64]
    cost: float
    objective: str = "kmeans"
    row_costs: RowCosts | None = field(default=None, repr=False)
    runs: npt.NDArray[np.float64] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return (
            f"Reference(clusters={self.n_clusters}, rows={len(self.labels)}, objective={self.objective!r}, "
            f"cost={self.cost:.6g})"
        )

    @property
    def n_clusters(self) -> int:
        """Number of centers."""
        return len(self.centers)


MAX_TOTAL = 2**31

"""What integer weights add up to at most (and one more per row); it leaves 30 bits for the cost of a row."""

# Two float64 whose ratio is this near to an integer cannot be told from an integer ratio that was rounded twice.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)


def integer_weights(sample_weight: npt.NDArray[np.float64] | None) -> tuple[npt.NDArray[np.int64] | None, float]:
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
            if bool((np.abs(multiples - integers) <= _ROUNDING * multiples).all()):
                common = int(np.gcd.reduce(integers.astype(np.int64)))
                return integers.astype(np.int64) // common, 1.0 / unit / common
    scale = float(np.ldexp(1.0, 31 - int(np.frexp(total)[1])))
    rounded = np.rint(sample_weight * scale).astype(np.int64)
    return np.maximum(rounded, positive.astype(np.int64)), scale


def _dyadic_unit(weights: npt.NDArray[np.float64]) -> float:
    """The largest power of two that divides every one of some positive numbers."""
    mantissa, exponent = np.frexp(weights)
    integers = (mantissa * 2.0**53).astype(np.int64)
    return float(np.ldexp((integers & -integers).astype(np.float64), exponent - 53).min())


def sum_weights(
    sample_weight: npt.NDArray[np.float64] | None,
) -> npt.NDArray[np.int64] | npt.NDArray[np.float64] | None:
    """The given weights, never rounded, as int64 where they are whole numbers: what means and costs are weighted with.

    Whole weights multiply exactly, so that means and costs equal those of repeated rows to the bit.
    """
    if sample_weight is None or float(sample_weight.sum()) > 2.0**44:
        return sample_weight
    integers = sample_weight.astype(np.int64)
    return integers if bool((integers == sample_weight).all()) else sample_weight


_SMALLEST_SQUARE = 2.0**-1000

"""Where no squared distance is larger, those a few digits smaller lose digits below float64's range, or all are 0."""

_COLUMNS_A_COST = 3

"""Costs by every center are kept where there are so many columns a center.

They then take little memory beside the rows, and measuring them again takes longer than reading them."""


def from_centers(
    table: Table,
    centers: Any,
    n_clusters: int | None = None,
    *,
    objective: Objective = KMEANS,
    sample_weight: npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
    what: str = "reference",
) -> Reference:
    """Every row with its nearest center.

    ``table``: the rows in the metric space. ``centers`` (k, n_columns). ``n_clusters``: how many centers are due.
    ``objective``: decides which center is nearest, and the cost. ``sample_weight`` (n_rows,) float64. ``what``: what
    messages call the centers. Raises ``InvalidInputError``: centers that are no finite numbers, another number of them,
    or of another number of columns; distances whose squares are beyond float64, or too small for it.
    """
    array = _read_centers(centers, what)
    if array.shape[1] != table.n_columns:
        raise InvalidInputError(
            f"{what} holds centers with {array.shape[1]} columns, but the rows have {table.n_columns} where distances "
            "are measured. Give one row per center, in the columns of X or of the preprocessor's output."
        )
    if n_clusters is not None and len(array) != n_clusters:
        raise wrong_number(what, len(array), n_clusters)
    keep = len(array) * _COLUMNS_A_COST <= table.n_columns
    labels, own, largest, every = objective.assign(table.matrix, array, n_jobs, keep=keep)
    _check_distance(largest)
    _check_squares(table, array, labels, own, largest, objective, n_jobs)
    cost = sum_costs(own, sum_weights(sample_weight))
    return Reference(labels, array, cost, objective.name, RowCosts(own, largest, every))


def from_labels(
    table: Table,
    labels: npt.NDArray[np.int32],
    n_clusters: int,
    *,
    objective: Objective = KMEANS,
    centers: npt.NDArray[np.float64] | None = None,
    sample_weight: npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
) -> Reference:
    """The given labels, with the best centers of their rows: weighted means, or coordinate-wise medians.

    ``table``: the rows in the metric space. ``labels`` (n_rows,) int32: 0 to ``n_clusters - 1``, or -1 for noise, which
    has no part in centers and cost. ``centers`` (n_clusters, n_columns) float64: in place of the best ones.
    ``sample_weight`` (n_rows,) float64. Raises ``InvalidInputError``: a cluster without a row of positive weight, and
    no centers given.
    """
    weights = sum_weights(sample_weight)
    if centers is None:
        centers, totals = objective.centers(table.matrix, labels, n_clusters, weights, n_jobs)
        empty = np.flatnonzero(totals <= 0)
        if len(empty):
            raise InvalidInputError(
                f"Cluster {empty[0]} of {n_clusters} has no row of positive weight, so it has no "
                f"{objective.center_word}. Label at least one row with each cluster, or give the centers."
            )
    low = objective.label_costs(table.matrix, centers, labels, n_jobs)
    _check_squares(table, centers, labels, low, 0.0, objective, n_jobs)
    return Reference(labels, centers, sum_costs(low, weights), objective.name)


def _check_distance(largest: float) -> None:
    """Refuse costs beyond float64."""
    if not np.isfinite(largest):
        raise InvalidInputError(
            "Distances to the centers are beyond float64. Scale the columns, for instance with "
            "preprocessor=StandardScaler(), or divide X by a constant."
        )


def sum_costs(costs: npt.NDArray[np.float64], weights: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None) -> float:
    """The weighted sum of one cost a row, whatever their order.

    ``costs`` (n_rows,) float64. ``weights`` (n_rows,): as ``sum_weights`` gives them. Raises ``InvalidInputError``: a
    cost beyond float64.
    """
    _check_distance(float(costs.max(initial=0.0)))
    return exact_sum(costs, weights)


def _check_squares(
    table: Table,
    centers: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int32],
    low: npt.NDArray[np.float64],
    largest: float,
    objective: Objective,
    n_jobs: int,
) -> None:
    """Refuses rows so near to all centers that the squares of their distances are lost below float64's range."""
    if objective is not KMEANS or low.max(initial=0.0) + largest > _SMALLEST_SQUARE:
        return
    apart = float(KMEDIANS.label_costs(table.matrix, centers, labels, n_jobs).max(initial=0.0))
    if apart > 0.0:
        raise InvalidInputError(
            f"Rows are at most {apart:.1e} apart from the centers, and squares of that are too small for float64. "
            f"Multiply X by a constant, such as 1e{round(-np.log10(apart))}."
        )


def wrong_number(what: str, found: int, n_clusters: int) -> InvalidInputError:
    """The error of a reference with another number of clusters than was asked for; it gives both."""
    return InvalidInputError(
        f"{what} has {found} cluster{'' if found == 1 else 's'}, but n_clusters={n_clusters}. "
        f"Use n_clusters={found}, or a reference with {n_clusters}."
    )


def _read_centers(centers: Any, what: str) -> npt.NDArray[np.float64]:
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
