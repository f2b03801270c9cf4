"""SQL for one engine as expressions of sqlglot; imported only when SQL is written, since it needs sqlglot."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from sqlglot import exp, parse_one

from cutwise.exceptions import UnsupportedInputError
from cutwise.table.instants import MICROSECONDS, instant_of, time_of
from cutwise.table.table import WHOLE_BELOW, ColumnKind, last_whole, next_whole

from .conditions import Condition
from .labeled_tree import LabeledTree
from .words import TRUTH_WORDS, number, sayable

# A node of sqlglot's syntax tree. Its classes moved between releases, so none of them serves as a type.
Node = Any

# How an engine asks whether a value is NaN: by comparing (it calls NaN equal to itself), by a function of that name, by
# its text, or never, since its columns cannot hold one.
_NAN_TEST: Mapping[str, str | None] = {
    "duckdb": "equal",
    "postgres": "equal",
    "sqlite": None,
    "mysql": None,
    "bigquery": "IS_NAN",
    "snowflake": "equal",
    "redshift": "equal",
    "spark": "equal",
    "databricks": "equal",
    "trino": "IS_NAN",
    "hive": "text",
    "clickhouse": "isNaN",
    "oracle": "constant",
    "tsql": None,
}

# Types whose usual name has a precision of seconds or milliseconds only.
_PRECISE: Mapping[tuple[str, str], str] = {
    ("mysql", "timestamp"): "datetime(6)",
    ("trino", "timestamp"): "timestamp(6)",
    ("trino", "timestamptz"): "timestamp(6) with time zone",
}

# Longer chains of AND and OR are cut into parentheses: parsers count their links as levels (SQLite allows 1,000).
_LONGEST_CHAIN = 50


class Writer:
    """Writes expressions for one engine."""

    def __init__(self, dialect: str, qualifier: str | None) -> None:
        """``qualifier``: the table that qualifies names of columns, where the engine needs it."""
        self.dialect = dialect
        # SQLite takes a quoted name that is no column for text, unless a table qualifies it.
        self.qualifier = qualifier if dialect == "sqlite" else None

    def text(self, expression: Node) -> str:
        """Write the expression in the engine's dialect, over several lines."""
        texts = (node.this for node in expression.find_all(exp.Identifier, exp.Literal, exp.National))
        # Some releases indent the second line of a name that has two, and it is another name then.
        pretty = all(text.isprintable() for text in texts)
        sql: str = expression.sql(dialect=self.dialect, pretty=pretty, copy=False)
        return sql

    def statement(self, case: Node, form: str, source: Sequence[str], column: str, view: Sequence[str]) -> Node:
        """Wrap the CASE expression in a statement of the given form."""
        if form == "case":
            return case
        if form == "update":
            assignment = exp.EQ(this=exp.Column(this=self.name(column)), expression=case)
            # Some engines require a condition.
            where = exp.Where(this=exp.true()) if self.dialect in ("bigquery", "clickhouse") else None
            return exp.Update(this=self.table(source), expressions=[assignment], where=where)
        added = exp.Alias(this=case, alias=self.name(column))
        # Oracle takes no other column beside a bare star.
        star = exp.Column(this=exp.Star(), table=self.name(source[-1])) if self.dialect == "oracle" else exp.Star()
        select = exp.Select(expressions=[star, added]).from_(self.table(source), copy=False)
        if form == "view":
            return exp.Create(this=self.table(view), kind="VIEW", expression=select)
        return select

    def case(self, labeled: LabeledTree, labels: Sequence[Any], nulls: int | float | str | None) -> Node:
        """The CASE expression, or the only label of a tree without tests."""
        tree = labeled.tree
        if not len(tree.tested):
            return self.label(labels[tree.cluster[0]])
        branches = self.unplaced(labeled, nulls)
        for leaf, conditions in labeled.leaf_conditions(as_tested=True):
            tests = [test for condition in conditions for test in self.tests(condition)]
            branches.append(exp.If(this=self.chain(tests, exp.And), true=self.label(labels[tree.cluster[leaf]])))
        return exp.Case(ifs=branches)

    def unplaced(self, labeled: LabeledTree, nulls: int | float | str | None) -> list[Node]:
        """Branches for rows without a cluster, which come before all others."""
        names, kinds, tested = labeled.names, labeled.columns.kinds, labeled.tree.tested.tolist()
        for feature in tested:
            sayable(names[feature], "column")
            if self.dialect == "oracle" and "" in (kinds[feature].levels or ()):
                name = names[feature]
                raise UnsupportedInputError(
                    f"Column {name!r} has the empty text among its levels, and Oracle takes it for NULL. Fit with "
                    f"another text in its place: X[{name!r}].replace('', 'none')."
                )
        # Where fit saw missing values, the conditions place them.
        required = [feature for feature in tested if not kinds[feature].places_missing]
        absent = [test for feature in required for test in self.absence(names[feature], kinds[feature])]
        for f in labeled.closed:
            levels = tuple(range(len(kinds[f].levels or ())))
            absent.append(self.membership(Condition(f, names[f], levels=levels, outside=True, kind=kinds[f]), levels))
        return [
            exp.If(this=self.chain(absent[i : i + _LONGEST_CHAIN], exp.Or), true=self.label(nulls))
            for i in range(0, len(absent), _LONGEST_CHAIN)
        ]

    def absence(self, name: str, kind: ColumnKind) -> list[Node]:
        """Tests for rows without a value in a column."""
        tests: list[Node] = [exp.Is(this=self.column(name), expression=exp.Null())]
        if self.are_words(kind):
            tests.append(exp.Not(this=self.is_among(name, TRUTH_WORDS[0] + TRUTH_WORDS[1])))
        if kind.name == "date" and self.dialect == "sqlite":  # dates are text in ISO order there
            dated = exp.Glob(this=self.column(name), expression=exp.Literal.string("????-??-??*"))
            tests.append(exp.Not(this=dated))
        if not are_numbers(kind) or (kind.levels is not None and self.dialect == "sqlite"):
            return tests
        how = _NAN_TEST[self.dialect]
        if how == "equal":
            tests.append(exp.EQ(this=self.column(name), expression=self.as_double(exp.Literal.string("NaN"))))
        elif how == "text":
            text = exp.cast(self.column(name), "text", copy=False)
            tests.append(exp.EQ(this=text, expression=exp.Literal.string("NaN")))
        elif how == "constant":
            tests.append(exp.EQ(this=self.column(name), expression=exp.Var(this="BINARY_DOUBLE_NAN")))
        elif how is not None:
            tests.append(exp.Anonymous(this=how, expressions=[self.value(name, kind)]))
        elif self.dialect == "sqlite":
            # Beside a REAL, SQLite takes text that is a number for that number; other text sorts above all numbers.
            infinity = self.as_double(exp.Literal.number("9e999"))
            tests.append(exp.GT(this=self.column(name), expression=infinity))
        return tests

    def test(self, condition: Condition) -> Node:
        """A condition as one expression."""
        return self.chain(self.tests(condition), exp.And)

    def tests(self, condition: Condition) -> list[Node]:
        """Comparisons for a condition; missing values are tested explicitly, not left to the logic of NULL."""
        kind, name = condition.kind, condition.name
        if kind.name == "category" and condition.levels is not None:
            return [self.membership(condition, condition.levels)]
        absent = self.chain(self.absence(name, kind), exp.Or)
        if condition.levels is not None:  # none: the value is missing, or it is known
            return [exp.Not(this=exp.Paren(this=absent)) if condition.outside else exp.Paren(this=absent)]
        if self.are_words(kind):
            is_named = np.equal(condition.holds([0.0, 1.0]), not condition.unknown)
            among = self.is_among(name, [word for v in np.flatnonzero(is_named) for word in TRUTH_WORDS[v]])
            absent = exp.Is(this=self.column(name), expression=exp.Null())
            return [exp.Paren(this=exp.Or(this=absent, expression=exp.Not(this=among))) if condition.unknown else among]
        ends: list[Node] = [exp.LT, exp.GTE] if kind.name == "date" else [exp.LTE, exp.GT]
        below, above = ends[::-1] if condition.outside else ends
        tests = []
        if kind.name == "ordered":
            tests.append(self.membership(replace(condition, outside=False), condition.matching_levels))
        elif kind.name == "bool" and not condition.outside:
            is_true = condition.lower > -np.inf
            tests.append(exp.EQ(this=self.column(name), expression=self.label(is_true)))
            if self.dialect == "mysql":  # takes the text 'true' for 0, as all text without a number
                among = self.is_among(name, TRUTH_WORDS[1])
                either = exp.Paren(this=exp.Or(this=tests[0], expression=among))
                tests = [either] if is_true else [*tests, exp.Not(this=among)]
        else:
            for compare, bound in ((above, condition.lower), (below, condition.upper)):
                if np.isfinite(bound):
                    tests.append(compare(this=self.value(name, kind, bound), expression=self.end(bound, kind)))
            if condition.outside:
                tests = [exp.Paren(this=self.chain(tests, exp.Or))]
        if condition.unknown:
            return [exp.Paren(this=exp.Or(this=self.chain(tests, exp.And), expression=absent))]
        # NaN may be above all numbers, and text that is no date anywhere among the dates of SQLite.
        is_text = kind.name == "date" and self.dialect == "sqlite"
        if kind.has_gaps and (condition.upper == np.inf or condition.outside or is_text):
            tests.append(exp.Not(this=exp.Paren(this=absent)))
        return tests

    def are_words(self, kind: ColumnKind) -> bool:
        """Whether a boolean column may be words: the file of fit had words, or the engine has no boolean type."""
        return kind.name == "bool" and (kind.is_text or self.dialect == "sqlite")

    def is_among(self, name: str, words: Sequence[str]) -> Node:
        """Test whether the text of a value, ignoring case, is one of some words."""
        text = exp.cast(self.column(name), "varchar(100)" if self.dialect == "oracle" else "text", copy=False)
        return exp.In(this=exp.Lower(this=exp.Trim(this=text)), expressions=[exp.Literal.string(w) for w in words])

    def membership(self, condition: Condition, codes: Sequence[int]) -> Node:
        """Test whether a text is one of some levels, or none of them."""
        levels = condition.kind.levels or ()
        known = [level for code in codes if (level := levels[code]) is not None]
        names_missing = len(known) < len(codes)
        column = self.column(condition.name)
        absent: Node = exp.Is(this=column.copy(), expression=exp.Null())
        present: Node = exp.Not(this=absent.copy())
        if names_missing and len(tests := self.absence(condition.name, condition.kind)) > 1:
            absent = exp.Paren(this=self.chain(tests, exp.Or))
            present = exp.Not(this=absent.copy())
        if not known:
            return present if condition.outside == names_missing else absent
        if are_numbers(condition.kind):
            named = [self.level(level) for level in known]
        else:
            column, named = self.as_bytes(column), [self.as_bytes(self.label(level)) for level in known]
        among: Node = exp.In(this=column, expressions=named)
        # IN takes no casts in the first releases of polars, and -0.0 for another number than 0 in ClickHouse.
        if any(isinstance(level, exp.Cast) for level in named) or (self.dialect == "clickhouse" and 0 in known):
            equal = [exp.EQ(this=column.copy(), expression=level) for level in named]
            among = exp.Paren(this=self.chain(equal, exp.Or))
        if condition.outside:
            test = exp.Not(this=among)
            joined = exp.And(this=test, expression=present) if names_missing else exp.Or(this=test, expression=absent)
            return exp.Paren(this=joined)
        return exp.Paren(this=exp.Or(this=among, expression=absent)) if names_missing else among

    def as_bytes(self, text: Node) -> Node:
        """Make a text compare byte by byte, in the two engines that otherwise take ``a`` for ``A ``."""
        if self.dialect == "mysql":  # also where columns and connections are not in UTF-8
            if isinstance(text, exp.Literal) and text.this.isascii():
                return text
            # Releases of sqlglot have different trees for it.
            in_utf_8 = parse_one("CAST(x AS CHAR CHARACTER SET utf8mb4)", dialect="mysql")
            in_utf_8.set("this", text)
            return exp.Cast(this=in_utf_8, to=exp.DataType.build("binary"))
        if self.dialect == "tsql":  # ignores trailing blanks in every collation
            if isinstance(text, exp.Literal | exp.National):
                return type(text)(**{**text.args, "this": text.this + "|"})
            longer = exp.Paren(this=exp.Add(this=text, expression=exp.Literal.string("|")))
            return exp.Collate(this=longer, expression=exp.to_identifier("Latin1_General_BIN2"))
        return text

    def end(self, value: float, kind: ColumnKind) -> Node:
        """A threshold as a literal of the column's type."""
        if kind.name == "date":
            return self.instant(value, kind)
        if kind.unit == "time" and self.dialect in ("duckdb", "postgres"):
            return exp.cast(exp.Literal.string(str(time_of(value))), "time", copy=False)
        if kind.name == "duration" and self.dialect in ("duckdb", "postgres"):
            last = last_whole(value)
            days, left = divmod(abs(last), MICROSECONDS["day"]) if abs(last) > WHOLE_BELOW else (0, abs(last))
            # DuckDB reads each number of an interval as float64.
            text = f"{days} days {left} microseconds" if days else str(left)
            span = exp.Interval(this=exp.Literal.string(text), unit=None if days else exp.Var(this="MICROSECOND"))
            return span if last >= 0 else exp.Mul(this=exp.Literal.number(-1), expression=span)  # for polars
        if kind.name == "duration":
            raise UnsupportedInputError(
                "SQL engines have no common type for durations and times of day. Use dialect='duckdb' or 'postgres', "
                "which compare them, or give the column as a number of seconds."
            )
        return self.number(value)

    def instant(self, value: float, kind: ColumnKind) -> Node:
        """Literal of the first date or time after a threshold."""
        first = int(next_whole(value))
        if self.dialect == "sqlite" and kind.zone is not None:
            first += -first % 1000  # its times are read to the millisecond
        at = instant_of(first, kind)
        if self.dialect == "sqlite" and kind.zone is not None and at.strftime("%z")[5:]:
            raise UnsupportedInputError(
                f"SQLite reads no offset with seconds, which {at} in {kind.zone} has. Fit with the times in "
                "UTC (dt.tz_convert('UTC') in pandas), and write them to SQLite in UTC."
            )
        if self.compares_dates_as_text(kind):
            return exp.Literal.string(_first_text(at))
        text = str(at)
        if isinstance(at, dt.datetime) and at.tzinfo is not None:
            if self.dialect == "mysql":
                return exp.Literal.number(f"{Decimal(first).scaleb(-6):f}")
            utc = str(at.astimezone(dt.UTC).replace(tzinfo=None))
            if self.dialect == "clickhouse":
                of = [exp.Literal.string(utc), exp.Literal.number(6), exp.Literal.string("UTC")]
                return exp.Anonymous(this="toDateTime64", expressions=of)
            if self.dialect == "oracle" or at.strftime("%z")[5:]:  # an offset with seconds, of times before zones
                text = f"{utc}{' ' * (self.dialect == 'oracle')}+00:00"
        if self.dialect == "oracle":  # reads other text by the session's settings
            word = exp.Var(this="DATE" if kind.unit == "day" else "TIMESTAMP")
            return exp.Introducer(this=word, expression=exp.Literal.string(text))
        type_name = "date" if kind.unit == "day" else "timestamp" if kind.zone is None else "timestamptz"
        if (precise := _PRECISE.get((self.dialect, type_name))) is not None:
            return exp.cast(exp.Literal.string(text), precise, dialect=self.dialect, copy=False)
        return exp.cast(exp.Literal.string(text), type_name, copy=False)

    def compares_dates_as_text(self, kind: ColumnKind) -> bool:
        """Whether dates are compared as ISO text: the engine has no other form, or one that depends on a setting."""
        return self.dialect == "sqlite" or (self.dialect == "clickhouse" and kind.zone is None)

    def chain(self, terms: Sequence[Node], connector: Callable[..., Node]) -> Node:
        """The terms joined by AND or OR, in balanced parentheses when there are many."""
        if len(terms) > _LONGEST_CHAIN:
            middle = len(terms) // 2
            halves = (self.chain(terms[:middle], connector), self.chain(terms[middle:], connector))
            this, expression = (exp.Paren(this=half) for half in halves)
            return connector(this=this, expression=expression)
        joined = terms[0]
        for term in terms[1:]:
            joined = connector(this=joined, expression=term)
        return joined

    def name(self, name: str) -> Node:
        """A quoted name."""
        return exp.to_identifier(name, quoted=True)

    def table(self, parts: Sequence[str]) -> Node:
        """A table by its quoted parts: catalog, schema, table."""
        named = dict(zip(("this", "db", "catalog"), map(self.name, reversed(parts)), strict=False))
        return exp.Table(**named)

    def column(self, name: str) -> Node:
        """A column, qualified where the engine needs it."""
        table = None if self.qualifier is None else self.name(self.qualifier)
        return exp.Column(this=self.name(name), table=table)

    def value(self, name: str, kind: ColumnKind, threshold: float = 0.0) -> Node:
        """A column in the form that comparisons with a threshold need.

        In most engines a double on one side of a comparison converts the other side, so casting thresholds is enough.
        SQLite compares as text where the column was declared as text, as imports from CSV do.
        """
        column = self.column(name)
        if are_numbers(kind):
            if self.dialect == "clickhouse":  # its isNaN takes no decimals
                return exp.Anonymous(this="toFloat64", expressions=[column])
            if self.dialect == "mysql" and abs(threshold) >= WHOLE_BELOW:  # compares integers as integers
                return self.as_double(column)
        if kind.name == "date" and self.dialect == "clickhouse" and self.compares_dates_as_text(kind):
            return exp.Anonymous(this="toString", expressions=[column])
        if kind.zone is not None and self.dialect == "mysql":
            return exp.Anonymous(this="UNIX_TIMESTAMP", expressions=[column])
        if kind.zone is not None and self.dialect == "duckdb":  # for polars, which does not compare different zones
            return exp.cast(column, "timestamptz", copy=False)
        if kind.unit == "time":  # DuckDB has several types of time, and does not compare them with each other
            return exp.cast(column, "time", copy=False)
        if self.dialect != "sqlite":
            return column
        if kind.zone is not None:  # in UTC, to the millisecond
            return exp.Anonymous(this="strftime", expressions=[exp.Literal.string("%Y-%m-%d %H:%M:%f"), column])
        if kind.unit == "microsecond":
            return exp.Anonymous(this="replace", expressions=[column, *map(exp.Literal.string, "T ")])
        return column if kind.name == "date" else self.as_double(column)

    def as_double(self, expression: Node) -> Node:
        """Cast to double; by a type and not by its name, which would be parsed every time."""
        return exp.cast(expression, exp.DataType.Type.DOUBLE, copy=False)

    def number(self, value: float) -> Node:
        """Literal that the engine reads as exactly this float64."""
        if self.dialect == "oracle":  # its DOUBLE PRECISION is a decimal; this literal is a double in any locale
            return exp.Literal.number(f"{number(value)}d")
        if self.dialect == "clickhouse":  # reads literals exactly, but not text
            return self.as_double(exp.Literal.number(number(value)))
        if self.dialect != "sqlite":
            # From text: 4.95 alone is a decimal in most engines, and some convert decimals to doubles by division.
            return self.as_double(exp.Literal.string(number(value)))
        size = abs(value)
        if sqlite_reads_exactly(size):
            text = number(size)
            literal: Node = exp.Literal.number(text if any(c in text for c in ".e") else f"{text}.0")
        else:
            whole, powers, divide = exact_factors(size)
            literal = exp.Literal.number(f"{whole}.0")
            for power in powers:
                factor = exp.Literal.number(f"{power}.0")
                if divide:  # typed and safe as in SQLite itself, so that sqlglot adds nothing around it
                    literal = exp.Div(this=literal, expression=factor, typed=True, safe=True)
                else:
                    literal = exp.Mul(this=literal, expression=factor)
            literal = exp.Paren(this=literal)
        return exp.Neg(this=literal) if value < 0 else literal

    def level(self, level: Any) -> Node:
        """A level that is a number; engines have no such long whole numbers, so these come from columns of doubles."""
        is_long = abs(level) >= (2**63 if self.dialect == "sqlite" else 2**64)
        return self.number(float(level)) if is_long else self.label(level)

    def label(self, label: Any) -> Node:
        """A cluster as a literal of its own type."""
        if label is None:
            return exp.Null()
        if isinstance(label, bool):
            if self.dialect == "tsql":  # has no TRUE and FALSE
                return exp.cast(exp.Literal.number(int(label)), "bit", copy=False)
            if self.dialect == "oracle":
                return exp.Literal.number(int(label))
            return exp.Boolean(this=label)
        if isinstance(label, int):
            if self.dialect == "sqlite" and not -(2**63) <= label < 2**63:
                raise UnsupportedInputError(
                    f"SQLite has no whole number {label}: it would become a rounded one. Relabel, write clusters as "
                    "text (values='names'), or use another dialect."
                )
            literal = exp.Literal.number(abs(label))
            return exp.Neg(this=literal) if label < 0 else literal
        if isinstance(label, float):
            return self.number(label)
        sayable(label, "label", empty=True)
        if self.dialect == "tsql" and not label.isascii():
            return exp.National(this=label)
        return exp.Literal.string(label)


