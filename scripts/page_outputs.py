"""Run the examples of the README and of the documentation's pages, and put what they print below them.

After a change that moves what is printed: ``python scripts/page_outputs.py``, and read the difference before it is
committed; arguments name pages. ``tests/test_pages.py`` compares. Needs cutwise installed, as in .venv-test.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from cutwise.cli import main

ROOT = Path(__file__).parents[1]
MADE = {"_build", "gallery", "generated"}  # by the build of the documentation
# A command at the top of a fence with its output below it; a Python block with the block of its output, if it has one.
COMMAND = re.compile(r"(?<=```\n)\$ (cutwise [^\n]*)\n(.*?)(?=```)", flags=re.DOTALL)
PYTHON = re.compile(r"^(```python\n(.*?)^```\n)(?:\n```(?:text)?\n.*?^```\n)?", flags=re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """The README and the documentation's pages that have Python examples."""
    found = [ROOT / "README.md"]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if not MADE & set(page.relative_to(ROOT).parts) and PYTHON.search(page.read_text(encoding="utf-8")):
            found.append(page)
    return found


def fresh(page: Path) -> str:
    """The page's text with what its examples print now; later examples see the names of earlier ones.

    Runs in the working directory, in which examples may write files.
    """
    names: dict[str, object] = {}

    def command(found: re.Match[str]) -> str:
        return f"$ {found[1]}\n{printed(lambda: main(shlex.split(found[1])[1:]))}"

    def python(found: re.Match[str]) -> str:
        output = printed(lambda: exec(compile(found[2], page.name, "exec"), names))
        return found[1] + (f"\n```text\n{output.rstrip()}\n```\n" if output.strip() else "")

    return PYTHON.sub(python, COMMAND.sub(command, page.read_text(encoding="utf-8")))


def printed(job) -> str:
    """What a job prints on standard output."""
    screen = io.StringIO()
    with contextlib.redirect_stdout(screen):
        job()
    return screen.getvalue()


if __name__ == "__main__":
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or pages()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ.setdefault("MPLBACKEND", "agg")
        for page in chosen:
            page.write_text(fresh(page), encoding="utf-8")
