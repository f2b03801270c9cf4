"""Vectors with one value per row: cluster labels (integers, text or booleans, with -1 for noise) and weights."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.exceptions import InvalidInputError, NotFiniteError, UnsupportedInputError, warn

from .convert import is_missing, reading, refuse_mistaken


def as_vector(values: Any, *, what: str) -> npt.NDArray[np.generic]:
    """Convert an array-like, a series or a one-column frame to an ndarray of any shape; nulls remain recognizable.

    A list with text, or of integers that fit no type of NumPy, becomes an array of Python objects, so that its numbers
    remain exact. A series with nulls becomes
    objects (None) or, when numeric, float64 (NaN); a one-column frame has shape (n, 1).
    """
    if sparse.issparse(values):
        raise UnsupportedInputError(
            f"{what} must be one value a row, not a sparse matrix. Use {what}.toarray().ravel()."
        )
    if nw.dependencies.is_into_series(values):
        return _from_series(nw.from_native(values, series_only=True))
    if nw.dependencies.is_into_dataframe(values):
        columns = [
            _from_series(series) for series in nw.from_native(values, eager_only=True).to_dict(as_series=True).values()
        ]
        return np.column_stack(columns) if columns else np.empty((len(values), 0))
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        return np.ma.filled(values.astype(object), np.nan)
    if not isinstance(values, np.ndarray):
        refuse_mistaken(values, what, table=False)
    with reading(f"{what} cannot be read as one value a row", "Give one each."):
        vector = np.asarray(values)
        is_rounded = vector.dtype.kind == "f" and vector.size > 0 and isinstance(values, (list, tuple))
        is_rounded = is_rounded and all(isinstance(item, Integral) for item in values)
        if (vector.dtype.kind in "US" or is_rounded) and not isinstance(values, np.ndarray):
            vector = np.asarray(values, dtype=object)
    return vector


def _from_series(series: nw.Series[Any]) -> npt.NDArray[np.generic]:
    """Convert a column to an array; a null becomes None, or NaN among floats."""
    if series.null_count() == 0 and series.dtype not in (nw.Int128, nw.UInt128):  # numpy does not have these
        return series.to_numpy()
    if series.dtype.is_numeric() and series.null_count():
        return series.cast(nw.Float64).to_numpy()
    return np.array([*series.to_list(), None], dtype=object)[:-1]


NOISE = -1
"""Label of rows without a cluster. Among text labels it may be a number or text, since CSV files have no types."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels as cluster codes."""

    classes: npt.NDArray[np.generic]  # (n_clusters,), the distinct labels in increasing order, as given, without noise
    codes: npt.NDArray[np.int32]  # (n_rows,), positions in ``classes``; -1 marks noise

    @property
    def n_clusters(self) -> int:
        """Number of distinct labels, without noise."""
        return len(self.classes)

    @property
    def n_noise(self) -> int:
        """Number of rows without a cluster."""
        return int(np.count_nonzero(self.codes < 0))


def read_labels(
    y: Any, n_rows: int, *, what: str = "y", estimator: str = "ClusterExplainer", is_part: bool = False
) -> Labels:
    """Check the labels of ``n_rows`` rows and number the clusters.

    Labels are integers, floats that are whole numbers, booleans or text, in an array, a list or a series (also
    categorical). -1 is noise, as a number and, among text labels, also as the text ``"-1"``: the meaning of a column of
    labels does not depend on how it was read. ``is_part``: other rows have labels, too, so all of these may be noise.
    """
    if y is None:
        raise InvalidInputError(
            f"{estimator} requires {what} to be passed, but the target {what} is None. Give the clusters to explain: "
            f"{estimator}().fit(X, clusterer.labels_); ExplainableKMeans(3).fit(X) finds some."
        )
    values = as_vector(y, what=what)
    if values.ndim == 2 and values.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        said = f"A column-vector {what} was passed when a 1d array was expected. Please change the shape of {what} to "
        warn(DataConversionWarning(f"{said}(n_samples, ), for example using ravel()."))
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidInputError(
            f"{what} should be a 1d array, got an array of shape {values.shape} instead. Give one label a row."
        )
    if len(values) != n_rows:
        raise InvalidInputError(
            f"X has {n_rows} rows but {what} has {len(values)} labels (Found input variables with inconsistent numbers "
            f"of samples: [{n_rows}, {len(values)}]). Give one label a row."
        )
    if values.dtype.kind == "O":
        values = _from_objects(values, what)
    _check_kind(values, what)
    classes, codes = _number(values)
    if len(classes) == 0 and not is_part:
        raise InvalidInputError(
            f"Every label in {what} is -1, which means noise: there is no cluster. Give at least one row another label."
        )
    return Labels(classes, codes)


