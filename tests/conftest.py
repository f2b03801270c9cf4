"""Settings every test shares."""

import gc
import os
import sys

from hypothesis import settings

# How long an example takes depends on what else the machine does; a property holds or fails whatever the time. The same
# code is always shown the same examples; `pytest --hypothesis-profile=random` draws others.
settings.register_profile("cutwise", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("cutwise")


def pytest_configure(config):
    """Where nothing may be compiled beside its source, do it apart: each process would compile all that it imports."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(config.rootpath / ".pytest_cache" / "compiled")


def pytest_collection_finish():
    """Looking for garbage among all that is imported and collected would take a sixth of the time of the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
