"""Growing kernel trees: Kernel IMM on every kind of surrogate features there is, Kernel ExKMC, Kernel Expand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.estimators._kernel_reference import KernelContext
from cutwise.estimators._rows import TrainingRows
from cutwise.exceptions import InvalidInputError, listed
from cutwise.reference import KERNELS, Kernel, LazyCosts
from cutwise.table import as_dense
from cutwise.tree.criteria.base import Features
from cutwise.tree.growing import GrownTree
from cutwise.tree.recipes import grow_tree
from cutwise.tree.surrogate_features import SurrogateFeatures, surrogate_features

__all__ = ["KernelGrowth", "features_of", "grow_kernel_tree", "kinds_of_features"]

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class KernelGrowth:
    """What decides a kernel tree, apart from the clustering.

    Attributes
    ----------
    algorithm : {"imm", "exkmc", "expand"}
    max_leaves : int
    expansion : {"exkmc", "expand"}
    cuts : {"interval", "threshold"}
    features : dict of str to SurrogateFeatures
        The kinds to try, for "imm".
    scaled : bool
        Whether the kernel reads a preprocessor's output.
    n_jobs : int
    progress : callable
        Called with the number of leaves.
    """

    algorithm: str
    max_leaves: int
    expansion: str
    cuts: str
    features: dict[str, SurrogateFeatures]
    scaled: bool
    n_jobs: int
    progress: Callable[[int], None]


def kinds_of_features(kernel: Any, wanted: str) -> list[str]:
    """Which kinds of surrogate features to try.

    Parameters
    ----------
    kernel : str or callable
    wanted : {"auto", "taylor", "kernel"}
        ``"auto"``: all that the kernel has.

    Returns
    -------
    kinds : list of str

    Raises
    ------
    InvalidInputError
        The kernel has none, or none of this kind.
    """
    every = list(surrogate_features(kernel)) if isinstance(kernel, str) else []
    name = "a kernel function" if callable(kernel) else f"kernel={kernel!r}"
    known = callable(kernel) or (isinstance(kernel, str) and kernel in KERNELS)
    if not every and known:  # what is no kernel is refused elsewhere
        raise InvalidInputError(
            f"algorithm='imm' cuts surrogate features, functions of one column each, and {name} has none.\n"
            "Use algorithm='exkmc' or algorithm='expand', which need the kernel's distances alone."
        )
    if known and wanted != "auto" and wanted not in every:
        has = listed(every) if set(every) != {"map"} else "a feature map of its own"
        raise InvalidInputError(
            f"surrogate_features={wanted!r} is not what {name} has: {has}.\n"
            "Use surrogate_features='auto', which takes what there is."
        )
    return every if wanted == "auto" else [wanted]


def features_of(kernel: Kernel, wanted: str, taylor_order: int) -> dict[str, SurrogateFeatures]:
    """The surrogate features to try, by kind; parameters as in ``kinds_of_features``."""
    constants = kernel.constants
    every = surrogate_features(kernel.name, gamma=constants.gamma, beta=constants.beta, taylor_order=taylor_order)
    return {kind: every[kind] for kind in kinds_of_features(kernel.name, wanted)}


def grow_kernel_tree(context: KernelContext, growth: KernelGrowth) -> tuple[GrownTree, str | None]:
    """Grow a tree against a clustering in feature space.

    Parameters
    ----------
    context : KernelContext
    growth : KernelGrowth

    Returns
    -------
    grown : GrownTree
        For "imm" the tree of lowest cost among those of every kind of features, the first of equals.
    kind : str or None
        Which features these are; None for other algorithms.
    """
    rows, labels = context.rows, context.reference.labels

    costs = LazyCosts(rows.metric.matrix, None, weights=rows.weights, n_jobs=growth.n_jobs, given=context.costs)
    nowhere = np.zeros((context.n_clusters, rows.table.n_columns))  # centers have no coordinates in the columns

    def grow(algorithm: str, features: Features | None = None) -> GrownTree:
        return grow_tree(
            rows.encoded,
            labels,
            nowhere,
            costs,
            algorithm=algorithm,
            max_leaves=growth.max_leaves,
            expansion=growth.expansion,
            cuts=growth.cuts,
            features=features,
            n_jobs=growth.n_jobs,
            progress=growth.progress,
        )

    if growth.algorithm != "imm":
        return grow(growth.algorithm), None
    trees: list[tuple[float, str, GrownTree]] = []
    for kind, features in growth.features.items():
        grown = grow("kernel_imm", _of_input(features, rows) if growth.scaled else features)
        if len(growth.features) == 1:
            return grown, kind
        cheapest = context.cheapest_tree(grown)
        trees.append((context.cost_of_labels(cheapest.codes).cost, kind, cheapest))
    _, kind, best = min(trees, key=lambda tree: tree[0])
    return best, kind


def _of_input(features: SurrogateFeatures, rows: TrainingRows) -> list[SurrogateFeatures]:
    """Features of the input's columns, from those of the preprocessor's output: one for each column."""
    if rows.metric.n_columns == rows.table.n_columns:
        raw, scaled = rows.compress(rows.table.values), rows.metric.values
        columns = [_scaled_column(raw, scaled, j) for j in range(rows.table.n_columns)]
        if all(column is not None for column in columns):
            return [_OfScaled(features, *column) for column in columns if column is not None]
    raise InvalidInputError(
        "algorithm='imm' cuts functions of single columns, so each column of the preprocessor's output must be a "
        "non-decreasing function of the same column of X, as with StandardScaler or MinMaxScaler. "
        "This preprocessor's is not.\nUse algorithm='exkmc' or 'expand' with it, or a scaler."
    )


def _scaled_column(raw: Any, scaled: Any, column: int) -> tuple[Float64, Float64] | None:
    """The distinct values of a column and what the preprocessor made of them; None unless these follow their order."""
    before, after = (as_dense(part[:, [column]]).astype(np.float64).ravel() for part in (raw, scaled))
    values, first, inverse = np.unique(before, return_index=True, return_inverse=True)
    made = after[first]
    if (made[inverse.ravel()] != after).any() or (np.diff(made) < 0).any():
        return None
    return values, made


@dataclass(frozen=True, eq=False)
class _OfScaled:
    """Features of a column after a non-decreasing function of its values, such as a scaler's."""

    features: SurrogateFeatures
    values: Float64
    scaled: Float64

    def of_column(self, values: Float64, exact: bool) -> Float64:
        """See :class:`SurrogateFeatures`."""
        return self.features.of_column(np.interp(values, self.values, self.scaled), exact)
