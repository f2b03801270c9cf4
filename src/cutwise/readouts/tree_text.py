"""The tree itself, node by node: as plain text, and as Graphviz DOT, whose drawing is Graphviz's own business."""

from __future__ import annotations

from .labeled_tree import LabeledTree
from .shown import cluster_color, ink_on
from .words import percent, quoted, rows

# Deeper levels are numbered instead of indented: the text of a deep tree would grow with the square of its depth.
_DEEPEST_INDENT = 40


def tree_text(labeled: LabeledTree) -> str:
    """Write a tree, a node a line: the test that leads to it, its rows, and at leaves the cluster.

    Levels are indented as far as the 40th, and numbered from there on.
    """
    tree, purity = labeled.tree, labeled.purity
    depth = tree.node_depth.tolist()
    lines = []
    for node, (size, share) in enumerate(zip(labeled.size.tolist(), labeled.share.tolist(), strict=True)):
        measures = f"{rows(size)}, {percent(share)}" if node else rows(size)
        if node in purity:
            measures += f"; purity {percent(purity[node])}"
        parts = [str(labeled.condition(node))] if node else []
        if tree.feature[node] < 0:
            parts.append(f"cluster {quoted(labeled.titles[tree.cluster[node]])}")
        if not labeled.counted:
            line = ": ".join(parts) or "all rows"
        else:
            line = f"{': '.join(parts)} ({measures})" if parts else measures
        lines.append(_indent(depth[node]) + line)
    return "\n".join(lines)


def _indent(depth: int) -> str:
    if depth == 0:
        return ""
    if depth <= _DEEPEST_INDENT:
        return "|   " * (depth - 1) + "|-- "
    return "|   " * (_DEEPEST_INDENT - 1) + f"|-- [level {depth}] "


def tree_dot(labeled: LabeledTree) -> str:
    """Write a tree in the DOT language.

    Inner nodes show the test whose rows go left, along the edge ``yes``; leaves the cluster. Nodes are called by their
    numbers, as ``apply`` gives them. Clusters have the colors of all pictures.
    """
    tree, purity = labeled.tree, labeled.purity
    lines = [
        "digraph tree {",
        '  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="Helvetica"];',
        '  edge [fontname="Helvetica"];',
    ]
    for node in range(tree.n_nodes):
        if tree.feature[node] < 0:
            code = int(tree.cluster[node])
            said = [f"cluster {quoted(labeled.titles[code])}"]
            color = cluster_color(code)
            look = f', fillcolor="{color}", fontcolor="{ink_on(color)}"'
        else:
            said = [str(labeled.condition(int(tree.children_left[node])))]
            look = ""
        if labeled.counted:
            said.append(f"{rows(int(labeled.size[node]))}, {percent(float(labeled.share[node]))}")
        if node in purity:
            said.append(f"purity {percent(purity[node])}")
        # \n is Graphviz's own line break, between lines that are escaped each.
        label = r"\n".join(map(_escaped, said))
        lines.append(f'  {node} [label="{label}"{look}];')
        if tree.feature[node] >= 0:
            lines.append(f'  {node} -> {tree.children_left[node]} [label="yes"];')
            lines.append(f'  {node} -> {tree.children_right[node]} [label="no"];')
    return "\n".join([*lines, "}", ""])


def _escaped(text: str) -> str:
    """Text inside a quoted string of DOT: no quote ends it, and neither escapes nor HTML entities are read from it."""
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
