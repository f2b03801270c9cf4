"""Cost of a tree, agreement with its reference, and size of its explanations.

Every function takes a tree, or a fitted estimator that has one, and rows: those of fit, or held-out rows. An estimator
also provides the space to measure in (the output of its preprocessor, the feature space of its kernel), the metric,
and the reference of its own rows.

Costs are computed so that an offset common to all rows costs no digits: rows are always compared with their own
cluster's mean, median or center, never expanded into ``|x|^2 - 2 x.c + |c|^2``. On unix timestamps the expansion has
no correct digit left.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cutwise import core
from cutwise.core import Float64, Int32
from cutwise.exceptions import InvalidInputError
from cutwise.reference.feature_space import cost_or_zero
from cutwise.reference.objective import FEATURE_SPACE, OBJECTIVES, Objective, Reference, integer_weights
from cutwise.table.convert import as_dense
from cutwise.table.intake import check_option, check_order, drop_columns, read_table, read_weights
from cutwise.table.labels import read_labels
from cutwise.table.table import Columns, Table, numbered_names
from cutwise.tree.threshold_tree import ThresholdTree

from .conditions import explanation_sizes


class HasTree(Protocol):
    """A fitted estimator; its column names and labels are used where it has them."""

    tree_: ThresholdTree


Tree = ThresholdTree | HasTree
METRICS = (*OBJECTIVES, FEATURE_SPACE)
"""Squared distances to means, l1 distances to medians, and squared distances to means in a kernel's feature space."""


def tree_cost(
    tree: Tree, X: Any, *, metric: str | None = None, Z: Any = None, K: Any = None, sample_weight: Any = None
) -> float:
    """Cost of a tree's clusters of the rows, each with a center of its own.

    Parameters
    ----------
    tree : ThresholdTree or fitted estimator
    X : array_like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows, in the columns and units that the tree tests. Leaves of one cluster count as one.
    metric : str, optional
        ``"kmeans"``, ``"kmedians"`` or ``"kernel"``. Left out, it is the estimator's metric, and ``"kmeans"`` for a
        tree alone.
    Z : array_like or sparse matrix of shape (n_rows, n_dimensions), optional
        The rows in the space to measure in. Left out, it is the output of the estimator's preprocessor, and X itself
        where there is none.
    K : array_like of shape (n_rows, n_rows), optional
        The kernel matrix of the rows, only for ``metric="kernel"``. Left out, an estimator computes it by its kernel.
    sample_weight : array_like of shape (n_rows,), optional
        Weights of the rows; 1 when left out.

    Returns
    -------
    cost : float
        ``"kmeans"``: sum of squared distances to the cluster's mean; ``"kmedians"``: of l1 distances to its median;
        ``"kernel"``: of squared distances to its mean in feature space. Weighted, not divided by the number of rows.

    Raises
    ------
    InvalidInputError
        Tables that do not fit the tree or each other, or a kernel matrix without ``metric="kernel"`` or the reverse.
    UnknownOptionError
        Another metric.

    References
    ----------
    Moshkovitz, Dasgupta, Rashtchian, Frost (2020), *Explainable k-means and k-medians clustering*, Section 2.
    """
    table, routed, weights = _read(tree, X, sample_weight)
    return _cost(routed.predict(table), *_space(tree, X, table, metric, Z, K), weights)


def partition_cost(X: Any, labels: Any, *, metric: str = "kmeans", K: Any = None, sample_weight: Any = None) -> float:
    """Cost of any partition, each cluster with a center of its own: the counterpart of ``tree_cost``.

    Parameters
    ----------
    X : array_like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows in the space to measure in.
    labels : array_like of shape (n_rows,)
        The cluster of every row; -1 is noise, which costs nothing.
    metric, K, sample_weight
        As in ``tree_cost``.

    Returns
    -------
    cost : float
    """
    check_option("metric", metric, METRICS)
    table = read_table(X)
    codes = read_labels(labels, table.n_rows, what="labels", estimator="partition_cost").codes
    return _cost(codes, *_space(None, X, table, metric, None, K), read_weights(sample_weight, table.n_rows))


