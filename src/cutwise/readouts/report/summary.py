"""The content of a report as plain data; README.md beside this file has the schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import InvalidInputError
from cutwise.passes.rows import BatchedRows
from cutwise.readouts.conditions import conditions_of, explanation_sizes, is_reachable, walk_leaves
from cutwise.readouts.labeled_tree import LabeledTree, LeafCounts
from cutwise.readouts.profile import (
    Profile,
    TestedLevels,
    distinguishing_columns,
    profile_batches,
    profile_clusters,
    tested_levels,
)
from cutwise.readouts.rules import ClusterRules, build_rules
from cutwise.readouts.shown import ShortNames, cluster_color, condition_text, ink_on, shortened
from cutwise.readouts.words import finite, percent, rows, value_text
from cutwise.table.instants import CALENDAR, MICROSECONDS, instant_of
from cutwise.table.table import ColumnKind, Table
from cutwise.tree.threshold_tree import ThresholdTree

from .render import short_number

FORMAT = "cutwise report"
SCHEMA_VERSION = 1
"""Increased by one whenever an entry of the summary changes its meaning or is removed."""

MOST_NAME = 44
"""Longest name outside of rules, in characters; the whole name stands beside it."""

MOST_COLUMNS = 200
"""Most columns to profile: those that the tree tests, then those in which clusters differ most."""


@dataclass(frozen=True, eq=False)
class DescribedRows:
    """The rows of a report, at least one: their number, counts by leaf, and profile.

    ``n_columns``: of the table; the profile may have fewer. ``in_leaves``: from ``count_rows``.
    """

    n_rows: int
    n_columns: int
    in_leaves: npt.NDArray[Any]
    profile: Profile

    @classmethod
    def of(cls, labeled: LabeledTree, table: Table, weights: npt.NDArray[np.float64] | None = None) -> DescribedRows:
        """Describe rows in memory, in the tree's columns."""
        tree, k, others = labeled.tree, len(labeled.labels), list(range(table.n_columns))
        leaf = tree.apply(table)
        if table.n_columns > MOST_COLUMNS:
            others = distinguishing_columns(table, tree.cluster[leaf], k, MOST_COLUMNS + len(table.unread))
        columns = [column for column in dict.fromkeys([*_tested(tree), *others]) if column not in table.unread]
        profile = profile_clusters(table, tree.cluster[leaf], k, columns[:MOST_COLUMNS], tested_levels(tree))
        return cls(table.n_rows, table.n_columns, count_rows(tree, leaf, weights), profile)

    @classmethod
    def in_batches(cls, labeled: LabeledTree, rows: BatchedRows, in_leaves: npt.NDArray[Any]) -> DescribedRows:
        """Describe rows that come in batches, in the tree's columns; ``in_leaves``: of all rows."""
        tree, k = labeled.tree, len(labeled.labels)
        profile = profile_batches(rows, lambda part: tree.predict(part.table), k, tested_levels(tree))
        wide = tree.n_features > MOST_COLUMNS
        others = profile.columns[profile.by_difference].tolist() if wide else list(range(tree.n_features))
        columns = list(dict.fromkeys([*_tested(tree), *others]))[:MOST_COLUMNS]
        places = np.concatenate([np.flatnonzero(profile.columns == column) for column in columns])
        return cls(rows.n_rows, tree.n_features, in_leaves, profile.of(places))

    @property
    def is_weighted(self) -> bool:
        """Whether weights were given."""
        return self.in_leaves.dtype.kind == "f"

    def share(self, leaves: npt.NDArray[np.bool_]) -> float:
        """Share of the weight that is in some leaves."""
        return float(self.in_leaves[2, leaves].sum() / self.in_leaves[2].sum())


def count_rows(
    tree: ThresholdTree, leaf: npt.NDArray[np.integer], weights: npt.NDArray[np.float64] | None
) -> npt.NDArray[Any]:
    """Number of rows, of rows of positive weight, and weight of every leaf (3, n_leaves); integers without weights.

    ``leaf`` (n_rows,): from ``tree.apply``.
    """
    if weights is None:
        return np.tile(np.bincount(leaf, minlength=tree.n_nodes)[tree.leaves], (3, 1))
    counted = (np.ones(len(leaf)), weights > 0, weights)
    return np.array([np.bincount(leaf, of_row, tree.n_nodes)[tree.leaves] for of_row in counted], dtype=np.float64)


