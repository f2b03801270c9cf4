"""How a run ends: one line on standard error and an exit code, never a traceback for bad input."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from cutwise.cli._screen import note
from cutwise.exceptions import CutwiseError, CutwiseWarning

__all__ = ["BAD_INPUT", "INTERRUPTED", "exit_code_of", "warnings_name"]

BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 1

# typer carries its own click in newer versions and uses the click package in older ones: this is the parent of its
# usage errors in both.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def exit_code_of(job: Callable[[], Any]) -> int:
    """Run ``job``; return 0, or the exit code its error asks for after saying it in one line."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks must not end a run whose work is done.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("default", CutwiseWarning)
            code = job()
        sys.stdout.flush()
    except UsageError as error:
        return _fail(error.format_message() if hasattr(error, "format_message") else str(error))
    except CutwiseError as error:
        return _fail(str(error))
    except BrokenPipeError:
        # `cutwise rules model.json | head -1`: the reader has what it wanted. Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        return _fail(_what_the_system_said(error))
    except MemoryError as error:
        return _fail(f"not enough memory{f': {error}' if str(error) else ''}")
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    if code == INTERRUPTED:  # newer versions of typer turn an interrupt into this code themselves
        note("interrupted")
    return code if isinstance(code, int) else 0


@contextmanager
def warnings_name(what: str) -> Iterator[None]:
    """Let warnings say which of several trees they are about."""
    usual = warnings.showwarning
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *rest, **named: usual(f"{what}: {message}", *rest, **named)
        yield


def _fail(message: str) -> int:
    note(message)
    return BAD_INPUT


def _what_the_system_said(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason[:1].lower()}{reason[1:]}" if error.filename else reason


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    note(f"warning: {message}")
