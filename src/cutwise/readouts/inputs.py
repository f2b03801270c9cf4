"""What every readout needs of its inputs: labels for codes, names for columns, and single columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError
from cutwise.table import Table, as_dense
from cutwise.tree.threshold_tree import ThresholdTree

from .counts import LeafCounts

__all__ = ["check_counts", "check_names", "class_labels", "column_of"]


def check_names(tree: ThresholdTree, names: Sequence[str]) -> None:
    """Refuse names that are not one a column.

    Raises
    ------
    InvalidInputError
        Another number of names than the tree has columns.
    """
    if len(names) != tree.n_features:
        raise InvalidInputError(
            f"The tree has {tree.n_features} columns, and {len(names)} names were given. Give one name a column."
        )


def check_counts(tree: ThresholdTree, counts: LeafCounts) -> None:
    """Refuse counts that are not one a leaf.

    Raises
    ------
    InvalidInputError
        Counts of another tree.
    """
    if counts.n_leaves != tree.n_leaves:
        raise InvalidInputError(
            f"The tree has {tree.n_leaves} leaves, and {counts.n_leaves} were counted. Count the leaves of this tree."
        )


def class_labels(tree: ThresholdTree, classes: npt.NDArray[Any] | None, n_clusters: int | None = None) -> list[Any]:
    """Give every cluster code its label, as a Python value.

    Parameters
    ----------
    tree : ThresholdTree
    classes : ndarray of shape (n_clusters,), optional
        Original labels; the codes when left out.
    n_clusters : int, optional
        Number of codes where it is known; the tree alone does not know of clusters without a leaf.

    Returns
    -------
    labels : list of length n_clusters

    Raises
    ------
    InvalidInputError
        Fewer labels than the tree has codes, or another number than ``n_clusters``.
    """
    used = int(tree.cluster.max()) + 1
    if classes is None:
        labels: list[Any] = list(range(used if n_clusters is None else n_clusters))
    else:
        labels = np.asarray(classes).tolist()
    if len(labels) < used or (n_clusters is not None and len(labels) != n_clusters):
        counted = "" if n_clusters is None else f" and {n_clusters} clusters were counted"
        raise InvalidInputError(
            f"There are {len(labels)} cluster labels, but the tree holds codes up to {used - 1}{counted}. "
            "Give the label of every code."
        )
    return labels


def column_of(table: Table, column: int) -> npt.NDArray[np.generic]:
    """Read one column; shape (n_rows,), dense, in the table's dtype."""
    values: Any = table.values
    return as_dense(values[:, [column]])[:, 0] if table.is_sparse else np.asarray(values[:, column])
