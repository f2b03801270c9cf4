"""Rules, SQL and Python of trees on levels, gaps, truth values, dates and ordered levels decide as predict does."""

import datetime as dt
import sqlite3

import numpy as np
import pytest

from cutwise import core
from cutwise.readouts.code import tree_python
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.rules import build_rules
from cutwise.readouts.sql import DIALECTS, tree_sql
from cutwise.readouts.tree_text import tree_text
from cutwise.table.table import ColumnKind, Columns, Table
from tests.tree.mixed import GAPS, Problem

LEVELS = ("N", "o'x", "unknown", "", None, "\u00e9`\U0001f600", 'a "b"')
RANKS = ("low", "mid", "high")
KINDS = (
    ColumnKind("category", LEVELS),
    GAPS,
    ColumnKind("number"),
    ColumnKind("bool"),
    ColumnKind("date", unit="day", has_gaps=True),
    ColumnKind("ordered", RANKS),
)
NAMES = ("region", "income", "x 2", "smoker", "signup", "edu")
COLUMNS = Columns(NAMES, True, KINDS)


def mixed_problem(seed):
    rng = np.random.default_rng(seed)
    n, k = 40, 4
    gap = rng.random((2, n)) < 0.3
    numbers = rng.integers(0, 9, n), 19000 + rng.integers(0, 900, n)
    income, signup = (np.where(g, np.nan, x) for g, x in zip(gap, numbers, strict=True))
    columns = rng.integers(0, 7, n), income, rng.integers(0, 5, n), rng.integers(0, 2, n), signup, rng.integers(0, 3, n)
    cost = rng.integers(0, 20, (n, k))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)]).astype(np.int32)
    excess = cost - cost.min(axis=1, keepdims=True)
    return Problem(np.column_stack(columns).astype(float), KINDS, np.ones(n, dtype=np.int64), labels, excess)


def rows_beside(values, seed):
    """The rows of a fit, and again with levels that were never seen, other gaps and extreme numbers."""
    rng = np.random.default_rng(seed)
    more = values.copy()
    more[:, 0] = rng.integers(0, 8, len(more))
    more[:, 1] = rng.choice([np.nan, -5.5, 3.0, 1e300], len(more))
    return np.concatenate([values, more])


def as_python(row):
    region = LEVELS[int(row[0])] if row[0] < len(LEVELS) else " N"
    signup = None if np.isnan(row[4]) else dt.date(1970, 1, 1) + dt.timedelta(days=int(row[4]))
    return region, None if np.isnan(row[1]) else row[1], row[2], bool(row[3]), signup, RANKS[int(row[5])]


@pytest.fixture(params=range(4))
def case(request):
    p = mixed_problem(request.param)
    values = rows_beside(p.values, request.param)
    trees = [p.grow(algorithm, 9).tree for algorithm in ("imm", "exkmc", "exgreedy", "expand")]
    return [(LabeledTree(tree, COLUMNS), tree.predict(core.as_matrix(values))) for tree in trees], values


def test_python_says_the_same_of_none_and_nan(case):
    for labeled, expected in case[0]:
        scope = {}
        exec(tree_python(labeled), scope)
        for missing in (None, float("nan")):
            rows = [[missing if x is None else x for x in as_python(row)] for row in case[1]]
            found = [scope["cluster_of"](dict(zip(NAMES, row, strict=True))) for row in rows]
            np.testing.assert_array_equal(found, expected)


def test_duckdb_says_the_same_of_null_and_nan(case):
    con = pytest.importorskip("duckdb").connect()
    columns = 'region varchar, income double, "x 2" double, smoker boolean, signup date, edu varchar'
    con.execute(f"create table data(id int, {columns})")
    rows = [(i, *as_python(row)) for i, row in enumerate(case[1])]
    con.executemany("insert into data values (?, ?, ?, ?, ?, ?, ?)", rows)
    for _ in ("null", "nan"):
        for labeled, expected in case[0]:
            found = [row[-1] for row in sorted(con.execute(tree_sql(labeled, dialect="duckdb")).fetchall())]
            np.testing.assert_array_equal(found, expected)
        con.execute("update data set income = 'nan' where income is null")


def test_sqlite_says_the_same(case):
    con = sqlite3.connect(":memory:")
    columns = 'region text, income real, "x 2" real, smoker int, signup text, edu text'
    con.execute(f"create table data(id int, {columns})")
    rows = [[i, *as_python(row)] for i, row in enumerate(case[1])]
    rows = [[x.isoformat() if isinstance(x, dt.date) else x for x in row] for row in rows]
    con.executemany("insert into data values (?, ?, ?, ?, ?, ?, ?)", rows)
    for labeled, expected in case[0]:
        found = [row[-1] for row in sorted(con.execute(tree_sql(labeled, dialect="sqlite")).fetchall())]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_has_words_for_it(dialect):
    sql = tree_sql(LabeledTree(mixed_problem(0).grow("exkmc", 9).tree, COLUMNS), dialect=dialect)
    assert "CASE" in sql
    assert " IN (" in sql


def test_rules_match_the_rows_of_their_leaves_and_name_levels(case):
    table = Table(case[1], NAMES, True, KINDS)
    for labeled, _ in case[0]:
        leaf = labeled.tree.apply(table)
        for cluster in build_rules(labeled):
            for rule in cluster.rules:
                np.testing.assert_array_equal(rule._holds(table), leaf == rule.leaf)


def test_what_is_missing_is_said_in_words():
    tree = mixed_problem(0).grow("exkmc", 9).tree
    text = tree_text(LabeledTree(tree, COLUMNS))
    assert "region" in text
    assert "unknown" in text
    assert "nan" not in text
