"""The tree as rules: conditions of membership in each cluster, and how well they match the reference cluster.

Rules as text, as a table in Markdown or HTML, and as a data frame; the tree itself as text and in DOT.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from cutwise.exceptions import optional_package
from cutwise.table.intake import check_option, read_table
from cutwise.table.table import Columns, Table

from .conditions import Condition, column_of
from .labeled_tree import LabeledTree, LeafCounts, Titled
from .shown import cluster_color, html_text, ink_on
from .words import finite, percent, quoted, rows

LIBRARIES = ("pandas", "polars", "pyarrow")
"""Data frame libraries; the default is the first that is installed."""


@dataclass(frozen=True, kw_only=True)
class MeasuredRows(Titled):
    """The figures of the rows that match a rule, or one of several; see ``Rule``."""

    cluster: Any
    name: str | None = None
    size: int | None
    share: float
    coverage: float
    purity: float
    noise: int

    def _figures(self) -> dict[str, Any]:
        """The figures as values for JSON; nan becomes ``None``."""
        shares = {name: finite(getattr(self, name)) for name in ("share", "coverage", "purity")}
        return {"size": self.size, **shares, "noise": self.noise}

    def _measures(self) -> str:
        """Figures in parentheses before the colon of a rule; empty where rows were not counted."""
        if self.size is None:
            return ""
        text = f"{rows(self.size)}, {percent(self.share)}"
        if self.size:
            text += f"; purity {percent(self.purity)}, coverage {percent(self.coverage)}"
        if self.noise:
            text += f"; and {rows(self.noise)} of noise"
        return f" ({text})"

    def _cells(self) -> list[str]:
        """Rows, share, purity and coverage for tables."""
        if self.size is None:
            return [""] * 4
        return [f"{self.size:,}", percent(self.share), percent(self.purity), percent(self.coverage)]


@dataclass(frozen=True, kw_only=True)
class Rule(MeasuredRows):
    """One leaf: the conditions that lead to it, and figures of the rows that match.

    ``cluster``: the label that ``predict`` gives such rows. ``leaf``: the leaf's node number, as ``apply`` gives it.
    ``conditions``: the fewest that all hold for a row exactly when it reaches the leaf; empty when every row reaches
    it. ``size``: matching rows, without noise and rows of weight 0; None where rows were not counted, as for a tree
    that was edited. ``share``: share of the weight of all rows, from 0 to 1. ``coverage``: share of the reference
    cluster that the rule matches: weight of the matching rows whose reference label is this cluster, over the weight of
    all rows with that label; nan when the reference cluster is empty. ``purity``: share of the matching rows (without
    noise), by weight, whose reference label is this cluster; nan without rows. ``noise``: matching rows that the
    reference calls noise; no other figure counts them. ``depth``: tests on the path, before merging. ``columns``: of
    the table that the model was fitted on. ``name``: the name given to the cluster.
    """

    leaf: int
    conditions: tuple[Condition, ...]
    depth: int
    columns: Columns = field(repr=False)

    @property
    def n_conditions(self) -> int:
        """Explanation size: number of bounds, excluded intervals and conditions on levels."""
        return sum(condition.size for condition in self.conditions)

    def matches(self, X: Any) -> npt.NDArray[np.bool_]:
        """Whether each row satisfies every condition.

        ``X`` (n_rows, n_features). Returns ``matches`` (n_rows,) bool: the same as ``tree.apply(X) == leaf``. Raises
        ``ColumnMismatchError``: other columns than those of fit, or in another order. Warns ``ColumnNamesWarning``:
        only one side has names; columns are then matched by position.
        """
        return self._holds(_read(X, [self]))

    def _holds(self, table: Table) -> npt.NDArray[np.bool_]:
        found = np.ones(table.n_rows, dtype=np.bool_)
        for condition in self.conditions:
            found &= condition.holds(column_of(table, condition.feature))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The rule as values for JSON; nan becomes ``None``."""
        return {
            "cluster": self.cluster,
            "name": self.name,
            "leaf": self.leaf,
            "text": str(self),
            "conditions": [condition.to_dict() for condition in self.conditions],
            **self._figures(),
            "depth": self.depth,
        }

    def written(self, write: Callable[[Condition], str]) -> str:
        """Write the rule; ``write`` writes a condition."""
        return " and ".join(map(write, self.conditions)) or "any row"

    def __str__(self) -> str:
        return self.written(str)

    def __repr__(self) -> str:
        return f"<Rule of cluster {quoted(self.title)}: {self}>"

    def _repr_html_(self) -> str:
        return f'<div dir="ltr">cluster <b>{html_text(str(self.title))}</b>: <code>{html_text(str(self))}</code></div>'


