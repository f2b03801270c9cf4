"""Trees grown on rows in memory, against a fixed reference."""

from cutwise.tree.provider import GrowthSpec, MemoryProvider
from cutwise.tree.recipes import grow_on


def grow_tree(table, labels, coordinates, costs, *, n_jobs=1, **how):
    """``grow_on`` with costs of every row by every cluster, None where none are asked for; ``how``: of the spec."""
    return grow_on(MemoryProvider(table, labels, costs, n_jobs), coordinates, GrowthSpec(**how))