def cost_ratio(
    tree: Tree,
    X: Any,
    labels: Any = None,
    *,
    metric: str | None = None,
    Z: Any = None,
    K: Any = None,
    sample_weight: Any = None,
) -> float:
    """Cost of a tree's clusters over the cost of a clustering, the reference: the price of explainability.

    Parameters
    ----------
    tree : ThresholdTree or fitted estimator
    X : array_like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows, in the columns and units that the tree tests.
    labels : array_like of shape (n_rows,), optional
        The reference's cluster of every row; rows with -1 are noise and are left out of both costs. Left out, it is the
        estimator's reference with its own centers, and X must be the rows of fit.
    metric, Z, K, sample_weight
        As in ``tree_cost``.

    Returns
    -------
    ratio : float
        Below 1 where the tree found clusters of lower cost; nan where the reference costs nothing. Under a bounded
        kernel ratios near 1 come cheaply: look at the agreement too.

    References
    ----------
    Fleissner, Vankadara, Ghoshdastidar (2024), *Explaining Kernel Clustering via Decision Trees*, Section 7.
    """
    table, routed, weights = _read(tree, X, sample_weight)
    codes = _codes(tree, table, labels, "cost_ratio")
    name, space = _space(tree, X, table, metric, Z, K)
    if labels is None and isinstance(space, Table):
        reference = label_cost(space, codes, _reference(tree, "centers").centers, OBJECTIVES[name], weights)
    else:
        reference = _cost(codes, name, space, weights)
    grown = _cost(np.where(codes < 0, np.int32(-1), routed.predict(table)), name, space, weights)
    return grown / reference if reference > 0 else float("nan")


def adjusted_rand_index(tree: Tree, X: Any, labels: Any = None, sample_weight: Any = None) -> float:
    """Agreement of a tree's clusters with a clustering: 1 where they are the same, about 0 for unrelated ones.

    Parameters
    ----------
    tree : ThresholdTree or fitted estimator
    X : array_like, sparse matrix or data frame of shape (n_rows, n_features)
    labels : array_like of shape (n_rows,), optional
        The cluster of every row, by whatever names; rows with -1 are noise and left out. Left out, they are those of
        the estimator's reference, and X must be the rows of fit.
    sample_weight : array_like of shape (n_rows,), optional
        A weight counts as a repeated row; fractions are brought to whole numbers in proportion first.

    Returns
    -------
    index : float
        At most 1.

    References
    ----------
    Hubert, Arabie (1985), *Comparing partitions*.
    """
    return adjusted_rand(_contingency(tree, X, labels, sample_weight))


def normalized_mutual_information(tree: Tree, X: Any, labels: Any = None, sample_weight: Any = None) -> float:
    """Normalized mutual information of a tree's clusters and a clustering, from 0 to 1.

    Parameters
    ----------
    tree, X, labels, sample_weight
        As in ``adjusted_rand_index``.

    Returns
    -------
    information : float
        Mutual information over the mean of both entropies: 1 where the clusters are the same.
    """
    return normalized_information(_contingency(tree, X, labels, sample_weight))


def surrogate_cost(
    tree: Tree, X: Any, centers: Any = None, *, metric: str | None = None, Z: Any = None, sample_weight: Any = None
) -> float:
    """Cost of the tree's clusters when every row is served by the reference center of its leaf's label.

    Parameters
    ----------
    tree : ThresholdTree or fitted estimator
    X : array_like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows, in the columns and units that the tree tests.
    centers : array_like of shape (n_clusters, n_dimensions), optional
        The reference centers, one for every cluster code, in the space to measure in. Left out, they are those of the
        estimator's reference.
    metric : str, optional
        ``"kmeans"`` or ``"kmedians"``. Left out, as in ``tree_cost``.
    Z : array_like or sparse matrix of shape (n_rows, n_dimensions), optional
        The rows in the space to measure in. Left out, as in ``tree_cost``.
    sample_weight : array_like of shape (n_rows,), optional
        Weights of the rows; 1 when left out.

    Returns
    -------
    cost : float
        Never below ``tree_cost``.

    Raises
    ------
    InvalidInputError
        Tables that do not fit the tree or each other, or fewer centers than the tree has clusters.
    UnknownOptionError
        A metric without centers in the space of the rows.

    References
    ----------
    Frost, Moshkovitz, Rashtchian (2020), *ExKMC: Expanding explainable k-means clustering*, Section 3.2; a leaf is
    served by the center of its label, which is the best one on every leaf that expansion made.
    """
    table, routed, weights = _read(tree, X, sample_weight)
    # A kernel's feature space has no centers that could be written down as rows.
    canonical = check_option("metric", _metric_of(tree, metric), tuple(OBJECTIVES))
    _, space = _space(tree, X, table, canonical, Z, None)
    assert isinstance(space, Table)
    centers = _reference(tree, "centers").centers if centers is None else centers
    check_order(space, centers)
    positions = as_dense(read_table(centers, what="centers").values).astype(np.float64, copy=False)
    if positions.shape[1] != space.n_columns:
        raise InvalidInputError(
            f"centers have {positions.shape[1]} columns, but {'X' if space is table else 'Z'} has {space.n_columns}. "
            "Give both in the same space: where that is not the space of X, pass the rows there as Z."
        )
    needed = int(routed.cluster.max()) + 1
    if len(positions) < needed:
        raise InvalidInputError(
            f"There are {len(positions)} centers, but the tree has cluster codes up to {needed - 1}. "
            "Give one center for every code."
        )
    return label_cost(space, routed.predict(table), positions, OBJECTIVES[canonical], weights)


