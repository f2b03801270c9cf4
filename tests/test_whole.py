"""Files appear whole or not at all, and what is no file is written to where it stands."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from cutwise import ExplainableKMeans
from cutwise._whole import _MACHINE, _machine, whole_file, whole_folder, write_whole

_OF_A_KILLED_PROCESS = f"999999999-{_MACHINE}-{'0' * 8}"


def test_an_error_leaves_what_was_there(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), whole_file(target) as part:  # noqa: PT012 - the block is what is tested
        part.write_text("half")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert target.read_text() == "old"


def test_a_folder_appears_when_it_is_complete_and_what_a_killed_process_left_of_it_goes(tmp_path):
    left = tmp_path / f".out.{_OF_A_KILLED_PROCESS}.part"
    left.mkdir()
    (left / "half").write_text("half")
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "out") as part:  # noqa: PT012
        (part / "half").write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    with whole_folder(tmp_path / "out") as part:
        (part / "whole").write_text("whole")
        assert not (tmp_path / "out" / "whole").exists()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "whole"]
    new, said = tmp_path / "new", "nothing in it is replaced; name a new one"
    with pytest.raises(OSError, match=said) as late, whole_folder(new) as part, whole_folder(new) as first:  # noqa: PT012
        (part / "late").write_text("late")
        (first / "first").write_text("first")
    assert late.value.filename == str(new)
    assert [path.name for path in new.iterdir()] == ["first"]


@pytest.mark.skipif(os.name == "nt", reason="whole paths have a limit there")
@pytest.mark.parametrize("name", ["a" * 255, "\N{CJK UNIFIED IDEOGRAPH-4E09}" * 85], ids=["ASCII", "three bytes each"])
def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path, name):
    left = tmp_path / f".{name[:50]}.{_OF_A_KILLED_PROCESS}.part"
    left.write_text("half")
    write_whole(tmp_path / name, "text")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_error_names_the_file_that_was_asked_for_and_errors_of_others_are_left_alone(tmp_path):
    with pytest.raises(OSError, match=r"There is no folder .*; create it first") as caught:
        write_whole(tmp_path / "no" / "file", "text")
    assert caught.value.filename == str(tmp_path / "no" / "file")
    with pytest.raises(IsADirectoryError, match="This names a folder"):
        write_whole(f"{tmp_path}/file/", "text")
    with pytest.raises(BrokenPipeError) as broken, whole_file(tmp_path / "file") as part:  # noqa: PT012
        part.write_text("whole")
        raise BrokenPipeError(32, "Broken pipe")
    assert broken.value.filename is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="this system has no /proc")
def test_a_folder_that_takes_no_files_is_said_to_take_none():
    with pytest.raises(OSError, match="Nothing can be written in '/proc'") as caught:
        write_whole("/proc/file", "text")
    assert caught.value.filename == "/proc/file"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_model_saved_into_a_pipe_leaves_the_pipe_in_its_place(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    model = ExplainableKMeans(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    model.save(pipe)
    reader.join(timeout=60)
    assert pipe.is_fifo()
    model.save(tmp_path / "file")
    assert read == [(tmp_path / "file").read_bytes()]


def test_a_model_saved_through_a_link_replaces_the_file_behind_it(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o600, 0o444, 0o664])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, mode):
    target = tmp_path / "file"
    target.write_text("old")
    target.chmod(mode)
    with whole_file(target) as part:
        assert stat.S_IMODE(part.stat().st_mode) == mode | stat.S_IWUSR
        part.write_text("new")
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_what_a_killed_save_left_is_removed_by_the_next_and_what_is_being_written_is_not(tmp_path):
    target = tmp_path / "file"
    killed = "import os, pathlib, sys; from cutwise._whole import whole_file\n"
    killed += "with whole_file(sys.argv[1]) as part: part.write_text('half'); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", killed, target], check=False)
    (left,) = tmp_path.iterdir()
    assert left.suffix == ".part"
    others = [left.with_name(left.name.replace(*change)) for change in [("file", "file2"), (_MACHINE, "0" * 8)]]
    for other in others:
        other.write_text("of another file or machine")
    with whole_file(target) as first:
        first.write_text("first")
        assert not left.exists()
        write_whole(target, "second")
        assert first.read_text() == "first"
    assert target.read_text() == "first"
    assert sorted(tmp_path.iterdir()) == sorted([target, *others])


def test_containers_that_number_their_processes_themselves_are_other_machines(monkeypatch):
    monkeypatch.setattr(os, "readlink", lambda path: "pid:[1]")
    assert _machine() != _MACHINE
