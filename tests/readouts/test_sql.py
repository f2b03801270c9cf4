"""SQL gives every row the cluster that the tree gives it, in databases that run it."""

import math
import re
import sqlite3

import numpy as np
import pytest

from cutwise.exceptions import InvalidInputError, MissingDependencyError, UnknownOptionError, UnsupportedInputError
from cutwise.readouts.labeled_tree import LabeledTree
from cutwise.readouts.sql import DIALECTS, tree_sql
from cutwise.tree.threshold_tree import ThresholdTree
from tests.each import each
from tests.readouts.databases import quote
from tests.readouts.test_rules import small_tree
from tests.readouts.test_words import NASTY
from tests.tree.random_trees import chain, random_tree

sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed (the extra sql)")

from cutwise.readouts.sql_writer import Writer, exact_factors, sqlite_reads_exactly  # noqa: E402

# Short and long decimals, whole numbers, and numbers that no short decimal stands for, from 1e-12 to 1e12.
VALUES = np.array(
    [1e-12, 3.3e-12, 0.1, 0.15, 0.1 + 0.2, 1 / 3, 2.0, 4.95, 123456.789, 2**53 / 7, 1e12, 1e12 + 0.1, 987654321012.3456]
)
VALUES = np.concatenate([VALUES, -VALUES, [0.0]])
ODD_NAMES = [name for name in NASTY if name and "\x00" not in name] + [
    "select",
    "<script>",
    "it's",
    "x]y",
    "a.b c",
    "日",
]


def made(seed, *, n_leaves=12, n_features=3, n_clusters=5, values=VALUES, intervals=0.4):
    rng = np.random.default_rng(seed)
    return random_tree(
        rng, n_leaves=n_leaves, n_features=n_features, n_clusters=n_clusters, intervals=intervals, values=values
    )


def rows_on_cuts(tree, rng, kind="double", n_rows=400):
    """Rows whose values lie on cuts, one float step (of their own type) to each side of them, and elsewhere."""
    cuts = np.concatenate([tree.threshold[np.isfinite(tree.threshold)], tree.lower[np.isfinite(tree.lower)], [0.0]])
    if kind == "real":
        near = cuts.astype(np.float32)
        pool = np.concatenate([near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))])
    else:
        pool = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), cuts * 2, cuts / 2])
    return rng.choice(pool, size=(n_rows, tree.n_features))


def answers(database, sql_of, tree, names, X, *, kinds=None, table="the rows", extra=()):
    """The clusters that a database gives the rows of ``X``, and those ``extra`` ones with None or NaN among them."""
    kinds = kinds or ["double"] * len(names)
    rows = [tuple(row) for row in X.tolist()] + list(extra)
    database.create(table, dict(zip(names, kinds, strict=True)), rows)
    found = database.query(f'SELECT "row number", "cluster" FROM ({sql_of(table)}) AS clustered')
    assert len(found) == len(rows)
    by_row = {int(number): cluster for number, cluster in found}
    return [by_row[i] for i in range(len(rows))]


def as_text(values):
    return [None if value is None else str(value) for value in values]


@pytest.mark.parametrize("kind", ["double", "real"])
@each("seed", range(3))
def test_rows_on_thresholds_and_one_step_beside_are_placed_alike(database, seed, kind):
    tree, names = made(seed), ["a", "b", "c"]
    X = rows_on_cuts(tree, np.random.default_rng(seed), kind)
    found = answers(
        database,
        lambda t: tree_sql(LabeledTree(tree, names), dialect=database.dialect, table=(t,)),
        tree,
        names,
        X,
        kinds=[kind] * 3,
        table=f"rows {seed}",
    )
    assert as_text(found) == as_text(tree.predict(X).tolist())


@each("scale", [1e-300, 1e-12, 1e-6, 1e6, 1e12, 1e300])
def test_thresholds_of_any_size_are_the_same_number(database, scale):
    rng = np.random.default_rng(7)
    tree = made(8, values=rng.normal(size=30) * scale, n_leaves=25)
    X = rows_on_cuts(tree, rng)
    found = answers(
        database,
        lambda t: tree_sql(LabeledTree(tree, ["a", "b", "c"]), dialect=database.dialect, table=(t,)),
        tree,
        ["a", "b", "c"],
        X,
        table=f"rows {scale}",
    )
    assert as_text(found) == as_text(tree.predict(X).tolist())


