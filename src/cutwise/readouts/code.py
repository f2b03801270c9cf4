"""The tree as source code of one Python function that needs nothing but Python.

The rules follow each other, one line per leaf, so a deep tree meets no limit on nesting. Values are compared as
Python floats, which are the float64 values that ``predict`` compares.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cutwise.exceptions import InvalidInputError
from cutwise.table.instants import instant_of
from cutwise.table.table import ColumnKind, last_whole, next_whole

from .conditions import Condition, interval_text
from .labeled_tree import LabeledTree
from .words import TRUTH_WORDS, number, quoted

_NUMBERS = ("number", "integer", "bool")

# Names that the function itself uses, beside the keywords.
_TAKEN = frozenset({"row", "float", "value", "str", "isinstance", "datetime", "timedelta", "timezone", "epoch"})


def tree_python(labeled: LabeledTree, *, function: str = "cluster_of") -> str:
    """Write a tree as a Python function.

    ``labeled``: the function looks up the values of a row by column names, if the table had some, or else by positions
    from 0. Names of clusters are comments beside the labels. ``function``: the function's name. Returns ``source``:
    pure ASCII where names allow it, a statement ``def function(row):`` and nothing else. Raises ``InvalidInputError``:
    a function name that Python does not take.
    """
    if not str(function).isidentifier() or keyword.iskeyword(function) or function in _TAKEN:
        raise InvalidInputError(
            f"function={function!r} is not a name for this Python function. Use letters, digits and underscores, and "
            "no name that it uses itself."
        )
    tested, names, has_names = labeled.tree.tested.tolist(), labeled.names, labeled.columns.has_names
    variables = _variables([names[feature] for feature in tested], taken={function})
    spoken = dict(zip(tested, variables, strict=True))
    kinds = labeled.columns.kinds
    are_numbers = all(kinds[f].name in _NUMBERS for f in tested)
    says_numbers = are_numbers and not any(kinds[f].is_text for f in tested)
    may_miss = any(kinds[f].places_missing for f in tested)
    has_dates = any(kinds[f].name == "date" for f in tested)
    lines = [f"def {function}(row):", *_docstring(has_names, says_numbers, may_miss, has_dates)]
    has_zones = any(kinds[f].zone is not None for f in tested)
    has_spans = has_zones or any(kinds[f].name == "duration" and kinds[f].unit != "time" for f in tested)
    imports = ["datetime"] * has_dates + ["timedelta"] * has_spans + ["timezone"] * has_zones
    if imports:
        lines += [f"    from datetime import {', '.join(imports)}", ""]
    if has_zones:
        lines += ["    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)"]
    for feature in tested:
        value = f"row[{_literal(names[feature] if has_names else feature)}]"
        if kinds[feature].is_text:  # 1.0 is 1
            words = {word: truth for truth, own in enumerate(TRUTH_WORDS) for word in own}
            value = f"{words}.get(str({value}).strip().lower().removesuffix('.0'))"
        lines.append(f"    {spoken[feature]} = {value}")
    required = [spoken[f] for f in tested if not kinds[f].places_missing]
    if required:
        lines.append(f"    for value in ({', '.join(required)},):")
        compared = "float(value) != float(value)" if are_numbers else "value != value"
        lines.append(f"        if value is None or {compared}:  # nan differs from itself")
        lines.append("            return None")
    for feature in tested:
        lines += _read(spoken[feature], kinds[feature])
        if feature in labeled.closed:
            levels = ", ".join(map(_literal, kinds[feature].levels or ()))
            lines += [
                f"    if {spoken[feature]} not in ({levels},):  # a level not seen at fit",
                "        return None",
            ]
    for leaf, conditions in labeled.leaf_conditions(as_tested=True):
        label = labeled.labels[labeled.tree.cluster[leaf]]
        name = labeled.cluster_names.get(label)
        answer = f"return {_literal(label)}" + ("" if name is None else f"  # {quoted(name)}")
        tests = [_test(condition, spoken) for condition in conditions]
        lines += [f"    if {' and '.join(tests)}:", f"        {answer}"] if tests else [f"    {answer}"]
    return "\n".join(lines) + "\n"


def _docstring(named: bool, are_numbers: bool, places_missing: bool, has_dates: bool) -> list[str]:
    keys = "column names" if named else "positions, counted from 0,"
    values = "numbers, which are compared as floats" if are_numbers else "values; numbers are compared as floats"
    missing = "in a tested column that had no missing values at fit " if places_missing else "that is tested "
    return [
        '    """Return the cluster that predict gives a row.',
        "",
        f"    `row` maps {keys} to {values}.",
        f"    The result is None if a value {missing}is None or nan.",
        *["    Dates may be text, such as 2024-03-01 08:00."] * has_dates,
        '    """',
    ]


def _read(name: str, kind: ColumnKind) -> list[str]:
    """Lines that prepare a value for comparisons."""
    if kind.name in ("category", "ordered"):
        numbers = [_literal(level) for level in kind.levels or () if not isinstance(level, str | None)]
        text = f"{name} if {name} in ({', '.join(numbers)},) else float({name})" if numbers else f"str({name})"
        return [f"    {name} = None if {name} is None or {name} != {name} else {text}"]
    if kind.name == "date":
        value = f"(datetime.fromisoformat({name}) if isinstance({name}, str) else {name})"
        value = f"{value}.isoformat()" if kind.zone is None else f"({value} - epoch) // timedelta(microseconds=1)"
    elif kind.unit == "time":
        whole = f"({name}.hour * 60 + {name}.minute) * 60 + {name}.second"
        value = f"({whole}) * 10**6 + {name}.microsecond"
    else:
        value = f"{name} // timedelta(microseconds=1)" if kind.name == "duration" else f"float({name})"
    if not kind.has_gaps:
        return [f"    {name} = {value}"]
    return [f"    {name} = None if {name} is None or {name} != {name} else {value}"]


def _test(condition: Condition, spoken: Mapping[int, str]) -> str:
    name, kind = spoken[condition.feature], condition.kind
    if condition.levels is not None and kind.name != "category":
        return f"{name} is {'not None' if condition.outside else 'None'}"
    if condition.levels is not None or kind.name == "ordered":
        codes = condition.matching_levels if condition.levels is None else condition.levels
        named = [_literal((kind.levels or ())[code]) for code in codes] + ["None"] * condition.unknown
        outside = condition.outside and condition.levels is not None
        return f"{name} {'not in' if outside else 'in'} ({', '.join(named)},)"
    text = interval_text(name, condition.lower, condition.upper, kind, lambda end: _end(end, kind))
    text = f"not {text}" if condition.outside else text
    if not kind.has_gaps:
        return text
    return f"({name} is None or {text})" if condition.unknown else f"{name} is not None and {text}"


def _end(value: float, kind: ColumnKind) -> str:
    """Write a threshold as it is compared: dates as ISO text or, with a zone, as microseconds since the epoch."""
    if kind.name == "duration":
        return str(last_whole(value))
    if kind.name != "date":
        return number(value)
    first = next_whole(value)
    instant = instant_of(first, kind)
    # At midnight the date alone stands before every time of that day, and after every earlier date.
    return repr(instant.isoformat().removesuffix("T00:00:00")) if kind.zone is None else str(int(first))


def _variables(names: Sequence[str], taken: set[str]) -> list[str]:
    """A Python variable for every column, as close to its name as possible."""
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
    """Write a label or a name as a Python literal, in ASCII if it has unprintable characters."""
    text = repr(value)
    return text if text.isprintable() else ascii(value)
