"""Settings every test shares."""

import gc
import os
import shutil
import tempfile

from hypothesis import settings

# How long an example takes depends on what else the machine does; a property holds or fails whatever the time. The same
# code is always shown the same examples; `pytest --hypothesis-profile=random` draws others.
settings.register_profile("cutwise", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("cutwise")

compiled = None
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    # Or each of the processes that tests start would compile all that it imports: seconds, where the test takes none.
    compiled = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="cutwise-tests-")


def pytest_collection_finish():
    """Looking for garbage among all that is imported and collected would take a sixth of the time of the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure():
    if compiled is not None:
        shutil.rmtree(compiled, ignore_errors=True)
