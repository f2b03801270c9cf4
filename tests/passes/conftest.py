import pytest


@pytest.fixture(autouse=True)
def rows_are_gone_over_in_passes(monkeypatch):
    """Trees of small tables grow by passes too; otherwise their rows are held in memory."""
    monkeypatch.setattr("cutwise.passes.rows.LOADED_BYTES", 0)
