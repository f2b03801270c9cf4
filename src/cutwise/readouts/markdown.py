"""Rules as Markdown, for a wiki page, an issue or a notebook."""

from __future__ import annotations

import re
from typing import Any

from .rules import ClusterRules, Rule, Rules
from .words import percent, quoted

__all__ = ["rules_markdown"]


def rules_markdown(rules: Rules) -> str:
    """Write rules as a table in GitHub's Markdown: a line a rule, with its size and how well it says the cluster.

    Parameters
    ----------
    rules : Rules

    Returns
    -------
    markdown : str
        Names and rules stand in code spans, so nothing in them is taken for markup or HTML.
    """
    named = any(cluster.name is not None for cluster in rules)
    head = ["cluster", *(["name"] if named else []), "rows", "share", "purity", "coverage", "rule"]
    marks = [":--" if word in ("cluster", "name", "rule") else "--:" for word in head]
    lines = [_line(head), _line(marks)]
    for cluster in rules:
        who = [_code(quoted(cluster.cluster)), *([_code(quoted(cluster.name)) if cluster.name else ""] * named)]
        if not cluster.rules:
            lines.append(_line([*who, "0", "", "", "", "no leaf of the tree holds this cluster"]))
        elif len(cluster.rules) == 1:
            lines.append(_line([*who, *_measures(cluster), _code(str(cluster.rules[0]))]))
        else:
            lines.append(_line([*who, *_measures(cluster), f"any of {len(cluster.rules)} rules:"]))
            blank = [""] * len(who)
            lines += [_line([*blank, *_measures(rule), _code(str(rule))]) for rule in cluster.rules]
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _measures(of: ClusterRules | Rule) -> list[str]:
    return [f"{of.size:,}", percent(of.share), percent(of.purity), percent(of.coverage)]


def _code(text: Any) -> str:
    """A code span: between more backticks than stand together inside, with the bars that would end the cell escaped."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    room = " " if longest and (text[0] == "`" or text[-1] == "`") else ""
    return f"{fence}{room}{text}{room}{fence}".replace("|", "\\|")
