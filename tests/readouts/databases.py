"""Databases that run the SQL: some inside this process, and servers of PostgreSQL and MariaDB of the tests' own."""

import csv
import datetime as dt
import glob
import io
import math
import os
import pwd
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
import xml.etree.ElementTree
from pathlib import Path

__all__ = ["ClickHouse", "Duck", "Lite", "Maria", "MariaServer", "Postgres", "PostgresServer", "Spark", "quote"]


def quote(name):
    return '"' + name.replace('"', '""') + '"'


class Lite:
    """SQLite, by Python's own module."""

    dialect = "sqlite"
    types = {
        "double": "REAL", "real": "REAL", "integer": "INTEGER", "text": "TEXT", "bool": "INTEGER", "date": "TEXT",
        "time": "TEXT", "instant": "TEXT",
    }  # fmt: skip
    has_nan = False
    answers_in_text = False

    def __init__(self):
        self.connection = sqlite3.connect(":memory:")

    def create(self, table, columns, rows):
        """``columns``: name to type; ``rows``: tuples. Rows are numbered from 0 in a first column, ``row number``."""
        spelled = ", ".join(f"{quote(name)} {self.types[kind]}" for name, kind in columns.items())
        self.connection.execute(f"CREATE TABLE {quote(table)} ({quote('row number')} INTEGER, {spelled})")
        marks = ", ".join("?" * (len(columns) + 1))
        self.connection.executemany(
            f"INSERT INTO {quote(table)} VALUES ({marks})",
            [
                (i, *(cell.isoformat() if isinstance(cell, dt.date) else cell for cell in row))
                for i, row in enumerate(rows)
            ],
        )

    def query(self, sql):
        return self.connection.execute(sql).fetchall()

    def run(self, sql):
        self.connection.execute(sql)

    def close(self):
        self.connection.close()


class Duck(Lite):
    """DuckDB; raises ImportError where it is not installed."""

    dialect = "duckdb"
    types = {"double": "DOUBLE", "real": "REAL", "integer": "BIGINT", "text": "TEXT"}
    has_nan = True

    def __init__(self):
        import duckdb

        self.connection = duckdb.connect(":memory:")

    def create(self, table, columns, rows):
        self.connection.register("given", as_arrow(columns, rows))
        self.connection.execute(f"CREATE TABLE {quote(table)} AS SELECT * FROM given")


def as_arrow(columns, rows):
    """The rows with their numbers: Arrow keeps NaN apart from null, and brings float32 without a detour over text."""
    import pyarrow as pa

    kinds = {"double": pa.float64(), "real": pa.float32(), "integer": pa.int64(), "text": pa.string()}
    kinds |= {"bool": pa.bool_(), "date": pa.date32(), "time": pa.timestamp("us"), "instant": pa.timestamp("us", "UTC")}
    types = [pa.int64(), *(kinds[kind] for kind in columns.values())]
    values = list(zip(*[(i, *row) for i, row in enumerate(rows)], strict=True))
    arrays = [pa.array(column, type=kind) for column, kind in zip(values, types, strict=True)]
    return pa.table(dict(zip(["row number", *columns], arrays, strict=True)))


class ClickHouse:
    """ClickHouse inside this process; raises ImportError where chdb is not installed."""

    dialect = "clickhouse"
    has_nan = True
    answers_in_text = False

    def __init__(self):
        from chdb import session

        self.folder = tempfile.mkdtemp(prefix="ch")
        self.session = session.Session()
        self.session.query("SET max_query_size = 100000000")

    def create(self, table, columns, rows):
        from pyarrow import parquet

        path = Path(self.folder, "given.parquet")
        parquet.write_table(as_arrow(columns, rows), path)
        name = "`" + table.replace("\\", "\\\\").replace("`", "``") + "`"
        updated = "enable_block_number_column = 1, enable_block_offset_column = 1"  # else UPDATE is refused
        engine = f"ENGINE = MergeTree ORDER BY tuple() SETTINGS {updated}"
        self.session.query(f"CREATE TABLE {name} {engine} AS SELECT * FROM file('{path}', Parquet)")

    def query(self, sql):
        found = self.session.query(sql, "ArrowTable")
        return list(zip(*found.to_pydict().values(), strict=True))

    def run(self, sql):
        self.session.query(sql)

    def close(self):
        self.session.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Polars:
    """polars, which runs the SQL of DuckDB as expressions; raises ImportError where it is not installed."""

    dialect = "duckdb"
    has_nan = True
    answers_in_text = False

    def __init__(self):
        import polars

        self.types = {"double": polars.Float64, "real": polars.Float32, "integer": polars.Int64, "text": polars.String}
        self.types |= {"bool": polars.Boolean, "date": polars.Date}
        self.types |= {"time": polars.Datetime("us"), "instant": polars.Datetime("us", "UTC")}
        self.frame, self.context = polars.DataFrame, polars.SQLContext(eager=True)

    def create(self, table, columns, rows):
        schema = {"row number": self.types["integer"], **{name: self.types[kind] for name, kind in columns.items()}}
        numbered = [(i, *row) for i, row in enumerate(rows)]
        self.context.register(table, self.frame(numbered, schema=schema, orient="row"))

    def query(self, sql):
        if not re.search(r"\bELSE\b", sql):  # the first releases of polars ask for it
            sql = re.sub(r"\bEND\b", "ELSE NULL END", sql)
        return self.context.execute(sql).rows()

    def close(self):
        """Nothing is open."""


