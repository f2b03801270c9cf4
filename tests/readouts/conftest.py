"""The databases, each in its own fixture: a test names one, or runs on all of them by ``database``."""

import pytest

from tests.readouts.databases import ClickHouse, Duck, Lite, Maria, MariaServer, Polars, Postgres, PostgresServer, Spark


@pytest.fixture(scope="session")
def postgres_server():
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def maria_server():
    server = MariaServer()
    yield server
    server.stop()


@pytest.fixture(params=["duckdb", "sqlite", "postgres", "mariadb", "polars", "spark", "clickhouse"])
def database(request):
    if request.param == "duckdb":
        pytest.importorskip("duckdb")
        pytest.importorskip("pyarrow")
        opened = Duck()
    elif request.param == "sqlite":
        opened = Lite()
    elif request.param == "polars":
        pytest.importorskip("polars")
        opened = Polars()
    elif request.param == "clickhouse":
        pytest.importorskip("chdb")
        opened = ClickHouse()
    elif request.param == "spark":
        try:
            opened = Spark()
        except ImportError as error:
            pytest.skip(
                f"Spark cannot run here: {error} (pip install pyspark; Debian: apt-get install default-jre-headless)"
            )
    else:
        named, of_server = {"postgres": ("postgres_server", Postgres), "mariadb": ("maria_server", Maria)}[
            request.param
        ]
        server = request.getfixturevalue(named)
        if server.lacking:
            pytest.skip(server.lacking)
        opened = of_server(server)
    yield opened
    opened.close()
