"""Several files, and tables read in batches: the same tree as in memory, and clusters in a file each."""

import datetime as dt
import gzip
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cutwise import load_model
from cutwise.cli import column_scan
from cutwise.cli.tables import open_source
from cutwise.passes.spill import Column


@pytest.fixture(params=["parquet", "csv"])
def ending(request):
    return request.param


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 900)
    return pd.DataFrame(
        {
            "row_id": np.arange(900),
            "age": 20 * group + rng.integers(0, 9, 900),
            "income": np.round(group + rng.normal(size=900), 3),
            "same": 3,
            "weight": rng.integers(0, 4, 900),
            "segment": np.digitize(20 * group, [15, 50]) - 1,
            "none": np.full(900, np.nan),
        }
    )


def written(table, folder, ending):
    folder.mkdir()
    for i, part in enumerate(np.array_split(np.arange(len(table)), 4)):
        own = table.iloc[part]
        path = folder / f"part-{i}.{ending}"
        own.to_parquet(path, index=False) if ending == "parquet" else own.to_csv(path, index=False)
    return folder


def test_a_column_that_outweighs_all_others_is_named_in_batches_too(cutwise, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("\n".join(["age,income", *(f"{20 + i % 40},{i * 997 % 90000}" for i in range(100))]) + "\n")
    for more in ([], ["--max-memory", "1kB"]):
        assert "'income' holds" in cutwise("fit", rows, "-k", 3, "--scale", "none", *more).err


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_file_without_rows_is_a_part_of_several_in_memory_and_in_batches(cutwise, table, tmp_path, packed):
    rows, empty, found = tmp_path / "rows", tmp_path / "rows" / f"1.csv{packed}", []
    rows.mkdir()
    for i, part in enumerate((table[:500], table[:0], table[500:])):
        part.to_csv(rows / f"{i}.csv{packed}", index=False)
    for more in ([], ["--max-memory", "1B"]):
        run = cutwise("fit", rows, "-k", 2, "--drop", "none", "--out", tmp_path / "model.json", *more)
        assert (run.code, f"no rows in '{empty}'" in run.err) == (0, True)
        found.append((tmp_path / "model.json").read_bytes())
        assert "holds a line of column names and no rows. It needs" in cutwise("fit", empty, "-k", 2, *more).err
    assert found[0] == found[1]
    cutwise("predict", tmp_path / "model.json", rows, "--out", tmp_path / "labels")
    assert (tmp_path / "labels" / "1.csv").read_text() == "row,cluster\n"


def test_a_folder_of_packed_files_is_a_table(cutwise, table, tmp_path):
    for i, rows in enumerate((table[:500], table[500:])):
        rows.to_csv(tmp_path / f"{i}.csv.gz", index=False)
    assert "(2 files): 900 rows" in cutwise("fit", tmp_path, "-k", 2, "--drop", "segment").out


def test_medians_of_a_table_in_batches_are_refused_by_their_option(cutwise, table, tmp_path):
    table[["age", "income"]].to_csv(tmp_path / "t.csv", index=False)
    done = cutwise("fit", tmp_path / "t.csv", "-k", 2, "--objective", "kmedians", "--max-memory", "1kB")
    assert (done.code, "--objective kmedians needs the table in memory. Leave it out" in done.err) == (2, True)


def test_labels_of_true_and_false_are_truth_values_in_batches_too(cutwise, tmp_path):
    rows, models = tmp_path / "rows.csv", [tmp_path / f"{how}.json" for how in ("memory", "batches")]
    lines = [f"{i % 20},{i % 20 > 9}" for i in range(60)]
    rows.write_text("\n".join(["size,large", *lines]) + "\n")
    for model, more in zip(models, ([], ["--max-memory", "1kB"]), strict=True):
        assert cutwise("fit", rows, "--labels-from", "large", "--algorithm", "expand", "--out", model, *more).code == 0
        assert load_model(model).classes_.tolist() == [False, True]
    assert models[0].read_bytes() == models[1].read_bytes()
    assert cutwise("recount", models[1], rows, "--labels-from", "large").code == 0


@pytest.mark.parametrize(
    "options",
    [
        ["-k", 4, "--algorithm", "imm", "--drop", "segment", "--weights", "weight"],
        ["-k", 3, "--max-leaves", 7, "--never", "income", "--min-leaf", 30],
        ["--labels-from", "segment", "--algorithm", "exkmc", "--max-leaves", 4],
    ],
)
def test_a_table_that_is_read_in_batches_gives_the_model_file_of_memory(cutwise, table, tmp_path, ending, options):
    folder = written(table, tmp_path / "in", ending)
    memory, batches = tmp_path / "memory.json", tmp_path / "batches.json"
    common = [f"{folder}/part-*.{ending}", *options, "--scale", "none", "--out"]
    first = cutwise("fit", *common, memory)
    second = cutwise("fit", *common, batches, "--max-memory", "1kB")
    assert (first.code, second.code) == (0, 0), second.err
    assert "read in batches" not in first.err
    assert "read in batches" in second.err
    assert first.out == second.out
    said = [line for line in second.err.splitlines() if "read in batches" not in line]
    assert [line.replace("memory", "batches") for line in first.err.splitlines()] == said
    assert any("of weight 0" in line for line in said) == ("--weights" in options)
    left_out = "left out: row_id (a row identifier), same (the same value in every row), none (no value)"
    assert left_out in first.err
    assert left_out in second.err
    assert batches.read_bytes() == memory.read_bytes()


def test_values_of_parquet_files_are_not_copied(cutwise, table, tmp_path, monkeypatch):
    folder, copied, append = written(table, tmp_path / "in", "parquet"), set(), Column.append
    monkeypatch.setattr(Column, "append", lambda self, values: (copied.add(self.path.name), append(self, values)))
    assert cutwise("fit", folder, "-k", 4, "--only", "age,income", "--max-memory", "1kB").code == 0
    assert copied
    assert "values" not in copied
    # Decimals become numbers on the way: files read again would not give these.
    prices = pa.array([Decimal(age) for age in table["age"]], pa.decimal128(9, 2))
    pq.write_table(pa.table({"price": prices, "income": table["income"]}), tmp_path / "prices.parquet")
    assert cutwise("fit", tmp_path / "prices.parquet", "-k", 4, "--max-memory", "1kB").code == 0
    assert "values" in copied


@pytest.mark.parametrize("limit", [[], ["--max-memory", "1kB"]])
def test_what_parquet_files_hold_beside_numbers_and_texts_is_left_out_or_said(cutwise, table, tmp_path, limit):
    path, own = tmp_path / "rows.parquet", table[["age", "income"]]
    own.assign(pair=[[1, 2]] * 900, parts=[{"a": 1}] * 900).to_parquet(path, index=False)
    done = cutwise("fit", path, "-k", 3, *limit)
    assert done.code == 0
    why = "neither numbers, text nor dates"
    assert f"left out: pair ({why}), parts ({why}); use --only to choose columns yourself" in done.err
    assert "olumn 'pair' holds " in cutwise("fit", path, "-k", 3, "--only", "pair,age", *limit).err
    own.replace({"age": {62: np.inf}}).assign(same=-np.inf).to_parquet(path, index=False)
    assert "Column 'age' holds infinity" in cutwise("fit", path, "-k", 3, *limit).err
    pd.DataFrame(np.random.default_rng(0).normal(size=(40000, 2)), columns=["a", "b"]).to_parquet(path)
    path.write_bytes(path.read_bytes()[:90_000] + bytes(100_000) + path.read_bytes()[190_000:])
    assert "rows.parquet is not a Parquet file that can be read: " in cutwise("fit", path, "-k", 3, *limit).err


@pytest.fixture
def mixed(table):
    if not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("this release of polars cannot write such files")
    rng = np.random.default_rng(1)
    group = table["age"].to_numpy() // 20
    n, gap = len(table), rng.random((5, len(table))) < 0.1
    return pl.DataFrame(
        {
            "row_id": np.arange(n),
            "ticket": [f"t{i}" for i in range(n)],
            "age": pl.Series(table["age"]).set(pl.Series(gap[0]), None),
            "income": np.where(gap[1], np.nan, table["income"]),
            "channel": pl.Series(np.array(["web", "shop", "phone", "post"])[group]).set(pl.Series(gap[2]), None),
            "plan": pl.Series(rng.choice(["basic", "plus"], n), dtype=pl.Categorical),
            "member": rng.random(n) < 0.3,
            "opens": [dt.time(6 + i, 30) for i in group],
            "asked": pl.Series(rng.random(n) < 0.3).set(pl.Series(gap[3]), None),
            "since": np.datetime64("2020-01-01") + rng.integers(0, 90, n) + 365 * (group // 2),
            "seen": pl.Series(np.datetime64("2024-01-01T08:00:00", "us") + rng.integers(0, 10**12, n)).set(
                pl.Series(gap[4]), None
            ),
        }
    )


@pytest.mark.parametrize("options", [[], ["--algorithm", "imm", "--drop", "since"], ["--drop-missing"]])
def test_parquet_of_any_columns_gives_the_model_file_of_memory_in_batches(cutwise, mixed, tmp_path, options):
    for i in range(3):
        mixed[300 * i : 300 * (i + 1)].write_parquet(tmp_path / f"part-{i}.parquet")
    memory, batches = tmp_path / "memory.json", tmp_path / "batches.json"
    common = [str(tmp_path / "part-*.parquet"), "-k", 4, *options, "--out"]
    first, second = cutwise("fit", *common, memory), cutwise("fit", *common, batches, "--max-memory", "1kB")
    assert (first.code, second.code) == (0, 0), second.err
    assert "left out: row_id (a row identifier), ticket (a different value in every row)" in second.err
    assert "read in batches" in second.err
    assert first.out == second.out
    assert batches.read_bytes() == memory.read_bytes()
    kinds = load_model(batches).column_kinds_
    assert {kinds[name] for name in ("channel", "plan")} == {"category"}
    assert {kinds[name] for name in ("member", "asked")} == {"bool"}
    assert kinds["seen"] == kinds.get("since", "date") == "date"
    assert kinds["opens"] == "duration"


@pytest.mark.parametrize("words", [[], ["none", "too much", "a little", "n.d.", "lost", "-", "see below"]])
def test_categories_and_numbers_that_were_asked_for_are_those_of_memory_in_batches(
    cutwise, table, tmp_path, ending, words
):
    rng = np.random.default_rng(2)
    own = table[["age", "income"]].assign(grade=table["age"] // 20, rank=pd.array(table["age"] % 3, dtype="Int64"))
    own.loc[::9, "rank"] = pd.NA
    own["dose"] = rng.integers(0, 5, 900).astype(str)
    own.loc[:79, "dose"] = rng.choice(words or ["7"], 80)
    own["dose"] = own["dose"].astype("string")
    folder, memory, batches = written(own, tmp_path / "in", ending), tmp_path / "memory.json", tmp_path / "batches.json"
    common = [f"{folder}/part-*.{ending}", "-k", 4, "--category", "grade,rank", "--number", "dose", "--out"]
    first, second = cutwise("fit", *common, memory), cutwise("fit", *common, batches, "--max-memory", "1kB")
    assert (first.code, second.code) == (0, 0), second.err
    assert first.out == second.out
    assert ("dose: 80 cells that are no numbers" in second.err) == ("dose: 80 cells that are no numbers" in first.err)
    assert batches.read_bytes() == memory.read_bytes()
    kinds = load_model(batches).column_kinds_
    assert [kinds[name] for name in ("grade", "rank", "dose")] == ["category", "category", "integer"]


CELLS = {
    "NA": lambda i: "NA" if i % 11 == 0 else i % 3,
    "yes": lambda i: "yes" if i % 3 else "no",
    "per cent": lambda i: f"{7 * (i % 3) + i % 2}%",
    "dates": lambda i: f"2024-0{1 + i % 3}-{10 + i % 7}",
    "thousands": lambda i: f'"{7 * (i % 3) + 1},{100 + i}"',
    "huge": lambda i: 2**66 if i == 3 else i % 3,
}


@pytest.mark.parametrize(
    ("cells", "options"), [*((name, []) for name in CELLS), *((name, ["--drop-missing"]) for name in ("NA", "dates"))]
)
def test_cells_of_csv_are_read_alike_by_fits_and_reports(cutwise, tmp_path, monkeypatch, cells, options):
    monkeypatch.chdir(tmp_path)
    lines = [f"{10 * (i % 3)}.{i % 7},{CELLS[cells](i)}\n" for i in range(200)]
    Path("t.csv").write_text("x,y\n" + "".join(lines), encoding="utf-8-sig")  # with the mark that Excel writes
    for limit, out in (("9GB", "memory"), ("1kB", "batches")):
        how = [*options, "--algorithm", "imm", "--max-memory", limit]
        fit = cutwise("fit", "t.csv", "-k", 3, *how, "--out", f"{out}.json")
        made = cutwise("report", "memory.json", "t.csv", *options, "--out", f"{out}.md", "--max-memory", limit)
        assert (fit.code, made.code) == (0, 0), fit.err + made.err
    assert Path("batches.json").read_bytes() == Path("memory.json").read_bytes()
    tables = [
        [line for line in Path(f"{out}.md").read_text().splitlines() if "|" in line] for out in ("memory", "batches")
    ]
    assert [line for line in tables[0] if "CART" not in line] == [line for line in tables[1] if "CART" not in line]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_models_of_number_columns_take_other_cells_as_missing_in_new_rows_too(cutwise, tmp_path, ending):
    rows, model = tmp_path / f"t.{ending}", tmp_path / "model.json"
    own = pd.DataFrame({"z": ["lost" if i % 9 == 0 else str(10 * (i % 3)) for i in range(120)]})
    own.to_csv(rows, index=False) if ending == "csv" else own.to_parquet(rows, index=False)
    assert cutwise("fit", rows, "-k", 3, "--number", "z", "--out", model).code == 0
    done = cutwise("predict", model, rows)
    assert done.code == 0
    assert "z: 14 cells that are not numbers are read as missing" in done.err
    for limit in ("9GB", "1kB"):
        assert cutwise("report", model, rows, "--out", tmp_path / "r.md", "--max-memory", limit).code == 0
    for command in ("explain", "recount"):
        assert cutwise(command, model, rows, *(["--row", 0] if command == "explain" else [])).code == 0


@pytest.mark.parametrize("labels", ["{0}.0", "{1}"])
def test_labels_in_batches_are_written_as_in_memory(cutwise, tmp_path, labels):
    lines = [f"{10 * (i % 2) + i % 3},{labels.format(i % 2, ('no', 'yes')[i % 2])}\n" for i in range(90)]
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(lines))
    common = ["fit", tmp_path / "t.csv", "--labels-from", "y", "--algorithm", "imm", "--out"]
    for limit, out in (("9GB", "memory"), ("1kB", "batches")):
        assert cutwise(*common, tmp_path / f"{out}.json", "--max-memory", limit).code == 0
    assert (tmp_path / "batches.json").read_bytes() == (tmp_path / "memory.json").read_bytes()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"x,y\n" + b"1,2\n" * 90 + b"3,4,5\n", "Expected 2 fields in line 92, saw 3"),
        (b"x,y\n" + b"1,2\n3,7\n" * 90 + b'"3,4\n' + b"2,3\n" * 900, "Close the quotation mark opened there"),
        (b"x,y\r1,2\r3,4\r", ""),
        (b"#x, 'y'\n\n# comment\n" + b"1, 2\n3, 7\n,\n" * 90 + b"# end\n", ""),
        (b"x,y,\n" + b"1,2,\n3,7,\n" * 90, ""),
        (b"a title\n\nx,y\n" + b'1,"2"\n3, "7"\n' * 90, ""),
    ],
)
def test_texts_are_read_or_refused_in_batches_as_in_memory(cutwise, tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    found = []
    for limit in ("9GB", 9):
        done = cutwise("fit", tmp_path / "t.csv", "-k", 2, "--out", tmp_path / "model.json", "--max-memory", limit)
        assert done.code == (2 if words else 0), done.err
        assert words in done.err
        found.append(done.err.splitlines()[-1] if words else (tmp_path / "model.json").read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("encoding", "first"), [("utf-16", ""), ("cp1252", "“Bern” € "), ("cp1252", ""), ("cp1252", "\x81")]
)
def test_texts_in_other_encodings_are_read_in_batches_as_in_memory(cutwise, tmp_path, encoding, first):
    lines = [f"{i % 9},{['Zürich', 'Köln', f'{first}Łódź'.replace('Łódź', 'x')][i % 3]}\n" for i in range(90)]
    lines = ["x,y\n", *(["1,b\n", "9,a\n"] * 300 if not first else []), *lines]
    content = b"".join(line.replace("\x81", "").encode(encoding) for line in lines)
    if first == "\x81":
        content = content.replace(b"x\n", b"\x81\n")
    (tmp_path / "t.csv").write_bytes("".join(lines).encode(encoding) if encoding == "utf-16" else content)
    for limit, out in (("9GB", "memory"), ("1kB", "batches")):
        done = cutwise("fit", tmp_path / "t.csv", "-k", 3, "--max-memory", limit, "--out", tmp_path / out)
        assert done.code == 0, done.err
        assert ("is not UTF-8; read as Windows-1252" in done.err) == (encoding == "cp1252")
    assert (tmp_path / "batches").read_bytes() == (tmp_path / "memory").read_bytes()
    levels = json.loads((tmp_path / "memory").read_text())["fitted"]["kinds"]
    assert all(word in str(levels) for word in ("Zürich", "Köln", f"{first.strip(chr(0x81))}" or "x"))
    assert ("\x81" in json.dumps(levels, ensure_ascii=False)) == (first == "\x81")


def test_gaps_of_csv_in_batches_are_those_of_memory(cutwise, table, tmp_path):
    table = table[["age", "income"]].astype(float)
    table.loc[::7, "income"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False, na_rep="NA")
    memory, batches = tmp_path / "memory.json", tmp_path / "batches.json"
    first = cutwise("fit", tmp_path / "t.csv", "-k", 3, "--out", memory)
    second = cutwise("fit", tmp_path / "t.csv", "-k", 3, "--out", batches, "--max-memory", "1kB")
    assert (first.code, second.code) == (0, 0), second.err
    assert first.out == second.out
    assert "unknown" in first.out
    assert load_model(batches).tree_.to_dict() == load_model(memory).tree_.to_dict()


def test_texts_in_batches_are_left_out_where_they_identify_rows(cutwise, tmp_path, monkeypatch):
    n = 300
    rows = pl.DataFrame({"x": np.arange(n) % 7, "name": [f"n{i // 2 if i < 100 else i}" for i in range(n)]})
    rows.write_parquet(tmp_path / "t.parquet")
    result = cutwise("fit", tmp_path / "t.parquet", "-k", 2, "--max-memory", "1kB")
    assert "left out: name (free text: 250 different values in 300 rows)" in result.err
    monkeypatch.setattr(column_scan, "MOST_ITEMS", 100)
    result = cutwise("fit", tmp_path / "t.parquet", "-k", 2, "--max-memory", "1kB")
    assert "left out: name (free text: more than 100 different values in 300 rows)" in result.err


def test_numbers_among_texts_are_left_out_in_batches_as_in_memory(cutwise, tmp_path):
    rng = np.random.default_rng(0)
    x, few = rng.integers(0, 40, (2, 200)).astype(str), rng.random(200) < 0.1
    pl.DataFrame(
        {
            "size": rng.normal(size=200),
            "blank": np.where(few, "", x[0]),
            "word": np.where(few, "many", x[1]),
            "most": np.where(few, x[1], "many"),
            "codes": np.where(few, "007", x[1]),
            "all": x[0],
            "day": [f"{i % 28 + 1}.{i % 12 + 1}.{1990 + i // 28}" for i in range(200)],
        }
    ).write_parquet(tmp_path / "t.parquet")
    for options in ([], ["--drop", "blank"], ["--only", "size,word"], ["--number", "blank", "--category", "most"]):
        memory = cutwise("fit", tmp_path / "t.parquet", "-k", 2, *options)
        batches = cutwise("fit", tmp_path / "t.parquet", "-k", 2, *options, "--max-memory", "1kB")
        assert (batches.code, batches.out) == (memory.code, memory.out)
        assert memory.err.splitlines() == batches.err.splitlines()[1:]
        assert "numbers, but 'many' in row " in memory.err
        assert memory.code == (2 if options[:1] == ["--only"] else 0)
        assert ("day (dates written as text)" in memory.err) == (memory.code == 0)


def test_dates_that_were_known_at_fit_and_cannot_be_read_now_are_refused(cutwise, tmp_path):
    rows, model = tmp_path / "rows.csv", tmp_path / "model.json"
    rows.write_text("day\n" + "".join(f"2017-0{1 + 6 * (i % 2)}-{i % 28 + 1:02}\n" for i in range(60)))
    assert cutwise("fit", rows, "-k", 2, "--out", model).code == 0
    assert cutwise("predict", model, rows).code == 0
    rows.write_text("day\n1/2/2017\n3/4/2017\n")
    told = (
        f"'day' holds '1/2/2017' in row 0 (line 2 of {rows}; rows are counted from 0), but held cells like '2017-01-01'"
    )
    assert told in cutwise("predict", model, rows).err
    pd.DataFrame({"day": pd.to_datetime([f"2017-0{1 + 6 * (i % 2)}-{i % 28 + 1:02}" for i in range(60)])}).to_parquet(
        tmp_path / "rows.parquet"
    )
    assert cutwise("fit", tmp_path / "rows.parquet", "-k", 2, "--out", model).code == 0
    told = f"Column 'day' of {rows} holds dates that may have day or month first (write them like 2024-12-31)."
    assert told in cutwise("predict", model, rows).err


@pytest.mark.parametrize("labels", [None, "segment"])
def test_report_curve_and_front_of_a_table_that_is_read_in_batches_are_those_of_memory(
    cutwise, table, tmp_path, monkeypatch, labels
):
    monkeypatch.chdir(tmp_path)
    table.to_parquet("all.parquet", index=False)
    by_labels = ["--labels-from", labels, "--algorithm", "exkmc"]
    clusters = by_labels if labels else ["-k", 4, "--drop", "segment", "--weights", "weight"]
    assert cutwise("fit", "all.parquet", *clusters, "--scale", "none", "--out", "model.json").code == 0
    beside = by_labels[:2] if labels else ["--weights", "weight"]
    commands = [["report", "model.json", "all.parquet", *beside, "--out", "report.json"]]
    if labels is None:
        commands += [[command, "all.parquet", *clusters, "--scale", "none", "--json"] for command in ("curve", "front")]
    for command in commands:
        found = []
        for in_batches in ([], ["--max-memory", "1kB"]):
            result = cutwise(*command, *in_batches)
            assert result.code == 0, result.err
            assert ("read in batches" in result.err) == bool(in_batches)
            text = Path("report.json").read_text() if command[0] == "report" else result.out
            found.append(json.loads(text, parse_float=lambda number: float(f"{float(number):.12g}")))
            found[-1].pop("reproduce", None)  # with the option
            found[-1].get("headline", {}).pop("cart", None)  # grown in memory alone
        assert found[0] == found[1]


def test_files_one_by_one_or_in_a_folder_are_one_table(cutwise, table, tmp_path, ending):
    folder = written(table, tmp_path / "in", ending)
    whole = tmp_path / "whole.csv"
    table.to_csv(whole, index=False)
    expected = cutwise("fit", whole, "-k", 4, "--seed", 1)
    files = sorted(folder.iterdir())
    for given in (files, [folder], [f"{folder}/part-[01].{ending}", *files[2:]]):
        assert cutwise("fit", *given, "-k", 4, "--seed", 1).out.split("\n", 1)[1] == expected.out.split("\n", 1)[1]


@pytest.mark.parametrize("holes", [False, True])
def test_predict_writes_a_file_of_clusters_for_each(cutwise, table, tmp_path, ending, holes, monkeypatch):
    monkeypatch.setattr("cutwise.cli.predict._ROWS", 70)
    model, out = tmp_path / "model.json", tmp_path / "out"
    whole = tmp_path / "whole.csv"
    table.to_csv(whole, index=False)
    cutwise("fit", whole, "-k", 4, "--only", "age,income", "--name", "2=old", "--out", model)
    if holes:
        table.loc[[5, 700], "age"] = np.nan
    folder = written(table, tmp_path / "in", ending)
    result = cutwise("predict", model, folder, "--out", out, *(["--drop-missing"] if holes else []))
    assert result.code == 0, result.err
    assert ("2 rows have missing values" in result.err) == holes
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in folder.iterdir())
    read = pd.read_parquet if ending == "parquet" else pd.read_csv
    parts = [read(path) for path in sorted(out.iterdir())]
    assert [part["row"].tolist() for part in parts] == [list(range(225))] * 4
    found = pd.concat(parts, ignore_index=True)
    known = table["age"].notna()
    expected = load_model(model).predict(table.loc[known, ["age", "income"]])
    assert found["cluster"][known].astype(int).tolist() == expected.tolist()
    assert found["cluster"][~known].isna().all()
    assert (found["name"].fillna("") == np.where(found["cluster"] == 2, "old", "")).all()