def _tested(tree: ThresholdTree) -> list[int]:
    """Columns that the tree tests, in the order of its nodes."""
    return list(dict.fromkeys(tree.feature[tree.feature >= 0].tolist()))


def build_summary(
    labeled: LabeledTree, described: DescribedRows, source: str | None, headline: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """Build the content of a report; README.md has the entries.

    The caller gives what the tree and its counts lack. ``source``: name of the table. ``headline``: costs and shares,
    names of the reference and of costs, and plain CART. ``more``: title, curve, SQL, settings, commands and notes, to
    which further notes are added. Raises ``InvalidInputError``: a tree that was edited after its rows
    were counted.
    """
    from importlib.metadata import version

    rules = build_rules(labeled)
    tree, names, counts, k = labeled.tree, labeled.names, labeled.counts, len(rules)
    if counts is None:
        raise InvalidInputError(
            "A report shows how many rows each rule covers, but the tree was edited after they were counted. Recount "
            "them first: model.recount(X), or cutwise recount MODEL FILE."
        )
    profile, is_fit = described.profile, counts.are_of(described.in_leaves[1])
    tested, columns = _tested(tree), profile.columns.tolist()
    seen = sorted({*tested, *columns})  # a few hundred, perhaps of tens of thousands
    short_names = ShortNames([names[column] for column in seen])
    short = {column: short_names(i, MOST_NAME) for i, column in enumerate(seen)}
    kinds = labeled.columns.kinds
    called = profile.names(labeled.columns, short)
    total = counts.weight.sum()
    length = float(counts.weight @ explanation_sizes(tree) / total) if total > 0 else math.nan
    return {
        "format": FORMAT,
        "format_version": SCHEMA_VERSION,
        "written_by": f"cutwise {version('cutwise')}",
        "written_on": date.today().isoformat(),
        "source": {"name": source, "n_rows": described.n_rows, "n_columns": described.n_columns, "is_fit": is_fit},
        "headline": {
            "n_clusters": k,
            "n_leaves": tree.n_leaves,
            "depth": tree.depth,
            "n_tested": len(tested),
            "n_rows": int(counts.n_rows.sum()),
            "noise": int(counts.n_noise.sum()),
            "agreement": finite(counts.agreement),
            "explanation_size": finite(length),
            **headline,
        },
        "clusters": [_cluster(code, cluster, described, called, labeled) for code, cluster in enumerate(rules)],
        "columns": [
            {
                "name": names[column],
                "short": called[j],
                "tested": column in tested,
                "mean": float(profile.whole_mean[j]),
                "mean_text": _typical(profile, j, kinds),
                "median": float(profile.whole_median[j]),
                "std": float(profile.whole_std[j]),
                "edges": profile.edges[j].tolist(),
                "counts": profile.counts[j].sum(axis=0).tolist(),
            }
            for j, column in enumerate(columns)
        ],
        "tree": _nodes(labeled, short, described.in_leaves),
        **more,
        "notes": [*more["notes"], *_notes(described, counts)],
    }


def _notes(described: DescribedRows, counts: LeafCounts) -> list[str]:
    """What readers should know of the rows of a report, and of the counted ones."""
    notes, columns = list[str](), described.profile.columns
    if not counts.are_of(described.in_leaves[1]):
        these = "This row is" if described.n_rows == 1 else f"These {described.n_rows:,} rows are"
        counted = f"the {int(counts.n_rows.sum()):,}"
        notes.append(
            f"{these} not {counted} of fit or of the last recount. Rows and profiles describe this table; cost "
            f"ratio, agreement, coverage and purity describe {counted}."
        )
    if described.is_weighted:
        once, whole = ["Rows", "means", "distributions"], ["Shares"]
        (once if counts.is_unweighted else whole).extend(["agreement", "purity", "coverage", "costs"])
        notes.append(f"{_in_a_row(whole)} use the weights. {_in_a_row(once)} count each row once, whatever its weight.")
    elif not counts.is_unweighted:
        notes.append("Agreement, purity, coverage and costs use weights of rows. The rest counts each row once.")
    if n_noise := int(counts.n_noise.sum()):
        notes.append(
            f"{rows(n_noise)} of fit {'is' if n_noise == 1 else 'are'} noise, in no cluster of the reference. The tree "
            "places such rows too, and rows and profiles count them; agreement, purity and coverage do not."
        )
    if len(set(columns.tolist())) == MOST_COLUMNS < described.n_columns:
        notes.append(
            f"Profiles show {MOST_COLUMNS} of {described.n_columns} columns: those that the tree tests, and those that "
            "best set a cluster apart."
        )
    return notes


def _cluster(
    code: int, cluster: ClusterRules, described: DescribedRows, names: Sequence[str], labeled: LabeledTree
) -> dict[str, Any]:
    profile, tree = described.profile, labeled.tree
    difference, kinds = profile.difference[code], labeled.columns.kinds
    order = _distinguishing(profile, code, tested_levels(tree))
    color, share = cluster_color(code), described.share(tree.cluster[tree.leaves] == code)
    rows_in = dict(zip(tree.leaves.tolist(), map(int, described.in_leaves[0]), strict=True))
    columns = [
        {
            "column": j,
            "mean": finite(profile.mean[code, j]),
            "mean_text": _typical(profile, j, kinds, code),
            "median": finite(profile.median[code, j]),
            "difference": finite(difference[j]),
            "counts": profile.counts[j][code].tolist(),
        }
        for j in order
    ]
    entry = cluster.to_dict()
    return {
        "code": code,
        "label": entry["cluster"],
        "title": str(cluster.title),
        "color": color,
        "ink": ink_on(color),
        **{figure: entry[figure] for figure in ("size", "share", "coverage", "purity", "noise")},
        "rows": int(profile.size[code]),
        "rows_share": share,
        "rules": [
            {
                "conditions": [str(condition) for condition in rule.conditions],
                "shown": [shortened(condition) for condition in rule.conditions],
                **{figure: rule_entry[figure] for figure in ("text", "leaf", "size", "share", "coverage", "purity")},
                "rows": rows_in[rule.leaf],
            }
            for rule, rule_entry in zip(cluster.rules, entry["rules"], strict=True)
        ],
        "sentence": _sentence(code, cluster, described, share, order, names, kinds),
        "profile": columns,
    }


def _distinguishing(profile: Profile, code: int, tested: TestedLevels) -> list[int]:
    """Entries of a cluster to show, strongest difference first: of a category the tested set and a stronger level."""
    strength = np.nan_to_num(np.abs(profile.difference[code]))
    order: list[int] = np.argsort(-strength, kind="stable").tolist()
    said = set[tuple[int, bool]]()
    found = []
    for j in order:
        column, some = int(profile.columns[j]), profile.levels[j]
        is_tested = some in tested.get(column, ())
        if not some or not said & {(column, is_tested), (column, True)}:
            found.append(j)
        said.add((column, is_tested))
    return found


def _sentence(
    code: int,
    cluster: ClusterRules,
    described: DescribedRows,
    share: float,
    order: list[int],
    names: Sequence[str],
    kinds: Sequence[ColumnKind],
) -> str:
    """Write how many rows are in a cluster, and in what they differ most from all rows."""
    profile = described.profile
    size, of = int(profile.size[code]), " of the weight" if described.is_weighted else ""
    if not cluster.rules:
        return "No leaf of the tree holds this cluster, so no row is placed here."
    several = ", by one of several rules" if len(cluster.rules) > 1 else ""
    who = f"{rows(size)} of {described.n_rows:,} ({percent(share)}{of}){several}."
    first = {int(profile.columns[j]): j for j in reversed(order)}.values()  # one of each category
    strong = [j for j in order if j in first and abs(profile.difference[code, j]) >= 0.5][:3]
    if size == 0 or not strong:
        return who
    means, shares = [], []
    for j in strong:
        d, name, kind = profile.difference[code, j], names[j], kinds[profile.columns[j]]
        own, whole = _typical(profile, j, kinds, code), _typical(profile, j, kinds)
        if kind.name in ("category", "bool"):
            is_true = " is true" if kind.name == "bool" else ""
            shares.append(f"{name}{is_true} in {own} of them ({whole} of all rows)")
        else:
            less, more = _COMPARED.get("date" if kind.unit == "time" else kind.name, ("lower", "higher"))
            how = f"{'far ' if abs(d) >= 1.5 else ''}{more if d > 0 else less}"
            means.append(f"{name} is {how}" + (f" ({own} against {whole})" if own != whole else ""))
    said = [f"On average, {_in_a_row(means)}."] if means else []
    return " ".join([who, *said, *([f"{_in_a_row(shares)}."] if shares else [])])


_COMPARED = {"date": ("earlier", "later"), "duration": ("shorter", "longer")}


def _typical(profile: Profile, j: int, kinds: Sequence[ColumnKind], code: int | None = None) -> str:
    """Write the mean of a cluster, or of all rows: a share of booleans and categories, the median of ordered levels."""
    kind, mean, median = kinds[profile.columns[j]], profile.whole_mean[j], profile.whole_median[j]
    if code is not None:
        mean, median = profile.mean[code, j], profile.median[code, j]
    if math.isnan(mean):
        return short_number(mean)
    if kind.levels and kind.name == "ordered":
        return str(kind.levels[math.floor(median)])
    if kind.name == "date" and kind.unit == "microsecond":
        last = CALENDAR[1] * MICROSECONDS["day"] - MICROSECONDS["min"]
        if profile.whole_std[j] < 2 * MICROSECONDS["day"]:  # the hour is shown only where days are close together
            return value_text(kind, min(round(mean / MICROSECONDS["min"]) * MICROSECONDS["min"], last))
        return str(instant_of(min(mean + MICROSECONDS["day"] / 2, last), kind))[:10]
    if kind.name == "duration":  # two units are enough
        units = pairwise(sorted(MICROSECONDS.values()))
        unit = max((small for small, large in units if large <= abs(mean)), default=1)
        return value_text(kind, round(mean / unit) * unit)
    if kind.name == "date":
        return value_text(kind, round(mean))
    return percent(mean) if kind.name in ("category", "bool") else short_number(mean)


def _in_a_row(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _nodes(labeled: LabeledTree, short: Mapping[int, str], in_leaves: npt.NDArray[Any]) -> list[dict[str, Any]]:
    tree = labeled.tree
    of_leaf = np.zeros((tree.n_leaves, len(labeled.labels)), dtype=in_leaves.dtype)
    of_leaf[np.arange(tree.n_leaves), tree.cluster[tree.leaves]] = in_leaves[2]
    by_cluster, size = tree.sum_up(of_leaf), tree.sum_up(in_leaves[0])
    weight = by_cluster.sum(axis=1)
    full = {
        node: " and ".join(condition_text(c, short[c.feature]) for c in conditions_of(regions, labeled.columns))
        if is_reachable(regions)
        else "no row can be here"
        for node, regions in walk_leaves(tree)
    }
    found = []
    for node in range(tree.n_nodes):
        is_leaf = node in full
        test = labeled.condition(node) if node else None
        found.append(
            {
                "node": node,
                "level": int(tree.node_depth[node]),
                "test": None if test is None else str(test),
                "shown": "all rows" if test is None else condition_text(test, short[test.feature]),
                "path": full[node] if is_leaf else None,
                "rows": int(size[node]),
                "share": float(weight[node] / weight[0]),
                "cluster": int(tree.cluster[node]) if is_leaf else None,
                "purity": finite(labeled.purity.get(node, math.nan)) if is_leaf else None,
                "by_cluster": [
                    [code, by_cluster[node, code].item()] for code in np.flatnonzero(by_cluster[node]).tolist()
                ],
            }
        )
    return found
