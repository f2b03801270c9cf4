"""``python -m cutwise``: the command line, also where the ``cutwise`` program is not on the PATH."""

import sys

from cutwise.cli import main

if __name__ == "__main__":
    sys.exit(main())