def n_mistakes(
    tree: Tree, X: Any, labels: Any = None, *, classes: Any = None, sample_weight: Any = None
) -> int | float:
    """Count the rows whose predicted cluster is not their label.

    Parameters
    ----------
    tree : ThresholdTree or fitted estimator
    X : array_like, sparse matrix or data frame of shape (n_rows, n_features)
    labels : array_like of shape (n_rows,), optional
        The cluster of every row: original labels where there are ``classes``, else the codes of ``tree.cluster``. Rows
        with -1 are noise and make no mistake. Left out, they are those of the estimator's reference, and X must be the
        rows of fit.
    classes : array_like of shape (n_clusters,), optional
        The original label of every cluster code. Taken from the estimator's ``classes_`` where it has them.
    sample_weight : array_like of shape (n_rows,), optional
        Weights of the rows; 1 when left out.

    Returns
    -------
    mistakes : int, or float with weights
        The number of such rows, or their weight. A label that no cluster has is always a mistake.

    Raises
    ------
    InvalidInputError
        Labels that are no codes, without ``classes``; tables that do not fit the tree.
    """
    table, routed, weights = _read(tree, X, sample_weight)
    if labels is None:
        labels, classes = _codes(tree, table, None, "n_mistakes"), np.arange(int(routed.cluster.max()) + 1)
    elif classes is None:
        classes = getattr(tree, "classes_", None)
    given = read_labels(labels, table.n_rows, what="labels", estimator="n_mistakes")
    if classes is None:
        if given.classes.dtype.kind not in "iufb":
            raise InvalidInputError(
                f"labels hold {given.classes.tolist()[0]!r}, but the tree knows its clusters by codes from 0 on. "
                "Pass the label of every code as classes, in the order of the codes, or the fitted estimator as tree."
            )
        classes = range(int(routed.cluster.max()) + 1)
    if np.ndim(classes) != 1:
        raise InvalidInputError(
            f"classes={classes!r} is not a list of labels. Give the label of every code, in the order of the codes."
        )
    code_of = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
    # Labels unknown to the tree get a code of their own, which it never predicts.
    positions = [code_of.get(label, -2) for label in given.classes.tolist()]
    codes = np.append(np.array(positions, dtype=np.int64), -1)[given.codes]
    mistaken = (codes != -1) & (routed.predict(table) != codes)
    return int(mistaken.sum()) if weights is None else float(weights[mistaken].sum())


def weighted_average_depth(tree: Tree, X: Any, sample_weight: Any = None) -> float:
    """Average over the rows of the number of tests on the way to their leaf (WAD).

    Parameters
    ----------
    tree : ThresholdTree or fitted estimator
    X : array_like, sparse matrix or data frame of shape (n_rows, n_features)
    sample_weight : array_like of shape (n_rows,), optional
        Weights of the rows; 1 when left out.

    Returns
    -------
    depth : float

    References
    ----------
    Laber, Murtinho, Oliveira (2023), *Shallow decision trees for explainable k-means clustering*.
    """
    routed, weight = _leaf_weights(tree, X, sample_weight)
    return float(weight @ routed.node_depth[routed.leaves] / weight.sum())


def weighted_average_explanation_size(tree: Tree, X: Any, sample_weight: Any = None) -> float:
    """Average over the rows of the number of conditions in the rule of their leaf (WAES).

    Parameters
    ----------
    tree : ThresholdTree or fitted estimator
    X : array_like, sparse matrix or data frame of shape (n_rows, n_features)
    sample_weight : array_like of shape (n_rows,), optional
        Weights of the rows; 1 when left out.

    Returns
    -------
    size : float
        Conditions that are left on the path when per column and direction only the tightest counts; the inside of an
        interval counts as one lower and one upper bound, its outside as one.

    References
    ----------
    Laber, Murtinho, Oliveira (2023), *Shallow decision trees for explainable k-means clustering*.
    """
    routed, weight = _leaf_weights(tree, X, sample_weight)
    return float(weight @ explanation_sizes(routed) / weight.sum())


