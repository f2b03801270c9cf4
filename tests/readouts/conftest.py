"""The databases, each in its own fixture: a test names one, or runs on all of them by ``database``."""

import pytest

from tests.readouts.databases import Duck, Lite, Postgres, PostgresServer


@pytest.fixture(scope="session")
def postgres_server():
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def database(request):
    if request.param == "duckdb":
        pytest.importorskip("duckdb")
        pytest.importorskip("pyarrow")
        opened = Duck()
    elif request.param == "sqlite":
        opened = Lite()
    else:
        server = request.getfixturevalue("postgres_server")
        if server.lacking:
            pytest.skip(server.lacking)
        opened = Postgres(server)
    yield opened
    opened.close()
