"""The report opened in a real browser, from its file, and used by mouse and keyboard."""

import copy

import numpy as np
import pandas as pd
import pytest

import cutwise
from cutwise import ClusterExplainer
from cutwise.estimators import Report
from tests.report.made import made, nasty

pytest.importorskip("jinja2", reason="jinja2 is not installed")
pytestmark = pytest.mark.slow

SIZES = {
    "2 clusters": lambda: made(2)[2],
    "8 clusters": lambda: made(8, extra=4)[2],
    "30 clusters": lambda: made(30)[2],
    "30 clusters, long names": lambda: made(30, long=True, extra=10, algorithm="imm")[2],
    "nasty names": lambda: nasty()[2],
}


@pytest.fixture
def page_of(opened, tmp_path):
    def open_report(report, **options):
        path = tmp_path / "report.html"
        report.save(path)
        return opened(path, **options)

    return open_report


@pytest.mark.parametrize(
    ("size", "width"),
    [(size, width) for size in SIZES for width in (375, 1280)]
    + [("30 clusters, long names", width) for width in (320, 768, 2200)],
)
def test_it_fits_every_screen(page_of, size, width):
    page = page_of(SIZES[size](), width=width)
    # Two clusters far apart gain nothing from a third leaf; a single point is no curve.
    has_curve = len(SIZES[size]().summary["curve"]["n_leaves"]) > 1
    assert has_curve or size in ("2 clusters", "nasty names")
    assert page.page.locator("svg.curve").count() == has_curve
    assert page.overflow <= 0
    assert page.page.evaluate(
        """[...document.querySelectorAll("figure")].every(figure => {
          const box = figure.getBoundingClientRect(), chart = figure.querySelector("svg")
          const cut = getComputedStyle(chart).overflow === "visible" ? box : chart.getBoundingClientRect()
          return [...chart.querySelectorAll("text")].map(text => text.getBoundingClientRect()).every(text =>
            text.top >= cut.top && text.left >= cut.left && text.right <= cut.right && text.bottom <= cut.bottom)
        })"""
    )
    assert page.page.title() == SIZES[size]().summary["title"]


def test_signs_keep_their_sides_beside_names_that_are_written_from_right_to_left(page_of):
    age, town, second = "\u05d2\u05d9\u05dc", "\u05e2\u05d9\u05e8", "\u05e9\u05e0\u05d9"
    table = pd.DataFrame({age: np.arange(30.0), town: ["\u05d0", "\u05d1", "\u05d2"] * 10})
    within = (table[age] > 7) & (table[age] <= 20) & (table[town] != "\u05d0")
    model = ClusterExplainer(max_leaves=4).fit(table, np.where(within, second, "other"))
    page = page_of(cutwise.report(model, table)).page
    # Where the parts of a condition are drawn: its names, and what stands between them.
    places = page.eval_on_selector_all(
        f"#cluster-{list(model.classes_).index(second)} .rule code > span",
        """spans => spans.map(span => [...span.childNodes].map(node => {
            const range = document.createRange(); range.selectNodeContents(node);
            return range.getBoundingClientRect().x }))""",
    )
    assert len(places) == 2
    for of_condition in places:
        assert len(of_condition) >= 3
        assert of_condition == sorted(of_condition)


def test_no_bar_covers_a_heading(page_of):
    page = page_of(SIZES["8 clusters"](), width=390, height=844, reduced_motion="reduce")
    top_of = "e => { const box = e.getBoundingClientRect(); return [box.top, box.bottom] }"

    def box(selector):
        return page.page.eval_on_selector(selector, top_of)

    def apart(one, other):
        return one[1] <= other[0] or other[1] <= one[0]

    for link in page.page.locator("nav a").all():
        assert link.bounding_box()["x"] + link.bounding_box()["width"] <= 390
        link.click()
        section = link.get_attribute("href")
        assert box(f"{section} h2")[0] >= box("nav")[1] - 1, section
    # The line below the tree sticks to the window's lower edge, and moves over the tree alone.
    for y in range(0, int(page.page.evaluate("document.body.scrollHeight")), 40):
        page.page.evaluate(f"window.scrollTo(0, {y})")
        for passed in ("#tree h2", "#tree .hint", "#clusters h2"):
            assert apart(box("#peek"), box(passed)), (y, passed)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_systems_light_or_dark_and_the_switch_turns_it(page_of, scheme):
    page = page_of(made(8, extra=4)[2], color_scheme=scheme)

    def is_dark():
        red, green, blue = (int(part) for part in page.css("body", "backgroundColor")[4:-1].split(",")[:3])
        return red + green + blue < 200

    assert is_dark() == (scheme == "dark")
    switch = page.page.locator("#theme")
    assert switch.get_attribute("aria-pressed") == str(scheme == "dark").lower()
    switch.click()
    assert is_dark() == (scheme == "light")
    assert switch.get_attribute("aria-pressed") == str(scheme == "light").lower()
    switch.press("Enter")
    assert is_dark() == (scheme == "dark")


