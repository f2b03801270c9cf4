"""Write ``src/cutwise/core/_core.pyi`` from the compiled core: signatures and docstrings as nanobind has them.

Run it after a change to a binding; with ``--check`` it changes nothing and exits 1 where the file is out of date.
Arrays are written without what nanobind says of their memory (order, device): all of the core's are C-contiguous.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

import cutwise.core._core as core

STUB = Path(__file__).parents[1] / "src" / "cutwise" / "core" / "_core.pyi"
HEADER = "# Written by scripts/stub.py from the compiled core, and checked by the tests: change the bindings instead.\n"


def stub() -> str:
    """The text of the stub."""
    generator = StubGen(core)
    generator.put(core)
    array = re.compile(r"Annotated\[(NDArray(?:\[[\w.]+\])?), dict\([^()]*(?:\([^()]*\)[^()]*)?\)\]")
    text = re.sub(r"\bNDArray\b(?![\[\n])", "NDArray[numpy.generic]", array.sub(r"\1", generator.get()))
    text = text.replace("from typing import Annotated, overload", "from typing import overload")
    lines = [line for plain in text.splitlines() for line in folded(plain)]
    return HEADER + re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def folded(line: str, width: int = 120) -> list[str]:
    """A line, one argument a line where it is a definition that is too long."""
    definition = re.fullmatch(r"( *def \w+\()(.*)(\) -> .*)", line)
    if len(line) <= width or definition is None:
        return [line]
    head, arguments, end = definition.groups()
    indent = " " * (len(head) - len(head.lstrip()))
    arguments = re.split(r", (?=\w+: )", arguments)
    return [head, *(f"{indent}    {argument}," for argument in arguments), indent + end]


if __name__ == "__main__":
    if "--check" not in sys.argv:
        STUB.write_text(stub(), encoding="utf-8")
    elif STUB.read_text(encoding="utf-8") != stub():
        sys.exit(f"{STUB.name} is not what the compiled core says: run scripts/stub.py, and commit it")
