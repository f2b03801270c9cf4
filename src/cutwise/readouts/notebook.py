"""Rules as a small HTML table, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from .palette import cluster_color, ink_on
from .words import percent

if TYPE_CHECKING:
    from .rules import ClusterRules, Rule, Rules

__all__ = ["rules_html"]

# Colors are those of the page around it, but for the clusters' own: it may be light or dark.
_CELL = "padding:3px 12px 3px 0;vertical-align:top;border:0;text-align:"
_MOST = 60  # rules; a notebook is no place for more


def rules_html(rules: Rules, headline: Sequence[str] = ()) -> str:
    """Write all rules as a table, a line a leaf.

    Parameters
    ----------
    rules : Rules
    headline : sequence of str
        What to say above the table.

    Returns
    -------
    html : str
        A ``div`` of its own style, without script. Every name is escaped.
    """
    lines: list[str] = []
    for code, cluster in enumerate(rules):
        lines += _cluster_lines(code, cluster)
    left_out = len(lines) - _MOST
    if left_out > 0:
        note = f"and {left_out} more lines: print(model.rules()) shows all"
        lines = [*lines[:_MOST], f'<tr><td colspan="6" style="{_CELL}left">{note}</td></tr>']
    sides = {
        "cluster": "left",
        "rows": "right",
        "share": "right",
        "purity": "right",
        "coverage": "right",
        "rule": "left",
    }
    head = "".join(f'<th scope="col" style="{_CELL}{side};font-weight:600">{name}</th>' for name, side in sides.items())
    said = "".join(f'<div style="margin:0 0 2px">{escape(line)}</div>' for line in headline)
    table = (
        f'<table style="border-collapse:collapse;margin-top:6px;font-size:13px"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    return f'<div class="cutwise" style="max-width:100%;overflow-x:auto">{said}{table}</div>'


def _cluster_lines(code: int, cluster: ClusterRules) -> list[str]:
    color = cluster_color(code)
    pill = (
        f'<span style="display:inline-block;padding:0 8px;border-radius:6px;font-weight:600;background:{color};'
        f'color:{ink_on(color)}">{escape(str(cluster.title))}</span>'
    )
    if not cluster.rules:
        return [_line(pill, None, "<i>no leaf of the tree holds this cluster</i>")]
    if len(cluster.rules) == 1:
        return [_line(pill, cluster, _code(cluster.rules[0]))]
    several = [_line(pill, cluster, f"<i>any of {len(cluster.rules)} rules:</i>")]
    return several + [_line("", rule, _code(rule)) for rule in cluster.rules]


def _code(rule: Rule) -> str:
    return f"<code>{escape(str(rule))}</code>"


def _line(pill: str, of: Any, rule: str) -> str:
    shares = ["", "", ""] if of is None else [percent(part) for part in (of.share, of.purity, of.coverage)]
    figures = ["0" if of is None else f"{of.size:,}", *shares]
    cells = "".join(f'<td style="{_CELL}right;white-space:nowrap">{escape(figure)}</td>' for figure in figures)
    return f'<tr><td style="{_CELL}left">{pill}</td>{cells}<td style="{_CELL}left">{rule}</td></tr>'
