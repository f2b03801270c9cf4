"""The reference of any clusterer, fitted or not: scikit-learn's, a pipeline, or whatever follows its conventions."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from cutwise.core import Float64, Int32
from cutwise.exceptions import ColumnMismatchError, CutwiseWarning, InvalidInputError, warn
from cutwise.table.convert import as_dense
from cutwise.table.labels import read_labels
from cutwise.table.table import Table

from .objective import PLAIN, Measure, Reference, from_centers, from_labels, wrong_number
from .resources import one_thread

_MOST_MISTAKEN = 0.05
"""Share of rows whose label may differ from what the clusterer says of them now; ties and float32 make far fewer."""

_MOST_LOST = 1.1
"""A clusterer's centers are kept where the best centers of its labels are no tenth cheaper."""

_MOST_STRANGE, _LEAST_UNEXPLAINED = 1.5, 0.7
"""Centers may cost so many times what the best centers of the same clusters do, or such a share of what one cluster
does. Of 1,512 clusterers fitted on a tenth of a table or more none came nearer than 0.87 to both; of those fitted on
such rows scaled, six in seven went beyond."""


def from_estimator(
    estimator: Any, table: Table, n_clusters: int, by: Measure = PLAIN, *, X: Any = None, preprocessor: Any = None
) -> Reference:
    """The clustering of a clusterer.

    ``estimator``: unfitted: a clone is fitted, on one thread, with the weights where it takes them. Fitted: used as it
    is, and not changed. ``table``: the rows in the metric space. ``n_clusters``: how many clusters it must have. ``X``:
    the same rows as the estimator should be given them (a frame with names, say); ``table.values`` by default.
    ``preprocessor``: what the rows went through; messages name it. Returns ``reference``: labels are its ``labels_``
    where it was fitted on these rows, else what it predicts for them. Centers are its ``cluster_centers_`` where these
    serve the labels about as well as any, else the objective's best. Raises ``InvalidInputError``: not a clusterer,
    another number of clusters (both numbers are given), other columns, a fitted clusterer that cannot predict and was
    fitted on another number of rows, or one to whom these rows are strange: they were scaled, or not scaled, when it
    was fitted. Warns ``CutwiseWarning``: there are weights, and the unfitted clusterer takes none.
    """
    name = type(estimator).__name__
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        given = f"the class {estimator.__name__}" if isinstance(estimator, type) else f"an object of type {name}"
        raise InvalidInputError(
            f"reference must be None, a clusterer or an array of centers, not {given}. "
            f"{f'Call it: {estimator.__name__}()' if isinstance(estimator, type) else 'A clusterer has a fit method'}."
        )
    rows = table.values if X is None else X
    if was_fitted := is_fitted(estimator):
        check_columns(estimator, table)
    else:
        estimator = _fit(estimator, rows, n_clusters, by.sample_weight)
    centers = _centers(estimator, table, n_clusters)
    near = None if centers is None else from_centers(table, centers, n_clusters, by, what=name)
    labels = fitted_labels(estimator, rows, table.n_rows, near=near, preprocessor=preprocessor)
    of_other_rows = _own_labels(estimator, table.n_rows) is None
    if was_fitted and of_other_rows and n_clusters > 1:
        _check_same_rows(estimator, table, labels, near, preprocessor, by)
    codes = None if centers is None else _as_codes(labels, n_clusters)
    if codes is None:
        read = read_labels(labels, table.n_rows, what=f"the labels of {name}")
        if read.n_clusters != n_clusters:
            raise wrong_number(f"reference={name}", read.n_clusters, n_clusters)
        return from_labels(table, read.codes, n_clusters, by)
    found = from_labels(table, codes, n_clusters, by, centers=centers)
    if of_other_rows or np.bincount(codes[codes >= 0], minlength=n_clusters).min() == 0:
        return found
    best = from_labels(table, codes, n_clusters, by)
    return found if found.cost <= _MOST_LOST * best.cost else best


def fitted_labels(
    estimator: Any, rows: Any, n_rows: int, *, near: Reference | None = None, preprocessor: Any = None
) -> npt.NDArray[Any]:
    """What a fitted clusterer says of rows: its ``labels_`` where it was fitted on them, else what it predicts.

    ``estimator``: fitted. ``near``: every row with its nearest center, where the clusterer has centers.
    ``preprocessor``: what the rows went through; messages name it. Returns ``labels`` (n_rows,). Raises
    ``InvalidInputError``: ``labels_`` are not what the clusterer says of the rows now, or it can say nothing of them.
    """
    own = _own_labels(estimator, n_rows)
    predicts, most = hasattr(estimator, "predict"), _MOST_MISTAKEN * n_rows
    if own is not None and (not predicts or (near is not None and _mistaken(own, near.labels) <= most)):
        return own
    if not predicts:
        raise _no_labels_error(estimator, n_rows)
    predicted = np.asarray(_predict(estimator, rows))
    if own is None:
        return predicted
    mistaken = _mistaken(own, predicted)
    if mistaken > most:
        raise _other_rows_error(
            estimator, f"its labels_ are not what it says of them now ({mistaken:,} of {n_rows:,} differ)", preprocessor
        )
    return own