def test_whole_numbers_beyond_2_53_are_compared_as_float64(database):
    tree = ThresholdTree.from_unordered(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[float(2**60), 0, 0],
        cluster=[-1, 0, 1],
        n_features=1,
    )
    X = 2**60 + np.array([[-200], [-1], [0], [1], [100], [128], [200], [512]])
    found = answers(
        database,
        lambda t: tree_sql(LabeledTree(tree, ["n"]), dialect=database.dialect, table=(t,)),
        tree,
        ["n"],
        X,
        kinds=["integer"],
    )
    assert as_text(found) == as_text(tree.predict(X).tolist())


@pytest.mark.parametrize("kind", ["double", "real"])
@pytest.mark.parametrize("nulls", [None, -7])
def test_rows_with_null_or_nan_in_a_tested_column_get_what_the_policy_says(database, nulls, kind):
    tree = small_tree()
    names = ["income", "age", "untested"]
    tree = ThresholdTree(**{**vars_of(tree), "n_features": 3})
    X = np.array([[50000.0, 20, 1], [60000, 30, 1], [60000, 36, 1]])
    holes = [(None, 20.0, 1.0), (60000.0, None, 1.0), (None, None, None), (1.0, None, 1.0), (60000.0, 30.0, None)]
    if database.has_nan:
        holes += [(math.nan, 20.0, 1.0), (60000.0, math.nan, 1.0), (1.0, math.nan, 1.0), (60000.0, 36.0, math.nan)]
    found = answers(
        database,
        lambda t: tree_sql(LabeledTree(tree, names), dialect=database.dialect, table=(t,), nulls=nulls),
        tree,
        names,
        X,
        kinds=[kind] * 3,
        extra=holes,
    )
    expected = [0, 2, 0, nulls, nulls, nulls, nulls, 2, *([nulls, nulls, nulls, 0] if database.has_nan else [])]
    assert as_text(found) == as_text(expected)


def vars_of(tree):
    return {name: getattr(tree, name) for name in tree.__dataclass_fields__}


@each("start", range(0, len(ODD_NAMES), 6))
def test_odd_names_of_columns_tables_and_labels_are_held(database, start):
    names = (ODD_NAMES + ODD_NAMES)[start : start + 6]
    if database.dialect == "mysql":  # has no names that end in a blank, nor with emoji
        names = [name for name in names if not name.endswith(" ") and max(name) <= "\uffff"]
    tree = made(start, n_features=len(names), n_clusters=len(names))
    classes = np.array(names, dtype=object)
    X = rows_on_cuts(tree, np.random.default_rng(start))
    found = answers(
        database,
        lambda t: tree_sql(LabeledTree(tree, names, classes=classes), dialect=database.dialect, table=(t,)),
        tree,
        names,
        X,
        table=names[0],
    )
    assert found == classes[tree.predict(X)].tolist()


@pytest.mark.parametrize(
    ("classes", "spelled"),
    [
        (np.array([-5, 0, 3]), {"-5": -5, "0": 0, "3": 3}),
        (np.array([2.0, 4.0, 6.0]), {"2": 2.0, "4": 4.0, "6": 6.0}),
        (np.array(["NULL", "1", ""]), {"NULL": "NULL", "1": "1", "": ""}),
    ],
)
def test_labels_come_in_their_own_type(database, classes, spelled):
    tree, names = made(3, n_clusters=3), ["a", "b", "c"]
    X = rows_on_cuts(tree, np.random.default_rng(3))
    found = answers(
        database,
        lambda t: tree_sql(LabeledTree(tree, names, classes=classes), dialect=database.dialect, table=(t,)),
        tree,
        names,
        X,
    )
    expected = classes[tree.predict(X)].tolist()
    if database.answers_in_text:
        found = [spelled[cluster] for cluster in found]
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


