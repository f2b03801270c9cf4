"""Files as people have them: what stands in their cells is read for what it is, and what was decided is said."""

import io
import zipfile
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from cutwise.cli.cells import find_decimal
from cutwise.cli.tables import read_source
from cutwise.exceptions import InvalidInputError
from tests.each import each

NAN = np.nan
EITHER = "dates that may have day or month first (write them like 2024-12-31)"
OF_NONE = "dates that do not all have the same part first (write them like 2024-12-31)"
OTHERWISE = "dates that are not all written like 2024-12-31 are read as text"


@pytest.fixture
def read(tmp_path, capsys):
    """Read a text from a file; gives the source and what was said on the way."""

    def from_file(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_source(str(path)), capsys.readouterr().err

    return from_file


@each(
    "cells, expected, said",
    [
        (["1", "?", "3"], [1, NAN, 3], "'?' in 1 cell is read as missing"),
        (
            ["1", "-", "NA", "n/a"],
            [1, NAN, NAN, NAN],
            "'-' in 1 cell, 'NA' in 1 cell, 'n/a' in 1 cell is read as missing",
        ),
        (["#DIV/0!", "2", "null", "3"], [NAN, 2, NAN, 3], "'#DIV/0!' in 1 cell, 'null' in 1 cell is read as missing"),
        (["1.5", "", "2"], [1.5, NAN, 2], ""),
        (["?", "a", "b"], ["?", "a", "b"], ""),
        (["NA", "a", "b"], [NAN, "a", "b"], "'NA' in 1 cell is read as missing"),
        (["None", "a", "null"], [NAN, "a", NAN], "'None' in 1 cell, 'null' in 1 cell is read as missing"),
        (["1,234", "56", "7,890,123.5"], [1234, 56, 7890123.5], "',' separates thousands"),
        (["1'234", "5"], [1234, 5], '"\'" separates thousands'),
        (["1\u2009234", "5"], [1234, 5], "'\\u2009' separates thousands"),
        (["$1,200", "$5", "-$3"], [1200, 5, -3], "',' separates thousands; '$' is ignored"),
        (["12 €", "(3 €)"], [12, -3], "'€' is ignored; numbers in brackets are negative"),
        (["EUR 5", "7"], [5, 7], "'EUR' is ignored"),
        (["€5", "$7"], ["€5", "$7"], ""),
        (["12 %", "3.5%"], [12, 3.5], "numbers are percentages"),
        (["12 %", "3.5"], ["12 %", "3.5"], ""),
        (["(63)", "5"], [-63, 5], "numbers in brackets are negative"),
        (["(-63)", "5"], ["(-63)", "5"], ""),
        (
            ["$(1,263.50)", "$5"],
            [-1263.5, 5],
            "',' separates thousands; '$' is ignored; numbers in brackets are negative",
        ),
        (["$($63)", "$5"], ["$($63)", "$5"], ""),
        (["yes", "No", "yes"], [True, False, True], "yes is true, no is false"),
        (["y", "n", "?"], [1, 0, NAN], "'?' in 1 cell is read as missing; y is true, n is false"),
        (["True", "False"], [True, False], ""),
        (["00123", "45678"], ["00123", "45678"], "codes with leading zeros are kept as text"),
        (["07", "12"], [7, 12], ""),
        (["0.001", "10"], [0.001, 10], ""),
        (["0.30660619938070951", "?"], [0.30660619938070951, NAN], "'?' in 1 cell is read as missing"),
        (["9007199254740993", "-"], [9007199254740992, NAN], "'-' in 1 cell is read as missing"),
        (["1_000", "2"], ["1_000", "2"], ""),
        (["3 kg", "4"], ["3 kg", "4"], ""),
        (["2020-01-02", "2020-01-03 04:05"], [datetime(2020, 1, 2), datetime(2020, 1, 3, 4, 5)], "read as dates"),
        (["2020/01/02", "2020/01/03 04:05:06"], [datetime(2020, 1, 2), datetime(2020, 1, 3, 4, 5, 6)], "read as dates"),
        (
            ["2020-01-02T03:04Z", "2020-01-02T03:04+01:00"],
            [datetime(2020, 1, 2, 3, 4, tzinfo=UTC), datetime(2020, 1, 2, 2, 4, tzinfo=UTC)],
            "read as instants, in UTC",
        ),
        (
            ["21.10.2017", "3.4.2017", "2017-05-06", "?"],
            [datetime(2017, 10, 21), datetime(2017, 4, 3), datetime(2017, 5, 6), NAN],
            "'?' in 1 cell is read as missing; read as dates, the day first",
        ),
        (
            ["10/21/2017 8:05 PM", "3/4/2017 12:30:01 am", "3/4/2017, 12:00 p.m."],
            [datetime(2017, 10, 21, 20, 5), datetime(2017, 3, 4, 0, 30, 1), datetime(2017, 3, 4, 12)],
            "read as dates, the month first",
        ),
        (
            ["21.10.68", "3.4.69"],
            [datetime(2068, 10, 21), datetime(1969, 4, 3)],
            "read as dates, the day first, years from 1969 to 2068",
        ),
        (["1.10.2017", "3.4.2017"], [datetime(2017, 10, 1), datetime(2017, 4, 3)], "read as dates, the day first"),
        (
            ["12-Mar-21", "1 sept 1998"],
            [datetime(2021, 3, 12), datetime(1998, 9, 1)],
            "read as dates, the day first, years from 1969 to 2068",
        ),
        (
            ["Jan 1 2000", "February 29, 2000 8:05 PM", "01MAY2000", "2000-06-01"],
            [datetime(2000, 1, 1), datetime(2000, 2, 29, 20, 5), datetime(2000, 5, 1), datetime(2000, 6, 1)],
            "read as dates",
        ),
        (
            ["21.10.17", "3.4.17"],
            [datetime(2017, 10, 21), datetime(2017, 4, 3)],
            "read as dates, the day first, years from 1969 to 2068",
        ),
        (
            ["10/31/98 8:05 PM", "3/4/07 12:30 am"],
            [datetime(1998, 10, 31, 20, 5), datetime(2007, 3, 4, 0, 30)],
            "read as dates, the month first, years from 1969 to 2068",
        ),
        (
            ["98-10-31", "07-03-04"],
            [datetime(1998, 10, 31), datetime(2007, 3, 4)],
            "read as dates, the year first, years from 1969 to 2068",
        ),
        (
            ["21-10-2017T08:00+02:00", "01-02-2017 08:00z"],
            [datetime(2017, 10, 21, 6, tzinfo=UTC), datetime(2017, 2, 1, 8, tzinfo=UTC)],
            "read as instants, in UTC, the day first",
        ),
        *(
            (cells, [NAN if cell == "NA" else cell for cell in cells], said)
            for cells, said in (
                (["1/2/2017", "12/12/2017"], f"{EITHER} are read as text"),
                (["1/2/2017", "NA", "NA"], f"'NA' in 2 cells is read as missing; {EITHER} are read as text"),
                (["13/2/2017", "2/13/2017"], f"{OF_NONE} are read as text"),
                (["30.1.2017", "30.2.2017"], "dates, but '30.2.2017' is not one, are read as text"),
                (
                    ["10/21/2017 8:05 AM", "1/2/2017 13:05 PM"],
                    "dates, but '1/2/2017 13:05 PM' is not one, are read as text",
                ),
                (["21-10-17", "03-04-17"], EITHER.replace("month", "year") + " are read as text"),
                (["1/2/17", "1/3/32"], f"{EITHER} are read as text"),
                (["1/2/17", "32/3/32"], f"{OF_NONE} are read as text"),
                (["21.10.2017", "3.4.17"], OTHERWISE),
                (["2020-01-02T03:04Z", "2020-01-02T03:04"], OTHERWISE),
                (["21.10.2017", "soon"], ""),
                (["12 apples 20", "Mar 21", "may 2021"], ""),
            )
        ),
        (["-", "-"], [NAN, NAN], "'-' in 2 cells is read as missing"),
        (["none", "low", "None"], ["none", "low", NAN], "'None' in 1 cell is read as missing"),
        (["none", "2"], [NAN, 2], "'none' in 1 cell is read as missing"),
        (
            ["1 days 02:00:00", "-1 day, 23:00:00.5", "3 days", "NA", "07:30:00"],
            [timedelta(hours=26), timedelta(seconds=-3599.5), timedelta(3), NAN, timedelta(hours=7.5)],
            "'NA' in 1 cell is read as missing; read as durations",
        ),
        (["1 days 02:00:00", "soon"], ["1 days 02:00:00", "soon"], ""),
        (["13:02", "07:30:15"], [timedelta(minutes=782), timedelta(seconds=27015)], "read as durations"),
        (["13:02", "24:30"], ["13:02", "24:30"], ""),
        (["2:1", "3:02"], ["2:1", "3:02"], ""),
    ],
)
@each("separator", [";", "\t", ","])
def test_a_column_is_read_for_what_its_cells_say(read, cells, expected, said, separator):
    quoted = [f'"{cell}"' if separator in cell else cell for cell in cells]
    # Beside it a decimal point, so that the file's mark is known.
    text = separator.join(["a", "b"]) + "\n" + "".join(f"{cell}{separator}0.5\n" for cell in quoted)
    source, _ = read(text)
    values = source.frame["a"].tolist()
    assert [type(value) is str for value in values] == [type(value) is str for value in expected]
    for value, wanted in zip(values, expected, strict=True):
        assert value is pd.NA or value != value if wanted != wanted else value == wanted
    assert str(source.readings.get("a", "")) == said


@pytest.mark.parametrize("shift", range(5))
def test_a_code_is_seen_wherever_it_stands_in_a_large_file(read, shift):
    line = f"{'word' * 200},2\n"
    n = (1 << 20) // len(line) - 1
    header = "a" * ((1 << 20) - 8 + shift - n * len(line) - len(",b\n")) + ",b\n"
    source, _ = read(header + line * n + "2,007\n" + line * 10)
    assert source.frame["b"].tolist() == ["2"] * n + ["007"] + ["2"] * 10


@each(
    "columns, decimal",
    [
        ([["1,5", "2"]], ","),
        ([["1.5"], ["1,000"]], "."),
        ([["1.234,56"]], ","),
        ([["1,234.56"]], "."),
        ([["1.234", "5"], ["1,5"]], ","),
        ([["1,234,567"]], "."),
        ([["1,234", "999"]], "."),
        ([["1,234", "2,345"]], ","),
        ([["0,123"]], ","),
        ([["(1,5)"]], ","),
        ([["1.234,50 €", "€ 3"]], ","),
        ([["$1,234.50"], ["1,234"]], "."),
        ([["1.5"], ["1,5"]], "."),
        ([["word"], []], "."),
    ],
)
def test_the_decimal_mark_is_the_one_that_explains_the_cells(columns, decimal):
    assert find_decimal(columns, ";")[0] == decimal


@pytest.mark.parametrize("columns", [[["1,234", "2,345"]], [["$1,234", "$999,500"]], [["€1,234", "€1,234,500"]]])
def test_groups_of_three_digits_are_thousands_where_commas_part_cells_or_amounts_say_so(columns):
    assert find_decimal(columns, ",") == (".", 0.5)
    assert find_decimal(columns, ";")[0] == ("." if "€1,234,500" in columns[0] else ",")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("sep=;\na;b\n1;2\n3;4\n", 3, ""),
        ("# made by hand\n# in May, 2020\na,b\n1,2\n3,4\n", 4, "2 lines above the table of"),
        ("Sales, all of 2020\n\na;b\n1;2\n3;4\n", 4, "1 line above the table of"),
        ("Sales 2020,\nin May,\na,b\n1,2\n3,4\n", 4, "2 lines above"),
        ("Sales 2020,\n,\na,b\n1,2\n3,4\n", 4, "2 lines above the table of"),
        (",\na,b\n1,2\n3,4\n", 3, "blank cells"),
        ("#a,b\n1,2\n3,4\n", 2, ""),
        ("# a,b\n1,2\n3,4\n", 2, ""),
        ("a,b\n1,2\n3,4\n# the end\n", 2, "1 line of comments"),
        ("a,b\n1,2\n,\n3,4\n,\n", 2, "2 lines without a value"),
        ("a,b\n1,2\n# between, really\n3,4\n", 2, None),
    ],
)
def test_what_stands_around_a_table_is_no_part_of_it(read, text, line, said):
    if said is None:
        source, _ = read(text)  # as many cells as a row: nobody can tell
        assert len(source.frame) == 3
        return
    source, told = read(text)
    assert source.frame.columns.tolist() == ["a", "b"]
    assert source.frame.to_numpy().tolist() == [[1, 2], [3, 4]]
    assert source.frame.dtypes.map(lambda dtype: dtype.kind).tolist() == ["i", "i"] or "value" in said
    assert source.line_of(0) == line
    assert (said in told) if said else told == ""


