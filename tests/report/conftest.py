"""A Chromium of the system's, driven by playwright; without either the tests in it are skipped, and say why."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def chromium():
    """A running browser without a window."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on the PATH (Debian: apt-get install chromium)")
    # Its sandbox refuses to run as root, and containers often lack a large /dev/shm.
    options = ["--disable-dev-shm-usage"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=options)
        yield browser
        browser.close()


class Page:
    """A report opened from its file, and all that the browser said about it."""

    def __init__(self, browser, path, *, width=1280, height=900, **context):
        self.context = browser.new_context(viewport={"width": width, "height": height}, **context)
        self.page = self.context.new_page()
        self.said, self.requests = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def css(self, selector, name):
        return self.page.eval_on_selector(selector, f"e => getComputedStyle(e).{name}")

    @property
    def overflow(self):
        """Pixels that the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    @property
    def shown(self):
        """Lines of the tree that can be seen."""
        return self.page.locator(".node:visible").count()


@pytest.fixture
def opened(chromium):
    """Open a file; whatever was opened must not have made the browser say or ask for anything."""
    pages = []

    def open_file(path, **options):
        pages.append(Page(chromium, path, **options))
        return pages[-1]

    yield open_file
    for page in pages:
        said, asked = page.said, page.requests
        page.context.close()
        assert said == []
        assert len(asked) == 1
        assert asked[0].startswith("file://")
