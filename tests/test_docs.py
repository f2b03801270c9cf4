"""The pages of the documentation are all there and say no more than they should."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from cutwise import ExplainableKMeans

ROOT = Path(__file__).parents[1]


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


def test_the_api_pages_leave_out_private_names_those_of_scikit_learn_and_parameters():
    pytest.importorskip("docutils")
    conf = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    skips = conf["_skip_what_is_documented_elsewhere"]
    told = {
        name: skips(None, "class", name, getattr(ExplainableKMeans, name), False, None)
        for name in ("fit", "_publish", "get_params", "set_fit_request", "inertia_", "n_init", "max_depth")
    }
    kept = {"fit": None, "_publish": None, "inertia_": None}
    assert told == {**kept, "get_params": True, "set_fit_request": True, "n_init": True, "max_depth": True}