def test_titles_of_several_cells_stand_above_names_without_a_blank_one(read):
    source, told = read("Report,2024,\nfor,all,\na,b,c\n1,2,x\n3,4,y\n")
    assert source.frame.columns.tolist() == ["a", "b", "c"]
    assert source.line_of(1) == 5
    assert "2 lines above the table of" in told
    for names in (",b,c", "a,b,"):
        assert len(read(f"{names}\n1,2,x\n3,4,y\n")[0].frame) == 2


def test_notes_below_a_column_of_numbers_are_no_rows(read):
    source, told = read("age\n1\n?\n3\n40\nTotal\nSource: office\n")
    assert source.frame["age"].fillna(0).tolist() == [1, 0, 3, 40]
    assert "2 lines of notes below the table in" in told
    assert len(read("age\n1\nx\n3\n40\n")[0].frame) == 4
    source, told = read("age,income\n1,10\n3,20\n40,30\nTotal,60\nSource: office\n")
    assert source.frame.to_numpy().tolist() == [[1, 10], [3, 20], [40, 30]]
    assert "1 line of notes" in told
    assert "1 line of totals" in told


@pytest.mark.parametrize("word", ["Total", "TOTAL:", "Grand total", "Summe", "mean"])
def test_a_last_line_of_totals_is_no_row(read, word):
    source, told = read(f"shop,sales,kind\n1,10,x\n2,20,y\n3,30,x\n{word},60,\n")
    assert source.frame["shop"].tolist() == [1, 2, 3]
    assert source.frame["sales"].tolist() == [10, 20, 30]
    assert "1 line of totals" in told
    for text in (f"{word},10\n2,20\n{word},30\n", f"1,10\n2,20\n3,30\n{word},7\n"):
        source, told = read(f"shop,sales\n{text}")
        assert len(source.frame) == text.count("\n")
        assert "1 line of totals" not in told
        assert (f"says '{word}'" in told) == ("7" in text)


