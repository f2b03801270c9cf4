"""Pictures are drawn without a screen, and closed after every test."""

import pytest


@pytest.fixture(autouse=True)
def _no_screen():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    before = matplotlib.get_backend()
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")
    matplotlib.use(before)
