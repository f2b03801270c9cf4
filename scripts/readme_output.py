"""Run the README's command and Python examples, and put what they print into it (after a change that moves them).

``tests/test_readme.py`` compares the two. Needs an environment with cutwise installed, such as .venv-test.
"""

import contextlib
import io
import re
import shlex
from pathlib import Path

from cutwise.cli import main

PAGE = Path(__file__).parents[1] / "README.md"
COMMAND = re.compile(r"(?<=```\n)\$ (cutwise [^\n]*)\n(.*?)(?=```)", flags=re.DOTALL)
PYTHON = re.compile(r"(```python\n)(.*?)(```\n\n```\n)(.*?)(?=```)", flags=re.DOTALL)


def fresh(page: str) -> str:
    """The page with what its examples print now; later examples see the names of earlier ones."""
    names: dict[str, object] = {}

    def command(found: re.Match[str]) -> str:
        return f"$ {found[1]}\n{printed(lambda: main(shlex.split(found[1])[1:]))}"

    def python(found: re.Match[str]) -> str:
        return found[1] + found[2] + found[3] + printed(lambda: exec(compile(found[2], PAGE.name, "exec"), names))

    return PYTHON.sub(python, COMMAND.sub(command, page))


def printed(job) -> str:
    """What a job prints on standard output."""
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen):
        job()
    return screen.getvalue()


if __name__ == "__main__":
    PAGE.write_text(fresh(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
