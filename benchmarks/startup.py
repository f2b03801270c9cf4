"""What small data and a fresh process cost: a tree for the iris flowers when warm, and ``import cutwise``."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["core_import_ms", "import_seconds", "iris_ms"]


def iris_ms(works: dict[str, Callable[[], Any]], repeats: int = 200) -> dict[str, float]:
    """Median wall milliseconds of calls that take turns, after one untimed call each.

    Parameters
    ----------
    works : dict of str to callable
    repeats : int
        Turns of each.

    Returns
    -------
    medians : dict of str to float
    """
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return {name: 1e3 * float(np.median(values)) for name, values in times.items()}


# Timed inside the new process: starting an interpreter is nobody's import.
_TIMED_IMPORT = """
import time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


def import_seconds(repeats: int = 10) -> dict[str, float]:
    """Median wall seconds of imports, each in a fresh interpreter, taking turns.

    Parameters
    ----------
    repeats : int
        Interpreters started for each statement.

    Returns
    -------
    medians : dict of str to float
        By statement: scikit-learn's cluster module alone, with cutwise, and with the first estimator touched.
    """
    statements = (
        "import sklearn.cluster",
        "import sklearn.cluster; import cutwise",
        "import sklearn.cluster; from cutwise import ExplainableKMeans",
    )
    times: dict[str, list[float]] = {statement: [] for statement in statements}
    for turn in range(repeats + 1):
        for statement in statements:
            code = _TIMED_IMPORT.format(statement=statement)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            if turn:  # the first turn fills the disk cache and writes bytecode
                times[statement].append(float(done.stdout))
    return {statement: float(np.median(values)) for statement, values in times.items()}


def core_import_ms(repeats: int = 5) -> float | None:
    """Median milliseconds of loading the compiled core itself; None when the interpreter does not report it."""
    times = []
    for _ in range(repeats):
        command = [sys.executable, "-X", "importtime", "-c", "import sklearn.cluster; import cutwise.core._core"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = re.search(r"import time:\s+(\d+) \|\s+\d+ \|\s+cutwise\.core\._core\b", done.stderr)
        if found:
            times.append(int(found.group(1)) / 1e3)
    return float(np.median(times)) if times else None
