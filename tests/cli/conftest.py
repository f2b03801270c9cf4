"""A command line that runs in this process, and small tables to run it on."""

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest

from cutwise.cli import main


@dataclass
class Result:
    code: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def _commands_are_made_once():
    """Typer makes every command anew in every run, which takes longer than most runs; a process has but one."""
    try:
        import typer.main
    except ModuleNotFoundError:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


def check_options(command, line):
    """Check that a line names only options of the command that prints it, or of one that it names."""
    import typer

    from cutwise.cli.app import app

    commands = typer.main.get_command(app).commands
    named = [command, *re.findall(r"(?<=cutwise )\w+|\b(?:fit|rules|explain)\b", line)]
    of_named = [p for name in named if name in commands for p in commands[name].params]
    options = {"--help", *(option for p in of_named for option in (*p.opts, *p.secondary_opts))}
    written = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", line.partition("No such option")[0]))
    assert not written - options, line


@pytest.fixture
def cutwise(capsys):
    """Run ``cutwise`` with these arguments; gives the exit code and what was printed."""

    def run(*args):
        capsys.readouterr()
        code = main([str(arg) for arg in args])
        printed = capsys.readouterr()
        for line in printed.err.splitlines():
            check_options(str(args[0]) if args else "", line)
        return Result(code, printed.out, printed.err)

    return run


@pytest.fixture
def refused(cutwise):
    """Run ``cutwise`` where it must refuse: exit code 2 and one line on standard error, which is given back."""

    def run(*args):
        result = cutwise(*args)
        assert result.code == 2, result.err
        assert result.out == ""
        lines = result.err.splitlines()
        assert len(lines) == 1, result.err
        assert lines[0].startswith("cutwise: ")
        assert "Traceback" not in lines[0]
        return lines[0]

    return run


@pytest.fixture
def blobs():
    """Sixty rows in three far groups, told apart by age and income; the third column says nothing."""
    rng = np.random.default_rng(0)
    group = np.arange(60) % 3
    return pd.DataFrame(
        {
            "age": np.array([20, 40, 60])[group] + rng.integers(0, 5, 60),
            "income, net": np.array([1.0, 1.0, 3.0])[group] * 1000 + rng.uniform(0, 50, 60).round(2),
            "noise": rng.integers(0, 3, 60),
        }
    )


@pytest.fixture
def blobs_csv(tmp_path, blobs):
    path = tmp_path / "blobs.csv"
    blobs.to_csv(path, index=False)
    return path