@dataclass(frozen=True, kw_only=True)
class ClusterRules(MeasuredRows):
    """A cluster as alternative rules, one for each of its leaves; a row belongs to it when one of them matches.

    ``cluster``: the label that ``predict`` gives such rows. ``rules``: from left to right in the tree; empty when the
    cluster has no leaf. ``size``, ``share``, ``coverage``, ``purity``, ``noise``: of all rules together, defined as for
    one ``Rule``. ``name``: the name given to the cluster.
    """

    rules: tuple[Rule, ...]

    @property
    def sentence(self) -> str:
        """Sentence on the rows of the cluster, and how well they match the reference cluster."""
        title = quoted(self.title)
        if not self.rules:
            return f"Cluster {title} holds no rows: no leaf of the tree belongs to it."
        if any(not rule.conditions for rule in self.rules):
            who = "all there are"
        else:
            who = "those with " + ", or with ".join(map(str, self.rules))
        if self.size is None:
            return f"Cluster {title} holds {who}."
        said = f"Cluster {title} holds {rows(self.size)} ({percent(self.share)}): {who}."
        if not self.size:
            return said
        return (
            f"{said} {percent(self.purity)} of them are in that cluster of the reference too, and "
            f"{percent(self.coverage)} of the latter are among them."
        )

    def matches(self, X: Any) -> npt.NDArray[np.bool_]:
        """Whether each row satisfies one of the rules.

        ``X`` (n_rows, n_features). Returns ``matches`` (n_rows,) bool. Raises ``ColumnMismatchError``: as
        :meth:`Rule.matches`.
        """
        if not self.rules:
            return np.zeros(np.shape(X)[0], dtype=np.bool_)
        table = _read(X, self.rules)
        found: npt.NDArray[np.bool_] = np.logical_or.reduce([rule._holds(table) for rule in self.rules])
        return found

    def to_dict(self) -> dict[str, Any]:
        """The cluster as values for JSON; nan becomes ``None``."""
        return {
            "cluster": self.cluster,
            "name": self.name,
            **self._figures(),
            "rules": [rule.to_dict() for rule in self.rules],
        }

    def __str__(self) -> str:
        head = f"cluster {quoted(self.title)}"
        if not self.rules:
            return f"{head}: no rule, because {_NO_LEAF}"
        measures = self._measures()
        if len(self.rules) == 1:
            return f"{head}{measures}: {self.rules[0]}"
        lines = [f"{head}{measures}, {len(self.rules)} rules:"]
        for i, rule in enumerate(self.rules):
            head = f"    {'or    ' if i else 'either'}{rule._measures()}".rstrip()
            lines.append(f"{head}: {rule}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ClusterRules: {self}>"

    def _repr_html_(self) -> str:
        return f'<code dir="ltr" style="white-space:pre-wrap">{html_text(str(self))}</code>'


@dataclass(frozen=True)
class Rules(Sequence[ClusterRules]):
    """The rules of all clusters, in the order of their codes. ``print(rules)`` shows them.

    ``library``: the data frame library of the table that the model was fitted on.
    """

    clusters: tuple[ClusterRules, ...]
    library: str | None = None

    def __len__(self) -> int:
        return len(self.clusters)

    @overload
    def __getitem__(self, index: int) -> ClusterRules: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ClusterRules, ...]: ...
    def __getitem__(self, index: int | slice) -> ClusterRules | tuple[ClusterRules, ...]:
        return self.clusters[index]

    def to_dict(self) -> dict[str, Any]:
        """All rules as values for JSON."""
        return {"clusters": [cluster.to_dict() for cluster in self.clusters]}

    def _repr_html_(self) -> str:
        """The rules as a table, for notebooks."""
        return rules_html(self)

    def to_frame(self, library: str | None = None) -> Any:
        """All rules as a data frame.

        ``library``: ``"pandas"``, ``"polars"`` or ``"pyarrow"``; when left out that of the table of fit, or else the
        first of these that is installed. Returns ``frame``: one row per rule, in the order of the clusters:
        ``cluster``, ``name`` (null without one), ``rule`` (its text), ``size``, ``share``, ``purity``, ``coverage``,
        ``noise``, ``leaf``, ``depth``, ``n_conditions``. A cluster without a leaf has no row. Raises
        ``UnknownOptionError``: another library. Raises ``MissingDependencyError``: it is not installed.
        """
        check_option("library", library, (*LIBRARIES, None))
        installed = [name for name in LIBRARIES if find_spec(name) is not None]
        if library is None:
            library = self.library if self.library in installed else next(iter(installed), "pandas")
        module = optional_package(library, "A data frame of rules", "files")
        rules = [rule for cluster in self.clusters for rule in cluster.rules]
        columns = {
            "cluster": [rule.cluster for rule in rules],
            "name": [rule.name for rule in rules],
            "rule": [str(rule) for rule in rules],
            **{name: [getattr(rule, name) for rule in rules] for name in _COLUMNS},
        }
        return (module.table if library == "pyarrow" else module.DataFrame)(columns)

    def __str__(self) -> str:
        return "\n".join(map(str, self.clusters))

    def __repr__(self) -> str:
        return f"<Rules of {len(self)} clusters>\n{self}"