class TestTheTree:
    @pytest.fixture
    def page(self, page_of):
        return page_of(made(8, extra=4)[2])

    def test_it_opens_and_closes_by_mouse(self, page):
        everything = page.shown
        assert everything == 2 * made(8, extra=4)[0].n_leaves_ - 1
        root = page.page.locator(".node").first
        root.click()
        assert page.shown == 1
        assert root.get_attribute("aria-expanded") == "false"
        root.click()
        assert page.shown == everything
        page.page.click("#close-all")
        assert page.shown == 1
        page.page.click("#open-all")
        assert page.shown == everything

    def test_what_was_closed_inside_stays_closed_when_its_parent_opens_again(self, page):
        inner = page.page.locator('.node[aria-expanded][aria-level="2"]').first
        inner.click()
        some = page.shown
        page.page.locator(".node").first.click()
        page.page.locator(".node").first.click()
        assert page.shown == some

    def test_it_opens_and_closes_by_keyboard(self, page):
        everything = page.shown
        focused = "document.activeElement.dataset.level + ' ' + document.activeElement.className"
        page.page.locator(".node").first.focus()
        page.page.keyboard.press("ArrowLeft")
        assert page.shown == 1
        page.page.keyboard.press("ArrowRight")
        assert page.shown == everything
        page.page.keyboard.press("ArrowRight")
        assert page.page.evaluate(focused).startswith("1 ")
        page.page.keyboard.press("ArrowUp")
        page.page.keyboard.press("Enter")
        assert page.shown == 1
        page.page.keyboard.press(" ")
        assert page.shown == everything
        page.page.keyboard.press("End")
        assert "leaf" in page.page.evaluate(focused)
        page.page.keyboard.press("ArrowLeft")
        assert "leaf" not in page.page.evaluate(focused)
        page.page.keyboard.press("Home")
        assert page.page.evaluate(focused).startswith("0 ")
        page.page.keyboard.press("ArrowDown")
        assert page.page.evaluate(focused).startswith("1 ")

    def test_one_line_takes_part_in_tabbing(self, page):
        assert page.page.locator('.node[tabindex="0"]').count() == 1
        page.page.locator(".node").nth(3).click()
        assert page.page.locator('.node[tabindex="0"]').count() == 1

    def test_pointing_and_focus_tell_rows_and_share(self, page):
        told = made(8, extra=4)[2].summary["tree"]
        peek = page.page.locator("#peek")
        page.page.locator(".node").nth(2).hover()
        assert f"{told[2]['rows']} rows" in peek.inner_text()
        assert f"{told[1]['shown']} and {told[2]['shown']}" in peek.inner_text()
        leaf = next(node for node in told if node["cluster"] is not None)
        page.page.locator(".node").nth(leaf["node"]).focus()
        assert f"{leaf['rows']} rows" in peek.inner_text()
        assert leaf["path"] in peek.inner_text()
        assert "% of all" in peek.inner_text()


def with_sql(report):
    """The same report with a statement that every browser must copy whole."""
    summary = copy.deepcopy(report.summary)
    summary["sql"] = {
        "dialect": "duckdb",
        "statement": 'SELECT *, CASE WHEN "a<b>&$1" <= 1.5 THEN 0 END AS cluster\nFROM "t"',
        "before": "WITH c AS (\n",
        "after": [f"\n)\nSELECT * FROM c WHERE cluster = {code} -- '\"<&" for code in range(len(summary["clusters"]))],
    }
    return Report(summary)