def test_truth_values_are_labels_too(database):
    tree, names, classes = made(3, n_clusters=2), ["a", "b", "c"], np.array([False, True])
    X = rows_on_cuts(tree, np.random.default_rng(3))
    found = answers(
        database,
        lambda t: tree_sql(LabeledTree(tree, names, classes=classes), dialect=database.dialect, table=(t,)),
        tree,
        names,
        X,
    )
    assert [value in (True, 1, "t", "1") for value in found] == classes[tree.predict(X)].tolist()


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param(lambda: chain(1100), id="a chain of 1100 tests"),
        pytest.param(
            lambda: made(1, n_leaves=2000, n_features=8, n_clusters=60), id="2000 leaves", marks=pytest.mark.slow
        ),
    ],
)
def test_deep_and_large_trees_run(database, tree):
    if database.dialect == "spark":
        pytest.skip("Spark compiles a CASE into nested code: minutes for a thousand branches, and heap for thousands")
    tree = tree()
    names = [f"x{i}" for i in range(tree.n_features)]
    rng = np.random.default_rng(0)
    X = rows_on_cuts(tree, rng, n_rows=300)
    found = answers(
        database, lambda t: tree_sql(LabeledTree(tree, names), dialect=database.dialect, table=(t,)), tree, names, X
    )
    assert as_text(found) == as_text(tree.predict(X).tolist())


def test_a_rule_over_many_columns_runs(database):
    # One test on each column: the last leaf's rule is a chain of as many comparisons.
    d = 40
    inner = 2 * np.arange(d)
    left, right, feature, cluster = (np.full(2 * d + 1, -1) for _ in range(4))
    threshold = np.full(2 * d + 1, np.nan)
    left[inner], right[inner], feature[inner], threshold[inner] = inner + 1, inner + 2, np.arange(d), 0.5
    cluster[inner + 1], cluster[2 * d] = 0, 1
    tree = ThresholdTree.from_unordered(
        children_left=left, children_right=right, feature=feature, threshold=threshold, cluster=cluster, n_features=d
    )
    X = np.vstack([np.ones(d), np.ones(d) - np.eye(d)[-1], np.zeros(d)])
    names = [f"x{i}" for i in range(d)]
    holes = [(None, *[1.0] * (d - 1)), (*[1.0] * (d - 1), None)]
    found = answers(
        database,
        lambda t: tree_sql(LabeledTree(tree, names), dialect=database.dialect, table=(t,)),
        tree,
        names,
        X,
        extra=holes,
    )
    assert as_text(found) == ["1", "0", "0", None, None]


def test_a_chain_longer_than_any_parser_is_deep_is_balanced(database):
    writer = Writer(database.dialect, None)
    terms = [sqlglot.exp.GT(this=sqlglot.exp.Literal.number(2), expression=sqlglot.exp.Literal.number(1))] * 1500
    for connector in (sqlglot.exp.And, sqlglot.exp.Or):
        text = writer.text(writer.chain([term.copy() for term in terms], connector))
        assert text.count(">") == 1500
        (answer,) = database.query(f"SELECT CASE WHEN {text} THEN 1 ELSE 0 END AS cluster")
        assert str(answer[0]) == "1"


def test_a_view_an_update_and_a_bare_expression_give_the_same(database):
    if database.dialect == "spark" or not hasattr(database, "run"):
        pytest.skip("rows of Spark's own views cannot be updated, and polars has no views")
    tree, names = made(5), ["a", "b", "c"]
    X = rows_on_cuts(tree, np.random.default_rng(5))
    database.create(
        "rows", {**dict.fromkeys(names, "double"), "cluster": "integer"}, [(*row, None) for row in X.tolist()]
    )
    where = {"dialect": database.dialect, "table": "rows"}
    expected = as_text(tree.predict(X).tolist())
    database.run(tree_sql(LabeledTree(tree, names), form="view", column="found", **where))
    assert column(database, 'SELECT "row number", "found" FROM "rows_clusters"') == expected
    case = tree_sql(LabeledTree(tree, names), form="case", **where)
    assert column(database, f'SELECT "row number", {case} AS "found" FROM "rows"') == expected
    bare = tree_sql(LabeledTree(tree, names), form="case", dialect=database.dialect)
    assert column(database, f'SELECT "row number", {bare} AS "found" FROM "rows"') == expected
    database.run(tree_sql(LabeledTree(tree, names), form="update", **where))
    assert column(database, 'SELECT "row number", "cluster" FROM "rows"') == expected


