"""What ``fit`` and ``rules`` say about a model: tables and sentences for people, JSON for programs."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from cutwise.cli.options import SCALES
from cutwise.cli.screen import print_document, print_line, print_table
from cutwise.estimators import certificate_line
from cutwise.readouts.explained import explained_words, ratio_words
from cutwise.readouts.rules import table_lines
from cutwise.readouts.words import percent, quoted

if TYPE_CHECKING:
    from cutwise.estimators import TreeEstimator

__all__ = ["print_certificate", "print_fit", "print_json", "print_rules"]

MEASURES = ("rows", "share", "purity", "coverage")


def print_fit(model: TreeEstimator, *, source: str, n_rows: int, scale: str) -> None:
    """Print what was done on the rows of a table, the rules, and what they cost."""
    print_line(f"{source}: {_count(n_rows, 'row')}, {_count(model.n_features_in_, 'column')}")
    units = "" if scale == "none" else "; the rules are in the units of the table"
    print_line(f"scale {scale}: {SCALES[scale]}{units}")
    print_line(_tree_line(model))
    print_line()
    print_rules(model)
    print_line()
    for line in _price_lines(model):
        print_line(line)
    print_certificate(model)


def print_rules(model: TreeEstimator) -> None:
    """Print a table of the rules: one line a leaf; clusters of several leaves have a line of totals first.

    The names of clusters, where there are any, have a column of their own: other files and programs speak of labels.
    """
    named = bool(model.cluster_names_)
    who = ("cluster", "name") if named else ("cluster",)
    rows = []
    for cluster in model.rules():
        label = quoted(cluster.cluster)
        name: tuple[str, ...] = (label, "" if cluster.name is None else quoted(cluster.name)) if named else (label,)
        for figures, rule, said in table_lines(cluster):
            text = (said if cluster.rules else f"({said})") if rule is None else f"{'' if name[0] else '  '}{rule}"
            rows.append((*name, *figures, text))
            name = ("",) * len(who)
    flush_right = range(len(who), len(who) + len(MEASURES))
    print_table((*who, *MEASURES, "rule"), rows, right=flush_right)


def print_json(model: TreeEstimator, **about: Any) -> None:
    """Print what ``export_json`` gives, with entries of the command line's own."""
    from cutwise.estimators._document import model_document

    document = model_document(model, about=about)
    print_document(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def print_certificate(model: TreeEstimator) -> None:
    """Print what is proved about a tree's cost, where something is."""
    line = certificate_line(model)
    if line is not None:
        print_line(line)


def _tree_line(model: TreeEstimator) -> str:
    from cutwise.estimators._document import algorithm_of

    leaves = _count(model.n_leaves_, "leaf", "leaves")
    return f"{_count(len(model.classes_), 'cluster')}, tree by {algorithm_of(model)}: {leaves}, depth {model.depth_}"


def _price_lines(model: TreeEstimator) -> list[str]:
    """What saying the clusters with this tree costs, in words."""
    from cutwise.estimators._document import advice_of, words_of

    own, cost_words = words_of(model)
    agreement = model._leaf_counts.agreement
    lines = []
    if not math.isnan(agreement):
        lines.append(f"agreement {percent(agreement)}: rows that the rules put where {own} have them")
    lines += _pair_lines(model)
    ratio = model.cost_ratio_
    if math.isnan(model.cost_):
        return lines
    if math.isnan(ratio):
        lines.append(f"cost ratio: none, for {own} have cost 0 (and the tree's {model.cost_:.6g})")
    else:
        lines.append(f"cost ratio {ratio:.4f}: {ratio_words(ratio, own, cost_words)}")
    explained, of = model.explained_, model.reference_explained_
    share = "none" if math.isnan(explained) else percent(explained)
    lines.append(f"explained {share}: {explained_words(explained, of, own, cost_words)}")
    advice = advice_of(model, "--max-leaves")
    return lines if advice is None else [*lines, f"advice: {advice}"]


def _pair_lines(model: TreeEstimator) -> list[str]:
    """Agreement that chance and bounded kernels do not flatter: low cost ratios are cheap under a bounded kernel."""
    if not hasattr(model, "adjusted_rand_index_"):
        return []
    index, information = model.adjusted_rand_index_, model.normalized_mutual_info_
    return [f"adjusted Rand index {index:.4f}, normalized mutual information {information:.4f}: 1 is the same clusters"]


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
