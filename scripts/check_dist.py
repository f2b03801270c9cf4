"""Build the source archive and, from it alone, the wheel; check what both hold and that the wheel works on its own.

Uses ``build`` from the interpreter's environment; leaves the archives in ``dist``.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


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


def main() -> None:
    """Build, look inside, install the wheel alone and fit a tree with it."""
    shutil.rmtree(DIST, ignore_errors=True)
    # `build` makes the wheel from the unpacked source archive: proof that the archive is complete.
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], check=True, stdout=subprocess.DEVNULL
    )
    (source,) = DIST.glob("*.tar.gz")
    (wheel,) = DIST.glob("*.whl")
    check_source(source)
    check_wheel(wheel)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel)], check=True)
        program = (
            "import cutwise; X = [[1.0, 5], [2, 5], [8, 5], [9, 5]];"
            "print(cutwise.ExplainableKMeans(n_clusters=2, random_state=0).fit_predict(X).tolist())"
        )
        printed = subprocess.run([python, "-c", program], cwd=folder, capture_output=True, text=True, check=True).stdout
        assert printed.strip() in ("[0, 0, 1, 1]", "[1, 1, 0, 0]"), printed
    print("the wheel alone, with only its declared dependencies, fits a tree")


if __name__ == "__main__":
    main()