def column(database, sql):
    return as_text(value for _, value in sorted((int(number), value) for number, value in database.query(sql)))


def test_a_tree_without_tests_gives_its_only_label(database):
    tree = ThresholdTree.from_unordered(
        children_left=[-1], children_right=[-1], feature=[-1], threshold=[math.nan], cluster=[0], n_features=1
    )
    sql = lambda t: tree_sql(LabeledTree(tree, ["x"]), dialect=database.dialect, table=(t,))  # noqa: E731
    assert as_text(answers(database, sql, tree, ["x"], np.array([[1.0], [2.0]]), extra=[(None,)])) == ["0"] * 3


def test_names_can_take_the_place_of_labels(database):
    tree, names = made(5), ["a", "b", "c"]
    X = rows_on_cuts(tree, np.random.default_rng(5))
    known = {0: "it's", 3: "-- the rest; \n/*"}
    sql = lambda t: tree_sql(  # noqa: E731
        LabeledTree(tree, names, cluster_names=known), dialect=database.dialect, table=(t,), values="names", nulls="?"
    )
    found = answers(database, sql, tree, names, X, extra=[(None, 1.0, 1.0)])
    assert found == [known.get(code, str(code)) for code in tree.predict(X).tolist()] + ["?"]


def test_names_stand_in_comments_beside_labels(database):
    tree, names = made(5), ["a", "b", "c"]
    X = rows_on_cuts(tree, np.random.default_rng(5))
    sql = lambda t: tree_sql(  # noqa: E731
        LabeledTree(tree, names, cluster_names={0: "x\nDROP TABLE rows", 1: "年齢"}),
        dialect=database.dialect,
        table=(t,),
    )
    assert as_text(answers(database, sql, tree, names, X)) == as_text(tree.predict(X).tolist())
    assert "-- 1 = 年齢\n" in sql("rows")
    assert "-- 0 = `x\\nDROP TABLE rows`\n" in sql("rows")


@pytest.mark.parametrize("form", ["select", "view", "update"])
def test_the_column_of_clusters_takes_no_name_that_the_model_reads(form):
    tree = made(5)
    with pytest.raises(InvalidInputError, match="Give it another name: column='cluster_3'"):
        tree_sql(LabeledTree(tree, ["Cluster", "b", "cluster_2"]), dialect="sqlite", form=form)
    assert tree_sql(LabeledTree(tree, ["Cluster", "b", "c"]), dialect="sqlite", form=form, column="segment")


def test_a_comment_names_columns_that_the_engine_takes_for_one_another():
    labeled = LabeledTree(small_tree(), ["income", "Income"])
    said = "-- These names differ only by case, which sqlite ignores: income, Income."
    assert said in tree_sql(labeled, dialect="sqlite")
    assert "differ only by case" not in tree_sql(labeled, dialect="postgres")
    assert "differ only by case" not in tree_sql(LabeledTree(small_tree(), ["income", "age"]), dialect="sqlite")


@pytest.mark.parametrize("base", [-(2**63), 2**63 - 3, 2**63 - 2])
def test_whole_numbers_that_sqlite_would_round_are_refused_and_may_be_texts(base):
    classes = np.array([base, base + 1, base + 2], dtype=np.int64 if base < 0 else np.uint64)
    labeled = LabeledTree(small_tree(), ["income", "age"], classes=classes)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t AS SELECT 60000 AS income, 9 AS age")
    if base == 2**63 - 2:
        with pytest.raises(UnsupportedInputError, match=f"no whole number {2**63}.*Relabel"):
            tree_sql(labeled, dialect="sqlite", table="t")
    else:
        assert connection.execute(tree_sql(labeled, dialect="sqlite", table="t")).fetchone()[-1] == base + 2
    as_texts = tree_sql(labeled, dialect="sqlite", table="t", values="names")
    assert connection.execute(as_texts).fetchone()[-1] == str(base + 2)
    connection.close()


