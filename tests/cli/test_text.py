"""Separated text is read as a person would read it."""

import io

import pytest

from cutwise.cli.cells import Format
from cutwise.cli.tables import read_files
from cutwise.cli.text import find_layout, find_text
from cutwise.exceptions import InvalidInputError


def read(content, *, separator=None, header=None):
    content = content if isinstance(content, bytes) else content.encode()
    text = find_text("data.csv", lambda: io.BytesIO(content), Format(given_separator=separator, given_header=header))
    frame = read_files(["data.csv"], [text], Format()).frame
    return frame, text.layout.first_line, text.layout.has_names


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(separator):
    text = "\n".join(separator.join(line) for line in [("a", "b c", "d"), ("1", "2", "3"), ("4", "5", "6")])
    frame, first_line, has_names = read(text)
    assert frame.columns.tolist() == ["a", "b c", "d"]
    assert frame.to_numpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert (first_line, has_names) == (2, True)


def test_commas_inside_quotes_do_not_count():
    frame, _, _ = read('"income; net";"town, city"\n1;2\n3;4\n')
    assert frame.columns.tolist() == ["income; net", "town, city"]


def test_one_column_needs_no_separator():
    frame, _, _ = read("age\n1\n2\n")
    assert frame["age"].tolist() == [1, 2]


def test_a_decimal_comma_is_understood_between_semicolons():
    frame, _, _ = read("a;b\n1,5;2\n2,25;3\n")
    assert frame["a"].tolist() == [1.5, 2.25]


@pytest.mark.parametrize("line", ["7,83;0,60;7\n", "1,5;2,5;3,5\n"])
def test_a_decimal_comma_is_understood_where_no_line_of_names_tells_the_cells_apart(line):
    layout = find_layout(20 * line, "data.csv")
    assert (layout.separator, layout.decimal, layout.has_names, len(layout.names)) == (";", ",", False, 3)


def test_a_comma_beside_decimal_points_is_no_decimal_mark():
    assert find_layout("a;b\n1.5;2\n1,000;3\n", "data.csv").decimal == "."


def test_numbers_are_the_very_ones_that_are_written():
    # pandas' faster parser is off by one unit in the last place on such values.
    written = ["0.3066101993807095471", "1.7976931348623157e308", "5e-324", "9007199254740993.5"]
    frame, _, _ = read("a\n" + "\n".join(written) + "\n")
    assert frame["a"].tolist() == [float(number) for number in written]


def test_a_first_line_of_numbers_is_data_and_said_to_be(capsys):
    frame, first_line, has_names = read("1,2\n3,4\n")
    assert frame.columns.tolist() == ["x0", "x1"]
    assert frame.to_numpy().tolist() == [[1, 2], [3, 4]]
    assert (first_line, has_names) == (1, False)
    assert "--header" in capsys.readouterr().err


def test_a_first_line_of_numbers_and_of_words_that_come_again_is_data_and_said_to_be(capsys):
    text = "15.1,grey,32\n3.5,red,4\n4.5,grey,8\n"
    frame, first_line, has_names = read(text)
    assert frame.to_numpy().tolist() == [[15.1, "grey", 32], [3.5, "red", 4], [4.5, "grey", 8]]
    assert (first_line, has_names) == (1, False)
    assert "words like those below" in capsys.readouterr().err
    assert read(text, header=True)[0].columns.tolist() == ["15.1", "grey", "32"]
    frame, _, has_names = read("country,2019,2020\nChile,3,4\nPeru,5,6\n")
    assert has_names
    assert frame.columns.tolist() == ["country", "2019", "2020"]


@pytest.mark.parametrize(
    ("lines", "separator"),
    [
        ("8,9 %;65,0;x\n7,5 %;5,5;y", ";"),
        ("2023-07-24T12:48:45Z;112,000\n2023-07-24T12:48:46Z;45,000", ";"),
        ("£902.30;28.5\n£2.30;4", ";"),
        ("2021-07-25;13:02\n2021-07-26;11:02", ";"),
        ("78.2%,-\n8.2%,yes", ","),
        ("Jan\t40,3\t€32.251,77\nDec\t4,3\t€2.251,77", "\t"),
        ("a|x|y|1,5\nb|x|y|2,5", "|"),
        ("a;b,£1.5\nc;d,£2.5", ","),
    ],
)
def test_without_names_values_tell_the_separator_and_that_the_first_line_is_data(lines, separator):
    layout = find_layout(lines + "\n", "data.csv")
    assert (layout.separator, layout.has_names) == (separator, False)


def test_dates_above_numbers_are_names():
    assert find_layout("place;2019-01-01;2020-01-01\nA;1;2\nB;3;4\n", "data.csv").has_names


