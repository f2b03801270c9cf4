"""Trees and rules as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from cutwise.tree.threshold_tree import ThresholdTree

from .counts import LeafCounts
from .nodes import condition_towards, node_figures
from .words import percent, quoted, rows

if TYPE_CHECKING:  # the rules print themselves with the functions below
    from .rules import ClusterRules, Rule, Rules

__all__ = ["cluster_text", "rules_text", "tree_text"]

# Deeper levels are numbered instead of indented: the text of a deep tree would grow with the square of its depth.
_DEEPEST_INDENT = 40


def rules_text(rules: Rules, *, scores: bool = True) -> str:
    """Write all rules, a cluster a paragraph.

    Parameters
    ----------
    rules : Rules
    scores : bool, default True
        Add purity and coverage to the sizes.

    Returns
    -------
    text : str
        ``cluster 3 (412 rows, 27.5 %; purity 98.1 %, coverage 96.0 %): income > 52000 and age <= 35``. A cluster with
        several rules has them on lines of their own, after ``either`` and ``or``.
    """
    return "\n".join(cluster_text(cluster, scores=scores) for cluster in rules)


def cluster_text(cluster: ClusterRules, *, scores: bool = True) -> str:
    """Write the rules of one cluster, as ``rules_text`` does for all.

    Parameters
    ----------
    cluster : ClusterRules
    scores : bool, default True
        Add purity and coverage to the sizes.

    Returns
    -------
    text : str
    """
    head = f"cluster {quoted(cluster.title)}"
    if not cluster.rules:
        return f"{head}: no rule, because no leaf of the tree holds this cluster"
    measures = _measures(cluster, scores)
    if len(cluster.rules) == 1:
        return f"{head} ({measures}): {cluster.rules[0]}"
    lines = [f"{head} ({measures}), {len(cluster.rules)} rules:"]
    for i, rule in enumerate(cluster.rules):
        lines.append(f"    {'or    ' if i else 'either'} ({_measures(rule, scores)}): {rule}")
    return "\n".join(lines)


def tree_text(
    tree: ThresholdTree,
    names: Sequence[str],
    counts: LeafCounts | None = None,
    classes: npt.NDArray[Any] | None = None,
    cluster_names: Mapping[Any, str] | None = None,
) -> str:
    """Write a tree, a node a line: the test that leads to it, its rows, and at leaves the cluster.

    Parameters
    ----------
    tree : ThresholdTree
    names : sequence of str, one a column
    counts : LeafCounts, optional
        Sizes and purities; without it the sizes are those that the tree was grown with, if it knows them, and purity is
        left out.
    classes : ndarray of shape (n_clusters,), optional
        The original label of every cluster code; the codes themselves when left out.
    cluster_names : mapping of label to str, optional
        Names to write in place of labels, as ``read_cluster_names`` gives them.

    Returns
    -------
    text : str
        Levels are indented as far as the 40th, and numbered from there on.

    Raises
    ------
    InvalidInputError
        Names, classes or counts that do not fit the tree.
    """
    known = node_figures(tree, names, counts, classes, cluster_names)
    size, share, purity = known.size, known.share, known.purity
    depth, parents = tree.node_depth.tolist(), tree.parents.tolist()
    lines = []
    for node in range(tree.n_nodes):
        measures = f"{rows(int(size[node]))}, {percent(float(share[node]))}" if node else rows(int(size[node]))
        if node in purity:
            measures += f"; purity {percent(purity[node])}"
        parts = [str(condition_towards(tree, node, parents[node], names))] if node else []
        if tree.feature[node] < 0:
            parts.append(f"cluster {quoted(known.titles[tree.cluster[node]])}")
        if not known.counted:
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


def _measures(of: Rule | ClusterRules, scores: bool) -> str:
    text = f"{rows(of.size)}, {percent(of.share)}"
    if scores and of.size:
        text += f"; purity {percent(of.purity)}, coverage {percent(of.coverage)}"
    if of.noise:
        text += f"; and {rows(of.noise)} of noise"
    return text