def _contingency(tree: Tree, X: Any, labels: Any, sample_weight: Any) -> npt.NDArray[np.float64]:
    """Weight of the rows for each pair of the tree's cluster and the given one."""
    table, routed, given = _read(tree, X, sample_weight)
    weights, _ = integer_weights(given)  # pairs of rows are counted
    codes = _codes(tree, table, labels, "the agreement")
    is_member = codes >= 0
    return contingency(
        routed.predict(table)[is_member], codes[is_member], None if weights is None else weights[is_member]
    )


def _read(tree: Tree, X: Any, sample_weight: Any) -> tuple[Table, ThresholdTree, Float64 | None]:
    """Read rows, tree and weights; an estimator's column names are checked, a bare tree knows none."""
    routed, fitted, name = getattr(tree, "tree_", tree), None, type(tree).__name__
    if not isinstance(routed, ThresholdTree):
        raise InvalidInputError(
            f"tree is a ThresholdTree, or a fitted cutwise estimator, whose tree_ is one; {name} is neither. "
            f"Fit it first if {name} is an estimator of cutwise."
        )
    if routed is not tree:
        names = getattr(tree, "feature_names_in_", None)
        known = numbered_names(routed.n_features) if names is None else tuple(map(str, names))
        fitted = Columns(known, names is not None, getattr(tree, "_kinds", ()))
        X = drop_columns(X, getattr(tree, "_beside", ()))
    table = read_table(X, fitted=fitted, estimator=name, unknown=getattr(tree, "handle_unknown", "outside"))
    return table, routed, read_weights(sample_weight, table.n_rows)


def _reference(tree: Any, what: str) -> Reference:
    """The reference of an estimator."""
    found = getattr(tree, "reference_", None)
    if not isinstance(found, Reference):
        raise InvalidInputError(f"{what} are missing: {type(tree).__name__} has no reference of its own. Give {what}.")
    return found


def _codes(tree: Any, table: Table, labels: Any, caller: str) -> npt.NDArray[np.int32]:
    """Codes of the given labels, -1 for noise; without any, those of the estimator's reference on the rows of fit."""
    if labels is not None:
        return read_labels(labels, table.n_rows, what="labels", estimator=caller).codes
    codes = _reference(tree, "labels").labels
    if len(codes) != table.n_rows:
        known = f"those of the {len(codes)} rows of fit" if len(codes) else "not part of its file"
        raise InvalidInputError(
            f"X has {table.n_rows} rows, and the labels of the model's reference are {known}. Give those of these rows."
        )
    return codes


def _metric_of(tree: Any, metric: str | None) -> str:
    """The metric, by default the estimator's, and k-means for a tree alone."""
    if metric is not None:
        return metric
    own = getattr(tree, "reference_", None)
    return own.objective if isinstance(own, Reference) else "kmeans"


def _space(tree: Any, X: Any, table: Table, metric: str | None, Z: Any, K: Any) -> tuple[str, Table | npt.NDArray[Any]]:
    """The metric, and the rows in its space: a table, or a kernel matrix."""
    canonical = check_option("metric", _metric_of(tree, metric), METRICS)
    if canonical != "kernel":
        if K is not None:
            raise InvalidInputError(f'K is a kernel matrix, and metric={canonical!r} has none. Use metric="kernel".')
        if Z is not None:
            rows = read_table(Z, what="Z")
            if rows.n_rows != table.n_rows:
                raise InvalidInputError(
                    f"X has {table.n_rows} rows but Z has {rows.n_rows}. Give the same rows in both."
                )
            return canonical, rows
        return canonical, tree._metric(X, table) if hasattr(tree, "_metric") else table
    if Z is not None:
        raise InvalidInputError('Z is not used with metric="kernel": K alone says where the rows are. Leave Z out.')
    if K is None and hasattr(tree, "_kernel_matrix"):
        return canonical, tree._kernel_matrix(X, table)
    if K is None:
        raise InvalidInputError('metric="kernel" needs the kernel matrix of the rows: pass it as K, of shape (n, n).')
    kernel = read_table(K, what="K").values
    if kernel.shape != (table.n_rows, table.n_rows):
        raise InvalidInputError(
            f"K has the shape {kernel.shape}, but the kernel matrix of {table.n_rows} rows is {table.n_rows} x "
            f"{table.n_rows}. Compute it between the rows of X and themselves."
        )
    return canonical, as_dense(kernel)


def _cost(
    codes: npt.NDArray[np.int32], metric: str, space: Table | npt.NDArray[Any], weights: npt.NDArray[np.float64] | None
) -> float:
    """Cost of a partition, each cluster with a center of its own."""
    if not isinstance(space, Table):
        return kernel_cost(space, codes, weights)
    objective = OBJECTIVES[metric]
    centers, _ = objective.centers(space.matrix, codes, int(codes.max(initial=0)) + 1, weights, 1)
    return label_cost(space, codes, centers, objective, weights)