def test_notes_below_the_table_are_no_rows(capsys):
    frame, _, _ = read("place;area;share\nA;1,5;2 %\nB;2,5;3 %\n\nNote: provisional\n(c) Office\n")
    assert frame.to_numpy().tolist() == [["A", 1.5, 2], ["B", 2.5, 3]]
    assert "2 lines of notes below the table in data.csv left out" in capsys.readouterr().err
    frame, _, _ = read("place;area;share\nA;1;2\nB;3;4\nTotal;;\nNote: x\n")
    assert frame["place"].tolist() == ["A", "B"]
    assert "1 line of totals" in capsys.readouterr().err
    frame, _, _ = read("area;share\n1,5;2\n2,5;3\nNote: provisional\n")
    assert frame.to_numpy().tolist() == [[1.5, 2], [2.5, 3]]
    # Where others know as little, such lines are rows.
    frame, _, _ = read("place;area;share\nA;1;2\nB;;\nC;3;4\nD;;\n")
    assert frame["place"].tolist() == ["A", "B", "C", "D"]
    frame, _, _ = read("place;area\nA;1\nB;2\nC;\n")
    assert frame["place"].tolist() == ["A", "B", "C"]


def test_years_can_be_names():
    frame, _, has_names = read("2019,2020\n1,2\n", header=True)
    assert frame.columns.tolist() == ["2019", "2020"]
    assert has_names


def test_words_in_the_first_line_can_be_data():
    frame, _, _ = read("red,1\nblue,2\n", header=False)
    assert frame["x0"].tolist() == ["red", "blue"]


def test_blank_lines_before_the_data_move_the_first_line():
    _, first_line, _ = read("\n\na,b\n\n1,2\n3,4\n")
    assert first_line == 5


def test_whole_numbers_stay_whole_numbers():
    frame, _, _ = read("a,b\n1,1.0\n2,2.5\n")
    assert [kind.kind for kind in frame.dtypes] == ["i", "f"]


def test_names_and_values_lose_the_blanks_around_them():
    frame, _, _ = read("a , b\n1, 2\n3, 4\n")
    assert frame.columns.tolist() == ["a", "b"]
    assert frame["b"].tolist() == [2, 4]


def test_a_separator_at_the_end_of_every_line_makes_no_column():
    frame, _, _ = read("a;b;\n1;2;\n3;4;\n")
    assert frame.columns.tolist() == ["a", "b"]


def test_whole_numbers_beyond_64_bits_are_numbers():
    frame, _, _ = read("a,b\n100000000000000000000000000001,x\n,y\n-3,z\n")
    assert frame["a"].iloc[0] == 1e29
    assert frame["a"].isna().tolist() == [False, True, False]
    assert frame["a"].iloc[2] == -3
    assert frame["b"].tolist() == ["x", "y", "z"]


def test_a_late_fraction_makes_the_column_fractional_not_text():
    frame, _, _ = read("a\n" + "1\n" * 5000 + "1.5\n")
    assert frame["a"].iloc[-1] == 1.5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_names_are_read(encoding):
    frame, _, _ = read("größe,年\n1,2\n".encode(encoding))
    assert frame.columns.tolist() == ["größe", "年"]