_NO_LEAF = "no row reaches a leaf of this cluster"
_COLUMNS = ("size", "share", "purity", "coverage", "noise", "leaf", "depth", "n_conditions")


def build_rules(labeled: LabeledTree, library: str | None = None) -> Rules:
    """Build the rules of a tree: one entry for every cluster, also for clusters without a leaf.

    ``labeled``: its counts give the figures. If its names came with the table, tables that rules are applied to need
    them, too. ``library``: the default data frame library of ``to_frame``.
    """
    tree, labels, is_known = labeled.tree, labeled.labels, labeled.counts is not None
    counts = labeled.counts or LeafCounts.unknown(tree.n_leaves, len(labels))
    total = math.fsum(counts.weight)
    of_leaf = tree.cluster[tree.leaves]

    def measured(code: int, n_rows: int, n_noise: int, weight: float, agreeing: float) -> dict[str, Any]:
        return {
            "cluster": labels[code],
            "name": labeled.cluster_names.get(labels[code]),
            "size": int(n_rows) if is_known else None,
            "share": _ratio(weight, total),
            "coverage": _ratio(agreeing, counts.cluster_weight[code]),
            "purity": _ratio(agreeing, weight),
            "noise": int(n_noise),
        }

    in_leaf = (counts.n_rows, counts.n_noise, counts.weight, counts.agreeing)
    rules: list[list[Rule]] = [[] for _ in labels]
    for leaf, conditions in labeled.leaf_conditions():
        i = int(np.searchsorted(tree.leaves, leaf))
        code = int(of_leaf[i])
        own = measured(code, *(of[i] for of in in_leaf))
        depth = int(tree.node_depth[leaf])
        rules[code].append(Rule(leaf=leaf, conditions=conditions, depth=depth, columns=labeled.columns, **own))
    in_cluster = [np.bincount(of_leaf, of, len(labels)) for of in in_leaf]
    return Rules(
        tuple(
            ClusterRules(rules=tuple(own), **measured(code, *(of[code] for of in in_cluster)))
            for code, own in enumerate(rules)
        ),
        library,
    )


