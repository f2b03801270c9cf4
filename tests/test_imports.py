"""The import contract: packages see only those to their left, and ``import cutwise`` stays light."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import cutwise

PACKAGE = Path(__file__).parents[1] / "src" / "cutwise"

# From the innermost to the outermost; a name may import from lines above its own, and from itself.
LAYERS = [
    {"exceptions"},
    {"_docs", "_progress", "_whole"},
    {"core"},
    {"table"},
    {"reference"},
    {"tree"},
    {"passes"},
    {"readouts"},
    {"estimators", "datasets"},
    {"metrics", "baselines", "spark"},
    {"plot"},
    {"__init__"},
    {"bench"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

SOURCES = sorted(PACKAGE.rglob("*.py"))


# The folders of the C++ core, and what each may include beside itself.
CORE = {
    "base": set(),
    "encoding": {"base"},
    "nodes": {"base", "encoding"},
    "cuts": {"base", "encoding", "nodes"},
    "clustering": {"base"},
    "optimal_cut": {"base"},
    "refine": {"base"},
}


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def module_of(path: Path) -> str:
    """Its name below cutwise: ``table.arrays``; a package is its ``__init__``, the outermost one is empty."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Line and name below cutwise of all that a file imports from it, also in functions and for type checkers."""
    package = ("cutwise", *path.relative_to(PACKAGE).parts[:-1])
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            base += node.module.split(".") if node.module else []
            names = [".".join([*base, alias.name]) for alias in node.names]
        else:
            continue
        found += [(node.lineno, name.partition(".")[2]) for name in names if f"{name}.".startswith("cutwise.")]
    return found


def imported_layers(path: Path) -> Iterator[tuple[int, str]]:
    """Line and layer of every import of a part of cutwise in a file."""
    for line, name in imports(path):
        part = name.split(".")[0]
        # `from cutwise import ExplainableKMeans` asks the package's front door, not a layer of that name.
        yield line, part if part in RANK or (part and (PACKAGE / part).exists()) else "__init__"


def test_the_check_sees_every_source_file():
    assert PACKAGE / "__init__.py" in SOURCES
    assert PACKAGE / "core" / "__init__.py" in SOURCES


def test_imports_point_one_way():
    assert {layer_of(path) for path in SOURCES} <= RANK.keys(), "a part without a place in the order: add it to LAYERS"
    wrong = [
        f"{path.relative_to(PACKAGE)}, line {line}: {layer_of(path)} must not import {other}"
        for path in SOURCES
        for line, other in imported_layers(path)
        if other != layer_of(path) and (other not in RANK or RANK[other] >= RANK[layer_of(path)])
    ]
    assert not wrong


def test_no_modules_import_each_other_in_a_circle():
    modules = {module_of(path): path for path in SOURCES}
    imported = {
        module: {name if name in modules else name.rpartition(".")[0] for _, name in imports(path)}
        & modules.keys() - {module}
        for module, path in modules.items()
    }
    # A module is free once all that it imports is: what is never free stands in a circle, or on one.
    left = dict(imported)
    while free := {module for module, others in left.items() if not others & left.keys()}:
        left = {module: others for module, others in left.items() if module not in free}
    circles = {module: sorted(others & left.keys()) for module, others in left.items()}
    assert not circles


def test_nobody_outside_a_package_uses_its_private_names():
    found = set()
    for path in SOURCES:
        module = module_of(path)
        for _, name in imports(path):
            parts = name.split(".")
            for n, part in enumerate(parts):
                private = part.startswith("_") and not part.startswith("__")
                if private and not f"{module}.".startswith(".".join([*parts[:n], ""]) if n else ""):
                    found.add((module, ".".join(parts[: n + 1])))
    assert not found


def test_includes_of_the_core_point_one_way():
    core = PACKAGE / "core"
    folders = {path.parent.name for path in core.rglob("*.[ch]pp") if path.parent != core}
    assert folders == CORE.keys()
    wrong = []
    for path in core.rglob("*.[ch]pp"):
        # The module itself, beside the folders, binds them all.
        seen = set(CORE) if path.parent == core else CORE[path.parent.name] | {path.parent.name}
        for included in re.findall(r'(?m)^#include "(.*)"', path.read_text(encoding="utf-8")):
            if included.split("/")[0] not in seen or not (core / included).is_file():
                wrong.append(f"{path.relative_to(core)} includes {included}")
    assert not wrong


def test_the_check_recognizes_each_way_to_write_an_import(tmp_path, monkeypatch):
    source = tmp_path / "readouts" / "text.py"
    source.parent.mkdir()
    (tmp_path / "estimators").mkdir()
    source.write_text(
        "import cutwise.estimators\n"
        "from cutwise.estimators import x\n"
        "from cutwise import estimators\n"
        "from ..estimators import x\n"
        "from .. import estimators\n"
        "def f():\n    from cutwise.estimators._base import x\n"
        "from cutwise import ExplainableKMeans\n"
        "from .rules import x\n"
        "import numpy\n"
    )
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    found = dict(imported_layers(source))
    assert found == {**dict.fromkeys([1, 2, 3, 4, 5, 7], "estimators"), 8: "__init__", 9: "readouts"}


def names_by_source(pattern: str) -> dict[str, set[str]]:
    """Constants and classes that stand outside of others, each with the sources of the core that define one."""
    found: dict[str, set[str]] = {}
    for source in sorted((PACKAGE / "core").rglob(pattern)):
        text = source.read_text(encoding="utf-8")
        for name in re.findall(r"^(?:constexpr [\w:]+|struct|class) (\w+)(?= = | \{| : )", text, re.MULTILINE):
            found.setdefault(name, set()).add(source.name)
    return found


def test_sources_of_the_core_can_be_compiled_together():  # as they are for the sanitizers and for other systems
    names = names_by_source("*.cpp")
    assert len(names) > 80
    assert not {name: sources for name, sources in names.items() if len(sources) > 1}


HEAVY = {
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "typer",
    "click",
    "rich",
    "jinja2",
    "sqlglot",
    "lightgbm",
    "sklearn.ensemble",
    "sklearn.datasets",
    "sklearn.model_selection",
    "cutwise.cli",
}


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_cutwise_loads_no_optional_package():
    assert not modules_after("import cutwise") & HEAVY


def test_a_help_text_or_a_shells_proposal_loads_neither_scikit_learn_nor_a_package_for_tables():
    loaded = modules_after("import cutwise.cli.app")
    assert not loaded & {"sklearn", "joblib", "scipy.optimize", "scipy.stats", "pandas", "polars", "pyarrow"}


def test_looking_at_the_pictures_imports_no_matplotlib():
    assert "matplotlib" not in modules_after("import cutwise; cutwise.plot.TreeDisplay")


def test_every_public_name_resolves():
    for name in getattr(cutwise, "__all__", []):
        assert getattr(cutwise, name) is not None
