"""Scaling of tables with any kind of columns to points in which all columns count equally."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from cutwise import core
from cutwise._docs import fill_doc
from cutwise._progress import all_or_nothing
from cutwise.core import Float64, Int64
from cutwise.estimators._clusterer import RemembersColumns
from cutwise.exceptions import UnsupportedInputError
from cutwise.readouts.words import quoted
from cutwise.reference.objective import integer_weights, sum_weights
from cutwise.table.intake import MixedOptions, check_option, read_table, read_weights
from cutwise.table.table import ColumnKind, Table, as_matrix, known_values

NUMBERS = ("standard", "robust", "minmax", "none")
DISTANCES = ("squared", "absolute")

_WIDE = 256
"""Output with more columns than this is sparse if fewer than a tenth of its entries are not 0."""

EXACT_SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler)
"""Scalers that exact sums and extents determine, equally for any order of rows, in memory and by passes."""


@fill_doc
class TableScaler(RemembersColumns, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns a table of numbers, categories, dates and gaps into points in which all columns count equally.

    A category counts as much as a number would if its levels were equally frequent; a missing value lies at the
    column's mean, one standard deviation off. ``preprocessor="auto"`` means this scaler for tables that do not consist
    of complete numbers; it can also be used directly.

    Parameters
    ----------
    numbers : {"standard", "robust", "minmax", "none"}, default="standard"
        How numbers, ordered levels, dates and durations are scaled, by their known values: to mean 0 and variance 1; to
        median 0 and interquartile range 1 (the standard deviation where that is 0); to the range from 0 to 1; not at
        all. Truth values, and with the first two all columns of two values, are -1 and +1 (-0.8 and +0.8 for absolute
        distances).
    distance : {"squared", "absolute"}, default="squared"
        The distance between the points: squared (k-means), or absolute (k-medians), for which levels get smaller
        differences.

    Attributes
    ----------
    center_, scale_ : ndarray of shape (n_features,), float64
        A value x of a number becomes ``(x - center_) / scale_``; a category of V levels has a column a level, with
        ``1 / scale_``, that is ``sqrt(V / (V - 1))`` (``0.4 V / (V - 1)`` for absolute distances), at the row's own.
    missing_ : ndarray of shape (n_features,), float64
        Scaled value for missing values of a column with gaps; a further column is 1 for them, and 0 for known values.
    n_features_in_ : int
    {feature_names_in_}

    Examples
    --------
    >>> import pandas as pd
    >>> from cutwise import TableScaler
    >>> table = pd.DataFrame({"age": [20.0, None, 40.0, 30.0], "region": ["N", "S", "N", "S"]})
    >>> TableScaler().fit(table).get_feature_names_out().tolist()
    ['age', 'age is unknown', 'region=N', 'region=S']
    >>> TableScaler().fit_transform(table).round(2).tolist()
    [[-1.22, 0.0, 1.41, 0.0], [0.0, 1.0, 0.0, 1.41], [1.22, 0.0, 1.41, 0.0], [0.0, 0.0, 0.0, 1.41]]
    """

    center_: Float64
    scale_: Float64
    missing_: Float64

    def __init__(self, numbers: str = "standard", distance: str = "squared") -> None:
        self.numbers = numbers
        self.distance = distance

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the kinds and levels of columns, and their scales.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Columns of any kind, possibly with missing values.
        {y, sample_weight}

        Returns
        -------
        self : TableScaler
        """
        self._validate_params()
        table = _dense(read_table(X, mixed=MixedOptions(sample_weight=sample_weight)))
        weights = read_weights(sample_weight, table.n_rows)
        if weights is not None and not weights.all():
            table, weights = replace(table, values=table.values[weights > 0]), weights[weights > 0]
        (counted, _), (means, variances) = integer_weights(weights), moments(np.asarray(table.values), weights)
        columns = list(np.asarray(table.values, dtype=np.float64).T)
        known = [_known(values, every=self.numbers == "robust") for values in columns]
        spreads = [
            _spread(x, values, counted) if self.numbers == "robust" and len(x) else (mean, math.sqrt(variance))
            for x, values, mean, variance in zip(known, columns, means, variances, strict=True)
        ]
        return self.take(table, known, means, spreads)

    def take(
        self, table: Table, known: Sequence[Float64], means: Float64, spreads: Sequence[tuple[float, float]]
    ) -> Self:
        """Fit the scaler to figures of the columns.

        ``known``: distinct known values; if there are more than two, only the first and last must be the extremes.
        ``spreads``: center and scale.
        """
        self._remember_columns(table)
        learned = [self._learn(*of_column) for of_column in zip(table.kinds, known, means, spreads, strict=True)]
        self.center_, self.scale_, self.missing_ = (np.array(values) for values in zip(*learned, strict=True))
        return self

    def transform(self, X: Any) -> Float64 | sparse.csr_array:
        """The rows as points.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows with the columns of fit.

        Returns
        -------
        points : ndarray or csr_array of shape (n_samples, n_columns), float64
            Sparse if there are more than 256 columns, of which fewer than a tenth are not 0.

        Raises
        ------
        {NotFittedError, ColumnMismatchError, InvalidInputError}
        """
        table, sources = self._read(X), self.sources()
        if len(sources) > _WIDE and 10 * len(np.unique(sources)) < len(sources):
            return self.sparse_points(table)
        points = np.zeros((table.n_rows, len(sources)))
        for place, entry in self._entries(table):
            points[np.arange(table.n_rows), place] = entry
        return points

    def sources(self) -> npt.NDArray[np.intp]:
        """The table's column that each column of the output is made from."""
        widths = list(map(_width, self._columns_of_fit().kinds))
        return np.repeat(np.arange(len(widths)), widths)

    def sparse_points(self, table: Table) -> sparse.csr_array:
        """Points of the rows of a table; only entries other than 0 are stored."""
        n, kinds = table.n_rows, self._columns_of_fit().kinds
        width = sum(min(_width(kind), 1) if kind.name == "category" else _width(kind) for kind in kinds)
        places, entries = np.empty((n, width), dtype=np.int32), np.empty((n, width))
        for j, (place, entry) in enumerate(self._entries(table)):
            places[:, j], entries[:, j] = place, entry
        begin = np.arange(0, n * width + 1, width)
        points = sparse.csr_array((entries.ravel(), places.ravel(), begin), shape=(n, len(self.sources())))
        points.eliminate_zeros()
        return points

    def _entries(self, table: Table) -> Iterator[tuple[Int64 | int, Float64]]:
        """Column and value of an entry of every row, by increasing column; the other entries are 0."""
        begin, values = 0, np.asarray(_dense(table).values, dtype=np.float64)
        for j, kind in enumerate(self._columns_of_fit().kinds):
            x, width = values[:, j], _width(kind)
            if kind.name == "category" and width:
                is_level = (x >= 0) & (x < width)
                yield begin + np.where(is_level, x, 0).astype(np.int64), is_level / self.scale_[j]
            elif width:
                gaps = np.isnan(x)
                with np.errstate(all="ignore"):
                    scaled = (x - self.center_[j]) / self.scale_[j]
                yield begin, np.where(gaps, self.missing_[j], scaled)
                if width > 1:
                    yield begin + 1, gaps.astype(np.float64)
            begin += width

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the output's columns: ``region=N``, ``income``, ``income is unknown``.

        Parameters
        ----------
        input_features : ignored
            The names of fit are used.

        Returns
        -------
        names : ndarray of shape (n_columns,), object
            All different: if names clash, they are written as in rules, with backticks around the text ``unknown``.
        """
        plain, exact = (self._names(write) for write in (str, quoted))
        count = Counter(plain)
        names = [own if count[name] > 1 else name for name, own in zip(plain, exact, strict=True)]
        return np.array(names, dtype=object)

    def _names(self, write: Callable[[Any], str]) -> list[str]:
        columns = self._columns_of_fit()
        names: list[str] = []
        for name, kind in zip(map(write, columns.names), columns.kinds, strict=True):
            if kind.name == "category":
                levels = ["unknown" if level is None else write(level) for level in kind.levels or ()]
                names += [f"{name}={level}" for level in [*levels, "other"][: _width(kind)]]
            elif _width(kind):
                names += [name, f"{name} is unknown"][: _width(kind)]
        return names

    def _learn(
        self, kind: ColumnKind, x: Float64, mean: float, spread: tuple[float, float]
    ) -> tuple[float, float, float]:
        """Center, scale, and scaled value of missing values of a column."""
        is_absolute = self.distance == "absolute"
        if kind.name == "category":
            v = _width(kind)
            return 0.0, 1.0 if v < 2 else 2.5 * (v - 1) / v if is_absolute else ((v - 1) / v) ** 0.5, 0.0
        if len(x) == 2 and (kind.name == "bool" or self.numbers in ("standard", "robust")):
            center, scale = (x[0] + x[1]) / 2, (x[1] - x[0]) / (1.6 if is_absolute else 2)
        elif len(x) == 0 or self.numbers == "none":
            center, scale = 0.0, 1.0
        elif self.numbers == "minmax":
            center, scale = x[0], x[-1] - x[0]
        else:
            center, scale = spread if len(x) > 1 else (x[0], 1.0)
        scale = float(scale) if scale > 0 and np.isfinite(scale) else 1.0
        at_center = self.numbers in ("standard", "robust") and len(x) != 2
        missing = 0.0 if at_center or not len(x) else (mean - center) / scale
        return float(center), scale, float(missing)

    def _validate_params(self) -> None:
        check_option("numbers", self.numbers, NUMBERS)
        check_option("distance", self.distance, DISTANCES)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scale_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


def _width(kind: ColumnKind) -> int:
    """Number of output columns of a column."""
    if kind.left_out is not None:
        return 0
    if kind.name == "category":
        n_levels = len(kind.levels or ()) + kind.has_other
        return n_levels if n_levels > 1 else 0
    return 1 + kind.has_gaps


def _dense(table: Table) -> Table:
    if table.is_sparse:
        raise UnsupportedInputError(
            "TableScaler takes dense tables; a sparse matrix was passed. Give X.toarray(), or use MaxAbsScaler()."
        )
    return table


def moments(values: npt.NDArray[Any], weights: Float64 | None) -> tuple[Float64, Float64]:
    """Mean and variance of the known values of every column, from exact sums that do not depend on row order."""
    with np.errstate(over="ignore", invalid="ignore"):
        has_gaps = np.isnan(values.sum(axis=0))  # or huge values
    found, of_sums = np.empty((2, values.shape[1])), sum_weights(weights)
    for some, known, rows in known_values(values, ~has_gaps, has_gaps):
        matrix, one = as_matrix(rows), np.zeros(len(rows), dtype=np.int32)
        of_known = None if of_sums is None else of_sums[known]
        found[0, some] = core.cluster_means(matrix, one, 1, of_known)[0]
        found[1, some] = core.cluster_means(matrix, one, 1, of_known, 1, None, found[0, some])[0]
    return found[0], found[1]


def _known(values: Float64, *, every: bool) -> Float64:
    """The distinct known values; unless ``every``, at most the extremes and one between them."""
    known = values[~np.isnan(values)]
    if len(known) and not every:
        low, high = known.min(), known.max()
        between = (known > low) & (known < high)
        known = np.array([low, *known[between][:1], high])
    return np.unique(known)


def _spread(x: Float64, values: Float64, weights: Int64 | None) -> tuple[float, float]:
    """Median and interquartile range of the known values; ``x``: the distinct known values."""
    known = ~np.isnan(values)
    place = np.searchsorted(x, values[known])
    w = np.bincount(place, None if weights is None else weights[known], len(x)).astype(np.float64)
    center = _mean(x, w)
    scale = _quantile(x, w, 0.75) - _quantile(x, w, 0.25)
    return _quantile(x, w, 0.5), scale or _mean((x - center) ** 2, w) ** 0.5


def _mean(x: Float64, w: Float64) -> float:
    """Weighted mean, exact if all values are equal or symmetric about one of them."""
    middle = x[len(x) // 2]
    return float(middle + (w * (x - middle)).sum() / w.sum())


def _quantile(x: Float64, w: Float64, share: float) -> float:
    """The value below which this share of the weight lies; the mean of two neighbors if it falls between them."""
    running = np.cumsum(w)
    at = share * running[-1]
    first = int(np.searchsorted(running, at))
    last = int(np.searchsorted(running, at, side="right"))
    return float((x[min(first, len(x) - 1)] + x[min(last, len(x) - 1)]) / 2)


def standardize(scaler: Any, total_weight: float, means: Float64, variances: Float64) -> None:
    """Set means and variances of a fitted ``StandardScaler`` that do not depend on the order of rows."""
    scaler.mean_ = means
    if not scaler.with_std:
        return
    scaler.var_ = variances
    # scikit-learn's test for a constant column, whose variance is only rounding.
    eps = np.finfo(np.float64).eps
    is_constant = scaler.var_ <= total_weight * eps * scaler.var_ + (total_weight * means * eps) ** 2
    scaler.scale_ = np.where(is_constant, 1.0, np.sqrt(scaler.var_))


def standardize_table(scaler: Any, table: Table, sample_weight: Float64 | None) -> None:
    """Apply ``standardize`` with the exact sums of a table."""
    if not (scaler.with_mean or scaler.with_std):
        return
    values: Any = table.values
    if sample_weight is not None and not sample_weight.all():
        values, sample_weight = values[sample_weight > 0], sample_weight[sample_weight > 0]
    total = float(len(values) if sample_weight is None else sample_weight.sum())
    standardize(scaler, total, *moments(values, sample_weight))
