"""Why rows are in their clusters, and the smallest change of a single column that would move them to another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cutwise.table.intake import read_table
from cutwise.table.table import NUMBER, ColumnKind, next_whole

from .conditions import Condition, Levels, Region, column_of, is_reachable, walk_leaves
from .labeled_tree import LabeledTree, Titled
from .shown import MOST_SHOWN, shortened
from .words import as_json, number, own_value, quoted, value_text


@dataclass(frozen=True)
class Change(Titled):
    """A change of one column, with all others unchanged, that moves a row to another cluster.

    ``cluster``: the cluster that the row would be in. ``name``: the name given to that cluster. ``leaf``: the leaf it
    would reach. ``feature``: the column's position. ``column``: the column's name. ``value``: the row's value there.
    ``target``: the nearest value that moves the row: a float64, or a whole number, date, duration, boolean or level in
    a column of that kind. ``lower``, ``upper``: any value with ``lower < value <= upper`` reaches that leaf; infinite
    where that side is open; microseconds (days where there are no times) for dates, counted from 1970, and durations,
    positions for levels. ``size``: the distance from ``value`` to ``target``, in units of the column's spread; 1
    where ``value`` is unknown, but for categories, whose levels are all as far apart. If any known value moves a row
    with an unknown one, ``target`` is the least value of fit in columns of whole numbers, and else 0, the start of
    1970, or the first level. No change makes a known value unknown.
    """

    cluster: Any
    name: str | None
    leaf: int
    feature: int
    column: str
    value: Any
    target: Any
    lower: float
    upper: float
    size: float
    kind: ColumnKind = field(default=NUMBER, repr=False)
    compared: tuple[float, float] = field(default=(math.nan, math.nan), repr=False)  # both as the tree compares them

    def to_dict(self) -> dict[str, Any]:
        """The change as values for JSON; ``None`` is an open side."""
        return {entry.name: as_json(getattr(self, entry.name)) for entry in fields(self) if entry.repr}

    def __str__(self) -> str:
        kind, (value, target) = self.kind, self.compared
        move = f"{quoted(self.column)} from {value_text(kind, value)} to "
        if self.lower == -math.inf and self.upper == math.inf:
            return move + "any value"
        if kind.levels is not None or kind.name == "bool":
            return move + value_text(kind, target)
        only = Condition(self.feature, self.column, self.lower, self.upper, kind=kind).only_value
        if only is not None:
            return move + number(only)
        # As in rules, bounds of dates are written a day, or a microsecond, later, and whole numbers by the next one.
        least, most, over, to = self.lower, self.upper, "above {}", "at most {}"
        if kind.name == "date":
            least, most, over, to = next_whole(least), next_whole(most), "{} or later", "before {}"
        elif kind.name == "integer":
            least, over = next_whole(least), "at least {}"
        low = "" if self.lower == -math.inf else over.format(value_text(kind, least))
        high = "" if self.upper == math.inf else to.format(value_text(kind, most))
        nearer, farther = (high, low) if target <= value or not low else (low, high)
        return move + nearer + (f" ({farther})" if farther else "")


def smallest_changes(
    labeled: LabeledTree, X: Any, spreads: npt.NDArray[np.float64] | None = None
) -> list[dict[Any, Change | None]]:
    """Find, for every row and every other cluster, the smallest change of one column that moves the row there.

    ``X`` (n_rows, n_features). ``spreads`` (n_features,) float64: the unit in which changes of a column are measured; 1
    where it is nan or 0, and everywhere when left out. Returns ``changes``: by row, from the label of every
    other cluster to the change; None where no change of one column is enough. Of equally small changes, the first
    column wins, and then the smaller target.

    A leaf can be reached by changing one column exactly when that column alone fails the leaf's conditions, so every
    leaf is visited once, for all rows together.
    """
    tree = labeled.tree
    table = read_table(X)
    own = tree.predict(table)
    unit = np.ones(tree.n_features) if spreads is None else np.where(spreads > 0, spreads, 1.0)
    columns: dict[int, npt.NDArray[np.float64]] = {}
    best = np.full((table.n_rows, len(labeled.labels)), np.array(_NO_MOVE, dtype=_MOVE))
    for leaf, regions in walk_leaves(tree):
        code = int(tree.cluster[leaf])
        if not is_reachable(regions):
            continue  # no value reaches this leaf
        for feature in regions:
            if feature not in columns:
                columns[feature] = column_of(table, feature).astype(np.float64)
        fails = np.array([~region.holds(columns[feature]) for feature, region in regions.items()])
        reachable = (fails.sum(axis=0) == 1) & (own != code)
        for failing, (feature, region) in zip(fails, regions.items(), strict=True):
            rows = np.flatnonzero(reachable & failing)
            if len(rows):
                kind = labeled.columns.kinds[feature]
                for moves in _moves(columns[feature][rows], region, kind, float(unit[feature])):
                    moves["feature"], moves["leaf"] = feature, leaf
                    _keep_smaller(best[:, code], rows, moves)

    found: list[dict[Any, Change | None]] = []
    for row, (code, of_row) in enumerate(zip(own.tolist(), best.tolist(), strict=True)):
        changes: dict[Any, Change | None] = {}
        for label, (size, feature, leaf, target, lower, upper) in zip(labeled.labels, of_row, strict=True):
            if feature < 0:
                changes[label] = None
                continue
            kind, compared = labeled.columns.kinds[feature], (float(columns[feature][row]), target)
            value, target = (own_value(kind, x) for x in compared)
            name, column = labeled.cluster_names.get(label), labeled.names[feature]
            changes[label] = Change(
                label, name, leaf, feature, column, value, target, lower, upper, size, kind, compared
            )
        del changes[labeled.labels[code]]
        found.append(changes)
    return found


_MOVE = [("size", "f8"), ("feature", "i4"), ("leaf", "i4"), ("target", "f8"), ("lower", "f8"), ("upper", "f8")]
"""A move: its size, column, leaf, target, and the interval of the target."""

_NO_MOVE = (math.inf, -1, -1, math.nan, math.nan, math.nan)


def _keep_smaller(best: npt.NDArray[Any], rows: npt.NDArray[np.intp], moves: npt.NDArray[Any]) -> None:
    """Replace the best moves of some rows by smaller ones, in the order of size, column and target."""
    size, feature, moved = best["size"][rows], best["feature"][rows], moves["feature"]
    is_first = (feature < 0) | (moved < feature) | ((moved == feature) & (moves["target"] < best["target"][rows]))
    smaller = (moves["size"] < size) | ((moves["size"] == size) & is_first)
    smaller &= np.isfinite(moves["target"])
    best[rows[smaller]] = moves[smaller]


def _moves(
    values: npt.NDArray[np.float64], region: Region | Levels, kind: ColumnKind, unit: float
) -> Iterator[npt.NDArray[Any]]:
    """Moves of values to the nearest value in every part of a region; a missing number is one unit from all numbers."""
    moves = np.empty(len(values), dtype=_MOVE)
    moves["lower"] = moves["upper"] = math.nan
    if isinstance(region, Levels):
        levels = kind.levels or ()
        named = [code for code, level in enumerate(levels) if level is not None]
        lets_through = region.holds(np.array(named, dtype=np.float64))
        targets = [code for code, passes in zip(named, lets_through.tolist(), strict=True) if passes]
        if targets:
            moves["target"], moves["size"] = targets[0], math.sqrt(2 * len(levels) / max(len(levels) - 1, 1))
            yield moves
        return
    for lower, upper in region.parts():
        least, most = float(np.nextafter(lower, np.inf)) if lower > -math.inf else lower, upper
        if kind.is_integer:
            least, most = next_whole(lower), float(np.floor(upper))
        if least > most:
            continue  # no whole number lies in between
        target = np.where(values > upper, most, least)
        if least == -math.inf:  # a missing value moves to the upper end, if there is one
            target[np.isnan(values)] = most if most < math.inf else (kind.extent or (0.0,))[0]
        moves["target"] = target
        moves["lower"], moves["upper"] = lower, upper
        with np.errstate(over="ignore"):
            moves["size"] = np.where(np.isnan(values), 1.0, np.abs(moves["target"] - values) / unit)
        yield moves


def changes_in_words(changes: Mapping[Any, Change | None], cluster_names: Mapping[Any, str] | None = None) -> str:
    """Write the smallest changes of one row.

    ``changes``: an item of ``smallest_changes``. ``cluster_names``: from ``read_cluster_names``. Returns
    ``text``: ``to cluster 2: petal_length from 4.9 to above 4.95; to cluster 0: no change of one column is enough``.
    Clusters that no change leads to share one part if they are more than ten.
    """
    return "; ".join(change_lines(changes, cluster_names)) or "there is no other cluster"


_NO_CHANGE, _MOST_OUT_OF_REACH = "no change of one column is enough", 10


def change_lines(changes: Mapping[Any, Change | None], cluster_names: Mapping[Any, str] | None = None) -> list[str]:
    """The parts of ``changes_in_words``."""
    out_of_reach = [label for label, change in changes.items() if change is None]
    together = set(out_of_reach if len(out_of_reach) > _MOST_OUT_OF_REACH else ())
    lines = [
        f"to cluster {quoted((cluster_names or {}).get(label, label))}: {change or _NO_CHANGE}"
        for label, change in changes.items()
        if label not in together
    ]
    return [*lines, f"to the {len(together)} other clusters: {_NO_CHANGE}"] if together else lines


def explain_rows(labeled: LabeledTree, X: Any, *, short: bool = False) -> list[str]:
    """Write for every row why it is in its cluster.

    ``X`` (n_rows, n_features). ``short``: shorten long sets of levels. Returns ``sentences``: ``cluster 2 because
    petal_length <= 2.6 (is 1.4) and 35 < age <= 60 (is 41)``: the merged conditions of the row's leaf, each with the
    row's value. Values are exact, and as short as their dtype allows: a float32 has its own digits unless the shorter
    decimal would contradict the condition. Raises ``ColumnMismatchError``: another number of columns than the tree's.
    Raises ``InvalidInputError``: not a table of finite numbers.
    """
    tree = labeled.tree
    table = read_table(X)
    leaf = tree.apply(table)
    columns: dict[int, npt.NDArray[np.generic]] = {}
    sentences = [""] * table.n_rows
    for node, conditions in labeled.leaf_conditions():
        here = np.flatnonzero(leaf == node)
        if len(here) == 0:
            continue
        head = f"cluster {quoted(labeled.titles[tree.cluster[node]])} because "
        if not conditions:
            said = [f"{head}every row is"] * len(here)
        else:
            parts = []
            for condition in conditions:
                if condition.feature not in columns:
                    columns[condition.feature] = column_of(table, condition.feature)
                parts.append(_reasons(condition, columns[condition.feature][here], short))
            said = [head + " and ".join(row) for row in zip(*parts, strict=True)]
        for row, sentence in zip(here.tolist(), said, strict=True):
            sentences[row] = sentence
    return sentences


def _reasons(condition: Condition, values: npt.NDArray[np.generic], short: bool) -> list[str]:
    """Write a condition for each row that satisfies it, with the row's value unless the condition names it."""
    name, is_known = quoted(condition.name), values == values
    alone = replace(condition, unknown=False)  # each row has a value, or it has none
    only = None if condition.outside else alone.only_value
    is_said = np.full(len(values), condition.kind.name == "bool") if only is None else values == only
    is_long = short and len(alone.levels or ()) > MOST_SHOWN
    bounds, found = shortened(alone) if is_long else alone.written(name, by_bounds=True), []
    for value, known, said in zip(_write_values(values, alone), is_known.tolist(), is_said.tolist(), strict=True):
        text = str(alone) if said else f"{bounds} (is {value})"
        found.append(text if known or not condition.unknown else f"{name} is unknown")
    return found


def _write_values(values: npt.NDArray[np.generic], condition: Condition) -> list[str]:
    """Write the values of rows that satisfy a condition."""
    if condition.kind.name not in ("number", "integer") or (values.dtype.kind == "f" and np.isnan(values).any()):
        return [value_text(condition.kind, value) for value in values.tolist()]
    if values.dtype.kind in "iu":
        return list(map(str, values.tolist()))
    if values.dtype != np.float32:
        return list(map(number, values.tolist()))
    # A float32 is known to seven digits or so, and its float64 has up to seventeen: write 0.1, not 0.10000000149011612.
    # But "x > 0.1 (is 0.1)" would read as a contradiction: then write all of it.
    distinct, position = np.unique(values, return_inverse=True)
    short = [str(value).removesuffix(".0") for value in distinct]
    true_as_written = condition.holds(np.array(short, dtype=np.float64))
    written = [
        text if fits else number(value)
        for text, fits, value in zip(short, true_as_written.tolist(), distinct.tolist(), strict=True)
    ]
    return [written[i] for i in position.tolist()]