class Spark:
    """Spark in a process of its own on this machine; raises ImportError where pyspark is not installed."""

    dialect = "spark"
    types = {
        "double": "double",
        "real": "float",
        "integer": "bigint",
        "text": "string",
        "bool": "boolean",
        "date": "date",
        "time": "timestamp_ntz",
        "instant": "timestamp",
    }
    has_nan = True
    answers_in_text = False

    def __init__(self):
        from pyspark.sql import SparkSession

        if shutil.which("java") is None:
            raise ImportError("there is no Java")
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        builder = builder.config(
            "spark.sql.ansi.doubleQuotedIdentifiers", "true"
        )  # as the tests' own queries have them
        self.session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()

    def create(self, table, columns, rows):
        spelled = ", ".join(f"`{name.replace('`', '``')}` {self.types[kind]}" for name, kind in columns.items())
        frame = self.session.createDataFrame(
            [(i, *row) for i, row in enumerate(rows)], f"`row number` bigint, {spelled}"
        )
        frame.createOrReplaceTempView(f"`{table.replace('`', '``')}`")

    def query(self, sql):
        return [tuple(row) for row in self.session.sql(sql).collect()]

    def run(self, sql):
        self.session.sql(sql)

    def close(self):
        """The session is shared; it ends with the process."""


class Postgres:
    """A database on a server; psql is all that is needed to talk to it."""

    dialect = "postgres"
    types = {"double": "double precision", "real": "real", "integer": "bigint", "text": "text"}
    types |= {"bool": "boolean", "date": "date", "time": "timestamp", "instant": "timestamptz"}
    has_nan = True
    answers_in_text = True

    def __init__(self, server):
        self.server = server
        self.schema = f"s{server.count}"
        server.count += 1

    def create(self, table, columns, rows):
        spelled = ", ".join(f"{quote(name)} {self.types[kind]}" for name, kind in columns.items())
        lines = "".join(f"{i}\t" + "\t".join(map(as_copied, row)) + "\n" for i, row in enumerate(rows))
        self.run(
            f"CREATE TABLE {quote(table)} ({quote('row number')} bigint, {spelled});\n"
            f"COPY {quote(table)} FROM STDIN;\n{lines}\\.\n"
        )

    def query(self, sql):
        """Rows as tuples of text; None for NULL."""
        # A form feed cannot be typed by accident: what is quoted, empty or NULL stays apart.
        printed = self._psql(sql, "--csv", "-P", "null=\f")
        lines = list(csv.reader(io.StringIO(printed)))[1:]
        return [tuple(None if cell == "\f" else cell for cell in line) for line in lines]

    def run(self, sql):
        self._psql(sql)

    def _psql(self, sql, *options):
        # Made when it is first needed, and never dropped: every call of a client starts a process.
        own = f"CREATE SCHEMA IF NOT EXISTS {self.schema}; SET search_path TO {self.schema};\n"
        return self.server.psql(f"{own}{sql};\n", *options)

    def close(self):
        """The schema ends with the server."""


def as_copied(value):
    if value is None:
        return r"\N"
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, str):
        return value.replace("\\", r"\\").replace("\t", r"\t").replace("\n", r"\n")
    return value.isoformat() if isinstance(value, dt.date) else repr(value)


