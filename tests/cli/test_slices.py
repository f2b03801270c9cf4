"""A new file is read as the file of fit was: any of its lines get the clusters that they had there."""

import bz2
import gzip
import io
import json
import lzma
import random
import sys
import zipfile

import polars as pl
import pytest

from cutwise import ExplainableKMeans
from tests.each import each

N = 60

# What stands in the two columns of row ``i``, by the separator of the file.
TABLES = {
    "thousands and a decimal comma": (
        ";", lambda i: f"{i % 3 * 40 + 5}.{i * 7 % 1000:03}", lambda i: f"{i % 4},5" if i % 4 else "2"
    ),
    "plain numbers": (",", lambda i: f"{i % 3 * 40}.5", lambda i: f"{i % 4}"),
    "whole numbers": (";", lambda i: f"{i % 3 * 40}", lambda i: f"{i % 4}"),
    "thousands": (",", lambda i: f'"{i % 3 * 40 + 5},{i * 7 % 1000:03}"', lambda i: f"{i % 4}.5"),
    "per cent and a decimal comma": (";", lambda i: f"{i % 7},5 %", lambda i: f"{i % 3 * 40},25 €"),
    "three decimals": (";", lambda i: f"{i % 3 * 40 + 5},{i * 7 % 1000:03}", lambda i: f"{i % 4}"),
    "days first": (",", lambda i: f"{i % 28 + 1:02}/{i % 12 + 1:02}/20{10 + i % 3 * 4}", lambda i: f"{i % 4}"),
    "months first": (",", lambda i: f"{i % 12 + 1}-{i % 28 + 1}-{70 + i % 3 * 10}", lambda i: f"{i % 4}"),
    "dotted dates": (";", lambda i: f"{i % 9 + 1}.{i % 9 + 1}.20{10 + i % 3 * 4}", lambda i: f"{i % 4}"),
    "instants": (",", lambda i: f"20{10 + i % 3 * 4}-{i % 12 + 1:02}-01T12:30Z", lambda i: f"{i % 4}"),
    "durations": (",", lambda i: f"{i % 3 * 7}:{i % 60:02}:00", lambda i: f"{i % 4}"),
    "per cent": (",", lambda i: f"{i % 3 * 30 + i % 7}%", lambda i: f"{i % 4}"),
    "amounts": (",", lambda i: f"({i % 7 + 10} $)" if i % 3 == 0 else f"{i % 3 * 30}", lambda i: f"{i % 4}"),
    "gaps": (",", lambda i: "?-"[i % 2] if i % 5 == 0 else f"{i % 3 * 30}", lambda i: f"{i % 4}"),
    "yes and no": (",", lambda i: ["T", "F"][i % 2], lambda i: f"{i % 3 * 9}"),
    "true and false": (",", lambda i: ["True", "False"][i % 2], lambda i: f"{i % 3 * 9}"),
    "words like yes": (",", lambda i: ["yes", "no", "maybe"][i % 3], lambda i: f"{i % 4}"),
    "words like totals": (",", lambda i: ["Total", "Summe", "x"][i % 3], lambda i: f"{i % 4}"),
    "codes": (",", lambda i: ["01234", "80001", "90210"][i % 3], lambda i: f"{i % 4}"),
    "blanks around words": (",", lambda i: [" a", "a ", '" b "'][i % 3], lambda i: f"{i % 4}"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
@each("how", ["names", "no names and a column left out"])
def test_any_lines_of_the_table_of_fit_get_the_clusters_that_they_had(cutwise, tmp_path, name, how):
    separator, *columns = TABLES[name]
    with_names = how == "names"
    if not with_names:
        columns.insert(1, lambda i: "5")
    rows = [separator.join(column(i) for column in columns) for i in range(N)]
    names = [separator.join("uz")] if with_names else []
    table, part, model, labels = (tmp_path / own for own in ("table.csv", "part.csv", "model.json", "labels.csv"))
    table.write_text("\n".join([*names, *rows]) + "\n")
    k = 2 if name in ("yes and no", "true and false") else 3
    header = "--header" if with_names else "--no-header"
    done = cutwise("fit", table, "-k", k, "--out", model, "--labels", labels, header)
    assert done.code == 0, done.err
    cluster = [line.split(",")[1] for line in labels.read_text().splitlines()[1:]]
    draw = random.Random(0)
    alone = [[0], [1], [2], [3]] if with_names else [[1]]
    for some in [*alone, sorted(draw.sample(range(N), 9))]:
        part.write_text("\n".join([*names, *(rows[i] for i in some)]) + "\n")
        found = cutwise("predict", model, part)
        assert found.code == 0, found.err
        assert [line.split(",")[1] for line in found.out.splitlines()[1:]] == [cluster[i] for i in some], found.err


@pytest.mark.skipif(not hasattr(pl.LazyFrame, "collect_batches"), reason="this release of polars gives no batches")
def test_without_names_columns_are_counted_as_in_the_file_of_fit(cutwise, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i * 7 % N};{i % 9};{i % 3 * 40 + i / 100:.2f}" for i in range(N)]
    for file, own in (
        ("fit", rows),
        ("four", [f"{row};1" for row in rows]),
        ("two", [row.partition(";")[2] for row in rows]),
    ):
        (tmp_path / f"{file}.csv").write_text("\n".join(own) + "\n")
    done = cutwise("fit", "fit.csv", "-k", 3, "--drop", "x0", "--no-header", "--labels", "l.csv", "--out", "m.json")
    assert done.code == 0, done.err
    expected = [line.split(",")[1] for line in (tmp_path / "l.csv").read_text().split()[1:]]
    said = cutwise("explain", "m.json", "fit.csv", "--json", "--no-header").out
    assert [str(row["cluster"]) for row in json.loads(said)["rows"]] == expected
    for file in ("fit.csv", "two.csv"):
        found = cutwise("predict", "m.json", file)
        assert [line.split(",")[1] for line in found.out.split()[1:]] == expected, found.err
    counted = cutwise("recount", "m.json", "fit.csv", "--out", "again.json")
    assert counted.out == cutwise("rules", "m.json").out, counted.err
    for batches in ([], ["--max-memory", "1KiB"]):
        assert cutwise("report", "m.json", "fit.csv", "--out", "r.json", *batches).code == 0
        sizes = [cluster["size"] for cluster in json.loads((tmp_path / "r.json").read_text())["clusters"]]
        assert sorted(sizes) == sorted(map(expected.count, "012"))
    refused = cutwise("predict", "m.json", "four.csv")
    assert (
        refused.code,
        "four.csv has 4 columns, and the model was fitted on 2 of the 3 of its file." in refused.err,
    ) == (2, True)


def test_levels_of_a_data_frame_are_levels_in_its_file(cutwise, tmp_path):
    pd, levels = pytest.importorskip("pandas"), ["NA", "nan", "N/A", "", " a", "b "]
    table = pd.DataFrame({"u": levels * 10, "z": range(60)})
    model = ExplainableKMeans(6, cut_features=["u"], random_state=0).fit(table.assign(z=0.0))
    model.save(tmp_path / "m.json")
    expected = [str(label) for label in model.labels_]
    assert len(set(expected)) == 6
    table.to_csv(tmp_path / "t.csv", index=False)
    table.assign(u=table["u"].str.strip()).to_csv(tmp_path / "bare.csv", index=False)
    for file in ("t.csv", "bare.csv"):
        found = cutwise("predict", tmp_path / "m.json", tmp_path / file)
        assert [line.split(",")[1] for line in found.out.split()[1:]] == expected, found.err


@pytest.mark.skipif(not hasattr(pl.LazyFrame, "collect_batches"), reason="this release of polars gives no batches")
def test_files_are_read_alike_together_and_one_by_one_in_memory_and_in_batches(cutwise, tmp_path):
    pytest.importorskip("polars")
    thousands = TABLES["three decimals"][1]
    rows = [f"{thousands(i).replace(',', '.')};{i % 5}{',5' if i < 30 else ''};{i // 9}" for i in range(N)]
    for file, own in (("all", rows), ("gp-1", rows[:30]), ("gp-2", rows[30:])):
        (tmp_path / f"{file}.csv").write_text("\n".join(["u;z;d", *own]) + "\n")
    parts = tmp_path / "gp-*.csv"
    models = {}
    for how, given in {"whole": ["all.csv"], "parts": [parts], "batches": [parts, "--max-memory", "1KiB"]}.items():
        given[0] = tmp_path / given[0]
        done = cutwise("fit", *given, "-k", 3, "--scale", "standard", "--drop", "d", "--out", tmp_path / how)
        assert done.code == 0, done.err
        assert "u: '.' separates thousands" in done.err
        models[how] = json.loads((tmp_path / how).read_text())["fitted"]["tree"]
    assert models["whole"] == models["parts"] == models["batches"]
    assert (tmp_path / "parts").read_text().replace("gp-*", "") == (tmp_path / "batches").read_text().replace(
        "gp-*", ""
    )
    assert cutwise("predict", tmp_path / "whole", parts, "--out", tmp_path / "out").code == 0
    apart = [line.split(",")[1] for i in (1, 2) for line in (tmp_path / f"out/gp-{i}.csv").read_text().split()[1:]]
    whole = cutwise("predict", tmp_path / "whole", tmp_path / "all.csv").out.split()[1:]
    assert apart == [line.split(",")[1] for line in whole]


@pytest.mark.parametrize(
    ("name", "cells", "said"),
    [
        ("yes and no", "T F maybe ?", "'u' holds 'maybe' in row 2 (line 4 of{}, but held cells like 'F' at fit."),
        ("days first", "03/11/2015 11/31/2015", "'u' holds '11/31/2015' in row 1"),
        ("per cent", "3% 4", "'u' holds '4' in row 1 (line 3 of{}, but held cells like '0%' at fit."),
        ("amounts", "$3 €4", "'u' holds '€4' in row 1"),
        ("three decimals", "1,5 1.5", "row 1 (line 3 of{}, but held numbers with ',' as decimal mark at fit."),
        ("gaps", "x", "'u' holds 'x' in row 0"),
        ("gaps", "? 3 4 5 x 6", "'u' holds 'x' in row 4"),
        ("codes", "007 1234", ""),
        ("plain numbers", "39% 12%", "'u' holds '39%' in row 0 (line 2 of{}, but held numbers with '.' as decimal"),
        ("plain numbers", "yes no", "'u' holds 'yes' in row 0"),
        ("plain numbers", '"5,250" "0,123"', "'u' holds '0,123' in row 1"),  # a decimal comma: no group of digits is 0
        ("plain numbers", "True False", "'u' holds 'True' in row 0"),
        ("plain numbers", "$12 (4) 5", ""),
        ("whole numbers", "1,5 x", "'u' holds 'x' in row 1 (line 3 of{}, but held numbers at fit."),
    ],
)
def test_a_cell_that_cannot_be_read_as_at_fit_is_named(cutwise, tmp_path, monkeypatch, name, cells, said):
    separator, *columns = TABLES[name]
    rows = [separator.join(column(i) for column in columns) for i in range(N)]
    (tmp_path / "table.csv").write_text("\n".join([separator.join("uz"), *rows]) + "\n")
    assert cutwise("fit", tmp_path / "table.csv", "-k", 2, "--only", "u", "--out", tmp_path / "m.json").code == 0
    text = "\n".join(["u", *cells.split()]) + "\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    found = cutwise("predict", tmp_path / "m.json", "-")
    said = said.format(" standard input; rows are counted from 0)")
    assert (found.code, said in found.err.splitlines()[-1]) == ((2, True) if said else (0, True)), found.err


@each("cell, note", [("{}.25", False), ("{}.250", False), ('"{},25"', False), ('"{},250"', True)])
def test_commas_between_cells_leave_no_comma_as_decimal_mark(cutwise, tmp_path, cell, note):
    numbers = range(1, 10)
    (tmp_path / "fit.csv").write_text("u;z\n" + "".join(f"{i},25;1\n" for i in numbers))
    (tmp_path / "new.csv").write_text("u,z\n" + "".join(f"{cell.format(i)},1\n" for i in numbers))
    assert cutwise("fit", tmp_path / "fit.csv", "-k", 2, "--only", "u", "--out", tmp_path / "m.json").code == 0
    known, new = (cutwise("predict", tmp_path / "m.json", tmp_path / name) for name in ("fit.csv", "new.csv"))
    assert new.out == known.out
    assert ("',' is the decimal mark, as at fit" in new.err) == note


def zipped(text):
    with zipfile.ZipFile(archive := io.BytesIO(), "w") as members:
        members.writestr("table.csv", text)
    return archive.getvalue()


@each("pack", [gzip.compress, bz2.compress, lzma.compress, zipped, lambda text: zipped(gzip.compress(text))])
def test_packed_files_are_read_in_batches_too(cutwise, tmp_path, pack):
    text = b"a,b\n" + b"".join(b"%d,%d\n" % (i % 3 * 9, i % 4) for i in range(N))
    (tmp_path / "table").write_bytes(text)
    (tmp_path / "packed").write_bytes(pack(text))
    plain, packed = (cutwise("fit", tmp_path / name, "-k", 3, "--max-memory", "1KiB") for name in ("table", "packed"))
    assert "its rows are read in batches" in packed.err
    assert packed.out == plain.out.replace("table:", "packed:")


def test_a_limit_of_memory_that_standard_input_does_not_keep_is_said(cutwise, monkeypatch):
    text = b"a,b\n" + b"".join(b"%d,%d\n" % (i % 3 * 9, i % 4) for i in range(N))
    for limit, is_said in ((("--max-memory", "1KiB"), True), ((), False)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert ("read whole; --max-memory does not apply" in cutwise("fit", "-", "-k", 3, *limit).err) == is_said
