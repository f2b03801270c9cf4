"""What the README and the documentation show is what happens: their examples run and print what stands there."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("pandas")  # the examples take scikit-learn's data as frames

from cutwise.exceptions import MissingDependencyError

ROOT = Path(__file__).parents[1]


def load_script():
    spec = importlib.util.spec_from_file_location("page_outputs", ROOT / "scripts" / "page_outputs.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


SCRIPT = load_script()


@pytest.mark.parametrize("page", SCRIPT.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_print_what_the_page_shows(page, tmp_path, monkeypatch):
    # `python scripts/page_outputs.py` writes what is printed now.
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    try:
        fresh = SCRIPT.fresh(page)
    except MissingDependencyError as error:
        pytest.skip(str(error))
    assert fresh.splitlines() == page.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("page", ["index.md", "start.md", "howto/report.md", "howto/compare.md"])
def test_commands_of_the_first_pages_run_as_typed(page, tmp_path, monkeypatch, capsys):
    for needed in ("typer", "jinja2", "sqlglot"):
        pytest.importorskip(needed)
    from cutwise.cli import main

    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    commands = [shlex.split(line[2:]) for line in text.splitlines() if line.startswith(("$ cutwise ", "$ python -c "))]
    assert commands
    for program, *words in commands:
        if program == "python":
            exec(words[1], {})
        else:
            assert main(words) == 0, capsys.readouterr().err


def test_the_readme_shows_the_command_line_and_python():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(SCRIPT.COMMAND.findall(page)) == 1
    assert len(SCRIPT.PYTHON.findall(page)) == len(re.findall("```text", page)) >= 4


@pytest.mark.parametrize("experiment", ["shallow", "search"])
def test_the_table_of_evidence_is_the_one_that_the_benchmark_made(experiment):
    summary = (ROOT / "docs" / "evidence" / experiment / "summary.txt").read_text(encoding="utf-8")
    assert summary in (ROOT / "README.md").read_text(encoding="utf-8")
