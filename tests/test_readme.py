"""What the README shows is what happens: its code and its command are run, and the printed lines are compared."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("pandas")  # the examples take scikit-learn's data as frames

ROOT = Path(__file__).parents[1]


def test_the_examples_print_what_the_readme_shows():
    # `python scripts/readme_output.py` writes what is printed now.
    spec = importlib.util.spec_from_file_location("readme_output", ROOT / "scripts" / "readme_output.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = script.PAGE.read_text(encoding="utf-8")
    assert len(script.COMMAND.findall(page)) == 1
    assert len(script.PYTHON.findall(page)) == page.count("```python") == 4
    assert script.fresh(page).splitlines() == page.splitlines()


def test_the_table_of_evidence_is_the_one_that_the_benchmark_made():
    summary = (ROOT / "docs" / "evidence" / "shallow" / "summary.txt").read_text(encoding="utf-8")
    assert summary in (ROOT / "README.md").read_text(encoding="utf-8")