@pytest.mark.parametrize("options", [[], ["--max-memory", "1kB"]], ids=["memory", "batches"])
def test_several_files_are_read_as_one_that_holds_all_their_lines(cutwise, tmp_path, options):
    rng = np.random.default_rng(3)
    of_part = {
        "code": (["007", "815"], ["815", "90210"], ["90210"]),
        "pay": (["?", "7"], ["1000", '"3,000"'], ["$5", "4"]),
        "smoker": (["yes", "no"], ["yes", "maybe"], ["no"]),
        "agrees": (["True", "False"], ["True"], ["n"]),
        "met": (["21.10.2017", "3.4.2018"], ["5.6.2017 8:30"], ["30.1.2018", "NA"]),
        "due": (["3/4/2017", "1/2/2018 9:00 PM"], ["10/21/2017", "Null"], ["n/a"]),
        "born": (["1/2/2003"], ["3/4/2003"], ["1/2/2003", "#N/A"]),
        "day": (["2020-01-31", "2021-02-28"], ["2020-01-31", "soon"], [""]),
        "amount": (["1", "2"], ["1.5"], ["", "3"]),
        "kind": ([" a", "?"], ["b", "n/a"], ["a", "-"]),
    }
    parts = ["".join(",".join(rng.choice(of_part[c][i]) for c in of_part) + "\n" for _ in range(60)) for i in range(3)]
    names = ",".join(of_part) + "\n"
    (tmp_path / "all.csv").write_text(names + "".join(parts))
    for i, lines in enumerate(parts):
        content = (names + lines).encode()
        (tmp_path / f"part-{i}.csv").write_bytes(gzip.compress(content) if i == 1 and not options else content)
    one = cutwise("fit", tmp_path / "all.csv", "-k", 3, "--out", tmp_path / "one.json")
    several = cutwise("fit", tmp_path / "part-*.csv", "-k", 3, *options, "--out", tmp_path / "several.json")
    assert (one.code, several.code) == (0, 0), several.err
    assert several.err.splitlines()[bool(options) : -1] == one.err.splitlines()[:-1]
    assert (tmp_path / "several.json").read_bytes() == (tmp_path / "one.json").read_bytes()
    assert "met: 'NA' in " in one.err
    assert "; read as dates, the day first" in one.err
    assert "; read as dates, the month first" in one.err
    assert "is read as missing; dates that may have day or month first (write them like 2024-12-31)" in one.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["fit", "none-*.csv", "-k", 2], "No file matches"),
        (["fit", "a.csv", "b.csv", "-k", 2], "lacks 'y'"),
        (["fit", "a.csv", "b.csv", "-k", 2, "--max-memory", "1kB"], "lacks 'y'"),
        (["fit", "a.csv", "a.csv", "-k", 2], "given twice"),
        (["fit", "a.csv", "-k", 2, "--max-memory", "much"], "such as 2GiB"),
        (["fit", "[at].csv", "-k", 2, "--max-memory", 9], "lacks 'x'"),
        (["fit", "a.csv", "-k", 2, "--max-memory", 9, "--scale", "robust"], "--scale standard"),
        (["fit", "a.csv", "-k", 2, "--max-memory", 9, "--scale", "none", "--labels", "l.csv"], "cutwise predict"),
        (["fit", "a.csv", "-k", 2, "--max-memory", 9, "--scale", "none", "--objective", "kmedians"], "medians"),
        (["compare", "a.csv", "-k", 2, "--max-memory", 9], "Use a sample"),
        (["fit", "damaged.parquet", "-k", 2], "can be read"),
        (["predict", "model.json", "damaged.parquet", "--out", "out.csv"], "can be read"),
        (["predict", "model.json", "damaged.parquet", "a.csv", "--out", "out"], "can be read"),
        (["predict", "model.json", "[ab].csv"], "--out FOLDER"),
        (["predict", "model.json", "[ab].csv", "--out", "a.csv"], "not to a file"),
        (["predict", "model.json", "[ab].csv", "--out", "."], "already exists"),
        (["predict", "model.json", "[ab].csv", "--out", "no/out"], "Create it first"),
        (["predict", "model.json", "[ab].csv", "--out", "out"], "lacks 1 of the"),
        (["predict", "model.json", "[a].csv", "more/a.csv", "--out", "out"], "written as a.csv"),
    ],
)
def test_files_that_do_not_fit_are_refused_and_nothing_is_written(cutwise, tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more").mkdir()
    for name in ("a.csv", "more/a.csv"):
        (tmp_path / name).write_text("x,y\n" + "".join(f"{i % 7},{i % 2 * 10}\n" for i in range(40)))
    (tmp_path / "b.csv").write_text("x,z\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(40)))
    (tmp_path / "t.csv").write_text("word,z,v\n" + "".join(f"{'ab'[i % 2]},{i % 5},{i % 3}\n" for i in range(40)))
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    assert args[0] != "predict" or cutwise("fit", "a.csv", "-k", 2, "--out", "model.json").code == 0
    before = sorted(path.name for path in tmp_path.iterdir())
    result = cutwise(*args)
    assert result.code == 2
    assert words in result.err.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("limit", [[], ["--max-memory", "1kB"]])
@pytest.mark.parametrize(
    ("other", "words"),
    [
        (pd.Series(["a", "b"] * 10), "texts"),
        (pd.Series(["a", "b"] * 10, dtype="category"), "texts"),
        (pd.Series(pd.to_datetime(["2024-01-01", "2024-02-01"] * 10)), "dates"),
        (pd.Series(pd.to_datetime(["2024-01-01", "2024-02-01"] * 10, utc=True)), "timestamp[us, tz=UTC]"),
        (pd.Series([dt.time(8), dt.time(9)] * 10), "times of day"),
        (pd.Series([0.5, None] * 10), None),
        (pd.Series([None] * 20, dtype=object), None),
        (pd.Series([True, False] * 10), "true and false"),
        (pd.Series([Decimal("1.5"), Decimal("2.5")] * 10), None),
    ],
)
def test_columns_that_hold_other_things_in_other_parquet_files_are_named(cutwise, tmp_path, other, words, limit):
    for name, column in (("a", pd.Series(range(3, 23))), ("b", other)):
        pd.DataFrame({"x": np.arange(20) % 4, "c": column}).to_parquet(tmp_path / f"{name}.parquet")
    found = cutwise("fit", tmp_path, "-k", 2, *limit)
    if words is None:
        assert (found.code, "3 columns" in found.out) == (0, False), found.err
        return
    assert found.code == 2
    said = found.err.splitlines()[-1].replace("timestamp[ns, tz", "timestamp[us, tz")
    assert f"'c' holds numbers in {tmp_path / 'a.parquet'} and {words} in {tmp_path / 'b.parquet'}." in said
    assert said.endswith("or leave the column out with --drop c.")
    assert cutwise("fit", tmp_path, "-k", 2, "--drop", "c", *limit).code == 0
    assert "holds numbers in" in cutwise("fit", tmp_path, "--labels-from", "c", *limit).err


@pytest.mark.parametrize("levels", ["low middle high", "high middle low", "low middle high top", ""])
def test_levels_of_parquet_keep_their_order_where_all_files_have_it(cutwise, table, tmp_path, levels):
    folder = tmp_path / "parts"
    folder.mkdir()
    table = table[["income", "age"]].assign(size=pd.cut(table["age"], 3, labels=["low", "middle", "high"]))
    table[:400].to_parquet(folder / "a.parquet", row_group_size=90)
    own = table[400:].set_index(pd.Index(range(500), name="kept apart"))
    own["size"] = pd.Categorical(own["size"].astype(str), levels.split(), ordered=True) if levels else None
    own.to_parquet(folder / "b.parquet")
    for name, limit in (("memory", []), ("batches", ["--max-memory", "1kB"])):
        done = cutwise("fit", folder, "-k", 3, "--cut-only", "size", *limit, "--out", tmp_path / name)
        assert done.code == 0, done.err
        assert ("1 ordered category (size)" in done.out) == (levels in ("", "low middle high"))
    assert (tmp_path / "batches").read_bytes() == (tmp_path / "memory").read_bytes()
    if levels == "low middle high":
        assert all(f" size = {level}\n" in done.out for level in levels.split())
        assert cutwise("predict", tmp_path / "batches", folder / "b.parquet").code == 0
        assert "left out: size (levels in an order)" in cutwise("fit", folder, "-k", 2, "--algorithm", "optimal").err


@pytest.mark.parametrize(
    ("cells", "options", "words"),
    [
        (["2", ""], ["--weights"], "has 450 missing values (NaN), the first in row 1 (line 7 of "),
        (
            ["", ""],
            ["--weights", "--drop-missing"],
            "has a missing value: --drop-missing would leave none. Fill them in first.",
        ),
        (["2", "x"], ["--weights"], "holds numbers, but 'x' in row 1 (line 7 of "),
        (["", "x"], ["--weights"], "holds text: 1 different value, and 450 gaps, such as 'x' in row 1 (line 7 of "),
        (["2", "inf"], ["--weights"], "holds infinity, first in row 1 (line 7 of "),
        (["0", "0"], ["--weights"], "every --weights is zero"),
        (["2", "1.5"], ["--weights"], "--weights 'own' holds fractions"),
        (["2", "-1"], ["--weights"], "data passed to `--weights`"),
        (["a", ""], ["--labels-from"], "has 450 missing values (NaN), the first in row 1 (line 7 of "),
        (["2", "\0"], ["--weights"], "is not a text table"),
    ],
)
def test_weights_and_labels_in_batches_are_refused_in_the_words_of_tables_in_memory(
    cutwise, table, tmp_path, cells, options, words
):
    text = table[["age", "income"]].assign(own=cells * 450).to_csv(index=False)
    (tmp_path / "a.csv").write_text(text.replace("\n", "\n\n", 1).replace("\n", "\n,,\n", 3))
    count = [] if "--labels-from" in options else ["-k", 3]
    given = ["fit", tmp_path / "a.csv", *count, options[0], "own", *options[1:]]
    done = cutwise(*given, "--max-memory", "1kB")
    assert done.code == 2
    assert words in done.err.splitlines()[-1]
    in_memory = cutwise(*given)
    assert in_memory.code == (0 if "fractions" in words else 2)
    assert "fractions" in words or in_memory.err.splitlines()[-1] == done.err.splitlines()[-1]


def test_columns_of_true_and_false_may_be_without_values_in_a_file(cutwise, table, tmp_path, ending):
    table = table[["age", "income"]]
    with_values = table[400:].assign(flag=[True, False] * 250)
    for part, name in ((table[:400].assign(flag=None), "a"), (with_values, "b")):
        path = tmp_path / f"{name}.{ending}"
        part.to_parquet(path) if ending == "parquet" else part.to_csv(path, index=False)
    for name, limit in (("memory", []), ("batches", ["--max-memory", "1kB"])):
        done = cutwise("fit", tmp_path / f"?.{ending}", "-k", 3, *limit, "--out", tmp_path / name)
        assert "1 yes or no (flag)" in done.out, done.err
    assert (tmp_path / "batches").read_bytes() == (tmp_path / "memory").read_bytes()


def test_files_without_rows_and_lines_without_a_value_are_passed_over_in_batches_too(cutwise, table, tmp_path, ending):
    table = table[["age", "income"]]
    whole, folder = written(table, tmp_path / "whole", ending), written(table, tmp_path / "gaps", ending)
    if ending == "parquet":
        table[:0].to_parquet(folder / "a-first.parquet", index=False)
    else:
        first = folder / "part-0.csv"
        first.write_text(first.read_text().replace("\n", "\n\n", 5) + ",\n")
    models = []
    for given, options in ((whole, []), (folder, []), (folder, ["--max-memory", "1B"])):
        models.append(tmp_path / f"{len(models)}.json")
        result = cutwise("fit", given, "-k", 3, "--algorithm", "imm", "--out", models[-1], *options)
        assert result.code == 0, result.err
    trees = [load_model(model).tree_.to_dict() for model in models]  # files also note what was left out
    assert trees[0] == trees[1] == trees[2]


@pytest.mark.parametrize(
    "cells",
    [
        ["12 EUR", "1,200 EUR", "9 EUR"],
        ["yes", "no", "yes"],
        ["03/04/2024", "31/12/2024", "05/04/2024"],
        ["2024-03-01 08:00", "2024-12-31 09:30", "2024-03-02 10:00"],
        ["2024-03-01T08:00+01:00", "2024-12-31T09:30+01:00", "2024-03-02T10:00+02:00"],
        ["7:30:00", "23:10:00", "8:00:00"],
        ["?", "31.5", "7"],
    ],
)
def test_texts_of_a_parquet_file_are_read_as_those_of_the_csv_of_fit_were(cutwise, tmp_path, cells):
    rows = pd.DataFrame({"x": cells * 8, "y": [1.0, 9.0, 1.5] * 8})
    csv, parquet, model = (tmp_path / name for name in ("t.csv", "t.parquet", "m.json"))
    rows.to_csv(csv, index=False)
    rows.to_parquet(parquet)
    assert cutwise("fit", csv, "-k", 2, "--cut-only", "x", "--algorithm", "imm", "--out", model).code == 0
    placed = cutwise("predict", model, csv).out
    assert len(set(placed.split())) > 3
    assert cutwise("predict", model, parquet).out == placed
    summaries = []
    for options in ([], ["--max-memory", "1"]):
        page = tmp_path / f"{len(options)}.json"
        assert cutwise("report", model, parquet, "--out", page, *options).code == 0
        summaries.append([cluster["sentence"] for cluster in json.loads(page.read_text())["clusters"]])
    assert summaries[0] == summaries[1]


def test_a_model_is_recounted_by_weights_and_a_model_of_weights_says_when_there_are_none(
    cutwise, refused, table, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table.to_csv("t.csv", index=False)
    assert cutwise("fit", "t.csv", "-k", 3, "--only", "age,income", "--weights", "weight", "--out", "m.json").code == 0
    fitted, own = load_model("m.json"), table[["age", "income"]]
    assert fitted.predict(own.assign(weight=table["weight"])).tolist() == fitted.predict(own).tolist()
    weighted = cutwise("recount", "m.json", "t.csv", "--weights", "weight", "--out", "w.json")
    assert load_model("w.json")._leaf_counts.to_dict() == fitted._leaf_counts.to_dict()
    assert weighted.out == cutwise("rules", "m.json").out
    once = cutwise("recount", "m.json", "t.csv", "--out", "once.json")
    assert "rows had weights at fit but count once each here; name the weight column with --weights" in once.err
    assert once.out != weighted.out
    table.assign(weight=table["weight"].where(table["row_id"] != 5)).to_csv("gaps.csv", index=False)
    assert "row 5 (line 7 of gaps.csv" in refused("recount", "m.json", "gaps.csv", "--weights", "weight")
    assert "has no column 'w'" in refused("recount", "m.json", "t.csv", "--weights", "w")


def test_recount_names_its_option_for_labels(cutwise, refused, table, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.json"
    table.to_csv(path, index=False)
    assert cutwise("fit", path, "--labels-from", "segment", "--only", "age", "--out", model).code == 0
    assert "no centers to place rows by. Add --labels-from COLUMN, the cluster" in refused("recount", model, path)


def test_commands_of_a_model_take_several_files_as_one_table(cutwise, table, tmp_path, ending):
    parts = sorted(written(table, tmp_path / "parts", ending).iterdir())
    model = tmp_path / "model.json"
    assert cutwise("fit", *parts, "-k", 3, "--only", "age,income", "--out", model).code == 0
    pattern = str(tmp_path / "parts" / f"part-*.{ending}")
    for command in (["explain", "--row", 450], ["recount", "--out", tmp_path / "again.json"]):
        apart, together = (cutwise(command[0], model, *files, *command[1:]) for files in (parts, [pattern]))
        assert apart.code == together.code == 0
        assert apart.out == together.out != ""
    assert load_model(tmp_path / "again.json")._leaf_counts.to_dict() == load_model(model)._leaf_counts.to_dict()
    assert cutwise("report", model, *parts, "--out", tmp_path / "report.json").code == 0
    summary = json.loads((tmp_path / "report.json").read_text())
    assert sum(cluster["size"] for cluster in summary["clusters"]) == 900
    assert all(str(part) in line for part in parts for line in summary["reproduce"])


@pytest.mark.parametrize("as_text", [str, lambda span: span.total_seconds()])
def test_durations_beside_text_are_read_in_batches_as_in_memory(cutwise, tmp_path, monkeypatch, as_text):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    spans = pd.to_timedelta(rng.integers(0, 90_000, 200), unit="s")
    own = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "span": spans})
    own[:100].to_parquet("p.parquet")
    own[100:].assign(span=own["span"][100:].map(as_text)).to_csv("t.csv", index=False)
    for files in (["p.parquet", "t.csv"], ["t.csv", "p.parquet"]):
        for limit, out in (("9GB", "memory"), ("1kB", "batches")):
            done = cutwise("fit", *files, "-k", 2, "--max-memory", limit, "--out", out)
            assert done.code == 0, done.err
            assert ("span: read as durations" if as_text is str else "left out: span (numbers, but") in done.err
        assert Path("batches").read_bytes() == Path("memory").read_bytes()


@pytest.mark.parametrize("n_rows", [100, 202, 250])
def test_totals_and_notes_below_the_table_are_no_rows_in_batches_either(monkeypatch, capsys, tmp_path, n_rows):
    monkeypatch.setattr("cutwise.cli.tables.BATCH_ROWS", 100)
    path, columns = tmp_path / "t.csv", ["shop", "sales", "days"]
    rows = [f"shop {i % 3},{i % 3 * 50 + i % 7},{i % 11}" for i in range(n_rows)]
    total = sum(i % 3 * 50 + i % 7 for i in range(n_rows))
    for below, n in (
        ([f"Total,{total},", "Source: office,,", "As of May,,"], n_rows),
        ([f"Total,{total},", f"Mean,{total / n_rows:.2f},", "Source: office, May, 2024", "As of May, or so"], n_rows),
        ([f"Total,{total // 9},"], n_rows + 1),
    ):
        path.write_text("\n".join([",".join(columns), *rows, *below]) + "\n")
        memory, said = open_source([str(path)], None), capsys.readouterr().err
        batches, same = open_source([str(path)], "1kB"), capsys.readouterr().err
        assert said in same
        assert (f"{len(below) - 2} line" in said) == ("2 lines of notes below the table" in said) == (n == n_rows)
        assert len(memory.frame) == n
        found = pd.concat(batches.batches(columns), ignore_index=True)
        pd.testing.assert_frame_equal(found, memory.frame, check_dtype=False)
