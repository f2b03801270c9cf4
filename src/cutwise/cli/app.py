"""The typer application: its commands, groups of options, and exit codes."""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import Parameter, Signature, signature
from shutil import get_terminal_size
from typing import Annotated, Any, get_type_hints

import typer

import cutwise
from cutwise.cli import bench, compare, curve, explain, fit, front, predict, recount, report, rules
from cutwise.cli.screen import note, working
from cutwise.exceptions import CutwiseError, CutwiseWarning, did_you_mean


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of its dataclass parameters, in place of these."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[Any]] = {}
    options: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        group = hints[name]
        if isinstance(group, type) and is_dataclass(group):
            groups[name] = group
            of_field = get_type_hints(group, include_extras=True)
            options += [
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=of_field[field.name])
                for field in fields(group)
            ]
        else:
            options.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=group))

    def flat(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        with working("starting"):  # these imports take longer than all before them, up to seconds
            import_module("cutwise.estimators")
        command(**made, **given)

    flat.__name__, flat.__doc__ = command.__name__, command.__doc__
    flat.__annotations__ = {option.name: option.annotation for option in options}
    flat.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return flat


app = typer.Typer(
    name="cutwise",
    help="Explainable clustering: small decision trees whose leaves are the clusters.",
    epilog="Try it without a file: cutwise fit --example wine",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    # The tables of rich cut names of options and long words where a line has fewer characters.
    rich_markup_mode="rich" if get_terminal_size().columns >= 76 else None,
)
COMMANDS = {
    module.__name__.rpartition(".")[2]: module
    for module in (fit, predict, rules, explain, recount, report, compare, curve, front, bench)
}
for name, module in COMMANDS.items():
    # With an empty line between paragraphs, since typer joins consecutive lines.
    # Lines of a docstring are longer than those of a terminal: join each paragraph, so that it is wrapped again.
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in (module.command.__doc__ or "").split("\n\n"))
    further = [*getattr(module, "NOTES", ()), "Examples:", *module.EXAMPLES]
    app.command(name, help=text, epilog="\n\n".join(further))(flattened(module.command))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cutwise {cutwise.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    _running.set(context.invoked_subcommand or "")
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_running = ContextVar("_running", default="")
"""Name of the command that runs."""

BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 1

# Newer versions of typer include click, older ones use the click package: this is the parent of usage errors in
# both.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def run(args: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code; bad input ends as one line on standard error."""
    program, words = typer.main.get_command(app), None if args is None else list(args)
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks must neither end a finished run nor look like another name.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("default", CutwiseWarning)
            # standalone_mode=False hands every error to us instead of printing usage over several lines.
            code = program.main(args=words, prog_name="cutwise", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # newer versions of typer turn an interrupt into this code themselves
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except UsageError as error:
        return _fail(_what_is_wrong(error))
    except CutwiseError as error:
        return _fail(_in_options(str(error)))
    except BrokenPipeError:
        return BROKEN_PIPE  # `cutwise rules model.json | head -1`: the reader has what it wanted
    except OSError as error:
        return _fail(_what_the_system_said(error))
    except MemoryError as error:
        return _fail(f"not enough memory{f': {error}' if str(error) else ''}")
    except (KeyboardInterrupt, typer.Abort):
        note("interrupted")
        return INTERRUPTED
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:  # full disk or closed pipe: Python would try again when it exits, and print an error
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _fail(message: str) -> int:
    note(message)
    return BAD_INPUT


def _what_is_wrong(error: Any) -> str:
    """Message of a usage error with the given value, which newer versions of typer omit, and the next step."""
    said, cause = error.format_message() if hasattr(error, "format_message") else str(error), error.__cause__
    if hasattr(cause, "errors"):
        wanted = error.message.partition(", unable")[0]
        said = f"{error.param.opts[0]} {cause.errors()[0]['input']}: {wanted[:1].lower()}{wanted[1:]}"
    context = getattr(error, "ctx", None)
    command = "cutwise COMMAND" if context is None else context.command_path
    return f"{said.rstrip('.')}{'' if said.endswith('?') else '.'} See {command} --help."


def _what_the_system_said(error: OSError) -> str:
    reason = error.strerror or str(error)
    said = f"{error.filename}: {reason[:1].lower()}{reason[1:]}" if error.filename else reason
    if error.errno == errno.ENOENT and os.access(folder := os.path.dirname(str(error.filename)) or ".", os.R_OK):
        return f"{said}.{did_you_mean(os.path.basename(str(error.filename)), os.listdir(folder))}".removesuffix(".")
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return said
    return f"{said.rstrip('.')}. Free some space, or write elsewhere (TMPDIR sets the folder for temporary files)."


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    note(f"warning: {_in_options(str(message))}")


_PARAMETERS = {
    "n_jobs": "jobs",
    "random_state": "seed",
    "min_samples_leaf": "min_leaf",
    "cut_features": "cut_only",
    "sample_weight": "weights",
    "handle_unknown": "unknown",
    "network": "fetch",
}
"""Parameters of estimators that options have other names for."""


def _in_options(message: str) -> str:
    """The message of an estimator, with options in place of parameters.

    Alternatives (", or ...") that need an option of another command are left out.
    """
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    of_command = {
        name: {p.name: p.opts[0] for p in command.params if p.opts[0].startswith("-")}
        for name, command in commands.items()
    }
    own = of_command.get(_running.get(), {})
    options = own | {name: own[short] for name, short in _PARAMETERS.items() if short in own}
    lacking = "|".join({name for names in (*of_command.values(), _PARAMETERS) for name in names} - set(options))
    message = re.sub(rf", or (?:use )?(?:{lacking})=[^,.]*(?=[,.])", "", message)

    def option(match: re.Match[str]) -> str:
        name, equals, is_flag = match.groups()
        joint = " " if equals and not is_flag else ""
        return f"{options[name]}{joint}" if ("_" in name or equals) and name in options else match[0]

    message = message.replace("Give y, the cluster", "Add --labels-from COLUMN, the cluster")
    message = message.replace("None leaves the number to the estimator", "Left out, there is a leaf a cluster at least")
    message = message.replace("written by save(path)", "that cutwise fit --out wrote")
    message = message.replace("turn others into text with str()", "write others as words")
    message = message.replace("or None for", "or leave it out for").replace("None gives", "Left out, it gives")
    message = re.sub(r"preprocessor=(Standard|Table)Scaler\(\)", "--scale standard", message)
    message = re.sub(r" of X( of positive weight)? \(n_samples=(\d+)\)", r"\1 (of \2 in all)", message)
    message = message.replace("Leave out what only names rows", "Leave out what only names rows (--drop)")
    message = message.removesuffix(" If they should not, set preprocessor=None.")
    return re.sub(r"(?<![\w-])([a-z_]+)\b(=?)(True\b)?", option, message)
