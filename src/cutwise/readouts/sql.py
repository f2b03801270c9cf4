"""The tree as SQL, built as a syntax tree by sqlglot, so that every name and label is quoted as its engine requires.

One flat CASE has a branch for each rule: however deep the tree, no engine's limit on nesting is met, and the order of
the branches does not matter. The first branches handle rows with NULL or NaN in a tested column; otherwise engines
that sort NaN above all numbers would put such rows into clusters, each in its own way. SQLite allows text in any
column; text that is not a number counts as missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Literal, get_args

from cutwise.exceptions import InvalidInputError, UnsupportedInputError, optional_package
from cutwise.table.intake import check_option

from .labeled_tree import LabeledTree
from .words import quoted, sayable

Dialect = Literal[
    "duckdb", "postgres", "sqlite", "mysql", "bigquery", "snowflake", "redshift", "spark", "databricks", "trino",
    "hive", "clickhouse", "oracle", "tsql",
]  # fmt: skip
Form = Literal["select", "case", "view", "update"]
Values = Literal["labels", "names"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
SQL_FORMS: tuple[Form, ...] = get_args(Form)
SQL_VALUES: tuple[Values, ...] = get_args(Values)
_POLARS_LASTS = 2**63 / 1000
"""Microseconds of the first duration whose nanoseconds, which polars counts in SQL, are beyond 64 bits."""

# Engines that distinguish quoted names by case.
_CASE_SENSITIVE = ("postgres", "snowflake", "oracle", "clickhouse")


def tree_sql(
    labeled: LabeledTree,
    *,
    dialect: str,
    table: str | Sequence[str] | None = None,
    form: str = "select",
    column: str = "cluster",
    view: str | Sequence[str] | None = None,
    values: str = "labels",
    nulls: int | float | str | None = None,
) -> str:
    """Write a tree as SQL.

    ``table``: a string is split at dots (``"sales.customers"``); a sequence has the parts as they are. ``"data"`` when
    left out. ``form``: a SELECT that adds a column, the CASE expression alone, a view of that SELECT, or an UPDATE of
    an existing column. ``column``: name of the column of clusters. ``view``: name of the view; the table's with
    ``_clusters`` appended when left out. ``values``: content of the column: the labels that ``predict`` gives, or names
    as text. ``nulls``: value for rows with NULL, NaN or (SQLite) text that is not a number in a tested column; NULL
    when left out. Returns ``sql``: lines of comment, then one statement (or expression) without a semicolon. Raises
    ``MissingDependencyError``: sqlglot is not installed. Raises ``InvalidInputError``: an unknown option, a name that
    SQL cannot hold, ``nulls`` that is a cluster or of another type than clusters, or a column of clusters that has the
    name of a column of the model.
    """
    check_option("dialect", dialect, DIALECTS)
    check_option("form", form, SQL_FORMS)
    check_option("values", values, SQL_VALUES)
    shown = [str(title) for title in labeled.titles] if values == "names" else labeled.labels
    _check_nulls(nulls, shown)
    source = _parts("table", "data" if table is None else table)
    writer = _writer(dialect, source[-1] if form != "case" or table is not None else None)
    case = writer.case(labeled, shown, nulls)
    target = _parts("view", (*source[:-1], f"{source[-1]}_clusters") if view is None else view)
    sayable(column, "column")
    if form != "case":
        _check_free(column, labeled.names, form)
    statement = writer.statement(case, form, source, column, target)
    known_as = labeled.cluster_names if values == "labels" else {}
    comments = _comments(labeled, dialect, nulls, form, column, known_as)
    return "\n".join([*comments, writer.text(statement)])


def tree_polars(labeled: LabeledTree, nulls: int | float | str | None = None) -> Any:
    """Write a tree as a polars expression, each test in DuckDB's SQL and in those above it.

    polars nests the branches of a flat CASE in each other: it would take time and memory in the square of the leaves.
    ``nulls`` and errors as in ``tree_sql``. Raises ``MissingDependencyError`` also if polars is not installed.
    """
    _check_nulls(nulls, labeled.labels)
    writer, tree = _writer("duckdb", None), labeled.tree
    pl = optional_package("polars", "A polars expression", "files")

    def read(expression: Any) -> Any:
        return pl.sql_expr(writer.text(expression))

    tests = zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)
    if any(labeled.columns.kinds[f].name == "duration" and abs(t) >= _POLARS_LASTS for f, t in tests if f >= 0):
        raise UnsupportedInputError(
            "polars reads durations beyond 292 years as other ones. Fit with the column as a number of days."
        )
    unplaced, found = writer.unplaced(labeled, nulls), dict[int, Any]()
    for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parent
        if tree.feature[node] < 0:
            found[node] = read(writer.label(labeled.labels[tree.cluster[node]]))
            continue
        inside, outside = found.pop(node + 1), found.pop(int(tree.children_right[node]))
        found[node] = pl.when(read(writer.test(labeled.condition(node + 1)))).then(inside).otherwise(outside)
    for branch in reversed(unplaced):
        found[0] = pl.when(read(branch.this)).then(read(branch.args["true"])).otherwise(found[0])
    return found[0]


def _writer(dialect: str, qualifier: str | None) -> Any:
    optional_package("sqlglot", "Writing SQL", "sql")
    from .sql_writer import Writer

    return Writer(dialect, qualifier)


def _parts(what: str, given: Any) -> tuple[str, ...]:
    """Parts of a table's name, the outermost first."""
    parts = tuple(given.split(".") if isinstance(given, str) else given if isinstance(given, Sequence) else ())
    if not 1 <= len(parts) <= 3 or not all(isinstance(part, str) and part for part in parts):
        raise InvalidInputError(
            f"{what}={given!r} is not a {what} name. Give one to three parts joined by dots, such as "
            "'sales.customers', or a tuple of parts where a name holds a dot itself."
        )
    for part in parts:
        sayable(part, what)
    return parts


