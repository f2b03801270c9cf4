"""One option has one wording, one meaning and one default, whichever command it belongs to."""

import os
import re
import subprocess
import sys
from collections import defaultdict

import pytest
import typer

from cutwise.cli import main
from cutwise.cli.app import COMMANDS, app, flattened
from cutwise.cli.options import ClusteringOptions, GrowthOptions

# What the same word means elsewhere: another file to write, another default that depends on other options.
OWN = {
    "out",
    "table",
    "labels_from",
    "model",
    "max_leaves",
    "algorithm",
    "as_json",
    "dialect",
    "drop_missing",
}


def options_of_commands():
    program = typer.main.get_command(app)
    return {name: {option.name: option for option in program.commands[name].params} for name in COMMANDS}


def test_the_same_option_is_described_in_the_same_words():
    told = defaultdict(set)
    for options in options_of_commands().values():
        for name, option in options.items():
            told[name].add((getattr(option, "help", None), str(option.default), tuple(option.opts)))
    told["file"] = {each for each in told["file"] if each[1] == "None"}  # an argument that some commands can do without
    differing = {name for name, ways in told.items() if len(ways) > 1}
    assert differing == OWN


def test_commands_that_cluster_take_the_same_options_for_it():
    options = options_of_commands()
    of_groups = [*ClusteringOptions.__dataclass_fields__, *GrowthOptions.__dataclass_fields__]
    for command in ("fit", "compare", "curve"):
        names = list(options[command])
        assert [name for name in names if name in of_groups] == of_groups


def test_a_group_arrives_as_one_argument():
    seen = []

    def command(*, table: ClusteringOptions, wanted: int = 3, growth: GrowthOptions) -> None:
        """Say it."""
        seen.append((table, wanted, growth))

    flat = flattened(command)
    assert flat.__doc__ == "Say it."
    values = dict.fromkeys(ClusteringOptions.__dataclass_fields__) | {"files": ["a.csv"], "wanted": 4}
    flat(**values, **dict.fromkeys(GrowthOptions.__dataclass_fields__, 1))
    ((table, wanted, growth),) = seen
    assert (table.files, wanted, growth.seed) == (["a.csv"], 4, 1)


@pytest.mark.parametrize("width", ["40", "76"])
def test_names_of_options_and_words_are_whole_in_the_help_however_narrow_the_screen_is(width):
    commands, options = ("fit", "report", "front", "rules"), options_of_commands()
    code = f"from cutwise.cli import main; [main([name, '--help']) for name in {commands}]"
    own = os.environ | {"COLUMNS": width}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=own, check=True)
    names = {name for c in commands for p in options[c].values() for name in p.opts if name.startswith("-")}
    assert not names - set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", run.stdout))
    assert "…" not in run.stdout


def test_lines_of_help_end_where_the_screen_ends(cutwise):
    text = cutwise("compare", "--help").out
    assert "Agreement: the share of rows in the same cluster" in " ".join(text.split())
    assert "cart: a split minimizes the Gini impurity of the sides" in " ".join(text.split())


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("cutwise fr", ["front"]),
        ("cutwise fit --algo", ["--algorithm"]),
        ("cutwise fit --algorithm exs", ["exshallow"]),
        ("cutwise rules m.json --dialect po", ["postgres"]),
        ("cutwise fit --scale r", ["robust"]),
    ],
)
def test_shells_complete_commands_options_and_their_words(capsys, monkeypatch, typed, completed):
    monkeypatch.setenv("_CUTWISE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    with pytest.raises(SystemExit, match="0"):
        main([])
    assert capsys.readouterr().out.split() == completed


def test_a_wrong_separator_and_labels_that_are_dates_are_named(cutwise, tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text("day,a,b\n2024-01-01,1,2\n2024-01-02,3,4\n2024-01-03,5,7\n")
    assert "try --separator ','" in cutwise("fit", path, "-k", 2, "--separator", ";").err
    assert "sales.csv holds dates" in cutwise("fit", path, "--labels-from", "day").err
