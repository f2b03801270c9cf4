"""Output files appear whole or not at all."""

import os
import threading
from pathlib import Path

import pytest

from cutwise.cli.screen import Outputs
from cutwise.exceptions import InvalidInputError


def paths_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_all_files_appear_at_the_end(tmp_path):
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    with Outputs(one, two, None) as outputs:
        outputs.write(one, lambda part: part.write_text("1"))
        outputs.write(two, lambda part: part.write_text("2"))
        assert not os.path.exists(one)
    assert paths_in(tmp_path) == ["one", "two"]
    assert (tmp_path / "two").read_text() == "2"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_or_interrupt_leaves_what_was_there(tmp_path, error):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("old")

    def breaks(part):
        part.write_text("half")
        raise error

    def write_both():
        with Outputs(str(one), str(two)) as outputs:
            outputs.write(str(one), lambda part: part.write_text("new"))
            outputs.write(str(two), breaks)

    with pytest.raises(error):
        write_both()
    assert paths_in(tmp_path) == ["one"]
    assert one.read_text() == "old"


def test_the_file_behind_a_link_is_replaced(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    with Outputs(str(link)) as outputs:
        outputs.write(str(link), lambda part: part.write_text("new"))
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_device_is_written_to_and_not_replaced():
    with Outputs("/dev/null") as outputs:
        outputs.write("/dev/null", lambda part: part.write_text("gone"))
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize(
    ("names", "message"),
    [(["no/file"], "does not exist"), ([""], "is a folder"), (["one", "one"], "a file of its own")],
)
def test_what_cannot_be_written_is_refused_before_any_work(tmp_path, names, message):
    with pytest.raises(InvalidInputError, match=message):
        Outputs(*(str(tmp_path / name) for name in names))


def test_a_file_that_is_read_is_not_written_over(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a\n1\n")
    (tmp_path / "link").symlink_to(table)
    for place in (table, tmp_path / "link"):
        with pytest.raises(InvalidInputError, match="is read by this command"):
            Outputs(str(place), inputs=["-", None, str(table)])
    Outputs(str(tmp_path / "other"), inputs=[str(table)])


def test_a_model_may_go_into_a_pipe_which_stays_one(cutwise, blobs_csv, tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert cutwise("fit", blobs_csv, "-k", 3, "--out", pipe).code == 0
    reader.join(timeout=60)
    assert pipe.is_fifo()
    assert read[0].startswith("{")


def test_a_lone_hyphen_prints_what_a_command_would_write_and_never_names_a_file(
    cutwise, refused, blobs_csv, tmp_path, monkeypatch
):
    model = tmp_path / "model.json"
    assert cutwise("fit", blobs_csv, "-k", 3, "--out", model).code == 0
    monkeypatch.chdir(tmp_path)
    for args in (["predict", model, blobs_csv], ["rules", model], ["rules", model, "--format", "python"]):
        assert cutwise(*args, "--out", "-").out == cutwise(*args).out != ""
    for args in (["fit", blobs_csv, "-k", 3, "--out"], ["fit", blobs_csv, "-k", 3, "--labels"]):
        assert '"-" (standard output) already receives' in refused(*args, "-")
    assert not (tmp_path / "-").exists()


def test_no_command_writes_over_its_own_input(cutwise, refused, blobs_csv, tmp_path):
    model = tmp_path / "model.json"
    assert cutwise("fit", blobs_csv, "-k", 3, "--out", model).code == 0
    before = blobs_csv.read_bytes(), model.read_bytes()
    for args in (
        ["fit", blobs_csv, "-k", 3, "--out", blobs_csv],
        ["fit", blobs_csv, "-k", 3, "--labels", blobs_csv],
        ["curve", blobs_csv, "-k", 3, "--within", "2%", "--model", blobs_csv],
        ["predict", model, blobs_csv, "--out", blobs_csv],
        ["report", model, blobs_csv, "--out", model],
        ["rules", model, "--format", "json", "--out", model],
    ):
        assert "is read by this command" in refused(*args)
    assert (blobs_csv.read_bytes(), model.read_bytes()) == before


def test_a_write_protected_file_is_not_replaced(monkeypatch, tmp_path):
    path = tmp_path / "model.json"
    path.write_text("mine")
    monkeypatch.setattr("os.access", lambda place, mode: Path(place) != path)
    with pytest.raises(InvalidInputError, match=r"No permission to write model\.json"):
        Outputs(str(path))
    assert path.read_text() == "mine"
