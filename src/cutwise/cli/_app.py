"""The typer application: which commands there are, and how a run ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

import cutwise
from cutwise.cli import _errors, bench, compare, curve, explain, fit, predict, report, rules
from cutwise.cli._groups import flattened

__all__ = ["run"]

app = typer.Typer(
    name="cutwise",
    help="Clusters that can be said in words: small threshold trees whose leaves are clusters.",
    epilog="Try it without a file: cutwise fit --example wine",
    invoke_without_command=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = {
    "fit": fit,
    "predict": predict,
    "rules": rules,
    "explain": explain,
    "report": report,
    "compare": compare,
    "curve": curve,
    "bench": bench,
}
for name, module in COMMANDS.items():
    # An empty line between two: typer joins lines that follow one another.
    # Lines of a docstring are longer than those of a terminal: what belongs together is joined, to be wrapped anew.
    told = "\n\n".join(" ".join(paragraph.split()) for paragraph in (module.command.__doc__ or "").split("\n\n"))
    app.command(name, help=told, epilog="\n\n".join(["Examples:", *module.EXAMPLES]))(flattened(module.command))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cutwise {cutwise.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(args: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code; bad input ends as one line on standard error."""
    program = typer.main.get_command(app)
    # standalone_mode=False hands every error to us instead of printing usage over several lines.
    return _errors.exit_code_of(
        lambda: program.main(args=None if args is None else list(args), prog_name="cutwise", standalone_mode=False)
    )