@pytest.mark.parametrize(("total", "n"), [("$1,230", 2), ("$615.1", 2), ("$2", 3), ("", 2)])
def test_numbers_of_a_line_of_totals_are_sums_or_means(read, total, n):
    assert len(read(f'shop,sales\na,"$1,200"\nb,$30\nTotal,"{total}"\n')[0].frame) == n


@pytest.mark.parametrize(
    ("below", "n_rows", "n_totals", "n_notes"),
    [
        ("Mean,20,2\nTotal,60,6", 3, 2, 0),
        ("Total,60,6\nAverage,20,2\nSum,60,", 3, 3, 0),
        ("Total,61,7\nMean,20,2", 5, 0, 0),
        ("Total,60,6\nNote: provisional, see May\nSource: office, 2024, May", 3, 1, 2),
        ("Source: office, May", 3, 0, 1),
        ("Sources, May", 4, 0, 0),
        ("d,May,4", 4, 0, 0),
        ("Source: office,5,4", 4, 0, 0),
        ("Source: office,May,4\nd,5,6", 5, 0, 0),
    ],
)
def test_lines_of_totals_and_notes_with_separators_are_no_rows(read, below, n_rows, n_totals, n_notes):
    source, told = read(f"shop,sales,days\na,10,1\nb,20,2\nc,30,3\n{below}\n")
    assert len(source.frame) == n_rows
    for n, what in ((n_totals, "of totals"), (n_notes, "of notes")):
        assert (f"{n} line{'s' if n > 1 else ''} {what}" in told) == bool(n)


