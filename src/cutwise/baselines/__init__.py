"""What trees of clusters are compared with: CART, KDTree, CLTree and CUBT, each ending in the same ``tree_``.

They are the baselines of the ExKMC paper, from their definitions. All metrics, rules and exports work on them. Every
one also makes (or takes) a reference clustering: to grow on, to label or number leaves, and to be priced.
"""

from cutwise.baselines.base import CART, KDTree
from cutwise.baselines.cltree import CLTREE_GRID, CLTree
from cutwise.baselines.cubt import CUBT, CUBT_GRID

__all__ = ["CART", "CLTREE_GRID", "CUBT", "CUBT_GRID", "CLTree", "KDTree"]
