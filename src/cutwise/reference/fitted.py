"""The reference of any clusterer, fitted or not: scikit-learn's, a pipeline, or whatever follows its conventions."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from cutwise.exceptions import CutwiseWarning, InvalidInputError
from cutwise.table import Table, as_dense, read_labels

from .given import from_centers, from_labels, wrong_number
from .objective import KMEANS, Objective
from .result import Reference
from .threads import one_thread

__all__ = ["copying_clone", "from_estimator", "unshared"]


def from_estimator(
    estimator: Any,
    table: Table,
    n_clusters: int,
    *,
    X: Any = None,
    objective: Objective = KMEANS,
    sample_weight: npt.NDArray[np.float64] | None = None,
    n_jobs: int = 1,
) -> Reference:
    """The clustering of a clusterer.

    Parameters
    ----------
    estimator : clusterer or Pipeline that ends in one
        Unfitted: a clone is fitted, on one thread, with the weights where it takes them. Fitted: used as it is, and not
        changed.
    table : Table
        The rows in the metric space.
    n_clusters : int
        How many clusters it must have.
    X : object, optional
        The same rows as the estimator should be given them (a frame with names, say); ``table.values`` by default.
    objective : Objective, default KMEANS
    sample_weight : ndarray of shape (n_rows,), float64, optional
    n_jobs : int, default 1
        For our own part.

    Returns
    -------
    reference : Reference
        With ``cluster_centers_`` of one row per cluster in the table's columns: those, and every row's nearest of them.
        Otherwise the labels that ``predict``, or else ``labels_``, gives, and the
        objective's best centers of their rows.

    Raises
    ------
    InvalidInputError
        Not a clusterer, another number of clusters (both numbers are given), another number of columns, or a fitted
        clusterer that has neither centers nor ``predict`` and was fitted on another number of rows.

    Warns
    -----
    CutwiseWarning
        There are weights, and the unfitted clusterer takes none.
    """
    name = type(estimator).__name__
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        given = f"the class {estimator.__name__}" if isinstance(estimator, type) else f"an object of type {name}"
        raise InvalidInputError(
            f"reference must be None, a clusterer or an array of centers, not {given}. "
            f"{f'Call it: {estimator.__name__}()' if isinstance(estimator, type) else 'A clusterer has a fit method'}."
        )
    rows = table.values if X is None else X
    if not _is_fitted(estimator):
        estimator = _fit(estimator, rows, n_clusters, sample_weight)
    centers = _centers(estimator, name, table, n_clusters)
    if centers is not None:
        return from_centers(
            table, centers, n_clusters, objective=objective, sample_weight=sample_weight, n_jobs=n_jobs, what=name
        )
    labels = read_labels(_labels(estimator, name, rows, table.n_rows), table.n_rows, what=f"the labels of {name}")
    if labels.n_clusters != n_clusters:
        raise wrong_number(f"reference={name}", labels.n_clusters, n_clusters)
    return from_labels(table, labels.codes, n_clusters, objective=objective, sample_weight=sample_weight, n_jobs=n_jobs)


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _fit(estimator: Any, rows: Any, n_clusters: int, sample_weight: npt.NDArray[np.float64] | None) -> Any:
    name = type(estimator).__name__
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    asked = last.get_params(deep=False).get("n_clusters") if hasattr(last, "get_params") else None
    if isinstance(asked, (int, np.integer)) and asked != n_clusters:
        raise wrong_number(f"reference={name}", int(asked), n_clusters)
    parameters = {}
    if sample_weight is not None:
        if has_fit_parameter(last, "sample_weight"):
            prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
            parameters = {f"{prefix}sample_weight": sample_weight}
        else:
            warnings.warn(
                f"{type(last).__name__} takes no sample_weight: it clusters the rows without weights, and only the "
                "tree and the costs are weighted.",
                CutwiseWarning,
                stacklevel=4,
            )
    unfitted = copying_clone(estimator)
    # Weights are for the clusterer alone, which a pipeline is told by a name that it takes only without routing.
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

    Known are scikit-learn's own, with all their steps, unless one has ``copy=False`` or calls a function of the
    user's. Anybody else's may write, and the caller's table, which the tree also reads, would not be the same after.

    Parameters
    ----------
    rows : array-like, sparse matrix or data frame
    estimator : estimator

    Returns
    -------
    rows : as given
        The very same object, or a deep copy of it.
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


def _centers(estimator: Any, name: str, table: Table, n_clusters: int) -> npt.NDArray[np.float64] | None:
    """``cluster_centers_`` as points of the metric space; a pipeline's are not, but of its last step's input."""
    centers = getattr(estimator, "cluster_centers_", None)
    if isinstance(estimator, Pipeline) or centers is None or not hasattr(centers, "shape"):
        return None
    n_columns = getattr(estimator, "n_features_in_", table.n_columns)
    if n_columns != table.n_columns:
        raise InvalidInputError(
            f"reference={name} was fitted on {n_columns} columns, but the rows have {table.n_columns} where distances "
            "are measured. Fit it on X, or on the preprocessor's output where there is one."
        )
    array = as_dense(centers)
    if array.ndim != 2 or array.dtype.kind not in "fiub" or array.shape[1] != table.n_columns:
        return None
    if len(array) != n_clusters:
        raise wrong_number(f"reference={name}", len(array), n_clusters)
    return array.astype(np.float64)


def _labels(estimator: Any, name: str, rows: Any, n_rows: int) -> Any:
    if hasattr(estimator, "predict"):
        with one_thread():
            return estimator.predict(unshared(rows, estimator))
    labels = getattr(estimator, "labels_", None)
    if labels is None and isinstance(estimator, Pipeline):
        labels = getattr(estimator.steps[-1][1], "labels_", None)
    if labels is None:
        raise InvalidInputError(
            f"reference={name} is no clusterer: it has neither predict, labels_ nor cluster_centers_."
        )
    if len(labels) != n_rows:
        raise InvalidInputError(
            f"reference={name} was fitted on {len(labels)} rows and cannot predict, but X has {n_rows} rows. "
            "Fit it on the same rows, or pass it unfitted."
        )
    return labels
