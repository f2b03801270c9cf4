"""CLTree: a decision tree between the rows and virtual points spread evenly over their box."""

from __future__ import annotations

from typing import Any

from cutwise.baselines._base import Baseline, Task, finish_tree, label_by_surrogate_cost
from cutwise.baselines._cltree_growth import cut_back, grow_with_virtual_points, prune_sparse
from cutwise.table import Seed, check_integer, check_number
from cutwise.tree.grower import GrownTree

__all__ = ["CLTree"]


class CLTree(Baseline):
    """Clustering based on decision trees: dense boxes are told apart from empty space.

    Virtual points are spread evenly over the box of the rows, as many as there are rows, and a tree is grown between
    the two kinds by information gain. In every column it looks ahead up to three cuts for the sparsest region, and cuts
    beside it. Sparse nodes are then pruned, and siblings of about equal density united. The leaves that remain become
    parts of the reference clusters that serve their rows at the lowest cost.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    max_leaves : int, default=None
        Number of leaves at most, at least ``n_clusters``. None means ``n_clusters``. Where pruning leaves more,
        siblings that are parts of one cluster are united, and then the leaves with the fewest rows go with their
        siblings.
    min_split : int, default=20
        Nodes with fewer rows are not cut.
    min_y : float, default=1.0
        A node with fewer rows than these per cent of all is sparse.
    min_rd : float, default=10.0
        A dense node absorbs a sibling whose relative density (rows per virtual point, 1 at most) differs from its own
        by at most this, in per cent.
    reference, preprocessor, n_init, random_state, n_jobs, verbose
        As in :class:`cutwise.baselines.CART`. Boxes are those of the columns that are cut.

    Attributes
    ----------
    tree_, labels_, cluster_centers_, cost_, inertia_, surrogate_cost_, cost_ratio_, total_cost_, explained_, \
    reference_explained_, reference_, n_leaves_, depth_, \
    classes_, preprocessor_, n_features_in_, cluster_names_, feature_names_in_
        As in :class:`cutwise.ExplainableKMeans`.

    Notes
    -----
    Leaves that hold no row are not part of ``tree_``: the cut that made them parts nothing.

    References
    ----------
    Liu, Xia, Yu (2000), *Clustering through decision tree construction*; used as in Frost, Moshkovitz, Rashtchian
    (2020), *ExKMC*, Appendix B.

    Examples
    --------
    >>> import numpy as np
    >>> from cutwise.baselines import CLTree
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.uniform(0, 3, 50), rng.uniform(6, 9, 50)])[:, None]
    >>> CLTree(2, random_state=0).fit(X).tree_.n_leaves
    2
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_leaves: int | None = None,
        min_split: int = 20,
        min_y: float = 1.0,
        min_rd: float = 10.0,
        reference: Any = None,
        preprocessor: Any = None,
        n_init: int = 10,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_leaves = max_leaves
        self.min_split = min_split
        self.min_y = min_y
        self.min_rd = min_rd
        self.reference = reference
        self.preprocessor = preprocessor
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_own_parameters(self) -> None:
        check_integer("min_split", self.min_split, minimum=1)
        check_number("min_y", self.min_y, minimum=0, maximum=100)
        check_number("min_rd", self.min_rd, minimum=0, maximum=100)

    def _grow(self, task: Task) -> GrownTree:
        grown = grow_with_virtual_points(task.values, task.weights, self.min_split)
        pruned = prune_sparse(grown, min_split=self.min_split, min_y=self.min_y, min_rd=self.min_rd)
        cluster_of = {leaf: task.best_cluster(grown.sketch.rows[leaf]) for leaf in pruned}
        leaves = cut_back(grown, cluster_of, task.max_leaves)
        tree, _ = grown.sketch.draw(task, leaves)
        label_by_surrogate_cost(tree, task)
        return finish_tree(tree)
