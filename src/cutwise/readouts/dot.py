"""The tree as Graphviz DOT text; drawing it is Graphviz's own business."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from cutwise.tree.threshold_tree import ThresholdTree

from .counts import LeafCounts
from .nodes import condition_towards, node_figures
from .palette import cluster_color, ink_on
from .words import percent, quoted, rows

__all__ = ["tree_dot"]


def tree_dot(
    tree: ThresholdTree,
    names: Sequence[str],
    counts: LeafCounts | None = None,
    classes: npt.NDArray[Any] | None = None,
    cluster_names: Mapping[Any, str] | None = None,
) -> str:
    """Write a tree in the DOT language.

    Parameters
    ----------
    tree : ThresholdTree
    names : sequence of str, one a column
    counts : LeafCounts, optional
        Sizes and purities; without it the sizes are those that the tree was grown with, if it knows them.
    classes : ndarray of shape (n_clusters,), optional
        The original label of every cluster code; the codes themselves when left out.
    cluster_names : mapping of label to str, optional
        As ``read_cluster_names`` gives them.

    Returns
    -------
    dot : str
        A digraph. Inner nodes show the test whose rows go left, along the edge ``yes``; leaves the cluster. Nodes are
        called by their numbers, as ``apply`` gives them. Clusters have the colors of all pictures.
    """
    known = node_figures(tree, names, counts, classes, cluster_names)
    size, share, purity = known.size, known.share, known.purity
    lines = [
        "digraph tree {",
        '  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="Helvetica"];',
        '  edge [fontname="Helvetica"];',
    ]
    for node in range(tree.n_nodes):
        told = []
        if tree.feature[node] < 0:
            code = int(tree.cluster[node])
            told.append(f"cluster {quoted(known.titles[code])}")
            color = cluster_color(code)
            look = f', fillcolor="{color}", fontcolor="{ink_on(color)}"'
        else:
            told.append(str(condition_towards(tree, node + 1, node, names)))
            look = ""
        if known.counted:
            told.append(f"{rows(int(size[node]))}, {percent(float(share[node]))}")
        if node in purity:
            told.append(f"purity {percent(purity[node])}")
        # \n is Graphviz's own line break, between lines that are escaped each.
        label = r"\n".join(map(_escaped, told))
        lines.append(f'  {node} [label="{label}"{look}];')
        if tree.feature[node] >= 0:
            lines.append(f'  {node} -> {tree.children_left[node]} [label="yes"];')
            lines.append(f'  {node} -> {tree.children_right[node]} [label="no"];')
    return "\n".join([*lines, "}", ""])


def _escaped(text: str) -> str:
    """Text inside a quoted string of DOT: no quote ends it, and neither escapes nor HTML entities are read from it."""
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
