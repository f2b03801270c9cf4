"""Whatever cannot be used ends with exit code 2, one line that names it, and no file."""

import pandas as pd
import pytest

ABC = "a,b,c\n1,2,x\n3,4,y\n5,7,z\n8,8,z\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(ABC)
    return path


FIT = ["fit", "TABLE", "--drop", "c"]
NUMBERS = ["fit", "TABLE", "--algorithm", "optimal"]  # takes complete numbers alone


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["fit"], ["FILE is missing"]),
        (["fit", "TABLE"], ["-k"]),
        (["fit", "nowhere.csv", "-k", "2"], ["nowhere.csv", "no such file"]),
        (["fit", "TABLE.gz", "-k", "2"], ["table.csv.gz: no such file or directory. Did you mean 'table.csv'?"]),
        (["fit", "/", "-k", "2"], ["directory"]),
        (
            ["fit", "TABLE", "-k", "2", "--only", "a,c", "--algorithm", "optimal"],
            ["'c'", "'x'", "row 0", "line 2", "--drop c"],
        ),
        (["fit", "TABLE", "-k", "2", "--drop", "C"], ["'C'", "Did you mean 'c'?"]),
        (["fit", "TABLE", "-k", "2", "--only", "d"], ["'d'", "'a', 'b', 'c'"]),
        (["fit", "TABLE", "-k", "2", "--drop", "a,b,c"], ["No column"]),
        ([*FIT, "-k", "0"], ["-k 0"]),
        ([*FIT, "-k", "-3"], ["-k -3"]),
        ([*FIT, "-k", "two"], ["-k", "two", "a valid integer", "See cutwise fit --help."]),
        ([*FIT, "-k", "5"], ["5", "4", "distinct"]),
        ([*FIT, "-k", "3", "--max-leaves", "2"], ["--max-leaves 2", "-k 3", "or leave it out"]),
        ([*FIT, "-k", "2", "--algorithm", "im"], ["algorithm", "Did you mean 'imm'?"]),
        ([*FIT, "-k", "2", "--expansion", "expend"], ["expansion", "Did you mean 'expand'?"]),
        ([*FIT, "-k", "2", "--scale", "minimax"], ["--scale", "Did you mean 'minmax'?"]),
        ([*FIT, "-k", "2", "--depth-penalty", "-1"], ["--depth-penalty -1"]),
        ([*FIT, "-k", "2", "--n-init", "0"], ["--n-init 0"]),
        ([*FIT, "-k", "2", "--n-init", "many"], ["--n-init 'many' is not a whole number"]),
        ([*FIT, "-k", "2", "--jobs", "0"], ["--jobs 0"]),
        ([*FIT, "-k", "2", "--seed", "-1"], ["--seed", "-1", "0", "See cutwise fit --help."]),
        (["curve", "TABLE", "-k"], ["-k", "requires an argument", "See cutwise COMMAND --help."]),
        ([*FIT, "-k", "2", "--weights", "c"], ["'c'", "3 different values", "Numbers are needed"]),
        ([*FIT, "-k", "2", "--weights", "w"], ["--weights", "'w'"]),
        ([*FIT, "-k", "2", "--labels-from", "c"], ["-k 2", "--labels-from c"]),
        (["fit", "TABLE", "--labels-from", "d"], ["--labels-from", "'d'"]),
        ([*FIT, "-k", "2", "--out", "nowhere/model.json"], ["nowhere", "does not exist"]),
        ([*FIT, "-k", "2", "--labels", "labels.parquet"], ["CSV"]),
        ([*FIT, "-k", "2", "--labels", "labels.csv.bz2"], ["CSV"]),
        ([*FIT, "-k", "2", "--out", "model.csv"], ["model.csv is named like another kind of file", "Name it .json"]),
        ([*FIT, "-k", "2", "--category", "d"], ["--category", "'d'"]),
        ([*FIT, "-k", "2", "--algorithm", "optimal", "--category", "a"], ["--category", "complete numbers"]),
        (["curve", "TABLE", "-k", "2", "--algorithm", "optimal"], ["--algorithm 'optimal'", "'search', 'imm'"]),
        ([*FIT, "-k", "2", "--max-leaves", "0"], ["--max-leaves 0", "Left out, there is a leaf a cluster"]),
        (["rules", "TABLE"], ["Give a file that cutwise fit --out wrote"]),
        ([*FIT, "-k", "2", "--out", "new/"], ["new/: this names a folder, not a file"]),
        (["fit", "TABLE", "-k", "2", "--category", "a,b", "--number", "a"], ["--category and --number both name 'a'"]),
        ([*FIT, "-k", "2", "--unknown", "x"], ["--unknown 'x'", "'outside', 'error'"]),
        ([*FIT, "-k", "2", "--min-leaf", "many"], ["--min-leaf many is not a number of rows", "such as 20", "5%"]),
        ([*FIT, "-k", "2", "--min-leaf", "100%"], ["--min-leaf 100% is not a number of rows"]),
        ([*FIT, "-k", "2", "--min-leaf", "3"], ["--min-leaf 3", "needs 6 rows", "Use --min-leaf <= 2"]),
        ([*FIT, "-k", "2", "--nonsense"], ["--nonsense"]),
        (["fit", "--example", "win"], ["Did you mean 'wine'?"]),
        (["fit", "TABLE", "--example", "wine"], ["Both"]),
        (["fti"], ["fti", "See cutwise --help."]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_it_is_refused_in_one_line(refused, table, tmp_path, args, words):
    out, labels = tmp_path / "model.json", tmp_path / "labels.csv"
    args = [arg.replace("TABLE", str(table)) for arg in args]
    if "fit" in args and "--out" not in args and "--labels" not in args:
        args += ["--out", str(out), "--labels", str(labels)]
    line = refused(*args)
    for word in words:
        assert word in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["is empty"]),
        ("a,b\n", ["no rows"]),
        (
            "sales,draft\nname,cost\n" + "1,2\n3,4\n5,6\n" * 9,
            ["'name' in row 0 (line 2", "Remove lines above", "--number 'sales'"],
        ),
        ("a,a\n1,2\n3,4\n", ["duplicate column names: 'a'", "; rename the copies in its line of names."]),
        ("a,a\nb,c\n1,2\n3,4\n", ["duplicate column names: 'a'", "; leave one line of names, or rename the copies"]),
        ("a,b\ncm,kg\n" + "1,2\n3,4\n5,6\n" * 9, ["'cm' in row 0 (line 2", "lines of units below them, or read"]),
        ("a,b\n1,2\n3,\n5,6\n", ["'b' has 1 missing value (NaN)", "row 1 (line 3", "--drop-missing", "--drop b"]),
        ("a,b\r\n\r\n1,2\r\n\r\n3,4\r\n5,\r\n", ["'b' has 1 missing value (NaN)", "row 2 (line 6"]),
        ("a,b\n1,2\n3,NaN\n5,6\n", ["'b' has 1 missing value ('NaN' in 1 cell)"]),
        ("a,b\n1,2\n3,inf\n5,6\n", ["'b' holds infinity", "row 1"]),
        ("a,b\n1,2\n1,2\n1,2\n", ["No column", "a (the same value in every row)", "--only"]),
        ("a,b\n1,2\n1,2\n3,2\n3,2\n3,2\nx,2\n", ["No column", "a (numbers, but 'x' in row 5 (line 7"]),
        ("a,b\n?,2\n1,2\n3,4\n-,7\n", ["'a' has 2 missing values ('?' in 1 cell, '-' in 1 cell)", "row 0 (line 2"]),
        ("a,b\n1,2\n1,2,3\n", ["saw 3", "Quote cells that contain the separator"]),
    ],
)
def test_a_file_that_is_no_table_of_numbers_is_refused(refused, tmp_path, content, words):
    path = tmp_path / "table.csv"
    path.write_text(content)
    line = refused("fit", path, "-k", 2, "--algorithm", "optimal", "--out", tmp_path / "model.json")
    for word in words:
        assert word in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