def test_sqlite_reads_columns_of_text_as_numbers_and_knows_a_column_that_is_missing():
    tree = small_tree()
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (income TEXT, age TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [("9000", "20"), ("60000", "9"), ("60000", "36.5")])
    sql = tree_sql(LabeledTree(tree, ["income", "age"]), dialect="sqlite", table="t")
    assert [row[-1] for row in connection.execute(sql)] == [0, 2, 0]
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        connection.execute(tree_sql(LabeledTree(tree, ["incom", "age"]), dialect="sqlite", table="t"))
    connection.close()


@pytest.mark.parametrize("kind", ["TEXT", "REAL", "INTEGER", "NUMERIC", "BLOB", ""])
def test_sqlite_gives_cells_that_are_no_number_what_the_policy_says_whatever_the_column_was_declared_as(kind):
    tree = ThresholdTree.from_unordered(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[4.95, 0, 0],
        cluster=[-1, 0, 1],
        n_features=1,
    )
    numbers = {
        "1": 0,
        " 4.95 ": 0,
        "4.950001": 1,
        "1e3": 1,
        "-1e3": 0,
        ".5": 0,
        "5.": 1,
        "+5": 1,
        "9007199254740993": 1,
    }
    others = ["", " ", "abc", "5abc", "0x10", "nan", "inf", "?", "1,5", "--5", None, b"5"]
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t (x {kind})")
    connection.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in [*numbers, *others, 3, 5.5, 2**62 + 1]])
    for nulls in (None, -1):
        sql = tree_sql(LabeledTree(tree, ["x"]), dialect="sqlite", table="t", nulls=nulls)
        found = [row[-1] for row in connection.execute(sql)]
        assert found == [*numbers.values(), *[nulls] * len(others), 0, 1, 1]
    connection.close()


def read_back(sql, dialect):
    """The statement as a parser of the dialect reads it."""
    if dialect == "oracle":  # its own literals of doubles, which the parser does not know
        sql = re.sub(r"(?<=\d)d\b", "", sql).replace("BINARY_DOUBLE_NAN", "CAST('NaN' AS DOUBLE PRECISION)")
    if dialect == "clickhouse":  # its own function, which no other engine has
        sql = sql.replace("toFloat64(", "(")
    return sqlglot.parse_one(sql, dialect=dialect)