class TestCopying:
    def wait(self, page, selector, text):
        page.page.locator(selector, has_text=text).wait_for(timeout=5000)

    def clipboard(self, page):
        return page.page.evaluate("navigator.clipboard.readText()")

    @pytest.fixture
    def page(self, page_of):
        return page_of(with_sql(made(8, extra=4)[2]), permissions=["clipboard-read", "clipboard-write"])

    def test_a_card_copies_the_rows_of_its_cluster(self, page):
        sql = with_sql(made(8, extra=4)[2]).summary["sql"]
        button = page.page.locator("#cluster-2 button.copy")
        button.click()
        self.wait(page, "#cluster-2 button.copy", "Copied")
        assert self.clipboard(page) == sql["before"] + sql["statement"] + sql["after"][2]
        assert page.page.locator("#said").inner_text() == "Copied"
        self.wait(page, "#cluster-2 button.copy", "Copy SQL")

    def test_the_section_copies_the_statement(self, page):
        page.page.locator("#sql button.copy").focus()
        page.page.keyboard.press("Enter")
        self.wait(page, "#sql button.copy", "Copied")
        assert self.clipboard(page) == with_sql(made(8, extra=4)[2]).summary["sql"]["statement"]

    def test_without_the_clipboards_interface_the_old_way_copies(self, page):
        page.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})")
        page.page.locator("#sql button.copy").click()
        self.wait(page, "#sql button.copy", "Copied")
        page.page.evaluate("delete navigator.clipboard")
        assert self.clipboard(page) == with_sql(made(8, extra=4)[2]).summary["sql"]["statement"]

    def test_where_nothing_may_be_copied_the_text_is_selected(self, page):
        page.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        page.page.evaluate("document.execCommand = () => false")
        page.page.locator("#sql button.copy").click()
        self.wait(page, "#sql button.copy", "Select it below")
        selected = page.page.evaluate("String(getSelection())")
        assert selected.split() == with_sql(made(8, extra=4)[2]).summary["sql"]["statement"].split()


def test_names_that_look_like_markup_are_read_as_text(page_of):
    _, _, report = nasty()
    page = page_of(report)
    assert page.page.locator("h1").inner_text() == "<script>alert(1)</script>"
    assert page.page.locator("img").count() == 0
    assert page.page.locator("script").count() == 1
    shown = page.page.locator("main").inner_text()
    assert "<b>bold</b>" in shown
    assert "{{ 7 * 7 }}" in shown
    for i in range(page.page.locator(".node").count()):
        page.page.locator(".node").nth(i).hover()
    assert page.page.locator("#peek img, #peek script").count() == 0


def test_paper_shows_everything_and_no_switches(page_of):
    page = page_of(with_sql(made(8, extra=4)[2]), color_scheme="dark")
    statement = page.page.locator("#statement")
    assert not statement.is_visible()
    page.page.locator(".node").first.click()
    assert page.shown == 1
    page.page.emulate_media(media="print")
    assert page.shown == 2 * made(8, extra=4)[0].n_leaves_ - 1
    assert not page.page.locator("#theme").is_visible()
    assert not page.page.locator("nav").is_visible()
    assert page.css("body", "color") == "rgb(0, 0, 0)"
    assert page.css("body", "backgroundColor") == "rgb(255, 255, 255)"
    page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert statement.is_visible()
    assert page.page.locator(".tile .big").first.bounding_box()["height"] < 40
    assert not page.page.locator("#said").is_visible()  # it took a page of its own
    page.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not statement.is_visible()
    assert len(page.page.pdf(format="A4")) > 10_000


def test_without_script_everything_is_open_and_nothing_asks_for_it(page_of):
    page = page_of(with_sql(made(8, extra=4)[2]), java_script_enabled=False)
    assert page.page.locator("#statement").is_visible()
    assert page.shown == 2 * made(8, extra=4)[0].n_leaves_ - 1
    assert page.page.locator("button:visible").count() == 0
    assert not page.page.locator("#peek").is_visible()


def test_pictures_have_names(page_of):
    page = page_of(made(8, extra=4)[2])
    names = page.page.eval_on_selector_all("svg", "all => all.map(s => s.getAttribute('aria-label') || s.textContent)")
    assert len(names) == 8 * 6 + 1
    assert all(names)
    assert "Cost ratio by number of leaves" in names[-1]


@pytest.mark.parametrize("name", ["x" * 200, "many words " * 20])
def test_a_long_name_is_wrapped_in_the_table_of_a_notebook_and_leaves_short_ones_whole(opened, tmp_path, name):
    model = copy.deepcopy(made(2)[0]).name_clusters({0: name, 1: "students"})
    (tmp_path / "rules.html").write_text(model.rules()._repr_html_(), "utf-8")
    page = opened(tmp_path / "rules.html", width=900)
    assert page.page.eval_on_selector(".cutwise", "e => e.scrollWidth - e.clientWidth") <= 0
    long, short = page.page.eval_on_selector_all("td span", "spans => spans.map(e => e.getClientRects()[0].height)")
    assert long > 3 * short
    assert short < 30
