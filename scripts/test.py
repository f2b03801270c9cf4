"""Set cutwise and everything its tests need up in ``.venv-test`` and run the tests, but for those marked as slow.

Needs Python 3.11 or newer, a C++ compiler and access to PyPI; nothing outside the checkout is changed.
With a wheel in the environment variable ``CUTWISE_WHEEL`` that is tested, and no compiler is needed.
Arguments are handed to pytest: ``python3 scripts/test.py tests/cli -k parquet``; ``-n auto -m slow``
runs the slow ones.
"""

import os
import sys

from _environment import group, install, install_what_there_is, make_environment, run, say


def main():
    """Install, then test the installed package (not the source folder), one worker per core."""
    programs = make_environment(".venv-test")
    install(programs, "pip>=25.1")  # the first to know dependency groups
    install(programs, os.environ.get("CUTWISE_WHEEL", ".") + "[all]", "--group", "test")
    install_what_there_is(programs, group("interop"))
    # Neighbors go to one worker, so that what a file shares is made once.
    arguments = sys.argv[1:] or ["-n", "auto", "--dist", "worksteal", "-m", "not slow"]
    say("running pytest " + " ".join(arguments))
    # One thread per worker: numpy's and scikit-learn's own pools would only fight the other workers for the cores.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # Some tests start processes, and each would compile scikit-learn anew where nothing compiled may be kept.
    kept = {"PYTHONDONTWRITEBYTECODE": ""}
    run([os.path.join(programs, "python"), "-m", "pytest", *arguments], env={**threads, **os.environ, **kept})


if __name__ == "__main__":
    main()