class TestDialectsThatDoNotRunHere:
    @pytest.mark.parametrize("dialect", DIALECTS)
    @pytest.mark.parametrize("form", ["select", "case", "view", "update"])
    def test_every_form_is_read_back_by_a_parser_of_the_dialect(self, dialect, form):
        tree, names = made(2, n_features=4), ["a", "x]y", 'b"`', "it's"]
        classes = np.array(["it's", 'a "b"', "back\\slash", "日", "new\nline"])
        sql = tree_sql(LabeledTree(tree, names, classes=classes), dialect=dialect, table="main.t", form=form)
        parsed = read_back(sql, dialect)
        literals = {literal.this for literal in parsed.find_all(sqlglot.exp.Literal, sqlglot.exp.National)}
        reached = tree.predict(
            rows_on_cuts(tree, np.random.default_rng(0))
        )  # a leaf that no row can reach has no branch
        assert set(classes[reached].tolist()) <= literals
        columns = {column.name for column in parsed.find_all(sqlglot.exp.Column)} - {"cluster", "*"}
        assert columns == {names[feature] for feature in np.unique(tree.feature[tree.feature >= 0])}
        assert ";" not in sql

    @pytest.mark.parametrize("dialect", DIALECTS)
    def test_what_the_parser_reads_gives_the_same_rows_in_another_engine(self, dialect):
        duckdb = pytest.importorskip("duckdb")
        pytest.importorskip("pyarrow")
        from tests.readouts.databases import Duck

        tree, names = made(6), ["a", "b", "c"]
        X = rows_on_cuts(tree, np.random.default_rng(6))
        holes = [(None, 1.0, 1.0), (math.nan, 1.0, 1.0), (1.0, 1.0, math.nan)]
        if dialect in ("sqlite", "mysql", "tsql"):
            holes = holes[:1]  # their columns cannot hold NaN
        database = Duck()

        def translated(table):
            sql = tree_sql(LabeledTree(tree, names), dialect=dialect, table=(table,))
            expression = read_back(sql, dialect)
            for cast in expression.find_all(sqlglot.exp.Cast):
                if cast.is_type("text"):
                    cast.parent.set("expression", sqlglot.exp.Literal.string("nan"))  # as that engine writes it
                else:
                    cast.set("to", sqlglot.exp.DataType.build("double"))  # REAL, FLOAT, FLOAT64 are doubles over there
            return expression.sql(dialect="duckdb")

        found = answers(database, translated, tree, names, X, extra=holes)
        database.close()
        assert duckdb
        assert found == [*tree.predict(X).tolist(), *[None] * len(holes)]

    def test_the_statement_in_each_dialect(self):
        tree = small_tree()
        lines = {
            dialect: tree_sql(LabeledTree(tree, ["income", "age"]), dialect=dialect, table="t", form="case").split(
                "\n"
            )[2:]
            for dialect in DIALECTS
        }
        assert [" ".join(" ".join(lines[d]).split()) for d in ("bigquery", "tsql", "postgres", "oracle", "hive")] == [
            "CASE WHEN `income` IS NULL OR IS_NAN(`income`) OR `age` IS NULL OR IS_NAN(`age`) THEN NULL "
            "WHEN `income` <= CAST('52000' AS FLOAT64) THEN 0 "
            "WHEN `income` > CAST('52000' AS FLOAT64) AND `age` <= CAST('35' AS FLOAT64) THEN 2 "
            "WHEN `income` > CAST('52000' AS FLOAT64) AND `age` > CAST('35' AS FLOAT64) THEN 0 END",
            "CASE WHEN [income] IS NULL OR [age] IS NULL THEN NULL "
            "WHEN [income] <= CAST('52000' AS FLOAT) THEN 0 "
            "WHEN [income] > CAST('52000' AS FLOAT) AND [age] <= CAST('35' AS FLOAT) THEN 2 "
            "WHEN [income] > CAST('52000' AS FLOAT) AND [age] > CAST('35' AS FLOAT) THEN 0 END",
            """CASE WHEN "income" IS NULL OR "income" = CAST('NaN' AS DOUBLE PRECISION) """
            """OR "age" IS NULL OR "age" = CAST('NaN' AS DOUBLE PRECISION) THEN NULL """
            """WHEN "income" <= CAST('52000' AS DOUBLE PRECISION) THEN 0 """
            """WHEN "income" > CAST('52000' AS DOUBLE PRECISION) """
            """AND "age" <= CAST('35' AS DOUBLE PRECISION) THEN 2 """
            """WHEN "income" > CAST('52000' AS DOUBLE PRECISION) """
            """AND "age" > CAST('35' AS DOUBLE PRECISION) THEN 0 END""",
            'CASE WHEN "income" IS NULL OR "income" = BINARY_DOUBLE_NAN OR "age" IS NULL OR "age" = BINARY_DOUBLE_NAN '
            'THEN NULL WHEN "income" <= 52000d THEN 0 WHEN "income" > 52000d AND "age" <= 35d THEN 2 '
            'WHEN "income" > 52000d AND "age" > 35d THEN 0 END',
            "CASE WHEN `income` IS NULL OR CAST(`income` AS STRING) = 'NaN' "
            "OR `age` IS NULL OR CAST(`age` AS STRING) = 'NaN' THEN NULL "
            "WHEN `income` <= CAST('52000' AS DOUBLE) THEN 0 "
            "WHEN `income` > CAST('52000' AS DOUBLE) AND `age` <= CAST('35' AS DOUBLE) THEN 2 "
            "WHEN `income` > CAST('52000' AS DOUBLE) AND `age` > CAST('35' AS DOUBLE) THEN 0 END",
        ]


