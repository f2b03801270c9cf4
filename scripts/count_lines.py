"""How large the source is: lines of code, files, the longest file, and docstrings beside Python code, against limits.

Code is what is left without docstrings, comments and blank lines; what scripts/stub.py writes does not count. With
``--check`` the script exits 1 where a limit is broken.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"

MOST_CODE = 28_000
MOST_FILES = 215
MOST_LINES_OF_A_FILE = 850
MOST_DOCSTRINGS = 0.35  # lines of docstrings for a line of Python code


def count_python(text: str) -> tuple[int, int]:
    """Lines of code, and lines of docstrings."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        # A string that stands alone: a docstring, or what follows an attribute to describe it.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or 0) + 1))
    code: set[int] = set()
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in silent:
            code.update(range(token.start[0], token.end[0] + 1))
    blank = {number for number, line in enumerate(text.splitlines(), 1) if not line.strip()}
    return len(code - docstrings - blank), len(docstrings)


def count_cpp(text: str) -> tuple[int, int]:
    """Lines of code, and lines of the raw strings that document bindings."""
    docstrings = re.findall(r'R"\((.*?)\)"', text, flags=re.DOTALL)
    text = re.sub(r'R"\(.*?\)"', '""', text, flags=re.DOTALL)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    code = sum(bool(re.sub(r"//.*", "", line).strip()) for line in text.splitlines())
    return code, sum(len(docstring.splitlines()) for docstring in docstrings)


def main() -> None:
    rows: dict[str, list[int]] = {}  # language: files, code, docstrings
    longest, n_longest = Path(), 0
    folders: dict[str, list[int]] = {}
    for path in sorted(SOURCE.rglob("*")):
        count = {".py": count_python, ".cpp": count_cpp, ".hpp": count_cpp}.get(path.suffix)
        if count is None:
            continue
        text = path.read_text(encoding="utf-8")
        code, docstrings = count(text)
        folder = path.relative_to(SOURCE / "cutwise").parts[0] if path.parent != SOURCE / "cutwise" else "."
        language = "Python" if path.suffix == ".py" else "C++"
        for totals in (rows.setdefault(language, [0, 0, 0]), folders.setdefault(f"{folder} ({language})", [0, 0, 0])):
            totals[:] = totals[0] + 1, totals[1] + code, totals[2] + docstrings
        if (n := len(text.splitlines())) > n_longest:
            longest, n_longest = path.relative_to(SOURCE), n

    print(f"{'':24}{'files':>7}{'code':>8}{'a file':>8}{'docstrings':>12}{'/ code':>8}")
    for name, (files, code, docstrings) in [*sorted(folders.items()), *rows.items()]:
        share = docstrings / max(code, 1)
        print(f"{name:24}{files:7}{code:8}{code / files:8.0f}{docstrings:12}{share:8.2f}")
    figures = {
        "lines of code": (sum(row[1] for row in rows.values()), MOST_CODE),
        "files": (sum(row[0] for row in rows.values()), MOST_FILES),
        f"lines of the longest file ({longest.as_posix()})": (n_longest, MOST_LINES_OF_A_FILE),
        "docstrings / Python code": (round(rows["Python"][2] / rows["Python"][1], 3), MOST_DOCSTRINGS),
    }
    print()
    for name, (found, most) in figures.items():
        print(f"{name}: {found}, at most {most}{'' if found <= most else '  <- too much'}")
    if "--check" in sys.argv and any(found > most for found, most in figures.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