def _check_free(column: str, names: Sequence[str], form: str) -> None:
    """Raise an error if the column of clusters has the name of a column of the model, which it could overwrite."""
    # Most engines do not tell upper from lower case in names.
    if column.casefold() not in map(str.casefold, names):
        return
    taken = {name.casefold() for name in names}
    free = next(f"{column}_{i}" for i in count(2) if f"{column}_{i}".casefold() not in taken)
    raise InvalidInputError(
        f"The {form} would write the clusters to a column {column!r}, and the model reads a column of that name. "
        f"Give it another name: column={free!r}."
    )


def _check_nulls(nulls: Any, labels: Sequence[Any]) -> None:
    if nulls is None:
        return
    kind = type(labels[0])
    if type(nulls) is not kind:
        raise UnsupportedInputError(
            f"nulls={nulls!r} is of type {type(nulls).__name__}, and the clusters are of type {kind.__name__}: a "
            f"column has one type. Give a value of type {kind.__name__}, or None for NULL."
        )
    if nulls in labels:
        raise InvalidInputError(
            f"nulls={nulls!r} is a cluster, so rows without a value could not be told from its rows. Give another "
            "value, or None for NULL."
        )


def _comments(
    labeled: LabeledTree, dialect: str, nulls: Any, form: str, column: str, known_as: Mapping[Any, str]
) -> list[str]:
    """Comments for readers of the SQL, without semicolons and quotes, which simple drivers would interpret."""
    kinds = [labeled.columns.kinds[feature] for feature in labeled.tree.tested.tolist()]
    placed = [kind.places_missing for kind in kinds]
    dated = " or date (2024-03-01)" * any(kind.name == "date" for kind in kinds)
    missing = f"NULL or text that is no number{dated}" if dialect == "sqlite" else "NULL or NaN"
    where = "a tested column that had no missing values at fit" if any(placed) else "a tested column"
    lines = ["Made by cutwise: the cluster that predict gives each row. Numbers are compared in double precision."]
    given = "NULL" if nulls is None else quoted(nulls)
    if not placed or not all(placed):
        lines.append(f"A row with {missing} in {where} gets {given}.")
    if dialect == "sqlite" and any(kind.zone is not None for kind in kinds):
        lines.append("Times are read to the millisecond. A time without an offset from UTC is read as UTC.")
        lines.append("An offset with seconds, as local times before zones have, is not read, and its row gets NULL.")
    if dialect == "mysql" and any(kind.zone is not None for kind in kinds):
        lines.append(
            "Times with a zone need type TIMESTAMP. DATETIME works from 1970 on, in the time zone of the session."
        )
    if dialect not in ("sqlite", "mysql") and any(kind.name == "bool" and not kind.is_text for kind in kinds):
        lines.append(
            "Columns of truth values hold true and false (1 and 0 in engines without a Boolean type), not text."
        )
    if labeled.closed:
        lines.append(f"A row with a level not seen at fit gets {given}.")
    if dialect not in _CASE_SENSITIVE and labeled.columns.has_names and (alike := _alike_but_for_case(labeled)):
        lines.append(
            f"These names differ only by case, which {dialect} ignores: {alike}. Use those that your table has."
        )
    if form == "update":
        lines.append(f"The column {quoted(column)} must already exist.")
    lines += [f"{quoted(label)} = {quoted(name)}" for label, name in known_as.items()]
    return [f"-- {line}" for line in lines]


def _alike_but_for_case(labeled: LabeledTree) -> str:
    """Names of tested columns and of columns that differ from them only by case, in one line."""
    tested = {labeled.names[feature].casefold() for feature in labeled.tree.tested.tolist()}
    counts = Counter(name.casefold() for name in labeled.names)
    alike = (name for name in labeled.names if name.casefold() in tested and counts[name.casefold()] > 1)
    return ", ".join(map(quoted, alike))
