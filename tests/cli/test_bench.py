"""`cutwise bench`."""

import pytest

from cutwise.cli import main


def test_help_says_where_results_go(cutwise):
    assert "bench-EXPERIMENT" in cutwise("bench", "--help").out


def test_it_runs_an_experiment_and_names_its_files(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("CUTWISE_DATA", raising=False)
    assert main(["bench", "kernel", "--sets", "iris", "--seeds", "1", "--out", str(tmp_path / "out")]) == 0
    captured = capsys.readouterr()
    assert str(tmp_path / "out" / "table2.md") in captured.out.splitlines()
    assert "1 of 1: iris, seed 0" in captured.err


def test_results_of_two_experiments_do_not_mix(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("CUTWISE_DATA", raising=False)
    (tmp_path / "run.md").write_text("# Another experiment\n")
    assert main(["bench", "kernel", "--sets", "iris", "--seeds", "1", "--out", str(tmp_path)]) == 2
    assert "has the results of another experiment" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.md"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bench", "shalow"], "Did you mean 'shallow'?"),
        (["bench", "shallow", "--sets", "iri"], "Did you mean 'iris'?"),
        (["bench", "shallow", "--sets", "anuran", "--data", "nowhere"], "no such folder"),
        (["bench", "shallow", "--seeds", "0"], "--seeds"),
        (["bench", "shallow", "--sets", "mice_rows"], "Fetch it with --fetch, or put mice_rows.npz"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUTWISE_DATA", raising=False)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1