def test_a_last_line_of_sums_is_a_row_unless_a_word_says_otherwise(read):
    assert len(read("shop,a,b\nx,1,2\ny,5,6\nz,9,1\n,15,9\n")[0].frame) == 4


def test_a_word_of_the_model_is_no_total(cutwise, tmp_path):
    table, model = tmp_path / "table.csv", tmp_path / "model.json"
    rows = [f"{['Total', 'x', 'y'][i % 3]},{i % 4},{i % 5}" for i in range(60)]
    table.write_text("\n".join(["kind,z,v", *rows]) + "\n")
    assert cutwise("fit", table, "-k", 3, "--only", "kind", "--out", model).code == 0
    table.write_text("kind,z,v\nx,1,2\ny,1,3\nTotal,2,5\n")
    assert len(cutwise("predict", model, table).out.splitlines()) == 4
    table.write_text("kind,z,v\nx,1,2\ny,1,3\nTotal,,\n")
    assert len(cutwise("predict", model, table).out.splitlines()) == 4
    table.write_text("kind,z,v\nx,1,2\ny,1,3\nSumme,2,5\n")
    assert len(cutwise("predict", model, table).out.splitlines()) == 3


def test_rows_are_named_by_their_line_in_the_file_whatever_was_left_out(read):
    source, _ = read("# one\na,b\n1,2\n,\n# two\n3,4\n5,6\n")
    assert [source.row(i).split("(")[1].split(" of")[0] for i in range(3)] == ["line 3", "line 6", "line 7"]


