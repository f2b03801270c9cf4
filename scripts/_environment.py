"""Make a virtual environment in the checkout and install cutwise into it; standard library only.

Written so that a Python too old for cutwise can still read it and say so.
"""

import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = (3, 11)
COMPILERS = ("c++", "g++", "clang++", "cl")


def check_machine():
    """Stop with one sentence when Python is too old or no C++ compiler is in sight."""
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:2]))
        sys.exit(
            f"cutwise needs Python 3.11 or newer, and {sys.executable} is Python {found}: call this with a newer one."
        )
    if os.environ.get("CUTWISE_WHEEL"):
        return
    if not os.environ.get("CXX") and not any(shutil.which(name) for name in COMPILERS) and os.name != "nt":
        sys.exit(
            f"cutwise needs a C++17 compiler, and none of {', '.join(COMPILERS)} is on the PATH. "
            "On Debian or Ubuntu: apt-get install g++; on macOS: xcode-select --install."
        )


def make_environment(name):
    """Create the virtual environment ``name`` in the checkout unless it is there; return the folder of its programs."""
    check_machine()
    folder = os.path.join(ROOT, name)
    programs = os.path.join(folder, "Scripts" if os.name == "nt" else "bin")
    if not os.path.exists(os.path.join(programs, "pip.exe" if os.name == "nt" else "pip")):
        say("creating the virtual environment " + name)
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=False)
        if made.returncode:
            sys.exit(
                "Python could not create a virtual environment. On Debian or Ubuntu: apt-get install python3-venv."
            )
    return programs


def install(programs, *wanted):
    """Install; ``wanted`` are the arguments of ``pip install``. By uv, in a tenth of pip's time, where there is one."""
    say("installing " + " ".join(wanted))
    # A build folder of its own for every environment: two of them may be made at the same time.
    build = "--config-settings=build-dir=build/" + os.path.basename(os.path.dirname(programs)).lstrip(".")
    if not install_by_uv(programs, [build, *wanted]):
        run([*pip_install(programs), build, *wanted])


def install_what_there_is(programs, wanted):
    """Install packages that tests can do without, as ready-made wheels; together, or one by one if that fails."""
    say("installing " + " ".join(wanted))
    if install_wheels(programs, wanted):
        return
    for package in wanted:
        if not install_wheels(programs, [package]):
            say("leaving out " + package + ", which has no wheel for this machine")


def install_wheels(programs, wanted):
    """Install wheels, without building anything; say whether that worked."""
    wheels = ["--only-binary", ":all:", *wanted]
    return install_by_uv(programs, wheels) or quietly([*pip_install(programs), *wheels])


def install_by_uv(programs, wanted):
    """Install with uv; say whether that worked."""
    python = os.path.join(programs, "python")
    found = quietly([python, "-c", "import uv"]) or quietly([*pip_install(programs), "--only-binary", ":all:", "uv"])
    return found and quietly([python, "-m", "uv", "pip", "install", "--quiet", "--python", python, *wanted])


def pip_install(programs):
    """The command that installs with pip."""
    return [os.path.join(programs, "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def quietly(command):
    """Run a command in the checkout without its errors; say whether it worked."""
    return subprocess.run(command, cwd=ROOT, check=False, stderr=subprocess.DEVNULL).returncode == 0


def group(name):
    """The requirements of a dependency group of pyproject.toml."""
    import tomllib  # not known to a Python that is too old, which has been told so before

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        return tomllib.load(file)["dependency-groups"][name]


def run(command, **more):
    """Run a command in the checkout; end with its exit code when it fails."""
    code = subprocess.run(command, cwd=ROOT, check=False, **more).returncode
    if code:
        sys.exit(code)


def say(what):
    """Tell on standard error what is being done."""
    sys.stderr.write(f"cutwise: {what} ...\n")
    sys.stderr.flush()
