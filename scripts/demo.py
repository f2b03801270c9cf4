"""Set cutwise up in ``.venv-demo`` and run its command line: by default ``cutwise fit --example wine``.

Needs Python 3.11 or newer, a C++ compiler and access to PyPI; nothing outside the checkout is changed.
With a wheel in the environment variable ``CUTWISE_WHEEL`` that is shown, and no compiler is needed.
Arguments are handed to the ``cutwise`` command: ``python3 scripts/demo.py fit mydata.csv -k 4``.
"""

import os
import subprocess
import sys

from _environment import install, make_environment, say


def main():
    """Install, then run the command line where the user stands, so that relative file names mean what they say."""
    programs = make_environment(".venv-demo")
    wheel = os.environ.get("CUTWISE_WHEEL")
    if not wheel:
        say("compiling the core takes a minute or two the first time")
    install(programs, (wheel or ".") + "[cli]")
    arguments = sys.argv[1:] or ["fit", "--example", "wine"]
    say("running cutwise " + " ".join(arguments))
    sys.exit(subprocess.run([os.path.join(programs, "cutwise"), *arguments], check=False).returncode)


if __name__ == "__main__":
    main()
