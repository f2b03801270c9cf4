"""What the pages of the documentation tell readers to type runs as it stands."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from cutwise import ExplainableKMeans
from cutwise.exceptions import MissingDependencyError

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PAGES = sorted(
    page
    for page in (ROOT / "docs").rglob("*.md")
    if not {"_build", "gallery", "generated"} & set(page.relative_to(ROOT).parts) and BLOCK.search(page.read_text())
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_every_python_example_of_the_page_runs(page, tmp_path, monkeypatch, capsys):
    if "plot" in page.read_text():
        pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in BLOCK.findall(page.read_text(encoding="utf-8")):
        try:
            exec(compile(code, str(page), "exec"), names)
        except MissingDependencyError as error:
            pytest.skip(str(error))


def test_every_page_is_reachable_from_the_index():
    pages = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    pages = {page for page in pages if not page.startswith(("_build", "gallery", "generated")) and "README" not in page}
    reached = {"index"}
    frontier = ["index"]
    while frontier:
        page = frontier.pop()
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, flags=re.DOTALL):
            for line in tree.splitlines():
                target = (Path(page).parent / line.strip()).as_posix()
                if line and not line.startswith(":") and target in pages - reached:
                    reached.add(target)
                    frontier.append(target)
    assert pages == reached


def test_the_api_pages_leave_out_private_names_and_those_of_scikit_learn():
    pytest.importorskip("docutils")
    conf = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    skips = conf["_skip_what_scikit_learn_documents"]
    told = {
        name: skips(None, "class", name, getattr(ExplainableKMeans, name), False, None)
        for name in ("fit", "_finish", "get_params", "set_fit_request")
    }
    assert told == {"fit": None, "_finish": None, "get_params": True, "set_fit_request": True}