@pytest.mark.parametrize(
    ("text", "names"), [("a,b\n", None), ("name\nDoe\nRoe\n", ["name"]), ("id,x\na,1\nb,2\n", ["id", "x"])]
)
def test_names_are_no_title(read, text, names):
    if names is None:
        with pytest.raises(InvalidInputError, match="no rows"):
            read(text)
    else:
        assert read(text)[0].frame.columns.tolist() == names


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_zip_archive_of_one_table_is_unpacked(read):
    archive = zipped(
        **{"data/": "", "data/table.csv": "a,b\n1,2\n", "__MACOSX/data/._table.csv": "x", "data/.DS_Store": ""}
    )
    assert read(archive, "data.zip")[0].frame.to_numpy().tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (zipped(**{"a.csv": "a\n1\n", "b.csv": "b\n1\n"}), r"zip archive of 2 files \('a.csv', 'b.csv'\)"),
        (zipped(**{"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>"}), "Excel workbook"),
        (zipped(**{"a.csv": "a\n1\n"})[:40], "cannot be read"),
        (zipped(), "zip archive without files"),
    ],
    ids=["two tables", "workbook", "cut short", "none"],
)
def test_another_zip_archive_is_refused(read, content, words):
    with pytest.raises(InvalidInputError, match=words):
        read(content, "data.zip")


def test_the_first_minute_with_a_strangers_file(cutwise, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["Customers of 2020,,,,,,", ",CustomerID,Genre,Income,Share,Zip,Member,Year"]
    for i in range(60):
        group = i % 3
        income = f'"${(group + 1) * 10000 + int(rng.integers(500)):,}"'
        share, member = group * 30 + int(rng.integers(9)), "yes" if group else "no"
        lines.append(f"{i},{4711 * i % 997},{'FM'[i % 2]},{income},{share} %,0{i % 7}501,{member},2020")
    path, labels, model = tmp_path / "customers.csv", tmp_path / "labels.csv", tmp_path / "model.json"
    path.write_text("\n".join([*lines, "Total,,,,,,,"]) + "\n")
    result = cutwise("fit", path, "-k", 3, "--labels", labels, "--out", model)
    assert result.code == 0, result.err
    assert "60 rows, 5 columns: 2 categories (Genre, Zip), 2 numbers, 1 yes or no (Member)" in result.out
    for words in (
        "1 line above the table",
        "1 line of totals",
        "Income: ',' separates thousands; '$' is ignored",
        "Share: numbers are percentages",
        "Member: yes is true, no is false",
        "Zip: codes with leading zeros are kept as text",
        "left out: Unnamed: 0 (a row identifier), CustomerID (a row identifier), Year (the same value in every "
        "row); use --only to choose columns yourself",
    ):
        assert words in result.err
    assert cutwise("predict", model, path).out == labels.read_text()
    kept = cutwise("fit", path, "-k", 3, "--only", "CustomerID,Income")
    assert "60 rows, 2 columns" in kept.out
    assert "--only" not in kept.err


def test_labels_keep_the_words_that_stand_in_the_file(cutwise, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,churn\n" + "".join(f"{i % 7 + 10 * (i % 2)},{['no', 'yes'][i % 2]}\n" for i in range(40)))
    out = cutwise("fit", path, "--labels-from", "churn").out
    assert "\nno " in out
    assert "\nyes " in out
    path.write_text(
        "x,kind\n" + "".join(f"{i % 7 + 10 * (i % 2)},{i % 2 or ''}\n" for i in range(1, 41)) + "3,0\n4,0\n"
    )
    out = cutwise("fit", path, "--labels-from", "kind", "--drop-missing").out
    assert "\n0 " in out
    assert "\n1 " in out


def test_many_columns_that_are_read_alike_are_one_line(cutwise, tmp_path):
    rng = np.random.default_rng(0)
    cells = [[f"{x:.2f}" if rng.random() < 0.9 else "NA" for x in row] for row in rng.normal(size=(60, 12))]
    names = [f"g{j}" for j in range(12)]
    (tmp_path / "genes.csv").write_text("\n".join(map(",".join, [names, *cells])))
    told = cutwise("fit", tmp_path / "genes.csv", "-k", 2).err
    n = sum(cell == "NA" for row in cells for cell in row)
    assert f"g0, g1, g2, g3, g4 and 7 more columns: 'NA' in {n} cells is read as missing" in told
    assert told.count("is read as missing") == 1
    told = cutwise("fit", tmp_path / "genes.csv", "-k", 2, "--only", "g0,g1,g2,g3,g4,g5").err
    assert "g4 and 1 more column: 'NA' in " in told
