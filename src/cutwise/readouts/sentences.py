"""A sentence per row: its cluster, the conditions that put it there, and the row's own values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cutwise.table import Table, read_table
from cutwise.tree.threshold_tree import ThresholdTree

from .changes import Change
from .conditions import Condition, conditions_of, walk_leaves
from .inputs import check_names, class_labels, column_of
from .names import cluster_titles
from .words import number, percent, quoted, rows

if TYPE_CHECKING:  # clusters say themselves with the function below
    from .rules import ClusterRules

__all__ = ["changes_in_words", "cluster_sentence", "explain_rows"]


def cluster_sentence(cluster: ClusterRules) -> str:
    """Say who is in a cluster, and how well that says the reference cluster.

    Parameters
    ----------
    cluster : ClusterRules

    Returns
    -------
    sentence : str
        ``Cluster students holds 412 rows (27.5 %): those with income > 52000 and age <= 35. 98.1 % of them are in that
        cluster of the reference too, and 96.0 % of the latter are among them.``
    """
    title = quoted(cluster.title)
    if not cluster.rules:
        return f"Cluster {title} holds no rows: no leaf of the tree says it."
    if any(not rule.conditions for rule in cluster.rules):
        who = "all there are"
    else:
        who = "those with " + ", or with ".join(map(str, cluster.rules))
    told = f"Cluster {title} holds {rows(cluster.size)} ({percent(cluster.share)}): {who}."
    if not cluster.size:
        return told
    return (
        f"{told} {percent(cluster.purity)} of them are in that cluster of the reference too, and "
        f"{percent(cluster.coverage)} of the latter are among them."
    )


def changes_in_words(changes: Mapping[Any, Change | None], cluster_names: Mapping[Any, str] | None = None) -> str:
    """Say the smallest changes of one row.

    Parameters
    ----------
    changes : mapping of label to Change or None
        As ``smallest_changes`` gives them.
    cluster_names : mapping of label to str, optional
        As ``read_cluster_names`` gives them.

    Returns
    -------
    text : str
        ``to cluster 2: petal_length from 4.9 to above 4.95; to cluster 0: no change of one column is enough``.
    """
    if not changes:
        return "there is no other cluster"
    parts = []
    for label, change in changes.items():
        title = quoted((cluster_names or {}).get(label, label))
        parts.append(f"to cluster {title}: {'no change of one column is enough' if change is None else change}")
    return "; ".join(parts)


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
        here = order[first[i] : last[i]]
        if len(here) == 0:
            continue
        head = f"cluster {quoted(titles[tree.cluster[node]])} because "
        conditions = conditions_of(regions, names)
        if not conditions:
            told = [f"{head}every row is"] * len(here)
        else:
            parts = []
            for condition in conditions:
                if condition.feature not in columns:
                    columns[condition.feature] = column_of(table, condition.feature)
                written = _write_values(columns[condition.feature][here], condition)
                opening = f"{condition} (is "
                parts.append([f"{opening}{value})" for value in written])
            told = [head + " and ".join(row) for row in zip(*parts, strict=True)]
        for row, sentence in zip(here.tolist(), told, strict=True):
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
