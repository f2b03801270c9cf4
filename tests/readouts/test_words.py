"""Numbers, names and shares as they are printed."""

import math
import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cutwise.readouts.shown import ShortNames, html_text, plain
from cutwise.readouts.words import number, percent, quoted, rows, table_notes
from tests.each import each
from tests.readouts.reading import tokens

NASTY = [
    "petal length (cm)",
    "a`b",
    "``",
    "`",
    "",
    " ",
    "x <= 3 and y",
    "and",
    "OR",
    "any",
    "inf",
    "nan",
    "1e5",
    "2",
    "x'y\"z",
    "naïve",
    "年齢",
    "two\nlines",
    "tab\there",
    "back\\slash",
    "\\n",
    "\\",
    "\u2028",
    "\x00",
    ".a",
    "a.",
    "a.b",
    "-x",
    "🙂",
]


@each(
    "value, text",
    [
        (52000.0, "52000"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (1e-9, "1e-09"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e15, "1000000000000000"),
        (1.7e18, "1.7e+18"),
        (-9.007199254740995e16, "-90071992547409950"),
        (1.8446744073709552e19, "1.8446744073709552e+19"),
        (5e-324, "5e-324"),
        (0.1 + 0.2, "0.30000000000000004"),
        (3, "3"),
    ],
)
def test_numbers_are_written_as_people_write_them(value, text):
    assert number(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_parse_back_to_the_very_same_float(value):
    assert float(number(value)) == value
    assert tokens(number(value)) == [("number", value)]


@each("name", ["age", "petal_length", "_x", "x0", "petal.length", "größe", "Ärger_2"])
def test_plain_names_stay_as_they_are(name):
    assert quoted(name) == name


@each("name", NASTY)
def test_other_names_are_quoted_on_one_line_and_read_back(name):
    text = quoted(name)
    assert text.isprintable()
    assert tokens(text) == [("name", name)]


@given(st.text())
@example("\\x00\x00")
def test_every_name_reads_back_and_no_two_look_alike(name):
    assert tokens(quoted(name)) == [("name", name)]


@pytest.mark.parametrize(
    ("label", "text"), [(3, "3"), (-2, "-2"), (True, "True"), (2.0, "2.0"), ("young, rich", "`young, rich`")]
)
def test_labels_that_are_no_text_are_written_as_python_does(label, text):
    assert quoted(label) == text


@each(
    "share, text",
    [
        (0.275, "27.5 %"),
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.9999, ">99.9 %"),
        (0.0001, "<0.1 %"),
        (0.0006, "0.1 %"),
        (0.5, "50.0 %"),
        (math.nan, "n/a"),
    ],
)
def test_shares_claim_all_or_nothing_only_where_it_is_true(share, text):
    assert percent(share) == text


def test_names_from_right_to_left_stand_apart_in_html():
    name, level = "\u05d2\u05d9\u05dc", "\u0635\u0641"
    for text, parts in (
        (f"7 < {name} <= 20 and b = {level}", [name, level]),
        (f"{name} {level} 2 \u2264 3", [f"{name} {level} 2"]),
        (
            f"`{name} <= 3` > 5 and `a b` <= 3 and {level} in {{{name}, x, {level}}}",
            [f"`{name} <= 3`", level, name, level],
        ),
        ("`a` > 3 and b <= 4", []),
    ):
        shown = html_text(text)
        assert re.findall("<bdi>(.*?)</bdi>", unescape(shown)) == parts
        assert unescape(re.sub("</?bdi>", "", shown)) == text


def test_names_are_shown_on_one_line_without_control_characters():
    assert [plain("a\tb \n c"), plain("beep\x07"), plain("年齢")] == ["a b c", "beep\\x07", "年齢"]


@each("between", [" ", ""])
def test_short_names_that_differ_in_the_middle_keep_what_tells_them_apart(between):
    names = [
        between.join(["average", "distance", word, "in", "town", "by", "year"]) for word in ("traveled", "travelex")
    ]
    short = ShortNames(names)
    for length in range(12, 24):
        found = [short(i, length) for i in range(2)]
        assert found[0] != found[1]
        assert max(map(len, found)) <= length


def test_notes_below_a_table_say_only_what_is_known():
    assert table_notes([1.0, 1.2], math.nan, "squares") == []
    assert len(table_notes([0.9], 0.5, "squares")) == 2


def test_rows_are_counted_in_words():
    assert [rows(n) for n in (0, 1, 2, 1514999)] == ["0 rows", "1 row", "2 rows", "1,514,999 rows"]
