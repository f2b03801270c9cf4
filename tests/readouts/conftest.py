"""The databases, each in its own fixture: a test names one, or runs on all of them by ``database``."""

import pytest

from tests.readouts.databases import Duck, Lite, Polars, Postgres, PostgresServer, Spark


@pytest.fixture(scope="session")
def postgres_server():
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(params=["duckdb", "sqlite", "postgres", "polars", "spark"])
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
    elif request.param == "spark":
        try:
            opened = Spark()
        except ImportError as error:
            pytest.skip(
                f"Spark cannot run here: {error} (pip install pyspark; Debian: apt-get install default-jre-headless)"
            )
    else:
        server = request.getfixturevalue("postgres_server")
        if server.lacking:
            pytest.skip(server.lacking)
        opened = Postgres(server)
    yield opened
    opened.close()
