"""Compile every C++ source for systems that are not at hand: macOS on arm64, Windows, Linux with musl.

Uses the compiler in the package ``ziglang`` (``pip install --group portability``), which knows the headers of these
systems; nothing is linked or run. Warnings are errors. Arguments name targets; without any, all are tried.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copytree

import nanobind

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "cutwise" / "core"
TARGETS = ("aarch64-macos", "x86_64-windows-gnu", "aarch64-linux-musl")
N_PARTS = 2  # of the sources, compiled at a time
FLAGS = ["-std=c++17", "-O0", "-fno-sanitize=undefined", "-Wall", "-Wextra", "-Wshadow", "-Werror"]

# Python's headers describe the machine they were installed on; this is what those for Windows say of the same things.
WINDOWS = """
#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
#define NT_THREADS
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_TIME_T 8
#define HAVE_STDDEF_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_PY_SSIZE_T 1
typedef long long Py_ssize_t;
#define PY_SSIZE_T_MAX 0x7fffffffffffffffLL
"""


def python_headers(target, folder):
    """A folder with Python's headers as they are on the target."""
    headers = Path(folder, target)
    copytree(sysconfig.get_path("include"), headers)
    if "windows" in target:
        (headers / "pyconfig.h").write_text(WINDOWS)
    return headers


def compiler(target, headers):
    """The command that compiles for the target, up to the names of files."""
    system = ["-isystem", nanobind.include_dir(), "-isystem", str(headers), "-I", str(CORE)]
    return [sys.executable, "-m", "ziglang", "c++", "-target", target, *FLAGS, *system]


def compile_together(sources, command, place):
    """What the compiler says of some sources, read as one: most of its work is in the headers that they share."""
    together = place.with_suffix(".cpp")
    together.write_text("".join(f'#include "{source}"\n' for source in sources))
    command = [*command, "-c", str(together), "-o", str(place.with_suffix(".o"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def main():
    """Compile everything, print what fails, and end with 1 if something did."""
    targets = sys.argv[1:] or TARGETS
    sources = sorted(CORE.rglob("*.cpp"))
    failed = False
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        said = {}
        for target in targets:
            command = compiler(target, python_headers(target, folder))
            said[target] = [
                pool.submit(compile_together, sources[part::N_PARTS], command, Path(folder, f"{target}-{part}"))
                for part in range(N_PARTS)
            ]
        for target, parts in said.items():
            text = "\n".join(filter(None, (part.result() for part in parts)))
            print(
                f"{target}: {'not all' if text else 'all'} of {len(sources)} sources compile\n{text}".rstrip(),
                flush=True,
            )
            failed = failed or bool(text)
    sys.exit(failed)


if __name__ == "__main__":
    main()
