"""How the documentation is built: ``sphinx-build -W docs docs/_build/html``. Examples and figures run while it is."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from urllib.request import urlopen

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

import cutwise

ROOT = Path(__file__).parents[1]
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Homepage"]
# The figures of some pages share helpers.
sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Two examples use tables that nobody bundles: from this folder, beside the checkout or named, or from the network.
if (beside := ROOT.parent / "shared" / "data").is_dir():
    os.environ.setdefault("CUTWISE_DATA", str(beside))

project = "cutwise"
author = "The cutwise developers"
project_copyright = f"2026, {author}"
release = version = cutwise.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
]
exclude_patterns = ["_build", "**/README.md", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.py.md5"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_mock_imports = ["pyspark"]  # cutwise.spark is shown where it is not installed
autodoc_typehints = "none"  # types are in the docstrings, with shapes and units
autodoc_default_options = {"members": True, "inherited-members": "BaseEstimator"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# References to other projects need their inventories; a build without network must work, so they are opt-in.
if os.environ.get("CUTWISE_DOCS_INTERSPHINX"):
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False
plot_formats = [("png", 120)]
plot_rcparams = {"figure.figsize": (7, 4), "savefig.bbox": "tight"}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"__init__\.py",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "show_memory": False,
    "within_subsection_order": "FileNameSortKey",
}
# What an example warns of belongs on its page, not in the log of the build.
warnings.filterwarnings("ignore", module="sphinx_gallery")

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"cutwise {version}"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["cutwise.css"]
html_theme_options = {
    "source_repository": REPOSITORY,
    "source_branch": "main",
    "source_directory": "docs/",
    "footer_icons": [{"name": "Source", "url": REPOSITORY, "html": "Source", "class": ""}],
}
html_copy_source = False
html_show_sourcelink = False


def _skip_what_is_documented_elsewhere(app, what, name, obj, skip, options):
    """Methods that scikit-learn gives every estimator, and parameters, which their classes describe."""
    home = getattr(obj, "__module__", None) or ""
    theirs = home.startswith("sklearn") or (name.startswith("set_") and name.endswith("_request"))
    is_default = what in ("class", "attribute") and isinstance(obj, int | float | str | None)
    # None leaves it to Sphinx; False would put every private name on the page.
    return True if theirs or is_default else None


def _leave_out_examples_without_data(app, config):
    """A build without network works: an example whose table is in no folder and cannot be fetched is left out."""
    try:
        if "CUTWISE_DATA" not in os.environ:
            urlopen("https://archive.ics.uci.edu", timeout=30).close()
    except OSError:
        config.sphinx_gallery_conf["ignore_pattern"] = r"(__init__|plot_customers)\.py"


def _gather_unreleased_changes(app, config):
    """What waits in ``changelog.d/`` for the next release, as the page of changes includes it."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "Next", "--date", "not yet released"]
    draft = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    page = Path(__file__).parent / "_build" / "unreleased.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(draft, encoding="utf-8")


def _inline_math(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise SkipNode


def _block_math(translator, node):
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise SkipNode


def setup(app):
    """Sphinx's hook."""
    # MathML needs no script from elsewhere: pages read the same without a network.
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
    app.connect("config-inited", _gather_unreleased_changes)
    app.connect("config-inited", _leave_out_examples_without_data, priority=1)  # before the gallery reads it
    app.connect("autodoc-skip-member", _skip_what_is_documented_elsewhere)
