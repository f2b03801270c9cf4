"""From the ``reference`` parameter to the clustering that a tree is grown against, and the rows that grow it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.estimators._context import FitContext
from cutwise.estimators._progress import Stages
from cutwise.estimators._rows import MetricSpace, TrainingRows, encode_rows
from cutwise.exceptions import InvalidInputError
from cutwise.reference import KMEANS, Objective, Reference, find_reference, from_centers, from_estimator
from cutwise.table import Seed, Table, as_dense, read_table

__all__ = ["ReferenceRecipe", "cut_coordinates", "is_clusterer", "make_reference", "read_centers", "read_costs"]


@dataclass(frozen=True)
class ReferenceRecipe:
    """What decides the reference, apart from the rows."""

    given: Any  # a clusterer or centers of shape (n_clusters, n_columns); None for our own by the objective
    n_clusters: int
    n_init: int
    random_state: Seed
    n_jobs: int
    verbose: int
    objective: Objective = KMEANS


def make_reference(
    recipe: ReferenceRecipe,
    table: Table,
    space: MetricSpace,
    sample_weight: npt.NDArray[np.float64] | None,
    stages: Stages,
) -> FitContext:
    """Find the reference, and encode those of the n rows that take part."""
    k, n_jobs, objective = recipe.n_clusters, recipe.n_jobs, recipe.objective
    if is_clusterer(recipe.given):
        with stages.stage("reference clustering"):
            full = from_estimator(
                recipe.given,
                space.table,
                k,
                X=space.rows,
                objective=objective,
                sample_weight=sample_weight,
                n_jobs=n_jobs,
                preprocessor=space.preprocessor,
            )
        with stages.stage("encoding"):
            noise = full.labels < 0
            keep = ~noise if noise.any() else None
            # A clusterer may label equal rows differently; then they cannot be one row.
            rows = encode_rows(table, space.table, sample_weight, keep=keep, shared=full.labels, n_jobs=n_jobs)
        row_costs = full.row_costs if rows.encoded.row_of is None else None
        reference = replace(full, labels=rows.compress(full.labels), row_costs=row_costs)
        return FitContext(rows, reference, full.labels, sample_weight, objective)

    with stages.stage("encoding"):
        rows = encode_rows(table, space.table, sample_weight, n_jobs=n_jobs)
    with stages.stage("reference clustering"):
        if recipe.given is None:
            reference = find_reference(
                rows.metric,
                k,
                objective=objective,
                n_init=recipe.n_init,
                random_state=recipe.random_state,
                sample_weight=rows.sample_weight,
                n_jobs=n_jobs,
                verbose=max(recipe.verbose - 1, 0),
            )
        else:
            reference = from_centers(
                rows.metric, recipe.given, k, objective=objective, sample_weight=rows.sample_weight, n_jobs=n_jobs
            )
    labels = rows.spread(reference.labels)
    if len(rows.left_out):
        left_out = core.as_matrix(space.table.values[rows.left_out])
        labels[rows.left_out] = objective.assign(left_out, reference.centers, n_jobs)[0]
    return FitContext(rows, reference, labels, sample_weight, objective)


def cut_coordinates(
    rows: TrainingRows, reference: Reference, space: MetricSpace, objective: Objective
) -> npt.NDArray[np.float64]:
    """The clusters' coordinates in the columns that may be cut, shape (k, d).

    With a preprocessor these are the centers of the clusters' raw rows; a cluster without rows is put at the row that
    is nearest to its center.
    """
    if space.preprocessor is None:
        return reference.centers
    coordinates, _ = rows.centers(objective, reference.labels, reference.n_clusters, raw=True)
    for cluster in np.flatnonzero(np.isnan(coordinates).any(axis=1)):
        distances = objective.costs(rows.metric.matrix, reference.centers[[cluster]], rows.n_jobs)
        coordinates[cluster] = rows.raw_row(int(distances.argmin()))
    return coordinates


def is_clusterer(given: Any) -> bool:
    """Whether ``reference`` is meant as a clusterer: neither None nor numbers (a frame may have a column ``fit``)."""
    if given is None or (hasattr(given, "__array__") and not isinstance(given, type)):
        return False
    return isinstance(given, type) or hasattr(given, "fit") or hasattr(given, "predict")


def read_centers(
    centers: Any, n_clusters: int, n_columns: int, *, what: str = "centers", order: str = "the sorted labels"
) -> npt.NDArray[np.float64]:
    """Check centers of clusters, shape (n_clusters, n_columns); ``order`` tells messages how they are sorted."""
    given = _dense(centers, what)
    if given.shape != (n_clusters, n_columns):
        raise InvalidInputError(
            f"{what} has shape {given.shape}, but there are {n_clusters} clusters and {n_columns} columns.\n"
            f"Give one row for each cluster{order and f', in the order of {order}'}: shape ({n_clusters}, {n_columns})."
        )
    return given


def read_costs(costs: Any, n_rows: int, n_clusters: int) -> npt.NDArray[np.float64]:
    """The cost of each row by each cluster as float64, shape (n_rows, n_clusters), checked."""
    given = _dense(costs, "costs")
    if given.shape != (n_rows, n_clusters):
        raise InvalidInputError(
            f"costs has shape {given.shape}, but there are {n_rows} rows and {n_clusters} clusters.\n"
            f"Give one row for each row of X and one column for each cluster, in the order of the sorted labels: "
            f"shape ({n_rows}, {n_clusters})."
        )
    if given.min() < 0:
        row, cluster = np.argwhere(given < 0)[0]
        raise InvalidInputError(
            f"costs holds {given[row, cluster].item()!r} in row {row}, column {cluster} (counted from 0), and a cost "
            "is at least 0.\nAdd the same number to every cost of a row: it changes no tree, only the cost ratio."
        )
    return given


def _dense(values: Any, what: str) -> npt.NDArray[np.float64]:
    return np.ascontiguousarray(as_dense(read_table(values, what=what).values), dtype=np.float64)