def rules_markdown(rules: Rules) -> str:
    """Write rules as a table in GitHub's Markdown.

    Names and rules stand in code spans, so nothing in them is taken for markup or HTML.
    """
    named = any(cluster.name is not None for cluster in rules)
    head = ["cluster", *(["name"] if named else []), "rows", "share", "purity", "coverage", "rule"]
    lines = [head, [":--" if word in ("cluster", "name", "rule") else "--:" for word in head]]
    for cluster in rules:
        who = [_code_span(quoted(cluster.cluster))]
        if named:
            who.append(_code_span(quoted(cluster.name)) if cluster.name else "")
        for figures, rule, note in table_lines(cluster):
            lines.append([*who, *figures, note if rule is None else _code_span(rule)])
            who = [""] * len(who)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def rules_html(rules: Rules, headline: Sequence[str] = ()) -> str:
    """Write rules as a small table in HTML, for notebooks, below the lines of a headline.

    A ``div`` with inline styles and no script. Every name is escaped.
    """
    lines: list[str] = []
    for code, cluster in enumerate(rules):
        color = cluster_color(code)
        who = (
            '<span style="display:inline-block;max-width:24em;overflow-wrap:break-word;padding:0 8px;border-radius:6px;'
            f'font-weight:600;background:{color};color:{ink_on(color)}">{html_text(str(cluster.title))}</span>'
        )
        for figures, rule, note in table_lines(cluster):
            text = f"<i>{note}</i>" if rule is None else f"<code>{html_text(rule)}</code>"
            cells = "".join(f'<td style="{_CELL}right;white-space:nowrap">{escape(cell)}</td>' for cell in figures)
            lines.append(f'<tr><td style="{_CELL}left">{who}</td>{cells}<td style="{_CELL}left">{text}</td></tr>')
            who = ""
    left_out = len(lines) - _MOST_LINES
    if left_out > 0:
        note = f"and {left_out} more lines: print(model.rules()) shows all"
        lines = [*lines[:_MOST_LINES], f'<tr><td colspan="6" style="{_CELL}left">{note}</td></tr>']
    head = "".join(
        f'<th scope="col" style="{_CELL}{"left" if name in ("cluster", "rule") else "right"};font-weight:600">'
        f"{name}</th>"
        for name in ("cluster", "rows", "share", "purity", "coverage", "rule")
    )
    said = "".join(f'<div style="margin:0 0 2px">{html_text(line)}</div>' for line in headline)
    table = (
        f'<table style="border-collapse:collapse;margin-top:6px;font-size:13px"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    return f'<div class="cutwise" dir="ltr" style="max-width:100%;overflow-x:auto">{said}{table}</div>'


# Except for clusters, colors are those of the page, which may be light or dark.
_CELL = "padding:3px 12px 3px 0;vertical-align:top;border:0;text-align:"
_MOST_LINES = 60  # a notebook is no place for more


def table_lines(
    cluster: ClusterRules, write: Callable[[Rule], str] = str
) -> Iterator[tuple[list[str], str | None, str]]:
    """Table lines of a cluster: rows, share, purity and coverage; text of a rule, or None and a note."""
    if not cluster.rules:
        yield ["0", "", "", ""], None, _NO_LEAF
        return
    if len(cluster.rules) > 1:
        yield cluster._cells(), None, f"any of {len(cluster.rules)} rules:"
    for rule in cluster.rules:
        yield (rule if len(cluster.rules) > 1 else cluster)._cells(), write(rule), ""


def _code_span(text: str) -> str:
    """Write a code span, fenced by more backticks than any run inside; bars, which would end the cell, are escaped."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    room = " " if longest and (text[0] == "`" or text[-1] == "`") else ""
    return f"{fence}{room}{text}{room}{fence}".replace("|", "\\|")


def _read(X: Any, rules: Sequence[Rule]) -> Table:
    """Read rows to apply rules to, with the columns of fit; of a named frame only the columns that the rules test."""
    tested = sorted({condition.feature for rule in rules for condition in rule.conditions})
    return read_table(X, fitted=rules[0].columns, estimator="Rule", tested=np.array(tested, dtype=np.intp))


def _ratio(part: float, whole: float) -> float:
    # The two sums may round differently: a part must not exceed the whole.
    return min(float(part / whole), 1.0) if whole > 0 else math.nan


# Deeper levels are numbered instead of indented: the text of a deep tree would grow with the square of its depth.
_DEEPEST_INDENT = 40


def tree_text(labeled: LabeledTree) -> str:
    """Write a tree, one line per node: the test that leads to it, its rows, and at leaves the cluster.

    Levels are indented up to the 40th, and numbered beyond.
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
    level = f"[level {depth}] " if depth > _DEEPEST_INDENT else ""
    return "|   " * (min(depth, _DEEPEST_INDENT) - 1) + f"|-- {level}" if depth else ""


def tree_dot(labeled: LabeledTree) -> str:
    """Write a tree in the DOT language.

    Inner nodes show the test whose rows go left, along the edge ``yes``; leaves show the cluster in its color. Nodes
    have the numbers that ``apply`` gives.
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
    """Escape text for a quoted string of DOT: quotes, backslashes and HTML entities."""
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
