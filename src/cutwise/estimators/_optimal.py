"""The best single cut as a recipe: a tree that needs no reference, and a reference made when somebody asks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.core.kernels import Matrix, as_matrix
from cutwise.core.optimal import optimal_cut
from cutwise.estimators._costs import Clustering
from cutwise.estimators._progress import Stages
from cutwise.estimators._reference import ReferenceRecipe, reference_of_rows
from cutwise.estimators._rows import FitRows, MetricSpace
from cutwise.exceptions import InvalidInputError
from cutwise.tree.grower import GrownTree
from cutwise.tree.growing import GrowingTree

__all__ = ["LaterReference", "check_two_leaves", "cut_in_two"]

# A sparse table is made dense for the search, up to this size.
_MOST_BYTES = 8 << 30


def check_two_leaves(n_clusters: int, max_leaves: int) -> None:
    """Refuse more clusters, or more leaves, than a single cut has sides.

    Raises
    ------
    InvalidInputError
    """
    if n_clusters != 2:
        raise InvalidInputError(
            f'algorithm="optimal" is the best single cut, which makes two clusters; n_clusters={n_clusters} was given. '
            'Use n_clusters=2, or another algorithm, such as "exshallow".'
        )
    if max_leaves != 2:
        raise InvalidInputError(
            f'algorithm="optimal" is a single cut with two leaves; max_leaves={max_leaves} was given. '
            'Leave max_leaves out, or use another algorithm, such as "exkmc".'
        )


def cut_in_two(
    rows: FitRows, recipe: ReferenceRecipe, *, columns_apart: bool, like: npt.NDArray[np.int32] | None = None
) -> GrownTree:
    """The tree of the single cut that costs least.

    Parameters
    ----------
    rows : FitRows
    recipe : ReferenceRecipe
        Its objective and threads count here.
    columns_apart : bool
        Whether costs are measured elsewhere than in the columns that are cut.
    like : ndarray of shape (m,), int32, optional
        Labels whose numbers the clusters take as far as they can; the left side is cluster 0 when left out.

    Returns
    -------
    grown : GrownTree

    Raises
    ------
    InvalidInputError
        No cut parts the rows, or a sparse table that is too large to be made dense.
    """
    cut = optimal_cut(
        _dense(rows.metric.values),
        recipe.objective.name,
        rows.weights,
        columns=_dense(rows.compress(rows.table.values)) if columns_apart else None,
        n_jobs=recipe.n_jobs,
    )
    if cut is None:
        raise InvalidInputError(
            "The rows that take part are equal in every column, so no cut parts them. Give rows that differ."
        )
    tree = GrowingTree(rows.encoded)
    left, right, _ = tree.split(0, cut.feature, cut.left_max)
    sides = np.zeros(rows.n_rows, dtype=np.int32)
    sides[tree.rows(right)] = 1
    swapped = like is not None and _differ(rows, sides, like)
    tree.label(left, int(swapped))
    tree.label(right, int(not swapped))
    finished, leaf_of_row, gaps = tree.finish()
    return GrownTree(finished, leaf_of_row, [], gaps)


@dataclass(frozen=True, eq=False)
class LaterReference:
    """What it takes to make the reference of a tree that was grown without one.

    Attributes
    ----------
    recipe : ReferenceRecipe
    space : MetricSpace
    rows : FitRows
    grown : GrownTree
    sample_weight : ndarray of shape (n,), float64, or None
    """

    recipe: ReferenceRecipe
    space: MetricSpace
    rows: FitRows
    grown: GrownTree
    sample_weight: npt.NDArray[np.float64] | None

    def make(self, stages: Stages) -> Clustering:
        """The clustering; its clusters have the numbers of the tree's."""
        made = reference_of_rows(self.recipe, self.rows, self.space, self.sample_weight, stages)
        reference, labels = made.reference, made.full_labels
        if not _differ(self.rows, self.grown.codes, reference.labels):
            return made
        turned = replace(reference, labels=1 - reference.labels, centers=reference.centers[::-1].copy())
        return replace(made, reference=turned, full_labels=np.where(labels >= 0, 1 - labels, labels))


def _differ(rows: FitRows, codes: npt.NDArray[np.int32], labels: npt.NDArray[np.int32]) -> bool:
    """Whether two clusterings into 0 and 1 agree on less than half of the weight."""
    agreeing, differing = rows.weight_of((codes != labels).astype(np.int32), 2).tolist()
    return bool(differing > agreeing)


def _dense(values: npt.NDArray[Any] | sparse.csr_array) -> Matrix:
    """A table's matrix, made dense where it is sparse."""
    if not isinstance(values, sparse.csr_array):
        return as_matrix(values)
    n, d = values.shape
    if n * d * values.dtype.itemsize > _MOST_BYTES:
        raise InvalidInputError(
            f'algorithm="optimal" makes the table dense, and {n:,} x {d:,} values take '
            f"{n * d * values.dtype.itemsize / 1e9:.0f} GB (at most {_MOST_BYTES / 1e9:.0f} are tried).\nReduce the "
            'number of columns (sklearn.decomposition.TruncatedSVD as preprocessor), or use algorithm="exkmc".'
        )
    return as_matrix(values.toarray())