@pytest.mark.parametrize(("encoding", "mark"), [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")])
@pytest.mark.parametrize("marked", [True, False])
def test_long_utf_16_tables_are_read(encoding, mark, marked):
    frame, _, _ = read(mark * marked + ("größe\tb\n" + "1\t2.5\n" * 500).encode(encoding))
    assert frame.columns.tolist() == ["größe", "b"]
    assert frame.shape == (500, 2)
    assert frame["b"].eq(2.5).all()


def test_other_encodings_are_read_as_windows_1252_and_said_to_be(capsys):
    frame, _, _ = read("größe,b\n1,€“\n".encode("cp1252") + b"2,\x81\n")
    assert frame.columns.tolist() == ["größe", "b"]
    assert frame["b"].tolist() == ["€“", "\x81"]
    assert "Windows-1252" in capsys.readouterr().err


def test_a_late_byte_that_is_not_utf_8_is_no_traceback(capsys):
    frame, _, _ = read(b"a,b\n" + b"1,x\n" * 300_000 + b"2,\xe9\n")
    assert frame["b"].iloc[-1] == "é"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n\n", "data.csv is empty"),
        ("a,b,a\n1,2,3\n", "duplicate column names: 'a'"),
        ("a,b\n1,2\n1,2,3\n", "Expected 2 fields in line 3, saw 3"),
        ("a,b\n1,2,3\n1,2,3\n", "more values than the 2"),
        ("a,b\n2.5,2,3\n1.5,2,3\n", "more values than the 2"),
        ("a\n1,500\n2,700\n", "more values than the 1"),
        ("my table\ncity;kind\nBerlin;x\nBonn;y\n", "more values than the 1"),
        ("a,b,a\n1,2,3\na,b,a\n4,5,6\n", "duplicate column names: 'a'"),
        ('a,b\n1,2\n3,"4\n5,6\n', "starting at row 2. Close the quotation mark opened there"),
        (b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00", "is not a text table"),
        (b"(\xb5/\xfd\x04X!\x00a,b\n1,2", r"is compressed by Zstandard\. Unpack it, and give the file with the table"),
        (b"a.csv".ljust(257, b"\0") + b"ustar\x0000", r"is a tar archive\. Unpack it"),
        (b"SQLite format 3\0", r"is an SQLite database\. Save the table as CSV"),
    ],
)
def test_what_is_no_table_is_refused(content, message):
    with pytest.raises(InvalidInputError, match=message):
        read(content)


def test_a_separator_of_two_characters_is_refused():
    with pytest.raises(InvalidInputError, match="Give a single character"):
        read("a::b\n", separator="::")


@pytest.mark.parametrize("text", ["a b\n1 2\n3 4\n", "  a    b\n1.5 -2.0\n 13  nan\n", "1 2\n3 4\n5 6\n"])
def test_numbers_in_columns_parted_by_spaces_are_read_as_columns(text):
    frame, _, _ = read(text)
    assert frame.shape[1] == 2
    assert frame.iloc[0].tolist() == [float(cell) for cell in text.splitlines()[not text[0].isdigit()].split()]


def test_many_blank_lines_above_a_table_take_no_time():
    assert read(60 * "\n" + "a,b\n1,2\n")[0].columns.tolist() == ["a", "b"]


def test_instants_without_names_are_no_libsvm():
    assert read("2020-01-01 10:30\t5.2\n2020-01-02 11:30\t6.2\n")[0]["x1"].tolist() == [5.2, 6.2]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"a" "b" "kind"\n"1" 1.5 2 "x y"\n"2" 2.5 NA "z"\n', ["1", "2"]),  # write.table(d)
        ("a\tb\nS1\t1.5\t2\nS2\t2.5\t3\n", ["S1", "S2"]),  # write.table(d, sep="\t", quote=FALSE)
        ('"a","b"\n"r,1",1.5,2\n"r 2",2.5,3\n', ["r,1", "r 2"]),
        (" a kind\n0 1.5 x\n1 2.5 y\n", ["0", "1"]),
        ("# sampled rows\n'a' b\n7 1.5 2\n3 2.5 NA\n".replace("'", '"'), ["7", "3"]),
    ],
)
def test_rows_may_begin_with_names_that_the_first_line_lacks(text, names, capsys):
    frame, _, _ = read(text)
    assert frame.columns[:2].tolist() == ["Unnamed: 0", "a"]
    assert frame["Unnamed: 0"].astype(str).tolist() == names
    assert frame["a"].tolist() == [1.5, 2.5]
    assert "begin with names" in capsys.readouterr().err


def test_new_files_may_begin_with_any_row_names_where_those_of_the_fit_did():
    known = Format(columns=["Unnamed: 0", "a", "b"], tested=["a"])
    assert find_layout("a,b\n7,1.5,2\n3,2.5,3\n", "new.csv", known).names == ("Unnamed: 0", "a", "b")
    assert find_layout("a,b\n7,1,\n3,2,\n", "new.csv", known).names == ("a", "b")  # lines end with a separator


def test_columns_parted_by_spaces_may_hold_words():
    frame, _, _ = read("kind size rate\na 1 2.5\nb 3 4.5\n")
    assert frame["kind"].tolist() == ["a", "b"]
    assert frame["rate"].tolist() == [2.5, 4.5]


def test_a_first_line_of_copies_that_occur_below_is_data(capsys):
    frame, _, _ = read("x,o,x\no,o,x\nx,x,o\n")
    assert frame.columns.tolist() == ["x0", "x1", "x2"]
    assert len(frame) == 3
    assert "holds words like those below" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "net price\n1234\n5678\n",
        "name\nJane Doe\nJohn Doe\n",
        "my column\none two\n3 4\n",
        "tax rate\n3 %\n5 %\n",
        "run time\n3 min\n",
    ],
)
def test_a_single_column_may_hold_spaces(text):
    frame, _, _ = read(text)
    assert frame.shape[1] == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": [1, 2]}\n', "JSON"),
        ('\n[{"a": 1}, {"a": 2}]', "JSON"),
        ("[[1, 2],\n [3, 4]]", "JSON"),
        ("<!DOCTYPE html>\n<p>Not found</p>\n", "HTML or XML"),
        ("<?xml version='1.0'?>\n<a/>\n", "HTML or XML"),
        ("% of 1998\n\n@RELATION cars\n@attribute a numeric\n", "ARFF"),
        ("-1 1:0.5 3:1e-3\n+1 2:7\n", "LIBSVM's format"),
    ],
)
def test_text_that_is_another_format_is_called_by_its_name(text, kind):
    with pytest.raises(InvalidInputError, match=f"looks like {kind}. Save the table as CSV or Parquet"):
        read(text)


@pytest.mark.parametrize("text", ["{a},[b]\n1,2\n", "[x],y\n1,2\n", "<5,>5\n1,2\n"])
def test_names_may_begin_with_brackets(text):
    frame, _, _ = read(text)
    assert frame.shape == (1, 2)
