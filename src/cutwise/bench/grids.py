"""The grid searches of the ExKMC paper over CUBT's and CLTree's parameters: the cheapest tree of every size."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import ParameterGrid

from cutwise.baselines import CLTREE_GRID, CUBT, CUBT_GRID
from cutwise.baselines._base import Task, finish_tree, label_by_surrogate_cost
from cutwise.baselines._cltree_growth import cut_back, grow_with_virtual_points, prune_sparse
from cutwise.baselines._cubt_stages import grow_by_deviance, join_nearest, nearest_distances, prune_nearest
from cutwise.baselines._sketch import Sketch
from cutwise.bench.references import BenchReference
from cutwise.estimators._rows import encode_rows
from cutwise.exceptions import EmptyClusterWarning
from cutwise.reference import from_centers
from cutwise.table import read_table
from cutwise.tree.threshold_tree import ThresholdTree

__all__ = ["CltreeSearch", "CubtSearch"]

Float64 = npt.NDArray[np.float64]


class CubtSearch:
    """CUBT's grid on one table: no step of it looks at the reference, so one search serves all seeds.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    n_clusters : int
    sizes : sequence of int
        Numbers of leaves.
    """

    def __init__(self, X: Float64, n_clusters: int, sizes: list[int]) -> None:
        self._X, self._n_clusters = X, n_clusters
        ones = np.ones(len(X), dtype=np.int64)
        best = dict.fromkeys(sizes, (np.inf, dict[str, Any]()))
        seen: set[tuple[Any, ...]] = set()
        for growth in ParameterGrid({name: CUBT_GRID[name] for name in ("minsize", "mindev")}):
            sketch = grow_by_deviance(X, X, ones, minsize=int(growth["minsize"]), mindev=growth["mindev"])
            tree = (*sketch.feature, *map(str, sketch.cut))
            if tree in seen:
                continue
            seen.add(tree)
            distances = _Distances(sketch, X)
            for pruning in ParameterGrid({name: CUBT_GRID[name] for name in ("mindist", "alpha")}):
                alpha = pruning["alpha"]
                for size in sizes:
                    is_leaf = prune_nearest(
                        sketch, X, ones, n_leaves=size, known=distances.of_siblings[alpha], **pruning
                    )
                    leaves = sketch.leaves_under(is_leaf)
                    rows = [sketch.rows[leaf] for leaf in leaves]
                    near = [distances.to_node(leaf) for leaf in leaves]
                    group = join_nearest(X, ones, rows, alpha, n_clusters, near)
                    codes = np.empty(len(X), dtype=np.int32)
                    for of_leaf, cluster in zip(rows, group, strict=True):
                        codes[of_leaf] = cluster
                    cost = _own_cost(X, codes)
                    if cost < best[size][0] * (1 - 1e-12):
                        best[size] = cost, {**growth, **pruning}
        self.parameters = {size: parameters for size, (_, parameters) in best.items()}

    def tree(self, size: int, reference: BenchReference) -> ThresholdTree:
        """The cheapest tree of at most ``size`` leaves, its clusters numbered as the reference's."""
        model = CUBT(self._n_clusters, max_leaves=size, reference=reference.centers, **self.parameters[size])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyClusterWarning)
            return model.fit(self._X).tree_


class _Distances:
    """Distances that one grown tree needs again and again, each found once."""

    def __init__(self, sketch: Sketch, X: Float64) -> None:
        self._sketch, self._X = sketch, X
        self._to_node: dict[int, Float64] = {}
        self.of_siblings: dict[float, dict[int, float]] = defaultdict(dict)

    def to_node(self, node: int) -> Float64:
        """Distance of every row to the node's nearest row."""
        if node not in self._to_node:
            self._to_node[node] = nearest_distances(self._X[self._sketch.rows[node]], self._X)
        return self._to_node[node]


class CltreeSearch:
    """CLTree's grid on one table: grown once, pruned in every way.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    """

    def __init__(self, X: Float64) -> None:
        ones = np.ones(len(X), dtype=np.int64)
        self._table = read_table(X)
        self._rows = encode_rows(self._table, self._table, None, merge=False, n_jobs=1)
        self._grown = grow_with_virtual_points(X, ones, min(CLTREE_GRID["min_split"]))
        # Most values of the grid prune alike.
        self._prunings = {tuple(prune_sparse(self._grown, **values)): values for values in ParameterGrid(CLTREE_GRID)}

    def tree(self, size: int, reference: BenchReference) -> ThresholdTree:
        """The cheapest tree of at most ``size`` leaves; larger prunings are cut back as the estimator does."""
        of_rows = from_centers(self._table, reference.centers, len(reference.centers))
        task = Task(self._rows, of_rows, size)
        best: tuple[float, ThresholdTree] | None = None
        tried: set[tuple[int, ...]] = set()
        cluster_of: dict[int, int] = {}
        for leaves in self._prunings:
            for leaf in leaves:
                if leaf not in cluster_of:
                    cluster_of[leaf] = task.best_cluster(self._grown.sketch.rows[leaf])
            kept = tuple(cut_back(self._grown, {leaf: cluster_of[leaf] for leaf in leaves}, size))
            if kept in tried:
                continue
            tried.add(kept)
            tree, _ = self._grown.sketch.draw(task, list(kept))
            label_by_surrogate_cost(tree, task)
            grown = finish_tree(tree)
            cost = _own_cost(task.values, grown.codes)
            if best is None or cost < best[0]:
                best = cost, grown.tree
        assert best is not None
        return best[1]


def _own_cost(X: Float64, codes: npt.NDArray[np.int32]) -> float:
    """k-means cost of a partition, each cluster with its own mean."""
    centered = X - X.mean(axis=0)
    present = np.unique(codes)
    return float(sum(((centered[codes == c] - centered[codes == c].mean(axis=0)) ** 2).sum() for c in present))