class PostgresServer:
    """A server in a temporary folder, reached by a socket there and by nothing else.

    Attributes
    ----------
    lacking : str or None
        Why there is no server, if there is none.
    """

    def __init__(self):
        self.count = 0
        self.folder = None
        self.lacking = self._start()

    def _start(self):
        folders = [shutil.which("initdb") and os.path.dirname(shutil.which("initdb"))]
        folders += sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
        self.programs = next((Path(f) for f in folders if f and Path(f, "postgres").exists()), None)
        if self.programs is None or shutil.which("psql") is None:
            return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
        self.user = {}
        if os.name == "posix" and os.geteuid() == 0:  # the server refuses to run as root
            for name in ("postgres", "nobody"):
                try:
                    pwd.getpwnam(name)
                except KeyError:
                    continue
                self.user = {"user": name}
                break
        # Not pytest's folder: only its owner may enter that one. A short path, for sockets have a limit.
        self.folder = tempfile.mkdtemp(prefix="pg")
        if self.user:
            shutil.chown(self.folder, self.user["user"])
        data = Path(self.folder, "data")
        start = ["-o", f"-k {self.folder} -c listen_addresses= -c fsync=off", "-l", str(Path(self.folder, "log")), "-w"]
        for command in (
            [self.programs / "initdb", "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
            [self.programs / "pg_ctl", "-D", data, *start, "start"],
        ):
            # Files and not pipes: the server inherits them and would keep a pipe open.
            with open(Path(self.folder).with_suffix(".out"), "wb+") as out:
                words = list(map(str, command))
                done = subprocess.run(
                    words, stdout=out, stderr=out, cwd=self.folder, timeout=120, check=False, **self.user
                )
                out.seek(0)
                said = out.read().decode("utf-8", "replace")
            os.unlink(Path(self.folder).with_suffix(".out"))
            if done.returncode:
                reason = f"PostgreSQL does not start here: {' '.join(said.split())[-300:]}"
                self.stop()
                return reason
        return None

    def psql(self, script, *options):
        done = subprocess.run(
            ["psql", "-X", "-q", "-h", self.folder, "-U", "tests", "-d", "postgres", "-v", "ON_ERROR_STOP=1", *options],
            input=script,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
            env={**os.environ, "PGCLIENTENCODING": "UTF8", "PGOPTIONS": "-c client_min_messages=warning"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self):
        if self.folder is None:
            return
        data = Path(self.folder, "data")
        if (data / "postmaster.pid").exists():
            subprocess.run(
                [str(self.programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop"],
                stdout=subprocess.DEVNULL,
                cwd=self.folder,
                check=False,
                timeout=60,
                **self.user,
            )
        shutil.rmtree(self.folder, ignore_errors=True)


class Maria(Lite):
    """A database on a server; the client of the command line is all that is needed to talk to it."""

    dialect = "mysql"
    types = {"double": "double", "real": "float", "integer": "bigint", "text": "varchar(200) character set utf8mb4"}
    types |= {"bool": "boolean", "date": "date", "time": "datetime(6)", "instant": "timestamp(6) null"}
    has_nan = False
    answers_in_text = True

    def __init__(self, server):
        self.server = server
        self.name = f"t{server.count}"
        server.count += 1

    def create(self, table, columns, rows):
        spelled = ", ".join(f"{quote(name)} {self.types[kind]}" for name, kind in columns.items())
        numbered = (", ".join(map(as_mysql, (i, *row))) for i, row in enumerate(rows))
        values = ",\n".join(f"({row})" for row in numbered)
        create = f"CREATE TABLE {quote(table)} ({quote('row number')} bigint, {spelled});\n"
        self.run(f"{create}INSERT INTO {quote(table)} VALUES {values};\n")

    def query(self, sql):
        """Rows as tuples of text; None for NULL."""
        printed = xml.etree.ElementTree.fromstring(self.run(sql, "--xml"))
        nil = "{http://www.w3.org/2001/XMLSchema-instance}nil"
        return [tuple(None if nil in field.attrib else field.text or "" for field in row) for row in printed]

    def run(self, sql, *options):
        own = f"CREATE DATABASE IF NOT EXISTS {self.name}; USE {self.name};\n"
        return self.server.client(own + sql, *options)

    def close(self):
        """The database ends with the server."""


def as_mysql(value):
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"_utf8mb4 X'{value.encode().hex()}'"
    if isinstance(value, float) and "e" not in repr(value):
        return f"{value!r}e0"  # else it would be a decimal
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return f"FROM_UNIXTIME({value.timestamp():.6f})"
    return f"'{value}'" if isinstance(value, dt.date) else repr(value)


class MariaServer:
    """A server in a temporary folder, reached by a socket there and by nothing else.

    Attributes
    ----------
    lacking : str or None
        Why there is no server, if there is none.
    """

    def __init__(self):
        self.count = 0
        self.folder = self.process = None
        self.lacking = self._start()

    def _start(self):
        if not all(map(shutil.which, ("mariadb-install-db", "mariadbd", "mariadb"))):
            return "MariaDB is not installed (Debian: apt-get install mariadb-server)"
        self.folder = tempfile.mkdtemp(prefix="my")
        own = [f"--datadir={self.folder}/data", f"--user={'mysql' if os.geteuid() == 0 else os.environ['USER']}"]
        if os.geteuid() == 0:
            shutil.chown(self.folder, "mysql")
        socket = f"--socket={self.folder}/socket"
        with open(Path(self.folder, "log"), "wb") as log:
            install = ["mariadb-install-db", "--no-defaults", *own, "--auth-root-authentication-method=normal"]
            subprocess.run(install, stdout=log, stderr=log, timeout=120, check=False)
            serve = ["mariadbd", "--no-defaults", *own, socket, "--skip-networking", "--innodb-flush-method=nosync"]
            self.process = subprocess.Popen(serve, stdout=log, stderr=log)
        for _ in range(300):
            if self.process.poll() is not None:
                break
            try:
                self.client("SELECT 1")
            except AssertionError:
                time.sleep(0.1)
            else:
                return None
        reason = f"MariaDB does not start here: {Path(self.folder, 'log').read_text()[-300:]}"
        self.stop()
        return reason

    def client(self, script, *options):
        command = ["mariadb", "--no-defaults", f"--socket={self.folder}/socket", "--user=root"]
        settings = "SET sql_mode='ANSI_QUOTES', time_zone='-07:00'"
        done = subprocess.run(
            [*command, "--default-character-set=utf8mb4", f"--init-command={settings}", *options],
            input=script,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
