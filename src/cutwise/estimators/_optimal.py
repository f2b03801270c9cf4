"""The best single cut as a recipe: a tree that takes nothing from the reference but the numbers of its clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cutwise.estimators.training import FitContext
from cutwise.exceptions import InvalidInputError
from cutwise.tree.growing import GrowingTree, GrownTree
from cutwise.tree.optimal import optimal_cut
from cutwise.tree.provider import MemoryProvider
from cutwise.tree.threshold_tree import NodeTest

# A sparse table is made dense for the search, up to this size.
_MAX_BYTES = 8 << 30


def check_two_leaves(n_clusters: int, max_leaves: int) -> None:
    """Refuse more clusters, or more leaves, than a single cut has sides."""
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


def cut_in_two(context: FitContext, *, columns_apart: bool) -> GrownTree:
    """The tree of the single cut that costs least, its clusters numbered so that most weight agrees with the reference.

    ``columns_apart`` says that costs are measured elsewhere than in the columns that are cut.
    """
    rows = context.rows
    cut = optimal_cut(
        _dense(rows.metric.values),
        context.objective.name,
        rows.weights,
        columns=_dense(rows.compress(rows.table.values)) if columns_apart else None,
        n_jobs=rows.n_jobs,
    )
    if cut is None:
        raise InvalidInputError(
            "The rows that take part are equal in every column, so no cut parts them. Give rows that differ."
        )
    tree = GrowingTree(MemoryProvider(rows.encoded))
    left, right = tree.split(0, NodeTest(cut[0], cut[1]))
    sides = tree.provider.number_of_row({left: 0, right: 1})
    agreeing, differing = rows.weight_of((sides != context.reference.labels).astype(np.int32), 2).tolist()
    tree.label(left, int(differing > agreeing))
    tree.label(right, int(differing <= agreeing))
    return tree.finish()


def _dense(values: npt.NDArray[Any] | sparse.csr_array) -> npt.NDArray[Any]:
    """A table's values, made dense where they are sparse."""
    if not isinstance(values, sparse.csr_array):
        return values
    n, d = values.shape
    if n * d * values.dtype.itemsize > _MAX_BYTES:
        raise InvalidInputError(
            f'algorithm="optimal" makes the table dense, and {n:,} x {d:,} values take '
            f"{n * d * values.dtype.itemsize / 1e9:.0f} GB (at most {_MAX_BYTES / 1e9:.0f} are tried).\nReduce the "
            'number of columns (sklearn.decomposition.TruncatedSVD as preprocessor), or use algorithm="exkmc".'
        )
    dense: npt.NDArray[Any] = values.toarray()
    return dense