def _leaf_weights(tree: Tree, X: Any, sample_weight: Any) -> tuple[ThresholdTree, npt.NDArray[np.float64]]:
    """Weight of the rows in every leaf, in the order of the leaves."""
    table, routed, weights = _read(tree, X, sample_weight)
    return routed, np.bincount(routed.apply(table), weights, routed.n_nodes)[routed.leaves].astype(np.float64)


# Values converted to float64 at a time.
_BLOCK = 1 << 21


def label_cost(
    table: Table, labels: Int32, centers: Float64, objective: Objective, weights: Float64 | None = None
) -> float:
    """Cost of a partition when every row is served by the given center of its cluster.

    ``labels``: -1 for rows that cost nothing. ``centers`` (n_clusters, n_columns) float64: a center is not read where
    no row has its label.
    """
    if weights is not None:
        labels = np.where(weights > 0, labels, np.int32(-1))  # rows of weight 0 may have no center, and cost nothing
    costs = objective.label_costs(table.matrix, centers, labels)
    return core.exact_sum(costs, weights) if np.isfinite(costs.max(initial=0.0)) else np.inf


def kernel_cost(kernel: npt.NDArray[Any], labels: Int32, weights: Float64 | None = None) -> float:
    """Sum of squared distances to each cluster's mean in the feature space of a kernel.

    ``kernel`` (n_rows, n_rows): symmetric; entry ``[i, j]`` is the inner product of rows ``i`` and ``j`` in feature
    space. ``labels`` (n_rows,): -1 for rows that cost nothing. Returns ``cost``: ``sum_i w_i K_ii - sum_c (sum_ij w_i
    w_j K_ij) / W_c``, the inner sums over the rows of cluster ``c``, and ``W_c`` their weight; 0 where that is only
    rounding.
    """
    diagonal = np.diagonal(kernel)
    total = own = 0.0
    weights = np.ones(len(labels)) if weights is None else weights
    placed = (labels >= 0) & (weights > 0)
    for code in np.unique(labels[placed]).tolist():
        rows = np.flatnonzero(placed & (labels == code))
        w = weights[rows]
        step = max(1, _BLOCK // len(rows))
        within = 0.0
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            block = kernel[np.ix_(rows[part], rows)].astype(np.float64)
            within += float(w[part] @ (block @ w))
        total += float(w @ diagonal[rows].astype(np.float64))
        own += within / float(w.sum())
    return cost_or_zero(total - own, total)


def contingency(first: npt.NDArray[Any], second: npt.NDArray[Any], weights: npt.NDArray[Any] | None = None) -> Float64:
    """Weight of the rows for each pair of clusters.

    ``first``, ``second`` (n_rows,): codes from 0 on. ``weights`` (n_rows,). Returns ``table`` (n_first, n_second)
    float64.
    """
    n_second = int(second.max(initial=-1)) + 1
    n_first = int(first.max(initial=-1)) + 1
    counts = np.bincount(first.astype(np.int64) * n_second + second, weights, n_first * n_second)
    return counts.reshape(n_first, n_second).astype(np.float64, copy=False)


def adjusted_rand(table: Float64) -> float:
    """The adjusted Rand index: 1 for equal partitions, about 0 for independent ones.

    ``table`` (n_first, n_second) float64: see ``contingency``; a weight counts as a repeated row.

    Hubert, Arabie (1985), *Comparing partitions*.
    """

    def pairs(counts: Float64) -> float:
        return float((counts * (counts - 1) / 2).sum())

    together, rows, columns = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    every = pairs(np.array([table.sum()]))
    expected = rows * columns / every if every > 0 else 0.0
    highest = (rows + columns) / 2
    # Both partitions are a single cluster, or all clusters single rows: they agree.
    return 1.0 if highest == expected else (together - expected) / (highest - expected)


def normalized_information(table: Float64) -> float:
    """Mutual information over the mean of the two entropies: from 0 for independent partitions to 1 for equal ones.

    ``table`` (n_first, n_second) float64: see ``contingency``.
    """
    from scipy.stats import entropy
    from sklearn.metrics import mutual_info_score

    mean = (entropy(table.sum(axis=0)) + entropy(table.sum(axis=1))) / 2
    mutual = float(mutual_info_score(None, None, contingency=table))
    return 1.0 if mean == 0.0 else min(max(mutual / float(mean), 0.0), 1.0)
