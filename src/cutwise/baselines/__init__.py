"""What trees of clusters are compared with: CART and KDTree, each ending in the same ``tree_``.

They are baselines of the ExKMC paper, from their definitions. All metrics, rules and exports work on them. Every one
also makes (or takes) a reference clustering: to grow on, to label leaves, or to be priced.
"""

from cutwise.baselines.cart import CART
from cutwise.baselines.kdtree import KDTree

__all__ = ["CART", "KDTree"]
