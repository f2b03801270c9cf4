"""A sentence per row: its cluster, the conditions that put it there, and the row's own values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.table import Table, read_table
from cutwise.tree.threshold_tree import ThresholdTree

from .conditions import Condition, conditions_of, walk_leaves
from .inputs import check_names, class_labels, column_of
from .names import cluster_titles
from .words import number, quoted

__all__ = ["explain_rows"]


def explain_rows(
    tree: ThresholdTree,
    names: Sequence[str],
    X: Any,
    classes: npt.NDArray[Any] | None = None,
    cluster_names: Mapping[Any, str] | None = None,
) -> list[str]:
    """Say for every row why it is in its cluster.

    Parameters
    ----------
    tree : ThresholdTree
    names : sequence of str, one a column
    X : array_like, sparse matrix, data frame or Table, of shape (n_rows, n_features)
    classes : ndarray of shape (n_clusters,), optional
        The original label of every cluster code; the codes themselves when left out.
    cluster_names : mapping of label to str, optional
        Names to write in place of labels, as ``read_cluster_names`` gives them.

    Returns
    -------
    sentences : list of str, one a row
        ``cluster 2 because petal_length <= 2.6 (is 1.4) and 35 < age <= 60 (is 41)``: the merged conditions of the
        row's leaf, each with the row's value. Values are exact, and as short as their dtype allows: a float32 is
        written as such unless the shorter decimal would contradict the condition.

    Raises
    ------
    ColumnMismatchError
        Another number of columns than the tree's.
    InvalidInputError
        Names or classes that do not fit the tree, or anything that is no table of finite numbers.
    """
    check_names(tree, names)
    titles = cluster_titles(class_labels(tree, classes), cluster_names)
    table = X if isinstance(X, Table) else read_table(X)
    leaf = tree.apply(table)
    order = np.argsort(leaf, kind="stable")
    first = np.searchsorted(leaf[order], tree.leaves)
    last = np.append(first[1:], len(order))
    columns: dict[int, npt.NDArray[np.generic]] = {}
    sentences = [""] * table.n_rows
    for i, (node, regions, _) in enumerate(walk_leaves(tree)):
        rows = order[first[i] : last[i]]
        if len(rows) == 0:
            continue
        head = f"cluster {quoted(titles[tree.cluster[node]])} because "
        conditions = conditions_of(regions, names)
        if not conditions:
            told = [f"{head}every row is"] * len(rows)
        else:
            parts = []
            for condition in conditions:
                if condition.feature not in columns:
                    columns[condition.feature] = column_of(table, condition.feature)
                written = _write_values(columns[condition.feature][rows], condition)
                opening = f"{condition} (is "
                parts.append([f"{opening}{value})" for value in written])
            told = [head + " and ".join(row) for row in zip(*parts, strict=True)]
        for row, sentence in zip(rows.tolist(), told, strict=True):
            sentences[row] = sentence
    return sentences


def _write_values(values: npt.NDArray[np.generic], condition: Condition) -> list[str]:
    """Write the values of rows that satisfy a condition."""
    if values.dtype.kind in "iu":
        return list(map(str, values.tolist()))
    if values.dtype != np.float32:
        return list(map(number, values.tolist()))
    # A float32 is known to seven digits or so, and its float64 has up to seventeen: write 0.1, not 0.10000000149011612.
    # But "x > 0.1 (is 0.1)" would read as a contradiction: then write all of it.
    distinct, position = np.unique(values, return_inverse=True)
    short = [str(value).removesuffix(".0") for value in distinct]
    true_as_written = condition.holds(np.array(short, dtype=np.float64))
    written = [
        text if fits else number(value)
        for text, fits, value in zip(short, true_as_written.tolist(), distinct.tolist(), strict=True)
    ]
    return [written[i] for i in position.tolist()]
