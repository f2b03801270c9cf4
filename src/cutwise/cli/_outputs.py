"""Output files appear whole or not at all: those of a command together, when everything has worked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from cutwise._whole import place_of, whole_file
from cutwise.exceptions import InvalidInputError

__all__ = ["Outputs", "file_or_stdout"]


def file_or_stdout(path: str | None) -> str | None:
    """The file to write what a command else prints, or None for standard output, which ``-`` asks for too."""
    return None if path == "-" else path


class Outputs:
    """Files to write in one go, as a context: on leaving it well all of them appear, on an error or interrupt none.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Outputs(str(folder / "a.txt")) as outputs:
    ...     outputs.write(str(folder / "a.txt"), lambda part: part.write_text("whole"))
    ...     (folder / "a.txt").exists()
    False
    >>> (folder / "a.txt").read_text()
    'whole'
    """

    def __init__(self, *paths: str | None, inputs: Sequence[str | None] = ()) -> None:
        """Check before any work that the files (None: none wanted) can be written, and are not among ``inputs``.

        Raises
        ------
        InvalidInputError
            Their folder is missing or closed, a folder stands in their place, two are the same, or one is read too.
        """
        self._files = ExitStack()
        if "-" in paths:
            raise InvalidInputError(
                '"-" is no name of a file to write, and standard output holds what this command prints. '
                "Give another name."
            )
        wanted = [place_of(path) for path in paths if path is not None]
        for place in wanted:
            _check(place)
        read = [Path(path) for path in inputs if path is not None and os.path.isfile(path)]
        for place in wanted:
            if place.is_file() and any(place.samefile(path) for path in read):
                raise InvalidInputError(
                    f"{place.name} is read by this command, and writing to it would destroy it. "
                    "Give another name to write to."
                )
        if len(set(wanted)) < len(wanted):
            raise InvalidInputError(f"Two outputs would go to {wanted[0]}. Give each a file of its own.")

    def write(self, path: str, writer: Callable[[Path], object]) -> None:
        """Let ``writer`` fill the file that will appear as ``path``."""
        writer(self._files.enter_context(whole_file(path)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.__exit__(kind, error, trace)


def _check(place: Path) -> None:
    folder = place.parent
    if place.is_dir():
        raise InvalidInputError(f"{place} is a folder. Give the name of a file to write.")
    if not folder.is_dir():
        raise InvalidInputError(
            f"The folder {folder} does not exist, so {place.name} cannot be written there. Create it first."
        )
    if not os.access(folder, os.W_OK) and not (place.exists() and not place.is_file()):
        raise InvalidInputError(f"No permission to write {place.name} in {folder}.")