def _own_labels(estimator: Any, n_rows: int) -> npt.NDArray[Any] | None:
    """``labels_``, of a pipeline those of its last step; None where it was fitted on another number of rows."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    labels = getattr(last, "labels_", None)
    return None if labels is None or np.shape(labels) != (n_rows,) else np.asarray(labels)


def _mistaken(labels: npt.NDArray[Any], others: npt.NDArray[Any]) -> int:
    """Rows whose labels differ, noise apart: a clusterer may predict a cluster for it."""
    return int(((labels != others) & (labels != -1)).sum())


def _as_codes(labels: npt.NDArray[Any], n_clusters: int) -> Int32 | None:
    """Labels as numbers of centers, -1 for noise; None where they are none."""
    if labels.dtype.kind not in "iu" or labels.min() < -1 or labels.max() >= n_clusters:
        return None
    return labels.astype(np.int32)


def check_columns(estimator: Any, table: Table) -> None:
    """Refuse other columns than the clusterer was fitted on."""
    name, n_columns = type(estimator).__name__, getattr(estimator, "n_features_in_", table.n_columns)
    if n_columns != table.n_columns:
        raise InvalidInputError(
            f"reference={name} was fitted on {n_columns} columns, but the rows have {table.n_columns} where distances "
            "are measured. Fit it on X, or on the preprocessor's output where there is one."
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is not None and table.has_names and tuple(fitted) != table.names:
        raise ColumnMismatchError.of_names(tuple(fitted), table.names, model=f"reference={name}")


def _check_same_rows(
    estimator: Any, table: Table, labels: npt.NDArray[Any], near: Reference | None, preprocessor: Any, by: Measure
) -> None:
    """Refuse rows that are all put into one cluster, or that the centers serve far worse than means of such rows would.

    Centers that were fitted on rows like these cost little more than the means of the parts that they make of these,
    or, where there are no clusters, little more than one mean. Those of another scale cost more than either.
    """
    if (labels == labels[0]).all():
        raise _other_rows_error(estimator, f"it puts all {table.n_rows:,} into one cluster", preprocessor)
    if near is None:
        means = getattr(estimator, "means_", None)  # of scikit-learn's mixtures
        if means is None or np.shape(means)[1:] != (table.n_columns,):
            return
        near = from_centers(table, means, by=by)
    counted = slice(None) if by.sample_weight is None else by.sample_weight > 0
    used, parts = np.unique(near.labels[counted], return_inverse=True)
    codes = np.full(table.n_rows, -1, dtype=np.int32)
    codes[counted] = parts
    own = from_labels(table, codes, len(used), by)
    one = from_labels(table, np.zeros(table.n_rows, dtype=np.int32), 1, by)
    if near.cost > max(_MOST_STRANGE * own.cost, _LEAST_UNEXPLAINED * one.cost):
        times = near.cost / own.cost if own.cost > 0 else np.inf
        best = f"the {by.objective.center_word}s of the same clusters"
        raise _other_rows_error(estimator, f"its centers cost {times:.3g} times as much as {best} do", preprocessor)


def _other_rows_error(estimator: Any, why: str, preprocessor: Any) -> InvalidInputError:
    """The error of a clusterer that was fitted on rows of another scale, or on others altogether."""
    name = type(estimator).__name__
    if preprocessor is None:
        cause = (
            "it was fitted on rows that a scaler had changed. Give that scaler as preprocessor: distances are then "
            "measured in its output, and rules stay in the units of X"
        )
    else:
        cause = f"it was fitted on rows that {type(preprocessor).__name__} had not changed. " + (
            "Leave preprocessor out: distances are then measured in the output of the pipeline's own steps"
            if isinstance(estimator, Pipeline)
            else "Fit it on the preprocessor's output, or leave the preprocessor out"
        )
    return InvalidInputError(
        f"reference={name} does not fit the rows: {why}. Most likely {cause}.\nIf these are other rows, or the same in "
        "another order, fit it again, or give its centers alone: reference=clusterer.cluster_centers_."
    )


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator is fitted, by scikit-learn's own check."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _fit(estimator: Any, rows: Any, n_clusters: int, sample_weight: Float64 | None) -> Any:
    name = type(estimator).__name__
    if is_classifier(estimator) or is_regressor(estimator):
        raise InvalidInputError(
            f"reference={name} learns from y, and finds no clusters. Give a clusterer, or explain what it predicts: "
            "ClusterExplainer().fit(X, model.predict(X))."
        )
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    expected = last.get_params(deep=False).get("n_clusters") if hasattr(last, "get_params") else None
    if isinstance(expected, (int, np.integer)) and expected != n_clusters:
        raise wrong_number(f"reference={name}", int(expected), n_clusters)
    parameters = {}
    if sample_weight is not None:
        if has_fit_parameter(last, "sample_weight"):
            prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
            parameters = {f"{prefix}sample_weight": sample_weight}
        else:
            said = f"{type(last).__name__} takes no sample_weight: it clusters the rows without weights, and only the "
            warn(CutwiseWarning(f"{said}tree and the costs are weighted."))
    unfitted = copying_clone(estimator)
    # The weights are for the clusterer only, as a parameter of its step; a pipeline takes that without routing alone.
    with one_thread(), config_context(enable_metadata_routing=False):
        return unfitted.fit(unshared(rows, unfitted), **parameters)


def copying_clone(estimator: Any) -> Any:
    """An unfitted copy without leave to write into the rows it is given: ``copy=False``, also of steps, becomes True.

    With ``copy=False`` scikit-learn's scalers overwrite their input: the table that the tree is about to cut, and the
    caller's own.
    """
    unfitted = clone(estimator)
    if writes := _leave_to_write(unfitted):
        unfitted.set_params(**dict.fromkeys(writes, True))
    return unfitted


def unshared(rows: Any, estimator: Any) -> Any:
    """Rows that an estimator may be given: a copy, unless it is known not to write into its input.

    Known are scikit-learn's own, with all their steps, unless one has ``copy=False`` or calls a function of the user's.
    Anybody else's may write, and the caller's table, which the tree also reads, would not be the same after.

    Returns ``rows``: the very same object, or a deep copy of it.
    """
    return rows if _never_writes(estimator) else deepcopy(rows)


def _never_writes(estimator: Any) -> bool:
    if not hasattr(estimator, "get_params") or _leave_to_write(estimator):
        return False
    parts = [part for part in estimator.get_params(deep=True).values() if not isinstance(part, type)]
    functions = [part for part in parts if callable(part) and not isinstance(part, np.ufunc)]
    estimators = [estimator, *(part for part in parts if hasattr(part, "fit"))]
    return not functions and all(type(each).__module__.partition(".")[0] == "sklearn" for each in estimators)


def _leave_to_write(estimator: Any) -> list[str]:
    """Names of the parameters, also of steps, by which an estimator may overwrite its input."""
    return [
        name
        for name, value in estimator.get_params(deep=True).items()
        if value is False and name.rpartition("__")[2] in ("copy", "copy_x", "copy_X")
    ]


def _centers(estimator: Any, table: Table, n_clusters: int) -> Float64 | None:
    """``cluster_centers_`` as points of the metric space.

    A pipeline's are not, but of its last step's input; nor are those of a model of cutwise with a preprocessor.
    """
    centers = getattr(estimator, "cluster_centers_", None)
    elsewhere = isinstance(estimator, Pipeline) or getattr(estimator, "preprocessor_", None) is not None
    if elsewhere or centers is None or not hasattr(centers, "shape"):
        return None
    array = as_dense(centers)
    if array.ndim != 2 or array.dtype.kind not in "fiub" or array.shape[1] != table.n_columns:
        return None
    if len(array) != n_clusters:
        raise wrong_number(f"reference={type(estimator).__name__}", len(array), n_clusters)
    return array.astype(np.float64)


def _predict(estimator: Any, rows: Any) -> Any:
    with one_thread(), warnings.catch_warnings():
        # Names were compared where both have them: a preprocessor may give arrays for frames, and the reverse.
        warnings.filterwarnings("ignore", message="X (has|does not have valid) feature names", category=UserWarning)
        return estimator.predict(unshared(rows, estimator))


def _no_labels_error(estimator: Any, n_rows: int) -> InvalidInputError:
    """The error of a clusterer that cannot predict, and whose ``labels_`` are of other rows, if it has any."""
    name = type(estimator).__name__
    labels = getattr(estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator, "labels_", None)
    if labels is None:
        return InvalidInputError(
            f"reference={name} is not a clusterer: it has neither predict, labels_ nor cluster_centers_."
        )
    return InvalidInputError(
        f"reference={name} was fitted on {len(labels)} rows and cannot predict, but X has {n_rows} rows. "
        "Fit it on the same rows, or pass it unfitted."
    )