def _from_objects(values: npt.NDArray[np.generic], what: str) -> npt.NDArray[np.generic]:
    """Convert labels that are Python objects to the dtype that fits all; text remains objects."""
    items = values.tolist()
    types = set(map(type, items))
    if all(issubclass(t, str) for t in types):  # numpy's strings, too, become Python's
        return values if types == {str} else np.array([*map(str.__str__, items), None], dtype=object)[:-1]
    for row, value in enumerate(items):
        if is_missing(value):
            raise _missing(what, row)
        if not isinstance(value, (str, Real, np.bool_)):
            raise _unsupported(what, row, value)
    if any(issubclass(t, str) for t in types):  # text, and perhaps the number -1
        texts = [str.__str__(item) if isinstance(item, str) else item for item in items]
        words = [str(NOISE) if isinstance(item, Real) and item == NOISE else item for item in texts]
        if all(isinstance(word, str) for word in words):
            return np.array(words, dtype=object)
        raise InvalidInputError(
            f"{what} mixes numbers and text. Turn all labels into one kind, for instance with "
            f"[str(label) for label in {what}]."
        )
    if all(issubclass(t, (bool, np.bool_)) for t in types):
        return np.array(items, dtype=np.bool_)
    are_whole = all(issubclass(t, (Integral, np.bool_)) for t in types)
    try:
        is_long = are_whole and max(items) >= 2**63
        return np.array(items, dtype=np.uint64 if is_long else np.int64 if are_whole else np.float64)
    except OverflowError as error:
        raise InvalidInputError(f"{what} holds integers beyond 64 bits. Use smaller numbers, or text.") from error


def _check_kind(values: npt.NDArray[np.generic], what: str) -> None:
    """Raise an error for labels other than integers, booleans or text."""
    kind = values.dtype.kind
    if kind == "f":
        floats = values.astype(np.float64, copy=False)
        wrong = np.flatnonzero(~np.isfinite(floats))
        if len(wrong):
            row = int(wrong[0])
            if np.isnan(floats[row]):
                raise _missing(what, row)
            raise NotFiniteError(
                f"Input {what} contains infinity: row {row} (rows are counted from 0). "
                "Labels are whole numbers or text."
            )
        wrong = np.flatnonzero(floats != np.rint(floats))
        if len(wrong):
            row = int(wrong[0])
            raise InvalidInputError(
                f"Unknown label type: continuous. {what} holds {floats[row].item()!r} in row {row} (rows are counted "
                "from 0), and labels are whole numbers or text. Pass cluster labels, not measurements."
            )
    elif kind not in "iubUO":
        raise _unsupported(what, 0, values[0])


def _number(values: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.int32]]:
    """Distinct labels without noise, and each row's position among them, -1 for noise."""
    if values.dtype.kind in "OU":
        return _number_text(values)
    classes, inverse = np.unique(values, return_inverse=True)
    noise = classes == -1
    code_of = np.cumsum(~noise, dtype=np.int32) - np.int32(1)
    code_of[noise] = -1
    return classes[~noise], code_of[inverse.reshape(-1)]


def _number_text(values: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.int32]]:
    """See ``_number``; for text a dictionary is faster than a sort, which compares strings n log n times."""
    items = values.tolist()
    distinct = sorted(set(items) - {str(NOISE)})
    code_of = {label: code for code, label in enumerate(distinct)} | {str(NOISE): -1}
    codes = np.fromiter(map(code_of.__getitem__, items), dtype=np.int32, count=len(items))
    return np.array(distinct, dtype=values.dtype), codes


def _missing(what: str, row: int) -> NotFiniteError:
    return NotFiniteError(
        f"Input {what} contains NaN: row {row} (rows are counted from 0) has no label. Label it -1 if it belongs to no "
        "cluster, or drop the row."
    )


def _unsupported(what: str, row: int, value: object) -> UnsupportedInputError:
    return UnsupportedInputError(
        f"Unknown label type: {what} holds {value!r} in row {row} (rows are counted from 0), of type "
        f"{type(value).__name__!r}. Labels are whole numbers, text or booleans; turn others into text with str()."
    )
