"""The source map of CONTRIBUTING.md, made of the first sentence of every source file.

``python3 scripts/source_map.py`` brings it up to date; with ``--check`` it changes nothing and fails when it is not.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "cutwise"
PAGE = ROOT / "CONTRIBUTING.md"
START, END = "<!-- map: scripts/source_map.py -->\n", "<!-- end of map -->\n"

# From the innermost to the outermost, as imports go.
ORDER = [
    "exceptions.py",
    "core",
    "table",
    "reference",
    "split",
    "tree",
    "readouts",
    "metrics.py",
    "estimators",
    "baselines",
    "datasets",
    "bench",
    "cli",
]
CORE_ORDER = ["base", "encoding", "nodes", "cuts", "clustering", "optimal_cut"]


def source_map() -> str:
    """The map: a heading a folder, a line a file."""
    entries = {path.name: path for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    first = [name for name in ORDER if name in entries]
    lines = []
    loose = [entries[name] for name in [*first, *sorted(entries.keys() - set(first))] if entries[name].is_file()]
    packages = [entries[name] for name in [*first, *sorted(entries.keys() - set(first))] if entries[name].is_dir()]
    for folder in [PACKAGE, *(part for package in packages for part in [package, *folders_of_cpp(package)])]:
        files = loose
        if folder != PACKAGE:
            files = sorted(folder.rglob("*.py")) + sorted(folder.glob("*.[ch]pp"))
        says = next(page for name in ("__init__.py", "README.md") if (page := folder / name).exists())
        lines += ["", f"**`{folder.relative_to(PACKAGE.parent).as_posix()}/`** {sentence_of(says)}", ""]
        told = {}
        for path in files:
            name = path.relative_to(folder).as_posix()
            if path.name == "__init__.py":
                continue
            told.setdefault(re.sub(r"\.[ch]pp$", "", name), []).append(path)
        for paths in told.values():
            names = ", ".join(f"`{path.relative_to(folder).as_posix()}`" for path in paths)
            lines.append(f"- {names}: {next(filter(None, map(sentence_of, paths)), '(says nothing of itself)')}")
    return "\n".join([*lines, "", ""])


def folders_of_cpp(package: Path) -> list[Path]:
    """Folders of C++ below a package, from the innermost to the outermost; what each is for stands in its README.md."""
    found = {path.parent for path in package.rglob("*.[ch]pp")} - {package}
    return sorted(found, key=lambda folder: (CORE_ORDER.index(folder.name), folder))


def sentence_of(path: Path) -> str:
    """The first sentence of a module's docstring, of the first comment of a C++ file, or of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        told = text
    elif path.suffix == ".py":
        told = ast.get_docstring(ast.parse(text)) or ""
    else:
        found = re.match(r"(?:#pragma once\s*)?((?://[^\n]*\n)+)", text)
        told = re.sub(r"(?m)^// ?", "", found.group(1)) if found else ""
    paragraph = " ".join(told.split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s+(?=[A-Z])", paragraph)[0].replace("``", "`")


def main() -> None:
    """Write the map into the page, or compare the two."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    after = rest.split(END)[1]
    fresh = before + START + source_map() + END + after
    if "--check" in sys.argv[1:]:
        sys.exit(
            0 if fresh == page else "CONTRIBUTING.md: the source map is out of date. Run: python3 scripts/source_map.py"
        )
    PAGE.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main()
