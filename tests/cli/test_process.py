"""The command as a process: streams, pipes, interrupts, and what it costs to start."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from cutwise import __version__
from cutwise.cli import main

COMMAND = [sys.executable, "-m", "cutwise"]


@pytest.mark.parametrize("written", [{}, {"sep": ";", "decimal": ","}], ids=["commas", "semicolons"])
def test_standard_input_is_read_and_its_kind_found(cutwise, blobs, monkeypatch, written):
    given = io.TextIOWrapper(io.BytesIO(blobs.to_csv(index=False, **written).encode()))
    monkeypatch.setattr(sys, "stdin", given)
    result = cutwise("fit", "-", "-k", 3)
    assert result.code == 0
    assert "standard input: 60 rows, 3 columns" in result.out


def test_the_version_is_printed(cutwise):
    assert cutwise("--version").out == f"cutwise {__version__}\n"


@pytest.mark.parametrize("command", ["fit", "predict", "rules", "report", "compare", "curve", "front"])
def test_help_shows_an_example(cutwise, command):
    result = cutwise(command, "--help")
    assert result.code == 0
    assert f"cutwise {command} " in result.out.split("Examples:")[1]


def test_a_pipe_that_closes_early_is_no_error(cutwise, blobs_csv, tmp_path):
    model = tmp_path / "model.json"
    assert cutwise("fit", blobs_csv, "-k", 3, "--out", model).code == 0
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        result = subprocess.run(
            [*COMMAND, "rules", model], stdout=closed, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.stderr == ""
    assert result.returncode == 1


def run_in_shell(line):
    """Where Python holds back what it writes, as it does unless a variable says otherwise."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, env=env)


# A run and a refused one in a process of closed streams; its exit code says how both ended.
TWO_RUNS = """
import sys
from cutwise.cli import main
fitted = main(["fit", "--example", "iris", "-k", "3", "--out", sys.argv[1]])
refused = main(["rules", sys.argv[1] + " is none"])
sys.exit(10 * fitted + refused)
"""


@pytest.mark.skipif(os.name == "nt", reason="the shell of Windows closes no streams")
@pytest.mark.parametrize("closed", ["<&- >&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_ends_no_run(closed, tmp_path):
    model = tmp_path / "model.json"
    spelled = shlex.join([sys.executable, "-c", TWO_RUNS, str(model)])
    result = run_in_shell(f"{spelled} {closed}")
    assert result.returncode == 2, result.stderr
    assert set(json.loads(model.read_text())) >= {"format", "fitted"}
    assert "Traceback" not in result.stderr
    if "2>" in closed:
        assert result.stderr == ""
    else:
        wrote, refused = result.stderr.splitlines()
        assert wrote.startswith("cutwise: wrote ")
        assert "cannot be read" in refused


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here is full")
def test_a_full_disk_is_said_with_a_next_step_and_a_stream_that_takes_nothing_ends_no_run(
    refused, blobs_csv, tmp_path, monkeypatch
):
    said, model = "cutwise: No space left on device. Free some space, or write elsewhere", tmp_path / "model.json"
    with open("/dev/full", "w") as full:  # closing it writes what it still holds
        monkeypatch.setattr(sys, "stderr", full)
        assert main(["fit", str(blobs_csv), "-k", "3", "--out", str(model)]) == 0
        assert main(["rules", f"{model} is none"]) == 2
        monkeypatch.undo()
    assert refused("predict", model, blobs_csv, "--out", "/dev/full").startswith(said)
    spelled = shlex.join([sys.executable, "-m", "cutwise", "predict", str(model), str(blobs_csv)])
    result = run_in_shell(f"{spelled} > /dev/full")
    assert result.returncode == 2
    assert result.stderr.startswith(said)
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in the file system, and other interrupts")
def test_an_interrupt_ends_with_130_and_without_files(tmp_path):
    pipe, model = tmp_path / "pipe", tmp_path / "model.json"
    os.mkfifo(pipe)
    # Tests that run in the background may have interrupts ignored, and a child would inherit that.
    heeding = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    heeding += "runpy.run_module('cutwise', run_name='__main__', alter_sys=True)"
    process = subprocess.Popen(
        [sys.executable, "-c", heeding, "fit", pipe, "-k", "3", "--out", model],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Opening the pipe waits for the command to open its end, and then the command waits for a table that never comes.
    with process, open(pipe, "wb"):
        try:
            time.sleep(0.5)  # until it reads: Python drops an interrupt that meets it while it frees an object
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert err == "cutwise: interrupted\n"
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_hardly_anything_is_imported_before_interrupts_are_heeded():
    code = "import sys; own = set(sys.modules); import cutwise.cli; print(*sorted(set(sys.modules) - own))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "cutwise.cli" in loaded
    assert not loaded & {"typing", "threading", "re", "typer", "numpy"}


def test_an_interrupt_that_meets_an_object_being_freed_is_heeded(monkeypatch, capsys):
    class Freed:
        def __del__(self):
            raise KeyboardInterrupt

    def interrupted(*_):
        freed = Freed()
        del freed
        for _ in range(600):
            time.sleep(0.1)

    usual = sys.unraisablehook
    monkeypatch.setattr("cutwise.cli.app.run", interrupted)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell ignore it
    try:
        assert main(["fit"]) == 130
    finally:
        signal.signal(signal.SIGINT, handler)
    assert capsys.readouterr().err == "cutwise: interrupted\n"
    assert sys.unraisablehook is usual


def test_a_terminal_that_lacks_the_letters_ends_no_run_and_mixes_up_no_names(monkeypatch):
    def printed(encoding, *more):
        with monkeypatch.context() as patch:
            rows = "größe,市\n1,大阪\n2,大阪\n8,東京\n9,東京\n"
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rows.encode())))
            patch.setattr(sys, "stdout", io.TextIOWrapper(out := io.BytesIO(), encoding))
            assert main(["fit", "-", "--labels-from", "市", *more]) == 0
            return out.getvalue().decode(encoding)

    lines = [line for line in printed("ascii").splitlines() if "gr\\xf6" in line]
    assert [line.split()[0] for line in lines] == ["\\u5927\\u962a", "\\u6771\\u4eac"]
    assert len({line.index("gr\\xf6") for line in lines}) == 1  # aligned by what is written
    assert json.loads(printed("ascii", "--json")) == json.loads(printed("utf-8", "--json"))


def test_a_text_for_programs_is_not_printed_with_other_letters(cutwise, tmp_path, monkeypatch, capsys):
    (tmp_path / "rows.csv").write_text("größe,市\n1,大阪\n2,大阪\n8,東京\n9,東京\n", encoding="utf-8")
    rows, model = str(tmp_path / "rows.csv"), str(tmp_path / "m.json")
    assert cutwise("fit", rows, "--labels-from", "市", "--out", model).code == 0

    def printed(encoding, command):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", io.TextIOWrapper(out := io.BytesIO(), encoding))
            code = main(list(command))
            sys.stdout.flush()
            return code, out.getvalue().decode(encoding)

    for command in (("predict", model, rows), ("rules", model, "--format", "python")):
        assert printed("ascii", command) == (2, "")
        assert "Standard output is encoded as ascii" in capsys.readouterr().err
        code, text = printed("utf-8", command)
        assert code == 0
        assert "大阪" in text


def test_without_typer_the_message_says_how_to_get_it(tmp_path):
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(\"No module named 'typer'\", name='typer')")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    result = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=False, env=env)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert 'pip install "cutwise[cli]"' in result.stderr
