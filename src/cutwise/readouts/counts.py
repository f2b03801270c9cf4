"""How many rows each leaf holds, and how many of them the reference clustering puts into the leaf's own cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError
from cutwise.tree.threshold_tree import ThresholdTree

__all__ = ["LeafCounts", "count_leaves"]


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Rows of every leaf, in the order of ``tree.leaves``, as ``count_leaves`` finds them.

    Attributes
    ----------
    n_rows : ndarray of shape (n_leaves,), int64
        Rows of positive weight, noise apart.
    n_noise : ndarray of shape (n_leaves,), int64
        Rows of positive weight that the reference calls noise.
    weight : ndarray of shape (n_leaves,), float64
        Total weight of ``n_rows``: the same numbers without weights.
    agreeing : ndarray of shape (n_leaves,), float64
        The part of ``weight`` whose reference cluster is the leaf's.
    cluster_weight : ndarray of shape (n_clusters,), float64
        Total weight of each reference cluster, wherever its rows end.
    """

    n_rows: npt.NDArray[np.int64]
    n_noise: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    agreeing: npt.NDArray[np.float64]
    cluster_weight: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        for field in fields(self):
            values = np.array(getattr(self, field.name), dtype=np.float64)
            if values.ndim != 1 or not np.all((values >= 0) & (values < np.inf)):
                raise InvalidInputError(f"{field.name} of the leaf counts is a list of numbers of at least 0.")
            if field.name in ("n_rows", "n_noise"):
                if np.any(values != np.rint(values)):
                    raise InvalidInputError(f"{field.name} of the leaf counts is a list of whole numbers.")
                values = values.astype(np.int64)
            values.setflags(write=False)
            object.__setattr__(self, field.name, values)
        if len({len(getattr(self, name)) for name in ("n_rows", "n_noise", "weight", "agreeing")}) != 1:
            raise InvalidInputError("The leaf counts hold one number a leaf in n_rows, n_noise, weight and agreeing.")

    @property
    def n_leaves(self) -> int:
        """Number of leaves counted."""
        return len(self.n_rows)

    @property
    def agreement(self) -> float:
        """The part of the weight that is in the cluster where the reference has it, from 0 to 1; nan without any."""
        total = math.fsum(self.weight)
        return math.fsum(self.agreeing) / total if total > 0 else math.nan

    def are_of(self, tree: ThresholdTree, leaf: npt.NDArray[np.integer[Any]]) -> bool:
        """Whether rows fall into the leaves as those that were counted did, ``leaf`` being what ``tree.apply`` gave."""
        here = np.bincount(leaf, minlength=tree.n_nodes)[tree.leaves]
        return bool(np.array_equal(here, self.n_rows + self.n_noise))

    @property
    def purity(self) -> npt.NDArray[np.float64]:
        """The part of every leaf's weight that the reference has in the leaf's cluster, at most 1; nan without any."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.minimum(self.agreeing / self.weight, 1.0)  # both were summed up in their own order

    def to_dict(self) -> dict[str, Any]:
        """The counts as lists that JSON can hold."""
        return {field.name: getattr(self, field.name).tolist() for field in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LeafCounts:
        """The counts that ``to_dict`` described.

        Raises
        ------
        InvalidInputError
            Entries missing or unknown, or no lists of counts.
        """
        expected = {field.name for field in fields(cls)}
        if set(data) != expected:
            raise InvalidInputError(f"Leaf counts have the entries {sorted(expected)}, not {sorted(map(str, data))}.")
        try:
            return cls(**data)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInputError(f"The leaf counts are damaged: {error}") from error


def count_leaves(
    tree: ThresholdTree,
    leaf: npt.NDArray[np.integer[Any]],
    codes: npt.NDArray[np.integer[Any]],
    n_clusters: int,
    weights: npt.NDArray[np.float64] | None = None,
) -> LeafCounts:
    """Count the rows of every leaf against a reference clustering.

    Parameters
    ----------
    tree : ThresholdTree
    leaf : ndarray of shape (n_rows,), int
        What ``tree.apply`` gave for the rows.
    codes : ndarray of shape (n_rows,), int
        Reference cluster of every row, in the codes of ``tree.cluster``; -1 is noise.
    n_clusters : int
        Number of codes.
    weights : ndarray of shape (n_rows,), float64, optional
        Not negative; 1 for every row when left out.

    Returns
    -------
    counts : LeafCounts

    Raises
    ------
    InvalidInputError
        Arrays of different lengths, or codes outside of -1 to ``n_clusters - 1``.
    """
    if not len(leaf) == len(codes) == (len(leaf) if weights is None else len(weights)):
        raise InvalidInputError("Leaves, reference labels and weights are one a row, and differ in length.")
    if len(codes) and not -1 <= codes.min() <= codes.max() < n_clusters:
        raise InvalidInputError(f"Reference labels are codes from 0 to {n_clusters - 1}, or -1 for noise.")
    m = tree.n_nodes
    counted = codes >= 0
    noise = ~counted
    if weights is not None:
        counted &= weights > 0
        noise &= weights > 0
    all_counted = bool(counted.all())
    at, code = (leaf, codes) if all_counted else (leaf[counted], codes[counted])
    own = tree.cluster[at] == code
    w = None if weights is None else (weights if all_counted else weights[counted])
    of_leaf = tree.leaves
    return LeafCounts(
        n_rows=np.bincount(at, minlength=m)[of_leaf],
        n_noise=np.bincount(leaf[noise], minlength=m)[of_leaf],
        weight=np.bincount(at, w, m)[of_leaf].astype(np.float64),
        agreeing=np.bincount(at[own], None if w is None else w[own], m)[of_leaf].astype(np.float64),
        cluster_weight=np.bincount(code, w, n_clusters).astype(np.float64),
    )
