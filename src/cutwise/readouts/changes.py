"""The smallest change of a single column that would move a row to another cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.table import Table, read_table
from cutwise.tree.threshold_tree import ThresholdTree

from .conditions import Region, walk_leaves
from .inputs import check_names, class_labels, column_of
from .names import Titled
from .words import finite, number, quoted

__all__ = ["Change", "smallest_changes"]


@dataclass(frozen=True)
class Change(Titled):
    """One column set to another value, everything else left as it is, moves a row to another cluster.

    Attributes
    ----------
    cluster : int, str, ...
        The cluster that the row would be in.
    name : str or None
        The name that people gave that cluster.
    leaf : int
        The leaf it would reach.
    feature : int
        The column's position.
    column : str
        The column's name.
    value : float
        What the row has there.
    target : float
        The nearest float64 that moves the row.
    lower, upper : float
        Any value with ``lower < value <= upper`` reaches that leaf; infinite where that side is open.
    size : float
        The distance from ``value`` to ``target``, in units of the column's spread.
    """

    cluster: Any
    name: str | None
    leaf: int
    feature: int
    column: str
    value: float
    target: float
    lower: float
    upper: float
    size: float

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON can hold it; ``None`` stands for an open side."""
        return {
            "cluster": self.cluster,
            "name": self.name,
            "leaf": self.leaf,
            "feature": self.feature,
            "column": self.column,
            "value": self.value,
            "target": self.target,
            "lower": finite(self.lower),
            "upper": finite(self.upper),
            "size": finite(self.size),
        }

    def __str__(self) -> str:
        move = f"{quoted(self.column)} from {number(self.value)} to "
        if self.target > self.value:
            bound = f"above {number(self.lower)}"
            return move + bound + ("" if self.upper == math.inf else f" (at most {number(self.upper)})")
        bound = f"at most {number(self.upper)}"
        return move + bound + ("" if self.lower == -math.inf else f" (above {number(self.lower)})")


def smallest_changes(
    tree: ThresholdTree,
    names: Sequence[str],
    X: Any,
    *,
    spreads: npt.NDArray[np.float64] | None = None,
    classes: npt.NDArray[Any] | None = None,
    cluster_names: Mapping[Any, str] | None = None,
) -> list[dict[Any, Change | None]]:
    """Find, for every row and every other cluster, the smallest change of one column that moves the row there.

    Parameters
    ----------
    tree : ThresholdTree
    names : sequence of str, one a column
    X : array_like, sparse matrix, data frame or Table, of shape (n_rows, n_features)
    spreads : ndarray of shape (n_features,), float64, optional
        The unit in which changes of a column are measured; 1 where it is nan or 0, and everywhere when left out.
    classes : ndarray of shape (n_clusters,), optional
        The original label of every cluster code; the codes themselves when left out.
    cluster_names : mapping of label to str, optional
        As ``read_cluster_names`` gives them.

    Returns
    -------
    changes : list of dict, one a row
        From the label of every other cluster to the change; None where no single column does it. Of changes that are
        equally small, that of the first column counts, and then that to the smaller value.

    Notes
    -----
    A leaf can be reached by changing one column exactly when that column alone fails the leaf's conditions, so every
    leaf is looked at once, for all rows together.
    """
    check_names(tree, names)
    labels = class_labels(tree, classes)
    table = X if isinstance(X, Table) else read_table(X)
    own = tree.predict(table)
    unit = np.ones(tree.n_features) if spreads is None else np.where(spreads > 0, spreads, 1.0)
    columns: dict[int, npt.NDArray[np.float64]] = {}
    best = _Best(table.n_rows, len(labels))
    for leaf, regions, _ in walk_leaves(tree):
        code = int(tree.cluster[leaf])
        if any(region.is_empty for region in regions.values()):
            continue  # no value reaches this leaf
        for feature in regions:
            if feature not in columns:
                columns[feature] = column_of(table, feature).astype(np.float64)
        fails = np.array([~region.holds(columns[feature]) for feature, region in regions.items()])
        reachable = (fails.sum(axis=0) == 1) & (own != code)
        for failing, (feature, region) in zip(fails, regions.items(), strict=True):
            rows = np.flatnonzero(reachable & failing)
            if len(rows):
                best.offer(rows, code, leaf, feature, columns[feature][rows], region, float(unit[feature]))
    return _told(best, own, labels, cluster_names or {}, names, columns)


class _Best:
    """The best change so far, for every row and cluster."""

    def __init__(self, n_rows: int, n_clusters: int) -> None:
        shape = (n_rows, n_clusters)
        self.size = np.full(shape, np.inf)
        self.feature = np.full(shape, -1, dtype=np.int32)
        self.leaf = np.full(shape, -1, dtype=np.int32)
        self.target, self.lower, self.upper = (np.full(shape, np.nan) for _ in range(3))

    def offer(
        self,
        rows: npt.NDArray[np.intp],
        code: int,
        leaf: int,
        feature: int,
        values: npt.NDArray[np.float64],
        region: Region,
        unit: float,
    ) -> None:
        """Change a column's values to the nearest that a leaf lets through; kept where that is smaller."""
        for lower, upper in region.parts():
            target = np.where(values > upper, upper, np.nextafter(lower, np.inf))
            with np.errstate(over="ignore"):
                size = np.abs(target - values) / unit
            held, column = self.size[rows, code], self.feature[rows, code]
            tied = size == held
            better = (size < held) | (
                tied & ((column < 0) | (feature < column) | ((feature == column) & (target < self.target[rows, code])))
            )
            better &= np.isfinite(target)
            at = rows[better]
            self.size[at, code] = size[better]
            self.target[at, code] = target[better]
            self.feature[at, code], self.leaf[at, code] = feature, leaf
            self.lower[at, code], self.upper[at, code] = lower, upper


def _told(
    best: _Best,
    own: npt.NDArray[np.int32],
    labels: Sequence[Any],
    cluster_names: Mapping[Any, str],
    names: Sequence[str],
    columns: Mapping[int, npt.NDArray[np.float64]],
) -> list[dict[Any, Change | None]]:
    told: list[dict[Any, Change | None]] = []
    for row, code in enumerate(own.tolist()):
        changes: dict[Any, Change | None] = {}
        for other, label in enumerate(labels):
            if other == code:
                continue
            feature = int(best.feature[row, other])
            changes[label] = (
                None
                if feature < 0
                else Change(
                    cluster=label,
                    name=cluster_names.get(label),
                    leaf=int(best.leaf[row, other]),
                    feature=feature,
                    column=names[feature],
                    value=float(columns[feature][row]),
                    target=float(best.target[row, other]),
                    lower=float(best.lower[row, other]),
                    upper=float(best.upper[row, other]),
                    size=float(best.size[row, other]),
                )
            )
        told.append(changes)
    return told
