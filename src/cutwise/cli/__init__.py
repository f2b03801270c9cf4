"""The command line: thin commands over the public API.

One file per command, and shared files: the application and exit codes (``app``), options (``options``), reading files
(``tables``, ``text``, ``cells``), choice of columns and rows (``columns``), saved models (``models``), and the screen
and other outputs (``screen``).
"""

from __future__ import annotations

import os
import sys
from _thread import interrupt_main

from cutwise import TYPE_CHECKING  # an interrupt of an import above main ends with a traceback: there are few

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line on the words after ``cutwise``, by default those of the process; the exit code is returned.

    The code is 0 for success; 2 for input that cannot be used, with one line about it on standard error; 130 for an
    interrupt.
    """
    _replace_closed_streams()
    usual = sys.unraisablehook

    def on_unraisable(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            from threading import Timer

            # Python drops an interrupt that arrives while it frees an object: raise it again after this function.
            Timer(0.05, interrupt_main).start()
        else:
            usual(dropped)

    sys.unraisablehook = on_unraisable
    try:
        # typer and rich are optional: `import cutwise` never imports them, and a message says how to install them.
        from cutwise.cli.app import run

        return run(args)
    except KeyboardInterrupt:
        sys.stderr.write("cutwise: interrupted\n")
        return 130
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"typer", "rich"}:
            raise
        sys.stderr.write(f'cutwise: the command line needs {error.name}. Install it: pip install "cutwise[cli]"\n')
        return 2
    finally:
        sys.unraisablehook = usual


def _replace_closed_streams() -> None:
    """Replace streams that the caller closed (``cutwise ... >&-``): nothing is read, and output is lost."""
    # In the order of their descriptors, so that no file that is opened later gets one of these.
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: SIM115 - stays open
            if nothing.fileno() != descriptor:
                os.dup2(nothing.fileno(), descriptor)
            setattr(sys, name, nothing)
