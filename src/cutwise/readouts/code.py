"""The tree as source code of one Python function that needs nothing but Python.

The rules stand one after the other, a line a leaf, so a deep tree meets no limit on nesting; values are compared as
Python floats, which are the float64 that ``predict`` compares.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cutwise.exceptions import InvalidInputError

from .conditions import Condition, conditions_of, walk_leaves
from .labeled_tree import LabeledTree
from .words import number, quoted

__all__ = ["tree_python"]

# Names that the function itself uses, beside the keywords.
_TAKEN = frozenset({"row", "float", "value", "any"})


def tree_python(labeled: LabeledTree, *, function: str = "cluster_of") -> str:
    """Write a tree as a Python function.

    ``labeled``: the function finds the values of a row under the columns' names, where the table had some, or else by
    their positions, counted from 0. Names of clusters stand in comments beside the labels. ``function``: the function's
    name. Returns ``source``: pure ASCII where names allow it, a statement ``def function(row):`` and nothing else.
    Raises ``InvalidInputError``: a function name that Python does not take.
    """
    if not str(function).isidentifier() or keyword.iskeyword(function):
        raise InvalidInputError(
            f"function={function!r} is no name of a Python function. Use letters, digits and underscores."
        )
    tested, names, has_names = labeled.tested, labeled.names, labeled.columns.has_names
    variables = _variables([names[feature] for feature in tested], taken={function})
    spoken = dict(zip(tested, variables, strict=True))
    lines = [f"def {function}(row):", *_docstring(has_names)]
    for feature in tested:
        lines.append(f"    {spoken[feature]} = row[{_literal(names[feature] if has_names else feature)}]")
    if variables:
        lines.append(f"    for value in ({', '.join(variables)},):")
        lines.append("        if value is None or float(value) != float(value):  # nan is no number, not even itself")
        lines.append("            return None")
    lines += [f"    {variable} = float({variable})" for variable in variables]
    for leaf, regions, _ in walk_leaves(labeled.tree):
        if any(region.is_empty for region in regions.values()):
            continue  # no value reaches this leaf
        label = labeled.labels[labeled.tree.cluster[leaf]]
        name = labeled.cluster_names.get(label)
        answer = f"return {_literal(label)}" + ("" if name is None else f"  # {quoted(name)}")
        tests = [_test(condition, spoken) for condition in conditions_of(regions, labeled.columns)]
        lines += [f"    if {' and '.join(tests)}:", f"        {answer}"] if tests else [f"    {answer}"]
    return "\n".join(lines) + "\n"


def _docstring(named: bool) -> list[str]:
    keys = "column names" if named else "positions, counted from 0,"
    return [
        '    """Give the cluster of a row: the one that predict gives.',
        "",
        f"    `row` is a mapping of {keys} to numbers, which are compared as floats. None for a row in which a value",
        "    that is tested is None or nan.",
        '    """',
    ]


def _test(condition: Condition, spoken: Mapping[int, str]) -> str:
    name = spoken[condition.feature]
    lower, upper = number(condition.lower), number(condition.upper)
    if condition.outside:
        return f"not {lower} < {name} <= {upper}"
    if condition.lower == -np.inf:
        return f"{name} <= {upper}"
    if condition.upper == np.inf:
        return f"{name} > {lower}"
    return f"{lower} < {name} <= {upper}"


def _variables(names: Sequence[str], taken: set[str]) -> list[str]:
    """A Python name for every column, like its own as far as that goes."""
    used = {*_TAKEN, *taken}
    found = []
    for name in names:
        plain = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_")[:40]
        if not plain or plain[0].isdigit():
            plain = f"x_{plain}".rstrip("_")
        if keyword.iskeyword(plain):
            plain += "_"
        variable, count = plain, 1
        while variable in used:
            count += 1
            variable = f"{plain}_{count}"
        used.add(variable)
        found.append(variable)
    return found


def _literal(value: Any) -> str:
    """A label or a name as Python writes it; what no file in UTF-8 can hold is escaped."""
    text = repr(value)
    return text if text.isprintable() else ascii(value)