class TestNumbersInSQLite:
    def values(self, n=3000):
        rng = np.random.default_rng(0)
        digits = rng.integers(1, 10**16, size=n) // 10 ** rng.integers(0, 16, size=n)
        short = [float(f"{int(d)}e{int(e)}") for d, e in zip(digits, rng.integers(-30, 20, size=n), strict=True)]
        drawn = np.exp(rng.uniform(np.log(1e-320), np.log(1e308), size=n))
        return [v for v in [*short, *drawn.tolist(), 5e-324, 1.7976931348623157e308, 2.0**53, 9e15, 0.1] if v > 0]

    def test_factors_are_exact(self):
        for value in self.values():
            whole, powers, divide = exact_factors(value)
            assert whole < 2**53
            found = float(whole)
            for power in powers:
                assert power <= 2**62
                found = found / power if divide else found * power
            assert found == value

    def test_what_is_called_exact_is_read_as_the_very_same_number(self):
        from cutwise.readouts.words import number

        exact = [value for value in self.values() if sqlite_reads_exactly(value)]
        assert len(exact) > 500
        connection = sqlite3.connect(":memory:")
        for value in exact:
            text = number(value)
            literal = text if any(c in text for c in ".e") else text + ".0"
            assert connection.execute(f"SELECT {literal}").fetchone()[0] == value
        connection.close()

    def test_usual_thresholds_are_written_as_decimals(self):
        for value in (52000, 0.1, 4.95, 2.45, 1e-9, 1700000000.5, 0.0001, 123456.789):
            assert sqlite_reads_exactly(float(value))
        assert "> 4.95" in tree_sql(LabeledTree(made(0, values=[0.1, 4.95]), ["a", "b", "c"]), dialect="sqlite")


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"dialect": "postgresql"}, UnknownOptionError, "Did you mean 'postgres'"),
            ({"form": "selct"}, UnknownOptionError, "'select'"),
            ({"values": "label"}, UnknownOptionError, "'labels'"),
            ({"table": "a.b.c.d"}, InvalidInputError, "one to three parts"),
            ({"table": "a..b"}, InvalidInputError, "one to three parts"),
            ({"table": ()}, InvalidInputError, "one to three parts"),
            ({"table": 5}, InvalidInputError, "one to three parts"),
            ({"view": "", "form": "view"}, InvalidInputError, "not a view name"),
            ({"column": ""}, InvalidInputError, "The name of a column is empty"),
            ({"column": 5}, UnsupportedInputError, "column=5 is not a name. Give a string"),
            ({"nulls": "none"}, UnsupportedInputError, "of type str, and the clusters are of type int"),
            ({"nulls": True}, UnsupportedInputError, "of type bool"),
            ({"nulls": 1}, InvalidInputError, "is a cluster"),
            ({"names": ["income", ""]}, InvalidInputError, "The name of a column is empty"),
            ({"names": ["income", "a\x00"]}, InvalidInputError, "zero character"),
            ({"classes": np.array(["a", "b", "c\x00d"])}, InvalidInputError, "zero character"),
        ],
    )
    def test_with_the_next_step(self, options, error, message):
        given = {"names": ["income", "age"], "dialect": "duckdb", "table": "t", **options}
        with pytest.raises(error, match=message):
            tree_sql(LabeledTree(small_tree(), given.pop("names"), classes=given.pop("classes", None)), **given)

    def test_a_missing_sqlglot_is_named_with_its_extra(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "sqlglot", None)
        with pytest.raises(MissingDependencyError, match=r'needs sqlglot.*pip install "cutwise\[sql\]"'):
            tree_sql(LabeledTree(small_tree(), ["income", "age"]), dialect="duckdb")


def test_quoting_of_the_tests_themselves():
    assert quote('a"b') == '"a""b"'
