"""What is shipped: one version, type information, license, and sources that can be built again."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path

import cutwise

ROOT = Path(__file__).parents[1]


def test_the_version_is_the_same_everywhere():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", cutwise.__version__)
    assert metadata.version("cutwise") == cutwise.__version__
    assert f"\nversion: {cutwise.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_pyproject_states_no_second_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dynamic"] == ["version"]


def test_every_change_that_waits_says_what_kind_it_is():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
    kinds = {kind["directory"] for kind in settings["type"]}
    for fragment in (ROOT / settings["directory"]).iterdir():
        if fragment.name not in ("README.md", *settings["ignore"]):
            # changelog.d/README.md says how to name one.
            assert fragment.name.split(".")[1:] in [[kind, "md"] for kind in kinds]


def test_type_information_is_shipped():
    assert resources.files("cutwise").joinpath("py.typed").is_file()


def test_the_stub_of_the_core_is_that_of_its_bindings():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "stub.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_license_is_bsd_and_shipped():
    assert metadata.metadata("cutwise")["License-Expression"] == "BSD-3-Clause"
    assert "Redistribution and use in source and binary forms" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_cutwise_command_is_installed():
    (command,) = (entry for entry in metadata.entry_points(group="console_scripts") if entry.name == "cutwise")
    assert command.value == "cutwise.cli:main"
