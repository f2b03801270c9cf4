"""The command line: thin commands over the public API.

One file per command, and what they share: the application and how a run ends (``app``), options (``options``), files
(``tables``, ``text``, ``cells``), choosing columns and rows (``columns``), saved models and what is said about them
(``models``), and the screen and other outputs (``screen``).
"""

from __future__ import annotations

import os
import sys
from _thread import interrupt_main
from collections.abc import Sequence
from threading import Timer

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line on the words after ``cutwise``, by default those of the process; the exit code is returned.

    It is 0 when all went well; 2 for input that cannot be used, and one line on standard error says why; 130 when
    interrupted.
    """
    _replace_closed_streams()
    usual = sys.unraisablehook

    def on_unraisable(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            # Python drops an interrupt that meets it while it frees an object. It comes again, after this function.
            Timer(0.05, interrupt_main).start()
        else:
            usual(dropped)

    sys.unraisablehook = on_unraisable
    try:
        # typer and rich are optional: `import cutwise` never touches them, and who lacks them is told what to do.
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
    """Let nothing be read, and what is written be lost, where the caller closed a stream (``cutwise ... >&-``)."""
    # In the order of their descriptors: else a file that is opened later would stand in the place of one of them.
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: SIM115 - stays open
            if nothing.fileno() != descriptor:
                os.dup2(nothing.fileno(), descriptor)
            setattr(sys, name, nothing)
