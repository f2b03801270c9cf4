"""CUBT: clustering by a tree of its own, without a reference: grow by deviance, prune and join by distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from cutwise.baselines._base import Baseline, Task, finish_tree
from cutwise.baselines._cubt_stages import grow_by_deviance, join_nearest, prune_nearest
from cutwise.table import Seed, check_integer, check_number
from cutwise.tree.grower import GrownTree

__all__ = ["CUBT"]


class CUBT(Baseline):
    """Clustering using unsupervised binary trees: a tree makes the clusters, no reference does.

    A large tree is grown by the cuts that lower the deviance (the sum of squares within nodes) most. Sibling leaves
    whose nearest rows are near each other are united, then any leaves, until ``n_clusters`` groups are left. These
    groups are the clusters; they take the numbers of the reference clusters that they share most rows with, one to one.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k, ``nclass`` in the paper. There are fewer when the tree ends with fewer leaves.
    max_leaves : int, default=None
        Number of leaves at most, at least ``n_clusters``. None means ``n_clusters``; ``nleaves`` in the paper.
    minsize : int, default=5
        Nodes with fewer rows are not cut.
    mindev : float, default=0.001
        Nor is a node whose best cut lowers the deviance by less than this share of the whole table's.
    mindist : float, default=0.3
        Sibling leaves less dissimilar than this are united. A distance, in the units of the columns.
    alpha : float, default=0.2
        Dissimilarity looks at this share of a leaf's rows: those nearest to the other leaf.
    reference, preprocessor, n_init, random_state, n_jobs, verbose
        As in :class:`cutwise.baselines.CART`. The reference only prices and numbers the clusters. Deviance and
        distances are measured in the preprocessor's output.

    Attributes
    ----------
    tree_, labels_, cluster_centers_, cost_, inertia_, surrogate_cost_, cost_ratio_, total_cost_, explained_, \
    reference_explained_, reference_, n_leaves_, depth_, \
    classes_, preprocessor_, n_features_in_, cluster_names_, feature_names_in_
        As in :class:`cutwise.ExplainableKMeans`.

    References
    ----------
    Fraiman, Ghattas, Svarc (2013), *Interpretable clustering using unsupervised binary trees*; parameters as in Frost,
    Moshkovitz, Rashtchian (2020), *ExKMC*, Appendix B.

    Examples
    --------
    >>> from cutwise.baselines import CUBT
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [9.0], [9.2]]
    >>> CUBT(3, minsize=2, random_state=0).fit(X).tree_.n_leaves
    3
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_leaves: int | None = None,
        minsize: int = 5,
        mindev: float = 0.001,
        mindist: float = 0.3,
        alpha: float = 0.2,
        reference: Any = None,
        preprocessor: Any = None,
        n_init: int = 10,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_leaves = max_leaves
        self.minsize = minsize
        self.mindev = mindev
        self.mindist = mindist
        self.alpha = alpha
        self.reference = reference
        self.preprocessor = preprocessor
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_own_parameters(self) -> None:
        check_integer("minsize", self.minsize, minimum=1)
        check_number("mindev", self.mindev, minimum=0, maximum=1)
        check_number("mindist", self.mindist, minimum=0)
        check_number("alpha", self.alpha, minimum=0, maximum=1, above=True)

    def _grow(self, task: Task) -> GrownTree:
        positions, weights = task.positions, task.weights
        sketch = grow_by_deviance(task.values, positions, weights, minsize=self.minsize, mindev=self.mindev)
        is_leaf = prune_nearest(
            sketch, positions, weights, mindist=self.mindist, alpha=self.alpha, n_leaves=task.max_leaves
        )
        leaves = sketch.leaves_under(is_leaf)
        group = join_nearest(positions, weights, [sketch.rows[leaf] for leaf in leaves], self.alpha, self.n_clusters)
        tree, leaf_of = sketch.draw(task, leaves)
        shared = np.zeros((self.n_clusters, self.n_clusters))
        for leaf, g in zip(leaves, group, strict=True):
            rows = sketch.rows[leaf]
            shared[g] += np.bincount(task.reference.labels[rows], weights=weights[rows], minlength=self.n_clusters)
        number = linear_sum_assignment(-shared)[1]
        for leaf, g in zip(leaves, group, strict=True):
            tree.label(leaf_of[leaf], int(number[g]))
        return finish_tree(tree)
