"""People get ruled tables, pipes get plain text, and nobody gets control characters."""

import io
import re

import pytest
from rich.progress import Progress
from sklearn.datasets import load_iris

from cutwise import ExplainableKMeans, cost_curve
from cutwise.cli import main
from cutwise.cli.compare import HEADER
from cutwise.cli.screen import one_line, print_line, print_table, working


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def test_plain_tables_are_aligned(capsys):
    print_table(["name", "n"], [["a", "1"], ["long name", "1,000"]], right=[1])
    assert capsys.readouterr().out == "name           n\na              1\nlong name  1,000\n"


def test_plain_lines_are_never_wrapped(capsys):
    print_table(["rule"], [["x <= 1 and " * 100]])
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_terminal_gets_a_ruled_table_without_markup(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    print_table(["name", "n"], [["[bold]a[/bold]", "1"]], right=[1])
    assert "[bold]a[/bold]" in screen.getvalue()
    assert "─" in screen.getvalue()


def on_terminal(monkeypatch, width, printing, *arguments, **options):
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    printing(*arguments, **options)
    assert "\ue000" not in screen.getvalue()
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue()).splitlines()]


CONDITIONS = ["`spent and saved (k$)` <= 67", "age > 36", "`a or b` = 2", "(x <= -0.4 or x > 3)", "r not in {`b c`, d}"]


@pytest.mark.parametrize("width", [33, 45, 60, 80, 200])
def test_no_line_of_a_terminal_breaks_inside_a_condition(monkeypatch, width):
    rows = [["young ones", "53", "8.1 %", " and ".join(CONDITIONS)], ["0", "7", "1 %", "2 < `y z` <= 3"]]
    lines = on_terminal(monkeypatch, width, print_table, ["cluster", "rows", "share", "rule"], rows, right=[1, 2])
    assert max(map(len, lines)) <= width
    for whole in [*CONDITIONS, "young ones", "2 < `y z` <= 3", "8.1 %"]:
        assert sum(whole in line for line in lines) == 1
    sentence = f"row 7: cluster 0 because {' and '.join(CONDITIONS)} (is `b c`), which is 8.1 % of what is there"
    lines = on_terminal(monkeypatch, width, print_line, sentence)
    assert max(map(len, lines)) <= width
    assert all(any(whole in line for line in lines) for whole in [*CONDITIONS, "(is `b c`)"])
    assert " ".join(map(str.strip, lines)) == sentence


@pytest.mark.parametrize("width", [40, 70, 71, 78, 79, 80, 200])
@pytest.mark.parametrize("with_limits", [True, False])
def test_a_table_that_is_too_wide_gets_narrower_then_blocks_and_loses_no_column(monkeypatch, width, with_limits):
    row = ["exshallow", "5", "3", "1.0163", "99.4 %", "97.5 %", "2.50", "2.51", "123.456", *["+1.4 %"] * with_limits]
    header = [*HEADER, *["limits"] * with_limits]
    lines = on_terminal(monkeypatch, width, print_table, header, [row], right=range(1, len(header)))
    assert max(map(len, lines)) <= width
    lines = lines[: next(i for i, line in enumerate(lines) if line.startswith("cost ratio:"))]  # before the notes
    assert all(sum(cell in line for line in lines) == 1 for cell in [*header, *row[3:]])
    assert any("─" in line for line in lines) == (width >= (78 if with_limits else 71))


def test_control_characters_are_spelled_out(capsys):
    print_line("a\x1b[31mb\u202ec")
    assert capsys.readouterr().out == "a\\x1b[31mb\\u202ec\n"


def test_several_lines_become_one():
    assert one_line("a\n  b\tc") == "a b c"


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_shown_only_where_a_person_watches(monkeypatch, capsys, quiet):
    with working("counting", quiet=quiet):
        pass
    assert capsys.readouterr().err == ""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with working("counting [1/2]", quiet=quiet):
        pass
    assert ("counting [1/2]" in screen.getvalue()) != quiet
    monkeypatch.setattr("sys.stderr", dumb := Terminal())
    monkeypatch.setenv("TERM", "dumb")  # it cannot take back what it showed
    with working("counting"):
        pass
    assert dumb.getvalue() == ""


def test_a_terminal_shows_that_a_command_starts_before_its_slow_imports(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("cutwise.cli.app.import_module", lambda name: screen.write(f"<{name}>"))
    assert main(["fit", "--example", "iris"]) == 0
    assert re.search("starting.*<cutwise.estimators>.*working on", screen.getvalue(), re.DOTALL)


def test_progress_moves_on_with_the_stages_and_steps(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    done = []
    show = Progress.update
    monkeypatch.setattr(Progress, "update", lambda self, task, **now: (done.append(now), show(self, task, **now)))
    X = load_iris().data

    def shares():
        return [now["completed"] for now in done if "completed" in now]

    with working("growing", steps=2):
        cost_curve(ExplainableKMeans(4, random_state=0), X)
    assert shares() == sorted(shares())
    assert 1.8 <= shares()[-1] <= 2.0
    told = [now["description"] for now in done if "description" in now]
    assert any(re.search("growing: reference clustering: start 1 of", each) for each in told)
    assert any(re.search(r"growing: sizes: searching trees of \d leaves", each) for each in told)
    done.clear()
    with working("growing", steps=2) as begin:
        ExplainableKMeans(2, random_state=0).fit(X)
        begin("growing again")
        ExplainableKMeans(2, random_state=0).fit(X)
    assert shares() == sorted(shares())
    assert 1.9 <= shares()[-1] < 2.0
    assert "growing again" in screen.getvalue()