def test_more_clusters_than_distinct_rows_are_refused_in_words_of_the_command_line(refused, tmp_path):
    (tmp_path / "few.csv").write_text("a,b\n1,2\n2,4\n3,6\n1,2\n")
    told = refused("fit", tmp_path / "few.csv", "-k", 5)
    assert "-k 5 is more than the 3 distinct rows (of 4 in all)" in told
    assert "n_samples" not in told


def test_weights_that_add_up_to_nothing_are_refused(refused, tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": [1, 2, 3], "w": [0, 0, 0]}).to_csv(path, index=False)
    assert "weight" in refused("fit", path, "-k", 2, "--weights", "w")


def test_negative_weights_are_refused(refused, tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": [1, 2, 3], "w": [1, -2, 1]}).to_csv(path, index=False)
    assert "weight" in refused("fit", path, "-k", 2, "--weights", "w")


def test_an_unreadable_file_is_refused(refused, tmp_path, monkeypatch):
    path = tmp_path / "closed.csv"
    path.write_text(ABC)

    def closed(*_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("builtins.open", closed)
    line = refused("fit", path, "-k", 2)
    assert "closed.csv" in line
    assert "permission denied" in line


@pytest.mark.parametrize("command", ["predict", "report"])
@pytest.mark.parametrize("value", ["", "inf", "x"])
def test_a_command_without_drop_does_not_propose_it(cutwise, refused, table, tmp_path, command, value):
    model = tmp_path / "model.json"
    assert cutwise(*FIT[:1], table, *FIT[2:], "-k", 2, "--out", model).code == 0
    damaged = tmp_path / "damaged.csv"
    damaged.write_text(f"a,b\n1,2\n{value},3\n")
    out = tmp_path / "out.md"
    line = refused(command, model, damaged, "--out", out)
    assert "'a'" in line
    assert "--drop " not in line
    assert not out.exists()


def test_missing_labels_are_not_cured_by_dropping_their_column(refused, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("a,lab\n1,0\n2,\n3,1\n")
    line = refused("fit", path, "--labels-from", "lab")
    assert "--drop-missing" in line
    assert "--drop lab" not in line


def test_a_data_folder_that_is_not_there_is_refused(refused, tmp_path):
    assert "no such folder" in refused("bench", "shallow", "--data", tmp_path / "nowhere", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_beside_others_and_columns_that_centers_lack_are_refused_in_the_words_of_the_command_line(
    refused, cutwise, table, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert cutwise("fit", table, "-k", 2, "--only", "a,b", "--scale", "none", "--out", "model.json").code == 0
    (tested,) = {"a", "b"} & set(cutwise("rules", "model.json").out.split())
    pd.read_csv(table)[[tested]].to_csv("part.csv", index=False)
    lacking = {"a": "b", "b": "a"}[tested]
    told = refused("recount", "model.json", "part.csv")
    assert f"part.csv lacks '{lacking}', or holds other kinds of values" in told
    assert "--labels-from" in told
    assert "model.csv is named like another kind of file" in refused(
        "recount", "model.json", table, "--out", "model.csv"
    )
    told = refused("predict", "model.json", "tab*.csv")
    assert "clusters of several files go to a folder. Add --out FOLDER" in told
    assert "go to a folder, not to a file. Use --out c." in refused(
        "predict", "model.json", "tab*.csv", "--out", "c.csv"
    )
    pd.read_csv(table).to_parquet("table.parquet")
    told = refused("fit", ".", "-k", 2)
    assert ". holds 1 *.parquet file and 2 *.csv files. Give one kind: './*.parquet' or './*.csv'." in told


def test_a_column_that_is_true_is_not_said_to_be_so_twice(cutwise, tmp_path):
    (tmp_path / "t.csv").write_text("flag\n" + "yes\nno\n" * 20)
    assert cutwise("fit", tmp_path / "t.csv", "-k", 2, "--out", tmp_path / "m.json").code == 0
    told = cutwise("explain", tmp_path / "m.json", tmp_path / "t.csv", "--row", 0, "--row", 1).out
    assert ("because flag is true\n" in told, "because flag is false\n" in told) == (True, True)


def test_tables_without_rows_are_refused(refused, cutwise, tmp_path):
    rows = pd.DataFrame({"a": [1, 2, 8, 9], "b": [1.0, 2, 8, 9]})
    model, empty, other = (tmp_path / name for name in ("m.json", "empty.parquet", "other.parquet"))
    rows.to_parquet(empty)
    assert cutwise("fit", empty, "-k", 2, "--out", model).code == 0
    for path in (empty, other):
        rows[:0].to_parquet(path)
    assert "empty.parquet holds no rows." in refused("fit", empty, "-k", 2)
    assert "(2 files) holds no rows." in refused("fit", empty, other, "-k", 2)
    assert "empty.parquet holds no rows." in refused("predict", model, empty, "--out", tmp_path / "labels.csv")
    assert not (tmp_path / "labels.csv").exists()


def test_limits_that_leave_no_column_to_ask_about_are_refused(refused, table):
    message = refused("fit", table, "-k", 2, "--cut-only", "a", "--never", "a")
    assert "No column is left for the rules. Name others with --cut-only, or fewer with --never." in message


def test_a_column_with_a_comma_in_its_name_is_left_out_as_the_message_says(refused, cutwise, tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": [1, 2, 8, 9], "x, y": [3, None, 5, 4]}).to_csv(path, index=False)
    args = ("fit", path, "-k", 2, "--algorithm", "optimal")
    assert "--drop 'x, y'" in refused(*args)
    assert cutwise(*args, "--drop", "x, y").code == 0
