"""Output files appear whole or not at all: written beside their place, moved there when everything has worked."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from cutwise.exceptions import InvalidInputError

__all__ = ["Outputs"]


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
        self._parts: dict[Path, Path] = {}
        wanted = [_place(path) for path in paths if path is not None]
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
        place = _place(path)
        if place.exists() and not place.is_file():
            writer(place)  # a device or a pipe: nothing to put in its place
            return
        part = place.with_name(f".{place.name}.{uuid.uuid4().hex}.part")
        self._parts[place] = part
        writer(part)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                for place, part in self._parts.items():
                    os.replace(part, place)
        finally:
            for part in self._parts.values():
                part.unlink(missing_ok=True)


def _place(path: str) -> Path:
    # Through links: the file behind one is replaced, not the link.
    return Path(os.path.realpath(path))


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