def are_numbers(kind: ColumnKind) -> bool:
    """Whether the values of a column, or its levels, are numbers."""
    return kind.name in ("number", "integer") or any(not isinstance(level, str | None) for level in kind.levels or ())


def _first_text(at: dt.date | dt.datetime) -> str:
    """Text that sorts before every way to write a date or an instant in UTC, and after all earlier ones."""
    if not isinstance(at, dt.datetime):
        return str(at)
    text = str(at if at.tzinfo is None else at.astimezone(dt.UTC).replace(tzinfo=None))
    if at.microsecond:
        text = text.rstrip("0")
    return text.removesuffix(":00").removesuffix(" 00:00")


# Every engine but one reads the text in CAST('4.95' AS DOUBLE) as the nearest float64, as the standard of floating
# point asks. SQLite reads numbers by its own arithmetic, which differs between releases (long double, or pairs of
# doubles) and is then off by one float64 for some numbers with many digits. There, a decimal is written only where all
# of them are right, and otherwise a product or quotient of a whole number and powers of two, which no rounding touches.

_STEP = 62  # 2**62 is the largest power of two that a 64-bit integer holds


def sqlite_reads_exactly(value: float) -> bool:
    """Whether every release of SQLite reads the shortest decimal of a number as that number.

    ``value``: finite. Returns ``exactly``: true for whole numbers of up to 15 digits and decimals of few digits: SQLite
    divides a whole number by a power of ten, both exact, and the quotient is rounded once, or once to 64 bits and then
    again to the same number.
    """
    _, digits, exponent = Decimal(number(abs(value))).as_tuple()
    assert isinstance(exponent, int)  # else nan or infinity
    whole = int("".join(map(str, digits)))
    if exponent >= 0:
        return bool(whole * 10**exponent < WHOLE_BELOW)
    if whole >= WHOLE_BELOW or exponent < -22:  # 10**22 is the largest power of ten that a float64 holds
        return False
    return _rounded_twice(Fraction(whole, 10**-exponent)) == abs(value)


def exact_factors(value: float) -> tuple[int, list[int], bool]:
    """A positive float64 as a whole number, times or divided by powers of two.

    ``value``: positive and finite. Returns ``whole``: odd, below 2**53. ``powers``: powers of two, each at most 2**62.
    ``divide``: whether ``whole`` is divided by them one after the other, or multiplied.
    """
    numerator, denominator = value.as_integer_ratio()
    twos = (numerator & -numerator).bit_length() - 1
    exponent = twos - (denominator.bit_length() - 1)
    steps, rest = divmod(abs(exponent), _STEP)
    return numerator >> twos, [2**_STEP] * steps + ([2**rest] if rest else []), exponent < 0


def _rounded_twice(value: Fraction) -> float:
    """A positive number rounded to 64 significant bits, to even on ties, and then to a float64."""
    shift = 64 - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    if scaled >= 2**64:  # it is above 2**63
        scaled, shift = scaled / 2, shift - 1
    return float(round(scaled) * Fraction(1, 2) ** shift)
